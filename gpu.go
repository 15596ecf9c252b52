package texel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/codegen/opencl"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/memplan"
	"github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/runtime/cpu"
	opencldevice "github.com/texel-ml/texel/runtime/opencl"
	"github.com/texel-ml/texel/target"
	"github.com/texel-ml/texel/texture"
	"github.com/texel-ml/texel/tir"
	looppasses "github.com/texel-ml/texel/tir/transform"
)

// loweringFor returns the options of the loop passes for a target.
func loweringFor(t *target.Target) looppasses.Options {
	if t.Kind == target.GPU {
		return looppasses.Options{Device: looppasses.GPU, MaxLanes: 16} // OpenCL C has no longer vectors
	}
	return looppasses.Options{}
}

// memoryFor returns the options of the memory planner for a target.
func memoryFor(t *target.Target) memplan.Options {
	if t.GPU != nil {
		return memplan.Options{Alignment: t.GPU.BufferAlignment}
	}
	return memplan.Options{}
}

// geometry sets the grid of a kernel's launch: of a processor one number, of others work-items an axis.
func geometry(l *artifact.Launch, k *tir.Kernel, t *target.Target) (err error) {
	l.Grid = []int64{int64(k.GridExtent)}
	if t.Kind == target.GPU {
		l.Grid, l.Group, err = opencl.Geometry(k)
	}
	return err
}

// between adds a tensor that one kernel of a function hands to the next: in the arena, or in an image of its own.
func (p *planner) between(name string, b *tir.Buffer) (string, error) {
	t := artifact.Tensor{Name: name, DType: b.DType, Shape: b.Shape, Pool: arenaPool}
	if b.Scope != tir.Texture {
		return p.add(t), nil
	}
	folding := texture.Folding(*b.Folding)
	m, err := texture.Fold(b.Shape, b.DType, folding, texture.LimitsOf(p.target))
	if err != nil {
		return "", err
	}
	t.Scope, t.Pool = string(b.Scope), "image."+p.unique(name+".pool")
	t.Image = &artifact.Image{Width: int64(m.Width), Height: int64(m.Height), Layers: int64(m.Layers), Folding: folding.String(), Format: m.Texel.Format()}
	p.plan.Pools = append(p.plan.Pools, artifact.Pool{Name: t.Pool, Kind: artifact.ImagePool, Width: t.Image.Width, Height: t.Image.Height, Bytes: m.Bytes()})
	return p.add(t), nil
}

// openclCode writes one source a kernel and notes in the plan which file has it, and in the variant which extensions a
// device needs.
func (j *job) openclCode(kernels []*tir.Kernel, v *variant) ([]artifact.Code, error) {
	var code []artifact.Code
	v.features = nil
	for _, k := range kernels {
		out, err := opencl.Emit(k, v.target)
		if err != nil {
			return nil, err
		}
		file := k.Name + ".cl"
		code = append(code, artifact.Code{Name: file, Data: []byte(out.Source)})
		for i := range v.plan.Kernels {
			if v.plan.Kernels[i].Name == k.Name {
				v.plan.Kernels[i].File = file
			}
		}
		for _, x := range out.Extensions {
			if !slices.Contains(v.features, x) {
				v.features = append(v.features, x)
			}
		}
		if slices.Contains(j.opts.Emit, "opencl") {
			if err := j.dump("code/"+file, func() string { return out.Source }); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(v.features)
	return code, nil
}

// devices returns the devices that a name stands for: "cpu", "opencl" or "opencl:i"; empty is all, the processor first.
func devices(name string) ([]runtime.Device, error) {
	kind, number, numbered := strings.Cut(name, ":")
	index := 0
	if numbered {
		var err error
		if index, err = strconv.Atoi(number); err != nil || index < 0 || kind != "opencl" {
			return nil, diag.Invalid("load", "device", "wanted cpu, opencl or opencl:NUMBER, found %q", name)
		}
	}
	switch kind {
	case "":
		return []runtime.Device{cpu.Device{}, opencldevice.Device{}}, nil
	case "cpu":
		return []runtime.Device{cpu.Device{}}, nil
	case "opencl":
		return []runtime.Device{opencldevice.Device{Index: index}}, nil
	}
	return nil, diag.Invalid("load", "device", "wanted cpu, opencl or opencl:NUMBER, found %q", name)
}

// DeviceTarget returns the target to compile for when a model is to run on the named device: "host" for the processor;
// for an OpenCL device the record that is named for it, or else the one with the largest images and work-groups, among
// those that ask for no more than the device has.
func DeviceTarget(device string) (string, error) {
	list, err := devices(device)
	if err != nil {
		return "", err
	}
	d, ok := list[0].(opencldevice.Device)
	if !ok {
		return "host", nil
	}
	all, err := opencldevice.List(d.Library)
	if err != nil {
		return "", err
	}
	if d.Index >= len(all) {
		return "", diag.Missing("load", device, "there is no such device, this machine has %d", len(all))
	}
	var best *target.Target
	named := target.ForDevice(all[d.Index].Name, all[d.Index].Version)
	for _, name := range target.List() {
		t, err := target.Parse(name + "/" + string(target.OpenCL))
		if err != nil || !serves(&all[d.Index], t.GPU) {
			continue
		}
		if name == named {
			best = t
			break
		}
		if best == nil || t.GPU.ImageWidth*t.GPU.WorkGroup > best.GPU.ImageWidth*best.GPU.WorkGroup {
			best = t
		}
	}
	if best == nil {
		return "", diag.Unsupported("load", device, "device %s has less than every record asks for", all[d.Index])
	}
	return fmt.Sprintf("%s/%s", best.Name, best.API), nil
}

// serves reports whether a device has what a record states.
func serves(d *opencldevice.Info, g *target.GPULimits) bool {
	for _, x := range g.Extensions {
		if !slices.Contains(d.Extensions, x) {
			return false
		}
	}
	return d.ImageWidth >= g.ImageWidth && d.ImageHeight >= g.ImageHeight && d.ImageLayers >= g.ImageLayers && d.WorkGroup >= g.WorkGroup &&
		d.LocalBytes >= int64(g.LocalBytes) && d.MaxAllocBytes >= g.MaxAllocBytes && g.BufferAlignment%d.BufferAlignment == 0
}
