package eval

import (
	"context"
	"math"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// rounds is a loop on its way.
type rounds struct {
	loop     *relay.Loop
	body     *closure
	count    int64 // that have run
	most     int64
	holds    bool
	state    relay.Values
	captured relay.Values
	stacks   []*tensor.Wide
}

// begin prepares the first round; the operands have values.
func (f *frame) begin(l *relay.Loop) *rounds {
	r := &rounds{loop: l, body: f.values[l.Body].(*closure), most: math.MaxInt64, holds: true, state: f.list(l.State), captured: f.list(l.Captured)}
	if l.Trip != nil {
		r.most = f.values[l.Trip].(*tensor.Wide).I[0]
	}
	if l.Cond != nil {
		r.holds = f.values[l.Cond].(*tensor.Wide).I[0] != 0
	}
	fields := l.Type().(*relay.TupleType).Fields
	for _, t := range fields[len(l.State) : len(fields)-1] {
		r.stacks = append(r.stacks, tensor.NewWide(t.(*relay.TensorType).DType, t.(*relay.TensorType).Shape))
	}
	return r
}

// take records what a round gave.
func (r *rounds) take(given relay.Values) {
	first := r.loop.FirstPart()
	if r.loop.Cond != nil {
		r.holds = given[0].(*tensor.Wide).I[0] != 0
	}
	r.state = given[first-len(r.state) : first]
	for i, stack := range r.stacks {
		part := given[first+i].(*tensor.Wide)
		copy(stack.F[int(r.count)*len(part.F):], part.F) // one of the two is empty
		copy(stack.I[int(r.count)*len(part.I):], part.I)
	}
	r.count++
}

// round begins the next round of f's loop, or ends the loop.
func (m *machine) round(f *frame) error {
	if err := context.Cause(m.ctx); err != nil {
		return err
	}
	r := f.rounds
	if r.count < r.most && r.holds {
		if r.loop.Max > 0 && r.count == int64(r.loop.Max) {
			return diag.Unsupported(step, "loop", "more than %d rounds", r.loop.Max).At(r.loop.Pos())
		}
		number := &tensor.Wide{DType: tensor.Int64, Shape: tensor.Shape{}, I: []int64{r.count}}
		return m.enter(r.body, append(append(relay.Values{number}, r.state...), r.captured...), r.loop)
	}
	result := append(relay.Values{}, r.state...)
	for _, s := range r.stacks {
		result = append(result, s)
	}
	result = append(result, &tensor.Wide{DType: tensor.Int64, Shape: tensor.Shape{1}, I: []int64{r.count}})
	f.rounds = nil
	return m.done(f, r.loop, result)
}
