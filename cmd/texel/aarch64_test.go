package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAArch64 builds the command for AArch64 and lets it compile, run and check the fixtures under an emulator, where
// there is one.
func TestAArch64(t *testing.T) {
	const root = "/usr/aarch64-linux-gnu" // its loader and C library
	qemu, err := exec.LookPath("qemu-aarch64")
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skip("no emulator of AArch64 here")
	}
	if _, err := os.Stat(filepath.Join(root, "lib", "ld-linux-aarch64.so.1")); err != nil {
		t.Skip("no C library for AArch64 here")
	}
	if testing.Short() {
		t.Skip("builds a second command")
	}
	path := filepath.Join(t.TempDir(), "texel")
	build := exec.Command("go", "build", "-o", path, ".") // go test puts its own folder first in PATH
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	for _, name := range []string{"net", "mlp", "nms", "default", "narrow", "attention"} {
		text, err := exec.Command(qemu, "-L", root, path, "check", model(name)).CombinedOutput()
		require.NoError(t, err, "%s: %s", name, text)
		require.Contains(t, string(text), " 0 outside their bound", name)
	}
	for _, precision := range []string{"float16", "bfloat16"} {
		text, err := exec.Command(qemu, "-L", root, path, "check", model("net"), "--precision", precision).CombinedOutput()
		require.NoError(t, err, "%s: %s", precision, text)
		require.Contains(t, string(text), " 0 outside their bound", precision)
	}
}
