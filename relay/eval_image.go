package relay

import (
	"math"
)

// evalResize resamples one axis after the other. Integers are rounded to nearest even and saturated at the end.
func evalResize(s *EvalSite) (Value, error) {
	a, x, out := s.Attrs.(*ResizeAttrs), s.Wide(0), s.out()
	axes, err := a.ResizedAxes(s.Op.Name, len(x.Shape))
	if err != nil {
		return nil, err
	}
	if out.Shape.Elems() == 0 {
		return out, nil
	}
	data, shape := x.F, x.Shape.Clone()
	if data == nil {
		data = make([]float64, len(x.I))
		for i, v := range x.I {
			data[i] = intToFloat(x.DType, v)
		}
	}
	for i, axis := range axes {
		taps := a.Taps(i, shape[axis])
		outer, n, inner := splitAxis(shape, axis)
		shape[axis] = len(taps)
		next := make([]float64, shape.Elems())
		s.parallel(outer*len(taps), inner*len(taps[0].At)+1, func(begin, end int) {
			for row := begin; row < end; row++ {
				o, tap := row/len(taps), taps[row%len(taps)]
				dst := next[row*inner:][:inner]
				if tap.At == nil {
					for k := range dst {
						dst[k] = a.ExtrapolationValue
					}
				}
				for k, at := range tap.At {
					weight := tap.Weight[k]
					for j, v := range data[(o*n+at)*inner:][:inner] {
						dst[j] += weight * v
					}
				}
			}
		})
		data = next
	}
	copy(out.F, data)
	for i := range out.I {
		out.I[i] = floatToInt(out.DType, math.RoundToEven(data[i]))
	}
	return out, nil
}

// Tap says what one place of a resized axis is made of: the sum of elements At, each times its Weight; At is nil where
// the place lies outside and takes the extrapolation value.
type Tap struct {
	At     []int
	Weight []float64
}

// Taps returns the taps of resized axis number i, whose operand has extent n, one for each place of the result.
func (a *ResizeAttrs) Taps(i, n int) []Tap {
	size := a.Size[i]
	scale := float64(size) / float64(n)
	if a.Scales != nil {
		scale = a.Scales[i]
	}
	start, end := 0.0, 1.0
	if a.CoordinateTransform == "tf_crop_and_resize" {
		start, end = a.Roi[i], a.Roi[len(a.Size)+i]
	}
	taps := make([]Tap, size)
	for x := range taps {
		at := a.coordinate(float64(x), scale, n, size, start, end)
		if a.CoordinateTransform == "tf_crop_and_resize" && !(at >= 0 && at <= float64(n-1)) {
			continue
		}
		if a.Method == "nearest_neighbor" {
			taps[x] = Tap{[]int{min(max(roundBy(a.RoundingMethod, at), 0), n-1)}, []float64{1}}
			continue
		}
		taps[x] = a.filter(at, scale, n)
	}
	return taps
}

// coordinate returns the place in the operand of place x of the result.
func (a *ResizeAttrs) coordinate(x, scale float64, n, size int, start, end float64) float64 {
	length := scale * float64(n) // of the result, not rounded
	switch a.CoordinateTransform {
	case "align_corners":
		if length == 1 {
			return 0
		}
		return x * float64(n-1) / (length - 1)
	case "asymmetric":
		return x / scale
	case "tf_crop_and_resize":
		if length == 1 {
			return start*float64(n-1) + (end-start)*float64(n-1)/2
		}
		return start*float64(n-1) + x*(end-start)*float64(n-1)/(length-1)
	case "tf_half_pixel_for_nn":
		return (x + 0.5) / scale
	case "pytorch_half_pixel":
		if length == 1 {
			return -0.5
		}
	case "half_pixel_symmetric":
		offset := float64(n) / 2 * (1 - float64(size)/length)
		return offset + (x+0.5)/scale - 0.5
	}
	return (x+0.5)/scale - 0.5
}

func roundBy(method string, at float64) int {
	switch method {
	case "round_prefer_ceil":
		at = math.Floor(at + 0.5)
	case "floor":
		at = math.Floor(at)
	case "ceil":
		at = math.Ceil(at)
	default:
		at = math.Ceil(at - 0.5)
	}
	return int(math.Max(-1, math.Min(at, math.MaxInt32)))
}

// filter returns the taps of a linear or cubic filter around a place; neighbours outside are clamped to the border.
func (a *ResizeAttrs) filter(at, scale float64, n int) Tap {
	kernel, radius := func(d float64) float64 { return math.Max(0, 1-math.Abs(d)) }, 1.0
	if a.Method == "cubic" {
		kernel, radius = cubic(a.CubicAlpha), 2
	}
	shrink := 1.0
	if a.Antialias {
		shrink = math.Min(scale, 1)
	}
	at = math.Max(-float64(n), math.Min(at, 2*float64(n))) // far outside every neighbour is the border
	floor := math.Floor(at)
	first := int(math.Floor(-radius/shrink)) + 1
	var tap Tap
	sum := 0.0
	for k := first; k < 2-first; k++ {
		place := int(floor) + k
		weight := kernel((float64(place) - at) * shrink)
		if a.CubicExclude && (place < 0 || place >= n) {
			weight = 0
		}
		sum += weight
		if weight != 0 {
			tap.At = append(tap.At, min(max(place, 0), n-1))
			tap.Weight = append(tap.Weight, weight)
		}
	}
	if tap.At == nil {
		return Tap{[]int{min(max(int(floor), 0), n-1)}, []float64{0}}
	}
	if a.Antialias || a.CubicExclude {
		for k := range tap.Weight {
			tap.Weight[k] /= sum
		}
	}
	return tap
}

// cubic returns the convolution kernel of Keys with coefficient a.
func cubic(a float64) func(float64) float64 {
	return func(d float64) float64 {
		switch d = math.Abs(d); {
		case d <= 1:
			return ((a+2)*d-(a+3))*d*d + 1
		case d < 2:
			return ((a*d-5*a)*d+8*a)*d - 4*a
		}
		return 0
	}
}

func evalGridSample(s *EvalSite) (Value, error) {
	a, x, grid, out := s.Attrs.(*GridSampleAttrs), s.Wide(0), s.Wide(1), s.out()
	spatial := x.Shape[2:]
	rank, strides := len(spatial), spatial.Strides()
	points, plane := out.Shape[2:].Elems(), spatial.Elems()
	channels := x.Shape[1]
	s.parallel(x.Shape[0]*points, channels*8, func(begin, end int) {
		taps := make([]Tap, rank)
		for p := begin; p < end; p++ {
			image, point := p/points, p%points
			for axis, n := range spatial { // the grid holds x, y, z: the last axis first
				taps[axis] = a.taps(grid.F[p*rank+rank-1-axis], n)
			}
			for c := range channels {
				data := x.F[(image*channels+c)*plane:][:plane]
				out.F[(image*channels+c)*points+point] = sample(data, strides, taps)
			}
		}
	})
	return out, nil
}

// sample sums data over the products of the taps of all axes.
func sample(data []float64, strides []int, taps []Tap) float64 {
	if len(taps) == 0 {
		return data[0]
	}
	sum := 0.0
	for k, at := range taps[0].At {
		sum += taps[0].Weight[k] * sample(data[at*strides[0]:], strides[1:], taps[1:])
	}
	return sum
}

// taps returns what a normalised coordinate reads of an axis of extent n; what lies outside and reads zero is left out.
func (a *GridSampleAttrs) taps(v float64, n int) Tap {
	lo, hi := -0.5, float64(n)-0.5
	at := ((v+1)*float64(n) - 1) / 2
	if a.AlignCorners {
		lo, hi = 0, float64(n-1)
		at = (v + 1) / 2 * float64(n-1)
	}
	if a.Method == "nearest" {
		at = math.RoundToEven(at)
	}
	if at < lo || at > hi || math.IsNaN(at) {
		switch a.PaddingMode {
		case "border":
			at = math.Max(0, math.Min(at, float64(n-1)))
		case "reflection":
			at = mirror(at, lo, hi)
		}
	}
	if math.IsNaN(at) {
		at = -2
	}
	at = math.Max(-4, math.Min(at, float64(n)+4))
	var tap Tap
	add := func(place int, weight float64) {
		if place < 0 || place >= n {
			switch a.PaddingMode {
			case "zeros":
				return
			case "border":
				place = min(max(place, 0), n-1)
			default:
				place = min(max(int(mirror(float64(place), lo, hi)), 0), n-1)
			}
		}
		tap.At, tap.Weight = append(tap.At, place), append(tap.Weight, weight)
	}
	floor := math.Floor(at)
	switch a.Method {
	case "nearest":
		add(int(at), 1)
	case "bilinear":
		add(int(floor), 1-(at-floor))
		add(int(floor)+1, at-floor)
	default:
		kernel := cubic(-0.75)
		for k := -1; k <= 2; k++ {
			add(int(floor)+k, kernel(at-floor-float64(k)))
		}
	}
	return tap
}

// mirror reflects v at lo and hi until it lies between them.
func mirror(v, lo, hi float64) float64 {
	size := hi - lo
	if size <= 0 || math.IsInf(v, 0) {
		return lo
	}
	d := math.Mod(math.Abs(v-lo), 2*size)
	return lo + math.Min(d, 2*size-d)
}
