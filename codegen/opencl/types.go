package opencl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/tensor"
	"github.com/texel-ml/texel/tir"
)

// memoryTypes are the types of elements in memory.
var memoryTypes = map[tensor.DType]string{
	tensor.Float32: "float", tensor.Float16: "half", tensor.BFloat16: "ushort", tensor.Float64: "double",
	tensor.Int8: "char", tensor.Int16: "short", tensor.Int32: "int", tensor.Int64: "long",
	tensor.Uint8: "uchar", tensor.Uint16: "ushort", tensor.Uint32: "uint", tensor.Uint64: "ulong", tensor.Bool: "uchar",
}

func memoryType(d tensor.DType) string { return memoryTypes[d] }

// checkType refuses an element type that cannot be computed with here.
func (e *emitter) checkType(d tensor.DType) {
	switch {
	case memoryTypes[d] == "":
		e.fail("element type %v", d)
	case d == tensor.Float64:
		e.uses64 = true
		if !e.t.HasExtension("cl_khr_fp64") {
			e.fail("float64, target %s lacks cl_khr_fp64", e.t)
		}
	case d == tensor.Float16:
		e.uses16 = true
	}
}

// inFloat reports whether elements of type d are float in registers though not in memory.
func (e *emitter) inFloat(d tensor.DType) bool {
	return d == tensor.BFloat16 || d == tensor.Float16 && !e.t.GPU.HalfArithmetic
}

// registerType is the type of a value of n lanes in registers.
func (e *emitter) registerType(d tensor.DType, n int) string {
	e.checkType(d)
	e.checkLanes(n)
	base := memoryTypes[d]
	switch {
	case d == tensor.Bool && n == 1:
		return "bool"
	case d == tensor.Bool:
		base = "int"
	case e.inFloat(d):
		base = "float"
	}
	return vectorType(base, n)
}

func vectorType(base string, n int) string {
	if n == 1 {
		return base
	}
	return base + strconv.Itoa(n)
}

func (e *emitter) checkLanes(n int) {
	switch n {
	case 1, 2, 3, 4, 8, 16:
	default:
		e.fail("a vector of %d lanes; OpenCL C has 2, 3, 4, 8 and 16", n)
	}
}

// registerBits is the width of an element in registers.
func (e *emitter) registerBits(d tensor.DType) int {
	if d == tensor.Bool || e.inFloat(d) {
		return 32
	}
	return d.Bits()
}

// swizzle selects lanes of a vector.
func swizzle(lanes ...int) string {
	small := true
	for _, l := range lanes {
		small = small && l < 4
	}
	var b strings.Builder
	for _, l := range lanes {
		if small {
			b.WriteByte("xyzw"[l])
		} else {
			b.WriteString(strconv.FormatInt(int64(l), 16))
		}
	}
	if small {
		return "." + b.String()
	}
	return ".s" + b.String()
}

// keywords are names that variables and kernels may not have: the words of OpenCL C, its types and the functions that
// the emitter calls.
var keywords = `auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
bool half quad complex imaginary uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t true false
kernel global constant local private generic read_only write_only read_write image1d_t image1d_array_t image1d_buffer_t
image2d_t image2d_array_t image3d_t sampler_t event_t pipe uniform main NAN INFINITY M_PI
exp exp2 exp10 log log2 log10 sqrt rsqrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc pow pown powr floor ceil
round rint trunc fabs abs fma mad fmod fmin fmax min max clamp select isnan isinf isfinite sign step mix dot cross length
distance normalize degrees radians mul24 mad24 mul_hi hadd rotate clz popcount any all bitselect shuffle shuffle2 barrier mem_fence prefetch
printf remainder ldexp frexp modf hypot cbrt logb ilogb nan nextafter copysign fdim maxmag minmag tgamma lgamma sincos add_sat sub_sat abs_diff
vload_half vstore_half get_global_id get_local_id get_group_id get_global_size get_local_size get_num_groups get_work_dim
read_imagef read_imagei read_imageui read_imageh write_imagef write_imagei write_imageui write_imageh
get_image_width get_image_height get_image_dim NULL`

// reservedPrefixes begin the names of families of functions, and of the emitter's own.
var reservedPrefixes = []string{"__", "convert_", "as_", "vload", "vstore", "native_", "atom", "texel_"}

func hasPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// reserved returns the names that are taken from the start.
func reserved() map[string]bool {
	taken := map[string]bool{}
	for _, w := range strings.Fields(keywords) {
		taken[w] = true
	}
	for _, base := range []string{"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "half"} {
		for _, n := range []string{"2", "3", "4", "8", "16"} {
			taken[base+n] = true
		}
	}
	return taken
}

// unique returns a free identifier near name and takes it.
func (e *emitter) unique(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, name)
	if clean == "" || clean[0] >= '0' && clean[0] <= '9' || hasPrefix(clean, reservedPrefixes) {
		clean = "v" + clean
	}
	at := clean
	for i := 1; e.taken[at]; i++ {
		at = fmt.Sprintf("%s_%d", clean, i)
	}
	e.taken[at] = true
	return at
}

// declare gives a variable or a buffer a name, which stays until release.
//
// The numbers that schedule steps put behind the names of loops are left out; a name that is taken gets its own.
func (e *emitter) declare(key any, name string) string {
	if _, isVar := key.(*tir.Var); isVar {
		for {
			i := strings.LastIndexByte(name, '_')
			if i <= 0 || strings.Trim(name[i+1:], "0123456789") != "" {
				break
			}
			name = name[:i]
		}
	}
	n := e.unique(name)
	e.names[key] = n
	return n
}

func (e *emitter) release(key any) {
	delete(e.taken, e.names[key])
	delete(e.names, key)
}

// name returns the declared name of a variable or buffer.
func (e *emitter) name(key any) string {
	n, ok := e.names[key]
	if !ok {
		what := ""
		switch k := key.(type) {
		case *tir.Var:
			what = k.Name
		case *tir.Buffer:
			what = k.Name
		}
		e.fail("%s is used where it is not declared", what)
	}
	return n
}
