package verify_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/irgen"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/verify"
)

// nests has three statements below its root, which edits take apart and put together anew: Z clears T, S adds to T, and tile
// reads it.
const nests = `func f(A: float32[8, 4], out C: float32[8]):
  block root():
    alloc T: float32[8] local
    for z in range(0, 8):
      block Z(v: spatial[8] = z):
        writes T[v +: 1]
        T[v] = 0.0
    for i in range(0, 8):
      for k in range(0, 4):
        block S(v: spatial[8] = i, r: reduce[4] = k) where i < 8:
          reads A[v +: 1, r +: 1]
          writes T[v +: 1]
          T[v] = T[v] + A[v, r]
    for o in range(0, 2):
      block tile(t: spatial[2] = o):
        reads T[t * 4 +: 4]
        writes C[t * 4 +: 4]
        alloc U: float32[4] local
        for j in range(0, 4):
          block C(w: spatial[8] = t * 4 + j):
            reads T[w +: 1]
            writes C[w +: 1]
            if w < 7:
              C[w] = T[w]
            else:
              C[w] = 1.0
`

// parts are the statements of nests. What an edit does not replace keeps its pointers.
type parts struct {
	root    *tir.Block
	z, s, t *tir.For // the loops below the root
	k       *tir.For // the loop around S
	tile    *tir.BlockRealize
}

func partsOf(f *tir.Func) *parts {
	p := &parts{root: f.Root()}
	list := f.Root().Body.(*tir.Seq).Stmts
	p.z, p.s, p.t = list[0].(*tir.For), list[1].(*tir.For), list[2].(*tir.For)
	p.k = p.s.Body.(*tir.For)
	p.tile = p.t.Body.(*tir.BlockRealize)
	return p
}

// changed returns a copy of a node with a change.
func changed[T any](n *T, change func(*T)) *T {
	c := *n
	change(&c)
	return &c
}

// withTile returns the loop around tile with a change of the block.
func (p *parts) withTile(change func(*tir.Block)) *tir.For {
	return changed(p.t, func(f *tir.For) {
		f.Body = changed(p.tile, func(r *tir.BlockRealize) { r.Block = changed(r.Block, change) })
	})
}

// TestSince edits a legal function. The error is that of Verify, which knows nothing of what was legal before.
func TestSince(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(p *parts, root *tir.Block) []tir.Stmt
		want string
	}{
		"nothing": {func(p *parts, _ *tir.Block) []tir.Stmt { return []tir.Stmt{p.z, p.s, p.t} }, ""},
		"a loop is unrolled": {func(p *parts, _ *tir.Block) []tir.Stmt {
			return []tir.Stmt{p.z, changed(p.s, func(f *tir.For) { f.Kind = tir.Unrolled }), p.t}
		}, ""},
		"nests change places": {func(p *parts, _ *tir.Block) []tir.Stmt { return []tir.Stmt{p.s, p.z, p.t} },
			"S: the block reduces into T, which neither an init nor a block before it writes"},
		"a nest is gone": {func(p *parts, _ *tir.Block) []tir.Stmt { return []tir.Stmt{p.s, p.t} },
			"S: the block reduces into T, which neither an init nor a block before it writes"},
		"the last nest is gone": {func(p *parts, _ *tir.Block) []tir.Stmt { return []tir.Stmt{p.z, p.s} }, "root: output C is never written"},
		"a buffer is gone": {func(p *parts, root *tir.Block) []tir.Stmt {
			root.Allocs = nil
			return []tir.Stmt{p.z, p.s, p.t}
		}, "Z: a region is of buffer T, which is not in scope"},
		"a buffer of a block is also the root's": {func(p *parts, root *tir.Block) []tir.Stmt {
			root.Allocs = append(slices.Clone(root.Allocs), p.tile.Block.Allocs...)
			return []tir.Stmt{p.z, p.s, p.t}
		}, "tile: buffer U is declared inside its own scope"},
		"a loop around is longer": {func(p *parts, _ *tir.Block) []tir.Stmt {
			return []tir.Stmt{p.z, changed(p.s, func(f *tir.For) {
				f.Body = changed(p.k, func(k *tir.For) { k.Extent = tir.I(5) })
			}), p.t}
		}, "S: the value of r may be outside [0, 4): it is in [0, 4]"},
		"a loop around begins later": {func(p *parts, _ *tir.Block) []tir.Stmt {
			return []tir.Stmt{p.z, changed(p.s, func(f *tir.For) { f.Min, f.Extent = tir.I(1), tir.I(8) }), p.t}
		}, ""},
		"a loop around is parallel": {func(p *parts, _ *tir.Block) []tir.Stmt {
			return []tir.Stmt{p.z, changed(p.s, func(f *tir.For) {
				f.Body = changed(p.k, func(k *tir.For) { k.Kind = tir.Parallel })
			}), p.t}
		}, "S: the reduce variable r is driven by loop k, which is parallel: its iterations are not independent"},
		"a loop around has another variable": {func(p *parts, _ *tir.Block) []tir.Stmt {
			return []tir.Stmt{p.z, changed(p.s, func(f *tir.For) { f.Var = tir.NewVar("i") }), p.t}
		}, "S: variable i is not in scope"},
		"a loop is around twice": {func(p *parts, _ *tir.Block) []tir.Stmt {
			return []tir.Stmt{p.z, changed(p.s, func(f *tir.For) { f.Body = p.s }), p.t}
		}, "root: variable i is declared inside its own scope"},
		"a block around declares less": {func(p *parts, _ *tir.Block) []tir.Stmt {
			return []tir.Stmt{p.z, p.s, p.withTile(func(b *tir.Block) {
				b.Reads = []tir.Region{{Buffer: b.Reads[0].Buffer, Ranges: []tir.Range{{Min: b.Reads[0].Ranges[0].Min, Extent: tir.I(3)}}}}
			})}
		}, "tile: the block reads T outside the regions that it declares"},
		"a block around is gone": {func(p *parts, _ *tir.Block) []tir.Stmt { return []tir.Stmt{p.z, p.s, p.tile.Block.Body} },
			"C: variable t is not in scope"},
		"a block around has other variables": {func(p *parts, _ *tir.Block) []tir.Stmt {
			return []tir.Stmt{p.z, p.s, p.withTile(func(b *tir.Block) {
				b.Iters = []tir.IterVar{{Var: b.Iters[0].Var, Extent: 3, Kind: tir.Spatial}}
			})}
		}, "C: the value of w may be outside [0, 8): it is in [0, 11]"},
		"a block around is opaque": {func(p *parts, _ *tir.Block) []tir.Stmt {
			return []tir.Stmt{p.z, p.s, p.withTile(func(b *tir.Block) { b.Opaque = true })}
		}, "C: the block is inside an opaque block"},
		"a statement is missing": {func(p *parts, _ *tir.Block) []tir.Stmt { return []tir.Stmt{p.z, p.s, p.t, nil} }, "root: a statement is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := tirtext.Parse("nests", nests)
			require.NoError(t, err)
			require.NoError(t, verify.Verify(before))
			p := partsOf(before)
			after := changed(before, func(f *tir.Func) {
				root := *p.root
				root.Body = tir.Block1(c.edit(p, &root)...)
				f.Body = &tir.BlockRealize{Block: &root}
			})
			err = verify.Since(before, after)
			if c.want == "" {
				require.NoError(t, err)
				require.NoError(t, verify.Verify(after))
				return
			}
			require.EqualError(t, err, "verify: "+c.want)
			require.EqualError(t, verify.Verify(after), "verify: "+c.want)
		})
	}
}

// TestSinceOfEdits edits random functions, and those again that are legal still. The verdict and its words are those of Verify.
func TestSinceOfEdits(t *testing.T) {
	legal, illegal := 0, 0
	for seed := range uint64(1500) {
		d := rand.New(rand.NewPCG(seed, 2))
		before := irgen.Nests(d)
		if seed%2 == 0 {
			before = irgen.Make(d, irgen.Options{Points: 300, Tuples: true, Scans: true})
		}
		if verify.Verify(before) != nil {
			continue // some nests are no functions
		}
		for range 8 {
			after := irgen.Edit(d, before)
			if d.IntN(3) == 0 {
				after = irgen.Edit(d, after)
			}
			err := verify.Verify(after)
			require.Equal(t, words(err), words(verify.Since(before, after)), "seed %d:\n%s\n%s", seed, tirtext.Print(before), tirtext.Print(after))
			if err != nil {
				illegal++
				continue
			}
			legal++
			before = after
		}
	}
	require.Greater(t, legal, 2500)
	require.Greater(t, illegal, 2500)
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
