package transform

import (
	"context"
	"fmt"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// FuseBlocks puts functions together whose tensors between them decide how much memory the model needs: a pointwise
// convolution, the depthwise one that alone reads it, and the pointwise one that alone reads that. The joined function
// computes a few rows of each at a time, so that the tensors between never exist as a whole:
//
//	expand 112×112×16 → 96        4.6 MiB                    112×112×16 → 56×56×24, in each step
//	depthwise, stride 2           1.1 MiB           →          17 rows of 112×96, 8 rows of 56×96
//	project 56×56×96 → 24         0.3 MiB
//
// Rows of the first that two steps need are computed by both. So only blocks of many rows are joined that hold the largest
// sum of tensors alive at one time, as long as that sum falls. (That a block can be computed piece by piece is said by Sandler et al.,
// "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018, section 5.1.)
func FuseBlocks(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	if o.Target == nil || o.Target.Kind != target.CPU {
		return m, nil
	}
	b := newBlockFuser(m.Main())
	chains := b.chains()
	for b.lower(chains, o.Notes) {
	}
	if len(b.joins) == 0 {
		return m, nil
	}
	joins := map[relay.Expr]chain{}
	for _, c := range b.joins {
		joins[c[len(c)-1]] = c
	}
	main, err := relay.Rewrite(m.Main(), func(old, rebuilt relay.Expr) (relay.Expr, error) {
		if c := joins[old]; c != nil {
			return c.joined(rebuilt.(*relay.Call))
		}
		return rebuilt, nil
	})
	if err != nil {
		return nil, err
	}
	return m.WithMain(main.(*relay.Function)), nil
}

// leastRows is how many rows a block must have for few of them to be computed twice.
const leastRows = 28

// chain is calls of functions, each of which alone reads the one before.
type chain []*relay.Call

// blockFuser knows when the values of main are alive.
type blockFuser struct {
	main  *relay.Function
	calls []*relay.Call       // in order of execution
	at    map[*relay.Call]int // their places there
	users map[relay.Expr]int  // places that a value is used in
	last  map[*relay.Call]int // of a call inside a joined chain, when the chain runs: its value never exists as a whole
	joins []chain
}

func newBlockFuser(main *relay.Function) *blockFuser {
	b := &blockFuser{main: main, users: relay.Users(main), at: map[*relay.Call]int{}, last: map[*relay.Call]int{}}
	for e := range relay.PostOrder(main, false) {
		if c, ok := e.(*relay.Call); ok {
			b.at[c] = len(b.calls)
			b.calls = append(b.calls, c)
		}
	}
	return b
}

// chains returns the longest chains that can be joined, each with a depthwise convolution as its second call.
func (b *blockFuser) chains() []chain {
	reader := map[relay.Expr]*relay.Call{} // of the values that one convolution alone reads, as its data
	for _, c := range b.calls {
		if h := convolution(c); h != nil && b.users[c.Args[h.data]] == 1 {
			reader[c.Args[h.data]] = c
		}
	}
	var list []chain
	for _, first := range b.calls {
		if h := convolution(first); h == nil || !h.pointwise() {
			continue
		}
		second := reader[first]
		if second == nil || convolution(second).Groups == 1 || relay.Tensor(second).Shape[1] < leastRows {
			continue
		}
		c := chain{first, second}
		if third := reader[second]; third != nil && convolution(third).pointwise() {
			c = append(c, third)
		}
		list = append(list, c)
	}
	return list
}

// heart is the one convolution of a function.
type heart struct {
	*relay.ConvAttrs
	data   int // the parameter that it reads
	window int // elements of its window
}

// convolution returns the convolution of images that a fused function is made around, channels innermost and its weight
// packed for the target, when that reads a parameter as it is and everything else follows it elementwise; or nil.
func convolution(c *relay.Call) *heart {
	fn, ok := c.Fn.(*relay.Function)
	if !ok || !fn.Primitive || relay.Tensor(c) == nil {
		return nil
	}
	var h *heart
	for e := range relay.PostOrder(fn.Body, false) {
		k, ok := e.(*relay.Call)
		if !ok || k.Op == nil {
			continue
		}
		if k.Op.Name != "nn.conv2d" {
			if k.Op.Class > relay.Broadcast || h == nil {
				return nil
			}
			continue
		}
		at := -1
		for i, p := range fn.Params {
			if k.Args[0] == relay.Expr(p) {
				at = i
			}
		}
		a := k.Attrs.(*relay.ConvAttrs)
		kernel := tensor.MustLayout(a.KernelLayout)
		weight := relay.Tensor(k.Args[1]).Shape
		if h != nil || at < 0 || a.DataLayout != "NHWC" || a.OutLayout != "" && a.OutLayout != "NHWC" || kernel.Block('O') == 0 ||
			a.Groups > 1 && kernel.Extent(weight, 'I') != 1 {
			return nil
		}
		h = &heart{a, at, kernel.Extent(weight, 'H') * kernel.Extent(weight, 'W')}
	}
	return h
}

// pointwise reports whether the convolution is a matrix product a pixel.
func (h *heart) pointwise() bool {
	moves := h.window > 1 || h.Groups > 1
	for _, s := range h.Strides {
		moves = moves || s != 1
	}
	for _, p := range h.Padding {
		moves = moves || p != 0
	}
	return !moves
}

// lower joins chains until the largest sum of tensors alive at one time falls, and reports whether it does.
func (b *blockFuser) lower(chains []chain, notes *diag.Notes) bool {
	before, joins := len(b.joins), b.joins
	peak, at := b.peak()
	for sum := peak; sum >= peak; sum, at = b.peak() {
		c := b.holding(chains, at)
		if c == nil {
			for _, c := range b.joins[before:] {
				b.set(c, false)
			}
			b.joins = joins
			return false
		}
		b.set(c, true)
		b.joins = append(b.joins, c)
	}
	now, _ := b.peak()
	for _, c := range b.joins[before:] {
		var names []string
		for _, k := range c {
			names = append(names, nodeName(k.Fn.(*relay.Function).Body.(*relay.Call)))
		}
		notes.Add(diag.Fused, "fuse-blocks", names[len(names)-1], "%s are computed by blocks of rows, some of them twice: the largest sum of tensors alive falls from %d to %d bytes",
			strings.Join(names, ", "), peak, now)
	}
	return true
}

// set joins a chain, or takes that back.
func (b *blockFuser) set(c chain, join bool) {
	for _, k := range c[:len(c)-1] {
		if !join {
			delete(b.last, k)
			continue
		}
		b.last[k] = b.at[c[len(c)-1]]
	}
}

// holding returns, of the chains that are not joined, the one that holds most between its calls at a time; nil when none does.
func (b *blockFuser) holding(chains []chain, at int) chain {
	var best chain
	most := int64(0)
	for _, c := range chains {
		if _, done := b.last[c[0]]; done {
			continue
		}
		held := int64(0)
		for i, k := range c[:len(c)-1] {
			if b.at[k] <= at && at <= b.at[c[i+1]] {
				held += bytesOf(k.Type())
			}
		}
		if held > most {
			best, most = c, held
		}
	}
	return best
}

// peak returns the largest sum of tensors of the arena that are alive while a call runs, and which call that is.
func (b *blockFuser) peak() (bytes int64, at int) {
	alive := make([]int64, len(b.calls)+1) // what begins to live at a call, less what ended before it
	ends := map[*relay.Call]int{}
	begins := map[*relay.Call]int{}
	for i, c := range b.calls {
		when := i
		if n, inside := b.last[c]; inside {
			when = n
		}
		begins[c], ends[c] = when, max(ends[c], when)
		for _, a := range c.Args {
			for _, m := range makers(a) {
				ends[m] = max(ends[m], when)
			}
		}
	}
	for _, m := range makers(b.main.Body) { // results lie in the caller's memory
		delete(ends, m)
	}
	for c, end := range ends {
		if _, inside := b.last[c]; inside || len(makers(c)) != 1 || makers(c)[0] != c {
			continue
		}
		alive[begins[c]] += bytesOf(c.Type())
		alive[end+1] -= bytesOf(c.Type())
	}
	sum := int64(0)
	for i := range b.calls {
		if sum += alive[i]; sum > bytes {
			bytes, at = sum, i
		}
	}
	return bytes, at
}

// makers returns the calls in whose memory a value lies: of a view, the call that made what it is a view of.
func makers(e relay.Expr) []*relay.Call {
	switch e := e.(type) {
	case *relay.Call:
		if e.Op != nil && len(e.Args) > 0 { // fuse-ops leaves only views alone
			return makers(e.Args[0])
		}
		return []*relay.Call{e}
	case *relay.TupleGet:
		return makers(e.Tuple)
	case *relay.Tuple:
		var list []*relay.Call
		for _, f := range e.Fields {
			list = append(list, makers(f)...)
		}
		return list
	}
	return nil
}

func bytesOf(t relay.Type) int64 {
	switch t := t.(type) {
	case *relay.TensorType:
		return int64(t.Shape.Elems()) * int64(t.DType.Bits()) / 8
	case *relay.TupleType:
		n := int64(0)
		for _, f := range t.Fields {
			n += bytesOf(f)
		}
		return n
	}
	return 0
}

// joined returns the call of one function that computes what the chain does, where last is its last call over the values
// that main has now.
func (c chain) joined(last *relay.Call) (relay.Expr, error) {
	var params []*relay.Var
	var args []relay.Expr
	known := map[relay.Expr]*relay.Var{}
	var before relay.Expr // the body of the call before
	calls := c.ending(last)
	for i, k := range calls {
		fn := k.Fn.(*relay.Function)
		to := map[relay.Expr]relay.Expr{}
		for n, p := range fn.Params {
			arg := k.Args[n]
			if i > 0 && arg == relay.Expr(calls[i-1]) {
				to[p] = before
				continue
			}
			v := known[arg]
			if v == nil {
				v = relay.NewVar(fmt.Sprintf("p%d", len(params)), p.Type(), arg.Pos())
				params, args, known[arg] = append(params, v), append(args, arg), v
			}
			to[p] = v
		}
		body, err := relay.Rewrite(fn.Body, func(old, rebuilt relay.Expr) (relay.Expr, error) {
			if e, ok := to[old]; ok {
				return e, nil
			}
			return rebuilt, nil
		})
		if err != nil {
			return nil, err
		}
		before = body
	}
	return relay.NewCallFn(relay.NewFunction(params, before, true, nil, last.Pos()), args, last.Pos())
}

// ending returns the chain as it is when last is its last call.
func (c chain) ending(last *relay.Call) chain {
	out := make(chain, len(c))
	for i := len(c) - 1; i >= 0; i-- {
		out[i] = last
		if i > 0 {
			last = last.Args[convolution(last).data].(*relay.Call)
		}
	}
	return out
}
