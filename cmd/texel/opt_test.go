package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/transform"
)

// TestTimesOfPasses has a line for each pass and one for all.
func TestTimesOfPasses(t *testing.T) {
	x := newTool(t)
	out := x.ok("opt", model("net"), "--times", "--stop-after", "fold-constants")
	require.Regexp(t, `^pass, \d+ nodes +best ms +median +rewrites +nodes\n(?:[a-z-]+ +\d+\.\d\d +\d+\.\d\d +\d+ +\d+\n){4}all +\d+\.\d\d +\d+\.\d\d +\n$`, out)
	x.refused(2, "--times prints a table", "opt", model("net"), "--times", "--bisect")
}

func TestOptPrintsTheGraphBehindPasses(t *testing.T) {
	x := newTool(t)
	require.Contains(t, x.ok("opt", model("net")), "fn (")
	before := x.ok("opt", model("net"), "--stop-after", "infer-type")
	require.Equal(t, x.ok("import", model("net")), before)
	after := x.ok("opt", model("net"), "--passes", "simplify-inference,eliminate-common-subexpressions,fuse-ops", "--stop-after", "fuse-ops")
	require.NotEqual(t, before, after)
	require.NotContains(t, after, "layout_transform", "assign did not run")
	list := strings.Split(strings.TrimSpace(x.ok("opt", "--list", "--opt-level", "0")), "\n")
	require.Len(t, list, 3)
	require.Regexp(t, "^infer-type +checks the module", list[0])
	require.Equal(t, x.ok("opt", "--list"), x.ok("opt", model("net"), "--list"), "with or without a model")
	path := filepath.Join(t.TempDir(), "net.relay")
	require.Empty(t, x.ok("opt", model("net"), "--target", "x86-64-v3", "-o", path))
	for _, end := range []string{"", ".npz", ".json"} {
		require.FileExists(t, path+end)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "OHWI")
}

func TestOptRefuses(t *testing.T) {
	x := newTool(t)
	for message, args := range map[string][]string{
		`found "fuse"`:               {"opt", model("net"), "--passes", "infer-type,fuse"},
		`found "assign"`:             {"opt", model("net"), "--opt-level", "1", "--passes", "assign"},
		`found "fuse-ops"`:           {"opt", model("net"), "--passes", "infer-type", "--stop-after", "fuse-ops"},
		"does not go with -o":        {"opt", model("net"), "--bisect", "-o", "x.relay"},
		"wants a model":              {"opt"},
		"found 2 arguments":          {"opt", "--list", model("net"), model("mlp")},
		"goes with --opt-level 3":    {"opt", model("net"), "--opt-level", "2", "--precision", "float16"},
		"wants 0, 1, 2 or 3":         {"opt", model("net"), "--opt-level", "9"},
		"fast-math is for compiling": {"bench", "x.texel", "--fast-math"},
	} {
		code, _, complaint := x.run(args...)
		require.Equal(t, 2, code, "%v: %s", args, complaint)
		if message != "wants 0, 1, 2 or 3" {
			require.Contains(t, complaint, message)
		}
	}
	x.refused(3, "cannot", "opt", "none.onnx")
}

// withPasses runs a command line with passes that have a fault.
func withPasses(passes []transform.Pass, args ...string) (code int, out, complaint string) {
	var stdout, stderr bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr, env: func(string) string { return "" }, extraPasses: passes}
	code = a.run(context.Background(), args)
	return code, stdout.String(), stderr.String()
}

// planted replaces clip and relu: a clip from 0 to 6 by one to 5, others by the same.
var planted = transform.Pass{Name: "planted", Why: "is wrong", Run: func(_ context.Context, m *relay.Module, o *transform.Options) (*relay.Module, error) {
	body, err := relay.Rewrite(m.Main(), func(_, e relay.Expr) (relay.Expr, error) {
		c, ok := e.(*relay.Call)
		if !ok || c.Op == nil || c.Op.Name != "clip" {
			return e, nil
		}
		return relay.NewCall(c.Op, c.Args, &relay.ClipAttrs{AMax: 0.25}, c.Pos())
	})
	if err != nil {
		return nil, err
	}
	return m.WithMain(body.(*relay.Function)), nil
}}

func TestOptBisectNamesThePassAtFault(t *testing.T) {
	x := newTool(t)
	require.Regexp(t, `^all [0-9]+ passes keep the answer \(inputs of seed 1, [1-9][0-9]* graphs compared\)\n$`, x.ok("opt", model("net"), "--bisect"))
	require.Contains(t, x.ok("opt", model("net"), "--bisect", "--seed", "7", "--precision", "float16"), "keep the answer (inputs of seed 7")

	code, out, complaint := withPasses([]transform.Pass{planted}, "opt", model("net"), "--bisect", "--passes", "infer-type,canonicalize,planted,fuse-ops")
	require.Equal(t, 5, code)
	require.Empty(t, complaint)
	require.Regexp(t, `^pass planted is the first at fault: bisect: [ys]: differs: .* outside the tolerance`, out)
	require.Contains(t, out, "before it, infer-type, canonicalize keep the answer")

	broken := transform.Pass{Name: "broken", Run: func(context.Context, *relay.Module, *transform.Options) (*relay.Module, error) {
		return nil, diag.Internal("broken", "", "does not like it")
	}}
	code, out, _ = withPasses([]transform.Pass{broken}, "opt", model("net"), "--bisect")
	require.Equal(t, 5, code)
	require.Contains(t, out, "pass broken is the first at fault: broken: does not like it")
}

// TestOptBisectNamesTheRewriteAtFault has a pass that is right and a reference of relu that is not, so that
// only the rewrites to it change the answer.
func TestOptBisectNamesTheRewriteAtFault(t *testing.T) {
	wrong := transform.Pass{Name: "wrong-relu", Run: func(ctx context.Context, m *relay.Module, o *transform.Options) (*relay.Module, error) {
		with := *o
		with.Ops = relay.NewTable(replaced(o.Ops, "nn.relu"))
		return transform.Canonicalize(ctx, m, &with)
	}}
	code, out, _ := withPasses([]transform.Pass{wrong}, "opt", model("maxima"), "--bisect", "--passes", "infer-type,wrong-relu")
	require.Equal(t, 5, code)
	require.Contains(t, out, "rewrite 2 of 3 is the first, at node \"second\":\n- maximum(")
	require.Contains(t, out, "\n+ nn.relu(")
}

// replaced is the table with another reference of one operator: -1 everywhere.
func replaced(ops *relay.Table, name string) []*relay.Op {
	var rows []*relay.Op
	for _, op := range ops.Ops() {
		if op.Name == name {
			c := *op
			c.Eval = func(s *relay.EvalSite) (relay.Value, error) {
				w := *s.Wide(0)
				w.F = make([]float64, len(w.F))
				for i := range w.F {
					w.F[i] = -1
				}
				return &w, nil
			}
			op = &c
		}
		rows = append(rows, op)
	}
	return rows
}
