package schedule

import (
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
)

// TraceVersion is the version of the text form, in its first line. A step that changes its meaning makes a new one.
const TraceVersion = 1

// Trace is the list of steps that shaped a function. It is the tuning record, and the file that --trace takes.
type Trace struct{ Steps []Step }

// Step is one line of a trace: Outs = Name(Args). A step that draws at random holds what it drew in Decision.
type Step struct {
	Name     string
	Args     []Value
	Outs     []Handle
	Decision Value    // nil where nothing was drawn, or where it is to be drawn anew
	Pos      diag.Pos // where the step stands in a text
}

// Value is an operand of a step: a Handle, an int, a float64, a string or a []Value.
type Value any

// Handle names what a step gave: a block (b0), a loop (l0) or a number (v0).
type Handle string

// String prints the canonical text: a line with the version, then one step a line.
//
//	trace 1
//	b0 = get_block("C")
//	l0, l1, l2 = get_loops(b0)
//	v0, v1 = sample_perfect_tile(l2, 2, 16) @ [8, 4]
//	l3, l4 = split(l2, [v0, v1])
func (t *Trace) String() string {
	var b strings.Builder
	b.WriteString("trace " + strconv.Itoa(TraceVersion) + "\n")
	for _, s := range t.Steps {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// String prints one line.
func (s Step) String() string {
	var b strings.Builder
	for i, o := range s.Outs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(o))
	}
	if len(s.Outs) > 0 {
		b.WriteString(" = ")
	}
	b.WriteString(s.Name + "(")
	writeValues(&b, s.Args)
	b.WriteString(")")
	if s.Decision != nil {
		b.WriteString(" @ ")
		writeValue(&b, s.Decision)
	}
	return b.String()
}

func writeValues(b *strings.Builder, list []Value) {
	for i, v := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		writeValue(b, v)
	}
}

func writeValue(b *strings.Builder, v Value) {
	switch v := v.(type) {
	case Handle:
		b.WriteString(string(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		b.WriteString(text)
	case string:
		b.WriteString(strconv.Quote(v))
	case []Value:
		b.WriteString("[")
		writeValues(b, v)
		b.WriteString("]")
	}
}

// operands makes the operands of a step from handles, numbers, texts and lists of them.
func operands(list ...any) []Value {
	out := make([]Value, 0, len(list))
	for _, v := range list {
		out = append(out, valueOf(v))
	}
	return out
}

func valueOf(v any) Value {
	switch v := v.(type) {
	case Block:
		return v.id
	case Loop:
		return v.id
	case Int:
		if v.id != "" {
			return v.id
		}
		return v.value
	case []Loop:
		return listOf(v)
	case []Block:
		return listOf(v)
	case []Int:
		return listOf(v)
	case []int:
		return listOf(v)
	case []float64:
		return listOf(v)
	case []string:
		return listOf(v)
	}
	return v
}

func listOf[T any](list []T) []Value {
	out := make([]Value, len(list))
	for i, v := range list {
		out[i] = valueOf(v)
	}
	return out
}

// HandleOf returns the handle of a block, a loop or a number; empty for others.
func HandleOf(v any) Handle {
	h, _ := valueOf(v).(Handle)
	return h
}
