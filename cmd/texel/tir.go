package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	looppasses "github.com/texel-ml/texel/tir/transform"
)

// loops is what a .tir file holds: a function in block form, or the program that loop passes made of one.
type loops struct {
	path    string
	text    string
	fn      *tir.Func    // nil for a program
	program *tir.Program // nil for a function
	kernel  bool         // the program was written as its only kernel
}

// maxText bounds a .tir file or a trace.
const maxText = 64 << 20

// readText reads a file of text as a whole.
func readText(what, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", diag.Invalid("read", path, "cannot read the %s", what).By(err)
	}
	if !info.Mode().IsRegular() {
		return "", diag.Invalid("read", path, "is not a regular file")
	}
	if info.Size() > maxText {
		return "", diag.Invalid("read", path, "has %d bytes, wanted a %s of at most %d", info.Size(), what, maxText)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", diag.Invalid("read", path, "cannot read the %s", what).By(err)
	}
	return string(text), nil
}

// readLoops reads a .tir file.
func readLoops(path string) (*loops, error) {
	if !strings.EqualFold(filepath.Ext(path), ".tir") {
		return nil, diag.Invalid("read", path, "wanted a .tir file, found %q", filepath.Base(path))
	}
	text, err := readText(".tir file", path)
	if err != nil {
		return nil, err
	}
	return parseLoops(path, text)
}

// parseLoops reads the text of a .tir file: a function, a program or a kernel, by its first word.
func parseLoops(path, text string) (*loops, error) {
	p := &loops{path: path, text: text}
	var err error
	switch firstWord(text) {
	case "program":
		p.program, err = looppasses.ReadDump(path, text)
	case "kernel":
		var k *tir.Kernel
		if k, err = tirtext.ParseKernel(path, text); err == nil {
			p.program, p.kernel = texel.KernelProgram(k), true
		}
	default:
		p.fn, err = tirtext.Parse(path, text)
	}
	return p, err
}

// firstWord returns the first word of a text behind its comments.
func firstWord(text string) string {
	for l := range strings.Lines(text) {
		if code, _ := cutComment(l); strings.TrimSpace(code) != "" {
			word, _, _ := strings.Cut(strings.TrimSpace(code), " ")
			return word
		}
	}
	return ""
}

// name is that of the function or program.
func (p *loops) name() string {
	if p.fn != nil {
		return p.fn.Name
	}
	return p.program.Name
}

// print returns the canonical text, without comments.
func (p *loops) print() string {
	switch {
	case p.fn != nil:
		return tirtext.Print(p.fn)
	case p.kernel:
		return tirtext.PrintKernel(p.program.Kernels[0])
	}
	return tirtext.PrintProgram(p.program)
}

// placed returns the error with the place of the block, loop or function that it names, where it has none and the text
// says which one is meant.
func (p *loops) placed(err error) error {
	e, ok := err.(*diag.Error)
	if !ok || e.Pos != (diag.Pos{}) {
		return err
	}
	return e.At(tirtext.Place(p.path, p.text, e.Node))
}

// params returns the parameters, inputs and then outputs.
func (p *loops) params() (params []*tir.Buffer, outputs int) {
	if p.fn != nil {
		return p.fn.Params, p.fn.Outputs
	}
	return p.program.Params, p.program.Outputs
}

// bodies returns the statements of all kernels, or of the function.
func (p *loops) bodies() []tir.Stmt {
	if p.fn != nil {
		return []tir.Stmt{p.fn.Body}
	}
	list := make([]tir.Stmt, len(p.program.Kernels))
	for i, k := range p.program.Kernels {
		list[i] = k.Body
	}
	return list
}

// scalars returns the scalar arguments.
func (p *loops) scalars() []*tir.Var {
	if p.fn != nil {
		return p.fn.Scalars
	}
	return p.program.Scalars
}

// argFlags are the flags that give a function its arguments.
type argFlags struct {
	inputs  []string
	scalars []string
	seed    uint64
}

// arguments returns the tensors of the parameters in order, as the flags give them; drawn are the names of the inputs
// that were drawn.
func (f *argFlags) arguments(p *loops) (args []*tensor.Tensor, scalars map[string]int64, drawn []string, err error) {
	arrays, pictures, err := readInputs(f.inputs)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(pictures) > 0 {
		return nil, nil, nil, usage("--input wants name=x.npy or IN.npz here")
	}
	params, outputs := p.params()
	inputs := params[:len(params)-outputs]
	var names []string
	for _, b := range inputs {
		names = append(names, b.Name)
	}
	if t := arrays[""]; t != nil && len(inputs) == 1 {
		delete(arrays, "")
		arrays[names[0]] = t
	}
	if args, err = texel.RandomTensors(f.seed, params, outputs, p.bodies()...); err != nil {
		return nil, nil, nil, err
	}
	for i, b := range inputs {
		t := arrays[b.Name]
		if t == nil {
			drawn = append(drawn, b.Name)
			continue
		}
		delete(arrays, b.Name)
		if t.DType != b.DType || !t.Shape.Equal(b.Shape) {
			return nil, nil, nil, diag.Invalid("arguments", b.Name, "wanted %v of shape %v, found %v of shape %v", b.DType, tensor.Shape(b.Shape), t.DType, t.Shape)
		}
		args[i] = t
	}
	for name := range arrays {
		return nil, nil, nil, diag.Invalid("arguments", name, "no input has this name; the inputs are %s", strings.Join(names, ", "))
	}
	scalars, err = f.scalarValues(p)
	return args, scalars, drawn, err
}

// scalarValues reads --scalar.
func (f *argFlags) scalarValues(p *loops) (map[string]int64, error) {
	values := map[string]int64{}
	for _, s := range f.scalars {
		name, text, _ := strings.Cut(s, "=")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || name == "" {
			return nil, usage("--scalar wants name=number, found %q", s)
		}
		values[name] = n
	}
	known := map[string]bool{}
	for _, v := range p.scalars() {
		known[v.Name] = true
		if _, ok := values[v.Name]; !ok {
			return nil, diag.Invalid("arguments", v.Name, "the scalar argument has no value; give it with --scalar %s=NUMBER", v.Name)
		}
	}
	for name := range values {
		if !known[name] {
			return nil, diag.Invalid("arguments", name, "no scalar argument has this name")
		}
	}
	return values, nil
}

// ports describes parameters for the functions that print and write results.
func ports(params []*tir.Buffer) []artifact.Port {
	list := make([]artifact.Port, len(params))
	for i, b := range params {
		list[i] = artifact.Port{Name: b.Name, DType: b.DType, Shape: b.Shape}
	}
	return list
}

// writeText writes a text as a whole or not at all.
func writeText(path, text string) error {
	return writeFile(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// writeBelow writes a text into a folder that is made when it is not there.
func writeBelow(dir, name, text string) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return diag.Invalid("write", path, "cannot be written").By(err)
	}
	return writeText(path, text)
}
