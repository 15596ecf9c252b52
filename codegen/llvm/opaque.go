package llvm

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// llir knows typed pointers only, has no bfloat and none of the syntax that came after LLVM 14. Its type and value
// interfaces are open, so a type here is the text of a type, a constant is the text of a constant, and an instruction
// is a template of text with operands. Modules, functions, blocks, phis, terminators, attributes and metadata are
// llir's own.

// tok is a type by its text: "ptr", "<16 x float>".
type tok string

// The common types.
const (
	ptr tok = "ptr"
	i1  tok = "i1"
	i8  tok = "i8"
	i32 tok = "i32"
	i64 tok = "i64"
)

// String returns the text.
func (t tok) String() string { return string(t) }

// LLString returns the text.
func (t tok) LLString() string { return string(t) }

// Equal compares by text.
func (t tok) Equal(u types.Type) bool { return string(t) == u.String() }

// Name returns nothing: these types have no alias.
func (tok) Name() string { return "" }

// SetName does nothing.
func (tok) SetName(string) {}

// konst is a constant by its text.
type konst struct {
	t tok
	s string
}

// Type is the constant's type.
func (k konst) Type() types.Type { return k.t }

// Ident is the constant's text.
func (k konst) Ident() string { return k.s }

// String is type and text.
func (k konst) String() string { return string(k.t) + " " + k.s }

// intConst returns an integer constant.
func intConst(t tok, v int64) konst { return konst{t, strconv.FormatInt(v, 10)} }

// floatText spells a floating-point constant of LLVM type t exactly. v must already be rounded to t: LLVM refuses a
// float whose hexadecimal double has more digits than fit.
func floatText(t tok, v float64) string {
	if t == "half" {
		return fmt.Sprintf("0xH%04X", halfBits(v))
	}
	return fmt.Sprintf("0x%016X", math.Float64bits(v))
}

// raw is an instruction given by a template. In the template $0 is operand 0 with its type, %0 is it without, and $$ is a
// dollar; digits stand for at most ten operands.
type raw struct {
	ir.LocalIdent
	ir.Instruction // nil; makes this an instruction of llir
	t              types.Type
	tmpl           string
	args           []value.Value
}

// Type is the result's type.
func (r *raw) Type() types.Type { return r.t }

// String is type and name of the result.
func (r *raw) String() string { return r.t.String() + " " + r.Ident() }

// Operands is empty: nothing rewrites operands.
func (r *raw) Operands() []*value.Value { return nil }

// LLString prints the instruction.
func (r *raw) LLString() string {
	var b strings.Builder
	if r.t != types.Void {
		b.WriteString(r.Ident())
		b.WriteString(" = ")
	}
	s := r.tmpl
	for {
		i := strings.IndexAny(s, "$%")
		if i < 0 || i+1 == len(s) {
			break
		}
		d := s[i+1]
		if s[i] == '$' && d == '$' {
			b.WriteString(s[:i+1])
			s = s[i+2:]
			continue
		}
		if d < '0' || d > '9' {
			b.WriteString(s[:i+1])
			s = s[i+1:]
			continue
		}
		b.WriteString(s[:i])
		if a := r.args[d-'0']; s[i] == '$' {
			b.WriteString(a.String())
		} else {
			b.WriteString(a.Ident())
		}
		s = s[i+2:]
	}
	b.WriteString(s)
	return b.String()
}

// attr is a function or parameter attribute by its text.
type attr string

// String returns the text.
func (a attr) String() string { return string(a) }

// IsFuncAttribute makes it a function attribute.
func (attr) IsFuncAttribute() {}

// IsParamAttribute makes it a parameter attribute.
func (attr) IsParamAttribute() {}

// code appends to a function, one block at a time.
type code struct {
	f *ir.Func
	b *ir.Block
}

// newBlock adds a block to the function without moving to it.
func (c *code) newBlock() *ir.Block {
	b := c.f.NewBlock("")
	return b
}

// at moves to a block.
func (c *code) at(b *ir.Block) { c.b = b }

// emit appends an instruction with a result.
func (c *code) emit(t tok, tmpl string, args ...value.Value) value.Value {
	r := &raw{t: t, tmpl: tmpl, args: args}
	c.b.Insts = append(c.b.Insts, r)
	return r
}

// do appends an instruction without a result.
func (c *code) do(tmpl string, args ...value.Value) {
	c.b.Insts = append(c.b.Insts, &raw{t: types.Void, tmpl: tmpl, args: args})
}

// br ends the block with a jump.
func (c *code) br(to *ir.Block) { c.b.Term = ir.NewBr(to) }

// condBr ends the block with a branch on an i1.
func (c *code) condBr(cond value.Value, yes, no *ir.Block) { c.b.Term = ir.NewCondBr(cond, yes, no) }

// phi puts a phi without incoming edges at the end of the block's phis; the block must hold nothing else yet.
func (c *code) phi(t tok) *ir.InstPhi {
	p := &ir.InstPhi{Typ: t}
	c.b.Insts = append(c.b.Insts, p)
	return p
}

// incoming adds an edge to a phi.
func incoming(p *ir.InstPhi, x value.Value, from *ir.Block) {
	p.Incs = append(p.Incs, &ir.Incoming{X: x, Pred: from})
}

// halfBits rounds v, nearest even, to IEEE half precision.
func halfBits(v float64) uint16 {
	b := math.Float64bits(v)
	sign := uint16(b >> 48 & 0x8000)
	b &^= 1 << 63
	switch {
	case b > 0x7ff0000000000000:
		return sign | 0x7e00
	case b >= 0x40f0000000000000-(1<<41)*2: // at least 65520 rounds to infinity
		if math.Float64frombits(b) >= 65520 {
			return sign | 0x7c00
		}
	}
	if f := math.Float64frombits(b); f < 0x1p-14 { // subnormal: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(f*0x1p24))
	}
	b += 1<<41 - 1 + b>>42&1
	return sign | uint16(b>>42-(1023-15)<<10)
}
