package lower

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// convCase is one convolution in the layouts of a processor.
type convCase struct {
	n, h, w, c, o, k, stride, pad, groups int
	relu                                  bool
}

func (c convCase) String() string {
	return fmt.Sprintf("%dx%dx%dx%d-%d_k%ds%dp%dg%d", c.n, c.h, c.w, c.c, c.o, c.k, c.stride, c.pad, c.groups)
}

// function returns the case as a fused function with bias and, on request, ReLU.
func (c convCase) function(t *testing.T, block int) *relay.Function {
	ops := relay.Core()
	kernel := fmt.Sprintf("OHWI%do", block)
	shape := tensor.Shape{(c.o + block - 1) / block, c.k, c.k, c.c / c.groups, block}
	if c.groups > 1 {
		kernel, shape = "OHWI16o", tensor.Shape{(c.o + 15) / 16, c.k, c.k, 1, 16}
	}
	x := relay.NewVar("x", &relay.TensorType{Shape: tensor.Shape{c.n, c.h, c.w, c.c}, DType: tensor.Float32}, diag.Pos{})
	w := relay.NewVar("w", &relay.TensorType{Shape: shape, DType: tensor.Float32}, diag.Pos{})
	b := relay.NewVar("b", &relay.TensorType{Shape: tensor.Shape{c.o}, DType: tensor.Float32}, diag.Pos{})
	conv, err := relay.NewCall(ops.Lookup("nn.conv2d"), []relay.Expr{x, w}, &relay.ConvAttrs{
		Strides: []int{c.stride, c.stride}, Padding: []int{c.pad, c.pad, c.pad, c.pad}, Dilation: []int{1, 1}, Groups: c.groups,
		Channels: c.o, DataLayout: "NHWC", KernelLayout: kernel,
	}, diag.Pos{})
	require.NoError(t, err)
	y, err := relay.NewCall(ops.Lookup("add"), []relay.Expr{conv, b}, nil, diag.Pos{})
	require.NoError(t, err)
	if c.relu {
		y, err = relay.NewCall(ops.Lookup("nn.relu"), []relay.Expr{y}, nil, diag.Pos{})
		require.NoError(t, err)
	}
	return relay.NewFunction([]*relay.Var{x, w, b}, y, true, nil, diag.Pos{})
}

func TestConvSchedules(t *testing.T) {
	host, err := target.Parse("x86-64-v4")
	require.NoError(t, err)
	for _, c := range []convCase{
		{1, 14, 14, 64, 128, 1, 1, 0, 1, true},
		{1, 14, 14, 64, 24, 3, 1, 1, 1, true},
		{1, 14, 14, 64, 64, 3, 2, 1, 64, true},
	} {
		t.Run(c.String(), func(t *testing.T) {
			r, err := Func(c.function(t, 32), "conv", Core(), host, nil)
			require.NoError(t, err)
			again, err := schedule.ParseTrace("trace", r.Trace.String())
			require.NoError(t, err)
			require.Equal(t, r.Trace.String(), again.String())
			def, err := Define(collapse(c.function(t, 32)), Core(), host)
			require.NoError(t, err)
			s := schedule.New(te.Func("conv", def.Inputs, def.Outputs, def.Stages...))
			require.NoError(t, s.Replay(again))
			require.Equal(t, tirtext.Print(r.Func), tirtext.Print(s.Func()))
		})
	}
}

// TestGridOfOneRow has a product with one row and a convolution of one pixel: their panels are the grid.
func TestGridOfOneRow(t *testing.T) {
	host, err := target.Parse("x86-64-v4")
	require.NoError(t, err)
	ops := relay.Core()
	x := relay.NewVar("x", &relay.TensorType{Shape: tensor.Shape{1, 96}, DType: tensor.Float32}, diag.Pos{})
	w := relay.NewVar("w", &relay.TensorType{Shape: tensor.Shape{16, 96, 64}, DType: tensor.Float32}, diag.Pos{})
	dense, err := relay.NewCall(ops.Lookup("nn.dense"), []relay.Expr{x, w}, &relay.DenseAttrs{WeightLayout: "NK64n", Units: 1000}, diag.Pos{})
	require.NoError(t, err)
	for name, fn := range map[string]*relay.Function{
		"dense": relay.NewFunction([]*relay.Var{x, w}, dense, true, nil, diag.Pos{}),
		"conv":  convCase{1, 1, 1, 1024, 1024, 1, 1, 0, 1, true}.function(t, 32),
	} {
		r, err := Func(fn, name, Core(), host, nil)
		require.NoError(t, err)
		require.NotEqual(t, "cpu-plain", r.Rule)
		kernels, between, err := transform.Lower(r.Func, transform.Options{})
		require.NoError(t, err)
		require.Empty(t, between)
		require.Len(t, kernels, 1)
		require.Greater(t, kernels[0].GridExtent, 1, name)
	}
}

// TestDepthwisePaddingAroundOneTap has places of the result that no tap reaches: their sum is the initial value, as blocks
// and as kernels.
func TestDepthwisePaddingAroundOneTap(t *testing.T) {
	for _, c := range []convCase{{1, 4, 5, 6, 6, 1, 1, 1, 6, false}, {2, 5, 4, 3, 12, 1, 3, 2, 3, true}, {1, 3, 3, 17, 17, 2, 1, 3, 17, false}} {
		for _, h := range hosts(t) {
			fn := c.function(t, 32)
			rng := rand.New(rand.NewPCG(1, 2))
			in := make([]*tensor.Tensor, len(fn.Params))
			for i, p := range fn.Params {
				in[i] = randomWide(rng, relay.Tensor(p)).Narrow()
			}
			require.NoError(t, check(fn, in, h), c.String())
		}
	}
}

// TestColumns convolves images of one column, which lowering lays along a row.
func TestColumns(t *testing.T) {
	targets := hosts(t)
	b := &builder{rng: rand.New(rand.NewPCG(3, 4))}
	x, w, bias := b.param(tensor.Shape{2, 20, 1, 5}), b.param(tensor.Shape{1, 3, 1, 5, 32}), b.param(tensor.Shape{24})
	skip := b.param(tensor.Shape{2, 10, 1, 24})
	conv := b.call("nn.conv2d", &relay.ConvAttrs{Strides: []int{2, 1}, Padding: []int{1, 0, 1, 0}, Dilation: []int{1, 1}, Groups: 1, Channels: 24,
		KernelSize: []int{3, 1}, DataLayout: "NHWC", KernelLayout: "OHWI32o"}, x, w)
	y := b.call("add", nil, b.call("nn.bias_add", &relay.AxisAttrs{Axis: 3}, conv, bias), skip)
	fn := relay.NewFunction(b.params, y, true, nil, diag.Pos{})
	in := make([]*tensor.Tensor, len(fn.Params))
	for i, p := range fn.Params {
		in[i] = randomWide(b.rng, relay.Tensor(p)).Narrow()
	}
	for _, h := range targets {
		require.NoError(t, check(fn, in, h))
	}
	require.Equal(t, tensor.Shape{2, 1, 20, 5}, relay.Tensor(straighten(fn).Params[0]).Shape)
}

// TestConvOfNoChannels has sums of nothing: the bias remains.
func TestConvOfNoChannels(t *testing.T) {
	for _, h := range hosts(t) {
		c := convCase{1, 4, 4, 0, 20, 3, 1, 1, 1, true}
		fn := c.function(t, 32)
		in := make([]*tensor.Tensor, len(fn.Params))
		for i, p := range fn.Params {
			in[i] = randomWide(rand.New(rand.NewPCG(1, 2)), relay.Tensor(p)).Narrow()
		}
		require.NoError(t, check(fn, in, h))
	}
}

// TestSpatialAxesStandAnywhere has layouts that a transpose of the operand leaves: channels between the spatial axes, and
// width before height.
func TestSpatialAxesStandAnywhere(t *testing.T) {
	ops := relay.Core()
	for _, c := range []struct {
		op, layout string
		data       tensor.Shape
		attrs      any
	}{
		{"nn.conv2d", "HCWN", tensor.Shape{5, 4, 6, 2}, &relay.ConvAttrs{Strides: []int{2, 1}, Padding: []int{1, 0, 1, 2}, Dilation: []int{1, 2}, Groups: 1}},
		{"nn.conv2d", "NWHC", tensor.Shape{2, 6, 5, 4}, &relay.ConvAttrs{Strides: []int{2, 1}, Padding: []int{1, 0, 1, 2}, Dilation: []int{1, 2}, Groups: 2}},
		{"nn.conv2d_transpose", "HCWN", tensor.Shape{5, 4, 6, 2}, &relay.ConvTransposeAttrs{Strides: []int{3, 2}, Padding: []int{0, 1, 2, 0}, OutputPadding: []int{0, 0}, Dilation: []int{1, 2}, Groups: 1}},
		{"nn.conv2d_transpose", "WNHC", tensor.Shape{6, 2, 5, 4}, &relay.ConvTransposeAttrs{Strides: []int{3, 2}, Padding: []int{0, 1, 2, 0}, OutputPadding: []int{0, 0}, Dilation: []int{1, 2}, Groups: 1}},
	} {
		weight := tensor.Shape{4, 4, 3, 2}
		switch a := c.attrs.(type) {
		case *relay.ConvAttrs:
			a.DataLayout, a.OutLayout, a.KernelLayout, weight[1] = c.layout, c.layout, "OIHW", 4/a.Groups
		case *relay.ConvTransposeAttrs:
			a.DataLayout, a.OutLayout, a.KernelLayout = c.layout, c.layout, "IOHW"
		}
		x := relay.NewVar("x", f32(c.data...), diag.Pos{})
		w := relay.NewVar("w", f32(weight...), diag.Pos{})
		call, err := relay.NewCall(ops.Lookup(c.op), []relay.Expr{x, w}, c.attrs, diag.Pos{})
		require.NoError(t, err)
		fn := relay.NewFunction([]*relay.Var{x, w}, call, true, nil, diag.Pos{})
		for _, h := range hosts(t) {
			rng := rand.New(rand.NewPCG(1, 2))
			in := []*tensor.Tensor{randomWide(rng, relay.Tensor(x)).Narrow(), randomWide(rng, relay.Tensor(w)).Narrow()}
			require.NoError(t, check(fn, in, h), "%s %s", c.op, c.layout)
		}
	}
}

// TestLargeWindowsFitIntoAKernel has depthwise windows whose taps, tiles and borders together are too many to be written out.
func TestLargeWindowsFitIntoAKernel(t *testing.T) {
	for _, h := range hosts(t) {
		for _, c := range []convCase{{1, 28, 28, 32, 32, 31, 1, 15, 32, false}, {1, 40, 40, 8, 16, 25, 3, 12, 8, false}, {1, 20, 20, 17, 17, 9, 1, 4, 17, true}} {
			r, err := Func(c.function(t, 32), "conv", Core(), h, nil)
			require.NoError(t, err)
			_, _, err = transform.Lower(r.Func, transform.Options{})
			require.NoError(t, err, c.String())
		}
		c := convCase{1, 5, 9, 3, 3, 15, 1, 7, 3, false}
		fn := c.function(t, 32)
		in := make([]*tensor.Tensor, len(fn.Params))
		for i, p := range fn.Params {
			in[i] = randomWide(rand.New(rand.NewPCG(1, 2)), relay.Tensor(p)).Narrow()
		}
		require.NoError(t, check(fn, in, h))
	}
}
