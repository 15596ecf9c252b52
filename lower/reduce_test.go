package lower

import (
	"math"
	"testing"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

func TestReduce(t *testing.T) {
	var cases []opCase
	for _, op := range []string{"sum", "mean", "prod", "max", "min", "logsumexp", "all", "any", "argmax", "argmin"} {
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int8, tensor.Int32, tensor.Uint64, tensor.Bool} {
			for _, axes := range [][]int{nil, {}, {-1}, {0}, {0, 2}, {1}} {
				for _, keep := range []bool{false, true} {
					var attrs any = &relay.ReduceAttrs{Axis: axes, Keepdims: keep}
					if op[:2] == "ar" {
						attrs = &relay.ArgReduceAttrs{Axis: axes, Keepdims: keep, DType: tensor.Int64, SelectLastIndex: keep}
					}
					c := opCase{op: op, attrs: attrs, in: one(typ(d, 3, 5, 18))}
					if _, err := c.function(); err == nil {
						cases = append(cases, c)
					}
				}
			}
		}
	}
	nan := func(_ int, w *tensor.Wide) {
		for i := range w.F {
			if i%7 == 0 {
				w.F[i] = math.NaN()
			}
		}
	}
	allNaN := func(_ int, w *tensor.Wide) {
		for i := range w.F {
			w.F[i] = math.NaN()
		}
	}
	endless := func(_ int, w *tensor.Wide) {
		for i := range w.F {
			w.F[i] = math.Inf(-1)
		}
	}
	for _, fill := range []func(int, *tensor.Wide){nan, allNaN, endless} {
		for _, op := range []string{"max", "min", "logsumexp"} {
			cases = append(cases, opCase{op: op, attrs: &relay.ReduceAttrs{Axis: []int{1}}, in: one(f32(4, 33)), fill: fill})
		}
		for _, op := range []string{"argmax", "argmin"} {
			for _, last := range []bool{false, true} {
				cases = append(cases, opCase{op: op, attrs: &relay.ArgReduceAttrs{Axis: []int{1}, DType: tensor.Int32, SelectLastIndex: last},
					in: one(f32(4, 33)), fill: fill})
			}
		}
	}
	for _, op := range []string{"sum", "mean", "prod", "max", "min", "logsumexp"} { // over nothing
		cases = append(cases, opCase{op: op, attrs: &relay.ReduceAttrs{Axis: []int{1}}, in: one(f32(3, 0))})
	}
	cases = append(cases, opCase{op: "sum", attrs: &relay.ReduceAttrs{}, in: one(f32())},
		opCase{op: "sum", attrs: &relay.ReduceAttrs{Axis: []int{1}, Exclude: true}, in: one(f32(3, 40, 2))},
		opCase{op: "sum", attrs: &relay.ReduceAttrs{Axis: []int{1}}, in: one(f32(0, 40))},
		opCase{op: "max", attrs: &relay.ReduceAttrs{Axis: []int{1}}, in: one(f32(3, 1001))},
		opCase{op: "mean", attrs: &relay.ReduceAttrs{Axis: []int{1, 2}}, in: one(f32(1, 14, 14, 70))},
		opCase{op: "mean", attrs: &relay.ReduceAttrs{Axis: []int{2, 3}}, in: one(f32(1, 70, 14, 14))})
	for _, op := range []string{"cumsum", "cumprod"} {
		for _, a := range []*relay.ScanAttrs{{}, {Axis: 1, Exclusive: true}, {Axis: -1, Reverse: true}, {Axis: 1, Exclusive: true, Reverse: true}} {
			cases = append(cases, opCase{op: op, attrs: a, in: one(f32(3, 4, 5))}, opCase{op: op, attrs: a, in: one(typ(tensor.Int32, 3, 4))},
				opCase{op: op, attrs: a, in: one(typ(tensor.Float16, 3, 4))})
		}
	}
	runCases(t, cases)
}

func TestNorm(t *testing.T) {
	var cases []opCase
	for _, op := range []string{"nn.softmax", "nn.log_softmax"} {
		for _, axis := range []int{0, 1, -1} {
			cases = append(cases, opCase{op: op, attrs: &relay.AxisAttrs{Axis: axis}, in: one(f32(3, 4, 21))},
				opCase{op: op, attrs: &relay.AxisAttrs{Axis: axis}, in: one(typ(tensor.Float16, 1, 40))})
		}
		cases = append(cases, opCase{op: op, attrs: &relay.AxisAttrs{Axis: 0}, in: one(f32(1000))},
			opCase{op: op, attrs: &relay.AxisAttrs{Axis: -1}, in: one(f32(5, 6625))},
			opCase{op: op, attrs: &relay.AxisAttrs{Axis: 1}, in: one(f32(2, 6, 5, 7))})
	}
	positive := func(i int, w *tensor.Wide) {
		for n := range w.F {
			if i == 4 {
				w.F[n] = math.Abs(w.F[n])
			}
		}
	}
	for _, flags := range [][2]bool{{true, true}, {false, true}, {true, false}, {false, false}} {
		c, s := flags[0], flags[1]
		cases = append(cases,
			opCase{op: "nn.batch_norm", attrs: &relay.BatchNormAttrs{Axis: 1, Epsilon: 1e-3, Center: c, Scale: s},
				in: one(f32(2, 5, 3), f32(5), f32(5), f32(5), f32(5)), fill: positive},
			opCase{op: "nn.layer_norm", attrs: &relay.NormAttrs{Axis: -1, Epsilon: 1e-5, Center: c, Scale: s}, in: one(f32(2, 3, 40), f32(40), f32(40))},
			opCase{op: "nn.layer_norm", attrs: &relay.NormAttrs{Axis: 1, Epsilon: 1e-5, Center: c, Scale: s}, in: one(f32(2, 3, 40), f32(3), f32(3))},
			opCase{op: "nn.instance_norm", attrs: &relay.NormAttrs{Axis: 1, Epsilon: 1e-5, Center: c, Scale: s}, in: one(f32(2, 3, 6, 7), f32(3), f32(3))},
			opCase{op: "nn.instance_norm", attrs: &relay.NormAttrs{Axis: -1, Epsilon: 1e-5, Center: c, Scale: s}, in: one(f32(2, 3, 6, 18), f32(18), f32(18))},
			opCase{op: "nn.group_norm", attrs: &relay.GroupNormAttrs{NumGroups: 3, Axis: 1, Epsilon: 1e-5, Center: c, Scale: s},
				in: one(f32(2, 6, 5, 4), f32(6), f32(6))},
			opCase{op: "nn.group_norm", attrs: &relay.GroupNormAttrs{NumGroups: 2, Axis: -1, Epsilon: 1e-5, Center: c, Scale: s},
				in: one(typ(tensor.Float16, 2, 3, 4, 6), typ(tensor.Float16, 6), typ(tensor.Float16, 6))})
	}
	for _, size := range []int{1, 4, 5, 1 << 40} {
		for _, beta := range []float64{0.75, 0.5, 1, 0.6} {
			cases = append(cases, opCase{op: "nn.lrn", attrs: &relay.LRNAttrs{Size: size, Axis: 1, Bias: 2, Alpha: 0.1, Beta: beta}, in: one(f32(1, 7, 3, 4))},
				opCase{op: "nn.lrn", attrs: &relay.LRNAttrs{Size: size, Axis: -1, Bias: 2, Alpha: 0.1, Beta: beta}, in: one(f32(1, 3, 4, 19))})
		}
	}
	for _, axes := range [][]int{nil, {-1}, {1}, {1, 2}} {
		cases = append(cases, opCase{op: "nn.l2_normalize", attrs: &relay.L2NormalizeAttrs{Eps: 1e-6, Axis: axes}, in: one(f32(3, 4, 18))})
	}
	for _, layout := range []string{"NCHW", "NHWC", "NCHW4c"} {
		for _, gate := range []string{"sigmoid", "hard_sigmoid"} {
			for _, activation := range []string{"relu", "swish", "hard_swish"} {
				shape := map[string]*relay.TensorType{"NCHW": f32(2, 10, 5, 3), "NHWC": f32(2, 5, 3, 10), "NCHW4c": f32(2, 3, 5, 3, 4)}[layout]
				cases = append(cases, opCase{op: "nn.squeeze_excite",
					attrs: &relay.SqueezeExciteAttrs{Activation: activation, Gate: gate, GateAlpha: 0.2, GateBeta: 0.5, Layout: layout},
					in:    one(shape, f32(6, 10), f32(6), f32(10, 6), f32(10))})
			}
		}
	}
	runCases(t, cases)
}

func TestPool(t *testing.T) {
	var cases []opCase
	add := func(op string, attrs any, shapes ...*relay.TensorType) {
		for _, x := range shapes {
			cases = append(cases, opCase{op: op, attrs: attrs, in: one(x)})
		}
	}
	for _, kind := range []string{"max", "avg"} {
		for _, layout := range []string{"NCHW", "NHWC", "NCHW4c"} {
			shape := map[string][]int{"NCHW": {2, 20, 9, 7}, "NHWC": {2, 9, 7, 20}, "NCHW4c": {2, 5, 9, 7, 4}}[layout]
			x, i8 := f32(shape...), typ(tensor.Int8, shape...)
			for _, include := range []bool{false, true} {
				for _, a := range []relay.PoolAttrs{
					{PoolSize: []int{2, 2}, Strides: []int{2, 2}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}},
					{PoolSize: []int{3, 3}, Strides: []int{2, 2}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}},
					{PoolSize: []int{3, 2}, Strides: []int{2, 3}, Padding: []int{1, 0, 0, 1}, Dilation: []int{2, 1}, CeilMode: true},
					{PoolSize: []int{2, 2}, Strides: []int{1, 1}, Padding: []int{3, 3, 3, 3}, Dilation: []int{1, 2}},
				} {
					a.Layout, a.CountIncludePad = layout, include
					add("nn."+kind+"_pool2d", &a, x, i8)
				}
			}
			add("nn.global_"+kind+"_pool2d", &relay.GlobalPoolAttrs{Layout: layout}, x, i8, typ(tensor.Float16, shape...))
			add("nn.adaptive_"+kind+"_pool2d", &relay.AdaptivePoolAttrs{OutputSize: []int{3, 7}, Layout: layout}, x)
			add("nn.adaptive_"+kind+"_pool2d", &relay.AdaptivePoolAttrs{OutputSize: []int{4, 9}, Layout: layout}, x, i8)
		}
		add("nn."+kind+"_pool1d", &relay.PoolAttrs{PoolSize: []int{3}, Strides: []int{2}, Padding: []int{1, 1}, Dilation: []int{1}, Layout: "NCW"}, f32(1, 3, 19))
		add("nn."+kind+"_pool3d", &relay.PoolAttrs{PoolSize: []int{2, 2, 3}, Strides: []int{2, 1, 2}, Padding: []int{0, 1, 1, 1, 0, 1}, Dilation: []int{1, 1, 1},
			Layout: "NCDHW"}, f32(1, 3, 4, 5, 6))
	}
	for _, a := range []relay.PoolAttrs{
		{PoolSize: []int{3, 3}, Strides: []int{2, 2}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}, Layout: "NCHW"},
		{PoolSize: []int{2, 2}, Strides: []int{1, 1}, Padding: []int{2, 2, 2, 2}, Dilation: []int{1, 1}, Layout: "NHWC"},
	} {
		add("nn.max_pool2d_with_argmax", &a, f32(2, 5, 6, 7), typ(tensor.Uint8, 1, 5, 4, 3))
	}
	runCases(t, cases)
}

func TestSort(t *testing.T) {
	var cases []opCase
	holes := func(_ int, w *tensor.Wide) {
		for i := range w.F {
			switch i % 11 {
			case 3:
				w.F[i] = math.NaN()
			case 5, 7:
				w.F[i] = 1
			}
		}
	}
	for _, ascend := range []bool{false, true} {
		for _, axis := range []int{0, 1, -1} {
			for _, d := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int32, tensor.Uint64} {
				for _, x := range []*relay.TensorType{typ(d, 4, 7, 3), typ(d, 2, 1, 100)} {
					cases = append(cases,
						opCase{op: "sort", attrs: &relay.SortAttrs{Axis: axis, IsAscend: ascend, DType: tensor.Int64}, in: one(x), fill: holes},
						opCase{op: "argsort", attrs: &relay.SortAttrs{Axis: axis, IsAscend: ascend, DType: tensor.Int32}, in: one(x), fill: holes})
					for _, k := range []int{0, 1, 3, 70} {
						if k <= x.Shape[relay.NormalAxis(axis, 3)] {
							cases = append(cases, opCase{op: "topk", attrs: &relay.TopKAttrs{K: k, Axis: axis, IsAscend: ascend, DType: tensor.Int64}, in: one(x), fill: holes})
						}
					}
				}
			}
		}
	}
	cases = append(cases, opCase{op: "sort", attrs: &relay.SortAttrs{Axis: 0, IsAscend: true, DType: tensor.Int64}, in: one(f32(0))})
	runCases(t, cases)
}

func TestNonMaxSuppression(t *testing.T) {
	var cases []opCase
	for _, center := range []bool{false, true} {
		for _, most := range []float64{-1, 0, 2, 100} {
			for _, least := range []float64{math.Inf(-1), 0, 3} {
				cases = append(cases, opCase{op: "vision.non_max_suppression", attrs: &relay.NonMaxSuppressionAttrs{MostBoxes: 20, CenterPointBox: center},
					in: one(f32(2, 30, 4), f32(2, 3, 30), typ(tensor.Int64), f32(), f32()), fill: func(i int, w *tensor.Wide) {
						switch i {
						case 2:
							w.I[0] = int64(most)
						case 3:
							w.F[0] = 0.3
						case 4:
							w.F[0] = least
						}
					}})
			}
		}
	}
	runCases(t, cases)
}

func TestConvTranspose(t *testing.T) {
	var cases []opCase
	add := func(op, data, kernel string, x, w *relay.TensorType, a relay.ConvTransposeAttrs) {
		a.DataLayout, a.KernelLayout = data, kernel
		cases = append(cases, opCase{op: op, attrs: &a, in: one(x, w)})
	}
	for _, a := range []relay.ConvTransposeAttrs{
		{Strides: []int{2, 2}, Padding: []int{0, 0, 0, 0}, OutputPadding: []int{0, 0}, Dilation: []int{1, 1}, Groups: 1},
		{Strides: []int{2, 3}, Padding: []int{1, 0, 1, 1}, OutputPadding: []int{1, 2}, Dilation: []int{1, 2}, Groups: 1},
		{Strides: []int{1, 1}, Padding: []int{1, 1, 1, 1}, OutputPadding: []int{0, 0}, Dilation: []int{1, 2}, Groups: 2},
		{Strides: []int{4, 2}, Padding: []int{0, 0, 0, 0}, OutputPadding: []int{0, 1}, Dilation: []int{2, 4}, Groups: 1},
	} {
		for _, k := range []int{2, 3} {
			add("nn.conv2d_transpose", "NCHW", "IOHW", f32(1, 4, 5, 4), f32(4, 6, k, k), a)
			add("nn.conv2d_transpose", "NHWC", "IOHW", f32(1, 5, 4, 4), f32(4, 6, k, k), a)
			add("nn.conv2d_transpose", "NHWC", "HWIO", f32(1, 5, 4, 4), f32(k, k, 4, 20), a)
		}
	}
	for _, o := range []int{1, 2, 4} {
		for _, k := range []int{2, 3, 4} {
			add("nn.conv2d_transpose", "NHWC", "HWIO", f32(2, 5, 19, 3), f32(k, k, 3, o),
				relay.ConvTransposeAttrs{Strides: []int{2, 2}, Padding: []int{k / 3, 0, 0, 0}, OutputPadding: []int{0, 1}, Dilation: []int{1, 1}, Groups: 1})
		}
	}
	add("nn.conv1d_transpose", "NCW", "IOW", f32(2, 3, 9), f32(3, 2, 4),
		relay.ConvTransposeAttrs{Strides: []int{2}, Padding: []int{1, 1}, OutputPadding: []int{0}, Dilation: []int{1}, Groups: 1})
	add("nn.conv3d_transpose", "NCDHW", "IODHW", f32(1, 2, 3, 3, 3), f32(2, 3, 2, 2, 2),
		relay.ConvTransposeAttrs{Strides: []int{2, 2, 2}, Padding: []int{0, 0, 0, 0, 0, 0}, OutputPadding: []int{0, 0, 0}, Dilation: []int{1, 1, 1}, Groups: 1})
	runCases(t, cases)
}
