package relaytext

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// input returns the variable of a parameter of main, or the constant that takes its place.
func (r *reader) input(v variable) relay.Expr {
	name := v.name
	if all := r.meta.ours.Inputs; len(r.inputs) < len(all) {
		name = all[len(r.inputs)]
	}
	r.inputs = append(r.inputs, name)
	t, ok := v.typ.(*relay.TensorType)
	switch {
	case isRefused(v.typ):
		return nil
	case !ok:
		r.fail(diag.Unsupported(step, "%"+v.name, "the parameter of main has type %s; wanted a tensor", typeText(v.typ)).At(v.pos))
		return nil
	}
	shape := slices.Clone(t.Shape)
	if given, ok := r.o.Shapes[name]; ok {
		if !fits(t, &relay.TensorType{Shape: given, DType: t.DType}) || !tensor.Shape(given).Known() {
			r.fail(diag.Invalid(step, "%"+v.name, "shape %v is given for %v", tensor.Shape(given), t).At(v.pos))
			return nil
		}
		shape = slices.Clone(given)
	}
	if value := r.value(name, v); value != nil {
		if !fits(t, &relay.TensorType{Shape: value.Shape, DType: value.DType}) {
			r.fail(diag.Invalid(step, "%"+v.name, "a value of %v of shape %v is given for %v", value.DType, value.Shape, t).At(v.pos))
			return nil
		}
		return relay.NewConstant(value, name, v.pos)
	}
	for axis, extent := range shape {
		if extent != tensor.Unknown {
			continue
		}
		if axis > 0 {
			r.fail(diag.Unsupported(step, "%"+v.name, "axis %d of %v has no known extent; give the shape of input %q", axis, t, name).At(v.pos))
			return nil
		}
		shape[0] = max(1, r.o.Batch)
		r.openInputs[name] = true
		r.o.Notes.Add(diag.Default, step, name, "axis 0 is not known in the model: taken as a batch of %d", shape[0])
	}
	return relay.NewVar(name, &relay.TensorType{Shape: shape, DType: t.DType}, v.pos)
}

// value returns the value that is given for a parameter of main, or nil.
func (r *reader) value(name string, v variable) *tensor.Tensor {
	if t := r.o.Values[name]; t != nil {
		return t
	}
	for _, key := range []string{name, v.name, strings.TrimPrefix(v.name, "v"), r.params[v.name]} {
		if t := r.o.Params[key]; t != nil {
			r.taken[key] = true
			return t
		}
	}
	if at := slices.IndexFunc(r.meta.ours.Defaults, func(i relay.ConstantInfo) bool { return i.Name == name }); at >= 0 && r.o.FreezeDefaults {
		return r.data(r.meta.ours.Defaults[at], fmt.Sprintf("default of %q", name), r.meta.pos)
	}
	return nil
}

// finish makes the module of what was read.
func (r *reader) finish() *relay.Module {
	main := r.funcs["main"]
	if main == nil {
		r.fail(diag.Invalid(step, "", "no function is named @main").At(diag.Pos{File: r.file, Line: 1, Col: 1}))
		return nil
	}
	ours := &r.meta.ours
	m := &relay.Module{Funcs: r.funcs, Meta: ours.Meta, Extents: ours.Extents, Outputs: ours.Outputs}
	if len(r.openInputs) > 0 {
		m.Batch = "?"
	}
	r.outputs(m)
	for _, p := range main.Params {
		if relay.Tensor(p) == nil { // of a lone function
			r.fail(diag.Unsupported(step, "%"+p.Name, "the parameter of main has type %v; wanted a tensor", p.Type()).At(p.Pos()))
		}
	}
	names := map[string]bool{}
	for i, name := range r.inputs {
		if name == "" || names[name] {
			r.fail(diag.Invalid(step, "inputs", "input %d is named %q, wanted a name of its own", i, name).At(r.meta.pos))
		}
		names[name] = true
	}
	for kind, given := range map[string][]string{"a value": keys(r.o.Values), "a shape": keys(r.o.Shapes), "a default": defaultNames(ours.Defaults)} {
		for _, name := range given {
			if !names[name] {
				r.fail(diag.Invalid(step, name, "%s is given, but no input has this name%s", kind, diag.Meant(name, r.inputs)).At(main.Pos()))
			}
		}
	}
	for _, info := range ours.Defaults {
		r.defaultValue(m, info)
	}
	for _, key := range slices.Sorted(maps.Keys(r.o.Params)) {
		if !r.taken[key] {
			r.o.Notes.Add(diag.Default, step, key, "a parameter that no input of main is named as is passed over")
		}
	}
	return m
}

func keys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	return names
}

func defaultNames(list []relay.ConstantInfo) []string {
	names := make([]string, len(list))
	for i, info := range list {
		names[i] = info.Name
	}
	return names
}

// outputs checks the result of main, and names its parts where the text does not.
func (r *reader) outputs(m *relay.Module) {
	main := m.Main()
	fields := []relay.Type{main.Body.Type()}
	if t, ok := fields[0].(*relay.TupleType); ok {
		fields = t.Fields
	}
	if m.Outputs == nil {
		for i := range fields {
			m.Outputs = append(m.Outputs, "output_"+strconv.Itoa(i))
		}
		if len(fields) == 1 {
			m.Outputs[0] = "output"
		}
	}
	fail := func(kind func(step, node, format string, args ...any) *diag.Error, format string, args ...any) {
		r.fail(kind(step, "outputs", format, args...).At(main.Pos()))
	}
	if len(m.Outputs) != len(fields) {
		fail(diag.Invalid, "main has %d results, the metadata section names %d", len(fields), len(m.Outputs))
		return
	}
	names := make(map[string]bool, len(fields))
	for i, f := range fields {
		if _, ok := f.(*relay.TensorType); !ok {
			fail(diag.Unsupported, "result %d of main has type %v; wanted a tensor", i, f)
			return
		}
		if m.Outputs[i] == "" || names[m.Outputs[i]] {
			fail(diag.Invalid, "output %d is named %q, wanted a name of its own", i, m.Outputs[i])
		}
		names[m.Outputs[i]] = true
	}
	for name, e := range m.Extents {
		at := slices.Index(m.Outputs, name)
		if at < 0 || e.Axis < 0 || e.Axis >= len(fields[at].(*relay.TensorType).Shape) || e.Output < 0 || e.Output >= len(fields) ||
			!relay.TypeEqual(fields[e.Output], &relay.TensorType{Shape: tensor.Shape{1}, DType: tensor.Int64}) {
			fail(diag.Invalid, "the extent of %q is axis %d by output %d, which do not fit", name, e.Axis, e.Output)
		}
	}
}

// defaultValue adds the default of an input.
func (r *reader) defaultValue(m *relay.Module, info relay.ConstantInfo) {
	i := slices.IndexFunc(m.Main().Params, func(p *relay.Var) bool { return p.Name == info.Name })
	if i < 0 { // a value is bound to it, or the error is there already
		return
	}
	t := r.data(info, fmt.Sprintf("default of %q", info.Name), r.meta.pos)
	if t == nil {
		return
	}
	if want := m.Main().Params[i].Type(); !relay.TypeEqual(want, &relay.TensorType{Shape: t.Shape, DType: t.DType}) {
		r.fail(diag.Invalid(step, info.Name, "the default is %v of shape %v, the input %v", t.DType, t.Shape, want).At(r.meta.pos))
		return
	}
	if m.Defaults == nil {
		m.Defaults = map[string]*tensor.Tensor{}
	}
	m.Defaults[info.Name] = t
}
