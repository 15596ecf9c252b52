package relaytext_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/params"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/tensor"
)

// write writes a file into a new folder and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func writeArrays(t *testing.T, path string, arrays []npy.Named) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, npy.WriteArchive(&b, arrays))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

func writeParams(t *testing.T, path string, list ...params.Param) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, params.Write(&b, list))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// constantsOfEveryType is a module with a constant of each element type, one of them a default.
func constantsOfEveryType(t *testing.T) *relay.Module {
	var fields []relay.Expr
	for _, d := range tensor.DTypes() {
		v := tensor.New(d, tensor.Shape{3})
		for i := range v.Data {
			v.Data[i] = byte(i + 1)
		}
		if d == tensor.Bool {
			v.Data[0], v.Data[1], v.Data[2] = 1, 0, 1
		}
		fields = append(fields, relay.NewConstant(v, "c."+d.String(), diag.Pos{}))
	}
	x := relay.NewVar("x", &relay.TensorType{Shape: tensor.Shape{2}, DType: tensor.Float32}, diag.Pos{})
	fields = append(fields, x, relay.NewConstant(tensor.Of(tensor.Int8, tensor.Shape{}, int8(3)), "", diag.Pos{}))
	m := moduleOf(relay.NewTuple(fields, diag.Pos{}), x)
	m.Outputs = nil
	for i := range fields {
		m.Outputs = append(m.Outputs, "y"+itoa(i))
	}
	m.Defaults = map[string]*tensor.Tensor{"x": tensor.Of(tensor.Float32, tensor.Shape{2}, float32(1), 2)}
	require.NoError(t, relay.Verify(m))
	return m
}

func TestFilesAreImported(t *testing.T) {
	m := constantsOfEveryType(t)
	path := write(t, "m.relay", relay.Print(m))
	writeArrays(t, path+".npz", relaytext.Arrays(m))
	again, err := relaytext.Import(context.Background(), path, relaytext.Options{})
	require.NoError(t, err)
	require.NoError(t, relay.Compare(m, again))

	again, err = relaytext.Import(context.Background(), path, relaytext.Options{FreezeDefaults: true})
	require.NoError(t, err)
	require.Empty(t, again.Main().Params)
	require.Empty(t, again.Defaults)

	require.NoError(t, os.Remove(path+".npz"))
	_, err = relaytext.Import(context.Background(), path, relaytext.Options{})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, `the data of "c.float32", float32 of shape (3,), is not here`)
}

func TestRandomModulesAreImported(t *testing.T) {
	for seed := range uint64(20) {
		m := relaygen.Module(relay.Core(), relaygen.Seeded(seed), relaygen.Options{})
		path := write(t, "m.relay", relay.Print(m))
		writeArrays(t, path+".npz", relaytext.Arrays(m))
		again, err := relaytext.Import(context.Background(), path, relaytext.Options{})
		require.NoError(t, err)
		require.NoError(t, relay.Compare(m, again))
	}
}

func TestParametersBesideAreBound(t *testing.T) {
	const text = "def @main(%data: Tensor[(2), float32], %conv.weight: Tensor[(2), float32], %v0.bias: Tensor[(2), float32], %a_b: Tensor[(2), float32]) {\n" +
		"  %data + %conv.weight + %v0.bias + %a_b\n}\n"
	p := func(name string, v float32) params.Param {
		return params.Param{Name: name, Value: tensor.Of(tensor.Float32, tensor.Shape{2}, v, v)}
	}
	for _, beside := range []string{"m.params", "m.relay.params"} {
		path := write(t, "m.relay", text)
		writeParams(t, filepath.Join(filepath.Dir(path), beside), p("conv.weight", 1), p("0.bias", 2), p("a:b", 3), p("unused", 4))
		notes := &diag.Notes{}
		m, err := relaytext.Import(context.Background(), path, relaytext.Options{Notes: notes})
		require.NoError(t, err)
		require.Len(t, m.Main().Params, 1)
		require.Equal(t, "data", m.Main().Params[0].Name)
		require.Equal(t, "default: relaytext: unused: a parameter that no input of main is named as is passed over", notes.List()[0].String())
		var values []float32
		for e := range relay.PostOrder(m.Main(), false) {
			if c, ok := e.(*relay.Constant); ok {
				values = append(values, tensor.View[float32](c.Value)[0])
			}
		}
		require.Equal(t, []float32{1, 2, 3}, values)
	}
	path := write(t, "m.relay", text)
	writeParams(t, path+".params", params.Param{Name: "data", Value: tensor.New(tensor.Float32, tensor.Shape{3})})
	_, err := relaytext.Import(context.Background(), path, relaytext.Options{})
	require.ErrorContains(t, err, "%data: a value of float32 of shape (3,) is given for Tensor[(2,), float32]")
}

func TestInputsAreRead(t *testing.T) {
	const text = `#[version = "0.0.5"]
def @f(%y: float32) { broken(%y) }
def @main(%a: Tensor[(?, 3), float32], %w: Tensor[(2), int8], %input_0: bool, %t: (float32, float32)) { alsobroken(%a) }
#[metadata]
{"inputs": ["a", "w", "input:0"], "defaults": [{"name": "input:0", "dtype": "bool", "shape": [], "sha256": "ab"}]}`
	path := write(t, "m.relay", text)
	writeArrays(t, path+".npz", nil)
	writeParams(t, path+".params", params.Param{Name: "w", Value: tensor.New(tensor.Int8, tensor.Shape{2})})
	require.Equal(t, []string{path + ".npz", path + ".params"}, relaytext.Files(path))
	inputs, err := relaytext.ReadInputs(path)
	require.NoError(t, err)
	require.Equal(t, []relaytext.Input{
		{Name: "a", DType: tensor.Float32, Shape: tensor.Shape{tensor.Unknown, 3}}, {Name: "input:0", DType: tensor.Bool, Shape: tensor.Shape{}, Default: true},
	}, inputs)

	path = write(t, "m.relay", "free_var %x: float32; exp(%x)")
	require.Empty(t, relaytext.Files(path))
	inputs, err = relaytext.ReadInputs(path)
	require.NoError(t, err)
	require.Equal(t, []relaytext.Input{{Name: "x", DType: tensor.Float32, Shape: tensor.Shape{}}}, inputs)
	for text, want := range map[string]string{
		"def @main(%x: float32": `m.relay:1:22: relaytext: wanted ")", "[" or ",", found the end of the text`,
		"exp(%x)":               "m.relay:1:5: relaytext: %x: the name is not bound here",
		"def @f() { 1f }":       "no function is named @main",
	} {
		_, err = relaytext.ReadInputs(write(t, "m.relay", text))
		require.ErrorContains(t, err, want)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	text := "def @main() { meta[relay.Constant][0] }\n#[metadata]\n" +
		`{"relay.Constant": [{"dtype": "bfloat16", "shape": [2], "sha256": "ab"}]}`
	beside := func(end, data string) string {
		path := write(t, "m.relay", text)
		require.NoError(t, os.WriteFile(path+end, []byte(data), 0o644))
		return path
	}
	archive := func(v *tensor.Tensor) string {
		path := write(t, "m.relay", text)
		writeArrays(t, path+".npz", []npy.Named{{Name: "ab", Tensor: v}})
		return path
	}
	for want, path := range map[string]string{
		"cannot read the model":       filepath.Join(t.TempDir(), "none.relay"),
		"is not a regular file":       t.TempDir(),
		"cannot read the archive":     beside(".npz", "PK"),
		"it is no list of parameters": beside(".params", "PK567890"),
		"the data has the SHA-256":    archive(tensor.New(tensor.Uint8, tensor.Shape{4})),
		"needs 4 bytes, found 12":     archive(tensor.New(tensor.Float32, tensor.Shape{3})),
	} {
		_, err := relaytext.Import(context.Background(), path, relaytext.Options{})
		require.ErrorIs(t, err, diag.ErrInvalid, want)
		require.ErrorContains(t, err, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := relaytext.Import(ctx, write(t, "m.relay", "1f"), relaytext.Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// The canonical form needs no data, keeps the digests, and is its own canonical form.
func TestFormat(t *testing.T) {
	m := constantsOfEveryType(t)
	text := relay.Print(m)
	got, err := relaytext.Format("m.relay", text)
	require.NoError(t, err)
	require.Equal(t, text, got)
	for seed := range uint64(30) {
		text := relay.Print(relaygen.Module(relay.Core(), relaygen.Seeded(seed), relaygen.Options{Control: true}))
		got, err := relaytext.Format("m.relay", text)
		require.NoError(t, err, text)
		require.Equal(t, text, got)
	}
	for _, s := range golden.Sections(t, filepath.Join("testdata", "operators.txtar")) {
		if !strings.HasPrefix(s.Name, "in ") {
			continue
		}
		once, err := relaytext.Format("m.relay", s.Text)
		require.NoError(t, err, s.Name)
		again, err := relaytext.Format("m.relay", once)
		require.NoError(t, err, s.Name)
		require.Equal(t, once, again, s.Name)
	}
}

func TestFormatKeepsCommentsAtTheTop(t *testing.T) {
	got, err := relaytext.Format("m.relay", "// by hand\n#[version = \"0.0.5\"]\n/* two\n   lines */ // and one\ndef @main(%x: float32 /* ty=float32 */) { exp(%x) /* span=a:1:2 */ }")
	require.NoError(t, err)
	require.Equal(t, `// by hand
/* two
   lines */
// and one
#[version = "0.0.5"]
def @main(%x: Tensor[(), float32]) -> Tensor[(), float32] {
  exp(%x) /* ty=Tensor[(), float32] */
}
#[metadata]
{
  "outputs": ["output"]
}
`, got)
	again, err := relaytext.Format("m.relay", got)
	require.NoError(t, err)
	require.Equal(t, got, again)
}

func TestWhatHasNoCanonicalForm(t *testing.T) {
	weight := tensor.Of(tensor.Float32, tensor.Shape{1}, float32(1))
	var b bytes.Buffer
	require.NoError(t, params.WriteArray(&b, "w", weight))
	older := "def @main() { meta[relay.Constant][0] }\n#[metadata]\n" +
		`{"root": 0, "nodes": [{"type_key": "Map", "keys": ["relay.Constant"], "data": [1]}, {"type_key": "Array", "data": [2]}, ` +
		`{"type_key": "relay.Constant", "attrs": {"data": "0"}}], "b64ndarrays": ["` + base64.StdEncoding.EncodeToString(b.Bytes()) + `"]}`
	for text, want := range map[string]string{
		"def @main(%x: float32) {\n  // why\n  exp(%x)\n}": `m.relay:2:3: relaytext: comment: "// why" has no place in the canonical text`,
		"def @main(%x: float32) { exp(%x) }\n/* end */":    `m.relay:2:1: relaytext: comment: "/* end */" has no place in the canonical text`,
		older:                                "m.relay:2:1: relaytext: metadata: the weights stand in the text; import writes them beside it",
		"def @main(%x: float32) { exp(%y) }": "m.relay:1:30: relaytext: %y: the name is not bound here",
		"def @main() { trilu(ones(shape=[2, 2], dtype=\"int8\"), meta[relay.Constant][0]) }\n#[metadata]\n" + `{"relay.Constant": [{"dtype": "int8", "shape": [], "sha256": "ab"}]}`: "m.relay:1:15: relaytext: trilu: the diagonal is a constant whose data is not here",
	} {
		_, err := relaytext.Format("m.relay", text)
		require.ErrorContains(t, err, want)
		refused(t, err)
	}
}
