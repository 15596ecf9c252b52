package transform

import (
	"context"
	"math"
	"slices"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// RecognizeEmbedding finds rows of a constant table that are chosen by a product with zeros and one 1, and takes them. What
// is computed of each element of rows that are taken, it computes of the table now.
//
//	matmul(cast(x = (k, k+1, …, k+N−1)), W)  →  take((0, W, 0), clip(x, k−1, k+N) − (k−1))
//	matmul(one_hot(x), W)                    →  the same of x, or x + N where x is below 0
//	f(take(W, i))                            →  take(f(W), i)    also with a number for each column
//
// A product with an infinity in W is NaN and stays. The rows of zeros stand for what is in no row.
func RecognizeEmbedding(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewrite("recognize-embedding", m, o, chosenRows, ofTable)
}

func chosenRows(r *rewriter, c *relay.Call) (relay.Expr, error) {
	k, turned := constantMatrix(c)
	t := relay.Tensor(c)
	if k == nil || t.Shape.Elems() == 0 {
		return nil, nil
	}
	h, ok := oneHot(c.Args[0])
	if !ok {
		return nil, nil
	}
	table := tableOf(k.Value, turned)
	if table == nil {
		return nil, nil
	}
	index, err := r.rowOf(h)
	if err != nil {
		return nil, err
	}
	index, err = r.call("reshape", &relay.ReshapeAttrs{NewShape: t.Shape[:len(t.Shape)-1]}, index)
	if err != nil {
		return nil, err
	}
	r.note("%s with rows of one 1 takes rows of its table", c.Op.Name)
	return r.call("take", &relay.TakeAttrs{Mode: "clip"}, r.constant(table), index)
}

// constantMatrix returns the constant that the last axis of the first operand is multiplied with, where all are of one
// type, and whether its rows lie along that axis.
func constantMatrix(c *relay.Call) (k *relay.Constant, turned bool) {
	switch a := c.Attrs.(type) {
	case *relay.MatmulAttrs:
		if a.TransposeA {
			return nil, false
		}
		turned = a.TransposeB
	case *relay.DenseAttrs:
		if a.WeightLayout != "" && a.WeightLayout != "NK" {
			return nil, false
		}
		turned = true
	default:
		return nil, false
	}
	k, ok := c.Args[1].(*relay.Constant)
	x, d := relay.Tensor(c.Args[0]), relay.Tensor(c).DType
	if !ok || len(k.Value.Shape) != 2 || len(x.Shape) < 2 || !computable(k) || k.Value.DType != d || x.DType != d {
		return nil, false
	}
	return k, turned
}

// tableOf returns the rows of a matrix, or its columns, with a row of zeros above and below; nil when a number is not finite.
func tableOf(k *tensor.Tensor, turned bool) *tensor.Wide {
	list, n, columns := tensor.Widen(k).F, k.Shape[0], k.Shape[1]
	if turned {
		n, columns = columns, n
	}
	w := tensor.NewWide(k.DType, tensor.Shape{n + 2, columns})
	for i := range list {
		v := list[i]
		if turned {
			v = list[i%columns*n+i/columns]
		}
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
		w.F[columns+i] = v + 0 // a sum of zeros is no negative zero
	}
	return w
}

// hot is a tensor whose last axis has a 1 where x is first, first+1, … and zeros elsewhere.
type hot struct {
	x     relay.Expr
	first int64
	n     int
	wraps bool // −1 stands for the last one, −2 for the one before
}

func oneHot(e relay.Expr) (h hot, ok bool) {
	shape := relay.Tensor(e).Shape
	h.n = shape[len(shape)-1]
	c, _ := e.(*relay.Call)
	if c == nil || c.Op == nil {
		return h, false
	}
	switch c.Op.Name {
	case "reshape":
		in := relay.Tensor(c.Args[0]).Shape
		if len(in) == 0 || in[len(in)-1] != h.n {
			return h, false
		}
		return oneHot(c.Args[0])
	case "one_hot":
		on, given := number(c.Args[1])
		off, too := number(c.Args[2])
		h.x, h.wraps = c.Args[0], true
		ok = given && too && on == 1 && off == 0 && relay.NormalAxis(c.Attrs.(*relay.OneHotAttrs).Axis, len(shape)) == len(shape)-1
	case "cast":
		commuted(c.Args[0], "equal", func(a, b relay.Expr) bool {
			h.x = a
			h.first, ok = counting(b, h.n)
			ok = ok && relay.Tensor(a).Shape.Elems()*h.n == shape.Elems()
			return ok
		})
	}
	return h, ok && h.hasRoom()
}

// counting returns the first of n numbers on the last axis that follow each other.
func counting(e relay.Expr, n int) (first int64, ok bool) {
	k, ok := e.(*relay.Constant)
	if !ok || !k.Value.DType.IsInt() || len(k.Value.Shape) == 0 || k.Value.Elems() != n || k.Value.Shape[len(k.Value.Shape)-1] != n {
		return 0, false
	}
	list := tensor.Widen(k.Value).I
	for i, v := range list {
		if v != list[0]+int64(i) {
			return 0, false
		}
	}
	return list[0], true
}

// hasRoom reports whether the numbers before and behind the n ones can be told from them in 32 bits.
func (h *hot) hasRoom() bool {
	d := relay.Tensor(h.x).DType
	return d.IsInt() && !d.IsStorage() && d != tensor.Uint64 && h.first > math.MinInt32 && h.first+int64(h.n) < math.MaxInt32
}

// rowOf is the row of x in a table with a row of zeros above and below: 1 for first.
func (r *rewriter) rowOf(h hot) (x relay.Expr, err error) {
	call := func(name string, attrs any, args ...relay.Expr) relay.Expr {
		if err != nil {
			return x
		}
		var e relay.Expr
		e, err = r.call(name, attrs, args...)
		return e
	}
	x = h.x
	d := relay.Tensor(x).DType
	if d != tensor.Int32 && d != tensor.Int64 {
		if d = tensor.Int64; relay.Tensor(x).DType.Bits() < 32 {
			d = tensor.Int32
		}
		x = call("cast", &relay.CastAttrs{DType: d, Saturate: true, RoundMode: "up"}, x)
	}
	k := func(v int64) relay.Expr {
		return r.constant(&tensor.Wide{DType: d, Shape: tensor.Shape{}, I: []int64{v}})
	}
	if h.wraps {
		x = call("where", nil, call("less", nil, x, k(0)), call("add", nil, x, k(int64(h.n))), x)
	}
	x = call("clip", &relay.ClipAttrs{AMin: float64(h.first - 1), AMax: float64(h.first + int64(h.n))}, x)
	if h.first != 1 {
		x = call("subtract", nil, x, k(h.first-1))
	}
	return x, err
}

// mostTable is how many elements a table may have for what is computed of its rows to be computed of all of it.
const mostTable = 1 << 22

func ofTable(r *rewriter, c *relay.Call) (relay.Expr, error) {
	at := variable(c)
	if at < 0 {
		return nil, nil
	}
	take, ok := is(c.Args[at], "take")
	if !ok || !r.single(take) || !sameShape(take, c) {
		return nil, nil
	}
	table, ok := take.Args[0].(*relay.Constant)
	if !ok || r.uses[table] > 1 || relay.NormalAxis(take.Attrs.(*relay.TakeAttrs).Axis, len(table.Value.Shape)) != 0 || table.Value.Elems() > mostTable {
		return nil, nil
	}
	args, attrs := slices.Clone(c.Args), c.Attrs
	args[at] = table
	if a, ok := attrs.(*relay.AxisAttrs); ok {
		indices := len(relay.Tensor(take.Args[1]).Shape)
		axis := relay.NormalAxis(a.Axis, len(relay.Tensor(c).Shape)) - indices + 1
		if axis < 1 {
			return nil, nil
		}
		attrs = &relay.AxisAttrs{Axis: axis}
	} else if len(args) == 2 {
		k := trailing(args[1-at].(*relay.Constant), len(table.Value.Shape)-1)
		if k == nil {
			return nil, nil
		}
		args[1-at] = k
	}
	made, err := r.call(c.Op.Name, attrs, args...)
	if err != nil {
		return nil, err
	}
	next, err := r.fold(made.(*relay.Call), false)
	if next == nil || err != nil {
		return nil, err
	}
	r.note("%s of rows of a table is computed of the table", c.Op.Name)
	return r.call("take", take.Attrs, next, take.Args[1])
}

// variable returns which operand of a call is no constant, of an operator that works on elements, or on elements and a
// constant, or adds a bias; else -1.
func variable(c *relay.Call) int {
	_, along := c.Attrs.(*relay.AxisAttrs)
	switch {
	case c.Op.Class == relay.Elementwise && len(c.Args) == 1:
		return 0
	case c.Op.Class != relay.Broadcast || len(c.Args) != 2 || c.Attrs != nil && !along:
		return -1
	case isConstant(c.Args[1]):
		return 0
	case isConstant(c.Args[0]) && !along:
		return 1
	}
	return -1
}

// trailing returns a constant without the axes before its last rank ones, nil unless they have extent 1.
func trailing(k *relay.Constant, rank int) *relay.Constant {
	s := k.Value.Shape
	if len(s) <= rank {
		return k
	}
	if s[:len(s)-rank].Elems() != 1 {
		return nil
	}
	return relay.NewConstant(&tensor.Tensor{DType: k.Value.DType, Shape: s[len(s)-rank:], Data: k.Value.Data}, k.Name, k.Pos())
}
