package transform

import (
	"fmt"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// CheckLowered returns an error, an internal one, when a kernel is not of the form that emitters take:
//
//   - statements are For, Store, Seq, If, While, Let, Allocate and Evaluate; loops are serial or, on a GPU, bound;
//   - loop bounds and conditions of statements are scalars; every variable and buffer is in scope;
//   - an access has an index for each axis; a store's vector index is the last and a Ramp, with the value's lanes;
//   - operands have one type, and lanes agree.
func CheckLowered(k *tir.Kernel, opts Options) error {
	c := &checker{k: k, gpu: opts.Device == GPU, vars: map[*tir.Var]int{}, bufs: map[*tir.Buffer]int{}}
	for _, b := range k.Params {
		c.bufs[b]++
	}
	for _, v := range k.Scalars {
		c.vars[v]++
	}
	if k.Grid != nil {
		c.vars[k.Grid]++
	}
	if k.GridExtent < 1 || k.Grid == nil && k.GridExtent != 1 {
		c.fail("grid of %d", k.GridExtent)
	}
	if k.Outputs < 1 || k.Outputs > len(k.Params) {
		c.fail("%d outputs of %d parameters", k.Outputs, len(k.Params))
	}
	c.stmt(k.Body)
	if c.err != nil {
		return c.err
	}
	return nil
}

type checker struct {
	k    *tir.Kernel
	gpu  bool
	vars map[*tir.Var]int
	bufs map[*tir.Buffer]int
	err  *diag.Error
}

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = diag.Internal("check-lowered", c.k.Name, format, args...)
	}
}

func (c *checker) scalar(what string, e tir.Expr, want tir.Type) {
	if t := c.expr(e); c.err == nil && t != want {
		c.fail("%s is %v of %d lanes, wanted %v", what, t.DType, t.Lanes, want.DType)
	}
}

func (c *checker) stmt(s tir.Stmt) {
	if c.err != nil {
		return
	}
	switch n := s.(type) {
	case nil:
	case *tir.For:
		c.scalar("minimum of loop "+n.Var.Name, n.Min, tir.Index)
		c.scalar("extent of loop "+n.Var.Name, n.Extent, tir.Index)
		switch {
		case n.Kind == tir.Serial:
		case n.Kind == tir.Bound && c.gpu:
			name := strings.TrimPrefix(strings.TrimPrefix(n.Thread, "blockIdx."), "threadIdx.")
			if n.Thread != "vthread" && (name == n.Thread || !strings.Contains("xyz", name) || len(name) != 1) {
				c.fail("loop %s is bound to %q", n.Var.Name, n.Thread)
			}
		default:
			c.fail("loop %s is still %v", n.Var.Name, n.Kind)
		}
		c.vars[n.Var]++
		c.stmt(n.Body)
		c.vars[n.Var]--
	case *tir.Store:
		t := c.access(n.Buffer, n.Indices)
		if v := c.expr(n.Value); c.err == nil && v != t {
			c.fail("store of %v x%d to %s, wanted %v x%d", v.DType, v.Lanes, n.Buffer.Name, t.DType, t.Lanes)
		}
		for i, e := range n.Indices {
			if c.err == nil && e.Type().Lanes > 1 {
				if _, ok := e.(*tir.Ramp); !ok || i < len(n.Indices)-1 {
					c.fail("index %d of a store to %s is a vector", i, n.Buffer.Name)
				}
			}
		}
	case *tir.Seq:
		for _, s := range n.Stmts {
			c.stmt(s)
		}
	case *tir.If:
		c.scalar("a condition", n.Cond, tir.Bool)
		c.stmt(n.Then)
		c.stmt(n.Else)
	case *tir.While:
		c.scalar("a condition", n.Cond, tir.Bool)
		c.stmt(n.Body)
	case *tir.Let:
		c.scalar("the value of "+n.Var.Name, n.Value, n.Var.Type())
		c.vars[n.Var]++
		c.stmt(n.Body)
		c.vars[n.Var]--
	case *tir.Allocate:
		if b := n.Buffer; b.Scope != tir.Local && b.Scope != tir.Scratch && b.Scope != tir.Shared && b.Scope != tir.Global || b.Elems() < 0 {
			c.fail("allocation of %s in scope %s with shape %v", b.Name, b.Scope, b.Shape)
		}
		c.bufs[n.Buffer]++
		c.stmt(n.Body)
		c.bufs[n.Buffer]--
	case *tir.Evaluate:
		c.expr(n.Value)
	default:
		c.fail("a %s is left", strings.TrimPrefix(fmt.Sprintf("%T", s), "*tir."))
	}
}

func (c *checker) access(b *tir.Buffer, indices []tir.Expr) tir.Type {
	if c.bufs[b] < 1 {
		c.fail("buffer %s is not in scope", b.Name)
	}
	if len(indices) != len(b.Shape) {
		c.fail("%d indices for %s of shape %v", len(indices), b.Name, b.Shape)
	}
	lanes := 1
	for _, e := range indices {
		t := c.expr(e)
		switch {
		case c.err != nil:
			return t
		case t.DType != tir.Index.DType:
			c.fail("index of %s is %v", b.Name, t.DType)
		case t.Lanes > 1 && lanes > 1 && t.Lanes != lanes:
			c.fail("indices of %s have %d and %d lanes", b.Name, lanes, t.Lanes)
		}
		lanes = max(lanes, t.Lanes)
	}
	return tir.Type{DType: b.DType, Lanes: lanes}
}

// expr checks an expression and returns its type, which is only meaningful while there is no error.
func (c *checker) expr(e tir.Expr) tir.Type {
	if c.err != nil {
		return tir.Type{}
	}
	same := func(what string, list ...tir.Expr) tir.Type {
		var first tir.Type
		for i, x := range list {
			t := c.expr(x)
			if i == 0 {
				first = t
			} else if c.err == nil && t != first {
				c.fail("operands of %s are %v x%d and %v x%d", what, first.DType, first.Lanes, t.DType, t.Lanes)
			}
		}
		return first
	}
	switch n := e.(type) {
	case *tir.Var:
		if c.vars[n] < 1 {
			c.fail("variable %s is not in scope", n.Name)
		}
	case *tir.Int, *tir.Float:
	case *tir.Binary:
		same(n.Op.String(), n.A, n.B)
	case *tir.Not:
		if t := c.expr(n.A); c.err == nil && t.DType != tir.Bool.DType {
			c.fail("not of %v", t.DType)
		}
	case *tir.Select:
		t := same("select", n.Then, n.Else)
		if cond := c.expr(n.Cond); c.err == nil && (cond.DType != tir.Bool.DType || cond.Lanes != 1 && cond.Lanes != t.Lanes) {
			c.fail("a select has a condition of %v x%d and sides of %d lanes", cond.DType, cond.Lanes, t.Lanes)
		}
	case *tir.Cast:
		c.expr(n.A)
	case *tir.Load:
		return c.access(n.Buffer, n.Indices)
	case *tir.Call:
		if len(n.Args) == 0 {
			c.fail("%v has no argument", n.Fn)
			return tir.Type{}
		}
		same(n.Fn.String(), n.Args...)
	case *tir.Ramp:
		c.scalar("the base of a ramp", n.Base, n.Base.Type())
		c.scalar("the stride of a ramp", n.Stride, n.Base.Type())
		if c.err == nil && (n.Base.Type().Lanes != 1 || n.Lanes < 2) {
			c.fail("a ramp of %d lanes from %d", n.Lanes, n.Base.Type().Lanes)
		}
	case *tir.Broadcast:
		if t := c.expr(n.A); c.err == nil && (t.Lanes != 1 || n.Lanes < 2) {
			c.fail("a broadcast of %d lanes to %d", t.Lanes, n.Lanes)
		}
	default:
		c.fail("unknown expression %T", e)
	}
	if c.err != nil {
		return tir.Type{}
	}
	return e.Type()
}
