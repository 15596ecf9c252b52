package lower

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
)

func winograd(t require.TestingT, tile, window int) *Winograd {
	w, err := NewWinograd(tile, window)
	require.NoError(t, err)
	return w
}

// TestWinogradIsExact filters whole numbers by each algorithm in rational arithmetic, in one dimension.
func TestWinogradIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []*big.Rat {
		list := make([]*big.Rat, n)
		for i := range list {
			list[i] = big.NewRat(r.Int64N(19)-9, 1)
		}
		return list
	}
	dot := func(a, b []*big.Rat) *big.Rat {
		sum := new(big.Rat)
		for i := range a {
			sum.Add(sum, new(big.Rat).Mul(a[i], b[i]))
		}
		return sum
	}
	for _, c := range [][2]int{{1, 2}, {2, 1}, {2, 2}, {1, 3}, {2, 3}, {3, 3}, {4, 3}, {5, 3}, {6, 3}, {2, 5}, {4, 5}, {2, 7}, {7, 2}} {
		w := winograd(t, c[0], c[1])
		g, d := draw(w.Window), draw(w.Size())
		for i := range w.Tile {
			got := new(big.Rat)
			for j := range w.Size() {
				product := new(big.Rat).Mul(dot(w.G[j], g), dot(w.B[j], d))
				got.Add(got, product.Mul(product, w.A[j][i]))
			}
			require.Zero(t, got.Cmp(dot(g, d[i:i+w.Window])), "F(%d, %d): element %d is %s", w.Tile, w.Window, i, got)
		}
	}
}

// TestWinogradMatrices shows them.
func TestWinogradMatrices(t *testing.T) {
	var b strings.Builder
	for _, tile := range []int{2, 4, 6} {
		w := winograd(t, tile, 3)
		fmt.Fprintf(&b, "F(%d, 3)\n", tile)
		for _, m := range []struct {
			name string
			rows [][]*big.Rat
		}{{"A", w.A}, {"B", w.B}, {"G", w.G}} {
			for j, row := range m.rows {
				at := "infinity"
				if j < len(w.Points) {
					at = w.Points[j].RatString()
				}
				fmt.Fprintf(&b, "%s at %-8s", m.name, at)
				for _, c := range row {
					fmt.Fprintf(&b, " %9s", c.RatString())
				}
				b.WriteString("\n")
			}
		}
	}
	golden.Check(t, filepath.Join("testdata", "winograd", "matrices.txtar"), golden.Section{Name: "matrices", Text: b.String()})
}

// TestWinogradPoints goes through all sets {0, ±a, ±b, …} of multiples of 1/8 up to 3: none has a smaller mean error.
func TestWinogradPoints(t *testing.T) {
	const largest = 24
	for pairs, want := range map[int]float64{1: 1.67, 2: 4.78, 3: 20.63} {
		best := math.Inf(1)
		var points []*big.Rat
		var try func(from int, chosen []*big.Rat)
		try = func(from int, chosen []*big.Rat) {
			if len(chosen) == 2*pairs+1 {
				if e := meanError(t, chosen); e < best-1e-9 {
					best, points = e, append([]*big.Rat{}, chosen...)
				}
				return
			}
			for n := from; n <= largest; n++ {
				p := big.NewRat(int64(n), 8)
				try(n+1, append(chosen[:len(chosen):len(chosen)], p, new(big.Rat).Neg(p)))
			}
		}
		try(1, []*big.Rat{new(big.Rat)})
		require.Equal(t, fmt.Sprint(WinogradPoints(2*pairs+1)), fmt.Sprint(points), "%d pairs", pairs)
		require.InDelta(t, want, best, 0.005)
	}
	require.InDelta(t, 10.77, meanError(t, ratios("0", "1", "-1", "2", "-2")), 0.005)
	require.InDelta(t, 964.5, meanError(t, ratios("0", "1", "-1", "2", "-2", "3", "-3")), 0.05)
}

// meanError is the mean over a tile's places of Σ A²·|B|²·|G|² / r for a window of 3: what each dimension multiplies the square of
// the error of a product by. Two dimensions multiply its root by as much.
func meanError(t *testing.T, points []*big.Rat) float64 {
	w, err := WinogradAt(len(points)-1, 3, points)
	require.NoError(t, err)
	sum := 0.0
	for j := range w.A {
		sum += squares(w.A[j]) * squares(w.B[j]) * squares(w.G[j])
	}
	return sum / float64(w.Tile*w.Window)
}

func ratios(list ...string) []*big.Rat {
	out := make([]*big.Rat, len(list))
	for i, s := range list {
		out[i], _ = new(big.Rat).SetString(s)
	}
	return out
}

// winogradCase is a convolution of images × channels × height × width.
type winogradCase struct {
	w            *Winograd
	in           [4]int
	conv         WinogradConv
	stored       tensor.DType
	data, weight *tensor.Wide // N, C, H, W and O, I, H, W
}

// draw fills the operands: floats of a normal distribution, or whole numbers.
func (c *winogradCase) draw(seed uint64, whole bool) {
	r := rand.New(rand.NewPCG(seed, 7))
	fill := func(shape ...int) *tensor.Wide {
		w := tensor.NewWide(c.stored, shape)
		for i := range w.F {
			if w.F[i] = tensor.Round(c.stored, r.NormFloat64()); whole {
				w.F[i] = float64(r.IntN(7) - 3)
			}
		}
		return w
	}
	c.data = fill(c.in[:]...)
	c.weight = fill(c.conv.Channels, c.in[1], c.w.Window, c.w.Window)
}

// direct returns the exact result in the order N, O, H, W.
func (c *winogradCase) direct() *tensor.Wide {
	p := c.conv.Padding
	r := c.w.Window
	high, wide := c.in[2]+p[0]+p[2]-r+1, c.in[3]+p[1]+p[3]-r+1
	out := tensor.NewWide(tensor.Float64, tensor.Shape{c.in[0], c.conv.Channels, high, wide})
	for i := range out.F {
		x, y, o, n := i%wide, i/wide%high, i/(wide*high)%c.conv.Channels, i/(wide*high*c.conv.Channels)
		for ch := range c.in[1] {
			for ky := range r {
				for kx := range r {
					sy, sx := y+ky-p[0], x+kx-p[1]
					if sy >= 0 && sy < c.in[2] && sx >= 0 && sx < c.in[3] {
						out.F[i] += c.data.F[((n*c.in[1]+ch)*c.in[2]+sy)*c.in[3]+sx] * c.weight.F[((o*c.in[1]+ch)*r+ky)*r+kx]
					}
				}
			}
		}
	}
	return out
}

// run computes the convolution by the definition, in the order N, O, H, W.
func (c *winogradCase) run(t require.TestingT, opts interp.Options) *tensor.Wide {
	x := physical(t, c.data, "NCHW", c.conv.Layout)
	g := physical(t, c.weight, "OIHW", c.conv.Kernel)
	data, kernel := te.Placeholder("X", c.stored, x.Shape...), te.Placeholder("G", c.stored, g.Shape...)
	first, err := c.w.Kernel(kernel, c.conv)
	require.NoError(t, err)
	stages, err := c.w.Conv(data, first[len(first)-1], c.conv)
	require.NoError(t, err)
	out := stages[len(stages)-1]
	f, err := te.Build("winograd", []*te.Tensor{data, kernel}, []*te.Tensor{out}, append(first, stages...)...)
	require.NoError(t, err)
	y := tensor.New(c.stored, out.Shape())
	require.NoError(t, interp.Run(context.Background(), f, []*tensor.Tensor{x, g, y}, opts))
	plain, err := tensor.Relayout(y, tensor.MustLayout(c.conv.Layout), tensor.MustLayout("NCHW"))
	require.NoError(t, err)
	return tensor.Widen(plain)
}

// physical returns w in another layout.
func physical(t require.TestingT, w *tensor.Wide, from, to string) *tensor.Tensor {
	out, err := tensor.Relayout(w.Narrow(), tensor.MustLayout(from), tensor.MustLayout(to))
	require.NoError(t, err)
	return out
}

// TestWinogradConv compares the definition with direct convolution on whole numbers, in all layouts.
func TestWinogradConv(t *testing.T) {
	for _, c := range []struct {
		tile, window                int
		layout, kernel, transformed string
		in                          [4]int
		channels                    int
		padding                     [4]int
	}{
		{2, 3, "NHWC", "OHWI", "OI4o", [4]int{1, 3, 6, 8}, 8, [4]int{1, 1, 1, 1}},
		{4, 3, "NHWC", "OHWI", "OI8o", [4]int{2, 3, 9, 7}, 5, [4]int{1, 1, 1, 1}},
		{4, 3, "NCHW", "OIHW", "", [4]int{1, 3, 8, 5}, 4, [4]int{0, 1, 2, 0}},
		{4, 3, "NCHW4c", "OIHW4i4o", "OI4i4o", [4]int{1, 8, 6, 6}, 4, [4]int{}},
		{6, 3, "NHWC", "HWIO", "IO", [4]int{1, 2, 7, 13}, 3, [4]int{1, 1, 1, 1}},
		{6, 3, "NHWC", "HWIO", "IO", [4]int{1, 2, 8, 8}, 3, [4]int{}},
		{3, 2, "NCHW", "OIHW", "OI", [4]int{1, 2, 5, 5}, 2, [4]int{0, 0, 1, 1}},
		{2, 5, "CHWN", "OIHW", "OI", [4]int{2, 2, 5, 7}, 2, [4]int{2, 2, 2, 2}},
	} {
		w := &winogradCase{w: winograd(t, c.tile, c.window), in: c.in, stored: tensor.Float64,
			conv: WinogradConv{Layout: c.layout, Kernel: c.kernel, Transformed: c.transformed, Channels: c.channels, Padding: c.padding}}
		w.draw(3, true)
		got, want := w.run(t, interp.Options{}), w.direct()
		require.NoError(t, numtest.Compare(got.Narrow(), want.Narrow(), numtest.Tolerance{Max: 1e-12}), "F(%d, %d) %s", c.tile, c.window, c.layout)
	}
}

// TestWinogradRandomConv is TestWinogradConv for random algorithms, sizes and layouts.
func TestWinogradRandomConv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tile, window := rapid.IntRange(1, 6).Draw(t, "tile"), rapid.IntRange(1, 4).Draw(t, "window")
		if n := tile + window - 2; n < 1 || n > 7 {
			t.Skip("no points")
		}
		small := rapid.IntRange(0, 2)
		c := &winogradCase{w: winograd(t, tile, window), stored: tensor.Float64, conv: WinogradConv{
			Layout:      rapid.SampledFrom([]string{"NHWC", "NCHW", "HWNC", "NCHW2c"}).Draw(t, "layout"),
			Kernel:      rapid.SampledFrom([]string{"OHWI", "OIHW", "HWIO"}).Draw(t, "kernel"),
			Transformed: rapid.SampledFrom([]string{"", "OI", "OI4o", "OI2i2o"}).Draw(t, "transformed"),
			Channels:    2 * rapid.IntRange(1, 3).Draw(t, "channels"),
			Padding:     [4]int{small.Draw(t, "top"), small.Draw(t, "left"), small.Draw(t, "bottom"), small.Draw(t, "right")},
		}}
		side := rapid.IntRange(window, window+9)
		c.in = [4]int{rapid.IntRange(1, 2).Draw(t, "images"), 2 * rapid.IntRange(1, 2).Draw(t, "in"), side.Draw(t, "height"), side.Draw(t, "width")}
		c.draw(rapid.Uint64().Draw(t, "seed"), true)
		require.NoError(t, numtest.Compare(c.run(t, interp.Options{}).Narrow(), c.direct().Narrow(), numtest.Tolerance{Max: 1e-10}))
	})
}

// TestWinogradRefuses holds the definition to operands that fit.
func TestWinogradRefuses(t *testing.T) {
	w := winograd(t, 4, 3)
	conv := WinogradConv{Layout: "NHWC", Kernel: "OHWI", Channels: 8, Padding: [4]int{1, 1, 1, 1}}
	x, g, u := te.Placeholder("X", tensor.Float32, 1, 8, 8, 4), te.Placeholder("G", tensor.Float32, 8, 3, 3, 4), te.Placeholder("U", tensor.Float32, 6, 6, 4, 8)
	for _, c := range []struct {
		x, g, u *te.Tensor
		change  func(*WinogradConv)
		want    string
	}{
		{nil, g, nil, func(c *WinogradConv) { c.Kernel = "OHW" }, "layout OHW has the axes OHW; wanted OIHW in any order"},
		{nil, g, nil, func(c *WinogradConv) { c.Kernel = "O-" }, "layout"},
		{nil, g, nil, func(c *WinogradConv) { c.Channels = 9 }, "winograd: G: weights of 8 output channels; wanted 9"},
		{nil, te.Placeholder("G", tensor.Float32, 8, 5, 3, 4), nil, nil, "winograd: G: the window is 5 × 3; wanted 3 × 3"},
		{nil, te.Placeholder("G", tensor.Float32, 8, 5, 3), nil, nil, "OHWI"},
		{x, nil, te.Placeholder("U", tensor.Float32, 6, 6, 8, 4), nil, "winograd: U: transformed weights have the shape [6 6 8 4]; wanted (6, 6, 4, 8) for 4 to 8 channels"},
		{te.Placeholder("X", tensor.Float32, 1, 0, 8, 4), nil, u, nil, "winograd: X: the result is 0 × 8; wanted at least one element"},
		{te.Placeholder("X", tensor.Float32, 1, 8, 4), nil, u, nil, "NHWC"},
		{x, nil, u, func(c *WinogradConv) { c.Padding[2] = -1 }, "winograd: X: the padding is [1 1 -1 1]; wanted none below 0"},
	} {
		conv := conv
		if c.change != nil {
			c.change(&conv)
		}
		var err error
		if c.g != nil {
			_, err = w.Kernel(c.g, conv)
		} else {
			_, err = w.Conv(c.x, c.u, conv)
		}
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, c.want)
	}
	_, err := NewWinograd(0, 3)
	require.ErrorContains(t, err, "F(0, 3) has a tile of 0 and a window of 3; wanted at least 1 of each and 2 of one")
	_, err = NewWinograd(7, 3)
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, "F(7, 3) needs 8 points; wanted at most 7")
	_, err = WinogradAt(2, 3, ratios("0", "1"))
	require.ErrorContains(t, err, "F(2, 3) has 2 points; wanted 3 besides infinity")
	_, err = WinogradAt(2, 3, ratios("0", "1/2", "2/4"))
	require.ErrorContains(t, err, "F(2, 3) has the point 1/2 twice; wanted points that differ")
}

// TestWinogradBound measures the error of convolutions with 64 channels beside Bound: no larger, and not by much smaller. The
// page shows the table, and direct convolution above it.
func TestWinogradBound(t *testing.T) {
	const channels = 64
	page, err := os.ReadFile("../docs/schedules/winograd.md")
	require.NoError(t, err)
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float16} {
		for _, tile := range []int{1, 2, 4, 6} {
			c := &winogradCase{in: [4]int{1, channels, 14, 14}, stored: d, conv: WinogradConv{Layout: "NHWC", Kernel: "OHWI", Channels: 16}}
			c.w = winograd(t, tile, 3)
			c.draw(uint64(tile), false)
			want := c.direct()
			name, products := fmt.Sprintf("F(%d×%d, 3×3)", tile, tile), c.w.Multiplications()
			var got *tensor.Wide
			var bound [2]float64
			if tile == 1 {
				name, products, got = "direct", 9, c.summed(t)
				bound[0], bound[1] = directBound(d, 9*channels, len(want.F))
			} else {
				got = c.run(t, interp.Options{})
				bound[0], bound[1] = c.w.Bound(d, channels, len(want.F))
			}
			rms, most := relativeErrors(got, want)
			require.LessOrEqual(t, rms, bound[0], "%s %v", name, d)
			require.LessOrEqual(t, most, bound[1], "%s %v", name, d)
			require.GreaterOrEqual(t, rms, bound[0]/5, "%s %v: the bound is loose", name, d)
			require.GreaterOrEqual(t, most, bound[1]/10, "%s %v: the bound is loose", name, d)
			row := fmt.Sprintf("| %s | %v | %.2f | %.2f× | %.1e | %.1e | %.1e | %.1e |", name, d, products, 9/products, bound[0], rms, bound[1], most)
			require.Contains(t, string(page), row)
		}
	}
}

// relativeErrors returns the root of the mean square and the largest of the errors, relative to the root of the mean square of what is
// wanted.
func relativeErrors(got, want *tensor.Wide) (rms, most float64) {
	squared, size := 0.0, 0.0
	for i, v := range want.F {
		e := math.Abs(got.F[i] - v)
		squared, size, most = squared+e*e, size+v*v, max(most, e)
	}
	n := float64(len(want.F))
	return math.Sqrt(squared / size), most / math.Sqrt(size/n)
}

// directBound is Bound for a sum of so many products without transformations.
func directBound(d tensor.DType, products, results int) (rms, most float64) {
	u, s := tensor.Unit(working(d)), 0.0
	if d != working(d) {
		s = tensor.Unit(d)
	}
	rms = math.Sqrt(u*u*(float64(products+1)/2+1) + s*s)
	return rms, rms * math.Sqrt(2*math.Log(2*float64(results)/winogradRisk))
}

// summed computes the convolution directly, in the type in which Winograd's computes.
func (c *winogradCase) summed(t *testing.T) *tensor.Wide {
	work := working(c.stored)
	data, kernel := te.Placeholder("X", c.stored, c.in[:]...), te.Placeholder("G", c.stored, c.conv.Channels, c.in[1], 3, 3)
	shape := []int{c.in[0], c.conv.Channels, c.in[2] - 2, c.in[3] - 2}
	sum := te.Sum("S", work, shape, []int{c.in[1], 3, 3}, func(i, r []tir.Expr) tir.Expr {
		x := data.At(i[0], r[0], tir.Plus(i[2], r[1]), tir.Plus(i[3], r[2]))
		return tir.Times(tir.As(work, x), tir.As(work, kernel.At(i[1], r[0], r[1], r[2])))
	})
	out := stored("Y", c.stored, shape, func(i []tir.Expr) tir.Expr { return sum.At(i...) })
	y := tensor.New(c.stored, shape)
	f := te.Func("direct", []*te.Tensor{data, kernel}, []*te.Tensor{out}, sum)
	require.NoError(t, interp.Run(context.Background(), f, []*tensor.Tensor{c.data.Narrow(), c.weight.Narrow(), y}, interp.Options{}))
	return tensor.Widen(y)
}
