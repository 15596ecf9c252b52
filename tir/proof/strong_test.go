package proof

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tir"
)

var strong = flag.Duration("strong", 2*time.Second, "how long TestCheckAgainstCounting draws claims")

// drawer draws claims as schedules make them: digits of fused loops, tiles and their guards, fixed variables shared with
// conditions, several sides of which each covers a part.
type drawer struct {
	*rand.Rand
	names int
}

func (d *drawer) one(n int) bool { return d.IntN(n) == 0 }

func (d *drawer) variable() Var {
	d.names++
	v := Var{tir.NewVar(fmt.Sprintf("v%d", d.names)), 0, []int64{1, 2, 2, 3, 4, 4, 6, 8, 12, 0}[d.IntN(9+d.IntN(2))]}
	if d.one(5) {
		v.Min = int64(d.IntN(5) - 2)
	}
	return v
}

func (d *drawer) vars(most int) []Var {
	var list []Var
	for range d.IntN(most + 1) {
		list = append(list, d.variable())
	}
	return list
}

// atom is a variable, or digits of one.
func (d *drawer) atom(v Var) tir.Expr {
	n := []int{2, 3, 4, 6}[d.IntN(4)]
	switch d.IntN(8) {
	case 0:
		return &tir.Binary{Op: tir.FloorDiv, A: v.Var, B: tir.I(n)}
	case 1:
		return &tir.Binary{Op: tir.FloorMod, A: v.Var, B: tir.I(n)}
	case 2:
		return tir.Bin(tir.FloorMod, &tir.Binary{Op: tir.FloorDiv, A: v.Var, B: tir.I(n)}, tir.I(2))
	}
	return v.Var
}

func (d *drawer) expr(vars []Var) tir.Expr {
	var e tir.Expr = tir.I([]int{0, 0, 0, 1, -1, 2}[d.IntN(6)])
	tile := 1
	for k := range d.IntN(4) {
		if len(vars) == 0 {
			break
		}
		v := vars[d.IntN(len(vars))]
		factor := []int{tile, 1, 2, -1, 3}[d.IntN(5)]
		if d.one(2) || k == 0 {
			factor = tile
		}
		tile *= int(max(v.Extent, 1))
		e = tir.Plus(e, tir.Times(d.atom(v), tir.I(factor)))
	}
	switch d.IntN(14) {
	case 0:
		e = &tir.Binary{Op: tir.FloorMod, A: e, B: tir.I(2 + d.IntN(4))}
	case 1:
		e = &tir.Binary{Op: tir.FloorDiv, A: e, B: tir.I(2 + d.IntN(3))}
	case 2:
		e = tir.Bin(tir.Min, e, tir.I(d.IntN(8)))
	case 3:
		e = tir.Bin(tir.Max, e, tir.I(d.IntN(3)))
	case 4:
		e = &tir.Select{Cond: d.cond(vars), Then: e, Else: tir.I(d.IntN(4))}
	}
	return e
}

func (d *drawer) cond(vars []Var) tir.Expr {
	if len(vars) == 0 {
		return &tir.Binary{Op: tir.LT, A: tir.I(d.IntN(2)), B: tir.I(1)}
	}
	term := func() tir.Expr {
		var e tir.Expr = d.atom(vars[d.IntN(len(vars))])
		if d.one(2) {
			e = tir.Plus(tir.Times(e, tir.I(1+d.IntN(4))), d.atom(vars[d.IntN(len(vars))]))
		}
		return e
	}
	var right tir.Expr = tir.I(d.IntN(9))
	if d.one(3) {
		right = term()
	}
	e := &tir.Binary{Op: []tir.BinaryOp{tir.LT, tir.LT, tir.LT, tir.GE, tir.LE, tir.EQ, tir.NE, tir.GT}[d.IntN(8)], A: term(), B: right}
	switch d.IntN(10) {
	case 0:
		return &tir.Not{A: e}
	case 1:
		return &tir.Binary{Op: tir.Or, A: e, B: &tir.Binary{Op: tir.EQ, A: term(), B: tir.I(d.IntN(3))}}
	}
	return e
}

func (d *drawer) side(fixed []Var, axes int, loop *Var, like *Side) Side {
	if like != nil && d.one(2) { // the same with other variables, or another condition
		s := Side{Where: like.Where, Map: append([]tir.Expr{}, like.Map...)}
		to := map[*tir.Var]tir.Expr{}
		same := d.one(4) // as the loops of one block before a step and after it
		for _, v := range like.Vars {
			w := v
			if (loop == nil || v.Var != loop.Var) && !same {
				w.Var = tir.NewVar(v.Var.Name + "x")
			}
			if (loop == nil || v.Var != loop.Var) && d.one(4) {
				w.Extent = max(0, w.Extent+int64(d.IntN(3)-1))
			}
			to[v.Var] = w.Var
			s.Vars = append(s.Vars, w)
		}
		s.Where = tir.Subst(s.Where, to)
		for i := range s.Map {
			s.Map[i] = tir.Subst(s.Map[i], to)
		}
		if d.one(2) {
			s.Where = tir.All(s.Where, d.cond(append(append([]Var{}, fixed...), s.Vars...)))
		}
		return s
	}
	s := Side{Vars: d.vars(3)}
	if loop != nil {
		at := d.IntN(len(s.Vars) + 1)
		s.Vars = append(s.Vars[:at:at], append([]Var{*loop}, s.Vars[at:]...)...)
	}
	all := append(append([]Var{}, fixed...), s.Vars...)
	for range d.IntN(3) {
		s.Where = tir.All(s.Where, d.cond(all))
	}
	for range axes {
		s.Map = append(s.Map, d.expr(all))
	}
	return s
}

// tiling is an axis as splits with a guard make it: digits, of which the upper ones, with a fixed one or without, are below a
// number.
type tiling struct {
	digits []int64 // the extents, the lowest first
	from   int     // the lowest of those in the guard; none where there are not so many
	limit  int
	base   int // added to the axis and to the guard
}

func (d *drawer) tiling() tiling {
	t := tiling{from: d.IntN(4), limit: d.IntN(24)}
	for range 1 + d.IntN(3) {
		t.digits = append(t.digits, int64(1+d.IntN(4)))
	}
	if d.one(4) {
		t.base = d.IntN(5) - 2
	}
	return t
}

// tiled is a side of one axis. Now and then a digit, a factor or the guard is off by one, or a digit counts downward.
func (d *drawer) tiled(t tiling, fixed []Var, loop *Var) Side {
	off := func() int {
		if !d.one(24) {
			return 0
		}
		return 1 - 2*d.IntN(2)
	}
	digit := func(n int) Var {
		if n == 0 && loop != nil {
			return *loop
		}
		return Var{tir.NewVar(fmt.Sprint("d", n)), 0, max(0, t.digits[n]+int64(off()))}
	}
	var s Side
	var e, guard tir.Expr = tir.I(t.base + off()), tir.I(t.base + off())
	from, limit := t.from, t.limit
	if d.one(4) && from > 0 && from <= len(t.digits) { // the same guard in lower digits
		from--
		limit *= int(t.digits[from])
	}
	step, upper, guarded := 1, 1, false
	add := func(v Var, n int) {
		sign := 1 - 2*d.IntN(2)*d.IntN(2)*d.IntN(2)
		e = tir.Plus(tir.Times(v.Var, tir.I(sign*(step+off()))), e)
		if n >= from {
			if d.one(24) {
				sign = -sign
			}
			guard = tir.Plus(tir.Times(v.Var, tir.I(sign*(upper+off()))), guard)
			upper, guarded = upper*int(max(1, v.Extent)), true
		}
		step *= int(max(1, v.Extent))
	}
	for n := range t.digits {
		v := digit(n)
		s.Vars = append([]Var{v}, s.Vars...)
		add(v, n)
	}
	if len(fixed) > 0 {
		add(fixed[0], len(t.digits))
	}
	s.Map = []tir.Expr{e}
	if guarded {
		s.Where = tir.Bin(tir.LT, guard, tir.I(limit+off()))
	}
	return s
}

func (d *drawer) claim() *Claim {
	c := &Claim{Kind: Kind(d.IntN(int(Monotone) + 1)), Subject: "b", Fixed: d.vars(2)}
	axes := d.IntN(4)
	if c.Kind == Monotone {
		axes = 1
	}
	var loop *Var
	if c.Kind == Distinct {
		v := d.variable()
		loop, c.Loop = &v, v.Var
	}
	var t *tiling
	if d.one(3) {
		shape := d.tiling()
		t, axes = &shape, 1
	}
	side := func(like *Side) Side {
		if t != nil {
			return d.tiled(*t, c.Fixed, loop)
		}
		return d.side(c.Fixed, axes, loop, like)
	}
	c.Side = side(nil)
	switch c.Kind {
	case Bijection, Onto:
		for range axes {
			c.Range = append(c.Range, int64([]int{1, 2, 3, 4, 6, 8, 12, 24}[d.IntN(8)]))
		}
	case Cover, Distinct, Disjoint:
		for range d.IntN(4) {
			c.By = append(c.By, side(&c.Side))
		}
	}
	return c
}

func (d *drawer) points(c *Claim) int64 {
	n := int64(1)
	for _, v := range c.Fixed {
		n *= max(1, v.Extent)
	}
	most := int64(1)
	for _, s := range append([]Side{c.Side}, c.By...) {
		k := int64(1)
		for _, v := range s.Vars {
			k *= max(1, v.Extent)
		}
		most = max(most, k)
	}
	return n * most
}

// count decides a claim by its definition: all values of all sides, for each value of the fixed variables. A division by
// zero does not occur.
func count(c *Claim) bool {
	ok := true
	each(c.Fixed, map[*tir.Var]int64{}, func(p map[*tir.Var]int64) { ok = ok && countAt(c, p) })
	return ok
}

func each(vars []Var, p map[*tir.Var]int64, f func(map[*tir.Var]int64)) {
	if len(vars) == 0 {
		f(p)
		return
	}
	for x := vars[0].Min; x < vars[0].Min+vars[0].Extent; x++ {
		p[vars[0].Var] = x
		each(vars[1:], p, f)
	}
	delete(p, vars[0].Var)
}

func countAt(c *Claim, p map[*tir.Var]int64) bool {
	own, twice, down, outside := map[string]map[int64]bool{}, false, false, false
	last, first := int64(0), true
	take := func(s Side, into map[string]map[int64]bool, note bool) {
		each(s.Vars, p, func(p map[*tir.Var]int64) {
			if s.Where != nil && number0(s.Where, p) == 0 {
				return
			}
			key := ""
			for i, e := range s.Map {
				v := number0(e, p)
				key += fmt.Sprint(v, " ")
				if note && c.Range != nil && (v < 0 || v >= c.Range[i]) {
					outside = true
				}
				if note && c.Kind == Monotone {
					down = down || !first && v < last
					last, first = v, false
				}
			}
			if into[key] == nil {
				into[key] = map[int64]bool{}
			} else if note {
				twice = true
			}
			into[key][p[c.Loop]] = true
		})
	}
	take(c.Side, own, true)
	size := 1
	for _, n := range c.Range {
		size *= int(n)
	}
	switch c.Kind {
	case Bijection:
		return !twice && !outside && len(own) == size
	case Onto:
		return !outside && len(own) == size
	case Injection:
		return !twice
	case Monotone:
		return !down
	}
	other := map[string]map[int64]bool{}
	if c.Kind == Distinct {
		other = own
	}
	for _, s := range c.By {
		take(s, other, false)
	}
	for key, at := range own {
		_, found := other[key]
		if c.Kind == Cover && !found || c.Kind == Disjoint && found || c.Kind == Distinct && len(at) > 1 {
			return false
		}
	}
	return true
}

// number0 is the meaning of an expression, bools being 0 and 1.
func number0(e tir.Expr, p map[*tir.Var]int64) int64 {
	truth := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	switch n := e.(type) {
	case *tir.Int:
		return n.Value
	case *tir.Var:
		return p[n]
	case *tir.Not:
		return 1 - number0(n.A, p)
	case *tir.Select:
		if number0(n.Cond, p) != 0 {
			return number0(n.Then, p)
		}
		return number0(n.Else, p)
	case *tir.Binary:
		a, b := number0(n.A, p), number0(n.B, p)
		q := int64(0)
		if n.Op == tir.FloorDiv || n.Op == tir.FloorMod {
			for q = a / b; q*b > a; q-- {
			}
		}
		switch n.Op {
		case tir.Add:
			return a + b
		case tir.Sub:
			return a - b
		case tir.Mul:
			return a * b
		case tir.Min:
			return min(a, b)
		case tir.Max:
			return max(a, b)
		case tir.FloorDiv:
			return q
		case tir.FloorMod:
			return a - q*b
		case tir.LT:
			return truth(a < b)
		case tir.LE:
			return truth(a <= b)
		case tir.GT:
			return truth(a > b)
		case tir.GE:
			return truth(a >= b)
		case tir.EQ:
			return truth(a == b)
		case tir.NE:
			return truth(a != b)
		case tir.And:
			return truth(a != 0 && b != 0)
		case tir.Or:
			return truth(a != 0 || b != 0)
		}
	}
	panic(fmt.Sprintf("%T", e))
}

// TestCheckAgainstCounting holds Check to the definition of the claims: with digits, guards over several variables, unions
// and fixed variables.
func TestCheckAgainstCounting(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, 3))}
	accepted, missed, total := map[Kind]int{}, map[Kind]int{}, 0
	for end := time.Now().Add(*strong); time.Now().Before(end); {
		c := d.claim()
		if d.points(c) > 20000 {
			continue
		}
		err := Check(c)
		is := count(c)
		total++
		require.False(t, err == nil && !is, "seed %d: accepted, but not true: %s", seed, c)
		switch {
		case err == nil:
			accepted[c.Kind]++
		case is:
			missed[c.Kind]++
		}
	}
	t.Logf("seed %d: %d claims, accepted %v, true ones refused %v", seed, total, accepted, missed)
}

// A claim about a function before and after a step names a loop on both sides, where it may have other bounds.
func TestCheckTellsVariablesApart(t *testing.T) {
	i, u := Var{tir.NewVar("i"), 0, 8}, Var{tir.NewVar("u"), 0, 8}
	fewer := i
	fewer.Extent = 6
	digits := []tir.Expr{tir.Bin(tir.FloorDiv, i.Var, tir.I(2)), tir.Bin(tir.FloorMod, i.Var, tir.I(2))}
	c := &Claim{Kind: Cover, Side: Side{Vars: []Var{i}, Map: digits}, By: []Side{{Vars: []Var{fewer}, Map: digits}}}
	require.False(t, count(c))
	require.Error(t, Check(c))
	clamped := &tir.Select{Cond: tir.Lt(i.Var, tir.I(2)), Then: i.Var, Else: tir.I(9)}
	c = &Claim{Kind: Cover, Side: Side{Vars: []Var{u, i}, Map: []tir.Expr{u.Var, clamped}}, By: []Side{{Vars: []Var{i}, Map: []tir.Expr{i.Var, clamped}}}}
	require.False(t, count(c))
	require.Error(t, Check(c))
}
