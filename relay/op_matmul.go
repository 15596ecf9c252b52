package relay

import "github.com/texel-ml/texel/tensor"

// DenseAttrs are the attributes of nn.dense.
type DenseAttrs struct {
	Units        int          `relay:"units"`         // output features; 0: as the weight has
	OutDType     tensor.DType `relay:"out_dtype"`     // Invalid: the data's; a float: of operands that may be floats of other types
	WeightLayout string       `relay:"weight_layout"` // of N and K, for example NK32n; empty: NK
}

// MatmulAttrs are the attributes of nn.matmul and nn.batch_matmul.
type MatmulAttrs struct {
	OutDType   tensor.DType `relay:"out_dtype"` // Invalid: the operands'; a float: of operands that may be floats of other types
	TransposeA bool         `relay:"transpose_a"`
	TransposeB bool         `relay:"transpose_b"`
}

// matmulOps are the matrix products.
func matmulOps() []*Op {
	const doc = "out[…, m, n] = Σ_k a[…, m, k] · b[…, k, n], the batch axes … broadcast as in numpy. transpose_a: a is […, k, m]; " +
		"transpose_b: b is […, n, k]."
	return []*Op{
		{
			Name:     "nn.dense",
			Args:     []string{"data", "weight"},
			NewAttrs: func() any { return &DenseAttrs{} },
			Infer:    inferDense,
			Eval:     evalDense,
			Class:    OutFusable,
			Lower:    "matmul",
			Doc:      "out[…, n] = Σ_k data[…, k] · weight[n, k]. data is (…, K), weight (N, K), out (…, N).",
		},
		{
			Name:     "nn.matmul",
			Args:     []string{"tensor_a", "tensor_b"},
			NewAttrs: func() any { return &MatmulAttrs{} },
			Infer:    inferMatmul,
			Eval:     evalMatmul,
			Class:    OutFusable,
			Lower:    "matmul",
			Doc:      doc,
		},
		{
			Name:     "nn.batch_matmul",
			Args:     []string{"tensor_a", "tensor_b"},
			NewAttrs: func() any { return &MatmulAttrs{TransposeB: true} },
			Infer:    inferMatmul,
			Eval:     evalMatmul,
			Class:    OutFusable,
			Lower:    "matmul",
			Doc:      doc + " transpose_b is the default, as in Relay.",
		},
	}
}

func inferDense(s *Site) (Type, error) {
	a, t, err := factors(s, func(a *DenseAttrs) tensor.DType { return a.OutDType })
	if err != nil {
		return nil, err
	}
	data, weight := t[0].Shape, t[1].Shape
	if a.WeightLayout != "" {
		layout, err := s.layout(a.WeightLayout, "", weight)
		if err != nil {
			return nil, err
		}
		if weight, err = layout.Logical(weight, "NK"); err != nil {
			return nil, s.Illegal("weight_layout %v must have the axes NK: %v", layout, err)
		}
		if a.Units != 0 && a.Units <= weight[0] && layout.Block('N') > 1 {
			weight = tensor.Shape{a.Units, weight[1]} // the rest of the last block is padding
		}
	}
	if len(data) < 1 || len(weight) != 2 {
		return nil, s.Illegal("data %v and weight %v, wanted (…, K) and (N, K)", data, weight)
	}
	if k := data[len(data)-1]; k != weight[1] {
		return nil, s.Illegal("data %v has %d features, weight %v takes %d", data, k, weight, weight[1])
	}
	if a.Units != 0 && a.Units != weight[0] {
		return nil, s.Illegal("units=%d, but weight has %d", a.Units, weight[0])
	}
	return s.Result(outDType(t[0].DType, a.OutDType), append(data[:len(data)-1:len(data)-1], weight[0]))
}

func inferMatmul(s *Site) (Type, error) {
	attrs, t, err := factors(s, func(a *MatmulAttrs) tensor.DType { return a.OutDType })
	if err != nil {
		return nil, err
	}
	a, b := t[0].Shape, t[1].Shape
	if len(a) < 2 || len(b) < 2 {
		return nil, s.Illegal("shapes %v and %v, wanted two matrices", a, b)
	}
	m, ka := a[len(a)-2], a[len(a)-1]
	if attrs.TransposeA {
		m, ka = ka, m
	}
	kb, n := b[len(b)-2], b[len(b)-1]
	if attrs.TransposeB {
		kb, n = n, kb
	}
	if ka != kb {
		return nil, s.Illegal("shapes %v and %v reduce over %d and %d", a, b, ka, kb)
	}
	batch, ok := BroadcastShape(a[:len(a)-2], b[:len(b)-2])
	if !ok {
		return nil, s.Illegal("batch axes of %v and %v do not broadcast together", a, b)
	}
	return s.Result(outDType(t[0].DType, attrs.OutDType), append(batch, m, n))
}

func outDType(d, out tensor.DType) tensor.DType {
	if out != tensor.Invalid {
		return out
	}
	return d
}
