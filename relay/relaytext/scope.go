package relaytext

import (
	"strconv"
	"strings"

	"github.com/antlr4-go/antlr/v4"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
)

// binding is what a local name stands for.
type binding struct {
	e     relay.Expr // nil: it has errors
	scope int        // how many scopes are around it
	level int        // how many functions are around it
}

// shadow is a binding that another one of the same name hides until the scope ends.
type shadow struct {
	name string
	old  binding
	had  bool
}

// scope is a stretch of text in which names are bound: a function's body, a branch, what stands in braces or
// parentheses.
type scope struct {
	shadows    int // how many there were when it began
	lets       []let
	statements int
}

// let is a let statement, of which a node is made when its scope ends.
type let struct {
	v     *relay.Var
	value relay.Expr
	pos   diag.Pos
}

func (b *builder) openScope() { b.scopes = append(b.scopes, scope{shadows: len(b.shadows)}) }

// closeScope forgets the names that were bound in the innermost scope and returns its result below its lets.
func (b *builder) closeScope(result relay.Expr) relay.Expr {
	s := &b.scopes[len(b.scopes)-1]
	for i := len(s.lets) - 1; i >= 0; i-- {
		l := s.lets[i]
		if result == nil || l.value == nil {
			result = nil
			break
		}
		result = relay.NewLet(l.v, l.value, result, l.pos)
	}
	for len(b.shadows) > s.shadows {
		last := b.shadows[len(b.shadows)-1]
		b.shadows = b.shadows[:len(b.shadows)-1]
		if last.had {
			b.names[last.name] = last.old
		} else {
			delete(b.names, last.name)
		}
	}
	b.scopes = b.scopes[:len(b.scopes)-1]
	return result
}

// bind lets a name stand for e until the innermost scope ends.
func (b *builder) bind(name string, e relay.Expr) {
	old, had := b.names[name]
	b.shadows = append(b.shadows, shadow{name, old, had})
	b.names[name] = binding{e, len(b.scopes), len(b.primitives)}
}

// resolve returns what a local name stands for: %p.0 is the variable of that name, or else field 0 of %p. It is nil when
// there are errors.
func (b *builder) resolve(t antlr.Token) relay.Expr {
	name := t.GetText()[1:]
	at, found := b.names[name]
	var fields []int
	for !found {
		cut := strings.LastIndexByte(name, '.')
		if cut < 0 {
			break
		}
		field, err := strconv.Atoi(name[cut+1:])
		if err != nil {
			break
		}
		name, fields = name[:cut], append(fields, field)
		at, found = b.names[name]
	}
	pos := b.r.node(t, t)
	if !found {
		b.unbound(t.GetText(), pos)
		return nil
	}
	if _, constant := at.e.(*relay.Constant); !constant {
		for _, primitive := range b.primitives[at.level:] {
			if primitive {
				b.r.fail(diag.Invalid(step, "%"+name, "a primitive function reads what is bound outside of it").At(pos))
				return nil
			}
		}
	}
	e := at.e
	for i := len(fields) - 1; i >= 0; i-- {
		e = b.field(e, fields[i], pos)
	}
	return e
}

// unbound is the error of a name that nothing has.
func (b *builder) unbound(name string, pos diag.Pos) {
	for _, v := range b.variables {
		if "%"+v.name == name {
			b.r.fail(diag.Unsupported(step, name, "the function calls itself").At(pos))
			return
		}
	}
	names := make([]string, 0, len(b.names))
	for n := range b.names {
		names = append(names, "%"+n)
	}
	b.r.fail(diag.Invalid(step, name, "the name is not bound here%s", diag.Meant(name, names)).At(pos))
}

// field takes a field of a tuple.
func (b *builder) field(tuple relay.Expr, index int, pos diag.Pos) relay.Expr {
	if tuple == nil {
		return nil
	}
	get, err := relay.NewTupleGet(tuple, index, pos)
	if err != nil {
		b.failWith(err)
		return nil
	}
	return b.bounded(get, pos)
}
