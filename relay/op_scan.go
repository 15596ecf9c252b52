package relay

import "github.com/texel-ml/texel/tensor"

// ScanAttrs are the attributes of cumsum and cumprod.
type ScanAttrs struct {
	Axis      int  `relay:"axis"`
	Exclusive bool `relay:"exclusive"` // without the element itself
	Reverse   bool `relay:"reverse"`   // from the end
}

// scanOps are the running reductions.
func scanOps() []*Op {
	attrs := func() any { return &ScanAttrs{} }
	return []*Op{
		{Name: "cumsum", Args: []string{"data"}, NewAttrs: attrs, Infer: inferScan, Eval: evalScan(0, func(a, b float64) float64 { return a + b }, func(a, b int64) int64 { return a + b }), Class: Opaque, Lower: "scan",
			Doc: "out[i] = Σ_{j ≤ i} data[j] along the axis, j < i with exclusive, from the end with reverse."},
		{Name: "cumprod", Args: []string{"data"}, NewAttrs: attrs, Infer: inferScan, Eval: evalScan(1, func(a, b float64) float64 { return a * b }, func(a, b int64) int64 { return a * b }), Class: Opaque, Lower: "scan",
			Doc: "out[i] = Π_{j ≤ i} data[j] along the axis, j < i with exclusive, from the end with reverse."},
	}
}

func inferScan(s *Site) (Type, error) {
	a, err := attrsOf[ScanAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := s.Arith(0)
	if err != nil {
		return nil, err
	}
	if t.DType == tensor.Bool {
		return nil, s.Illegal("operand %s is bool, wanted a number", s.operand(0))
	}
	if _, err := s.axis(a.Axis, len(t.Shape)); err != nil {
		return nil, err
	}
	return t, nil
}
