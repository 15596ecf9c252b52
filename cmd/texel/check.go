package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
)

func (a *app) checkCommand() *cobra.Command {
	m, d := &modelFlags{}, &deviceFlags{}
	seed, certify, asJSON, tuned := uint64(0), false, false, &tunedFlags{}
	var inputs []string
	c := &cobra.Command{Use: "check ART|MODEL", Short: "compares every layer on the device with the float64 evaluator", Args: artifactOrModel, RunE: func(c *cobra.Command, args []string) error {
		if err := tuned.refuse(); err != nil {
			return err
		}
		arrays, pictures, err := readInputs(inputs)
		if err != nil {
			return err
		}
		if len(pictures) > 0 {
			return usage("texel check --input wants .npy or .npz files")
		}
		if err := d.check(); err != nil {
			return err
		}
		report, err := a.check(c.Context(), args[0], m, d, texel.CheckOptions{Threads: d.threads, Device: d.device, Batch: d.batch, Seed: seed, Inputs: arrays})
		if err != nil {
			return err
		}
		if err := a.printReport(report, asJSON); err != nil {
			return err
		}
		if certify {
			path := strings.TrimSuffix(args[0], filepath.Ext(args[0])) + ".cert.json"
			if err := writeFile(path, func(w io.Writer) error {
				e := json.NewEncoder(w)
				e.SetIndent("", " ")
				return e.Encode(report)
			}); err != nil {
				return err
			}
		}
		return report.Err()
	}}
	m.add(c)
	d.add(c)
	d.addBatch(c)
	c.Flags().StringArrayVar(&inputs, "input", nil, "name=x.npy or IN.npz; the others are drawn")
	c.Flags().Uint64Var(&seed, "seed", 0, "of the inputs that are drawn")
	c.Flags().BoolVar(&certify, "certify", false, "write what was measured to ART.cert.json or MODEL.cert.json")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	tuned.add(c)
	return c
}

// check checks an artifact, or compiles a model and checks what comes out.
func (a *app) check(ctx context.Context, path string, m *modelFlags, d *deviceFlags, o texel.CheckOptions) (*texel.Report, error) {
	bar := a.progressBar()
	defer bar.stop()
	o.Progress = func(done, total int) { bar.report(texel.Progress{Step: "check", Done: done, Total: total}) }
	if isArtifact(path) {
		return texel.CheckArtifact(ctx, path, o)
	}
	if err := nameInputs(path, o.Inputs); err != nil {
		return nil, err
	}
	opts, err := m.options(o.Inputs)
	if err != nil {
		return nil, err
	}
	if err := d.compileFor(&opts); err != nil {
		return nil, err
	}
	if d.batch > 0 {
		apart, err := batchApart(path, m, opts, o.Inputs)
		if err != nil {
			return nil, err
		}
		if apart != nil {
			opts = *apart
		}
	}
	opts.Progress = bar.report
	c, err := texel.Compile(ctx, path, opts)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Check(ctx, o)
}

func (a *app) printReport(r *texel.Report, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(a.out)
		e.SetIndent("", " ")
		return e.Encode(r)
	}
	wrong, tightest, rms, most := 0, 0.0, 0.0, 0.0
	for _, l := range r.Layers {
		rms, most = max(rms, l.RMS), max(most, l.Max)
		if l.Wrong > 0 {
			wrong++
		}
		if l.Bound > 0 {
			tightest = max(tightest, l.Measured/l.Bound)
		}
	}
	fmt.Fprint(a.out, r)
	if r.Drawn != "" {
		fmt.Fprintf(a.out, "inputs are drawn smaller: %s\n", r.Drawn)
	}
	compared, idle := r.Compared(), ""
	switch missing := len(r.Layers) - compared; {
	case compared == 0 && missing > 0:
		_, err := fmt.Fprintf(a.out, "no layer was compared: none of the %d ran with these inputs; give others with --input or --seed\n", missing)
		return err
	case missing > 0:
		idle = fmt.Sprintf("; %d more did not run", missing)
	}
	_, err := fmt.Fprintf(a.out, "%d layers, %d outside their bound; the nearest is at %.0f %% of it; errors of a layer up to rms %.2g σ, max %.2g σ%s\n",
		compared, wrong, 100*tightest, rms, most, idle)
	return err
}
