package transform

import (
	"math"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// ScratchAlign is the alignment, in bytes, of each scratch buffer within a worker's scratch memory.
const ScratchAlign = 64

// SizeScratch sets the bytes of scratch memory that a worker needs: scratch buffers lie behind each other in the order
// in which their allocations nest, each at a multiple of ScratchAlign; allocations beside each other share memory.
func SizeScratch(k *tir.Kernel, _ Options) (*tir.Kernel, error) {
	need, err := scratchBytes(k.Body, 0)
	if err != nil {
		return nil, err
	}
	c := *k
	c.Scratch = need
	return &c, nil
}

func scratchBytes(s tir.Stmt, base int) (need int, err error) {
	need = base
	visit := func(c tir.Stmt, base int) {
		if c == nil || err != nil {
			return
		}
		var n int
		n, err = scratchBytes(c, base)
		need = max(need, n)
	}
	switch n := s.(type) {
	case *tir.For:
		visit(n.Body, base)
	case *tir.Seq:
		for _, c := range n.Stmts {
			visit(c, base)
		}
	case *tir.If:
		visit(n.Then, base)
		visit(n.Else, base)
	case *tir.While:
		visit(n.Body, base)
	case *tir.Let:
		visit(n.Body, base)
	case *tir.Allocate:
		if n.Buffer.Scope == tir.Scratch {
			elems := footprint(n.Buffer)
			if elems < 0 || elems > math.MaxInt32 {
				return 0, diag.Unsupported("size-scratch", n.Buffer.Name, "scratch buffer of shape %v is above 2^31 elements", n.Buffer.Shape)
			}
			base += (n.Buffer.DType.Bytes(elems) + ScratchAlign - 1) / ScratchAlign * ScratchAlign
		}
		need = max(need, base)
		visit(n.Body, base)
	}
	return need, err
}

// footprint returns the number of elements from the first to the last of a buffer.
func footprint(b *tir.Buffer) int {
	if b.Strides == nil || b.Elems() <= 0 {
		return b.Elems()
	}
	last := 0
	for i, d := range b.Shape {
		last += (d - 1) * b.Strides[i]
	}
	return last + 1
}
