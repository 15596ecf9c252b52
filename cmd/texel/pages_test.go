package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
)

// TestConsolesOfPages runs the commands of the ```console blocks of docs/schedules: a line "$ texel …", then what it prints.
func TestConsolesOfPages(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join("..", "..", "docs", "schedules"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	require.NoError(t, err)
	t.Chdir(dir)
	commands := 0
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var out []string
		inside := false
		lines := strings.Split(string(data), "\n")
		for i := 0; i < len(lines); i++ {
			out = append(out, lines[i])
			switch {
			case lines[i] == "```console":
				inside = true
			case lines[i] == "```":
				inside = false
			case inside && strings.HasPrefix(lines[i], "$ texel "):
				commands++
				x := newTool(t)
				_, printed, _ := x.run(strings.Fields(strings.TrimPrefix(lines[i], "$ texel "))...)
				out = append(out, strings.Split(strings.TrimSuffix(printed, "\n"), "\n")...)
				for i+1 < len(lines) && lines[i+1] != "```" && !strings.HasPrefix(lines[i+1], "$ ") {
					i++
				}
			}
		}
		now := strings.Join(out, "\n")
		if now == string(data) {
			continue
		}
		if golden.Updating() {
			require.NoError(t, os.WriteFile(path, []byte(now), 0o644))
			continue
		}
		require.Equal(t, string(data), now, path)
	}
	require.NotZero(t, commands)
}
