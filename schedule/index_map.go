package schedule

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// IndexMap sends the indices of a buffer, or the variables of a block, to new ones. Its text names the old ones and
// gives an expression for each new one:
//
//	k, n -> n // 32, k, n %% 32
//
// An expression has names, numbers, +, -, *, // and %% (both rounding down) and parentheses; one side of a * and the
// right side of // and %% are numbers, the latter above 0. What a text of more than that would say has no use here: an
// index map must be undone.
type IndexMap struct {
	From []*tir.Var // what the text names
	To   []tir.Expr // over From
}

// The limits of an index map's text. They keep all arithmetic on it far from overflow.
const (
	maxMapText   = 4096
	maxMapRank   = 16
	maxMapNumber = 1 << 31
)

// Permutation returns the text of the index map whose result n is operand order[n].
func Permutation(order ...int) string {
	from, to := make([]string, len(order)), make([]string, len(order))
	for n, axis := range order {
		from[n], to[n] = fmt.Sprintf("i%d", n), fmt.Sprintf("i%d", axis)
	}
	return strings.Join(from, ", ") + " -> " + strings.Join(to, ", ")
}

// ParseIndexMap reads the text of an index map. An error names the column of the first character that does not fit.
func ParseIndexMap(text string) (*IndexMap, error) {
	p := &mapParser{src: text}
	if len(text) > maxMapText {
		p.fail(maxMapText, "the text has %d characters, wanted at most %d", len(text), maxMapText)
		return nil, p.err
	}
	m := &IndexMap{}
	for p.space(); !p.took("->"); {
		if len(m.From) > 0 {
			p.mark(",")
		}
		at := p.at
		name := p.name()
		if p.err == nil && p.variable(m, name) != nil {
			p.fail(at, "%s is named twice", name)
		}
		m.From = append(m.From, tir.NewVar(name))
		if len(m.From) > maxMapRank {
			p.fail(at, "more than %d names", maxMapRank)
		}
		if p.err != nil {
			return nil, p.err
		}
	}
	for n := 0; !p.done() && p.err == nil; n++ {
		if n > 0 {
			p.mark(",")
		}
		at := p.at
		e := p.sum(m)
		m.To = append(m.To, e)
		if p.err == nil && magnitude(e) > 1<<62 {
			p.fail(at, "the value may be outside -2^62 to 2^62")
		}
		if n == maxMapRank {
			p.fail(at, "more than %d results", maxMapRank)
		}
	}
	if p.err == nil && len(m.To) == 0 {
		p.fail(p.at, "wanted an expression, found the end")
	}
	if p.err != nil {
		return nil, p.err
	}
	return m, nil
}

// String prints the canonical text.
func (m *IndexMap) String() string {
	from, to := make([]string, len(m.From)), make([]string, len(m.To))
	for i, v := range m.From {
		from[i] = v.Name
	}
	for i, e := range m.To {
		to[i] = mapText(e, 0)
	}
	if len(from) == 0 {
		return "-> " + strings.Join(to, ", ")
	}
	return strings.Join(from, ", ") + " -> " + strings.Join(to, ", ")
}

// mapText prints an expression of a map, in parentheses when it binds less than at least.
func mapText(e tir.Expr, least int) string {
	switch e := e.(type) {
	case *tir.Var:
		return e.Name
	case *tir.Int:
		return strconv.FormatInt(e.Value, 10)
	case *tir.Binary:
		strength := 1
		if e.Op == tir.Mul || e.Op == tir.FloorDiv || e.Op == tir.FloorMod {
			strength = 2
		}
		text := mapText(e.A, strength) + " " + e.Op.String() + " " + mapText(e.B, strength+1)
		if strength < least {
			return "(" + text + ")"
		}
		return text
	}
	return "?"
}

// magnitude bounds the absolute value of an expression of a map whose variables are within 2^31.
func magnitude(e tir.Expr) float64 {
	switch e := e.(type) {
	case *tir.Int:
		return math.Abs(float64(e.Value))
	case *tir.Binary:
		a, b := magnitude(e.A), magnitude(e.B)
		switch e.Op {
		case tir.Mul:
			return a * b
		case tir.FloorDiv:
			return a
		case tir.FloorMod:
			return b
		}
		return a + b
	}
	return 1 << 31
}

// Apply returns the new indices of the old ones, one for each of From.
func (m *IndexMap) Apply(indices []tir.Expr) []tir.Expr {
	bind := make(map[*tir.Var]tir.Expr, len(m.From))
	for i, v := range m.From {
		bind[v] = indices[i]
	}
	out := make([]tir.Expr, len(m.To))
	for i, e := range m.To {
		out[i] = tir.Subst(e, bind)
	}
	return out
}

// undoing is an index map over a space, undone.
type undoing struct {
	shape  []int      // of the new space, which begins at 0
	vars   []*tir.Var // its indices
	old    []tir.Expr // the old indices as expressions of those
	inside tir.Expr   // which points of the new space are old ones; nil: all
}

// undo undoes a map over the space of the given extents. Where the map does not fill a box, the old space is widened so that
// it does, and a condition says which points of the new one are not of the old.
func (m *IndexMap) undo(extents []int) (*undoing, error) {
	for i, n := range extents {
		if n == 0 {
			return nil, fmt.Errorf("axis %d has extent 0", i)
		}
	}
	tries := [][]int{extents, slices.Clone(extents)} // as it is; all axes widened; one axis widened
	for i, v := range m.From {
		period := m.period(v)
		wide := (extents[i] + period - 1) / period * period
		tries[1][i] = wide
		one := slices.Clone(extents)
		one[i] = wide
		tries = append(tries, one)
	}
	var first error
	for _, wide := range tries {
		u, err := m.undoWithin(extents, wide)
		if err == nil {
			return u, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// undoWithin undoes a map that takes the points of a space widened to wide to those of a box, one to one.
func (m *IndexMap) undoWithin(extents, wide []int) (*undoing, error) {
	d := arith.IterDomain{Vars: m.From}
	a := arith.New()
	for i, v := range m.From {
		d.Extents = append(d.Extents, int64(wide[i]))
		a.Bind(v, 0, int64(wide[i]))
	}
	u := &undoing{}
	var target []int64
	for i, e := range m.To {
		_, hi, ok := a.Bounds(e)
		if !ok || hi < 0 || hi >= maxMapNumber {
			return nil, fmt.Errorf("result %d has no bounds from 0 to 2^31", i)
		}
		target, u.shape = append(target, hi+1), append(u.shape, int(hi+1))
		name := fmt.Sprintf("t%d", i)
		for _, v := range slices.Backward(m.From) {
			if tir.Uses(e, v) {
				name = v.Name
			}
		}
		u.vars = append(u.vars, tir.NewVar(name))
	}
	old, err := arith.Inverse(d, m.To, target, u.vars)
	if err != nil {
		return nil, err
	}
	u.old = old
	for i, n := range extents {
		if n < wide[i] {
			u.inside = tir.All(u.inside, tir.Bin(tir.LT, old[i], tir.I(n)))
		}
	}
	return u, nil
}

// oneToOne reports whether algebra shows that no two points of a space go to one.
func (m *IndexMap) oneToOne(extents []int) bool {
	d := arith.IterDomain{Vars: m.From}
	for _, n := range extents {
		d.Extents = append(d.Extents, int64(n))
	}
	form, err := arith.DetectIterMap(nil, d, m.To)
	return err == nil && form.Injective() == nil
}

// maxPeriod bounds what a period may be: beyond it an axis is not widened.
const maxPeriod = 1 << 16

// period returns the number that divides the extent of v when no quotient and no remainder of the map is cut off: the least
// common multiple of what v is divided by, one after the other.
func (m *IndexMap) period(v *tir.Var) int {
	period := 1
	var visit func(e tir.Expr, by int)
	visit = func(e tir.Expr, by int) {
		b, ok := e.(*tir.Binary)
		switch {
		case e == tir.Expr(v):
			if by <= maxPeriod && period <= maxPeriod {
				period = period / gcd(period, by) * by
			}
		case ok && (b.Op == tir.FloorDiv || b.Op == tir.FloorMod):
			n, _ := tir.AsInt(b.B)
			if by <= maxPeriod {
				by *= int(min(n, maxPeriod+1))
			}
			visit(b.A, by)
		case ok:
			visit(b.A, by)
			visit(b.B, by)
		}
	}
	for _, e := range m.To {
		visit(e, 1)
	}
	if period > maxPeriod {
		return 1
	}
	return period
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// at returns the condition and the old indices at a point of the new space.
func (u *undoing) at(point []tir.Expr) (inside tir.Expr, old []tir.Expr) {
	bind := map[*tir.Var]tir.Expr{}
	for i, v := range u.vars {
		bind[v] = point[i]
	}
	old = make([]tir.Expr, len(u.old))
	for i, e := range u.old {
		old[i] = tir.Subst(e, bind)
	}
	return tir.Subst(u.inside, bind), old
}

// mapParser reads the text of an index map.
type mapParser struct {
	src  string
	at   int
	deep int
	err  error
}

func (p *mapParser) fail(at int, format string, args ...any) {
	if p.err == nil {
		p.err = diag.Invalid("index map", "", "column %d: "+format, append([]any{len([]rune(p.src[:at])) + 1}, args...)...)
	}
	p.at = len(p.src)
}

func (p *mapParser) space() {
	for p.at < len(p.src) && (p.src[p.at] == ' ' || p.src[p.at] == '\t') {
		p.at++
	}
}

func (p *mapParser) done() bool { return p.at >= len(p.src) }

// took takes a mark, and the space behind it, if it is there.
func (p *mapParser) took(mark string) bool {
	if !strings.HasPrefix(p.src[p.at:], mark) {
		return false
	}
	p.at += len(mark)
	p.space()
	return true
}

func (p *mapParser) mark(mark string) {
	if !p.took(mark) {
		p.wanted(strconv.Quote(mark))
	}
}

func (p *mapParser) wanted(what string) {
	found := "the end"
	for _, r := range p.src[p.at:] {
		found = strconv.QuoteRune(r)
		break
	}
	p.fail(p.at, "wanted %s, found %s", what, found)
}

// word takes the characters that match, and the space behind them.
func (p *mapParser) word(match func(c byte, first bool) bool) string {
	from := p.at
	for p.at < len(p.src) && match(p.src[p.at], p.at == from) {
		p.at++
	}
	text := p.src[from:p.at]
	p.space()
	return text
}

func (p *mapParser) name() string {
	name := p.word(func(c byte, first bool) bool {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || !first && isDigit(c)
	})
	if name == "" {
		p.wanted("a name")
	}
	return name
}

func (p *mapParser) variable(m *IndexMap, name string) *tir.Var {
	for _, v := range m.From {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// sum takes an expression.
func (p *mapParser) sum(m *IndexMap) tir.Expr {
	e := p.product(m)
	for p.err == nil {
		at := p.at
		switch {
		case p.took("+"):
			e = p.small(at, tir.Plus(e, p.product(m)))
		case p.took("-"):
			e = p.small(at, tir.Minus(e, p.product(m)))
		default:
			return e
		}
	}
	return e
}

func (p *mapParser) product(m *IndexMap) tir.Expr {
	e := p.factor(m)
	for p.err == nil {
		at := p.at
		switch {
		case p.took("*"):
			right := p.factor(m)
			_, x := tir.AsInt(e)
			_, y := tir.AsInt(right)
			if !x && !y {
				p.fail(at, "a product of two names; wanted a number on one side")
			}
			e = p.small(at, tir.Times(e, right))
		case p.took("//"):
			e = tir.Bin(tir.FloorDiv, e, p.divisor(m))
		case p.took("%%"):
			e = tir.Bin(tir.FloorMod, e, p.divisor(m))
		default:
			return e
		}
	}
	return e
}

// divisor takes a number above 0.
func (p *mapParser) divisor(m *IndexMap) tir.Expr {
	at := p.at
	e := p.factor(m)
	if n, ok := tir.AsInt(e); p.err == nil && (!ok || n <= 0) {
		p.fail(at, "wanted a number above 0 to divide by")
	}
	return e
}

// small refuses a number that is too large.
func (p *mapParser) small(at int, e tir.Expr) tir.Expr {
	if n, ok := tir.AsInt(e); ok && (n > maxMapNumber || n < -maxMapNumber) {
		p.fail(at, "the number %d is outside -2^31 to 2^31", n)
	}
	return e
}

func (p *mapParser) factor(m *IndexMap) tir.Expr {
	if p.deep++; p.deep > maxNesting {
		p.fail(p.at, "parentheses are nested deeper than %d", maxNesting)
	}
	defer func() { p.deep-- }()
	at := p.at
	switch {
	case p.err != nil:
	case p.took("("):
		e := p.sum(m)
		p.mark(")")
		return e
	case p.took("-"):
		return p.small(at, tir.Times(tir.I(-1), p.factor(m)))
	case !p.done() && isDigit(p.src[at]):
		text := p.word(func(c byte, _ bool) bool { return isDigit(c) })
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n > maxMapNumber {
			p.fail(at, "the number %s is outside -2^31 to 2^31", text)
		}
		return tir.I(int(n))
	default:
		name := p.name()
		if v := p.variable(m, name); v != nil {
			return v
		}
		p.fail(at, "%s is no name of the left side", name)
	}
	return tir.I(0)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
