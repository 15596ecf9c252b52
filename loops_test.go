package texel_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

func integer(v int64) *tensor.Tensor { return tensor.Of(tensor.Int64, tensor.Shape{}, v) }

// collatz is the sequence behind n.
func collatz(n int64) (list []int64) {
	for n != 1 {
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
		list = append(list, n)
	}
	return list
}

// TestCollatz decides in each round, on each level, which branch is taken and whether another round follows.
func TestCollatz(t *testing.T) {
	_, err := texel.Compile(context.Background(), fixture("collatz"), texel.Options{})
	require.ErrorIs(t, err, diag.ErrUnsupported)
	require.ErrorContains(t, err, `node "steps"`)
	require.ErrorContains(t, err, "give a limit with --max-trips N")
	_, err = texel.Compile(context.Background(), fixture("collatz"), texel.Options{MaxTrips: -1})
	require.ErrorIs(t, err, diag.ErrInvalid)

	for _, level := range []texel.OptLevel{texel.Opt0, texel.Opt1, texel.Opt2, texel.Opt3} {
		m := load(t, compiled(t, fixture("collatz"), texel.Options{OptLevel: level, MaxTrips: 111}), texel.LoadOptions{})
		for _, n := range []int64{27, 1, 2, 7, 6171, 27} {
			out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"n": integer(n)})
			if n == 6171 { // 261 rounds
				require.ErrorIs(t, err, diag.ErrUnsupported)
				require.ErrorContains(t, err, "steps: loop takes more than 111 turns, for which the plan has room")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, integer(1), out["last"])
			want := collatz(n)
			require.Equal(t, tensor.Shape{len(want)}, out["sequence"].Shape)
			require.Equal(t, want, append([]int64(nil), tensor.View[int64](out["sequence"])...))
		}
	}
}

// TestCheckGoesRoundByRound looks at what is compared of loops and branches.
func TestCheckGoesRoundByRound(t *testing.T) {
	check := func(model string, inputs map[string]*tensor.Tensor) *texel.Report {
		c, err := texel.Compile(context.Background(), fixture(model), texel.Options{MaxTrips: 111})
		require.NoError(t, err)
		defer c.Close()
		report, err := c.Check(context.Background(), texel.CheckOptions{Inputs: inputs})
		require.NoError(t, err)
		require.NoError(t, report.Err())
		return report
	}
	report := check("collatz", map[string]*tensor.Tensor{"n": integer(16)}) // 16, 8, 4, 2, 1: odd numbers are not reached
	runs := map[int]int{}
	for _, l := range report.Layers {
		runs[l.Runs]++
		require.Equal(t, l.Compared, l.Runs, "the first four are compared")
	}
	require.Equal(t, 1, runs[0], "the branch that is not taken\n%v", report)
	require.Contains(t, report.String(), "did not run")
	require.Contains(t, report.String(), "4 of 4 rounds")
	report = check("collatz", map[string]*tensor.Tensor{"n": integer(27)})
	require.Contains(t, report.String(), ", 8 of 111 rounds", "1 to 4, 8, 16, 32 and 64")

	report = check("lstm", map[string]*tensor.Tensor{"lens": tensor.Of(tensor.Int32, tensor.Shape{2}, int32(50), 20)})
	require.Contains(t, report.String(), ", 7 of 50 rounds")
	require.Len(t, report.Outputs, 3)
	for _, o := range report.Outputs {
		require.True(t, o.Judged)
	}
	for _, o := range check("walk", map[string]*tensor.Tensor{"x": floats(tensor.Shape{}, 0.25), "step": floats(tensor.Shape{}, 0.125)}).Outputs {
		require.Zero(t, o.Wrong)
		require.False(t, o.Judged, "a near tie could have gone either way")
	}
}

// TestEndlessLoopsAreCancelled has a loop of tiny rounds that never ends.
func TestEndlessLoopsAreCancelled(t *testing.T) {
	for _, device := range []string{"cpu", "opencl"} {
		to, err := texel.DeviceTarget(device)
		if errors.Is(err, diag.ErrMissing) && device == "opencl" {
			continue
		}
		require.NoError(t, err)
		m := load(t, compiled(t, fixture("walk"), texel.Options{Targets: []string{to}}), texel.LoadOptions{Device: device})
		out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": floats(tensor.Shape{}, 0), "step": floats(tensor.Shape{}, 0.375)})
		require.NoError(t, err)
		require.Equal(t, floats(tensor.Shape{}, 1.125), out["y"])
		best := time.Hour // of some tries: the machine may be busy
		for try := 0; try < 10 && (try < 3 || best >= 100*time.Millisecond); try++ {
			ctx, cancel := context.WithCancel(context.Background())
			var asked time.Time
			time.AfterFunc(30*time.Millisecond, func() { asked = time.Now(); cancel() })
			_, err = m.Run(ctx, map[string]*tensor.Tensor{"x": floats(tensor.Shape{}, 0), "step": floats(tensor.Shape{}, 0)})
			require.ErrorIs(t, err, context.Canceled)
			best = min(best, time.Since(asked))
		}
		require.Less(t, best, 100*time.Millisecond)
		out, err = m.Run(context.Background(), map[string]*tensor.Tensor{"x": floats(tensor.Shape{}, 2), "step": floats(tensor.Shape{}, 0)})
		require.NoError(t, err)
		require.Equal(t, floats(tensor.Shape{}, 2), out["y"])
	}
}
