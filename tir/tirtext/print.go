// Package tirtext prints functions and kernels of the loop IR as text, and parses that text.
//
// The form is line-based, nesting is by indentation of two blanks:
//
//	func matmul(A: float32[64, 64], B: float32[64, 64], out C: float32[64, 64]):
//	  block root():
//	    alloc T: float32[64, 64] local
//	    for i in range(0, 64, kind=parallel):
//	      for j in range(0, 64):
//	        for k in range(0, 64):
//	          block C(vi: spatial[64] = i, vj: spatial[64] = j, vk: reduce[64] = k) where i < 60:
//	            reads A[vi +: 1, vk +: 1], B[vk +: 1, vj +: 1]
//	            writes C[vi +: 1, vj +: 1]
//	            init:
//	              C[vi, vj] = 0.0
//	            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
//
// A loop's range is (minimum, extent), a region's axis is minimum +: extent. Integer constants are int64 and float
// constants float32 unless a type follows: 3_int8, 1.5_float64. A name that is no identifier or is a word of the
// language is quoted, as in $"for"; one that another variable or buffer has too gets a number, as in i@2. A variable
// is int64 unless its type is written; that of a scalar argument always is. Comments start with #.
//
// In kernels, "allocate T: float32[8] local:" gives a buffer memory while the lines below run, and "barrier shared" stops the
// work-items of a group. A kernel is written like a function, with its grid, and a program is its kernels behind a line that declares what they
// share, with the pass that ran last:
//
//	program f(A: float32[64], out C: float32[64]) after "simplify"
//	between T: float32[64]
//
//	kernel f(A: float32[64], out T: float32[64]) grid g = 64:
//	  T[g] = A[g] * 2.0
//
//	kernel f_1(T: float32[64], out C: float32[64]) grid g = 64:
//	  C[g] = T[63 - g]
//
// Law: parsing what was printed gives the same tree up to the identity of variables and buffers, and prints the same.
package tirtext

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Print returns the text of a function.
func Print(f *tir.Func) string {
	p := newPrinter()
	p.raw("func ").raw(quote(f.Name)).signature(f.Params, f.Outputs, f.Scalars).attrs(f.Attrs).raw(":\n")
	p.suite(f.Body)
	return p.b.String()
}

// PrintKernel returns the text of a kernel.
func PrintKernel(k *tir.Kernel) string {
	p := newPrinter()
	p.kernel(k)
	return p.b.String()
}

// PrintProgram returns the text of a program.
func PrintProgram(g *tir.Program) string {
	p := newPrinter()
	p.raw("program ").raw(quote(g.Name)).signature(g.Params, g.Outputs, g.Scalars)
	if g.Stage != "" {
		p.raw(" after ").raw(strconv.Quote(g.Stage))
	}
	p.raw("\n")
	for _, b := range g.Between {
		p.raw("between ").buffer(b).raw("\n")
	}
	names, taken := p.names, p.taken
	for _, k := range g.Kernels { // what only one kernel has is named as if it stood alone
		p.names, p.taken = maps.Clone(names), maps.Clone(taken)
		p.raw("\n").kernel(k)
	}
	return p.b.String()
}

func (p *printer) kernel(k *tir.Kernel) {
	p.raw("kernel ").raw(quote(k.Name)).signature(k.Params, k.Outputs, k.Scalars)
	if k.Grid != nil {
		p.raw(" grid ").variable(k.Grid).raw(" = ").int(k.GridExtent)
	}
	if k.Group != 0 {
		p.raw(" group ").int(k.Group)
	}
	if k.Scratch != 0 {
		p.raw(" scratch ").int(k.Scratch)
	}
	p.raw(":\n").suite(k.Body)
}

// PrintStmt returns the text of a statement outside any function.
func PrintStmt(s tir.Stmt) string {
	p := newPrinter()
	p.depth = -1
	p.suite(s)
	return p.b.String()
}

// PrintExpr returns the text of an expression.
func PrintExpr(e tir.Expr) string {
	p := newPrinter()
	p.expr(e, 0)
	return p.b.String()
}

type printer struct {
	b     strings.Builder
	depth int
	names map[any]string // *tir.Var and *tir.Buffer
	taken map[string]int // by quoted name, how many have it
}

func newPrinter() *printer {
	return &printer{names: map[any]string{}, taken: map[string]int{}}
}

// name returns the unique spelling of a variable or buffer.
func (p *printer) name(key any, base string) string {
	n, ok := p.names[key]
	if !ok {
		n = quote(base)
		p.taken[n]++
		if k := p.taken[n]; k > 1 {
			n += "@" + strconv.Itoa(k)
		}
		p.names[key] = n
	}
	return n
}

func (p *printer) raw(s string) *printer {
	p.b.WriteString(s)
	return p
}

func (p *printer) int(n int) *printer { return p.raw(strconv.Itoa(n)) }

func (p *printer) line() *printer {
	for range p.depth {
		p.b.WriteString("  ")
	}
	return p
}

func (p *printer) variable(v *tir.Var) *printer {
	p.raw(p.name(v, v.Name))
	if v.DType != tensor.Int64 {
		p.raw(": ").raw(v.DType.String())
	}
	return p
}

func (p *printer) ints(list []int) *printer {
	for i, n := range list {
		if i > 0 {
			p.raw(", ")
		}
		p.int(n)
	}
	return p
}

func (p *printer) buffer(b *tir.Buffer) *printer {
	p.raw(p.name(b, b.Name)).raw(": ").raw(b.DType.String()).raw("[").ints(b.Shape).raw("]")
	if b.Strides != nil {
		p.raw(" strides [").ints(b.Strides).raw("]")
	}
	if b.Scope != tir.Global {
		p.raw(" ").raw(quoteScope(b.Scope))
	}
	if f := b.Folding; f != nil {
		p.raw(" fold [").ints(f.Width).raw("] [").ints(f.Height).raw("] [").ints(f.Layers).raw("]")
	}
	return p
}

func quoteScope(s tir.Scope) string {
	switch s {
	case tir.Global, tir.Shared, tir.Local, tir.Scratch, tir.Texture:
		return string(s)
	}
	return "scope " + strconv.Quote(string(s))
}

func (p *printer) signature(params []*tir.Buffer, outputs int, scalars []*tir.Var) *printer {
	p.raw("(")
	for i, b := range params {
		if i > 0 {
			p.raw(", ")
		}
		if i >= len(params)-outputs {
			p.raw("out ")
		}
		p.buffer(b)
	}
	for i, v := range scalars {
		if i > 0 || len(params) > 0 {
			p.raw(", ")
		}
		p.raw("scalar ").raw(p.name(v, v.Name)).raw(": ").raw(v.DType.String())
	}
	return p.raw(")")
}

func (p *printer) attrs(attrs map[string]string) *printer {
	if attrs == nil {
		return p
	}
	keys := make([]string, 0, len(attrs))
	for k := range attrs {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	p.raw(" attrs {")
	for i, k := range keys {
		if i > 0 {
			p.raw(", ")
		}
		p.raw(strconv.Quote(k)).raw(": ").raw(strconv.Quote(attrs[k]))
	}
	return p.raw("}")
}

// suite prints a body one step deeper. A Seq of several statements is its lines; any other Seq is written out.
func (p *printer) suite(s tir.Stmt) {
	p.depth++
	p.body(s)
	p.depth--
}

func (p *printer) body(s tir.Stmt) {
	if s == nil {
		p.line().raw("pass\n")
		return
	}
	if seq, ok := s.(*tir.Seq); ok && len(seq.Stmts) > 1 {
		for _, c := range seq.Stmts {
			p.stmt(c)
		}
		return
	}
	p.stmt(s)
}

func (p *printer) stmt(s tir.Stmt) {
	p.line()
	switch n := s.(type) {
	case *tir.For:
		p.raw("for ").variable(n.Var).raw(" in range(").expr(n.Min, 0).raw(", ").expr(n.Extent, 0)
		if n.Kind != tir.Serial {
			p.raw(", kind=").raw(n.Kind.String())
		}
		if n.Thread != "" {
			p.raw(", thread=").raw(strconv.Quote(n.Thread))
		}
		p.raw(")").attrs(n.Attrs).raw(":\n").suite(n.Body)
	case *tir.BlockRealize:
		p.block(n)
	case *tir.Store:
		p.raw(p.name(n.Buffer, n.Buffer.Name)).raw("[").list(n.Indices).raw("] = ").expr(n.Value, 0).raw("\n")
	case *tir.Seq:
		p.raw("seq:\n")
		p.depth++
		for _, c := range n.Stmts {
			p.stmt(c)
		}
		if len(n.Stmts) == 0 {
			p.line().raw("pass\n")
		}
		p.depth--
	case *tir.If:
		p.raw("if ").expr(n.Cond, 0).raw(":\n").suite(n.Then)
		if n.Else != nil {
			p.line().raw("else:\n").suite(n.Else)
		}
	case *tir.While:
		p.raw("while ").expr(n.Cond, 0).raw(":\n").suite(n.Body)
	case *tir.Let:
		p.raw("let ").variable(n.Var).raw(" = ").expr(n.Value, 0).raw(":\n").suite(n.Body)
	case *tir.Allocate:
		p.raw("allocate ").buffer(n.Buffer).attrs(n.Attrs).raw(":\n").suite(n.Body)
	case *tir.Barrier:
		p.raw("barrier ").raw(quoteScope(n.Scope)).raw("\n")
	case *tir.Evaluate:
		p.raw("evaluate ").expr(n.Value, 0).raw("\n")
	default:
		panic("tirtext: unknown statement")
	}
}

func (p *printer) block(n *tir.BlockRealize) {
	b := n.Block
	p.raw("block ").raw(quote(b.Name)).raw("(")
	for i, iv := range b.Iters {
		if i > 0 {
			p.raw(", ")
		}
		p.variable(iv.Var)
		if iv.Var.DType == tensor.Int64 {
			p.raw(":")
		}
		p.raw(" ").raw(iv.Kind.String()).raw("[").int(iv.Extent).raw("]")
		if i < len(n.Values) {
			p.raw(" = ").expr(n.Values[i], 0)
		}
	}
	p.raw(")")
	if n.Where != nil {
		p.raw(" where ").expr(n.Where, 0)
	}
	if b.Opaque {
		p.raw(" opaque")
	}
	p.attrs(b.Attrs).raw(":\n")
	p.depth++
	p.regions("reads", b.Reads)
	p.regions("writes", b.Writes)
	for _, a := range b.Allocs {
		p.line().raw("alloc ").buffer(a).raw("\n")
	}
	if b.Init != nil {
		p.line().raw("init:\n").suite(b.Init)
	}
	p.body(b.Body)
	p.depth--
}

func (p *printer) regions(word string, list []tir.Region) {
	if len(list) == 0 {
		return
	}
	p.line().raw(word).raw(" ")
	for i, r := range list {
		if i > 0 {
			p.raw(", ")
		}
		p.raw(p.name(r.Buffer, r.Buffer.Name)).raw("[")
		for j, g := range r.Ranges {
			if j > 0 {
				p.raw(", ")
			}
			p.expr(g.Min, 0).raw(" +: ").expr(g.Extent, 0)
		}
		p.raw("]")
	}
	p.raw("\n")
}

func (p *printer) list(list []tir.Expr) *printer {
	for i, e := range list {
		if i > 0 {
			p.raw(", ")
		}
		p.expr(e, 0)
	}
	return p
}

// The binding strengths of operators, from loose to tight; comparisons do not chain.
const (
	strengthNot     = 3
	strengthCompare = 4
	strengthLast    = 11 // an operand that needs no parentheses anywhere
)

func strength(op tir.BinaryOp) int {
	switch op {
	case tir.Or:
		return 1
	case tir.And:
		return 2
	case tir.BitOr:
		return 5
	case tir.BitXor:
		return 6
	case tir.BitAnd:
		return 7
	case tir.Shl, tir.Shr:
		return 8
	case tir.Add, tir.Sub:
		return 9
	case tir.Mul, tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod:
		return 10
	case tir.Min, tir.Max:
		return strengthLast
	}
	return strengthCompare
}

// expr prints e, in parentheses when it binds less than at least.
func (p *printer) expr(e tir.Expr, least int) *printer {
	switch n := e.(type) {
	case nil:
		return p.raw("nil")
	case *tir.Var:
		return p.raw(p.name(n, n.Name))
	case *tir.Int:
		return p.raw(intText(n))
	case *tir.Float:
		return p.raw(floatText(n))
	case *tir.Binary:
		if n.Op == tir.Min || n.Op == tir.Max {
			return p.raw(n.Op.String()).raw("(").expr(n.A, 0).raw(", ").expr(n.B, 0).raw(")")
		}
		s := strength(n.Op)
		left := s
		if s == strengthCompare {
			left++
		}
		if s < least {
			p.raw("(")
		}
		p.expr(n.A, left).raw(" ").raw(n.Op.String()).raw(" ").expr(n.B, s+1)
		if s < least {
			p.raw(")")
		}
		return p
	case *tir.Not:
		if strengthNot < least {
			return p.raw("(not ").expr(n.A, strengthNot).raw(")")
		}
		return p.raw("not ").expr(n.A, strengthNot)
	case *tir.Select:
		return p.raw("select(").expr(n.Cond, 0).raw(", ").expr(n.Then, 0).raw(", ").expr(n.Else, 0).raw(")")
	case *tir.Cast:
		return p.raw(n.DType.String()).raw("(").expr(n.A, 0).raw(")")
	case *tir.Load:
		return p.raw(p.name(n.Buffer, n.Buffer.Name)).raw("[").list(n.Indices).raw("]")
	case *tir.Call:
		return p.raw(n.Fn.String()).raw("(").list(n.Args).raw(")")
	case *tir.Ramp:
		return p.raw("ramp(").expr(n.Base, 0).raw(", ").expr(n.Stride, 0).raw(", ").int(n.Lanes).raw(")")
	case *tir.Broadcast:
		return p.raw("broadcast(").expr(n.A, 0).raw(", ").int(n.Lanes).raw(")")
	}
	panic("tirtext: unknown expression")
}

func intText(n *tir.Int) string {
	switch {
	case n.DType == tensor.Bool && n.Value == 1:
		return "true"
	case n.DType == tensor.Bool && n.Value == 0:
		return "false"
	case n.DType == tensor.Int64:
		return strconv.FormatInt(n.Value, 10)
	case n.DType == tensor.Uint64:
		return strconv.FormatUint(uint64(n.Value), 10) + "_uint64"
	}
	return strconv.FormatInt(n.Value, 10) + "_" + n.DType.String()
}

func floatText(n *tir.Float) string {
	var s string
	switch v := n.Value; {
	case math.IsNaN(v):
		s = "nan"
	case math.IsInf(v, 1):
		s = "inf"
	case math.IsInf(v, -1):
		s = "-inf"
	case n.DType == tensor.Float32 && float64(float32(v)) == v:
		s = strconv.FormatFloat(v, 'g', -1, 32)
	default:
		s = strconv.FormatFloat(v, 'g', -1, 64)
	}
	if !strings.ContainsAny(s, ".en") {
		s += ".0"
	}
	if n.DType != tensor.Float32 {
		s += "_" + n.DType.String()
	}
	return s
}

// words are the words of the language, which are no names.
var words = []string{"true", "false", "inf", "nan", "nil", "not", "and", "or", "for", "in", "range", "kind", "thread",
	"block", "where", "opaque", "attrs", "reads", "writes", "alloc", "init", "seq", "pass", "if", "else", "while", "let",
	"allocate", "barrier", "evaluate", "func", "kernel", "out", "scalar", "grid", "group", "scratch", "strides", "scope", "fold",
	"spatial", "reduce"}

// quote returns a name as it is written: bare if it is an identifier, with dots allowed inside.
func quote(name string) string {
	if isIdent(name) && !slices.Contains(words, name) {
		if _, _, ok := special(name); !ok {
			return name
		}
	}
	return "$" + strconv.Quote(name)
}

// special reads inf, nan, and those with a type, such as inf_float16.
func special(name string) (v float64, d tensor.DType, ok bool) {
	word, suffix, typed := strings.Cut(name, "_")
	switch word {
	case "inf":
		v = math.Inf(1)
	case "nan":
		v = math.NaN()
	default:
		return 0, 0, false
	}
	if !typed {
		return v, tensor.Float32, true
	}
	d, err := tensor.ParseDType(suffix)
	return v, d, err == nil && d.IsFloat()
}

func isIdent(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && (i == 0 || c != '.' && !isDigit(c)) {
			return false
		}
	}
	return s != "" && s[len(s)-1] != '.'
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
