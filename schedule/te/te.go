// Package te writes tensor expressions: each stage says, for one element of its output, how it is computed from
// earlier stages. Func turns a set of stages into a tir function with one block a stage, which a schedule then shapes.
//
// A matrix product C[i, j] = Σ_k A[i, k]·B[k, j] reads
//
//	a, b := te.Placeholder("A", tensor.Float32, m, k), te.Placeholder("B", tensor.Float32, k, n)
//	c := te.Sum("C", tensor.Float32, []int{m, n}, []int{k}, func(i, r []tir.Expr) tir.Expr {
//		return tir.Times(a.At(i[0], r[0]), b.At(r[0], i[1]))
//	})
//	f := te.Func("matmul", []*te.Tensor{a, b}, []*te.Tensor{c})
//
// Elements are tir expressions, and package tir has the short forms to write them. For readers of TVM's documentation:
//
//	te.placeholder                       Placeholder
//	te.compute                           Compute; ComputeMany where the function returns a tuple
//	te.reduce_axis, te.sum, max, min     Sum, Prod, Max, Min over a box of extents; Where for an axis with a condition
//	te.comm_reducer                      CommReducer, over one value or a tuple; ArgMax and ArgMin are two of them
//	te.scan                              Scan
//	te.extern                            Extern
//	te.create_prim_func                  Func, Build
//	a + b, a * b, a / b, a // n          tir.Plus, tir.Times, tir.Over, tir.Bin(tir.FloorDiv, a, n)
//	a < b, te.all, te.any                tir.Lt, tir.All, tir.Any
//	te.max(a, b), tir.if_then_else       tir.Maximum, tir.Sel
//	te.exp(x), te.power(x, y)            tir.Exp.Of(x), tir.Pow.Of(x, y)
//	x.astype(d), te.min_value(d)         tir.As(d, x), tir.Lowest(d)
//
// # Wrong definitions
//
// No function that makes a stage panics or returns an error: a wrong number of indices, operands of different types or
// a recurrence that reads the future are kept until the function is built. Build returns the first one as a
// diag.Invalid that names the stage; it is for definitions that are made of a user's input. Func panics with that
// error; it is for definitions that stand in Go source, where a wrong one is a bug. (A nil tensor or expression panics
// where it is used, as nil does in Go.)
package te

import (
	"fmt"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Tensor is a value of a stage: an input, or something computed from earlier stages.
type Tensor struct {
	Buffer *tir.Buffer
	def    *definition // nil for an input
	result int         // which of the definition's results this is
}

// definition says how the results of one stage are computed.
type definition struct {
	name    string // of the block; empty for that of the only result
	outs    []*Tensor
	iters   []tir.IterVar // spatial, then reduce
	spatial int           // how many of iters are spatial
	init    []tir.Expr    // of a reduction, one a result
	where   tir.Expr      // the instances of a reduction that take part; nil: all
	terms   []term        // what a reduction of several results folds in
	values  []tir.Expr    // the elements; in a reduction the accumulators, which are loads of outs, combined with the next ones
	extern  *extern
	scan    *scan
	err     error // the first thing that is wrong with it
}

// fail keeps the first thing that is wrong.
func (d *definition) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// String returns the stage's name for messages.
func (d *definition) String() string {
	if d.name != "" || len(d.outs) == 0 {
		return d.name
	}
	return d.outs[0].Buffer.Name
}

// Placeholder returns an input stage.
func Placeholder(name string, d tensor.DType, shape ...int) *Tensor {
	return &Tensor{Buffer: &tir.Buffer{Name: name, DType: d, Shape: shape, Scope: tir.Global}}
}

// At reads the element at the given indices, one an axis.
func (t *Tensor) At(indices ...tir.Expr) tir.Expr {
	return &tir.Load{Buffer: t.Buffer, Indices: indices}
}

// Shape returns the extents of t.
func (t *Tensor) Shape() []int { return t.Buffer.Shape }

// DType returns the element type of t.
func (t *Tensor) DType() tensor.DType { return t.Buffer.DType }

// IsInput reports whether t is a placeholder that nothing defines.
func (t *Tensor) IsInput() bool { return t.def == nil }

// ReduceAxes returns the number of reduce axes of t.
func (t *Tensor) ReduceAxes() int {
	if t.def == nil {
		return 0
	}
	return len(t.def.iters) - t.def.spatial
}

// Extents returns the extents of all axes, spatial and reduce.
func (t *Tensor) Extents() []int {
	if t.def == nil {
		return nil
	}
	list := make([]int, len(t.def.iters))
	for i, iv := range t.def.iters {
		list[i] = iv.Extent
	}
	return list
}

// IsCopy reports whether each element of t is one element of another stage.
func (t *Tensor) IsCopy() bool { return t.Source() != nil }

// Source returns the stage's buffer that a copy reads, nil for other stages.
func (t *Tensor) Source() *tir.Buffer {
	if t.def == nil || len(t.def.values) == 0 {
		return nil
	}
	if l, ok := t.def.values[t.result].(*tir.Load); ok && t.def.init == nil {
		return l.Buffer
	}
	return nil
}

// Compute returns the stage whose element at i is f(i).
func Compute(name string, d tensor.DType, shape []int, f func(i []tir.Expr) tir.Expr) *Tensor {
	def := define("", []string{name}, []tensor.DType{d}, shape)
	def.setValues(f(def.axes("i", shape, tir.Spatial)))
	return def.outs[0]
}

// ComputeMany returns the results of a stage that computes several values at each place: f(i) has one for each type of
// ds. They are named name_v0, name_v1 and so on, and their block name.
func ComputeMany(name string, ds []tensor.DType, shape []int, f func(i []tir.Expr) []tir.Expr) []*Tensor {
	def := define(name, resultNames(name, len(ds)), ds, shape)
	def.setValues(f(def.axes("i", shape, tir.Spatial))...)
	return def.outs
}

// resultNames are the names of the results of a stage with several.
func resultNames(name string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s_v%d", name, i)
	}
	return list
}

// define starts a stage with one result for each name.
func define(name string, results []string, ds []tensor.DType, shape []int) *definition {
	def := &definition{name: name}
	for i, d := range ds {
		t := Placeholder(results[i], d, shape...)
		t.def, t.result = def, i
		def.outs = append(def.outs, t)
	}
	if len(ds) == 0 {
		def.fail("it has no result")
	}
	return def
}

func (d *definition) axes(prefix string, extents []int, kind tir.IterKind) []tir.Expr {
	vars := make([]tir.Expr, len(extents))
	if kind == tir.Spatial {
		d.spatial = len(extents)
	}
	for n, e := range extents {
		v := tir.NewVar(fmt.Sprintf("%s%d", prefix, n))
		d.iters = append(d.iters, tir.IterVar{Var: v, Extent: e, Kind: kind})
		vars[n] = v
		if e < 0 {
			d.fail("axis %s has extent %d", v.Name, e)
		}
	}
	return vars
}

// vars returns the iteration variables, spatial and reduce.
func (d *definition) vars() (i, r []tir.Expr) {
	list := make([]tir.Expr, len(d.iters))
	for n, iv := range d.iters {
		list[n] = iv.Var
	}
	return list[:d.spatial], list[d.spatial:]
}

func (d *definition) setValues(values ...tir.Expr) {
	d.values = values
	if d.typed("element", values) && d.init != nil {
		d.typed("initial value", d.init)
	}
}

// typed checks that there is one expression of the right type for each result.
func (d *definition) typed(what string, list []tir.Expr) bool {
	if len(list) != len(d.outs) {
		d.fail("%d results need %d %ss, found %d", len(d.outs), len(d.outs), what, len(list))
		return false
	}
	for n, e := range list {
		want := d.outs[n].DType()
		switch {
		case e == nil:
			d.fail("the %s of %s is missing", what, d.outs[n].Buffer.Name)
		case e.Type() != tir.Type{DType: want, Lanes: 1}:
			d.fail("the %s of %s is %v, wanted %v", what, d.outs[n].Buffer.Name, e.Type().DType, want)
		}
	}
	return d.err == nil
}
