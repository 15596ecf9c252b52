package relaytext_test

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/importer/onnx"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/relay/transform"
	"github.com/texel-ml/texel/tensor"
)

// constants returns the values of a module's constants, as Options.Constant asks for them.
func constants(m *relay.Module) func(relay.ConstantInfo) (*tensor.Tensor, error) {
	type key struct{ digest, dtype, shape string }
	all := map[key]*tensor.Tensor{}
	add := func(t *tensor.Tensor) { all[key{relay.Digest(t), t.DType.String(), t.Shape.String()}] = t }
	for _, f := range m.Funcs {
		for e := range relay.PostOrder(f, true) {
			if c, ok := e.(*relay.Constant); ok {
				add(c.Value)
			}
		}
	}
	for _, t := range m.Defaults {
		add(t)
	}
	return func(info relay.ConstantInfo) (*tensor.Tensor, error) {
		return all[key{info.SHA256, info.DType.String(), info.Shape.String()}], nil
	}
}

// comesBack prints a module, reads the text, and wants the same module and the same text again.
func comesBack(t require.TestingT, ops *relay.Table, m *relay.Module) {
	text := relay.Print(m)
	again, err := relaytext.Parse("m.relay", text, relaytext.Options{Ops: ops, Constant: constants(m)})
	require.NoError(t, err, shown(text))
	require.NoError(t, relay.VerifyOps(again, ops), shown(text))
	require.NoError(t, relay.Compare(m, again), shown(text))
	require.True(t, text == relay.Print(again), "prints otherwise: %s", shown(text))
	named := relay.PrintOptions{Spans: true}
	text = named.Print(m)
	again, err = relaytext.Parse("m.relay", text, relaytext.Options{Ops: ops, Constant: constants(m)})
	require.NoError(t, err, shown(text))
	require.True(t, text == named.Print(again), "the names of nodes are others: %s", shown(text))
}

// shown is a text as far as a report can hold it.
func shown(text string) string { return text[:min(len(text), 4000)] }

func TestRandomModulesComeBack(t *testing.T) {
	ops := relay.Core()
	rapid.Check(t, func(rt *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") }
		comesBack(rt, ops, relaygen.Module(ops, choose, relaygen.Options{Control: true}))
	})
}

// TestEveryOperatorComesBack draws graphs of each operator alone.
func TestEveryOperatorComesBack(t *testing.T) {
	ops := relay.Core()
	for _, op := range ops.Ops() {
		t.Run(op.Name, func(t *testing.T) {
			require.True(t, slices.Contains(relaygen.Operators(), op.Name), "no random graphs have this operator: it lacks a row in internal/relaygen")
			for seed := range uint64(30) {
				m := relaygen.Module(ops, relaygen.Seeded(seed), relaygen.Options{Operators: 3, Rows: []string{op.Name}})
				comesBack(t, ops, m)
			}
		})
	}
}

// TestOptimisedModulesComeBack reads what the graph passes print: fused functions with packed weights.
func TestOptimisedModulesComeBack(t *testing.T) {
	ops := relay.Core()
	for seed := range uint64(40) {
		m := relaygen.Module(ops, relaygen.Seeded(seed), relaygen.Options{Operators: 6, Patterns: relaygen.Patterns()})
		o := &transform.Options{Ops: ops, Notes: &diag.Notes{}, Observe: func(_ int, p transform.Pass, m *relay.Module) error {
			comesBack(t, ops, m)
			return nil
		}}
		_, err := transform.Run(context.Background(), m, transform.Passes(), o)
		require.NoError(t, err)
	}
}

var models = flag.String("models", "", "a folder of ONNX models that are imported too")

// TestImportedModelsComeBack reads the texts of ONNX models: those of the project, and those below -models.
func TestImportedModelsComeBack(t *testing.T) {
	folders := []string{"../../testdata"}
	if *models != "" {
		folders = append(folders, *models)
	}
	read := 0
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".onnx" {
				return err
			}
			m, _, err := onnx.Import(context.Background(), path, onnx.Options{})
			if err != nil { // not here, or damaged on purpose
				require.True(t, errors.Is(err, diag.ErrUnsupported) || errors.Is(err, diag.ErrInvalid), "%s: %v", path, err)
				return nil
			}
			t.Run(path, func(t *testing.T) { comesBack(t, relay.Core(), m) })
			read++
			return m.Close()
		}))
	}
	require.GreaterOrEqual(t, read, 8)
	t.Logf("%d models", read)
}

func TestScalarsComeBackExactly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.SampledFrom(tensor.DTypes()).Draw(rt, "type")
		bits := rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(rt, "bits")
		v := tensor.New(d, tensor.Shape{})
		if copy(v.Data, bits); d == tensor.Bool {
			v.Data[0] &= 1
		}
		if special := rapid.IntRange(0, 4).Draw(rt, "special"); special == 0 && d.IsFloat() {
			v = (&tensor.Wide{DType: d, Shape: tensor.Shape{}, F: []float64{rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), math.NaN()}).Draw(rt, "value")}}).Narrow()
		}
		e, err := relay.NewCall(relay.Core().Lookup("copy"), []relay.Expr{relay.NewConstant(v, "", diag.Pos{})}, nil, diag.Pos{})
		require.NoError(rt, err)
		comesBack(rt, relay.Core(), moduleOf(e))
	})
}

func moduleOf(e relay.Expr, params ...*relay.Var) *relay.Module {
	return &relay.Module{Funcs: map[string]*relay.Function{"main": relay.NewFunction(params, e, false, nil, diag.Pos{})}, Outputs: []string{"y"}}
}

// everyAttr has an attribute of every type that the table's operators have.
type everyAttr struct {
	Int    int          `relay:"int"`
	Float  float64      `relay:"float"`
	Bool   bool         `relay:"bool"`
	Text   string       `relay:"text"`
	DType  tensor.DType `relay:"dtype"`
	Ints   []int        `relay:"ints"`
	Floats []float64    `relay:"floats"`
}

func TestAttributesComeBackExactly(t *testing.T) {
	used := map[string]bool{}
	for _, op := range relay.Core().Ops() {
		if op.NewAttrs != nil {
			for _, f := range relay.AttrFields(op.NewAttrs()) {
				used[reflect.TypeOf(f.Value).String()] = true
			}
		}
	}
	for _, f := range relay.AttrFields(&everyAttr{}) {
		delete(used, reflect.TypeOf(f.Value).String())
	}
	require.Empty(t, used, "types of attributes that are not tried here")
	op := &relay.Op{Name: "test.attributes", NewAttrs: func() any { return &everyAttr{Int: 1, Ints: []int{1}, Text: "x", DType: tensor.Int8} },
		Infer: func(*relay.Site) (relay.Type, error) {
			return &relay.TensorType{Shape: tensor.Shape{}, DType: tensor.Float32}, nil
		}}
	ops := relay.Core().With(op)
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 0.1, math.SmallestNonzeroFloat64}),
		rapid.Map(rapid.Float32(), func(v float32) float64 { return float64(v) }))
	rapid.Check(t, func(rt *rapid.T) {
		a := &everyAttr{
			Int: rapid.Int().Draw(rt, "int"), Float: number.Draw(rt, "float"), Bool: rapid.Bool().Draw(rt, "bool"), Text: rapid.String().Draw(rt, "text"),
			DType:  rapid.SampledFrom(append(tensor.DTypes(), tensor.Invalid)).Draw(rt, "dtype"),
			Ints:   rapid.OneOf(rapid.Just([]int(nil)), rapid.SliceOfN(rapid.Int(), 0, 3)).Draw(rt, "ints"),
			Floats: rapid.OneOf(rapid.Just([]float64(nil)), rapid.SliceOfN(number, 0, 3)).Draw(rt, "floats"),
		}
		e, err := relay.NewCall(op, nil, a, diag.Pos{})
		require.NoError(rt, err)
		comesBack(rt, ops, moduleOf(e))
	})
}

// TestMetadataComesBack: what no function says.
func TestMetadataComesBack(t *testing.T) {
	x := relay.NewVar("input:0", &relay.TensorType{Shape: tensor.Shape{2}, DType: tensor.Float32}, diag.Pos{})
	places, err := relay.NewCall(relay.Core().Lookup("argwhere"), []relay.Expr{x}, nil, diag.Pos{})
	require.NoError(t, err)
	m := moduleOf(places, x)
	m.Outputs = []string{"rows of x", "count"}
	m.Extents = map[string]relay.Extent{"rows of x": {Axis: 0, Output: 1}}
	m.Meta = map[string]string{"producer": "test <1>", "": "\"\n"}
	m.Defaults = map[string]*tensor.Tensor{"input:0": tensor.Of(tensor.Float32, tensor.Shape{2}, float32(1), 2)}
	comesBack(t, relay.Core(), m)
}

// TestLargeModulesAreRead: a graph of 40,000 nodes in each of its forms takes time and room in proportion, and a stack
// that does not grow.
func TestLargeModulesAreRead(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(16 << 20))
	for name, m := range map[string]*relay.Module{"bound": chain(t, 40_000), "let": lets(t, 20_000)} {
		t.Run(name, func(t *testing.T) { comesBack(t, relay.Core(), m) })
	}
	sum := "def @main(%x: float32) { %x" + strings.Repeat(" + %x", 90_000) + " }"
	m, err := relaytext.Parse("sum", sum, relaytext.Options{})
	require.NoError(t, err)
	require.Equal(t, 90_000+7, strings.Count(relay.Print(m), "\n"))
}

// chain is a graph of convolutions, additions and activations of n nodes.
func chain(t testing.TB, n int) *relay.Module {
	ops := relay.Core()
	x := relay.NewVar("x", &relay.TensorType{Shape: tensor.Shape{1, 4, 8, 8}, DType: tensor.Float32}, diag.Pos{})
	w := relay.NewConstant(tensor.New(tensor.Float32, tensor.Shape{4, 4, 3, 3}), "w", diag.Pos{})
	conv, relu, add := ops.Lookup("nn.conv2d"), ops.Lookup("nn.leaky_relu"), ops.Lookup("add")
	var e relay.Expr = x
	for i := range n {
		op, args := relu, []relay.Expr{e}
		var attrs any
		switch i % 3 {
		case 0:
			a := conv.NewAttrs().(*relay.ConvAttrs)
			a.Padding, a.Channels, a.KernelSize = []int{1, 1, 1, 1}, 4, []int{3, 3}
			op, args, attrs = conv, []relay.Expr{e, w}, a
		case 1:
			op, args = add, []relay.Expr{e, x}
		}
		c, err := relay.NewCall(op, args, attrs, diag.Pos{})
		require.NoError(t, err)
		e = c
	}
	return moduleOf(e, x)
}

// lets is a chain in A-normal form.
func lets(t testing.TB, n int) *relay.Module {
	x := relay.NewVar("x", &relay.TensorType{Shape: tensor.Shape{2}, DType: tensor.Float32}, diag.Pos{})
	vars := []*relay.Var{x}
	var values []relay.Expr
	for range n {
		c, err := relay.NewCall(relay.Core().Lookup("negative"), []relay.Expr{vars[len(vars)-1]}, nil, diag.Pos{})
		require.NoError(t, err)
		values = append(values, c)
		vars = append(vars, relay.NewVar("v", c.Type(), diag.Pos{}))
	}
	var e relay.Expr = vars[n]
	for i := n - 1; i >= 0; i-- {
		e = relay.NewLet(vars[i+1], values[i], e, diag.Pos{})
	}
	return moduleOf(e, x)
}
