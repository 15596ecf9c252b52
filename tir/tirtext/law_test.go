package tirtext_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"pgregory.net/rapid"
)

// maker draws well-typed trees with every construct, odd names included.
type maker struct {
	t    *rapid.T
	vars []*tir.Var
	bufs []*tir.Buffer
}

func (m *maker) pick(label string, n int) int { return rapid.IntRange(0, n-1).Draw(m.t, label) }

func (m *maker) name() string {
	return rapid.SampledFrom([]string{"i", "i", "x", "T.local", "for", "a b", "", "é", "inf", "nan_float16", "quote\"d", "_1", "@2", "exp", "min", "i@2"}).Draw(m.t, "name")
}

func (m *maker) dtype() tensor.DType {
	return rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Float32, tensor.Int64, tensor.Bool, tensor.Float16, tensor.Uint64, tensor.Int8, tensor.Float64}).Draw(m.t, "dtype")
}

func (m *maker) buffer() *tir.Buffer {
	b := &tir.Buffer{Name: m.name(), DType: m.dtype(), Shape: []int{}, Scope: rapid.SampledFrom([]tir.Scope{tir.Global, tir.Local, tir.Scratch, tir.Shared, "vtcm"}).Draw(m.t, "scope")}
	for range m.pick("rank", 4) {
		b.Shape = append(b.Shape, rapid.IntRange(0, 9).Draw(m.t, "dim"))
	}
	switch m.pick("form", 4) {
	case 0:
		b.Strides = make([]int, len(b.Shape))
	case 1:
		if len(b.Shape) == 3 {
			b.Scope, b.Folding = tir.Texture, &tir.Folding{Width: []int{1}, Height: []int{0}}
		}
	}
	return b
}

func (m *maker) constant(d tensor.DType) tir.Expr {
	if d == tensor.Bool {
		return rapid.SampledFrom([]tir.Expr{tir.True, tir.False}).Draw(m.t, "b")
	}
	if d.IsFloat() {
		v := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, math.Inf(1), math.Inf(-1), math.NaN(), 1e30})).Draw(m.t, "f")
		return &tir.Float{DType: d, Value: tensor.Round(d, v)}
	}
	return &tir.Int{DType: d, Value: tensor.Wrap(d, rapid.Int64().Draw(m.t, "n"))}
}

// expr draws an expression of a type.
func (m *maker) expr(t tir.Type, depth int) tir.Expr {
	if t.Lanes > 1 {
		if t.DType == tensor.Int64 && m.pick("ramp", 2) == 0 {
			return &tir.Ramp{Base: m.expr(tir.Index, depth-1), Stride: m.expr(tir.Index, 0), Lanes: t.Lanes}
		}
		if depth <= 0 || m.pick("broadcast", 3) == 0 {
			return &tir.Broadcast{A: m.expr(t.WithLanes(1), depth-1), Lanes: t.Lanes}
		}
	}
	if depth <= 0 {
		for _, v := range m.vars {
			if v.Type() == t && m.pick("var", 2) == 0 {
				return v
			}
		}
		return m.constant(t.DType)
	}
	switch m.pick("node", 7) {
	case 0, 1:
		if t.DType == tensor.Bool {
			of := t
			of.DType = m.dtype()
			op := rapid.SampledFrom([]tir.BinaryOp{tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE, tir.And, tir.Or}).Draw(m.t, "op")
			if op.IsLogical() {
				of.DType = tensor.Bool
			}
			return &tir.Binary{Op: op, A: m.expr(of, depth-1), B: m.expr(of, depth-1)}
		}
		op := tir.BinaryOp(m.pick("op", int(tir.EQ)))
		return &tir.Binary{Op: op, A: m.expr(t, depth-1), B: m.expr(t, depth-1)}
	case 2:
		if t.DType == tensor.Bool {
			return &tir.Not{A: m.expr(t, depth-1)}
		}
		fn := tir.Intrinsic(m.pick("fn", len(tir.Intrinsics())))
		if fn.Result(t.DType) != t.DType {
			fn = tir.Abs
		}
		return &tir.Call{Fn: fn, Args: []tir.Expr{m.expr(t, depth-1), m.expr(t, depth-1)}}
	case 3:
		cond := tir.Type{DType: tensor.Bool, Lanes: 1}
		if m.pick("lanes", 2) == 0 {
			cond.Lanes = t.Lanes
		}
		return &tir.Select{Cond: m.expr(cond, depth-1), Then: m.expr(t, depth-1), Else: m.expr(t, depth-1)}
	case 4:
		of := t
		of.DType = m.dtype()
		return &tir.Cast{DType: t.DType, A: m.expr(of, depth-1)}
	case 5:
		for _, b := range m.bufs {
			if b.DType == t.DType && (len(b.Shape) > 0 || t.Lanes == 1) {
				return &tir.Load{Buffer: b, Indices: m.indices(b, t.Lanes, depth-1)}
			}
		}
	}
	return m.expr(t, 0)
}

func (m *maker) indices(b *tir.Buffer, lanes, depth int) []tir.Expr {
	out := []tir.Expr{}
	for i := range b.Shape {
		t := tir.Index
		if i == len(b.Shape)-1 {
			t.Lanes = lanes
		}
		out = append(out, m.expr(t, depth))
	}
	return out
}

func (m *maker) variable() *tir.Var { return &tir.Var{Name: m.name(), DType: tensor.Int64} }

func (m *maker) with(v *tir.Var, f func() tir.Stmt) tir.Stmt {
	m.vars = append(m.vars, v)
	defer func() { m.vars = m.vars[:len(m.vars)-1] }()
	return f()
}

func (m *maker) attrs() map[string]string {
	return rapid.SampledFrom([]map[string]string{nil, nil, {}, {"a": "1", "b\n": "\"é"}}).Draw(m.t, "attrs")
}

func (m *maker) regions() []tir.Region {
	var out []tir.Region
	for range m.pick("regions", 3) {
		b := m.bufs[m.pick("buf", len(m.bufs))]
		r := tir.Region{Buffer: b, Ranges: []tir.Range{}}
		for range b.Shape {
			r.Ranges = append(r.Ranges, tir.Range{Min: m.expr(tir.Index, 1), Extent: m.expr(tir.Index, 0)})
		}
		out = append(out, r)
	}
	return out
}

func (m *maker) stmt(depth int) tir.Stmt {
	kind := m.pick("stmt", 11)
	if depth <= 0 {
		kind = min(kind, 1)
	}
	body := func() tir.Stmt {
		if m.pick("empty", 8) == 0 {
			return nil
		}
		return m.stmt(depth - 1)
	}
	switch kind {
	case 1:
		return &tir.Evaluate{Value: m.expr(tir.Type{DType: m.dtype(), Lanes: 1}, 2)}
	case 10:
		return &tir.Barrier{Scope: rapid.SampledFrom([]tir.Scope{tir.Shared, tir.Global, "all"}).Draw(m.t, "fence")}
	case 2:
		s := &tir.Seq{}
		for range m.pick("len", 4) {
			s.Stmts = append(s.Stmts, m.stmt(depth-1))
		}
		return s
	case 3:
		f := &tir.For{Var: m.variable(), Min: m.expr(tir.Index, 1), Extent: m.expr(tir.Index, 1),
			Kind: tir.LoopKind(m.pick("kind", 5)), Thread: rapid.SampledFrom([]string{"", "blockIdx.x"}).Draw(m.t, "thread"), Attrs: m.attrs()}
		f.Body = m.with(f.Var, body)
		return f
	case 4:
		return &tir.If{Cond: m.expr(tir.Bool, 2), Then: body(), Else: body()}
	case 5:
		return &tir.While{Cond: m.expr(tir.Bool, 2), Body: body()}
	case 6:
		l := &tir.Let{Var: &tir.Var{Name: m.name(), DType: m.dtype()}}
		l.Value = m.expr(l.Var.Type(), 2)
		l.Body = m.with(l.Var, body)
		return l
	case 7:
		a := &tir.Allocate{Buffer: m.buffer(), Attrs: m.attrs()}
		m.bufs = append(m.bufs, a.Buffer)
		a.Body = body()
		m.bufs = m.bufs[:len(m.bufs)-1]
		return a
	case 8, 9:
		b := &tir.Block{Name: m.name(), Opaque: m.pick("opaque", 2) == 0, Attrs: m.attrs()}
		r := &tir.BlockRealize{Block: b}
		if m.pick("where", 2) == 0 {
			r.Where = m.expr(tir.Bool, 2)
		}
		vars := len(m.vars)
		for range m.pick("iters", 3) {
			v := &tir.Var{Name: m.name(), DType: rapid.SampledFrom([]tensor.DType{tensor.Int64, tensor.Int32}).Draw(m.t, "it")}
			r.Values = append(r.Values, m.expr(v.Type(), 1))
			b.Iters = append(b.Iters, tir.IterVar{Var: v, Extent: m.pick("extent", 20), Kind: tir.IterKind(m.pick("iterkind", 3))})
		}
		for _, iv := range b.Iters {
			m.vars = append(m.vars, iv.Var)
		}
		b.Reads, b.Writes = m.regions(), m.regions()
		bufs := len(m.bufs)
		for range m.pick("allocs", 2) {
			b.Allocs = append(b.Allocs, m.buffer())
			m.bufs = append(m.bufs, b.Allocs[len(b.Allocs)-1])
		}
		b.Init, b.Body = body(), body()
		m.vars, m.bufs = m.vars[:vars], m.bufs[:bufs]
		return r
	}
	b := m.bufs[m.pick("buf", len(m.bufs))]
	lanes := 1
	if len(b.Shape) > 0 && m.pick("vector", 3) == 0 {
		lanes = 4
	}
	return &tir.Store{Buffer: b, Indices: m.indices(b, lanes, 2), Value: m.expr(tir.Type{DType: b.DType, Lanes: lanes}, 4)}
}

func (m *maker) function() *tir.Func {
	f := &tir.Func{Name: m.name(), Attrs: m.attrs()}
	for range 1 + m.pick("params", 3) {
		f.Params = append(f.Params, m.buffer())
	}
	f.Outputs = m.pick("outputs", len(f.Params)+1)
	for range m.pick("scalars", 3) {
		f.Scalars = append(f.Scalars, &tir.Var{Name: m.name(), DType: m.dtype()})
	}
	m.bufs, m.vars = append(m.bufs, f.Params...), append(m.vars, f.Scalars...)
	f.Body = m.stmt(5)
	return f
}

// Parsing what was printed gives the same tree, and it prints the same.
func TestLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &maker{t: t}
		f := m.function()
		text := tirtext.Print(f)
		again, err := tirtext.Parse("printed", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if second := tirtext.Print(again); second != text {
			t.Fatalf("printed:\n%sthen:\n%s", text, second)
		}
		if !tir.Isomorphic(f, again) {
			t.Fatalf("trees differ:\n%s", text)
		}
	})
}

// program draws kernels that share buffers and scalars.
func (m *maker) program() *tir.Program {
	g := &tir.Program{Name: m.name(), Stage: rapid.SampledFrom([]string{"", "unroll", "simplify@2"}).Draw(m.t, "stage")}
	for range 1 + m.pick("params", 3) {
		g.Params = append(g.Params, m.buffer())
	}
	g.Outputs = m.pick("outputs", len(g.Params)+1)
	for range m.pick("scalars", 3) {
		g.Scalars = append(g.Scalars, &tir.Var{Name: m.name(), DType: m.dtype()})
	}
	for range m.pick("between", 3) {
		g.Between = append(g.Between, m.buffer())
	}
	for range m.pick("kernels", 4) {
		k := &tir.Kernel{Name: m.name(), GridExtent: 1, Group: m.pick("group", 3), Scratch: m.pick("scratch", 3)}
		k.Params = rapid.Permutation(append(append([]*tir.Buffer{}, g.Params...), g.Between...)).Draw(m.t, "order")
		k.Params = k.Params[:1+m.pick("used", len(k.Params))]
		k.Outputs = m.pick("written", len(k.Params)+1)
		k.Scalars = append(k.Scalars, g.Scalars[:m.pick("few", len(g.Scalars)+1)]...)
		m.bufs, m.vars = k.Params, append([]*tir.Var{}, k.Scalars...)
		if m.pick("grid", 2) == 0 {
			k.Grid, k.GridExtent = m.variable(), 1+m.pick("extent", 9)
			m.vars = append(m.vars, k.Grid)
		}
		k.Body = m.stmt(3)
		g.Kernels = append(g.Kernels, k)
	}
	return g
}

// The law for the kernels of one function: what they share is one thing again.
func TestProgramLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &maker{t: t}
		g := m.program()
		text := tirtext.PrintProgram(g)
		again, err := tirtext.ParseProgram("printed", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !tir.Isomorphic(g, again) || tirtext.PrintProgram(again) != text {
			t.Fatalf("printed:\n%s\nthen:\n%s", text, tirtext.PrintProgram(again))
		}
	})
}

// A kernel of a program that shares nothing with others prints as it does alone.
func TestKernelsInProgram(t *testing.T) {
	text := `program f(A: float32[64], out C: float32[64]) after "simplify"
between T: float32[64]

kernel f(A: float32[64], out T: float32[64]) grid g = 64:
  T[g] = A[g] * 2.0

kernel f_1(T: float32[64], out C: float32[64]) grid g = 64:
  C[g] = T[63 - g]
`
	g, err := tirtext.ParseProgram("f", text)
	require.NoError(t, err)
	require.Equal(t, text, tirtext.PrintProgram(g))
	require.Same(t, g.Between[0], g.Kernels[0].Params[1])
	require.Same(t, g.Between[0], g.Kernels[1].Params[0])
	require.NotSame(t, g.Kernels[0].Grid, g.Kernels[1].Grid)
	require.Equal(t, "kernel f_1(T: float32[64], out C: float32[64]) grid g = 64:\n  C[g] = T[63 - g]\n", tirtext.PrintKernel(g.Kernels[1]))
}

// Every type of node prints, parses back and prints the same.
func TestEveryNode(t *testing.T) {
	for i, n := range tir.Nodes() {
		k := tir.NodesFunc(i)
		text := tirtext.PrintKernel(k)
		again, err := tirtext.ParseKernel("node", text)
		require.NoError(t, err, "%T\n%s", n, text)
		require.True(t, tir.Isomorphic(k, again), "%T\n%s", n, text)
		require.Equal(t, text, tirtext.PrintKernel(again))
		if s, ok := n.(tir.Stmt); ok {
			require.NotEmpty(t, tirtext.PrintStmt(s))
		} else {
			require.NotEmpty(t, tirtext.PrintExpr(n.(tir.Expr)))
		}
	}
}

func TestKernelLaw(t *testing.T) {
	text := `kernel k(A: float32[4, 8] strides [16, 1], out B: float32[32] texture fold [0] [] [], scalar n: int32) grid g = 4 group 64 scratch 4096:
  allocate T: float32[8] local:
    T[ramp(0, 1, 8)] = A[g, ramp(0, 1, 8)]
    for i in range(0, 8):
      B[g * 8 + i] = T[i]
`
	k, err := tirtext.ParseKernel("k", text)
	require.NoError(t, err)
	require.Equal(t, text, tirtext.PrintKernel(k))
	require.Equal(t, []int{4, 64, 4096, 1}, []int{k.GridExtent, k.Group, k.Scratch, k.Outputs})
}

// Long chains and deep trees print and parse; what is too deep to be meant is refused.
func TestDepth(t *testing.T) {
	out := &tir.Buffer{Name: "C", DType: tensor.Int64, Shape: []int{}, Scope: tir.Global}
	var sum tir.Expr = tir.I(1)
	for i := range 50_000 {
		sum = &tir.Binary{Op: tir.Add, A: sum, B: tir.I(i)}
	}
	f := &tir.Func{Name: "f", Params: []*tir.Buffer{out}, Outputs: 1, Body: &tir.Store{Buffer: out, Indices: []tir.Expr{}, Value: sum}}
	text := tirtext.Print(f)
	again, err := tirtext.Parse("chain", text)
	require.NoError(t, err)
	require.Equal(t, text, tirtext.Print(again))
	deep := "func f(out C: int64[]):\n  C[] = " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000) + "\n"
	_, err = tirtext.Parse("deep", deep)
	require.ErrorContains(t, err, "nesting is deeper than 2000")
	var lines strings.Builder
	lines.WriteString("func f(out C: int64[]):\n")
	for i := range 3000 {
		lines.WriteString(strings.Repeat(" ", i+1) + "if true:\n")
	}
	_, err = tirtext.Parse("deep", lines.String())
	require.ErrorContains(t, err, "nesting is deeper than 2000")
}
