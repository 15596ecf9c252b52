package transform

import (
	"context"
	"fmt"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// FuseOps groups operators into primitive functions, each of which becomes kernels as a whole. Main then consists of
// calls of such functions, of views (reshapes that stand alone) and of tuples.
//
// Operators are visited in order of execution, and an operator joins the groups of its operands where that is legal and
// useful. An operand joins only when no other operator reads its value, so nothing is computed twice, and no other group can
// come to lie between: groups never form a cycle.
//
//	epilogue   an elementwise or broadcast operator joins the heavy operator or reduction that makes its operand
//	chain      elementwise, broadcast and injective operators join each other
//	prologue   elementwise operators join the heavy operator or reduction that reads them; so do a slice, a pad and a
//	           transpose, which become part of the operator's index map
//
// Weights stay parameters; constants of one element move into the function.
func FuseOps(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	main := m.Main()
	f := grouped(main, o)
	body, err := f.build(main)
	if err != nil {
		return nil, err
	}
	return m.WithMain(relay.NewFunction(main.Params, body, main.Primitive, main.Attrs, main.Pos())), nil
}

// grouped visits every operator of main.
func grouped(main *relay.Function, o *Options) *fuser {
	f := &fuser{o: o, most: o.mostValues(), users: map[relay.Expr]int{}, group: map[relay.Expr]*group{}, reader: map[relay.Expr]*relay.Call{}}
	last := map[relay.Expr]relay.Expr{} // the reader of a value that was counted last
	var calls []*relay.Call
	for e := range relay.PostOrder(main, false) {
		if _, nested := e.(*relay.Function); nested && e != relay.Expr(main) {
			continue
		}
		for _, a := range relay.Operands(e) {
			if last[a] != e {
				last[a] = e
				f.users[a]++
			}
		}
		if c, ok := e.(*relay.Call); ok && c.Op != nil {
			calls = append(calls, c)
			for _, a := range c.Args {
				f.reader[a] = c
			}
		}
	}
	for _, c := range calls {
		f.visit(c)
	}
	return f
}

// group is a set of operators that become one function; out is the one whose value leaves it.
type group struct {
	class   relay.Class
	out     *relay.Call
	members []*relay.Call // operands before users
	made    int           // when out is computed, in order of execution
	weight  int           // how often operators stand in the expression of one element of out
	params  int           // how many values the function takes at most
}

// mostWeight bounds the expression that one element of a group is computed by. An operator that reads its operand twice
// doubles what lies before it, so that long chains have to be cut.
const mostWeight = 96

// repeats tells, for operators that use the element of an operand more than once, how often.
var repeats = map[string]int{"nn.hard_swish": 2, "nn.swish": 2, "nn.gelu": 3, "nn.mish": 2, "nn.elu": 2, "nn.selu": 2, "nn.celu": 2,
	"nn.leaky_relu": 2, "nn.prelu": 2, "nn.thresholded_relu": 2, "nn.softplus": 2, "nn.softsign": 2, "nn.shrink": 3, "sign": 3,
	"mod": 3, "divide": 3, "power": 3, "isinf": 2, "left_shift": 3, "right_shift": 3, "asinh": 2, "acosh": 2, "atanh": 2}

// weigh returns the weight of c over the groups of its operands that join it.
func weigh(c *relay.Call, joined []*group) int {
	weight := 1
	if c.Op.Class >= relay.Reduce {
		return weight // what a heavy operator computes is held, not written out again
	}
	for _, g := range joined {
		places := 0
		for _, a := range c.Args {
			if a == relay.Expr(g.out) {
				places++
			}
		}
		weight += max(1, repeats[c.Op.Name], places) * g.weight
	}
	return weight
}

type fuser struct {
	o      *Options
	users  map[relay.Expr]int // how many nodes read a value
	group  map[relay.Expr]*group
	reader map[relay.Expr]*relay.Call // who reads a value, the last one of several
	made   int
	most   int // how many values a function may take
}

// visit gives c a group of its own, or puts it together with groups of its operands.
func (f *fuser) visit(c *relay.Call) {
	f.made++
	own := &group{class: c.Op.Class, out: c, members: []*relay.Call{c}, made: f.made, weight: 1, params: len(f.operands(c))}
	f.group[c] = own
	if f.isView(c) || c.Op.Class == relay.Opaque || f.widensForReader(c) {
		return
	}
	var taken []*group
	heavy := f.heaviest(c)
	for _, operand := range f.operands(c) {
		p, ok := operand.(*relay.Call)
		if !ok || p.Op == nil {
			continue
		}
		g := f.group[p]
		if g == nil || g.out != p || contains(taken, g) {
			continue
		}
		why := f.refuses(c, p, g, heavy)
		if why == "" && weigh(c, append(taken[:len(taken):len(taken)], g)) > mostWeight {
			why = "the expression of an element would be too long"
		}
		if why == "" && own.params+g.params-1 > f.most && g.params > 1 {
			why = fmt.Sprintf("the function would take %d values, %d is the most", own.params+g.params-1, f.most)
		}
		if why != "" {
			f.o.Notes.Add(diag.Unfused, "fuse-ops", nodeName(c), "does not join %s: %s", nodeName(p), why)
			continue
		}
		taken = append(taken, g)
		own.params += g.params - 1
	}
	own.weight = weigh(c, taken)
	for _, g := range taken {
		for _, p := range g.members {
			f.group[p] = own
		}
		own.members = append(append([]*relay.Call{}, g.members...), own.members...)
		own.class = max(own.class, g.class)
		f.o.Notes.Add(diag.Fused, "fuse-ops", nodeName(c), "%s joins %s of %s", c.Op.Name, g.out.Op.Name, nodeName(g.out))
	}
}

// widensForReader reports whether c widens a float that is kept in a narrower type, for one reader that does so on its way:
// with its operand it would be kept in the wider one.
func (f *fuser) widensForReader(c *relay.Call) bool {
	if _, cast := is(c, "cast"); !cast || f.users[c] != 1 {
		return false
	}
	if narrow := relay.Tensor(c.Args[0]); !narrow.DType.IsFloat() || narrow.DType.Bits() >= relay.Tensor(c).DType.Bits() {
		return false
	}
	r := f.reader[c]
	switch {
	case r == nil || r.Op.Class == relay.Opaque || f.isView(r):
		return false
	case r.Op.Class == relay.OutFusable:
		return r.Args[0] == relay.Expr(c)
	case r.Op.Class == relay.Reduce:
		return true
	}
	_, narrowed := is(c.Args[0], "cast")
	return narrowed
}

// heaviest returns the group of the operand whose epilogue c becomes: of several, the one that is made last.
func (f *fuser) heaviest(c *relay.Call) *group {
	if c.Op.Class > relay.Broadcast {
		return nil
	}
	var best *group
	for _, operand := range f.operands(c) {
		p, ok := operand.(*relay.Call)
		if !ok || p.Op == nil {
			continue
		}
		if g := f.group[p]; g != nil && g.out == p && g.class >= relay.Reduce && f.epilogue(c, p, g) == "" {
			if best == nil || g.class > best.class || g.class == best.class && g.made > best.made {
				best = g
			}
		}
	}
	return best
}

// refuses returns why the group g of operand p cannot be put together with c, or "".
func (f *fuser) refuses(c, p *relay.Call, g, heavy *group) string {
	switch {
	case g.class >= relay.Reduce:
		if why := f.epilogue(c, p, g); why != "" {
			return why
		}
		if g != heavy {
			return "it joins " + nodeName(heavy.out) + ", which is made later"
		}
		return ""
	case f.users[p] > 1:
		return fmt.Sprintf("%d operators read its value", f.users[p])
	case c.Op.Class <= relay.Injective:
		if f.isView(p) {
			return "it is a view, which costs nothing"
		}
		return ""
	default:
		return f.prologue(c, p, g)
	}
}

// epilogue returns why c cannot be the epilogue of the heavy group g, or "".
func (f *fuser) epilogue(c, p *relay.Call, g *group) string {
	switch {
	case g.class == relay.Opaque:
		return p.Op.Name + " has a kernel for itself"
	case c.Op.Class > relay.Broadcast:
		return c.Op.Name + " begins a kernel of its own"
	case f.users[p] > 1:
		return fmt.Sprintf("%d operators read its value", f.users[p])
	case !relay.Tensor(c).Shape.Equal(relay.Tensor(p).Shape):
		return fmt.Sprintf("shapes differ: %v and %v", relay.Tensor(p).Shape, relay.Tensor(c).Shape)
	}
	return ""
}

// prologue returns why group g cannot be read by the heavy operator c through its index map, or "".
func (f *fuser) prologue(c, p *relay.Call, g *group) string {
	if c.Op.Class == relay.OutFusable && (len(c.Args) == 0 || c.Args[0] != relay.Expr(p)) {
		return "only the first operand of " + c.Op.Name + " may be computed on the way"
	}
	for _, m := range g.members {
		if m.Op.Class > relay.Broadcast && !indexMaps[m.Op.Name] {
			return m.Op.Name + " would be computed again for each use"
		}
	}
	return ""
}

// indexMaps are injective operators that cost nothing as part of a reader's index map.
var indexMaps = map[string]bool{"strided_slice": true, "transpose": true, "nn.pad": true, "layout_transform": true, "squeeze": true,
	"expand_dims": true}

// isView reports whether c only renames memory: a reshape of a value that no injective chain makes, or the bits of a value
// as another type.
func (f *fuser) isView(c *relay.Call) bool {
	switch c.Op.Name {
	case "reshape", "squeeze", "expand_dims":
	case "reinterpret":
		return true
	default:
		return false
	}
	p, ok := c.Args[0].(*relay.Call)
	if !ok || p.Op == nil {
		return true
	}
	g := f.group[p]
	return g == nil || g.class >= relay.Reduce || f.users[p] > 1 || f.users[c] > 1 || f.isView(p)
}

// operands returns the values that c reads, fields of tuples one by one.
func (f *fuser) operands(c *relay.Call) []relay.Expr {
	var list []relay.Expr
	for _, a := range c.Args {
		if t, ok := a.(*relay.Tuple); ok {
			list = append(list, t.Fields...)
			continue
		}
		list = append(list, a)
	}
	return list
}

func contains(list []*group, g *group) bool {
	for _, x := range list {
		if x == g {
			return true
		}
	}
	return false
}

// build returns main's body over calls of the groups' functions.
func (f *fuser) build(main *relay.Function) (relay.Expr, error) {
	done := map[relay.Expr]relay.Expr{}
	for e := range relay.PostOrder(main, false) {
		if e == relay.Expr(main) {
			break
		}
		c, ok := e.(*relay.Call)
		if !ok || c.Op == nil {
			out, err := relay.Rebuild(e, done)
			if err != nil {
				return nil, err
			}
			done[e] = out
			continue
		}
		g := f.group[c]
		if g.out != c {
			continue // computed inside its group's function
		}
		if len(g.members) == 1 && f.isView(c) {
			out, err := relay.Rebuild(c, done)
			if err != nil {
				return nil, err
			}
			done[e] = out
			continue
		}
		call, err := f.function(g, done)
		if err != nil {
			return nil, err
		}
		done[e] = call
	}
	return done[main.Body], nil
}

// function returns the call of the group's function on the values that it reads.
func (f *fuser) function(g *group, done map[relay.Expr]relay.Expr) (relay.Expr, error) {
	inside := make(map[relay.Expr]bool, len(g.members))
	for _, m := range g.members {
		inside[m] = true
	}
	var params []*relay.Var
	var args []relay.Expr
	local := map[relay.Expr]relay.Expr{}
	param := func(e relay.Expr) {
		if _, known := local[e]; known {
			return
		}
		if k, ok := e.(*relay.Constant); ok && k.Value.Shape.Elems() == 1 && k.Value.DType.Bits() >= 8 {
			local[e] = scalar(k)
			return
		}
		v := relay.NewVar(fmt.Sprintf("p%d", len(params)), e.Type(), e.Pos())
		params, args = append(params, v), append(args, done[e])
		local[e] = v
	}
	for _, m := range g.members {
		for _, a := range m.Args {
			if t, ok := a.(*relay.Tuple); ok {
				for _, field := range t.Fields {
					if !inside[field] {
						param(field)
					}
				}
				out, err := relay.Rebuild(t, local)
				if err != nil {
					return nil, err
				}
				local[t] = out
				continue
			}
			if !inside[a] {
				param(a)
			}
		}
		out, err := relay.Rebuild(m, local)
		if err != nil {
			return nil, err
		}
		local[m] = out
	}
	fn := relay.NewFunction(params, local[g.out], true, nil, g.out.Pos())
	return relay.NewCallFn(fn, args, g.out.Pos())
}

// scalar returns a constant of one element with the shape kept, so that it may stand inside a function.
func scalar(k *relay.Constant) *relay.Constant {
	v := *k.Value
	v.Shape = append(tensor.Shape{}, v.Shape...)
	v.Data = append([]byte{}, v.Data...)
	return relay.NewConstant(&v, k.Name, k.Pos())
}
