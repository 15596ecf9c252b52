package arith_test

import (
	"fmt"
	"math"
	"math/big"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// machine evaluates expressions as package tir defines them: the oracle of every test here. Integers wrap around.
type machine struct {
	env   map[*tir.Var]int64
	lane  int64
	loads int64 // what buffers hold: element i of a buffer is a number made of both
	limit int64 // where not 0: no value may be beyond it, in either direction
}

// eval returns the value of e in the machine's lane, of a float its bits; ok is false where e is undefined or a value is
// beyond the limit.
func (m *machine) eval(e tir.Expr) (v int64, ok bool) {
	if e.Type().DType.IsFloat() {
		f := m.float(e)
		if f != f {
			return math.MaxInt64, true // NaNs are alike
		}
		return int64(math.Float32bits(f)), true
	}
	v, ok = m.value(e)
	return v, ok && (m.limit == 0 || v >= -m.limit && v <= m.limit)
}

func (m *machine) value(e tir.Expr) (v int64, ok bool) {
	switch n := e.(type) {
	case *tir.Var:
		return m.env[n], true
	case *tir.Int:
		return n.Value, true
	case *tir.Not:
		v, ok = m.eval(n.A)
		return 1 - v, ok
	case *tir.Broadcast:
		return m.eval(n.A)
	case *tir.Ramp:
		base, ok := m.eval(n.Base)
		stride, ok2 := m.eval(n.Stride)
		return base + m.lane*stride, ok && ok2
	case *tir.Cast:
		v, ok = m.eval(n.A)
		return tensor.Wrap(n.DType, v), ok
	case *tir.Load:
		i, ok := m.eval(n.Indices[0])
		return m.element(n.Buffer, i), ok
	case *tir.Select:
		c, ok := m.eval(n.Cond)
		switch {
		case !ok:
			return 0, false
		case c != 0:
			return m.eval(n.Then)
		}
		return m.eval(n.Else)
	case *tir.Binary:
		a, ok := m.eval(n.A)
		if !ok || n.Op == tir.And && a == 0 || n.Op == tir.Or && a != 0 {
			return a, ok
		}
		b, ok := m.eval(n.B)
		if !ok {
			return 0, false
		}
		v, ok = binary(n.Op, a, b)
		if !ok || n.Op >= tir.EQ || m.limit == 0 {
			return v, ok
		}
		return v, v == exactly(n.Op, a, b)
	}
	panic(fmt.Sprintf("unexpected node %T", e))
}

// float returns the value of an expression of float32.
func (m *machine) float(e tir.Expr) float32 {
	switch n := e.(type) {
	case *tir.Float:
		return float32(n.Value)
	case *tir.Cast:
		v, _ := m.eval(n.A)
		return float32(v)
	case *tir.Load:
		i, _ := m.eval(n.Indices[0])
		return math.Float32frombits(uint32(m.element(n.Buffer, i)))
	case *tir.Binary:
		a, b := m.float(n.A), m.float(n.B)
		if n.Op == tir.Mul {
			return a * b
		}
		return a / b
	}
	panic(fmt.Sprintf("unexpected node %T", e))
}

// element is what a buffer holds; 64-bit buffers hold the ends of int64 too.
func (m *machine) element(b *tir.Buffer, i int64) int64 {
	h := uint64(i)*0x9E3779B97F4A7C15 ^ uint64(m.loads)*0xD1B54A32D192ED03
	h ^= h >> 29
	if b.DType == tensor.Int64 {
		switch h % 5 {
		case 0:
			return math.MaxInt64 - int64(h>>8%4)
		case 1:
			return math.MinInt64 + int64(h>>8%4)
		case 2:
			return int64(h)
		}
		return int64(h>>8%64) - 20
	}
	if b.DType.IsFloat() {
		return int64(uint32(h >> 7))
	}
	return tensor.Wrap(b.DType, int64(h>>7))
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// binary applies an operator to int64 or bool values; a quotient that is none is not ok.
func binary(op tir.BinaryOp, a, b int64) (int64, bool) {
	switch op {
	case tir.Add:
		return a + b, true
	case tir.Sub:
		return a - b, true
	case tir.Mul:
		return a * b, true
	case tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod:
		if b == 0 || a == math.MinInt64 && b == -1 {
			return 0, false
		}
		q, r := a/b, a%b
		if (op == tir.FloorDiv || op == tir.FloorMod) && r != 0 && (r < 0) != (b < 0) {
			q, r = q-1, r+b
		}
		if op == tir.Div || op == tir.FloorDiv {
			return q, true
		}
		return r, true
	case tir.Min:
		return min(a, b), true
	case tir.Max:
		return max(a, b), true
	case tir.BitAnd:
		return a & b, true
	case tir.Shl:
		return a << (uint(b) & 63), b >= 0 && b < 64
	case tir.Shr:
		return a >> (uint(b) & 63), b >= 0 && b < 64
	case tir.LT:
		return truth(a < b), true
	case tir.LE:
		return truth(a <= b), true
	case tir.GT:
		return truth(a > b), true
	case tir.GE:
		return truth(a >= b), true
	case tir.EQ:
		return truth(a == b), true
	case tir.NE:
		return truth(a != b), true
	case tir.And, tir.Or:
		return b, true // the first operand did not decide
	}
	panic("unexpected operator " + op.String())
}

// exactly is binary without wrapping around, for the operators that can; math.MinInt64 when the result is no int64.
func exactly(op tir.BinaryOp, a, b int64) int64 {
	x, y := big.NewInt(a), big.NewInt(b)
	switch op {
	case tir.Add:
		x.Add(x, y)
	case tir.Sub:
		x.Sub(x, y)
	case tir.Mul:
		x.Mul(x, y)
	case tir.Shl:
		x.Lsh(x, uint(b))
	default:
		v, _ := binary(op, a, b)
		return v
	}
	if !x.IsInt64() {
		return math.MinInt64
	}
	return x.Int64()
}
