package texel

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

func (g *graph) typed(name string, d tensor.DType, shape ...int) *relay.Var {
	return relay.NewVar(name, &relay.TensorType{Shape: append(tensor.Shape{}, shape...), DType: d}, diag.Pos{})
}

func (g *graph) tuple(fields ...relay.Expr) *relay.Tuple { return relay.NewTuple(fields, diag.Pos{}) }

func (g *graph) fn(body relay.Expr, params ...*relay.Var) *relay.Function {
	return relay.NewFunction(params, body, false, nil, diag.Pos{})
}

func (g *graph) apply(fn *relay.Function, args ...relay.Expr) *relay.Call {
	c, err := relay.NewCallFn(fn, args, diag.Pos{})
	require.NoError(g.t, err)
	return c
}

func (g *graph) loop(l relay.Loop) *relay.Loop {
	loop, err := relay.NewLoop(l, diag.Pos{Node: "turns"})
	require.NoError(g.t, err)
	return loop
}

func (g *graph) get(e relay.Expr, i int) relay.Expr {
	field, err := relay.NewTupleGet(e, i, diag.Pos{})
	require.NoError(g.t, err)
	return field
}

// body is the launches of the only loop's body, copies as to=from.
func body(t *testing.T, p *artifact.Plan) (all []string) {
	t.Helper()
	for _, r := range p.Regions {
		if r.Name == "turns.body" {
			for _, l := range r.Launches {
				if l.Kind == artifact.CopyLaunch {
					l.Name = l.Writes[0] + "=" + l.Reads[0]
				}
				all = append(all, l.Name)
			}
			return all
		}
	}
	t.Fatal("there is no loop")
	return nil
}

// TestStateIsWrittenInPlace has bodies whose next state may, or may not, be written over the old one.
func TestStateIsWrittenInPlace(t *testing.T) {
	g := newGraph(t)
	exp := func(e relay.Expr) relay.Expr { return g.call("exp", nil, e) }
	add := func(a, b relay.Expr) relay.Expr { return g.call("add", nil, a, b) }
	softmax := func(e relay.Expr) relay.Expr { return g.call("nn.softmax", &relay.AxisAttrs{Axis: -1}, e) }
	flat := func(e relay.Expr) relay.Expr { return g.call("reshape", &relay.ReshapeAttrs{NewShape: []int{6}}, e) }
	back := func(e relay.Expr) relay.Expr { return g.call("reshape", &relay.ReshapeAttrs{NewShape: []int{2, 3}}, e) }
	for _, c := range []struct {
		name string
		next func(a, b, w relay.Expr) (relay.Expr, relay.Expr)
		want []string
	}{
		{"element by element", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { return exp(a), add(b, w) }, []string{"exp", "add"}},
		{"twice the same element", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { return add(a, a), exp(b) }, []string{"add", "exp"}},
		{"other elements of the old state", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { return softmax(a), exp(b) },
			[]string{"softmax", "exp", "p=softmax"}},
		{"the old state is not read", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { return softmax(w), exp(b) }, []string{"softmax", "exp"}},
		{"the old state is read before", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { n := softmax(a); return exp(n), add(b, n) },
			[]string{"softmax", "exp", "add"}},
		{"the old state is read behind", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { return exp(b), add(a, softmax(b)) },
			[]string{"exp", "softmax", "add", "p=exp"}},
		{"nothing changes", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { return a, exp(b) }, []string{"exp"}},
		{"views of the old and the new state", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { return back(exp(flat(a))), exp(b) },
			[]string{"exp", "exp__2", "p=exp.view"}},
		{"handed on", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { return b, add(a, b) }, []string{"add", "p=q", "q=add"}},
		{"exchanged", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { return b, a }, []string{"p.old=p", "p=q", "q=p.old"}},
		{"one value for both", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { n := add(a, b); return n, n }, []string{"add", "q=p"}},
		{"a captured value", func(a, b, w relay.Expr) (relay.Expr, relay.Expr) { return w, exp(b) }, []string{"exp", "p=w"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			n, x, y, w0 := g.typed("n", tensor.Int64), g.v("x", 2, 3), g.v("y", 2, 3), g.v("w", 2, 3)
			round, a, b, w := g.typed("round", tensor.Int64), g.v("a", 2, 3), g.v("b", 2, 3), g.v("w", 2, 3)
			nextA, nextB := c.next(a, b, w)
			l := g.loop(relay.Loop{Trip: n, State: []relay.Expr{x, y}, Captured: []relay.Expr{w0}, Body: g.fn(g.tuple(nextA, nextB), round, a, b, w)})
			p := g.plan(g.module(g.tuple(g.get(l, 0), g.get(l, 1)), []string{"p", "q"}, n, x, y, w0))
			require.Equal(t, c.want, body(t, p))
		})
	}
}

// compared compiles m for a device, and compares each layer of a run and the outputs.
func compared(t *testing.T, m *relay.Module, device string, inputs map[string]*tensor.Tensor) (*Compiled, *Report) {
	t.Helper()
	require.NoError(t, relay.Verify(m))
	name, err := DeviceTarget(device)
	require.NoError(t, err)
	to, err := parseTargets([]string{name})
	require.NoError(t, err)
	j := &job{opts: Options{Verify: true}, notes: &diag.Notes{}}
	v, err := j.variant(context.Background(), m, to[0])
	require.NoError(t, err)
	c := &Compiled{source: m, variants: []*variant{v}, header: artifact.Header{Model: artifact.Model{Name: "test", Digest: fingerprint(m.Main())}}}
	report, err := c.Check(context.Background(), CheckOptions{Device: device, Inputs: inputs})
	require.NoError(t, err)
	return c, report
}

// checked is compared where all must be within their bounds, and returns what the run gave.
func checked(t *testing.T, m *relay.Module, device string, inputs map[string]*tensor.Tensor) (map[string]*tensor.Tensor, *Report) {
	t.Helper()
	c, report := compared(t, m, device, inputs)
	require.NoError(t, report.Err(), "%v\n%v", report, relay.Print(c.variants[0].module))
	path := t.TempDir() + "/m.texel"
	require.NoError(t, c.WriteFile(path))
	model, err := Load(path, LoadOptions{Device: device})
	require.NoError(t, err)
	defer model.Close()
	out, err := model.Run(context.Background(), inputs)
	require.NoError(t, err)
	return out, report
}

func ints(v ...int64) *tensor.Tensor { return tensor.Of(tensor.Int64, tensor.Shape{len(v)}, v...) }

func integer(v int64) *tensor.Tensor { return tensor.Of(tensor.Int64, tensor.Shape{}, v) }

func boolean(v bool) *tensor.Tensor { return tensor.Of(tensor.Bool, tensor.Shape{}, v) }

// normal is an array of random numbers.
func normal(r *rand.Rand, shape ...int) *tensor.Tensor {
	w := tensor.NewWide(tensor.Float32, append(tensor.Shape{}, shape...))
	for i := range w.F {
		w.F[i] = r.NormFloat64()
	}
	return w.Narrow()
}

// TestLoopsRun has a loop with a trip count and a condition, which stacks.
func TestLoopsRun(t *testing.T) {
	g := newGraph(t)
	n, limit, go_, a0, b0 := g.typed("n", tensor.Int64), g.typed("limit", tensor.Int64), g.typed("go", tensor.Bool), g.typed("a0", tensor.Int64), g.typed("b0", tensor.Int64)
	round, a, b, most := g.typed("round", tensor.Int64), g.typed("a", tensor.Int64), g.typed("b", tensor.Int64), g.typed("most", tensor.Int64)
	sum := g.call("add", nil, a, b)
	l := g.loop(relay.Loop{Trip: n, Cond: go_, State: []relay.Expr{a0, b0}, Captured: []relay.Expr{limit}, Max: 8,
		Body: g.fn(g.tuple(g.call("less", nil, sum, most), b, sum, a, round), round, a, b, most)})
	m := g.module(g.tuple(g.get(l, 0), g.get(l, 1), g.get(l, 2), g.get(l, 3), g.get(l, 4)), []string{"a", "b", "as", "rounds", "count"}, n, limit, go_, a0, b0)
	m.Extents = map[string]relay.Extent{"as": {Axis: 0, Output: 4}}
	for _, c := range []struct {
		n, limit int64
		begins   bool
		a, b     int64
		as       []int64
	}{
		{5, 100, true, 5, 8, []int64{0, 1, 1, 2, 3}},
		{8, 20, true, 13, 21, []int64{0, 1, 1, 2, 3, 5, 8}},
		{8, 100, true, 21, 34, []int64{0, 1, 1, 2, 3, 5, 8, 13}},
		{5, 100, false, 0, 1, []int64{}},
		{0, 100, true, 0, 1, []int64{}},
	} {
		out, _ := checked(t, m, "cpu", map[string]*tensor.Tensor{"n": integer(c.n), "limit": integer(c.limit), "go": boolean(c.begins), "a0": integer(0), "b0": integer(1)})
		require.Equal(t, integer(c.a), out["a"])
		require.Equal(t, integer(c.b), out["b"])
		require.Equal(t, c.as, append([]int64{}, tensor.View[int64](out["as"])...))
		rounds := make([]int64, 8)
		for i := range c.as {
			rounds[i] = int64(i)
		}
		require.Equal(t, ints(rounds...), out["rounds"])
	}
}

// TestDeepControlIsUnsupported nests branches deeper than a plan holds.
func TestDeepControlIsUnsupported(t *testing.T) {
	for depth, want := range map[int]string{artifact.MaxDepth: "", artifact.MaxDepth + 1: "branches and loops nest more than 16 deep"} {
		g := newGraph(t)
		fn := (*relay.Function)(nil)
		for i := range depth + 1 {
			c, v := g.typed("c", tensor.Bool), g.v("v", 2)
			body := relay.Expr(g.call("exp", nil, v))
			if i > 0 {
				c2, v2 := g.typed("c", tensor.Bool), g.v("v", 2)
				branch, err := relay.NewIf(c, g.apply(fn, c, v), g.apply(g.fn(v2, c2, v2), c, v), diag.Pos{Node: "deep"})
				require.NoError(t, err)
				body = branch
			}
			fn = g.fn(body, c, v)
		}
		main, err := newRegion(fn, nil, 0)
		require.NoError(t, err)
		host, err := target.Parse("x86-64-v3")
		require.NoError(t, err)
		g.kernels(main)
		_, err = newPlan(&relay.Module{Funcs: map[string]*relay.Function{"main": fn}, Outputs: []string{"y"}}, host, main, &diag.Notes{})
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, diag.ErrUnsupported)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `node "deep"`)
	}
}

// wild draws functions of values (2, 3) with branches and loops in each other.
type wild struct {
	*graph
	r      *rand.Rand
	values []relay.Expr // that may be read
	depth  int
}

func (w *wild) pick() relay.Expr { return w.values[w.r.IntN(len(w.values))] }

// nested draws a function that is given some of the values, behind the first parameters.
func (w *wild) nested(first []*relay.Var, give func(inner *wild) relay.Expr) (fn *relay.Function, captured []relay.Expr) {
	params := append([]*relay.Var{}, first...)
	inner := &wild{graph: w.graph, r: w.r, depth: w.depth + 1}
	for range 1 + w.r.IntN(3) {
		v := w.v("c", 2, 3)
		params, captured = append(params, v), append(captured, w.pick())
	}
	for _, p := range params {
		if len(relay.Tensor(p).Shape) == 2 {
			inner.values = append(inner.values, p)
		}
	}
	for range w.r.IntN(4) {
		inner.step()
	}
	return w.fn(give(inner), params...), captured
}

// positive is a bool: whether the first element of a value is above 0.
func (w *wild) positive() relay.Expr {
	first := w.call("strided_slice", &relay.StridedSliceAttrs{Begin: []int{0, 0}, End: []int{1, 1}, Axes: []int{0, 1}}, w.pick())
	return w.call("reshape", &relay.ReshapeAttrs{NewShape: []int{}}, w.call("greater", nil, first, relay.NewConstant(tensor.New(tensor.Float32, tensor.Shape{}), "", diag.Pos{})))
}

// step adds a value, or the values of a branch or a loop.
func (w *wild) step() {
	kind := w.r.IntN(8)
	if w.depth == 3 && kind > 5 {
		kind = 0
	}
	switch kind {
	case 0, 1:
		w.values = append(w.values, w.call("tanh", nil, w.call("add", nil, w.pick(), w.pick())))
	case 2:
		w.values = append(w.values, w.call("nn.softmax", &relay.AxisAttrs{Axis: w.r.IntN(2)}, w.pick()))
	case 3:
		w.values = append(w.values, w.call("reverse", &relay.AxisAttrs{Axis: 1}, w.pick()))
	case 4:
		flat := w.call("reshape", &relay.ReshapeAttrs{NewShape: []int{1, 6}}, w.pick())
		w.values = append(w.values, w.call("reshape", &relay.ReshapeAttrs{NewShape: []int{2, 3}}, w.call("sin", nil, flat)))
	case 5:
		w.values = append(w.values, w.call("multiply", nil, w.pick(), w.pick()))
	case 6:
		two := func(inner *wild) relay.Expr { return inner.tuple(inner.pick(), inner.pick()) }
		then, thenArgs := w.nested(nil, two)
		els, elseArgs := w.nested(nil, two)
		i, err := relay.NewIf(w.positive(), w.apply(then, thenArgs...), w.apply(els, elseArgs...), diag.Pos{Node: "choice"})
		require.NoError(w.t, err)
		w.values = append(w.values, w.get(i, 0), w.get(i, 1))
	default:
		w.loopStep()
	}
}

func (w *wild) loopStep() {
	l := relay.Loop{Trip: relay.NewConstant(integer(int64(w.r.IntN(4))), "", diag.Pos{}), Max: 4}
	first := []*relay.Var{w.typed("round", tensor.Int64)}
	for range 1 + w.r.IntN(3) {
		l.State, first = append(l.State, w.pick()), append(first, w.v("s", 2, 3))
	}
	if w.r.IntN(2) == 0 {
		l.Cond = w.positive()
	}
	l.Body, l.Captured = w.nested(first, func(inner *wild) relay.Expr {
		var given []relay.Expr
		if l.Cond != nil {
			given = append(given, inner.positive())
		}
		for range len(l.State) + 1 {
			given = append(given, inner.pick())
		}
		return inner.tuple(given...)
	})
	loop := w.loop(l)
	for i := range l.State {
		w.values = append(w.values, w.get(loop, i))
	}
	stack := w.call("sum", &relay.ReduceAttrs{Axis: []int{0}}, w.get(loop, len(l.State)))
	count := w.call("cast", &relay.CastAttrs{DType: tensor.Float32, Saturate: true, RoundMode: "up"}, w.get(loop, len(l.State)+1))
	w.values = append(w.values, w.call("tanh", nil, w.call("add", nil, stack, count)))
}

// TestRandomControlFlow compiles random programs of branches and loops, checks each layer, and the outputs.
func TestRandomControlFlow(t *testing.T) {
	devices := []string{"cpu", "cpu", "cpu"}
	if _, err := DeviceTarget("opencl"); !errors.Is(err, diag.ErrMissing) {
		devices = append(devices, "opencl")
	}
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := &wild{graph: newGraph(t), r: r}
		x, y := w.v("x", 2, 3), w.v("y", 2, 3)
		w.values = []relay.Expr{x, y}
		for range 3 {
			w.step()
		}
		w.loopStep()
		w.step()
		m := w.module(w.tuple(w.values[len(w.values)-1], w.values[len(w.values)-2], w.pick()), []string{"p", "q", "r"}, x, y)
		t.Logf("seed %d", seed)
		_, report := checked(t, m, devices[int(seed)%len(devices)], map[string]*tensor.Tensor{"x": normal(r, 2, 3), "y": normal(r, 2, 3)})
		for _, o := range report.Outputs {
			require.Zero(t, o.Wrong, "%v", report) // also those behind a condition on floats: no seed comes near a tie
		}
	}
}
