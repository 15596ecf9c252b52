package schedule

import (
	"github.com/texel-ml/texel/texture"
	"github.com/texel-ml/texel/tir"
)

// SetAxisSeparator says which axes of a texture make the height of its image and which the width: those before the
// separator, and those from it on. The last axis is the texel and belongs to neither. A second separator, before the
// other one, cuts off the axes that make the layers. The buffer is the n-th of those that block b reads or writes; it is
// an intermediate one and in a texture scope already (see SetScope, CacheRead).
//
//	T: [N, C, H, W, 4]    separators [3]: height N·C·H, width W       (global.texture)
//	                      separators [2]: height N·C,   width H·W
//	                      separators [1, 3]: N layers of height C·H, width W
//
// Within one direction the axes keep their order; another order is a matter of TransformLayout, before the scope is set.
func (s *Schedule) SetAxisSeparator(b Block, side Side, n int, separators ...int) {
	const step = "set_axis_separator"
	buf := s.bufferOf(step, b, side, n)
	if buf == nil {
		return
	}
	if buf.Scope != tir.Texture {
		s.refuse(step, b.name, "%s is in scope %s; wanted a texture", buf.Name, buf.Scope)
		return
	}
	if len(separators) != 1 && len(separators) != 2 {
		s.refuse(step, b.name, "%d separators; wanted one (height and width), or two (layers, height and width)", len(separators))
		return
	}
	last := len(buf.Shape) - 1
	cuts := append(append([]int{0}, separators...), last)
	var groups [][]int
	for i, to := range cuts[1:] {
		if to < cuts[i] || to > last {
			s.refuse(step, b.name, "separators %v; wanted them in rising order, from 0 to %d, the axis of the texel", separators, last)
			return
		}
		var axes []int
		for axis := cuts[i]; axis < to; axis++ {
			axes = append(axes, axis)
		}
		groups = append(groups, axes)
	}
	f := texture.Folding{Height: groups[0], Width: groups[1]}
	if len(groups) == 3 {
		f = texture.Folding{Layers: groups[0], Height: groups[1], Width: groups[2]}
	}
	if _, err := texture.Fold(buf.Shape, buf.DType, f, texture.Limits{}); err != nil {
		s.refuseBy(step, b.name, err)
		return
	}
	folding := tir.Folding(f)
	to := *buf
	to.Folding = &folding
	s.replaceBuffer(buf, &to)
	s.record(step, operands(b, string(side), n, separators))
}
