package llvm

import (
	"fmt"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/texel-ml/texel/target"
)

// The driver: one call runs all launches of an inference, on threads that the host lends.
//
//	struct texel_launch { void *fn; void *const *bufs; const int64_t *scalars; int64_t grid; int64_t chunk; };
//	struct texel_run { struct texel_launch *launches; int64_t n; char *scratch; int64_t scratch_stride; int64_t threads;
//	                   int32_t *cancel; uint64_t *ticks; uint64_t pool[32]; };
//
//	int64_t texel_run(struct texel_run *);              // launches completed
//	void    texel_worker(struct texel_run *, int64_t id); // serves until texel_quit
//	void    texel_quit(struct texel_run *);
//
// A kernel is void fn(void *const *bufs, const int64_t *scalars, void *scratch, int64_t begin, int64_t end). A launch is
// cut in chunks of the grid; worker id runs a chunk with its own scratch at scratch + id·scratch_stride, the caller of
// texel_run is worker 0. cancel and ticks may be null. A cancel word that is not zero stops between chunks; the launch in
// which that happens does not count as completed. ticks[2i] and ticks[2i+1] are the cycle counter before and after
// launch i.
//
// Chunks are claimed: pool[1] holds generation<<32 | chunks not yet claimed, everyone takes one by compare-and-swap, and
// the caller waits for finished chunks and not for workers. So a worker that has no core, or none at all, costs
// nothing, and the generation in the word keeps a late worker from taking a chunk of the next launch twice. Waiting is
// spinning first, then a futex. No libc: system calls are inline assembly.
//
// pool must be zero at first. A struct that is aligned to 64 bytes has the word, the count and the launch on cache lines
// of their own.

// Offsets in the two structs.
const (
	launchFn      = 0
	launchBufs    = 8
	launchScalars = 16
	launchGrid    = 24
	launchChunk   = 32
	launchBytes   = 40

	runLaunches = 0
	runCount    = 8
	runScratch  = 16
	runStride   = 24
	runThreads  = 32
	runCancel   = 40
	runTicks    = 48

	poolWord     = 64  // i64: generation<<32 | unclaimed
	poolKick     = 72  // i32: futex of sleeping workers
	poolSleepers = 76  // i32: workers asleep
	poolQuit     = 80  // i32
	poolActive   = 84  // i32: an inference is running
	poolLeft     = 128 // i32: unfinished chunks, futex of the caller
	poolJoiner   = 132 // i32: the caller sleeps
	poolLaunch   = 192 // the launch
	poolChunks   = 200 // i64: its number of chunks
	poolSkipped  = 208 // i32: a chunk was not run because of cancel
	poolSize     = 216 // i64: grid steps a chunk
)

// How long to wait before sleeping, in pauses.
const (
	spinHot  = 20000 // a worker during an inference
	spinCold = 2000  // a worker between inferences
	spinJoin = 256   // the caller, then as many yields as follow
	spinMost = spinJoin + 64
)

type poolBuilder struct {
	m     *ir.Module
	arm   bool
	attrs []ir.FuncAttribute
	code
	run value.Value
}

// buildPool adds the driver and the memory functions that LLVM may call to a module.
func buildPool(m *ir.Module, t *target.Target) {
	p := &poolBuilder{m: m, arm: t.Arch == "aarch64", attrs: funcAttrs(t)}
	for _, name := range []string{"llvm.smin.i64", "llvm.smax.i64"} {
		m.NewFunc(name, i64, ir.NewParam("", i64), ir.NewParam("", i64))
	}
	if !p.arm {
		m.NewFunc("llvm.readcyclecounter", i64)
	}
	cancelled := p.cancelled()
	chunk := p.chunk()
	drain := p.drain(cancelled, chunk)
	p.worker(drain)
	p.quit()
	p.driver(cancelled, chunk, drain)
	p.memory()
}

// fn starts a function; its first parameter becomes p.run.
func (p *poolBuilder) fn(name string, ret types.Type, linkage enum.Linkage, params ...tok) []value.Value {
	list := make([]*ir.Param, len(params))
	for i, t := range params {
		list[i] = ir.NewParam("", t)
	}
	f := p.m.NewFunc(name, ret, list...)
	f.FuncAttrs = p.attrs
	f.Linkage = linkage
	p.code = code{f: f}
	p.at(p.newBlock())
	args := make([]value.Value, len(list))
	for i := range list {
		args[i] = list[i]
	}
	p.run = args[0]
	return args
}

func (p *poolBuilder) field(off int) value.Value { return p.offset(p.run, off) }

func (p *poolBuilder) offset(base value.Value, off int) value.Value {
	return p.emit(ptr, "getelementptr i8, $0, $1", base, intConst(i64, int64(off)))
}

func (p *poolBuilder) load(t tok, base value.Value, off int) value.Value {
	return p.emit(t, fmt.Sprintf("load %s, $0, align %d", t, width(t)), p.offset(base, off))
}

// get and set are atomic accesses to a field of the run.
func (p *poolBuilder) get(t tok, off int, order string) value.Value {
	return p.emit(t, fmt.Sprintf("load atomic %s, $0 %s, align %d", t, order, width(t)), p.field(off))
}

func (p *poolBuilder) set(off int, v value.Value, order string) {
	p.do(fmt.Sprintf("store atomic $0, $1 %s, align %d", order, width(v.Type().(tok))), v, p.field(off))
}

func (p *poolBuilder) rmw(op string, off int, by int64) value.Value {
	return p.emit(i32, "atomicrmw "+op+" $0, $1 seq_cst, align 4", p.field(off), intConst(i32, by))
}

func (p *poolBuilder) isZero(v value.Value) value.Value {
	return p.emit(i1, "icmp eq $0, %1", v, intConst(v.Type().(tok), 0))
}

// branch goes to yes or no and moves to next.
func (p *poolBuilder) branch(cond value.Value, yes, no, next *ir.Block) {
	p.condBr(cond, yes, no)
	p.at(next)
}

func width(t tok) int {
	if t == i32 {
		return 4
	}
	return 8
}

func (p *poolBuilder) pause() {
	if p.arm {
		p.do(`call void asm sideeffect "isb", "~{memory}"()`)
		return
	}
	p.do(`call void asm sideeffect "pause", "~{memory}"()`)
}

// syscall makes a system call with up to four arguments and drops its result.
func (p *poolBuilder) syscall(x86, arm int64, args ...value.Value) {
	for len(args) < 4 {
		args = append(args, intConst(i64, 0))
	}
	if p.arm {
		args = append([]value.Value{intConst(i64, arm)}, args...)
		p.emit(i64, `call i64 asm sideeffect "svc #0", "={x0},{x8},{x0},{x1},{x2},{x3},~{memory}"($0, $1, $2, $3, $4)`, args...)
		return
	}
	args = append([]value.Value{intConst(i64, x86)}, args...)
	p.emit(i64, `call i64 asm sideeffect "syscall", "={rax},{rax},{rdi},{rsi},{rdx},{r10},~{rcx},~{r11},~{memory}"($0, $1, $2, $3, $4)`, args...)
}

const (
	futexWait = 128 // FUTEX_WAIT | FUTEX_PRIVATE_FLAG
	futexWake = 129
)

func (p *poolBuilder) futex(off int, op int64, v value.Value) {
	wide := v
	if v.Type() == types.Type(i32) {
		wide = p.emit(i64, "zext $0 to i64", v)
	}
	p.syscall(202, 98, p.field(off), intConst(i64, op), wide)
}

func (p *poolBuilder) yield() { p.syscall(24, 124) }

// now reads a counter of constant rate. On AArch64 the cycle counter itself traps in user mode; the virtual timer does not.
func (p *poolBuilder) now() value.Value {
	if p.arm {
		return p.emit(i64, `call i64 asm sideeffect "mrs $$0, cntvct_el0", "=r,~{memory}"()`)
	}
	return p.emit(i64, "call i64 @llvm.readcyclecounter()")
}

// cancelled is i1 cancelled(run).
func (p *poolBuilder) cancelled() *ir.Func {
	p.fn("texel.cancelled", i1, enum.LinkageInternal, ptr)
	look, done := p.newBlock(), p.newBlock()
	entry := p.b
	word := p.load(ptr, p.run, runCancel)
	p.branch(p.emit(i1, "icmp eq $0, null", word), done, look, look)
	set := p.emit(i1, "icmp ne $0, 0", p.emit(i32, "load atomic i32, $0 monotonic, align 4", word))
	p.br(done)
	p.at(done)
	r := p.phi(i1)
	incoming(r, konst{i1, "false"}, entry)
	incoming(r, set, look)
	p.b.Term = ir.NewRet(r)
	return p.f
}

// chunk is void chunk(run, launch, worker, begin, end).
func (p *poolBuilder) chunk() *ir.Func {
	a := p.fn("texel.chunk", types.Void, enum.LinkageInternal, ptr, ptr, i64, i64, i64)
	launch, id, begin, end := a[1], a[2], a[3], a[4]
	scratch := p.emit(ptr, "getelementptr i8, $0, $1", p.load(ptr, p.run, runScratch),
		p.emit(i64, "mul $0, %1", id, p.load(i64, p.run, runStride)))
	p.do("call void %0($1, $2, $3, $4, $5)", p.load(ptr, launch, launchFn), p.load(ptr, launch, launchBufs),
		p.load(ptr, launch, launchScalars), scratch, begin, end)
	p.b.Term = ir.NewRet(nil)
	return p.f
}

// drain is void drain(run, worker): it claims and runs chunks until none is left unclaimed.
func (p *poolBuilder) drain(cancelled, chunk *ir.Func) *ir.Func {
	id := p.fn("texel.drain", types.Void, enum.LinkageInternal, ptr, i64)[1]
	claim, try, swap, took, skip, work, finish, last, wake, done := p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock(),
		p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock()
	p.br(claim)

	p.at(claim)
	first := p.get(i64, poolWord, "acquire")
	p.br(try)

	p.at(try)
	w := p.phi(i64)
	low := p.emit(i32, "trunc $0 to i32", w)
	p.branch(p.isZero(low), done, swap, swap)

	pair := p.emit("{ i64, i1 }", "cmpxchg weak $0, $1, $2 acq_rel acquire, align 8", p.field(poolWord), w, p.emit(i64, "sub $0, 1", w))
	seen := p.emit(i64, "extractvalue $0, 0", pair)
	incoming(w, first, claim)
	incoming(w, seen, swap)
	p.branch(p.emit(i1, "extractvalue $0, 1", pair), took, try, took)

	p.branch(p.emit(i1, "call i1 %0($1)", cancelled, p.run), skip, work, skip)
	p.set(poolSkipped, intConst(i32, 1), "monotonic")
	p.br(finish)

	p.at(work)
	launch := p.load(ptr, p.run, poolLaunch)
	grid, size := p.load(i64, launch, launchGrid), p.load(i64, p.run, poolSize)
	index := p.emit(i64, "sub $0, %1", p.load(i64, p.run, poolChunks), p.emit(i64, "zext $0 to i64", low))
	begin := p.emit(i64, "mul $0, %1", index, size)
	end := p.emit(i64, "call i64 @llvm.smin.i64($0, $1)", p.emit(i64, "add $0, %1", begin, size), grid)
	p.do("call void %0($1, $2, $3, $4, $5)", chunk, p.run, launch, id, begin, end)
	p.br(finish)

	p.at(finish)
	old := p.rmw("sub", poolLeft, 1)
	p.branch(p.emit(i1, "icmp eq $0, 1", old), last, claim, last)
	p.branch(p.isZero(p.get(i32, poolJoiner, "seq_cst")), claim, wake, wake)
	p.futex(poolLeft, futexWake, intConst(i64, 1))
	p.br(claim)

	p.at(done)
	p.b.Term = ir.NewRet(nil)
	return p.f
}

// worker is void texel_worker(run, worker).
func (p *poolBuilder) worker(drain *ir.Func) {
	id := p.fn("texel_worker", types.Void, enum.LinkageNone, ptr, i64)[1]
	work, idle, spin, look, patience, pause, sleep, wait, woken, out := p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock(),
		p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock()
	p.br(work)
	p.at(work)
	p.do("call void %0($1, $2)", drain, p.run, id)
	p.br(idle)
	p.at(idle)
	p.br(spin)

	p.at(spin)
	n := p.phi(i64)
	p.branch(p.isZero(p.get(i32, poolQuit, "acquire")), look, out, look)
	unclaimed := p.emit(i32, "trunc $0 to i32", p.get(i64, poolWord, "acquire"))
	p.branch(p.isZero(unclaimed), patience, work, patience)
	limit := p.emit(i64, "select $0, $1, $2", p.isZero(p.get(i32, poolActive, "monotonic")), intConst(i64, spinCold), intConst(i64, spinHot))
	p.branch(p.emit(i1, "icmp slt $0, %1", n, limit), pause, sleep, pause)
	p.pause()
	next := p.emit(i64, "add $0, 1", n)
	p.br(spin)
	incoming(n, intConst(i64, 0), idle)
	incoming(n, next, pause)

	// Whoever publishes writes the word and then reads sleepers; this writes sleepers and then reads the word. Both in
	// one total order, so one of the two sees the other.
	p.at(sleep)
	kick := p.get(i32, poolKick, "seq_cst")
	p.rmw("add", poolSleepers, 1)
	again := p.emit(i32, "trunc $0 to i32", p.get(i64, poolWord, "seq_cst"))
	nothing := p.emit(i1, "and $0, %1", p.isZero(again), p.isZero(p.get(i32, poolQuit, "seq_cst")))
	p.branch(nothing, wait, woken, wait)
	p.futex(poolKick, futexWait, kick)
	p.br(woken)
	p.at(woken)
	p.rmw("sub", poolSleepers, 1)
	p.br(idle)

	p.at(out)
	p.b.Term = ir.NewRet(nil)
}

// quit is void texel_quit(run).
func (p *poolBuilder) quit() {
	p.fn("texel_quit", types.Void, enum.LinkageNone, ptr)
	p.set(poolQuit, intConst(i32, 1), "seq_cst")
	p.rmw("add", poolKick, 1)
	p.futex(poolKick, futexWake, intConst(i64, 1<<30))
	p.b.Term = ir.NewRet(nil)
}

// driver is i64 texel_run(run).
func (p *poolBuilder) driver(cancelled, chunk, drain *ir.Func) {
	p.fn("texel_run", i64, enum.LinkageNone, ptr)
	next, start, begin, stamp0, pick := p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock()
	serial, step, call, after, stamp1, advance := p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock()
	share, finish := p.newBlock(), p.newBlock()
	entry := p.b
	launches, count, ticks := p.load(ptr, p.run, runLaunches), p.load(i64, p.run, runCount), p.load(ptr, p.run, runTicks)
	threads := p.load(i64, p.run, runThreads)
	untimed := p.emit(i1, "icmp eq $0, null", ticks)
	p.set(poolActive, intConst(i32, 1), "monotonic")
	p.br(next)

	p.at(next)
	i := p.phi(i64)
	incoming(i, intConst(i64, 0), entry)
	p.branch(p.emit(i1, "icmp slt $0, %1", i, count), start, finish, start)
	p.branch(p.emit(i1, "call i1 %0($1)", cancelled, p.run), finish, begin, begin)
	launch := p.emit(ptr, "getelementptr i8, $0, $1", launches, p.emit(i64, "mul $0, %1", i, intConst(i64, launchBytes)))
	tick := p.emit(ptr, "getelementptr i64, $0, $1", ticks, p.emit(i64, "shl $0, 1", i))
	p.branch(untimed, pick, stamp0, stamp0)
	p.do("store $0, $1, align 8", p.now(), tick)
	p.br(pick)

	// A chunk of 0 is the whole grid. The count of chunks must fit the low half of the word.
	p.at(pick)
	grid, asked := p.load(i64, launch, launchGrid), p.load(i64, launch, launchChunk)
	whole := p.emit(i1, "icmp slt $0, 1", asked)
	least := p.emit(i64, "add $0, 1", p.emit(i64, "lshr $0, 30", grid))
	size := p.emit(i64, "call i64 @llvm.smax.i64($0, $1)", p.emit(i64, "select $0, $1, $2", whole, grid, asked), least)
	alone := p.emit(i1, "or $0, %1", p.emit(i1, "icmp sle $0, 1", threads), p.emit(i1, "icmp sle $0, %1", grid, size))
	p.branch(alone, serial, share, serial)
	from := p.phi(i64)
	incoming(from, intConst(i64, 0), pick)
	p.branch(p.emit(i1, "icmp slt $0, %1", from, grid), step, after, step)
	p.branch(p.emit(i1, "call i1 %0($1)", cancelled, p.run), finish, call, call)
	to := p.emit(i64, "add $0, %1", from, size)
	p.do("call void %0($1, $2, $3, $4, $5)", chunk, p.run, launch, intConst(i64, 0), from, p.emit(i64, "call i64 @llvm.smin.i64($0, $1)", to, grid))
	incoming(from, to, call)
	p.br(serial)

	p.at(after)
	p.branch(untimed, advance, stamp1, stamp1)
	p.do("store $0, $1, align 8", p.now(), p.emit(ptr, "getelementptr i8, $0, i64 8", tick))
	p.br(advance)
	p.at(advance)
	incoming(i, p.emit(i64, "add $0, 1", i), advance)
	p.br(next)

	p.at(share)
	p.share(launch, grid, size, drain)
	p.condBr(p.isZero(p.get(i32, poolSkipped, "monotonic")), after, finish)

	p.at(finish)
	p.set(poolActive, intConst(i32, 0), "monotonic")
	p.b.Term = ir.NewRet(i)
}

// share publishes a launch, works on it and waits until all its chunks are finished.
func (p *poolBuilder) share(launch, grid, size value.Value, drain *ir.Func) {
	wake, work, join, spin, nap, yield, sleep, wait, joined := p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock(),
		p.newBlock(), p.newBlock(), p.newBlock(), p.newBlock()
	chunks := p.emit(i64, "udiv $0, %1", p.emit(i64, "sub $0, 1", p.emit(i64, "add $0, %1", grid, size)), size)
	store := func(off int, v value.Value) {
		p.do(fmt.Sprintf("store $0, $1, align %d", width(v.Type().(tok))), v, p.field(off))
	}
	store(poolLaunch, launch)
	store(poolChunks, chunks)
	store(poolSize, size)
	p.set(poolSkipped, intConst(i32, 0), "monotonic")
	p.set(poolJoiner, intConst(i32, 0), "monotonic")
	p.set(poolLeft, p.emit(i32, "trunc $0 to i32", chunks), "monotonic")
	generation := p.emit(i64, "lshr $0, 32", p.get(i64, poolWord, "monotonic"))
	word := p.emit(i64, "or $0, %1", p.emit(i64, "shl $0, 32", p.emit(i64, "add $0, 1", generation)), chunks)
	p.set(poolWord, word, "seq_cst")
	p.branch(p.isZero(p.get(i32, poolSleepers, "seq_cst")), work, wake, wake)
	p.rmw("add", poolKick, 1)
	p.futex(poolKick, futexWake, p.emit(i64, "sub $0, 1", chunks))
	p.br(work)
	p.at(work)
	p.do("call void %0($1, $2)", drain, p.run, intConst(i64, 0))
	p.br(join)

	p.at(join)
	n := p.phi(i64)
	p.branch(p.isZero(p.get(i32, poolLeft, "acquire")), joined, spin, spin)
	n1 := p.emit(i64, "add $0, 1", n)
	p.branch(p.emit(i1, "icmp slt $0, %1", n, intConst(i64, spinJoin)), nap, yield, nap)
	p.pause()
	p.br(join)
	p.at(yield)
	sleepy := p.newBlock()
	p.branch(p.emit(i1, "icmp slt $0, %1", n, intConst(i64, spinMost)), sleepy, sleep, sleepy)
	p.yield()
	p.br(join)
	p.at(sleep)
	p.set(poolJoiner, intConst(i32, 1), "seq_cst")
	left := p.get(i32, poolLeft, "seq_cst")
	p.branch(p.isZero(left), joined, wait, wait)
	p.futex(poolLeft, futexWait, left)
	p.br(join)
	incoming(n, intConst(i64, 0), work)
	incoming(n, n1, nap)
	incoming(n, n1, sleepy)
	incoming(n, n1, wait)
	p.at(joined)
}

// memory defines memcpy and memset, hidden: LLVM may call them, and there is no libc to have them from.
func (p *poolBuilder) memory() {
	loop := func(name string, body func(dst, src, i value.Value)) {
		src := ptr
		if name == "memset" {
			src = i32
		}
		a := p.fn(name, ptr, enum.LinkageNone, ptr, src, i64)
		p.f.Visibility = enum.VisibilityHidden
		p.f.FuncAttrs = append(append([]ir.FuncAttribute{}, p.attrs...), attr(`"no-builtins"`))
		entry, body0, out := p.b, p.newBlock(), p.newBlock()
		p.branch(p.isZero(a[2]), out, body0, body0)
		i := p.phi(i64)
		incoming(i, intConst(i64, 0), entry)
		body(a[0], a[1], i)
		i2 := p.emit(i64, "add nuw $0, 1", i)
		incoming(i, i2, p.b)
		p.condBr(p.emit(i1, "icmp ult $0, %1", i2, a[2]), body0, out)
		p.at(out)
		p.b.Term = ir.NewRet(a[0])
	}
	loop("memcpy", func(dst, src, i value.Value) {
		v := p.emit(i8, "load i8, $0, align 1", p.emit(ptr, "getelementptr i8, $0, $1", src, i))
		p.do("store $0, $1, align 1", v, p.emit(ptr, "getelementptr i8, $0, $1", dst, i))
	})
	loop("memset", func(dst, c, i value.Value) {
		p.do("store $0, $1, align 1", p.emit(i8, "trunc $0 to i8", c), p.emit(ptr, "getelementptr i8, $0, $1", dst, i))
	})
}
