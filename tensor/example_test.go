package tensor_test

import (
	"fmt"

	"github.com/texel-ml/texel/tensor"
)

// Three channels of two pixels, brought to blocks of two channels; the last block is padded with zeros.
func ExampleRelayout() {
	x := tensor.Of(tensor.Int8, tensor.Shape{1, 3, 1, 2}, int8(1), 2, 3, 4, 5, 6)
	y, err := tensor.Relayout(x, tensor.MustLayout("NCHW"), tensor.MustLayout("NCHW2c"))
	fmt.Println(y.Shape, tensor.View[int8](y), err)
	// Output: (1, 2, 1, 2, 2) [1 3 2 4 5 0 6 0] <nil>
}
