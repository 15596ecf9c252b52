package llvm

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// Every type of node becomes code, or is refused by its name.
func TestEveryNode(t *testing.T) {
	host, tl := hostTarget(t), tools(t)
	var kernels []*tir.Kernel
	for i, n := range tir.Nodes() {
		k := tir.NodesFunc(i)
		k.Name = fmt.Sprintf("k%d", i)
		want := ""
		switch n.(type) {
		case *tir.BlockRealize:
			want = "block b is left"
		case *tir.Barrier:
			want = "a barrier stands in a kernel of a processor"
		default:
			kernels = append(kernels, k)
			continue
		}
		_, err := Build(t.Context(), []*tir.Kernel{k}, host, Options{Tools: &tl})
		requireKind(t, diag.ErrInternal, err, want)
	}
	_, err := Build(t.Context(), kernels, host, Options{Tools: &tl})
	require.NoError(t, err)
}
