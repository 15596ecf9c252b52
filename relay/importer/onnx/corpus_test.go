package onnx

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/relay/transform"
	"github.com/texel-ml/texel/tensor"
)

var (
	corpus      = flag.String("corpus", "", "folder with index.json and test cases to import and evaluate")
	corpusMatch = flag.String("corpus-match", "", "only the cases whose name matches")
	corpusPass  = flag.Bool("corpus-passes", false, "run the graph passes before evaluation")
	corpusScope = flag.String("corpus-scope", "core", "only the cases of this scope")
)

// boundInputs are the cases in which an input was bound because it decides a shape, beyond those of index.json.
var boundInputs = map[string]bool{}

// corpusCase is an entry of index.json, or a case.json.
type corpusCase struct {
	Name        string  `json:"name"`
	Dir         string  `json:"dir"`
	Scope       string  `json:"scope"`
	Expect      string  `json:"expect"`
	Format      string  `json:"format"`
	Rtol        float64 `json:"rtol"`
	Atol        float64 `json:"atol"`
	ValueInputs []int   `json:"value_inputs"`
}

// TestNodeCorpus imports and evaluates the cases below -corpus and prints how many are right. A wrong answer, a
// panic or an error without a kind fails.
func TestNodeCorpus(t *testing.T) {
	if *corpus == "" {
		t.Skip("no -corpus folder given")
	}
	cases := corpusCases(t, *corpus)
	match := regexp.MustCompile(*corpusMatch)
	passed, unsupported, failed := 0, map[string][]string{}, 0
	for _, c := range cases {
		if !match.MatchString(c.Name) || c.Scope != "" && *corpusScope != "" && c.Scope != *corpusScope {
			continue
		}
		err := runCase(filepath.Join(*corpus, c.Dir), c)
		switch {
		case err == nil:
			passed++
		case errors.Is(err, diag.ErrUnsupported):
			text := err.Error()
			unsupported[text[strings.Index(text, "import: ")+1:]] = append(unsupported[text[strings.Index(text, "import: ")+1:]], c.Name)
		default:
			failed++
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	total := 0
	for _, why := range slices.Sorted(maps.Keys(unsupported)) {
		total += len(unsupported[why])
		t.Logf("unsupported %d: %s (%s)", len(unsupported[why]), why, unsupported[why][0])
	}
	t.Logf("%d passed (%d with inputs bound beyond value_inputs), %d failed, %d unsupported", passed, len(boundInputs), failed, total)
}

func corpusCases(t *testing.T, dir string) []corpusCase {
	if text, err := os.ReadFile(filepath.Join(dir, "index.json")); err == nil {
		var index struct{ Tests []corpusCase }
		require.NoError(t, json.Unmarshal(text, &index))
		return index.Tests
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "case.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no index.json and no case.json below %s", dir)
	var cases []corpusCase
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		var c corpusCase
		require.NoError(t, json.Unmarshal(text, &c))
		c.Dir = filepath.Base(filepath.Dir(f))
		if c.Format != "" && c.Format != "onnx" {
			continue
		}
		cases = append(cases, c)
	}
	return cases
}

// runCase imports one model with the shapes of its inputs and compares each data set.
func runCase(dir string, c corpusCase) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	sets, _ := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	if len(sets) == 0 {
		sets = []string{dir}
	}
	sort.Strings(sets)
	for _, set := range sets {
		if err := runSet(filepath.Join(dir, "model.onnx"), set, c); err != nil {
			return err
		}
	}
	return nil
}

func runSet(model, set string, c corpusCase) error {
	names, err := inputNames(model)
	if err != nil {
		return err
	}
	given := map[string]*tensor.Tensor{}
	opts := Options{InputShapes: map[string][]int{}, Values: map[string]*tensor.Tensor{}}
	for i, name := range names {
		file := filepath.Join(set, fmt.Sprintf("input_%d.pb", i))
		if _, err := os.Stat(file); err != nil {
			continue
		}
		v, err := ReadTensor(file)
		if err != nil { // a sequence or an optional value, which the model says
			if _, _, imported := Import(context.Background(), model, Options{}); errors.Is(imported, diag.ErrUnsupported) {
				return imported
			}
			return err
		}
		if slices.Contains(c.ValueInputs, i) {
			opts.Values[name] = v
			continue
		}
		given[name], opts.InputShapes[name] = v, v.Shape
	}
	m, _, err := Import(context.Background(), model, opts)
	for need := (*NeedsValue)(nil); errors.As(err, &need) && given[need.Input] != nil; { // a static compiler binds it
		opts.Values[need.Input] = given[need.Input]
		delete(given, need.Input)
		boundInputs[c.Name] = true
		m, _, err = Import(context.Background(), model, opts)
	}
	if c.Expect == "error" {
		if err == nil {
			return errors.New("an error was expected")
		}
		if errors.Is(err, diag.ErrInvalid) {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	defer m.Close()
	if *corpusPass {
		o := &transform.Options{Ops: relay.Core(), Notes: &diag.Notes{}, Verify: true}
		if m, err = transform.Run(context.Background(), m, transform.Passes(), o); err != nil {
			return err
		}
	}
	return compareModule(m, given, set, c)
}

// compareModule evaluates m and compares its outputs with output_i.pb.
func compareModule(m *relay.Module, given map[string]*tensor.Tensor, set string, c corpusCase) error {
	var args []*tensor.Tensor
	for _, p := range m.Main().Params {
		v := given[p.Name]
		if v == nil {
			v = m.Defaults[p.Name]
		}
		if v == nil {
			return fmt.Errorf("no value for input %q", p.Name)
		}
		args = append(args, v)
	}
	got, err := eval.Tensors(context.Background(), m.Main(), args)
	if err != nil {
		return fmt.Errorf("evaluator: %w", err)
	}
	for i := range m.Outputs {
		file := filepath.Join(set, fmt.Sprintf("output_%d.pb", i))
		if _, err := os.Stat(file); err != nil {
			continue
		}
		want, err := ReadTensor(file)
		if err != nil {
			return err
		}
		have := got[i]
		if x, ok := m.Extents[m.Outputs[i]]; ok {
			have = cutAxis(have, x.Axis, int(tensor.View[int64](got[x.Output])[0]))
		}
		if err := compareTensors(have, want, c.Rtol, c.Atol); err != nil {
			return fmt.Errorf("output %q: %w", m.Outputs[i], err)
		}
	}
	return nil
}

// cutAxis keeps the first count elements of an axis.
func cutAxis(t *tensor.Tensor, axis, count int) *tensor.Tensor {
	shape := t.Shape.Clone()
	shape[axis] = count
	out := tensor.New(t.DType, shape)
	inner := t.DType.Bytes(t.Shape[axis+1:].Elems())
	for i := range t.Shape[:axis].Elems() {
		copy(out.Data[i*count*inner:(i+1)*count*inner], t.Data[i*t.Shape[axis]*inner:])
	}
	return out
}

// compareTensors compares type, shape and elements.
func compareTensors(got, want *tensor.Tensor, rtol, atol float64) error {
	if got.DType != want.DType || !got.Shape.Equal(want.Shape) {
		return fmt.Errorf("has type %v%v, wanted %v%v", got.DType, got.Shape, want.DType, want.Shape)
	}
	r, a := tensor.Tolerance(got.DType, 64)
	d := tensor.Compare(tensor.Widen(got), tensor.Widen(want), max(r, rtol), max(a, atol))
	if d.Outside > 0 {
		return fmt.Errorf("%d of %d elements are outside, the worst is %g, wanted %g", d.Outside, got.Elems(), d.Got, d.Want)
	}
	return nil
}

// inputNames returns the graph's inputs in order.
func inputNames(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	small, err := strip(data)
	if err != nil {
		return nil, err
	}
	model := &pb.ModelProto{}
	if err := proto.Unmarshal(small, model); err != nil {
		return nil, err
	}
	var names []string
	initial := map[string]bool{}
	for _, p := range model.GetGraph().GetInitializer() {
		initial[p.GetName()] = model.GetIrVersion() < 4 // weights, not inputs, though they are listed
	}
	for _, v := range model.GetGraph().GetInput() {
		if !initial[v.GetName()] {
			names = append(names, v.GetName())
		}
	}
	return names, nil
}
