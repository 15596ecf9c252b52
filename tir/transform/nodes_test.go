package transform_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// Every type of node goes through every pass, inside a loop of each kind, and through the index algebra.
func TestEveryNode(t *testing.T) {
	for i, n := range tir.Nodes() {
		if e, ok := n.(tir.Expr); ok {
			require.Equal(t, e.Type(), arith.New().Simplify(e).Type(), "%T", n)
		}
		for kind := tir.Serial; kind <= tir.Bound; kind++ {
			for _, device := range []transform.Device{transform.CPU, transform.GPU} {
				for _, p := range transform.Passes() {
					k := tir.NodesFunc(i)
					loop := &tir.For{Var: tir.NewVar("j"), Min: tir.I(0), Extent: tir.I(2), Kind: kind, Body: k.Body}
					if kind == tir.Bound {
						loop.Thread = "threadIdx.x"
					}
					if p.Split == nil {
						k.Body = loop
						to, err := p.Run(k, transform.Options{Device: device})
						if err == nil {
							require.NotEmpty(t, tirtext.PrintKernel(to))
						}
						continue
					}
					store := &tir.Store{Buffer: k.Params[1], Indices: []tir.Expr{tir.I(0)}, Value: tir.Const(tensor.Float32, 0)}
					f := &tir.Func{Name: "f", Params: k.Params, Outputs: 1, Scalars: k.Scalars,
						Body: &tir.BlockRealize{Block: &tir.Block{Name: "root", Body: &tir.Seq{Stmts: []tir.Stmt{store, loop}}}}}
					kernels, _, err := p.Split(f, transform.Options{Device: device})
					require.NoError(t, err)
					require.NotEmpty(t, kernels)
				}
			}
		}
	}
}
