package relaytext_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/importer/onnx"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/tensor"
)

// TestModelsOfBranchesAndLoopsAreReadBack prints models that decide when they run, and reads the texts.
func TestModelsOfBranchesAndLoopsAreReadBack(t *testing.T) {
	for _, name := range []string{"collatz", "walk", "lstm"} {
		m, _, err := onnx.Import(context.Background(), filepath.Join("..", "..", "testdata", "onnx", name+".onnx"), onnx.Options{MaxTrips: 9})
		require.NoError(t, err)
		data := map[string]*tensor.Tensor{}
		for e := range relay.PostOrder(m.Main(), true) {
			if c, ok := e.(*relay.Constant); ok {
				data[relay.Digest(c.Value)] = c.Value
			}
		}
		text := relay.Print(m)
		require.Contains(t, text, " = loop(%")
		back, err := relaytext.Parse(name, text, relaytext.Options{Constant: func(i relay.ConstantInfo) (*tensor.Tensor, error) { return data[i.SHA256], nil }})
		require.NoError(t, err)
		require.NoError(t, relay.Compare(m, back))
		require.Equal(t, text, relay.Print(back))
		require.NoError(t, m.Close())
	}
}
