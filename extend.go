package texel

import (
	"slices"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/lower"
	"github.com/texel-ml/texel/relay"
	graphpasses "github.com/texel-ml/texel/relay/transform"
	"github.com/texel-ml/texel/schedule"
)

// Extension is what a module of its own adds to the compiler: rows of the tables that the built-in ones stand in. Operators
// come into a graph by the extension's passes. The zero value adds nothing.
type Extension struct {
	// Name, with a version where there is one, goes into the artifact: what the rows do changes what is compiled. It is
	// required where there are rows.
	Name string
	// Ops are operators: operand names, type inference, a float64 reference, a fusion class and the key of a lowering.
	Ops []*relay.Op
	// Lowerings write the definition of operators as tensor expressions, by key; a built-in key is replaced.
	Lowerings map[string]lower.OpRule
	// Schedules shape the loops of functions. They are asked before the built-in rules, and each of their steps is proven.
	Schedules []lower.ScheduleRule
	// Passes rewrite the graph, at every optimisation level.
	Passes []GraphPass
	// Primitives are schedule steps that compose built-in ones, for Schedules.
	Primitives []schedule.Primitive
	// Intrinsics are tensor instructions for Schedules.
	Intrinsics []schedule.Intrinsic
}

// GraphPass is a pass of an extension.
type GraphPass struct {
	graphpasses.Pass
	Before string // the built-in pass in front of which it runs
}

// check refuses rows that do not fit the tables.
func (e *Extension) check() error {
	if len(e.Ops)+len(e.Lowerings)+len(e.Schedules)+len(e.Passes)+len(e.Primitives)+len(e.Intrinsics) == 0 {
		return nil
	}
	if e.Name == "" {
		return diag.Invalid("options", "extension", "has rows and no name")
	}
	core := relay.Core()
	for i, op := range e.Ops {
		if op == nil || op.Name == "" || op.Infer == nil || op.Eval == nil || op.Lower == "" {
			return diag.Invalid("options", e.Name, "operator %d lacks a name, type inference, a reference or the key of a lowering", i)
		}
		twice := func(o *relay.Op) bool { return o.Name == op.Name }
		if core.Lookup(op.Name) != nil || slices.ContainsFunc(e.Ops[:i], twice) {
			return diag.Invalid("options", e.Name, "an operator named %q is there already", op.Name)
		}
		if e.Lowerings[op.Lower] == nil && lower.Core().Ops[op.Lower] == nil {
			return diag.Invalid("options", e.Name, "operator %q wants a lowering with the key %q, which nobody has", op.Name, op.Lower)
		}
	}
	for _, p := range e.Passes {
		if p.Name == "" || p.Run == nil || passNamed(p.Name) {
			return diag.Invalid("options", e.Name, "pass %q has no name of its own, or does nothing", p.Name)
		}
		if !passNamed(p.Before) {
			return diag.Invalid("options", e.Name, "pass %q stands before %q, which is no graph pass", p.Name, p.Before)
		}
	}
	for _, r := range e.Schedules {
		if r.Name == "" || r.Takes == nil || r.Apply == nil {
			return diag.Invalid("options", e.Name, "schedule rule %q lacks a name or a function", r.Name)
		}
	}
	for _, p := range e.Primitives {
		same := func(b schedule.Primitive) bool { return b.Name == p.Name }
		if p.Name == "" || p.Apply == nil || slices.ContainsFunc(schedule.Primitives(), same) {
			return diag.Invalid("options", e.Name, "primitive %q has no name of its own, or does nothing", p.Name)
		}
	}
	return nil
}

func passNamed(name string) bool {
	return slices.ContainsFunc(graphpasses.Passes(), func(p graphpasses.Pass) bool { return p.Name == name })
}

// ops is the table of operators with the extension's.
func (e *Extension) ops() *relay.Table { return relay.Core().With(e.Ops...) }

// tables are the tables of lowering with the extension's rows.
func (e *Extension) tables() *lower.Tables {
	t := lower.Core()
	for key, rule := range e.Lowerings {
		t.Ops[key] = rule
	}
	t.Extra, t.Primitives, t.Intrinsics = e.Schedules, e.Primitives, e.Intrinsics
	return t
}

// passes puts the extension's passes between the built-in ones.
func (e *Extension) passes(list []graphpasses.Pass) []graphpasses.Pass {
	for _, p := range e.Passes {
		at := slices.IndexFunc(list, func(b graphpasses.Pass) bool { return b.Name == p.Before })
		list = slices.Insert(list, at, p.Pass)
	}
	return list
}

// has reports whether the extension has a pass of that name.
func (e *Extension) has(pass string) bool {
	return slices.ContainsFunc(e.Passes, func(p GraphPass) bool { return p.Name == pass })
}
