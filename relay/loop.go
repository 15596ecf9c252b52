package relay

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// Loop runs Body in rounds, each on the state that the one before left: as many as Trip says, as long as Cond holds.
//
// Body takes the number of the round from 0 on, int64 (); the state; and the captured values, which are the same in every
// round. It gives one tuple: whether another round may follow, bool (), where Cond is set; the state; and parts, which are
// stacked. It reads no variables but its parameters.
//
// The value is a tuple: the state behind the last round; for each part of shape (a…) a stack (Max, a…) whose row i is
// what round i gave, with zeros behind the last round; and the number of rounds, int64 (1,). More than Max rounds,
// where Max is not 0, are an error when the loop runs.
type Loop struct {
	node
	Trip     Expr   // int64 (); nil: no limit
	Cond     Expr   // bool (), for the first round; nil: it always holds
	State    []Expr // before the first round; tensors
	Captured []Expr // tensors
	Max      int    // 0: no limit, and no parts
	Body     *Function
}

// NewLoop returns l with its type. It is invalid when it could never end, when Body does not take and give what Loop
// says, and when the state has another type behind a round than before.
func NewLoop(l Loop, pos diag.Pos) (*Loop, error) {
	l.node = node{pos: pos}
	illegal := func(format string, args ...any) (*Loop, error) {
		return nil, diag.Invalid("infer-type", "loop", format, args...).At(pos)
	}
	switch {
	case l.Trip == nil && l.Cond == nil:
		return illegal("a loop without trip count and condition")
	case l.Trip != nil && !isScalar(l.Trip, tensor.Int64):
		return illegal("trip count of type %v, wanted an int64 of shape ()", l.Trip.Type())
	case l.Cond != nil && !isScalar(l.Cond, tensor.Bool):
		return illegal("condition of type %v, wanted a bool of shape ()", l.Cond.Type())
	case l.Max < 0:
		return illegal("at most %d rounds", l.Max)
	}
	params := append(append([]Expr{}, l.State...), l.Captured...)
	if len(l.Body.Params) != 1+len(params) || !isScalar(l.Body.Params[0], tensor.Int64) {
		return illegal("the body has type %v, wanted the round, an int64 of shape (), %d values of the state and %d captured ones",
			l.Body.Type(), len(l.State), len(l.Captured))
	}
	for i, e := range params {
		p := l.Body.Params[1+i]
		if Tensor(e) == nil || !TypeEqual(e.Type(), p.Type()) {
			return illegal("the body takes %q of type %v, found %v", p.Name, p.Type(), e.Type())
		}
	}
	parts, err := l.parts()
	if err != nil {
		return nil, err.At(pos)
	}
	result := &TupleType{}
	for _, e := range l.State {
		result.Fields = append(result.Fields, e.Type())
	}
	for _, t := range parts {
		stack := &TensorType{append(tensor.Shape{l.Max}, t.Shape...), t.DType}
		if n := stack.Shape.Elems(); n < 0 || n > maxElems {
			return nil, diag.Unsupported("infer-type", "loop", "a stack of type %v is too large", stack).At(pos)
		}
		result.Fields = append(result.Fields, stack)
	}
	result.Fields = append(result.Fields, &TensorType{tensor.Shape{1}, tensor.Int64})
	l.typ = result
	return &l, nil
}

// parts checks what the body gives, and returns the types of the parts.
func (l *Loop) parts() ([]*TensorType, *diag.Error) {
	invalid := func(format string, args ...any) ([]*TensorType, *diag.Error) {
		return nil, diag.Invalid("infer-type", "loop", format, args...)
	}
	given, ok := l.Body.Body.Type().(*TupleType)
	if !ok || len(given.Fields) < l.FirstPart() {
		return invalid("the body gives %v, wanted a tuple of %d values or more", l.Body.Body.Type(), l.FirstPart())
	}
	fields := given.Fields
	if l.Cond != nil {
		if !TypeEqual(fields[0], l.Cond.Type()) {
			return invalid("the body gives a condition of type %v, wanted a bool of shape ()", fields[0])
		}
		fields = fields[1:]
	}
	for i, e := range l.State {
		if !TypeEqual(fields[i], e.Type()) {
			return invalid("%q has type %v behind a round, and %v before", l.Body.Params[1+i].Name, fields[i], e.Type())
		}
	}
	fields = fields[len(l.State):]
	if len(fields) > 0 && l.Max == 0 {
		return invalid("%d parts are stacked, and the number of rounds has no limit", len(fields))
	}
	parts := make([]*TensorType, len(fields))
	for i, f := range fields {
		if parts[i], ok = f.(*TensorType); !ok {
			return invalid("a part has type %v, wanted a tensor", f)
		}
	}
	return parts, nil
}

// FirstPart returns which field of what the body gives is the first part: those before are the condition, if there is
// one, and the state.
func (l *Loop) FirstPart() int {
	if l.Cond != nil {
		return 1 + len(l.State)
	}
	return len(l.State)
}

// LoopName is what a loop is called in the text form, where it is a call:
//
//	loop(%body, (%trip,), (%cond,), (%state0, %state1), (%captured0,), max_rounds=8)
//
// The tuples are Operands.
const LoopName = "loop"

// Operands returns trip count, condition, state and captured values; the first two are empty where they are not set.
func (l *Loop) Operands() [4][]Expr {
	optional := func(e Expr) []Expr {
		if e == nil {
			return nil
		}
		return []Expr{e}
	}
	return [4][]Expr{optional(l.Trip), optional(l.Cond), l.State, l.Captured}
}

func isScalar(e Expr, d tensor.DType) bool {
	t := Tensor(e)
	return t != nil && t.DType == d && len(t.Shape) == 0
}
