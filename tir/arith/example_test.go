package arith_test

import (
	"fmt"

	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
	"github.com/texel-ml/texel/tir/tirtext"
)

func ExampleAnalyzer_Simplify() {
	o, i := tir.NewVar("o"), tir.NewVar("i")
	a := arith.New()
	a.Bind(o, 0, 16)
	a.Bind(i, 0, 8)
	whole := tir.Plus(tir.Times(o, tir.I(8)), i)
	fmt.Println(tirtext.PrintExpr(a.Simplify(tir.Bin(tir.FloorDiv, whole, tir.I(8)))))
	fmt.Println(tirtext.PrintExpr(a.Simplify(tir.Bin(tir.LT, whole, tir.I(40)))))
	// Output:
	// o
	// o < 5
}

func ExampleBijective() {
	o, i := tir.NewVar("o"), tir.NewVar("i")
	whole := tir.Plus(tir.Times(o, tir.I(4)), i)
	d := arith.IterDomain{Vars: []*tir.Var{o, i}, Extents: []int64{3, 4}, Where: tir.Bin(tir.LT, whole, tir.I(10))}
	how, err := arith.Bijective(d, []tir.Expr{whole}, []int64{10})
	fmt.Println(how, err)
	_, err = arith.Bijective(d, []tir.Expr{whole}, []int64{12})
	fmt.Println(err)
	// Output:
	// algebra <nil>
	// iter-map: extent: value 0, o * 4 + i, takes 10 values from 0 to 9, wanted 12 from 0 to 11
}

func ExampleInverse() {
	k := tir.NewVar("k")
	d := arith.IterDomain{Vars: []*tir.Var{k}, Extents: []int64{64}}
	to := []*tir.Var{tir.NewVar("tile"), tir.NewVar("lane")}
	values := []tir.Expr{tir.Bin(tir.FloorDiv, k, tir.I(16)), tir.Bin(tir.FloorMod, k, tir.I(16))}
	back, err := arith.Inverse(d, values, []int64{4, 16}, to)
	fmt.Println(tirtext.PrintExpr(back[0]), err)
	// Output:
	// tile * 16 + lane <nil>
}
