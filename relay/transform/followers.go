package transform

import (
	"slices"

	"github.com/texel-ml/texel/relay"
)

// follower returns the attributes of an operator whose operand has axis i at at[i], and the order of its result: false
// when it cannot take the operand so.
type follower func(c *relay.Call, at []int) (attrs any, result []int, ok bool)

// followers are the operators that can take their operand in other orders than the model's. An operator without a row takes
// it as the model has it; elementwise ones need none.
var followers = map[string]follower{
	"nn.max_pool1d": followPool, "nn.max_pool2d": followPool, "nn.max_pool3d": followPool,
	"nn.avg_pool1d": followPool, "nn.avg_pool2d": followPool, "nn.avg_pool3d": followPool,
	"nn.global_avg_pool2d": followGlobalPool, "nn.global_max_pool2d": followGlobalPool,
	"nn.adaptive_avg_pool2d": followAdaptive, "nn.adaptive_max_pool2d": followAdaptive,
	"sum": followReduce, "mean": followReduce, "max": followReduce, "min": followReduce, "prod": followReduce,
	"nn.softmax": followAxis, "nn.log_softmax": followAxis,
	"nn.pad": followPad, "strided_slice": followSlice, "concatenate": followConcat, "split": followSplit,
	"channel_shuffle": followShuffle, "image.resize": followResize, "image.resize2d": followResize2D,
	"nn.conv1d_transpose": followConvTranspose, "nn.conv2d_transpose": followConvTranspose,
	"nn.depth_to_space": followBlocks, "nn.space_to_depth": followBlocks,
	"nn.layer_norm": followNorm, "nn.rms_norm": followRMSNorm, "nn.l2_normalize": followL2Normalize, "nn.lrn": followLRN,
	"reshape": followReshape,
}

func followPool(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.PoolAttrs)
	var ok bool
	n.Layout, ok = relaid(n.Layout, at)
	return &n, at, ok && inOrder(n.Layout)
}

func followGlobalPool(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.GlobalPoolAttrs)
	var ok bool
	n.Layout, ok = relaid(n.Layout, at)
	return &n, at, ok
}

func followAdaptive(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.AdaptivePoolAttrs)
	var ok bool
	n.Layout, ok = relaid(n.Layout, at)
	return &n, at, ok && inOrder(n.Layout)
}

func followConvTranspose(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.ConvTransposeAttrs)
	data, out := layouts(c)
	var ok bool
	n.DataLayout, ok = relaid(data, at)
	n.OutLayout = n.DataLayout
	return &n, at, ok && data == out && inOrder(n.DataLayout)
}

// followReduce turns the axes; without kept axes the rest must stay in order.
func followReduce(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.ReduceAttrs)
	if n.Axis == nil || n.Exclude {
		return nil, nil, false
	}
	n.Axis = slices.Clone(n.Axis)
	gone := map[int]bool{}
	for i, a := range n.Axis {
		a = relay.NormalAxis(a, len(at))
		gone[a] = true
		n.Axis[i] = at[a]
	}
	slices.Sort(n.Axis)
	if n.Keepdims {
		return &n, at, true
	}
	last := -1
	for i := range at {
		if gone[i] {
			continue
		}
		if at[i] < last {
			return nil, nil, false
		}
		last = at[i]
	}
	return &n, nil, true
}

func followAxis(c *relay.Call, at []int) (any, []int, bool) {
	return &relay.AxisAttrs{Axis: at[relay.NormalAxis(c.Attrs.(*relay.AxisAttrs).Axis, len(at))]}, at, true
}

func followShuffle(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.ChannelShuffleAttrs)
	n.Axis = at[relay.NormalAxis(n.Axis, len(at))]
	return &n, at, true
}

func followConcat(c *relay.Call, at []int) (any, []int, bool) {
	return &relay.ConcatAttrs{Axis: at[relay.NormalAxis(c.Attrs.(*relay.ConcatAttrs).Axis, len(at))]}, at, true
}

func followSplit(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.SplitAttrs)
	n.Axis = at[relay.NormalAxis(n.Axis, len(at))]
	return &n, at, true
}

func followPad(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.PadAttrs)
	width := make([]int, len(n.PadWidth))
	for i := range at {
		width[2*at[i]], width[2*at[i]+1] = n.PadWidth[2*i], n.PadWidth[2*i+1]
	}
	n.PadWidth = width
	return &n, at, true
}

func followSlice(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.StridedSliceAttrs)
	n.Axes = turnedAxes(n.Axes, len(n.Begin), at)
	return &n, at, true
}

func followResize(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.ResizeAttrs)
	n.Axes = turnedAxes(n.Axes, len(n.Size), at)
	return &n, at, true
}

func followBlocks(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.BlockAttrs)
	var ok bool
	n.Layout, ok = relaid(n.Layout, at)
	return &n, at, ok
}

// followNorm follows where the axis of the sums becomes the innermost one: elsewhere a lane adds up all of them one by one, which
// rounds more than sums of sums do. Instance norm and group norm have no row for that reason: with channels innermost they would
// add up all places so.
func followNorm(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.NormAttrs)
	n.Axis = at[relay.NormalAxis(n.Axis, len(at))]
	return &n, at, n.Axis == len(at)-1
}

func followRMSNorm(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.RMSNormAttrs)
	n.Axis = at[relay.NormalAxis(n.Axis, len(at))]
	return &n, at, n.Axis == len(at)-1
}

func followL2Normalize(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.L2NormalizeAttrs)
	n.Axis = turnedAxes(n.Axis, len(n.Axis), at)
	return &n, at, len(n.Axis) == 1 && n.Axis[0] == len(at)-1
}

func followLRN(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.LRNAttrs)
	n.Axis = at[relay.NormalAxis(n.Axis, len(at))]
	return &n, at, true
}

// followReshape follows through a reshape that only adds and takes axes of extent 1.
func followReshape(c *relay.Call, at []int) (any, []int, bool) {
	to := relay.Tensor(c).Shape
	out, ok := reshapedOrder(relay.Tensor(c.Args[0]).Shape, to, at)
	return &relay.ReshapeAttrs{NewShape: kept(to, out)}, out, ok
}

// turnedAxes returns where n axes lie in order at; nil axes are the first ones.
func turnedAxes(axes []int, n int, at []int) []int {
	turned := make([]int, n)
	for i := range turned {
		a := i
		if axes != nil {
			a = relay.NormalAxis(axes[i], len(at))
		}
		turned[i] = at[a]
	}
	return turned
}

func followResize2D(c *relay.Call, at []int) (any, []int, bool) {
	n := *c.Attrs.(*relay.ResizeAttrs)
	var ok bool
	n.Layout, ok = relaid(n.Layout, at)
	return &n, at, ok && inOrder(n.Layout)
}
