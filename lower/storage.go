package lower

import (
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Elements of the storage types (float8, float4 and integers below a byte) are moved and converted, never computed in.
//
// In memory their tensors are bytes: one element a byte, or two or four, the first in the low bits, in row-major order
// without gaps, as host arrays and the files of models have it. The parameters and results of a lowered function are
// these bytes. Inside, a stage holds one element in an integer of its own, the carrier: an int8 or uint8 of the same
// value for integers, the bits for floats. So everything that only moves elements works on carriers as on any type.

// carrier returns the type of an element of type d in a stage: d itself when it is computed in.
func carrier(d tensor.DType) tensor.DType {
	switch {
	case !d.IsStorage():
		return d
	case d.Kind() == tensor.Signed:
		return tensor.Int8
	}
	return tensor.Uint8
}

// carried returns the constant v of type d in its carrier.
func carried(d tensor.DType, v float64) tir.Expr {
	switch {
	case !d.IsStorage():
		return tir.Const(d, v)
	case d.IsFloat():
		return &tir.Int{DType: tensor.Uint8, Value: int64(tensor.EncodeFloat(d, v))}
	}
	return &tir.Int{DType: carrier(d), Value: tensor.Wrap(d, int64(v))}
}

// perByte returns how many elements of type d share a byte.
func perByte(d tensor.DType) int { return max(1, 8/d.Bits()) }

// parameter returns the buffer of a parameter of the given type, and the operand that reads its elements.
func (d *Definition) parameter(name string, typ tensor.DType, shape tensor.Shape) (*te.Tensor, Operand) {
	if perByte(typ) == 1 {
		t := te.Placeholder(name, carrier(typ), shape...)
		return t, operandOf(t, typ)
	}
	t := te.Placeholder(name, tensor.Uint8, typ.Bytes(shape.Elems()))
	elements := te.Compute(name+"_elements", carrier(typ), shape, func(i []tir.Expr) tir.Expr {
		var flat tir.Expr = tir.I(0)
		for n, step := range shape.Strides() {
			flat = tir.Plus(flat, scaled(i[n], step))
		}
		return elementOf(typ, t.At(floorDiv(flat, perByte(typ))), floorMod(flat, perByte(typ)))
	})
	d.Stages = append(d.Stages, elements)
	return t, operandOf(elements, typ)
}

// elementOf returns the carrier of element k of a byte.
func elementOf(d tensor.DType, b, k tir.Expr) tir.Expr {
	width := d.Bits()
	below := tir.Times(tir.As(tensor.Uint8, k), num(tensor.Uint8, float64(width))) // bits under the element
	if d.Kind() == tensor.Signed {
		above := tir.Minus(num(tensor.Uint8, float64(8-width)), below)
		return extended(d, tir.As(tensor.Int8, tir.Bin(tir.Shl, b, above)))
	}
	return tir.Bin(tir.BitAnd, tir.Bin(tir.Shr, b, below), num(tensor.Uint8, float64(int(1)<<width-1)))
}

// extended shifts an element of a signed type from the top of an int8 down to its value.
func extended(d tensor.DType, top tir.Expr) tir.Expr {
	return tir.Bin(tir.Shr, top, num(tensor.Int8, float64(8-d.Bits())))
}

// packed returns the bytes of a result whose elements share them. The last byte is filled up with zeros.
func (d *Definition) packed(o Operand) Operand {
	per, n, width := perByte(o.DType), o.Shape.Elems(), o.DType.Bits()
	t := te.Compute(o.Tensor.Buffer.Name+"_bytes", tensor.Uint8, []int{o.DType.Bytes(n)}, func(i []tir.Expr) tir.Expr {
		var all tir.Expr = num(tensor.Uint8, 0)
		for k := range per {
			at := offset(scaled(i[0], per), k)
			idx := make([]tir.Expr, len(o.Shape))
			regroup(idx, o.Shape, tensor.Shape{n}, []tir.Expr{at})
			bits := tir.Bin(tir.BitAnd, tir.As(tensor.Uint8, o.At(idx...)), num(tensor.Uint8, float64(int(1)<<width-1)))
			if k > 0 && n%per != 0 {
				bits = tir.Sel(tir.Lt(at, tir.I(n)), bits, num(tensor.Uint8, 0))
			}
			all = tir.Bin(tir.BitOr, all, tir.Bin(tir.Shl, bits, num(tensor.Uint8, float64(k*width))))
		}
		return all
	})
	d.Stages = append(d.Stages, t)
	return operandOf(t, tensor.Uint8)
}
