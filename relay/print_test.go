package relay

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

var rows = Core()

// call applies an operator of the table or stops the test.
func call(t *testing.T, op string, attrs any, args ...Expr) Expr {
	t.Helper()
	c, err := NewCall(rows.Lookup(op), args, attrs, diag.Pos{})
	require.NoError(t, err)
	return c
}

func typed(name string, d tensor.DType, shape ...int) *Var {
	return NewVar(name, &TensorType{dims(shape...), d}, diag.Pos{})
}

func scalar[T tensor.Native](d tensor.DType, v T) *Constant {
	return NewConstant(tensor.Of(d, dims(), v), "", diag.Pos{})
}

func fn(body Expr, params ...*Var) *Function {
	return NewFunction(params, body, false, nil, diag.Pos{})
}

func module(body Expr, outputs []string, params ...*Var) *Module {
	return &Module{Funcs: map[string]*Function{"main": fn(body, params...)}, Outputs: outputs}
}

func TestPrintIsRelaysText(t *testing.T) {
	x := typed("input.1", tensor.Float32, 1, 3, 4, 4)
	w := NewConstant(tensor.New(tensor.Float32, dims(2, 3, 1, 1)), "conv.weight", diag.Pos{})
	conv := call(t, "nn.conv2d", with("nn.conv2d", func(a *ConvAttrs) { a.Strides, a.Channels = []int{2, 2}, 2 }), x, w)
	p := typed("p0", tensor.Float32, 1, 2, 2, 2)
	fused := NewFunction([]*Var{p}, call(t, "nn.relu", nil, call(t, "nn.leaky_relu", &AlphaAttrs{0.1}, p)), true,
		map[string]string{"hash": "1f"}, diag.Pos{})
	relu, err := NewCallFn(fused, []Expr{conv}, diag.Pos{})
	require.NoError(t, err)
	shared := call(t, "multiply", nil, relu, scalar(tensor.Float32, float32(0.5)))
	parts := call(t, "split", &SplitAttrs{[]int{1}, 1}, shared)
	first, err := NewTupleGet(parts, 0, diag.Pos{})
	require.NoError(t, err)
	m := module(NewTuple([]Expr{first, shared}, diag.Pos{}), []string{"a", "b"}, x)
	m.Meta = map[string]string{"producer": "test <1>"}
	require.NoError(t, VerifyOps(m, Core()))
	require.Equal(t, `#[version = "0.0.5"]
def @main(%input.1: Tensor[(1, 3, 4, 4), float32]) -> (Tensor[(1, 1, 2, 2), float32], Tensor[(1, 2, 2, 2), float32]) {
  %0 = fn (%p0: Tensor[(1, 2, 2, 2), float32], Primitive=1, hash="1f") -> Tensor[(1, 2, 2, 2), float32] {
    %1 = nn.leaky_relu(%p0, alpha=0.1f64) /* ty=Tensor[(1, 2, 2, 2), float32] */;
    nn.relu(%1) /* ty=Tensor[(1, 2, 2, 2), float32] */
  };
  %2 = nn.conv2d(%input.1, meta[relay.Constant][0], strides=[2, 2], channels=2) /* ty=Tensor[(1, 2, 2, 2), float32] */;
  %3 = %0(%2) /* ty=Tensor[(1, 2, 2, 2), float32] */;
  %4 = multiply(%3, 0.5f) /* ty=Tensor[(1, 2, 2, 2), float32] */;
  %5 = split(%4, indices_or_sections=[1], axis=1) /* ty=(Tensor[(1, 1, 2, 2), float32], Tensor[(1, 1, 2, 2), float32]) */;
  %6 = %5.0 /* ty=Tensor[(1, 1, 2, 2), float32] */;
  (%6, %4) /* ty=(Tensor[(1, 1, 2, 2), float32], Tensor[(1, 2, 2, 2), float32]) */
}
#[metadata]
{
  "relay.Constant": [
    {"name":"conv.weight","dtype":"float32","shape":[2,3,1,1],"sha256":"9d908ecfb6b256def8b49a7c504e6c889c4b0e41fe6ce3e01863dd7b61a20aa0"}
  ],
  "meta": {"producer":"test <1>"},
  "outputs": ["a","b"]
}
`, Print(m))
}

func TestPrintBindsWhereItsUsesAre(t *testing.T) {
	x, c := typed("x", tensor.Float32, 2), typed("c", tensor.Bool)
	both := call(t, "exp", nil, x)  // in both branches: bound outside
	inner := call(t, "log", nil, x) // twice in one branch: bound there
	then := call(t, "add", nil, both, call(t, "multiply", nil, inner, inner))
	branch, err := NewIf(c, then, both, diag.Pos{})
	require.NoError(t, err)
	v := typed("1 bad", tensor.Float32, 2)
	let := NewLet(v, branch, NewTuple([]Expr{call(t, "negative", nil, v)}, diag.Pos{}), diag.Pos{})
	text := PrintFunction("f", fn(let, x, c))
	require.Equal(t, `def @f(%x: Tensor[(2,), float32], %c: Tensor[(), bool]) -> (Tensor[(2,), float32],) {
  %0 = exp(%x) /* ty=Tensor[(2,), float32] */;
  %1 = if (%c) {
    %2 = log(%x) /* ty=Tensor[(2,), float32] */;
    %3 = multiply(%2, %2) /* ty=Tensor[(2,), float32] */;
    add(%0, %3) /* ty=Tensor[(2,), float32] */
  } else {
    %0
  } /* ty=Tensor[(2,), float32] */;
  let %v1_bad: Tensor[(2,), float32] = %1;
  %4 = negative(%v1_bad) /* ty=Tensor[(2,), float32] */;
  (%4,) /* ty=(Tensor[(2,), float32],) */
}
`, text)
	inside := call(t, "abs", nil, NewLet(v, call(t, "exp", nil, x), call(t, "negative", nil, v), diag.Pos{}))
	require.Contains(t, PrintFunction("f", fn(inside, x)), `
  %0 = {
    let %v1_bad: Tensor[(2,), float32] = exp(%x) /* ty=Tensor[(2,), float32] */;
    negative(%v1_bad) /* ty=Tensor[(2,), float32] */
  };
  abs(%0)`)
}

func TestScalarsStandInTheText(t *testing.T) {
	for want, c := range map[string]*Constant{
		"2f":                      scalar(tensor.Float32, float32(2)),
		"1e-05f":                  scalar(tensor.Float32, float32(1e-5)),
		"inff":                    scalar(tensor.Float32, float32(inf)),
		"0.1f64":                  scalar(tensor.Float64, 0.1),
		"-inff64":                 scalar(tensor.Float64, -inf),
		"1.5f16":                  scalar(tensor.Float16, uint16(0x3e00)),
		"-0.099975586f16":         scalar(tensor.Float16, tensor.EncodeFloat(tensor.Float16, -0.1)),
		"1.5bf16":                 scalar(tensor.BFloat16, uint16(0x3fc0)),
		"-3":                      scalar(tensor.Int32, int32(-3)),
		"7i64":                    scalar(tensor.Int64, int64(7)),
		"-7i8":                    scalar(tensor.Int8, int8(-7)),
		"200u8":                   scalar(tensor.Uint8, uint8(200)),
		"18446744073709551615u64": scalar(tensor.Uint64, uint64(math.MaxUint64)),
		"True":                    scalar(tensor.Bool, true),
		"meta[relay.Constant][0]": scalar(tensor.Float32, float32(math.NaN())),
	} {
		require.Contains(t, PrintFunction("f", fn(call(t, "copy", nil, c))), "copy("+want+")")
		require.Equal(t, want[0] != 'm', InText(c.Value))
	}
	require.False(t, InText(tensor.New(tensor.Int4, tensor.Shape{})), "a storage type")
	require.False(t, InText(tensor.New(tensor.Int8, tensor.Shape{1})), "not a scalar")
}

func TestTheMetadataSectionTellsOfInputsAndOutputs(t *testing.T) {
	x := typed("x", tensor.Float32, 2)
	places := call(t, "argwhere", nil, x)
	rows, err := NewTupleGet(places, 0, diag.Pos{})
	require.NoError(t, err)
	n, err := NewTupleGet(places, 1, diag.Pos{})
	require.NoError(t, err)
	m := module(NewTuple([]Expr{rows, n}, diag.Pos{}), []string{"rows", "n"}, x)
	m.Extents = map[string]Extent{"rows": {0, 1}}
	m.Defaults = map[string]*tensor.Tensor{"x": tensor.New(tensor.Float32, dims(2))}
	require.NoError(t, VerifyOps(m, Core()))
	_, meta, found := strings.Cut(Print(m), "#[metadata]\n")
	require.True(t, found)
	require.Equal(t, `{
  "defaults": [
    {"name":"x","dtype":"float32","shape":[2],"sha256":"af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc"}
  ],
  "extents": {"rows":{"axis":0,"output":1}},
  "outputs": ["rows","n"]
}
`, meta)
}

func TestAttributesPrintAsRelayDoes(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{1e-5, "1e-05f64"}, {float64(float32(1e-5)), "1e-05f"}, {2.0, "2f"}, {true, "True"}, {[]int{}, "[]"}, {[]float64{1, 0.5}, "[1f, 0.5f]"},
		{"NCHW", `"NCHW"`}, {tensor.Float32, `"float32"`}, {-inf, "-inff"}, {inf, "inff"}, {math.NaN(), "nanf"}, {tensor.Invalid, "None"}, {[]int(nil), "None"},
	} {
		require.Equal(t, c.want, FormatAttr(c.v))
	}
}

// What Relay has no default for, or another one than the table, stands in the text, and so do operators whose name means
// something else there.
func TestCallsPrintAsRelayWouldReadThem(t *testing.T) {
	x, m := typed("x", tensor.Float32, 2, 3), typed("m", tensor.Float32, 4, 3)
	four, empty := typed("f", tensor.Float32, 1, 2, 4, 4), typed("e", tensor.Float32, 3, 0)
	pad := with("nn.pad", func(a *PadAttrs) { a.PadWidth = []int{1, 1, 0, 2} })
	resize := with("image.resize2d", func(a *ResizeAttrs) { a.Size, a.CubicExclude = []int{2, 2}, true })
	for want, e := range map[string]Expr{
		"nn.dense(%x, %m, units=None)":                                   call(t, "nn.dense", nil, x, m),
		"nn.dense(%x, %m, units=4)":                                      call(t, "nn.dense", with("nn.dense", func(a *DenseAttrs) { a.Units = 4 }), x, m),
		"nn.batch_matmul(%x, %m, transpose_b=True)":                      call(t, "nn.batch_matmul", nil, x, m),
		"nn.pad(%x, 0f, pad_width=[[1, 1], [0, 2]])":                     call(t, "nn.pad", pad, x, scalar(tensor.Float32, float32(0))),
		"nn.leaky_relu(%x, alpha=0.01f64)":                               call(t, "nn.leaky_relu", nil, x),
		"nn.leaky_relu(%x)":                                              call(t, "nn.leaky_relu", &AlphaAttrs{0.25}, x),
		"reshape(%e, newshape=[0, 3], allowzero=True)":                   call(t, "reshape", &ReshapeAttrs{[]int{0, 3}}, empty),
		"transpose(%x, axes=None)":                                       call(t, "transpose", nil, x),
		"cumsum(%x, axis=0)":                                             call(t, "cumsum", nil, x),
		"floor_mod(%x, %x)":                                              call(t, "mod", nil, x, x),
		"mod(%x, %x)":                                                    call(t, "fmod", nil, x, x),
		`cast(%x, dtype="int8")`:                                         call(t, "cast", with("cast", func(a *CastAttrs) { a.DType = tensor.Int8 }), x),
		"clip(%x, a_min=-inff, a_max=6f)":                                call(t, "clip", with("clip", func(a *ClipAttrs) { a.AMax = 6 }), x),
		"strided_slice(%x, begin=[0], end=[1], strides=None, axes=None)": call(t, "strided_slice", &StridedSliceAttrs{Begin: []int{0}, End: []int{1}}, x),
		`image.resize2d(%f, size=[2, 2], rounding_method="round_prefer_floor", cubic_alpha=-0.75f, cubic_exclude=1)`: call(t, "image.resize2d", resize, four),
	} {
		require.Contains(t, PrintFunction("f", fn(e, x, m, four, empty)), "\n  "+want+" /*")
	}
	for _, op := range rows.Ops() {
		require.Same(t, op, rows.TextLookup(TextName(op)))
	}
	require.Same(t, rows.Lookup("fmod"), rows.TextLookup("mod"))
	require.Nil(t, rows.TextLookup("fmod"))
	require.Nil(t, rows.TextLookup("image.grid_sample"))
}

// Every row of the table of texts names an operator and attributes that it has, with values of their types.
func TestTextAttributesAreThoseOfTheTable(t *testing.T) {
	for name, attrs := range textAttrs {
		op := rows.Lookup(name)
		require.NotNil(t, op, name)
		fields := map[string]any{}
		for _, f := range AttrFields(op.NewAttrs()) {
			fields[f.Name] = f.Value
		}
		absent := map[string]any{}
		for _, f := range AttrFields(TextAttrs(op)) {
			absent[f.Name] = f.Value
		}
		for attr, text := range attrs {
			require.Contains(t, fields, attr, name)
			if text.absent != nil {
				require.IsType(t, fields[attr], text.absent, "%s.%s", name, attr)
				require.NotEqual(t, fields[attr], text.absent, "%s.%s is the table's default", name, attr)
				require.Equal(t, text.absent, absent[attr])
			}
		}
	}
	for own := range textNames {
		require.NotNil(t, rows.Lookup(own), own)
	}
	require.Nil(t, TextAttrs(rows.Lookup("exp")))
}

func TestFunctionsOfTheModuleAreNamed(t *testing.T) {
	x, y := typed("x", tensor.Float32, 2), typed("y", tensor.Float32, 2)
	twice := fn(call(t, "add", nil, y, y), y)
	once, err := NewCallFn(twice, []Expr{x}, diag.Pos{})
	require.NoError(t, err)
	again, err := NewCallFn(twice, []Expr{once}, diag.Pos{})
	require.NoError(t, err)
	m := module(again, []string{"z"}, x)
	m.Funcs["a b"] = twice
	require.NoError(t, VerifyOps(m, Core()))
	require.Equal(t, `#[version = "0.0.5"]
def @"a b"(%y: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
  add(%y, %y) /* ty=Tensor[(2,), float32] */
}
def @main(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
  %0 = @"a b"(%x) /* ty=Tensor[(2,), float32] */;
  @"a b"(%0) /* ty=Tensor[(2,), float32] */
}
#[metadata]
{
  "outputs": ["z"]
}
`, Print(m))
}

func TestNamesThatTheTextCannotHaveAreKept(t *testing.T) {
	for name, want := range map[string]string{
		"x": "x", "a.b/c_1": "a.b/c_1", "input:0": "input_0", "0": "v0", "": "v", "a..b": "a_.b", "a.": "a_", "é": "__", ".a": "_a", "_": "_",
	} {
		require.Equal(t, want, TextIdent(name))
		require.Equal(t, want, TextIdent(want))
	}
	x, y := typed("input:0", tensor.Float32, 2), typed("input_0", tensor.Float32, 2)
	text := Print(module(call(t, "add", nil, x, y), []string{"z"}, x, y))
	require.Contains(t, text, "def @main(%input_0: Tensor[(2,), float32], %input_0_1: Tensor")
	require.Contains(t, text, `  "inputs": ["input:0","input_0"],`)
}

// %p.0 may be the variable p.0 or the field 0 of p.
func TestFieldsArePrintedUnambiguously(t *testing.T) {
	pair := &TupleType{[]Type{&TensorType{dims(2), tensor.Float32}}}
	p, q := NewVar("p", pair, diag.Pos{}), typed("p.0", tensor.Float32, 2)
	field, err := NewTupleGet(p, 0, diag.Pos{})
	require.NoError(t, err)
	require.Contains(t, PrintFunction("f", fn(field, p, q)), "  (%p).0 /*")
	require.Contains(t, PrintFunction("f", fn(field, p)), "  %p.0 /*")
}

func TestDeepGraphsPrint(t *testing.T) {
	x := typed("x", tensor.Float32, 1)
	var chain Expr = x
	neg := Core().Lookup("negative")
	for range 100_000 {
		c, err := NewCall(neg, []Expr{chain}, nil, diag.Pos{})
		require.NoError(t, err)
		chain = c
	}
	m := module(chain, []string{"y"}, x)
	require.NoError(t, Verify(m))
	require.Equal(t, 100_000+7, strings.Count(Print(m), "\n"))

	var let Expr = x
	for range 20_000 { // in A-normal form
		v := typed("v", tensor.Float32, 1)
		let = NewLet(v, call(t, "negative", nil, x), let, diag.Pos{})
	}
	m = module(let, []string{"y"}, x)
	require.NoError(t, Verify(m))
	require.Contains(t, Print(m), "let %v_19999: ")
}

// Names of the model's nodes stand in the comments where they are asked for, so that they end where they do.
func TestTheTextNamesNodes(t *testing.T) {
	for node, want := range map[string]string{
		"":                   "",
		"/layer1/Conv.0":     " span=/layer1/Conv.0:0:0",
		"größe":              " span=größe:0:0",
		"a b":                ` span="a b":0:0`,
		"a:0:0, b":           ` span="a:0:0, b":0:0`,
		"*/ exp(%x) /*":      ` span="\x2a/ exp(%x) /\x2a":0:0`,
		"line\nline\xff\"\\": ` span="line\nline\xff\"\\":0:0`,
	} {
		x := typed("x", tensor.Float32)
		e, err := NewCall(Core().Lookup("exp"), []Expr{x}, nil, diag.Pos{Node: node})
		require.NoError(t, err)
		m := module(e, []string{"y"}, x)
		require.Contains(t, PrintOptions{Spans: true}.Print(m), "exp(%x) /* ty=Tensor[(), float32]"+want+" */\n")
		require.Contains(t, Print(m), "exp(%x) /* ty=Tensor[(), float32] */\n")
	}
}
