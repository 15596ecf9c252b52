package llvm

import (
	"math"
	"math/bits"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// intBinary is an arithmetic operation on integers. None of them traps or is undefined, whatever the operands: a
// division by zero gives some number.
func (e *emitter) intBinary(op tir.BinaryOp, d tensor.DType, a, b *val) *val {
	unsigned := d.Kind() != tensor.Signed
	if a.t == i64 && d == tensor.Int64 {
		if v := e.indexBinary(op, a, b); v != nil {
			return v
		}
	}
	pick := func(signed, other string) string {
		if unsigned {
			return other
		}
		return signed
	}
	switch op {
	case tir.Add:
		return e.op(a.t, "add $0, %1", a, b)
	case tir.Sub:
		return e.op(a.t, "sub $0, %1", a, b)
	case tir.Mul:
		return e.op(a.t, "mul $0, %1", a, b)
	case tir.Min:
		return e.rangeOf(e.call(pick("smin", "umin"), a.t, a, b), min(a.lo, b.lo), min(a.hi, b.hi))
	case tir.Max:
		return e.rangeOf(e.call(pick("smax", "umax"), a.t, a, b), max(a.lo, b.lo), max(a.hi, b.hi))
	case tir.BitAnd:
		return e.op(a.t, "and $0, %1", a, b)
	case tir.BitOr:
		return e.op(a.t, "or $0, %1", a, b)
	case tir.BitXor:
		return e.op(a.t, "xor $0, %1", a, b)
	case tir.Shl, tir.Shr:
		return e.shift(op, unsigned, a, b)
	case tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod:
		return e.divide(op, unsigned, a, b)
	}
	e.fail("operator %s on integers", op)
	return nil
}

// rangeOf notes a range; only i64 has one.
func (e *emitter) rangeOf(v *val, lo, hi int64) *val {
	if elem, _ := split(v.t); elem == i64 && !v.isInt {
		v.lo, v.hi = max(v.lo, lo), min(v.hi, hi)
	}
	return v
}

// indexBinary computes with linear forms; nil means that the operation is none for them.
func (e *emitter) indexBinary(op tir.BinaryOp, a, b *val) *val {
	la, lb := linearOf(a), linearOf(b)
	if a.isInt && b.isInt && op < tir.BitAnd {
		if r, ok := tir.Bin(op, &tir.Int{DType: tensor.Int64, Value: a.n}, &tir.Int{DType: tensor.Int64, Value: b.n}).(*tir.Int); ok {
			return e.index(r.Value)
		}
	}
	switch op {
	case tir.Add:
		return e.value(la.plus(lb, 1))
	case tir.Sub:
		return e.value(la.plus(lb, -1))
	case tir.Mul:
		if b.isInt {
			return e.value(la.times(b.n))
		}
		if a.isInt {
			return e.value(lb.times(a.n))
		}
	case tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod:
		if !b.isInt || b.n <= 0 {
			return nil
		}
		if op == tir.Div || op == tir.Mod {
			if a.lo < 0 { // rounds toward zero: the same only for numbers that are not negative
				return nil
			}
		}
		return e.divideIndex(op == tir.FloorDiv || op == tir.Div, la, b.n)
	}
	return nil
}

// divideIndex is floor(l / d) or the remainder, d > 0. What is a multiple of d is split off first; if the rest lies in
// [0, d), nothing is left to divide.
func (e *emitter) divideIndex(quotient bool, l linear, d int64) *val {
	var whole, rest linear
	rest.c = l.c
	for _, t := range l.terms {
		if t.coeff%d == 0 {
			whole.terms = append(whole.terms, term{t.v, t.coeff / d})
		} else {
			rest.terms = append(rest.terms, t)
		}
	}
	whole.c = (rest.c - (rest.c%d+d)%d) / d
	rest.c -= whole.c * d
	if lo, hi := l.bounds(); lo == math.MinInt64 && hi == math.MaxInt64 {
		whole, rest = linear{}, l // it may wrap around, and then its parts do not say what it is
	}
	lo, hi := rest.bounds()
	if lo >= 0 && hi < d {
		if quotient {
			return e.value(whole)
		}
		return e.value(rest)
	}
	r := e.value(rest)
	q := e.floorDiv(r, d)
	e.rangeOf(q, floorDiv(lo, d), floorDiv(hi, d))
	if quotient {
		return e.value(whole.plus(linearOf(q), 1))
	}
	if d&(d-1) == 0 {
		return e.rangeOf(e.op(i64, "and $0, %1", r, e.index(d-1)), 0, d-1)
	}
	m := e.op(i64, "sub $0, %1", r, e.op(i64, "mul $0, %1", q, e.index(d)))
	return e.rangeOf(m, 0, d-1)
}

func floorDiv(a, d int64) int64 {
	q := a / d
	if a%d < 0 {
		q--
	}
	return q
}

// floorDiv is floor(a / d) for a constant d > 0.
func (e *emitter) floorDiv(a *val, d int64) *val {
	if d&(d-1) == 0 {
		k := e.int(a.t, int64(bits.TrailingZeros64(uint64(d))))
		if a.lo >= 0 {
			return e.op(a.t, "lshr $0, %1", a, k)
		}
		return e.op(a.t, "ashr $0, %1", a, k)
	}
	k := e.int(a.t, d)
	if a.lo >= 0 {
		return e.op(a.t, "udiv $0, %1", a, k)
	}
	q := e.op(a.t, "sdiv $0, %1", a, k)
	r := e.op(a.t, "sub $0, %1", a, e.op(a.t, "mul $0, %1", q, k))
	elem, _ := split(a.t)
	return e.op(a.t, "add $0, %1", q, e.op(a.t, "ashr $0, %1", r, e.int(a.t, int64(bitsOf(elem)-1))))
}

func bitsOf(elem tok) int {
	n := 0
	for _, c := range elem[1:] {
		n = n*10 + int(c-'0')
	}
	return n
}

// shift shifts by any amount: what is shifted out is gone, as if one bit at a time.
func (e *emitter) shift(op tir.BinaryOp, unsigned bool, a, b *val) *val {
	elem, n := split(a.t)
	width := int64(bitsOf(elem))
	name := "shl"
	if op == tir.Shr {
		if name = "ashr"; unsigned {
			name = "lshr"
		}
	}
	if b.isInt && b.n >= 0 && b.n < width {
		return e.op(a.t, name+" $0, %1", a, b)
	}
	if name == "ashr" {
		return e.op(a.t, "ashr $0, %1", a, e.call("umin", a.t, b, e.int(a.t, width-1)))
	}
	within := e.op(vec(i1, n), "icmp ult $0, %1", b, e.int(a.t, width))
	s := e.op(a.t, name+" $0, %1", a, e.op(a.t, "and $0, %1", b, e.int(a.t, width-1)))
	return e.sel(within, s, e.int(a.t, 0))
}

// divide is a division or a remainder. Processors trap on division by zero and on the least number divided by -1; the
// divisor is replaced by 1 there.
func (e *emitter) divide(op tir.BinaryOp, unsigned bool, a, b *val) *val {
	elem, n := split(a.t)
	c := vec(i1, n)
	quotient := op == tir.Div || op == tir.FloorDiv
	finish := func(q *val) *val {
		if quotient {
			return q
		}
		return e.op(a.t, "sub $0, %1", a, e.op(a.t, "mul $0, %1", q, b))
	}
	if unsigned {
		d := b
		if !b.isInt || b.n == 0 {
			d = e.sel(e.op(c, "icmp eq $0, %1", b, e.int(b.t, 0)), e.int(b.t, 1), b)
		}
		return finish(e.op(a.t, "udiv $0, %1", a, d))
	}
	floor := op == tir.FloorDiv || op == tir.FloorMod
	if b.isInt && b.n > 0 {
		if floor {
			q := e.floorDiv(a, b.n)
			if elem == i64 {
				e.rangeOf(q, floorDiv(a.lo, b.n), floorDiv(a.hi, b.n))
			}
			return e.rangeOfMod(finish(q), quotient, b.n)
		}
		return finish(e.op(a.t, "sdiv $0, %1", a, b))
	}
	special := e.op(c, "icmp ult $0, %1", e.op(b.t, "add $0, %1", b, e.int(b.t, 1)), e.int(b.t, 2)) // 0 or -1
	minus := e.op(c, "icmp eq $0, %1", b, e.int(b.t, -1))
	q := e.op(a.t, "sdiv $0, %1", a, e.sel(special, e.int(b.t, 1), b))
	q = e.sel(minus, e.op(a.t, "sub $0, %1", e.int(a.t, 0), a), q)
	if floor {
		r := e.op(a.t, "sub $0, %1", a, e.op(a.t, "mul $0, %1", q, b))
		opposite := e.op(c, "icmp slt $0, %1", e.op(a.t, "xor $0, %1", r, b), e.int(a.t, 0))
		inexact := e.op(c, "icmp ne $0, %1", r, e.int(a.t, 0))
		q = e.op(a.t, "sub $0, %1", q, e.op(a.t, "zext $0 to "+string(a.t), e.op(c, "and $0, %1", opposite, inexact)))
	}
	return finish(q)
}

func (e *emitter) rangeOfMod(v *val, quotient bool, d int64) *val {
	if quotient {
		return v
	}
	return e.rangeOf(v, 0, d-1)
}

func (e *emitter) intCompare(op tir.BinaryOp, d tensor.DType, a, b *val) *val {
	_, n := split(a.t)
	if d == tensor.Int64 && n == 1 {
		if v, known := compareRanges(op, a, b); known {
			return e.int(i1, v)
		}
	}
	signed := map[tir.BinaryOp]string{tir.EQ: "eq", tir.NE: "ne", tir.LT: "slt", tir.LE: "sle", tir.GT: "sgt", tir.GE: "sge"}
	unsigned := map[tir.BinaryOp]string{tir.EQ: "eq", tir.NE: "ne", tir.LT: "ult", tir.LE: "ule", tir.GT: "ugt", tir.GE: "uge"}
	name := signed[op]
	if d.Kind() != tensor.Signed {
		name = unsigned[op]
	}
	return e.op(vec(i1, n), "icmp "+name+" $0, %1", a, b)
}

// compareRanges decides a comparison by the operands' ranges.
func compareRanges(op tir.BinaryOp, a, b *val) (int64, bool) {
	switch op {
	case tir.LT:
		if a.hi < b.lo {
			return 1, true
		}
		return 0, a.lo >= b.hi
	case tir.LE:
		if a.hi <= b.lo {
			return 1, true
		}
		return 0, a.lo > b.hi
	case tir.GT:
		return compareRanges(tir.LT, b, a)
	case tir.GE:
		return compareRanges(tir.LE, b, a)
	case tir.EQ:
		if a.isInt && b.isInt && a.n == b.n {
			return 1, true
		}
		return 0, a.hi < b.lo || b.hi < a.lo
	case tir.NE:
		v, known := compareRanges(tir.EQ, a, b)
		return 1 - v, known
	}
	return 0, false
}
