package schedule

import "github.com/texel-ml/texel/tir"

// Vectorize runs the iterations of l as lanes of vectors.
func (s *Schedule) Vectorize(l Loop) { s.setKind("vectorize", l, tir.Vectorized) }
