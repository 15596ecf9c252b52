package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// Tensorize replaces what block b computes by a tensor instruction. b must be a nest of loops around one block, as Blockize
// makes it, and be the same as the description up to names, up to loops of one iteration, and up to the order of operands of
// + and the like:
//
//	C_o(io, jo, ko):                          C_o(io, jo, ko): opaque
//	  for j in 0..16                            C[io, ramp(16·jo)] = C[io, ramp(16·jo)]
//	    C(io, 16·jo + j, ko)           →          + broadcast(A[io, ko]) · B[ko, ramp(16·jo)]
//
// An operand of the instruction is a box of a buffer: its axes are axes of the buffer, in order, from a place on that is the
// same in every access. The block becomes opaque: it is moved whole from now on. Where the instruction updates an output, the
// initial value must be elsewhere: see DecomposeReduction.
func (s *Schedule) Tensorize(b Block, intrinsic string) {
	const step = "tensorize"
	p := s.block(step, b)
	if p == nil {
		return
	}
	i := s.intrinsic(step, intrinsic)
	if i == nil {
		return
	}
	m := &fitting{s: s, i: i, at: map[*tir.Buffer]*operandBox{}, vars: map[*tir.Var]tir.Expr{}}
	if why := m.fit(p); why != "" {
		s.refuse(step, b.name, "does not fit %s: %s", intrinsic, why)
		return
	}
	s.replaceIn(p, p.realize, m.block(p.realize))
	s.record(step, operands(b, intrinsic))
}

// TensorizeLoop is Blockize of a loop and Tensorize of the block that it gives.
func (s *Schedule) TensorizeLoop(l Loop, intrinsic string) {
	if s.err != nil {
		return
	}
	before := *s
	s.inside++
	s.Tensorize(s.Blockize(l), intrinsic)
	s.inside--
	if s.err != nil {
		err := s.err
		*s = before
		s.err = err
		return
	}
	s.record("tensorize", operands(l, intrinsic))
}

// tensorize applies the step of a trace to a block or a loop.
func tensorize(c *Call) {
	if c.Len() > 0 {
		if l, ok := c.operand(0).(Loop); ok {
			c.S.TensorizeLoop(l, c.Text(1))
			return
		}
	}
	c.S.Tensorize(c.Block(0), c.Text(1))
}

// fitting is a match of a block with an instruction.
type fitting struct {
	s    *Schedule
	i    *Intrinsic
	own  *computation // what the block computes
	a    *arith.Analyzer
	in   map[*tir.Var]bool           // the loops of own
	vars map[*tir.Var]tir.Expr       // of the description
	at   map[*tir.Buffer]*operandBox // where its operands are
	of   map[*tir.Buffer]*tir.Buffer // inputs that are old values of outputs
	why  string
}

// operandBox is the place of an operand: a box of a buffer.
type operandBox struct {
	buf  *tir.Buffer
	axes []int      // of the buffer, for each axis of the operand
	base []tir.Expr // for each axis of the buffer
}

// fit matches; the answer says why it does not.
func (m *fitting) fit(p *place) (why string) {
	block := p.realize.Block
	if block.Opaque || len(block.Allocs) > 0 {
		return "it is opaque or has buffers of its own"
	}
	if block.Init != nil && holdsBlock(block.Body) {
		return "it has an initial value; wanted decompose_reduction before"
	}
	if m.own, why = blockComputation(p); why != "" {
		return why
	}
	d, why := computationOf(m.i.Description.Root().Body)
	if why != "" {
		return "of the description, " + why
	}
	if len(d.loops) != len(m.own.loops) {
		return "the numbers of loops differ"
	}
	m.a, m.in = p.analyzer(), map[*tir.Var]bool{}
	bindIters(m.a, block)
	for n, f := range m.own.loops {
		if !tir.Equal(f.Extent, d.loops[n].Extent) {
			return "loop " + f.Var.Name + " has another number of iterations"
		}
		m.a.BindLoop(f)
		m.in[f.Var] = true
		m.vars[d.loops[n].Var] = f.Var
	}
	of, update := m.i.updated(d.init)
	switch {
	case update && m.own.init != nil:
		return "it has an initial value; wanted decompose_reduction before"
	case update:
		m.of = of
	case (d.init == nil) != (m.own.init == nil), d.init != nil && !m.stmt(d.init, m.own.init):
		return "the initial values differ"
	}
	if !m.stmt(d.body, m.own.body) {
		if m.why == "" {
			m.why = "the statements differ"
		}
		return m.why
	}
	for in, out := range m.of {
		m.at[in] = m.at[out]
	}
	return m.checkOperands(d)
}

// blockComputation is computationOf a block; one without a nest inside is its own.
func blockComputation(p *place) (*computation, string) {
	block := p.realize.Block
	if holdsBlock(block.Body) {
		return computationOf(block.Body)
	}
	if holdsNest(block.Body) || block.Init != nil && holdsNest(block.Init) {
		return nil, "it has loops of its own"
	}
	return &computation{init: block.Init, body: block.Body}, ""
}

// checkOperands checks that all operands were found, that no output is another operand too, and that outputs are written whole.
func (m *fitting) checkOperands(d *computation) string {
	params := m.i.Description.Params
	outputs := params[len(params)-m.i.Description.Outputs:]
	for _, b := range params {
		if m.at[b] == nil {
			return "operand " + b.Name + " of the description is not used"
		}
		for _, out := range outputs {
			if b != out && m.of[b] != out && m.at[b].buf == m.at[out].buf {
				return "operands " + b.Name + " and " + out.Name + " are both in " + m.at[b].buf.Name
			}
		}
	}
	why := ""
	tir.Walk(d.body, func(n any) bool {
		st, ok := n.(*tir.Store)
		if !ok {
			return why == ""
		}
		seen := map[*tir.Var]bool{}
		for axis, e := range st.Indices {
			v, isVar := e.(*tir.Var)
			whole := st.Buffer.Shape[axis] == 1 && tir.IsConst(e, 0)
			for _, f := range d.loops {
				whole = whole || isVar && f.Var == v && !seen[v] && tir.IsConst(f.Extent, int64(st.Buffer.Shape[axis]))
			}
			if !whole {
				why = "the description does not write " + st.Buffer.Name + " whole, at the variables of its loops"
			}
			if isVar {
				seen[v] = true
			}
		}
		return true
	})
	if why == "" {
		why = m.checkVectors()
	}
	return why
}

// checkVectors checks that vectors which the implementation stores lie along the last axis of a buffer.
func (m *fitting) checkVectors() (why string) {
	tir.Walk(m.i.Implementation.Root().Body, func(n any) bool {
		st, ok := n.(*tir.Store)
		if !ok {
			return true
		}
		o := m.at[m.param(st.Buffer)]
		if o == nil {
			return true
		}
		for axis, e := range st.Indices {
			if e.Type().Lanes == 1 {
				continue
			}
			for _, extent := range o.buf.Shape[o.axes[axis]+1:] {
				if extent > 1 {
					why = "vectors of it would not lie along the last axis of " + o.buf.Name
				}
			}
		}
		return true
	})
	return why
}

// param returns the description's operand that stands for the implementation's.
func (m *fitting) param(b *tir.Buffer) *tir.Buffer {
	if n := slices.Index(m.i.Implementation.Params, b); n >= 0 {
		return m.i.Description.Params[n]
	}
	return nil
}

// stmt matches a statement of the description with one of the block.
func (m *fitting) stmt(d, own tir.Stmt) bool {
	switch d := d.(type) {
	case *tir.Store:
		own, ok := own.(*tir.Store)
		return ok && m.access(d.Buffer, d.Indices, own.Buffer, own.Indices) && m.expr(d.Value, own.Value)
	case *tir.Seq:
		own, ok := own.(*tir.Seq)
		return ok && slices.EqualFunc(d.Stmts, own.Stmts, m.stmt)
	case *tir.If:
		own, ok := own.(*tir.If)
		return ok && d.Else == nil && own.Else == nil && m.expr(d.Cond, own.Cond) && m.stmt(d.Then, own.Then)
	case *tir.Let:
		own, ok := own.(*tir.Let)
		if !ok || !m.expr(d.Value, own.Value) {
			return false
		}
		m.vars[d.Var] = own.Var
		return m.stmt(d.Body, own.Body)
	}
	return false
}

// expr matches an expression.
func (m *fitting) expr(d, own tir.Expr) bool {
	if d.Type() != own.Type() {
		return false
	}
	if d.Type() == tir.Index && !hasLoad(d) && !hasLoad(own) {
		return tir.Equal(m.a.Simplify(tir.Subst(d, m.vars)), m.a.Simplify(own))
	}
	switch d := d.(type) {
	case *tir.Var, *tir.Int, *tir.Float:
		return tir.Equal(tir.Subst(d, m.vars), own)
	case *tir.Load:
		own, ok := own.(*tir.Load)
		return ok && m.access(d.Buffer, d.Indices, own.Buffer, own.Indices)
	case *tir.Binary:
		own, ok := own.(*tir.Binary)
		if !ok || d.Op != own.Op {
			return false
		}
		before := m.known()
		if m.expr(d.A, own.A) && m.expr(d.B, own.B) {
			return true
		}
		if unitOf(d.Op, d.A.Type().DType) == nil || d.Op.IsLogical() { // and, or: the right side may not be evaluated
			return false
		}
		m.at = before
		return m.expr(d.A, own.B) && m.expr(d.B, own.A)
	case *tir.Not:
		own, ok := own.(*tir.Not)
		return ok && m.expr(d.A, own.A)
	case *tir.Select:
		own, ok := own.(*tir.Select)
		return ok && m.expr(d.Cond, own.Cond) && m.expr(d.Then, own.Then) && m.expr(d.Else, own.Else)
	case *tir.Cast:
		own, ok := own.(*tir.Cast)
		return ok && m.expr(d.A, own.A)
	case *tir.Call:
		own, ok := own.(*tir.Call)
		return ok && d.Fn == own.Fn && slices.EqualFunc(d.Args, own.Args, m.expr)
	}
	return false
}

func (m *fitting) known() map[*tir.Buffer]*operandBox {
	c := map[*tir.Buffer]*operandBox{}
	for b, o := range m.at {
		c[b] = o
	}
	return c
}

// access matches an access of an operand with one of a buffer.
func (m *fitting) access(d *tir.Buffer, want []tir.Expr, buf *tir.Buffer, indices []tir.Expr) bool {
	if d.DType != buf.DType || d.Scope != tir.Global && d.Scope != buf.Scope {
		m.why = "operand " + d.Name + " is of another type or scope than " + buf.Name
		return false
	}
	offsets := make([]tir.Expr, len(want))
	for i, e := range want {
		offsets[i] = tir.Subst(e, m.vars)
	}
	if o := m.at[d]; o != nil {
		return o.buf == buf && sameIndices(m.bases(o.axes, offsets, indices), o.base)
	}
	o := m.place(d, offsets, buf, indices, len(want)-1, len(indices)-1, make([]int, len(want)))
	if o == nil {
		m.why = "operand " + d.Name + " is no box of " + buf.Name
		return false
	}
	m.at[d] = o
	return true
}

// bases returns for each axis of a buffer the index less the offset of the operand's axis there.
func (m *fitting) bases(axes []int, offsets, indices []tir.Expr) []tir.Expr {
	base := make([]tir.Expr, len(indices))
	for axis, e := range indices {
		if n := slices.Index(axes, axis); n >= 0 {
			e = tir.Minus(e, offsets[n])
		}
		base[axis] = m.a.Simplify(e)
	}
	return base
}

// place finds axes of a buffer for those of an operand up to number n, on the axes up to last: the last possible ones.
func (m *fitting) place(d *tir.Buffer, offsets []tir.Expr, buf *tir.Buffer, indices []tir.Expr, n, last int, axes []int) *operandBox {
	if n < 0 {
		base := m.bases(axes, offsets, indices)
		for _, e := range base {
			if tir.UsesAny(e, m.in) || hasLoad(e) {
				return nil
			}
		}
		return &operandBox{buf: buf, axes: slices.Clone(axes), base: base}
	}
	for axis := last; axis >= n; axis-- {
		if d.Strides != nil && d.Strides[n] != buf.StrideList()[axis] {
			continue
		}
		axes[n] = axis
		if o := m.place(d, offsets, buf, indices, n-1, axis-1, axes); o != nil {
			return o
		}
	}
	return nil
}

// block returns the realization of the block with the implementation.
func (m *fitting) block(r *tir.BlockRealize) *tir.BlockRealize {
	impl := m.i.Implementation.Root().Body.(*tir.BlockRealize).Block
	b := &tir.Block{Name: r.Block.Name, Iters: r.Block.Iters, Opaque: true, Attrs: cloneAttrs(r.Block.Attrs)}
	b.Attrs["tensor_intrinsic"] = m.i.Name
	body := m.s.renewed(impl.Body)
	for _, buf := range impl.Allocs {
		c := *buf
		c.Name = m.s.freeName(buf.Name)
		if c.Scope == tir.Global {
			c.Scope = tir.Local
		}
		b.Allocs = append(b.Allocs, &c)
		body = tir.ReplaceBuffer(body, buf, &c, nil)
	}
	for n, buf := range m.i.Implementation.Params {
		d := m.i.Description.Params[n]
		o := m.at[d]
		body = tir.ReplaceBuffer(body, buf, o.buf, func(idx []tir.Expr) []tir.Expr { return o.moved(m.a, idx) })
		if n < len(m.i.Implementation.Params)-m.i.Implementation.Outputs {
			b.Reads = append(b.Reads, o.region(d))
		} else {
			b.Writes = append(b.Writes, o.region(d))
		}
	}
	b.Body = body
	return &tir.BlockRealize{Values: r.Values, Where: r.Where, Block: b}
}

// region is the part of the buffer that the operand is.
func (o *operandBox) region(d *tir.Buffer) tir.Region {
	r := tir.Point(o.buf, o.base)
	for n, axis := range o.axes {
		r.Ranges[axis].Extent = tir.I(d.Shape[n])
	}
	return r
}

// moved returns indices of the buffer for those of the operand.
func (o *operandBox) moved(a *arith.Analyzer, idx []tir.Expr) []tir.Expr {
	out := slices.Clone(o.base)
	for n, axis := range o.axes {
		switch e := idx[n].(type) {
		case *tir.Ramp:
			out[axis] = &tir.Ramp{Base: a.Simplify(tir.Plus(out[axis], e.Base)), Stride: e.Stride, Lanes: e.Lanes}
		case *tir.Broadcast:
			out[axis] = &tir.Broadcast{A: a.Simplify(tir.Plus(out[axis], e.A)), Lanes: e.Lanes}
		default:
			out[axis] = a.Simplify(tir.Plus(out[axis], e))
		}
	}
	return out
}

// renewed returns a copy of a statement whose loops and lets have variables of their own.
func (s *Schedule) renewed(st tir.Stmt) tir.Stmt {
	to := map[*tir.Var]tir.Expr{}
	renew := func(v *tir.Var) {
		n := s.newVar(v.Name)
		n.DType = v.DType
		to[v] = n
	}
	tir.Walk(st, func(n any) bool {
		switch n := n.(type) {
		case *tir.For:
			renew(n.Var)
		case *tir.Let:
			renew(n.Var)
		}
		return true
	})
	m := &tir.Mapper{Stmt: func(st tir.Stmt) tir.Stmt {
		switch n := st.(type) {
		case *tir.For:
			c := *n
			c.Var = to[n.Var].(*tir.Var)
			return &c
		case *tir.Let:
			return &tir.Let{Var: to[n.Var].(*tir.Var), Value: n.Value, Body: n.Body}
		}
		return st
	}}
	return m.MapStmt(tir.SubstStmt(st, to))
}
