// Package arch is the table of the architecture page as code: which folder may import which.
//
// Data only moves down, relay and tir never meet below lower, and the runtime links no compiler. The test of this
// package parses every source file of the module and fails on an import that the table does not have.
package arch

import (
	"slices"
	"strings"
)

// Module is the path of the module.
const Module = "github.com/texel-ml/texel"

// Room is one row: a folder and what its packages may import besides the standard library, tensor and diag.
type Room struct {
	Folder  string   // relative to the module, "." for the root; a trailing /... takes in what lies below
	Holds   string   // what is in it
	Imports []string // folders of ours, in the same form
	Modules []string // third-party modules
	Tests   []string // folders that only its tests import
}

// Common are the folders that every package may import.
var Common = []string{"tensor", "diag"}

// TestModules are the third-party modules that any test may import.
var TestModules = []string{"github.com/stretchr/testify", "github.com/google/go-cmp", "pgregory.net/rapid",
	"github.com/ebitengine/purego", "golang.org/x/sys"}

// TestImports are the folders of ours that any test may import.
var TestImports = []string{"internal/golden", "internal/numtest", "internal/npy", "internal/irgen", "internal/relaygen", "internal/browser"}

// Rooms is the table. The most specific folder that matches a package is its row.
var Rooms = []Room{
	{Folder: ".", Holds: "Compile, Load, options, results; composes the tables of all rooms",
		Imports: []string{"relay/...", "tir/...", "schedule/...", "lower/...", "codegen/...", "cost/...", "texture", "memplan",
			"artifact", "runtime/...", "target", "internal/numtest", "internal/scratch"},
		Modules: []string{"golang.org/x/sync"}, Tests: []string{"internal/..."}},
	{Folder: "cmd/texel", Holds: "the command",
		Imports: []string{".", "relay/...", "tir/...", "schedule/...", "lower/...", "codegen/...", "cost/...", "texture", "memplan",
			"artifact", "runtime/...", "target", "internal/..."},
		Modules: []string{"github.com/spf13/cobra", "github.com/vbauerster/mpb/v8", "golang.org/x/sys"}},
	{Folder: "lower/...", Holds: "relay operators as tir definitions, and the schedule rules of each class of targets",
		Imports: []string{"relay", "tir", "tir/arith", "schedule/...", "texture", "target", "cost", "lower/..."},
		Tests:   []string{"relay/eval", "relay/transform", "tir/...", "codegen/...", "artifact", "runtime/..."}},
	{Folder: "schedule/...", Holds: "tensor expressions, the schedule and its primitives, traces",
		Imports: []string{"tir", "tir/arith", "tir/proof", "tir/tirtext", "tir/verify", "texture", "target", "schedule/..."},
		Tests:   []string{"tir/..."}},
	{Folder: "schedule/study", Holds: "tools for people who study schedules: bisect, reduce, certify", Imports: []string{"tir/...", "schedule/..."},
		Tests: []string{"tir/..."}},
	{Folder: "codegen/llvm", Holds: "LLVM IR and the tools that make a shared object of it",
		Imports: []string{"tir", "tir/arith", "texture", "target", "artifact", "internal/scratch"},
		Modules: []string{"github.com/llir/llvm", "golang.org/x/exp", "golang.org/x/sync"},
		Tests:   []string{"tir/...", "schedule/...", "runtime/...", "relay/...", "lower/..."}},
	{Folder: "codegen/opencl", Holds: "OpenCL C",
		Imports: []string{"tir", "tir/arith", "texture", "target", "artifact"},
		Tests:   []string{"tir/...", "schedule/...", "runtime/..."}},
	{Folder: "cost/...", Holds: "what a kernel, a copy or a layout change costs", Imports: []string{"texture", "target"}},
	{Folder: "relay", Holds: "graph IR, op table, types, verifier, printer"},
	{Folder: "relay/eval", Holds: "the float64 evaluator", Imports: []string{"relay"}, Tests: []string{"relay/..."}},
	{Folder: "relay/batch", Holds: "shows that a model keeps the rows of its batch apart", Imports: []string{"relay", "relay/eval"}, Tests: []string{"relay/..."}},
	{Folder: "relay/params", Holds: "parameter files of Apache TVM"},
	{Folder: "relay/relaytext", Holds: "the reader of Relay text", Imports: []string{"relay", "relay/params", "relay/relaytext/grammar", "internal/npy"},
		Modules: []string{"github.com/antlr4-go/antlr/v4"}, Tests: []string{"relay/..."}},
	{Folder: "relay/relaytext/grammar", Holds: "the generated lexer and parser of Relay text", Modules: []string{"github.com/antlr4-go/antlr/v4"}},
	{Folder: "relay/importer/onnx", Holds: "ONNX models", Imports: []string{"relay", "relay/eval", "relay/importer/onnx/onnxpb"},
		Modules: []string{"google.golang.org/protobuf", "golang.org/x/sys"}, Tests: []string{"relay/..."}},
	{Folder: "relay/importer/onnx/onnxpb", Holds: "the generated messages of ONNX", Modules: []string{"google.golang.org/protobuf"}},
	{Folder: "relay/transform", Holds: "graph passes, in one list", Imports: []string{"relay", "relay/eval", "texture", "target", "cost", "internal/pbqp"},
		Modules: []string{"golang.org/x/exp"}, Tests: []string{"relay/..."}},
	{Folder: "tir", Holds: "loop IR, verifier, walk, rewriter"},
	{Folder: "tir/tirtext", Holds: "text form of the loop IR", Imports: []string{"tir"}, Tests: []string{"tir/..."}},
	{Folder: "tir/arith", Holds: "index algebra", Imports: []string{"tir"}, Tests: []string{"tir/..."}},
	{Folder: "tir/verify", Holds: "the verifier of functions, and of kernels behind each loop pass", Imports: []string{"tir", "tir/arith"}, Tests: []string{"tir/..."}},
	{Folder: "tir/interp", Holds: "the interpreter", Imports: []string{"tir", "tir/tirtext", "tir/arith"}, Tests: []string{"tir/..."}},
	{Folder: "tir/proof", Holds: "claims about whole numbers, and their checker", Imports: []string{"tir", "tir/tirtext"}},
	{Folder: "tir/transform", Holds: "loop passes, in one list", Imports: []string{"tir", "tir/arith", "tir/verify", "tir/tirtext", "texture", "target"}, Tests: []string{"tir/..."}},
	{Folder: "texture", Holds: "tensors as 2-D images", Imports: []string{"target"}},
	{Folder: "memplan", Holds: "which tensor lives where and when", Imports: []string{"artifact", "texture", "target"}},
	{Folder: "artifact", Holds: "the compiled module: plan, checker, file", Modules: []string{"golang.org/x/sys"}},
	{Folder: "runtime/...", Holds: "load, bind, run, profile", Imports: []string{"artifact", "target", "runtime/..."},
		Modules: []string{"github.com/ebitengine/purego", "golang.org/x/sys"},
		Tests:   []string{"codegen/...", "tir/...", "memplan"}},
	{Folder: "target", Holds: "target records as data, and this machine's", Modules: []string{"golang.org/x/sys"}},
	{Folder: "tensor", Holds: "element types, shapes, layouts, host arrays", Modules: []string{"golang.org/x/exp"}},
	{Folder: "diag", Holds: "positions, errors, notes"},
	{Folder: "internal/picture", Holds: "pictures as input tensors", Modules: []string{"golang.org/x/image"}},
	{Folder: "internal/irgen", Holds: "random functions of the loop IR, for tests", Imports: []string{"tir/...", "schedule/..."},
		Modules: []string{"pgregory.net/rapid"}},
	{Folder: "internal/pbqp", Holds: "partitioned boolean quadratic problems, solved"},
	{Folder: "internal/relaygen", Holds: "random graphs of relay, for tests and for bisection", Imports: []string{"relay"}, Tests: []string{"relay/..."}},
	{Folder: "internal/...", Holds: "what several rooms use and no user sees", Tests: []string{"relay/...", "tir/..."},
		Modules: []string{"github.com/stretchr/testify", "github.com/google/go-cmp", "golang.org/x/tools"}},
}

// RoomOf returns the row of a folder, or nil when the table has none.
func RoomOf(folder string) *Room {
	var best *Room
	for i := range Rooms {
		r := &Rooms[i]
		if matches(r.Folder, folder) && (best == nil || len(r.Folder) > len(best.Folder)) {
			best = r
		}
	}
	return best
}

// Allows reports whether a package in folder may import path; test says that the file is a test.
func Allows(folder, path string, test bool) bool {
	r := RoomOf(folder)
	if r == nil {
		return false
	}
	if ours, ok := inModule(path); ok {
		allowed := slices.Concat(Common, r.Imports)
		if test {
			allowed = slices.Concat(allowed, r.Tests, TestImports)
		}
		// The leaves import each other in one direction only: diag knows nothing, tensor nothing of ours.
		if (folder == "diag" || folder == "tensor") && !test {
			allowed = nil
		}
		return ours == folder || slices.ContainsFunc(allowed, func(f string) bool { return matches(f, ours) })
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return path != "C" // the standard library; nothing here uses cgo
	}
	allowed := r.Modules
	if test {
		allowed = slices.Concat(allowed, TestModules)
	}
	return slices.ContainsFunc(allowed, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") })
}

func inModule(path string) (folder string, ok bool) {
	if path == Module {
		return ".", true
	}
	return strings.CutPrefix(path, Module+"/")
}

func matches(pattern, folder string) bool {
	base, deep := strings.CutSuffix(pattern, "/...")
	return base == folder || deep && strings.HasPrefix(folder, base+"/")
}
