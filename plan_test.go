package texel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/memplan"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// graph builds modules for tests.
type graph struct {
	t   *testing.T
	ops *relay.Table
}

func newGraph(t *testing.T) *graph { return &graph{t, relay.Core()} }

func (g *graph) v(name string, shape ...int) *relay.Var {
	return relay.NewVar(name, &relay.TensorType{Shape: shape, DType: tensor.Float32}, diag.Pos{})
}

func (g *graph) call(op string, attrs any, args ...relay.Expr) *relay.Call {
	c, err := relay.NewCall(g.ops.Lookup(op), args, attrs, diag.Pos{Node: op})
	require.NoError(g.t, err)
	return c
}

func (g *graph) constant(shape ...int) *relay.Constant {
	return relay.NewConstant(tensor.New(tensor.Float32, shape), "w", diag.Pos{})
}

func (g *graph) module(body relay.Expr, outputs []string, params ...*relay.Var) *relay.Module {
	return &relay.Module{Funcs: map[string]*relay.Function{"main": relay.NewFunction(params, body, false, nil, diag.Pos{})}, Outputs: outputs}
}

// kernels gives each unit one kernel that takes all of its tensors.
func (g *graph) kernels(main *region) {
	for _, u := range findUnits(main) {
		k := &tir.Kernel{Name: u.name, GridExtent: 100}
		results, err := flatten(u.fn.Body.Type())
		require.NoError(g.t, err)
		k.Outputs = len(results)
		for _, p := range u.fn.Params {
			types, err := flatten(p.Type())
			require.NoError(g.t, err)
			for _, t := range types {
				k.Params = append(k.Params, &tir.Buffer{Name: p.Name, DType: t.DType, Shape: t.Shape})
			}
		}
		for _, t := range results {
			k.Params = append(k.Params, &tir.Buffer{Name: "out", DType: t.DType, Shape: t.Shape})
		}
		u.kernels, u.params = []*tir.Kernel{k}, k.Params
	}
}

// plan builds and checks the plan of m, each unit with one kernel that takes all of its tensors.
func (g *graph) plan(m *relay.Module) *artifact.Plan {
	main, err := newRegion(m.Main(), nil, 0)
	require.NoError(g.t, err)
	g.kernels(main)
	host, err := target.Parse("x86-64-v3")
	require.NoError(g.t, err)
	p, err := newPlan(m, host, main, &diag.Notes{})
	require.NoError(g.t, err)
	require.NoError(g.t, memplan.Assign(p.plan, memplan.Options{}))
	require.NoError(g.t, p.plan.Check())
	return p.plan
}

func launches(p *artifact.Plan) (all []string) {
	for _, l := range p.Launches {
		all = append(all, l.Name)
	}
	return all
}

func find(p *artifact.Plan, name string) *artifact.Tensor {
	for i := range p.Tensors {
		if p.Tensors[i].Name == name {
			return &p.Tensors[i]
		}
	}
	return nil
}

func TestEqualFunctionsShareAKernel(t *testing.T) {
	g := newGraph(t)
	x := g.v("x", 2, 3)
	a := g.call("nn.relu", nil, x)
	b := g.call("exp", nil, a)
	last, err := relay.NewCall(g.ops.Lookup("nn.relu"), []relay.Expr{b}, nil, diag.Pos{Node: "last"})
	require.NoError(t, err)
	p := g.plan(g.module(last, []string{"y"}, x))
	require.Equal(t, []string{"relu", "exp", "relu#2"}, launches(p))
	require.Equal(t, [][]string{{"nn.relu"}, {"last"}}, [][]string{p.Launches[0].Nodes, p.Launches[2].Nodes}, "each has nodes of its own")
	require.Len(t, p.Kernels, 2)
	require.Equal(t, "y", p.Launches[2].Writes[0])
	require.Equal(t, artifact.External, p.Pools[1].Kind)
	require.Equal(t, "io", find(p, "y").Pool)
}

func TestFingerprintSeesAttributesAndConstants(t *testing.T) {
	g := newGraph(t)
	x := g.v("x", 2, 3)
	f := func(body relay.Expr) string {
		return fingerprint(relay.NewFunction([]*relay.Var{x}, body, true, nil, diag.Pos{}))
	}
	clip := func(high float64) relay.Expr { return g.call("clip", &relay.ClipAttrs{AMin: 0, AMax: high}, x) }
	require.Equal(t, f(clip(6)), f(clip(6)))
	require.NotEqual(t, f(clip(6)), f(clip(5)))
	one := relay.NewConstant(tensor.Of[float32](tensor.Float32, tensor.Shape{}, 1), "", diag.Pos{})
	two := relay.NewConstant(tensor.Of[float32](tensor.Float32, tensor.Shape{}, 2), "", diag.Pos{})
	require.NotEqual(t, f(g.call("add", nil, x, one)), f(g.call("add", nil, x, two)))
	require.NotEqual(t, f(g.call("subtract", nil, x, one)), f(g.call("subtract", nil, one, x)))
	y := g.v("other", 2, 3)
	require.Equal(t, f(g.call("exp", nil, x)), fingerprint(relay.NewFunction([]*relay.Var{y}, g.call("exp", nil, y), true, nil, diag.Pos{})))
}

func TestReshapesAreViews(t *testing.T) {
	g := newGraph(t)
	x := g.v("x", 2, 3)
	a := g.call("exp", nil, x)
	r := g.call("reshape", &relay.ReshapeAttrs{NewShape: []int{3, 2}}, a)
	p := g.plan(g.module(g.call("nn.relu", nil, r), []string{"y"}, x))
	require.Equal(t, []string{"exp", "relu"}, launches(p))
	require.Equal(t, "exp", find(p, "exp.view").AliasOf)

	// a view at the end: the kernel writes the output's memory
	p = g.plan(g.module(r, []string{"y"}, x))
	require.Equal(t, []string{"exp"}, launches(p))
	require.Equal(t, "y", find(p, p.Launches[0].Writes[0]).AliasOf)
	require.Equal(t, tensor.Shape{3, 2}, p.Outputs[0].Shape)

	// transposing axes of extent 1 moves nothing, others do
	z := g.v("z", 1, 5, 1, 1)
	flat := func(axes ...int) bool {
		return isView(relay.NewFunction([]*relay.Var{z}, g.call("transpose", &relay.TransposeAttrs{Axes: axes}, z), true, nil, diag.Pos{}))
	}
	require.True(t, flat(0, 2, 3, 1))
	w := g.v("w", 1, 5, 2, 1)
	require.False(t, isView(relay.NewFunction([]*relay.Var{w}, g.call("transpose", &relay.TransposeAttrs{Axes: []int{0, 2, 3, 1}}, w), true, nil, diag.Pos{})))
}

func TestOutputsThatNoKernelWritesAreCopied(t *testing.T) {
	g := newGraph(t)
	x := g.v("x", 2)
	a := g.call("exp", nil, x)
	body := relay.NewTuple([]relay.Expr{x, a, a, g.constant(3)}, diag.Pos{})
	p := g.plan(g.module(body, []string{"same", "once", "twice", "fixed"}, x))
	require.Equal(t, []string{"exp", "copy same", "copy twice", "copy fixed"}, launches(p))
	require.Equal(t, []string{"once"}, p.Launches[0].Writes)
	require.Equal(t, []string{"x"}, p.Launches[1].Reads)
}

func TestWeightsAreStoredOnce(t *testing.T) {
	g := newGraph(t)
	x := g.v("x", 2, 3)
	a := g.call("add", nil, x, g.constant(3))
	b := g.call("multiply", nil, a, g.constant(3))
	p := g.plan(g.module(b, []string{"y"}, x))
	require.Len(t, p.Weights, 1)
	require.Equal(t, int64(12), p.WeightsBytes)
	require.Equal(t, []string{"w"}, []string{p.Weights[0].Tensor})
}

func TestElementwiseResultsTakeTheOperandsMemory(t *testing.T) {
	g := newGraph(t)
	x, row := g.v("x", 4, 64), g.v("row", 64)
	a := g.call("exp", nil, x)
	b := g.call("add", nil, a, row)
	p := g.plan(g.module(g.call("exp", nil, b), []string{"y"}, x, row))
	require.Equal(t, []artifact.InPlace{{Write: "add", Read: "exp"}}, p.Launches[1].InPlace)
	require.Equal(t, int64(4*64*4), p.ArenaBytes)

	f := func(body relay.Expr, params ...*relay.Var) []int {
		return inPlaceParams(relay.NewFunction(params, body, true, nil, diag.Pos{}))
	}
	require.Equal(t, []int{0}, f(g.call("add", nil, x, row), x, row))
	square := g.v("s", 4, 4)
	require.Nil(t, f(g.call("nn.softmax", nil, square), square), "a reduction reads what it overwrites")
	turned := g.call("transpose", &relay.TransposeAttrs{Axes: []int{1, 0}}, square)
	require.Nil(t, f(g.call("add", nil, square, turned), square))
}

func TestCountsBecomeExtents(t *testing.T) {
	g := newGraph(t)
	boxes, scores := g.v("boxes", 1, 6, 4), g.v("scores", 1, 2, 6)
	most, overlap, least := g.typed("most", tensor.Int64), g.v("overlap"), g.v("least")
	c := g.call("vision.non_max_suppression", &relay.NonMaxSuppressionAttrs{MostBoxes: 3}, boxes, scores, most, overlap, least)
	rows, err := relay.NewTupleGet(c, 0, diag.Pos{})
	require.NoError(t, err)
	count, err := relay.NewTupleGet(c, 1, diag.Pos{})
	require.NoError(t, err)
	m := g.module(relay.NewTuple([]relay.Expr{rows, count}, diag.Pos{}), []string{"picked", "picked.count"}, boxes, scores, most, overlap, least)
	m.Extents = map[string]relay.Extent{"picked": {Axis: 0, Output: 1}}
	p := g.plan(m)
	require.Len(t, p.Outputs, 1)
	require.Equal(t, []artifact.Extent{{Axis: 0, Tensor: "non_max_suppression:1"}}, p.Outputs[0].Extent)
	require.Equal(t, "arena", find(p, "non_max_suppression:1").Pool)
}

func TestDefaultsBecomeWeights(t *testing.T) {
	g := newGraph(t)
	x, b := g.v("x", 3), g.v("b", 3)
	m := g.module(g.call("add", nil, x, b), []string{"y"}, x, b)
	m.Defaults = map[string]*tensor.Tensor{"b": tensor.Of[float32](tensor.Float32, tensor.Shape{3}, 1, 2, 3)}
	p := g.plan(m)
	require.Equal(t, "b.default", p.Inputs[1].Default)
	require.Empty(t, p.Inputs[0].Default)
}

func TestWork(t *testing.T) {
	g := newGraph(t)
	x := g.v("x", 1, 8, 10, 10)
	conv := g.call("nn.conv2d", &relay.ConvAttrs{Strides: []int{1, 1}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}, Groups: 1,
		DataLayout: "NCHW", KernelLayout: "OIHW"}, x, g.constant(16, 8, 3, 3))
	w := measure(relay.NewFunction([]*relay.Var{x}, g.call("nn.relu", nil, conv), true, nil, diag.Pos{}))
	require.Equal(t, work{flops: 2*16*100*72 + 1600, reduction: 72, steps: 2}, w)
	a, b := g.v("a", 4, 5, 6), g.v("b", 4, 6, 7)
	m := g.call("nn.batch_matmul", &relay.MatmulAttrs{}, a, b)
	require.Equal(t, 6, reduction(m))
	require.Equal(t, 10, reduction(g.call("cumsum", &relay.ScanAttrs{Axis: -2}, x)))
}

func TestChunksAreWorthAClaim(t *testing.T) {
	host, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	grid := func(n, flops int64) int64 { return chunk(artifact.Launch{Grid: []int64{n}, Flops: flops}, host) }
	require.Equal(t, int64(1), grid(1, 1e9))
	require.Equal(t, int64(1000), grid(1000, 1000), "too little work to share")
	require.Equal(t, int64(32), grid(1024, 1e10), "32 claims")
	require.Equal(t, int64(1), grid(7, 1e10))
}
