package onnx

import (
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// Quantized operators of com.microsoft. Each is its definition in real numbers between a dequantization and a quantization;
// a product is one of integers.

// real is operand i, dequantized with the scale behind it and the zero point behind that.
func (n *node) real(i int) relay.Expr {
	x := n.in(i)
	n.wants(n.rank(n.in(i+1)) <= 1 && elems(n.typ(n.in(i+1))) == 1, "a scale of shape %v, wanted a scalar", n.shape(n.in(i+1)))
	return n.dequantize(x, n.in(i+1), n.opt(i+2), 0, n.dtype(n.in(i+1)))
}

// quantizedAs quantizes with the scale that is operand i and the zero point behind it.
func (n *node) quantizedAs(x relay.Expr, i int, d tensor.DType) relay.Expr {
	return n.quantize(n.cast(x, n.dtype(n.in(i))), n.in(i), n.opt(i+1), d, 0)
}

func qLinearAdd(n *node) []relay.Expr {
	n.sameType(n.in(0), n.in(3))
	return one(n.quantizedAs(n.add(n.real(0), n.real(3)), 6, n.dtype(n.in(0))))
}

// qLinearMul is (A − a)·(B − b) · (A's scale · B's scale), quantized.
func qLinearMul(n *node) []relay.Expr {
	n.sameType(n.in(0), n.in(3))
	product := n.mul(n.centred(n.in(0), n.opt(2), 0), n.centred(n.in(3), n.opt(5), 0))
	scale := n.mul(n.scalarOf(n.in(1)), n.scalarOf(n.in(4)))
	return one(n.quantizedAs(n.mul(n.cast(product, n.dtype(scale)), scale), 6, n.dtype(n.in(0))))
}

// scalarOf is an operand of one element without axes.
func (n *node) scalarOf(x relay.Expr) relay.Expr {
	n.wants(elems(n.typ(x)) == 1, "an operand of shape %v, wanted a scalar", n.shape(x))
	return n.reshape(x, tensor.Shape{})
}

// qLinearOf is an operator on real numbers between operand 0 and a result of its type.
func qLinearOf(f func(*node) []relay.Expr) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		return one(n.quantizedAs(f(n.with(nil, n.real(0)))[0], 3, n.dtype(n.in(0))))
	}
}

// qLinearSoftmax is Softmax as it was in the version that an attribute names.
func qLinearSoftmax(n *node) []relay.Expr {
	m := n.with(nil, n.real(0))
	m.opset = n.int("opset", 0)
	n.wants(m.opset > 0, "opset is missing")
	return one(n.quantizedAs(softmax("nn.softmax")(m)[0], 3, n.dtype(n.in(0))))
}

func qLinearAveragePool(n *node) []relay.Expr { return qLinearOf(channelsLast(averagePool))(n) }

func qLinearGlobalPool(n *node) []relay.Expr {
	return qLinearOf(channelsLast(globalPool("nn.global_avg_pool2d", "mean")))(n)
}

// qLinearReduceMean is the mean over the axes of an attribute, of all axes when it is empty.
func qLinearReduceMean(n *node) []relay.Expr {
	x := n.real(0)
	axes := n.axes(n.ints("axes", nil), n.rank(x))
	if len(axes) == 0 {
		for a := range n.rank(x) {
			axes = append(axes, a)
		}
	}
	return one(n.quantizedAs(n.reduce("mean", x, axes, n.flag("keepdims", true)), 3, n.dtype(n.in(0))))
}

// qLinearConcat joins operands that come with a scale and a zero point each.
func qLinearConcat(n *node) []relay.Expr {
	n.wants(len(n.args) >= 5 && len(n.args)%3 == 2, "%d operands, wanted a scale, a zero point and triples", len(n.args))
	d := n.dtype(n.in(1))
	var parts []relay.Expr
	for i := 2; i < len(n.args); i += 3 {
		parts = append(parts, n.quantizedAs(n.real(i), 0, d))
	}
	return one(n.concat(parts, n.axis(n.int("axis", 0), n.rank(parts[0]))))
}

// qLinearWhere chooses between two operands with scales and zero points of their own.
func qLinearWhere(n *node) []relay.Expr {
	return one(n.quantizedAs(n.where(n.in(0), n.real(1), n.real(4)), 7, n.dtype(n.in(1))))
}

// mulInteger is (A − a)·(B − b) in int32.
func mulInteger(n *node) []relay.Expr {
	return one(n.mul(n.centred(n.in(0), n.opt(1), 0), n.centred(n.in(2), n.opt(3), 0)))
}

// matMulInteger16 is the product of matrices of 16 bits in int32, or in uint32 when both are unsigned.
func matMulInteger16(n *node) []relay.Expr {
	d := tensor.Int32
	if n.dtype(n.in(0)) == tensor.Uint16 && n.dtype(n.in(1)) == tensor.Uint16 {
		d = tensor.Uint32
	}
	return one(n.matmulAny(n.cast(n.in(0), d), n.cast(n.in(1), d)))
}

// columns is a scalar, or a vector with one entry for each column of a product of rank axes.
func (n *node) columns(v relay.Expr, rank int) relay.Expr { return n.along(v, rank, rank-1) }

// matMulIntegerToFloat is (A − a)·(B − b) · (A's scale · B's scale) + bias. B's scale and zero point may be one a column.
func matMulIntegerToFloat(n *node) []relay.Expr {
	a, b := n.in(0), n.in(1)
	if elems(n.typ(n.in(2))) != 1 {
		n.failUnsupported("a scale of A of shape %v; a scalar is done here", n.shape(n.in(2)))
	}
	return one(n.productOf(n.centred(a, n.opt(4), n.rank(a)-2), n.centred(b, n.opt(5), n.rank(b)-1), n.scalarOf(n.in(2)), n.in(3), n.opt(6)))
}

// productOf is a·b of integers, times the scales, plus a bias (columns).
func (n *node) productOf(a, b, scaleA, scaleB, bias relay.Expr) relay.Expr {
	sum := n.matmulAny(a, b)
	d := n.dtype(scaleB)
	y := n.mul(n.cast(sum, d), n.mul(scaleA, n.columns(scaleB, n.rank(sum))))
	if bias != nil {
		n.sameType(y, bias)
		y = n.add(y, bias)
	}
	return y
}

// dynamicQuantizeMatMul quantizes A to uint8 over its range, and multiplies integers.
func dynamicQuantizeMatMul(n *node) []relay.Expr {
	b := n.in(1)
	q := dynamicQuantizeLinear(n.with(nil, n.in(0)))
	return one(n.productOf(n.centred(q[0], q[2], 0), n.centred(b, n.opt(3), n.rank(b)-1), q[1], n.in(2), n.opt(4)))
}

// qGemm is alpha · (A's scale · B's scale) · ((A − a)·(B − b) + C): C has the scale of the product. Without a scale of the
// result that is in real numbers.
func qGemm(n *node) []relay.Expr {
	a, b := n.in(0), n.in(3)
	n.wants(n.rank(a) == 2 && n.rank(b) == 2, "operands of shapes %v and %v, wanted matrices", n.shape(a), n.shape(b))
	transA, transB := n.flag("transA", false), n.flag("transB", false)
	columns := 1
	if transB {
		columns = 0
	}
	sum := n.matmulT(n.centred(a, n.in(2), 0), n.centred(b, n.in(5), columns), transA, transB)
	if c := n.opt(6); c != nil {
		n.wants(n.dtype(c) == tensor.Int32, "C has type %v, wanted int32", n.dtype(c))
		sum = n.add(sum, c)
	}
	scale := n.scaled(n.mul(n.scalarOf(n.in(1)), n.columns(n.in(4), 2)), n.float("alpha", 1))
	y := n.mul(n.cast(sum, n.dtype(scale)), scale)
	if n.opt(7) == nil {
		return one(y)
	}
	d := tensor.Uint8
	if zero := n.opt(8); zero != nil {
		d = n.dtype(zero)
	}
	return one(n.quantizedAs(y, 7, d))
}

// matMulNBits is A · Wᵀ, with W (N, K) in blocks along K: (q − zero point) · scale. q are 2, 4 or 8 bits, packed low bits
// first, as (N, blocks, bytes of a block).
func matMulNBits(n *node) []relay.Expr {
	a, b := n.in(0), n.in(1)
	rows, k, bits, size := n.int("N", 0), n.int("K", 0), n.int("bits", 4), n.int("block_size", 0)
	n.wants(rows > 0 && k > 0 && size >= 16 && size&(size-1) == 0, "N=%d, K=%d, block_size=%d", rows, k, size)
	if n.opt(4) != nil || n.int("weight_prepacked", 0) != 0 {
		n.failUnsupported("rearranged weights (g_idx, weight_prepacked)")
	}
	if bits != 2 && bits != 4 && bits != 8 {
		n.failUnsupported("weights of %d bits; 2, 4 and 8 are done here", bits)
	}
	blocks := (k + size - 1) / size
	n.wants(n.dtype(b) == tensor.Uint8 && n.known(b).Elems() == rows*blocks*size*bits/8, "weights %v for N=%d, K=%d, block_size=%d", n.typ(b), rows, k, size)
	d := n.dtype(a)
	w := n.unpacked(b, bits, tensor.Shape{rows, blocks, size}, d)
	var zero relay.Expr = n.scalar(d, float64(int(1)<<(bits-1)))
	if z := n.opt(3); z != nil {
		if n.dtype(z) == tensor.Uint8 {
			each := (blocks*bits + 7) / 8 * 8 / bits
			n.wants(n.known(z).Elems() == rows*each*bits/8, "zero points of shape %v for %d blocks", n.shape(z), blocks)
			z = n.sliceAxis(n.unpacked(z, bits, tensor.Shape{rows, each}, d), 1, 0, blocks)
		}
		zero = n.reshape(n.cast(z, d), tensor.Shape{rows, blocks, 1})
	}
	w = n.mul(n.sub(w, zero), n.reshape(n.in(2), tensor.Shape{rows, blocks, 1}))
	w = n.sliceAxis(n.reshape(w, tensor.Shape{rows, blocks * size}), 1, 0, k)
	n.wants(n.rank(a) >= 2 && n.known(a)[n.rank(a)-1] == k, "A of shape %v, wanted rows of %d", n.shape(a), k)
	y := n.matmulT(a, w, false, true)
	if bias := n.opt(5); bias != nil {
		n.sameType(y, bias)
		y = n.add(y, bias)
	}
	return one(y)
}

// unpacked is the unsigned integers of a few bits that lie in bytes, low bits first, as type d. Of a constant only its type
// and shape change.
func (n *node) unpacked(x relay.Expr, bits int, shape tensor.Shape, d tensor.DType) relay.Expr {
	if bits == 8 {
		return n.cast(n.reshape(x, shape), d)
	}
	packed := map[int]tensor.DType{2: tensor.Uint2, 4: tensor.Uint4}[bits]
	if c, ok := x.(*relay.Constant); ok {
		return n.cast(relay.NewConstant(&tensor.Tensor{DType: packed, Shape: shape, Data: c.Value.Data}, c.Name, n.pos), d)
	}
	var parts []relay.Expr
	for at := 0; at < 8; at += bits {
		moved := n.call("right_shift", nil, x, n.scalar(tensor.Uint8, float64(at)))
		parts = append(parts, n.call("bitwise_and", nil, moved, n.scalar(tensor.Uint8, float64(int(1)<<bits-1))))
	}
	return n.cast(n.reshape(n.call("stack", &relay.ConcatAttrs{Axis: -1}, n.tuple(parts...)), shape), d)
}
