package relaygen_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/relaygen"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/eval"
)

// calls counts the calls of each operator in a module.
func calls(m *relay.Module) map[string]int {
	n := map[string]int{}
	for e := range relay.PostOrder(m.Main(), true) {
		if c, ok := e.(*relay.Call); ok && c.Op != nil {
			n[c.Op.Name]++
		}
	}
	return n
}

// check verifies and evaluates a module.
func check(t *testing.T, m *relay.Module, where string) {
	require.NoError(t, relay.VerifyOps(m, relay.Core()), where)
	_, err := eval.Tensors(context.Background(), m.Main(), relaygen.Inputs(m.Main(), 1))
	require.NoError(t, err, "%s\n%s", where, relay.Print(m))
}

// TestEveryOperatorHasARow draws each operator of the table alone: it is made and legal. Each attribute takes several values,
// of one operator or another that has it.
func TestEveryOperatorHasARow(t *testing.T) {
	var names []string
	for _, op := range relay.Core().Ops() {
		names = append(names, op.Name)
	}
	slices.Sort(names)
	require.Equal(t, names, relaygen.Operators(), "rows and operators differ")
	values := map[string][]any{} // by the attributes' type and name
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			made := 0
			for seed := range uint64(60) {
				m := relaygen.Module(relay.Core(), relaygen.Seeded(seed), relaygen.Options{Operators: 1, Rows: []string{name}})
				check(t, m, fmt.Sprint("seed ", seed))
				for e := range relay.PostOrder(m.Main(), true) {
					c, ok := e.(*relay.Call)
					if !ok || c.Op.Name != name {
						continue
					}
					made++
					for _, f := range relay.AttrFields(c.Attrs) {
						key := fmt.Sprintf("%T.%s", c.Attrs, f.Name)
						if !slices.ContainsFunc(values[key], func(v any) bool { return reflect.DeepEqual(v, f.Value) }) {
							values[key] = append(values[key], f.Value)
						}
					}
				}
			}
			require.NotZero(t, made, "the row never makes its operator")
		})
	}
	for name, list := range values {
		require.Greater(t, len(list), 1, "attribute %s is always %v", name, list)
	}
}

// TestGraphsAreLegal draws graphs of many operators, with and without control and regions, of every element type and pattern.
func TestGraphsAreLegal(t *testing.T) {
	seen := map[string]int{}
	regions := map[string]int{}
	for seed := range uint64(800) {
		o := relaygen.Options{Operators: 3 + int(seed%20), Control: seed%2 == 0, Regions: seed%4 == 1}
		if seed%3 == 0 {
			o.Patterns = relaygen.Patterns()
		}
		m := relaygen.Module(relay.Core(), relaygen.Seeded(seed), o)
		check(t, m, fmt.Sprint("seed ", seed))
		for name, n := range calls(m) {
			seen[name] += n
		}
		if o.Regions {
			count(m.Main(), regions, 0)
		}
	}
	for _, name := range relaygen.Operators() {
		require.NotZero(t, seen[name], "operator %s is in none of the graphs", name)
	}
	for _, name := range []string{"if", "loop", "trip count", "condition", "both", "stack", "known condition", "nested"} {
		require.Greater(t, regions[name], 5, "%s: %v", name, regions)
	}
}

// count adds the branches and loops of f to n, by what they have.
func count(f *relay.Function, n map[string]int, depth int) {
	for e := range relay.PostOrder(f, false) {
		switch e := e.(type) {
		case *relay.Function:
			if e != f {
				count(e, n, depth+1)
			}
			continue
		case *relay.If:
			n["if"]++
			if _, known := e.Cond.(*relay.Constant); known {
				n["known condition"]++
			}
		case *relay.Loop:
			n["loop"]++
			switch {
			case e.Trip == nil:
				n["condition"]++
			case e.Cond == nil:
				n["trip count"]++
			default:
				n["both"]++
			}
			if len(e.Body.Body.Type().(*relay.TupleType).Fields) > e.FirstPart() {
				n["stack"]++
			}
		default:
			continue
		}
		if depth > 0 {
			n["nested"]++
		}
	}
}

// TestTheSameChoicesMakeTheSameGraph compares two graphs of one seed as text.
func TestTheSameChoicesMakeTheSameGraph(t *testing.T) {
	make := func(seed uint64) string {
		return relay.Print(relaygen.Module(relay.Core(), relaygen.Seeded(seed), relaygen.Options{Operators: 12, Control: true}))
	}
	require.Equal(t, make(5), make(5))
	require.NotEqual(t, make(5), make(6))
}

// TestInputsFollowTheSeed draws arguments.
func TestInputsFollowTheSeed(t *testing.T) {
	m := relaygen.Module(relay.Core(), relaygen.Seeded(3), relaygen.Options{Operators: 12})
	require.NotEmpty(t, m.Main().Params)
	require.Equal(t, relaygen.Inputs(m.Main(), 4), relaygen.Inputs(m.Main(), 4))
	require.NotEqual(t, relaygen.Inputs(m.Main(), 4), relaygen.Inputs(m.Main(), 5))
	for i, a := range relaygen.Inputs(m.Main(), 4) {
		require.NoError(t, a.Check())
		require.True(t, relay.Tensor(m.Main().Params[i]).Shape.Equal(a.Shape))
	}
}
