package llvm

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/lower"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/transform"
)

// conversion is a cast from or to a storage type as a kernel, its operand, and what the reference makes of it.
type conversion struct {
	kernel   *tir.Kernel
	in, want *tensor.Tensor
}

func newConversion(t *testing.T, name string, tgt *target.Target, in *tensor.Tensor, a *relay.CastAttrs) conversion {
	x := relay.NewVar("x", &relay.TensorType{DType: in.DType, Shape: in.Shape}, diag.Pos{})
	call, err := relay.NewCall(relay.Core().Lookup("cast"), []relay.Expr{x}, a, diag.Pos{})
	require.NoError(t, err)
	fn := relay.NewFunction([]*relay.Var{x}, call, true, nil, diag.Pos{})
	want, err := eval.Tensors(context.Background(), fn, []*tensor.Tensor{in})
	require.NoError(t, err)
	r, err := lower.Func(fn, name, lower.Core(), tgt, nil)
	require.NoError(t, err)
	kernels, _, err := transform.Lower(r.Func, transform.Options{Verify: true})
	require.NoError(t, err)
	require.Len(t, kernels, 1)
	return conversion{kernels[0], in, want[0]}
}

// storageConversions are casts of every code of every storage type to every float type, and of the values around each step to it
// in every way there is.
func storageConversions(t *testing.T, tgt *target.Target) (list []conversion) {
	add := func(in *tensor.Tensor, a *relay.CastAttrs) {
		list = append(list, newConversion(t, fmt.Sprintf("cast%d", len(list)), tgt, in, a))
	}
	floats := []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16}
	for _, d := range tensor.DTypes() {
		if !d.IsStorage() {
			continue
		}
		for _, f := range floats {
			add(numtest.Codes(d), &relay.CastAttrs{DType: f, RoundMode: "up"})
			add(numtest.Turns(f, d), &relay.CastAttrs{DType: d, Saturate: true, RoundMode: "up"})
			add(numtest.Turns(f, d), &relay.CastAttrs{DType: d, RoundMode: "nearest"})
		}
		add(numtest.Codes(d), &relay.CastAttrs{DType: tensor.Int8, RoundMode: "up"})
		add(numtest.Turns(tensor.Int32, d), &relay.CastAttrs{DType: d, Saturate: true, RoundMode: "down"})
	}
	return list
}

// TestStorageConversions runs them on every machine.
func TestStorageConversions(t *testing.T) {
	list := storageConversions(t, avx2(t))
	kernels := make([]*tir.Kernel, len(list))
	for i, c := range list {
		kernels[i] = c.kernel
	}
	machines(t, kernels, func(t *testing.T, m machine) {
		for i, c := range list {
			p := c.kernel.Params
			in := &tensor.Tensor{DType: p[0].DType, Shape: p[0].Shape, Data: c.in.Data}
			out := tensor.New(p[1].DType, p[1].Shape)
			m.run(t, i, []*tensor.Tensor{in, out}, nil)
			out.DType, out.Shape = c.want.DType, c.want.Shape
			require.NoError(t, numtest.Compare(out, c.want, numtest.Tolerance{SignedZero: true}), "%v to %v", c.in.DType, c.want.DType)
		}
	})
}
