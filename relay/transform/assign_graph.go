package transform

import (
	"slices"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// choice is one node of the problem: an operator, or something else that takes its operands as the model has them.
type choice struct {
	e      relay.Expr
	call   *relay.Call // nil: no operator
	how    manner
	picks  []cost.Candidate // of a choice that is made byCandidate, with its weight as it is
	reads  []read
	users  []use
	orders [][]int // in which its data may lie
	labels []label
	label  label
	node   int     // in the problem
	values []value // of the node that stands for its result where several read it in different orders
	shared int     // that node; -1: there is none

	half  bool   // its result may be kept in half precision
	wide  string // why not; empty: nothing to tell
	store stored // whether its result is in memory at all
}

// read is a tensor, or a tuple of them, that a choice takes.
type read struct {
	arg   int        // operand place
	value relay.Expr // what is read
	from  *choice    // who computes it; nil: a parameter or a constant
}

// use is a read from the other side.
type use struct {
	by   *choice
	read int
}

// manner says how an operator deals with the order of its data.
type manner uint8

const (
	asItIs      manner = iota // wants all operands as the model has them
	byCandidate               // has candidates
	elementwise               // takes any order, all operands alike
	following                 // has a follower: takes its first operand in some orders
	turning                   // is a transpose: its result is its operand
	exciting                  // takes its first operand in any order that has a layout's name
)

// label is what a choice may decide.
type label struct {
	pick   *cost.Candidate
	at     []int        // the order of its data
	out    []int        // the order of its result
	store  tensor.DType // in which its result is kept; Invalid: as the model has it
	weight tensor.DType // in which its constant weight is kept; Invalid: as the model has it
}

// assignment is one run of the pass.
type assignment struct {
	o       *Options
	main    *relay.Function
	choices []*choice // operands before users
	of      map[relay.Expr]*choice
	weights int64 // bytes of all constants
	narrows map[*relay.Constant]*narrowed
}

func newAssignment(main *relay.Function, o *Options) *assignment {
	a := &assignment{o: o, main: main, of: map[relay.Expr]*choice{}, narrows: map[*relay.Constant]*narrowed{}}
	for e := range relay.PostOrder(main, false) {
		switch k := e.(type) {
		case *relay.Constant:
			a.weights += int64(len(k.Value.Data))
			continue
		case *relay.Var, *relay.Tuple, *relay.TupleGet:
			continue
		case *relay.Function:
			if e != relay.Expr(main) {
				continue
			}
		}
		c := &choice{e: e, shared: -1}
		if call, ok := e.(*relay.Call); ok && call.Op != nil {
			c.call = call
			c.how, c.picks = a.mannerOf(call)
		}
		for i, arg := range relay.Operands(e) {
			a.read(c, i, arg)
		}
		a.choices = append(a.choices, c)
		a.of[e] = c
	}
	return a
}

// read notes that operand i of c is e, the fields of a tuple one by one.
func (a *assignment) read(c *choice, i int, e relay.Expr) {
	if t, ok := e.(*relay.Tuple); ok {
		for _, f := range t.Fields {
			a.read(c, i, f)
		}
		return
	}
	from := a.maker(e)
	if from != nil {
		from.users = append(from.users, use{c, len(c.reads)})
	}
	c.reads = append(c.reads, read{i, e, from})
}

// maker returns who computes a value: nil for parameters and constants.
func (a *assignment) maker(e relay.Expr) *choice {
	for {
		get, ok := e.(*relay.TupleGet)
		if !ok {
			return a.of[e]
		}
		e = get.Tuple
		if t, ok := e.(*relay.Tuple); ok {
			e = t.Fields[get.Index]
		}
	}
}

func (a *assignment) mannerOf(c *relay.Call) (manner, []cost.Candidate) {
	switch c.Op.Name {
	case "transpose":
		return turning, nil
	case "squeeze", "expand_dims": // reshapes, once they are canonical
		return asItIs, nil
	case "reshape":
		return following, nil
	}
	if a.o.Candidates != nil && !hasPackedWeight(c) {
		if list := a.o.Candidates(c, tensor.Invalid); len(list) > 0 {
			return byCandidate, list
		}
	}
	switch {
	case c.Op.Name == "nn.squeeze_excite":
		return exciting, nil
	case c.Op.Class <= relay.Broadcast && len(c.Args) > 0:
		return elementwise, nil
	case followers[c.Op.Name] != nil:
		return following, nil
	}
	return asItIs, nil
}

// hasPackedWeight reports whether c is a product whose weight the model has packed. It stays so: to unpack it one would have to
// cut its padding off.
func hasPackedWeight(c *relay.Call) bool {
	layout := weightLayout(c)
	return layout != "" && !tensor.MustLayout(layout).Plain()
}

// weightLayout returns the layout of a product's weight, "" of operators whose weights have none.
func weightLayout(c *relay.Call) string {
	switch a := c.Attrs.(type) {
	case *relay.ConvAttrs:
		return a.KernelLayout
	case *relay.ConvTransposeAttrs:
		return a.KernelLayout
	case *relay.DenseAttrs:
		if a.WeightLayout == "" {
			return "NK"
		}
		return a.WeightLayout
	}
	return ""
}

// tensors returns the tensor types that a type consists of.
func tensors(t relay.Type) []*relay.TensorType {
	switch t := t.(type) {
	case *relay.TensorType:
		return []*relay.TensorType{t}
	case *relay.TupleType:
		var list []*relay.TensorType
		for _, f := range t.Fields {
			list = append(list, tensors(f)...)
		}
		return list
	}
	return nil
}

// mostOrders bounds the orders that one operator chooses from. Those that its operands come in are first.
const mostOrders = 6

// findOrders gives every choice the orders in which its data may lie: those in which its operands may come, those in
// which its users may want its result, and the model's own last.
func (a *assignment) findOrders() {
	add := func(c *choice, at []int) {
		same := func(o []int) bool { return slices.Equal(o, at) }
		if _, ok := result(c, at); ok && len(c.orders) < mostOrders && at != nil && !slices.ContainsFunc(c.orders, same) {
			c.orders = append(c.orders, at)
		}
	}
	forward := func(c *choice) {
		for _, r := range c.reads {
			if r.from == nil || c.how != elementwise && r.arg != 0 {
				continue
			}
			for _, at := range r.from.results() {
				add(c, at)
			}
		}
	}
	for _, c := range a.choices {
		forward(c)
	}
	for _, c := range slices.Backward(a.choices) {
		for _, u := range c.users {
			for _, at := range u.by.wanted(u.read) {
				if at = before(c, at); at != nil {
					add(c, at)
				}
			}
		}
	}
	for _, c := range a.choices {
		forward(c)
	}
	for _, c := range a.choices {
		c.orders = append(c.orders, nil)
	}
}

// result returns the order of c's result when its data lies in order at; false when it cannot.
func result(c *choice, at []int) ([]int, bool) {
	if at == nil && c.how != turning {
		return nil, true
	}
	switch c.how {
	case elementwise:
		t := relay.Tensor(c.e)
		return at, t != nil && len(t.Shape) == len(at)
	case exciting:
		_, ok := relaid(c.call.Attrs.(*relay.SqueezeExciteAttrs).Layout, at)
		return at, ok
	case turning:
		t := relay.Tensor(c.e)
		return turnedBy(c.call.Attrs.(*relay.TransposeAttrs), at, len(t.Shape)), at == nil || len(t.Shape) == len(at)
	case following:
		if t := tensors(c.call.Args[0].Type()); len(t) == 0 || len(t[0].Shape) != len(at) {
			return nil, false
		}
		_, out, ok := followers[c.call.Op.Name](c.call, at)
		return tidy(out), ok
	}
	return nil, false
}

// before returns the order of c's data whose result has the given one; nil when there is none.
func before(c *choice, out []int) []int {
	at := out
	switch t := relay.Tensor(c.e); {
	case t == nil || len(out) != len(t.Shape) || c.call == nil:
	case c.how == turning:
		at = turnedBack(c.call.Attrs.(*relay.TransposeAttrs), out, len(out))
	case c.call.Op.Name == "reshape":
		at, _ = reshapedOrder(t.Shape, relay.Tensor(c.call.Args[0]).Shape, out)
	}
	if got, ok := result(c, at); !ok || !slices.Equal(got, out) {
		return nil
	}
	return at
}

// results returns the orders that c's result may have, besides the model's.
func (c *choice) results() [][]int {
	var list [][]int
	if c.how == byCandidate {
		for _, k := range c.picks {
			list = append(list, c.pickedOut(&k))
		}
	}
	for _, at := range c.orders {
		out, _ := result(c, at)
		list = append(list, out)
	}
	if c.how == turning {
		out, _ := result(c, nil)
		list = append(list, out)
	}
	return slices.DeleteFunc(list, func(at []int) bool { return at == nil })
}

// wanted returns the orders that c may want of what it reads, besides the model's.
func (c *choice) wanted(read int) [][]int {
	var list [][]int
	for i := range c.picks {
		list = append(list, c.takes(label{pick: &c.picks[i], at: c.pickedAt(&c.picks[i])}, read))
	}
	for _, at := range c.orders {
		list = append(list, c.takes(label{at: at}, read))
	}
	return slices.DeleteFunc(list, func(at []int) bool { return at == nil })
}

// takes returns the order in which a choice with label l wants what it reads.
func (c *choice) takes(l label, read int) []int {
	r := c.reads[read]
	switch {
	case c.how == elementwise:
		t := relay.Tensor(r.value)
		if t == nil || len(t.Shape) != len(l.at) || c.takesVector(read) {
			return nil
		}
		return l.at
	case r.arg > 0:
		return nil
	}
	return l.at
}

// takesVector reports whether what an elementwise operator reads is the vector that it applies along an axis.
func (c *choice) takesVector(read int) bool {
	_, along := axisOf(c.call.Attrs)
	return along && c.reads[read].arg > 0
}

// axisOf returns the axis along which an elementwise operator applies vectors, if it does.
func axisOf(attrs any) (int, bool) {
	switch a := attrs.(type) {
	case *relay.AxisAttrs:
		return a.Axis, true
	case *relay.QuantizeAttrs:
		return a.Axis, true
	case *relay.DequantizeAttrs:
		return a.Axis, true
	}
	return 0, false
}

// pickedAt and pickedOut are the orders of data and result of a candidate.
func (c *choice) pickedAt(k *cost.Candidate) []int {
	data, _ := layouts(c.call)
	return orderOf(data, k.Data)
}

func (c *choice) pickedOut(k *cost.Candidate) []int {
	_, out := layouts(c.call)
	return orderOf(out, k.Out)
}

// layouts returns the layouts of a convolution's data and result; empty ones of an operator that has none.
func layouts(c *relay.Call) (data, out string) {
	switch a := c.Attrs.(type) {
	case *relay.ConvAttrs:
		data, out = a.DataLayout, a.OutLayout
	case *relay.ConvTransposeAttrs:
		data, out = a.DataLayout, a.OutLayout
	}
	if out == "" {
		out = data
	}
	return data, out
}

// product reports whether c multiplies its data with a weight, as convolutions and dense layers do.
func (c *choice) product() bool { return c.call != nil && c.call.Op.Class == relay.OutFusable }

// weight returns the constant that a product multiplies with, or nil.
func (c *choice) constantWeight() *relay.Constant {
	if !c.product() || len(c.call.Args) < 2 {
		return nil
	}
	k, _ := c.call.Args[1].(*relay.Constant)
	return k
}
