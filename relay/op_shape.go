package relay

import "github.com/texel-ml/texel/tensor"

// ReshapeAttrs are the attributes of reshape.
type ReshapeAttrs struct {
	NewShape []int `relay:"newshape"` // every extent known
}

// ExpandDimsAttrs are the attributes of expand_dims.
type ExpandDimsAttrs struct {
	Axis       int `relay:"axis"` // where the new axes begin, in the operand; negative: from the end, -1 behind the last
	NumNewaxis int `relay:"num_newaxis"`
}

// SqueezeAttrs are the attributes of squeeze.
type SqueezeAttrs struct {
	Axis []int `relay:"axis"` // nil: every axis of extent 1
}

// TransposeAttrs are the attributes of transpose.
type TransposeAttrs struct {
	Axes []int `relay:"axes"` // nil: reversed
}

// ShapeAttrs are the attributes of broadcast_to.
type ShapeAttrs struct {
	Shape []int `relay:"shape"`
}

// TileAttrs are the attributes of tile.
type TileAttrs struct {
	Reps []int `relay:"reps"`
}

// RepeatAttrs are the attributes of repeat.
type RepeatAttrs struct {
	Repeats int `relay:"repeats"`
	Axis    int `relay:"axis"`
}

// LayoutTransformAttrs are the attributes of layout_transform.
type LayoutTransformAttrs struct {
	SrcLayout string `relay:"src_layout"`
	DstLayout string `relay:"dst_layout"`
	Channels  int    `relay:"channels"` // the true extent of axis C without the source's padding; 0: all of it
}

// BlockAttrs are the attributes of nn.space_to_depth and nn.depth_to_space.
type BlockAttrs struct {
	BlockSize int    `relay:"block_size"`
	Layout    string `relay:"layout"`
	Mode      string `relay:"mode"` // DCR: the block is the outer part of the channels; CRD: the inner one
}

// ChannelShuffleAttrs are the attributes of channel_shuffle.
type ChannelShuffleAttrs struct {
	Groups int `relay:"groups"`
	Axis   int `relay:"axis"`
}

// TriluAttrs are the attributes of trilu.
type TriluAttrs struct {
	Upper bool `relay:"upper"`
	K     int  `relay:"k"` // the diagonal: above 0 to the right
}

// shapeOps rearrange elements.
func shapeOps() []*Op {
	row := func(name, lower string, attrs func() any, infer func(*Site) (Type, error), eval evalFunc, doc string) *Op {
		return &Op{Name: name, Args: []string{"data"}, NewAttrs: attrs, Infer: infer, Eval: eval, Class: Injective, Lower: lower, Doc: doc}
	}
	return []*Op{
		row("reshape", "reshape", func() any { return &ReshapeAttrs{} }, inferReshape, evalReshaped,
			"the same elements in row-major order under another shape of equal size."),
		row("expand_dims", "reshape", func() any { return &ExpandDimsAttrs{NumNewaxis: 1} }, inferExpandDims, evalReshaped, "axes of extent 1 inserted."),
		row("squeeze", "reshape", func() any { return &SqueezeAttrs{} }, inferSqueeze, evalReshaped, "axes of extent 1 removed."),
		row("transpose", "transpose", func() any { return &TransposeAttrs{} }, inferTranspose, evalPicked(transposeTables), "out's axis i is data's axis axes[i]."),
		row("broadcast_to", "broadcast", func() any { return &ShapeAttrs{} }, inferBroadcastTo, evalPicked(broadcastTables),
			"data repeated along its axes of extent 1, aligned at the last axis."),
		row("tile", "tile", func() any { return &TileAttrs{} }, inferTile, evalPicked(tileTables),
			"data repeated reps[i] times along axis i; data's rank grows at the front when reps is longer."),
		row("repeat", "tile", func() any { return &RepeatAttrs{Repeats: 1} }, inferRepeat, evalPicked(repeatTables), "each element repeated along the axis."),
		row("reverse", "strided_slice", func() any { return &AxisAttrs{} }, inferAxis, evalPicked(reverseTables), "the elements along the axis in reverse order."),
		row("layout_transform", "layout_transform", func() any { return &LayoutTransformAttrs{} }, inferLayoutTransform, evalLayoutTransform,
			"data in another layout; blocks are padded with 0."),
		row("nn.space_to_depth", "space_to_depth", func() any { return &BlockAttrs{1, "NCHW", "DCR"} }, inferSpaceToDepth, evalPicked(spaceToDepthTables),
			"out[n, (i·B + j)·C + c, h, w] = data[n, c, h·B + i, w·B + j] (DCR), or channel c·B² + i·B + j (CRD)."),
		row("nn.depth_to_space", "depth_to_space", func() any { return &BlockAttrs{1, "NCHW", "DCR"} }, inferDepthToSpace, evalPicked(depthToSpaceTables),
			"the inverse of nn.space_to_depth."),
		row("channel_shuffle", "channel_shuffle", func() any { return &ChannelShuffleAttrs{1, 1} }, inferChannelShuffle, evalPicked(shuffleTables),
			"out[c·groups + g] = data[g·C/groups + c] along the axis of extent C."),
		row("trilu", "elementwise", func() any { return &TriluAttrs{Upper: true} }, inferTrilu, evalTrilu,
			"the upper (column ≥ row + k) or lower (column ≤ row + k) triangle of the matrices in the last two axes, else 0."),
	}
}

func inferReshape(s *Site) (Type, error) {
	a, t, err := operandOf[ReshapeAttrs](s)
	if err != nil {
		return nil, err
	}
	shape := tensor.Shape(a.NewShape).Clone()
	if n := shape.Elems(); n != t.Shape.Elems() {
		return nil, s.Illegal("newshape=%v does not have the %d elements of %v", a.NewShape, t.Shape.Elems(), t)
	}
	return s.Result(t.DType, shape)
}

func inferExpandDims(s *Site) (Type, error) {
	a, t, err := operandOf[ExpandDimsAttrs](s)
	if err != nil {
		return nil, err
	}
	at, err := s.axis(a.Axis, len(t.Shape)+1)
	if err != nil {
		return nil, err
	}
	if a.NumNewaxis < 0 || a.NumNewaxis > 64 {
		return nil, s.Illegal("num_newaxis=%d is outside 0…64", a.NumNewaxis)
	}
	out := t.Shape[:at:at]
	out = append(append(out, ints(a.NumNewaxis, 1)...), t.Shape[at:]...)
	return s.Result(t.DType, out)
}

func inferSqueeze(s *Site) (Type, error) {
	a, t, err := operandOf[SqueezeAttrs](s)
	if err != nil {
		return nil, err
	}
	mask, err := s.axes(a.Axis, len(t.Shape))
	if err != nil {
		return nil, err
	}
	out := tensor.Shape{}
	for i, d := range t.Shape {
		if mask[i] && d != 1 {
			return nil, s.Illegal("axis %d of %v has extent %d, wanted 1", i, t, d)
		}
		if !mask[i] && !(a.Axis == nil && d == 1) {
			out = append(out, d)
		}
	}
	return s.Result(t.DType, out)
}

func inferTranspose(s *Site) (Type, error) {
	a, t, err := operandOf[TransposeAttrs](s)
	if err != nil {
		return nil, err
	}
	if a.Axes != nil {
		if _, err := s.axes(a.Axes, len(t.Shape)); err != nil {
			return nil, err
		}
		if len(a.Axes) != len(t.Shape) {
			return nil, s.Illegal("axes=%v do not permute %v", a.Axes, t)
		}
	}
	out := make(tensor.Shape, len(t.Shape))
	for i, axis := range Permutation(a.Axes, len(t.Shape)) {
		out[i] = t.Shape[axis]
	}
	return s.Result(t.DType, out)
}

// Permutation returns the axes of a transpose counted from the front; nil reverses them.
func Permutation(axes []int, rank int) []int {
	p := make([]int, rank)
	for i := range p {
		if axes == nil {
			p[i] = rank - 1 - i
		} else {
			p[i] = NormalAxis(axes[i], rank)
		}
	}
	return p
}

func inferBroadcastTo(s *Site) (Type, error) {
	a, t, err := operandOf[ShapeAttrs](s)
	if err != nil {
		return nil, err
	}
	out, ok := BroadcastShape(t.Shape, a.Shape)
	if !ok || !out.Equal(a.Shape) {
		return nil, s.Illegal("%v does not broadcast to shape %v", t, a.Shape)
	}
	return s.Result(t.DType, out)
}

func inferTile(s *Site) (Type, error) {
	a, t, err := operandOf[TileAttrs](s)
	if err != nil {
		return nil, err
	}
	if err := s.count("reps", a.Reps, len(a.Reps), 0); err != nil {
		return nil, err
	}
	rank := max(len(a.Reps), len(t.Shape))
	out := tensor.Shape(ints(rank, 1))
	copy(out[rank-len(t.Shape):], t.Shape)
	for i, r := range a.Reps {
		axis := rank - len(a.Reps) + i
		if r != 0 && out[axis] > maxElems/r {
			return nil, s.Illegal("reps=%v of %v are too large", a.Reps, t)
		}
		out[axis] *= r
	}
	return s.Result(t.DType, out)
}

func inferRepeat(s *Site) (Type, error) {
	a, t, err := operandOf[RepeatAttrs](s)
	if err != nil {
		return nil, err
	}
	axis, err := s.axis(a.Axis, len(t.Shape))
	if err != nil {
		return nil, err
	}
	if err := s.count("repeats", []int{a.Repeats}, 1, 0); err != nil {
		return nil, err
	}
	out := t.Shape.Clone()
	if a.Repeats != 0 && out[axis] > maxElems/a.Repeats {
		return nil, s.Illegal("repeats=%v of %v is too large", a.Repeats, t)
	}
	out[axis] *= a.Repeats
	return s.Result(t.DType, out)
}

func inferAxis(s *Site) (Type, error) {
	a, t, err := operandOf[AxisAttrs](s)
	if err != nil {
		return nil, err
	}
	if _, err := s.axis(a.Axis, len(t.Shape)); err != nil {
		return nil, err
	}
	return t, nil
}

func inferLayoutTransform(s *Site) (Type, error) {
	a, t, err := operandOf[LayoutTransformAttrs](s)
	if err != nil {
		return nil, err
	}
	src, err := s.layout(a.SrcLayout, "", t.Shape)
	if err != nil {
		return nil, err
	}
	dst, err := tensor.ParseLayout(a.DstLayout)
	if err != nil {
		return nil, s.Illegal("%v", err)
	}
	if !src.SameAxes(dst) {
		return nil, s.Illegal("layouts %v and %v have different axes", src, dst)
	}
	letters := src.Letters()
	logical, err := src.Logical(t.Shape, letters)
	if err != nil {
		return nil, s.Illegal("%v", err)
	}
	if a.Channels != 0 {
		at := src.Index('C')
		if at < 0 {
			return nil, s.Illegal("channels=%d, but layout %v has no axis C", a.Channels, src)
		}
		for i := range len(letters) {
			if letters[i] != 'C' {
				continue
			}
			if a.Channels > logical[i] || logical[i]-a.Channels >= src.Block('C') {
				return nil, s.Illegal("channels=%d do not fit the %d of %v in %v", a.Channels, logical[i], t, src)
			}
			logical[i] = a.Channels
		}
	}
	out, err := dst.Physical(logical, letters)
	if err != nil {
		return nil, s.Illegal("%v", err)
	}
	return s.Result(t.DType, out)
}

func (s *Site) blockShape() (a *BlockAttrs, t *TensorType, l tensor.Layout, err error) {
	if a, err = attrsOf[BlockAttrs](s); err != nil {
		return
	}
	if t, err = s.Tensor(0); err != nil {
		return
	}
	if l, err = s.layout(a.Layout, "", t.Shape); err != nil {
		return
	}
	switch {
	case !l.Plain() || !l.SameAxes(tensor.MustLayout("NCHW")):
		err = s.Illegal("layout %v, wanted one with the axes NCHW and no blocks", l)
	case a.BlockSize < 1 || a.BlockSize > 1<<15:
		err = s.Illegal("block_size=%d is outside 1…%d", a.BlockSize, 1<<15)
	case a.Mode != "DCR" && a.Mode != "CRD":
		err = s.Illegal("mode=%q, wanted DCR or CRD", a.Mode)
	}
	return
}

func inferSpaceToDepth(s *Site) (Type, error) {
	a, t, l, err := s.blockShape()
	if err != nil {
		return nil, err
	}
	c, h, w := l.Index('C'), l.Index('H'), l.Index('W')
	out := t.Shape.Clone()
	if out[h]%a.BlockSize != 0 || out[w]%a.BlockSize != 0 {
		return nil, s.Illegal("spatial extents of %v are no multiples of block_size=%d", t, a.BlockSize)
	}
	out[c] *= a.BlockSize * a.BlockSize
	out[h] /= a.BlockSize
	out[w] /= a.BlockSize
	return s.Result(t.DType, out)
}

func inferDepthToSpace(s *Site) (Type, error) {
	a, t, l, err := s.blockShape()
	if err != nil {
		return nil, err
	}
	c, h, w := l.Index('C'), l.Index('H'), l.Index('W')
	out := t.Shape.Clone()
	if out[c]%(a.BlockSize*a.BlockSize) != 0 {
		return nil, s.Illegal("%d channels are no multiple of block_size²=%d", out[c], a.BlockSize*a.BlockSize)
	}
	out[c] /= a.BlockSize * a.BlockSize
	out[h] *= a.BlockSize
	out[w] *= a.BlockSize
	return s.Result(t.DType, out)
}

func inferChannelShuffle(s *Site) (Type, error) {
	a, t, err := operandOf[ChannelShuffleAttrs](s)
	if err != nil {
		return nil, err
	}
	axis, err := s.axis(a.Axis, len(t.Shape))
	if err != nil {
		return nil, err
	}
	if a.Groups < 1 || t.Shape[axis]%a.Groups != 0 {
		return nil, s.Illegal("%d channels are no multiple of groups=%d", t.Shape[axis], a.Groups)
	}
	return t, nil
}

func inferTrilu(s *Site) (Type, error) {
	t, err := s.Tensor(0)
	if err != nil {
		return nil, err
	}
	if len(t.Shape) < 2 {
		return nil, s.Illegal("data %v, wanted matrices", t)
	}
	return t, nil
}
