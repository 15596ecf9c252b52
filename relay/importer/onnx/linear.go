package onnx

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// linear is an integer by · v + plus; without a v it is plus.
type linear struct {
	v        relay.Expr
	by, plus int
}

// interval is where a variable lies, both ends included.
type interval struct{ low, high int }

// linearDeep bounds how far linear looks, and linearMost the numbers in it, so that none overflows.
const (
	linearDeep = 32
	linearMost = 1 << 31
)

// linear returns the form of an integer of one element, if it has one.
func (im *importer) linear(e relay.Expr, deep int) (l linear, ok bool) {
	t := relay.Tensor(e)
	if t == nil || !t.DType.IsInt() || elems(t) != 1 || deep == 0 {
		return l, false
	}
	defer func() { ok = ok && max(l.by, -l.by) < linearMost && max(l.plus, -l.plus) < linearMost }()
	if v, err := im.evaluate(e); err == nil {
		return linear{plus: int(v.(*tensor.Wide).I[0])}, true
	}
	c, isCall := e.(*relay.Call)
	if !isCall {
		return linear{v: e, by: 1}, true
	}
	var args [2]linear
	for i := range min(2, len(c.Args)) {
		if args[i], ok = im.linear(c.Args[i], deep-1); !ok {
			return linear{v: e, by: 1}, true
		}
	}
	switch a, b := args[0], args[1]; c.Op.Name {
	case "reshape":
		return a, true
	case "cast":
		if relay.Tensor(c.Args[0]).DType.Bits() <= t.DType.Bits() {
			return a, true
		}
	case "add":
		return sum(a, b, 1)
	case "subtract":
		return sum(a, b, -1)
	case "multiply":
		if a.v == nil {
			a, b = b, a
		}
		return linear{a.v, a.by * b.plus, a.plus * b.plus}, b.v == nil
	}
	return linear{v: e, by: 1}, true
}

// sum is a + sign · b, where at most one has a variable or both have the same.
func sum(a, b linear, sign int) (linear, bool) {
	v := a.v
	if v == nil {
		v = b.v
	}
	return linear{v, a.by + sign*b.by, a.plus + sign*b.plus}, a.v == nil || b.v == nil || a.v == b.v
}

// within returns where l lies, if that of its variable is known.
func (im *importer) within(l linear) (interval, bool) {
	r, ok := im.ranges[l.v]
	a, b := l.by*r.low+l.plus, l.by*r.high+l.plus
	return interval{min(a, b), max(a, b)}, ok
}

// window returns how many elements lie between two places of an axis that move alike, as i and i + 3 do, and never leave it.
func (im *importer) window(start, end relay.Expr, extent int) (count int, ok bool) {
	a, okA := im.linear(start, linearDeep)
	b, okB := im.linear(end, linearDeep)
	if !okA || !okB || a.v == nil || a.v != b.v || a.by != b.by {
		return 0, false
	}
	r, known := im.within(a)
	count = b.plus - a.plus
	return count, known && count > 0 && r.low >= 0 && r.high+count <= extent
}
