package transform_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
	"pgregory.net/rapid"
)

// nest is a loop nest around one block: each axis may be split, imperfectly, and the loops are in any order.
type nest struct {
	iters  []tir.IterVar
	values []tir.Expr
	where  tir.Expr
	loops  []*tir.For
}

func drawNest(t *rapid.T, label string, iters []tir.IterVar) *nest {
	n := &nest{iters: iters}
	loop := func(name string, extent int, kind tir.IterKind) *tir.Var {
		v := tir.NewVar(name)
		kinds := []tir.LoopKind{tir.Serial, tir.Serial, tir.Unrolled}
		if kind == tir.Spatial {
			kinds = append(kinds, tir.Parallel, tir.Parallel, tir.Vectorized)
		}
		f := &tir.For{Var: v, Min: tir.I(0), Extent: tir.I(extent), Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		n.loops = append(n.loops, f)
		return v
	}
	for _, iv := range iters {
		name := label + iv.Var.Name
		f := rapid.SampledFrom([]int{0, 0, 2, 3, 4, 8}).Draw(t, "factor")
		if f == 0 {
			n.values = append(n.values, loop(name, iv.Extent, iv.Kind))
			continue
		}
		o, i := loop(name+"o", (iv.Extent+f-1)/f, iv.Kind), loop(name+"i", f, iv.Kind)
		value := tir.Plus(tir.Times(o, tir.I(f)), i)
		n.values = append(n.values, value)
		if iv.Extent%f != 0 {
			n.where = tir.All(n.where, tir.Bin(tir.LT, value, tir.I(iv.Extent)))
		}
	}
	n.loops = rapid.Permutation(n.loops).Draw(t, "order")
	return n
}

func (n *nest) around(b *tir.Block) tir.Stmt {
	b.Iters = n.iters
	var s tir.Stmt = &tir.BlockRealize{Values: n.values, Where: n.where, Block: b}
	for i := len(n.loops) - 1; i >= 0; i-- {
		f := *n.loops[i]
		f.Body = s
		s = &f
	}
	return s
}

func iter(name string, extent int, kind tir.IterKind) tir.IterVar {
	return tir.IterVar{Var: tir.NewVar(name), Extent: extent, Kind: kind}
}

func buffer(name string, scope tir.Scope, shape ...int) *tir.Buffer {
	return &tir.Buffer{Name: name, DType: tensor.Float32, Shape: shape, Scope: scope}
}

func point(b *tir.Buffer, idx ...tir.Expr) tir.Region {
	r := tir.Region{Buffer: b}
	for _, e := range idx {
		r.Ranges = append(r.Ranges, tir.Range{Min: e, Extent: tir.I(1)})
	}
	return r
}

func load(b *tir.Buffer, idx ...tir.Expr) tir.Expr { return &tir.Load{Buffer: b, Indices: idx} }

func f32(v float64) tir.Expr { return tir.Const(tensor.Float32, v) }

// drawFunc makes a convolution over a padded row, into a buffer between, then a product with an activation.
func drawFunc(t *rapid.T) *tir.Func {
	dim := func(name string) int { return rapid.SampledFrom([]int{1, 2, 3, 5, 7, 8, 12, 16, 17}).Draw(t, name) }
	rows, width, channels := dim("rows"), dim("width"), dim("channels")
	taps := rapid.IntRange(1, 3).Draw(t, "taps")
	x, w, y := buffer("X", tir.Global, rows, width), buffer("W", tir.Global, taps, channels), buffer("Y", tir.Global, rows, width, channels)
	mid := buffer("M", rapid.SampledFrom([]tir.Scope{tir.Global, tir.Global, tir.Scratch, tir.Local}).Draw(t, "scope"), rows, width, channels)

	turns := rapid.IntRange(1, 3).Draw(t, "turns")
	conv := []tir.IterVar{iter("r", rows, tir.Spatial), iter("x", width, tir.Spatial), iter("c", channels, tir.Spatial),
		iter("k", taps, tir.Reduce), iter("n", turns, tir.Reduce)}
	r, p, c, k, n := conv[0].Var, conv[1].Var, conv[2].Var, conv[3].Var, conv[4].Var
	at := tir.Minus(tir.Plus(p, k), tir.I(taps/2))
	padded := &tir.Select{Cond: tir.Bin(tir.And, tir.Bin(tir.GE, at, tir.I(0)), tir.Bin(tir.LT, at, tir.I(width))), Then: load(x, r, at), Else: f32(0)}
	block := &tir.Block{
		Name:   "M",
		Reads:  []tir.Region{tir.Whole(x), point(w, k, c)},
		Writes: []tir.Region{point(mid, r, p, c)},
		Init:   &tir.Store{Buffer: mid, Indices: []tir.Expr{r, p, c}, Value: f32(0)},
		Body: &tir.Store{Buffer: mid, Indices: []tir.Expr{r, p, c},
			Value: tir.Plus(load(mid, r, p, c), tir.Times(padded, tir.Minus(load(w, k, c), &tir.Cast{DType: tensor.Float32, A: n})))},
	}
	first := drawNest(t, "", conv).around(block)

	out := []tir.IterVar{iter("r2", rows, tir.Spatial), iter("x2", width, tir.Spatial), iter("c2", channels, tir.Spatial)}
	r2, p2, c2 := out[0].Var, out[1].Var, out[2].Var
	relu := &tir.Block{
		Name:   "Y",
		Reads:  []tir.Region{point(mid, r2, p2, c2)},
		Writes: []tir.Region{point(y, r2, p2, c2)},
		Body: &tir.Store{Buffer: y, Indices: []tir.Expr{r2, p2, c2},
			Value: tir.Bin(tir.Max, tir.Times(load(mid, r2, p2, c2), &tir.Cast{DType: tensor.Float32, A: tir.Plus(r2, c2)}), f32(-1))},
	}
	second := drawNest(t, "y", out).around(relu)
	if rapid.Bool().Draw(t, "attr") {
		mark := &tir.Mapper{Stmt: func(s tir.Stmt) tir.Stmt {
			if f, ok := s.(*tir.For); ok {
				c := *f
				c.Attrs = map[string]string{"partition": "true"}
				return &c
			}
			return s
		}}
		first = mark.MapStmt(first)
	}
	root := &tir.Block{Name: "root", Allocs: []*tir.Buffer{mid}, Body: &tir.Seq{Stmts: []tir.Stmt{first, second}}}
	return &tir.Func{Name: "f", Params: []*tir.Buffer{x, w, y}, Outputs: 1, Body: &tir.BlockRealize{Block: root}}
}

func fill(b *tir.Buffer) *tensor.Tensor {
	w := tensor.NewWide(b.DType, b.Shape)
	for i := range w.F {
		w.F[i] = float64((i*37+11)%64)/16 - 2
	}
	for i := range w.I {
		w.I[i] = int64(i*5) % 7
	}
	return w.Narrow()
}

// sameResults runs f in its block form and lowered, and wants the same bits.
func sameResults(f *tir.Func, opts transform.Options) error {
	ctx := context.Background()
	want := make([]*tensor.Tensor, len(f.Params))
	given := map[*tir.Buffer]*tensor.Tensor{}
	for i, b := range f.Params {
		want[i] = fill(b)
		given[b] = fill(b)
	}
	scalars := map[*tir.Var]int64{}
	for i, v := range f.Scalars {
		scalars[v] = int64(i + 3)
	}
	if err := interp.Run(ctx, f, want, interp.Options{Scalars: scalars}); err != nil {
		return fmt.Errorf("block form: %w", err)
	}
	var trail string
	opts.Observe = func(pass string, kernels []*tir.Kernel) {
		trail += "== " + pass + "\n"
		for _, k := range kernels {
			trail += tirtext.PrintKernel(k)
		}
	}
	opts.Verify = true
	kernels, _, err := transform.Lower(f, opts)
	if err != nil {
		return fmt.Errorf("%w\n%s%s", err, tirtext.Print(f), trail)
	}
	if err := interp.RunKernels(ctx, kernels, given, interp.Options{Races: true, Scalars: scalars}); err != nil {
		return fmt.Errorf("kernels: %w\n%s%s", err, tirtext.Print(f), trail)
	}
	for i, b := range f.Params {
		if string(given[b].Data) != string(want[i].Data) {
			return fmt.Errorf("%s differs\n%s%s", b.Name, tirtext.Print(f), trail)
		}
	}
	for _, k := range kernels {
		text := tirtext.PrintKernel(k)
		again, err := tirtext.ParseKernel("kernel", text)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, text)
		}
		if tirtext.PrintKernel(again) != text {
			return fmt.Errorf("the text of a kernel is not stable:\n%s", text)
		}
	}
	return nil
}

// Lowered kernels compute what the block form computes, whatever the loops.
func TestLowerKeepsResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFunc(t)
		opts := transform.Options{MaxUnroll: 1 << 20}
		if rapid.Bool().Draw(t, "small") {
			opts.MaxGrowth, opts.MaxLanes = 200, 4
		}
		if err := verify.Verify(f); err != nil {
			t.Fatal(err)
		}
		if err := sameResults(f, opts); err != nil {
			t.Fatal(err)
		}
	})
}

// sameKernels runs a kernel before and after a pass, and wants the same bits. Loops over work-items are loops until barriers
// are there; then each work-item runs by itself.
func sameKernels(t *testing.T, pass string, before, after *tir.Kernel) {
	t.Helper()
	place, err := transform.FindPass(pass)
	require.NoError(t, err)
	barriers, err := transform.FindPass("insert-barriers")
	require.NoError(t, err)
	if place == barriers {
		after, err = transform.LiftThreads(after, transform.Options{Device: transform.GPU})
		require.NoError(t, err)
	}
	for _, scalar := range []int64{2, 4} {
		run := func(k *tir.Kernel, serial bool) []*tensor.Tensor {
			args := make([]*tensor.Tensor, len(k.Params))
			for i, b := range k.Params {
				args[i] = fill(b)
			}
			opts := interp.Options{Races: true, SerialThreads: serial, Scalars: map[*tir.Var]int64{}}
			for _, v := range k.Scalars {
				opts.Scalars[v] = scalar
			}
			require.NoError(t, interp.RunKernel(context.Background(), k, args, opts), tirtext.PrintKernel(k))
			return args
		}
		require.Equal(t, run(before, place <= barriers+1), run(after, place < barriers))
	}
}
