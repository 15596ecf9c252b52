package cost

import (
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// Cycles in which one core reads or writes the bytes of one vector, in order, where the data lies in its second cache and in
// the last one; and the most bytes a cycle from memory, however wide the vectors are.
const (
	secondCycles        = 2
	lastCycles          = 4
	memoryBytesPerCycle = 6
)

// vectorBytes is the width of a vector.
func vectorBytes(t *target.Target) float64 { return 4 * float64(t.Lanes(32)) }

// Stream returns the cycles of reading or writing n bytes in order, where as many as of are touched until they are touched
// again: that decides in which cache they still are.
func Stream(n, of int64, t *target.Target) float64 {
	vectors := float64(n) / vectorBytes(t)
	switch {
	case of <= t.L2/2:
		return vectors * secondCycles
	case of <= t.L3:
		return vectors * lastCycles
	}
	return max(vectors*lastCycles, float64(n)/memoryBytesPerCycle)
}

// Cycles that converting one vector takes a processor beside its load or store: float16 has instructions for both ways;
// bfloat16 is widened by a shift and rounded by hand.
const (
	widenCycles       = 1
	narrowCycles      = 2
	narrowBrainCycles = 4
)

// Widen returns the cycles of converting n elements of a half precision type to float32 when they are read; a GPU does so
// while it waits for them.
func Widen(n int64, t *target.Target) float64 { return conversions(n, widenCycles, t) }

// Narrow returns the cycles of rounding n elements of float32 to a half precision type when they are written.
func Narrow(n int64, d tensor.DType, t *target.Target) float64 {
	if d == tensor.BFloat16 {
		return conversions(n, narrowBrainCycles, t)
	}
	return conversions(n, narrowCycles, t)
}

func conversions(n int64, cycles float64, t *target.Target) float64 {
	if t.Kind == target.GPU {
		return 0
	}
	return float64(n) / float64(t.Lanes(32)) * cycles
}

// panelCycles is how long a tile takes to read a vector of a panel that is not in the first cache, beside its multiply-adds.
const panelCycles = 8.0 / 7

// HeldTiles is how many tiles use a panel at least that is widened as a whole.
const HeldTiles = 3

// HoldsPanel reports whether a panel of a weight in half precision, depth × block elements, is widened as a whole before
// its tiles multiply with it: where it stays in the first cache in float32. Else each tile widens the vectors that it loads, which
// takes less than reading float32 from the second cache.
func HoldsPanel(tiles, depth, block int, t *target.Target) bool {
	return tiles >= HeldTiles && int64(4*depth*block) <= t.L1D/2
}

// Panels returns the cycles that a product of rows × channels over a reduction of depth steps takes beside its multiply-adds
// because of its weight, which is kept in panels of elements of d: each tile reads its panel, from the second cache when it
// does not fit in the first; and what is in half precision is widened, mostly while multiply-adds wait for each other.
func Panels(rows, channels, depth int, d tensor.DType, t *target.Target) float64 {
	block, _ := PanelWidth(rows, channels, t)
	tile, _ := RegisterTile(rows, channels, block, t)
	lanes, bytes := t.Lanes(32), d.Bits()/8
	tiles, vectors := (rows+tile.Rows-1)/tile.Rows, (channels+lanes-1)/lanes*depth
	cycles := 0.0
	if int64(depth*block*bytes) > t.L1D/2 {
		cycles += float64(tiles) * float64(vectors) * float64(lanes*bytes) / vectorBytes(t) * panelCycles
	}
	switch {
	case bytes >= 4:
	case HoldsPanel(tiles, depth, block, t):
		cycles += float64(vectors) * widenCycles
	default:
		cycles += float64(tiles) * float64(vectors) * widenCycles / 2 / t.FMAsPerCycle
	}
	return cycles
}
