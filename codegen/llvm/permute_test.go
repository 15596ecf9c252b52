package llvm

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// permutation is a kernel that copies elements in, at(lane) of a vector of lanes at each grid step.
func permutation(name string, d tensor.DType, lanes int, at func(lane, g tir.Expr) tir.Expr) *tir.Kernel {
	const elems = 4096
	in, out := buffer("in", d, elems), buffer("out", d, elems)
	k := &tir.Kernel{Name: name, Grid: tir.NewVar("g"), GridExtent: 4, Params: []*tir.Buffer{in, out}, Outputs: 1}
	index := at(span1(tir.I(0), lanes), k.Grid)
	k.Body = put(out, &tir.Load{Buffer: in, Indices: []tir.Expr{index}}, span1(tir.Times(k.Grid, tir.I(lanes)), lanes))
	return k
}

// TestPermutedLoads loads lanes whose distances are constant.
func TestPermutedLoads(t *testing.T) {
	bin := func(op tir.BinaryOp, a tir.Expr, n int) tir.Expr { return tir.Bin(op, a, tir.I(n)) }
	shapes := map[string]func(lane, g tir.Expr) tir.Expr{
		"twice":  func(l, g tir.Expr) tir.Expr { return tir.Plus(bin(tir.FloorDiv, l, 2), tir.Times(g, tir.I(8))) },
		"thrice": func(l, g tir.Expr) tir.Expr { return tir.Plus(bin(tir.FloorDiv, l, 3), g) },
		"shuffle": func(l, g tir.Expr) tir.Expr {
			return tir.Plus(tir.Plus(bin(tir.FloorDiv, l, 2), tir.Times(bin(tir.FloorMod, l, 2), tir.I(58))), g)
		},
		"third":   func(l, g tir.Expr) tir.Expr { return tir.Plus(tir.Times(l, tir.I(3)), g) },
		"reverse": func(l, g tir.Expr) tir.Expr { return tir.Minus(tir.Plus(g, tir.I(1000)), l) },
		"tiled":   func(l, g tir.Expr) tir.Expr { return tir.Plus(bin(tir.FloorMod, l, 3), g) },
		"far":     func(l, g tir.Expr) tir.Expr { return tir.Plus(tir.Times(l, tir.I(37)), g) },
	}
	var kernels []*tir.Kernel
	for _, name := range []string{"twice", "thrice", "shuffle", "third", "reverse", "tiled", "far"} {
		for _, d := range []tensor.DType{tensor.Float32, tensor.Int8, tensor.Bool, tensor.Float64} {
			for _, lanes := range []int{3, 4, 16, 32} {
				kernels = append(kernels, permutation(fmt.Sprintf("%s_%v_%d", name, d, lanes), d, lanes, shapes[name]))
			}
		}
	}
	machines(t, kernels, func(t *testing.T, m machine) {
		r := rand.New(rand.NewSource(11))
		for i, k := range kernels {
			args := make([]*tensor.Tensor, len(k.Params))
			for j, p := range k.Params {
				args[j] = samples(r, p.DType, p.Elems())
			}
			check(t, m, i, k, args, nil, "")
		}
	})
}
