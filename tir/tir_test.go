package tir

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
)

// everyNode is a statement that holds each kind of node once at least. A new node that is missing in a switch fails in the
// tests below, which feed it through all of them.
func everyNode() Stmt {
	a := &Buffer{Name: "a", DType: tensor.Float32, Shape: []int{8, 8}, Scope: Global}
	t := &Buffer{Name: "t", DType: tensor.Float32, Shape: []int{8}, Scope: Local}
	i, v, n := NewVar("i"), NewVar("v"), NewVar("n")
	load := &Load{a, []Expr{i, &Ramp{I(0), I(1), 8}}}
	value := &Select{&Not{&Binary{LT, i, I(4)}}, &Binary{Mul, load, &Broadcast{&Float{tensor.Float32, 2}, 8}},
		&Call{Exp, []Expr{&Cast{tensor.Float32, &Broadcast{n, 8}}}}}
	block := &Block{Name: "b", Iters: []IterVar{{v, 8, Spatial}}, Reads: []Region{Point(a, []Expr{v, I(0)})}, Writes: []Region{Whole(t)},
		Allocs: []*Buffer{t}, Init: &Store{t, []Expr{v}, &Float{tensor.Float32, 0}}, Body: &Store{t, []Expr{v}, &Load{a, []Expr{v, I(0)}}}}
	return &Seq{[]Stmt{
		&For{Var: i, Min: I(0), Extent: I(8), Body: &Let{n, Plus(i, I(1)), &Store{a, []Expr{i, &Ramp{I(0), I(1), 8}}, value}}},
		&For{Var: i, Min: I(0), Extent: I(8), Body: &BlockRealize{[]Expr{i}, &Binary{LT, i, I(7)}, block}},
		&If{&Binary{EQ, &Int{tensor.Int64, 1}, &Int{tensor.Int64, 1}}, &Evaluate{I(0)}, &While{False, &Evaluate{I(1)}}},
		&Allocate{t, nil, &Store{t, []Expr{I(0)}, &Float{tensor.Float32, 1}}},
		&Barrier{Shared},
	}}
}

// TestWalkAndMapKnowEveryNode walks the statement, and maps it without a change: the same pointer comes back.
func TestWalkAndMapKnowEveryNode(t *testing.T) {
	s := everyNode()
	kinds := map[string]bool{}
	Walk(s, func(n any) bool {
		switch n.(type) {
		case *Var:
			kinds["var"] = true
		case *Int, *Float:
			kinds["const"] = true
		case *Binary, *Not, *Select, *Cast, *Load, *Call, *Ramp, *Broadcast:
			kinds["expr"] = true
		case *For, *BlockRealize, *Store, *Seq, *If, *While, *Let, *Allocate, *Barrier, *Evaluate:
			kinds["stmt"] = true
		default:
			t.Fatalf("%T is no node", n)
		}
		return true
	})
	require.Len(t, kinds, 4)
	require.Same(t, s, (&Mapper{}).MapStmt(s))
	require.Same(t, s, (&Mapper{Expr: func(e Expr) Expr { return e }, Stmt: func(s Stmt) Stmt { return s }}).MapStmt(s))
}

// TestSubst replaces a variable everywhere, in regions and guards too, and leaves the original as it is.
func TestSubst(t *testing.T) {
	s := everyNode().(*Seq)
	loop := s.Stmts[1].(*For)
	k := NewVar("k")
	to := SubstStmt(loop.Body, map[*Var]Expr{loop.Var: k})
	require.True(t, Uses(loop.Body, loop.Var))
	require.False(t, Uses(to, loop.Var))
	require.True(t, Uses(to.(*BlockRealize).Where, k))
	require.True(t, ReadsMemory(loop.Body))
	require.False(t, ReadsMemory(s.Stmts[2]))
	require.Same(t, loop.Body, SubstStmt(loop.Body, map[*Var]Expr{k: loop.Var}), "nothing to replace")
}

// TestReplaceBuffer replaces a buffer everywhere, in what blocks declare and allocations too, and leaves the original as it is.
func TestReplaceBuffer(t *testing.T) {
	uses := func(s Stmt, b *Buffer) (n int) {
		count := func(list []Region) {
			for _, r := range list {
				if r.Buffer == b {
					n++
				}
			}
		}
		Walk(s, func(x any) bool {
			switch x := x.(type) {
			case *Load:
				count([]Region{{Buffer: x.Buffer}})
			case *Store:
				count([]Region{{Buffer: x.Buffer}})
			case *Allocate:
				count([]Region{{Buffer: x.Buffer}})
			case *BlockRealize:
				count(x.Block.Reads)
				count(x.Block.Writes)
				for _, a := range x.Block.Allocs {
					count([]Region{{Buffer: a}})
				}
			}
			return true
		})
		return n
	}
	s := everyNode()
	block := s.(*Seq).Stmts[1].(*For).Body.(*BlockRealize).Block
	for b, want := range map[*Buffer]int{block.Reads[0].Buffer: 4, block.Allocs[0]: 6} {
		c := *b
		to := ReplaceBuffer(s, b, &c, nil)
		require.Equal(t, want, uses(s, b), b.Name)
		require.Equal(t, want, uses(to, &c), b.Name)
		require.Zero(t, uses(to, b), b.Name)
		require.Same(t, s, ReplaceBuffer(s, &c, b, nil), "nothing to replace")
		require.Same(t, block, block.WithBuffer(&c, b))
	}
	a := block.Reads[0].Buffer
	turned := ReplaceBuffer(s, a, a, func(i []Expr) []Expr { return []Expr{i[1], i[0]} }).(*Seq)
	require.Equal(t, []Expr{I(0), block.Iters[0].Var}, turned.Stmts[1].(*For).Body.(*BlockRealize).Block.Body.(*Store).Value.(*Load).Indices)
}

// TestBinFolds compares the constants that Bin folds with Go's arithmetic, floored division by the definition.
func TestBinFolds(t *testing.T) {
	for _, c := range []struct {
		op         BinaryOp
		a, b, want int64
	}{
		{Add, 3, 4, 7}, {Sub, 3, 4, -1}, {Mul, -3, 4, -12}, {Div, -7, 2, -3}, {Mod, -7, 2, -1}, {FloorDiv, -7, 2, -4}, {FloorMod, -7, 2, 1},
		{FloorDiv, 7, -2, -4}, {FloorMod, 7, -2, -1}, {Min, 2, -1, -1}, {Max, 2, -1, 2}, {LT, 1, 2, 1}, {GE, 1, 2, 0}, {EQ, 2, 2, 1}, {NE, 2, 2, 0},
	} {
		got, ok := AsInt(Bin(c.op, &Int{tensor.Int64, c.a}, &Int{tensor.Int64, c.b}))
		require.True(t, ok, "%v", c)
		require.Equal(t, c.want, got, "%d %v %d", c.a, c.op, c.b)
	}
	wrapped, _ := AsInt(Bin(Add, &Int{tensor.Int8, 127}, &Int{tensor.Int8, 1}))
	require.Equal(t, int64(-128), wrapped, "int8 wraps around")
	wrapped, _ = AsInt(Bin(Sub, &Int{tensor.Uint8, 0}, &Int{tensor.Uint8, 1}))
	require.Equal(t, int64(255), wrapped, "uint8 wraps around")
	_, ok := AsInt(Bin(Div, I(1), I(0)))
	require.False(t, ok, "division by zero stays, to be refused where it runs")
}

// TestBinIdentities has operands that fall away, and float ones that must not.
func TestBinIdentities(t *testing.T) {
	x, f := Expr(NewVar("x")), Expr(&Var{"f", tensor.Float32})
	zero := Const(tensor.Float32, 0)
	for _, e := range []Expr{Plus(x, I(0)), Plus(I(0), x), Minus(x, I(0)), Times(x, I(1)), Times(I(1), x), Bin(FloorDiv, x, I(1))} {
		require.Same(t, x, e)
	}
	require.True(t, IsConst(Times(x, I(0)), 0))
	require.True(t, IsConst(Bin(FloorMod, x, I(1)), 0))
	require.IsType(t, &Binary{}, Plus(f, zero), "-0 + 0 is 0")
	require.IsType(t, &Binary{}, Times(f, zero), "NaN · 0 is NaN")
	wide := Plus(&Broadcast{f, 4}, f)
	require.Equal(t, Type{tensor.Float32, 4}, wide.Type(), "a scalar is broadcast to the other operand's lanes")
}

// TestShortForms has the constructors that definitions are written with, folded and not.
func TestShortForms(t *testing.T) {
	x, c := Expr(NewVar("x")), Expr(&Var{"c", tensor.Bool})
	f := Expr(&Var{"f", tensor.Float32})
	require.Equal(t, &Call{Pow, []Expr{f, f}}, Pow.Of(f, f))
	require.Equal(t, False, Negate(True))
	require.Equal(t, True, Negate(False))
	require.Equal(t, &Not{c}, Negate(c))
	require.Equal(t, Expr(False), Any())
	require.Same(t, c, Any(False, c))
	require.Equal(t, Expr(True), Any(True, c))
	require.Equal(t, []Expr{c, Gt(x, I(0)), Lt(x, I(9))}, Conjuncts(All(c, All(Gt(x, I(0)), Lt(x, I(9))))))
	require.Equal(t, []Expr{Any(c, Lt(x, I(9)))}, Conjuncts(Any(c, Lt(x, I(9)))))
	require.Empty(t, Conjuncts(nil))
	require.Equal(t, Expr(True), Within(I(3), 3, 4))
	require.Equal(t, Expr(False), Within(I(4), 3, 4))
	require.Equal(t, &Binary{And, &Binary{GE, x, I(0)}, &Binary{LT, x, I(4)}}, Within(x, 0, 4))
	require.Same(t, f, As(tensor.Float32, f))
	require.Equal(t, &Cast{tensor.Float16, f}, As(tensor.Float16, f))
	require.Equal(t, &Float{tensor.Float16, 0.0999755859375}, Const(tensor.Float16, 0.1))
	require.Equal(t, &Int{tensor.Int8, -128}, Lowest(tensor.Int8))
	require.Equal(t, &Int{tensor.Uint8, 255}, Highest(tensor.Uint8))
	require.Equal(t, &Float{tensor.Float16, math.Inf(-1)}, Lowest(tensor.Float16))
	for op, e := range map[BinaryOp]Expr{EQ: Eq(x, x), NE: Ne(x, x), LT: Lt(x, x), LE: Le(x, x), GT: Gt(x, x), GE: Ge(x, x), Div: Over(x, x)} {
		require.Equal(t, &Binary{op, x, x}, e)
	}
	require.Equal(t, &Binary{Min, f, x}, Minimum(f, x))
	require.Equal(t, &Binary{Max, f, x}, Maximum(f, x))
}

func TestEqual(t *testing.T) {
	x, y := NewVar("x"), NewVar("x")
	require.True(t, Equal(Plus(x, I(2)), Plus(x, I(2))))
	require.False(t, Equal(Plus(x, I(2)), Plus(y, I(2))), "variables are the same by identity")
	require.False(t, Equal(Const(tensor.Float32, 0), &Float{tensor.Float32, negativeZero()}))
}

func negativeZero() float64 { return math.Copysign(0, -1) }

func TestAccesses(t *testing.T) {
	s := everyNode().(*Seq)
	block := s.Stmts[1].(*For).Body.(*BlockRealize).Block
	reads, writes := Accesses(block)
	require.Len(t, reads, 1)
	require.Equal(t, "a", reads[0].Buffer.Name)
	require.Len(t, writes, 1, "the initial value and the body write the same place")
	require.Equal(t, "t", writes[0].Buffer.Name)

	t1 := &Buffer{Name: "s", DType: tensor.Float32, Shape: []int{8}, Scope: Global}
	i := NewVar("i")
	body := &Store{t1, []Expr{Plus(i, I(1))}, Plus(&Load{t1, []Expr{i}}, &Load{t1, []Expr{Plus(i, I(1))}})}
	reads, writes = Accesses(&Block{Body: body})
	require.Equal(t, []Region{Point(t1, []Expr{i})}, reads, "a recurrence reads another place of what it writes")
	require.Equal(t, []Region{Point(t1, []Expr{Plus(i, I(1))})}, writes)
}
