package relaytext

import (
	"github.com/texel-ml/texel/relay"
)

// translation is how an operator of Relay is written with operators of our table, where it is not the operator of its
// name with the same attributes.
type translation struct {
	args  int                      // how many operands it has; -1: what build takes
	when  func(c *call) bool       // nil: always; else the calls that are translated, and the others are the table's
	build func(c *call) relay.Expr // nil has errors
}

// translations has a row for each operator that is translated.
var translations = map[string]translation{
	// elementwise
	"cast_like":       {2, nil, func(c *call) relay.Expr { return c.cast(c.args[0], c.tensorOf(1).DType) }},
	"fast_erf":        {1, nil, alias("erf")},
	"fast_exp":        {1, nil, alias("exp")},
	"fast_tanh":       {1, nil, alias("tanh")},
	"floor_divide":    {2, nil, (*call).floorDivide},
	"full_like":       {2, nil, func(c *call) relay.Expr { return c.full(c.tensorOf(0), c.args[1]) }},
	"isfinite":        {1, nil, (*call).isFinite},
	"log10":           {1, nil, logarithm(10)},
	"log2":            {1, nil, logarithm(2)},
	"nn.fast_softmax": {1, nil, alias("nn.softmax")},
	"ones_like":       {1, nil, func(c *call) relay.Expr { return c.filled("ones", c.tensorOf(0)) }},
	"trunc_divide":    {2, nil, (*call).truncDivide},
	"trunc_mod":       {2, nil, alias("fmod")},
	"where":           {3, (*call).numericCondition, (*call).where},
	"zeros_like":      {1, nil, func(c *call) relay.Expr { return c.filled("zeros", c.tensorOf(0)) }},
	"nn.dropout":      {1, nil, (*call).dropout},
	"variance":        {2, nil, (*call).variance},

	// where things are computed, and how they are grouped
	"annotation.checkpoint":     {1, nil, (*call).identity},
	"annotation.compiler_begin": {1, nil, (*call).identity},
	"annotation.compiler_end":   {1, nil, (*call).identity},
	"annotation.stop_fusion":    {1, nil, (*call).identity},
	"device_copy":               {1, nil, (*call).identity},
	"on_device":                 {1, nil, (*call).identity},

	// what is no operator in our graph, but written as one
	relay.LoopName: {5, nil, (*call).loop},

	// layers
	"nn.adaptive_avg_pool1d":            {1, nil, adaptivePool("avg", "NCW")},
	"nn.adaptive_avg_pool2d":            {1, nil, adaptivePool("avg", "NCHW")},
	"nn.adaptive_avg_pool3d":            {1, nil, adaptivePool("avg", "NCDHW")},
	"nn.adaptive_max_pool1d":            {1, nil, adaptivePool("max", "NCW")},
	"nn.adaptive_max_pool2d":            {1, nil, adaptivePool("max", "NCHW")},
	"nn.adaptive_max_pool3d":            {1, nil, adaptivePool("max", "NCDHW")},
	"nn.avg_pool1d":                     {1, nil, pool("nn.avg_pool1d", 1)},
	"nn.avg_pool2d":                     {1, nil, pool("nn.avg_pool2d", 2)},
	"nn.avg_pool3d":                     {1, nil, pool("nn.avg_pool3d", 3)},
	"nn.batch_flatten":                  {1, nil, (*call).batchFlatten},
	"nn.batch_to_space_nd":              {1, nil, (*call).batchToSpace},
	"nn.contrib_conv2d_NCHWc":           {2, nil, convolution("nn.conv2d", 2)},
	"nn.contrib_depthwise_conv2d_NCHWc": {2, nil, convolution("nn.conv2d", 2)},
	"nn.conv1d":                         {2, nil, convolution("nn.conv1d", 1)},
	"nn.conv1d_transpose":               {2, nil, transposedConvolution("nn.conv1d_transpose", 1)},
	"nn.conv2d":                         {2, nil, convolution("nn.conv2d", 2)},
	"nn.conv2d_transpose":               {2, nil, transposedConvolution("nn.conv2d_transpose", 2)},
	"nn.conv3d":                         {2, nil, convolution("nn.conv3d", 3)},
	"nn.conv3d_transpose":               {2, nil, transposedConvolution("nn.conv3d_transpose", 3)},
	"nn.matmul":                         {2, nil, (*call).matmul},
	"nn.max_pool1d":                     {1, nil, pool("nn.max_pool1d", 1)},
	"nn.max_pool2d":                     {1, nil, pool("nn.max_pool2d", 2)},
	"nn.max_pool3d":                     {1, nil, pool("nn.max_pool3d", 3)},
	"nn.mirror_pad":                     {1, nil, (*call).mirrorPad},
	"nn.pad":                            {-1, nil, (*call).pad},
	"nn.space_to_batch_nd":              {1, nil, (*call).spaceToBatch},

	// pictures
	"image.grid_sample":                    {2, nil, (*call).gridSample},
	"image.resize":                         {1, (*call).isOldResize, (*call).oldResize},
	"image.resize1d":                       {1, nil, resize("NCW")},
	"image.resize2d":                       {1, nil, (*call).resize2D},
	"image.resize3d":                       {1, nil, resize("NCDHW")},
	"nn.upsampling":                        {1, nil, (*call).upsampling},
	"nn.upsampling3d":                      {1, nil, (*call).upsampling3D},
	"vision.all_class_non_max_suppression": {5, nil, (*call).allClassNonMaxSuppression},

	// shapes and places
	"arange":       {3, func(c *call) bool { return len(c.args) > 0 }, (*call).arange},
	"broadcast_to": {1, nil, (*call).broadcastTo},
	"broadcast_to_like": {2, nil, func(c *call) relay.Expr {
		return c.op("broadcast_to", &relay.ShapeAttrs{Shape: c.tensorOf(1).Shape}, c.args[0])
	}},
	"contrib_reverse_reshape": {1, nil, func(c *call) relay.Expr { return c.specialReshape(true) }},
	"cumprod":                 {1, nil, scan("cumprod")},
	"cumsum":                  {1, nil, scan("cumsum")},
	"full":                    {1, nil, (*call).fullOf},
	"meshgrid":                {1, nil, (*call).meshgrid},
	"ndarray_size":            {1, nil, (*call).size},
	"repeat":                  {1, (*call).noAxis, (*call).repeatFlat},
	"reshape":                 {1, nil, func(c *call) relay.Expr { return c.specialReshape(false) }},
	"reshape_like":            {2, nil, (*call).reshapeLike},
	"scatter":                 {3, nil, scatter("update")},
	"scatter_add":             {3, nil, scatter("add")},
	"shape_of":                {1, nil, (*call).shapeOf},
	"slice_like":              {2, nil, (*call).sliceLike},
	"split":                   {1, nil, (*call).split},
	"strided_slice":           {1, nil, (*call).stridedSlice},
	"take":                    {2, nil, (*call).take},
	"topk":                    {1, nil, (*call).topK},
	"trilu":                   {2, func(c *call) bool { return len(c.args) > 1 }, (*call).trilu},

	// quantized
	"qnn.abs":              {5, nil, quantizedUnary("abs")},
	"qnn.add":              {8, nil, quantizedBinary("add")},
	"qnn.avg_pool2d":       {5, nil, (*call).quantizedPool},
	"qnn.concatenate":      {5, nil, (*call).quantizedConcatenate},
	"qnn.conv2d":           {6, nil, quantizedProduct("nn.conv2d")},
	"qnn.conv2d_transpose": {6, nil, quantizedProduct("nn.conv2d_transpose")},
	"qnn.dense":            {6, nil, quantizedProduct("nn.dense")},
	"qnn.dequantize":       {3, nil, (*call).dequantize},
	"qnn.erf":              {5, nil, quantizedUnary("erf")},
	"qnn.exp":              {5, nil, quantizedUnary("exp")},
	"qnn.hardswish":        {5, nil, quantizedUnary("nn.hard_swish")},
	"qnn.leaky_relu":       {5, nil, quantizedUnary("nn.leaky_relu")},
	"qnn.log":              {5, nil, quantizedUnary("log")},
	"qnn.mul":              {8, nil, quantizedBinary("multiply")},
	"qnn.quantize":         {3, nil, (*call).quantize},
	"qnn.requantize":       {5, nil, (*call).requantize},
	"qnn.rsqrt":            {5, nil, quantizedUnary("rsqrt")},
	"qnn.sigmoid":          {5, nil, quantizedUnary("sigmoid")},
	"qnn.softmax":          {5, nil, quantizedUnary("nn.softmax")},
	"qnn.sqrt":             {5, nil, quantizedUnary("sqrt")},
	"qnn.subtract":         {8, nil, quantizedBinary("subtract")},
	"qnn.tanh":             {5, nil, quantizedUnary("tanh")},
}

// alias applies the operator of our table that has another name.
func alias(name string) func(c *call) relay.Expr {
	return func(c *call) relay.Expr { return c.named(name) }
}

// named applies the operator of our table that is named so, with the attributes of the text.
func (c *call) named(name string) relay.Expr {
	if op := c.b.r.ops.Lookup(name); op != nil {
		return c.plain(op)
	}
	return c.op(name, nil) // the error says that it is missing
}

// identity leaves its operand as it is; what its attributes say is not ours to keep.
func (c *call) identity() relay.Expr {
	for i := range c.used {
		c.used[i] = true
	}
	return c.args[0]
}
