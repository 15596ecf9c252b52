package transform_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
)

// FuzzLower gives whatever text parses to the verifier, and what that lets through to the passes and the interpreter: each
// ends with a typed error or a result; a kernel that comes out is legal and reads what was written.
func FuzzLower(f *testing.F) {
	files, err := filepath.Glob("testdata/functions/*.tir")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		if len(text) < 3000 {
			f.Add(string(text))
		}
	}
	for _, p := range []tiles{{m: 5, n: 8, k: 3, bm: 2, bn: 4, bk: 2, threads: 2, vthreads: 2, late: true, double: true},
		{m: 4, n: 4, k: 4, bm: 4, bn: 4, bk: 2, threads: 4, vthreads: 1, nested: true}} {
		f.Add(p.text())
	}
	f.Add(tiled)
	f.Fuzz(func(t *testing.T, text string) {
		fn, err := tirtext.Parse("fuzz", text)
		if err != nil || verify.Verify(fn) != nil {
			return
		}
		size := 0
		for _, b := range fn.Params {
			size = max(size, b.Elems())
		}
		for _, device := range []transform.Device{transform.CPU, transform.GPU} {
			g, err := transform.LowerProgram(fn, transform.Options{Device: device, MaxUnroll: 2000, MaxGrowth: 2000, Verify: true})
			if err != nil {
				if errors.Is(err, diag.ErrInternal) && device == transform.CPU {
					t.Fatalf("%v\n%s", err, text)
				}
				continue
			}
			if size > 1<<16 {
				continue
			}
			buffers := map[*tir.Buffer]*tensor.Tensor{}
			for _, b := range fn.Params {
				buffers[b] = fill(b)
			}
			scalars := map[*tir.Var]int64{}
			for _, v := range fn.Scalars {
				scalars[v] = 3
			}
			_ = interp.RunKernels(context.Background(), g.Kernels, buffers, interp.Options{Scalars: scalars, MaxSteps: 20_000, Races: true})
		}
	})
}
