package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// A reduction may be cut into parts when its combination is associative and commutative and has an identity, with which
// the parts start. That is shown in one of these ways, for the tuple as a whole or for components that do not look at
// each other:
//
//   - the combination is one operator of which it is known: +, *, min, max, and, or, &, |, ^;
//   - it only compares and chooses, as argmax does. What it gives depends then on the order of its operands alone, so
//     that it is tried on all orders;
//   - it only adds, subtracts and multiplies, as the product of complex numbers does. Both sides of the laws are then
//     the same polynomial;
//   - the block's attribute "associative" says so. It is for the program to know.
//
// Floats are taken as numbers without rounding here, as a reduction anyhow may be computed in any order.

// Associative is the attribute of a block that says that its combination is associative and commutative, and that its
// initial values are the identity. Its value is not looked at.
const Associative = "associative"

// prove finds the identity of the combination; the answer says why the laws are not shown.
func (r *reduction) prove() (why string) {
	r.unit = make([]tir.Expr, len(r.combine))
	var rest []int // components that are no known operator of their own
	for i, e := range r.combine {
		if b, ok := e.(*tir.Binary); ok && (b.A == tir.Expr(r.acc[i]) && b.B == tir.Expr(r.x[i]) || b.B == tir.Expr(r.acc[i]) && b.A == tir.Expr(r.x[i])) {
			r.unit[i] = unitOf(b.Op, r.acc[i].DType)
		}
		if r.unit[i] == nil {
			rest = append(rest, i)
		}
	}
	for i := 0; i < len(rest); i++ {
		for n, v := range r.acc {
			if e := r.combine[rest[i]]; !slices.Contains(rest, n) && (tir.Uses(e, v) || tir.Uses(e, r.x[n])) {
				rest = append(rest, n) // it is part of the same law
			}
		}
	}
	if len(rest) == 0 {
		return ""
	}
	slices.Sort(rest)
	for _, i := range rest {
		switch r.inits[i].(type) {
		case *tir.Int, *tir.Float:
			r.unit[i] = r.inits[i]
		default:
			return "its initial values are not constant"
		}
	}
	if _, vouched := r.block.Attrs[Associative]; vouched {
		return ""
	}
	law := &law{}
	for _, i := range rest {
		law.acc, law.x = append(law.acc, r.acc[i]), append(law.x, r.x[i])
		law.combine, law.unit = append(law.combine, r.combine[i]), append(law.unit, r.unit[i])
	}
	if law.polynomial() {
		return law.asPolynomials()
	}
	return law.byOrders()
}

// law is a combination whose laws are to be shown.
type law struct {
	acc, x  []*tir.Var
	combine []tir.Expr
	unit    []tir.Expr
}

// What is said when a law does not hold.
const (
	notCommutative = "its combination is not commutative"
	notAssociative = "its combination is not associative"
	notIdentity    = "its initial value changes what it is combined with"
)

// polynomial reports whether the combination has only +, - and * of its operands.
func (l *law) polynomial() bool {
	ok := true
	for _, e := range l.combine {
		tir.Walk(e, func(n any) bool {
			switch n := n.(type) {
			case *tir.Var, *tir.Int:
			case *tir.Float:
				ok = ok && n.Value == math.Trunc(n.Value) && math.Abs(n.Value) < 1<<31
			case *tir.Binary:
				ok = ok && (n.Op == tir.Add || n.Op == tir.Sub || n.Op == tir.Mul) && n.A.Type().DType != tensor.Bool
			default:
				ok = false
			}
			return ok
		})
	}
	return ok
}

// poly is a polynomial: a coefficient for each product of variables, which stands as their numbers in order. Coefficients
// wrap as those of integers do; those of floats are kept small.
type poly map[string]int64

// Above these, a law is not shown.
const (
	maxPolyTerms  = 4096
	maxFloatCoeff = 1 << 20
)

// short reports whether p is short enough, and nil stands for one that is not.
func (l *law) short(p poly) bool {
	if p == nil || len(p) > maxPolyTerms {
		return false
	}
	float := slices.ContainsFunc(l.acc, func(v *tir.Var) bool { return v.DType.IsFloat() })
	for _, c := range p {
		if float && (c > maxFloatCoeff || c < -maxFloatCoeff) {
			return false
		}
	}
	return true
}

func (p poly) plus(q poly, k int64) poly {
	out := poly{}
	for m, c := range p {
		out[m] = c
	}
	for m, c := range q {
		if out[m] += k * c; out[m] == 0 {
			delete(out, m)
		}
	}
	return out
}

func (p poly) times(q poly) poly {
	out := poly{}
	for m, c := range p {
		for n, d := range q {
			product := []byte(m + n)
			slices.Sort(product)
			if out[string(product)] += c * d; out[string(product)] == 0 {
				delete(out, string(product))
			}
		}
		if len(out) > maxPolyTerms {
			return nil
		}
	}
	return out
}

// expand returns the polynomials of the combination of two tuples of polynomials; nil when they are too long.
func (l *law) expand(a, b []poly) []poly {
	var eval func(e tir.Expr) poly
	eval = func(e tir.Expr) poly {
		switch n := e.(type) {
		case *tir.Int:
			return poly{}.plus(poly{"": n.Value}, 1)
		case *tir.Float:
			return poly{}.plus(poly{"": int64(n.Value)}, 1)
		case *tir.Var:
			if i := slices.Index(l.acc, n); i >= 0 {
				return a[i]
			}
			return b[slices.Index(l.x, n)]
		case *tir.Binary:
			x, y := eval(n.A), eval(n.B)
			switch {
			case !l.short(x) || !l.short(y):
				return nil
			case n.Op == tir.Mul:
				return x.times(y)
			case n.Op == tir.Sub:
				return x.plus(y, -1)
			}
			return x.plus(y, 1)
		}
		return nil
	}
	out := make([]poly, len(l.combine))
	for i, e := range l.combine {
		if out[i] = eval(e); !l.short(out[i]) {
			return nil
		}
	}
	return out
}

// asPolynomials shows the laws by comparing both sides.
func (l *law) asPolynomials() (why string) {
	k := len(l.combine)
	tuple := func(n int) []poly {
		out := make([]poly, k)
		for i := range out {
			out[i] = poly{string([]byte{byte(n*k + i)}): 1}
		}
		return out
	}
	a, b, c, unit := tuple(0), tuple(1), tuple(2), make([]poly, k)
	for i, e := range l.unit {
		switch n := e.(type) {
		case *tir.Int:
			unit[i] = poly{}.plus(poly{"": n.Value}, 1)
		case *tir.Float:
			if n.Value != math.Trunc(n.Value) || math.Abs(n.Value) >= 1<<31 {
				return notIdentity
			}
			unit[i] = poly{}.plus(poly{"": int64(n.Value)}, 1)
		}
	}
	ab := l.expand(a, b)
	if ab == nil {
		return "its combination is too long to be shown associative"
	}
	left, right := l.expand(ab, c), l.expand(a, l.expand(b, c))
	if left == nil || right == nil {
		return "its combination is too long to be shown associative"
	}
	same := func(p, q []poly) bool {
		return slices.EqualFunc(p, q, func(x, y poly) bool { return len(x.plus(y, -1)) == 0 })
	}
	switch {
	case !same(ab, l.expand(b, a)):
		return notCommutative
	case !same(left, right):
		return notAssociative
	case !same(l.expand(unit, a), a):
		return notIdentity
	}
	return ""
}

// A datum is a value of the order test: an integer, a bool or a float.
type datum struct {
	i int64
	f float64
}

func sameDatum(a, b datum) bool { return a.i == b.i && (a.f == b.f || a.f != a.f && b.f != b.f) }

// maxOrders bounds the triples of tuples that byOrders goes through.
const maxOrders = 1 << 20

// byOrders shows the laws of a combination that only compares and chooses: on all values of three tuples out of a set
// that has every order of them, with NaN, and with the constants that occur.
func (l *law) byOrders() (why string) {
	k := len(l.combine)
	domains, total := make([][]datum, k), 1
	for i, v := range l.acc {
		var err string
		if domains[i], err = l.domain(v.DType); err != "" {
			return err
		}
		total *= len(domains[i])
	}
	if total*total > maxOrders/total {
		return "its combination has too many cases to be shown associative"
	}
	tuples := make([][]datum, total)
	for n := range tuples {
		rest := n
		for _, d := range domains {
			tuples[n] = append(tuples[n], d[rest%len(d)])
			rest /= len(d)
		}
	}
	number := func(values []datum) int { // of a tuple
		n := 0
		for i := k - 1; i >= 0; i-- {
			n = n*len(domains[i]) + slices.IndexFunc(domains[i], func(d datum) bool { return sameDatum(d, values[i]) })
		}
		return n
	}
	table := make([]int, total*total) // the combination of tuples a and b at a*total + b
	env, values := map[*tir.Var]datum{}, make([]datum, k)
	for n := range table {
		for i := range k {
			env[l.acc[i]], env[l.x[i]] = tuples[n/total][i], tuples[n%total][i]
		}
		for i, e := range l.combine {
			values[i] = choose(e, env)
		}
		table[n] = number(values)
	}
	for i, e := range l.unit {
		values[i] = choose(e, nil)
	}
	unit := number(values)
	for a := range total {
		for b := range a {
			if table[a*total+b] != table[b*total+a] {
				return notCommutative
			}
		}
	}
	for a := range total {
		for b := range total {
			ab := table[a*total+b]
			for c := range total {
				if table[ab*total+c] != table[a*total+table[b*total+c]] {
					return notAssociative
				}
			}
		}
	}
	for a := range total {
		if table[unit*total+a] != a {
			return notIdentity
		}
	}
	return ""
}

// domain returns values of a type in all orders that three tuples can have with each other and with the constants.
func (l *law) domain(d tensor.DType) ([]datum, string) {
	if d == tensor.Bool {
		return []datum{{i: 0}, {i: 1}}, ""
	}
	free := 0 // values that may differ
	for _, v := range l.acc {
		if v.DType == d {
			free += 3
		}
	}
	var consts []datum
	for _, e := range append(slices.Clone(l.combine), l.unit...) {
		if why := chooses(e); why != "" {
			return nil, why
		}
		tir.Walk(e, func(n any) bool {
			switch n := n.(type) {
			case *tir.Int:
				if n.DType == d {
					consts = append(consts, datum{i: n.Value})
				}
			case *tir.Float:
				if n.DType == d && n.Value == n.Value {
					consts = append(consts, datum{f: n.Value})
				}
			}
			return true
		})
	}
	if d.IsFloat() {
		return append(between(consts, free), datum{f: math.NaN()}), ""
	}
	if d == tensor.Uint64 {
		return nil, "it compares numbers of uint64"
	}
	lo, hi := tensor.IntRange(d)
	return betweenInts(consts, free, lo, hi), ""
}

// between returns the constants and n values below, between and above each of them, where there is room.
func between(consts []datum, n int) []datum {
	slices.SortFunc(consts, func(a, b datum) int { return cmp.Compare(a.f, b.f) })
	consts = slices.CompactFunc(consts, sameDatum)
	out := slices.Clone(consts)
	for i := 0; i <= len(consts); i++ {
		lo, hi := math.Inf(-1), math.Inf(1)
		if i > 0 {
			lo = consts[i-1].f
		}
		if i < len(consts) {
			hi = consts[i].f
		}
		at, to := lo, hi // from at toward to
		switch {
		case math.IsInf(lo, -1) && math.IsInf(hi, 1):
			at = 0
		case math.IsInf(lo, -1):
			at, to = hi, lo
		}
		for range n {
			if at = math.Nextafter(at, to); lo < at && at < hi {
				out = append(out, datum{f: at})
			}
		}
	}
	return out
}

func betweenInts(consts []datum, n int, lo, hi int64) []datum {
	slices.SortFunc(consts, func(a, b datum) int { return cmp.Compare(a.i, b.i) })
	consts = slices.CompactFunc(consts, sameDatum)
	out := slices.Clone(consts)
	for i := 0; i <= len(consts); i++ {
		from, to := lo, hi // both may be taken
		if i > 0 {
			if consts[i-1].i == hi {
				continue
			}
			from = consts[i-1].i + 1
		}
		if i < len(consts) {
			if consts[i].i == lo {
				continue
			}
			to = consts[i].i - 1
		}
		for j := range int64(n) {
			if from <= to-j {
				out = append(out, datum{i: from + j})
			}
		}
	}
	return out
}

// chooses says why an expression does more than to compare and choose.
func chooses(e tir.Expr) (why string) {
	tir.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *tir.Var, *tir.Int, *tir.Float, *tir.Select, *tir.Not:
		case *tir.Binary:
			if !n.Op.IsCompare() && !n.Op.IsLogical() && n.Op != tir.Min && n.Op != tir.Max {
				why = fmt.Sprintf("it is not known whether its combination, which has %v, is associative", n.Op)
			}
		case *tir.Call:
			if n.Fn != tir.IsNaN {
				why = fmt.Sprintf("it is not known whether its combination, which has %v, is associative", n.Fn)
			}
		default:
			why = "it is not known whether its combination is associative"
		}
		return why == ""
	})
	return why
}

// choose evaluates an expression that chooses.
func choose(e tir.Expr, env map[*tir.Var]datum) datum {
	truth := func(b bool) datum {
		if b {
			return datum{i: 1}
		}
		return datum{}
	}
	switch n := e.(type) {
	case *tir.Var:
		return env[n]
	case *tir.Int:
		return datum{i: n.Value}
	case *tir.Float:
		return datum{f: n.Value}
	case *tir.Not:
		return truth(choose(n.A, env).i == 0)
	case *tir.Select:
		if choose(n.Cond, env).i != 0 {
			return choose(n.Then, env)
		}
		return choose(n.Else, env)
	case *tir.Call:
		v := choose(n.Args[0], env).f
		return truth(v != v)
	}
	n := e.(*tir.Binary)
	a, b := choose(n.A, env), choose(n.B, env)
	order, nan := cmp.Compare(a.i, b.i), false
	if n.A.Type().DType.IsFloat() {
		order, nan = cmp.Compare(a.f, b.f), a.f != a.f || b.f != b.f
	}
	switch n.Op {
	case tir.And:
		return truth(a.i != 0 && b.i != 0)
	case tir.Or:
		return truth(a.i != 0 || b.i != 0)
	case tir.EQ:
		return truth(!nan && order == 0)
	case tir.NE:
		return truth(nan || order != 0)
	case tir.LT:
		return truth(!nan && order < 0)
	case tir.LE:
		return truth(!nan && order <= 0)
	case tir.GT:
		return truth(!nan && order > 0)
	case tir.GE:
		return truth(!nan && order >= 0)
	}
	switch {
	case nan:
		return datum{f: math.NaN()}
	case (n.Op == tir.Min) == (order <= 0):
		return a
	}
	return b
}
