package arith_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// show prints an index expression with all parentheses.
func show(e tir.Expr) string {
	switch n := e.(type) {
	case *tir.Var:
		return n.Name
	case *tir.Int:
		if n.DType == tensor.Bool {
			return fmt.Sprint(n.Value != 0)
		}
		return fmt.Sprint(n.Value)
	case *tir.Float:
		return fmt.Sprint(n.Value, "f")
	case *tir.Binary:
		if n.Op == tir.Min || n.Op == tir.Max {
			return fmt.Sprintf("%v(%s, %s)", n.Op, show(n.A), show(n.B))
		}
		return fmt.Sprintf("(%s %v %s)", show(n.A), n.Op, show(n.B))
	case *tir.Not:
		return "not " + show(n.A)
	case *tir.Select:
		return fmt.Sprintf("select(%s, %s, %s)", show(n.Cond), show(n.Then), show(n.Else))
	case *tir.Cast:
		return fmt.Sprintf("%v(%s)", n.DType, show(n.A))
	case *tir.Load:
		return fmt.Sprintf("%s%s", n.Buffer.Name, showAll(n.Indices))
	case *tir.Ramp:
		return fmt.Sprintf("ramp(%s, %s, %d)", show(n.Base), show(n.Stride), n.Lanes)
	case *tir.Broadcast:
		return fmt.Sprintf("broadcast(%s, %d)", show(n.A), n.Lanes)
	}
	return fmt.Sprintf("%T", e)
}

func showAll(list []tir.Expr) string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = show(e)
	}
	return fmt.Sprint(out)
}

func op(o tir.BinaryOp, a, b any) tir.Expr { return &tir.Binary{Op: o, A: x(a), B: x(b)} }
func x(v any) tir.Expr {
	if n, ok := v.(int); ok {
		return tir.I(n)
	}
	return v.(tir.Expr)
}
func add(a, b any) tir.Expr { return op(tir.Add, a, b) }
func sub(a, b any) tir.Expr { return op(tir.Sub, a, b) }
func mul(a, b any) tir.Expr { return op(tir.Mul, a, b) }
func div(a, b any) tir.Expr { return op(tir.FloorDiv, a, b) }
func mod(a, b any) tir.Expr { return op(tir.FloorMod, a, b) }
func lt(a, b any) tir.Expr  { return op(tir.LT, a, b) }

func TestSimplify(t *testing.T) {
	a := arith.New()
	bind := func(name string, min, extent int64) *tir.Var {
		v := tir.NewVar(name)
		a.Bind(v, min, extent)
		return v
	}
	io, ii := bind("io", 0, 10), bind("ii", 0, 8)
	n, f := bind("n", 0, 4), bind("f", 0, 4096)
	s := bind("s", -5, 20) // may be negative
	bit := bind("bit", 0, 2)
	u := tir.NewVar("u") // not bound
	data := &tir.Buffer{Name: "D", DType: tensor.Int64, Shape: []int{9}}
	load := &tir.Load{Buffer: data, Indices: []tir.Expr{ii}}
	for _, c := range []struct {
		in   tir.Expr
		want string
	}{
		{add(ii, add(mul(io, 8), ii)), "((io * 8) + (ii * 2))"},
		{sub(3, ii), "(3 - ii)"},
		{sub(sub(0, ii), 3), "((ii * -1) - 3)"},
		{mul(add(io, 1), add(ii, 2)), "((((io * 2) + (io * ii)) + ii) + 2)"},
		// split, then fuse
		{div(add(mul(io, 8), ii), 8), "io"},
		{mod(add(mul(io, 8), ii), 8), "ii"},
		{add(mul(div(f, 8), 8), mod(f, 8)), "f"},
		{add(mul(div(add(f, u), 8), 16), mul(mod(add(f, u), 8), 2)), "((f * 2) + (u * 2))"},
		{div(add(add(mul(n, 64), mul(io, 8)), ii), 8), "((io) + (n * 8))"},
		{mod(add(add(mul(n, 64), mul(io, 8)), ii), 64), "((((io %% 8) * 8) + ii))"},
		{div(div(u, 4), 6), "(u // 24)"},
		{div(add(div(u, 4), 5), 6), "((u + 20) // 24)"},
		{mod(mod(u, 24), 8), "(u %% 8)"},
		{div(mod(u, 24), 8), "((u // 8) %% 3)"},
		{add(mul(mod(div(u, 8), 3), 8), mod(u, 8)), "(u %% 24)"},
		{add(add(mul(div(f, 64), 64), mul(div(mod(f, 64), 8), 8)), mod(f, 8)), "f"},
		// coefficients that the divisor does not divide
		{div(add(mul(io, 16), ii), 32), "(io // 2)"},
		{mod(add(mul(io, 16), ii), 32), "(((io %% 2) * 16) + ii)"},
		{div(add(mul(u, 6), 3), 4), "(((u * 3) + 1) // 2)"},
		{mod(mul(u, 6), 4), "((u %% 2) * 2)"},
		{div(add(mul(u, 8), -1), 8), "(u - 1)"},
		{mod(add(mul(u, 9), mul(ii, 8)), 8), "(u %% 8)"},
		{div(sub(ii, 1), 8), "((ii + 7) // 8) - 1"},
		{div(u, -4), "((u * -1) // 4)"},
		{op(tir.Div, f, 4), "(f // 4)"},
		{op(tir.Div, s, 4), "(s / 4)"},
		{div(mul(load, 8), 8), "((D[ii] * 8) // 8)"},
		{sub(add(load, load), load), "D[ii]"},
		{mod(add(mul(u, 8), 3), 8), "3"},
		{div(add(mul(u, 4), n), 4), "u"},
		{add(mul(div(u, 4), 4), mod(u, 4)), "u"},
		{mod(add(mul(u, 8), mul(ii, 2)), 2), "0"},
		{mod(add(op(tir.Min, mul(u, 8), mul(s, 16)), 5), 8), "5"},
		{div(sub(7, s), 8), "((s // 8) * -1)"},
		{mod(add(mod(u, 3), div(u, 3)), 2), "(u %% 2)"}, // 1 is 3 modulo 2
		{add(div(add(mod(u, 6), io), 3), mul(div(u, 6), 2)), "((io + u) // 3)"},
		{lt(add(mul(io, 2), mul(bit, 15)), 18), "((io + (bit * 7)) < 9)"},
		{div(ii, add(n, 9)), "0"},
		{mod(ii, add(n, 9)), "ii"},
		// bounds
		{op(tir.Min, add(mul(io, 8), ii), 79), "((io * 8) + ii)"},
		{op(tir.Max, ii, 0), "ii"},
		{op(tir.Min, op(tir.Min, u, 3), 5), "min(u, 3)"},
		{lt(ii, 8), "true"}, {lt(7, ii), "false"}, {op(tir.GE, s, 15), "false"},
		{lt(add(mul(io, 8), ii), 40), "(io < 5)"},
		{lt(add(mul(io, 16), ii), 24), "(io < 2)"},
		{lt(div(f, 64), 3), "(f < 192)"},
		{lt(3, div(f, 64)), "(255 < f)"},
		{op(tir.EQ, add(ii, 3), add(u, 1)), "((ii) == (u - 2))"},
		{op(tir.EQ, mul(u, 2), 7), "false"}, {op(tir.NE, add(mul(u, 4), 2), 4), "true"},
		{op(tir.And, lt(ii, 9), lt(u, 3)), "(u < 3)"},
		{op(tir.And, lt(u, 3), lt(u, 5)), "(u < 3)"}, {op(tir.And, lt(u, 5), lt(u, 3)), "(u < 3)"},
		{op(tir.Or, lt(u, 5), lt(u, 3)), "(u < 5)"},
		{&tir.Not{A: lt(u, 3)}, "(2 < u)"},
		{&tir.Select{Cond: lt(u, 3), Then: op(tir.Min, u, 4), Else: op(tir.Max, u, 2)}, "u"},
		{&tir.Select{Cond: lt(ii, 8), Then: u, Else: load}, "u"},
		{&tir.Cast{DType: tensor.Int64, A: &tir.Cast{DType: tensor.Int64, A: u}}, "u"},
		{&tir.Cast{DType: tensor.Int64, A: tir.Const(tensor.Int8, -3)}, "-3"},
		// vectors
		{op(tir.Add, &tir.Ramp{Base: ii, Stride: tir.I(1), Lanes: 4}, &tir.Broadcast{A: mul(io, 8), Lanes: 4}),
			"ramp(((io * 8) + ii), 1, 4)"},
		{op(tir.FloorDiv, &tir.Ramp{Base: mul(io, 8), Stride: tir.I(1), Lanes: 8}, &tir.Broadcast{A: tir.I(8), Lanes: 8}),
			"broadcast(io, 8)"},
		{op(tir.FloorMod, &tir.Ramp{Base: add(mul(io, 8), 4), Stride: tir.I(1), Lanes: 4}, &tir.Broadcast{A: tir.I(8), Lanes: 4}),
			"ramp(4, 1, 4)"},
		{op(tir.LT, &tir.Ramp{Base: mul(ii, 4), Stride: tir.I(1), Lanes: 4}, &tir.Broadcast{A: tir.I(32), Lanes: 4}),
			"broadcast(true, 4)"},
	} {
		got := a.Simplify(c.in)
		require.Equal(t, strip(c.want), strip(show(got)), show(c.in))
		require.True(t, got == a.Simplify(got), "%s is not stable", show(got))
	}
}

// strip removes the parentheses and blanks, which the table does not care for.
func strip(s string) string {
	out := ""
	for _, r := range s {
		if r != '(' && r != ')' && r != ' ' {
			out += string(r)
		}
	}
	return out
}

func TestFloatIdentities(t *testing.T) {
	a := arith.New()
	v := &tir.Var{Name: "v", DType: tensor.Float32}
	one, zero := tir.Const(tensor.Float32, 1), tir.Const(tensor.Float32, 0)
	require.Equal(t, tir.Expr(v), a.Simplify(op(tir.Mul, v, one)))
	require.Equal(t, tir.Expr(v), a.Simplify(op(tir.Div, v, one)))
	for _, keep := range []tir.Expr{op(tir.Add, v, zero), op(tir.Mul, v, zero), op(tir.Sub, v, v), &tir.Not{A: lt(v, one)}} {
		require.Equal(t, keep, a.Simplify(keep))
	}
	half := &tir.Cast{DType: tensor.Float16, A: v}
	back := &tir.Cast{DType: tensor.Float32, A: half}
	require.Equal(t, tir.Expr(back), a.Simplify(back), "float16 loses bits")
	h := &tir.Var{Name: "h", DType: tensor.Float16}
	require.Equal(t, tir.Expr(h), a.Simplify(&tir.Cast{DType: tensor.Float16, A: &tir.Cast{DType: tensor.Float32, A: h}}))
}

func TestAssume(t *testing.T) {
	a := arith.New()
	i, j, k := tir.NewVar("i"), tir.NewVar("j"), tir.NewVar("k")
	a.Bind(i, 0, 10)
	a.Bind(j, 0, 16)
	guard := lt(add(mul(i, 16), j), 150)
	require.False(t, a.Prove(guard))
	leave := a.Assume(guard)
	require.True(t, a.Prove(guard))
	require.True(t, a.Prove(lt(add(mul(i, 32), mul(j, 2)), 300)))
	lo, hi, ok := a.Bounds(add(mul(i, 16), j))
	require.True(t, ok)
	require.Equal(t, []int64{0, 149}, []int64{lo, hi})
	leave()
	require.False(t, a.Prove(guard))

	a.Bind(i, 0, 30) // a wider range than the guard lets through
	leave = a.Assume(guard)
	require.True(t, a.Prove(lt(i, 10)))
	require.True(t, a.Prove(lt(div(add(mul(i, 16), j), 4), 38)))
	require.Equal(t, "0", show(a.Simplify(div(i, 10))))
	leave()
	a.Bind(i, 0, 10)

	a.BindExpr(k, i, sub(10, i)) // i <= k < 10
	require.True(t, a.Prove(op(tir.LE, i, k)))
	require.True(t, a.Prove(lt(sub(k, i), 10)))
	require.True(t, a.Prove(op(tir.GE, sub(k, i), 0)))
	leave = a.Scope()
	a.Bind(k, 0, 3) // the same variable in another loop
	require.False(t, a.Prove(op(tir.LE, i, k)))
	leave()
	require.True(t, a.Prove(op(tir.LE, i, k)))
}

// What is known of a loaded value holds within one expression; a statement may overwrite the buffer.
func TestAssumeOfLoads(t *testing.T) {
	a := arith.New()
	i := tir.NewVar("i")
	a.Bind(i, 0, 10)
	small := cast(tensor.Int64, &tir.Load{Buffer: &tir.Buffer{Name: "E", DType: tensor.Int32}, Indices: []tir.Expr{tir.I(0)}})
	below := lt(small, 5)
	leave := a.Assume(op(tir.And, lt(i, 3), below))
	require.True(t, a.Prove(lt(i, 3)))
	require.False(t, a.Prove(below))
	leave()
	require.Equal(t, "select((int64(E[0]) < 5), 1, 2)", show(a.Simplify(choose(below, choose(below, tir.I(1), i), tir.I(2)))))
	a.BindExpr(i, tir.I(0), small) // a loop of as many iterations as there were
	require.False(t, a.Prove(lt(i, small)))
}

func TestLinear(t *testing.T) {
	a := arith.New()
	i, j := tir.NewVar("i"), tir.NewVar("j")
	coeffs, rest, ok := a.Linear(add(mul(i, 3), add(div(j, 2), 5)))
	require.True(t, ok)
	require.Equal(t, map[*tir.Var]int64{i: 3}, coeffs)
	require.Equal(t, "((j // 2) + 5)", show(rest))
	_, _, ok = a.Linear(add(i, div(i, 2)))
	require.False(t, ok)
}

func TestTouched(t *testing.T) {
	a := arith.New()
	oh, ow, kh, c, f := tir.NewVar("oh"), tir.NewVar("ow"), tir.NewVar("kh"), tir.NewVar("c"), tir.NewVar("f")
	a.Bind(oh, 0, 56)
	a.Bind(ow, 0, 8)
	a.Bind(kh, 0, 3)
	a.Bind(c, 0, 32)
	a.Bind(f, 0, 256)
	over := map[*tir.Var]tir.Range{ow: {Min: tir.I(0), Extent: tir.I(8)}, kh: {Min: tir.I(0), Extent: tir.I(3)},
		c: {Min: tir.I(0), Extent: tir.I(32)}, f: {Min: mul(oh, 8), Extent: tir.I(8)}}
	for _, q := range []struct {
		index  tir.Expr
		min    string
		extent int64
	}{
		{add(mul(oh, 2), kh), "(oh * 2)", 3},
		{add(mul(ow, 2), kh), "0", 17},
		{sub(oh, ow), "(oh - 7)", 8},
		{div(c, 8), "0", 4},
		{mod(c, 8), "0", 8},
		{div(f, 8), "oh", 1},
		{mod(f, 8), "0", 8},
		{div(add(mul(oh, 3), c), 8), "((oh * 3) // 8)", 5}, // (7+31)/8 + 1
		{op(tir.Min, add(oh, kh), 55), "oh", 3},
		{&tir.Ramp{Base: mul(ow, 8), Stride: tir.I(1), Lanes: 8}, "0", 64},
		{oh, "oh", 1},
		{tir.I(3), "3", 1},
	} {
		got, ok := a.Touched([]tir.Expr{q.index}, over)
		require.True(t, ok, show(q.index))
		require.Equal(t, q.min, show(got[0].Min), show(q.index))
		require.True(t, tir.IsConst(got[0].Extent, q.extent), "%s: %s", show(q.index), show(got[0].Extent))
	}
	_, ok := a.Touched([]tir.Expr{&tir.Load{Buffer: &tir.Buffer{Name: "D", DType: tensor.Int64}, Indices: []tir.Expr{ow}}}, over)
	require.False(t, ok)

	x := []tir.Range{{Min: mul(oh, 2), Extent: tir.I(3)}}
	y := []tir.Range{{Min: add(mul(oh, 2), 5), Extent: tir.I(2)}}
	u, ok := a.Union(x, y)
	require.True(t, ok)
	require.Equal(t, "(oh * 2)", show(u[0].Min))
	require.Equal(t, "7", show(u[0].Extent))
	require.True(t, a.Covers(u, x) && a.Covers(u, y))
	require.False(t, a.Covers(x, u))
}
