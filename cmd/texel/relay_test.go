package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/relay/params"
	"github.com/texel-ml/texel/tensor"
)

const relayModels = "../../relay/relaytext/testdata/models"

// scaled is a model whose weight is a parameter, which a file beside it may bind.
const scaled = `#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3), float32], %w: Tensor[(3), float32]) -> Tensor[(1, 3), float32] {
  multiply(%x, %w) /* ty=Tensor[(1, 3), float32] span=scale:0:0 */
}
`

// plan is what inspect says of an artifact's only plan, without what was noted when it was made.
func (x *tool) plan(art string) map[string]any {
	plan := decode(x.t, x.ok("inspect", art, "--json"))["plans"].([]any)[0].(map[string]any)
	delete(plan, "notes")
	return plan
}

// A model that is written as Relay text and read again is the same model: its text, and each bit of its results.
func TestImportedTextIsTheModel(t *testing.T) {
	x := newTool(t)
	dir := t.TempDir()
	for _, name := range []string{"net", "nms", "walk", "default", "narrow"} {
		first, second := filepath.Join(dir, name+".relay"), filepath.Join(dir, name+".2.relay")
		require.Empty(t, x.ok("import", model(name), "-o", first))
		require.Empty(t, x.ok("import", first, "-o", second))
		for _, end := range []string{"", ".npz", ".json"} {
			require.Equal(t, string(read(t, first+end)), string(read(t, second+end)), name+end)
		}
		require.Equal(t, string(read(t, first)), x.ok("fmt", first))
		art, again := filepath.Join(dir, name+".texel"), filepath.Join(dir, name+".2.texel")
		x.ok("compile", model(name), "-o", art)
		x.ok("compile", first, "-o", again)
		require.Equal(t, x.plan(art), x.plan(again), name)
	}
	require.Contains(t, x.ok("check", filepath.Join(dir, "net.relay"), "--certify"), "0 outside their bound")
	require.FileExists(t, filepath.Join(dir, "net.cert.json"))
}

// parameters writes a file of parameters.
func (x *tool) parameters(path string, list ...params.Param) {
	var data bytes.Buffer
	require.NoError(x.t, params.Write(&data, list))
	require.NoError(x.t, os.WriteFile(path, data.Bytes(), 0o644))
}

func TestTextIsRunWithParametersBesideIt(t *testing.T) {
	x := newTool(t)
	path := x.file("m.relay", scaled)
	input := x.npy("x.npy", tensor.Of[float32](tensor.Float32, tensor.Shape{1, 3}, 1, 2, 3))
	weight := tensor.Of[float32](tensor.Float32, tensor.Shape{3}, 2, 3, 4)
	result := func(args ...string) []float32 {
		out := filepath.Join(t.TempDir(), "out.npz")
		x.ok(append(args, path, "--output", out)...)
		list, err := npy.ReadArchive(out)
		require.NoError(t, err)
		return tensor.View[float32](list[0].Tensor)
	}
	x.refused(3, "w: input is missing, the inputs are x, w", "run", path, "--input", "x="+input)
	require.Equal(t, []float32{2, 6, 12}, result("run", "--input", "x="+input, "--input", "w="+x.npy("w.npy", weight)))

	x.parameters(strings.TrimSuffix(path, ".relay")+".params", params.Param{Name: "w", Value: weight})
	require.Equal(t, []float32{2, 6, 12}, result("run", "--input", input), "the only input needs no name")
	require.Equal(t, []float32{2, 6, 12}, result("interp", "--input", input))
	require.Contains(t, x.ok("interp", path, "--seed", "3"), "drawn with seed 3: x")
	x.refused(3, `no input has this name; the inputs are x`, "run", path, "--input", "z="+input)
	x.refused(3, `%x: shape (3,) is given for Tensor[(1, 3), float32]`, "interp", path, "--input", x.npy("w.npy", weight))
	wide := tensor.Of[float64](tensor.Float64, tensor.Shape{1, 3}, 1, 2, 3)
	x.refused(3, `x: wanted Tensor[(1, 3), float32], found float64 of shape (1, 3)`, "interp", path, "--input", x.npy("x.npy", wide))
}

func TestTheCacheKnowsWhatLiesBesideText(t *testing.T) {
	x := newTool(t)
	path := x.file("m.relay", scaled)
	cached := func() any {
		return decode(t, x.ok("bench", path, "--rounds", "1", "--json"))["compile_cached"]
	}
	require.Equal(t, false, cached())
	require.Equal(t, true, cached())
	for _, v := range []float32{1, 2} {
		x.parameters(path+".params", params.Param{Name: "w", Value: tensor.Of(tensor.Float32, tensor.Shape{3}, v, v, v)})
		require.Equal(t, false, cached(), "other parameters")
		require.Equal(t, true, cached())
	}
}

func TestFormattingText(t *testing.T) {
	x := newTool(t)
	messy := x.file("m.relay", "// scales\n\ndef @main(%x: Tensor[(1,3), float32], %w: Tensor[(3,), float32]) {\n\n%0 = %x*%w/* span=scale:0:0 */; %0 }")
	canonical := "// scales\n" + strings.Replace(scaled, "Tensor[(3), ", "Tensor[(3,), ", 1)
	require.Equal(t, strings.Replace(canonical, " span=scale:0:0", "", 1)+"#[metadata]\n{\n  \"outputs\": [\"output\"]\n}\n", x.ok("fmt", messy))
	bad := x.file("bad.relay", "def @main(%x: float32) { exp(%x) }\n}")
	x.refused(3, `bad.relay:2:1: relaytext: wanted`, "fmt", "-w", messy, bad)
	require.Contains(t, string(read(t, messy)), "\n\n%0", "nothing is written when one is wrong")
	want := x.ok("fmt", messy)
	require.Empty(t, x.ok("fmt", "-w", messy))
	require.Equal(t, want, string(read(t, messy)))
	x.refused(4, `c.relay:1:37: relaytext: comment: "// sum" has no place in the canonical text`, "fmt", x.file("c.relay", "def @main(%x: float32) { add(%x, 1f // sum\n) }"))
}

func TestTextThatIsNoModel(t *testing.T) {
	x := newTool(t)
	loop := x.file("loop.relay", "def @main(%x: float32) { @f(%x) }\ndef @f(%x: float32) {\n  @f(%x)\n}")
	typo := x.file("typo.relay", "def @main(%x: float32) {\n  nn.rleu(%x)\n}")
	for _, command := range []string{"import", "check", "interp", "bench"} {
		x.refused(4, `loop.relay:3:3: relaytext: @f: the function calls itself`, command, loop)
		x.refused(4, `the operator is not known; did you mean nn.relu?`, command, typo)
		x.refused(3, "cannot read the model", command, filepath.Join(t.TempDir(), "none.relay"))
	}
	x.refused(3, `dimension "n" is given, but Relay text names no dimensions`, "import", typo, "--dim", "n=2")
	x.refused(2, "--races is for loop functions", "interp", typo, "--races")
	x.refused(2, "--input wants name=x.npy or IN.npz here", "interp", typo, "--input", "x="+squeezenet+"/cat.png")
}

func TestTextsAreCases(t *testing.T) {
	x := newTool(t)
	dir := corpus(t, map[string][]byte{
		"double/model.relay": []byte("def @main(%x: Tensor[(1, 3), float32]) { %x * 2f }"),
		"double/input_0.npy": floats(1, 2, 3), "double/output_0.npy": floats(2, 4, 6),
		"wrong/model.relay": []byte("def @main(%x: Tensor[(1, 3), float32]) { %x * 2f }"),
		"wrong/input_0.npy": floats(1, 2, 3), "wrong/output_0.npy": floats(2, 4, 7),
	})
	code, out, _ := x.run("conformance", dir)
	require.Equal(t, 5, code)
	require.Contains(t, out, "1 passed")
}

// Each model of the reader's own test is compiled, and each of its layers and results is right.
func TestTheReadersModelsAreRight(t *testing.T) {
	x := newTool(t)
	paths, err := filepath.Glob(relayModels + "/*.relay")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	ramp := func(n int) *tensor.Tensor {
		v := tensor.New(tensor.Float32, tensor.Shape{n})
		for i := range n {
			tensor.View[float32](v)[i] = 0.01 + float32(i)/100
		}
		return v
	}
	weights := tensor.New(tensor.Int8, tensor.Shape{8, 3, 3, 3})
	for i := range weights.Data {
		weights.Data[i] = byte(i%7 - 2)
	}
	given := map[string]map[string]*tensor.Tensor{ // scales and variances are positive, and integers are not drawn
		"mobilenet_block.relay": {"block.expand.bn.var": ramp(96)}, "quantized_block.relay": {"scales": ramp(8), "w": weights},
	}
	for _, path := range paths {
		args := []string{"check", path}
		for name, v := range given[filepath.Base(path)] {
			args = append(args, "--input", name+"="+x.npy("v.npy", v))
		}
		v := decode(t, x.ok(append(args, "--json")...))
		for _, output := range v["outputs"].([]any) {
			require.Positive(t, output.(map[string]any)["largest"], path)
		}
	}
}

// TestNothingIsComputed compiles a function that gives no tensor, which is legal.
func TestNothingIsComputed(t *testing.T) {
	x := newTool(t)
	art := filepath.Join(t.TempDir(), "m.texel")
	require.Contains(t, x.ok("compile", x.file("m.relay", "def @main() { () }"), "-o", art), "0 launches of 0 kernels")
	x.ok("run", art)
}
