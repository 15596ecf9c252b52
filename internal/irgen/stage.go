package irgen

import (
	"math"
	"slices"

	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// stage adds one stage. It mainly reads one of the last results, so that stages depend on each other.
func (g *generator) stage() {
	src := g.values[len(g.values)-1-g.IntN(min(3, len(g.values)))]
	switch k := g.IntN(12); {
	case k >= 10 && g.o.Scans && len(src.Shape()) > 0 && src.Shape()[0] > 1:
		g.scan(src)
	case k >= 8 && g.o.Tuples:
		g.tuple(src)
	case k >= 4:
		g.reduce(src)
	default:
		g.compute(src)
	}
}

func (g *generator) add(t *te.Tensor, most float64) {
	g.stages = append(g.stages, t)
	g.values = append(g.values, value{t, most})
}

// typeFor draws the type of a stage: mostly that of what it reads.
func (g *generator) typeFor(src value) tensor.DType {
	if g.one(4) || !slices.Contains(g.o.Types, src.DType()) {
		return pick(g, g.o.Types...)
	}
	return src.DType()
}

func (g *generator) compute(src value) {
	d, dom := g.typeFor(src), g.domainOf(src.Shape(), false)
	most := 0.0
	t := te.Compute(g.name("T"), d, dom.shape(), func(i []tir.Expr) tir.Expr {
		v := vars{i: i}
		e := g.element(d, g.readAt(src, dom.at, v), dom, v)
		most = e.most
		return e.e
	})
	g.add(t, most)
}

// reduction is a way to fold values of one type.
type reduction struct {
	init    func(d tensor.DType) tir.Expr
	combine func(a, b tir.Expr) tir.Expr
	most    func(x float64, n int) float64 // of n values of magnitude x
	of      func(d tensor.DType) bool      // the types that it is for
	extreme bool                           // its identity is an end of the type
}

var reductions = []reduction{
	{zero, tir.Plus, func(x float64, n int) float64 { return x * float64(n) }, anyType, false},
	{tir.Lowest, tir.Maximum, larger, anyType, true},
	{tir.Highest, tir.Minimum, larger, anyType, true},
	{one, tir.Times, func(x float64, n int) float64 { return math.Pow(max(x, 1), float64(n)) }, anyType, false},
	{one, func(a, b tir.Expr) tir.Expr { // a + b - 1, whose identity is 1
		return tir.Minus(tir.Plus(a, b), tir.Const(a.Type().DType, 1))
	}, func(x float64, n int) float64 { return (x + 1) * float64(n+1) }, signedType, false},
	{zero, func(a, b tir.Expr) tir.Expr { return tir.Bin(tir.BitXor, a, b) }, anything, tensor.DType.IsInt, false},
	{zero, func(a, b tir.Expr) tir.Expr { return tir.Bin(tir.BitOr, a, b) }, anything, tensor.DType.IsInt, false},
}

func anyType(tensor.DType) bool      { return true }
func signedType(d tensor.DType) bool { return d.Kind() != tensor.Unsigned }

func zero(d tensor.DType) tir.Expr    { return tir.Const(d, 0) }
func one(d tensor.DType) tir.Expr     { return tir.Const(d, 1) }
func larger(x float64, _ int) float64 { return x }
func anything(float64, int) float64   { return math.Inf(1) }

// reductionOf draws a reduction for a type.
func (g *generator) reductionOf(d tensor.DType) reduction {
	if g.IntN(2) == 0 { // a sum half of the time
		return reductions[0]
	}
	for {
		if r := pick(g, reductions...); r.of(d) {
			return r
		}
	}
}

func (g *generator) reduce(src value) {
	d, dom := g.typeFor(src), g.domainOf(src.Shape(), true)
	n := product(dom.reduce)
	r := g.reductionOf(d)
	most := 0.0
	t := te.Reduce(g.name("T"), d, dom.shape(), dom.reduce, r.init(d), r.combine, func(i, k []tir.Expr) tir.Expr {
		v := vars{i, k}
		e := g.foldable(g.element(d, g.readAt(src, dom.at, v), dom, v), r, n)
		most = r.most(e.most, n)
		return e.e
	})
	most = min(most, exact(d))
	if g.limit(t, dom) && r.extreme { // where nothing takes part, the end of the type is left
		most = math.Inf(1)
	}
	g.add(t, most)
}

// limit puts a condition on some reductions.
func (g *generator) limit(t *te.Tensor, dom *domain) bool {
	if !g.one(5) {
		return false
	}
	t.Where(func(i, r []tir.Expr) tir.Expr { return g.condition(dom, vars{i, r}) })
	return true
}

// foldable clamps an element so that n of them fold exactly.
func (g *generator) foldable(x bounded, r reduction, n int) bounded {
	d := x.e.Type().DType
	for most := x.most; d.IsFloat(); most = math.Floor(most / 2) {
		if r.most(most, n) <= exact(d) || most < 1 {
			return within(x, most)
		}
	}
	return x
}

// tuple adds a stage of several results.
func (g *generator) tuple(src value) {
	d := g.typeFor(src)
	kind := g.IntN(5)
	dom := g.domainOf(src.Shape(), kind > 0)
	n := product(dom.reduce)
	element := func(i, r []tir.Expr) bounded {
		v := vars{i, r}
		return g.element(d, g.readAt(src, dom.at, v), dom, v)
	}
	name := g.name("T")
	switch kind {
	case 0:
		e := pick(g, g.o.Types...)
		var most [2]float64
		out := te.ComputeMany(name, []tensor.DType{d, e}, dom.shape(), func(i []tir.Expr) []tir.Expr {
			a := element(i, nil)
			b := as(e, g.operation(a, dom, vars{i: i}))
			most = [2]float64{a.most, b.most}
			return []tir.Expr{a.e, b.e}
		})
		g.add(out[0], most[0])
		g.add(out[1], most[1])
	case 1, 2:
		index := pick(g, tensor.Int32, tensor.Int64)
		arg, most := te.ArgMax, 0.0
		if kind == 2 {
			arg = te.ArgMin
		}
		p, v := arg(name, index, d, dom.shape(), dom.reduce, func(i, r []tir.Expr) tir.Expr {
			e := element(i, r)
			most = e.most
			return e.e
		})
		// No condition: without an element the place would be the end of its type.
		g.add(p, float64(n))
		g.add(v, most)
	case 3:
		g.sumAndCount(name, d, dom, n, element)
	default:
		g.maxAndCount(name, d, dom, n, element)
	}
}

// sumAndCount folds two sums, of the elements and of those below one.
func (g *generator) sumAndCount(name string, d tensor.DType, dom *domain, n int, element func(i, r []tir.Expr) bounded) {
	sums := te.CommReducer{
		Identity: func([]tensor.DType) []tir.Expr { return []tir.Expr{zero(d), zero(tensor.Int32)} },
		Combine:  func(x, y []tir.Expr) []tir.Expr { return []tir.Expr{tir.Plus(x[0], y[0]), tir.Plus(x[1], y[1])} },
	}
	most := 0.0
	out := sums.Reduce(name, []tensor.DType{d, tensor.Int32}, dom.shape(), dom.reduce, func(i, r []tir.Expr) []tir.Expr {
		e := g.foldable(element(i, r), reductions[0], n)
		most = e.most * float64(n)
		return []tir.Expr{e.e, tir.As(tensor.Int32, tir.Lt(e.e, one(d)))}
	})
	g.limit(out[0], dom)
	g.add(out[0], min(most, exact(d)))
	g.add(out[1], float64(n))
}

// maxAndCount folds the largest element and how often it occurs; neither can be told without the other.
func (g *generator) maxAndCount(name string, d tensor.DType, dom *domain, n int, element func(i, r []tir.Expr) bounded) {
	count := tensor.Int32
	often := te.CommReducer{
		Identity: func([]tensor.DType) []tir.Expr { return []tir.Expr{tir.Lowest(d), zero(count)} },
		Combine: func(x, y []tir.Expr) []tir.Expr {
			m := tir.Maximum(x[0], y[0])
			return []tir.Expr{m, tir.Plus(tir.Sel(tir.Eq(x[0], m), x[1], zero(count)), tir.Sel(tir.Eq(y[0], m), y[1], zero(count)))}
		},
	}
	most := 0.0
	out := often.Reduce(name, []tensor.DType{d, count}, dom.shape(), dom.reduce, func(i, r []tir.Expr) []tir.Expr {
		e := element(i, r)
		most = e.most
		return []tir.Expr{e.e, one(count)}
	})
	g.add(out[0], most)
	g.add(out[1], float64(n))
}
