package relaytext

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
)

const (
	// maxTensors bounds the tensors in the type of one expression: a few lines can double a tuple until no memory holds its type.
	maxTensors = 10_000
	// maxAllTensors bounds those in all tuples of a text together, whose types the text of a module shows one by one.
	maxAllTensors = 2_000_000
)

// size returns how many tensors are in a type. What was counted before is not gone through again, so that it takes no longer
// than the text of the type's last step.
func (r *reader) size(t relay.Type) int {
	switch t := t.(type) {
	case *relay.TupleType:
		n, known := r.sizes[t]
		if !known {
			for _, f := range t.Fields {
				n += r.size(f)
			}
			r.sizes[t] = n
		}
		return n
	case *relay.FuncType:
		n := r.size(t.Result)
		for _, p := range t.Params {
			n += r.size(p)
		}
		return n
	}
	return 1
}

// bounded returns e, a new node, or nil when there are too many tensors in its type or in those of all tuples.
func (b *builder) bounded(e relay.Expr, pos diag.Pos) relay.Expr {
	if e == nil {
		return nil
	}
	if _, tuple := e.Type().(*relay.TupleType); !tuple {
		return e
	}
	n := b.r.size(e.Type())
	b.r.tensors += n
	switch {
	case n > maxTensors:
		b.r.fail(diag.Unsupported(step, "tuple", "has %d tensors; at most %d are supported", n, maxTensors).At(pos))
		return nil
	case b.r.tensors > maxAllTensors:
		b.r.fail(diag.Unsupported(step, "tuple", "the tuples up to here have %d tensors; at most %d are supported", b.r.tensors, maxAllTensors).At(pos))
		panic(stop{})
	}
	return e
}
