package lower

import (
	"testing"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// TestUnique has few distinct slices among many, all alike, all different, none, slices of several axes, and every kind of
// element.
func TestUnique(t *testing.T) {
	repeat := func(step int) func(int, *tensor.Wide) {
		return func(_ int, w *tensor.Wide) {
			list := special(w.DType)
			for i := range w.F {
				w.F[i] = list[i*step*7%len(list)]
			}
			for i := range w.I {
				w.I[i] = tensor.Wrap(w.DType, int64(i*step%5)-2)
			}
		}
	}
	var cases []opCase
	for _, sorted := range []bool{true, false} {
		for _, x := range []*relay.TensorType{f32(40), f32(1), f32(0), typ(tensor.Float16, 33), typ(tensor.BFloat16, 33), typ(tensor.Float64, 33),
			typ(tensor.Int8, 21), typ(tensor.Uint64, 21), typ(tensor.Bool, 9)} {
			cases = append(cases, opCase{op: "unique", attrs: &relay.UniqueAttrs{Sorted: sorted}, in: []*relay.TensorType{x}, fill: repeat(1)},
				opCase{op: "unique", attrs: &relay.UniqueAttrs{Sorted: sorted}, in: []*relay.TensorType{x}, fill: repeat(0)})
		}
		cases = append(cases, opCase{op: "unique", attrs: &relay.UniqueAttrs{Sorted: sorted}, in: []*relay.TensorType{f32(100)}})
		for axis := -1; axis < 2; axis++ {
			for _, x := range []*relay.TensorType{f32(5, 6, 4), typ(tensor.Int32, 20, 3, 2), typ(tensor.Uint8, 2, 7, 2), f32(3, 0, 2)} {
				cases = append(cases, opCase{op: "unique", attrs: &relay.UniqueAttrs{Axis: axis, Sorted: sorted}, in: []*relay.TensorType{x}, fill: repeat(3)})
			}
		}
	}
	runCases(t, cases)
}
