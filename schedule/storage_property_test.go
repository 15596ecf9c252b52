package schedule_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/schedule"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/transform"
	"github.com/texel-ml/texel/tir/verify"
)

// storageStep draws a step of a storage primitive, or of one that makes room for it, and takes it.
type storageStep struct {
	name string
	take func(d *storageDraw)
}

// storageDraw draws blocks, loops and numbers for a schedule.
type storageDraw struct {
	t *rapid.T
	s *schedule.Schedule
}

func (d *storageDraw) number(name string, from, to int) int {
	return rapid.IntRange(from, to).Draw(d.t, name)
}

// block is any block of the function's own scope.
func (d *storageDraw) block() schedule.Block {
	var names []string
	tir.Walk(d.s.Func().Root().Body, func(n any) bool {
		if r, ok := n.(*tir.BlockRealize); ok {
			names = append(names, r.Block.Name)
		}
		return true
	})
	return d.s.Block(rapid.SampledFrom(names).Draw(d.t, "block"))
}

// loop is any loop around a block that has one.
func (d *storageDraw) loop() schedule.Loop {
	for range 20 {
		if list := d.s.Loops(d.block()).Slice(); len(list) > 0 {
			return rapid.SampledFrom(list).Draw(d.t, "loop")
		}
	}
	return schedule.Loop{}
}

func (d *storageDraw) scope() tir.Scope {
	return rapid.SampledFrom([]tir.Scope{tir.Global, tir.Local, tir.Scratch, tir.Shared}).Draw(d.t, "scope")
}

func (d *storageDraw) side() schedule.Side {
	return rapid.SampledFrom([]schedule.Side{schedule.Read, schedule.Write}).Draw(d.t, "side")
}

// layout is a map of a few axes: one is cut, two are fused, all get another order.
func (d *storageDraw) layout() string {
	c := d.number("cut", 1, 7)
	return rapid.SampledFrom([]string{
		"i -> i", "i -> i + 1", fmt.Sprintf("i -> i // %d, i %%%% %d", c, c),
		"i, j -> j, i", "i, j -> i, j + 2", fmt.Sprintf("i, j -> j // %d, i, j %%%% %d", c, c), "i, j -> i * 50 + j", fmt.Sprintf("i, j -> i, (j + i) %%%% %d", 5*c),
		fmt.Sprintf("i, j -> i // %d, j // 3, i %%%% %d, j %%%% 3", c, c), "i, j -> i * 2 + j", fmt.Sprintf("i, j -> (i * 24 + j) // %d, (i * 24 + j) %%%% %d", c, c),
		fmt.Sprintf("i, j, k -> j, i, k // %d, k %%%% %d", c, c), "i, j, k -> i * 24 + j, k", "i, j, k -> k, i, j", fmt.Sprintf("i, j, k -> i // %d, k, i %%%% %d, j", c, c), "i, j, k -> k * 40 + i, j",
	}).Draw(d.t, "map")
}

var storageSteps = []storageStep{
	{"split", func(d *storageDraw) { d.s.Split(d.loop(), 0, d.number("factor", 2, 6)) }},
	{"compute_at", func(d *storageDraw) { d.s.ComputeAt(d.block(), d.loop()) }},
	{"reorder", func(d *storageDraw) {
		if l := d.s.Loops(d.block()).Slice(); len(l) > 1 {
			i := d.number("outer", 0, len(l)-2)
			d.s.Reorder(l[i+1], l[i])
		}
	}},
	{"fuse", func(d *storageDraw) {
		if l := d.s.Loops(d.block()).Slice(); len(l) > 1 {
			i := d.number("outer", 0, len(l)-2)
			d.s.Fuse(l[i], l[i+1])
		}
	}},
	{"parallel", func(d *storageDraw) { d.s.Parallel(d.loop()) }},
	{"vectorize", func(d *storageDraw) { d.s.Vectorize(d.loop()) }},
	{"decompose_reduction", func(d *storageDraw) { d.s.DecomposeReduction(d.block(), d.loop()) }},
	{"cache_read", func(d *storageDraw) { d.s.CacheRead(d.block(), d.number("operand", 0, 2), d.scope()) }},
	{"cache_read of several", func(d *storageDraw) {
		with := schedule.Caching{Consumers: []schedule.Block{d.block()}, Region: rapid.Bool().Draw(d.t, "region")}
		d.s.CacheReadWith(d.block(), d.number("operand", 0, 1), d.scope(), with)
	}},
	{"cache_write", func(d *storageDraw) { d.s.CacheWrite(d.block(), d.scope()) }},
	{"cache_write of several", func(d *storageDraw) {
		with := schedule.Caching{Consumers: []schedule.Block{d.block()}, Region: rapid.Bool().Draw(d.t, "region")}
		d.s.CacheWriteWith(d.block(), d.number("buffer", 0, 1), d.scope(), with)
	}},
	{"cache_inplace", func(d *storageDraw) { d.s.CacheInplace(d.block(), 0, d.scope()) }},
	{"read_at", func(d *storageDraw) { d.s.ReadAt(d.loop(), d.block(), d.number("operand", 0, 2), d.scope()) }},
	{"write_at", func(d *storageDraw) { d.s.WriteAt(d.loop(), d.block(), 0, d.scope()) }},
	{"reindex", func(d *storageDraw) { d.s.Reindex(d.block(), d.side(), d.number("buffer", 0, 1)) }},
	{"set_scope", func(d *storageDraw) { d.s.SetScope(d.block(), d.scope()) }},
	{"storage_align", func(d *storageDraw) {
		d.s.StorageAlign(d.block(), 0, d.number("axis", -3, 1), rapid.SampledFrom([]int{8, 32}).Draw(d.t, "factor"), d.number("offset", 0, 7))
	}},
	{"double_buffer", func(d *storageDraw) { d.s.DoubleBuffer(d.block()) }},
	{"rolling_buffer", func(d *storageDraw) { d.s.RollingBuffer(d.block(), 0) }},
	{"transform_layout", func(d *storageDraw) { d.s.TransformLayout(d.block(), d.side(), d.number("buffer", 0, 1), d.layout()) }},
	{"transform_layout with padding", func(d *storageDraw) {
		d.s.TransformLayout(d.block(), schedule.Write, 0, d.layout(), float64(d.number("pad", -1, 1)))
	}},
	{"transform_block_layout", func(d *storageDraw) { d.s.TransformBlockLayout(d.block(), d.layout()) }},
	{"annotate", func(d *storageDraw) { d.s.Annotate(d.block(), "note", d.number("note", 0, 9)) }},
}

// recipes are beginnings after which the rarer steps have something to do.
var recipes = map[string]string{
	"blur":    "b0 = get_block(\"Y\")\nl0, l1 = get_loops(b0)\nl2, l3 = split(l0, [4, 4])\nb1 = get_block(\"H\")\ncompute_at(b1, l3)\nset_scope(b1, \"scratch\")\n",
	"blur2":   "b0 = get_block(\"Y\")\nl0, l1 = get_loops(b0)\nb1 = get_block(\"H\")\ncompute_at(b1, l0)\nset_scope(b1, \"local\")\n",
	"product": "b0 = get_block(\"C\")\nl0, l1, l2 = get_loops(b0)\nl3, l4 = split(l2, [4, 8])\nreorder(l3, l0, l1, l4)\nb1 = read_at(l3, b0, 1, \"shared\")\n",
}

// TestStorageProperty applies random sequences of the storage primitives, with others in between, to the programs of
// testdata/programs. What is accepted must verify, compute what the program computes without races, replay to the same
// text, and compute the same after the loop passes of a CPU, unless those say that they do not support it.
func TestStorageProperty(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.tir")
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(path string) bool { // a program of which the claims say nothing, since they do not hold of it
		f := readTir(t, path)
		if nameOf(path) == "firstmax" {
			return true // which of equals it takes depends on the order of a reduction, which is any
		}
		return slices.ContainsFunc(schedule.Obligations(f, f, f), func(o *schedule.Obligation) bool { return o.Check() != nil })
	})
	require.Greater(t, len(files), 10)
	taken, lowered := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom(files).Draw(t, "program")
		program := readTir(t, path)
		s := schedule.New(program)
		if recipe := recipes[nameOf(path)]; recipe != "" && rapid.Bool().Draw(t, "recipe") {
			trace, err := schedule.ParseTrace("recipe", recipe)
			require.NoError(t, err)
			require.NoError(t, s.Replay(trace))
		}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			step := rapid.SampledFrom(storageSteps).Draw(t, "step")
			for range 5 { // what is drawn is often refused
				before := s.Func()
				if s.Attempt(func() { step.take(&storageDraw{t, s}) }) && s.Func() != before {
					taken[step.name]++
					break
				}
			}
		}
		require.NoError(t, s.Err())
		text := tirtext.Print(s.Func())
		t.Log(s.Trace().String(), text) // which rapid shows of a failure
		require.NoError(t, verify.Verify(s.Func()), text)
		sameResults(t, program, s.Func())
		trace, err := schedule.ParseTrace("again", s.Trace().String())
		require.NoError(t, err)
		again := schedule.New(program)
		require.NoError(t, again.Replay(trace), s.Trace().String())
		require.Equal(t, text, tirtext.Print(again.Func()))
		if _, _, err := transform.Lower(s.Func(), transform.Options{}); err != nil {
			var e *diag.Error // a buffer of one lane is refused as a race of the lanes
			require.True(t, errors.Is(err, diag.ErrUnsupported) || errors.As(err, &e) && e.Step == "vectorize", "%v\n%s", err, text)
			return
		}
		lowered++
		sameKernels(t, program, s.Func(), transform.CPU)
	})
	for _, step := range storageSteps {
		t.Logf("%s: %d", step.name, taken[step.name])
	}
	require.NotZero(t, lowered)
}

func nameOf(path string) string {
	base := filepath.Base(path)
	return base[:len(base)-len(filepath.Ext(base))]
}
