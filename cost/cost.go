// Package cost estimates what kernels and copies take on a target, from shapes and the target's record alone. Every
// choice of the compiler (register tiles, panel widths, layouts) is made by these functions, and explain prints their
// figures.
//
// All results are cycles of one core unless a name says otherwise. The model is a bound of three pipes: multiply-adds,
// loads, and the latency of dependent multiply-adds.
package cost

import "github.com/texel-ml/texel/target"

// Latency is how many cycles a multiply-add takes until its result can be added to.
const Latency = 4

// loadsPerCycle is how many vector loads or broadcasts one core starts a cycle.
const loadsPerCycle = 2

// step is the overhead of one step of the reduction loop, in cycles: its counter and branch.
const step = 0.5

// Tile is a register tile of a matrix product: Rows × Vectors accumulators of Lanes elements.
type Tile struct{ Rows, Vectors, Lanes int }

// TileStep returns the cycles of one step of the reduction over a tile of m rows and v vectors: m·v multiply-adds, v
// vector loads and m broadcasts.
func TileStep(m, v int, t *target.Target) float64 {
	if m == 0 || v == 0 {
		return 0
	}
	return max(float64(m*v)/t.FMAsPerCycle, float64(m+v)/loadsPerCycle, Latency) + step
}

// MostRows returns how many rows a tile of v vectors may have: the accumulators, the vectors of the panel and one
// broadcast are in registers.
func MostRows(v int, t *target.Target) int { return max(1, (t.VectorRegisters-v-1)/v) }

// RegisterTile returns the tile for a product of rows × channels with the weight in panels of block channels, and the
// cycles of one step of the reduction summed over all tiles. The last tile of each direction is as small as what is left.
func RegisterTile(rows, channels, block int, t *target.Target) (Tile, float64) {
	lanes := min(t.Lanes(32), block)
	v := max(1, (min(block, channels)+lanes-1)/lanes)
	tail := (channels%block + lanes - 1) / lanes
	best, least := Tile{1, v, lanes}, 0.0
	for m := 1; m <= min(MostRows(v, t), 14, rows); m++ {
		column := func(v int) float64 { return float64(rows/m)*TileStep(m, v, t) + TileStep(rows%m, v, t) }
		total := float64(channels/block)*column(v) + column(tail)
		if m == 1 || total < least*0.995 {
			best, least = Tile{m, v, lanes}, total
		}
	}
	return best, least
}

// PanelWidth returns how many channels a packed panel of a weight should hold for a product of rows × channels, and the
// cycles of one step of the reduction.
func PanelWidth(rows, channels int, t *target.Target) (int, float64) {
	lanes := t.Lanes(32)
	best, least := lanes, 0.0
	for v := 1; v <= 4; v++ {
		if v > 1 && (v-1)*lanes >= channels {
			break
		}
		_, total := RegisterTile(rows, channels, v*lanes, t)
		if v == 1 || total < least*0.995 {
			best, least = v*lanes, total
		}
	}
	return best, least
}

// Micros turns cycles into microseconds.
func Micros(cycles float64, t *target.Target) float64 {
	if t.ClockGHz <= 0 {
		return cycles / 1000
	}
	return cycles / t.ClockGHz / 1000
}

// CopyBytesPerCycle is what one core moves, read and written, from its second cache.
const CopyBytesPerCycle = 16

// Copy returns the cycles of a copy or layout change of n bytes.
func Copy(n int64) float64 { return float64(2*n) / CopyBytesPerCycle }
