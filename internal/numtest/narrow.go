package numtest

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

// Codes returns every value of a storage type, in the order of its bits.
func Codes(d tensor.DType) *tensor.Tensor {
	w := tensor.NewWide(map[int]tensor.DType{8: tensor.Uint8, 4: tensor.Uint4, 2: tensor.Uint2}[d.Bits()], tensor.Shape{1 << d.Bits()})
	for i := range w.I {
		w.I[i] = int64(i)
	}
	t := w.Narrow()
	t.DType = d
	return t
}

// Turns returns values of type from around which a conversion to the storage type to changes its result: its values, the
// middles between them and those beyond the largest, each with its neighbours and of either sign, and the special ones.
// Of integers they are those around 0, around the largest floats and at the ends of the range.
func Turns(from, to tensor.DType) *tensor.Tensor {
	if !from.IsFloat() {
		return wholeTurns(from)
	}
	list := []float64{0, math.Inf(1), math.NaN(), 0x1p-127, 0x1.8p-127, 1e-45, 1e-40, 1.2e-38, 1e30, 3e38, 0.3, 1000.7, math.SmallestNonzeroFloat64, math.MaxFloat64}
	if to.IsFloat() {
		last := 0.0
		for _, v := range tensor.Widen(Codes(to)).F {
			if v > 0 && !math.IsInf(v, 0) {
				list = append(list, v, (last+v)/2)
				last = v
			}
		}
		ulp := math.Ldexp(tensor.Epsilon(to), math.Ilogb(last))
		list = append(list, last+ulp/2, last+ulp)
	} else {
		for v := range 80 {
			list = append(list, float64(v)/4)
		}
	}
	w := &tensor.Wide{DType: from}
	for _, v := range list {
		for _, v := range beside(from, tensor.Round(from, v)) {
			w.F = append(w.F, v, -v)
		}
	}
	w.Shape = tensor.Shape{len(w.F)}
	return w.Narrow()
}

// beside returns a value of a float type that is computed in, and the values next to it.
func beside(d tensor.DType, v float64) []float64 {
	if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return []float64{v}
	}
	switch d {
	case tensor.Float64:
		return []float64{math.Nextafter(v, 0), v, math.Nextafter(v, math.Inf(1))}
	case tensor.Float32:
		return []float64{float64(math.Nextafter32(float32(v), 0)), v, float64(math.Nextafter32(float32(v), float32(math.Inf(1))))}
	}
	bits := tensor.EncodeFloat(d, v)
	return []float64{tensor.DecodeFloat(d, bits-1), v, tensor.DecodeFloat(d, bits+1)}
}

func wholeTurns(d tensor.DType) *tensor.Tensor {
	lo, hi := tensor.IntRange(d)
	list := []int64{lo, lo + 1, hi - 1, hi, 239, 240, 241, 447, 464, 465, 57344, 61439, 61440, 61441, 1<<24 + 1, 1<<31 - 1, 1<<53 + 1}
	for v := range int64(40) {
		list = append(list, v-20)
	}
	w := tensor.NewWide(d, tensor.Shape{len(list)})
	for i, v := range list {
		w.I[i] = tensor.Wrap(d, v)
	}
	return w.Narrow()
}
