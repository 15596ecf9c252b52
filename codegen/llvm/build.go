// Package llvm compiles lowered kernels to one freestanding shared object for a processor, through LLVM 19.
//
// Lowered form: no blocks are left; loops are serial, vectorized ones turned into lanes (Ramp, Broadcast). A kernel is
// emitted as LLVM IR in SSA form, llc makes machine code of it, ld.lld one object. The object needs no library, has no
// relocations, no thread-local storage, and 16 KiB pages; it also holds the driver of a whole inference (pool.go).
//
// What the emitter takes care of, because no optimizer runs: local buffers with constant indices are values (locals.go),
// equal and invariant computations are shared and hoisted (emit.go), addresses are split by loop level (address.go),
// a·b + c is contracted, a Select touches memory on its chosen side only (emit_select.go), and mathematics is our own
// (math.go).
package llvm

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tir"
)

// Options say how to build. The zero value is right.
type Options struct {
	Workers int    // modules compiled at once; 0 is one a processor. The object does not depend on it
	KeepIR  bool   // return the LLVM IR
	KeepAsm bool   // return the assembly
	Tools   *Tools // nil is what Find finds
	TempDir string // where temporary files are kept; "" is the system's folder
}

// Object is what Build makes.
type Object struct {
	SO  []byte            // the shared object: kernels by their names, texel_run, texel_worker, texel_quit
	LL  map[string]string // module → LLVM IR, with KeepIR
	Asm map[string]string // module → assembly, with KeepAsm
	In  map[string]string // kernel → module
}

// Build compiles kernels in lowered form for t. Errors are typed: diag.ErrMissing without LLVM 19, diag.ErrUnsupported
// for what processors do not do here, diag.ErrInternal for a kernel that is not in lowered form or that LLVM refuses. It
// stops soon when ctx ends.
func Build(ctx context.Context, kernels []*tir.Kernel, t *target.Target, o Options) (*Object, error) {
	if err := checkTarget(t); err != nil {
		return nil, err
	}
	if err := checkNames(kernels); err != nil {
		return nil, err
	}
	tools := o.Tools
	if tools == nil {
		found, err := Find()
		if err != nil {
			return nil, err
		}
		tools = &found
	}
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	groups := partition(kernels)
	units := make([]*unit, len(groups)+1)
	emit, ectx := errgroup.WithContext(ctx)
	emit.SetLimit(workers)
	for i, g := range groups {
		emit.Go(func() error {
			u := &unit{name: unitName(i)}
			m := newModule(u.name, t)
			for _, k := range g {
				if ectx.Err() != nil {
					return ectx.Err()
				}
				if err := m.emitKernel(k); err != nil {
					return err
				}
				u.kernels = append(u.kernels, k.Name)
			}
			u.ll = m.String()
			units[i] = u
			return nil
		})
	}
	pool := newModule("pool", t)
	buildPool(pool.Module, t)
	units[len(groups)] = &unit{name: "pool", ll: pool.String()}
	if err := emit.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	tools.temp = o.TempDir
	so, err := tools.assemble(ctx, units, workers, o.KeepAsm)
	if err != nil {
		return nil, err
	}
	out := &Object{SO: so, In: map[string]string{}}
	if o.KeepIR {
		out.LL = map[string]string{}
	}
	if o.KeepAsm {
		out.Asm = map[string]string{}
	}
	for _, u := range units {
		for _, k := range u.kernels {
			out.In[k] = u.name
		}
		if o.KeepIR {
			out.LL[u.name] = u.ll
		}
		if o.KeepAsm {
			out.Asm[u.name] = u.asm
		}
	}
	return out, nil
}

func checkTarget(t *target.Target) error {
	switch {
	case t.Kind != target.CPU:
		return diag.Unsupported("llvm", t.Name, "target is a %s, wanted a cpu", t.Kind)
	case t.Arch != "x86-64" && t.Arch != "aarch64":
		return diag.Unsupported("llvm", t.Name, "architecture %q, wanted x86-64 or aarch64", t.Arch)
	case t.Arch == "x86-64" && !(t.Has("fma") && t.Has("avx2")):
		return diag.Unsupported("llvm", t.Name, "x86-64 without fma and avx2, wanted level x86-64-v3 or higher")
	}
	return nil
}
