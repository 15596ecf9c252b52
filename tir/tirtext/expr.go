package tirtext

import "github.com/texel-ml/texel/tir"

// ParseExpr reads the text of an expression over the given variables, by their names.
func ParseExpr(text string, vars ...*tir.Var) (tir.Expr, error) {
	p, err := newParser("", text)
	if err != nil {
		return nil, err
	}
	for _, v := range vars {
		p.vars[v.Name], p.open[v.Name] = v, 1
	}
	e, _ := p.expr(0)
	if p.peek().kind == tokNewline {
		p.next()
	}
	if p.err == nil && p.peek().kind != tokEnd {
		p.wanted("the end of the expression")
	}
	return e, p.err
}
