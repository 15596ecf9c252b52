package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
)

// TestTextsKeepTheirBatch imports models whose batch is open: the text has it, and the commands do with it what they do with the
// model.
func TestTextsKeepTheirBatch(t *testing.T) {
	x := newTool(t)
	dir := t.TempDir()
	first, second, art := filepath.Join(dir, "w.relay"), filepath.Join(dir, "w2.relay"), filepath.Join(dir, "w.texel")
	require.Empty(t, x.ok("import", filepath.Join(fixtures, "batch", "words.onnx"), "-o", first))
	text := string(read(t, first))
	require.Contains(t, text, "def @main(%ids: Tensor[(?, 6), int64], %mask: Tensor[(?, 6), float32]) -> (Tensor[(?, 4), float32], Tensor[(3, 4), float32]) {\n")
	require.Empty(t, x.ok("import", first, "-o", second))
	require.Equal(t, text, string(read(t, second)))
	require.Empty(t, x.ok("fmt", "-w", second))
	require.Equal(t, text, string(read(t, second)))
	x.ok("compile", first, "-o", art)
	require.Contains(t, x.ok("inspect", art), "input  ids (1, 6) int64, any number of these along axis 0, batch\n")
	require.Contains(t, x.ok("explain", art), "default: batch: batch: stays open: the model keeps its rows apart")
	ids, mask := "ids="+x.npy("i.npy", tensor.New(tensor.Int64, tensor.Shape{4, 6})), "mask="+x.npy("m.npy", tensor.New(tensor.Float32, tensor.Shape{4, 6}))
	for _, what := range []string{art, first} {
		require.Contains(t, x.ok("run", what, "--input", ids, "--input", mask), "y (4, 4) float32")
	}
	require.Contains(t, x.ok("import", first, "--input-shape", "ids=3,6", "--input-shape", "mask=3,6"), "%ids: Tensor[(3, 6), int64]")

	code, out, said := x.run("import", filepath.Join(fixtures, "batch", "vit.onnx"))
	require.Zero(t, code)
	require.Contains(t, out, "def @main(%x: Tensor[(1, 3, 8, 12), float32])")
	require.Contains(t, said, "import: the batch is 1 in the text: ")
	x.refused(4, "the batch is open, but with 7 rows this is no model", "fmt", x.file("f.relay", "def @main(%x: Tensor[(?, 4), float32]) -> Tensor[(1, 4), float32] { exp(%x) }"))
}

// TestTheExamplesOfThePageWork pastes each example of docs/relay.md into a file: it is formatted and compiled.
func TestTheExamplesOfThePageWork(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "relay.md"))
	require.NoError(t, err)
	examples := regexp.MustCompile("(?ms)^```relay\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(examples), 2)
	x := newTool(t)
	for _, e := range examples {
		path := x.file("example.relay", e[1])
		once := x.ok("fmt", path)
		require.Equal(t, once, x.ok("fmt", x.file("again.relay", once)))
		x.ok("compile", path, "-o", filepath.Join(t.TempDir(), "a.texel"))
	}
	// the first one has its weight by hand, as the page says
	first := x.file("example.relay", examples[0][1])
	art := filepath.Join(t.TempDir(), "a.texel")
	x.ok("compile", first, "--input", "w="+x.npy("w.npy", tensor.New(tensor.Float32, tensor.Shape{4, 3, 3, 3})), "-o", art)
	require.NotContains(t, x.ok("inspect", art), "input  w ")
	require.Contains(t, string(page), "--input w=w.npy")
	require.False(t, strings.Contains(string(page), "\n    def "), "examples stand in fences")
}
