package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/tensor"
)

const squeezenet = fixtures + "/squeezenet1.1"

func testTime(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }

func decode(t *testing.T, text string) map[string]any {
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

func TestCompileRunInspectVerify(t *testing.T) {
	x := newTool(t)
	art := filepath.Join(t.TempDir(), "s.texel")
	require.Contains(t, x.ok("compile", squeezenet+"/model.onnx", "-o", art), "launches")
	out := x.ok("run", art, "--input", "image="+squeezenet+"/picture.png", "--crop", "center", "--resize", "area", "--channels", "bgr",
		"--mean", "104,117,123", "--labels", squeezenet+"/labels.txt", "--top", "2")
	require.Regexp(t, `(?s)picture.png\n +0\.9[0-9]+  espresso\n +0\.0[0-9]+  consomme\n[0-9.]+ ms on`, out)
	require.Contains(t, x.ok("verify", art), "fine:")
	require.Contains(t, x.ok("check", art, "--certify"), "0 outside their bound")
	require.FileExists(t, strings.TrimSuffix(art, ".texel")+".cert.json")
	x.refused(2, "--opt-level is for compiling", "check", art, "--opt-level", "1")
	x.refused(3, "nothing: no input has this name; the inputs are image", "check", art, "--input", "nothing="+x.npy("x.npy", tensor.New(tensor.Float32, tensor.Shape{1})))
	out = x.ok("inspect", art)
	require.Regexp(t, `(?m)^memory: weights 4\.9[0-9] MB, arena .* launches of .* kernels$`, out)
	require.Contains(t, out, "input  image (1, 3, 227, 227) float32")
	v := decode(t, x.ok("inspect", art, "--json"))
	require.Len(t, v["plans"], 1)
	require.Contains(t, x.ok("explain", art), "fused")
	v = decode(t, x.ok("explain", art, "--json"))
	require.NotEmpty(t, v["notes"])

	whole, err := os.ReadFile(art)
	require.NoError(t, err)
	whole[len(whole)/3] ^= 1
	bad := filepath.Join(t.TempDir(), "bad.texel")
	require.NoError(t, os.WriteFile(bad, whole, 0o644))
	x.refused(3, "weights.bin", "verify", bad)
	x.refused(3, "weights.bin", "run", bad, "--input", "image="+squeezenet+"/picture.png")
	x.refused(3, "not readable", "inspect", filepath.Join(t.TempDir(), "none.texel"))
}

func TestRunTakesArraysAndWritesThem(t *testing.T) {
	x := newTool(t)
	in := tensor.Of[float32](tensor.Float32, tensor.Shape{2, 3}, -1, 2, -3, 4, -5, 6)
	file := x.npy("x.npy", in)
	dir := filepath.Join(t.TempDir(), "out")
	require.Equal(t, filepath.Join(dir, "y.npy")+": y (2, 3) float32\n", x.ok("run", model("relu"), "--input", "x="+file, "--output", dir))
	y, err := npy.ReadFile(filepath.Join(dir, "y.npy"))
	require.NoError(t, err)
	want := tensor.Of[float32](tensor.Float32, tensor.Shape{2, 3}, 0, 2, 0, 4, 0, 6)
	require.Equal(t, want, y)

	archive := filepath.Join(t.TempDir(), "in.npz")
	f, err := os.Create(archive)
	require.NoError(t, err)
	require.NoError(t, npy.WriteArchive(f, []npy.Named{{Name: "x", Tensor: in}}))
	require.NoError(t, f.Close())
	result := filepath.Join(t.TempDir(), "out.npz")
	require.Equal(t, result+": y (2, 3) float32\n", x.ok("run", model("relu"), "--threads", "1", "--input", archive, "--output", result))
	all, err := npy.ReadArchive(result)
	require.NoError(t, err)
	require.Equal(t, []npy.Named{{Name: "y", Tensor: want}}, all)

	require.Contains(t, x.ok("run", model("relu"), "--input", file), "y (2, 3) float32  min 0  max 6  mean 2")
	require.Contains(t, x.ok("run", model("relu"), "--input", "x="+file, "--profile"), "1 launches")
	line := filepath.Join(t.TempDir(), "t.json")
	x.ok("run", model("net"), "--input", "x="+x.npy("n.npy", tensor.New(tensor.Float32, tensor.Shape{1, 3, 17, 15})), "--chrome", line)
	require.Len(t, decode(t, string(read(t, line)))["traceEvents"], 6)
	x.refused(4, "tuning is not in this version", "run", model("relu"), "--records", "x.db")
	x.refused(3, "no input has this name; the inputs are x", "run", model("mlp"), "--input", "z="+file)
	x.refused(3, "input is missing", "run", model("mlp"))
	x.refused(3, "the model has 20", "run", model("mlp"), "--input", "x="+file)
	x.refused(3, "cannot read the array", "run", model("relu"), "--input", "x=none.npy")
	x.refused(3, "cannot read the labels", "run", model("relu"), "--labels", "none.txt")
	x.refused(3, "a picture fits", "run", model("mlp"), "--input", "x="+squeezenet+"/cat.png")
}

func TestBench(t *testing.T) {
	x := newTool(t)
	v := decode(t, x.ok("bench", model("net"), "--threads", "1", "--rounds", "5", "--json"))
	for _, key := range []string{"model", "device", "threads", "median_ms", "min_ms", "p95_ms", "compile_ms", "compile_cached", "load_ms", "first_ms",
		"cold_ms", "arena_bytes", "scratch_bytes", "weights_bytes", "peak_mb", "kernels", "launches", "io_ms"} {
		require.Contains(t, v, key)
	}
	require.Equal(t, false, v["compile_cached"])
	require.Positive(t, v["median_ms"])
	require.LessOrEqual(t, v["min_ms"], v["median_ms"])
	require.LessOrEqual(t, v["median_ms"], v["p95_ms"])
	require.Equal(t, true, decode(t, x.ok("bench", model("net"), "--threads", "1", "--rounds", "5", "--json"))["compile_cached"])
	out := x.ok("bench", model("net"), "--rounds", "1")
	require.Regexp(t, `compiled in \d+ ms \(from the cache\), load`, out)
	require.Regexp(t, `weights 4\.\d\d kB, arena 13\.\d\d kB, scratch \S+ k?B a thread`, out)
	art := filepath.Join(t.TempDir(), "net.texel")
	require.Contains(t, x.ok("compile", model("net"), "-o", art), "; weights 4.")
	require.Contains(t, x.ok("bench", art, "--rounds", "1"), "\n  load ", "an artifact is not compiled")
}

func TestSizesAreReadable(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.00 kB", 99_000: "99.00 kB", 123_456: "0.12 MB", 4_960_000: "4.96 MB"} {
		require.Equal(t, want, bytesText(n))
	}
}

// TestNumbersOfPictures gives fractions, and what is neither.
func TestNumbersOfPictures(t *testing.T) {
	x, out := newTool(t), filepath.Join(t.TempDir(), "out.npz")
	args := func(more ...string) []string {
		return append([]string{"run", squeezenet + "/model.onnx", "--output", out, "--input", "image=" + squeezenet + "/picture.png", "--top", "1"}, more...)
	}
	require.Equal(t, x.ok(args("--scale", "0.5", "--mean", "0.5,1,2")...), x.ok(args("--scale", "1/2", "--mean", "1/2,1,4/2")...))
	for _, bad := range []string{"1/x", "x", "", "1/0", "0/0", "1/2/3", "1e99"} {
		x.refused(2, "wanted a number, or a fraction such as 1/255", args("--scale", bad)...)
		x.refused(2, "wanted numbers, or fractions such as 1/255, separated by commas", args("--std", "1,"+bad)...)
	}
}

func TestCache(t *testing.T) {
	x := newTool(t)
	require.Contains(t, x.ok("cache", "list"), "0 models")
	input := x.npy("x.npy", tensor.New(tensor.Float32, tensor.Shape{4, 64}))
	dir := t.TempDir()
	for _, name := range []string{"external.onnx", "external.bin"} {
		data, err := os.ReadFile(filepath.Join(fixtures, "onnx", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	path := filepath.Join(dir, "external.onnx")
	cached := func() any {
		return decode(t, x.ok("bench", path, "--rounds", "1", "--json"))["compile_cached"]
	}
	x.ok("run", path, "--input", "x="+input, "--no-cache")
	require.Equal(t, false, cached(), "--no-cache keeps nothing")
	require.Equal(t, true, cached())
	weights, err := os.ReadFile(filepath.Join(dir, "external.bin"))
	require.NoError(t, err)
	weights[3] ^= 1
	require.NoError(t, os.WriteFile(filepath.Join(dir, "external.bin"), weights, 0o644))
	require.Equal(t, false, cached(), "other weights")
	require.Equal(t, false, decode(t, x.ok("bench", path, "--rounds", "1", "--json", "--opt-level", "1"))["compile_cached"], "other options")
	list := x.ok("cache", "list")
	require.Contains(t, list, "2 models")
	require.Contains(t, x.ok("cache", "clear"), "2 models removed")
	require.Contains(t, x.ok("cache", "list"), "0 models")
	left, err := os.ReadDir(filepath.Join(x.cache, "texel", "models"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestCacheEvictsWhatWasNotUsedForLongest(t *testing.T) {
	c := &cache{t.TempDir()}
	for i, name := range []string{"old", "new"} {
		path := filepath.Join(c.dir, name+".texel")
		require.NoError(t, os.WriteFile(path, make([]byte, 10), 0o644))
		require.NoError(t, os.WriteFile(path+".json", []byte("{}"), 0o644))
		at := testTime(i)
		require.NoError(t, os.Chtimes(path, at, at))
	}
	c.evict("", 15)
	all, err := c.entries()
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "new.texel", filepath.Base(all[0].path))
}

// TestCacheForgetsWhatKilledCommandsLeft has temporary files and halves of entries, old and new.
func TestCacheForgetsWhatKilledCommandsLeft(t *testing.T) {
	c := &cache{t.TempDir()}
	old := time.Now().Add(-2 * abandoned)
	for _, name := range []string{"a.texel", "a.texel.json", "b.texel", "c.texel.json", ".texel-123", ".d.texel.xyz.part"} {
		path := filepath.Join(c.dir, name)
		require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
		require.NoError(t, os.Chtimes(path, old, old))
	}
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, ".texel-456"), nil, 0o600))
	c.evict("", cacheLimit)
	var left []string
	list, err := os.ReadDir(c.dir)
	require.NoError(t, err)
	for _, e := range list {
		left = append(left, e.Name())
	}
	require.ElementsMatch(t, []string{"a.texel", "a.texel.json", ".texel-456"}, left)
}

// TestACacheThatFailsCostsTimeOnly has an entry that was damaged, and one that cannot be written.
func TestACacheThatFailsCostsTimeOnly(t *testing.T) {
	x := newTool(t)
	cached := func() any {
		return decode(t, x.ok("bench", model("net"), "--rounds", "1", "--json"))["compile_cached"]
	}
	require.Equal(t, false, cached())
	list, err := filepath.Glob(filepath.Join(x.cache, "texel", "models", "*.texel"))
	require.NoError(t, err)
	require.Len(t, list, 1)
	data, err := os.ReadFile(list[0])
	require.NoError(t, err)
	for _, damage := range [][]byte{nil, data[:len(data)/2], append(bytes.Clone(data), 0)} {
		require.NoError(t, os.WriteFile(list[0], damage, 0o600))
		require.Equal(t, false, cached())
		require.Equal(t, true, cached())
	}
	require.NoError(t, os.Remove(list[0]))
	require.NoError(t, os.MkdirAll(filepath.Join(list[0], "x"), 0o700))
	require.Equal(t, false, cached())
	require.Equal(t, false, cached())
}

// TestCacheKnowsNoFormats has a copy of a model that is in the cache, under the ending of a format that is not read.
func TestCacheKnowsNoFormats(t *testing.T) {
	x := newTool(t)
	data, err := os.ReadFile(model("net"))
	require.NoError(t, err)
	dir := t.TempDir()
	for _, name := range []string{"net.onnx", "net.tflite"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	x.ok("bench", filepath.Join(dir, "net.onnx"), "--rounds", "1")
	x.refused(4, "tflite models are not read yet", "bench", filepath.Join(dir, "net.tflite"), "--rounds", "1")
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestResultsThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"targets"}, {"targets", "--json"}, {"version"}, {"import", model("net")}} {
		var err bytes.Buffer
		a := &app{in: strings.NewReader(""), out: fullDisk{}, err: &err, env: func(string) string { return "" }}
		require.Equal(t, 3, a.run(context.Background(), args), "%v", args)
		require.Contains(t, err.String(), "standard output: cannot be written")
	}
}

// TestAReportSaysWhatDidNotRun has layers that were compared and layers that were not.
func TestAReportSaysWhatDidNotRun(t *testing.T) {
	ran, idle := texel.LayerReport{Name: "a", Runs: 5, Compared: 4}, texel.LayerReport{Name: "b"}
	for want, layers := range map[string][]texel.LayerReport{
		`1 layers, 0 outside their bound; .* σ\n$`:                     {ran},
		`1 layers, 0 outside their bound; .* σ; 2 more did not run\n$`: {idle, ran, idle},
		`no layer was compared: none of the 1 ran with these inputs`:   {idle},
	} {
		var out bytes.Buffer
		require.NoError(t, (&app{out: &out}).printReport(&texel.Report{Layers: layers}, false))
		require.Regexp(t, want, out.String())
	}
}

func TestCheck(t *testing.T) {
	x := newTool(t)
	out := x.ok("check", model("net"))
	require.Regexp(t, `[0-9]+ layers, 0 outside their bound`, out)
	v := decode(t, x.ok("check", model("mlp"), "--json", "--seed", "3"))
	require.NotEmpty(t, v["layers"])
	dir := t.TempDir()
	data, err := os.ReadFile(model("mlp"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.onnx"), data, 0o644))
	x.ok("check", filepath.Join(dir, "m.onnx"), "--certify")
	text, err := os.ReadFile(filepath.Join(dir, "m.cert.json"))
	require.NoError(t, err)
	require.NotEmpty(t, decode(t, string(text))["layers"])
}

func TestExplainAModel(t *testing.T) {
	x := newTool(t)
	out := x.ok("explain", model("relu"))
	require.Contains(t, out, "taken as a batch of 1")
	require.Regexp(t, `(?m)^chose: assign: .*, [0-9.]+ µs$`, x.ok("explain", model("net")))
	x.refused(4, "not in this version", "explain", model("relu"), "--html", "x.html")
}

func TestCompileWritesDumps(t *testing.T) {
	x := newTool(t)
	dir := t.TempDir()
	x.refused(4, "spirv is not in this version", "compile", model("mlp"), "--emit", "spirv="+dir)
	x.refused(2, "no target is compiled through it", "compile", model("mlp"), "--emit", "opencl="+dir)
	x.refused(2, "no target is compiled through it", "compile", model("mlp"), "--target", "pocl", "--emit", "asm="+dir)
	require.Empty(t, x.ok("compile", model("mlp"), "--emit", "relay,tir,llvm,asm="+dir))
	found := map[string]bool{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		found[filepath.Ext(path)] = true
		return err
	}))
	for _, end := range []string{".relay", ".tir", ".ll", ".s"} {
		require.True(t, found[end], end)
	}
	require.False(t, found[".trace"])
	x.refused(3, "cannot be written", "compile", model("mlp"), "-o", filepath.Join(dir, "a.texel"), "--dump", "/proc/nowhere")
	x.refused(3, "not written", "compile", model("mlp"), "-o", filepath.Join(dir, "none", "a.texel"))
}

func TestConformance(t *testing.T) {
	x := newTool(t)
	relu, text := read(t, model("relu")), read(t, model("string"))
	dir := corpus(t, map[string][]byte{
		"a_right/model.onnx": relu, "a_right/input_0.npy": floats(-1, 2, 3), "a_right/output_0.npy": floats(0, 2, 3),
		"b_wrong/model.onnx": relu, "b_wrong/input_0.npy": floats(-1, 2, 3), "b_wrong/output_0.npy": floats(0, 2, 4),
		"c_refused/model.onnx": relu[:40], "c_refused/case.json": []byte(`{"expect": "error"}`), "c_refused/input_0.npy": floats(1, 2, 3),
		"d_accepted/model.onnx": relu, "d_accepted/case.json": []byte(`{"expect": "error"}`), "d_accepted/input_0.npy": floats(1, 2, 3),
		"d_accepted/output_0.npy": floats(1, 2, 3),
		"e_string/model.onnx":     text,
		"f_near/model.onnx":       relu, "f_near/case.json": []byte(`{"rtol": 0.1}`), "f_near/input_0.npy": floats(1, 2, 3), "f_near/output_0.npy": floats(1, 2, 3.2),
	})
	code, out, _ := x.run("conformance", dir)
	require.Equal(t, 5, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Equal(t, "a_right: pass", lines[0])
	require.Regexp(t, `^b_wrong: fail: .*the worst at \[0 2\]: 3, wanted 4`, lines[1])
	require.Equal(t, "c_refused: pass", lines[2])
	require.Regexp(t, `^d_accepted: fail: gave a result`, lines[3])
	require.Regexp(t, `^e_string: unsupported: .*string`, lines[4])
	require.Equal(t, "f_near: pass", lines[5])
	require.Equal(t, "3 passed, 2 failed, 1 unsupported", lines[len(lines)-1])

	require.Contains(t, x.ok("conformance", dir, "--match", "^(a|e)_"), "1 passed, 0 failed, 1 unsupported")
	code, _, complaint := x.run("conformance", dir, "--match", "no such case")
	require.Equal(t, 3, code, "a filter that leaves nothing is no success")
	require.Contains(t, complaint, "none of its 6 cases")
	v := decode(t, x.ok("conformance", dir, "--match", "^a_", "--json"))
	require.Equal(t, 1.0, v["passed"])
	require.Equal(t, 1.0, v["cases"].([]any)[0].(map[string]any)["launches"])
}

func TestConformanceScopesAndValueInputs(t *testing.T) {
	x := newTool(t)
	index := `{"tests": [{"name": "reshape", "scope": "core", "value_inputs": [1]}, {"name": "string", "scope": "out"}]}`
	six := npy.Bytes(tensor.Of[float32](tensor.Float32, tensor.Shape{2, 6}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12))
	dir := corpus(t, map[string][]byte{
		"index.json": []byte(index), "reshape/model.onnx": read(t, model("reshape")), "string/model.onnx": read(t, model("string")),
		"reshape/test_data_set_0/input_0.npy":  six,
		"reshape/test_data_set_0/input_1.npy":  npy.Bytes(tensor.Of[int64](tensor.Int64, tensor.Shape{2}, 3, 4)),
		"reshape/test_data_set_0/output_0.npy": npy.Bytes(tensor.Of[float32](tensor.Float32, tensor.Shape{3, 4}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)),
	})
	out := x.ok("conformance", dir, "--scope", "core")
	require.Contains(t, out, "inputs bound at compile time in 1 cases")
	require.Contains(t, out, "1 passed, 0 failed, 0 unsupported")
	code, _, _ := x.run("conformance", dir, "--scope", "core,out")
	require.Equal(t, 4, code)
	require.Contains(t, x.ok("conformance", dir), "1 passed, 0 failed, 1 unsupported")
}

func TestConformanceFeedsStepByStep(t *testing.T) {
	x := newTool(t)
	list := func(v ...float32) []byte {
		return npy.Bytes(tensor.Of[float32](tensor.Float32, tensor.Shape{len(v)}, v...))
	}
	dir := corpus(t, map[string][]byte{ // the model takes (2,)
		"s/model.onnx": read(t, model("constant")), "s/input_0.npy": list(-1, 2, 3, -4), "s/output_1.npy": list(0, 2, 3, 0),
	})
	require.Contains(t, x.ok("conformance", dir), "1 passed")
}

func TestAWorkerThatDiesCostsOneCase(t *testing.T) {
	w := &worker{app: &app{}}
	defer w.stop()
	require.NoError(t, w.start())
	require.NoError(t, w.cmd.Process.Kill())
	r := w.ask(t.Context(), &request{Case: &testCase{Name: "x"}, OptLevel: "3"})
	require.Equal(t, "fail", r.Status)
	require.Regexp(t, regexp.MustCompile(`crashed|ended`), r.Why)
	r = w.ask(t.Context(), &request{Case: &testCase{Name: "x", Expect: "output", Problem: "no model"}, OptLevel: "3"})
	require.Contains(t, r.Why, "no model", "a new one is there")
}
