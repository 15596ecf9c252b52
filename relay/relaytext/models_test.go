package relaytext_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/tensor"
)

// TestModels reads whole models, as other tools print them and as people write them; the golden files have their canonical
// text, and the graph that is compiled.
func TestModels(t *testing.T) {
	models, err := filepath.Glob("testdata/models/*.relay")
	require.NoError(t, err)
	require.NotEmpty(t, models)
	for _, path := range models {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		m, err := relaytext.Parse(filepath.Base(path), string(text), relaytext.Options{})
		require.NoError(t, err)
		comesBack(t, relay.Core(), m)
		inlined, err := relaytext.Inline(m)
		require.NoError(t, err)
		require.NoError(t, relay.VerifyOps(inlined, relay.Core()))
		compiled, err := relay.CloseBranches(inlined.Main())
		require.NoError(t, err)
		golden.Check(t, strings.TrimSuffix(path, ".relay")+".txtar", golden.Section{Name: "text", Text: relay.Print(m)},
			golden.Section{Name: "compiled", Text: relay.PrintFunction("main", compiled)})
	}
}

// TestTheCellOfTheLSTM compares the text's answer with the equations.
func TestTheCellOfTheLSTM(t *testing.T) {
	text, err := os.ReadFile("testdata/models/lstm_cell.relay")
	require.NoError(t, err)
	value := func(i int) float64 { return math.Sin(float64(3*i+1)) / 2 }
	next := 0
	random := func(shape ...int) *tensor.Tensor {
		w := tensor.NewWide(tensor.Float32, shape)
		for i := range w.F {
			next++
			w.F[i] = value(next)
		}
		return w.Narrow()
	}
	x := []*tensor.Tensor{random(1, 8), random(1, 8)}
	h, c, w, b := random(1, 4), random(1, 4), random(16, 12), random(16)
	state := [2][]float64{tensor.Widen(h).F, tensor.Widen(c).F}
	for step := range 2 {
		in := append(append([]float64{}, tensor.Widen(x[step]).F...), state[0]...)
		gate := make([]float64, 16)
		for o := range gate {
			gate[o] = tensor.Widen(b).F[o]
			for i, v := range in {
				gate[o] += v * tensor.Widen(w).F[o*12+i]
			}
		}
		sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
		hidden, cell := make([]float64, 4), make([]float64, 4)
		for i := range cell {
			cell[i] = sigmoid(gate[4+i])*state[1][i] + sigmoid(gate[i])*math.Tanh(gate[8+i])
			hidden[i] = sigmoid(gate[12+i]) * math.Tanh(cell[i])
		}
		state = [2][]float64{hidden, cell}
		got := evaluate(t, string(text), x[0], x[1], h, c, w, b, tensor.Of(tensor.Bool, tensor.Shape{}, step == 1))
		for i, want := range state {
			require.InDeltaSlice(t, want, tensor.Widen(got[i]).F, 1e-6, "step %d, result %d", step, i)
		}
	}
}
