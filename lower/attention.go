package lower

import (
	"github.com/texel-ml/texel/cost"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

var attentionRules = map[string]OpRule{"attention": lowerAttention}

// attended are the stages of an attention, in order of computation, and the widths of its panels; 0: there are none.
type attended struct {
	queries, keys, values *te.Tensor // the operands, in panels where a schedule multiplies with them
	products, scores      *te.Tensor
	most, weights, total  *te.Tensor // the largest score of a row, the exponentials and their sum
	sums                  *te.Tensor
	keyPanel, valuePanel  int
}

// lowerAttention defines nn.attention:
//
//	s[m, n] = Σ_d scale · q[m, d] · k[n, d] + mask; t[m] = max_n s; w[m, n] = e^(s − t); out[m, e] = Σ_n w · v[n, e] / Σ_n w
//
// For a processor that has enough rows for a register tile, k and v are stages of their own, in panels of whole vectors: k[p, d, c]
// is key p·width + c, and v[p, n, c] column p·width + c.
func lowerAttention(s *Site) ([]Operand, error) {
	a := attrs[relay.AttentionAttrs](s)
	out := s.Out().Shape
	rank := len(out)
	batch, m, e := out[:rank-2:rank-2], out[rank-2], out[rank-1]
	q, k, v := matrix{s.In[0], a.TransposeQ}, matrix{s.In[1], a.TransposeK}, matrix{s.In[2], a.TransposeV}
	n, depth := k.extents()
	d := working(s.In[0].DType)
	of := func(last ...int) tensor.Shape { return append(batch.Clone(), last...) }
	zero := num(d, 0)

	parts := &attended{}
	queries := s.Compute(append(q.batch(), m, depth), d, func(i []tir.Expr) tir.Expr { return tir.Times(q.at(i...), num(d, a.Scale)) })
	columns, features := n, e
	key := func(b []tir.Expr, n, r tir.Expr) tir.Expr { return k.at(join(b, n, r)...) }
	value := func(b []tir.Expr, e, n tir.Expr) tir.Expr { return v.at(join(b, n, e)...) }
	if inTiles(m, n, depth, e, s.t) {
		parts.keyPanel, _ = cost.PanelWidth(m, n, s.t)
		parts.valuePanel, _ = cost.PanelWidth(m, e, s.t)
		lanes := s.t.Lanes(d.Bits())
		var keys, values Operand
		keys, key = s.panels(k.batch(), n, depth, parts.keyPanel, key)
		values, value = s.panels(v.batch(), e, n, parts.valuePanel, value)
		parts.keys, parts.values = keys.Tensor, values.Tensor
		columns, features = ceilDiv(n, lanes)*lanes, ceilDiv(e, lanes)*lanes
	}
	products := s.Reduce(of(m, columns), d, []int{depth}, zero, tir.Plus, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(queries.At(join(i[:rank-1], r[0])...), key(i[:rank-2], i[rank-1], r[0]))
	})
	scores := s.keep(s.Compute(of(m, n), d, func(i []tir.Expr) tir.Expr {
		if none, ok := s.In[3].Scalar.(*tir.Float); ok && none.Value == 0 {
			return products.At(i...)
		}
		return tir.Plus(products.At(i...), s.In[3].wide(i...))
	}))
	row := func(init tir.Expr, combine func(acc, x tir.Expr) tir.Expr, x Operand) Operand {
		return s.Reduce(of(m), d, []int{n}, init, combine, func(i, r []tir.Expr) tir.Expr { return x.At(join(i, r[0])...) })
	}
	most := row(tir.Lowest(d), tir.Maximum, scores)
	weights := s.keep(s.Compute(of(m, n), d, func(i []tir.Expr) tir.Expr {
		return fn(tir.Exp, tir.Minus(scores.At(i...), most.At(i[:rank-1]...)))
	}))
	total := row(zero, tir.Plus, weights)
	sums := s.Reduce(of(m, features), d, []int{n}, zero, tir.Plus, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(weights.At(join(i[:rank-1], r[0])...), value(i[:rank-2], i[rank-1], r[0]))
	})
	parts.queries, parts.products, parts.scores = queries.Tensor, products.Tensor, scores.Tensor
	parts.most, parts.weights, parts.total, parts.sums = most.Tensor, weights.Tensor, total.Tensor, sums.Tensor
	s.def.attention = parts
	return s.Result(func(i []tir.Expr) tir.Expr {
		return tir.As(s.Out().DType, tir.Times(sums.At(i...), reciprocal(total.At(i[:rank-1]...))))
	})
}

// inTiles reports whether the products of m queries with n keys of depth elements, and with values of e, are worth tiles.
func inTiles(m, n, depth, e int, t *target.Target) bool {
	return t.Kind == target.CPU && m >= 4 && depth >= 4 && n >= t.Lanes(32) && e >= t.Lanes(32)/2
}

// join returns the places in list and those behind it.
func join(list []tir.Expr, more ...tir.Expr) []tir.Expr {
	return append(append([]tir.Expr{}, list...), more...)
}

// matrix is an operand of matrices, which may be transposed.
type matrix struct {
	Operand
	transposed bool
}

// batch returns the axes before the matrices.
func (x matrix) batch() tensor.Shape { return x.Shape[:len(x.Shape)-2].Clone() }

// extents returns the rows and columns of the matrices.
func (x matrix) extents() (rows, columns int) {
	rows, columns = x.Shape[len(x.Shape)-2], x.Shape[len(x.Shape)-1]
	if x.transposed {
		rows, columns = columns, rows
	}
	return rows, columns
}

// at reads an element, its row and column last, in the type in which it is computed.
func (x matrix) at(i ...tir.Expr) tir.Expr {
	n := len(i)
	if x.transposed {
		i = join(i[:n-2], i[n-1], i[n-2])
	}
	return x.wide(i...)
}

// panels adds a stage that holds f(b, i, r), i < n and r < depth, as [b, i/width, r, i mod width], with zeros behind the last i; and
// returns how it is read.
func (s *Site) panels(batch tensor.Shape, n, depth, width int, f func(b []tir.Expr, i, r tir.Expr) tir.Expr) (Operand, func(b []tir.Expr, i, r tir.Expr) tir.Expr) {
	count := ceilDiv(n, width)
	held := s.Compute(append(batch, count, depth, width), working(s.In[0].DType), func(at []tir.Expr) tir.Expr {
		rank := len(at)
		i := tir.Plus(scaled(at[rank-3], width), at[rank-1])
		x := f(at[:rank-3], i, at[rank-2])
		if count*width == n {
			return x
		}
		return tir.Sel(tir.Lt(i, tir.I(n)), x, like(x, 0))
	})
	return held, func(b []tir.Expr, i, r tir.Expr) tir.Expr {
		return held.At(join(b, floorDiv(i, width), r, floorMod(i, width))...)
	}
}
