package transform_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
	"pgregory.net/rapid"
)

// phases draws kernels whose work-items exchange values through shared and global memory: loops over work-items, each of
// which writes one buffer by a permutation and reads others anywhere, in serial loops and conditions.
type phases struct {
	t     *rapid.T
	b     strings.Builder
	depth int
	loops int // serial loops so far
	open  []string
	items int
}

const phaseSize = 16 // elements of each buffer

func (p *phases) pick(label string, n int) int { return rapid.IntRange(0, n-1).Draw(p.t, label) }

func (p *phases) line(format string, args ...any) {
	p.b.WriteString(strings.Repeat("  ", p.depth))
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

// place is an index in [0, phaseSize) that differs for different values of e in it.
func (p *phases) place(e string) string {
	k, c := []int{1, 1, 3, 5, 15}[p.pick("k", 5)], p.pick("c", phaseSize)
	e = fmt.Sprintf("(%s) * %d + %d", e, k, c)
	if len(p.open) > 0 && p.pick("shifts", 3) == 0 {
		e += fmt.Sprintf(" + %s * %d", p.open[p.pick("of", len(p.open))], 1+p.pick("by", 4))
	}
	return "(" + e + ") %% 16"
}

// access names an element of a buffer; D has two axes, G is that of the group in global memory.
func (p *phases) access(buf, at string) string {
	switch buf {
	case "D":
		return fmt.Sprintf("D[%s // 4, %s %%%% 4]", at, at)
	case "G":
		return fmt.Sprintf("G[b, %s]", at)
	}
	return buf + "[" + at + "]"
}

func (p *phases) phase() {
	items := p.items
	if p.pick("fewer", 3) == 0 {
		items = max(1, p.items/2)
	}
	each := 1 + p.pick("each", phaseSize/items)
	bufs := rapid.Permutation([]string{"S", "D", "G"}).Draw(p.t, "bufs")
	whole := "t"
	outer := p.depth
	loop := func() { p.line(`for t in range(0, %d, kind=bound, thread="threadIdx.x"):`, items); p.depth++ }
	inner := func() {
		if each > 1 {
			p.line("for i in range(0, %d):", each)
			p.depth++
			whole = []string{fmt.Sprintf("t * %d + i", each), fmt.Sprintf("i * %d + t", items)}[p.pick("order", 2)]
		}
	}
	if p.pick("outside", 3) == 0 {
		inner()
		loop()
	} else {
		loop()
		inner()
	}
	if p.pick("guard", 3) == 0 {
		p.line("if (%s) %%%% 3 < %d:", whole, 1+p.pick("part", 2))
		p.depth++
	}
	to := p.place(whole)
	value := fmt.Sprintf("%s * 0.5 + %s", p.access(bufs[1], p.place(whole)), p.access(bufs[2], p.place(whole)))
	if p.pick("own", 2) == 0 {
		value += " + " + p.access(bufs[0], to)
	}
	p.line("%s = %s", p.access(bufs[0], to), value)
	p.depth = outer
}

func (p *phases) body(depth int) {
	for range 1 + p.pick("statements", 3) {
		outer := p.depth
		switch kind := p.pick("statement", 6); {
		case depth > 0 && kind == 0:
			name := fmt.Sprintf("k%d", p.loops)
			p.loops++
			p.line("for %s in range(0, %d):", name, 1+p.pick("turns", 3))
			p.depth++
			p.open = append(p.open, name)
			p.body(depth - 1)
			p.open = p.open[:len(p.open)-1]
		case depth > 0 && kind == 1:
			conds := []string{"b < 1"}
			for _, k := range p.open {
				conds = append(conds, k+" %% 2 == 0")
			}
			p.line("if %s:", conds[p.pick("cond", len(conds))])
			p.depth++
			p.body(depth - 1)
		case kind == 2: // stored by the first work-item
			p.line("%s = %s + %s", p.access("S", fmt.Sprint(p.pick("at", 16))), p.access("D", fmt.Sprint(p.pick("at", 16))), p.access("G", fmt.Sprint(p.pick("at", 16))))
		default:
			p.phase()
		}
		p.depth = outer
	}
}

func (p *phases) kernel() string {
	p.items = []int{2, 4, 8}[p.pick("items", 3)]
	p.line("kernel k(A: float32[2, 16], out G: float32[2, 16], out C: float32[2, 16]):")
	p.depth = 1
	p.line(`for b in range(0, 2, kind=bound, thread="blockIdx.x"):`)
	p.depth++
	p.line("allocate S: float32[16] shared:")
	p.depth++
	p.line("allocate D: float32[4, 4] shared:")
	p.depth++
	fill := func(to string) {
		p.line("for i in range(0, %d):", phaseSize/p.items)
		p.line(`  for t in range(0, %d, kind=bound, thread="threadIdx.x"):`, p.items)
		p.line("    %s", to)
	}
	at := fmt.Sprintf("i * %d + t", p.items)
	fill(fmt.Sprintf("S[%s] = A[b, %s]", at, at))
	fill(fmt.Sprintf("D[(%s) // 4, (%s) %%%% 4] = A[b, %s] * 2.0", at, at, at))
	fill(fmt.Sprintf("G[b, %s] = 1.0", at))
	p.body(2)
	fill(fmt.Sprintf("C[b, %s] = S[15 - (%s)] + D[(%s) %%%% 4, (%s) // 4] + G[b, (%s) * 3 %%%% 16]", at, at, at, at, at))
	return p.b.String()
}

// Whatever work-items exchange, behind insert-barriers and lift-threads each runs by itself without a race, and comes to
// what the loops come to one after the other. Nearly every barrier is needed for that.
func TestRandomPhases(t *testing.T) {
	barriers, needless := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := (&phases{t: t}).kernel()
		k, err := tirtext.ParseKernel("phases", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		gpu := transform.Options{Device: transform.GPU}
		to, err := transform.InsertBarriers(k, gpu)
		if err == nil {
			to, err = transform.LiftThreads(to, gpu)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := verify.Kernel(to, verify.Final(), verify.GPU); err != nil {
			t.Fatalf("%v\n%s", err, tirtext.PrintKernel(to))
		}
		run := func(k *tir.Kernel, serial bool) ([]*tensor.Tensor, error) {
			args := make([]*tensor.Tensor, len(k.Params))
			for i, b := range k.Params {
				args[i] = fill(b)
			}
			return args, interp.RunKernel(context.Background(), k, args, interp.Options{Races: !serial, SerialThreads: serial})
		}
		want, err := run(k, true)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got, err := run(to, false)
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, text, tirtext.PrintKernel(to))
		}
		next, err := transform.FindPass("lift-grid")
		if err != nil {
			t.Fatal(err)
		}
		final, err := transform.Resume([]*tir.Kernel{to}, next, transform.Options{Device: transform.GPU, Verify: true})
		if err != nil {
			t.Fatalf("%v\n%s", err, tirtext.PrintKernel(to))
		}
		last, err := run(final[0], false)
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, tirtext.PrintKernel(to), tirtext.PrintKernel(final[0]))
		}
		for i := range want {
			if string(got[i].Data) != string(want[i].Data) || string(last[i].Data) != string(want[i].Data) {
				t.Fatalf("%s differs:\n%s\n%s\n%s", k.Params[i].Name, text, tirtext.PrintKernel(to), tirtext.PrintKernel(final[0]))
			}
		}
		for _, less := range barriersIn(to) {
			barriers++
			if _, err := run(less, false); err == nil {
				needless++
			}
		}
	})
	t.Logf("%d of %d barriers make no difference in a run", needless, barriers)
	if needless*5 > barriers {
		t.Errorf("%d of %d barriers make no difference", needless, barriers)
	}
}
