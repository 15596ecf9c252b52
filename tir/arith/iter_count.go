package arith

import (
	"fmt"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// counting goes through the points of a small domain.
type counting struct {
	d      IterDomain
	values []tir.Expr
	env    map[*tir.Var]int64
}

// each calls f with the values of each point, and the number of the point in the box of the domain.
func (c *counting) each(f func(point int64, values []int64) error) error {
	c.env = make(map[*tir.Var]int64, len(c.d.Vars))
	total, _ := c.d.points()
	values := make([]int64, len(c.values))
	for p := range total {
		c.move(p)
		if c.d.Where != nil {
			holds, ok := evaluate(c.d.Where, c.env)
			if !ok {
				return diag.Unsupported(iterStep, "", "%s cannot be evaluated at %s", spell(c.d.Where), c.at(p))
			}
			if holds == 0 {
				continue
			}
		}
		for i, e := range c.values {
			v, ok := evaluate(e, c.env)
			if !ok {
				return diag.Unsupported(iterStep, "", "%s cannot be evaluated at %s", spell(e), c.at(p))
			}
			values[i] = v
		}
		if err := f(p, values); err != nil {
			return err
		}
	}
	return nil
}

// move puts point p into env.
func (c *counting) move(p int64) {
	for i := len(c.d.Vars) - 1; i >= 0; i-- {
		c.env[c.d.Vars[i]] = p%c.d.Extents[i] + c.d.min(i)
		p /= c.d.Extents[i]
	}
}

// at spells point p.
func (c *counting) at(p int64) string {
	c.move(p)
	var list []string
	for _, v := range c.d.Vars {
		list = append(list, fmt.Sprintf("%s = %d", v.Name, c.env[v]))
	}
	return strings.Join(list, ", ")
}

func tuple(values []int64) string {
	return "(" + strings.Trim(strings.ReplaceAll(fmt.Sprint(values), " ", ", "), "[]") + ")"
}

// injective returns an error that shows two points with the same values.
func (c *counting) injective() error {
	seen := map[string]int64{}
	return c.each(func(p int64, values []int64) error {
		key := tuple(values)
		if q, twice := seen[key]; twice {
			return diag.Invalid(iterStep, "", "overlap: %s and %s both give %s", c.at(q), c.at(p), key)
		}
		seen[key] = p
		return nil
	})
}

// bijective returns an error that shows a point outside of the target, two points with the same values, or an element
// that is not reached.
func (c *counting) bijective(target []int64) error {
	if len(target) != len(c.values) {
		return diag.Invalid(iterStep, "", "wanted an extent for each of %d values, found %d", len(c.values), len(target))
	}
	size, fits := int64(1), true
	for _, e := range target {
		var ok bool
		size, ok = mul(size, max(e, 0))
		fits = fits && ok
	}
	seen := map[int64]int64{}
	err := c.each(func(p int64, values []int64) error {
		at := int64(0)
		for i, v := range values {
			if v < 0 || v >= target[i] {
				return diag.Invalid(iterStep, "", "extent: value %d, %s, is %d at %s; wanted [0, %d)", i, spell(c.values[i]), v, c.at(p), target[i])
			}
			at = at*target[i] + v
		}
		if q, twice := seen[at]; twice && fits {
			return diag.Invalid(iterStep, "", "overlap: %s and %s both give %s", c.at(q), c.at(p), tuple(values))
		}
		seen[at] = p
		return nil
	})
	switch {
	case err != nil:
		return err
	case !fits:
		return diag.Invalid(iterStep, "", "gap: %d points for a box of more than 2^63 elements", len(seen))
	case int64(len(seen)) == size:
		return nil
	}
	for at := int64(0); ; at++ {
		if _, ok := seen[at]; !ok {
			values := make([]int64, len(target))
			for i := len(target) - 1; i >= 0; i-- {
				values[i] = at % target[i]
				at /= target[i]
			}
			return diag.Invalid(iterStep, "", "gap: %d points for %d elements; none gives %s", len(seen), size, tuple(values))
		}
	}
}

// evaluate returns the value of an integer or bool expression, as package tir defines it; false where that is undefined,
// or where it depends on more than the variables of env.
func evaluate(e tir.Expr, env map[*tir.Var]int64) (int64, bool) {
	switch n := e.(type) {
	case *tir.Var:
		v, ok := env[n]
		return v, ok
	case *tir.Int:
		return n.Value, true
	case *tir.Not:
		v, ok := evaluate(n.A, env)
		return 1 - v, ok
	case *tir.Cast:
		v, ok := evaluate(n.A, env)
		d := n.A.Type().DType
		return tensor.Wrap(n.DType, v), ok && (d == tensor.Bool || d.IsInt()) && (n.DType == tensor.Bool || n.DType.IsInt())
	case *tir.Select:
		c, ok := evaluate(n.Cond, env)
		switch {
		case !ok:
			return 0, false
		case c != 0:
			return evaluate(n.Then, env)
		}
		return evaluate(n.Else, env)
	case *tir.Binary:
		a, ok := evaluate(n.A, env)
		if !ok || n.Op == tir.And && a == 0 || n.Op == tir.Or && a != 0 {
			return a, ok
		}
		b, ok := evaluate(n.B, env)
		if d := n.A.Type().DType; !ok || d != tensor.Bool && d != tensor.Int64 {
			return 0, false
		}
		if n.Op.IsLogical() {
			return b, true
		}
		return apply(n.Op, a, b)
	}
	return 0, false
}

// apply applies an operator on int64 or bool that is not lazy.
func apply(op tir.BinaryOp, a, b int64) (int64, bool) {
	truth := func(t bool) (int64, bool) {
		if t {
			return 1, true
		}
		return 0, true
	}
	switch op {
	case tir.Add:
		return a + b, true
	case tir.Sub:
		return a - b, true
	case tir.Mul:
		return a * b, true
	case tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod:
		switch {
		case b == 0 || a == minInt && b == -1:
			return 0, false
		case op == tir.Div:
			return a / b, true
		case op == tir.Mod:
			return a % b, true
		case op == tir.FloorDiv:
			return floorDiv(a, b), true
		}
		return floorMod(a, b), true
	case tir.Min:
		return min(a, b), true
	case tir.Max:
		return max(a, b), true
	case tir.EQ:
		return truth(a == b)
	case tir.NE:
		return truth(a != b)
	case tir.LT:
		return truth(a < b)
	case tir.LE:
		return truth(a <= b)
	case tir.GT:
		return truth(a > b)
	case tir.GE:
		return truth(a >= b)
	}
	return 0, false
}
