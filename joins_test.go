package texel

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	graphpasses "github.com/texel-ml/texel/relay/transform"
)

// TestPartsAreWrittenInPlace has concatenations whose parts lie one behind the other, and some that need a kernel.
func TestPartsAreWrittenInPlace(t *testing.T) {
	g := newGraph(t)
	x, y := g.v("x", 1, 3, 4), g.v("y", 1, 2, 4)
	softmax := func(e relay.Expr) relay.Expr { return g.call("nn.softmax", &relay.AxisAttrs{Axis: -1}, e) }
	join := func(axis int, parts ...relay.Expr) *relay.Call {
		return g.call("concatenate", &relay.ConcatAttrs{Axis: axis}, relay.NewTuple(parts, diag.Pos{}))
	}
	softX, softY := softmax(x), softmax(y)
	wide := g.call("reshape", &relay.ReshapeAttrs{NewShape: []int{1, 6, 2}}, softX)
	for _, c := range []struct {
		name    string
		body    relay.Expr
		kernels int
	}{
		{"two parts behind one axis of extent 1", softmax(join(1, softX, softY)), 3},
		{"a part through a view", softmax(join(1, wide, g.call("reshape", &relay.ReshapeAttrs{NewShape: []int{1, 4, 2}}, softY))), 3},
		{"the result is an output", join(1, softX, softY), 2},
		{"along the last axis parts lie in between each other", softmax(join(2, softX, softmax(g.v("z", 1, 3, 2)))), 4},
		{"one part twice", softmax(join(1, softX, softX)), 3},
		{"an input is a part", softmax(join(1, x, softY)), 3},
		{"a second concatenation of the same part", relay.NewTuple([]relay.Expr{join(1, softX, softY), join(1, softY, softX)}, diag.Pos{}), 3},
		{"a part is an output, too", relay.NewTuple([]relay.Expr{join(1, softX, softY), softX}, diag.Pos{}), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			outputs := []string{"out"}
			if tuple, ok := c.body.(*relay.Tuple); ok {
				outputs = []string{"out", "second"}
				require.Len(t, tuple.Fields, 2)
			}
			var params []*relay.Var
			for e := range relay.PostOrder(c.body, false) {
				if v, ok := e.(*relay.Var); ok {
					params = append(params, v)
				}
			}
			m, err := graphpasses.FuseOps(context.Background(), g.module(c.body, outputs, params...), &graphpasses.Options{Ops: g.ops})
			require.NoError(t, err)
			kernels := 0
			for _, l := range g.plan(m).Launches {
				if l.Kernel != "" {
					kernels++
				}
			}
			require.Equal(t, c.kernels, kernels, "kernel launches")
		})
	}
}

// TestPartsAreParts looks at where the parts lie in the plan.
func TestPartsAreParts(t *testing.T) {
	g := newGraph(t)
	x, y := g.v("x", 1, 3, 4), g.v("y", 1, 2, 4)
	a, b := g.call("nn.softmax", &relay.AxisAttrs{Axis: -1}, x), g.call("nn.softmax", &relay.AxisAttrs{Axis: -1}, y)
	body := g.call("nn.softmax", &relay.AxisAttrs{Axis: 1}, g.call("concatenate", &relay.ConcatAttrs{Axis: 1}, relay.NewTuple([]relay.Expr{a, b}, diag.Pos{})))
	m, err := graphpasses.FuseOps(context.Background(), g.module(body, []string{"out"}, x, y), &graphpasses.Options{Ops: g.ops})
	require.NoError(t, err)
	p := g.plan(m)
	whole := find(p, "concatenate")
	require.Equal(t, int64(5*4*4), whole.Bytes)
	var offsets []int64
	for _, n := range p.Tensors {
		if n.AliasOf == whole.Name {
			offsets = append(offsets, n.AliasOffset)
		}
	}
	require.Equal(t, []int64{0, 3 * 4 * 4}, offsets)
}

// TestPartsLieWhereTensorsMay has parts of 48 and 32 bytes: the second one may begin at a multiple of 16, and of no more.
func TestPartsLieWhereTensorsMay(t *testing.T) {
	g := newGraph(t)
	softmax := func(e relay.Expr) relay.Expr { return g.call("nn.softmax", &relay.AxisAttrs{Axis: -1}, e) }
	x, y := g.v("x", 1, 3, 4), g.v("y", 1, 2, 4)
	body := g.call("concatenate", &relay.ConcatAttrs{Axis: 1}, relay.NewTuple([]relay.Expr{softmax(x), softmax(y)}, diag.Pos{}))
	m := g.module(body, []string{"out"}, x, y)
	for align, joined := range map[int64]bool{0: true, 16: true, 64: false, 128: false} {
		r, err := newRegion(m.Main(), nil, align)
		require.NoError(t, err)
		require.Equal(t, joined, r.sites[len(r.sites)-1].parts != nil, align)
	}
}
