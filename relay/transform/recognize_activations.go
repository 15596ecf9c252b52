package transform

import (
	"context"
	"math"

	"github.com/texel-ml/texel/relay"
)

// RecognizeActivations finds activations that are written as several operators. Factors and order of operands may differ
// from what stands here.
//
//	clip(x + 3, 0, 6) / 6, clip(α·x + β, 0, 1)  →  hard_sigmoid(x)
//	x · hard_sigmoid(x), x · clip(x + 3, 0, 6) / 6 →  hard_swish(x)
//	x · sigmoid(β·x)                          →  swish(x)
//	x/2 · (1 + erf(x/√2))                     →  gelu(x), tanh likewise
//	log(1 + e^x)                              →  softplus(x)
//	x · tanh(softplus(x))                     →  mish(x)
//	max(x, α·x), where(x < 0, α·x, x)         →  leaky_relu(x)
func RecognizeActivations(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-activations", m, o, hardSigmoid, hardSwish, swish, gelu, softplus, mish, leakyRelu)
}

// activation makes the call of an activation and notes it.
func (r *rewriter) activation(name string, attrs any, x relay.Expr) (relay.Expr, error) {
	r.note("%s was written as several operators", name)
	return r.call(name, attrs, x)
}

// clipped matches clip(x, low, high).
func clipped(e relay.Expr, low, high float64) (relay.Expr, bool) {
	c, ok := is(e, "clip")
	if !ok {
		return nil, false
	}
	a := c.Attrs.(*relay.ClipAttrs)
	return c.Args[0], a.AMin == low && a.AMax == high
}

// hardSigmoid matches clip(x + 3, 0, 6) / 6 and clip(α·x + β, 0, 1).
func hardSigmoid(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if inner, ok := scaledBy(c, 1./6); ok {
		if shifted, ok := clipped(inner, 0, 6); ok {
			if x, ok := plus(shifted, 3); ok {
				return r.activation("nn.hard_sigmoid", &relay.HardSigmoidAttrs{Alpha: 1. / 6, Beta: 0.5}, x)
			}
		}
	}
	inner, ok := clipped(c, 0, 1)
	if !ok {
		return nil, nil
	}
	var to relay.Expr
	var err error
	commuted(inner, "add", func(a, b relay.Expr) bool {
		beta, ok := number(b)
		if !ok || !sameShape(a, inner) {
			return false
		}
		if x, alpha, ok := times(a); ok {
			to, err = r.activation("nn.hard_sigmoid", &relay.HardSigmoidAttrs{Alpha: alpha, Beta: beta}, x)
		}
		return to != nil || err != nil
	})
	return to, err
}

// isHardSigmoid matches the hard sigmoid of hard_swish, of x.
func isHardSigmoid(e, x relay.Expr) bool {
	c, ok := is(e, "nn.hard_sigmoid")
	if !ok || c.Args[0] != x {
		return false
	}
	a := c.Attrs.(*relay.HardSigmoidAttrs)
	return within(e, a.Alpha, 1./6) && a.Beta == 0.5
}

// hardSwish matches x · hard_sigmoid(x) and (x · clip(x + 3, 0, 6)) / 6.
func hardSwish(r *rewriter, c *relay.Call) (relay.Expr, error) {
	var x relay.Expr
	if commuted(c, "multiply", func(a, b relay.Expr) bool { x = a; return isHardSigmoid(b, a) }) {
		return r.activation("nn.hard_swish", nil, x)
	}
	if commuted(c, "multiply", func(a, b relay.Expr) bool { // x/6 · clip(x + 3, 0, 6)
		shifted, ok := clipped(b, 0, 6)
		if !ok {
			return false
		}
		at, ok := plus(shifted, 3)
		from, half := scaledBy(a, 1./6)
		x = from
		return ok && half && at == from
	}) {
		return r.activation("nn.hard_swish", nil, x)
	}
	inner, ok := scaledBy(c, 1./6)
	if ok && commuted(inner, "multiply", func(a, b relay.Expr) bool {
		shifted, ok := clipped(b, 0, 6)
		if !ok {
			return false
		}
		x = a
		at, ok := plus(shifted, 3)
		return ok && at == a
	}) {
		return r.activation("nn.hard_swish", nil, x)
	}
	return nil, nil
}

// swish matches x · sigmoid(β·x).
func swish(r *rewriter, c *relay.Call) (relay.Expr, error) {
	var x relay.Expr
	var beta float64
	if !commuted(c, "multiply", func(a, b relay.Expr) bool {
		s, ok := is(b, "sigmoid")
		if !ok {
			return false
		}
		x, beta = a, 1
		if s.Args[0] == a {
			return true
		}
		inner, k, ok := times(s.Args[0])
		beta = k
		return ok && inner == a
	}) {
		return nil, nil
	}
	return r.activation("nn.swish", &relay.SwishAttrs{Beta: beta}, x)
}

// factors lists the factors of a product of calls and its constant.
func factors(e relay.Expr) (list []relay.Expr, k float64) {
	k = 1
	todo := []relay.Expr{e}
	for len(todo) > 0 {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if len(list)+len(todo) > 4 {
			return nil, 0
		}
		if v, ok := number(f); ok {
			k *= v
			continue
		}
		if c, ok := is(f, "multiply"); ok {
			todo = append(todo, c.Args...)
			continue
		}
		if x, v, ok := times(f); ok {
			k *= v
			todo = append(todo, x)
			continue
		}
		list = append(list, f)
	}
	return list, k
}

// gelu matches x/2 · (1 + erf(x/√2)) and x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))), the factors in any order.
func gelu(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "multiply" && c.Op.Name != "divide" {
		return nil, nil
	}
	list, k := factors(c)
	if len(list) != 2 || !within(c, k, 0.5) {
		return nil, nil
	}
	for i := range list {
		x := list[1-i]
		inner, ok := plus(list[i], 1)
		if !ok || !sameShape(x, c) {
			continue
		}
		if e, ok := is(inner, "erf"); ok {
			if at, ok := scaledBy(e.Args[0], 1/math.Sqrt2); ok && at == x {
				return r.activation("nn.gelu", &relay.GeluAttrs{Approximate: "none"}, x)
			}
		}
		if t, ok := is(inner, "tanh"); ok && isGeluTanh(t.Args[0], x) {
			return r.activation("nn.gelu", &relay.GeluAttrs{Approximate: "tanh"}, x)
		}
	}
	return nil, nil
}

// isGeluTanh matches √(2/π) (x + 0.044715 x³), also as √(2/π) x (1 + 0.044715 x²).
func isGeluTanh(e, x relay.Expr) bool {
	root := math.Sqrt(2 / math.Pi)
	if sum, ok := scaledBy(e, root); ok && commuted(sum, "add", func(a, b relay.Expr) bool {
		n, k, ok := powerOf(b, x)
		return a == x && ok && n == 3 && within(e, k, 0.044715)
	}) {
		return true
	}
	list, k := factors(e)
	if len(list) != 2 || !within(e, k, root) {
		return false
	}
	for i := range list {
		if inner, ok := plus(list[i], 1); ok && list[1-i] == x {
			if n, k, ok := powerOf(inner, x); ok && n == 2 && within(e, k, 0.044715) {
				return true
			}
		}
	}
	return false
}

// powerOf matches k · x^n.
func powerOf(e, x relay.Expr) (n int, k float64, ok bool) {
	list, k := factors(e)
	for _, f := range list {
		if f == x {
			n++
			continue
		}
		p, isPower := is(f, "power")
		if !isPower || p.Args[0] != x {
			return 0, 0, false
		}
		v, isNumber := number(p.Args[1])
		if !isNumber || v != math.Trunc(v) || v < 1 || v > 8 {
			return 0, 0, false
		}
		n += int(v)
	}
	return n, k, n > 0
}

// softplus matches log(1 + e^x).
func softplus(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "log" {
		return nil, nil
	}
	inner, ok := plus(c.Args[0], 1)
	if !ok {
		return nil, nil
	}
	e, ok := is(inner, "exp")
	if !ok {
		return nil, nil
	}
	return r.activation("nn.softplus", nil, e.Args[0])
}

// mish matches x · tanh(softplus(x)).
func mish(r *rewriter, c *relay.Call) (relay.Expr, error) {
	var x relay.Expr
	if !commuted(c, "multiply", func(a, b relay.Expr) bool {
		t, ok := is(b, "tanh")
		if !ok {
			return false
		}
		s, ok := is(t.Args[0], "nn.softplus")
		x = a
		return ok && s.Args[0] == a
	}) {
		return nil, nil
	}
	return r.activation("nn.mish", nil, x)
}

// leakyRelu matches max(x, α·x) for 0 < α < 1, and where(x < 0, α·x, x) and its mirror images.
func leakyRelu(r *rewriter, c *relay.Call) (relay.Expr, error) {
	var x relay.Expr
	var alpha float64
	scaled := func(a, b relay.Expr) bool { // b is α·a
		from, k, ok := times(b)
		x, alpha = a, k
		return ok && from == a
	}
	if commuted(c, "maximum", scaled) && alpha > 0 && alpha < 1 {
		return r.activation("nn.leaky_relu", &relay.AlphaAttrs{Alpha: alpha}, x)
	}
	if c.Op.Name != "where" {
		return nil, nil
	}
	test, ok := c.Args[0].(*relay.Call)
	if !ok || test.Op == nil || len(test.Args) != 2 || !near(test.Args[1], 0) {
		return nil, nil
	}
	below, above := c.Args[1], c.Args[2]
	switch test.Op.Name {
	case "less", "less_equal":
	case "greater", "greater_equal":
		below, above = above, below
	default:
		return nil, nil
	}
	if test.Args[0] == above && scaled(above, below) {
		return r.activation("nn.leaky_relu", &relay.AlphaAttrs{Alpha: alpha}, x)
	}
	return nil, nil
}
