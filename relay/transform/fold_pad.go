package transform

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// FoldPad makes padding part of the operator that reads it.
//
//	conv(pad(x, 0))                →  conv(x) with more padding
//	avg_pool(pad(x, 0))            →  avg_pool(x) that counts its padding, unless it has padding that it does not count
//	max_pool(pad(x, -∞))           →  max_pool(x) with more padding, of integers with their least value
//	max_pool(pad(x, 0)), x ≥ 0     →  max_pool(x) with more padding
//
// The padding of max_pool itself never wins. That of zeros loses against every x ≥ 0, but is all there is in a window that
// lies in it: there must be none.
func FoldPad(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("fold-pad", m, o, padOfConv, padOfAverage, padOfMaximum)
}

// spatialPad returns the padding of a pad by constants that widens spatial axes alone, all begins and then all ends.
func spatialPad(e relay.Expr, layout string) (p *relay.Call, padding []int, ok bool) {
	p, isPad := is(e, "nn.pad")
	l, err := tensor.ParseLayout(layout)
	if !isPad || err != nil || !l.Plain() {
		return nil, nil, false
	}
	a := p.Attrs.(*relay.PadAttrs)
	if a.PadMode != "constant" || slices.Min(append([]int{0}, a.PadWidth...)) < 0 {
		return nil, nil, false
	}
	for i, axis := range l.Axes() {
		if (axis.Letter == 'N' || axis.Letter == 'C') && (a.PadWidth[2*i] != 0 || a.PadWidth[2*i+1] != 0) {
			return nil, nil, false
		}
	}
	var ends []int
	for _, letter := range "DHW" {
		if i := l.Index(byte(letter)); i >= 0 {
			padding, ends = append(padding, a.PadWidth[2*i]), append(ends, a.PadWidth[2*i+1])
		}
	}
	return p, append(padding, ends...), true
}

// pads reports whether a pad's value is the number v.
func pads(p *relay.Call, v float64) bool {
	k, ok := number(p.Args[1])
	return ok && k == v
}

// sum adds padding.
func sum(a, b []int) []int {
	all := slices.Clone(a)
	for i := range b {
		all[i] += b[i]
	}
	return all
}

func padOfConv(r *rewriter, c *relay.Call) (relay.Expr, error) {
	a, ok := c.Attrs.(*relay.ConvAttrs)
	if !ok {
		return nil, nil
	}
	p, padding, ok := spatialPad(c.Args[0], a.DataLayout)
	if !ok || !pads(p, 0) {
		return nil, nil
	}
	n := *a
	n.Padding = sum(a.Padding, padding)
	r.note("%s pads by itself", c.Op.Name)
	return r.call(c.Op.Name, &n, p.Args[0], c.Args[1])
}

func padOfAverage(r *rewriter, c *relay.Call) (relay.Expr, error) {
	a, ok := c.Attrs.(*relay.PoolAttrs)
	if !ok || !strings.HasPrefix(c.Op.Name, "nn.avg_pool") || a.CeilMode {
		return nil, nil
	}
	if slices.ContainsFunc(a.Padding, func(p int) bool { return p != 0 }) && !a.CountIncludePad {
		return nil, nil
	}
	p, padding, ok := spatialPad(c.Args[0], a.Layout)
	if !ok || !pads(p, 0) {
		return nil, nil
	}
	n := *a
	n.CountIncludePad, n.Padding = true, sum(a.Padding, padding)
	r.note("%s pads by itself", c.Op.Name)
	return r.call(c.Op.Name, &n, p.Args[0])
}

func padOfMaximum(r *rewriter, c *relay.Call) (relay.Expr, error) {
	a, ok := c.Attrs.(*relay.PoolAttrs)
	if !ok || !strings.HasPrefix(c.Op.Name, "nn.max_pool") || c.Op.Name == "nn.max_pool2d_with_argmax" {
		return nil, nil
	}
	p, padding, ok := spatialPad(c.Args[0], a.Layout)
	if !ok {
		return nil, nil
	}
	n := *a
	n.Padding = sum(a.Padding, padding)
	least := pads(p, math.Inf(-1))
	if v, known := integer(p.Args[1]); known {
		low, _ := tensor.IntRange(relay.Tensor(c).DType)
		least = v == low
	}
	if !least && !(pads(p, 0) && neverNegative(p.Args[0]) && eachWindowHasData(&n, relay.Tensor(p.Args[0]).Shape, relay.Tensor(c).Shape)) {
		return nil, nil
	}
	y, err := r.call(c.Op.Name, &n, p.Args[0])
	if err != nil || !relay.TypeEqual(y.Type(), c.Type()) { // rounding up, a window may not begin in the padding
		return nil, nil
	}
	r.note("%s pads by itself", c.Op.Name)
	return y, nil
}

// eachWindowHasData reports whether every window of a pool has an element that is no padding.
func eachWindowHasData(a *relay.PoolAttrs, in, out tensor.Shape) bool {
	l := tensor.MustLayout(a.Layout)
	i := 0
	for _, letter := range "DHW" {
		axis := l.Index(byte(letter))
		if axis < 0 {
			continue
		}
		for window := range out[axis] {
			inside := false
			for k := range a.PoolSize[i] {
				at := window*a.Strides[i] - a.Padding[i] + k*a.Dilation[i]
				inside = inside || at >= 0 && at < in[axis]
			}
			if !inside {
				return false
			}
		}
		i++
	}
	return true
}
