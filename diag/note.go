package diag

import (
	"fmt"
	"sync"
)

// NoteKind says what a note is about.
type NoteKind string

// The kinds of note.
const (
	Default  NoteKind = "default"  // a value that the user did not give
	Fallback NoteKind = "fallback" // something slower or different was taken, and why
	Fused    NoteKind = "fused"    // an operator became part of another's kernel
	Unfused  NoteKind = "unfused"  // an operator stayed alone, and why
	Rewrote  NoteKind = "rewrote"  // a pass replaced a pattern
	Chose    NoteKind = "chose"    // a choice among candidates with costs
	Kept     NoteKind = "kept"     // a value stayed in float32 where half precision was asked for, and why
	Bound    NoteKind = "bound"    // an unknown dimension or value was bound
)

// Note is one thing that the compiler did without being asked. It travels in the plan.
type Note struct {
	Kind  NoteKind `json:"kind"`
	Step  string   `json:"step"`           // the pass or room
	Node  string   `json:"node,omitempty"` // the operator, tensor or option
	Text  string   `json:"text"`
	Other []Option `json:"other,omitempty"` // for Chose: the candidates that were not taken
}

// Option is a candidate that was weighed.
type Option struct {
	Name string  `json:"name"`
	Cost float64 `json:"cost"` // microseconds by the cost model
	Why  string  `json:"why,omitempty"`
}

// String prints the note on one line.
func (n Note) String() string {
	if n.Node == "" {
		return fmt.Sprintf("%s: %s: %s", n.Kind, n.Step, n.Text)
	}
	return fmt.Sprintf("%s: %s: %s: %s", n.Kind, n.Step, n.Node, n.Text)
}

// Notes collects notes. The zero value is ready; it may be used by several goroutines. A nil *Notes drops them.
type Notes struct {
	mu   sync.Mutex
	list []Note
}

// Add appends a note.
func (n *Notes) Add(kind NoteKind, step, node, format string, args ...any) {
	n.Append(Note{Kind: kind, Step: step, Node: node, Text: fmt.Sprintf(format, args...)})
}

// Append appends a note that is already made.
func (n *Notes) Append(note Note) {
	if n == nil {
		return
	}
	n.mu.Lock()
	n.list = append(n.list, note)
	n.mu.Unlock()
}

// List returns the notes in the order in which they were added.
func (n *Notes) List() []Note {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Note(nil), n.list...)
}
