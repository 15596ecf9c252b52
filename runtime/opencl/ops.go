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
				o.cond, o.trip, o.iter = tensor(c.Cond), tensor(c.Trip), tensor(c.Iter)
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

func (r *runner) runOps(ops []op, visit func(pos int) error) error {
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
			err = r.copy(o)
		default:
			err = r.control(o, visit)
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

func (r *runner) copy(o *op) error {
	if o.copy[5] == 0 {
		return nil
	}
	o.copy[0] = r.queue
	code, _, _ := purego.SyscallN(r.lib.enqueueCopy, o.copy...)
	return failed(o.step.Launch.Name, "clEnqueueCopyBuffer", int32(code))
}

// control runs an if or a loop.
func (r *runner) control(o *op, visit func(pos int) error) error {
	holds := func() (bool, error) {
		data, err := r.Read(o.cond)
		return err == nil && data[0] != 0, err
	}
	c := o.step.Launch.Control
	if c.Kind == artifact.If {
		yes, err := holds()
		if err != nil {
			return err
		}
		if yes {
			return r.runOps(o.body, visit)
		}
		return r.runOps(o.other, visit)
	}
	trip := int64(math.MaxInt64)
	if o.trip >= 0 {
		data, err := r.Read(o.trip)
		if err != nil {
			return err
		}
		trip = int64(binary.LittleEndian.Uint64(data))
	}
	for turn := int64(0); turn < trip; turn++ {
		if o.cond >= 0 {
			if yes, err := holds(); err != nil || !yes {
				return err
			}
		}
		if c.Max > 0 && turn == c.Max {
			return diag.Unsupported("opencl", o.step.Launch.Name, "loop takes more than %d turns, for which the plan has room", c.Max)
		}
		if r.cancel.Load() {
			return runtime.ErrCancelled
		}
		if o.iter >= 0 {
			binary.LittleEndian.PutUint64(r.turn, uint64(turn))
			if err := r.transfer(r.lib.enqueueWrite, "clEnqueueWriteBuffer", r.places[o.iter].memory, r.turn, true); err != nil {
				return err
			}
		}
		if err := r.runOps(o.body, visit); err != nil {
			return err
		}
	}
	return nil
}
