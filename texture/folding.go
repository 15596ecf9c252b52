// Package texture is the one place that knows how a tensor becomes a 2-D image: schedules, planner, code generators
// and printers all call Fold.
//
// The last axis of a tensor is its texel, what one read delivers. Every other axis belongs to the width, the height or
// the layers of the image; within one of these the axes are listed outermost first. For a tensor of shape (N, C, H, W, 4)
// with height N·C·H and width W, element (n, c, h, w, l) is lane l of texel x = w, y = (n·C + c)·H + h.
package texture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
)

// Folding says which axes make the width, the height and the layers of an image, outermost first. Its fields are those of
// tir.Folding, so that one converts to the other.
type Folding struct{ Width, Height, Layers []int }

// The older names of three foldings. They differ in where the axes before the texel are cut: what stands before the cut
// is the height, what stands behind it the width.
const (
	RowAlias    = "global.texture"        // the cut is before the last axis: height N·C·H, width W
	NHWCAlias   = "global.texture-nhwc"   // the cut is after two axes: height N·H, width W·C
	WeightAlias = "global.texture-weight" // the cut is after one axis: height O, width the rest
)

// Aliases returns the names that Alias takes.
func Aliases() []string { return []string{RowAlias, NHWCAlias, WeightAlias} }

// IsAlias reports whether name is the name of a folding.
func IsAlias(name string) bool { return slices.Contains(Aliases(), name) }

// Alias returns the folding named name of a tensor with the given number of axes, which must be at least two.
//
//	                        height       width
//	global.texture          0 … r-3      r-2
//	global.texture-nhwc     0, 1         2 … r-2   (rank 3: 0 and 1)
//	global.texture-weight   0            1 … r-2
func Alias(name string, rank int) (Folding, error) {
	if rank < 2 {
		return Folding{}, diag.Invalid("texture", name, "a tensor of rank %d has no image; wanted at least 2 axes", rank)
	}
	cut := rank - 2
	switch name {
	case RowAlias:
	case NHWCAlias:
		if rank > 3 {
			cut = 2
		}
	case WeightAlias:
		cut = 1
	default:
		return Folding{}, diag.Invalid("texture", name, "no folding has this name, known are %s", strings.Join(Aliases(), ", "))
	}
	var f Folding
	for axis := range rank - 1 {
		if axis < cut {
			f.Height = append(f.Height, axis)
		} else {
			f.Width = append(f.Width, axis)
		}
	}
	return f, nil
}

// String prints the axes of each direction, for example "width 3, height 0·1·2".
func (f Folding) String() string {
	var parts []string
	for _, d := range []struct {
		name string
		axes []int
	}{{"width", f.Width}, {"height", f.Height}, {"layers", f.Layers}} {
		if len(d.axes) == 0 {
			continue
		}
		axes := make([]string, len(d.axes))
		for i, a := range d.axes {
			axes[i] = strconv.Itoa(a)
		}
		parts = append(parts, fmt.Sprintf("%s %s", d.name, strings.Join(axes, "·")))
	}
	return strings.Join(parts, ", ")
}

// check refuses a folding that does not have each axis but the last of a tensor exactly once.
func (f Folding) check(rank int) error {
	seen := make([]bool, max(0, rank-1))
	count := 0
	for _, axis := range slices.Concat(f.Width, f.Height, f.Layers) {
		if axis < 0 || axis >= len(seen) || seen[axis] {
			return diag.Invalid("texture", f.String(), "axis %d is out of range or given twice; wanted each of the first %d axes once", axis, len(seen))
		}
		seen[axis] = true
		count++
	}
	if rank < 1 || count != len(seen) {
		return diag.Invalid("texture", f.String(), "folds %d axes of a tensor of rank %d; wanted all but the last", count, rank)
	}
	return nil
}
