package transform

import (
	"math"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// interval bounds the elements of a value.
type interval struct{ low, high float64 }

func (r interval) largest() float64 { return max(math.Abs(r.low), math.Abs(r.high)) }

// within reports whether all elements lie between -limit and limit.
func (r interval) within(limit float64) bool { return r.largest() <= limit }

// finite reports whether both ends are numbers, so that the interval says something of the size of elements.
func (r interval) finite() bool { return r.largest() <= math.MaxFloat64 }

func (r interval) union(o interval) interval { return interval{min(r.low, o.low), max(r.high, o.high)} }

// everything is the range of a value of which nothing is known.
var everything = interval{math.Inf(-1), math.Inf(1)}

// unitRange are operators whose results are between -1 and 1 whatever they are applied to.
var unitRange = map[string]bool{"sigmoid": true, "tanh": true, "erf": true, "nn.hard_sigmoid": true, "nn.softmax": true,
	"nn.softsign": true, "sin": true, "cos": true, "nn.squeeze_excite": true, "sign": true, "nn.l2_normalize": true}

// sameRange are operators whose result's elements are elements of their operands, or between such.
var sameRange = map[string]bool{"copy": true, "reshape": true, "expand_dims": true, "squeeze": true, "transpose": true,
	"broadcast_to": true, "tile": true, "repeat": true, "reverse": true, "layout_transform": true, "nn.space_to_depth": true,
	"nn.depth_to_space": true, "channel_shuffle": true, "concatenate": true, "stack": true, "split": true, "strided_slice": true,
	"take": true, "gather": true, "gather_nd": true, "reverse_sequence": true, "nn.pad": true, "max": true, "min": true, "mean": true,
	"maximum": true, "minimum": true, "nn.max_pool1d": true, "nn.max_pool2d": true, "nn.max_pool3d": true,
	"nn.global_max_pool2d": true, "nn.global_avg_pool2d": true, "nn.adaptive_avg_pool2d": true, "nn.adaptive_max_pool2d": true}

// findRanges returns, for values of which something is known, the range of their finite elements: constants are what they
// are, activations limit their operands, and arithmetic on limited values is limited. Nothing is assumed of the inputs.
func findRanges(main *relay.Function) map[relay.Expr]interval {
	found := map[relay.Expr]interval{}
	of := func(e relay.Expr) interval {
		if r, ok := found[e]; ok {
			return r
		}
		return everything
	}
	for e := range relay.PostOrder(main, false) {
		r := everything
		switch e := e.(type) {
		case *relay.Constant:
			if e.Value.DType.IsFloat() && !e.Value.DType.IsStorage() {
				r = rangeOf(e.Value)
			}
		case *relay.Tuple:
			for i, f := range e.Fields {
				if i == 0 {
					r = of(f)
				}
				r = r.union(of(f))
			}
		case *relay.TupleGet:
			r = of(e.Tuple)
		case *relay.Call:
			if e.Op != nil && len(e.Args) > 0 {
				r = callRange(e, of)
			}
		}
		if r.finite() || r.low >= 0 {
			found[e] = r
		}
	}
	for e, r := range found {
		if !r.finite() {
			delete(found, e)
		}
	}
	return found
}

// rangeOf returns the range of a constant's finite elements.
func rangeOf(t *tensor.Tensor) interval {
	r := interval{math.Inf(1), math.Inf(-1)}
	see := func(v float64) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			r = interval{min(r.low, v), max(r.high, v)}
		}
	}
	if t.DType == tensor.Float32 {
		for _, v := range tensor.View[float32](t) {
			see(float64(v))
		}
	} else {
		for _, v := range tensor.Widen(t).F {
			see(v)
		}
	}
	if r.low > r.high {
		return interval{}
	}
	return r
}

// callRange returns the range of an operator's result.
func callRange(c *relay.Call, of func(relay.Expr) interval) interval {
	name := c.Op.Name
	a := of(c.Args[0])
	b := interval{}
	if len(c.Args) > 1 {
		b = of(c.Args[1])
	}
	switch {
	case unitRange[name]:
		return interval{-1, 1}
	case sameRange[name]:
		for _, arg := range c.Args[1:] {
			if is32(arg) {
				a = a.union(of(arg))
			}
		}
		return a
	}
	switch name {
	case "nn.relu":
		return interval{max(0, a.low), max(0, a.high)}
	case "clip":
		at := c.Attrs.(*relay.ClipAttrs)
		return interval{min(max(a.low, at.AMin), at.AMax), min(max(a.high, at.AMin), at.AMax)}
	case "abs":
		return interval{0, a.largest()}
	case "negative":
		return interval{-a.high, -a.low}
	case "nn.hard_swish", "nn.swish", "nn.gelu", "nn.mish": // between 0 and their operand
		return interval{min(0, a.low), max(0, a.high)}
	case "add", "nn.bias_add":
		return interval{a.low + b.low, a.high + b.high}
	case "subtract":
		return interval{a.low - b.high, a.high - b.low}
	case "multiply":
		return between(a.low*b.low, a.low*b.high, a.high*b.low, a.high*b.high)
	case "divide":
		if b.low > 0 || b.high < 0 {
			return between(a.low/b.low, a.low/b.high, a.high/b.low, a.high/b.high)
		}
	case "where":
		return b.union(of(c.Args[2]))
	case "nn.attention": // a mean of values
		return of(c.Args[2])
	case "exp":
		return interval{math.Exp(a.low), math.Exp(a.high)}
	case "sqrt":
		return interval{math.Sqrt(max(0, a.low)), math.Sqrt(max(0, a.high))}
	case "sum":
		n := float64(relay.Tensor(c.Args[0]).Shape.Elems()) / math.Max(1, float64(relay.Tensor(c).Shape.Elems()))
		return interval{min(0, n*a.low), max(0, n*a.high)}
	case "nn.dense", "nn.conv1d", "nn.conv2d", "nn.conv3d":
		if k, ok := c.Args[1].(*relay.Constant); ok && a.finite() && k.Value.DType == tensor.Float32 {
			if g, ok := largestSum(k.Value, c); ok {
				return interval{-g * a.largest(), g * a.largest()}
			}
		}
	}
	return everything
}

// between returns the interval from the least to the largest of some numbers; a NaN, of 0·∞, makes it everything.
func between(list ...float64) interval {
	r := interval{list[0], list[0]}
	for _, v := range list {
		if math.IsNaN(v) {
			return everything
		}
		r = interval{min(r.low, v), max(r.high, v)}
	}
	return r
}

// largestSum returns the largest sum of magnitudes of the weights of one output of a product; false where outputs are not
// along the first axis.
func largestSum(t *tensor.Tensor, c *relay.Call) (float64, bool) {
	switch a := c.Attrs.(type) {
	case *relay.DenseAttrs:
	case *relay.ConvAttrs:
		if a.KernelLayout[0] != 'O' {
			return 0, false
		}
	default:
		return 0, false
	}
	most := 0.0
	if list := tensor.View[float32](t); len(list) > 0 {
		for o := range slices.Chunk(list, len(list)/t.Shape[0]) {
			sum := 0.0
			for _, v := range o {
				sum += math.Abs(float64(v))
			}
			most = max(most, sum)
		}
	}
	return most, true
}
