package opencl

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
)

const pooling = "../../docs/schedules/adaptive-pooling"

// poolRow is a program of the page of adaptive pooling with one of its traces.
type poolRow struct {
	program, trace string
	elements       int // of the largest window
	barriers       int
}

func poolRows() []poolRow {
	return []poolRow{
		{"global-7", "item", 49, 0},
		{"parts", "item", 13 * 11, 0},
		{"parts", "group", 13 * 11, 2},
		{"global-56", "group", 56 * 56, 2},
	}
}

// kernels applies the trace to the program and lowers it for a device.
func (r poolRow) kernels(t *testing.T) (list []*tir.Kernel, between []*tir.Buffer) {
	file := filepath.Join(pooling, r.program+".tir")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	f, err := tirtext.Parse(file, string(text))
	require.NoError(t, err)
	file = filepath.Join(pooling, r.trace+".trace")
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	trace, err := schedule.ParseTrace(file, string(text))
	require.NoError(t, err)
	s := schedule.New(f)
	require.NoError(t, s.Replay(trace))
	require.Equal(t, trace.String(), s.Trace().String(), "%s is not what it would be if it was recorded", file)
	list, between, err = transform.Lower(s.Func(), transform.Options{Device: transform.GPU, MaxLanes: 16, Verify: true})
	require.NoError(t, err)
	return list, between
}

// mean is the definition, in float64.
func mean(x *tensor.Tensor, out []int) *tensor.Wide {
	w := tensor.Widen(x)
	y := tensor.NewWide(tensor.Float64, out)
	part := func(i, in, out int) (from, to int) { return i * in / out, ((i+1)*in + out - 1) / out }
	for n := range y.F {
		c, row, column := n/(out[1]*out[2]), n/out[2]%out[1], n%out[2]
		top, bottom := part(row, w.Shape[1], out[1])
		left, right := part(column, w.Shape[2], out[2])
		for i := top; i < bottom; i++ {
			for j := left; j < right; j++ {
				y.F[n] += w.F[(c*w.Shape[1]+i)*w.Shape[2]+j] / float64((bottom-top)*(right-left))
			}
		}
	}
	return y
}

// TestRowsOfPooling runs the traces of the page of adaptive pooling work-item by work-item in the interpreter, where no two may
// meet, and on a device.
func TestRowsOfPooling(t *testing.T) {
	for _, r := range poolRows() {
		t.Run(r.program+"/"+r.trace, func(t *testing.T) {
			list, between := r.kernels(t)
			require.Len(t, list, 1)
			in, out := list[0].Params[0], list[0].Params[1]
			source := emit(t, list, pocl(t))[0].Source
			require.Equal(t, r.barriers, strings.Count(source, "barrier("), source)
			if r.program == "parts" && r.trace == "group" {
				page, err := os.ReadFile(pooling + ".md")
				require.NoError(t, err)
				require.Contains(t, string(page), "\n```c\n"+strings.TrimSpace(source)+"\n```\n", "the page shows the kernel")
			}
			args := map[*tir.Buffer]*tensor.Tensor{in: ramp(tensor.Float32, in.Shape...)}
			tol := numtest.Tolerance{Max: numtest.Relative(tensor.Float32, r.elements, 2)}
			agree(t, list, between, args, tol)
			run := map[*tir.Buffer]*tensor.Tensor{in: args[in]}
			require.NoError(t, interp.RunKernels(context.Background(), list, run, interp.Options{Races: true}))
			want := mean(args[in], out.Shape)
			got := tensor.Widen(run[out])
			for i, v := range want.F {
				require.InDelta(t, v, got.F[i], 1.5*numtest.Relative(tensor.Float32, r.elements, 2), "element %d", i) // of elements up to 1.5
			}
		})
	}
}

// groupItems is how many work-items the trace of a group has.
const groupItems = 64

// worthAGroup is the rule of the page: where work-items run side by side, a window is for a group that leaves each of its
// work-items two elements.
func worthAGroup(elements int, t *target.Target) bool {
	return t.GPU.Wave > 1 && elements >= 2*groupItems
}

// TestRowsThreshold applies the rule to the programs of the page.
func TestRowsThreshold(t *testing.T) {
	phone, err := target.Parse("adreno-660")
	require.NoError(t, err)
	for _, r := range poolRows() {
		require.Equal(t, r.elements >= 128, worthAGroup(r.elements, phone), r.program)
		require.False(t, worthAGroup(r.elements, pocl(t)), r.program)
	}
}
