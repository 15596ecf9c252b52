// Package golden compares what code prints with .txtar files: prose first, then sections. A test gives the sections that
// it made; go test -update writes them.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Updating reports whether files are to be written anew.
func Updating() bool { return *update }

// Section is one named part of a golden file.
type Section struct{ Name, Text string }

// Check compares sections with those of the file at path; sections whose name begins with "in" are written by hand and
// are left as they are.
func Check(t *testing.T, path string, sections ...Section) {
	t.Helper()
	data, err := os.ReadFile(path)
	if !*update {
		require.NoError(t, err, "run go test -update to make it")
	}
	archive := txtar.Parse(data)
	made := map[string]bool{}
	for _, s := range sections {
		made[s.Name] = true
		text := s.Text
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		found := false
		for i, f := range archive.Files {
			if f.Name != s.Name {
				continue
			}
			found = true
			if *update {
				archive.Files[i].Data = []byte(text)
			} else if diff := cmp.Diff(string(f.Data), text); diff != "" {
				t.Errorf("%s: section %s differs (-file +now):\n%s", path, s.Name, diff)
			}
		}
		switch {
		case found:
		case *update:
			archive.Files = append(archive.Files, txtar.File{Name: s.Name, Data: []byte(text)})
		default:
			t.Errorf("%s: has no section %s", path, s.Name)
		}
	}
	for _, f := range archive.Files {
		if !made[f.Name] && !strings.HasPrefix(f.Name, "in") {
			t.Errorf("%s: section %s is not made by the test", path, f.Name)
		}
	}
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
	}
}

// In returns the section named name of the file at path.
func In(t *testing.T, path, name string) string {
	t.Helper()
	for _, s := range Sections(t, path) {
		if s.Name == name {
			return s.Text
		}
	}
	t.Fatalf("%s: has no section %s", path, name)
	return ""
}

// Sections returns the sections of the file at path.
func Sections(t testing.TB, path string) []Section {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var list []Section
	for _, f := range txtar.Parse(data).Files {
		list = append(list, Section{f.Name, string(f.Data)})
	}
	return list
}
