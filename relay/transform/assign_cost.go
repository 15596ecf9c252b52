package transform

import (
	"slices"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/internal/pbqp"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// stored says where the result of a choice is.
type stored uint8

const (
	inMemory    stored = iota
	inRegisters        // its reader is computed in the same kernel
	asView             // it is its operand's memory
)

// findStores asks fuse-ops which values leave their kernel. Which layouts are chosen may still change that: then a value is
// rounded inside of a kernel, or one in memory is not.
func (a *assignment) findStores() {
	f := grouped(a.main, &Options{Ops: a.o.Ops, Target: a.o.Target})
	for _, c := range a.choices {
		switch {
		case c.call == nil:
		case f.group[c.call].out != c.call:
			c.store = inRegisters
		case len(f.group[c.call].members) == 1 && f.isView(c.call):
			c.store = asView
		}
	}
}

// findLabels gives every choice its labels, the preferred one first: with equal costs that one is taken.
func (a *assignment) findLabels() {
	p := a.o.Precision
	for _, c := range a.choices {
		stores, weights := []tensor.DType{tensor.Invalid}, []tensor.DType{tensor.Invalid}
		if c.half {
			stores = []tensor.DType{p.Store}
		}
		half, _ := a.halfWeight(c)
		if half {
			weights = []tensor.DType{p.Store}
		}
		if p.Mixed && c.half {
			stores = append(stores, tensor.Invalid)
		}
		if p.Mixed && half {
			weights = append(weights, tensor.Invalid)
		}
		for _, weight := range weights {
			for _, l := range a.ways(c, weight) {
				for _, l.store = range stores {
					c.labels = append(c.labels, l)
				}
			}
		}
	}
}

// ways returns how c can be computed with its weight kept in a type.
func (a *assignment) ways(c *choice, weight tensor.DType) []label {
	var list []label
	if c.how == byCandidate {
		picks := c.picks
		if weight != tensor.Invalid {
			picks = a.o.Candidates(c.call, weight)
		}
		for i := range picks {
			k := &picks[i]
			list = append(list, label{pick: k, at: c.pickedAt(k), out: c.pickedOut(k), weight: weight})
		}
		return list
	}
	for _, at := range c.orders {
		out, _ := result(c, at)
		list = append(list, label{at: at, out: out, weight: weight})
	}
	return list
}

// problem states the choices and what they cost together, in microseconds of one core.
func (a *assignment) problem() *pbqp.Problem {
	p := &pbqp.Problem{}
	for _, c := range a.choices {
		costs := make([]float64, len(c.labels))
		for i, l := range c.labels {
			costs[i] = a.own(c, l)
			for n, r := range c.reads {
				if r.from == nil {
					costs[i] += a.taking(label{}, c, l, n)
				}
			}
		}
		c.node = p.Node(costs...)
	}
	for _, c := range a.choices {
		a.connect(p, c)
	}
	return p
}

// connect adds an edge for each read of c's result. Where several want it in different orders, a copy is made once for all of
// them: then a node between c and its readers stands for the orders in which the result is there.
func (a *assignment) connect(p *pbqp.Problem, c *choice) {
	if c.values = a.valuesOf(c); c.values == nil {
		for _, u := range c.users {
			p.Edge(c.node, u.by.node, func(i, j int) float64 { return a.taking(c.labels[i], u.by, u.by.labels[j], u.read) })
		}
		return
	}
	c.shared = p.Node(make([]float64, len(c.values))...)
	p.Edge(c.node, c.shared, func(i, j int) float64 { return a.making(c.labels[i], c, c.values[j]) })
	for _, u := range c.users {
		p.Edge(c.shared, u.by.node, func(i, j int) float64 { return a.sharing(c.values[i], u, u.by.labels[j]) })
	}
}

// taking is what it costs c with label l to read its n-th value, which is made with label from, with a copy of its own where the
// order is another.
func (a *assignment) taking(from label, c *choice, l label, n int) float64 {
	return a.turn(c.reads[n].value, from.out, c.takes(l, n), from.store) + a.reading(c, l, n, from.store)
}

// making is what the copies of value v cost when c has label l.
func (a *assignment) making(l label, c *choice, v value) float64 {
	if l.store != v.store || !slices.Equal(l.out, v.orders[0]) {
		return pbqp.Infinite
	}
	sum := 0.0
	for _, at := range v.orders[1:] {
		sum += a.turn(c.e, l.out, at, l.store)
	}
	return sum
}

// sharing is what it costs a reader with label l to take value v in one of the orders in which it is there.
func (a *assignment) sharing(v value, u use, l label) float64 {
	e, want := u.by.reads[u.read].value, u.by.takes(l, u.read)
	if !slices.ContainsFunc(v.orders, func(at []int) bool { return liesIn(at, e) && a.turn(e, at, want, v.store) == 0 }) {
		return pbqp.Infinite
	}
	return a.reading(u.by, l, u.read, v.store)
}

// value is a result with its copies: the orders in which it is there, the one in which it is made first.
type value struct {
	orders [][]int
	store  tensor.DType
}

// mostShared is the number of orders up to which all sets of copies are weighed.
const mostShared = 3

// valuesOf returns the ways in which c's result may be there, or nil where there are no copies to share, or too many.
func (a *assignment) valuesOf(c *choice) []value {
	var made, all [][]int
	var stores []tensor.DType
	note := func(list [][]int, at []int) [][]int {
		if slices.ContainsFunc(list, func(o []int) bool { return slices.Equal(o, at) }) {
			return list
		}
		return append(list, at)
	}
	for _, l := range c.labels {
		made, all = note(made, l.out), note(all, l.out)
		if !slices.Contains(stores, l.store) {
			stores = append(stores, l.store)
		}
	}
	for _, u := range c.users {
		for _, l := range u.by.labels {
			all = note(all, u.by.takes(l, u.read))
		}
	}
	if len(c.users) < 2 || len(all) < 2 || len(all) > mostShared {
		return nil
	}
	var list []value
	for _, store := range stores {
		for _, base := range made {
			for set := range 1 << len(all) {
				v := value{[][]int{base}, store}
				for i, at := range all {
					if set>>i&1 != 0 {
						v.orders = append(v.orders, at)
					}
				}
				if !slices.ContainsFunc(v.orders[1:], func(o []int) bool { return slices.Equal(o, base) }) {
					list = append(list, v)
				}
			}
		}
	}
	return list
}

// own is what label l of c costs by itself: its kernel, and writing the result.
func (a *assignment) own(c *choice, l label) float64 {
	sum := 0.0
	if l.pick != nil {
		sum += l.pick.Cost
	}
	if a.o.Precision.Store == tensor.Invalid {
		return sum
	}
	t := a.o.Target
	if k := c.constantWeight(); k != nil {
		n := int64(len(k.Value.Data))
		if l.weight != tensor.Invalid {
			n = int64(l.weight.Bytes(k.Value.Elems()))
		}
		sum = max(sum, cost.Micros(cost.Stream(n, a.weights, t), t))
	}
	if c.store == inMemory && is32(c.e) {
		sum += a.writing(elems(c.e), l.store)
	}
	return sum
}

func elems(e relay.Expr) int64 {
	n := int64(0)
	for _, t := range tensors(e.Type()) {
		n += int64(t.Shape.Elems())
	}
	return n
}

// writing and fetching are what it costs to write and to read a value of n elements of float32 that is kept as d.
func (a *assignment) writing(n int64, d tensor.DType) float64 {
	if d == tensor.Invalid {
		return a.stream(n, tensor.Float32)
	}
	return a.stream(n, d) + cost.Micros(cost.Narrow(n, d, a.o.Target), a.o.Target)
}

func (a *assignment) fetching(n int64, d tensor.DType) float64 {
	if d == tensor.Invalid {
		return a.stream(n, tensor.Float32)
	}
	return a.stream(n, d) + cost.Micros(cost.Widen(n, a.o.Target), a.o.Target)
}

func (a *assignment) stream(n int64, d tensor.DType) float64 {
	bytes := int64(d.Bytes(int(n)))
	return cost.Micros(cost.Stream(bytes, bytes, a.o.Target), a.o.Target)
}

// reading is what it costs c with label l to read a value that is kept as d, besides copies to another order.
func (a *assignment) reading(c *choice, l label, n int, d tensor.DType) float64 {
	r := c.reads[n]
	if _, constant := r.value.(*relay.Constant); constant {
		return 0
	}
	sum := a.raise(c, l, n, d)
	if a.o.Precision.Store == tensor.Invalid || !is32(r.value) {
		return sum
	}
	size := elems(r.value)
	if c.keeping() == follow && l.store != d { // a kernel that converts
		sum += a.fetching(size, d) + a.writing(size, l.store)
	}
	if r.from == nil || r.from.store != inRegisters {
		sum += a.fetching(size, d)
	}
	return sum
}

// raise is what it costs an elementwise operator that an operand has fewer axes than its result: it gets leading ones, and
// then the order of the others.
func (a *assignment) raise(c *choice, l label, n int, d tensor.DType) float64 {
	r := c.reads[n]
	t := relay.Tensor(r.value)
	if c.how != elementwise || l.at == nil || t == nil || len(t.Shape) == len(l.at) || c.takesVector(n) {
		return 0
	}
	return a.change(raised(t.Shape, len(l.at)), t.DType, nil, l.at, d)
}

// liesIn reports whether a tensor can lie in order at: an order of another field of its tuple may have more axes.
func liesIn(at []int, e relay.Expr) bool {
	t := relay.Tensor(e)
	return at == nil || t != nil && len(t.Shape) == len(at)
}

// turn is what it costs to copy a value that is kept as d from one order to another; of a tuple, the fields that have as many
// axes. Constants are copied when the model is compiled.
func (a *assignment) turn(e relay.Expr, from, to []int, d tensor.DType) float64 {
	if _, constant := e.(*relay.Constant); constant {
		return 0
	}
	sum := 0.0
	for _, t := range tensors(e.Type()) {
		if rank := len(t.Shape); (from == nil || len(from) == rank) && (to == nil || len(to) == rank) {
			sum += a.change(t.Shape, t.DType, from, to, d)
		}
	}
	return sum
}

// change is turn for one tensor; from and to are nil or have its rank.
func (a *assignment) change(shape tensor.Shape, own tensor.DType, from, to []int, d tensor.DType) float64 {
	if slices.Equal(from, to) || onlyUnitsMove(turn(from, to, len(shape)), kept(shape, from)) {
		return 0
	}
	if d != tensor.Invalid {
		own = d
	}
	return cost.Micros(cost.Copy(int64(own.Bytes(shape.Elems()))), a.o.Target)
}
