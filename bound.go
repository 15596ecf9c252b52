package texel

import (
	"math"
	"slices"
	"strings"

	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// deviation bounds how far a device's result of one function may lie from the exact one. For each node it keeps the
// largest magnitude of the exact value and a bound of the device's absolute error, both over the whole tensor:
//
//	error(out) = Relative(d, K, 0)·magnitude + Σ_i slope_i · error(operand_i)
//
// where K is the length of the sum, magnitude the largest size that the sum passes through, and slope_i how much the
// operator can amplify an error of operand i. Operands of the function are the device's own, so their error is 0.
type deviation struct {
	size map[relay.Expr]float64
	err  map[relay.Expr]float64
	low  map[relay.Expr]float64      // the smallest magnitude
	made map[relay.Expr]*tensor.Wide // the operands of the function

	normed map[relay.Expr]*tensor.Wide // the exact values of what is normalised
}

// newDeviation returns one for a function with the given body.
func newDeviation(body relay.Expr) *deviation {
	b := &deviation{map[relay.Expr]float64{}, map[relay.Expr]float64{}, map[relay.Expr]float64{}, map[relay.Expr]*tensor.Wide{}, map[relay.Expr]*tensor.Wide{}}
	for e := range relay.PostOrder(body, true) {
		if c, ok := e.(*relay.Call); ok && c.Op != nil && strings.HasSuffix(c.Op.Name, "_norm") && len(c.Args) > 0 {
			b.normed[c.Args[0]] = nil
		}
	}
	return b
}

// see takes the exact value of a node, operands first.
func (b *deviation) see(e relay.Expr, v relay.Value) {
	if w, ok := v.(*tensor.Wide); ok {
		if _, wanted := b.normed[e]; wanted {
			b.normed[e] = w
		}
	}
	switch e := e.(type) {
	case *relay.Call:
		b.call(e, v)
	case *relay.Tuple:
		for _, f := range e.Fields {
			b.size[e] = math.Max(b.size[e], b.size[f])
			b.err[e] = math.Max(b.err[e], b.err[f])
		}
	case *relay.TupleGet:
		b.size[e], b.err[e] = extremeOf(v).high, b.err[e.Tuple]
	default:
		x := extremeOf(v)
		b.size[e], b.low[e] = x.high, x.low
	}
}

// extreme is the largest and the smallest magnitude of finite elements.
type extreme struct{ high, low float64 }

func extremeOf(v relay.Value) extreme {
	x := extreme{0, math.Inf(1)}
	switch v := v.(type) {
	case *tensor.Wide:
		for _, f := range v.F {
			if a := math.Abs(f); !math.IsNaN(a) && !math.IsInf(a, 0) {
				x.high, x.low = math.Max(x.high, a), math.Min(x.low, a)
			}
		}
		for _, i := range v.I {
			a := math.Abs(float64(i))
			x.high, x.low = math.Max(x.high, a), math.Min(x.low, a)
		}
	case relay.Values:
		for _, f := range v {
			y := extremeOf(f)
			x.high, x.low = math.Max(x.high, y.high), math.Min(x.low, y.low)
		}
	}
	return x
}

func (b *deviation) call(c *relay.Call, v relay.Value) {
	x := extremeOf(v)
	b.size[c], b.low[c] = x.high, x.low
	if c.Op == nil || len(c.Args) == 0 {
		return
	}
	d := tensor.Float32
	if out := relay.Tensor(c); out != nil && out.DType == tensor.Float64 {
		d = tensor.Float64
	}
	if a, ok := c.Attrs.(*relay.AttentionAttrs); ok {
		b.err[c] = b.attention(c, a, d) + b.rounded(c, x)
		return
	}
	k := reduction(c)
	magnitude := x.high
	for _, a := range c.Args {
		if c.Op.Class != relay.OutFusable {
			magnitude = math.Max(magnitude, math.Min(b.size[a], math.MaxFloat32))
		}
	}
	slopes := b.slopes(c, k, x)
	if w := b.normed[c.Args[0]]; w != nil {
		if f, ok := b.normOf(c, w); ok {
			k, slopes[0] = f.n, f.scale
			magnitude += 2 * f.scale * b.size[c.Args[0]] // twice: roundings of elements that are nearly equal go one way
		}
	}
	if c.Op.Class == relay.OutFusable && len(c.Args) > 1 {
		magnitude = math.Max(magnitude, slopes[0]*b.size[c.Args[0]])
	}
	sum := 0.0
	out := relay.Tensor(c)
	integer := out != nil && !out.DType.IsFloat()
	if c.Op.Class != relay.Injective && (!integer || quantizes(c)) {
		sum = numtest.Relative(d, k, 0) * magnitude
	}
	for i, a := range c.Args {
		if e := b.err[a]; e > 0 {
			sum += slopes[i] * e
		}
	}
	if integer && sum > 0 {
		sum = math.Ceil(sum) // rounded to integers: the next one where the exact value is near a half
	}
	if sum > 0 {
		sum += b.rounded(c, x)
	}
	b.err[c] = sum
}

// rounded is the error of a result that is rounded to a float of fewer bits than it is computed in.
func (b *deviation) rounded(c *relay.Call, x extreme) float64 {
	out := relay.Tensor(c)
	if out == nil || !out.DType.IsFloat() || out.DType.Bits() >= 32 {
		return 0
	}
	step := numtest.Unit(out.DType) // each operator's result is rounded to its type
	if out.DType.IsStorage() {
		step *= 2 // as the reference's is, which may be the next number
	}
	return step * x.high
}

// slopes returns how much an error of each operand grows.
func (b *deviation) slopes(c *relay.Call, k int, out extreme) []float64 {
	s := make([]float64, len(c.Args))
	for i := range s {
		s[i] = 1
	}
	arg := func(i int) float64 { return b.size[c.Args[i]] }
	name := c.Op.Name[strings.LastIndexByte(c.Op.Name, '.')+1:]
	switch {
	case c.Op.Class == relay.OutFusable && len(c.Args) > 1:
		root := math.Sqrt(float64(k)) // errors of K operands go either way
		s[0], s[1] = root*b.size[c.Args[1]], root*arg(0)
		if w := b.made[c.Args[1]]; w != nil {
			s[0] = gainOf(c, w)
		}
	case name == "quantize":
		s[0] = 1 / b.low[c.Args[1]]
	case name == "dequantize":
		s[0] = b.size[c.Args[1]]
	case name == "multiply":
		s[0], s[1] = arg(1), arg(0)
	case name == "divide":
		low := b.low[c.Args[1]] - b.err[c.Args[1]]
		s[0], s[1] = 1/low, out.high/low
	case name == "exp":
		s[0] = out.high
	case name == "softmax", name == "log_softmax":
		s[0] = 2
	case name == "log":
		s[0] = 1 / b.low[c.Args[0]]
	case name == "sqrt":
		s[0] = 0.5 / out.low
	case name == "rsqrt":
		s[0] = 0.5 * out.high * out.high * out.high
	case name == "power":
		s[0] = out.high * arg(1) / b.low[c.Args[0]]
		s[1] = out.high * math.Abs(math.Log(arg(0)))
	case name == "sum":
		s[0] = math.Sqrt(float64(k))
	case name == "batch_norm":
		s[0] = 1e3
	case name == "hard_swish", name == "gelu", name == "swish", name == "mish":
		s[0] = 1.5
	}
	for i, v := range s {
		if math.IsNaN(v) {
			s[i] = math.Inf(1)
		}
	}
	return s
}

// weightLayout returns the layout of a heavy operator's weight, and the letter of its axis of outputs; "" where the weight has none.
func weightLayout(c *relay.Call) (layout string, outputs byte) {
	switch a := c.Attrs.(type) {
	case *relay.ConvAttrs:
		return a.KernelLayout, 'O'
	case *relay.ConvTransposeAttrs:
		return a.KernelLayout, 'O'
	case *relay.DenseAttrs:
		switch a.WeightLayout {
		case "":
			return "NK", 'N'
		case "IO":
			return "IO", 'O'
		}
		return a.WeightLayout, 'N'
	}
	return "", 0
}

// gainOf returns the largest sum of magnitudes of the weights w of one output of a heavy operator. Without a layout, outputs are along the first or the
// last axis; it takes the larger of both readings.
func gainOf(c *relay.Call, w *tensor.Wide) float64 {
	if len(w.F) == 0 || len(w.Shape) == 0 {
		return 0
	}
	layout, outputs := weightLayout(c)
	if l, err := tensor.ParseLayout(layout); err == nil && l.Rank() == len(w.Shape) && l.Index(outputs) >= 0 {
		var axes []int
		for i, a := range l.Axes() {
			if a.Letter == outputs {
				axes = append(axes, i)
			}
		}
		return largestSum(w, axes)
	}
	return math.Max(largestSum(w, []int{0}), largestSum(w, []int{len(w.Shape) - 1}))
}

// largestSum returns the largest sum of magnitudes over elements that have the same places along the given axes.
func largestSum(w *tensor.Wide, axes []int) float64 {
	strides, count := w.Shape.Strides(), 1
	for _, a := range axes {
		count *= w.Shape[a]
	}
	sums := make([]float64, count)
	for i, v := range w.F {
		at := 0
		for _, a := range axes {
			at = at*w.Shape[a] + i/strides[a]%w.Shape[a]
		}
		sums[at] += math.Abs(v)
	}
	return slices.Max(sums)
}
