package llvm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"github.com/texel-ml/texel/target"
)

// The data layouts of LLVM 19, as clang-19 writes them.
const (
	layoutX86 = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
	layoutARM = "e-m:e-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32"
)

// module is an LLVM module under construction.
type module struct {
	*ir.Module
	t        *target.Target
	declared map[string]*ir.Func
	attrs    []ir.FuncAttribute
	hasTable bool // the digits of 4/π are in it
}

func newModule(name string, t *target.Target) *module {
	m := &module{Module: ir.NewModule(), t: t, declared: map[string]*ir.Func{}, attrs: funcAttrs(t)}
	m.SourceFilename = name
	m.TargetTriple = t.Triple
	m.DataLayout = layoutX86
	if t.Arch == "aarch64" {
		m.DataLayout = layoutARM
	}
	return m
}

// funcAttrs returns the attributes of every function for a target. The vector width is said twice: some x86 levels
// otherwise split 512-bit vectors in two.
func funcAttrs(t *target.Target) []ir.FuncAttribute {
	list := []ir.FuncAttribute{enum.FuncAttrNoUnwind, ir.AttrPair{Key: "target-cpu", Value: t.CPU}}
	if t.Tune != "" {
		list = append(list, ir.AttrPair{Key: "tune-cpu", Value: t.Tune})
	}
	features := t.Features
	if t.CPU == "cortex-a55" || t.Tune == "cortex-a55" {
		// A pair of 128-bit loads blocks its load unit for longer than two loads do, and no multiply-add fits between.
		features = append(slices.Clone(features), "slow-paired-128")
	}
	if len(features) > 0 {
		list = append(list, ir.AttrPair{Key: "target-features", Value: "+" + strings.Join(features, ",+")})
	}
	if t.Arch == "x86-64" {
		bits := fmt.Sprint(t.VectorBits)
		list = append(list, ir.AttrPair{Key: "prefer-vector-width", Value: bits}, ir.AttrPair{Key: "min-legal-vector-width", Value: bits})
	}
	return append(list, ir.AttrString("no-builtins"), ir.AttrPair{Key: "frame-pointer", Value: "none"})
}

// declare makes sure that a function of LLVM's own is declared.
func (m *module) declare(name string, ret types.Type, params ...tok) {
	if m.declared[name] != nil {
		return
	}
	list := make([]*ir.Param, len(params))
	for i, t := range params {
		list[i] = ir.NewParam("", t)
	}
	m.declared[name] = m.NewFunc(name, ret, list...)
}

// feature reports whether the processor has a feature, by LLVM's name.
func (m *module) feature(f string) bool { return m.t.Has(f) }

// nativeHalf reports whether the processor computes in float16.
func (m *module) nativeHalf() bool {
	if m.t.Arch == "aarch64" {
		return m.feature("fullfp16")
	}
	return m.feature("avx512fp16")
}
