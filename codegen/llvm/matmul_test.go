package llvm

import (
	"context"
	"fmt"
	"math/rand"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

func buffer(name string, d tensor.DType, shape ...int) *tir.Buffer {
	return &tir.Buffer{Name: name, DType: d, Shape: shape, Scope: tir.Global}
}

func local(name string, d tensor.DType, shape ...int) *tir.Buffer {
	return &tir.Buffer{Name: name, DType: d, Shape: shape, Scope: tir.Local}
}

func at(b *tir.Buffer, idx ...tir.Expr) *tir.Load { return &tir.Load{Buffer: b, Indices: idx} }

func put(b *tir.Buffer, v tir.Expr, idx ...tir.Expr) *tir.Store {
	return &tir.Store{Buffer: b, Indices: idx, Value: v}
}

func span1(base tir.Expr, lanes int) tir.Expr {
	return &tir.Ramp{Base: base, Stride: tir.I(1), Lanes: lanes}
}

func f32(v float64) tir.Expr { return tir.Const(tensor.Float32, v) }

// panelMatmul is out[m, n] = Σ_k a[m, k] · b[k, n] for one packed panel of b of vecs·lanes columns, with a register tile
// of rows × vecs vectors.
func panelMatmul(m, k, rows, vecs, lanes int) *tir.Kernel {
	n := vecs * lanes
	a, b, out := buffer("a", tensor.Float32, m, k), buffer("b", tensor.Float32, k, n), buffer("out", tensor.Float32, m, n)
	acc := local("acc", tensor.Float32, rows, n)
	g, kk := tir.NewVar("g"), tir.NewVar("k")
	var zero, step, last []tir.Stmt
	for r := range rows {
		row := tir.Plus(tir.Times(g, tir.I(rows)), tir.I(r))
		for v := range vecs {
			col := span1(tir.I(v*lanes), lanes)
			zero = append(zero, put(acc, &tir.Broadcast{A: f32(0), Lanes: lanes}, tir.I(r), col))
			product := tir.Bin(tir.Mul, &tir.Broadcast{A: at(a, row, kk), Lanes: lanes}, at(b, kk, col))
			step = append(step, put(acc, tir.Plus(at(acc, tir.I(r), col), product), tir.I(r), col))
			last = append(last, put(out, at(acc, tir.I(r), col), row, col))
		}
	}
	loop := &tir.For{Var: kk, Min: tir.I(0), Extent: tir.I(k), Body: &tir.Seq{Stmts: step}}
	body := &tir.Seq{Stmts: append(append(zero, loop), last...)}
	return &tir.Kernel{Name: "matmul", Params: []*tir.Buffer{a, b, out}, Outputs: 1, Grid: g, GridExtent: m / rows,
		Body: &tir.Allocate{Buffer: acc, Body: body}}
}

func build(t testing.TB, tgt *target.Target, kernels ...*tir.Kernel) *Object {
	tl := tools(t)
	o, err := Build(context.Background(), kernels, tgt, Options{Tools: &tl, KeepIR: true, KeepAsm: true})
	require.NoError(t, err)
	return o
}

// innerLoop returns the longest innermost loop of a function in assembly: the lines from a label to a jump back to it
// with no other label between.
func innerLoop(asm, function string) []string {
	_, body, _ := strings.Cut(asm, "\n"+function+":")
	body, _, _ = strings.Cut(body, "\n.Lfunc_end")
	var best, current []string
	label := ""
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if m := regexp.MustCompile(`^(\.LBB\d+_\d+):`).FindStringSubmatch(line); m != nil {
			label, current = m[1], nil
			continue
		}
		current = append(current, line)
		if label != "" && regexp.MustCompile(`^(j|b|cb|tb).*`+regexp.QuoteMeta(label)+`$`).MatchString(line) {
			if len(current) > len(best) {
				best = current
			}
			current = nil
		}
	}
	return best
}

func stackReferences(lines []string) int {
	n := 0
	for _, l := range lines {
		if strings.Contains(l, "(%rsp)") || strings.Contains(l, "(%rbp)") || strings.Contains(l, "[sp") {
			n++
		}
	}
	return n
}

// TestRegisterTilesAreRegisters counts stack references in the reduction loop: a tile that spills costs half the speed.
func TestRegisterTilesAreRegisters(t *testing.T) {
	for _, c := range []struct {
		target            string
		rows, vecs, lanes int
		fma               string
	}{
		{"x86-64-v4", 8, 2, 16, "vfmadd"},
		{"x86-64-v4", 12, 2, 16, "vfmadd"},
		{"x86-64-v4", 7, 3, 16, "vfmadd"},
		{"x86-64-v3", 6, 2, 8, "vfmadd"},
		{"x86-64-v3", 4, 1, 16, "vfmadd"},
		{"cortex-a76", 8, 2, 4, "fmla"},
		{"cortex-a55", 7, 3, 4, "fmla"},
		{"neoverse-v1", 6, 4, 4, "fmla"},
	} {
		t.Run(fmt.Sprintf("%s/%dx%dx%d", c.target, c.rows, c.vecs, c.lanes), func(t *testing.T) {
			tgt, err := target.Parse(c.target)
			require.NoError(t, err)
			o := build(t, tgt, panelMatmul(c.rows*4, 256, c.rows, c.vecs, c.lanes))
			loop := innerLoop(o.Asm["kernels000"], "matmul")
			text := strings.Join(loop, "\n")
			wide := max(1, c.lanes*32/tgt.VectorBits)
			require.Equal(t, c.rows*c.vecs*wide, strings.Count(text, c.fma), "multiply-adds in\n%s", text)
			require.Zero(t, stackReferences(loop), text)
			// Loads: the panel, and at most one for each row; hardly anything else.
			extra := len(loop) - c.rows*c.vecs*wide - c.vecs*wide - c.rows
			require.LessOrEqual(t, extra, 6, text)
		})
	}
}

func TestMatmulIsRight(t *testing.T) {
	const m, k, rows, vecs, lanes = 16, 37, 8, 2, 16
	kernel := panelMatmul(m, k, rows, vecs, lanes)
	lib := load(t, build(t, hostTarget(t), kernel).SO)
	a, b, out := make([]float32, m*k), make([]float32, k*vecs*lanes), make([]float32, m*vecs*lanes)
	for i := range a {
		a[i] = float32(i%13) - 6
	}
	for i := range b {
		b[i] = float32(i%7) - 3
	}
	call(t, lib, kernel, 0, int64(kernel.GridExtent), unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&out[0]))
	for i := range m {
		for j := range vecs * lanes {
			var want float32
			for x := range k {
				want += a[i*k+x] * b[x*vecs*lanes+j]
			}
			require.Equal(t, want, out[i*vecs*lanes+j], "element %d, %d", i, j)
		}
	}
}

// call runs a kernel on the current thread.
func call(t testing.TB, lib *library, k *tir.Kernel, begin, end int64, bufs ...unsafe.Pointer) {
	var pin runtime.Pinner
	defer pin.Unpin()
	for _, b := range bufs {
		pin.Pin(b)
	}
	bufs = append(bufs, nil)
	pin.Pin(&bufs[0])
	scratch := make([]byte, scratchOf(k)+128)
	pin.Pin(&scratch[0])
	s := uintptr(unsafe.Pointer(&scratch[0]))
	s = (s + 63) &^ 63
	purego.SyscallN(lib.symbol(t, k.Name), uintptr(unsafe.Pointer(&bufs[0])), 0, s, uintptr(begin), uintptr(end))
}

// BenchmarkMatmul times the micro-kernels on this machine: GFLOP/s.
func BenchmarkMatmul(b *testing.B) {
	host := hostTarget(b)
	lanes := host.Lanes(32)
	for _, shape := range [][2]int{{8, 2}, {12, 2}, {7, 2}, {6, 2}, {7, 3}, {4, 4}, {14, 1}} {
		rows, vecs := shape[0], shape[1]
		if (rows*vecs + vecs) > host.VectorRegisters {
			continue
		}
		b.Run(fmt.Sprintf("%dx%d", rows, vecs), func(b *testing.B) {
			m, k := rows*8, 256
			kernel := panelMatmul(m, k, rows, vecs, lanes)
			lib := load(b, build(b, host, kernel).SO)
			x, w, out := make([]float32, m*k), make([]float32, k*vecs*lanes), make([]float32, m*vecs*lanes)
			fn := lib.symbol(b, "matmul")
			bufs := []unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&w[0]), unsafe.Pointer(&out[0])}
			var pin runtime.Pinner
			defer pin.Unpin()
			pin.Pin(&x[0])
			pin.Pin(&w[0])
			pin.Pin(&out[0])
			best := time.Hour
			b.ResetTimer()
			for range b.N {
				for range 200 {
					start := time.Now()
					for range 20 {
						purego.SyscallN(fn, uintptr(unsafe.Pointer(&bufs[0])), 0, 0, 0, uintptr(m/rows))
					}
					best = min(best, time.Since(start)/20)
				}
			}
			b.ReportMetric(float64(2*m*k*vecs*lanes)/float64(best.Nanoseconds()), "GFLOP/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestReductionsIntoMemory updates an output in its innermost loops: the element is a value there, and is stored once.
func TestReductionsIntoMemory(t *testing.T) {
	const m, k, lanes = 4, 24, 8
	a, b, out := buffer("a", tensor.Float32, m, k), buffer("b", tensor.Float32, k, lanes), buffer("out", tensor.Float32, m, lanes)
	i, o, j := tir.NewVar("i"), tir.NewVar("o"), tir.NewVar("j")
	kk := tir.Plus(tir.Times(o, tir.I(4)), j)
	col := span1(tir.I(0), lanes)
	update := put(out, tir.Plus(at(out, i, col), tir.Bin(tir.Mul, &tir.Broadcast{A: at(a, i, kk), Lanes: lanes}, at(b, kk, col))), i, col)
	kernel := &tir.Kernel{Name: "reduce", Params: []*tir.Buffer{a, b, out}, Outputs: 1, Grid: i, GridExtent: m, Body: &tir.Seq{Stmts: []tir.Stmt{
		put(out, &tir.Broadcast{A: f32(0), Lanes: lanes}, i, col),
		&tir.For{Var: o, Min: tir.I(0), Extent: tir.I(k / 4), Body: &tir.For{Var: j, Min: tir.I(0), Extent: tir.I(4), Body: update}},
	}}}
	r := rand.New(rand.NewSource(1))
	check(t, newNative(t, hostTarget(t), []*tir.Kernel{kernel}), 0, kernel, smallInputs(r, kernel), nil, "")
	asm := build(t, avx2(t), kernel).Asm["kernels000"]
	require.Equal(t, 2, len(regexp.MustCompile(`vmovups\t%ymm\d+, `).FindAllString(asm, -1)), "stores in\n%s", asm)

	// Where the element may not exist, or two accesses may meet, memory is left to itself.
	s := tir.NewVar("s")
	for name, body := range map[string]tir.Stmt{
		"guarded": &tir.If{Cond: tir.Bin(tir.LT, tir.Plus(s, j), tir.I(3)), Then: put(out, f32(1), tir.Plus(s, tir.I(-2)), tir.I(0))},
		"meeting": &tir.Seq{Stmts: []tir.Stmt{put(out, tir.Plus(at(out, s, tir.I(0)), f32(1)), s, tir.I(0)),
			put(out, tir.Plus(at(out, tir.Minus(tir.I(4), s), tir.I(0)), f32(2)), tir.Minus(tir.I(4), s), tir.I(0))}},
	} {
		kernel := &tir.Kernel{Name: name, Params: []*tir.Buffer{out}, Outputs: 1, GridExtent: 1, Scalars: []*tir.Var{s},
			Body: &tir.For{Var: j, Min: tir.I(0), Extent: tir.I(3), Body: body}}
		check(t, newNative(t, hostTarget(t), []*tir.Kernel{kernel}), 0, kernel, smallInputs(r, kernel), []int64{2}, name)
	}
}

// TestVectorsBeforeUnitAxes keeps a local buffer in registers whose vectors lie along an axis with axes of one element behind.
func TestVectorsBeforeUnitAxes(t *testing.T) {
	const k, lanes = 24, 8
	a, out, sum := buffer("a", tensor.Float32, k, lanes), buffer("out", tensor.Float32, lanes), local("sum", tensor.Float32, lanes, 1, 1)
	i := tir.NewVar("i")
	col, zero := span1(tir.I(0), lanes), tir.I(0)
	kernel := &tir.Kernel{Name: "unit", Params: []*tir.Buffer{a, out}, Outputs: 1, GridExtent: 1, Body: &tir.Allocate{Buffer: sum, Body: &tir.Seq{Stmts: []tir.Stmt{
		put(sum, &tir.Broadcast{A: f32(0), Lanes: lanes}, col, zero, zero),
		&tir.For{Var: i, Min: zero, Extent: tir.I(k), Body: put(sum, tir.Plus(at(sum, col, zero, zero), at(a, i, col)), col, zero, zero)},
		put(out, at(sum, col, zero, zero), col),
	}}}}
	check(t, newNative(t, hostTarget(t), []*tir.Kernel{kernel}), 0, kernel, smallInputs(rand.New(rand.NewSource(1)), kernel), nil, "")
	require.NotContains(t, build(t, avx2(t), kernel).LL["kernels000"], "alloca")
}

// TestNoPairsOnA55 loads 128-bit registers one by one there.
func TestNoPairsOnA55(t *testing.T) {
	pair := regexp.MustCompile(`ldp\s+q`)
	for name, pairs := range map[string]bool{"cortex-a55": false, "neoverse-n1": true} {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		asm := build(t, tgt, panelMatmul(16, 64, 8, 2, 4)).Asm["kernels000"]
		require.Equal(t, pairs, pair.MatchString(asm), asm)
	}
}
