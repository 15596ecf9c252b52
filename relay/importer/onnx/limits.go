package onnx

// known names, for each operator, the operands that must be known to compile: constants, what is computed from constants
// and shapes, or inputs that are bound to a value. An attribute of older versions is always known.
var known = map[rowKey]string{
	{"", "AffineGrid"}: "size", {"", "BlackmanWindow"}: "size", {"", "CenterCropPad"}: "shape", {"", "Col2Im"}: "image_shape, block_shape",
	{"", "ConstantOfShape"}: "input", {"", "DFT"}: "dft_length, axis", {"", "Dropout"}: "training_mode; ratio in training mode", {"", "Expand"}: "shape",
	{"", "HammingWindow"}: "size", {"", "HannWindow"}: "size", {"", "MaxUnpool"}: "output_shape", {"", "MelWeightMatrix"}: "all",
	{"", "OneHot"}: "depth", {"", "Pad"}: "pads, axes",
	{"", "Range"}: "all", {"", "ReduceL1"}: "axes", {"", "ReduceL2"}: "axes", {"", "ReduceLogSum"}: "axes", {"", "ReduceLogSumExp"}: "axes",
	{"", "ReduceMax"}: "axes", {"", "ReduceMean"}: "axes", {"", "ReduceMin"}: "axes", {"", "ReduceProd"}: "axes", {"", "ReduceSum"}: "axes",
	{"", "ReduceSumSquare"}: "axes", {"", "Reshape"}: "shape", {"", "Resize"}: "roi, scales, sizes", {"", "STFT"}: "frame_step, frame_length",
	{"", "Slice"}: "axes, steps; starts and ends of several axes", {"", "Split"}: "split", {"", "Squeeze"}: "axes", {"", "Tile"}: "repeats", {"", "Unsqueeze"}: "axes",
	{"", "Upsample"}: "scales",

	{microsoftDomain, "ExpandDims"}: "axis", {microsoftDomain, "Pad"}: "pads",
}

// limits says what of an operator is not done.
var limits = map[rowKey]string{
	{"", "AveragePool"}: "1 to 3 spatial axes", {"", "BatchNormalization"}: "no training mode before opset 7", {"", "Col2Im"}: "1 to 3 spatial axes",
	{"", "Compress"}: "the result has room for all; its extent is known when the model runs, unless the condition is known",
	{"", "Constant"}: "no strings", {"", "Conv"}: "1 to 3 spatial axes", {"", "ConvInteger"}: "1 to 3 spatial axes", {"", "ConvTranspose"}: "1 to 3 spatial axes",
	{"", "DeformConv"}: "2 spatial axes", {"", "Det"}: "up to 4 rows", {"", "Dropout"}: "inference: in training mode the mask is a random draw",
	{"", "LpPool"}:                       "1 to 3 spatial axes",
	{"", "MaxPool"}:                      "1 to 3 spatial axes; 2 with the places of the maxima",
	{"", "NonMaxSuppression"}:            "the result has room for max_output_boxes_per_class where that is known, else for all boxes",
	{"", "NonZero"}:                      "the result has room for all; its extent is known when the model runs",
	{"", "QLinearConv"}:                  "1 to 3 spatial axes",
	{"", "RoiAlign"}:                     "sampling_ratio is not 0",
	{"", "Scan"}:                         "in opset 8 without lengths of sequences",
	{"", "SimplifiedLayerNormalization"}: "one result",
	{"", "TopK"}:                         "of a k that is known when the model runs the result has room for all",
	{"", "Unique"}:                       "the result has room for all; its extent is known when the model runs, unless the operand is known",

	{microsoftDomain, "Attention"}: "masks of keys (B, T), (B, S, T) and lengths (B); without do_rotary, past_present_share_buffer",
	{microsoftDomain, "FusedConv"}: "1 to 3 spatial axes", {microsoftDomain, "MatMulIntegerToFloat"}: "a scalar scale of A",
	{microsoftDomain, "MatMulNBits"}:                      "2, 4 and 8 bits; without g_idx, weight_prepacked",
	{microsoftDomain, "MultiHeadAttention"}:               "masks as in Attention; queries, keys and values not packed; no shared buffer, one result of scores less",
	{microsoftDomain, "RotaryEmbedding"}:                  "without is_packed_batching, scale",
	{microsoftDomain, "SkipSimplifiedLayerNormalization"}: "results 0 and 3",
	{microsoftDomain, "Unique"}:                           "as Unique",
}
