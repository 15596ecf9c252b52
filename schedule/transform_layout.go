package schedule

import (
	"errors"
	"math"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"github.com/texel-ml/texel/tir/proof"
)

// Side says which of its buffers a step means: those that a block reads, or those that it writes.
type Side string

// The sides.
const (
	Read  Side = "read"
	Write Side = "write"
)

// TransformLayout changes where the elements of a buffer lie: the element at some indices then lies where the index map
// sends them. The buffer is the n-th of those that block b reads or writes, and must be an intermediate one. Every access
// is rewritten; the loops stay.
//
//	B[i, j] = A[i, j]; C[i, j] = B[i, j]   →   "i, j -> j, i"   →   B[j, i] = A[i, j]; C[i, j] = B[j, i]
//
// The map must send different indices to different ones. The new buffer goes from 0 to the largest new index on each axis;
// where there is more of it than the map fills, what is between is padding: nothing reads it, and nothing writes it unless a
// value for it is given. Then the block that writes the buffer goes through all of the new layout instead, and its loops are
// those of the new axes:
//
//	for k, n: P(k, n): P[k, n] = B[k, n]    →    "k, n -> n // 8, k, n %% 8", 0
//
//	for a, k, c: P(a, k, c): P[a, k, c] = select(a * 8 + c < 20, B[k, a * 8 + c], 0)
//
// So panels of a matrix are packed: the copy has plain indices, can be moved to where it is used (ComputeAt) and be
// vectorized. The block must be a single store at its own variables, with the loops that they were made with.
//
// It refuses a buffer with strides or a folding of its own (change the layout first), one that an opaque block uses, and
// one that is read or written as vectors already.
func (s *Schedule) TransformLayout(b Block, side Side, n int, indexMap string, pad ...float64) {
	const step = "transform_layout"
	buf := s.bufferOf(step, b, side, n)
	if buf == nil || !s.canMove(step, b, buf) {
		return
	}
	m := s.indexMap(step, b, indexMap, buf.Shape)
	if m == nil {
		return
	}
	to := *buf
	if to.Shape = s.imageOf(step, b, m, buf.Shape); to.Shape == nil {
		return
	}
	body := s.fn.Root().Body
	args := []any{b, string(side), n, m.String()}
	if len(pad) > 0 {
		args = append(args, pad[0])
		if body = s.padded(step, b, buf, &to, m, pad[0]); body == nil {
			return
		}
	}
	w := &relayout{s: s, step: step, a: arith.New(), from: buf, to: &to, by: m}
	if body = w.stmt(body); s.err != nil {
		return
	}
	allocs := slices.Clone(s.fn.Root().Allocs)
	allocs[slices.Index(allocs, buf)] = &to
	s.setRoot(body, allocs)
	s.record(step, operands(args...))
}

// padded returns the root's body in which the block that writes buf goes through all of its new layout.
func (s *Schedule) padded(step string, b Block, buf, to *tir.Buffer, m *IndexMap, value float64) tir.Stmt {
	pad, ok := constant(buf.DType, value)
	if !ok {
		s.refuse(step, b.name, "the padding %v is no value of %v", value, buf.DType)
		return nil
	}
	var writer *place
	for _, u := range s.users(buf) {
		if writes(u.realize.Block, buf) {
			if writer != nil {
				s.refuse(step, b.name, "blocks %s and %s write %s; wanted one, which can write the padding", writer.realize.Block.Name, u.realize.Block.Name, buf.Name)
				return nil
			}
			writer = u
		}
	}
	block := writer.realize.Block
	st, plain := block.Body.(*tir.Store)
	if !plain || block.Init != nil || writer.realize.Where != nil || !slices.EqualFunc(st.Indices, block.Iters, func(e tir.Expr, iv tir.IterVar) bool { return e == tir.Expr(iv.Var) && iv.Kind == tir.Spatial }) {
		s.refuse(step, b.name, "block %s is guarded, or more than a store to %s at its own spatial variables; wanted a plain copy, which can write the padding", block.Name, buf.Name)
		return nil
	}
	nest := s.ownLoops(step, writer)
	if nest == nil {
		return nil
	}
	u, err := m.undo(buf.Shape)
	if err != nil {
		s.fail(diag.Invalid(step, b.name, "the map %q of %v cannot be undone, to say what is padding", m, tensor.Shape(buf.Shape)).By(err))
		return nil
	}
	to.Shape = u.shape
	r := &reshaping{s: s, block: block, u: u, kinds: make([]tir.IterKind, len(u.shape))}
	realize, loops := r.over(nil, nest)
	made := *realize.Block
	vars, a := make([]tir.Expr, len(made.Iters)), arith.New()
	for i, iv := range made.Iters {
		vars[i] = iv.Var
		a.Bind(iv.Var, 0, int64(iv.Extent))
	}
	body := made.Body.(*tir.Store).Value
	if inside, _ := u.at(vars); inside != nil {
		body = tir.Sel(a.Simplify(inside), body, pad)
	}
	made.Body = &tir.Store{Buffer: to, Indices: vars, Value: body}
	made.Reads, made.Writes = tir.Accesses(&made)
	old := writer.path[len(writer.path)-1-len(nest.loops)]
	return swap(s.fn.Root().Body, old, nestOf(loops, &tir.BlockRealize{Values: realize.Values, Block: &made}))
}

// constant returns a value of a type, if it is one.
func constant(d tensor.DType, value float64) (tir.Expr, bool) {
	if d.IsFloat() {
		return tir.Const(d, value), true
	}
	lo, hi := tensor.IntRange(d)
	if d == tensor.Uint64 {
		hi = math.MaxInt64
	}
	if value != math.Trunc(value) || math.Abs(value) > 1<<53 || value < float64(lo) || value > float64(hi) {
		return nil, false
	}
	return &tir.Int{DType: d, Value: int64(value)}, true
}

// transformLayoutCall reads the operands of a trace. The short form transform_layout(block, [1, 0]) gives the axes of the
// buffer that the block writes another order.
func transformLayoutCall(c *Call) {
	switch c.Len() {
	case 2:
		c.S.TransformLayout(c.Block(0), Write, 0, Permutation(c.Numbers(1)...))
	case 5:
		if pad, whole := c.operand(4).(int); whole {
			c.args[4] = float64(pad)
		}
		c.S.TransformLayout(c.Block(0), Side(c.Text(1)), c.Number(2), c.Text(3), operandAs[float64](c, 4, "a number"))
	default:
		c.S.TransformLayout(c.Block(0), Side(c.Text(1)), c.Number(2), c.Text(3))
	}
}

// bufferOf returns the n-th of the buffers that a block reads or writes, which must be an intermediate one.
func (s *Schedule) bufferOf(step string, b Block, side Side, n int) *tir.Buffer {
	p := s.plainBlock(step, b)
	if p == nil {
		return nil
	}
	var buf *tir.Buffer
	switch side {
	case Read:
		buf = operand(p.realize.Block, n)
	case Write:
		buf = result(p.realize.Block, n)
	default:
		s.refuse(step, b.name, "the side is %q; wanted \"read\" or \"write\"", side)
		return nil
	}
	switch {
	case buf == nil:
		s.refuse(step, b.name, "has no buffer number %d on the side %q", n, side)
		return nil
	case !s.isIntermediate(buf):
		s.refuse(step, b.name, "%s is a parameter, or is allocated by a block; wanted an intermediate buffer of the function (see cache_read, cache_write)", buf.Name)
		return nil
	}
	return buf
}

// canMove checks that every access of buf can be rewritten.
func (s *Schedule) canMove(step string, b Block, buf *tir.Buffer) bool {
	if buf.Strides != nil || buf.Folding != nil {
		s.refuse(step, b.name, "%s has strides or a folding of its own; wanted the layout first", buf.Name)
		return false
	}
	fine := true
	vector := func(indices []tir.Expr) {
		for _, e := range indices {
			if fine && e.Type() != tir.Index {
				s.refuse(step, b.name, "%s is accessed as a vector already", buf.Name)
				fine = false
			}
		}
	}
	tir.Walk(s.fn.Root().Body, func(n any) bool {
		switch n := n.(type) {
		case *tir.BlockRealize:
			if n.Block.Opaque && (reads(n.Block, buf) || writes(n.Block, buf)) && fine {
				s.refuse(step, b.name, "block %s uses %s and is opaque", n.Block.Name, buf.Name)
				fine = false
			}
		case *tir.Load:
			if n.Buffer == buf {
				vector(n.Indices)
			}
		case *tir.Store:
			if n.Buffer == buf {
				vector(n.Indices)
			}
		}
		return fine
	})
	return fine
}

// indexMap parses an index map over a space of the given extents.
func (s *Schedule) indexMap(step string, b Block, text string, extents []int) *IndexMap {
	m, err := ParseIndexMap(text)
	if err != nil {
		s.fail(diag.Invalid(step, b.name, "the map %q", text).By(err))
		return nil
	}
	if len(m.From) != len(extents) {
		s.refuse(step, b.name, "the map %q is of %d indices; wanted one of %d", text, len(m.From), len(extents))
		return nil
	}
	return m
}

// maxSpread bounds how much larger than the old one the space of an index map may be.
const maxSpread = 1 << 10

// imageOf returns the extents of the space that m sends a space of extents to, in which it takes no point twice.
func (s *Schedule) imageOf(step string, b Block, m *IndexMap, extents []int) []int {
	a := arith.New()
	old := int64(1)
	claim := &proof.Claim{Kind: proof.Injection, Subject: "map " + m.String(), Side: proof.Side{Map: m.To}}
	for i, v := range m.From {
		if extents[i] == 0 {
			s.refuse(step, b.name, "axis %d has extent 0; wanted a space that is not empty", i)
			return nil
		}
		a.Bind(v, 0, int64(extents[i]))
		claim.Vars = append(claim.Vars, proof.Var{Var: v, Extent: int64(extents[i])})
		old *= int64(extents[i])
	}
	shape, size := make([]int, len(m.To)), int64(1)
	for i, e := range m.To {
		lo, hi, ok := a.Bounds(e)
		if !ok || lo < 0 {
			s.refuse(step, b.name, "the map %q may give %d on axis %d; wanted at least 0", m, lo, i)
			return nil
		}
		shape[i] = int(hi + 1)
		if size *= hi + 1; size > maxSpread*old {
			s.refuse(step, b.name, "the map %q makes a space of %v, more than %d times the %d points of %v", m, tensor.Shape(shape[:i+1]), maxSpread, old, tensor.Shape(extents))
			return nil
		}
	}
	if m.oneToOne(extents) {
		return shape
	}
	if err := proof.Check(claim); err != nil {
		what := "sends two points of %v to one"
		if errors.Is(err, proof.ErrUndecided) {
			what = "is not shown to send different points of %v to different ones"
		}
		s.fail(diag.Invalid(step, b.name, "the map %q "+what, m, tensor.Shape(extents)).By(err))
		return nil
	}
	return shape
}

// relayout rewrites the accesses of a buffer by an index map.
type relayout struct {
	s        *Schedule
	step     string
	a        *arith.Analyzer // knows the variables around
	from, to *tir.Buffer
	by       *IndexMap
	block    string // for messages
}

// stmt rewrites a statement. New indices are simplified for the ranges of a block's variables and of the loops inside it.
func (w *relayout) stmt(st tir.Stmt) tir.Stmt {
	m := &tir.Mapper{}
	m.Enter = func(st tir.Stmt) (tir.Stmt, bool) {
		switch n := st.(type) {
		case *tir.BlockRealize:
			if !reads(n.Block, w.from) && !writes(n.Block, w.from) {
				return n, true
			}
			leave := w.a.Scope()
			defer leave()
			bindIters(w.a, n.Block)
			b := *n.Block
			w.block = b.Name
			b.Reads, b.Writes = w.regions(b.Reads, false, m), w.regions(b.Writes, true, m)
			b.Init, b.Body = m.MapStmt(b.Init), m.MapStmt(b.Body)
			values := make([]tir.Expr, len(n.Values))
			for i, v := range n.Values {
				values[i] = m.MapExpr(v)
			}
			return &tir.BlockRealize{Values: values, Where: m.MapExpr(n.Where), Block: &b}, true
		case *tir.For:
			leave := w.a.Scope()
			defer leave()
			w.a.BindLoop(n)
			body := m.MapStmt(n.Body)
			if body == n.Body {
				return n, true
			}
			f := *n
			f.Body = body
			return &f, true
		}
		return st, false
	}
	m.Expr = func(e tir.Expr) tir.Expr {
		if l, ok := e.(*tir.Load); ok && l.Buffer == w.from {
			return &tir.Load{Buffer: w.to, Indices: w.indices(l.Indices)}
		}
		return e
	}
	m.Stmt = func(st tir.Stmt) tir.Stmt {
		if n, ok := st.(*tir.Store); ok && n.Buffer == w.from {
			return &tir.Store{Buffer: w.to, Indices: w.indices(n.Indices), Value: n.Value}
		}
		return st
	}
	return m.MapStmt(st)
}

func (w *relayout) indices(idx []tir.Expr) []tir.Expr {
	out := w.by.Apply(idx)
	for i, e := range out {
		out[i] = w.a.Simplify(e)
	}
	return out
}

// regions rewrites declared regions: an element is an element again. A box has to be a box in the new layout where it is
// written; what is read may be a part of one.
func (w *relayout) regions(list []tir.Region, written bool, inside *tir.Mapper) []tir.Region {
	out := slices.Clone(list)
	for i, r := range out {
		own := make([]tir.Range, len(r.Ranges)) // an index may be read from a buffer
		for n, g := range r.Ranges {
			own[n] = tir.Range{Min: inside.MapExpr(g.Min), Extent: inside.MapExpr(g.Extent)}
		}
		if out[i].Ranges = own; r.Buffer != w.from {
			continue
		}
		ranges, exact := w.box(own)
		if ranges == nil || written && !exact {
			w.s.refuse(w.step, w.block, "the region of %s that the block declares is no box in the new layout", w.from.Name)
			return list
		}
		out[i] = tir.Region{Buffer: w.to, Ranges: ranges}
	}
	return out
}

// box returns the box around where a box goes, and whether it goes to all of that.
func (w *relayout) box(box []tir.Range) (out []tir.Range, exact bool) {
	over := map[*tir.Var]tir.Range{}
	idx := make([]tir.Expr, len(box))
	points := int64(1)
	leave := w.a.Scope()
	defer leave()
	for i, r := range box {
		idx[i] = r.Min
		n, ok := tir.AsInt(r.Extent)
		if !ok || n < 1 {
			return nil, false
		}
		if n > 1 {
			v := tir.NewVar("e")
			w.a.Bind(v, 0, n)
			over[v] = tir.Range{Min: tir.I(0), Extent: r.Extent}
			idx[i] = tir.Plus(r.Min, v)
			points *= n
		}
	}
	to := w.indices(idx)
	if len(over) == 0 {
		for _, e := range to {
			out = append(out, tir.Range{Min: e, Extent: tir.I(1)})
		}
		return out, true
	}
	out, ok := w.a.Touched(to, over)
	if !ok {
		return nil, false
	}
	for _, r := range out {
		n, ok := tir.AsInt(r.Extent)
		if !ok || n < 1 {
			return nil, false
		}
		if points%n == 0 {
			points /= n
		} else {
			points = 0
		}
	}
	return out, points == 1
}
