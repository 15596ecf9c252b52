// Package proof holds what must be true of a scheduled function for it to mean the same as its program, as closed
// statements about whole numbers, and a checker that decides them.
//
// The statements are claims. A claim names its variables with their ranges, so that it can be read, printed and checked
// without the function that it comes from. Check is deliberately simple: it cuts a claim into parts that share no
// variable and counts through each. It uses none of the index algebra by which steps show their own preconditions.
package proof

import (
	"fmt"
	"strings"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// Kind is what a claim says.
type Kind uint8

// The kinds of claim, with f the map of a claim, D the points of its variables where its condition holds, and R its range.
// All hold for each value of the fixed variables.
const (
	Bijection Kind = iota // f takes each point of R once on D
	Onto                  // f takes each point of R at least once on D, and no other
	Injection             // f takes no value twice on D
	Distinct              // no two values of the variable Loop give a value in common, by f or by one of By
	Cover                 // each value of f on D is a value of one of By
	Disjoint              // no value of f on D is a value of one of By
	Monotone              // f does not decrease from a point of D to the next, the first of Vars being the outermost loop
	Constant              // f does not depend on the fixed variables
)

var kindNames = [...]string{"bijection", "onto", "injection", "distinct", "cover", "disjoint", "monotone", "constant"}

// String is the kind's name.
func (k Kind) String() string { return kindNames[k] }

// Var is a variable with its range [Min, Min+Extent).
type Var struct {
	Var         *tir.Var
	Min, Extent int64
}

// Side is a set of points: what Map takes while Vars run through their ranges where Where holds.
type Side struct {
	Vars  []Var
	Where tir.Expr // nil: everywhere
	Map   []tir.Expr
}

// Subst returns the side with expressions in the place of variables, in its condition and its map.
func (s Side) Subst(to map[*tir.Var]tir.Expr) Side {
	return s.mapped(func(e tir.Expr) tir.Expr { return tir.Subst(e, to) })
}

// mapped returns the side with f of its condition and of each expression of its map.
func (s Side) mapped(f func(tir.Expr) tir.Expr) Side {
	out := Side{Vars: s.Vars, Where: f(s.Where), Map: make([]tir.Expr, len(s.Map))}
	for i, e := range s.Map {
		out.Map[i] = f(e)
	}
	return out
}

// Claim is one statement. Subject says what it is about: "block C", "loop i".
type Claim struct {
	Kind    Kind
	Subject string
	Fixed   []Var
	Side
	Range []int64  // of Bijection and Onto, an extent for each expression of Map
	Loop  *tir.Var // of Distinct, one of Vars
	By    []Side   // of Cover, Distinct and Disjoint
}

// String prints the claim, for example
//
//	bijection: block C: (io, ii) in 3 × 4 where io * 4 + ii < 10: (io * 4 + ii) takes each point of 10 once
func (c *Claim) String() string {
	c = c.named()
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s: ", c.Kind, c.Subject)
	if len(c.Fixed) > 0 {
		fmt.Fprintf(&b, "for each %s: ", vars(c.Fixed))
	}
	switch c.Kind {
	case Bijection:
		fmt.Fprintf(&b, "%s takes each point of %s once", c.Side, extents(c.Range))
	case Onto:
		fmt.Fprintf(&b, "%s takes each point of %s", c.Side, extents(c.Range))
	case Injection:
		fmt.Fprintf(&b, "%s takes no point twice", c.Side)
	case Distinct:
		fmt.Fprintf(&b, "%s takes no point at two values of %s", sides(append([]Side{c.Side}, c.By...), " and "), c.Loop.Name)
	case Cover:
		fmt.Fprintf(&b, "what %s takes is in %s", c.Side, sides(c.By, " or in "))
	case Disjoint:
		fmt.Fprintf(&b, "what %s takes is not in %s", c.Side, sides(c.By, " nor in "))
	case Monotone:
		fmt.Fprintf(&b, "%s does not decrease", c.Side)
	case Constant:
		fmt.Fprintf(&b, "%s does not change", c.Side)
	}
	return b.String()
}

func sides(list []Side, between string) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = s.String()
	}
	return strings.Join(texts, between)
}

// named returns the claim with a name of its own for each variable, which needs no quotes: a second one of a name gets a
// number. The subject has no colon, which ends it.
func (c *Claim) named() *Claim {
	used := map[string]bool{}
	to := map[*tir.Var]tir.Expr{}
	rename := func(list []Var) []Var {
		out := append([]Var{}, list...)
		for i, v := range out {
			base := plain(v.Var.Name)
			if e, done := to[v.Var]; done {
				out[i].Var = e.(*tir.Var)
				continue
			}
			name := base
			for n := 2; used[name]; n++ {
				name = fmt.Sprintf("%s_%d", base, n)
			}
			used[name] = true
			w := tir.NewVar(name)
			to[v.Var], out[i].Var = w, w
		}
		return out
	}
	out := *c
	out.Subject = strings.ReplaceAll(c.Subject, ":", "_")
	out.Fixed = rename(c.Fixed)
	side := func(s Side) Side {
		s.Vars = rename(s.Vars)
		return s.Subst(to)
	}
	out.Side, out.By = side(c.Side), nil
	for _, s := range c.By {
		out.By = append(out.By, side(s))
	}
	if c.Loop != nil {
		out.Loop = to[c.Loop].(*tir.Var)
	}
	return &out
}

// plain is a name that needs no quotes.
func plain(name string) string {
	out := strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	if out == "" || out[0] >= '0' && out[0] <= '9' {
		return "v" + out
	}
	return out
}

// String prints the variables, the condition and the map.
func (s Side) String() string {
	var b strings.Builder
	if len(s.Vars) > 0 || s.Where != nil {
		b.WriteString(vars(s.Vars))
		if s.Where != nil {
			b.WriteString(" where " + tirtext.PrintExpr(s.Where))
		}
		b.WriteString(": ")
	}
	list := make([]string, len(s.Map))
	for i, e := range s.Map {
		list[i] = tirtext.PrintExpr(e)
	}
	return b.String() + "(" + strings.Join(list, ", ") + ")"
}

func vars(list []Var) string {
	names, ranges := make([]string, len(list)), make([]string, len(list))
	for i, v := range list {
		names[i], ranges[i] = v.Var.Name, fmt.Sprint(v.Extent)
		if v.Min != 0 {
			ranges[i] = fmt.Sprintf("%d..%d", v.Min, v.Min+v.Extent)
		}
	}
	if len(list) == 0 {
		ranges = []string{"1"}
	}
	return "(" + strings.Join(names, ", ") + ") in " + strings.Join(ranges, " × ")
}

func extents(list []int64) string {
	if len(list) == 0 {
		return "the only point"
	}
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = fmt.Sprint(n)
	}
	return strings.Join(texts, " × ")
}
