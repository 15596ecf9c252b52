package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"os"
	"reflect"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/texel-ml/texel/diag"
)

// OpenOptions say how a file is opened. The zero value verifies everything, every time.
type OpenOptions struct {
	// CacheDir is a folder that remembers which files' weights were verified, by device, inode, size, times and the
	// manifest's digest. Empty remembers nothing. It is made when it does not exist.
	CacheDir string
	// TrustWeights leaves the weights unverified. Manifest, plans and kernels are verified always.
	TrustWeights bool
}

// File is an open .texel file, mapped read-only. Everything that it returns is a view of the mapping and must not be
// used after Close. A file must not be changed in place while it is open; Writer never does.
type File struct {
	data     []byte
	mapped   bool
	manifest *Manifest
	digest   string
	entries  map[string][]byte
	segments map[string][]byte
	verified bool
}

// Open maps and verifies the file at path.
func Open(path string, opt OpenOptions) (*File, error) {
	f, err := open(path, opt)
	if e, ok := err.(*diag.Error); ok {
		return nil, e.At(diag.Pos{File: path})
	}
	return f, err
}

func open(path string, opt OpenOptions) (*File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe without a writer does not hold us up
	if err != nil {
		return nil, damaged("", "not readable").By(err)
	}
	defer file.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return nil, damaged("", "not readable").By(err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, damaged("", "not a regular file")
	}
	if stat.Size < endSize+commentSize || stat.Size > maxFile {
		return nil, damaged("", "not a .texel file: it has %d bytes", stat.Size)
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(stat.Size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, damaged("", "not mapped").By(err)
	}
	f, err := read(data)
	if err != nil {
		unix.Munmap(data)
		return nil, err
	}
	f.mapped = true
	seen := verifiedFile(opt.CacheDir, identity(&stat, f.digest))
	f.verified = seen.known()
	if !f.verified && !opt.TrustWeights {
		if err := f.VerifyWeights(); err != nil {
			f.Close()
			return nil, err
		}
		seen.remember()
	}
	return f, nil
}

// Read verifies a file that is in memory, weights included. The data must not change while the File is used.
func Read(data []byte) (*File, error) {
	f, err := read(data)
	if err != nil {
		return nil, err
	}
	return f, f.VerifyWeights()
}

// read verifies everything but the weights' digests: headers, manifest, and each other entry.
func read(data []byte) (*File, error) {
	records, comment, err := parse(data)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 || records[len(records)-1].name != ManifestEntry {
		return nil, damaged(ManifestEntry, "not the last entry")
	}
	at := int64(0)
	for _, r := range records {
		if r.at != at || r.end() > int64(len(data)) {
			return nil, damaged(r.name, "entry is at %d, wanted %d, and ends at %d of %d bytes", r.at, at, r.end(), len(data))
		}
		if !bytes.Equal(r.local(), data[r.at:r.dataAt()]) {
			return nil, damaged(r.name, "header is not the one that is written for this entry")
		}
		at = r.end()
	}
	if want := directory(records, comment); !bytes.Equal(want, data[at:]) {
		return nil, damaged("", "directory is not the one that is written for these entries")
	}
	f := &File{data: data, digest: comment, entries: make(map[string][]byte, len(records)), segments: map[string][]byte{}}
	last := records[len(records)-1]
	text := data[last.dataAt():last.end():last.end()]
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != comment {
		return nil, damaged(ManifestEntry, "digest is %x, the archive's comment says %s", sum, comment)
	}
	if crc32.ChecksumIEEE(text) != last.crc {
		return nil, damaged(ManifestEntry, "checksum is wrong")
	}
	if f.manifest, err = decodeManifest(text); err != nil {
		return nil, err
	}
	if canonical, err := f.manifest.Encode(); err != nil || !bytes.Equal(canonical, text) {
		return nil, damaged(ManifestEntry, "text is not the one that is written for this manifest")
	}
	if len(f.manifest.Entries) != len(records)-1 {
		return nil, damaged(ManifestEntry, "manifest lists %d entries, the file has %d", len(f.manifest.Entries), len(records)-1)
	}
	for i, r := range records[:len(records)-1] {
		e := f.manifest.Entries[i]
		if e.Name != r.name || e.Bytes != r.size || e.CRC != r.crc {
			return nil, damaged(r.name, "name, size or checksum is not what the manifest says")
		}
		body := data[r.dataAt():r.end():r.end()]
		f.entries[r.name] = body
		if r.name == WeightsEntry {
			continue
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != e.Digest {
			return nil, damaged(r.name, "digest is %x, the manifest says %s", sum, e.Digest)
		}
		if crc32.ChecksumIEEE(body) != e.CRC {
			return nil, damaged(r.name, "checksum is wrong")
		}
	}
	f.entries[ManifestEntry] = text
	weights := f.entries[WeightsEntry]
	for _, s := range f.manifest.Segments {
		f.segments[s.Digest] = weights[s.Offset : s.Offset+s.Bytes : s.Offset+s.Bytes]
	}
	return f, nil
}

// Manifest returns the table of contents.
func (f *File) Manifest() *Manifest { return f.manifest }

// Digest returns the digest of the manifest, which identifies the whole content.
func (f *File) Digest() string { return f.digest }

// Verified reports whether the weights were verified, now or earlier.
func (f *File) Verified() bool { return f.verified }

// Entry returns the content of an entry.
func (f *File) Entry(name string) ([]byte, bool) {
	data, ok := f.entries[name]
	return data, ok
}

// Segment returns a piece of the weights by digest. It starts at a multiple of 64 bytes.
func (f *File) Segment(digest string) ([]byte, bool) {
	data, ok := f.segments[digest]
	return data, ok
}

// Plan decodes and checks the plan of a variant, by its place in the manifest.
func (f *File) Plan(variant int) (*Plan, error) {
	if variant < 0 || variant >= len(f.manifest.Variants) {
		return nil, damaged(ManifestEntry, "no variant %d, there are %d", variant, len(f.manifest.Variants))
	}
	v := &f.manifest.Variants[variant]
	p, err := DecodePlan(f.entries[v.Plan])
	if err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	if !samePorts(p.Inputs, v.Inputs) || !samePorts(p.Outputs, v.Outputs) {
		return nil, damaged(v.Plan, "inputs or outputs are not those of the manifest")
	}
	if len(p.Weights) != len(v.Segments) {
		return nil, damaged(v.Plan, "plan has %d weights, the manifest %d", len(p.Weights), len(v.Segments))
	}
	for i, w := range p.Weights {
		if data, ok := f.segments[w.Digest]; !ok || int64(len(data)) != w.Bytes || w.Digest != v.Segments[i] {
			return nil, damaged(v.Plan, "weight of %s is not among the segments of the variant", w.Tensor)
		}
	}
	return p, nil
}

func samePorts(a, b []Port) bool {
	return slices.EqualFunc(a, b, func(x, y Port) bool {
		return x.Name == y.Name && x.DType == y.DType && x.Shape.Equal(y.Shape) && x.Tensor == y.Tensor && x.Default == y.Default && reflect.DeepEqual(x.Extent, y.Extent)
	})
}

// Verify checks everything that can be checked without a device: Open has verified the entries; this decodes and
// checks every plan and verifies the weights and the digest of each segment.
func (f *File) Verify() error {
	for i := range f.manifest.Variants {
		if _, err := f.Plan(i); err != nil {
			return err
		}
	}
	for _, s := range f.manifest.Segments {
		if sum := sha256.Sum256(f.segments[s.Digest]); hex.EncodeToString(sum[:]) != s.Digest {
			return damaged(WeightsEntry, "segment at %d has digest %x, the manifest says %s", s.Offset, sum, s.Digest)
		}
	}
	if r := f.entries[WeightsEntry]; len(r) > 0 && crc32.ChecksumIEEE(r) != f.manifest.Entries[0].CRC {
		return damaged(WeightsEntry, "checksum is wrong")
	}
	return f.VerifyWeights()
}

// Release gives back the memory that reading took for everything but the weights, which stand first in the file. What is
// read again later comes from the file.
func (f *File) Release() {
	if !f.mapped {
		return
	}
	end := 0
	if w := f.entries[WeightsEntry]; len(w) > 0 {
		end = int(uintptr(unsafe.Pointer(&w[0]))-uintptr(unsafe.Pointer(&f.data[0]))) + len(w)
	}
	page := os.Getpagesize()
	if from := (end + page - 1) / page * page; from < len(f.data) {
		unix.Madvise(f.data[from:], unix.MADV_DONTNEED) // a wish
	}
}

// Close unmaps the file. No result of this File may be used afterwards.
func (f *File) Close() error {
	if !f.mapped {
		return nil
	}
	f.mapped = false
	return unix.Munmap(f.data)
}
