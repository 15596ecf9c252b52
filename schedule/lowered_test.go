package schedule_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

// storageDirs are the primitives whose goldens TestStorageIsLowered takes through the loop passes.
var storageDirs = []string{"cache_read", "cache_write", "cache_inplace", "read_at", "write_at", "reindex", "set_scope", "set_axis_separator",
	"storage_align", "double_buffer", "rolling_buffer", "transform_layout", "transform_block_layout", "annotate", "unannotate"}

// TestStorageIsLowered lowers what the goldens of the storage primitives give, for a CPU and for a GPU, and compares what
// the kernels compute with the program.
func TestStorageIsLowered(t *testing.T) {
	for _, dir := range storageDirs {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		require.NoError(t, err)
		for _, path := range files {
			if strings.HasPrefix(filepath.Base(path), "refuse_") {
				continue
			}
			program := readProgram(t, path)
			trace, err := schedule.ParseTrace(path, golden.In(t, path, "in trace"))
			require.NoError(t, err)
			s := schedule.New(program)
			require.NoError(t, s.Replay(trace))
			devices := []transform.Device{transform.CPU, transform.GPU}
			switch text := tirtext.Print(s.Func()); { // a GPU has bound loops, a CPU parallel ones
			case strings.Contains(text, "kind=parallel"):
				devices = devices[:1]
			case strings.Contains(text, "kind=bound"):
				devices = devices[1:]
			}
			for _, device := range devices {
				t.Run(dir+"/"+strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+string(device), func(t *testing.T) {
					sameKernels(t, program, s.Func(), device)
				})
			}
		}
	}
}

// sameKernels lowers got and compares what its kernels compute with what want computes.
func sameKernels(t tb, want, got *tir.Func, device transform.Device) []*tir.Kernel {
	t.Helper()
	kernels, _, err := transform.Lower(got, transform.Options{Device: device})
	require.NoError(t, err)
	args := arguments(want)
	require.NoError(t, interp.Run(context.Background(), want, args, interp.Options{}))
	buffers := map[*tir.Buffer]*tensor.Tensor{}
	for i, a := range arguments(got) {
		buffers[got.Params[i]] = a
	}
	require.NoError(t, interp.RunKernels(context.Background(), kernels, buffers, interp.Options{Races: true}))
	for i := len(args) - want.Outputs; i < len(args); i++ {
		require.Equal(t, args[i], buffers[got.Params[i]], "output %s", want.Params[i].Name)
	}
	return kernels
}

// TestStoragePagesAreLowered takes what the traces of the pages of storage make through the loop passes.
func TestStoragePagesAreLowered(t *testing.T) {
	for _, name := range []string{"rolling-buffer", "storage", "dynamic-textures"} {
		data, err := os.ReadFile(filepath.Join(pages, name+".md"))
		require.NoError(t, err)
		program, steps := map[string]*tir.Func{}, map[string][]string{}
		list := fences(strings.Split(string(data), "\n"))
		for i, f := range list {
			switch f.kind {
			case "tir":
				program[f.name] = parseTir(t, name, f.text)
			case "trace":
				if i+1 == len(list) || list[i+1].kind != "err" {
					steps[f.name] = append(steps[f.name], f.text)
				}
			}
		}
		require.NotEmpty(t, steps)
		for key, text := range steps {
			t.Run(name+"/"+key, func(t *testing.T) {
				trace, err := schedule.ParseTrace(key, strings.Join(text, ""))
				require.NoError(t, err)
				s := schedule.New(program[key])
				require.NoError(t, s.Replay(trace))
				device := transform.CPU
				if strings.Contains(tirtext.Print(s.Func()), "kind=bound") {
					device = transform.GPU
				}
				sameKernels(t, program[key], s.Func(), device)
			})
		}
	}
}
