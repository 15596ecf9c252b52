package memplan

import (
	"slices"

	"github.com/texel-ml/texel/artifact"
)

// aliasing is the distance at which a first-level cache and the store buffer confuse two addresses, in bytes.
const aliasing = 4096

// stagger plans again with room for each block to move, then moves each to where it is farthest, modulo aliasing,
// from the other operands of its launches that are placed already.
func stagger(l layout, opt Options, steps []artifact.Step, g *groups) layout {
	wide := make([]*block, len(l.blocks))
	for i, b := range l.blocks {
		c := *b
		c.parts = slices.Clone(b.parts)
		for j := range c.parts {
			c.parts[j].bytes += opt.Stagger
		}
		wide[i] = &c
	}
	out := place(wide, opt)
	out.blocks, out.bound = l.blocks, l.bound
	of := map[int]int{}
	for i, b := range l.blocks {
		for _, m := range b.members {
			of[m.tensor] = i
		}
	}
	partners := make([][]int, len(l.blocks)) // block → the tensors that meet one of its tensors in a launch
	own := make([][]int, len(l.blocks))
	for _, s := range steps {
		for _, w := range s.Launch.Writes {
			for _, r := range s.Launch.Reads {
				a, okA := of[g.index[w]]
				b, okB := of[g.index[r]]
				if okA && okB && a != b {
					partners[a], own[a] = append(partners[a], g.index[r]), append(own[a], g.index[w])
					partners[b], own[b] = append(partners[b], g.index[w]), append(own[b], g.index[r])
				}
			}
		}
	}
	moved := make([]int64, len(l.blocks))
	for i := range l.blocks {
		bestGap := int64(-1)
		for shift := int64(0); shift <= opt.Stagger; shift += artifact.Alignment {
			gap := int64(aliasing)
			for k, t := range partners[i] {
				if j := of[t]; j < i {
					d := (out.offsets[i] + shift + l.blocks[i].where(own[i][k]) - out.offsets[j] - moved[j] - l.blocks[j].where(t)) % aliasing
					d = (d + aliasing) % aliasing
					gap = min(gap, d, aliasing-d)
				}
			}
			if gap > bestGap {
				bestGap, moved[i] = gap, shift
			}
		}
	}
	out.size = 0
	for i, b := range l.blocks {
		out.offsets[i] += moved[i]
		out.size = max(out.size, align(out.offsets[i]+b.size()))
	}
	return out
}
