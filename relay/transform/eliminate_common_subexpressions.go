package transform

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/texel-ml/texel/relay"
)

// hashed bounds the bytes of constants that are compared: large ones are rarely equal, and hashing them takes time.
const hashed = 64 << 10

// EliminateCommonSubexpressions makes one node of nodes that compute the same: equal operators with equal attributes on
// the same operands, and equal constants.
func EliminateCommonSubexpressions(_ context.Context, m *relay.Module, o *Options) (*relay.Module, error) {
	return rewriteExpr("eliminate-common-subexpressions", m, o, newCommon().node)
}

// common knows the nodes of one walk by what they compute.
type common struct {
	known  map[string]relay.Expr
	number map[relay.Expr]int
}

func newCommon() *common {
	return &common{known: map[string]relay.Expr{}, number: map[relay.Expr]int{}}
}

func (k *common) id(e relay.Expr) int {
	if _, ok := k.number[e]; !ok {
		k.number[e] = len(k.number)
	}
	return k.number[e]
}

// node returns the first node that computes what e computes.
func (k *common) node(r *rewriter, e relay.Expr) (relay.Expr, error) {
	var key strings.Builder
	switch e := e.(type) {
	case *relay.Constant:
		if len(e.Value.Data) > hashed {
			return nil, nil
		}
		fmt.Fprintf(&key, "constant %v %v %x", e.Value.DType, e.Value.Shape, sha256.Sum256(e.Value.Data))
	case *relay.Call:
		if e.Op == nil {
			return nil, nil
		}
		fmt.Fprintf(&key, "call %s %s", e.Op.Name, attrsKey(e.Attrs))
		for _, a := range e.Args {
			fmt.Fprintf(&key, " %d", k.id(a))
		}
	case *relay.Tuple:
		key.WriteString("tuple")
		for _, f := range e.Fields {
			fmt.Fprintf(&key, " %d", k.id(f))
		}
	case *relay.TupleGet:
		fmt.Fprintf(&key, "field %d of %d", e.Index, k.id(e.Tuple))
	default:
		return nil, nil
	}
	first, ok := k.known[key.String()]
	if !ok || !relay.TypeEqual(first.Type(), e.Type()) {
		k.known[key.String()] = e
		return nil, nil
	}
	if _, isCall := e.(*relay.Call); isCall && first != e {
		r.note("computes what %s computes", first.Pos().Node)
	}
	return first, nil
}
