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
package te

import (
	"fmt"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// Tensor is a stage: an input, or something computed from earlier stages.
type Tensor struct {
	Buffer  *tir.Buffer
	iters   []tir.IterVar // spatial, then reduce
	spatial int           // how many of iters are spatial
	init    tir.Expr      // of a reduction
	where   tir.Expr      // the instances of a reduction that take part; nil: all
	value   tir.Expr      // the element; in a reduction with the accumulator in acc's place
	opaque  *opaque
}

type opaque struct {
	outs []*Tensor
	ins  []*Tensor
	body tir.Stmt
	temp []*tir.Buffer
}

// Placeholder returns an input stage.
func Placeholder(name string, d tensor.DType, shape ...int) *Tensor {
	return &Tensor{Buffer: &tir.Buffer{Name: name, DType: d, Shape: shape, Scope: tir.Global}}
}

// At reads the element at the given indices.
func (t *Tensor) At(indices ...tir.Expr) tir.Expr {
	if len(indices) != len(t.Buffer.Shape) {
		panic(fmt.Sprintf("te: %s has %d axes, read with %d indices", t.Buffer.Name, len(t.Buffer.Shape), len(indices)))
	}
	return &tir.Load{Buffer: t.Buffer, Indices: indices}
}

// Shape returns the extents of t.
func (t *Tensor) Shape() []int { return t.Buffer.Shape }

// ReduceAxes returns the number of reduce axes of t.
func (t *Tensor) ReduceAxes() int { return len(t.iters) - t.spatial }

// Extents returns the extents of all axes, spatial and reduce.
func (t *Tensor) Extents() []int {
	list := make([]int, len(t.iters))
	for i, iv := range t.iters {
		list[i] = iv.Extent
	}
	return list
}

// IsCopy reports whether each element of t is one element of another stage.
func (t *Tensor) IsCopy() bool {
	_, ok := t.value.(*tir.Load)
	return ok
}

// Source returns the stage's buffer that a copy reads, nil for other stages.
func (t *Tensor) Source() *tir.Buffer {
	l, ok := t.value.(*tir.Load)
	if !ok {
		return nil
	}
	return l.Buffer
}

// IsOpaque reports whether t is written by a statement.
func (t *Tensor) IsOpaque() bool { return t.opaque != nil }

// OpaqueInputs returns the stages that an opaque stage reads, nil for others.
func (t *Tensor) OpaqueInputs() []*Tensor {
	if t.opaque == nil {
		return nil
	}
	return t.opaque.ins
}

// DType returns the element type of t.
func (t *Tensor) DType() tensor.DType { return t.Buffer.DType }

// IsInput reports whether t is a placeholder.
func (t *Tensor) IsInput() bool { return t.value == nil && t.opaque == nil }

// Compute returns the stage whose element at i is f(i).
func Compute(name string, d tensor.DType, shape []int, f func(i []tir.Expr) tir.Expr) *Tensor {
	t := Placeholder(name, d, shape...)
	spatial := t.axes("i", shape, tir.Spatial)
	t.value = f(spatial)
	return t
}

// Reduce returns the stage whose element at i starts as init and is folded by combine(accumulator, f(i, r)) over all
// r in the box of extents; combine must be associative and commutative.
func Reduce(name string, d tensor.DType, shape, extents []int, init tir.Expr, combine func(acc, x tir.Expr) tir.Expr,
	f func(i, r []tir.Expr) tir.Expr) *Tensor {
	t := Placeholder(name, d, shape...)
	spatial := t.axes("i", shape, tir.Spatial)
	reduce := t.axes("r", extents, tir.Reduce)
	t.init = init
	t.value = combine(&tir.Load{Buffer: t.Buffer, Indices: spatial}, f(spatial, reduce))
	return t
}

// Where limits the reduction t to the instances where cond(i, r) holds, and returns t. What the others would read need not
// exist.
func (t *Tensor) Where(cond func(i, r []tir.Expr) tir.Expr) *Tensor {
	vars := make([]tir.Expr, len(t.iters))
	for n, iv := range t.iters {
		vars[n] = iv.Var
	}
	t.where = cond(vars[:t.spatial], vars[t.spatial:])
	return t
}

// Sum is Reduce by addition.
func Sum(name string, d tensor.DType, shape, extents []int, f func(i, r []tir.Expr) tir.Expr) *Tensor {
	return Reduce(name, d, shape, extents, tir.Const(d, 0), tir.Plus, f)
}

// Opaque returns the outputs of a stage written as a statement: body gets the output buffers and reads only ins.
// Primitives move it whole. Temporaries live for one run of the body.
func Opaque(outs []*Tensor, ins []*Tensor, temp []*tir.Buffer, body tir.Stmt) {
	o := &opaque{outs: outs, ins: ins, body: body, temp: temp}
	for _, t := range outs {
		t.opaque = o
	}
}

func (t *Tensor) axes(prefix string, extents []int, kind tir.IterKind) []tir.Expr {
	vars := make([]tir.Expr, len(extents))
	if kind == tir.Spatial {
		t.spatial = len(extents)
	}
	for n, e := range extents {
		v := tir.NewVar(fmt.Sprintf("%s%d", prefix, n))
		t.iters = append(t.iters, tir.IterVar{Var: v, Extent: e, Kind: kind})
		vars[n] = v
	}
	return vars
}

// Func returns the function that computes outputs from inputs. Its parameters are the inputs in order, then the
// outputs; stages in between become buffers of the root block. Stages are ordered so that each comes after those it
// reads. Names are made unique by a suffix.
func Func(name string, inputs, outputs []*Tensor, stages ...*Tensor) *tir.Func {
	f := &tir.Func{Name: name, Outputs: len(outputs)}
	param := map[*tir.Buffer]bool{}
	used := map[string]int{}
	rename := func(b *tir.Buffer) {
		base := b.Name
		for used[b.Name] > 0 {
			b.Name = fmt.Sprintf("%s_%d", base, used[base])
			used[base]++
		}
		used[b.Name]++
	}
	for _, t := range append(append([]*Tensor{}, inputs...), outputs...) {
		f.Params = append(f.Params, t.Buffer)
		if !param[t.Buffer] {
			rename(t.Buffer)
		}
		param[t.Buffer] = true
	}
	root := &tir.Block{Name: "root"}
	var nests []tir.Stmt
	done := map[*opaque]bool{}
	for _, t := range order(outputs, stages) {
		if !param[t.Buffer] {
			rename(t.Buffer)
			root.Allocs = append(root.Allocs, t.Buffer)
		}
		switch {
		case t.opaque == nil:
			nests = append(nests, t.nest())
		case !done[t.opaque]:
			done[t.opaque] = true
			nests = append(nests, t.opaque.nest())
		}
	}
	root.Body = tir.Block1(nests...)
	f.Body = &tir.BlockRealize{Block: root}
	return f
}

// nest returns the loops and the block of a stage.
func (t *Tensor) nest() tir.Stmt {
	b := &tir.Block{Name: t.Buffer.Name, Iters: t.iters}
	var at, values []tir.Expr
	var loops []*tir.Var
	for _, iv := range t.iters {
		if iv.Kind == tir.Spatial {
			at = append(at, iv.Var)
		}
		loop := tir.NewVar(iv.Var.Name)
		loops = append(loops, loop)
		values = append(values, loop)
	}
	if t.init != nil {
		b.Init = &tir.Store{Buffer: t.Buffer, Indices: at, Value: t.init}
	}
	b.Body = &tir.Store{Buffer: t.Buffer, Indices: at, Value: t.value}
	if t.where != nil { // around the body alone: the initial value is there in any case
		b.Body = &tir.If{Cond: t.where, Then: b.Body}
	}
	b.Reads, b.Writes = tir.Accesses(b)
	var s tir.Stmt = &tir.BlockRealize{Values: values, Block: b}
	for n := len(loops) - 1; n >= 0; n-- {
		s = &tir.For{Var: loops[n], Min: tir.I(0), Extent: tir.I(t.iters[n].Extent), Body: s}
	}
	return s
}

func (o *opaque) nest() tir.Stmt {
	b := &tir.Block{Name: o.outs[0].Buffer.Name, Body: o.body, Allocs: o.temp, Opaque: true}
	for _, t := range o.ins {
		b.Reads = append(b.Reads, tir.Whole(t.Buffer))
	}
	for _, t := range o.outs {
		b.Writes = append(b.Writes, tir.Whole(t.Buffer))
	}
	return &tir.BlockRealize{Block: b}
}

// order returns the computed stages that outputs need, each after those it reads; known holds the stages by buffer.
func order(outputs, stages []*Tensor) []*Tensor {
	byBuffer := map[*tir.Buffer]*Tensor{}
	for _, t := range append(append([]*Tensor{}, stages...), outputs...) {
		byBuffer[t.Buffer] = t
	}
	var list []*Tensor
	state := map[*Tensor]bool{}
	var visit func(t *Tensor)
	visit = func(t *Tensor) {
		if t == nil || state[t] || t.IsInput() {
			return
		}
		state[t] = true
		if t.opaque != nil {
			for _, in := range t.opaque.ins {
				visit(in)
			}
			for _, out := range t.opaque.outs {
				state[out] = true
				list = append(list, out)
			}
			return
		}
		tir.Walk(t.value, func(n any) bool {
			if l, ok := n.(*tir.Load); ok && l.Buffer != t.Buffer {
				visit(byBuffer[l.Buffer])
			}
			return true
		})
		list = append(list, t)
	}
	for _, t := range outputs {
		visit(t)
	}
	return list
}
