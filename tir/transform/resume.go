package transform

import (
	"fmt"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// PassName names the pass at a place of the list, as files that hold what it made are named: 03_lift-grid.
func PassName(place int) string { return fmt.Sprintf("%02d_%s", place, Passes()[place].Name) }

// FindPass returns the place of a pass in the list, by its name or by what PassName returns. A pass that stands twice is
// found at its first place by the name alone.
func FindPass(name string) (int, error) {
	names := ""
	for i, p := range Passes() {
		if name == p.Name || name == PassName(i) {
			return i, nil
		}
		names += " " + PassName(i)
	}
	return 0, diag.Invalid("lower", name, "no pass has this name; the passes are%s", names)
}

// Resume runs the passes from the given place of the list on, at least the second, on kernels that those before it made, and
// checks the result as Lower does. What the passes before made may come from their printed text. StopAfter may also
// be what PassName returns.
func Resume(kernels []*tir.Kernel, place int, opts Options) ([]*tir.Kernel, error) {
	passes := Passes()
	last := len(passes) - 1
	if opts.StopAfter != "" {
		var err error
		if last, err = FindPass(opts.StopAfter); err != nil {
			return nil, err
		}
	}
	if place < 1 || place > len(passes) {
		return nil, diag.Invalid("lower", "", "kernels cannot enter the passes at place %d, wanted 1 to %d", place, len(passes))
	}
	opts = opts.withDefaults()
	kernels = append([]*tir.Kernel(nil), kernels...)
	for i := place; i <= last; i++ {
		for j, k := range kernels {
			to, err := passes[i].Run(k, opts)
			if err != nil {
				return nil, err
			}
			kernels[j] = to
		}
		if opts.Observe != nil {
			opts.Observe(passes[i].Name, append([]*tir.Kernel(nil), kernels...))
		}
	}
	if opts.StopAfter != "" {
		return kernels, nil
	}
	for _, k := range kernels {
		if err := CheckLowered(k, opts); err != nil {
			return nil, err
		}
	}
	return kernels, nil
}
