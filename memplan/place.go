package memplan

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/texel-ml/texel/artifact"
)

// layout is a placement of blocks in one arena.
type layout struct {
	blocks   []*block
	offsets  []int64 // block → offset
	size     int64
	bound    int64
	strategy string
}

// place finds offsets for the blocks.
func place(blocks []*block, opt Options) layout {
	l := layout{blocks: blocks, bound: lowerBound(blocks)}
	f := newFitter(blocks)
	stop := alignedBound(blocks)
	var best []int
	for _, s := range []struct {
		name  string
		order []int
	}{{"greedy by size", bySize(blocks)}, {"greedy by breadth", byBreadth(blocks)}} {
		if offsets, size := f.fit(s.order); best == nil || size < l.size {
			best, l.offsets, l.size, l.strategy = s.order, offsets, size, s.name
		}
	}
	work := opt.SearchWork
	if work == 0 {
		work = 20_000_000
	}
	if order, offsets, size := f.search(best, l.size, stop, work); order != nil {
		l.offsets, l.size, l.strategy = offsets, size, l.strategy+", then search"
	}
	return l
}

// bySize orders the blocks by size, the largest first; the longer-lived first among equals.
func bySize(blocks []*block) []int {
	order := make([]int, len(blocks))
	for i := range order {
		order[i] = i
	}
	sizes := make([]int64, len(blocks))
	for i, b := range blocks {
		sizes[i] = b.size()
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(sizes[y], sizes[x]), cmp.Compare(blocks[y].high-blocks[y].low, blocks[x].high-blocks[x].low))
	})
	return order
}

// byBreadth takes the positions by the bytes alive there, the fullest first, and at each the blocks that are alive,
// the largest first.
func byBreadth(blocks []*block) []int {
	first, last := 0, -1
	for i, b := range blocks {
		if i == 0 {
			first, last = b.low, b.high
		}
		first, last = min(first, b.low), max(last, b.high)
	}
	if last < first {
		return bySize(blocks)
	}
	breadth := make([]int64, last-first+2)
	for _, b := range blocks {
		for _, p := range b.parts {
			breadth[p.first-first] += p.bytes
			breadth[p.last+1-first] -= p.bytes
		}
	}
	for i := 1; i < len(breadth); i++ {
		breadth[i] += breadth[i-1]
	}
	positions := make([]int, last-first+1)
	for i := range positions {
		positions[i] = i
	}
	slices.SortStableFunc(positions, func(x, y int) int { return cmp.Compare(breadth[y], breadth[x]) })
	rank := make([]int, len(positions)) // position → its place in the order
	for i, p := range positions {
		rank[p] = i
	}
	sized := bySize(blocks)
	best := make([]int, len(blocks)) // block → the best rank at which it is alive
	for i, b := range blocks {
		best[i] = len(rank)
		for _, p := range b.parts {
			for at := p.first; at <= p.last; at++ {
				best[i] = min(best[i], rank[at-first])
			}
		}
	}
	slices.SortStableFunc(sized, func(x, y int) int { return cmp.Compare(best[x], best[y]) })
	return sized
}

// fitter places blocks one after the other, each as low as it goes.
type fitter struct {
	blocks  []*block
	rivals  [][]int32 // block → the blocks that are alive at the same time as one of its parts
	offsets []int64
	placed  []bool
	holes   []hole
	visits  int
}

// hole is a range of offsets that a block must not have.
type hole struct{ from, to int64 }

func newFitter(blocks []*block) *fitter {
	f := &fitter{blocks: blocks, rivals: make([][]int32, len(blocks)), offsets: make([]int64, len(blocks)), placed: make([]bool, len(blocks))}
	order := make([]int, len(blocks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(blocks[x].low, blocks[y].low) })
	var active []int
	for _, i := range order {
		active = slices.DeleteFunc(active, func(j int) bool { return blocks[j].high < blocks[i].low })
		for _, j := range active {
			if together(blocks[i], blocks[j]) {
				f.rivals[i] = append(f.rivals[i], int32(j))
				f.rivals[j] = append(f.rivals[j], int32(i))
			}
		}
		active = append(active, i)
	}
	return f
}

func together(a, b *block) bool {
	for _, p := range a.parts {
		for _, q := range b.parts {
			if p.first <= q.last && q.first <= p.last {
				return true
			}
		}
	}
	return false
}

// fit places the blocks in order and returns their offsets and the size of the arena.
func (f *fitter) fit(order []int) (offsets []int64, size int64) {
	clear(f.placed)
	for _, i := range order {
		f.offsets[i] = f.lowest(i)
		f.placed[i] = true
		for _, p := range f.blocks[i].parts {
			size = max(size, f.offsets[i]+p.at+p.bytes)
		}
	}
	return slices.Clone(f.offsets), align(size)
}

// lowest returns the lowest aligned offset at which block i overlaps no placed rival in space and time. A part p of
// i and a part q of a rival at offset o exclude the offsets from o+q.at-p.at-p.bytes to o+q.at+q.bytes-p.at, the
// ends left out.
func (f *fitter) lowest(i int) int64 {
	f.holes = f.holes[:0]
	b := f.blocks[i]
	for _, r := range f.rivals[i] {
		f.visits++
		if !f.placed[r] {
			continue
		}
		for _, q := range f.blocks[r].parts {
			for _, p := range b.parts {
				f.visits++
				if p.first <= q.last && q.first <= p.last {
					f.holes = append(f.holes, hole{f.offsets[r] + q.at - p.at - p.bytes, f.offsets[r] + q.at + q.bytes - p.at})
				}
			}
		}
	}
	slices.SortFunc(f.holes, func(x, y hole) int { return cmp.Compare(x.from, y.from) })
	at := int64(0)
	for _, h := range f.holes {
		if h.from >= at {
			break // nor does any later hole hold at
		}
		if h.to > at {
			at = b.roundUp(h.to)
		}
	}
	return at
}

// search improves an order until the size is stop or the work is spent. A move takes a block that reaches the top
// of the arena, or any other, to an earlier place in the order; a move that does not make it worse is kept. It
// returns a nil order when nothing better was found.
func (f *fitter) search(order []int, size, stop int64, work int) (best []int, offsets []int64, bestSize int64) {
	n := len(order)
	if n < 3 || size <= stop {
		return nil, nil, size
	}
	order = slices.Clone(order)
	current, bestSize := size, size
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	at, _ := f.fit(order)
	trial := make([]int, n)
	for f.visits = 0; f.visits < work && bestSize > stop; f.visits += n {
		copy(trial, order)
		from := 1 + rng.IntN(n-1)
		if rng.IntN(2) == 0 { // the block that reaches the top
			for i, b := range trial {
				if i > 0 && at[b]+f.blocks[b].size() >= current-artifact.Alignment {
					from = i
				}
			}
		}
		to := rng.IntN(from)
		moved := trial[from]
		copy(trial[to+1:from+1], trial[to:from])
		trial[to] = moved
		placed, got := f.fit(trial)
		if got > current {
			continue
		}
		order, trial, current, at = trial, order, got, placed
		if got < bestSize {
			best, offsets, bestSize = slices.Clone(order), placed, got
		}
	}
	return best, offsets, bestSize
}
