package lower

import (
	"strconv"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// Candidates returns the ways in which an operator can be computed on a target, the preferred one first; none when it
// takes operands as they come. Its constant weight, if it has one, is kept in a type; tensor.Invalid is its own.
func Candidates(c *relay.Call, weight tensor.DType, t *target.Target) []cost.Candidate {
	if c.Op == nil || t.Kind != target.CPU {
		return nil
	}
	switch c.Op.Lower {
	case "conv":
		return convCandidates(c, weight, t)
	case "conv_transpose":
		return transposedCandidates(c, weight, t)
	case "matmul":
		if _, dense := c.Attrs.(*relay.DenseAttrs); dense {
			return denseCandidates(c, weight, t)
		}
	}
	return nil
}

// convCandidates offers channels-innermost layouts. A first layer (few input channels) may read channels-outermost data,
// since pixels are broadcast one by one and a padded copy runs along rows.
func convCandidates(c *relay.Call, weight tensor.DType, t *target.Target) []cost.Candidate {
	a := c.Attrs.(*relay.ConvAttrs)
	plain := tensor.MustLayout(a.DataLayout)
	spatial := spatialOf(plain)
	kernel := tensor.MustLayout(a.KernelLayout)
	w := relay.Tensor(c.Args[1]).Shape
	out := plain
	if a.OutLayout != "" {
		out = tensor.MustLayout(a.OutLayout)
	}
	if !plain.Plain() || !kernel.Plain() || !out.Plain() {
		return nil
	}
	shape := relay.Tensor(c).Shape
	rows, channels := 1, out.Extent(shape, 'C')
	for n, d := range shape {
		if letter := out.Axes()[n].Letter; letter != 'C' {
			rows *= d
		}
	}
	inner, perGroup := 1, kernel.Extent(w, 'I')
	for _, l := range spatial + "I" {
		inner *= kernel.Extent(w, byte(l))
	}
	last := "N" + spatial + "C"
	switch {
	case a.Groups > 1 && perGroup == 1:
		steps := float64(rows) * float64(inner) * float64((channels+t.Lanes(32)-1)/t.Lanes(32))
		if weight != tensor.Invalid {
			steps *= 1 + 1/float64(depthwiseTile(out.Extent(shape, spatial[len(spatial)-1]))) // widened once a tile
		}
		packed := "O" + spatial + "I" + strconv.Itoa(t.Lanes(32)) + "o"
		return []cost.Candidate{{Algorithm: "depthwise", Data: last, Kernel: packed, Out: last, Cost: cost.Micros(steps/loadBound(t), t)}}
	case a.Groups > 1:
		return nil
	}
	block, cycles := panels(rows, channels, inner, weight, t)
	packed := "O" + spatial + "I" + strconv.Itoa(block) + "o"
	price := cost.Micros(cycles, t)
	list := []cost.Candidate{{Algorithm: "direct", Data: last, Kernel: packed, Out: last, Cost: price}}
	if data := plain.Extent(relay.Tensor(c.Args[0]).Shape, 'C'); data <= 4 {
		list = append([]cost.Candidate{{Algorithm: "direct", Data: "NC" + spatial, Kernel: packed, Out: last, Cost: price}}, list...)
	}
	return list
}

// transposedCandidates offers channels-innermost layouts of the transposed convolutions that are taken apart by phases: each
// is a product of its places and the channels.
func transposedCandidates(c *relay.Call, weight tensor.DType, t *target.Target) []cost.Candidate {
	a := c.Attrs.(*relay.ConvTransposeAttrs)
	plain, kernel := tensor.MustLayout(a.DataLayout), tensor.MustLayout(a.KernelLayout)
	if a.Groups != 1 || !plain.Plain() || !kernel.Plain() {
		return nil
	}
	spatial := spatialOf(plain)
	w := relay.Tensor(c.Args[1]).Shape
	channels := kernel.Extent(w, 'O')
	steps, phases := kernel.Extent(w, 'I'), 1
	for n, l := range spatial {
		if gcd(a.Strides[n], a.Dilation[n]) != 1 {
			return nil
		}
		steps *= ceilDiv(kernel.Extent(w, byte(l)), a.Strides[n])
		phases *= a.Strides[n]
	}
	rows := relay.Tensor(c).Shape.Elems() / max(1, channels*phases)
	_, cycles := panels(rows, channels, steps*phases, weight, t)
	last := "N" + spatial + "C"
	return []cost.Candidate{{Algorithm: "phases", Data: last, Kernel: spatial + "IO", Out: last, Cost: cost.Micros(cycles, t)}}
}

// panels returns how many channels a packed panel of a weight holds that is kept in a type, and the cycles of the product of
// rows × channels over depth steps.
func panels(rows, channels, depth int, weight tensor.DType, t *target.Target) (int, float64) {
	block, step := cost.PanelWidth(rows, channels, t)
	if weight == tensor.Invalid {
		weight = tensor.Float32
	}
	return block, step*float64(depth) + cost.Panels(rows, channels, depth, weight, t)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// loadBound is how many taps of a depthwise window a core does in a cycle: each loads its operand.
func loadBound(t *target.Target) float64 { return min(t.FMAsPerCycle, 1) }

func denseCandidates(c *relay.Call, weight tensor.DType, t *target.Target) []cost.Candidate {
	shape := relay.Tensor(c).Shape
	channels := shape[len(shape)-1]
	rows := max(1, shape.Elems()/max(1, channels))
	data := relay.Tensor(c.Args[0]).Shape
	block, cycles := panels(rows, channels, data[len(data)-1], weight, t)
	if rows == 1 {
		block = min(4, (channels+t.Lanes(32)-1)/t.Lanes(32)) * t.Lanes(32)
	}
	return []cost.Candidate{{Algorithm: "direct", Kernel: "NK" + strconv.Itoa(block) + "n", Cost: cost.Micros(cycles, t)}}
}
