package schedule

import (
	"fmt"
	"slices"
	"sync"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
	"github.com/texel-ml/texel/tir/verify"
)

// Intrinsic is a tensor instruction: a computation on small tensors that a device does at once, or that is best written in
// one way. Tensorize puts the implementation where a block computes what the description does.
//
// Both are functions in block form with the same parameters, the operands. The description is one nest around one block,
// and writes each output whole, at the variables of its loops. Where the instruction adds to what an output holds already,
// the output's initial value is an input of the same shape:
//
//	init: C[i] = C0[i]
//
// C and C0 are then the same operand. The implementation is one block without variables. It must read what it needs of
// such an operand before it writes there.
//
// That both compute the same is for the writer to know; schedule's tests show it of the built-in ones.
type Intrinsic struct {
	Name           string
	Description    *tir.Func
	Implementation *tir.Func
}

// Intrinsics returns the table of the built-in tensor instructions. Their implementations are statements of vectors, which
// every back end has:
//
//	fma16     C[16] += a · B[16]           a row of a register tile
//	outer4x4  C[4, 4] += A[4] ⊗ B[4]       a register tile
//	dot4      c += A[4] · B[4]             int8, the sum in int32
//	dot4x16   C[16] += A[4] · B[4, 16]     int8, the sums in int32
func Intrinsics() []Intrinsic { return slices.Clone(intrinsics()) }

var intrinsics = sync.OnceValue(func() []Intrinsic {
	var list []Intrinsic
	for _, t := range intrinsicTexts {
		i := Intrinsic{Name: t.name}
		var err error
		if i.Description, err = tirtext.Parse(t.name, t.description); err == nil {
			i.Implementation, err = tirtext.Parse(t.name, t.implementation)
		}
		if err != nil {
			panic(fmt.Sprintf("schedule: intrinsic %s: %v", t.name, err))
		}
		list = append(list, i)
	}
	return list
})

var intrinsicTexts = []struct{ name, description, implementation string }{
	{"fma16", `
func fma16(A: float32[], B: float32[16], C0: float32[16], out C: float32[16]):
  block root():
    for j in range(0, 16):
      for k in range(0, 1):
        block C(v: spatial[16] = j, r: reduce[1] = k):
          reads A[], B[v +: 1], C0[v +: 1]
          writes C[v +: 1]
          init:
            C[v] = C0[v]
          C[v] = C[v] + A[] * B[v]
`, `
func fma16(A: float32[], B: float32[16], C0: float32[16], out C: float32[16]):
  block root():
    block fma16() opaque:
      reads A[], B[0 +: 16], C0[0 +: 16]
      writes C[0 +: 16]
      C[ramp(0, 1, 16)] = C0[ramp(0, 1, 16)] + broadcast(A[], 16) * B[ramp(0, 1, 16)]
`},
	{"outer4x4", `
func outer4x4(A: float32[4], B: float32[4], C0: float32[4, 4], out C: float32[4, 4]):
  block root():
    for i in range(0, 4):
      for j in range(0, 4):
        for k in range(0, 1):
          block C(v: spatial[4] = i, w: spatial[4] = j, r: reduce[1] = k):
            reads A[v +: 1], B[w +: 1], C0[v +: 1, w +: 1]
            writes C[v +: 1, w +: 1]
            init:
              C[v, w] = C0[v, w]
            C[v, w] = C[v, w] + A[v] * B[w]
`, `
func outer4x4(A: float32[4], B: float32[4], C0: float32[4, 4], out C: float32[4, 4]):
  block root():
    block outer4x4() opaque:
      reads A[0 +: 4], B[0 +: 4], C0[0 +: 4, 0 +: 4]
      writes C[0 +: 4, 0 +: 4]
      C[0, ramp(0, 1, 4)] = C0[0, ramp(0, 1, 4)] + broadcast(A[0], 4) * B[ramp(0, 1, 4)]
      C[1, ramp(0, 1, 4)] = C0[1, ramp(0, 1, 4)] + broadcast(A[1], 4) * B[ramp(0, 1, 4)]
      C[2, ramp(0, 1, 4)] = C0[2, ramp(0, 1, 4)] + broadcast(A[2], 4) * B[ramp(0, 1, 4)]
      C[3, ramp(0, 1, 4)] = C0[3, ramp(0, 1, 4)] + broadcast(A[3], 4) * B[ramp(0, 1, 4)]
`},
	{"dot4", `
func dot4(A: int8[4], B: int8[4], C0: int32[], out C: int32[]):
  block root():
    for k in range(0, 4):
      block C(r: reduce[4] = k):
        reads A[r +: 1], B[r +: 1], C0[]
        writes C[]
        init:
          C[] = C0[]
        C[] = C[] + int32(A[r]) * int32(B[r])
`, `
func dot4(A: int8[4], B: int8[4], C0: int32[], out C: int32[]):
  block root():
    block dot4() opaque:
      reads A[0 +: 4], B[0 +: 4], C0[]
      writes C[]
      C[] = C0[] + (int32(A[0]) * int32(B[0]) + int32(A[1]) * int32(B[1]) + (int32(A[2]) * int32(B[2]) + int32(A[3]) * int32(B[3])))
`},
	{"dot4x16", `
func dot4x16(A: int8[4], B: int8[4, 16], C0: int32[16], out C: int32[16]):
  block root():
    for j in range(0, 16):
      for k in range(0, 4):
        block C(v: spatial[16] = j, r: reduce[4] = k):
          reads A[r +: 1], B[r +: 1, v +: 1], C0[v +: 1]
          writes C[v +: 1]
          init:
            C[v] = C0[v]
          C[v] = C[v] + int32(A[r]) * int32(B[r, v])
`, `
func dot4x16(A: int8[4], B: int8[4, 16], C0: int32[16], out C: int32[16]):
  block root():
    block dot4x16() opaque:
      reads A[0 +: 4], B[0 +: 4, 0 +: 16], C0[0 +: 16]
      writes C[0 +: 16]
      C[ramp(0, 1, 16)] = C0[ramp(0, 1, 16)] + (int32(broadcast(A[0], 16)) * int32(B[0, ramp(0, 1, 16)]) + int32(broadcast(A[1], 16)) * int32(B[1, ramp(0, 1, 16)]) + (int32(broadcast(A[2], 16)) * int32(B[2, ramp(0, 1, 16)]) + int32(broadcast(A[3], 16)) * int32(B[3, ramp(0, 1, 16)])))
`},
}

// intrinsic returns the row of a name, checked; it refuses with nil.
func (s *Schedule) intrinsic(step, name string) *Intrinsic {
	for _, list := range [][]Intrinsic{s.opts.Intrinsics, intrinsics()} {
		for i := range list {
			if list[i].Name != name {
				continue
			}
			if err := list[i].check(); err != nil {
				s.fail(diag.Invalid(step, name, "the tensor instruction is not well formed").By(err))
				return nil
			}
			return &list[i]
		}
	}
	names := []string{}
	for _, i := range slices.Concat(s.opts.Intrinsics, intrinsics()) {
		names = append(names, i.Name)
	}
	s.refuse(step, name, "no tensor instruction has this name; wanted one of %v", names)
	return nil
}

// check returns what is wrong with the form of an intrinsic.
func (i *Intrinsic) check() error {
	d, m := i.Description, i.Implementation
	if d == nil || m == nil {
		return fmt.Errorf("it has no description or no implementation")
	}
	for _, f := range []*tir.Func{d, m} {
		if err := verify.Verify(f); err != nil {
			return err
		}
	}
	same := func(a, b *tir.Buffer) bool { return a.DType == b.DType && slices.Equal(a.Shape, b.Shape) }
	if d.Outputs != m.Outputs || !slices.EqualFunc(d.Params, m.Params, same) || len(d.Scalars)+len(m.Scalars) > 0 {
		return fmt.Errorf("the parameters of description and implementation differ, or there are scalars")
	}
	if r, ok := m.Root().Body.(*tir.BlockRealize); !ok || len(r.Values) > 0 || r.Where != nil || r.Block.Init != nil {
		return fmt.Errorf("the implementation is not one block without variables")
	}
	return nil
}

// computation is a nest of loops around one statement.
type computation struct {
	loops      []*tir.For // of more than one iteration, from 0
	init, body tir.Stmt   // with the values of the block's variables put in
}

// computationOf takes a nest around one block apart; the answer says why it cannot.
func computationOf(st tir.Stmt) (c *computation, why string) {
	c = &computation{}
	one := map[*tir.Var]tir.Expr{}
	for {
		f, ok := st.(*tir.For)
		if !ok {
			break
		}
		lo, okLo := tir.AsInt(f.Min)
		n, okN := tir.AsInt(f.Extent)
		if !okLo || !okN {
			return nil, "loop " + f.Var.Name + " has computed bounds"
		}
		switch {
		case n == 1:
			one[f.Var] = f.Min
		case lo != 0:
			return nil, "loop " + f.Var.Name + " does not start at 0"
		default:
			c.loops = append(c.loops, f)
		}
		st = f.Body
	}
	r, ok := st.(*tir.BlockRealize)
	if !ok || r.Block.Opaque || len(r.Block.Allocs) > 0 || holdsNest(r.Block.Body) || r.Block.Init != nil && holdsNest(r.Block.Init) {
		return nil, "it is no nest of loops around one block of plain statements"
	}
	if r.Where != nil {
		return nil, "block " + r.Block.Name + " is guarded"
	}
	bind := map[*tir.Var]tir.Expr{}
	for i, iv := range r.Block.Iters {
		bind[iv.Var] = tir.Subst(r.Values[i], one)
	}
	c.body = tir.SubstStmt(r.Block.Body, bind)
	if r.Block.Init != nil {
		c.init = tir.SubstStmt(r.Block.Init, bind)
	}
	return c, ""
}

// holdsNest reports whether a statement has loops or blocks.
func holdsNest(st tir.Stmt) bool {
	found := false
	tir.Walk(st, func(n any) bool {
		switch n.(type) {
		case *tir.For, *tir.BlockRealize, *tir.While:
			found = true
		}
		return !found
	})
	return found
}

// updated returns for each input that is the old value of an output that output, and whether the whole initial value is of
// this form.
func (i *Intrinsic) updated(init tir.Stmt) (of map[*tir.Buffer]*tir.Buffer, all bool) {
	of = map[*tir.Buffer]*tir.Buffer{}
	stores := storesOf(init)
	for _, st := range stores {
		l, ok := st.Value.(*tir.Load)
		if !ok || !sameIndices(l.Indices, st.Indices) || !slices.Equal(l.Buffer.Shape, st.Buffer.Shape) ||
			!slices.Contains(i.Description.Params[:len(i.Description.Params)-i.Description.Outputs], l.Buffer) {
			return nil, false
		}
		of[l.Buffer] = st.Buffer
	}
	return of, len(stores) > 0
}
