package te

import (
	"fmt"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/verify"
)

// Func is Build for definitions that stand in Go source: it panics where Build returns an error.
func Func(name string, inputs, outputs []*Tensor, stages ...*Tensor) *tir.Func {
	f, err := Build(name, inputs, outputs, stages...)
	if err != nil {
		panic(err)
	}
	return f
}

// Build returns the function that computes outputs from inputs. Its parameters are the inputs in order, then the
// outputs; stages in between, which are to be given too, become buffers of the root block. Stages are ordered so that
// each comes after those it reads, and a stage that nothing needs is left out. Names are made unique by a suffix.
//
// The error is a diag.Invalid that names the stage that is wrong: one that reads a tensor which is neither given nor an
// input, stages that need each other, an element whose type is not the result's, a recurrence that is none.
func Build(name string, inputs, outputs []*Tensor, stages ...*Tensor) (*tir.Func, error) {
	b := &builder{
		known: map[*tir.Buffer]*Tensor{}, inputs: map[*Tensor]bool{}, outputs: map[*Tensor]bool{}, readers: map[*Tensor]int{},
		state: map[*definition]progress{}, inside: map[*definition]*definition{}, plans: map[*definition]*scanPlan{}, used: map[string]int{}, name: name,
	}
	if err := b.gather(inputs, outputs, stages); err != nil {
		return nil, err
	}
	for _, t := range outputs {
		if err := b.visit(t.def, nil); err != nil {
			return nil, err
		}
	}
	f := &tir.Func{Name: name, Outputs: len(outputs)}
	for _, t := range append(append([]*Tensor{}, inputs...), outputs...) {
		b.rename(&t.Buffer.Name)
		f.Params = append(f.Params, t.Buffer)
	}
	if err := b.body(f); err != nil {
		return nil, err
	}
	return f, nil
}

// builder is one run of Build.
type builder struct {
	name            string
	known           map[*tir.Buffer]*Tensor
	inputs, outputs map[*Tensor]bool
	readers         map[*Tensor]int // how many stages read it
	state           map[*definition]progress
	path            []*definition               // being visited, for the message of a cycle
	inside          map[*definition]*definition // stages within the steps of a scan
	plans           map[*definition]*scanPlan
	order           []*definition
	used            map[string]int // names
}

type progress uint8

const (
	open progress = iota + 1
	done
)

func (b *builder) invalid(stage, format string, args ...any) error {
	return diag.Invalid("te", stage, format, args...)
}

// gather notes all tensors that are given, directly or by another one, and who reads what.
func (b *builder) gather(inputs, outputs, stages []*Tensor) error {
	if len(outputs) == 0 {
		return b.invalid(b.name, "the function has no output")
	}
	for _, list := range [][]*Tensor{stages, inputs, outputs} {
		for _, t := range list {
			if t == nil {
				return b.invalid(b.name, "a tensor is missing")
			}
			b.know(t)
		}
	}
	for _, t := range inputs {
		if t.def != nil {
			return b.invalid(t.Buffer.Name, "it is given as an input and is computed")
		}
		if b.inputs[t] {
			return b.invalid(t.Buffer.Name, "it is given as an input twice")
		}
		b.inputs[t] = true
	}
	for _, t := range outputs {
		if t.def == nil {
			return b.invalid(t.Buffer.Name, "it is to be an output and nothing computes it")
		}
		if b.outputs[t] {
			return b.invalid(t.Buffer.Name, "it is given as an output twice")
		}
		b.outputs[t] = true
	}
	seen := map[*definition]bool{}
	for _, t := range b.known {
		if t.def != nil && !seen[t.def] {
			seen[t.def] = true
			for _, r := range b.readList(t.def) {
				b.readers[r]++
			}
			if t.def.scan != nil {
				for _, r := range t.def.scan.states {
					b.readers[r.Init]++
				}
			}
		}
	}
	return nil
}

func (b *builder) know(t *Tensor) {
	if t == nil || b.known[t.Buffer] != nil {
		return
	}
	b.known[t.Buffer] = t
	if t.def == nil {
		return
	}
	for _, o := range t.def.outs {
		b.know(o)
	}
	if t.def.extern != nil {
		for _, in := range t.def.extern.ins {
			b.know(in)
		}
	}
	if t.def.scan != nil {
		for _, r := range t.def.scan.states {
			b.know(r.Init)
			b.know(r.Update)
		}
	}
}

// readList returns the tensors that a stage reads in the order of its expressions; nil stands for one that is not known.
func (b *builder) readList(d *definition) []*Tensor {
	var list []*Tensor
	seen := map[*tir.Buffer]bool{}
	for _, o := range d.outs {
		seen[o.Buffer] = true
	}
	if d.extern != nil {
		return d.extern.ins
	}
	d.exprs(func(e tir.Expr) {
		tir.Walk(e, func(n any) bool {
			if l, ok := n.(*tir.Load); ok && !seen[l.Buffer] {
				seen[l.Buffer] = true
				list = append(list, b.known[l.Buffer])
			}
			return true
		})
	})
	return list
}

// visit puts d into the order, after all that it reads. reader is the stage that needs it, nil for an output.
func (b *builder) visit(d, reader *definition) error {
	if d == nil {
		return nil
	}
	if s := b.inside[d]; s != nil {
		by := "an output"
		if reader != nil {
			by = "read by " + reader.String()
		}
		return b.invalid(d.String(), "it is computed within the steps of %s and is %s; wanted the state", s, by)
	}
	switch b.state[d] {
	case done:
		return nil
	case open:
		return b.cycle(d)
	}
	if err := b.enter(d); err != nil {
		return err
	}
	if d.scan != nil {
		if err := b.visitScan(d); err != nil {
			return err
		}
	} else {
		for _, t := range b.readList(d) {
			if err := b.needs(d, t); err != nil {
				return err
			}
			if err := b.visit(t.def, d); err != nil {
				return err
			}
		}
	}
	b.leave(d)
	b.order = append(b.order, d)
	return nil
}

func (b *builder) enter(d *definition) error {
	if d.err != nil {
		return b.invalid(d.String(), "%s", d.err)
	}
	b.state[d] = open
	b.path = append(b.path, d)
	return nil
}

func (b *builder) leave(d *definition) {
	b.state[d] = done
	b.path = b.path[:len(b.path)-1]
}

// needs checks that t, which d reads, is there.
func (b *builder) needs(d *definition, t *Tensor) error {
	if t != nil && (t.def != nil || b.inputs[t]) {
		return nil
	}
	name := "a tensor"
	if t != nil {
		name = t.Buffer.Name
	} else if b.missing(d) != "" {
		name = b.missing(d)
	}
	return b.invalid(d.String(), "it reads %s, which is neither an input of the function nor one of the given stages", name)
}

// missing returns the name of the first buffer that d reads and nobody knows.
func (b *builder) missing(d *definition) (name string) {
	d.exprs(func(e tir.Expr) {
		tir.Walk(e, func(n any) bool {
			if l, ok := n.(*tir.Load); ok && name == "" && b.known[l.Buffer] == nil {
				name = l.Buffer.Name
			}
			return name == ""
		})
	})
	return name
}

func (b *builder) cycle(d *definition) error {
	var names []string
	for _, p := range b.path {
		if p == d || len(names) > 0 {
			names = append(names, p.String())
		}
	}
	return b.invalid(d.String(), "stages need each other: %s", strings.Join(append(names, d.String()), ", "))
}

// rename makes a name unique.
func (b *builder) rename(name *string) {
	base := *name
	for b.used[*name] > 0 {
		*name = fmt.Sprintf("%s_%d", base, b.used[base])
		b.used[base]++
	}
	b.used[*name]++
}

// blockName returns the name of the stage's block: that of its only result, or its own, made unique.
func (b *builder) blockName(d *definition) string {
	if d.name == "" {
		return d.outs[0].Buffer.Name
	}
	name := d.name
	b.rename(&name)
	return name
}

// body checks the types of all expressions and gives f the nests of its stages.
func (b *builder) body(f *tir.Func) error {
	var scope verify.Scope
	for _, t := range f.Params {
		if _, err := scope.Buffer(t); err != nil {
			return b.invalid(t.Name, "%s", err)
		}
	}
	root := &tir.Block{Name: "root"}
	var nests []tir.Stmt
	for _, d := range b.order {
		for _, t := range d.outs {
			if b.outputs[t] {
				continue
			}
			b.rename(&t.Buffer.Name)
			if _, err := scope.Buffer(t.Buffer); err != nil {
				return b.invalid(d.String(), "%s", err)
			}
			root.Allocs = append(root.Allocs, t.Buffer)
		}
		if d.scan != nil {
			list, err := b.scanNests(d, &scope)
			if err != nil {
				return err
			}
			nests = append(nests, list...)
			continue
		}
		if err := b.check(d, &scope); err != nil {
			return err
		}
		if d.extern != nil {
			name := d.outs[0].Buffer.Name
			nests = append(nests, &tir.BlockRealize{Block: d.extern.block(name, d.outs)})
			continue
		}
		nests = append(nests, nest(d.block(b.blockName(d))))
	}
	root.Body = tir.Block1(nests...)
	f.Body = &tir.BlockRealize{Block: root}
	return nil
}

// check checks types and indices of a stage's expressions.
func (b *builder) check(d *definition, scope *verify.Scope) error {
	for _, iv := range d.iters {
		undo, err := scope.Var(iv.Var)
		if err != nil {
			return b.invalid(d.String(), "%s", err)
		}
		defer undo()
	}
	typed := func(what string, e tir.Expr, want tir.Type) error {
		if err := scope.Typed(what, e, want); err != nil {
			return b.invalid(d.String(), "%s", err)
		}
		return nil
	}
	for _, t := range d.terms {
		if err := typed("an element", t.value, t.v.Type()); err != nil {
			return err
		}
		undo, err := scope.Var(t.v)
		if err != nil {
			return b.invalid(d.String(), "%s", err)
		}
		defer undo()
	}
	for _, list := range [][]tir.Expr{d.init, d.values} {
		for n, e := range list {
			if err := typed("the element of "+d.outs[n].Buffer.Name, e, tir.Type{DType: d.outs[n].DType(), Lanes: 1}); err != nil {
				return err
			}
		}
	}
	if d.where != nil {
		return typed("the condition", d.where, tir.Bool)
	}
	return nil
}
