package relay

import (
	"strconv"
	"strings"

	"github.com/texel-ml/texel/tensor"
)

// ConvAttrs are the attributes of nn.conv1d, nn.conv2d and nn.conv3d. Lists follow the spatial letters in the order
// D, H, W.
type ConvAttrs struct {
	Strides      []int        `relay:"strides"`
	Padding      []int        `relay:"padding"` // all begins, then all ends
	Dilation     []int        `relay:"dilation"`
	Groups       int          `relay:"groups"`
	Channels     int          `relay:"channels"`    // output channels; 0: as the weight has
	KernelSize   []int        `relay:"kernel_size"` // nil: as the weight has
	DataLayout   string       `relay:"data_layout"`
	KernelLayout string       `relay:"kernel_layout"`
	OutLayout    string       `relay:"out_layout"` // empty: the data's
	OutDType     tensor.DType `relay:"out_dtype"`  // Invalid: the data's; a float: of operands that may be floats of other types
}

// ConvTransposeAttrs are the attributes of nn.conv1d_transpose, nn.conv2d_transpose and nn.conv3d_transpose.
type ConvTransposeAttrs struct {
	Strides       []int        `relay:"strides"`
	Padding       []int        `relay:"padding"` // all begins, then all ends
	OutputPadding []int        `relay:"output_padding"`
	Dilation      []int        `relay:"dilation"`
	Groups        int          `relay:"groups"`
	Channels      int          `relay:"channels"`
	KernelSize    []int        `relay:"kernel_size"`
	DataLayout    string       `relay:"data_layout"`
	KernelLayout  string       `relay:"kernel_layout"` // I: input channels; O: output channels of a group
	OutLayout     string       `relay:"out_layout"`
	OutDType      tensor.DType `relay:"out_dtype"`
}

// spatialLetters are the spatial axes of images of 1, 2 and 3 dimensions.
var spatialLetters = [...]string{1: "W", 2: "HW", 3: "DHW"}

// convOps are the convolutions.
func convOps() []*Op {
	var ops []*Op
	for rank := 1; rank <= 3; rank++ {
		name, spatial := "nn.conv"+strconv.Itoa(rank)+"d", spatialLetters[rank]
		ops = append(ops, &Op{
			Name: name,
			Args: []string{"data", "weight"},
			NewAttrs: func() any {
				return &ConvAttrs{Strides: ints(rank, 1), Padding: ints(2*rank, 0), Dilation: ints(rank, 1), Groups: 1,
					DataLayout: "NC" + spatial, KernelLayout: "OI" + spatial}
			},
			Infer: inferConv,
			Eval:  evalConv,
			Class: OutFusable,
			Lower: "conv",
			Doc: "out[n, o, x] = Σ_{c < C/groups, k} data[n, g·C/groups + c, x·strides + k·dilation − padding] · weight[o, c, k], " +
				"g = o / (O/groups). Outside the data is 0. data is (N, C, spatial), weight (O, C/groups, kernel), out (N, O, spatial'), " +
				"each in its layout; spatial' = (spatial + begin + end − dilation·(kernel−1) − 1) / strides + 1.",
		}, &Op{
			Name: name + "_transpose",
			Args: []string{"data", "weight"},
			NewAttrs: func() any {
				return &ConvTransposeAttrs{Strides: ints(rank, 1), Padding: ints(2*rank, 0), OutputPadding: ints(rank, 0),
					Dilation: ints(rank, 1), Groups: 1, DataLayout: "NC" + spatial, KernelLayout: "IO" + spatial}
			},
			Infer: inferConvTranspose,
			Eval:  evalConvTranspose,
			Class: OutFusable,
			Lower: "conv_transpose",
			Doc: "the gradient of a convolution: out[n, o, x·strides + k·dilation − padding] += data[n, c, x] · weight[c, o mod (O/groups), k] " +
				"for the C/groups input channels c of o's group. data is (N, C, spatial), weight (C, O/groups, kernel), out (N, O, spatial') with " +
				"spatial' = (spatial − 1)·strides + dilation·(kernel−1) + 1 + output_padding − begin − end.",
		})
	}
	return ops
}

// convShape is what both directions of convolution share.
type convShape struct {
	data, kernel, out tensor.Layout
	spatial           string
	n, c, o, i        int // batch, data channels, and the weight's O and I
	in, window        []int
}

func (s *Site) convShape(data, weight *TensorType, dataLayout, kernelLayout, outLayout string, strides, padding, dilation []int,
	groups int, kernelSize []int) (*convShape, error) {
	c := &convShape{}
	var err error
	if c.data, err = s.layout(dataLayout, "", data.Shape); err != nil {
		return nil, err
	}
	if c.kernel, err = s.layout(kernelLayout, "", weight.Shape); err != nil {
		return nil, err
	}
	if outLayout == "" {
		outLayout = dataLayout
	}
	if c.out, err = tensor.ParseLayout(outLayout); err != nil {
		return nil, s.Illegal("%v", err)
	}
	rank := len(c.data.Letters()) - 2
	if rank < 1 || rank >= len(spatialLetters) {
		return nil, s.Illegal("data_layout %v has no 1 to 3 spatial axes", c.data)
	}
	c.spatial = spatialLetters[rank]
	if !c.data.SameAxes(tensor.MustLayout("NC"+c.spatial)) || !c.out.SameAxes(c.data) {
		return nil, s.Illegal("data_layout %v and out_layout %v must have the axes NC%s", c.data, c.out, c.spatial)
	}
	if !c.kernel.SameAxes(tensor.MustLayout("OI" + c.spatial)) {
		return nil, s.Illegal("kernel_layout %v must have the axes OI%s", c.kernel, c.spatial)
	}
	for _, l := range []struct {
		name  string
		list  []int
		n     int
		least int
	}{{"strides", strides, rank, 1}, {"padding", padding, 2 * rank, 0}, {"dilation", dilation, rank, 1}} {
		if err := s.count(l.name, l.list, l.n, l.least); err != nil {
			return nil, err
		}
	}
	if groups < 1 {
		return nil, s.Illegal("groups=%d, wanted at least 1", groups)
	}
	logical, _ := c.data.Logical(data.Shape, "NC"+c.spatial)
	c.n, c.c, c.in = logical[0], logical[1], logical[2:]
	logical, _ = c.kernel.Logical(weight.Shape, "OI"+c.spatial)
	c.o, c.i, c.window = logical[0], logical[1], logical[2:]
	if kernelSize != nil && !tensor.Shape(kernelSize).Equal(c.window) {
		return nil, s.Illegal("kernel_size=%v, but weight of shape %v in %v has %v", kernelSize, weight.Shape, c.kernel, []int(c.window))
	}
	for i, k := range c.window {
		if k < 1 {
			return nil, s.Illegal("weight of shape %v has an empty window", weight.Shape)
		}
		if k > 1<<31/dilation[i] {
			return nil, s.Illegal("dilation=%v of window %v is too large", dilation, []int(c.window))
		}
	}
	return c, nil
}

func (s *Site) convResult(c *convShape, channels int, dtype, outDType tensor.DType, out tensor.Shape) (Type, error) {
	if outDType != tensor.Invalid {
		dtype = outDType
	}
	physical, err := c.out.Physical(append(tensor.Shape{c.n, channels}, out...), "NC"+c.spatial)
	if err != nil {
		return nil, s.Illegal("%v", err)
	}
	if block := c.out.Block('C'); channels%block != 0 {
		return nil, s.Illegal("%d output channels are no multiple of the block of out_layout %v", channels, c.out)
	}
	return s.Result(dtype, physical)
}

func inferConv(s *Site) (Type, error) {
	a, t, err := factors(s, func(a *ConvAttrs) tensor.DType { return a.OutDType })
	if err != nil {
		return nil, err
	}
	c, err := s.convShape(t[0], t[1], a.DataLayout, a.KernelLayout, a.OutLayout, a.Strides, a.Padding, a.Dilation, a.Groups, a.KernelSize)
	if err != nil {
		return nil, err
	}
	if c.c != c.i*a.Groups {
		return nil, s.Illegal("data has %d channels, but weight takes %d in each of %d groups", c.c, c.i, a.Groups)
	}
	if block := c.kernel.Block('O'); block > 1 && a.Channels <= c.o && a.Channels > c.o-block {
		c.o = a.Channels // the rest of the weight's last block is padding
	}
	if a.Channels != 0 && a.Channels != c.o {
		return nil, s.Illegal("channels=%d, but weight has %d", a.Channels, c.o)
	}
	if c.o%a.Groups != 0 {
		return nil, s.Illegal("%d output channels are no multiple of %d groups", c.o, a.Groups)
	}
	out := make(tensor.Shape, len(c.in))
	for i, d := range c.in {
		room := d + a.Padding[i] + a.Padding[len(c.in)+i] - a.Dilation[i]*(c.window[i]-1) - 1
		if room < 0 {
			return nil, s.Illegal("window of %d with dilation %d is larger than padded extent %d of axis %c",
				c.window[i], a.Dilation[i], d+a.Padding[i]+a.Padding[len(c.in)+i], c.spatial[i])
		}
		out[i] = room/a.Strides[i] + 1
	}
	return s.convResult(c, c.o, t[0].DType, a.OutDType, out)
}

func inferConvTranspose(s *Site) (Type, error) {
	a, t, err := factors(s, func(a *ConvTransposeAttrs) tensor.DType { return a.OutDType })
	if err != nil {
		return nil, err
	}
	c, err := s.convShape(t[0], t[1], a.DataLayout, a.KernelLayout, a.OutLayout, a.Strides, a.Padding, a.Dilation, a.Groups, a.KernelSize)
	if err != nil {
		return nil, err
	}
	if c.c != c.i || c.c%a.Groups != 0 {
		return nil, s.Illegal("data has %d channels, weight takes %d, groups are %d", c.c, c.i, a.Groups)
	}
	if a.Channels != 0 && a.Channels != c.o*a.Groups {
		return nil, s.Illegal("channels=%d, but weight has %d in each of %d groups", a.Channels, c.o, a.Groups)
	}
	if err := s.count("output_padding", a.OutputPadding, len(c.in), 0); err != nil {
		return nil, err
	}
	out := make(tensor.Shape, len(c.in))
	for i, d := range c.in {
		out[i] = (d-1)*a.Strides[i] + a.Dilation[i]*(c.window[i]-1) + 1 + a.OutputPadding[i] - a.Padding[i] - a.Padding[len(c.in)+i]
		if d == 0 || out[i] < 0 {
			return nil, s.Illegal("padding %v leaves nothing of axis %c", a.Padding, c.spatial[i])
		}
	}
	return s.convResult(c, c.o*a.Groups, t[0].DType, a.OutDType, out)
}

// spatialAxes returns the positions of the spatial axes of a layout, in the order D, H, W, or false when it has axes
// other than N, C and these.
func spatialAxes(l tensor.Layout) (axes []int, ok bool) {
	for _, letter := range "DHW" {
		if i := l.Index(byte(letter)); i >= 0 {
			axes = append(axes, i)
		}
	}
	for _, letter := range l.Letters() {
		if !strings.ContainsRune("NCDHW", letter) {
			return nil, false
		}
	}
	for _, a := range l.Axes() {
		if a.Factor != 0 && a.Letter != 'C' {
			return nil, false
		}
	}
	return axes, l.Index('N') >= 0 && l.Index('C') >= 0
}
