package arith

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// Box returns the box of the values when it proves that they take each point of it, once or more: the digits of a value
// stand in no other one, and none of them moves the value further than one past what the smaller ones reach.
//
//	(i, t) in 2 × 8; values x + i·2 + t//4 and t%%4 → [x, x + 4) × [0, 4)
func (m *IterMap) Box() ([]tir.Range, error) {
	if len(m.partial) > 0 {
		return nil, diag.Unsupported(iterStep, "", "%s is cut: the values take a part of their box", spell(m.partial[0].what))
	}
	uses := m.uses()
	box := make([]tir.Range, len(m.Values))
	for i := range m.Values {
		list, base := m.steps(i)
		reach := int64(0) // of the smaller digits
		for n := len(list) - 1; n >= 0; n-- {
			s := list[n]
			if in := uses[s.x.v]; len(in) > 1 {
				return nil, diag.Unsupported(iterStep, "", "%s is in values %d and %d", s.x.name(), in[0], in[1])
			}
			if abs(s.k)-1 > reach {
				return nil, diag.Invalid(iterStep, "", "gap: %s moves by %d with %s, and what moves it less reaches %d", m.name(i), s.k, s.x.name(), reach)
			}
			more, fits := mul(s.k, s.x.extent-1)
			sum, fits2 := add(reach, abs(more))
			least, fits3 := add(base.c, min(more, 0))
			if !fits || !fits2 || !fits3 {
				return nil, diag.Unsupported(iterStep, "", "%s leaves the range of int64", m.name(i))
			}
			reach, base.c = sum, least
		}
		box[i] = tir.Range{Min: base.expr(), Extent: tir.I(int(reach + 1))}
	}
	return box, nil
}
