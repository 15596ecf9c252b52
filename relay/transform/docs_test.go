package transform

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
)

// TestTheDocumentHasThePasses compares the table of the architecture page with the list; -update writes it anew.
func TestTheDocumentHasThePasses(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "architecture.md")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	const head, end = "| pass | does |\n| --- | --- |\n", "\n\n`--opt-level 0`"
	before, rest, ok := strings.Cut(string(data), head)
	require.True(t, ok, "the page has no table of passes")
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "nothing follows the table of passes")
	var lines []string
	for _, p := range Passes() {
		lines = append(lines, fmt.Sprintf("| %s | %s |", p.Name, p.Why))
	}
	now := before + head + strings.Join(lines, "\n") + end + after
	if golden.Updating() {
		require.NoError(t, os.WriteFile(path, []byte(now), 0o644))
		return
	}
	require.Equal(t, now, string(data), "run go test ./relay/transform -update")
}
