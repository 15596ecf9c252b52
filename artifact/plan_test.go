package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

var sampleWeight = []byte("0123456789abcdef")

// sample is a valid plan with something of everything: a weight, a concat and a split as views, an in-place pair, an
// if, a loop, a copy and an extent.
//
//	0 k1: x, w → a        4 (then) k2: b → r       8 (body) k2: acc → next
//	1 k1: x → b           5 (else) copy b → r      9 (body) copy next → acc
//	2 k1: h → c           6 k2: r → acc           10 k1: acc, cat → y, n
//	3 if go               7 loop
func sample(t testing.TB) *Plan {
	p := &Plan{
		Format: PlanFormat, Function: "main", Target: "test",
		Inputs:  []Port{{Name: "x", DType: tensor.Float32, Shape: tensor.Shape{4}, Tensor: "x"}},
		Outputs: []Port{{Name: "y", DType: tensor.Float32, Shape: tensor.Shape{4}, Tensor: "y", Extent: []Extent{{Axis: 0, Tensor: "n"}}}},
		Pools:   []Pool{{Name: "io", Kind: External}, {Name: "arena", Kind: Arena, Bytes: 576}, {Name: "weights", Kind: WeightPool}},
		Weights: []Weight{{Tensor: "w", Digest: digestOf(sampleWeight), Bytes: 16}},
		Kernels: []Kernel{{Name: "k1"}, {Name: "k2", Scratch: 128}},
		Notes:   []diag.Note{{Kind: diag.Default, Step: "test", Text: "a <note>"}},
	}
	add := func(pool, name string, d tensor.DType, offset int64, shape ...int) *Tensor {
		s := tensor.Shape(shape)
		p.Tensors = append(p.Tensors, Tensor{Name: name, DType: d, Shape: s, Pool: pool, Offset: offset, Bytes: int64(d.Bytes(s.Elems()))})
		return &p.Tensors[len(p.Tensors)-1]
	}
	view := func(name, of string, at, offset int64, shape ...int) {
		v := add("arena", name, tensor.Float32, offset, shape...)
		v.AliasOf, v.AliasOffset = of, at
	}
	add("io", "x", tensor.Float32, 0, 4)
	add("io", "y", tensor.Float32, 0, 4)
	add("weights", "w", tensor.Float32, 0, 4)
	add("arena", "cat", tensor.Float32, 0, 8)
	view("a", "cat", 0, 0, 4)
	view("b", "cat", 16, 16, 4)
	view("h", "cat", 8, 8, 4)
	add("arena", "c", tensor.Float32, 64, 4)
	add("arena", "go", tensor.Bool, 128)
	add("arena", "r", tensor.Float32, 192, 4)
	add("arena", "acc", tensor.Float32, 192, 4) // in place of r
	add("arena", "next", tensor.Float32, 256, 4)
	add("arena", "trip", tensor.Int64, 320)
	add("arena", "turn", tensor.Int64, 384)
	add("arena", "n", tensor.Int64, 448)
	kernel := func(name, k string, writes, reads []string) Launch {
		return Launch{Kind: KernelLaunch, Name: name, Kernel: k, Grid: []int64{4}, Chunk: 1, Reads: reads, Writes: writes, Buffers: append(append([]string{}, writes...), reads...)}
	}
	p.Launches = []Launch{
		kernel("a", "k1", []string{"a"}, []string{"x", "w"}),
		kernel("b", "k1", []string{"b", "trip"}, []string{"x"}),
		kernel("c", "k1", []string{"c", "go"}, []string{"h"}),
		{Kind: ControlLaunch, Name: "if", Reads: []string{"go"}, Control: &Control{Kind: If, Cond: "go", Body: "then", Else: "else"}},
		kernel("acc", "k2", []string{"acc"}, []string{"r"}),
		{Kind: ControlLaunch, Name: "loop", Reads: []string{"trip"}, Writes: []string{"turn"}, Control: &Control{Kind: Loop, Trip: "trip", Iter: "turn", Body: "body"}},
		kernel("y", "k1", []string{"y", "n"}, []string{"acc", "cat"}),
	}
	p.Launches[4].InPlace = []InPlace{{Write: "acc", Read: "r"}}
	p.Regions = []Region{
		{Name: "then", Launches: []Launch{kernel("r1", "k2", []string{"r"}, []string{"b"})}},
		{Name: "else", Launches: []Launch{{Kind: CopyLaunch, Name: "r2", Reads: []string{"b"}, Writes: []string{"r"}}}},
		{Name: "body", Launches: []Launch{kernel("next", "k2", []string{"next"}, []string{"acc", "turn"}), {Kind: CopyLaunch, Name: "carry", Reads: []string{"next"}, Writes: []string{"acc"}}}},
	}
	p.SetTotals()
	require.NoError(t, p.SetLives())
	return p
}

func (p *Plan) named(name string) *Tensor {
	for i := range p.Tensors {
		if p.Tensors[i].Name == name {
			return &p.Tensors[i]
		}
	}
	return nil
}

// TestOpenPorts has an input with rows, and all that depends on it.
func TestOpenPorts(t *testing.T) {
	p := sample(t)
	require.Empty(t, p.OpenName())
	p.Inputs[0].Open, p.Outputs[0].Open, p.Outputs[0].Extent = &OpenAxis{0, "N"}, &OpenAxis{0, "N"}, nil
	require.NoError(t, p.SetLives())
	require.NoError(t, p.Check())
	require.Equal(t, "N", p.OpenName())
	port := Port{Shape: tensor.Shape{2, 3}, Open: &OpenAxis{1, "N"}}
	require.Equal(t, tensor.Shape{2, 12}, port.Batched(4))
	for _, c := range []struct {
		shape tensor.Shape
		n     int
		ok    bool
	}{{tensor.Shape{2, 12}, 4, true}, {tensor.Shape{2, 0}, 0, true}, {tensor.Shape{2, 4}, 0, false}, {tensor.Shape{3, 3}, 0, false},
		{tensor.Shape{2}, 0, false}, {tensor.Shape{2, 3 * (MaxBatch + 1)}, 0, false}} {
		n, ok := port.Rows(c.shape)
		require.Equal(t, c.ok, ok, c.shape)
		require.True(t, !ok || n == c.n, c.shape)
	}
	text, err := p.Encode()
	require.NoError(t, err)
	require.Contains(t, string(text), `"open":{"axis":0,"name":"N"}`)
}

func TestSampleIsRight(t *testing.T) {
	p := sample(t)
	require.NoError(t, p.Check())
	require.Equal(t, Life{-1, 1}, p.named("x").Life)
	require.Equal(t, Life{-1, 0}, p.named("w").Life)
	require.Equal(t, Life{4, 6}, p.named("r").Life, "from the first branch on")
	require.Equal(t, Life{6, 10}, p.named("acc").Life)
	require.Equal(t, Life{8, 9}, p.named("next").Life, "each turn makes it new")
	require.Equal(t, Life{10, 11}, p.named("y").Life)
	require.Equal(t, Life{1, 9}, p.named("trip").Life)
}

// TestCheckFinds changes one thing of a valid plan at a time. The lives are set again where the change is not about
// them, so that the memory walk is what finds it.
func TestCheckFinds(t *testing.T) {
	type change struct {
		want string
		do   func(p *Plan)
		keep bool // keep the stated lives
	}
	for _, c := range []change{
		{"format is 2, wanted 1", func(p *Plan) { p.Format = 2 }, false},
		{"io: name of a pool", func(p *Plan) { p.Pools[1].Name = "io" }, false},
		{`unknown kind of pool "heap"`, func(p *Plan) { p.Pools[1].Kind = "heap" }, false},
		{"size of the pool is out of range", func(p *Plan) { p.Pools[1].Bytes = math.MaxInt64 }, false},
		{"pool of kind external has no size", func(p *Plan) { p.Pools[0].Bytes = 64 }, false},
		{"arena_bytes is 1, the pools have 576", func(p *Plan) { p.ArenaBytes = 1 }, false},
		{"c: name of a tensor must be there and be unique", func(p *Plan) { p.named("go").Name = "c" }, false},
		{"c: tensor has no element type", func(p *Plan) { p.named("c").DType = tensor.Invalid }, false},
		{"c: shape (?,)", func(p *Plan) { p.named("c").Shape = tensor.Shape{-1} }, false},
		{"unknown or too large", func(p *Plan) { p.named("c").Shape = tensor.Shape{1 << 40, 1 << 40} }, false},
		{"c: tensor of shape (4,) and type float32 needs at least 16 bytes, found 15", func(p *Plan) { p.named("c").Bytes = 15 }, false},
		{"c: offset is out of range", func(p *Plan) { p.named("c").Offset = -64 }, false},
		{"c: offset is out of range", func(p *Plan) { p.named("c").Offset = math.MaxInt64 }, false},
		{"c: offset 72 is not a multiple of 64", func(p *Plan) { p.named("c").Offset = 72 }, false},
		{"c: tensor ends at byte 592 of pool arena, which has 576", func(p *Plan) { p.named("c").Offset = 576 }, false},
		{`c: tensor is in pool "attic"`, func(p *Plan) { p.named("c").Pool = "attic" }, false},
		{"c: external tensor is neither an input nor an output", func(p *Plan) { p.named("c").Pool, p.named("c").Offset = "io", 0 }, false},
		{"x: tensor in a pool of kind external must have offset 0", func(p *Plan) { p.named("x").Offset = 64 }, false},
		{`a: alias of "dog"`, func(p *Plan) { p.named("a").AliasOf = "dog" }, false},
		{"alias of itself", func(p *Plan) { p.named("cat").AliasOf = "a" }, false},
		{"a: view ends at byte 36 of cat, which has 32", func(p *Plan) { p.named("a").AliasOffset, p.named("a").Offset = 20, 20 }, false},
		{"a: offset is 0, that of cat and alias_offset sum to 4", func(p *Plan) { p.named("a").AliasOffset = 4 }, false},
		{"a: alias_offset 2 is not a multiple of the element's 4 bytes", func(p *Plan) { p.named("a").AliasOffset, p.named("a").Offset = 2, 2 }, false},
		{"alias_offset without alias_of", func(p *Plan) { p.named("c").AliasOffset = 4 }, false},
		{"dog: weight of a tensor that does not exist", func(p *Plan) { p.Weights[0].Tensor = "dog" }, false},
		{"c: a weight belongs to one tensor of a pool of kind weights", func(p *Plan) { p.Weights[0].Tensor = "c" }, false},
		{"w: weight has 20 bytes, its tensor 16", func(p *Plan) { p.Weights[0].Bytes = 20 }, false},
		{`w: digest "beef" is not that of SHA-256`, func(p *Plan) { p.Weights[0].Digest = "beef" }, false},
		{"weights_bytes is 3, the weights have 16", func(p *Plan) { p.WeightsBytes = 3 }, false},
		{"w: tensor of pool weights has no weight", func(p *Plan) { p.Weights, p.WeightsBytes = nil, 0 }, true},
		{"k1: name of a kernel", func(p *Plan) { p.Kernels[1].Name = "k1" }, false},
		{"k2: kernel needs 128 bytes of scratch, scratch_bytes is 64", func(p *Plan) { p.ScratchBytes = 64 }, false},
		{"x: name of an input must be there and be unique", func(p *Plan) { p.Inputs = append(p.Inputs, p.Inputs[0]) }, false},
		{`y: output has tensor "z", which does not exist`, func(p *Plan) { p.Outputs[0].Tensor = "z" }, true},
		{"tensor c of an output must be in a pool of kind external", func(p *Plan) { p.Outputs[0].Tensor = "c" }, false},
		{"x: tensor x is bound twice", func(p *Plan) { p.Outputs[0].Tensor, p.Outputs[0].Name = "x", "x" }, false},
		{"y: output is float32 (5,), its tensor float32 (4,)", func(p *Plan) { p.Outputs[0].Shape = tensor.Shape{5} }, false},
		{"y: tensor of an output must be dense", func(p *Plan) { p.named("y").Bytes = 20 }, false},
		{"y: extent of axis 1", func(p *Plan) { p.Outputs[0].Extent[0].Axis = 1 }, false},
		{`y: extent "c" is not a tensor of one int64`, func(p *Plan) { p.Outputs[0].Extent[0].Tensor = "c" }, false},
		{`x: default "c" is not a weight of 16 bytes`, func(p *Plan) { p.Inputs[0].Default = "c" }, false},
		{`a: launch uses tensor "dog", which does not exist`, func(p *Plan) { p.Launches[0].Buffers[1] = "dog" }, true},
		{"a: launch writes x, which is an input or a weight", func(p *Plan) { p.Launches[0].Writes, p.Launches[0].Buffers = []string{"x"}, []string{"x", "w"} }, false},
		{`a: launch of kernel "k9"`, func(p *Plan) { p.Launches[0].Kernel = "k9" }, false},
		{"a: grid [-1]", func(p *Plan) { p.Launches[0].Grid = []int64{-1} }, false},
		{"is out of range", func(p *Plan) { p.Launches[0].Grid = []int64{1 << 40, 1 << 40} }, false},
		{"a: group [3] does not divide grid [4]", func(p *Plan) { p.Launches[0].Group = []int64{3} }, false},
		{"a: launch uses w, which is not among its buffers", func(p *Plan) { p.Launches[0].Buffers = []string{"a", "x"} }, false},
		{"a: buffer c is neither read nor written", func(p *Plan) { p.Launches[0].Buffers = append(p.Launches[0].Buffers, "c") }, false},
		{`a: launch on device "gpu" uses a`, func(p *Plan) { p.Launches[0].Device = "gpu" }, false},
		{`unknown kind of launch "dance"`, func(p *Plan) { p.Launches[0].Kind = "dance" }, false},
		{"r2: a copy has one read and one write", func(p *Plan) { p.Regions[1].Launches[0].Kernel = "k1" }, false},
		{"r2: copy of 8 bytes of int64 to 16 bytes of float32", func(p *Plan) { p.Regions[1].Launches[0].Reads[0] = "trip" }, false},
		{"if: control launch names region \"elsewhere\"", func(p *Plan) { p.Launches[3].Control.Else = "elsewhere" }, true},
		{`region "then" is named twice`, func(p *Plan) { p.Launches[3].Control.Else = "then" }, true},
		{"else: no control launch names this region", func(p *Plan) { p.Launches[3].Control.Else = "" }, true},
		{`if: cond "c" is not a tensor of one bool`, func(p *Plan) { p.Launches[3].Control.Cond, p.Launches[3].Reads[0] = "c", "c" }, false},
		{"loop: a control launch reads cond and trip and writes iter and count", func(p *Plan) { p.Launches[5].Writes = nil }, false},
		{"in-place pair acc, r does not start at the same byte", func(p *Plan) { p.named("acc").Offset = 512 }, false},
		{"acc: launch writes acc over r, which it reads", func(p *Plan) { p.Launches[4].InPlace = nil }, false},
		{"c: launch writes c and go, which overlap", func(p *Plan) { p.named("go").Offset = 64 }, false},
		{"c: life is stated as 2 to 2, the launches give 2 to 6", func(p *Plan) {
			p.Launches[4].Reads, p.Launches[4].Buffers = []string{"r", "c"}, []string{"acc", "r", "c"}
		}, true},
		{"x: open axis 1, which shape (4,) lacks", func(p *Plan) { p.Inputs[0].Open = &OpenAxis{1, "N"} }, false},
		{`x: open dimension is named ""`, func(p *Plan) { p.Inputs[0].Open = &OpenAxis{0, ""} }, false},
		{`y: open dimension is named "M", that of the first open input "N"`, func(p *Plan) {
			p.Inputs[0].Open, p.Outputs[0].Open, p.Outputs[0].Extent = &OpenAxis{0, "N"}, &OpenAxis{0, "M"}, nil
		}, false},
		{`y: open dimension is named "N", that of the first open input ""`, func(p *Plan) { p.Outputs[0].Open, p.Outputs[0].Extent = &OpenAxis{0, "N"}, nil }, false},
		{"y: an open port has no default and no extent", func(p *Plan) { p.Inputs[0].Open, p.Outputs[0].Open = &OpenAxis{0, "N"}, &OpenAxis{0, "N"} }, false},
		{"y: output depends on the rows of an input and has none", func(p *Plan) { p.Inputs[0].Open = &OpenAxis{0, "N"} }, false},
		{"y: output depends on the rows of an input and has none", func(p *Plan) { // only through what chooses a branch
			p.Inputs[0].Open = &OpenAxis{0, "N"}
			p.Launches[6].Reads, p.Launches[6].Buffers = []string{"acc"}, []string{"y", "n", "acc"}
		}, false},
		// the walk over memory
		{"launch reads h before it is written", func(p *Plan) { p.Launches[1].Writes[0], p.Launches[1].Buffers[0] = "c", "c" }, false},
		{"y: launch reads cat, over which trip was written", func(p *Plan) { p.named("trip").Offset = 0 }, false},
		{"acc: launch reads r, which is not there on every path", func(p *Plan) { p.Regions[1].Launches[0].Writes[0] = "next" }, false},
		{"next: launch reads acc, which is not there on every path", func(p *Plan) {
			p.named("next").Offset = 192
			p.Regions[2].Launches[0].InPlace = []InPlace{{"next", "acc"}}
			p.Regions[2].Launches[1].Writes[0] = "c"
		}, false},
		{"y: launch reads cat, over which c was written", func(p *Plan) {
			p.named("c").Offset = 0
			p.Launches[2].Reads, p.Launches[2].Buffers = []string{"x"}, []string{"c", "go", "x"}
		}, false},
		{"y: extent of output reads n before it is written", func(p *Plan) {
			p.Launches[6].Writes, p.Launches[6].Buffers = []string{"y"}, []string{"y", "acc", "cat"}
		}, false},
		{"y: output reads y before it is written", func(p *Plan) {
			p.Launches[6].Writes, p.Launches[6].Buffers = []string{"n"}, []string{"n", "acc", "cat"}
		}, false},
		{"next: launch reads turn before it is written", func(p *Plan) { p.Launches[5].Control.Iter, p.Launches[5].Writes = "", nil }, false},
	} {
		p := sample(t)
		c.do(p)
		if !c.keep {
			p.SetLives()
		}
		err := p.Check()
		require.ErrorIs(t, err, diag.ErrInvalid, c.want)
		require.ErrorContains(t, err, c.want)
	}
}

// TestCheckSeesEveryOverlap moves each tensor of the arena onto each other one. Whenever both are alive at once, the
// checker must refuse; otherwise it must not.
func TestCheckSeesEveryOverlap(t *testing.T) {
	names := []string{"cat", "c", "go", "r", "next", "trip", "turn", "n"}
	hull := func(p *Plan, name string) Life {
		l := p.named(name).Life
		if name == "cat" {
			l.First = 0 // its first part
		}
		if name == "trip" {
			l.Last = 7 // its life is stated to the loop's end, but it is read only before the first turn
		}
		return l
	}
	for _, from := range names {
		for _, onto := range names {
			if from == onto || from == "cat" || from == "r" { // those have views or an in-place partner, which would move too
				continue
			}
			p := sample(t)
			p.named(from).Offset = p.named(onto).Offset
			a, b := hull(p, from), hull(p, onto)
			if onto == "r" {
				b.Last = p.named("acc").Life.Last
			}
			if a.First <= b.Last && b.First <= a.Last && a.Last > a.First { // c is never read: to write it over nothing is no harm
				require.Error(t, p.Check(), "%s onto %s", from, onto)
			}
			if a.First > b.Last || b.First > a.Last {
				require.NoError(t, p.Check(), "%s onto %s", from, onto)
			}
		}
	}
}

func TestLoopIsWalkedTwice(t *testing.T) {
	p := sample(t)
	p.Regions[2].Launches[0].Reads = append(p.Regions[2].Launches[0].Reads, "c")
	p.Regions[2].Launches[0].Buffers = append(p.Regions[2].Launches[0].Buffers, "c")
	require.NoError(t, p.SetLives())
	require.NoError(t, p.Check())
	p.named("next").Offset = 0
	p.Launches[6].Reads, p.Launches[6].Buffers = []string{"acc"}, []string{"y", "n", "acc"} // cat is dead by then
	require.NoError(t, p.SetLives())
	require.NoError(t, p.Check())
	p.named("turn").Offset = 64 // over c: each turn destroys what the turn reads
	require.ErrorContains(t, p.Check(), "next: launch reads c, over which turn was written")
}

func TestPlanText(t *testing.T) {
	p := sample(t)
	text, err := p.Encode()
	require.NoError(t, err)
	back, err := DecodePlan(text)
	require.NoError(t, err)
	again, err := back.Encode()
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))
	require.NoError(t, back.Check())
	require.Contains(t, string(text), "\n    {\"name\":\"a\",\"dtype\":\"float32\",\"shape\":[4],\"pool\":\"arena\",\"offset\":0,\"bytes\":16,\"alias_of\":\"cat\",\"life\":{\"first\":0,\"last\":0}},\n", "one line a tensor")
	require.Contains(t, string(text), "a <note>")
	require.NotContains(t, string(text), "null")

	for text, want := range map[string]string{
		`{"format": 1, "formats": 2}`: `unknown field "formats"`,
		`{"format": 1} {}`:            "more follows",
		`{"format": 1`:                "unexpected EOF",
		`{"format": 9}`:               "plan has format 9, this version reads 1",
		`{"format": 1, "arena_bytes": 99999999999999999999}`: "cannot unmarshal number",
	} {
		_, err := DecodePlan([]byte(text))
		require.ErrorContains(t, err, want)
	}
}

func TestDeepControlIsRefused(t *testing.T) {
	p := sample(t)
	p.Launches = append(p.Launches, Launch{Kind: ControlLaunch, Name: "deep", Reads: []string{"go"}, Control: &Control{Kind: If, Cond: "go", Body: "d0"}})
	for i := range 40 {
		p.Regions = append(p.Regions, Region{Name: "d" + string(rune('0'+i)), Launches: []Launch{
			{Kind: ControlLaunch, Name: "deep", Reads: []string{"go"}, Control: &Control{Kind: If, Cond: "go", Body: "d" + string(rune('0'+i+1))}}}})
	}
	require.ErrorContains(t, p.Check(), "control launches nest more than 16 deep")
}

// stacking is a loop of at most 4 turns that stacks x and counts its turns.
func stacking(t testing.TB) *Plan {
	p := &Plan{
		Format: PlanFormat, Function: "main", Target: "test",
		Inputs: []Port{{Name: "x", DType: tensor.Float32, Shape: tensor.Shape{2}, Tensor: "x"}, {Name: "trip", DType: tensor.Int64, Shape: tensor.Shape{}, Tensor: "trip"}},
		Outputs: []Port{{Name: "y", DType: tensor.Float32, Shape: tensor.Shape{4, 2}, Tensor: "y", Extent: []Extent{{Axis: 0, Tensor: "n"}}},
			{Name: "z", DType: tensor.Float32, Shape: tensor.Shape{2}, Tensor: "z"}},
		Pools:   []Pool{{Name: "io", Kind: External}, {Name: "arena", Kind: Arena, Bytes: 192}},
		Kernels: []Kernel{{Name: "k"}},
	}
	add := func(pool, name string, d tensor.DType, offset int64, shape ...int) {
		p.Tensors = append(p.Tensors, Tensor{Name: name, DType: d, Shape: shape, Pool: pool, Offset: offset, Bytes: int64(d.Bytes(tensor.Shape(shape).Elems()))})
	}
	add("io", "x", tensor.Float32, 0, 2)
	add("io", "trip", tensor.Int64, 0)
	add("io", "y", tensor.Float32, 0, 4, 2)
	add("io", "z", tensor.Float32, 0, 2)
	add("arena", "part", tensor.Float32, 0, 2)
	add("arena", "n", tensor.Int64, 64)
	add("arena", "spare", tensor.Float32, 128, 8)
	kernel := func(to, from string) Launch {
		return Launch{Kind: KernelLaunch, Name: to, Kernel: "k", Grid: []int64{1}, Reads: []string{from}, Writes: []string{to}, Buffers: []string{to, from}}
	}
	p.Launches = []Launch{kernel("y", "x"),
		{Kind: ControlLaunch, Name: "loop", Reads: []string{"trip"}, Writes: []string{"n"}, Control: &Control{Kind: Loop, Trip: "trip", Count: "n", Max: 4, Body: "body"}},
		kernel("z", "x")}
	p.Regions = []Region{{Name: "body", Launches: []Launch{kernel("part", "x"),
		{Kind: CopyLaunch, Name: "stack", Stack: true, Reads: []string{"part", "y"}, Writes: []string{"y"}}}}}
	p.SetTotals()
	require.NoError(t, p.SetLives())
	return p
}

func TestStacksAndCountsOfLoops(t *testing.T) {
	p := stacking(t)
	require.NoError(t, p.Check())
	require.Equal(t, Life{1, 5}, p.named("n").Life)
	for _, c := range []struct {
		want string
		do   func(p *Plan)
	}{
		{"stack: 5 parts of 8 bytes do not fit into y of 32 bytes", func(p *Plan) { p.Launches[1].Control.Max = 5 }},
		{"stack: a stack outside a loop whose turns have a limit", func(p *Plan) { p.Launches[1].Control.Max = 0 }},
		{"stack: a stack outside a loop whose turns have a limit", func(p *Plan) { p.Launches = append(p.Launches, p.Regions[0].Launches[1]) }},
		{"stack: a stack of float32 is written and read", func(p *Plan) { p.Regions[0].Launches[1].Reads[1] = "spare" }},
		{"stack: a stack of int64 is written and read", func(p *Plan) { p.Regions[0].Launches[1].Reads[0] = "trip" }},
		{"stack: a copy has one read and one write", func(p *Plan) { p.Regions[0].Launches[1].Reads = []string{"part"} }},
		{"part: a kernel launch has no control and no stack", func(p *Plan) { p.Regions[0].Launches[0].Stack = true }},
		{"loop: a control launch has control and no kernel", func(p *Plan) { p.Launches[1].Stack = true }},
		{"stack: launch reads y before it is written", func(p *Plan) { p.Launches = p.Launches[1:] }},
		{`loop: count "part" is not a tensor of one int64`, func(p *Plan) { p.Launches[1].Control.Count, p.Launches[1].Writes[0] = "part", "part" }},
		{"loop: a control launch reads cond and trip and writes iter and count", func(p *Plan) { p.Launches[1].Writes = nil }},
		{"y: extent of output reads n before it is written", func(p *Plan) { p.Launches[1].Control.Count, p.Launches[1].Writes = "", nil }},
		{"an if has cond and body, and no trip, iter, count or max", func(p *Plan) { p.Launches[1].Control.Kind = If }},
	} {
		p := stacking(t)
		c.do(p)
		require.NoError(t, p.SetLives(), c.want)
		err := p.Check()
		require.ErrorIs(t, err, diag.ErrInvalid, c.want)
		require.ErrorContains(t, err, c.want)
	}

	// The count is there behind the last turn, not in the turns: a body that reads it reads nothing.
	p = stacking(t)
	p.Regions[0].Launches[0] = Launch{Kind: KernelLaunch, Name: "part", Kernel: "k", Grid: []int64{1}, Reads: []string{"n"}, Writes: []string{"part"}, Buffers: []string{"part", "n"}}
	require.NoError(t, p.SetLives())
	require.ErrorContains(t, p.Check(), "part: launch reads n before it is written")
}
