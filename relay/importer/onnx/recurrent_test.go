package onnx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// layer is one recurrent layer: T steps of B sequences of I values, with H hidden ones, in one or two directions.
type layer struct {
	op           string
	direction    string
	batchFirst   bool
	steps        int
	lens         []int32
	clip         float64
	names        []string // activations of every direction
	alphas       []float64
	betas        []float64
	initial      bool
	peepholes    bool
	coupled      bool // input_forget
	before       bool // linear_before_reset
	x, w, r, b   []float32
	h0, c0, peep []float32
}

const (
	batchSize = 3
	inputSize = 2
	hidden    = 4
)

func (l *layer) gates() int { return map[string]int{"RNN": 1, "GRU": 3, "LSTM": 4}[l.op] }

func (l *layer) directions() int {
	if l.direction == "bidirectional" {
		return 2
	}
	return 1
}

// fill draws the operands. A layer without lens, or whose b is nil, has none.
func (l *layer) fill(r *rand.Rand) {
	draw := func(n int, scale float64) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(scale * r.NormFloat64())
		}
		return list
	}
	d, g := l.directions(), l.gates()
	l.x, l.w, l.r, l.b = draw(l.steps*batchSize*inputSize, 1), draw(d*g*hidden*inputSize, 0.4), draw(d*g*hidden*hidden, 0.3), draw(d*2*g*hidden, 0.3)
	if l.initial {
		l.h0, l.c0 = draw(d*batchSize*hidden, 1), draw(d*batchSize*hidden, 1)
	}
	if l.peepholes {
		l.peep = draw(d*3*hidden, 0.5)
	}
}

// swapped is an array (a, b, n) as (b, a, n).
func swapped(v []float32, a, b int) []float32 {
	n := len(v) / a / b
	out := make([]float32, 0, len(v))
	for j := range b {
		for i := range a {
			out = append(out, v[(i*b+j)*n:(i*b+j+1)*n]...)
		}
	}
	return out
}

// model is the layer with x, the lengths and the initial state as inputs.
func (l *layer) model() (m *pb.ModelProto, args []*tensor.Tensor) {
	d, g := l.directions(), l.gates()
	order := func(v []float32, a, b, n int) *tensor.Tensor {
		if l.batchFirst {
			return tensor.Of(tensor.Float32, tensor.Shape{b, a, n}, swapped(v, a, b)...)
		}
		return tensor.Of(tensor.Float32, tensor.Shape{a, b, n}, v...)
	}
	inputs := names("x", "w", "r", "b", "", "", "", "")
	args = append(args, order(l.x, l.steps, batchSize, inputSize))
	ports := values(value("x", float32Type, args[0].Shape[0], args[0].Shape[1], inputSize))
	if l.lens != nil {
		inputs[4], ports, args = "lens", append(ports, value("lens", 6, batchSize)), append(args, tensor.Of(tensor.Int32, tensor.Shape{batchSize}, l.lens...))
	}
	weights := []*pb.TensorProto{floats("w", []int64{int64(d), int64(g * hidden), inputSize}, l.w...), floats("r", []int64{int64(d), int64(g * hidden), hidden}, l.r...),
		floats("b", []int64{int64(d), int64(2 * g * hidden)}, l.b...)}
	state := func(i int, name string, v []float32) {
		t := order(v, d, batchSize, hidden)
		inputs[i], ports, args = name, append(ports, value(name, float32Type, t.Shape[0], t.Shape[1], hidden)), append(args, t)
	}
	outputs := values(value("y", float32Type), value("h", float32Type))
	if l.initial {
		state(5, "h0", l.h0)
	}
	if l.op == "LSTM" {
		outputs = append(outputs, value("c", float32Type))
		if l.initial {
			state(6, "c0", l.c0)
		}
		if l.peepholes {
			inputs[7], weights = "p", append(weights, floats("p", []int64{int64(d), 3 * hidden}, l.peep...))
		}
	}
	node := op(l.op, inputs, nil, attr("hidden_size", hidden), attr("direction", l.direction))
	for _, o := range outputs {
		node.Output = append(node.Output, o.GetName())
	}
	set := func(name string, on bool, v any) {
		if on {
			node.Attribute = append(node.Attribute, attr(name, v))
		}
	}
	set("layout", l.batchFirst, 1)
	set("clip", l.clip > 0, l.clip)
	set("input_forget", l.coupled, 1)
	set("linear_before_reset", l.before, 1)
	list := func(name string, v []float64) {
		a := &pb.AttributeProto{Name: &name, Type: pb.AttributeProto_FLOATS.Enum()}
		for _, f := range v {
			a.Floats = append(a.Floats, float32(f))
		}
		if len(v) > 0 {
			node.Attribute = append(node.Attribute, a)
		}
	}
	list("activation_alpha", l.alphas)
	list("activation_beta", l.betas)
	if l.names != nil {
		a := &pb.AttributeProto{Name: proto.String("activations"), Type: pb.AttributeProto_STRINGS.Enum()}
		for _, s := range l.names {
			a.Strings = append(a.Strings, []byte(s))
		}
		node.Attribute = append(node.Attribute, a)
	}
	g0 := graphOf(ports, outputs, node)
	g0.Initializer = weights
	return model(14, g0), args
}

// formulas are the activations, as ONNX defines them.
var formulas = map[string]func(x, alpha, beta float64) float64{
	"Relu":        func(x, _, _ float64) float64 { return math.Max(0, x) },
	"Tanh":        func(x, _, _ float64) float64 { return math.Tanh(x) },
	"Sigmoid":     func(x, _, _ float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"Softsign":    func(x, _, _ float64) float64 { return x / (1 + math.Abs(x)) },
	"Softplus":    func(x, _, _ float64) float64 { return math.Log(1 + math.Exp(x)) },
	"Affine":      func(x, a, b float64) float64 { return a*x + b },
	"LeakyRelu":   func(x, a, _ float64) float64 { return math.Max(0, x) + a*math.Min(0, x) },
	"ScaledTanh":  func(x, a, b float64) float64 { return a * math.Tanh(b*x) },
	"HardSigmoid": func(x, a, b float64) float64 { return math.Min(math.Max(a*x+b, 0), 1) },
	"Elu":         func(x, a, _ float64) float64 { return math.Max(0, x) + math.Min(0, a*(math.Exp(x)-1)) },
	"ThresholdedRelu": func(x, a, _ float64) float64 {
		if x > a {
			return x
		}
		return 0
	},
}

// curve is an activation with its parameters.
type curve struct {
	name        string
	alpha, beta float64
}

func (l *layer) act(c curve, x float64, clip bool) float64 {
	if clip && l.clip > 0 {
		x = math.Min(math.Max(x, -l.clip), l.clip)
	}
	return formulas[c.name](x, c.alpha, c.beta)
}

// answer computes y (T, D, B, H), h and c (D, B, H) one sequence and one number at a time; curves are those of all directions.
func (l *layer) answer(curves []curve) (y, h, c []float64) {
	d, g := l.directions(), l.gates()
	y = make([]float64, l.steps*d*batchSize*hidden)
	h, c = make([]float64, d*batchSize*hidden), make([]float64, d*batchSize*hidden)
	for dir := range d {
		f := curves[dir*len(curves)/d:]
		backward := l.direction == "reverse" || dir == 1
		for s := range batchSize {
			state, cell := h[(dir*batchSize+s)*hidden:][:hidden], c[(dir*batchSize+s)*hidden:][:hidden]
			if l.initial {
				for k := range hidden {
					state[k], cell[k] = float64(l.h0[(dir*batchSize+s)*hidden+k]), float64(l.c0[(dir*batchSize+s)*hidden+k])
				}
			}
			length := l.steps
			if l.lens != nil {
				length = int(l.lens[s])
			}
			for step := range length {
				t := step
				if backward {
					t = length - 1 - step
				}
				old := append([]float64{}, state...)
				// from is x·Wᵀ + b of gate k, rec is v·Rᵀ + b
				from := func(k, j int) float64 {
					row := dir*g*hidden + k*hidden + j
					sum := float64(l.b[dir*2*g*hidden+k*hidden+j])
					for i := range inputSize {
						sum += float64(l.w[row*inputSize+i]) * float64(l.x[(t*batchSize+s)*inputSize+i])
					}
					return sum
				}
				rec := func(k, j int, v []float64) float64 {
					row := dir*g*hidden + k*hidden + j
					sum := float64(l.b[dir*2*g*hidden+(g+k)*hidden+j])
					for i := range hidden {
						sum += float64(l.r[row*hidden+i]) * v[i]
					}
					return sum
				}
				peep := func(k, j int) float64 {
					if l.peep == nil {
						return 0
					}
					return float64(l.peep[(dir*3+k)*hidden+j])
				}
				switch l.op {
				case "RNN":
					for j := range hidden {
						state[j] = l.act(f[0], from(0, j)+rec(0, j, old), true)
					}
				case "GRU":
					reset := make([]float64, hidden)
					gated := make([]float64, hidden)
					for j := range hidden {
						reset[j] = l.act(f[0], from(1, j)+rec(1, j, old), true)
						gated[j] = reset[j] * old[j]
					}
					for j := range hidden {
						z := l.act(f[0], from(0, j)+rec(0, j, old), true)
						inner := rec(2, j, gated)
						if l.before {
							inner = reset[j] * rec(2, j, old)
						}
						state[j] = (1-z)*l.act(f[1], from(2, j)+inner, true) + z*old[j]
					}
				case "LSTM":
					for j := range hidden {
						in := l.act(f[0], from(0, j)+rec(0, j, old)+peep(0, j)*cell[j], true)
						forget := l.act(f[0], from(2, j)+rec(2, j, old)+peep(2, j)*cell[j], true)
						if l.coupled {
							forget = 1 - in
						}
						cell[j] = forget*cell[j] + in*l.act(f[1], from(3, j)+rec(3, j, old), true)
						state[j] = l.act(f[0], from(1, j)+rec(1, j, old)+peep(1, j)*cell[j], true) * l.act(f[2], cell[j], false)
					}
				}
				copy(y[((t*d+dir)*batchSize+s)*hidden:], state)
			}
		}
	}
	return y, h, c
}

// check compares the layer with its answer.
func (l *layer) check(t *testing.T, curves []curve) *relay.Module {
	t.Helper()
	model, args := l.model()
	m, _ := load(t, model, Options{})
	out := compute(t, m, args...)
	y, h, c := l.answer(curves)
	d := l.directions()
	for i, want := range [][]float64{y, h, c}[:len(out)] {
		got := append([]float32{}, tensor.View[float32](out[i])...)
		if l.batchFirst && i == 0 { // (B, T, D, H)
			got = swapped(got, batchSize, l.steps*d)
		} else if l.batchFirst {
			got = swapped(got, batchSize, d)
		}
		require.Len(t, got, len(want))
		for k, v := range want {
			require.InDelta(t, v, got[k], 1e-5*(1+math.Abs(v)), "output %d, element %d", i, k)
		}
	}
	return m
}

// defaults are the activations of a layer that names none.
func (l *layer) defaults() (curves []curve) {
	for range l.directions() {
		switch l.op {
		case "RNN":
			curves = append(curves, curve{name: "Tanh"})
		case "GRU":
			curves = append(curves, curve{name: "Sigmoid"}, curve{name: "Tanh"})
		default:
			curves = append(curves, curve{name: "Sigmoid"}, curve{name: "Tanh"}, curve{name: "Tanh"})
		}
	}
	return curves
}

// TestRecurrentLayers has every operator in every direction and layout, short, which is unrolled, and long, with and without
// lengths, an initial state and the attributes.
func TestRecurrentLayers(t *testing.T) {
	for _, name := range []string{"RNN", "GRU", "LSTM"} {
		for _, direction := range []string{"forward", "reverse", "bidirectional"} {
			for i := range 16 {
				l := &layer{op: name, direction: direction, batchFirst: i&1 != 0, steps: 3, initial: i&4 != 0, coupled: i&8 != 0 && name == "LSTM", before: i&8 != 0 && name == "GRU",
					peepholes: i&4 != 0 && name == "LSTM", clip: []float64{0, 0.5}[i>>3]}
				if i&2 != 0 {
					l.steps = 40
				}
				if i%3 == 0 {
					l.lens = []int32{int32(l.steps), 1, int32(l.steps / 2)}
				}
				t.Run(fmt.Sprint(name, " ", direction, " ", i), func(t *testing.T) {
					l.fill(rand.New(rand.NewPCG(uint64(i), 3)))
					m := l.check(t, l.defaults())
					require.Equal(t, l.steps > 3, nodesOf[*relay.Loop](m) > 0)
				})
			}
		}
	}
}

// TestActivationsOfRecurrentLayers has each activation, with parameters and without.
func TestActivationsOfRecurrentLayers(t *testing.T) {
	for _, c := range []struct {
		name   string
		params []float64 // by default
	}{
		{"Relu", nil}, {"Tanh", nil}, {"Sigmoid", nil}, {"Softsign", nil}, {"Softplus", nil}, {"LeakyRelu", []float64{0.01}}, {"ThresholdedRelu", []float64{1}},
		{"Elu", []float64{1}}, {"HardSigmoid", []float64{0.2, 0.5}}, {"Affine", []float64{1, 0}}, {"ScaledTanh", []float64{1, 1}},
	} {
		for _, given := range []bool{false, true} {
			l := &layer{op: "RNN", direction: "forward", steps: 3, names: []string{c.name}}
			one := curve{name: c.name}
			for i, v := range c.params {
				if given {
					v = 0.3 + 0.1*float64(i)
				}
				switch {
				case i == 0 && given:
					l.alphas = []float64{v}
				case given:
					l.betas = []float64{v}
				}
				if i == 0 {
					one.alpha = v
				} else {
					one.beta = v
				}
			}
			t.Run(fmt.Sprint(c.name, " ", given), func(t *testing.T) {
				l.fill(rand.New(rand.NewPCG(5, 3)))
				l.check(t, []curve{one})
			})
		}
	}

	// Parameters go to the activations that take them, in order; a list of one value for each activation has them by place.
	for _, alphas := range [][]float64{{0.3, 0.6}, {9, 0.3, 9, 0.6}} {
		l := &layer{op: "GRU", direction: "bidirectional", steps: 3, names: []string{"Sigmoid", "LeakyRelu", "Tanh", "ScaledTanh"}, alphas: alphas, betas: []float64{0.7}}
		l.fill(rand.New(rand.NewPCG(6, 3)))
		l.check(t, []curve{{name: "Sigmoid"}, {name: "LeakyRelu", alpha: 0.3}, {name: "Tanh"}, {name: "ScaledTanh", alpha: 0.6, beta: 0.7}})
	}
}

func TestIllegalRecurrentLayersAreRefused(t *testing.T) {
	build := func(change func(l *layer)) *pb.ModelProto {
		l := &layer{op: "LSTM", direction: "forward", steps: 3}
		change(l)
		l.fill(rand.New(rand.NewPCG(6, 3)))
		m, _ := l.model()
		return m
	}
	refuse(t, build(func(l *layer) { l.names = []string{"Sigmoid", "Tanh"} }), Options{}, diag.ErrInvalid, "2 activations, wanted 3")
	refuse(t, build(func(l *layer) { l.names = []string{"Sigmoid", "Tanh", "Sine"} }), Options{}, diag.ErrUnsupported, `activation "Sine"`)
	refuse(t, build(func(l *layer) { l.direction = "sideways" }), Options{}, diag.ErrInvalid, `direction "sideways"`)
}
