package transform

import (
	"fmt"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/verify"
)

// CheckLowered returns an error, an internal one, when a kernel is not of the form that emitters take:
//
//   - statements are For, Store, Seq, If, While, Let, Allocate and Evaluate; loops are serial or, on a GPU, bound;
//   - loop bounds and conditions of statements are scalars; every variable and buffer is in scope;
//   - an access has an index for each axis; a store's vector index is a Ramp along the last axis longer than 1, with the value's lanes;
//   - operands have one type, and lanes agree.
func CheckLowered(k *tir.Kernel, opts Options) error {
	c := &checker{gpu: opts.Device == GPU}
	if err := c.kernel(k); err != nil {
		return diag.Internal("check-lowered", k.Name, "%s", err)
	}
	return nil
}

type checker struct {
	scope verify.Scope
	gpu   bool
}

func (c *checker) kernel(k *tir.Kernel) error {
	for _, b := range k.Params {
		if _, err := c.scope.Buffer(b); err != nil {
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
	}
	if k.GridExtent < 1 || k.Grid == nil && k.GridExtent != 1 {
		return fmt.Errorf("the grid has %d values", k.GridExtent)
	}
	if k.Outputs < 1 || k.Outputs > len(k.Params) {
		return fmt.Errorf("%d outputs of %d parameters", k.Outputs, len(k.Params))
	}
	return c.stmt(k.Body)
}

func (c *checker) stmt(s tir.Stmt) error {
	switch n := s.(type) {
	case nil:
		return fmt.Errorf("a statement is missing")
	case *tir.For:
		return c.loop(n)
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
		if err := c.stmt(n.Then); err != nil || n.Else == nil {
			return err
		}
		return c.stmt(n.Else)
	case *tir.While:
		if err := c.scope.Typed("a condition", n.Cond, tir.Bool); err != nil {
			return err
		}
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
		return c.stmt(n.Body)
	case *tir.Allocate:
		switch n.Buffer.Scope {
		case tir.Local, tir.Scratch, tir.Shared:
		default:
			return fmt.Errorf("allocation of %s in scope %s", n.Buffer.Name, n.Buffer.Scope)
		}
		undo, err := c.scope.Buffer(n.Buffer)
		if err != nil {
			return err
		}
		defer undo()
		return c.stmt(n.Body)
	case *tir.Evaluate:
		_, err := c.scope.Expr(n.Value)
		return err
	}
	return fmt.Errorf("a %s is left", strings.TrimPrefix(fmt.Sprintf("%T", s), "*tir."))
}

func (c *checker) loop(n *tir.For) error {
	for _, e := range []tir.Expr{n.Min, n.Extent} {
		if err := c.scope.Typed("a bound of loop "+n.Var.Name, e, tir.Index); err != nil {
			return err
		}
	}
	switch {
	case n.Kind == tir.Serial:
	case n.Kind == tir.Bound && c.gpu:
		if !verify.GridAxis(n.Thread) {
			return fmt.Errorf("loop %s is bound to %q, which is no grid axis", n.Var.Name, n.Thread)
		}
	default:
		return fmt.Errorf("loop %s is still %v", n.Var.Name, n.Kind)
	}
	undo, err := c.scope.Var(n.Var)
	if err != nil {
		return err
	}
	defer undo()
	return c.stmt(n.Body)
}

func (c *checker) store(n *tir.Store) error {
	t, err := c.scope.Access(n.Buffer, n.Indices)
	if err != nil {
		return err
	}
	if err := c.scope.Typed("the value stored to "+n.Buffer.Name, n.Value, t); err != nil {
		return err
	}
	for i, e := range n.Indices {
		if _, ramp := e.(*tir.Ramp); t.Lanes > 1 && e.Type().Lanes > 1 && (!ramp || !unitBehind(n.Buffer, i)) {
			return fmt.Errorf("index %d of a store to %s is a vector, but not a ramp along the last axis longer than 1", i, n.Buffer.Name)
		}
	}
	return nil
}
