package eval_test

import (
	"context"
	"fmt"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/tensor"
)

func ExampleTensors() {
	x := relay.NewVar("x", &relay.TensorType{Shape: tensor.Shape{3}, DType: tensor.Float32}, diag.Pos{})
	softmax, err := relay.NewCall(relay.Core().Lookup("nn.softmax"), []relay.Expr{x}, nil, diag.Pos{})
	if err != nil {
		fmt.Println(err)
		return
	}
	f := relay.NewFunction([]*relay.Var{x}, softmax, false, nil, diag.Pos{})
	out, err := eval.Tensors(context.Background(), f, []*tensor.Tensor{tensor.Of(tensor.Float32, tensor.Shape{3}, float32(0), 0, 0)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tensor.View[float32](out[0]))
	// Output: [0.33333334 0.33333334 0.33333334]
}
