package arith_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"pgregory.net/rapid"
)

// shape draws an expression that a rule is for, over a space of its own.
type shape struct {
	*space
	t     *rapid.T
	given tir.Expr
}

func (s *shape) n(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(s.t, "n") }

// small draws any index expression.
func (s *shape) small() tir.Expr { return s.index(s.t, 1) }

// v returns variable i, put into [lo, lo+extent).
func (s *shape) v(i, lo, extent int) tir.Expr {
	s.lo[i], s.ext[i] = int64(lo), int64(extent)
	return s.vars[i]
}

// any returns variable i in some range.
func (s *shape) any(i int) tir.Expr { return s.v(i, s.n(-5, 5), s.n(2, 60)) }

// unknown is a condition of which nothing is known.
func (s *shape) unknown() tir.Expr { return s.load("B", s.any(1)) }

func choose(c, x, y tir.Expr) tir.Expr { return &tir.Select{Cond: c, Then: x, Else: y} }
func not(c tir.Expr) tir.Expr          { return &tir.Not{A: c} }
func spread(e tir.Expr) tir.Expr       { return &tir.Broadcast{A: e, Lanes: lanes} }
func cast(d tensor.DType, e tir.Expr) tir.Expr {
	return &tir.Cast{DType: d, A: e}
}
func ramp(base tir.Expr, stride int) tir.Expr {
	return &tir.Ramp{Base: base, Stride: tir.I(stride), Lanes: lanes}
}

// shapes has one entry a rule.
var shapes = map[string]func(s *shape) tir.Expr{
	"fold-var": func(s *shape) tir.Expr { return add(mul(s.v(0, s.n(-9, 9), 1), s.n(-3, 3)), s.any(1)) },
	"fold-fact": func(s *shape) tir.Expr {
		c := s.n(2, 9)
		s.given = op(tir.EQ, div(s.v(0, 0, 60), c), s.n(0, 6))
		return add(div(s.vars[0], c), s.any(1))
	},
	"collect": func(s *shape) tir.Expr {
		return add(mul(s.any(0), s.n(-5, 5)), sub(s.any(1), mul(s.vars[0], s.n(-5, 5))))
	},
	"distribute":    func(s *shape) tir.Expr { return mul(add(s.any(0), s.n(1, 9)), sub(s.any(1), s.any(2))) },
	"order-factors": func(s *shape) tir.Expr { return mul(s.any(2), mul(s.any(1), s.any(0))) },

	"div-one":        func(s *shape) tir.Expr { return div(s.small(), 1) },
	"mod-one":        func(s *shape) tir.Expr { return add(mod(s.small(), 1), s.any(1)) },
	"trunc-to-floor": func(s *shape) tir.Expr { return op(tir.Mod, s.v(0, s.n(0, 9), 40), s.n(2, 9)) },
	"div-smaller": func(s *shape) tir.Expr {
		n := s.n(2, 20)
		x, y := s.v(0, 0, n), add(s.v(1, 0, 9), n)
		return add(div(x, y), mod(x, y))
	},
	"div-zero":      func(s *shape) tir.Expr { return add(div(0, op(tir.Max, s.load("D", s.any(0)), s.n(1, 5))), s.any(1)) },
	"div-negative":  func(s *shape) tir.Expr { return div(s.any(0), -s.n(2, 9)) },
	"mod-negative":  func(s *shape) tir.Expr { return mod(add(s.any(0), s.any(1)), -s.n(2, 9)) },
	"div-take-out":  func(s *shape) tir.Expr { c := s.n(2, 9); return div(add(mul(s.any(0), c*s.n(-3, 3)), s.any(1)), c) },
	"div-one-value": func(s *shape) tir.Expr { c := s.n(2, 9); return add(s.any(1), div(s.v(0, c*s.n(-3, 3), c), c)) },
	"div-div": func(s *shape) tir.Expr {
		return div(add(div(s.v(0, s.n(-50, 9), 300), s.n(2, 5)), s.n(0, 9)), s.n(2, 9))
	},
	"div-mod": func(s *shape) tir.Expr {
		c := s.n(2, 5)
		return div(mod(s.v(0, s.n(-9, 9), 300), c*s.n(2, 5)), c)
	},
	"div-carry-free": func(s *shape) tir.Expr {
		g := s.n(2, 6)
		return div(add(mul(s.any(0), g*s.n(-3, 3)+g), s.v(1, 0, g)), g*s.n(2, 5)*7)
	},
	"mod-reduce": func(s *shape) tir.Expr { c := s.n(2, 9); return mod(add(mul(s.any(0), c+s.n(-20, 20)), s.any(1)), c) },
	"mod-modular": func(s *shape) tir.Expr {
		c := s.n(2, 9)
		return mod(add(op(tir.Min, mul(s.any(0), c*s.n(1, 3)), add(mul(s.any(1), 2*c), 3*c)), s.any(2)), c)
	},
	"mod-one-quotient": func(s *shape) tir.Expr { c := s.n(2, 9); return mod(s.v(0, c*s.n(-3, 3), c), c) },
	"mod-mod": func(s *shape) tir.Expr {
		m, k := s.n(2, 6), s.n(1, 5)
		return mod(add(mul(mod(s.any(0), m), k), s.any(1)), m*k)
	},
	"mod-carry-free": func(s *shape) tir.Expr {
		g := s.n(2, 6)
		return mod(add(mul(s.any(0), g), s.v(1, 0, g)), g*s.n(2, 5))
	},
	"join-div-mod": func(s *shape) tir.Expr {
		x, m, k := add(s.any(0), s.any(1)), s.n(2, 9), s.n(-5, 5)
		return add(mul(mod(x, m), k), mul(div(x, m), k*m))
	},
	"join-mod-mod": func(s *shape) tir.Expr {
		x, m, k := add(s.v(0, -20, 400), s.any(1)), s.n(2, 5), s.n(1, 5)
		return add(mul(mod(x, m), k), mul(mod(div(x, m), s.n(2, 5)), k*m))
	},

	"join-modulo": func(s *shape) tir.Expr {
		x, m, k, c := s.v(0, -20, 400), s.n(2, 9), s.n(1, 5), s.n(2, 9)
		return mod(add(add(mul(mod(x, m), k), mul(div(x, m), k*m+c*s.n(-3, 3))), s.any(1)), c)
	},

	"join-in-div": func(s *shape) tir.Expr {
		x, m, n, k := s.v(0, -20, 90), s.n(2, 6), s.n(1, 3), s.n(1, 3)
		return add(mul(div(add(mod(x, m*n), mul(s.any(1), m+1)), m), k), mul(div(x, m*n), n*k))
	},
	"div-mirrored": func(s *shape) tir.Expr { c := s.n(2, 9); return div(sub(sub(c-1, s.any(0)), s.any(1)), c) },
	"mod-mirrored": func(s *shape) tir.Expr { c := s.n(2, 9); return mod(sub(c-1, s.any(0)), c) },

	"min-decided":    func(s *shape) tir.Expr { return op(tir.Min, add(s.any(0), s.any(1)), add(s.vars[0], s.v(2, 60, 9))) },
	"max-decided":    func(s *shape) tir.Expr { return op(tir.Max, mul(s.any(0), 3), sub(mul(s.vars[0], 3), s.v(1, 0, 9))) },
	"select-decided": func(s *shape) tir.Expr { return choose(lt(s.v(0, 0, 9), s.n(9, 12)), s.small(), s.any(1)) },
	"select-same":    func(s *shape) tir.Expr { x := s.any(0); return choose(s.unknown(), add(x, 1), add(1, x)) },

	"cast-same":      func(s *shape) tir.Expr { return cast(tensor.Int64, s.small()) },
	"cast-widened":   func(s *shape) tir.Expr { return cast(tensor.Int32, cast(tensor.Int64, s.load("E", s.any(0)))) },
	"cast-int":       func(s *shape) tir.Expr { return cast(tensor.Int64, cast(tensor.Int8, tir.I(s.n(-300, 300)))) },
	"cast-float":     func(s *shape) tir.Expr { return cast(tensor.Float32, tir.I(s.n(-1<<40, 1<<40))) },
	"cast-broadcast": func(s *shape) tir.Expr { return cast(tensor.Int32, spread(s.any(0))) },

	"compare-same": func(s *shape) tir.Expr { return op(s.compare(), add(s.any(0), 1), add(1, s.vars[0])) },
	"compare-ranges": func(s *shape) tir.Expr {
		c := s.n(-9, 9)
		return op(s.compare(), op(tir.Min, s.load("D", s.any(0)), c), c+1)
	},
	"less-decided": func(s *shape) tir.Expr { return op(s.compare(), add(s.v(0, 3, 9), s.v(1, 0, 4)), s.n(-9, 3)) },
	"less-divided": func(s *shape) tir.Expr { return op(s.compare(), mul(s.v(0, -20, 60), s.n(2, 9)), s.n(-19, 50)) },
	"less-carry-free": func(s *shape) tir.Expr {
		g := s.n(2, 9)
		return op(s.compare(), add(mul(s.v(0, -20, 60), g), s.v(1, 0, g)), s.n(-30, 30))
	},
	"less-div":         func(s *shape) tir.Expr { return lt(div(s.v(0, -20, 60), s.n(2, 5)), s.v(1, -2, 5)) },
	"less-negated-div": func(s *shape) tir.Expr { return lt(s.v(1, -2, 5), div(s.v(0, -20, 60), s.n(2, 5))) },
	"equal-decided":    func(s *shape) tir.Expr { return op(tir.NE, s.v(0, 0, 9), add(s.v(1, 9, 3), s.n(0, 5))) },
	"equal-modular": func(s *shape) tir.Expr {
		g := s.n(2, 9)
		return op(tir.EQ, mul(s.v(0, -9, 30), g), add(mul(s.v(1, -9, 30), 2*g), 1))
	},
	"equal-divided": func(s *shape) tir.Expr {
		g := s.n(2, 9)
		return op(tir.EQ, mul(s.v(0, -9, 30), g), add(mul(s.v(1, -9, 30), g), g))
	},

	"logic-decided": func(s *shape) tir.Expr { return op(tir.And, lt(s.v(0, 0, 9), 9), s.unknown()) },
	"logic-implied": func(s *shape) tir.Expr { c := s.n(1, 5); return op(s.logic(), lt(s.v(0, 0, 9), c+1), lt(s.vars[0], c)) },
	"assumed-true": func(s *shape) tir.Expr {
		p := op(tir.Or, s.unknown(), lt(s.v(0, 0, 9), 3))
		return choose(p, choose(p, s.any(2), s.small()), s.small())
	},
	"assumed-false": func(s *shape) tir.Expr {
		x, y := s.load("D", s.any(0)), s.any(1)
		return choose(lt(x, y), choose(op(tir.GE, x, y), s.any(2), s.small()), s.small())
	},
	"not-const":     func(s *shape) tir.Expr { return not(tir.True) },
	"not-not":       func(s *shape) tir.Expr { return not(not(s.unknown())) },
	"not-logic":     func(s *shape) tir.Expr { return not(op(s.logic(), s.unknown(), lt(s.v(0, 0, 9), 3))) },
	"not-compare":   func(s *shape) tir.Expr { return not(op(s.compare(), s.any(0), s.any(1))) },
	"not-broadcast": func(s *shape) tir.Expr { return not(spread(s.unknown())) },

	"mul-float-one": func(s *shape) tir.Expr { return op(tir.Mul, tir.Const(tensor.Float32, 1), s.load("F", s.any(0))) },
	"div-float-one": func(s *shape) tir.Expr { return op(tir.Div, s.load("F", s.any(0)), tir.Const(tensor.Float32, 1)) },
	"ramp-still":    func(s *shape) tir.Expr { return ramp(s.any(0), 0) },
	"lane-affine":   func(s *shape) tir.Expr { return op(tir.Sub, spread(s.any(0)), ramp(s.any(1), s.n(-3, 3))) },
	"lane-compare": func(s *shape) tir.Expr {
		return op(s.compare(), ramp(s.v(0, 0, 9), s.n(-2, 2)), spread(tir.I(s.n(-9, 20))))
	},
	"lane-div": func(s *shape) tir.Expr {
		c := s.n(4, 8)
		return op(tir.FloorDiv, ramp(mul(s.any(0), c), s.n(0, 1)*c+s.n(0, 1)), spread(tir.I(c)))
	},
	"lane-mod": func(s *shape) tir.Expr {
		c := s.n(4, 8)
		return op(tir.FloorMod, ramp(mul(s.any(0), c), s.n(0, 1)*c+s.n(0, 1)), spread(tir.I(c)))
	},
}

func (s *shape) compare() tir.BinaryOp { return rapid.SampledFrom(compares).Draw(s.t, "cmp") }

func (s *shape) logic() tir.BinaryOp {
	return rapid.SampledFrom([]tir.BinaryOp{tir.And, tir.Or}).Draw(s.t, "logic")
}

// seeds is how many expressions of each rule's shape are drawn, from seeds 0 on.
const seeds = 60

// Every rule fires, and what it makes has the value of what it was. The golden file shows the first change of each.
func TestEveryRule(t *testing.T) {
	names, laws := arith.Laws()
	require.Len(t, shapes, len(names))
	var text strings.Builder
	for i, name := range names {
		fired, shown := 0, false
		draw := rapid.Custom(func(t *rapid.T) *shape {
			return &shape{space: drawSpace(t, narrow), t: t, given: tir.True}
		})
		for seed := range seeds {
			var e tir.Expr
			s := rapid.Custom(func(t *rapid.T) *shape {
				s := draw.Draw(t, "space")
				s.t = t
				e = shapes[name](s)
				return s
			}).Example(seed)
			a := s.analyzer()
			require.NoError(t, s.keeps(a, s.given, e), "%s, seed %d", name, seed)
			if a.Fired()[name] == 0 {
				continue
			}
			fired++
			leave := a.Assume(s.given)
			if got := a.Simplify(e); got != e && !shown {
				shown = true
				fmt.Fprintf(&text, "%s: %s\n    %s\n", name, laws[i], s.story(e, got))
			}
			leave()
		}
		if !shown {
			t.Errorf("%s fires in %d of %d and changes nothing", name, fired, seeds)
		}
	}
	golden.Check(t, "testdata/rules.txtar", golden.Section{Name: "rules", Text: text.String()})
}

// story prints a rewrite with the ranges of the variables in it.
func (s *shape) story(e, got tir.Expr) string {
	out := fmt.Sprintf("%s → %s", show(e), show(got))
	for i, v := range s.vars {
		if tir.Uses(e, v) {
			out += fmt.Sprintf("; %s in [%d, %d)", v.Name, s.lo[i], s.lo[i]+s.ext[i])
		}
	}
	if s.given != tir.Expr(tir.True) {
		out += "; given " + show(s.given)
	}
	return out
}
