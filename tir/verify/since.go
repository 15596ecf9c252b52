package verify

import (
	"slices"

	"github.com/texel-ml/texel/tir"
)

// Since is Verify of a function that was made of before, a legal one. A statement of before that stands in f inside the same
// loops, blocks and conditions is as legal there, but for what statements outside of it do: that the buffers which it names
// are in scope and its own are not, and that what it reduces into is written before it. Of such statements no more than that
// is checked.
func Since(before, f *tir.Func) error {
	if !slices.Equal(before.Params, f.Params) || !slices.Equal(before.Scalars, f.Scalars) {
		return Verify(f)
	}
	return verify(f, []tir.Stmt{before.Body})
}

// The functions below find, among the statements that stood where n stands, those with the loop, block or condition of n, and
// return what stood inside.

func bodies(was []tir.Stmt, n *tir.For) []tir.Stmt {
	var list []tir.Stmt
	for _, s := range was {
		if w, ok := s.(*tir.For); ok && w.Var == n.Var && anyOrder(w) == anyOrder(n) && tir.Equal(w.Min, n.Min) && tir.Equal(w.Extent, n.Extent) {
			list = flat(list, w.Body)
		}
	}
	return list
}

func sides(was []tir.Stmt, n *tir.If) (then, otherwise []tir.Stmt) {
	for _, s := range was {
		if w, ok := s.(*tir.If); ok && tir.Equal(w.Cond, n.Cond) {
			then, otherwise = flat(then, w.Then), flat(otherwise, w.Else)
		}
	}
	return then, otherwise
}

// inside are the statements of a block.
type inside struct{ init, body []tir.Stmt }

func insides(was []tir.Stmt, n *tir.BlockRealize, root bool) inside {
	var in inside
	for _, s := range was {
		if w, ok := s.(*tir.BlockRealize); ok && sameBlock(w, n, root) {
			in.init, in.body = flat(in.init, w.Block.Init), flat(in.body, w.Block.Body)
		}
	}
	return in
}

// sameBlock reports whether what stands in the blocks stands under the same conditions and declarations. The root block declares
// buffers alone.
func sameBlock(a, b *tir.BlockRealize, root bool) bool {
	return a.Block.Opaque == b.Block.Opaque && slices.Equal(a.Block.Iters, b.Block.Iters) && tir.Equal(a.Where, b.Where) &&
		slices.EqualFunc(a.Values, b.Values, tir.Equal) && (root || slices.Equal(a.Block.Allocs, b.Block.Allocs) &&
		slices.EqualFunc(a.Block.Reads, b.Block.Reads, sameRegion) && slices.EqualFunc(a.Block.Writes, b.Block.Writes, sameRegion))
}

func sameRegion(a, b tir.Region) bool {
	return a.Buffer == b.Buffer && slices.EqualFunc(a.Ranges, b.Ranges, func(x, y tir.Range) bool {
		return tir.Equal(x.Min, y.Min) && tir.Equal(x.Extent, y.Extent)
	})
}

// flat adds the statements of s, those of a sequence one by one.
func flat(list []tir.Stmt, s tir.Stmt) []tir.Stmt {
	switch n := s.(type) {
	case nil:
		return list
	case *tir.Seq:
		for _, c := range n.Stmts {
			list = flat(list, c)
		}
		return list
	}
	return append(list, s)
}

// settled checks of a statement that was legal in its place what those outside of it may change.
func (v *verifier) settled(s tir.Stmt) (err error) {
	node, own := v.node, map[*tir.Buffer]func(){} // what is declared inside
	defer func() {
		for _, undo := range own {
			undo()
		}
	}()
	tir.Walk(s, func(n any) bool {
		if err == nil {
			err = v.outside(n, own)
		}
		return err == nil
	})
	if err == nil {
		v.node = node
	}
	return err
}

// outside is settled of one node.
func (v *verifier) outside(n any, own map[*tir.Buffer]func()) error {
	var declared []*tir.Buffer
	switch n := n.(type) {
	case *tir.BlockRealize:
		v.node, declared = n.Block.Name, n.Block.Allocs
		for _, r := range slices.Concat(n.Block.Reads, n.Block.Writes) {
			if err := v.known(n.Block, r); err != nil {
				return err
			}
		}
		if err := v.begun(n.Block); err != nil {
			return err
		}
	case *tir.Allocate:
		declared = []*tir.Buffer{n.Buffer}
	case *tir.Store:
		v.written[n.Buffer] = true
		return v.scope.has(n.Buffer)
	case *tir.Load:
		return v.scope.has(n.Buffer)
	}
	for _, b := range declared {
		if own[b] != nil {
			continue // of another scope beside this one
		}
		undo, err := v.scope.Buffer(b)
		if err != nil {
			return err
		}
		own[b] = undo
	}
	return nil
}
