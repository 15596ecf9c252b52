package llvm

import (
	"fmt"
	"math"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// llc runs instruction selection, loop strength reduction and register allocation, but no pass of the middle end: what a
// compiler usually leaves to mem2reg, value numbering and invariant code motion happens here, while emitting.
//
//   - Every pure instruction goes through emitter.op, which numbers values (an equal instruction that dominates is
//     reused) and places each as far out as its operands allow: in the preheader of the outermost loop that they do not
//     depend on.
//   - Integer index expressions are kept as linear forms over such values, see address.go.
//   - Local buffers are values, and loops get their phis at once, see locals.go.

// val is a value of the function under construction.
type val struct {
	value.Value
	t     tok
	id    int32
	level int // the innermost frame that it depends on; constants and arguments have 0

	isInt  bool // an integer constant (or a splat of one), n
	n      int64
	lo, hi int64   // range of an i64 (of each lane)
	lin    *linear // i64 scalars that are sums; nil is an atom
	notNaN bool
	splat  *val // the scalar of which this is copies
}

// frame is a region of code in which values that were emitted dominate what follows. Frames are loops or branches.
type frame struct {
	loop bool
	pre  *ir.Block // loops: the preheader, where invariant code goes
	vn   map[opKey]*val
	lds  map[loadKey]loaded
}

// opKey identifies a pure instruction: two with one key are one value.
type opKey struct {
	tmpl string
	t    tok
	a    [3]int32
	more string
}

type loadKey struct {
	p int32
	t tok
}

type loaded struct {
	v     *val
	epoch int
}

// emitter writes one function.
type emitter struct {
	m *module
	code
	kernel *tir.Kernel
	plan   *plan
	frames []*frame
	ids    int32
	konsts map[konst]*val
	vars   map[*tir.Var]*val
	mems   map[*tir.Buffer]*memory
	ssa    map[*tir.Buffer]*slotSet // local buffers in scope that are values
	epochs map[*tir.Buffer]int      // counts writes: a load is reused as long as its buffer's number stands
	slots  []*val                   // the current value of each slot, nil is undefined
	mask   *val                     // lanes that may touch memory, nil is all
	ahead  string                   // the buffer that the innermost loop fetches ahead
	entry  *ir.Block
	arg    [5]*val

	scratch     int    // bytes of scratch memory in use
	scratchMeta string // metadata of accesses to it
	stack       int    // bytes on the stack
}

// fault carries a typed error through the recursion; Build turns it back into an error.
type fault struct{ err *diag.Error }

func (e *emitter) fail(format string, args ...any) {
	panic(fault{diag.Internal("llvm", e.kernel.Name, format, args...)})
}

func (e *emitter) unsupported(format string, args ...any) {
	panic(fault{diag.Unsupported("llvm", e.kernel.Name, format, args...)})
}

func newEmitter(m *module, f *ir.Func) *emitter {
	e := &emitter{m: m, code: code{f: f}, konsts: map[konst]*val{}, vars: map[*tir.Var]*val{}, mems: map[*tir.Buffer]*memory{}, ssa: map[*tir.Buffer]*slotSet{},
		epochs: map[*tir.Buffer]int{}}
	e.entry = e.newBlock()
	e.at(e.entry)
	e.frames = []*frame{newFrame(nil)}
	return e
}

func newFrame(pre *ir.Block) *frame {
	return &frame{loop: pre != nil, pre: pre, vn: map[opKey]*val{}, lds: map[loadKey]loaded{}}
}

func (e *emitter) top() int { return len(e.frames) - 1 }

func (e *emitter) push(f *frame) { e.frames = append(e.frames, f) }

func (e *emitter) pop() { e.frames = e.frames[:len(e.frames)-1] }

// wrap makes a val of a value that is available from level on.
func (e *emitter) wrap(v value.Value, t tok, level int) *val {
	e.ids++
	return &val{Value: v, t: t, id: e.ids, level: level, lo: math.MinInt64, hi: math.MaxInt64}
}

// again is v at another level: the same value seen after the loop that made it.
func again(v *val, level int) *val {
	c := *v
	c.level, c.lin = level, nil
	return &c
}

// op emits a pure instruction, or finds it.
func (e *emitter) op(t tok, tmpl string, args ...*val) *val {
	key := opKey{tmpl: tmpl, t: t}
	level := 0
	for i, a := range args {
		level = max(level, a.level)
		if i < len(key.a) {
			key.a[i] = a.id
		} else {
			key.more += fmt.Sprint(" ", a.id)
		}
	}
	for i := e.top(); i >= level; i-- {
		if v, ok := e.frames[i].vn[key]; ok {
			return v
		}
	}
	r := &raw{t: t, tmpl: tmpl, args: values(args)}
	at := e.place(level, t == i64 || t == ptr)
	if at < 0 {
		e.b.Insts = append(e.b.Insts, r)
		v := e.wrap(r, t, e.top())
		e.frames[e.top()].vn[key] = v
		return v
	}
	f := e.frames[at]
	f.pre.Insts = append(f.pre.Insts, r)
	v := e.wrap(r, t, at-1)
	f.vn[key] = v
	return v
}

// place returns the outermost loop frame above level, whose preheader can hold an instruction whose operands are of that
// level, or -1. Only cheap instructions leave a branch: others may never be needed.
func (e *emitter) place(level int, cheap bool) int {
	at := -1
	for i := e.top(); i > level; i-- {
		if e.frames[i].loop {
			at = i
		} else if !cheap {
			break
		}
	}
	return at
}

func values(args []*val) []value.Value {
	out := make([]value.Value, len(args))
	for i, a := range args {
		out[i] = a.Value
	}
	return out
}

// here emits an instruction with a result at the current place, without looking for an equal one.
func (e *emitter) here(t tok, tmpl string, args ...*val) *val {
	return e.wrap(e.emit(t, tmpl, values(args)...), t, e.top())
}

// act emits an instruction without a result.
func (e *emitter) act(tmpl string, args ...*val) { e.do(tmpl, values(args)...) }

// call emits a call of a function of LLVM's own that has operands of one type and a result of type t.
func (e *emitter) call(name string, t tok, args ...*val) *val {
	full := "llvm." + name + "." + mangle(args[0].t)
	params := make([]tok, len(args))
	tmpl := "call " + string(t) + " @" + full + "("
	for i, a := range args {
		params[i] = a.t
		if i > 0 {
			tmpl += ", "
		}
		tmpl += fmt.Sprintf("$%d", i)
	}
	e.m.declare(full, t, params...)
	return e.op(t, tmpl+")", args...)
}

// mangle is the suffix of an intrinsic's name for a type.
func mangle(t tok) string {
	elem, n := split(t)
	s := map[tok]string{"float": "f32", "double": "f64", "half": "f16", ptr: "p0"}[elem]
	if s == "" {
		s = string(elem)
	}
	if n > 1 {
		return fmt.Sprintf("v%d%s", n, s)
	}
	return s
}

// vec returns the type of n lanes of elem; one lane is a scalar.
func vec(elem tok, n int) tok {
	if n == 1 {
		return elem
	}
	return tok(fmt.Sprintf("<%d x %s>", n, elem))
}

// split takes a vector type apart.
func split(t tok) (elem tok, n int) {
	if t[0] != '<' {
		return t, 1
	}
	var s string
	fmt.Sscanf(string(t), "<%d x %s", &n, &s)
	return tok(s[:len(s)-1]), n
}

// konst returns a constant as a value.
func (e *emitter) konst(k konst) *val {
	if v, ok := e.konsts[k]; ok {
		return v
	}
	v := e.wrap(k, k.t, 0)
	e.konsts[k] = v
	return v
}

// int returns n as a constant of type t, in all lanes when t is a vector.
func (e *emitter) int(t tok, n int64) *val {
	elem, lanes := split(t)
	if elem == i1 {
		n &= 1
	}
	v := e.konst(splatConst(intConst(elem, n), lanes))
	v.isInt, v.n, v.lo, v.hi = true, n, n, n
	if lanes > 1 {
		v.splat = e.int(elem, n)
	}
	return v
}

func (e *emitter) index(n int64) *val { return e.int(i64, n) }

// float returns f as a constant of type t, in all lanes when t is a vector. f must be rounded to the element type.
func (e *emitter) float(t tok, f float64) *val {
	elem, lanes := split(t)
	v := e.konst(splatConst(konst{elem, floatText(elem, f)}, lanes))
	v.notNaN = f == f
	if lanes > 1 {
		v.splat = e.konst(konst{elem, floatText(elem, f)})
		v.splat.notNaN = v.notNaN
	}
	return v
}

func splatConst(k konst, lanes int) konst {
	if lanes == 1 {
		return k
	}
	return konst{vec(k.t, lanes), "splat (" + string(k.t) + " " + k.s + ")"}
}

func (e *emitter) poison(t tok) *val { return e.konst(konst{t, "poison"}) }

// broadcast copies a scalar to n lanes.
func (e *emitter) broadcast(a *val, n int) *val {
	if n == 1 {
		return a
	}
	t := vec(a.t, n)
	if k, ok := a.Value.(konst); ok {
		if k.s == "poison" {
			return e.poison(t)
		}
		v := e.konst(splatConst(k, n))
		v.isInt, v.n, v.lo, v.hi, v.notNaN, v.splat = a.isInt, a.n, a.lo, a.hi, a.notNaN, a
		return v
	}
	one := e.op(t, "insertelement "+string(t)+" poison, $0, i32 0", a)
	v := e.op(t, fmt.Sprintf("shufflevector $0, %s poison, <%d x i32> zeroinitializer", t, n), one)
	v.splat, v.lo, v.hi, v.notNaN = a, a.lo, a.hi, a.notNaN
	return v
}

// lane returns lane i of a vector.
func (e *emitter) lane(v *val, i int) *val {
	elem, n := split(v.t)
	switch {
	case n == 1:
		return v
	case v.splat != nil:
		return v.splat
	}
	r := e.op(elem, fmt.Sprintf("extractelement $0, i32 %d", i), v)
	r.lo, r.hi, r.notNaN = v.lo, v.hi, v.notNaN
	return r
}

// build makes a vector of scalars.
func (e *emitter) build(lanes []*val) *val {
	if len(lanes) == 1 {
		return lanes[0]
	}
	t := vec(lanes[0].t, len(lanes))
	v := e.poison(t)
	for i, l := range lanes {
		v = e.op(t, fmt.Sprintf("insertelement $0, $1, i32 %d", i), v, l)
	}
	return v
}

// sel is a select without laziness.
func (e *emitter) sel(c, a, b *val) *val {
	if c.isInt {
		if c.n != 0 {
			return a
		}
		return b
	}
	if a == b {
		return a
	}
	_, nc := split(c.t)
	if _, na := split(a.t); na > nc && c.splat == nil && nc > 1 {
		e.fail("select of %s by %s", a.t, c.t)
	}
	if c.splat != nil {
		c = c.splat
	}
	r := e.op(a.t, "select $0, $1, $2", c, a, b)
	r.lo, r.hi, r.notNaN = min(a.lo, b.lo), max(a.hi, b.hi), a.notNaN && b.notNaN
	return r
}

func (e *emitter) not(c *val) *val {
	if c.isInt {
		return e.int(c.t, 1-c.n)
	}
	return e.op(c.t, "xor $0, %1", c, e.int(c.t, 1))
}

// any reports whether a lane of a mask is set.
func (e *emitter) any(m *val) *val {
	if m.splat != nil {
		return m.splat
	}
	return e.call("vector.reduce.or", i1, m)
}

// branch emits yes and no, either of which may be nil, behind a scalar condition and returns the phi of their results,
// nil when they have none. Values of slots are merged.
func (e *emitter) branch(c *val, yes, no func() *val) *val {
	type side struct {
		end   *ir.Block
		v     *val
		slots []*val
	}
	before := append([]*val(nil), e.slots...)
	from, then, merge := e.b, e.newBlock(), e.newBlock()
	els := merge
	if no != nil {
		els = e.newBlock()
	}
	e.condBr(c.Value, then, els)
	emit := func(b *ir.Block, body func() *val) side {
		copy(e.slots, before)
		e.at(b)
		e.push(newFrame(nil))
		v := body()
		e.pop()
		e.br(merge)
		return side{e.b, v, append([]*val(nil), e.slots...)}
	}
	a := emit(then, yes)
	b := side{from, nil, before}
	if no != nil {
		b = emit(els, no)
	}
	e.at(merge)
	for i := range e.slots {
		if e.slots[i] = before[i]; a.slots[i] != b.slots[i] {
			e.slots[i] = e.join(a.slots[i], a.end, b.slots[i], b.end)
		}
	}
	if a.v == nil {
		return nil
	}
	if b.v == nil {
		b.v = e.poison(a.v.t)
	}
	return e.join(a.v, a.end, b.v, b.end)
}

// join is the phi of two values; nil is undefined. It must come before the block's other instructions.
func (e *emitter) join(a *val, from *ir.Block, b *val, other *ir.Block) *val {
	t := tok("")
	if a != nil {
		t = a.t
	} else {
		t = b.t
	}
	if a == nil {
		a = e.poison(t)
	}
	if b == nil {
		b = e.poison(t)
	}
	p := e.phi(t)
	incoming(p, a.Value, from)
	incoming(p, b.Value, other)
	v := e.wrap(p, t, e.top())
	v.lo, v.hi, v.notNaN = min(a.lo, b.lo), max(a.hi, b.hi), a.notNaN && b.notNaN
	return v
}

// regType is the type of values of an element type: bool is i1, bfloat16 its bits.
func regType(t tir.Type) tok { return vec(regElem(t.DType), t.Lanes) }

func regElem(d tensor.DType) tok {
	switch d {
	case tensor.Float32:
		return "float"
	case tensor.Float64:
		return "double"
	case tensor.Float16:
		return "half"
	case tensor.BFloat16:
		return "i16"
	case tensor.Bool:
		return i1
	}
	return tok(fmt.Sprintf("i%d", d.Bits()))
}

// memElem is the type in memory: bool takes a byte.
func memElem(d tensor.DType) tok {
	if d == tensor.Bool {
		return i8
	}
	return regElem(d)
}

var voidType = types.Void
