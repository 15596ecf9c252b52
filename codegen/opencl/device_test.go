package opencl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/runtime"
	device "github.com/texel-ml/texel/runtime/opencl"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/texture"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
)

func pocl(t testing.TB) *target.Target {
	record, err := target.Parse("pocl")
	require.NoError(t, err)
	return record
}

// emit writes kernels and gives them to clang.
func emit(t testing.TB, kernels []*tir.Kernel, to *target.Target) []*Kernel {
	t.Helper()
	var list []*Kernel
	for _, k := range kernels {
		out, err := Emit(k, to)
		require.NoError(t, err)
		compiles(t, out.Source)
		list = append(list, out)
	}
	return list
}

// onDevice runs kernels on the first OpenCL device, on what args holds for the buffers that are read first, and returns
// what they wrote. Textures and buffers of between pass values from kernel to kernel.
func onDevice(t testing.TB, kernels []*tir.Kernel, between []*tir.Buffer, args map[*tir.Buffer]*tensor.Tensor, scalars ...int64) map[*tir.Buffer]*tensor.Tensor {
	t.Helper()
	plan := &artifact.Plan{Format: artifact.PlanFormat, Function: "main", Pools: []artifact.Pool{{Name: "io", Kind: artifact.External}, {Name: "arena", Kind: artifact.Arena}}}
	names := map[*tir.Buffer]string{}
	add := func(b *tir.Buffer, pool string) *artifact.Tensor {
		names[b] = fmt.Sprintf("t%d", len(names))
		plan.Tensors = append(plan.Tensors, artifact.Tensor{Name: names[b], DType: b.DType, Shape: b.Shape, Pool: pool, Bytes: int64(b.DType.Bytes(b.Elems()))})
		return &plan.Tensors[len(plan.Tensors)-1]
	}
	arena := &plan.Pools[1]
	for _, b := range between {
		if b.Scope != tir.Texture {
			x := add(b, "arena")
			x.Offset = arena.Bytes
			arena.Bytes += (x.Bytes + 127) &^ 127
		}
	}
	for _, b := range between {
		if b.Scope == tir.Texture {
			m, err := texture.Fold(b.Shape, b.DType, texture.Folding(*b.Folding), texture.LimitsOf(pocl(t)))
			require.NoError(t, err)
			pool := fmt.Sprintf("image%d", len(plan.Pools))
			x := add(b, pool)
			x.Image = &artifact.Image{Width: int64(m.Width), Height: int64(m.Height), Layers: int64(m.Layers), Format: m.Texel.Format()}
			plan.Pools = append(plan.Pools, artifact.Pool{Name: pool, Kind: artifact.ImagePool, Width: x.Image.Width, Height: x.Image.Height, Bytes: m.Bytes()})
		}
	}
	code := map[string][]byte{}
	results := map[*tir.Buffer]*tensor.Tensor{}
	var inputs, outputs []*tensor.Tensor
	for i, out := range emit(t, kernels, pocl(t)) {
		k := kernels[i]
		file := out.Name + ".cl"
		code[file] = []byte(out.Source)
		plan.Kernels = append(plan.Kernels, artifact.Kernel{Name: out.Name, File: file})
		l := artifact.Launch{Kind: artifact.KernelLaunch, Name: out.Name, Kernel: out.Name, Grid: out.Grid, Group: out.Group, Scalars: scalars}
		for j, b := range k.Params {
			if names[b] == "" {
				x := add(b, "io")
				port := artifact.Port{Name: x.Name, DType: b.DType, Shape: b.Shape, Tensor: x.Name}
				if out.Args[j].Writes {
					plan.Outputs = append(plan.Outputs, port)
					results[b] = tensor.New(b.DType, b.Shape)
					outputs = append(outputs, results[b])
				} else {
					require.NotNil(t, args[b], b.Name)
					plan.Inputs = append(plan.Inputs, port)
					inputs = append(inputs, args[b])
				}
			}
			l.Buffers = append(l.Buffers, names[b])
		}
		plan.Launches = append(plan.Launches, l)
	}
	program, err := device.Device{}.Load(runtime.Loading{Variant: &artifact.Variant{}, Plan: plan, Code: code})
	if errors.Is(err, diag.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer program.Close()
	runner, err := program.New(runtime.InstanceOptions{})
	require.NoError(t, err)
	defer runner.Close()
	for i, x := range inputs {
		runner.BindInput(i, x.Data)
	}
	for i, x := range outputs {
		runner.BindOutput(i, x.Data)
	}
	require.NoError(t, runner.Run(nil))
	return results
}

// agree compares the device with the interpreter. Integers must be equal.
func agree(t *testing.T, kernels []*tir.Kernel, between []*tir.Buffer, args map[*tir.Buffer]*tensor.Tensor, tol numtest.Tolerance, scalars ...int64) {
	t.Helper()
	got := onDevice(t, kernels, between, args, scalars...)
	want := map[*tir.Buffer]*tensor.Tensor{}
	for b, x := range args {
		want[b] = x
	}
	opts := interp.Options{Scalars: map[*tir.Var]int64{}}
	for i, v := range kernels[0].Scalars {
		opts.Scalars[v] = scalars[i]
	}
	require.NoError(t, interp.RunKernels(context.Background(), kernels, want, opts))
	require.NotEmpty(t, got)
	for b, x := range got {
		require.NoError(t, numtest.Compare(x, want[b], tol), "%s of %s", b.Name, kernels[0].Name)
	}
}

// ramp fills a tensor with small numbers that differ.
func ramp(d tensor.DType, shape ...int) *tensor.Tensor {
	w := tensor.NewWide(d, shape)
	for i := range w.Shape.Elems() {
		v := math.Mod(float64(i)*0.37, 3) - 1.5
		if w.F != nil {
			w.F[i] = v
		} else if d == tensor.Bool {
			w.I[i] = int64(i*7%3) & 1
		} else {
			w.I[i] = int64(i*7%23) - 11*int64(map[bool]int{true: 1}[d.Kind() == tensor.Signed])
		}
	}
	return w.Narrow()
}

// all is a kernel that computes each function on whole vectors of the operands: outs[k][i] = fs[k](ins[…][i]). Scalars
// with one lane.
func all(name string, ins []*tir.Buffer, fs []func(x []tir.Expr) tir.Expr, lanes int) *tir.Kernel {
	n := ins[0].Shape[0]
	i := tir.NewVar("i")
	var at tir.Expr = i
	if lanes > 1 {
		at = &tir.Ramp{Base: tir.Times(i, tir.I(lanes)), Stride: tir.I(1), Lanes: lanes}
	}
	x := make([]tir.Expr, len(ins))
	for k, b := range ins {
		x[k] = &tir.Load{Buffer: b, Indices: []tir.Expr{at}}
	}
	k := &tir.Kernel{Name: name, Params: append([]*tir.Buffer{}, ins...), Outputs: len(fs), GridExtent: 1}
	var stores []tir.Stmt
	for j, f := range fs {
		value := f(x)
		out := &tir.Buffer{Name: fmt.Sprintf("out%d", j), DType: value.Type().DType, Shape: []int{n}, Scope: tir.Global}
		k.Params = append(k.Params, out)
		stores = append(stores, &tir.Store{Buffer: out, Indices: []tir.Expr{at}, Value: value})
	}
	k.Body = &tir.For{Var: i, Min: tir.I(0), Extent: tir.I(n / lanes), Kind: tir.Bound, Thread: "threadIdx.x", Body: &tir.Seq{Stmts: stores}}
	return k
}

// special are floats that conversions and comparisons trip over.
var special = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-3, 127.5, 128, -128.5, -129, 255.4, 255.5, 256, -0.9, 32767.5, -32768.5,
	65535.5, 65536, 2147483520, 2147483648, -2147483648, -2147483904, 4294967040, 4294967296, 9.2e18, 9.3e18, -9.3e18, 1.8e19, 1.9e19, 3e38, -3e38,
	math.Inf(1), math.Inf(-1), math.NaN(), 1.0009765625, 1.00048828125, 1.00146484375, 1.00390625, 1.01171875, 65519, 65520, 6e-8, 3e-8, -7.25}

// integers are integers near the ends of every type.
var integers = []int64{0, 1, -1, 2, -2, 3, -3, 5, 7, -7, 100, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, 65535, 65536, 1<<31 - 1, 1 << 31, -1 << 31,
	1<<32 - 1, 1 << 32, 1<<53 + 1, 1<<63 - 1, -1 << 63, 42, -42}

// values returns n values of type d, the special ones first and again from start on.
func values(d tensor.DType, n, start int) *tensor.Tensor {
	w := tensor.NewWide(d, tensor.Shape{n})
	for i := range n {
		if w.F != nil {
			w.F[i] = tensor.Round(d, special[(i+start)%len(special)])
		} else if w.I[i] = tensor.Wrap(d, integers[(i+start)%len(integers)]); d == tensor.Bool {
			w.I[i] = integers[(i+start)%len(integers)] & 1
		}
	}
	return w.Narrow()
}

var computed = []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
	tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Bool}

func TestCasts(t *testing.T) {
	for _, lanes := range []int{1, 4} {
		for _, from := range computed {
			in := &tir.Buffer{Name: "x", DType: from, Shape: []int{48}, Scope: tir.Global}
			var fs []func(x []tir.Expr) tir.Expr
			for _, to := range computed {
				fs = append(fs, func(x []tir.Expr) tir.Expr { return &tir.Cast{DType: to, A: x[0]} })
			}
			k := all(fmt.Sprintf("cast_%v_%d", from, lanes), []*tir.Buffer{in}, fs, lanes)
			agree(t, []*tir.Kernel{k}, nil, map[*tir.Buffer]*tensor.Tensor{in: values(from, 48, 0)}, numtest.Tolerance{})
		}
	}
}

func TestBinary(t *testing.T) {
	for _, lanes := range []int{1, 3, 8} {
		for _, d := range computed {
			a := &tir.Buffer{Name: "a", DType: d, Shape: []int{48}, Scope: tir.Global}
			b := &tir.Buffer{Name: "b", DType: d, Shape: []int{48}, Scope: tir.Global}
			var fs []func(x []tir.Expr) tir.Expr
			for op := tir.Add; op <= tir.Or; op++ {
				divides := op == tir.Div || op == tir.Mod || op == tir.FloorDiv || op == tir.FloorMod
				switch {
				case d == tensor.Bool && (op < tir.BitAnd || op == tir.Shl || op == tir.Shr || op >= tir.LT && op <= tir.GE):
				case d.IsFloat() && (op >= tir.BitAnd && op <= tir.Shr || op == tir.FloorMod || op == tir.FloorDiv || op == tir.Mod):
				case op.IsLogical() && d != tensor.Bool:
				case divides && !d.IsFloat():
					fs = append(fs, func(x []tir.Expr) tir.Expr { // never by zero, nor the smallest by -1
						one := &tir.Int{DType: d, Value: 1}
						return tir.Bin(op, x[0], tir.Bin(tir.Max, one, x[1]))
					})
				default:
					fs = append(fs, func(x []tir.Expr) tir.Expr { return &tir.Binary{Op: op, A: x[0], B: x[1]} })
				}
			}
			fs = append(fs, func(x []tir.Expr) tir.Expr {
				return &tir.Select{Cond: &tir.Binary{Op: tir.NE, A: x[0], B: x[1]}, Then: x[1], Else: x[0]}
			})
			if d.Kind() == tensor.Signed {
				fs = append(fs, func(x []tir.Expr) tir.Expr { return tir.Bin(tir.FloorDiv, x[0], &tir.Int{DType: d, Value: -3}) },
					func(x []tir.Expr) tir.Expr { return tir.Bin(tir.FloorMod, x[0], &tir.Int{DType: d, Value: -3}) })
			}
			k := all(fmt.Sprintf("binary_%v_%d", d, lanes), []*tir.Buffer{a, b}, fs, lanes)
			tol := numtest.Tolerance{}
			if d.IsFloat() {
				tol.Rel = 2 * numtest.Relative(d, 1, 1)
			}
			agree(t, []*tir.Kernel{k}, nil, map[*tir.Buffer]*tensor.Tensor{a: values(d, 48, 0), b: values(d, 48, 5)}, tol)
		}
	}
}

func TestIntrinsics(t *testing.T) {
	domain := func(fn tir.Intrinsic) (lo, hi float64) {
		switch fn {
		case tir.Log, tir.Sqrt, tir.Rsqrt, tir.Pow, tir.Acosh:
			return 1.01, 9
		case tir.Asin, tir.Acos, tir.Atanh:
			return -0.95, 0.95
		}
		return -3.7, 4.2
	}
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
		for _, lanes := range []int{1, 4} {
			var fs []func(x []tir.Expr) tir.Expr
			x := &tir.Buffer{Name: "x", DType: d, Shape: []int{64}, Scope: tir.Global}
			for _, fn := range tir.Intrinsics() {
				lo, hi := domain(fn)
				if fn == tir.BitNot || fn == tir.Bits || fn == tir.FromBits {
					continue
				}
				fs = append(fs, func(x []tir.Expr) tir.Expr { // x in [0, 1)
					spread := func(c float64) tir.Expr {
						e := tir.Const(d, c)
						if lanes > 1 {
							return &tir.Broadcast{A: e, Lanes: lanes}
						}
						return e
					}
					v := tir.Plus(spread(lo), tir.Times(x[0], spread(hi-lo)))
					args := []tir.Expr{v}
					switch fn {
					case tir.Pow, tir.FloatMod:
						args = append(args, spread(1.75))
					case tir.FMA:
						args = append(args, v, spread(-1.75))
					}
					return &tir.Call{Fn: fn, Args: args}
				})
			}
			k := all(fmt.Sprintf("intrinsics_%v_%d", d, lanes), []*tir.Buffer{x}, fs, lanes)
			w := tensor.NewWide(d, tensor.Shape{64})
			for i := range w.F {
				w.F[i] = tensor.Round(d, (float64(i)+0.3)/64)
			}
			tol := numtest.Tolerance{Rel: 4 * numtest.Relative(d, 1, 4), Abs: 4 * numtest.Relative(d, 1, 4)}
			agree(t, []*tir.Kernel{k}, nil, map[*tir.Buffer]*tensor.Tensor{x: w.Narrow()}, tol)
		}
	}
	// what depends on the sign, on NaN and on infinities
	x := &tir.Buffer{Name: "x", DType: tensor.Float32, Shape: []int{48}, Scope: tir.Global}
	var fs []func(x []tir.Expr) tir.Expr
	for _, fn := range []tir.Intrinsic{tir.Round, tir.Floor, tir.Ceil, tir.Trunc, tir.Abs, tir.IsNaN, tir.IsInf, tir.Sigmoid, tir.Bits} {
		fs = append(fs, func(x []tir.Expr) tir.Expr { return &tir.Call{Fn: fn, Args: x} })
	}
	for _, lanes := range []int{1, 16} {
		k := all(fmt.Sprintf("edges_%d", lanes), []*tir.Buffer{x}, fs, lanes)
		agree(t, []*tir.Kernel{k}, nil, map[*tir.Buffer]*tensor.Tensor{x: values(tensor.Float32, 48, 0)}, numtest.Tolerance{Rel: 1e-6, Abs: 1e-30})
	}
	bits := &tir.Buffer{Name: "x", DType: tensor.Uint32, Shape: []int{48}, Scope: tir.Global}
	fromBits := []func(x []tir.Expr) tir.Expr{func(x []tir.Expr) tir.Expr { return &tir.Call{Fn: tir.FromBits, Args: x} }}
	for _, lanes := range []int{1, 4} {
		k := all(fmt.Sprintf("frombits_%d", lanes), []*tir.Buffer{bits}, fromBits, lanes)
		agree(t, []*tir.Kernel{k}, nil, map[*tir.Buffer]*tensor.Tensor{bits: values(tensor.Uint32, 48, 0)}, numtest.Tolerance{})
	}
	for _, d := range []tensor.DType{tensor.Int8, tensor.Int32, tensor.Int64, tensor.Uint16} {
		x := &tir.Buffer{Name: "x", DType: d, Shape: []int{48}, Scope: tir.Global}
		fs := []func(x []tir.Expr) tir.Expr{
			func(x []tir.Expr) tir.Expr { return &tir.Call{Fn: tir.Abs, Args: x} },
			func(x []tir.Expr) tir.Expr { return &tir.Call{Fn: tir.BitNot, Args: x} },
		}
		for _, lanes := range []int{1, 4} {
			agree(t, []*tir.Kernel{all(fmt.Sprintf("int_%v_%d", d, lanes), []*tir.Buffer{x}, fs, lanes)}, nil, map[*tir.Buffer]*tensor.Tensor{x: values(d, 48, 0)}, numtest.Tolerance{})
		}
	}
}
