package texel

import (
	"bytes"
	"context"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
)

// graphEntry is the entry of an artifact with the graph of a variant as the graph passes left it.
func graphEntry(variant int) string { return "graph/" + strconv.Itoa(variant) + ".relay" }

// writeGraph adds the graph of v. The data of its constants is in segments of the artifact: the weights, and small ones that
// are parts of kernels.
func (v *variant) writeGraph(w *artifact.Writer, number int) error {
	var err error
	text := relay.PrintOptions{Spans: true, Digest: func(t *tensor.Tensor) string {
		if digest, ok := v.digests[t]; ok {
			return digest
		}
		digest, werr := w.Weight(t.Data)
		if err == nil {
			err = werr
		}
		return digest
	}}.Print(v.module)
	if err != nil {
		return err
	}
	return w.File(graphEntry(number), []byte(text))
}

// CheckArtifact is Compiled.Check for the artifact at path, of the variant that Load takes. Its graph is read from the
// artifact, lowered and planned anew. An artifact does not hold the model's own weights, so outputs are compared with the
// graph as the graph passes left it.
//
// Errors are those of Load and Check, and ErrUnsupported for an artifact that cannot be planned anew: of an extension, or of
// a version that planned otherwise or kept no graph.
func CheckArtifact(ctx context.Context, path string, o CheckOptions) (r *Report, err error) {
	m, err := Load(path, LoadOptions{Threads: o.Threads, Device: o.Device, Batch: o.Batch})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	j := &job{notes: &diag.Notes{}}
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, diag.Internal("check", path, "%v\n%s", p, debug.Stack())
		}
	}()
	v, err := j.planAnew(ctx, m)
	if err != nil {
		return nil, err
	}
	return check(ctx, v, m, v.module, o)
}

// planAnew makes the variant that m runs from the graph in its artifact, without code.
func (j *job) planAnew(ctx context.Context, m *Model) (*variant, error) {
	file, manifest := m.module.File(), m.module.Manifest()
	for _, s := range manifest.Options {
		if s.Name == "extension" {
			return nil, diag.Unsupported("check", manifest.Model.Name, "compiled with the extension %q, which is not here", s.Value)
		}
	}
	entry := graphEntry(slices.IndexFunc(manifest.Variants, func(v artifact.Variant) bool { return v.Name == m.module.Variant().Name }))
	text, ok := file.Entry(entry)
	if !ok {
		return nil, diag.Unsupported("check", entry, "the artifact holds no graph; check the model")
	}
	t, err := target.Parse(m.module.Variant().Target)
	if err != nil {
		return nil, err
	}
	v := &variant{target: t, features: t.Features}
	v.module, err = relaytext.Parse(entry, string(text), relaytext.Options{Constant: func(info relay.ConstantInfo) (*tensor.Tensor, error) {
		data, ok := file.Segment(info.SHA256)
		if !ok {
			return nil, nil
		}
		constant := &tensor.Tensor{DType: info.DType, Shape: info.Shape, Data: data}
		return constant, constant.Check()
	}})
	if err != nil {
		return nil, err
	}
	if err := j.plan(ctx, v); err != nil {
		return nil, err
	}
	for _, ports := range [][2][]artifact.Port{{v.plan.Inputs, m.Plan().Inputs}, {v.plan.Outputs, m.Plan().Outputs}} {
		for i := range min(len(ports[0]), len(ports[1])) {
			ports[0][i].Open = ports[1][i].Open // what the model as imported shows
		}
	}
	same, err := samePlan(v.plan, m.Plan())
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, diag.Unsupported("check", entry, "version %s, which made the artifact, planned the graph otherwise than this one; check the model",
			manifest.Producer.Version)
	}
	return v, nil
}

// samePlan reports whether two plans are the same but for the notes, which tell of the steps before too.
func samePlan(a, b *artifact.Plan) (bool, error) {
	var texts [2][]byte
	for i, p := range []*artifact.Plan{a, b} {
		plain := *p
		plain.Notes = nil
		var err error
		if texts[i], err = plain.Encode(); err != nil {
			return false, err
		}
	}
	return bytes.Equal(texts[0], texts[1]), nil
}
