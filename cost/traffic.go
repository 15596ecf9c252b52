package cost

import (
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// Bytes that one core reads or writes a cycle, in order, where the data lies in its second cache, in the last one, and in
// memory.
const (
	secondBytesPerCycle = 32
	lastBytesPerCycle   = 16
	memoryBytesPerCycle = 6
)

// Stream returns the cycles of reading or writing n bytes in order, when of bytes are used until they are used again.
func Stream(n, of int64, t *target.Target) float64 {
	switch {
	case of <= t.L2/2:
		return float64(n) / secondBytesPerCycle
	case of <= t.L3:
		return float64(n) / lastBytesPerCycle
	}
	return float64(n) / memoryBytesPerCycle
}

// Convert returns the cycles of converting n elements of a half precision type to float32 or back.
func Convert(n int64, d tensor.DType, t *target.Target) float64 {
	return float64(n) / float64(t.Lanes(32)) * conversion(d, t)
}

// conversion is what a core takes to widen one vector: an instruction for float16, a move and a shift for bfloat16.
func conversion(d tensor.DType, t *target.Target) float64 {
	if d == tensor.BFloat16 {
		return 1
	}
	return 1
}
