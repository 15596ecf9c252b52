package artifact

import (
	"archive/zip"
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
)

var sampleHeader = Header{
	Producer: Producer{Name: "texel", Version: "test", Generator: "none"},
	Model:    Model{Name: "sample", Digest: digestOf(nil)},
	Options:  []Setting{{"precision", "float32"}, {"layout", "NHWC"}},
}

// writeSample writes two variants that share a weight.
func writeSample(t testing.TB, w *Writer) {
	_, err := w.Weight([]byte("unaligned"))
	require.NoError(t, err)
	for range 2 {
		_, err = w.Weight(sampleWeight)
		require.NoError(t, err)
	}
	require.NoError(t, w.File(ModelEntry, []byte("#[version = \"0.0.5\"]\n")))
	require.NoError(t, w.Variant("x86-64-v4", "cpu", "x86-64", []string{"avx512f"}, sample(t), []Code{{"kernels.so", []byte("\x7fELF v4")}}))
	require.NoError(t, w.Variant("x86-64-v3", "cpu", "x86-64", []string{"avx2"}, sample(t), []Code{{"kernels.so", []byte("\x7fELF v3")}}))
	require.NoError(t, w.File(CertificateEntry, []byte("{}\n")))
}

func sampleFile(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "sample.texel")
	w, err := Create(path, sampleHeader)
	require.NoError(t, err)
	defer w.Close()
	writeSample(t, w)
	require.NoError(t, w.Commit())
	return path
}

func TestFile(t *testing.T) {
	path := sampleFile(t)
	f, err := Open(path, OpenOptions{})
	require.NoError(t, err)
	defer f.Close()
	require.True(t, f.Verified())
	require.NoError(t, f.Verify())
	m := f.Manifest()
	require.Equal(t, []Setting{{"layout", "NHWC"}, {"precision", "float32"}}, m.Options)
	require.Len(t, m.Segments, 2, "equal data is stored once")
	for i, code := range []string{"\x7fELF v4", "\x7fELF v3"} {
		p, err := f.Plan(i)
		require.NoError(t, err)
		require.Equal(t, sample(t).Launches, p.Launches)
		data, ok := f.Entry(m.Variants[i].Kernels[0])
		require.True(t, ok)
		require.Equal(t, code, string(data))
	}
	data, ok := f.Segment(digestOf(sampleWeight))
	require.True(t, ok)
	require.Equal(t, sampleWeight, data)
	_, err = f.Plan(2)
	require.ErrorContains(t, err, "no variant 2")

	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestFileIsAZip reads the file with the standard library and checks the alignment of what is to be mapped.
func TestFileIsAZip(t *testing.T) {
	path := sampleFile(t)
	z, err := zip.OpenReader(path)
	require.NoError(t, err)
	defer z.Close()
	var names []string
	for _, e := range z.File {
		names = append(names, e.Name)
		at, err := e.DataOffset()
		require.NoError(t, err)
		require.Zero(t, at%alignment(e.Name), e.Name)
		require.Equal(t, zip.Store, e.Method)
		r, err := e.Open()
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, r) // checks the checksum
		require.NoError(t, err)
	}
	require.Equal(t, []string{"weights.bin", "model.relay", "variants/0/kernels.so", "variants/0/plan.json", "variants/1/kernels.so", "variants/1/plan.json", "certificate.json", "manifest.json"}, names)
}

func TestSameInputsSameBytes(t *testing.T) {
	a, err := os.ReadFile(sampleFile(t))
	require.NoError(t, err)
	b, err := os.ReadFile(sampleFile(t))
	require.NoError(t, err)
	require.True(t, bytes.Equal(a, b))
}

// TestEveryByteCounts changes each byte of a file, and cuts it at each length.
func TestEveryByteCounts(t *testing.T) {
	data, err := os.ReadFile(sampleFile(t))
	require.NoError(t, err)
	_, err = Read(data)
	require.NoError(t, err)
	padding := 0
	for i := range data {
		old := data[i]
		if old == 0 {
			if padding++; padding%7 != 0 && i+1 < len(data) && data[i+1] == 0 { // the long runs of zeros before code: every seventh
				continue
			}
		}
		for _, flip := range []byte{0x01, 0x80} {
			data[i] = old ^ flip
			f, err := Read(data)
			require.ErrorIs(t, err, diag.ErrInvalid, "byte %d of %d, %v", i, len(data), f)
		}
		data[i] = old
	}
	for _, n := range []int{0, 1, 21, 22, 85, 86, 100, len(data) / 2, len(data) - 1} {
		_, err := Read(data[:n])
		require.ErrorIs(t, err, diag.ErrInvalid)
	}
	_, err = Read(append(data[:len(data):len(data)], 0))
	require.ErrorIs(t, err, diag.ErrInvalid)
	_, err = Read(append([]byte{0}, data...))
	require.ErrorIs(t, err, diag.ErrInvalid)
}

func TestDamageNamesTheEntry(t *testing.T) {
	path := sampleFile(t)
	clean, err := os.ReadFile(path)
	require.NoError(t, err)
	for find, want := range map[string]string{
		"\x7fELF v3":     "sample.texel: artifact: variants/1/kernels.so: digest is",
		"0123456789abcd": "weights.bin: digest of the piece at byte 0 is wrong",
		"#[version":      "model.relay: digest is",
		"\"arena_bytes":  "variants/0/plan.json: digest is",
		"\"producer":     "manifest.json: digest is",
	} {
		data := bytes.Clone(clean)
		i := bytes.Index(data, []byte(find))
		require.GreaterOrEqual(t, i, 0, find)
		data[i] ^= 0x20
		require.NoError(t, os.WriteFile(path, data, 0o666))
		_, err := Open(path, OpenOptions{})
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
	_, err = Open(filepath.Dir(path), OpenOptions{})
	require.ErrorContains(t, err, "not a regular file")
	_, err = Open(path+".none", OpenOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("short"), 0o666))
	_, err = Open(path, OpenOptions{})
	require.ErrorContains(t, err, "it has 5 bytes")
}

func TestWeightsAreVerifiedOnce(t *testing.T) {
	path, cache := sampleFile(t), t.TempDir()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	opt := OpenOptions{CacheDir: cache}
	for range 2 {
		f, err := Open(path, opt)
		require.NoError(t, err)
		require.True(t, f.Verified())
		require.NoError(t, f.Close())
	}
	memories, err := os.ReadDir(filepath.Join(cache, "verified"))
	require.NoError(t, err)
	require.Len(t, memories, 1)

	// Another content under the same name is another file, even with size and time kept.
	info, err := os.Stat(path)
	require.NoError(t, err)
	data[bytes.Index(data, sampleWeight)] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o666))
	require.NoError(t, os.Chtimes(path, time.Time{}, info.ModTime()))
	_, err = Open(path, opt)
	require.ErrorContains(t, err, "weights.bin")

	f, err := Open(path, OpenOptions{TrustWeights: true})
	require.NoError(t, err)
	require.False(t, f.Verified())
	require.ErrorContains(t, f.VerifyWeights(), "weights.bin")
	require.NoError(t, f.Close())
}

func TestForgetKeepsTheNewest(t *testing.T) {
	dir := t.TempDir()
	for i := range maxVerified + 10 {
		path := filepath.Join(dir, digestOf([]byte{byte(i), byte(i >> 8)}))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		at := time.Unix(int64(1000+i), 0)
		require.NoError(t, os.Chtimes(path, at, at))
	}
	forget(dir)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, maxVerified)
	require.NoFileExists(t, filepath.Join(dir, digestOf([]byte{9, 0})))
	require.FileExists(t, filepath.Join(dir, digestOf([]byte{10, 0})))
}

// full is a file on a disk that is full after some bytes.
type full struct {
	*os.File
	left int
}

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.left {
		n, _ := f.File.Write(b[:f.left])
		f.left = 0
		return n, syscall.ENOSPC
	}
	f.left -= len(b)
	return f.File.Write(b)
}

func (f *full) Sync() error {
	if f.left == 0 {
		return syscall.ENOSPC
	}
	return f.File.Sync()
}

func TestFullDiskLeavesNothing(t *testing.T) {
	size := 0
	for room := 0; room == 0 || room < size; room += 2999 {
		dir := t.TempDir()
		path := filepath.Join(dir, "m.texel")
		require.NoError(t, os.WriteFile(path, []byte("the old one"), 0o666))
		w, err := Create(path, sampleHeader)
		require.NoError(t, err)
		w.file = &full{w.file.(*os.File), room}
		w.out.Reset(w.file)
		writeSample(t, w)
		big, err := w.Weight(make([]byte, 3<<20))
		if err == nil {
			require.NotEmpty(t, big)
			err = w.Commit()
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.ErrorIs(t, err, diag.ErrInvalid)
		require.NoError(t, w.Close())
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, left, 1)
		old, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "the old one", string(old))
		size = 40_000
	}
}

func TestWriterRefuses(t *testing.T) {
	_, err := Create(filepath.Join(t.TempDir(), "no", "m.texel"), sampleHeader)
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorIs(t, err, os.ErrNotExist)

	dir := t.TempDir()
	w, err := Create(filepath.Join(dir, "m.texel"), sampleHeader)
	require.NoError(t, err)
	require.ErrorContains(t, w.Variant("t", "cpu", "x86-64", nil, sample(t), nil), "was not added")
	broken := sample(t)
	broken.ArenaBytes = 1
	require.ErrorContains(t, w.Variant("t", "cpu", "x86-64", nil, broken, nil), "arena_bytes")
	require.ErrorIs(t, w.File(ManifestEntry, nil), diag.ErrInternal)
	require.ErrorIs(t, w.File("../up", nil), diag.ErrInternal)
	require.NoError(t, w.File("a", nil))
	require.ErrorIs(t, w.File("a", nil), diag.ErrInternal)
	require.ErrorContains(t, w.Commit(), "no variant")
	require.ErrorIs(t, w.Commit(), diag.ErrInternal, "closed by the failure")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestLargeWeights crosses the pieces of the digest tree.
func TestLargeWeights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.texel")
	w, err := Create(path, sampleHeader)
	require.NoError(t, err)
	defer w.Close()
	piece := make([]byte, leafBytes/2+100)
	for i := range 7 {
		piece[0] = byte(i)
		_, err := w.Weight(piece)
		require.NoError(t, err)
	}
	writeSample(t, w)
	require.NoError(t, w.Commit())
	f, err := Open(path, OpenOptions{})
	require.NoError(t, err)
	require.NoError(t, f.Verify())
	require.Len(t, f.Manifest().Entries[0].Leaves, 4)
	size := int(f.Manifest().Entries[0].Bytes)
	require.NoError(t, f.Close())

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, at := range []int{0, leafBytes - 1, leafBytes, 2*leafBytes + 5, size - 1} {
		at += int(record{name: WeightsEntry}.dataAt())
		data[at] ^= 1
		_, err := Read(data)
		require.ErrorContains(t, err, "weights.bin")
		data[at] ^= 1
	}
}

// FuzzRead gives the reader edits of a valid file: each is a position and a value, sealed again on request so that
// what lies behind the digests is reached. Whatever the reader takes, writing it again must give the same bytes.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "m.texel")
	w, err := Create(path, sampleHeader)
	require.NoError(f, err)
	writeSample(f, w)
	require.NoError(f, w.Commit())
	clean, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0, 7})
	f.Add([]byte{0, 64, 10, 0, '9'})
	f.Fuzz(func(t *testing.T, edits []byte) {
		data := bytes.Clone(clean)
		seal := len(edits)%2 == 1
		for ; len(edits) >= 5; edits = edits[5:] {
			at := int(edits[0]) | int(edits[1])<<8 | int(edits[2])<<16
			data[(at+int(edits[3]))%len(data)] = edits[4]
		}
		if seal {
			data = reseal(data)
		}
		file, err := Read(data)
		if err != nil {
			var e *diag.Error
			if !errors.As(err, &e) {
				t.Fatalf("error without a type: %v", err)
			}
			return
		}
		for i := range file.manifest.Variants {
			if p, err := file.Plan(i); err == nil {
				if _, err := p.Encode(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !bytes.Equal(reseal(data), data) {
			t.Fatal("the file is not the one that is written for its content")
		}
	})
}

// reseal computes digests, checksums and headers again from the entries of a file; data that is no file at all is
// returned as it is.
func reseal(data []byte) []byte {
	records, _, err := parse(data)
	if err != nil || len(records) == 0 {
		return data
	}
	last := records[len(records)-1]
	if last.at < 0 || last.dataAt() > last.end() || last.end() > int64(len(data)) {
		return data
	}
	m := &Manifest{}
	if decodeStrict(data[last.dataAt():last.end()], m) != nil {
		return data
	}
	var out bytes.Buffer
	var fresh []record
	at := int64(0)
	put := func(name string, body []byte) {
		r := record{name: name, crc: checksum(body), size: int64(len(body)), at: at}
		out.Write(r.local())
		out.Write(body)
		fresh, at = append(fresh, r), r.end()
	}
	for i, r := range records[:len(records)-1] {
		if r.at < 0 || r.end() > int64(len(data)) || i >= len(m.Entries) {
			return data
		}
		body := data[r.dataAt():r.end()]
		e := &m.Entries[i]
		e.CRC, e.Bytes = checksum(body), int64(len(body))
		if r.name != WeightsEntry {
			e.Digest = digestOf(body)
		} else {
			e.Leaves = nil
			for j := 0; j < len(body); j += leafBytes {
				e.Leaves = append(e.Leaves, digestOf(body[j:min(len(body), j+leafBytes)]))
			}
			e.Digest = treeDigest(e.Leaves)
		}
		put(r.name, body)
	}
	text, err := m.Encode()
	if err != nil {
		return data
	}
	put(ManifestEntry, text)
	out.Write(directory(fresh, digestOf(text)))
	return out.Bytes()
}

// FuzzPlan gives the checker plans from edited text.
func FuzzPlan(f *testing.F) {
	clean, err := sample(f).Encode()
	require.NoError(f, err)
	f.Add(clean)
	f.Add([]byte(`{"format":1,"pools":[{"name":"a","kind":"arena","bytes":70368744177664}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := DecodePlan(text)
		if err != nil {
			return
		}
		if err := p.Check(); err != nil {
			var e *diag.Error
			if !errors.As(err, &e) {
				t.Fatalf("error without a type: %v", err)
			}
		}
	})
}

func checksum(data []byte) uint32 { return crc32.ChecksumIEEE(data) }

func TestAPipeIsNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.texel")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := Open(path, OpenOptions{})
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, "not a regular file")
	_, err = Create(path, sampleHeader) // a device must not be replaced by a file
	require.ErrorIs(t, err, diag.ErrInvalid)
	require.ErrorContains(t, err, "a file of another kind is there")
}

// TestPartsOfKilledWritersAreSwept has one part that a killed writer left, one of a writer that is at work, and files that
// only look alike.
func TestPartsOfKilledWritersAreSwept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.texel")
	atWork, err := Create(path, sampleHeader)
	require.NoError(t, err)
	defer atWork.Close()
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{".model.texel.3w5e11264sgsf.part", ".model.texel.notes!.part", ".other.texel.3w5e11264sgsf.part", "model.texel.part"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	require.NoError(t, os.Chtimes(atWork.temp, old, old))
	next, err := Create(path, sampleHeader)
	require.NoError(t, err)
	require.NoError(t, next.Close())
	var left []string
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range list {
		left = append(left, e.Name())
	}
	require.ElementsMatch(t, []string{filepath.Base(atWork.temp), ".model.texel.notes!.part", ".other.texel.3w5e11264sgsf.part", "model.texel.part"}, left)
}

// TestReleaseKeepsTheContents reads everything again after its memory was given back.
func TestReleaseKeepsTheContents(t *testing.T) {
	path := sampleFile(t)
	f, err := Open(path, OpenOptions{})
	require.NoError(t, err)
	defer f.Close()
	before := map[string][]byte{}
	for _, e := range f.Manifest().Entries {
		data, ok := f.Entry(e.Name)
		require.True(t, ok, e.Name)
		before[e.Name] = append([]byte(nil), data...)
	}
	require.NotEmpty(t, before)
	f.Release()
	for name, want := range before {
		data, _ := f.Entry(name)
		require.Equal(t, want, data, name)
	}
	require.NoError(t, f.Verify())
}
