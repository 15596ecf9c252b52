package npy

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

func file(descr, order, shape string, data ...byte) []byte {
	text := "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n"
	head := append([]byte(magic+"\x01\x00"), byte(len(text)), byte(len(text)>>8))
	return append(append(head, text...), data...)
}

func TestArraysComeBack(t *testing.T) {
	for _, x := range []*tensor.Tensor{
		tensor.Of[float32](tensor.Float32, tensor.Shape{2, 3}, 1, 2, 3, 4, 5, 6),
		tensor.Of[int64](tensor.Int64, tensor.Shape{}, -7),
		tensor.Of[uint8](tensor.Uint8, tensor.Shape{3}, 1, 2, 3),
		tensor.Of(tensor.Bool, tensor.Shape{2}, true, false),
		tensor.Of[uint16](tensor.Float16, tensor.Shape{1}, 0x3c00),
		tensor.New(tensor.Float64, tensor.Shape{0, 4}),
	} {
		back, err := Read(bytes.NewReader(Bytes(x)), "x")
		require.NoError(t, err)
		require.Equal(t, x, back)
	}
}

func TestTypesThatNumPyLacksAreWidened(t *testing.T) {
	back, err := Read(bytes.NewReader(Bytes(tensor.Of[uint16](tensor.BFloat16, tensor.Shape{2}, 0x3f80, 0xc000))), "x")
	require.NoError(t, err)
	require.Equal(t, tensor.Of[float32](tensor.Float32, tensor.Shape{2}, 1, -2), back)
	back, err = Read(bytes.NewReader(Bytes(&tensor.Tensor{DType: tensor.Int4, Shape: tensor.Shape{3}, Data: []byte{0xf1, 0x07}})), "x")
	require.NoError(t, err)
	require.Equal(t, tensor.Of[int8](tensor.Int8, tensor.Shape{3}, 1, -1, 7), back)
}

func TestOtherOrdersAreNormalised(t *testing.T) {
	x, err := Read(bytes.NewReader(file("|u1", "True", "(2, 3)", 1, 2, 3, 4, 5, 6)), "x")
	require.NoError(t, err)
	require.Equal(t, []byte{1, 3, 5, 2, 4, 6}, x.Data)
	x, err = Read(bytes.NewReader(file(">i2", "False", "(2,)", 1, 2, 3, 4)), "x")
	require.NoError(t, err)
	require.Equal(t, []int16{0x102, 0x304}, tensor.View[int16](x))
}

func TestDamagedFilesAreRefused(t *testing.T) {
	for want, data := range map[string][]byte{
		"is not an array file":            []byte("PK\x03\x04 something else"),
		"format version 9.0":              []byte(magic + "\x09\x00aaaaaa"),
		"ends within its header":          file("<f4", "False", "(1,)")[:20],
		`element type "|O8"`:              file("|O8", "False", "(1,)", 1),
		"needs 8 bytes, found 7":          file("<f4", "False", "(2,)", 1, 2, 3, 4, 5, 6, 7),
		"larger than memory":              file("<f4", "False", "(9999999999, 9999999999)"),
		"needs 4000000000 bytes, found 2": file("<f4", "False", "(1000000000,)", 1, 2),
		`extent "-1"`:                     file("<f4", "False", "(-1,)"),
		"an order that is neither":        file("<f4", "Maybe", "(1,)"),
		"a shape that is not a tuple":     file("<f4", "False", "5"),
		"a type that is not a plain one":  file("', [('a'", "False", "(1,)"),
	} {
		_, err := Read(bytes.NewReader(data), "x.npy")
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "x.npy")
	}
}

func TestArchives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	f, err := os.Create(path)
	require.NoError(t, err)
	arrays := []Named{{"b", tensor.Of[float32](tensor.Float32, tensor.Shape{1}, 5)}, {"a/c", tensor.New(tensor.Int8, tensor.Shape{2, 2})}}
	require.NoError(t, WriteArchive(f, arrays))
	require.NoError(t, f.Close())
	back, err := ReadArchive(path)
	require.NoError(t, err)
	require.Equal(t, arrays, back)

	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", 100)), 0o644))
	_, err = ReadArchive(path)
	require.ErrorIs(t, err, diag.ErrInvalid)
}

func TestWritingReportsAFullDisk(t *testing.T) {
	require.Error(t, Write(full{}, tensor.New(tensor.Int8, tensor.Shape{1})))
	require.Error(t, WriteArchive(full{}, []Named{{"a", tensor.New(tensor.Int8, tensor.Shape{1 << 16})}}))
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestPipesAndFoldersAreRefused has a pipe that nobody writes to, which would be waited for without end.
func TestPipesAndFoldersAreRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "x.npy")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, t.TempDir()} {
		_, err := ReadFile(path)
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, "is not a regular file")
		_, err = ReadArchive(path)
		require.ErrorIs(t, err, diag.ErrInvalid)
	}
}
