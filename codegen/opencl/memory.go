package opencl

import (
	"fmt"
	"slices"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/texture"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// local is a private buffer. Where all its accesses are vectors of the same lanes at multiples of them it is made of
// such vectors; a single element or vector is a plain variable.
type local struct {
	lanes  int // of an element of the array
	single bool
}

// maxPrivate is how large a private buffer may be, in bytes. More would not be registers on any device.
const maxPrivate = 16 << 10

// offset returns the place of an element in a dense buffer, from scalar indices.
func (e *emitter) offset(b *tir.Buffer, indices []tir.Expr) tir.Expr {
	var at tir.Expr = tir.I(0)
	for i, stride := range b.StrideList() {
		at = tir.Plus(at, tir.Times(indices[i], tir.I(stride)))
	}
	return e.a.Simplify(at)
}

// run splits indices of several lanes into the offset of lane 0 and the distance of neighbouring lanes, where that is
// one number.
func (e *emitter) run(b *tir.Buffer, indices []tir.Expr) (base tir.Expr, stride int64, ok bool) {
	scalars := make([]tir.Expr, len(indices))
	for i, x := range indices {
		scalars[i] = x
		switch n := x.(type) {
		case *tir.Ramp:
			step, constant := tir.AsInt(n.Stride)
			if !constant {
				return nil, 0, false
			}
			scalars[i] = n.Base
			stride += step * int64(b.StrideList()[i])
		case *tir.Broadcast:
			scalars[i] = n.A
		default:
			if x.Type().Lanes > 1 {
				return nil, 0, false
			}
		}
	}
	return e.offset(b, scalars), stride, true
}

// place returns the text of name plus an offset.
func (e *emitter) place(name string, at tir.Expr) string {
	if tir.IsConst(at, 0) {
		return name
	}
	return name + " + " + e.expr(at).at(addPrec)
}

// load reads a buffer.
func (e *emitter) load(x *tir.Load) code {
	b, t := x.Buffer, x.Type()
	e.checkType(b.DType)
	if b.Scope == tir.Texture {
		return e.loadTexel(x)
	}
	name := e.name(b)
	wide := b.DType == tensor.Int64
	if l := e.locals[b]; l != nil && l.lanes > 1 {
		base, _, _ := e.run(b, x.Indices)
		vector := e.element(name, l, base)
		if t.Lanes > 1 {
			return e.fromMemory(b, code{s: vector, prec: primary}, t.Lanes)
		}
		at, known := tir.AsInt(e.a.Simplify(tir.Bin(tir.FloorMod, base, tir.I(l.lanes)))) // of a vector that is evaluated lane by lane
		if !known {
			e.fail("a lane of %s is computed", b.Name)
		}
		return e.oneLane(code{s: vector + swizzle16(int(at), l.lanes), prec: primary}, b.DType)
	}
	if t.Lanes == 1 {
		at := e.offset(b, x.Indices)
		if e.halves(b) {
			return call("vload_half", e.expr(at).s, name)
		}
		c := e.fromMemory(b, code{s: e.element(name, e.locals[b], at), prec: primary}, 1)
		c.wide = wide
		return c
	}
	base, stride, ok := e.run(b, x.Indices)
	switch {
	case ok && stride == 0:
		return e.splat(lane(x, 0), t)
	case ok && stride == 1 && e.halves(b):
		return call(fmt.Sprintf("vload_half%d", t.Lanes), "0", e.place(name, base))
	case ok && stride == 1 && (e.locals[b] == nil || !e.locals[b].single):
		return e.fromMemory(b, call(fmt.Sprintf("vload%d", t.Lanes), "0", e.place(name, base)), t.Lanes)
	}
	return e.eachLane(x)
}

// element returns the text of one element of an array, or of the variable that it is.
func (e *emitter) element(name string, l *local, at tir.Expr) string {
	if l != nil && l.single {
		return name
	}
	if l != nil && l.lanes > 1 {
		at = e.a.Simplify(tir.Bin(tir.FloorDiv, at, tir.I(l.lanes)))
	}
	return name + "[" + e.expr(at).s + "]"
}

// halves reports whether a buffer holds half that is accessed by vload_half and vstore_half.
func (e *emitter) halves(b *tir.Buffer) bool {
	return b.DType == tensor.Float16 && e.inFloat(b.DType) && e.locals[b] == nil
}

// fromMemory turns what was read into a value in registers.
func (e *emitter) fromMemory(b *tir.Buffer, c code, lanes int) code {
	switch {
	case b.DType == tensor.BFloat16 && e.locals[b] == nil:
		uint := vectorType("uint", lanes)
		if lanes > 1 {
			c = call("convert_"+uint, c.s)
		} else {
			c = cast(uint, c)
		}
		return call("as_"+vectorType("float", lanes), infix(tir.Shl, c, code{s: "16", prec: primary}).s)
	case b.DType == tensor.Bool && lanes > 1:
		zero := code{s: fmt.Sprintf("(%s)(0)", vectorType("uchar", lanes)), prec: unaryPrec}
		return call("convert_"+vectorType("int", lanes), infix(tir.NE, c, zero).s)
	}
	return c
}

// toMemory turns a value into what is written.
func (e *emitter) toMemory(b *tir.Buffer, c code, lanes int) code {
	switch {
	case b.DType == tensor.BFloat16 && e.locals[b] == nil:
		return call(e.bfloat16Bits(lanes, false), c.s)
	case b.DType == tensor.Bool && lanes > 1:
		return call("convert_"+vectorType("uchar", lanes), c.at(unaryPrec)+" & 1")
	}
	return c
}

// store writes a buffer.
func (e *emitter) store(x *tir.Store) {
	b, lanes := x.Buffer, x.Value.Type().Lanes
	for _, i := range x.Indices {
		lanes = max(lanes, i.Type().Lanes)
	}
	e.checkType(b.DType)
	if b.Scope == tir.Texture {
		e.storeTexel(x)
		return
	}
	name := e.name(b)
	value := x.Value
	if lanes > 1 && value.Type().Lanes == 1 {
		value = &tir.Broadcast{A: value, Lanes: lanes}
	}
	if l := e.locals[b]; l != nil && l.lanes > 1 {
		base, _, _ := e.run(b, x.Indices)
		e.assign(x, value, e.element(name, l, base), lanes)
		return
	}
	if lanes == 1 {
		at := e.offset(b, x.Indices)
		if e.halves(b) {
			e.line("vstore_half_rte(%s, %s, %s);", e.expr(value).s, e.expr(at).s, name)
			return
		}
		e.assign(x, value, e.element(name, e.locals[b], at), 1)
		return
	}
	base, stride, ok := e.run(b, x.Indices)
	switch {
	case ok && stride == 1 && e.halves(b):
		e.line("vstore_half%d_rte(%s, 0, %s);", lanes, e.expr(value).s, e.place(name, base))
	case ok && stride == 1 && (e.locals[b] == nil || !e.locals[b].single):
		e.line("vstore%d(%s, 0, %s);", lanes, e.toMemory(b, e.expr(value), lanes).s, e.place(name, base))
	case ok && stride == 0:
		e.fail("%d lanes are stored to one element of %s", lanes, b.Name)
	default:
		e.scatter(x, value, lanes)
	}
}

// assign writes the assignment of a store whose place has the given text; a sum onto the place itself as +=.
func (e *emitter) assign(x *tir.Store, value tir.Expr, place string, lanes int) {
	sum, ok := value.(*tir.Binary)
	if ok && sum.Op == tir.Add && (x.Buffer.DType == tensor.Float32 || x.Buffer.DType == tensor.Float64) {
		if l, ok := sum.A.(*tir.Load); ok && l.Buffer == x.Buffer && sameIndices(l.Indices, x.Indices) {
			e.line("%s += %s;", place, e.expr(sum.B).s)
			return
		}
	}
	e.line("%s = %s;", place, e.toMemory(x.Buffer, e.expr(value), lanes).s)
}

func sameIndices(a, b []tir.Expr) bool {
	return slices.EqualFunc(a, b, tir.Equal)
}

// scatter stores lane by lane. The value is evaluated whole before.
func (e *emitter) scatter(x *tir.Store, value tir.Expr, lanes int) {
	d := value.Type().DType
	v := e.unique("lanes")
	e.line("{")
	e.depth++
	e.line("const %s %s = %s;", e.registerType(d, lanes), v, e.expr(value).s)
	for i := range lanes {
		at := make([]tir.Expr, len(x.Indices))
		for n, index := range x.Indices {
			at[n] = lane(index, i)
		}
		off := e.offset(x.Buffer, at)
		c := code{s: v + swizzle16(i, lanes), prec: primary}
		if d == tensor.Bool {
			c = infix(tir.BitAnd, c, code{s: "1", prec: primary})
		}
		if e.halves(x.Buffer) {
			e.line("vstore_half_rte(%s, %s, %s);", c.s, e.expr(off).s, e.name(x.Buffer))
			continue
		}
		e.line("%s = %s;", e.element(e.name(x.Buffer), e.locals[x.Buffer], off), e.toMemory(x.Buffer, c, 1).s)
	}
	e.depth--
	e.line("}")
	delete(e.taken, v)
}

// swizzle16 selects lane i of a vector of n lanes; .x to .w name lanes of short vectors only.
func swizzle16(i, n int) string {
	if n > 4 {
		return fmt.Sprintf(".s%x", i)
	}
	return swizzle(i)
}

// planLocal decides how a private buffer is kept, from all its accesses below body.
func (e *emitter) planLocal(b *tir.Buffer, body tir.Stmt) *local {
	lanes, same := 0, true
	plain := arith.New() // a multiple of the lanes is seen without ranges
	look := func(indices []tir.Expr, n int) {
		for _, i := range indices {
			n = max(n, i.Type().Lanes)
		}
		base, stride, ok := e.run(b, indices)
		if lanes == 0 {
			lanes = n
		}
		same = same && n == lanes && (n == 1 || ok && stride == 1 && tir.IsConst(plain.Simplify(tir.Bin(tir.FloorMod, base, tir.I(n))), 0))
	}
	tir.Walk(body, func(n any) bool {
		switch n := n.(type) {
		case *tir.Load:
			if n.Buffer == b {
				look(n.Indices, 1)
			}
		case *tir.Store:
			if n.Buffer == b {
				look(n.Indices, n.Value.Type().Lanes)
			}
		}
		return true
	})
	if !same || lanes == 0 || span(b)%lanes != 0 {
		lanes = 1
	}
	return &local{lanes: lanes, single: span(b) == lanes}
}

// span returns the number of elements from the first to the last of a buffer.
func span(b *tir.Buffer) int {
	if b.Elems() == 0 {
		return 0
	}
	last := 0
	for i, stride := range b.StrideList() {
		last += (b.Shape[i] - 1) * stride
	}
	return last + 1
}

// private declares a local buffer.
func (e *emitter) private(b *tir.Buffer, body tir.Stmt) {
	l := e.planLocal(b, body)
	e.locals[b] = l
	if bytes := span(b) * e.registerBits(b.DType) / 8; bytes > maxPrivate {
		e.fail("buffer %s takes %d bytes of a work-item's private memory; at most %d are given", b.Name, bytes, maxPrivate)
	}
	typ := memoryType(b.DType)
	if e.inFloat(b.DType) {
		typ = "float"
	}
	e.checkType(b.DType)
	e.checkLanes(l.lanes)
	name := e.declare(b, b.Name)
	if l.single {
		e.line("%s %s;", vectorType(typ, l.lanes), name)
		return
	}
	e.line("%s %s[%d];", vectorType(typ, l.lanes), name, max(1, span(b)/l.lanes))
}

// sharedBuffers declares the buffers of work-groups, which OpenCL wants in front of everything else.
func (e *emitter) sharedBuffers() {
	bytes := 0
	seen := map[*tir.Buffer]bool{}
	tir.Walk(e.k.Body, func(n any) bool {
		a, ok := n.(*tir.Allocate)
		if !ok || a.Buffer.Scope != tir.Shared || seen[a.Buffer] {
			return true
		}
		b := a.Buffer
		seen[b] = true
		e.checkType(b.DType)
		bytes += span(b) * b.DType.Bits() / 8
		name, n := e.declare(b, b.Name), max(1, span(b))
		if e.halves(b) { // without half arithmetic there are pointers to half, but no arrays
			bits := e.unique(name + "_bits")
			e.line("__local ushort %s[%d];", bits, n)
			e.line("__local half* const %s = (__local half*)%s;", name, bits)
			return true
		}
		e.line("__local %s %s[%d];", memoryType(b.DType), name, n)
		return true
	})
	if bytes > e.t.GPU.LocalBytes {
		e.fail("buffers of a work-group take %d bytes, target %s has %d", bytes, e.t, e.t.GPU.LocalBytes)
	}
}

// coordinates returns the place of a texel.
func (e *emitter) coordinates(m *texture.Image, indices []tir.Expr) string {
	sum := func(terms []texture.Term) string {
		var at tir.Expr = tir.I(0)
		for _, t := range terms {
			at = tir.Plus(at, tir.Times(indices[t.Axis], tir.I(t.Stride)))
		}
		return e.expr(e.a.Simplify(at)).s
	}
	if m.Layers > 0 {
		return fmt.Sprintf("(int4)(%s, %s, %s, 0)", sum(m.X), sum(m.Y), sum(m.Layer))
	}
	return fmt.Sprintf("(int2)(%s, %s)", sum(m.X), sum(m.Y))
}

// channel says how the channels of a texel are accessed: the letter of read_image and write_image, and their type.
func (e *emitter) channel(m *texture.Image) (letter, typ string) {
	switch d := m.Texel.Channel; {
	case d == tensor.Float16 && !e.inFloat(d):
		return "h", "half4"
	case d.IsFloat():
		return "f", "float4"
	case d.Kind() == tensor.Signed:
		return "i", "int4"
	}
	return "ui", "uint4"
}

// loadTexel reads an image.
func (e *emitter) loadTexel(x *tir.Load) code {
	m := e.image(x.Buffer)
	if m == nil {
		return code{}
	}
	last := x.Indices[len(x.Indices)-1]
	for _, i := range x.Indices[:len(x.Indices)-1] {
		if i.Type().Lanes > 1 {
			return e.eachLane(x)
		}
	}
	letter, typ := e.channel(m)
	c := call("read_image"+letter, e.name(x.Buffer), e.coordinates(m, x.Indices))
	n := m.Texel.Lanes
	c = e.unpack(c, m, x.Buffer.DType, typ)
	switch at := last.(type) {
	case *tir.Ramp:
		base, okB := tir.AsInt(at.Base)
		step, okS := tir.AsInt(at.Stride)
		if !okB || !okS {
			return e.eachLane(x)
		}
		lanes := make([]int, at.Lanes)
		whole := at.Lanes == n
		for i := range lanes {
			lanes[i] = int(base) + i*int(step)
			whole = whole && lanes[i] == i
		}
		e.checkLanes(at.Lanes)
		if whole {
			return c
		}
		if n > 4 {
			s := ".s"
			for _, l := range lanes {
				s += fmt.Sprintf("%x", l)
			}
			return code{s: c.at(primary) + s, prec: primary}
		}
		return code{s: c.at(primary) + swizzle(lanes...), prec: primary}
	case *tir.Broadcast:
		return e.splat(lane(x, 0), x.Type())
	}
	if n == 1 {
		return e.oneLane(code{s: c.at(primary) + ".x", prec: primary}, x.Buffer.DType)
	}
	if l, ok := tir.AsInt(last); ok && l >= 0 && l < int64(n) {
		return e.oneLane(code{s: c.at(primary) + swizzle16(int(l), n), prec: primary}, x.Buffer.DType)
	}
	// The lane is computed: the texel goes through an array.
	element := e.registerType(x.Buffer.DType, 1)
	if x.Buffer.DType == tensor.Bool {
		element = "int"
	}
	vector := vectorType(element, n)
	body := fmt.Sprintf("%s lanes[%d];\nvstore%d(v, 0, lanes);\nreturn lanes[i];", element, n, n)
	name := e.helperBody("texel_lane_"+vector, element, fmt.Sprintf("(%s v, int i)", vector), body)
	return e.oneLane(call(name, c.s, e.expr(last).s), x.Buffer.DType)
}

// oneLane makes a scalar of a lane: a bool's is a mask.
func (e *emitter) oneLane(c code, d tensor.DType) code {
	if d == tensor.Bool {
		return infix(tir.NE, c, code{s: "0", prec: primary})
	}
	return c
}

// unpack turns the channels of a texel into elements in registers.
func (e *emitter) unpack(c code, m *texture.Image, d tensor.DType, typ string) code {
	n := m.Texel.Lanes
	switch {
	case d == tensor.Bool:
		return infix(tir.NE, c, code{s: "(uint4)(0)", prec: unaryPrec})
	case !m.Texel.Packed() || n == 1:
		if d.IsFloat() || d.Bits() == 32 {
			return c
		}
		return call("convert_"+vectorType(memoryType(d), 4), c.s)
	}
	if m.Texel.Channel == tensor.Uint16 {
		c, typ = call("convert_ushort4", c.s), "ushort4"
	}
	if d == tensor.Float16 && e.inFloat(d) {
		return call(e.helper("texel_unpack_half"+fmt.Sprint(n), vectorType("float", n), "("+typ+" v)", fmt.Sprintf("vload_half%d(0, (half*)&v)", n)), c.s)
	}
	return call("as_"+vectorType(memoryType(d), n), c.s)
}

// pack turns elements into channels.
func (e *emitter) pack(c code, m *texture.Image, d tensor.DType, typ string) code {
	n := m.Texel.Lanes
	switch {
	case n == 1:
		return code{s: "(" + typ + ")(" + c.s + ", 0, 0, 0)", prec: unaryPrec}
	case d == tensor.Bool:
		return call("as_uint4", c.at(unaryPrec)+" & 1")
	case !m.Texel.Packed():
		if d.IsFloat() || d.Bits() == 32 {
			return c
		}
		return call("convert_"+typ, c.s)
	}
	wide := typ
	if m.Texel.Channel == tensor.Uint16 {
		typ = "ushort4"
	}
	if d == tensor.Float16 && e.inFloat(d) {
		float := vectorType("float", n)
		c = call(e.helperBody("texel_pack_half"+fmt.Sprint(n), typ, "("+float+" x)", fmt.Sprintf("%s v;\nvstore_half%d_rte(x, 0, (half*)&v);\nreturn v;", typ, n)), c.s)
	} else {
		c = call("as_"+typ, c.s)
	}
	if wide != typ {
		c = call("convert_"+wide, c.s)
	}
	return c
}

// storeTexel writes an image, whole texels at a time.
func (e *emitter) storeTexel(x *tir.Store) {
	m := e.image(x.Buffer)
	if m == nil {
		return
	}
	n := m.Texel.Lanes
	last := x.Indices[len(x.Indices)-1]
	whole := n == 1 && last.Type().Lanes == 1
	if r, ok := last.(*tir.Ramp); ok && r.Lanes == n && tir.IsConst(r.Base, 0) && tir.IsConst(r.Stride, 1) {
		whole = true
	}
	for _, i := range x.Indices[:len(x.Indices)-1] {
		whole = whole && i.Type().Lanes == 1
	}
	if !whole {
		e.fail("texture %s is written a part of a texel at a time; wanted all %d lanes at once: vectorize the last axis", x.Buffer.Name, n)
		return
	}
	value := x.Value
	if n > 1 && value.Type().Lanes == 1 {
		value = &tir.Broadcast{A: value, Lanes: n}
	}
	letter, typ := e.channel(m)
	e.line("write_image%s(%s, %s, %s);", letter, e.name(x.Buffer), e.coordinates(m, x.Indices), e.pack(e.expr(value), m, x.Buffer.DType, typ).s)
}
