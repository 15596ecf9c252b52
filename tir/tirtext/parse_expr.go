package tirtext

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

func typeText(t tir.Type) string {
	if t.Lanes == 1 {
		return t.DType.String()
	}
	return fmt.Sprintf("%v of %d lanes", t.DType, t.Lanes)
}

// typed takes an expression of a given type.
func (p *parser) typed(want tir.Type) tir.Expr {
	at := p.peek()
	e, t := p.expr(0)
	if p.err == nil && t != want {
		p.fail(at, "wanted a value of %s, found %s", typeText(want), typeText(t))
	}
	return e
}

func (p *parser) boolean() tir.Expr { return p.typed(tir.Bool) }

// infix are the binary operators by spelling; min and max are written as calls.
var infix = func() map[string]tir.BinaryOp {
	out := map[string]tir.BinaryOp{}
	for op := tir.Add; op <= tir.Or; op++ {
		if op != tir.Min && op != tir.Max {
			out[op.String()] = op
		}
	}
	return out
}()

// expr takes an expression whose operators bind at least as tight as least, and returns its type with it.
func (p *parser) expr(least int) (tir.Expr, tir.Type) {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.peek(), "nesting is deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	if p.err != nil {
		return tir.True, tir.Bool
	}
	left, t := p.operand(least)
	for p.err == nil {
		at := p.peek()
		op, ok := infix[at.text]
		if !ok || at.kind != tokMark && at.kind != tokName || at.quoted() {
			break
		}
		s := strength(op)
		if s < least {
			break
		}
		p.next()
		right, rt := p.expr(s + 1)
		p.check(at, op, t, rt)
		left = &tir.Binary{Op: op, A: left, B: right}
		if op >= tir.EQ {
			t.DType = tensor.Bool
		}
		if s == strengthCompare {
			if n, chained := infix[p.peek().text]; chained && strength(n) == strengthCompare && p.peek().kind == tokMark {
				p.fail(p.peek(), "comparisons do not chain; wanted parentheses")
			}
		}
	}
	return left, t
}

// check reports operand types that do not fit the operator.
func (p *parser) check(at token, op tir.BinaryOp, a, b tir.Type) {
	switch {
	case p.err != nil:
	case a != b:
		p.fail(at, "operands of %s are %s and %s; wanted one type", op, typeText(a), typeText(b))
	case op.IsLogical() && a.DType != tensor.Bool:
		p.fail(at, "operands of %s are %s; wanted bool", op, typeText(a))
	}
}

func (p *parser) operand(least int) (tir.Expr, tir.Type) {
	t := p.next()
	switch t.kind {
	case tokNumber:
		return p.number(t, false)
	case tokMark:
		switch t.text {
		case "(":
			e, et := p.expr(0)
			p.mark(")")
			return e, et
		case "-":
			n := p.next()
			if v, d, ok := special(n.text); ok && n.kind == tokName && !n.quoted() {
				return &tir.Float{DType: d, Value: -v}, tir.Type{DType: d, Lanes: 1}
			}
			if n.kind != tokNumber {
				p.fail(n, "wanted a number after -, found %v", n)
				return tir.True, tir.Bool
			}
			return p.number(n, true)
		}
	case tokName:
		return p.named(t, least)
	}
	p.fail(t, "wanted an expression, found %v", t)
	return tir.True, tir.Bool
}

func (p *parser) number(t token, negative bool) (tir.Expr, tir.Type) {
	digits, suffix, typed := strings.Cut(t.text, "_")
	isFloat := strings.ContainsAny(digits, ".eE")
	d := tensor.Int64
	if isFloat {
		d = tensor.Float32
	}
	if typed {
		var err error
		if d, err = tensor.ParseDType(suffix); err != nil || d.IsFloat() != isFloat {
			p.fail(t, "%q is no number of an element type", t.text)
			return tir.True, tir.Bool
		}
	}
	if negative {
		digits = "-" + digits
	}
	et := tir.Type{DType: d, Lanes: 1}
	if isFloat {
		v, err := strconv.ParseFloat(digits, 64)
		if f32, err32 := strconv.ParseFloat(digits, 32); d == tensor.Float32 {
			v, err = f32, err32
		}
		if err != nil {
			p.fail(t, "%q is no number of %v", digits, d)
		}
		return &tir.Float{DType: d, Value: v}, et
	}
	bits := d.Bits()
	var v int64
	var err error
	switch {
	case d == tensor.Bool:
		v, err = strconv.ParseInt(digits, 10, 8)
	case d.Kind() == tensor.Unsigned:
		var u uint64
		u, err = strconv.ParseUint(digits, 10, bits)
		v = int64(u)
	default:
		v, err = strconv.ParseInt(digits, 10, bits)
	}
	if err != nil {
		p.fail(t, "%q is no number of %v", digits, d)
	}
	return &tir.Int{DType: d, Value: v}, et
}

// named takes what starts with a name: a constant, not, a function, an element of a buffer or a variable.
func (p *parser) named(t token, least int) (tir.Expr, tir.Type) {
	if p.is(tokMark, "[") {
		b := p.bufs[t.text]
		if b == nil || p.open[t.text] == 0 {
			p.fail(t, "buffer %s is not in scope", t.text)
			return tir.True, tir.Bool
		}
		indices, lanes := p.indices(b, t)
		return &tir.Load{Buffer: b, Indices: indices}, tir.Type{DType: b.DType, Lanes: lanes}
	}
	if !t.quoted() {
		switch t.text {
		case "true":
			return tir.True, tir.Bool
		case "false":
			return tir.False, tir.Bool
		case "not":
			if least > strengthNot {
				p.fail(t, "wanted parentheses around not")
			}
			at := p.peek()
			e, et := p.expr(strengthNot)
			if p.err == nil && et.DType != tensor.Bool {
				p.fail(at, "wanted a value of bool, found %s", typeText(et))
			}
			return &tir.Not{A: e}, et
		}
		if v, d, ok := special(t.text); ok {
			return &tir.Float{DType: d, Value: v}, tir.Type{DType: d, Lanes: 1}
		}
		if p.is(tokMark, "(") {
			return p.call(t)
		}
	}
	v := p.vars[t.text]
	if v == nil || p.open[t.text] == 0 {
		p.fail(t, "variable %s is not in scope", t.text)
		return tir.True, tir.Bool
	}
	return v, v.Type()
}

func (p *parser) indices(b *tir.Buffer, at token) ([]tir.Expr, int) {
	indices, lanes := []tir.Expr{}, 1
	p.mark("[")
	for !p.tookMark("]") && p.err == nil {
		if len(indices) > 0 {
			p.mark(",")
		}
		here := p.peek()
		e, t := p.expr(0)
		if p.err == nil && (t.DType != tensor.Int64 || t.Lanes > 1 && lanes > 1 && t.Lanes != lanes) {
			p.fail(here, "wanted an index of int64, found %s", typeText(t))
		}
		lanes = max(lanes, t.Lanes)
		indices = append(indices, e)
	}
	if p.err == nil && len(indices) != len(b.Shape) {
		p.fail(at, "wanted %d indices of %s, found %d", len(b.Shape), at.text, len(indices))
	}
	return indices, lanes
}

var intrinsics = func() map[string]tir.Intrinsic {
	out := map[string]tir.Intrinsic{}
	for _, f := range tir.Intrinsics() {
		out[f.String()] = f
	}
	return out
}()

// call takes the arguments of a function, a conversion, select, ramp, broadcast, min or max.
func (p *parser) call(t token) (tir.Expr, tir.Type) {
	bad := func(format string, args ...any) (tir.Expr, tir.Type) {
		p.fail(t, format, args...)
		return tir.True, tir.Bool
	}
	p.next()
	switch t.text {
	case "ramp":
		base, bt := p.expr(0)
		p.mark(",")
		stride := p.typed(bt)
		p.mark(",")
		lanes := p.lanes()
		p.mark(")")
		if p.err == nil && (bt.Lanes != 1 || !bt.DType.IsInt()) {
			return bad("the base of a ramp is %s", typeText(bt))
		}
		return &tir.Ramp{Base: base, Stride: stride, Lanes: lanes}, bt.WithLanes(lanes)
	case "broadcast":
		e, et := p.expr(0)
		p.mark(",")
		lanes := p.lanes()
		p.mark(")")
		if p.err == nil && et.Lanes != 1 {
			return bad("a broadcast of %s", typeText(et))
		}
		return &tir.Broadcast{A: e, Lanes: lanes}, et.WithLanes(lanes)
	}
	var args []tir.Expr
	var types []tir.Type
	for !p.tookMark(")") && p.err == nil {
		if len(args) > 0 {
			p.mark(",")
		}
		e, et := p.expr(0)
		args, types = append(args, e), append(types, et)
	}
	if p.err != nil {
		return tir.True, tir.Bool
	}
	count := func(n int) bool {
		if len(args) != n {
			p.fail(t, "wanted %d arguments of %s, found %d", n, t.text, len(args))
		}
		return len(args) == n
	}
	if d, err := tensor.ParseDType(t.text); err == nil {
		if !count(1) {
			return tir.True, tir.Bool
		}
		return &tir.Cast{DType: d, A: args[0]}, tir.Type{DType: d, Lanes: types[0].Lanes}
	}
	switch t.text {
	case "select":
		if !count(3) {
			return tir.True, tir.Bool
		}
		c := types[0]
		if types[1] != types[2] || c.DType != tensor.Bool || c.Lanes != 1 && c.Lanes != types[1].Lanes {
			return bad("select of %s, %s, %s; wanted a bool and two of one type", typeText(c), typeText(types[1]), typeText(types[2]))
		}
		return &tir.Select{Cond: args[0], Then: args[1], Else: args[2]}, types[1]
	case "min", "max":
		op := tir.Min
		if t.text == "max" {
			op = tir.Max
		}
		if !count(2) {
			return tir.True, tir.Bool
		}
		p.check(t, op, types[0], types[1])
		return &tir.Binary{Op: op, A: args[0], B: args[1]}, types[0]
	}
	f, ok := intrinsics[t.text]
	if !ok {
		return bad("function %s is unknown", t.text)
	}
	if len(args) == 0 {
		return bad("%s has no argument", t.text)
	}
	for _, et := range types[1:] {
		if et != types[0] {
			return bad("arguments of %s are %s and %s; wanted one type", t.text, typeText(types[0]), typeText(et))
		}
	}
	out := types[0]
	if out.DType = f.Result(out.DType); out.DType == tensor.Invalid {
		return bad("%s of %s", t.text, typeText(types[0]))
	}
	return &tir.Call{Fn: f, Args: args}, out
}

func (p *parser) lanes() int {
	at := p.peek()
	n := p.count()
	if p.err == nil && (n < 2 || n > 1<<16) {
		p.fail(at, "wanted 2 to 65536 lanes, found %d", n)
	}
	return n
}
