package schedule

import "github.com/texel-ml/texel/tir"

// Unroll writes the body of l once for each iteration.
func (s *Schedule) Unroll(l Loop) { s.setKind("unroll", l, tir.Unrolled) }
