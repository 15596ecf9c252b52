package schedule

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// copyOf is a copy of extent elements, and its loop.
func copyOf(extent int) (*tir.Func, *tir.Var) {
	in := &tir.Buffer{Name: "A", DType: tensor.Float32, Shape: []int{extent}, Scope: tir.Global}
	out := &tir.Buffer{Name: "C", DType: tensor.Float32, Shape: []int{extent}, Scope: tir.Global}
	i, v := tir.NewVar("i"), tir.NewVar("v")
	b := &tir.Block{Name: "C", Iters: []tir.IterVar{{Var: v, Extent: extent}},
		Body: &tir.Store{Buffer: out, Indices: []tir.Expr{v}, Value: &tir.Load{Buffer: in, Indices: []tir.Expr{v}}}}
	b.Reads, b.Writes = tir.Accesses(b)
	loop := &tir.For{Var: i, Min: tir.I(0), Extent: tir.I(extent), Body: &tir.BlockRealize{Values: []tir.Expr{i}, Block: b}}
	root := &tir.BlockRealize{Block: &tir.Block{Name: "root", Body: loop}}
	return &tir.Func{Name: "f", Params: []*tir.Buffer{in, out}, Outputs: 1, Body: root}, i
}

// allTilings lists the tilings of extent into n factors by trying every number.
func allTilings(extent, n int) [][]int {
	if n == 1 {
		return [][]int{{extent}}
	}
	var list [][]int
	for f := 1; f <= extent; f++ {
		if extent%f == 0 {
			for _, rest := range allTilings(extent/f, n-1) {
				list = append(list, append([]int{f}, rest...))
			}
		}
	}
	return list
}

// TestTilingsAreNumbered wants each tiling to have one number.
func TestTilingsAreNumbered(t *testing.T) {
	for _, extent := range []int{1, 2, 12, 36, 97, 360} {
		for n := 1; n <= 4; n++ {
			want := allTilings(extent, n)
			primes := factorize(extent)
			require.EqualValues(t, len(want), tilings(primes, n), "%d into %d", extent, n)
			var got [][]int
			for k := range tilings(primes, n) {
				got = append(got, tiling(primes, n, k))
			}
			require.ElementsMatch(t, want, got)
		}
	}
}

// drawTiles draws count tilings of a loop by seeds 0, 1, 2 … and counts each.
func drawTiles(t *testing.T, extent, count int, draw func(*Schedule, Loop) []Int) map[string]int {
	f, i := copyOf(extent)
	seen := map[string]int{}
	for seed := range count {
		s := NewWith(f, Options{Seed: uint64(seed)})
		seen[fmt.Sprint(draw(s, Loop{v: i}))]++
		require.NoError(t, s.Err())
	}
	return seen
}

// wantUniform wants each of the tilings that fit drawn about as often as every other, and no other: the sum of the
// squared differences is within six standard deviations of what chance gives.
func wantUniform(t *testing.T, all [][]int, fits func([]int) bool, seen map[string]int, count int) {
	t.Helper()
	all = slices.DeleteFunc(all, func(l []int) bool { return !fits(l) })
	require.NotEmpty(t, all)
	want, square := float64(count)/float64(len(all)), 0.0
	left := count
	for _, l := range all {
		n := seen[fmt.Sprint(Ints(l...))]
		left -= n
		square += (float64(n) - want) * (float64(n) - want) / want
	}
	require.Zero(t, left, "a tiling was drawn that does not fit")
	free := float64(len(all) - 1)
	require.InDelta(t, free, square, 6*max(1, free), "of %d tilings", len(all))
}

func TestTilesAreUniform(t *testing.T) {
	const count = 6000
	for _, c := range []struct{ extent, n, most int }{{12, 2, 4}, {24, 3, 16}, {60, 2, 60}, {7, 2, 3}, {64, 4, 8}} {
		seen := drawTiles(t, c.extent, count, func(s *Schedule, l Loop) []Int {
			return unnamed(s.SamplePerfectTile(l, c.n, c.most))
		})
		wantUniform(t, allTilings(c.extent, c.n), func(l []int) bool { return l[c.n-1] <= c.most }, seen, count)
	}
	for _, c := range []struct{ extent, n, at, inner int }{{24, 3, 1, 8}, {24, 3, 2, 2}, {36, 2, 0, 6}, {36, 3, 3, 1}, {60, 4, 2, 10}} {
		seen := drawTiles(t, c.extent, count, func(s *Schedule, l Loop) []Int {
			return unnamed(s.SamplePartitionedTile(l, c.n, c.at, c.inner))
		})
		wantUniform(t, allTilings(c.extent, c.n), func(l []int) bool {
			product := 1
			for _, f := range l[c.at:] {
				product *= f
			}
			return product%c.inner == 0
		}, seen, count)
	}
}

func unnamed(list []Int) []Int {
	out := make([]Int, len(list))
	for i, n := range list {
		out[i].value = n.value
	}
	return out
}

// TestLargeTiles draws tilings of loops as long as a trace can name.
func TestLargeTiles(t *testing.T) {
	for _, extent := range []int{1<<31 - 1, 1 << 30, 1396755360, 46337 * 46337} {
		f, i := copyOf(extent)
		for seed := range uint64(8) {
			s := NewWith(f, Options{Seed: seed})
			product := 1
			for _, n := range s.SamplePerfectTile(Loop{v: i}, maxTileFactors, 64) {
				product *= n.Value()
			}
			require.NoError(t, s.Err())
			require.Equal(t, extent, product)
		}
	}
}
