package tirtext_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/tir/tirtext"
)

func TestErrors(t *testing.T) {
	const head = "func f(A: float32[4], out C: float32[4]):\n"
	for _, c := range []struct{ text, want string }{
		{"", `t:1:1: tirtext: wanted "func", found the end of the text`},
		{"func f(out C: float32[4])\n", `t:1:26: tirtext: wanted ":", found the end of the line`},
		{"func f(out C: float33[4]):\n  pass\n", `t:1:15: tirtext: wanted an element type, found "float33"`},
		{"func f(out C: float32[-1]):\n  pass\n", `t:1:23: tirtext: wanted a count, found "-"`},
		{"func f(out C: float32[4], A: float32[4]):\n  pass\n", `t:1:27: tirtext: wanted an output, found an input: outputs come after inputs`},
		{"func f(A: int8[4], A: int8[4]):\n  pass\n", `t:1:20: tirtext: A is in scope already`},
		{"func f(A: int8[4, 4] strides [1]):\n  pass\n", `t:1:30: tirtext: wanted 2 strides, found 1`},
		{head, `t:2:1: tirtext: wanted a deeper indentation, found the end of the text`},
		{head + "\tpass\n", `t:2:1: tirtext: character '\t' is not part of the language`},
		{head + "  C[0] = 1\n", `t:2:10: tirtext: wanted a value of float32, found int64`},
		{head + "  C[0] = A[x]\n", `t:2:12: tirtext: variable x is not in scope`},
		{head + "  C[0] = B[0]\n", `t:2:10: tirtext: buffer B is not in scope`},
		{head + "  C[0, 1] = 1.0\n", `t:2:3: tirtext: wanted 1 indices of C, found 2`},
		{head + "  C[0] = 1.0 + 1\n", `t:2:14: tirtext: operands of + are float32 and int64; wanted one type`},
		{head + "  C[0] = select(1, 1.0, 2.0)\n", `t:2:10: tirtext: select of int64, float32, float32; wanted a bool and two of one type`},
		{head + "  C[0] = frombits(1)\n", `t:2:10: tirtext: frombits of int64`},
		{head + "  C[0] = sinus(1.0)\n", `t:2:10: tirtext: function sinus is unknown`},
		{head + "  if 1 < 2 < 3:\n    pass\n", `t:2:12: tirtext: comparisons do not chain; wanted parentheses`},
		{head + "  for i in range(0, 4, kind=fast):\n    pass\n", `t:2:29: tirtext: wanted serial, parallel, vectorized, unrolled or bound, found "fast"`},
		{head + "  for i in range(0, 4):\n    for i in range(0, 4):\n      pass\n", `t:3:9: tirtext: i is in scope already`},
		{head + "  for if in range(0, 4):\n    pass\n", `t:2:7: tirtext: if is a word of the language; wanted a name`},
		{head + "  for i in range(0, 4):\n    pass\n   pass\n", `t:4:4: tirtext: indentation of 3 blanks matches no line above; wanted 2`},
		{head + "  C[0] = 300_int8\n", `t:2:10: tirtext: "300" is no number of int8`},
		{head + "  C[0] = 3_float32\n", `t:2:10: tirtext: "3_float32" is no number of an element type`},
		{head + "  C[0] = \"x\n", `t:2:10: tirtext: string has no end on its line or a bad escape`},
		{head + "  C[ramp(0, 1, 1)] = 1.0\n", `t:2:16: tirtext: wanted 2 to 65536 lanes, found 1`},
		{head + "  C[0] = 1.0\n  C[0] = 2.0\nfunc\n", `t:4:1: tirtext: wanted the end of the text, found "func"`},
		{head + "  block b(v: opaque[4] = 0):\n    pass\n", `t:2:14: tirtext: wanted spatial, reduce or ordered, found "opaque"`},
		{head + "  block b(v: spatial[4] = 0):\n    reads A[0 +: 1, 0 +: 1]\n    pass\n", `t:3:11: tirtext: wanted 1 axes of A, found 2`},
	} {
		_, err := tirtext.Parse("t", c.text)
		require.EqualError(t, err, c.want, c.text)
	}
}

func TestKernelAndProgramErrors(t *testing.T) {
	const head = "kernel k(out C: float32[4])"
	for _, c := range []struct{ text, want string }{
		{"func f()", `t:1:1: tirtext: wanted "kernel", found "func"`},
		{head + " grid g 4:\n  pass\n", `t:1:36: tirtext: wanted "=", found "4"`},
		{head + " grid C = 4:\n  pass\n", `t:1:34: tirtext: C is in scope already`},
		{head + ":\n  barrier C\n", `t:2:11: tirtext: wanted the end of the line, found "C"`},
		{head + ":\n  barrier scope shared\n", `t:2:17: tirtext: wanted a scope in quotes, found "shared"`},
		{head + ":\n  allocate C: int8[4]:\n    pass\n", `t:2:12: tirtext: C is in scope already`},
		{head + ":\n  allocate T: int8[4] attrs {a: 1}:\n    pass\n", `t:2:30: tirtext: wanted a key in quotes, found "a"`},
	} {
		_, err := tirtext.ParseKernel("t", c.text)
		require.EqualError(t, err, c.want, c.text)
	}
	const program = "program f(A: float32[4], out C: float32[4]) after \"unroll\"\nbetween T: int8[2]\n"
	for _, c := range []struct{ text, want string }{
		{"kernel k()", `t:1:1: tirtext: wanted "program", found "kernel"`},
		{"program f(out C: int8[4]) after unroll\n", `t:1:33: tirtext: wanted a pass in quotes, found "unroll"`},
		{program + "between A: int8[2]\n", `t:3:9: tirtext: A is in scope already`},
		{program + "kernel k(T: int8[3], out C: float32[4]):\n  pass\n", `t:3:10: tirtext: T was declared as "T: int8[2]" before, now as "T: int8[3]"`},
		{program + "kernel k(out C: float32[4]):\n  C[0] = A[0]\n", `t:4:10: tirtext: buffer A is not in scope`},
		{program + "func f()", `t:3:1: tirtext: wanted "kernel", found "func"`},
	} {
		_, err := tirtext.ParseProgram("t", c.text)
		require.EqualError(t, err, c.want, c.text)
	}
}

// What is too large to be meant is refused with its place, quickly.
func TestTooLarge(t *testing.T) {
	const head = "func f(out C: int64[]):\n  C[] = "
	for _, c := range []struct{ text, want string }{
		{head + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000) + "\n", "t:2:2008: tirtext: nesting is deeper than 2000"},
		{head + strings.Repeat("1 + ", 200_000) + "1\n", "t:2:499999: tirtext: a line has more than 250000 words"},
		{head + strings.Repeat("not ", 100_000) + "true\n", "t:2:8005: tirtext: nesting is deeper than 2000"},
		{head + strings.Repeat("select(true, 1, ", 5_000), "t:2:31984: tirtext: nesting is deeper than 2000"},
		{"func f(out C: int64[99999999999]):\n  pass\n", `t:1:21: tirtext: wanted a count, found "99999999999"`},
		{head + "99999999999999999999\n", `t:2:9: tirtext: "99999999999999999999" is no number of int64`},
		{head + "1e999999999\n", `t:2:9: tirtext: "1e999999999" is no number of float32`},
	} {
		_, err := tirtext.Parse("t", c.text)
		require.EqualError(t, err, c.want)
	}
}
