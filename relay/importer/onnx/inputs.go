package onnx

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// inputs makes the parameters of main: one for each graph input that is neither bound to a value nor a constant. An
// initialiser that is an input too is a parameter with a default value since IR version 4, a constant before.
func (im *importer) inputs(sc *scope, g *pb.GraphProto, m *relay.Module) ([]*relay.Var, error) {
	initial := map[string]*pb.TensorProto{}
	for _, p := range g.GetInitializer() {
		initial[p.GetName()] = p
	}
	for _, p := range g.GetSparseInitializer() {
		initial[p.GetValues().GetName()] = p.GetValues()
	}
	if err := im.checkNames(g, initial); err != nil {
		return nil, err
	}
	if err := im.bindGiven(g, initial); err != nil {
		return nil, err
	}
	var params []*relay.Var
	for _, v := range g.GetInput() {
		name := v.GetName()
		p, hasDefault := initial[name]
		if value := im.opts.Values[name]; value != nil {
			if err := im.checkValue(v, value); err != nil {
				return nil, err
			}
			sc.values[name] = relay.NewConstant(value, name, im.pos(name))
			im.notes.Add(diag.Bound, step, name, "the input is bound to a value of type %v%v: it is no input of the compiled model", value.DType, value.Shape)
			continue
		}
		if hasDefault && (im.irVersion < 4 || im.opts.FreezeDefaults) {
			continue
		}
		if hasDefault {
			t, err := im.src.tensor(p, "initialiser "+quote(name), im.pos(""))
			if err != nil {
				return nil, err
			}
			if m.Defaults == nil {
				m.Defaults = map[string]*tensor.Tensor{}
			}
			m.Defaults[name] = t
			param := relay.NewVar(name, &relay.TensorType{Shape: t.Shape, DType: t.DType}, im.pos(name))
			sc.values[name], params = param, append(params, param)
			im.notes.Add(diag.Default, step, name, "the initialiser is an input too: it stays an input, with its value as the default")
			continue
		}
		t, err := im.inputType(v)
		if err != nil {
			return nil, err
		}
		param := relay.NewVar(name, t, im.pos(name))
		sc.values[name], params = param, append(params, param)
	}
	return params, nil
}

// checkNames refuses two inputs of one name, and options that name no input.
func (im *importer) checkNames(g *pb.GraphProto, initial map[string]*pb.TensorProto) error {
	known := map[string]bool{}
	var names []string
	for i, v := range g.GetInput() {
		if v.GetName() == "" {
			return diag.Invalid(step, g.GetName(), "input %d of the graph has no name", i).At(im.pos(""))
		}
		if known[v.GetName()] {
			return diag.Invalid(step, v.GetName(), "two inputs have this name").At(im.pos(""))
		}
		known[v.GetName()] = true
		if initial[v.GetName()] == nil {
			names = append(names, v.GetName())
		}
	}
	for _, given := range []struct {
		flag  string
		names []string
	}{
		{"--input-shape", slices.Sorted(maps.Keys(im.opts.InputShapes))},
		{"--input", slices.Sorted(maps.Keys(im.opts.Values))},
	} {
		for _, name := range given.names {
			if !known[name] {
				return diag.Invalid(step, name, "%s names no input of the model; its inputs are %s", given.flag, strings.Join(names, ", ")).At(im.pos(""))
			}
		}
	}
	return nil
}

// bindGiven learns named dimensions from the shapes and values that were given.
func (im *importer) bindGiven(g *pb.GraphProto, initial map[string]*pb.TensorProto) error {
	for _, v := range g.GetInput() {
		given, ok := im.opts.InputShapes[v.GetName()]
		if value := im.opts.Values[v.GetName()]; value != nil {
			given, ok = value.Shape, true
		}
		declared := v.GetType().GetTensorType().GetShape()
		if !ok || declared == nil {
			continue
		}
		if len(declared.GetDim()) != len(given) {
			return diag.Invalid(step, v.GetName(), "shape %v was given, the model has %d axes", tensor.Shape(given), len(declared.GetDim())).At(im.pos(""))
		}
		for axis, d := range declared.GetDim() {
			extent := given[axis]
			if extent < 0 {
				return diag.Invalid(step, v.GetName(), "axis %d was given as %d; wanted an extent of 0 or more", axis, extent).At(im.pos(""))
			}
			if _, isValue := d.GetValue().(*pb.TensorShapeProto_Dimension_DimValue); isValue && d.GetDimValue() >= 0 && d.GetDimValue() != int64(extent) {
				return diag.Invalid(step, v.GetName(), "axis %d was given as %d, the model has %d", axis, extent, d.GetDimValue()).At(im.pos(""))
			}
			name := d.GetDimParam()
			if anonymous(name) {
				continue
			}
			if old, bound := im.dims[name]; bound && old != extent {
				return diag.Invalid(step, v.GetName(), "axis %d, %s, was given as %d and elsewhere as %d", axis, name, extent, old).At(im.pos(""))
			}
			im.dims[name] = extent
		}
	}
	return nil
}

// anonymous reports whether a dimension's name says nothing: converters write "" and "?" for axes that have nothing
// in common.
func anonymous(name string) bool { return name == "" || name == "?" }

func (im *importer) checkValue(v *pb.ValueInfoProto, value *tensor.Tensor) error {
	if err := value.Check(); err != nil {
		return diag.Invalid(step, v.GetName(), "the value that was given is damaged").By(err).At(im.pos(""))
	}
	want, err := im.elemType(v)
	if err == nil && want != value.DType {
		err = diag.Invalid(step, v.GetName(), "a value of type %v was given, the model has %v", value.DType, want).At(im.pos(""))
	}
	return err
}

func (im *importer) elemType(v *pb.ValueInfoProto) (tensor.DType, error) {
	switch v.GetType().GetValue().(type) {
	case *pb.TypeProto_TensorType:
		return dtype(v.GetType().GetTensorType().GetElemType(), "input "+quote(v.GetName()), im.pos(""))
	case *pb.TypeProto_SequenceType:
		return tensor.Invalid, diag.Unsupported(step, v.GetName(), "the input is a sequence").At(im.pos(""))
	case *pb.TypeProto_OptionalType:
		return tensor.Invalid, diag.Unsupported(step, v.GetName(), "the input is an optional value").At(im.pos(""))
	case *pb.TypeProto_MapType:
		return tensor.Invalid, diag.Unsupported(step, v.GetName(), "the input is a map").At(im.pos(""))
	case *pb.TypeProto_SparseTensorType:
		return tensor.Invalid, diag.Unsupported(step, v.GetName(), "the input is a sparse tensor").At(im.pos(""))
	case *pb.TypeProto_OpaqueType:
		return tensor.Invalid, diag.Unsupported(step, v.GetName(), "the input is an opaque value").At(im.pos(""))
	}
	return tensor.Invalid, diag.Invalid(step, v.GetName(), "the input has no type").At(im.pos(""))
}

// inputType returns the static type of an input, its unknown axes bound.
func (im *importer) inputType(v *pb.ValueInfoProto) (*relay.TensorType, error) {
	name := v.GetName()
	d, err := im.elemType(v)
	if err != nil {
		return nil, err
	}
	given, ok := im.opts.InputShapes[name]
	declared := v.GetType().GetTensorType().GetShape()
	if ok {
		for axis, extent := range given { // bindGiven has compared it with the model
			if extent < 0 {
				return nil, diag.Invalid(step, name, "axis %d was given as %d; wanted an extent of 0 or more", axis, extent).At(im.pos(""))
			}
		}
		return im.sized(name, d, slices.Clone(given))
	}
	if declared == nil {
		return nil, diag.Invalid(step, name, "the model does not say how many axes this input has: give its shape with --input-shape %s=…", name).At(im.pos(""))
	}
	shape := make(tensor.Shape, len(declared.GetDim()))
	var unknown []int
	for axis, dim := range declared.GetDim() {
		extent, bound := im.dims[dim.GetDimParam()]
		_, isValue := dim.GetValue().(*pb.TensorShapeProto_Dimension_DimValue)
		switch {
		case isValue && dim.GetDimValue() > math.MaxInt32:
			return nil, diag.Invalid(step, name, "axis %d has extent %d", axis, dim.GetDimValue()).At(im.pos(""))
		case isValue && dim.GetDimValue() >= 0:
			shape[axis] = int(dim.GetDimValue())
		case bound && dim.GetDimParam() != "":
			shape[axis] = extent
			im.notes.Add(diag.Bound, step, name, "axis %d, %s, is %d", axis, dim.GetDimParam(), extent)
		default:
			unknown = append(unknown, axis)
		}
	}
	if len(unknown) == 1 && unknown[0] == 0 {
		shape[0] = max(1, im.opts.Batch)
		param := declared.GetDim()[0].GetDimParam()
		if !anonymous(param) {
			im.dims[param] = shape[0]
		}
		if im.batch == "" || anonymous(im.batch) {
			im.batch = cmp.Or(param, "?")
		}
		im.notes.Add(diag.Default, step, name, "axis 0%s is not known in the model: taken as a batch of %d", named(param), shape[0])
		unknown = nil
	}
	if len(unknown) > 0 {
		return nil, im.unbound(name, declared, unknown)
	}
	return im.sized(name, d, shape)
}

// unbound is the error of an input with axes that are not known. It names them all, and what binds all of them.
func (im *importer) unbound(name string, declared *pb.TensorShapeProto, unknown []int) error {
	var axes, params []string
	nameless := false
	for _, axis := range unknown {
		text := strconv.Itoa(axis)
		switch param := declared.GetDim()[axis].GetDimParam(); {
		case anonymous(param):
			nameless = true
		default:
			text += " (" + param + ")"
			if flag := "--dim " + param + "=N"; !slices.Contains(params, flag) {
				params = append(params, flag)
			}
		}
		axes = append(axes, text)
	}
	which := "axis " + axes[0] + " of this input is not known"
	if n := len(axes) - 1; n > 0 {
		which = "axes " + strings.Join(axes[:n], ", ") + " and " + axes[n] + " of this input are not known"
	}
	how := "give the shape with --input-shape " + name + "=" + pattern(declared)
	if !nameless {
		how += ", or the extents with " + strings.Join(params, " ")
	}
	return diag.Invalid(step, name, "%s: %s", which, how).At(im.pos(""))
}

// sized refuses a shape that no memory holds.
func (im *importer) sized(name string, d tensor.DType, shape tensor.Shape) (*relay.TensorType, error) {
	if n := shape.Elems(); n < 0 || n > math.MaxInt/128 {
		return nil, diag.Invalid(step, name, "shape %v of %v is larger than memory", shape, d).At(im.pos(""))
	}
	return &relay.TensorType{Shape: shape, DType: d}, nil
}

func named(param string) string {
	if param == "" {
		return ""
	}
	return ", " + param + ","
}

// pattern prints a shape as the flag wants it, unknown extents as names.
func pattern(shape *pb.TensorShapeProto) string {
	var parts []string
	for _, d := range shape.GetDim() {
		_, isValue := d.GetValue().(*pb.TensorShapeProto_Dimension_DimValue)
		switch {
		case isValue && d.GetDimValue() >= 0:
			parts = append(parts, tensorInt(d.GetDimValue()))
		case d.GetDimParam() != "":
			parts = append(parts, d.GetDimParam())
		default:
			parts = append(parts, "?")
		}
	}
	return strings.Join(parts, ",")
}
