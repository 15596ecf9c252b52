package onnx

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/texel-ml/texel/diag"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
)

// TestEveryOperatorHasARowOrAReason holds the table against the format.
func TestEveryOperatorHasARowOrAReason(t *testing.T) {
	rows := rowsByName()
	for key := range schemas {
		if rows[key] == nil {
			require.NotEmpty(t, refused[key.name], "operator %s of domain %q has no row, and no reason why", key.name, key.domain)
		}
	}
	for key := range rows {
		require.NotNil(t, schemas[key], "operator %s of domain %q is not in the format", key.name, key.domain)
	}
	for name := range refused {
		require.Nil(t, rows[rowKey{"", name}], "%s is refused and has a row", name)
		require.NotNil(t, schemas[rowKey{"", name}], "%s is not in the format", name)
	}
}

// TestSchemasAreInOrder checks what the generator wrote.
func TestSchemasAreInOrder(t *testing.T) {
	for key, list := range schemas {
		for i, s := range list {
			require.True(t, i == 0 || s.since > list[i-1].since, "%v", key)
			require.True(t, i == len(list)-1 || s.types == "", "%v: only the newest version has types", key)
			require.True(t, s.in[1] < 0 || s.in[0] <= s.in[1], "%v", key)
			for _, a := range strings.Fields(s.attrs) {
				_, kind, _ := strings.Cut(a, ":")
				require.Contains(t, attributeTypes, kind, "%v", key)
			}
		}
	}
	require.Nil(t, schemaOf(rowKey{"mine", "Add"}, 1))
	require.Equal(t, 6, schemaOf(rowKey{"", "Clip"}, 10).since)
	require.Equal(t, 17, schemaOf(rowKey{"", "LayerNormalization"}, 12).since, "before its time")
	require.Equal(t, 13, schemaOf(rowKey{"", "Clip"}, 99).since)
}

func TestNodesAreHeldAgainstTheFormat(t *testing.T) {
	x := values(value("x", 1, 2, 3))
	for _, c := range []struct {
		opset int64
		node  *pb.NodeProto
		text  string
	}{
		{17, op("Add", names("x"), names("y")), `node "Add_node": import: Add: 1 operands, wanted 2`},
		{17, op("Clip", names("x", "x", "x", "x"), names("y")), "4 operands, wanted 1 to 3"},
		{17, op("Sum", names(), names("y")), "0 operands, wanted 1 or more"},
		{17, op("Relu", names("x"), names("y", "z")), "2 results, wanted 1"},
		{17, op("Relu", names("x", "", ""), names("y")), ""}, // trailing operands that are left out
		{17, op("Relu", names("x"), names("y"), attr("alpha", 1.0)), `attribute "alpha" does not exist in opset 17; there are: none`},
		{17, op("Relu", names("x"), names("y"), attr("__tool", 1.0)), ""}, // a tool's own
		{17, op("LeakyRelu", names("x"), names("y"), attr("alfa", 1.0)), `attribute "alfa" does not exist in opset 17; there are: alpha`},
		{17, op("LeakyRelu", names("x"), names("y"), attr("alpha", 1)), `attribute "alpha" has type INT, wanted FLOAT`},
		{17, op("Softmax", names("x"), names("y"), attr("axis", "1")), `attribute "axis" has type STRING, wanted INT`},
		{6, op("Add", names("x", "x"), names("y"), attr("broadcast", 1)), ""},
		{7, op("Add", names("x", "x"), names("y"), attr("broadcast", 1)), `attribute "broadcast" does not exist in opset 7`},
	} {
		m := model(c.opset, graphOf(x, values(value("y", 1)), c.node))
		if c.text == "" {
			load(t, m, Options{})
			continue
		}
		refuse(t, m, Options{}, diag.ErrInvalid, c.text)
	}
}

// TestUnknownOperatorsAreNamedAtOnce has them in the graph, in branches and in functions, called twice.
func TestUnknownOperatorsAreNamedAtOnce(t *testing.T) {
	foreign := func(name, domain string, in, out string) *pb.NodeProto {
		n := op(name, names(in), names(out))
		n.Name, n.Domain = proto.String(out), proto.String(domain)
		return n
	}
	f := &pb.FunctionProto{Name: proto.String("Own"), Domain: proto.String("mine"), Input: names("a"), Output: names("b"),
		OpsetImport: []*pb.OperatorSetIdProto{{Domain: proto.String("theirs"), Version: proto.Int64(4)}},
		Node:        []*pb.NodeProto{foreign("Deep", "theirs", "a", "b")}}
	branch := graphOf(nil, values(value("r", 1)), foreign("Branched", "theirs", "x", "r"))
	m := model(17, graphOf(values(value("x", 1, 2)), values(value("y", 1)),
		op("Relu", names("x"), names("r0")),
		foreign("Other", "theirs", "r0", "n1"), foreign("StringSplit", "", "n1", "n2"), foreign("Other", "theirs", "n2", "n3"),
		foreign("Own", "mine", "n3", "n4"), foreign("Own", "mine", "n4", "n5"), foreign("Other", "theirs", "n5", "n6"),
		op("If", names("c"), names("y"), attr("then_branch", branch), attr("else_branch", branch))))
	m.OpsetImport = append(m.OpsetImport, &pb.OperatorSetIdProto{Domain: proto.String("theirs"), Version: proto.Int64(3)})
	m.Functions = []*pb.FunctionProto{f}
	refuse(t, m, Options{}, diag.ErrUnsupported, `node "n1": import: Other: this operator of domain "theirs", opset 3, is not supported (and 2 nodes); not done either: `+
		`operator StringSplit: text is not done here (1 node, the first is "n2"), operator Deep of domain "theirs", opset 4 (1 node, the first is "b"), `+
		`operator Branched of domain "theirs", opset 3 (2 nodes, the first is "r")`)

	m.Graph.Node = m.Graph.Node[:2]
	m.Graph.Output = values(value("n1", 1))
	_, _, err := ImportBytes(t.Context(), "m", bytesOf(t, m), Options{})
	require.EqualError(t, err, `m: node "n1": import: Other: this operator of domain "theirs", opset 3, is not supported`)

	m.Graph.Node[1] = foreign("RandomNormalLike", "", "r0", "n1")
	_, _, err = ImportBytes(t.Context(), "m", bytesOf(t, m), Options{})
	require.EqualError(t, err, `m: node "n1": import: RandomNormalLike: this operator is not supported: the result is a random draw`)

	for i := range 30 {
		m.Graph.Node = append(m.Graph.Node, foreign("Kind"+string(rune('A'+i)), "theirs", "n1", "k"+string(rune('A'+i))))
	}
	refuse(t, m, Options{}, diag.ErrUnsupported, `operator KindT of domain "theirs", opset 3 (1 node, the first is "kT"), 10 more operators`)
}

func TestTheGeneratedNamesAreSorted(t *testing.T) {
	for key, list := range schemas {
		for _, s := range list {
			require.True(t, slices.IsSorted(strings.Fields(s.attrs)), "%v", key)
		}
	}
}
