package transform_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
)

// TestGoldens runs each pass on the kernels, or the functions, below testdata/PASS, and compares results of functions
// with those of their kernels.
func TestGoldens(t *testing.T) {
	for _, p := range transform.Passes() {
		dir := strings.ReplaceAll(p.Name, "-", "_")
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		require.NoError(t, err)
		require.NotEmpty(t, files, "pass %s has no golden", p.Name)
		for _, file := range files {
			t.Run(p.Name+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				runGolden(t, p, file)
			})
		}
	}
	dirs, err := os.ReadDir("testdata")
	require.NoError(t, err)
	for _, d := range dirs {
		require.True(t, d.Name() == "rapid" || d.Name() == "functions" || slices.ContainsFunc(transform.Passes(), func(p transform.Pass) bool {
			return strings.ReplaceAll(p.Name, "-", "_") == d.Name()
		}), "no pass is named %s", d.Name())
	}
}

func runGolden(t *testing.T, p transform.Pass, file string) {
	in := golden.In(t, file, "in")
	var out strings.Builder
	var err error
	opts := transform.Options{}
	if strings.Contains(in, "kind=bound") {
		opts.Device = transform.GPU
	}
	if p.Split != nil {
		f, perr := tirtext.Parse(file, in)
		require.NoError(t, perr)
		require.Equal(t, in, tirtext.Print(f), "the input is not as it would be printed")
		kernels, between, serr := p.Split(f, opts)
		err = serr
		for _, k := range kernels {
			out.WriteString(tirtext.PrintKernel(k))
		}
		for _, b := range between {
			out.WriteString("# between kernels: " + b.Name + "\n")
		}
		if err == nil {
			require.NoError(t, verify.Verify(f))
			require.NoError(t, sameResults(f, opts))
		}
	} else {
		k, perr := tirtext.ParseKernel(file, in)
		require.NoError(t, perr)
		require.Equal(t, in, tirtext.PrintKernel(k), "the input is not as it would be printed")
		to, rerr := p.Run(k, opts)
		err = rerr
		if err == nil {
			out.WriteString(tirtext.PrintKernel(to))
			require.Equal(t, in, tirtext.PrintKernel(k), "the pass changed its input")
			sameKernels(t, p.Name, k, to)
		}
	}
	if err != nil {
		golden.Check(t, file, golden.Section{Name: "err", Text: err.Error()})
		return
	}
	golden.Check(t, file, golden.Section{Name: "out", Text: out.String()})
}
