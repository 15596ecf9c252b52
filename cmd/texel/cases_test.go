package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/tensor"
)

// corpus lays files into a folder.
func corpus(t *testing.T, files map[string][]byte) string {
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
	return dir
}

func read(t *testing.T, path string) []byte {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

func floats(v ...float32) []byte {
	return npy.Bytes(tensor.Of[float32](tensor.Float32, tensor.Shape{1, len(v)}, v...))
}

func TestFindCasesInFolders(t *testing.T) {
	relu := read(t, model("relu"))
	dir := corpus(t, map[string][]byte{
		"flat/model.onnx": relu, "flat/input_0.npy": floats(1, 2, 3), "flat/output_0.npy": floats(1, 2, 3), "flat/reference_0.npy": floats(4, 5, 6),
		"deep/sets/model.onnx": relu, "deep/sets/test_data_set_10/input_0.pb": nil, "deep/sets/test_data_set_2/input_0.pb": nil,
		"deep/sets/case.json": []byte(`{"expect": "error", "rtol": 0.5, "signed_zero": true, "inputs": ["x"]}`),
		"none/readme.txt":     nil,
	})
	all, err := findCases(dir, nil, nil)
	require.NoError(t, err)
	require.Len(t, all, 2)
	deep, flat := all[0], all[1]
	require.Equal(t, "deep/sets", deep.Name)
	require.Equal(t, "error", deep.Expect)
	require.True(t, deep.SignedZero && deep.Exact)
	require.Equal(t, 0.5, *deep.Rtol)
	require.Equal(t, filepath.Join(dir, "deep/sets/test_data_set_2/input_0.pb"), deep.Sets[0].Inputs[0])
	require.Len(t, deep.Sets, 2)
	require.Equal(t, "output", flat.Expect)
	require.Equal(t, filepath.Join(flat.Dir, "reference_0.npy"), flat.Sets[0].Outputs[0])
	all, err = findCases(dir, regexp.MustCompile("flat"), nil)
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func TestFindCasesByIndex(t *testing.T) {
	relu := read(t, model("relu"))
	tests := `[{"name": "a", "dir": "node/a", "scope": "core", "rtol": 0.1, "atol": 0.2, "value_inputs": [1], "inputs": [{"name": "x"}]}, {"name": "b", "scope": "lowp"}]`
	for _, text := range []string{tests, `{"onnx": "1", "tests": ` + tests + `}`} {
		dir := corpus(t, map[string][]byte{"index.json": []byte(text), "node/a/model.onnx": relu, "extra/model.onnx": relu})
		all, err := findCases(dir, nil, nil)
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Equal(t, []int{1}, all[0].ValueInputs)
		require.Equal(t, []string{"x"}, all[0].Inputs)
		require.Equal(t, 0.2, *all[0].Atol)
		require.False(t, all[0].Exact)
		require.Contains(t, all[1].Problem, "no model")
		all, err = findCases(dir, nil, []string{"core"})
		require.NoError(t, err)
		require.Len(t, all, 1)
	}
	for name, text := range map[string]string{"is not an index": "nonsense", "is not below the corpus": `[{"name": "a", "dir": "../a"}]`} {
		_, err := findCases(corpus(t, map[string][]byte{"index.json": []byte(text)}), nil, nil)
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, name)
	}
	_, err := findCases("/nowhere", nil, nil)
	require.ErrorIs(t, err, diag.ErrInvalid)
}

func TestTolerancesAreTheCasesOwn(t *testing.T) {
	half := 0.5
	run := func(c *testCase) *caseRun { return &caseRun{request: &request{Case: c}} }
	strict, lax := run(&testCase{Rtol: &half, Exact: true}).tolerances(tensor.Float32)
	require.Equal(t, strict, lax)
	require.Equal(t, 0.5, strict.Rel)
	strict, lax = run(&testCase{Rtol: &half}).tolerances(tensor.Float32)
	require.Zero(t, strict.Max)
	require.NotZero(t, lax.Max)
	strict, lax = run(&testCase{}).tolerances(tensor.Float32)
	require.Equal(t, strict, lax)
	require.NotZero(t, strict.Max)
}
