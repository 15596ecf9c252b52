package verify_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/verify"
)

const legal = `func f(A: float32[10, 32], I: int64[10], out C: float32[10]):
  block root():
    alloc T: float32[10] local
    for io in range(0, 3):
      for ii in range(0, 4):
        for k in range(0, 32):
          block T(v: spatial[10] = io * 4 + ii, r: reduce[32] = k) where io * 4 + ii < 10:
            reads A[v +: 1, r +: 1]
            writes T[v +: 1]
            init:
              T[v] = 0.0
            T[v] = T[v] + A[v, r]
    for j in range(0, 10):
      block C(w: spatial[10] = j):
        reads T[max(w - 1, 0) +: 3], I[w +: 1], A[I[w] +: 1, 0 +: 1]
        writes C[w +: 1]
        C[w] = select(0 < w and w < 9, T[w - 1] + T[w + 1], T[w]) + A[I[w], 0]
`

func TestLegal(t *testing.T) {
	f, err := tirtext.Parse("legal", legal)
	require.NoError(t, err)
	require.NoError(t, verify.Verify(f))
}

// nested is a block of tiles whose loops were split: the guards inside keep the accesses within what the tile declares.
const nested = `func f(A: float32[10], out C: float32[10]):
  block root():
    for o in range(0, 3):
      block tile(t: spatial[3] = o):
        reads A[t * 4 +: 4]
        writes C[t * 4 +: 4]
        for i0 in range(0, 2):
          for i1 in range(0, 3):
            block C(v: spatial[10] = t * 4 + i0 * 3 + i1) where i0 * 3 + i1 < 4 and t * 4 + i0 * 3 + i1 < 10:
              reads A[v +: 1]
              writes C[v +: 1]
              C[v] = A[v]
`

const never = `func f(A: float32[4], out C: float32[4]):
  block root():
    for i in range(0, 4):
      block C(v: spatial[4] = i):
        reads A[0 +: 4]
        writes C[v +: 1]
        C[v] = select(v < 4, A[v], A[v + 4])
      if i + i < 2:
        for k in range(0, i):
          block never(w: spatial[4] = k * 9 - 3):
            writes C[0 +: 1]
            C[w * 4] = 0.0
`

func TestNested(t *testing.T) {
	f, err := tirtext.Parse("nested", nested)
	require.NoError(t, err)
	require.NoError(t, verify.Verify(f))
	f, err = tirtext.Parse("dead", strings.Replace(nested, "where i0 * 3 + i1 < 4", "where i0 * 3 + i1 > 5", 1))
	require.NoError(t, err)
	require.NoError(t, verify.Verify(f), "a block that never runs")
	f, err = tirtext.Parse("dead", never)
	require.NoError(t, err)
	require.NoError(t, verify.Verify(f), "a loop and a condition that never run")
	for from, to := range map[string]string{
		"i0 * 3 + i1 < 4 and ":  "",
		"reads A[t * 4 +: 4]":   "reads A[t * 4 +: 3]",
		"writes C[t * 4 +: 4]":  "writes C[t * 4 + 1 +: 4]",
		"where i0 * 3 + i1 < 4": "where i0 * 3 + i1 < 5",
	} {
		f, err := tirtext.Parse("nested", strings.Replace(nested, from, to, 1))
		require.NoError(t, err)
		require.ErrorContains(t, verify.Verify(f), "tile: the block", from)
	}
}

// Each edit of the legal function makes it illegal.
func TestIllegal(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{" where io * 4 + ii < 10", "", "T: the value of v may be outside [0, 10): it is in [0, 11]"},
		{"range(0, 10)", "range(1, 10)", "C: the value of w may be outside [0, 10): it is in [1, 10]"},
		{"reads A[v +: 1, r +: 1]", "reads A[v +: 1, 0 +: 31]", "T: the block reads A outside the regions that it declares"},
		{"writes T[v +: 1]", "writes T[0 +: 9]", "T: the block writes T outside the regions that it declares"},
		{"T[max(w - 1, 0) +: 3]", "T[w +: 2]", "C: the block reads T outside the regions that it declares"},
		{"A[I[w] +: 1, 0 +: 1]", "A[w +: 1, 0 +: 1]", "C: the block reads A outside the regions that it declares"},
		{"            init:\n              T[v] = 0.0\n", "", "T: the block reduces into T, which neither an init nor a block before it writes"},
		{"r: reduce[32]", "r: spatial[32]", "T: the block has an init but no reduce variable"},
		{"        C[w] = select", "        while w < 3:\n          C[w] = select", "C: a while outside an opaque block"},
		{"        C[w] = select", "        allocate U: float32[3]:\n          C[w] = select", "C: an allocation of U outside an opaque block"},
		{"range(0, 3)", "range(0, 3, kind=bound, thread=\"blockIdx.w\")", `io: the loop is bound to "blockIdx.w", which is no grid axis`},
		{"A: float32[10, 32]", "A: float32[10, 32] local", "f: parameter A is in scope local, wanted global or texture"},
		{"T: float32[10] local", "T: float32[10] strides [0] local", "root: strides [0] of buffer T of shape (10,) put two elements in one place"},
		{"for k in range(0, 32)", "for k in range(0, 32, kind=vectorized)", "T: the reduce variable r is driven by loop k, which is vectorized: its iterations are not independent"},
		{"for k in range(0, 32)", "for k in range(0, 32, kind=bound, thread=\"threadIdx.y\")", "T: the reduce variable r is driven by loop k, which is bound to threadIdx.y: its iterations are not independent"},
		{"range(0, 3):\n      for ii in range(0, 4)", "range(0, 3, kind=bound, thread=\"blockIdx.x\"):\n      for ii in range(0, 4, kind=bound, thread=\"blockIdx.x\")",
			"ii: loop ii inside io is bound to blockIdx.x too, with another extent or a body that depends on both"},
		{"range(0, 3):\n      for ii in range(0, 4)", "range(0, 3, kind=bound, thread=\"vthread\"):\n      for ii in range(0, 4, kind=bound, thread=\"vthread\")", ""},
		{"reads A[v +: 1, r +: 1]", "reads A[v +: 1, r +: 1], T[v +: 1]", ""},
		{"range(0, 3)", "range(0, 3, thread=\"blockIdx.x\")", `io: the serial loop names grid axis "blockIdx.x"`},
	} {
		text := strings.Replace(legal, c.from, c.to, 1)
		require.NotEqual(t, legal, text)
		f, err := tirtext.Parse("edited", text)
		require.NoError(t, err, text)
		err = verify.Verify(f)
		if c.want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.EqualError(t, err, "verify: "+c.want)
		require.True(t, errors.Is(err, diag.ErrInvalid))
	}
}

// What the parser refuses too can be built.
func TestMalformed(t *testing.T) {
	out := &tir.Buffer{Name: "C", DType: tensor.Float32, Shape: []int{4}, Scope: tir.Global}
	other := &tir.Buffer{Name: "O", DType: tensor.Float32, Shape: []int{4}, Scope: tir.Global}
	i := tir.NewVar("i")
	one := tir.Const(tensor.Float32, 1)
	wrap := func(s tir.Stmt) *tir.Func {
		return &tir.Func{Name: "f", Params: []*tir.Buffer{out}, Outputs: 1, Body: &tir.BlockRealize{Block: &tir.Block{Name: "root", Body: s}}}
	}
	loop := func(s tir.Stmt) tir.Stmt { return &tir.For{Var: i, Min: tir.I(0), Extent: tir.I(4), Body: s} }
	store := func(b *tir.Buffer, v tir.Expr, idx ...tir.Expr) tir.Stmt {
		return &tir.Store{Buffer: b, Indices: idx, Value: v}
	}
	vector := &tir.Ramp{Base: tir.I(0), Stride: tir.I(1), Lanes: 4}
	for _, c := range []struct {
		f    *tir.Func
		want string
	}{
		{wrap(store(out, one, i)), "root: variable i is not in scope"},
		{wrap(store(other, one, tir.I(0))), "root: buffer O is not in scope"},
		{wrap(&tir.Barrier{Scope: tir.Shared}), "root: a barrier stands in a function; the loop passes put them"},
		{wrap(&tir.BlockRealize{Block: &tir.Block{Name: "b", Reads: []tir.Region{tir.Whole(other)}, Body: store(out, one, tir.I(0))}}),
			"b: a region is of buffer O, which is not in scope"},
		{wrap(store(out, one)), "root: 0 indices for buffer C of shape (4,)"},
		{wrap(store(out, tir.I(1), tir.I(0))), "root: the value stored to C is int64, wanted float32"},
		{wrap(store(out, one, vector)), "root: the value stored to C is float32, wanted float32 of 4 lanes"},
		{wrap(store(out, one, one)), "root: index 0 of C is float32, wanted int64"},
		{wrap(loop(loop(store(out, one, i)))), "root: variable i is declared inside its own scope"},
		{wrap(loop(store(out, &tir.Binary{Op: tir.Add, A: one, B: i}, i))), "root: operands of + are float32 and int64, wanted one type"},
		{wrap(loop(store(out, &tir.Call{Fn: tir.Pow, Args: []tir.Expr{one}}, i))), "root: pow has 1 arguments, wanted 2"},
		{wrap(loop(store(out, &tir.Call{Fn: tir.Bits, Args: []tir.Expr{i}}, i))), "root: bits of int64"},
		{wrap(&tir.Seq{}), "root: output C is never written"},
		{wrap(nil), "root: the block has no body"},
		{wrap(&tir.If{Cond: tir.I(1), Then: store(out, one, tir.I(0))}), "root: a condition is int64, wanted bool"},
		{&tir.Func{Name: "f", Params: []*tir.Buffer{out}, Outputs: 2}, "f: 2 outputs of 1 parameters"},
		{&tir.Func{Name: "f", Params: []*tir.Buffer{out}, Outputs: 1, Body: store(out, one, tir.I(0))},
			"f: the body is no root block without iteration variables, condition and init; wanted \"block root():\" around all statements"},
	} {
		require.EqualError(t, verify.Verify(c.f), "verify: "+c.want)
	}
}
