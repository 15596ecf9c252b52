package onnx

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/golden"
	"github.com/texel-ml/texel/tensor"
)

const operatorsHead = `# ONNX operators

Every operator of ONNX's default domain, opsets 1 to %d, and those of com.microsoft that optimized models have. This page is made from
the tables of ` + "`relay/importer/onnx`" + `; ` + "`go test ./relay/importer/onnx -run OperatorsPage -update`" + ` makes it anew.

* **Opsets** are the versions that changed the operator. All are read; a model of a newer opset is read as one of %d, with a note. In an
  opset before the first one it is read as in the first.
* **Operands** are their fewest and most, as the newest version has them; a node with others, with an attribute that its version does not
  have or one of the wrong type is refused (exit code 3).
* **Elements** are the types of the first operand in the newest version that are done: *float* is float16, bfloat16, float32 and float64;
  *int* the signed and *uint* the unsigned integers of 8 to 64 bits; *float8* the five of 8 bits; *4-bit* is float4_e2m1, int4 and uint4,
  *2-bit* int2 and uint2. Types are listed where a group is not whole. Strings and complex numbers are not done.
* **Known** operands must be known to compile: constants, what follows from constants and shapes, or inputs bound with ` + "`--input`" + `. What
  else an operator takes may be computed by the model.
* Operators are compositions of relay's, so targets do not differ in what they do: all run on processors and, through OpenCL, on devices;
  float64 needs a device with cl_khr_fp64. Sorting, scattering, NonMaxSuppression and Unique run on one thread.
* What takes a result whose extent only a run knows: [limits](limits.md#models).
`

// TestOperatorsPage makes docs/operators.md.
func TestOperatorsPage(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, operatorsHead, newestOpset, newestOpset)
	rows := rowsByName()
	for _, domain := range []string{"", microsoftDomain} {
		title := "The default domain"
		if domain != "" {
			title = domain
		}
		fmt.Fprintf(&b, "\n## %s\n\n| operator | opsets | operands | elements | known | not done, and more |\n| --- | --- | --- | --- | --- | --- |\n", title)
		keys := slices.Collect(maps.Keys(rows))
		slices.SortFunc(keys, func(a, b rowKey) int { return cmp.Compare(a.name, b.name) })
		for _, key := range keys {
			if key.domain == domain {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", key.name, versions(key), operandCount(key), elementTypes(key), known[key], limits[key])
			}
		}
	}
	b.WriteString("\n## Refused\n\nThese are refused, with exit code 4, as is every operator of another domain; one error names all that a model has.\n\n| operator | why |\n| --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, refused[name])
	}
	path := filepath.Join("..", "..", "..", "docs", "operators.md")
	if golden.Updating() {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, b.String() == string(text), "docs/operators.md is stale: run go test ./relay/importer/onnx -run OperatorsPage -update")
	for _, notes := range []map[rowKey]string{known, limits} {
		for key := range notes {
			require.NotNil(t, rows[key], "%v has a note and no row", key)
		}
	}
}

func versions(key rowKey) string {
	var list []string
	for _, s := range schemas[key] {
		list = append(list, fmt.Sprint(s.since))
	}
	return strings.Join(list, ", ")
}

func operandCount(key rowKey) string {
	list := schemas[key]
	switch in := list[len(list)-1].in; {
	case in[1] < 0:
		return fmt.Sprintf("%d or more", in[0])
	case in[0] == in[1]:
		return fmt.Sprint(in[0])
	default:
		return fmt.Sprintf("%d to %d", in[0], in[1])
	}
}

// elementGroups are the names of the page for types that come together.
var elementGroups = []struct {
	name  string
	types []tensor.DType
}{
	{"float", []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64}},
	{"int", []tensor.DType{tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64}},
	{"uint", []tensor.DType{tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64}},
	{"float8", []tensor.DType{tensor.Float8E4M3FN, tensor.Float8E4M3FNUZ, tensor.Float8E5M2, tensor.Float8E5M2FNUZ, tensor.Float8E8M0}},
	{"4-bit", []tensor.DType{tensor.Float4E2M1, tensor.Int4, tensor.Uint4}},
	{"2-bit", []tensor.DType{tensor.Int2, tensor.Uint2}},
}

// elementTypes names the types that the newest version has and that exist here.
func elementTypes(key rowKey) string {
	list := schemas[key]
	var have []tensor.DType
	for _, name := range strings.Fields(list[len(list)-1].types) {
		if d, err := tensor.ParseDType(name); err == nil {
			have = append(have, d)
		}
	}
	var out []string
	for _, g := range elementGroups {
		all := !slices.ContainsFunc(g.types, func(d tensor.DType) bool { return !slices.Contains(have, d) })
		if all {
			out = append(out, g.name)
			have = slices.DeleteFunc(have, func(d tensor.DType) bool { return slices.Contains(g.types, d) })
		}
	}
	for _, d := range have {
		out = append(out, d.String())
	}
	return strings.Join(out, ", ")
}
