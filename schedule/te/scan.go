package te

import "github.com/texel-ml/texel/tir"

// Recurrence is one state of a Scan.
type Recurrence struct {
	// State is a placeholder of shape [T, …], which the scan defines. Stages read it, those of a step as well as later
	// ones.
	State *Tensor
	// Init has shape [k, …] with 1 ≤ k ≤ T: the first k rows of the state.
	Init *Tensor
	// Update has the shape of the state. Row t, for t ≥ k, is the state's; the rows before are not computed.
	Update *Tensor
}

// Scan defines states by a recurrence over their first axis, the time. A running sum of the rows of X is
//
//	s := te.Placeholder("S", tensor.Float32, m, n)
//	first := te.Compute("S_init", tensor.Float32, []int{1, n}, func(i []tir.Expr) tir.Expr { return x.At(tir.I(0), i[1]) })
//	next := te.Compute("S_update", tensor.Float32, []int{m, n}, func(i []tir.Expr) tir.Expr {
//		return tir.Plus(s.At(tir.Minus(i[0], tir.I(1)), i[1]), x.At(i...))
//	})
//	te.Scan("sum", te.Recurrence{State: s, Init: first, Update: next})
//
// The updates, and all stages that they need and that need a state, make one step: their first axis is the time, of the
// extent of the states. In a step at time t a stage reads rows of the states before t, and the row t of other stages of
// the step, updates too. It may be a reduction, and have several results. Stages outside read the states only.
//
// Func makes a nest for the first rows and one for the steps, a loop around a block of the scan's name:
//
//	for t in range(0, m - 1):
//	  block sum(t: ordered[m - 1] = t):
//	    reads S[t +: 1, 0 +: n], X[t + 1 +: 1, 0 +: n]
//	    writes S[t + 1 +: 1, 0 +: n]
//	    for i1 in range(0, n):
//	      block S_update(i1: spatial[n] = i1):
//	        S[t + 1, i1] = S[t, i1] + X[t + 1, i1]
//
// Its only variable is ordered, which keeps the steps in their order: the loop may be split, unrolled or annotated, but
// neither reordered nor run in parallel. The blocks inside know nothing of the time but its value. Their loops are those
// of any function: they may be split, reordered, vectorized, unrolled or run in parallel, and a reduction decomposed. A
// stage of the step has a buffer without an axis for the time, which lives for one step.
func Scan(name string, states ...Recurrence) {
	def := &definition{name: name, scan: &scan{states: states}}
	var outs []*Tensor
	for _, r := range states {
		if r.State == nil || r.Init == nil || r.Update == nil {
			def.fail("a state, its first rows or its update is missing")
		}
		if r.State != nil {
			outs = append(outs, r.State)
		}
	}
	claim(def, outs)
	if def.err == nil {
		def.checkStates()
	}
}

// scan is the definition of states by a recurrence.
type scan struct {
	states []Recurrence
	first  int // how many rows the inits give
}

// scanPlan is what a build does for a scan.
type scanPlan struct {
	inits []*definition // that write the first rows, one a state
	step  []*definition // the stages of a step, in order
}

func (d *definition) checkStates() {
	updates := map[*Tensor]bool{}
	for n, r := range d.scan.states {
		name, shape := r.State.Buffer.Name, r.State.Shape()
		if len(shape) == 0 {
			d.fail("state %s has no axis for the time", name)
			return
		}
		if n == 0 && len(r.Init.Shape()) > 0 {
			d.scan.first = r.Init.Shape()[0]
		}
		if updates[r.Update] {
			d.fail("%s is the update of two states", r.Update.Buffer.Name)
		}
		updates[r.Update] = true
		steps := d.scan.states[0].State.Shape()[0]
		first := append([]int{d.scan.first}, shape[1:]...)
		switch {
		case shape[0] != steps:
			d.fail("state %s has %d rows, the first state %d", name, shape[0], steps)
		case d.scan.first < 1 || d.scan.first > steps:
			d.fail("its inits give %d of %d rows; wanted 1 at least", d.scan.first, steps)
		case !sameShape(r.Init, r.State, first):
			d.fail("the first rows of %s are %v %v, wanted %v %v", name, r.Init.DType(), r.Init.Shape(), r.State.DType(), first)
		case !sameShape(r.Update, r.State, shape):
			d.fail("the update of %s is %v %v, wanted %v %v", name, r.Update.DType(), r.Update.Shape(), r.State.DType(), shape)
		}
	}
}

func sameShape(t, state *Tensor, shape []int) bool {
	if t.DType() != state.DType() || len(t.Shape()) != len(shape) {
		return false
	}
	for n, e := range shape {
		if t.Shape()[n] != e {
			return false
		}
	}
	return true
}

// isPlain reports whether d is a stage of expressions.
func (d *definition) isPlain() bool { return d != nil && d.extern == nil && d.scan == nil }

// visitScan orders what a scan needs: the stages outside before it, those of a step in it.
func (b *builder) visitScan(d *definition) error {
	s, plan := d.scan, &scanPlan{}
	b.plans[d] = plan
	for _, r := range s.states {
		init := r.Init
		if init.def.isPlain() && len(init.def.outs) == 1 && b.readers[init] == 1 && !b.outputs[init] && b.state[init.def] == 0 {
			if err := b.visitInit(d, init.def); err != nil {
				return err
			}
			plan.inits = append(plan.inits, init.def)
			continue
		}
		if err := b.needs(d, init); err != nil {
			return err
		}
		if err := b.visit(init.def, d); err != nil {
			return err
		}
		copied := Compute(r.State.Buffer.Name+"_init", init.DType(), init.Shape(), func(i []tir.Expr) tir.Expr { return init.At(i...) })
		plan.inits = append(plan.inits, copied.def)
	}
	reach := map[*definition]bool{d: true}
	for _, r := range s.states {
		reach[r.Update.def] = true
	}
	for _, r := range s.states {
		if !r.Update.def.isPlain() {
			return b.invalid(d.String(), "the update of %s is no stage of expressions", r.State.Buffer.Name)
		}
		if err := b.visitStep(d, r.Update.def, reach); err != nil {
			return err
		}
	}
	return nil
}

// visitInit visits what an init reads; the init itself writes the state and has no place in the order.
func (b *builder) visitInit(d, init *definition) error {
	if err := b.enter(init); err != nil {
		return err
	}
	for _, t := range b.readList(init) {
		if err := b.needs(init, t); err != nil {
			return err
		}
		if err := b.visit(t.def, init); err != nil {
			return err
		}
	}
	b.leave(init)
	b.inside[init] = d
	return nil
}

// visitStep adds stage m to a step of scan d, after the stages of the step that it reads.
func (b *builder) visitStep(d, m *definition, reach map[*definition]bool) error {
	if b.inside[m] == d {
		if b.state[m] == open {
			return b.cycle(m)
		}
		return nil
	}
	switch {
	case b.inside[m] != nil:
		return b.invalid(m.String(), "it is computed within the steps of both %s and %s", b.inside[m], d)
	case b.state[m] != 0:
		return b.invalid(m.String(), "it is computed within the steps of %s, and something outside reads it; wanted the state", d)
	case !m.isPlain():
		return b.invalid(m.String(), "it needs a state of %s within a step; wanted a stage of expressions there", d)
	}
	steps := d.outs[0].Shape()[0]
	for _, o := range m.outs {
		if b.outputs[o] {
			return b.invalid(m.String(), "it is computed within the steps of %s and is an output; wanted the state", d)
		}
		if len(o.Shape()) == 0 || o.Shape()[0] != steps {
			return b.invalid(m.String(), "it is computed within the steps of %s and has shape %v; wanted a first axis of %d", d, o.Shape(), steps)
		}
	}
	if err := b.enter(m); err != nil {
		return err
	}
	b.inside[m] = d
	for _, t := range b.readList(m) {
		if err := b.needs(m, t); err != nil {
			return err
		}
		var err error
		switch {
		case t.def == d:
		case t.def != nil && b.reaches(t.def, reach):
			err = b.visitStep(d, t.def, reach)
		default:
			err = b.visit(t.def, m)
		}
		if err != nil {
			return err
		}
	}
	b.leave(m)
	plan := b.plans[d]
	plan.step = append(plan.step, m)
	return nil
}

// reaches reports whether d needs the scan that reach holds at first.
func (b *builder) reaches(d *definition, reach map[*definition]bool) bool {
	if r, ok := reach[d]; ok {
		return r
	}
	reach[d] = false // while it is looked at: a cycle is found elsewhere
	list := b.readList(d)
	if d.scan != nil {
		for _, r := range d.scan.states {
			list = append(list, r.Init, r.Update)
		}
	}
	for _, t := range list {
		if t != nil && t.def != nil && b.reaches(t.def, reach) {
			reach[d] = true
		}
	}
	return reach[d]
}
