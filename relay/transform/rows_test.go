package transform

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// graph builds small modules.
type graph struct {
	t      testing.TB
	ops    *relay.Table
	params []*relay.Var
	r      *rand.Rand
}

func newGraph(t testing.TB) *graph {
	return &graph{t: t, ops: relay.Core(), r: rand.New(rand.NewPCG(3, 4))}
}

func (g *graph) input(name string, shape ...int) relay.Expr {
	v := relay.NewVar(name, &relay.TensorType{Shape: shape, DType: tensor.Float32}, diag.Pos{})
	g.params = append(g.params, v)
	return v
}

// weights is a constant of small numbers.
func (g *graph) weights(shape ...int) relay.Expr {
	w := tensor.NewWide(tensor.Float32, shape)
	for i := range w.F {
		w.F[i] = math.Round(16*g.r.NormFloat64()) / 16
	}
	return relay.NewConstant(w.Narrow(), "", diag.Pos{})
}

func (g *graph) positive(shape ...int) relay.Expr {
	w := tensor.NewWide(tensor.Float32, shape)
	for i := range w.F {
		w.F[i] = 0.5 + g.r.Float64()
	}
	return relay.NewConstant(w.Narrow(), "", diag.Pos{})
}

func (g *graph) scalar(v float64) relay.Expr {
	w := &tensor.Wide{DType: tensor.Float32, Shape: tensor.Shape{}, F: []float64{v}}
	return relay.NewConstant(w.Narrow(), "", diag.Pos{})
}

func (g *graph) call(name string, attrs any, args ...relay.Expr) relay.Expr {
	op := g.ops.Lookup(name)
	require.NotNil(g.t, op, name)
	c, err := relay.NewCall(op, args, attrs, diag.Pos{})
	require.NoError(g.t, err)
	return c
}

func (g *graph) tuple(fields ...relay.Expr) relay.Expr { return relay.NewTuple(fields, diag.Pos{}) }

func (g *graph) get(e relay.Expr, i int) relay.Expr {
	f, err := relay.NewTupleGet(e, i, diag.Pos{})
	require.NoError(g.t, err)
	return f
}

func (g *graph) add(a, b relay.Expr) relay.Expr { return g.call("add", nil, a, b) }
func (g *graph) mul(a, b relay.Expr) relay.Expr { return g.call("multiply", nil, a, b) }
func (g *graph) div(a, b relay.Expr) relay.Expr { return g.call("divide", nil, a, b) }
func (g *graph) clip(x relay.Expr, low, high float64) relay.Expr {
	return g.call("clip", &relay.ClipAttrs{AMin: low, AMax: high}, x)
}

func (g *graph) bias(x relay.Expr, n, axis int) relay.Expr {
	return g.call("nn.bias_add", &relay.AxisAttrs{Axis: axis}, x, g.weights(n))
}

func (g *graph) conv(x relay.Expr, out, in, window, pad, groups int) relay.Expr {
	attrs := g.ops.Lookup("nn.conv2d").NewAttrs().(*relay.ConvAttrs)
	attrs.Padding, attrs.Groups = []int{pad, pad, pad, pad}, groups
	return g.call("nn.conv2d", attrs, x, g.weights(out, in/groups, window, window))
}

func (g *graph) reshape(x relay.Expr, shape ...int) relay.Expr {
	return g.call("reshape", &relay.ReshapeAttrs{NewShape: shape}, x)
}

func (g *graph) transpose(x relay.Expr, axes ...int) relay.Expr {
	return g.call("transpose", &relay.TransposeAttrs{Axes: axes}, x)
}

func (g *graph) module(body relay.Expr) *relay.Module {
	outputs := []string{"y"}
	if t, ok := body.Type().(*relay.TupleType); ok {
		outputs = nil
		for i := range t.Fields {
			outputs = append(outputs, "y"+string(rune('0'+i)))
		}
	}
	return &relay.Module{Funcs: map[string]*relay.Function{"main": relay.NewFunction(g.params, body, false, nil, diag.Pos{})}, Outputs: outputs}
}

// row is one small graph for a pass: what it shows, and whether the pass leaves it as it is.
type row struct {
	name, why string
	keeps     bool
	arguments int // that a kernel takes, on a GPU; 0: on a processor
	build     func(g *graph) relay.Expr
}

// TestPassesRewriteRows runs every pass on its rows, compares the graphs before and after with the golden files, and
// their answers with each other.
func TestPassesRewriteRows(t *testing.T) {
	host, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	tables := map[string][]row{"simplify-inference": simplifyRows, "remove-identities": identityRows, "fold-constants": foldRows,
		"recognize-activations": activationRows, "recognize-layer-norm": append(layerNormRows, tensorFlowNormRows...), "recognize-channel-shuffle": shuffleRows,
		"combine-constants": combineRows, "fold-scale-axis": scaleRows, "fold-pad": padRows, "recognize-squeeze-excite": exciteRows,
		"eliminate-common-subexpressions": commonRows, "pack-weights": packRows, "slice-splits": sliceRows, "recognize-dense": denseRows,
		"canonicalize": canonicalRows, "simplify-expr": exprRows, "simplify-moves": moveRows, "fast-math": fastRows, "flatten-atrous-conv": atrousRows,
		"recognize-instance-norm": instanceNormRows, "recognize-group-norm": groupNormRows, "recognize-rms-norm": rmsNormRows,
		"recognize-depth-to-space": depthRows, "combine-parallel": parallelRows,
		"recognize-softmax": softmaxRows, "remove-copies": copyRows, "split-args": splitRows,
		"recognize-non-max-suppression": suppressionRows, "recognize-embedding": embeddingRows, "recognize-attention": attentionRows}
	for _, p := range Passes() {
		rows, tested := tables[p.Name]
		if !tested {
			require.Contains(t, []string{"infer-type", "assign", "fuse-ops", "fuse-blocks"}, p.Name, "a pass without rows")
		}
		for _, r := range rows {
			t.Run(p.Name+"/"+r.name, func(t *testing.T) {
				g := newGraph(t)
				before := g.module(r.build(g))
				notes := &diag.Notes{}
				machine := host
				if r.arguments > 0 {
					machine = &target.Target{Kind: target.GPU, GPU: &target.GPULimits{MaxArguments: r.arguments}}
				}
				o := &Options{Ops: g.ops, Notes: notes, Target: machine, Candidates: narrowIsDear, Verify: true, FastMath: true}
				after, err := Run(context.Background(), before, []Pass{p}, o)
				require.NoError(t, err)
				if r.keeps {
					require.Equal(t, relay.Print(before), relay.Print(after))
				} else {
					require.NotEqual(t, relay.Print(before), relay.Print(after), "the rule did not fire")
				}
				sameAnswers(t, before, after)
				var lines []string
				for _, n := range notes.List() {
					lines = append(lines, n.String())
				}
				dir := strings.ReplaceAll(p.Name, "-", "_")
				golden.Check(t, filepath.Join("testdata", dir, r.name+".txtar"), golden.Section{Name: "why", Text: r.why},
					golden.Section{Name: "before", Text: relay.Print(before)}, golden.Section{Name: "after", Text: relay.Print(after)},
					golden.Section{Name: "notes", Text: strings.Join(lines, "\n")})
			})
		}
	}
}

// sameAnswers evaluates both modules on random inputs.
func sameAnswers(t require.TestingT, before, after *relay.Module) {
	args := randomInputs(before)
	want, err := eval.Tensors(context.Background(), before.Main(), args)
	require.NoError(t, err)
	got, err := eval.Tensors(context.Background(), after.Main(), args)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i].Shape, got[i].Shape)
		rtol, atol := tensor.Tolerance(want[i].DType, 256) // constants are rounded where operators were before
		w := tensor.Widen(want[i])
		d := tensor.Compare(tensor.Widen(got[i]), w, rtol, max(atol, rtol*largest(w))) // and sums cancel
		require.Zero(t, d.Outside, "output %d: %+v", i, d)
	}
}

var simplifyRows = []row{
	{name: "batch_norm", why: "a factor and a bias for each channel, computed now", build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 3, 2, 2)
		return g.get(g.call("nn.batch_norm", nil, x, g.weights(3), g.weights(3), g.weights(3), g.positive(3)), 0)
	}},
	{name: "batch_norm_of_inputs", why: "the same with calls when the statistics are inputs", build: func(g *graph) relay.Expr {
		x, variance := g.input("x", 1, 3, 2, 2), g.input("v", 3)
		return g.get(g.call("nn.batch_norm", nil, x, g.weights(3), g.weights(3), g.weights(3), g.call("exp", nil, variance)), 0)
	}},
	{name: "batch_norm_last_axis", why: "along the last axis; without the factor gamma", build: func(g *graph) relay.Expr {
		attrs := &relay.BatchNormAttrs{Axis: -1, Epsilon: 1e-2, Center: true}
		x := g.input("x", 2, 4)
		return g.get(g.call("nn.batch_norm", attrs, x, g.weights(4), g.weights(4), g.weights(4), g.positive(4)), 0)
	}},
}

var identityRows = []row{
	{name: "copy_and_one", why: "copies and a factor of 1 vanish", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 3)
		return g.call("exp", nil, g.mul(g.call("copy", nil, x), g.scalar(1)))
	}},
	{name: "one_that_broadcasts", why: "a factor of 1 that widens the shape stays", keeps: true, build: func(g *graph) relay.Expr {
		one := relay.NewConstant(tensor.Of(tensor.Float32, tensor.Shape{1, 1, 1}, float32(1)), "", diag.Pos{})
		return g.mul(g.input("x", 2, 3), one)
	}},
	{name: "reshapes", why: "of several reshapes only the last counts", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 3, 4)
		return g.call("squeeze", nil, g.call("expand_dims", &relay.ExpandDimsAttrs{Axis: 1, NumNewaxis: 1}, g.reshape(g.reshape(x, 24), 6, 4)))
	}},
	{name: "reshape_back", why: "a reshape back to the first shape is nothing", build: func(g *graph) relay.Expr {
		return g.call("exp", nil, g.reshape(g.reshape(g.input("x", 2, 3), 6), 2, 3))
	}},
	{name: "transposes", why: "two transposes are one", build: func(g *graph) relay.Expr {
		return g.transpose(g.transpose(g.input("x", 2, 3, 4), 1, 2, 0), 1, 0, 2)
	}},
	{name: "transpose_back", why: "a transpose and its inverse are nothing", build: func(g *graph) relay.Expr {
		return g.call("exp", nil, g.transpose(g.transpose(g.input("x", 2, 3, 4), 1, 2, 0), 2, 0, 1))
	}},
	{name: "transpose_of_units", why: "moving axes of extent 1 moves no element", build: func(g *graph) relay.Expr {
		return g.transpose(g.input("x", 1, 3, 1, 4), 1, 2, 0, 3)
	}},
	{name: "turned_back", why: "an axis of extent 1 comes and goes between a transpose and its inverse", build: func(g *graph) relay.Expr {
		x := g.reshape(g.transpose(g.input("x", 1, 1, 6, 4), 0, 3, 1, 2), 1, 4, 6)
		return g.call("exp", nil, g.transpose(x, 0, 2, 1))
	}},
	{name: "turned_twice", why: "two transposes with a reshape of units between them are one", build: func(g *graph) relay.Expr {
		return g.transpose(g.reshape(g.transpose(g.input("x", 2, 1, 3, 4), 0, 3, 1, 2), 2, 4, 3), 2, 0, 1)
	}},
	{name: "turned_once", why: "one transpose stays, and so does a reshape that splits an axis", keeps: true, build: func(g *graph) relay.Expr {
		x := g.reshape(g.transpose(g.input("x", 2, 1, 3, 4), 0, 3, 1, 2), 2, 4, 3)
		return g.tuple(x, g.transpose(g.reshape(g.transpose(g.input("z", 2, 3, 4), 0, 2, 1), 2, 2, 2, 3), 0, 2, 1, 3))
	}},
	{name: "slice_pad_concat", why: "a slice of everything, a pad by nothing, the join of one", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 3)
		x = g.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{0, 0}, End: []int{2, 9}}, x)
		x = g.call("nn.pad", &relay.PadAttrs{PadWidth: []int{0, 0, 0, 0}, PadMode: "constant"}, x, g.scalar(0))
		return g.call("exp", nil, g.call("concatenate", &relay.ConcatAttrs{Axis: 1}, g.tuple(x)))
	}},
	{name: "slice_of_a_part", why: "a slice of less stays", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{1}, End: []int{2}}, g.input("x", 2, 3))
	}},
	{name: "field_of_tuple", why: "a field of a tuple that is written out is that field", build: func(g *graph) relay.Expr {
		x := g.input("x", 2)
		return g.get(g.tuple(g.call("exp", nil, x), g.call("tanh", nil, x)), 1)
	}},
	{name: "mean_of_one", why: "a mean over an axis of extent 1 that is kept", build: func(g *graph) relay.Expr {
		return g.call("exp", nil, g.call("mean", &relay.ReduceAttrs{Axis: []int{1}, Keepdims: true}, g.input("x", 2, 1, 3)))
	}},
}

var foldRows = []row{
	{name: "arithmetic", why: "what is computed from constants is a constant", build: func(g *graph) relay.Expr {
		return g.mul(g.input("x", 2), g.add(g.weights(2), g.call("exp", nil, g.weights(2))))
	}},
	{name: "split", why: "fields of a tuple that is computed from constants", build: func(g *graph) relay.Expr {
		parts := g.call("split", &relay.SplitAttrs{Indices: []int{1}}, g.weights(3, 2))
		return g.mul(g.input("x", 2), g.add(g.get(parts, 0), g.get(parts, 1)))
	}},
	{name: "growth", why: "a filled tensor stays a call: it would only make the file larger", keeps: true, build: func(g *graph) relay.Expr {
		return g.add(g.input("x", 200, 200), g.call("full", &relay.FullAttrs{Shape: []int{200, 200}}, g.scalar(3)))
	}},
	{name: "filled_weight", why: "but as a weight it is made, because it will be packed", build: func(g *graph) relay.Expr {
		w := g.call("full", &relay.FullAttrs{Shape: []int{200, 200}}, g.scalar(0.25))
		return g.call("nn.dense", nil, g.input("x", 1, 200), w)
	}},
}

var activationRows = []row{
	{name: "hard_sigmoid", why: "clip(x + 3, 0, 6) / 6", build: func(g *graph) relay.Expr {
		return g.div(g.clip(g.add(g.input("x", 5), g.scalar(3)), 0, 6), g.scalar(6))
	}},
	{name: "hard_sigmoid_slope", why: "clip(0.2 x + 0.5, 0, 1)", build: func(g *graph) relay.Expr {
		return g.clip(g.add(g.scalar(0.5), g.mul(g.scalar(0.2), g.input("x", 5))), 0, 1)
	}},
	{name: "hard_swish", why: "x · (clip(x + 3, 0, 6) / 6)", build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		return g.mul(x, g.div(g.clip(g.add(x, g.scalar(3)), 0, 6), g.scalar(6)))
	}},
	{name: "hard_swish_late_factor", why: "(x · clip(x + 3, 0, 6)) · 1/6", build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		return g.mul(g.mul(x, g.clip(g.add(x, g.scalar(3)), 0, 6)), g.scalar(1./6))
	}},
	{name: "hard_swish_of_another", why: "x · clip(z + 3, 0, 6) / 6 is none: the factors differ", build: func(g *graph) relay.Expr {
		x, z := g.input("x", 5), g.input("z", 5)
		return g.mul(x, g.div(g.clip(g.add(z, g.scalar(3)), 0, 6), g.scalar(6)))
	}},
	{name: "swish", why: "x · sigmoid(β x)", build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		return g.mul(g.call("sigmoid", nil, g.mul(x, g.scalar(1.5))), x)
	}},
	{name: "swish_of_a_sigmoid", why: "both factors are sigmoids; the first is one of the second: β is 1", build: func(g *graph) relay.Expr {
		x := g.call("sigmoid", nil, g.input("x", 5))
		return g.mul(g.call("sigmoid", nil, x), x)
	}},
	{name: "gelu", why: "x · 0.5 · (1 + erf(x / √2))", build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		return g.mul(g.mul(x, g.scalar(0.5)), g.add(g.scalar(1), g.call("erf", nil, g.div(x, g.scalar(math.Sqrt2)))))
	}},
	{name: "gelu_late_factor", why: "0.5 · (x · (1 + erf(x · 0.7071)))", build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		return g.mul(g.scalar(0.5), g.mul(x, g.add(g.call("erf", nil, g.mul(x, g.scalar(1/math.Sqrt2))), g.scalar(1))))
	}},
	{name: "gelu_tanh", why: "with the cube as a power", build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		sum := g.add(x, g.mul(g.call("power", nil, x, g.scalar(3)), g.scalar(0.044715)))
		return g.mul(g.mul(g.scalar(0.5), x), g.add(g.call("tanh", nil, g.mul(sum, g.scalar(math.Sqrt(2/math.Pi)))), g.scalar(1)))
	}},
	{name: "gelu_tanh_factored", why: "√(2/π) x (1 + 0.044715 x²)", build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		inner := g.mul(g.mul(g.scalar(math.Sqrt(2/math.Pi)), x), g.add(g.scalar(1), g.mul(g.scalar(0.044715), g.mul(x, x))))
		return g.mul(g.mul(g.scalar(0.5), x), g.add(g.call("tanh", nil, inner), g.scalar(1)))
	}},
	{name: "softplus_and_mish", why: "x · tanh(log(1 + e^x))", build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		return g.mul(x, g.call("tanh", nil, g.call("log", nil, g.add(g.call("exp", nil, x), g.scalar(1)))))
	}},
	{name: "leaky_relu", why: "max(x, 0.1 x)", build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		return g.call("maximum", nil, x, g.mul(x, g.scalar(0.1)))
	}},
	{name: "leaky_relu_where", why: "where(x > 0, x, 0.1 x)", build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		return g.call("where", nil, g.call("greater", nil, x, g.scalar(0)), x, g.mul(x, g.scalar(0.1)))
	}},
	{name: "max_with_steeper_slope", why: "max(x, 2 x) is no leaky relu", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		return g.call("maximum", nil, x, g.mul(x, g.scalar(2)))
	}},
}

// layerNorm writes it out: with the square as a power, or as a product.
func layerNorm(g *graph, x relay.Expr, axis int, power bool) relay.Expr {
	mean := func(e relay.Expr) relay.Expr {
		return g.call("mean", &relay.ReduceAttrs{Axis: []int{axis}, Keepdims: true}, e)
	}
	d := g.call("subtract", nil, x, mean(x))
	square := g.mul(d, d)
	if power {
		square = g.call("power", nil, d, g.scalar(2))
	}
	return g.div(d, g.call("sqrt", nil, g.add(mean(square), g.scalar(1e-5))))
}

var layerNormRows = []row{
	{name: "scale_and_center", why: "mean, variance, gamma and beta become one operator", build: func(g *graph) relay.Expr {
		return g.add(g.mul(layerNorm(g, g.input("x", 2, 3, 8), -1, true), g.weights(8)), g.weights(8))
	}},
	{name: "square_as_product", why: "d · d instead of a power, without gamma and beta", build: func(g *graph) relay.Expr {
		return layerNorm(g, g.input("x", 2, 3, 8), 2, false)
	}},
	{name: "scale_of_other_axis", why: "a factor along another axis stays outside", build: func(g *graph) relay.Expr {
		return g.mul(layerNorm(g, g.input("x", 2, 3, 8), -1, true), g.weights(3, 1))
	}},
	{name: "variance_of_another", why: "the variance of something else is no layer norm", keeps: true, build: func(g *graph) relay.Expr {
		x, z := g.input("x", 2, 8), g.input("z", 2, 8)
		mean := func(e relay.Expr) relay.Expr {
			return g.call("mean", &relay.ReduceAttrs{Axis: []int{-1}, Keepdims: true}, e)
		}
		return g.div(g.call("subtract", nil, x, mean(x)), g.call("sqrt", nil, g.add(mean(g.mul(z, z)), g.scalar(1e-5))))
	}},
}

var shuffleRows = []row{
	{name: "two_groups", why: "channels of two branches are interleaved", build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 6, 2, 2)
		return g.reshape(g.transpose(g.reshape(x, 1, 2, 3, 2, 2), 0, 2, 1, 3, 4), 1, 6, 2, 2)
	}},
	{name: "other_transpose", why: "a transpose of more axes is none", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 6, 2, 2)
		return g.reshape(g.transpose(g.reshape(x, 1, 2, 3, 2, 2), 0, 2, 1, 4, 3), 1, 6, 2, 2)
	}},
}

var combineRows = []row{
	{name: "add_to_bias", why: "an addition of a constant for each channel is a bias", build: func(g *graph) relay.Expr {
		return g.add(g.weights(4, 1, 1), g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1))
	}},
	{name: "two_biases", why: "two biases are one", build: func(g *graph) relay.Expr {
		return g.add(g.bias(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1), 4, 1), g.weights(1, 4, 1, 1))
	}},
	{name: "bias_used_twice", why: "a bias whose value is used elsewhere stays", build: func(g *graph) relay.Expr {
		y := g.bias(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1), 4, 1)
		return g.tuple(y, g.add(y, g.weights(1, 4, 1, 1)))
	}},
	{name: "factors", why: "(x / 4) · 3", build: func(g *graph) relay.Expr {
		return g.mul(g.div(g.input("x", 2, 3), g.scalar(4)), g.scalar(3))
	}},
	{name: "terms", why: "(x + 1) - 3", build: func(g *graph) relay.Expr {
		return g.call("subtract", nil, g.add(g.input("x", 2, 3), g.scalar(1)), g.scalar(3))
	}},
	{name: "constant_minus", why: "3 - x is no term added to x", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("subtract", nil, g.scalar(3), g.input("x", 2, 3))
	}},
	{name: "bias_of_rows", why: "a constant along another axis is no bias", keeps: true, build: func(g *graph) relay.Expr {
		return g.add(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1), g.weights(4, 1))
	}},
}

var scaleRows = []row{
	{name: "behind_convolution", why: "a factor behind goes into the weights and the bias", build: func(g *graph) relay.Expr {
		y := g.bias(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1), 4, 1)
		return g.bias(g.mul(y, g.weights(4, 1, 1)), 4, 1)
	}},
	{name: "behind_grouped_convolution", why: "each group has channels of its own", build: func(g *graph) relay.Expr {
		return g.mul(g.conv(g.input("x", 1, 4, 4, 4), 6, 4, 3, 1, 2), g.weights(6, 1, 1))
	}},
	{name: "used_twice", why: "a convolution whose value is used elsewhere keeps its weights", keeps: true, build: func(g *graph) relay.Expr {
		y := g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1)
		return g.tuple(g.mul(y, g.weights(4, 1, 1)), g.call("nn.relu", nil, y))
	}},
	{name: "before_convolution", why: "a factor before goes into the weights' input channels; padding stays zero", build: func(g *graph) relay.Expr {
		return g.conv(g.mul(g.input("x", 1, 4, 4, 4), g.weights(1, 4, 1, 1)), 6, 4, 3, 1, 2)
	}},
	{name: "bias_before_pointwise", why: "a bias before a window of one becomes the bias behind it", build: func(g *graph) relay.Expr {
		return g.conv(g.bias(g.input("x", 1, 3, 4, 4), 3, 1), 4, 3, 1, 0, 1)
	}},
	{name: "bias_before_padding", why: "a bias before padding stays: the padding is not biased", keeps: true, build: func(g *graph) relay.Expr {
		return g.conv(g.bias(g.input("x", 1, 3, 4, 4), 3, 1), 4, 3, 3, 1, 1)
	}},
	{name: "dense", why: "dense layers: rows of the weight", build: func(g *graph) relay.Expr {
		return g.div(g.call("nn.dense", nil, g.mul(g.input("x", 2, 3), g.weights(3)), g.weights(5, 3)), g.positive(5))
	}},
	{name: "matmul", why: "products with a constant: columns of the weight", build: func(g *graph) relay.Expr {
		return g.mul(g.call("nn.matmul", nil, g.input("x", 2, 4, 3), g.weights(3, 5)), g.weights(5))
	}},
	{name: "transposed_convolution", why: "weights (C, O/groups): the group is that of the input channel", build: func(g *graph) relay.Expr {
		attrs := g.ops.Lookup("nn.conv2d_transpose").NewAttrs().(*relay.ConvTransposeAttrs)
		attrs.Groups, attrs.Strides = 2, []int{2, 2}
		y := g.call("nn.conv2d_transpose", attrs, g.mul(g.input("x", 1, 4, 3, 3), g.weights(4, 1, 1)), g.weights(4, 3, 2, 2))
		return g.mul(y, g.weights(6, 1, 1))
	}},
	{name: "scalar", why: "a division by one number", build: func(g *graph) relay.Expr {
		return g.conv(g.div(g.input("x", 1, 3, 4, 4), g.scalar(127.5)), 4, 3, 3, 1, 1)
	}},
	{name: "factor_and_bias_before", why: "the bias goes into a bias behind, then the factor into the weights", build: func(g *graph) relay.Expr {
		return g.conv(g.add(g.mul(g.input("x", 1, 3, 4, 4), g.scalar(2)), g.scalar(1)), 4, 3, 1, 0, 1)
	}},
	{name: "through_relu_and_pool", why: "positive factors pass relu and maxima", build: func(g *graph) relay.Expr {
		y := g.call("nn.relu", nil, g.bias(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1), 4, 1))
		attrs := g.ops.Lookup("nn.max_pool2d").NewAttrs().(*relay.PoolAttrs)
		attrs.PoolSize, attrs.Strides = []int{2, 2}, []int{2, 2}
		return g.bias(g.mul(g.call("nn.max_pool2d", attrs, y), g.positive(4, 1, 1)), 4, 1)
	}},
	{name: "negative_factors_behind_relu", why: "relu(-x) is not -relu(x)", keeps: true, build: func(g *graph) relay.Expr {
		y := g.call("nn.relu", nil, g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1))
		return g.mul(y, g.weights(4, 1, 1))
	}},
	{name: "factor_along_rows", why: "a factor along another axis stays", keeps: true, build: func(g *graph) relay.Expr {
		return g.mul(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1), g.weights(4, 1))
	}},
}

func padded(g *graph, value float64, widths ...int) relay.Expr {
	return g.call("nn.pad", &relay.PadAttrs{PadWidth: widths, PadMode: "constant"}, g.input("x", 1, 3, 4, 4), g.scalar(value))
}

var padRows = []row{
	{name: "convolution", why: "zeros outside are the convolution's own padding", build: func(g *graph) relay.Expr {
		return g.conv(padded(g, 0, 0, 0, 0, 0, 1, 0, 2, 1), 4, 3, 3, 1, 1)
	}},
	{name: "other_value", why: "ones outside stay", keeps: true, build: func(g *graph) relay.Expr {
		return g.conv(padded(g, 1, 0, 0, 0, 0, 1, 0, 2, 1), 4, 3, 3, 1, 1)
	}},
	{name: "channels", why: "padding of channels stays", keeps: true, build: func(g *graph) relay.Expr {
		return g.conv(padded(g, 0, 0, 0, 0, 1, 1, 0, 2, 1), 4, 4, 3, 1, 1)
	}},
	{name: "average_pool", why: "zeros outside count in the mean", build: func(g *graph) relay.Expr {
		attrs := g.ops.Lookup("nn.avg_pool2d").NewAttrs().(*relay.PoolAttrs)
		attrs.PoolSize, attrs.Strides = []int{2, 2}, []int{2, 2}
		return g.call("nn.avg_pool2d", attrs, padded(g, 0, 0, 0, 0, 0, 1, 1, 1, 1))
	}},
	{name: "max_pool_of_relu", why: "zeros outside are never larger than what is not negative", build: func(g *graph) relay.Expr {
		attrs := g.ops.Lookup("nn.max_pool2d").NewAttrs().(*relay.PoolAttrs)
		attrs.PoolSize, attrs.Strides = []int{3, 3}, []int{2, 2}
		p := g.call("nn.pad", &relay.PadAttrs{PadWidth: []int{0, 0, 0, 0, 1, 1, 0, 1}, PadMode: "constant"}, g.call("nn.relu", nil, g.input("x", 1, 2, 5, 6)), g.scalar(0))
		return g.call("nn.max_pool2d", attrs, p)
	}},
	{name: "max_pool_with_windows_of_padding", why: "a window of zeros alone has the maximum 0, one of padding has none", keeps: true, build: func(g *graph) relay.Expr {
		attrs := g.ops.Lookup("nn.max_pool2d").NewAttrs().(*relay.PoolAttrs)
		attrs.PoolSize, attrs.Strides = []int{2, 2}, []int{2, 2}
		p := g.call("nn.pad", &relay.PadAttrs{PadWidth: []int{0, 0, 0, 0, 2, 0, 0, 0}, PadMode: "constant"}, g.call("nn.relu", nil, g.input("x", 1, 2, 4, 4)), g.scalar(0))
		return g.call("nn.max_pool2d", attrs, p)
	}},
	{name: "max_pool_of_least", why: "-∞ outside never wins", build: func(g *graph) relay.Expr {
		attrs := g.ops.Lookup("nn.max_pool2d").NewAttrs().(*relay.PoolAttrs)
		attrs.PoolSize, attrs.Strides = []int{2, 2}, []int{2, 2}
		return g.call("nn.max_pool2d", attrs, padded(g, math.Inf(-1), 0, 0, 0, 0, 1, 1, 1, 1))
	}},
	{name: "max_pool", why: "zeros outside may be the largest: they stay", keeps: true, build: func(g *graph) relay.Expr {
		attrs := g.ops.Lookup("nn.max_pool2d").NewAttrs().(*relay.PoolAttrs)
		attrs.PoolSize, attrs.Strides = []int{2, 2}, []int{2, 2}
		return g.call("nn.max_pool2d", attrs, padded(g, 0, 0, 0, 0, 0, 1, 1, 1, 1))
	}},
}

var exciteRows = []row{
	{name: "convolutions", why: "as MobileNetV3 has it; the product with the data stays", build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 8, 3, 3)
		y := g.call("nn.relu", nil, g.bias(g.conv(g.call("nn.global_avg_pool2d", nil, x), 2, 8, 1, 0, 1), 2, 1))
		return g.mul(x, g.call("nn.hard_sigmoid", &relay.HardSigmoidAttrs{Alpha: 1. / 6, Beta: 0.5}, g.bias(g.conv(y, 8, 2, 1, 0, 1), 8, 1)))
	}},
	{name: "dense", why: "with a mean, dense layers and reshapes; without biases", build: func(g *graph) relay.Expr {
		x := g.input("x", 2, 8, 3, 3)
		p := g.call("mean", &relay.ReduceAttrs{Axis: []int{2, 3}}, x)
		y := g.call("nn.swish", nil, g.call("nn.dense", nil, p, g.weights(2, 8)))
		y = g.call("sigmoid", nil, g.call("nn.dense", nil, y, g.weights(8, 2)))
		return g.mul(x, g.reshape(y, 2, 8, 1, 1))
	}},
	{name: "other_activation", why: "an activation that the operator does not have", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 8, 3, 3)
		y := g.call("tanh", nil, g.conv(g.call("nn.global_avg_pool2d", nil, x), 2, 8, 1, 0, 1))
		return g.mul(x, g.call("sigmoid", nil, g.conv(y, 8, 2, 1, 0, 1)))
	}},
	{name: "hidden_value_used", why: "a hidden value that is used elsewhere", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 8, 3, 3)
		y := g.call("nn.relu", nil, g.conv(g.call("nn.global_avg_pool2d", nil, x), 2, 8, 1, 0, 1))
		return g.tuple(y, g.mul(x, g.call("sigmoid", nil, g.conv(y, 8, 2, 1, 0, 1))))
	}},
}

var commonRows = []row{
	{name: "calls_and_constants", why: "equal operators on equal constants", build: func(g *graph) relay.Expr {
		x := g.input("x", 3)
		return g.add(g.call("exp", nil, g.mul(x, g.scalar(2))), g.call("exp", nil, g.mul(x, g.scalar(2))))
	}},
	{name: "other_attributes", why: "equal operators with other attributes stay", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 3)
		return g.add(g.clip(x, 0, 1), g.clip(x, 0, 2))
	}},
}

var packRows = []row{
	{name: "layout_transform", why: "weights are packed now", build: func(g *graph) relay.Expr {
		w := g.call("layout_transform", &relay.LayoutTransformAttrs{SrcLayout: "OIHW", DstLayout: "OHWI"}, g.weights(2, 3, 1, 1))
		return g.add(g.input("x", 2, 1, 1, 3), w)
	}},
	{name: "of_an_input", why: "an input's layout changes when the model runs", keeps: true, build: func(g *graph) relay.Expr {
		return g.call("layout_transform", &relay.LayoutTransformAttrs{SrcLayout: "NCHW", DstLayout: "NHWC"}, g.input("x", 1, 3, 2, 2))
	}},
}

var copyRows = []row{
	{name: "of_a_layout", why: "channels innermost for a convolution, outermost for the model, innermost again", build: func(g *graph) relay.Expr {
		attrs := g.ops.Lookup("nn.conv2d").NewAttrs().(*relay.ConvAttrs)
		attrs.DataLayout, attrs.OutLayout = "NHWC", "NHWC"
		y := g.call("nn.conv2d", attrs, g.input("x", 1, 1, 6, 4), g.weights(5, 4, 1, 1))
		return g.transpose(g.reshape(g.transpose(y, 0, 3, 1, 2), 1, 5, 6), 0, 2, 1)
	}},
}

// manyInputs are n inputs of one element.
func (g *graph) manyInputs(n int) []relay.Expr {
	var list []relay.Expr
	for i := range n {
		list = append(list, g.input(fmt.Sprint("x", i), 1))
	}
	return list
}

var splitRows = []row{
	{name: "too_many", why: "a kernel of twelve arguments takes four tensors, its results and tables: five are joined in parts", arguments: 12, build: func(g *graph) relay.Expr {
		list := g.manyInputs(5)
		return g.tuple(g.join(0, list...), g.call("stack", &relay.ConcatAttrs{Axis: -1}, g.tuple(list...)))
	}},
	{name: "parts_of_parts", why: "more parts than a kernel takes are joined in parts again", arguments: 10, build: func(g *graph) relay.Expr {
		return g.join(0, g.manyInputs(7)...)
	}},
	{name: "as_many_as_may_be", why: "four are joined at once", keeps: true, arguments: 12, build: func(g *graph) relay.Expr {
		return g.join(0, g.manyInputs(4)...)
	}},
}
