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

// builder makes random fused functions of float32 tensors.
type builder struct {
	rng    *rand.Rand
	params []*relay.Var
	values []relay.Expr
}

func (b *builder) extent() int {
	list := []int{1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 24, 33, 48, 0}
	n := list[b.rng.IntN(len(list))]
	if n == 0 && b.rng.IntN(4) != 0 {
		n = 6
	}
	return n
}

func (b *builder) param(shape tensor.Shape) relay.Expr {
	v := relay.NewVar(fmt.Sprintf("x%d", len(b.params)), f32(shape...), diag.Pos{})
	b.params = append(b.params, v)
	return v
}

func (b *builder) call(name string, attrs any, args ...relay.Expr) relay.Expr {
	op := ops.Lookup(name)
	if attrs == nil && op.NewAttrs != nil {
		attrs = op.NewAttrs()
	}
	c, err := relay.NewCall(op, args, attrs, diag.Pos{})
	if err != nil {
		return nil // not legal here
	}
	return c
}

// pick returns a value made so far.
func (b *builder) pick() (relay.Expr, tensor.Shape) {
	e := b.values[b.rng.IntN(len(b.values))]
	return e, relay.Tensor(e).Shape
}

// step adds an operator on values made so far, or nothing.
func (b *builder) step() {
	x, shape := b.pick()
	rank := len(shape)
	axis := 0
	if rank > 0 {
		axis = b.rng.IntN(rank)
	}
	var out relay.Expr
	switch b.rng.IntN(24) {
	case 0, 1, 2:
		unary := []string{"nn.relu", "sigmoid", "tanh", "abs", "negative", "nn.hard_swish", "nn.swish", "nn.gelu", "copy", "nn.softplus"}
		out = b.call(unary[b.rng.IntN(len(unary))], nil, x)
	case 3, 4:
		other := shape.Clone()
		for i := range other {
			if b.rng.IntN(3) == 0 {
				other[i] = 1
			}
		}
		other = other[b.rng.IntN(rank+1):]
		binary := []string{"add", "multiply", "subtract", "maximum", "minimum"}
		out = b.call(binary[b.rng.IntN(len(binary))], nil, x, b.param(other))
	case 5, 6:
		y, _ := b.pick()
		out = b.call("add", nil, x, y)
	case 7:
		out = b.call("add", nil, x, relay.NewConstant(tensor.Of(tensor.Float32, tensor.Shape{}, float32(0.5)), "", diag.Pos{}))
	case 8, 9:
		perm := b.rng.Perm(rank)
		out = b.call("transpose", &relay.TransposeAttrs{Axes: perm}, x)
	case 10, 11:
		to := []int{shape.Elems()}
		for _, d := range []int{2, 3, 4, 8} {
			if n := to[len(to)-1]; n > 0 && n%d == 0 && b.rng.IntN(2) == 0 {
				to = append(to[:len(to)-1], n/d, d)
			}
		}
		out = b.call("reshape", &relay.ReshapeAttrs{NewShape: to}, x)
	case 12:
		if rank > 0 {
			begin, end := b.rng.IntN(shape[axis]+1), b.rng.IntN(shape[axis]+1)
			out = b.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{begin}, End: []int{end}, Strides: []int{1 + b.rng.IntN(2)}, Axes: []int{axis}}, x)
		}
	case 13:
		if rank > 0 {
			out = b.call("concatenate", &relay.ConcatAttrs{Axis: axis}, relay.NewTuple([]relay.Expr{x, x}, diag.Pos{}))
		}
	case 14:
		width := make([]int, 2*rank)
		for i := range width {
			width[i] = b.rng.IntN(3) - 1
		}
		zero := relay.NewConstant(tensor.Of(tensor.Float32, tensor.Shape{}, float32(0.25)), "", diag.Pos{})
		out = b.call("nn.pad", &relay.PadAttrs{PadWidth: width, PadMode: "constant"}, x, zero)
	case 15, 16, 17:
		reduce := []string{"sum", "mean", "max", "min"}
		axes := []int{}
		for i := range rank {
			if b.rng.IntN(2) == 0 {
				axes = append(axes, i)
			}
		}
		for _, i := range axes {
			if shape[i] == 0 {
				return // a mean of nothing is NaN, and the maximum infinite
			}
		}
		out = b.call(reduce[b.rng.IntN(len(reduce))], &relay.ReduceAttrs{Axis: axes, Keepdims: b.rng.IntN(2) == 0}, x)
	case 18:
		if rank > 0 {
			out = b.call("nn.softmax", &relay.AxisAttrs{Axis: axis}, x)
		}
	case 19:
		if rank > 0 && shape[axis] > 0 {
			n := tensor.Shape{shape[axis]}
			out = b.call("nn.layer_norm", &relay.NormAttrs{Axis: axis, Epsilon: 0.1, Center: true, Scale: true}, x, b.param(n), b.param(n))
		}
	case 20:
		if rank == 4 {
			layout := []string{"NCHW", "NHWC"}[b.rng.IntN(2)]
			out = b.call([]string{"nn.max_pool2d", "nn.avg_pool2d"}[b.rng.IntN(2)], &relay.PoolAttrs{PoolSize: []int{3, 2}, Strides: []int{2, 1},
				Padding: []int{1, 0, 1, 1}, Dilation: []int{1, 1}, CeilMode: b.rng.IntN(2) == 0, Layout: layout}, x)
		}
	case 21:
		if rank >= 2 && shape.Elems() < 1<<12 {
			k := shape[rank-1]
			w := tensor.Shape{k, b.extent()}
			a := &relay.MatmulAttrs{TransposeB: b.rng.IntN(2) == 0}
			if a.TransposeB {
				w[0], w[1] = w[1], w[0]
			}
			if b.rng.IntN(2) == 0 && rank > 2 {
				w = append(tensor.Shape{shape[rank-3]}, w...)
			}
			out = b.call("nn.matmul", a, x, b.param(w))
		}
	case 22:
		if rank > 0 && shape[axis] > 0 {
			out = b.call("channel_shuffle", &relay.ChannelShuffleAttrs{Groups: max(1, largestDivisor(shape[axis], 4)), Axis: axis}, x)
		}
	case 23:
		if rank > 0 {
			out = b.call("sort", &relay.SortAttrs{Axis: axis, IsAscend: b.rng.IntN(2) == 0, DType: tensor.Int64}, x)
		}
	}
	if out == nil {
		return
	}
	if n := relay.Tensor(out).Shape.Elems(); n > 1<<13 || n < 0 {
		return
	}
	b.values = append(b.values, out)
}

// function returns a random function.
func (b *builder) function() *relay.Function {
	for range 1 + b.rng.IntN(2) {
		shape := tensor.Shape{}
		for range b.rng.IntN(5) {
			shape = append(shape, b.extent())
		}
		for shape.Elems() > 1<<11 {
			shape = shape[1:]
		}
		b.values = append(b.values, b.param(shape))
	}
	for range 1 + b.rng.IntN(6) {
		b.step()
	}
	body := b.values[len(b.values)-1]
	if b.rng.IntN(6) == 0 && len(b.values) > 1 {
		body = relay.NewTuple([]relay.Expr{body, b.values[b.rng.IntN(len(b.values))]}, diag.Pos{})
	}
	used := map[relay.Expr]bool{}
	for e := range relay.PostOrder(body, false) {
		used[e] = true
	}
	var params []*relay.Var
	for _, p := range b.params {
		if used[p] {
			params = append(params, p)
		}
	}
	return relay.NewFunction(params, body, true, nil, diag.Pos{})
}

// TestLaw lowers random functions: none may fail, and each computes what the reference does.
func TestLaw(t *testing.T) {
	targets := hosts(t)
	n := 600
	if testing.Short() {
		n = 100
	}
	for seed := range n {
		checkRandom(t, uint64(seed), targets[seed%len(targets)].Name)
	}
}

func checkRandom(t *testing.T, seed uint64, name string) {
	t.Helper()
	b := &builder{rng: rand.New(rand.NewPCG(seed, 7))}
	fn := b.function()
	if len(fn.Params) == 0 {
		return
	}
	in := make([]*tensor.Tensor, len(fn.Params))
	for i, p := range fn.Params {
		in[i] = randomWide(b.rng, relay.Tensor(p)).Narrow()
	}
	for _, h := range hosts(t) {
		if h.Name == name {
			require.NoError(t, check(fn, in, h), "seed %d on %s: %s", seed, name, relay.PrintFunction("f", fn))
		}
	}
}

// FuzzLaw is TestLaw over other seeds.
func FuzzLaw(f *testing.F) {
	f.Add(uint64(1), true)
	f.Fuzz(func(t *testing.T, seed uint64, wide bool) {
		name := "cortex-a76"
		if wide {
			name = "x86-64-v4"
		}
		checkRandom(t, seed, name)
	})
}
