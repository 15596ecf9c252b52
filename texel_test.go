package texel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/picture"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

const squeezenet = "testdata/squeezenet1.1"

func fixture(name string) string { return filepath.Join("testdata", "onnx", name+".onnx") }

// compiled compiles a model and returns the path of its artifact.
func compiled(t testing.TB, model string, o texel.Options) string {
	t.Helper()
	o.Verify = true
	c, err := texel.Compile(context.Background(), model, o)
	require.NoError(t, err)
	defer c.Close()
	path := filepath.Join(t.TempDir(), "model.texel")
	require.NoError(t, c.WriteFile(path))
	return path
}

func load(t testing.TB, path string, o texel.LoadOptions) *texel.Model {
	t.Helper()
	m, err := texel.Load(path, o)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

func floats(shape tensor.Shape, v ...float32) *tensor.Tensor {
	return tensor.Of[float32](tensor.Float32, shape, v...)
}

func TestSqueezenetKnowsThePictures(t *testing.T) {
	m := load(t, compiled(t, squeezenet+"/model.onnx", texel.Options{}), texel.LoadOptions{})
	f, err := os.Open(squeezenet + "/labels.txt")
	require.NoError(t, err)
	defer f.Close()
	var labels []string
	for s := bufio.NewScanner(f); s.Scan(); {
		labels = append(labels, s.Text())
	}
	classify := func(file string) map[string]float32 {
		in := m.Inputs()[0]
		x, err := picture.ReadFile(filepath.Join(squeezenet, file), in.DType, in.Shape,
			picture.Options{Crop: "center", Channels: "bgr", Mean: []float32{104, 117, 123}})
		require.NoError(t, err)
		out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"image": x})
		require.NoError(t, err)
		all := map[string]float32{}
		for i, p := range tensor.View[float32](out["probabilities"]) {
			all[labels[i]] = p
		}
		return all
	}
	require.GreaterOrEqual(t, classify("picture.png")["espresso"], float32(0.9))
	cat := classify("cat.png")
	require.GreaterOrEqual(t, cat["Egyptian cat"]+cat["tabby, tabby cat"]+cat["tiger cat"], float32(0.9))
}

// TestEveryLevelIsRight holds every layer of the fixtures against the float64 evaluator, at every level.
func TestEveryLevelIsRight(t *testing.T) {
	for _, name := range []string{"relu", "mlp", "net", "nms", "external", "default", "constant", "narrow"} {
		for level := texel.Opt0; level <= texel.Opt3; level++ {
			c, err := texel.Compile(context.Background(), fixture(name), texel.Options{OptLevel: level, Verify: true})
			require.NoError(t, err, "%s at %d", name, level.Number())
			r, err := c.Check(context.Background(), texel.CheckOptions{Seed: 7})
			require.NoError(t, err, "%s at %d", name, level.Number())
			require.NoError(t, r.Err(), "%s at %d\n%v", name, level.Number(), r)
			require.NotEmpty(t, r.Outputs)
			require.NoError(t, c.Close())
		}
	}
}

func TestSameInputsSameBytes(t *testing.T) {
	read := func(o texel.Options) []byte {
		data, err := os.ReadFile(compiled(t, fixture("net"), o))
		require.NoError(t, err)
		return data
	}
	first := read(texel.Options{Targets: []string{"x86-64-v3", "cortex-a76"}})
	old := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(old)
	require.True(t, bytes.Equal(first, read(texel.Options{Targets: []string{"x86-64-v3", "cortex-a76"}, Workers: 1})))
}

func TestALadderTakesWhatRunsHere(t *testing.T) {
	path := compiled(t, fixture("mlp"), texel.Options{Targets: []string{"cortex-x1", "x86-64-v3", "neoverse-n1", "x86-64-v4", "cortex-a55"}})
	f, err := artifact.Open(path, artifact.OpenOptions{})
	require.NoError(t, err)
	defer f.Close()
	require.Len(t, f.Manifest().Variants, 5)
	require.Less(t, len(f.Manifest().Segments), 25, "variants share weights")
	load(t, path, texel.LoadOptions{})

	other := "cortex-a76"
	if runtime.GOARCH == "arm64" {
		other = "x86-64-v3"
	}
	_, err = texel.Load(compiled(t, fixture("mlp"), texel.Options{Targets: []string{other}}), texel.LoadOptions{})
	require.ErrorIs(t, err, diag.ErrMissing)
}

func TestRunRefusesWrongInputs(t *testing.T) {
	m := load(t, compiled(t, fixture("mlp"), texel.Options{}), texel.LoadOptions{})
	for want, in := range map[string]map[string]*tensor.Tensor{
		"x: input is missing": {},
		"y: no such input":    {"y": tensor.New(tensor.Float32, tensor.Shape{2, 20})},
		"wanted float32 of shape (2, 20), found float32 of shape (20, 2)": {"x": tensor.New(tensor.Float32, tensor.Shape{20, 2})},
		"found int32 of shape (2, 20)":                                    {"x": tensor.New(tensor.Int32, tensor.Shape{2, 20})},
		"needs 160 bytes, found 4":                                        {"x": {DType: tensor.Float32, Shape: tensor.Shape{2, 20}, Data: make([]byte, 4)}},
	} {
		_, err := m.Run(context.Background(), in)
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
	_, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": tensor.New(tensor.Float32, tensor.Shape{2, 20})})
	require.NoError(t, err)
	require.NoError(t, m.Close())
	_, err = m.Run(context.Background(), nil)
	require.ErrorContains(t, err, "the model is closed")
}

func TestDefaultsMayBeLeftOut(t *testing.T) {
	m := load(t, compiled(t, fixture("default"), texel.Options{}), texel.LoadOptions{})
	run := func(in map[string]*tensor.Tensor) []float32 {
		out, err := m.Run(context.Background(), in)
		require.NoError(t, err)
		return tensor.View[float32](out["y"])
	}
	x := floats(tensor.Shape{3}, 10, 20, 30)
	require.Equal(t, []float32{11, 22, 33}, run(map[string]*tensor.Tensor{"x": x}))
	require.Equal(t, []float32{10, 20, 31}, run(map[string]*tensor.Tensor{"x": x, "b": floats(tensor.Shape{3}, 0, 0, 1)}))
	require.Equal(t, []float32{11, 22, 33}, run(map[string]*tensor.Tensor{"x": x}), "the default is back")

	frozen := load(t, compiled(t, fixture("default"), texel.Options{FreezeDefaults: true}), texel.LoadOptions{})
	require.Len(t, frozen.Inputs(), 1)
}

func TestOutputsAreCutToTheirExtent(t *testing.T) {
	m := load(t, compiled(t, fixture("nms"), texel.Options{}), texel.LoadOptions{})
	boxes := floats(tensor.Shape{1, 6, 4}, 0, 0, 1, 1, 0, 0, 1, 1.1, 2, 2, 3, 3, 2, 2, 3, 3.1, 5, 5, 6, 6, 7, 7, 8, 8)
	scores := floats(tensor.Shape{1, 2, 6}, 0.9, 0.8, 0.7, 0.95, 0, 0, 0, 0, 0, 0, 0, 0.5)
	out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"boxes": boxes, "scores": scores})
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{3, 3}, out["picked"].Shape)
	require.Equal(t, []int64{0, 0, 3, 0, 0, 0, 0, 1, 5}, tensor.View[int64](out["picked"]))
}

func TestValuesBindShapes(t *testing.T) {
	_, err := texel.Compile(context.Background(), fixture("reshape"), texel.Options{})
	require.ErrorIs(t, err, diag.ErrUnsupported)
	shape := tensor.Of[int64](tensor.Int64, tensor.Shape{2}, 4, -1)
	m := load(t, compiled(t, fixture("reshape"), texel.Options{Values: map[string]*tensor.Tensor{"shape": shape}}), texel.LoadOptions{})
	require.Equal(t, tensor.Shape{4, 3}, m.Outputs()[0].Shape)
}

func TestRunsSideBySide(t *testing.T) {
	m := load(t, compiled(t, fixture("net"), texel.Options{}), texel.LoadOptions{Threads: 2})
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			x := tensor.New(tensor.Float32, tensor.Shape{1, 3, 17, 15})
			for i, v := 0, tensor.View[float32](x); i < len(v); i++ {
				v[i] = float32(math.Sin(float64(g*1000 + i)))
			}
			var first []float32
			for range 20 {
				out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": x})
				if err != nil {
					t.Error(err)
					return
				}
				y := tensor.View[float32](out["y"])
				if first == nil {
					first = y
				}
				for i := range y {
					if y[i] != first[i] {
						t.Errorf("run differs at %d: %g and %g", i, y[i], first[i])
						return
					}
				}
			}
		})
	}
	wait.Wait()
}

func TestContextsAreHonoured(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	path := compiled(t, squeezenet+"/model.onnx", texel.Options{})
	cancel()
	_, err := texel.Compile(ctx, squeezenet+"/model.onnx", texel.Options{})
	require.ErrorIs(t, err, context.Canceled)
	m := load(t, path, texel.LoadOptions{})
	in := map[string]*tensor.Tensor{"image": tensor.New(tensor.Float32, tensor.Shape{1, 3, 227, 227})}
	_, err = m.Run(ctx, in)
	require.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = texel.Compile(ctx, squeezenet+"/model.onnx", texel.Options{Workers: 1})
	if err != nil {
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(start), time.Second)
	}
}

func TestDamagedArtifactsAreRefused(t *testing.T) {
	whole, err := os.ReadFile(compiled(t, fixture("mlp"), texel.Options{}))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "bad.texel")
	for at := 0; at < len(whole); at += 97 {
		bad := bytes.Clone(whole)
		bad[at] ^= 0x10
		require.NoError(t, os.WriteFile(path, bad, 0o644))
		_, err := texel.Load(path, texel.LoadOptions{})
		require.Error(t, err, "byte %d of %d changed", at, len(whole))
		require.True(t, diag.Exit(err) == 3 || diag.Exit(err) == 4, "byte %d: %v", at, err)
	}
	for _, size := range []int{0, 1, 100, len(whole) / 2, len(whole) - 1} {
		require.NoError(t, os.WriteFile(path, whole[:size], 0o644))
		_, err := texel.Load(path, texel.LoadOptions{})
		require.ErrorIs(t, err, diag.ErrInvalid)
	}
}

func TestWriteFileLeavesNothingBehindWhenItFails(t *testing.T) {
	c, err := texel.Compile(context.Background(), fixture("mlp"), texel.Options{})
	require.NoError(t, err)
	defer c.Close()
	dir := t.TempDir()
	target := filepath.Join(dir, "taken")
	require.NoError(t, os.MkdirAll(filepath.Join(target, "inside"), 0o755))
	require.ErrorIs(t, c.WriteFile(target), diag.ErrInvalid)
	require.ErrorIs(t, c.WriteFile(filepath.Join(dir, "none", "x.texel")), diag.ErrInvalid)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestNotesTellWhatWasDone(t *testing.T) {
	c, err := texel.Compile(context.Background(), fixture("relu"), texel.Options{})
	require.NoError(t, err)
	defer c.Close()
	var all []string
	for _, n := range c.Notes() {
		all = append(all, n.String())
	}
	require.Contains(t, strings.Join(all, "\n"), "taken as a batch of 1")
	require.Equal(t, c.Notes(), c.Plan().Notes)
}

func TestProgressAndDumps(t *testing.T) {
	var steps []string
	dumps := map[string]bool{}
	c, err := texel.Compile(context.Background(), fixture("mlp"), texel.Options{
		Progress: func(p texel.Progress) {
			if len(steps) == 0 || steps[len(steps)-1] != p.Step {
				steps = append(steps, p.Step)
			}
		},
		Dump: func(name string, text func() string) error {
			dumps[filepath.Ext(name)] = text() != ""
			return nil
		},
		Emit: []string{"llvm", "asm"},
	})
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, []string{"import", "graph", "lower", "plan", "generate"}, steps)
	require.Equal(t, map[string]bool{".relay": true, ".tir": true, ".trace": true, ".ll": true, ".s": true}, dumps)
}

func TestTheCertificateIsAFunctionOfTheModel(t *testing.T) {
	read := func(o texel.Options) map[string]any {
		f, err := artifact.Open(compiled(t, fixture("net"), o), artifact.OpenOptions{})
		require.NoError(t, err)
		defer f.Close()
		text, ok := f.Entry(artifact.CertificateEntry)
		require.True(t, ok)
		var c map[string]any
		require.NoError(t, json.Unmarshal(text, &c))
		return c
	}
	c := read(texel.Options{})
	layer := c["variants"].([]any)[0].(map[string]any)["layers"].([]any)[0].(map[string]any)
	require.Equal(t, 27.0, layer["reduction"])
	require.Greater(t, layer["gain"], 1.0)
	u := 0x1p-24
	require.InEpsilon(t, layer["gain"].(float64)*u*(4*(layer["steps"].(float64)+1)+2*math.Sqrt(27)), layer["bound"], 1e-9)
}

func TestAWeightThatIsNaNHasNoBound(t *testing.T) {
	data, err := os.ReadFile(fixture("mlp"))
	require.NoError(t, err)
	m, err := texel.Import(context.Background(), fixture("mlp"), texel.Options{}, nil)
	require.NoError(t, err)
	for e := range relay.PostOrder(m.Main(), false) {
		if k, ok := e.(*relay.Constant); ok && len(k.Value.Shape) == 2 {
			at := bytes.Index(data, k.Value.Data)
			require.Positive(t, at)
			binary.LittleEndian.PutUint32(data[at:], math.Float32bits(float32(math.NaN())))
		}
	}
	require.NoError(t, m.Close())
	path := filepath.Join(t.TempDir(), "nan.onnx")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	f, err := artifact.Open(compiled(t, path, texel.Options{}), artifact.OpenOptions{})
	require.NoError(t, err)
	defer f.Close()
	text, _ := f.Entry(artifact.CertificateEntry)
	require.Contains(t, string(text), `"gain":0,"bound":0,"unbounded":true`)
}

func TestWhatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.texel")
	c, err := texel.Compile(context.Background(), fixture("mlp"), texel.Options{})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.WriteFile(path), diag.ErrInvalid) // its weights are unmapped
	c, err = texel.Compile(context.Background(), fixture("mlp"), texel.Options{StopAfter: "infer-type"})
	require.NoError(t, err)
	defer c.Close()
	require.Nil(t, c.Plan())
	require.ErrorIs(t, c.WriteFile(path), diag.ErrInvalid)
	require.NoFileExists(t, path)
	for _, v := range []*tensor.Tensor{nil, {}, {DType: tensor.Float32, Shape: tensor.Shape{3}}, {DType: tensor.Float32, Shape: tensor.Shape{-1}}} {
		_, err := texel.Compile(context.Background(), fixture("mlp"), texel.Options{Values: map[string]*tensor.Tensor{"x": v}})
		require.ErrorIs(t, err, diag.ErrInvalid)
	}
}

func TestKeepIR(t *testing.T) {
	f, err := artifact.Open(compiled(t, fixture("mlp"), texel.Options{KeepIR: true}), artifact.OpenOptions{})
	require.NoError(t, err)
	defer f.Close()
	p, err := f.Plan(0)
	require.NoError(t, err)
	for _, k := range p.Kernels {
		text, ok := f.Entry("ir/0/" + k.Name + ".tir")
		require.True(t, ok, k.Name)
		require.Contains(t, string(text), "kernel "+k.Name)
	}
	_, ok := f.Entry(artifact.ModelEntry)
	require.True(t, ok)
}

// TestTheReadmeShowsTheExample holds the program of the README against the one that is tested.
func TestTheReadmeShowsTheExample(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	example, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(page), "```go\n")
	require.True(t, ok)
	program, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	for _, line := range strings.Split(strings.TrimSpace(program), "\n") {
		require.Contains(t, string(example), "\t"+line+"\n")
	}
}
