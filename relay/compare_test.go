package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// compared is a module with a node of every kind, changed by its arguments.
type compared struct {
	names     [2]string // a parameter, an output
	op        string
	alpha     float64
	scalar    float32
	weight    float32
	weightTag string
	field     int
	primitive bool
	attrs     map[string]string
	shared    bool // the constant is one node
	swapped   bool // operands
	meta      map[string]string
	defaults  map[string]*tensor.Tensor
	extra     bool // a second function
}

func (c compared) module(t *testing.T) *Module {
	t.Helper()
	x := typed(c.names[0], tensor.Float32, 2)
	w := func() Expr {
		return NewConstant(tensor.Of(tensor.Float32, dims(2), c.weight, 1), c.weightTag, diag.Pos{})
	}
	first := w()
	second := first
	if !c.shared {
		second = w()
	}
	p := typed("p", tensor.Float32, 2)
	f := NewFunction([]*Var{p}, call(t, c.op, nil, p), c.primitive, c.attrs, diag.Pos{})
	called, err := NewCallFn(f, []Expr{call(t, "nn.leaky_relu", &AlphaAttrs{c.alpha}, x)}, diag.Pos{})
	require.NoError(t, err)
	args := []Expr{called, first}
	if c.swapped {
		args = []Expr{first, called}
	}
	sum := call(t, "subtract", nil, args...)
	v := typed("v", tensor.Float32, 2)
	branch, err := NewIf(scalar(tensor.Bool, true), call(t, "multiply", nil, v, second), call(t, "multiply", nil, v, scalar(tensor.Float32, c.scalar)), diag.Pos{})
	require.NoError(t, err)
	let := NewLet(v, sum, branch, diag.Pos{})
	got, err := NewTupleGet(NewTuple([]Expr{let, x}, diag.Pos{}), c.field, diag.Pos{})
	require.NoError(t, err)
	m := module(got, []string{c.names[1]}, x)
	m.Meta, m.Defaults = c.meta, c.defaults
	if c.extra {
		m.Funcs["extra"] = fn(p, p)
	}
	return m
}

func TestCompareFindsEveryDifference(t *testing.T) {
	base := compared{names: [2]string{"x", "y"}, op: "exp", alpha: 0.5, scalar: 2, weight: 3, weightTag: "w", shared: true}
	require.NoError(t, VerifyOps(base.module(t), Core()))
	require.NoError(t, Compare(base.module(t), base.module(t)))
	for want, change := range map[string]func(c *compared){
		`metadata [x] against metadata [z]`:                                       func(c *compared) { c.names[0] = "z" },
		`metadata [y] against metadata [z]`:                                       func(c *compared) { c.names[1] = "z" },
		`call of exp against call of log`:                                         func(c *compared) { c.op = "log" },
		`nn.leaky_relu with [{alpha 0.5}] against nn.leaky_relu with [{alpha 1}]`: func(c *compared) { c.alpha = 1 },
		`scalar &{float32 () [2] []} against scalar &{float32 () [1] []}`:         func(c *compared) { c.scalar = 1 },
		`constant "w" against constant "w"`:                                       func(c *compared) { c.weight = 1 },
		`constant "w" against constant "v"`:                                       func(c *compared) { c.weightTag = "v" },
		`field 0 against field 1`:                                                 func(c *compared) { c.field = 1 },
		`function with map[] against function with map[]`:                         func(c *compared) { c.primitive = true },
		`function with map[] against function with map[a:b]`:                      func(c *compared) { c.attrs = map[string]string{"a": "b"} },
		`is shared otherwise`:                                                     func(c *compared) { c.shared = false },
		`a *relay.Constant against a *relay.Call`:                                 func(c *compared) { c.swapped = true },
		`metadata map[] against metadata map[k:v]`:                                func(c *compared) { c.meta = map[string]string{"k": "v"} },
		`defaults of [] against defaults of [x]`:                                  func(c *compared) { c.defaults = map[string]*tensor.Tensor{"x": tensor.New(tensor.Float32, dims(2))} },
		`functions [main] against functions [extra main]`:                         func(c *compared) { c.extra = true },
	} {
		other := base
		change(&other)
		require.ErrorContains(t, Compare(base.module(t), other.module(t)), want)
		require.Error(t, Compare(other.module(t), base.module(t)), want)
	}
}

// Equal scalars are printed in the text, so whether they are one node is not kept; nor are names of inner variables.
func TestCompareOverlooksWhatMeansNothing(t *testing.T) {
	x := typed("x", tensor.Float32, 2)
	one := scalar(tensor.Float32, float32(1))
	a := module(call(t, "add", nil, call(t, "add", nil, x, one), one), []string{"y"}, x)
	b := module(call(t, "add", nil, call(t, "add", nil, x, scalar(tensor.Float32, float32(1))), scalar(tensor.Float32, float32(1))), []string{"y"}, x)
	require.NoError(t, Compare(a, b))
	require.NoError(t, Compare(b, a))
	named := func(name string) *Module {
		v := typed(name, tensor.Float32, 2)
		return module(NewLet(v, x, call(t, "exp", nil, v), diag.Pos{}), []string{"y"}, x)
	}
	require.NoError(t, Compare(named("v"), named("w")))
}
