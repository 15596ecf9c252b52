package onnx

import (
	"slices"
	"strings"

	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
)

//go:generate python3 schemas.py

// schema is what the format says of an operator from one version on.
type schema struct {
	since int    // the version of the operator's domain
	in    [2]int // the fewest and the most operands; -1: any number
	out   [2]int // likewise of results
	attrs string // "name:TYPE" of each attribute, sorted
	types string // the element types of the first operand, or result; of the newest version only
}

// schemaOf returns what holds in a version, nil for operators that the format does not describe. Before the first version it is
// that one: converters write operators before their time.
func schemaOf(key rowKey, version int) *schema {
	list := schemas[key]
	if len(list) == 0 {
		return nil
	}
	at := slices.IndexFunc(list, func(s schema) bool { return s.since > version })
	switch at {
	case -1:
		at = len(list)
	case 0:
		at = 1
	}
	return &list[at-1]
}

// attributeTypes are the names of the types of attributes as schemas have them.
var attributeTypes = map[string]pb.AttributeProto_Type{
	"FLOAT": pb.AttributeProto_FLOAT, "INT": pb.AttributeProto_INT, "STRING": pb.AttributeProto_STRING, "TENSOR": pb.AttributeProto_TENSOR,
	"GRAPH": pb.AttributeProto_GRAPH, "SPARSE_TENSOR": pb.AttributeProto_SPARSE_TENSOR, "TYPE_PROTO": pb.AttributeProto_TYPE_PROTO,
	"FLOATS": pb.AttributeProto_FLOATS, "INTS": pb.AttributeProto_INTS, "STRINGS": pb.AttributeProto_STRINGS, "TENSORS": pb.AttributeProto_TENSORS,
	"GRAPHS": pb.AttributeProto_GRAPHS,
}

// checkSchema holds the node against the format: the number of its operands and results, and the names and types of its
// attributes. Names that begin with two underscores are converters' own.
func (n *node) checkSchema(s *schema) {
	for _, c := range []struct {
		what  string
		names []string
		limit [2]int
	}{
		{"operands", n.proto.GetInput(), s.in},
		{"results", n.proto.GetOutput(), s.out},
	} {
		have := len(c.names)
		for have > 0 && c.names[have-1] == "" {
			have--
		}
		switch low, high := c.limit[0], c.limit[1]; {
		case have >= low && (high < 0 || have <= high):
		case high < 0:
			n.failInvalid("%d %s, wanted %d or more", have, c.what, low)
		case low == high:
			n.failInvalid("%d %s, wanted %d", have, c.what, low)
		default:
			n.failInvalid("%d %s, wanted %d to %d", have, c.what, low, high)
		}
	}
	known := strings.Fields(s.attrs)
	for _, a := range n.proto.GetAttribute() {
		name := a.GetName()
		if strings.HasPrefix(name, "__") || n.attrs[name] == nil {
			continue
		}
		i := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, name+":") })
		if i < 0 {
			n.failInvalid("attribute %q does not exist in opset %d; there are: %s", name, n.opset, s.attributeNames())
		}
		n.attr(name, attributeTypes[known[i][len(name)+1:]])
	}
}

func (s *schema) attributeNames() string {
	var names []string
	for _, k := range strings.Fields(s.attrs) {
		name, _, _ := strings.Cut(k, ":")
		names = append(names, name)
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}
