package target

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/texel-ml/texel/diag"
)

//go:embed data/*.json
var data embed.FS

// maxInherits is how long a chain of records may be.
const maxInherits = 8

// Parse returns the target named by spec: "host", RECORD or RECORD/API.
func Parse(spec string) (*Target, error) {
	record, api, hasAPI := strings.Cut(spec, "/")
	var t *Target
	var err error
	if record == "host" {
		t, err = Host()
	} else {
		t, err = load(data, record)
	}
	if err != nil {
		return nil, err
	}
	if t.Abstract {
		return nil, unknown(record)
	}
	apis := t.APIs
	if len(apis) == 0 {
		apis = []API{t.API}
	}
	if hasAPI {
		if !slices.Contains(apis, API(api)) {
			return nil, diag.Invalid("target", spec, "record %s has no API %q, it has %s", record, api, join(apis))
		}
		t.API = API(api)
	}
	return t, nil
}

// List returns the names that Parse takes, "host" first, the others sorted.
func List() []string {
	names := []string{}
	for _, name := range recordNames(data) {
		if t, err := load(data, name); err == nil && !t.Abstract {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append([]string{"host"}, names...)
}

// ForDevice returns the record whose devices call themselves so, by name and version as OpenCL reports them, or "". Both
// are needed: older Adrenos are all called "QUALCOMM Adreno(TM)", and the version is "OpenCL 2.0 Adreno(TM) 640".
func ForDevice(name, version string) string {
	for _, record := range recordNames(data) {
		t, err := load(data, record)
		if err != nil || t.Abstract {
			continue
		}
		for _, d := range t.Devices {
			if regexp.MustCompile(regexp.QuoteMeta(d) + `\b`).MatchString(name + " " + version) { // a Mali-G78AE is no Mali-G78
				return record
			}
		}
	}
	return ""
}

// Decode reads a record from JSON, for example one that a probe wrote. It may inherit a built-in record.
func Decode(name string, text []byte) (*Target, error) {
	t, err := decode(data, name, text, 0)
	if err != nil {
		return nil, err
	}
	return t, t.check()
}

func recordNames(files fs.FS) []string {
	entries, err := fs.Glob(files, "data/*.json")
	if err != nil {
		return nil
	}
	for i, e := range entries {
		entries[i] = strings.TrimSuffix(path.Base(e), ".json")
	}
	return entries
}

func unknown(name string) error {
	return diag.Invalid("target", name, "no such target, known are %s", strings.Join(List(), ", "))
}

func load(files fs.FS, name string) (*Target, error) {
	text, err := read(files, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, unknown(name)
	}
	if err != nil {
		return nil, diag.Internal("target", name, "record not readable").By(err)
	}
	t, err := decode(files, name, text, 0)
	if err != nil {
		return nil, err
	}
	return t, t.check()
}

func read(files fs.FS, name string) ([]byte, error) {
	if strings.ContainsAny(name, "/\\") {
		return nil, fs.ErrNotExist
	}
	return fs.ReadFile(files, "data/"+name+".json")
}

// decode reads text over the record that it inherits.
func decode(files fs.FS, name string, text []byte, depth int) (*Target, error) {
	var head struct {
		Inherits string `json:"inherits"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, diag.Invalid("target", name, "record is not JSON").By(err)
	}
	t := &Target{}
	if head.Inherits != "" {
		if depth == maxInherits {
			return nil, diag.Invalid("target", name, "inherits more than %d records deep", maxInherits)
		}
		parent, err := read(files, head.Inherits)
		if err != nil {
			return nil, diag.Invalid("target", name, "inherits %q, which is no record", head.Inherits)
		}
		if t, err = decode(files, head.Inherits, parent, depth+1); err != nil {
			return nil, err
		}
		t.Abstract = false
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(t); err != nil {
		return nil, diag.Invalid("target", name, "record does not decode").By(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, diag.Invalid("target", name, "more follows after the record")
	}
	t.Name = name
	slices.Sort(t.Features)
	return t, nil
}

// check refuses a record whose numbers make no sense.
func (t *Target) check() error {
	bad := func(format string, args ...any) error { return diag.Invalid("target", t.Name, format, args...) }
	apis := t.APIs
	if len(apis) == 0 {
		apis = []API{t.API}
	}
	for _, a := range apis {
		if a != Native && a != OpenCL && a != Vulkan {
			return bad("api %q is none of cpu, opencl, vulkan", a)
		}
	}
	if !slices.Contains(apis, t.API) {
		return bad("api %q is not among apis %s", t.API, join(apis))
	}
	if t.VectorBits < 32 || t.VectorBits > 2048 || t.VectorBits&(t.VectorBits-1) != 0 {
		return bad("vector_bits must be a power of two from 32 to 2048, found %d", t.VectorBits)
	}
	if t.CacheLine < 16 || t.CacheLine > 1024 || t.CacheLine&(t.CacheLine-1) != 0 {
		return bad("cache_line must be a power of two from 16 to 1024, found %d", t.CacheLine)
	}
	if t.Cores < 1 || t.FMAsPerCycle <= 0 || t.ClockGHz <= 0 || t.L1D < 0 || t.L2 < 0 || t.L3 < 0 {
		return bad("cores, fmas_per_cycle and clock_ghz must be positive, cache sizes not negative")
	}
	switch t.Kind {
	case CPU:
		if t.Arch != "x86-64" && t.Arch != "aarch64" {
			return bad("arch %q is none of x86-64, aarch64", t.Arch)
		}
		if t.Triple == "" || t.CPU == "" || t.VectorRegisters < 1 || t.L1D == 0 {
			return bad("a cpu needs triple, cpu, vector_registers and l1d_bytes")
		}
	case GPU:
		g := t.GPU
		if g == nil {
			return bad("a gpu needs the object gpu")
		}
		if g.ImageWidth < 1 || g.ImageHeight < 1 || g.WorkGroup < 1 || len(g.WorkGroupAxis) != 3 || g.MaxArguments < 1 ||
			g.MaxAllocBytes < 1 || g.Wave < 1 || g.LocalBytes < 0 || g.ImagePitchAlignment < 0 || g.ImageBaseAlignment < 0 ||
			g.BufferAlignment < 1 || g.BufferAlignment&(g.BufferAlignment-1) != 0 {
			return bad("gpu: limits must be positive, work_group_axis must have 3 numbers, buffer_alignment must be a power of two")
		}
		if g.WorkGroup%g.Wave != 0 {
			return bad("gpu: wave must divide work_group, found %d and %d", g.Wave, g.WorkGroup)
		}
		for _, n := range g.WorkGroupAxis {
			if n < 1 || n > g.WorkGroup {
				return bad("gpu: work_group_axis must be from 1 to work_group, found %d with %d", n, g.WorkGroup)
			}
		}
		for _, q := range g.Quirks {
			if !slices.Contains([]string{Buffers, SlowImages, NoFMACall, HalfStorageOnly}, q) {
				return bad("gpu: quirk %q is not known", q)
			}
		}
	default:
		return bad("kind %q is none of cpu, gpu", t.Kind)
	}
	return nil
}

func join(apis []API) string {
	names := make([]string, len(apis))
	for i, a := range apis {
		names[i] = string(a)
	}
	return strings.Join(names, ", ")
}
