package cost

import "strings"

// Candidate is one legal way to compute an operator: an algorithm and the layouts of its operands and its result; an
// empty layout leaves an operand as it is. Cost is in microseconds of one core, without the copies that it needs.
type Candidate struct {
	Algorithm         string
	Data, Kernel, Out string
	Cost              float64
}

// String prints the candidate as explain shows it.
func (k Candidate) String() string {
	parts := []string{k.Algorithm}
	for _, s := range []string{k.Data, k.Kernel, k.Out} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " ")
}
