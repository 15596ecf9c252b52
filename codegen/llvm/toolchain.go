package llvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/scratch"
)

// Version is the major version of LLVM that the generated text and the generated code are checked with.
const Version = 19

// Install is the command that installs the tools on Debian and Ubuntu.
const Install = "apt-get install llvm-19 lld-19"

// Tools are the paths of the programs that make a shared object of LLVM IR.
type Tools struct {
	LLC string // the static compiler
	LLD string // the linker, ld.lld

	temp string // where temporary folders are made; "" is the system's folder
}

// Find locates the tools of LLVM 19: by their versioned names in PATH, then where distributions put them, then by
// their plain names if these are of version 19. A tool that is not found is diag.ErrMissing.
func Find() (Tools, error) {
	var t Tools
	var err error
	if t.LLC, err = find("llc", installed); err != nil {
		return Tools{}, err
	}
	if t.LLD, err = find("ld.lld", installed); err != nil {
		return Tools{}, err
	}
	return t, nil
}

// installed is where Debian puts LLVM.
const installed = "/usr/lib/llvm-19/bin"

func find(name, folder string) (string, error) {
	versioned := fmt.Sprintf("%s-%d", name, Version)
	if p, err := exec.LookPath(versioned); err == nil {
		return p, nil
	}
	if p := filepath.Join(folder, name); isFile(p) {
		return p, nil
	}
	found := "none"
	if p, err := exec.LookPath(name); err == nil {
		out, err := exec.Command(p, "--version").Output()
		text := string(out)
		if err == nil && (strings.Contains(text, fmt.Sprintf("LLVM version %d.", Version)) || strings.Contains(text, fmt.Sprintf("LLD %d.", Version))) {
			return p, nil
		}
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		found = p + " (" + line + ")"
	}
	return "", diag.Missing("llvm", versioned, "LLVM %d is needed, found %s; install it with: %s", Version, found, Install)
}

func isFile(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.Mode().IsRegular()
}

// unit is one module on its way through the tools.
type unit struct {
	name    string   // file name without extension
	kernels []string // what is in it, for errors
	ll      string
	asm     string // set when asked for
}

// assemble compiles the units side by side and links them to one shared object. All files live in a temporary
// folder that is gone afterwards, except the text of a module that the compiler refused.
func (t Tools) assemble(ctx context.Context, units []*unit, workers int, wantAsm bool) ([]byte, error) {
	folder, err := scratch.New(t.temp, "llvm")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	dir := folder.Path
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, workers))
	for _, u := range units {
		group.Go(func() error {
			src := filepath.Join(dir, u.name+".ll")
			if err := os.WriteFile(src, []byte(u.ll), 0o600); err != nil {
				return diag.Missing("llvm", u.name, "module not written: the temporary folder %s takes no more", dir).By(err)
			}
			if err := t.llc(gctx, u, src, filepath.Join(dir, u.name+".o"), "obj"); err != nil || !wantAsm {
				return err
			}
			out := filepath.Join(dir, u.name+".s")
			if err := t.llc(gctx, u, src, out, "asm"); err != nil {
				return err
			}
			text, err := os.ReadFile(out)
			u.asm = string(text)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return t.link(ctx, dir, units)
}

// llc compiles one module. -O3 here is only the back end's effort: no pass of the middle end runs, so the loops stay
// as the schedule made them.
func (t Tools) llc(ctx context.Context, u *unit, src, out, kind string) error {
	stderr, err := run(ctx, t.LLC, "-O3", "-relocation-model=pic", "-filetype="+kind, "-o", out, src)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, diag.ErrMissing) {
		return err
	}
	if strings.Contains(stderr, noSpace) {
		return diag.Missing("llvm", u.name, "the temporary folder %s takes no more: %s", filepath.Dir(src), firstLines(stderr, 1)).By(err)
	}
	what := strings.Join(u.kernels, ", ")
	if what == "" {
		what = u.name
	}
	kept := ""
	if f, ferr := os.CreateTemp("", "texel-"+u.name+"-*.ll"); ferr == nil {
		_, werr := f.WriteString(u.ll)
		if cerr := f.Close(); werr == nil && cerr == nil {
			kept = f.Name()
		}
	}
	return diag.Internal("llvm", what, "llc failed, reproducer %s: %s", kept, firstLines(stderr, 12)).By(err)
}

// link makes the shared object: no needed library, no undefined symbol, 16 KiB pages as new phones want them.
func (t Tools) link(ctx context.Context, dir string, units []*unit) ([]byte, error) {
	out := filepath.Join(dir, "texel.so")
	args := []string{"-shared", "-z", "defs", "-z", "max-page-size=16384", "--hash-style=both", "-soname", "texel.so",
		"-z", "relro", "-z", "now", "-z", "noexecstack", "--gc-sections", "--build-id=none", "-o", out}
	for _, u := range units {
		args = append(args, filepath.Join(dir, u.name+".o"))
	}
	stderr, err := run(ctx, t.LLD, args...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, diag.ErrMissing) {
			return nil, err
		}
		if strings.Contains(stderr, noSpace) {
			return nil, diag.Missing("llvm", "ld.lld", "the temporary folder %s takes no more: %s", dir, firstLines(stderr, 1)).By(err)
		}
		return nil, diag.Internal("llvm", "ld.lld", "linking failed: %s", firstLines(stderr, 12)).By(err)
	}
	so, err := os.ReadFile(out)
	if err != nil {
		return nil, diag.Internal("llvm", "ld.lld", "shared object not readable").By(err)
	}
	return so, nil
}

// noSpace is what the tools say of a full disk.
const noSpace = "No space left on device"

// run runs a program until it ends or ctx does, and returns what it wrote to its standard error.
func run(ctx context.Context, path string, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stderr = &stderr
	cmd.WaitDelay = 500 * time.Millisecond // a child of a killed script may hold its standard error
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // it ended well; somebody still holds its standard error
		err = ctx.Err()
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "", diag.Missing("llvm", path, "tool is gone; install it with: %s", Install).By(err)
	}
	return stderr.String(), err
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(strings.TrimSpace(s), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
