package onnx

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

func addModel(w *pb.TensorProto) *pb.ModelProto {
	g := graphOf(values(value("x", 1, 2, 3)), values(value("y", 1, 2, 3)), op("Add", names("x", "w"), names("y")))
	g.Initializer = []*pb.TensorProto{w}
	return model(17, g)
}

func TestWeightsAreViewsOfTheFile(t *testing.T) {
	const n = 1 << 20
	path := filepath.Join(t.TempDir(), "model.onnx")
	data := bytesOf(t, addModel(&pb.TensorProto{Name: proto.String("w"), Dims: []int64{n, 2, 3}, DataType: proto.Int32(1), RawData: make([]byte, 24*n)}))
	require.NoError(t, os.WriteFile(path, data, 0o644))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, _, err := Import(context.Background(), path, Options{})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	defer m.Close()
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "24 MiB of weights were copied")
}

func TestImportedModelKeepsItsFileUntilClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.onnx")
	require.NoError(t, os.WriteFile(path, bytesOf(t, addModel(floats("w", []int64{2, 3}, 1, 2, 3, 4, 5, 6))), 0o644))
	m, _, err := Import(context.Background(), path, Options{})
	require.NoError(t, err)
	y := compute(t, m, tensor.Of(tensor.Float32, tensor.Shape{2, 3}, float32(10), 20, 30, 40, 50, 60))
	require.Equal(t, []float32{11, 22, 33, 44, 55, 66}, tensor.View[float32](y[0]))
	require.NotEmpty(t, m.Backing)
	require.NoError(t, m.Close())
	require.Equal(t, "test", m.Meta["producer"])
	require.Equal(t, "17", m.Meta["opset"])
}

func TestInitialiserThatIsAnInputIsADefault(t *testing.T) {
	m := addModel(floats("w", []int64{2, 3}, 1, 2, 3, 4, 5, 6))
	m.Graph.Input = append(m.Graph.Input, value("w", 1, 2, 3))
	module, notes := load(t, m, Options{})
	require.Len(t, module.Main().Params, 2)
	require.Equal(t, "w", module.Main().Params[1].Name)
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, tensor.View[float32](module.Defaults["w"]))
	require.Equal(t, diag.Default, notes[0].Kind)

	frozen, _ := load(t, m, Options{FreezeDefaults: true})
	require.Len(t, frozen.Main().Params, 1)
	m.IrVersion = proto.Int64(3) // where every initialiser had to be listed
	old, _ := load(t, m, Options{})
	require.Len(t, old.Main().Params, 1)
}

// reluOf is a model of one Relu on an input of the given extents.
func reluOf(dims ...any) *pb.ModelProto {
	return model(17, graphOf(values(value("x", 1, dims...)), values(value("y", 1)), op("Relu", names("x"), names("y"))))
}

func TestUnknownDimensionsAreBound(t *testing.T) {
	shape := func(m *relay.Module) tensor.Shape { return relay.Tensor(m.Main().Params[0]).Shape }
	m, notes := load(t, reluOf("N", 3), Options{})
	require.Equal(t, tensor.Shape{1, 3}, shape(m))
	require.Equal(t, `default: import: x: axis 0, N, is not known in the model: taken as a batch of 1`, notes[0].String())

	m, _ = load(t, reluOf("N", "H", 3), Options{Dims: map[string]int{"N": 2, "H": 5}})
	require.Equal(t, tensor.Shape{2, 5, 3}, shape(m))
	m, _ = load(t, reluOf("?", "?", 3), Options{InputShapes: map[string][]int{"x": {2, 5, 3}}})
	require.Equal(t, tensor.Shape{2, 5, 3}, shape(m))

	refuse(t, reluOf("N", 3, "H", nil), Options{}, diag.ErrInvalid, `x: axes 0 (N), 2 (H) and 3 of this input are not known: give the shape with --input-shape x=N,3,H,?`)
	refuse(t, reluOf("N", "H", "H"), Options{}, diag.ErrInvalid, `x: axes 0 (N), 1 (H) and 2 (H) of this input are not known: give the shape with --input-shape x=N,H,H, or the extents with --dim N=N --dim H=N`)
	refuse(t, reluOf(1, "H"), Options{}, diag.ErrInvalid, `axis 1 (H) of this input is not known: give the shape with --input-shape x=1,H, or the extents with --dim H=N`)
	refuse(t, reluOf("N", 3), Options{InputShapes: map[string][]int{"x": {2, 4}}}, diag.ErrInvalid, `axis 1 was given as 4, the model has 3`)
	refuse(t, reluOf("N", 3), Options{InputShapes: map[string][]int{"z": {2, 3}}}, diag.ErrInvalid, `--input-shape names no input of the model; its inputs are x`)
	refuse(t, reluOf("N", 3), Options{InputShapes: map[string][]int{"x": {2}}}, diag.ErrInvalid, `the model has 2 axes`)
}

func TestANamedDimensionIsOneExtent(t *testing.T) {
	m := model(17, graphOf(values(value("a", 1, "N", 2), value("b", 1, "N", 2)), values(value("y", 1)), op("Add", names("a", "b"), names("y"))))
	module, _ := load(t, m, Options{InputShapes: map[string][]int{"b": {7, 2}}})
	require.Equal(t, tensor.Shape{7, 2}, relay.Tensor(module.Main().Params[0]).Shape)
	refuse(t, m, Options{InputShapes: map[string][]int{"b": {7, 2}, "a": {6, 2}}}, diag.ErrInvalid, `axis 0, N, was given as 7 and elsewhere as 6`)
}

// reshapeModel reshapes x to what Shape, Gather, Unsqueeze and Concat compute of it.
func reshapeModel() *pb.ModelProto {
	g := graphOf(values(value("x", 1, "N", 6, 4)), values(value("y", 1)),
		op("Shape", names("x"), names("s")),
		op("Gather", names("s", "zero"), names("n")),
		op("Unsqueeze", names("n", "axis"), names("n1")),
		op("Concat", names("n1", "rest"), names("target"), attr("axis", 0)),
		op("Reshape", names("x", "target"), names("y")))
	g.Initializer = []*pb.TensorProto{int64s("zero", nil, 0), int64s("axis", []int64{1}, 0), int64s("rest", []int64{2}, 2, -1)}
	return model(13, g)
}

func TestShapeArithmeticIsFolded(t *testing.T) {
	m, _ := load(t, reshapeModel(), Options{Dims: map[string]int{"N": 3}})
	body := m.Main().Body.(*relay.Call)
	require.Equal(t, "reshape", body.Op.Name)
	require.Equal(t, []int{3, 2, 12}, body.Attrs.(*relay.ReshapeAttrs).NewShape)
	require.Same(t, relay.Expr(m.Main().Params[0]), body.Args[0])
}

func TestAValueThatMustBeKnownIsAskedFor(t *testing.T) {
	m := model(13, graphOf(values(value("x", 1, 2, 3), value("target", 7, 1)), values(value("y", 1)), op("Reshape", names("x", "target"), names("y"))))
	_, _, err := ImportBytes(context.Background(), "m", bytesOf(t, m), Options{})
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, `give the input's value with --input target=…`)
	var need *NeedsValue
	require.ErrorAs(t, err, &need)
	require.Equal(t, "target", need.Input)

	module, notes := load(t, m, Options{Values: map[string]*tensor.Tensor{"target": tensor.Of(tensor.Int64, tensor.Shape{1}, int64(-1))}})
	require.Len(t, module.Main().Params, 1)
	require.Equal(t, tensor.Shape{6}, relay.Tensor(module.Main().Body).Shape)
	require.Equal(t, diag.Bound, notes[0].Kind)
	refuse(t, m, Options{Values: map[string]*tensor.Tensor{"target": tensor.Of(tensor.Int32, tensor.Shape{1}, int32(-1))}}, diag.ErrInvalid, `a value of type int32 was given, the model has int64`)
}

func TestUniqueGivesAsManyAsThereAre(t *testing.T) {
	m := model(11, graphOf(values(value("x", 1, 2, 3)), values(value("y", 1), value("first", 7), value("inverse", 7), value("counts", 7)),
		op("Unique", names("x"), names("y", "first", "inverse", "counts"))))
	module, _ := load(t, m, Options{})
	require.Equal(t, relay.Extent{Axis: 0, Output: 4}, module.Extents["y"])
	require.Equal(t, relay.Extent{Axis: 0, Output: 5}, module.Extents["first"])
	require.Equal(t, relay.Extent{Axis: 0, Output: 6}, module.Extents["counts"])
	require.NotContains(t, module.Extents, "inverse")
	x := tensor.Of(tensor.Float32, tensor.Shape{2, 3}, float32(5), 2, 5, 2, 2, 9)
	out := compute(t, module, x)
	require.Equal(t, []float32{2, 5, 9}, tensor.View[float32](out[0])[:3])
	require.Equal(t, []int64{1, 0, 5}, tensor.View[int64](out[1])[:3])
	require.Equal(t, []int64{1, 0, 1, 0, 0, 2}, tensor.View[int64](out[2]))
	require.Equal(t, []int64{3, 2, 1}, tensor.View[int64](out[3])[:3])
	require.Equal(t, []int64{3}, tensor.View[int64](out[4]))

	bound, _ := load(t, m, Options{Values: map[string]*tensor.Tensor{"x": x}}) // of a known operand the extent is known
	require.Empty(t, bound.Extents)
	out = compute(t, bound)
	require.Equal(t, tensor.Of(tensor.Float32, tensor.Shape{3}, float32(2), 5, 9), out[0])
	require.Equal(t, tensor.Of(tensor.Int64, tensor.Shape{3}, int64(3), 2, 1), out[3])

	m.Graph.Node[0].Attribute = []*pb.AttributeProto{attr("axis", 1), attr("sorted", 0)}
	module, _ = load(t, m, Options{})
	require.Equal(t, relay.Extent{Axis: 1, Output: 4}, module.Extents["y"])
	out = compute(t, module, tensor.Of(tensor.Float32, tensor.Shape{2, 3}, float32(5), 2, 5, 1, 0, 1))
	require.Equal(t, []int64{0, 1}, tensor.View[int64](out[1])[:2])
	require.Equal(t, []int64{2}, tensor.View[int64](out[4]))
	m.Graph.Input = values(value("x", 22, 2, 3)) // int4
	m.Graph.Output = values(value("y", 22))
	refuse(t, m, Options{}, diag.ErrUnsupported, "storage type int4")

	m.Graph.Input = values(value("x", 1, 2, 3))
	m.Graph.Node = append(m.Graph.Node, op("Cast", names("y"), names("packed"), attr("to", 22)))
	m.Graph.Output = values(value("packed", 22))
	refuse(t, m, Options{}, diag.ErrUnsupported, "packed: an output of int4 whose extent is known only when the model runs")
}

func TestOutputsOfBoundedExtentSayHowMuchIsReal(t *testing.T) {
	m := model(13, graphOf(values(value("x", 1, 2, 3)), values(value("y", 7)), op("NonZero", names("x"), names("y"))))
	module, _ := load(t, m, Options{})
	require.Equal(t, []string{"y", "y.count"}, module.Outputs)
	require.Equal(t, relay.Extent{Axis: 1, Output: 1}, module.Extents["y"])
	out := compute(t, module, tensor.Of(tensor.Float32, tensor.Shape{2, 3}, float32(0), 5, 0, 0, 0, 7))
	require.Equal(t, []int64{2}, tensor.View[int64](out[1]))
	require.Equal(t, tensor.Shape{2, 6}, out[0].Shape)
	require.Equal(t, []int64{0, 1}, tensor.View[int64](out[0])[:2])
	require.Equal(t, []int64{1, 2}, tensor.View[int64](out[0])[6:8])

	m.Graph.Node = append(m.Graph.Node, op("ReduceSum", names("y"), names("z")))
	m.Graph.Output = values(value("z", 7))
	refuse(t, m, Options{}, diag.ErrUnsupported, `the extent of axis 1 of operand 0 is known only when the model runs`)
}

func TestModelLocalFunctionsAreInlined(t *testing.T) {
	scaled := &pb.FunctionProto{Name: proto.String("Scaled"), Domain: proto.String("mine"), Input: names("a"), Output: names("b"), Attribute: names("alpha"),
		OpsetImport: []*pb.OperatorSetIdProto{{Version: proto.Int64(16)}},
		Node:        []*pb.NodeProto{op("LeakyRelu", names("a"), names("b"), &pb.AttributeProto{Name: proto.String("alpha"), RefAttrName: proto.String("alpha"), Type: pb.AttributeProto_FLOAT.Enum()})}}
	node := op("Scaled", names("x"), names("y"), attr("alpha", 0.25))
	node.Domain = proto.String("mine")
	m := model(17, graphOf(values(value("x", 1, 2)), values(value("y", 1, 2)), node))
	m.OpsetImport = append(m.OpsetImport, &pb.OperatorSetIdProto{Domain: proto.String("mine"), Version: proto.Int64(1)})
	m.Functions = []*pb.FunctionProto{scaled}
	module, _ := load(t, m, Options{})
	call := module.Main().Body.(*relay.Call)
	require.Equal(t, "nn.leaky_relu", call.Op.Name)
	require.Equal(t, 0.25, call.Attrs.(*relay.AlphaAttrs).Alpha)

	again := op("Scaled", names("a"), names("b"))
	again.Domain = proto.String("mine")
	scaled.Node = []*pb.NodeProto{again}
	refuse(t, m, Options{}, diag.ErrInvalid, `functions nest deeper than 32, or call each other in a circle`)
}

func TestBranchesWithKnownConditionAreInlined(t *testing.T) {
	branch := func(name string) *pb.GraphProto {
		return graphOf(nil, values(value("r", 1)), op(name, names("x"), names("r")))
	}
	m := model(17, graphOf(values(value("x", 1, 2)), values(value("y", 1)), op("If", names("c"), names("y"), attr("then_branch", branch("Exp")), attr("else_branch", branch("Tanh")))))
	m.Graph.Initializer = []*pb.TensorProto{{Name: proto.String("c"), DataType: proto.Int32(9), Int32Data: []int32{0}}}
	module, _ := load(t, m, Options{})
	require.Equal(t, "tanh", module.Main().Body.(*relay.Call).Op.Name)
}

func TestExternalData(t *testing.T) {
	w := floats("w", []int64{2, 3})
	w.RawData, w.DataLocation = nil, proto.Int32(1)
	entry := func(k, v string) *pb.StringStringEntryProto { return &pb.StringStringEntryProto{Key: &k, Value: &v} }
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, make([]byte, 64), 0o600))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "w.bin"), floats("", nil, 0, 0, 1, 2, 3, 4, 5, 6).RawData, 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link.bin")))
	path := filepath.Join(dir, "model.onnx")
	load := func(location, offset, length string) (*relay.Module, error) {
		w.ExternalData = []*pb.StringStringEntryProto{entry("location", location), entry("offset", offset), entry("length", length)}
		require.NoError(t, os.WriteFile(path, bytesOf(t, addModel(w)), 0o600))
		m, _, err := Import(context.Background(), path, Options{})
		return m, err
	}
	m, err := load("w.bin", "8", "24")
	require.NoError(t, err)
	y := compute(t, m, tensor.New(tensor.Float32, tensor.Shape{2, 3}))
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, tensor.View[float32](y[0]))
	require.NoError(t, m.Close())

	for _, bad := range []struct{ location, offset, length, text string }{
		{"../secret", "0", "24", `initialiser "w": external data location "../secret" leaves the model's folder`},
		{outside, "0", "24", `leaves the model's folder`},
		{"", "0", "24", `leaves the model's folder`},
		{"link.bin", "0", "24", `initialiser "w": external data location "link.bin" cannot be opened inside the model's folder`},
		{"none.bin", "0", "24", `external data file "none.bin" does not exist beside the model`},
		{".", "0", "24", `external data location "." is not a regular file`},
		{"w.bin", "16", "24", `external data "w.bin" has 32 bytes, wanted 24 at offset 16`},
		{"w.bin", "0", "20", `shape (2, 3) of float32 needs 24 bytes, found 20 bytes of data`},
		{"w.bin", "-8", "24", `offset "-8" is not a number of bytes`},
		{"w.bin", "99999999999999999999", "24", `is not a number of bytes`},
	} {
		_, err := load(bad.location, bad.offset, bad.length)
		require.ErrorIs(t, err, diag.ErrInvalid, bad.location)
		require.ErrorContains(t, err, bad.text)
	}
	w.ExternalData = w.ExternalData[:1]
	_, _, err = ImportBytes(context.Background(), "m", bytesOf(t, addModel(w)), Options{})
	require.ErrorContains(t, err, `the model is not a file and has no folder`)
}

func TestDamagedModelsAreRefused(t *testing.T) {
	w := func(change func(*pb.TensorProto)) *pb.ModelProto {
		t := floats("w", []int64{2, 3}, 1, 2, 3, 4, 5, 6)
		change(t)
		return addModel(t)
	}
	relu := func(change func(*pb.ModelProto)) *pb.ModelProto {
		m := reluOf(2, 3)
		change(m)
		return m
	}
	for _, bad := range []struct {
		name string
		m    *pb.ModelProto
		kind error
		text string
	}{
		{"short weight", w(func(t *pb.TensorProto) { t.RawData = t.RawData[:20] }), diag.ErrInvalid, `initialiser "w": shape (2, 3) of float32 needs 24 bytes, found 20 bytes of data`},
		{"no data", w(func(t *pb.TensorProto) { t.RawData = nil }), diag.ErrInvalid, `needs 6 entries of float_data (24 bytes), found 0 (0 bytes)`},
		{"overflow", w(func(t *pb.TensorProto) { t.Dims = []int64{1 << 40, 1 << 40} }), diag.ErrInvalid, `is larger than memory`},
		{"negative extent", w(func(t *pb.TensorProto) { t.Dims = []int64{-2, 3} }), diag.ErrInvalid, `dimension -2 is out of range`},
		{"strings", w(func(t *pb.TensorProto) { t.DataType = proto.Int32(8) }), diag.ErrUnsupported, `elements of type string are not supported`},
		{"no type", w(func(t *pb.TensorProto) { t.DataType = proto.Int32(99) }), diag.ErrInvalid, `element type 99 does not exist`},
		{"other type", w(func(t *pb.TensorProto) { t.DataType, t.RawData = proto.Int32(11), make([]byte, 48) }), diag.ErrInvalid, `operands have types float32 and float64`},
		{"two initialisers", relu(func(m *pb.ModelProto) {
			m.Graph.Initializer = []*pb.TensorProto{floats("w", []int64{1}, 1), floats("w", []int64{1}, 1)}
		}), diag.ErrInvalid, `two initialisers have this name`},
		{"two inputs", relu(func(m *pb.ModelProto) { m.Graph.Input = append(m.Graph.Input, m.Graph.Input[0]) }), diag.ErrInvalid, `x: two inputs have this name`},
		{"input without a name", relu(func(m *pb.ModelProto) { m.Graph.Input = append(m.Graph.Input, value("", 1, 3)) }), diag.ErrInvalid, `input 1 of the graph has no name`},
		{"given twice", relu(func(m *pb.ModelProto) { m.Graph.Node = append(m.Graph.Node, m.Graph.Node[0]) }), diag.ErrInvalid, `"y" is given twice`},
		{"cycle", relu(func(m *pb.ModelProto) {
			m.Graph.Node = []*pb.NodeProto{op("Add", names("x", "b"), names("a")), op("Relu", names("a"), names("b")), op("Relu", names("b"), names("y"))}
		}), diag.ErrInvalid, `operand 1 is "b", which no input, initialiser or earlier node gives`},
		{"missing output", relu(func(m *pb.ModelProto) { m.Graph.Output = values(value("z", 1)) }), diag.ErrInvalid, `z: no node gives this output`},
		{"output without a name", relu(func(m *pb.ModelProto) {
			m.Graph.Initializer = []*pb.TensorProto{floats("", []int64{1}, 1)}
			m.Graph.Output = values(value("", 1))
		}), diag.ErrInvalid, `output 0 of the graph has no name`},
		{"output of another type", relu(func(m *pb.ModelProto) { m.Graph.Output = values(value("y", 10, 2, 3)) }), diag.ErrInvalid, `the model says that this output is float16, found float32`},
		{"no graph", relu(func(m *pb.ModelProto) { m.Graph = nil }), diag.ErrInvalid, `has no graph`},
		{"no operator", relu(func(m *pb.ModelProto) { m.Graph.Node[0].OpType = proto.String("Rolu") }), diag.ErrUnsupported, `import: Rolu: this operator of domain "", opset 17, is not supported`},
		{"other domain", relu(func(m *pb.ModelProto) { m.Graph.Node[0].Domain = proto.String("com.example") }), diag.ErrUnsupported, `Relu: this operator of domain "com.example"`},
		{"sequence", relu(func(m *pb.ModelProto) {
			m.Graph.Input[0].Type = &pb.TypeProto{Value: &pb.TypeProto_SequenceType{SequenceType: &pb.TypeProto_Other{}}}
		}), diag.ErrUnsupported, `x: the input is a sequence`},
		{"attribute of another type", relu(func(m *pb.ModelProto) {
			m.Graph.Node = []*pb.NodeProto{op("LeakyRelu", names("x"), names("y"), attr("alpha", 3))}
		}), diag.ErrInvalid, `attribute "alpha" has type INT, wanted FLOAT`},
		{"axis", relu(func(m *pb.ModelProto) {
			m.Graph.Node = []*pb.NodeProto{op("Softmax", names("x"), names("y"), attr("axis", 2))}
		}), diag.ErrInvalid, `node "Softmax_node": import: Softmax: axis 2 is out of range for 2 axes`},
		{"huge input", reluOf(1<<30, 1<<30, 1<<30), diag.ErrInvalid, `is larger than memory`},
		{"no opset", relu(func(m *pb.ModelProto) {
			m.OpsetImport = []*pb.OperatorSetIdProto{{Domain: proto.String("mine"), Version: proto.Int64(1)}}
		}), diag.ErrInvalid, `imports no opset of the default domain`},
	} {
		t.Run(bad.name, func(t *testing.T) { refuse(t, bad.m, Options{}, bad.kind, bad.text) })
	}
}

func TestTruncatedAndFlippedFilesGiveTypedErrors(t *testing.T) {
	whole := bytesOf(t, reshapeModel())
	for n := range whole {
		_, _, err := ImportBytes(context.Background(), "m", whole[:n], Options{Dims: map[string]int{"N": 3}})
		require.True(t, typed(err), "%d bytes: %v", n, err)
	}
	for i := range whole {
		for bit := range 8 {
			damaged := slices.Clone(whole)
			damaged[i] ^= 1 << bit
			_, _, err := ImportBytes(context.Background(), "m", damaged, Options{Dims: map[string]int{"N": 3}})
			require.True(t, typed(err), "byte %d, bit %d: %v", i, bit, err)
		}
	}
}

func TestManyMessagesInASmallFileAreRefused(t *testing.T) {
	m := reluOf(2)
	for range 100_000 {
		m.Graph.Node = append(m.Graph.Node, &pb.NodeProto{})
	}
	refuse(t, m, Options{}, diag.ErrInvalid, `messages in a file of this size`)
}

func TestDeepGraphsAreRefused(t *testing.T) {
	g := graphOf(nil, values(value("r", 1)), op("Exp", names("x"), names("r")))
	for range 60 {
		g = graphOf(nil, values(value("r", 1)), op("If", names("c"), names("r"), attr("then_branch", g), attr("else_branch", graphOf(nil, nil))))
	}
	m := model(17, graphOf(values(value("x", 1, 2)), values(value("y", 1)), op("If", names("c"), names("y"), attr("then_branch", g), attr("else_branch", graphOf(nil, nil)))))
	m.Graph.Initializer = []*pb.TensorProto{{Name: proto.String("c"), DataType: proto.Int32(9), Int32Data: []int32{1}}}
	refuse(t, m, Options{}, diag.ErrInvalid, `nest deeper than`)
}

func TestReadTensorTakesEveryEncoding(t *testing.T) {
	dir := t.TempDir()
	read := func(p *pb.TensorProto) (*tensor.Tensor, error) {
		path := filepath.Join(dir, "t.pb")
		require.NoError(t, os.WriteFile(path, bytesOf(t, p), 0o600))
		return ReadTensor(path)
	}
	for _, c := range []struct {
		p    *pb.TensorProto
		want *tensor.Tensor
	}{
		{floats("t", []int64{2}, 1, -2), tensor.Of(tensor.Float32, tensor.Shape{2}, float32(1), -2)},
		{&pb.TensorProto{DataType: proto.Int32(1), Dims: []int64{2}, FloatData: []float32{1, -2}}, tensor.Of(tensor.Float32, tensor.Shape{2}, float32(1), -2)},
		{&pb.TensorProto{DataType: proto.Int32(11), DoubleData: []float64{3}}, nil},
		{&pb.TensorProto{DataType: proto.Int32(11), Dims: []int64{1}, DoubleData: []float64{3}}, tensor.Of(tensor.Float64, tensor.Shape{1}, 3.0)},
		{&pb.TensorProto{DataType: proto.Int32(3), Dims: []int64{2}, Int32Data: []int32{-1, 7}}, tensor.Of(tensor.Int8, tensor.Shape{2}, int8(-1), 7)},
		{&pb.TensorProto{DataType: proto.Int32(10), Dims: []int64{1}, Int32Data: []int32{0x3c00}}, tensor.Of(tensor.Float16, tensor.Shape{1}, uint16(0x3c00))},
		{&pb.TensorProto{DataType: proto.Int32(12), Dims: []int64{1}, Uint64Data: []uint64{9}}, tensor.Of(tensor.Uint32, tensor.Shape{1}, uint32(9))},
		{&pb.TensorProto{DataType: proto.Int32(22), Dims: []int64{3}, Int32Data: []int32{0x2f, 0x01}}, &tensor.Tensor{DType: tensor.Int4, Shape: tensor.Shape{3}, Data: []byte{0x2f, 0x01}}},
		{&pb.TensorProto{DataType: proto.Int32(26), Dims: []int64{5}, RawData: []byte{0xe4, 0x01}}, &tensor.Tensor{DType: tensor.Int2, Shape: tensor.Shape{5}, Data: []byte{0xe4, 0x01}}},
		{&pb.TensorProto{DataType: proto.Int32(9), Dims: []int64{3}, RawData: []byte{0, 1, 7}}, &tensor.Tensor{DType: tensor.Bool, Shape: tensor.Shape{3}, Data: []byte{0, 1, 1}}},
		{&pb.TensorProto{DataType: proto.Int32(1), Dims: []int64{0, 4}}, tensor.New(tensor.Float32, tensor.Shape{0, 4})},
	} {
		got, err := read(c.p)
		require.NoError(t, err)
		if c.want != nil {
			require.Equal(t, c.want.DType, got.DType)
			require.Equal(t, c.want.Shape, got.Shape)
			require.Equal(t, append([]byte{}, c.want.Data...), append([]byte{}, got.Data...))
		}
	}
	_, err := read(&pb.TensorProto{DataType: proto.Int32(3), Dims: []int64{1}, Int32Data: []int32{300}})
	require.ErrorContains(t, err, `300 in int32_data does not fit int8`)
	_, err = ReadTensor(filepath.Join(dir, "none.pb"))
	require.ErrorIs(t, err, diag.ErrInvalid)
}

func TestCancelledImportStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := ImportBytes(ctx, "m", bytesOf(t, reluOf(2)), Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestScaledExtentsAreRoundedInFloat32 follows the format's own shape inference: 20 · 0.7 is 14, not 13.
func TestScaledExtentsAreRoundedInFloat32(t *testing.T) {
	g := graphOf(values(value("x", 1, 1, 1, 20, 6)), values(value("y", 1)), op("Resize", names("x", "", "s"), names("y"), attr("mode", "nearest")))
	g.Initializer = []*pb.TensorProto{floats("s", []int64{4}, 1, 1, 0.7, 1.5)}
	m, _ := load(t, model(19, g), Options{})
	require.Equal(t, tensor.Shape{1, 1, 14, 9}, relay.Tensor(m.Main().Body).Shape)
}

func TestManyOperandsAreJoinedInSteps(t *testing.T) {
	const n = 1000
	list, want := make([]string, n), make([]float32, n)
	g := graphOf(values(value("x", 1, 1)), values(value("y", 1)))
	for i := range list {
		list[i], want[i] = fmt.Sprint("c", i), float32(i)
		g.Initializer = append(g.Initializer, floats(list[i], []int64{1}, want[i]))
	}
	list[0], want[0] = "x", -1
	g.Node = []*pb.NodeProto{op("Concat", list, names("y"), attr("axis", 0))}
	m, _ := load(t, model(17, g), Options{})
	for e := range relay.PostOrder(m.Main(), false) {
		if tuple, ok := e.(*relay.Tuple); ok {
			require.LessOrEqual(t, len(tuple.Fields), maxJoined)
		}
	}
	y := compute(t, m, tensor.Of(tensor.Float32, tensor.Shape{1}, float32(-1)))
	require.Equal(t, want, tensor.View[float32](y[0]))
}

// TestManyOutputs has three messages in some twenty bytes each, which is legal.
func TestManyOutputs(t *testing.T) {
	g := graphOf(values(value("x", 1, 3000)), nil)
	list := make([]string, 3000)
	for i := range list {
		list[i] = fmt.Sprint("y", i)
		g.Output = append(g.Output, value(list[i], 1, 1))
	}
	g.Node = []*pb.NodeProto{op("Split", names("x"), list, attr("axis", 0))}
	m, _ := load(t, model(13, g), Options{})
	require.Len(t, m.Main().Body.Type().(*relay.TupleType).Fields, 3000)
}

func TestBatchNormOfOneAxisHasOneChannel(t *testing.T) {
	g := graphOf(values(value("x", 1, 3)), values(value("y", 1)), op("BatchNormalization", names("x", "s", "b", "m", "v"), names("y"), attr("epsilon", 0.0)))
	for i, v := range []float32{2, 1, 3, 4} {
		g.Initializer = append(g.Initializer, floats("sbmv"[i:i+1], []int64{1}, v))
	}
	m, _ := load(t, model(17, g), Options{})
	y := compute(t, m, tensor.Of(tensor.Float32, tensor.Shape{3}, float32(3), 5, 7))
	require.Equal(t, []float32{1, 3, 5}, tensor.View[float32](y[0]))
}

func TestADiagonalFarAwayLeavesTheMatrixWhole(t *testing.T) {
	for k, want := range map[int64][]float32{math.MinInt64: {1, 2, 3, 4}, math.MaxInt64: {0, 0, 0, 0}} {
		g := graphOf(values(value("x", 1, 2, 2)), values(value("y", 1)), op("Trilu", names("x", "k"), names("y")))
		g.Initializer = []*pb.TensorProto{int64s("k", nil, k)}
		m, _ := load(t, model(17, g), Options{})
		y := compute(t, m, tensor.Of(tensor.Float32, tensor.Shape{2, 2}, float32(1), 2, 3, 4))
		require.Equal(t, want, tensor.View[float32](y[0]), "k = %d", k)
	}
}

// TestALoopWithoutLimit has the trip count that exporters give a loop that ends by its condition.
func TestALoopWithoutLimit(t *testing.T) {
	body := graphOf(values(value("i", 7), value("go", 9), value("s", 1)), values(value("more", 9), value("r", 1)),
		op("Less", names("i", "last"), names("more")), op("Add", names("s", "s"), names("r")))
	g := graphOf(values(value("x", 1, 1)), values(value("y", 1)), op("Loop", names("trips", "yes", "x"), names("y"), attr("body", body)))
	g.Initializer = []*pb.TensorProto{int64s("trips", nil, math.MaxInt64), int64s("last", nil, 4),
		{Name: proto.String("yes"), DataType: proto.Int32(9), Int32Data: []int32{1}}}
	m, _ := load(t, model(17, g), Options{})
	y := compute(t, m, tensor.Of(tensor.Float32, tensor.Shape{1}, float32(1)))
	require.Equal(t, []float32{32}, tensor.View[float32](y[0])) // rounds 0 to 4
}

func TestAPipeIsNoModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.onnx")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, _, err := Import(context.Background(), path, Options{})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, "is not a regular file")
}
