package relay_test

import (
	"fmt"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// A graph is made of calls of operators; inference gives each its type or says what is wrong.
func Example() {
	core := relay.Core()
	x := relay.NewVar("x", &relay.TensorType{Shape: tensor.Shape{1, 8}, DType: tensor.Float32}, diag.Pos{})
	w := relay.NewVar("w", &relay.TensorType{Shape: tensor.Shape{4, 8}, DType: tensor.Float32}, diag.Pos{})
	dense, err := relay.NewCall(core.Lookup("nn.dense"), []relay.Expr{x, w}, nil, diag.Pos{})
	if err != nil {
		fmt.Println(err)
		return
	}
	relu, err := relay.NewCall(core.Lookup("nn.relu"), []relay.Expr{dense}, nil, diag.Pos{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(relay.PrintFunction("main", relay.NewFunction([]*relay.Var{x, w}, relu, false, nil, diag.Pos{})))
	_, err = relay.NewCall(core.Lookup("nn.dense"), []relay.Expr{x, x, w}, nil, diag.Pos{Node: "fc"})
	fmt.Println(err)
	// Output:
	// def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) -> Tensor[(1, 4), float32] {
	//   %0 = nn.dense(%x, %w, units=None) /* ty=Tensor[(1, 4), float32] */;
	//   nn.relu(%0) /* ty=Tensor[(1, 4), float32] */
	// }
	// node "fc": infer-type: nn.dense: wants 2 operands [data weight], found 3
}
