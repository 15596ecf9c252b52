package onnx

import (
	"fmt"
	"strings"

	"github.com/texel-ml/texel/diag"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
)

// maxListed bounds the operators that one error names.
const maxListed = 20

// unknown is the error for a node whose operator has no row. It names every other operator of the model that has none, so
// that one look shows what a model needs; a branch that is not taken may hold some of them.
func (n *node) unknown() error {
	u := &unknowns{im: n.im, seen: map[functionKey]bool{}, counts: map[opUse]int{}, first: map[opUse]string{}}
	mine := opUse{n.domain, n.proto.GetOpType(), n.scope.opsets[n.domain]}
	u.nodes(n.im.main.GetNode(), n.im.mainOpsets)
	if u.counts[mine] == 0 { // in a function that is called elsewhere with other versions
		u.note(mine, n.proto)
	}
	text := mine.why()
	if more := u.counts[mine] - 1; more > 0 {
		text += fmt.Sprintf(" (and %s)", nodes(more))
	}
	var others []string
	for _, use := range u.order {
		if use == mine {
			continue
		}
		if len(others) == maxListed {
			others = append(others, fmt.Sprintf("%d more operators", len(u.order)-1-maxListed))
			break
		}
		others = append(others, fmt.Sprintf("%s (%s, the first is %s)", use, nodes(u.counts[use]), quote(u.first[use])))
	}
	if len(others) > 0 {
		text += "; not done either: " + strings.Join(others, ", ")
	}
	return diag.Unsupported(step, n.proto.GetOpType(), "%s", text).At(n.pos)
}

func nodes(count int) string {
	if count == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", count)
}

// opUse is an operator as a model uses it.
type opUse struct {
	domain, name string
	opset        int64
}

// String names the operator, with the reason why it is not done where there is one.
func (u opUse) String() string {
	if why := refused[u.name]; why != "" && u.domain == "" {
		return fmt.Sprintf("operator %s: %s", u.name, why)
	}
	return fmt.Sprintf("operator %s of domain %q, opset %d", u.name, u.domain, u.opset)
}

// why says why the operator is not done, behind its name.
func (u opUse) why() string {
	if why := refused[u.name]; why != "" && u.domain == "" {
		return "this operator is not supported: " + why
	}
	return fmt.Sprintf("this operator of domain %q, opset %d, is not supported", u.domain, u.opset)
}

// unknowns collects the operators without a row of a graph, its subgraphs and the functions that it calls.
type unknowns struct {
	im     *importer
	seen   map[functionKey]bool
	counts map[opUse]int
	first  map[opUse]string // node
	order  []opUse
}

func (u *unknowns) note(use opUse, p *pb.NodeProto) {
	if u.counts[use]++; u.counts[use] > 1 {
		return
	}
	u.first[use], u.order = nameOf(p), append(u.order, use)
}

func (u *unknowns) nodes(list []*pb.NodeProto, opsets map[string]int64) {
	for _, p := range list {
		domain := domainOf(p.GetDomain())
		key := functionKey{domain, p.GetOpType(), p.GetOverload()}
		f := u.im.functions[key]
		switch {
		case f != nil && !u.seen[key]:
			u.seen[key] = true
			if inner, err := u.im.opsets(f.GetOpsetImport(), f.GetName()); err == nil {
				u.nodes(f.GetNode(), inner)
			}
		case f == nil && u.im.rows[rowKey{domain, p.GetOpType()}] == nil:
			u.note(opUse{domain, p.GetOpType(), opsets[domain]}, p)
		}
		for _, a := range p.GetAttribute() {
			if a.GetG() != nil {
				u.nodes(a.GetG().GetNode(), opsets)
			}
			for _, g := range a.GetGraphs() {
				u.nodes(g.GetNode(), opsets)
			}
		}
	}
}
