package artifact

import "github.com/texel-ml/texel/tensor"

// MaxBatch is how many rows a run may have.
const MaxBatch = 1 << 20

// OpenAxis is the open axis of an input or output. The plan computes one row; a run of n rows follows it n times, each time with the
// row's part of what is bound. With Shape (a…, k, b…) the whole has shape (a…, n·k, b…), and row r is its elements r·k to
// (r+1)·k along Axis. Ports that are not open are the same for all rows.
type OpenAxis struct {
	Axis int    `json:"axis"`
	Name string `json:"name"` // of the dimension in the model, the same for all ports
}

// Batched returns the shape of the port with n rows.
func (p *Port) Batched(n int) tensor.Shape {
	shape := p.Shape.Clone()
	if p.Open != nil {
		shape[p.Open.Axis] *= n
	}
	return shape
}

// Rows returns how many rows a tensor of the given shape has for an open port; ok is false where it is none for it.
func (p *Port) Rows(shape tensor.Shape) (n int, ok bool) {
	if p.Open == nil || len(shape) != len(p.Shape) || p.Shape[p.Open.Axis] == 0 {
		return 0, false
	}
	n = shape[p.Open.Axis] / p.Shape[p.Open.Axis]
	return n, n >= 0 && n <= MaxBatch && shape.Equal(p.Batched(n))
}

// OpenName returns the name of the plan's open dimension, or "".
func (p *Plan) OpenName() string {
	for _, in := range p.Inputs {
		if in.Open != nil {
			return in.Open.Name
		}
	}
	return ""
}

// open checks that rows are whole bytes in axes that exist, of one dimension that some input has, and that no output which has
// no rows depends on an input that has some.
func (c *checker) open() error {
	p := c.plan
	name := p.OpenName()
	check := func(port *Port) error {
		o := port.Open
		switch {
		case o == nil:
		case o.Axis < 0 || o.Axis >= len(port.Shape) || port.Shape[o.Axis] == 0:
			return bad(port.Name, "open axis %d, which shape %v lacks or which is empty", o.Axis, port.Shape)
		case o.Name == "" || o.Name != name:
			return bad(port.Name, "open dimension is named %q, that of the first open input %q", o.Name, name)
		case port.DType.Bits()%8 != 0:
			return bad(port.Name, "rows of %v are no whole bytes", port.DType)
		case port.Default != "" || len(port.Extent) > 0:
			return bad(port.Name, "an open port has no default and no extent")
		}
		return nil
	}
	rows := make([]bool, len(p.Tensors)) // by root
	for i := range p.Inputs {
		if err := check(&p.Inputs[i]); err != nil {
			return err
		}
		rows[c.tensor[p.Inputs[i].Tensor]] = p.Inputs[i].Open != nil
	}
	c.spread(rows)
	for i := range p.Outputs {
		out := &p.Outputs[i]
		if err := check(out); err != nil {
			return err
		}
		depends := rows[c.tensor[out.Tensor]]
		for _, e := range out.Extent {
			depends = depends || rows[c.root[c.tensor[e.Tensor]]]
		}
		if out.Open == nil && depends {
			return bad(out.Name, "output depends on the rows of an input and has none")
		}
	}
	return nil
}

// spread marks what depends on marked memory, until nothing changes: what a launch writes on what it reads, and what a
// control launch may write on what decides.
func (c *checker) spread(rows []bool) {
	for changed := c.plan.OpenName() != ""; changed; {
		changed = false
		decided := 0 // launches before this position are in a branch or loop that depends on rows
		for _, s := range c.steps {
			marked := s.Pos < decided
			for _, r := range s.Launch.Reads {
				marked = marked || rows[c.root[c.tensor[r]]]
			}
			if !marked {
				continue
			}
			decided = max(decided, s.End)
			for _, w := range s.Launch.Writes {
				if at := c.root[c.tensor[w]]; !rows[at] {
					rows[at], changed = true, true
				}
			}
		}
	}
}
