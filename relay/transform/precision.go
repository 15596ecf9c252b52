package transform

import (
	"fmt"
	"math"
	"regexp"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// Precision says in which type values of float32 may be kept in memory. Everything is computed in float32 all the same: a
// value is rounded when it is written and widened when it is read.
type Precision struct {
	// Store is tensor.Float16 or tensor.BFloat16; tensor.Invalid keeps every value as the model has it.
	Store tensor.DType
	// Mixed rounds a value only where the cost model says that this is faster; otherwise every value that may be is.
	Mixed bool
	// Keep names operators whose operands and results stay in float32, by the node's name in the model; nil: none.
	Keep *regexp.Regexp
}

// keeping is what half precision does to an operator.
type keeping uint8

const (
	// deny: operands and results stay in float32, because the result depends on small differences of large operands, or is
	// an order or a count.
	deny keeping = iota
	// prone: operands may be rounded, but the result is a sum, a product or a quotient that may leave the range of float16: it
	// stays in float32 unless the ranges of its operands show that it does not.
	prone
	// allow: operands and result may be rounded.
	allow
	// follow: moves elements, or normalises in float32 on its way: its result is kept as its operand is.
	follow
)

// keepings is the table of half precision: one row an operator of relay.Core. The row of a new operator is deny if it compares,
// orders, counts or rounds, or if its slope is unlimited; prone if its result may be far larger than its operands; follow if it moves
// elements; and allow otherwise. Where its result is limited whatever its operands are, or consists of their elements, unitRange or
// sameRange says so too. The tests draw a call of every row and look what becomes of its operands and its result.
var keepings = map[string]keeping{
	"nn.conv1d": allow, "nn.conv2d": allow, "nn.conv3d": allow,
	"nn.conv1d_transpose": allow, "nn.conv2d_transpose": allow, "nn.conv3d_transpose": allow,
	"nn.dense": allow, "nn.matmul": allow, "nn.batch_matmul": allow, "nn.attention": allow,

	"nn.max_pool1d": allow, "nn.max_pool2d": allow, "nn.max_pool3d": allow,
	"nn.avg_pool1d": allow, "nn.avg_pool2d": allow, "nn.avg_pool3d": allow,
	"nn.global_avg_pool2d": prone, "nn.adaptive_avg_pool2d": prone, "nn.global_max_pool2d": allow, "nn.adaptive_max_pool2d": allow,
	"nn.max_pool2d_with_argmax": deny,
	"sum":                       prone, "mean": prone, "prod": prone, "max": allow, "min": allow, "logsumexp": deny,
	"all": deny, "any": deny, "argmax": deny, "argmin": deny,

	"add": allow, "subtract": allow, "multiply": prone, "divide": prone, "maximum": allow, "minimum": allow, "where": allow,
	"nn.bias_add": allow, "clip": allow, "abs": allow, "negative": allow,
	"sigmoid": allow, "tanh": allow, "erf": allow, "sqrt": allow,
	"nn.relu": allow, "nn.leaky_relu": allow, "nn.prelu": allow, "nn.elu": allow, "nn.selu": allow, "nn.celu": allow,
	"nn.thresholded_relu": allow, "nn.hard_sigmoid": allow, "nn.hard_swish": allow, "nn.swish": allow, "nn.gelu": allow,
	"nn.softplus": allow, "nn.softsign": allow, "nn.mish": allow, "nn.shrink": allow,
	"reciprocal": prone, "rsqrt": prone,
	"exp": deny, "log": deny, "power": deny, "mod": deny, "fmod": deny, "sign": deny,
	"sin": deny, "cos": deny, "tan": deny, "asin": deny, "acos": deny, "atan": deny,
	"sinh": deny, "cosh": deny, "asinh": deny, "acosh": deny, "atanh": deny,
	"ceil": deny, "floor": deny, "round": deny, "trunc": deny, "isnan": deny, "isinf": deny,
	"equal": deny, "not_equal": deny, "less": deny, "less_equal": deny, "greater": deny, "greater_equal": deny,
	"logical_not": deny, "logical_and": deny, "logical_or": deny, "logical_xor": deny,
	"bitwise_not": deny, "bitwise_and": deny, "bitwise_or": deny, "bitwise_xor": deny, "left_shift": deny, "right_shift": deny,
	"cast": deny, "reinterpret": deny, "qnn.quantize": deny, "qnn.dequantize": deny,

	"nn.softmax": deny, "nn.log_softmax": deny, "nn.batch_norm": deny, "nn.lrn": follow, "nn.l2_normalize": follow,
	"nn.layer_norm": follow, "nn.instance_norm": follow, "nn.group_norm": follow, "nn.rms_norm": follow, "nn.squeeze_excite": follow,

	"copy": follow, "reshape": follow, "expand_dims": follow, "squeeze": follow, "transpose": follow, "broadcast_to": follow,
	"tile": follow, "repeat": follow, "reverse": follow, "layout_transform": follow, "nn.space_to_depth": follow,
	"nn.depth_to_space": follow, "channel_shuffle": follow, "trilu": follow, "concatenate": follow, "stack": follow,
	"split": follow, "strided_slice": follow, "nn.pad": follow, "take": follow, "gather": follow, "gather_nd": follow,
	"reverse_sequence": follow,
	"image.resize2d":   allow, "image.resize": allow, "image.grid_sample": deny,
	"full": deny, "zeros": deny, "ones": deny, "arange": deny, "eye": deny, "one_hot": deny,
	"scatter_elements": deny, "scatter_nd": deny, "argwhere": deny, "vision.non_max_suppression": deny,
	"sort": deny, "argsort": deny, "topk": deny, "unique": deny, "cumsum": deny, "cumprod": deny,
}

// keeping returns what half precision does to a choice; what is no operator of the table keeps everything.
func (c *choice) keeping() keeping {
	if c.call == nil {
		return deny
	}
	return keepings[c.call.Op.Name]
}

// is32 reports whether a value consists of tensors of float32.
func is32(e relay.Expr) bool {
	list := tensors(e.Type())
	for _, t := range list {
		if t.DType != tensor.Float32 {
			return false
		}
	}
	return len(list) > 0
}

// findHalves says of every choice whether its result may be kept in half precision, and why not. It starts from what the
// operators and the ranges of values allow, and takes back what a reader does not: one that needs float32, and those that
// keep their operands' type and cannot have all of them in one.
func (a *assignment) findHalves() {
	d := a.o.Precision.Store
	ranges := findRanges(a.main)
	for _, c := range a.choices {
		c.half, c.wide = a.allowed(c, d, ranges)
	}
	for changed := true; changed; {
		changed = false
		for _, c := range a.choices {
			if !c.half {
				continue
			}
			if why := a.refused(c); why != "" {
				c.half, c.wide, changed = false, why, true
			}
		}
	}
}

// allowed decides by the operator itself.
func (a *assignment) allowed(c *choice, d tensor.DType, ranges map[relay.Expr]interval) (bool, string) {
	if !is32(c.e) || c.call == nil {
		return false, ""
	}
	k := c.keeping()
	r, known := ranges[c.e]
	fits := known && r.within(tensor.MaxFinite(d))
	switch {
	case a.named(c):
		return false, "as asked for"
	case k == deny:
		return false, c.call.Op.Name + " is kept in float32"
	case k == prone && !fits && d == tensor.Float16 && !a.tame(c):
		return false, "the result of " + c.call.Op.Name + " is kept in float32"
	case known && !fits:
		return false, fmt.Sprintf("its values may reach %.3g", r.largest())
	case !known && d == tensor.Float16 && c.gain() > mostGain:
		return false, fmt.Sprintf("its weights add up to %.3g", c.gain())
	case k == follow && !a.constantsFit(c):
		return false, fmt.Sprintf("%v does not hold its constants", d)
	case k != follow && c.store == inRegisters:
		return false, ""
	}
	return true, ""
}

func (a *assignment) named(c *choice) bool {
	keep := a.o.Precision.Keep
	return keep != nil && c.call != nil && keep.MatchString(nodeName(c.call))
}

// mostFactor is the largest constant that a product is multiplied with and still called tame.
const mostFactor = 64

// tame reports whether a product or a quotient scales its operand by constants of moderate size.
func (a *assignment) tame(c *choice) bool {
	name := c.call.Op.Name
	if name != "multiply" && name != "divide" {
		return false
	}
	for i, arg := range c.call.Args {
		k, ok := arg.(*relay.Constant)
		if !ok || name == "divide" && i == 0 {
			continue
		}
		r := rangeOf(k.Value)
		if name == "divide" {
			return math.Min(math.Abs(r.low), math.Abs(r.high)) >= 1.0/mostFactor && r.low*r.high > 0
		}
		return r.largest() <= mostFactor
	}
	return name == "multiply" && c.call.Args[0] != c.call.Args[1] && a.gated(c)
}

// gated reports whether one factor is between -1 and 1 by its nature, as that of a gate is.
func (a *assignment) gated(c *choice) bool {
	for _, arg := range c.call.Args {
		call, ok := arg.(*relay.Call)
		if ok && call.Op != nil && unitRange[call.Op.Name] {
			return true
		}
	}
	return false
}

// mostGain is what the magnitudes of the weights of one output may add up to before the output is called large: values of
// order one then stay far from the end of float16.
const mostGain = 4096

// gain returns the largest sum of magnitudes of the weights of one output of a product, 0 where they are not known.
func (c *choice) gain() float64 {
	k := c.constantWeight()
	if k == nil || k.Value.DType != tensor.Float32 {
		return 0
	}
	g, _ := largestSum(k.Value, c.call)
	return g
}

// refused returns why the readers and operands of a choice do not allow half precision, or "".
func (a *assignment) refused(c *choice) string {
	for _, u := range c.users {
		k := u.by.keeping()
		switch {
		case u.by.call == nil:
			return "it leaves the graph as float32"
		case a.named(u.by) || k == deny:
			return fmt.Sprintf("%s (%s) wants it in float32", nodeName(u.by.call), u.by.call.Op.Name)
		case k == follow && !u.by.half:
			return fmt.Sprintf("%s goes on with it in float32", nodeName(u.by.call))
		}
	}
	if c.keeping() != follow {
		return ""
	}
	for _, r := range c.reads {
		if _, constant := r.value.(*relay.Constant); constant || !is32(r.value) {
			continue
		}
		switch {
		case r.from == nil:
			return "it is made of an input of the model"
		case !r.from.half && (r.from.store != inRegisters || c.store == inRegisters):
			return "its operand is kept in float32"
		}
	}
	return ""
}

// constantsFit reports whether the constants that an operator moves keep their values.
func (a *assignment) constantsFit(c *choice) bool {
	for _, arg := range c.call.Args {
		if k, ok := arg.(*relay.Constant); ok && k.Value.DType == tensor.Float32 && a.narrow(k).lost > mostLost {
			return false
		}
	}
	return true
}

// mostLost is the largest rounding error of a constant, relative to its elements, both as root mean squares, with which it
// is kept in half precision: twice what bfloat16 has for numbers of any size that it holds.
const mostLost = 1.0 / 256

// narrowed is a constant of float32 in half precision.
type narrowed struct {
	constant *relay.Constant
	lost     float64 // the rounding error relative to the elements, both as root mean squares; infinite when one is too large
}

// narrow rounds a constant of float32, once however many ask.
func (a *assignment) narrow(c *relay.Constant) *narrowed {
	if n := a.narrows[c]; n != nil {
		return n
	}
	d := a.o.Precision.Store
	t := tensor.New(d, c.Value.Shape)
	to := tensor.View[uint16](t)
	err, sum := 0.0, 0.0
	for i, v := range tensor.View[float32](c.Value) {
		to[i] = tensor.EncodeHalf(d, v)
		x, e := float64(v), float64(v-tensor.DecodeHalf(d, to[i]))
		if x-x == 0 { // neither infinite nor NaN
			err += e * e
			sum += x * x
		}
	}
	n := &narrowed{constant: relay.NewConstant(t, c.Name, c.Pos())}
	if err > 0 {
		n.lost = math.Sqrt(err / sum)
	}
	a.narrows[c] = n
	return n
}

// halfWeight reports whether the weight of a product may be kept in half precision, and why not.
func (a *assignment) halfWeight(c *choice) (bool, string) {
	k := c.constantWeight()
	switch {
	case k == nil || k.Value.DType != tensor.Float32 || a.o.Precision.Store == tensor.Invalid:
		return false, ""
	case a.named(c):
		return false, "as asked for"
	}
	if e := a.narrow(k).lost; e > mostLost {
		return false, fmt.Sprintf("%v holds it with an error of %.2g of its size", a.o.Precision.Store, e)
	}
	return true, ""
}

// notePrecision says what stays in float32, and why.
func (a *assignment) notePrecision() {
	d := a.o.Precision.Store
	halves, values, weights, all, dear := 0, 0, 0, 0, 0
	for _, c := range a.choices {
		if c.call == nil {
			continue
		}
		if k := c.constantWeight(); k != nil && k.Value.DType == tensor.Float32 {
			all++
			switch ok, why := a.halfWeight(c); {
			case c.label.weight == d:
				weights++
			case ok:
				dear++
			default:
				a.o.Notes.Add(diag.Kept, "assign", nodeName(c.call), "its weight stays in float32: %s", why)
			}
		}
		if !is32(c.e) || c.store != inMemory {
			continue
		}
		values++
		switch {
		case c.label.store == d:
			halves++
		case c.half:
			dear++
		case c.wide != "":
			a.o.Notes.Add(diag.Kept, "assign", nodeName(c.call), "stays in float32: %s", c.wide)
		}
	}
	text := fmt.Sprintf("%d of %d values in memory and %d of %d weights are kept in %v", halves, values, weights, all, d)
	if dear > 0 {
		text += fmt.Sprintf("; %d stay in float32 because that is faster by the cost model", dear)
	}
	a.o.Notes.Add(diag.Chose, "assign", "precision", "%s", text)
}
