package llvm

import (
	"sort"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Limits of what becomes values, and of the stack: kernels run on threads with stacks of unknown size.
const (
	maxSSAElems = 16384   // of one local buffer
	maxSSASlots = 4096    // of a kernel
	maxStack    = 256_000 // bytes of all local buffers of a kernel that are no values
	scratchPad  = 64      // alignment of scratch and stack buffers
)

// plan says which allocations of a kernel are values. One buffer may be allocated in several places, with other accesses.
type plan struct {
	ssa   map[*tir.Allocate]*slotSet
	types []tok // of the slots
}

// slotSet maps the elements of a local buffer to slots. A slot is one value of one or several lanes: elements that are
// always accessed together stay together.
type slotSet struct {
	of    []int // slot of each element; -1 is never accessed
	start []int // first element, by slot - first
	lanes []int // by slot - first
	first int
	base  *linear // of a promoted buffer: the offset of its element 0
}

// span is a range of elements.
type span struct{ start, lanes int }

// padded is the size of a buffer with the padding that aligns the next.
func padded(b *tir.Buffer) int { return (bufferBytes(b) + scratchPad - 1) / scratchPad * scratchPad }

// planKernel decides which local buffers become values: those whose indices are all constant.
func planKernel(k *tir.Kernel) *plan {
	p := &plan{ssa: map[*tir.Allocate]*slotSet{}}
	s := newSurvey()
	s.stmt(k.Body)
	for _, a := range s.order {
		u := s.uses[a]
		if u.bad || a.Buffer.Elems() > maxSSAElems {
			continue
		}
		set := makeSlots(a.Buffer.Elems(), u.spans, len(p.types))
		if len(p.types)+len(set.lanes) > maxSSASlots {
			continue
		}
		p.ssa[a] = set
		for _, n := range set.lanes {
			p.types = append(p.types, vec(regElem(a.Buffer.DType), n))
		}
	}
	return p
}

// bufferBytes is the size of a buffer in memory, its strides considered.
func bufferBytes(b *tir.Buffer) int {
	last := 0
	for d, s := range b.StrideList() {
		if b.Shape[d] == 0 {
			return 0
		}
		last += (b.Shape[d] - 1) * s
	}
	return (last + 1) * max(1, b.DType.Bits()/8)
}

// survey looks at all accesses of local buffers.
type survey struct {
	consts map[*tir.Var]int64
	order  []*tir.Allocate
	uses   map[*tir.Allocate]*use
	live   map[*tir.Buffer]*use // what is allocated around; nil is not of interest
	depth  int                  // loops around

	storesOnly bool // look at stores to live only
}

// use is how one allocation is accessed.
type use struct {
	spans map[span]int // with the deepest loop nest of an access
	bad   bool         // an access whose index is not constant
}

func newSurvey() *survey {
	return &survey{consts: map[*tir.Var]int64{}, uses: map[*tir.Allocate]*use{}, live: map[*tir.Buffer]*use{}}
}

func (s *survey) stmt(st tir.Stmt) {
	switch st := st.(type) {
	case *tir.For:
		s.expr(st.Min)
		s.expr(st.Extent)
		if n, ok := s.constant(st.Extent); ok && n == 1 {
			s.bind(st.Var, st.Min, st.Body)
			return
		}
		s.depth++
		s.stmt(st.Body)
		s.depth--
	case *tir.Store:
		s.access(st.Buffer, st.Indices)
		s.expr(st.Value)
	case *tir.Seq:
		for _, c := range st.Stmts {
			s.stmt(c)
		}
	case *tir.If:
		s.expr(st.Cond)
		s.stmt(st.Then)
		if st.Else != nil {
			s.stmt(st.Else)
		}
	case *tir.While:
		s.depth++
		s.expr(st.Cond)
		s.stmt(st.Body)
		s.depth--
	case *tir.Let:
		s.expr(st.Value)
		s.bind(st.Var, st.Value, st.Body)
	case *tir.Allocate:
		old := s.live[st.Buffer]
		s.live[st.Buffer] = nil
		if !s.storesOnly && st.Buffer.Scope == tir.Local {
			if s.uses[st] == nil {
				s.uses[st] = &use{spans: map[span]int{}}
				s.order = append(s.order, st)
			}
			s.live[st.Buffer] = s.uses[st]
		}
		s.stmt(st.Body)
		s.live[st.Buffer] = old
	case *tir.Evaluate:
		s.expr(st.Value)
	}
}

// bind surveys body with v bound to a value that may be constant.
func (s *survey) bind(v *tir.Var, value tir.Expr, body tir.Stmt) {
	old, had := s.consts[v]
	delete(s.consts, v)
	if n, ok := s.constant(value); ok && v.DType == tensor.Int64 {
		s.consts[v] = n
	}
	s.stmt(body)
	delete(s.consts, v)
	if had {
		s.consts[v] = old
	}
}

func (s *survey) expr(e tir.Expr) {
	if s.storesOnly {
		return
	}
	tir.Walk(e, func(n any) bool {
		if l, ok := n.(*tir.Load); ok {
			s.access(l.Buffer, l.Indices)
		}
		return true
	})
}

func (s *survey) access(b *tir.Buffer, indices []tir.Expr) {
	for _, i := range indices {
		s.expr(i)
	}
	u := s.live[b]
	if u == nil || u.bad {
		return
	}
	strides := b.StrideList()
	at, lanes := 0, 1
	for d, x := range indices {
		step := int64(0)
		switch r := x.(type) {
		case *tir.Ramp:
			n, ok := s.constant(r.Stride)
			if !ok || n != 1 || strides[d] != 1 { // axes of extent 1 may follow
				u.bad = true
				return
			}
			x, step, lanes = r.Base, 1, r.Lanes
		}
		n, ok := s.constant(x)
		if !ok || step == 0 && x.Type().Lanes > 1 || n < 0 || int(n) >= b.Shape[d] {
			u.bad = true
			return
		}
		at += int(n) * strides[d]
	}
	if b.Strides != nil && !dense(b) || at+lanes > b.Elems() {
		u.bad = true
		return
	}
	u.spans[span{at, lanes}] = max(u.spans[span{at, lanes}], s.depth)
}

// dense reports whether a buffer's strides are row-major.
func dense(b *tir.Buffer) bool {
	for d, s := range tensor.Shape(b.Shape).Strides() {
		if b.Strides[d] != s {
			return false
		}
	}
	return true
}

// constant evaluates an index expression; it knows no more than emitter.expr folds.
func (s *survey) constant(e tir.Expr) (int64, bool) {
	switch e := e.(type) {
	case *tir.Int:
		return e.Value, e.DType == tensor.Int64
	case *tir.Var:
		n, ok := s.consts[e]
		return n, ok
	case *tir.Binary:
		a, ok1 := s.constant(e.A)
		b, ok2 := s.constant(e.B)
		if !ok1 || !ok2 || e.Op >= tir.BitAnd {
			return 0, false
		}
		if n, ok := tir.Bin(e.Op, &tir.Int{DType: tensor.Int64, Value: a}, &tir.Int{DType: tensor.Int64, Value: b}).(*tir.Int); ok {
			return n.Value, true
		}
	}
	return 0, false
}

// makeSlots cuts a buffer in slots. The accesses of the deepest loops choose first: their elements are grouped as they
// take them, and other accesses then take parts of slots or several (a tile that is accumulated in vectors of 16 stays so
// when only 8 lanes of it are stored). Among accesses of one depth, those that overlap form a component. It is cut at all
// bounds of its accesses, so that each access is whole slots, unless that would take vectors apart into scalars and one
// access covers the component: then it is one vector.
func makeSlots(elems int, spans map[span]int, first int) *slotSet {
	set := &slotSet{of: make([]int, elems), first: first}
	for i := range set.of {
		set.of[i] = -1
	}
	byDepth := map[int][]span{}
	depths := []int{}
	for s, d := range spans {
		if byDepth[d] == nil {
			depths = append(depths, d)
		}
		byDepth[d] = append(byDepth[d], s)
	}
	sort.Sort(sort.Reverse(sort.IntSlice(depths)))
	for _, d := range depths {
		set.cut(set.free(byDepth[d]))
	}
	return set
}

// free returns what of the spans is in no slot yet.
func (set *slotSet) free(spans []span) []span {
	var out []span
	for _, s := range spans {
		run := 0
		for i := range s.lanes + 1 {
			if i < s.lanes && set.of[s.start+i] < 0 {
				run++
				continue
			}
			if run > 0 {
				out = append(out, span{s.start + i - run, run})
			}
			run = 0
		}
	}
	return out
}

// cut makes slots of spans.
func (set *slotSet) cut(list []span) {
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return a.start < b.start || a.start == b.start && a.lanes > b.lanes
	})
	add := func(start, lanes int) {
		for i := range lanes {
			set.of[start+i] = set.first + len(set.lanes)
		}
		set.start, set.lanes = append(set.start, start), append(set.lanes, lanes)
	}
	for i := 0; i < len(list); {
		end, j := list[i].start+list[i].lanes, i+1
		for ; j < len(list) && list[j].start < end; j++ {
			end = max(end, list[j].start+list[j].lanes)
		}
		component := list[i:j]
		start := component[0].start
		cuts := map[int]bool{}
		widest := 0
		for _, s := range component {
			cuts[s.start], cuts[s.start+s.lanes] = true, true
			widest = max(widest, s.lanes)
		}
		bounds := make([]int, 0, len(cuts))
		for c := range cuts {
			bounds = append(bounds, c)
		}
		sort.Ints(bounds)
		least := widest
		for k := 1; k < len(bounds); k++ {
			least = min(least, bounds[k]-bounds[k-1])
		}
		if least < 4 && least < widest && component[0].lanes == end-start {
			add(start, end-start)
		} else {
			for k := 1; k < len(bounds); k++ {
				add(bounds[k-1], bounds[k]-bounds[k-1])
			}
		}
		i = j
	}
}
