package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

// AttentionAttrs are the attributes of nn.attention.
type AttentionAttrs struct {
	Scale      float64 `relay:"scale"`       // what the products of queries and keys are multiplied with
	TransposeQ bool    `relay:"transpose_q"` // q is (…, D, M)
	TransposeK bool    `relay:"transpose_k"` // k is (…, D, N)
	TransposeV bool    `relay:"transpose_v"` // v is (…, E, N)
}

// attentionOps is attention.
func attentionOps() []*Op {
	return []*Op{{
		Name: "nn.attention", Args: []string{"q", "k", "v", "mask"}, NewAttrs: func() any { return &AttentionAttrs{Scale: 1} },
		Infer: inferAttention, Eval: evalAttention, Class: Reduce, Lower: "attention",
		Doc: "out[…, m, e] = Σ_n w[…, m, n] · v[…, n, e], w the softmax over n of scale · Σ_d q[…, m, d] · k[…, n, d] + mask. q is (…, M, D), " +
			"k (…, N, D), v (…, N, E); transposed, they have their last two axes the other way round. The batch axes … (the heads are one of them) of q " +
			"and k broadcast together, and v and mask to these; mask broadcasts to (…, M, N), and 0 is none. Vaswani et al. 2017, 3.2.1.",
	}}
}

func inferAttention(s *Site) (Type, error) {
	a, t, err := operandsOf[AttentionAttrs](s)
	if err != nil {
		return nil, err
	}
	if _, err := s.Float(0); err != nil {
		return nil, err
	}
	q, k, v, mask := t[0].Shape, t[1].Shape, t[2].Shape, t[3].Shape
	if len(q) < 2 || len(k) < 2 || len(v) < 2 {
		return nil, s.Illegal("shapes %v, %v and %v, wanted three matrices", q, k, v)
	}
	m, d := matrixOf(q, a.TransposeQ)
	n, dk := matrixOf(k, a.TransposeK)
	nv, e := matrixOf(v, a.TransposeV)
	if d != dk || n != nv {
		return nil, s.Illegal("queries of %d elements, %d keys of %d and %d values; wanted as many elements, and a value for each key", d, n, dk, nv)
	}
	if n == 0 {
		return nil, s.Illegal("no keys in %v", k)
	}
	batch, ok := BroadcastShape(q[:len(q)-2], k[:len(k)-2])
	if !ok {
		return nil, s.Illegal("batch axes of %v and %v do not broadcast together", q, k)
	}
	scores := append(batch.Clone(), m, n)
	for i, shape := range []tensor.Shape{v[:len(v)-2], mask} {
		to := []tensor.Shape{batch, scores}[i]
		if all, ok := BroadcastShape(to, shape); !ok || !all.Equal(to) {
			return nil, s.Illegal("%v of %s does not broadcast to %v", shape, s.Op.Args[2+i], to)
		}
	}
	return s.Result(t[0].DType, append(batch, m, e))
}

// matrixOf returns the rows and the columns of the matrices of a shape.
func matrixOf(s tensor.Shape, transposed bool) (rows, columns int) {
	rows, columns = s[len(s)-2], s[len(s)-1]
	if transposed {
		rows, columns = columns, rows
	}
	return rows, columns
}

func evalAttention(s *EvalSite) (Value, error) {
	a, out := s.Attrs.(*AttentionAttrs), s.out()
	q, k, v, mask := s.Wide(0), s.Wide(1), s.Wide(2), s.Wide(3)
	for _, x := range []struct {
		w      **tensor.Wide
		turned bool
	}{{&q, a.TransposeQ}, {&k, a.TransposeK}, {&v, a.TransposeV}} {
		if x.turned {
			*x.w = swapLast(*x.w)
		}
	}
	rank := len(out.Shape)
	batch, m, e := out.Shape[:rank-2], out.Shape[rank-2], out.Shape[rank-1]
	n, d := k.Shape[len(k.Shape)-2], k.Shape[len(k.Shape)-1]
	scores := append(batch.Clone(), m, n)
	masks := broadcastStrides(mask.Shape, scores)
	strides := [][]int{broadcastStrides(q.Shape[:len(q.Shape)-2], batch), broadcastStrides(k.Shape[:len(k.Shape)-2], batch),
		broadcastStrides(v.Shape[:len(v.Shape)-2], batch), masks[:rank-2]}
	var starts [][4]int // of each batch: which matrices of q, k and v are read, and the offset in mask
	eachRow(batch, strides, func(_, count int, from []int) {
		for i := range count {
			at := [4]int{}
			for j := range at {
				at[j] = from[j] + i*lastStride(strides[j])
			}
			starts = append(starts, at)
		}
	})
	s.parallel(len(starts)*m, n*(d+e), func(begin, end int) {
		w := make([]float64, n)
		for row := begin; row < end; row++ {
			at := starts[row/m]
			most, sum := math.Inf(-1), 0.0
			query := q.F[(at[0]*m+row%m)*d:][:d]
			for j := range w {
				w[j] = 0
				for i, x := range query {
					w[j] += x * k.F[(at[1]*n+j)*d+i]
				}
				w[j] = w[j]*a.Scale + mask.F[at[3]+row%m*masks[rank-2]+j*masks[rank-1]]
				most = fmax(most, w[j])
			}
			for j := range w {
				w[j] = math.Exp(w[j] - most)
				sum += w[j]
			}
			result := out.F[row*e:][:e]
			for j := range w {
				for i := range result {
					result[i] += w[j] / sum * v.F[(at[2]*n+j)*e+i]
				}
			}
		}
	})
	return out, nil
}
