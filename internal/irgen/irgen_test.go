package irgen_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
)

var all = irgen.Options{Tuples: true, Scans: true, Rounded: true}

// check verifies a function, parses its text, and runs its block form and its kernels.
func check(f *tir.Func, seed uint64) error {
	text := tirtext.Print(f)
	if err := verify.Verify(f); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	again, err := tirtext.Parse("f", text)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	if tirtext.Print(again) != text {
		return fmt.Errorf("the text is not stable:\n%s", text)
	}
	ctx := context.Background()
	want, args := irgen.Args(f, seed), irgen.Args(f, seed)
	given := map[*tir.Buffer]*tensor.Tensor{}
	for i, b := range f.Params {
		given[b] = args[i]
	}
	if err := interp.Run(ctx, f, want, interp.Options{}); err != nil {
		return fmt.Errorf("block form: %w\n%s", err, text)
	}
	kernels, _, err := transform.Lower(f, transform.Options{})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	if err := interp.RunKernels(ctx, kernels, given, interp.Options{Races: true}); err != nil {
		return fmt.Errorf("kernels: %w\n%s", err, text)
	}
	for i, b := range f.Params {
		if string(want[i].Data) != string(args[i].Data) {
			return fmt.Errorf("%s differs\n%s", b.Name, text)
		}
	}
	return nil
}

// Random definitions are legal, have a stable text, and their kernels compute what their blocks compute.
func TestFunctionsAreLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := irgen.Func(t, all)
		if err := check(f, 1); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSeedsAreLegal(t *testing.T) {
	start := time.Now()
	for seed := range uint64(1000) {
		require.NoError(t, check(irgen.Make(irgen.Seed(seed), all), seed), "seed %d", seed)
	}
	t.Logf("%v a function", time.Since(start)/1000)
}

// Functions without Rounded are exact: one whose reductions run backwards gives the same numbers, and so does one computed
// in float64 throughout.
func TestResultsAreExact(t *testing.T) {
	small := irgen.Options{Tuples: true, Scans: true}
	wide := small
	wide.Types = []tensor.DType{tensor.Float64, tensor.BFloat16, tensor.Float16, tensor.Int64, tensor.Int16, tensor.Uint8, tensor.Uint32, tensor.Float32}
	ctx := context.Background()
	for seed := range uint64(1000) {
		f := irgen.Make(irgen.Seed(seed), []irgen.Options{small, wide}[seed%2])
		want := irgen.Args(f, seed)
		require.NoError(t, interp.Run(ctx, f, want, interp.Options{}))
		same := func(g *tir.Func, o interp.Options, how string) {
			got := irgen.Args(f, seed)
			require.NoError(t, interp.Run(ctx, g, got, o))
			for i, b := range f.Params {
				require.NoError(t, numtest.Compare(got[i], want[i], numtest.Tolerance{}), "seed %d, %s: %s differs\n%s", seed, how, b.Name, tirtext.Print(f))
			}
		}
		same(backwards(t, f), interp.Options{}, "backwards")
		same(f, interp.Options{Float64: true}, "in float64")
	}
}

// backwards reverses the order of reduce instances.
func backwards(t *testing.T, f *tir.Func) *tir.Func {
	m := &tir.Mapper{Stmt: func(s tir.Stmt) tir.Stmt {
		r, ok := s.(*tir.BlockRealize)
		if !ok || r.Block.Init == nil {
			return s
		}
		b := *r.Block
		to := map[*tir.Var]tir.Expr{}
		for _, iv := range b.Iters {
			if iv.Kind == tir.Reduce {
				to[iv.Var] = tir.Minus(tir.I(iv.Extent-1), iv.Var)
			}
		}
		b.Body = tir.SubstStmt(b.Body, to)
		b.Reads, b.Writes = tir.Accesses(&b)
		return &tir.BlockRealize{Values: r.Values, Where: r.Where, Block: &b}
	}}
	c := *f
	c.Body = m.MapStmt(f.Body)
	require.NoError(t, verify.Verify(&c))
	return &c
}

// Functions stay small, and cover what they are to cover.
func TestCoverage(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(2000) {
		f := irgen.Make(rand.New(rand.NewPCG(seed, 7)), all)
		if f.Outputs > 1 {
			seen["several outputs"]++
		}
		readers := map[*tir.Buffer]int{}
		tir.Walk(f.Body, func(n any) bool {
			switch n := n.(type) {
			case *tir.BlockRealize:
				points := 1
				for _, iv := range n.Block.Iters {
					points *= iv.Extent
					seen[iv.Kind.String()]++
				}
				require.LessOrEqual(t, points, 2000, "%s\n%s", n.Block.Name, tirtext.Print(f))
				if len(n.Block.Writes) > 1 && n.Block.Init != nil {
					seen["tuple"]++
				}
				for _, r := range n.Block.Reads {
					if readers[r.Buffer]++; readers[r.Buffer] > 1 {
						seen["several consumers"]++
					}
				}
			case *tir.If:
				seen["where"]++
			case *tir.Select:
				seen["select"]++
			case *tir.Load:
				seen[n.Buffer.DType.String()]++
				for _, i := range n.Indices {
					tir.Walk(i, func(m any) bool {
						if _, ok := m.(*tir.Load); ok {
							seen["gather"]++
						}
						return true
					})
				}
			case *tir.Binary:
				seen[n.Op.String()]++
			}
			return true
		})
	}
	for _, what := range []string{"several outputs", "several consumers", "tuple", "where", "select", "gather", "float32", "float16", "int32", "int8",
		"spatial", "reduce", "ordered", "//", "%%", "max", "min", "^", "|"} {
		require.Greater(t, seen[what], 50, what)
	}
}
