package relaytext_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/relay/relaytext/grammar"
	"github.com/texel-ml/texel/tensor"
)

// The generated code is that of the grammar which is here.
func TestTheGeneratedCodeIsFresh(t *testing.T) {
	text, err := os.ReadFile("Relay.g4")
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	require.Equal(t, grammar.Digest, hex.EncodeToString(sum[:]), "run make grammar")
}

// file is a golden file with sections "in NAME", and one that the test makes for each.
func file(t *testing.T, name, made string, result func(name, text string) string) {
	path := filepath.Join("testdata", name)
	var sections []golden.Section
	for _, s := range golden.Sections(t, path) {
		if what, ok := strings.CutPrefix(s.Name, "in "); ok {
			sections = append(sections, golden.Section{Name: made + " " + what, Text: result(what, s.Text)})
		}
	}
	require.NotEmpty(t, sections)
	golden.Check(t, path, sections...)
}

func TestTheLanguage(t *testing.T) {
	file(t, "language.txtar", "out", func(name, text string) string {
		notes := &diag.Notes{}
		m, err := relaytext.Parse("in.relay", text, relaytext.Options{Notes: notes})
		if !assertNoError(t, err, name) {
			return ""
		}
		require.NoError(t, relay.VerifyOps(m, relay.Core()), name)
		comesBack(t, relay.Core(), m)
		out := relay.Print(m)
		for _, n := range notes.List() {
			out += n.String() + "\n"
		}
		return out
	})
}

func assertNoError(t *testing.T, err error, name string) bool {
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return err == nil
}

func TestErrors(t *testing.T) {
	file(t, "errors.txtar", "err", func(name, text string) string {
		_, err := relaytext.Parse("in.relay", text, relaytext.Options{})
		if err == nil {
			t.Errorf("%s: no error", name)
			return ""
		}
		refused(t, err)
		return err.Error()
	})
}

func TestOperatorsOfRelay(t *testing.T) {
	seen := map[string]bool{}
	file(t, "operators.txtar", "out", func(name, text string) string {
		m, err := relaytext.Parse("in.relay", text, relaytext.Options{})
		if !assertNoError(t, err, name) {
			return ""
		}
		require.NoError(t, relay.VerifyOps(m, relay.Core()), name)
		comesBack(t, relay.Core(), m)
		op, _, _ := strings.Cut(name, " ")
		require.Contains(t, text, op+"(")
		seen[op] = true
		out, _, _ := strings.Cut(relay.PrintFunction("main", m.Main()), "#[metadata]")
		return out
	})
	for _, name := range relaytext.Translated() {
		require.True(t, seen[name], "no section of operators.txtar shows %s", name)
	}
}

// refused wants errors of the user's text, each with its place.
func refused(t require.TestingT, err error) {
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		if _, one := err.(*diag.Error); !one {
			list = joined.Unwrap()
		}
	}
	last := diag.Pos{}
	for _, err := range list {
		var d *diag.Error
		require.True(t, errors.As(err, &d), "%v", err)
		require.True(t, d.Kind == diag.ErrInvalid || d.Kind == diag.ErrUnsupported, "%v", err)
		require.Positive(t, d.Pos.Line, "%v", err)
		require.Positive(t, d.Pos.Col, "%v", err)
		require.True(t, last.Line < d.Pos.Line || last.Line == d.Pos.Line && last.Col <= d.Pos.Col, "%v", err)
		last = d.Pos
	}
}

// What is nested too deeply to be meant is refused with its place, before the stack is spent.
func TestTooDeep(t *testing.T) {
	const head = "def @main(%x: float32) { "
	for name, text := range map[string]string{
		"parentheses": head + strings.Repeat("(", 100_000),
		"braces":      head + strings.Repeat("{", 100_000),
		"branches":    head + strings.Repeat("if (True) { ", 100_000),
		"calls":       head + strings.Repeat("exp(", 100_000),
		"functions":   head + strings.Repeat("fn () { ", 100_000),
		"matches":     head + strings.Repeat("match (%x) { _ => ", 100_000),
		"types":       "def @main(%x: " + strings.Repeat("fn () -> ", 100_000),
		"tuples":      "def @main(%x: " + strings.Repeat("(", 100_000),
		"patterns":    head + "match (%x) { " + strings.Repeat("(", 100_000),
		"values":      head + "sum(%x, axis=" + strings.Repeat("[", 100_000),
	} {
		_, err := relaytext.Parse("t", text, relaytext.Options{})
		require.ErrorIs(t, err, diag.ErrUnsupported, name)
		require.ErrorContains(t, err, "the text is nested deeper than 20000 rules", name)
		refused(t, err)
	}
	// Each function reads the next one, which stands behind it.
	var b strings.Builder
	b.WriteString("def @main(%x: float32) { @f0(%x) }\n")
	for i := range 10_000 {
		b.WriteString("def @f" + itoa(i) + "(%x: float32) { @f" + itoa(i+1) + "(%x) }\n")
	}
	b.WriteString("def @f10000(%x: float32) { %x }\n")
	_, err := relaytext.Parse("t", b.String(), relaytext.Options{})
	require.ErrorContains(t, err, "more than 200 functions that call each other are read within each other")
}

func itoa(i int) string { return relay.FormatAttr(i) }

func TestInputsAreBound(t *testing.T) {
	const text = "def @main(%x: Tensor[(?, 3, ?), float32], %w: Tensor[(3, 1), float32]) { add(%x, %w) }"
	w := tensor.Of(tensor.Float32, tensor.Shape{3, 1}, float32(1), 2, 3)
	notes := &diag.Notes{}
	m, err := relaytext.Parse("t", text, relaytext.Options{Shapes: map[string][]int{"x": {2, 3, 4}}, Values: map[string]*tensor.Tensor{"w": w}, Notes: notes})
	require.NoError(t, err)
	require.Empty(t, notes.List())
	require.Len(t, m.Main().Params, 1)
	require.Equal(t, "Tensor[(2, 3, 4), float32]", m.Main().Body.Type().String())
	c := m.Main().Body.(*relay.Call).Args[1].(*relay.Constant)
	require.Same(t, w, c.Value)
	require.Equal(t, "w", c.Name)
	for want, o := range map[string]relaytext.Options{
		`%x: axis 2 of Tensor[(?, 3, ?), float32] has no known extent; give the shape of input "x"`: {},
		`%x: shape (2, 3) is given for Tensor[(?, 3, ?), float32]`:                                  {Shapes: map[string][]int{"x": {2, 3}}},
		`%x: shape (2, 4, 4) is given for Tensor[(?, 3, ?), float32]`:                               {Shapes: map[string][]int{"x": {2, 4, 4}}},
		`%x: shape (?, 3, 4) is given for Tensor[(?, 3, ?), float32]`:                               {Shapes: map[string][]int{"x": {-1, 3, 4}}},
		`y: a shape is given, but no input has this name`:                                           {Shapes: map[string][]int{"x": {1, 3, 1}, "y": {1}}},
		`%w: a value of int32 of shape (3, 1) is given for Tensor[(3, 1), float32]`:                 {Shapes: map[string][]int{"x": {1, 3, 1}}, Values: map[string]*tensor.Tensor{"w": tensor.New(tensor.Int32, tensor.Shape{3, 1})}},
		`v: a value is given, but no input has this name`:                                           {Shapes: map[string][]int{"x": {1, 3, 1}}, Values: map[string]*tensor.Tensor{"v": w}},
	} {
		_, err := relaytext.Parse("t", text, o)
		require.ErrorContains(t, err, want)
		refused(t, err)
	}
}

func TestDataOfConstantsIsChecked(t *testing.T) {
	const text = `def @main() { meta[relay.Constant][0] }
#[metadata]
{"relay.Constant": [{"name": "w", "dtype": "float32", "shape": [2], "sha256": "ab"}]}`
	for want, f := range map[string]func(relay.ConstantInfo) (*tensor.Tensor, error){
		`the data of "w", float32 of shape (2,), is not here: nothing has the SHA-256 ab`: func(relay.ConstantInfo) (*tensor.Tensor, error) { return nil, nil },
		`the data cannot be read: no disk`:                                                func(relay.ConstantInfo) (*tensor.Tensor, error) { return nil, errors.New("no disk") },
		`the data is int32 of shape (2,), wanted float32 of shape (2,)`: func(i relay.ConstantInfo) (*tensor.Tensor, error) {
			return tensor.New(tensor.Int32, i.Shape), nil
		},
	} {
		_, err := relaytext.Parse("t", text, relaytext.Options{Constant: f})
		require.ErrorContains(t, err, "t:1:15: relaytext: meta[relay.Constant][0]: "+want)
	}
}

// A constant that is used twice is one node, as it was.
func TestConstantsAreShared(t *testing.T) {
	const text = `def @main() { (meta[relay.Constant][0], meta[relay.Constant][0]) }
#[metadata]
{"relay.Constant": [{"dtype": "float32", "shape": [2], "sha256": "ab"}]}`
	m, err := relaytext.Parse("t", text, relaytext.Options{Constant: func(i relay.ConstantInfo) (*tensor.Tensor, error) { return tensor.New(i.DType, i.Shape), nil }})
	require.NoError(t, err)
	fields := m.Main().Body.(*relay.Tuple).Fields
	require.Same(t, fields[0], fields[1])
}

// Nodes know where they stand.
func TestNodesHavePositions(t *testing.T) {
	m, err := relaytext.Parse("m.relay", "def @main(%x: float32) {\n  %0 = exp(\n    %x);\n  log(%0)\n}", relaytext.Options{})
	require.NoError(t, err)
	body := m.Main().Body.(*relay.Call)
	require.Equal(t, "m.relay:4:3", body.Pos().String())
	require.Equal(t, "m.relay:2:8", body.Args[0].Pos().String())
	require.Equal(t, "m.relay:1:11", m.Main().Params[0].Pos().String())
	require.Equal(t, "m.relay:1:1", m.Main().Pos().String())
}

// The comments that name nodes, as package relay and other tools write them.
func TestNodesAreNamed(t *testing.T) {
	m, err := relaytext.Parse("m.relay", `
def @main(%x: float32 /* ty=float32 span=x:0:0 */) {
  %0 = exp(%x) /* ty=float32 span=Exp_0:0:0 */;
  %1 = (%x,
    %0)   /* span=model/tf.tuple:0:0:0 */;
  %2 = (%1).1/* ty=float32 span=a:0:0, b:0:0 */;
  let %y = log(%1.0 /* span=field:0:0 */) /* span="a \x2a/ b:0:0":0:0 */;
  %3 = if (True) { sin(%y) /* ty=float32 span=from_string:4:5 */ } else { cos(%y) } /* span=choice:0:0 */;
  %4 = @f(%3) /* span=call:0:0 */;
  add(%4 + %2, %0) // span=none:0:0
}
def @f(%x: float32) { %x }`, relaytext.Options{})
	require.NoError(t, err)
	var names []string
	for e := range relay.PostOrder(m.Main().Body, false) {
		switch e.(type) {
		case *relay.Var, *relay.Constant, *relay.Function, *relay.Let:
		default:
			names = append(names, e.Pos().Node)
		}
	}
	require.Equal(t, []string{"Exp_0", "model/tf.tuple:0", "field", "a */ b:0:0", "", "", "choice", "call", "a", "", ""}, names)
	_, err = relaytext.Parse("m.relay", "def @main(%x: float32) { add(%x) /* span=Add_7:0:0 */ }", relaytext.Options{})
	require.ErrorContains(t, err, `m.relay:1:26: node "Add_7": infer-type: add: wants 2 operands`)
}
