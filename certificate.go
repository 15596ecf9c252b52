package texel

import (
	"encoding/json"
	"math"

	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// Certificate is what the compiler promises of each layer's error before anything has run: a function of the model
// alone. What a device really does is measured by Check.
type Certificate struct {
	Version  string               `json:"version"` // of the compiler
	Model    string               `json:"model"`   // digest
	Rule     string               `json:"rule"`    // how Bound follows from the other fields
	Variants []CertificateVariant `json:"variants"`
}

// CertificateVariant holds the layers for one target.
type CertificateVariant struct {
	Target string             `json:"target"`
	Layers []CertificateLayer `json:"layers"`
}

// CertificateLayer is the bound of one layer.
type CertificateLayer struct {
	Name      string       `json:"name"`
	Nodes     []string     `json:"nodes,omitempty"`
	DType     tensor.DType `json:"dtype"`
	Reduction int          `json:"reduction"`           // K: the longest sum
	Steps     int          `json:"steps"`               // s: other roundings
	Gain      float64      `json:"gain"`                // the largest sum of magnitudes of one output's weights, at least 1
	Bound     float64      `json:"bound"`               // absolute error for operands of magnitude up to 1
	Unbounded bool         `json:"unbounded,omitempty"` // a weight is infinite or NaN: nothing is promised, gain and bound are 0
}

const certificateRule = "bound = gain * u(dtype) * (4*(steps+1) + 2*sqrt(reduction)), for operands of magnitude up to 1; u is half the distance of 1 to the next number"

// certificate returns the bounds of every layer of every variant.
func (c *Compiled) certificate() *Certificate {
	cert := &Certificate{Version: Version, Model: c.header.Model.Digest, Rule: certificateRule}
	for _, v := range c.variants {
		cv := CertificateVariant{Target: v.target.String()}
		for _, l := range v.layers {
			cv.Layers = append(cv.Layers, l.certify())
		}
		cert.Variants = append(cert.Variants, cv)
	}
	return cert
}

func (l *layer) certify() CertificateLayer {
	w := l.site.work()
	c := CertificateLayer{Name: l.name, Nodes: nodesOf(l.site.fn), Reduction: w.reduction, Steps: w.steps, Gain: 1}
	if types, err := flatten(l.site.fn.Body.Type()); err == nil && len(types) > 0 {
		c.DType = types[0].DType
	}
	weights := map[relay.Expr]*relay.Call{} // parameters that are the second operand of a product
	for e := range relay.PostOrder(l.site.fn, false) {
		if call, ok := e.(*relay.Call); ok && call.Op != nil && call.Op.Class == relay.OutFusable && len(call.Args) > 1 {
			weights[call.Args[1]] = call
		}
	}
	for i, p := range l.site.fn.Params {
		if k, ok := l.site.args[i].(*relay.Constant); ok && weights[p] != nil && k.Value.DType.IsFloat() {
			c.Gain = max(c.Gain, gainOf(weights[p], tensor.Widen(k.Value)))
		}
	}
	c.Bound = c.Gain * numtest.Relative(c.DType, w.reduction, w.steps)
	if math.IsNaN(c.Bound) || math.IsInf(c.Bound, 0) {
		c.Gain, c.Bound, c.Unbounded = 0, 0, true
	}
	return c
}

// encode prints one layer a line.
func (c *Certificate) encode() ([]byte, error) {
	head, err := json.Marshal(struct {
		Version string `json:"version"`
		Model   string `json:"model"`
		Rule    string `json:"rule"`
	}{c.Version, c.Model, c.Rule})
	if err != nil {
		return nil, err
	}
	out := append(head[:len(head)-1], `,"variants":[`...)
	for i, v := range c.Variants {
		if i > 0 {
			out = append(out, ',')
		}
		target, err := json.Marshal(v.Target)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, "\n{\"target\":"...), target...), `,"layers":[`...)
		for j, l := range v.Layers {
			if j > 0 {
				out = append(out, ',')
			}
			line, err := json.Marshal(l)
			if err != nil {
				return nil, err
			}
			out = append(append(out, '\n'), line...)
		}
		out = append(out, "]}"...)
	}
	return append(out, "]}\n"...), nil
}
