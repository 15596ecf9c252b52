// Package scratch makes temporary folders that do not pile up. A folder is locked as long as its maker lives; whoever makes
// the next one removes those of makers that were killed.
package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/texel-ml/texel/diag"
)

// prefix begins the name of every folder.
const prefix = "texel-"

// abandoned is how old a folder without a maker is before it goes: programs that do not lock may have made it.
const abandoned = time.Hour

// Dir is a temporary folder. Close removes it.
type Dir struct {
	Path string
	lock *os.File
}

// New makes a folder below parent; "" is the system's folder for temporary files. kind stands in its name.
func New(parent, kind string) (*Dir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	sweep(parent, prefix+kind+"-")
	path, err := os.MkdirTemp(parent, prefix+kind+"-")
	if err != nil {
		return nil, diag.Missing("scratch", parent, "no temporary folder can be made here").By(err)
	}
	d := &Dir{Path: path}
	if d.lock, err = os.Open(path); err == nil {
		syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // where locks are not known, age decides
	}
	return d, nil
}

// Close removes the folder and all that is in it.
func (d *Dir) Close() error {
	return errors.Join(os.RemoveAll(d.Path), d.lock.Close())
}

// sweep removes this user's folders whose maker is gone.
func sweep(parent, start string) {
	list, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range list {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), start) {
			continue
		}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < abandoned {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Getuid() {
			continue
		}
		path := filepath.Join(parent, e.Name())
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			os.RemoveAll(path)
		}
		f.Close()
	}
}
