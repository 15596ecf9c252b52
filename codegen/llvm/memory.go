package llvm

import (
	"fmt"
	"strings"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// memory is a buffer that lies in memory.
type memory struct {
	base     *val
	elem     tok // type of an element in memory
	size     int // its bytes
	align    int // bytes to which the base is aligned
	readonly bool
	alias    []*tir.Buffer // other buffers that may share its memory
	loads    string        // metadata of loads
	stores   string        // metadata of stores
}

// metadata is a numbered metadata node.
type metadata struct {
	id   int64
	text string
}

// String is the node's name.
func (d *metadata) String() string { return d.Ident() }

// Ident is the node's name.
func (d *metadata) Ident() string { return fmt.Sprintf("!%d", d.id) }

// ID is the node's number.
func (d *metadata) ID() int64 { return d.id }

// SetID does nothing: numbers are given at creation.
func (d *metadata) SetID(int64) {}

// SetDistinct does nothing: the text says it.
func (d *metadata) SetDistinct(bool) {}

// LLString is the node's definition.
func (d *metadata) LLString() string { return d.text }

// meta adds a metadata node; text gets the node's own name for each %.
func (m *module) meta(text string) string {
	d := &metadata{id: int64(len(m.MetadataDefs))}
	d.text = strings.ReplaceAll(text, "%", d.Ident())
	m.MetadataDefs = append(m.MetadataDefs, d)
	return d.Ident()
}

// bindParams loads the addresses of the kernel's buffers and says which of them cannot overlap. An output may be
// computed in place of an input that is at least as large; everything else is distinct.
func (e *emitter) bindParams() {
	k, m := e.kernel, e.m
	empty := m.meta("!{}")
	domain := m.meta("distinct !{%}")
	list := append([]*tir.Buffer{}, k.Params...)
	scopes := make([]string, len(list)+1)
	for i := range scopes {
		scopes[i] = m.meta("distinct !{%, " + domain + "}")
	}
	written := map[*tir.Buffer]bool{}
	tir.Walk(k.Body, func(n any) bool {
		if s, ok := n.(*tir.Store); ok {
			written[s.Buffer] = true
		}
		return true
	})
	inPlace := func(in, out int) bool {
		return in < len(k.Params)-k.Outputs && out >= len(k.Params)-k.Outputs && bufferBytes(list[out]) <= bufferBytes(list[in])
	}
	scratch := len(list)
	lists := func(i int) string {
		var others []string
		for j := range scopes {
			if j != i && (i == scratch || j == scratch || !inPlace(i, j) && !inPlace(j, i)) {
				others = append(others, scopes[j])
			}
		}
		text := ", !alias.scope " + m.meta("!{"+scopes[i]+"}")
		if len(others) > 0 {
			text += ", !noalias " + m.meta("!{"+strings.Join(others, ", ")+"}")
		}
		return text
	}
	for i, b := range list {
		if b.Scope == tir.Texture {
			e.unsupported("parameter %s is in scope %s", b.Name, b.Scope)
		}
		at := e.arg[0]
		if i > 0 {
			at = e.op(ptr, "getelementptr ptr, $0, $1", at, e.index(int64(i)))
		}
		mem := e.newMemory(b, e.op(ptr, "load ptr, $0, align 8, !invariant.load "+empty, at))
		mem.readonly = !written[b]
		for j, o := range list {
			if o != b && (inPlace(i, j) || inPlace(j, i)) {
				mem.alias = append(mem.alias, o)
				mem.readonly = mem.readonly && !written[o]
			}
		}
		mem.loads, mem.stores = lists(i), ""
		mem.stores = mem.loads
		if mem.readonly {
			mem.loads += ", !invariant.load " + empty
		}
		e.mems[b] = mem
	}
	for i, v := range k.Scalars {
		at := e.arg[1]
		if i > 0 {
			at = e.op(ptr, "getelementptr i64, $0, $1", at, e.index(int64(i)))
		}
		s := e.op(i64, "load i64, $0, align 8, !invariant.load "+empty, at)
		if v.DType != tensor.Int64 {
			s = e.cast(s, tir.Index, v.DType)
		}
		e.vars[v] = s
	}
	// Buffers that are not alive at one time share scratch memory, so all of it is one scope.
	e.scratchMeta = lists(scratch)
}

func (e *emitter) newMemory(b *tir.Buffer, base *val) *memory {
	e.computable(b.DType)
	size := b.DType.Bits() / 8
	return &memory{base: base, elem: memElem(b.DType), size: size, align: size}
}

// computable refuses element types that only exist in storage.
func (e *emitter) computable(d tensor.DType) {
	if d.IsStorage() || d == tensor.Invalid {
		e.unsupported("element type %v is for storage, kernels compute in float16 to float64, integers of 8 to 64 bits and bool", d)
	}
	if d == tensor.Float16 && e.m.t.Arch == "x86-64" && !e.m.feature("f16c") {
		e.unsupported("element type %v needs the processor feature f16c", d)
	}
}

// allocate gives a buffer its memory while the body is emitted, unless it is values: scratch buffers behind those that are
// alive, others on the stack.
func (e *emitter) allocate(a *tir.Allocate) {
	b := a.Buffer
	outer := e.ssa[b]
	e.ssa[b] = e.plan.ssa[a]
	defer func() { e.ssa[b] = outer }()
	switch {
	case e.ssa[b] != nil:
	case b.Scope == tir.Scratch:
		base := e.arg[2]
		if e.scratch > 0 {
			base = e.op(ptr, "getelementptr i8, $0, $1", base, e.index(int64(e.scratch)))
		}
		mem := e.newMemory(b, base)
		mem.align, mem.loads, mem.stores = scratchPad, e.scratchMeta, e.scratchMeta
		e.mems[b] = mem
		old := e.scratch
		e.scratch += padded(b)
		defer func() { e.scratch = old }()
	case e.mems[b] == nil:
		if e.stack += padded(b); e.stack > maxStack {
			e.unsupported("buffer %s in scope %s, whose indices are not constant, needs %d bytes of stack, with the others more than %d; give it scope %s",
				b.Name, b.Scope, bufferBytes(b), maxStack, tir.Scratch)
		}
		r := &raw{t: ptr, tmpl: fmt.Sprintf("alloca [%d x i8], align %d", max(1, bufferBytes(b)), scratchPad)}
		e.entry.Insts = append([]instruction{r}, e.entry.Insts...)
		mem := e.newMemory(b, e.wrap(r, ptr, 0))
		mem.align = scratchPad
		e.mems[b] = mem
	}
	e.forget(b)
	e.stmt(a.Body)
	e.forget(b)
}

func (e *emitter) memory(b *tir.Buffer) *memory {
	m := e.mems[b]
	if m == nil {
		e.fail("buffer %s is neither a parameter nor allocated", b.Name)
	}
	return m
}

// wrote notes that a buffer changed: loads from it, or from what may share its memory, are not reused.
func (e *emitter) wrote(b *tir.Buffer) {
	e.epochs[b]++
	if m := e.mems[b]; m != nil {
		for _, o := range m.alias {
			e.epochs[o]++
		}
	}
}

// fetch loads a value of memory type t from element l, or finds an earlier load of it.
func (e *emitter) fetch(b *tir.Buffer, m *memory, l linear, t tok) *val {
	p := e.pointer(m, l)
	key := loadKey{p.id, t}
	for i := e.top(); i >= p.level; i-- {
		if f, ok := e.frames[i].lds[key]; ok {
			if f.epoch == e.epochs[b] {
				return f.v
			}
			break
		}
	}
	v := e.here(t, fmt.Sprintf("load %s, $0, align %d%s", t, m.alignOf(l), m.loads), p)
	e.frames[e.top()].lds[key] = loaded{v, e.epochs[b]}
	if e.ahead != "" && e.ahead == b.Name {
		e.prefetch(m, l, b.StrideList()[0])
	}
	return v
}

// prefetch asks for what lies the given number of elements behind element l, in the second cache. An address beyond the
// buffer is harmless.
func (e *emitter) prefetch(m *memory, l linear, distance int) {
	e.m.declare("llvm.prefetch.p0", tok("void"), ptr, i32, i32, i32)
	e.act("call void @llvm.prefetch.p0($0, i32 0, i32 2, i32 1)", e.pointer(m, l.plus(linear{c: int64(distance)}, 1)))
}

// load is the value of a Load.
func (e *emitter) load(l *tir.Load) *val {
	b := l.Buffer
	if set := e.ssa[b]; set != nil {
		return e.readSlots(set, b, l.Indices)
	}
	m, v := e.memory(b), e.flatten(b, l.Indices)
	if v.lanes > 1 && e.mask != nil && !v.uniform() && !e.inside(b, l.Indices, v.lanes) {
		return e.unpack(b, e.maskedLoad(b, m, v, e.mask, e.poison(vec(m.elem, v.lanes))))
	}
	var out *val
	switch {
	case v.lanes == 1:
		out = e.fetch(b, m, v.base, m.bits())
	case v.uniform():
		return e.broadcast(e.unpack(b, e.fetch(b, m, v.base, m.bits())), v.lanes)
	case v.contiguous():
		out = e.fetch(b, m, v.base, vec(m.elem, v.lanes))
	case v.generic == nil && v.stride.isConst() && v.stride.c == 2 && v.lanes >= 4 && v.lanes&(v.lanes-1) == 0:
		out = e.loadEven(b, m, v)
	default:
		if out = e.permuted(b, m, l.Indices, v.lanes); out != nil {
			break
		}
		lanes := make([]*val, v.lanes)
		for i := range lanes {
			lanes[i] = e.fetch(b, m, e.laneOffset(v, i), m.bits())
		}
		out = e.build(lanes)
	}
	return e.unpack(b, out)
}

// bits is the type in which single elements are loaded and stored: a half that is only moved then goes through an integer
// register, where a load does not wait for the register's other lanes.
func (m *memory) bits() tok {
	if m.elem == "half" {
		return "i16"
	}
	return m.elem
}

// loadEven loads every second element with two vector loads, the second of which ends with the last element, so that
// nothing beyond is touched.
func (e *emitter) loadEven(b *tir.Buffer, m *memory, v vindex) *val {
	n, t := v.lanes, vec(m.elem, v.lanes)
	low := e.fetch(b, m, v.base, t)
	high := e.fetch(b, m, v.base.plus(linear{c: int64(n - 1)}, 1), t)
	pick := make([]string, n)
	for i := range pick {
		at := 2 * i
		if at >= n {
			at += 1 // lane at-n of the upper half, which starts one element earlier
		}
		pick[i] = fmt.Sprintf("i32 %d", at)
	}
	return e.op(t, fmt.Sprintf("shufflevector $0, $1, <%d x i32> <%s>", n, strings.Join(pick, ", ")), low, high)
}

// unpack turns what was loaded into a value: bytes that hold bools into i1, the bits of half into half.
func (e *emitter) unpack(b *tir.Buffer, v *val) *val {
	elem, n := split(v.t)
	switch {
	case b.DType == tensor.Bool:
		return e.op(vec(i1, n), "icmp ne $0, %1", v, e.int(v.t, 0))
	case b.DType == tensor.Float16 && elem == "i16":
		t := vec("half", n)
		return e.op(t, "bitcast $0 to "+string(t), v)
	}
	return v
}

// maskedLoad loads the lanes of mask and takes the others from rest. Types are those of memory.
func (e *emitter) maskedLoad(b *tir.Buffer, m *memory, v vindex, mask, rest *val) *val {
	t := vec(m.elem, v.lanes)
	if v.contiguous() {
		name := "llvm.masked.load." + mangle(t) + ".p0"
		e.m.declare(name, t, ptr, i32, mask.t, t)
		return e.here(t, fmt.Sprintf("call %s @%s($0, i32 %d, $1, $2)%s", t, name, m.alignOf(v.base), m.loads), e.pointer(m, v.base), mask, rest)
	}
	// A number of lanes that is no power of two would be padded by LLVM with undefined addresses, and LLVM 19 may give the
	// result of such a gather and its index one register, which AVX-512 processors refuse: pad with the first address.
	n := v.lanes
	wide := 1
	for wide < n {
		wide *= 2
	}
	at := e.repeatLanes(e.pointers(m, v), wide, 0)
	if wide > n {
		mask = e.op(vec(i1, wide), fmt.Sprintf("shufflevector $0, %s zeroinitializer, <%d x i32> <%s>", mask.t, wide, laneList(wide, n, n)), mask)
		rest = e.widen(rest, wide)
	}
	t = vec(m.elem, wide)
	name := fmt.Sprintf("llvm.masked.gather.%s.v%dp0", mangle(t), wide)
	e.m.declare(name, t, at.t, i32, mask.t, t)
	return e.lanesOf(e.here(t, fmt.Sprintf("call %s @%s($0, i32 %d, $1, $2)%s", t, name, m.size, m.loads), at, mask, rest), 0, n)
}

// repeatLanes widens a vector to n lanes, the new ones copies of lane i.
func (e *emitter) repeatLanes(v *val, n, i int) *val {
	elem, have := split(v.t)
	if have == n {
		return v
	}
	return e.op(vec(elem, n), fmt.Sprintf("shufflevector $0, %s poison, <%d x i32> <%s>", v.t, n, laneList(n, have, i)), v)
}

// laneList spells the lanes of a shuffle to n lanes: have in order, then rest.
func laneList(n, have, rest int) string {
	list := make([]string, n)
	for i := range list {
		at := rest
		if i < have {
			at = i
		}
		list[i] = fmt.Sprintf("i32 %d", at)
	}
	return strings.Join(list, ", ")
}

// pointers returns the addresses of all lanes.
func (e *emitter) pointers(m *memory, v vindex) *val {
	offsets := v.generic
	if steady := v.stride.isConst() && v.stride.c == 0; offsets == nil || !steady {
		steps := e.ramp(e.index(0), e.value(v.stride), v.lanes)
		if offsets == nil {
			offsets = steps
		} else {
			offsets = e.op(offsets.t, "add $0, %1", offsets, steps)
		}
	}
	return e.op(vec(ptr, v.lanes), "getelementptr "+string(m.elem)+", $0, $1", e.pointer(m, v.base), offsets)
}

// store writes a value, in memory's form.
func (e *emitter) store(s *tir.Store) {
	x := e.expr(s.Value)
	if set := e.ssa[s.Buffer]; set != nil {
		e.writeSlots(set, s.Buffer, s.Indices, x)
		return
	}
	b := s.Buffer
	m, v := e.memory(b), e.flatten(b, s.Indices)
	if b.DType == tensor.Bool {
		_, n := split(x.t)
		x = e.op(vec(i8, n), fmt.Sprintf("zext $0 to %s", vec(i8, n)), x)
	}
	_, lanes := split(x.t)
	if lanes < v.lanes {
		x, lanes = e.broadcast(x, v.lanes), v.lanes
	}
	if et, _ := split(x.t); et != m.elem || lanes != v.lanes && !v.uniform() {
		e.fail("store of %s to %d lanes of buffer %s of %v", x.t, v.lanes, b.Name, b.DType)
	}
	put := func(l linear, x *val) {
		if x.t == "half" { // see bits
			x = e.op("i16", "bitcast $0 to i16", x)
		}
		e.act(fmt.Sprintf("store $0, $1, align %d%s", m.alignOf(l), m.stores), x, e.pointer(m, l))
	}
	switch {
	case e.mask != nil:
		if lanes == 1 {
			e.fail("store of a scalar to buffer %s under a condition of lanes", b.Name)
		}
		e.maskedStore(m, v, x)
	case lanes > 1 && v.contiguous(), v.lanes == 1 && lanes == 1:
		put(v.base, x)
	case v.uniform(): // all lanes to one element: the last one stays
		put(v.base, e.lane(x, lanes-1))
	default:
		for i := range lanes {
			put(e.laneOffset(v, i), e.lane(x, i))
		}
	}
	e.wrote(b)
}

func (e *emitter) maskedStore(m *memory, v vindex, x *val) {
	_, lanes := split(e.mask.t)
	if lanes != v.lanes {
		e.fail("store of %d lanes under a condition of %d", v.lanes, lanes)
	}
	if v.contiguous() {
		name := "llvm.masked.store." + mangle(x.t) + ".p0"
		e.m.declare(name, voidType, x.t, ptr, i32, e.mask.t)
		e.act(fmt.Sprintf("call void @%s($0, $1, i32 %d, $2)%s", name, m.alignOf(v.base), m.stores), x, e.pointer(m, v.base), e.mask)
		return
	}
	name := fmt.Sprintf("llvm.masked.scatter.%s.v%dp0", mangle(x.t), v.lanes)
	e.m.declare(name, voidType, x.t, vec(ptr, v.lanes), i32, e.mask.t)
	e.act(fmt.Sprintf("call void @%s($0, $1, i32 %d, $2)%s", name, m.size, m.stores), x, e.pointers(m, v), e.mask)
}

// slotRange returns the first element and the lanes of an access to a buffer that lives in values.
func (e *emitter) slotRange(set *slotSet, b *tir.Buffer, indices []tir.Expr) (start, lanes int, uniform bool) {
	v := e.flatten(b, indices)
	if set.base != nil {
		v.base = v.base.plus(*set.base, -1)
	}
	lanes = v.lanes
	if uniform = lanes > 1 && v.uniform(); uniform {
		lanes = 1
	}
	if v.generic != nil || !v.base.isConst() || lanes > 1 && !v.contiguous() || v.base.c < 0 || int(v.base.c)+lanes > len(set.of) {
		e.fail("access of buffer %s is not what the survey saw", b.Name)
	}
	return int(v.base.c), lanes, uniform
}

// readSlots is a load from a buffer that lives in values.
func (e *emitter) readSlots(set *slotSet, b *tir.Buffer, indices []tir.Expr) *val {
	start, lanes, uniform := e.slotRange(set, b, indices)
	elem := regElem(b.DType)
	var parts []*val
	for at := start; at < start+lanes; {
		id := set.of[at]
		first, n := set.start[id-set.first], set.lanes[id-set.first]
		v := e.slots[id]
		if v == nil {
			v = e.poison(vec(elem, n))
		}
		take := min(first+n, start+lanes) - at
		parts = append(parts, e.lanesOf(v, at-first, take))
		at += take
	}
	if uniform {
		n := 1
		for _, i := range indices {
			n = max(n, i.Type().Lanes)
		}
		return e.broadcast(parts[0], n)
	}
	return e.concat(parts)
}

// lanesOf returns n lanes of a vector from lane i on.
func (e *emitter) lanesOf(v *val, i, n int) *val {
	elem, all := split(v.t)
	if n == all {
		return v
	}
	if n == 1 {
		return e.lane(v, i)
	}
	pick := make([]string, n)
	for k := range pick {
		pick[k] = fmt.Sprintf("i32 %d", i+k)
	}
	return e.op(vec(elem, n), fmt.Sprintf("shufflevector $0, %s poison, <%d x i32> <%s>", v.t, n, strings.Join(pick, ", ")), v)
}

// concat joins vectors end to end.
func (e *emitter) concat(parts []*val) *val {
	for len(parts) > 1 {
		var next []*val
		for i := 0; i+1 < len(parts); i += 2 {
			next = append(next, e.concat2(parts[i], parts[i+1]))
		}
		if len(parts)%2 == 1 {
			next = append(next, parts[len(parts)-1])
		}
		parts = next
	}
	return parts[0]
}

func (e *emitter) concat2(a, b *val) *val {
	elem, na := split(a.t)
	_, nb := split(b.t)
	if na == 1 && nb == 1 {
		return e.build([]*val{a, b})
	}
	// shufflevector wants equal types: widen the narrower one.
	n := max(na, nb)
	a, b = e.widen(a, n), e.widen(b, n)
	pick := make([]string, na+nb)
	for i := range pick {
		at := i
		if i >= na {
			at = n + i - na
		}
		pick[i] = fmt.Sprintf("i32 %d", at)
	}
	return e.op(vec(elem, na+nb), fmt.Sprintf("shufflevector $0, $1, <%d x i32> <%s>", na+nb, strings.Join(pick, ", ")), a, b)
}

// widen adds undefined lanes.
func (e *emitter) widen(v *val, n int) *val {
	elem, have := split(v.t)
	if have == n {
		return v
	}
	t := vec(elem, n)
	if have == 1 {
		return e.op(t, "insertelement "+string(t)+" poison, $0, i32 0", v)
	}
	pick := make([]string, n)
	for i := range pick {
		pick[i] = "i32 poison"
		if i < have {
			pick[i] = fmt.Sprintf("i32 %d", i)
		}
	}
	return e.op(t, fmt.Sprintf("shufflevector $0, %s poison, <%d x i32> <%s>", v.t, n, strings.Join(pick, ", ")), v)
}

// writeSlots is a store to a buffer that lives in values.
func (e *emitter) writeSlots(set *slotSet, b *tir.Buffer, indices []tir.Expr, x *val) {
	start, lanes, uniform := e.slotRange(set, b, indices)
	elem, have := split(x.t)
	if uniform { // all lanes to one element: the last one stays
		x, have = e.lane(x, have-1), 1
	}
	if have < lanes {
		x = e.broadcast(x, lanes)
	}
	if elem != regElem(b.DType) || have > lanes {
		e.fail("store of %s to %d lanes of buffer %s of %v", x.t, lanes, b.Name, b.DType)
	}
	if e.mask != nil {
		x = e.sel(e.mask, x, e.readSlots(set, b, indices))
	}
	for at := start; at < start+lanes; {
		id := set.of[at]
		first, n := set.start[id-set.first], set.lanes[id-set.first]
		take := min(first+n, start+lanes) - at
		part := e.lanesOf(x, at-start, take)
		if take < n {
			part = e.insert(e.slots[id], vec(elem, n), part, at-first, take)
		}
		e.slots[id] = part
		at += take
	}
}

// insert puts part into lanes i … i+n-1 of whole, which may be nil.
func (e *emitter) insert(whole *val, t tok, part *val, i, n int) *val {
	if whole == nil {
		whole = e.poison(t)
	}
	if n == 1 {
		return e.op(t, fmt.Sprintf("insertelement $0, $1, i32 %d", i), whole, part)
	}
	_, all := split(t)
	pick := make([]string, all)
	for k := range pick {
		at := k
		if k >= i && k < i+n {
			at = all + k - i
		}
		pick[k] = fmt.Sprintf("i32 %d", at)
	}
	return e.op(t, fmt.Sprintf("shufflevector $0, $1, <%d x i32> <%s>", all, strings.Join(pick, ", ")), whole, e.widen(part, all))
}
