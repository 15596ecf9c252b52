package transform

import (
	"context"
	"maps"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// named is a call of an operator at a node of the model.
func (g *graph) named(node, op string, attrs any, args ...relay.Expr) relay.Expr {
	c, err := relay.NewCall(g.ops.Lookup(op), args, attrs, diag.Pos{Node: node})
	require.NoError(g.t, err)
	return c
}

// highest is the maximum along the last axis, which reads halves and may give them; of a value that it alone reads, it is computed
// in a kernel of its own.
func (g *graph) highest(node string, x relay.Expr, keep bool) relay.Expr {
	return g.named(node, "max", &relay.ReduceAttrs{Axis: []int{-1}, Keepdims: keep}, x)
}

// halfCase is an operator whose operands of float32 are in memory, of unknown range, and could be halves; so could its result.
type halfCase struct {
	module *relay.Module
	reads  []string // the nodes that make its operands of float32
	gives  bool     // it has results of float32 that can be read as halves
}

// drawHalfCase draws a call of an operator until it has operands and results that half precision could be for; nil when it has none.
func drawHalfCase(t *testing.T, op string) *halfCase {
	for seed := range uint64(60) {
		drawn := relaygen.Module(relay.Core(), relaygen.Seeded(seed), relaygen.Options{Operators: 1, Rows: []string{op}, DType: tensor.Float32})
		var c *relay.Call
		for e := range relay.PostOrder(drawn.Main(), false) {
			if found, ok := is(e, op); ok {
				c = found
			}
		}
		if c == nil || slices.ContainsFunc(tensors(c.Type()), func(x *relay.TensorType) bool { return x.DType.Bits() == 16 }) {
			continue
		}
		g, b, outputs := newGraph(t), &halfCase{}, []relay.Expr{}
		made := func(e relay.Expr) relay.Expr {
			_, constant := e.(*relay.Constant)
			if tt := relay.Tensor(e); !is32(e) || tt == nil || constant && keepings[op] != prone {
				return e
			}
			node := "x" + string(rune('a'+len(b.reads)))
			b.reads = append(b.reads, node)
			x := g.highest(node, g.input("in_"+node, append(slices.Clone(relay.Tensor(e).Shape), 2)...), false)
			if len(relay.Tensor(x).Shape) > 0 {
				outputs = append(outputs, g.highest("other_"+node, x, true))
			}
			return x
		}
		args := slices.Clone(c.Args)
		for i, arg := range args {
			if tuple, ok := arg.(*relay.Tuple); ok {
				fields := slices.Clone(tuple.Fields)
				for k := range fields {
					fields[k] = made(fields[k])
				}
				args[i] = g.tuple(fields...)
				continue
			}
			args[i] = made(arg)
		}
		g.params = append(g.params, drawn.Main().Params...)
		y := g.named("op", op, c.Attrs, args...)
		results := []relay.Expr{y}
		if tuple, ok := y.Type().(*relay.TupleType); ok {
			results = nil
			for i := range tuple.Fields {
				results = append(results, g.get(y, i))
			}
		}
		for _, r := range results {
			if is32(r) && len(relay.Tensor(r).Shape) > 0 && relay.Tensor(r).Shape.Elems() > 0 {
				b.gives = true
				outputs = append(outputs, g.highest("one", r, true), g.highest("two", r, true))
			} else {
				outputs = append(outputs, r)
			}
		}
		hidden := slices.ContainsFunc(b.reads, func(node string) bool { // a scalar, whose only reader may be in its kernel
			return !slices.ContainsFunc(outputs, func(e relay.Expr) bool { c, ok := e.(*relay.Call); return ok && c.Pos().Node == "other_"+node })
		})
		if len(b.reads) > 0 && !hidden && (b.gives || keepings[op] == deny) {
			b.module = g.module(g.tuple(outputs...))
			return b
		}
	}
	return nil
}

// inHalf returns the nodes of which a result is kept in half precision.
func inHalf(m *relay.Module, d tensor.DType) map[string]bool {
	nodes := map[string]bool{}
	for e := range relay.PostOrder(m.Main(), false) {
		if c, ok := e.(*relay.Call); ok && slices.ContainsFunc(tensors(c.Type()), func(t *relay.TensorType) bool { return t.DType == d }) {
			nodes[c.Pos().Node] = true
		}
	}
	return nodes
}

// TestEveryRowOfHalfPrecision has every operator of the table between operators that allow halves: what each row says of operands
// and results is what becomes of them.
func TestEveryRowOfHalfPrecision(t *testing.T) {
	host, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	var without []string
	for _, op := range slices.Sorted(maps.Keys(keepings)) {
		b := drawHalfCase(t, op)
		if b == nil {
			without = append(without, op)
			require.Equal(t, deny, keepings[op], "%s has no operand of float32 and no result", op)
			continue
		}
		for _, d := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
			o := &Options{Ops: relay.Core(), Notes: &diag.Notes{}, Target: host, Verify: true, Precision: Precision{Store: d}}
			after, err := Run(context.Background(), b.module, []Pass{{"assign", "", Assign}}, o)
			require.NoError(t, err, op)
			halves := inHalf(after, d)
			for _, node := range b.reads {
				require.Equal(t, keepings[op] != deny, halves[node], "%s in %v: operand %s\n%s", op, d, node, relay.Print(after))
			}
			gives := map[keeping]bool{deny: false, prone: d == tensor.BFloat16, allow: true, follow: true}[keepings[op]]
			if op != "transpose" { // its result is its operand, in another order
				require.Equal(t, gives, halves["op"], "%s in %v: result\n%s", op, d, relay.Print(after))
			}

			o.Precision.Keep = regexp.MustCompile("^op$")
			after, err = Run(context.Background(), b.module, []Pass{{"assign", "", Assign}}, o)
			require.NoError(t, err, op)
			halves = inHalf(after, d)
			for _, node := range append([]string{"op"}, b.reads...) {
				require.False(t, halves[node], "%s in %v: %s although it is to be kept\n%s", op, d, node, relay.Print(after))
			}
		}
	}
	t.Logf("no operand of float32: %v", without)
	require.Less(t, len(without), 30)
}

// TestAllowedResultsAreNoLarger applies the operators whose results may be rounded, other than products with weights, to a first
// operand with elements of 1000 and -1000: no result leaves the range of float16.
func TestAllowedResultsAreNoLarger(t *testing.T) {
	tried := 0
	for _, op := range slices.Sorted(maps.Keys(keepings)) {
		product := relay.Core().Lookup(op).Class == relay.OutFusable
		if k := keepings[op]; k != allow && k != follow || product {
			continue
		}
		b := drawHalfCase(t, op)
		require.NotNil(t, b, op)
		for seed := range uint64(5) {
			args := relaygen.Inputs(b.module.Main(), seed)
			values := make([]relay.Value, len(args))
			for i, a := range args {
				w := tensor.Widen(a)
				if b.module.Main().Params[i].Name == "in_xa" {
					for k := range w.F {
						w.F[k] = math.Copysign(1000, w.F[k])
					}
				}
				values[i] = w
			}
			_, err := eval.Options{Observe: func(e relay.Expr, v relay.Value) error {
				if c, ok := e.(*relay.Call); ok && c.Pos().Node == "op" {
					if w, one := v.(*tensor.Wide); one {
						tried++
						for _, x := range w.F {
							require.False(t, math.Abs(x) > tensor.MaxFinite(tensor.Float16), "%s gives %v", op, x)
						}
					}
				}
				return nil
			}}.Run(context.Background(), b.module.Main(), values)
			require.NoError(t, err, op)
		}
	}
	require.Greater(t, tried, 200)
}

// TestWhyItStays has a graph for each reason for which a value or a weight stays in float32: the note of the node tells it.
func TestWhyItStays(t *testing.T) {
	host, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	// dense is a product at node op, whose weights are at most 1.
	dense := func(g *graph, node string, x relay.Expr) relay.Expr {
		in := relay.Tensor(x).Shape[1]
		return g.named(node, "nn.dense", nil, x, g.scalars(0.25, in, in))
	}
	norm := &relay.NormAttrs{Axis: 1, Epsilon: 1e-5, Center: true, Scale: true}
	for _, x := range []struct {
		name  string
		keep  string
		build func(g *graph, x relay.Expr) relay.Expr
		want  string // the note of node op
	}{
		{"asked for", "^op$", func(g *graph, x relay.Expr) relay.Expr { return dense(g, "next", dense(g, "op", x)) }, "stays in float32: as asked for"},
		{"the operand of one asked for", "^next$", func(g *graph, x relay.Expr) relay.Expr { return dense(g, "next", dense(g, "op", x)) },
			"stays in float32: next (nn.dense) wants it in float32"},
		{"its operator", "", func(g *graph, x relay.Expr) relay.Expr {
			return dense(g, "next", g.named("op", "nn.softmax", nil, dense(g, "first", x)))
		}, "stays in float32: nn.softmax is kept in float32"},
		{"a product of two values", "", func(g *graph, x relay.Expr) relay.Expr {
			y := dense(g, "first", x)
			return dense(g, "next", g.named("op", "multiply", nil, y, dense(g, "second", y)))
		}, "stays in float32: the result of multiply is kept in float32"},
		{"a large value", "", func(g *graph, x relay.Expr) relay.Expr {
			return dense(g, "next", g.named("op", "clip", &relay.ClipAttrs{AMin: 0, AMax: 70000}, dense(g, "first", x)))
		}, "stays in float32: its values may reach 7e+04"},
		{"large weights", "", func(g *graph, x relay.Expr) relay.Expr {
			return dense(g, "next", g.named("op", "nn.dense", nil, x, g.scalars(1025, 4, 4)))
		}, "stays in float32: its weights add up to 4.1e+03"},
		{"weights that are just not large", "", func(g *graph, x relay.Expr) relay.Expr {
			return dense(g, "next", g.named("op", "nn.dense", nil, x, g.scalars(1024, 4, 4)))
		}, ""},
		{"its constants", "", func(g *graph, x relay.Expr) relay.Expr {
			return dense(g, "next", g.named("op", "nn.layer_norm", norm, dense(g, "first", x), g.scalars(1e-9, 4), g.scalars(0, 4)))
		}, "stays in float32: float16 does not hold its constants"},
		{"an output", "", func(g *graph, x relay.Expr) relay.Expr {
			y := dense(g, "op", x)
			return g.tuple(y, dense(g, "next", y))
		}, "stays in float32: it leaves the graph as float32"},
		{"its reader", "", func(g *graph, x relay.Expr) relay.Expr {
			return dense(g, "next", g.named("reader", "nn.softmax", nil, dense(g, "op", x)))
		}, "stays in float32: reader (nn.softmax) wants it in float32"},
		{"the reader of its reader", "", func(g *graph, x relay.Expr) relay.Expr {
			y := g.named("join", "concatenate", &relay.ConcatAttrs{Axis: 0}, g.tuple(dense(g, "op", x), dense(g, "other", x)))
			return dense(g, "next", g.named("reader", "nn.softmax", nil, y))
		}, "stays in float32: join goes on with it in float32"},
		{"an input beside it", "", func(g *graph, x relay.Expr) relay.Expr {
			return dense(g, "next", g.named("op", "concatenate", &relay.ConcatAttrs{Axis: 0}, g.tuple(dense(g, "first", x), x)))
		}, "stays in float32: it is made of an input of the model"},
		{"its operand", "", func(g *graph, x relay.Expr) relay.Expr {
			y := g.tuple(dense(g, "first", x), g.named("second", "nn.softmax", nil, x))
			return dense(g, "next", g.named("op", "concatenate", &relay.ConcatAttrs{Axis: 0}, y))
		}, "stays in float32: its operand is kept in float32"},
		{"a weight that is too large", "", func(g *graph, x relay.Expr) relay.Expr {
			return dense(g, "next", g.call("nn.softmax", nil, g.named("op", "nn.dense", nil, x, g.scalars(1e5, 4, 4))))
		}, "its weight stays in float32: float16 holds it with an error of +Inf of its size"},
		{"a weight that is too small", "", func(g *graph, x relay.Expr) relay.Expr {
			return dense(g, "next", g.named("op", "nn.dense", nil, x, g.scalars(1e-7, 4, 4)))
		}, "its weight stays in float32: float16 holds it with an error of 0.19 of its size"},
		{"nothing", "", func(g *graph, x relay.Expr) relay.Expr { return dense(g, "next", dense(g, "op", x)) }, ""},
	} {
		g := newGraph(t)
		m := g.module(x.build(g, g.input("x", 4, 4)))
		o := &Options{Ops: g.ops, Notes: &diag.Notes{}, Target: host, Candidates: sameKernels, Verify: true, Precision: Precision{Store: tensor.Float16}}
		if x.keep != "" {
			o.Precision.Keep = regexp.MustCompile(x.keep)
		}
		_, err := Run(context.Background(), m, []Pass{{"assign", "", Assign}}, o)
		require.NoError(t, err, x.name)
		var kept []string
		for _, n := range o.Notes.List() {
			if n.Kind == diag.Kept && n.Node == "op" {
				kept = append(kept, n.Text)
			}
		}
		if x.want == "" {
			require.Empty(t, kept, x.name)
		} else {
			require.Contains(t, kept, x.want, x.name)
		}
	}
}
