package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
)

// TestUnnamedBatchesAreBoundByShape holds what explain advises for a batch without a name against what compile takes.
func TestUnnamedBatchesAreBoundByShape(t *testing.T) {
	x := newTool(t)
	path := filepath.Join(fixtures, "batch", "unnamed.onnx")
	require.Contains(t, x.ok("explain", path), "with --input-shape x=4,4 it is for 4 rows only")
	x.ok("compile", path, "--input-shape", "x=4,4", "-o", filepath.Join(t.TempDir(), "a.texel"))
}

// TestBatches goes through the commands with models whose batch is open, and with one that mixes its rows.
func TestBatches(t *testing.T) {
	x := newTool(t)
	model := func(name string) string { return filepath.Join(fixtures, "batch", name+".onnx") }
	art := filepath.Join(t.TempDir(), "words.texel")
	x.ok("compile", model("words"), "-o", art)
	out := x.ok("inspect", art)
	require.Contains(t, out, "input  ids (1, 6) int64, any number of these along axis 0, N\n")
	require.Contains(t, out, "output y (1, 4) float32, any number of these along axis 0, N\n")
	require.Contains(t, out, "output same (3, 4) float32\n")
	require.Regexp(t, `(?m)^memory: weights \d+ B, arena \d+ B \(lower bound \d+ B\), scratch `, out, "sizes in the unit that shows them")
	x.ok("verify", art)
	note := "default: batch: N: stays open: the model keeps its rows apart, so it is compiled for one and runs once for each; with --dim N=4 it is for 4 rows only"
	require.Contains(t, x.ok("explain", art, "--match", "^N$"), note)
	require.Contains(t, x.ok("explain", model("words"), "--kind", "default"), note)

	ids := func(rows int) string {
		return "ids=" + x.npy("ids.npy", tensor.New(tensor.Int64, tensor.Shape{rows, 6}))
	}
	mask := func(rows int) string {
		return "mask=" + x.npy("mask.npy", tensor.New(tensor.Float32, tensor.Shape{rows, 6}))
	}
	require.Contains(t, x.ok("run", art, "--input", ids(4), "--input", mask(4)), "y (4, 4) float32")
	require.Contains(t, x.ok("run", art, "--input", ids(2), "--input", mask(2), "--batch", "2", "--profile"), "y (2, 4) float32")
	x.refused(3, "mask: 2 rows along axis 0, N, but input ids has 4", "run", art, "--input", ids(4), "--input", mask(2))
	x.refused(3, "wanted 3 rows, as was asked for, found 4", "run", art, "--input", ids(4), "--input", mask(4), "--batch", "3")
	x.refused(2, "--batch wants 1 to 1048576, found -1", "run", art, "--batch", "-1")
	x.refused(2, "--batch wants 1 to 1048576, found 2097152", "bench", art, "--batch", "2097152")

	// one compilation of a model serves inputs of any number of rows
	require.Contains(t, x.ok("run", model("words"), "--input", ids(3), "--input", mask(3)), "y (3, 4) float32")
	require.Contains(t, x.ok("run", model("words"), "--input", ids(5), "--input", mask(5)), "y (5, 4) float32")
	require.Regexp(t, `(?m)^1 models`, x.ok("cache", "list"))
	require.Contains(t, x.ok("run", model("words"), "--input", ids(3), "--input", mask(3), "--dim", "N=3"), "y (3, 4) float32")

	var bench struct {
		Batch    int     `json:"batch"`
		MedianMS float64 `json:"median_ms"`
	}
	require.NoError(t, json.Unmarshal([]byte(x.ok("bench", art, "--batch", "4", "--rounds", "3", "--json")), &bench))
	require.Equal(t, 4, bench.Batch)
	require.Contains(t, x.ok("bench", art, "--batch", "4", "--rounds", "3"), ", batch 4: median ")
	require.Contains(t, x.ok("check", art, "--batch", "3"), "0 outside their bound")
	require.Contains(t, x.ok("check", model("words"), "--batch", "3", "--input", ids(3)), "0 outside their bound")

	gram := model("mixes/gram")
	file := x.npy("x.npy", tensor.New(tensor.Float32, tensor.Shape{3, 4}))
	require.Contains(t, x.ok("run", gram, "--input", file), "y (3, 3) float32", "compiled for the rows that are given")
	x.refused(4, "2 rows are wanted, and the model is compiled for its shapes only", "bench", gram, "--batch", "2")
	require.Contains(t, x.ok("explain", gram), "default: batch: products: nn.matmul mixes the rows of the batch, or is not known to keep them apart: the batch is bound to 1; compile with --dim N=4 for 4 rows")
}

// TestAPictureARow gives several pictures to one input.
func TestAPictureARow(t *testing.T) {
	x := newTool(t)
	one, two := "x="+squeezenet+"/picture.png", "x="+squeezenet+"/cat.png"
	net := filepath.Join(fixtures, "batch", "classifier.onnx")
	out := x.ok("run", net, "--input", one, "--input", two, "--top", "1")
	require.Regexp(t, `(?s)^.*/picture.png\n.*class \d\n.*/cat.png\n.*class \d\n`, out)
	x.refused(3, "2 pictures are given, and the input has shape (1, 3, 17, 15): wanted one, or one a row of axis 0", "run", model("net"), "--input", one, "--input", two)
	x.refused(2, `--input gives "x" twice`, "run", net, "--input", one, "--input", "x=a.npy")
}
