package schedule_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/schedule"
)

// TestTableOfPrimitives holds docs/schedules/README.md to the table of primitives: a row for each, and users that use it.
func TestTableOfPrimitives(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(pages, "README.md"))
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|[^|]*\\|[^|]*\\|[^|]*\\| (.+) \\|$")
	rows := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(data), -1) {
		rows[m[1]] = m[2]
	}
	page, file := regexp.MustCompile(`\]\(([a-z_-]+)\.md\)`), regexp.MustCompile("`(lower/[a-z_]+\\.go)`")
	for _, p := range schedule.Primitives() {
		users, ok := rows[p.Name]
		require.True(t, ok, "%s has no row", p.Name)
		delete(rows, p.Name)
		pagesOf, rules := page.FindAllStringSubmatch(users, -1), file.FindAllStringSubmatch(users, -1)
		require.NotZero(t, len(pagesOf)+len(rules), "%s has no user", p.Name)
		for _, m := range pagesOf {
			require.True(t, pageUses(t, m[1], p.Name), "%s.md does not use %s", m[1], p.Name)
		}
		for _, m := range rules {
			text, err := os.ReadFile(filepath.Join("..", m[1]))
			require.NoError(t, err)
			require.Regexp(t, `\.`+methodOf(p.Name)+`(By|With)?\(`, string(text), "%s does not use %s", m[1], p.Name)
		}
	}
	require.Empty(t, rows, "rows of no primitive")
}

// pageUses reports whether a page, or a trace of its folder, has a step of the primitive.
func pageUses(t *testing.T, name, primitive string) bool {
	files, err := filepath.Glob(filepath.Join(pages, name, "*.trace"))
	require.NoError(t, err)
	step := regexp.MustCompile(`(?m)(^|= )` + primitive + `\(`)
	for _, path := range append(files, filepath.Join(pages, name+".md")) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if step.Match(text) {
			return true
		}
	}
	return false
}

// methodOf is the name of a primitive in Go.
func methodOf(name string) string {
	switch name {
	case "rfactor":
		return "RFactor"
	case "unsafe_set_dtype":
		return "UnsafeSetDType"
	}
	name = strings.TrimPrefix(name, "get_")
	var b strings.Builder
	for _, part := range strings.Split(name, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
