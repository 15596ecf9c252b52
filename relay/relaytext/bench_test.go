package relaytext_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext"
)

const benchNodes = 90_000

// BenchmarkParse reads the text of a graph of 90,000 nodes; heap-MiB is the room that the program took for it, the text and both graphs included.
func BenchmarkParse(b *testing.B) {
	m := chain(b, benchNodes)
	text, data := relay.Print(m), constants(m)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		got, err := relaytext.Parse("m.relay", text, relaytext.Options{Constant: data})
		require.NoError(b, err)
		runtime.KeepAlive(got)
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	b.ReportMetric(float64(s.HeapSys)/(1<<20), "heap-MiB")
}

// BenchmarkPrint writes the same graph.
func BenchmarkPrint(b *testing.B) {
	m := chain(b, benchNodes)
	b.SetBytes(int64(len(relay.Print(m))))
	for b.Loop() {
		relay.Print(m)
	}
}

// BenchmarkBuild makes the same graph call by call.
func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		chain(b, benchNodes)
	}
}
