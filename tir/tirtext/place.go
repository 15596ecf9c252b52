package tirtext

import (
	"slices"

	"github.com/texel-ml/texel/diag"
)

// Place returns where a text declares a block or loop, or else a kernel, function or program: the line and column of its
// name. Errors of what was parsed name these, and the tree holds no places. Of a name that the text does not declare, or
// that several blocks and loops have, the result is the zero value.
func Place(file, text, name string) diag.Pos {
	toks, err := lex(file, text)
	if err != nil {
		return diag.Pos{}
	}
	for _, words := range [][]string{{"block", "for"}, {"kernel", "func", "program"}} {
		var found []diag.Pos
		for i, t := range toks[1:] {
			if before := toks[i]; before.kind == tokName && slices.Contains(words, before.text) && t.kind == tokName && t.name() == name {
				found = append(found, diag.Pos{File: file, Line: int(t.line), Col: int(t.col)})
			}
		}
		if len(found) > 1 {
			break
		}
		if len(found) == 1 {
			return found[0]
		}
	}
	return diag.Pos{}
}
