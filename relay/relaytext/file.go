package relaytext

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/antlr4-go/antlr/v4"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/params"
	"github.com/texel-ml/texel/relay/relaytext/grammar"
	"github.com/texel-ml/texel/tensor"
)

// maxFile bounds a text with its metadata section, which may hold weights in base64.
const maxFile = 4 << 30

// Import reads the model in the file at path, X.relay, with what lies beside it: the data of its constants in
// X.relay.npz, by SHA-256, and values of its inputs in X.params or X.relay.params, by name. Its functions are inlined,
// and branches are functions of their own (relay.CloseBranches). The Constant and Params of o are set here. Errors are those of Parse and Inline, and ErrInvalid for files that cannot be read.
func Import(ctx context.Context, path string, o Options) (*relay.Module, error) {
	text, err := readText(path)
	if err != nil {
		return nil, err
	}
	if o.Constant, err = archive(path + ".npz"); err != nil {
		return nil, err
	}
	if o.Params, err = readParams(paramFiles(path)...); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := Parse(path, text, o)
	if err != nil {
		return nil, err
	}
	if m, err = Inline(m); err != nil {
		return nil, err
	}
	m.Funcs["main"], err = relay.CloseBranches(m.Main())
	return m, err
}

// paramFiles are the files that may hold the parameters of the model at path; the first that is there does.
func paramFiles(path string) []string {
	return []string{strings.TrimSuffix(path, ".relay") + ".params", path + ".params"}
}

// Files returns the files that Import reads beside the one at path, those that are there.
func Files(path string) []string {
	var files []string
	if exists(path + ".npz") {
		files = append(files, path+".npz")
	}
	if at := slices.IndexFunc(paramFiles(path), exists); at >= 0 {
		files = append(files, paramFiles(path)[at])
	}
	return files
}

// Arrays returns the arrays that the text of m refers to by their digest, named by it: what Import reads in X.relay.npz.
// Those of element types that NumPy does not have are their bytes.
func Arrays(m *relay.Module) []npy.Named {
	var arrays []npy.Named
	seen := map[string]bool{}
	add := func(t *tensor.Tensor) {
		if digest := relay.Digest(t); !seen[digest] {
			seen[digest] = true
			if t.DType == tensor.BFloat16 || t.DType.IsStorage() {
				t = &tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(t.Data)}, Data: t.Data}
			}
			arrays = append(arrays, npy.Named{Name: digest, Tensor: t})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Funcs)) {
		for e := range relay.PostOrder(m.Funcs[name], true) {
			if c, ok := e.(*relay.Constant); ok && !relay.InText(c.Value) {
				add(c.Value)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Defaults)) {
		add(m.Defaults[name])
	}
	return arrays
}

// Format returns the text of a file in its canonical form. The data of constants is not needed, and their digests stay;
// a text that holds weights itself is refused (ErrUnsupported). Comments before the first definition stay; others that do
// not say types or places have no place in the new text and are refused too. An open batch stays open; where the canonical form
// depends on the number of rows, the text is refused (ErrUnsupported).
func Format(file, text string) (string, error) {
	digests := map[*tensor.Tensor]string{}
	read := func(batch int) (*reader, *relay.Module) {
		r := newReader(file, text, Options{Batch: batch, Constant: func(info relay.ConstantInfo) (*tensor.Tensor, error) {
			t := &tensor.Tensor{DType: info.DType, Shape: info.Shape}
			digests[t] = info.SHA256
			return t, nil
		}})
		return r, r.read()
	}
	r, m := read(1)
	if m != nil && r.meta.theirs {
		r.fail(diag.Unsupported(step, "metadata", "the weights stand in the text; import writes them beside it").At(r.meta.pos))
	}
	var header string
	if m != nil {
		header = r.comments()
	}
	if err := r.errors(); err != nil {
		return "", err
	}
	o := relay.PrintOptions{Spans: true, Digest: func(t *tensor.Tensor) string {
		if digest, ok := digests[t]; ok {
			return digest
		}
		return relay.Digest(t)
	}}
	if m.Batch == "" {
		return header + o.Print(m), nil
	}
	r, other := read(OtherBatch)
	if err := r.errors(); err != nil {
		first := r.errs[0]
		return "", diag.Unsupported(step, first.Node, "the batch is open, but with %d rows this is no model: %s; write the extent instead of ?", OtherBatch, first.Message).At(first.Pos)
	}
	canonical, err := o.PrintOpen(m, other)
	if err != nil {
		return "", err
	}
	return header + canonical, nil
}

// OtherBatch is a number of rows at which a model is read again to see what of it depends on them: more than one, and more than
// the short slices of models take.
const OtherBatch = 7

// comments returns those before the first definition, a line each, and refuses the others.
func (r *reader) comments() string {
	var header strings.Builder
	lexer := grammar.NewRelayLexer(&chars{file: r.file, text: r.text})
	lexer.RemoveErrorListeners()
	at, begun := 0, false
	for {
		t := lexer.NextToken()
		gap := r.text[at:t.GetStart()]
		for rest := gap; ; {
			i := strings.IndexByte(rest, '/')
			if i < 0 {
				break
			}
			from := at + len(gap) - len(rest) + i
			text := comment(rest[i:])
			rest = rest[i+len(text):]
			switch inner := strings.TrimLeft(text, "/* "); {
			case !begun:
				header.WriteString(strings.TrimRight(text, "\n") + "\n")
			case !strings.HasPrefix(inner, "ty=") && !strings.HasPrefix(inner, "span="):
				r.fail(diag.Unsupported(step, "comment", "%q has no place in the canonical text", shorten(strings.TrimSpace(text))).At(r.posAt(from)))
				return ""
			}
		}
		if t.GetTokenType() == antlr.TokenEOF {
			return header.String()
		}
		begun = begun || t.GetTokenType() != grammar.RelayLexerVERSION
		at = t.GetStop() + 1
	}
}

// posAt returns the position of a byte of the text.
func (r *reader) posAt(offset int) diag.Pos {
	before := r.text[:offset]
	return diag.Pos{File: r.file, Line: strings.Count(before, "\n") + 1, Col: offset - strings.LastIndex(before, "\n")}
}

// comment returns the comment at the start of s: a line, or what stands between its marks.
func comment(s string) string {
	if strings.HasPrefix(s, "//") {
		line, _, _ := strings.Cut(s, "\n")
		return line
	}
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			i++
			if depth--; depth == 0 {
				return s[:i+1]
			}
		}
	}
	return s
}

func readText(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", diag.Invalid("import", path, "cannot read the model").By(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", diag.Invalid("import", path, "is not a regular file of at most %d bytes", int64(maxFile))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", diag.Invalid("import", path, "cannot read the model").By(err)
	}
	return string(text), nil
}

// exists reports whether there is something at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// archive returns a look-up of arrays by SHA-256; a file that is not there has none.
func archive(path string) (func(relay.ConstantInfo) (*tensor.Tensor, error), error) {
	arrays := map[string]*tensor.Tensor{}
	if exists(path) {
		list, err := npy.ReadArchive(path)
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			arrays[a.Name] = a.Tensor
		}
	}
	return func(info relay.ConstantInfo) (*tensor.Tensor, error) {
		t := arrays[info.SHA256]
		if t == nil {
			return nil, nil
		}
		t, err := restore(t, info)
		if err != nil {
			return nil, diag.Invalid("import", path, "array %s", info.SHA256).By(err)
		}
		return t, nil
	}, nil
}

// restore returns an array of an archive in its own type and shape. The bytes are those of the digest, or it is an error.
func restore(t *tensor.Tensor, info relay.ConstantInfo) (*tensor.Tensor, error) {
	own := &tensor.Tensor{DType: info.DType, Shape: info.Shape, Data: t.Data}
	if err := own.Check(); err != nil {
		return nil, err
	}
	if digest := relay.Digest(own); digest != info.SHA256 {
		return nil, diag.Invalid("import", info.Name, "the data has the SHA-256 %s", digest)
	}
	return own, nil
}

// readParams reads the first of the files that is there, nil when none is.
func readParams(paths ...string) (map[string]*tensor.Tensor, error) {
	for _, path := range paths {
		if !exists(path) {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, diag.Invalid("import", path, "cannot read the parameters").By(err)
		}
		list, err := params.Read(data)
		if err != nil {
			return nil, asError(err).At(diag.Pos{File: path})
		}
		all := make(map[string]*tensor.Tensor, len(list))
		for _, p := range list {
			all[p.Name] = p.Value
		}
		return all, nil
	}
	return nil, nil
}
