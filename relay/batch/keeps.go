package batch

import (
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// site is an application of one operator in both models, whose attributes are equal but for those that its row leaves open.
type site struct {
	one, many *relay.Call // one is nil where the importer left it out
	n         int
	in        []places // of the operands
	from, to  []*relay.TensorType
	result    [2]relay.Type
}

// row says what becomes of the batch in an operator.
type row struct {
	// keeps returns where the results have the batch. ok is false where rows are mixed. That types agree with it is checked behind
	// it, and so is that attributes do, besides those in open.
	keeps func(s *site) (p places, ok bool)
	open  []string // attributes that may differ: their meaning is in the types, or keeps looks at them
	makes bool     // it makes rows of what is shared
	idle  bool     // of one row it may change nothing where it does something of several
}

// keeps is the table. Operators that it lacks mix rows: NonMaxSuppression, whose rows name theirs, argwhere and unique, of which
// one row decides where others are, and max_pool2d_with_argmax, whose result counts all elements before.
var keeps = map[string]row{
	"nn.bias_add": {keeps: channels}, "nn.prelu": {keeps: channels}, "qnn.quantize": {keeps: channels}, "qnn.dequantize": {keeps: channels},
	"nn.batch_norm": {keeps: channels},
	"nn.dense":      {keeps: dense}, "nn.matmul": {keeps: matmul}, "nn.batch_matmul": {keeps: matmul},
	"nn.attention": {keeps: attention},
	"nn.softmax":   {keeps: along}, "nn.log_softmax": {keeps: along}, "nn.layer_norm": {keeps: along}, "nn.rms_norm": {keeps: along},
	"nn.lrn": {keeps: along}, "nn.l2_normalize": {keeps: along}, "reverse": {keeps: along}, "channel_shuffle": {keeps: along},
	"sort": {keeps: along}, "argsort": {keeps: along}, "topk": {keeps: along}, "cumsum": {keeps: along}, "cumprod": {keeps: along},
	"split": {keeps: along}, "image.resize": {keeps: resize},
	"nn.instance_norm": {keeps: first}, "nn.group_norm": {keeps: first}, "nn.squeeze_excite": {keeps: images}, "image.resize2d": {keeps: images},
	"nn.space_to_depth": {keeps: images}, "nn.depth_to_space": {keeps: images},
	"nn.global_avg_pool2d": {keeps: images}, "nn.global_max_pool2d": {keeps: images}, "nn.adaptive_avg_pool2d": {keeps: images}, "nn.adaptive_max_pool2d": {keeps: images},
	"nn.max_pool1d": {keeps: images}, "nn.max_pool2d": {keeps: images}, "nn.max_pool3d": {keeps: images},
	"nn.avg_pool1d": {keeps: images}, "nn.avg_pool2d": {keeps: images}, "nn.avg_pool3d": {keeps: images},
	"nn.conv1d": {keeps: images}, "nn.conv2d": {keeps: images}, "nn.conv3d": {keeps: images},
	"nn.conv1d_transpose": {keeps: images}, "nn.conv2d_transpose": {keeps: images}, "nn.conv3d_transpose": {keeps: images},
	"image.grid_sample": {keeps: firstOfAll},
	"sum":               {keeps: reduce}, "mean": {keeps: reduce}, "prod": {keeps: reduce}, "max": {keeps: reduce}, "min": {keeps: reduce}, "logsumexp": {keeps: reduce},
	"all": {keeps: reduce}, "any": {keeps: reduce}, "argmax": {keeps: reduce}, "argmin": {keeps: reduce},
	"reshape": {keeps: reshape, open: []string{"newshape"}, idle: true}, "expand_dims": {keeps: reshape}, "squeeze": {keeps: reshape},
	"transpose": {keeps: transpose}, "trilu": {keeps: trilu},
	"broadcast_to": {keeps: broadcastTo, makes: true, open: []string{"shape"}, idle: true}, "full": {keeps: filled, makes: true, open: []string{"shape"}},
	"zeros": {keeps: filled, makes: true, open: []string{"shape"}}, "ones": {keeps: filled, makes: true, open: []string{"shape"}},
	"tile": {keeps: tile, makes: true, open: []string{"reps"}, idle: true}, "repeat": {keeps: repeat},
	"concatenate": {keeps: concatenate}, "stack": {keeps: stack}, "strided_slice": {keeps: slice, open: []string{"begin", "end"}}, "nn.pad": {keeps: pad},
	"one_hot": {keeps: oneHot}, "take": {keeps: take}, "gather": {keeps: gather}, "gather_nd": {keeps: gatherND},
	"scatter_elements": {keeps: scatterElements}, "reverse_sequence": {keeps: reverseSequence},
}

// call returns where the result of an operator has the batch.
func (p *prover) call(x pair, b *relay.Call, needs []pair) (places, error) {
	s := &site{many: b, n: p.n, result: [2]relay.Type{x.one.Type(), b.Type()}}
	r := keeps[b.Op.Name]
	if b.Op.Class <= relay.Broadcast && r.keeps == nil {
		r.keeps = aligned
	}
	if left := len(needs) == 1 && needs[0].one == x.one; !left {
		s.one = x.one.(*relay.Call)
		if !sameAttrs(s.one, b, r.open) {
			return nil, p.differ(x)
		}
	}
	equal := s.one != nil && sameAttrs(s.one, b, nil)
	alike := true
	for _, need := range needs {
		s.in = append(s.in, p.of[need])
		s.from = append(s.from, flat(need.one.Type())...)
		s.to = append(s.to, flat(need.many.Type())...)
		for _, at := range p.of[need] {
			alike = alike && at == shared
		}
	}
	switch {
	case alike && equal: // the same operator of the same values
		return slices.Repeat(places{shared}, len(flat(b.Type()))), nil
	case r.keeps == nil || alike && !r.makes:
		return nil, p.mixes(x)
	}
	for _, t := range slices.Concat(s.from, flat(x.one.Type())) {
		if t.Shape.Elems() <= 0 { // of nothing the types do not tell where the batch is
			return nil, p.mixes(x)
		}
	}
	found, ok := r.keeps(s)
	if !ok {
		return nil, p.mixes(x)
	}
	return found, nil
}

// sameAttrs compares the attributes of two calls of one operator, besides those in open.
func sameAttrs(a, b *relay.Call, open []string) bool {
	to := relay.AttrFields(b.Attrs)
	for i, f := range relay.AttrFields(a.Attrs) {
		if !slices.Contains(open, f.Name) && relay.FormatAttr(f.Value) != relay.FormatAttr(to[i].Value) {
			return false
		}
	}
	return true
}

// attr returns an attribute of the call in the model of n rows.
func attr[T any](s *site, name string) T {
	for _, f := range relay.AttrFields(s.many.Attrs) {
		if v, ok := f.Value.(T); ok && f.Name == name {
			return v
		}
	}
	var zero T
	return zero
}

// data returns the place of operand 0 where all others are shared.
func (s *site) data() (place, bool) {
	for _, rest := range s.in[1:] {
		if rest[0] != shared {
			return shared, false
		}
	}
	return s.in[0][0], true
}

func (s *site) rank() int { return len(s.from[0].Shape) }

// all gives each result the place.
func (s *site) all(at place) places { return slices.Repeat(places{at}, len(flat(s.result[0]))) }

// merged returns the place that all operands which have the batch agree on, given each's axis in the result and its rank there.
func merged(in []place, axis func(i int) int) (place, bool) {
	at := shared
	for i, x := range in {
		if x == shared {
			continue
		}
		x.axis = axis(i)
		if at != shared && at != x {
			return shared, false
		}
		at = x
	}
	return at, true
}

// aligned is of operators on single elements, whose operands broadcast: a shared one must not have the batch's axis.
func aligned(s *site) (places, bool) {
	var in []place
	rank := 0
	for i, p := range s.in {
		in, rank = append(in, p...), max(rank, len(s.from[i].Shape))
	}
	at, ok := broadcast(in, s.from, rank)
	return s.all(at), ok && len(s.in) == len(s.from)
}

// broadcast merges operands that are aligned at the last axis of a result.
func broadcast(in []place, types []*relay.TensorType, rank int) (place, bool) {
	at, ok := merged(in, func(i int) int { return in[i].axis + rank - len(types[i].Shape) })
	for i, t := range types {
		if axis := at.axis - rank + len(t.Shape); at != shared && in[i] == shared && axis >= 0 && t.Shape[axis] != 1 {
			ok = false
		}
	}
	return at, ok
}

// channels is of operators with numbers for each place along an axis.
func channels(s *site) (places, bool) {
	at, ok := s.data()
	axis := relay.NormalAxis(attr[int](s, "axis"), s.rank())
	for _, t := range s.from[1:] {
		ok = ok && (t.Shape.Elems() == 1 || axis != at.axis)
	}
	if s.many.Op.Name == "nn.batch_norm" {
		return places{at, shared, shared}, ok
	}
	return places{at}, ok
}

// dense is (…, K) times (N, K): rows are apart along all axes but the last.
func dense(s *site) (places, bool) {
	at, ok := s.data()
	return places{at}, ok && at.axis != s.rank()-1
}

// matmul keeps rows apart along the axes before the matrices, along the rows of the left operand and along the columns of the right one.
func matmul(s *site) (places, bool) {
	a, b := s.in[0][0], s.in[1][0]
	ra, rb := len(s.from[0].Shape), len(s.from[1].Shape)
	rank := max(ra, rb)
	rows, columns := ra-2, rb-1
	if attr[bool](s, "transpose_a") {
		rows = ra - 1
	}
	if attr[bool](s, "transpose_b") {
		columns = rb - 2
	}
	switch {
	case b == shared && a.axis == rows:
		return places{{rank - 2, a.outer}}, true
	case a == shared && b.axis == columns:
		return places{{rank - 1, b.outer}}, true
	case a.axis >= ra-2 || b.axis >= rb-2:
		return nil, false
	}
	at, ok := broadcast([]place{a, b}, s.from, rank)
	return places{at}, ok
}

// attention keeps rows apart along the axes before the matrices, and along the queries.
func attention(s *site) (places, bool) {
	ranks := make([]int, len(s.from))
	for i, t := range s.from {
		ranks[i] = len(t.Shape)
	}
	rank := len(relay.Tensor(s.many).Shape)
	queries := ranks[0] - 2
	if attr[bool](s, "transpose_q") {
		queries++
	}
	in := make([]place, len(s.from))
	outer := true // the operands have the batch before the matrices, if at all
	for i := range in {
		in[i] = s.in[i][0]
		outer = outer && (in[i] == shared || in[i].axis < ranks[i]-2)
	}
	if outer {
		at, ok := broadcast(in, s.from, rank)
		return places{at}, ok
	}
	one := in[0] != shared && in[0].axis == queries && in[1] == shared && in[2] == shared
	mask := in[3] != shared && in[3].axis == ranks[3]-2 || in[3] == shared && (ranks[3] < 2 || s.from[3].Shape[ranks[3]-2] == 1)
	return places{{rank - 2, in[0].outer}}, one && mask && (in[3] == shared || in[3].outer == in[0].outer)
}

// along is of operators that work along one axis, or some: "axis" of their attributes.
func along(s *site) (places, bool) {
	at, ok := s.data()
	list, several := []int{attr[int](s, "axis")}, s.many.Op.Name == "nn.l2_normalize"
	if several {
		list = attr[[]int](s, "axis")
	}
	for _, axis := range list {
		ok = ok && relay.NormalAxis(axis, s.rank()) != at.axis
	}
	return s.all(at), ok && len(list) > 0
}

// resize changes the axes that are listed.
func resize(s *site) (places, bool) {
	at, ok := s.data()
	axes, err := s.many.Attrs.(*relay.ResizeAttrs).ResizedAxes(s.many.Op.Name, s.rank())
	return places{at}, ok && err == nil && !slices.Contains(axes, at.axis)
}

// first is of operators that take axis 0 for the batch.
func first(s *site) (places, bool) {
	at, ok := s.data()
	return places{at}, ok && at.axis == 0
}

// firstOfAll is of operators that take axis 0 of every operand for the batch.
func firstOfAll(s *site) (places, bool) {
	for _, in := range s.in {
		if in[0] != s.in[0][0] || in[0].axis != 0 {
			return nil, false
		}
	}
	return places{s.in[0][0]}, true
}

// images is of operators on images in a layout: rows are apart along N.
func images(s *site) (places, bool) {
	at, ok := s.data()
	from := attr[string](s, "data_layout") + attr[string](s, "layout")
	to := attr[string](s, "out_layout")
	if to == "" {
		to = from
	}
	source, err := tensor.ParseLayout(from)
	if err != nil {
		return nil, false
	}
	result, err := tensor.ParseLayout(to)
	if err != nil || at.axis != source.Index('N') || source.Block('N') > 1 {
		return nil, false
	}
	return places{{result.Index('N'), at.outer}}, ok
}

// reduce keeps the axes that it does not reduce.
func reduce(s *site) (places, bool) {
	at, ok := s.data()
	list := attr[[]int](s, "axis")
	gone := make([]bool, s.rank())
	for i := range gone {
		gone[i] = list == nil
	}
	for _, axis := range list {
		gone[relay.NormalAxis(axis, len(gone))] = true
	}
	if attr[bool](s, "exclude") {
		for i := range gone {
			gone[i] = !gone[i]
		}
	}
	if gone[at.axis] {
		return nil, false
	}
	if !attr[bool](s, "keepdims") {
		for _, g := range gone[:at.axis] {
			if g {
				at.axis--
			}
		}
	}
	return places{at}, ok
}
