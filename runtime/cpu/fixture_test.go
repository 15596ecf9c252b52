package cpu

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/memplan"
	"github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// model builds a small artifact for the kernels of testdata/twin.c.
type model struct {
	plan    *artifact.Plan
	weights map[string][]byte
	spare   *artifact.Plan // of a second variant that runs anywhere on this architecture
}

func newModel() *model {
	return &model{plan: &artifact.Plan{
		Format: artifact.PlanFormat, Function: "main",
		Pools:   []artifact.Pool{{Name: "io", Kind: artifact.External}, {Name: "arena", Kind: artifact.Arena}, {Name: "weights", Kind: artifact.WeightPool}},
		Kernels: []artifact.Kernel{{Name: "add"}, {Name: "twice", Scratch: 64}, {Name: "positive"}, {Name: "below"}, {Name: "number"}, {Name: "spin"}},
	}, weights: map[string][]byte{}}
}

func (m *model) tensor(pool, name string, d tensor.DType, shape ...int) *artifact.Tensor {
	s := tensor.Shape(shape)
	m.plan.Tensors = append(m.plan.Tensors, artifact.Tensor{Name: name, DType: d, Shape: s, Pool: pool, Bytes: int64(d.Bytes(s.Elems()))})
	return &m.plan.Tensors[len(m.plan.Tensors)-1]
}

func (m *model) input(name string, shape ...int) *artifact.Port {
	m.tensor("io", name, tensor.Float32, shape...)
	m.plan.Inputs = append(m.plan.Inputs, artifact.Port{Name: name, DType: tensor.Float32, Shape: shape, Tensor: name})
	return &m.plan.Inputs[len(m.plan.Inputs)-1]
}

func (m *model) output(name string, shape ...int) *artifact.Port {
	m.tensor("io", name, tensor.Float32, shape...)
	m.plan.Outputs = append(m.plan.Outputs, artifact.Port{Name: name, DType: tensor.Float32, Shape: shape, Tensor: name})
	return &m.plan.Outputs[len(m.plan.Outputs)-1]
}

func (m *model) weight(name string, values ...float32) {
	m.tensor("weights", name, tensor.Float32, len(values))
	m.weights[name] = tensor.Of(tensor.Float32, tensor.Shape{len(values)}, values...).Data
	m.plan.Weights = append(m.plan.Weights, artifact.Weight{Tensor: name, Bytes: int64(4 * len(values))})
}

func (m *model) kernel(kernel string, grid, chunk int64, scalars []int64, write string, reads ...string) artifact.Launch {
	return artifact.Launch{Kind: artifact.KernelLaunch, Name: write, Kernel: kernel, Grid: []int64{grid}, Chunk: chunk, Scalars: scalars,
		Buffers: append([]string{write}, reads...), Reads: reads, Writes: []string{write}}
}

func (m *model) add(l ...artifact.Launch) { m.plan.Launches = append(m.plan.Launches, l...) }

// write plans the memory and writes the file; change may alter what the manifest says of the variant.
func (m *model) write(t testing.TB, change func(arch *string, features *[]string)) string {
	require.NoError(t, memplan.Assign(m.plan, memplan.Options{}))
	code, err := os.ReadFile(filepath.Join("testdata", "twin_"+goruntime.GOARCH+".so"))
	require.NoError(t, err)
	host, err := target.Host()
	require.NoError(t, err)
	arch, features := host.Arch, []string(nil)
	if change != nil {
		change(&arch, &features)
	}
	path := filepath.Join(t.TempDir(), "model.texel")
	w, err := artifact.Create(path, artifact.Header{Producer: artifact.Producer{Name: "test"}, Model: artifact.Model{Name: "model", Digest: zeroDigest}})
	require.NoError(t, err)
	defer w.Close()
	for i := range m.plan.Weights {
		m.plan.Weights[i].Digest, err = w.Weight(m.weights[m.plan.Weights[i].Tensor])
		require.NoError(t, err)
	}
	require.NoError(t, w.Variant("host", "cpu", arch, features, m.plan, []artifact.Code{{Name: "kernels.so", Data: code}}))
	if m.spare != nil {
		require.NoError(t, w.Variant("spare", "cpu", host.Arch, nil, m.spare, []artifact.Code{{Name: "kernels.so", Data: code}}))
	}
	require.NoError(t, w.Commit())
	return path
}

var zeroDigest = func() string {
	sum := sha256.Sum256(nil)
	return hex.EncodeToString(sum[:])
}()

func open(t testing.TB, path string) *runtime.Module {
	m, err := runtime.Open(path, runtime.Options{Devices: []runtime.Device{Device{}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

func instance(t testing.TB, m *runtime.Module, threads int) *runtime.Instance {
	in, err := m.New(runtime.InstanceOptions{Threads: threads})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, in.Close()) })
	return in
}

const n = 1 << 12

// chain is y = 2 (x + w) + w with a bias w of four values.
func chain() *model {
	m := newModel()
	m.input("x", n)
	m.output("y", n)
	m.weight("w", 1, 2, 3, 4)
	m.tensor("arena", "a", tensor.Float32, n)
	m.tensor("arena", "b", tensor.Float32, n)
	twice := m.kernel("twice", n, 64, nil, "b", "a")
	twice.InPlace = []artifact.InPlace{{Write: "b", Read: "a"}}
	m.add(m.kernel("add", n, 256, []int64{4}, "a", "x", "w"), twice, m.kernel("add", n, n, []int64{4}, "y", "b", "w"))
	return m
}

func wantChain(x float32, i int) float32 { w := float32(1 + i%4); return 2*(x+w) + w }

// long is y = 2x by a kernel of n steps that takes about a second.
func long() *model {
	m := newModel()
	m.input("x", n)
	m.output("y", n)
	m.add(m.kernel("spin", n, 1, []int64{400_000}, "y", "x"))
	return m
}

func floats(data []byte) []float32 {
	return tensor.View[float32](&tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{len(data) / 4}, Data: data})
}

func fill(data []byte, base float32) {
	for i, f := 0, floats(data); i < len(f); i++ {
		f[i] = base + float32(math.Mod(float64(i), 17))
	}
}
