package relay

import (
	"strconv"

	"github.com/texel-ml/texel/tensor"
)

// PoolAttrs are the attributes of the pools with a window. Lists follow the spatial letters in the order D, H, W.
type PoolAttrs struct {
	PoolSize        []int  `relay:"pool_size"`
	Strides         []int  `relay:"strides"`
	Padding         []int  `relay:"padding"` // all begins, then all ends
	Dilation        []int  `relay:"dilation"`
	CeilMode        bool   `relay:"ceil_mode"`
	CountIncludePad bool   `relay:"count_include_pad"` // average pools only
	Layout          string `relay:"layout"`
}

// GlobalPoolAttrs are the attributes of the global pools.
type GlobalPoolAttrs struct {
	Layout string `relay:"layout"` // with one to three spatial axes
}

// AdaptivePoolAttrs are the attributes of the adaptive pools.
type AdaptivePoolAttrs struct {
	OutputSize []int  `relay:"output_size"` // one extent a spatial axis
	Layout     string `relay:"layout"`
}

// poolOps are the pools.
func poolOps() []*Op {
	var ops []*Op
	for rank := 1; rank <= 3; rank++ {
		suffix := strconv.Itoa(rank) + "d"
		attrs := func() any {
			return &PoolAttrs{PoolSize: ints(rank, 1), Strides: ints(rank, 1), Padding: ints(2*rank, 0), Dilation: ints(rank, 1),
				Layout: "NC" + spatialLetters[rank]}
		}
		const extent = " Windows start at x·strides − padding and have pool_size elements dilation apart; the last extent is rounded down, " +
			"or up with ceil_mode, but no window starts in the padding at the end."
		ops = append(ops, &Op{
			Name: "nn.max_pool" + suffix, Args: []string{"data"}, NewAttrs: attrs, Infer: inferPool, Eval: evalMaxPool, Class: Reduce, Lower: "pool",
			Doc: "the largest element of each window; padding never wins, NaN does." + extent,
		}, &Op{
			Name: "nn.avg_pool" + suffix, Args: []string{"data"}, NewAttrs: attrs, Infer: inferPool, Eval: evalAvgPool, Class: Reduce, Lower: "pool",
			Doc: "the mean of each window: the sum of its elements over their number, that of the padding included with count_include_pad. " +
				"Cells that ceil_mode adds beyond the padding never count." + extent,
		})
	}
	ops = append(ops, &Op{
		Name: "nn.max_pool2d_with_argmax", Args: []string{"data"},
		NewAttrs: func() any {
			return &PoolAttrs{PoolSize: ints(2, 1), Strides: ints(2, 1), Padding: ints(4, 0), Dilation: ints(2, 1), Layout: "NCHW"}
		},
		Infer: inferPoolArgmax, Eval: evalMaxPoolArgmax, Class: Opaque, Lower: "pool",
		Doc: "a tuple of nn.max_pool2d's result and, as int64, the index of each maximum in the whole flattened data; the first of equal ones.",
	})
	for _, whole := range []struct {
		kind string
		eval evalFunc
	}{{"avg", evalWholePool(meanFloats, meanInts)}, {"max", evalWholePool(maxFloats, maxInts)}} {
		kind, eval := whole.kind, whole.eval
		attrs := func() any { return &GlobalPoolAttrs{Layout: "NCHW"} }
		ops = append(ops, &Op{
			Name: "nn.global_" + kind + "_pool2d", Args: []string{"data"}, NewAttrs: attrs, Infer: inferGlobalPool, Eval: eval, Class: Reduce,
			Lower: "global_pool",
			Doc:   kind + " over all spatial axes, which get extent 1. The layout has one to three of them.",
		}, &Op{
			Name: "nn.adaptive_" + kind + "_pool2d", Args: []string{"data"},
			NewAttrs: func() any { return &AdaptivePoolAttrs{OutputSize: ints(2, 1), Layout: "NCHW"} },
			Infer:    inferAdaptivePool, Eval: eval, Class: Reduce, Lower: "adaptive_pool",
			Doc: kind + " over windows that cut each spatial axis of extent I in O = output_size parts: window i is [⌊i·I/O⌋, ⌈(i+1)·I/O⌉).",
		})
	}
	return ops
}

func inferPool(s *Site) (Type, error) {
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	shape, err := s.poolShape(t)
	if err != nil {
		return nil, err
	}
	return s.Result(t.DType, shape)
}

func inferPoolArgmax(s *Site) (Type, error) {
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	shape, err := s.poolShape(t)
	if err != nil {
		return nil, err
	}
	values, err := s.Result(t.DType, shape)
	if err != nil {
		return nil, err
	}
	return &TupleType{[]Type{values, &TensorType{shape, tensor.Int64}}}, nil
}

func (s *Site) poolShape(t *TensorType) (tensor.Shape, error) {
	a, err := attrsOf[PoolAttrs](s)
	if err != nil {
		return nil, err
	}
	l, err := s.layout(a.Layout, "", t.Shape)
	if err != nil {
		return nil, err
	}
	axes, ok := spatialAxes(l)
	if !ok {
		return nil, s.Illegal("layout %v, wanted one with the axes N, C and spatial ones", l)
	}
	n := len(axes)
	for _, list := range []struct {
		name  string
		list  []int
		n     int
		least int
	}{{"pool_size", a.PoolSize, n, 1}, {"strides", a.Strides, n, 1}, {"padding", a.Padding, 2 * n, 0}, {"dilation", a.Dilation, n, 1}} {
		if err := s.count(list.name, list.list, list.n, list.least); err != nil {
			return nil, err
		}
	}
	out := t.Shape.Clone()
	for i, axis := range axes {
		in, begin, end := t.Shape[axis], a.Padding[i], a.Padding[n+i]
		if a.PoolSize[i] > 1<<31/a.Dilation[i] {
			return nil, s.Illegal("dilation=%v of window %v is too large", a.Dilation, a.PoolSize)
		}
		window := a.Dilation[i]*(a.PoolSize[i]-1) + 1
		room := in + begin + end - window
		if room < 0 && !(a.CeilMode && room > -a.Strides[i]) {
			return nil, s.Illegal("window of %d is larger than padded extent %d of axis %d", window, in+begin+end, axis)
		}
		out[axis] = PoolExtent(in, a.PoolSize[i], a.Strides[i], begin, end, a.Dilation[i], a.CeilMode)
	}
	return out, nil
}

// PoolExtent returns the number of windows along one axis. With ceil the last one may be partial, unless it would
// start in the padding at the end.
func PoolExtent(in, size, stride, begin, end, dilation int, ceil bool) int {
	room := in + begin + end - dilation*(size-1) - 1
	if !ceil {
		return room/stride + 1
	}
	n := (room+stride-1)/stride + 1
	if (n-1)*stride >= in+begin {
		n--
	}
	return n
}

func inferGlobalPool(s *Site) (Type, error) {
	a, err := attrsOf[GlobalPoolAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	l, err := s.layout(a.Layout, "", t.Shape)
	if err != nil {
		return nil, err
	}
	axes, ok := spatialAxes(l)
	if !ok {
		return nil, s.Illegal("layout %v, wanted one with the axes N, C and spatial ones", l)
	}
	out := t.Shape.Clone()
	for _, axis := range axes {
		if out[axis] == 0 {
			return nil, s.Illegal("axis %d of %v is empty", axis, t)
		}
		out[axis] = 1
	}
	return s.Result(t.DType, out)
}

func inferAdaptivePool(s *Site) (Type, error) {
	a, err := attrsOf[AdaptivePoolAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	l, err := s.layout(a.Layout, "", t.Shape)
	if err != nil {
		return nil, err
	}
	axes, ok := spatialAxes(l)
	if !ok {
		return nil, s.Illegal("layout %v, wanted one with the axes N, C and spatial ones", l)
	}
	if err := s.count("output_size", a.OutputSize, len(axes), 1); err != nil {
		return nil, err
	}
	out := t.Shape.Clone()
	for i, axis := range axes {
		if out[axis] == 0 {
			return nil, s.Illegal("axis %d of %v is empty", axis, t)
		}
		out[axis] = a.OutputSize[i]
	}
	return s.Result(t.DType, out)
}
