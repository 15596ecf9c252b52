package cost

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/target"
)

func record(t *testing.T, name string) *target.Target {
	r, err := target.Parse(name)
	require.NoError(t, err)
	return r
}

var cpus = []string{"x86-64-v3", "x86-64-v4", "cortex-a55", "cortex-a76", "neoverse-v1"}

// TestTilesFitRegisters goes through shapes and records: accumulators, panel and broadcast never need more registers than
// there are, and a tile is never larger than the result.
func TestTilesFitRegisters(t *testing.T) {
	for _, name := range cpus {
		r := record(t, name)
		for _, rows := range []int{1, 2, 7, 49, 196, 12544} {
			for _, channels := range []int{1, 3, 16, 24, 40, 144, 1000} {
				width, _ := PanelWidth(rows, channels, r)
				tile, cycles := RegisterTile(rows, channels, width, r)
				where := fmt.Sprintf("%s: %d rows, %d channels: %+v", name, rows, channels, tile)
				require.LessOrEqual(t, tile.Rows*tile.Vectors+tile.Vectors+1, r.VectorRegisters, where)
				require.LessOrEqual(t, tile.Rows, rows, where)
				require.LessOrEqual(t, tile.Lanes, r.Lanes(32), where)
				require.LessOrEqual(t, width, (channels+r.Lanes(32)-1)/r.Lanes(32)*r.Lanes(32), where)
				busy := float64(rows) * float64((channels+r.Lanes(32)-1)/r.Lanes(32)) / r.FMAsPerCycle
				require.GreaterOrEqual(t, cycles, busy, where+": fewer cycles than the multiply-adds take")
			}
		}
	}
}

// TestTilesFollowTheRows has counts of rows where an uneven tile would leave an almost empty last one.
func TestTilesFollowTheRows(t *testing.T) {
	r := record(t, "x86-64-v4")
	for rows, want := range map[int][]int{49: {7, 10, 13}, 7: {7}, 14: {14, 7}, 28: {14, 7}, 3: {3}} {
		tile, _ := RegisterTile(rows, 64, 32, r)
		require.Contains(t, want, tile.Rows, "%d rows", rows)
	}
}

func TestCopyAndMicros(t *testing.T) {
	r := record(t, "x86-64-v4")
	require.InDelta(t, 2*4096.0/CopyBytesPerCycle, Copy(4096), 1e-9)
	require.InDelta(t, 1.0, Micros(1000*r.ClockGHz, r), 1e-9)
	require.Greater(t, Copy(8192), Copy(4096))
}
