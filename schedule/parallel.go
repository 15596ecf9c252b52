package schedule

import "github.com/texel-ml/texel/tir"

// Parallel lets the iterations of l run at the same time on several workers.
func (s *Schedule) Parallel(l Loop) { s.setKind("parallel", l, tir.Parallel) }
