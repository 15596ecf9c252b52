package llvm

import (
	"fmt"
	"math"
	"math/bits"
	"sort"

	"github.com/texel-ml/texel/tir"
)

// linear is c + Σ coeff·v over values of type i64 that are no sums themselves, modulo 2⁶⁴. Terms are sorted by id.
type linear struct {
	c     int64
	terms []term
}

type term struct {
	v     *val
	coeff int64
}

func linearOf(v *val) linear {
	switch {
	case v.isInt:
		return linear{c: v.n}
	case v.lin != nil:
		return *v.lin
	}
	return linear{terms: []term{{v, 1}}}
}

func (l linear) isConst() bool { return len(l.terms) == 0 }

// plus returns l + k·o.
func (l linear) plus(o linear, k int64) linear {
	out := linear{c: l.c + k*o.c}
	a, b := l.terms, o.terms
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].v.id < b[0].v.id:
			out.terms = append(out.terms, a[0])
			a = a[1:]
		case len(a) == 0 || b[0].v.id < a[0].v.id:
			if c := k * b[0].coeff; c != 0 {
				out.terms = append(out.terms, term{b[0].v, c})
			}
			b = b[1:]
		default:
			if c := a[0].coeff + k*b[0].coeff; c != 0 {
				out.terms = append(out.terms, term{a[0].v, c})
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}

func (l linear) times(k int64) linear { return linear{}.plus(l, k) }

// bounds returns the range of l, the whole of int64 when it may overflow.
func (l linear) bounds() (lo, hi int64) {
	lo, hi = l.c, l.c
	for _, t := range l.terms {
		a, ok1 := mulOK(t.v.lo, t.coeff)
		b, ok2 := mulOK(t.v.hi, t.coeff)
		if a > b {
			a, b = b, a
		}
		var ok3, ok4 bool
		lo, ok3 = addOK(lo, a)
		hi, ok4 = addOK(hi, b)
		if !ok1 || !ok2 || !ok3 || !ok4 {
			return math.MinInt64, math.MaxInt64
		}
	}
	return lo, hi
}

func addOK(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0) || b == 0
}

func mulOK(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	p := a * b
	return p, p/b == a && !(a == math.MinInt64 && b == -1)
}

// levels returns the terms in groups of one level, outermost first.
func (l linear) levels() [][]term {
	sorted := append([]term(nil), l.terms...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].v.level < sorted[j].v.level })
	var groups [][]term
	for i, t := range sorted {
		if i == 0 || t.v.level != sorted[i-1].v.level {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], t)
	}
	return groups
}

// sum returns Σ coeff·v of one group.
func (e *emitter) sum(group []term) *val {
	var s *val
	for _, t := range group {
		v := t.v
		if t.coeff != 1 {
			if t.coeff > 0 && t.coeff&(t.coeff-1) == 0 {
				v = e.op(i64, "shl $0, %1", v, e.index(int64(bits.TrailingZeros64(uint64(t.coeff)))))
			} else {
				v = e.op(i64, "mul $0, %1", v, e.index(t.coeff))
			}
		}
		if s == nil {
			s = v
		} else {
			s = e.op(i64, "add $0, %1", s, v)
		}
	}
	return s
}

// value returns a linear form as a value. The sum runs from the outermost level inward, the constant comes last, so that
// each partial sum is computed as far out as it can be and is shared.
func (e *emitter) value(l linear) *val {
	if l.isConst() {
		return e.index(l.c)
	}
	if len(l.terms) == 1 && l.terms[0].coeff == 1 && l.c == 0 {
		return l.terms[0].v
	}
	var s *val
	for _, g := range l.levels() {
		if p := e.sum(g); s == nil {
			s = p
		} else {
			s = e.op(i64, "add $0, %1", s, p)
		}
	}
	if l.c != 0 {
		s = e.op(i64, "add $0, %1", s, e.index(l.c))
	}
	lo, hi := l.bounds()
	s.lin, s.lo, s.hi = &l, max(s.lo, lo), min(s.hi, hi)
	return s
}

// pointer returns base + l elements. The base moves level by level too; a loop then adds only what its own variable
// contributes, and constants end as displacements.
func (e *emitter) pointer(m *memory, l linear) *val {
	p := m.base
	gep := "getelementptr " + string(m.elem) + ", $0, $1"
	for _, g := range l.levels() {
		p = e.op(ptr, gep, p, e.sum(g))
	}
	if l.c != 0 {
		p = e.op(ptr, gep, p, e.index(l.c))
	}
	return p
}

// align returns the alignment in bytes that can be proved for element l of m.
func (m *memory) alignOf(l linear) int {
	g := uint64(m.align) | uint64(l.c*int64(m.size))
	for _, t := range l.terms {
		g |= uint64(t.coeff * int64(m.size))
	}
	return int(g & -g)
}

// vindex is an index of one or several lanes: base + lane·stride, or, where that form does not fit, generic lanes with
// base and stride zero.
type vindex struct {
	lanes        int
	base, stride linear
	generic      *val
}

// vindexOf takes an index expression apart.
func (e *emitter) vindexOf(x tir.Expr) vindex {
	n := x.Type().Lanes
	if n == 1 {
		return vindex{lanes: 1, base: linearOf(e.expr(x))}
	}
	switch x := x.(type) {
	case *tir.Broadcast:
		return vindex{lanes: n, base: linearOf(e.expr(x.A))}
	case *tir.Ramp:
		return vindex{lanes: n, base: linearOf(e.expr(x.Base)), stride: linearOf(e.expr(x.Stride))}
	case *tir.Binary:
		if x.Op != tir.Add && x.Op != tir.Sub && x.Op != tir.Mul {
			break
		}
		a, b := e.vindexOf(x.A), e.vindexOf(x.B)
		if a.generic != nil || b.generic != nil {
			break
		}
		switch {
		case x.Op == tir.Add:
			return vindex{lanes: n, base: a.base.plus(b.base, 1), stride: a.stride.plus(b.stride, 1)}
		case x.Op == tir.Sub:
			return vindex{lanes: n, base: a.base.plus(b.base, -1), stride: a.stride.plus(b.stride, -1)}
		case b.base.isConst() && b.stride.isConst() && b.stride.c == 0:
			return vindex{lanes: n, base: a.base.times(b.base.c), stride: a.stride.times(b.base.c)}
		case a.base.isConst() && a.stride.isConst() && a.stride.c == 0:
			return vindex{lanes: n, base: b.base.times(a.base.c), stride: b.stride.times(a.base.c)}
		}
	}
	v := e.expr(x)
	if v.splat != nil {
		return vindex{lanes: n, base: linearOf(v.splat)}
	}
	return vindex{lanes: n, generic: v}
}

// flatten returns the linear offset of an access in elements.
func (e *emitter) flatten(b *tir.Buffer, indices []tir.Expr) vindex {
	strides := b.StrideList()
	if len(strides) != len(indices) {
		e.fail("buffer %s has %d axes, an access has %d indices", b.Name, len(strides), len(indices))
	}
	out := vindex{lanes: 1}
	for d, x := range indices {
		v, s := e.vindexOf(x), int64(strides[d])
		out.lanes = max(out.lanes, v.lanes)
		out.base, out.stride = out.base.plus(v.base, s), out.stride.plus(v.stride, s)
		if v.generic == nil {
			continue
		}
		g := v.generic
		if s != 1 {
			g = e.op(g.t, "mul $0, %1", g, e.int(g.t, s))
		}
		if out.generic != nil {
			g = e.op(g.t, "add $0, %1", out.generic, g)
		}
		out.generic = g
	}
	return out
}

// uniform reports whether all lanes are the same element, and contiguous whether they lie side by side.
func (v vindex) uniform() bool {
	return v.generic == nil && v.stride.isConst() && v.stride.c == 0
}

func (v vindex) contiguous() bool {
	return v.generic == nil && v.stride.isConst() && v.stride.c == 1
}

// laneOffset returns the offset of one lane.
func (e *emitter) laneOffset(v vindex, lane int) linear {
	l := v.base.plus(v.stride, int64(lane))
	if v.generic != nil {
		l = l.plus(linearOf(e.lane(v.generic, lane)), 1)
	}
	return l
}

// ramp is the vector base, base+stride, …
func (e *emitter) ramp(base, stride *val, n int) *val {
	elem := base.t
	t := vec(elem, n)
	text := ""
	for i := range n {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %d", elem, i)
	}
	v := e.konst(konst{t, "<" + text + ">"})
	v.lo, v.hi = 0, int64(n-1)
	lo, hi := linearOf(base).plus(linearOf(stride), 0).bounds()
	if stride.isInt {
		far := int64(n-1) * stride.n
		a, ok1 := addOK(lo, min(0, far))
		b, ok2 := addOK(hi, max(0, far))
		if lo, hi = a, b; !ok1 || !ok2 {
			lo, hi = math.MinInt64, math.MaxInt64
		}
	} else {
		lo, hi = math.MinInt64, math.MaxInt64
	}
	if !(stride.isInt && stride.n == 1) {
		v = e.op(t, "mul $0, %1", v, e.broadcast(stride, n))
	}
	if !(base.isInt && base.n == 0) {
		v = e.op(t, "add $0, %1", v, e.broadcast(base, n))
	}
	if elem == i64 && v.splat == nil {
		v.lo, v.hi = lo, hi
	}
	return v
}
