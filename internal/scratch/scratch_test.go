package scratch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
)

// TestFoldersOfKilledMakersGo has folders without a maker, old and young, one whose maker lives, and others' files.
func TestFoldersOfKilledMakersGo(t *testing.T) {
	parent := t.TempDir()
	old := time.Now().Add(-2 * abandoned)
	lives, err := New(parent, "test")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(lives.Path, "x"), nil, 0o600))
	for _, name := range []string{"texel-test-1", "texel-other-1", "notes"} {
		require.NoError(t, os.MkdirAll(filepath.Join(parent, name, "inner"), 0o700))
	}
	require.NoError(t, os.Symlink(filepath.Join(parent, "notes"), filepath.Join(parent, "texel-test-link")))
	require.NoError(t, os.WriteFile(filepath.Join(parent, "texel-test-file"), nil, 0o600))
	for _, name := range []string{"texel-test-1", "texel-other-1", "notes", "texel-test-file", filepath.Base(lives.Path)} {
		require.NoError(t, os.Chtimes(filepath.Join(parent, name), old, old))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(parent, "texel-test-2"), 0o700)) // just made
	next, err := New(parent, "test")
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(parent, "texel-test-1"))
	require.FileExists(t, filepath.Join(lives.Path, "x"))
	for _, name := range []string{"texel-other-1", "notes/inner", "texel-test-2"} {
		require.DirExists(t, filepath.Join(parent, name))
	}
	for _, name := range []string{"texel-test-file", "texel-test-link"} {
		_, err := os.Lstat(filepath.Join(parent, name))
		require.NoError(t, err)
	}
	require.NoError(t, next.Close())
	require.NoDirExists(t, next.Path)
	require.NoError(t, lives.Close())
	_, err = New(filepath.Join(parent, "nowhere"), "test")
	require.ErrorIs(t, err, diag.ErrMissing)
}
