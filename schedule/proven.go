package schedule

import (
	"encoding/binary"
	"math"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/proof"
	"github.com/texel-ml/texel/tir/verify"
)

// proven remembers the obligations that were found fulfilled, since most steps leave most of them as they are, and what was
// gathered of functions.
type proven struct {
	program, last gathered
	verified      *tir.Func // the last function that was found legal
	done          map[string]bool
	ids           map[any]uint64 // of variables and buffers
	buf           []byte
}

// gathered is a function with what was gathered of it.
type gathered struct {
	fn   *tir.Func
	runs []*instances
}

// of returns what is gathered of f, which most times is the function that it was asked of last.
func (g *gathered) of(f *tir.Func) []*instances {
	if g.fn != f {
		g.fn, g.runs = f, gather(f)
	}
	return g.runs
}

// verify returns why f is not legal.
func (p *proven) verify(f *tir.Func) error {
	if p.verified == nil {
		return verify.Verify(f)
	}
	return verify.Since(p.verified, f)
}

func newProven() *proven { return &proven{done: map[string]bool{}, ids: map[any]uint64{}} }

// check decides an obligation, once for the same claim.
func (p *proven) check(o *Obligation) error {
	if o.Fault != nil {
		return o.Fault
	}
	if p.write(o); p.done[string(p.buf)] {
		return nil
	}
	err := o.Check()
	if err == nil {
		p.done[string(p.buf)] = true
	}
	return err
}

// text is the same for the same claims over the same variables, about blocks in the same loops.
func (p *proven) text(o *Obligation) string {
	p.write(o)
	for _, x := range o.runs {
		p.buf = append(p.buf, x.block.Name...)
		for _, f := range x.loops {
			p.id(f.Var)
			p.number(int64(f.Kind))
		}
		for _, v := range x.values {
			p.expr(v)
		}
		if x.where != nil {
			p.expr(x.where)
		}
	}
	return string(p.buf)
}

func (p *proven) write(o *Obligation) {
	p.buf = p.buf[:0]
	if o.Fault != nil {
		p.buf = append(p.buf, o.Fault.Error()...)
		return
	}
	p.claim(o.Claim)
	for _, c := range o.Or {
		p.claim(c)
	}
}

// The methods below write a claim as bytes: the same for the same claim over the same variables, however it was built.

func (p *proven) number(n int64) { p.buf = binary.AppendVarint(p.buf, n) }

func (p *proven) id(x any) {
	id, ok := p.ids[x]
	if !ok {
		id = uint64(len(p.ids))
		p.ids[x] = id
	}
	p.buf = binary.AppendUvarint(p.buf, id)
}

func (p *proven) claim(c *proof.Claim) {
	p.number(int64(c.Kind))
	p.vars(c.Fixed)
	p.side(c.Side)
	p.number(int64(len(c.By)))
	for _, s := range c.By {
		p.side(s)
	}
	p.number(int64(len(c.Range)))
	for _, n := range c.Range {
		p.number(n)
	}
	if c.Loop != nil {
		p.id(c.Loop)
	}
}

func (p *proven) vars(list []proof.Var) {
	p.number(int64(len(list)))
	for _, v := range list {
		p.id(v.Var)
		p.number(v.Min)
		p.number(v.Extent)
	}
}

func (p *proven) side(s proof.Side) {
	p.vars(s.Vars)
	p.number(int64(len(s.Map)))
	for _, e := range s.Map {
		p.expr(e)
	}
	if s.Where != nil {
		p.expr(s.Where)
	}
}

// expr writes an expression, operators before their operands.
func (p *proven) expr(e tir.Expr) {
	switch n := e.(type) {
	case *tir.Var:
		p.buf = append(p.buf, 'v')
		p.id(n)
	case *tir.Int:
		p.buf = append(p.buf, 'i')
		p.number(n.Value)
	case *tir.Float:
		p.buf = append(p.buf, 'f')
		p.number(int64(math.Float64bits(n.Value)))
	case *tir.Binary:
		p.buf = append(p.buf, 'b', byte(n.Op))
		p.expr(n.A)
		p.expr(n.B)
	case *tir.Not:
		p.buf = append(p.buf, 'n')
		p.expr(n.A)
	case *tir.Select:
		p.buf = append(p.buf, 's')
		p.expr(n.Cond)
		p.expr(n.Then)
		p.expr(n.Else)
	default: // such a claim is its own
		p.buf = append(p.buf, '?')
		p.id(e)
	}
}
