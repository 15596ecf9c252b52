package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/verify"
)

type interpFlags struct {
	args     argFlags
	float64  bool
	races    bool
	output   string
	maxSteps int64
}

func (a *app) interpCommand() *cobra.Command {
	f := &interpFlags{}
	c := &cobra.Command{
		Use:   "interp X.tir·X.relay",
		Short: "runs the interpreter on a loop function, or the float64 evaluator on a graph",
		Args:  args("a .tir or .relay file"),
		RunE: func(c *cobra.Command, args []string) error {
			if !strings.EqualFold(filepath.Ext(args[0]), ".relay") {
				return a.interpret(c.Context(), args[0], f)
			}
			for _, flag := range []string{"scalar", "float64", "races", "max-steps"} {
				if c.Flags().Changed(flag) {
					return usage("--%s is for loop functions, and %s is a graph", flag, args[0])
				}
			}
			return a.evaluate(c.Context(), args[0], f)
		},
	}
	f.args.add(c)
	c.Flags().BoolVar(&f.float64, "float64", false, "compute floats in float64, those between stages too")
	c.Flags().BoolVar(&f.races, "races", false, "refuse iterations of parallel loops that depend on each other")
	c.Flags().StringVar(&f.output, "output", "", "folder for one .npy an output, or OUT.npz")
	c.Flags().Int64Var(&f.maxSteps, "max-steps", 10_000_000_000, "iterations of all loops together (0: no limit)")
	return c
}

func (f *argFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.inputs, "input", nil, "name=x.npy, or IN.npz with arrays named as the inputs; the others are drawn")
	c.Flags().StringArrayVar(&f.scalars, "scalar", nil, "name=number: the value of a scalar argument")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "of the inputs that are drawn")
}

// maxInterpreted is how many elements the parameters may have together; the interpreter takes 9 to 25 bytes for each.
const maxInterpreted = 1 << 28

func (a *app) interpret(ctx context.Context, path string, f *interpFlags) error {
	if f.maxSteps < 0 {
		return usage("--max-steps wants a number from 0, found %d", f.maxSteps)
	}
	if !strings.EqualFold(filepath.Ext(path), ".tir") {
		return diag.Invalid("read", path, "wanted a .tir or .relay file, found %q; texel import makes Relay text of a model", filepath.Base(path))
	}
	p, err := readLoops(path)
	if err != nil {
		return err
	}
	illegal := legal(p)
	params, outputs := p.params()
	elems := 0
	for _, b := range params {
		if elems += max(0, b.Elems()); elems > maxInterpreted {
			return diag.Unsupported("interp", b.Name, "the parameters have more than %d elements together", maxInterpreted)
		}
	}
	args, scalars, drawn, err := f.args.arguments(p)
	if err != nil {
		return err
	}
	opts := interp.Options{Float64: f.float64, Races: f.races, MaxSteps: f.maxSteps, Scalars: map[*tir.Var]int64{}}
	for _, v := range p.scalars() {
		opts.Scalars[v] = scalars[v.Name]
	}
	err = runLoops(ctx, p, args, opts)
	switch {
	case illegal != nil && err != nil: // the interpreter says at which iteration
		return diag.Invalid("interp", p.name(), "the function is not legal: %v", illegal).By(err)
	case illegal != nil:
		return illegal
	case err != nil:
		return err
	}
	return a.printResults(f, drawn, ports(params)[len(params)-outputs:], args[len(args)-outputs:])
}

// printResults prints what came out, and writes it where the flags say so.
func (a *app) printResults(f *interpFlags, drawn []string, list []artifact.Port, values []*tensor.Tensor) error {
	if len(drawn) > 0 {
		fmt.Fprintf(a.out, "drawn with seed %d: %s\n", f.args.seed, strings.Join(drawn, ", "))
	}
	results := map[string]*tensor.Tensor{}
	for i, port := range list {
		results[port.Name] = values[i]
	}
	a.printSummary(list, results)
	for _, port := range list {
		fmt.Fprintf(a.out, "sha256 of %s: %x\n", port.Name, sha256.Sum256(results[port.Name].Data))
	}
	if f.output != "" {
		_, err := writeOutputs(f.output, list, results)
		return err
	}
	return nil
}

// evaluate computes a graph in float64.
func (a *app) evaluate(ctx context.Context, path string, f *interpFlags) error {
	arrays, pictures, err := readInputs(f.args.inputs)
	if err != nil {
		return err
	}
	if len(pictures) > 0 {
		return usage("--input wants name=x.npy or IN.npz here")
	}
	if err := nameInputs(path, arrays); err != nil {
		return err
	}
	opts := texel.Options{InputShapes: map[string][]int{}}
	for name, t := range arrays {
		opts.InputShapes[name] = t.Shape
	}
	m, err := texel.Import(ctx, path, opts, nil)
	if err != nil {
		return err
	}
	defer m.Close()
	args := relaygen.Inputs(m.Main(), f.args.seed)
	var drawn []string
	for i, p := range m.Main().Params {
		switch t, fallback := arrays[p.Name], m.Defaults[p.Name]; {
		case t != nil && !relay.TypeEqual(p.Type(), &relay.TensorType{Shape: t.Shape, DType: t.DType}):
			return diag.Invalid("arguments", p.Name, "wanted %v, found %v of shape %v", p.Type(), t.DType, t.Shape)
		case t != nil:
			args[i] = t
		case fallback != nil:
			args[i] = fallback
		default:
			drawn = append(drawn, p.Name)
		}
	}
	values, err := eval.Tensors(ctx, m.Main(), args)
	if err != nil {
		return err
	}
	list := make([]artifact.Port, len(values))
	for i, t := range values {
		list[i] = artifact.Port{Name: m.Outputs[i], DType: t.DType, Shape: t.Shape}
	}
	return a.printResults(f, drawn, list, values)
}

// legal returns what is wrong with the function or program without running it.
func legal(p *loops) error {
	if p.fn != nil {
		return p.placed(verify.Verify(p.fn))
	}
	return p.placed(texel.CheckProgram(p.program))
}

// runLoops runs the interpreter. A program that is not legal may trip it up, which is no bug of ours.
func runLoops(ctx context.Context, p *loops, args []*tensor.Tensor, opts interp.Options) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if legal(p) == nil {
				panic(fmt.Sprintf("%v\n%s", r, debug.Stack()))
			}
			err = nil
		}
	}()
	if p.fn != nil {
		return interp.Run(ctx, p.fn, args, opts)
	}
	return texel.InterpretProgram(ctx, p.program, args, opts)
}
