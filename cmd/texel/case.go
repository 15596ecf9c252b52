package main

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/internal/scratch"
	"github.com/texel-ml/texel/relay/importer/onnx"
	"github.com/texel-ml/texel/tensor"
)

// runCase runs one case in this process.
func (a *app) runCase(ctx context.Context, q *request) *caseResult {
	c := &caseRun{request: q, result: &caseResult{Status: "pass"}}
	err := c.run(ctx)
	c.judge(err)
	return c.result
}

// caseRun is one case on its way.
type caseRun struct {
	*request
	result *caseResult
	inputs []onnx.Input // nil: not known before it is compiled
	wrong  bool         // the error is a difference, not a refusal
}

// judge turns the outcome into a status.
func (c *caseRun) judge(err error) {
	r := c.result
	refused := errors.Is(err, diag.ErrInvalid) && !c.wrong
	switch {
	case err == nil && c.Case.Expect == "error":
		r.Status, r.Why = "fail", "gave a result, wanted an error"
	case err == nil && r.Launches == 0 && c.hasInput():
		r.Status, r.Why = "fail", "no launch: nothing ran on the device"
	case err == nil:
	case refused && c.Case.Expect != "output":
	case errors.Is(err, diag.ErrUnsupported) && !errors.Is(err, diag.ErrInternal):
		r.Status, r.Why = "unsupported", err.Error()
	default:
		r.Status, r.Why = "fail", err.Error()
		var typed *diag.Error
		if !errors.As(err, &typed) {
			r.Why = "an error without a kind: " + r.Why
		}
	}
}

func (c *caseRun) hasInput() bool {
	return slices.ContainsFunc(c.inputs, func(in onnx.Input) bool { return !in.Default })
}

func (c *caseRun) run(ctx context.Context) error {
	if c.Case.Problem != "" {
		return diag.Invalid("conformance", c.Case.Name, "%s", c.Case.Problem)
	}
	var err error
	if c.inputs, err = inputsOf(c.Case.Model); err != nil {
		return err
	}
	if slices.ContainsFunc(c.inputs, func(in onnx.Input) bool { return in.DType == tensor.Invalid }) {
		if _, err := texel.Import(ctx, c.Case.Model, texel.Options{}, nil); err != nil {
			return err // its files are no tensors
		}
	}
	for _, set := range c.Case.Sets {
		if err := c.runSet(ctx, set); err != nil {
			return err
		}
	}
	return nil
}

// inputName returns the name of input i.
func (c *caseRun) inputName(i int) (string, error) {
	if i < len(c.Case.Inputs) && c.Case.Inputs[i] != "" {
		return c.Case.Inputs[i], nil
	}
	if i < len(c.inputs) {
		return c.inputs[i].Name, nil
	}
	return "", diag.Unsupported("conformance", c.Case.Name, "the name of input %d is not known", i)
}

func readArray(path string) (*tensor.Tensor, error) {
	if filepath.Ext(path) == ".npy" {
		return npy.ReadFile(path)
	}
	return onnx.ReadTensor(path)
}

func (c *caseRun) runSet(ctx context.Context, set dataSet) error {
	given := map[string]*tensor.Tensor{}
	values := map[string]*tensor.Tensor{}
	var listed []string // inputs of which the corpus says that they decide shapes
	for i, path := range set.Inputs {
		name, err := c.inputName(i)
		if err != nil {
			return err
		}
		t, err := readArray(path)
		if err != nil {
			return err
		}
		given[name] = t
		if slices.Contains(c.Case.ValueInputs, i) {
			listed = append(listed, name)
		}
	}
	results, err := c.compileAndRun(ctx, given, values)
	for bindAsked(err, listed, given, values) {
		results, err = c.compileAndRun(ctx, given, values)
	}
	if err != nil {
		return err
	}
	for name := range values {
		c.result.Bound = append(c.result.Bound, name)
	}
	slices.Sort(c.result.Bound)
	c.result.Bound = slices.Compact(c.result.Bound)
	return c.compare(set, results)
}

// bindAsked moves the input whose value a refusal asks for from the given ones to those that are bound when compiling. Of a
// refusal that asks for none it is those that the corpus lists, and then all that may be shapes, axes, counts or limits. It
// reports whether there was one.
func bindAsked(err error, listed []string, given, values map[string]*tensor.Tensor) bool {
	if !errors.Is(err, diag.ErrUnsupported) || errors.Is(err, diag.ErrInternal) {
		return false
	}
	bind := func(fits func(name string, t *tensor.Tensor) bool) bool {
		before := len(values)
		for name, t := range given {
			if fits(name, t) {
				values[name] = t
			}
		}
		for name := range values {
			delete(given, name)
		}
		return len(values) > before
	}
	var asked *onnx.NeedsValue
	return errors.As(err, &asked) && bind(func(name string, _ *tensor.Tensor) bool { return name == asked.Input }) ||
		bind(func(name string, _ *tensor.Tensor) bool { return slices.Contains(listed, name) }) ||
		bind(func(_ string, t *tensor.Tensor) bool {
			return len(t.Shape) <= 1 && (t.DType.IsInt() && t.Elems() <= 64 || t.Elems() == 1)
		})
}

// compileAndRun returns the outputs in the model's order.
func (c *caseRun) compileAndRun(ctx context.Context, given, values map[string]*tensor.Tensor) ([]*tensor.Tensor, error) {
	level, err := texel.ParseOptLevel(c.OptLevel)
	if err != nil {
		return nil, err
	}
	to, err := texel.DeviceTarget(c.Device)
	if err != nil {
		return nil, err
	}
	opts := texel.Options{Targets: []string{to}, OptLevel: level, MaxTrips: c.MaxTrips, Values: values, InputShapes: map[string][]int{}, Workers: 1}
	steps := 1
	for name, t := range given {
		shape, n := c.stepShape(name, t)
		opts.InputShapes[name], steps = shape, max(steps, n)
	}
	compiled, err := texel.Compile(ctx, c.Case.Model, opts)
	if err != nil {
		return nil, err
	}
	defer compiled.Close()
	dir, err := scratch.New("", "case")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	path := filepath.Join(dir.Path, "case.texel")
	if err := compiled.WriteFile(path); err != nil {
		return nil, err
	}
	m, err := texel.Load(path, texel.LoadOptions{Threads: c.Threads, Device: c.Device})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	all, err := m.Plan().Steps()
	if err != nil {
		return nil, err
	}
	c.result.Launches = len(all)
	return runSteps(ctx, m, given, steps)
}

// stepShape returns the shape of one step of an input and how many steps it holds: an input whose axis 0 holds more
// than the model takes is fed piece by piece.
func (c *caseRun) stepShape(name string, t *tensor.Tensor) (tensor.Shape, int) {
	if len(t.Shape) == 0 {
		return t.Shape, 1
	}
	for _, in := range c.inputs {
		if in.Name != name || len(in.Shape) != len(t.Shape) || in.Shape[0] <= 0 || t.Shape[0] <= in.Shape[0] || t.Shape[0]%in.Shape[0] != 0 {
			continue
		}
		one := t.Shape.Clone()
		one[0] = in.Shape[0]
		return one, t.Shape[0] / in.Shape[0]
	}
	return t.Shape, 1
}

// runSteps runs a model once for each step; the outputs of the steps follow each other along axis 0.
func runSteps(ctx context.Context, m *texel.Model, given map[string]*tensor.Tensor, steps int) ([]*tensor.Tensor, error) {
	shapes := map[string]tensor.Shape{}
	for _, in := range m.Inputs() {
		shapes[in.Name] = in.Shape
	}
	all := make([]*tensor.Tensor, len(m.Outputs()))
	for s := range steps {
		feed := map[string]*tensor.Tensor{}
		for name, t := range given {
			feed[name] = t
			if shape := shapes[name]; steps > 1 && shape != nil && !shape.Equal(t.Shape) {
				size := t.DType.Bytes(shape.Elems())
				feed[name] = &tensor.Tensor{DType: t.DType, Shape: shape, Data: t.Data[s*size : (s+1)*size]}
			}
		}
		results, err := m.Run(ctx, feed)
		if err != nil {
			return nil, err
		}
		for i, o := range m.Outputs() {
			r := results[o.Name]
			if all[i] == nil {
				all[i] = r
				continue
			}
			all[i].Data = append(all[i].Data, r.Data...)
			all[i].Shape[0] += r.Shape[0]
		}
	}
	return all, nil
}

// compare holds the outputs against the files.
func (c *caseRun) compare(set dataSet, results []*tensor.Tensor) error {
	differs := func(format string, args ...any) error {
		c.wrong = true
		return diag.Numeric("conformance", c.Case.Name, format, args...)
	}
	if len(set.Outputs) == 0 {
		return differs("no output to compare with")
	}
	numbers := slices.Sorted(maps.Keys(set.Outputs))
	for _, i := range numbers {
		want, err := readArray(set.Outputs[i])
		if err != nil {
			return err
		}
		if i >= len(results) {
			return differs("output %d is missing, there are %d", i, len(results))
		}
		strict, lax := c.tolerances(want.DType)
		err = numtest.Compare(results[i], want, strict)
		if err != nil && lax != strict {
			if lerr := numtest.Compare(results[i], want, lax); lerr == nil {
				c.result.ByTolerance, err = true, nil
			}
		}
		if err != nil {
			return differs("output %d: %v", i, err)
		}
	}
	return nil
}

// tolerances returns the one that the case asks for, and the one that holds in the end. A case's own is final; that
// of a corpus is for all its cases, and where a sum cancels the documented tolerance takes its place.
func (c *caseRun) tolerances(d tensor.DType) (strict, lax numtest.Tolerance) {
	documented := numtest.Documented(d)
	documented.SignedZero = c.Case.SignedZero
	if c.Case.Rtol == nil && c.Case.Atol == nil {
		return documented, documented
	}
	strict = numtest.Tolerance{SignedZero: c.Case.SignedZero}
	if c.Case.Rtol != nil {
		strict.Rel = *c.Case.Rtol
	}
	if c.Case.Atol != nil {
		strict.Abs = *c.Case.Atol
	}
	if c.Case.Exact || d.Bits() < 16 {
		return strict, strict
	}
	lax = strict
	lax.Rel, lax.Max = max(lax.Rel, documented.Rel), documented.Max
	return strict, lax
}
