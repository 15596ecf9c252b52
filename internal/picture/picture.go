// Package picture turns JPEG and PNG files into input tensors of networks.
//
// The steps, in order: cut, resize, choose the order of the channels, compute (pixel·Scale − Mean) / Std. A pixel is
// 0 to 255. Mean and Std are given in the order of the model's channels.
package picture

import (
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // decoders
	_ "image/png"
	"io"
	"math"
	"os"

	"golang.org/x/image/draw"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// Options say how a picture becomes a tensor. The zero value keeps the whole picture, resizes by area, and leaves the
// pixels at 0 to 255 in the order red, green, blue.
type Options struct {
	Crop     string    // "center": the largest centred part with the proportions of the input; "none" or "": the whole
	Resize   string    // "area" or "", "bilinear", "nearest"
	Channels string    // "rgb" or "", "bgr"
	Mean     []float32 // one value or one a channel; empty is 0
	Std      []float32 // one value or one a channel, none of them 0; empty is 1
	Scale    float32   // 0 is 1
}

// maxPixels bounds what is decoded.
const maxPixels = 1 << 27

// Check returns an error when an option has a value that does not exist.
func (o Options) Check() error {
	one := func(name, v string, allowed ...string) error {
		for _, a := range allowed {
			if v == a || v == "" {
				return nil
			}
		}
		return diag.Invalid("picture", name, "wanted one of %v, found %q", allowed, v)
	}
	if err := one("crop", o.Crop, "center", "none"); err != nil {
		return err
	}
	if err := one("resize", o.Resize, "area", "bilinear", "nearest"); err != nil {
		return err
	}
	if err := one("channels", o.Channels, "rgb", "bgr"); err != nil {
		return err
	}
	for _, s := range o.Std {
		if s == 0 {
			return diag.Invalid("picture", "std", "wanted values other than 0, found %v", o.Std)
		}
	}
	return nil
}

// ReadFile reads the picture at path as a tensor of the given element type and shape.
func ReadFile(path string, d tensor.DType, shape tensor.Shape, o Options) (*tensor.Tensor, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, diag.Invalid("picture", path, "is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, diag.Invalid("picture", path, "cannot read the picture").By(err)
	}
	defer f.Close()
	conf, _, err := image.DecodeConfig(f)
	if err != nil {
		return nil, diag.Invalid("picture", path, "is not a JPEG or PNG picture").By(err)
	}
	if conf.Width <= 0 || conf.Height <= 0 || conf.Width > maxPixels/conf.Height {
		return nil, diag.Invalid("picture", path, "has %d x %d pixels, at most %d are taken", conf.Width, conf.Height, maxPixels)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, diag.Invalid("picture", path, "cannot read the picture").By(err)
	}
	img, _, err := image.Decode(f)
	if err != nil {
		return nil, diag.Invalid("picture", path, "is damaged").By(err)
	}
	t, err := Convert(img, d, shape, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// axes are where an input tensor has its rows, columns and channels.
type axes struct {
	height, width, channels int
	innermost               bool // channels are the last axis
}

// findAxes reads (N, C, H, W) or (N, H, W, C), with N = 1 or left out and C = 1 or 3.
func findAxes(shape tensor.Shape) (axes, error) {
	s := shape
	if len(s) == 4 && s[0] == 1 {
		s = s[1:]
	}
	if len(s) == 3 && s.Known() && s.Elems() > 0 {
		if s[0] == 3 || s[0] == 1 && s[2] != 3 {
			return axes{s[1], s[2], s[0], false}, nil
		}
		if s[2] == 3 || s[2] == 1 {
			return axes{s[0], s[1], s[2], true}, nil
		}
	}
	return axes{}, diag.Invalid("picture", "input", "a picture fits (1, 3, H, W), (1, H, W, 3) or the same with one channel, the input is %v", shape)
}

// Convert turns a decoded picture into a tensor.
func Convert(img image.Image, d tensor.DType, shape tensor.Shape, o Options) (*tensor.Tensor, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	ax, err := findAxes(shape)
	if err != nil {
		return nil, err
	}
	mean, err := perChannel("mean", o.Mean, ax.channels, 0)
	if err != nil {
		return nil, err
	}
	std, err := perChannel("std", o.Std, ax.channels, 1)
	if err != nil {
		return nil, err
	}
	scale := o.Scale
	if scale == 0 {
		scale = 1
	}
	area := img.Bounds()
	if o.Crop == "center" {
		area = centre(area, ax.width, ax.height)
	}
	rgb := resize(img, area, ax.width, ax.height, o.Resize)
	w := tensor.NewWide(tensor.Float32, shape)
	pixels := ax.width * ax.height
	for p := range pixels {
		for c := range ax.channels {
			var v float32
			switch {
			case ax.channels == 1: // luma of ITU-R BT.601
				v = 0.299*rgb[3*p] + 0.587*rgb[3*p+1] + 0.114*rgb[3*p+2]
			case o.Channels == "bgr":
				v = rgb[3*p+2-c]
			default:
				v = rgb[3*p+c]
			}
			at := c*pixels + p
			if ax.innermost {
				at = p*ax.channels + c
			}
			w.F[at] = float64((v*scale - mean[c]) / std[c])
		}
	}
	return narrow(w, d)
}

// narrow converts to the input's element type; integers are rounded to nearest and saturate.
func narrow(w *tensor.Wide, d tensor.DType) (*tensor.Tensor, error) {
	if d.IsFloat() {
		w.DType = d
		return w.Narrow(), nil
	}
	if !d.IsInt() || d.Bits() > 32 {
		return nil, diag.Invalid("picture", "input", "a picture does not become elements of %v", d)
	}
	lo, hi := 0.0, math.Ldexp(1, d.Bits())-1
	if d.Kind() == tensor.Signed {
		lo, hi = -math.Ldexp(1, d.Bits()-1), math.Ldexp(1, d.Bits()-1)-1
	}
	out := tensor.NewWide(d, w.Shape)
	for i, v := range w.F {
		out.I[i] = int64(min(max(math.RoundToEven(v), lo), hi))
	}
	return out.Narrow(), nil
}

func perChannel(name string, given []float32, channels int, otherwise float32) ([]float32, error) {
	all := make([]float32, channels)
	for c := range all {
		switch len(given) {
		case 0:
			all[c] = otherwise
		case 1:
			all[c] = given[0]
		case channels:
			all[c] = given[c]
		default:
			return nil, diag.Invalid("picture", name, "wanted 1 or %d values, found %v", channels, given)
		}
	}
	return all, nil
}

// centre returns the largest centred part of r with the proportions width : height.
func centre(r image.Rectangle, width, height int) image.Rectangle {
	w, h := r.Dx(), r.Dy()
	if w*height > h*width {
		w = max(1, h*width/height)
	} else {
		h = max(1, w*height/width)
	}
	at := image.Pt(r.Min.X+(r.Dx()-w)/2, r.Min.Y+(r.Dy()-h)/2)
	return image.Rectangle{Min: at, Max: at.Add(image.Pt(w, h))}
}

// opaque returns a pixel's colour; transparency is dropped.
func opaque(img image.Image, x, y int) color.NRGBA {
	return color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
}

// toRGB returns the pixels of an area as an opaque 8-bit picture.
func toRGB(img image.Image, area image.Rectangle) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, area.Dx(), area.Dy()))
	for y := range area.Dy() {
		for x := range area.Dx() {
			c := opaque(img, area.Min.X+x, area.Min.Y+y)
			out.SetRGBA(x, y, color.RGBA{c.R, c.G, c.B, 255})
		}
	}
	return out
}

// resize returns width·height pixels of three values of an area.
func resize(img image.Image, area image.Rectangle, width, height int, how string) []float32 {
	if how == "" || how == "area" {
		rows := resampleRows(img, area, height)
		return resample(rows, height, area.Dx(), width, 3)
	}
	var scaler draw.Scaler = draw.BiLinear // its kernel widens when it shrinks
	if how == "nearest" {
		scaler = draw.NearestNeighbor
	}
	all := toRGB(img, area)
	small := image.NewRGBA(image.Rect(0, 0, width, height))
	scaler.Scale(small, small.Rect, all, all.Rect, draw.Src, nil)
	out := make([]float32, 0, 3*width*height)
	for i := 0; i < len(small.Pix); i += 4 {
		out = append(out, float32(small.Pix[i]), float32(small.Pix[i+1]), float32(small.Pix[i+2]))
	}
	return out
}

// resampleRows is resample of the rows of an area, a row of pixels at a time: a large picture is not held as floats.
func resampleRows(img image.Image, area image.Rectangle, height int) []float32 {
	width := 3 * area.Dx()
	out, row := make([]float32, height*width), make([]float32, width)
	for i := range height {
		for _, t := range taps(i, area.Dy(), height) {
			for x := range area.Dx() {
				c := opaque(img, area.Min.X+x, area.Min.Y+t.at)
				row[3*x], row[3*x+1], row[3*x+2] = float32(c.R), float32(c.G), float32(c.B)
			}
			for j, v := range row {
				out[i*width+j] += t.weight * v
			}
		}
	}
	return out
}

// tap is an old element of an axis and its part in a new one.
type tap struct {
	at     int
	weight float32
}

// taps returns what new element i of an axis is made of, when its extent goes from one number to another. When it shrinks, a
// new element is the mean over the interval that it covers, parts of elements counted as such; when it grows, elements are
// interpolated between their centres.
func taps(i, from, to int) []tap {
	if to > from {
		centre := math.Max((float64(i)+0.5)*float64(from)/float64(to)-0.5, 0)
		k := min(int(centre), from-1)
		part := float32(centre - float64(k))
		return []tap{{k, 1 - part}, {min(k+1, from-1), part}}
	}
	var all []tap
	lo, hi := float64(i)*float64(from)/float64(to), float64(i+1)*float64(from)/float64(to)
	for k := int(lo); k < from && float64(k) < hi; k++ {
		part := math.Min(hi, float64(k+1)) - math.Max(lo, float64(k))
		all = append(all, tap{k, float32(part / (hi - lo))})
	}
	return all
}

// resample resizes the middle axis of an array of shape (outer, from, inner) to extent to.
func resample(in []float32, outer, from, to, inner int) []float32 {
	out := make([]float32, outer*to*inner)
	for i := range to {
		all := taps(i, from, to)
		for o := range outer {
			row := out[(o*to+i)*inner:][:inner]
			for _, t := range all {
				for j, v := range in[(o*from+t.at)*inner:][:inner] {
					row[j] += t.weight * v
				}
			}
		}
	}
	return out
}
