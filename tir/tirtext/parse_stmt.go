package tirtext

import (
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// suite takes ":" and the indented lines.
func (p *parser) suite() tir.Stmt {
	p.mark(":")
	p.newline()
	p.indent()
	s := p.lines()
	p.dedent()
	return s
}

func (p *parser) indent() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.peek(), "nesting is deeper than %d", maxDepth)
	}
	if p.peek().kind != tokIndent {
		p.wanted("a deeper indentation")
		return
	}
	p.next()
}

func (p *parser) dedent() {
	p.depth--
	if p.peek().kind != tokDedent {
		p.wanted("a statement")
		return
	}
	p.next()
}

// lines takes statements up to the end of the indentation.
func (p *parser) lines() tir.Stmt {
	var list []tir.Stmt
	for p.err == nil {
		if t := p.peek(); t.kind == tokDedent || t.kind == tokEnd {
			break
		}
		if p.is(tokName, "pass") && len(list) == 0 {
			p.next()
			p.newline()
			return nil
		}
		list = append(list, p.stmt())
	}
	if len(list) == 0 {
		p.wanted("a statement")
		return nil
	}
	return tir.Block1(list...)
}

func (p *parser) stmt() tir.Stmt {
	t := p.peek()
	if t.kind != tokName {
		p.wanted("a statement")
		return nil
	}
	switch t.text {
	case "for":
		return p.loop()
	case "block":
		return p.block()
	case "seq":
		p.next()
		p.mark(":")
		p.newline()
		p.indent()
		seq := &tir.Seq{}
		if p.took("pass") {
			p.newline()
		}
		for p.err == nil && p.peek().kind != tokDedent {
			seq.Stmts = append(seq.Stmts, p.stmt())
		}
		p.dedent()
		return seq
	case "if":
		p.next()
		cond := p.boolean()
		s := &tir.If{Cond: cond, Then: p.suite()}
		if p.took("else") {
			s.Else = p.suite()
		}
		return s
	case "while":
		p.next()
		cond := p.boolean()
		return &tir.While{Cond: cond, Body: p.suite()}
	case "let":
		p.next()
		name, d := p.next(), tensor.Int64
		if p.tookMark(":") {
			d = p.dtype()
		}
		p.mark("=")
		at := p.peek()
		value, vt := p.expr(0)
		if want := (tir.Type{DType: d, Lanes: 1}); p.err == nil && vt != want {
			p.fail(at, "wanted a value of %v, found %s", d, typeText(vt))
		}
		v := p.newVar(name, d)
		s := &tir.Let{Var: v, Value: value, Body: p.suite()}
		p.close(name.text)
		return s
	case "allocate":
		p.next()
		b, spelling := p.declareBuffer()
		attrs := p.attrs()
		s := &tir.Allocate{Buffer: b, Attrs: attrs, Body: p.suite()}
		p.close(spelling)
		return s
	case "barrier":
		p.next()
		s := &tir.Barrier{Scope: p.scope(tir.Shared)}
		p.newline()
		return s
	case "evaluate":
		p.next()
		e, _ := p.expr(0)
		p.newline()
		return &tir.Evaluate{Value: e}
	}
	return p.store()
}

func (p *parser) store() tir.Stmt {
	t := p.next()
	b := p.bufs[t.text]
	if b == nil || p.open[t.text] == 0 {
		p.fail(t, "wanted a statement or a buffer to store to, found %v", t)
		return nil
	}
	indices, lanes := p.indices(b, t)
	p.mark("=")
	at := p.peek()
	value, vt := p.expr(0)
	if want := (tir.Type{DType: b.DType, Lanes: lanes}); p.err == nil && vt != want {
		p.fail(at, "wanted a value of %s, found %s", typeText(want), typeText(vt))
	}
	p.newline()
	return &tir.Store{Buffer: b, Indices: indices, Value: value}
}

func (p *parser) loop() tir.Stmt {
	p.next()
	name, d := p.next(), tensor.Int64
	if p.tookMark(":") {
		d = p.dtype()
	}
	f := &tir.For{}
	p.word("in")
	p.word("range")
	p.mark("(")
	f.Min = p.typed(tir.Type{DType: d, Lanes: 1})
	p.mark(",")
	f.Extent = p.typed(tir.Type{DType: d, Lanes: 1})
	for p.tookMark(",") {
		switch {
		case p.took("kind"):
			p.mark("=")
			f.Kind = p.loopKind()
		case p.took("thread"):
			p.mark("=")
			f.Thread = p.quoted("a grid axis")
		default:
			p.wanted(`"kind" or "thread"`)
		}
	}
	p.mark(")")
	f.Attrs = p.attrs()
	f.Var = p.newVar(name, d)
	f.Body = p.suite()
	p.close(name.text)
	return f
}

func (p *parser) loopKind() tir.LoopKind {
	t := p.next()
	for k := tir.Serial; k <= tir.Bound; k++ {
		if t.kind == tokName && t.text == k.String() {
			return k
		}
	}
	p.fail(t, "wanted serial, parallel, vectorized, unrolled or bound, found %v", t)
	return tir.Serial
}

func (p *parser) block() tir.Stmt {
	p.next()
	b := &tir.Block{Name: p.anyName()}
	r := &tir.BlockRealize{Block: b}
	var names []token
	p.mark("(")
	for !p.tookMark(")") && p.err == nil {
		if len(names) > 0 {
			p.mark(",")
		}
		names = append(names, p.next())
		p.mark(":")
		iv := tir.IterVar{Var: &tir.Var{DType: tensor.Int64}}
		if d, err := tensor.ParseDType(p.peek().text); err == nil {
			p.next()
			iv.Var.DType = d
		}
		iv.Kind = p.iterKind()
		p.mark("[")
		iv.Extent = p.count()
		p.mark("]")
		p.mark("=")
		r.Values = append(r.Values, p.typed(iv.Var.Type()))
		b.Iters = append(b.Iters, iv)
	}
	if p.took("where") {
		r.Where = p.boolean()
	}
	b.Opaque = p.took("opaque")
	b.Attrs = p.attrs()
	for i, t := range names {
		b.Iters[i].Var = p.newVar(t, b.Iters[i].Var.DType)
	}
	p.mark(":")
	p.newline()
	p.indent()
	if p.took("reads") {
		b.Reads = p.regions()
	}
	if p.took("writes") {
		b.Writes = p.regions()
	}
	var opened []string
	for p.took("alloc") {
		buf, spelling := p.declareBuffer()
		b.Allocs = append(b.Allocs, buf)
		opened = append(opened, spelling)
		p.newline()
	}
	if p.took("init") {
		b.Init = p.suite()
	}
	b.Body = p.lines()
	p.dedent()
	for _, t := range names {
		p.close(t.text)
	}
	for _, s := range opened {
		p.close(s)
	}
	return r
}

func (p *parser) iterKind() tir.IterKind {
	t := p.next()
	for k := tir.Spatial; k <= tir.Ordered; k++ {
		if t.kind == tokName && t.text == k.String() {
			return k
		}
	}
	p.fail(t, "wanted spatial, reduce or ordered, found %v", t)
	return tir.Spatial
}

func (p *parser) regions() []tir.Region {
	var out []tir.Region
	for p.err == nil {
		t := p.next()
		b := p.bufs[t.text]
		if b == nil { // a block may read what it allocates further down
			p.fail(t, "wanted a buffer, found %v", t)
			return nil
		}
		r := tir.Region{Buffer: b, Ranges: []tir.Range{}}
		p.mark("[")
		for !p.tookMark("]") && p.err == nil {
			if len(r.Ranges) > 0 {
				p.mark(",")
			}
			lo := p.typed(tir.Index)
			p.mark("+:")
			r.Ranges = append(r.Ranges, tir.Range{Min: lo, Extent: p.typed(tir.Index)})
		}
		if len(r.Ranges) != len(b.Shape) {
			p.fail(t, "wanted %d axes of %s, found %d", len(b.Shape), t.text, len(r.Ranges))
		}
		out = append(out, r)
		if !p.tookMark(",") {
			break
		}
	}
	p.newline()
	return out
}
