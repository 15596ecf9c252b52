package lower

import (
	"math/big"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// WinogradConv is a convolution of two spatial axes, with stride, dilation and groups 1. The channels of data in blocks count
// with their padding: transformed weights have as many.
type WinogradConv struct {
	// Layout of data and result, with the axes N, H, W and C: NHWC, NCHW, NCHW16c.
	Layout string
	// Kernel is the layout of the weights, with the axes O, I, H and W.
	Kernel string
	// Transformed is the layout of the transformed weights behind their first two axes, with the axes O and I; empty is IO.
	// OI32o has them in panels of 32 output channels.
	Transformed string
	// Channels is the number of output channels.
	Channels int
	// Padding is zeros at the top, left, bottom and right.
	Padding [4]int
}

// layouts parses them.
func (c WinogradConv) layouts() (data, kernel, transformed tensor.Layout, err error) {
	if c.Transformed == "" {
		c.Transformed = "IO"
	}
	parsed := make([]tensor.Layout, 3)
	for n, want := range []struct{ text, axes string }{{c.Layout, "NHWC"}, {c.Kernel, "OIHW"}, {c.Transformed, "OI"}} {
		l, err := tensor.ParseLayout(want.text)
		if err != nil {
			return data, kernel, transformed, diag.Invalid("winograd", "", "a layout is wrong").By(err)
		}
		if !l.SameAxes(tensor.MustLayout(want.axes)) {
			return data, kernel, transformed, diag.Invalid("winograd", "", "layout %s has the axes %s; wanted %s in any order", want.text, l.Letters(), want.axes)
		}
		parsed[n] = l
	}
	return parsed[0], parsed[1], parsed[2], nil
}

// stored returns the stage whose element at i is f(i), rounded to d.
func stored(name string, d tensor.DType, shape []int, f func(i []tir.Expr) tir.Expr) *te.Tensor {
	return te.Compute(name, d, shape, func(i []tir.Expr) tir.Expr { return tir.As(d, f(i)) })
}

// Kernel returns the stages that transform weights g, the last of which is
//
//	U[ξ, ν, o, i] = Σ_y G[ξ, y] · Σ_x G[ν, x] · g[o, i, y, x]
//
// with o and i in the layout c.Transformed; where its panels are wider than there are channels it is 0. It depends on weights
// only, so that it is computed when a model is compiled.
func (w *Winograd) Kernel(g *te.Tensor, c WinogradConv) ([]*te.Tensor, error) {
	_, kernel, transformed, err := c.layouts()
	if err != nil {
		return nil, err
	}
	if err := kernel.Fits(g.Shape()); err != nil {
		return nil, diag.Invalid("winograd", g.Buffer.Name, "the weights do not have their layout").By(err)
	}
	if h, v := kernel.Extent(g.Shape(), 'H'), kernel.Extent(g.Shape(), 'W'); h != w.Window || v != w.Window {
		return nil, diag.Invalid("winograd", g.Buffer.Name, "the window is %d × %d; wanted %d × %d", h, v, w.Window, w.Window)
	}
	n, d := w.Size(), working(g.DType())
	channels := tensor.Shape{c.Channels, kernel.Extent(g.Shape(), 'I')}
	if most := kernel.Extent(g.Shape(), 'O'); c.Channels < 1 || c.Channels > most {
		return nil, diag.Invalid("winograd", g.Buffer.Name, "weights of %d output channels; wanted %d", most, c.Channels)
	}
	rows := te.Compute("G_rows", d, []int{n, w.Window, channels[0], channels[1]}, func(i []tir.Expr) tir.Expr {
		return eachRow(i[0], w.G, d, func(y int) tir.Expr {
			at := map[byte]tir.Expr{'O': i[2], 'I': i[3], 'H': tir.I(y), 'W': i[1]}
			return tir.As(d, g.At(physicalIndex(kernel, at)...))
		})
	})
	shape, err := transformed.Physical(channels, "OI")
	if err != nil {
		return nil, err
	}
	u := stored("U", g.DType(), append([]int{n, n}, shape...), func(i []tir.Expr) tir.Expr {
		at := logicalIndex(transformed, i[2:])
		inside := tir.All(below(transformed, at, 'O', channels[0]), below(transformed, at, 'I', channels[1]))
		value := eachRow(i[1], w.G, d, func(x int) tir.Expr { return rows.At(i[0], tir.I(x), at['O'], at['I']) })
		return zeroUnless(inside, value)
	})
	return []*te.Tensor{rows, u}, nil
}

// Conv returns the stages of a convolution of x with weights that Kernel transformed, the last of which is the result. A tile
// is named by its image and its place, t = (n, y, x):
//
//	P                = x with c.Padding, and as many zeros behind as the last tiles need
//	D_rows[ξ, j, t, c] = Σ_i B[ξ, i] · P[n, m·y + i, m·x + j, c]
//	V[ξ, ν, t, c]    = Σ_j B[ν, j] · D_rows[ξ, j, t, c]
//	M[ξ, ν, t, k]    = Σ_c V[ξ, ν, t, c] · U[ξ, ν, k, c]
//	M_rows[a, ν, t, k] = Σ_ξ A[ξ, a] · M[ξ, ν, t, k]
//	Y[n, h, w, k]    = Σ_ν A[ν, w mod m] · M_rows[h mod m, ν, (n, ⌊h/m⌋, ⌊w/m⌋), k]
//
// The sums with A and B are written out, each with the elements that it has: a choice by ξ, ν or a, which is gone when the loop
// over it is unrolled. V and Y have the type of x, the others that in which it is computed.
func (w *Winograd) Conv(x, u *te.Tensor, c WinogradConv) ([]*te.Tensor, error) {
	layout, _, transformed, err := c.layouts()
	if err != nil {
		return nil, err
	}
	if err := layout.Fits(x.Shape()); err != nil {
		return nil, diag.Invalid("winograd", x.Buffer.Name, "the data do not have their layout").By(err)
	}
	extent := func(l byte) int { return layout.Extent(x.Shape(), l) }
	images, channels := extent('N'), extent('C')
	if err := w.fits(u, transformed, c.Channels, channels); err != nil {
		return nil, err
	}
	for _, p := range c.Padding {
		if p < 0 {
			return nil, diag.Invalid("winograd", x.Buffer.Name, "the padding is %v; wanted none below 0", c.Padding)
		}
	}
	high, wide := extent('H')+c.Padding[0]+c.Padding[2]-w.Window+1, extent('W')+c.Padding[1]+c.Padding[3]-w.Window+1
	if high < 1 || wide < 1 {
		return nil, diag.Invalid("winograd", x.Buffer.Name, "the result is %d × %d; wanted at least one element", high, wide)
	}
	n, m := w.Size(), w.Tile
	tiles := []int{images, ceilDiv(high, m), ceilDiv(wide, m)}
	d, work := x.DType(), working(x.DType())

	var stages []*te.Tensor
	add := func(t *te.Tensor) *te.Tensor {
		stages = append(stages, t)
		return t
	}
	source := x
	if p := w.padded(x, layout, c.Padding, tiles); p != nil {
		source = add(p)
	}
	box := func(a, b, depth int) []int { return append([]int{a, b}, append(tiles[:3:3], depth)...) }
	rows := add(te.Compute("D_rows", work, box(n, n, channels), func(i []tir.Expr) tir.Expr {
		return eachRow(i[0], w.B, work, func(y int) tir.Expr {
			at := map[byte]tir.Expr{'N': i[2], 'H': offset(scaled(i[3], m), y), 'W': tir.Plus(scaled(i[4], m), i[1]), 'C': i[5]}
			return tir.As(work, source.At(physicalIndex(layout, at)...))
		})
	}))
	v := add(stored("V", d, box(n, n, channels), func(i []tir.Expr) tir.Expr {
		return eachRow(i[1], w.B, work, func(j int) tir.Expr { return rows.At(with(i, 1, tir.I(j))...) })
	}))
	product := add(te.Sum("M", work, box(n, n, c.Channels), []int{channels}, func(i, r []tir.Expr) tir.Expr {
		weight := u.At(append(i[:2:2], physicalIndex(transformed, map[byte]tir.Expr{'O': i[5], 'I': r[0]})...)...)
		return tir.Times(tir.As(work, v.At(with(i, 5, r[0])...)), tir.As(work, weight))
	}))
	back := add(te.Compute("M_rows", work, box(m, n, c.Channels), func(i []tir.Expr) tir.Expr {
		return w.eachColumn(i[0], work, func(j int) tir.Expr { return product.At(with(i, 0, tir.I(j))...) })
	}))
	shape, err := layout.Physical(tensor.Shape{images, high, wide, c.Channels}, "NHWC")
	if err != nil {
		return nil, err
	}
	add(stored("Y", d, shape, func(i []tir.Expr) tir.Expr {
		at := logicalIndex(layout, i)
		h, x := at['H'], at['W']
		value := w.eachColumn(floorMod(x, m), work, func(j int) tir.Expr {
			return back.At(floorMod(h, m), tir.I(j), at['N'], floorDiv(h, m), floorDiv(x, m), at['C'])
		})
		return zeroUnless(below(layout, at, 'C', c.Channels), value)
	}))
	return stages, nil
}

// below returns the condition that an axis is below its extent, nil where its blocks hold no padding.
func below(l tensor.Layout, at map[byte]tir.Expr, axis byte, extent int) tir.Expr {
	if extent%l.Block(axis) == 0 {
		return nil
	}
	return tir.Lt(at[axis], tir.I(extent))
}

// zeroUnless returns e where a condition holds, which may be nil for always, and else 0.
func zeroUnless(cond, e tir.Expr) tir.Expr {
	if cond == nil {
		return e
	}
	return tir.Sel(cond, e, like(e, 0))
}

// fits checks the transformed weights.
func (w *Winograd) fits(u *te.Tensor, transformed tensor.Layout, out, in int) error {
	shape, err := transformed.Physical(tensor.Shape{out, in}, "OI")
	if err != nil {
		return err
	}
	want := append(tensor.Shape{w.Size(), w.Size()}, shape...)
	if !tensor.Shape(u.Shape()).Equal(want) {
		return diag.Invalid("winograd", u.Buffer.Name, "transformed weights have the shape %v; wanted %v for %d to %d channels", u.Shape(), want, in, out)
	}
	return nil
}

// padded returns the stage that holds x with zeros around it, as far as the tiles reach; nil where they reach no further than x.
func (w *Winograd) padded(x *te.Tensor, layout tensor.Layout, padding [4]int, tiles []int) *te.Tensor {
	shape, same := tensor.Shape(x.Shape()).Clone(), true
	axes := []int{layout.Index('H'), layout.Index('W')}
	for n, axis := range axes {
		need := (tiles[1+n]-1)*w.Tile + w.Size()
		same = same && padding[n] == 0 && need <= shape[axis]
		shape[axis] = need
	}
	if same {
		return nil
	}
	return te.Compute("P", x.DType(), shape, func(i []tir.Expr) tir.Expr {
		at := append([]tir.Expr{}, i...)
		var inside tir.Expr
		for n, axis := range axes {
			at[axis] = tir.Minus(i[axis], tir.I(padding[n]))
			inside = tir.All(inside, within(at[axis], x.Shape()[axis]))
		}
		return tir.Sel(inside, x.At(at...), tir.Const(x.DType(), 0))
	})
}

// eachRow returns Σ rows[at][i]·x(i): of the row that at chooses, the terms whose coefficients are not 0.
func eachRow(at tir.Expr, rows [][]*big.Rat, d tensor.DType, x func(i int) tir.Expr) tir.Expr {
	return oneOf(at, upTo(len(rows)), func(n int) tir.Expr {
		var even, odd linear
		for i, c := range rows[n] {
			if i%2 == 0 {
				even.add(c, func() tir.Expr { return x(i) }, d)
			} else {
				odd.add(c, func() tir.Expr { return x(i) }, d)
			}
		}
		return even.plus(odd, d)
	})
}

// eachColumn returns Σ A[j][at]·x(j). Points that are each other's negatives have the same powers but for the sign: their two
// elements are added or subtracted first.
func (w *Winograd) eachColumn(at tir.Expr, d tensor.DType, x func(j int) tir.Expr) tir.Expr {
	return oneOf(at, upTo(w.Tile), func(a int) tir.Expr {
		var sum linear
		done := make([]bool, w.Size())
		for j := range w.A {
			if done[j] {
				continue
			}
			term := func() tir.Expr { return x(j) }
			if k := w.opposite(j); k > j {
				done[k] = true
				if term = func() tir.Expr { return tir.Plus(x(j), x(k)) }; a%2 == 1 {
					term = func() tir.Expr { return tir.Minus(x(j), x(k)) }
				}
			}
			sum.add(w.A[j][a], term, d)
		}
		return sum.plus(linear{}, d)
	})
}

// opposite returns the place of the negative of point j, -1 where there is none.
func (w *Winograd) opposite(j int) int {
	if j == len(w.Points) || w.Points[j].Sign() == 0 {
		return -1
	}
	for k, p := range w.Points {
		if new(big.Rat).Add(p, w.Points[j]).Sign() == 0 {
			return k
		}
	}
	return -1
}

// upTo returns 1 to n.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

// linear is a sum of multiples, or its negative: the first coefficient is positive, so that two sums which differ in the sign
// only are the same expression.
type linear struct {
	sum      tir.Expr // nil for none
	negative bool
}

// add adds c·x.
func (l *linear) add(c *big.Rat, x func() tir.Expr, d tensor.DType) {
	if c.Sign() == 0 {
		return
	}
	v, _ := new(big.Rat).Abs(c).Float64()
	term := x()
	if v = tensor.Round(d, v); v != 1 {
		term = tir.Times(term, tir.Const(d, v))
	}
	switch less := c.Sign() < 0; {
	case l.sum == nil:
		l.sum, l.negative = term, less
	case less == l.negative:
		l.sum = tir.Plus(l.sum, term)
	default:
		l.sum = tir.Minus(l.sum, term)
	}
}

// plus returns l + o.
func (l linear) plus(o linear, d tensor.DType) tir.Expr {
	switch {
	case l.sum == nil && o.sum == nil:
		return tir.Const(d, 0)
	case l.sum == nil:
		return o.plus(l, d)
	case o.sum == nil && l.negative:
		return tir.Minus(tir.Const(d, 0), l.sum)
	case o.sum == nil:
		return l.sum
	case l.negative && o.negative:
		return tir.Minus(tir.Const(d, 0), tir.Plus(l.sum, o.sum))
	case l.negative:
		return tir.Minus(o.sum, l.sum)
	case o.negative:
		return tir.Minus(l.sum, o.sum)
	}
	return tir.Plus(l.sum, o.sum)
}
