package texel_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/target"
)

// TestEveryGPURecordCompiles emits a model for each record of a GPU: where tensors gain nothing by being images, no kernel
// has an image and no pool is one.
func TestEveryGPURecordCompiles(t *testing.T) {
	for _, name := range target.List() {
		record, err := target.Parse(name)
		require.NoError(t, err)
		if record.GPU == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kernels := 0
			c, err := texel.Compile(context.Background(), squeezenet+"/model.onnx", texel.Options{Targets: []string{name}, Emit: []string{"opencl"},
				Dump: func(file string, text func() string) error {
					if strings.HasSuffix(file, ".cl") {
						kernels++
						if !record.Images() {
							require.NotContains(t, text(), "image2d", file)
						}
					}
					return nil
				}})
			require.NoError(t, err)
			defer c.Close()
			require.Positive(t, kernels)
			if record.Images() {
				return
			}
			for _, p := range c.Plan().Pools {
				require.NotEqual(t, artifact.ImagePool, p.Kind, p.Name)
				require.NotEqual(t, artifact.ImageOverBuffer, p.Kind, p.Name)
			}
		})
	}
}
