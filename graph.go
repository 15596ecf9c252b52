package texel

import (
	"slices"

	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/lower"
	"github.com/texel-ml/texel/relay"
	graphpasses "github.com/texel-ml/texel/relay/transform"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// fromLevel is the lowest optimisation level at which a graph pass runs. A pass that is not listed runs from level 2.
var fromLevel = map[string]int{
	"infer-type": 0, "simplify-inference": 0, "split-args": 0,
	"remove-identities": 1, "fold-constants": 1, "eliminate-common-subexpressions": 1,
	"assign": 3, "pack-weights": 3,
}

// graphPasses returns the graph passes of an optimisation level, in their order, with those of an extension.
func graphPasses(level OptLevel, extend *Extension) []graphpasses.Pass {
	return slices.DeleteFunc(extend.passes(graphpasses.Passes()), func(p graphpasses.Pass) bool {
		from, listed := fromLevel[p.Name]
		if !listed {
			from = 2
		}
		return from > level.Number() && !extend.has(p.Name)
	})
}

// GraphPasses returns the passes over the graph that Compile runs with these options for the first target, in order, and
// what they need. Notes may be nil. Errors are those of options that do not go together, and of unknown targets.
func GraphPasses(opts Options, notes *diag.Notes) ([]graphpasses.Pass, *graphpasses.Options, error) {
	if err := opts.check(); err != nil {
		return nil, nil, err
	}
	targets, err := parseTargets(opts.Targets)
	if err != nil {
		return nil, nil, err
	}
	return graphPasses(opts.OptLevel, &opts.Extend), opts.graphOptions(targets[0], notes), nil
}

// check refuses options that do not go together.
func (o *Options) check() error {
	if err := o.checkPrecision(); err != nil {
		return err
	}
	return o.Extend.check()
}

// graphOptions are what the graph passes need for a target.
func (o *Options) graphOptions(t *target.Target, notes *diag.Notes) *graphpasses.Options {
	return &graphpasses.Options{
		Ops: o.Extend.ops(), Target: t, Notes: notes, FastMath: o.FastMath, Precision: o.storage(t, notes),
		Candidates: func(c *relay.Call, weight tensor.DType) []cost.Candidate { return lower.Candidates(c, weight, t) },
	}
}
