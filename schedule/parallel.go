package schedule

import "github.com/texel-ml/texel/tir"

// Parallel lets the iterations of l run at the same time on several workers:
//
//	for i in 0..64                for i in 0..64, parallel
//	  B(i)               →          B(i)
//
// They may drive spatial variables only, and must touch different elements, or a buffer, not a global one, whose every use is
// inside and which each iteration fills for itself.
func (s *Schedule) Parallel(l Loop) { s.setKind("parallel", l, tir.Parallel) }
