package schedule

import (
	"slices"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// inverse is what the variables of a block are at a place that it writes or reads, and the condition under which there is
// such an instance; nil where there always is.
type inverse struct {
	bind  map[*tir.Var]tir.Expr
	where tir.Expr
}

// invert returns what the spatial variables of a block are when its indices have the values at. It knows indices that are
// sums which count through some variables, as v·4 + w does, and the quotients and remainders of one variable, as v // 4
// and v %% 4 are. shape bounds the values.
func invert(b *tir.Block, indices, at []tir.Expr, shape []int) (map[*tir.Var]tir.Expr, bool) {
	inv, ok := invertWhere(b, indices, at, shape)
	return inv.bind, ok
}

// invertWhere is invert with the condition.
func invertWhere(b *tir.Block, indices, at []tir.Expr, shape []int) (inverse, bool) {
	v := &inverter{a: arith.New(), extent: map[*tir.Var]int64{}, bind: map[*tir.Var]tir.Expr{}, parts: map[*tir.Var][]digit{}}
	bindIters(v.a, b)
	for _, iv := range spatialIters(b) {
		if iv.Extent < 1 {
			return inverse{}, false
		}
		v.extent[iv.Var] = int64(iv.Extent)
	}
	for i, e := range indices {
		if tir.ReadsMemory(e) || !v.axis(v.a.Simplify(e), at[i], int64(shape[i])) {
			return inverse{}, false
		}
	}
	for _, iv := range spatialIters(b) {
		if list := v.parts[iv.Var]; len(list) > 0 && !v.join(iv.Var, list) {
			return inverse{}, false
		}
		if v.bind[iv.Var] == nil {
			if iv.Extent != 1 {
				return inverse{}, false
			}
			v.bind[iv.Var] = tir.I(0)
		}
	}
	return inverse{v.bind, v.where}, true
}

// digit is at = (v // unit) %% mod, where mod 0 is no remainder.
type digit struct {
	unit, mod int64
	at        tir.Expr
	limit     int64 // of at
}

type inverter struct {
	a      *arith.Analyzer
	extent map[*tir.Var]int64
	bind   map[*tir.Var]tir.Expr
	parts  map[*tir.Var][]digit
	where  tir.Expr
}

func (v *inverter) need(cond tir.Expr) { v.where = tir.All(v.where, cond) }

// axis takes the index e, whose value is at, below limit.
func (v *inverter) axis(e, at tir.Expr, limit int64) bool {
	if x, d, ok := v.digitOf(e); ok && (d.unit != 1 || d.mod != 0) {
		d.at, d.limit = at, limit
		v.parts[x] = append(v.parts[x], d)
		return v.bind[x] == nil
	}
	coeffs, rest, ok := v.a.Linear(e)
	base, isConst := tir.AsInt(rest)
	if !ok || !isConst {
		return false
	}
	var vars []*tir.Var
	for x := range coeffs {
		if _, own := v.extent[x]; !own || v.bind[x] != nil || coeffs[x] <= 0 {
			return false
		}
		vars = append(vars, x)
	}
	if len(vars) == 0 {
		if limit > 1 || base != 0 {
			v.need(tir.Eq(at, tir.I(int(base))))
		}
		return true
	}
	slices.SortFunc(vars, func(x, y *tir.Var) int { return int(coeffs[x] - coeffs[y]) })
	step := coeffs[vars[0]]
	at = tir.Minus(at, tir.I(int(base)))
	if step > 1 {
		v.need(tir.Eq(tir.Bin(tir.FloorMod, at, tir.I(int(step))), tir.I(0)))
		at = tir.Bin(tir.FloorDiv, at, tir.I(int(step)))
	}
	unit := int64(1)
	for i, x := range vars {
		if coeffs[x] != unit*step {
			return false
		}
		n := tir.Bin(tir.FloorDiv, at, tir.I(int(unit)))
		if i < len(vars)-1 {
			n = tir.Bin(tir.FloorMod, n, tir.I(int(v.extent[x])))
		}
		v.bind[x] = n
		unit *= v.extent[x]
	}
	if base != 0 {
		v.need(tir.Ge(at, tir.I(0)))
	}
	if base+unit*step < limit {
		v.need(tir.Lt(at, tir.I(int(unit))))
	}
	return true
}

// digitOf takes e as a quotient and remainder of one variable.
func (v *inverter) digitOf(e tir.Expr) (*tir.Var, digit, bool) {
	d := digit{unit: 1}
	if b, ok := e.(*tir.Binary); ok && b.Op == tir.FloorMod {
		c, known := tir.AsInt(b.B)
		if !known || c <= 0 {
			return nil, d, false
		}
		d.mod, e = c, b.A
	}
	if b, ok := e.(*tir.Binary); ok && b.Op == tir.FloorDiv {
		c, known := tir.AsInt(b.B)
		if !known || c <= 0 {
			return nil, d, false
		}
		d.unit, e = c, b.A
	}
	x, ok := e.(*tir.Var)
	if !ok {
		return nil, d, false
	}
	_, own := v.extent[x]
	return x, d, own
}

// join makes a variable of its digits.
func (v *inverter) join(x *tir.Var, list []digit) bool {
	if v.bind[x] != nil {
		return false
	}
	slices.SortFunc(list, func(p, q digit) int { return int(p.unit - q.unit) })
	var sum tir.Expr = tir.I(0)
	unit := int64(1)
	for i, d := range list {
		if d.unit != unit {
			return false
		}
		sum = tir.Plus(tir.Times(d.at, tir.I(int(unit))), sum)
		if d.mod == 0 {
			if i != len(list)-1 {
				return false
			}
			unit *= d.limit
			continue
		}
		if d.limit > d.mod {
			v.need(tir.Lt(d.at, tir.I(int(d.mod))))
		}
		unit *= d.mod
	}
	if unit < v.extent[x] { // the values above are no digits of it
		return false
	}
	if unit > v.extent[x] {
		v.need(tir.Lt(sum, tir.I(int(v.extent[x]))))
	}
	v.bind[x] = sum
	return true
}
