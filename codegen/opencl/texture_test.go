package opencl

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/numtest"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/texture"
	"github.com/texel-ml/texel/tir"
)

// through is a pair of kernels: the first copies x into an image, the second reads the image in every way that a lane
// can be named: whole texels, one lane by a constant, by a variable, several lanes, one lane many times.
func through(d tensor.DType, shape []int, f texture.Folding) ([]*tir.Kernel, *tir.Buffer, *tir.Buffer) {
	rank := len(shape)
	lanes := shape[rank-1]
	folding := tir.Folding(f)
	buffer := func(name string) *tir.Buffer {
		return &tir.Buffer{Name: name, DType: d, Shape: shape, Scope: tir.Global}
	}
	x := buffer("x")
	image := &tir.Buffer{Name: "image", DType: d, Shape: shape, Scope: tir.Texture, Folding: &folding}
	// nest runs body for each texel; at is the index of the texel without the lane
	nest := func(body func(at []tir.Expr) tir.Stmt) tir.Stmt {
		vars := make([]*tir.Var, rank-1)
		at := make([]tir.Expr, rank-1)
		for i := range vars {
			vars[i] = tir.NewVar("i")
			at[i] = vars[i]
		}
		s := body(at)
		for i := rank - 2; i >= 0; i-- {
			l := &tir.For{Var: vars[i], Min: tir.I(0), Extent: tir.I(shape[i]), Body: s}
			if i < 2 {
				l.Kind, l.Thread = tir.Bound, []string{"blockIdx.x", "threadIdx.x"}[i]
			}
			s = l
		}
		return s
	}
	with := func(at []tir.Expr, last tir.Expr) []tir.Expr { return append(append([]tir.Expr{}, at...), last) }
	var whole tir.Expr = tir.I(0)
	if lanes > 1 {
		whole = &tir.Ramp{Base: tir.I(0), Stride: tir.I(1), Lanes: lanes}
	}
	fill := &tir.Kernel{Name: fmt.Sprintf("fill_%v_%d", d, lanes), Params: []*tir.Buffer{x, image}, Outputs: 1, GridExtent: 1, Body: nest(func(at []tir.Expr) tir.Stmt {
		return &tir.Store{Buffer: image, Indices: with(at, whole), Value: &tir.Load{Buffer: x, Indices: with(at, whole)}}
	})}
	read := &tir.Kernel{Name: fmt.Sprintf("read_%v_%d", d, lanes), Params: []*tir.Buffer{image}, GridExtent: 1}
	out := func(name string) *tir.Buffer {
		b := buffer(name)
		read.Params, read.Outputs = append(read.Params, b), read.Outputs+1
		return b
	}
	texels, backwards, single := out("texels"), out("backwards"), out("single")
	lane := tir.NewVar("l")
	read.Body = nest(func(at []tir.Expr) tir.Stmt {
		texel := func(last tir.Expr) tir.Expr { return &tir.Load{Buffer: image, Indices: with(at, last)} }
		list := []tir.Stmt{
			&tir.Store{Buffer: texels, Indices: with(at, whole), Value: texel(whole)},
			&tir.For{Var: lane, Min: tir.I(0), Extent: tir.I(lanes), Body: &tir.Store{Buffer: backwards, Indices: with(at, lane),
				Value: texel(tir.Minus(tir.I(lanes-1), lane))}},
		}
		if lanes == 1 {
			list = append(list, &tir.Store{Buffer: single, Indices: with(at, tir.I(0)), Value: texel(tir.I(0))})
			return &tir.Seq{Stmts: list}
		}
		half := lanes / 2
		list = append(list,
			&tir.Store{Buffer: single, Indices: with(at, &tir.Ramp{Base: tir.I(0), Stride: tir.I(1), Lanes: half}),
				Value: texel(&tir.Ramp{Base: tir.I(1), Stride: tir.I(2), Lanes: half})},
			&tir.Store{Buffer: single, Indices: with(at, &tir.Ramp{Base: tir.I(half), Stride: tir.I(1), Lanes: half}),
				Value: texel(&tir.Broadcast{A: tir.I(lanes - 1), Lanes: half})},
			&tir.Store{Buffer: single, Indices: with(at, tir.I(lanes-1)), Value: texel(tir.I(1))})
		return &tir.Seq{Stmts: list}
	})
	return []*tir.Kernel{fill, read}, image, x
}

func TestTextures(t *testing.T) {
	row := func(rank int) texture.Folding {
		f, err := texture.Alias(texture.RowAlias, rank)
		require.NoError(t, err)
		return f
	}
	layered := texture.Folding{Width: []int{2}, Height: []int{0}, Layers: []int{1}}
	for _, c := range []struct {
		d     tensor.DType
		shape []int
		f     texture.Folding
	}{
		{tensor.Float32, []int{3, 5, 7, 4}, row(4)},
		{tensor.Float32, []int{3, 5, 7, 4}, layered},
		{tensor.Float32, []int{3, 5, 7, 4}, texture.Folding{Width: []int{2, 0}, Height: []int{1}}},
		{tensor.Float32, []int{3, 5, 1}, row(3)},
		{tensor.Float16, []int{3, 5, 4}, row(3)},
		{tensor.Float16, []int{3, 5, 8}, row(3)},
		{tensor.Int8, []int{3, 5, 4}, row(3)},
		{tensor.Int8, []int{3, 5, 8}, row(3)},
		{tensor.Int8, []int{3, 5, 16}, row(3)},
		{tensor.Uint8, []int{3, 5, 16}, row(3)},
		{tensor.Uint16, []int{3, 5, 8}, layeredOf(3)},
		{tensor.Int16, []int{3, 5, 1}, row(3)},
		{tensor.Int32, []int{3, 5, 4}, row(3)},
		{tensor.Uint32, []int{3, 5, 4}, row(3)},
		{tensor.Bool, []int{3, 5, 4}, row(3)},
		{tensor.Bool, []int{3, 5, 1}, row(3)},
	} {
		t.Run(fmt.Sprint(c.d, c.shape, c.f), func(t *testing.T) {
			kernels, image, x := through(c.d, c.shape, c.f)
			agree(t, kernels, []*tir.Buffer{image}, map[*tir.Buffer]*tensor.Tensor{x: ramp(c.d, c.shape...)}, numtest.Tolerance{})
		})
	}
}

// layeredOf folds the first axis into layers.
func layeredOf(rank int) texture.Folding {
	f := texture.Folding{Layers: []int{0}}
	for i := 1; i < rank-1; i++ {
		f.Width = append(f.Width, i)
	}
	return f
}
