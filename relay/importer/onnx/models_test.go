package onnx

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/tensor"
)

var models = flag.String("models", "", "folder with manifest.json and real models to import and evaluate")

// TestModels imports the real ONNX models below -models and compares the evaluator's answer with the stored one.
func TestModels(t *testing.T) {
	if *models == "" {
		t.Skip("no -models folder given")
	}
	text, err := os.ReadFile(filepath.Join(*models, "manifest.json"))
	require.NoError(t, err)
	var list []struct {
		Name, Format, File string
		Inputs, Outputs    []struct{ Name, File string }
	}
	require.NoError(t, json.Unmarshal(text, &list))
	for _, m := range list {
		if m.Format != "onnx" {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			dir := filepath.Join(*models, m.Name)
			opts := Options{InputShapes: map[string][]int{}}
			var args []*tensor.Tensor
			for _, in := range m.Inputs {
				v, err := npy.ReadFile(filepath.Join(dir, in.File))
				require.NoError(t, err)
				args, opts.InputShapes[in.Name] = append(args, v), v.Shape
			}
			module, notes, err := Import(context.Background(), filepath.Join(dir, m.File), opts)
			require.NoError(t, err)
			defer module.Close()
			for _, n := range notes {
				t.Log(n)
			}
			start := time.Now()
			got, err := eval.Tensors(context.Background(), module.Main(), args)
			require.NoError(t, err)
			t.Logf("evaluated in %v", time.Since(start))
			for i, out := range m.Outputs {
				want, err := npy.ReadFile(filepath.Join(dir, out.File))
				require.NoError(t, err)
				atol := 1e-4
				if strings.HasSuffix(m.Name, "-int8") {
					atol = 4. / 256 // steps of the quantized result: the evaluator does not round where float32 ties
				}
				d := tensor.Compare(tensor.Widen(got[i]), tensor.Widen(want), 1e-3, atol)
				require.Zero(t, d.Outside, "%s: %+v", out.Name, d)
				t.Logf("%s: largest difference %g", out.Name, d.MaxAbs)
			}
		})
	}
}
