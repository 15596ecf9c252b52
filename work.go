package texel

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// work is what one call of a fused function costs and how its errors grow.
type work struct {
	flops     int64 // floating-point operations, a multiply-add counted as two
	reduction int   // the longest sum that an output element depends on
	steps     int   // roundings that an element passes besides the sums
	rounds    bool  // floats become integers on the way
	decides   bool  // floats become booleans on the way
}

// measure adds up the operators of a function.
func measure(fn *relay.Function) work {
	w := work{reduction: 1}
	for e := range relay.PostOrder(fn, false) {
		c, ok := e.(*relay.Call)
		if !ok || c.Op == nil {
			continue
		}
		out := elems(c.Type())
		k := reduction(c)
		a, attends := c.Attrs.(*relay.AttentionAttrs)
		switch {
		case attends:
			depth, keys := attended(c, a)
			columns := relay.Tensor(c).Shape[len(relay.Tensor(c).Shape)-1]
			w.flops += 2*out*int64(keys) + out/int64(max(1, columns))*int64(keys)*int64(2*depth+1)
			k, w.steps = max(depth, keys), w.steps+3
		case c.Op.Class == relay.OutFusable:
			w.flops += 2 * out * int64(k)
		case c.Op.Class == relay.Reduce:
			w.flops += out * int64(k)
		case c.Op.Class != relay.Injective:
			w.flops += out
		}
		w.steps++
		w.rounds = w.rounds || quantizes(c)
		w.decides = w.decides || compares(c)
		w.reduction = max(w.reduction, k)
	}
	return w
}

// attended returns the elements of a key of an attention, and the number of keys.
func attended(c *relay.Call, a *relay.AttentionAttrs) (depth, keys int) {
	k := relay.Tensor(c.Args[1]).Shape
	keys, depth = k[len(k)-2], k[len(k)-1]
	if a.TransposeK {
		keys, depth = depth, keys
	}
	return depth, keys
}

// quantizes reports whether c turns floats into integers.
func quantizes(c *relay.Call) bool {
	out := relay.Tensor(c)
	return out != nil && out.DType.IsInt() && takesFloats(c)
}

// compares reports whether c turns floats into booleans.
func compares(c *relay.Call) bool {
	out := relay.Tensor(c)
	return out != nil && out.DType == tensor.Bool && takesFloats(c)
}

func takesFloats(c *relay.Call) bool {
	if len(c.Args) == 0 {
		return false
	}
	in := relay.Tensor(c.Args[0])
	return in != nil && in.DType.IsFloat()
}

// reduction returns how many elements an element of c's result sums up.
func reduction(c *relay.Call) int {
	if len(c.Args) == 0 {
		return 1
	}
	out, in := elems(c.Type()), elems(c.Args[0].Type())
	switch {
	case out == 0 || in == 0:
		return 1
	case c.Op.Class == relay.OutFusable && len(c.Args) > 1:
		weight := relay.Tensor(c.Args[1])
		if weight == nil {
			return 1
		}
		if a, ok := c.Attrs.(*relay.ConvAttrs); ok {
			return int(elems(weight)) / max(1, channels(weight.Shape, a.KernelLayout))
		}
		if a, ok := c.Attrs.(*relay.ConvTransposeAttrs); ok {
			return int(elems(weight)) / max(1, channels(weight.Shape, a.KernelLayout)) / max(1, a.Groups)
		}
		if _, ok := c.Attrs.(*relay.DenseAttrs); ok {
			data := relay.Tensor(c.Args[0]).Shape
			return data[len(data)-1]
		}
		// (B, M, K) times (B, K, N): the product of the operands over the result is B·K², or K² where B is on one side.
		batch := int64(1)
		if result := relay.Tensor(c); result != nil && len(weight.Shape) > 2 && len(result.Shape) > 2 {
			batch = int64(result.Shape[:len(result.Shape)-2].Elems())
		}
		k := math.Sqrt(float64(in) * float64(elems(weight)) / float64(out) / float64(max(1, batch)))
		return max(1, int(math.Round(k)))
	case isScan(c):
		t := relay.Tensor(c.Args[0])
		return max(1, t.Shape[relay.NormalAxis(c.Attrs.(*relay.ScanAttrs).Axis, len(t.Shape))])
	case c.Op.Class == relay.Reduce && in > out:
		return int((in + out - 1) / out)
	case c.Op.Class == relay.Reduce: // softmax, normalisation: along an axis
		if t := relay.Tensor(c.Args[0]); t != nil && len(t.Shape) > 0 {
			return max(1, t.Shape[len(t.Shape)-1])
		}
	}
	return 1
}

// isScan reports whether an operator gives running sums or products.
func isScan(c *relay.Call) bool {
	_, ok := c.Attrs.(*relay.ScanAttrs)
	return ok
}

// channels returns the extent of axis O of a kernel in its layout.
func channels(shape tensor.Shape, layout string) int {
	l, err := tensor.ParseLayout(layout)
	if err != nil || l.Fits(shape) != nil {
		return 1
	}
	return l.Extent(shape, 'O')
}

// elems returns the number of elements of a type, those of a tuple's fields together.
func elems(t relay.Type) int64 {
	switch t := t.(type) {
	case *relay.TensorType:
		return int64(max(0, t.Shape.Elems()))
	case *relay.TupleType:
		n := int64(0)
		for _, f := range t.Fields {
			n += elems(f)
		}
		return n
	}
	return 0
}
