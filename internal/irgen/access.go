package irgen

import (
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// A stage's domain is drawn from the tensor that it mainly reads: each axis of the tensor becomes an axis of the domain
// in some way, is reduced over, or is read at one place. What an axis is read at is a place.

// place says where an axis is read: the index, and under which condition it is one; nil is always.
type place func(v vars) (index, inside tir.Expr)

// vars are the iteration variables of a stage.
type vars struct{ i, r []tir.Expr }

// domain is the space of a stage's instances.
type domain struct {
	spatial, reduce []int
	order           []int // of the spatial axes in the result: axis n is at order[n]
	at              []place
}

func (d *domain) points() int { return product(d.spatial) * product(d.reduce) }

func product(list []int) int {
	n := 1
	for _, e := range list {
		n *= e
	}
	return n
}

// axis adds a spatial axis and returns its variable.
func (d *domain) axis(extent int) func(v vars) tir.Expr {
	n := len(d.spatial)
	d.spatial = append(d.spatial, extent)
	return func(v vars) tir.Expr { return v.i[d.order[n]] }
}

func (d *domain) reduceAxis(extent int) func(v vars) tir.Expr {
	n := len(d.reduce)
	d.reduce = append(d.reduce, extent)
	return func(v vars) tir.Expr { return v.r[n] }
}

// shape returns the extents of the spatial axes in the order of the result.
func (d *domain) shape() []int {
	out := make([]int, len(d.spatial))
	for n, e := range d.spatial {
		out[d.order[n]] = e
	}
	return out
}

// domainOf draws the domain of a stage that reads a tensor of the given shape.
func (g *generator) domainOf(shape []int, reduces bool) *domain {
	d := &domain{}
	must := -1 // the axis that is reduced in any case
	if reduces && len(shape) > 0 {
		must = len(shape) - 1 - g.IntN(len(shape))
	}
	for n := 0; n < len(shape); n++ {
		left := g.o.Points / max(1, d.points()*product(shape[n+1:]))
		switch {
		case reduces && (n == must || g.one(4)) && shape[n] <= left:
			g.reduced(d, shape[n], left)
		case n+1 < len(shape) && g.one(10) && shape[n]*shape[n+1] <= left*shape[n+1]:
			g.flattened(d, shape[n], shape[n+1])
			n++
		default:
			g.mapped(d, shape[n], left)
		}
	}
	if reduces && len(d.reduce) == 0 {
		d.reduceAxis(min(2, max(1, g.o.Points/d.points())))
	}
	if extra := g.extent(); (g.one(4) || len(shape) == 0) && extra*d.points() <= g.o.Points {
		d.axis(extra) // the tensor is broadcast along it
	}
	d.order = make([]int, len(d.spatial))
	for n := range d.order {
		d.order[n] = n
	}
	if g.one(4) {
		for n := len(d.order) - 1; n > 0; n-- {
			k := n - g.IntN(n+1)
			d.order[n], d.order[k] = d.order[k], d.order[n]
		}
	}
	return d
}

// mapped makes a spatial axis of one of n elements, or reads it at one place where room is short.
func (g *generator) mapped(d *domain, n, left int) {
	kind := g.IntN(10)
	if left < n || n == 0 {
		kind = 9
	}
	switch kind {
	default:
		v := d.axis(n)
		d.at = append(d.at, func(x vars) (tir.Expr, tir.Expr) { return v(x), nil })
	case 4: // moved, with padding
		v, by := d.axis(n), g.IntN(3)-1
		d.at = append(d.at, func(x vars) (tir.Expr, tir.Expr) {
			at := tir.Plus(v(x), tir.I(by))
			return at, tir.Within(at, 0, n)
		})
	case 5: // every step-th from a first one on
		first, step := g.IntN(n), 1+g.IntN(3)
		v := d.axis((n - first + step - 1) / step)
		d.at = append(d.at, func(x vars) (tir.Expr, tir.Expr) { return tir.Plus(tir.Times(v(x), tir.I(step)), tir.I(first)), nil })
	case 6: // from the last to the first
		v := d.axis(n)
		d.at = append(d.at, func(x vars) (tir.Expr, tir.Expr) { return tir.Minus(tir.I(n-1), v(x)), nil })
	case 7: // repeated, or padded where there is no room to
		if 2*n > left {
			v := d.axis(n)
			d.at = append(d.at, func(x vars) (tir.Expr, tir.Expr) { return tir.Bin(tir.FloorDiv, v(x), tir.I(2)), nil })
			return
		}
		v := d.axis(2 * n)
		d.at = append(d.at, func(x vars) (tir.Expr, tir.Expr) { return tir.Bin(tir.FloorDiv, v(x), tir.I(2)), nil })
	case 8: // with a border
		if n+2 > left {
			v := d.axis(n)
			d.at = append(d.at, func(x vars) (tir.Expr, tir.Expr) {
				return tir.Bin(tir.FloorMod, tir.Plus(v(x), tir.I(1)), tir.I(n)), nil
			})
			return
		}
		v := d.axis(n + 2)
		d.at = append(d.at, func(x vars) (tir.Expr, tir.Expr) {
			at := tir.Minus(v(x), tir.I(1))
			return at, tir.Within(at, 0, n)
		})
	case 9:
		at := g.IntN(max(n, 1))
		d.at = append(d.at, func(vars) (tir.Expr, tir.Expr) { return tir.I(at), nil })
	}
}

// reduced reduces over an axis of n elements, wholly or in windows.
func (g *generator) reduced(d *domain, n, left int) {
	window := 2 + g.IntN(2)
	kind := g.IntN(4)
	switch {
	case kind == 2 && n*window <= left: // a window around each element, with padding
		v, r := d.axis(n), d.reduceAxis(window)
		d.at = append(d.at, func(x vars) (tir.Expr, tir.Expr) {
			at := tir.Minus(tir.Plus(v(x), r(x)), tir.I(window/2))
			return at, tir.Within(at, 0, n)
		})
	case kind == 3 && n >= window: // windows side by side
		v, r := d.axis(n/window), d.reduceAxis(window)
		d.at = append(d.at, func(x vars) (tir.Expr, tir.Expr) { return tir.Plus(tir.Times(v(x), tir.I(window)), r(x)), nil })
	default:
		r := d.reduceAxis(n)
		d.at = append(d.at, func(x vars) (tir.Expr, tir.Expr) { return r(x), nil })
	}
}

// flattened makes one spatial axis of two.
func (g *generator) flattened(d *domain, n, m int) {
	v := d.axis(n * m)
	d.at = append(d.at,
		func(x vars) (tir.Expr, tir.Expr) { return tir.Bin(tir.FloorDiv, v(x), tir.I(max(m, 1))), nil },
		func(x vars) (tir.Expr, tir.Expr) { return tir.Bin(tir.FloorMod, v(x), tir.I(max(m, 1))), nil })
}

// readAt reads a tensor at places; where they are outside of it, there is a 0.
func (g *generator) readAt(t value, at []place, v vars) bounded {
	g.read[t.Tensor] = true
	idx := make([]tir.Expr, len(at))
	var inside tir.Expr
	for n, p := range at {
		var in tir.Expr
		idx[n], in = p(v)
		inside = tir.All(inside, in)
	}
	e := t.At(idx...)
	if inside != nil {
		e = tir.Sel(inside, e, tir.Const(t.DType(), 0))
	}
	if t.most > exact(t.DType()) {
		return within(bounded{e, t.most}, largest)
	}
	return bounded{e, t.most}
}

// gather reads t along one axis at a place that an integer tensor holds, clamped to be one.
func (g *generator) gather(t, at value, v vars, all []tir.Expr, extents []int) bounded {
	places := make([]place, len(at.Shape()))
	for n, extent := range at.Shape() {
		index := tir.Expr(tir.I(0))
		if k := g.IntN(len(all) + 1); k < len(all) && extents[k] <= extent {
			index = all[k]
		}
		places[n] = func(vars) (tir.Expr, tir.Expr) { return index, nil }
	}
	row := tir.As(tensor.Int64, g.readAt(at, places, v).e)
	along := g.IntN(len(t.Shape()))
	read := make([]place, len(t.Shape()))
	for n, extent := range t.Shape() {
		index := tir.Expr(tir.I(0))
		if n == along {
			index = tir.Maximum(tir.Minimum(row, tir.I(extent-1)), tir.I(0))
		}
		read[n] = func(vars) (tir.Expr, tir.Expr) { return index, nil }
	}
	return g.readAt(t, read, v)
}

// other reads some tensor in a domain drawn from another one: each of its axes along a variable of the domain that is
// not longer, preferably the one at the same place from behind, or at one place.
func (g *generator) other(d *domain, v vars) bounded {
	t := g.values[len(g.values)-1-g.IntN(len(g.values))]
	all, extents := append(append([]tir.Expr{}, v.i...), v.r...), append(d.shape(), d.reduce...)
	if at := g.values[g.IntN(len(g.values))]; g.one(10) && at.DType().IsInt() && len(t.Shape()) > 0 {
		return g.gather(t, at, v, all, extents)
	}
	at := make([]place, len(t.Shape()))
	for n, extent := range t.Shape() {
		k := len(all) - len(at) + n
		if k < 0 || k >= len(all) || extents[k] > extent || g.one(3) {
			k = len(all) - 1 - g.IntN(len(all)+1)
		}
		var index tir.Expr
		switch {
		case k < 0 || extent == 1:
			index = tir.I(g.IntN(extent))
		case extents[k] <= extent:
			index = tir.Plus(all[k], tir.I(g.IntN(extent-extents[k]+1)))
		case g.one(2):
			index = tir.Bin(tir.FloorMod, all[k], tir.I(extent))
		default:
			index = tir.Bin(tir.FloorDiv, all[k], tir.I((extents[k]+extent-1)/extent))
		}
		at[n] = func(vars) (tir.Expr, tir.Expr) { return index, nil }
	}
	return g.readAt(t, at, v)
}
