package opencl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/transform"
)

// TestRandomDefinitions runs random functions, reductions of tuples and recurrences among them, each kernel by one
// work-item.
func TestRandomDefinitions(t *testing.T) {
	o := irgen.Options{Tuples: true, Scans: true, Points: 400, Types: []tensor.DType{tensor.Float32, tensor.Float32, tensor.Int32, tensor.Int8}}
	for seed := range uint64(12) {
		f := irgen.Make(irgen.Seed(seed), o)
		kernels, between, err := transform.Lower(f, transform.Options{Device: transform.GPU})
		require.NoError(t, err)
		args := map[*tir.Buffer]*tensor.Tensor{}
		for i, x := range irgen.Args(f, seed) {
			args[f.Params[i]] = x
		}
		agree(t, kernels, between, args, numtest.Tolerance{})
	}
}
