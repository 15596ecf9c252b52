package llvm

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/transform"
)

// machine runs compiled kernels: this processor, or an emulated one.
type machine interface {
	// run executes kernel number k on tensors, which it overwrites.
	run(t testing.TB, k int, args []*tensor.Tensor, scalars []int64)
}

// blob is the memory of one call. All buffers lie at addresses that are aligned to their element and to nothing more.
type blob struct {
	data    []byte
	offsets []int
	scalars int
	scratch int
}

const blobHead = 6 * 8

// scratchOf is the scratch memory that the loop passes give a kernel; the emitter's offsets must stay within it.
func scratchOf(k *tir.Kernel) int {
	sized, err := transform.SizeScratch(k, transform.Options{})
	if err != nil {
		panic(err)
	}
	return sized.Scratch
}

func newBlob(k *tir.Kernel, index int, args []*tensor.Tensor, scalars []int64) *blob {
	b := &blob{}
	at := blobHead + 8*len(args)
	b.scalars = at
	at += 8 * len(scalars)
	at = (at + 63) &^ 63
	b.scratch = at
	at += scratchOf(k)
	for _, a := range args {
		size := a.DType.Bits() / 8
		at = (at+63)&^63 + size // off every larger alignment
		b.offsets = append(b.offsets, at)
		at += len(a.Data)
	}
	b.data = make([]byte, at+64)
	word := func(i int, v int64) { binary.LittleEndian.PutUint64(b.data[8*i:], uint64(v)) }
	for i, v := range []int64{int64(index), 0, int64(k.GridExtent), int64(len(args)), int64(b.scalars), int64(b.scratch)} {
		word(i, v)
	}
	for i, off := range b.offsets {
		word(6+i, int64(off))
		copy(b.data[off:], args[i].Data)
	}
	for i, v := range scalars {
		word(b.scalars/8+i, v)
	}
	return b
}

func (b *blob) store(t testing.TB, args []*tensor.Tensor) {
	for i, off := range b.offsets {
		copy(args[i].Data, b.data[off:])
	}
}

// native is this processor.
type native struct {
	kernels []*tir.Kernel
	lib     *library
}

func newNative(t testing.TB, tgt *target.Target, kernels []*tir.Kernel) *native {
	if err := tgt.RunsHere(); err != nil {
		t.Skip(err)
	}
	tl := tools(t)
	o, err := Build(context.Background(), kernels, tgt, Options{Tools: &tl})
	require.NoError(t, err)
	return &native{kernels, load(t, o.SO)}
}

func (n *native) run(t testing.TB, k int, args []*tensor.Tensor, scalars []int64) {
	kernel := n.kernels[k]
	b := newBlob(kernel, k, args, scalars)
	aligned := make([]byte, len(b.data)+64)
	skip := int((64 - uintptr(unsafe.Pointer(&aligned[0]))%64) % 64)
	memory := aligned[skip : skip+len(b.data)]
	copy(memory, b.data)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&aligned[0])
	base := uintptr(unsafe.Pointer(&memory[0]))
	pointers := make([]uintptr, len(args)+1)
	for i, off := range b.offsets {
		pointers[i] = base + uintptr(off)
	}
	pin.Pin(&pointers[0])
	purego.SyscallN(n.lib.symbol(t, kernel.Name), uintptr(unsafe.Pointer(&pointers[0])), base+uintptr(b.scalars), base+uintptr(b.scratch), 0, uintptr(kernel.GridExtent))
	copy(b.data, memory)
	b.store(t, args)
}

// emulated is an AArch64 processor: a static program of the kernels and a small driver that takes calls from its standard
// input, under qemu.
type emulated struct {
	kernels []*tir.Kernel
	path    string
}

// avx2 is the level of x86-64 without masks.
func avx2(t testing.TB) *target.Target {
	tgt, err := target.Parse("x86-64-v3")
	require.NoError(t, err)
	return tgt
}

// bigCore is a phone's processor, oldCore one of Armv8.0, which does not compute in float16.
func bigCore(t testing.TB) *target.Target {
	tgt, err := target.Parse("cortex-a76")
	require.NoError(t, err)
	return tgt
}

func oldCore(t testing.TB) *target.Target {
	tgt := bigCore(t)
	tgt.Name, tgt.CPU, tgt.Tune, tgt.Features = "old", "cortex-a53", "", []string{"neon"}
	return tgt
}

// armDriver reads calls, each a length and a blob as newBlob makes it, until there is none, and writes the blobs back.
const armDriver = `
@arena = internal global [16777216 x i8] zeroinitializer, align 4096
@length = internal global i64 0, align 8

define internal i64 @call(i64 %nr, i64 %a, ptr %b, i64 %c) #0 {
  %r = call i64 asm sideeffect "svc #0", "={x0},{x8},{x0},{x1},{x2},~{memory}"(i64 %nr, i64 %a, ptr %b, i64 %c)
  ret i64 %r
}

define internal void @all(i64 %nr, i64 %fd, ptr %p, i64 %n) #0 {
entry:
  br label %loop
loop:
  %at = phi i64 [ 0, %entry ], [ %at1, %next ]
  %more = icmp slt i64 %at, %n
  br i1 %more, label %step, label %done
step:
  %q = getelementptr i8, ptr %p, i64 %at
  %left = sub i64 %n, %at
  %got = call i64 @call(i64 %nr, i64 %fd, ptr %q, i64 %left)
  %ok = icmp sgt i64 %got, 0
  br i1 %ok, label %next, label %end
next:
  %at1 = add i64 %at, %got
  br label %loop
end:
  call i64 @call(i64 94, i64 0, ptr null, i64 0)
  unreachable
done:
  ret void
}

define void @_start() #0 {
entry:
  br label %next
next:
  call void @all(i64 63, i64 0, ptr @length, i64 8)
  %n = load i64, ptr @length
  call void @all(i64 63, i64 0, ptr @arena, i64 %n)
  %k = load i64, ptr @arena
  %begin = load i64, ptr getelementptr (i64, ptr @arena, i64 1)
  %end = load i64, ptr getelementptr (i64, ptr @arena, i64 2)
  %bufs = load i64, ptr getelementptr (i64, ptr @arena, i64 3)
  %so = load i64, ptr getelementptr (i64, ptr @arena, i64 4)
  %wo = load i64, ptr getelementptr (i64, ptr @arena, i64 5)
  %s = getelementptr i8, ptr @arena, i64 %so
  %w = getelementptr i8, ptr @arena, i64 %wo
  br label %fix
fix:
  %i = phi i64 [ 0, %next ], [ %i1, %fix1 ]
  %again = icmp slt i64 %i, %bufs
  br i1 %again, label %fix1, label %go
fix1:
  %j = add i64 %i, 6
  %p = getelementptr i64, ptr @arena, i64 %j
  %off = load i64, ptr %p
  %addr = getelementptr i8, ptr @arena, i64 %off
  store ptr %addr, ptr %p
  %i1 = add i64 %i, 1
  br label %fix
go:
  %fp = getelementptr ptr, ptr @table, i64 %k
  %f = load ptr, ptr %fp
  call void %f(ptr getelementptr (i64, ptr @arena, i64 6), ptr %s, ptr %w, i64 %begin, i64 %end)
  call void @all(i64 64, i64 1, ptr @arena, i64 %n)
  br label %next
}
attributes #0 = { nounwind }
`

func newEmulated(t testing.TB, tgt *target.Target, kernels []*tir.Kernel) *emulated {
	names, objects := []string{}, []string{}
	dir := t.TempDir()
	for i, g := range partition(kernels) {
		m := newModule(unitName(i), tgt)
		for _, k := range g {
			require.NoError(t, m.emitKernel(k))
			names = append(names, k.Name)
		}
		objects = append(objects, compileTo(t, dir, m.SourceFilename, m.String()))
	}
	return &emulated{kernels: kernels, path: linkEmulated(t, dir, tgt, names, objects)}
}

// compileTo makes an object of a module in a folder and returns its path.
func compileTo(t testing.TB, dir, name, text string) string {
	src, out := filepath.Join(dir, name+".ll"), filepath.Join(dir, name+".o")
	require.NoError(t, os.WriteFile(src, []byte(text), 0o600))
	tools := tools(t)
	require.NoError(t, tools.llc(context.Background(), &unit{name: name, ll: text}, src, out, "obj"))
	return out
}

// linkEmulated makes a program of objects that hold the named kernels, and returns its path.
func linkEmulated(t testing.TB, dir string, tgt *target.Target, names, objects []string) string {
	if _, err := exec.LookPath("qemu-aarch64"); err != nil {
		t.Skip("qemu-aarch64 is not installed: apt-get install qemu-user")
	}
	table, declares := []string{}, ""
	for _, n := range names {
		table = append(table, "ptr @"+n)
		declares += "declare void @" + n + "(ptr, ptr, ptr, i64, i64)\n"
	}
	pool := newModule("pool", tgt)
	buildPool(pool.Module, tgt)
	driver := "target triple = \"aarch64-unknown-linux-gnu\"\n" + declares +
		fmt.Sprintf("@table = internal constant [%d x ptr] [%s]\n", len(table), strings.Join(table, ", ")) + armDriver
	path := filepath.Join(dir, "program")
	objects = append(objects, compileTo(t, dir, "pool", pool.String()), compileTo(t, dir, "driver", driver))
	stderr, err := run(context.Background(), tools(t).LLD, append([]string{"-static", "-e", "_start", "-o", path}, objects...)...)
	require.NoError(t, err, stderr)
	return path
}

func (e *emulated) run(t testing.TB, k int, args []*tensor.Tensor, scalars []int64) {
	e.runUnder(t, nil, k, args, scalars)
}

// runUnder is run with more arguments for qemu, of which a later one counts, and returns what qemu writes to its
// standard error.
func (e *emulated) runUnder(t testing.TB, options []string, k int, args []*tensor.Tensor, scalars []int64) string {
	b := newBlob(e.kernels[k], k, args, scalars)
	in := binary.LittleEndian.AppendUint64(nil, uint64(len(b.data)))
	cmd := exec.Command("qemu-aarch64", append(append([]string{"-cpu", "max"}, options...), e.path)...)
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = bytes.NewReader(append(in, b.data...)), &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s: %s", e.kernels[k].Name, stderr.String())
	require.Len(t, out, len(b.data), e.kernels[k].Name)
	copy(b.data, out)
	b.store(t, args)
	return stderr.String()
}
