package artifact

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
)

// Format is the version of the .texel file that this package reads and writes.
const Format = 1

// Names of entries. Those of a variant are "variants/N/" and the file's own name.
const (
	ManifestEntry    = "manifest.json"
	ModelEntry       = "model.relay"
	WeightsEntry     = "weights.bin"
	CertificateEntry = "certificate.json"
	PlanFile         = "plan.json"
)

// Manifest is the table of contents of a .texel file. Its digest is the archive's comment, and it holds the digests
// of all other entries, so that no byte is uncovered.
type Manifest struct {
	Format   int       `json:"format"` // Format
	Producer Producer  `json:"producer"`
	Model    Model     `json:"model"`
	Options  []Setting `json:"options"`  // options of the compiler that were not default, sorted by name
	Variants []Variant `json:"variants"` // in ladder order: the first usable one is taken
	Segments []Segment `json:"segments"` // of weights.bin, in order
	Entries  []Entry   `json:"entries"`  // all but the manifest, in file order
}

// Producer says what made the file.
type Producer struct {
	Name      string `json:"name"`      // "texel"
	Version   string `json:"version"`   // of the compiler
	Generator string `json:"generator"` // the code generator with its version, "LLVM 19.1.7"
}

// Model says what was compiled.
type Model struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // SHA-256 of the source, hexadecimal
}

// Setting is one option and its value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Variant is the model compiled for one target and one set of input shapes.
type Variant struct {
	Name     string   `json:"name"`     // "0", "1", …: the folder below variants/
	Target   string   `json:"target"`   // the target record
	API      string   `json:"api"`      // "cpu", "opencl", "vulkan"
	Arch     string   `json:"arch"`     // cpu: "x86-64", "aarch64"
	Features []string `json:"features"` // cpu: processor features by LLVM's names; others: extensions; all are needed
	Inputs   []Port   `json:"inputs"`   // as in the plan
	Outputs  []Port   `json:"outputs"`
	Plan     string   `json:"plan"`     // entry
	Kernels  []string `json:"kernels"`  // entries with code
	Segments []string `json:"segments"` // digests of the weights, in the order of the plan
}

// Segment is a piece of weights.bin, shared by every variant that names its digest.
type Segment struct {
	Digest string `json:"digest"` // SHA-256, hexadecimal
	Offset int64  `json:"offset"` // in weights.bin, a multiple of 64
	Bytes  int64  `json:"bytes"`
}

// Entry is one file of the archive. The digest of weights.bin is that of the concatenated digests of its pieces of
// 1 MiB, which stand in Leaves.
type Entry struct {
	Name   string   `json:"name"`
	Bytes  int64    `json:"bytes"`
	CRC    uint32   `json:"crc"` // ZIP's checksum
	Digest string   `json:"digest"`
	Leaves []string `json:"leaves,omitempty"`
}

// Encode returns the manifest as JSON.
func (m *Manifest) Encode() ([]byte, error) { return encodeLines(m) }

func decodeManifest(text []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := decodeStrict(text, m); err != nil {
		return nil, damaged(ManifestEntry, "does not decode").By(err)
	}
	if m.Format != Format {
		return nil, diag.Unsupported("artifact", ManifestEntry, "file has format %d, this version reads %d", m.Format, Format)
	}
	return m, m.check()
}

// check refuses a manifest that does not hang together.
func (m *Manifest) check() error {
	fail := func(format string, args ...any) error { return damaged(ManifestEntry, format, args...) }
	entries := map[string]*Entry{}
	for i := range m.Entries {
		e := &m.Entries[i]
		if !validName(e.Name) || e.Name == ManifestEntry || entries[e.Name] != nil {
			return fail("entry name %q is not valid or not unique", e.Name)
		}
		entries[e.Name] = e
		if e.Bytes < 0 || e.Bytes >= maxFile || !validDigest(e.Digest) {
			return fail("entry %s has no valid size and digest", e.Name)
		}
		if e.Name == WeightsEntry && i != 0 {
			return fail("%s is not the first entry", e.Name)
		}
		if (e.Name == WeightsEntry) != (len(e.Leaves) > 0 || e.Name == WeightsEntry && e.Bytes == 0) || len(e.Leaves) > 0 && int64(len(e.Leaves)) != leaves(e.Bytes) {
			return fail("entry %s has %d leaves for %d bytes", e.Name, len(e.Leaves), e.Bytes)
		}
		for _, l := range e.Leaves {
			if !validDigest(l) {
				return fail("a leaf of entry %s is not a digest", e.Name)
			}
		}
	}
	segments, end := map[string]bool{}, int64(0)
	for i, s := range m.Segments {
		if !validDigest(s.Digest) || segments[s.Digest] {
			return fail("digest of segment %d is not valid or not unique", i)
		}
		segments[s.Digest] = true
		if s.Bytes < 0 || s.Bytes >= maxFile || s.Offset != align(end, dataAlign) {
			return fail("segment %d of %d bytes is at %d, wanted %d", i, s.Bytes, s.Offset, align(end, dataAlign))
		}
		if end = s.Offset + s.Bytes; end >= maxFile {
			return fail("segments are too large")
		}
	}
	if w := entries[WeightsEntry]; len(m.Segments) > 0 && (w == nil || w.Bytes != end) || len(m.Segments) == 0 && w != nil {
		return fail("the segments have %d bytes, which is not the size of %s", end, WeightsEntry)
	}
	if len(m.Variants) == 0 {
		return fail("no variant")
	}
	names := map[string]bool{}
	for i := range m.Variants {
		v := &m.Variants[i]
		if v.Name == "" || strings.Contains(v.Name, "/") || names[v.Name] {
			return fail("variant name %q is not valid or not unique", v.Name)
		}
		names[v.Name] = true
		for _, file := range append([]string{v.Plan}, v.Kernels...) {
			if entries[file] == nil || !strings.HasPrefix(file, variantFolder(v.Name)) {
				return fail("variant %s names entry %q, which is not there", v.Name, file)
			}
		}
		for _, s := range v.Segments {
			if !segments[s] {
				return fail("variant %s names segment %s, which is not there", v.Name, s)
			}
		}
	}
	if !slices.IsSortedFunc(m.Options, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) }) {
		return fail("options are not sorted")
	}
	return nil
}

func variantFolder(name string) string { return "variants/" + name + "/" }

// validName accepts relative slash paths of plain characters.
func validName(name string) bool {
	if name == "" || len(name) > 255 || name[0] == '/' || strings.Contains(name, "..") || strings.Contains(name, "//") {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/", r))
	})
}

func validDigest(d string) bool {
	raw, err := hex.DecodeString(d)
	return err == nil && len(raw) == 32 && strings.ToLower(d) == d
}

func damaged(entry, format string, args ...any) *diag.Error {
	return diag.Invalid("artifact", entry, format, args...)
}
