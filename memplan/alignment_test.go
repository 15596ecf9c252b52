package memplan

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLargerAlignment(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		g := random(rng, 12)
		require.NoError(t, Assign(g.plan, Options{Alignment: 256, SearchWork: 10_000}))
		require.NoError(t, g.plan.Check())
		for i := range g.plan.Tensors {
			if x := &g.plan.Tensors[i]; x.AliasOf == "" {
				require.Zero(t, x.Offset%256, x.Name)
			}
		}
	}
	g := random(rng, 3)
	require.ErrorContains(t, Assign(g.plan, Options{Alignment: 96}), "alignment 96 is no power of two")
	require.ErrorContains(t, Assign(g.plan, Options{Alignment: 256, Stagger: 64}), "stagger 64")
}
