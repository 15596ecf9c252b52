package opencl

import (
	"errors"
	"flag"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

var (
	functions = flag.Int("functions", 30, "how many random functions TestRandomGroups runs on the device")
	firstSeed = flag.Uint64("seed", 1, "the seed of the first of them")
)

// TestRandomGroups runs random functions under random schedules for work-groups on a device, and wants the results of the
// interpreter, exactly: their arithmetic rounds nothing.
func TestRandomGroups(t *testing.T) {
	ran, barriers, refused, seed := 0, 0, 0, *firstSeed
	for ; ran < *functions; seed++ {
		d := irgen.Seed(seed)
		f := irgen.Make(d, irgen.Options{Points: 300, MaxStages: 4, Tuples: true, Scans: true})
		s := schedule.NewWith(f, schedule.Options{Seed: seed, Trust: true})
		require.NoError(t, irgen.GroupSteps(d, s, 4, map[string]*irgen.Tally{}), "seed %d", seed)
		kernels, between, err := transform.Lower(s.Func(), transform.Options{Device: transform.GPU, MaxLanes: 16})
		if err == nil {
			err = emitted(kernels)
		}
		if errors.Is(err, diag.ErrUnsupported) || slices.ContainsFunc(between, halfTexels) { // a schedule may ask for what no kernel can do
			refused++
			continue
		}
		require.NoError(t, err, "seed %d", seed)
		args := irgen.Args(f, seed)
		given := map[*tir.Buffer]*tensor.Tensor{}
		for i, b := range s.Func().Params[:len(args)-f.Outputs] {
			given[b] = args[i]
		}
		got := onDevice(t, kernels, between, given)
		require.NoError(t, interp.Run(t.Context(), f, args, interp.Options{}))
		for i := len(args) - f.Outputs; i < len(args); i++ {
			b := s.Func().Params[i]
			require.NoError(t, numtest.Compare(got[b], args[i], numtest.Tolerance{}), "seed %d, %s\n%s\n%s", seed, b.Name, s.Trace(), tirtext.Print(f))
		}
		ran++
		for _, k := range kernels {
			tir.Walk(k.Body, func(n any) bool {
				if _, ok := n.(*tir.Barrier); ok {
					barriers++
				}
				return true
			})
		}
	}
	require.Less(t, refused, 2*ran, "most are refused")
	require.Greater(t, 2*barriers, ran, "too few exchange values")
	t.Logf("seeds %d to %d: %d functions ran, with %d barriers, %d were refused", *firstSeed, seed-1, ran, barriers, refused)
}

// halfTexels reports whether a buffer is an image whose texels are one half: PoCL makes it, and reads from it what nobody wrote.
func halfTexels(b *tir.Buffer) bool {
	return b.Scope == tir.Texture && b.DType == tensor.Float16 && b.Shape[len(b.Shape)-1] == 1
}

// emitted tells why kernels cannot be written for the device.
func emitted(kernels []*tir.Kernel) error {
	record, err := target.Parse("pocl")
	for _, k := range kernels {
		if err == nil {
			_, err = Emit(k, record)
		}
	}
	return err
}
