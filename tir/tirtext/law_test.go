package tirtext_test

import (
	"fmt"
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
		if fn == tir.IsNaN || fn == tir.IsInf {
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
	kind := m.pick("stmt", 10)
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
		a := &tir.Allocate{Buffer: m.buffer()}
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

// dump writes a tree in full, variables and buffers by the order in which they are met.
func dump(root any) string {
	ids := map[any]int{}
	var b strings.Builder
	id := func(p any, detail string) string {
		if _, ok := ids[p]; !ok {
			ids[p] = len(ids)
			return fmt.Sprintf("new%d(%s)", ids[p], detail)
		}
		return fmt.Sprintf("#%d", ids[p])
	}
	buffer := func(x *tir.Buffer) string {
		fold := ""
		if x.Folding != nil {
			fold = fmt.Sprint(*x.Folding)
		}
		return id(x, fmt.Sprintf("%q %v %v %v %s %s", x.Name, x.DType, x.Shape, x.Strides, x.Scope, fold))
	}
	variable := func(x *tir.Var) string { return id(x, fmt.Sprintf("%q %v", x.Name, x.DType)) }
	tir.Walk(root, func(n any) bool {
		fmt.Fprintf(&b, "%T ", n)
		switch n := n.(type) {
		case *tir.Var:
			b.WriteString(variable(n))
		case *tir.Int:
			fmt.Fprint(&b, *n)
		case *tir.Float:
			if math.IsNaN(n.Value) { // one nan for all
				fmt.Fprint(&b, n.DType, "nan")
			} else {
				fmt.Fprint(&b, n.DType, math.Float64bits(n.Value))
			}
		case *tir.Binary:
			b.WriteString(n.Op.String())
		case *tir.Cast:
			b.WriteString(n.DType.String())
		case *tir.Load:
			b.WriteString(buffer(n.Buffer))
		case *tir.Call:
			fmt.Fprint(&b, n.Fn, len(n.Args))
		case *tir.Ramp:
			fmt.Fprint(&b, n.Lanes)
		case *tir.Broadcast:
			fmt.Fprint(&b, n.Lanes)
		case *tir.For:
			fmt.Fprint(&b, variable(n.Var), n.Kind, n.Thread, n.Attrs == nil, n.Attrs, n.Body == nil)
		case *tir.BlockRealize:
			fmt.Fprintf(&b, "%q %v %v %v %v", n.Block.Name, n.Block.Opaque, n.Block.Attrs == nil, n.Block.Attrs, n.Where == nil)
			for _, iv := range n.Block.Iters {
				fmt.Fprint(&b, variable(iv.Var), iv.Extent, iv.Kind)
			}
			for _, r := range n.Block.Reads {
				b.WriteString(" r" + buffer(r.Buffer))
			}
			for _, r := range n.Block.Writes {
				b.WriteString(" w" + buffer(r.Buffer))
			}
			for _, a := range n.Block.Allocs {
				b.WriteString(" a" + buffer(a))
			}
			fmt.Fprint(&b, n.Block.Init == nil, n.Block.Body == nil)
		case *tir.Store:
			b.WriteString(buffer(n.Buffer))
		case *tir.Seq:
			fmt.Fprint(&b, len(n.Stmts))
		case *tir.If:
			fmt.Fprint(&b, n.Then == nil, n.Else == nil)
		case *tir.Let:
			b.WriteString(variable(n.Var))
		case *tir.Allocate:
			b.WriteString(buffer(n.Buffer))
		}
		b.WriteByte('\n')
		return true
	})
	return b.String()
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
		if f.Body != nil && dump(f.Body) != dump(again.Body) {
			t.Fatalf("trees differ:\n%s\n%s\n%s", text, dump(f.Body), dump(again.Body))
		}
		if again.Name != f.Name || again.Outputs != f.Outputs || len(again.Params) != len(f.Params) || len(again.Scalars) != len(f.Scalars) {
			t.Fatalf("signatures differ:\n%s", text)
		}
	})
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

func TestErrors(t *testing.T) {
	const head = "func f(A: float32[4], out C: float32[4]):\n"
	for _, c := range []struct{ text, want string }{
		{"", `t:1:1: tirtext: wanted "func", found the end of the text`},
		{"func f(out C: float32[4])\n", `t:1:26: tirtext: wanted ":", found the end of the line`},
		{"func f(out C: float33[4]):\n  pass\n", `t:1:15: tirtext: wanted an element type, found "float33"`},
		{"func f(out C: float32[-1]):\n  pass\n", `t:1:23: tirtext: wanted a count, found "-"`},
		{"func f(out C: float32[4], A: float32[4]):\n  pass\n", `t:1:27: tirtext: wanted an output, found an input: outputs come after inputs`},
		{"func f(A: int8[4], A: int8[4]):\n  pass\n", `t:1:20: tirtext: A is in scope already`},
		{"func f(A: int8[4, 4] strides [1]):\n  pass\n", `t:1:30: tirtext: wanted 2 strides, found 1`},
		{head, `t:2:1: tirtext: wanted a deeper indentation, found the end of the text`},
		{head + "\tpass\n", `t:2:1: tirtext: character '\t' is not part of the language`},
		{head + "  C[0] = 1\n", `t:2:10: tirtext: wanted a value of float32, found int64`},
		{head + "  C[0] = A[x]\n", `t:2:12: tirtext: variable x is not in scope`},
		{head + "  C[0] = B[0]\n", `t:2:10: tirtext: buffer B is not in scope`},
		{head + "  C[0, 1] = 1.0\n", `t:2:3: tirtext: wanted 1 indices of C, found 2`},
		{head + "  C[0] = 1.0 + 1\n", `t:2:14: tirtext: operands of + are float32 and int64; wanted one type`},
		{head + "  C[0] = select(1, 1.0, 2.0)\n", `t:2:10: tirtext: select of int64, float32, float32; wanted a bool and two of one type`},
		{head + "  C[0] = sinus(1.0)\n", `t:2:10: tirtext: function sinus is unknown`},
		{head + "  if 1 < 2 < 3:\n    pass\n", `t:2:12: tirtext: comparisons do not chain; wanted parentheses`},
		{head + "  for i in range(0, 4, kind=fast):\n    pass\n", `t:2:29: tirtext: wanted serial, parallel, vectorized, unrolled or bound, found "fast"`},
		{head + "  for i in range(0, 4):\n    for i in range(0, 4):\n      pass\n", `t:3:9: tirtext: i is in scope already`},
		{head + "  for if in range(0, 4):\n    pass\n", `t:2:7: tirtext: if is a word of the language; wanted a name`},
		{head + "  for i in range(0, 4):\n    pass\n   pass\n", `t:4:4: tirtext: indentation of 3 blanks matches no line above; wanted 2`},
		{head + "  C[0] = 300_int8\n", `t:2:10: tirtext: "300" is no number of int8`},
		{head + "  C[0] = 3_float32\n", `t:2:10: tirtext: "3_float32" is no number of an element type`},
		{head + "  C[0] = \"x\n", `t:2:10: tirtext: string has no end on its line or a bad escape`},
		{head + "  C[ramp(0, 1, 1)] = 1.0\n", `t:2:16: tirtext: wanted 2 to 65536 lanes, found 1`},
		{head + "  C[0] = 1.0\n  C[0] = 2.0\nfunc\n", `t:4:1: tirtext: wanted the end of the text, found "func"`},
		{head + "  block b(v: spatial[4] = 0):\n    reads A[0 +: 1, 0 +: 1]\n    pass\n", `t:3:11: tirtext: wanted 1 axes of A, found 2`},
	} {
		_, err := tirtext.Parse("t", c.text)
		require.EqualError(t, err, c.want, c.text)
	}
}

// Any text gives a tree that prints and parses again, or an error; never a panic.
func FuzzParse(f *testing.F) {
	f.Add("func f(A: float32[4], out C: float32[4]):\n  for i in range(0, 4, kind=vectorized):\n    C[i] = A[i] * 2.0 + select(i < 2, 1.0, -inf)\n")
	f.Add("func f(out C: int8[2, 2]) attrs {\"a\": \"b\"}:\n  block root():\n    alloc T: int8[2] local\n    let x = 3 // 2:\n      C[0, x] = int8(x)\n")
	f.Fuzz(func(t *testing.T, text string) {
		fn, err := tirtext.Parse("fuzz", text)
		if err != nil {
			return
		}
		printed := tirtext.Print(fn)
		again, err := tirtext.Parse("fuzz", printed)
		require.NoError(t, err, printed)
		require.Equal(t, printed, tirtext.Print(again))
	})
}
