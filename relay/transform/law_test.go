package transform

import (
	"context"
	"flag"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/relay/importer/onnx"
	"github.com/texel-ml/texel/tensor"
)

var (
	models = flag.String("models", "", "glob of ONNX models on which every pass must keep the answer")
	each   = flag.Bool("each", false, "compare after each pass instead of after all")
)

// TestPassesKeepAnswersOfModels evaluates models before and after the passes.
func TestPassesKeepAnswersOfModels(t *testing.T) {
	if *models == "" {
		t.Skip("no -models glob given")
	}
	files, err := filepath.Glob(*models)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			m, _, err := onnx.Import(context.Background(), file, onnx.Options{})
			for _, shape := range [][]int{{1, 3, 64, 64}, {1, 3, 48, 64}, {1, 3, 80, 160}} {
				if err != nil {
					m, _, err = onnx.Import(context.Background(), file, onnx.Options{InputShapes: map[string][]int{"x": shape}})
				}
			}
			require.NoError(t, err)
			defer m.Close()
			args := randomInputs(m)
			want, err := eval.Tensors(context.Background(), m.Main(), args)
			require.NoError(t, err)
			compare := func(name string, m *relay.Module) {
				got, err := eval.Tensors(context.Background(), m.Main(), args)
				require.NoError(t, err, name)
				for i := range want {
					d := tensor.Compare(tensor.Widen(got[i]), tensor.Widen(want[i]), 2e-3, 1e-4)
					require.Zero(t, d.Outside, "%s, output %d: %+v", name, i, d)
				}
			}
			notes := &diag.Notes{}
			o := &Options{Ops: relay.Core(), Notes: notes, Verify: true, Observe: func(_ int, p Pass, m *relay.Module) error {
				t.Logf("%-32s %4d operators", p.Name, operators(m))
				if *each {
					compare(p.Name, m)
				}
				return nil
			}}
			start := time.Now()
			m2, err := Run(context.Background(), m, Passes(), o)
			require.NoError(t, err)
			t.Logf("passes took %v", time.Since(start))
			compare("all passes", m2)
			for _, n := range notes.List() {
				if n.Kind == diag.Unfused {
					t.Log(n)
				}
			}
			t.Log("\n" + relay.Print(m2))
		})
	}
}

// operators counts calls of operators outside functions, and calls of functions.
func operators(m *relay.Module) int {
	n := 0
	for e := range relay.PostOrder(m.Main(), false) {
		if _, ok := e.(*relay.Call); ok {
			n++
		}
	}
	return n
}

// randomInputs are values near those of pictures after normalisation; integers are small.
func randomInputs(m *relay.Module) []*tensor.Tensor {
	r := rand.New(rand.NewPCG(1, 2))
	var args []*tensor.Tensor
	for _, p := range m.Main().Params {
		t := relay.Tensor(p)
		w := tensor.NewWide(t.DType, t.Shape)
		for i := range w.F {
			w.F[i] = r.NormFloat64()
		}
		for i := range w.I {
			w.I[i] = int64(r.IntN(4))
			if t.DType == tensor.Bool {
				w.I[i] &= 1
			}
		}
		args = append(args, w.Narrow())
	}
	return args
}
