package texel

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/batch"
	"github.com/texel-ml/texel/tensor"
)

// batches are the sizes at which a model is imported anew to show that it keeps the rows of its batch apart. The second finds what
// depends on the size in a way that two points do not show.
var batches = []int{2, 7}

// leaveOpen finds out whether the batch that the model m at path leaves open can stay so, and says so in a note. Nil is that it is
// bound to 1: the model has none, or mixes rows.
func (j *job) leaveOpen(ctx context.Context, path string, m *relay.Module) (*batch.Axes, error) {
	if m.Batch == "" {
		return nil, nil
	}
	var axes *batch.Axes
	var unbound []*relay.Var
	for _, n := range batches {
		found, inputs, err := apartAt(ctx, path, j.opts, m, n)
		if inputs != nil {
			unbound = inputs
		}
		if err == nil && axes != nil && !(maps.Equal(axes.Inputs, found.Inputs) && maps.Equal(axes.Outputs, found.Outputs)) {
			err = diag.Unsupported("batch", "main", "the batch is in other axes with %d rows than with %d", n, batches[0])
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			node, why := "main", err.Error()
			if e, ok := err.(*diag.Error); ok {
				node, why = cmp.Or(e.Pos.Node, e.Node), e.Message
			}
			j.notes.Add(diag.Default, "batch", node, "%s: the batch is bound to 1; compile with %s for 4 rows", why, giveBatch(m, unbound))
			return nil, nil
		}
		axes = found
	}
	j.notes.Add(diag.Default, "batch", batchName(m), "stays open: the model keeps its rows apart, so it is compiled for one and runs once for each; with %s it is for 4 rows only", giveBatch(m, unbound))
	return axes, nil
}

// batchName is what the batch of a model is called.
func batchName(m *relay.Module) string {
	if m.Batch == "?" {
		return "batch"
	}
	return m.Batch
}

// giveBatch is how one binds the batch of a model, which the unbound inputs have along axis 0.
func giveBatch(m *relay.Module, unbound []*relay.Var) string {
	if m.Batch != "?" {
		return "--dim " + m.Batch + "=4"
	}
	if len(unbound) == 0 && len(m.Main().Params) == 1 {
		unbound = m.Main().Params
	}
	var flags []string
	for _, p := range unbound {
		extents := []string{"4"}
		for _, n := range relay.Tensor(p).Shape[1:] {
			extents = append(extents, strconv.Itoa(n))
		}
		flags = append(flags, "--input-shape "+p.Name+"="+strings.Join(extents, ","))
	}
	return cmp.Or(strings.Join(flags, " "), "--input-shape NAME=4,…")
}

// apartAt compares m with the model at a batch of n, and returns the inputs of m that are bound to the batch.
func apartAt(ctx context.Context, path string, opts Options, m *relay.Module, n int) (axes *batch.Axes, unbound []*relay.Var, err error) {
	other, err := importModel(ctx, path, opts, n, nil)
	if err != nil {
		var e *diag.Error
		if errors.As(err, &e) {
			return nil, nil, diag.Unsupported("batch", e.Node, "the model of %d rows is refused, as %s", n, e.Message).At(e.Pos)
		}
		return nil, nil, err
	}
	defer other.Close()
	if params := other.Main().Params; len(params) == len(m.Main().Params) {
		for i, p := range m.Main().Params {
			if one, many := relay.Tensor(p).Shape, relay.Tensor(params[i]).Shape; len(one) > 0 && len(many) > 0 && one[0] != many[0] {
				unbound = append(unbound, p)
			}
		}
	}
	axes, err = batch.Apart(ctx, m, other, n)
	return axes, unbound, err
}

// open marks the ports of a plan that have the batch, named name.
func open(p *artifact.Plan, axes *batch.Axes, name string) {
	if axes == nil {
		return
	}
	mark := func(ports []artifact.Port, at map[string]int) {
		for i := range ports {
			if axis, ok := at[ports[i].Name]; ok {
				ports[i].Open = &artifact.OpenAxis{Axis: axis, Name: name}
			}
		}
	}
	mark(p.Inputs, axes.Inputs)
	mark(p.Outputs, axes.Outputs)
}

// rowOf returns row r of a tensor for a port, or the tensor itself where the port has no rows.
func rowOf(p *artifact.Port, t *tensor.Tensor, r int) *tensor.Tensor {
	n, ok := p.Rows(t.Shape)
	if !ok || n == 1 {
		return t
	}
	parts := p.Shape[:p.Open.Axis].Elems()
	piece := p.DType.Bytes(p.Shape.Elems()) / parts
	row := &tensor.Tensor{DType: p.DType, Shape: p.Shape}
	for i := range parts {
		row.Data = append(row.Data, t.Data[(i*n+r)*piece:(i*n+r+1)*piece]...)
	}
	return row
}

// rows returns how many rows a run on the given inputs has: what was asked for at load, or what the first open input has.
func (m *Model) rows(given map[string]*tensor.Tensor) int {
	if m.batch != 0 {
		return m.batch
	}
	for _, in := range m.module.Inputs() {
		t := given[in.Name]
		if t == nil && len(m.module.Inputs()) == 1 {
			t = given[""]
		}
		if t == nil {
			continue
		}
		if n, ok := in.Rows(t.Shape); ok && n > 0 {
			return n
		}
	}
	return 1
}
