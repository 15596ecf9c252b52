package tir

import "slices"

// The axes of a grid: three of work-groups, then three of work-items.
const (
	GridAxes   = 6
	ThreadAxis = 3 // the first of work-items
)

var axisNames = [GridAxes]string{"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z"}

// Vthread is what a loop is bound to whose iterations one work-item runs side by side; it is no axis of the grid.
const Vthread = "vthread"

// Axis returns the place of the grid axis that a loop is bound to, -1 for none.
func (f *For) Axis() int {
	if f.Kind != Bound {
		return -1
	}
	return slices.Index(axisNames[:], f.Thread)
}
