package schedule

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/tirtext"
)

// TestIndexMapText has the canonical text of maps.
func TestIndexMapText(t *testing.T) {
	for text, want := range map[string]string{
		"i,j->j,i":                         "i, j -> j, i",
		"k, n -> n//32, k, n %%32":         "k, n -> n // 32, k, n %% 32",
		" i -> (i + 1) * 2 ":               "i -> (i + 1) * 2",
		"i -> ((i))":                       "i -> i",
		"i, j -> i - (j - 1), j":           "i, j -> i - (j - 1), j",
		"i, j -> i - j - 1, j":             "i, j -> i - j - 1, j",
		"i -> -i + 3, 2 * 3":               "i -> -1 * i + 3, 6",
		"in, out -> out * 4 + in":          "in, out -> out * 4 + in",
		"-> 0":                             "-> 0",
		"i -> i * 8 // 4 %% 2, i // (4*2)": "i -> i * 8 // 4 %% 2, i // 8",
		"i, j -> i * (4 + 4) + j":          "i, j -> i * 8 + j",
	} {
		m, err := ParseIndexMap(text)
		require.NoError(t, err, text)
		require.Equal(t, want, m.String())
		again, err := ParseIndexMap(want)
		require.NoError(t, err, want)
		require.Equal(t, want, again.String())
	}
	require.Equal(t, "i0, i1, i2 -> i2, i0, i1", Permutation(2, 0, 1))
}

// TestIndexMapErrors has texts that are no maps, and the column that the error names.
func TestIndexMapErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 `column 1: wanted a name, found the end`,
		"i":                                `column 2: wanted ",", found the end`,
		"i ->":                             `column 5: wanted an expression, found the end`,
		"i -> i i":                         `column 8: wanted ",", found 'i'`,
		"i, i -> i":                        `column 4: i is named twice`,
		"i, 2 -> i":                        `column 4: wanted a name, found '2'`,
		"i -> j":                           `column 6: j is no name of the left side`,
		"i -> i *":                         `column 9: wanted a name, found the end`,
		"i, j -> i * j":                    `column 11: a product of two names; wanted a number on one side`,
		"i -> i // i":                      `column 11: wanted a number above 0 to divide by`,
		"i -> i %% (1 - 1)":                `column 11: wanted a number above 0 to divide by`,
		"i -> i % 2":                       `column 8: wanted ",", found '%'`,
		"i -> (i":                          `column 8: wanted ")", found the end`,
		"i -> 99999999999999999999":        `column 6: the number 99999999999999999999 is outside -2^31 to 2^31`,
		"i -> 2147483648 * 2":              `column 17: the number 4294967296 is outside -2^31 to 2^31`,
		"i -> i * 2147483648 * 2147483648": `column 6: the value may be outside -2^62 to 2^62`,
		"ä -> 1":                           `column 1: wanted a name, found 'ä'`,
		"i -> ü":                           `column 6: wanted a name, found 'ü'`,
		"i -> " + strings.Repeat("(", 50) + "i" + strings.Repeat(")", 50): `column 22: parentheses are nested deeper than 16`,
		"i -> " + strings.Repeat("i, ", 20) + "i":                         `column 54: more than 16 results`,
		strings.Repeat("i + ", 2000):                                      `column 4097: the text has 8000 characters, wanted at most 4096`,
	} {
		_, err := ParseIndexMap(text)
		require.ErrorIs(t, err, diag.ErrInvalid, text)
		require.Equal(t, "index map: "+want, err.Error(), text)
	}
}

// drawMap draws an expression over variables.
func drawMap(t *rapid.T, vars []*tir.Var, depth int) tir.Expr {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		if len(vars) == 0 || rapid.IntRange(0, 4).Draw(t, "number") == 0 {
			return tir.I(rapid.IntRange(-9, 99).Draw(t, "n"))
		}
		return rapid.SampledFrom(vars).Draw(t, "v")
	}
	a := drawMap(t, vars, depth-1)
	switch rapid.IntRange(0, 4).Draw(t, "op") {
	case 0:
		return &tir.Binary{Op: tir.Add, A: a, B: drawMap(t, vars, depth-1)}
	case 1:
		return &tir.Binary{Op: tir.Sub, A: a, B: drawMap(t, vars, depth-1)}
	case 2:
		return &tir.Binary{Op: tir.Mul, A: a, B: tir.I(rapid.IntRange(0, 9).Draw(t, "factor"))}
	case 3:
		return &tir.Binary{Op: tir.FloorDiv, A: a, B: tir.I(rapid.IntRange(1, 9).Draw(t, "divisor"))}
	}
	return &tir.Binary{Op: tir.FloorMod, A: a, B: tir.I(rapid.IntRange(1, 9).Draw(t, "divisor"))}
}

// TestIndexMapLaw prints maps, reads them back and prints them again: the second and third text are the same, and their
// values are those of the map.
func TestIndexMapLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &IndexMap{}
		for _, name := range []string{"i", "j_2", "k"}[:rapid.IntRange(0, 3).Draw(t, "rank")] {
			m.From = append(m.From, tir.NewVar(name))
		}
		for range rapid.IntRange(1, 3).Draw(t, "results") {
			m.To = append(m.To, drawMap(t, m.From, 3))
		}
		once, err := ParseIndexMap(m.String())
		require.NoError(t, err, m.String())
		twice, err := ParseIndexMap(once.String())
		require.NoError(t, err, once.String())
		require.Equal(t, once.String(), twice.String())
		point := make([]tir.Expr, len(m.From))
		for i := range point {
			point[i] = tir.I(rapid.IntRange(0, 40).Draw(t, "at"))
		}
		want, got := m.Apply(point), once.Apply(point)
		require.Len(t, got, len(want))
		for i := range want {
			x, okX := tir.AsInt(fold(want[i]))
			y, okY := tir.AsInt(fold(got[i]))
			require.True(t, okX && okY, "%s", tirtext.PrintExpr(want[i]))
			require.Equal(t, x, y, "%s at %v", m, point)
		}
	})
}

// fold computes an expression without variables.
func fold(e tir.Expr) tir.Expr {
	return (&tir.Mapper{Expr: func(e tir.Expr) tir.Expr {
		if b, ok := e.(*tir.Binary); ok {
			return tir.Bin(b.Op, b.A, b.B)
		}
		return e
	}}).MapExpr(e)
}

func FuzzParseIndexMap(f *testing.F) {
	for _, text := range []string{"i, j -> i // 16, j, i %% 16", "-> 0", "i -> -(i - 3) * 2", "k, n -> (k * 5 + n) // 7"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseIndexMap(text)
		if err != nil {
			return
		}
		again, err := ParseIndexMap(m.String())
		require.NoError(t, err)
		require.Equal(t, m.String(), again.String())
	})
}
