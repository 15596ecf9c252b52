package schedule

import "math"

// SampleCategorical draws one of the candidates; weights says how likely each is, and need not add up to 1.
//
//	v0 = sample_categorical([0, 16, 64], [0.5, 0.3, 0.2]) @ 1   →   v0 is 16
//
// The decision is the number of the candidate.
func (s *Schedule) SampleCategorical(candidates []int, weights []float64) Int {
	const step = "sample_categorical"
	if s.err != nil {
		return Int{}
	}
	if len(candidates) == 0 || len(candidates) != len(weights) {
		s.refuse(step, "", "has %d candidates and %d weights; wanted one weight for each of at least one candidate", len(candidates), len(weights))
		return Int{}
	}
	sum := 0.0
	for i, w := range weights {
		if sum += w; w < 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
			s.refuse(step, "", "weight %d is %v; wanted numbers from 0 on", i, w)
			return Int{}
		}
	}
	if sum == 0 {
		s.refuse(step, "", "all weights are 0")
		return Int{}
	}
	v, ok := s.decide(step, "", func() Value {
		left := float64(s.unit() * sum)
		last := 0
		for i, w := range weights {
			if w == 0 {
				continue
			}
			if last = i; left < w {
				break
			}
			left -= w
		}
		return last
	})
	if !ok {
		return Int{}
	}
	n, ok := v.(int)
	if !ok || n < 0 || n >= len(candidates) {
		s.refuse(step, "", "the decision %s is none of the %d candidates", textOf(v), len(candidates))
		return Int{}
	}
	out := s.drawn(candidates[n])
	s.record(step, operands(candidates, weights), out)
	return out
}
