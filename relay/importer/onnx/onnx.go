// Package onnx reads ONNX models into relay modules.
//
// The file is mapped. A scan of its wire format finds where each tensor's raw data lies and leaves those bytes out
// before the message is decoded, so that weights stay views of the mapping; external data files, only those inside
// the model's folder, are mapped in the same way. Each node becomes calls of relay operators by one row of the
// operator table of this package. Shapes are static after import: unknown dimensions are bound by the options, and
// everything that is computed from shapes (Shape, Gather, Concat, Reshape …) is evaluated here. Model-local
// functions and branches with a known condition are inlined.
//
// Memory grows with the size of the file, never with a number that stands in it: a scan that finds more messages
// than 32,768 and one in eight bytes refuses the file, and filled tensors (ConstantOfShape, Expand) stay calls.
package onnx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/texel-ml/texel/diag"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

const step = "import"

// Options bind what a model leaves open. The zero value binds nothing.
type Options struct {
	// InputShapes gives the whole shape of an input, by name. The rank and every known dimension must agree with
	// the model.
	InputShapes map[string][]int
	// Dims gives the extent of a named dimension (dim_param), in every input that has it.
	Dims map[string]int
	// Batch is the extent of axis 0 of inputs in which the model leaves just that one open and nothing above gives it; 0 is 1.
	Batch int
	// Values binds inputs to constants: shapes, axes, repeats and other values that must be known to compile. A
	// bound input is no parameter of the module.
	Values map[string]*tensor.Tensor
	// FreezeDefaults makes constants of the initialisers that are also inputs. By default they are parameters with
	// a default value, as the format has it since IR version 4.
	FreezeDefaults bool
	// MaxTrips bounds the rounds of a Loop that collects values and whose number of rounds is known only when the model
	// runs; 0 is no bound, and such a Loop is refused. More rounds are an error of the run.
	MaxTrips int
	// Table holds the operators to build with; nil takes relay.Core.
	Table *relay.Table
}

// Import reads the model in the file at path. The constants of the module are views of mapped files, which are
// closed with the module (relay.Module.Close).
func Import(ctx context.Context, path string, opts Options) (*relay.Module, []diag.Note, error) {
	data, closer, err := mapFile(path)
	if err != nil {
		return nil, nil, diag.Invalid(step, path, "cannot read the model").By(err)
	}
	src := &source{name: path, data: data, dir: filepath.Dir(path), closers: []io.Closer{closer}}
	m, notes, err := importModel(ctx, src, opts)
	if err != nil {
		src.close()
		return nil, notes, err
	}
	m.Backing = src.closers
	return m, notes, nil
}

// ImportBytes reads the model in data, which the constants of the module keep in use. A model with external data
// is refused: it has no folder. name stands in positions.
func ImportBytes(ctx context.Context, name string, data []byte, opts Options) (*relay.Module, []diag.Note, error) {
	return importModel(ctx, &source{name: name, data: data}, opts)
}

func importModel(ctx context.Context, src *source, opts Options) (m *relay.Module, notes []diag.Note, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, diag.Internal(step, src.name, "%v\n%s", r, debug.Stack())
		}
	}()
	small, err := strip(src.data)
	if err != nil {
		return nil, nil, diag.Invalid(step, src.name, "%v", err).At(diag.Pos{File: src.name})
	}
	model := &pb.ModelProto{}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 200}).Unmarshal(small, model); err != nil {
		return nil, nil, diag.Invalid(step, src.name, "is not an ONNX model").By(errors.Unwrap(err)).At(diag.Pos{File: src.name})
	}
	if opts.Table == nil {
		opts.Table = relay.Core()
	}
	im, err := newImporter(ctx, src, model, opts)
	if err != nil {
		return nil, nil, err
	}
	m, err = im.module(model)
	return m, im.notes.List(), err
}

func newImporter(ctx context.Context, src *source, model *pb.ModelProto, opts Options) (*importer, error) {
	im := &importer{ctx: ctx, src: src, opts: opts, notes: &diag.Notes{}, dims: map[string]int{}, functions: map[functionKey]*pb.FunctionProto{},
		static: map[relay.Expr]relay.Value{}, extents: map[relay.Expr]extent{}, unknown: map[relay.Expr]error{}, ranges: map[relay.Expr]interval{}, loops: map[*pb.NodeProto]bool{}, irVersion: model.GetIrVersion(), rows: rowsByName()}
	for name, extent := range opts.Dims {
		if extent < 0 {
			return nil, diag.Invalid(step, name, "--dim %s=%d: wanted an extent of 0 or more", name, extent)
		}
		im.dims[name] = extent
	}
	if model.GetGraph() == nil {
		return nil, diag.Invalid(step, src.name, "has no graph: it is not an ONNX model").At(diag.Pos{File: src.name})
	}
	for _, f := range model.GetFunctions() {
		key := functionKey{domainOf(f.GetDomain()), f.GetName(), f.GetOverload()}
		if im.functions[key] != nil {
			return nil, diag.Invalid(step, f.GetName(), "two functions of domain %q have this name", key.domain).At(diag.Pos{File: src.name})
		}
		im.functions[key] = f
	}
	return im, nil
}

// module converts the model's graph into a function of its inputs.
func (im *importer) module(model *pb.ModelProto) (*relay.Module, error) {
	g := model.GetGraph()
	opsets, err := im.opsets(model.GetOpsetImport(), g.GetName())
	if err != nil {
		return nil, err
	}
	im.main, im.mainOpsets = g, opsets
	sc := &scope{values: map[string]relay.Expr{}, opsets: opsets}
	m := &relay.Module{Meta: metadata(model)}
	params, err := im.inputs(sc, g, m)
	if err != nil {
		return nil, err
	}
	m.Batch = im.batch
	outputs, err := im.graph(sc, g)
	if err != nil {
		return nil, err
	}
	if len(outputs) == 0 {
		return nil, diag.Invalid(step, g.GetName(), "the graph has no output").At(im.pos(""))
	}
	seen := map[string]bool{}
	for i, o := range g.GetOutput() {
		if o.GetName() == "" {
			return nil, diag.Invalid(step, g.GetName(), "output %d of the graph has no name", i).At(im.pos(""))
		}
		if seen[o.GetName()] {
			return nil, diag.Invalid(step, o.GetName(), "two outputs have this name").At(im.pos(""))
		}
		seen[o.GetName()] = true
		m.Outputs = append(m.Outputs, o.GetName())
	}
	for i, e := range outputs { // the number of real rows is an output of its own
		if x, ok := im.extents[e]; ok {
			if d := relay.Tensor(e).DType; d.Bits() < 8 { // elements that share bytes could not be moved together
				return nil, diag.Unsupported(step, m.Outputs[i], "an output of %v whose extent is known only when the model runs", d).At(im.pos(""))
			}
			if m.Extents == nil {
				m.Extents = map[string]relay.Extent{}
			}
			m.Extents[m.Outputs[i]] = relay.Extent{Axis: x.axis, Output: len(outputs)}
			name := m.Outputs[i] + ".count"
			for seen[name] {
				name += "_"
			}
			seen[name] = true
			outputs, m.Outputs = append(outputs, x.count), append(m.Outputs, name)
		}
	}
	body := outputs[0]
	if len(outputs) > 1 {
		body = relay.NewTuple(outputs, im.pos(""))
	}
	m.Funcs = map[string]*relay.Function{"main": relay.NewFunction(params, body, false, nil, im.pos(""))}
	return m, nil
}

// metadata keeps what the model says of itself.
func metadata(model *pb.ModelProto) map[string]string {
	meta := map[string]string{"format": "onnx", "ir_version": strconv.FormatInt(model.GetIrVersion(), 10)}
	for _, o := range model.GetOpsetImport() {
		if domainOf(o.GetDomain()) == "" {
			meta["opset"] = strconv.FormatInt(o.GetVersion(), 10)
		}
	}
	set := func(key, value string) {
		if value != "" {
			meta[key] = value
		}
	}
	set("producer", model.GetProducerName())
	set("producer_version", model.GetProducerVersion())
	set("graph", model.GetGraph().GetName())
	for _, p := range model.GetMetadataProps() {
		set(p.GetKey(), p.GetValue())
	}
	return meta
}

// ReadTensor reads a file that holds one TensorProto, as the .pb files of the format's test suites do. The tensor
// does not keep the file open.
func ReadTensor(path string) (*tensor.Tensor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, diag.Invalid("read-tensor", path, "cannot read the tensor").By(err)
	}
	small, err := stripTensor(data)
	if err != nil {
		return nil, diag.Invalid("read-tensor", path, "%v", err)
	}
	p := &pb.TensorProto{}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 20}).Unmarshal(small, p); err != nil {
		return nil, diag.Invalid("read-tensor", path, "is not a tensor").By(err)
	}
	src := &source{name: path, data: data}
	return src.tensor(p, fmt.Sprintf("tensor %q", p.GetName()), diag.Pos{File: path})
}
