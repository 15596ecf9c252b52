package tensor

// Wide is a host array for oracles: floats as float64, integers and bools as int64 (uint64 as its bits). Exactly one
// of F and I is used, by DType's kind.
type Wide struct {
	DType DType
	Shape Shape
	F     []float64 // floating-point types
	I     []int64   // integer types and bool (0 or 1)
}

// NewWide returns a zeroed array.
func NewWide(d DType, s Shape) *Wide {
	w := &Wide{DType: d, Shape: s}
	if d.IsFloat() {
		w.F = make([]float64, s.Elems())
	} else {
		w.I = make([]int64, s.Elems())
	}
	return w
}
