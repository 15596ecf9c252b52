package relay

import (
	"math"
	"slices"

	"github.com/texel-ml/texel/tensor"
)

// order returns the offsets of a line of x in order; equal elements stay in theirs.
func order(x *tensor.Wide, start, n, step int, ascend bool) []int {
	places := table(n, start, step)
	slices.SortStableFunc(places, func(i, j int) int {
		if ascend {
			return compareAt(x, i, j)
		}
		return compareAt(x, j, i)
	})
	return places
}

func evalSort(s *EvalSite) (Value, error) {
	a, x, out := s.Attrs.(*SortAttrs), s.Wide(0), s.out()
	along(s, x, NormalAxis(a.Axis, len(x.Shape)), func(start, n, step int) {
		for i, from := range order(x, start, n, step, a.IsAscend) {
			if s.Op.Name == "sort" {
				set(out, start+i*step, x, from)
			} else {
				out.I[start+i*step] = int64((from - start) / step)
			}
		}
	})
	return out, nil
}

func evalTopK(s *EvalSite) (Value, error) {
	a, x, values, indices := s.Attrs.(*TopKAttrs), s.Wide(0), s.field(0), s.field(1)
	along(s, x, NormalAxis(a.Axis, len(x.Shape)), func(start, n, step int) {
		to := start/(n*step)*a.K*step + start%step
		for i, from := range order(x, start, n, step, a.IsAscend)[:a.K] {
			set(values, to+i*step, x, from)
			indices.I[to+i*step] = int64((from - start) / step)
		}
	})
	return Values{values, indices}, nil
}

func evalUnique(s *EvalSite) (Value, error) {
	a, x := s.Attrs.(*UniqueAttrs), s.Wide(0)
	first, group, counts, number := s.field(0), s.field(1), s.field(2), s.field(3)
	outer, n, inner := splitAxis(x.Shape, NormalAxis(a.Axis, len(x.Shape)))
	compare := func(i, j int) int {
		for k := range outer * inner {
			at := k/inner*n*inner + k%inner
			if c := compareAt(x, at+i*inner, at+j*inner); c != 0 {
				return c
			}
		}
		return 0
	}
	sorted := table(n, 0, 1)
	slices.SortStableFunc(sorted, compare)
	var found []int // the first slice of each group of equal ones
	for k, i := range sorted {
		if k == 0 || compare(sorted[k-1], i) != 0 {
			found = append(found, i)
		}
		group.I[i] = int64(found[len(found)-1])
	}
	if !a.Sorted {
		slices.Sort(found)
	}
	for i := range first.I {
		first.I[i] = -1
	}
	place := map[int64]int64{} // of the group whose first slice is known
	for k, i := range found {
		first.I[k], place[int64(i)] = int64(i), int64(k)
	}
	for i, f := range group.I {
		group.I[i] = place[f]
		counts.I[place[f]]++
	}
	number.I[0] = int64(len(found))
	return Values{first, group, counts, number}, nil
}

// evalScan evaluates the running reductions; first is the value of nothing.
func evalScan(first int64, f func(a, b float64) float64, g func(a, b int64) int64) evalFunc {
	return func(s *EvalSite) (Value, error) {
		a, x, out := s.Attrs.(*ScanAttrs), s.Wide(0), s.out()
		along(s, x, NormalAxis(a.Axis, len(x.Shape)), func(start, n, step int) {
			if a.Reverse {
				start, step = start+(n-1)*step, -step
			}
			accF, accI := float64(first), first
			for i := range n {
				at := start + i*step
				beforeF, beforeI := accF, accI
				if x.F != nil {
					accF = f(accF, x.F[at])
				} else {
					accI = tensor.Wrap(x.DType, g(accI, x.I[at]))
				}
				if a.Exclusive {
					set(out, at, &tensor.Wide{F: []float64{beforeF}, I: []int64{beforeI}}, 0)
				} else {
					set(out, at, &tensor.Wide{F: []float64{accF}, I: []int64{accI}}, 0)
				}
			}
		})
		return out, nil
	}
}

func evalNonMaxSuppression(s *EvalSite) (Value, error) {
	a, boxes, scores, rows, count := s.Attrs.(*NonMaxSuppressionAttrs), s.Wide(0), s.Wide(1), s.field(0), s.field(1)
	for i := range rows.I {
		rows.I[i] = -1
	}
	n, classes := boxes.Shape[1], scores.Shape[1]
	most := max(0, min(s.Wide(2).I[0], int64(a.MostBoxes)))
	iou, least := s.Wide(3).F[0], s.Wide(4).F[0]
	for line := range scores.Shape[0] * classes {
		batch, class := line/classes, line%classes
		corner := func(i int) [4]float64 {
			return corners([4]float64(boxes.F[(batch*n+i)*4:][:4]), a.CenterPointBox)
		}
		var taken []int
		for _, at := range order(scores, line*n, n, 1, false) {
			if len(taken) == int(most) || s.cancelled() {
				break
			}
			if !(scores.F[at] > least) && !math.IsInf(least, -1) {
				continue
			}
			box := corner(at - line*n)
			if slices.ContainsFunc(taken, func(i int) bool { return overlap(corner(i), box) > iou }) {
				continue
			}
			taken = append(taken, at-line*n)
			copy(rows.I[count.I[0]*3:], []int64{int64(batch), int64(class), int64(at - line*n)})
			count.I[0]++
		}
	}
	return Values{rows, count}, nil
}

// corners returns a box as its least y and x and its largest y and x.
func corners(b [4]float64, center bool) [4]float64 {
	if center {
		x, y, w, h := b[0], b[1], b[2], b[3]
		return [4]float64{y - h/2, x - w/2, y + h/2, x + w/2}
	}
	return [4]float64{math.Min(b[0], b[2]), math.Min(b[1], b[3]), math.Max(b[0], b[2]), math.Max(b[1], b[3])}
}

// overlap returns intersection over union of two boxes; 0 when either is empty.
func overlap(a, b [4]float64) float64 {
	h := math.Max(0, math.Min(a[2], b[2])-math.Max(a[0], b[0]))
	w := math.Max(0, math.Min(a[3], b[3])-math.Max(a[1], b[1]))
	areaA, areaB := (a[2]-a[0])*(a[3]-a[1]), (b[2]-b[0])*(b[3]-b[1])
	if areaA <= 0 || areaB <= 0 {
		return 0
	}
	return h * w / (areaA + areaB - h*w)
}
