package opencl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tir"
)

// Every type of node is written, or refused by its name.
func TestEveryNode(t *testing.T) {
	for i, n := range tir.Nodes() {
		out, err := Emit(tir.NodesFunc(i), pocl(t))
		if _, block := n.(*tir.BlockRealize); block {
			require.EqualError(t, err, "opencl: k: statement *tir.BlockRealize")
			continue
		}
		require.NoError(t, err, "%T", n)
		compiles(t, out.Source)
	}
}
