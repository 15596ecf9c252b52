// Command texel compiles models and runs them. See docs/cli.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay/transform"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the program at once
		time.Sleep(patience)
		fmt.Fprintln(os.Stderr, "texel: interrupted")
		os.Exit(130)
	})
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv}
	if a.env("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// gcPercent is how much of the heap may be garbage. What lives are weights for the most part: the usual 100 would hold a
// second copy of them, and collecting them costs little, since they hold no pointers.
const gcPercent = 40

// patience is how long a command may take to end in order when it is interrupted. What computes without looking up, such
// as the proof of a step, is ended then; files are written whole or not at all.
const patience = 900 * time.Millisecond

// app is the command with its surroundings, which tests replace.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string // environment variables are read nowhere else

	extraPasses []transform.Pass // of texel opt, for tests: passes with planted faults
}

// usageError is a wrong use of the command: exit code 2.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run executes one command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) (code int) {
	defer func() {
		if r := recover(); r != nil {
			err := diag.Internal("texel", strings.Join(args, " "), "%v\n%s", r, debug.Stack())
			code = a.fail(args, err)
		}
	}()
	out := &results{w: a.out}
	a.out = out
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if out.err != nil {
		err = diag.Invalid("write", "standard output", "cannot be written").By(out.err)
	}
	if err != nil {
		return a.fail(args, err)
	}
	return 0
}

// results is standard output. It keeps the first error, so that results that are lost do not pass for results.
type results struct {
	w   io.Writer
	err error
}

func (r *results) Write(p []byte) (int, error) {
	n, err := r.w.Write(p)
	if err != nil && r.err == nil {
		r.err = err
	}
	return n, err
}

// fail prints an error and returns its exit code.
func (a *app) fail(args []string, err error) int {
	var quiet quietError
	if errors.As(err, &quiet) {
		return diag.Exit(err)
	}
	fmt.Fprintf(a.err, "texel: %s\n", printable(fmt.Sprintf("%+v", err)))
	var wrong usageError
	if errors.As(err, &wrong) {
		return 2
	}
	if errors.Is(err, context.Canceled) {
		return 130
	}
	code := diag.Exit(err)
	if code == 70 {
		if path, werr := a.reproducer(args, err); werr == nil {
			fmt.Fprintf(a.err, "texel: this is a bug of ours; what is needed to see it again is in %s\n", path)
		}
	}
	return code
}

// printable escapes what a damaged file's names may hold and a terminal should not see.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) && r != utf8.RuneError {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\x%02x", r)
		}
	}
	return b.String()
}

// reproducer writes what is needed to repeat a failure: the command line, the version and the error.
func (a *app) reproducer(args []string, err error) (string, error) {
	f, ferr := os.CreateTemp("", "texel-bug-*.txt")
	if ferr != nil {
		return "", ferr
	}
	defer f.Close()
	dir, _ := os.Getwd()
	_, ferr = fmt.Fprintf(f, "%s\nfolder: %s\ncommand: texel %q\n\n%+v\n", versionLine(), dir, args, err)
	return f.Name(), ferr
}

// root returns the command with all its subcommands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "texel",
		Short:         "compiles neural networks to native code, and runs them",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q; see texel --help", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage("%s: %v", c.CommandPath(), err) })
	root.AddCommand(a.compileCommand(), a.runCommand(), a.benchCommand(), a.checkCommand(), a.conformanceCommand(), a.workerCommand(),
		a.verifyCommand(), a.inspectCommand(), a.explainCommand(), a.importCommand(), a.targetsCommand(), a.cacheCommand(), a.versionCommand(),
		a.optCommand(), a.fmtCommand(), a.interpCommand(), a.scheduleCommand(), a.reduceCommand(), a.buildCommand())
	for name, what := range notBuilt {
		root.AddCommand(a.notBuiltCommand(name, what))
	}
	return root
}

// notBuilt are the commands of the contract that this version does not have.
var notBuilt = map[string]string{
	"lower": "writes one .tir a fused function",
	"tune":  "searches schedules", "quantize": "makes an int8 model", "worker": "serves measurements",
	"records": "lists tuning records", "devices": "lists the devices here", "probe": "writes a target record of a device",
	"export": "writes a C library or an Android archive", "sign": "signs an artifact",
}

func (a *app) notBuiltCommand(name, what string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              what + " (not in this version)",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return diag.Unsupported("command", name, "this command is not in version %s", version)
		},
	}
}

// args returns a check that the command has exactly these arguments.
func args(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, given []string) error {
		if wanted := strings.Join(names, " "); len(given) != len(names) {
			return usage("%s wants %s, found %d arguments", c.CommandPath(), cmp.Or(wanted, "no arguments"), len(given))
		}
		return nil
	}
}

// artifactOrModel checks the argument of commands that take either: flags of compiling say nothing about an artifact.
func artifactOrModel(c *cobra.Command, given []string) error {
	if err := args("an artifact or a model")(c, given); err != nil || !isArtifact(given[0]) {
		return err
	}
	for _, flag := range []string{"input-shape", "dim", "max-trips", "opt-level", "precision", "keep-float32", "fast-math"} {
		if c.Flags().Changed(flag) {
			return usage("--%s is for compiling, and %s is compiled", flag, given[0])
		}
	}
	return nil
}

// notOver refuses an output that would take the place of the input.
func notOver(output, input string) error {
	to, err := os.Stat(output)
	if err != nil {
		return nil // nothing is there
	}
	if from, err := os.Stat(input); err == nil && os.SameFile(from, to) {
		return usage("-o %s is the file that is read; wanted another one", output)
	}
	return nil
}

// writeFile writes a file as a whole or not at all. Behind a link, it is the file that the link leads to.
func writeFile(path string, write func(io.Writer) error) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return diag.Invalid("write", path, "cannot be written: a file of another kind is there")
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".texel-*")
	if err != nil {
		return diag.Invalid("write", path, "cannot be written").By(err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = diag.Invalid("write", path, "cannot be written").By(err)
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
