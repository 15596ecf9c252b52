package onnx

import (
	"fmt"
	"strconv"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
	"github.com/texel-ml/texel/tensor"
)

// region is a function on its way: a branch, or the body of a loop. It reads its parameters only; a value of the graphs
// around it becomes one when it is used.
type region struct {
	n        *node
	open     bool         // it is a round that is unrolled: it reads what it likes
	captured []relay.Expr // values of the graphs around, each with a parameter
	params   []*relay.Var // of these
	of       map[relay.Expr]*relay.Var
	names    map[string]bool
}

func (n *node) region() *region {
	return &region{n: n, of: map[relay.Expr]*relay.Var{}, names: map[string]bool{}}
}

// variable makes a parameter with a name that no other one has.
func (r *region) variable(name string, t relay.Type) *relay.Var {
	unique := name
	for i := 2; r.names[unique] || unique == ""; i++ {
		unique = name + "_" + strconv.Itoa(i)
	}
	r.names[unique] = true
	return relay.NewVar(unique, t, r.n.pos)
}

// changing makes a parameter whose value is another one in every round of a loop.
func (r *region) changing(name string, t relay.Type) *relay.Var {
	v := r.variable(name, t)
	r.n.im.unknown[v] = fmt.Errorf("it depends on %q, which is not the same in every round", name)
	return v
}

// capture returns what stands in the region for a value of the graphs around: a constant for itself and for what is known
// and small, else a parameter.
func (r *region) capture(name string, e relay.Expr) relay.Expr {
	if _, ok := e.(*relay.Constant); ok || r.open {
		return e
	}
	if v := r.of[e]; v != nil {
		return v
	}
	im := r.n.im
	value, err := im.evaluate(e)
	if w, ok := value.(*tensor.Wide); ok && err == nil && len(w.F)+len(w.I) <= foldElems {
		return relay.NewConstant(w.Narrow(), "", e.Pos())
	}
	v := r.variable(name, e.Type())
	if err == nil {
		im.static[v] = value
	} else {
		im.unknown[v] = err
	}
	r.of[e] = v
	r.params, r.captured = append(r.params, v), append(r.captured, e)
	if l, ok := im.linear(e, linearDeep); ok {
		if where, known := im.within(l); known {
			im.ranges[v] = where
		}
	}
	if x, ok := im.extents[e]; ok {
		im.extents[v] = extent{x.axis, r.capture(name+".count", x.count)}
	}
	return v
}

// graph converts a subgraph whose inputs are the given values and returns its outputs.
func (r *region) graph(g *pb.GraphProto, inputs ...relay.Expr) []relay.Expr {
	sc := r.n.scope.inner()
	if !r.open {
		sc.capture = r.capture
	}
	return r.n.subgraphIn(sc, g, inputs)
}

// function returns the function that takes first and the captured values.
func (r *region) function(first []*relay.Var, body relay.Expr) *relay.Function {
	return relay.NewFunction(append(first, r.params...), body, false, nil, r.n.pos)
}

// attempt runs f. When it fails, what it counted and noted is taken back.
func (n *node) attempt(f func()) (err error) {
	nodes, notes := n.im.nodes, n.im.notes
	n.im.notes = &diag.Notes{}
	defer func() {
		tried := n.im.notes
		n.im.notes = notes
		if r := recover(); r != nil {
			failed, ok := r.(failure)
			if !ok {
				panic(r)
			}
			n.im.nodes, err = nodes, failed.err
			return
		}
		for _, note := range tried.List() {
			notes.Append(note)
		}
	}()
	f()
	return nil
}
