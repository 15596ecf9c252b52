package relaytext

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// Input is one input of a model.
type Input struct {
	Name    string
	DType   tensor.DType
	Shape   tensor.Shape // tensor.Unknown where the text leaves it open
	Default bool         // the metadata section has a value for it
}

// ReadInputs reads what the model in the file at path takes, without the inputs that a parameter file gives; of the text
// only the head of main is read. Errors are those of Import.
func ReadInputs(path string) ([]Input, error) {
	text, err := readText(path)
	if err != nil {
		return nil, err
	}
	o := Options{Constant: undefined}
	if o.Params, err = readParams(paramFiles(path)...); err != nil {
		return nil, err
	}
	r := newReader(path, text, o)
	params, err := r.border()
	if err != nil {
		return nil, err
	}
	var inputs []Input
	for i, p := range params {
		name := p.name
		if all := r.meta.ours.Inputs; i < len(all) {
			name = all[i]
		}
		t, ok := p.typ.(*relay.TensorType)
		if !ok || r.value(name, p) != nil {
			continue
		}
		hasDefault := slices.ContainsFunc(r.meta.ours.Defaults, func(info relay.ConstantInfo) bool { return info.Name == name })
		inputs = append(inputs, Input{name, t.DType, t.Shape, hasDefault})
	}
	return inputs, nil
}

// undefined gives constants a type and no data.
func undefined(info relay.ConstantInfo) (*tensor.Tensor, error) {
	return &tensor.Tensor{DType: info.DType, Shape: info.Shape}, nil
}

// border returns the parameters of main as they are written.
func (r *reader) border() ([]variable, error) {
	var written []variable
	r.guard(func() {
		r.cutMetadata()
		r.findDefinitions()
		at, ok := r.starts["main"]
		if !ok { // a lone expression, whose parameters may stand anywhere in it
			if r.module(); len(r.errs) > 0 {
				return
			}
			if m := r.finish(); m != nil {
				for _, p := range m.Main().Params {
					typ := p.Type()
					if t, ok := typ.(*relay.TensorType); ok && r.openInputs[p.Name] {
						typ = &relay.TensorType{Shape: append(tensor.Shape{tensor.Unknown}, t.Shape[1:]...), DType: t.DType}
					}
					written = append(written, variable{name: p.Name, typ: typ})
				}
			}
			return
		}
		b := newBuilder(r)
		b.border = true
		r.parser(at, b)
		defer func() {
			for _, s := range b.signatures {
				for _, p := range s.bound {
					written = append(written, p.variable)
				}
			}
		}()
		b.parser.Definition()
	})
	return written, r.errors()
}
