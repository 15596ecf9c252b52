package lower

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// invertedResidual is an expanding convolution, a depthwise one and a projecting one, as one function.
type invertedResidual struct {
	n, h, w, in, mid, out, k, stride int
	project, residual                bool
}

func (c invertedResidual) function(t *testing.T, lanes int) *relay.Function {
	ops := relay.Core()
	var params []*relay.Var
	param := func(shape ...int) *relay.Var {
		v := relay.NewVar(fmt.Sprintf("p%d", len(params)), &relay.TensorType{Shape: shape, DType: tensor.Float32}, diag.Pos{})
		params = append(params, v)
		return v
	}
	call := func(name string, attrs any, args ...relay.Expr) relay.Expr {
		e, err := relay.NewCall(ops.Lookup(name), args, attrs, diag.Pos{})
		require.NoError(t, err)
		return e
	}
	conv := func(x relay.Expr, in, out, k, stride, groups int) relay.Expr {
		block := lanes
		if groups == 1 {
			block = 2 * lanes
		}
		w := param((out+block-1)/block, k, k, in/groups, block)
		pad := k / 2
		y := call("nn.conv2d", &relay.ConvAttrs{Strides: []int{stride, stride}, Padding: []int{pad, pad, pad, pad}, Dilation: []int{1, 1},
			Groups: groups, Channels: out, DataLayout: "NHWC", KernelLayout: fmt.Sprintf("OHWI%do", block)}, x, w)
		return call("add", nil, y, param(out))
	}
	x := param(c.n, c.h, c.w, c.in)
	y := call("nn.relu", nil, conv(x, c.in, c.mid, 1, 1, 1))
	y = conv(y, c.mid, c.mid, c.k, c.stride, c.mid)
	if c.project {
		y = call("nn.relu", nil, y)
		y = conv(y, c.mid, c.out, 1, 1, 1)
	}
	if c.residual {
		y = call("add", nil, y, x)
	}
	return relay.NewFunction(params, y, true, nil, diag.Pos{})
}

func TestBlocksOfConvolutions(t *testing.T) {
	for _, c := range []invertedResidual{
		{1, 16, 16, 8, 32, 8, 3, 1, true, true},
		{1, 17, 13, 8, 40, 12, 3, 2, true, false},
		{1, 20, 12, 24, 144, 24, 3, 1, true, true},
		{1, 16, 9, 5, 33, 33, 5, 2, false, false},
		{2, 9, 9, 16, 32, 16, 3, 1, true, true},
	} {
		for _, h := range hosts(t) {
			fn := c.function(t, h.Lanes(32))
			rng := rand.New(rand.NewPCG(1, 2))
			in := make([]*tensor.Tensor, len(fn.Params))
			for i, p := range fn.Params {
				in[i] = randomWide(rng, relay.Tensor(p)).Narrow()
			}
			require.NoError(t, check(fn, in, h), "%+v on %s", c, h.Name)
			r, err := Func(fn, "block", Core(), h, nil)
			require.NoError(t, err)
			require.Equal(t, "cpu-block", r.Rule)
		}
	}
}
