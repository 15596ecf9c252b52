// Package relaygen makes random graphs of relay: of every operator of the table, with attributes of every kind, and of the
// groups of operators that the graph passes look for, together with groups that look almost like them. Tests compare what a
// graph means before and after a pass, or print and read it; the command's bisection draws a model's inputs here.
//
// A graph is a function of the choices alone, so that a fuzzer's bytes, a seed and a shrinking test library make the same
// one. Values stay of order one where that is possible: functions with poles and large values mostly get operands that are
// clipped first.
package relaygen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// Choose returns a number in [0, n). The same numbers make the same graph; smaller ones a simpler graph.
type Choose func(n int) int

// Seeded returns choices that follow from a seed.
func Seeded(seed uint64) Choose {
	r := rand.New(rand.NewPCG(seed, 0x7e8e1))
	return r.IntN
}

// Options say what a graph is made of. The zero value is a graph of eight operators of the table.
type Options struct {
	// Operators is how many rows are drawn; 0 is 8. Some rows make a few operators.
	Operators int
	// Rows names the operators to draw from; nil is all of the table.
	Rows []string
	// Patterns names the patterns to draw from, each as often as all operators together; nil is none. See Patterns.
	Patterns []string
	// Control also draws let, if, functions, loops and tuples of results.
	Control bool
	// Regions also draws branches and loops as passes get them: each side and each body is a function that reads only its
	// parameters, of operators, patterns and further regions.
	Regions bool
	// DType is the floating-point type of new values; Invalid draws one, mostly float32.
	DType tensor.DType
}

// Gen is a graph that is being made.
type Gen struct {
	ops     *relay.Table
	choose  Choose
	o       Options // with Rows and DType filled in
	float   tensor.DType
	values  []relay.Expr // tensors that operators may read
	params  []*relay.Var
	wrap    []func(body relay.Expr) relay.Expr // lets, outermost first
	depth   int                                // of regions around this one
	careful int                                // how much rarer than usual a place of a pattern is different
}

// Module draws a graph over the operators of ops. It panics when a row makes an illegal call, which is a bug of the row.
func Module(ops *relay.Table, choose Choose, o Options) *relay.Module {
	g := &Gen{ops: ops, choose: choose, float: o.DType}
	if g.float == tensor.Invalid {
		g.float = pick(g, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64)
	}
	if o.Operators == 0 {
		o.Operators = 8
	}
	if o.Rows == nil && o.Patterns == nil {
		o.Rows = Operators()
	}
	g.o = o
	g.draw(o.Operators)
	return g.module()
}

// draw makes n groups of operators, or what else the options ask for.
func (g *Gen) draw(n int) {
	for range n {
		switch {
		case g.o.Control && g.one(6):
			g.structure()
		case g.o.Regions && g.depth < 2 && g.one(4):
			g.keep(g.region())
		case len(g.o.Patterns) > 0 && (len(g.o.Rows) == 0 || g.one(2)):
			g.keep(patterns[g.o.Patterns[g.n(len(g.o.Patterns))]](g))
		default:
			g.row(g.o.Rows[g.n(len(g.o.Rows))])
		}
	}
}

// Operators returns the names of the operators that have a row, in the order of the alphabet.
func Operators() []string { return sorted(rows) }

// Patterns returns the names of the patterns: groups of operators that a pass of that name looks for, and near misses.
func Patterns() []string { return sorted(patterns) }

func sorted[V any](m map[string]V) []string {
	var list []string
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// row applies the row of one operator and keeps what it makes.
func (g *Gen) row(name string) {
	make := rows[name]
	if make == nil {
		panic(fmt.Sprintf("relaygen: operator %q has no row", name))
	}
	g.keep(make(g))
}

// keep makes the tensors of e operands of later operators.
func (g *Gen) keep(e relay.Expr) relay.Expr {
	t, ok := e.Type().(*relay.TupleType)
	if !ok {
		g.values = append(g.values, e)
		return e
	}
	for i := range t.Fields {
		g.values = append(g.values, g.get(e, i))
	}
	return e
}

// module ends the graph: its results are the last value and some others, so that what is not needed is seen too.
func (g *Gen) module() *relay.Module {
	if len(g.values) == 0 {
		g.input(g.float, tensor.Shape{2})
	}
	last := len(g.values) - 1
	results := []relay.Expr{g.values[last]}
	for range g.n(3) {
		if e := g.values[last-g.n(min(last+1, 6))]; !slices.Contains(results, e) {
			results = append(results, e)
		}
	}
	body := results[0]
	outputs := []string{"y"}
	if len(results) > 1 || g.o.Control && g.one(4) {
		body = relay.NewTuple(results, g.pos("outputs"))
		outputs = nil
		for i := range results {
			outputs = append(outputs, fmt.Sprintf("y%d", i))
		}
	}
	for _, wrap := range slices.Backward(g.wrap) {
		body = wrap(body)
	}
	main := relay.NewFunction(g.params, body, false, nil, diag.Pos{})
	return &relay.Module{Funcs: map[string]*relay.Function{"main": main}, Outputs: outputs}
}

// choices

func (g *Gen) n(n int) int       { return g.choose(n) }
func (g *Gen) one(in int) bool   { return in <= 1 || g.choose(in) == in-1 }
func (g *Gen) flip() bool        { return g.choose(2) == 1 }
func (g *Gen) from(a, b int) int { return a + g.choose(b-a+1) }

// pick returns one of the list, the first being the simplest.
func pick[T any](g *Gen, list ...T) T { return list[g.choose(len(list))] }

// axis returns an axis of rank axes, sometimes counted from the end.
func (g *Gen) axis(rank int) int { return g.signed(g.n(rank), rank) }

// signed writes an axis from the front or from the end.
func (g *Gen) signed(axis, rank int) int {
	if g.one(3) {
		return axis - rank
	}
	return axis
}

// some returns a subset of the axes of a tensor, in any order.
func (g *Gen) some(rank int) []int {
	axes := []int{}
	for _, a := range g.permutation(rank) {
		if g.flip() {
			axes = append(axes, g.signed(a, rank))
		}
	}
	return axes
}

func (g *Gen) permutation(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		k := i - g.n(i+1)
		p[i], p[k] = p[k], p[i]
	}
	return p
}

// list returns n numbers, each from a to b.
func (g *Gen) list(n, a, b int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = g.from(a, b)
	}
	return out
}

func (g *Gen) extent() int { return pick(g, 2, 3, 1, 4, 5) }

// shape draws a shape of a rank.
func (g *Gen) shape(rank int) tensor.Shape {
	s := tensor.Shape{}
	for range rank {
		s = append(s, g.extent())
	}
	return s
}

// nodes

func (g *Gen) pos(node string) diag.Pos {
	return diag.Pos{Node: fmt.Sprintf("%s_%d", node, len(g.values))}
}

// call applies an operator. Nil attributes are the defaults.
func (g *Gen) call(name string, attrs any, args ...relay.Expr) relay.Expr {
	op := g.ops.Lookup(name)
	if op == nil {
		panic(fmt.Sprintf("relaygen: the table has no operator %q", name))
	}
	c, err := relay.NewCall(op, args, attrs, g.pos(name))
	if err != nil {
		panic(fmt.Sprintf("relaygen: %v", err))
	}
	return c
}

func (g *Gen) get(tuple relay.Expr, i int) relay.Expr {
	e, err := relay.NewTupleGet(tuple, i, g.pos("field"))
	if err != nil {
		panic(fmt.Sprintf("relaygen: %v", err))
	}
	return e
}

func (g *Gen) tuple(fields ...relay.Expr) relay.Expr { return relay.NewTuple(fields, g.pos("tuple")) }

// input adds a parameter.
func (g *Gen) input(d tensor.DType, shape tensor.Shape) relay.Expr {
	v := relay.NewVar(fmt.Sprintf("x%d", len(g.params)), &relay.TensorType{Shape: shape, DType: d}, g.pos("input"))
	g.params = append(g.params, v)
	g.values = append(g.values, v)
	return v
}

// constant makes a constant of drawn elements: floats of order one, integers from −3 to 4.
func (g *Gen) constant(d tensor.DType, shape tensor.Shape) relay.Expr {
	w := tensor.NewWide(d, shape)
	r := rand.New(rand.NewPCG(uint64(g.n(1<<20)), 5))
	fill(w, r)
	return relay.NewConstant(w.Narrow(), "", g.pos("constant"))
}

// numbers makes a constant of floats in [low, high].
func (g *Gen) numbers(d tensor.DType, shape tensor.Shape, low, high float64) relay.Expr {
	w := tensor.NewWide(d, shape)
	r := rand.New(rand.NewPCG(uint64(g.n(1<<20)), 6))
	for i := range w.F {
		w.F[i] = low + (high-low)*r.Float64()
	}
	return relay.NewConstant(w.Narrow(), "", g.pos("constant"))
}

// same makes a constant of one value.
func (g *Gen) same(d tensor.DType, shape tensor.Shape, v float64) relay.Expr {
	w := tensor.NewWide(d, shape)
	for i := range w.F {
		w.F[i] = v
	}
	for i := range w.I {
		w.I[i] = int64(v)
	}
	return relay.NewConstant(w.Narrow(), "", g.pos("constant"))
}

// integers makes a constant of integers in [low, high].
func (g *Gen) integers(d tensor.DType, shape tensor.Shape, low, high int) relay.Expr {
	w := tensor.NewWide(d, shape)
	r := rand.New(rand.NewPCG(uint64(g.n(1<<20)), 7))
	for i := range w.I {
		w.I[i] = int64(low + r.IntN(high-low+1))
	}
	return relay.NewConstant(w.Narrow(), "", g.pos("constant"))
}

// fill draws the elements of an array.
func fill(w *tensor.Wide, r *rand.Rand) {
	for i := range w.F {
		w.F[i] = math.Round(32*r.NormFloat64()) / 32
	}
	for i := range w.I {
		switch {
		case w.DType == tensor.Bool:
			w.I[i] = int64(r.IntN(2))
		case w.DType.Kind() == tensor.Unsigned:
			w.I[i] = int64(r.IntN(4))
		case w.DType.Bits() < 4:
			w.I[i] = int64(r.IntN(3) - 1)
		default:
			w.I[i] = int64(r.IntN(8) - 3)
		}
	}
}

// Inputs draws arguments of a function by a seed, one for each parameter.
func Inputs(fn *relay.Function, seed uint64) []*tensor.Tensor {
	args := make([]*tensor.Tensor, len(fn.Params))
	for i, p := range fn.Params {
		t := relay.Tensor(p)
		w := tensor.NewWide(t.DType, t.Shape)
		fill(w, rand.New(rand.NewPCG(seed, uint64(i))))
		args[i] = w.Narrow()
	}
	return args
}

// operands

// want returns a value that fits, mostly one that is there already, else what leaf makes.
func (g *Gen) want(fits func(t *relay.TensorType) bool, leaf func() relay.Expr) relay.Expr {
	if !g.one(5) {
		for range 6 { // recent ones are drawn more often
			if len(g.values) == 0 {
				break
			}
			e := g.values[len(g.values)-1-g.n(min(len(g.values), 8))]
			if fits(relay.Tensor(e)) && relay.Tensor(e).Shape.Elems() <= 4096 {
				return e
			}
		}
	}
	return leaf()
}

// leaf is a new input or constant.
func (g *Gen) leaf(d tensor.DType, shape tensor.Shape) relay.Expr {
	if g.one(4) {
		return g.constant(d, shape)
	}
	return g.input(d, shape)
}

// of returns a value with one of the element types and a rank from low to high.
func (g *Gen) of(types []tensor.DType, low, high int) relay.Expr {
	return g.want(func(t *relay.TensorType) bool {
		return slices.Contains(types, t.DType) && len(t.Shape) >= low && len(t.Shape) <= high && t.Shape.Elems() > 0
	}, func() relay.Expr { return g.leaf(pick(g, types...), g.shape(g.from(low, min(high, 4)))) })
}

var (
	integers = []tensor.DType{tensor.Int64, tensor.Int32, tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Uint16, tensor.Uint32, tensor.Uint64}
	indices  = []tensor.DType{tensor.Int64, tensor.Int32}
	storage  = []tensor.DType{tensor.Int4, tensor.Uint4, tensor.Float8E4M3FN, tensor.Float8E5M2}
)

// real returns a floating-point value.
func (g *Gen) real(low, high int) relay.Expr { return g.of([]tensor.DType{g.float}, low, high) }

// number returns a value of any type that is computed in but bool, mostly a float.
func (g *Gen) number(low, high int) relay.Expr {
	if g.one(4) {
		return g.of(integers, low, high)
	}
	return g.real(low, high)
}

// movable returns a value of any type.
func (g *Gen) movable(low, high int) relay.Expr {
	switch {
	case g.one(8):
		return g.of([]tensor.DType{tensor.Bool}, low, high)
	case g.one(8):
		return g.of(storage, low, high)
	}
	return g.number(low, high)
}

// exactly returns a value of a type.
func (g *Gen) exactly(d tensor.DType, shape tensor.Shape) relay.Expr {
	return g.want(func(t *relay.TensorType) bool { return t.DType == d && t.Shape.Equal(shape) }, func() relay.Expr { return g.leaf(d, shape) })
}

// partner returns the second operand of a broadcasting operator on x.
func (g *Gen) partner(x relay.Expr) relay.Expr {
	t := relay.Tensor(x)
	switch g.n(6) {
	case 0:
		return g.exactly(t.DType, t.Shape)
	case 1: // one element, with any number of axes
		return g.constant(t.DType, tensor.Shape(slices.Repeat([]int{1}, g.n(len(t.Shape)+1))))
	case 2: // a number for each place along one axis
		if len(t.Shape) > 0 {
			return g.constant(t.DType, vector(t.Shape, g.n(len(t.Shape))))
		}
	case 3: // some axes of extent 1
		s := t.Shape[g.n(len(t.Shape)+1):].Clone()
		for i := range s {
			if g.flip() {
				s[i] = 1
			}
		}
		return g.leaf(t.DType, s)
	case 4:
		return x
	}
	return g.want(func(o *relay.TensorType) bool {
		_, ok := relay.BroadcastShape(t.Shape, o.Shape)
		return ok && o.DType == t.DType
	}, func() relay.Expr { return g.leaf(t.DType, t.Shape) })
}

// vector is the shape that broadcasts a number for each place along axis.
func vector(shape tensor.Shape, axis int) tensor.Shape {
	s := tensor.Shape(slices.Repeat([]int{1}, len(shape)-axis))
	s[0] = shape[axis]
	return s
}

// clipped keeps x inside [low, high], but for one time in eight.
func (g *Gen) clipped(x relay.Expr, low, high float64) relay.Expr {
	if g.one(8) || !relay.Tensor(x).DType.IsFloat() {
		return x
	}
	return g.call("clip", &relay.ClipAttrs{AMin: low, AMax: high}, x)
}

// reshaped returns x in another shape of as many elements.
func (g *Gen) reshaped(x relay.Expr, shape ...int) relay.Expr {
	return g.call("reshape", &relay.ReshapeAttrs{NewShape: shape}, x)
}
