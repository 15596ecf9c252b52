package opencl

import (
	"encoding/binary"
	"math"

	"github.com/ebitengine/purego"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/runtime"
)

// op is one launch: a kernel, a copy, or an if or loop with what it runs. Conditions and trip counts are read from the
// device, so the host waits at each.
type op struct {
	step             artifact.Step
	copy             []uintptr // arguments of clEnqueueCopyBuffer
	cond, trip, iter int       // control: tensors, -1 is none
	count            int
	body, other      []op
}

// compile makes the ops of the whole plan.
func (r *runner) compile() []op {
	index := r.program.index
	tensor := func(name string) int {
		if name == "" {
			return -1
		}
		return index[name]
	}
	var list func(from, to int) []op
	list = func(from, to int) []op {
		var ops []op
		for at := from; at < to; {
			s := r.program.steps[at]
			o := op{step: s}
			switch l := s.Launch; l.Kind {
			case artifact.CopyLaunch:
				from, to := r.places[tensor(l.Reads[0])], r.places[tensor(l.Writes[0])]
				o.copy = []uintptr{r.queue, from.memory, to.memory, 0, 0, uintptr(from.bytes), 0, 0, 0}
			case artifact.ControlLaunch:
				c := l.Control
				o.cond, o.trip, o.iter, o.count = tensor(c.Cond), tensor(c.Trip), tensor(c.Iter), tensor(c.Count)
				split := s.Split
				if c.Kind == artifact.Loop {
					split = s.End
				}
				o.body, o.other = list(s.Pos+1, split), list(split, s.End)
			}
			ops = append(ops, o)
			at = max(s.End, at+1)
		}
		return ops
	}
	return list(0, len(r.program.steps))
}

// runOps runs ops; turn is that of the innermost loop around them.
func (r *runner) runOps(ops []op, turn int64, visit func(pos int) error) error {
	for i := range ops {
		if r.cancel.Load() {
			return runtime.ErrCancelled
		}
		o := &ops[i]
		var err error
		switch o.step.Launch.Kind {
		case artifact.KernelLaunch:
			err = r.kernel(o.step.Pos)
		case artifact.CopyLaunch:
			err = r.copy(o, turn)
		default:
			err = r.control(o, turn, visit)
		}
		if err != nil {
			return err
		}
		if visit != nil {
			if err := r.wait(); err != nil {
				return err
			}
			if err := visit(o.step.Pos); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) copy(o *op, turn int64) error {
	bytes := o.copy[5]
	if bytes == 0 {
		return nil
	}
	o.copy[0] = r.queue
	if o.step.Launch.Stack {
		o.copy[4] = uintptr(turn) * bytes
	}
	r.queueing()
	code, _, _ := purego.SyscallN(r.lib.enqueueCopy, o.copy...)
	if int32(code) != 0 {
		return failed(o.step.Launch.Name, "clEnqueueCopyBuffer", int32(code))
	}
	return r.pace()
}

// holds reads a condition.
func (r *runner) holds(cond int) (bool, error) {
	if cond < 0 {
		return true, nil
	}
	data, err := r.Read(cond)
	return err == nil && data[0] != 0, err
}

// control runs an if or a loop. An if is in the turn of the loop around it.
func (r *runner) control(o *op, turn int64, visit func(pos int) error) error {
	if o.step.Launch.Control.Kind == artifact.Loop {
		return r.loop(o, visit)
	}
	yes, err := r.holds(o.cond)
	if err != nil {
		return err
	}
	if yes {
		return r.runOps(o.body, turn, visit)
	}
	return r.runOps(o.other, turn, visit)
}

func (r *runner) loop(o *op, visit func(pos int) error) error {
	c := o.step.Launch.Control
	trip := int64(math.MaxInt64)
	if o.trip >= 0 {
		data, err := r.Read(o.trip)
		if err != nil {
			return err
		}
		trip = int64(binary.LittleEndian.Uint64(data))
	}
	turn := int64(0)
	for ; turn < trip; turn++ {
		if yes, err := r.holds(o.cond); err != nil {
			return err
		} else if !yes {
			break
		}
		if c.Max > 0 && turn == c.Max {
			return diag.Unsupported("opencl", o.step.Launch.Name, "loop takes more than %d turns, for which the plan has room", c.Max)
		}
		if r.cancel.Load() {
			return runtime.ErrCancelled
		}
		if err := r.number(o.iter, turn); err != nil {
			return err
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
	return r.number(o.count, turn)
}

// number sets an int64 tensor, if there is one.
func (r *runner) number(tensor int, v int64) error {
	if tensor < 0 {
		return nil
	}
	binary.LittleEndian.PutUint64(r.turn, uint64(v))
	return r.transfer(r.lib.enqueueWrite, "clEnqueueWriteBuffer", r.places[tensor].memory, r.turn, true)
}
