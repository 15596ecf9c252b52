package irgen

import (
	"errors"
	"fmt"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
)

// Steps takes up to n random steps of a schedule; those that are refused leave nothing behind. How many of each primitive were
// taken and refused is added to count. A primitive that made an illegal function is an error.
func Steps(d Draw, s *schedule.Schedule, n int, count map[string]*Tally) error {
	g := &stepper{Draw: d, s: s}
	table := schedule.Primitives()
	for range n {
		p := table[d.IntN(len(table))]
		draw := operands[p.Name]
		if draw == nil {
			continue
		}
		t := count[p.Name]
		if t == nil {
			t = &Tally{}
			count[p.Name] = t
		}
		var list []any
		var err error
		taken := s.Attempt(func() {
			if list = draw(g); list != nil {
				s.Do(p.Name, list...)
			}
			err = s.Err()
		})
		if errors.Is(err, diag.ErrInternal) {
			return fmt.Errorf("%s%v: %w", p.Name, list, err)
		}
		switch {
		case !taken:
			t.Refused++
		case list != nil:
			t.Taken++
		}
	}
	return nil
}

// Tally counts the uses of a primitive.
type Tally struct{ Taken, Refused int }

// Draws reports whether Steps uses a primitive. Queries are used to find the operands of others.
func Draws(primitive string) bool { return operands[primitive] != nil }

// stepper draws operands from what the function holds now.
type stepper struct {
	Draw
	s *schedule.Schedule
}

// blocks returns the names of the blocks below the root.
func (g *stepper) blocks() []string {
	var names []string
	tir.Walk(g.s.Func().Root().Body, func(n any) bool {
		if r, ok := n.(*tir.BlockRealize); ok {
			names = append(names, r.Block.Name)
		}
		return true
	})
	return names
}

func (g *stepper) block() schedule.Block {
	names := g.blocks()
	return g.s.Block(names[g.IntN(len(names))])
}

// loops returns the loops around a block; some blocks have none.
func (g *stepper) loops() []schedule.Loop {
	for range 3 {
		if l := g.s.Loops(g.block()); len(l) > 0 {
			return l
		}
	}
	return nil
}

// loop returns a loop as the only operand, with others behind it.
func (g *stepper) loop(more ...any) []any {
	l := g.loops()
	if l == nil {
		return nil
	}
	return append([]any{l[g.IntN(len(l))]}, more...)
}

// oneOf returns one of a list.
func oneOf[T any](d Draw, list ...T) T { return list[d.IntN(len(list))] }

// some returns some of the loops around a block, next to each other, in order or not.
func (g *stepper) some(mixed bool) []any {
	l := g.loops()
	if len(l) < 2 {
		return nil
	}
	from := g.IntN(len(l) - 1)
	n := 2 + g.IntN(len(l)-from-1)
	var out []any
	for _, x := range l[from : from+n] {
		out = append(out, x)
	}
	if mixed {
		for i := len(out) - 1; i > 0; i-- {
			k := g.IntN(i + 1)
			out[i], out[k] = out[k], out[i]
		}
		out = out[:2+g.IntN(len(out)-1)]
	}
	return out
}

// scope returns a memory for a cache.
func (g *stepper) scope() string { return oneOf(g, "global", "local", "scratch") }

// operands draw the operands of each primitive; nil where there are none.
var operands = map[string]func(g *stepper) []any{
	"split": func(g *stepper) []any {
		factor := oneOf(g, 2, 3, 4, 1, 5, 8, 16)
		list := g.loop(oneOf(g, []int{0, factor}, []int{factor, 0}, []int{0, 2, factor}))
		if list != nil && g.IntN(3) == 0 {
			list = append(list, oneOf(g, "shift_inwards", "round_up"))
		}
		return list
	},
	"tile": func(g *stepper) []any {
		if l := g.some(false); l != nil {
			return []any{l[0], l[1], []int{oneOf(g, 1, 2, 3, 4), oneOf(g, 2, 4, 5, 8)}}
		}
		return nil
	},
	"loop_partition": func(g *stepper) []any {
		return g.loop(oneOf(g, []int{1, 0}, []int{0, 2}, []int{1, 0, 1}, []int{2, 1, 0}))
	},
	"fuse":          func(g *stepper) []any { return g.some(false) },
	"reorder":       func(g *stepper) []any { return g.some(true) },
	"add_unit_loop": func(g *stepper) []any { return []any{g.block()} },
	"parallel":      func(g *stepper) []any { return g.loop() },
	"vectorize":     func(g *stepper) []any { return g.loop() },
	"unroll":        func(g *stepper) []any { return g.loop() },
	"annotate":      func(g *stepper) []any { return g.loop(tir.Partition, "border") },
	"cache_read":    func(g *stepper) []any { return []any{g.block(), g.IntN(2), g.scope()} },
	"cache_write":   func(g *stepper) []any { return []any{g.block(), g.scope()} },
	"compute_at": func(g *stepper) []any {
		b := g.block()
		return append([]any{b}, g.loop()...)
	},
	"compute_inline": func(g *stepper) []any { return []any{g.block()} },
	"rfactor":        func(g *stepper) []any { return g.loop(oneOf(g, 0, -1, 1)) },
	"decompose_reduction": func(g *stepper) []any {
		b := g.block()
		l := g.s.Loops(b)
		if len(l) == 0 {
			return nil
		}
		return []any{b, l[g.IntN(len(l))]}
	},
	"set_scope": func(g *stepper) []any { return []any{g.block(), g.scope()} },
}
