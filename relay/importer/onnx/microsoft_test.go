package onnx

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/texel-ml/texel/diag"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// microsoftCase is one node of com.microsoft on operands that are inputs of the model, and its definition in float64.
type microsoftCase struct {
	op      string
	attrs   []*pb.AttributeProto
	in      []*tensor.Tensor // nil: left out
	known   []int            // operands that are constants
	outputs []string         // "" is left out; nil: one
	want    func(x []operand) [][]float64
}

// operand is an operand in float64.
type operand struct {
	v     []float64
	shape tensor.Shape
}

func (o operand) at(idx ...int) float64 {
	at := 0
	for a, step := range o.shape.Strides() {
		at += idx[a] * step
	}
	return o.v[at]
}

func operandsOf(list []*tensor.Tensor) []operand {
	out := make([]operand, len(list))
	for i, t := range list {
		if t == nil {
			continue
		}
		w := tensor.Widen(t)
		out[i] = operand{w.F, t.Shape}
		for _, v := range w.I {
			out[i].v = append(out[i].v, float64(v))
		}
	}
	return out
}

// each maps every element of an operand, by its place.
func each(x operand, f func(i int, v float64) float64) [][]float64 {
	out := make([]float64, len(x.v))
	for i, v := range x.v {
		out[i] = f(i, v)
	}
	return [][]float64{out}
}

// model is the case as a model: operands are inputs, but the known ones.
func (c microsoftCase) model() (*pb.ModelProto, []*tensor.Tensor) {
	g := graphOf(nil, nil)
	var inputs []string
	var args []*tensor.Tensor
	number := map[tensor.DType]int32{}
	for k, d := range dtypes {
		number[d] = k
	}
	for i, t := range c.in {
		name := fmt.Sprintf("x%d", i)
		switch {
		case t == nil:
			name = ""
		case slices.Contains(c.known, i):
			g.Initializer = append(g.Initializer, &pb.TensorProto{Name: proto.String(name), DataType: proto.Int32(number[t.DType]), Dims: int64sOf(t.Shape), RawData: t.Data})
		default:
			var dims []any
			for _, d := range t.Shape {
				dims = append(dims, d)
			}
			g.Input = append(g.Input, value(name, number[t.DType], dims...))
			args = append(args, t)
		}
		inputs = append(inputs, name)
	}
	outputs := c.outputs
	if outputs == nil {
		outputs = names("y")
	}
	node := op(c.op, inputs, outputs, c.attrs...)
	node.Domain = proto.String(microsoftDomain)
	g.Node = []*pb.NodeProto{node}
	for _, o := range outputs {
		if o != "" {
			g.Output = append(g.Output, value(o, 0))
		}
	}
	m := model(17, g)
	m.OpsetImport = append(m.OpsetImport, &pb.OperatorSetIdProto{Domain: proto.String(microsoftDomain), Version: proto.Int64(1)})
	return m, args
}

func int64sOf(s tensor.Shape) []int64 {
	out := make([]int64, len(s))
	for i, d := range s {
		out[i] = int64(d)
	}
	return out
}

// Random operands: numbers around 0, bytes, and scalars.

var draw = rand.New(rand.NewPCG(3, 4))

func normal(shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.Float32, shape)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(draw.NormFloat64())
	}
	return t
}

func bytesDrawn(d tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape)
	for i := range t.Data {
		t.Data[i] = byte(draw.Uint32())
	}
	return t
}

func scale(v float32) *tensor.Tensor { return tensor.Of(tensor.Float32, tensor.Shape{}, v) }
func zeroU(v uint8) *tensor.Tensor   { return tensor.Of(tensor.Uint8, tensor.Shape{}, v) }

// quantizedU is round(v / scale) + zero, clamped to uint8.
func quantizedU(v float64, s, z operand) float64 {
	zero := 0.0
	if z.v != nil {
		zero = z.v[0]
	}
	return math.Max(0, math.Min(255, math.RoundToEven(v/s.v[0])+zero))
}

// realOf is (x - zero) · scale.
func realOf(x float64, s, z operand) float64 {
	if z.v != nil {
		x -= z.v[0]
	}
	return x * s.v[0]
}

func gelu64(v float64) float64 { return v / 2 * math.Erfc(-v/math.Sqrt2) }

func tanhGelu64(v float64) float64 {
	return v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
}

func sigmoid64(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// normalised is (x - mean) / √(variance + epsilon) of each row, or x / √(mean of squares + epsilon).
func normalised(x []float64, width int, epsilon float64, centre bool) []float64 {
	out := make([]float64, len(x))
	for r := 0; r < len(x); r += width {
		mean, square := 0.0, 0.0
		for _, v := range x[r : r+width] {
			mean += v / float64(width)
		}
		if !centre {
			mean = 0
		}
		for _, v := range x[r : r+width] {
			square += (v - mean) * (v - mean) / float64(width)
		}
		for i, v := range x[r : r+width] {
			out[r+i] = (v - mean) / math.Sqrt(square+epsilon)
		}
	}
	return out
}

// product is the product of matrices (m, k) and (k, n) that f and g give.
func product(m, k, n int, f, g func(i, j int) float64) []float64 {
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				out[i*n+j] += f(i, l) * g(l, j)
			}
		}
	}
	return out
}

// attended is attention of heads: q, k, v (B, S, heads·D), keys kept and a bias of the scores.
func attended(q, k, v operand, heads int, factor float64, bias func(b, h, i, j int) float64) []float64 {
	batch, rows, keys := q.shape[0], q.shape[1], k.shape[1]
	size, wide := q.shape[2]/heads, v.shape[2]/heads
	out := make([]float64, batch*rows*v.shape[2])
	for b := range batch {
		for h := range heads {
			for i := range rows {
				weights, sum := make([]float64, keys), 0.0
				for j := range keys {
					s := 0.0
					for d := range size {
						s += q.at(b, i, h*size+d) * k.at(b, j, h*size+d)
					}
					weights[j] = math.Exp(s*factor + bias(b, h, i, j))
					sum += weights[j]
				}
				for d := range wide {
					for j := range keys {
						out[(b*rows+i)*v.shape[2]+h*wide+d] += weights[j] / sum * v.at(b, j, h*wide+d)
					}
				}
			}
		}
	}
	return out
}

func noBias(int, int, int, int) float64 { return 0 }

// merged is x · w + bias cut in three along the columns.
func merged(x, w, bias operand) (q, k, v operand) {
	b, s, in, all := x.shape[0], x.shape[1], x.shape[2], w.shape[1]
	y := product(b*s, in, all, func(i, l int) float64 { return x.v[i*in+l] }, func(l, j int) float64 { return w.at(l, j) })
	cut := func(part int) operand {
		o := operand{shape: tensor.Shape{b, s, all / 3}}
		for i := range b * s {
			for j := range all / 3 {
				o.v = append(o.v, y[i*all+part*all/3+j]+bias.v[part*all/3+j])
			}
		}
		return o
	}
	return cut(0), cut(1), cut(2)
}

// joinedTime joins (B, N, P, D) and (B, S, N·D) along time, as (B, P+S, N·D).
func joinedTime(past, x operand, heads int) operand {
	b, p, d, s := past.shape[0], past.shape[2], past.shape[3], x.shape[1]
	o := operand{shape: tensor.Shape{b, p + s, heads * d}}
	for i := range b {
		for t := range p + s {
			for c := range heads * d {
				if t < p {
					o.v = append(o.v, past.at(i, c/d, t, c%d))
				} else {
					o.v = append(o.v, x.at(i, t-p, c))
				}
			}
		}
	}
	return o
}

func activationCases() (list []microsoftCase) {
	activations := map[string]func(float64) float64{
		"": func(v float64) float64 { return v }, "Relu": func(v float64) float64 { return math.Max(v, 0) }, "Sigmoid": sigmoid64, "Tanh": math.Tanh,
		"Softplus": func(v float64) float64 { return math.Log1p(math.Exp(v)) }, "Softsign": func(v float64) float64 { return v / (1 + math.Abs(v)) },
		"HardSwish": func(v float64) float64 { return v * math.Max(0, math.Min(1, v/6+0.5)) },
		"LeakyRelu": func(v float64) float64 { return math.Max(v, 0.25*v) },
		"Elu": func(v float64) float64 {
			if v < 0 {
				return 0.25 * math.Expm1(v)
			}
			return v
		},
		"ThresholdedRelu": func(v float64) float64 {
			if v > 0.25 {
				return v
			}
			return 0
		},
		"HardSigmoid": func(v float64) float64 { return math.Max(0, math.Min(1, 0.25*v+0.75)) },
		"Clip":        func(v float64) float64 { return math.Max(0.25, math.Min(0.75, v)) },
	}
	for _, name := range slices.Sorted(maps.Keys(activations)) {
		f := activations[name]
		convolved := func(x []operand) [][]float64 {
			image, w := x[0], x[1]
			out := []float64{}
			for o := range 4 {
				for r := range 4 {
					for c := range 3 {
						sum := x[2].v[o] + x[3].at(0, o, r, c)
						for i := range 3 {
							for k := range 9 {
								if y, z := r+k/3-1, 2*c+k%3-1; y >= 0 && y < 4 && z >= 0 && z < 5 {
									sum += image.at(0, i, y, z) * w.at(o, i, k/3, k%3)
								}
							}
						}
						out = append(out, f(sum))
					}
				}
			}
			return [][]float64{out}
		}
		params := &pb.AttributeProto{Name: proto.String("activation_params"), Type: pb.AttributeProto_FLOATS.Enum(), Floats: []float32{0.25, 0.75}}
		list = append(list,
			microsoftCase{op: "FusedConv", attrs: []*pb.AttributeProto{attr("activation", name), params, attr("pads", []int{1, 1, 1, 1}), attr("strides", []int{1, 2})},
				in: []*tensor.Tensor{normal(1, 3, 4, 5), normal(4, 3, 3, 3), normal(4), normal(1, 4, 4, 3)}, known: []int{1, 2}, want: convolved},
			microsoftCase{op: "FusedGemm", attrs: []*pb.AttributeProto{attr("activation", name), attr("activation_alpha", 0.25), attr("activation_beta", 0.75),
				attr("transA", 1), attr("alpha", 0.5), attr("beta", 2.0)}, in: []*tensor.Tensor{normal(5, 3), normal(5, 4), normal(4)}, known: []int{1, 2},
				want: func(x []operand) [][]float64 {
					y := product(3, 5, 4, func(i, l int) float64 { return x[0].at(l, i) }, func(l, j int) float64 { return x[1].at(l, j) })
					return each(operand{v: y}, func(i int, v float64) float64 { return f(0.5*v + 2*x[2].v[i%4]) })
				}})
	}
	return list
}

func floatCases() []microsoftCase {
	swap := func(x operand, ta bool) func(i, l int) float64 {
		return func(i, l int) float64 {
			if ta {
				i, l = l, i
			}
			return x.v[i*x.shape[1]+l]
		}
	}
	return []microsoftCase{
		{op: "Gelu", in: []*tensor.Tensor{normal(3, 5)}, want: func(x []operand) [][]float64 {
			return each(x[0], func(_ int, v float64) float64 { return gelu64(v) })
		}},
		{op: "BiasGelu", in: []*tensor.Tensor{normal(3, 5), normal(5)}, want: func(x []operand) [][]float64 {
			return each(x[0], func(i int, v float64) float64 { return gelu64(v + x[1].v[i%5]) })
		}},
		{op: "FastGelu", in: []*tensor.Tensor{normal(3, 5)}, want: func(x []operand) [][]float64 {
			return each(x[0], func(_ int, v float64) float64 { return tanhGelu64(v) })
		}},
		{op: "FastGelu", in: []*tensor.Tensor{normal(3, 5), normal(5)}, want: func(x []operand) [][]float64 {
			return each(x[0], func(i int, v float64) float64 { return tanhGelu64(v + x[1].v[i%5]) })
		}},
		{op: "QuickGelu", in: []*tensor.Tensor{normal(3, 5)}, want: func(x []operand) [][]float64 {
			return each(x[0], func(_ int, v float64) float64 { return v * sigmoid64(float64(float32(1.702))*v) })
		}},
		{op: "QuickGelu", attrs: []*pb.AttributeProto{attr("alpha", 0.5)}, in: []*tensor.Tensor{normal(3, 5)}, want: func(x []operand) [][]float64 {
			return each(x[0], func(_ int, v float64) float64 { return v * sigmoid64(0.5*v) })
		}},
		{op: "FusedMatMul", attrs: []*pb.AttributeProto{attr("transA", 1), attr("alpha", 0.5)}, in: []*tensor.Tensor{normal(5, 3), normal(5, 4)}, want: func(x []operand) [][]float64 {
			return each(operand{v: product(3, 5, 4, swap(x[0], true), swap(x[1], false))}, func(_ int, v float64) float64 { return v / 2 })
		}},
		{op: "FusedMatMul", attrs: []*pb.AttributeProto{attr("transBatchA", 1), attr("transBatchB", 1), attr("transB", 1)}, in: []*tensor.Tensor{normal(3, 2, 5), normal(4, 2, 5)},
			want: func(x []operand) [][]float64 { // A[m, b, k], B[n, b, k]
				out := []float64{}
				for b := range 2 {
					out = append(out, product(3, 5, 4, func(i, l int) float64 { return x[0].at(i, b, l) }, func(l, j int) float64 { return x[1].at(j, b, l) })...)
				}
				return [][]float64{out}
			}},
		{op: "TransposeMatMul", attrs: []*pb.AttributeProto{attr("transB", 1)}, in: []*tensor.Tensor{normal(3, 5), normal(4, 5)}, want: func(x []operand) [][]float64 {
			return [][]float64{product(3, 5, 4, swap(x[0], false), swap(x[1], true))}
		}},
		{op: "NhwcMaxPool", attrs: []*pb.AttributeProto{attr("kernel_shape", []int{2, 2}), attr("strides", []int{1, 2})}, in: []*tensor.Tensor{bytesDrawn(tensor.Uint8, 1, 3, 4, 5)},
			want: func(x []operand) [][]float64 {
				out := []float64{}
				for r := range 2 {
					for c := range 2 {
						for k := range 5 {
							out = append(out, max(x[0].at(0, r, 2*c, k), x[0].at(0, r, 2*c+1, k), x[0].at(0, r+1, 2*c, k), x[0].at(0, r+1, 2*c+1, k)))
						}
					}
				}
				return [][]float64{out}
			}},
		{op: "SkipLayerNormalization", attrs: []*pb.AttributeProto{attr("epsilon", 0.125)}, outputs: names("y", "", "", "sum"),
			in: []*tensor.Tensor{normal(2, 3, 8), normal(2, 3, 8), normal(8), normal(8), normal(8)}, known: []int{2, 3, 4}, want: func(x []operand) [][]float64 {
				sum := each(x[0], func(i int, v float64) float64 { return v + x[1].v[i] + x[4].v[i%8] })[0]
				y := each(operand{v: normalised(sum, 8, 0.125, true)}, func(i int, v float64) float64 { return v*x[2].v[i%8] + x[3].v[i%8] })
				return [][]float64{y[0], sum}
			}},
		{op: "SkipLayerNormalization", in: []*tensor.Tensor{normal(2, 3, 8), normal(3, 8), normal(8)}, known: []int{2}, want: func(x []operand) [][]float64 {
			sum := each(x[0], func(i int, v float64) float64 { return v + x[1].v[i%24] })[0]
			return each(operand{v: normalised(sum, 8, 1e-12, true)}, func(i int, v float64) float64 { return v * x[2].v[i%8] })
		}},
		{op: "SkipSimplifiedLayerNormalization", attrs: []*pb.AttributeProto{attr("epsilon", 0.125)}, outputs: names("y", "", "", "sum"),
			in: []*tensor.Tensor{normal(2, 3, 8), normal(2, 3, 8), normal(8)}, known: []int{2}, want: func(x []operand) [][]float64 {
				sum := each(x[0], func(i int, v float64) float64 { return v + x[1].v[i] })[0]
				y := each(operand{v: normalised(sum, 8, 0.125, false)}, func(i int, v float64) float64 { return v * x[2].v[i%8] })
				return [][]float64{y[0], sum}
			}},
		{op: "EmbedLayerNormalization", attrs: []*pb.AttributeProto{attr("epsilon", 0.125)}, outputs: names("y", "words", "sum"),
			in: []*tensor.Tensor{tensor.Of(tensor.Int32, tensor.Shape{2, 3}, int32(4), 0, 2, 1, 1, 3), tensor.Of(tensor.Int32, tensor.Shape{2, 3}, int32(0), 1, 1, 0, 0, 1),
				normal(5, 4), normal(6, 4), normal(2, 4), normal(4), normal(4), tensor.Of(tensor.Int32, tensor.Shape{2, 3}, int32(1), 1, 0, 1, 1, 1)},
			known: []int{2, 3, 4, 5, 6}, want: func(x []operand) [][]float64 {
				sum := each(operand{v: make([]float64, 24)}, func(i int, _ float64) float64 {
					word, c := i/4, i%4
					return x[2].at(int(x[0].v[word]), c) + x[3].at(word%3, c) + x[4].at(int(x[1].v[word]), c)
				})[0]
				y := each(operand{v: normalised(sum, 4, 0.125, true)}, func(i int, v float64) float64 { return v*x[5].v[i%4] + x[6].v[i%4] })
				return [][]float64{y[0], {2, 3}, sum}
			}},
		{op: "ExpandDims", in: []*tensor.Tensor{normal(2, 3), tensor.Of(tensor.Int32, tensor.Shape{}, int32(-2))}, known: []int{1}, want: func(x []operand) [][]float64 {
			return [][]float64{x[0].v}
		}},
		{op: "GatherND", in: []*tensor.Tensor{normal(2, 3, 2), tensor.Of(tensor.Int64, tensor.Shape{2, 2}, int64(1), 2, 0, -1)}, want: func(x []operand) [][]float64 {
			return [][]float64{{x[0].at(1, 2, 0), x[0].at(1, 2, 1), x[0].at(0, 2, 0), x[0].at(0, 2, 1)}}
		}},
		{op: "GridSample", attrs: []*pb.AttributeProto{attr("mode", "bilinear"), attr("align_corners", 1)}, in: []*tensor.Tensor{normal(1, 1, 2, 2),
			tensor.Of(tensor.Float32, tensor.Shape{1, 1, 2, 2}, float32(0), 0, 1, -1)}, want: func(x []operand) [][]float64 {
			v := x[0].v
			return [][]float64{{(v[0] + v[1] + v[2] + v[3]) / 4, v[1]}}
		}},
		{op: "Pad", in: []*tensor.Tensor{normal(2, 2), tensor.Of(tensor.Int64, tensor.Shape{4}, int64(0), 1, 1, 0), scale(7)}, known: []int{1}, want: func(x []operand) [][]float64 {
			v := x[0].v
			return [][]float64{{7, v[0], v[1], 7, v[2], v[3], 7, 7, 7}}
		}},
		{op: "Trilu", attrs: []*pb.AttributeProto{attr("upper", 0)}, in: []*tensor.Tensor{normal(2, 2)}, want: func(x []operand) [][]float64 {
			v := x[0].v
			return [][]float64{{v[0], 0, v[2], v[3]}}
		}},
		{op: "Unique", outputs: names("y", "group", "counts"), in: []*tensor.Tensor{tensor.Of(tensor.Float32, tensor.Shape{6}, float32(2), 1, 1, 3, 4, 3)}, known: []int{0},
			want: func([]operand) [][]float64 { return [][]float64{{2, 1, 3, 4}, {0, 1, 1, 2, 3, 2}, {1, 2, 2, 1}} }},
	}
}

func attentionCases() []microsoftCase {
	const heads = 2
	factor := 1 / math.Sqrt(3)
	masked := func(keep func(b, i, j int) bool) func(b, h, i, j int) float64 {
		return func(b, _, i, j int) float64 {
			if keep(b, i, j) {
				return 0
			}
			return -10000
		}
	}
	merge := func(bias func(x []operand) func(b, h, i, j int) float64) func(x []operand) [][]float64 {
		return func(x []operand) [][]float64 {
			q, k, v := merged(x[0], x[1], x[2])
			return [][]float64{attended(q, k, v, heads, factor, bias(x))}
		}
	}
	n := []*pb.AttributeProto{attr("num_heads", heads)}
	with := func(extra ...*tensor.Tensor) []*tensor.Tensor {
		return append([]*tensor.Tensor{normal(2, 4, 5), normal(5, 18), normal(18)}, extra...)
	}
	rotated := func(x []operand, position func(b, s int) int) [][]float64 {
		out := make([]float64, len(x[0].v))
		for b := range 2 {
			for s := range 3 {
				for h := range 2 {
					for d := range 2 {
						re, im := x[0].at(b, s, 4*h+d), x[0].at(b, s, 4*h+2+d)
						c, i := x[2].at(position(b, s), d), x[3].at(position(b, s), d)
						at := (b*3+s)*8 + 4*h + d
						out[at], out[at+2] = re*c-im*i, re*i+im*c
					}
				}
			}
		}
		return [][]float64{out}
	}
	return []microsoftCase{
		{op: "Attention", attrs: n, in: with(), known: []int{1, 2}, want: merge(func([]operand) func(b, h, i, j int) float64 { return noBias })},
		{op: "Attention", attrs: n, in: with(tensor.Of(tensor.Int32, tensor.Shape{2, 4}, int32(1), 1, 0, 1, 1, 1, 1, 0)), known: []int{1, 2},
			want: merge(func(x []operand) func(b, h, i, j int) float64 {
				return masked(func(b, _, j int) bool { return x[3].at(b, j) != 0 })
			})},
		{op: "Attention", attrs: n, in: with(tensor.Of(tensor.Int32, tensor.Shape{2}, int32(2), 4)), known: []int{1, 2},
			want: merge(func(x []operand) func(b, h, i, j int) float64 {
				return masked(func(b, _, j int) bool { return float64(j) < x[3].v[b] })
			})},
		{op: "Attention", attrs: append(n, attr("unidirectional", 1)), in: with(nil, nil, normal(2, 2, 4, 4)), known: []int{1, 2},
			want: merge(func(x []operand) func(b, h, i, j int) float64 {
				return func(b, h, i, j int) float64 {
					return x[5].at(b, h, i, j) + masked(func(_, i, j int) bool { return j <= i })(b, h, i, j)
				}
			})},
		{op: "Attention", attrs: append(n, attr("unidirectional", 1)), in: with(nil, normal(2, 2, heads, 3, 3)), known: []int{1, 2}, want: func(x []operand) [][]float64 {
			q, k, v := merged(x[0], x[1], x[2])
			half := len(x[4].v) / 2
			past := func(part int) operand { return operand{x[4].v[part*half : (part+1)*half], x[4].shape[1:]} }
			k, v = joinedTime(past(0), k, heads), joinedTime(past(1), v, heads)
			return [][]float64{attended(q, k, v, heads, factor, masked(func(_, i, j int) bool { return j <= i+3 }))}
		}},
		{op: "MultiHeadAttention", attrs: append(n, attr("scale", 0.25)), in: []*tensor.Tensor{normal(2, 4, 6), normal(2, 5, 6), normal(2, 5, 4), normal(16)},
			want: func(x []operand) [][]float64 {
				plus := func(x operand, bias []float64) operand {
					return operand{each(x, func(i int, v float64) float64 { return v + bias[i%len(bias)] })[0], x.shape}
				}
				return [][]float64{attended(plus(x[0], x[3].v[:6]), plus(x[1], x[3].v[6:12]), plus(x[2], x[3].v[12:]), heads, 0.25, noBias)}
			}},
		{op: "MultiHeadAttention", attrs: n, in: []*tensor.Tensor{normal(2, 4, 6), normal(2, 5, 6), normal(2, 5, 6), nil,
			tensor.Of(tensor.Int32, tensor.Shape{2, 5}, int32(1), 0, 1, 1, 1, 1, 1, 1, 0, 0)}, want: func(x []operand) [][]float64 {
			return [][]float64{attended(x[0], x[1], x[2], heads, factor, masked(func(b, _, j int) bool { return x[4].at(b, j) != 0 }))}
		}},
		{op: "MultiHeadAttention", attrs: n, in: []*tensor.Tensor{normal(2, 4, 6), normal(2, 4, 6), normal(2, 4, 6), nil, nil, nil, normal(2, heads, 2, 3), normal(2, heads, 2, 3)},
			want: func(x []operand) [][]float64 {
				return [][]float64{attended(x[0], joinedTime(x[6], x[1], heads), joinedTime(x[7], x[2], heads), heads, factor, noBias)}
			}},
		{op: "RotaryEmbedding", in: []*tensor.Tensor{normal(2, 3, 8), tensor.Of(tensor.Int64, tensor.Shape{2, 3}, int64(4), 0, 2, 1, 1, 3), normal(5, 2), normal(5, 2)},
			want: func(x []operand) [][]float64 { return rotated(x, func(b, s int) int { return int(x[1].at(b, s)) }) }},
		{op: "RotaryEmbedding", in: []*tensor.Tensor{normal(2, 3, 8), tensor.Of(tensor.Int64, tensor.Shape{1}, int64(2)), normal(5, 2), normal(5, 2)},
			want: func(x []operand) [][]float64 { return rotated(x, func(_, s int) int { return 2 + s }) }},
	}
}

func quantizedCases() (list []microsoftCase) {
	u := tensor.Uint8
	a, b := func() *tensor.Tensor { return bytesDrawn(u, 3, 5) }, func() *tensor.Tensor { return bytesDrawn(u, 5) }
	sa, za, sb, zb, sc, zc := scale(0.03125), zeroU(100), scale(0.0625), zeroU(7), scale(0.0713), zeroU(99)
	pool := func(last int) microsoftCase {
		return microsoftCase{op: "QLinearAveragePool", attrs: []*pb.AttributeProto{attr("kernel_shape", []int{3, 1}), attr("pads", []int{1, 0, 0, 0}), attr("channels_last", last)},
			in: []*tensor.Tensor{bytesDrawn(u, 1, 4, 4, 4), sa, za, sc, zc}, want: func(x []operand) [][]float64 {
				at := func(c, r, w int) float64 { // NCHW, or NHWC
					if last == 1 {
						return x[0].at(0, r, w, c)
					}
					return x[0].at(0, c, r, w)
				}
				out := make([]float64, 48)
				for i := range out {
					c, r, w := i/12, i/4%3, i%4
					if last == 1 {
						r, w, c = i/16, i/4%4, i%4
					}
					sum, count := 0.0, 0.0
					for k := max(r-1, 0); k < r+2; k++ {
						sum, count = sum+realOf(at(c, k, w), x[1], x[2]), count+1
					}
					out[i] = quantizedU(sum/count, x[3], x[4])
				}
				return [][]float64{out}
			}}
	}
	elementwise := func(name string, f func(float64) float64, attrs ...*pb.AttributeProto) microsoftCase {
		return microsoftCase{op: name, attrs: attrs, in: []*tensor.Tensor{a(), sb, za, scale(1. / 300), zc}, want: func(x []operand) [][]float64 {
			return each(x[0], func(_ int, v float64) float64 { return quantizedU(f(realOf(v, x[1], x[2])), x[3], x[4]) })
		}}
	}
	conv := func(last int) microsoftCase {
		shape, weights := []int{1, 3, 4, 2}, []int{5, 2, 1, 3}
		if last == 0 {
			shape = []int{1, 2, 3, 4}
		}
		return microsoftCase{op: "QLinearConv", attrs: []*pb.AttributeProto{attr("channels_last", last)}, known: []int{3, 8},
			in: []*tensor.Tensor{bytesDrawn(u, shape...), sa, za, bytesDrawn(tensor.Int8, weights...), sb, tensor.Of(tensor.Int8, tensor.Shape{}, int8(3)), scale(1.1), zc,
				tensor.Of(tensor.Int32, tensor.Shape{5}, int32(10), -2000, 300, 4, 5)},
			want: func(x []operand) [][]float64 {
				out := make([]float64, 30)
				for i := range out {
					o, r, c := i/6, i/2%3, i%2
					if last == 1 {
						r, c, o = i/10, i/5%2, i%5
					}
					sum := x[8].v[o]
					for ch := range 2 {
						for k := range 3 {
							v := x[0].v
							at := (ch*3+r)*4 + c + k
							if last == 1 {
								at = (r*4+c+k)*2 + ch
							}
							sum += (v[at] - x[2].v[0]) * (x[3].at(o, ch, 0, k) - 3)
						}
					}
					out[i] = quantizedU(sum*x[1].v[0]*x[4].v[0], x[6], x[7])
				}
				return [][]float64{out}
			}}
	}
	list = append(list, pool(0), pool(1), conv(0), conv(1),
		elementwise("QLinearSigmoid", sigmoid64), elementwise("QLinearLeakyRelu", func(v float64) float64 { return math.Max(v, 0.25*v) }, attr("alpha", 0.25)),
		microsoftCase{op: "QLinearAdd", in: []*tensor.Tensor{a(), sa, za, b(), sb, zb, sc, zc}, want: func(x []operand) [][]float64 {
			return each(x[0], func(i int, v float64) float64 {
				return quantizedU(realOf(v, x[1], x[2])+realOf(x[3].v[i%5], x[4], x[5]), x[6], x[7])
			})
		}},
		microsoftCase{op: "QLinearMul", in: []*tensor.Tensor{a(), sa, za, b(), sb, nil, scale(1.3)}, want: func(x []operand) [][]float64 {
			return each(x[0], func(i int, v float64) float64 {
				return quantizedU(realOf(v, x[1], x[2])*realOf(x[3].v[i%5], x[4], x[5]), x[6], operand{})
			})
		}},
		microsoftCase{op: "QLinearWhere", in: []*tensor.Tensor{tensor.Of(tensor.Bool, tensor.Shape{5}, true, false, true, true, false), a(), sa, za, b(), sb, zb, sc, zc},
			want: func(x []operand) [][]float64 {
				return each(x[1], func(i int, v float64) float64 {
					if x[0].v[i%5] == 0 {
						return quantizedU(realOf(x[4].v[i%5], x[5], x[6]), x[7], x[8])
					}
					return quantizedU(realOf(v, x[2], x[3]), x[7], x[8])
				})
			}},
		microsoftCase{op: "QLinearConcat", attrs: []*pb.AttributeProto{attr("axis", 0)}, in: []*tensor.Tensor{sc, zc, b(), sa, za, b(), sb, zb},
			want: func(x []operand) [][]float64 {
				first := each(x[2], func(_ int, v float64) float64 { return quantizedU(realOf(v, x[3], x[4]), x[0], x[1]) })
				second := each(x[5], func(_ int, v float64) float64 { return quantizedU(realOf(v, x[6], x[7]), x[0], x[1]) })
				return [][]float64{append(first[0], second[0]...)}
			}},
		microsoftCase{op: "QLinearGlobalAveragePool", attrs: []*pb.AttributeProto{attr("channels_last", 1)}, in: []*tensor.Tensor{bytesDrawn(u, 1, 3, 3, 2), sa, za, sc, zc},
			want: func(x []operand) [][]float64 {
				sum := make([]float64, 2)
				for i, v := range x[0].v {
					sum[i%2] += realOf(v, x[1], x[2]) / 9
				}
				return each(operand{v: sum}, func(_ int, v float64) float64 { return quantizedU(v, x[3], x[4]) })
			}},
		microsoftCase{op: "QLinearReduceMean", attrs: []*pb.AttributeProto{attr("axes", []int{0}), attr("keepdims", 0)}, in: []*tensor.Tensor{a(), sa, za, sc, zc},
			want: func(x []operand) [][]float64 {
				sum := make([]float64, 5)
				for i, v := range x[0].v {
					sum[i%5] += realOf(v, x[1], x[2]) / 3
				}
				return each(operand{v: sum}, func(_ int, v float64) float64 { return quantizedU(v, x[3], x[4]) })
			}},
		microsoftCase{op: "QLinearSoftmax", attrs: []*pb.AttributeProto{attr("axis", 1), attr("opset", 13)}, in: []*tensor.Tensor{a(), sa, za, scale(1. / 300), zeroU(0)},
			want: func(x []operand) [][]float64 {
				return each(x[0], func(i int, v float64) float64 {
					sum := 0.0
					for _, w := range x[0].v[i/5*5 : i/5*5+5] {
						sum += math.Exp(realOf(w, x[1], x[2]))
					}
					return quantizedU(math.Exp(realOf(v, x[1], x[2]))/sum, x[3], x[4])
				})
			}},
		microsoftCase{op: "MulInteger", in: []*tensor.Tensor{a(), za, b(), zb}, want: func(x []operand) [][]float64 {
			return each(x[0], func(i int, v float64) float64 { return (v - x[1].v[0]) * (x[2].v[i%5] - x[3].v[0]) })
		}},
		microsoftCase{op: "QuantizeLinear", in: []*tensor.Tensor{normal(3, 5), scale(0.01), zc}, want: func(x []operand) [][]float64 {
			return each(x[0], func(_ int, v float64) float64 { return quantizedU(v, x[1], x[2]) })
		}},
		microsoftCase{op: "DequantizeLinear", in: []*tensor.Tensor{a(), sa, za}, want: func(x []operand) [][]float64 {
			return each(x[0], func(_ int, v float64) float64 { return realOf(v, x[1], x[2]) })
		}})
	return append(list, quantizedProducts()...)
}

func quantizedProducts() []microsoftCase {
	a, b := bytesDrawn(tensor.Uint8, 3, 5), bytesDrawn(tensor.Int8, 5, 4)
	scales := tensor.Of(tensor.Float32, tensor.Shape{4}, float32(0.5), 0.25, 1, 2)
	zeros := tensor.Of(tensor.Int8, tensor.Shape{4}, int8(1), -2, 3, 4)
	integers := func(x []operand, za float64, zb func(j int) float64) []float64 {
		return product(3, 5, 4, func(i, l int) float64 { return x[0].at(i, l) - za }, func(l, j int) float64 { return x[1].at(l, j) - zb(j) })
	}
	nbits := func(bits int, known ...int) microsoftCase {
		return microsoftCase{op: "MatMulNBits", attrs: []*pb.AttributeProto{attr("K", 24), attr("N", 2), attr("bits", bits), attr("block_size", 16)}, known: known,
			in: []*tensor.Tensor{normal(3, 24), bytesDrawn(tensor.Uint8, 2, 2, 2*bits), normal(4), bytesDrawn(tensor.Uint8, 2*((2*bits+7)/8)), nil, normal(2)},
			want: func(x []operand) [][]float64 {
				part := func(v []float64, row, bytes, i int) float64 {
					return float64(int(v[row*bytes+i*bits/8]) >> (i * bits % 8) & (1<<bits - 1))
				}
				y := product(3, 24, 2, func(i, l int) float64 { return x[0].at(i, l) }, func(l, j int) float64 {
					return (part(x[1].v, j, 4*bits, l) - part(x[3].v, j, (2*bits+7)/8, l/16)) * x[2].v[2*j+l/16]
				})
				return each(operand{v: y}, func(i int, v float64) float64 { return v + x[5].v[i%2] })
			}}
	}
	return []microsoftCase{
		nbits(4, 1, 2, 3), nbits(4), nbits(2, 1), nbits(2), nbits(8, 1, 3),
		{op: "MatMulNBits", attrs: []*pb.AttributeProto{attr("K", 16), attr("N", 1), attr("block_size", 16)}, in: []*tensor.Tensor{normal(1, 16), bytesDrawn(tensor.Uint8, 1, 1, 8), scale(0.5)},
			known: []int{1}, want: func(x []operand) [][]float64 {
				sum := 0.0
				for l, v := range x[0].v {
					sum += v * (float64(int(x[1].v[l/2])>>(l%2*4)&15) - 8) / 2
				}
				return [][]float64{{sum}}
			}},
		{op: "MatMulIntegerToFloat", in: []*tensor.Tensor{a, b, scale(0.125), scales, zeroU(9), zeros, normal(4)}, want: func(x []operand) [][]float64 {
			y := integers(x, 9, func(j int) float64 { return x[5].v[j] })
			return each(operand{v: y}, func(i int, v float64) float64 { return v*0.125*x[3].v[i%4] + x[6].v[i%4] })
		}},
		{op: "MatMulInteger16", in: []*tensor.Tensor{tensor.Of(tensor.Int16, tensor.Shape{1, 2}, int16(-300), 200), tensor.Of(tensor.Int16, tensor.Shape{2, 1}, int16(1000), 7)},
			want: func([]operand) [][]float64 { return [][]float64{{-298600}} }},
		{op: "DynamicQuantizeMatMul", in: []*tensor.Tensor{normal(3, 5), b, scales, nil, normal(4)}, want: func(x []operand) [][]float64 {
			low, high := math.Min(0, slices.Min(x[0].v)), math.Max(0, slices.Max(x[0].v))
			s := float64(float32((high - low) / 255))
			zero := math.RoundToEven(math.Max(0, math.Min(255, -low/s)))
			q := each(x[0], func(_ int, v float64) float64 { return math.Max(0, math.Min(255, math.RoundToEven(v/s)+zero)) - zero })[0]
			y := product(3, 5, 4, func(i, l int) float64 { return q[5*i+l] }, func(l, j int) float64 { return x[1].at(l, j) })
			return each(operand{v: y}, func(i int, v float64) float64 { return v*s*x[2].v[i%4] + x[4].v[i%4] })
		}},
		{op: "QGemm", attrs: []*pb.AttributeProto{attr("alpha", 0.5)}, in: []*tensor.Tensor{a, scale(0.125), zeroU(9), b, scales, zeros, tensor.Of(tensor.Int32, tensor.Shape{4}, int32(100), -200, 3, 4)},
			want: func(x []operand) [][]float64 {
				y := integers([]operand{x[0], x[3]}, 9, func(j int) float64 { return x[5].v[j] })
				return each(operand{v: y}, func(i int, v float64) float64 { return 0.5 * 0.125 * x[4].v[i%4] * (v + x[6].v[i%4]) })
			}},
		{op: "QGemm", in: []*tensor.Tensor{a, scale(0.125), zeroU(9), b, scales, zeros, nil, scale(17.3), zeroU(99)}, want: func(x []operand) [][]float64 {
			y := integers([]operand{x[0], x[3]}, 9, func(j int) float64 { return x[5].v[j] })
			return each(operand{v: y}, func(i int, v float64) float64 { return quantizedU(0.125*x[4].v[i%4]*v, x[7], x[8]) })
		}},
	}
}

// TestMicrosoftOperators holds every row of com.microsoft against its definition in float64.
func TestMicrosoftOperators(t *testing.T) {
	tested := map[string]bool{}
	for i, c := range slices.Concat(floatCases(), activationCases(), attentionCases(), quantizedCases()) {
		tested[c.op] = true
		t.Run(fmt.Sprintf("%d_%s", i, c.op), func(t *testing.T) {
			m, args := c.model()
			module, _ := load(t, m, Options{})
			got := compute(t, module, args...)
			for k, want := range c.want(operandsOf(c.in)) {
				w := operandsOf(got[k : k+1])[0]
				require.Len(t, w.v, len(want), "result %d of shape %v", k, w.shape)
				for j, v := range want {
					require.InDelta(t, v, w.v[j], 2e-6*max(1, math.Abs(v)), "result %d, element %d of %v", k, j, w.shape)
				}
			}
		})
	}
	for _, r := range microsoftRows() {
		require.Contains(t, tested, r.name, "the row has no test")
	}
}

func TestMicrosoftOperatorsRefuse(t *testing.T) {
	for _, c := range []struct {
		c    microsoftCase
		kind error
		text string
	}{
		{microsoftCase{op: "FusedConv", attrs: []*pb.AttributeProto{attr("activation", "Cosine")}, in: []*tensor.Tensor{normal(1, 1, 3, 3), normal(1, 1, 1, 1)}},
			diag.ErrUnsupported, `activation "Cosine"`},
		{microsoftCase{op: "MatMulNBits", attrs: []*pb.AttributeProto{attr("K", 16), attr("N", 1), attr("bits", 3), attr("block_size", 16)},
			in: []*tensor.Tensor{normal(1, 16), bytesDrawn(tensor.Uint8, 1, 1, 6), scale(1)}}, diag.ErrUnsupported, `weights of 3 bits`},
		{microsoftCase{op: "MatMulNBits", attrs: []*pb.AttributeProto{attr("K", 16), attr("N", 1), attr("block_size", 16)},
			in: []*tensor.Tensor{normal(1, 16), bytesDrawn(tensor.Uint8, 1, 1, 7), scale(1)}}, diag.ErrInvalid, `weights Tensor[(1, 1, 7), uint8] for N=1, K=16, block_size=16`},
		{microsoftCase{op: "Attention", attrs: []*pb.AttributeProto{attr("num_heads", 2), attr("do_rotary", 1)}, in: []*tensor.Tensor{normal(1, 2, 4), normal(4, 12)}},
			diag.ErrUnsupported, `do_rotary`},
		{microsoftCase{op: "Attention", attrs: []*pb.AttributeProto{attr("num_heads", 2)}, in: []*tensor.Tensor{normal(1, 2, 4), normal(4, 12), nil,
			tensor.Of(tensor.Int32, tensor.Shape{2}, int32(1), 2)}}, diag.ErrUnsupported, `a mask of shape (2,) for 1 sequences of 2 and 2 keys`},
		{microsoftCase{op: "QLinearConcat", attrs: []*pb.AttributeProto{attr("axis", 0)}, in: []*tensor.Tensor{scale(1), zeroU(0), bytesDrawn(tensor.Uint8, 3), scale(1)}},
			diag.ErrInvalid, `4 operands, wanted a scale, a zero point and triples`},
		{microsoftCase{op: "SkipLayerNormalization", in: []*tensor.Tensor{normal(2, 8), normal(3, 2, 8), normal(8)}}, diag.ErrInvalid, `a sum of shape (3, 2, 8) for an operand of shape (2, 8)`},
		{microsoftCase{op: "QLinearAdd", in: []*tensor.Tensor{bytesDrawn(tensor.Uint8, 3)}}, diag.ErrInvalid, `1 operands, wanted 7 to 8`},
		{microsoftCase{op: "Gelu", attrs: []*pb.AttributeProto{attr("approximate", "tanh")}, in: []*tensor.Tensor{normal(3)}}, diag.ErrInvalid,
			`attribute "approximate" does not exist in opset 1; there are: none`},
	} {
		m, _ := c.c.model()
		refuse(t, m, Options{}, c.kind, c.text)
	}
}
