//go:build unix

package onnx

import (
	"fmt"
	"io"
	"math"
	"os"
	"syscall"
)

// mapping is a file mapped for reading.
type mapping []byte

// Close unmaps the file; its bytes must not be read afterwards.
func (m mapping) Close() error { return syscall.Munmap(m) }

func mapFile(path string) ([]byte, io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe without a writer does not hold us up
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return mapOpen(f)
}

// mapOpen maps an open file, which may be closed afterwards.
func mapOpen(f *os.File) ([]byte, io.Closer, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", f.Name())
	}
	if info.Size() == 0 {
		return nil, io.NopCloser(nil), nil
	}
	if info.Size() > math.MaxInt {
		return nil, nil, fmt.Errorf("%s has %d bytes, more than can be mapped", f.Name(), info.Size())
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return data, mapping(data), nil
}
