package artifact

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/texel-ml/texel/diag"
)

// Header is what a file says of its making.
type Header struct {
	Producer Producer
	Model    Model
	Options  []Setting
}

// Code is one file with kernels of a variant. Name ends in ".so", ".cl" or ".spv" and has no folder.
type Code struct {
	Name string
	Data []byte
}

// Writer writes a .texel file. Weights go to disk as they come; nothing bears the final name before Commit has
// written and synced everything. Close after a failure, or without Commit, leaves nothing behind.
type Writer struct {
	path, temp string
	file       output
	out        *bufio.Writer
	header     Header
	at         int64 // position in weights.bin
	crc        uint32
	leaf       hash.Hash
	leafFill   int
	leaves     []string
	segments   []Segment
	bySum      map[string]int
	variants   []Variant
	files      []Code // other entries in order, whole names
	done       bool
}

// output is the part of *os.File that a Writer needs.
type output interface {
	io.Writer
	io.WriterAt
	Sync() error
	Close() error
}

// Create starts the file at path. Only a regular file is replaced, also behind a link.
func Create(path string, header Header) (*Writer, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, diag.Invalid("artifact", path, "not written: a file of another kind is there")
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the link stays
	}
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	sweep(dir, base)
	for range 100 {
		temp := filepath.Join(dir, "."+base+"."+strconv.FormatUint(rand.Uint64(), 36)+".part")
		f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, diag.Invalid("artifact", path, "not written").By(err)
		}
		unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) // tells sweep that somebody is at work
		return newWriter(path, temp, f, header), nil
	}
	return nil, diag.Invalid("artifact", path, "not written: no free temporary name")
}

// sweep removes what writers of the same file left when they were killed: parts that nobody holds and that are not just
// being made.
func sweep(dir, base string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !isPart(e.Name(), base) || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if f, err := os.Open(path); err == nil {
			if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
				os.Remove(path)
			}
			f.Close()
		}
	}
}

// isPart reports whether name is the temporary name of a writer of base.
func isPart(name, base string) bool {
	rest, ok := strings.CutPrefix(name, "."+base+".")
	number, part := strings.CutSuffix(rest, ".part")
	_, err := strconv.ParseUint(number, 36, 64)
	return ok && part && err == nil
}

func newWriter(path, temp string, f output, header Header) *Writer {
	w := &Writer{path: path, temp: temp, file: f, header: header, leaf: sha256.New(), bySum: map[string]int{}}
	w.header.Options = slices.Clone(header.Options)
	slices.SortFunc(w.header.Options, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	w.out = bufio.NewWriterSize(f, leafBytes)
	return w
}

// failed wraps an error of the file system.
func (w *Writer) failed(err error) error {
	return diag.Invalid("artifact", w.path, "not written").By(err)
}

// Weight adds a segment and returns its digest. Equal data is stored once.
func (w *Writer) Weight(data []byte) (digest string, err error) {
	sum := sha256.Sum256(data)
	digest = hex.EncodeToString(sum[:])
	if i, ok := w.bySum[digest]; ok {
		if w.segments[i].Bytes != int64(len(data)) {
			return "", diag.Internal("artifact", digest, "two weights with one digest")
		}
		return digest, nil
	}
	if align(w.at, dataAlign)+int64(len(data)) >= maxFile {
		return "", diag.Unsupported("artifact", w.path, "weights of more than %d bytes do not fit into one file", int64(maxFile))
	}
	if len(w.segments) == 0 { // room for the header, which is written when size and checksum are known
		if _, err := w.out.Write(record{name: WeightsEntry}.local()); err != nil {
			return "", w.failed(err)
		}
	}
	if pad := align(w.at, dataAlign) - w.at; pad > 0 {
		if err := w.append(make([]byte, pad)); err != nil {
			return "", err
		}
	}
	w.bySum[digest] = len(w.segments)
	w.segments = append(w.segments, Segment{Digest: digest, Offset: w.at, Bytes: int64(len(data))})
	return digest, w.append(data)
}

// append writes to weights.bin and keeps its checksum and leaves.
func (w *Writer) append(data []byte) error {
	if _, err := w.out.Write(data); err != nil {
		return w.failed(err)
	}
	w.crc = crc32.Update(w.crc, crc32.IEEETable, data)
	w.at += int64(len(data))
	for len(data) > 0 {
		n := min(len(data), leafBytes-w.leafFill)
		w.leaf.Write(data[:n])
		data = data[n:]
		if w.leafFill += n; w.leafFill == leafBytes {
			w.endLeaf()
		}
	}
	return nil
}

func (w *Writer) endLeaf() {
	w.leaves = append(w.leaves, hex.EncodeToString(w.leaf.Sum(nil)))
	w.leaf.Reset()
	w.leafFill = 0
}

// Variant adds a variant behind those that are there. target, api, arch and features are as in the manifest. The
// plan is checked; its weights must have been added.
func (w *Writer) Variant(target, api, arch string, features []string, plan *Plan, code []Code) error {
	if err := plan.Check(); err != nil {
		return err
	}
	text, err := plan.Encode()
	if err != nil {
		return err
	}
	name := strconv.Itoa(len(w.variants))
	v := Variant{Name: name, Target: target, API: api, Arch: arch, Features: slices.Clone(features), Inputs: plan.Inputs, Outputs: plan.Outputs, Plan: variantFolder(name) + PlanFile}
	for _, x := range plan.Weights {
		if _, ok := w.bySum[x.Digest]; !ok {
			return diag.Internal("artifact", x.Tensor, "plan names weight %s, which was not added", x.Digest)
		}
		v.Segments = append(v.Segments, x.Digest)
	}
	for _, c := range code {
		if strings.Contains(c.Name, "/") || c.Name == PlanFile || !validName(c.Name) {
			return diag.Internal("artifact", c.Name, "not a name for a file of kernels")
		}
		v.Kernels = append(v.Kernels, variantFolder(name)+c.Name)
		w.files = append(w.files, Code{variantFolder(name) + c.Name, c.Data})
	}
	w.files = append(w.files, Code{v.Plan, text})
	w.variants = append(w.variants, v)
	return nil
}

// File adds one of the other entries: ModelEntry, CertificateEntry, or what else a later version reads.
func (w *Writer) File(name string, data []byte) error {
	if !validName(name) || name == ManifestEntry || name == WeightsEntry || strings.HasPrefix(name, "variants/") {
		return diag.Internal("artifact", name, "not a name for an entry")
	}
	for _, f := range w.files {
		if f.Name == name {
			return diag.Internal("artifact", name, "entry is added twice")
		}
	}
	w.files = append(w.files, Code{name, data})
	return nil
}

// Commit writes what is left, syncs, and gives the file its name. The order of the entries is weights.bin, the others
// in the order in which they were added, manifest.json.
func (w *Writer) Commit() (err error) {
	if w.done {
		return diag.Internal("artifact", w.path, "commit of a closed writer")
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	m := &Manifest{Format: Format, Producer: w.header.Producer, Model: w.header.Model, Options: w.header.Options, Variants: w.variants, Segments: w.segments}
	var records []record
	at := int64(0)
	if len(w.segments) > 0 {
		if w.leafFill > 0 {
			w.endLeaf()
		}
		r := record{name: WeightsEntry, crc: w.crc, size: w.at}
		records, at = append(records, r), r.end()
		m.Entries = append(m.Entries, Entry{Name: r.name, Bytes: r.size, CRC: r.crc, Digest: treeDigest(w.leaves), Leaves: w.leaves})
	}
	put := func(name string, data []byte) error {
		r := record{name: name, crc: crc32.ChecksumIEEE(data), size: int64(len(data)), at: at}
		if r.end() >= maxFile {
			return diag.Unsupported("artifact", w.path, "more than %d bytes do not fit into one file", int64(maxFile))
		}
		records, at = append(records, r), r.end()
		if _, err := w.out.Write(r.local()); err != nil {
			return w.failed(err)
		}
		if _, err := w.out.Write(data); err != nil {
			return w.failed(err)
		}
		return nil
	}
	for _, f := range w.files {
		if err := put(f.Name, f.Data); err != nil {
			return err
		}
		sum := sha256.Sum256(f.Data)
		m.Entries = append(m.Entries, Entry{Name: f.Name, Bytes: int64(len(f.Data)), CRC: crc32.ChecksumIEEE(f.Data), Digest: hex.EncodeToString(sum[:])})
	}
	if err := m.check(); err != nil {
		return diag.Internal("artifact", w.path, "the manifest does not hang together").By(err)
	}
	text, err := m.Encode()
	if err != nil {
		return err
	}
	if err := put(ManifestEntry, text); err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if _, err := w.out.Write(directory(records, hex.EncodeToString(sum[:]))); err != nil {
		return w.failed(err)
	}
	if err := w.out.Flush(); err != nil {
		return w.failed(err)
	}
	if len(w.segments) > 0 {
		if _, err := w.file.WriteAt(records[0].local(), 0); err != nil {
			return w.failed(err)
		}
	}
	return w.finish()
}

// finish syncs, renames and syncs the folder.
func (w *Writer) finish() error {
	if err := w.file.Sync(); err != nil {
		return w.failed(err)
	}
	w.done = true
	if err := errors.Join(w.file.Close(), os.Rename(w.temp, w.path)); err != nil {
		os.Remove(w.temp)
		return w.failed(err)
	}
	if dir, err := os.Open(filepath.Dir(w.path)); err == nil {
		dir.Sync() // some file systems refuse to sync a folder; the file itself is safe
		dir.Close()
	}
	return nil
}

// Close removes what was written, unless Commit succeeded. It may be called more than once.
func (w *Writer) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	return errors.Join(w.file.Close(), os.Remove(w.temp))
}

// treeDigest is the digest of the concatenated digests of the leaves.
func treeDigest(leaves []string) string {
	h := sha256.New()
	for _, l := range leaves {
		raw, _ := hex.DecodeString(l)
		h.Write(raw)
	}
	return hex.EncodeToString(h.Sum(nil))
}
