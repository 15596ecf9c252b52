package relaytext

import (
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext/grammar"
)

// match is a match under way. Patterns over tuples always fit, so its value is that of the first clause, with the
// pattern's names for fields; the others are read all the same.
type match struct {
	e      relay.Expr
	result relay.Expr
	done   bool
}

// pattern is what a clause takes apart: a tuple of patterns, a variable, or anything.
type pattern struct {
	fields []pattern // of a tuple
	tuple  bool
	v      *variable
	pos    diag.Pos
	wrong  bool // it was refused
}

// ExitScrutinee begins a match.
func (b *builder) ExitScrutinee(*grammar.ScrutineeContext) {
	b.matches = append(b.matches, match{e: b.pop()})
}

// EnterPatterns marks where a list of patterns begins; the rule around it takes it.
func (b *builder) EnterPatterns(*grammar.PatternsContext) { b.mark(len(b.patterns)) }

func (b *builder) popPatternsFrom(at int) []pattern {
	list := append([]pattern(nil), b.patterns[at:]...)
	b.patterns = b.patterns[:at]
	return list
}

// ExitVariablePattern takes a variable.
func (b *builder) ExitVariablePattern(*grammar.VariablePatternContext) {
	v := b.popVariable()
	b.patterns = append(b.patterns, pattern{v: &v, pos: v.pos})
}

// ExitTuplePattern takes the patterns of a tuple's fields.
func (b *builder) ExitTuplePattern(ctx *grammar.TuplePatternContext) {
	b.patterns = append(b.patterns, pattern{fields: b.popPatternsFrom(b.unmark()), tuple: true, pos: b.r.pos(ctx.GetStart())})
}

// ExitConstructorPattern takes _; a constructor is refused.
func (b *builder) ExitConstructorPattern(ctx *grammar.ConstructorPatternContext) {
	p := pattern{pos: b.r.pos(ctx.GetStart())}
	if ctx.GetBracket() != nil {
		p.fields = b.popPatternsFrom(b.unmark())
	}
	if name := ctx.GetCalled().GetText(); name != "_" || ctx.GetBracket() != nil {
		b.unsupported(ctx, name, "algebraic data types are not supported")
		p.wrong = true
	}
	b.patterns = append(b.patterns, p)
}

// EnterClause opens the scope of a clause.
func (b *builder) EnterClause(*grammar.ClauseContext) { b.openScope() }

// ExitCase binds the names of a pattern.
func (b *builder) ExitCase(*grammar.CaseContext) {
	p := b.patterns[len(b.patterns)-1]
	b.patterns = b.patterns[:len(b.patterns)-1]
	b.take(p, b.matches[len(b.matches)-1].e)
}

// take binds the names of a pattern to the parts of e.
func (b *builder) take(p pattern, e relay.Expr) {
	switch {
	case p.v != nil:
		if e != nil && p.v.typed && !fits(p.v.typ, e.Type()) {
			b.r.fail(diag.Invalid(step, "%"+p.v.name, "is annotated %s, its value has type %v", typeText(p.v.typ), e.Type()).At(p.pos))
			e = nil
		}
		b.bind(p.v.name, e)
	case p.tuple || p.wrong:
		if e != nil && p.tuple {
			if t, ok := e.Type().(*relay.TupleType); !ok || len(t.Fields) != len(p.fields) {
				b.r.fail(diag.Invalid(step, "match", "a pattern of %d fields is matched against %v", len(p.fields), e.Type()).At(p.pos))
				e = nil
			}
		}
		for i, field := range p.fields {
			if e == nil || p.wrong {
				b.take(field, nil)
			} else {
				b.take(field, b.field(e, i, field.pos))
			}
		}
	}
}

// ExitClause closes the scope of a clause.
func (b *builder) ExitClause(*grammar.ClauseContext) {
	result := b.closeScope(b.pop())
	if m := &b.matches[len(b.matches)-1]; !m.done {
		m.result, m.done = result, true
	}
}

// ExitMatch leaves the value of the first clause.
func (b *builder) ExitMatch(ctx *grammar.MatchContext) {
	m := b.matches[len(b.matches)-1]
	b.matches = b.matches[:len(b.matches)-1]
	if !m.done {
		b.r.fail(diag.Invalid(step, "match", "has no clause").At(b.r.pos(ctx.GetStart())))
	}
	b.push(m.result)
}
