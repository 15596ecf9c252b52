package schedule

import (
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// part is the box of a buffer that a block's instances touch while the loops below some statement run.
type part struct {
	box   []tir.Range // over what is bound outside of the statement; the extents are constant
	exact bool        // every element of the box that the buffer has is touched
}

// partOf returns the part that realization c touches of region r, which is one of its block's, as the loops between the
// statement and c run. It reports false when the part has no box of constant extents.
func partOf(a *arith.Analyzer, c *place, r tir.Region) (part, bool) {
	defer a.Scope()()
	for _, f := range c.loops {
		a.BindLoop(f)
	}
	over := rangesOf(c.loops)
	indices, widths := make([]tir.Expr, len(r.Ranges)), make([]int64, len(r.Ranges))
	for i, g := range bound(c.realize, r).Ranges {
		n, ok := tir.AsInt(a.Simplify(g.Extent))
		if !ok || n < 1 || hasLoad(r.Ranges[i].Min) {
			return part{}, false
		}
		indices[i], widths[i] = a.Simplify(g.Min), n
	}
	box, ok := a.Touched(indices, over)
	if !ok {
		return part{}, false
	}
	for i := range box {
		n, ok := tir.AsInt(box[i].Extent)
		if !ok {
			return part{}, false
		}
		box[i].Extent = tir.I(int(n + widths[i] - 1))
		if lo, fixed := tir.AsInt(box[i].Min); fixed { // not more than there is
			first, last := max(lo, 0), min(lo+n+widths[i]-1, int64(r.Buffer.Shape[i]))
			if last <= first {
				return part{}, false
			}
			box[i] = tir.Range{Min: tir.I(int(first)), Extent: tir.I(int(last - first))}
		}
	}
	exact := dense(a, indices, widths, over) && harmless(a, c.realize.Where, indices, widths, r.Buffer)
	return part{box, exact}, true
}

// dense reports whether indices, of accesses of some width, take every value of their box while the loops run. Each is
// Σ kᵢ·vᵢ + rest over loops that no other index has.
func dense(a *arith.Analyzer, indices []tir.Expr, widths []int64, over map[*tir.Var]tir.Range) bool {
	used := map[*tir.Var]bool{}
	for i, e := range indices {
		coeffs, rest, ok := a.Linear(e)
		if !ok || tir.UsesAny(rest, over) {
			return false
		}
		var steps []sweep
		for v, k := range coeffs {
			r, swept := over[v]
			if !swept || k == 0 {
				continue
			}
			n, isConst := tir.AsInt(a.Simplify(r.Extent))
			if used[v] || !isConst || tir.UsesAny(r.Min, over) {
				return false
			}
			used[v] = true
			steps = append(steps, sweep{max(k, -k), n})
		}
		if !gapless(steps, widths[i]) {
			return false
		}
	}
	return true
}

// harmless reports whether a guard only keeps an access from leaving the buffer: where a part of it does not hold, an
// index is outside.
func harmless(a *arith.Analyzer, where tir.Expr, indices []tir.Expr, widths []int64, buf *tir.Buffer) bool {
	for _, cond := range tir.Conjuncts(where) {
		leave := a.Assume(&tir.Not{A: cond})
		out := false
		for i, e := range indices {
			out = out || a.Prove(&tir.Binary{Op: tir.GE, A: e, B: tir.I(buf.Shape[i])}) ||
				a.Prove(&tir.Binary{Op: tir.LE, A: e, B: tir.I(int(-widths[i]))})
		}
		leave()
		if !out {
			return false
		}
	}
	return true
}

// partsOf returns the box around what the given realizations touch of buf: what they write, or what they read.
func partsOf(a *arith.Analyzer, list []*place, buf *tir.Buffer, written bool) (part, bool) {
	var all part
	for _, c := range list {
		regions := c.realize.Block.Reads
		if written {
			regions = c.realize.Block.Writes
		}
		for _, r := range regions {
			if r.Buffer != buf {
				continue
			}
			one, ok := partOf(a, c, r)
			switch {
			case !ok:
				return part{}, false
			case all.box == nil:
				all = one
			case a.Covers(one.box, all.box):
				all = part{one.box, one.exact || all.exact && a.Covers(all.box, one.box)}
			case a.Covers(all.box, one.box):
			default:
				if all.box, ok = a.Union(all.box, one.box); !ok {
					return part{}, false
				}
				all.exact = false
			}
		}
	}
	return all, all.box != nil
}

// whole returns the box that is all of a buffer.
func whole(buf *tir.Buffer) []tir.Range { return tir.Whole(buf).Ranges }
