package onnx

import (
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// microsoftAttention is attention of a sequence to itself: query, key and value are one product with merged weights.
func microsoftAttention(n *node) []relay.Expr {
	heads := n.int("num_heads", 0)
	x, w := n.in(0), n.in(1)
	s, ws := n.known(x), n.known(w)
	n.wants(len(s) == 3 && len(ws) == 2 && ws[0] == s[2] && heads > 0, "an operand of shape %v, weights of shape %v, %d heads", s, ws, heads)
	if n.flag("do_rotary", false) || n.flag("past_present_share_buffer", false) {
		n.failUnsupported("do_rotary and past_present_share_buffer")
	}
	sizes := n.ints("qkv_hidden_sizes", []int{ws[1] / 3, ws[1] / 3, ws[1] / 3})
	n.wants(len(sizes) == 3 && sizes[0]+sizes[1]+sizes[2] == ws[1] && sizes[0] == sizes[1], "qkv_hidden_sizes %v for weights of shape %v", sizes, ws)
	y := n.matmul(x, w)
	if bias := n.opt(2); bias != nil {
		n.sameType(y, bias)
		y = n.add(y, bias)
	}
	parts := n.split(y, sizes, 2)
	var pastKey, pastValue relay.Expr
	if past := n.opt(4); past != nil {
		ps := n.known(past)
		n.wants(len(ps) == 5 && ps[0] == 2, "a past of shape %v", ps)
		pastKey = n.reshape(n.sliceAxis(past, 0, 0, 1), ps[1:])
		pastValue = n.reshape(n.sliceAxis(past, 0, 1, 2), ps[1:])
	}
	out := n.attend(heads, parts, n.opt(3), n.opt(5), pastKey, pastValue)
	if !n.wantsOutput(1) { // values may be narrower than keys
		return out[:1]
	}
	return []relay.Expr{out[0], n.call("stack", &relay.ConcatAttrs{Axis: 0}, n.tuple(out[1], out[2]))}
}

// multiHeadAttention is attention with a bias on query, key and value, which may also come with heads (B, N, S, D).
func multiHeadAttention(n *node) []relay.Expr {
	heads := n.int("num_heads", 0)
	q, k, v := n.in(0), n.opt(1), n.opt(2)
	if k == nil || v == nil || n.rank(q) != 3 {
		n.failUnsupported("packed queries, keys and values: %v", n.typ(q))
	}
	if n.opt(8) != nil || n.opt(9) != nil {
		n.failUnsupported("a buffer that past and present share")
	}
	n.wants(heads > 0, "num_heads %d", heads)
	parts := []relay.Expr{q, k, v}
	if bias := n.opt(3); bias != nil {
		at := 0
		for i, e := range parts {
			s := n.known(e)
			width := s[len(s)-1]
			if len(s) == 4 {
				width *= s[1]
			}
			n.wants(n.rank(bias) == 1 && at+width <= n.known(bias)[0], "a bias of shape %v", n.shape(bias))
			if len(s) == 3 {
				parts[i] = n.add(e, n.sliceAxis(bias, 0, at, at+width))
			}
			at += width
		}
	}
	out := n.attend(heads, parts, n.opt(4), n.opt(5), n.opt(6), n.opt(7))
	return out[:3]
}

// attend is attention with a mask of keys, where 0 takes a key away, and a bias of the scores.
func (n *node) attend(heads int, parts []relay.Expr, mask, bias, pastKey, pastValue relay.Expr) []relay.Expr {
	q, k := n.known(parts[0]), n.known(parts[1])
	d := n.dtype(parts[0])
	keys := k[len(k)-2]
	if pastKey != nil {
		keys += n.known(pastKey)[2]
	}
	if mask != nil {
		mask = n.keyMask(mask, d, q[0], q[1], keys)
		if bias != nil {
			mask = n.add(mask, bias)
		}
		bias = mask
	}
	attrs := []*pb.AttributeProto{intAttr("q_num_heads", heads), intAttr("kv_num_heads", heads), intAttr("is_causal", n.int("unidirectional", 0))}
	return attention(n.with(attrs, parts[0], parts[1], parts[2], bias, pastKey, pastValue))
}

// keyMask is what a mask of keys adds to the scores (B, 1, rows, keys). It is (B, keys), (B, rows, keys), or the number of
// keys of each sequence (B).
func (n *node) keyMask(mask relay.Expr, d tensor.DType, batch, rows, keys int) relay.Expr {
	s := n.known(mask)
	n.wants(n.dtype(mask).IsInt(), "a mask of type %v", n.dtype(mask))
	var keep relay.Expr
	switch {
	case s.Equal(tensor.Shape{batch}) && batch != 0:
		lengths := n.reshape(n.cast(mask, tensor.Int64), tensor.Shape{batch, 1, 1, 1})
		keep = n.call("less", nil, n.iota(keys, 0), lengths)
	case s.Equal(tensor.Shape{batch, keys}):
		keep = n.cast(n.reshape(mask, tensor.Shape{batch, 1, 1, keys}), tensor.Bool)
	case s.Equal(tensor.Shape{batch, rows, keys}):
		keep = n.cast(n.reshape(mask, tensor.Shape{batch, 1, rows, keys}), tensor.Bool)
	default:
		n.failUnsupported("a mask of shape %v for %d sequences of %d and %d keys", s, batch, rows, keys)
	}
	return n.where(keep, n.scalar(d, 0), n.scalar(d, n.float("mask_filter_value", -10000)))
}

// microsoftRotary is RotaryEmbedding with positions in front of the angles: (B, S), or the first one of all sequences.
func microsoftRotary(n *node) []relay.Expr {
	x, at, cosines, sines := n.in(0), n.in(1), n.in(2), n.in(3)
	s := n.known(x)
	if n.flag("is_packed_batching", false) || n.float("scale", 1) != 1 {
		n.failUnsupported("is_packed_batching and a scale")
	}
	n.wants(len(s) == 3 || len(s) == 4, "an operand of shape %v", s)
	length := s[len(s)-2]
	if elems(n.typ(at)) == 1 {
		at = n.broadcastTo(n.add(n.reshape(at, tensor.Shape{1, 1}), n.cast(n.iota(length, 0), n.dtype(at))), tensor.Shape{s[0], length})
	}
	half := n.known(cosines)[n.rank(cosines)-1]
	var attrs []*pb.AttributeProto
	if len(s) == 3 && n.int("num_heads", 0) == 0 { // a head is as wide as its angles
		n.wants(half > 0 && s[2]%(2*half) == 0, "%d angles for an operand of shape %v", half, s)
		attrs = append(attrs, intAttr("num_heads", s[2]/(2*half)))
	}
	return rotaryEmbedding(n.with(attrs, x, cosines, sines, at))
}
