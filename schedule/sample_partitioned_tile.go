package schedule

// SamplePartitionedTile draws n factors, outermost first, whose product is the extent of l and of which those from
// number at on have a product that is a multiple of inner. Every such tiling is as likely as every other.
//
//	l of 12 iterations, n = 3, at = 1, inner = 4   →   [3, 1, 4], [1, 12, 1], [1, 2, 6], …
//
// So the part of a loop that threads or vectors share has a size that they divide, however it is tiled further. The
// factors are the decision of the step.
func (s *Schedule) SamplePartitionedTile(l Loop, n, at, inner int) []Int {
	const step = "sample_partitioned_tile"
	extent := s.tiled(step, l, n)
	if extent == 0 {
		return noFactors(n)
	}
	if at < 0 || at > n || inner < 1 {
		s.refuse(step, l.v.Name, "the part from factor %d of %d on is a multiple of %d; wanted a factor from 0 to %d and a positive number", at, n, inner, n)
		return noFactors(n)
	}
	if extent%inner != 0 || at == n && inner > 1 {
		s.refuse(step, l.v.Name, "%d iterations have no tiling into %d factors whose product from factor %d on is a multiple of %d", extent, n, at, inner)
		return noFactors(n)
	}
	parts := parting{n: n, at: at, least: map[int]int{}}
	for _, f := range factorize(inner) {
		parts.least[f.prime] = f.exp
	}
	primes := factorize(extent)
	total := uint64(1)
	for _, f := range primes {
		total *= parts.count(f)
	}
	return s.tile(step, l, extent, n, operands(l, n, at, inner), func() []int {
		k := s.below(total)
		out := make([]int, n)
		for i := range out {
			out[i] = 1
		}
		for _, f := range primes {
			all := parts.count(f)
			parts.spread(out, f, k%all)
			k /= all
		}
		return out
	}, func(list []int) bool {
		product := 1
		for _, f := range list[at:] {
			product *= f
		}
		return product%inner == 0
	})
}

// parting shares out the exponents of primes among n factors, of which those from at on get at least a given part.
type parting struct {
	n, at int
	least map[int]int // by prime
}

// outside counts the lists in which the factors before at share e, and those from at on the rest of f's exponent.
func (p parting) outside(f power, e int) uint64 {
	return shares(e, p.at) * shares(f.exp-e, p.n-p.at)
}

// count counts all lists for one prime.
func (p parting) count(f power) uint64 {
	total := uint64(0)
	for e := 0; e <= f.exp-p.least[f.prime]; e++ {
		total += p.outside(f, e)
	}
	return total
}

// spread multiplies the factors by the shares of f in list number k.
func (p parting) spread(factors []int, f power, k uint64) {
	e := 0
	for k >= p.outside(f, e) {
		k -= p.outside(f, e)
		e++
	}
	outer := shares(e, p.at)
	spread(factors[:p.at], f.prime, e, k%outer)
	spread(factors[p.at:], f.prime, f.exp-e, k/outer)
}
