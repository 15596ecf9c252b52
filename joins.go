package texel

import (
	"slices"

	"github.com/texel-ml/texel/relay"
)

// markJoins finds concatenations that cost nothing: the axes before the joined one have extent 1, so that the parts lie one
// behind the other, each where a tensor may lie, and each part is what one kernel computes and no other concatenation takes. The kernels then write
// their parts in place, and the concatenation has no kernel of its own.
func markJoins(sites []*site, align int64) {
	producer := map[relay.Expr]*site{}
	taken := map[place]bool{}
	for _, s := range sites {
		producer[s.call] = s
		if s.fn == nil {
			continue
		}
		order := joined(s.fn)
		if order == nil {
			continue
		}
		var parts []place
		var offset int64
		for _, i := range order {
			at, ok := made(s.args[i], producer)
			if !ok || taken[at] || slices.Contains(parts, at) || offset%max(1, align) != 0 {
				parts = nil
				break
			}
			parts = append(parts, at)
			offset += bytesOf(s.args[i])
		}
		if parts == nil {
			continue
		}
		for _, at := range parts {
			taken[at] = true
		}
		s.parts = parts
	}
}

// bytesOf returns the size of a tensor.
func bytesOf(e relay.Expr) int64 {
	t := relay.Tensor(e)
	return int64(t.DType.Bytes(t.Shape.Elems()))
}

// joined returns, when fn only concatenates its parameters along its outermost axis that is longer than 1, the order in
// which it takes them.
func joined(fn *relay.Function) []int {
	c, ok := fn.Body.(*relay.Call)
	if !ok || c.Op == nil || c.Op.Name != "concatenate" {
		return nil
	}
	t, ok := c.Args[0].(*relay.Tuple)
	shape := relay.Tensor(c).Shape
	axis := relay.NormalAxis(c.Attrs.(*relay.ConcatAttrs).Axis, len(shape))
	if !ok || len(t.Fields) == 0 || shape[:axis].Elems() != 1 {
		return nil
	}
	order := make([]int, len(t.Fields))
	for i, f := range t.Fields {
		v, ok := f.(*relay.Var)
		if !ok || relay.Tensor(v).DType.Bits() < 8 {
			return nil
		}
		order[i] = slices.Index(fn.Params, v)
	}
	return order
}

// made returns where the value of e is computed by a kernel, looking through views.
func made(e relay.Expr, producer map[relay.Expr]*site) (place, bool) {
	for {
		from, err := fields(e)
		if err != nil || len(from) != 1 {
			return place{}, false
		}
		s := producer[from[0].expr]
		switch {
		case s == nil || s.parts != nil || s.fn == nil:
			return place{}, false
		case !s.view:
			return from[0], true
		}
		e = s.args[0]
	}
}
