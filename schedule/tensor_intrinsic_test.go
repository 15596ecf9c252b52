package schedule_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
)

// TestIntrinsicsDoAsDescribed runs description and implementation of each built-in instruction on the same operands: small
// numbers, whose sums are exact, and the ends of the integer types.
func TestIntrinsicsDoAsDescribed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, i := range schedule.Intrinsics() {
		for range 20 {
			a, b := operandsOf(i.Description, r), []*tensor.Tensor{}
			for _, x := range a {
				c := tensor.New(x.DType, x.Shape)
				copy(c.Data, x.Data)
				b = append(b, c)
			}
			require.NoError(t, interp.Run(context.Background(), i.Description, a, interp.Options{}))
			require.NoError(t, interp.Run(context.Background(), i.Implementation, b, interp.Options{}))
			require.Equal(t, a, b, i.Name)
		}
	}
}

func operandsOf(f *tir.Func, r *rand.Rand) []*tensor.Tensor {
	var list []*tensor.Tensor
	for _, p := range f.Params {
		x := tensor.Widen(tensor.New(p.DType, p.Shape))
		for n := range x.F {
			x.F[n] = float64(r.IntN(33) - 16)
		}
		for n := range x.I {
			lo, hi := tensor.IntRange(p.DType)
			x.I[n] = []int64{lo, hi, int64(r.IntN(9) - 4)}[r.IntN(3)]
		}
		list = append(list, x.Narrow())
	}
	return list
}

// sum3 is an instruction of a program of its own: with a loop, and a buffer that lives in it.
const sum3 = `func sum3(X: float32[3], out Y: float32[]):
  block root():
    for k in range(0, 3):
      block Y(r: reduce[3] = k):
        reads X[r +: 1]
        writes Y[]
        init:
          Y[] = 0.0
        Y[] = Y[] + X[r]
`

const sum3By = `func sum3(X: float32[3], out Y: float32[]):
  block root():
    block sum3() opaque:
      reads X[0 +: 3]
      writes Y[]
      alloc T: float32[3] local
      for i in range(0, 3):
        let x: float32 = X[i]:
          T[i] = x
      Y[] = T[0] + T[1] + T[2]
`

func intrinsicOf(t *testing.T, name, description, implementation string) schedule.Intrinsic {
	t.Helper()
	d, err := tirtext.Parse(name, description)
	require.NoError(t, err)
	m, err := tirtext.Parse(name, implementation)
	require.NoError(t, err)
	return schedule.Intrinsic{Name: name, Description: d, Implementation: m}
}

// TestOwnIntrinsic tensorizes with an instruction of the options, twice in one function.
func TestOwnIntrinsic(t *testing.T) {
	program := parseTir(t, "sums", `func sums(X: float32[4, 6], out Y: float32[4], out Z: float32[4]):
  block root():
    for i in range(0, 4):
      for k in range(0, 3):
        block Y(v: spatial[4] = i, r: reduce[3] = k):
          reads X[v +: 1, r +: 1]
          writes Y[v +: 1]
          init:
            Y[v] = 0.0
          Y[v] = Y[v] + X[v, r]
    for i@2 in range(0, 4):
      for k@2 in range(0, 3):
        block Z(v@2: spatial[4] = i@2, r@2: reduce[3] = k@2):
          reads X[v@2 +: 1, r@2 + 3 +: 1]
          writes Z[v@2 +: 1]
          init:
            Z[v@2] = 0.0
          Z[v@2] = Z[v@2] + X[v@2, r@2 + 3]
`)
	s := schedule.NewWith(program, schedule.Options{Intrinsics: []schedule.Intrinsic{intrinsicOf(t, "sum3", sum3, sum3By)}})
	for _, name := range []string{"Y", "Z"} {
		s.TensorizeLoop(s.Loops(s.Block(name)).At(1), "sum3")
	}
	require.NoError(t, s.Err())
	require.Contains(t, tirtext.Print(s.Func()), "T1", "the second has a buffer of its own")
	sameResults(t, program, s.Func())

	trace := s.Trace()
	require.ErrorIs(t, schedule.New(program).Replay(trace), diag.ErrInvalid, "without the options there is no such instruction")
}

// TestBadIntrinsics has instructions that are none.
func TestBadIntrinsics(t *testing.T) {
	twoBlocks := "func sum3(X: float32[3], out Y: float32[]):\n  block root():\n    block a():\n      writes Y[]\n      Y[] = 0.0\n    block b():\n      writes Y[]\n      Y[] = 0.0\n"
	other := "func sum3(X: float32[4], out Y: float32[]):\n  block root():\n    block a():\n      writes Y[]\n      Y[] = 0.0\n"
	reads := "func sum3(X: float32[3], out Y: float32[]):\n  block root():\n    block a():\n      writes Y[]\n      Y[] = X[0]\n"
	for what, i := range map[string]schedule.Intrinsic{
		"no implementation": {Name: "sum3"},
		"two blocks":        intrinsicOf(t, "sum3", sum3, twoBlocks),
		"other operands":    intrinsicOf(t, "sum3", sum3, other),
		"not legal":         intrinsicOf(t, "sum3", sum3, reads),
	} {
		s := schedule.NewWith(reluOfProduct(), schedule.Options{Intrinsics: []schedule.Intrinsic{i}})
		before := s.Func()
		s.TensorizeLoop(s.Loops(s.Block("C")).At(2), "sum3")
		require.ErrorIs(t, s.Err(), diag.ErrInvalid, what)
		require.ErrorContains(t, s.Err(), "not well formed", what)
		require.Same(t, before, s.Func(), "a block that was made for the step is gone")
	}
}
