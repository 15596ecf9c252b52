package memplan

import (
	"cmp"
	"slices"

	"github.com/texel-ml/texel/artifact"
)

// member is one tensor of a block.
type member struct {
	tensor      int
	group       int   // its root: members of one group hold one value
	at          int64 // bytes from the start of the block
	bytes       int64
	first, last int
}

func (m member) overlaps(o member, shift int64) bool {
	return m.at < o.at+shift+o.bytes && o.at+shift < m.at+m.bytes && m.bytes > 0 && o.bytes > 0
}

// part is a range of bytes of a block with a time in which it is alive.
type part struct {
	at, bytes   int64
	first, last int
}

// block is a piece of memory that is moved as a whole.
type block struct {
	align   int64 // of its start; at least artifact.Alignment
	members []member
	parts   []part
	low     int // first position of any part
	high    int // last position of any part
}

// roundUp returns the lowest place from n on where the block may start.
func (b *block) roundUp(n int64) int64 { return roundUp(n, max(b.align, artifact.Alignment)) }

// where returns the place of tensor t in the block.
func (b *block) where(t int) int64 {
	for _, m := range b.members {
		if m.tensor == t {
			return m.at
		}
	}
	return 0
}

// size returns the bytes that the block spans from 0.
func (b *block) size() (size int64) {
	for _, m := range b.members {
		size = max(size, m.at+m.bytes)
	}
	return size
}

// cut makes the parts. The block is cut where a member starts or ends; within a piece, each group is alive from the
// first to the last use of any of its members there, and groups that touch in time become one part.
func (b *block) cut() {
	low := int64(0)
	for _, m := range b.members {
		low = min(low, m.at)
	}
	for i := range b.members { // a larger result taken in place may start before its operand's root
		b.members[i].at -= low
	}
	edges := make([]int64, 0, 2*len(b.members))
	for _, m := range b.members {
		if m.bytes > 0 {
			edges = append(edges, m.at, m.at+m.bytes)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	b.parts = nil
	for i := 0; i+1 < len(edges); i++ {
		b.piece(edges[i], edges[i+1])
	}
	b.parts = fuse(b.parts)
	for i, p := range b.parts {
		if i == 0 {
			b.low, b.high = p.first, p.last
		}
		b.low, b.high = min(b.low, p.first), max(b.high, p.last)
	}
}

// piece adds the parts of one range of bytes.
func (b *block) piece(from, to int64) {
	type span struct{ group, first, last int }
	var spans []span
	for _, m := range b.members {
		if m.at > from || m.at+m.bytes < to {
			continue
		}
		i := slices.IndexFunc(spans, func(s span) bool { return s.group == m.group })
		if i < 0 {
			spans = append(spans, span{m.group, m.first, m.last})
			continue
		}
		spans[i].first, spans[i].last = min(spans[i].first, m.first), max(spans[i].last, m.last)
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last)) })
	for i := 0; i < len(spans); {
		p := part{from, to - from, spans[i].first, spans[i].last}
		for i++; i < len(spans) && spans[i].first <= p.last; i++ {
			p.last = max(p.last, spans[i].last)
		}
		b.parts = append(b.parts, p)
	}
}

// fuse joins neighbouring parts with the same life.
func fuse(parts []part) []part {
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last), cmp.Compare(a.at, b.at))
	})
	var out []part
	for _, p := range parts {
		if n := len(out); n > 0 && out[n-1].first == p.first && out[n-1].last == p.last && out[n-1].at+out[n-1].bytes == p.at {
			out[n-1].bytes += p.bytes
			continue
		}
		out = append(out, p)
	}
	return out
}

// lowerBound returns the largest sum of live bytes at one position.
func lowerBound(blocks []*block) int64 {
	type event struct {
		pos   int
		bytes int64
	}
	var events []event
	for _, b := range blocks {
		for _, p := range b.parts {
			events = append(events, event{p.first, p.bytes}, event{p.last + 1, -p.bytes})
		}
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.pos, b.pos), cmp.Compare(a.bytes, b.bytes)) })
	var live, most int64
	for _, e := range events {
		live += e.bytes
		most = max(most, live)
	}
	return most
}

// alignedBound is the bound when no block has more than one start: each live block rounded up to the alignment. It is
// only a reason to stop searching.
func alignedBound(blocks []*block) int64 {
	round := make([]*block, len(blocks))
	for i, b := range blocks {
		c := *b
		if len(b.parts) == 1 {
			c.parts = []part{b.parts[0]}
			c.parts[0].bytes = b.roundUp(c.parts[0].bytes)
		}
		round[i] = &c
	}
	return lowerBound(round)
}
