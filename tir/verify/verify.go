// Package verify checks that a function of the loop IR in block form is legal, and that a kernel is what it may be behind
// each loop pass (see Stages).
//
// Of a function it checks the structure (nothing missing, a root block without iteration variables, While and Allocate
// only inside opaque blocks), types and lanes, that variables and buffers are declared before their use and not twice,
// that the value of each iteration variable is within its extent wherever the block runs, that the declared regions of
// each block contain its accesses, that no parallel, vectorized or bound loop drives a variable that is not spatial, and
// that a block with reduce variables initialises what it updates, itself or by a block before it. That different
// instances of a block write different elements is what schedule primitives check.
package verify

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// Verify returns an error that names the block or loop when f is not legal.
func Verify(f *tir.Func) error { return verify(f, nil) }

func verify(f *tir.Func, was []tir.Stmt) error {
	v := &verifier{a: arith.New(), node: f.Name, written: map[*tir.Buffer]bool{}}
	if err := v.function(f, was); err != nil {
		return diag.Invalid("verify", v.node, "%s", err)
	}
	return nil
}

type verifier struct {
	scope   Scope
	a       *arith.Analyzer
	node    string // for the error
	blocks  []*open
	bound   []binding            // variables bound around, outer first
	written map[*tir.Buffer]bool // by a store before this place
	opaque  int                  // opaque blocks around
	dead    int                  // conditions around that never hold, and loops that never run: what is accessed there is not looked at
	loops   []*tir.For           // around
}

// open is a block around the current place.
type open struct {
	block *tir.Block
	bound int // how many variables were bound outside of it
	own   map[*tir.Buffer]bool
	root  bool
}

type binding struct {
	v *tir.Var
	r tir.Range
}

func (v *verifier) function(f *tir.Func, was []tir.Stmt) error {
	if f.Outputs < 1 || f.Outputs > len(f.Params) {
		return fmt.Errorf("%d outputs of %d parameters", f.Outputs, len(f.Params))
	}
	for _, b := range f.Params {
		if err := v.scope.Param(b); err != nil {
			return err
		}
	}
	for _, s := range f.Scalars {
		if _, err := v.scope.Var(s); err != nil {
			return err
		}
	}
	root, ok := f.Body.(*tir.BlockRealize)
	if !ok || root.Block == nil || len(root.Block.Iters) > 0 || root.Where != nil || root.Block.Init != nil {
		return fmt.Errorf("the body is no root block without iteration variables, condition and init; wanted \"block root():\" around all statements")
	}
	if err := v.realize(root, true, was); err != nil {
		return err
	}
	for _, b := range f.Params[len(f.Params)-f.Outputs:] {
		if !v.written[b] {
			return fmt.Errorf("output %s is never written", b.Name)
		}
	}
	return nil
}

// declare declares a variable with its range for the time of f.
func (v *verifier) declare(w *tir.Var, r tir.Range, f func() error) error {
	undo, err := v.scope.Var(w)
	if err != nil {
		return err
	}
	leave := v.a.Scope()
	if w.DType == tensor.Int64 {
		v.a.BindExpr(w, r.Min, r.Extent)
	}
	v.bound = append(v.bound, binding{w, r})
	err = f()
	v.bound = v.bound[:len(v.bound)-1]
	leave()
	undo()
	return err
}

// under assumes a condition for the time of f.
func (v *verifier) under(cond tir.Expr, f func() error) error {
	if cond != nil && tir.IsConst(v.a.Simplify(cond), 0) {
		v.dead++
		defer func() { v.dead-- }()
	}
	leave := v.a.Assume(cond)
	defer leave()
	return f()
}

// stmt checks a statement. was are the statements that stood here in a legal function (see Since).
func (v *verifier) stmt(s tir.Stmt, was []tir.Stmt) error {
	if slices.Contains(was, s) {
		return v.settled(s)
	}
	switch n := s.(type) {
	case nil:
		return fmt.Errorf("a statement is missing")
	case *tir.For:
		return v.loop(n, was)
	case *tir.BlockRealize:
		return v.realize(n, false, was)
	case *tir.Store:
		return v.store(n)
	case *tir.Seq:
		for _, c := range n.Stmts {
			if err := v.stmt(c, was); err != nil {
				return err
			}
		}
		return nil
	case *tir.If:
		if err := v.value("a condition", n.Cond, tir.Bool); err != nil {
			return err
		}
		then, otherwise := sides(was, n)
		if err := v.under(n.Cond, func() error { return v.stmt(n.Then, then) }); err != nil || n.Else == nil {
			return err
		}
		return v.under(&tir.Not{A: n.Cond}, func() error { return v.stmt(n.Else, otherwise) })
	case *tir.While:
		if v.opaque == 0 {
			return fmt.Errorf("a while outside an opaque block")
		}
		if err := v.value("a condition", n.Cond, tir.Bool); err != nil {
			return err
		}
		return v.stmt(n.Body, nil)
	case *tir.Let:
		if err := v.value("the value of "+n.Var.Name, n.Value, n.Var.Type()); err != nil {
			return err
		}
		return v.declare(n.Var, tir.Range{Min: n.Value, Extent: tir.I(1)}, func() error { return v.stmt(n.Body, nil) })
	case *tir.Allocate:
		if v.opaque == 0 {
			return fmt.Errorf("an allocation of %s outside an opaque block", n.Buffer.Name)
		}
		undo, err := v.scope.Buffer(n.Buffer)
		if err != nil {
			return err
		}
		defer undo()
		v.blocks[len(v.blocks)-1].own[n.Buffer] = true
		return v.stmt(n.Body, nil)
	case *tir.Barrier:
		return fmt.Errorf("a barrier stands in a function; the loop passes put them")
	case *tir.Evaluate:
		_, err := v.scope.Expr(n.Value)
		if err != nil {
			return err
		}
		return v.loads(n.Value)
	}
	return fmt.Errorf("unknown statement %T", s)
}

// value checks an expression of a statement: its type and its loads.
func (v *verifier) value(what string, e tir.Expr, want tir.Type) error {
	if err := v.scope.Typed(what, e, want); err != nil {
		return err
	}
	return v.loads(e)
}

func (v *verifier) loop(n *tir.For, was []tir.Stmt) error {
	if n.Var == nil {
		return fmt.Errorf("a loop has no variable")
	}
	if n.Kind == tir.Bound {
		if n.Axis() < 0 && n.Thread != tir.Vthread {
			v.node = n.Var.Name
			return fmt.Errorf("the loop is bound to %q, which is no grid axis", n.Thread)
		}
		if err := boundTwice(v.loops, n); err != nil {
			v.node = n.Var.Name
			return err
		}
	} else if n.Thread != "" {
		v.node = n.Var.Name
		return fmt.Errorf("the %v loop names grid axis %q", n.Kind, n.Thread)
	}
	for _, e := range []tir.Expr{n.Min, n.Extent} {
		if err := v.value("a bound of loop "+n.Var.Name, e, n.Var.Type()); err != nil {
			return err
		}
	}
	if _, most, ok := v.a.Bounds(n.Extent); ok && most <= 0 {
		v.dead++
		defer func() { v.dead-- }()
	}
	v.loops = append(v.loops, n)
	defer func() { v.loops = v.loops[:len(v.loops)-1] }()
	return v.declare(n.Var, tir.Range{Min: n.Min, Extent: n.Extent}, func() error { return v.stmt(n.Body, bodies(was, n)) })
}

func (v *verifier) store(n *tir.Store) error {
	t, err := v.scope.Access(n.Buffer, n.Indices)
	if err != nil {
		return err
	}
	if err := v.value("the value stored to "+n.Buffer.Name, n.Value, t); err != nil {
		return err
	}
	for _, e := range n.Indices {
		if err := v.loads(e); err != nil {
			return err
		}
	}
	v.written[n.Buffer] = true
	return v.covered(n.Buffer, n.Indices, true)
}

// loads checks that the regions of the blocks around contain the loads of e.
func (v *verifier) loads(e tir.Expr) error {
	switch n := e.(type) {
	case *tir.Select: // lazy: what a side reads, it reads under the condition
		if err := v.loads(n.Cond); err != nil {
			return err
		}
		if n.Cond.Type().Lanes == 1 {
			if err := v.under(n.Cond, func() error { return v.loads(n.Then) }); err != nil {
				return err
			}
			return v.under(&tir.Not{A: n.Cond}, func() error { return v.loads(n.Else) })
		}
	case *tir.Load:
		if err := v.covered(n.Buffer, n.Indices, false); err != nil {
			return err
		}
		for _, i := range n.Indices {
			if err := v.loads(i); err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range children(e) {
		if err := v.loads(c); err != nil {
			return err
		}
	}
	return nil
}

func children(e tir.Expr) []tir.Expr {
	switch n := e.(type) {
	case *tir.Binary:
		return []tir.Expr{n.A, n.B}
	case *tir.Not:
		return []tir.Expr{n.A}
	case *tir.Select:
		return []tir.Expr{n.Cond, n.Then, n.Else}
	case *tir.Cast:
		return []tir.Expr{n.A}
	case *tir.Call:
		return n.Args
	case *tir.Ramp:
		return []tir.Expr{n.Base, n.Stride}
	case *tir.Broadcast:
		return []tir.Expr{n.A}
	}
	return nil
}

func (v *verifier) realize(n *tir.BlockRealize, root bool, was []tir.Stmt) error {
	b, outer := n.Block, v.node
	v.node = b.Name
	if len(n.Values) != len(b.Iters) {
		return fmt.Errorf("%d values for %d iteration variables", len(n.Values), len(b.Iters))
	}
	if v.opaque > 0 {
		return fmt.Errorf("the block is inside an opaque block")
	}
	if n.Where != nil {
		if err := v.value("the condition", n.Where, tir.Bool); err != nil {
			return err
		}
	}
	err := v.under(n.Where, func() error {
		for i, iv := range b.Iters {
			if err := v.value("the value of "+iv.Var.Name, n.Values[i], tir.Index); err != nil {
				return err
			}
			lo, hi, ok := v.a.Bounds(n.Values[i])
			if v.dead == 0 && (!ok || lo < 0 || hi >= int64(iv.Extent)) {
				if !v.a.Prove(tir.Bin(tir.And, tir.Bin(tir.GE, n.Values[i], tir.I(0)), tir.Bin(tir.LT, n.Values[i], tir.I(iv.Extent)))) {
					return fmt.Errorf("the value of %s may be outside [0, %d): it is in [%d, %d]", iv.Var.Name, iv.Extent, lo, hi)
				}
			}
			if f := v.independent(n.Values[i]); f != nil && iv.Kind != tir.Spatial {
				kind := f.Kind.String()
				if f.Kind == tir.Bound {
					kind = "bound to " + f.Thread
				}
				return fmt.Errorf("the %v variable %s is driven by loop %s, which is %s: its iterations are not independent", iv.Kind, iv.Var.Name, f.Var.Name, kind)
			}
		}
		if b.Init != nil && !reduces(b) {
			return fmt.Errorf("the block has an init but no reduce variable")
		}
		return v.iters(n, root, insides(was, n, root))
	})
	if err == nil && !root {
		v.node = outer
	}
	return err
}

// independent returns a loop around, none of whose iterations may depend on another, on whose variable e depends.
func (v *verifier) independent(e tir.Expr) *tir.For {
	for _, f := range v.loops {
		if anyOrder(f) && tir.Uses(e, f.Var) {
			return f
		}
	}
	return nil
}

// anyOrder reports whether the iterations of a loop may run in any order, or at the same time.
func anyOrder(f *tir.For) bool {
	return f.Kind == tir.Parallel || f.Kind == tir.Vectorized || f.Kind == tir.Bound
}

func reduces(b *tir.Block) bool {
	return slices.ContainsFunc(b.Iters, func(iv tir.IterVar) bool { return iv.Kind == tir.Reduce })
}

// iters declares the iteration variables, then checks what is inside the block.
func (v *verifier) iters(n *tir.BlockRealize, root bool, was inside) error {
	b, outer := n.Block, len(v.bound)
	defer v.a.Scope()()
	defer func() { v.bound = v.bound[:outer] }()
	for i, iv := range b.Iters {
		undo, err := v.scope.Var(iv.Var)
		if err != nil {
			return err
		}
		defer undo()
		v.a.Bind(iv.Var, 0, int64(iv.Extent)) // the block is legal for every value of its variables
		v.bound = append(v.bound, binding{iv.Var, tir.Range{Min: n.Values[i], Extent: tir.I(1)}})
	}
	if err := v.isolated(b); err != nil {
		return err
	}
	o := &open{block: b, bound: len(v.bound), own: map[*tir.Buffer]bool{}, root: root}
	for _, list := range [][]tir.Region{b.Reads, b.Writes} {
		for _, r := range list {
			if err := v.known(b, r); err != nil {
				return err
			}
			if len(r.Ranges) != len(r.Buffer.Shape) {
				return fmt.Errorf("a region of %s has %d axes, wanted %d", r.Buffer.Name, len(r.Ranges), len(r.Buffer.Shape))
			}
			for _, g := range r.Ranges {
				for _, e := range []tir.Expr{g.Min, g.Extent} {
					if err := v.scope.Typed("a bound of a region of "+r.Buffer.Name, e, tir.Index); err != nil {
						return err
					}
				}
			}
		}
	}
	for _, a := range b.Allocs {
		undo, err := v.scope.Buffer(a)
		if err != nil {
			return err
		}
		defer undo()
		o.own[a] = true
	}
	v.blocks = append(v.blocks, o)
	defer func() { v.blocks = v.blocks[:len(v.blocks)-1] }()
	if b.Opaque {
		v.opaque++
		defer func() { v.opaque-- }()
	}
	if err := v.begun(b); err != nil {
		return err
	}
	if b.Init != nil {
		if err := v.stmt(b.Init, was.init); err != nil {
			return err
		}
	}
	if b.Body == nil {
		return fmt.Errorf("the block has no body")
	}
	return v.stmt(b.Body, was.body)
}

// known checks that the buffer of a region that a block declares is in scope inside it.
func (v *verifier) known(b *tir.Block, r tir.Region) error {
	if !v.scope.bufs[r.Buffer] && !slices.Contains(b.Allocs, r.Buffer) {
		return fmt.Errorf("a region is of buffer %s, which is not in scope", r.Buffer.Name)
	}
	return nil
}

// begun checks that what a block reduces into has an initial value, by its own init or by a store before it.
func (v *verifier) begun(b *tir.Block) error {
	if b.Init != nil || b.Opaque || !reduces(b) {
		return nil
	}
	for _, r := range b.Writes {
		if !v.written[r.Buffer] && !slices.Contains(b.Allocs, r.Buffer) {
			return fmt.Errorf("the block reduces into %s, which neither an init nor a block before it writes", r.Buffer.Name)
		}
	}
	return nil
}

// isolated checks that a block uses no variable of a loop around it: what a loop drives, it drives through the block's own
// variables, so that a step may look at these alone.
func (v *verifier) isolated(b *tir.Block) error {
	if len(v.loops) == 0 {
		return nil
	}
	around := make(map[*tir.Var]bool, len(v.loops))
	for _, l := range v.loops {
		around[l.Var] = true
	}
	var used *tir.Var
	look := func(root any) {
		tir.Walk(root, func(n any) bool {
			if x, ok := n.(*tir.Var); ok && around[x] {
				used = x
			}
			return used == nil
		})
	}
	for _, s := range []tir.Stmt{b.Init, b.Body} {
		if s != nil {
			look(s)
		}
	}
	for _, list := range [][]tir.Region{b.Reads, b.Writes} {
		for _, r := range list {
			for _, g := range r.Ranges {
				look(g.Min)
				look(g.Extent)
			}
		}
	}
	if used != nil {
		v.node = b.Name
		return fmt.Errorf("the block uses loop variable %s; wanted an iteration variable of its own with that value", used.Name)
	}
	return nil
}

// covered checks that an access lies in a region that each block around declares.
func (v *verifier) covered(b *tir.Buffer, indices []tir.Expr, store bool) error {
	if v.dead > 0 {
		return nil
	}
	for i := len(v.blocks) - 1; i >= 0; i-- {
		o := v.blocks[i]
		if o.root || o.own[b] {
			return nil
		}
		if o.names(b, indices, store) {
			continue
		}
		over := map[*tir.Var]tir.Range{}
		for _, w := range v.bound[o.bound:] {
			over[w.v] = w.r
		}
		box := make([]tir.Range, len(indices))
		for d, e := range indices {
			if t, ok := v.a.Touched([]tir.Expr{e}, over); ok {
				box[d] = t[0]
				continue
			}
			box[d] = tir.Range{Min: tir.I(0), Extent: tir.I(b.Shape[d])} // an index out of a buffer: anything
		}
		if !v.declared(o, b, box, indices, over, store) {
			v.node = o.block.Name
			what := "reads"
			if store {
				what = "writes"
			}
			return fmt.Errorf("the block %s %s outside the regions that it declares", what, b.Name)
		}
	}
	return nil
}

// maxForms bounds the forms of one index.
const maxForms = 64

// unfolded returns an index as it is, and with some of the variables of the blocks inside o put in, in all ways: a condition
// that is assumed here may be about any of these variables.
func (v *verifier) unfolded(index tir.Expr, o *open) []tir.Expr {
	list := []tir.Expr{index}
	for i := 0; i < len(list); i++ {
		for _, w := range v.bound[o.bound:] {
			if len(list) == maxForms || !tir.IsConst(w.r.Extent, 1) || !tir.Uses(list[i], w.v) {
				continue
			}
			e := tir.Subst(list[i], map[*tir.Var]tir.Expr{w.v: w.r.Min})
			if !slices.ContainsFunc(list, func(x tir.Expr) bool { return tir.Equal(x, e) }) {
				list = append(list, e)
			}
		}
	}
	return list
}

// within reports whether an index certainly lies in a range, in one of its forms: by itself, or with all that it takes while
// the variables of over run.
func (v *verifier) within(r tir.Range, index tir.Expr, o *open, over map[*tir.Var]tir.Range) bool {
	return slices.ContainsFunc(v.unfolded(index, o), func(e tir.Expr) bool {
		if e.Type() == tir.Index && v.a.Prove(tir.Bin(tir.LE, r.Min, e)) && v.a.Prove(tir.Bin(tir.LT, e, tir.Plus(r.Min, r.Extent))) {
			return true
		}
		box, ok := v.a.Touched([]tir.Expr{e}, over)
		return ok && v.a.Covers([]tir.Range{r}, box)
	})
}

func (v *verifier) declared(o *open, b *tir.Buffer, box []tir.Range, indices []tir.Expr, over map[*tir.Var]tir.Range, store bool) bool {
	return o.declares(b, store, func(d int, r tir.Range) bool {
		whole := tir.IsConst(r.Min, 0) && tir.IsConst(r.Extent, int64(b.Shape[d]))
		return whole || v.a.Covers([]tir.Range{r}, box[d:d+1]) || v.within(r, indices[d], o, over)
	})
}

// names reports whether a block declares the very element of an access, as most blocks do.
func (o *open) names(b *tir.Buffer, indices []tir.Expr, store bool) bool {
	return o.declares(b, store, func(d int, r tir.Range) bool {
		n, ok := tir.AsInt(r.Extent)
		return ok && n > 0 && tir.Equal(r.Min, indices[d])
	})
}

// declares reports whether a block declares a region of b, for a load or a store, of which all axes are as asked for.
func (o *open) declares(b *tir.Buffer, store bool, axis func(d int, r tir.Range) bool) bool {
	lists := [][]tir.Region{o.block.Writes}
	if !store {
		lists = append(lists, o.block.Reads) // a block may read what it writes
	}
	for _, list := range lists {
		for _, r := range list {
			inside := r.Buffer == b
			for d := 0; inside && d < len(r.Ranges); d++ {
				inside = axis(d, r.Ranges[d])
			}
			if inside {
				return true
			}
		}
	}
	return false
}
