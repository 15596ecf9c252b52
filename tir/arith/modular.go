package arith

import (
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// residues is the set { m·n + r : n any integer }: r alone where m is 0, else 0 <= r < m. m is never negative.
type residues struct{ m, r int64 }

var anyInteger = residues{1, 0}

// residuesOf returns m·n + r in normal form.
func residuesOf(m, r int64) residues {
	if m < 0 {
		m = -m
	}
	if m == 0 {
		return residues{0, r}
	}
	return residues{m, floorMod(r, m)}
}

// Modular returns what is known of e by divisibility: its values are among coeff·n + base for integers n. coeff is 0 when
// e is base alone, and 1 when nothing is known; otherwise 0 <= base < coeff. e is an integer scalar, or a vector, each
// lane of which is meant.
func (a *Analyzer) Modular(e tir.Expr) (coeff, base int64) {
	s := a.residues(e)
	return s.m, s.r
}

// residues is Modular; it looks into what is not an index too.
func (a *Analyzer) residues(e tir.Expr) residues {
	if e.Type() == tir.Index {
		return a.modular(a.lin(e))
	}
	switch n := e.(type) {
	case *tir.Int:
		if n.DType.IsInt() && n.DType != tensor.Uint64 {
			return residues{0, n.Value}
		}
	case *tir.Broadcast:
		return a.residues(n.A)
	case *tir.Ramp:
		if n.Base.Type() != tir.Index {
			break
		}
		step := a.residues(n.Stride)
		if step.m == 0 {
			step = residuesOf(step.r, 0) // times the lane
		} else {
			step = residuesOf(gcd(step.m, step.r), 0)
		}
		return a.residues(n.Base).plus(step).wrapped()
	case *tir.Select, *tir.Cast:
		return a.atomResidues(e)
	}
	return anyInteger
}

// modular is Modular of a canonical form.
func (a *Analyzer) modular(l linear) residues {
	if l.over {
		return anyInteger
	}
	out := residues{0, l.c}
	for _, t := range l.terms {
		out = out.plus(a.atomResidues(t.atom).times(residues{0, t.k}))
		if out.m == 1 {
			return out
		}
	}
	if len(l.terms) > 0 && !a.exact(l) {
		return out.wrapped()
	}
	return out
}

// atomResidues is Modular of a term.
func (a *Analyzer) atomResidues(e tir.Expr) residues {
	switch n := e.(type) {
	case *tir.Var:
		return a.varResidues(n)
	case *tir.Select:
		return a.residues(n.Then).union(a.residues(n.Else))
	case *tir.Cast:
		return a.castResidues(n)
	case *tir.Binary:
		return a.binaryResidues(n)
	}
	return anyInteger
}

func (a *Analyzer) binaryResidues(n *tir.Binary) residues {
	switch n.Op {
	case tir.Add, tir.Sub, tir.Mul:
		x, y := a.residues(n.A), a.residues(n.B)
		var out residues
		switch n.Op {
		case tir.Add:
			out = x.plus(y)
		case tir.Sub:
			out = x.plus(y.times(residues{0, -1}))
		default:
			out = x.times(y)
		}
		if !a.atomBounds(n).finite() {
			return out.wrapped()
		}
		return out
	case tir.Min, tir.Max:
		x := a.residues(n.A)
		if x.m == 1 {
			return x
		}
		return x.union(a.residues(n.B))
	case tir.FloorDiv, tir.Div:
		if c, ok := tir.AsInt(n.B); ok && c > 0 {
			// (c·m·n + r)//c is m·n + r//c; rounded toward zero it is the same where c divides r
			if x := a.residues(n.A); x.m%c == 0 && (n.Op == tir.FloorDiv || x.r%c == 0) {
				return residuesOf(x.m/c, floorDiv(x.r, c))
			}
		}
	case tir.FloorMod, tir.Mod:
		if c, ok := tir.AsInt(n.B); ok && c > 0 { // x less a multiple of c
			x := a.residues(n.A)
			return residuesOf(gcd(x.m, c), x.r)
		}
	case tir.Shl:
		if c, ok := tir.AsInt(n.B); ok && c >= 0 && c < 62 {
			return a.residues(n.A).times(residues{0, 1 << c}).wrapped()
		}
	}
	return anyInteger
}

// varResidues finds what was assumed of a remainder of v.
func (a *Analyzer) varResidues(v *tir.Var) residues {
	out := anyInteger
	for _, f := range a.facts {
		mod, c, ok := remainderOf(f, v)
		if !ok || c <= out.m {
			continue
		}
		b := interval{0, c - 1}
		for _, g := range a.facts {
			if len(g.terms) != 1 || !tir.Equal(g.terms[0].atom, mod) {
				continue
			}
			switch g.terms[0].k { // g < 0
			case 1:
				b.hi = min(b.hi, -g.c-1)
			case -1:
				b.lo = max(b.lo, g.c+1)
			}
		}
		if b.lo == b.hi {
			out = residuesOf(c, b.lo)
		}
	}
	return out
}

// remainderOf reports whether f is of v%%c alone.
func remainderOf(f linear, v *tir.Var) (mod tir.Expr, c int64, ok bool) {
	if len(f.terms) != 1 {
		return nil, 0, false
	}
	b, ok := f.terms[0].atom.(*tir.Binary)
	if !ok || b.Op != tir.FloorMod || b.A != tir.Expr(v) {
		return nil, 0, false
	}
	c, ok = tir.AsInt(b.B)
	return b, c, ok && c > 0
}

func (a *Analyzer) castResidues(n *tir.Cast) residues {
	from := n.A.Type().DType
	if !from.IsInt() || !n.DType.IsInt() {
		return anyInteger
	}
	s := a.residues(n.A)
	if b, whole := a.valueBounds(n.A), typeBounds(n.DType); from == tensor.Uint64 || n.DType == tensor.Uint64 || b.lo < whole.lo || b.hi > whole.hi {
		return s.wrapped().narrowed(n.DType.Bits())
	}
	return s
}

func (s residues) plus(o residues) residues {
	m := gcd(s.m, o.m)
	if m == 0 {
		r, fits := add(s.r, o.r)
		if !fits {
			return anyInteger
		}
		return residues{0, r}
	}
	r, fits := add(floorMod(s.r, m), floorMod(o.r, m))
	if !fits {
		return anyInteger
	}
	return residuesOf(m, r)
}

// times gives (m·i + r)·(n·j + s) = m·n·i·j + m·s·i + n·r·j + r·s.
func (s residues) times(o residues) residues {
	mn, ok1 := mul(s.m, o.m)
	ms, ok2 := mul(s.m, o.r)
	nr, ok3 := mul(o.m, s.r)
	rs, ok4 := mul(s.r, o.r)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return anyInteger
	}
	return residuesOf(gcd(gcd(mn, ms), nr), rs)
}

func (s residues) union(o residues) residues {
	d, fits := add(s.r, -o.r)
	if !fits || o.r == minInt {
		return anyInteger
	}
	return residuesOf(gcd(gcd(s.m, o.m), d), s.r)
}

// wrapped weakens s to what remains true after a value wrapped around: what is known modulo a power of two.
func (s residues) wrapped() residues {
	if s.m == 0 {
		return s.narrowed(63)
	}
	return residuesOf(s.m&-s.m, s.r)
}

// narrowed weakens s to what remains true in a type of so many bits.
func (s residues) narrowed(bits int) residues {
	if bits >= 63 {
		bits = 62
	}
	return residuesOf(gcd(s.m, 1<<bits), s.r)
}

// residue returns k·b modulo c, when e is m·n + b and c divides k·m.
func (a *Analyzer) residue(e tir.Expr, k, c int64) (int64, bool) {
	if _, ok := e.(*tir.Var); ok && len(a.facts) == 0 || c > maxIndex {
		return 0, false
	}
	s := a.atomResidues(e)
	if s.m == 1 {
		return 0, false
	}
	km, fits := mul(k, s.m)
	kr, fits2 := mul(k, floorMod(s.r, c))
	if !fits || !fits2 || km%c != 0 {
		return 0, false
	}
	return floorMod(kr, c), true
}
