package transform

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// channelsLast offers channels-innermost data to every convolution, and nothing else.
func channelsLast(c *relay.Call, _ tensor.DType) []cost.Candidate {
	if c.Op.Name != "nn.conv2d" {
		return nil
	}
	return []cost.Candidate{{Algorithm: "direct", Data: "NHWC", Kernel: "HWIO", Out: "NHWC", Cost: 1}}
}

var layoutRows = []row{
	{name: "convolutions", why: "between convolutions the layout stays; the model's inputs and outputs keep theirs", build: func(g *graph) relay.Expr {
		y := g.call("nn.relu", nil, g.bias(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1), 4, 1))
		return g.add(g.conv(y, 4, 4, 3, 1, 1), y)
	}},
	{name: "pool_and_concat", why: "pools and joins follow their operand", build: func(g *graph) relay.Expr {
		y := g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1)
		y = g.call("concatenate", &relay.ConcatAttrs{Axis: 1}, g.tuple(y, g.call("nn.relu", nil, y)))
		return g.conv(g.mul(y, g.weights(8, 1, 1)), 4, 8, 3, 1, 1)
	}},
	{name: "scales_along_an_axis", why: "where the data is turned, so is the axis of the scales of qnn operators", build: func(g *graph) relay.Expr {
		y := g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1)
		scale := relay.NewConstant(tensor.Of(tensor.Float32, tensor.Shape{4}, float32(0.5), 0.25, 1, 2), "", diag.Pos{})
		zero := relay.NewConstant(tensor.New(tensor.Int8, tensor.Shape{4}), "", diag.Pos{})
		y = g.call("qnn.quantize", &relay.QuantizeAttrs{Axis: 1, OutDType: tensor.Int8, Saturate: true}, y, scale, zero)
		return g.conv(g.call("qnn.dequantize", &relay.DequantizeAttrs{Axis: -3}, y, scale, zero), 4, 4, 3, 1, 1)
	}},
	{name: "transpose_of_the_model", why: "a transpose to channels innermost costs nothing where the value is so already", build: func(g *graph) relay.Expr {
		return g.transpose(g.conv(g.input("x", 1, 3, 4, 4), 4, 3, 3, 1, 1), 0, 2, 3, 1)
	}},
}

var fuseRows = []row{
	{name: "epilogue", why: "bias, residual and activation join the convolution", build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 4, 4, 4)
		return g.call("nn.relu", nil, g.add(g.bias(g.conv(x, 4, 4, 3, 1, 1), 4, 1), x))
	}},
	{name: "long_chain", why: "operators that use their operand twice double the expression of an element, so the chain is cut", build: func(g *graph) relay.Expr {
		y := g.conv(g.input("x", 1, 4, 2, 2), 4, 4, 1, 0, 1)
		for range 8 {
			y = g.call("nn.hard_swish", nil, y)
		}
		return y
	}},
	{name: "bits", why: "the bits of a value as another type are a view, between two kernels", build: func(g *graph) relay.Expr {
		y := g.call("nn.relu", nil, g.input("x", 4))
		z := g.call("reinterpret", &relay.CastAttrs{DType: tensor.Int32}, y)
		return g.call("abs", nil, z)
	}},
	{name: "used_twice", why: "a convolution whose value is used twice ends its group", build: func(g *graph) relay.Expr {
		y := g.conv(g.input("x", 1, 4, 4, 4), 4, 4, 3, 1, 1)
		return g.tuple(g.call("nn.relu", nil, y), g.call("tanh", nil, y))
	}},
	{name: "read_twice_by_one", why: "a square reads its operand twice, but nobody else does", build: func(g *graph) relay.Expr {
		x := g.call("tanh", nil, g.input("x", 2, 5))
		return g.call("mean", &relay.ReduceAttrs{Axis: []int{1}}, g.mul(x, x))
	}},
	{name: "chain", why: "elementwise operators are one kernel; constants of one element move in", build: func(g *graph) relay.Expr {
		x := g.input("x", 5)
		return g.call("tanh", nil, g.mul(g.call("exp", nil, x), g.scalar(2)))
	}},
	{name: "squeeze_excite_scale", why: "the product with the scale is read by the next convolution", build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 8, 3, 3)
		scale := g.call("nn.squeeze_excite", nil, x, g.weights(2, 8), g.weights(2), g.weights(8, 2), g.weights(8))
		return g.conv(g.mul(x, scale), 4, 8, 1, 0, 1)
	}},
	{name: "softmax_alone", why: "an opaque operator stays alone", build: func(g *graph) relay.Expr {
		return g.call("exp", nil, g.call("nn.softmax", nil, g.call("tanh", nil, g.input("x", 2, 5))))
	}},
}

// TestLayoutAndFusionRows runs the passes that make functions and layouts on their rows.
func TestLayoutAndFusionRows(t *testing.T) {
	host, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	tables := map[string][]row{"assign": layoutRows, "fuse-ops": fuseRows}
	for _, p := range Passes() {
		for _, r := range tables[p.Name] {
			t.Run(p.Name+"/"+r.name, func(t *testing.T) {
				g := newGraph(t)
				before := g.module(r.build(g))
				notes := &diag.Notes{}
				after, err := Run(context.Background(), before, []Pass{p}, &Options{Ops: g.ops, Notes: notes, Target: host, Candidates: channelsLast, Verify: true})
				require.NoError(t, err)
				sameAnswers(t, before, after)
				var lines []string
				for _, n := range notes.List() {
					lines = append(lines, n.String())
				}
				golden.Check(t, filepath.Join("testdata", strings.ReplaceAll(p.Name, "-", "_"), r.name+".txtar"), golden.Section{Name: "why", Text: r.why},
					golden.Section{Name: "before", Text: relay.Print(before)}, golden.Section{Name: "after", Text: relay.Print(after)},
					golden.Section{Name: "notes", Text: strings.Join(lines, "\n")})
			})
		}
	}
}

// TestAPassHasOneName checks that pass fuse-ops is func FuseOps in file fuse_ops.go, and says why it is there.
func TestAPassHasOneName(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Passes() {
		require.False(t, seen[p.Name], "%s is in the list twice", p.Name)
		seen[p.Name] = true
		require.NotEmpty(t, p.Why, p.Name)
		var function string
		for _, word := range strings.Split(p.Name, "-") {
			function += strings.ToUpper(word[:1]) + word[1:]
		}
		file, err := parser.ParseFile(token.NewFileSet(), strings.ReplaceAll(p.Name, "-", "_")+".go", nil, parser.ParseComments)
		require.NoError(t, err)
		found := false
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			found = found || ok && f.Name.Name == function && f.Doc != nil
		}
		require.True(t, found, "no documented func %s in the file of %s", function, p.Name)
	}
}

// TestAFunctionTakesABoundedNumberOfValues joins joins of many inputs, and has one join of all, on a processor and on a GPU.
func TestAFunctionTakesABoundedNumberOfValues(t *testing.T) {
	for name, most := range map[string]int{"x86-64-v3": 512, "adreno-660": 120} {
		for _, op := range []string{"concatenate", "stack"} {
			g := newGraph(t)
			var all, joined []relay.Expr
			for i := range 20 {
				var list []relay.Expr
				for k := range 60 {
					list = append(list, g.input(fmt.Sprintf("x%d_%d", i, k), 1))
				}
				all = append(all, list...)
				joined = append(joined, g.call(op, &relay.ConcatAttrs{}, g.tuple(list...)))
			}
			before := g.module(g.tuple(g.call("concatenate", &relay.ConcatAttrs{}, g.tuple(joined...)), g.call(op, &relay.ConcatAttrs{Axis: -1}, g.tuple(all...))))
			machine, err := target.Parse(name)
			require.NoError(t, err)
			passes := Passes()
			after, err := Run(context.Background(), before, passes, &Options{Ops: g.ops, Target: machine, Verify: true})
			require.NoError(t, err)
			largest := 0
			for e := range relay.PostOrder(after.Main(), true) {
				if fn, ok := e.(*relay.Function); ok && fn.Primitive {
					largest = max(largest, len(fn.Params))
				}
			}
			require.LessOrEqual(t, largest, most, "%s, %s", name, op)
			require.Greater(t, largest, most/2, "%s, %s: parts are needlessly small", name, op)
			sameAnswers(t, before, after)
		}
	}
}
