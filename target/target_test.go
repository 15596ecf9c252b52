package target

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/diag"
)

func TestEveryRecordLoads(t *testing.T) {
	list := List()
	require.Equal(t, "host", list[0])
	for _, want := range []string{"x86-64-v3", "x86-64-v4", "cortex-a55", "cortex-a76", "cortex-x1", "neoverse-n1", "neoverse-v1", "neoverse-n2", "pocl", "adreno-506", "adreno-660",
		"adreno-830", "mali-g52", "mali-g710", "nvidia"} {
		require.Contains(t, list, want)
	}
	for _, name := range recordNames(data) {
		record, err := load(data, name)
		require.NoError(t, err, name)
		require.Equal(t, !record.Abstract, slices.Contains(list, name), name)
	}
}

// TestEveryNumberHasASource fails on a number that a record states itself and whose source its field doc does not say; the
// object that holds it may say it for all.
func TestEveryNumberHasASource(t *testing.T) {
	for _, name := range recordNames(data) {
		text, err := read(data, name)
		require.NoError(t, err)
		var record map[string]any
		require.NoError(t, json.Unmarshal(text, &record))
		docs, _ := record["doc"].(map[string]any)
		var walk func(path string, v any)
		walk = func(path string, v any) {
			switch v := v.(type) {
			case map[string]any:
				for key, x := range v {
					walk(strings.TrimPrefix(path+"."+key, "."), x)
				}
			case []any:
				for _, x := range v {
					walk(path, x)
				}
			case float64:
				object, _, _ := strings.Cut(path, ".")
				if docs[path] == nil && docs[object] == nil {
					t.Errorf("%s: no source for %s, which is %v", name, path, v)
				}
			}
		}
		walk("", record)
		whole, err := load(data, name)
		require.NoError(t, err)
		for path, source := range docs {
			require.NotEmpty(t, source, "%s: %s", name, path)
			require.NotContains(t, source, "TODO", "%s: %s", name, path)
			require.True(t, hasField(t, whole, path), "%s: doc of %s, which is no field", name, path)
		}
	}
}

// hasField reports whether a record has the field at a path of names with dots.
func hasField(t *testing.T, record *Target, path string) bool {
	text, err := json.Marshal(record)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	for name := range strings.SplitSeq(path, ".") {
		inner, found := fields[name]
		if !found {
			return false
		}
		fields, _ = inner.(map[string]any)
	}
	return true
}

// TestGPURecordsAgreeWithThemselves holds the fields of a record to each other, behind its inheritance.
func TestGPURecordsAgreeWithThemselves(t *testing.T) {
	for _, name := range recordNames(data) {
		r, err := load(data, name)
		require.NoError(t, err)
		g := r.GPU
		if g == nil {
			continue
		}
		require.Zero(t, 64%g.Wave, "%s: groups of 64, which rules choose, are whole waves", name)
		require.True(t, g.HalfStorage || !g.HalfArithmetic, name)
		require.Equal(t, g.HalfArithmetic, r.HasExtension("cl_khr_fp16"), name)
		require.Equal(t, g.ImagePitchAlignment > 0, r.HasExtension("cl_khr_image2d_from_buffer"), name)
		require.Equal(t, g.ImagePitchAlignment > 0, g.ImageBaseAlignment > 0, name)
		require.True(t, slices.IsSorted(g.Extensions), name)
		require.GreaterOrEqual(t, g.MaxAllocBytes, int64(128<<20), name)
		require.Positive(t, g.LocalBytes, name)
		if r.Abstract {
			require.Empty(t, r.Devices, "%s: no device is of an abstract record", name)
			continue
		}
		if name == "pocl" {
			continue
		}
		require.NotEmpty(t, r.Devices, name)
		for _, d := range r.Devices {
			require.Equal(t, name, ForDevice(d, ""))
		}
		family, number, _ := strings.Cut(name, "-")
		if family == "adreno" {
			require.Equal(t, "adreno-"+number[:1]+"xx", r.Inherits)
			require.Equal(t, []string{"Adreno(TM) " + number}, r.Devices)
			require.True(t, r.Images(), name)
			require.True(t, r.HasQuirk(NoFMACall), name)
		} else {
			require.False(t, r.Images(), name)
		}
	}
	cpu, err := Parse("cortex-a76")
	require.NoError(t, err)
	require.False(t, cpu.Images())
}

func TestForDevice(t *testing.T) {
	for _, c := range [][3]string{ // name and version as devices report them
		{"QUALCOMM Adreno(TM)", "OpenCL 2.0 Adreno(TM) 530", "adreno-530"},
		{"QUALCOMM Adreno(TM)", "OpenCL 3.0 Adreno(TM) 730", "adreno-730"},
		{"QUALCOMM Adreno(TM) 750", "OpenCL 3.0 Adreno(TM) 750", "adreno-750"},
		{"QUALCOMM Adreno(TM) 643", "OpenCL 3.0 Adreno(TM) 643", ""},
		{"QUALCOMM Adreno(TM)", "OpenCL 2.0", ""},
		{"Mali-G78 r0p1", "OpenCL 3.0 v1.r38p1-01eac0.c9c7cb4", "mali-g78"},
		{"Mali-G78AE", "OpenCL 3.0", ""},
		{"Mali-G710 r0p0", "OpenCL 3.0 v1.r47p0-01eac0.cd24a10", "mali-g710"},
		{"Mali-G71", "OpenCL 2.0 v1.r9p0-01rel0.37c12a1", ""},
		{"NVIDIA H200", "OpenCL 3.0 CUDA", "nvidia"},
		{"Tesla T4", "OpenCL 3.0 CUDA", "nvidia"},
		{"pthread-skylake-avx512", "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-skylake-avx512", ""},
	} {
		require.Equal(t, c[2], ForDevice(c[0], c[1]), "%s, %s", c[0], c[1])
	}
}

func TestParse(t *testing.T) {
	v3, err := Parse("x86-64-v3")
	require.NoError(t, err)
	require.Equal(t, 8, v3.Lanes(32))
	require.True(t, v3.Has("fma"))
	require.Equal(t, "x86_64-unknown-linux-gnu", v3.Triple, "inherited")

	a55, err := Parse("cortex-a55")
	require.NoError(t, err)
	require.Equal(t, "aarch64-linux-android29", a55.Triple)
	require.Equal(t, CPU, a55.Kind)

	gpu, err := Parse("adreno-660")
	require.NoError(t, err)
	require.Equal(t, OpenCL, gpu.API)
	require.Equal(t, 16384, gpu.GPU.ImageWidth)
	require.Equal(t, "adreno-660", gpu.String())
	vulkan, err := Parse("adreno-660/vulkan")
	require.NoError(t, err)
	require.Equal(t, "adreno-660/vulkan", vulkan.String())

	pocl, err := Parse("pocl")
	require.NoError(t, err)
	require.Equal(t, 8192, pocl.GPU.ImageWidth)
	require.Equal(t, 128, pocl.GPU.MaxArguments, "merged from the parent's object")
}

func TestParseRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		"cortex-a99":       `known are host, adreno-506, adreno-512`,
		"gpu":              `no such target`, // abstract
		"":                 `no such target`,
		"../target":        `no such target`,
		"x86-64-v3/vulkan": `record x86-64-v3 has no API "vulkan", it has cpu`,
	} {
		_, err := Parse(spec)
		require.ErrorIs(t, err, diag.ErrInvalid, spec)
		require.ErrorContains(t, err, want, spec)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	_, err := Decode("mine", []byte(`{"inherits": "cortex-a76", "cores": 2, "doc": {"cores": "mine"}}`))
	require.NoError(t, err)
	for text, want := range map[string]string{
		`{"inherits": "cortex-a76", "corse": 2}`:                              `unknown field "corse"`,
		`{"inherits": "cortex-a77"}`:                                          `inherits "cortex-a77", which is no record`,
		`{"inherits": "cortex-a76"} 1`:                                        `is not JSON`,
		`{"inherits": "cortex-a76", "vector_bits": 96}`:                       `vector_bits must be a power of two`,
		`{"inherits": "cortex-a76", "kind": "npu"}`:                           `kind "npu"`,
		`{"inherits": "adreno-650", "gpu": {"wave": 48}}`:                     `wave must divide work_group, found 48 and 1024`,
		`{"inherits": "adreno-650", "gpu": {"work_group": 512}}`:              `work_group_axis must be from 1 to work_group, found 1024 with 512`,
		`{"inherits": "adreno-650", "gpu": {"quirks": ["no-images-at-all"]}}`: `quirk "no-images-at-all" is not known`,
		`{"inherits": "pocl", "api": "vulkan"}`:                               `api "vulkan" is not among apis opencl`,
	} {
		_, err := Decode("mine", []byte(text))
		require.ErrorIs(t, err, diag.ErrInvalid, text)
		require.ErrorContains(t, err, want)
	}
	loop := fstest.MapFS{"data/a.json": {Data: []byte(`{"inherits": "a"}`)}}
	_, err = load(loop, "a")
	require.ErrorContains(t, err, "deep")
}

func TestHost(t *testing.T) {
	host, err := Host()
	require.NoError(t, err)
	require.NoError(t, host.RunsHere())
	require.Positive(t, host.Cores)
	host.Features[0] = "changed"
	again, err := Host()
	require.NoError(t, err)
	require.NotEqual(t, "changed", again.Features[0])
}

const zen5 = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\ncpu MHz\t\t: 2596.1\nflags\t\t: cx16 popcnt lahf_lm pni sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe xsave avx512bw avx512cd avx512dq avx512f avx512vl avx512_vnni avx512_bf16\n\nprocessor\t: 1\nflags\t\t: none\n"

func TestDetectX86(t *testing.T) {
	files := fstest.MapFS{
		"proc/cpuinfo": {Data: []byte(zen5)},
		"sys/devices/system/cpu/cpu0/cache/index0/level":               {Data: []byte("1\n")},
		"sys/devices/system/cpu/cpu0/cache/index0/type":                {Data: []byte("Data\n")},
		"sys/devices/system/cpu/cpu0/cache/index0/size":                {Data: []byte("48K\n")},
		"sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size": {Data: []byte("64\n")},
	}
	host, err := detect("amd64", files, 2)
	require.NoError(t, err)
	require.Equal(t, "x86-64-v4", host.CPU)
	require.Equal(t, "znver5", host.Tune)
	require.Equal(t, 512, host.VectorBits)
	require.Equal(t, 2.0, host.FMAsPerCycle)
	require.Equal(t, int64(48<<10), host.L1D)
	require.Zero(t, host.L3, "the system lists its caches, a third one is not among them")
	require.Equal(t, 2, host.Cores)
	require.True(t, host.Has("avx512vnni"))
	require.True(t, host.Has("lzcnt"))
	require.Equal(t, 2.5961, host.ClockGHz)
	require.Contains(t, host.Doc["clock_ghz"], "/proc/cpuinfo when first asked")
	require.Equal(t, 64.0, host.FlopsPerCycle(32))
	require.Equal(t, 32.0, host.FlopsPerCycle(64))
	require.InDelta(t, 166.15, host.PeakGFLOPS(), 0.01)

	files["sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"] = &fstest.MapFile{Data: []byte("4350000\n")}
	fast, err := detect("amd64", files, 2)
	require.NoError(t, err)
	require.Equal(t, 4.35, fast.ClockGHz, "the highest clock, whatever the current one is")
	require.Equal(t, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", fast.Doc["clock_ghz"])
	delete(files, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")

	phone, err := Parse("cortex-a76")
	require.NoError(t, err)
	require.ErrorIs(t, phone.runsOn(host), diag.ErrMissing)
	require.ErrorContains(t, phone.runsOn(host), "architecture aarch64, this host is x86-64")

	files["proc/cpuinfo"] = &fstest.MapFile{Data: []byte("processor: 0\nflags: cx16 popcnt lahf_lm pni sse4_1 sse4_2 ssse3\n")}
	old, err := detect("amd64", files, 1)
	require.NoError(t, err)
	require.Equal(t, 128, old.VectorBits)
	require.Equal(t, 2.5, old.ClockGHz, "of the level, the system told nothing")
	v3, err := Parse("x86-64-v3")
	require.NoError(t, err)
	require.ErrorIs(t, v3.runsOn(old), diag.ErrMissing)
	require.ErrorContains(t, v3.runsOn(old), "avx, avx2, bmi, bmi2, f16c, fma, lzcnt, movbe, xsave")

	_, err = detect("amd64", fstest.MapFS{}, 1)
	require.ErrorIs(t, err, diag.ErrMissing)
	_, err = detect("riscv64", files, 1)
	require.ErrorIs(t, err, diag.ErrMissing)
}

func TestDetectARM(t *testing.T) {
	var raw []byte
	for _, v := range []uint64{16, 1<<1 | 1<<8 | 1<<10 | 1<<12 | 1<<20, 26, 0, 0, 0} {
		raw = binary.LittleEndian.AppendUint64(raw, v)
	}
	files := fstest.MapFS{
		"proc/cpuinfo":   {Data: []byte("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n")},
		"proc/self/auxv": {Data: raw},
	}
	host, err := detect("arm64", files, 4)
	require.NoError(t, err)
	require.Equal(t, []string{"dotprod", "fullfp16", "lse", "neon", "rdm"}, host.Features)
	require.Equal(t, 2.0, host.FMAsPerCycle)
	require.Equal(t, int64(64<<10), host.L1D, "from the record, the system told nothing")
	require.Equal(t, 2.4, host.ClockGHz)
	a76, err := Parse("cortex-a76")
	require.NoError(t, err)
	require.NoError(t, a76.runsOn(host))
	v1, err := Parse("neoverse-v1")
	require.NoError(t, err)
	require.ErrorContains(t, v1.runsOn(host), "bf16, fp16fml, i8mm, sve")

	files["proc/cpuinfo"] = &fstest.MapFile{Data: []byte("")} // an emulator shows another machine's
	plain, err := detect("arm64", files, 4)
	require.NoError(t, err)
	require.Equal(t, "generic", plain.CPU)
	require.Empty(t, plain.Tune)
}
