package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/transform"
)

// TestAttention goes through tiles that are full and cut off, operands either way round, batch axes that broadcast, and masks.
func TestAttention(t *testing.T) {
	none := func(i int, w *tensor.Wide) {
		if i == 3 {
			clear(w.F)
		}
	}
	taken := func(i int, w *tensor.Wide) { // every third key is taken away
		for j := range w.F {
			if i == 3 && j%3 == 1 {
				w.F[j] = math.Inf(-1)
			}
		}
	}
	scale := &relay.AttentionAttrs{Scale: 0.25}
	cases := []opCase{
		{op: "nn.attention", attrs: scale, in: one(f32(2, 3, 6, 8), f32(2, 3, 33, 8), f32(2, 3, 33, 16), f32(1)), fill: none},
		{op: "nn.attention", attrs: scale, in: one(f32(2, 29, 5), f32(2, 29, 5), f32(2, 29, 13), f32(29, 29)), fill: taken},
		{op: "nn.attention", attrs: scale, in: one(f32(2, 1, 7, 4), f32(3, 16, 4), f32(16, 24), f32(2, 1, 1, 16)), fill: taken},
		{op: "nn.attention", attrs: scale, in: one(f32(3, 1, 5), f32(3, 20, 5), f32(3, 20, 4), f32(3, 1, 1))},
		{op: "nn.attention", attrs: scale, in: one(f32(4, 1), f32(3, 1), f32(3, 2), f32())},
		{op: "nn.attention", attrs: scale, in: one(f32(0, 4), f32(3, 4), f32(3, 2), f32())},
		{op: "nn.attention", attrs: scale, in: one(f32(4, 0), f32(30, 0), f32(30, 20), f32())},
		{op: "nn.attention", attrs: scale, in: one(typ(tensor.Float16, 9, 8), typ(tensor.Float16, 40, 8), typ(tensor.Float16, 40, 8), typ(tensor.Float16))},
		{op: "nn.attention", attrs: scale, in: one(typ(tensor.Float64, 9, 8), typ(tensor.Float64, 40, 8), typ(tensor.Float64, 40, 8), typ(tensor.Float64, 40))},
	}
	for n := range 8 {
		turned := &relay.AttentionAttrs{Scale: -0.5, TransposeQ: n&1 > 0, TransposeK: n&2 > 0, TransposeV: n&4 > 0}
		shape := func(rows, columns int, turn bool) *relay.TensorType {
			if turn {
				rows, columns = columns, rows
			}
			return f32(2, rows, columns)
		}
		cases = append(cases, opCase{op: "nn.attention", attrs: turned, in: one(shape(14, 6, turned.TransposeQ), shape(35, 6, turned.TransposeK), shape(35, 20, turned.TransposeV), f32())})
	}
	runCases(t, cases)
}

// TestAttentionHoldsNoScores looks at what is in memory as a whole: panels, never the scores.
func TestAttentionHoldsNoScores(t *testing.T) {
	for _, name := range []string{"x86-64-v3", "x86-64-v4", "cortex-a55", "cortex-a76"} {
		h, err := target.Parse(name)
		require.NoError(t, err)
		for _, places := range []int{17, 50, 197, 1024} {
			c := opCase{op: "nn.attention", attrs: &relay.AttentionAttrs{Scale: 0.125}, in: one(f32(1, 6, places, 64), f32(1, 6, places, 64), f32(1, 6, places, 64), f32())}
			fn, err := c.function()
			require.NoError(t, err)
			r, err := Func(fn, "attention", Core(), h, nil)
			require.NoError(t, err)
			where := fmt.Sprintf("%d places on %s", places, name)
			require.Equal(t, "cpu-attention", r.Rule, where)
			kernels, _, err := transform.Lower(r.Func, transform.Options{})
			require.NoError(t, err, where)
			require.Len(t, kernels, 3, where)
			for _, b := range r.Func.Root().Allocs {
				if b.Scope == tir.Global {
					require.Less(t, tensor.Shape(b.Shape).Elems(), 6*(places+64)*80, "%s: %s", where, b.Name)
				}
			}
			if places < 64 {
				rng := rand.New(rand.NewPCG(1, 2))
				require.NoError(t, check(fn, c.inputs(rng), h), where)
				require.NoError(t, replays(fn, r, h))
			}
		}
	}
}

// TestRandomAttention draws extents around those of tiles, with what stands before and behind an attention in its function.
func TestRandomAttention(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 12
	}
	names := []string{"x86-64-v3", "x86-64-v4", "cortex-a55", "cortex-a76"}
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 3))
		b := &builder{rng: rng}
		h, err := target.Parse(names[rng.IntN(len(names))])
		require.NoError(t, err)
		a := &relay.AttentionAttrs{Scale: 0.5, TransposeQ: rng.IntN(4) == 0, TransposeK: rng.IntN(2) == 0, TransposeV: rng.IntN(4) == 0}
		m, keys, d, e := 1+rng.IntN(40), 1+rng.IntN(70), 1+rng.IntN(12), 1+rng.IntN(40)
		batch := tensor.Shape{1 + rng.IntN(2), 1 + rng.IntN(3)}[rng.IntN(3):]
		matrices := func(rows, columns int, turned bool) relay.Expr {
			if turned {
				rows, columns = columns, rows
			}
			shape := append(batch.Clone(), rows, columns)
			if rank := len(shape); rank > 2 && rng.IntN(2) == 0 { // heads behind places
				axes := make([]int, rank)
				for i := range axes {
					axes[i] = i
				}
				axes[rank-2], axes[rank-3] = rank-3, rank-2
				shape[rank-2], shape[rank-3] = shape[rank-3], shape[rank-2]
				return b.call("transpose", &relay.TransposeAttrs{Axes: axes}, b.param(shape))
			}
			if rng.IntN(3) == 0 {
				return b.call("nn.relu", nil, b.param(shape))
			}
			return b.param(shape)
		}
		mask := relay.Expr(relay.NewConstant(tensor.Of(tensor.Float32, tensor.Shape{}, float32(0)), "", diag.Pos{}))
		switch rng.IntN(3) {
		case 0:
			mask = b.param(tensor.Shape{m, keys})
		case 1:
			mask = b.param(append(batch.Clone(), 1, keys))
		}
		y := b.call("nn.attention", a, matrices(m, d, a.TransposeQ), matrices(keys, d, a.TransposeK), matrices(keys, e, a.TransposeV), mask)
		if rng.IntN(2) == 0 {
			y = b.call("add", nil, y, b.param(append(batch.Clone(), m, e)[rng.IntN(len(batch)+2):]))
		}
		fn := relay.NewFunction(b.params, y, true, nil, diag.Pos{})
		in := make([]*tensor.Tensor, len(fn.Params))
		for i, p := range fn.Params {
			in[i] = randomWide(rng, relay.Tensor(p)).Narrow()
		}
		require.NoError(t, check(fn, in, h), "seed %d on %s: %s", seed, h.Name, relay.PrintFunction("f", fn))
		if seed < 6 {
			r, err := Func(fn, "attention", Core(), h, nil)
			require.NoError(t, err)
			require.NoError(t, replays(fn, r, h))
		}
	}
}
