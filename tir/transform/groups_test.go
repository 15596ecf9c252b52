package transform_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// tiles are the sizes of a product in tiles of work-groups.
type tiles struct {
	m, n, k    int // of the product
	bm, bn, bk int // of a tile
	threads    int // work-items that fill a tile
	vthreads   int // columns that a work-item does side by side
	double     bool
	nested     bool // the loops that fill stand inside the work-items' loop that multiplies
	late       bool // a tile of C is written to global memory through shared memory
}

func drawTiles(t *rapid.T) tiles {
	pick := func(label string, list ...int) int { return rapid.SampledFrom(list).Draw(t, label) }
	p := tiles{m: pick("m", 4, 5, 8), n: pick("n", 4, 8), k: pick("k", 3, 8, 12), bm: pick("bm", 1, 2, 4), bk: pick("bk", 2, 3, 4),
		threads: pick("threads", 2, 4, 8), vthreads: pick("vthreads", 1, 1, 2), double: rapid.Bool().Draw(t, "double"), nested: rapid.Bool().Draw(t, "nested"),
		late: rapid.Bool().Draw(t, "late")}
	p.bn = pick("bn", 4, p.n)
	if p.nested {
		p.threads = p.bn / p.vthreads
	}
	return p
}

// text is C[i, j] = Σ A[i, k]·B[k, j] in tiles. Groups are rows × columns of tiles; tiles of A are filled by all
// work-items together, those of B too, in another order; a work-item multiplies a column of a tile.
func (p tiles) text() string {
	attr := ""
	if p.double {
		attr = ` attrs {"double_buffer": "1"}`
	}
	rows, cols, steps := (p.m+p.bm-1)/p.bm, (p.n+p.bn-1)/p.bn, (p.k+p.bk-1)/p.bk
	var b strings.Builder
	depth := 1
	line := func(format string, args ...any) {
		b.WriteString(strings.Repeat("  ", depth))
		fmt.Fprintf(&b, format, args...)
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "func f(A: float32[%[1]d, %[2]d], B: float32[%[2]d, %[3]d], out C: float32[%[1]d, %[3]d]):\n", p.m, p.k, p.n)
	line("block root():")
	depth++
	line("alloc S: float32[%d, %d] shared", p.m, p.k)
	line("alloc R: float32[%d, %d] shared", p.k, p.n)
	line("alloc T: float32[%d, %d] local", p.m, p.n)
	line("alloc U: float32[%d, %d] shared", p.m, p.n)
	line("for by in range(0, %d, kind=bound, thread=\"blockIdx.y\"):", rows)
	depth++
	line("for bx in range(0, %d, kind=bound, thread=\"blockIdx.x\"):", cols)
	depth++
	columns := func() {
		line("for x in range(0, %d, kind=bound, thread=\"threadIdx.x\"):", p.bn/p.vthreads)
		depth++
	}
	vthreads := func() {
		if p.vthreads > 1 {
			line("for v in range(0, %d, kind=bound, thread=\"vthread\"):", p.vthreads)
			depth++
		}
	}
	column := fmt.Sprintf("bx * %d + x", p.bn)
	if p.vthreads > 1 {
		column = fmt.Sprintf("bx * %d + v * %d + x", p.bn, p.bn/p.vthreads)
	}
	top := depth
	if p.nested {
		columns()
		vthreads()
	}
	outer := depth
	line("for ko in range(0, %d):", steps)
	depth++
	inner := depth
	fill := func(name, from string, r, c int, rowBase, colBase string, rowEnd, colEnd int, strided bool) {
		per := (r*c + p.threads - 1) / p.threads
		at := fmt.Sprintf("(i * %d + t)", p.threads)
		line("for i in range(0, %d):", per)
		depth++
		line("for t in range(0, %d, kind=bound, thread=\"threadIdx.x\"):", p.threads)
		depth++
		row, col := fmt.Sprintf("%s + %s // %d", rowBase, at, c), fmt.Sprintf("%s + %s %%%% %d", colBase, at, c)
		if strided {
			row, col = fmt.Sprintf("%s + %s %%%% %d", rowBase, at, r), fmt.Sprintf("%s + %s // %d", colBase, at, r)
		}
		line("block %s(%su: spatial[%d] = %s, %sv: spatial[%d] = %s) where %s < %d and %s < %d and %s < %d%s:", name, name, rowEnd, row, name, colEnd, col, at, r*c, row, rowEnd, col, colEnd, attr)
		depth++
		line("reads %s[%su +: 1, %sv +: 1]", from, name, name)
		line("writes %s[%su +: 1, %sv +: 1]", name, name, name)
		line("%s[%su, %sv] = %s[%su, %sv]", name, name, name, from, name, name)
		depth = inner
	}
	fill("S", "A", p.bm, p.bk, fmt.Sprintf("by * %d", p.bm), fmt.Sprintf("ko * %d", p.bk), p.m, p.k, false)
	fill("R", "B", p.bk, p.bn, fmt.Sprintf("ko * %d", p.bk), fmt.Sprintf("bx * %d", p.bn), p.k, p.n, true)
	if !p.nested {
		columns()
		vthreads()
	}
	line("for y in range(0, %d):", p.bm)
	depth++
	line("for ki in range(0, %d):", p.bk)
	depth++
	line("block T(r: spatial[%d] = by * %d + y, c: spatial[%d] = %s, q: reduce[%d] = ko * %d + ki) where by * %d + y < %d and ko * %d + ki < %d:", p.m, p.bm, p.n, column, p.k, p.bk, p.bm, p.m, p.bk, p.k)
	depth++
	line("reads S[r +: 1, q +: 1], R[q +: 1, c +: 1]")
	line("writes T[r +: 1, c +: 1]")
	line("init:")
	line("  T[r, c] = 0.0")
	line("T[r, c] = T[r, c] + S[r, q] * R[q, c]")
	depth = outer
	if !p.nested {
		depth = top
		columns()
		vthreads()
	}
	to := "C"
	if p.late {
		to = "U"
	}
	line("for z in range(0, %d):", p.bm)
	depth++
	line("block out(ro: spatial[%d] = by * %d + z, co: spatial[%d] = %s) where by * %d + z < %d:", p.m, p.bm, p.n, column, p.bm, p.m)
	depth++
	line("reads T[ro +: 1, co +: 1]")
	line("writes %s[ro +: 1, co +: 1]", to)
	line("%s[ro, co] = T[ro, co]", to)
	if p.late {
		depth = top
		line("for w in range(0, %d, kind=bound, thread=\"threadIdx.x\"):", p.bm)
		depth++
		line("for c in range(0, %d):", p.bn)
		depth++
		line("block late(rl: spatial[%d] = by * %d + w, cl: spatial[%d] = bx * %d + c) where by * %d + w < %d:", p.m, p.bm, p.n, p.bn, p.bm, p.m)
		depth++
		line("reads U[rl +: 1, cl +: 1]")
		line("writes C[rl +: 1, cl +: 1]")
		line("C[rl, cl] = U[rl, cl] + 1.0")
	}
	return b.String()
}

// barriersIn returns a kernel once for each of its barriers, without it.
func barriersIn(k *tir.Kernel) []*tir.Kernel {
	var list []*tir.Kernel
	count := 0
	tir.Walk(k.Body, func(n any) bool {
		if _, ok := n.(*tir.Barrier); ok {
			count++
		}
		return true
	})
	for left := range count {
		at := 0
		c := *k
		c.Body = (&tir.Mapper{Stmt: func(s tir.Stmt) tir.Stmt {
			if _, ok := s.(*tir.Barrier); ok {
				if at++; at-1 == left {
					return &tir.Seq{}
				}
			}
			return s
		}}).MapStmt(k.Body)
		list = append(list, &c)
	}
	return list
}

// Products in tiles of work-groups, through shared memory with and without two halves, lower to kernels without a race.
// Behind insert-barriers each barrier is needed: without it there is one.
func TestGroupsKeepResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawTiles(t)
		text := p.text()
		f, err := tirtext.Parse("tiles", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := verify.Verify(f); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := sameResults(f, transform.Options{Device: transform.GPU}); err != nil {
			t.Fatal(err)
		}
		if err := sameAtEveryStage(f); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}

// sameAtEveryStage runs what each pass makes of f for a device with work-groups.
func sameAtEveryStage(f *tir.Func) error {
	var want, wrong string
	opts := transform.Options{Device: transform.GPU, Dump: func(g *tir.Program) {
		args := map[*tir.Buffer]*tensor.Tensor{}
		for _, b := range g.Params {
			args[b] = fill(b)
		}
		for _, k := range g.Kernels {
			if err := interp.RunKernels(context.Background(), []*tir.Kernel{k}, args, interp.Options{SerialThreads: !transform.Lifted(k)}); err != nil && wrong == "" {
				wrong = fmt.Sprintf("behind %s: %v\n%s", g.Stage, err, tirtext.PrintProgram(g))
			}
		}
		got := string(args[g.Params[len(g.Params)-1]].Data)
		if want == "" {
			want = got
		}
		if got != want && wrong == "" {
			wrong = fmt.Sprintf("behind %s the result differs\n%s", g.Stage, tirtext.PrintProgram(g))
		}
	}}
	if _, err := transform.LowerProgram(f, opts); err != nil {
		return err
	}
	if wrong != "" {
		return errors.New(wrong)
	}
	return nil
}

func runRaces(k *tir.Kernel) error {
	args := make([]*tensor.Tensor, len(k.Params))
	for i, b := range k.Params {
		args[i] = fill(b)
	}
	return interp.RunKernel(context.Background(), k, args, interp.Options{Races: true})
}

// Each barrier that is there must be there, and each that must be there is.
func TestBarriersAreNeeded(t *testing.T) {
	for _, c := range []struct {
		p    tiles
		want int
	}{
		{tiles{m: 8, n: 8, k: 12, bm: 4, bn: 8, bk: 4, threads: 8, vthreads: 1}, 2},
		{tiles{m: 8, n: 8, k: 12, bm: 4, bn: 8, bk: 4, threads: 8, vthreads: 1, double: true}, 1},
		{tiles{m: 8, n: 8, k: 12, bm: 4, bn: 8, bk: 4, threads: 8, vthreads: 1, double: true, nested: true}, 1},
		{tiles{m: 8, n: 8, k: 12, bm: 4, bn: 8, bk: 4, threads: 4, vthreads: 2, nested: true}, 2},
		{tiles{m: 8, n: 8, k: 12, bm: 4, bn: 8, bk: 4, threads: 4, vthreads: 2, late: true}, 3},
		{tiles{m: 8, n: 8, k: 12, bm: 4, bn: 8, bk: 4, threads: 4, vthreads: 2, nested: true, double: true, late: true}, 2},
	} {
		f, err := tirtext.Parse("tiles", c.p.text())
		require.NoError(t, err)
		opts := transform.Options{Device: transform.GPU, StopAfter: "lift-threads", Verify: true}
		kernels, _, err := transform.Lower(f, opts)
		require.NoError(t, err)
		require.Len(t, kernels, 1)
		text := tirtext.PrintKernel(kernels[0])
		require.NoError(t, runRaces(kernels[0]), text)
		without := barriersIn(kernels[0])
		require.Len(t, without, c.want, text)
		for _, k := range without {
			require.Error(t, runRaces(k), tirtext.PrintKernel(k))
		}
	}
}
