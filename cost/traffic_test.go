package cost

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
)

// TestStreamKnowsTheCaches reads the same number of bytes of more and more.
func TestStreamKnowsTheCaches(t *testing.T) {
	r := record(t, "x86-64-v4") // 1 MiB and 16 MiB
	const n = 1 << 18
	second, last, memory := Stream(n, 1<<19, r), Stream(n, 1<<20, r), Stream(n, 1<<25, r)
	require.Equal(t, n/64.0*secondCycles, second)
	require.Equal(t, n/64.0*lastCycles, last)
	require.Equal(t, float64(n)/memoryBytesPerCycle, memory)
	require.Less(t, second, last)
	require.Less(t, last, memory)
}

// TestConversions are dearer where rounding is done by hand, and hidden on a GPU.
func TestConversions(t *testing.T) {
	r := record(t, "x86-64-v4")
	require.Equal(t, 100.0*widenCycles, Widen(1600, r))
	require.Equal(t, 100.0*narrowCycles, Narrow(1600, tensor.Float16, r))
	require.Greater(t, Narrow(1600, tensor.BFloat16, r), Narrow(1600, tensor.Float16, r))
	gpu := record(t, "adreno-660")
	require.Zero(t, Widen(1600, gpu))
	require.Zero(t, Narrow(1600, tensor.BFloat16, gpu))
}

// TestPanels has weights that fit the first cache and weights that do not.
func TestPanels(t *testing.T) {
	for _, name := range cpus {
		r := record(t, name)
		for _, d := range []tensor.DType{tensor.Float16, tensor.Float32} {
			require.LessOrEqual(t, Panels(64, 64, 8, d, r), Panels(64, 64, 4096, d, r), name)
		}
		require.Zero(t, Panels(64, 64, 8, tensor.Float32, r), "%s: a small panel is read as a part of the multiply-adds", name)
		require.Positive(t, Panels(64, 64, 8, tensor.Float16, r), "%s: widened", name)
		if r.FMAsPerCycle >= 1 { // else a conversion takes longer than what it saves
			require.Less(t, Panels(512, 64, 4096, tensor.Float16, r), Panels(512, 64, 4096, tensor.Float32, r), "%s: half the bytes", name)
		}
		block, _ := PanelWidth(512, 64, r)
		require.True(t, HoldsPanel(HeldTiles, 8, block, r), name)
		require.False(t, HoldsPanel(HeldTiles-1, 8, block, r), "%s: too few tiles", name)
		require.False(t, HoldsPanel(HeldTiles, 4096, block, r), "%s: too large", name)
	}
}
