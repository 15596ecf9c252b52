package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
)

type explainFlags struct {
	model       modelFlags
	json        bool
	kinds       string
	match       string
	html, phone string
}

func (a *app) explainCommand() *cobra.Command {
	f := &explainFlags{}
	c := &cobra.Command{Use: "explain ART|MODEL", Short: "what the compiler did without being asked, and why", Args: artifactOrModel,
		RunE: func(c *cobra.Command, args []string) error { return a.explain(c.Context(), args[0], f) }}
	f.model.add(c)
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON document")
	c.Flags().StringVar(&f.kinds, "kind", "", "only notes of these kinds: "+strings.Join(noteKinds, ","))
	c.Flags().StringVar(&f.match, "match", "", "REGEXP: only notes of nodes whose names it matches")
	c.Flags().StringVar(&f.html, "html", "", "not in this version")
	c.Flags().StringVar(&f.phone, "phone", "", "not in this version")
	return c
}

// noteKinds are the kinds of notes, in the order in which the summary counts them.
var noteKinds = []string{string(diag.Default), string(diag.Bound), string(diag.Rewrote), string(diag.Chose), string(diag.Kept), string(diag.Fused),
	string(diag.Unfused), string(diag.Fallback)}

func (a *app) explain(ctx context.Context, path string, f *explainFlags) error {
	if f.html != "" || f.phone != "" {
		return diag.Unsupported("explain", "--html, --phone", "these flags are not in this version")
	}
	wanted, err := f.filter()
	if err != nil {
		return err
	}
	plans, notes, err := a.plansOf(ctx, path, f)
	if err != nil {
		return err
	}
	notes = slices.DeleteFunc(slices.Clone(notes), func(n diag.Note) bool { return !wanted(n) })
	if f.json {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Notes []diag.Note `json:"notes"`
		}{notes})
	}
	for _, n := range notes {
		fmt.Fprintln(a.out, n)
		for _, o := range n.Other {
			fmt.Fprintf(a.out, "    not %s, %.1f µs", o.Name, o.Cost)
			if o.Why != "" {
				fmt.Fprintf(a.out, ": %s", o.Why)
			}
			fmt.Fprintln(a.out)
		}
	}
	if f.kinds == "" {
		a.listLaunches(plans, f)
	}
	a.summarize(plans, notes)
	return nil
}

// listLaunches says which nodes of the model each launch computes, and by which kernel; a kernel may be that of several.
func (a *app) listLaunches(plans []*artifact.Plan, f *explainFlags) {
	match := regexp.MustCompile(f.match)
	list := func(launches []artifact.Launch) {
		for _, l := range launches {
			if l.Kind == artifact.KernelLaunch && (f.match == "" || slices.ContainsFunc(l.Nodes, match.MatchString)) {
				fmt.Fprintf(a.out, "launch: %s: kernel %s: %s\n", l.Name, l.Kernel, strings.Join(l.Nodes, ", "))
			}
		}
	}
	for _, p := range plans {
		list(p.Launches)
		for _, r := range p.Regions {
			list(r.Launches)
		}
	}
}

// filter returns which notes are wanted.
func (f *explainFlags) filter() (func(n diag.Note) bool, error) {
	kinds := noteKinds
	if f.kinds != "" {
		kinds = strings.Split(f.kinds, ",")
	}
	for _, k := range kinds {
		if !slices.Contains(noteKinds, k) {
			return nil, usage("--kind wants some of %s, found %q", strings.Join(noteKinds, ","), k)
		}
	}
	nodes, err := regexp.Compile(f.match)
	if err != nil {
		return nil, usage("--match wants a regular expression, found %q: %v", f.match, err)
	}
	return func(n diag.Note) bool { return slices.Contains(kinds, string(n.Kind)) && nodes.MatchString(n.Node) }, nil
}

// plansOf returns the plans of an artifact or of a model that is compiled now, and the notes.
func (a *app) plansOf(ctx context.Context, path string, f *explainFlags) (plans []*artifact.Plan, notes []diag.Note, err error) {
	if isArtifact(path) {
		file, err := artifact.Open(path, artifact.OpenOptions{TrustWeights: true})
		if err != nil {
			return nil, nil, err
		}
		defer file.Close()
		for i := range file.Manifest().Variants {
			p, err := file.Plan(i)
			if err != nil {
				return nil, nil, err
			}
			plans, notes = append(plans, p), append(notes, p.Notes...)
		}
		return plans, notes, nil
	}
	opts, err := f.model.options(nil)
	if err != nil {
		return nil, nil, err
	}
	bar := a.progressBar()
	opts.Progress = bar.report
	compiled, err := texel.Compile(ctx, path, opts)
	bar.stop()
	if err != nil {
		return nil, nil, err
	}
	defer compiled.Close()
	return []*artifact.Plan{compiled.Plan()}, compiled.Notes(), nil
}

// summarize counts launches, and the notes by kind and step.
func (a *app) summarize(plans []*artifact.Plan, notes []diag.Note) {
	for _, p := range plans {
		fmt.Fprintf(a.out, "in all: %d launches of %d kernels\n", len(p.Launches), len(p.Kernels))
	}
	for _, kind := range noteKinds {
		var steps []string
		count := map[string]int{}
		for _, n := range notes {
			if string(n.Kind) != kind {
				continue
			}
			if count[n.Step] == 0 {
				steps = append(steps, n.Step)
			}
			count[n.Step]++
		}
		for i, s := range steps {
			steps[i] = fmt.Sprintf("%s %d", s, count[s])
		}
		if len(steps) > 0 {
			fmt.Fprintf(a.out, "in all: %s: %s\n", kind, strings.Join(steps, ", "))
		}
	}
}
