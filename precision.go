package texel

import (
	"regexp"

	"github.com/texel-ml/texel/diag"
	graphpasses "github.com/texel-ml/texel/relay/transform"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// Precision says in which type the values and weights of a model that are float32 are kept in memory. They are computed in
// float32 whatever it is, and inputs and outputs keep their types.
type Precision uint8

// The precisions. Which operators keep float32 in any case is a table of package relay/transform.
const (
	Float32  Precision = iota // as the model has them
	Float16                   // in float16 wherever an operator allows it
	BFloat16                  // in bfloat16 wherever an operator allows it
	Mixed                     // in float16, or bfloat16 on a target that does not convert it, where that is faster by the cost model
)

var precisionNames = []string{"float32", "float16", "bfloat16", "mixed"}

// String returns the precision's name on the command line.
func (p Precision) String() string { return precisionNames[p] }

// ParsePrecision reads float32, float16, bfloat16 or mixed.
func ParsePrecision(s string) (Precision, error) {
	for i, name := range precisionNames {
		if s == name {
			return Precision(i), nil
		}
	}
	return 0, diag.Invalid("options", "precision", "wanted float32, float16, bfloat16 or mixed, found %q", s)
}

// checkPrecision refuses options that do not go together.
func (o *Options) checkPrecision() error {
	if o.Precision > Mixed {
		return diag.Invalid("options", "precision", "wanted Float32, Float16, BFloat16 or Mixed, found %d", o.Precision)
	}
	if n := o.OptLevel.Number(); n < 3 && o.Precision != Float32 {
		return diag.Invalid("options", "precision", "%v is chosen by the pass assign, which level %d leaves out", o.Precision, n)
	}
	if o.KeepFloat32 != nil && o.Precision == Float32 {
		return diag.Invalid("options", "keep-float32", "everything is kept in float32 already")
	}
	return nil
}

// storage is what the graph passes make of the precision for a target.
func (o *Options) storage(t *target.Target, notes *diag.Notes) graphpasses.Precision {
	p := graphpasses.Precision{Store: tensor.Float16, Keep: o.KeepFloat32}
	switch o.Precision {
	case Float32:
		return graphpasses.Precision{}
	case BFloat16:
		p.Store = tensor.BFloat16
	case Mixed:
		p.Mixed = true
		if !t.Stores(p.Store) {
			p.Store = tensor.BFloat16
			notes.Add(diag.Fallback, "options", "precision", "mixed is float32 and bfloat16: %s does not convert float16", t)
		}
	}
	return p
}

// KeepPattern compiles a pattern of Options.KeepFloat32.
func KeepPattern(s string) (*regexp.Regexp, error) {
	r, err := regexp.Compile(s)
	if err != nil {
		return nil, diag.Invalid("options", "keep-float32", "%q is no regular expression", s).By(err)
	}
	return r, nil
}
