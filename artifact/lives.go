package artifact

import "github.com/texel-ml/texel/diag"

// MaxDepth is how deep control launches nest.
const MaxDepth = 16

// Step is a launch with its position.
type Step struct {
	Launch *Launch
	Pos    int
	Split  int // control: the position behind the launches of its body
	End    int // the position behind the launches of all its regions
}

// Steps returns every launch in the order of positions: a control launch before the launches of its body, then those
// of its else. Each region must be named exactly once.
func (p *Plan) Steps() ([]Step, error) {
	f := flattener{plan: p, regions: make(map[string]int, len(p.Regions)), used: make([]bool, len(p.Regions))}
	for i, r := range p.Regions {
		if _, twice := f.regions[r.Name]; twice || r.Name == "" {
			return nil, diag.Invalid("plan", r.Name, "name of a region must be there and be unique")
		}
		f.regions[r.Name] = i
	}
	if err := f.list(p.Launches, 0); err != nil {
		return nil, err
	}
	for i, used := range f.used {
		if !used {
			return nil, diag.Invalid("plan", p.Regions[i].Name, "no control launch names this region")
		}
	}
	return f.steps, nil
}

// LaunchCount returns how many launches the plan has, those of regions included.
func (p *Plan) LaunchCount() int {
	n := len(p.Launches)
	for _, r := range p.Regions {
		n += len(r.Launches)
	}
	return n
}

type flattener struct {
	plan    *Plan
	regions map[string]int
	used    []bool
	steps   []Step
}

func (f *flattener) list(launches []Launch, depth int) error {
	if depth > MaxDepth {
		return diag.Invalid("plan", "", "control launches nest more than %d deep", MaxDepth)
	}
	for i := range launches {
		l := &launches[i]
		at := len(f.steps)
		f.steps = append(f.steps, Step{Launch: l, Pos: at})
		if l.Control != nil {
			for i, name := range []string{l.Control.Body, l.Control.Else} {
				if name == "" {
					continue
				}
				r, ok := f.regions[name]
				if !ok {
					return diag.Invalid("plan", l.Name, "control launch names region %q, which does not exist", name)
				}
				if f.used[r] {
					return diag.Invalid("plan", l.Name, "region %q is named twice", name)
				}
				f.used[r] = true
				if err := f.list(f.plan.Regions[r].Launches, depth+1); err != nil {
					return err
				}
				if i == 0 {
					f.steps[at].Split = len(f.steps)
				}
			}
		}
		f.steps[at].End = len(f.steps)
	}
	return nil
}

// Lives returns the life of each tensor, in the order of p.Tensors, and the number of positions. It counts the uses
// of a tensor by its own name; whoever plans memory joins the lives of aliases.
//
// A tensor that is read inside a loop before the loop writes it, or that is used before the loop, lives until the
// loop's end, since the next turn may read it. Inputs and weights live from -1, outputs and the tensors of their
// extents to the number of positions. A tensor that is never used has life -1 to -1.
func (p *Plan) Lives() ([]Life, int, error) {
	steps, err := p.Steps()
	if err != nil {
		return nil, 0, err
	}
	index := make(map[string]int, len(p.Tensors))
	for i := range p.Tensors {
		index[p.Tensors[i].Name] = i
	}
	const none = -2
	lives := make([]Life, len(p.Tensors))
	for i := range lives {
		lives[i] = Life{none, none}
	}
	type loop struct{ first, last int }
	var loops []loop // those around the current step
	touch := func(name string, pos int, read bool) error {
		t, ok := index[name]
		if !ok {
			return diag.Invalid("plan", name, "launch %q uses a tensor that does not exist", steps[pos].Launch.Name)
		}
		life := &lives[t]
		last := pos
		for _, l := range loops { // outermost first
			if life.First != none && life.First < l.first || life.First == none && read {
				last = max(last, l.last)
				break
			}
		}
		if life.First == none {
			life.First = pos
		}
		life.Last = max(life.Last, last)
		return nil
	}
	for _, port := range p.Inputs {
		if t, ok := index[port.Tensor]; ok {
			lives[t] = Life{-1, -1}
		}
	}
	for _, w := range p.Weights {
		if t, ok := index[w.Tensor]; ok {
			lives[t] = Life{-1, -1}
		}
	}
	for _, s := range steps {
		for len(loops) > 0 && s.Pos > loops[len(loops)-1].last {
			loops = loops[:len(loops)-1]
		}
		if c := s.Launch.Control; c != nil && c.Kind == Loop {
			loops = append(loops, loop{s.Pos, s.End - 1})
		}
		for _, r := range s.Launch.Reads {
			if err := touch(r, s.Pos, true); err != nil {
				return nil, 0, err
			}
		}
		for _, w := range s.Launch.Writes {
			if err := touch(w, s.Pos, false); err != nil {
				return nil, 0, err
			}
		}
	}
	end := func(name string) {
		if t, ok := index[name]; ok {
			if lives[t].First == none {
				lives[t].First = len(steps)
			}
			lives[t].Last = len(steps)
		}
	}
	for _, port := range p.Outputs {
		end(port.Tensor)
		for _, e := range port.Extent {
			end(e.Tensor)
		}
	}
	for i := range lives {
		if lives[i].First == none {
			lives[i] = Life{-1, -1}
		}
	}
	return lives, len(steps), nil
}

// SetLives sets the life of every tensor.
func (p *Plan) SetLives() error {
	lives, _, err := p.Lives()
	if err != nil {
		return err
	}
	for i := range p.Tensors {
		p.Tensors[i].Life = lives[i]
	}
	return nil
}

// SetTotals sets arena_bytes, scratch_bytes and weights_bytes from the pools, kernels and weights.
func (p *Plan) SetTotals() {
	p.ArenaBytes, p.ScratchBytes, p.WeightsBytes = 0, 0, 0
	for _, pool := range p.Pools {
		p.ArenaBytes += pool.Bytes
	}
	for _, k := range p.Kernels {
		p.ScratchBytes = max(p.ScratchBytes, k.Scratch)
	}
	for _, w := range p.Weights {
		p.WeightsBytes += w.Bytes
	}
}
