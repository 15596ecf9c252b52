package schedule_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/schedule"
)

// TestWhatIsReadWasWrittenLast states the obligations of functions that no step makes: each differs from its program in one
// way, by which one of them fails.
func TestWhatIsReadWasWrittenLast(t *testing.T) {
	for name, c := range map[string]struct{ program, old, now, want string }{
		"two blocks change places": {`func f(X: int32[4], out Y: int32[4]):
  block root():
    for i in range(0, 4):
      block A(v: spatial[4] = i):
        reads X[v +: 1]
        writes Y[v +: 1]
        Y[v] = X[v]
    for j in range(0, 2):
      block B(w: spatial[2] = j):
        writes Y[w +: 1]
        Y[w] = 5_int32
`, "for i in range(0, 4):\n      block A(v: spatial[4] = i):\n        reads X[v +: 1]\n        writes Y[v +: 1]\n        Y[v] = X[v]\n    for j in range(0, 2):\n      block B(w: spatial[2] = j):\n        writes Y[w +: 1]\n        Y[w] = 5_int32\n",
			"for j in range(0, 2):\n      block B(w: spatial[2] = j):\n        writes Y[w +: 1]\n        Y[w] = 5_int32\n    for i in range(0, 4):\n      block A(v: spatial[4] = i):\n        reads X[v +: 1]\n        writes Y[v +: 1]\n        Y[v] = X[v]\n",
			"disjoint of A before B in Y"},
		"an iteration reads what another one wrote": {`func f(X: int32[4], out Y: int32[4]):
  block root():
    alloc T: int32[4]
    for i in range(0, 4):
      block F(v: spatial[4] = i):
        writes T[v +: 1]
        T[v] = 0_int32
    for j in range(0, 4):
      block T(v: spatial[4] = j):
        reads X[v +: 1]
        writes T[v +: 1]
        T[v] = X[v]
    for k in range(0, 4):
      block Y(w: spatial[4] = k):
        reads T[max(w - 1, 0) +: 1]
        writes Y[w +: 1]
        Y[w] = T[max(w - 1, 0)]
`, "        T[v] = X[v]\n    for k in range(0, 4):\n      block Y(w: spatial[4] = k):", "        T[v] = X[v]\n      block Y(w: spatial[4] = j):", "Y reads T beside T"},
		"a part of a sum is read": {`func f(X: int32[4], out Y: int32[4]):
  block root():
    alloc B: int32[]
    block F():
      writes B[]
      B[] = 0_int32
    for s in range(0, 4):
      for k in range(0, 4):
        block S(r: reduce[4] = k) where k == s:
          reads X[r +: 1]
          writes B[]
          B[] = B[] + X[r]
    for u in range(0, 4):
      block Y(v: spatial[4] = u):
        reads B[]
        writes Y[v +: 1]
        Y[v] = B[]
`, "    for u in range(0, 4):\n      block Y(v: spatial[4] = u):", "      block Y(v: spatial[4] = s):", "constant of reduction S"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, c.program, c.old)
			program := parseTir(t, "program", c.program)
			for _, o := range schedule.Obligations(program, program, program) {
				require.NoError(t, o.Check())
			}
			f := parseTir(t, "now", strings.Replace(c.program, c.old, c.now, 1))
			program2 := parseTir(t, "program", c.program)
			program2.Params = f.Params // the buffers are told by identity
			failed := ""
			for _, o := range schedule.Obligations(program2, program2, f) {
				if err := o.Check(); err != nil {
					failed += err.Error() + "\n"
				}
			}
			require.Contains(t, failed, c.want)
		})
	}
}
