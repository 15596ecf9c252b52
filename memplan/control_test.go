package memplan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/tensor"
)

// controlled makes plans with branches and loops in each other.
type controlled struct {
	*graph
	rng   *rand.Rand
	count int
}

// fresh adds a tensor with a name of its own.
func (c *controlled) fresh(name string, bytes int64) string {
	c.count++
	name = fmt.Sprint(name, c.count)
	c.tensor(name, bytes)
	return name
}

// write adds a launch that writes a tensor and reads some of those that may be read, and in place of one of them.
func (c *controlled) write(name string, readable []string) {
	l := c.launch(name, "x")
	for range c.rng.IntN(3) {
		r := readable[c.rng.IntN(len(readable))]
		if r == name {
			continue
		}
		l.Reads, l.Buffers = append(l.Reads, r), append(l.Buffers, r)
		if c.rng.IntN(2) == 0 {
			l.InPlace = append(l.InPlace, artifact.InPlace{Write: name, Read: r})
		}
	}
}

// region adds some launches as a region.
func (c *controlled) region(kind string, readable []string, depth int, then func(readable []string)) string {
	outer := c.plan.Launches
	c.plan.Launches = nil
	readable = c.launches(append([]string{}, readable...), depth+1)
	then(readable)
	c.count++
	name := fmt.Sprint(kind, c.count)
	c.plan.Regions = append(c.plan.Regions, artifact.Region{Name: name, Launches: c.plan.Launches})
	c.plan.Launches = outer
	return name
}

// launches adds launches, and returns what may be read behind them.
func (c *controlled) launches(readable []string, depth int) []string {
	scalar := func(d tensor.DType) string {
		c.count++
		t := artifact.Tensor{Name: fmt.Sprint("s", c.count), DType: d, Shape: tensor.Shape{}, Bytes: int64(d.Bytes(1)), Pool: "arena"}
		c.plan.Tensors = append(c.plan.Tensors, t)
		c.launch(t.Name, "x")
		return t.Name
	}
	for range 1 + c.rng.IntN(4) {
		size := 64 * (1 + c.rng.Int64N(8))
		kind := c.rng.IntN(4)
		if depth == 3 {
			kind = 0
		}
		result := c.fresh("t", size)
		switch kind {
		case 2: // both sides write the result
			cond := scalar(tensor.Bool)
			k := &artifact.Control{Kind: artifact.If, Cond: cond}
			for _, side := range []*string{&k.Body, &k.Else} {
				*side = c.region("side", readable, depth, func(r []string) { c.write(result, r) })
			}
			c.plan.Launches = append(c.plan.Launches, artifact.Launch{Kind: artifact.ControlLaunch, Name: "if " + result, Reads: []string{cond}, Control: k})
		case 3: // the result is handed on from turn to turn
			c.write(result, readable)
			cond, trip := scalar(tensor.Bool), scalar(tensor.Int64)
			c.count++
			turn := artifact.Tensor{Name: fmt.Sprint("turn", c.count), DType: tensor.Int64, Shape: tensor.Shape{}, Bytes: 8, Pool: "arena"}
			c.plan.Tensors = append(c.plan.Tensors, turn)
			k := &artifact.Control{Kind: artifact.Loop, Cond: cond, Trip: trip, Iter: turn.Name}
			k.Body = c.region("body", append(append([]string{}, readable...), result, turn.Name), depth, func(r []string) {
				c.launch(cond, result)
				if c.rng.IntN(2) == 0 {
					c.write(result, r)
					return
				}
				next := c.fresh("next", size)
				c.write(next, r)
				c.plan.Launches = append(c.plan.Launches, artifact.Launch{Kind: artifact.CopyLaunch, Name: "carry " + result, Reads: []string{next}, Writes: []string{result}})
			})
			c.plan.Launches = append(c.plan.Launches, artifact.Launch{Kind: artifact.ControlLaunch, Name: "loop " + result, Reads: []string{cond, trip}, Writes: []string{turn.Name}, Control: k})
		default:
			c.write(result, readable)
		}
		readable = append(readable, result)
	}
	return readable
}

// TestRandomControlPassesTheChecker plans memory over branches and loops: what a turn reads of the one before, or of before
// the loop, lives to its end.
func TestRandomControlPassesTheChecker(t *testing.T) {
	loops, inPlace := 0, 0
	for seed := range uint64(400) {
		c := &controlled{graph: newGraph(8), rng: rand.New(rand.NewPCG(seed, 5))}
		readable := c.launches([]string{"x"}, 0)
		c.launch("y", readable[len(readable)-1])
		require.NoError(t, Assign(c.plan, Options{SearchWork: 20_000}), seed)
		require.NoError(t, c.plan.Check(), "seed %d", seed)
		steps, err := c.plan.Steps()
		require.NoError(t, err)
		for _, s := range steps {
			inPlace += len(s.Launch.InPlace)
			if s.Launch.Control != nil && s.Launch.Control.Kind == artifact.Loop {
				loops++
			}
		}
		require.LessOrEqual(t, c.plan.Memory.LowerBound, c.plan.Memory.Planned, seed)
		require.LessOrEqual(t, c.plan.Memory.Planned, c.plan.Memory.Naive, seed)
	}
	require.Greater(t, loops, 200)
	require.Greater(t, inPlace, 200)
}
