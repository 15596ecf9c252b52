package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExplainFiltersAndCounts(t *testing.T) {
	x := newTool(t)
	out := x.ok("explain", model("net"))
	require.Regexp(t, `(?m)^in all: \d+ launches of \d+ kernels$`, out)
	require.Regexp(t, `(?m)^in all: fused: fuse-ops \d+$`, out)
	require.Regexp(t, `(?m)^fused: fuse-ops: relu1: nn.relu joins nn.bias_add of conv1$`, out)
	require.Regexp(t, `(?m)^unfused: fuse-ops: depthwise: does not join relu1: nn.conv2d begins a kernel of its own$`, out)

	require.Regexp(t, `(?m)^launch: conv2d_bias_add_relu: kernel conv2d_bias_add_relu: conv1, (?:.*, )?relu1$`, out)

	only := x.ok("explain", model("net"), "--kind", "fused,unfused", "--match", "^residual$")
	for _, line := range strings.Split(strings.TrimSpace(only), "\n") {
		require.Regexp(t, `^((un)?fused: fuse-ops: residual: |in all: )`, line)
	}
	require.Contains(t, only, "fused: fuse-ops: residual: ")
	require.NotContains(t, only, "chose")

	art := filepath.Join(t.TempDir(), "net.texel")
	x.ok("compile", model("net"), "-o", art)
	require.Equal(t, only, x.ok("explain", art, "--kind", "fused,unfused", "--match", "^residual$"), "an artifact keeps its notes")
	notes := decode(t, x.ok("explain", art, "--json", "--kind", "chose"))["notes"].([]any)
	require.NotEmpty(t, notes)
	for _, n := range notes {
		require.Equal(t, "chose", n.(map[string]any)["kind"])
	}
	x.refused(2, `--kind wants some of default,bound,rewrote,chose,kept,fused,unfused,fallback, found "joined"`, "explain", model("net"), "--kind", "joined")
	x.refused(2, "--match wants a regular expression", "explain", model("net"), "--match", "(")
	require.Contains(t, x.ok("explain", model("mlp"), "--fast-math"), "in all: ")
}
