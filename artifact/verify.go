package artifact

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// VerifyWeights compares every piece of 1 MiB of weights.bin with its digest in the manifest, on all cores.
func (f *File) VerifyWeights() error {
	data, ok := f.entries[WeightsEntry]
	if !ok {
		f.verified = true
		return nil
	}
	var entry *Entry
	for i := range f.manifest.Entries {
		if f.manifest.Entries[i].Name == WeightsEntry {
			entry = &f.manifest.Entries[i]
		}
	}
	if treeDigest(entry.Leaves) != entry.Digest {
		return damaged(WeightsEntry, "digest of the leaves is %s, the manifest says %s", treeDigest(entry.Leaves), entry.Digest)
	}
	var next, wrong atomic.Int64
	wrong.Store(-1)
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(entry.Leaves)) {
		group.Go(func() {
			for wrong.Load() < 0 {
				i := int(next.Add(1) - 1)
				if i >= len(entry.Leaves) {
					return
				}
				piece := data[i*leafBytes : min(len(data), (i+1)*leafBytes)]
				if sum := sha256.Sum256(piece); hex.EncodeToString(sum[:]) != entry.Leaves[i] {
					wrong.Store(int64(i))
				}
			}
		})
	}
	group.Wait()
	if i := wrong.Load(); i >= 0 {
		return damaged(WeightsEntry, "digest of the piece at byte %d is wrong", i*leafBytes)
	}
	f.verified = true
	return nil
}

// maxVerified is how many files a cache folder remembers.
const maxVerified = 256

// verified is the memory of one verified file: an empty file whose name is the digest of the identity.
type verified struct{ path string }

// identity returns what names one state of one file.
func identity(s *unix.Stat_t, manifest string) string {
	return fmt.Sprintf("%d %d %d %d.%09d %d.%09d %s", s.Dev, s.Ino, s.Size, s.Mtim.Sec, s.Mtim.Nsec, s.Ctim.Sec, s.Ctim.Nsec, manifest)
}

func verifiedFile(dir, identity string) verified {
	if dir == "" {
		return verified{}
	}
	sum := sha256.Sum256([]byte(identity))
	return verified{filepath.Join(dir, "verified", hex.EncodeToString(sum[:]))}
}

func (v verified) known() bool {
	if v.path == "" {
		return false
	}
	info, err := os.Lstat(v.path)
	return err == nil && info.Mode().IsRegular()
}

// remember notes the file. Failing to do so costs a verification later and nothing else.
func (v verified) remember() {
	if v.path == "" {
		return
	}
	dir := filepath.Dir(v.path)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	if file, err := os.OpenFile(v.path, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
		file.Close()
	}
	forget(dir)
}

// forget removes the oldest memories above maxVerified.
func forget(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil || len(list) <= maxVerified {
		return
	}
	type memory struct {
		name string
		at   int64
	}
	var all []memory
	for _, e := range list {
		if info, err := e.Info(); err == nil {
			all = append(all, memory{e.Name(), info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(all, func(a, b memory) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name)) })
	for _, m := range all[:max(0, len(all)-maxVerified)] {
		os.Remove(filepath.Join(dir, m.name))
	}
}
