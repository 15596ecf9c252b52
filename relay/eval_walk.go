package relay

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/texel-ml/texel/tensor"
)

// number is what the evaluator computes in.
type number interface{ ~float64 | ~int64 }

// out returns a zeroed array of the site's result type, a tensor.
func (s *EvalSite) out() *tensor.Wide {
	t := s.Type.(*TensorType)
	return tensor.NewWide(t.DType, t.Shape)
}

// field returns a zeroed array of field i of the site's result type, a tuple.
func (s *EvalSite) field(i int) *tensor.Wide {
	t := s.Type.(*TupleType).Fields[i].(*TensorType)
	return tensor.NewWide(t.DType, t.Shape)
}

// parallel calls f for parts of [0, n) on all processors; work is the number of elementary steps of one item. It stops
// early when the evaluation is cancelled, the result then being unfinished.
func (s *EvalSite) parallel(n, work int, f func(begin, end int)) {
	const least = 1 << 15 // steps that are worth a goroutine's start
	chunk := max(1, least/max(work, 1))
	workers := min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk)
	var next atomic.Int64
	run := func() {
		for {
			begin := int(next.Add(int64(chunk))) - chunk
			if begin >= n || s.cancelled() {
				return
			}
			f(begin, min(begin+chunk, n))
		}
	}
	if workers <= 1 {
		run()
		return
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(run)
	}
	wg.Wait()
}

func (s *EvalSite) cancelled() bool {
	select {
	case <-s.Done: // never ready when nil
		return true
	default:
		return false
	}
}

// eachRow calls f for each row of shape along its last axis, in row-major order: at is the row's offset, n its length,
// offsets[k] the offset into operand k, which has the given strides. A scalar is one row of length 1.
func eachRow(shape tensor.Shape, strides [][]int, f func(at, n int, offsets []int)) {
	rank := len(shape)
	offsets := make([]int, len(strides))
	if rank == 0 {
		f(0, 1, offsets)
		return
	}
	total, n := shape.Elems(), shape[rank-1]
	index := make([]int, rank)
	for at := 0; at < total; at += n {
		f(at, n, offsets)
		for i := rank - 2; i >= 0; i-- {
			index[i]++
			for k := range offsets {
				offsets[k] += strides[k][i]
			}
			if index[i] < shape[i] {
				break
			}
			for k := range offsets {
				offsets[k] -= strides[k][i] * shape[i]
			}
			index[i] = 0
		}
	}
}

// lastStride returns the stride of the last axis, 0 for a scalar.
func lastStride(strides []int) int {
	if len(strides) == 0 {
		return 0
	}
	return strides[len(strides)-1]
}

// broadcastStrides returns the strides with which an array of the given shape is read as one of shape out.
func broadcastStrides(shape, out tensor.Shape) []int {
	strides := make([]int, len(out))
	own := shape.Strides()
	for i, d := range shape {
		if d != 1 {
			strides[len(out)-len(shape)+i] = own[i]
		}
	}
	return strides
}

// splitAxis returns the number of elements before an axis, along it and behind it.
func splitAxis(shape tensor.Shape, axis int) (outer, n, inner int) {
	return shape[:axis].Elems(), shape[axis], shape[axis+1:].Elems()
}

// pick fills out with elements of src: element (i, j, …) comes from offset tables[0][i] + tables[1][j] + …; it is left
// as it is when one of them is −1. There is one table for each axis of shape, which has the size of out.
func pick(out, src *tensor.Wide, shape tensor.Shape, tables [][]int) {
	if out.F != nil {
		pickNumbers(out.F, src.F, shape, tables)
	} else {
		pickNumbers(out.I, src.I, shape, tables)
	}
}

func pickNumbers[T number](out, src []T, shape tensor.Shape, tables [][]int) {
	if len(out) == 0 {
		return
	}
	rank := len(shape)
	if rank == 0 {
		out[0] = src[0]
		return
	}
	index, last := make([]int, rank), tables[rank-1]
	for len(out) > 0 {
		base := 0
		for i, table := range tables[:rank-1] {
			if table[index[i]] < 0 {
				base = -1
				break
			}
			base += table[index[i]]
		}
		if base >= 0 {
			for i, from := range last {
				if from >= 0 {
					out[i] = src[base+from]
				}
			}
		}
		out = out[len(last):]
		for i := rank - 2; i >= 0; i-- {
			if index[i]++; index[i] < shape[i] {
				break
			}
			index[i] = 0
		}
	}
}

// table returns the offsets first, first + step, … of n elements.
func table(n, first, step int) []int {
	t := make([]int, n)
	for i := range t {
		t[i] = first + i*step
	}
	return t
}

// flat returns the identity tables of a shape.
func flat(shape tensor.Shape) [][]int {
	tables := make([][]int, len(shape))
	for i, step := range shape.Strides() {
		tables[i] = table(shape[i], 0, step)
	}
	return tables
}

// canonical returns w, which lies in a layout, in another one.
func canonical(w *tensor.Wide, from, to tensor.Layout) (*tensor.Wide, error) {
	if from.String() == to.String() {
		return w, nil
	}
	return tensor.RelayoutWide(w, from, to)
}

// index returns v as a place along an axis of extent n: a negative one counts from the end. ok is false outside, the
// place then being clamped.
func index(v int64, n int) (at int, ok bool) {
	if v < 0 {
		v += int64(n)
	}
	return int(min(max(v, 0), int64(n-1))), v >= 0 && v < int64(n)
}
