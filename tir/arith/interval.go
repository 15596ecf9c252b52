package arith

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

const (
	minInt = math.MinInt64 // as a lower end: unbounded
	maxInt = math.MaxInt64 // as an upper end: unbounded
)

// maxIndex bounds an index of which nothing is known, in either direction.
const maxIndex = 1 << 40

// interval is [lo, hi]. An end that is a number is never minInt or maxInt, so that it is not taken for an unbounded one;
// what reaches them counts as unbounded. lo > hi is the interval of what is never evaluated.
type interval struct{ lo, hi int64 }

var anything = interval{minInt, maxInt}

// between returns [lo, hi], one wider where an end would read as unbounded in the wrong direction.
func between(lo, hi int64) interval { return interval{min(lo, maxInt-1), max(hi, minInt+1)} }

func (b interval) finite() bool { return b.lo > minInt && b.hi < maxInt }

func (b interval) empty() bool { return b.lo > b.hi }

func (b interval) union(o interval) interval { return interval{min(b.lo, o.lo), max(b.hi, o.hi)} }

// within narrows b to o.
func (b interval) within(o interval) interval { return interval{max(b.lo, o.lo), min(b.hi, o.hi)} }

// below returns the interval of x where k·x + c < 0.
func below(k, c int64) interval {
	if k > 0 { // k·x <= -c - 1, which is ^c
		return interval{minInt, floorDiv(^c, k)}
	}
	return interval{addSat(floorDiv(c, -k), 1), maxInt}
}

// add returns a + b; false when that is outside [-maxInt, maxInt].
func add(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0) && s != minInt
}

// mul returns a · b; false when that is outside [-maxInt, maxInt].
func mul(a, b int64) (int64, bool) {
	if int64(int32(a)) == a && int64(int32(b)) == b || a == 0 || b == 0 {
		return a * b, true
	}
	p := a * b
	return p, p != minInt && a != minInt && b != minInt && p/b == a
}

// end returns a sum or product as an end of an interval; false also for maxInt, which would read as unbounded.
func end(v int64, fits bool) (int64, bool) { return v, fits && v != maxInt }

// addSat returns a + b, and the nearer end of int64 where that is outside.
func addSat(a, b int64) int64 {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return maxInt
	case a < 0 && b < 0 && s >= 0:
		return minInt
	}
	return s
}

// plus returns the interval of a sum. It reports false, with anything, where the sum may leave int64.
func (b interval) plus(o interval) (interval, bool) {
	out, fits := anything, true
	if b.lo > minInt && o.lo > minInt {
		out.lo, fits = end(add(b.lo, o.lo))
	}
	if fits && b.hi < maxInt && o.hi < maxInt {
		out.hi, fits = end(add(b.hi, o.hi))
	}
	if !fits {
		return anything, false
	}
	return out, true
}

// scale returns the interval of k·x. It reports false, with anything, where the product may leave int64.
func (b interval) scale(k int64) (interval, bool) {
	switch {
	case k == 1:
		return b, true
	case k == 0:
		return interval{}, true
	case k < 0:
		b.lo, b.hi = b.hi, b.lo
	}
	out, fits := anything, true
	if b.lo > minInt && b.lo < maxInt {
		out.lo, fits = end(mul(b.lo, k))
	}
	if fits && b.hi > minInt && b.hi < maxInt {
		out.hi, fits = end(mul(b.hi, k))
	}
	if !fits {
		return anything, false
	}
	return out, true
}

// assumed replaces unbounded ends by those of an index.
func (b interval) assumed() interval {
	if b.lo == minInt {
		b.lo = min(-maxIndex, b.hi)
	}
	if b.hi == maxInt {
		b.hi = max(maxIndex, b.lo)
	}
	return b
}

// times returns the interval of a product, anything where it may leave int64.
func (b interval) times(o interval) interval {
	if !b.finite() || !o.finite() {
		return b.timesUnbounded(o)
	}
	out := interval{maxInt, minInt}
	for _, x := range [...]int64{b.lo, b.hi} {
		for _, y := range [...]int64{o.lo, o.hi} {
			p, fits := end(mul(x, y))
			if !fits {
				return anything
			}
			out = out.union(interval{p, p})
		}
	}
	return out
}

// timesUnbounded returns the sign of a product, one factor of which is an index of unknown range.
func (b interval) timesUnbounded(o interval) interval {
	if !b.assumed().times(o.assumed()).finite() {
		return anything
	}
	switch {
	case b.lo >= 0 && o.lo >= 0, b.hi <= 0 && o.hi <= 0:
		return interval{0, maxInt}
	case b.lo >= 0 && o.hi <= 0, b.hi <= 0 && o.lo >= 0:
		return interval{minInt, 0}
	}
	return anything
}

// quotient returns the interval of x//y, or of x/y where toward zero; y may not be 0.
func (b interval) quotient(o interval, floor bool) interval {
	out := interval{maxInt, minInt}
	if o.hi > 0 {
		out = b.quotientPositive(interval{max(o.lo, 1), o.hi}, floor)
	}
	if o.lo < 0 {
		neg, fits := b.scale(-1)
		div, fits2 := interval{o.lo, min(o.hi, -1)}.scale(-1)
		if !fits || !fits2 {
			return anything
		}
		out = out.union(neg.quotientPositive(div, floor))
	}
	if out.empty() {
		return anything // only divided by 0
	}
	return out
}

// quotientPositive is quotient for o.lo > 0. An unbounded o.hi divides to the limit.
func (b interval) quotientPositive(o interval, floor bool) interval {
	div := func(x, y int64) int64 {
		if floor {
			return floorDiv(x, y)
		}
		return x / y
	}
	out := anything
	if b.lo > minInt {
		out.lo = min(div(b.lo, o.lo), div(b.lo, o.hi))
	}
	if b.hi < maxInt {
		out.hi = max(div(b.hi, o.lo), div(b.hi, o.hi))
	}
	return out
}

// remainder returns the interval of x%%y, or of x%y where toward zero.
func (b interval) remainder(o interval, floor bool) interval {
	up, down := max(o.hi, 1)-1, min(o.lo, -1)+1 // the largest remainder of either sign
	if o.hi == maxInt {
		up = maxInt
	}
	if o.lo == minInt {
		down = minInt
	}
	if floor { // the sign is y's
		out := interval{down, up}
		if b.lo >= 0 && o.lo > 0 {
			out.hi = min(out.hi, b.hi)
		}
		if b.hi <= 0 && o.hi < 0 {
			out.lo = max(out.lo, b.lo)
		}
		return out
	}
	most := up // the sign is x's
	if down < 0 {
		most = max(most, mulSat(down, -1))
	}
	least := mulSat(most, -1)
	if most == maxInt {
		least = minInt
	}
	return interval{max(least, min(b.lo, 0)), min(most, max(b.hi, 0))}
}

// mulSat returns a · b, and the nearer end of int64 where that is outside.
func mulSat(a, b int64) int64 {
	p, fits := mul(a, b)
	switch {
	case fits:
		return p
	case (a < 0) != (b < 0):
		return minInt
	}
	return maxInt
}

// typeBounds returns the range of an element type.
func typeBounds(d tensor.DType) interval {
	bits := d.Bits()
	switch {
	case d == tensor.Bool:
		return interval{0, 1}
	case d.Kind() == tensor.Signed && bits < 64:
		return interval{-1 << (bits - 1), 1<<(bits-1) - 1}
	case d.Kind() == tensor.Unsigned && bits < 64:
		return interval{0, 1<<bits - 1}
	}
	return anything
}
