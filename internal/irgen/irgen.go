// Package irgen makes random functions of the loop IR for tests: small, legal, quick to make, quick to interpret. They
// are built through package te, so that they look as what people write looks: stages that read each other pointwise,
// through windows with padding, transposed, strided, broadcast; reductions of all kinds; several consumers, several
// outputs, several types.
//
//	rapid.Check(t, func(t *rapid.T) {
//		f := irgen.Func(t, irgen.Options{})
//		…
//	})
//
//	for seed := range uint64(200_000) {
//		f := irgen.Make(irgen.Seed(seed), irgen.Options{Tuples: true})
//		args := irgen.Args(f, seed)
//		…
//	}
//
// # Exact results
//
// All arithmetic is exact on the arguments that Args makes: they are small integers, in floating-point types too, and
// the generator bounds each value and clamps it before a sum or product of it could need rounding. So a float sum has
// one result whatever its order, and a schedule that reorders or splits a reduction can be held to equal results.
// Integers wrap around, which no order changes either. The sign of a zero is the exception: compare numbers, not bits.
// With Rounded that is given up.
package irgen

import (
	"fmt"
	"math/rand/v2"

	"pgregory.net/rapid"

	"github.com/texel-ml/texel/schedule/te"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/interp"
)

// Draw is a source of decisions: IntN returns a number in [0, n). *rand.Rand of math/rand/v2 is one. Decision 0 is the
// simplest everywhere, so that a source which tends to 0, as rapid's does when it shrinks, makes small functions.
type Draw interface{ IntN(n int) int }

// Options of the generator. The zero value makes 2 to 5 stages of float32, float16, int32 and int8 with one result each.
type Options struct {
	// MinStages and MaxStages bound the number of stages. 0 is 2 and 5.
	MinStages, MaxStages int
	// Points bounds the instances of a block. 0 is 2,000.
	Points int
	// Types are the element types to choose from, floating-point and integer ones that are computed in; not bool.
	// nil is float32, float16, int32, int8.
	Types []tensor.DType
	// Tuples allows stages of several results: reductions of tuples, argmax and argmin among them, and ComputeMany.
	Tuples bool
	// Scans allows recurrences.
	Scans bool
	// Rounded allows divisions, roots and exponentials, whose sums depend on their order.
	Rounded bool
}

func (o Options) withDefaults() Options {
	if o.MinStages == 0 {
		o.MinStages = 2
	}
	if o.MaxStages == 0 {
		o.MaxStages = max(5, o.MinStages)
	}
	if o.Points == 0 {
		o.Points = 2000
	}
	if o.Types == nil {
		o.Types = []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int32, tensor.Int8}
	}
	return o
}

// Func makes a function of rapid's decisions, which rapid can shrink.
func Func(t *rapid.T, o Options) *tir.Func { return Make(Rapid(t), o) }

// Rapid returns rapid's decisions as a source.
func Rapid(t *rapid.T) Draw { return rapidDraw{t} }

type rapidDraw struct{ t *rapid.T }

func (d rapidDraw) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "n") }

// Seed returns the source of a seed, the same for the same seed.
func Seed(seed uint64) Draw { return rand.New(rand.NewPCG(seed, 0)) }

// Make makes a function of a source's decisions.
func Make(d Draw, o Options) *tir.Func {
	g := &generator{Draw: d, o: o.withDefaults(), read: map[*te.Tensor]bool{}}
	for range 1 + g.IntN(3) {
		g.input()
	}
	for n := g.o.MinStages + g.IntN(g.o.MaxStages-g.o.MinStages+1); n > 0; n-- {
		g.stage()
	}
	return g.function()
}

// Args makes arguments for the parameters of a function, the same for the same seed: integers from -3 to 3 in all types
// (0 to 3 in unsigned ones), those of bool 0 and 1. Those of the outputs are 77, or true: what stays so was not written.
func Args(f *tir.Func, seed uint64) []*tensor.Tensor {
	return interp.Draw{Seed: seed, Whole: true, Output: 77}.Tensors(f.Params, f.Outputs)
}

// largest is the magnitude of arguments.
const largest = 3

// generator is one run of Make.
type generator struct {
	Draw
	o      Options
	values []value // inputs and results so far
	inputs []*te.Tensor
	stages []*te.Tensor
	steps  []*te.Tensor // stages within the steps of scans
	read   map[*te.Tensor]bool
	names  int
}

// value is a tensor with a bound of the magnitude of its elements.
type value struct {
	*te.Tensor
	most float64
}

// one reports true once in n times, never when the source tends to 0.
func (g *generator) one(n int) bool { return g.IntN(n) == n-1 }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

// extent draws the extent of an axis: small ones, primes, powers of two and their neighbours.
func (g *generator) extent() int { return pick(g, 4, 1, 2, 3, 5, 7, 8, 9, 12, 13, 16, 17) }

func (g *generator) input() {
	rank := pick(g, 2, 1, 3, 2, 3, 4, 0)
	shape := make([]int, rank)
	left := max(1, g.o.Points/4)
	for n := range shape {
		shape[n] = min(g.extent(), left)
		left /= shape[n]
	}
	t := te.Placeholder(g.name("X"), pick(g, g.o.Types...), shape...)
	g.inputs = append(g.inputs, t)
	g.values = append(g.values, value{t, largest})
}

// function makes outputs of the results that nobody reads, and of some others.
func (g *generator) function() *tir.Func {
	var inputs, outputs []*te.Tensor
	for _, t := range g.inputs {
		if g.read[t] {
			inputs = append(inputs, t)
		}
	}
	for _, t := range g.stages {
		if !g.read[t] || g.one(8) {
			outputs = append(outputs, t)
		}
	}
	return te.Func("f", inputs, outputs, append(g.stages, g.steps...)...)
}
