package study_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/study"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/proof"
	"github.com/texel-ml/texel/tir/tirtext"
)

// program is two stages after a product: R = max(A·B, 0) · 0.3 + E.
func program() *tir.Func {
	a, b := te.Placeholder("A", tensor.Float32, 24, 40), te.Placeholder("B", tensor.Float32, 40, 16)
	e := te.Placeholder("E", tensor.Float32, 24, 16)
	c := te.Sum("C", tensor.Float32, []int{24, 16}, []int{40}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
	d := te.Compute("D", tensor.Float32, []int{24, 16}, func(i []tir.Expr) tir.Expr {
		return tir.Times(tir.Bin(tir.Max, c.At(i...), tir.Const(tensor.Float32, 0)), tir.Const(tensor.Float32, 0.3))
	})
	r := te.Compute("R", tensor.Float32, []int{24, 16}, func(i []tir.Expr) tir.Expr { return tir.Plus(d.At(i...), e.At(i...)) })
	return te.Func("f", []*te.Tensor{a, b, e}, []*te.Tensor{r}, c, d)
}

func parse(t *testing.T, text string) *schedule.Trace {
	t.Helper()
	trace, err := schedule.ParseTrace("trace", text)
	require.NoError(t, err)
	return trace
}

const steps = `
b0 = get_block("C")
l0, l1, l2 = get_loops(b0)
l3, l4 = split(l0, [0, 8])
l5, l6 = split(l1, [0, 8])
l7, l8 = split(l2, [0, 4])
reorder(l3, l5, l7, l4, l8, l6)
parallel(l3)
b1 = get_block("D")
l9, l10 = get_loops(b1)
unsafe_set_dtype(b1, 0, "float16")
l11, l12 = split(l10, [0, 4])
vectorize(l12)
vectorize(l6)
`

func TestBisectFindsTheStepThatRounds(t *testing.T) {
	first, err := study.Bisect(context.Background(), program(), parse(t, steps), study.Options{})
	require.NoError(t, err)
	require.Equal(t, 10, first.Number)
	require.Equal(t, `unsafe_set_dtype(b1, 0, "float16")`, first.Step.String())
	require.Equal(t, study.Differs, first.Fault.Kind)
	require.ErrorIs(t, first.Fault, diag.ErrNumeric)
	require.NotContains(t, tirtext.Print(first.Before), "float16")
	require.Contains(t, tirtext.Print(first.After), "float16")
}

func TestBisectFindsNothingInLegalSteps(t *testing.T) {
	first, err := study.Bisect(context.Background(), program(), parse(t, "b0 = get_block(\"C\")\nl0, l1, l2 = get_loops(b0)\nl3, l4 = split(l0, [0, 7])\nreorder(l2, l4)"), study.Options{})
	require.NoError(t, err)
	require.Nil(t, first)
}

func TestBisectFindsTheRefusedStep(t *testing.T) {
	first, err := study.Bisect(context.Background(), program(), parse(t, "b0 = get_block(\"C\")\nl0, l1, l2 = get_loops(b0)\nparallel(l0)\nvectorize(l2)\n"), study.Options{})
	require.NoError(t, err)
	require.Equal(t, 4, first.Number)
	require.Equal(t, study.Refused, first.Fault.Kind)
	require.Nil(t, first.After)
}

// TestBisectOfLoadedIndices has a function that reads where another input says: the inputs that are drawn are legal.
func TestBisectOfLoadedIndices(t *testing.T) {
	f, err := tirtext.Parse("gather", `func gather(X: float32[10], I: int64[10], out Y: float32[10]):
  block root():
    for i in range(0, 10):
      block Y(v: spatial[10] = i):
        reads I[v +: 1], X[0 +: 10]
        writes Y[v +: 1]
        Y[v] = X[I[v]]
`)
	require.NoError(t, err)
	first, err := study.Bisect(context.Background(), f, parse(t, "b0 = get_block(\"Y\")\nl0 = get_loops(b0)\nl1, l2 = split(l0, [0, 4])\nvectorize(l2)\n"), study.Options{})
	require.NoError(t, err)
	require.Nil(t, first)
}

// TestBisectFindsTheLineThatIsWrong has steps that can be taken, whose lines are wrong: too few results are named, or an
// operand is too many.
func TestBisectFindsTheLineThatIsWrong(t *testing.T) {
	for text, want := range map[string]int{
		"get_block(\"C\")":                                     1,
		"b0 = get_block(\"C\")\nl0 = get_loops(b0)":            2,
		"b0 = get_block(\"C\")\nb0 = get_block(\"D\")\n":       2,
		"b0 = get_block(\"C\", 1)\nl0, l1, l2 = get_loops(b0)": 1,
		"b0 = get_block(\"X\")":                                1,
	} {
		first, err := study.Bisect(context.Background(), program(), parse(t, text), study.Options{})
		require.NoError(t, err, text)
		require.Equal(t, want, first.Number, text)
		require.Equal(t, study.Refused, first.Fault.Kind, text)
		require.Nil(t, first.After, text)
	}
}

// TestBisectFindsTheStepThatIsUnproven has a step whose result is the same only by the numbers of this program: the sum of
// v = 1 begins behind its first instance, and what it goes on from happens to be the initial value.
func TestBisectFindsTheStepThatIsUnproven(t *testing.T) {
	f, err := tirtext.Parse("late", `func late(X: int32[2], out Y: int32[2]):
  block root():
    for i in range(0, 2):
      block F(v: spatial[2] = i):
        writes Y[v +: 1]
        Y[v] = 1_int32
    for i in range(0, 2):
      for k in range(i, 2):
        block S(v: spatial[2] = i, r: reduce[3] = k):
          reads X[v +: 1]
          writes Y[v +: 1]
          init:
            Y[v] = 1_int32
          Y[v] = Y[v] + X[v]
`)
	require.NoError(t, err)
	first, err := study.Bisect(context.Background(), f, parse(t, "b0 = get_block(\"S\")\nl0, l1 = get_loops(b0)\nb1 = decompose_reduction(b0, l0)\n"), study.Options{})
	require.NoError(t, err)
	require.Equal(t, 3, first.Number)
	require.Equal(t, study.Unsound, first.Fault.Kind)
	require.ErrorIs(t, first.Fault, diag.ErrInvalid)
	require.ErrorContains(t, first.Fault, "unsound: prove: the function would not mean the same: cover of S_init begins S")
}

// TestBisectOfAProgramThatIsUnproven has programs that do not fulfil all that is claimed of a function themselves: steps that
// leave them as they are have no fault.
func TestBisectOfAProgramThatIsUnproven(t *testing.T) {
	unproven := 0
	for name, block := range map[string]string{"ahead": "Y", "between": "add", "carried": "Y", "cell": "C", "overwritten": "Y", "product": "C"} {
		f, err := tirtext.Parse(name, read(t, "../testdata/programs/"+name+".tir"))
		require.NoError(t, err)
		for _, o := range schedule.Obligations(f, f, f) {
			if o.Check() != nil {
				unproven++
				break
			}
		}
		first, err := study.Bisect(context.Background(), f, parse(t, "b0 = get_block(\""+block+"\")"), study.Options{})
		require.NoError(t, err, name)
		require.Nil(t, first, name)
	}
	require.Equal(t, 5, unproven)
}

// wrongVectors is a back end that computes functions with vectorized reductions' stores one too high.
func wrongVectors(ctx context.Context, f *tir.Func, args []*tensor.Tensor) error {
	if err := interp.Run(ctx, f, args, interp.Options{}); err != nil {
		return err
	}
	tir.Walk(f.Body, func(n any) bool {
		if l, ok := n.(*tir.For); ok && l.Kind == tir.Vectorized {
			tensor.View[float32](args[len(args)-1])[0]++
		}
		return true
	})
	return nil
}

func TestReduceShrinksABackEndsFault(t *testing.T) {
	r, err := study.Reduce(context.Background(), program(), parse(t, steps), study.Options{Run: wrongVectors, Tolerance: 0.01})
	require.NoError(t, err)
	require.Equal(t, study.Differs, r.Fault.Kind)
	t.Logf("%d tries\n%s%s", r.Tries, r.Trace, tirtext.Print(r.Program))
	require.LessOrEqual(t, len(r.Trace.Steps), 3)
	require.Contains(t, r.Trace.String(), "vectorize")
	require.NotContains(t, tirtext.Print(r.Program), "block R", "one stage is enough")
	require.NotContains(t, tirtext.Print(r.Program), "block D", "one stage is enough")
	for _, p := range r.Program.Params {
		require.LessOrEqual(t, p.Elems(), 2)
	}
	again, err := study.Reduce(context.Background(), r.Program, r.Trace, study.Options{Run: wrongVectors, Tolerance: 0.01})
	require.NoError(t, err)
	require.Equal(t, r.Trace.String(), again.Trace.String())
}

func TestReduceShrinksARefusal(t *testing.T) {
	r, err := study.Reduce(context.Background(), program(), parse(t, steps+"l13, l14 = split(l7, [3, 3])\n"), study.Options{Tolerance: 0.01})
	require.NoError(t, err)
	require.Equal(t, study.Refused, r.Fault.Kind)
	t.Logf("%d tries\n%s%s", r.Tries, r.Trace, tirtext.Print(r.Program))
	require.LessOrEqual(t, len(r.Trace.Steps), 3)
	require.Equal(t, "split", r.Trace.Steps[len(r.Trace.Steps)-1].Name)
}

func TestReduceWantsAFault(t *testing.T) {
	_, err := study.Reduce(context.Background(), program(), parse(t, "b0 = get_block(\"C\")"), study.Options{})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, "nothing fails")
}

func TestToolsStopWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := study.Bisect(ctx, program(), parse(t, steps), study.Options{})
	require.True(t, errors.Is(err, context.Canceled), "%v", err)
	_, err = study.Reduce(ctx, program(), parse(t, steps), study.Options{})
	require.True(t, errors.Is(err, context.Canceled), "%v", err)
}

// What --certify prints of the pages' traces is read back and decided by the checker alone.
func TestClaimsOfPagesAreReadBack(t *testing.T) {
	traces, err := filepath.Glob("../../docs/schedules/*/*.trace")
	require.NoError(t, err)
	require.NotEmpty(t, traces)
	programs := map[string]string{"adaptive-pooling": "global-56", "im2col": "conv2d", "output-split": "matmul-113"}
	for _, path := range traces {
		dir, name := filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), ".trace")
		if filepath.Base(dir) == "faults" { // wrong on purpose
			continue
		}
		program := filepath.Base(dir)
		if other := programs[program]; other != "" {
			program = other
		}
		if _, err := os.Stat(filepath.Join(dir, name+".tir")); err == nil {
			program = name
		}
		t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
			f, err := tirtext.Parse(program+".tir", read(t, filepath.Join(dir, program+".tir")))
			require.NoError(t, err)
			taken, err := study.Follow(f, parse(t, read(t, path)), study.Options{})
			require.NoError(t, err)
			claims := 0
			for _, step := range taken {
				for _, c := range step.Claims {
					again, err := proof.Parse(c.String())
					require.NoError(t, err, c)
					require.NoError(t, proof.Check(again), c)
					claims++
				}
			}
			require.NotZero(t, claims)
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
