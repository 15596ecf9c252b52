package relaytext

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/params"
	"github.com/texel-ml/texel/tensor"
)

// metadata is the metadata section. It is ours (relay.TextMetadata), where data has digests, or the object graph of the
// older tool chain, where it stands in base64.
type metadata struct {
	pos    diag.Pos
	ours   relay.TextMetadata
	theirs bool
	arrays []func() (*tensor.Tensor, error) // of theirs, by number
	made   map[int]*relay.Constant          // constants, by number; nil for one with errors
}

// metadataAt returns where the metadata section begins, or -1.
func metadataAt(text string) int {
	const mark = "#[metadata]"
	for from := 0; ; {
		at := strings.Index(text[from:], mark)
		if at < 0 {
			return -1
		}
		at += from
		if line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]; strings.TrimSpace(line) == "" {
			return at
		}
		from = at + len(mark)
	}
}

// cutMetadata reads the metadata section, if there is one, and leaves the text before it.
func (r *reader) cutMetadata() {
	if at := metadataAt(r.text); at >= 0 {
		r.readMetadata(r.text, at)
		r.text = r.text[:at]
	}
}

// readMetadata reads the section that begins at a place of the text.
func (r *reader) readMetadata(text string, at int) {
	m := &r.meta
	before := text[:at]
	m.pos = diag.Pos{File: r.file, Line: 1 + strings.Count(before, "\n"), Col: at - strings.LastIndexByte(before, '\n')}
	m.made = map[int]*relay.Constant{}
	_, section, _ := strings.Cut(text[at:], "]")
	var keys map[string]json.RawMessage
	if err := json.Unmarshal([]byte(section), &keys); err != nil {
		r.fail(diag.Invalid(step, "metadata", "the section is no JSON object").By(err).At(m.pos))
		return
	}
	if m.theirs = keys["nodes"] != nil; m.theirs {
		var graph objectGraph
		if err := json.Unmarshal([]byte(section), &graph); err != nil {
			r.fail(diag.Invalid(step, "metadata", "the section is no graph of objects").By(err).At(m.pos))
			return
		}
		var err error
		if m.arrays, err = graph.constants(); err != nil {
			r.fail(diag.Invalid(step, "metadata", "%v", err).At(m.pos))
		}
		return
	}
	d := json.NewDecoder(strings.NewReader(section))
	d.DisallowUnknownFields()
	if err := d.Decode(&m.ours); err != nil {
		r.fail(diag.Invalid(step, "metadata", "the section does not say what it should").By(err).At(m.pos))
	}
}

// constant returns meta[relay.Constant][k], the same node each time, or nil.
func (r *reader) constant(m metaRef) relay.Expr {
	if m.kind != "relay.Constant" {
		r.fail(diag.Unsupported(step, "meta["+m.kind+"]", "only constants can be taken from the metadata section").At(m.pos))
		return nil
	}
	k, err := strconv.Atoi(m.index)
	n := len(r.meta.ours.Constants) + len(r.meta.arrays)
	if err != nil || k >= n {
		r.fail(diag.Invalid(step, "meta[relay.Constant]["+m.index+"]", "the metadata section has %d constants", n).At(m.pos))
		return nil
	}
	c, made := r.meta.made[k]
	if !made {
		c = r.makeConstant(k, m.pos)
		r.meta.made[k] = c
	}
	if c == nil {
		return nil
	}
	return c
}

func (r *reader) makeConstant(k int, pos diag.Pos) *relay.Constant {
	node := fmt.Sprintf("meta[relay.Constant][%d]", k)
	if r.meta.theirs {
		t, err := r.meta.arrays[k]()
		if err != nil {
			r.fail(diag.Invalid(step, node, "the constant cannot be read").By(err).At(pos))
			return nil
		}
		return relay.NewConstant(t, "", pos)
	}
	info := r.meta.ours.Constants[k]
	t := r.data(info, node, pos)
	if t == nil {
		return nil
	}
	return relay.NewConstant(t, info.Name, pos)
}

// data returns the data of a constant of our metadata, or nil.
func (r *reader) data(info relay.ConstantInfo, node string, pos diag.Pos) *tensor.Tensor {
	if n := info.Shape.Elems(); n < 0 || info.DType.Bits() == 0 {
		r.fail(diag.Invalid(step, node, "has %v elements of shape %v", info.DType, info.Shape).At(pos))
		return nil
	}
	var t *tensor.Tensor
	if r.o.Constant != nil {
		var err error
		if t, err = r.o.Constant(info); err != nil {
			r.fail(diag.Invalid(step, node, "the data cannot be read").By(err).At(pos))
			return nil
		}
	}
	switch {
	case t == nil:
		r.fail(diag.Invalid(step, node, "the data of %q, %v of shape %v, is not here: nothing has the SHA-256 %s", info.Name, info.DType, info.Shape, info.SHA256).At(pos))
		return nil
	case t.DType != info.DType || !t.Shape.Equal(info.Shape):
		r.fail(diag.Invalid(step, node, "the data is %v of shape %v, wanted %v of shape %v", t.DType, t.Shape, info.DType, info.Shape).At(pos))
		return nil
	}
	return t
}

// objectGraph is the JSON form of the older tool chain's objects: nodes refer to each other by number.
type objectGraph struct {
	Root  int `json:"root"`
	Nodes []struct {
		Type  string            `json:"type_key"`
		Attrs map[string]string `json:"attrs"`
		Keys  []string          `json:"keys"`
		Data  []int             `json:"data"`
	} `json:"nodes"`
	Arrays []string `json:"b64ndarrays"`
}

// constants returns the arrays of meta[relay.Constant] in order; each is decoded when it is asked for.
func (g *objectGraph) constants() ([]func() (*tensor.Tensor, error), error) {
	inside := func(i int) bool { return i >= 0 && i < len(g.Nodes) }
	if !inside(g.Root) {
		return nil, fmt.Errorf("the root is node %d of %d", g.Root, len(g.Nodes))
	}
	root := &g.Nodes[g.Root]
	for i, key := range root.Keys {
		if key != "relay.Constant" {
			continue
		}
		if i >= len(root.Data) || !inside(root.Data[i]) {
			return nil, fmt.Errorf("the root has no list of constants")
		}
		var list []func() (*tensor.Tensor, error)
		for _, at := range g.Nodes[root.Data[i]].Data {
			if !inside(at) || g.Nodes[at].Type != "relay.Constant" {
				return nil, fmt.Errorf("node %d is no constant", at)
			}
			k, err := strconv.Atoi(g.Nodes[at].Attrs["data"])
			if err != nil || k < 0 || k >= len(g.Arrays) {
				return nil, fmt.Errorf("node %d has array %q of %d", at, g.Nodes[at].Attrs["data"], len(g.Arrays))
			}
			list = append(list, func() (*tensor.Tensor, error) {
				data, err := base64.StdEncoding.DecodeString(g.Arrays[k])
				if err != nil {
					return nil, err
				}
				return params.ReadArray(data)
			})
		}
		return list, nil
	}
	return nil, nil
}
