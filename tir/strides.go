package tir

// StorageAlign is an attribute of a block, and after blocks are lowered of the allocation of what it writes. Its value is
// four numbers, "buffer axis factor offset": the stride of the axis of that buffer, by its number among those that the
// block writes, is offset more than a multiple of factor. A pass that makes the buffer smaller keeps that.
const StorageAlign = "storage_align"

// RollingBuffer is an attribute of a block. Its value is an axis of the buffer that the block writes: what is written lies
// at its index modulo the extent of that axis, and stays for later iterations of the loops that drive the block's ordered
// variable.
const RollingBuffer = "rolling_buffer"

// AlignedStrides returns the strides of a row-major buffer in which the stride of axis is the least that is offset more
// than a multiple of factor.
func AlignedStrides(shape []int, axis, factor, offset int) []int {
	strides := make([]int, len(shape))
	next := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if i == axis {
			next += ((offset-next)%factor + factor) % factor
		}
		strides[i] = next
		next *= max(shape[i], 1)
	}
	return strides
}
