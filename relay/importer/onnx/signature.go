package onnx

import (
	"errors"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/texel-ml/texel/diag"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// Signature is what a model says of itself before any dimension is bound.
type Signature struct {
	Inputs  []Input // in the graph's order, those with a default included
	Outputs []string
	Files   []string // of external data, beside the model, sorted
}

// Input is one input of the graph.
type Input struct {
	Name    string
	DType   tensor.DType // Invalid when it is not one of ours
	Shape   tensor.Shape // tensor.Unknown where the model leaves it open; nil when it does not give the rank
	Default bool         // the model has a value for it
	Dims    []string     // names of the axes; "" where the model does not name one
}

// ReadSignature reads the names and types at the border of the model at path; it converts nothing.
func ReadSignature(path string) (*Signature, error) {
	data, closer, err := mapFile(path)
	if err != nil {
		return nil, diag.Invalid(step, path, "cannot read the model").By(err)
	}
	defer closer.Close()
	small, err := strip(data)
	if err != nil {
		return nil, diag.Invalid(step, path, "%v", err).At(diag.Pos{File: path})
	}
	model := &pb.ModelProto{}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 200}).Unmarshal(small, model); err != nil {
		return nil, diag.Invalid(step, path, "is not an ONNX model").By(errors.Unwrap(err)).At(diag.Pos{File: path})
	}
	g := model.GetGraph()
	s := &Signature{}
	initial := map[string]bool{}
	for _, t := range g.GetInitializer() {
		initial[t.GetName()] = true
	}
	for _, t := range g.GetSparseInitializer() {
		initial[t.GetValues().GetName()] = true
	}
	for _, v := range g.GetInput() {
		t := v.GetType().GetTensorType()
		in := Input{Name: v.GetName(), DType: dtypes[t.GetElemType()], Default: initial[v.GetName()]}
		if t.GetShape() != nil {
			in.Shape = tensor.Shape{}
			for _, d := range t.GetShape().GetDim() {
				extent := tensor.Unknown
				if _, ok := d.GetValue().(*pb.TensorShapeProto_Dimension_DimValue); ok && d.GetDimValue() >= 0 {
					extent = int(d.GetDimValue())
				}
				name := d.GetDimParam()
				if anonymous(name) {
					name = ""
				}
				in.Shape, in.Dims = append(in.Shape, extent), append(in.Dims, name)
			}
		}
		s.Inputs = append(s.Inputs, in)
	}
	for _, o := range g.GetOutput() {
		s.Outputs = append(s.Outputs, o.GetName())
	}
	locations := map[string]bool{}
	externalOf(g, locations)
	for _, f := range model.GetFunctions() {
		externalOfNodes(f.GetNode(), locations)
	}
	for l := range locations {
		if filepath.IsLocal(l) {
			s.Files = append(s.Files, filepath.Join(filepath.Dir(path), l))
		}
	}
	slices.Sort(s.Files)
	return s, nil
}

// externalOf adds the locations of tensors in other files.
func externalOf(g *pb.GraphProto, to map[string]bool) {
	for _, t := range g.GetInitializer() {
		locationOf(t, to)
	}
	externalOfNodes(g.GetNode(), to)
}

func externalOfNodes(nodes []*pb.NodeProto, to map[string]bool) {
	for _, n := range nodes {
		for _, a := range n.GetAttribute() {
			locationOf(a.GetT(), to)
			for _, t := range a.GetTensors() {
				locationOf(t, to)
			}
			if a.GetG() != nil {
				externalOf(a.GetG(), to)
			}
			for _, g := range a.GetGraphs() {
				externalOf(g, to)
			}
		}
	}
}

func locationOf(t *pb.TensorProto, to map[string]bool) {
	if t.GetDataLocation() != 1 {
		return
	}
	for _, e := range t.GetExternalData() {
		if e.GetKey() == "location" {
			to[e.GetValue()] = true
		}
	}
}
