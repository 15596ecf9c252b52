package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// Trace is the list of steps that shaped a function. It is the tuning record, and the file that --trace takes.
type Trace struct{ Steps []Step }

// Step is one primitive: Outs = Name(Ins, Args). Ins and Outs are handles (b0, l3), Args are values.
type Step struct {
	Name string
	Ins  []string
	Args []string
	Outs []string
}

// String prints one step a line: l1, l2 = split(l0, [0, 8]).
func (t *Trace) String() string {
	var b strings.Builder
	for _, s := range t.Steps {
		if len(s.Outs) > 0 {
			b.WriteString(strings.Join(s.Outs, ", ") + " = ")
		}
		fmt.Fprintf(&b, "%s(%s)\n", s.Name, strings.Join(append(append([]string{}, s.Ins...), s.Args...), ", "))
	}
	return b.String()
}

func (s *Schedule) record(name string, ins []string, args []string, outs ...string) {
	s.trace.Steps = append(s.trace.Steps, Step{name, ins, args, outs})
}

// id returns the next handle with the given prefix.
func (s *Schedule) id(prefix string) string { return prefix + strconv.Itoa(s.named(prefix)) }

// named counts the handles with the given prefix that the trace has named.
func (s *Schedule) named(prefix string) (n int) {
	for _, st := range s.trace.Steps {
		for _, o := range st.Outs {
			if strings.HasPrefix(o, prefix) {
				n++
			}
		}
	}
	return n
}

func ints(list []int) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func loopIDs(list []Loop) []string {
	ids := make([]string, len(list))
	for i, l := range list {
		ids[i] = l.id
	}
	return ids
}
