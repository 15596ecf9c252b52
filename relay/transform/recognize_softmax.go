package transform

import (
	"context"
	"slices"

	"github.com/texel-ml/texel/relay"
)

// RecognizeSoftmax finds softmax and its logarithm along one axis, and the logarithm of a sum of exponentials over any, that
// are written as reductions, with d = x - max(x) or d = x:
//
//	e^d / Σ e^d                     →  softmax(x)
//	d - log Σ e^d, x - logsumexp(x) →  log_softmax(x)
//	log Σ e^x, max(x) + log Σ e^d   →  logsumexp(x)
//
// The operators subtract the maximum always, so that they have a value where e^x is infinite.
func RecognizeSoftmax(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-softmax", m, o, softmaxOf, logSoftmaxOf, logSumExpOf)
}

// lowered matches x - max(x), both over the same axes, which are kept; or e itself, which is lowered by nothing.
func lowered(e relay.Expr, axes []int) (x, most relay.Expr) {
	if c, ok := is(e, "subtract"); ok {
		if m, ok := is(c.Args[1], "max"); ok && m.Args[0] == c.Args[0] && keeps(m, axes) {
			return c.Args[0], m
		}
	}
	return e, nil
}

// keeps reports whether a reduction runs over axes and keeps them.
func keeps(c *relay.Call, axes []int) bool {
	a, ok := c.Attrs.(*relay.ReduceAttrs)
	return ok && a.Keepdims && slices.Equal(axesOf(a.Axis, a.Exclude, len(relay.Tensor(c.Args[0]).Shape)), axes)
}

// sumOfExp matches Σ e^d over axes.
func sumOfExp(e relay.Expr) (d, exp relay.Expr, sum *relay.Call, axes []int) {
	s, ok := is(e, "sum")
	if !ok {
		return
	}
	x, ok := is(s.Args[0], "exp")
	if !ok {
		return
	}
	a := s.Attrs.(*relay.ReduceAttrs)
	return x.Args[0], x, s, axesOf(a.Axis, a.Exclude, len(relay.Tensor(x).Shape))
}

func softmaxOf(r *rewriter, c *relay.Call) (relay.Expr, error) {
	over := func(e, sum relay.Expr) (relay.Expr, error) {
		d, exp, s, axes := sumOfExp(sum)
		if s == nil || exp != e || len(axes) != 1 || !keeps(s, axes) {
			return nil, nil
		}
		x, _ := lowered(d, axes)
		r.note("nn.softmax was written as several operators")
		return r.call("nn.softmax", &relay.AxisAttrs{Axis: axes[0]}, x)
	}
	switch c.Op.Name {
	case "divide":
		return over(c.Args[0], c.Args[1])
	case "multiply":
		for i, a := range c.Args {
			if inverse, ok := is(a, "reciprocal"); ok {
				if y, err := over(c.Args[1-i], inverse.Args[0]); y != nil || err != nil {
					return y, err
				}
			}
		}
	}
	return nil, nil
}

func logSoftmaxOf(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "subtract" {
		return nil, nil
	}
	var x relay.Expr
	var axes []int
	if lse, ok := is(c.Args[1], "logsumexp"); ok {
		a := lse.Attrs.(*relay.ReduceAttrs)
		axes = axesOf(a.Axis, a.Exclude, len(relay.Tensor(lse.Args[0]).Shape))
		if lse.Args[0] != c.Args[0] || !keeps(lse, axes) {
			return nil, nil
		}
		x, _ = lowered(c.Args[0], axes) // what is subtracted from all is subtracted again
	} else if log, ok := is(c.Args[1], "log"); ok {
		d, _, s, over := sumOfExp(log.Args[0])
		if s == nil || d != c.Args[0] || !keeps(s, over) {
			return nil, nil
		}
		axes = over
		x, _ = lowered(d, axes)
	}
	if x == nil || len(axes) != 1 {
		return nil, nil
	}
	r.note("nn.log_softmax was written as several operators")
	return r.call("nn.log_softmax", &relay.AxisAttrs{Axis: axes[0]}, x)
}

func logSumExpOf(r *rewriter, c *relay.Call) (to relay.Expr, err error) {
	logOf := func(e relay.Expr) (d relay.Expr, s *relay.Call, axes []int) {
		if log, ok := is(e, "log"); ok {
			d, _, s, axes = sumOfExp(log.Args[0])
		}
		return
	}
	commuted(c, "add", func(most, log relay.Expr) bool {
		d, s, axes := logOf(log)
		if s == nil {
			if lse, ok := is(log, "logsumexp"); ok { // the walk made one of the logarithm already
				a := lse.Attrs.(*relay.ReduceAttrs)
				d, s, axes = lse.Args[0], lse, axesOf(a.Axis, a.Exclude, len(relay.Tensor(lse.Args[0]).Shape))
			}
		}
		if s == nil || !keeps(s, axes) {
			return false
		}
		x, m := lowered(d, axes)
		if m == nil || m != most {
			return false
		}
		r.note("logsumexp was written as several operators")
		to, err = r.call("logsumexp", s.Attrs, x)
		return true
	})
	if to != nil || err != nil {
		return to, err
	}
	d, s, _ := logOf(c)
	if s == nil {
		return nil, nil
	}
	r.note("logsumexp was written as several operators")
	return r.call("logsumexp", s.Attrs, d)
}
