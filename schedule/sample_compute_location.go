package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// What stands for a place that is no loop, as compute_at takes it.
var (
	atRoot = tir.NewVar("root")   // where the block stands now
	inline = tir.NewVar("inline") // in its consumers
)

// The decisions of SampleComputeLocation that are no loops.
const (
	locationInline = -2
	locationRoot   = -1
)

// SampleComputeLocation draws a place for block b, a producer: one of the loops around the first block that reads it, the
// place where it stands, or, where it can be inlined, no place at all. Each place that compute_at accepts is as likely as
// every other. The result is for compute_at, which takes the two places that are no loops too:
//
//	l5 = sample_compute_location(b0) @ 1    →   the second loop around the first consumer of b0
//	l5 = sample_compute_location(b0) @ -1   →   compute_at(b0, l5) leaves it where it is
//	l5 = sample_compute_location(b0) @ -2   →   compute_at(b0, l5) inlines it
//
// Loops of one iteration are left out.
func (s *Schedule) SampleComputeLocation(b Block) Loop {
	const step = "sample_compute_location"
	p := s.block(step, b)
	if p == nil {
		return Loop{}
	}
	places, loops := s.locations(p, b)
	v, ok := s.decide(step, b.name, func() Value { return places[s.below(uint64(len(places)))] })
	if !ok {
		return Loop{}
	}
	n, ok := v.(int)
	if !ok || !slices.Contains(places, n) {
		s.refuse(step, b.name, "the decision %s is none of the places %v", textOf(v), places)
		return Loop{}
	}
	var out Loop
	switch n {
	case locationInline:
		out = s.loopOver(inline)
	case locationRoot:
		out = s.loopOver(atRoot)
	default:
		out = s.loopOver(loops[n].Var)
	}
	s.record(step, operands(b), out)
	return out
}

// locations returns the decisions that SampleComputeLocation may take, and the loops that they count.
func (s *Schedule) locations(p *place, b Block) (places []int, loops []*tir.For) {
	try := func(steps func(t *Schedule)) bool {
		t := *s
		t.inside++ // nothing is recorded
		steps(&t)
		return t.err == nil
	}
	if try(func(t *Schedule) { t.ComputeInline(b) }) {
		places = append(places, locationInline)
	}
	places = append(places, locationRoot)
	consumers := consumersOf(s.scopeOf(p), p.realize.Block)
	if len(consumers) == 0 {
		return places, nil
	}
	loops = consumers[0].loops
	for i, f := range loops {
		if n, ok := tir.AsInt(f.Extent); ok && n == 1 {
			continue
		}
		if try(func(t *Schedule) { t.ComputeAt(b, Loop{v: f.Var}) }) {
			places = append(places, i)
		}
	}
	return places, loops
}

// placed carries out compute_at of b to a place that is no loop, and reports whether l is one.
func (s *Schedule) placed(step string, b Block, l Loop) bool {
	switch l.v {
	default:
		return false
	case inline:
		s.inside++
		s.ComputeInline(b)
		s.inside--
	case atRoot:
		s.block(step, b)
	}
	s.record(step, operands(b, l))
	return true
}
