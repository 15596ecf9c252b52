// Package opencl writes kernels of the loop IR as OpenCL C 1.2.
//
// One kernel becomes one source with one entry point. Its arguments are the kernel's buffers in order, then its scalars
// as long. A buffer of scope texture is an image2d_t (image2d_array_t with layers) that is read without a sampler, at
// integer coordinates that are always inside, or written whole texels at a time; every other buffer is a pointer to
// dense elements. Local buffers are private variables and arrays, shared ones are __local.
//
// # Types
//
// Elements lie in memory as their type says: a bool is a uchar, a bfloat16 a ushort, a float16 a half. In registers a
// bool is 0 or 1, and in vectors a mask of int (0 or -1); float16 is computed in float where the target has no half
// arithmetic, and bfloat16 always is, rounded when stored and at casts: more precise than tir asks, never less. Index
// arithmetic is int where its range fits, long elsewhere.
//
// Float arithmetic is that of the device: basic operations round correctly, except division and square root of float
// (2.5 and 3 ulp), and functions have the error bounds of the OpenCL specification, section 7.4. A source is built
// without options that relax this.
package opencl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/texture"
	"github.com/texel-ml/texel/tir"
	"github.com/texel-ml/texel/tir/arith"
)

// BuildOptions are the options with which a device must build a source.
const BuildOptions = "-cl-std=CL1.2"

// Kernel is a kernel as OpenCL C.
type Kernel struct {
	Name        string // of the entry point
	Source      string
	Args        []Arg
	Grid, Group []int64  // work-items an axis in all and in a group; both have one to three numbers
	Extensions  []string // that a device must have, sorted
}

// Arg is one argument of a kernel.
type Arg struct {
	Name   string
	DType  tensor.DType
	Image  *texture.Image // nil: a buffer or a scalar
	Scalar bool
	Writes bool
}

// Emit writes k for t. What the target cannot do, such as an image above its limits, a vector of 5 lanes or float64
// without the extension, is diag.ErrUnsupported.
func Emit(k *tir.Kernel, t *target.Target) (*Kernel, error) {
	if t.GPU == nil {
		return nil, diag.Invalid("opencl", k.Name, "target %s has no OpenCL", t)
	}
	grid, group, err := Geometry(k)
	if err != nil {
		return nil, err
	}
	e := &emitter{k: k, t: t, a: arith.New(), grid: grid, group: group, names: map[any]string{}, taken: reserved(),
		wide: map[*tir.Var]bool{}, helpers: map[string]string{}, locals: map[*tir.Buffer]*local{}, images: map[*tir.Buffer]*texture.Image{}}
	out := &Kernel{Name: e.unique(k.Name), Grid: grid, Group: group}
	e.checkGroup()
	params := e.params(out)
	e.depth = 1
	e.sharedBuffers()
	e.body()
	if e.err != nil {
		return nil, e.err
	}
	var b strings.Builder
	out.Extensions = e.extensions()
	for _, x := range out.Extensions {
		fmt.Fprintf(&b, "#pragma OPENCL EXTENSION %s : enable\n\n", x)
	}
	for _, name := range sortedKeys(e.helpers) {
		b.WriteString(e.helpers[name] + "\n")
	}
	fmt.Fprintf(&b, "__kernel __attribute__((reqd_work_group_size(%s)))\nvoid %s(%s)\n{\n%s}\n", three(group), out.Name, params, e.b.String())
	out.Source = b.String()
	return out, nil
}

// three prints the sizes of a group on three axes.
func three(group []int64) string {
	all := []int64{1, 1, 1}
	copy(all, group)
	return fmt.Sprintf("%d, %d, %d", all[0], all[1], all[2])
}

// axes are the grid axes by their place.
const axes = "xyz"

// Geometry returns the work-items an axis, in all and in a group, that k is launched with: those of its bound loops, or
// of its grid. Several loops that are bound to one axis share it; the longest decides.
func Geometry(k *tir.Kernel) (grid, group []int64, err error) {
	blocks, threads := [3]int64{1, 1, 1}, [3]int64{1, 1, 1}
	used, bound := 1, false
	tir.Walk(k.Body, func(n any) bool {
		f, ok := n.(*tir.For)
		if !ok || f.Kind != tir.Bound || f.Thread == vthread {
			return true
		}
		axis, isThread, ok := threadAxis(f.Thread)
		extent, constant := tir.AsInt(f.Extent)
		switch {
		case !ok:
			err = diag.Invalid("opencl", k.Name, "loop %s is bound to %q, which is no grid axis", f.Var.Name, f.Thread)
		case !constant || extent < 1:
			err = diag.Invalid("opencl", k.Name, "loop %s is bound to %s and has no constant, positive extent", f.Var.Name, f.Thread)
		default:
			bound, used = true, max(used, axis+1)
			if isThread {
				threads[axis] = max(threads[axis], extent)
			} else {
				blocks[axis] = max(blocks[axis], extent)
			}
		}
		return err == nil
	})
	if err != nil {
		return nil, nil, err
	}
	if k.Grid != nil {
		if bound {
			return nil, nil, diag.Invalid("opencl", k.Name, "kernel has a grid variable and loops bound to grid axes")
		}
		threads[0] = int64(max(1, k.Group))
		blocks[0] = (int64(max(1, k.GridExtent)) + threads[0] - 1) / threads[0]
	}
	for i := range used {
		grid, group = append(grid, blocks[i]*threads[i]), append(group, threads[i])
	}
	return grid, group, nil
}

// vthread is the axis whose loops stay serial.
const vthread = "vthread"

// threadAxis returns the axis of blockIdx.x … threadIdx.z and whether it counts work-items of a group.
func threadAxis(name string) (axis int, isThread, ok bool) {
	head, tail, _ := strings.Cut(name, ".")
	axis = strings.Index(axes, tail)
	isThread = head == "threadIdx"
	return axis, isThread, len(tail) == 1 && axis >= 0 && (isThread || head == "blockIdx")
}

// emitter writes one kernel. The first error stops it in effect: what is written afterwards is dropped.
type emitter struct {
	k           *tir.Kernel
	t           *target.Target
	a           *arith.Analyzer
	grid, group []int64
	b           strings.Builder
	depth       int
	names       map[any]string // *tir.Var and *tir.Buffer, while declared
	taken       map[string]bool
	wide        map[*tir.Var]bool // int64 variables that are long
	helpers     map[string]string // functions in front of the kernel, by name
	locals      map[*tir.Buffer]*local
	images      map[*tir.Buffer]*texture.Image
	inside      [2][3]int // loops around that are bound to each axis: groups, items
	divergent   int       // enclosing parts of the grid that not all work-items of a group run
	uses16      bool
	uses64      bool
	err         error
}

func (e *emitter) fail(format string, args ...any) {
	if e.err == nil {
		e.err = diag.Unsupported("opencl", e.k.Name, format, args...)
	}
}

// line writes one line.
func (e *emitter) line(format string, args ...any) {
	for range e.depth {
		e.b.WriteString("    ")
	}
	fmt.Fprintf(&e.b, format, args...)
	e.b.WriteByte('\n')
}

func (e *emitter) checkGroup() {
	total := int64(1)
	for i, n := range e.group {
		if total *= n; n > int64(e.t.GPU.WorkGroupAxis[i]) {
			e.fail("%d work-items along axis %c, target %s has at most %d", n, axes[i], e.t, e.t.GPU.WorkGroupAxis[i])
		}
	}
	if total > int64(e.t.GPU.WorkGroup) {
		e.fail("%d work-items a group, target %s has at most %d", total, e.t, e.t.GPU.WorkGroup)
	}
}

// params declares the arguments and returns their text.
func (e *emitter) params(out *Kernel) string {
	read, written := map[*tir.Buffer]bool{}, map[*tir.Buffer]bool{}
	passes := false // values pass between work-items through global memory
	tir.Walk(e.k.Body, func(n any) bool {
		switch n := n.(type) {
		case *tir.Load:
			read[n.Buffer] = true
		case *tir.Store:
			written[n.Buffer] = true
		case *tir.Barrier:
			passes = passes || n.Scope == tir.Global
		}
		return true
	})
	var parts []string
	images := [2]int{}
	for _, p := range e.k.Params {
		arg := Arg{Name: e.declare(p, p.Name), DType: p.DType, Writes: written[p]}
		e.checkType(p.DType)
		text := ""
		switch p.Scope {
		case tir.Texture:
			arg.Image = e.image(p)
			access := "read_only"
			if written[p] {
				access = "write_only"
				images[1]++
			} else {
				images[0]++
			}
			if read[p] && written[p] {
				e.fail("image %s is read and written by one kernel", p.Name)
			}
			kind := "image2d_t"
			if arg.Image != nil && arg.Image.Layers > 0 {
				kind = "image2d_array_t"
			}
			text = fmt.Sprintf("%s %s %s", access, kind, arg.Name)
		case tir.Global, "":
			alone := " restrict" // of what nobody else changes while the kernel looks at it: a compiler need not read that again
			if passes && read[p] && written[p] {
				alone = ""
			}
			text = fmt.Sprintf("%s*%s %s", memoryType(p.DType), alone, arg.Name)
			if !written[p] {
				text = "const " + text
			}
			text = "__global " + text
		default:
			e.fail("argument %s is in scope %s", p.Name, p.Scope)
		}
		parts, out.Args = append(parts, text), append(out.Args, arg)
	}
	for _, v := range e.k.Scalars {
		name := e.declare(v, v.Name)
		e.wide[v] = true
		parts = append(parts, "const long "+name)
		out.Args = append(out.Args, Arg{Name: name, DType: tensor.Int64, Scalar: true})
	}
	g := e.t.GPU
	if len(parts) > g.MaxArguments || images[0] > g.ReadImages || images[1] > g.WriteImages {
		e.fail("%d arguments with %d images read and %d written, target %s has at most %d, %d and %d", len(parts), images[0], images[1], e.t, g.MaxArguments, g.ReadImages, g.WriteImages)
	}
	if len(parts) == 0 {
		return "void"
	}
	return "\n    " + strings.Join(parts, ",\n    ")
}

// image returns the image of a buffer in texture scope.
func (e *emitter) image(b *tir.Buffer) *texture.Image {
	if m := e.images[b]; m != nil {
		return m
	}
	if b.Folding == nil {
		e.fail("texture %s has no folding", b.Name)
		return nil
	}
	m, err := texture.Fold(b.Shape, b.DType, texture.Folding(*b.Folding), texture.LimitsOf(e.t))
	if err != nil {
		if e.err == nil {
			e.err = diag.Unsupported("opencl", e.k.Name, "texture %s", b.Name).By(err)
		}
		return nil
	}
	e.images[b] = m
	return m
}

func (e *emitter) extensions() []string {
	var list []string
	if e.uses16 && e.t.GPU.HalfArithmetic {
		list = append(list, "cl_khr_fp16")
	}
	if e.uses64 {
		list = append(list, "cl_khr_fp64")
	}
	return list
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
