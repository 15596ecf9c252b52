package transform

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
)

// packed is a convolution of images, channels innermost and weights in panels of four, with a bias.
func (g *graph) packed(x relay.Expr, out, window, stride, groups int) relay.Expr {
	in := relay.Tensor(x).Shape[3]
	attrs := g.ops.Lookup("nn.conv2d").NewAttrs().(*relay.ConvAttrs)
	pad := window / 2
	attrs.Padding, attrs.Strides, attrs.Groups, attrs.Channels = []int{pad, pad, pad, pad}, []int{stride, stride}, groups, out
	attrs.DataLayout, attrs.KernelLayout = "NHWC", "OHWI4o"
	return g.add(g.call("nn.conv2d", attrs, x, g.weights((out+3)/4, window, window, in/groups, 4)), g.weights(out))
}

var blockRows = []row{
	{name: "inverted_residual", why: "the wide tensors never exist as a whole; the residual is read by rows", build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 32, 8, 4)
		y := g.call("nn.relu", nil, g.packed(x, 24, 1, 1, 1))
		y = g.call("nn.relu", nil, g.packed(y, 24, 3, 1, 24))
		return g.add(g.packed(y, 4, 1, 1, 1), x)
	}},
	{name: "without_projection", why: "what follows reads the value twice: two convolutions are joined", build: func(g *graph) relay.Expr {
		y := g.call("nn.relu", nil, g.packed(g.input("x", 1, 32, 8, 4), 24, 1, 1, 1))
		y = g.packed(y, 24, 3, 1, 24)
		pool := g.call("nn.global_avg_pool2d", &relay.GlobalPoolAttrs{Layout: "NHWC"}, y)
		return g.packed(g.mul(y, pool), 4, 1, 1, 1)
	}},
	{name: "used_twice", why: "a value that another function reads must exist", keeps: true, build: func(g *graph) relay.Expr {
		y := g.packed(g.input("x", 1, 32, 8, 4), 24, 1, 1, 1)
		return g.tuple(g.packed(y, 24, 3, 1, 24), g.call("nn.softmax", nil, y))
	}},
	{name: "not_pointwise", why: "a first convolution with a window would be computed more than once for most rows", keeps: true, build: func(g *graph) relay.Expr {
		y := g.packed(g.input("x", 1, 32, 8, 4), 24, 3, 1, 1)
		return g.packed(g.packed(y, 24, 3, 1, 24), 4, 1, 1, 1)
	}},
	{name: "computed_on_the_way", why: "an operand that the depthwise convolution's function computes is no row of the value before", keeps: true, build: func(g *graph) relay.Expr {
		y := g.packed(g.input("x", 1, 32, 8, 4), 24, 1, 1, 1)
		return g.packed(g.call("nn.pad", &relay.PadAttrs{PadWidth: []int{0, 0, 1, 1, 1, 1, 0, 0}, PadMode: "constant"}, y, g.scalar(0)), 24, 3, 1, 24)
	}},
	{name: "few_rows", why: "blocks of few rows would compute most rows more than once", keeps: true, build: func(g *graph) relay.Expr {
		y := g.packed(g.input("x", 1, 14, 14, 4), 24, 1, 1, 1)
		return g.packed(g.packed(y, 24, 3, 1, 24), 4, 1, 1, 1)
	}},
	{name: "elsewhere", why: "the block holds less than the rest of the model at another time, which decides the memory", keeps: true, build: func(g *graph) relay.Expr {
		x := g.input("x", 1, 32, 8, 4)
		large := g.packed(g.call("nn.softmax", nil, g.packed(x, 96, 3, 1, 1)), 4, 3, 1, 1)
		return g.packed(g.packed(g.packed(large, 8, 1, 1, 1), 8, 3, 1, 8), 4, 1, 1, 1)
	}},
}

func TestBlockRows(t *testing.T) {
	host, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	for _, r := range blockRows {
		t.Run(r.name, func(t *testing.T) {
			g := newGraph(t)
			before := g.module(r.build(g))
			before, err := FuseOps(context.Background(), before, &Options{Ops: g.ops, Notes: &diag.Notes{}})
			require.NoError(t, err)
			notes := &diag.Notes{}
			after, err := FuseBlocks(context.Background(), before, &Options{Ops: g.ops, Notes: notes, Target: host})
			require.NoError(t, err)
			require.Equal(t, r.keeps, before == after)
			require.NoError(t, relay.VerifyOps(after, g.ops))
			sameAnswers(t, before, after)
			var lines []string
			for _, n := range notes.List() {
				lines = append(lines, n.String())
			}
			golden.Check(t, filepath.Join("testdata", "fuse_blocks", r.name+".txtar"), golden.Section{Name: "why", Text: r.why},
				golden.Section{Name: "before", Text: relay.Print(before)}, golden.Section{Name: "after", Text: relay.Print(after)},
				golden.Section{Name: "notes", Text: strings.Join(lines, "\n")})
		})
	}
	gpu, err := target.Parse("adreno-660")
	require.NoError(t, err)
	g := newGraph(t)
	before, err := FuseOps(context.Background(), g.module(blockRows[0].build(g)), &Options{Ops: g.ops, Notes: &diag.Notes{}})
	require.NoError(t, err)
	after, err := FuseBlocks(context.Background(), before, &Options{Ops: g.ops, Target: gpu})
	require.NoError(t, err)
	require.Same(t, before, after, "a GPU keeps its tensors in images")
}
