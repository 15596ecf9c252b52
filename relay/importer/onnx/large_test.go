package onnx

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// TestAChainOf100000Nodes is deeper than any stack.
func TestAChainOf100000Nodes(t *testing.T) {
	const length = 100_000
	g := graphOf(values(value("v0", 1, 2)), values(value("v"+strconv.Itoa(length), 1)))
	for i := range length {
		g.Node = append(g.Node, op([]string{"Neg", "Abs"}[i%2], names("v"+strconv.Itoa(i)), names("v"+strconv.Itoa(i+1))))
	}
	m, _ := load(t, model(17, g), Options{})
	y := compute(t, m, tensor.Of(tensor.Float32, tensor.Shape{2}, float32(-3), 4))
	require.Equal(t, []float32{3, 4}, tensor.View[float32](y[0]))
}

// TestConstantsBeyondTwoGigabytes has one of 3 GB, and one that lies behind 4 GB, in a file that is mostly a hole.
func TestConstantsBeyondTwoGigabytes(t *testing.T) {
	const big, far = 3 << 30, 4<<30 + 16
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "weights.bin"))
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{7}, big-1)
	require.NoError(t, err)
	_, err = f.WriteAt(binary.LittleEndian.AppendUint32(nil, math.Float32bits(1.5)), far)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	outside := func(name string, d int32, dims []int64, offset, length int) *pb.TensorProto {
		entry := func(k string, v int) *pb.StringStringEntryProto {
			text := strconv.Itoa(v)
			return &pb.StringStringEntryProto{Key: &k, Value: &text}
		}
		location := &pb.StringStringEntryProto{Key: proto.String("location"), Value: proto.String("weights.bin")}
		return &pb.TensorProto{Name: &name, DataType: &d, Dims: dims, DataLocation: proto.Int32(1),
			ExternalData: []*pb.StringStringEntryProto{location, entry("offset", offset), entry("length", length)}}
	}
	g := graphOf(values(value("x", 1, 1), value("i", 7, 1)), values(value("y", 1), value("z", 2)),
		op("Add", names("x", "far"), names("y")), op("Gather", names("big", "i"), names("z")))
	g.Initializer = []*pb.TensorProto{outside("big", 2, []int64{big / 1024, 1024}, 0, big), outside("far", 1, []int64{1}, far, 4)}
	path := filepath.Join(dir, "model.onnx")
	require.NoError(t, os.WriteFile(path, bytesOf(t, model(17, g)), 0o600))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, _, err := Import(context.Background(), path, Options{})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.NoError(t, relay.Verify(m))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "the file is mapped, not read")
	constants := map[string]*tensor.Tensor{}
	for e := range relay.PostOrder(m.Main().Body, false) {
		if c, ok := e.(*relay.Constant); ok {
			constants[c.Name] = c.Value
		}
	}
	require.Len(t, constants["big"].Data, big)
	require.Equal(t, byte(7), constants["big"].Data[big-1])
	require.Equal(t, float32(1.5), tensor.View[float32](constants["far"])[0])
	require.NoError(t, m.Close())

	g.Initializer[1] = outside("far", 1, []int64{1}, far+4, 4)
	require.NoError(t, os.WriteFile(path, bytesOf(t, model(17, g)), 0o600))
	_, _, err = Import(context.Background(), path, Options{})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, `external data "weights.bin" has 4294967316 bytes, wanted 4 at offset 4294967316`)
}
