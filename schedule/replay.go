package schedule

import (
	"fmt"

	"github.com/texel-ml/texel/diag"
)

// Primitive is one row of the table of primitives: a name, and how a step of a trace is applied. Options take more rows;
// such a primitive composes built-in ones, and its step stands in the trace in place of theirs.
type Primitive struct {
	Name  string      // as it stands in a trace
	Usage string      // its operands, as in a trace
	Apply func(*Call) // reads the operands, takes the step, gives the results
}

// Replay applies the steps of a trace to the schedule. On the program that the trace was recorded on, the result is the
// identical function. The error of a step that cannot be taken names it by its number and its place in the text.
func (s *Schedule) Replay(t *Trace) error {
	if s.err != nil {
		return s.err
	}
	r := &replayer{s: s, named: map[Handle]any{}}
	for n, step := range t.Steps {
		if err := r.apply(step); err != nil {
			return diag.Invalid("trace", step.Name, "step %d of %d", n+1, len(t.Steps)).At(step.Pos).By(err)
		}
	}
	return nil
}

// Do takes one step by the name of its primitive, which may be one of Options.Primitives. An operand is a Block, a Loop,
// an Int, a number, a text or a list of them.
func (s *Schedule) Do(name string, operands ...any) Results {
	if s.err != nil {
		return Results{}
	}
	row, own := s.primitive(name)
	if row == nil {
		s.fail(s.noPrimitive(name))
		return Results{}
	}
	c := &Call{S: s, step: Step{Name: name}, args: operands}
	s.apply(row, own, c)
	if s.err != nil {
		return Results{}
	}
	return Results{List[any]{s, name, "", c.gave}}
}

// primitive returns the row of a name, and whether it is one of the options.
func (s *Schedule) primitive(name string) (row *Primitive, own bool) {
	for i := range s.opts.Primitives {
		if s.opts.Primitives[i].Name == name {
			return &s.opts.Primitives[i], true
		}
	}
	return builtin[name], false
}

// apply runs a row. What a primitive of the options takes inside is one step of the trace.
func (s *Schedule) apply(row *Primitive, own bool, c *Call) {
	if !own {
		row.Apply(c)
		c.ended()
		return
	}
	before := *s
	s.inside++
	s.draws.list = true
	row.Apply(c)
	c.ended()
	s.inside--
	if s.err != nil || c.err != nil {
		err := s.err
		*s = before
		s.err = err
		return
	}
	for i, v := range c.gave {
		c.gave[i] = s.renamed(v)
	}
	s.record(c.step.Name, operands(c.args...), c.gave...)
}

// replayer holds what the handles of a trace stand for.
type replayer struct {
	s     *Schedule
	named map[Handle]any // Block, Loop or Int
}

func (r *replayer) apply(step Step) error {
	row, own := r.s.primitive(step.Name)
	if row == nil {
		return r.s.noPrimitive(step.Name)
	}
	c := &Call{S: r.s, step: step}
	for i, v := range step.Args {
		arg, err := r.operand(v)
		if err != nil {
			return diag.Invalid(step.Name, "", "operand %d", i+1).By(err)
		}
		c.args = append(c.args, arg)
	}
	r.s.draws = replayOf(step, own)
	r.s.apply(row, own, c)
	unused := len(r.s.draws.left)
	r.s.draws = draws{}
	switch {
	case c.err != nil:
		return c.err
	case r.s.err != nil:
		return r.s.err
	case unused > 0:
		return diag.Invalid(step.Name, "", "draws less than the decision %s holds", textOf(step.Decision))
	case len(c.gave) != len(step.Outs):
		return diag.Invalid(step.Name, "", "gives %d results, the step names %d", len(c.gave), len(step.Outs))
	}
	for i, o := range step.Outs {
		if _, twice := r.named[o]; twice {
			return diag.Invalid(step.Name, string(o), "an earlier step gave this name already")
		}
		if letter := letterOf(c.gave[i]); letter != o[0] {
			return diag.Invalid(step.Name, string(o), "result %d is %s; wanted a name of %q and a number", i+1, kindOf(c.gave[i]), string(letter))
		}
		r.named[o] = c.gave[i]
	}
	return nil
}

// letterOf is what the handles of a result begin with.
func letterOf(result any) byte {
	switch result.(type) {
	case Block:
		return 'b'
	case Loop:
		return 'l'
	}
	return 'v'
}

// operand returns what a value of a trace stands for.
func (r *replayer) operand(v Value) (any, error) {
	switch v := v.(type) {
	case Handle:
		if x, ok := r.named[v]; ok {
			return x, nil
		}
		return nil, fmt.Errorf("%s is no handle that an earlier step gave%s", v, thereAre(string(v), r.handles(string(v[:min(1, len(v))]))))
	case []Value:
		list := make([]any, len(v))
		for i, x := range v {
			var err error
			if list[i], err = r.operand(x); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return v, nil
}

// Call is one application of a primitive: its operands in order, and where its results go. The first operand of a wrong
// kind is the error of the step.
type Call struct {
	S    *Schedule
	step Step
	args []any // Block, Loop, Int, int, float64, string, or a list of them
	gave []any
	err  error
	read int // operands before this one were looked at
}

// operand is operand i, of any kind.
func (c *Call) operand(i int) any {
	c.read = max(c.read, i+1)
	return c.args[i]
}

// ended refuses operands that the primitive does not take.
func (c *Call) ended() {
	if c.err == nil && c.S.err == nil && c.read < len(c.args) {
		c.Refuse("has %d operands, and takes no operand %d", len(c.args), c.read+1)
	}
}

// Len is the number of operands.
func (c *Call) Len() int { return len(c.args) }

// Refuse says why the step cannot be taken.
func (c *Call) Refuse(format string, args ...any) {
	if c.err == nil {
		c.err = diag.Invalid(c.step.Name, "", format, args...)
		c.S.fail(c.err)
	}
}

// operandAs returns operand i, which must be a T.
func operandAs[T any](c *Call, i int, what string) (v T) {
	if i >= len(c.args) {
		c.Refuse("has %d operands, wanted %s as operand %d", len(c.args), what, i+1)
		return v
	}
	v, ok := c.operand(i).(T)
	if !ok {
		c.Refuse("operand %d is %s, wanted %s", i+1, kindOf(c.operand(i)), what)
	}
	return v
}

func kindOf(v any) string {
	switch v := v.(type) {
	case Block:
		return "block " + string(v.id)
	case Loop:
		return "loop " + string(v.id)
	case Int:
		return fmt.Sprintf("the number %d", v.value)
	case int, float64:
		return fmt.Sprintf("the number %v", v)
	case string:
		return fmt.Sprintf("the text %q", v)
	}
	return "a list"
}

// Block is operand i.
func (c *Call) Block(i int) Block { return operandAs[Block](c, i, "a block") }

// Loop is operand i.
func (c *Call) Loop(i int) Loop { return operandAs[Loop](c, i, "a loop") }

// Text is operand i, a quoted text.
func (c *Call) Text(i int) string { return operandAs[string](c, i, "a quoted text") }

// Number is operand i, an integer or what a sampling step drew.
func (c *Call) Number(i int) int { return c.Int(i).value }

// Int is operand i as a number with its handle.
func (c *Call) Int(i int) Int {
	if i < len(c.args) {
		if v, ok := c.operand(i).(Int); ok {
			return v
		}
	}
	return Int{value: operandAs[int](c, i, "a number")}
}

// Loops are the operands from i on, or the loops in the list that operand i is.
func (c *Call) Loops(i int) []Loop {
	if i < len(c.args) {
		switch v := c.operand(i).(type) {
		case []Loop:
			return v
		case []any:
			return listAs(c, v, "loops", func(sub *Call, n int) Loop { return sub.Loop(n) })
		}
	}
	var list []Loop
	for ; i < len(c.args); i++ {
		list = append(list, c.Loop(i))
	}
	return list
}

// Ints is operand i, a list of numbers.
func (c *Call) Ints(i int) []Int {
	if i < len(c.args) {
		switch v := c.operand(i).(type) {
		case []Int:
			return v
		case []int:
			return Ints(v...)
		}
	}
	return listAs(c, operandAs[[]any](c, i, "a list of numbers"), "numbers", func(sub *Call, n int) Int { return sub.Int(n) })
}

// Numbers is operand i, a list of numbers without their handles.
func (c *Call) Numbers(i int) []int {
	list := []int{}
	for _, v := range c.Ints(i) {
		list = append(list, v.value)
	}
	return list
}

// Floats is operand i, a list of numbers that may have a fraction.
func (c *Call) Floats(i int) []float64 {
	if i < len(c.args) {
		if v, ok := c.operand(i).([]float64); ok {
			return v
		}
	}
	return listAs(c, operandAs[[]any](c, i, "a list of numbers"), "numbers", func(sub *Call, n int) float64 {
		if v, ok := sub.args[n].(int); ok {
			return float64(v)
		}
		return operandAs[float64](sub, n, "a number")
	})
}

// listAs reads the members of a list.
func listAs[T any](c *Call, list []any, what string, read func(sub *Call, n int) T) []T {
	sub := &Call{S: c.S, step: c.step, args: list}
	out := make([]T, len(list))
	for n := range list {
		out[n] = read(sub, n)
	}
	if sub.err != nil {
		c.err = sub.err
	}
	return out
}

// Give adds results in the order in which a trace names them: blocks, loops, numbers.
func (c *Call) Give(results ...any) {
	for _, r := range results {
		switch r := r.(type) {
		case List[Loop]:
			c.Give(r.all)
		case List[Block]:
			c.Give(r.all)
		case Results:
			c.Give(r.all...)
		case []Loop:
			for _, l := range r {
				c.gave = append(c.gave, l)
			}
		case []Block:
			for _, b := range r {
				c.gave = append(c.gave, b)
			}
		case []Int:
			for _, v := range r {
				c.gave = append(c.gave, v)
			}
		default:
			c.gave = append(c.gave, r)
		}
	}
}
