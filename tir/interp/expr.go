package interp

import (
	"math"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// code evaluates one lane of an expression: f for floats, i for the rest (bool is 0 or 1, uint64 its bits).
type code struct {
	i func(*frame) int64
	f func(*frame) float64
}

func zeroInt(*frame) int64     { return 0 }
func zeroFloat(*frame) float64 { return 0 }

// int compiles an expression that is not a float.
func (c *compiler) int(e tir.Expr) func(*frame) int64 {
	if e == nil {
		c.fail("an expression is missing")
		return zeroInt
	}
	out := c.expr(e)
	if out.i == nil {
		c.fail("a value of %v stands where an integer or bool is wanted", e.Type().DType)
		return zeroInt
	}
	return out.i
}

func (c *compiler) float(e tir.Expr) func(*frame) float64 {
	out := c.expr(e)
	if out.f == nil {
		c.fail("a value of %v stands where a float is wanted", e.Type().DType)
		return zeroFloat
	}
	return out.f
}

func (c *compiler) expr(e tir.Expr) code {
	if c.err != nil {
		return code{zeroInt, zeroFloat}
	}
	switch n := e.(type) {
	case *tir.Var:
		slot, ok := c.vars[n]
		if !ok {
			c.fail("variable %s is not in scope", n.Name)
		}
		if n.DType.IsFloat() {
			return code{f: func(f *frame) float64 { return f.floats[slot] }}
		}
		return code{i: func(f *frame) int64 { return f.ints[slot] }}
	case *tir.Int:
		v := n.Value
		return code{i: func(*frame) int64 { return v }}
	case *tir.Float:
		v := n.Value
		return code{f: func(*frame) float64 { return v }}
	case *tir.Binary:
		return c.binary(n)
	case *tir.Not:
		a := c.int(n.A)
		return code{i: func(f *frame) int64 { return 1 - a(f) }}
	case *tir.Select:
		return c.selects(n)
	case *tir.Cast:
		return c.cast(n)
	case *tir.Load:
		return c.load(n)
	case *tir.Call:
		return c.call(n)
	case *tir.Ramp:
		base, stride, d := c.int(n.Base), c.int(n.Stride), n.Base.Type().DType
		return code{i: func(f *frame) int64 { return tensor.Wrap(d, base(f)+f.lane*stride(f)) }}
	case *tir.Broadcast:
		return c.expr(n.A)
	}
	c.fail("unknown expression %T", e)
	return code{zeroInt, zeroFloat}
}

func (c *compiler) selects(n *tir.Select) code {
	cond, then, els := c.int(n.Cond), c.expr(n.Then), c.expr(n.Else)
	if n.Then.Type() != n.Else.Type() {
		c.fail("the sides of a select are %v and %v", n.Then.Type(), n.Else.Type())
	}
	if then.f != nil && els.f != nil {
		return code{f: func(f *frame) float64 {
			if cond(f) != 0 {
				return then.f(f)
			}
			return els.f(f)
		}}
	}
	return code{i: func(f *frame) int64 {
		if cond(f) != 0 {
			return then.i(f)
		}
		return els.i(f)
	}}
}

// round returns what rounds a float to its type, nil for nothing.
func (c *compiler) round(d tensor.DType) func(float64) float64 {
	if c.opts.Float64 || d == tensor.Float64 {
		return nil
	}
	if d == tensor.Float32 {
		return func(v float64) float64 { return float64(float32(v)) }
	}
	return func(v float64) float64 { return tensor.Round(d, v) }
}

func (c *compiler) binary(n *tir.Binary) code {
	ta, tb := n.A.Type(), n.B.Type()
	if ta != tb {
		c.fail("operands of %v are %v of %d lanes and %v of %d lanes", n.Op, ta.DType, ta.Lanes, tb.DType, tb.Lanes)
		return code{zeroInt, zeroFloat}
	}
	switch {
	case n.Op.IsLogical():
		a, b := c.int(n.A), c.int(n.B)
		if n.Op == tir.And {
			return code{i: func(f *frame) int64 {
				if a(f) == 0 {
					return 0
				}
				return b(f)
			}}
		}
		return code{i: func(f *frame) int64 {
			if a(f) != 0 {
				return 1
			}
			return b(f)
		}}
	case ta.DType.IsFloat():
		return c.floatBinary(n.Op, ta.DType, c.float(n.A), c.float(n.B))
	}
	return code{i: c.intBinary(n.Op, ta.DType, c.int(n.A), c.int(n.B))}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (c *compiler) floatBinary(op tir.BinaryOp, d tensor.DType, a, b func(*frame) float64) code {
	var plain func(x, y float64) float64
	switch op {
	case tir.EQ:
		return code{i: func(f *frame) int64 { return bit(a(f) == b(f)) }}
	case tir.NE:
		return code{i: func(f *frame) int64 { return bit(a(f) != b(f)) }}
	case tir.LT:
		return code{i: func(f *frame) int64 { return bit(a(f) < b(f)) }}
	case tir.LE:
		return code{i: func(f *frame) int64 { return bit(a(f) <= b(f)) }}
	case tir.GT:
		return code{i: func(f *frame) int64 { return bit(a(f) > b(f)) }}
	case tir.GE:
		return code{i: func(f *frame) int64 { return bit(a(f) >= b(f)) }}
	case tir.Min:
		return code{f: func(f *frame) float64 { return min(a(f), b(f)) }}
	case tir.Max:
		return code{f: func(f *frame) float64 { return max(a(f), b(f)) }}
	case tir.Add:
		if d == tensor.Float32 && !c.opts.Float64 {
			return code{f: func(f *frame) float64 { return float64(float32(a(f) + b(f))) }}
		}
		plain = func(x, y float64) float64 { return x + y }
	case tir.Sub:
		plain = func(x, y float64) float64 { return x - y }
	case tir.Mul:
		if d == tensor.Float32 && !c.opts.Float64 {
			return code{f: func(f *frame) float64 { return float64(float32(a(f) * b(f))) }}
		}
		plain = func(x, y float64) float64 { return x * y }
	case tir.Div:
		plain = func(x, y float64) float64 { return x / y }
	case tir.Mod:
		plain = math.Mod
	case tir.FloorDiv:
		plain = func(x, y float64) float64 { return math.Floor(x / y) }
	case tir.FloorMod:
		plain = func(x, y float64) float64 {
			r := math.Mod(x, y)
			if r != 0 && (r < 0) != (y < 0) {
				r += y
			}
			return r
		}
	default:
		c.fail("operator %v of floats", op)
		return code{zeroInt, zeroFloat}
	}
	round := c.round(d)
	if round == nil {
		return code{f: func(f *frame) float64 { return plain(a(f), b(f)) }}
	}
	return code{f: func(f *frame) float64 { return round(plain(a(f), b(f))) }}
}

func (c *compiler) intBinary(op tir.BinaryOp, d tensor.DType, a, b func(*frame) int64) func(*frame) int64 {
	unsigned := d == tensor.Uint64
	loops, name := c.loops, c.name
	divisor := func(f *frame) int64 {
		y := b(f)
		if y == 0 {
			panic(stop{diag.Invalid("interp", name, "division by zero %s", where(f, loops))})
		}
		return y
	}
	less := func(x, y int64) bool { return x < y }
	if unsigned {
		less = func(x, y int64) bool { return uint64(x) < uint64(y) }
	}
	wrap := func(v int64) int64 { return v }
	if d != tensor.Int64 && d != tensor.Uint64 {
		wrap = func(v int64) int64 { return tensor.Wrap(d, v) }
	}
	width := uint64(d.Bits())
	switch op {
	case tir.Add:
		if d == tensor.Int64 {
			return func(f *frame) int64 { return a(f) + b(f) }
		}
		return func(f *frame) int64 { return wrap(a(f) + b(f)) }
	case tir.Sub:
		return func(f *frame) int64 { return wrap(a(f) - b(f)) }
	case tir.Mul:
		if d == tensor.Int64 {
			return func(f *frame) int64 { return a(f) * b(f) }
		}
		return func(f *frame) int64 { return wrap(a(f) * b(f)) }
	case tir.Div, tir.FloorDiv:
		if unsigned {
			return func(f *frame) int64 { return int64(uint64(a(f)) / uint64(divisor(f))) }
		}
		floor := op == tir.FloorDiv
		return func(f *frame) int64 {
			x, y := a(f), divisor(f)
			if y == -1 {
				return wrap(-x)
			}
			q := x / y
			if floor && x%y != 0 && (x < 0) != (y < 0) {
				q--
			}
			return q
		}
	case tir.Mod, tir.FloorMod:
		if unsigned {
			return func(f *frame) int64 { return int64(uint64(a(f)) % uint64(divisor(f))) }
		}
		floor := op == tir.FloorMod
		return func(f *frame) int64 {
			x, y := a(f), divisor(f)
			if y == -1 {
				return 0
			}
			r := x % y
			if floor && r != 0 && (r < 0) != (y < 0) {
				r += y
			}
			return r
		}
	case tir.Min:
		return func(f *frame) int64 {
			x, y := a(f), b(f)
			if less(y, x) {
				return y
			}
			return x
		}
	case tir.Max:
		return func(f *frame) int64 {
			x, y := a(f), b(f)
			if less(x, y) {
				return y
			}
			return x
		}
	case tir.BitAnd:
		return func(f *frame) int64 { return a(f) & b(f) }
	case tir.BitOr:
		return func(f *frame) int64 { return a(f) | b(f) }
	case tir.BitXor:
		return func(f *frame) int64 { return a(f) ^ b(f) }
	case tir.Shl:
		return func(f *frame) int64 {
			if n := uint64(b(f)); n < width {
				return wrap(a(f) << n)
			}
			a(f)
			return 0
		}
	case tir.Shr:
		if d.Kind() == tensor.Unsigned {
			return func(f *frame) int64 {
				if n := uint64(b(f)); n < width {
					return int64(uint64(a(f)) >> n)
				}
				return 0
			}
		}
		return func(f *frame) int64 { return a(f) >> min(uint64(b(f)), 63) }
	case tir.EQ:
		return func(f *frame) int64 { return bit(a(f) == b(f)) }
	case tir.NE:
		return func(f *frame) int64 { return bit(a(f) != b(f)) }
	case tir.LT:
		return func(f *frame) int64 { return bit(less(a(f), b(f))) }
	case tir.LE:
		return func(f *frame) int64 {
			x, y := a(f), b(f)
			return bit(!less(y, x))
		}
	case tir.GT:
		return func(f *frame) int64 {
			x, y := a(f), b(f)
			return bit(less(y, x))
		}
	case tir.GE:
		return func(f *frame) int64 { return bit(!less(a(f), b(f))) }
	}
	c.fail("operator %v of integers", op)
	return zeroInt
}

func (c *compiler) cast(n *tir.Cast) code {
	from, to := n.A.Type().DType, n.DType
	a := c.expr(n.A)
	if c.err != nil {
		return code{zeroInt, zeroFloat}
	}
	switch {
	case from.IsFloat() && to.IsFloat():
		round := c.round(to)
		if round == nil {
			return a
		}
		return code{f: func(f *frame) float64 { return round(a.f(f)) }}
	case from.IsFloat() && to == tensor.Bool:
		return code{i: func(f *frame) int64 { return bit(a.f(f) != 0) }}
	case from.IsFloat():
		return code{i: func(f *frame) int64 { return saturate(to, a.f(f)) }}
	case to.IsFloat():
		round := c.round(to)
		return code{f: func(f *frame) float64 {
			v := a.i(f)
			switch {
			case from == tensor.Uint64 && round == nil:
				return float64(uint64(v))
			case from == tensor.Uint64 && to == tensor.Float32:
				return float64(float32(uint64(v)))
			case from == tensor.Uint64:
				return round(float64(uint64(v)))
			case to == tensor.Float32 && round != nil:
				return float64(float32(v)) // rounded once
			case round == nil:
				return float64(v)
			}
			return round(float64(v))
		}}
	case to == tensor.Bool:
		return code{i: func(f *frame) int64 { return bit(a.i(f) != 0) }}
	}
	return code{i: func(f *frame) int64 { return tensor.Wrap(to, a.i(f)) }}
}

// saturate truncates toward zero; NaN is 0, what is outside the type is its nearest end.
func saturate(d tensor.DType, v float64) int64 {
	lo, hi := tensor.IntRange(d)
	top := float64(hi)
	if d == tensor.Uint64 {
		top = float64(math.MaxUint64)
	}
	switch {
	case v != v:
		return 0
	case v <= float64(lo):
		return lo
	case v >= top:
		return hi
	case d == tensor.Uint64:
		return int64(uint64(v))
	}
	return int64(v)
}
