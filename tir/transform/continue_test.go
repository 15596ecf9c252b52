package transform_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
	"pgregory.net/rapid"
)

// continues stops behind each pass, prints, parses and goes on: the parsed program is the same but for identities, it
// prints the same, and so does what it becomes.
func continues(f *tir.Func, opts transform.Options) string {
	var dumps []string
	var made []*tir.Program
	observed := opts
	observed.Verify = true
	observed.Dump = func(g *tir.Program) {
		made = append(made, g)
		dumps = append(dumps, tirtext.PrintProgram(g))
	}
	final, err := transform.LowerProgram(f, observed)
	if err != nil {
		return err.Error()
	}
	want := tirtext.PrintProgram(final)
	for i, text := range dumps {
		if i > 0 && text[strings.IndexByte(text, '\n'):] == dumps[i-1][strings.IndexByte(dumps[i-1], '\n'):] {
			continue // the pass changed nothing
		}
		g, err := transform.ReadDump("dump", text)
		switch {
		case err != nil:
			return err.Error() + "\n" + text
		case !tir.Isomorphic(g, made[i]):
			return "another program was parsed from\n" + text
		case tirtext.PrintProgram(g) != text:
			return "parsed and printed:\n" + tirtext.PrintProgram(g) + "\nof\n" + text
		}
		end, err := transform.Continue(g, opts)
		if err != nil {
			return err.Error() + "\nbehind\n" + text
		}
		if got := tirtext.PrintProgram(end); got != want {
			return "behind\n" + text + "\nbecame\n" + got + "\nwanted\n" + want
		}
		if !tir.Isomorphic(end, final) {
			return "another program came of\n" + text
		}
	}
	return ""
}

// Every dump of functions that lower made is a valid input. TEXEL_FUNCTIONS names a folder with more of them.
func TestContinueFunctions(t *testing.T) {
	for _, folder := range []string{"testdata/functions", os.Getenv("TEXEL_FUNCTIONS")} {
		files, err := filepath.Glob(filepath.Join(folder, "*.tir"))
		require.NoError(t, err)
		if folder != "" {
			require.NotEmpty(t, files)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			f, err := tirtext.Parse(file, string(text))
			require.NoError(t, err)
			require.Equal(t, string(text), tirtext.Print(f), file)
			require.NoError(t, verify.Verify(f), file)
			require.Empty(t, continues(f, transform.Options{}), file)
		}
	}
}

// So is every dump of random functions, for processors and for devices with work-groups.
func TestContinueRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, opts := drawFunc(t), transform.Options{MaxUnroll: 1 << 20}
		if rapid.Bool().Draw(t, "gpu") {
			opts.Device = transform.GPU
			var err error
			if f, err = tirtext.Parse("tiles", drawTiles(t).text()); err != nil {
				t.Fatal(err)
			}
		}
		if wrong := continues(f, opts); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

func TestContinueRefuses(t *testing.T) {
	f, err := tirtext.Parse("tiled", tiled)
	require.NoError(t, err)
	gpu := transform.Options{Device: transform.GPU, StopAfter: "simplify"}
	g, err := transform.LowerProgram(f, gpu)
	require.NoError(t, err)
	require.Equal(t, "01_simplify", g.Stage)
	gpu.StopAfter = ""
	for stage, want := range map[string]string{
		"":           "lower: f: the program names no pass that ran last; wanted the pass to start at",
		"99_fold":    "lower: 99_fold: no pass has this name",
		"12_unnamed": "lower: 12_unnamed: no pass has this name",
	} {
		c := *g
		c.Stage = stage
		_, err := transform.Continue(&c, gpu)
		require.ErrorContains(t, err, want)
		text := tirtext.PrintProgram(&c)
		if _, err = transform.ReadDump("dump", text); stage != "" {
			require.ErrorContains(t, err, want)
		}
	}
	gpu.StartAt = "compact-buffers"
	g.Stage = ""
	end, err := transform.Continue(g, gpu)
	require.NoError(t, err)
	require.Equal(t, "12_size-scratch", end.Stage)
	gpu.StartAt = "lower-blocks"
	_, err = transform.Continue(g, gpu)
	require.EqualError(t, err, "lower: f: kernels cannot enter the passes at place 0, wanted 1 to 13")
	gpu.StartAt, gpu.Verify = "vectorize", true
	_, err = transform.Continue(g, gpu)
	require.EqualError(t, err, "verify: f: behind partition-loops: loop ty is bound to threadIdx.x and is not outermost, or a second one")
	_, err = transform.ReadDump("dump", "program f(out C: int8[1])\nkernel")
	require.EqualError(t, err, "dump:2:7: tirtext: wanted a name, found the end of the line")
}

// Every pass has its row in the verifier's table.
func TestRowsFollowPasses(t *testing.T) {
	var passes, rows []string
	for _, p := range transform.Passes() {
		passes = append(passes, p.Name)
		require.NotEmpty(t, p.Why, p.Name)
	}
	for _, s := range verify.Stages() {
		rows = append(rows, s.After)
	}
	require.Equal(t, passes, rows)
}
