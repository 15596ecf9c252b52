package schedule

import "github.com/texel-ml/texel/tir"

// Unroll writes the body of l, of constant extent, once for each iteration:
//
//	for i in 0..3                 B(0)
//	  B(i)               →        B(1)
//	                              B(2)
//
// The iterations keep their order, so that it is legal for every loop; but for one that would be written more often than any
// kernel can hold.
func (s *Schedule) Unroll(l Loop) { s.setKind("unroll", l, tir.Unrolled) }
