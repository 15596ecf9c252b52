package onnx

import (
	"math"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// raisedCosine is a window Σ_k a_k cos(2πki/N) with N the size, or the size less 1 when it is not periodic.
func raisedCosine(coefficients ...float64) func(*node) []relay.Expr {
	return func(n *node) []relay.Expr {
		size := n.intAt(0, "the size", 0)
		n.wants(size >= 0 && size <= 1<<20, "a window of %d", size)
		period := float64(size)
		if !n.flag("periodic", true) {
			period--
		}
		list := make([]float64, size)
		for i := range list {
			for k, a := range coefficients {
				if k == 0 {
					list[i] += a
				} else {
					list[i] += a * math.Cos(2*math.Pi*float64(k)*float64(i)/period)
				}
			}
		}
		return one(n.floats1(n.dtypeOf(n.int("output_datatype", 1)), list))
	}
}

// melWeightMatrix maps the bins of a spectrum to triangular bands that are equally wide on the mel scale.
func melWeightMatrix(n *node) []relay.Expr {
	bands, length := n.intAt(0, "num_mel_bins", 0), n.intAt(1, "dft_length", 0)
	rate := n.scalarAt(2, "sample_rate", 1)
	n.wants(bands >= 0 && length >= 0 && rate > 0 && bands <= 1<<16 && length <= 1<<20 && (length/2+1)*bands <= 1<<20, "%d bands of %d bins", bands, length/2+1)
	mel := func(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }
	low, high := mel(n.scalarAt(3, "lower_edge_hertz", 0)), mel(n.scalarAt(4, "upper_edge_hertz", 0))
	bins := make([]int, bands+2)
	for i := range bins {
		hertz := 700 * (math.Pow(10, (low+float64(i)*(high-low)/float64(len(bins)))/2595) - 1)
		bins[i] = int(math.Floor(float64(length+1) * hertz / rate))
	}
	rows := length/2 + 1
	out := make([]float64, rows*bands)
	set := func(row, band int, v float64) {
		n.wants(row >= 0 && row < rows, "a band at bin %d of %d", row, rows)
		out[row*bands+band] = v
	}
	for b := range bands {
		left, centre, right := bins[b], bins[b+1], bins[b+2]
		if left == centre {
			set(centre, b, 1)
		} else {
			for j := left; j <= centre; j++ {
				set(j, b, float64(j-left)/float64(centre-left))
			}
		}
		for j := centre; j < right; j++ {
			set(j, b, float64(right-j)/float64(right-centre))
		}
	}
	return one(n.constShape(n.dtypeOf(n.int("output_datatype", 1)), tensor.Shape{rows, bands}, out))
}

// dft is the discrete Fourier transform along an axis, as a product with the matrix of its cosines and sines. The last
// axis holds real and imaginary parts.
func dft(n *node) []relay.Expr {
	x := n.in(0)
	s := n.known(x)
	n.wants(len(s) >= 2 && (s[len(s)-1] == 1 || s[len(s)-1] == 2), "an operand of shape %v", s)
	axis := n.int("axis", 1)
	if n.opset >= 20 {
		axis = n.intAt(2, "the axis", -2)
	}
	axis = n.axis(axis, len(s))
	n.wants(axis != len(s)-1, "axis %d holds real and imaginary parts", axis)
	inverse, onesided := n.flag("inverse", false), n.flag("onesided", false)
	length := s[axis]
	if inverse && onesided {
		length = 2 * (s[axis] - 1)
	}
	length = n.intAt(1, "dft_length", length)
	return one(n.dft(x, axis, length, inverse, onesided))
}

// dft transforms the first length elements of the axis, zeros where there are fewer.
func (n *node) dft(x relay.Expr, axis, length int, inverse, onesided bool) relay.Expr {
	s := n.known(x)
	last := len(s) - 1
	n.wants(length > 0 && length <= 1<<12, "a transform of %d", length)
	in, out := length, length
	switch {
	case onesided && inverse:
		in = length/2 + 1
	case onesided:
		out = length/2 + 1
	}
	if s[axis] > in {
		x = n.sliceAxis(x, axis, 0, in)
	} else {
		in = s[axis]
	}
	parts := s[last]
	results := 2
	if onesided && inverse {
		results = 1
	}
	// row (i, part of the operand), column (k, part of the result)
	m := make([]float64, 0, in*parts*out*results)
	for i := range in {
		for p := range parts {
			for k := range out {
				angle := 2 * math.Pi * float64((i*k)%length) / float64(length)
				c, sn := math.Cos(angle), -math.Sin(angle)
				if inverse {
					c, sn = c/float64(length), -sn/float64(length)
				}
				if onesided && inverse && i > 0 && 2*i != length { // and its mirror image, the conjugate
					c, sn = 2*c, 2*sn
				}
				re, im := c, sn
				if p == 1 {
					re, im = -sn, c
				}
				m = append(m, re)
				if results == 2 {
					m = append(m, im)
				}
			}
		}
	}
	// the axis to the place before the last, both as one
	perm := []int{}
	for a := range last {
		if a != axis {
			perm = append(perm, a)
		}
	}
	outer := tensor.Shape{}
	for _, a := range perm {
		outer = append(outer, s[a])
	}
	x = n.transpose(x, append(append([]int{}, perm...), axis, last))
	x = n.reshape(x, tensor.Shape{outer.Elems(), in * parts})
	y := n.matmul(x, n.constShape(n.dtype(x), tensor.Shape{in * parts, out * results}, m))
	y = n.reshape(y, append(outer.Clone(), out, results))
	back := make([]int, len(s))
	for i, a := range perm {
		back[a] = i
	}
	back[axis], back[last] = last-1, last
	return n.transpose(y, back)
}

// stft transforms overlapping frames of a signal (B, L, 1 or 2) under a window.
func stft(n *node) []relay.Expr {
	x := n.in(0)
	s := n.known(x)
	if len(s) == 2 {
		x, s = n.reshape(x, append(s.Clone(), 1)), append(s.Clone(), 1)
	}
	hop := n.intAt(1, "frame_step", 0)
	window := n.opt(2)
	length := 0
	if window != nil {
		length = n.known(window).Elems()
	}
	length = n.intAt(3, "frame_length", length)
	n.wants(len(s) == 3 && hop > 0 && length > 0 && length <= s[1], "frames of %d every %d of a signal of shape %v", length, hop, s)
	n.wants(window == nil || n.shape(window).Equal(tensor.Shape{length}), "a window for frames of %d", length)
	frames := (s[1]-length)/hop + 1
	index := make([]int, 0, frames*length)
	for f := range frames {
		for i := range length {
			index = append(index, f*hop+i)
		}
	}
	n.wants(len(index) <= 1<<20, "%d frames of %d", frames, length)
	x = n.take(x, n.reshape(n.constInts(index...), tensor.Shape{frames, length}), 1) // (B, frames, length, parts)
	if window != nil {
		x = n.mul(x, n.reshape(window, tensor.Shape{length, 1}))
	}
	return one(n.dft(x, 2, length, false, n.flag("onesided", true)))
}
