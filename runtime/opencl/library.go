package opencl

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/texel-ml/texel/diag"
)

// libraryNames are tried in order: the loader's, then where phones keep theirs.
var libraryNames = []string{"libOpenCL.so.1", "libOpenCL.so", "/vendor/lib64/libOpenCL.so", "/system/vendor/lib64/libOpenCL.so",
	"/vendor/lib64/egl/libGLES_mali.so", "/vendor/lib64/libPVROCL.so", "libOpenCL-pixel.so"}

// install says how to get what is missing.
const install = "on Debian: apt-get install ocl-icd-libopencl1 pocl-opencl-icd"

// library is the OpenCL library of this machine: entry points of OpenCL 1.2, typed where they are called at load, as
// addresses where they are called in every run. It is never closed: drivers keep threads.
type library struct {
	getPlatformIDs   func(n uint32, ids *uintptr, count *uint32) int32
	getPlatformInfo  func(p uintptr, name uint32, size uintptr, value unsafe.Pointer, got *uintptr) int32
	getDeviceIDs     func(p uintptr, kind uint64, n uint32, ids *uintptr, count *uint32) int32
	getDeviceInfo    func(d uintptr, name uint32, size uintptr, value unsafe.Pointer, got *uintptr) int32
	createContext    func(props *uintptr, n uint32, devices *uintptr, notify, data uintptr, err *int32) uintptr
	releaseContext   func(c uintptr) int32
	createQueue      func(c, d uintptr, props uint64, err *int32) uintptr
	releaseQueue     func(q uintptr) int32
	createBuffer     func(c uintptr, flags uint64, size uintptr, host unsafe.Pointer, err *int32) uintptr
	createSubBuffer  func(b uintptr, flags uint64, kind uint32, region *[2]uintptr, err *int32) uintptr
	createImage      func(c uintptr, flags uint64, format *imageFormat, desc *imageDesc, host unsafe.Pointer, err *int32) uintptr
	releaseMemory    func(m uintptr) int32
	createProgram    func(c uintptr, n uint32, text **byte, sizes *uintptr, err *int32) uintptr
	buildProgram     func(p uintptr, n uint32, devices *uintptr, options *byte, notify, data uintptr) int32
	getBuildInfo     func(p, d uintptr, name uint32, size uintptr, value unsafe.Pointer, got *uintptr) int32
	releaseProgram   func(p uintptr) int32
	createKernels    func(p uintptr, n uint32, kernels *uintptr, count *uint32) int32
	releaseKernel    func(k uintptr) int32
	setArg           func(k uintptr, i uint32, size uintptr, value unsafe.Pointer) int32
	getProfilingInfo func(e uintptr, name uint32, size uintptr, value unsafe.Pointer, got *uintptr) int32
	releaseEvent     func(e uintptr) int32

	enqueueKernel, enqueueRead, enqueueWrite, enqueueCopy, finish uintptr
}

// openLibrary opens the library at path, or the first of the usual ones.
func openLibrary(path string) (*library, error) {
	names := libraryNames
	if path != "" {
		names = []string{path}
	}
	var handle uintptr
	var first error
	for _, name := range names {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			handle = h
			break
		}
		if first == nil {
			first = err
		}
	}
	if handle == 0 {
		return nil, diag.Missing("opencl", names[0], "the OpenCL library is not installed; %s", install).By(first)
	}
	l := &library{}
	for _, f := range []struct {
		name string
		to   any
	}{
		{"clGetPlatformIDs", &l.getPlatformIDs}, {"clGetPlatformInfo", &l.getPlatformInfo}, {"clGetDeviceIDs", &l.getDeviceIDs},
		{"clGetDeviceInfo", &l.getDeviceInfo}, {"clCreateContext", &l.createContext}, {"clReleaseContext", &l.releaseContext},
		{"clCreateCommandQueue", &l.createQueue}, {"clReleaseCommandQueue", &l.releaseQueue}, {"clCreateBuffer", &l.createBuffer},
		{"clCreateSubBuffer", &l.createSubBuffer}, {"clCreateImage", &l.createImage}, {"clReleaseMemObject", &l.releaseMemory},
		{"clCreateProgramWithSource", &l.createProgram}, {"clBuildProgram", &l.buildProgram}, {"clGetProgramBuildInfo", &l.getBuildInfo},
		{"clReleaseProgram", &l.releaseProgram}, {"clCreateKernelsInProgram", &l.createKernels}, {"clReleaseKernel", &l.releaseKernel},
		{"clSetKernelArg", &l.setArg}, {"clGetEventProfilingInfo", &l.getProfilingInfo}, {"clReleaseEvent", &l.releaseEvent},
		{"clEnqueueNDRangeKernel", &l.enqueueKernel}, {"clEnqueueReadBuffer", &l.enqueueRead}, {"clEnqueueWriteBuffer", &l.enqueueWrite},
		{"clEnqueueCopyBuffer", &l.enqueueCopy}, {"clFinish", &l.finish},
	} {
		address, err := purego.Dlsym(handle, f.name)
		if err != nil || address == 0 {
			return nil, diag.Missing("opencl", f.name, "the OpenCL library lacks this function of OpenCL 1.2").By(err)
		}
		if at, ok := f.to.(*uintptr); ok {
			*at = address
		} else {
			purego.RegisterFunc(f.to, address)
		}
	}
	return l, nil
}

// The numbers of the OpenCL headers (CL/cl.h) that are used here.
const (
	platformName      = 0x0902
	platformVersion   = 0x0901
	deviceTypeAll     = 0xFFFFFFFF
	deviceName        = 0x102B
	deviceVendor      = 0x102C
	driverVersion     = 0x102D
	deviceVersion     = 0x102F
	deviceExtensions  = 0x1030
	deviceUnits       = 0x1002
	deviceGroup       = 0x1004
	deviceMaxAlloc    = 0x1010
	deviceImageWidth  = 0x1011
	deviceImageHeight = 0x1012
	deviceImages      = 0x1016
	deviceBaseAlign   = 0x1019
	deviceLocalMemory = 0x1023
	deviceLayers      = 0x1041

	buildLog        = 0x1183
	queueProfiling  = 1 << 1
	readWrite       = 1 << 0
	readOnly        = 1 << 2
	copyHostPointer = 1 << 5
	subRegion       = 0x1220
	profilingStart  = 0x1282
	profilingEnd    = 0x1283

	image2D      = 0x10F1
	image2DArray = 0x10F3
)

// imageFormat and imageDesc are cl_image_format and cl_image_desc.
type imageFormat struct{ order, channel uint32 }

type imageDesc struct {
	kind          uint32
	_             uint32
	width, height uintptr
	_             uintptr // depth
	layers        uintptr
	_             [2]uintptr // pitches of a row and of a slice
	_             [2]uint32  // mip levels, samples
	_             uintptr    // a buffer below
}

// imageFormats are the formats of the plan.
var imageFormats = map[string]imageFormat{
	"r32f": {0x10B0, 0x10DE}, "rgba32f": {0x10B5, 0x10DE}, "r16f": {0x10B0, 0x10DD}, "rgba16f": {0x10B5, 0x10DD},
	"r8i": {0x10B0, 0x10D7}, "rgba8i": {0x10B5, 0x10D7}, "r16i": {0x10B0, 0x10D8}, "rgba16i": {0x10B5, 0x10D8}, "r32i": {0x10B0, 0x10D9}, "rgba32i": {0x10B5, 0x10D9},
	"r8ui": {0x10B0, 0x10DA}, "rgba8ui": {0x10B5, 0x10DA}, "r16ui": {0x10B0, 0x10DB}, "rgba16ui": {0x10B5, 0x10DB}, "r32ui": {0x10B0, 0x10DC}, "rgba32ui": {0x10B5, 0x10DC},
}

// codes names the errors of OpenCL that a user may meet.
var codes = map[int32]string{
	-1: "DEVICE_NOT_FOUND", -2: "DEVICE_NOT_AVAILABLE", -3: "COMPILER_NOT_AVAILABLE", -4: "MEM_OBJECT_ALLOCATION_FAILURE", -5: "OUT_OF_RESOURCES",
	-6: "OUT_OF_HOST_MEMORY", -7: "PROFILING_INFO_NOT_AVAILABLE", -10: "IMAGE_FORMAT_NOT_SUPPORTED", -11: "BUILD_PROGRAM_FAILURE",
	-13: "MISALIGNED_SUB_BUFFER_OFFSET", -14: "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", -30: "INVALID_VALUE", -34: "INVALID_CONTEXT",
	-36: "INVALID_COMMAND_QUEUE", -38: "INVALID_MEM_OBJECT", -39: "INVALID_IMAGE_FORMAT_DESCRIPTOR", -40: "INVALID_IMAGE_SIZE", -42: "INVALID_BINARY",
	-43: "INVALID_BUILD_OPTIONS", -45: "INVALID_PROGRAM_EXECUTABLE", -48: "INVALID_KERNEL", -49: "INVALID_ARG_INDEX", -50: "INVALID_ARG_VALUE",
	-51: "INVALID_ARG_SIZE", -52: "INVALID_KERNEL_ARGS", -53: "INVALID_WORK_DIMENSION", -54: "INVALID_WORK_GROUP_SIZE", -55: "INVALID_WORK_ITEM_SIZE",
	-59: "INVALID_OPERATION", -61: "INVALID_BUFFER_SIZE", -63: "INVALID_GLOBAL_WORK_SIZE", -1001: "PLATFORM_NOT_FOUND",
}

// failed turns the result of a call into an error, or nil. What a device refuses for want of memory or of a feature is
// ErrUnsupported, everything else a bug of ours.
func failed(node, call string, code int32) error {
	if code == 0 {
		return nil
	}
	name := codes[code]
	if name == "" {
		name = fmt.Sprint(code)
	}
	kind := diag.Internal
	switch code {
	case -2, -3, -4, -5, -6, -10, -40, -61:
		kind = diag.Unsupported
	}
	return kind("opencl", node, "%s gives %s", call, name)
}

// text reads a string that a function gives in two calls: its size, then itself.
func text(get func(size uintptr, value unsafe.Pointer, got *uintptr) int32) string {
	var n uintptr
	if get(0, nil, &n) != 0 || n == 0 || n > 1<<24 {
		return ""
	}
	buf := make([]byte, n)
	if get(n, unsafe.Pointer(&buf[0]), nil) != 0 {
		return ""
	}
	return strings.TrimSpace(strings.TrimRight(string(buf), "\x00"))
}

func (l *library) deviceText(d uintptr, name uint32) string {
	return text(func(size uintptr, value unsafe.Pointer, got *uintptr) int32 {
		return l.getDeviceInfo(d, name, size, value, got)
	})
}

// deviceNumber reads an integer of 4 or 8 bytes.
func (l *library) deviceNumber(d uintptr, name uint32) int64 {
	var v uint64
	if l.getDeviceInfo(d, name, 8, unsafe.Pointer(&v), nil) != 0 {
		return 0
	}
	return int64(v)
}
