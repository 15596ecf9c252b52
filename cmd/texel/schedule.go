package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/page"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/schedule/study"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/proof"
	"github.com/texel-ml/texel/tir/tirtext"
)

type scheduleFlags struct {
	trace   string
	output  string
	html    string
	bisect  bool
	certify bool
	seed    uint64
	steps   int64
}

func (a *app) scheduleCommand() *cobra.Command {
	f := &scheduleFlags{}
	c := &cobra.Command{
		Use:   "schedule X.tir --trace T",
		Short: "applies a schedule trace, and shows what its steps do",
		Args:  args("a .tir file"),
		RunE:  func(c *cobra.Command, args []string) error { return a.schedule(c.Context(), args[0], f) },
	}
	c.Flags().StringVar(&f.trace, "trace", "", "file of the trace (required)")
	c.Flags().StringVarP(&f.output, "output", "o", "", "the .tir to write, instead of printing it")
	c.Flags().StringVar(&f.html, "html", "", "write a page that goes through the steps")
	c.Flags().BoolVar(&f.bisect, "bisect", false, "find the first step after which the function fails or computes something else")
	c.Flags().BoolVar(&f.certify, "certify", false, "print what was proven of each step, checked again")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "of --bisect: draws the inputs")
	c.Flags().Int64Var(&f.steps, "max-steps", 100_000_000, "of --bisect: iterations that the interpreter may take for one function")
	return c
}

// readSchedule reads a function, which must be legal, and a trace.
func readSchedule(path, tracePath string) (*tir.Func, *schedule.Trace, error) {
	p, err := readLoops(path)
	if err != nil {
		return nil, nil, err
	}
	if p.fn == nil {
		return nil, nil, diag.Invalid("schedule", path, "holds kernels, wanted a function in block form")
	}
	if tracePath == "" {
		return nil, nil, usage("--trace FILE is required")
	}
	if err := legal(p); err != nil {
		return nil, nil, err
	}
	text, err := readText("trace", tracePath)
	if err != nil {
		return nil, nil, err
	}
	trace, err := schedule.ParseTrace(tracePath, text)
	return p.fn, trace, err
}

// check refuses flags that do not go together.
func (f *scheduleFlags) check() error {
	if f.steps < 1 {
		return usage("--max-steps wants a number from 1, found %d", f.steps)
	}
	if f.bisect && (f.certify || f.html != "" || f.output != "") {
		return usage("--bisect prints the step at fault; it goes with none of --certify, --html and -o")
	}
	return nil
}

func (a *app) schedule(ctx context.Context, path string, f *scheduleFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	program, trace, err := readSchedule(path, f.trace)
	if err != nil {
		return err
	}
	if f.bisect {
		return a.bisect(ctx, program, trace, f)
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

func (a *app) bisect(ctx context.Context, program *tir.Func, trace *schedule.Trace, f *scheduleFlags) error {
	first, err := study.Bisect(ctx, program, trace, study.Options{Seed: f.seed, MaxSteps: f.steps})
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

type reduceFlags struct {
	trace  string
	output string
	seed   uint64
	steps  int64
}

func (a *app) reduceCommand() *cobra.Command {
	f := &reduceFlags{}
	c := &cobra.Command{
		Use:   "reduce X.tir --trace T",
		Short: "shrinks a function and a trace while they fail in the same way",
		Args:  args("a .tir file"),
		RunE:  func(c *cobra.Command, args []string) error { return a.reduce(c.Context(), args[0], f) },
	}
	c.Flags().StringVar(&f.trace, "trace", "", "file of the trace (required)")
	c.Flags().StringVarP(&f.output, "output", "o", "", "write NAME.tir and NAME.trace instead of printing them")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "draws the inputs")
	c.Flags().Int64Var(&f.steps, "max-steps", 100_000_000, "iterations that the interpreter may take for one function")
	return c
}

func (a *app) reduce(ctx context.Context, path string, f *reduceFlags) error {
	if f.steps < 1 {
		return usage("--max-steps wants a number from 1, found %d", f.steps)
	}
	program, trace, err := readSchedule(path, f.trace)
	if err != nil {
		return err
	}
	r, err := study.Reduce(ctx, program, trace, study.Options{Seed: f.seed, MaxSteps: f.steps})
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
