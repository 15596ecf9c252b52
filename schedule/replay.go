package schedule

import (
	"bufio"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/tir"
)

// ParseTrace reads the text form of a trace: one step a line, empty lines and lines that begin with # left out.
func ParseTrace(text string) (*Trace, error) {
	t := &Trace{}
	scan := bufio.NewScanner(strings.NewReader(text))
	for line := 1; scan.Scan(); line++ {
		src := strings.TrimSpace(scan.Text())
		if src == "" || src[0] == '#' {
			continue
		}
		step, err := parseStep(src)
		if err != nil {
			return nil, err.At(diag.Pos{Line: line, Col: 1})
		}
		t.Steps = append(t.Steps, step)
	}
	if err := scan.Err(); err != nil {
		return nil, diag.Invalid("trace", "", "a line is too long").By(err)
	}
	return t, nil
}

// parseStep reads outs = name(ins and args).
func parseStep(src string) (Step, *diag.Error) {
	var s Step
	open := strings.IndexByte(src, '(')
	if open < 0 || !strings.HasSuffix(src, ")") {
		return s, diag.Invalid("trace", src, "wanted a step such as l1, l2 = split(l0, [0, 8])")
	}
	head := src[:open]
	if eq := strings.IndexByte(head, '='); eq >= 0 {
		for _, o := range strings.Split(head[:eq], ",") {
			o = strings.TrimSpace(o)
			if !isHandle(o) {
				return s, diag.Invalid("trace", src, "%q is no handle; wanted a name such as b0 or l3", o)
			}
			s.Outs = append(s.Outs, o)
		}
		head = head[eq+1:]
	}
	s.Name = strings.TrimSpace(head)
	for _, a := range splitArgs(src[open+1 : len(src)-1]) {
		if isHandle(a) && len(s.Args) == 0 {
			s.Ins = append(s.Ins, a)
		} else {
			s.Args = append(s.Args, a)
		}
	}
	return s, nil
}

func isHandle(s string) bool {
	if len(s) < 2 || s[0] != 'b' && s[0] != 'l' {
		return false
	}
	_, err := strconv.ParseUint(s[1:], 10, 31)
	return err == nil
}

// splitArgs cuts a list at the commas outside quotes and brackets.
func splitArgs(src string) []string {
	var list []string
	depth, quoted, begin := 0, false, 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth == 0:
			list = append(list, strings.TrimSpace(src[begin:i]))
			begin = i + 1
		}
	}
	if rest := strings.TrimSpace(src[begin:]); rest != "" {
		list = append(list, rest)
	}
	return list
}

// Replay applies the steps of a trace to the schedule. The result is the function that the trace was recorded on.
func (s *Schedule) Replay(t *Trace) error {
	r := &replayer{s: s, blocks: map[string]Block{}, loops: map[string]Loop{}}
	for n, step := range t.Steps {
		do := replayers[step.Name]
		if do == nil {
			return diag.Invalid("trace", step.Name, "step %d: no primitive has this name", n)
		}
		r.step, r.outs = step, step.Outs
		do(r)
		if r.err == nil {
			r.err = s.err
		}
		if r.err == nil && len(r.outs) > 0 {
			r.fail("gives fewer results than the %d that it names", len(step.Outs))
		}
		if r.err != nil {
			return diag.Invalid("trace", step.Name, "step %d", n).By(r.err)
		}
	}
	return nil
}

type replayer struct {
	s      *Schedule
	blocks map[string]Block
	loops  map[string]Loop
	step   Step
	outs   []string
	err    error
}

func (r *replayer) fail(format string, args ...any) {
	if r.err == nil {
		r.err = diag.Invalid("trace", r.step.Name, format, args...)
	}
}

func (r *replayer) in(i int) string {
	if i < len(r.step.Ins) {
		return r.step.Ins[i]
	}
	r.fail("wants an operand %d", i)
	return ""
}

func (r *replayer) block(i int) Block {
	b, ok := r.blocks[r.in(i)]
	if !ok {
		r.fail("operand %d is no block that an earlier step gave", i)
	}
	return b
}

func (r *replayer) loop(i int) Loop {
	l, ok := r.loops[r.in(i)]
	if !ok {
		r.fail("operand %d is no loop that an earlier step gave", i)
	}
	return l
}

func (r *replayer) allLoops() []Loop {
	list := make([]Loop, len(r.step.Ins))
	for i := range list {
		list[i] = r.loop(i)
	}
	return list
}

func (r *replayer) text(i int) string {
	if i < len(r.step.Args) {
		if v, err := strconv.Unquote(r.step.Args[i]); err == nil {
			return v
		}
	}
	r.fail("wants a quoted text as argument %d", i)
	return ""
}

func (r *replayer) number(i int) int {
	if i < len(r.step.Args) {
		if v, err := strconv.Atoi(r.step.Args[i]); err == nil {
			return v
		}
	}
	r.fail("wants a number as argument %d", i)
	return 0
}

func (r *replayer) numbers(i int) []int {
	if i < len(r.step.Args) {
		if body, ok := strings.CutPrefix(r.step.Args[i], "["); ok && strings.HasSuffix(body, "]") {
			var list []int
			for _, part := range splitArgs(strings.TrimSuffix(body, "]")) {
				v, err := strconv.Atoi(part)
				if err != nil {
					r.fail("%q is no number", part)
				}
				list = append(list, v)
			}
			return list
		}
	}
	r.fail("wants a list of numbers as argument %d", i)
	return nil
}

func (r *replayer) giveBlock(b Block) {
	if r.s.err == nil && r.err == nil && len(r.outs) > 0 {
		r.blocks[r.outs[0]], r.outs = b, r.outs[1:]
	}
}

func (r *replayer) giveLoops(list ...Loop) {
	if r.s.err != nil || r.err != nil {
		return
	}
	for _, l := range list {
		if len(r.outs) > 0 {
			r.loops[r.outs[0]], r.outs = l, r.outs[1:]
		}
	}
}

// replayers apply one step each, by the primitive's name.
var replayers = map[string]func(r *replayer){
	"get_block": func(r *replayer) { r.giveBlock(r.s.Block(r.text(0))) },
	"get_loops": func(r *replayer) { r.giveLoops(r.s.Loops(r.block(0))...) },
	"split":     func(r *replayer) { r.giveLoops(r.s.Split(r.loop(0), r.numbers(0)...)...) },
	"fuse":      func(r *replayer) { r.giveLoops(r.s.Fuse(r.allLoops()...)) },
	"reorder":   func(r *replayer) { r.s.Reorder(r.allLoops()...) },
	"parallel":  func(r *replayer) { r.s.Parallel(r.loop(0)) },
	"vectorize": func(r *replayer) { r.s.Vectorize(r.loop(0)) },
	"unroll":    func(r *replayer) { r.s.Unroll(r.loop(0)) },
	"annotate":  func(r *replayer) { r.s.Annotate(r.loop(0), r.text(0), r.text(1)) },
	"bind":      func(r *replayer) { r.s.Bind(r.loop(0), r.text(0)) },
	"compute_at": func(r *replayer) {
		b := r.block(0)
		r.s.ComputeAt(b, r.loop(1))
	},
	"compute_inline": func(r *replayer) { r.s.ComputeInline(r.block(0)) },
	"cache_write":    func(r *replayer) { r.giveBlock(r.s.CacheWrite(r.block(0), tir.Scope(r.text(0)))) },
	"cache_read":     func(r *replayer) { r.giveBlock(r.s.CacheRead(r.block(0), r.number(0), tir.Scope(r.text(1)))) },
	"set_scope":      func(r *replayer) { r.s.SetScope(r.block(0), tir.Scope(r.text(0))) },
	"rfactor":        func(r *replayer) { r.giveBlock(r.s.RFactor(r.loop(0), r.number(0))) },
	"transform_layout": func(r *replayer) {
		b := r.block(0)
		r.s.TransformLayout(b, r.numbers(0)...)
	},
	"add_unit_loop": func(r *replayer) { r.giveLoops(r.s.AddUnitLoop(r.block(0))) },
	"decompose_reduction": func(r *replayer) {
		b := r.block(0)
		r.giveBlock(r.s.DecomposeReduction(b, r.loop(1)))
	},
}
