package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// mostNames is how many names a refusal lists.
const mostNames = 10

// thereAre ends the refusal of a name that nothing has: the names there are, and the one that may be meant.
func thereAre(name string, list []string) string {
	text := "there is none"
	switch n := len(list); {
	case n > mostNames:
		text = fmt.Sprintf("there are %s and %d more", strings.Join(list[:mostNames], ", "), n-mostNames)
	case n > 1:
		text = "there are " + strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	case n == 1:
		text = "there is " + list[0]
	}
	return "; " + text + diag.Meant(name, list)
}

// blockNames are the names of the blocks, in the order of the program.
func (s *Schedule) blockNames() []string {
	var list []string
	s.find(func(st tir.Stmt) bool {
		if r, ok := st.(*tir.BlockRealize); ok {
			list = append(list, r.Block.Name)
		}
		return false
	})
	return list
}

// handles are the handles of a kind that stand for something still, in the order of their numbers, with what that is.
func (r *replayer) handles(kind string) []string {
	var names []Handle
	for h := range r.named {
		if strings.HasPrefix(string(h), kind) {
			names = append(names, h)
		}
	}
	slices.SortFunc(names, func(a, b Handle) int { return cmp.Or(len(a)-len(b), cmp.Compare(a, b)) })
	var list []string
	for _, h := range names {
		switch v := r.named[h].(type) {
		case Block:
			if r.s.findBlock(v.name) != nil {
				list = append(list, fmt.Sprintf("%s (%s)", h, v.name))
			}
		case Loop:
			if r.s.findLoop(v.v) != nil {
				list = append(list, fmt.Sprintf("%s (%s)", h, v.v.Name))
			}
		case Int:
			list = append(list, fmt.Sprintf("%s (%d)", h, v.value))
		}
	}
	return list
}

// noPrimitive is the error of a step whose name no primitive has.
func (s *Schedule) noPrimitive(name string) error {
	var names []string
	for _, p := range append(slices.Clone(s.opts.Primitives), Primitives()...) {
		names = append(names, p.Name)
	}
	return diag.Invalid(name, "", "no primitive has this name%s", diag.Meant(name, names))
}
