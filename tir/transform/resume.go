package transform

import (
	"fmt"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
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
	g, err := resume(&tir.Program{Kernels: kernels}, place, opts.withDefaults())
	if err != nil {
		return nil, err
	}
	return g.Kernels, nil
}

func resume(g *tir.Program, place int, opts Options) (*tir.Program, error) {
	n := len(Passes())
	if place < 1 || place > n {
		return nil, diag.Invalid("lower", g.Name, "kernels cannot enter the passes at place %d, wanted 1 to %d", place, n)
	}
	if opts.Verify || place == n && opts.StopAfter == "" {
		if err := check(g.Kernels, place-1, opts); err != nil {
			return nil, err
		}
	}
	return run(withKernels(g, g.Kernels), place, opts)
}

// Continue runs the passes that are left on a program: those from opts.StartAt on, or behind its stage.
func Continue(g *tir.Program, opts Options) (*tir.Program, error) {
	place := 0
	switch {
	case opts.StartAt != "":
		at, err := FindPass(opts.StartAt)
		if err != nil {
			return nil, err
		}
		place = at
	case g.Stage != "":
		at, err := FindPass(g.Stage)
		if err != nil {
			return nil, err
		}
		place = at + 1
	default:
		return nil, diag.Invalid("lower", g.Name, "the program names no pass that ran last; wanted the pass to start at")
	}
	return resume(g, place, opts.withDefaults())
}

// ReadDump reads the text of a program, as Options.Dump and tirtext.PrintProgram make it; file is named in errors.
func ReadDump(file, text string) (*tir.Program, error) {
	g, err := tirtext.ParseProgram(file, text)
	if err != nil {
		return nil, err
	}
	if g.Stage != "" {
		if _, err := FindPass(g.Stage); err != nil {
			return nil, err
		}
	}
	return g, nil
}
