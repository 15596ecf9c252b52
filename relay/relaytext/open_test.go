package relaytext_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/tensor"
)

// TestFormattingKeepsTheBatchOpen prints texts whose batch is open, and reads what was printed for other numbers of rows.
func TestFormattingKeepsTheBatchOpen(t *testing.T) {
	for text, want := range map[string]string{
		"def @main(%x: Tensor[(?, 16), float32]) { nn.relu(%x) }": `def @main(%x: Tensor[(?, 16), float32]) -> Tensor[(?, 16), float32] {
  nn.relu(%x) /* ty=Tensor[(?, 16), float32] */
}
`,
		"def @main(%x: Tensor[(?, 2, 3), float32]) -> Tensor[(?, 6), float32] { let %y = nn.batch_flatten(%x); (%y + 1f) }": `def @main(%x: Tensor[(?, 2, 3), float32]) -> Tensor[(?, 6), float32] {
  let %y: Tensor[(?, 6), float32] = reshape(%x, newshape=[-1, 6]) /* ty=Tensor[(?, 6), float32] */;
  add(%y, 1f) /* ty=Tensor[(?, 6), float32] */
}
`,
		"free_var %x: Tensor[(?, 4), float32]; split(%x, indices_or_sections=2, axis=1).0": `def @main(%x: Tensor[(?, 4), float32]) -> Tensor[(?, 2), float32] {
  %0 = split(%x, indices_or_sections=[2], axis=1) /* ty=(Tensor[(?, 2), float32], Tensor[(?, 2), float32]) */;
  %0.0 /* ty=Tensor[(?, 2), float32] */
}
`,
	} {
		out, err := relaytext.Format("m.relay", text)
		require.NoError(t, err)
		require.Contains(t, out, want)
		again, err := relaytext.Format("m.relay", out)
		require.NoError(t, err)
		require.Equal(t, out, again)
		for _, n := range []int{0, 1, 2, 7} {
			var modules [2]*relay.Module
			for i, s := range []string{text, out} {
				modules[i], err = relaytext.Parse("m.relay", s, relaytext.Options{Batch: n})
				require.NoError(t, err)
				require.Equal(t, "?", modules[i].Batch)
				require.Equal(t, max(n, 1), relay.Tensor(modules[i].Main().Params[0]).Shape[0])
			}
			require.NoError(t, relay.Compare(modules[0], modules[1]))
		}
		bound, err := relaytext.Parse("m.relay", out, relaytext.Options{Batch: 7, Shapes: map[string][]int{"x": append(tensor.Shape{3}, relay.Tensor(mustParse(t, out).Main().Params[0]).Shape[1:]...)}})
		require.NoError(t, err)
		require.Empty(t, bound.Batch)
		require.Equal(t, 3, relay.Tensor(bound.Main().Params[0]).Shape[0])
	}
}

func mustParse(t *testing.T, text string) *relay.Module {
	m, err := relaytext.Parse("m.relay", text, relaytext.Options{})
	require.NoError(t, err)
	return m
}

// TestFormattingRefusesWhatCannotStayOpen does not take a number of rows for the text's.
func TestFormattingRefusesWhatCannotStayOpen(t *testing.T) {
	for text, want := range map[string]string{
		"def @main(%x: Tensor[(?, 4), float32]) -> Tensor[(1, 4), float32] { exp(%x) }": "m.relay:1:1: relaytext: function: the batch is open, but with 7 rows this is no model: the result is annotated Tensor[(1, 4), float32], the body has type Tensor[(7, 4), float32]; write the extent instead of ?",
		"def @main(%x: Tensor[(?, 4), float32]) { zeros_like(%x) }":                     "zeros: what is computed here depends on the batch, so that the text cannot leave it open",
		"def @main(%x: Tensor[(3, ?), float32]) { exp(%x) }":                            "axis 1 of Tensor[(3, ?), float32] has no known extent",
		"def @main(%x: Tensor[(?, ?), float32]) { exp(%x) }":                            "axis 1 of Tensor[(?, ?), float32] has no known extent",
	} {
		_, err := relaytext.Format("m.relay", text)
		require.ErrorIs(t, err, diag.ErrUnsupported)
		require.ErrorContains(t, err, want)
	}
}

// within runs f and wants it to be done in time.
func within(t *testing.T, limit time.Duration, f func()) {
	start := time.Now()
	f()
	require.Less(t, time.Since(start), limit)
}

// TestWideTypesTakeNoTime reads texts whose types grow faster than they do.
func TestWideTypesTakeNoTime(t *testing.T) {
	wide := func(n int) string {
		return "def @main(%x: Tensor[(1, 16), float32]) { (" + strings.Repeat("%x, ", n) + ") }"
	}
	within(t, 20*time.Second, func() {
		out, err := relaytext.Format("m.relay", wide(10_000))
		require.NoError(t, err)
		require.Equal(t, 10_001, strings.Count(out, "%x"))
		_, err = relaytext.Parse("m.relay", wide(100_000), relaytext.Options{})
		require.ErrorIs(t, err, diag.ErrUnsupported)
		require.EqualError(t, err, "m.relay:1:43: relaytext: tuple: has 100000 tensors; at most 10000 are supported")
	})
	doubled := func(first, step, end string) string {
		var b strings.Builder
		b.WriteString("def @main(%x: Tensor[(1, 16), float32]) {\n  " + first + "\n")
		for i := range 60 {
			b.WriteString(strings.NewReplacer("NEW", strconv.Itoa(i+1), "OLD", strconv.Itoa(i)).Replace("  "+step) + "\n")
		}
		return b.String() + end
	}
	for name, text := range map[string]string{
		"tuples":    doubled("%0 = (%x, %x);", "%NEW = (%OLD, %OLD);", "  %60\n}"),
		"lets":      doubled("let %v0 = (%x, %x);", "let %vNEW = (%vOLD, %vOLD);", "  %v60\n}"),
		"functions": doubled("%0 = fn () { %x };", "%NEW = fn () { (%OLD(), %OLD()) };", "  %60()\n}"),
		"branches":  doubled("%0 = (%x, %x);", "%NEW = if (True) { (%OLD, %OLD) } else { (%OLD, %OLD) };", "  %60\n}"),
	} {
		within(t, 20*time.Second, func() {
			_, err := relaytext.Format("m.relay", text)
			require.ErrorIs(t, err, diag.ErrUnsupported, name)
			require.ErrorContains(t, err, "tuple: has 16384 tensors; at most 10000 are supported", name)
		})
	}
	many := "def @main(%x: Tensor[(1, 16), float32]) {\n  %0 = (" + strings.Repeat("%x, ", 9000) + ");\n"
	for i := range 300 {
		many += "  %" + strconv.Itoa(i+1) + " = (%" + strconv.Itoa(i) + ",);\n"
	}
	within(t, 20*time.Second, func() {
		_, err := relaytext.Format("m.relay", many+"  %x\n}")
		require.ErrorIs(t, err, diag.ErrUnsupported)
		require.ErrorContains(t, err, "the tuples up to here have 2007000 tensors; at most 2000000 are supported")
	})
}

// TestAnOperatorWithoutTheBeginningOfItsName is asked for by its whole name.
func TestAnOperatorWithoutTheBeginningOfItsName(t *testing.T) {
	for name, want := range map[string]string{
		"matmul": "; did you mean nn.matmul?", "conv2": "; did you mean nn.conv2d?", "tf.nn.softmax": "; did you mean nn.softmax?",
		"relay.nn.rleu": "; did you mean nn.relu?", "mutliply": "; did you mean multiply?", "quux": "",
	} {
		_, err := relaytext.Parse("m.relay", "def @main(%x: Tensor[(2, 2), float32]) { "+name+"(%x, %x) }", relaytext.Options{})
		require.EqualError(t, err, "m.relay:1:42: relaytext: "+name+": the operator is not known"+want)
	}
}

// TestALetMayNameTheBodyOfALoop reads a loop whose body a let names.
func TestALetMayNameTheBodyOfALoop(t *testing.T) {
	text := func(binding, name string) string {
		return "def @main(%n: int64, %x: float32) { " + binding + " = fn (%i: int64, %s: float32) { (%s * 2f,) }; loop(" + name + ", (%n,), (), (%x,), ()).0 }"
	}
	want, err := relaytext.Inline(mustParse(t, text("%0", "%0")))
	require.NoError(t, err)
	for _, s := range []string{text("let %body", "%body"), text("let %f: fn (int64, float32) -> (float32,)", "%f"), strings.Replace(text("let %f", "%g"), "loop(", "let %g = %f; loop(", 1)} {
		m := mustParse(t, s)
		require.NoError(t, relay.Verify(m))
		out, err := relaytext.Format("m.relay", s)
		require.NoError(t, err)
		again, err := relaytext.Format("m.relay", out)
		require.NoError(t, err)
		require.Equal(t, out, again)
		for _, s := range []string{s, out} {
			inlined, err := relaytext.Inline(mustParse(t, s))
			require.NoError(t, err)
			require.NoError(t, relay.Compare(want, inlined))
		}
	}
}
