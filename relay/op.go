package relay

import (
	"fmt"

	"github.com/texel-ml/texel/tensor"
)

// Class says how an operator may be fused, ordered from the easiest.
type Class uint8

// The fusion classes.
const (
	Elementwise Class = iota // output element i depends on element i of each operand, shapes equal
	Broadcast                // the same after broadcasting
	Injective                // each output element depends on one input element (reshape, transpose, slice, pad, concat …)
	Reduce                   // output elements depend on many (sum, softmax's parts, pools)
	OutFusable               // a heavy operator whose output takes elementwise epilogues (convolution, dense, matmul)
	Opaque                   // is never fused (sort, NonMaxSuppression, scans)
)

var classNames = [...]string{"elementwise", "broadcast", "injective", "reduce", "out-elementwise-fusable", "opaque"}

// String returns the name of the class.
func (c Class) String() string { return classNames[c] }

// Op is one row of the operator table.
type Op struct {
	Name     string                           // Relay's name, for example "nn.conv2d"
	Args     []string                         // operand names; a variadic operator takes one tuple, as concatenate does
	NewAttrs func() any                       // a pointer to the attribute struct with its defaults; nil: no attributes
	Infer    func(s *Site) (Type, error)      // result type, or why the operands are illegal
	Eval     func(s *EvalSite) (Value, error) // float64 reference
	Class    Class
	Lower    string // the key of the lowering family in package lower, for example "conv2d", "elementwise"
	Doc      string // formula, shapes with letters, source
}

// Site is one application of an operator, as type inference sees it.
type Site struct {
	Op    *Op
	Types []Type
	Args  []Expr // for operators whose type depends on a constant operand's value
	Attrs any
}

// EvalSite is one application of an operator, as the evaluator sees it.
type EvalSite struct {
	Op    *Op
	Args  []Value
	Attrs any
	Type  Type            // the inferred result type
	Done  <-chan struct{} // closed when the evaluation is cancelled; nil: never
}

// Value is what the evaluator computes: a *tensor.Wide, or a list for a tuple.
type Value interface{}

// Values is the value of a tuple.
type Values []Value

// Wide returns operand i as a tensor.
func (s *EvalSite) Wide(i int) *tensor.Wide { return s.Args[i].(*tensor.Wide) }

// Table is a set of operators by name. It is a value: callers add rows to a copy.
type Table struct {
	rows   []*Op
	byName map[string]*Op
}

// NewTable returns a table of the given rows. It panics when two have the same name.
func NewTable(rows ...[]*Op) *Table {
	t := &Table{byName: map[string]*Op{}}
	for _, list := range rows {
		for _, op := range list {
			if t.byName[op.Name] != nil {
				panic(fmt.Sprintf("relay: two operators are named %q", op.Name))
			}
			t.byName[op.Name] = op
			t.rows = append(t.rows, op)
		}
	}
	return t
}

// With returns a table with additional rows.
func (t *Table) With(rows ...*Op) *Table { return NewTable(t.rows, rows) }

// Lookup returns the operator named name, or nil.
func (t *Table) Lookup(name string) *Op { return t.byName[name] }

// Ops returns the rows in table order.
func (t *Table) Ops() []*Op { return t.rows }
