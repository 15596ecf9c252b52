package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/codegen/llvm"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/tensor"
)

// commandVariable makes the test program be the command.
const commandVariable = "TEXEL_TEST_COMMAND"

// TestMain lets the test program be a worker of the conformance command, or the command.
func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		main()
	}
	if os.Getenv(workerVariable) != "" {
		a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv}
		os.Exit(a.run(context.Background(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

const fixtures = "../../testdata"

// tool runs command lines with a cache of their own.
type tool struct {
	t     *testing.T
	cache string
}

func newTool(t *testing.T) *tool { return &tool{t, t.TempDir()} }

func (x *tool) run(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &err, env: func(name string) string {
		if name == "XDG_CACHE_HOME" {
			return x.cache
		}
		return ""
	}}
	code = a.run(context.Background(), args)
	return code, out.String(), err.String()
}

// ok runs a command line that must succeed and returns what it printed.
func (x *tool) ok(args ...string) string {
	x.t.Helper()
	code, out, err := x.run(args...)
	require.Zero(x.t, code, "texel %v: %s", args, err)
	return out
}

// refused runs a command line that must fail with a code and a message.
func (x *tool) refused(code int, message string, args ...string) {
	x.t.Helper()
	got, _, err := x.run(args...)
	require.Equal(x.t, code, got, "texel %v: %s", args, err)
	require.Contains(x.t, err, message)
}

func model(name string) string { return filepath.Join(fixtures, "onnx", name+".onnx") }

func (x *tool) npy(name string, t *tensor.Tensor) string {
	path := filepath.Join(x.t.TempDir(), name)
	require.NoError(x.t, os.WriteFile(path, npy.Bytes(t), 0o644))
	return path
}

// TestTheInputIsNotWrittenOver gives a command the model that it reads as its output, by another name.
func TestTheInputIsNotWrittenOver(t *testing.T) {
	x := newTool(t)
	model, err := os.ReadFile("../../testdata/onnx/constant.onnx")
	require.NoError(t, err)
	path, link := filepath.Join(t.TempDir(), "m.onnx"), filepath.Join(t.TempDir(), "l.onnx")
	require.NoError(t, os.WriteFile(path, model, 0o644))
	require.NoError(t, os.Symlink(path, link))
	for _, command := range []string{"compile", "import", "opt"} {
		x.refused(2, "is the file that is read", command, path, "-o", link)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, model, after)
	}
}

func TestWrongUsage(t *testing.T) {
	x := newTool(t)
	for _, line := range []struct {
		message string
		args    []string
	}{
		{`unknown command "nonsense"`, []string{"nonsense"}},
		{"unknown flag: --bogus", []string{"compile", "--bogus", "m.onnx"}},
		{"texel compile wants a model, found 0 arguments", []string{"compile"}},
		{"texel compile wants -o ART", []string{"compile", "m.onnx"}},
		{"--opt-level is for compiling, and a.texel is compiled", []string{"run", "a.texel", "--opt-level", "1"}},
		{"--precision is for compiling", []string{"bench", "a.texel", "--precision", "float16"}},
		{"--dim is for compiling", []string{"explain", "a.texel", "--dim", "n=2"}},
		{"--dim wants name=extent", []string{"compile", "m.onnx", "-o", "a.texel", "--dim", "batch"}},
		{"--input-shape wants name=1,3,224,224", []string{"compile", "m.onnx", "-o", "a.texel", "--input-shape", "x=a,b"}},
		{"wanted 0, 1, 2 or 3", []string{"compile", "m.onnx", "-o", "a.texel", "--opt-level", "7"}},
		{"--input-shape wants name=1,3,224,224", []string{"compile", "m.onnx", "-o", "a.texel", "--input-shape", "x"}},
		{"--jobs wants", []string{"compile", "m.onnx", "-o", "a.texel", "--jobs", "-1"}},
		{"--layout wants one of auto, NCHW", []string{"compile", "m.onnx", "-o", "a.texel", "--layout", "NCWH"}},
		{"--stop-after wants a graph pass", []string{"compile", "m.onnx", "--stop-after", "nonsense"}},
		{"--threads wants 0 to 1024", []string{"bench", "a.texel", "--threads", "100000"}},
		{"--device wants", []string{"run", "a.texel", "--device", "opencl:first"}},
		{"--device wants", []string{"run", "a.texel", "--device", "cpu:1"}},
		{"precision: wanted float32, float16, bfloat16 or mixed, found \"float8\"", []string{"compile", "m.onnx", "-o", "a.texel", "--precision", "float8"}},
		{"--precision float16 goes with --opt-level 3 only", []string{"compile", "m.onnx", "-o", "a.texel", "--precision", "float16", "--opt-level", "2"}},
		{"--keep-float32 goes with --precision", []string{"compile", "m.onnx", "-o", "a.texel", "--keep-float32", "head"}},
		{"is no regular expression", []string{"compile", "m.onnx", "-o", "a.texel", "--precision", "mixed", "--keep-float32", "("}},
		{"--device wants", []string{"run", "a.texel", "--device", "tpu"}},
		{"--threads wants", []string{"bench", "a.texel", "--threads", "-1"}},
		{"--input wants .npy", []string{"run", "a.texel", "--input", "x=notes.txt"}},
		{"wanted one of [center none]", []string{"run", "a.texel", "--crop", "left"}},
		{"--rounds wants", []string{"bench", "a.texel", "--rounds", "-5"}},
		{"--match", []string{"conformance", fixtures, "--match", "("}},
		{"cache wants list", []string{"cache", "shake"}},
		{"--emit wants", []string{"compile", "m.onnx", "-o", "a.texel", "--emit", "llvm"}},
	} {
		x.refused(2, line.message, line.args...)
	}
}

func TestWhatIsNotInThisVersion(t *testing.T) {
	x := newTool(t)
	for name := range notBuilt {
		x.refused(4, name+": this command is not in version", name, "--any", "flag")
	}
	for _, args := range [][]string{
		{"run", "a.texel", "--device", "vulkan:0"},
		{"compile", "m.onnx", "-o", "a.texel", "--layout", "NCHW4c"}, {"compile", "m.onnx", "-o", "a.texel", "--fast-run"},
		{"import", "m.tflite"}, {"cache", "bake"}, {"verify", "a.texel", "--require-signature", "k"},
		{"import", model("string")}, {"import", model("reshape")},
	} {
		code, _, err := x.run(args...)
		require.Equal(t, 4, code, "texel %v: %s", args, err)
	}
}

func TestImport(t *testing.T) {
	x := newTool(t)
	require.Contains(t, x.ok("import", model("mlp")), "nn.dense")
	require.Contains(t, x.ok("import", model("relu"), "--dim", "batch=5"), "Tensor[(5, 3), float32]")
	path := filepath.Join(t.TempDir(), "x.relay")
	require.Empty(t, x.ok("import", model("mlp"), "-o", path))
	arrays, err := npy.ReadArchive(path + ".npz")
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, a := range arrays {
		require.Contains(t, string(text), a.Name)
	}
	require.Len(t, arrays, 4)
	var meta map[string]any
	text, err = os.ReadFile(path + ".json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &meta))
	require.Equal(t, []any{"y"}, meta["outputs"])
}

func TestBadModels(t *testing.T) {
	x := newTool(t)
	dir := t.TempDir()
	whole, err := os.ReadFile(model("net"))
	require.NoError(t, err)
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o644))
		return path
	}
	x.refused(3, "cannot read the model", "import", filepath.Join(dir, "none.onnx"))
	x.refused(3, "short.onnx", "import", write("short.onnx", whole[:len(whole)/2]))
	x.refused(3, "empty.onnx", "import", write("empty.onnx", nil))
	x.refused(3, "text.onnx", "import", write("text.onnx", []byte(strings.Repeat("not a model ", 50))))
	external, err := os.ReadFile(model("external"))
	require.NoError(t, err)
	x.refused(3, `"external.bin" does not exist`, "import", write("external.onnx", external))
	outside := bytes.ReplaceAll(external, []byte("external.bin"), []byte("../other.bin"))
	x.refused(3, "leaves the model's folder", "import", write("outside.onnx", outside))
	x.refused(3, "wanted a .onnx", "import", "model.pdf")
	x.refused(3, "names no input", "import", model("mlp"), "--input-shape", "nope=1,2")
	x.refused(3, "axis 0 was given as 7", "import", model("mlp"), "--input-shape", "x=7,20")
}

func TestErrorsArePrintable(t *testing.T) {
	require.Equal(t, "a\n\\x1b[31m \\xfffd é", printable("a\n\x1b[31m \xf3 é"))
}

func TestAMissingToolIsExitCode6(t *testing.T) {
	var errs bytes.Buffer
	a := &app{err: &errs}
	require.Equal(t, 6, a.fail(nil, diag.Missing("llvm", "llc-19", "LLVM 19 is needed; install it with: %s", llvm.Install)))
	require.Contains(t, errs.String(), "apt-get install llvm-19 lld-19")
}

func TestTargetsAndVersion(t *testing.T) {
	x := newTool(t)
	require.Contains(t, x.ok("targets"), "cortex-a76")
	var list []map[string]any
	require.NoError(t, json.Unmarshal([]byte(x.ok("targets", "--json")), &list))
	require.NotEmpty(t, list)
	require.Contains(t, x.ok("version"), "texel "+version)
	require.Contains(t, x.ok("version"), "\nopencl:", "the devices, or what is missing for them")
	x.refused(3, "nonsense", "compile", model("mlp"), "-o", filepath.Join(t.TempDir(), "a.texel"), "--target", "nonsense")
}

func TestStopAfterPrintsTheGraph(t *testing.T) {
	x := newTool(t)
	require.Contains(t, x.ok("compile", model("net"), "--stop-after", "infer-type"), "clip(")
	require.Contains(t, x.ok("compile", model("net"), "--stop-after", "fuse-ops"), "Primitive=1")
	x.refused(2, "--stop-after wants a graph pass", "compile", model("net"), "--stop-after", "nonsense")
}

func TestPanicsBecomeErrorsWithAReproducer(t *testing.T) {
	var out, errs bytes.Buffer
	t.Setenv("TMPDIR", t.TempDir())
	a := &app{in: strings.NewReader(""), out: &out, err: &errs, env: func(string) string { panic("on purpose") }}
	require.Equal(t, 70, a.run(context.Background(), []string{"cache", "list"}))
	require.Contains(t, errs.String(), "on purpose")
	_, path, ok := strings.Cut(strings.TrimSpace(errs.String()), "what is needed to see it again is in ")
	require.True(t, ok)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), `texel ["cache" "list"]`)
}
