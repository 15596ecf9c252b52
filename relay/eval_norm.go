package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

// along calls f for each line of x along an axis: element i of the line lies at start + i·step.
func along(s *EvalSite, x *tensor.Wide, axis int, f func(start, n, step int)) {
	outer, n, inner := splitAxis(x.Shape, axis)
	s.parallel(outer*inner, 8*n, func(begin, end int) {
		for i := begin; i < end; i++ {
			f(i/inner*n*inner+i%inner, n, inner)
		}
	})
}

func evalSoftmax(log bool) evalFunc {
	return func(s *EvalSite) (Value, error) {
		x, out := s.Wide(0), s.out()
		along(s, x, NormalAxis(s.Attrs.(*AxisAttrs).Axis, len(x.Shape)), func(start, n, step int) {
			m, sum := math.Inf(-1), 0.0
			for i := range n {
				m = fmax(m, x.F[start+i*step])
			}
			for i := range n {
				sum += math.Exp(x.F[start+i*step] - m)
			}
			for i := range n {
				if v := x.F[start+i*step] - m; log {
					out.F[start+i*step] = v - math.Log(sum)
				} else {
					out.F[start+i*step] = math.Exp(v) / sum
				}
			}
		})
		return out, nil
	}
}

func evalBatchNorm(s *EvalSite) (Value, error) {
	a, x, out := s.Attrs.(*BatchNormAttrs), s.Wide(0), s.field(0)
	mean, variance := s.Wide(3), s.Wide(4)
	outer, n, inner := splitAxis(x.Shape, NormalAxis(a.Axis, len(x.Shape)))
	for i := range outer {
		for c := range n {
			scale, shift := affine(s, c, a.Scale, a.Center, mean.F[c], variance.F[c], a.Epsilon)
			at := (i*n + c) * inner
			for k := at; k < at+inner; k++ {
				out.F[k] = x.F[k]*scale + shift
			}
		}
	}
	return Values{out, mean, variance}, nil
}

// affine returns the factor and offset that normalise channel c; operand 1 is gamma, operand 2 is beta.
func affine(s *EvalSite, c int, scaled, centred bool, mean, variance, epsilon float64) (scale, shift float64) {
	scale = 1 / math.Sqrt(variance+epsilon)
	if scaled {
		scale *= s.Wide(1).F[c]
	}
	shift = -mean * scale
	if centred {
		shift += s.Wide(2).F[c]
	}
	return scale, shift
}

func moments(v []float64, start, n, step int) (mean, variance float64) {
	for i := range n {
		mean += v[start+i*step]
	}
	mean /= float64(n)
	for i := range n {
		d := v[start+i*step] - mean
		variance += d * d
	}
	return mean, variance / float64(n)
}

func evalLayerNorm(s *EvalSite) (Value, error) {
	a, x, out := s.Attrs.(*NormAttrs), s.Wide(0), s.out()
	along(s, x, NormalAxis(a.Axis, len(x.Shape)), func(start, n, step int) {
		mean, variance := moments(x.F, start, n, step)
		for i := range n {
			scale, shift := affine(s, i, a.Scale, a.Center, 0, variance, a.Epsilon)
			out.F[start+i*step] = (x.F[start+i*step]-mean)*scale + shift
		}
	})
	return out, nil
}

func evalInstanceNorm(s *EvalSite) (Value, error) {
	a, x := s.Attrs.(*NormAttrs), s.Wide(0)
	axis := NormalAxis(a.Axis, len(x.Shape))
	return groupNorm(s, axis, x.Shape[axis], a.Scale, a.Center, a.Epsilon), nil
}

func evalGroupNorm(s *EvalSite) (Value, error) {
	a, x := s.Attrs.(*GroupNormAttrs), s.Wide(0)
	return groupNorm(s, NormalAxis(a.Axis, len(x.Shape)), a.NumGroups, a.Scale, a.Center, a.Epsilon), nil
}

// groupNorm normalises over groups of channels: the first axis is the batch, the others are spatial.
func groupNorm(s *EvalSite, axis, groups int, scaled, centred bool, epsilon float64) *tensor.Wide {
	x, out := s.Wide(0), s.out()
	batch := x.Shape[0]
	outer, n, inner := splitAxis(x.Shape[1:], axis-1)
	size := 0
	if groups > 0 {
		size = n / groups
	}
	s.parallel(batch*groups, 4*outer*inner*size, func(begin, end int) {
		for job := begin; job < end; job++ {
			b, g := job/groups, job%groups
			each := func(f func(c, at int)) {
				for o := range outer {
					for c := g * size; c < (g+1)*size; c++ {
						at := ((b*outer+o)*n + c) * inner
						for k := at; k < at+inner; k++ {
							f(c, k)
						}
					}
				}
			}
			mean, variance, count := 0.0, 0.0, float64(outer*size*inner)
			each(func(_, at int) { mean += x.F[at] })
			mean /= count
			each(func(_, at int) { variance += (x.F[at] - mean) * (x.F[at] - mean) })
			variance /= count
			last, scale, shift := -1, 0.0, 0.0
			each(func(c, at int) {
				if c != last {
					last = c
					scale, shift = affine(s, c, scaled, centred, 0, variance, epsilon)
				}
				out.F[at] = (x.F[at]-mean)*scale + shift
			})
		}
	})
	return out
}

func evalLRN(s *EvalSite) (Value, error) {
	a, x, out := s.Attrs.(*LRNAttrs), s.Wide(0), s.out()
	before, after := (a.Size-1)/2, a.Size/2
	along(s, x, NormalAxis(a.Axis, len(x.Shape)), func(start, n, step int) {
		for i := range n {
			sum := 0.0
			for k := max(0, i-before); k <= min(n-1, i+after); k++ {
				v := x.F[start+k*step]
				sum += v * v
			}
			out.F[start+i*step] = x.F[start+i*step] / math.Pow(a.Bias+a.Alpha/float64(a.Size)*sum, a.Beta)
		}
	})
	return out, nil
}

func evalL2Normalize(s *EvalSite) (Value, error) {
	a, x, out := s.Attrs.(*L2NormalizeAttrs), s.Wide(0), s.out()
	mask := ReducedAxes(a.Axis, false, len(x.Shape))
	sums := make([]float64, reducedShape(x.Shape, mask, false).Elems())
	reduction(x.Shape, mask, func(at, n, to, step, _, _ int) {
		for i := range n {
			sums[to] += x.F[at+i] * x.F[at+i]
			to += step
		}
	})
	reduction(x.Shape, mask, func(at, n, to, step, _, _ int) {
		for i := at; i < at+n; i++ {
			out.F[i] = x.F[i] / math.Sqrt(math.Max(sums[to], a.Eps))
			to += step
		}
	})
	return out, nil
}

func evalSqueezeExcite(s *EvalSite) (Value, error) {
	a, t := s.Attrs.(*SqueezeExciteAttrs), s.Type.(*TensorType)
	p, err := newPoolProblem(s, a.Layout, t.Shape)
	if err != nil {
		return nil, err
	}
	w1, b1, w2, b2 := s.Wide(1), s.Wide(2), s.Wide(3), s.Wide(4)
	hidden, channels := b1.Shape[0], b2.Shape[0]
	if a.WeightLayout == "IO" {
		if w1, err = tensor.RelayoutWide(w1, tensor.MustLayout("IO"), tensor.MustLayout("OI")); err != nil {
			return nil, err
		}
		if w2, err = tensor.RelayoutWide(w2, tensor.MustLayout("IO"), tensor.MustLayout("OI")); err != nil {
			return nil, err
		}
	}
	activation := map[string]func(float64) float64{
		"relu": relu, "hard_swish": hardSwish, "swish": func(v float64) float64 { return swish(1, v) },
	}[a.Activation]
	gate := sigmoid
	if a.Gate == "hard_sigmoid" {
		gate = func(v float64) float64 { return hardSigmoid(a.GateAlpha, a.GateBeta, v) }
	}
	out := tensor.NewWide(t.DType, p.shape)
	padded, plane := p.shape[1], p.data.Shape[2:].Elems()
	layer := func(w, b, x []float64, rows int, f func(float64) float64) []float64 {
		y := make([]float64, rows)
		for r := range y {
			sum := b[r]
			for i, v := range x {
				sum += w[r*len(x)+i] * v
			}
			y[r] = f(sum)
		}
		return y
	}
	for n := range p.shape[0] {
		mean := make([]float64, channels)
		for c := range mean {
			mean[c] = meanFloats(p.data.F[(n*padded+c)*plane:][:plane])
		}
		copy(out.F[n*padded:], layer(w2.F, b2.F, layer(w1.F, b1.F, mean, hidden, activation), channels, gate))
	}
	return canonical(out, p.plain, p.layout)
}
