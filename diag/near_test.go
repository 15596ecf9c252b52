package diag

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMeantFindsTheNearestName(t *testing.T) {
	list := []string{"nn.relu", "nn.elu", "nn.selu", "add", "axis"}
	for name, want := range map[string]string{
		"nn.rleu": "nn.relu", // two letters swapped are one edit
		"nn.Relu": "nn.relu",
		"nn.elu":  "nn.elu",
		"axs":     "axis",
		"addd":    "add",
		"nn.xelu": "nn.elu",
		"banana":  "",
		"":        "",
	} {
		got := Meant(name, list)
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		require.Equal(t, want, got, name)
	}
	require.Empty(t, Meant("x", nil))
	require.Equal(t, "; did you mean aab?", Meant("aaa", []string{"aac", "aab"}), "of equally near ones the first in order")
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "ab", 2}, {"ab", "ba", 1}, {"abcd", "acbd", 1}, {"kitten", "sitting", 3}, {"é", "e", 1}} {
		require.Equal(t, c.want, edits(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, edits(c.b, c.a), "%s %s", c.b, c.a)
	}
}
