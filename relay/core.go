package relay

// Core returns the operators of the project. Names, operands and attributes are Apache TVM Relay's where Relay has
// the operator. The meaning of an operator is what its reference evaluation computes:
//
//   - Floats are evaluated in float64 and rounded to their element type only by cast, by a quantizing operator, and
//     where the function has a step: comparisons, floor and its kin, sorting, argmax and a cast to integers look at
//     the rounded operand, since they would otherwise tell 2.9999999999 from 3 where no device can.
//   - Integers are evaluated modulo 2^width in the operator's element type; division truncates toward zero.
//   - NaN propagates through arithmetic, maximum, minimum, clip and relu; comparisons with NaN are false (not_equal
//     is true).
//   - A negative index counts from the end of its axis. An index that is still outside is clamped, or wrapped where
//     the operator has that mode: no operator reads outside its operand.
//   - Storage types (float8, float4 and integers below eight bits) are only moved, cast and dequantized.
func Core() *Table {
	return NewTable(
		convOps(),
		matmulOps(),
		poolOps(),
		unaryOps(),
		activationOps(),
		binaryOps(),
		reduceOps(),
		normOps(),
		rmsNormOps(),
		attentionOps(),
		shapeOps(),
		sliceOps(),
		createOps(),
		indexOps(),
		imageOps(),
		visionOps(),
		sortOps(),
		scanOps(),
		qnnOps(),
	)
}
