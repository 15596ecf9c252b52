package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/page"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/study"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/proof"
	"github.com/texel-ml/texel/tir/tirtext"
)

// studyFlags are the flags of the commands that take a function with a trace.
type studyFlags struct {
	trace  string
	output string
	seed   uint64
	steps  int64
}

// add adds the flags; output is what -o does, of is the flag that --seed and --max-steps belong to.
func (f *studyFlags) add(c *cobra.Command, output, of string) {
	c.Flags().StringVar(&f.trace, "trace", "", "file of the trace (required)")
	c.Flags().StringVarP(&f.output, "output", "o", "", output)
	c.Flags().Uint64Var(&f.seed, "seed", 1, of+"draws the inputs")
	c.Flags().Int64Var(&f.steps, "max-steps", 100_000_000, of+"iterations that the interpreter may take for one function")
}

// options returns what the flags say of the inputs.
func (f *studyFlags) options() (study.Options, error) {
	if f.steps < 1 {
		return study.Options{}, usage("--max-steps wants a number from 1, found %d", f.steps)
	}
	count := func(f *tir.Func) (int64, bool) {
		w := texel.CountWork(f)
		return w.Steps, w.Exact
	}
	return study.Options{Seed: f.seed, MaxSteps: f.steps, Count: count}, nil
}

// read reads a function, which must be legal, and the trace.
func (f *studyFlags) read(path string) (*tir.Func, *schedule.Trace, error) {
	p, err := readLoops(path)
	if err != nil {
		return nil, nil, err
	}
	if p.fn == nil {
		return nil, nil, diag.Invalid("schedule", path, "holds kernels, wanted a function in block form")
	}
	if f.trace == "" {
		return nil, nil, usage("--trace FILE is required")
	}
	if err := legal(p); err != nil {
		return nil, nil, err
	}
	trace, err := readTrace(f.trace)
	return p.fn, trace, err
}

// readTrace reads the file of a trace.
func readTrace(path string) (*schedule.Trace, error) {
	text, err := readText("trace", path)
	if err != nil {
		return nil, err
	}
	return schedule.ParseTrace(path, text)
}

type scheduleFlags struct {
	studyFlags
	html    string
	bisect  bool
	certify bool
}

func (a *app) scheduleCommand() *cobra.Command {
	f := &scheduleFlags{}
	c := &cobra.Command{
		Use:   "schedule X.tir --trace T",
		Short: "applies a schedule trace, and shows what its steps do",
		Args:  args("a .tir file"),
		RunE:  func(c *cobra.Command, args []string) error { return a.schedule(c.Context(), args[0], f) },
	}
	f.add(c, "the .tir to write, instead of printing it", "of --bisect: ")
	c.Flags().StringVar(&f.html, "html", "", "write a page that goes through the steps")
	c.Flags().BoolVar(&f.bisect, "bisect", false, "find the first step after which the function fails or computes something else")
	c.Flags().BoolVar(&f.certify, "certify", false, "print what was proven of each step, checked again")
	return c
}

func (a *app) schedule(ctx context.Context, path string, f *scheduleFlags) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	if f.bisect && (f.certify || f.html != "" || f.output != "") {
		return usage("--bisect prints the step at fault; it goes with none of --certify, --html and -o")
	}
	program, trace, err := f.read(path)
	if err != nil {
		return err
	}
	if f.bisect {
		return a.bisect(ctx, program, trace, opts)
	}
	if !f.certify && f.html == "" {
		s := schedule.New(program)
		if err := s.Replay(trace); err != nil {
			return err
		}
		return a.giveText(f.output, tirtext.Print(s.Func()))
	}
	taken, err := study.Follow(program, trace, study.Options{})
	if f.html != "" { // up to the step that is refused, too
		p := schedulePage(path, program, taken, err)
		if werr := writeFile(f.html, p.Write); werr != nil {
			return werr
		}
	}
	if err != nil {
		return err
	}
	if f.certify {
		if err := a.certify(taken); err != nil {
			return err
		}
	}
	if f.output != "" {
		after := program
		if len(taken) > 0 {
			after = taken[len(taken)-1].After
		}
		return writeText(f.output, tirtext.Print(after))
	}
	return nil
}

// giveText writes a text to a file, or prints it.
func (a *app) giveText(path, text string) error {
	if path != "" {
		return writeText(path, text)
	}
	_, err := io.WriteString(a.out, text)
	return err
}

// certify prints the claims of each step. Each is read back from its text and decided by the checker alone.
func (a *app) certify(taken []study.Taken) error {
	claims := 0
	for n, x := range taken {
		fmt.Fprintf(a.out, "step %d: %s\n", n+1, x.Step)
		for _, c := range x.Claims {
			again, err := proof.Parse(c.String())
			if err == nil {
				err = proof.Check(again)
			}
			if err != nil {
				return diag.Internal("certify", x.Step.Name, "step %d: %s", n+1, c).By(err)
			}
			fmt.Fprintf(a.out, "  %s\n", c)
			claims++
		}
	}
	_, err := fmt.Fprintf(a.out, "%d steps, %d claims, each checked again from its text\n", len(taken), claims)
	return err
}

func (a *app) bisect(ctx context.Context, program *tir.Func, trace *schedule.Trace, opts study.Options) error {
	first, err := study.Bisect(ctx, program, trace, opts)
	if err != nil {
		return err
	}
	if first == nil {
		_, err := fmt.Fprintf(a.out, "all %d steps keep what the function computes\n", len(trace.Steps))
		return err
	}
	fmt.Fprintf(a.out, "step %d of %d is the first that fails: %s\n", first.Number, len(trace.Steps), first.Step)
	if at := first.Step.Pos; at.Line > 0 {
		fmt.Fprintf(a.out, "it stands in %s:%d\n", at.File, at.Line)
	}
	fmt.Fprintf(a.out, "%v\n", first.Fault)
	if first.After != nil {
		old, new := study.Diff(first.Before, first.After)
		for _, l := range old {
			if l.Changed {
				fmt.Fprintf(a.out, "- %s\n", l.Text)
			}
		}
		for _, l := range new {
			if l.Changed {
				fmt.Fprintf(a.out, "+ %s\n", l.Text)
			}
		}
	}
	return first.Fault.Err
}

func (a *app) reduceCommand() *cobra.Command {
	f := &studyFlags{}
	c := &cobra.Command{
		Use:   "reduce X.tir --trace T",
		Short: "shrinks a function and a trace while they fail in the same way",
		Args:  args("a .tir file"),
		RunE:  func(c *cobra.Command, args []string) error { return a.reduce(c.Context(), args[0], f) },
	}
	f.add(c, "write NAME.tir and NAME.trace instead of printing them", "")
	return c
}

func (a *app) reduce(ctx context.Context, path string, f *studyFlags) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	program, trace, err := f.read(path)
	if err != nil {
		return err
	}
	r, err := study.Reduce(ctx, program, trace, opts)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		fmt.Fprintln(a.err, "reduce: interrupted; this is the smallest so far")
	}
	fmt.Fprintf(a.err, "reduce: %d tries; %d steps are left of %d; %v\n", r.Tries, len(r.Trace.Steps), len(trace.Steps), r.Fault)
	text, steps := tirtext.Print(r.Program), r.Trace.String()
	if f.output == "" {
		_, err := fmt.Fprintf(a.out, "%s\n# trace\n%s", text, "# "+strings.ReplaceAll(strings.TrimSuffix(steps, "\n"), "\n", "\n# ")+"\n")
		return err
	}
	base := strings.TrimSuffix(f.output, ".tir")
	if err := writeText(base+".tir", text); err != nil {
		return err
	}
	return writeText(base+".trace", steps)
}

// schedulePage is a page with a step for each of the trace: the loops before and after, what was proven, and what each loop
// touches.
func schedulePage(path string, program *tir.Func, taken []study.Taken, refused error) *page.Page {
	p := &page.Page{Title: program.Name + ": a schedule, step by step", Lead: "The loops of " + path +
		" before and after each step. Lines that go are marked on the left, lines that come on the right; below stand the claims that the step had to fulfil, and what one iteration of each loop touches. The arrow keys go from step to step."}
	steps := &page.Steps{}
	begin := page.Step{Name: "the program", Parts: []page.Part{&page.Code{Lines: marked(plain(program), page.Same)}, footprints(program)}}
	steps.List = append(steps.List, begin)
	for _, x := range taken {
		if x.Before == x.After {
			continue // a query
		}
		old, new := study.Diff(x.Before, x.After)
		s := page.Step{Name: x.Step.String(), Parts: []page.Part{
			&page.Code{Caption: "before", Lines: marked(old, page.Removed)}, &page.Code{Caption: "after", Lines: marked(new, page.Added)}}}
		if len(x.Claims) > 0 {
			s.Note = strconv.Itoa(len(x.Claims)) + " proven"
			s.Parts = append(s.Parts, claimTable(x.Claims))
		}
		s.Parts = append(s.Parts, footprints(x.After))
		steps.List = append(steps.List, s)
	}
	if refused != nil {
		steps.List = append(steps.List, page.Step{Name: "refused", Parts: []page.Part{&page.Text{Paragraphs: []string{refused.Error()}}}})
	}
	p.Parts = []page.Part{steps}
	return p
}

func plain(f *tir.Func) []study.DiffLine {
	old, _ := study.Diff(f, f)
	return old
}

func marked(lines []study.DiffLine, mark page.Mark) []page.Line {
	out := make([]page.Line, len(lines))
	for i, l := range lines {
		out[i].Text = l.Text
		if l.Changed {
			out[i].Mark = mark
		}
	}
	return out
}

func claimTable(list []*proof.Claim) *page.Table {
	t := &page.Table{Caption: "proven", Head: []string{"claim"}}
	for _, c := range list {
		t.Rows = append(t.Rows, []string{c.String()})
	}
	return t
}

// footprints is a table of what one iteration of each loop touches.
func footprints(f *tir.Func) *page.Table {
	t := &page.Table{Caption: "what one iteration of a loop touches", Head: []string{"loop", "kind", "iterations", "bytes", "of which"}, Right: map[int]bool{2: true, 3: true}}
	for _, l := range schedule.Footprints(f) {
		var parts []string
		for _, b := range l.Buffers {
			parts = append(parts, fmt.Sprintf("%s %d", b.Buffer.Name, b.Bytes))
		}
		t.Rows = append(t.Rows, []string{strings.Repeat("\u2003", l.Depth) + l.Loop, l.Kind.String(), strconv.FormatInt(l.Iterations, 10), strconv.FormatInt(l.Bytes, 10), strings.Join(parts, ", ")})
	}
	return t
}
