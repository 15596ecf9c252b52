package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/codegen/llvm"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/runtime/opencl"
	"github.com/texel-ml/texel/target"
)

const version = texel.Version

func versionLine() string {
	return fmt.Sprintf("texel %s, %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "version, LLVM and devices that are here", Args: args(), RunE: func(*cobra.Command, []string) error {
		fmt.Fprintln(a.out, versionLine())
		if tools, err := llvm.Find(); err != nil {
			fmt.Fprintf(a.out, "llvm: %v\n", err)
		} else {
			fmt.Fprintf(a.out, "llvm: %s, %s\n", tools.LLC, tools.LLD)
		}
		h, err := target.Host()
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "cpu: %s, %d cores, vectors of %d bits\n", h.CPU, h.Cores, h.VectorBits)
		devices, err := opencl.List("")
		if err != nil {
			fmt.Fprintf(a.out, "opencl: %v\n", err)
		}
		for i, d := range devices {
			fmt.Fprintf(a.out, "opencl:%d: %v\n", i, d)
		}
		return nil
	}}
}

func (a *app) targetsCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{Use: "targets", Short: "the built-in target records", Args: args(), RunE: func(*cobra.Command, []string) error {
		var all []*target.Target
		for _, name := range target.List() {
			t, err := target.Parse(name)
			if err != nil {
				return err
			}
			all = append(all, t)
		}
		if asJSON {
			e := json.NewEncoder(a.out)
			e.SetIndent("", "  ")
			return e.Encode(all)
		}
		for i, t := range all {
			what := fmt.Sprintf("%s, vectors of %d bits", t.Arch, t.VectorBits)
			if t.GPU != nil {
				what = fmt.Sprintf("images to %d x %d", t.GPU.ImageWidth, t.GPU.ImageHeight)
				if !t.Images() {
					what = "tensors in buffers"
				}
			}
			fmt.Fprintf(a.out, "%-18s %-8s %s\n", target.List()[i], t.API, what)
		}
		return nil
	}}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func (a *app) verifyCommand() *cobra.Command {
	key := ""
	c := &cobra.Command{Use: "verify ART", Short: "checks every digest and every plan of an artifact", Args: args("an artifact"), RunE: func(_ *cobra.Command, args []string) error {
		if key != "" {
			return diag.Unsupported("verify", "--require-signature", "signatures are not in this version")
		}
		f, err := artifact.Open(args[0], artifact.OpenOptions{TrustWeights: true})
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Verify(); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s: fine: entries %d, variants %d, digest %s\n", args[0], len(f.Manifest().Entries), len(f.Manifest().Variants), f.Digest())
		return nil
	}}
	c.Flags().StringVar(&key, "require-signature", "", "a public key")
	return c
}

func (a *app) inspectCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{Use: "inspect ART", Short: "shows what is in an artifact", Args: args("an artifact"), RunE: func(_ *cobra.Command, args []string) error {
		f, err := artifact.Open(args[0], artifact.OpenOptions{TrustWeights: true})
		if err != nil {
			return err
		}
		defer f.Close()
		return a.inspect(f, asJSON)
	}}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func (a *app) inspect(f *artifact.File, asJSON bool) error {
	m := f.Manifest()
	var plans []*artifact.Plan
	for i := range m.Variants {
		p, err := f.Plan(i)
		if err != nil {
			return err
		}
		plans = append(plans, p)
	}
	if asJSON {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Manifest *artifact.Manifest `json:"manifest"`
			Plans    []*artifact.Plan   `json:"plans"`
		}{m, plans})
	}
	fmt.Fprintf(a.out, "model %s, compiled by %s %s with %s\n", m.Model.Name, m.Producer.Name, m.Producer.Version, m.Producer.Generator)
	for _, o := range m.Options {
		fmt.Fprintf(a.out, "option %s = %s\n", o.Name, o.Value)
	}
	for i, v := range m.Variants {
		fmt.Fprintf(a.out, "variant %s for %s (%s)\n", v.Name, v.Target, v.API)
		if err := printPlan(a.out, plans[i]); err != nil {
			return err
		}
	}
	return nil
}

func printPlan(w io.Writer, p *artifact.Plan) error {
	ports := func(what string, list []artifact.Port) {
		for _, x := range list {
			more := ""
			for _, e := range x.Extent {
				more += fmt.Sprintf(", axis %d up to this, its true extent in %s", e.Axis, e.Tensor)
			}
			if x.Open != nil {
				more += fmt.Sprintf(", any number of these along axis %d, %s", x.Open.Axis, x.Open.Name)
			}
			if x.Default != "" {
				more += ", has a default"
			}
			fmt.Fprintf(w, "%s %s %v %v%s\n", what, x.Name, x.Shape, x.DType, more)
		}
	}
	ports("input ", p.Inputs)
	ports("output", p.Outputs)
	for _, x := range p.Pools {
		fmt.Fprintf(w, "pool %-10s %-10s", x.Name, x.Kind)
		if x.Bytes > 0 { // others are memory of the caller, of the file, or images
			fmt.Fprintf(w, " %12d bytes", x.Bytes)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%-32s %-24s %-10s %-10s %12s %12s %11s\n", "tensor", "shape", "type", "pool", "offset", "bytes", "life")
	for _, t := range p.Tensors {
		name := t.Name
		if t.AliasOf != "" {
			name += " = " + t.AliasOf
		}
		fmt.Fprintf(w, "%-32s %-24v %-10v %-10s %12d %12d %5d–%d\n", name, t.Shape, t.DType, t.Pool, t.Offset, t.Bytes, t.Life.First, t.Life.Last)
	}
	steps, err := p.Steps()
	if err != nil {
		return err
	}
	printLaunches(w, steps)
	fmt.Fprintf(w, "memory: weights %s, arena %s (lower bound %s), scratch %s a thread; %d launches of %d kernels\n",
		bytesText(p.WeightsBytes), bytesText(p.ArenaBytes), bytesText(p.Memory.LowerBound), bytesText(p.ScratchBytes), len(steps), len(p.Kernels))
	return nil
}

// printLaunches writes one line a launch; those of branches and loops stand behind theirs, indented.
func printLaunches(w io.Writer, steps []artifact.Step) {
	var around []artifact.Step
	for i, s := range steps {
		for len(around) > 0 && around[len(around)-1].End <= i {
			around = around[:len(around)-1]
		}
		l := s.Launch
		how := string(l.Kind)
		switch {
		case l.Control != nil:
			how = controlText(l.Control)
		case l.Kernel != "":
			how = fmt.Sprintf("grid %v chunk %d", l.Grid, l.Chunk)
		case l.Stack:
			how = "stack"
		}
		name := strings.Repeat("  ", len(around)) + l.Name
		if len(around) > 0 && around[len(around)-1].Split == i && around[len(around)-1].Launch.Control.Kind == artifact.If {
			fmt.Fprintf(w, "           %selse\n", strings.Repeat("  ", len(around)-1))
		}
		fmt.Fprintf(w, "launch %3d %-40s %s  %s → %s\n", i, name, how, strings.Join(l.Reads, " "), strings.Join(l.Writes, " "))
		if l.Control != nil {
			around = append(around, s)
		}
	}
}

// controlText says how a control launch decides.
func controlText(c *artifact.Control) string {
	text := string(c.Kind)
	for _, x := range []struct{ what, tensor string }{{"if", c.Cond}, {"rounds", c.Trip}} {
		if x.tensor != "" && c.Kind == artifact.Loop {
			text += " " + x.what + " " + x.tensor
		}
	}
	if c.Max > 0 {
		text += fmt.Sprintf(" at most %d", c.Max)
	}
	return text
}

// writeGraph writes a module's text with the names of its nodes: to a file, and beside it the data of its constants by
// digest (X.relay.npz) and the metadata of the model (X.relay.json), or to the standard output.
func (a *app) writeGraph(m *relay.Module, path string) error {
	return a.writeGraphText(m, relay.PrintOptions{Spans: true}.Print(m), path)
}

// writeGraphText is writeGraph with the text of the module.
func (a *app) writeGraphText(m *relay.Module, text, path string) error {
	if path == "" {
		_, err := io.WriteString(a.out, text)
		return err
	}
	if err := writeFile(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return err
	}
	if err := writeFile(path+".npz", func(w io.Writer) error { return npy.WriteArchive(w, relaytext.Arrays(m)) }); err != nil {
		return err
	}
	return writeFile(path+".json", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(struct {
			Meta    map[string]string       `json:"meta"`
			Outputs []string                `json:"outputs"`
			Extents map[string]relay.Extent `json:"extents,omitempty"`
		}{m.Meta, m.Outputs, m.Extents})
	})
}
