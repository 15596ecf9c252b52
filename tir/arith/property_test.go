package arith_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"pgregory.net/rapid"
)

// space is a set of variables with ranges, and what expressions over them are made of.
type space struct {
	vars    []*tir.Var
	lo, ext []int64
	kind    spaceKind
	data    map[string]*tir.Buffer
}

type spaceKind int

const (
	narrow  spaceKind = iota // a few values a variable
	wide                     // ranges and constants up to the ends of int64
	unbound                  // the analyzer knows nothing of the variables: they are indices
)

func drawSpace(t *rapid.T, kind spaceKind) *space {
	s := &space{kind: kind, data: map[string]*tir.Buffer{}}
	for _, name := range []string{"i", "j", "k"} {
		s.vars = append(s.vars, tir.NewVar(name))
		lo := int64(rapid.SampledFrom([]int{0, 0, 0, 1, -3, 5}).Draw(t, "lo"))
		ext := int64(rapid.SampledFrom([]int{1, 2, 3, 4, 7, 8}).Draw(t, "ext"))
		switch {
		case kind == unbound:
			lo, ext = -1000, 2001
		case kind == wide && rapid.IntRange(0, 3).Draw(t, "wide") > 0:
			lo = max(drawLarge(t), math.MinInt64+1)
			lo = min(lo, math.MaxInt64-1)
			most := uint64(math.MaxInt64) - uint64(lo) // not the end itself, which would read as unbounded
			ext = int64(min(uint64(rapid.SampledFrom([]int64{1, 2, 9, 1 << 33, 1 << 62, math.MaxInt64}).Draw(t, "span")), most))
			ext = max(ext, 1)
		}
		s.lo, s.ext = append(s.lo, lo), append(s.ext, ext)
	}
	for name, d := range map[string]tensor.DType{"D": tensor.Int64, "E": tensor.Int32, "B": tensor.Bool, "F": tensor.Float32} {
		s.data[name] = &tir.Buffer{Name: name, DType: d, Shape: []int{64}}
	}
	return s
}

// drawLarge draws a number that is often a power of two or an end of int64, or near one.
func drawLarge(t *rapid.T) int64 {
	near := int64(rapid.IntRange(-3, 3).Draw(t, "near"))
	switch k := rapid.IntRange(0, 5).Draw(t, "large"); k {
	case 0:
		return math.MaxInt64 - 3 + near
	case 1:
		return math.MinInt64 + 3 + near
	case 2:
		return near
	}
	v := int64(1)<<rapid.IntRange(28, 62).Draw(t, "shift") + near
	if rapid.Bool().Draw(t, "minus") {
		return -v
	}
	return v
}

func (s *space) analyzer() *arith.Analyzer {
	a := arith.New()
	for i, v := range s.vars {
		if s.kind != unbound {
			a.Bind(v, s.lo[i], s.ext[i])
		}
	}
	return a
}

func (s *space) machine() *machine {
	m := &machine{env: map[*tir.Var]int64{}}
	if s.kind == unbound {
		m.limit = 1 << 40
	}
	return m
}

// each calls f for every point of a small space, and for corners and some points of a large one.
func (s *space) each(f func(m *machine)) {
	m := s.machine()
	total := 1.0
	for _, e := range s.ext {
		total *= float64(e)
	}
	values := func(i int) []int64 {
		lo, hi := s.lo[i], s.lo[i]+s.ext[i]-1
		var out []int64
		if total <= 512 || s.ext[i] <= 4 {
			for v := lo; ; v++ {
				out = append(out, v)
				if v == hi {
					return out
				}
			}
		}
		mid := lo + int64(uint64(hi-lo)/2)
		odd := lo + int64(uint64(hi-lo)/7*3)
		out = append(out, lo, lo+1, odd, mid, hi-1, hi)
		for _, v := range []int64{-1, 0, 1} {
			if lo <= v && v <= hi {
				out = append(out, v)
			}
		}
		return out
	}
	var walk func(i int)
	walk = func(i int) {
		if i == len(s.vars) {
			m.loads++
			m.lane = m.loads % lanes
			f(m)
			return
		}
		for _, v := range values(i) {
			m.env[s.vars[i]] = v
			walk(i + 1)
		}
	}
	walk(0)
}

func (s *space) constant(t *rapid.T) tir.Expr {
	if s.kind == wide && rapid.Bool().Draw(t, "big") {
		return tir.I(int(drawLarge(t)))
	}
	return tir.I(rapid.IntRange(-9, 40).Draw(t, "c"))
}

func (s *space) divisor(t *rapid.T) tir.Expr {
	if s.kind == wide && rapid.IntRange(0, 2).Draw(t, "big") == 0 {
		return tir.I(int(drawLarge(t)))
	}
	return tir.I(rapid.SampledFrom([]int{2, 3, 4, 6, 8, 12, 16, -2, -3, 1}).Draw(t, "d"))
}

func (s *space) index(t *rapid.T, depth int) tir.Expr {
	if depth == 0 || rapid.IntRange(0, 5).Draw(t, "leaf") == 0 {
		if rapid.IntRange(0, 3).Draw(t, "const") == 0 {
			return s.constant(t)
		}
		return rapid.SampledFrom(s.vars).Draw(t, "v")
	}
	switch rapid.IntRange(0, 11).Draw(t, "op") {
	case 0, 1:
		return op(tir.Add, s.index(t, depth-1), s.index(t, depth-1))
	case 2:
		return op(tir.Sub, s.index(t, depth-1), s.index(t, depth-1))
	case 3:
		k := tir.Expr(tir.I(rapid.SampledFrom([]int{-2, -1, 2, 3, 4, 8, 16}).Draw(t, "m")))
		if s.kind == wide && rapid.Bool().Draw(t, "big") {
			k = s.constant(t)
		}
		return op(tir.Mul, s.index(t, depth-1), k)
	case 4:
		return op(tir.FloorDiv, s.index(t, depth-1), s.divisor(t))
	case 5:
		return op(tir.FloorMod, s.index(t, depth-1), s.divisor(t))
	case 6:
		kinds := []tir.BinaryOp{tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Mul, tir.BitAnd}
		return op(rapid.SampledFrom(kinds).Draw(t, "kind"), s.index(t, depth-1), s.index(t, depth-1))
	case 7:
		return op(rapid.SampledFrom([]tir.BinaryOp{tir.Min, tir.Max}).Draw(t, "m"), s.index(t, depth-1), s.index(t, depth-1))
	case 8:
		return &tir.Select{Cond: s.cond(t, depth-1), Then: s.index(t, depth-1), Else: s.index(t, depth-1)}
	case 9:
		if s.kind == unbound { // what is loaded is no index
			break
		}
		load := s.load(rapid.SampledFrom([]string{"D", "E"}).Draw(t, "buf"), s.index(t, depth-1))
		if load.Type() != tir.Index {
			load = &tir.Cast{DType: tensor.Int64, A: load}
		}
		return load
	case 10:
		narrow := rapid.SampledFrom([]tensor.DType{tensor.Int32, tensor.Uint8, tensor.Int8, tensor.Int64}).Draw(t, "narrow")
		return &tir.Cast{DType: tensor.Int64, A: &tir.Cast{DType: narrow, A: s.index(t, depth-1)}}
	}
	x := s.index(t, depth-1) // a split that may be fused again
	d := s.divisor(t)
	return op(tir.Add, op(tir.Mul, op(tir.FloorDiv, x, d), d), op(tir.FloorMod, x, d))
}

func (s *space) load(name string, i tir.Expr) tir.Expr {
	return &tir.Load{Buffer: s.data[name], Indices: []tir.Expr{i}}
}

var compares = []tir.BinaryOp{tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE}

func (s *space) cond(t *rapid.T, depth int) tir.Expr {
	if depth > 0 {
		switch rapid.IntRange(0, 5).Draw(t, "logic") {
		case 0:
			return op(tir.And, s.cond(t, depth-1), s.cond(t, depth-1))
		case 1:
			return op(tir.Or, s.cond(t, depth-1), s.cond(t, depth-1))
		case 2:
			return &tir.Not{A: s.cond(t, depth-1)}
		}
	}
	return op(rapid.SampledFrom(compares).Draw(t, "cmp"), s.index(t, max(depth, 0)), s.index(t, max(depth-1, 0)))
}

const lanes = 4

// vector draws an int64 vector.
func (s *space) vector(t *rapid.T, depth int) tir.Expr {
	switch k := rapid.IntRange(0, 5).Draw(t, "vector"); {
	case depth == 0 || k == 0:
		stride := tir.Expr(tir.I(rapid.SampledFrom([]int{0, 1, 1, 2, 4, -1, 8, 3}).Draw(t, "stride")))
		if s.kind == wide && rapid.IntRange(0, 4).Draw(t, "big") == 0 {
			stride = s.constant(t)
		}
		return &tir.Ramp{Base: s.index(t, 1), Stride: stride, Lanes: lanes}
	case k == 1:
		return &tir.Broadcast{A: s.index(t, 2), Lanes: lanes}
	case k == 2:
		kinds := []tir.BinaryOp{tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod}
		return op(rapid.SampledFrom(kinds).Draw(t, "kind"), s.vector(t, depth-1), &tir.Broadcast{A: s.divisor(t), Lanes: lanes})
	}
	kinds := []tir.BinaryOp{tir.Add, tir.Sub, tir.Mul, tir.Min, tir.Max}
	return op(rapid.SampledFrom(kinds).Draw(t, "kind"), s.vector(t, depth-1), s.vector(t, depth-1))
}

// expression draws an index, a condition or a vector of either.
func (s *space) expression(t *rapid.T) tir.Expr {
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0, 1:
		return s.cond(t, 3)
	case 2:
		return s.vector(t, 2)
	case 3:
		return op(rapid.SampledFrom(compares).Draw(t, "cmp"), s.vector(t, 2), s.vector(t, 1))
	}
	return s.index(t, 4)
}

// keeps returns an error when a claim of the analyzer about e, under an assumption, is wrong at a point of the space.
func (s *space) keeps(a *arith.Analyzer, given, e tir.Expr) (err error) {
	leave := a.Assume(given)
	got := a.Simplify(e)
	scalar := e.Type() == tir.Index
	lo, hi, bounded := int64(0), int64(0), false
	coeff, base := int64(1), int64(0)
	if scalar {
		lo, hi, bounded = a.Bounds(e)
		coeff, base = a.Modular(e)
	}
	if again := a.Simplify(got); again != got && s.kind != wide { // near the ends a second look may see more
		err = fmt.Errorf("%s -> %s -> %s", show(e), show(got), show(again))
	}
	leave()
	s.each(func(m *machine) {
		if holds, ok := m.eval(given); !ok || holds == 0 || err != nil {
			return
		}
		want, ok := m.eval(e)
		if !ok {
			return
		}
		after := *m
		after.limit = 0
		have, ok := after.eval(got)
		switch {
		case !ok || have != want:
			err = fmt.Errorf("given %s: %s = %d, simplified %s = %d", show(given), show(e), want, show(got), have)
		case bounded && (want < lo || want > hi):
			err = fmt.Errorf("given %s: %s = %d is outside [%d, %d]", show(given), show(e), want, lo, hi)
		case coeff == 0 && want != base, coeff > 0 && ((want%coeff)+coeff-base)%coeff != 0:
			err = fmt.Errorf("given %s: %s = %d is not %d·n + %d", show(given), show(e), want, coeff, base)
		}
		if err != nil {
			err = fmt.Errorf("%w at %v in %v %v, lane %d", err, s.values(m), s.lo, s.ext, m.lane)
		}
	})
	return err
}

func (s *space) values(m *machine) (out []int64) {
	for _, v := range s.vars {
		out = append(out, m.env[v])
	}
	return out
}

// simplifies is the property that Simplify keeps the value of every expression wherever it has one, is stable, and that
// Bounds and Modular hold.
func simplifies(t *rapid.T) {
	s := drawSpace(t, rapid.SampledFrom([]spaceKind{narrow, narrow, wide, unbound}).Draw(t, "space"))
	given := tir.Expr(tir.True)
	if rapid.Bool().Draw(t, "assume") {
		given = s.cond(t, 1)
	}
	if err := s.keeps(s.analyzer(), given, s.expression(t)); err != nil {
		t.Fatal(err)
	}
}

func TestSimplifyKeepsValues(t *testing.T) { rapid.Check(t, simplifies) }

// FuzzSimplify builds expressions from the fuzzer's bytes.
func FuzzSimplify(f *testing.F) { f.Fuzz(rapid.MakeFuzz(simplifies)) }

// Touched contains every index that a sweep reaches, and for affine indices touches its ends.
func TestTouchedCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpace(t, rapid.SampledFrom([]spaceKind{narrow, narrow, wide}).Draw(t, "space"))
		a := s.analyzer()
		e := s.index(t, 3)
		over := map[*tir.Var]tir.Range{}
		for i, v := range s.vars[1:] {
			over[v] = tir.Range{Min: tir.I(int(s.lo[i+1])), Extent: tir.I(int(s.ext[i+1]))}
		}
		box, ok := a.Touched([]tir.Expr{e}, over)
		if !ok {
			return
		}
		extent, _ := tir.AsInt(box[0].Extent)
		s.each(func(m *machine) {
			v, ok := m.eval(e)
			lo, defined := m.eval(box[0].Min)
			if ok && defined && (v < lo || uint64(v)-uint64(lo) >= uint64(extent)) {
				t.Fatalf("%s = %d is outside %s = %d, extent %d", show(e), v, show(box[0].Min), lo, extent)
			}
		})
	})
}
