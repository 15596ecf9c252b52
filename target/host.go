package target

import (
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/texel-ml/texel/diag"
)

var hostOnce = sync.OnceValues(func() (*Target, error) {
	return detect(runtime.GOARCH, os.DirFS("/"), usableCores())
})

// Host returns the record of this machine's processor: features from /proc, caches from /sys, cores from the
// process's affinity. What the system does not tell is taken from the record of its level. The caller may change the
// result.
func Host() (*Target, error) {
	t, err := hostOnce()
	if err != nil {
		return nil, err
	}
	c := *t
	c.Features = slices.Clone(t.Features)
	return &c, nil
}

// usableCores returns how many CPUs this process may run on.
func usableCores() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err == nil && set.Count() > 0 {
		return set.Count()
	}
	return runtime.NumCPU()
}

// detect makes the record of a host from its files.
func detect(goarch string, root fs.FS, cores int) (*Target, error) {
	var t *Target
	var err error
	switch goarch {
	case "amd64":
		t, err = detectX86(root)
	case "arm64":
		t, err = detectARM(root)
	default:
		return nil, diag.Missing("target", "host", "no code is generated for architecture %s, only for amd64 and arm64", goarch)
	}
	if err != nil {
		return nil, err
	}
	t.Name, t.Cores = "host", max(1, cores)
	detectClock(t, root)
	detectCaches(t, root)
	return t, t.check()
}

// cpuinfo returns the fields of the first processor in /proc/cpuinfo.
func cpuinfo(root fs.FS) map[string]string {
	fields := map[string]string{}
	text, err := fs.ReadFile(root, "proc/cpuinfo")
	if err != nil {
		return fields
	}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			continue
		}
		if _, seen := fields[key]; seen && key == "processor" {
			break // the next processor
		}
		if _, seen := fields[key]; !seen {
			fields[key] = strings.TrimSpace(value)
		}
	}
	return fields
}

// x86Flags maps a flag of /proc/cpuinfo to LLVM's feature, where the names differ.
var x86Flags = map[string]string{
	"pni": "sse3", "sse4_1": "sse4.1", "sse4_2": "sse4.2", "lahf_lm": "sahf", "abm": "lzcnt", "bmi1": "bmi",
	"avx512_vnni": "avx512vnni", "avx512_bf16": "avx512bf16", "avx512_fp16": "avx512fp16", "avx_vnni": "avxvnni",
	"avx512_vbmi2": "avx512vbmi2", "avx512_bitalg": "avx512bitalg", "avx512_vpopcntdq": "avx512vpopcntdq",
	"avx_ifma": "avxifma", "avx_vnni_int8": "avxvnniint8", "avx_ne_convert": "avxneconvert",
}

// x86Extra are the features above a level's that kernels may use; the others stay out of the record, so that an
// artifact does not need what it never uses.
var x86Extra = []string{"avx512bf16", "avx512fp16", "avx512vbmi", "avx512vnni", "avxifma", "avxneconvert", "avxvnni", "avxvnniint8"}

func detectX86(root fs.FS) (*Target, error) {
	info := cpuinfo(root)
	have := map[string]bool{}
	for _, flag := range strings.Fields(info["flags"]) {
		if name, ok := x86Flags[flag]; ok {
			flag = name
		}
		have[flag] = true
	}
	if len(have) == 0 {
		return nil, diag.Missing("target", "host", "/proc/cpuinfo does not list the processor's flags")
	}
	var t *Target
	for _, level := range []string{"x86-64-v4", "x86-64-v3", "x86-64"} {
		var err error
		if t, err = load(data, level); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(t.Features, func(f string) bool { return !have[f] }) {
			break
		}
		if level == "x86-64" {
			return nil, diag.Missing("target", "host", "the processor lacks SSE4.2, which is needed")
		}
	}
	for _, f := range x86Extra {
		if have[f] {
			t.Features = append(t.Features, f)
		}
	}
	slices.Sort(t.Features)
	t.Inherits, t.Abstract = "", false
	family, _ := strconv.Atoi(info["cpu family"])
	model, _ := strconv.Atoi(info["model"])
	t.Doc = map[string]string{"features": "/proc/cpuinfo", "l1d_bytes": "/sys/devices/system/cpu/cpu0/cache", "cores": "affinity of the process"}
	if tune, fmas := x86Core(info["vendor_id"], family, model); tune != "" {
		t.Tune = tune
		if t.VectorBits == 512 || fmas > 1 { // a 512-bit core of which the host shows less keeps the level's figure
			t.FMAsPerCycle = fmas
		}
		t.Doc["fmas_per_cycle"] = fmt.Sprintf("table of cores: %s family %d model %d is %s", info["vendor_id"], family, model, tune)
	}
	return t, nil
}

// x86Core names the core by vendor, family and model as LLVM does, with the multiply-adds of its widest vector that
// it starts a cycle. Sources: LLVM's Host.cpp for names; Agner Fog's tables and the vendors' optimisation guides for
// the units.
func x86Core(vendor string, family, model int) (tune string, fmas float64) {
	switch {
	case vendor == "AuthenticAMD" && family == 0x17:
		if model >= 0x30 {
			return "znver2", 2
		}
		return "znver1", 1
	case vendor == "AuthenticAMD" && family == 0x19:
		if model >= 0x10 && model <= 0x1f || model >= 0x60 {
			return "znver4", 1
		}
		return "znver3", 2
	case vendor == "AuthenticAMD" && family == 0x1a:
		if model >= 0x20 && model <= 0x3f || model >= 0x60 { // mobile parts halve the 512-bit data path
			return "znver5", 1
		}
		return "znver5", 2
	case vendor == "GenuineIntel" && family == 6:
		switch model {
		case 0x3c, 0x3f, 0x45, 0x46:
			return "haswell", 2
		case 0x3d, 0x47, 0x4f, 0x56:
			return "broadwell", 2
		case 0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6:
			return "skylake", 2
		case 0x55:
			return "cascadelake", 2
		case 0x6a, 0x6c:
			return "icelake-server", 2
		case 0x7d, 0x7e, 0x8c, 0x8d:
			return "icelake-client", 1
		case 0x8f, 0xcf:
			return "sapphirerapids", 2
		case 0xad, 0xae:
			return "graniterapids", 2
		case 0x97, 0x9a, 0xb7, 0xba, 0xbf, 0xaa, 0xac:
			return "alderlake", 2
		}
	}
	return "", 0
}

// Bits of AT_HWCAP and AT_HWCAP2 on AArch64 Linux (arch/arm64/include/uapi/asm/hwcap.h).
var armCaps = []struct {
	name string
	word int // 0: AT_HWCAP, 1: AT_HWCAP2
	bit  uint
}{
	{"neon", 0, 1}, {"lse", 0, 8}, {"fullfp16", 0, 10}, {"rdm", 0, 12}, {"dotprod", 0, 20}, {"sve", 0, 22}, {"fp16fml", 0, 23},
	{"sve2", 1, 1}, {"i8mm", 1, 13}, {"bf16", 1, 14},
}

func detectARM(root fs.FS) (*Target, error) {
	caps := auxv(root)
	info := cpuinfo(root)
	implementer, _ := strconv.ParseUint(info["CPU implementer"], 0, 32)
	part, _ := strconv.ParseUint(info["CPU part"], 0, 32)
	base := armCore(implementer, part)
	t, err := load(data, base)
	if err != nil {
		return nil, err
	}
	t.Inherits, t.Abstract = "", false
	t.CPU = "generic" // the features decide what may be used, so that a masked one is never assumed
	if t.Tune == "" && base != "aarch64" {
		t.Tune = base
	}
	t.Features = t.Features[:0]
	for _, c := range armCaps {
		if caps[c.word]>>c.bit&1 == 1 {
			t.Features = append(t.Features, c.name)
		}
	}
	if !t.Has("neon") {
		return nil, diag.Missing("target", "host", "the system does not report Advanced SIMD, which is needed")
	}
	slices.Sort(t.Features)
	t.Doc = map[string]string{"features": "/proc/self/auxv", "l1d_bytes": "/sys/devices/system/cpu/cpu0/cache, else record " + base, "cores": "affinity of the process", "fmas_per_cycle": "record " + base}
	return t, nil
}

// armCore returns the record nearest to a core, from the main ID register's implementer and part.
func armCore(implementer, part uint64) string {
	if implementer != 0x41 {
		return "aarch64"
	}
	switch part {
	case 0xd05, 0xd46: // A55, A510
		return "cortex-a55"
	case 0xd0b, 0xd0d, 0xd41, 0xd47, 0xd4d: // A76, A77, A78, A710, A715
		return "cortex-a76"
	case 0xd44, 0xd48, 0xd4e: // X1, X2, X3
		return "cortex-x1"
	case 0xd0c:
		return "neoverse-n1"
	case 0xd40, 0xd4f: // V1, V2
		return "neoverse-v1"
	case 0xd49:
		return "neoverse-n2"
	}
	return "aarch64"
}

// auxv returns AT_HWCAP and AT_HWCAP2 of this process (64-bit little endian pairs).
func auxv(root fs.FS) (caps [2]uint64) {
	raw, err := fs.ReadFile(root, "proc/self/auxv")
	if err != nil {
		return caps
	}
	for ; len(raw) >= 16; raw = raw[16:] {
		key, value := le64(raw), le64(raw[8:])
		switch key {
		case 16:
			caps[0] = value
		case 26:
			caps[1] = value
		}
	}
	return caps
}

func le64(b []byte) (v uint64) {
	for i := range 8 {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

// detectClock replaces the clock by the highest that the system says the first processor has: that does not change from one
// look to the next, as the current one does. A virtual machine often shows neither, only the base clock.
func detectClock(t *Target, root fs.FS) {
	const most = "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"
	text, _ := fs.ReadFile(root, most)
	if khz, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil && khz > 1e5 {
		t.ClockGHz, t.Doc["clock_ghz"] = khz/1e6, "/"+most
	} else if mhz, err := strconv.ParseFloat(cpuinfo(root)["cpu MHz"], 64); err == nil && mhz > 100 {
		t.ClockGHz, t.Doc["clock_ghz"] = mhz/1000, "/proc/cpuinfo when first asked; under a hypervisor the base clock"
	}
}

// detectCaches replaces cache sizes by those of the first processor, where the system tells them.
func detectCaches(t *Target, root fs.FS) {
	found := false
	for i := range 8 {
		dir := fmt.Sprintf("sys/devices/system/cpu/cpu0/cache/index%d/", i)
		get := func(name string) string {
			text, _ := fs.ReadFile(root, dir+name)
			return strings.TrimSpace(string(text))
		}
		size := cacheSize(get("size"))
		if size <= 0 || get("type") == "Instruction" {
			continue
		}
		if line, err := strconv.Atoi(get("coherency_line_size")); err == nil && line >= 16 && bits.OnesCount(uint(line)) == 1 {
			t.CacheLine = line
		}
		if !found {
			t.L2, t.L3, found = 0, 0, true
		}
		switch get("level") {
		case "1":
			t.L1D = size
		case "2":
			t.L2 = size
		case "3":
			t.L3 = size
		}
	}
}

// cacheSize reads "48K" or "32M".
func cacheSize(s string) int64 {
	unit := int64(1)
	if n := len(s); n > 0 {
		switch s[n-1] {
		case 'K':
			unit, s = 1<<10, s[:n-1]
		case 'M':
			unit, s = 1<<20, s[:n-1]
		}
	}
	v, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0
	}
	return v * unit
}
