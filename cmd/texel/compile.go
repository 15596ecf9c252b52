package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay/transform"
	"github.com/texel-ml/texel/target"
)

type compileFlags struct {
	model     modelFlags
	output    string
	layout    string
	textures  string
	dump      string
	startAt   string
	stopAfter string
	emit      string
	tuned     tunedFlags
	variants  int
	traces    []string
	pre       string
	values    []string
}

func (a *app) compileCommand() *cobra.Command {
	f := &compileFlags{}
	c := &cobra.Command{
		Use:   "compile MODEL -o ART",
		Short: "compiles a model into one file",
		Args:  args("a model"),
		RunE:  func(c *cobra.Command, args []string) error { return a.compile(c.Context(), args[0], f) },
	}
	f.model.add(c)
	c.Flags().StringVar(&f.model.target, "target", "", "T[,T…], best first (default: this host)")
	c.Flags().StringVarP(&f.output, "output", "o", "", "the artifact to write")
	c.Flags().BoolVar(&f.model.keepIR, "keep-ir", false, "keep the loop functions in the artifact")
	c.Flags().StringVar(&f.dump, "dump", "", "folder for the program after each pass")
	c.Flags().StringVar(&f.stopAfter, "stop-after", "", "stop behind this graph pass; infer-type is the first")
	c.Flags().StringVar(&f.emit, "emit", "", "relay,tir,llvm,asm,opencl=DIR: write these forms")
	c.Flags().StringArrayVar(&f.values, "input", nil, "name=x.npy or IN.npz: values that must be known to compile (shapes, axes)")
	c.Flags().StringVar(&f.layout, "layout", "auto", "auto")
	c.Flags().StringVar(&f.textures, "texture-policy", "none", "none")
	c.Flags().StringVar(&f.startAt, "start-at", "", "not in this version")
	f.tuned.add(c)
	c.Flags().IntVar(&f.variants, "variants", 1, "1")
	c.Flags().StringArrayVar(&f.traces, "trace", nil, "not in this version")
	c.Flags().StringVar(&f.pre, "preprocess", "", "not in this version")
	return c
}

// refuse returns an error for what the contract has and this version has not.
func (f *compileFlags) refuse() error {
	for _, x := range []struct{ flag, value, wanted string }{{"layout", f.layout, "auto NCHW NHWC NCHW4c NHWC4c NCHW8c NCHW16c"},
		{"texture-policy", f.textures, "assign published none"}} {
		if all := strings.Fields(x.wanted); !slices.Contains(all, x.value) {
			return usage("--%s wants one of %s, found %q", x.flag, strings.Join(all, ", "), x.value)
		}
	}
	if f.stopAfter != "" && !slices.ContainsFunc(transform.Passes(), func(p transform.Pass) bool { return p.Name == f.stopAfter }) {
		return usage("--stop-after wants a graph pass, found %q; see texel opt --list", f.stopAfter)
	}
	if err := f.tuned.refuse(); err != nil {
		return err
	}
	for _, x := range []struct {
		flag string
		used bool
	}{{"layout", f.layout != "auto"}, {"texture-policy", f.textures != "none"}, {"start-at", f.startAt != ""}, {"variants", f.variants != 1}, {"trace", len(f.traces) > 0}, {"preprocess", f.pre != ""}} {
		if x.used {
			return diag.Unsupported("compile", "--"+x.flag, "this flag is not in this version")
		}
	}
	return nil
}

func (a *app) compile(ctx context.Context, path string, f *compileFlags) error {
	if err := notOver(f.output, path); err != nil {
		return err
	}
	if f.output == "" && f.stopAfter == "" && f.emit == "" {
		return usage("texel compile wants -o ART")
	}
	if err := f.refuse(); err != nil {
		return err
	}
	opts, err := f.model.options(nil)
	if err != nil {
		return err
	}
	values, pictures, err := readInputs(f.values)
	if err != nil {
		return err
	}
	if len(pictures) > 0 || values[""] != nil {
		return usage("texel compile --input wants name=x.npy or IN.npz")
	}
	opts.Values, opts.StopAfter = values, f.stopAfter
	if opts.Dump, err = dumper(f.dump, f.emit); err != nil {
		return err
	}
	opts.Emit = f.emitted()
	if err := emittable(opts.Emit, opts.Targets); err != nil {
		return err
	}
	bar := a.progressBar()
	opts.Progress = bar.report
	start := time.Now()
	c, err := texel.Compile(ctx, path, opts)
	bar.stop()
	if err != nil {
		return err
	}
	defer c.Close()
	if f.stopAfter != "" {
		return a.writeGraph(c.Optimised(), "")
	}
	if f.output == "" {
		return nil
	}
	if err := c.WriteFile(f.output); err != nil {
		return err
	}
	info, err := os.Stat(f.output)
	if err != nil {
		return diag.Invalid("compile", f.output, "cannot be read back").By(err)
	}
	p := c.Plan()
	fmt.Fprintf(a.out, "%s: %s for %s in %.1f s; weights %s, arena %s, %d launches of %d kernels\n", f.output,
		bytesText(info.Size()), strings.Join(c.Targets(), ", "), time.Since(start).Seconds(), bytesText(p.WeightsBytes), bytesText(p.ArenaBytes),
		p.LaunchCount(), len(p.Kernels))
	return nil
}

// emitted returns the forms of the code that are wanted.
func (f *compileFlags) emitted() []string {
	forms, _, _ := strings.Cut(f.emit, "=")
	if forms == "" {
		return nil
	}
	return strings.Split(forms, ",")
}

// emittable refuses forms that the code for none of the targets goes through; no targets are this host.
func emittable(forms, targets []string) error {
	made := map[string]bool{"relay": true, "tir": true}
	for _, name := range targets {
		t, err := target.Parse(name)
		if err != nil {
			return err
		}
		made["opencl"] = made["opencl"] || t.API == target.OpenCL
		made["llvm"] = made["llvm"] || t.API == target.Native
	}
	made["llvm"] = made["llvm"] || len(targets) == 0
	made["asm"] = made["llvm"]
	for _, form := range forms {
		if form == "spirv" {
			return diag.Unsupported("compile", "--emit", "spirv is not in this version")
		}
		if !made[form] {
			return usage("--emit %s: no target is compiled through it", form)
		}
	}
	return nil
}

// dumper returns a function that writes dumps into a folder: everything for --dump, some endings for --emit.
func dumper(dump, emit string) (func(string, func() string) error, error) {
	forms, dir, _ := strings.Cut(emit, "=")
	ends := map[string]bool{}
	if emit != "" {
		if dir == "" {
			return nil, usage("--emit wants relay,tir,llvm,asm,opencl=DIR, found %q", emit)
		}
		for _, form := range strings.Split(forms, ",") {
			end, ok := map[string]string{"relay": ".relay", "tir": ".tir", "llvm": ".ll", "asm": ".s", "opencl": ".cl", "spirv": ".spv"}[form]
			if !ok {
				return nil, usage("--emit wants relay, tir, llvm, asm, opencl or spirv, found %q", form)
			}
			ends[end] = true
		}
	}
	if dump == "" && emit == "" {
		return nil, nil
	}
	write := func(dir, name, text string) error {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return diag.Invalid("dump", path, "cannot be written").By(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return diag.Invalid("dump", path, "cannot be written").By(err)
		}
		return nil
	}
	return func(name string, text func() string) error {
		if dump != "" {
			if err := write(dump, name, text()); err != nil {
				return err
			}
		}
		if ends[filepath.Ext(name)] {
			return write(dir, name, text())
		}
		return nil
	}, nil
}
