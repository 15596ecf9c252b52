package transform

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

var (
	seeds = flag.Int("seeds", 150, "random graphs for each pass")
	seed0 = flag.Uint64("seed", 1, "of the first random graph")
)

// looksFor names the patterns of relaygen that a pass is drawn with; others get the pattern of their own name.
var looksFor = map[string][]string{"infer-type": relaygen.Patterns(), "fuse-ops": relaygen.Patterns()}

// TestEachPassKeepsAnswers runs each pass alone on random graphs of all operators, and of the patterns that it looks for and
// near misses of them; in every fourth graph some of them are in branches and loops.
func TestEachPassKeepsAnswers(t *testing.T) {
	for _, p := range Passes() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			patterns := looksFor[p.Name]
			if slices.Contains(relaygen.Patterns(), p.Name) {
				patterns = append(patterns, p.Name)
			}
			changed, unstable := 0, 0
			for i := range *seeds {
				seed := *seed0 + uint64(i)
				o := relaygen.Options{Operators: 2 + i%9, Patterns: patterns, Regions: i%4 == 1}
				if i%3 != 0 { // among others
					o.Rows = relaygen.Operators()
				}
				before := relaygen.Module(relay.Core(), relaygen.Seeded(seed), o)
				if p.Name == "fuse-blocks" { // it joins functions
					fused, err := Run(context.Background(), before, only("fuse-ops"), &Options{Ops: relay.Core()})
					require.NoError(t, err)
					before = fused
				}
				after, ok := keepsAnswers(t, before, []Pass{p}, seed)
				if !ok {
					unstable++
				}
				if relay.Print(before) != relay.Print(after) {
					changed++
				}
			}
			t.Logf("%d of %d graphs changed, %d were unstable", changed, *seeds, unstable)
			require.Less(t, 10*unstable, 3**seeds, "too many graphs whose answer hangs on a rounding")
			if p.Name != "infer-type" {
				require.Greater(t, 25*changed, *seeds, "the pass finds too little")
			}
		})
	}
}

// TestAllPassesKeepAnswers runs all passes on random graphs.
func TestAllPassesKeepAnswers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") }
		o := relaygen.Options{Operators: rapid.IntRange(1, 14).Draw(rt, "operators"), Rows: relaygen.Operators(), Patterns: relaygen.Patterns(),
			Regions: rapid.Bool().Draw(rt, "regions")}
		keepsAnswers(rt, relaygen.Module(relay.Core(), choose, o), Passes(), 1)
	})
}

// only is the pass of a name.
func only(name string) []Pass {
	return slices.DeleteFunc(Passes(), func(p Pass) bool { return p.Name != name })
}

// keepsAnswers runs passes on a graph and compares its answers before and after. It reports false where the answer hangs on
// how a number is rounded, so that a comparison says nothing.
func keepsAnswers(t require.TestingT, before *relay.Module, passes []Pass, seed uint64) (after *relay.Module, ok bool) {
	host, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	o := &Options{Ops: relay.Core(), Notes: &diag.Notes{}, Target: host, Candidates: channelsLast, Verify: true, FastMath: seed%2 == 0}
	switch passes[0].Name {
	case "combine-parallel":
		o.Candidates = narrowIsDear
	case "split-args": // a kernel takes two tensors
		o.Target = &target.Target{Kind: target.GPU, GPU: &target.GPULimits{MaxArguments: 10}}
	}
	after, err = Run(context.Background(), before, passes, o)
	where := fmt.Sprintf("seed %d", seed)
	require.NoError(t, err, "%s\n%s", where, relay.Print(before))
	args := relaygen.Inputs(before.Main(), seed)
	want := answers(t, before, args)
	shaken := answers(t, shake(before, seed), args)
	got := answers(t, after, args)
	require.Len(t, got, len(want))
	ok = true
	coarse := coarsest(before)
	for i, w := range want {
		require.Equal(t, w.Shape, got[i].Shape, where)
		require.Equal(t, w.DType, got[i].DType, where)
		rtol, atol := tensor.Tolerance(coarse, 256) // constants are rounded where operators were before
		most := largest(w)
		atol = max(atol, rtol*most)
		if d := tensor.Compare(shaken[i], w, 0, 0); w.DType.IsFloat() && d.MaxAbs <= 1e-2*max(most, 1e-3) && largest(shaken[i]) <= 2*most+1 {
			atol = max(atol, 16*d.MaxAbs)
		} else if d.Outside > 0 {
			ok = false
			continue
		}
		if slices.ContainsFunc(passes, func(p Pass) bool { return strings.HasPrefix(p.Name, "recognize-") }) {
			forgive(got[i], w)
		}
		d := tensor.Compare(got[i], w, rtol, atol)
		require.Zero(t, d.Outside, "%s: output %d: %+v\nbefore\n%s\nafter\n%s", where, i, d, relay.Print(before), relay.Print(after))
	}
	return after, ok
}

func answers(t require.TestingT, m *relay.Module, args []*tensor.Tensor) []*tensor.Wide {
	list, err := eval.Tensors(context.Background(), m.Main(), args)
	require.NoError(t, err, relay.Print(m))
	wide := make([]*tensor.Wide, len(list))
	for i := range list {
		wide[i] = tensor.Widen(list[i])
	}
	return wide
}

// largest is the largest magnitude of a finite element.
func largest(w *tensor.Wide) float64 {
	most := 0.0
	for _, v := range w.F {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			most = max(most, math.Abs(v))
		}
	}
	return most
}

// coarsest is the type of a module's floats that rounds most.
func coarsest(m *relay.Module) tensor.DType {
	coarse := tensor.Float64
	for e := range relay.PostOrder(m.Main(), true) {
		if t := relay.Tensor(e); t != nil && t.DType.IsFloat() && !t.DType.IsStorage() && tensor.Epsilon(t.DType) > tensor.Epsilon(coarse) {
			coarse = t.DType
		}
	}
	return coarse
}

// forgive takes over what is no number: written out, swish of -∞ is -∞ · 0, as one operator it is the limit.
func forgive(got, want *tensor.Wide) {
	for i, v := range want.F {
		if math.IsNaN(v) {
			got.F[i] = v
		}
	}
}

// shake returns the module with each value of a call moved by about a rounding of its type: what changes much by that hangs
// on roundings.
func shake(m *relay.Module, seed uint64) *relay.Module {
	r := rand.New(rand.NewPCG(seed, 9))
	var shaken func(f *relay.Function) (relay.Expr, error)
	shaken = func(f *relay.Function) (relay.Expr, error) {
		return relay.Rewrite(f, func(old, e relay.Expr) (relay.Expr, error) {
			if fn, ok := e.(*relay.Function); ok && old != relay.Expr(f) {
				return shaken(fn)
			}
			c, ok := e.(*relay.Call)
			t := relay.Tensor(e)
			if !ok || c.Op == nil || t == nil || !t.DType.IsFloat() || t.DType.IsStorage() {
				return e, nil
			}
			w := tensor.NewWide(t.DType, t.Shape)
			for i := range w.F {
				w.F[i] = 1 + tensor.Epsilon(t.DType)*float64(r.IntN(3)-1)
			}
			factor := relay.NewConstant(w.Narrow(), "", e.Pos())
			return relay.NewCall(relay.Core().Lookup("multiply"), []relay.Expr{e, factor}, nil, e.Pos())
		})
	}
	main, err := shaken(m.Main())
	if err != nil {
		panic(err)
	}
	return m.WithMain(main.(*relay.Function))
}

// TestRunRefusesUnknownPasses names the pass.
func TestRunRefusesUnknownPasses(t *testing.T) {
	g := newGraph(t)
	m := g.module(g.call("exp", nil, g.input("x", 2)))
	_, err := Run(context.Background(), m, Passes(), &Options{Ops: g.ops, Stop: "fuse"})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, `fuse: is no graph pass`)
}

// TestRunStartsStopsAndObserves sees exactly the passes asked for.
func TestRunStartsStopsAndObserves(t *testing.T) {
	g := newGraph(t)
	m := g.module(g.call("exp", nil, g.input("x", 2)))
	var seen []string
	o := &Options{Ops: g.ops, Start: "fold-constants", Stop: "simplify-expr", Observe: func(i int, p Pass, m *relay.Module) error {
		seen = append(seen, fmt.Sprintf("%d %s", i, p.Name))
		return nil
	}}
	_, err := Run(context.Background(), m, Passes(), o)
	require.NoError(t, err)
	require.Equal(t, []string{"3 fold-constants", "4 canonicalize", "5 simplify-expr"}, seen)
}
