package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	rt "github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/tensor"
)

type benchFlags struct {
	model    modelFlags
	device   deviceFlags
	rounds   int
	json     bool
	resident bool
	tuned    tunedFlags
}

// benchResult is the contract of bench --json.
type benchResult struct {
	Model         string  `json:"model"`
	Device        string  `json:"device"`
	Threads       int     `json:"threads"`
	Batch         int     `json:"batch"` // rows of an inference, where the model leaves them open; else 1
	MedianMS      float64 `json:"median_ms"`
	MinMS         float64 `json:"min_ms"`
	P95MS         float64 `json:"p95_ms"`
	CompileMS     float64 `json:"compile_ms"`
	CompileCached bool    `json:"compile_cached"`
	LoadMS        float64 `json:"load_ms"`
	FirstMS       float64 `json:"first_ms"`
	ColdMS        float64 `json:"cold_ms"`
	ArenaBytes    int64   `json:"arena_bytes"`
	ScratchBytes  int64   `json:"scratch_bytes"`
	WeightsBytes  int64   `json:"weights_bytes"`
	PeakMB        float64 `json:"peak_mb"`
	Kernels       int     `json:"kernels"`
	Launches      int     `json:"launches"`
	IOMS          float64 `json:"io_ms"`
	Drawn         string  `json:"drawn,omitempty"` // as in texel.Report
}

func (a *app) benchCommand() *cobra.Command {
	f := &benchFlags{}
	c := &cobra.Command{
		Use:   "bench ART|MODEL",
		Short: "measures a model",
		Args:  artifactOrModel,
		RunE:  func(c *cobra.Command, args []string) error { return a.bench(c.Context(), args[0], f) },
	}
	f.model.add(c)
	f.device.add(c)
	f.device.addBatch(c)
	c.Flags().BoolVar(&f.model.noCache, "no-cache", false, "compile anew and keep nothing")
	c.Flags().IntVar(&f.rounds, "rounds", 0, "measured inferences (0: as many as fit in a second)")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON document")
	f.tuned.add(c)
	c.Flags().BoolVar(&f.resident, "resident", false, "leave inputs and outputs on the device between inferences")
	return c
}

func (a *app) bench(ctx context.Context, path string, f *benchFlags) error {
	if f.rounds < 0 {
		return usage("--rounds wants a number from 0, found %d", f.rounds)
	}
	if err := f.tuned.refuse(); err != nil {
		return err
	}
	if err := f.device.check(); err != nil {
		return err
	}
	if !isArtifact(path) { // compile first, so that memory and load are those of the artifact alone
		m, err := a.open(ctx, path, &f.model, &f.device, nil)
		if err != nil {
			return err
		}
		defer m.close()
		m.Close()
		r, err := a.measure(ctx, m, f)
		if err != nil {
			return err
		}
		return a.printBench(r, f.json)
	}
	r, err := a.measure(ctx, &opened{path: path, name: path}, f)
	if err != nil {
		return err
	}
	return a.printBench(r, f.json)
}

// measure loads the artifact of o and times inferences.
func (a *app) measure(ctx context.Context, o *opened, f *benchFlags) (*benchResult, error) {
	before := resetPeak()
	start := time.Now()
	m, err := texel.Load(o.path, texel.LoadOptions{Threads: f.device.count(), Device: f.device.device, Batch: f.device.batch, CacheDir: a.verifiedDir()})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	loadMS := ms(time.Since(start))
	s, err := m.Session()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for i := range m.Inputs() {
		s.Input(i) // zeros; random numbers come behind the first run, since making them takes memory
	}
	start = time.Now()
	refused := s.Run(ctx)
	first := ms(time.Since(start))
	if refused != nil && !errors.Is(refused, diag.ErrInvalid) && !errors.Is(refused, diag.ErrUnsupported) {
		return nil, refused
	}
	r := &benchResult{Model: o.name, Device: f.device.device, Threads: f.device.count(), Batch: s.Batch(), CompileMS: o.compileMS, CompileCached: o.cached,
		LoadMS: loadMS, FirstMS: first, ColdMS: loadMS + first, PeakMB: max(0, peakMB()-before)}
	var feeds map[string]*tensor.Tensor
	r.Drawn, err = texel.DrawInputs(1, m.Inputs(), func(drawn map[string]*tensor.Tensor) error {
		if err := bind(s, m.Inputs(), drawn); err != nil {
			return err
		}
		start, feeds = time.Now(), drawn
		return s.Run(ctx)
	})
	if err != nil {
		return nil, err
	}
	if refused != nil { // zeros, such as a loop that counts down to 1
		r.FirstMS = ms(time.Since(start))
		r.ColdMS, r.PeakMB = loadMS+r.FirstMS, max(0, peakMB()-before)
	}
	for warm := time.Now(); time.Since(warm) < 200*time.Millisecond; {
		if err := s.Run(ctx); err != nil {
			return nil, err
		}
	}
	var times []float64
	for begin := time.Now(); ; {
		start := time.Now()
		if err := s.Run(ctx); err != nil {
			return nil, err
		}
		times = append(times, float64(time.Since(start).Nanoseconds())/1e6)
		if f.rounds > 0 && len(times) >= f.rounds || f.rounds == 0 && time.Since(begin) > time.Second && len(times) >= 3 {
			break
		}
	}
	slices.Sort(times)
	r.MedianMS, r.MinMS, r.P95MS = times[len(times)/2], times[0], times[min(len(times)-1, len(times)*95/100)]
	if r.IOMS, err = bindTime(s, m.Inputs(), feeds); err != nil {
		return nil, err
	}
	p := m.Plan()
	steps, err := p.Steps()
	if err != nil {
		return nil, err
	}
	r.ArenaBytes, r.ScratchBytes, r.WeightsBytes, r.Kernels, r.Launches = p.ArenaBytes, p.ScratchBytes, p.WeightsBytes, len(p.Kernels), len(steps)
	return r, nil
}

func bind(s *rt.Instance, ports []artifact.Port, feeds map[string]*tensor.Tensor) error {
	for i, p := range ports {
		if err := s.BindInput(i, feeds[p.Name].Data); err != nil {
			return err
		}
	}
	return nil
}

// bindTime measures what handing over inputs takes; outputs are read where they are.
func bindTime(s *rt.Instance, ports []artifact.Port, feeds map[string]*tensor.Tensor) (float64, error) {
	best := math.Inf(1)
	for range 5 {
		start := time.Now()
		if err := bind(s, ports, feeds); err != nil {
			return 0, err
		}
		best = min(best, ms(time.Since(start)))
	}
	return best, nil
}

func (a *app) printBench(r *benchResult, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	cached := ""
	if r.CompileCached {
		cached = " (from the cache)"
	}
	rows := ""
	if r.Batch > 1 {
		rows = fmt.Sprintf(", batch %d", r.Batch)
	}
	compiled := fmt.Sprintf("compiled in %.0f ms%s, ", r.CompileMS, cached)
	if isArtifact(r.Model) {
		compiled = ""
	}
	_, err := fmt.Fprintf(a.out, "%s on %s, %d threads%s: median %.3f ms, min %.3f, p95 %.3f\n"+
		"  %sload %.1f ms, first %.1f ms, inputs and outputs %.3f ms\n"+
		"  weights %s, arena %s, scratch %s a thread, peak %.1f MiB; %d launches of %d kernels\n",
		r.Model, r.Device, r.Threads, rows, r.MedianMS, r.MinMS, r.P95MS, compiled, r.LoadMS, r.FirstMS, r.IOMS,
		bytesText(r.WeightsBytes), bytesText(r.ArenaBytes), bytesText(r.ScratchBytes), r.PeakMB, r.Launches, r.Kernels)
	if r.Drawn != "" {
		fmt.Fprintf(a.out, "  inputs are drawn smaller: %s\n", r.Drawn)
	}
	return err
}

// bytesText prints a size in MB, and what would be little of one in kB or bytes.
func bytesText(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 100_000:
		return fmt.Sprintf("%.2f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.2f MB", float64(n)/1e6)
}

// resetPeak sets the peak of resident memory to what is resident now, and returns that in MB.
func resetPeak() float64 {
	debug.FreeOSMemory()
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200) // without it the peak of the compilation counts too
	return statusMB("VmRSS:")
}

func peakMB() float64 { return statusMB("VmHWM:") }

func statusMB(field string) float64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), field); ok {
			kb, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 64)
			return kb / 1024
		}
	}
	return 0
}
