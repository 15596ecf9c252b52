package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// Kernel returns an error when k is not legal behind the pass of a row, on a processor (CPU) or a device with work-groups
// (GPU). In every kernel
//
//   - nothing is missing, no block is left, every variable and buffer is in scope and declared once there;
//   - operands have one type, lanes agree, loop bounds and conditions of statements are scalars;
//   - an access has an index for each axis, and buffers that are allocated are local, scratch or shared;
//   - a loop bound to a grid axis has a constant extent; inside a loop of the same axis it has the same extent, and its
//     body does not depend on the outer one;
//   - a barrier stands only where all work-items of a group come: under no condition and in no loop whose bounds they may
//     decide differently, and in no parallel or vectorized loop.
func Kernel(k *tir.Kernel, row Stage, on On) error {
	c := &kernelChecker{row: row, on: on, node: k.Name, written: map[*tir.Buffer]bool{}, items: map[*tir.Var]bool{}}
	if err := c.kernel(k); err != nil {
		if errors.Is(err, errTexel) {
			return diag.Unsupported("verify", c.node, "behind %s: %s; vectorize the loop over it", row.After, err)
		}
		return diag.Internal("verify", c.node, "behind %s: %s", row.After, err)
	}
	return nil
}

// errTexel is a store that a schedule must widen: no device writes a part of a texel.
var errTexel = errors.New("no device writes a part of a texel")

type kernelChecker struct {
	scope   Scope
	row     Stage
	on      On
	node    string // for the error
	written map[*tir.Buffer]bool
	items   map[*tir.Var]bool // variables that differ between work-items
	bound   []*tir.For        // loops around that are bound to a grid axis
	inside  int               // statements around other than those
	split   []string          // what work-items around may decide differently
}

func (c *kernelChecker) may(what On) bool { return what&c.on != 0 }

func (c *kernelChecker) kernel(k *tir.Kernel) error {
	for _, b := range k.Params {
		if err := c.scope.Param(b); err != nil {
			return err
		}
	}
	for _, v := range k.Scalars {
		if _, err := c.scope.Var(v); err != nil {
			return err
		}
	}
	if k.Grid != nil {
		if _, err := c.scope.Var(k.Grid); err != nil {
			return err
		}
		if !c.may(c.row.Grid) {
			return fmt.Errorf("there is a grid variable %s", k.Grid.Name)
		}
	}
	switch {
	case k.GridExtent < 1 || k.Grid == nil && k.GridExtent != 1:
		return fmt.Errorf("the grid has %d values", k.GridExtent)
	case k.Outputs < 1 || k.Outputs > len(k.Params):
		return fmt.Errorf("%d outputs of %d parameters", k.Outputs, len(k.Params))
	case k.Scratch < 0 || k.Group < 0:
		return fmt.Errorf("%d bytes of scratch memory, groups of %d", k.Scratch, k.Group)
	}
	if k.Body != nil {
		tir.Walk(k.Body, func(n any) bool {
			if s, ok := n.(*tir.Store); ok {
				c.written[s.Buffer] = true
			}
			return true
		})
	}
	for _, b := range k.Params[:len(k.Params)-k.Outputs] {
		if c.written[b] {
			return fmt.Errorf("input %s is written", b.Name)
		}
	}
	return c.stmt(k.Body)
}

func (c *kernelChecker) stmt(s tir.Stmt) error {
	switch n := s.(type) {
	case nil:
		return fmt.Errorf("a statement is missing")
	case *tir.For:
		return c.loop(n)
	}
	c.inside++
	defer func() { c.inside-- }()
	switch n := s.(type) {
	case *tir.Store:
		return c.store(n)
	case *tir.Seq:
		for _, s := range n.Stmts {
			if err := c.stmt(s); err != nil {
				return err
			}
		}
		return nil
	case *tir.If:
		if err := c.scope.Typed("a condition", n.Cond, tir.Bool); err != nil {
			return err
		}
		leave := c.splits(n.Cond, "a condition")
		defer leave()
		if err := c.stmt(n.Then); err != nil || n.Else == nil {
			return err
		}
		return c.stmt(n.Else)
	case *tir.While:
		if err := c.scope.Typed("a condition", n.Cond, tir.Bool); err != nil {
			return err
		}
		leave := c.splits(n.Cond, "a while loop")
		defer leave()
		return c.stmt(n.Body)
	case *tir.Let:
		if err := c.scope.Typed("the value of "+n.Var.Name, n.Value, n.Var.Type()); err != nil {
			return err
		}
		undo, err := c.scope.Var(n.Var)
		if err != nil {
			return err
		}
		defer undo()
		defer c.item(n.Var, c.differs(n.Value))()
		return c.stmt(n.Body)
	case *tir.Allocate:
		return c.allocate(n)
	case *tir.Barrier:
		switch {
		case !c.may(c.row.Barriers):
			return fmt.Errorf("there is a barrier")
		case n.Scope != tir.Shared && n.Scope != tir.Global:
			return fmt.Errorf("a barrier of scope %s, wanted shared or global", n.Scope)
		case len(c.split) > 0:
			return fmt.Errorf("a barrier stands in %s that work-items may decide differently", c.split[len(c.split)-1])
		}
		return nil
	case *tir.Evaluate:
		_, err := c.scope.Expr(n.Value)
		return err
	}
	return fmt.Errorf("a %s is left", strings.TrimPrefix(fmt.Sprintf("%T", s), "*tir."))
}

// differs reports whether an expression may have different values for the work-items of a group.
func (c *kernelChecker) differs(e tir.Expr) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *tir.Var:
			found = found || c.items[n]
		case *tir.Load:
			found = found || c.written[n.Buffer]
		}
		return !found
	})
	return found
}

// item notes that a variable differs between work-items, until undo.
func (c *kernelChecker) item(v *tir.Var, differs bool) (undo func()) {
	old := c.items[v]
	c.items[v] = differs
	return func() { c.items[v] = old }
}

// splits notes what stands around if work-items may decide it differently, until leave.
func (c *kernelChecker) splits(e tir.Expr, what string) (leave func()) {
	if !c.differs(e) {
		return func() {}
	}
	c.split = append(c.split, what)
	return func() { c.split = c.split[:len(c.split)-1] }
}

func (c *kernelChecker) allocate(n *tir.Allocate) error {
	switch n.Buffer.Scope {
	case tir.Local, tir.Scratch, tir.Shared:
	default:
		return fmt.Errorf("allocation of %s in scope %s", n.Buffer.Name, n.Buffer.Scope)
	}
	if n.Attrs[tir.DoubleBuffer] != "" && !c.may(c.row.Halves) {
		return fmt.Errorf("the allocation of %s still asks for a double buffer", n.Buffer.Name)
	}
	undo, err := c.scope.Buffer(n.Buffer)
	if err != nil {
		return err
	}
	defer undo()
	return c.stmt(n.Body)
}

func (c *kernelChecker) loop(n *tir.For) error {
	if n.Var == nil {
		return fmt.Errorf("a loop has no variable")
	}
	for _, e := range []tir.Expr{n.Min, n.Extent} {
		if err := c.scope.Typed("a bound of loop "+n.Var.Name, e, tir.Index); err != nil {
			return err
		}
	}
	if !c.may(c.row.loops(n)) {
		return fmt.Errorf("loop %s is still %v", n.Var.Name, n.Kind)
	}
	undo, err := c.scope.Var(n.Var)
	if err != nil {
		return err
	}
	defer undo()
	if n.Kind == tir.Bound && n.Thread != tir.Vthread {
		if err := c.boundLoop(n); err != nil {
			return err
		}
		c.bound = append(c.bound, n)
		defer func() { c.bound = c.bound[:len(c.bound)-1] }()
		defer c.item(n.Var, n.Axis() >= tir.ThreadAxis)()
		return c.stmt(n.Body)
	}
	c.inside++
	defer func() { c.inside-- }()
	if n.Kind == tir.Parallel || n.Kind == tir.Vectorized {
		c.split = append(c.split, "a "+n.Kind.String()+" loop")
		defer func() { c.split = c.split[:len(c.split)-1] }()
	} else {
		defer c.splits(tir.Bin(tir.Add, n.Min, n.Extent), "a loop whose bounds")()
	}
	defer c.item(n.Var, c.differs(n.Min))()
	return c.stmt(n.Body)
}

// boundTwice checks that a loop bound to an axis of the grid is the same loop as one around it that is bound to that axis.
func boundTwice(around []*tir.For, n *tir.For) error {
	for _, outer := range around {
		if n.Axis() >= 0 && outer.Axis() == n.Axis() && (!tir.Equal(outer.Extent, n.Extent) || n.Body != nil && tir.Uses(n.Body, outer.Var)) {
			return fmt.Errorf("loop %s inside %s is bound to %s too, with another extent or a body that depends on both", n.Var.Name, outer.Var.Name, n.Thread)
		}
	}
	return nil
}

// boundLoop checks a loop that is bound to an axis of the grid.
func (c *kernelChecker) boundLoop(n *tir.For) error {
	if n.Axis() < 0 {
		return fmt.Errorf("loop %s is bound to %q, which is no grid axis", n.Var.Name, n.Thread)
	}
	if extent, ok := tir.AsInt(n.Extent); !ok || extent < 1 {
		return fmt.Errorf("loop %s is bound to %s and has no constant, positive extent", n.Var.Name, n.Thread)
	}
	if err := boundTwice(c.bound, n); err != nil {
		return err
	}
	if c.may(c.row.Nested) {
		return nil
	}
	if c.inside > 0 || slices.ContainsFunc(c.bound, func(f *tir.For) bool { return f.Thread == n.Thread }) {
		return fmt.Errorf("loop %s is bound to %s and is not outermost, or a second one", n.Var.Name, n.Thread)
	}
	return nil
}

func (c *kernelChecker) store(n *tir.Store) error {
	t, err := c.scope.Access(n.Buffer, n.Indices)
	if err != nil {
		return err
	}
	if err := c.scope.Typed("the value stored to "+n.Buffer.Name, n.Value, t); err != nil || !c.may(c.row.Final) {
		return err
	}
	b := n.Buffer
	for i, e := range n.Indices {
		if _, ramp := e.(*tir.Ramp); t.Lanes > 1 && e.Type().Lanes > 1 && (!ramp || !UnitBehind(b, i)) {
			return fmt.Errorf("index %d of a store to %s is a vector, but not a ramp along the last axis longer than 1", i, b.Name)
		}
	}
	if b.Scope == tir.Texture && len(b.Shape) > 0 {
		last := len(b.Shape) - 1
		r, ok := n.Indices[last].(*tir.Ramp)
		if whole := ok && r.Lanes == b.Shape[last] && tir.IsConst(r.Base, 0) && tir.IsConst(r.Stride, 1); !whole && b.Shape[last] > 1 {
			return fmt.Errorf("texture %s is written a part of a texel at a time; wanted all %d elements of its last axis at once (%w)", b.Name, b.Shape[last], errTexel)
		}
	}
	return nil
}

// UnitBehind reports whether every axis of b behind axis i has one element, so that a vector along i is one in memory.
func UnitBehind(b *tir.Buffer, i int) bool {
	if b.Scope == tir.Texture {
		return i == len(b.Shape)-1
	}
	for _, n := range b.Shape[i+1:] {
		if n != 1 {
			return false
		}
	}
	return true
}

// overlaps reports whether strides put two elements of a buffer in one place, as far as the axes sorted by their strides
// show: each must step over all that the smaller ones reach.
func overlaps(b *tir.Buffer) bool {
	if b.Strides == nil || b.Elems() <= 1 {
		return false
	}
	axes := make([]int, len(b.Shape))
	for i := range axes {
		axes[i] = i
	}
	slices.SortFunc(axes, func(x, y int) int { return b.Strides[x] - b.Strides[y] })
	reach := 0
	for _, i := range axes {
		if b.Shape[i] == 1 {
			continue
		}
		if b.Strides[i] <= reach {
			return true
		}
		reach += b.Strides[i] * (b.Shape[i] - 1)
	}
	return false
}
