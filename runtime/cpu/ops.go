package cpu

import (
	"encoding/binary"
	"math"
	"sync/atomic"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/runtime"
)

// op is a piece of the plan between two calls of the driver: a stretch of kernels, a copy, an if or a loop.
type op struct {
	step     artifact.Step // the copy or control launch
	from, to int           // positions of a stretch of kernels; from == to is none

	read, write      int // copy: tensors
	cond, trip, iter int // control: tensors, -1 is none
	count            int
	body, other      []op
}

// compile makes the ops of the whole plan.
func (r *runner) compile() {
	index := make(map[string]int, len(r.program.plan.Tensors))
	for i := range r.program.plan.Tensors {
		index[r.program.plan.Tensors[i].Name] = i
	}
	tensor := func(name string) int {
		if name == "" {
			return -1
		}
		return index[name]
	}
	steps := r.program.steps
	var list func(from, to int) []op
	list = func(from, to int) []op {
		var ops []op
		for at := from; at < to; {
			s := steps[at]
			if s.Launch.Kind == artifact.KernelLaunch {
				start := at
				for at < to && steps[at].Launch.Kind == artifact.KernelLaunch {
					at++
				}
				ops = append(ops, op{from: start, to: at})
				continue
			}
			o := op{step: s}
			if c := s.Launch.Control; c != nil {
				o.cond, o.trip, o.iter, o.count = tensor(c.Cond), tensor(c.Trip), tensor(c.Iter), tensor(c.Count)
				split := s.Split
				if c.Kind == artifact.Loop {
					split = s.End
				}
				o.body, o.other = list(s.Pos+1, split), list(split, s.End)
			} else {
				o.read, o.write = tensor(s.Launch.Reads[0]), tensor(s.Launch.Writes[0])
			}
			ops = append(ops, o)
			at = s.End
		}
		return ops
	}
	r.ops = list(0, len(steps))
}

// runOps runs ops; turn is that of the innermost loop around them.
func (r *runner) runOps(ops []op, turn int64, visit func(pos int) error) error {
	for i := range ops {
		o := &ops[i]
		if o.from < o.to {
			if err := r.stretch(o, visit); err != nil {
				return err
			}
			continue
		}
		if atomic.LoadInt32(r.cancel) != 0 {
			return runtime.ErrCancelled
		}
		switch l := o.step.Launch; {
		case l.Control != nil:
			if err := r.control(o, turn, visit); err != nil {
				return err
			}
		case l.Stack:
			part := r.data(o.read)
			copy(r.data(o.write)[turn*int64(len(part)):], part)
		default:
			copy(r.data(o.write), r.data(o.read))
		}
		if visit != nil {
			if err := visit(o.step.Pos); err != nil {
				return err
			}
		}
	}
	return nil
}

// stretch runs kernels, all in one call unless each is to be visited.
func (r *runner) stretch(o *op, visit func(pos int) error) error {
	if visit == nil {
		return r.kernels(r.index[o.from], r.index[o.to])
	}
	for pos := o.from; pos < o.to; pos++ {
		if err := r.kernels(r.index[pos], r.index[pos]+1); err != nil {
			return err
		}
		if err := visit(pos); err != nil {
			return err
		}
	}
	return nil
}

// control runs an if or a loop. An if is in the turn of the loop around it.
func (r *runner) control(o *op, turn int64, visit func(pos int) error) error {
	if o.step.Launch.Control.Kind == artifact.Loop {
		return r.loop(o, visit)
	}
	if r.data(o.cond)[0] != 0 {
		return r.runOps(o.body, turn, visit)
	}
	return r.runOps(o.other, turn, visit)
}

func (r *runner) loop(o *op, visit func(pos int) error) error {
	c := o.step.Launch.Control
	trip := int64(math.MaxInt64)
	if o.trip >= 0 {
		trip = int64(binary.LittleEndian.Uint64(r.data(o.trip)))
	}
	turn := int64(0)
	for ; turn < trip && (o.cond < 0 || r.data(o.cond)[0] != 0); turn++ {
		if c.Max > 0 && turn == c.Max {
			return diag.Unsupported("cpu", o.step.Launch.Name, "loop takes more than %d turns, for which the plan has room", c.Max)
		}
		if atomic.LoadInt32(r.cancel) != 0 {
			return runtime.ErrCancelled
		}
		if o.iter >= 0 {
			binary.LittleEndian.PutUint64(r.data(o.iter), uint64(turn))
		}
		if visit != nil {
			if err := visit(o.step.Pos); err != nil {
				return err
			}
		}
		if err := r.runOps(o.body, turn, visit); err != nil {
			return err
		}
	}
	if o.count >= 0 {
		binary.LittleEndian.PutUint64(r.data(o.count), uint64(turn))
	}
	return nil
}
