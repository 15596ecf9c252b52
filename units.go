package texel

import (
	"context"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/lower"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/target"
	looppasses "github.com/texel-ml/texel/tir/transform"
)

// findUnits gives each call in r that has a kernel its unit, and returns the units; calls of equal functions share one.
func findUnits(r *region) []*unit {
	var units []*unit
	byPrint := map[string]*unit{}
	names := map[string]int{}
	for s := range r.all() {
		if s.view || s.parts != nil || s.fn == nil {
			continue
		}
		print := fingerprint(s.fn)
		if s.unit = byPrint[print]; s.unit == nil {
			name := title(s.fn)
			if names[name]++; names[name] > 1 {
				name += "__" + strconv.Itoa(names[name]) // kernels of one unit end in one underscore and a number
			}
			s.unit = &unit{name: name, fn: s.fn, work: measure(s.fn)}
			byPrint[print] = s.unit
			units = append(units, s.unit)
		}
	}
	return units
}

// lowerUnits makes the kernels of every unit, several at once. done is called with the number that are ready.
func lowerUnits(ctx context.Context, units []*unit, tables *lower.Tables, t *target.Target, workers int, notes *diag.Notes, done func(int)) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	ready := atomic.Int64{}
	lists := make([]*diag.Notes, len(units))
	for i, u := range units {
		lists[i] = &diag.Notes{}
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := u.lower(tables, t, lists[i]); err != nil {
				return err
			}
			done(int(ready.Add(1)))
			return nil
		})
	}
	err := group.Wait()
	for _, l := range lists { // in the order of the units, whoever was first
		for _, n := range l.List() {
			notes.Append(n)
		}
	}
	return err
}

// lower makes the kernels of u. A panic is a bug of ours and becomes an error that names the function.
func (u *unit) lower(tables *lower.Tables, t *target.Target, notes *diag.Notes) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = diag.Internal("lower", u.name, "%v\n%s", r, debug.Stack()).At(u.fn.Body.Pos())
		}
	}()
	low, err := lower.Func(u.fn, u.name, tables, t, notes)
	if err != nil {
		return at(err, u.fn)
	}
	notes.Add(diag.Chose, "lower", u.name, "schedule rule %s, %d steps", low.Rule, len(low.Trace.Steps))
	u.params, u.tables, u.trace = low.Func.Params, low.Consts, low.Trace.String()
	u.kernels, u.temps, err = looppasses.Lower(low.Func, loweringFor(t))
	return at(err, u.fn)
}

// at gives an error without a position that of the first node of fn.
func at(err error, fn *relay.Function) error {
	e, ok := err.(*diag.Error)
	if !ok || e.Pos != (diag.Pos{}) {
		return err
	}
	for x := range relay.PostOrder(fn, false) {
		if c, ok := x.(*relay.Call); ok && c.Pos() != (diag.Pos{}) {
			return e.At(c.Pos())
		}
	}
	return err
}
