package texel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/internal/scratch"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/tensor"
)

// CheckOptions of Check. The zero value checks on one thread for each core, with inputs of seed 0.
type CheckOptions struct {
	Threads int    // as in LoadOptions
	Device  string // as in LoadOptions
	Batch   int    // as in LoadOptions; 0 is the rows of the inputs that are given, or 1
	Seed    uint64 // of the inputs that are not given
	// Inputs by name, or the only one without; the others are those of DrawInputs, or the model's own where it has defaults.
	Inputs map[string]*tensor.Tensor
	// Progress is called before each layer with its number and how many there are.
	Progress func(done, total int)
}

// Report is what Check found.
type Report struct {
	Layers  []LayerReport  `json:"layers"`
	Outputs []OutputReport `json:"outputs"`
	Drawn   string         `json:"drawn,omitempty"` // what DrawInputs says of the inputs
}

// Compared returns how many layers were compared; the others did not run: they are in a branch that was not taken, or in a
// loop without rounds.
func (r *Report) Compared() (n int) {
	for _, l := range r.Layers {
		if l.Compared > 0 {
			n++
		}
	}
	return n
}

// LayerReport compares one call of a fused function with its float64 reference on the device's own operands. In a loop it
// compares the first four rounds and then rounds 8, 16, 32, …; the figures are the worst of them.
type LayerReport struct {
	Name      string   `json:"name"`
	Nodes     []string `json:"nodes,omitempty"`
	Runs      int      `json:"runs"`      // how often it ran: 0 in a branch that was not taken
	Compared  int      `json:"compared"`  // how many of these were compared
	Reduction int      `json:"reduction"` // the longest sum
	Bound     float64  `json:"bound"`     // allowed absolute error
	Measured  float64  `json:"measured"`  // largest absolute error
	Largest   float64  `json:"largest"`   // largest magnitude of the result
	RMS       float64  `json:"rms"`       // root mean square of the errors, in standard deviations of the result
	Max       float64  `json:"max"`       // measured, likewise; of several results these are the largest
	Wrong     int      `json:"wrong"`     // elements outside the bound
	At        []int    `json:"at,omitempty"`
}

// OutputReport compares an output of the model with the float64 reference of the whole graph: as it was imported, weights
// that are kept in half precision included, or of an artifact as the graph passes left it.
type OutputReport struct {
	Name     string  `json:"name"`
	Bound    float64 `json:"bound"`
	Measured float64 `json:"measured"`
	Largest  float64 `json:"largest"`
	RMS      float64 `json:"rms"` // as in LayerReport
	Max      float64 `json:"max"`
	Wrong    int     `json:"wrong"`  // elements outside the bound
	Judged   bool    `json:"judged"` // false for integers, behind a quantizing operator and behind a condition on floats: a near tie may go either way
}

// Err returns a numeric error that names the first layer or output outside its bound, or nil.
func (r *Report) Err() error {
	for _, l := range r.Layers {
		if l.Wrong > 0 {
			return diag.Numeric("check", l.Name, "%d elements are outside the bound, the worst at %v: off by %.3g, allowed %.3g", l.Wrong, l.At, l.Measured, l.Bound)
		}
	}
	for _, o := range r.Outputs {
		if o.Judged && o.Wrong > 0 {
			return diag.Numeric("check", o.Name, "%d elements of the output are outside the bound: off by %.3g, allowed %.3g", o.Wrong, o.Measured, o.Bound)
		}
	}
	return nil
}

// Check runs the first variant of c on this machine, compares every layer with the float64 evaluator, each layer fed
// the device's own previous results, and every output with the evaluation of the whole graph. An error is one of
// running; differences are in the report.
func (c *Compiled) Check(ctx context.Context, o CheckOptions) (*Report, error) {
	dir, err := scratch.New("", "check")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	path := filepath.Join(dir.Path, "model.texel")
	if err := c.WriteFile(path); err != nil {
		return nil, err
	}
	m, err := Load(path, LoadOptions{Threads: o.Threads, Device: o.Device, Batch: o.Batch, Target: c.variants[0].target.String()})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return check(ctx, c.variants[0], m, c.source, o)
}

// check compares the variant that m runs with the evaluator, layer by layer, and its outputs with the evaluation of source.
func check(ctx context.Context, v *variant, m *Model, source *relay.Module, o CheckOptions) (*Report, error) {
	k := &checker{c: v, m: m, o: o, values: map[string]*tensor.Tensor{}, report: &Report{}, ends: map[string][]int{}}
	for i, l := range k.c.layers {
		k.report.Layers = append(k.report.Layers, LayerReport{Name: l.name, Nodes: nodesOf(l.site.fn), Reduction: l.site.work().reduction})
		k.ends[l.last] = append(k.ends[l.last], i)
	}
	if err := k.inputs(ctx); err != nil {
		return nil, err
	}
	if err := k.layers(ctx); err != nil {
		return nil, err
	}
	return k.report, k.outputs(ctx, source)
}

// checker is one call of Check.
type checker struct {
	c      *variant
	m      *Model
	o      CheckOptions
	rows   int // of the batch
	feeds  map[string]*tensor.Tensor
	values map[string]*tensor.Tensor // by tensor of the plan: what was there before the launch
	fresh  map[string]*tensor.Tensor // what the launch has written
	ends   map[string][]int          // launch → the layers that are computed behind it
	report *Report
	actual map[string]*tensor.Tensor // outputs of a plain run
}

// inputs draws what is not given, and runs the model.
func (k *checker) inputs(ctx context.Context) error {
	k.feeds = map[string]*tensor.Tensor{}
	var drawn []artifact.Port
	given, names := maps.Clone(k.o.Inputs), make([]string, len(k.m.Inputs()))
	k.rows = k.m.rows(given)
	for i, in := range k.m.module.Inputs() {
		t := given[in.Name]
		if only := given[""]; only != nil && len(names) == 1 {
			t = only
			delete(given, "")
		}
		delete(given, in.Name)
		names[i] = in.Name
		if t == nil {
			t = k.m.defaults[in.Name]
		}
		if t == nil {
			in.Shape = in.Batched(k.rows)
			drawn = append(drawn, in)
			continue
		}
		k.feeds[in.Name] = t
	}
	for name := range given {
		return diag.Invalid("check", name, "no input has this name; the inputs are %s", strings.Join(names, ", "))
	}
	for _, w := range k.c.plan.Weights {
		for i := range k.c.plan.Tensors {
			if t := &k.c.plan.Tensors[i]; t.Name == w.Tensor {
				k.values[t.Name] = &tensor.Tensor{DType: t.DType, Shape: t.Shape, Data: k.c.data[w.Digest]}
			}
		}
	}
	var err error
	k.report.Drawn, err = DrawInputs(k.o.Seed, drawn, func(values map[string]*tensor.Tensor) (err error) {
		maps.Copy(k.feeds, values)
		k.actual, err = k.m.Run(ctx, k.feeds)
		return err
	})
	return err
}

// drawnRanges are the largest integers that DrawInputs draws, one after the other.
var drawnRanges = []int64{15, 3, 1, 0}

// DrawInputs draws values for inputs, and hands them to run. Floats are of a normal distribution, booleans both ways, and
// integers from 0 to 15, as far as their type goes; the only element of a tensor is from 1, so that the loop runs whose rounds
// it counts. An index may lie beyond its axis: every operator says what it does then. Where run refuses the numbers, as a
// loop does that has room for fewer rounds, integers are drawn from 0 to 3, then to 1, and at last they are 0; note says so.
// The same seed gives the same numbers. The error is that of run.
func DrawInputs(seed uint64, inputs []artifact.Port, run func(values map[string]*tensor.Tensor) error) (note string, err error) {
	whole := slices.ContainsFunc(inputs, func(in artifact.Port) bool { return in.DType.IsInt() })
	var first error
	for _, most := range drawnRanges {
		values := map[string]*tensor.Tensor{}
		floats, integers := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
		for _, in := range inputs {
			w := tensor.NewWide(in.DType, in.Shape)
			for i := range w.F {
				w.F[i] = floats.NormFloat64()
			}
			drawIntegers(integers, w, most)
			values[in.Name] = w.Narrow()
		}
		err := run(values)
		if err == nil {
			return note, nil
		}
		if first == nil {
			first = err
		}
		if !whole || !errors.Is(err, diag.ErrInvalid) && !errors.Is(err, diag.ErrUnsupported) {
			break
		}
		note = fmt.Sprintf("integers up to %d are refused: %v", most, err)
	}
	return "", first
}

// drawIntegers draws the elements of w from 0 to most, or as far as they go; a single one from 1.
func drawIntegers(r *rand.Rand, w *tensor.Wide, most int64) {
	bits := w.DType.Bits()
	if w.DType.Kind() == tensor.Signed {
		bits--
	}
	if w.DType == tensor.Bool {
		bits, most = 1, 1
	}
	if bits < 4 {
		most = min(most, 1<<bits-1)
	}
	for i := range w.I {
		if len(w.I) == 1 && w.DType != tensor.Bool && most > 0 {
			w.I[i] = 1 + r.Int64N(most)
		} else {
			w.I[i] = r.Int64N(most + 1)
		}
	}
}

// layers runs launch by launch, keeps each result, and evaluates each layer once its last launch has run.
func (k *checker) layers(ctx context.Context) error {
	s, err := k.m.session(k.rows)
	if err != nil {
		return err
	}
	defer s.Close()
	for i, in := range k.m.Inputs() {
		if err := s.BindInput(i, k.feeds[in.Name].Data); err != nil {
			return err
		}
	}
	plan := k.m.Plan()
	place := map[string]int{}
	for i, t := range plan.Tensors {
		place[t.Name] = i
	}
	steps, err := plan.Steps()
	if err != nil {
		return err
	}
	done, row := 0, -1
	return s.RunSteps(ctx, func(pos int) error {
		if r := s.Row(); r != row {
			row = r
			for _, in := range k.m.module.Inputs() {
				k.values[in.Tensor] = rowOf(&in, k.feeds[in.Name], r)
			}
		}
		k.fresh = map[string]*tensor.Tensor{}
		for _, written := range steps[pos].Launch.Writes {
			for name := written; name != ""; name = plan.Tensors[place[name]].AliasOf { // and what it is a part of
				data, err := s.Tensor(place[name])
				if err != nil {
					return err
				}
				t := plan.Tensors[place[name]]
				k.fresh[name] = &tensor.Tensor{DType: t.DType, Shape: t.Shape, Data: append([]byte(nil), data[:t.DType.Bytes(t.Shape.Elems())]...)}
			}
		}
		for _, i := range k.ends[steps[pos].Launch.Name] {
			if k.report.Layers[i].Runs == 0 {
				if k.o.Progress != nil {
					k.o.Progress(done, len(k.c.layers))
				}
				done++
			}
			if err := k.layer(ctx, i, plan); err != nil {
				return err
			}
		}
		maps.Copy(k.values, k.fresh)
		return nil
	})
}

// value returns a tensor of the plan as the device computed it; a view is taken from what it views.
func (k *checker) value(name string, plan *artifact.Plan) (*tensor.Tensor, error) {
	if t := k.values[name]; t != nil {
		return t, nil
	}
	for _, t := range plan.Tensors {
		if t.Name != name || t.AliasOf == "" {
			continue
		}
		base, err := k.value(t.AliasOf, plan)
		if err != nil {
			return nil, err
		}
		return &tensor.Tensor{DType: t.DType, Shape: t.Shape, Data: base.Data[t.AliasOffset : t.AliasOffset+int64(t.DType.Bytes(t.Shape.Elems()))]}, nil
	}
	return nil, diag.Internal("check", name, "the tensor was not computed")
}

// layer compares one run of layer i.
func (k *checker) layer(ctx context.Context, i int, plan *artifact.Plan) error {
	l, r := k.c.layers[i], &k.report.Layers[i]
	r.Runs++
	if r.Runs > 4 && r.Runs&(r.Runs-1) != 0 {
		return nil
	}
	r.Compared++
	fn := l.site.fn
	flat := make([]*tensor.Wide, len(l.args))
	for i, a := range l.args {
		t, err := k.value(a, plan)
		if err != nil {
			return err
		}
		flat[i] = tensor.Widen(t)
	}
	b := newDeviation(fn.Body)
	var operands []relay.Value
	for _, p := range fn.Params {
		var v relay.Value
		v, flat = pack(p.Type(), flat)
		operands = append(operands, v)
		b.see(p, v)
		if w, ok := v.(*tensor.Wide); ok {
			b.made[p] = w
		}
	}
	exact := unrounded(fn.Body)
	result, err := eval.Options{Observe: func(e relay.Expr, v relay.Value) error {
		b.see(e, v)
		for i, x := range exact {
			if w, ok := v.(*tensor.Wide); ok && x.of == e {
				exact[i].value = w
			}
		}
		return nil
	}}.Run(ctx, fn, operands)
	if err != nil {
		return err
	}
	maps.Copy(k.values, k.fresh)
	for i, want := range unpack(result) {
		got, err := k.value(l.results[i], plan)
		if err != nil {
			return err
		}
		bound := b.err[fn.Body]
		if u := numtest.Unit(want.DType); u > 0 {
			bound += 2 * u * extremeOf(want).high // stored once more
		}
		if i < len(exact) && exact[i].value != nil {
			want = &tensor.Wide{DType: want.DType, Shape: want.Shape, F: exact[i].value.F}
		}
		compareWide(r, tensor.Widen(got), want, bound)
	}
	return nil
}

// rounded is a result of a function that is a float rounded to a narrower type: what it was before, and its value.
type rounded struct {
	of    relay.Expr // nil: not rounded
	value *tensor.Wide
}

// unrounded returns, for each result of a function, what it was before it was rounded for memory: errors are those from
// there.
func unrounded(body relay.Expr) []rounded {
	list := []relay.Expr{body}
	if t, ok := body.(*relay.Tuple); ok {
		list = t.Fields
	}
	all := make([]rounded, len(list))
	for i, e := range list {
		c, ok := e.(*relay.Call)
		if !ok || c.Op == nil || c.Op.Name != "cast" {
			continue
		}
		if from, to := relay.Tensor(c.Args[0]), relay.Tensor(c); from.DType.IsFloat() && to.DType.IsFloat() && to.DType.Bits() < from.DType.Bits() {
			all[i].of = c.Args[0]
		}
	}
	return all
}

// pack takes a value of type t off the front of flat.
func pack(t relay.Type, flat []*tensor.Wide) (relay.Value, []*tensor.Wide) {
	tuple, ok := t.(*relay.TupleType)
	if !ok {
		return flat[0], flat[1:]
	}
	var all relay.Values
	for _, f := range tuple.Fields {
		var v relay.Value
		v, flat = pack(f, flat)
		all = append(all, v)
	}
	return all, flat
}

// unpack returns the tensors of a value in order.
func unpack(v relay.Value) []*tensor.Wide {
	if w, ok := v.(*tensor.Wide); ok {
		return []*tensor.Wide{w}
	}
	var all []*tensor.Wide
	for _, f := range v.(relay.Values) {
		all = append(all, unpack(f)...)
	}
	return all
}

// compareWide adds the differences of one tensor to r.
func compareWide(r *LayerReport, got, want *tensor.Wide, bound float64) {
	worst, most, squares := -1.0, 0.0, 0.0
	note := func(i int, d, allowed float64) {
		most = math.Max(most, d)
		squares += d * d
		if d > allowed {
			r.Wrong++
			if d > worst {
				worst, r.At = d, position(want.Shape, i)
			}
		}
	}
	r.Bound = math.Max(r.Bound, bound)
	if want.F == nil {
		for i, v := range want.I {
			note(i, math.Abs(float64(got.I[i]-v)), bound)
		}
		r.Measured = math.Max(r.Measured, most)
		return
	}
	r.Largest = math.Max(r.Largest, extremeOf(want).high)
	for i, v := range want.F {
		if x := got.F[i]; math.IsNaN(v) || math.IsInf(v, 0) || math.IsNaN(x) || math.IsInf(x, 0) {
			v = tensor.Round(want.DType, v) // too large for the type
			if x != v && !(math.IsNaN(x) && math.IsNaN(v)) {
				note(i, math.Inf(1), bound)
			}
		} else {
			note(i, math.Abs(x-v), bound)
		}
	}
	r.Measured = math.Max(r.Measured, most)
	if s := spread(want.F); s > 0 && !math.IsInf(most, 1) {
		r.Max = math.Max(r.Max, most/s)
		r.RMS = math.Max(r.RMS, math.Sqrt(squares/float64(len(want.F)))/s)
	}
}

// spread returns the standard deviation of the finite elements, or the largest magnitude where all are equal.
func spread(list []float64) float64 {
	n, sum, squares, largest := 0.0, 0.0, 0.0, 0.0
	for _, v := range list {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			n, sum, squares, largest = n+1, sum+v, squares+v*v, math.Max(largest, math.Abs(v))
		}
	}
	if n == 0 {
		return 0
	}
	mean := sum / n
	if s := math.Sqrt(math.Max(0, squares/n-mean*mean)); s > 1e-9*largest {
		return s
	}
	return largest
}

func position(shape tensor.Shape, i int) []int {
	at := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		at[a] = i % shape[a]
		i /= shape[a]
	}
	return at
}

// outputs compares the plain run with the evaluation of the imported graph. The allowed error adds those of the layers
// as independent ones do: 16·u·√(Σ K + s) + 64·u'·√n of the largest magnitude, where n values and weights are kept in a type
// narrower than the output's, with u'.
func (k *checker) outputs(ctx context.Context, m *relay.Module) error {
	sum, rounds, control := 0, false, len(k.c.plan.Regions) > 0
	for i, l := range k.c.layers {
		w := l.site.work()
		sum += k.report.Layers[i].Runs / k.rows * (w.reduction + w.steps)
		rounds = rounds || w.rounds || control && w.decides
	}
	ports := map[string]*artifact.Port{}
	for _, list := range [][]artifact.Port{k.m.module.Inputs(), k.m.module.Outputs()} {
		for i := range list {
			ports[list[i].Name] = &list[i]
		}
	}
	reports := make([]OutputReport, len(m.Outputs))
	for r := range k.rows {
		var operands []*tensor.Tensor
		for _, p := range m.Main().Params {
			t := k.feeds[p.Name]
			if t == nil {
				return diag.Internal("check", p.Name, "the compiled model lost an input")
			}
			operands = append(operands, rowOf(ports[p.Name], t, r))
		}
		want, err := eval.Tensors(ctx, m.Main(), operands)
		if err != nil {
			return err
		}
		for i, name := range m.Outputs {
			if k.actual[name] == nil {
				continue // the count of a bounded output
			}
			o := &reports[i]
			o.Name, o.Judged = name, want[i].DType.IsFloat() && !rounds
			if err := k.output(o, rowOf(ports[name], k.actual[name], r), want[i], sum); err != nil {
				return err
			}
		}
	}
	for _, o := range reports {
		if o.Name != "" {
			k.report.Outputs = append(k.report.Outputs, o)
		}
	}
	return nil
}

// output adds the differences of one row of an output to its report; sum is Σ K + s.
func (k *checker) output(o *OutputReport, got, want *tensor.Tensor, sum int) error {
	if !got.Shape.Equal(want.Shape) { // cut to its extent
		want = &tensor.Tensor{DType: want.DType, Shape: got.Shape, Data: want.Data[:min(len(want.Data), len(got.Data))]}
		if err := want.Check(); err != nil {
			return diag.Numeric("check", o.Name, "shape %v", got.Shape).By(err)
		}
	}
	w, g := tensor.Widen(want), tensor.Widen(got)
	largest := extremeOf(w).high
	bound := 16 * numtest.Unit(want.DType) * math.Sqrt(float64(sum+1)) * largest
	for d, n := range k.narrow() {
		if d.Bits() < want.DType.Bits() {
			bound += 64 * numtest.Unit(d) * math.Sqrt(float64(n)) * largest
		}
	}
	r := LayerReport{Measured: o.Measured, Wrong: o.Wrong, RMS: o.RMS, Max: o.Max}
	compareWide(&r, g, w, bound)
	o.Largest, o.Bound = math.Max(o.Largest, largest), math.Max(o.Bound, bound)
	o.Measured, o.Wrong, o.RMS, o.Max = r.Measured, r.Wrong, r.RMS, r.Max
	return nil
}

// narrow counts how often tensors of the plan were kept in a floating-point type below 32 bits.
func (k *checker) narrow() map[tensor.DType]int {
	runs := map[string]int{}
	for i, l := range k.c.layers {
		for _, t := range l.results {
			runs[t] = k.report.Layers[i].Runs
		}
	}
	n := map[tensor.DType]int{}
	for _, t := range k.c.plan.Tensors {
		if t.DType.IsFloat() && t.DType.Bits() < 32 && t.AliasOf == "" {
			n[t.DType] += max(1, runs[t.Name])
		}
	}
	return n
}

// String prints one line a layer and an output.
func (r *Report) String() string {
	text := ""
	mark := func(bad bool) string {
		if bad {
			return "WRONG"
		}
		return "ok"
	}
	for _, l := range r.Layers {
		if l.Runs == 0 {
			text += fmt.Sprintf("%-5s %-48s did not run\n", "-", l.Name)
			continue
		}
		text += fmt.Sprintf("%-5s %-48s K %-6d measured %-10.3g bound %-10.3g largest %-10.3g rms %.2g σ max %.2g σ", mark(l.Wrong > 0), l.Name, l.Reduction,
			l.Measured, l.Bound, l.Largest, l.RMS, l.Max)
		if l.Runs > 1 {
			text += fmt.Sprintf(", %d of %d rounds", l.Compared, l.Runs)
		}
		text += "\n"
	}
	for _, o := range r.Outputs {
		text += fmt.Sprintf("%-5s output %-50s measured %-10.3g bound %-10.3g largest %-10.3g rms %.2g σ max %.2g σ\n", mark(o.Judged && o.Wrong > 0), o.Name,
			o.Measured, o.Bound, o.Largest, o.RMS, o.Max)
	}
	return text
}
