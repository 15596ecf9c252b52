package onnx

import (
	"context"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	pb "github.com/texel-ml/texel/relay/importer/onnx/onnxpb"
)

const (
	// maxNodes bounds the nodes converted, those of inlined functions and unrolled loops counted.
	maxNodes = 400_000
	// maxNesting bounds functions within functions and graphs within graphs.
	maxNesting = 32
	// newestOpset is the newest version of the default domain that the rows were written for.
	newestOpset = 28
)

// importer is the state of one import.
type importer struct {
	ctx        context.Context
	src        *source
	opts       Options
	notes      *diag.Notes
	dims       map[string]int // dim_param to extent
	batch      string         // the name of the dimension that was taken for a batch
	functions  map[functionKey]*pb.FunctionProto
	rows       map[rowKey]*row
	irVersion  int64
	main       *pb.GraphProto
	mainOpsets map[string]int64
	static     map[relay.Expr]relay.Value // what evaluate found
	extents    map[relay.Expr]extent      // values with an axis of bounded extent
	unknown    map[relay.Expr]error       // parameters of branches and loops, and why their value is not known
	ranges     map[relay.Expr]interval    // of the rounds of loops
	loops      map[*pb.NodeProto]bool     // that are loops of the compiled model
	nodes      int
	work       int // nodes, those counted that were converted in vain
	nesting    int
}

type functionKey struct{ domain, name, overload string }

// scope is the names of one graph or function body.
type scope struct {
	parent   *scope // the graph around a subgraph, nil in a function
	values   map[string]relay.Expr
	opsets   map[string]int64
	attrs    map[string]*pb.AttributeProto // the attributes of the function call
	function bool
	capture  func(name string, e relay.Expr) relay.Expr // of a region: what stands in it for a value of the scopes around
}

func (s *scope) lookup(name string) (relay.Expr, bool) {
	if e, ok := s.values[name]; ok || s.parent == nil {
		return e, ok
	}
	e, ok := s.parent.lookup(name) // graphs nest no deeper than maxNesting
	if ok && s.capture != nil {
		e = s.capture(name, e)
	}
	return e, ok
}

// inner returns the scope of a subgraph.
func (s *scope) inner() *scope {
	return &scope{parent: s, values: map[string]relay.Expr{}, opsets: s.opsets, attrs: s.attrs}
}

func (im *importer) pos(node string) diag.Pos { return diag.Pos{File: im.src.name, Node: node} }

// domainOf returns the canonical name of a domain; the default domain is "".
func domainOf(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}

func (im *importer) opsets(list []*pb.OperatorSetIdProto, what string) (map[string]int64, error) {
	opsets := map[string]int64{}
	for _, o := range list {
		domain := domainOf(o.GetDomain())
		if o.GetVersion() < 0 {
			return nil, diag.Invalid(step, what, "opset version %d of domain %q", o.GetVersion(), domain).At(im.pos(""))
		}
		opsets[domain] = max(opsets[domain], o.GetVersion())
	}
	if len(list) == 0 {
		opsets[""] = 1
	}
	if v := opsets[""]; v > newestOpset {
		im.notes.Add(diag.Fallback, step, what, "opset %d is newer than %d, the newest known: read as %d", v, newestOpset, newestOpset)
		opsets[""] = newestOpset
	}
	return opsets, nil
}

// graph converts the initialisers and nodes of g, whose inputs are in sc already, and returns its outputs.
func (im *importer) graph(sc *scope, g *pb.GraphProto) ([]relay.Expr, error) {
	if im.nesting++; im.nesting > maxNesting {
		return nil, diag.Invalid(step, g.GetName(), "graphs and functions nest deeper than %d", maxNesting).At(im.pos(""))
	}
	defer func() { im.nesting-- }()
	if err := im.initializers(sc, g); err != nil {
		return nil, err
	}
	if err := im.body(sc, g.GetNode()); err != nil {
		return nil, err
	}
	outputs := make([]relay.Expr, len(g.GetOutput()))
	for i, o := range g.GetOutput() {
		e, ok := sc.lookup(o.GetName())
		if !ok {
			return nil, diag.Invalid(step, o.GetName(), "no node gives this output").At(im.pos(""))
		}
		if err := im.checkDeclared(o, e); err != nil {
			return nil, err
		}
		outputs[i] = e
	}
	return outputs, nil
}

// checkDeclared refuses a value whose element type is not the one that the model says.
func (im *importer) checkDeclared(o *pb.ValueInfoProto, e relay.Expr) error {
	t := relay.Tensor(e)
	declared := o.GetType().GetTensorType().GetElemType()
	if t == nil || declared == 0 {
		return nil
	}
	d, err := dtype(declared, o.GetName(), im.pos(""))
	if err != nil {
		return err
	}
	if d != t.DType {
		return diag.Invalid(step, o.GetName(), "the model says that this output is %v, found %v", d, t.DType).At(im.pos(""))
	}
	return nil
}

func (im *importer) initializers(sc *scope, g *pb.GraphProto) error {
	seen := map[string]bool{}
	define := func(name string, get func() (*relay.Constant, error)) error {
		if seen[name] {
			return diag.Invalid(step, name, "two initialisers have this name").At(im.pos(""))
		}
		seen[name] = true
		if _, bound := sc.values[name]; bound {
			return nil // an input with a default value, or a bound one
		}
		c, err := get()
		if err == nil {
			sc.values[name] = c
		}
		return err
	}
	for _, p := range g.GetInitializer() {
		err := define(p.GetName(), func() (*relay.Constant, error) {
			t, err := im.src.tensor(p, "initialiser "+quote(p.GetName()), im.pos(""))
			if err != nil {
				return nil, err
			}
			return relay.NewConstant(t, p.GetName(), im.pos(p.GetName())), nil
		})
		if err != nil {
			return err
		}
	}
	for _, p := range g.GetSparseInitializer() {
		name := p.GetValues().GetName()
		err := define(name, func() (*relay.Constant, error) {
			t, err := im.src.sparse(p, "sparse initialiser "+quote(name), im.pos(""))
			if err != nil {
				return nil, err
			}
			return relay.NewConstant(t, name, im.pos(name)), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// body converts nodes in order.
func (im *importer) body(sc *scope, nodes []*pb.NodeProto) error {
	for _, p := range nodes {
		if err := im.node(sc, p); err != nil {
			return err
		}
	}
	return nil
}

// node converts one node and defines its outputs.
func (im *importer) node(sc *scope, p *pb.NodeProto) error {
	if err := im.ctx.Err(); err != nil {
		return err
	}
	n := &node{im: im, scope: sc, proto: p, domain: domainOf(p.GetDomain()), pos: im.pos(nameOf(p))}
	if err := n.count(1); err != nil {
		return err
	}
	for i, name := range p.GetInput() {
		if name == "" {
			n.args = append(n.args, nil)
			continue
		}
		e, ok := sc.lookup(name)
		if !ok {
			return diag.Invalid(step, nameOf(p), "operand %d is %q, which no input, initialiser or earlier node gives: a cycle, or nodes out of order", i, name).At(n.pos)
		}
		n.args = append(n.args, e)
	}
	if err := n.readAttributes(); err != nil {
		return err
	}
	results, err := n.convert()
	if err != nil {
		return err
	}
	for i, name := range p.GetOutput() {
		if name == "" {
			continue
		}
		if i >= len(results) || results[i] == nil {
			return n.unsupported("output %d, %q, of %s is not done here", i, name, p.GetOpType())
		}
		if _, twice := sc.values[name]; twice {
			return diag.Invalid(step, nameOf(p), "%q is given twice: an input, initialiser or earlier node has this name", name).At(n.pos)
		}
		sc.values[name] = results[i]
	}
	return nil
}

// count counts nodes that are converted.
func (n *node) count(nodes int) error {
	n.im.nodes, n.im.work = n.im.nodes+nodes, n.im.work+nodes
	if n.im.nodes > maxNodes || n.im.work > 2*maxNodes {
		return n.unsupported("more than %d nodes after functions and loops are unrolled", maxNodes)
	}
	return nil
}

// convert finds the function or the row for the node and applies it.
func (n *node) convert() (results []relay.Expr, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = f.err
		}
	}()
	op := n.proto.GetOpType()
	if f := n.im.functions[functionKey{n.domain, op, n.proto.GetOverload()}]; f != nil {
		return n.im.inline(n, f)
	}
	version, imported := n.scope.opsets[n.domain]
	if !imported && n.domain == "" {
		return nil, diag.Invalid(step, n.pos.Node, "the model uses %s but imports no opset of the default domain", op).At(n.pos)
	}
	key := rowKey{n.domain, op}
	r := n.im.rows[key]
	if r == nil {
		return nil, n.unknown()
	}
	n.opset = max(int(version), 1)
	if s := schemaOf(key, n.opset); s != nil {
		n.checkSchema(s)
	}
	if i := slices.IndexFunc(n.args, func(e relay.Expr) bool { return e != nil && relay.Tensor(e) == nil }); i >= 0 {
		return nil, n.unsupported("operand %d is no tensor", i)
	}
	results = r.convert(n)
	n.checkRows(results)
	return results, nil
}

// inline converts the body of a model-local function in a scope of its own.
func (im *importer) inline(n *node, f *pb.FunctionProto) ([]relay.Expr, error) {
	if im.nesting++; im.nesting > maxNesting {
		return nil, diag.Invalid(step, n.pos.Node, "functions nest deeper than %d, or call each other in a circle: %s", maxNesting, f.GetName()).At(n.pos)
	}
	defer func() { im.nesting-- }()
	opsets, err := im.opsets(f.GetOpsetImport(), f.GetName())
	if err != nil {
		return nil, err
	}
	sc := &scope{values: map[string]relay.Expr{}, opsets: opsets, attrs: map[string]*pb.AttributeProto{}, function: true}
	if len(n.args) > len(f.GetInput()) {
		return nil, diag.Invalid(step, n.pos.Node, "function %s takes %d operands, found %d", f.GetName(), len(f.GetInput()), len(n.args)).At(n.pos)
	}
	for i, name := range f.GetInput() {
		if i < len(n.args) && n.args[i] != nil {
			sc.values[name] = n.args[i]
		}
	}
	for _, a := range f.GetAttributeProto() {
		sc.attrs[a.GetName()] = a
	}
	for _, name := range f.GetAttribute() {
		delete(sc.attrs, name)
	}
	for name, a := range n.attrs {
		sc.attrs[name] = a
	}
	if err := im.body(sc, f.GetNode()); err != nil {
		return nil, err
	}
	var out []relay.Expr
	for _, name := range f.GetOutput() {
		e, ok := sc.values[name]
		if !ok {
			return nil, diag.Invalid(step, n.pos.Node, "no node of function %s gives its output %q", f.GetName(), name).At(n.pos)
		}
		out = append(out, e)
	}
	return out, nil
}

// nameOf returns what to call a node: its name, else its first output.
func nameOf(p *pb.NodeProto) string {
	if p.GetName() != "" {
		return p.GetName()
	}
	for _, o := range p.GetOutput() {
		if o != "" {
			return o
		}
	}
	return p.GetOpType()
}

func quote(s string) string { return `"` + strings.ToValidUTF8(s, "?") + `"` }
