package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// matmul is C = A·B with A of (m, k) and B of (k, n).
func matmul(m, k, n int) *tir.Func {
	a, b := te.Placeholder("A", tensor.Float32, m, k), te.Placeholder("B", tensor.Float32, k, n)
	c := te.Sum("C", tensor.Float32, []int{m, n}, []int{k}, func(i, r []tir.Expr) tir.Expr {
		return tir.Times(a.At(i[0], r[0]), b.At(r[0], i[1]))
	})
	return te.Func("matmul", []*te.Tensor{a, b}, []*te.Tensor{c})
}

// tiled gives a matmul a register tile of rows × 2 vectors of lanes.
func tiled(t testing.TB, f *tir.Func, rows, lanes int) *schedule.Trace {
	s := schedule.New(f)
	c := s.Block("C")
	back := s.CacheWrite(c, tir.Local)
	l := s.Loops(back).Want(2)
	i, j := s.Split(l[0], 0, rows), s.Split(l[1], 0, 2*lanes)
	s.Reorder(j[0], i[0], i[1], j[1])
	s.Parallel(j[0])
	s.Parallel(i[0])
	s.ComputeAt(c, i[0])
	tile := func(b schedule.Block, j schedule.Loop) (vec, lane schedule.Loop) {
		v := s.Split(j, 0, lanes)
		return v[0], v[1]
	}
	vec, lane := tile(back, j[1])
	s.Unroll(i[1])
	s.Unroll(vec)
	s.Vectorize(lane)
	in := s.Loops(c)
	row, r := in.At(-3), in.At(-1)
	vec, lane = tile(c, in.At(-2))
	s.Reorder(r, row, vec, lane)
	first := s.DecomposeReduction(c, r)
	s.Unroll(row)
	s.Unroll(vec)
	s.Vectorize(lane)
	il := s.Loops(first)
	s.Unroll(il.At(-3))
	s.Unroll(il.At(-2))
	s.Vectorize(il.At(-1))
	require.NoError(t, s.Err())
	return s.Trace()
}

// file writes a file into a folder of the test and returns its path.
func (x *tool) file(name, text string) string {
	path := filepath.Join(x.t.TempDir(), name)
	require.NoError(x.t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// matmulFiles writes a matmul and a trace of it.
func (x *tool) matmulFiles(m, k, n int) (tirPath, tracePath string) {
	f := matmul(m, k, n)
	return x.file("matmul.tir", tirtext.Print(f)), x.file("matmul.trace", tiled(x.t, f, 6, 8).String())
}

// twoKernels has a first kernel that hands T to the second, which also reads what the first one does.
const twoKernels = `program both(A: float32[8], out C: float32[8])
between T: float32[8]

kernel first(A: float32[8], out T: float32[8]) grid g = 8:
  T[g] = A[g] + 1.0

kernel second(A: float32[8], T: float32[8], out C: float32[8]):
  for i in range(0, 8):
    C[i] = T[i] * A[i]
`

func TestFmt(t *testing.T) {
	x := newTool(t)
	canonical := tirtext.Print(matmul(4, 3, 2))
	path := x.file("a.tir", canonical)
	require.Equal(t, canonical, x.ok("fmt", path))
	ragged := strings.ReplaceAll(canonical, "  ", "    ")
	ragged = strings.ReplaceAll(ragged, ", ", " ,")
	other := x.file("b.tir", ragged)
	require.Equal(t, canonical+canonical, x.ok("fmt", path, other))
	require.Empty(t, x.ok("fmt", "-w", path, other))
	require.Equal(t, canonical, string(read(t, other)))

	require.Equal(t, twoKernels, x.ok("fmt", x.file("k.tir", strings.ReplaceAll(twoKernels, "\n\n", "\n\n\n"))))

	// Nothing is written when one of several does not parse.
	before, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other, []byte(ragged), 0o644))
	bad := x.file("bad.tir", "func f(A: float32[4], out B: float32[4]):\n  block root():\n    B[0] = \n")
	x.refused(3, `bad.tir:3:12: tirtext: wanted an expression, found the end of the line`, "fmt", "-w", other, bad)
	require.Equal(t, ragged, string(read(t, other)))
	require.Empty(t, x.ok("fmt", "-w", path))
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime(), "a canonical file is left alone")
}

func TestFmtKeepsComments(t *testing.T) {
	x := newTool(t)
	const in = `# a product
# of two matrices

func matmul( A: float32[4, 3],  # rows
             B: float32[3, 2], out C: float32[4, 2] ):   # the "result"
    block root():  # nothing outside
        # rows
        for i in range(0, 4) attrs {"note": "a # b"}:

          for j in range(0, 2):
            # one element
            C[ i,j ] = A[i, 0]*B[0,j]# first term only
        # behind the nest
# the end
`
	const out = `# a product
# of two matrices
# rows
func matmul(A: float32[4, 3], B: float32[3, 2], out C: float32[4, 2]):  # the "result"
  block root():  # nothing outside
    # rows
    for i in range(0, 4) attrs {"note": "a # b"}:
      for j in range(0, 2):
        # one element
        C[i, j] = A[i, 0] * B[0, j]  # first term only
# behind the nest
# the end
`
	got := x.ok("fmt", x.file("c.tir", in))
	canonical := func(text string) string {
		f, err := tirtext.Parse("c", text)
		require.NoError(t, err)
		return tirtext.Print(f)
	}
	require.Equal(t, canonical(in), canonical(got))
	want := out
	require.Equal(t, want, got)
	require.Equal(t, got, x.ok("fmt", x.file("d.tir", got)), "it is canonical already")

	kernels := "# both\n" + strings.Replace(twoKernels, "kernel second", "# next\nkernel second", 1)
	require.Equal(t, kernels, x.ok("fmt", x.file("k.tir", strings.ReplaceAll(kernels, "\n\n", "\n"))))
	const kernel = "kernel k(out B: float32[1]):  # alone\n  B[0] = 1.0\n"
	require.Equal(t, kernel, x.ok("fmt", x.file("k.tir", strings.Replace(kernel, " = ", "=", 1))))
}

func TestBadTIRFiles(t *testing.T) {
	x := newTool(t)
	good := x.file("a.tir", tirtext.Print(matmul(4, 3, 2)))
	for _, command := range []string{"fmt", "interp", "build"} {
		x.refused(3, "cannot read the .tir file", command, filepath.Join(t.TempDir(), "none.tir"))
		wanted := map[string]string{"interp": ".tir or .relay"}[command]
		x.refused(3, fmt.Sprintf(`wanted a %s file, found "m.onnx"`, cmp.Or(wanted, ".tir")), command, "m.onnx")
		x.refused(3, "is not a regular file", command, x.folder("dir.tir"))
		x.refused(3, `empty.tir:1:1: tirtext: wanted "func", found the end of the text`, command, x.file("empty.tir", ""))
		x.refused(3, `g.tir:2:3: tirtext: wanted`, command, x.file("g.tir", "func f(out A: int8[1]):\n  )"))
		x.refused(3, `character '§' is not part of the language`, command, x.file("g.tir", "§"))
		x.refused(3, `k.tir:8:7: tirtext: wanted a name, found "7"`, command, x.file("k.tir", strings.Replace(twoKernels, "  for i in", "  for 7 in", 1)))
		x.refused(3, `no pass has this name; the passes are 00_lower-blocks`, command, x.file("k.tir", strings.Replace(twoKernels, "])\n", "]) after \"x\"\n", 1)))
	}
	x.refused(3, `wanted a .tir file, found "m.relay"`, "build", "m.relay")
	x.refused(2, "texel fmt wants .relay or .tir files, found no arguments", "fmt")
	x.refused(2, "texel interp wants a .tir or .relay file, found 2 arguments", "interp", good, good)
	x.refused(2, "texel build wants a .tir file, found 0 arguments", "build")
	large := x.file("large.tir", "")
	require.NoError(t, os.Truncate(large, maxText+1))
	x.refused(3, "has 67108865 bytes, wanted a .tir file of at most 67108864", "fmt", large)
}

// folder makes a folder of the test and returns its path.
func (x *tool) folder(name string) string {
	path := filepath.Join(x.t.TempDir(), name)
	require.NoError(x.t, os.Mkdir(path, 0o755))
	return path
}

var longNumber = regexp.MustCompile(`[0-9]{4}|[0-9]{3}, *[0-9]{3}`)

// FuzzTIRCommands gives the commands whatever text: each ends, and never with a bug of ours.
func FuzzTIRCommands(f *testing.F) {
	f.Add(tirtext.Print(matmul(4, 3, 2)))
	f.Add(twoKernels)
	f.Add("func f(A: int32[4], out B: int32[4], scalar n: int64):\n  block root():\n    while_ = 1\n")
	f.Add("func f(out B: float32[4]):\n  block root():\n    let x: float32 = 3:\n      B[0] = x\n")
	f.Add("kernel k(out B: int8[4]):\n  for i: float32 in range(0, 4):\n    B[0] = 1_int8\n")
	f.Fuzz(func(t *testing.T, text string) {
		x := newTool(t)
		path := x.file("f.tir", text)
		commands := [][]string{{"fmt", path}}
		if !longNumber.MatchString(text) { // large arrays only cost time
			commands = append(commands, []string{"interp", path, "--max-steps", "10000"})
		}
		for _, args := range commands {
			code, _, err := x.run(args...)
			require.NotEqual(t, 70, code, "%v: %s\n%s", args, err, text)
		}
		if code, out, _ := x.run("fmt", path); code == 0 {
			again := x.file("g.tir", out)
			require.Equal(t, out, x.ok("fmt", again), "not stable: %q", text)
		}
	})
}
