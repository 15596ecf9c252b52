package transform

import (
	"context"

	"github.com/texel-ml/texel/relay"
)

// RemoveCopies joins the transposes that assign put between operators with the reshapes and transposes of the model, by the
// rules of remove-identities. The layouts that were chosen stay.
func RemoveCopies(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	r := &rewriter{step: "remove-copies", o: o}
	return r.settle(m, (*rewriter).identity)
}
