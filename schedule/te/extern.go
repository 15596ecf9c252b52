package te

import "github.com/texel-ml/texel/tir"

// Statement is the body of a stage that is written as a statement. It may have loops with a condition, indirect stores
// and everything else that tir has.
type Statement struct {
	// Body writes all of the results' buffers and reads nothing but the operands, the results and Temps.
	Body tir.Stmt
	// Temps are buffers that live for one run of the body.
	Temps []*tir.Buffer
	// Reads and Writes are the regions that the body touches. nil is all of every operand, and all of every result.
	Reads, Writes []tir.Region
}

// extern is the definition of a stage written as a statement.
type extern struct {
	Statement
	ins []*Tensor
}

// Extern defines outs, which must be placeholders, by a statement that reads ins: an algorithm that is no expression of
// single elements (a sort, a selection), or one written elsewhere. Its block is opaque: primitives move it whole.
//
//	place := te.Placeholder("place", tensor.Int64, n)
//	te.Extern([]*te.Tensor{place}, []*te.Tensor{key}, te.Statement{Body: insertion(place.Buffer, key.Buffer)})
func Extern(outs, ins []*Tensor, s Statement) {
	def := &definition{extern: &extern{s, ins}}
	claim(def, outs)
	if s.Body == nil {
		def.fail("its statement is missing")
	}
}

// claim makes placeholders the results of a definition.
func claim(def *definition, outs []*Tensor) {
	for _, t := range outs {
		switch {
		case t == nil:
			def.fail("a result is missing")
			continue
		case t.def != nil:
			t.def.fail("it is defined twice")
		default:
			t.def, t.result = def, len(def.outs)
		}
		def.outs = append(def.outs, t)
	}
}

// IsExtern reports whether t is written by a statement.
func (t *Tensor) IsExtern() bool { return t.def != nil && t.def.extern != nil }

// ExternInputs returns the stages that a stage written as a statement reads, nil for others.
func (t *Tensor) ExternInputs() []*Tensor {
	if !t.IsExtern() {
		return nil
	}
	return t.def.extern.ins
}

// block returns the block of the stage.
func (e *extern) block(name string, outs []*Tensor) *tir.Block {
	b := &tir.Block{Name: name, Reads: e.Reads, Writes: e.Writes, Body: e.Body, Allocs: e.Temps, Opaque: true}
	if b.Reads == nil {
		for _, t := range e.ins {
			b.Reads = append(b.Reads, tir.Whole(t.Buffer))
		}
	}
	if b.Writes == nil {
		for _, t := range outs {
			b.Writes = append(b.Writes, tir.Whole(t.Buffer))
		}
	}
	return b
}
