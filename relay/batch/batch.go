// Package batch shows that a model keeps the rows of its batch apart: that the model of n rows computes, of each row, what the
// model of one row computes of it alone. A model that does is compiled for one row and runs for any number of them.
//
// The models compared are two imports of one file, with a batch of 1 and of n. Each value of the larger one is either shared,
// equal to its counterpart in the smaller one, or it has the batch in one axis, and is row by row its counterpart. A table
// (keeps) says of each operator what becomes of the batch; an operator that the table lacks mixes rows, unless all its operands
// are shared. What both sides compute otherwise, by another operator or with another attribute, is refused too.
//
// The importer has a table of its own for what is known only at run time (relay/importer/onnx, keepsRows). That one is of the
// operators of ONNX, which it needs before they are taken apart, and of rows that hold nothing: garbage may go in and come out.
package batch

import (
	"bytes"
	"context"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/tensor"
)

const step = "batch"

// Axes says where the inputs and outputs of a model have the batch, by name. Those that are missing have none: such an input is
// the same for all rows, and such an output does not depend on the rows.
type Axes struct{ Inputs, Outputs map[string]int }

// Apart returns where one and many, imports of one model with a batch of 1 and of n ≥ 2, have the batch.
//
// An error is diag.ErrUnsupported: it names the first node that mixes rows, or says how the two differ.
func Apart(ctx context.Context, one, many *relay.Module, n int) (*Axes, error) {
	p := &prover{ctx: ctx, n: n, of: map[pair]places{}}
	axes := &Axes{map[string]int{}, map[string]int{}}
	from, to := one.Main(), many.Main()
	if len(from.Params) != len(to.Params) {
		return nil, diag.Unsupported(step, "main", "there are %d inputs with a batch of 1, and %d with %d", len(from.Params), len(to.Params), n)
	}
	for i, v := range from.Params {
		w := to.Params[i]
		at, ok := p.scaled(v.Type(), w.Type())
		if !ok || v.Name != w.Name {
			return nil, diag.Unsupported(step, v.Name, "the input has type %v with a batch of 1, and %v with %d", v.Type(), w.Type(), n).At(v.Pos())
		}
		if at.axis >= 0 {
			axes.Inputs[v.Name] = at.axis
		}
		p.of[pair{v, w}] = places{at}
	}
	result := pair{from.Body, to.Body}
	if err := p.prove(result); err != nil {
		return nil, err
	}
	for i, at := range p.of[result] {
		name := one.Outputs[i]
		switch t := flat(from.Body.Type())[i]; {
		case at.axis < 0:
			continue
		case at.outer != 1:
			return nil, diag.Unsupported(step, name, "the rows of this output lie in %d parts along axis %d", at.outer, at.axis)
		case t.DType.Bits()%8 != 0:
			return nil, diag.Unsupported(step, name, "the elements of this output, %v, are no whole bytes, so that rows are not", t.DType)
		}
		if _, bounded := one.Extents[name]; bounded {
			return nil, diag.Unsupported(step, name, "this output's extent is known only when the model runs")
		}
		axes.Outputs[name] = at.axis
	}
	for _, v := range from.Params {
		if _, open := axes.Inputs[v.Name]; open && relay.Tensor(v).DType.Bits()%8 != 0 {
			return nil, diag.Unsupported(step, v.Name, "the elements of this input, %v, are no whole bytes, so that rows are not", relay.Tensor(v).DType)
		}
	}
	return axes, nil
}

// place says where a tensor has the batch: its axis has extent outer · n · inner, and element i of it is of row (i / inner) mod n.
// A shared tensor has axis -1.
type place struct{ axis, outer int }

// shared is of a tensor that is the same for all rows.
var shared = place{-1, 1}

// places are those of a value's tensors; a tuple has one each.
type places []place

// pair is a node of the model of one row, and one of the model of n rows.
type pair struct{ one, many relay.Expr }

// prover is one call of Apart.
type prover struct {
	ctx context.Context
	n   int
	of  map[pair]places
}

// scaled returns where the type of a value with n rows has them, given its type with one. It is false where they differ otherwise.
func (p *prover) scaled(one, many relay.Type) (place, bool) {
	a, isTensor := one.(*relay.TensorType)
	b, ok := many.(*relay.TensorType)
	if !ok || !isTensor || a.DType != b.DType || len(a.Shape) != len(b.Shape) {
		return shared, false
	}
	at := shared
	for i, extent := range a.Shape {
		switch {
		case b.Shape[i] == extent:
		case at.axis < 0 && b.Shape[i] == p.n*extent:
			at.axis = i
		default:
			return shared, false
		}
	}
	return at, true
}

// fits reports whether the types of a pair are those of a value at the place.
func (p *prover) fits(at place, one, many relay.Type) bool {
	found, ok := p.scaled(one, many)
	return ok && found.axis == at.axis && (at.axis < 0 || one.(*relay.TensorType).Shape[at.axis]%at.outer == 0)
}

// flat returns the tensors of a type.
func flat(t relay.Type) []*relay.TensorType {
	switch t := t.(type) {
	case *relay.TensorType:
		return []*relay.TensorType{t}
	case *relay.TupleType:
		var all []*relay.TensorType
		for _, f := range t.Fields {
			all = append(all, flat(f)...)
		}
		return all
	}
	return nil
}

// prove finds the places of root and of all that it needs. It does not recurse: graphs are deep.
func (p *prover) prove(root pair) error {
	todo := []pair{root}
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		if p.of[x] != nil {
			todo = todo[:len(todo)-1]
			continue
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
		needs, err := p.needs(x)
		if err != nil {
			return err
		}
		ready := true
		for _, need := range needs {
			if p.of[need] == nil {
				todo, ready = append(todo, need), false
			}
		}
		if !ready {
			continue
		}
		found, err := p.conclude(x, needs)
		if err != nil {
			return err
		}
		if found == nil {
			continue // it has found out what else it needs
		}
		one, many := flat(x.one.Type()), flat(x.many.Type())
		if len(one) != len(found) || len(many) != len(found) {
			return p.differ(x)
		}
		for i, at := range found {
			if !p.fits(at, one[i], many[i]) {
				return p.mixes(x)
			}
		}
		p.of[x] = found
		todo = todo[:len(todo)-1]
	}
	return nil
}

// mixes is the error of a node that does not keep rows apart.
func (p *prover) mixes(x pair) error {
	return diag.Unsupported(step, nameOf(x.many), "%s mixes the rows of the batch, or is not known to keep them apart", what(x.many)).At(x.many.Pos())
}

// differ is the error of a node that is computed otherwise with another batch.
func (p *prover) differ(x pair) error {
	return diag.Unsupported(step, nameOf(x.many), "is %s of type %v with 1 row, and %s of type %v with %d", what(x.one), x.one.Type(), what(x.many), x.many.Type(), p.n).At(x.many.Pos())
}

// nameOf returns the name of a node in the model, or of its operator.
func nameOf(e relay.Expr) string {
	if name := e.Pos().Node; name != "" {
		return name
	}
	return what(e)
}

// what says what a node is.
func what(e relay.Expr) string {
	switch e := e.(type) {
	case *relay.Call:
		if e.Op != nil {
			return e.Op.Name
		}
		return "a call of a function"
	case *relay.Constant:
		return "a constant"
	case *relay.Var:
		return "an input"
	case *relay.If:
		return "a branch"
	case *relay.Loop:
		return "a loop"
	}
	return "a value"
}

// needs returns the pairs that must be known to conclude where x has the batch.
func (p *prover) needs(x pair) ([]pair, error) {
	switch b := x.many.(type) {
	case *relay.Var:
		return nil, p.differ(x) // parameters are known
	case *relay.Constant:
		if _, ok := x.one.(*relay.Constant); ok {
			return nil, nil
		}
	case *relay.Tuple:
		if a, ok := x.one.(*relay.Tuple); ok && len(a.Fields) == len(b.Fields) {
			return together(a.Fields, b.Fields), nil
		}
	case *relay.TupleGet:
		if a, ok := x.one.(*relay.TupleGet); ok && a.Index == b.Index {
			return []pair{{a.Tuple, b.Tuple}}, nil
		}
	case *relay.If:
		if a, ok := x.one.(*relay.If); ok {
			return []pair{{a.Cond, b.Cond}, {a.Then, b.Then}, {a.Else, b.Else}}, nil
		}
	case *relay.Loop:
		if a, ok := x.one.(*relay.Loop); ok && sameLoop(a, b) {
			return operands(a, b), nil
		}
	case *relay.Call:
		if a, ok := x.one.(*relay.Call); ok && a.Op != nil && b.Op != nil && a.Op.Name == b.Op.Name && len(a.Args) == len(b.Args) {
			return together(a.Args, b.Args), nil
		}
		if _, ok := x.one.(*relay.Constant); ok && p.value(b) != nil {
			return nil, nil
		}
		if b.Op != nil && keeps[b.Op.Name].idle && len(b.Args) == 1 { // of one row it changes nothing, and the importer left it out
			return []pair{{x.one, b.Args[0]}}, nil
		}
	}
	return nil, p.differ(x)
}

func together(a, b []relay.Expr) []pair {
	all := make([]pair, len(a))
	for i := range a {
		all[i] = pair{a[i], b[i]}
	}
	return all
}

// conclude returns where x has the batch. Nil is of a loop whose body has to be looked at first.
func (p *prover) conclude(x pair, needs []pair) (places, error) {
	switch b := x.many.(type) {
	case *relay.Constant:
		return p.constant(x, b.Value)
	case *relay.Tuple:
		all := places{}
		for _, need := range needs {
			all = append(all, p.of[need]...)
		}
		return all, nil
	case *relay.TupleGet:
		before := 0
		for _, f := range b.Tuple.Type().(*relay.TupleType).Fields[:b.Index] {
			before += len(flat(f))
		}
		return p.of[needs[0]][before : before+len(flat(b.Type()))], nil
	case *relay.If:
		then, els := p.of[needs[1]], p.of[needs[2]]
		if p.of[needs[0]][0] != shared || !slices.Equal(then, els) {
			return nil, p.mixes(x)
		}
		return then, nil
	case *relay.Loop:
		return p.loop(x, x.one.(*relay.Loop), b, needs)
	case *relay.Call:
		if _, ok := x.one.(*relay.Constant); ok && len(needs) == 0 {
			return p.constant(x, p.value(b))
		}
		return p.call(x, b, needs)
	}
	return nil, p.differ(x)
}

// constant returns where a constant, whose value with n rows is many, has the batch: nowhere, or in an axis along which its rows
// are equal.
func (p *prover) constant(x pair, many *tensor.Tensor) (places, error) {
	one := x.one.(*relay.Constant).Value
	at, ok := p.scaled(x.one.Type(), x.many.Type())
	if !ok {
		return nil, p.differ(x)
	}
	equal := false
	switch {
	case at.axis < 0:
		equal = bytes.Equal(one.Data, many.Data)
	case one.DType.Bits()%8 == 0:
		outer := one.Shape[:at.axis].Elems()
		row := len(one.Data) / max(1, outer)
		equal = len(many.Data) == outer*p.n*row
		for i := 0; equal && i < outer*p.n; i++ {
			equal = bytes.Equal(many.Data[i*row:][:row], one.Data[i/p.n*row:][:row])
		}
	}
	if !equal {
		return nil, diag.Unsupported(step, nameOf(x.many), "a value of type %v depends on the batch", x.many.Type()).At(x.many.Pos())
	}
	return places{at}, nil
}

// evaluated bounds the elements of a value that is computed to compare it with a constant.
const evaluated = 1 << 20

// value returns what a small tensor is that depends on no input, else nil.
func (p *prover) value(e relay.Expr) *tensor.Tensor {
	for x := range relay.PostOrder(e, false) {
		c, isCall := x.(*relay.Call)
		t := relay.Tensor(x)
		if _, isConstant := x.(*relay.Constant); !isConstant && !(isCall && c.Op != nil) || t == nil || uint(t.Shape.Elems()) > evaluated {
			return nil
		}
	}
	v, err := eval.Run(p.ctx, relay.NewFunction(nil, e, false, nil, e.Pos()), nil)
	if w, ok := v.(*tensor.Wide); ok && err == nil {
		return w.Narrow()
	}
	return nil
}

// sameLoop reports whether two loops have the same operands.
func sameLoop(a, b *relay.Loop) bool {
	from, to := a.Operands(), b.Operands()
	for i := range from {
		if len(from[i]) != len(to[i]) {
			return false
		}
	}
	return a.Max == b.Max && len(a.Body.Params) == len(b.Body.Params)
}

// operands pairs trip count, condition, state and captured values.
func operands(a, b *relay.Loop) []pair {
	var all []pair
	to := b.Operands()
	for i, list := range a.Operands() {
		all = append(all, together(list, to[i])...)
	}
	return all
}

// loop returns where what a loop gives has the batch. All rows must take the same rounds, and the state must have the batch
// behind a round where it has it before. Nil asks for the body, whose parameters are known then.
func (p *prover) loop(x pair, a, b *relay.Loop, needs []pair) (places, error) {
	decides := len(needs) - len(b.State) - len(b.Captured) // trip count and condition
	for _, need := range needs[:decides] {
		if p.of[need][0] != shared {
			return nil, p.mixes(x)
		}
	}
	p.of[pair{a.Body.Params[0], b.Body.Params[0]}] = places{shared}
	for i, need := range needs[decides:] {
		param := pair{a.Body.Params[1+i], b.Body.Params[1+i]}
		if other := p.of[param]; other != nil && !slices.Equal(other, p.of[need]) { // of another loop with this body
			return nil, p.mixes(x)
		}
		p.of[param] = p.of[need]
	}
	body := pair{a.Body.Body, b.Body.Body}
	if p.of[body] == nil {
		return nil, p.prove(body) // loops nest 16 deep at most
	}
	given, result := p.of[body], places{}
	if b.Cond != nil {
		if given[0] != shared {
			return nil, p.mixes(x)
		}
		given = given[1:]
	}
	for i := range b.State {
		if given[i] != p.of[needs[decides+i]][0] {
			return nil, p.mixes(x)
		}
		result = append(result, given[i])
	}
	for _, part := range given[len(b.State):] {
		if part.axis >= 0 {
			part.axis++
		}
		result = append(result, part)
	}
	return append(result, shared), nil
}
