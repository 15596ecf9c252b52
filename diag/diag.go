// Package diag holds the one error type and the one note type of the project.
//
// An Error says where (a position in the user's file or text), in which step, at which node, what was found and
// what was wanted. Its kind is one of five sentinels, which decide the exit code of the command. A Note records
// a default taken, a fallback, a fusion or a choice, so that nothing happens silently; every explain prints them.
package diag

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of error, matched with errors.Is.
var (
	ErrInvalid     = errors.New("invalid input")     // the user's file, text or argument is damaged or illegal
	ErrUnsupported = errors.New("unsupported")       // legal, but not done here
	ErrNumeric     = errors.New("outside the bound") // a result is outside its documented bound
	ErrMissing     = errors.New("missing")           // a device or a tool is not here; the message says what to install
	ErrInternal    = errors.New("internal error")    // our own bug
)

// Pos is a place in what the user gave: a file, and in it a node name (models) or a line and column (text).
type Pos struct {
	File string
	Node string
	Line int // from 1; 0 when there is none
	Col  int // from 1
}

// String prints what is known of the position.
func (p Pos) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Col)
	}
	if p.Node != "" {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		fmt.Fprintf(&b, "node %q", p.Node)
	}
	return b.String()
}

// Error is the error of every package. Message is lower case and names the wanted and the found value.
type Error struct {
	Kind    error         // one of the sentinels
	Pos     Pos           // where in the user's input, if known
	Step    string        // the pass, primitive or room, for example "fuse-ops"
	Node    string        // the operator, loop, block, tensor or entry
	Message string        // what is wrong, with wanted and found
	Cause   error         // wrapped
	Draw    func() string // the IR around the fault, drawn only for %+v
}

// Error prints one line: position, step, node, message, cause.
func (e *Error) Error() string {
	var parts []string
	if s := e.Pos.String(); s != "" {
		parts = append(parts, s)
	}
	if e.Step != "" {
		parts = append(parts, e.Step)
	}
	if e.Node != "" && e.Node != e.Pos.Node {
		parts = append(parts, e.Node)
	}
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	if e.Cause != nil {
		parts = append(parts, e.Cause.Error())
	}
	if len(parts) == 0 && e.Kind != nil {
		return e.Kind.Error()
	}
	return strings.Join(parts, ": ")
}

// Unwrap gives errors.Is both the kind and the cause.
func (e *Error) Unwrap() []error {
	var all []error
	if e.Kind != nil {
		all = append(all, e.Kind)
	}
	if e.Cause != nil {
		all = append(all, e.Cause)
	}
	return all
}

// Format prints the drawing too for %+v.
func (e *Error) Format(f fmt.State, verb rune) {
	fmt.Fprint(f, e.Error())
	if verb == 'v' && f.Flag('+') && e.Draw != nil {
		fmt.Fprintf(f, "\n%s", e.Draw())
	}
}

// Invalid returns an error of the user's input, found in step at node.
func Invalid(step, node, format string, args ...any) *Error {
	return newError(ErrInvalid, step, node, format, args)
}

// Unsupported returns an error for something legal that is not done here.
func Unsupported(step, node, format string, args ...any) *Error {
	return newError(ErrUnsupported, step, node, format, args)
}

// Missing returns an error for a device or tool that is not here.
func Missing(step, node, format string, args ...any) *Error {
	return newError(ErrMissing, step, node, format, args)
}

// Numeric returns an error for a result outside its bound.
func Numeric(step, node, format string, args ...any) *Error {
	return newError(ErrNumeric, step, node, format, args)
}

// Internal returns an error for a bug of our own.
func Internal(step, node, format string, args ...any) *Error {
	return newError(ErrInternal, step, node, format, args)
}

func newError(kind error, step, node, format string, args []any) *Error {
	return &Error{Kind: kind, Step: step, Node: node, Message: fmt.Sprintf(format, args...)}
}

// At returns e with its position set.
func (e *Error) At(p Pos) *Error {
	c := *e
	c.Pos = p
	return &c
}

// By returns e with its cause set.
func (e *Error) By(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// Exit returns the exit code of the command for err: 0 fine, 3 invalid input, 4 unsupported, 5 numbers outside
// their bound, 6 device or tool missing, 70 our own bug or an error without a kind.
func Exit(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrInternal):
		return 70
	case errors.Is(err, ErrInvalid):
		return 3
	case errors.Is(err, ErrUnsupported):
		return 4
	case errors.Is(err, ErrNumeric):
		return 5
	case errors.Is(err, ErrMissing):
		return 6
	}
	return 70
}
