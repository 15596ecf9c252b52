package transform

import (
	"context"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// FoldPad makes the padding by zeros part of the operator that reads it.
//
//	conv(pad(x, 0))                →  conv(x) with more padding
//	avg_pool(pad(x, 0)), unpadded  →  avg_pool(x) that counts its padding
//
// It leaves max_pool alone: its own padding never wins, zeros may.
func FoldPad(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("fold-pad", m, o, padOfConv, padOfPool)
}

// spatialPad returns the padding of the spatial axes of a zero pad, all begins and then all ends.
func spatialPad(e relay.Expr, layout string) (x relay.Expr, padding []int, ok bool) {
	p, isPad := is(e, "nn.pad")
	l, err := tensor.ParseLayout(layout)
	if !isPad || err != nil || !l.Plain() {
		return nil, nil, false
	}
	a := p.Attrs.(*relay.PadAttrs)
	if v, known := number(p.Args[1]); !known || v != 0 || a.PadMode != "constant" || slices.Min(append([]int{0}, a.PadWidth...)) < 0 {
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
	return p.Args[0], append(padding, ends...), true
}

func padOfConv(r *rewriter, c *relay.Call) (relay.Expr, error) {
	a, ok := c.Attrs.(*relay.ConvAttrs)
	if !ok {
		return nil, nil
	}
	x, padding, ok := spatialPad(c.Args[0], a.DataLayout)
	if !ok {
		return nil, nil
	}
	n := *a
	n.Padding = slices.Clone(a.Padding)
	for i := range padding {
		n.Padding[i] += padding[i]
	}
	r.note("%s pads by itself", c.Op.Name)
	return r.call(c.Op.Name, &n, x, c.Args[1])
}

func padOfPool(r *rewriter, c *relay.Call) (relay.Expr, error) {
	a, ok := c.Attrs.(*relay.PoolAttrs)
	if !ok || len(c.Op.Name) < 11 || c.Op.Name[:11] != "nn.avg_pool" || a.CeilMode {
		return nil, nil
	}
	if slices.ContainsFunc(a.Padding, func(p int) bool { return p != 0 }) && !a.CountIncludePad {
		return nil, nil
	}
	x, padding, ok := spatialPad(c.Args[0], a.Layout)
	if !ok {
		return nil, nil
	}
	n := *a
	n.CountIncludePad, n.Padding = true, slices.Clone(a.Padding)
	for i := range padding {
		n.Padding[i] += padding[i]
	}
	r.note("%s pads by itself", c.Op.Name)
	return r.call(c.Op.Name, &n, x)
}
