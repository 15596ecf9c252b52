package texel_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tensor"
)

// TestDrawnInputs draws every element type, and draws smaller integers where a run refuses them.
func TestDrawnInputs(t *testing.T) {
	var ports []artifact.Port
	for _, d := range tensor.DTypes() {
		ports = append(ports, artifact.Port{Name: d.String(), DType: d, Shape: tensor.Shape{400}}, artifact.Port{Name: "one " + d.String(), DType: d})
	}
	draw := func(seed uint64, refuse error, least int64) (all []map[string]*tensor.Tensor, note string, err error) {
		note, err = texel.DrawInputs(seed, ports, func(v map[string]*tensor.Tensor) error {
			all = append(all, v)
			if tensor.Widen(v["one int32"]).I[0] > least {
				return refuse
			}
			return nil
		})
		return all, note, err
	}
	all, note, err := draw(4, nil, 15)
	require.NoError(t, err)
	require.Empty(t, note)
	require.Len(t, all, 1)
	again, _, _ := draw(4, nil, 15)
	require.Equal(t, all, again)
	other, _, _ := draw(5, nil, 15)
	require.NotEqual(t, all[0]["int64"], other[0]["int64"])
	largest := map[tensor.DType]int64{tensor.Bool: 1, tensor.Int2: 1, tensor.Uint2: 3, tensor.Int4: 7}
	for _, d := range tensor.DTypes() {
		w, one := tensor.Widen(all[0][d.String()]), tensor.Widen(all[0]["one "+d.String()])
		if w.F != nil {
			continue
		}
		most, ok := largest[d]
		if !ok {
			most = 15
		}
		require.Equal(t, int64(0), slices.Min(w.I), d.String())
		require.Equal(t, most, slices.Max(w.I), d.String())
		if d != tensor.Bool {
			require.Positive(t, one.I[0], d.String())
		}
	}
	tight := diag.Unsupported("cpu", "loop", "no room")
	all, note, err = draw(4, tight, 0)
	require.NoError(t, err)
	require.Equal(t, "integers up to 1 are refused: cpu: loop: no room", note)
	require.Len(t, all, 4)
	require.Equal(t, all[0]["float32"], all[3]["float32"])
	_, _, err = draw(4, tight, -1)
	require.Equal(t, error(tight), err)
	all, _, err = draw(4, diag.Numeric("x", "", "no matter of the inputs"), 0)
	require.ErrorIs(t, err, diag.ErrNumeric)
	require.Len(t, all, 1)
}
