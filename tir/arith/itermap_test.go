package arith_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"pgregory.net/rapid"
)

// nest is what schedule primitives make of loops 0 to target: loops, and the values of the original ones by them.
type nest struct {
	d      arith.IterDomain
	values []tir.Expr
	target []int64
	steps  []string
}

func newNest(target ...int64) *nest {
	n := &nest{target: target}
	for i, e := range target {
		v := n.loop(fmt.Sprintf("l%d", i), e)
		n.values = append(n.values, v)
	}
	return n
}

func (n *nest) loop(name string, extent int64) *tir.Var {
	v := tir.NewVar(name)
	n.d.Vars = append(n.d.Vars, v)
	n.d.Mins = append(n.d.Mins, 0)
	n.d.Extents = append(n.d.Extents, extent)
	return v
}

// put replaces loop i by an expression of new loops, as the primitives do: everything is simplified in the new loops.
func (n *nest) put(i int, e tir.Expr, guard tir.Expr) {
	to := map[*tir.Var]tir.Expr{n.d.Vars[i]: e}
	n.remove(i)
	a := arith.New()
	for i, v := range n.d.Vars {
		a.Bind(v, n.d.Mins[i], n.d.Extents[i])
	}
	for i, e := range n.values {
		n.values[i] = a.Simplify(tir.Subst(e, to))
	}
	if n.d.Where != nil {
		n.d.Where = tir.Subst(n.d.Where, to)
	}
	if where := tir.All(n.d.Where, guard); where != nil {
		n.d.Where = tir.All(a.Simplify(where))
	}
}

func (n *nest) remove(i int) {
	n.d.Vars = append(n.d.Vars[:i:i], n.d.Vars[i+1:]...)
	n.d.Mins = append(n.d.Mins[:i:i], n.d.Mins[i+1:]...)
	n.d.Extents = append(n.d.Extents[:i:i], n.d.Extents[i+1:]...)
}

func (n *nest) split(i int, factor int64) {
	v, ext := n.d.Vars[i], n.d.Extents[i]
	n.steps = append(n.steps, fmt.Sprintf("split %s of %d by %d", v.Name, ext, factor))
	o, in := n.loop(v.Name+"o", (ext+factor-1)/factor), n.loop(v.Name+"i", factor)
	index := add(mul(o, int(factor)), in)
	var guard tir.Expr
	if ext%factor != 0 {
		guard = lt(index, int(ext))
	}
	n.put(i, add(index, int(n.d.Mins[i])), guard)
}

func (n *nest) fuse(i, j int) {
	a, b := n.d.Vars[i], n.d.Vars[j]
	n.steps = append(n.steps, fmt.Sprintf("fuse %s of %d and %s of %d", a.Name, n.d.Extents[i], b.Name, n.d.Extents[j]))
	f, m := n.loop(a.Name+b.Name, n.d.Extents[i]*n.d.Extents[j]), int(n.d.Extents[j])
	x, y := add(div(f, m), int(n.d.Mins[i])), add(mod(f, m), int(n.d.Mins[j]))
	n.put(i, x, nil)
	if j > i {
		j--
	}
	n.put(j, y, nil)
}

// move starts loop i at another minimum.
func (n *nest) move(i int, by int64) {
	v, ext := n.d.Vars[i], n.d.Extents[i]
	n.steps = append(n.steps, fmt.Sprintf("move %s by %d", v.Name, by))
	w := n.loop(v.Name+"m", ext)
	n.d.Mins[len(n.d.Mins)-1] = by + n.d.Mins[i]
	n.put(i, sub(w, int(by)), nil)
}

// turn runs loop i backwards.
func (n *nest) turn(i int) {
	v, ext := n.d.Vars[i], n.d.Extents[i]
	n.steps = append(n.steps, fmt.Sprintf("turn %s of %d", v.Name, ext))
	w := n.loop(v.Name+"t", ext)
	n.put(i, sub(int(n.d.Mins[i]+ext-1), w), nil)
}

func (n *nest) reorder(order []int) {
	d := arith.IterDomain{Where: n.d.Where}
	for _, i := range order {
		d.Vars = append(d.Vars, n.d.Vars[i])
		d.Mins = append(d.Mins, n.d.Mins[i])
		d.Extents = append(d.Extents, n.d.Extents[i])
	}
	n.d = d
}

func (n *nest) String() string {
	out := strings.Join(n.steps, "; ") + "\n  "
	for i, v := range n.d.Vars {
		out += fmt.Sprintf("%s in %d+%d ", v.Name, n.d.Mins[i], n.d.Extents[i])
	}
	if n.d.Where != nil {
		out += "where " + show(n.d.Where)
	}
	return out + " values " + showAll(n.values)
}

// random applies a few primitives.
func (n *nest) random(t *rapid.T) {
	for range rapid.IntRange(0, 6).Draw(t, "steps") {
		points := int64(1)
		for _, e := range n.d.Extents {
			points *= e
		}
		if points > 4000 {
			return
		}
		i := rapid.IntRange(0, len(n.d.Vars)-1).Draw(t, "loop")
		switch rapid.IntRange(0, 8).Draw(t, "step") {
		case 0, 1, 2:
			n.split(i, int64(rapid.SampledFrom([]int{1, 2, 3, 4, 5, 6, 8}).Draw(t, "factor")))
		case 3, 4:
			if j := rapid.IntRange(0, len(n.d.Vars)-1).Draw(t, "with"); i != j {
				n.fuse(i, j)
			}
		case 5:
			n.move(i, int64(rapid.IntRange(-5, 9).Draw(t, "by")))
		case 6:
			n.turn(i)
		default:
			order := make([]int, len(n.d.Vars))
			for i := range order {
				order[i] = i
			}
			n.reorder(rapid.Permutation(order).Draw(t, "order"))
		}
	}
}

func drawNest(t *rapid.T) *nest {
	var target []int64
	for range rapid.IntRange(1, 3).Draw(t, "rank") {
		target = append(target, int64(rapid.SampledFrom([]int{1, 2, 3, 4, 5, 6, 8, 9, 10, 12}).Draw(t, "extent")))
	}
	n := newNest(target...)
	n.random(t)
	return n
}

// points returns the values at every point of the domain.
func points(d arith.IterDomain, values []tir.Expr) (out []string) {
	m := &machine{env: map[*tir.Var]int64{}}
	var walk func(i int)
	walk = func(i int) {
		if i == len(d.Vars) {
			if d.Where != nil {
				if v, ok := m.eval(d.Where); !ok || v == 0 {
					return
				}
			}
			out = append(out, fmt.Sprint(results(m, values)))
			return
		}
		for k := range d.Extents[i] {
			m.env[d.Vars[i]] = k
			if d.Mins != nil {
				m.env[d.Vars[i]] += d.Mins[i]
			}
			walk(i + 1)
		}
	}
	walk(0)
	return out
}

func results(m *machine, values []tir.Expr) []int64 {
	out := make([]int64, len(values))
	for i, e := range values {
		out[i], _ = m.eval(e)
	}
	return out
}

// What split, fuse, reorder and their likes make is proven by algebra alone, and can be undone.
func TestSchedulesAreBijective(t *testing.T) {
	undecided, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n := drawNest(t)
		total++
		how, err := arith.Bijective(n.d, n.values, n.target)
		require.NoError(t, err, n)
		if how != arith.Algebra {
			undecided++
			return
		}
		how, err = arith.Injective(n.d, n.values)
		require.NoError(t, err, n)
		require.Equal(t, arith.Algebra, how)
		want := points(n.d, n.values)

		m, err := arith.DetectIterMap(nil, n.d, n.values)
		require.NoError(t, err)
		again := make([]tir.Expr, len(m.Values))
		for i, s := range m.Values {
			again[i] = s.Expr()
		}
		require.Equal(t, want, points(n.d, again), "%v: %s", n, showAll(again))
		count, ok := m.Points()
		require.True(t, ok)
		require.EqualValues(t, len(want), count)

		to := make([]*tir.Var, len(n.target))
		for i := range to {
			to[i] = tir.NewVar(fmt.Sprintf("y%d", i))
		}
		back, err := arith.Inverse(n.d, n.values, n.target, to)
		require.NoError(t, err)
		there := map[*tir.Var]tir.Expr{}
		for i, v := range n.d.Vars {
			there[v] = back[i]
		}
		box := arith.IterDomain{Vars: to, Extents: n.target}
		round := make([]tir.Expr, len(n.values))
		for i, e := range n.values {
			round[i] = tir.Subst(e, there)
		}
		same := make([]tir.Expr, len(to))
		for i, v := range to {
			same[i] = v
		}
		require.Equal(t, points(box, same), points(box, round), "%v: back %s", n, showAll(back))
	})
	t.Logf("%d of %d were counted", undecided, total)
	require.LessOrEqual(t, undecided*100, total+100)
}

// Bijective and Injective agree with counting, whatever the values are.
func TestMapsAreDecided(t *testing.T) { rapid.Check(t, decided) }

// FuzzBijective builds maps from the fuzzer's bytes.
func FuzzBijective(f *testing.F) { f.Fuzz(rapid.MakeFuzz(decided)) }

func decided(t *rapid.T) {
	n := drawNest(t)
	n.spoil(t)
	got := points(n.d, n.values)
	unique := map[string]bool{}
	for _, p := range got {
		unique[p] = true
	}
	var to []*tir.Var
	var same []tir.Expr
	for range n.target {
		to = append(to, tir.NewVar("y"))
		same = append(same, to[len(to)-1])
	}
	inside := 0
	for _, p := range points(arith.IterDomain{Vars: to, Extents: n.target}, same) {
		if unique[p] {
			inside++
		}
	}
	size := int64(1)
	for _, e := range n.target {
		size *= e
	}
	bijective := len(unique) == len(got) && inside == len(got) && int64(inside) == size
	how, err := arith.Bijective(n.d, n.values, n.target)
	require.Equal(t, bijective, err == nil, "%v: %v by %v", n, err, how)
	if err != nil {
		require.ErrorIs(t, err, diag.ErrInvalid)
	}
	if len(got) == 0 {
		return
	}
	how, err = arith.Injective(n.d, n.values)
	require.Equal(t, len(unique) == len(got), err == nil, "%v: %v by %v", n, err, how)
}

// spoil changes something that may make the map no bijection any more.
func (n *nest) spoil(t *rapid.T) {
	v := rapid.SampledFrom(n.d.Vars).Draw(t, "v")
	i := rapid.IntRange(0, len(n.values)-1).Draw(t, "value")
	c := rapid.IntRange(1, 6).Draw(t, "c")
	switch rapid.IntRange(0, 8).Draw(t, "spoil") {
	case 0:
		n.values[i] = add(n.values[i], mul(v, c-3))
	case 1:
		n.values[i] = div(n.values[i], c)
	case 2:
		n.values[i] = mod(add(n.values[i], v), c+4)
		n.target[i] = int64(c + 4)
	case 3:
		n.target[i] += int64(c - 3)
	case 4:
		n.d.Where = tir.All(n.d.Where, op(rapid.SampledFrom(compares).Draw(t, "cmp"), add(v, n.values[i]), c))
	case 5:
		n.d.Where = nil
	case 6:
		n.values[i] = op(tir.Max, n.values[i], c)
	case 7:
		n.values[i] = add(mul(n.values[i], c-2), c-2)
	case 8:
		j := rapid.IntRange(0, len(n.values)-1).Draw(t, "other")
		n.values[i], n.values[j] = add(n.values[i], mul(n.values[j], c)), div(n.values[j], c)
	}
}

// A box that is found is the set of the values that are taken, no more and no less.
func TestBoxIsFilled(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		n := drawNest(t)
		values := n.values
		for i := range values {
			switch rapid.IntRange(0, 5).Draw(t, "change") {
			case 0:
				values[i] = mul(values[i], rapid.IntRange(-3, 3).Draw(t, "factor"))
			case 1:
				values[i] = add(values[i], mul(values[rapid.IntRange(0, len(values)-1).Draw(t, "of")], rapid.IntRange(1, 12).Draw(t, "factor")))
			case 2:
				values[i] = div(values[i], rapid.IntRange(1, 4).Draw(t, "divisor"))
			}
		}
		m, err := arith.DetectIterMap(nil, n.d, values)
		if err != nil {
			return
		}
		box, err := m.Box()
		if err != nil {
			return
		}
		found++
		taken := map[string]bool{}
		for _, p := range points(n.d, values) {
			taken[p] = true
		}
		want := map[string]bool{}
		at := make([]int64, len(box))
		var walk func(i int)
		walk = func(i int) {
			if i == len(box) {
				want[fmt.Sprint(at)] = true
				return
			}
			lo, ok := tir.AsInt(box[i].Min)
			extent, ok2 := tir.AsInt(box[i].Extent)
			if !ok || !ok2 {
				t.Fatalf("box %d of %s is not constant", i, n)
			}
			for k := range extent {
				at[i] = lo + k
				walk(i + 1)
			}
		}
		walk(0)
		require.Equal(t, want, taken, "%s", n)
	})
	require.NotZero(t, found)
}
