package cpu

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/codegen/llvm"
	"github.com/texel-ml/texel/memplan"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// generated is a chain of launches of one generated kernel, out[i] = 1.5 in[i] over size elements in rows of 64, with
// the driver that codegen/llvm makes. Each row is worked on repeat times.
func generated(t testing.TB, launches, size, repeat int) string {
	shape := tensor.Shape{size}
	in := &tir.Buffer{Name: "in", DType: tensor.Float32, Shape: shape, Scope: tir.Global}
	out := &tir.Buffer{Name: "out", DType: tensor.Float32, Shape: shape, Scope: tir.Global}
	g, i, again := tir.NewVar("g"), tir.NewVar("i"), tir.NewVar("again")
	at := []tir.Expr{tir.Plus(tir.Times(g, tir.I(64)), i)}
	store := &tir.Store{Buffer: out, Indices: at, Value: tir.Bin(tir.Mul, &tir.Load{Buffer: in, Indices: at}, tir.Const(tensor.Float32, 1.5))}
	row := &tir.For{Var: i, Min: tir.I(0), Extent: tir.I(64), Body: store}
	k := &tir.Kernel{Name: "scale", Params: []*tir.Buffer{in, out}, Outputs: 1, Grid: g, GridExtent: size / 64,
		Body: &tir.For{Var: again, Min: tir.I(0), Extent: tir.I(repeat), Body: row}}
	host, err := target.Host()
	require.NoError(t, err)
	object, err := llvm.Build(context.Background(), []*tir.Kernel{k}, host, llvm.Options{})
	require.NoError(t, err)

	m := newModel()
	m.plan.Kernels = []artifact.Kernel{{Name: "scale"}}
	m.input("x", size)
	m.output("y", size)
	prev := "x"
	for n := range launches {
		name := "t" + strconv.Itoa(n)
		if n == launches-1 {
			name = "y"
		} else {
			m.tensor("arena", name, tensor.Float32, size)
		}
		m.plan.Launches = append(m.plan.Launches, artifact.Launch{Kind: artifact.KernelLaunch, Name: name, Kernel: "scale", Grid: []int64{int64(size / 64)}, Chunk: 1,
			Buffers: []string{prev, name}, Reads: []string{prev}, Writes: []string{name}})
		prev = name
	}
	require.NoError(t, memplan.Assign(m.plan, memplan.Options{}))
	path := filepath.Join(t.TempDir(), "model.texel")
	w, err := artifact.Create(path, artifact.Header{Model: artifact.Model{Digest: zeroDigest}})
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.Variant("host", "cpu", host.Arch, host.Features, m.plan, []artifact.Code{{Name: "kernels.so", Data: object.SO}}))
	require.NoError(t, w.Commit())
	return path
}

func TestGeneratedCode(t *testing.T) {
	m := open(t, generated(t, 6, 640, 1))
	for _, threads := range []int{1, 2, 4} {
		in := instance(t, m, threads)
		in.Profile(true)
		for run := range 100 {
			fill(in.Input(0), float32(run))
			require.NoError(t, in.Run(context.Background()))
			for i, x := range floats(in.Input(0)) {
				want := x
				for range 6 {
					want *= 1.5
				}
				if got := floats(in.Output(0))[i]; got != want {
					t.Fatalf("%d threads, run %d: element %d is %v, wanted %v", threads, run, i, got, want)
				}
			}
		}
		require.Len(t, in.Times(), 6)
	}
}

func TestGeneratedCodeIsCancelled(t *testing.T) {
	m := open(t, generated(t, 2, 64<<10, 1<<17))
	for _, threads := range []int{1, 2} {
		in := instance(t, m, threads)
		in.Input(0)
		require.Less(t, soon(t, in).Milliseconds(), int64(100))
	}
}

// BenchmarkLaunch is the cost of a launch beyond its kernel: 64 launches of a kernel that does next to nothing.
func BenchmarkLaunch(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(strconv.Itoa(threads), func(b *testing.B) {
			in := instance(b, open(b, generated(b, 64, 128, 1)), threads)
			in.Input(0)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for b.Loop() {
				if err := in.Run(ctx); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/launch")
		})
	}
}
