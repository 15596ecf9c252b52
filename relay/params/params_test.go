package params

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

func write(t testing.TB, list ...Param) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, list))
	return b.Bytes()
}

// weights has an array of every element type, and shapes of rank 0 to 3.
func weights() []Param {
	shapes := []tensor.Shape{{}, {3}, {2, 0}, {1, 2, 2}}
	var list []Param
	for i, d := range tensor.DTypes() {
		if _, ok := kinds[d]; !ok {
			continue
		}
		v := tensor.New(d, shapes[i%len(shapes)])
		for j := range v.Data {
			v.Data[j] = byte(j % 2)
		}
		list = append(list, Param{"layer." + d.String(), v})
	}
	return list
}

func TestTheFormatIsThatOfTheOlderToolChain(t *testing.T) {
	file := write(t, Param{"w", tensor.Of(tensor.Float32, tensor.Shape{1, 2}, float32(1), float32(-2))})
	require.Equal(t, strings.Join([]string{
		"b79c04054f8de5f7", "0000000000000000", // magic, reserved
		"0100000000000000", "0100000000000000", "77", // one name: "w"
		"0100000000000000",                     // one array
		"3fa1b496f0405edd", "0000000000000000", // magic, reserved
		"01000000", "00000000", "02000000", // CPU 0, two axes
		"02", "20", "0100", // float of 32 bits, one lane
		"0100000000000000", "0200000000000000", // (1, 2)
		"0800000000000000", "0000803f", "000000c0",
	}, ""), hex.EncodeToString(file))
}

func TestFilesComeBack(t *testing.T) {
	list := weights()
	require.Len(t, list, len(kinds))
	back, err := Read(write(t, list...))
	require.NoError(t, err)
	require.Equal(t, list, back)
	back, err = Read(write(t))
	require.NoError(t, err)
	require.Empty(t, back)

	var b bytes.Buffer
	require.NoError(t, WriteArray(&b, "w", list[0].Value))
	one, err := ReadArray(b.Bytes())
	require.NoError(t, err)
	require.Equal(t, list[0].Value, one)
}

func TestDamagedFilesAreRefused(t *testing.T) {
	w := tensor.Of(tensor.Float32, tensor.Shape{2, 2}, float32(1), 2, 3, 4)
	good := write(t, Param{"weight", w}, Param{"bias", tensor.Of(tensor.Bool, tensor.Shape{2}, true, false)})
	array := bytes.Index(good, binary.LittleEndian.AppendUint64(nil, arrayMagic))
	huge := binary.LittleEndian.AppendUint64(nil, 1<<60)
	change := func(at int, with ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], with)
		return b
	}
	for name, c := range map[string]struct {
		file []byte
		kind error
		text string
	}{
		"empty":             {nil, diag.ErrInvalid, "a number has 8 bytes, but 0 are left at byte 0"},
		"another file":      {change(0, 'P', 'K'), diag.ErrInvalid, "it is no list of parameters"},
		"many names":        {change(16, huge...), diag.ErrInvalid, "1152921504606846976 names need more than the"},
		"a long name":       {change(24, huge...), diag.ErrInvalid, "a name has 1152921504606846976 bytes, but"},
		"the same name":     {write(t, Param{"w", w}, Param{"w", w}), diag.ErrInvalid, `the name "w" is not text or stands twice`},
		"a name of bytes":   {write(t, Param{"\xff", w}), diag.ErrInvalid, `the name "\xff" is not text or stands twice`},
		"other counts":      {change(array-8, 1), diag.ErrInvalid, "1 arrays for 2 names"},
		"many arrays":       {change(array-8, huge...), diag.ErrInvalid, "arrays need more than the"},
		"no array":          {change(array, 0), diag.ErrInvalid, `"weight" starts with 0xdd5e40f096b4a100, wanted 0xdd5e40f096b4a13f`},
		"many axes":         {change(array+24, 65), diag.ErrInvalid, `"weight" has 65 axes, wanted at most 64`},
		"a handle":          {change(array+28, 3, 64), diag.ErrUnsupported, "weight: element type of code 3 with 64 bits and 1 lanes"},
		"a vector":          {change(array+30, 4), diag.ErrUnsupported, "4 lanes"},
		"a large extent":    {change(array+32, huge...), diag.ErrInvalid, `"weight" has an axis of extent 1152921504606846976`},
		"a negative extent": {change(array+32, bytes.Repeat([]byte{0xff}, 8)...), diag.ErrInvalid, `"weight" has an axis of extent -1`},
		"another size":      {change(array+48, 12), diag.ErrInvalid, `"weight" has 12 bytes of data, which does not fit float32 of shape (2, 2)`},
		"cut off":           {good[:len(good)-1], diag.ErrInvalid, "the data of bias has 2 bytes, but 1 are left at byte"},
		"more behind":       {append(bytes.Clone(good), 0), diag.ErrInvalid, "1 bytes follow the last array"},
		"no bool":           {change(len(good)-1, 2), diag.ErrInvalid, `"bias" holds 2, wanted 0 or 1 in a bool`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(c.file)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
		})
	}
	_, err := ReadArray(append(bytes.Clone(good[array:array+72]), 0))
	require.ErrorContains(t, err, "1 bytes follow the array")
}

func TestWhatTheFormatLacksIsNotWritten(t *testing.T) {
	err := Write(&bytes.Buffer{}, []Param{{"w", tensor.New(tensor.Int4, tensor.Shape{2})}})
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, "w: the format has no element type int4")
	err = Write(&bytes.Buffer{}, []Param{{"w", &tensor.Tensor{DType: tensor.Int8, Shape: tensor.Shape{2}}}})
	require.ErrorIs(t, err, diag.ErrInvalid)
}

type full int

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, errors.New("no room")
	}
	return len(b), nil
}

func TestErrorsOfWritingAreReported(t *testing.T) {
	list := []Param{{"w", tensor.New(tensor.Float32, tensor.Shape{4})}}
	for room := range len(write(t, list...)) {
		f := full(room)
		require.ErrorContains(t, Write(&f, list), "no room")
	}
}

// FuzzRead: no file makes the reader panic or make room for what is not there; what it reads is written back the same.
func FuzzRead(f *testing.F) {
	f.Add(write(f, weights()...))
	f.Add(write(f, Param{"w", tensor.New(tensor.Float32, tensor.Shape{2, 2})}))
	f.Fuzz(func(t *testing.T, file []byte) {
		list, err := Read(file)
		if err != nil {
			require.True(t, errors.Is(err, diag.ErrInvalid) || errors.Is(err, diag.ErrUnsupported), "%v", err)
			return
		}
		again, err := Read(write(t, list...))
		require.NoError(t, err)
		require.Equal(t, list, again)
	})
}
