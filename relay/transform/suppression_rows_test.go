package transform

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// greedy writes non-maximum suppression out.
type greedy struct {
	boxes     relay.Expr // (N, 4): top, left, bottom, right
	steps     int
	threshold float64
	explicit  bool // takes the chosen box out whatever it overlaps
	fill      float64
	reads     func(state relay.Expr, n int) // what else reads a state
}

// of returns the places and the scores that the steps choose from a vector of scores, one each.
func (w greedy) of(g *graph, scores relay.Expr) (places, best []relay.Expr) {
	n := relay.Tensor(scores).Shape[0]
	column := func(x relay.Expr, axis, i int) relay.Expr { return g.slice(x, axis, i, i+1) }
	side := func(i int) relay.Expr { return g.reshape(column(w.boxes, 1, i), n) }
	area := g.mul(g.sub(side(2), side(0)), g.sub(side(3), side(1)))
	state := scores
	for k := range w.steps {
		if w.reads != nil {
			w.reads(state, k)
		}
		at := g.call("argmax", &relay.ArgReduceAttrs{Axis: []int{0}, DType: tensor.Int64}, state)
		places, best = append(places, at), append(best, g.most(state, false, 0))
		if k == w.steps-1 {
			break
		}
		chosen := g.call("take", &relay.TakeAttrs{Mode: "clip"}, w.boxes, at) // (4)
		shared := func(i int) relay.Expr {
			low := g.call("maximum", nil, side(i), column(chosen, 0, i))
			high := g.call("minimum", nil, side(i+2), column(chosen, 0, i+2))
			return g.call("nn.relu", nil, g.sub(high, low))
		}
		both := g.mul(shared(0), shared(1))
		union := g.sub(g.add(area, g.call("take", &relay.TakeAttrs{Mode: "clip"}, area, at)), both)
		out := g.call("greater", nil, g.div(both, union), g.scalar(w.threshold))
		if w.explicit {
			list := make([]int64, n)
			for i := range list {
				list[i] = int64(i)
			}
			out = g.call("logical_or", nil, out, g.call("equal", nil, of(tensor.Int64, tensor.Shape{n}, list...), at))
		}
		state = g.call("where", nil, out, g.scalar(w.fill), state)
	}
	return places, best
}

// detector is a graph that gives what the steps choose for each class.
func (w greedy) detector(g *graph, n, classes int) relay.Expr {
	w.boxes = g.input("boxes", n, 4)
	scores := g.call("sigmoid", nil, g.input("scores", classes, n))
	var places, best []relay.Expr
	for c := range classes {
		at, score := w.of(g, g.reshape(g.slice(scores, 0, c, c+1), n))
		for i := range at {
			places, best = append(places, g.reshape(at[i], 1)), append(best, g.reshape(score[i], 1))
		}
	}
	return g.tuple(g.join(0, places...), g.join(0, best...))
}

var suppressionRows = []row{
	{name: "one_class", why: "three steps over four boxes; each takes its box out explicitly", build: func(g *graph) relay.Expr {
		return greedy{steps: 3, threshold: 0.5, explicit: true, fill: -1}.detector(g, 4, 1)
	}},
	{name: "boxes_without_area", why: "that a box takes itself out by overlapping itself: one without area is chosen again", build: func(g *graph) relay.Expr {
		return greedy{steps: 2, threshold: 0.25, fill: math.Inf(-1)}.detector(g, 4, 1)
	}},
	{name: "scores_below_the_fill", why: "scores of any sign may lie below what is filled in", keeps: true, build: func(g *graph) relay.Expr {
		w := greedy{steps: 2, threshold: 0.5, explicit: true, fill: -1, boxes: g.input("boxes", 4, 4)}
		at, best := w.of(g, g.input("scores", 4))
		return g.tuple(at[1], best[1])
	}},
	{name: "a_state_that_is_read", why: "the scores that are left are a result", keeps: true, build: func(g *graph) relay.Expr {
		var left relay.Expr
		w := greedy{steps: 3, threshold: 0.5, explicit: true, fill: math.Inf(-1), boxes: g.input("boxes", 4, 4),
			reads: func(state relay.Expr, k int) { left = state }}
		at, _ := w.of(g, g.input("scores", 4))
		return g.tuple(at[2], left)
	}},
	{name: "a_threshold_of_one", why: "a box overlaps itself by one, which is not more", keeps: true, build: func(g *graph) relay.Expr {
		return greedy{steps: 2, threshold: 1, fill: math.Inf(-1)}.detector(g, 4, 1)
	}},
}

// TestADetectorsSuppressionIsOneOperator has the several hundred operators of a detector of several classes.
func TestADetectorsSuppressionIsOneOperator(t *testing.T) {
	for _, r := range []struct{ steps, classes, n, kernels int }{{38, 1, 200, 13}, {10, 4, 30, 14}, {8, 3, 5, 14}} {
		t.Run(fmt.Sprintf("%d_steps_%d_classes_%d_boxes", r.steps, r.classes, r.n), func(t *testing.T) {
			g := newGraph(t)
			before := g.module(greedy{steps: r.steps, threshold: 0.5, explicit: true, fill: 0}.detector(g, r.n, r.classes))
			o := &Options{Ops: g.ops, Notes: &diag.Notes{}, Verify: true, Stop: "recognize-non-max-suppression"}
			after, err := Run(context.Background(), before, Passes(), o)
			require.NoError(t, err)
			sameAnswers(t, before, after)
			suppressions := 0
			for e := range relay.PostOrder(after.Main(), false) {
				if _, ok := is(e, "vision.non_max_suppression"); ok {
					suppressions++
				}
				_, greedy := is(e, "argmax")
				require.False(t, greedy, "a step is left")
			}
			require.Equal(t, 1, suppressions)
			t.Logf("%d operators before, %d after", operators(before), operators(after))
			if r.steps*r.classes > 30 {
				require.Greater(t, operators(before), 652)
			}
			last, err := Run(context.Background(), before, Passes(), &Options{Ops: g.ops, Notes: &diag.Notes{}, Verify: true})
			require.NoError(t, err)
			require.Less(t, operators(last), 25, relay.Print(last))
			kernels := 0
			for e := range relay.PostOrder(last.Main(), false) {
				if fn, ok := e.(*relay.Function); ok && fn.Primitive {
					kernels++
				}
			}
			require.LessOrEqual(t, kernels, r.kernels, relay.Print(last))
			t.Logf("%d kernels", kernels)
		})
	}
}
