package memplan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// graph makes plans for tests: one arena, one input x and one output y.
type graph struct{ plan *artifact.Plan }

func newGraph(bytes int64) *graph {
	p := &artifact.Plan{
		Format: artifact.PlanFormat, Function: "main",
		Pools:   []artifact.Pool{{Name: "io", Kind: artifact.External}, {Name: "arena", Kind: artifact.Arena}},
		Kernels: []artifact.Kernel{{Name: "k"}},
	}
	g := &graph{p}
	for _, name := range []string{"x", "y"} {
		g.tensor(name, bytes)
		p.Tensors[len(p.Tensors)-1].Pool = "io"
	}
	port := func(name string) []artifact.Port {
		return []artifact.Port{{Name: name, DType: tensor.Uint8, Shape: tensor.Shape{int(bytes)}, Tensor: name}}
	}
	p.Inputs, p.Outputs = port("x"), port("y")
	return g
}

func (g *graph) tensor(name string, bytes int64) {
	g.plan.Tensors = append(g.plan.Tensors, artifact.Tensor{Name: name, DType: tensor.Uint8, Shape: tensor.Shape{int(bytes)}, Pool: "arena", Bytes: bytes})
}

func (g *graph) view(name, of string, at, bytes int64) {
	g.tensor(name, bytes)
	t := &g.plan.Tensors[len(g.plan.Tensors)-1]
	t.AliasOf, t.AliasOffset = of, at
}

func (g *graph) launch(write string, reads ...string) *artifact.Launch {
	g.plan.Launches = append(g.plan.Launches, artifact.Launch{Kind: artifact.KernelLaunch, Name: write, Kernel: "k", Grid: []int64{1}, Chunk: 1,
		Buffers: append([]string{write}, reads...), Reads: reads, Writes: []string{write}})
	return &g.plan.Launches[len(g.plan.Launches)-1]
}

func (g *graph) at(name string) int64 {
	for _, t := range g.plan.Tensors {
		if t.Name == name {
			return t.Offset
		}
	}
	return -1
}

func TestChainTakesTwo(t *testing.T) {
	g := newGraph(64)
	g.tensor("a", 1000)
	g.tensor("b", 500)
	g.tensor("c", 1000)
	g.launch("a", "x")
	g.launch("b", "a")
	g.launch("c", "b")
	g.launch("y", "c")
	require.NoError(t, Assign(g.plan, Options{}))
	require.NoError(t, g.plan.Check())
	require.Equal(t, int64(1500), g.plan.Memory.LowerBound)
	require.Equal(t, int64(1024+512), g.plan.ArenaBytes)
	require.Equal(t, int64(1024+512+1024), g.plan.Memory.Naive)
	require.Equal(t, "greedy by size", g.plan.Memory.Strategy)
}

func TestInPlaceChain(t *testing.T) {
	g := newGraph(64)
	g.tensor("a", 1024)
	g.tensor("b", 1024)
	g.tensor("c", 1024)
	g.launch("a", "x")
	g.launch("b", "a").InPlace = []artifact.InPlace{{Write: "b", Read: "a"}}
	g.launch("c", "b").InPlace = []artifact.InPlace{{Write: "c", Read: "b"}}
	g.launch("y", "c", "b") // b is read after c was written
	require.NoError(t, Assign(g.plan, Options{}))
	require.NoError(t, g.plan.Check())
	require.Equal(t, int64(2048), g.plan.ArenaBytes)
	require.Equal(t, []artifact.InPlace{{Write: "b", Read: "a"}}, g.plan.Launches[1].InPlace)
	require.Empty(t, g.plan.Launches[2].InPlace, "its operand lives on")

	require.NoError(t, Assign(g.plan, Options{NoInPlace: true}))
	require.NoError(t, g.plan.Check())
	require.Equal(t, int64(2048), g.plan.ArenaBytes)
	require.Empty(t, g.plan.Launches[1].InPlace)
}

func TestInPlaceOfASmallerResult(t *testing.T) {
	g := newGraph(64)
	g.tensor("a", 4096)
	g.tensor("b", 1024)
	g.tensor("c", 3072)
	g.launch("a", "x")
	g.launch("b", "a").InPlace = []artifact.InPlace{{Write: "b", Read: "a"}}
	g.launch("c", "b")
	g.launch("y", "c")
	require.NoError(t, Assign(g.plan, Options{}))
	require.NoError(t, g.plan.Check())
	require.Equal(t, int64(4096), g.plan.ArenaBytes, "c lies where the rest of a was")
	require.Equal(t, g.at("a"), g.at("b"))
}

func TestConcatAndSplitAreViews(t *testing.T) {
	g := newGraph(64)
	g.tensor("cat", 300)
	g.view("left", "cat", 0, 100)
	g.view("right", "cat", 100, 200)
	g.tensor("other", 640)
	g.view("half", "cat", 50, 150)
	g.launch("left", "x")
	g.launch("other", "left")
	g.launch("right", "other")
	g.launch("y", "half")
	require.NoError(t, Assign(g.plan, Options{}))
	require.NoError(t, g.plan.Check())
	require.Equal(t, g.at("cat")+100, g.at("right"))
	require.Equal(t, g.at("cat")+50, g.at("half"))
	require.Equal(t, int64(100+200+640), g.plan.Memory.LowerBound)
}

func TestTensorBeforeALoopOutlivesIt(t *testing.T) {
	g := newGraph(8)
	p := g.plan
	g.tensor("a", 64)
	g.tensor("tmp", 64)
	p.Tensors = append(p.Tensors, artifact.Tensor{Name: "trip", DType: tensor.Int64, Shape: tensor.Shape{}, Bytes: 8, Pool: "arena"})
	g.launch("a", "x")
	g.launch("trip", "x")
	p.Launches = append(p.Launches, artifact.Launch{Kind: artifact.ControlLaunch, Name: "loop", Reads: []string{"trip"},
		Control: &artifact.Control{Kind: artifact.Loop, Trip: "trip", Body: "body"}})
	main := p.Launches
	p.Launches = nil
	g.launch("tmp", "a")
	body := p.Launches
	p.Launches = main
	p.Regions = []artifact.Region{{Name: "body", Launches: body}}
	g.launch("y", "x")
	require.NoError(t, Assign(p, Options{}))
	require.NoError(t, p.Check())
	require.NotEqual(t, g.at("a"), g.at("tmp"), "the next turn reads a again")
}

// random makes a plan of n tensors in which launch i writes tensor i and reads some earlier ones.
func random(rng *rand.Rand, n int) *graph {
	g := newGraph(8)
	for i := range n {
		name := fmt.Sprint("t", i)
		g.tensor(name, 64*(1+rng.Int64N(12)))
		if rng.IntN(5) == 0 && i > 0 { // a view of an earlier tensor
			t := &g.plan.Tensors[len(g.plan.Tensors)-1]
			of := g.plan.Tensors[2+rng.IntN(i)]
			if of.AliasOf == "" {
				t.AliasOf, t.Bytes = of.Name, of.Bytes
				t.Shape = of.Shape
				continue
			}
		}
		reads := []string{"x"}
		var pairs []artifact.InPlace
		for range rng.IntN(3) {
			if i > 0 {
				back := fmt.Sprint("t", max(0, i-1-rng.IntN(4)))
				reads = append(reads, back)
				pairs = append(pairs, artifact.InPlace{Write: name, Read: back})
			}
		}
		l := g.launch(name, reads...)
		if rng.IntN(2) == 0 {
			l.InPlace = pairs
		}
	}
	g.launch("y", fmt.Sprint("t", n-1))
	return g
}

func TestRandomPlansPassTheChecker(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range 300 {
		g := random(rng, 2+rng.IntN(40))
		opt := Options{SearchWork: 20_000}
		if i%3 == 0 {
			opt.Stagger = 512
		}
		require.NoError(t, Assign(g.plan, opt), i)
		require.NoError(t, g.plan.Check(), "plan %d", i)
		m := g.plan.Memory
		require.LessOrEqual(t, m.LowerBound, m.Planned, i)
		require.LessOrEqual(t, m.Planned, m.Naive, i)
		require.Equal(t, g.plan.ArenaBytes, m.Planned+m.Padding, i)
		if opt.Stagger == 0 {
			require.Zero(t, m.Padding)
		}
		again := random(rand.New(rand.NewPCG(1, uint64(i))), 10)
		twice := random(rand.New(rand.NewPCG(1, uint64(i))), 10)
		require.NoError(t, Assign(again.plan, opt))
		require.NoError(t, Assign(twice.plan, opt))
		require.Equal(t, again.plan, twice.plan, "the planner is a function of its input")
	}
}

// optimum tries every order. Placing the blocks of a best plan by rising offset, each as low as it goes, moves none
// up, so that some order gives a best plan.
func optimum(blocks []*block) int64 {
	f := newFitter(blocks)
	best := int64(1) << 60
	order := make([]int, 0, len(blocks))
	used := make([]bool, len(blocks))
	var try func()
	try = func() {
		if len(order) == len(blocks) {
			if _, size := f.fit(order); size < best {
				best = size
			}
			return
		}
		for i := range blocks {
			if !used[i] {
				used[i] = true
				order = append(order, i)
				try()
				order = order[:len(order)-1]
				used[i] = false
			}
		}
	}
	try()
	return best
}

func TestAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	missed := 0
	for range 200 {
		var blocks []*block
		for i := range 3 + rng.IntN(5) {
			first := rng.IntN(8)
			b := &block{members: []member{{tensor: i, group: i, bytes: 64 * (1 + rng.Int64N(9)), first: first, last: first + rng.IntN(5)}}}
			if rng.IntN(3) == 0 { // a second tensor in place, smaller or larger
				m := b.members[0]
				b.members = append(b.members, member{tensor: 100 + i, group: 100 + i, bytes: 64 * (1 + rng.Int64N(9)), first: m.last, last: m.last + rng.IntN(4)})
			}
			b.cut()
			blocks = append(blocks, b)
		}
		want := optimum(blocks)
		got := place(blocks, Options{})
		require.GreaterOrEqual(t, got.size, want)
		require.LessOrEqual(t, got.bound, want)
		if got.size > want {
			missed++
		}
	}
	require.Zero(t, missed, "the search finds the optimum of small plans")
}

// TestPublishedModel is the table of Pisarchyk and Lee for a chain like MobileNet v1's, where greedy by size meets
// the bound.
func TestPublishedModel(t *testing.T) {
	g := newGraph(8)
	shapes := [][2]int64{{112, 32}, {112, 32}, {112, 64}, {56, 64}, {56, 128}, {56, 128}, {56, 128}, {28, 128}, {28, 256}, {28, 256}, {28, 256}, {14, 256}, {14, 512}}
	for range 10 {
		shapes = append(shapes, [2]int64{14, 512})
	}
	shapes = append(shapes, [][2]int64{{7, 512}, {7, 1024}, {7, 1024}, {7, 1024}, {1, 1024}}...)
	prev := "x"
	for i, s := range shapes {
		name := fmt.Sprint("t", i)
		g.tensor(name, s[0]*s[0]*s[1]*4)
		g.launch(name, prev)
		prev = name
	}
	g.launch("y", prev)
	require.NoError(t, Assign(g.plan, Options{}))
	require.NoError(t, g.plan.Check())
	require.Equal(t, int64(4816896), g.plan.ArenaBytes, "4.594 MiB")
	require.Equal(t, g.plan.Memory.LowerBound, g.plan.ArenaBytes)
}

func TestMoreThanAnyMemoryIsUnsupported(t *testing.T) {
	g := newGraph(64)
	g.tensor("a", 1<<45)
	g.tensor("b", 1<<45)
	require.ErrorIs(t, Assign(g.plan, Options{}), diag.ErrUnsupported)
	g = newGraph(64)
	g.plan.Kernels[0].Scratch = 1 << 50
	require.ErrorIs(t, Assign(g.plan, Options{}), diag.ErrUnsupported)
}
