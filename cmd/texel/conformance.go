package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel/diag"
)

// caseLimit is how long one case may take.
const caseLimit = 60 * time.Second

type conformanceFlags struct {
	device   deviceFlags
	optLevel string
	maxTrips int
	match    string
	scope    string
	json     bool
	jobs     int
}

// request is what a worker is asked to do; one JSON document a line.
type request struct {
	Case     *testCase `json:"case"`
	Device   string    `json:"device"`
	Threads  int       `json:"threads"`
	OptLevel string    `json:"opt_level"`
	MaxTrips int       `json:"max_trips,omitempty"`
}

// caseResult is what came of a case.
type caseResult struct {
	Name        string   `json:"name"`
	Scope       string   `json:"scope,omitempty"`
	Status      string   `json:"status"` // pass, fail, unsupported
	Why         string   `json:"why,omitempty"`
	Launches    int      `json:"launches"`
	Bound       []string `json:"bound,omitempty"` // inputs whose value was bound at compile time
	ByTolerance bool     `json:"by_tolerance,omitempty"`
	MS          float64  `json:"ms"`
}

func (a *app) conformanceCommand() *cobra.Command {
	f := &conformanceFlags{}
	c := &cobra.Command{
		Use:   "conformance DIR",
		Short: "runs every case of a corpus and compares",
		Args:  args("a folder"),
		RunE:  func(c *cobra.Command, args []string) error { return a.conformance(c.Context(), args[0], f) },
	}
	f.device.add(c)
	c.Flags().StringVar(&f.optLevel, "opt-level", "3", "0 to 3")
	c.Flags().IntVar(&f.maxTrips, "max-trips", 0, "as in compile")
	c.Flags().StringVar(&f.match, "match", "", "only cases whose name matches this regular expression")
	c.Flags().StringVar(&f.scope, "scope", "", "only cases of these scopes, core,lowp; one that is unsupported is then an error")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON document")
	c.Flags().IntVar(&f.jobs, "jobs", 2, "cases at once")
	return c
}

func (a *app) conformance(ctx context.Context, dir string, f *conformanceFlags) error {
	if err := f.device.check(); err != nil {
		return err
	}
	var match *regexp.Regexp
	if f.match != "" {
		var err error
		if match, err = regexp.Compile(f.match); err != nil {
			return usage("--match: %v", err)
		}
	}
	var scopes []string
	if f.scope != "" {
		scopes = strings.Split(f.scope, ",")
	}
	cases, err := findCases(dir, match, scopes)
	if err != nil {
		return err
	}
	results := a.runCases(ctx, cases, f)
	if err := ctx.Err(); err != nil {
		return err
	}
	return a.report(results, f)
}

// runCases gives the cases to workers in processes of their own, so that a crash or a hang costs one case, and prints
// each result as soon as those before it are there.
func (a *app) runCases(ctx context.Context, cases []*testCase, f *conformanceFlags) []*caseResult {
	results := make([]*caseResult, len(cases))
	next := make(chan int)
	var mu sync.Mutex
	printed := 0
	var wait sync.WaitGroup
	for range max(1, f.jobs) {
		wait.Go(func() {
			w := &worker{app: a}
			defer w.stop()
			for i := range next {
				r := w.run(ctx, &request{Case: cases[i], Device: f.device.device, Threads: f.device.threads, OptLevel: f.optLevel, MaxTrips: f.maxTrips})
				r.Name, r.Scope = cases[i].Name, cases[i].Scope
				mu.Lock()
				results[i] = r
				for printed < len(results) && results[printed] != nil && !f.json {
					fmt.Fprintln(a.out, results[printed].line())
					printed++
				}
				mu.Unlock()
			}
		})
	}
	for i := range cases {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wait.Wait()
	return results
}

func (r *caseResult) line() string {
	s := r.Name + ": " + r.Status
	if r.Why != "" {
		s += ": " + strings.ReplaceAll(firstLine(r.Why), "\n", " ")
	}
	return s
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// report prints the counts and decides the exit code.
func (a *app) report(results []*caseResult, f *conformanceFlags) error {
	count := map[string]int{}
	bound, tolerated := 0, 0
	for _, r := range results {
		count[r.Status]++
		if len(r.Bound) > 0 {
			bound++
		}
		if r.ByTolerance {
			tolerated++
		}
	}
	if f.json {
		e := json.NewEncoder(a.out)
		e.SetIndent("", " ")
		if err := e.Encode(struct {
			Passed      int           `json:"passed"`
			Failed      int           `json:"failed"`
			Unsupported int           `json:"unsupported"`
			Cases       []*caseResult `json:"cases"`
		}{count["pass"], count["fail"], count["unsupported"], results}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.out, "inputs bound at compile time in %d cases; %d passed only by the documented tolerance\n", bound, tolerated)
		fmt.Fprintf(a.out, "%d passed, %d failed, %d unsupported\n", count["pass"], count["fail"], count["unsupported"])
	}
	switch {
	case count["fail"] > 0:
		return quietError{diag.Numeric("conformance", "", "%d cases failed", count["fail"])}
	case count["unsupported"] > 0 && f.scope != "":
		return quietError{diag.Unsupported("conformance", "", "%d cases are unsupported", count["unsupported"])}
	}
	return nil
}

// worker is a child process that runs cases.
type worker struct {
	app   *app
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // closed when the child ends
	tail  *tail
}

// run gives the case to the child and waits for its answer.
func (w *worker) run(ctx context.Context, q *request) *caseResult {
	start := time.Now()
	r := w.ask(ctx, q)
	r.MS = ms(time.Since(start))
	return r
}

func (w *worker) ask(ctx context.Context, q *request) *caseResult {
	if w.cmd == nil {
		if err := w.start(); err != nil {
			return &caseResult{Status: "fail", Why: "no worker process: " + err.Error()}
		}
	}
	text, err := json.Marshal(q)
	if err != nil {
		return &caseResult{Status: "fail", Why: err.Error()}
	}
	if _, err := w.in.Write(append(text, '\n')); err != nil {
		why := w.end()
		return &caseResult{Status: "fail", Why: "the worker process ended: " + why}
	}
	timer := time.NewTimer(caseLimit)
	defer timer.Stop()
	select {
	case line, ok := <-w.lines:
		if !ok {
			return &caseResult{Status: "fail", Why: "crashed: " + w.end()}
		}
		r := &caseResult{}
		if err := json.Unmarshal([]byte(line), r); err != nil {
			w.end()
			return &caseResult{Status: "fail", Why: "the worker process answered " + line}
		}
		return r
	case <-timer.C:
		w.end()
		return &caseResult{Status: "fail", Why: fmt.Sprintf("no answer within %v", caseLimit)}
	case <-ctx.Done():
		w.interrupt()
		return &caseResult{Status: "fail", Why: "stopped"}
	}
}

func (w *worker) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, workerName)
	cmd.Env = append(os.Environ(), workerVariable+"=1")
	w.tail = &tail{}
	cmd.Stderr = w.tail
	if w.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.cmd, w.lines = cmd, make(chan string)
	go func(lines chan<- string) {
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				break
			}
			lines <- line
		}
		close(lines)
	}(w.lines)
	return nil
}

// end stops the child and says why it ended.
func (w *worker) end() string {
	if w.cmd == nil {
		return ""
	}
	w.cmd.Process.Kill()
	w.in.Close()
	go func(lines <-chan string) {
		for range lines {
		}
	}(w.lines)
	err := w.cmd.Wait()
	why := w.tail.first()
	if why == "" && err != nil {
		why = err.Error()
	}
	w.cmd = nil
	return why
}

// interrupt stops the child, which gets a moment to remove its temporary files.
func (w *worker) interrupt() {
	w.cmd.Process.Signal(os.Interrupt)
	w.in.Close()
	select {
	case <-w.lines: // it answers or ends
	case <-time.After(time.Second):
	}
	w.end()
}

func (w *worker) stop() {
	if w.cmd != nil {
		w.in.Close()
		w.cmd.Wait()
		w.cmd = nil
	}
}

// tail keeps the beginning of what a child says about its end.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 1<<14 - len(t.text); room > 0 {
		t.text = append(t.text, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (t *tail) first() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return firstLine(strings.TrimSpace(string(t.text)))
}

// workerName is the hidden subcommand of a worker; workerVariable tells a test's program to be one.
const (
	workerName     = "conformance-worker"
	workerVariable = "TEXEL_CONFORMANCE_WORKER"
)

func (a *app) workerCommand() *cobra.Command {
	return &cobra.Command{Use: workerName, Hidden: true, Args: args(), RunE: func(c *cobra.Command, _ []string) error {
		r := bufio.NewReader(a.in)
		e := json.NewEncoder(a.out)
		for {
			line, err := r.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			q := &request{}
			if err := json.Unmarshal(line, q); err != nil {
				return err
			}
			if err := e.Encode(a.runCase(c.Context(), q)); err != nil {
				return err
			}
		}
	}}
}

// quietError carries an exit code for a failure whose report is already printed.
type quietError struct{ error }

func (q quietError) Unwrap() error { return q.error }
