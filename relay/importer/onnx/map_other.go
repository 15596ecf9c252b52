//go:build !unix

package onnx

import (
	"io"
	"os"
)

func mapFile(path string) ([]byte, io.Closer, error) {
	data, err := os.ReadFile(path)
	return data, io.NopCloser(nil), err
}

// mapOpen reads an open file: there is no mapping on this system.
func mapOpen(f *os.File) ([]byte, io.Closer, error) {
	data, err := io.ReadAll(f)
	return data, io.NopCloser(nil), err
}
