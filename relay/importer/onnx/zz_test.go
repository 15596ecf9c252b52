package onnx

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	fs, _ := filepath.Glob("/tmp/zoo/*.onnx")
	f2, _ := filepath.Glob("/tmp/real/*/model.onnx")
	for _, f := range append(fs, f2...) {
		o := Options{}
		switch {
		case filepath.Base(filepath.Dir(f)) == "ppocr-direction":
			o.InputShapes = map[string][]int{"x": {2, 3, 80, 160}}
		case filepath.Base(filepath.Dir(f)) == "ppocr-v4-find":
			o.InputShapes = map[string][]int{"x": {1, 3, 96, 96}}
		case filepath.Base(filepath.Dir(f)) == "ppocr-v4-text":
			o.InputShapes = map[string][]int{"x": {1, 3, 48, 320}}
		}
		t0 := time.Now()
		m, notes, err := Import(context.Background(), f, o)
		if err != nil {
			t.Error(f, err)
			continue
		}
		fmt.Fprintln(os.Stderr, f, m.Main().Type(), notes, time.Since(t0))
		m.Close()
	}
}
