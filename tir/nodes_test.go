package tir

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/tensor"
)

// TestNodesIsComplete compares Nodes with the types that the package's own sources declare as nodes.
func TestNodesIsComplete(t *testing.T) {
	var declared []string
	for _, file := range []string{"expr.go", "stmt.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && (fn.Name.Name == "isExpr" || fn.Name.Name == "isStmt") {
				declared = append(declared, "*tir."+fn.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name)
			}
		}
	}
	var listed []string
	for _, n := range Nodes() {
		listed = append(listed, fmt.Sprintf("%T", n))
	}
	slices.Sort(declared)
	slices.Sort(listed)
	require.NotEmpty(t, declared)
	require.Equal(t, declared, listed)
}

// TestEveryNodeInEverySwitch feeds each type of node to the walk, the rewriter and the comparisons.
func TestEveryNodeInEverySwitch(t *testing.T) {
	again := Nodes()
	for i, n := range Nodes() {
		visited := 0
		Walk(n, func(any) bool {
			visited++
			return true
		})
		require.Positive(t, visited, "%T", n)
		same := &Mapper{Expr: func(e Expr) Expr { return e }, Stmt: func(s Stmt) Stmt { return s }}
		switch n := n.(type) {
		case Expr:
			require.Same(t, n, same.MapExpr(n))
			require.True(t, Equal(n, n), "%T", n)
			require.Positive(t, n.Type().Lanes)
		case Stmt:
			require.Same(t, n, same.MapStmt(n))
		}
		require.True(t, Isomorphic(n, again[i]), "%T", n)
		for j, other := range again {
			require.Equal(t, i == j, Isomorphic(n, other), "%T and %T", n, other)
		}
		k := NodesFunc(i)
		require.True(t, Isomorphic(k, NodesFunc(i)))
		require.Equal(t, "k", k.Name)
	}
}

// TestMapperRewritesBelowEveryNode replaces what each node has below it and wants a new node that is not the old one.
func TestMapperRewritesBelowEveryNode(t *testing.T) {
	for _, n := range Nodes() {
		leaf := false
		switch n.(type) {
		case *Var, *Int, *Float, *Barrier:
			leaf = true // an expression without children is tested by its being replaced
		}
		m := &Mapper{Expr: func(e Expr) Expr {
			switch e := e.(type) {
			case *Var:
				return NewVar("other")
			case *Int:
				return &Int{e.DType, e.Value ^ 1}
			case *Float:
				return &Float{e.DType, e.Value + 1}
			}
			return e
		}}
		if s, ok := n.(Stmt); ok {
			to := m.MapStmt(s)
			require.Equal(t, leaf, to == s, "%T", n)
			require.Equal(t, leaf, Isomorphic(s, to), "%T", n)
		} else if !leaf {
			require.False(t, Isomorphic(n, m.MapExpr(n.(Expr))), "%T", n)
		}
	}
}

// TestIsomorphic tells renamed identities from changed ones.
func TestIsomorphic(t *testing.T) {
	b := &Buffer{Name: "B", DType: tensor.Float32, Shape: []int{4}, Scope: Global}
	c := *b
	i, j := NewVar("i"), NewVar("i")
	store := func(b *Buffer, at, v *Var) Stmt {
		return &For{Var: at, Min: I(0), Extent: I(4), Body: &For{Var: v, Min: I(0), Extent: I(4), Body: &Store{b, []Expr{at}, As(tensor.Float32, v)}}}
	}
	require.True(t, Isomorphic(store(b, i, j), store(&c, j, i)))
	require.False(t, Isomorphic(store(b, i, j), store(b, i, i)), "one variable for two")
	require.False(t, Isomorphic(store(b, i, i), store(b, i, j)), "two variables for one")
	wide := *b
	wide.Shape = []int{5}
	require.False(t, Isomorphic(store(b, i, j), store(&wide, i, j)))
	require.False(t, Isomorphic(&Allocate{b, nil, nil}, &Allocate{b, map[string]string{}, nil}), "no attributes and an empty list of them")
	require.True(t, Isomorphic([]*Kernel{NodesFunc(0)}, []*Kernel{NodesFunc(0)}))
	require.False(t, Isomorphic([]*Kernel{NodesFunc(0)}, []*Kernel{NodesFunc(1)}))
	require.False(t, Isomorphic(NodesFunc(0), strings.Repeat("x", 3)))
}
