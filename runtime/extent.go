package runtime

import (
	"encoding/binary"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
)

// checkExtents refuses outputs whose rows cannot be moved byte by byte.
func checkExtents(p *artifact.Plan) error {
	for _, out := range p.Outputs {
		if len(out.Extent) > 0 && out.DType.Bits()%8 != 0 {
			return diag.Unsupported("runtime", out.Name, "output of %v with a true extent", out.DType)
		}
	}
	return nil
}

// trim reads the true extents of an output and moves its rows together, in place: afterwards the start of the data
// is the dense result of the true shape.
func (in *Instance) trim(p *port) error {
	copy(p.shape, p.info.Shape)
	for k, e := range p.info.Extent {
		raw, err := in.runner.Read(p.extents[k])
		if err != nil {
			return err
		}
		n := int64(binary.LittleEndian.Uint64(raw))
		if n < 0 || n > int64(p.info.Shape[e.Axis]) {
			return diag.Internal("runtime", p.info.Name, "extent of axis %d is %d, wanted 0 to %d", e.Axis, n, p.info.Shape[e.Axis])
		}
		p.shape[e.Axis] = int(n)
	}
	// Rows are moved axis by axis, the innermost first: after axis a the data is dense in the true extents of the
	// axes from a on and in the declared ones of those before.
	row := p.info.DType.Bits() / 8 // bytes of one step along axis a
	for a := len(p.shape) - 1; a >= 0; a-- {
		declared, have := p.info.Shape[a], p.shape[a]
		if have != declared {
			outer := 1
			for _, d := range p.info.Shape[:a] {
				outer *= d
			}
			for o := range outer {
				copy(p.data[o*have*row:(o+1)*have*row], p.data[o*declared*row:])
			}
		}
		row *= have
	}
	return nil
}
