package opencl

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/memplan"
	"github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/tensor"
)

// The kernels of the tests, one a file. The last argument of spin is how long an element takes.
var sources = map[string]string{
	"add": `__kernel void add(__global float* restrict y, __global const float* restrict a, __global const float* restrict b, const long period)
{
    const int i = get_global_id(0);
    y[i] = a[i] + b[i % (int)period];
}
`,
	"twice": `__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void twice(__global float* y, __global const float* x)
{
    const int i = get_global_id(0);
    y[i] = 2.0f * x[i];
}
`,
	"below": `__kernel void below(__global uchar* restrict y, __global const float* restrict x, const long limit)
{
    y[0] = x[0] < (float)limit;
}
`,
	"count": `__kernel void count(__global long* restrict y, const long n) { y[0] = n; }
`,
	"spin": `__kernel void spin(__global float* restrict y, __global const float* restrict x, const long n)
{
    const int i = get_global_id(0);
    float v = x[i];
    for (long k = 0; k < n; ++k)
        v = v * 1.0000001f + 1e-30f;
    y[i] = v;
}
`,
	"fill":  `__kernel void fill(write_only image2d_t m, __global const float* restrict x) { const int i = get_global_id(0); write_imagef(m, (int2)(i % 16, i / 16), vload4(i, x)); }`,
	"fetch": `__kernel void fetch(__global float* restrict y, read_only image2d_t m) { const int i = get_global_id(0); vstore4(read_imagef(m, (int2)(i % 16, i / 16)), i, y); }`,
}

// model builds a small artifact.
type model struct {
	plan    *artifact.Plan
	weights map[string][]byte
	files   map[string]string // kernels that differ from sources
}

func newModel() *model {
	return &model{plan: &artifact.Plan{
		Format: artifact.PlanFormat, Function: "main",
		Pools: []artifact.Pool{{Name: "io", Kind: artifact.External}, {Name: "arena", Kind: artifact.Arena}, {Name: "weights", Kind: artifact.WeightPool}},
	}, weights: map[string][]byte{}, files: map[string]string{}}
}

func (m *model) tensor(pool, name string, d tensor.DType, shape ...int) *artifact.Tensor {
	s := tensor.Shape(shape)
	m.plan.Tensors = append(m.plan.Tensors, artifact.Tensor{Name: name, DType: d, Shape: s, Pool: pool, Bytes: int64(d.Bytes(s.Elems()))})
	return &m.plan.Tensors[len(m.plan.Tensors)-1]
}

func (m *model) input(name string, shape ...int) {
	m.tensor("io", name, tensor.Float32, shape...)
	m.plan.Inputs = append(m.plan.Inputs, artifact.Port{Name: name, DType: tensor.Float32, Shape: shape, Tensor: name})
}

func (m *model) output(name string, d tensor.DType, shape ...int) *artifact.Port {
	m.tensor("io", name, d, shape...)
	m.plan.Outputs = append(m.plan.Outputs, artifact.Port{Name: name, DType: d, Shape: shape, Tensor: name})
	return &m.plan.Outputs[len(m.plan.Outputs)-1]
}

func (m *model) weight(name string, values ...float32) {
	m.tensor("weights", name, tensor.Float32, len(values))
	m.weights[name] = tensor.Of(tensor.Float32, tensor.Shape{len(values)}, values...).Data
	m.plan.Weights = append(m.plan.Weights, artifact.Weight{Tensor: name, Bytes: int64(4 * len(values))})
}

// kernel is a launch of n work-items; the written tensor is the first argument.
func kernel(name string, n, group int64, scalars []int64, write string, reads ...string) artifact.Launch {
	l := artifact.Launch{Kind: artifact.KernelLaunch, Name: write, Kernel: name, Grid: []int64{n}, Scalars: scalars,
		Buffers: append([]string{write}, reads...), Reads: reads, Writes: []string{write}}
	if group > 0 {
		l.Group = []int64{group}
	}
	return l
}

func (m *model) add(list ...artifact.Launch) { m.plan.Launches = append(m.plan.Launches, list...) }

// write plans the memory and writes the file.
func (m *model) write(t testing.TB, features ...string) string {
	require.NoError(t, memplan.Assign(m.plan, memplan.Options{Alignment: 128}))
	steps, err := m.plan.Steps()
	require.NoError(t, err)
	var code []artifact.Code
	seen := map[string]bool{}
	for _, s := range steps {
		k := s.Launch.Kernel
		if k == "" || seen[k] {
			continue
		}
		seen[k] = true
		m.plan.Kernels = append(m.plan.Kernels, artifact.Kernel{Name: k, File: k + ".cl"})
		source := sources[k]
		if s, ok := m.files[k]; ok {
			source = s
		}
		code = append(code, artifact.Code{Name: k + ".cl", Data: []byte(source)})
	}
	path := filepath.Join(t.TempDir(), "model.texel")
	sum := sha256.Sum256(nil)
	w, err := artifact.Create(path, artifact.Header{Producer: artifact.Producer{Name: "test"}, Model: artifact.Model{Name: "model", Digest: hex.EncodeToString(sum[:])}})
	require.NoError(t, err)
	defer w.Close()
	for i := range m.plan.Weights {
		m.plan.Weights[i].Digest, err = w.Weight(m.weights[m.plan.Weights[i].Tensor])
		require.NoError(t, err)
	}
	require.NoError(t, w.Variant("pocl", "opencl", "", features, m.plan, code))
	require.NoError(t, w.Commit())
	return path
}

// tryOpen skips the test where there is no device.
func tryOpen(t testing.TB, path string) (*runtime.Module, error) {
	if _, _, err := (Device{}).open(); errors.Is(err, diag.ErrMissing) {
		t.Skip(err)
	}
	return runtime.Open(path, runtime.Options{Devices: []runtime.Device{Device{}}})
}

func open(t testing.TB, path string) *runtime.Module {
	m, err := tryOpen(t, path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

func instance(t testing.TB, m *runtime.Module) *runtime.Instance {
	in, err := m.New(runtime.InstanceOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, in.Close()) })
	return in
}

const n = 1 << 12

// chain is y = 2 (x + w) + w with a bias w of four values.
func chain() *model {
	m := newModel()
	m.input("x", n)
	m.output("y", tensor.Float32, n)
	m.weight("w", 1, 2, 3, 4)
	m.tensor("arena", "a", tensor.Float32, n)
	m.tensor("arena", "b", tensor.Float32, n)
	twice := kernel("twice", n, 64, nil, "b", "a")
	twice.InPlace = []artifact.InPlace{{Write: "b", Read: "a"}}
	m.add(kernel("add", n, 0, []int64{4}, "a", "x", "w"), twice, kernel("add", n, 256, []int64{4}, "y", "b", "w"))
	return m
}

func wantChain(x float32, i int) float32 { w := float32(1 + i%4); return 2*(x+w) + w }

func floats(data []byte) []float32 {
	return tensor.View[float32](&tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{len(data) / 4}, Data: data})
}

func fill(data []byte, base float32) {
	for i, f := 0, floats(data); i < len(f); i++ {
		f[i] = base + float32(i%17)
	}
}

func checkChain(t testing.TB, in *runtime.Instance) {
	x, y := floats(in.Input(0)), floats(in.Output(0))
	for i := range y {
		require.Equal(t, wantChain(x[i], i), y[i], "element %d", i)
	}
}
