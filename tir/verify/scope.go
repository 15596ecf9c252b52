package verify

import (
	"fmt"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Scope checks expressions against what is declared. The zero value has nothing declared.
type Scope struct {
	vars map[*tir.Var]bool
	bufs map[*tir.Buffer]bool
}

// Var declares a variable until undo is called. It is an error when the variable is in scope already.
func (s *Scope) Var(v *tir.Var) (undo func(), err error) {
	switch {
	case v == nil:
		return nil, fmt.Errorf("a variable is missing")
	case s.vars[v]:
		return nil, fmt.Errorf("variable %s is declared inside its own scope", v.Name)
	case s.vars == nil:
		s.vars = map[*tir.Var]bool{}
	}
	s.vars[v] = true
	return func() { delete(s.vars, v) }, nil
}

// Buffer declares a buffer until undo is called. It is an error when it is in scope already or its shape has no size.
func (s *Scope) Buffer(b *tir.Buffer) (undo func(), err error) {
	switch {
	case b == nil:
		return nil, fmt.Errorf("a buffer is missing")
	case s.bufs[b]:
		return nil, fmt.Errorf("buffer %s is declared inside its own scope", b.Name)
	case b.Elems() < 0:
		return nil, fmt.Errorf("buffer %s of shape %v has no known size", b.Name, tensor.Shape(b.Shape))
	case b.Strides != nil && len(b.Strides) != len(b.Shape):
		return nil, fmt.Errorf("buffer %s has %d strides for %d axes", b.Name, len(b.Strides), len(b.Shape))
	case overlaps(b):
		return nil, fmt.Errorf("strides %v of buffer %s of shape %v put two elements in one place", b.Strides, b.Name, tensor.Shape(b.Shape))
	case b.Scope == tir.Texture && b.Folding == nil:
		return nil, fmt.Errorf("buffer %s is a texture without a folding", b.Name)
	case b.DType.Bits() == 0:
		return nil, fmt.Errorf("buffer %s has no element type", b.Name)
	case s.bufs == nil:
		s.bufs = map[*tir.Buffer]bool{}
	}
	s.bufs[b] = true
	return func() { delete(s.bufs, b) }, nil
}

// Param declares a parameter: a buffer of global or texture scope.
func (s *Scope) Param(b *tir.Buffer) error {
	if _, err := s.Buffer(b); err != nil {
		return err
	}
	if b.Scope != tir.Global && b.Scope != tir.Texture && b.Scope != "" {
		return fmt.Errorf("parameter %s is in scope %s, wanted global or texture", b.Name, b.Scope)
	}
	return nil
}

func typeText(t tir.Type) string {
	if t.Lanes == 1 {
		return t.DType.String()
	}
	return fmt.Sprintf("%v of %d lanes", t.DType, t.Lanes)
}

// Typed checks that e has the type want; what names it in the error.
func (s *Scope) Typed(what string, e tir.Expr, want tir.Type) error {
	t, err := s.Expr(e)
	if err == nil && t != want {
		err = fmt.Errorf("%s is %s, wanted %s", what, typeText(t), typeText(want))
	}
	return err
}

// has checks that a buffer is in scope.
func (s *Scope) has(b *tir.Buffer) error {
	switch {
	case b == nil:
		return fmt.Errorf("buffer none is not in scope")
	case !s.bufs[b]:
		return fmt.Errorf("buffer %s is not in scope", b.Name)
	}
	return nil
}

// Access checks the indices of an access and returns the type of what is there.
func (s *Scope) Access(b *tir.Buffer, indices []tir.Expr) (tir.Type, error) {
	if err := s.has(b); err != nil {
		return tir.Type{}, err
	}
	if len(indices) != len(b.Shape) {
		return tir.Type{}, fmt.Errorf("%d indices for buffer %s of shape %v", len(indices), b.Name, tensor.Shape(b.Shape))
	}
	lanes := 1
	for i, e := range indices {
		t, err := s.Expr(e)
		switch {
		case err != nil:
			return t, err
		case t.DType != tensor.Int64:
			return t, fmt.Errorf("index %d of %s is %s, wanted int64", i, b.Name, typeText(t))
		case t.Lanes > 1 && lanes > 1 && t.Lanes != lanes:
			return t, fmt.Errorf("indices of %s have %d and %d lanes", b.Name, lanes, t.Lanes)
		}
		lanes = max(lanes, t.Lanes)
	}
	return tir.Type{DType: b.DType, Lanes: lanes}, nil
}

// Expr checks an expression and returns its type.
func (s *Scope) Expr(e tir.Expr) (tir.Type, error) {
	switch n := e.(type) {
	case nil:
		return tir.Type{}, fmt.Errorf("an expression is missing")
	case *tir.Var:
		if !s.vars[n] {
			return tir.Type{}, fmt.Errorf("variable %s is not in scope", n.Name)
		}
		return n.Type(), nil
	case *tir.Int:
		if n.DType.IsFloat() || n.DType.Bits() == 0 {
			return tir.Type{}, fmt.Errorf("integer constant %d of %v", n.Value, n.DType)
		}
		return n.Type(), nil
	case *tir.Float:
		if !n.DType.IsFloat() {
			return tir.Type{}, fmt.Errorf("float constant %g of %v", n.Value, n.DType)
		}
		return n.Type(), nil
	case *tir.Binary:
		return s.binary(n)
	case *tir.Not:
		t, err := s.Expr(n.A)
		if err == nil && t.DType != tensor.Bool {
			err = fmt.Errorf("not of %s, wanted bool", typeText(t))
		}
		return t, err
	case *tir.Select:
		c, err := s.Expr(n.Cond)
		if err != nil {
			return c, err
		}
		t, err := s.same("select", n.Then, n.Else)
		if err == nil && (c.DType != tensor.Bool || c.Lanes != 1 && c.Lanes != t.Lanes) {
			err = fmt.Errorf("the condition of a select of %s is %s", typeText(t), typeText(c))
		}
		return t, err
	case *tir.Cast:
		t, err := s.Expr(n.A)
		if err == nil && n.DType.Bits() == 0 {
			err = fmt.Errorf("conversion of %s to no type", typeText(t))
		}
		return tir.Type{DType: n.DType, Lanes: t.Lanes}, err
	case *tir.Load:
		return s.Access(n.Buffer, n.Indices)
	case *tir.Call:
		return s.call(n)
	case *tir.Ramp:
		t, err := s.same("ramp", n.Base, n.Stride)
		if err == nil && (t.Lanes != 1 || n.Lanes < 2 || !t.DType.IsInt()) {
			err = fmt.Errorf("a ramp of %d lanes from %s", n.Lanes, typeText(t))
		}
		return t.WithLanes(n.Lanes), err
	case *tir.Broadcast:
		t, err := s.Expr(n.A)
		if err == nil && (t.Lanes != 1 || n.Lanes < 2) {
			err = fmt.Errorf("a broadcast of %s to %d lanes", typeText(t), n.Lanes)
		}
		return t.WithLanes(n.Lanes), err
	}
	return tir.Type{}, fmt.Errorf("unknown expression %T", e)
}

func (s *Scope) same(what string, list ...tir.Expr) (tir.Type, error) {
	var first tir.Type
	for i, e := range list {
		t, err := s.Expr(e)
		if err != nil {
			return t, err
		}
		if i == 0 {
			first = t
		} else if t != first {
			return t, fmt.Errorf("operands of %s are %s and %s, wanted one type", what, typeText(first), typeText(t))
		}
	}
	return first, nil
}

func (s *Scope) binary(n *tir.Binary) (tir.Type, error) {
	t, err := s.same(n.Op.String(), n.A, n.B)
	if err != nil {
		return t, err
	}
	bitwise := n.Op >= tir.BitAnd && n.Op <= tir.Shr
	if n.Op.IsLogical() && t.DType != tensor.Bool || bitwise && t.DType.IsFloat() || t.DType.IsStorage() {
		return t, fmt.Errorf("operator %v of %s", n.Op, typeText(t))
	}
	if n.Op >= tir.EQ {
		t.DType = tensor.Bool
	}
	return t, nil
}

func (s *Scope) call(n *tir.Call) (tir.Type, error) {
	arity := 1
	switch n.Fn {
	case tir.Pow, tir.FloatMod:
		arity = 2
	case tir.FMA:
		arity = 3
	}
	if len(n.Args) != arity {
		return tir.Type{}, fmt.Errorf("%v has %d arguments, wanted %d", n.Fn, len(n.Args), arity)
	}
	t, err := s.same(n.Fn.String(), n.Args...)
	if err != nil {
		return t, err
	}
	out := t
	if out.DType = n.Fn.Result(t.DType); out.DType == tensor.Invalid {
		return t, fmt.Errorf("%v of %v", n.Fn, t.DType)
	}
	return out, nil
}
