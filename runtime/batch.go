package runtime

import (
	"context"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// rows is how the rows of a port lie in memory: in parts of piece bytes, part p of row r being piece p·n + r of n rows.
type rows struct {
	parts, piece int
	stage        []byte // of one row; nil where a row is one part
}

// CheckBatch refuses a number of rows that no run has, and one besides 1 of a plan that computes one row only.
func (m *Module) CheckBatch(n int) error {
	name := m.plan.OpenName()
	switch {
	case n < 1 || n > artifact.MaxBatch:
		return diag.Invalid("runtime", "batch", "wanted 1 to %d rows, found %d", artifact.MaxBatch, n)
	case n != 1 && name == "":
		return diag.Unsupported("runtime", "batch", "%d rows are wanted, and the model is compiled for its shapes only: compile it with an open batch, or for %d rows; "+
			"the notes (texel explain) say why a batch is not open", n, n)
	}
	for _, list := range [][]artifact.Port{m.plan.Inputs, m.plan.Outputs} {
		for i := range list {
			if p := &list[i]; p.Open != nil && int64(p.DType.Bytes(p.Shape.Elems())) > artifact.MaxBytes/int64(n) {
				return diag.Missing("runtime", p.Name, "%d rows of shape %v and type %v are larger than memory", n, p.Shape, p.DType)
			}
		}
	}
	return nil
}

// resize gives the ports room for n rows. What is bound to open ports is let go when n changes.
func (in *Instance) resize(n int) {
	if n == in.batch {
		return
	}
	in.batch = n
	for _, list := range [][]port{in.inputs, in.outputs} {
		for i := range list {
			if p := &list[i]; p.info.Open != nil {
				p.shape[p.info.Open.Axis] = n * p.info.Shape[p.info.Open.Axis]
				p.bytes = n * p.rows.parts * p.rows.piece
				p.data, p.own = nil, false
			}
		}
	}
}

// layOut finds how the rows of an open port lie.
func (p *port) layOut() error {
	if p.info.Open == nil {
		return nil
	}
	p.rows.parts = p.info.Shape[:p.info.Open.Axis].Elems()
	p.rows.piece = p.bytes / max(1, p.rows.parts)
	if p.rows.parts > 1 {
		var err error
		p.rows.stage, err = aligned(p.info.Name, p.bytes)
		return err
	}
	return nil
}

// row returns the memory of row r of n: a part of what is bound, or the stage.
func (p *port) row(r int) []byte {
	if p.rows.stage != nil {
		return p.rows.stage
	}
	return p.data[r*p.rows.piece : (r+1)*p.rows.piece : (r+1)*p.rows.piece]
}

// gather copies row r of n to the stage, scatter from it.
func (p *port) gather(r, n int) {
	for i := 0; p.rows.stage != nil && i < p.rows.parts; i++ {
		copy(p.rows.stage[i*p.rows.piece:(i+1)*p.rows.piece], p.data[(i*n+r)*p.rows.piece:])
	}
}

func (p *port) scatter(r, n int) {
	for i := 0; p.rows.stage != nil && i < p.rows.parts; i++ {
		copy(p.data[(i*n+r)*p.rows.piece:], p.rows.stage[i*p.rows.piece:(i+1)*p.rows.piece])
	}
}

// runRows runs the plan for one row after the other.
func (in *Instance) runRows(ctx context.Context, visit func(pos int) error) error {
	if in.batch == 1 {
		return in.runner.Run(visit)
	}
	in.times = in.times[:0]
	for r := range in.batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		in.row = r
		for i := range in.inputs {
			if p := &in.inputs[i]; p.info.Open != nil {
				p.gather(r, in.batch)
				in.runner.BindInput(i, p.row(r))
			}
		}
		for i := range in.outputs {
			if p := &in.outputs[i]; p.info.Open != nil {
				in.runner.BindOutput(i, p.row(r))
			}
		}
		if err := in.runner.Run(visit); err != nil {
			return err
		}
		for i := range in.outputs {
			if p := &in.outputs[i]; p.info.Open != nil {
				p.scatter(r, in.batch)
			}
		}
		if in.profiled {
			in.times = addTimes(in.times, in.runner.Times())
		}
	}
	return nil
}

// addTimes adds the times of one row to those of the rows before, by position.
func addTimes(sum, row []Timing) []Timing {
	for _, t := range row {
		i := 0
		for i < len(sum) && sum[i].Pos < t.Pos {
			i++
		}
		if i < len(sum) && sum[i].Pos == t.Pos {
			sum[i].Runs += t.Runs
			sum[i].Duration += t.Duration
			continue
		}
		sum = append(sum[:i], append([]Timing{t}, sum[i:]...)...)
	}
	return sum
}

// solve finds the number of rows that the given inputs have, which must be that of all open ones, and makes room for it.
func (in *Instance) solve(inputs map[string]*tensor.Tensor) error {
	found, of := 0, ""
	for i := range in.inputs {
		p := in.inputs[i].info
		t := inputs[p.Name]
		if p.Open == nil || t == nil {
			continue
		}
		n, ok := p.Rows(t.Shape)
		switch {
		case t.DType != p.DType || !ok:
			return diag.Invalid("runtime", p.Name, "wanted %v of shape %v, with any number of rows along axis %d up to %d, found %v of shape %v", p.DType, p.Shape,
				p.Open.Axis, artifact.MaxBatch, t.DType, t.Shape)
		case of != "" && n != found:
			return diag.Invalid("runtime", p.Name, "%d rows along axis %d, %s, but input %s has %d", n, p.Open.Axis, p.Open.Name, of, found)
		}
		if of == "" {
			found, of = n, p.Name
		}
	}
	switch {
	case of == "":
		return nil
	case in.fixed && found != in.batch:
		return diag.Invalid("runtime", of, "wanted %d rows, as was asked for, found %d", in.batch, found)
	}
	if err := in.module.CheckBatch(found); err != nil {
		return err
	}
	in.resize(found)
	return nil
}

// Batch returns how many rows a run has: 1 where the plan leaves nothing open.
func (in *Instance) Batch() int { return in.batch }

// Row returns which row RunSteps is at.
func (in *Instance) Row() int { return in.row }
