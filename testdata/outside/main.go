// Command outside is a module of its own that adds to the compiler: an operator, a graph pass that puts it into a model, its
// definition, a rule that shapes its loops, and a schedule primitive for the rule. Nothing of Texel is changed.
//
//	go run . model.onnx
//
// compiles the model with and without the extension, holds the one with it against the float64 reference layer by layer, and
// compares what the two compute.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/lower"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/transform"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: outside model.onnx")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "%+v\n", err)
		os.Exit(1)
	}
}

// extension is what the module adds.
func extension() texel.Extension {
	return texel.Extension{
		Name:       "outside 1",
		Ops:        []*relay.Op{rectify},
		Lowerings:  map[string]lower.OpRule{"outside.rectify": lowerRectify},
		Schedules:  []lower.ScheduleRule{{Name: "outside-rectify", Takes: takes, Apply: shape}},
		Passes:     []texel.GraphPass{{Pass: transform.Pass{Name: "outside-rectify", Why: "rectifiers as half of x + |x|", Run: rewrite}, Before: "assign"}},
		Primitives: []schedule.Primitive{lanes},
	}
}

// rectify is the operator (x + |x|) / 2.
var rectify = &relay.Op{
	Name: "outside.rectify", Args: []string{"data"}, Class: relay.Elementwise, Lower: "outside.rectify", Doc: "(x + |x|) / 2.",
	Infer: func(s *relay.Site) (relay.Type, error) {
		t, err := s.Float(0)
		if err != nil {
			return nil, err
		}
		return s.Result(t.DType, t.Shape)
	},
	Eval: func(s *relay.EvalSite) (relay.Value, error) {
		x := s.Wide(0)
		y := tensor.NewWide(x.DType, x.Shape)
		for i, v := range x.F {
			y.F[i] = (v + max(v, -v)) / 2
		}
		return y, nil
	},
}

// rewrite is the pass: every nn.relu of floats becomes a rectify.
func rewrite(_ context.Context, m *relay.Module, o *transform.Options) (*relay.Module, error) {
	op := o.Ops.Lookup("outside.rectify")
	body, err := relay.Rewrite(m.Main().Body, func(_, e relay.Expr) (relay.Expr, error) {
		c, ok := e.(*relay.Call)
		if !ok || c.Op == nil || c.Op.Name != "nn.relu" || !relay.Tensor(c).DType.IsFloat() {
			return e, nil
		}
		return relay.NewCall(op, c.Args, nil, c.Pos())
	})
	if err != nil {
		return nil, err
	}
	f := m.Main()
	return m.WithMain(relay.NewFunction(f.Params, body, f.Primitive, f.Attrs, f.Pos())), nil
}

// lowerRectify is the definition of one element.
func lowerRectify(s *lower.Site) ([]lower.Operand, error) {
	return s.Result(func(i []tir.Expr) tir.Expr {
		x := s.In[0].At(i...)
		d := x.Type().DType
		return tir.Times(tir.Plus(x, tir.Abs.Of(x)), tir.Const(d, 0.5))
	})
}

// takes accepts functions that are a rectifier alone, on a processor.
func takes(d *lower.Definition, t *target.Target) bool {
	return t.Kind == target.CPU && d.Anchor == nil && len(d.Outputs) == 1 && len(d.Stages) == 1 &&
		strings.Contains(d.Stages[0].Buffer.Name, "rectify") && len(d.Stages[0].Shape()) > 0
}

// shape is the schedule rule: one loop, cut into vectors by the module's own primitive, the rest in parallel.
func shape(s *schedule.Schedule, d *lower.Definition, t *target.Target) {
	flat := s.Fuse(s.Loops(s.Block(d.Stages[0].Buffer.Name)).Slice()...)
	s.Parallel(s.Do("outside_lanes", flat, t.Lanes(32)).Loop(0))
}

// lanes is the primitive outside_lanes(loop, n): the loop is cut into vectors of n.
var lanes = schedule.Primitive{Name: "outside_lanes", Usage: "loop, lanes", Apply: func(c *schedule.Call) {
	n := c.Number(1)
	if n < 2 {
		c.Refuse("%d lanes are no vector", n)
		return
	}
	parts := c.S.Split(c.Loop(0), 0, n)
	c.S.Vectorize(parts[1])
	c.Give(parts)
}}

func run(ctx context.Context, model string) error {
	traces := map[string]string{}
	own := texel.Options{Extend: extension(), Verify: true, Dump: func(name string, text func() string) error {
		if strings.HasSuffix(name, ".trace") {
			traces[filepath.Base(name)] = text()
		}
		return nil
	}}
	dir, err := os.MkdirTemp("", "outside")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	got, err := compute(ctx, model, own, filepath.Join(dir, "own.texel"), true)
	if err != nil {
		return err
	}
	want, err := compute(ctx, model, texel.Options{}, filepath.Join(dir, "plain.texel"), false)
	if err != nil {
		return err
	}
	for name, x := range want {
		a, b := tensor.Widen(x).F, tensor.Widen(got[name]).F
		for i := range a {
			if d := a[i] - b[i]; max(d, -d) > 1e-4*max(1, a[i], -a[i]) {
				return fmt.Errorf("%s[%d] is %g, without the extension %g", name, i, b[i], a[i])
			}
		}
		fmt.Printf("%s: %d numbers agree\n", name, len(a))
	}
	for _, text := range traces {
		for _, line := range strings.Split(text, "\n") {
			if strings.Contains(line, "outside_lanes") {
				fmt.Println("step:", line)
			}
		}
	}
	return nil
}

// compute compiles a model and runs it on numbers that are drawn. Of the extension, it says what was taken, and checks each
// layer against the reference.
func compute(ctx context.Context, model string, o texel.Options, path string, say bool) (map[string]*tensor.Tensor, error) {
	c, err := texel.Compile(ctx, model, o)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if say {
		n := 0
		for e := range relay.PostOrder(c.Optimised().Main(), true) {
			if call, ok := e.(*relay.Call); ok && call.Op == rectify {
				n++
			}
		}
		fmt.Printf("operator: %d times\n", n)
		for _, note := range c.Notes() {
			if strings.Contains(note.String(), "outside-rectify") {
				fmt.Println("rule:", note)
			}
		}
		r, err := c.Check(ctx, texel.CheckOptions{Seed: 1})
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			return nil, err
		}
		fmt.Println("check: every layer is within its bound")
	}
	if err := c.WriteFile(path); err != nil {
		return nil, err
	}
	m, err := texel.Load(path, texel.LoadOptions{})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	r := rand.New(rand.NewPCG(1, 2))
	inputs := map[string]*tensor.Tensor{}
	for _, in := range m.Inputs() {
		w := tensor.NewWide(in.DType, in.Shape)
		for i := range w.F {
			w.F[i] = r.Float64()*2 - 1
		}
		inputs[in.Name] = w.Narrow()
	}
	return m.Run(ctx, inputs)
}
