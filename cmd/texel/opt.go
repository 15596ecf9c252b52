package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/relay/transform"
	"github.com/texel-ml/texel/tensor"
)

type optFlags struct {
	model     modelFlags
	passes    string
	stopAfter string
	bisect    bool
	seed      uint64
	output    string
	list      bool
	times     bool
}

func (a *app) optCommand() *cobra.Command {
	f := &optFlags{}
	c := &cobra.Command{
		Use:   "opt MODEL",
		Short: "runs graph passes, and prints Relay text",
		Args: func(c *cobra.Command, given []string) error {
			if f.list && len(given) == 0 { // the passes are those of the flags, whatever the model
				return nil
			}
			return args("a model")(c, given)
		},
		RunE: func(c *cobra.Command, given []string) error {
			if f.list {
				return a.listPasses(f)
			}
			return a.opt(c.Context(), given[0], f)
		},
	}
	f.model.add(c)
	c.Flags().StringVar(&f.model.target, "target", "", "the machine that the passes choose for (default: this host)")
	c.Flags().StringVar(&f.passes, "passes", "", "a,b,c: these passes in this order (default: those of --opt-level)")
	c.Flags().StringVar(&f.stopAfter, "stop-after", "", "the last pass to run")
	c.Flags().BoolVar(&f.bisect, "bisect", false, "find the first pass, and the first rewrite in it, that changes the answer")
	c.Flags().BoolVar(&f.times, "times", false, "print what each pass costs instead of the graph")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "of --bisect: draws the inputs")
	c.Flags().StringVarP(&f.output, "output", "o", "", "the file to write, as texel import does (default: standard output, without constants' data)")
	c.Flags().BoolVar(&f.list, "list", false, "list the passes that would run")
	return c
}

// passList returns the passes to run and what they need.
func (a *app) passList(f *optFlags) ([]transform.Pass, *transform.Options, error) {
	opts, err := f.model.options(nil)
	if err != nil {
		return nil, nil, err
	}
	all, o, err := texel.GraphPasses(opts, nil)
	if err != nil {
		return nil, nil, err
	}
	all = append(all, a.extraPasses...)
	passes := all
	if f.passes != "" {
		passes = nil
		for _, name := range strings.Split(f.passes, ",") {
			at := slices.IndexFunc(all, func(p transform.Pass) bool { return p.Name == name })
			if at < 0 {
				return nil, nil, usage("--passes wants graph passes of --opt-level %s, found %q; see texel opt --list", f.model.optLevel, name)
			}
			passes = append(passes, all[at])
		}
	}
	if f.stopAfter != "" {
		at := slices.IndexFunc(passes, func(p transform.Pass) bool { return p.Name == f.stopAfter })
		if at < 0 {
			return nil, nil, usage("--stop-after wants one of the passes that run, found %q; see texel opt --list", f.stopAfter)
		}
		passes = passes[:at+1]
	}
	return passes, o, nil
}

func (a *app) listPasses(f *optFlags) error {
	passes, _, err := a.passList(f)
	if err != nil {
		return err
	}
	for _, p := range passes {
		fmt.Fprintf(a.out, "%-32s %s\n", p.Name, p.Why)
	}
	return nil
}

func (a *app) opt(ctx context.Context, path string, f *optFlags) error {
	passes, o, err := a.passList(f)
	if err != nil {
		return err
	}
	if err := notOver(f.output, path); err != nil {
		return err
	}
	if f.bisect && f.output != "" {
		return usage("--bisect prints the rewrite at fault; it does not go with -o")
	}
	if f.times && (f.bisect || f.output != "") {
		return usage("--times prints a table; it does not go with --bisect and -o")
	}
	opts, err := f.model.options(nil)
	if err != nil {
		return err
	}
	m, err := texel.Import(ctx, path, opts, nil)
	if err != nil {
		return err
	}
	defer m.Close()
	if f.bisect {
		return a.bisectPasses(ctx, m, passes, o, f)
	}
	if f.times {
		return a.timePasses(ctx, m, passes, o)
	}
	o.Verify = true
	after, err := transform.Run(ctx, m, passes, o)
	if err != nil {
		return err
	}
	return a.writeGraph(after, f.output)
}

// bisectPasses prints the first pass after which the evaluator gives another answer, and the rewrite in it.
func (a *app) bisectPasses(ctx context.Context, m *relay.Module, passes []transform.Pass, o *transform.Options, f *optFlags) error {
	inputs := relaygen.Inputs(m.Main(), f.seed)
	want, err := eval.Tensors(ctx, m.Main(), inputs)
	if err != nil {
		return err
	}
	tolerance := numtest.Documented(stored(f.model.precision))
	tried := 0
	c, err := transform.Bisect(ctx, m, passes, o, func(m *relay.Module) error {
		tried++
		got, err := eval.Tensors(ctx, m.Main(), inputs)
		if err != nil {
			return err
		}
		return sameAnswers(m.Outputs, got, want, tolerance)
	})
	if err != nil {
		return err
	}
	if c == nil {
		_, err := fmt.Fprintf(a.out, "all %d passes keep the answer (inputs of seed %d, %d graphs compared)\n", len(passes), f.seed, tried)
		return err
	}
	fmt.Fprintf(a.out, "pass %s is the first at fault: %v\n", c.Pass, c.Fault)
	if len(c.Fine) > 0 {
		fmt.Fprintf(a.out, "before it, %s keep the answer\n", strings.Join(c.Fine, ", "))
	}
	if r := c.Rewrite; r.Number > 0 {
		fmt.Fprintf(a.out, "rewrite %d of %d is the first, at node %q:\n- %s\n+ %s\n", r.Number, c.Rewrites, r.Node, transform.Describe(r.Before), transform.Describe(r.After))
	}
	return quietError{diag.Numeric("bisect", c.Pass, "changes the answer: %v", c.Fault)}
}

// stored is the element type in which a precision keeps values.
func stored(precision string) tensor.DType {
	switch precision {
	case "float16", "mixed":
		return tensor.Float16
	case "bfloat16":
		return tensor.BFloat16
	}
	return tensor.Float32
}

// sameAnswers returns how outputs differ. Where there is no number, another operator may have its limit.
func sameAnswers(names []string, got, want []*tensor.Tensor, tolerance numtest.Tolerance) error {
	for i, w := range want {
		g, expected := tensor.Widen(got[i]), tensor.Widen(w)
		for k, v := range expected.F {
			if math.IsNaN(v) && k < len(g.F) {
				g.F[k] = v
			}
		}
		if err := numtest.Compare(g.Narrow(), w, tolerance); err != nil {
			return diag.Numeric("bisect", names[i], "differs").By(err)
		}
	}
	return nil
}
