package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

func TestVerifyFindsEachFault(t *testing.T) {
	x, free := typed("x", tensor.Float32, 2), typed("free", tensor.Float32, 2)
	exp := call(t, "exp", nil, x)
	good := func() *Module { return module(exp, []string{"y"}, x) }
	require.NoError(t, Verify(good()))

	broken := func(change func(c *Call)) *Module {
		c := *exp.(*Call)
		change(&c)
		return module(&c, []string{"y"}, x)
	}
	foreign := &Op{Name: "acme.twist", Args: []string{"data"}, Infer: sameFloat}
	primitive := NewFunction(nil, call(t, "exp", nil, x), true, nil, diag.Pos{})
	closure, err := NewCallFn(primitive, nil, diag.Pos{})
	require.NoError(t, err)
	letTwice := NewLet(free, exp, NewLet(free, x, free, diag.Pos{}), diag.Pos{})
	late := call(t, "add", nil, NewLet(free, exp, free, diag.Pos{}), free)
	for _, c := range []struct {
		m    *Module
		text string
	}{
		{&Module{}, "no function is named main"},
		{module(exp, nil, x), "1 results, but 0 output names"},
		{module(NewTuple([]Expr{exp, x}, diag.Pos{}), []string{"y", "y"}, x), `output 1 is named "y", wanted a name of its own`},
		{module(exp, []string{"y"}, x, typed("x", tensor.Float32)), `parameter 1 is named "x"`},
		{module(call(t, "exp", nil, free), []string{"y"}, x), "free: variable is used where it is not bound"},
		{module(letTwice, []string{"y"}, x), "free: variable is bound more than once"},
		{module(late, []string{"y"}, x), "free: variable is used where it is not bound"},
		{module(closure, []string{"y"}, x), "a primitive function, or the body of a loop, in \"main\" reads a variable that is not its parameter"},
		{broken(func(c *Call) { c.typ = &TensorType{dims(3), tensor.Float32} }), "has type Tensor[(3,), float32], inferred is Tensor[(2,), float32]"},
		{broken(func(c *Call) { c.Args = []Expr{x, x} }), "wants 1 operands"},
		{broken(func(c *Call) { c.Op = nil }), "a call applies either an operator or a function"},
		{broken(func(c *Call) { c.Op = foreign }), "acme.twist: operator is not in the table"},
		{module(call(t, "add", nil, x, &Constant{node{x.typ, diag.Pos{}}, &tensor.Tensor{DType: tensor.Float32, Shape: dims(2), Data: make([]byte, 7)}, "w"}),
			[]string{"y"}, x), `constant "w": shape (2,) of float32 needs 8 bytes, found 7`},
		{&Module{Funcs: good().Funcs, Outputs: []string{"y"}, Defaults: map[string]*tensor.Tensor{"z": nil}}, `default value for "z"`},
		{&Module{Funcs: good().Funcs, Outputs: []string{"y"}, Extents: map[string]Extent{"z": {}}}, `extent of "z", which is no output`},
		{&Module{Funcs: good().Funcs, Outputs: []string{"y"}, Extents: map[string]Extent{"y": {1, 0}}}, `extent of output "y" along axis 1 of 1`},
		{&Module{Funcs: good().Funcs, Outputs: []string{"y"}, Extents: map[string]Extent{"y": {0, 0}}},
			`extent of output "y" is output 0, wanted one of type Tensor[(1,), int64]`},
	} {
		require.ErrorContains(t, VerifyOps(c.m, Core()), c.text)
		require.ErrorIs(t, VerifyOps(c.m, Core()), diag.ErrInternal)
	}
	require.NoError(t, Verify(broken(func(c *Call) { c.Op = foreign })))
	require.NoError(t, VerifyOps(broken(func(c *Call) { c.Op = foreign }), Core().With(foreign)))
}
