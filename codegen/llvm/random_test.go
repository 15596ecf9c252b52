package llvm

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// generator makes random kernels in lowered form that the interpreter accepts: every access that is evaluated is within
// its buffer and reads what was written. Numbers stay small integers, also in floats, so that results are exact and do
// not depend on contraction.
type generator struct {
	r      *rand.Rand
	params []*tir.Buffer
	alive  []*tir.Buffer        // local and scratch buffers, wholly written
	dead   []*tir.Buffer        // such buffers that went out of scope
	fixed  map[*tir.Buffer]bool // local buffers that are to be accessed with constant indices
	vars   []ranged             // index variables in scope
	lets   []*tir.Var           // other variables in scope
	budget int
	names  int
}

// ranged is an index variable with its range, half open.
type ranged struct {
	v      *tir.Var
	lo, hi int
}

func randomKernel(r *rand.Rand, name string) *tir.Kernel {
	g := &generator{r: r, fixed: map[*tir.Buffer]bool{}, budget: 60}
	types := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Int32, tensor.Float64, tensor.Int64, tensor.Uint8, tensor.Int8, tensor.Int16, tensor.Bool, tensor.Float16, tensor.BFloat16}
	for i := range 2 + r.Intn(4) {
		shape := make([]int, 1+r.Intn(3))
		for d := range shape {
			shape[d] = 1 + r.Intn(6)
		}
		shape[len(shape)-1] = []int{1, 3, 8, 16, 17, 33}[r.Intn(6)]
		g.params = append(g.params, buffer(fmt.Sprint("p", i), types[r.Intn(len(types))], shape...))
	}
	k := &tir.Kernel{Name: name, Params: g.params, Outputs: 1 + r.Intn(len(g.params)-1)}
	k.GridExtent = 1 + r.Intn(5)
	if k.GridExtent > 1 || r.Intn(2) == 0 {
		k.Grid = tir.NewVar("g")
		g.vars = append(g.vars, ranged{k.Grid, 0, k.GridExtent})
	}
	if r.Intn(2) == 0 {
		s := tir.NewVar("s")
		k.Scalars = append(k.Scalars, s)
		g.vars = append(g.vars, ranged{s, 0, 8})
	}
	writable := g.params[len(g.params)-k.Outputs:]
	k.Body = g.seq(3, writable)
	return k
}

func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprint(prefix, g.names)
}

func (g *generator) seq(depth int, writable []*tir.Buffer) tir.Stmt {
	list := []tir.Stmt{}
	for range 1 + g.r.Intn(3) {
		list = append(list, g.stmt(depth, writable))
	}
	return tir.Block1(list...)
}

func (g *generator) stmt(depth int, writable []*tir.Buffer) tir.Stmt {
	g.budget--
	if depth == 0 || g.budget < 0 {
		return g.store(writable)
	}
	switch g.r.Intn(9) {
	case 0, 1:
		return g.loop(depth, writable)
	case 2:
		return &tir.If{Cond: g.cond(1, 2), Then: g.seq(depth-1, writable), Else: g.otherwise(depth, writable)}
	case 3:
		v := &tir.Var{Name: g.name("t"), DType: []tensor.DType{tensor.Float32, tensor.Int32, tensor.Bool, tensor.Int64}[g.r.Intn(4)]}
		value := g.value(v.DType, 1, 2)
		g.lets = append(g.lets, v)
		body := g.seq(depth-1, writable)
		g.lets = g.lets[:len(g.lets)-1]
		return &tir.Let{Var: v, Value: value, Body: body}
	case 4:
		v := tir.NewVar(g.name("n"))
		extent := 1 + g.r.Intn(7)
		value := g.index(extent)
		g.vars = append(g.vars, ranged{v, 0, extent})
		body := g.seq(depth-1, writable)
		g.vars = g.vars[:len(g.vars)-1]
		return &tir.Let{Var: v, Value: value, Body: body}
	case 5, 6:
		return g.allocate(depth, writable)
	case 7:
		return g.while(depth, writable)
	}
	return g.store(writable)
}

func (g *generator) otherwise(depth int, writable []*tir.Buffer) tir.Stmt {
	if g.r.Intn(2) == 0 {
		return nil
	}
	return g.seq(depth-1, writable)
}

func (g *generator) loop(depth int, writable []*tir.Buffer) tir.Stmt {
	v := tir.NewVar(g.name("i"))
	lo, n := g.r.Intn(3), 1+g.r.Intn(4)
	f := &tir.For{Var: v, Min: tir.I(lo), Extent: tir.I(n)}
	if g.r.Intn(3) == 0 && len(g.vars) > 0 { // an extent that may be 0
		f.Extent = tir.Bin(tir.Min, tir.Bin(tir.FloorMod, g.pick().v, tir.I(4)), tir.I(n))
	}
	g.vars = append(g.vars, ranged{v, lo, lo + n})
	f.Body = g.seq(depth-1, writable)
	g.vars = g.vars[:len(g.vars)-1]
	return f
}

// while counts down in a local buffer.
func (g *generator) while(depth int, writable []*tir.Buffer) tir.Stmt {
	b := local(g.name("w"), tensor.Int64, 1)
	count := at(b, tir.I(0))
	body := &tir.Seq{Stmts: []tir.Stmt{g.seq(depth-1, writable), put(b, tir.Minus(count, tir.I(1)), tir.I(0))}}
	return &tir.Allocate{Buffer: b, Body: &tir.Seq{Stmts: []tir.Stmt{
		put(b, g.index(4), tir.I(0)), &tir.While{Cond: tir.Bin(tir.GT, count, tir.I(0)), Body: body}}}}
}

// allocate makes a local or scratch buffer and writes all of it first.
func (g *generator) allocate(depth int, writable []*tir.Buffer) tir.Stmt {
	d := []tensor.DType{tensor.Float32, tensor.Int32, tensor.Float32, tensor.Int64, tensor.Bool, tensor.Float16}[g.r.Intn(6)]
	rows, cols := 1+g.r.Intn(3), []int{1, 4, 8, 16, 20}[g.r.Intn(5)]
	b := local(g.name("l"), d, rows, cols)
	if g.r.Intn(3) == 0 {
		b.Scope = tir.Scratch
	}
	if len(g.dead) > 0 && g.r.Intn(2) == 0 { // as passes that copy statements leave it
		b = g.dead[g.r.Intn(len(g.dead))]
		d, rows, cols = b.DType, b.Shape[0], b.Shape[1]
	}
	if slices.Contains(g.alive, b) {
		return g.store(writable)
	}
	g.fixed[b] = b.Scope == tir.Local && g.r.Intn(3) > 0
	var init []tir.Stmt
	for row := range rows {
		for at := 0; at < cols; {
			lanes := min(cols-at, []int{1, 4, 8, 16}[g.r.Intn(4)])
			if g.r.Intn(2) == 0 {
				lanes = cols - at
			}
			init = append(init, put(b, g.value(d, lanes, 1), tir.I(row), rampOf(tir.I(at), lanes)))
			at += lanes
		}
	}
	g.alive = append(g.alive, b)
	body := g.seq(depth-1, append(writable[:len(writable):len(writable)], b, b))
	g.alive = g.alive[:len(g.alive)-1]
	g.dead = append(g.dead, b)
	return &tir.Allocate{Buffer: b, Body: &tir.Seq{Stmts: append(init, body)}}
}

func rampOf(base tir.Expr, lanes int) tir.Expr {
	if lanes == 1 {
		return base
	}
	return span1(base, lanes)
}

func (g *generator) store(writable []*tir.Buffer) tir.Stmt {
	b := writable[g.r.Intn(len(writable))]
	last := b.Shape[len(b.Shape)-1]
	lanes := []int{1, 1, 2, 4, 8, 16}[g.r.Intn(6)]
	stride := 1 + g.r.Intn(2)
	for (lanes-1)*stride+1 > last {
		lanes, stride = lanes/2, 1
	}
	lanes = max(lanes, 1)
	idx := g.indices(b, lanes, stride)
	return put(b, g.value(b.DType, lanes, 3), idx...)
}

// indices are scalar ones but for the last, which is a ramp when lanes are wanted.
func (g *generator) indices(b *tir.Buffer, lanes, stride int) []tir.Expr {
	idx := make([]tir.Expr, len(b.Shape))
	for d, n := range b.Shape {
		room := n
		if d == len(b.Shape)-1 {
			room = n - (lanes-1)*stride
		}
		if g.fixed[b] {
			idx[d] = tir.I(g.r.Intn(room))
		} else {
			idx[d] = g.index(room)
		}
	}
	if lanes > 1 {
		idx[len(idx)-1] = &tir.Ramp{Base: idx[len(idx)-1], Stride: tir.I(stride), Lanes: lanes}
	}
	return idx
}

func (g *generator) pick() ranged { return g.vars[g.r.Intn(len(g.vars))] }

// index is a scalar expression in [0, n).
func (g *generator) index(n int) tir.Expr {
	if len(g.vars) == 0 || g.r.Intn(4) == 0 {
		return tir.I(g.r.Intn(n))
	}
	v := g.pick()
	switch g.r.Intn(6) {
	case 0:
		if v.hi <= n {
			return v.v
		}
	case 1:
		if c := g.r.Intn(3); v.hi+c <= n {
			return tir.Plus(v.v, tir.I(c))
		}
	case 2:
		w := g.pick()
		if c := 2 + g.r.Intn(3); (v.hi-1)*c+w.hi <= n {
			return tir.Plus(tir.Times(v.v, tir.I(c)), w.v)
		}
	case 3:
		return tir.Bin(tir.Min, tir.Plus(tir.Times(v.v, tir.I(3)), tir.I(g.r.Intn(4))), tir.I(n-1))
	case 4:
		e := tir.Plus(tir.Times(v.v, tir.I(5)), tir.Times(g.pick().v, tir.I(-3)))
		return tir.Bin(tir.FloorMod, tir.Bin(tir.FloorDiv, e, tir.I(1+g.r.Intn(4))), tir.I(n))
	}
	return tir.Bin(tir.FloorMod, tir.Plus(tir.Times(v.v, tir.I(1+g.r.Intn(9))), tir.I(g.r.Intn(5)-2)), tir.I(n))
}

// load reads a buffer of type d; nil when there is none.
func (g *generator) load(d tensor.DType, lanes int) tir.Expr {
	var fit []*tir.Buffer
	for _, b := range append(append([]*tir.Buffer{}, g.params...), g.alive...) {
		if b.DType == d {
			fit = append(fit, b)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	b := fit[g.r.Intn(len(fit))]
	last := b.Shape[len(b.Shape)-1]
	if lanes == 1 {
		return at(b, g.indices(b, 1, 1)...)
	}
	if g.fixed[b] {
		if last < lanes {
			return &tir.Broadcast{A: at(b, g.indices(b, 1, 1)...), Lanes: lanes}
		}
		return at(b, g.indices(b, lanes, 1)...)
	}
	stride := 1 + g.r.Intn(3)
	switch g.r.Intn(5) {
	case 0:
		return &tir.Broadcast{A: at(b, g.indices(b, 1, 1)...), Lanes: lanes}
	case 1: // any lanes
		idx := g.indices(b, 1, 1)
		axis := g.r.Intn(len(idx))
		v := tir.Bin(tir.Add, &tir.Ramp{Base: g.index(5), Stride: tir.I(1 + g.r.Intn(3)), Lanes: lanes}, g.index(3))
		idx[axis] = tir.Bin(tir.FloorMod, v, tir.I(b.Shape[axis]))
		return at(b, idx...)
	case 2: // lanes along another axis
		idx := g.indices(b, 1, 1)
		if axis := g.r.Intn(len(idx)); b.Shape[axis] >= lanes {
			idx[axis] = rampOf(g.index(b.Shape[axis]-lanes+1), lanes)
			return at(b, idx...)
		}
	case 3: // out of bounds in lanes that are not chosen
		base := tir.Expr(&tir.Ramp{Base: tir.Plus(g.index(3), tir.I(-2)), Stride: tir.I(stride), Lanes: lanes})
		in := tir.Bin(tir.And, tir.Bin(tir.GE, base, tir.I(0)), tir.Bin(tir.LT, base, tir.I(last)))
		idx := g.indices(b, 1, 1)
		idx[len(idx)-1] = base
		if g.r.Intn(2) == 0 {
			return &tir.Select{Cond: in, Then: at(b, idx...), Else: g.value(d, lanes, 1)}
		}
		return &tir.Select{Cond: &tir.Not{A: in}, Then: g.value(d, lanes, 0), Else: g.combine(d, at(b, idx...), g.value(d, lanes, 0))}
	}
	if (lanes-1)*stride+1 > last {
		return &tir.Broadcast{A: at(b, g.indices(b, 1, 1)...), Lanes: lanes}
	}
	return at(b, g.indices(b, lanes, stride)...)
}

// guarded is a scalar load that would be out of bounds where its condition does not hold.
func (g *generator) guarded(d tensor.DType) tir.Expr {
	for _, b := range g.params {
		if b.DType == d && len(g.vars) > 0 {
			idx := g.indices(b, 1, 1)
			i := tir.Plus(tir.Times(g.pick().v, tir.I(5)), tir.I(-4))
			idx[len(idx)-1] = i
			in := tir.Bin(tir.And, tir.Bin(tir.GE, i, tir.I(0)), tir.Bin(tir.LT, i, tir.I(b.Shape[len(idx)-1])))
			return &tir.Select{Cond: in, Then: at(b, idx...), Else: g.value(d, 1, 0)}
		}
	}
	return nil
}

func (g *generator) literal(d tensor.DType, lanes int) tir.Expr {
	v := g.r.Intn(9) - 4
	if d.Kind() == tensor.Unsigned || d == tensor.Bool {
		v = g.r.Intn(2)
	}
	c := tir.Const(d, float64(v))
	if lanes > 1 {
		return &tir.Broadcast{A: c, Lanes: lanes}
	}
	return c
}

// combine is an operation whose result is small again.
func (g *generator) combine(d tensor.DType, a, b tir.Expr) tir.Expr {
	if d == tensor.Bool {
		return &tir.Binary{Op: []tir.BinaryOp{tir.And, tir.Or, tir.BitXor, tir.EQ, tir.NE}[g.r.Intn(5)], A: a, B: b}
	}
	op := []tir.BinaryOp{tir.Add, tir.Sub, tir.Mul, tir.Min, tir.Max, tir.Add}[g.r.Intn(6)]
	e := tir.Expr(&tir.Binary{Op: op, A: a, B: b})
	if op == tir.Mul && g.r.Intn(2) == 0 { // something to contract
		e = &tir.Binary{Op: []tir.BinaryOp{tir.Add, tir.Sub}[g.r.Intn(2)], A: e, B: g.literal(d, a.Type().Lanes)}
	}
	if op <= tir.Mul && d.IsFloat() {
		lo, hi := g.literalOf(d, -8, a.Type().Lanes), g.literalOf(d, 8, a.Type().Lanes)
		e = &tir.Binary{Op: tir.Max, A: &tir.Binary{Op: tir.Min, A: e, B: hi}, B: lo}
	}
	return e
}

func (g *generator) literalOf(d tensor.DType, v float64, lanes int) tir.Expr {
	c := tir.Const(d, v)
	if lanes > 1 {
		return &tir.Broadcast{A: c, Lanes: lanes}
	}
	return c
}

// value is an expression of type d.
func (g *generator) value(d tensor.DType, lanes, depth int) tir.Expr {
	if depth > 0 {
		switch g.r.Intn(9) {
		case 0, 1, 2:
			return g.combine(d, g.value(d, lanes, depth-1), g.value(d, lanes, depth-1))
		case 3:
			return &tir.Select{Cond: g.cond(lanes, depth-1), Then: g.value(d, lanes, depth-1), Else: g.value(d, lanes, depth-1)}
		case 4:
			from := []tensor.DType{tensor.Int32, tensor.Int8, tensor.Float32, tensor.Bool, tensor.Int64}[g.r.Intn(5)]
			if from != d && d.Kind() != tensor.Unsigned && d != tensor.Bool {
				return &tir.Cast{DType: d, A: g.clamped(from, lanes, depth-1)}
			}
		case 5:
			if e := g.guarded(d); e != nil && lanes == 1 {
				return e
			}
		case 6:
			if d == tensor.Bool {
				return g.cond(lanes, depth)
			}
		}
	}
	if g.r.Intn(4) > 0 {
		if e := g.load(d, lanes); e != nil {
			return e
		}
	}
	for _, v := range g.lets {
		if v.DType == d && g.r.Intn(2) == 0 {
			if lanes > 1 {
				return &tir.Broadcast{A: v, Lanes: lanes}
			}
			return v
		}
	}
	return g.literal(d, lanes)
}

// clamped is a value in [-8, 8].
func (g *generator) clamped(d tensor.DType, lanes, depth int) tir.Expr {
	e := g.value(d, lanes, depth)
	if d == tensor.Bool {
		return e
	}
	return &tir.Binary{Op: tir.Max, A: &tir.Binary{Op: tir.Min, A: e, B: g.literalOf(d, 8, lanes)}, B: g.literalOf(d, -8, lanes)}
}

// cond is a bool expression.
func (g *generator) cond(lanes, depth int) tir.Expr {
	switch g.r.Intn(5) {
	case 0:
		if len(g.vars) > 0 {
			c := tir.Expr(&tir.Binary{Op: tir.LT, A: g.pick().v, B: g.index(5)})
			if lanes > 1 {
				return &tir.Broadcast{A: c, Lanes: lanes}
			}
			return c
		}
	case 1:
		if lanes > 1 {
			return &tir.Binary{Op: tir.LT, A: &tir.Ramp{Base: g.index(4), Stride: tir.I(1), Lanes: lanes}, B: &tir.Broadcast{A: g.index(9), Lanes: lanes}}
		}
	case 2:
		if depth > 0 {
			return &tir.Binary{Op: []tir.BinaryOp{tir.And, tir.Or}[g.r.Intn(2)], A: g.cond(lanes, depth-1), B: g.cond(lanes, depth-1)}
		}
	}
	d := []tensor.DType{tensor.Float32, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Float16}[g.r.Intn(5)]
	op := tir.EQ + tir.BinaryOp(g.r.Intn(6))
	return &tir.Binary{Op: op, A: g.value(d, lanes, min(depth, 1)), B: g.value(d, lanes, 0)}
}

// smallInputs fills parameters with integers from -4 to 4.
func smallInputs(r *rand.Rand, k *tir.Kernel) []*tensor.Tensor {
	args := make([]*tensor.Tensor, len(k.Params))
	for i, p := range k.Params {
		w := tensor.NewWide(p.DType, p.Shape)
		for j := range w.Shape.Elems() {
			v := r.Intn(9) - 4
			if p.DType.Kind() == tensor.Unsigned || p.DType == tensor.Bool {
				v = r.Intn(2)
			}
			if p.DType.IsFloat() {
				w.F[j] = float64(v)
			} else {
				w.I[j] = int64(v)
			}
		}
		args[i] = w.Narrow()
	}
	return args
}

func checkRandom(t *testing.T, m machine, kernels []*tir.Kernel, seed int64) {
	for i, k := range kernels {
		r := rand.New(rand.NewSource(seed + int64(i)))
		scalars := make([]int64, len(k.Scalars))
		for j := range scalars {
			scalars[j] = int64(r.Intn(8))
		}
		check(t, m, i, k, smallInputs(r, k), scalars, tirtext.PrintKernel(k))
	}
}

func randomKernels(seed int64, n int) []*tir.Kernel {
	kernels := make([]*tir.Kernel, n)
	for i := range kernels {
		kernels[i] = randomKernel(rand.New(rand.NewSource(seed+int64(i))), fmt.Sprint("k", i))
	}
	return kernels
}

func TestRandomKernels(t *testing.T) {
	const seed = 1000
	kernels := randomKernels(seed, 120)
	t.Run("native", func(t *testing.T) { checkRandom(t, newNative(t, hostTarget(t), kernels), kernels, seed) })
	t.Run("avx2", func(t *testing.T) { checkRandom(t, newNative(t, avx2(t), kernels), kernels, seed) })
	t.Run("aarch64", func(t *testing.T) {
		checkRandom(t, newEmulated(t, bigCore(t), kernels[:50]), kernels[:50], seed)
	})
	t.Run("old aarch64", func(t *testing.T) {
		checkRandom(t, newEmulated(t, oldCore(t), kernels[50:80]), kernels[50:80], seed+50)
	})
}

// FuzzKernels compares kernels made of the seed with the interpreter.
func FuzzKernels(f *testing.F) {
	f.Add(int64(1))
	f.Fuzz(func(t *testing.T, seed int64) {
		kernels := randomKernels(seed, 1)
		checkRandom(t, newNative(t, hostTarget(t), kernels), kernels, seed)
	})
}

// TestSameBytes compiles twice with different parallelism.
func TestSameBytes(t *testing.T) {
	kernels := randomKernels(5, 40)
	tl := tools(t)
	a, err := Build(t.Context(), kernels, hostTarget(t), Options{Workers: 1, Tools: &tl})
	require.NoError(t, err)
	b, err := Build(t.Context(), randomKernels(5, 40), hostTarget(t), Options{Workers: 4, Tools: &tl})
	require.NoError(t, err)
	require.Equal(t, a.SO, b.SO)
}
