package study

import (
	"strings"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/proof"
	"github.com/texel-ml/texel/tir/tirtext"
)

// Taken is a step that was taken and proven.
type Taken struct {
	Step          schedule.Step
	Before, After *tir.Func
	Claims        []*proof.Claim // what had to be shown of the function anew
}

// Follow replays a trace and returns its steps, each with what was proven of it. At a step that is refused it returns the
// steps before, and the error.
func Follow(program *tir.Func, t *schedule.Trace, opts Options) ([]Taken, error) {
	var list []Taken
	s := schedule.NewWith(program, schedule.Options{Primitives: opts.Primitives,
		Observe: func(step schedule.Step, before, after *tir.Func) {
			list = append(list, Taken{step, before, after, nil})
		}})
	if err := s.Err(); err != nil { // the program is not legal
		return nil, err
	}
	err := s.Replay(t)
	known, _ := claims(program, program, program, nil)
	for i, x := range list {
		if x.Before != x.After {
			known, list[i].Claims = claims(program, x.Before, x.After, known)
		}
	}
	return list, err
}

// claims returns the claims that fulfil what must be true of f, by their text, and those of them that are not known. What
// the program itself does not fulfil is left out.
func claims(program, before, f *tir.Func, known map[string]bool) (all map[string]bool, anew []*proof.Claim) {
	all = map[string]bool{}
	for _, o := range schedule.Obligations(program, before, f) {
		done, err := o.Discharge()
		if err != nil {
			continue
		}
		for _, c := range done {
			text := c.String()
			if !known[text] {
				anew = append(anew, c)
			}
			all[text] = true
		}
	}
	return all, anew
}

// Diff compares the texts of two functions line by line: the lines of the first with those that are gone marked, and the
// lines of the second with those that are new.
func Diff(before, after *tir.Func) (old, new []DiffLine) {
	a, b := lines(before), lines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	keepA, keepB := longestCommon(a[head:len(a)-tail], b[head:len(b)-tail])
	for i, text := range a {
		old = append(old, DiffLine{text, i >= head && i < len(a)-tail && !keepA[i-head]})
	}
	for i, text := range b {
		new = append(new, DiffLine{text, i >= head && i < len(b)-tail && !keepB[i-head]})
	}
	return old, new
}

// DiffLine is a line that the other text has too, or has not.
type DiffLine struct {
	Text    string
	Changed bool
}

func lines(f *tir.Func) []string {
	return strings.Split(strings.TrimSuffix(tirtext.Print(f), "\n"), "\n")
}

// maxDiff bounds the table of longestCommon.
const maxDiff = 4 << 20

// longestCommon marks the lines of a longest common subsequence.
func longestCommon(a, b []string) (keepA, keepB []bool) {
	keepA, keepB = make([]bool, len(a)), make([]bool, len(b))
	if len(a)*len(b) > maxDiff {
		return keepA, keepB
	}
	width := len(b) + 1
	best := make([]int32, (len(a)+1)*width) // of the suffixes from i and j on
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				best[i*width+j] = best[(i+1)*width+j+1] + 1
			} else {
				best[i*width+j] = max(best[(i+1)*width+j], best[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			keepA[i], keepB[j] = true, true
			i, j = i+1, j+1
		case best[(i+1)*width+j] >= best[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return keepA, keepB
}
