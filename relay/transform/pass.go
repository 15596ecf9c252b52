// Package transform holds the graph passes. Each is a pure function from a module to a module, in a file with the pass's
// name; Passes lists them in order, with the reason for each place.
package transform

import (
	"context"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// Pass is one rewriting of the graph.
type Pass struct {
	Name string // as in --stop-after, dumps and the file's name
	Why  string // what it does and why it stands where it stands
	Run  func(ctx context.Context, m *relay.Module, o *Options) (*relay.Module, error)
}

// Options are what passes need beside the module.
type Options struct {
	Ops    *relay.Table
	Target *target.Target
	Notes  *diag.Notes
	// Candidates says how an operator can be computed whose constant weight is kept in a type, tensor.Invalid being its own;
	// nil: layouts stay as they are.
	Candidates func(c *relay.Call, weight tensor.DType) []cost.Candidate
	Precision  Precision // in which type values of float32 are kept

	FastMath bool // also rewrites that round differently, or lose the sign of a zero: see the pass fast-math

	MaxRewrites int             // how many nodes one pass may replace, in the order of execution; 0: any number. For bisection
	Rewrote     func(r Rewrite) // sees each node that is replaced

	Verify  bool                                           // check the module after each pass
	Stop    string                                         // the last pass to run; empty runs all
	Start   string                                         // the first pass to run; empty starts at the first
	Observe func(index int, p Pass, m *relay.Module) error // sees the module after each pass
}
