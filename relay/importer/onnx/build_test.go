package onnx

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// Small models for the tests, made as messages.

func model(opset int64, g *pb.GraphProto) *pb.ModelProto {
	return &pb.ModelProto{IrVersion: proto.Int64(8), ProducerName: proto.String("test"), Graph: g,
		OpsetImport: []*pb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(opset)}}}
}

func graphOf(inputs, outputs []*pb.ValueInfoProto, nodes ...*pb.NodeProto) *pb.GraphProto {
	return &pb.GraphProto{Name: proto.String("g"), Input: inputs, Output: outputs, Node: nodes}
}

func values(list ...*pb.ValueInfoProto) []*pb.ValueInfoProto { return list }

// value is a tensor's name, type and shape; a string in dims is a named extent, nil an unknown one.
func value(name string, dtype int32, dims ...any) *pb.ValueInfoProto {
	shape := &pb.TensorShapeProto{}
	for _, d := range dims {
		dim := &pb.TensorShapeProto_Dimension{}
		switch d := d.(type) {
		case int:
			dim.Value = &pb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}
		case string:
			dim.Value = &pb.TensorShapeProto_Dimension_DimParam{DimParam: d}
		}
		shape.Dim = append(shape.Dim, dim)
	}
	return &pb.ValueInfoProto{Name: &name, Type: &pb.TypeProto{Value: &pb.TypeProto_TensorType{TensorType: &pb.TypeProto_Tensor{ElemType: &dtype, Shape: shape}}}}
}

func op(name string, inputs, outputs []string, attrs ...*pb.AttributeProto) *pb.NodeProto {
	return &pb.NodeProto{OpType: &name, Name: proto.String(name + "_node"), Input: inputs, Output: outputs, Attribute: attrs}
}

func names(list ...string) []string { return list }

func attr(name string, v any) *pb.AttributeProto {
	a := &pb.AttributeProto{Name: &name}
	switch v := v.(type) {
	case int:
		a.Type, a.I = pb.AttributeProto_INT.Enum(), proto.Int64(int64(v))
	case float64:
		a.Type, a.F = pb.AttributeProto_FLOAT.Enum(), proto.Float32(float32(v))
	case string:
		a.Type, a.S = pb.AttributeProto_STRING.Enum(), []byte(v)
	case []int:
		a.Type = pb.AttributeProto_INTS.Enum()
		for _, i := range v {
			a.Ints = append(a.Ints, int64(i))
		}
	case *pb.GraphProto:
		a.Type, a.G = pb.AttributeProto_GRAPH.Enum(), v
	case *pb.TensorProto:
		a.Type, a.T = pb.AttributeProto_TENSOR.Enum(), v
	}
	return a
}

func floats(name string, dims []int64, list ...float32) *pb.TensorProto {
	t := &pb.TensorProto{Name: &name, Dims: dims, DataType: proto.Int32(1), RawData: []byte{}}
	for _, f := range list {
		t.RawData = binary.LittleEndian.AppendUint32(t.RawData, math.Float32bits(f))
	}
	return t
}

func int64s(name string, dims []int64, list ...int64) *pb.TensorProto {
	return &pb.TensorProto{Name: &name, Dims: dims, DataType: proto.Int32(7), Int64Data: list}
}

func bytesOf(t testing.TB, m proto.Message) []byte {
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	return data
}

// load imports a model that must be legal.
func load(t testing.TB, m *pb.ModelProto, opts Options) (*relay.Module, []diag.Note) {
	t.Helper()
	module, notes, err := ImportBytes(context.Background(), "model.onnx", bytesOf(t, m), opts)
	require.NoError(t, err)
	require.NoError(t, relay.Verify(module))
	return module, notes
}

// refuse imports a model that must not be legal, and checks the kind and the text of the error.
func refuse(t testing.TB, m *pb.ModelProto, opts Options, kind error, texts ...string) {
	t.Helper()
	_, _, err := ImportBytes(context.Background(), "model.onnx", bytesOf(t, m), opts)
	require.ErrorIs(t, err, kind)
	for _, text := range texts {
		require.ErrorContains(t, err, text)
	}
}

// compute evaluates a module.
func compute(t testing.TB, m *relay.Module, args ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	out, err := eval.Tensors(context.Background(), m.Main(), args)
	require.NoError(t, err)
	return out
}
