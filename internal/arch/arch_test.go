package arch

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// source is one file's imports.
type source struct {
	file    string
	folder  string
	test    bool
	imports []string
}

// sources parses every Go file of the module. It reads the files itself, so that Go's test cache sees them change.
func sources(t *testing.T) []source {
	var all []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "build") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		require.NoError(t, err)
		rel, err := filepath.Rel(root, path)
		require.NoError(t, err)
		s := source{file: rel, folder: filepath.ToSlash(filepath.Dir(rel)), test: strings.HasSuffix(path, "_test.go")}
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			s.imports = append(s.imports, p)
		}
		all = append(all, s)
		return nil
	})
	require.NoError(t, err)
	return all
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, s := range sources(t) {
		require.NotNil(t, RoomOf(s.folder), "%s lies in no room of the table", s.file)
		for _, p := range s.imports {
			require.True(t, Allows(s.folder, p, s.test), "%s imports %s, which the table does not allow", s.file, p)
		}
	}
}

// TestTheRuntimeLinksNoCompiler follows imports from the packages that a program needs to run artifacts.
func TestTheRuntimeLinksNoCompiler(t *testing.T) {
	graph := map[string]map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if graph[s.folder] == nil {
			graph[s.folder] = map[string]bool{}
		}
		for _, p := range s.imports {
			graph[s.folder][p] = true
		}
	}
	for folder := range graph {
		if !matches("runtime/...", folder) {
			continue
		}
		seen, modules := map[string]bool{}, map[string]bool{}
		var visit func(string)
		visit = func(f string) {
			if seen[f] {
				return
			}
			seen[f] = true
			for p := range graph[f] {
				if ours, ok := inModule(p); ok {
					visit(ours)
				} else if strings.Contains(strings.Split(p, "/")[0], ".") {
					modules[p] = true
				}
			}
		}
		visit(folder)
		for f := range seen {
			allowed := f == "artifact" || f == "target" || f == "tensor" || f == "diag" || matches("runtime/...", f)
			require.True(t, allowed, "%s links %s", folder, f)
		}
		for m := range modules {
			ok := strings.HasPrefix(m, "github.com/ebitengine/purego") || strings.HasPrefix(m, "golang.org/x/sys")
			require.True(t, ok, "%s links %s", folder, m)
		}
	}
}

func TestAllowsRefuses(t *testing.T) {
	require.False(t, Allows("relay", Module+"/tir", false))
	require.False(t, Allows("tir", Module+"/relay", false))
	require.False(t, Allows("runtime/cpu", Module+"/codegen/llvm", false))
	require.False(t, Allows("artifact", "github.com/spf13/cobra", false))
	require.False(t, Allows("runtime/cpu", "C", false))
	require.False(t, Allows("diag", Module+"/tensor", false))
	require.False(t, Allows("nowhere", "fmt", false))
	require.True(t, Allows("lower", Module+"/relay", false))
	require.True(t, Allows("relay", "github.com/stretchr/testify/require", true))
	require.False(t, Allows("relay", "github.com/stretchr/testify/require", false))
}

var update = flag.Bool("update", false, "rewrite the table of docs/architecture.md")

// TestTheDocumentHasTheTable compares the table of docs/architecture.md with Rooms; -update rewrites it.
func TestTheDocumentHasTheTable(t *testing.T) {
	path := filepath.Join(root, "docs", "architecture.md")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	page := string(data)
	const head = "| folder | holds | imports |\n| --- | --- | --- |\n"
	before, rest, ok := strings.Cut(page, head)
	require.True(t, ok, "the table is gone")
	_, after, ok := strings.Cut(rest, "\n\n")
	require.True(t, ok)
	var rows strings.Builder
	for _, r := range Rooms {
		imports := "–"
		if len(r.Imports) > 0 {
			imports = "`" + strings.Join(r.Imports, "` `") + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", r.Folder, r.Holds, imports)
	}
	want := before + head + rows.String() + "\n" + after
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, page, "run go test ./internal/arch -update")
}
