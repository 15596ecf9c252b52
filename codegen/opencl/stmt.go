package opencl

import (
	"fmt"
	"strings"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// body writes the kernel's body. A grid of one variable is declared in front.
func (e *emitter) body() {
	v := e.k.Grid
	if v == nil {
		e.stmt(e.k.Body)
		return
	}
	e.a.Bind(v, 0, int64(e.k.GridExtent))
	name := e.declareVar(v)
	e.line("const %s %s = get_global_id(0);", e.intType(v), name)
	if e.grid[0] > int64(e.k.GridExtent) {
		e.line("if (%s >= %d)", name, e.k.GridExtent)
		e.line("    return;")
		e.divergent++
	}
	e.stmt(e.hoist(e.k.Body))
}

// declareVar declares a loop variable: int where its range fits.
func (e *emitter) declareVar(v *tir.Var) string {
	lo, hi, ok := e.a.Bounds(v)
	e.wide[v] = !ok || !fitsInt(lo, hi+1)
	return e.declare(v, v.Name)
}

func (e *emitter) intType(v *tir.Var) string {
	if e.wide[v] {
		return "long"
	}
	return "int"
}

// block writes a statement in braces.
func (e *emitter) block(s tir.Stmt) {
	e.depth++
	e.stmt(s)
	e.depth--
	e.line("}")
}

// stmt writes a statement. What it declares lives to the end of the block of C that it stands in.
func (e *emitter) stmt(s tir.Stmt) {
	switch n := s.(type) {
	case *tir.Seq:
		e.seq(n.Stmts)
	case *tir.For:
		if n.Kind == tir.Bound && n.Thread != vthread {
			e.boundLoop(n)
		} else {
			e.loop(n)
		}
	case *tir.Store:
		if cond := e.once(n.Buffer.Scope == tir.Shared); cond != "" && e.locals[n.Buffer] == nil {
			e.line("if (%s)", cond)
			e.depth++
			e.store(n)
			e.depth--
			return
		}
		e.store(n)
	case *tir.If:
		e.ifStmt(n)
	case *tir.While:
		e.line("while (%s) {", e.expr(n.Cond).s)
		e.block(n.Body)
	case *tir.Barrier:
		e.barrier(n)
	case *tir.Let:
		e.let(n)
	case *tir.Allocate:
		e.allocate(n)
	case *tir.Evaluate:
		e.line("(void)%s;", e.expr(n.Value).at(unaryPrec))
	default:
		e.fail("statement %T", s)
	}
}

// declares reports whether a statement declares something at its own level.
func declares(s tir.Stmt) bool {
	switch n := s.(type) {
	case *tir.Let:
		return true
	case *tir.Allocate:
		return n.Buffer.Scope != tir.Shared || declares(n.Body)
	case *tir.For:
		return n.Kind == tir.Bound && n.Thread != vthread
	}
	return false
}

// seq writes statements in order. One that declares something gets a block of its own, so that a sibling may declare the
// same again.
func (e *emitter) seq(list []tir.Stmt) {
	for _, s := range list {
		if declares(s) && len(list) > 1 {
			e.line("{")
			e.block(s)
		} else {
			e.stmt(s)
		}
	}
}

// barrier writes a barrier. That conditions and bounds of loops around it are the same for all work-items of a group is
// seen to by the passes and their verifier; here only what the grid itself makes different.
func (e *emitter) barrier(n *tir.Barrier) {
	if e.divergent > 0 {
		e.fail("a barrier stands where not all work-items of a group come")
	}
	fence := "CLK_LOCAL_MEM_FENCE"
	if n.Scope != tir.Shared {
		fence += " | CLK_GLOBAL_MEM_FENCE"
	}
	e.line("barrier(%s);", fence)
}

// loop writes a loop that a work-item runs by itself.
func (e *emitter) loop(n *tir.For) {
	leave := e.a.Scope()
	defer leave()
	lo, hi := e.expr(n.Min), e.expr(e.a.Simplify(tir.Plus(n.Min, n.Extent)))
	e.a.BindLoop(n)
	v := e.declareVar(n.Var)
	if n.Kind == tir.Unrolled {
		e.line("#pragma unroll")
	}
	e.line("for (%s %s = %s; %s < %s; ++%s) {", e.intType(n.Var), v, lo.s, v, hi.at(shiftPrec), v)
	e.block(n.Body)
	e.release(n.Var)
}

// boundLoop writes a loop whose iterations are the work-groups or the work-items of an axis.
func (e *emitter) boundLoop(n *tir.For) {
	leave := e.a.Scope()
	defer leave()
	axis, isThread, _ := threadAxis(n.Thread)
	extent, _ := tir.AsInt(n.Extent)
	function, have := "get_group_id", e.grid[axis]/e.group[axis]
	if isThread {
		function, have = "get_local_id", e.group[axis]
	}
	e.a.BindLoop(n)
	v := e.declareVar(n.Var)
	id := fmt.Sprintf("%s(%d)", function, axis)
	if min := e.expr(n.Min); min.s != "0" {
		id = min.at(addPrec) + " + (int)" + id
	}
	if extent != have || tir.Uses(n.Body, n.Var) {
		e.line("const %s %s = %s;", e.intType(n.Var), v, id)
	}
	which := map[bool]int{true: 1}[isThread]
	e.inside[which][axis]++
	body := n.Body
	if !hasBound(body) {
		body = e.hoist(body)
	}
	if extent == have {
		e.stmt(body)
	} else {
		e.line("if (%s < %s) {", v, e.expr(e.a.Simplify(tir.Plus(n.Min, n.Extent))).at(shiftPrec))
		if isThread {
			e.divergent++
		}
		e.block(body)
		if isThread {
			e.divergent--
		}
	}
	e.inside[which][axis]--
	e.release(n.Var)
}

// once returns the condition under which one of the work-items that run the current statement alike stores its result:
// the first along each axis that no loop around is bound to. Empty is always. What groups share is theirs along the axes
// of groups.
func (e *emitter) once(shared bool) string {
	if e.k.Grid != nil {
		return ""
	}
	var conds []string
	for axis := range e.group {
		if !shared && e.inside[0][axis] == 0 && e.grid[axis] > e.group[axis] {
			conds = append(conds, fmt.Sprintf("get_group_id(%d) == 0", axis))
		}
		if e.inside[1][axis] == 0 && e.group[axis] > 1 {
			conds = append(conds, fmt.Sprintf("get_local_id(%d) == 0", axis))
		}
	}
	return strings.Join(conds, " && ")
}

// hasBound reports whether a loop below s is bound to a grid axis.
func hasBound(s tir.Stmt) bool {
	found := false
	tir.Walk(s, func(n any) bool {
		f, ok := n.(*tir.For)
		found = found || ok && f.Kind == tir.Bound && f.Thread != vthread
		return !found
	})
	return found
}

func (e *emitter) ifStmt(n *tir.If) {
	cond := e.expr(n.Cond)
	e.line("if (%s) {", cond.s)
	leave := e.a.Assume(n.Cond)
	e.depth++
	e.stmt(n.Then)
	e.depth--
	leave()
	if n.Else != nil {
		e.line("} else {")
		leave := e.a.Assume(&tir.Not{A: n.Cond})
		e.depth++
		e.stmt(n.Else)
		e.depth--
		leave()
	}
	e.line("}")
}

func (e *emitter) let(n *tir.Let) {
	leave := e.a.Scope()
	defer leave()
	value := e.expr(n.Value)
	typ := e.registerType(n.Var.DType, 1)
	if n.Var.DType == tensor.Int64 {
		e.wide[n.Var] = value.wide
		if !value.wide {
			typ = "int"
		}
	}
	e.a.BindValue(n.Var, n.Value)
	e.line("const %s %s = %s;", typ, e.declare(n.Var, n.Var.Name), value.s)
	e.stmt(n.Body)
	e.release(n.Var)
}

func (e *emitter) allocate(n *tir.Allocate) {
	switch n.Buffer.Scope {
	case tir.Shared: // declared in front
		e.stmt(n.Body)
		return
	case tir.Local, tir.Scratch:
	default:
		e.fail("buffer %s of scope %s is allocated inside a kernel", n.Buffer.Name, n.Buffer.Scope)
		return
	}
	e.private(n.Buffer, n.Body)
	e.stmt(n.Body)
	e.release(n.Buffer)
	delete(e.locals, n.Buffer)
}
