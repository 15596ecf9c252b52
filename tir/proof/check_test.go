package proof

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// truth decides a claim by its definition, point by point, without taking it apart.
func truth(c *Claim) bool {
	ok := true
	points(c.Fixed, map[*tir.Var]int64{}, func(fixed map[*tir.Var]int64) {
		ok = ok && truthAt(c, fixed)
	})
	return ok
}

func truthAt(c *Claim, fixed map[*tir.Var]int64) bool {
	own := values(c.Side, fixed)
	count := map[string]int{}
	for _, v := range own {
		count[v.key]++
	}
	switch c.Kind {
	case Bijection, Onto:
		size := int64(1)
		for _, n := range c.Range {
			size *= n
		}
		for _, v := range own {
			for i, x := range v.at {
				if x < 0 || x >= c.Range[i] {
					return false
				}
			}
			if c.Kind == Bijection && count[v.key] > 1 {
				return false
			}
		}
		return int64(len(count)) == size
	case Injection:
		return len(count) == len(own)
	}
	others := []value{}
	for _, s := range c.By {
		others = append(others, values(s, fixed)...)
	}
	for _, v := range own {
		found := false
		for _, o := range others {
			found = found || o.key == v.key
		}
		if c.Kind == Cover && !found || c.Kind == Disjoint && found {
			return false
		}
	}
	if c.Kind == Distinct {
		all := append(own, others...)
		for _, v := range all {
			for _, o := range all {
				if v.key == o.key && v.point[c.Loop] != o.point[c.Loop] {
					return false
				}
			}
		}
	}
	return true
}

type value struct {
	key   string
	at    []int64
	point map[*tir.Var]int64
}

func values(s Side, fixed map[*tir.Var]int64) []value {
	var list []value
	points(s.Vars, fixed, func(p map[*tir.Var]int64) {
		if s.Where != nil && eval(s.Where, p) == 0 {
			return
		}
		v := value{point: map[*tir.Var]int64{}}
		for k, x := range p {
			v.point[k] = x
		}
		for _, e := range s.Map {
			v.at = append(v.at, eval(e, p))
		}
		v.key = fmt.Sprint(v.at)
		list = append(list, v)
	})
	return list
}

func points(vars []Var, p map[*tir.Var]int64, f func(map[*tir.Var]int64)) {
	if len(vars) == 0 {
		f(p)
		return
	}
	for x := vars[0].Min; x < vars[0].Min+vars[0].Extent; x++ {
		q := map[*tir.Var]int64{}
		for k, v := range p {
			q[k] = v
		}
		q[vars[0].Var] = x
		points(vars[1:], q, f)
	}
}

// eval is the meaning of the few operators that the test draws.
func eval(e tir.Expr, p map[*tir.Var]int64) int64 {
	switch n := e.(type) {
	case *tir.Int:
		return n.Value
	case *tir.Var:
		return p[n]
	case *tir.Binary:
		a, b := eval(n.A, p), eval(n.B, p)
		yes := false
		switch n.Op {
		case tir.Add:
			return a + b
		case tir.Sub:
			return a - b
		case tir.Mul:
			return a * b
		case tir.FloorDiv, tir.FloorMod:
			q := a / b
			for q*b > a {
				q--
			}
			if n.Op == tir.FloorDiv {
				return q
			}
			return a - q*b
		case tir.LT:
			yes = a < b
		case tir.And:
			yes = a != 0 && b != 0
		}
		if yes {
			return 1
		}
		return 0
	}
	panic(fmt.Sprintf("%T", e))
}

func drawVars(t *rapid.T, name string, least int) []Var {
	var list []Var
	for i := range rapid.IntRange(least, 3).Draw(t, name) {
		list = append(list, Var{tir.NewVar(fmt.Sprint(name, i)), int64(rapid.SampledFrom([]int{0, 0, 0, -1, 2}).Draw(t, "min")), int64(rapid.SampledFrom([]int{0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}).Draw(t, "extent"))})
	}
	return list
}

func drawExpr(t *rapid.T, vars []Var) tir.Expr {
	var e tir.Expr = tir.I(rapid.IntRange(-1, 2).Draw(t, "const"))
	for range rapid.IntRange(0, 2).Draw(t, "terms") {
		if len(vars) == 0 {
			break
		}
		var v tir.Expr = rapid.SampledFrom(vars).Draw(t, "var").Var
		switch rapid.IntRange(0, 4).Draw(t, "op") {
		case 0:
			v = tir.Bin(tir.FloorDiv, v, tir.I(2))
		case 1:
			v = tir.Bin(tir.FloorMod, v, tir.I(2))
		}
		e = tir.Plus(e, tir.Times(v, tir.I(rapid.SampledFrom([]int{1, 1, 2, 3, 4, -1}).Draw(t, "factor"))))
	}
	return e
}

func drawSide(t *rapid.T, name string, fixed []Var, axes int, loop *Var) Side {
	s := Side{Vars: drawVars(t, name, 0)}
	if loop != nil {
		s.Vars = append(s.Vars, *loop)
	}
	all := append(append([]Var{}, fixed...), s.Vars...)
	for range rapid.IntRange(0, 2).Draw(t, "conditions") {
		s.Where = tir.All(s.Where, tir.Bin(tir.LT, drawExpr(t, all), tir.I(rapid.IntRange(0, 6).Draw(t, "limit"))))
	}
	for range axes {
		s.Map = append(s.Map, drawExpr(t, all))
	}
	return s
}

func drawClaim(t *rapid.T) *Claim {
	c := &Claim{Kind: Kind(rapid.IntRange(int(Bijection), int(Disjoint)).Draw(t, "kind")), Fixed: drawVars(t, "f", 0)}
	axes := rapid.IntRange(0, 3).Draw(t, "axes")
	var loop *Var
	if c.Kind == Distinct {
		loop = &drawVars(t, "l", 1)[0]
		c.Loop = loop.Var
	}
	c.Side = drawSide(t, "x", c.Fixed, axes, loop)
	switch c.Kind {
	case Bijection, Onto:
		for range axes {
			c.Range = append(c.Range, int64(rapid.IntRange(1, 5).Draw(t, "range")))
		}
	case Cover, Distinct, Disjoint:
		for i := range rapid.IntRange(0, 2).Draw(t, "sides") {
			c.By = append(c.By, drawSide(t, fmt.Sprint("y", i), c.Fixed, axes, loop))
		}
	}
	return c
}

// TestCheckIsSound draws claims: what Check accepts is true by definition. What it refuses though it is true is counted:
// only where a part is empty, or by a union of sides, may that be.
func TestCheckIsSound(t *testing.T) {
	accepted, missed, total := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := drawClaim(t)
		is, err := truth(c), Check(c)
		total++
		again, perr := Parse(c.String())
		if perr != nil || again.String() != c.String() {
			t.Fatalf("%s\nis read as %v, %v", c, again, perr)
		}
		if err2 := Check(again); (err2 == nil) != (err == nil) {
			t.Fatalf("%s: %v, read back: %v", c, err, err2)
		}
		switch {
		case err == nil && !is:
			t.Fatalf("accepted, but not true: %s", c)
		case err == nil:
			accepted++
		case is:
			missed++
		}
	})
	t.Logf("%d claims: %d accepted, %d true ones refused", total, accepted, missed)
	require.Greater(t, accepted, 5*missed, "too many true claims are refused")
}

func TestCheckShowsWhere(t *testing.T) {
	i, j := Var{tir.NewVar("i"), 0, 3}, Var{tir.NewVar("j"), 0, 4}
	index := tir.Plus(tir.Times(i.Var, tir.I(4)), j.Var)
	guard := tir.Bin(tir.LT, index, tir.I(10))
	side := Side{Vars: []Var{i, j}, Where: guard, Map: []tir.Expr{index}}
	require.NoError(t, Check(&Claim{Kind: Bijection, Side: side, Range: []int64{10}}))
	huge := Var{tir.NewVar("f"), 0, 1 << 30} // a fused loop falls into its digits
	fused := Side{Vars: []Var{huge}, Map: []tir.Expr{tir.Bin(tir.FloorDiv, huge.Var, tir.I(1<<20)), tir.Bin(tir.FloorMod, tir.Bin(tir.FloorDiv, huge.Var, tir.I(1<<10)), tir.I(1<<10)), tir.Bin(tir.FloorMod, huge.Var, tir.I(1<<10))}}
	require.NoError(t, Check(&Claim{Kind: Bijection, Side: fused, Range: []int64{1 << 10, 1 << 10, 1 << 10}}))
	require.NoError(t, Check(&Claim{Kind: Distinct, Loop: huge.Var, Side: fused}))
	require.NoError(t, Check(&Claim{Kind: Distinct, Loop: j.Var, Side: Side{Vars: []Var{i, j}, Where: tir.Bin(tir.LT, index, tir.I(1)), Map: []tir.Expr{tir.I(0)}}}))
	require.ErrorContains(t, Check(&Claim{Kind: Bijection, Side: fused, Range: []int64{1 << 10, 1 << 10, 1 << 9}}), "outside the range")
	for want, c := range map[string]*Claim{
		"bijection of B: 10 of the 11 points of the range are taken": {Kind: Bijection, Subject: "B", Side: side, Range: []int64{11}},
		"bijection of B: i = 2, j = 1 gives [9], outside the range":  {Kind: Bijection, Subject: "B", Side: side, Range: []int64{9}},
		"injection of B: j = 1 gives [], which another point gives":  {Kind: Injection, Subject: "B", Side: Side{Vars: []Var{i, j}, Map: []tir.Expr{i.Var}}},
		"distinct of B: i = 0 and i = 1 both touch [1]":              {Kind: Distinct, Subject: "B", Loop: i.Var, Side: Side{Vars: []Var{i, j}, Map: []tir.Expr{tir.Plus(i.Var, j.Var)}}},
		"cover of B: j = 3 reads [3], which is not written before": {Kind: Cover, Subject: "B", Side: Side{Vars: []Var{j}, Map: []tir.Expr{j.Var}},
			By: []Side{{Vars: []Var{i}, Map: []tir.Expr{i.Var}}}},
		"cover of B: nothing is written before it is read": {Kind: Cover, Subject: "B", Side: Side{Vars: []Var{j}, Map: []tir.Expr{j.Var}}},
		"disjoint of B: both touch [0]":                    {Kind: Disjoint, Subject: "B", Side: Side{Vars: []Var{j}, Map: []tir.Expr{j.Var}}, By: []Side{{Map: []tir.Expr{tir.I(0)}}}},
		"distinct of B: ":                                  {Kind: Distinct, Subject: "B", Loop: huge.Var, Side: Side{Vars: []Var{huge}, Map: []tir.Expr{tir.Bin(tir.FloorDiv, huge.Var, tir.I(1<<15))}}},
		"constant of B: (i) depends on i":                  {Kind: Constant, Subject: "B", Fixed: []Var{i}, Side: Side{Map: []tir.Expr{i.Var}}},
		"a division by zero at i = 0":                      {Kind: Injection, Subject: "B", Side: Side{Vars: []Var{i}, Map: []tir.Expr{&tir.Binary{Op: tir.FloorDiv, A: tir.I(1), B: i.Var}}}},
	} {
		require.ErrorContains(t, Check(c), want)
	}
	big := Var{tir.NewVar("b"), 0, 1 << 40}
	err := Check(&Claim{Kind: Injection, Side: Side{Vars: []Var{big}, Map: []tir.Expr{big.Var}}})
	require.True(t, errors.Is(err, ErrUndecided))
	err = Check(&Claim{Kind: Injection, Side: Side{Vars: []Var{i}, Map: []tir.Expr{&tir.Load{Buffer: &tir.Buffer{Name: "A", Shape: []int{3}}, Indices: []tir.Expr{i.Var}}}}})
	require.True(t, errors.Is(err, ErrUndecided))
}

func TestClaimsPrint(t *testing.T) {
	i, j := Var{tir.NewVar("io"), 0, 3}, Var{tir.NewVar("ii"), 2, 4}
	index := tir.Plus(tir.Times(i.Var, tir.I(4)), j.Var)
	c := &Claim{Kind: Bijection, Subject: "block C", Side: Side{Vars: []Var{i, j}, Where: tir.Bin(tir.LT, index, tir.I(10)), Map: []tir.Expr{index}}, Range: []int64{10}}
	for text, want := range map[string]string{
		"biject: B: (i) in 3: (i) takes each point of 3 once":            `1:1: claim: no claim is of kind "biject"`,
		"bijection: B: (i) in 3: (j) takes each point of 3 once":         `tirtext: variable j is not in scope`,
		"bijection: B: (i) in 3: (i) takes each point of 3 twice":        `wanted " once", found " twice"`,
		"bijection: B: (i) in 3: (i) takes each point of 3 × 4 once":     `1 values have a range of 2`,
		"bijection: B: (i) in 3 where i: (i) takes each point of 3 once": `the condition is no truth value`,
		"bijection: B: (i) in 3: (i < 2) takes each point of 3 once":     `a value is no number`,
		"cover: B: what (i) in 3: (i) takes is in (j) in 3: (j, j)":      `one side has 1 values, another 2`,
		"distinct: B: (i) in 3: (i) takes no point at two values of k":   `side 1 has no variable "k"`,
		"injection: B: (i) in 99999999999999: (i) takes no point twice":  `wanted a number`,
		"monotone: B: (i) in 3: (i, i) does not decrease":                `2 values cannot be put in order`,
		"onto: B: (i) in 3..1: (i) takes each point of 3":                `the range of "i" is empty`,
		"injection": `wanted ": " later`,
		"injection: B: (i) in 3: (i) takes no point twice, really": `wanted the end, found ", really"`,
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, diag.ErrInvalid, text)
		require.ErrorContains(t, err, want, text)
	}
	require.Equal(t, "bijection: block C: (io, ii) in 3 × 2..6 where io * 4 + ii < 10: (io * 4 + ii) takes each point of 10 once", c.String())
	twice := Var{tir.NewVar("io"), 0, 3}
	again, err := Parse((&Claim{Kind: Cover, Subject: "B", Side: Side{Vars: []Var{i}, Map: []tir.Expr{i.Var}}, By: []Side{{Vars: []Var{twice}, Map: []tir.Expr{twice.Var}}}}).String())
	require.NoError(t, err)
	require.Equal(t, "cover: B: what (io) in 3: (io) takes is in (io_2) in 3: (io_2)", again.String())
	odd, err := Parse((&Claim{Kind: Monotone, Subject: "block a: b", Side: Side{Vars: []Var{i}, Map: []tir.Expr{i.Var}}}).String())
	require.NoError(t, err)
	require.Equal(t, "monotone: block a_ b: (io) in 3: (io) does not decrease", odd.String())
}
