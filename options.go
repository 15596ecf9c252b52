package texel

import (
	"regexp"
	"strconv"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// Options of Compile. The zero value compiles for this machine's processor at full optimisation.
type Options struct {
	// Targets names the machines to compile for, best first, each RECORD or RECORD/API as package target has them. At
	// load the first that the machine can run is taken. Empty is "host".
	Targets []string

	// InputShapes gives whole shapes of inputs, by name; the known dimensions must agree with the model.
	InputShapes map[string][]int
	// Dims gives the extents of named dimensions, for example batch.
	Dims map[string]int
	// Values binds inputs to constants, for shapes, axes and other values that must be known at compile time. A bound
	// input is no input of the compiled model.
	Values map[string]*tensor.Tensor
	// MaxTrips bounds the rounds of a loop that collects values and whose number of rounds is known only when the model runs;
	// the collected values have room for as many. More are an error of the run. 0 is no bound, and refuses such a loop.
	MaxTrips int
	// FreezeDefaults makes constants of inputs that have a default value in the model.
	FreezeDefaults bool

	// OptLevel is how much the graph is optimised.
	OptLevel OptLevel
	// Precision is in which type values and weights of float32 are kept in memory. Float32 is the default; the others
	// need the highest level of optimisation.
	Precision Precision
	// KeepFloat32 names operators whose operands, result and weight stay in float32, by what it matches of their names in
	// the model. It goes with the precisions besides Float32 only; nil names none.
	KeepFloat32 *regexp.Regexp
	// FastMath also allows rewrites of the graph that round differently, or lose the sign of a zero, where they are faster;
	// each is a note. What they are is listed at relay/transform.FastMath.
	FastMath bool
	// KeepIR keeps the loop functions in the artifact, for inspection.
	KeepIR bool
	// Workers is how many kernels are compiled at once; 0 is one a processor.
	Workers int
	// TempDir is where the code generator's files are kept while it runs; "" is the system's folder.
	TempDir string

	// Extend adds rows to the tables of operators, passes and schedule rules.
	Extend Extension

	// Progress is called when a step begins and as it advances, from one goroutine at a time; nil reports nothing.
	Progress func(Progress)
	// Dump is called with the text of the program after each graph pass and for each lowered function; name is a file
	// name such as 07_fuse-ops.relay. Nil dumps nothing; an error ends the compilation.
	Dump func(name string, text func() string) error
	// Emit names forms of the generated code that Dump wants to see too: "llvm", "asm".
	Emit []string
	// Verify checks the graph after each pass, for tests.
	Verify bool
	// StopAfter stops behind the named graph pass; Compile then returns a Compiled without code. "" runs all.
	StopAfter string
}

// Progress is how far Compile is.
type Progress struct {
	Step  string // "import", "graph", "lower", "generate", "plan", "write"
	Done  int    // units of this step that are done
	Total int    // units of this step; 0 is not known
}

// OptLevel says which optional passes run. Every level gives the same answers within the documented bounds.
type OptLevel uint8

// The levels. DefaultOpt is Opt3.
const (
	DefaultOpt OptLevel = iota
	Opt0                // only what is needed to run: no fusion, no other layout
	Opt1                // constants folded, identities removed
	Opt2                // patterns recognised, operators fused
	Opt3                // layouts chosen, weights packed
)

// ParseOptLevel reads 0, 1, 2 or 3.
func ParseOptLevel(s string) (OptLevel, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 3 {
		return 0, diag.Invalid("options", "opt-level", "wanted 0, 1, 2 or 3, found %q", s)
	}
	return Opt0 + OptLevel(n), nil
}

// Number returns 0, 1, 2 or 3.
func (l OptLevel) Number() int {
	if l == DefaultOpt {
		return 3
	}
	return int(l - Opt0)
}
