package relay

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// Compare returns nil when a and b are the same module, else an internal error that names the first difference: the
// same functions, made of the same operators with the same attributes on the same operands and constants, with the same
// nodes shared; the same names of functions, of main's parameters and of the outputs; the same metadata. Positions,
// names of other variables, and whether equal scalars are one node make no difference.
func Compare(a, b *Module) error {
	c := &comparison{to: map[Expr]Expr{}, from: map[Expr]Expr{}}
	if !slices.Equal(slices.Sorted(maps.Keys(a.Funcs)), slices.Sorted(maps.Keys(b.Funcs))) {
		return differ(nil, "functions %v", slices.Sorted(maps.Keys(a.Funcs)), slices.Sorted(maps.Keys(b.Funcs)))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Funcs)) {
		if err := c.compare(a.Funcs[name], b.Funcs[name]); err != nil {
			return err
		}
	}
	names, _ := inputNames(a)
	others, _ := inputNames(b)
	for _, p := range [][2]any{{names, others}, {a.Outputs, b.Outputs}, {a.Extents, b.Extents}, {a.Meta, b.Meta}} {
		if v := reflect.ValueOf(p[0]); (v.Len() > 0 || reflect.ValueOf(p[1]).Len() > 0) && !reflect.DeepEqual(p[0], p[1]) {
			return differ(nil, "metadata %v", p[0], p[1])
		}
	}
	if !maps.EqualFunc(a.Defaults, b.Defaults, sameTensor) {
		return differ(nil, "defaults of %v", slices.Sorted(maps.Keys(a.Defaults)), slices.Sorted(maps.Keys(b.Defaults)))
	}
	return nil
}

// comparison pairs the nodes of two modules, one to one.
type comparison struct{ to, from map[Expr]Expr }

// differ describes a difference by format, which prints one side.
func differ(e Expr, format string, a, b any) error {
	err := diag.Internal("compare", "", format+" against "+format, a, b)
	if e != nil {
		err = err.At(e.Pos())
	}
	return err
}

// compare pairs a with b and everything below.
func (c *comparison) compare(a, b Expr) error {
	todo := [][2]Expr{{a, b}}
	for len(todo) > 0 {
		a, b := todo[len(todo)-1][0], todo[len(todo)-1][1]
		todo = todo[:len(todo)-1]
		if reflect.TypeOf(a) != reflect.TypeOf(b) {
			return differ(a, "a %T", a, b)
		}
		if isLiteral(a) && isLiteral(b) {
			if !sameTensor(a.(*Constant).Value, b.(*Constant).Value) {
				return differ(a, "scalar %v", tensor.Widen(a.(*Constant).Value), tensor.Widen(b.(*Constant).Value))
			}
			continue
		}
		paired, seen := c.to[a]
		if other := c.from[b]; seen && paired != b || !seen && other != nil {
			return differ(a, "the %T is shared otherwise", a, b)
		}
		if seen {
			continue
		}
		c.to[a], c.from[b] = b, a
		if err := sameNode(a, b); err != nil {
			return err
		}
		if f, ok := a.(*Function); ok {
			for i, p := range f.Params {
				todo = append(todo, [2]Expr{p, b.(*Function).Params[i]})
			}
		}
		if l, ok := a.(*Let); ok {
			todo = append(todo, [2]Expr{l.Var, b.(*Let).Var})
		}
		to := Operands(b)
		for i, o := range Operands(a) {
			todo = append(todo, [2]Expr{o, to[i]})
		}
	}
	return nil
}

func isLiteral(e Expr) bool {
	c, ok := e.(*Constant)
	return ok && InText(c.Value)
}

func sameTensor(a, b *tensor.Tensor) bool {
	return a.DType == b.DType && a.Shape.Equal(b.Shape) && bytes.Equal(a.Data, b.Data)
}

// sameNode compares two nodes of one kind without their operands, of which they have equally many if it returns nil.
func sameNode(a, b Expr) error {
	if !TypeEqual(a.Type(), b.Type()) {
		return differ(a, "type %v", a.Type(), b.Type())
	}
	switch a := a.(type) {
	case *Constant:
		if b := b.(*Constant); a.Name != b.Name || !sameTensor(a.Value, b.Value) {
			return differ(a, "constant %q", a.Name, b.Name)
		}
	case *Call:
		b := b.(*Call)
		if name, other := calledName(a), calledName(b); name != other || len(a.Args) != len(b.Args) {
			return differ(a, "call of %s", name, other)
		}
		fields, others := AttrFields(a.Attrs), AttrFields(b.Attrs)
		for i, f := range fields {
			if i >= len(others) || FormatAttr(f.Value) != FormatAttr(others[i].Value) {
				return differ(a, calledName(a)+" with %v", fields, others)
			}
		}
	case *TupleGet:
		if b := b.(*TupleGet); a.Index != b.Index {
			return differ(a, "field %d", a.Index, b.Index)
		}
	case *Loop:
		b := b.(*Loop)
		groups, others := a.Operands(), b.Operands()
		for i := range groups {
			if len(groups[i]) != len(others[i]) || a.Max != b.Max {
				return differ(a, "loop of %v", a.Type(), b.Type())
			}
		}
	case *Function:
		if b := b.(*Function); a.Primitive != b.Primitive || len(a.Attrs)+len(b.Attrs) > 0 && !maps.Equal(a.Attrs, b.Attrs) {
			return differ(a, "function with %v", a.Attrs, b.Attrs)
		}
	}
	return nil
}

// calledName returns the name of a called operator, or says that a function is called.
func calledName(c *Call) string {
	if c.Op == nil {
		return "a function"
	}
	return c.Op.Name
}
