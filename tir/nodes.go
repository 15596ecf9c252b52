package tir

import "github.com/texel-ml/texel/tensor"

// Nodes returns a small legal tree with each type of statement and expression as its root, for tests of whatever
// switches over nodes: a node that is missing in a switch fails there, not in a user's program. Their free names are
// those of NodesFunc.
func Nodes() []any {
	_, nodes := nodes()
	return nodes
}

// NodesFunc returns the kernel that declares what the trees of Nodes use, with the given node of the same call as its
// body; an expression is evaluated.
func NodesFunc(at int) *Kernel {
	k, nodes := nodes()
	switch n := nodes[at].(type) {
	case Stmt:
		k.Body = n
	case Expr:
		k.Body = &Evaluate{n}
	}
	return k
}

func nodes() (*Kernel, []any) {
	a := &Buffer{Name: "A", DType: tensor.Float32, Shape: []int{8, 8}, Scope: Global}
	c := &Buffer{Name: "C", DType: tensor.Float32, Shape: []int{8}, Scope: Global}
	t := &Buffer{Name: "T", DType: tensor.Float32, Shape: []int{8}, Scope: Local}
	n, i, v, x := NewVar("n"), NewVar("i"), NewVar("v"), &Var{"x", tensor.Float32}
	one := &Float{tensor.Float32, 1}
	first := &Binary{LT, n, I(4)}
	store := &Store{c, []Expr{I(0)}, one}
	block := &Block{Name: "b", Iters: []IterVar{{v, 8, Spatial}}, Reads: []Region{Point(a, []Expr{v, I(0)})}, Writes: []Region{Point(c, []Expr{v})},
		Body: &Store{c, []Expr{v}, &Load{a, []Expr{v, I(0)}}}}
	k := &Kernel{Name: "k", Params: []*Buffer{a, c}, Outputs: 1, Scalars: []*Var{n}, GridExtent: 1}
	return k, []any{
		n,
		I(3),
		one,
		&Binary{Add, n, I(1)},
		&Not{first},
		&Select{first, one, &Float{tensor.Float32, 2}},
		&Cast{tensor.Float32, n},
		&Load{a, []Expr{I(1), I(2)}},
		&Call{Sqrt, []Expr{one}},
		&Ramp{n, I(1), 4},
		&Broadcast{one, 4},
		&For{Var: i, Min: I(0), Extent: I(8), Attrs: map[string]string{Partition: "1"}, Body: &Store{c, []Expr{i}, one}},
		&BlockRealize{Values: []Expr{n}, Where: first, Block: block},
		store,
		&Seq{[]Stmt{store, &Store{c, []Expr{I(1)}, one}}},
		&If{first, store, &Store{c, []Expr{I(1)}, one}},
		&While{False, store},
		&Let{x, one, &Store{c, []Expr{I(2)}, x}},
		&Allocate{t, map[string]string{DoubleBuffer: "1"}, &Store{t, []Expr{I(0)}, one}},
		&Barrier{Shared},
		&Evaluate{&Binary{Mul, n, I(2)}},
	}
}
