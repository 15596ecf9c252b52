package lower

import (
	"math"
	"math/big"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// Winograd is the algorithm F(m×m, r×r): a tile of m × m results of a convolution with a window of r × r from n × n elements
// of its operand, n = m + r − 1, by n² multiplications in place of m²·r². With d the elements and g the window,
//
//	tile = Aᵀ·((G·g·Gᵀ) ⊙ (Bᵀ·d·B))·A
//
// and over channels the middle product is a sum, so that it is n² products of matrices: tiles × channels by channels × channels.
//
// The matrices are those of Toom and Cook. A polynomial of degree n − 1 is known by its values at n − 1 points and its leading
// coefficient, its value "at infinity". Of two factors with m and r coefficients the values are multiplied, and Lagrange's
// formula gives the product's coefficients. The transpose of that computes a convolution with a sliding window. With points p_j
// and N_j = Π_{l≠j} (p_j − p_l):
//
//	A[j] = 1, p_j, p_j², …           G[j] = (1, p_j, p_j², …) / N_j           B[j] = coefficients of Π_{l≠j} (x − p_l)
//
// and at infinity A and G end with 1 and B has Π_l (x − p_l). B[j] may be divided and G[j] multiplied by anything: by the power
// of two that leaves G's largest coefficient in (½, 1], so that transformed weights are about as large as weights, and by the
// sign that makes the first coefficient of B positive.
//
// S. Winograd, Arithmetic Complexity of Computations, SIAM 1980; A. Lavin and S. Gray, Fast Algorithms for Convolutional
// Neural Networks, arXiv:1509.09308 (2015).
type Winograd struct {
	Tile, Window int        // m and r
	Points       []*big.Rat // the finite ones, n − 1
	A, B, G      [][]*big.Rat
}

// NewWinograd returns F(tile×tile, window×window) with the points of WinogradPoints.
func NewWinograd(tile, window int) (*Winograd, error) {
	if tile < 1 || window < 1 || tile+window-1 < 2 {
		return nil, diag.Invalid("winograd", "", "F(%d, %d) has a tile of %d and a window of %d; wanted at least 1 of each and 2 of one", tile, window, tile, window)
	}
	points := WinogradPoints(tile + window - 2)
	if points == nil {
		return nil, diag.Unsupported("winograd", "", "F(%d, %d) needs %d points; wanted at most %d", tile, window, tile+window-2, 1+2*len(winogradPairs))
	}
	return WinogradAt(tile, window, points)
}

// winogradPairs are the points besides 0, each with its negative, of the algorithms with one, two and three pairs. A pair costs
// no more than a point: the even and the odd half of a sum serve both.
//
// Of all sets {0, ±a, ±b, ±c} of multiples of 1/8 up to 3 these have the least mean error in Bound's sense, 1.67, 4.78 and 20.6
// times that of direct convolution's products for windows of 3 × 3. The customary {0, ±1, ±2} of F(4×4, 3×3) has 10.8, and {0,
// ±1, ±2, ±3} of F(6×6, 3×3) 965. Their powers are short binary fractions, so that A and B are exact also in float16.
var winogradPairs = [][]*big.Rat{
	{big.NewRat(1, 1)},
	{big.NewRat(5, 8), big.NewRat(3, 2)},
	{big.NewRat(1, 2), big.NewRat(1, 1), big.NewRat(2, 1)},
}

// WinogradPoints returns n points: 0, then pairs ±p; with an even number the last pair is halved. nil for n above 7.
func WinogradPoints(n int) []*big.Rat {
	points := []*big.Rat{new(big.Rat)}
	if n > 1 {
		if (n-2)/2 >= len(winogradPairs) {
			return nil
		}
		for _, p := range winogradPairs[(n-2)/2] {
			points = append(points, p, new(big.Rat).Neg(p))
		}
	}
	return points[:n]
}

// WinogradAt returns F(tile×tile, window×window) at the given points, tile + window − 2 that differ.
func WinogradAt(tile, window int, points []*big.Rat) (*Winograd, error) {
	n := tile + window - 1
	if tile < 1 || window < 1 || len(points) != n-1 {
		return nil, diag.Invalid("winograd", "", "F(%d, %d) has %d points; wanted %d besides infinity", tile, window, len(points), n-1)
	}
	w := &Winograd{Tile: tile, Window: window, Points: points}
	one := big.NewRat(1, 1)
	for j, p := range points {
		others, norm := []*big.Rat{one}, one
		for l, q := range points {
			if l == j {
				continue
			}
			between := new(big.Rat).Sub(p, q)
			if between.Sign() == 0 {
				return nil, diag.Invalid("winograd", "", "F(%d, %d) has the point %s twice; wanted points that differ", tile, window, p.RatString())
			}
			others, norm = timesRoot(others, q), new(big.Rat).Mul(norm, between)
		}
		w.addPoint(powers(one, p, tile), others, powers(new(big.Rat).Inv(norm), p, window))
	}
	all := []*big.Rat{one}
	for _, q := range points {
		all = timesRoot(all, q)
	}
	w.addPoint(last(tile), all, last(window))
	return w, nil
}

// addPoint adds a row to each matrix, and moves a power of two and the sign from G to B.
func (w *Winograd) addPoint(a, b, g []*big.Rat) {
	largest := 0.0
	for _, c := range g {
		v, _ := c.Float64()
		largest = max(largest, math.Abs(v))
	}
	_, exponent := math.Frexp(largest)
	if math.Ldexp(0.5, exponent) == largest { // a power of two becomes 1, not ½
		exponent--
	}
	scale := new(big.Rat).SetFloat64(math.Ldexp(1, exponent))
	for _, c := range b {
		if c.Sign() != 0 {
			if c.Sign() < 0 {
				scale.Neg(scale)
			}
			break
		}
	}
	row := func(list []*big.Rat, n int, by *big.Rat) []*big.Rat {
		out := make([]*big.Rat, n)
		for i := range out {
			out[i] = new(big.Rat)
			if i < len(list) {
				out[i].Mul(list[i], by)
			}
		}
		return out
	}
	w.A = append(w.A, a)
	w.B = append(w.B, row(b, w.Size(), scale))
	w.G = append(w.G, row(g, w.Window, new(big.Rat).Inv(scale)))
}

// timesRoot returns the coefficients of p·(x − root), lowest first.
func timesRoot(p []*big.Rat, root *big.Rat) []*big.Rat {
	out := make([]*big.Rat, len(p)+1)
	for i := range out {
		out[i] = new(big.Rat)
		if i > 0 {
			out[i].Set(p[i-1])
		}
		if i < len(p) {
			out[i].Sub(out[i], new(big.Rat).Mul(p[i], root))
		}
	}
	return out
}

// powers returns c, c·p, c·p², …: n of them.
func powers(c, p *big.Rat, n int) []*big.Rat {
	out := []*big.Rat{c}
	for len(out) < n {
		out = append(out, new(big.Rat).Mul(out[len(out)-1], p))
	}
	return out
}

// last returns n − 1 zeros and 1.
func last(n int) []*big.Rat {
	out := make([]*big.Rat, n)
	for i := range out {
		out[i] = new(big.Rat)
	}
	out[n-1].SetInt64(1)
	return out
}

// Size returns n: a tile needs n × n elements, and has that many products.
func (w *Winograd) Size() int { return w.Tile + w.Window - 1 }

// Multiplications returns how many products of a transformed element and a transformed weight there are for one result and
// channel; direct convolution has r².
func (w *Winograd) Multiplications() float64 {
	n, m := float64(w.Size()), float64(w.Tile)
	return n * n / (m * m)
}

// winogradRisk is the probability with which an error of all results may be above Bound's, if roundings are as they are
// taken to be.
const winogradRisk = 1e-6

// Bound returns what the error of one result of a sum over channels may be: its root of the mean square over all places of a
// tile, and the largest of so many results. Both are relative to the root of the mean square of the exact results.
//
// Elements and weights are taken to be independent of each other with mean 0, and roundings to be independent with mean 0 and at
// most a unit u(d) of the rounded value (N. Higham and T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J.
// Sci. Comput. 2019). Then, with e_j = |B[j]|·|G[j]| (Euclidean lengths), C channels and place (a, b) in a tile, the squares of
// the errors add up to
//
//	Σ_{j,k} A[j,a]²·A[k,b]²·e_j²·e_k² · (u²·((C + 1)/2 + 1 + q_j + q_k + t_a + t_b) + 2·s²) / r²  +  s²
//
// where u is the unit of the type in which is computed, (C + 1)/2 + 1 is for a sum of C products one after the other, q_j is how
// many roundings the row j of both transforms makes, t_a that of column a of A, and s is the unit of d where d is only stored
// (float16): of the transformed elements, the transformed weights and the result. By Hoeffding's inequality the largest of N
// errors is above √(2·ln(2N/p)) times that with a probability of p; p is one in a million.
func (w *Winograd) Bound(d tensor.DType, channels, results int) (rms, most float64) {
	work := working(d)
	u, s := tensor.Unit(work), 0.0
	if work != d {
		s = tensor.Unit(d)
	}
	rank := w.Size()
	e, q := make([]float64, rank), make([]float64, rank)
	for j := range rank {
		e[j] = squares(w.B[j]) * squares(w.G[j])
		q[j] = roundings(w.B[j], work) + roundings(w.G[j], work)
	}
	column := func(a int) []*big.Rat {
		list := make([]*big.Rat, rank)
		for j := range list {
			list[j] = w.A[j][a]
		}
		return list
	}
	r2 := float64(w.Window * w.Window)
	mean, worst := 0.0, 0.0
	for a := range w.Tile {
		for b := range w.Tile {
			sum := 0.0
			ta, tb := roundings(column(a), work), roundings(column(b), work)
			for j := range rank {
				for k := range rank {
					by := square64(w.A[j][a]) * square64(w.A[k][b]) * e[j] * e[k]
					sum += by * (u*u*(float64(channels+1)/2+1+q[j]+q[k]+ta+tb) + 2*s*s)
				}
			}
			sum = sum/r2 + s*s
			mean += sum / float64(w.Tile*w.Tile)
			worst = max(worst, sum)
		}
	}
	return math.Sqrt(mean), math.Sqrt(worst * 2 * math.Log(2*float64(max(1, results))/winogradRisk))
}

// square64 returns c².
func square64(c *big.Rat) float64 {
	v, _ := c.Float64()
	return v * v
}

// squares returns Σ c².
func squares(list []*big.Rat) float64 {
	sum := 0.0
	for _, c := range list {
		sum += square64(c)
	}
	return sum
}

// roundings returns how many times the length of a row is rounded in a sum of its multiples: in each addition, once in all
// products together unless they only scale by powers of two, and once for coefficients that type d does not have.
func roundings(row []*big.Rat, d tensor.DType) float64 {
	terms, products, inexact := 0, 0, 0
	for _, c := range row {
		if c.Sign() == 0 {
			continue
		}
		terms++
		v, exact := c.Float64()
		if f, _ := math.Frexp(math.Abs(v)); f != 0.5 {
			products = 1
		}
		if !exact || tensor.Round(d, v) != v {
			inexact = 1
		}
	}
	return float64(terms - 1 + products + inexact)
}
