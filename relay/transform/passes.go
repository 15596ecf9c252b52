package transform

import (
	"context"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
)

// Passes lists the graph passes in order. Each stands where its reason says; only infer-type and fuse-ops are needed for
// a module to be lowered, the others make it faster.
func Passes() []Pass {
	return []Pass{
		{"infer-type", "checks the module and gives every node its type; everything behind relies on it", InferType},
		{"simplify-inference", "batch norm becomes a factor and a bias for each channel, which later passes fold; first, so that no pass needs to know batch norm", SimplifyInference},
		{"remove-identities", "copies, casts to the same type, reshapes of reshapes and slices of everything would hide the patterns behind", RemoveIdentities},
		{"fold-constants", "what is computed from constants is a constant; before the patterns, which look for constants", FoldConstants},
		{"canonicalize", "what can be written in several ways is written in one, so that the patterns behind need not know the others", Canonicalize},
		{"simplify-expr", "operators that others make needless go, and with them the uses that would hide a pattern", SimplifyExpr},
		{"simplify-moves", "movements of elements join, and go where the reader moves by itself", SimplifyMoves},
		{"fast-math", "with --fast-math, what rounds differently and is faster; behind the exact rules, which leave less to do", FastMath},
		{"recognize-activations", "exporters write hard-swish, GELU and others as several operators; as one they are an epilogue", RecognizeActivations},
		{"recognize-embedding", "rows of a table that a product with zeros and one 1 chooses are taken; behind the activations, which the table takes in", RecognizeEmbedding},
		{"recognize-softmax", "exponentials over their sum need one walk over the data, and the maximum subtracted", RecognizeSoftmax},
		{"recognize-attention", "the scores of softmax(Q·Kᵀ)·V need not exist as a whole; behind softmax, which it contains", RecognizeAttention},
		{"recognize-layer-norm", "mean, variance and scale as one operator need one walk over the data", RecognizeLayerNorm},
		{"recognize-instance-norm", "likewise, over the places of a channel", RecognizeInstanceNorm},
		{"recognize-group-norm", "groups of channels are taken apart and put together again for it; behind the norms that it consists of", RecognizeGroupNorm},
		{"recognize-rms-norm", "the root of the mean square; behind layer norm, which contains it", RecognizeRmsNorm},
		{"recognize-channel-shuffle", "reshape, transpose, reshape is an index map that its reader takes for nothing", RecognizeChannelShuffle},
		{"recognize-depth-to-space", "likewise reshape, transpose, reshape with blocks of rows and columns", RecognizeDepthToSpace},
		{"recognize-non-max-suppression", "a detector's boxes are chosen one by one in hundreds of operators; as one, there is one loop", RecognizeNonMaxSuppression},
		{"flatten-atrous-conv", "exporters write dilation as space to batch, convolution, batch to space; as one, nothing is moved", FlattenAtrousConv},
		{"combine-constants", "factors and biases that follow each other become one, in the form in which fold-scale-axis looks for them", CombineConstants},
		{"fold-scale-axis", "factors of channels disappear in the weights of the convolution before or behind", FoldScaleAxis},
		{"fold-pad", "a convolution pads by itself", FoldPad},
		{"slice-splits", "a slice is an index map of its reader, a part of a split is a copy", SliceSplits},
		{"recognize-dense", "a product with a constant matrix has a weight, which can be packed", RecognizeDense},
		{"recognize-squeeze-excite", "pool, two dense layers and a gate as one operator; behind the activations and biases that it consists of", RecognizeSqueezeExcite},
		{"combine-parallel", "convolutions and dense layers of one operand become one where that is cheaper; behind the folds, which make their biases", CombineParallel},
		{"eliminate-common-subexpressions", "equal nodes become one; behind the rewrites, which make equal nodes", EliminateCommonSubexpressions},
		{"assign", "algorithms, layouts and half precision are chosen for the whole graph at once, with what copies cost; the last pass that changes operators", Assign},
		{"remove-copies", "a copy to a layout may cancel with moves of the model", RemoveCopies},
		{"pack-weights", "copies of weights to the layouts chosen are made now and not when the model runs", PackWeights},
		{"split-args", "a kernel takes so many buffers, and a join of more is several; behind the passes that make joins", SplitArgs},
		{"fuse-ops", "groups operators into the functions that become kernels", FuseOps},
		{"fuse-blocks", "convolutions whose tensors between them take the most memory become one function; behind fuse-ops, whose functions it joins", FuseBlocks},
	}
}

// Run applies passes to m in order, from o.Start to o.Stop where these are set, each to main and to the regions in it: the
// branches and the bodies of loops. With o.Verify the module is checked
// after each pass; o.Observe sees it.
func Run(ctx context.Context, m *relay.Module, passes []Pass, o *Options) (*relay.Module, error) {
	started := o.Start == ""
	for _, name := range []string{o.Start, o.Stop} {
		if name != "" && !named(passes, name) {
			return nil, diag.Invalid("transform", name, "is no graph pass")
		}
	}
	for i, p := range passes {
		started = started || p.Name == o.Start
		if !started {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next, err := everywhere(ctx, p, m, o)
		if err != nil {
			return nil, inPass(p, err)
		}
		m = next
		if o.Verify {
			if err := relay.VerifyOps(m, o.Ops); err != nil {
				return nil, diag.Internal(p.Name, "", "made an illegal module").By(err)
			}
		}
		if o.Observe != nil {
			if err := o.Observe(i, p, m); err != nil {
				return nil, err
			}
		}
		if p.Name == o.Stop {
			break
		}
	}
	return m, nil
}

func named(passes []Pass, name string) bool {
	for _, p := range passes {
		if p.Name == name {
			return true
		}
	}
	return false
}

// inPass makes an error of type inference inside a rewrite an internal one that names the pass: a pass must not make
// illegal calls.
func inPass(p Pass, err error) error {
	e, ok := err.(*diag.Error)
	if !ok || e.Step == p.Name {
		return err
	}
	if e.Step == "infer-type" && p.Name != "infer-type" {
		return diag.Internal(p.Name, e.Node, "made an illegal call").By(err)
	}
	return err
}
