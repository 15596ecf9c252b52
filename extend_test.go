package texel_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/lower"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/transform"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/target"
)

// TestOutside compiles and runs testdata/outside, a module of its own that adds an operator, a graph pass, a lowering, a
// schedule rule and a primitive. It builds as it stands, without a network: where what Texel requires has changed, it wants a
// go mod tidy of its own.
func TestOutside(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "outside")
	build := exec.Command("go", "build", "-o", bin, ".")
	build.Dir = "testdata/outside"
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	text, err := build.CombinedOutput()
	require.NoError(t, err, "go build in %s: %s", build.Dir, text)
	run := func(model string) string {
		out, err := exec.Command(bin, model).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	alone := run(fixture("relu"))
	require.Contains(t, alone, "operator: 1 times\n", "the pass put it there")
	require.Contains(t, alone, "schedule rule outside-rectify")
	require.Regexp(t, `step: l\d+, l\d+ = outside_lanes\(l\d+, \d+\)`, alone)
	require.Contains(t, alone, "check: every layer is within its bound")
	require.Contains(t, alone, "y: 3 numbers agree")
	fused := run(fixture("mlp"))
	require.Contains(t, fused, "operator: 1 times\n")
	require.NotContains(t, fused, "outside_lanes", "the epilogue of a dense layer is the built-in rule's")
	require.Contains(t, fused, "y: 10 numbers agree")
}

// TestBadExtensions has rows that do not fit the tables.
func TestBadExtensions(t *testing.T) {
	op := func(name, key string) *relay.Op {
		return &relay.Op{Name: name, Lower: key, Infer: func(*relay.Site) (relay.Type, error) { return nil, nil },
			Eval: func(*relay.EvalSite) (relay.Value, error) { return nil, nil }}
	}
	pass := transform.Pass{Name: "mine", Run: func(_ context.Context, m *relay.Module, _ *transform.Options) (*relay.Module, error) { return m, nil }}
	builtin := pass
	builtin.Name = "fuse-ops"
	for want, e := range map[string]texel.Extension{
		"has rows and no name":              {Ops: []*relay.Op{op("a", "elementwise")}},
		"operator 0 lacks":                  {Name: "x", Ops: []*relay.Op{{Name: "a"}}},
		`an operator named "nn.relu"`:       {Name: "x", Ops: []*relay.Op{op("nn.relu", "elementwise")}},
		`an operator named "a"`:             {Name: "x", Ops: []*relay.Op{op("a", "elementwise"), op("a", "elementwise")}},
		`the key "mine", which nobody has`:  {Name: "x", Ops: []*relay.Op{op("a", "mine")}},
		`pass "fuse-ops" has no name`:       {Name: "x", Passes: []texel.GraphPass{{Pass: builtin, Before: "fuse-ops"}}},
		`stands before "later"`:             {Name: "x", Passes: []texel.GraphPass{{Pass: pass, Before: "later"}}},
		`schedule rule "r" lacks`:           {Name: "x", Schedules: []lower.ScheduleRule{{Name: "r"}}},
		`primitive "split" has no name`:     {Name: "x", Primitives: []schedule.Primitive{{Name: "split", Apply: func(*schedule.Call) {}}}},
		`rule "wild" of the extension does`: {Name: "x", Schedules: []lower.ScheduleRule{{Name: "wild", Takes: always, Apply: wild}}},
	} {
		c, err := texel.Compile(context.Background(), fixture("relu"), texel.Options{Extend: e})
		require.ErrorIs(t, err, diag.ErrInvalid, want)
		require.ErrorContains(t, err, want)
		require.Nil(t, c)
	}
}

func always(*lower.Definition, *target.Target) bool { return true }

// wild takes a step that cannot be taken.
func wild(s *schedule.Schedule, d *lower.Definition, _ *target.Target) {
	s.Split(s.Loops(s.Block(d.Stages[0].Buffer.Name)).At(0), -1)
}

// TestExtensionInArtifact shows that the artifact says with which extension it was made, and that a pass runs at every level.
func TestExtensionInArtifact(t *testing.T) {
	ran := 0
	pass := transform.Pass{Name: "mine", Run: func(_ context.Context, m *relay.Module, _ *transform.Options) (*relay.Module, error) {
		ran++
		return m, nil
	}}
	e := texel.Extension{Name: "mine 2", Passes: []texel.GraphPass{{Pass: pass, Before: "fuse-ops"}}}
	for level := texel.Opt0; level <= texel.Opt3; level++ {
		var dumps []string
		o := texel.Options{OptLevel: level, Extend: e, Dump: func(name string, _ func() string) error {
			dumps = append(dumps, name)
			return nil
		}}
		c, err := texel.Compile(context.Background(), fixture("relu"), o)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.Contains(t, strings.Join(dumps, " "), "_mine.relay")
		found := false
		for _, s := range o.Settings() {
			found = found || s.Name == "extension" && s.Value == "mine 2"
		}
		require.True(t, found)
	}
	require.Equal(t, 4, ran)
}
