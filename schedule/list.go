package schedule

import "github.com/texel-ml/texel/diag"

// List is what a step gives of which the function says how many there are: the loops around a block, the blocks that read
// it. It is no slice, because of a schedule that was refused something there are none: a program that takes the first one all
// the same must come to its look at Err.
//
//	l := s.Loops(b).Want(3)              // three loops, as l0, l1, l2 = get_loops(b0) in a trace
//	s.Vectorize(s.Loops(b).At(-1))       // the innermost
//	s.Fuse(s.Loops(b).Slice()...)        // as many as there are
type List[T any] struct {
	s          *Schedule
	step, node string // what gave it, for a refusal
	all        []T
}

// Len is how many there are; 0 after a refusal.
func (l List[T]) Len() int { return len(l.all) }

// At is number i, from 0 on; negative numbers count from behind the last, which is -1. It is refused where there is none of
// that number. After a refusal, this one or an earlier one, it is a zero value, with which steps do nothing.
func (l List[T]) At(i int) (none T) {
	n := i
	if n < 0 {
		n += len(l.all)
	}
	if n < 0 || n >= len(l.all) {
		l.refuse("gives %d results, wanted number %d, counted from 0", len(l.all), i)
		return none
	}
	return l.all[n]
}

// Want returns all of them, in order, which must be n. After a refusal, this one or an earlier one, they are n zero values,
// with which steps do nothing.
func (l List[T]) Want(n int) []T {
	if len(l.all) != n {
		l.refuse("gives %d results, wanted %d", len(l.all), n)
		return make([]T, max(n, 0))
	}
	return l.all
}

// Slice returns as many as there are, in order; none after a refusal.
func (l List[T]) Slice() []T { return l.all }

// refuse is a refusal of the schedule; the list of a refused step has none.
func (l List[T]) refuse(format string, args ...any) {
	if l.s != nil {
		l.s.fail(diag.Invalid(l.step, l.node, format, args...))
	}
}

// Results are what Do gave.
type Results struct{ List[any] }

// Block is result i, as At counts. It is refused where that is something else.
func (r Results) Block(i int) Block { return resultAs[Block](r, i, "a block") }

// Loop is result i, as Block.
func (r Results) Loop(i int) Loop { return resultAs[Loop](r, i, "a loop") }

// Int is result i, as Block.
func (r Results) Int(i int) Int { return resultAs[Int](r, i, "a number") }

func resultAs[T any](r Results, i int, what string) T {
	v := r.At(i)
	x, ok := v.(T)
	if !ok && v != nil {
		r.refuse("result %d is %s, wanted %s", i, kindOf(v), what)
	}
	return x
}
