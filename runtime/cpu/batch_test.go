package cpu

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/tensor"
)

// rows is a model of one row whose ports are open along an axis.
func rows(m *model, axis int) *model {
	for _, list := range [][]artifact.Port{m.plan.Inputs, m.plan.Outputs} {
		for i := range list {
			list[i].Open = &artifact.OpenAxis{Axis: axis, Name: "N"}
		}
	}
	return m
}

// TestRowsOneAfterTheOther runs y = 2x of (4, 2) open along either axis: rows in one piece, and in four.
func TestRowsOneAfterTheOther(t *testing.T) {
	for axis := range 2 {
		m := newModel()
		m.input("x", 4, 2)
		m.output("y", 4, 2)
		m.add(m.kernel("twice", 8, 8, nil, "y", "x"))
		module := open(t, rows(m, axis).write(t, nil))
		in, err := module.New(runtime.InstanceOptions{Batch: 3})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, in.Close()) })
		shape := tensor.Shape{4, 2}
		shape[axis] *= 3
		require.Equal(t, shape, in.OutputShape(0))
		require.Len(t, in.Input(0), 4*shape.Elems())
		fill(in.Input(0), 1)
		seen := []int{}
		require.NoError(t, in.RunSteps(context.Background(), func(int) error { seen = append(seen, in.Row()); return nil }))
		require.Equal(t, []int{0, 1, 2}, seen)
		for i, x := range floats(in.Input(0)) {
			require.Equal(t, 2*x, floats(in.Output(0))[i], "axis %d, element %d", axis, i)
		}
		require.ErrorContains(t, in.BindInput(0, make([]byte, 32)), "needs 96 bytes, found 32")
	}
}

func TestNumbersOfRowsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		model *model
		n     int
		kind  error
		want  string
	}{
		{chain(), 2, diag.ErrUnsupported, "2 rows are wanted, and the model is compiled for its shapes only"},
		{rows(chain(), 0), -1, diag.ErrInvalid, "wanted 1 to 1048576 rows, found -1"},
		{rows(chain(), 0), 1<<20 + 1, diag.ErrInvalid, "wanted 1 to 1048576 rows, found 1048577"},
	} {
		_, err := open(t, c.model.write(t, nil)).New(runtime.InstanceOptions{Batch: c.n})
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.want)
	}
}

// TestRowsAreCancelled ends a run between its rows and within one.
func TestRowsAreCancelled(t *testing.T) {
	in, err := open(t, rows(long(), 0).write(t, nil)).New(runtime.InstanceOptions{Batch: 50})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, in.Close()) })
	in.Input(0)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	require.ErrorIs(t, in.Run(ctx), context.DeadlineExceeded)
	require.Less(t, time.Since(start), time.Second)
}
