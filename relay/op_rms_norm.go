package relay

import "math"

// RMSNormAttrs are the attributes of nn.rms_norm.
type RMSNormAttrs struct {
	Axis    int     `relay:"axis"`
	Epsilon float64 `relay:"epsilon"`
}

// rmsNormOps is the normalisation by the root of the mean square.
func rmsNormOps() []*Op {
	return []*Op{{
		Name: "nn.rms_norm", Args: []string{"data", "gamma"}, NewAttrs: func() any { return &RMSNormAttrs{-1, 1e-5} }, Infer: inferRMSNorm,
		Eval: evalRMSNorm, Class: Opaque, Lower: "rms_norm",
		Doc: "data / √(mean of data² + epsilon) · gamma, the mean along the axis; gamma has its extent. Zhang and Sennrich 2019; ONNX RMSNormalization.",
	}}
}

func inferRMSNorm(s *Site) (Type, error) {
	a, err := attrsOf[RMSNormAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.normTypes(a.Axis)
	if err != nil {
		return nil, err
	}
	return t[0], nil
}

func evalRMSNorm(s *EvalSite) (Value, error) {
	a, x, gamma, out := s.Attrs.(*RMSNormAttrs), s.Wide(0), s.Wide(1), s.out()
	along(s, x, NormalAxis(a.Axis, len(x.Shape)), func(start, n, step int) {
		squares := 0.0
		for i := range n {
			squares += x.F[start+i*step] * x.F[start+i*step]
		}
		scale := 1 / math.Sqrt(squares/float64(n)+a.Epsilon)
		for i := range n {
			out.F[start+i*step] = x.F[start+i*step] * scale * gamma.F[i]
		}
	})
	return out, nil
}
