package schedule

import "github.com/texel-ml/texel/tir"

// Primitives returns the table of the built-in primitives. Each has a file of its name, which says what it does;
// docs/schedules/README.md says who uses it.
func Primitives() []Primitive {
	return []Primitive{
		// queries
		{"get_block", `"name"`, func(c *Call) { c.Give(c.S.Block(c.Text(0))) }},
		{"get_loops", "block", func(c *Call) { c.Give(c.S.Loops(c.Block(0))) }},
		{"get_producers", "block", func(c *Call) { c.Give(c.S.Producers(c.Block(0))) }},
		{"get_consumers", "block", func(c *Call) { c.Give(c.S.Consumers(c.Block(0))) }},
		{"get_child_blocks", "block or loop", getChildBlocks},
		{"get_output_blocks", "", func(c *Call) { c.Give(c.S.OutputBlocks()) }},
		// sampling
		{"sample_perfect_tile", "loop, factors, most", func(c *Call) { c.Give(c.S.SamplePerfectTile(c.Loop(0), c.Number(1), c.Number(2))) }},
		{"sample_partitioned_tile", "loop, factors, from, multiple", func(c *Call) {
			c.Give(c.S.SamplePartitionedTile(c.Loop(0), c.Number(1), c.Number(2), c.Number(3)))
		}},
		{"sample_categorical", "[candidates], [weights]", func(c *Call) { c.Give(c.S.SampleCategorical(c.Numbers(0), c.Floats(1))) }},
		{"sample_compute_location", "block", func(c *Call) { c.Give(c.S.SampleComputeLocation(c.Block(0))) }},
		// loops
		{"split", `loop, [factors], "tail"?`, split},
		{"fuse", "loops…", func(c *Call) { c.Give(c.S.Fuse(c.Loops(0)...)) }},
		{"reorder", "loops…", func(c *Call) { c.S.Reorder(c.Loops(0)...) }},
		{"merge", "loops…", func(c *Call) { c.Give(c.S.Merge(c.Loops(0)...)) }},
		{"tile", "loop, loop, [factor, factor]", func(c *Call) { c.Give(c.S.TileBy(c.Loop(0), c.Loop(1), c.Ints(2)...)) }},
		{"loop_partition", "loop, [extents]", func(c *Call) { c.Give(c.S.LoopPartitionBy(c.Loop(0), c.Ints(1)...)) }},
		{"add_unit_loop", "block", func(c *Call) { c.Give(c.S.AddUnitLoop(c.Block(0))) }},
		// kinds of loop
		{"parallel", "loop", func(c *Call) { c.S.Parallel(c.Loop(0)) }},
		{"vectorize", "loop", func(c *Call) { c.S.Vectorize(c.Loop(0)) }},
		{"unroll", "loop", func(c *Call) { c.S.Unroll(c.Loop(0)) }},
		{"bind", `loop, "axis"`, func(c *Call) { c.S.Bind(c.Loop(0), c.Text(1)) }},
		{"annotate", `loop or block, "key", value`, annotateCall},
		{"unannotate", `loop or block, "key"`, unannotateCall},
		// caching
		{"cache_read", `block, operand, "scope", [blocks]?, "region"?`, func(c *Call) {
			c.Give(c.S.CacheReadWith(c.Block(0), c.Number(1), tir.Scope(c.Text(2)), caching(c, 3)))
		}},
		{"cache_write", `block, buffer?, "scope", [blocks]?, "region"?`, cacheWriteCall},
		{"cache_inplace", `block, buffer, "scope"`, func(c *Call) {
			fill, back := c.S.CacheInplace(c.Block(0), c.Number(1), tir.Scope(c.Text(2)))
			c.Give(fill, back)
		}},
		{"reindex", `block, "read" or "write", buffer`, func(c *Call) { c.Give(c.S.Reindex(c.Block(0), Side(c.Text(1)), c.Number(2))) }},
		{"read_at", `loop, block, operand, "scope"`, func(c *Call) { c.Give(c.S.ReadAt(c.Loop(0), c.Block(1), c.Number(2), tir.Scope(c.Text(3)))) }},
		{"write_at", `loop, block, buffer, "scope"`, func(c *Call) { c.Give(c.S.WriteAt(c.Loop(0), c.Block(1), c.Number(2), tir.Scope(c.Text(3)))) }},
		// placement
		{"compute_at", "block, loop, place?", computeAt},
		{"reverse_compute_at", "block, loop, place?", reverseComputeAt},
		{"compute_inline", "block", func(c *Call) { c.S.ComputeInline(c.Block(0)) }},
		{"reverse_compute_inline", "block", func(c *Call) { c.S.ReverseComputeInline(c.Block(0)) }},
		// reductions
		{"rfactor", "loop, axis", func(c *Call) { c.Give(c.S.RFactor(c.Loop(0), c.Number(1))) }},
		{"decompose_reduction", "block, loop", func(c *Call) { c.Give(c.S.DecomposeReduction(c.Block(0), c.Loop(1))) }},
		// blocks and tensor instructions
		{"blockize", "loop", func(c *Call) { c.Give(c.S.Blockize(c.Loop(0))) }},
		{"tensorize", `block or loop, "instruction"`, tensorize},
		// padding
		{"pad_einsum", "block, [multiples]", func(c *Call) { c.S.PadEinsum(c.Block(0), c.Numbers(1)...) }},
		{"decompose_padding", "block, loop", func(c *Call) { c.Give(c.S.DecomposePadding(c.Block(0), c.Loop(1))) }},
		// storage and layout
		{"set_scope", `block, buffer?, "scope"`, setScopeCall},
		{"set_axis_separator", `block, "read" or "write", buffer, [axes]`, func(c *Call) {
			c.S.SetAxisSeparator(c.Block(0), Side(c.Text(1)), c.Number(2), c.Numbers(3)...)
		}},
		{"storage_align", `block, buffer, axis, factor, offset`, func(c *Call) {
			c.S.StorageAlign(c.Block(0), c.Number(1), c.Number(2), c.Number(3), c.Number(4))
		}},
		{"double_buffer", `block`, func(c *Call) { c.S.DoubleBuffer(c.Block(0)) }},
		{"rolling_buffer", `block, buffer`, func(c *Call) { c.S.RollingBuffer(c.Block(0), c.Number(1)) }},
		{"transform_layout", `block, "read" or "write", buffer, "i, j -> …", padding?`, transformLayoutCall},
		{"transform_block_layout", `block, "i, j -> …"`, func(c *Call) { c.Give(c.S.TransformBlockLayout(c.Block(0), c.Text(1))) }},
		{"unsafe_set_dtype", `block, n, "dtype"`, unsafeSetDType},
	}
}

// builtin is the table by name.
var builtin = func() map[string]*Primitive {
	rows := map[string]*Primitive{}
	for _, p := range Primitives() {
		rows[p.Name] = &p
	}
	return rows
}()
