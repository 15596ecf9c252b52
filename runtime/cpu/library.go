package cpu

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"github.com/texel-ml/texel/diag"
)

// library is a loaded shared object.
type library struct {
	name   string
	handle uintptr
	fd     int // the memory file, open as long as the library: the loader knows it by this path; -1 is none
}

// openLibrary loads code from memory: through an anonymous memory file, else through a temporary file that is removed
// at once.
func openLibrary(name string, code []byte, temp string) (*library, error) {
	l, err := openMemory(name, code)
	if err == nil {
		return l, nil
	}
	first := err
	dirs := []string{"/dev/shm", "/tmp", "/data/local/tmp"}
	if temp != "" {
		dirs = []string{temp}
	}
	for _, dir := range dirs {
		if l, err = openTemp(name, code, dir); err == nil {
			return l, nil
		}
	}
	return nil, diag.Missing("cpu", name, "code cannot be loaded: memory file: %v; temporary file in %v", first, dirs).By(err)
}

func openMemory(name string, code []byte) (*library, error) {
	fd, err := unix.MemfdCreate("texel-"+name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	for rest := code; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err != nil {
			unix.Close(fd)
			return nil, err
		}
		rest = rest[n:]
	}
	handle, err := purego.Dlopen(fmt.Sprintf("/proc/self/fd/%d", fd), purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &library{name: name, handle: handle, fd: fd}, nil
}

func openTemp(name string, code []byte, dir string) (*library, error) {
	folder, err := os.MkdirTemp(dir, "texel-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, code, 0o700); err != nil {
		return nil, err
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	return &library{name: name, handle: handle, fd: -1}, nil
}

// symbol returns the address of an exported name.
func (l *library) symbol(name string) (uintptr, error) {
	address, err := purego.Dlsym(l.handle, name)
	if err != nil || address == 0 {
		return 0, diag.Invalid("cpu", l.name, "code does not export %s, which the plan needs", name)
	}
	return address, nil
}

func (l *library) close() error {
	err := purego.Dlclose(l.handle)
	if l.fd >= 0 {
		unix.Close(l.fd)
	}
	if err != nil {
		return diag.Internal("cpu", l.name, "code is not unloaded").By(err)
	}
	return nil
}
