package diag

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorNamesPlaceStepNodeAndCause(t *testing.T) {
	e := Invalid("fuse-ops", "conv", "wanted %d operands, found %d", 2, 3).At(Pos{File: "m.onnx", Node: "Conv_3"}).By(fs.ErrNotExist)
	require.EqualError(t, e, `m.onnx: node "Conv_3": fuse-ops: conv: wanted 2 operands, found 3: file does not exist`)
	require.ErrorIs(t, e, ErrInvalid)
	require.ErrorIs(t, e, fs.ErrNotExist)
	require.NotErrorIs(t, e, ErrUnsupported)
	require.Equal(t, "x.relay:3:7", Pos{File: "x.relay", Line: 3, Col: 7}.String())
	require.EqualError(t, &Error{Kind: ErrMissing}, "missing")

	e.Draw = func() string { return "%0 = conv(^)" }
	require.NotContains(t, fmt.Sprintf("%v", e), "conv(^)")
	require.Contains(t, fmt.Sprintf("%+v", e), "\n%0 = conv(^)")
}

func TestAtAndByLeaveTheOriginalAlone(t *testing.T) {
	e := Unsupported("import", "Op", "no")
	_ = e.At(Pos{File: "f"}).By(errors.New("x"))
	require.EqualError(t, e, "import: Op: no")
}

func TestExitCodes(t *testing.T) {
	for want, err := range map[int]error{
		0: nil, 3: Invalid("", "", "x"), 4: Unsupported("", "", "x"), 5: Numeric("", "", "x"), 6: Missing("", "", "x"), 70: Internal("", "", "x"),
	} {
		require.Equal(t, want, Exit(err))
	}
	require.Equal(t, 70, Exit(errors.New("without a kind")))
	require.Equal(t, 70, Exit(Internal("pass", "", "made it").By(Invalid("", "", "x"))), "a bug of ours that shows as an invalid input")
	require.Equal(t, 4, Exit(fmt.Errorf("wrapped: %w", Unsupported("", "", "x"))))
}

func TestNotes(t *testing.T) {
	var none *Notes
	none.Add(Default, "s", "n", "dropped")
	require.Empty(t, none.List())
	n := &Notes{}
	n.Add(Fused, "fuse-ops", "relu", "into %s", "conv")
	n.Add(Default, "options", "", "level 3")
	require.Equal(t, "fused: fuse-ops: relu: into conv", n.List()[0].String())
	require.Equal(t, "default: options: level 3", n.List()[1].String())
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() { n.Add(Chose, "s", "n", "x") })
	}
	wait.Wait()
	require.Len(t, n.List(), 12)
}
