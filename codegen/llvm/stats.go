package llvm

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/target"
)

// Stats is what the assembly of kernels shows without running it.
type Stats struct {
	Model     string        `json:"mca_model"`                // the processor whose scheduling model llvm-mca used
	StandsFor string        `json:"mca_stands_for,omitempty"` // what Model is only near to; empty when it is the processor itself
	Kernels   []KernelStats `json:"kernels"`
}

// KernelStats is the static cost of one kernel.
type KernelStats struct {
	Kernel          string      `json:"kernel"`
	Instructions    int         `json:"instructions"`
	VectorRegisters int         `json:"vector_registers"` // distinct ones that it names
	Spills          int         `json:"spills"`           // registers stored to the stack, by the compiler's own notes
	Reloads         int         `json:"reloads"`
	StackReferences int         `json:"stack_references"` // instructions that name the stack
	Loops           []LoopStats `json:"inner_loops"`      // in the order in which they stand
}

// LoopStats is the static cost of one iteration of an innermost loop.
type LoopStats struct {
	Label           string  `json:"label"`
	Blocks          int     `json:"blocks"` // above 1 the loop branches, and cycles are those of all its blocks in a row
	Instructions    int     `json:"instructions"`
	FMAs            int     `json:"fmas"` // multiply-add instructions, on vectors or scalars
	Loads           int     `json:"loads"`
	Stores          int     `json:"stores"`
	Prefetches      int     `json:"prefetches"` // in neither
	Calls           int     `json:"calls"`      // their own cost is in no figure
	VectorRegisters int     `json:"vector_registers"`
	StackReferences int     `json:"stack_references"`
	Cycles          float64 `json:"cycles"`    // an iteration in steady state, all data in the first cache
	FMAIssue        float64 `json:"fma_issue"` // (Σ reciprocal throughput of the multiply-adds) / cycles: 1 is all that the units take

	text []string // instructions
}

// StatsOptions say how Stats works. The zero value is right.
type StatsOptions struct {
	MCA     string // path of llvm-mca; "" is found as the other tools are
	TempDir string // where temporary files are kept; "" is the system's folder
}

// Stats reads the assembly of the named kernels, which Build was told to keep, and asks llvm-mca about their innermost
// loops. An innermost loop is found in the control flow of the assembly: a branch back to a label, with no other such
// label inside. No code runs, so the target may be any processor. Without llvm-mca the error is diag.ErrMissing.
//
// llvm-mca knows pipes and latencies, neither caches nor branches. Where LLVM has no model of a processor its nearest
// relative stands for it, and StandsFor says so.
func (o *Object) Stats(ctx context.Context, kernels []string, t *target.Target, opts StatsOptions) (*Stats, error) {
	if err := checkTarget(t); err != nil {
		return nil, err
	}
	s := &Stats{}
	s.Model, s.StandsFor = mcaModel(t)
	var loops []*LoopStats
	for _, k := range kernels {
		asm, ok := o.Asm[o.In[k]]
		if !ok {
			return nil, diag.Internal("stats", k, "the object has no assembly of this kernel")
		}
		f, err := parseAsm(asm, k, t.Arch)
		if err != nil {
			return nil, err
		}
		s.Kernels = append(s.Kernels, f.stats(k))
	}
	for i := range s.Kernels {
		for j := range s.Kernels[i].Loops {
			loops = append(loops, &s.Kernels[i].Loops[j])
		}
	}
	if len(loops) == 0 {
		return s, nil
	}
	return s, runMCA(ctx, loops, t, s.Model, s.StandsFor == "", opts)
}

// asmLine is one instruction.
type asmLine struct {
	op, args string // "vaddps", "%ymm0, %ymm1, %ymm2"
	note     string // the comment behind it
}

func (l asmLine) String() string { return l.op + "\t" + l.args }

// asmBlock is a basic block: only its last instruction may branch.
type asmBlock struct {
	label string // "" when nothing branches to it
	lines []asmLine
	next  []int // blocks that may follow, by their place
}

// asmFunc is a function in assembly.
type asmFunc struct {
	arch   string
	blocks []asmBlock
	frame  bool // the frame pointer holds an address of the stack
}

var (
	labelLine  = regexp.MustCompile(`^(\.L[\w$.]+):`)
	labelArg   = regexp.MustCompile(`(?:^|[\s,])(\.L[\w$.]+)$`)
	x86Vector  = regexp.MustCompile(`%[xyz]mm(\d+)`)
	armVector  = regexp.MustCompile(`\b[vqdshb](\d{1,2})\b`)
	x86FMA     = regexp.MustCompile(`^vfn?m(add|sub|addsub|subadd)\d+[ps][hsd]$`)
	armFMA     = regexp.MustCompile(`^(fmla|fmls|fn?madd|fn?msub)$`)
	armBranch  = regexp.MustCompile(`^(b|b\.\w+|cbn?z|tbn?z)$`)
	armFrame   = regexp.MustCompile(`^(mov|add)\tx29, sp\b`)
	armStack   = regexp.MustCompile(`\[sp\b`)
	armFrameAt = regexp.MustCompile(`\[x29\b`)
)

// parseAsm returns the function with the given name in the assembly of a module, as llc writes it.
func parseAsm(asm, name, arch string) (*asmFunc, error) {
	comment := "#"
	if arch == "aarch64" {
		comment = "//"
	}
	start := -1
	for _, label := range []string{"\n" + name + ":", "\n\"" + name + "\":"} {
		if at := strings.Index(asm, label); at >= 0 {
			start = at + len(label)
		}
	}
	if start < 0 {
		return nil, diag.Internal("stats", name, "the assembly has no such function")
	}
	body, _, _ := strings.Cut(asm[start:], "\n.Lfunc_end")
	f := &asmFunc{arch: arch}
	f.open("")
	for i, line := range strings.Split(body, "\n") {
		if i == 0 { // the rest of the line of the function's own label
			continue
		}
		code, note, _ := strings.Cut(line, comment)
		if m := labelLine.FindStringSubmatch(code); m != nil {
			f.open(m[1])
			continue
		}
		op, args, _ := strings.Cut(strings.TrimSpace(code), "\t")
		if op == "" || op[0] == '.' {
			continue
		}
		last := &f.blocks[len(f.blocks)-1]
		l := asmLine{op, strings.TrimSpace(args), note}
		last.lines = append(last.lines, l)
		f.frame = f.frame || l.String() == "movq\t%rsp, %rbp" || armFrame.MatchString(l.String())
		if _, branches := f.branch(l); branches {
			f.open("")
		}
	}
	f.link()
	return f, nil
}

// open begins a block; an empty one without a label becomes it.
func (f *asmFunc) open(label string) {
	if n := len(f.blocks); n > 0 && len(f.blocks[n-1].lines) == 0 && f.blocks[n-1].label == "" {
		f.blocks[n-1].label = label
		return
	}
	f.blocks = append(f.blocks, asmBlock{label: label})
}

// branch reports whether l ends a block, and the label that it goes to, if it has one.
func (f *asmFunc) branch(l asmLine) (label string, branches bool) {
	switch {
	case strings.HasPrefix(l.op, "ret"), l.op == "br", l.op == "ud2", l.op == "brk", l.op == "udf":
		return "", true
	case f.arch == "x86-64" && l.op[0] == 'j', f.arch == "aarch64" && armBranch.MatchString(l.op):
		if m := labelArg.FindStringSubmatch(l.args); m != nil {
			label = m[1]
		}
		return label, true
	}
	return "", false
}

// link finds what may follow each block.
func (f *asmFunc) link() {
	at := map[string]int{}
	for i, b := range f.blocks {
		if b.label != "" {
			at[b.label] = i
		}
	}
	for i := range f.blocks {
		b := &f.blocks[i]
		falls := i+1 < len(f.blocks)
		if n := len(b.lines); n > 0 {
			last := b.lines[n-1]
			if label, branches := f.branch(last); branches {
				if to, ok := at[label]; ok {
					b.next = append(b.next, to)
				}
				falls = falls && label != "" && last.op != "jmp" && last.op != "b"
			}
		}
		if falls {
			b.next = append(b.next, i+1)
		}
	}
}

// loops returns the blocks of each innermost loop, in the order of the text, by the places of their headers.
func (f *asmFunc) loops() [][]int {
	const white, grey, black = 0, 1, 2
	colour := make([]int, len(f.blocks))
	back := map[int][]int{} // header → ends of the branches back to it
	type visit struct{ block, edge int }
	stack := []visit{{0, 0}}
	colour[0] = grey
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.edge == len(f.blocks[top.block].next) {
			colour[top.block] = black
			stack = stack[:len(stack)-1]
			continue
		}
		to := f.blocks[top.block].next[top.edge]
		top.edge++
		switch colour[to] {
		case white:
			colour[to] = grey
			stack = append(stack, visit{to, 0})
		case grey:
			back[to] = append(back[to], stack[len(stack)-1].block)
		}
	}
	before := make([][]int, len(f.blocks))
	for i, b := range f.blocks {
		for _, to := range b.next {
			before[to] = append(before[to], i)
		}
	}
	bodies := map[int][]int{}
	for header, ends := range back { // the blocks from which an end is reached without passing the header
		in := map[int]bool{header: true}
		for work := slices.Clone(ends); len(work) > 0; {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			if !in[b] {
				in[b] = true
				work = append(work, before[b]...)
			}
		}
		for b := range in {
			bodies[header] = append(bodies[header], b)
		}
		slices.Sort(bodies[header])
	}
	var inner [][]int
	for header := range f.blocks {
		body, ok := bodies[header]
		if !ok || slices.ContainsFunc(body, func(b int) bool { return b != header && bodies[b] != nil }) {
			continue
		}
		inner = append(inner, body)
	}
	return inner
}

// count is what a list of instructions holds.
type count struct {
	instructions, fmas, prefetches, calls, stack, spills, reloads int
	registers                                                     map[string]bool
}

func (c *count) add(f *asmFunc, lines []asmLine) {
	if c.registers == nil {
		c.registers = map[string]bool{}
	}
	vector := x86Vector
	if f.arch == "aarch64" {
		vector = armVector
	}
	for _, l := range lines {
		c.instructions++
		for _, m := range vector.FindAllStringSubmatch(l.args, -1) {
			c.registers[m[1]] = true
		}
		switch {
		case f.isFMA(l.op):
			c.fmas++
		case isPrefetch(l.op):
			c.prefetches++
		case strings.HasPrefix(l.op, "call"), l.op == "bl", l.op == "blr":
			c.calls++
		}
		if f.onStack(l) {
			c.stack++
		}
		if strings.Contains(l.note, "Spill") {
			c.spills++
		}
		if strings.Contains(l.note, "Reload") {
			c.reloads++
		}
	}
}

func (f *asmFunc) isFMA(op string) bool {
	if f.arch == "aarch64" {
		return armFMA.MatchString(op)
	}
	return x86FMA.MatchString(op)
}

func isPrefetch(op string) bool {
	return strings.HasPrefix(op, "prefetch") || op == "prfm" || op == "prfum"
}

// onStack reports whether an instruction has an operand on the stack.
func (f *asmFunc) onStack(l asmLine) bool {
	if f.arch == "aarch64" {
		return armStack.MatchString(l.args) || f.frame && armFrameAt.MatchString(l.args)
	}
	return strings.Contains(l.args, "(%rsp") || f.frame && strings.Contains(l.args, "(%rbp")
}

func (f *asmFunc) stats(kernel string) KernelStats {
	var all count
	for _, b := range f.blocks {
		all.add(f, b.lines)
	}
	k := KernelStats{Kernel: kernel, Instructions: all.instructions, VectorRegisters: len(all.registers), Spills: all.spills,
		Reloads: all.reloads, StackReferences: all.stack, Loops: []LoopStats{}}
	for _, body := range f.loops() {
		var c count
		l := LoopStats{Label: f.blocks[body[0]].label}
		for _, b := range body {
			if len(f.blocks[b].lines) > 0 {
				l.Blocks++
			}
			c.add(f, f.blocks[b].lines)
			for _, line := range f.blocks[b].lines {
				l.text = append(l.text, line.String())
			}
		}
		if l.Label == "" {
			l.Label = fmt.Sprintf("block %d", body[0])
		}
		l.Instructions, l.FMAs, l.Prefetches, l.Calls = c.instructions, c.fmas, c.prefetches, c.calls
		l.VectorRegisters, l.StackReferences = len(c.registers), c.stack
		k.Loops = append(k.Loops, l)
	}
	return k
}
