package texel

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// The pools of a plan, before memory is planned.
const (
	arenaPool   = "arena"
	ioPool      = "io"
	weightsPool = "weights"
)

// unit is one distinct fused function and the kernels that compute it.
type unit struct {
	name    string // of its kernels, with a number behind when there are several
	fn      *relay.Function
	kernels []*tir.Kernel
	params  []*tir.Buffer                  // the function's tensors in order, tables, then those of its result
	tables  map[*tir.Buffer]*tensor.Tensor // params that hold constants of the lowering
	temps   []*tir.Buffer                  // what one kernel hands to the next
	trace   string
	work    work
}

// claim is memory that is decided before its tensor is made: all of another tensor, or a part of it.
type claim struct {
	tensor string
	offset int64
	part   bool
}

// planner turns a graph of fused calls into a plan whose memory is not laid out yet.
type planner struct {
	target  *target.Target
	plan    *artifact.Plan
	data    map[string][]byte // weights by digest
	digests map[*tensor.Tensor]string
	values  map[relay.Expr][]string
	index   map[string]int    // tensor → its place in plan.Tensors
	weights map[string]string // digest and type → tensor
	taken   map[string]bool   // names of tensors
	named   map[string]int    // launches by name
	list    []artifact.Launch // of the region that is being planned
	depth   int               // of regions
	notes   *diag.Notes
	layers  []layer
}

// layer is a planned call: what check compares with the evaluator.
type layer struct {
	site    *site
	name    string   // of its first launch
	args    []string // tensors
	results []string
	last    string // the launch behind which the results are there
}

// newPlan returns the plan of m, whose main function is the region main.
func newPlan(m *relay.Module, t *target.Target, main *region, notes *diag.Notes) (*planner, error) {
	p := &planner{target: t, data: map[string][]byte{}, digests: map[*tensor.Tensor]string{}, values: map[relay.Expr][]string{}, index: map[string]int{},
		weights: map[string]string{}, taken: map[string]bool{}, named: map[string]int{}, notes: notes,
		plan: &artifact.Plan{Format: artifact.PlanFormat, Function: "main", Target: t.String(),
			Pools: []artifact.Pool{{Name: arenaPool, Kind: artifact.Arena}, {Name: ioPool, Kind: artifact.External}, {Name: weightsPool, Kind: artifact.WeightPool}}}}
	if err := p.inputs(m); err != nil {
		return nil, err
	}
	results, err := fields(m.Main().Body)
	if err != nil {
		return nil, err
	}
	if len(results) != len(m.Outputs) {
		return nil, diag.Internal("plan", "main", "%d results for %d outputs", len(results), len(m.Outputs))
	}
	counts := map[int]bool{} // results that are only the extent of an output
	for _, x := range m.Extents {
		counts[x.Output] = true
	}
	direct := claims(main.sites, results, func(i int, at place, _ int) string {
		if counts[i] {
			return ""
		}
		return p.outputTensor(m.Outputs[i], typeAt(results[i]))
	})
	if err := p.sites(main, direct); err != nil {
		return nil, err
	}
	for i, r := range results {
		if counts[i] {
			continue
		}
		if err := p.output(m.Outputs[i], r); err != nil {
			return nil, err
		}
		if x, ok := m.Extents[m.Outputs[i]]; ok {
			port := &p.plan.Outputs[len(p.plan.Outputs)-1]
			port.Extent = []artifact.Extent{{Axis: x.Axis, Tensor: p.result(results[x.Output])}}
		}
	}
	p.plan.Launches = p.list
	p.dropUnusedViews()
	p.kernels(main)
	p.plan.Notes = notes.List()
	return p, nil
}

// place names one tensor of an expression's value: field index of it.
type place struct {
	expr  relay.Expr
	index int
}

// fields returns where the tensors of a result come from, through tuples and their fields.
func fields(e relay.Expr) ([]place, error) {
	types, err := flatten(e.Type())
	if err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case *relay.Tuple:
		var all []place
		for _, f := range e.Fields {
			inner, err := fields(f)
			if err != nil {
				return nil, err
			}
			all = append(all, inner...)
		}
		return all, nil
	case *relay.TupleGet:
		inner, err := fields(e.Tuple)
		if err != nil {
			return nil, err
		}
		skip := 0
		for _, f := range e.Tuple.Type().(*relay.TupleType).Fields[:e.Index] {
			before, err := flatten(f)
			if err != nil {
				return nil, err
			}
			skip += len(before)
		}
		return inner[skip : skip+len(types)], nil
	}
	all := make([]place, len(types))
	for i := range types {
		all[i] = place{e, i}
	}
	return all, nil
}

// typeAt returns the type of the tensor at a place.
func typeAt(at place) *relay.TensorType {
	types, err := flatten(at.expr.Type())
	if err != nil { // fields has flattened it before
		panic(err)
	}
	return types[at.index]
}

// unique returns name, with a number behind it when it is taken.
func (p *planner) unique(name string) string {
	if name == "" {
		name = "t"
	}
	candidate := name
	for i := 2; p.taken[candidate]; i++ {
		candidate = name + "." + strconv.Itoa(i)
	}
	p.taken[candidate] = true
	return candidate
}

func (p *planner) add(t artifact.Tensor) string {
	t.Name = p.unique(t.Name)
	t.Bytes = int64(t.DType.Bytes(t.Shape.Elems()))
	p.index[t.Name] = len(p.plan.Tensors)
	p.plan.Tensors = append(p.plan.Tensors, t)
	return t.Name
}

func (p *planner) tensor(name string) *artifact.Tensor { return &p.plan.Tensors[p.index[name]] }

// root follows aliases.
func (p *planner) root(name string) *artifact.Tensor {
	t := p.tensor(name)
	for t.AliasOf != "" {
		t = p.tensor(t.AliasOf)
	}
	return t
}

// whole reports whether a tensor is in the arena and is no part of a larger one.
func (p *planner) whole(name string) bool {
	return p.tensor(name).Pool == arenaPool && p.root(name).Bytes == p.tensor(name).Bytes
}

func (p *planner) inputs(m *relay.Module) error {
	for _, v := range m.Main().Params {
		t := relay.Tensor(v)
		if t == nil || !t.Shape.Known() {
			return diag.Unsupported("plan", v.Name, "an input of type %v", v.Type()).At(v.Pos())
		}
		name := p.add(artifact.Tensor{Name: v.Name, DType: t.DType, Shape: t.Shape, Pool: ioPool})
		port := artifact.Port{Name: v.Name, DType: t.DType, Shape: t.Shape, Tensor: name}
		if d := m.Defaults[v.Name]; d != nil {
			port.Default = p.weight(d, v.Name+".default")
		}
		p.values[v] = []string{name}
		p.plan.Inputs = append(p.plan.Inputs, port)
	}
	return nil
}

// weight returns the tensor that holds a constant, one for all constants of the same type and bytes.
func (p *planner) weight(v *tensor.Tensor, name string) string {
	digest, ok := p.digests[v]
	if !ok {
		digest = relay.Digest(v)
		p.digests[v] = digest
	}
	key := fmt.Sprint(digest, v.DType, v.Shape)
	if w, ok := p.weights[key]; ok {
		return w
	}
	if name == "" {
		name = "constant"
	}
	w := p.add(artifact.Tensor{Name: name, DType: v.DType, Shape: v.Shape, Pool: weightsPool})
	p.weights[key], p.data[digest] = w, v.Data
	p.plan.Weights = append(p.plan.Weights, artifact.Weight{Tensor: w, Digest: digest, Bytes: int64(len(v.Data))})
	return w
}

// claims decides which results are written straight into memory that waits for them: those that a site computes and that no
// other result has. A view's memory is that of what it views, so the claim goes to the producer. into is asked for the
// tensor of result i, which the site at a number makes at a place; "" is none.
func claims(sites []*site, results []place, into func(i int, at place, producer int) string) map[place]claim {
	producer := map[relay.Expr]int{}
	part := map[place]bool{}
	for i, s := range sites {
		producer[s.call] = i
		for _, at := range s.parts {
			part[at] = true
		}
	}
	direct := map[place]claim{}
	for i, r := range results {
		at := r
		made, ok := producer[at.expr]
		for ok && sites[made].view {
			source, err := fields(sites[made].args[0])
			if err != nil || len(source) != 1 {
				break
			}
			at = source[0]
			made, ok = producer[at.expr]
		}
		if _, claimed := direct[at]; !ok || claimed || part[at] || sites[made].view || sites[made].inlined() {
			continue
		}
		if t := into(i, at, made); t != "" {
			direct[at] = claim{tensor: t}
		}
	}
	return direct
}

// claimParts gives the parts of each concatenation their place in its result.
func (p *planner) claimParts(sites []*site, direct map[place]claim) {
	for _, s := range sites {
		if s.parts == nil {
			continue
		}
		t := relay.Tensor(s.call)
		at := place{s.call, 0}
		if _, ok := direct[at]; !ok {
			direct[at] = claim{tensor: p.add(artifact.Tensor{Name: title(s.fn), DType: t.DType, Shape: t.Shape, Pool: arenaPool})}
		}
		var offset int64
		for i, from := range s.parts {
			direct[from] = claim{direct[at].tensor, offset, true}
			offset += bytesOf(s.args[joined(s.fn)[i]])
		}
	}
}

func (p *planner) outputTensor(name string, t *relay.TensorType) string {
	return p.add(artifact.Tensor{Name: name, DType: t.DType, Shape: t.Shape, Pool: ioPool})
}

// operand returns the tensors of an expression's value.
func (p *planner) operand(e relay.Expr) ([]string, error) {
	places, err := fields(e)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, at := range places {
		if _, ok := at.expr.(*relay.Constant); ok {
			all = append(all, p.result(at))
			continue
		}
		names, ok := p.values[at.expr]
		if !ok {
			return nil, diag.Internal("plan", fmt.Sprintf("%T", at.expr), "a value is used before it is computed").At(at.expr.Pos())
		}
		all = append(all, names[at.index])
	}
	return all, nil
}

// operands returns the tensors of several values, one behind the other.
func (p *planner) operands(list []relay.Expr) ([]string, error) {
	var all []string
	for _, a := range list {
		names, err := p.operand(a)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}

// sites adds the launches of the calls in r.
func (p *planner) sites(r *region, direct map[place]claim) error {
	p.claimParts(r.sites, direct)
	for _, s := range r.sites {
		var err error
		switch l := s.call.(type) {
		case *relay.If:
			err = p.branch(s, l, direct)
		case *relay.Loop:
			err = p.loop(s, l, direct)
		default:
			if s.inlined() {
				err = p.inline(s)
			} else {
				err = p.call(s, direct)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// emit adds a launch.
func (p *planner) emit(l artifact.Launch) { p.list = append(p.list, l) }

// launchName returns name, with a number behind it when a launch has it.
func (p *planner) launchName(name string) string {
	p.named[name]++
	if n := p.named[name]; n > 1 {
		return name + "#" + strconv.Itoa(n)
	}
	return name
}

// call adds the launches of one call of a unit.
func (p *planner) call(s *site, direct map[place]claim) error {
	args, err := p.operands(s.args)
	if err != nil {
		return err
	}
	if s.view {
		base := p.tensor(args[0])
		for base.AliasOf != "" && p.tensor(base.AliasOf).Bytes == base.Bytes { // views of views are views of the first
			base = p.tensor(base.AliasOf)
		}
		to := typeAt(place{s.call, 0})
		t := artifact.Tensor{Name: base.Name + ".view", DType: to.DType, Shape: to.Shape, Pool: base.Pool, AliasOf: base.Name}
		p.values[s.call] = []string{p.add(t)}
		return nil
	}
	if s.parts != nil {
		whole := direct[place{s.call, 0}].tensor
		p.values[s.call] = []string{whole}
		p.layers = append(p.layers, layer{s, whole, args, []string{whole}, p.lastWriter(whole)})
		return nil
	}
	name := p.launchName(s.unit.name)
	results, err := p.results(s, name, direct)
	if err != nil {
		return err
	}
	if err := p.launches(s, name, args, results); err != nil {
		return err
	}
	p.layers = append(p.layers, layer{s, name, args, results, p.list[len(p.list)-1].Name})
	return nil
}

// lastWriter returns the last launch of this region that writes into the memory of a tensor.
func (p *planner) lastWriter(name string) string {
	root := p.root(name)
	for _, l := range slices.Backward(p.list) {
		if slices.ContainsFunc(l.Writes, func(t string) bool { return p.root(t) == root }) {
			return l.Name
		}
	}
	return ""
}

// results makes the tensors of what a site gives, where direct says.
func (p *planner) results(s *site, name string, direct map[place]claim) ([]string, error) {
	types, err := flatten(s.call.Type())
	if err != nil {
		return nil, err
	}
	results := make([]string, len(types))
	for i, t := range types {
		label := name
		if len(types) > 1 {
			label += ":" + strconv.Itoa(i)
		}
		x := artifact.Tensor{Name: label, DType: t.DType, Shape: t.Shape, Pool: arenaPool}
		if c, ok := direct[place{s.call, i}]; ok {
			whole := p.tensor(c.tensor)
			if !c.part && whole.Shape.Equal(t.Shape) {
				results[i] = c.tensor
				continue
			}
			x.Pool, x.AliasOf, x.AliasOffset = whole.Pool, c.tensor, c.offset
		}
		results[i] = p.add(x)
	}
	p.values[s.call] = results
	return results, nil
}

// launches adds one launch a kernel.
func (p *planner) launches(s *site, name string, args, results []string) error {
	u := s.unit
	if len(u.params)-len(u.tables) != len(args)+len(results) {
		return diag.Internal("plan", name, "its kernels have %d buffers and %d tables for %d operands and %d results", len(u.params), len(u.tables), len(args), len(results))
	}
	bound := map[*tir.Buffer]string{}
	rest := slices.Concat(args, results)
	for _, b := range u.params {
		if table := u.tables[b]; table != nil {
			bound[b] = p.weight(table, u.name+".table")
			continue
		}
		bound[b], rest = rest[0], rest[1:]
	}
	for _, b := range u.temps {
		t, err := p.between(name+"."+b.Name, b)
		if err != nil {
			return err
		}
		bound[b] = t
	}
	for i, k := range u.kernels {
		l := artifact.Launch{Kind: artifact.KernelLaunch, Name: name, Kernel: k.Name, Nodes: nodesOf(s.fn), Flops: u.work.flops / int64(len(u.kernels))}
		if i > 0 {
			l.Name = fmt.Sprintf("%s/%d", name, i)
		}
		if err := geometry(&l, k, p.target); err != nil {
			return err
		}
		for j, b := range k.Params {
			t, ok := bound[b]
			if !ok {
				return diag.Internal("plan", name, "kernel %s has buffer %s, which is no operand, result or intermediate", k.Name, b.Name)
			}
			l.Buffers = append(l.Buffers, t)
			list := &l.Reads
			if j >= len(k.Params)-k.Outputs {
				list = &l.Writes
			}
			if !slices.Contains(*list, t) {
				*list = append(*list, t)
				l.Traffic += p.tensor(t).Bytes
			}
		}
		if len(u.kernels) == 1 && len(results) == 1 {
			for _, param := range inPlaceParams(u.fn) {
				if p.whole(args[param]) && p.whole(results[0]) && args[param] != results[0] {
					l.InPlace = append(l.InPlace, artifact.InPlace{Write: results[0], Read: args[param]})
				}
			}
		}
		l.Chunk = chunk(l, p.target)
		p.emit(l)
	}
	return nil
}

// chunk returns how many grid steps one claim of a thread takes: about 32 claims a launch, so that 2 to 8 threads
// share it evenly, but none below 5 microseconds, which a claim must be worth.
func chunk(l artifact.Launch, t *target.Target) int64 {
	grid := l.Grid[0]
	if grid <= 1 {
		return max(grid, 1)
	}
	const claims, least = 32, 5.0
	peak := max(t.PeakGFLOPS(), 1) * 1e3 // operations a microsecond
	const bandwidth = 1e4                // bytes a microsecond of one core
	micros := math.Max(float64(l.Flops)/(peak/2), float64(l.Traffic)/bandwidth)
	parts := min(max(int64(micros/least), 1), claims)
	return (grid + parts - 1) / parts
}

// result returns the tensor at a place whose value is planned.
func (p *planner) result(at place) string {
	if k, ok := at.expr.(*relay.Constant); ok {
		return p.weight(k.Value, k.Name)
	}
	return p.values[at.expr][at.index]
}

// output adds one output of the model; what no kernel wrote into its memory is copied there.
func (p *planner) output(name string, at place) error {
	types, err := flatten(at.expr.Type())
	if err != nil {
		return err
	}
	t := types[at.index]
	from := p.result(at)
	port := artifact.Port{Name: name, DType: t.DType, Shape: t.Shape}
	root := p.root(from)
	if bound := p.boundOutputs(); root.Pool == ioPool && !bound[root.Name] && root.Shape.Equal(t.Shape) && root.Bytes == p.tensor(from).Bytes {
		port.Tensor = root.Name
	} else {
		port.Tensor = p.outputTensor(name, t)
		p.copy(name, from, port.Tensor)
	}
	p.plan.Outputs = append(p.plan.Outputs, port)
	return nil
}

// copy adds a launch that copies one tensor to another; name says for whom.
func (p *planner) copy(name, from, to string) {
	p.emit(artifact.Launch{Kind: artifact.CopyLaunch, Name: p.launchName("copy " + name), Reads: []string{from}, Writes: []string{to},
		Traffic: 2 * p.tensor(from).Bytes})
}

// boundOutputs are the external tensors that an input or an output has.
func (p *planner) boundOutputs() map[string]bool {
	bound := map[string]bool{}
	for _, list := range [][]artifact.Port{p.plan.Inputs, p.plan.Outputs} {
		for _, port := range list {
			bound[port.Tensor] = true
		}
	}
	return bound
}

// dropUnusedViews removes views that no launch reads or writes: a view of a view, or one that became an output.
func (p *planner) dropUnusedViews() {
	used := map[string]bool{}
	for _, list := range p.launchLists() {
		for _, l := range list {
			for _, t := range slices.Concat(l.Reads, l.Writes) {
				used[t] = true
			}
		}
	}
	for _, o := range p.plan.Outputs {
		for _, x := range o.Extent {
			used[x.Tensor] = true
		}
	}
	for _, l := range p.layers {
		for _, t := range l.args {
			used[t] = true // what check evaluates a concatenation from
		}
	}
	p.plan.Tensors = slices.DeleteFunc(p.plan.Tensors, func(t artifact.Tensor) bool { return t.AliasOf != "" && !used[t.Name] })
	for i, t := range p.plan.Tensors {
		p.index[t.Name] = i
	}
}

// kernels lists the kernels of every unit once, in the order of their first launch.
func (p *planner) kernels(main *region) {
	seen := map[*unit]bool{}
	for s := range main.all() {
		if s.unit == nil || seen[s.unit] {
			continue
		}
		seen[s.unit] = true
		for _, k := range s.unit.kernels {
			p.plan.Kernels = append(p.plan.Kernels, artifact.Kernel{Name: k.Name, Scratch: int64(k.Scratch)})
		}
	}
}
