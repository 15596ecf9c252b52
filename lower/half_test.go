package lower

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// halfProducts are products whose data, weight or both are kept in half precision, and whose result is float32.
func halfProducts(data, weight tensor.DType) []opCase {
	x, w := func(s ...int) *relay.TensorType { return typ(data, s...) }, func(s ...int) *relay.TensorType { return typ(weight, s...) }
	conv := func(stride, pad, groups int, kernel string) *relay.ConvAttrs {
		return &relay.ConvAttrs{Strides: []int{stride, stride}, Padding: []int{pad, pad, pad, pad}, Dilation: []int{1, 1}, Groups: groups,
			DataLayout: "NHWC", KernelLayout: kernel, OutDType: tensor.Float32}
	}
	transposed := func(stride int, window int) *relay.ConvTransposeAttrs {
		return &relay.ConvTransposeAttrs{Strides: []int{stride, stride}, Padding: []int{1, 1, 0, 0}, OutputPadding: []int{0, 0}, Dilation: []int{1, 1},
			Groups: 1, DataLayout: "NHWC", KernelLayout: "HWIO", OutDType: tensor.Float32}
	}
	matmul := func(a, b bool) *relay.MatmulAttrs {
		return &relay.MatmulAttrs{TransposeA: a, TransposeB: b, OutDType: tensor.Float32}
	}
	dense := func(layout string) *relay.DenseAttrs {
		return &relay.DenseAttrs{WeightLayout: layout, OutDType: tensor.Float32}
	}
	return []opCase{
		{op: "nn.conv2d", attrs: conv(1, 0, 1, "OHWI32o"), in: one(x(1, 14, 14, 40), w(3, 1, 1, 40, 32))},
		{op: "nn.conv2d", attrs: conv(1, 0, 1, "OHWI16o"), in: one(x(1, 9, 9, 17), w(1, 1, 1, 17, 16))}, // one panel: widened a tile
		{op: "nn.conv2d", attrs: conv(2, 0, 1, "OHWI32o"), in: one(x(1, 15, 14, 24), w(2, 1, 1, 24, 32))},
		{op: "nn.conv2d", attrs: conv(1, 1, 1, "OHWI32o"), in: one(x(2, 7, 8, 24), w(9, 3, 3, 24, 32))},
		{op: "nn.conv2d", attrs: conv(2, 0, 1, "OHWI16o"), in: one(x(1, 15, 14, 5), w(2, 3, 1, 5, 16))},
		{op: "nn.conv2d", attrs: conv(1, 1, 32, "OHWI16o"), in: one(x(1, 9, 14, 32), w(2, 3, 3, 1, 16))},
		{op: "nn.conv2d", attrs: conv(1, 1, 4, "OIHW"), in: one(x(1, 6, 5, 8), w(12, 2, 3, 3))},
		{op: "nn.dense", attrs: dense("NK32n"), in: one(x(1, 40), w(3, 40, 32))},
		{op: "nn.dense", attrs: dense("NK32n"), in: one(x(3, 20, 40), w(5, 40, 32))},
		{op: "nn.dense", attrs: dense("NK16n"), in: one(x(1, 60, 120), w(9, 120, 16))},
		{op: "nn.dense", attrs: dense(""), in: one(x(6, 11), w(9, 11))},
		{op: "nn.matmul", attrs: matmul(false, false), in: one(x(40, 20), w(20, 40))},
		{op: "nn.matmul", attrs: matmul(true, true), in: one(x(2, 20, 40), w(2, 40, 20))},
		{op: "nn.matmul", attrs: matmul(false, true), in: one(x(6, 8), w(33, 8))},
		{op: "nn.matmul", attrs: matmul(false, false), in: one(x(3, 2), w(2, 3))},
		{op: "nn.conv2d_transpose", attrs: transposed(2, 3), in: one(x(1, 6, 7, 12), w(3, 3, 12, 20))},
		{op: "nn.conv2d_transpose", attrs: transposed(2, 2), in: one(x(1, 6, 9, 12), w(2, 2, 12, 1))},
	}
}

// TestHalfProducts holds products of every kind against the evaluator, with each operand in each type.
func TestHalfProducts(t *testing.T) {
	for _, types := range [][2]tensor.DType{{tensor.Float16, tensor.Float16}, {tensor.BFloat16, tensor.BFloat16}, {tensor.Float32, tensor.Float16},
		{tensor.Float16, tensor.Float32}, {tensor.Float32, tensor.BFloat16}} {
		t.Run(fmt.Sprintf("%v_%v", types[0], types[1]), func(t *testing.T) { runCases(t, halfProducts(types[0], types[1])) })
	}
}

// TestHalfIsWidenedOnce looks where operands are widened: data and panels in scratch, so that no step of a reduction converts
// an element that another one has converted; a panel that is too large for the first cache, or used by too few tiles, vector
// by vector.
func TestHalfIsWidenedOnce(t *testing.T) {
	host, err := target.Parse("x86-64-v4")
	require.NoError(t, err)
	const data, panel, loads = "data", "panel", "loads of the panel"
	for _, x := range []struct {
		name string
		in   []*relay.TensorType
		pad  int
		want []string
	}{
		{"pointwise", one(typ(tensor.Float16, 1, 28, 28, 64), typ(tensor.Float16, 8, 1, 1, 64, 32)), 0, []string{data, panel}},
		{"window", one(typ(tensor.Float16, 1, 28, 28, 64), typ(tensor.Float16, 8, 3, 3, 64, 32)), 1, []string{data, loads}},
		{"few tiles", one(typ(tensor.Float16, 1, 4, 4, 64), typ(tensor.Float16, 8, 1, 1, 64, 32)), 0, []string{data, loads}},
		{"weight alone", one(typ(tensor.Float32, 1, 28, 28, 64), typ(tensor.BFloat16, 8, 1, 1, 64, 32)), 0, []string{panel}},
	} {
		a := &relay.ConvAttrs{Strides: []int{1, 1}, Padding: []int{x.pad, x.pad, x.pad, x.pad}, Dilation: []int{1, 1}, Groups: 1, DataLayout: "NHWC",
			KernelLayout: "OHWI32o", OutDType: tensor.Float32}
		fn, err := opCase{op: "nn.conv2d", attrs: a, in: x.in}.function()
		require.NoError(t, err)
		r, err := Func(fn, "f", Core(), host, nil)
		require.NoError(t, err)
		require.Equal(t, "cpu-conv", r.Rule)
		var found []string
		tir.Walk(r.Func.Body, func(n any) bool {
			s, ok := n.(*tir.Store)
			if !ok {
				return true
			}
			tir.Walk(s.Value, func(n any) bool {
				c, ok := n.(*tir.Cast)
				if !ok {
					return true
				}
				l := c.A.(*tir.Load)
				switch held := s.Buffer.Scope == tir.Scratch; {
				case l.Buffer == r.Func.Params[0] && held:
					found = append(found, data)
				case l.Buffer == r.Func.Params[1] && held:
					found = append(found, panel)
				case l.Buffer == r.Func.Params[1]:
					found = append(found, loads)
				default:
					found = append(found, "another conversion of "+l.Buffer.Name)
				}
				return true
			})
			return true
		})
		require.Equal(t, x.want, found, x.name)
	}
}

// TestPointwiseStrideWidensWhatItReads has a convolution of single pixels that skips three of four.
func TestPointwiseStrideWidensWhatItReads(t *testing.T) {
	host, err := target.Parse("x86-64-v4")
	require.NoError(t, err)
	a := &relay.ConvAttrs{Strides: []int{2, 2}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}, Groups: 1, DataLayout: "NHWC",
		KernelLayout: "OHWI32o", OutDType: tensor.Float32}
	fn, err := opCase{op: "nn.conv2d", attrs: a, in: one(typ(tensor.Float16, 1, 15, 14, 8), typ(tensor.Float16, 1, 1, 1, 8, 32))}.function()
	require.NoError(t, err)
	d, err := Define(fn, Core(), host)
	require.NoError(t, err)
	require.Equal(t, []int{1, 8, 7, 8}, d.Anchor.Pad.Shape())
}

// TestHalfCandidates prices a weight in half precision: a step of the reduction widens its vectors, a large panel is half as
// long to read.
func TestHalfCandidates(t *testing.T) {
	host, err := target.Parse("x86-64-v4")
	require.NoError(t, err)
	price := func(depth int, weight tensor.DType) float64 {
		fn, err := opCase{op: "nn.dense", attrs: &relay.DenseAttrs{}, in: one(f32(2, depth), f32(64, depth))}.function()
		require.NoError(t, err)
		list := Candidates(fn.Body.(*relay.Call), weight, host)
		require.Len(t, list, 1)
		return list[0].Cost
	}
	require.Greater(t, price(64, tensor.Float16), price(64, tensor.Invalid))
	require.Less(t, price(4096, tensor.Float16), price(4096, tensor.Invalid))
	fn, err := opCase{op: "nn.conv2d", attrs: &relay.ConvAttrs{Strides: []int{1, 1}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}, Groups: 1,
		DataLayout: "NCHW", KernelLayout: "OIHW16o"}, in: one(f32(1, 8, 4, 4), f32(1, 8, 1, 1, 16))}.function()
	require.NoError(t, err)
	require.Empty(t, Candidates(fn.Body.(*relay.Call), tensor.Invalid, host), "a weight that is packed already stays so")
}
