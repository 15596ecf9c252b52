package proof

import (
	"fmt"
	"math"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// Parse reads the text of a claim, as String prints it: so a certificate can be checked without the program and the steps
// that it comes from.
func Parse(text string) (*Claim, error) {
	p := &parser{src: text, vars: map[string]*tir.Var{}}
	c := p.claim()
	if p.err == nil && p.at < len(p.src) {
		p.fail("wanted the end, found %q", clip(p.src[p.at:]))
	}
	if p.err != nil {
		return nil, p.err
	}
	return c, nil
}

type parser struct {
	src  string
	at   int
	vars map[string]*tir.Var // by name: fixed ones, and those of the side that is being read
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = diag.Invalid("claim", "", format, args...).At(diag.Pos{Line: 1, Col: len([]rune(p.src[:p.at])) + 1})
	}
}

func clip(s string) string {
	if len(s) > 30 {
		s = s[:30]
	}
	return s
}

// took reads a text when it stands here.
func (p *parser) took(text string) bool {
	if p.err != nil || !strings.HasPrefix(p.src[p.at:], text) {
		return false
	}
	p.at += len(text)
	return true
}

func (p *parser) want(text string) {
	if !p.took(text) {
		p.fail("wanted %q, found %q", text, clip(p.src[p.at:]))
	}
}

// until reads up to a text, and that text.
func (p *parser) until(end string) string {
	if p.err != nil {
		return ""
	}
	n := strings.Index(p.src[p.at:], end)
	if n < 0 {
		p.fail("wanted %q later in %q", end, clip(p.src[p.at:]))
		return ""
	}
	s := p.src[p.at : p.at+n]
	p.at += n + len(end)
	return s
}

func (p *parser) claim() *Claim {
	c := &Claim{}
	name := p.until(": ")
	for k, n := range kindNames {
		if n == name {
			c.Kind = Kind(k)
		}
	}
	if c.Kind.String() != name {
		p.at = 0
		p.fail("no claim is of kind %q, wanted one of %s", clip(name), strings.Join(kindNames[:], ", "))
	}
	c.Subject = p.until(": ")
	if p.took("for each ") {
		c.Fixed = p.ranges()
		p.want(": ")
	}
	switch c.Kind {
	case Bijection:
		c.Side = p.side()
		p.want(" takes each point of ")
		c.Range = p.extents()
		p.want(" once")
	case Onto:
		c.Side = p.side()
		p.want(" takes each point of ")
		c.Range = p.extents()
	case Injection:
		c.Side = p.side()
		p.want(" takes no point twice")
	case Distinct:
		var list []Side
		for more := true; more && p.err == nil; more = p.took(" and ") {
			list = append(list, p.side())
		}
		p.want(" takes no point at two values of ")
		p.distinct(c, list, p.src[p.at:])
		p.at = len(p.src)
	case Cover:
		p.want("what ")
		c.Side = p.side()
		p.want(" takes is in ")
		c.By = p.sides(" or in ")
	case Disjoint:
		p.want("what ")
		c.Side = p.side()
		p.want(" takes is not in ")
		c.By = p.sides(" nor in ")
	case Monotone:
		c.Side = p.side()
		p.want(" does not decrease")
	case Constant:
		c.Side = p.side()
		p.want(" does not change")
	}
	if p.err == nil {
		p.check(c)
	}
	return c
}

// distinct names the loop: each side has a variable of that name, which is made one.
func (p *parser) distinct(c *Claim, list []Side, name string) {
	if p.err != nil {
		return
	}
	for i, s := range list {
		own := -1
		for n, v := range s.Vars {
			if v.Var.Name == name {
				own = n
			}
		}
		if own < 0 {
			p.fail("side %d has no variable %q", i+1, clip(name))
			return
		}
		old := s.Vars[own].Var
		if c.Loop == nil {
			c.Loop = old
		}
		to := map[*tir.Var]tir.Expr{old: c.Loop}
		s.Vars[own].Var = c.Loop
		s.Where = tir.Subst(s.Where, to)
		for n, e := range s.Map {
			s.Map[n] = tir.Subst(e, to)
		}
		list[i] = s
	}
	c.Side, c.By = list[0], list[1:]
}

// check refuses claims that do not fit together.
func (p *parser) check(c *Claim) {
	for _, s := range append([]Side{c.Side}, c.By...) {
		if len(s.Map) != len(c.Map) {
			p.fail("one side has %d values, another %d", len(c.Map), len(s.Map))
		}
	}
	if c.Range != nil && len(c.Range) != len(c.Map) {
		p.fail("%d values have a range of %d", len(c.Map), len(c.Range))
	}
	if c.Kind == Monotone && len(c.Map) != 1 {
		p.fail("%d values cannot be put in order, wanted one", len(c.Map))
	}
}

func (p *parser) sides(between string) []Side {
	if p.at == len(p.src) {
		return nil
	}
	var list []Side
	for more := true; more && p.err == nil; more = p.took(between) {
		list = append(list, p.side())
	}
	return list
}

// side reads (i, j) in 3 × 4 where …: (…), or (…) alone.
func (p *parser) side() Side {
	var s Side
	outer := p.vars
	p.vars = map[string]*tir.Var{}
	for n, v := range outer {
		p.vars[n] = v
	}
	defer func() { p.vars = outer }()
	if p.ranged() {
		s.Vars = p.ranges()
		if p.took(" where ") {
			s.Where = p.expr(": (")
			if p.err == nil && s.Where.Type() != tir.Bool {
				p.fail("the condition is no truth value")
			}
		}
		p.want(": ")
	}
	p.want("(")
	for !p.took(")") && p.err == nil {
		e := p.expr(",)")
		if p.err == nil && e.Type() != tir.Index {
			p.fail("a value is no number")
		}
		s.Map = append(s.Map, e)
		if !p.took(", ") {
			p.want(")")
			break
		}
	}
	return s
}

// ranged reports whether names with their ranges stand here, and not values.
func (p *parser) ranged() bool {
	if p.err != nil {
		return false
	}
	n := strings.Index(p.src[p.at:], ")")
	return n >= 0 && strings.HasPrefix(p.src[p.at+n:], ") in ")
}

// ranges reads (i, j) in 3 × 0..4.
func (p *parser) ranges() []Var {
	p.want("(")
	text := p.until(") in ")
	if text == "" {
		p.want("1")
		return nil
	}
	names := strings.Split(text, ", ")
	list := make([]Var, len(names))
	for i, name := range names {
		if i > 0 {
			p.want(" × ")
		}
		lo := p.number()
		list[i].Extent = lo
		if p.took("..") {
			list[i].Min, list[i].Extent = lo, p.number()-lo
		}
		if list[i].Extent < 0 && p.err == nil {
			p.fail("the range of %q is empty from its end on", clip(name))
		}
		list[i].Var = tir.NewVar(name)
		p.vars[name] = list[i].Var
	}
	return list
}

func (p *parser) extents() []int64 {
	if p.took("the only point") {
		return []int64{}
	}
	list := []int64{p.number()}
	for p.took(" × ") {
		list = append(list, p.number())
	}
	return list
}

// number reads a number that is not too large to count to.
func (p *parser) number() int64 {
	begin := p.at
	for p.at < len(p.src) && (p.src[p.at] >= '0' && p.src[p.at] <= '9' || p.at == begin && p.src[p.at] == '-') {
		p.at++
	}
	var n int64
	if _, err := fmt.Sscan(p.src[begin:p.at], &n); err != nil || n > math.MaxInt32<<8 || n < -math.MaxInt32<<8 {
		p.fail("wanted a number, found %q", clip(p.src[begin:]))
	}
	return n
}

// expr reads an expression up to one of the texts that may end it outside of brackets.
func (p *parser) expr(ends string) tir.Expr {
	if p.err != nil {
		return tir.I(0)
	}
	begin, depth := p.at, 0
	for ; p.at < len(p.src); p.at++ {
		c := p.src[p.at]
		if depth == 0 && (len(ends) == 2 && strings.IndexByte(ends, c) >= 0 || len(ends) > 2 && strings.HasPrefix(p.src[p.at:], ends)) {
			break
		}
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
	}
	vars := make([]*tir.Var, 0, len(p.vars))
	for _, v := range p.vars {
		vars = append(vars, v)
	}
	e, err := tirtext.ParseExpr(p.src[begin:p.at], vars...)
	if err != nil {
		p.at = begin
		p.fail("%v", err)
		return tir.I(0)
	}
	return e
}
