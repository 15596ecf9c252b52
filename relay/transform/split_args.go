package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
)

// SplitArgs joins very many tensors in several steps: a kernel takes as many buffers as the target's record says, and 512 at
// most.
//
//	concatenate(x₁ … xₙ), stack(x₁ … xₙ)  →  concatenate of joins of parts of the list
func SplitArgs(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	most := o.mostValues()
	return rewrite("split-args", m, o, func(r *rewriter, c *relay.Call) (relay.Expr, error) {
		a, ok := c.Attrs.(*relay.ConcatAttrs)
		if !ok {
			return nil, nil
		}
		list, ok := c.Args[0].(*relay.Tuple)
		if !ok || len(list.Fields) <= most {
			return nil, nil
		}
		axis := relay.NormalAxis(a.Axis, len(relay.Tensor(c).Shape))
		parts := (len(list.Fields) + most - 1) / most
		var joined []relay.Expr
		for i := range parts { // of equal length, but for one
			from, till := i*len(list.Fields)/parts, (i+1)*len(list.Fields)/parts
			if till-from == 1 && c.Op.Name == "concatenate" {
				joined = append(joined, list.Fields[from])
				continue
			}
			part, err := r.call(c.Op.Name, &relay.ConcatAttrs{Axis: axis}, relay.NewTuple(list.Fields[from:till:till], r.pos))
			if err != nil {
				return nil, err
			}
			joined = append(joined, part)
		}
		r.note("%s of %d tensors in %d parts: a kernel takes %d", c.Op.Name, len(list.Fields), parts, most)
		return r.call("concatenate", &relay.ConcatAttrs{Axis: axis}, relay.NewTuple(joined, r.pos))
	})
}

// mostValues is how many values a function may take, so that a kernel of it has room for its results, tables and scalars
// within the arguments that the target allows.
func (o *Options) mostValues() int {
	const most, room = 512, 8
	if o.Target == nil || o.Target.GPU == nil {
		return most
	}
	return max(2, min(most, o.Target.GPU.MaxArguments-room))
}
