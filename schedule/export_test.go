package schedule

import "github.com/texel-ml/texel/tir"

// ObligationsSince returns what is stated of f when a step made it of before, of which every obligation is fulfilled.
func ObligationsSince(program, before, f *tir.Func) []*Obligation {
	was := gather(before, nil)
	was.holds = true
	return newProven().lawyer(program, was, gather(f, was)).obligations()
}
