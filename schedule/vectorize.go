package schedule

import "github.com/texel-ml/texel/tir"

// Vectorize runs the iterations of l, of constant extent, as lanes of vectors:
//
//	for i in 0..8                 for i in 0..8, vectorized
//	  C[i] = A[i] + B[i]   →        C[i] = A[i] + B[i]         one load of each, one addition, one store
//
// Each statement runs for all lanes before the next one does. So the iterations are what those of a parallel loop are; see
// Parallel. An opaque block has no lanes.
func (s *Schedule) Vectorize(l Loop) { s.setKind("vectorize", l, tir.Vectorized) }
