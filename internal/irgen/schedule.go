package irgen

import (
	"errors"
	"fmt"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Steps takes up to n random steps of a schedule; those that are refused leave nothing behind. How many of each primitive were
// taken and refused is added to count. A primitive that made an illegal function is an error.
func Steps(d Draw, s *schedule.Schedule, n int, count map[string]*Tally) error {
	g := &stepper{Draw: d, s: s, count: count}
	g.steps(n)
	return g.err
}

// Tally counts the uses of a primitive.
type Tally struct{ Taken, Refused int }

// Draws reports whether Steps uses a primitive. Queries are used to find the operands of others.
func Draws(primitive string) bool { return operands[primitive] != nil }

// stepper draws operands from what the function holds now, and takes steps.
type stepper struct {
	Draw
	s      *schedule.Schedule
	count  map[string]*Tally
	groups bool  // the device has work-groups
	err    error // the first step that made an illegal function
}

// steps takes up to n random steps.
func (g *stepper) steps(n int) {
	table := schedule.Primitives()
	for range n {
		name := table[g.IntN(len(table))].Name
		if draw := operands[name]; draw != nil && !(g.groups && name == "parallel") { // a device with work-groups has no workers
			g.attempt(name, func() []any { return draw(g) })
		}
	}
}

// take takes one step with the given operands. It returns what the step gives, which is not nil, or nil when it is refused.
func (g *stepper) take(name string, list ...any) []any {
	return g.attempt(name, func() []any { return list })
}

// attempt takes the steps that draw the operands of a step, which are nil when there are none, and the step itself.
func (g *stepper) attempt(name string, draw func() []any) []any {
	if g.err != nil {
		return nil
	}
	t := g.count[name]
	if t == nil {
		t = &Tally{}
		g.count[name] = t
	}
	var list, gave []any
	var err error
	taken := g.s.Attempt(func() {
		if list = draw(); list != nil {
			gave = append([]any{}, g.s.Do(name, list...).Slice()...)
		}
		err = g.s.Err()
	})
	switch {
	case errors.Is(err, diag.ErrInternal):
		g.err = fmt.Errorf("%s%v: %w", name, list, err)
	case !taken:
		t.Refused++
	case list != nil:
		t.Taken++
		return gave
	}
	return nil
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
		if l := g.s.Loops(g.block()).Slice(); len(l) > 0 {
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

// near returns a loop around one of some blocks, mostly.
func (g *stepper) near(blocks []schedule.Block) []any {
	if len(blocks) == 0 || g.IntN(8) == 7 {
		return g.loop()
	}
	l := g.s.Loops(blocks[g.IntN(len(blocks))]).Slice()
	if len(l) == 0 {
		return nil
	}
	return []any{l[g.IntN(len(l))]}
}

// reducing returns a loop that drives a reduce variable, mostly.
func (g *stepper) reducing(more ...any) []any {
	for range 4 {
		b := g.block()
		d := g.s.Definition(b)
		if d == nil {
			return nil
		}
		reduces := false
		for _, iv := range d.Iters {
			reduces = reduces || iv.Kind == tir.Reduce
		}
		if l := g.s.Loops(b).Slice(); reduces && len(l) > 0 {
			return append([]any{l[len(l)-1-g.IntN(min(2, len(l)))]}, more...)
		}
	}
	return g.loop(more...)
}

// side returns whether a block's reads or writes are meant, with one of those and its rank.
func (g *stepper) side(b schedule.Block) (side schedule.Side, n, rank int) {
	d := g.s.Definition(b)
	side, list := schedule.Write, d.Writes
	if g.IntN(2) == 1 && len(d.Reads) > 0 {
		side, list = schedule.Read, d.Reads
	}
	if len(list) == 0 {
		return side, 0, 0
	}
	n = g.IntN(len(list))
	return side, n, len(list[n].Ranges)
}

// indexMap returns a map of n indices: an order, a cut, or a join.
func (g *stepper) indexMap(n int) string {
	from, to := make([]string, n), make([]string, n)
	for i := range from {
		from[i] = fmt.Sprintf("i%d", i)
		to[i] = from[i]
	}
	for i := n - 1; i > 0; i-- {
		k := g.IntN(i + 1)
		to[i], to[k] = to[k], to[i]
	}
	if n > 0 && g.IntN(2) == 1 {
		k, by := g.IntN(n), oneOf(g, 2, 3, 4)
		e := to[k]
		to[k] = fmt.Sprintf("%s // %d", e, by)
		to = append(to, fmt.Sprintf("%s %%%% %d", e, by))
	}
	return strings.Join(from, ", ") + " -> " + strings.Join(to, ", ")
}

// scope returns a memory for a cache.
func (g *stepper) scope() string {
	if g.groups {
		return oneOf(g, "global", "local", "shared", "shared")
	}
	return oneOf(g, "global", "local", "scratch")
}

// axis returns an axis to bind a loop to.
func (g *stepper) axis() string {
	if g.groups {
		return oneOf(g, "blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread")
	}
	return oneOf(g, "blockIdx.x", "blockIdx.y", "vthread")
}

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
	"unannotate":    func(g *stepper) []any { return g.loop(tir.Partition) },
	"merge": func(g *stepper) []any {
		a, b := g.loop(), g.loop()
		if a == nil || b == nil {
			return nil
		}
		return append(a, b...)
	},
	"bind":          func(g *stepper) []any { return g.loop(g.axis()) },
	"cache_read":    func(g *stepper) []any { return []any{g.block(), g.IntN(2), g.scope()} },
	"cache_write":   func(g *stepper) []any { return []any{g.block(), 0, g.scope()} },
	"cache_inplace": func(g *stepper) []any { return []any{g.block(), 0, g.scope()} },
	"reindex": func(g *stepper) []any {
		b := g.block()
		side, n, _ := g.side(b)
		return []any{b, string(side), n}
	},
	"read_at": func(g *stepper) []any {
		b := g.block()
		return around(g.near([]schedule.Block{b}), b, g.IntN(2), g.scope())
	},
	"write_at": func(g *stepper) []any {
		b := g.block()
		return around(g.near([]schedule.Block{b}), b, 0, g.scope())
	},
	"compute_at": func(g *stepper) []any {
		b := g.block()
		return around([]any{b}, g.near(g.s.Consumers(b).Slice())...)
	},
	"reverse_compute_at": func(g *stepper) []any {
		b := g.block()
		return around([]any{b}, g.near(g.s.Producers(b).Slice())...)
	},
	"compute_inline":         func(g *stepper) []any { return []any{g.block()} },
	"reverse_compute_inline": func(g *stepper) []any { return []any{g.block()} },
	"rfactor":                func(g *stepper) []any { return g.reducing(oneOf(g, 0, -1, 1)) },
	"decompose_reduction": func(g *stepper) []any {
		b := g.block()
		return around([]any{b}, g.near([]schedule.Block{b})...)
	},
	"blockize":  func(g *stepper) []any { return g.loop() },
	"tensorize": func(g *stepper) []any { return g.instruction() },
	"pad_einsum": func(g *stepper) []any {
		b := g.block()
		n := len(g.s.Definition(b).Iters)
		list := make([]int, n)
		for i := range list {
			list[i] = oneOf(g, 1, 1, 2, 3, 4)
		}
		return []any{b, list}
	},
	"decompose_padding": func(g *stepper) []any {
		b := g.block()
		return around([]any{b}, g.near([]schedule.Block{b})...)
	},
	"set_scope":          func(g *stepper) []any { return []any{g.block(), 0, g.scope()} },
	"set_axis_separator": func(g *stepper) []any { return g.image() },
	"storage_align":      func(g *stepper) []any { return []any{g.block(), 0, g.IntN(3), oneOf(g, 4, 8), g.IntN(2)} },
	"double_buffer":      func(g *stepper) []any { return []any{g.block()} },
	"rolling_buffer":     func(g *stepper) []any { return g.rolling() },
	"transform_layout": func(g *stepper) []any {
		b := g.block()
		side, n, rank := g.side(b)
		return []any{b, string(side), n, g.indexMap(rank)}
	},
	"transform_block_layout": func(g *stepper) []any {
		b := g.block()
		return []any{b, g.indexMap(len(g.s.Definition(b).Iters))}
	},
	"sample_perfect_tile":     func(g *stepper) []any { return g.loop(oneOf(g, 1, 2, 3), oneOf(g, 4, 8)) },
	"sample_partitioned_tile": func(g *stepper) []any { return g.loop(3, oneOf(g, 0, 1, 2), oneOf(g, 1, 2, 4)) },
	"sample_categorical":      func(g *stepper) []any { return []any{[]int{1, 2, 4}, []float64{0.5, 0.25, 0.25}} },
	"sample_compute_location": func(g *stepper) []any { return []any{g.block()} },
}

// The primitives below want a place that random steps hardly make, so the steps that make it come first.

// rolling computes a block where its reader needs it, window by window.
func (g *stepper) rolling() []any {
	for range 4 {
		b := g.block()
		c := g.s.Consumers(b).Slice()
		if len(c) == 0 {
			continue
		}
		if l := g.s.Loops(c[0]).Slice(); len(l) > 0 {
			g.s.SetScope(b, tir.Scratch)
			g.s.ComputeAt(b, l[g.IntN(min(2, len(l)))])
			return []any{b, 0}
		}
	}
	return nil
}

// image copies what a block reads into a texture: the last axis is cut into texels, which a device with work-groups stores whole.
func (g *stepper) image() []any {
	b := g.s.CacheRead(g.block(), 0, tir.Global)
	d := g.s.Definition(b)
	if d == nil || len(d.Iters) == 0 {
		return nil
	}
	from, to := make([]string, len(d.Iters)), make([]string, len(d.Iters)-1)
	for i := range from {
		from[i] = fmt.Sprintf("i%d", i)
	}
	copy(to, from)
	last, lanes := from[len(from)-1], oneOf(g, 4, 4, 8, 16, 1)
	to = append(to, fmt.Sprintf("%s // %d", last, lanes), fmt.Sprintf("%s %%%% %d", last, lanes))
	g.s.TransformLayout(b, schedule.Write, 0, strings.Join(from, ", ")+" -> "+strings.Join(to, ", "), 0)
	g.s.SetScope(b, tir.Scope(oneOf(g, "global.texture", "global.texture-nhwc", "global.texture-weight")))
	if g.groups {
		g.s.Vectorize(g.s.Loops(b).At(-1))
	}
	separators := []int{g.IntN(len(to))}
	if g.IntN(3) == 2 {
		separators = append([]int{g.IntN(separators[0] + 1)}, separators...)
	}
	return []any{b, string(schedule.Write), 0, separators}
}

// instruction gives a product of two spatial axes and a reduced one the loops of a tensor instruction.
func (g *stepper) instruction() []any {
	for range 4 {
		b := g.block()
		d, l := g.s.Definition(b), g.s.Loops(b).Slice()
		if d == nil || len(d.Iters) != 3 || len(l) != 3 || d.Iters[2].Kind != tir.Reduce {
			continue
		}
		name := "fma16"
		j := g.s.Split(l[1], 0, 16)
		inner := j[1:]
		k := l[2]
		if d.Writes[0].Buffer.DType == tensor.Int32 {
			name = "dot4x16"
			parts := g.s.Split(l[2], 0, 4)
			k, inner = parts[0], append(inner, parts[1])
		}
		g.s.Reorder(append([]schedule.Loop{j[0], k}, inner...)...)
		g.s.DecomposeReduction(b, k)
		return []any{inner[0], name}
	}
	return nil
}

// around joins operands; nil where the first of them are missing.
func around(first []any, more ...any) []any {
	if first == nil || more == nil {
		return nil
	}
	return append(first, more...)
}
