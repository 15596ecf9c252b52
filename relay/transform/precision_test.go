package transform

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// TestEveryOperatorHasAKeeping holds the table of half precision to that of the operators.
func TestEveryOperatorHasAKeeping(t *testing.T) {
	var names []string
	for _, op := range relay.Core().Ops() {
		names = append(names, op.Name)
		if _, decided := keepings[op.Name]; !decided {
			t.Errorf("%s has no row in keepings (precision.go): may it read and give half precision?", op.Name)
		}
	}
	for name := range keepings {
		require.True(t, slices.Contains(names, name), "%s: the operator is gone", name)
	}
	for _, list := range []map[string]bool{unitRange, sameRange} {
		for name := range list {
			require.Contains(t, names, name)
		}
	}
}

// halfRow is a small graph, and how its values are to be kept.
type halfRow struct {
	row
	precision Precision
	wide      string // operators that --keep-float32 names
}

var halfRows = []halfRow{
	{row: row{name: "half_convolutions", why: "what is between two kernels is rounded, what leaves the graph is not; biases stay", build: func(g *graph) relay.Expr {
		y := g.call("nn.relu", nil, g.bias(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1), 4, 1))
		return g.bias(g.conv(y, 4, 4, 3, 1, 1), 4, 1)
	}}},
	{row: row{name: "half_softmax", why: "softmax reads float32, so that its operand is kept so", build: func(g *graph) relay.Expr {
		return g.call("nn.softmax", nil, g.call("nn.dense", nil, g.call("nn.dense", nil, g.input("x", 2, 4), g.weights(6, 4)), g.weights(5, 6)))
	}}},
	{row: row{name: "half_through_a_view", why: "a reshape hands the wish of its reader on", build: func(g *graph) relay.Expr {
		y := g.call("nn.dense", nil, g.call("nn.dense", nil, g.input("x", 2, 4), g.weights(6, 4)), g.weights(6, 6))
		return g.call("exp", nil, g.reshape(y, 3, 4))
	}}},
	{row: row{name: "half_join", why: "a join moves halves and converts nothing; pools read them", build: func(g *graph) relay.Expr {
		y := g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1)
		y = g.call("concatenate", &relay.ConcatAttrs{Axis: 1}, g.tuple(y, g.pool(y)))
		return g.conv(y, 4, 8, 3, 1, 1)
	}}},
	{row: row{name: "half_join_with_an_input", why: "a join of a value that stays as it is keeps the others so", build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 4, 4, 4)
		y := g.call("concatenate", &relay.ConcatAttrs{Axis: 1}, g.tuple(g.conv(x, 4, 4, 3, 1, 1), x))
		return g.conv(y, 4, 8, 3, 1, 1)
	}}},
	{row: row{name: "half_sum", why: "a sum reads halves, and may be too large for one", build: func(g *graph) relay.Expr {
		y := g.call("sum", &relay.ReduceAttrs{Axis: []int{2, 3}, Keepdims: true}, g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1))
		return g.conv(y, 2, 4, 1, 0, 1)
	}}},
	{row: row{name: "half_known_range", why: "a sum of values up to 6 is no larger than 96", build: func(g *graph) relay.Expr {
		y := g.clip(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1), 0, 6)
		y = g.call("sum", &relay.ReduceAttrs{Axis: []int{2, 3}, Keepdims: true}, y)
		return g.conv(y, 2, 4, 1, 0, 1)
	}}},
	{row: row{name: "half_known_to_be_large", why: "values that reach 60000 are multiplied by 2", build: func(g *graph) relay.Expr {
		y := g.clip(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1), 0, 60000)
		return g.conv(g.mul(g.pool(y), g.scalar(2)), 2, 4, 1, 0, 1)
	}}},
	{row: row{name: "half_products", why: "a product with a gate is rounded, one of two values is not", build: func(g *graph) relay.Expr {
		y := g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1)
		gated := g.mul(y, g.call("sigmoid", nil, y))
		return g.tuple(g.conv(gated, 2, 4, 1, 0, 1), g.conv(g.mul(gated, y), 2, 4, 1, 0, 1))
	}}},
	{row: row{name: "half_weight_too_large", why: "float16 has no 100000: the weight stays, and what is multiplied with it", build: func(g *graph) relay.Expr {
		return g.call("nn.dense", nil, g.call("nn.dense", nil, g.input("x", 2, 1), g.scalars(1e5, 2, 1)), g.weights(2, 2))
	}}},
	{row: row{name: "half_table", why: "the rows of a table are kept in half precision", build: func(g *graph) relay.Expr {
		y := g.call("take", &relay.TakeAttrs{Axis: 0, Mode: "clip"}, g.weights(8, 6), g.integers("i", 3))
		return g.call("nn.dense", nil, y, g.weights(4, 6))
	}}},
	{row: row{name: "half_layer_norm", why: "layer norm computes in float32 on its way, its vectors are kept as its data", build: func(g *graph) relay.Expr {
		y := g.call("nn.dense", nil, g.input("x", 2, 4), g.weights(6, 4))
		return g.call("nn.dense", nil, g.call("nn.layer_norm", nil, y, g.positive(6), g.weights(6)), g.weights(4, 6))
	}}},
	{row: row{name: "half_kept_by_name", why: "--keep-float32 names an operator: its operand, weight and result stay", build: func(g *graph) relay.Expr {
		y := g.call("nn.dense", nil, g.call("nn.dense", nil, g.input("x", 2, 4), g.weights(6, 4)), g.weights(6, 6))
		return g.conv(g.reshape(g.call("tanh", nil, y), 1, 3, 2, 2), 4, 3, 1, 0, 1)
	}}, wide: "conv2d$"},
	{row: row{name: "half_brain", why: "bfloat16 has float32's range: sums are rounded too", build: func(g *graph) relay.Expr {
		y := g.call("sum", &relay.ReduceAttrs{Axis: []int{2, 3}, Keepdims: true}, g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1))
		return g.conv(y, 2, 4, 1, 0, 1)
	}}, precision: Precision{Store: tensor.BFloat16}},
	{row: row{name: "half_mixed", why: "a large value is rounded, as it is read from the last cache; a small one is not", build: func(g *graph) relay.Expr {
		y := g.conv(g.input("x", 1, 2, 160, 160), 16, 2, 1, 0, 1)
		return g.conv(g.conv(g.pool(y), 2, 16, 1, 0, 1), 2, 2, 1, 0, 1)
	}}, precision: Precision{Store: tensor.Float16, Mixed: true}},
}

func (g *graph) pool(x relay.Expr) relay.Expr {
	a := g.ops.Lookup("nn.max_pool2d").NewAttrs().(*relay.PoolAttrs)
	a.PoolSize, a.Padding = []int{3, 3}, []int{1, 1, 1, 1}
	return g.call("nn.max_pool2d", a, x)
}

// scalars is a constant of which every element is v.
func (g *graph) scalars(v float64, shape ...int) relay.Expr {
	w := tensor.NewWide(tensor.Float32, shape)
	for i := range w.F {
		w.F[i] = v
	}
	return relay.NewConstant(w.Narrow(), "", diag.Pos{})
}

func (g *graph) integers(name string, shape ...int) relay.Expr {
	v := relay.NewVar(name, &relay.TensorType{Shape: shape, DType: tensor.Int64}, diag.Pos{})
	g.params = append(g.params, v)
	return v
}

// sameKernels offers every convolution and dense layer its own layouts, so that only precision is chosen.
func sameKernels(c *relay.Call, weight tensor.DType) []cost.Candidate {
	k := cost.Candidate{Algorithm: "direct", Cost: 1}
	switch a := c.Attrs.(type) {
	case *relay.ConvAttrs:
		k.Data, k.Kernel, k.Out = a.DataLayout, a.KernelLayout, a.DataLayout
	case *relay.DenseAttrs:
		k.Kernel = "NK"
	default:
		return nil
	}
	return []cost.Candidate{k}
}

// TestHalfPrecisionRows compares the graphs with the golden files, and their answers with those in float32.
func TestHalfPrecisionRows(t *testing.T) {
	host, err := target.Parse("x86-64-v4")
	require.NoError(t, err)
	for _, r := range halfRows {
		t.Run(r.name, func(t *testing.T) {
			g := newGraph(t)
			before := g.module(r.build(g))
			notes := &diag.Notes{}
			o := &Options{Ops: g.ops, Notes: notes, Target: host, Candidates: sameKernels, Verify: true, Precision: r.precision}
			if o.Precision.Store == tensor.Invalid {
				o.Precision.Store = tensor.Float16
			}
			if r.wide != "" {
				o.Precision.Keep = regexp.MustCompile(r.wide)
			}
			after, err := Run(context.Background(), before, []Pass{{"assign", "", Assign}, {"pack-weights", "", PackWeights}}, o)
			require.NoError(t, err)
			require.NotEqual(t, relay.Print(before), relay.Print(after))
			require.True(t, relay.TypeEqual(before.Main().Type(), after.Main().Type()), "inputs and outputs keep their types")
			nearAnswers(t, before, after, 8*tensor.Epsilon(o.Precision.Store), "")
			var lines []string
			for _, n := range notes.List() {
				lines = append(lines, n.String())
			}
			golden.Check(t, filepath.Join("testdata", "assign", r.name+".txtar"), golden.Section{Name: "why", Text: r.why},
				golden.Section{Name: "before", Text: relay.Print(before)}, golden.Section{Name: "after", Text: relay.Print(after)},
				golden.Section{Name: "notes", Text: strings.Join(lines, "\n")})
		})
	}
}

// nearAnswers evaluates both modules on random inputs; results may differ by tol of their largest element.
func nearAnswers(t *testing.T, before, after *relay.Module, tol float64, where string) {
	args := relaygen.Inputs(before.Main(), 5)
	want, got := answers(t, before, args), answers(t, after, args)
	require.Len(t, got, len(want))
	for i := range want {
		d := tensor.Compare(got[i], want[i], 0, tol*max(1e-3, largest(want[i])))
		require.Zero(t, d.Outside, "%s output %d: %+v\n%s\n%s", where, i, d, relay.Print(before), relay.Print(after))
	}
}

// halved are the operators of which random graphs are made for half precision: what they do to an error is known to be small.
var halved = []string{"nn.conv2d", "nn.dense", "nn.max_pool2d", "nn.avg_pool2d", "nn.global_avg_pool2d", "nn.relu", "nn.leaky_relu", "tanh", "sigmoid",
	"add", "subtract", "maximum", "minimum", "nn.bias_add", "clip", "abs", "concatenate", "strided_slice", "transpose", "reshape", "split", "nn.pad",
	"nn.batch_matmul", "nn.conv2d_transpose", "mean", "where", "tile", "image.resize2d", "take", "squeeze", "expand_dims"}

// TestHalfPrecisionOfRandomGraphs rounds the values of random graphs: their types are legal, inputs and outputs keep theirs, no
// operator that needs float32 reads halves, and where all operators are tame the answers are near.
func TestHalfPrecisionOfRandomGraphs(t *testing.T) {
	host, err := target.Parse("x86-64-v4")
	require.NoError(t, err)
	rounded := 0
	for seed := range uint64(600) {
		p := Precision{Store: []tensor.DType{tensor.Float16, tensor.BFloat16}[seed%2], Mixed: seed%4 >= 2}
		o := relaygen.Options{Operators: 2 + int(seed%12), DType: tensor.Float32, Rows: relaygen.Operators(), Patterns: relaygen.Patterns()}
		tame := seed%3 == 0
		if tame {
			o.Rows, o.Patterns = halved, nil
		}
		where := fmt.Sprintf("seed %d", seed)
		before := relaygen.Module(relay.Core(), relaygen.Seeded(seed), o)
		after, err := Run(context.Background(), before, []Pass{{"assign", "", Assign}, {"fuse-ops", "", FuseOps}},
			&Options{Ops: relay.Core(), Notes: &diag.Notes{}, Target: host, Candidates: channelsLast, Verify: true, Precision: p})
		require.NoError(t, err, where)
		require.True(t, relay.TypeEqual(before.Main().Type(), after.Main().Type()), where)
		stored := false
		for e := range relay.PostOrder(after.Main(), true) {
			c, ok := e.(*relay.Call)
			if !ok || c.Op == nil {
				continue
			}
			stored = stored || relay.Tensor(c) != nil && relay.Tensor(c).DType == p.Store
			if keepings[c.Op.Name] == deny && c.Op.Name != "cast" {
				for _, a := range c.Args {
					for _, x := range tensors(a.Type()) {
						require.NotEqual(t, p.Store, x.DType, "%s: %s reads %v\n%s", where, c.Op.Name, x, relay.Print(after))
					}
				}
			}
		}
		if stored {
			rounded++
		}
		if tame {
			nearAnswers(t, before, after, 32*tensor.Epsilon(p.Store), where)
		}
	}
	require.Greater(t, rounded, 120, "too few graphs had something to round")
}

// TestHalfPrecisionThatATargetDoesNotConvert is refused.
func TestHalfPrecisionThatATargetDoesNotConvert(t *testing.T) {
	host, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	host.Features = slices.DeleteFunc(host.Features, func(f string) bool { return f == "f16c" })
	g := newGraph(t)
	m := g.module(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1))
	for d, want := range map[tensor.DType]error{tensor.Float16: diag.ErrUnsupported, tensor.BFloat16: nil, tensor.Float8E5M2: diag.ErrUnsupported} {
		_, err := Assign(context.Background(), m, &Options{Ops: g.ops, Target: host, Precision: Precision{Store: d}})
		require.ErrorIs(t, err, want, d.String())
	}
}

// TestRanges has graphs whose values are known to be within an interval.
func TestRanges(t *testing.T) {
	clipped := func(g *graph, low, high float64) relay.Expr { return g.clip(g.input("x", 1, 2, 3, 3), low, high) }
	for _, x := range []struct {
		name  string
		build func(g *graph) relay.Expr
		want  interval
		known bool
	}{
		{"input", func(g *graph) relay.Expr { return g.input("x", 3) }, interval{}, false},
		{"clip", func(g *graph) relay.Expr { return clipped(g, -1, 6) }, interval{-1, 6}, true},
		{"half open", func(g *graph) relay.Expr { return g.call("nn.relu", nil, g.input("x", 3)) }, interval{}, false},
		{"relu and minimum", func(g *graph) relay.Expr {
			return g.clip(g.call("nn.relu", nil, g.input("x", 3)), -5, 7)
		}, interval{0, 7}, true},
		{"add", func(g *graph) relay.Expr { return g.add(clipped(g, -1, 6), g.scalar(2)) }, interval{1, 8}, true},
		{"subtract", func(g *graph) relay.Expr { return g.call("subtract", nil, g.scalar(2), clipped(g, -1, 6)) }, interval{-4, 3}, true},
		{"multiply", func(g *graph) relay.Expr { return g.mul(clipped(g, -1, 6), g.scalar(-3)) }, interval{-18, 3}, true},
		{"divide", func(g *graph) relay.Expr { return g.div(clipped(g, -1, 6), g.scalar(-2)) }, interval{-3, 0.5}, true},
		{"divide by anything", func(g *graph) relay.Expr { return g.div(g.scalar(1), clipped(g, -1, 6)) }, interval{}, false},
		{"abs", func(g *graph) relay.Expr { return g.call("abs", nil, clipped(g, -9, 6)) }, interval{0, 9}, true},
		{"negative", func(g *graph) relay.Expr { return g.call("negative", nil, clipped(g, -9, 6)) }, interval{-6, 9}, true},
		{"hard swish", func(g *graph) relay.Expr { return g.call("nn.hard_swish", nil, clipped(g, -9, 6)) }, interval{-9, 6}, true},
		{"exp", func(g *graph) relay.Expr { return g.call("exp", nil, clipped(g, 0, 0)) }, interval{1, 1}, true},
		{"sqrt", func(g *graph) relay.Expr { return g.call("sqrt", nil, clipped(g, -1, 9)) }, interval{0, 3}, true},
		{"sigmoid", func(g *graph) relay.Expr { return g.call("sigmoid", nil, g.input("x", 3)) }, interval{-1, 1}, true},
		{"pool", func(g *graph) relay.Expr { return g.pool(clipped(g, -1, 6)) }, interval{-1, 6}, true},
		{"join", func(g *graph) relay.Expr {
			return g.call("concatenate", &relay.ConcatAttrs{Axis: 1}, g.tuple(clipped(g, -1, 6), g.scalars(9, 1, 1, 3, 3)))
		}, interval{-1, 9}, true},
		{"part of a join", func(g *graph) relay.Expr { return g.get(g.tuple(clipped(g, 0, 1), clipped(g, -2, 0)), 0) }, interval{-2, 1}, true},
		{"where", func(g *graph) relay.Expr {
			x := clipped(g, -1, 6)
			return g.call("where", nil, g.call("less", nil, x, g.scalar(1)), x, g.scalar(-7))
		}, interval{-7, 6}, true},
		{"sum", func(g *graph) relay.Expr {
			return g.call("sum", &relay.ReduceAttrs{Axis: []int{2, 3}}, clipped(g, -1, 6))
		}, interval{-9, 54}, true},
		{"mean", func(g *graph) relay.Expr {
			return g.call("mean", &relay.ReduceAttrs{Axis: []int{2, 3}}, clipped(g, -1, 6))
		}, interval{-1, 6}, true},
		{"dense", func(g *graph) relay.Expr {
			return g.call("nn.dense", nil, g.clip(g.input("x", 2, 4), -1, 2), g.scalars(3, 5, 4))
		}, interval{-24, 24}, true},
		{"convolution", func(g *graph) relay.Expr {
			a := g.ops.Lookup("nn.conv2d").NewAttrs().(*relay.ConvAttrs)
			return g.call("nn.conv2d", a, clipped(g, 0, 1), g.scalars(-1, 4, 2, 1, 1))
		}, interval{-2, 2}, true},
	} {
		g := newGraph(t)
		e := x.build(g)
		r, known := findRanges(g.module(e).Main())[e]
		require.Equal(t, x.known, known, x.name)
		require.Equal(t, x.want, r, x.name)
	}
}

// TestRangesHold evaluates random graphs and looks for elements outside of what was said.
func TestRangesHold(t *testing.T) {
	seen := 0
	for seed := range uint64(400) {
		m := relaygen.Module(relay.Core(), relaygen.Seeded(seed), relaygen.Options{Operators: 12, DType: tensor.Float32})
		ranges := findRanges(m.Main())
		args := relaygen.Inputs(m.Main(), seed)
		values := make([]relay.Value, len(args))
		for i, a := range args {
			values[i] = tensor.Widen(a)
		}
		_, err := eval.Options{Observe: func(e relay.Expr, v relay.Value) error {
			r, known := ranges[e]
			w, one := v.(*tensor.Wide)
			if !known || !one {
				return nil
			}
			seen++
			slack := 1e-5 * r.largest()
			for _, x := range w.F {
				if x-x == 0 {
					require.True(t, x >= r.low-slack && x <= r.high+slack, "seed %d: %v is outside %v\n%s", seed, x, r, relay.Print(m))
				}
			}
			return nil
		}}.Run(context.Background(), m.Main(), values)
		require.NoError(t, err)
	}
	require.Greater(t, seen, 300)
}
