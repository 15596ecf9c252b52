package interp

import (
	"strings"

	"github.com/texel-ml/texel/tir"
)

// A buffer that blocks allocate and that is used inside one loop only, whose iterations are independent of each other, is
// one for each of its iterations: each fills what it reads of it. So the memory is as new when an iteration begins; what
// the iteration before left is neither read nor raced for. A global buffer is one for all; a shared buffer is one for each
// group: for each iteration of a parallel loop, or of one that is bound to an axis of groups.

// homes returns, for each parallel, vectorized or bound loop, the buffers of which each of its iterations has one.
func homes(body tir.Stmt) map[*tir.For][]*tir.Buffer {
	h := &finder{at: map[*tir.Buffer][]*tir.For{}, known: map[*tir.Buffer]int{}}
	h.walk(body)
	out := map[*tir.For][]*tir.Buffer{}
	for _, b := range h.list {
		for i := len(h.at[b]) - 1; i >= h.known[b]; i-- {
			home := h.at[b][i]
			if b.Scope != tir.Shared || home.Kind == tir.Parallel || home.Kind == tir.Bound && strings.HasPrefix(home.Thread, "blockIdx.") {
				out[home] = append(out[home], b)
				break
			}
		}
	}
	return out
}

type finder struct {
	loops []*tir.For                 // around, those with independent iterations
	list  []*tir.Buffer              // allocated by blocks
	known map[*tir.Buffer]int        // how many of the loops around stand outside the allocation
	at    map[*tir.Buffer][]*tir.For // the loops around all uses so far
}

// walk notes the uses below a statement or an expression.
func (h *finder) walk(root any) {
	tir.Walk(root, func(n any) bool {
		switch n := n.(type) {
		case *tir.For:
			if n.Kind == tir.Serial || n.Kind == tir.Unrolled || n.Body == nil {
				return true
			}
			h.walk(n.Min)
			h.walk(n.Extent)
			h.loops = append(h.loops[:len(h.loops):len(h.loops)], n)
			h.walk(n.Body)
			h.loops = h.loops[:len(h.loops)-1]
			return false
		case *tir.BlockRealize:
			for _, b := range n.Block.Allocs {
				if b.Scope != tir.Global && b.Scope != tir.Texture {
					h.list, h.known[b] = append(h.list, b), len(h.loops)
				}
			}
		case *tir.Load:
			h.use(n.Buffer)
		case *tir.Store:
			h.use(n.Buffer)
		}
		return true
	})
}

func (h *finder) use(b *tir.Buffer) {
	if _, ours := h.known[b]; !ours {
		return
	}
	around, seen := h.at[b]
	if !seen {
		h.at[b] = h.loops
		return
	}
	n := 0
	for n < len(around) && n < len(h.loops) && around[n] == h.loops[n] {
		n++
	}
	h.at[b] = around[:n]
}

// begin makes the memory as new for another iteration.
func (m *memory) begin() {
	for _, off := range m.written {
		m.ready[off], m.users[off] = false, users{}
	}
	m.written = m.written[:0]
}
