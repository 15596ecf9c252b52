package relaytext_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/tensor"
)

// zeros gives every constant of the metadata section small data.
func zeros(i relay.ConstantInfo) (*tensor.Tensor, error) {
	if n := i.Shape.Elems(); n > 1<<16 {
		return nil, nil
	}
	return tensor.New(i.DType, i.Shape), nil
}

// FuzzRelayText: any text gives a legal module that prints and is read back as the same, or errors of the user's text,
// each with its place; it never panics and never takes long.
func FuzzRelayText(f *testing.F) {
	for _, name := range []string{"language.txtar", "errors.txtar", "operators.txtar"} {
		for _, s := range golden.Sections(f, filepath.Join("testdata", name)) {
			if strings.HasPrefix(s.Name, "in ") {
				f.Add(s.Text)
			}
		}
	}
	for seed := range uint64(10) {
		f.Add(relay.Print(relaygen.Module(relay.Core(), relaygen.Seeded(seed), relaygen.Options{Control: true})))
	}
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		m, err := relaytext.Parse("fuzz.relay", text, relaytext.Options{Constant: zeros})
		require.Less(t, time.Since(start), 20*time.Second)
		if err != nil {
			refused(t, err)
			return
		}
		require.NoError(t, relay.VerifyOps(m, relay.Core()), text)
		comesBack(t, relay.Core(), m)
	})
}
