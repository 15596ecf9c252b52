package relay

import (
	"reflect"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// PrintOpen returns the text of a model whose batch is open: m and other are that model imported for different numbers of rows.
// An extent in which they differ is written ?, and −1 in the shape that a reshape gives, so that the text is the model for any
// number of rows.
//
// ErrUnsupported says what else depends on the batch: an attribute, a constant, a parameter of a function within, or the course of
// the graph. The text has no form for these.
func (o PrintOptions) PrintOpen(m, other *Module) (string, error) {
	to, from := map[Expr]Expr{}, map[Expr]Expr{}
	for name, f := range m.Funcs {
		if other.Funcs[name] == nil {
			return "", dependent(f, name, "the function")
		}
		ours, theirs := slices.Collect(PostOrder(f, true)), slices.Collect(PostOrder(other.Funcs[name], true))
		for i, e := range ours {
			if i >= len(theirs) || !alike(e, theirs[i]) {
				return "", dependent(e, kindOf(e), "what is computed here")
			}
			to[e], from[theirs[i]] = theirs[i], e
			switch e := e.(type) {
			case *Let:
				v := theirs[i].(*Let).Var
				to[e.Var], from[v] = v, e.Var
			case *Function:
				for j, v := range e.Params {
					w := theirs[i].(*Function).Params[j]
					if to[v], from[w] = w, v; e != m.Main() && !TypeEqual(v.Type(), w.Type()) {
						return "", dependent(v, "%"+v.Name, "the parameter of a function within")
					}
				}
			}
		}
	}
	text := o.print(m, to)
	if again := o.print(other, from); again != text {
		line, differs := firstDifference(text, again)
		return "", diag.Unsupported("print", "main", "%q depends on the batch, which is %q with another one; the text cannot leave the batch open", line, differs)
	}
	return text, nil
}

func dependent(e Expr, node, what string) error {
	return diag.Unsupported("print", node, "%s depends on the batch, so that the text cannot leave it open", what).At(e.Pos())
}

// kindOf is what a message calls a node.
func kindOf(e Expr) string {
	switch e := e.(type) {
	case *Call:
		if e.Op != nil {
			return e.Op.Name
		}
	case *Constant:
		if e.Name != "" {
			return e.Name
		}
	}
	return strings.ToLower(strings.TrimPrefix(reflect.TypeOf(e).String(), "*relay."))
}

// alike reports whether two nodes do the same, whatever their operands are.
func alike(a, b Expr) bool {
	if reflect.TypeOf(a) != reflect.TypeOf(b) || len(Operands(a)) != len(Operands(b)) {
		return false
	}
	switch a := a.(type) {
	case *Constant:
		b := b.(*Constant)
		return TypeEqual(a.Type(), b.Type()) && (a.Value == b.Value || sameTensor(a.Value, b.Value))
	case *Call:
		b := b.(*Call)
		return a.Op == nil && b.Op == nil || a.Op != nil && b.Op != nil && a.Op.Name == b.Op.Name &&
			slices.Equal(writtenAttrs(a.Op, openAttrs(a, b)), writtenAttrs(b.Op, openAttrs(b, a)))
	case *Function:
		return len(a.Params) == len(b.(*Function).Params)
	}
	return true
}

// firstDifference returns the first line of a that b has not, and what b has there.
func firstDifference(a, b string) (string, string) {
	ours, theirs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i, line := range ours {
		if i >= len(theirs) {
			return strings.TrimSpace(line), ""
		}
		if line != theirs[i] {
			return strings.TrimSpace(line), strings.TrimSpace(theirs[i])
		}
	}
	return "", ""
}

// typeOf prints the type of a node; what another batch would change is open.
func (p *printer) typeOf(e Expr) string {
	if other := p.beside[e]; other != nil {
		return openType(e.Type(), other.Type()).String()
	}
	return e.Type().String()
}

// attrsOf returns the attributes of a call, likewise.
func (p *printer) attrsOf(c *Call) any {
	if other, ok := p.beside[c].(*Call); ok {
		return openAttrs(c, other)
	}
	return c.Attrs
}

// openType returns a with the extents open in which b differs.
func openType(a, b Type) Type {
	switch a := a.(type) {
	case *TensorType:
		b, ok := b.(*TensorType)
		if !ok || len(a.Shape) != len(b.Shape) || a.Shape.Equal(b.Shape) {
			return a
		}
		shape := a.Shape.Clone()
		for i := range shape {
			if shape[i] != b.Shape[i] {
				shape[i] = tensor.Unknown
			}
		}
		return &TensorType{shape, a.DType}
	case *TupleType:
		b, ok := b.(*TupleType)
		if !ok || len(a.Fields) != len(b.Fields) {
			return a
		}
		return &TupleType{openTypes(a.Fields, b.Fields)}
	case *FuncType:
		b, ok := b.(*FuncType)
		if !ok || len(a.Params) != len(b.Params) {
			return a
		}
		return &FuncType{openTypes(a.Params, b.Params), openType(a.Result, b.Result)}
	}
	return a
}

func openTypes(a, b []Type) []Type {
	list := make([]Type, len(a))
	for i := range a {
		list[i] = openType(a[i], b[i])
	}
	return list
}

// openAttrs returns the attributes of a, of a reshape with −1 for the only extent in which b differs.
func openAttrs(a, b *Call) any {
	to, reshape := a.Attrs.(*ReshapeAttrs)
	other, both := b.Attrs.(*ReshapeAttrs)
	if !reshape || !both || len(to.NewShape) != len(other.NewShape) || slices.Contains(to.NewShape, 0) {
		return a.Attrs
	}
	open := *to
	open.NewShape = slices.Clone(to.NewShape)
	differ := 0
	for i, extent := range to.NewShape {
		if extent != other.NewShape[i] {
			open.NewShape[i] = -1
			differ++
		}
	}
	if differ != 1 {
		return a.Attrs
	}
	return &open
}
