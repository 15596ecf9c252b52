package texel

import (
	"math"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// LoopWork is what one call of a loop function does, counted from its loops.
type LoopWork struct {
	// Flops are additions, subtractions, multiplications and divisions of floats; a fused multiply-add counts as two. They
	// count where they are part of a stored value: neither indices nor conditions, and no other functions.
	Flops int64
	// IntOps are the same of integers.
	IntOps int64
	// Steps are the iterations of all loops.
	Steps int64
	// Exact is false where the count depends on data, or on more instances than are looked at: unknown conditions then
	// count as true, and of the two sides of a select the larger one.
	Exact bool
	// Type is the type of most Flops; Float32 where there are none.
	Type tensor.DType
	// Reduction is the most instances that update one element in a block; 0 is not known.
	Reduction int
}

// CountWork counts the work of a function in block form. Instances that a condition leaves out do not count.
func CountWork(f *tir.Func) LoopWork {
	w := countWork(f.Body)
	tir.Walk(f.Body, func(n any) bool {
		if r, ok := n.(*tir.BlockRealize); ok {
			steps := int64(1)
			for _, iv := range r.Block.Iters {
				if iv.Kind != tir.Spatial {
					steps = times(steps, int64(iv.Extent))
				}
			}
			w.Reduction = max(w.Reduction, int(min(steps, math.MaxInt32)))
		}
		return true
	})
	return w
}

// CountKernelWork counts the work of kernels that run one after the other.
func CountKernelWork(kernels []*tir.Kernel) LoopWork {
	total := LoopWork{Exact: true, Type: tensor.Float32}
	most := int64(0)
	for _, k := range kernels {
		body := k.Body
		if k.Grid != nil {
			body = &tir.For{Var: k.Grid, Min: tir.I(0), Extent: tir.I(k.GridExtent), Body: k.Body}
		}
		w := countWork(body)
		total.Flops, total.IntOps, total.Steps = plus(total.Flops, w.Flops), plus(total.IntOps, w.IntOps), plus(total.Steps, w.Steps)
		total.Exact = total.Exact && w.Exact
		if w.Flops > most {
			most, total.Type = w.Flops, w.Type
		}
	}
	return total
}

// Work counts the work of the function before the trace, which is that of its definition; of a program that of its kernels.
// It is counted at the first call.
func (b *Built) Work() LoopWork { return b.work() }

func (b *Built) count() LoopWork {
	if b.source != nil {
		return CountWork(b.source)
	}
	return CountKernelWork(b.given.Kernels)
}

// countBudget is how many iterations are looked at one by one, of loops that conditions and bounds depend on.
const countBudget = 20_000_000

// tally is a number of operations: of floats by their type.
type tally struct {
	floats map[tensor.DType]int64
	ints   int64
	steps  int64
}

// add adds n times what x has.
func (t *tally) add(x tally, n int64) {
	for d, v := range x.floats {
		if t.floats == nil {
			t.floats = map[tensor.DType]int64{}
		}
		t.floats[d] = plus(t.floats[d], times(v, n))
	}
	t.ints, t.steps = plus(t.ints, times(x.ints, n)), plus(t.steps, times(x.steps, n))
}

func (t tally) flops() (n int64) {
	for _, v := range t.floats {
		n = plus(n, v)
	}
	return n
}

func countWork(body tir.Stmt) LoopWork {
	c := &workCounter{known: map[*tir.Var]int64{}, budget: countBudget, exact: true, stores: map[*tir.Store]tally{}}
	c.relevant = relevantVars(body)
	t := c.stmt(body)
	w := LoopWork{Flops: t.flops(), IntOps: t.ints, Steps: t.steps, Exact: c.exact, Type: tensor.Float32}
	for _, d := range tensor.DTypes() { // in their order, so that ties are broken alike
		if t.floats[d] > t.floats[w.Type] {
			w.Type = d
		}
	}
	return w
}

// relevantVars returns the variables whose values decide how often something runs.
func relevantVars(body tir.Stmt) map[*tir.Var]bool {
	from := map[*tir.Var][]tir.Expr{} // what a variable is bound to
	all := map[*tir.Var]bool{}
	var mark func(e tir.Expr)
	mark = func(e tir.Expr) {
		if e == nil {
			return
		}
		tir.Walk(e, func(n any) bool {
			if v, ok := n.(*tir.Var); ok && !all[v] {
				all[v] = true
				for _, value := range from[v] {
					mark(value)
				}
			}
			return true
		})
	}
	tir.Walk(body, func(n any) bool {
		switch n := n.(type) {
		case *tir.Let:
			from[n.Var] = append(from[n.Var], n.Value)
		case *tir.BlockRealize:
			for i, iv := range n.Block.Iters {
				if i < len(n.Values) {
					from[iv.Var] = append(from[iv.Var], n.Values[i])
				}
			}
		}
		return true
	})
	tir.Walk(body, func(n any) bool {
		switch n := n.(type) {
		case *tir.For:
			mark(n.Min)
			mark(n.Extent)
		case *tir.If:
			mark(n.Cond)
		case *tir.BlockRealize:
			mark(n.Where)
			for _, iv := range n.Block.Iters {
				if n.Block.Init != nil && iv.Kind != tir.Spatial && workOf(n.Block.Init) {
					mark(iv.Var)
				}
			}
		}
		return true
	})
	return all
}

// workOf reports whether a stored value below s computes anything.
func workOf(s tir.Stmt) bool {
	found := false
	tir.Walk(s, func(n any) bool {
		if st, ok := n.(*tir.Store); ok {
			t := valueWork(st.Value)
			found = found || t.flops() > 0 || t.ints > 0
		}
		return !found
	})
	return found
}

type workCounter struct {
	relevant map[*tir.Var]bool
	known    map[*tir.Var]int64
	budget   int
	exact    bool
	stores   map[*tir.Store]tally
}

func (c *workCounter) stmt(s tir.Stmt) (t tally) {
	switch n := s.(type) {
	case *tir.For:
		return c.loop(n)
	case *tir.BlockRealize:
		return c.block(n)
	case *tir.Store:
		w, ok := c.stores[n]
		if !ok {
			w = valueWork(n.Value)
			c.stores[n] = w
		}
		return w
	case *tir.Seq:
		for _, x := range n.Stmts {
			t.add(c.stmt(x), 1)
		}
	case *tir.If:
		switch holds, ok := c.value(n.Cond); {
		case !ok:
			c.exact = false
			t.add(c.stmt(n.Then), 1)
		case holds != 0:
			t.add(c.stmt(n.Then), 1)
		case n.Else != nil:
			t.add(c.stmt(n.Else), 1)
		}
	case *tir.While: // how often it turns, data decides
		c.exact = false
		t.add(c.stmt(n.Body), 1)
		t.steps++
	case *tir.Let:
		defer c.bind(n.Var, n.Value)()
		return c.stmt(n.Body)
	case *tir.Allocate:
		return c.stmt(n.Body)
	}
	return t
}

// bind gives v its value where it matters and is known, until undo is called.
func (c *workCounter) bind(v *tir.Var, e tir.Expr) (undo func()) {
	if !c.relevant[v] {
		return func() {}
	}
	old, had := c.known[v]
	if n, ok := c.value(e); ok {
		c.known[v] = n
	} else {
		delete(c.known, v)
	}
	return func() {
		if had {
			c.known[v] = old
		} else {
			delete(c.known, v)
		}
	}
}

func (c *workCounter) loop(n *tir.For) (t tally) {
	lo, ok := c.value(n.Min)
	extent, known := c.value(n.Extent)
	if !known {
		c.exact = false
		extent = 1
	}
	extent = max(0, extent)
	if c.relevant[n.Var] && ok && known {
		if int64(c.budget) > extent {
			for v := lo; v < lo+extent; v++ {
				c.budget--
				c.known[n.Var] = v
				t.add(c.stmt(n.Body), 1)
			}
			delete(c.known, n.Var)
			t.steps = plus(t.steps, extent)
			return t
		}
		c.exact = false
	}
	delete(c.known, n.Var)
	if extent > 0 {
		t.add(c.stmt(n.Body), extent)
	}
	t.steps = plus(t.steps, extent)
	return t
}

func (c *workCounter) block(n *tir.BlockRealize) (t tally) {
	if n.Where != nil {
		holds, ok := c.value(n.Where)
		if ok && holds == 0 {
			return t
		}
		c.exact = c.exact && ok
	}
	first := true // the instance that initialises
	for i, iv := range n.Block.Iters {
		if i < len(n.Values) {
			defer c.bind(iv.Var, n.Values[i])()
		}
		if v, ok := c.known[iv.Var]; ok && iv.Kind != tir.Spatial {
			first = first && v == 0
		}
	}
	if n.Block.Init != nil && first {
		t.add(c.stmt(n.Block.Init), 1)
	}
	t.add(c.stmt(n.Block.Body), 1)
	return t
}

// valueWork returns the operations of one evaluation of a value.
func valueWork(e tir.Expr) (t tally) {
	note := func(d tensor.DType, n int) {
		switch {
		case d.IsFloat():
			t.add(tally{floats: map[tensor.DType]int64{d: int64(n)}}, 1)
		case d.IsInt():
			t.ints += int64(n)
		}
	}
	switch n := e.(type) {
	case *tir.Binary:
		t.add(valueWork(n.A), 1)
		t.add(valueWork(n.B), 1)
		if typ := n.Type(); n.Op == tir.Add || n.Op == tir.Sub || n.Op == tir.Mul || n.Op == tir.Div {
			note(typ.DType, typ.Lanes)
		}
	case *tir.Call:
		for _, a := range n.Args {
			t.add(valueWork(a), 1)
		}
		if typ := n.Type(); n.Fn == tir.FMA {
			note(typ.DType, 2*typ.Lanes)
		}
	case *tir.Select:
		a, b := valueWork(n.Then), valueWork(n.Else)
		if b.flops()+b.ints > a.flops()+a.ints {
			a = b
		}
		return a
	case *tir.Cast:
		return valueWork(n.A)
	case *tir.Not:
		return valueWork(n.A)
	case *tir.Broadcast:
		return valueWork(n.A)
	}
	return t
}

// value evaluates an index expression or a condition, as far as its variables are known.
func (c *workCounter) value(e tir.Expr) (int64, bool) {
	switch n := e.(type) {
	case *tir.Int:
		return n.Value, true
	case *tir.Var:
		v, ok := c.known[n]
		return v, ok
	case *tir.Not:
		v, ok := c.value(n.A)
		return 1 - v, ok
	case *tir.Select:
		cond, ok := c.value(n.Cond)
		switch {
		case !ok:
			return 0, false
		case cond != 0:
			return c.value(n.Then)
		}
		return c.value(n.Else)
	case *tir.Cast:
		v, ok := c.value(n.A)
		if !ok || !n.DType.IsInt() {
			return 0, false
		}
		return tensor.Wrap(n.DType, v), true
	case *tir.Binary:
		if n.A.Type().Lanes > 1 || n.A.Type().DType.IsFloat() {
			return 0, false
		}
		a, aok := c.value(n.A)
		if aok && (n.Op == tir.And && a == 0 || n.Op == tir.Or && a != 0) {
			return a, true
		}
		b, bok := c.value(n.B)
		if !aok || !bok {
			return 0, false
		}
		folded, ok := tir.Bin(n.Op, &tir.Int{DType: n.A.Type().DType, Value: a}, &tir.Int{DType: n.A.Type().DType, Value: b}).(*tir.Int)
		if !ok {
			return 0, false
		}
		return folded.Value, true
	}
	return 0, false
}

// plus and times are sums and products of counts that stay at the largest number where they would overflow.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
