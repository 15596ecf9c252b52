package schedule

import (
	"strconv"

	"github.com/texel-ml/texel/tir"
)

// Annotate sets an attribute of a loop or a block, which the loop passes may read. The value is a text, a number or what
// a sampling step drew; a number is kept as its text. An attribute changes no result; tir.Partition and tir.Prefetch of a
// loop ask for something.
//
//	for i in range(0, 8)   →   "partition", "border"   →   for i in range(0, 8) attrs {"partition": "border"}
//
// It refuses an empty key, the keys that belong to primitives which check more (double_buffer, storage_align, rolling_buffer), and a
// prefetch that names no buffer.
func (s *Schedule) Annotate(node any, key string, value any) {
	const step = "annotate"
	at, name := s.annotated(step, node, key)
	if at == nil {
		return
	}
	text, ok := attrText(value)
	if !ok {
		s.refuse(step, name, "the value of %q is %s; wanted a text or a number", key, kindOf(value))
		return
	}
	if key == tir.Prefetch && !s.bufferNamed(text) {
		s.refuse(step, name, "no buffer is named %q; wanted the one to prefetch", text)
		return
	}
	s.setAttrs(at, func(attrs map[string]string) { attrs[key] = text })
	s.record(step, operands(node, key, value))
}

// Unannotate removes an attribute of a loop or a block.
func (s *Schedule) Unannotate(node any, key string) {
	const step = "unannotate"
	at, name := s.annotated(step, node, key)
	if at == nil {
		return
	}
	var attrs map[string]string
	if at.loop != nil {
		attrs = at.loop.Attrs
	} else {
		attrs = at.realize.Block.Attrs
	}
	if _, has := attrs[key]; !has {
		s.refuse(step, name, "has no attribute %q", key)
		return
	}
	s.setAttrs(at, func(attrs map[string]string) { delete(attrs, key) })
	s.record(step, operands(node, key))
}

// reserved are the attributes that a primitive sets after checks of its own.
var reserved = map[string]bool{tir.DoubleBuffer: true, tir.StorageAlign: true, tir.RollingBuffer: true}

// annotated finds the loop or block whose attribute is meant.
func (s *Schedule) annotated(step string, node any, key string) (at *place, name string) {
	switch n := node.(type) {
	case Loop:
		if at = s.loop(step, n); at != nil {
			name = n.v.Name
		}
	case Block:
		at, name = s.block(step, n), n.name
	default:
		s.refuse(step, "", "operand 1 is %s; wanted a loop or a block", kindOf(node))
	}
	switch {
	case at == nil:
		return nil, name
	case key == "":
		s.refuse(step, name, "the key is empty")
		return nil, name
	case reserved[key]:
		s.refuse(step, name, "the attribute %q is set by the primitive of that name, which checks it", key)
		return nil, name
	}
	return at, name
}

// attrText returns the value of an attribute as its text.
func attrText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case int:
		return strconv.Itoa(v), true
	case Int:
		return strconv.Itoa(v.value), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// setAttrs changes the attributes of a loop or a block.
func (s *Schedule) setAttrs(at *place, change func(map[string]string)) {
	var to tir.Stmt
	var from tir.Stmt
	if at.loop != nil {
		c := *at.loop
		c.Attrs = changedAttrs(c.Attrs, change)
		from, to = at.loop, &c
	} else {
		b := *at.realize.Block
		b.Attrs = changedAttrs(b.Attrs, change)
		from, to = at.realize, &tir.BlockRealize{Values: at.realize.Values, Where: at.realize.Where, Block: &b}
	}
	s.swap(from, to)
}

// changedAttrs returns a changed copy; none at all is nil.
func changedAttrs(attrs map[string]string, change func(map[string]string)) map[string]string {
	out := cloneAttrs(attrs)
	change(out)
	if len(out) == 0 {
		return nil
	}
	return out
}

// annotateCall and unannotateCall read the operands of a trace.
func annotateCall(c *Call) {
	if c.Len() != 3 {
		c.Refuse("has %d operands; wanted a loop or a block, a key and a value", c.Len())
		return
	}
	c.S.Annotate(c.operand(0), c.Text(1), c.operand(2))
}

func unannotateCall(c *Call) {
	if c.Len() != 2 {
		c.Refuse("has %d operands; wanted a loop or a block, and a key", c.Len())
		return
	}
	c.S.Unannotate(c.operand(0), c.Text(1))
}
