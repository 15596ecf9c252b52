package transform

import (
	"context"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// RecognizeDepthToSpace finds a depth to space, or its inverse, that is written as reshapes and transposes:
//
//	reshape(transpose(reshape(x, (N, C/b², b, b, H, W)), (0, 1, 4, 2, 5, 3)), (N, C/b², b·H, b·W))  →  depth_to_space(x, b, CRD)
//
// with channels outermost or innermost, and the block as the outer (DCR) or the inner part of the channels. A chain of such
// moves is one when it sends the numbers of the elements to the same places.
func RecognizeDepthToSpace(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-depth-to-space", m, o, depthToSpace)
}

func depthToSpace(r *rewriter, c *relay.Call) (relay.Expr, error) {
	if c.Op.Name != "reshape" && c.Op.Name != "transpose" {
		return nil, nil
	}
	chain, x := r.movesFrom(c, false)
	for len(chain) > 1 { // the longest stretch of moves that is one, ending here
		if slices.ContainsFunc(chain, func(m *relay.Call) bool { return m.Op.Name != "reshape" && m.Op.Name != "transpose" }) {
			return nil, nil
		}
		if op, a := blockMove(r, chain, relay.Tensor(x).Shape, relay.Tensor(c).Shape); op != nil {
			r.note("%s of blocks of %d was written as %d moves", op.Name, a.BlockSize, len(chain))
			return r.call(op.Name, a, x)
		}
		x, chain = chain[0], chain[1:]
	}
	return nil, nil
}

// blockMove returns the operator and attributes that move as the chain does, or nil.
func blockMove(r *rewriter, chain []*relay.Call, in, out tensor.Shape) (*relay.Op, *relay.BlockAttrs) {
	if len(in) != 4 || len(out) != 4 || in.Elems() == 0 || in.Elems() > mostProbed {
		return nil, nil
	}
	var numbers *tensor.Wide
	for _, layout := range orders {
		from, to := extents(in, layout), extents(out, layout)
		name, small, large := "nn.depth_to_space", from, to
		if from('H') > to('H') {
			name, small, large = "nn.space_to_depth", to, from
		}
		b := large('H') / max(1, small('H'))
		if b < 2 || from('N') != to('N') || large('H') != b*small('H') || large('W') != b*small('W') || small('C') != b*b*large('C') {
			continue
		}
		if numbers == nil {
			if numbers = moved(chain, in); numbers == nil {
				return nil, nil
			}
		}
		for _, mode := range []string{"DCR", "CRD"} {
			op, a := r.o.Ops.Lookup(name), &relay.BlockAttrs{BlockSize: b, Layout: layout, Mode: mode}
			if same := movedBy(op, a, numbered(in), out); same != nil && slices.Equal(numbers.I, same.I) {
				return op, a
			}
		}
	}
	return nil, nil
}
