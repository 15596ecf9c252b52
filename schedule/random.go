package schedule

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
)

// WithDecision returns the trace with another decision at a step, counted from 0; nil lets it be drawn anew. What the
// later steps make of it is found by replaying: they may be refused. A step that is not there changes nothing.
func (t *Trace) WithDecision(step int, v Value) *Trace {
	c := &Trace{Steps: slices.Clone(t.Steps)}
	if step >= 0 && step < len(c.Steps) {
		c.Steps[step].Decision = v
	}
	return c
}

// draws are the decisions of the step that is being taken: what its sampling primitives drew, or what the trace that is
// being replayed says that they drew.
type draws struct {
	replayed bool    // the trace says what was drawn
	left     []Value // what of that is not used yet
	made     []Value // the decisions so far, in order
	list     bool    // the step may draw several times, as a primitive of the options does: its decision is a list
}

// replayOf returns the draws of a step of a trace; own tells that its primitive is one of the options.
func replayOf(step Step, own bool) draws {
	d := draws{replayed: step.Decision != nil, list: own}
	switch list, ok := step.Decision.([]Value); {
	case !d.replayed:
	case own && ok:
		d.left = list
	default:
		d.left = []Value{step.Decision}
	}
	return d
}

// decision is what stands behind the @ of the step, nil when nothing was drawn.
func (d *draws) decision() Value {
	switch {
	case len(d.made) == 0:
		return nil
	case d.list:
		return d.made
	}
	return d.made[0]
}

// decide returns the next decision: the one of the trace that is being replayed, which the caller checks, or a new one.
func (s *Schedule) decide(step, node string, draw func() Value) (v Value, ok bool) {
	d := &s.draws
	switch {
	case !d.replayed:
		v = draw()
	case len(d.left) == 0:
		s.fail(diag.Invalid(step, node, "draws number %d of a step whose trace holds %d decisions", len(d.made)+1, len(d.made)))
		return nil, false
	default:
		v, d.left = d.left[0], d.left[1:]
	}
	d.made = append(slices.Clip(d.made), v)
	return v, true
}

// next returns 64 random bits: splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
func (s *Schedule) next() uint64 {
	s.random += 0x9e3779b97f4a7c15
	z := s.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n), each as likely as the others, n > 0 (Lemire, "Fast random integer generation in an
// interval", 2019).
func (s *Schedule) below(n uint64) uint64 {
	hi, lo := bits.Mul64(s.next(), n)
	if lo < n {
		for least := -n % n; lo < least; {
			hi, lo = bits.Mul64(s.next(), n)
		}
	}
	return hi
}

// unit returns a number in [0, 1), a multiple of 2⁻⁵³.
func (s *Schedule) unit() float64 { return float64(s.next()>>11) / (1 << 53) }

// intsOf returns the numbers of a decision that is a list of them.
func intsOf(v Value) ([]int, bool) {
	list, ok := v.([]Value)
	out := make([]int, len(list))
	for i, x := range list {
		n, isInt := x.(int)
		out[i], ok = n, ok && isInt
	}
	return out, ok
}

// textOf is a value as it stands in a trace.
func textOf(v Value) string {
	var b strings.Builder
	writeValue(&b, v)
	return b.String()
}
