package texel

import (
	"slices"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// bind gives the parameters of r what they stand for.
func (p *planner) bind(params []*relay.Var, args []relay.Expr) error {
	for i, v := range params {
		names, err := p.operand(args[i])
		if err != nil {
			return err
		}
		p.values[v] = names
	}
	return nil
}

// inline plans a call of a function that is no kernel.
func (p *planner) inline(s *site) error {
	r := s.regions[0]
	if err := p.bind(r.fn.Params, r.args); err != nil {
		return err
	}
	if err := p.sites(r, map[place]claim{}); err != nil {
		return err
	}
	results, err := p.operand(r.fn.Body)
	p.values[s.call] = results
	return err
}

// controlName returns the name of a control launch: the model's node.
func (p *planner) controlName(e relay.Expr, otherwise string) string {
	if n := identifier(e.Pos().Node); n != "" {
		return p.launchName(n)
	}
	return p.launchName(otherwise)
}

// nested collects the launches that do adds as a region, and returns the region's name.
func (p *planner) nested(e relay.Expr, name string, do func() error) (string, error) {
	if p.depth++; p.depth > artifact.MaxDepth {
		return "", diag.Unsupported("plan", name, "branches and loops nest more than %d deep", artifact.MaxDepth).At(e.Pos())
	}
	outer := p.list
	p.list = nil
	err := do()
	p.plan.Regions = append(p.plan.Regions, artifact.Region{Name: name, Launches: p.list})
	p.list = outer
	p.depth--
	return name, err
}

// launchLists returns the launches of main and of each region.
func (p *planner) launchLists() [][]artifact.Launch {
	all := [][]artifact.Launch{p.plan.Launches}
	for _, r := range p.plan.Regions {
		all = append(all, r.Launches)
	}
	return all
}

// branch adds the launch of an If. Each side writes its value where the If's value is.
func (p *planner) branch(s *site, i *relay.If, direct map[place]claim) error {
	cond, err := p.operand(i.Cond)
	if err != nil {
		return err
	}
	name := p.controlName(i, "if")
	results, err := p.results(s, name, direct)
	if err != nil {
		return err
	}
	l := artifact.Launch{Kind: artifact.ControlLaunch, Name: name, Reads: cond, Nodes: nodeOf(i), Control: &artifact.Control{Kind: artifact.If, Cond: cond[0]}}
	for k, region := range []*string{&l.Control.Body, &l.Control.Else} {
		r := s.regions[k]
		if *region, err = p.nested(i, name+[]string{".then", ".else"}[k], func() error { return p.side(r, name, results) }); err != nil {
			return err
		}
	}
	p.emit(l)
	return nil
}

// side plans one side of an If, whose value goes into results.
func (p *planner) side(r *region, name string, results []string) error {
	if err := p.bind(r.fn.Params, r.args); err != nil {
		return err
	}
	places, err := fields(r.fn.Body)
	if err != nil {
		return err
	}
	written := map[int]bool{}
	direct := claims(r.sites, places, func(i int, at place, _ int) string {
		if !p.holds(results[i], at) {
			return ""
		}
		written[i] = true
		return results[i]
	})
	if err := p.sites(r, direct); err != nil {
		return err
	}
	for i, at := range places {
		if !written[i] {
			p.copy(name, p.result(at), results[i])
		}
	}
	return nil
}

// holds reports whether a tensor has the type of what is at a place.
func (p *planner) holds(name string, at place) bool {
	t, to := typeAt(at), p.tensor(name)
	return t.DType == to.DType && t.Shape.Equal(to.Shape)
}

func nodeOf(e relay.Expr) []string {
	if n := e.Pos().Node; n != "" {
		return []string{n}
	}
	return nil
}

// scalarTensor adds a tensor of one element.
func (p *planner) scalarTensor(name string, d tensor.DType) string {
	return p.add(artifact.Tensor{Name: name, DType: d, Shape: tensor.Shape{}, Pool: arenaPool})
}

// loop adds the launch of a Loop. Each value of the state has one tensor, which is the loop's result too: a copy sets it
// before the first turn, and in the body what computes the next value writes it, where nothing reads the old one any more;
// else a copy at the end of the turn does.
func (p *planner) loop(s *site, l *relay.Loop, direct map[place]claim) error {
	name := p.controlName(l, "loop")
	results, err := p.results(s, name, direct)
	if err != nil {
		return err
	}
	states, stacks, count := results[:len(l.State)], results[len(l.State):len(results)-1], results[len(results)-1]
	control := &artifact.Control{Kind: artifact.Loop, Count: count, Max: int64(l.Max)}
	launch := artifact.Launch{Kind: artifact.ControlLaunch, Name: name, Nodes: nodeOf(l), Control: control}
	for i, e := range l.State {
		from, err := p.operand(e)
		if err != nil {
			return err
		}
		p.copy(name, from[0], states[i])
	}
	for i, z := range s.zeros {
		if err := p.call(z, map[place]claim{{z.call, 0}: {tensor: stacks[i]}}); err != nil {
			return err
		}
	}
	if l.Cond != nil {
		from, err := p.operand(l.Cond)
		if err != nil {
			return err
		}
		control.Cond = p.scalarTensor(name+".cond", tensor.Bool)
		p.copy(name, from[0], control.Cond)
		launch.Reads = append(launch.Reads, control.Cond)
	}
	if l.Trip != nil {
		trip, err := p.operand(l.Trip)
		if err != nil {
			return err
		}
		control.Trip = trip[0]
		launch.Reads = append(launch.Reads, control.Trip)
	}
	control.Iter = p.scalarTensor(name+".round", tensor.Int64)
	launch.Writes = append(launch.Writes, control.Iter, count)
	control.Body, err = p.nested(l, name+".body", func() error {
		t := &turn{p: p, name: name, loop: l, region: s.regions[0], states: states, stacks: stacks, cond: control.Cond}
		return t.plan(control.Iter)
	})
	p.emit(launch)
	return err
}

// turn plans the body of a loop.
type turn struct {
	p              *planner
	name           string
	loop           *relay.Loop
	region         *region
	states, stacks []string
	cond           string         // "" is none
	reads          map[int][]read // state → who reads its old value
	kept           map[int]bool   // states whose old value is a result
}

// read is argument arg of a site.
type read struct{ site, arg int }

func (t *turn) plan(round string) error {
	p, params := t.p, t.region.fn.Params
	p.values[params[0]] = []string{round}
	for i, name := range t.states {
		p.values[params[1+i]] = []string{name}
	}
	if err := p.bind(params[1+len(t.states):], t.loop.Captured); err != nil {
		return err
	}
	places, err := fields(t.region.fn.Body)
	if err != nil {
		return err
	}
	t.look(places)
	first := t.loop.FirstPart()
	begin := first - len(t.states)
	written := map[int]bool{}
	carried := t.states
	if t.cond != "" {
		carried = append([]string{t.cond}, carried...)
	}
	direct := claims(t.region.sites, places, func(i int, at place, producer int) string {
		if i >= first || !p.holds(carried[i], at) || i >= begin && !t.free(i-begin, producer) {
			return ""
		}
		written[i] = true
		return carried[i]
	})
	if err := p.sites(t.region, direct); err != nil {
		return err
	}
	// The old state is still there, where it is needed.
	for i, stack := range t.stacks {
		part := p.result(places[first+i])
		p.emit(artifact.Launch{Kind: artifact.CopyLaunch, Name: p.launchName("stack " + t.name), Stack: true, Reads: []string{part, stack},
			Writes: []string{stack}, Traffic: 2 * p.tensor(part).Bytes})
	}
	var moves []move
	for i, at := range places[:first] {
		if written[i] {
			continue
		}
		moves = append(moves, move{p.result(at), carried[i]})
	}
	moved := t.move(moves)
	p.notes.Add(diag.Chose, "plan", t.name, "a loop whose rounds have %d launches: of %d values that rounds hand on, %d are written where the old ones are, %d are copied",
		len(p.list), len(carried), len(carried)-moved, moved)
	return nil
}

// look finds who reads the old state.
func (t *turn) look(results []place) {
	state := map[relay.Expr]int{}
	for i := range t.states {
		state[t.region.fn.Params[1+i]] = i
	}
	t.reads, t.kept = map[int][]read{}, map[int]bool{}
	for n, s := range t.region.sites {
		for k, a := range s.args {
			places, err := fields(a)
			if err != nil { // it is no tensor, and so no state
				continue
			}
			for _, at := range places {
				i, old := state[at.expr]
				switch {
				case old && s.view:
					state[s.call] = i
				case old:
					t.reads[i] = append(t.reads[i], read{n, k})
				}
			}
		}
	}
	for _, at := range results {
		if i, old := state[at.expr]; old {
			t.kept[i] = true
		}
	}
}

// free reports whether the site at number producer, which computes the next value of state i, may write it over the old one.
func (t *turn) free(i, producer int) bool {
	s := t.region.sites[producer]
	if t.kept[i] || s.parts != nil {
		return false
	}
	for _, r := range t.reads[i] {
		inPlace := s.unit != nil && len(s.unit.kernels) == 1 && slices.Contains(inPlaceParams(s.fn), r.arg)
		if r.site > producer || r.site == producer && !inPlace {
			return false
		}
	}
	return true
}

// move is a copy at the end of a turn.
type move struct{ from, to string }

// move copies as if all copies were made at once: none overwrites what another one still reads. It returns how many values
// are copied.
func (t *turn) move(pending []move) (moved int) {
	p := t.p
	reads := func(m move, of string) bool { return p.root(m.from).Name == of }
	pending = slices.DeleteFunc(pending, func(m move) bool { return reads(m, m.to) })
	for len(pending) > 0 {
		free := slices.IndexFunc(pending, func(m move) bool {
			return !slices.ContainsFunc(pending, func(other move) bool { return other != m && reads(other, m.to) })
		})
		if free < 0 { // a circle
			free = 0
			for i := range pending[1:] {
				if m := &pending[1+i]; reads(*m, pending[0].to) {
					old := p.tensor(m.from)
					saved := p.add(artifact.Tensor{Name: old.Name + ".old", DType: old.DType, Shape: old.Shape, Pool: arenaPool})
					p.copy(t.name, m.from, saved)
					m.from = saved
				}
			}
		}
		p.copy(t.name, pending[free].from, pending[free].to)
		pending = slices.Delete(pending, free, free+1)
		moved++
	}
	return moved
}
