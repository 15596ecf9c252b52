package llvm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/scratch"
	"github.com/texel-ml/texel/target"
)

// standIns are processors without a scheduling model in LLVM 19, or with one of a much older core, and their nearest
// relatives. Without it llvm-mca takes an A76 for an A57, which has half its multiply-adds.
var standIns = map[string]string{
	"cortex-a75": "neoverse-n1", "cortex-a76": "neoverse-n1", "cortex-a76ae": "neoverse-n1", "cortex-a77": "neoverse-n1",
	"cortex-a78": "neoverse-n1", "cortex-a78ae": "neoverse-n1", "cortex-a78c": "neoverse-n1", "cortex-a710": "neoverse-n2",
	"cortex-x1": "neoverse-v1", "cortex-x1c": "neoverse-v1", "cortex-x2": "neoverse-v2", "cortex-x3": "neoverse-v2",
	"znver5": "znver4", "graniterapids": "sapphirerapids", "x86-64-v2": "nehalem", "x86-64-v3": "haswell", "x86-64-v4": "skylake-avx512", "generic": "cortex-a55",
}

// mcaModel returns the processor by whose model a target is judged, and what it stands for, if it is another.
func mcaModel(t *target.Target) (model, standsFor string) {
	core := t.CPU
	if t.Tune != "" && t.Name == "host" && t.Arch == "x86-64" { // there a host's tune is its core by name
		core = t.Tune
	}
	model = core
	if t.Tune != "" {
		model = t.Tune
	}
	if near, ok := standIns[model]; ok {
		model = near
	}
	if model == core {
		return model, ""
	}
	if t.Name == "host" && core == t.CPU {
		core = "this host"
	}
	return model, core
}

// mcaReport is the part of llvm-mca's JSON that is read.
type mcaReport struct {
	CodeRegions []struct {
		Name                string
		InstructionInfoView struct {
			InstructionList []struct {
				RThroughput float64
				MayLoad     bool `json:"mayLoad"`
				MayStore    bool `json:"mayStore"`
			}
		}
		SummaryView struct{ TotalCycles float64 }
	}
}

// The iterations of the two simulations. What lies between them is steady state.
const (
	mcaShort = 100
	mcaLong  = 300
)

// runMCA fills in what llvm-mca says of the loops; own says that model is the processor's own.
func runMCA(ctx context.Context, loops []*LoopStats, t *target.Target, model string, own bool, opts StatsOptions) error {
	path := opts.MCA
	if path == "" {
		var err error
		if path, err = find("llvm-mca", installed); err != nil {
			return err
		}
	}
	folder, err := scratch.New(opts.TempDir, "mca")
	if err != nil {
		return err
	}
	defer folder.Close()
	var b strings.Builder
	for i, l := range loops { // of the two comments of AArch64 only this one is read
		fmt.Fprintf(&b, "# LLVM-MCA-BEGIN %d\n%s\n# LLVM-MCA-END\n", i, strings.Join(l.text, "\n"))
	}
	src := filepath.Join(folder.Path, "loops.s")
	if err := os.WriteFile(src, []byte(b.String()), 0o600); err != nil {
		return diag.Missing("stats", "llvm-mca", "loops not written: the temporary folder %s takes no more", folder.Path).By(err)
	}
	var reports [2]*mcaReport
	for i, n := range []int{mcaShort, mcaLong} {
		if reports[i], err = simulate(ctx, path, src, filepath.Join(folder.Path, "report.json"), n, len(loops), t, model); err != nil {
			return err
		}
	}
	for i, l := range loops {
		short, long := &reports[0].CodeRegions[i], &reports[1].CodeRegions[i]
		l.Cycles = (long.SummaryView.TotalCycles - short.SummaryView.TotalCycles) / (mcaLong - mcaShort)
		list := long.InstructionInfoView.InstructionList
		if len(list) != len(l.text) {
			return diag.Internal("stats", l.Label, "llvm-mca saw %d instructions of %d", len(list), len(l.text))
		}
		f, busy := &asmFunc{arch: t.Arch}, 0.0
		for j, in := range list {
			op, args, _ := strings.Cut(l.text[j], "\t")
			if f.isFMA(op) {
				busy += max(in.RThroughput, unitTime(t, own, args))
			}
			if isPrefetch(op) {
				continue
			}
			if in.MayLoad {
				l.Loads++
			}
			if in.MayStore {
				l.Stores++
			}
		}
		if l.Cycles = max(l.Cycles, busy); l.Cycles > 0 {
			l.FMAIssue = busy / l.Cycles
		}
	}
	return nil
}

// armQuad are operands of 128 bits.
var armQuad = regexp.MustCompile(`^v\d+\.(4s|2d|8h)\b`)

// unitTime returns for how long a multiply-add of a whole vector keeps the units of a processor busy at least, by its
// record. LLVM 19 starts two a cycle on a Cortex-A55, which pairs its two units for one; cycles are then at least what the
// multiply-adds take alone, a lower bound. Stand-ins are judged by themselves.
func unitTime(t *target.Target, own bool, args string) float64 {
	if !own || !armQuad.MatchString(args) {
		return 0
	}
	return 1 / t.FMAsPerCycle
}

// simulate runs n iterations of every loop.
func simulate(ctx context.Context, path, src, out string, n, loops int, t *target.Target, model string) (*mcaReport, error) {
	args := []string{"-mtriple=" + t.Triple, "-mcpu=" + model, fmt.Sprintf("-iterations=%d", n), "-json", "-o", out, src}
	if len(t.Features) > 0 {
		args = append(args, "-mattr=+"+strings.Join(t.Features, ",+"))
	}
	if stderr, err := run(ctx, path, args...); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, diag.ErrMissing) {
			return nil, err
		}
		return nil, diag.Unsupported("stats", model, "llvm-mca cannot judge this code: %s", firstLines(stderr, 4)).By(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, diag.Internal("stats", model, "report of llvm-mca not readable").By(err)
	}
	r := &mcaReport{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, diag.Internal("stats", model, "report of llvm-mca does not decode").By(err)
	}
	if len(r.CodeRegions) != loops {
		return nil, diag.Internal("stats", model, "llvm-mca reports %d loops of %d", len(r.CodeRegions), loops)
	}
	return r, nil
}
