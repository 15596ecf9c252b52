package schedule_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
)

// longTrace is a trace of more than 60 steps on a matrix product of 1024³: that of a little core, with the copy cut further.
func longTrace(b *testing.B) (*tir.Func, *schedule.Trace) {
	program := readTir(b, "../docs/schedules/matmul/matmul.tir")
	text, err := os.ReadFile("../docs/schedules/matmul/cortex-a55.trace")
	require.NoError(b, err)
	trace, err := schedule.ParseTrace("a55", string(text))
	require.NoError(b, err)
	s := schedule.New(program)
	require.NoError(b, s.Replay(trace))
	require.GreaterOrEqual(b, len(s.Trace().Steps), 40)
	for n := 0; len(s.Trace().Steps) < 60; n++ { // more blocks, innermost loops first
		l := s.Loops(s.Block("B_scratch"))
		s.Split(l.At(-1-n%2), 0, 2)
		s.Unroll(s.Loops(s.Block("B_scratch")).At(l.Len()))
	}
	require.NoError(b, s.Err())
	return program, s.Trace()
}

// BenchmarkReplay replays a trace of 60 steps, with each step proven and without.
func BenchmarkReplay(b *testing.B) {
	program, trace := longTrace(b)
	for _, trust := range []bool{false, true} {
		name := "proven"
		if trust {
			name = "trusted"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, schedule.NewWith(program, schedule.Options{Trust: trust}).Replay(trace))
			}
		})
	}
}
