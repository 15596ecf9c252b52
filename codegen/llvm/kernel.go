package llvm

import (
	"fmt"
	"runtime/debug"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// emitKernel adds a kernel to a module:
//
//	void k(void *const *bufs, const int64_t *scalars, void *scratch, int64_t begin, int64_t end)
//
// runs the body for begin ≤ Grid < end. bufs holds the addresses of the parameters in order, each aligned to its element;
// scratch is aligned to 64 bytes.
func (m *module) emitKernel(k *tir.Kernel) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fault:
			err = r.err
		default:
			stack := string(debug.Stack())
			e := diag.Internal("llvm", k.Name, "emitter failed: %v", r)
			e.Draw = func() string { return stack }
			err = e
		}
	}()
	params := []*ir.Param{ir.NewParam("bufs", ptr), ir.NewParam("scalars", ptr), ir.NewParam("scratch", ptr), ir.NewParam("begin", i64), ir.NewParam("end", i64)}
	for _, p := range params[:2] {
		p.Attrs = append(p.Attrs, enum.ParamAttrNoAlias, enum.ParamAttrReadOnly)
	}
	params[2].Attrs = append(params[2].Attrs, enum.ParamAttrNoAlias)
	f := m.NewFunc(k.Name, voidType, params...)
	f.FuncAttrs = m.attrs
	e := newEmitter(m, f)
	e.kernel = k
	if k.GridExtent < 0 || k.Grid == nil && k.GridExtent > 1 {
		e.fail("grid of %d steps without a variable", k.GridExtent)
	}
	if k.Grid != nil && k.Grid.DType != tensor.Int64 {
		e.fail("grid variable %s is %v, wanted int64", k.Grid.Name, k.Grid.DType)
	}
	e.plan = planKernel(k)
	e.slots = make([]*val, len(e.plan.types))
	for i, p := range params {
		e.arg[i] = e.wrap(p, p.Typ.(tok), 0)
	}
	e.bindParams()
	begin, end := e.arg[3], e.arg[4]
	// The runtime passes parts of [0, GridExtent).
	begin.lo, begin.hi, end.lo, end.hi = 0, int64(max(0, k.GridExtent-1)), 0, int64(k.GridExtent)
	body, exit := e.newBlock(), e.newBlock()
	e.condBr(e.op(i1, "icmp slt $0, %1", begin, end).Value, body, exit)
	e.at(body)
	if k.Grid == nil {
		e.stmt(k.Body)
	} else {
		e.repeat(&tir.For{Var: k.Grid, Body: k.Body}, begin, end)
	}
	e.br(exit)
	e.at(exit)
	e.b.Term = ir.NewRet(nil)
	// Alloca instructions went to the front of the entry block; everything else of it is as emitted.
	return nil
}

// checkNames refuses names that the linker or the driver cannot have.
func checkNames(kernels []*tir.Kernel) error {
	seen := map[string]bool{"texel_run": true, "texel_worker": true, "texel_quit": true, "memcpy": true, "memset": true}
	for _, k := range kernels {
		if k.Name == "" {
			return diag.Internal("llvm", "", "kernel without a name")
		}
		for _, c := range k.Name {
			if c != '_' && c != '.' && c != '$' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
				return diag.Internal("llvm", k.Name, "kernel name has character %q, wanted letters, digits, '_', '.' and '$'", c)
			}
		}
		if len(k.Name) > 5 && (k.Name[:5] == "llvm." || len(k.Name) > 6 && k.Name[:6] == "texel.") {
			return diag.Internal("llvm", k.Name, "kernel name begins with a reserved prefix")
		}
		if seen[k.Name] {
			return diag.Internal("llvm", k.Name, "kernel name is taken twice")
		}
		seen[k.Name] = true
	}
	return nil
}

// weight estimates how much code a kernel becomes, by its nodes.
func weight(k *tir.Kernel) int {
	n := 0
	tir.Walk(k.Body, func(any) bool { n++; return true })
	return n
}

// group is what goes into one module.
const group = 4000

// partition cuts the kernels in modules of about equal work. It depends on the kernels only, so that the object does not
// depend on how many processors compile it.
func partition(kernels []*tir.Kernel) [][]*tir.Kernel {
	var out [][]*tir.Kernel
	left := 0
	for _, k := range kernels {
		w := weight(k)
		if left < w || len(out) == 0 {
			out, left = append(out, nil), group
		}
		out[len(out)-1] = append(out[len(out)-1], k)
		left -= w
	}
	return out
}

func unitName(i int) string { return fmt.Sprintf("kernels%03d", i) }
