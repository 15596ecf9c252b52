package arith_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"github.com/texel-ml/texel/tir/tirtext"
)

// over makes a domain of loops from 0, named i, j, k, l.
func over(extents ...int64) (arith.IterDomain, []tir.Expr) {
	d := arith.IterDomain{Extents: extents}
	var vars []tir.Expr
	for n := range extents {
		v := tir.NewVar(string(rune('i' + n)))
		d.Vars = append(d.Vars, v)
		vars = append(vars, v)
	}
	return d, vars
}

// Domains that are too large to be counted.
func TestLargeMapsAreProven(t *testing.T) {
	d, v := over(1<<20, 1<<19)
	i, j := v[0], v[1]
	check := func(d arith.IterDomain, values []tir.Expr, target ...int64) {
		t.Helper()
		how, err := arith.Bijective(d, values, target)
		require.NoError(t, err)
		require.Equal(t, arith.Algebra, how)
		how, err = arith.Injective(d, values)
		require.NoError(t, err)
		require.Equal(t, arith.Algebra, how)
	}
	check(d, []tir.Expr{add(mul(i, 1<<19), j)}, 1<<39)
	check(d, []tir.Expr{j, mod(i, 64), div(i, 64)}, 1<<19, 64, 1<<14)

	// fused, split unevenly, guarded
	d, v = over(1000, 1100)
	d.Where = lt(add(mul(v[0], 1100), v[1]), 1033*1013)
	fused := add(mul(v[0], 1100), v[1])
	check(d, []tir.Expr{div(fused, 1013), mod(fused, 1013)}, 1033, 1013)

	// a split of a split, both uneven, with the loops in another order and not from 0
	d, v = over(7, 5, 4000)
	d.Mins = []int64{-3, 2, 9}
	inner := add(mul(sub(v[1], 2), 7), add(v[0], 3))
	whole := add(mul(sub(v[2], 9), 31), inner)
	d.Where = op(tir.And, lt(inner, 31), lt(whole, 123456-1))
	check(d, []tir.Expr{whole}, 123455)
}

// sums prints what the values of a map are made of.
func sums(m *arith.IterMap) string {
	names, list := map[*arith.IterSource]string{}, ""
	var sum func(s arith.IterSum) string
	name := func(s *arith.IterSource) string {
		if names[s] == "" {
			if s.Var != nil {
				names[s] = s.Var.Name
				list += fmt.Sprintf("%s: loop from %d, %d values\n", s.Var.Name, s.Min, s.Extent)
			} else {
				n := fmt.Sprintf("s%d", len(names))
				names[s] = n
				text := sum(s.Fused)
				list += fmt.Sprintf("%s: %s, %d values\n", n, text, s.Extent)
			}
		}
		return names[s]
	}
	sum = func(s arith.IterSum) string {
		var parts []string
		for _, t := range s.Terms {
			parts = append(parts, fmt.Sprintf("%d·((%s//%d)%%%%%d)", t.Scale, name(t.Source), t.Lower, t.Extent))
		}
		return strings.Join(append(parts, show(s.Base)), " + ")
	}
	out := ""
	for i, s := range m.Values {
		out += fmt.Sprintf("value %d: %s\n", i, sum(s))
	}
	return list + out
}

// The form of maps, their inverses, and the text of every refusal.
func TestIterMapGoldens(t *testing.T) {
	var text strings.Builder
	show := func(title string, d arith.IterDomain, values []tir.Expr, target ...int64) {
		fmt.Fprintf(&text, "# %s\n", title)
		for n, v := range d.Vars[:len(d.Extents)] {
			lo := int64(0)
			if d.Mins != nil {
				lo = d.Mins[n]
			}
			fmt.Fprintf(&text, "%s in [%d, %d); ", v.Name, lo, lo+d.Extents[n])
		}
		if d.Where != nil {
			fmt.Fprintf(&text, "where %s; ", show(d.Where))
		}
		fmt.Fprintf(&text, "values %s onto %v\n", showAll(values), target)
		m, err := arith.DetectIterMap(nil, d, values)
		if err != nil {
			fmt.Fprintf(&text, "form: %v\n", err)
		} else {
			fmt.Fprint(&text, sums(m))
		}
		how, err := arith.Bijective(d, values, target)
		fmt.Fprintf(&text, "bijective: %v by %v\n", err, how)
		if err == nil && how == arith.Algebra {
			var to []*tir.Var
			for n := range values {
				to = append(to, tir.NewVar(fmt.Sprintf("y%d", n)))
			}
			back, err := arith.Inverse(d, values, target, to)
			require.NoError(t, err)
			fmt.Fprintf(&text, "inverse: %s\n", showAll(back))
		}
		how, err = arith.Injective(d, values)
		fmt.Fprintf(&text, "injective: %v by %v\n\n", err, how)
	}
	with := func(d arith.IterDomain, where tir.Expr) arith.IterDomain { d.Where = where; return d }
	from := func(d arith.IterDomain, mins ...int64) arith.IterDomain { d.Mins = mins; return d }

	d, v := over(3, 4)
	i, j := v[0], v[1]
	whole := add(mul(i, 4), j)
	show("a split", d, []tir.Expr{whole}, 12)
	show("an uneven split", with(d, lt(whole, 10)), []tir.Expr{whole}, 10)
	show("an uneven split, fused and split again", with(d, lt(whole, 10)), []tir.Expr{div(whole, 5), mod(whole, 5)}, 2, 5)
	show("a loop that runs backwards", d, []tir.Expr{sub(3, j), i}, 4, 3)
	show("loops not from 0", from(d, -2, 8), []tir.Expr{add(mul(add(i, 2), 4), sub(j, 8))}, 12)
	show("a skew", d, []tir.Expr{i, mod(add(i, j), 4)}, 3, 4)
	e, w := over(12)
	show("a fuse", e, []tir.Expr{div(w[0], 4), mod(w[0], 4)}, 3, 4)
	n, u := over(2, 3, 2, 5)
	inner := add(mul(u[1], 2), u[2])
	all := add(mul(add(mul(u[0], 5), inner), 5), u[3])
	show("a split in a split, both uneven", with(n, op(tir.And, lt(inner, 5), lt(all, 47))), []tir.Expr{all}, 47)
	one, x := over(1, 6, 1)
	show("unit loops", one, []tir.Expr{x[0], x[1], x[2]}, 1, 6, 1)
	show("a condition that holds for one value", with(d, op(tir.EQ, i, 2)), []tir.Expr{i, j}, 1, 4)

	show("a loop is unused", d, []tir.Expr{i}, 3)
	show("steps too short", d, []tir.Expr{add(mul(i, 2), j)}, 8)
	show("steps too long", d, []tir.Expr{add(mul(i, 5), j)}, 15)
	show("no step of 1", e, []tir.Expr{mul(w[0], 2)}, 24)
	show("another extent", d, []tir.Expr{whole}, 13)
	show("another start", d, []tir.Expr{add(whole, 1)}, 12)
	show("a cut that does not divide", e, []tir.Expr{div(w[0], 5), mod(w[0], 5)}, 3, 5)
	show("one loop in two values", d, []tir.Expr{add(i, mul(j, 3)), j}, 12, 4)
	show("not affine", d, []tir.Expr{mul(i, j)}, 12)
	show("a triangle", with(d, lt(j, add(i, 1))), []tir.Expr{i, j}, 3, 4)
	show("a triangle by its number", with(d, lt(j, add(i, 1))), []tir.Expr{add(div(mul(i, add(i, 1)), 2), j)}, 6)
	show("no point", with(d, lt(i, 0)), []tir.Expr{i, j}, 3, 4)
	show("too few extents", d, []tir.Expr{i, j}, 12)
	show("no elements", d, []tir.Expr{i, j}, 3, 0)
	show("an outer variable", d, []tir.Expr{add(i, mul(tir.NewVar("outer"), 3)), j}, 3, 4)
	data := &tir.Buffer{Name: "D", DType: tensor.Int64, Shape: []int{9}}
	show("a loaded value", d, []tir.Expr{&tir.Load{Buffer: data, Indices: []tir.Expr{i}}, j}, 3, 4)
	large, y := over(1<<20, 1<<20)
	show("a large skew", large, []tir.Expr{y[0], mod(add(y[0], y[1]), 1<<20)}, 1<<20, 1<<20)
	show("a large triangle", with(large, lt(y[1], add(y[0], 1))), y, 1<<20, 1<<20)
	show("no extent", arith.IterDomain{Vars: d.Vars, Extents: []int64{3}}, []tir.Expr{i, j}, 3, 4)
	show("an extent of 0", arith.IterDomain{Vars: d.Vars, Extents: []int64{3, 0}}, []tir.Expr{i, j}, 3, 0)
	show("a variable twice", arith.IterDomain{Vars: []*tir.Var{d.Vars[0], d.Vars[0]}, Extents: []int64{3, 4}}, []tir.Expr{i, j}, 3, 4)
	golden.Check(t, "testdata/itermap.txtar", golden.Section{Name: "maps", Text: text.String()})
}

func TestInverseNeedsTheAlgebra(t *testing.T) {
	d, v := over(3, 4)
	y := []*tir.Var{tir.NewVar("y"), tir.NewVar("z")}
	_, err := arith.Inverse(d, []tir.Expr{v[0], mod(add(v[0], v[1]), 4)}, []int64{3, 4}, y)
	require.ErrorIs(t, err, diag.ErrUnsupported)
	_, err = arith.Inverse(d, v, []int64{3, 4}, y[:1])
	require.EqualError(t, err, "iter-map: wanted a variable for each of 2 values, found 1")
}

// A map may depend on variables around it, of which the analyzer knows the ranges.
func TestIterMapInContext(t *testing.T) {
	a := arith.New()
	outer := tir.NewVar("outer")
	a.Bind(outer, 0, 4)
	d, v := over(8)
	m, err := arith.DetectIterMap(a, d, []tir.Expr{div(add(mul(outer, 8), v[0]), 8), mod(add(mul(outer, 8), v[0]), 8)})
	require.NoError(t, err)
	require.Equal(t, "i: loop from 0, 8 values\nvalue 0: outer\nvalue 1: 1·((i//1)%%8) + 0\n", sums(m))
	lo, hi, ok := a.Bounds(outer) // nothing is left of the map's own variables
	require.Equal(t, []any{int64(0), int64(3), true}, []any{lo, hi, ok})
}

// A condition that always holds is none.
func TestIterMapOfTrue(t *testing.T) {
	d, v := over(3, 4)
	d.Where = tir.True
	how, err := arith.Bijective(d, v, []int64{3, 4})
	require.NoError(t, err)
	require.Equal(t, arith.Algebra, how)
}

func TestModular(t *testing.T) {
	a := arith.New()
	i, j, u := tir.NewVar("i"), tir.NewVar("j"), tir.NewVar("u")
	a.Bind(i, 0, 100)
	a.Bind(j, -50, 100)
	data := &tir.Buffer{Name: "D", DType: tensor.Int64, Shape: []int{9}}
	load := &tir.Load{Buffer: data, Indices: []tir.Expr{tir.I(0)}}
	c := lt(i, j)
	for _, q := range []struct {
		e           tir.Expr
		coeff, base int64
	}{
		{tir.I(-7), 0, -7},
		{i, 1, 0},
		{add(mul(i, 8), 3), 8, 3},
		{sub(mul(i, 8), mul(j, 12)), 4, 0},
		{add(mul(i, 8), add(mul(j, 12), -1)), 4, 3},
		{mul(add(mul(i, 4), 2), add(mul(j, 6), 3)), 12, 6},
		{div(add(mul(i, 8), 5), 4), 2, 1},
		{mod(add(mul(i, 8), 3), 12), 4, 3},
		{op(tir.Min, mul(i, 12), add(mul(j, 8), 4)), 4, 0},
		{op(tir.Max, add(mul(i, 6), 1), add(mul(j, 9), 4)), 3, 1},
		{choose(c, mul(i, 10), add(mul(j, 15), 5)), 5, 0},
		{choose(c, tir.I(7), tir.I(19)), 12, 7},
		{cast(tensor.Int64, cast(tensor.Int32, mul(i, 24))), 24, 0}, // it fits
		{cast(tensor.Int64, cast(tensor.Int8, mul(i, 24))), 8, 0},   // it wraps around: powers of two remain
		{mul(load, 24), 8, 0},                                       // so here
		{load, 1, 0},
		{mul(u, 24), 24, 0}, // an index
		{op(tir.Shl, i, 3), 8, 0},
		{ramp(mul(i, 6), 4), 2, 0},
		{spread(mul(i, 6)), 6, 0},
	} {
		coeff, base := a.Modular(q.e)
		require.Equal(t, []int64{q.coeff, q.base}, []int64{coeff, base}, show(q.e))
	}
	leave := a.Assume(op(tir.EQ, mod(u, 8), 3))
	coeff, base := a.Modular(add(mul(u, 2), 1))
	require.Equal(t, []int64{16, 7}, []int64{coeff, base})
	require.Equal(t, "3", show(a.Simplify(mod(u, 4))))
	leave()
}

// A box is what the values take, each point of it.
func TestBox(t *testing.T) {
	x := tir.NewVar("x")
	v := []*tir.Var{tir.NewVar("i"), tir.NewVar("t")}
	d := arith.IterDomain{Vars: v, Extents: []int64{2, 8}}
	for _, c := range []struct {
		values []tir.Expr
		where  tir.Expr
		want   string // the box, or the error
	}{
		{[]tir.Expr{add(x, add(mul(v[0], 2), div(v[1], 4))), mod(v[1], 4)}, nil, "[x +: 4] [0 +: 4]"},
		{[]tir.Expr{add(mul(v[0], 3), v[1])}, nil, "[0 +: 11]"},
		{[]tir.Expr{tir.Minus(v[0], v[1])}, nil, "[-7 +: 9]"},
		{[]tir.Expr{v[1]}, nil, "[0 +: 8]"},
		{nil, nil, ""},
		{[]tir.Expr{add(mul(v[0], 8), v[1])}, lt(add(mul(v[0], 8), v[1]), 11), "[0 +: 11]"},
		{[]tir.Expr{add(mul(v[0], 10), v[1])}, nil, "gap: value 0, i * 10 + t, moves by 10 with i, and what moves it less reaches 7"},
		{[]tir.Expr{mul(v[1], 2)}, nil, "gap: value 0, t * 2, moves by 2 with t, and what moves it less reaches 0"},
		{[]tir.Expr{v[1], add(v[0], v[1])}, nil, "t is in values 0 and 1"},
		{[]tir.Expr{div(add(mul(v[0], 8), v[1]), 4), mod(v[1], 4)}, lt(add(mul(v[0], 8), v[1]), 11), "is cut: the values take a part of their box"},
	} {
		d.Where = c.where
		m, err := arith.DetectIterMap(nil, d, c.values)
		require.NoError(t, err)
		box, err := m.Box()
		if err != nil {
			require.ErrorContains(t, err, c.want)
			continue
		}
		var list []string
		for _, g := range box {
			list = append(list, fmt.Sprintf("[%s +: %s]", tirtext.PrintExpr(g.Min), tirtext.PrintExpr(g.Extent)))
		}
		require.Equal(t, c.want, strings.Join(list, " "))
	}
}
