package transform_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// What any pass made can be printed, parsed again and taken up behind that pass, with the same end.
func TestEveryDumpIsAValidInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFunc(t)
		opts := transform.Options{MaxUnroll: 1 << 20}
		var dumps [][]string
		opts.Observe = func(_ string, kernels []*tir.Kernel) {
			var texts []string
			for _, k := range kernels {
				texts = append(texts, tirtext.PrintKernel(k))
			}
			dumps = append(dumps, texts)
		}
		_, _, err := transform.Lower(f, opts)
		if err != nil {
			t.Fatal(err)
		}
		opts.Observe = nil
		place := rapid.IntRange(1, len(dumps)).Draw(t, "place")
		var kernels []*tir.Kernel
		for _, text := range dumps[place-1] {
			k, err := tirtext.ParseKernel("dump", text)
			if err != nil {
				t.Fatal(err)
			}
			kernels = append(kernels, k)
		}
		done, err := transform.Resume(kernels, place, opts)
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range done {
			if text := tirtext.PrintKernel(k); text != dumps[len(dumps)-1][i] {
				t.Fatalf("resumed behind %s:\n%s\nwanted\n%s", transform.PassName(place-1), text, dumps[len(dumps)-1][i])
			}
		}
	})
}

func TestResumeStopsAndRefuses(t *testing.T) {
	f, err := tirtext.Parse("tiled", tiled)
	require.NoError(t, err)
	gpu := transform.Options{Device: transform.GPU}
	kernels, _, err := transform.LowerBlocks(f, gpu)
	require.NoError(t, err)
	var seen []string
	observed := gpu
	observed.Observe = func(pass string, _ []*tir.Kernel) { seen = append(seen, pass) }
	observed.StopAfter = "11_simplify"
	_, err = transform.Resume(kernels, 9, observed)
	require.NoError(t, err)
	require.Equal(t, []string{"vectorize", "unroll", "simplify"}, seen)
	seen, observed.StopAfter = nil, "simplify"
	_, err = transform.Resume(kernels, 1, observed)
	require.NoError(t, err)
	require.Equal(t, []string{"simplify"}, seen)

	_, err = transform.Resume(kernels, len(transform.Passes()), transform.Options{})
	require.EqualError(t, err, "verify: f: behind size-scratch: loop by is still bound")
	_, err = transform.Resume(kernels, 0, gpu)
	require.EqualError(t, err, "lower: kernels cannot enter the passes at place 0, wanted 1 to 13")
	gpu.StopAfter = "lift"
	_, err = transform.Resume(kernels, 1, gpu)
	require.ErrorContains(t, err, "lower: lift: no pass has this name; the passes are 00_lower-blocks 01_simplify 02_compact-buffers")
	for i, p := range transform.Passes() {
		at, err := transform.FindPass(transform.PassName(i))
		require.NoError(t, err)
		require.Equal(t, i, at)
		at, err = transform.FindPass(p.Name)
		require.NoError(t, err)
		require.LessOrEqual(t, at, i)
	}
}
