package target

import "github.com/texel-ml/texel/tensor"

// Stores reports whether kernels may keep values of float32 in type d: float16 where the target converts it, bfloat16
// anywhere, as it is the upper half of float32. Other types are not converted.
func (t *Target) Stores(d tensor.DType) bool {
	switch {
	case d == tensor.BFloat16:
		return true
	case d != tensor.Float16:
		return false
	case t.GPU != nil:
		return t.GPU.HalfStorage
	}
	return t.Arch != "x86-64" || t.Has("f16c")
}
