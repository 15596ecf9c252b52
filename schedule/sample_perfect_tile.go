package schedule

import (
	"math"

	"github.com/texel-ml/texel/tir"
)

// maxTileFactors bounds the factors of a sampled tile, so that all tilings of a loop can be counted in 64 bits.
const maxTileFactors = 16

// SamplePerfectTile draws n factors, outermost first, whose product is the extent of l, the last at most max. Every such
// tiling is as likely as every other: they are counted, and one is taken by its number.
//
//	l of 12 iterations, n = 2, max = 4   →   one of [12, 1], [6, 2], [4, 3], [3, 4]
//
// A split by the factors has no tail. The factors are the decision of the step. It refuses when there is no such tiling,
// as of a prime extent above max into one factor.
func (s *Schedule) SamplePerfectTile(l Loop, n, max int) []Int {
	const step = "sample_perfect_tile"
	extent := s.tiled(step, l, n)
	if extent == 0 {
		return noFactors(n)
	}
	if max < 1 {
		s.refuse(step, l.v.Name, "the last factor is at most %d, wanted a positive number", max)
		return noFactors(n)
	}
	primes := factorize(extent)
	var ends []uint64 // the tilings that end in each of the divisors, and in the divisors before it
	var lasts []int
	total := uint64(0)
	if n == 1 {
		if extent <= max {
			lasts, total = []int{extent}, 1
			ends = []uint64{1}
		}
	} else {
		for _, d := range divisors(primes) {
			if d > max {
				continue
			}
			total += tilings(factorize(extent/d), n-1)
			lasts, ends = append(lasts, d), append(ends, total)
		}
	}
	if total == 0 {
		s.refuse(step, l.v.Name, "%d iterations have no tiling into %d factors of which the last is at most %d", extent, n, max)
		return noFactors(n)
	}
	return s.tile(step, l, extent, n, operands(l, n, max), func() []int {
		k := s.below(total)
		i := 0
		for ends[i] <= k {
			i++
		}
		if i > 0 {
			k -= ends[i-1]
		}
		return append(tiling(factorize(extent/lasts[i]), n-1, k), lasts[i])
	}, func(list []int) bool { return list[n-1] <= max })
}

// noFactors are what a step gives that refuses: as many as a caller takes, of those that may be.
func noFactors(n int) []Int { return make([]Int, min(max(n, 0), maxTileFactors)) }

// tiled returns the extent of the loop to be tiled into n factors, or 0 when it refuses.
func (s *Schedule) tiled(step string, l Loop, n int) int {
	p := s.loop(step, l)
	if p == nil {
		return 0
	}
	if n < 1 || n > maxTileFactors {
		s.refuse(step, l.v.Name, "wants %d factors; wanted 1 to %d", n, maxTileFactors)
		return 0
	}
	extent, ok := tir.AsInt(p.loop.Extent)
	if !ok || extent < 1 || extent > math.MaxInt32 {
		s.refuse(step, l.v.Name, "wants a constant extent from 1 to %d", math.MaxInt32)
		return 0
	}
	return int(extent)
}

// tile ends a step that draws a tiling of l: by draw, or as the trace says, where fits accepts it.
func (s *Schedule) tile(step string, l Loop, extent, n int, args []Value, draw func() []int, fits func([]int) bool) []Int {
	v, ok := s.decide(step, l.v.Name, func() Value { return listOf(draw()) })
	if !ok {
		return noFactors(n)
	}
	list, ok := intsOf(v)
	product := 1
	for _, f := range list {
		if f < 1 || f > extent {
			ok = false
			break
		}
		product = min(product*f, extent+1)
	}
	if !ok || len(list) != n || product != extent || !fits(list) {
		s.refuse(step, l.v.Name, "the decision %s is no tiling of %d iterations into %d factors as the operands want it", textOf(v), extent, n)
		return noFactors(n)
	}
	out := make([]Int, n)
	for i, f := range list {
		out[i] = s.drawn(f)
	}
	s.record(step, args, out)
	return out
}

// power is a prime and its exponent.
type power struct{ prime, exp int }

// factorize returns the prime factors of n > 0, least first.
func factorize(n int) []power {
	var list []power
	for p := 2; p*p <= n; p++ {
		if n%p != 0 {
			continue
		}
		f := power{prime: p}
		for n%p == 0 {
			f.exp++
			n /= p
		}
		list = append(list, f)
	}
	if n > 1 {
		list = append(list, power{n, 1})
	}
	return list
}

// divisors returns the numbers that divide the product of powers.
func divisors(powers []power) []int {
	list := []int{1}
	for _, f := range powers {
		for _, d := range list[:len(list):len(list)] {
			for range f.exp {
				d *= f.prime
				list = append(list, d)
			}
		}
	}
	return list
}

// tilings counts the lists of n factors whose product is that of powers: each exponent is shared out among the factors
// on its own.
func tilings(powers []power, n int) uint64 {
	total := uint64(1)
	for _, f := range powers {
		total *= shares(f.exp, n)
	}
	return total
}

// shares counts the lists of n numbers from 0 on whose sum is a: a+n-1 over a.
func shares(a, n int) uint64 {
	if n == 0 {
		if a == 0 {
			return 1
		}
		return 0
	}
	c := uint64(1)
	for i := range a {
		c = c * uint64(n+i) / uint64(i+1)
	}
	return c
}

// tiling returns number k of the lists that tilings counts.
func tiling(powers []power, n int, k uint64) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 1
	}
	for _, f := range powers {
		all := shares(f.exp, n)
		spread(out, f.prime, f.exp, k%all)
		k /= all
	}
	return out
}

// spread multiplies the factors by prime to the shares of exp in list number k.
func spread(factors []int, prime, exp int, k uint64) {
	for i := range factors {
		share := 0
		for {
			rest := shares(exp-share, len(factors)-i-1)
			if k < rest {
				break
			}
			k -= rest
			share++
		}
		for range share {
			factors[i] *= prime
		}
		exp -= share
	}
}
