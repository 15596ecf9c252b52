package schedule

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/proof"
	"github.com/texel-ml/texel/tir/verify"
)

// proven is what is known of a schedule's functions. Most steps leave most of what must be proven as it is.
type proven struct {
	program  *gathered       // what the schedule began with
	last     *gathered       // what the last step left that was accepted
	verified *tir.Func       // the same, but for steps that change nothing of what is proven
	decided  map[string]bool // the claims that were decided, and whether they hold
	ids      map[any]uint64  // of variables and buffers
	buf      []byte
}

// of returns what is gathered of f. Where its runs are those of the last function, so are its obligations.
func (p *proven) of(f *tir.Func) *gathered {
	if p.last == nil {
		return gather(f, nil)
	}
	if p.last.fn == f {
		return p.last
	}
	g := gather(f, p.last)
	g.holds = p.last.holds && slices.Equal(g.runs, p.last.runs)
	return g
}

// verify returns why f is not legal.
func (p *proven) verify(f *tir.Func) error {
	if p.verified == nil {
		return verify.Verify(f)
	}
	return verify.Since(p.verified, f)
}

func newProven() *proven { return &proven{decided: map[string]bool{}, ids: map[any]uint64{}} }

// discharge returns the claims that fulfil an obligation, or why none do.
func (p *proven) discharge(o *Obligation) ([]*proof.Claim, error) {
	if o.Fault != nil {
		return nil, o.Fault
	}
	list := []*proof.Claim{o.Claim}
	if len(o.Or) > 0 {
		if p.holds(o.Claim) {
			return list, nil
		}
		list = o.Or
	}
	for _, c := range list {
		if err := p.decide(c); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// check decides an obligation.
func (p *proven) check(o *Obligation) error {
	_, err := p.discharge(o)
	return err
}

// decide is proof.Check, of a claim that holds once.
func (p *proven) decide(c *proof.Claim) error {
	if p.key(c); p.decided[string(p.buf)] {
		return nil
	}
	err := proof.Check(c)
	p.decided[string(p.buf)] = err == nil
	return err
}

// holds is decide for those who do not ask why not.
func (p *proven) holds(c *proof.Claim) bool {
	p.key(c)
	holds, done := p.decided[string(p.buf)]
	return holds || !done && p.decide(c) == nil
}

// text is the same for the same claims over the same variables, about blocks in the same loops.
func (p *proven) text(o *Obligation) string {
	p.buf = p.buf[:0]
	if o.Fault != nil {
		p.buf = append(p.buf, o.Fault.Error()...)
	} else {
		p.claim(o.Claim)
		for _, c := range o.Or {
			p.claim(c)
		}
	}
	for _, x := range o.runs {
		p.buf = append(p.buf, x.block.Name...)
		for _, f := range x.loops {
			p.id(f.Var)
			kind := f.Kind
			if inOrder(f) {
				kind = tir.Serial
			}
			p.number(int64(kind))
		}
		for _, v := range x.values {
			p.expr(v)
		}
		p.expr(x.where)
	}
	return string(p.buf)
}

// The methods below write a claim as bytes: the same for the same claim over the same variables, however it was built.

func (p *proven) key(c *proof.Claim) {
	p.buf = p.buf[:0]
	p.claim(c)
}

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
	p.id(c.Loop)
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
	p.expr(s.Where)
}

// expr writes an expression, operators before their operands.
func (p *proven) expr(e tir.Expr) {
	switch n := e.(type) {
	case nil:
		p.buf = append(p.buf, '-')
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
