package texel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/tensor"
)

// flatten returns the tensor types of t in order, those of nested tuples in their place.
func flatten(t relay.Type) ([]*relay.TensorType, error) {
	switch t := t.(type) {
	case *relay.TensorType:
		return []*relay.TensorType{t}, nil
	case *relay.TupleType:
		var all []*relay.TensorType
		for _, f := range t.Fields {
			inner, err := flatten(f)
			if err != nil {
				return nil, err
			}
			all = append(all, inner...)
		}
		return all, nil
	}
	return nil, diag.Unsupported("plan", "", "a value of type %v", t)
}

// asFunction returns a primitive function that applies only c's operator, and the operands of its call. Fields of
// tuples become parameters of their own.
func asFunction(c *relay.Call) (*relay.Function, []relay.Expr, error) {
	var params []*relay.Var
	var args []relay.Expr
	taken := map[relay.Expr]*relay.Var{}
	param := func(e relay.Expr) relay.Expr {
		if k, ok := e.(*relay.Constant); ok && k.Value.Elems() == 1 && len(k.Value.Shape) == 0 {
			return e
		}
		if v := taken[e]; v != nil {
			return v
		}
		v := relay.NewVar("p"+strconv.Itoa(len(params)), e.Type(), e.Pos())
		params, args, taken[e] = append(params, v), append(args, e), v
		return v
	}
	inner := make([]relay.Expr, len(c.Args))
	for i, a := range c.Args {
		tuple, ok := a.(*relay.Tuple)
		if !ok {
			inner[i] = param(a)
			continue
		}
		fields := make([]relay.Expr, len(tuple.Fields))
		for j, f := range tuple.Fields {
			fields[j] = param(f)
		}
		inner[i] = relay.NewTuple(fields, tuple.Pos())
	}
	body, err := relay.NewCall(c.Op, inner, c.Attrs, c.Pos())
	if err != nil {
		return nil, nil, err
	}
	return relay.NewFunction(params, body, true, nil, c.Pos()), args, nil
}

// fingerprint returns a digest of what fn computes: operators, attributes, types and the constants inside it. The
// names of parameters do not count, so functions with equal fingerprints can share their kernels.
func fingerprint(fn *relay.Function) string {
	h := sha256.New()
	number := map[relay.Expr]int{}
	for i, p := range fn.Params {
		number[p] = i
		fmt.Fprintf(h, "param %v\n", p.Type())
	}
	for e := range relay.PostOrder(fn, true) {
		if _, known := number[e]; known {
			continue
		}
		number[e] = len(number)
		fmt.Fprintf(h, "%T", e)
		switch e := e.(type) {
		case *relay.Constant:
			fmt.Fprintf(h, " %v %x", e.Type(), sha256.Sum256(e.Value.Data))
		case *relay.Call:
			if e.Op != nil {
				fmt.Fprintf(h, " %s", e.Op.Name)
				for _, f := range relay.AttrFields(e.Attrs) {
					fmt.Fprintf(h, " %s=%v", f.Name, f.Value)
				}
			}
		case *relay.TupleGet:
			fmt.Fprintf(h, " %d", e.Index)
		}
		for _, o := range relay.Operands(e) {
			fmt.Fprintf(h, " %d", number[o])
		}
		fmt.Fprintln(h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// title returns a short name for a function: its operators in order, the uninteresting ones left out.
func title(fn *relay.Function) string {
	var parts []string
	for e := range relay.PostOrder(fn, false) {
		c, ok := e.(*relay.Call)
		if !ok || c.Op == nil {
			continue
		}
		name := c.Op.Name[strings.LastIndexByte(c.Op.Name, '.')+1:]
		if n := len(parts); n > 0 && parts[n-1] == name {
			continue
		}
		parts = append(parts, name)
	}
	const most = 4
	if len(parts) > most {
		parts = append(parts[:most-1], "and"+strconv.Itoa(len(parts)-most+1))
	}
	if len(parts) == 0 {
		return "copy"
	}
	return identifier(strings.Join(parts, "_"))
}

// identifier replaces what a symbol's name may not have.
func identifier(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// nodesOf returns the names of the model's nodes that fn computes, in order.
func nodesOf(fn *relay.Function) []string {
	var names []string
	seen := map[string]bool{"": true}
	for e := range relay.PostOrder(fn, false) {
		if _, ok := e.(*relay.Call); !ok {
			continue
		}
		if n := e.Pos().Node; !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	return names
}

// inPlaceParams returns the parameters whose memory fn may write its result into: no operator sums up, the parameter has the
// result's shape and width, and all that depends on it is computed element by element, so that element i is read only to
// compute element i.
func inPlaceParams(fn *relay.Function) []int {
	out := relay.Tensor(fn.Body)
	if out == nil {
		return nil
	}
	for e := range relay.PostOrder(fn, false) {
		switch e := e.(type) {
		case *relay.Call:
			if e.Op == nil || e.Op.Class > relay.Injective {
				return nil
			}
		case *relay.Function, *relay.Var, *relay.Constant, *relay.Tuple:
		default:
			return nil
		}
	}
	var all []int
	for i, p := range fn.Params {
		t := relay.Tensor(p)
		if t != nil && t.Shape.Equal(out.Shape) && t.DType.Bits() == out.DType.Bits() && alignedUses(fn, p, out) {
			all = append(all, i)
		}
	}
	return all
}

// alignedUses reports whether what is computed from p is computed element by element, and never broadcast: all has the
// result's shape.
func alignedUses(fn *relay.Function, p *relay.Var, out *relay.TensorType) bool {
	from := map[relay.Expr]bool{p: true}
	for e := range relay.PostOrder(fn, false) {
		for _, o := range relay.Operands(e) {
			if from[o] && e != relay.Expr(fn) {
				c, ok := e.(*relay.Call)
				if t := relay.Tensor(e); !ok || c.Op.Class > relay.Broadcast || t == nil || !t.Shape.Equal(out.Shape) {
					return false
				}
				from[e] = true
			}
		}
	}
	return true
}

// isView reports whether fn only gives its parameter another shape or another type: the bytes stay as they are.
func isView(fn *relay.Function) bool {
	if len(fn.Params) != 1 || fn.Body == relay.Expr(fn.Params[0]) {
		return false
	}
	e := fn.Body
	for e != relay.Expr(fn.Params[0]) {
		c, ok := e.(*relay.Call)
		if !ok || c.Op == nil || !keepsOrder(c) {
			return false
		}
		e = c.Args[0]
	}
	in, out := relay.Tensor(fn.Params[0]), relay.Tensor(fn.Body)
	return in != nil && out != nil && in.DType.Bytes(in.Shape.Elems()) == out.DType.Bytes(out.Shape.Elems())
}

// keepsOrder reports whether c leaves the elements in their row-major order: a reshape, or a transposition that moves
// only axes of extent 1.
func keepsOrder(c *relay.Call) bool {
	if len(c.Args) != 1 || relay.Tensor(c.Args[0]) == nil {
		return false
	}
	if c.Op.Name == "reinterpret" {
		return true
	}
	shape := relay.Tensor(c.Args[0]).Shape
	switch a := c.Attrs.(type) {
	case *relay.ReshapeAttrs, *relay.ExpandDimsAttrs, *relay.SqueezeAttrs:
		return true
	case *relay.TransposeAttrs:
		last := -1
		for i := range shape {
			axis := len(shape) - 1 - i
			if len(a.Axes) > 0 {
				axis = (a.Axes[i] + len(shape)) % len(shape)
			}
			if shape[axis] == 1 {
				continue
			}
			if axis < last {
				return false
			}
			last = axis
		}
		return true
	case *relay.LayoutTransformAttrs:
		from, err := tensor.ParseLayout(a.SrcLayout)
		to, err2 := tensor.ParseLayout(a.DstLayout)
		if err != nil || err2 != nil || !from.Plain() || !to.Plain() || from.Fits(shape) != nil {
			return false
		}
		last := -1
		for _, letter := range []byte(to.Letters()) {
			axis := from.Index(letter)
			if axis < 0 || shape[axis] == 1 {
				continue
			}
			if axis < last {
				return false
			}
			last = axis
		}
		return true
	}
	return false
}
