package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/tensor"
)

// TestBranchesAndLoops goes through the commands with a model that decides when it runs.
func TestBranchesAndLoops(t *testing.T) {
	x := newTool(t)
	art := filepath.Join(t.TempDir(), "collatz.texel")
	x.refused(4, "give a limit with --max-trips N", "compile", model("collatz"), "-o", art)
	x.ok("compile", model("collatz"), "--max-trips", "120", "-o", art)
	out := x.ok("inspect", art)
	for _, line := range []string{
		`output sequence \(120,\) int64, axis 0 up to this, its true extent in \S+`,
		`option max-trips = 120`,
		`launch +\d+ steps +loop if steps\.cond at most 120  steps\.cond → .*`,
		`launch +\d+   parity +if  \S+ → `,
		`launch +\d+     \S+ +grid \[1\] chunk 1  .*`,
		`             else`,
		`launch +\d+   stack steps +stack  .*`,
	} {
		require.Regexp(t, `(?m)^`+line+`$`, out)
	}
	require.Regexp(t, `plan: steps: a loop whose rounds have \d+ launches: of 2 values that rounds hand on, \d are written where the old ones are, \d are copied`, x.ok("explain", art))

	n := x.npy("n.npy", tensor.Of(tensor.Int64, tensor.Shape{}, int64(27)))
	out = x.ok("run", art, "--input", "n="+n, "--profile")
	require.Regexp(t, `(?m)^sequence \(111,\) int64 `, out)
	require.Regexp(t, `(?m)^ +µs +% +GFLOP/s +GB/s +runs  launch$`, out)
	require.Regexp(t, `(?m)^.* 111  \S+$`, out)
	require.Regexp(t, `(?m)^.* 41  \S+$`, out, "27 leads to 41 odd numbers")
	require.Contains(t, x.ok("check", model("collatz"), "--max-trips", "120", "--input", "n="+n), ", 8 of 111 rounds")

	// n is drawn from 1 to 15: all of these end
	require.Regexp(t, `(?m)^6 layers, 0 outside their bound; .* σ$`, x.ok("check", model("collatz"), "--max-trips", "120", "--seed", "1"))
	one := x.npy("one.npy", tensor.Of(tensor.Int64, tensor.Shape{}, int64(1)))
	require.Regexp(t, `(?m)^2 layers, 0 outside their bound; .*; 4 more did not run$`, x.ok("check", art, "--input", "n="+one))
	require.Regexp(t, `(?m)^inputs are drawn smaller: integers up to \d+ are refused: cpu: steps: loop takes more than 2 turns`,
		x.ok("check", model("collatz"), "--max-trips", "2", "--seed", "1"))
	x.ok("bench", art, "--rounds", "1") // of 0, which does not end
	require.Contains(t, x.ok("bench", model("collatz"), "--max-trips", "1", "--rounds", "1"), "inputs are drawn smaller: ")
	long := x.npy("long.npy", tensor.Of(tensor.Int64, tensor.Shape{}, int64(6171)))
	x.refused(4, "steps: loop takes more than 120 turns, for which the plan has room", "run", art, "--input", "n="+long)
	x.refused(2, "--max-trips is for compiling", "run", art, "--max-trips", "3", "--input", "n="+n)
	x.refused(2, "--max-trips wants a number from 0", "compile", model("collatz"), "--max-trips", "-1", "-o", art)
}

// TestAnEndlessLoopIsInterrupted ends a run whose condition always holds.
func TestAnEndlessLoopIsInterrupted(t *testing.T) {
	x := newTool(t)
	art := filepath.Join(t.TempDir(), "walk.texel")
	x.ok("compile", model("walk"), "-o", art)
	zero := x.npy("zero.npy", tensor.New(tensor.Float32, tensor.Shape{}))
	ctx, cancel := context.WithCancel(t.Context())
	var out, complaint bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &complaint, env: func(string) string { return "" }}
	var asked time.Time
	time.AfterFunc(300*time.Millisecond, func() { asked = time.Now(); cancel() })
	require.Equal(t, 130, a.run(ctx, []string{"run", art, "--input", "x=" + zero, "--input", "step=" + zero}), complaint.String())
	require.Less(t, time.Since(asked), 100*time.Millisecond)
}
