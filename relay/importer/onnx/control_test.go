package onnx

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

const (
	float32Type = 1
	int64Type   = 7
	boolType    = 9
)

func vector(v ...float32) *tensor.Tensor {
	return tensor.Of(tensor.Float32, tensor.Shape{len(v)}, v...)
}

func whole(v int64) *tensor.Tensor { return tensor.Of(tensor.Int64, tensor.Shape{}, v) }

func truth(v bool) *tensor.Tensor { return tensor.Of(tensor.Bool, tensor.Shape{}, v) }

func trueBool(name string) *pb.TensorProto {
	return &pb.TensorProto{Name: &name, DataType: proto.Int32(boolType), Int32Data: []int32{1}}
}

// nodesOf counts the nodes of a kind in main and in the functions in it.
func nodesOf[T relay.Expr](m *relay.Module) (n int) {
	for e := range relay.PostOrder(m.Main(), true) {
		if _, ok := e.(T); ok {
			n++
		}
	}
	return n
}

// result is output i of a model, cut to its extent.
func result(t testing.TB, m *relay.Module, i int, args ...*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	out := compute(t, m, args...)
	x, ok := m.Extents[m.Outputs[i]]
	if !ok {
		return out[i]
	}
	require.Zero(t, x.Axis)
	count := int(tensor.View[int64](out[x.Output])[0])
	shape := out[i].Shape.Clone()
	shape[0] = count
	require.Zero(t, slices.Max(append(slices.Clone(out[i].Data[out[i].DType.Bytes(shape.Elems()):]), 0)), "zeros behind the extent")
	return &tensor.Tensor{DType: out[i].DType, Shape: shape, Data: out[i].Data[:out[i].DType.Bytes(shape.Elems())]}
}

// TestBranchesAreTakenWhenTheModelRuns has branches that use values of the graph around, a constant of their own, a branch
// in a branch, and a value handed through.
func TestBranchesAreTakenWhenTheModelRuns(t *testing.T) {
	inner := func(name string) *pb.GraphProto {
		return graphOf(nil, values(value("r", float32Type)), op(name, names("t", "z"), names("r")))
	}
	then := graphOf(nil, values(value("p", float32Type), value("q", float32Type)), op("Mul", names("x", "two"), names("t")),
		op("Exp", names("y"), names("z")), op("If", names("d"), names("p"), attr("then_branch", inner("Add")), attr("else_branch", inner("Sub"))), op("Identity", names("x"), names("q")))
	then.Initializer = []*pb.TensorProto{floats("two", nil, 2)}
	els := graphOf(nil, values(value("y", float32Type), value("x", float32Type)))
	m, _ := load(t, model(17, graphOf(values(value("x", float32Type, 2), value("c", boolType, 1), value("d", boolType)), values(value("a", float32Type), value("b", float32Type)),
		op("Neg", names("x"), names("y")), op("If", names("c"), names("a", "b"), attr("then_branch", then), attr("else_branch", els)))), Options{})
	require.Equal(t, 2, nodesOf[*relay.If](m))
	one := func(v bool) *tensor.Tensor { return tensor.Of(tensor.Bool, tensor.Shape{1}, v) }
	e := func(v float64) float32 { return float32(math.Exp(v)) }
	for _, c := range []struct {
		c, d bool
		a, b []float32
	}{
		{true, true, []float32{2 + e(-1), 4 + e(-2)}, []float32{1, 2}},
		{true, false, []float32{2 - e(-1), 4 - e(-2)}, []float32{1, 2}},
		{false, true, []float32{-1, -2}, []float32{1, 2}},
	} {
		out := compute(t, m, vector(1, 2), one(c.c), truth(c.d))
		require.Equal(t, vector(c.a...), out[0])
		require.Equal(t, vector(c.b...), out[1])
	}
}

func TestBranchesOfOneType(t *testing.T) {
	side := func(nodes ...*pb.NodeProto) *pb.GraphProto {
		return graphOf(nil, values(value("r", float32Type)), nodes...)
	}
	exp := side(op("Exp", names("x"), names("r")))
	build := func(els *pb.GraphProto) *pb.ModelProto {
		return model(17, graphOf(values(value("x", float32Type, 2, 1), value("c", boolType)), values(value("y", float32Type)),
			op("If", names("c"), names("y"), attr("then_branch", exp), attr("else_branch", els))))
	}
	refuse(t, build(side(op("Squeeze", names("x"), names("r")))), Options{}, diag.ErrUnsupported,
		`node "If_node"`, `output "y" has type Tensor[(2, 1), float32] in one branch and Tensor[(2,), float32] in the other`)
	refuse(t, build(graphOf(nil, nil)), Options{}, diag.ErrInvalid, "the branches give 1 and 0 values")
	wide := build(exp)
	wide.Graph.Input[1] = value("c", boolType, 2)
	refuse(t, wide, Options{}, diag.ErrInvalid, "a condition of type Tensor[(2,), bool], wanted one bool")

	// One branch gives as many rows as the data say, the other one all.
	found := side(op("Compress", names("x", "which"), names("r"), attr("axis", 0)))
	m := build(found)
	m.Graph.Input = append(m.Graph.Input, value("which", boolType, 2))
	module, _ := load(t, m, Options{})
	in := tensor.Of(tensor.Float32, tensor.Shape{2, 1}, float32(0), 1)
	which := tensor.Of(tensor.Bool, tensor.Shape{2}, false, true)
	require.Equal(t, tensor.Of(tensor.Float32, tensor.Shape{2, 1}, 1, float32(math.E)), result(t, module, 0, in, truth(true), which))
	out := compute(t, module, in, truth(false), which)
	require.Equal(t, relay.Extent{Axis: 0, Output: 1}, module.Extents["y"])
	require.Equal(t, []int64{1}, tensor.View[int64](out[1]))
	require.Equal(t, float32(1), tensor.View[float32](out[0])[0])
}

// summing is a Loop that adds x to its state, collects the sum, hands a second state through, and goes on while the sum is
// below limit; trip and go are what stands for the operands.
func summing(trip, goes string) *pb.ModelProto {
	body := graphOf(values(value("i", int64Type), value("on", boolType), value("s", float32Type, 2), value("same", float32Type, 2)),
		values(value("more", boolType), value("next", float32Type), value("same", float32Type), value("next", float32Type), value("round", float32Type)),
		op("Add", names("s", "x"), names("next")), op("ReduceMax", names("next"), names("most"), attr("keepdims", 0)), op("Less", names("most", "limit"), names("more")),
		op("Cast", names("i"), names("at"), attr("to", 1)), op("Mul", names("at", "same"), names("round")))
	m := model(17, graphOf(values(value("x", float32Type, 2), value("n", int64Type), value("go", boolType), value("limit", float32Type)),
		values(value("sum", float32Type), value("same_", float32Type), value("sums", float32Type), value("rounds", float32Type)),
		op("Loop", names(trip, goes, "zero", "x"), names("sum", "same_", "sums", "rounds"), attr("body", body))))
	m.Graph.Initializer = []*pb.TensorProto{floats("zero", []int64{2}, 0, 0), trueBool("yes"), int64s("seven", nil, 7), int64s("endless", nil, math.MaxInt64)}
	return m
}

func TestLoopsRunWhenTheModelRuns(t *testing.T) {
	for _, c := range []struct {
		name, trip, goes string
		maxTrips         int
		n                int64
		begins           bool
		limit            float32
		want             int  // rounds
		exact            bool // the stacks have no more room
	}{
		{"trip count and condition", "n", "go", 9, 5, true, 100, 5, false},
		{"the condition ends it", "n", "go", 9, 5, true, 4.5, 3, false},
		{"the condition never holds", "n", "go", 9, 5, false, 100, 0, false},
		{"no rounds", "n", "go", 9, 0, true, 100, 0, false},
		{"a negative count", "n", "", 9, -2, true, 100, 0, false},
		{"a known trip count is the room", "seven", "go", 0, 0, true, 100, 7, false},
		{"less room than the trip count", "seven", "yes", 4, 0, true, 4.5, 3, false},
		{"no trip count", "", "yes", 9, 0, true, 6.5, 4, false},
		{"the trip count of loops without one", "endless", "yes", 9, 0, true, 6.5, 4, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := load(t, summing(c.trip, c.goes), Options{MaxTrips: c.maxTrips})
			require.Equal(t, 1, nodesOf[*relay.Loop](m))
			args := []*tensor.Tensor{vector(1, 2), whole(c.n), truth(c.begins), tensor.Of(tensor.Float32, tensor.Shape{}, c.limit)}
			var sums, rounds []float32
			for i := range c.want {
				sums = append(sums, float32(i+1), float32(2*i+2))
				rounds = append(rounds, float32(i), float32(2*i))
			}
			require.Equal(t, vector(float32(c.want), float32(2*c.want)), result(t, m, 0, args...))
			require.Equal(t, vector(1, 2), result(t, m, 1, args...))
			require.Equal(t, tensor.Of(tensor.Float32, tensor.Shape{c.want, 2}, sums...), result(t, m, 2, args...))
			require.Equal(t, tensor.Of(tensor.Float32, tensor.Shape{c.want, 2}, rounds...), result(t, m, 3, args...))
			for e := range relay.PostOrder(m.Main(), false) {
				if l, ok := e.(*relay.Loop); ok {
					require.Len(t, l.State, 1, "what rounds hand through is no state")
				}
			}
		})
	}
	refuse(t, summing("n", "go"), Options{}, diag.ErrUnsupported, `node "Loop_node"`, "give a limit with --max-trips N")
	refuse(t, summing("endless", "go"), Options{}, diag.ErrUnsupported, "give a limit with --max-trips N")
}

// counting is a Loop of n rounds whose body adds to its state, by nodes that compute what is added from the round.
func counting(n int64, state *pb.ValueInfoProto, nodes ...*pb.NodeProto) *pb.ModelProto {
	body := graphOf(values(value("i", int64Type), value("on", boolType), state), values(value("on", boolType), value("next", float32Type)), nodes...)
	m := model(17, graphOf(values(value("x", float32Type, 3)), values(value("y", float32Type)), op("Loop", names("n", "", "x"), names("y"), attr("body", body))))
	m.Graph.Initializer = []*pb.TensorProto{int64s("n", nil, n)}
	return m
}

func TestShortLoopsAreUnrolled(t *testing.T) {
	add := []*pb.NodeProto{op("Cast", names("i"), names("f"), attr("to", 1)), op("Add", names("s", "f"), names("next"))}
	for n, loops := range map[int64]int{1: 0, 20: 0, 100: 1, 100_000: 1} {
		m, notes := load(t, counting(n, value("s", float32Type, 3), add...), Options{})
		require.Equal(t, loops, nodesOf[*relay.Loop](m))
		require.Empty(t, notes)
		sum := float32(n * (n - 1) / 2)
		if n <= 100 {
			require.Equal(t, vector(sum, sum+1, sum+2), compute(t, m, vector(0, 1, 2))[0])
		}
	}
	m, _ := load(t, counting(0, value("s", float32Type, 3), add...), Options{})
	require.Zero(t, nodesOf[*relay.Loop](m))
	require.Equal(t, vector(0, 1, 2), compute(t, m, vector(0, 1, 2))[0])
}

// TestStateOfOneShape has a loop whose state grows, and one whose body needs the round's number.
func TestStateOfOneShape(t *testing.T) {
	grows := []*pb.NodeProto{op("Concat", names("s", "s"), names("next"), attr("axis", 0))}
	m, _ := load(t, counting(3, value("s", float32Type), grows...), Options{})
	require.Equal(t, tensor.Shape{24}, relay.Tensor(m.Main().Body).Shape, "a short loop is unrolled")
	open := counting(3, value("s", float32Type), grows...)
	open.Graph.Initializer = nil
	open.Graph.Input = append(open.Graph.Input, value("n", int64Type))
	refuse(t, open, Options{}, diag.ErrUnsupported, `node "Loop_node"`, `"s" has type Tensor[(3,), float32] before a round and Tensor[(6,), float32] behind it`)

	ranges := []*pb.NodeProto{op("Constant", nil, names("zero"), attr("value", int64s("", nil, 0))), op("Constant", nil, names("one"), attr("value", int64s("", nil, 1))),
		op("Range", names("zero", "i", "one"), names("list")), op("ReduceSum", names("list"), names("k"), attr("keepdims", 0)), op("Cast", names("k"), names("f"), attr("to", 1)),
		op("Add", names("s", "f"), names("next"))}
	m, notes := load(t, counting(60, value("s", float32Type, 3), ranges...), Options{})
	require.Zero(t, nodesOf[*relay.Loop](m))
	require.Len(t, notes, 1)
	require.Equal(t, diag.Fallback, notes[0].Kind)
	require.Contains(t, notes[0].Text, "unrolled, though that makes many nodes")
	require.Contains(t, notes[0].Text, `it depends on "i", which is not the same in every round`)
	require.Equal(t, vector(34220, 34221, 34222), compute(t, m, vector(0, 1, 2))[0]) // Σ i(i-1)/2
	open = counting(60, value("s", float32Type, 3), ranges...)
	open.Graph.Initializer = nil
	open.Graph.Input = append(open.Graph.Input, value("n", int64Type))
	refuse(t, open, Options{}, diag.ErrUnsupported, `it depends on "i", which is not the same in every round`)
}

// TestWhatALoopReadsMustBeKnownOutside has a body that reshapes by an input of the model.
func TestWhatALoopReadsMustBeKnownOutside(t *testing.T) {
	m := counting(100, value("s", float32Type, 3), op("Reshape", names("s", "shape"), names("next")))
	m.Graph.Input = append(m.Graph.Input, value("shape", int64Type, 1))
	refuse(t, m, Options{}, diag.ErrUnsupported, "give the input's value with --input shape=…")
	module, _ := load(t, m, Options{Values: map[string]*tensor.Tensor{"shape": tensor.Of(tensor.Int64, tensor.Shape{1}, int64(3))}})
	require.Equal(t, vector(0, 1, 2), compute(t, module, vector(0, 1, 2))[0])
}

// TestLoopsNest has, for each i below n, a loop of i rounds that adds x, in a branch that is taken for odd i.
func TestLoopsNest(t *testing.T) {
	inner := graphOf(values(value("j", int64Type), value("on2", boolType), value("t", float32Type, 1)), values(value("on2", boolType), value("t2", float32Type)), op("Add", names("t", "x"), names("t2")))
	odd := graphOf(nil, values(value("r", float32Type)), op("Loop", names("i", "", "s"), names("r"), attr("body", inner)))
	even := graphOf(nil, values(value("s", float32Type)))
	body := graphOf(values(value("i", int64Type), value("on", boolType), value("s", float32Type, 1)), values(value("on", boolType), value("next", float32Type)),
		op("Mod", names("i", "two"), names("rest")), op("Cast", names("rest"), names("isOdd"), attr("to", boolType)), op("If", names("isOdd"), names("next"), attr("then_branch", odd), attr("else_branch", even)))
	m := model(17, graphOf(values(value("x", float32Type, 1), value("n", int64Type)), values(value("y", float32Type)), op("Loop", names("n", "", "x"), names("y"), attr("body", body))))
	m.Graph.Initializer = []*pb.TensorProto{int64s("two", nil, 2)}
	module, _ := load(t, m, Options{})
	require.Equal(t, 2, nodesOf[*relay.Loop](module))
	require.Equal(t, vector(30), compute(t, module, vector(3), whole(6))[0]) // 3 + 3 (1 + 3 + 5)
}

// TestScans holds scans that are unrolled and scans that are loops to a definition of their own: s ← s + a - b, where a is
// scanned forward along axis 0 and b backward along axis 1; s is collected forward along axis 1, and a - b backward along
// axis 0.
func TestScans(t *testing.T) {
	body := graphOf(values(value("s", float32Type, 2), value("a", float32Type, 2), value("b", float32Type, 2)), values(value("next", float32Type), value("next", float32Type), value("d", float32Type)),
		op("Sub", names("a", "b"), names("d")), op("Add", names("s", "d"), names("next")))
	for _, n := range []int{1, 3, 200} {
		m, _ := load(t, model(17, graphOf(values(value("s0", float32Type, 2), value("as", float32Type, n, 2), value("bs", float32Type, 2, n)), values(value("last", float32Type), value("ss", float32Type), value("ds", float32Type)),
			op("Scan", names("s0", "as", "bs"), names("last", "ss", "ds"), attr("body", body), attr("num_scan_inputs", 2), attr("scan_input_axes", []int{0, -1}), attr("scan_input_directions", []int{0, 1}),
				attr("scan_output_axes", []int{1, 0}), attr("scan_output_directions", []int{0, 1})))), Options{})
		require.Equal(t, n == 200, nodesOf[*relay.Loop](m) == 1)
		as, bs := make([]float32, 2*n), make([]float32, 2*n)
		for i := range as {
			as[i], bs[i] = float32(i%7), float32(i%5)
		}
		s := []float32{1, -1}
		ss, ds := make([]float32, 2*n), make([]float32, 2*n)
		for round := range n {
			for k := range 2 {
				d := as[2*round+k] - bs[k*n+n-1-round]
				s[k] += d
				ss[k*n+round], ds[2*(n-1-round)+k] = s[k], d
			}
		}
		out := compute(t, m, vector(1, -1), tensor.Of(tensor.Float32, tensor.Shape{n, 2}, as...), tensor.Of(tensor.Float32, tensor.Shape{2, n}, bs...))
		require.Equal(t, vector(s...), out[0])
		require.Equal(t, tensor.Of(tensor.Float32, tensor.Shape{2, n}, ss...), out[1])
		require.Equal(t, tensor.Of(tensor.Float32, tensor.Shape{n, 2}, ds...), out[2])
	}
	m, _ := load(t, model(17, graphOf(values(value("s0", float32Type, 2), value("as", float32Type, 0, 2), value("bs", float32Type, 0, 2)), values(value("last", float32Type), value("ss", float32Type), value("ds", float32Type)),
		op("Scan", names("s0", "as", "bs"), names("last", "ss", "ds"), attr("body", body), attr("num_scan_inputs", 2), attr("scan_output_axes", []int{1, 0})))), Options{})
	none := tensor.New(tensor.Float32, tensor.Shape{0, 2})
	out := compute(t, m, vector(1, -1), none, none)
	require.Equal(t, vector(1, -1), out[0])
	require.Equal(t, tensor.Shape{2, 0}, out[1].Shape)
	require.Equal(t, tensor.Shape{0, 2}, out[2].Shape)
}

func TestHostileLoopsAreRefused(t *testing.T) {
	add := []*pb.NodeProto{op("Add", names("s", "x"), names("next"))}
	m, _ := load(t, counting(1<<60, value("s", float32Type, 3), add...), Options{})
	require.Equal(t, 1, nodesOf[*relay.Loop](m), "that is legal, and ends when it is cancelled")

	collects := counting(1<<40, value("s", float32Type, 3), add...)
	loop := collects.Graph.Node[0]
	loop.Attribute[0].G.Output = append(loop.Attribute[0].G.Output, value("next", float32Type))
	loop.Output = names("y", "all")
	refuse(t, collects, Options{}, diag.ErrUnsupported, "give a limit with --max-trips N")

	forever := counting(1, value("s", float32Type, 3), add...)
	forever.Graph.Node[0].Input[0] = ""
	refuse(t, forever, Options{}, diag.ErrInvalid, "a loop without trip count and condition")

	for _, c := range []struct {
		text   string
		change func(m *pb.ModelProto, loop *pb.NodeProto)
	}{
		{"a trip count of type Tensor[(2,), int64], wanted one int64", func(m *pb.ModelProto, _ *pb.NodeProto) { m.Graph.Initializer[0] = int64s("n", []int64{2}, 1, 2) }},
		{"a condition of type Tensor[(3,), float32], wanted one bool", func(_ *pb.ModelProto, loop *pb.NodeProto) { loop.Input[1] = "x" }},
		{"the body takes 3 values and gives 2, for a state of 2", func(_ *pb.ModelProto, loop *pb.NodeProto) { loop.Input = append(loop.Input, "x") }},
		{"a condition of type Tensor[(3,), float32], wanted one bool", func(_ *pb.ModelProto, loop *pb.NodeProto) { loop.Attribute[0].G.Output[0] = value("next", float32Type) }},
		{`attribute "body" is missing`, func(_ *pb.ModelProto, loop *pb.NodeProto) { loop.Attribute = nil }},
	} {
		for _, n := range []int64{3, 1000} {
			m := counting(n, value("s", float32Type, 3), add...)
			c.change(m, m.Graph.Node[0])
			refuse(t, m, Options{}, diag.ErrInvalid, c.text)
		}
	}
}

// TestDeepLoopsAreRefused nests loops whose length is not known.
func TestDeepLoopsAreRefused(t *testing.T) {
	for _, depth := range []int{40, 200} {
		var g *pb.GraphProto
		for i := range depth {
			state, next := fmt.Sprint("s", i), fmt.Sprint("t", i)
			node := op("Exp", names(state), names(next))
			if g != nil {
				node = op("Loop", names("n", "", state), names(next), attr("body", g))
			}
			g = graphOf(values(value(fmt.Sprint("i", i), int64Type), value(fmt.Sprint("on", i), boolType), value(state, float32Type, 1)),
				values(value(fmt.Sprint("on", i), boolType), value(next, float32Type)), node)
		}
		m := model(17, graphOf(values(value("x", float32Type, 1), value("n", int64Type)), values(value("y", float32Type)), op("Loop", names("n", "", "x"), names("y"), attr("body", g))))
		refuse(t, m, Options{}, diag.ErrInvalid, "nest deeper than")
	}
}

// TestWindowsThatMoveWithTheRounds has slices whose ends move alike: inside the axis in every round they have one shape.
func TestWindowsThatMoveWithTheRounds(t *testing.T) {
	constant := func(name string, v int64) *pb.NodeProto {
		return op("Constant", nil, names(name), attr("value", int64s("", []int64{1}, v)))
	}
	// s ← s + Σ x[by·i + plus : by·i + plus + count]
	window := func(by, plus, count int64) []*pb.NodeProto {
		return []*pb.NodeProto{constant("zero", 0), constant("by", by), constant("plus", plus), constant("count", count), op("Unsqueeze", names("i", "zero"), names("at")),
			op("Mul", names("by", "at"), names("moved")), op("Add", names("moved", "plus"), names("start")), op("Add", names("count", "start"), names("end")),
			op("Slice", names("x", "start", "end", "zero"), names("part")), op("ReduceSum", names("part"), names("sum")), op("Add", names("s", "sum"), names("next"))}
	}
	build := func(extent int, trip string, nodes []*pb.NodeProto) *pb.ModelProto {
		body := graphOf(values(value("i", int64Type), value("on", boolType), value("s", float32Type, 1)), values(value("on", boolType), value("next", float32Type), value("next", float32Type)), nodes...)
		m := model(17, graphOf(values(value("x", float32Type, extent), value("n", int64Type)), values(value("y", float32Type)), op("Loop", names(trip, "", "nought"), names("y", "all"), attr("body", body))))
		m.Graph.Initializer = []*pb.TensorProto{floats("nought", []int64{1}, 0), int64s("hundred", nil, 100)}
		return m
	}
	list := make([]float32, 205)
	for i := range list {
		list[i] = float32(i % 7)
	}
	for _, c := range []struct{ by, plus, count int64 }{{1, 0, 1}, {2, 3, 4}, {-2, 200, 3}, {0, 5, 2}} {
		var sum float32
		for i := range int64(100) {
			for _, v := range list[c.by*i+c.plus:][:c.count] {
				sum += v
			}
		}
		for trip, o := range map[string]Options{"hundred": {}, "n": {MaxTrips: 100}} {
			m, _ := load(t, build(205, trip, window(c.by, c.plus, c.count)), o)
			require.Equal(t, 1, nodesOf[*relay.Loop](m))
			require.Equal(t, vector(sum), compute(t, m, vector(list...), whole(100))[0], "%v", c)
		}
	}
	// A window that leaves the axis in some round is shorter there, and one of a loop without limit may be.
	for _, c := range []struct{ by, plus, count int64 }{{2, 4, 4}, {-2, 197, 3}} {
		refuse(t, build(205, "n", window(c.by, c.plus, c.count)), Options{MaxTrips: 100}, diag.ErrUnsupported, "is known only when the model runs")
	}
	open := build(205, "n", window(1, 0, 1))
	open.Graph.Node[0].Output = names("y")
	open.Graph.Node[0].Attribute[0].G.Output = open.Graph.Node[0].Attribute[0].G.Output[:2]
	refuse(t, open, Options{MaxTrips: 100}, diag.ErrUnsupported, "is known only when the model runs")
}

// TestNestedLoopsAreConvertedFewTimes has long loops in each other, around an operator that is done or not: each is tried to
// unroll once, not once for each time that one around it is tried.
func TestNestedLoopsAreConvertedFewTimes(t *testing.T) {
	const depth = 20
	for _, inner := range []string{"Exp", "Unknown"} {
		g := (*pb.GraphProto)(nil)
		for i := range depth {
			state, next := fmt.Sprint("s", i), fmt.Sprint("t", i)
			node := op(inner, names(state), names(next))
			if g != nil {
				node = op("Loop", names("n", "", state), names(next), attr("body", g))
			}
			g = graphOf(values(value(fmt.Sprint("i", i), int64Type), value(fmt.Sprint("on", i), boolType), value(state, float32Type, 1)),
				values(value(fmt.Sprint("on", i), boolType), value(next, float32Type)), node)
		}
		m := model(17, graphOf(values(value("x", float32Type, 1)), values(value("y", float32Type)), op("Loop", names("n", "", "x"), names("y"), attr("body", g))))
		m.Graph.Initializer = []*pb.TensorProto{int64s("n", nil, 1000)}
		begin := time.Now()
		if inner == "Exp" {
			module, _ := load(t, m, Options{})
			require.Equal(t, depth, nodesOf[*relay.Loop](module))
		} else {
			refuse(t, m, Options{}, diag.ErrUnsupported, "Unknown")
		}
		require.Less(t, time.Since(begin), 5*time.Second)
	}
}
