package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/artifact"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/internal/npy"
	"github.com/texel-ml/texel/internal/picture"
	rt "github.com/texel-ml/texel/runtime"
	"github.com/texel-ml/texel/tensor"
)

type runFlags struct {
	model   modelFlags
	device  deviceFlags
	inputs  []string
	output  string
	labels  string
	top     int
	profile bool
	chrome  string
	only    bool
	tuned   tunedFlags
	picture picture.Options
}

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run ART|MODEL",
		Short: "runs a model once",
		Args:  artifactOrModel,
		RunE:  func(c *cobra.Command, args []string) error { return a.runModel(c.Context(), args[0], f) },
	}
	f.model.add(c)
	f.device.add(c)
	f.device.addBatch(c)
	c.Flags().BoolVar(&f.model.noCache, "no-cache", false, "compile anew and keep nothing")
	c.Flags().StringArrayVar(&f.inputs, "input", nil, "name=x.npy, name=picture.jpg, or IN.npz with arrays named as the inputs")
	c.Flags().StringVar(&f.output, "output", "", "folder for one .npy an output, or OUT.npz")
	c.Flags().StringVar(&f.labels, "labels", "", "file with one name a line, for --top")
	c.Flags().IntVar(&f.top, "top", 0, "print this many largest elements of each row of the first output")
	c.Flags().BoolVar(&f.profile, "profile", false, "print the time of each launch")
	c.Flags().StringVar(&f.chrome, "chrome", "", "write a time line for the tracing page of Chromium")
	c.Flags().BoolVar(&f.only, "device-only", false, "fail rather than run a part elsewhere; a plan here is always of one device")
	f.tuned.add(c)
	c.Flags().StringVar(&f.picture.Crop, "crop", "none", "of a picture: center or none")
	c.Flags().StringVar(&f.picture.Resize, "resize", "area", "of a picture: area, bilinear or nearest")
	c.Flags().StringVar(&f.picture.Channels, "channels", "rgb", "of a picture: rgb or bgr")
	f.picture.Scale = 1
	c.Flags().Var((*numbers)(&f.picture.Mean), "mean", "of a picture: subtracted, one value or one a channel")
	c.Flags().Var((*numbers)(&f.picture.Std), "std", "of a picture: divided by, behind the mean")
	c.Flags().Var((*number)(&f.picture.Scale), "scale", "of a picture: factor of the pixels, before the mean, such as 1/255")
	return c
}

// number is a flag of a number or a fraction.
type number float32

// String prints the number.
func (n *number) String() string { return strconv.FormatFloat(float64(*n), 'g', -1, 32) }

// Type is what --help calls it.
func (n *number) Type() string { return "number" }

// Set reads the flag.
func (n *number) Set(s string) error {
	above, below, fraction := strings.Cut(s, "/")
	a, err := strconv.ParseFloat(strings.TrimSpace(above), 64)
	b := 1.0
	if fraction && err == nil {
		b, err = strconv.ParseFloat(strings.TrimSpace(below), 64)
	}
	if v := a / b; err != nil || math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 {
		return errors.New("wanted a number, or a fraction such as 1/255")
	}
	*n = number(a / b)
	return nil
}

// numbers is a flag of several, separated by commas.
type numbers []float32

// String prints the list.
func (l *numbers) String() string {
	var all []string
	for _, v := range *l {
		all = append(all, (*number)(&v).String())
	}
	return strings.Join(all, ",")
}

// Type is what --help calls it.
func (l *numbers) Type() string { return "numbers" }

// Set reads the flag; given again, it goes on.
func (l *numbers) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		var n number
		if err := n.Set(part); err != nil {
			return errors.New("wanted numbers, or fractions such as 1/255, separated by commas")
		}
		*l = append(*l, float32(n))
	}
	return nil
}

func (a *app) runModel(ctx context.Context, path string, f *runFlags) error {
	if err := f.picture.Check(); err != nil {
		return usageError{err}
	}
	if f.top < 0 {
		return usage("--top wants a number from 0, found %d", f.top)
	}
	if err := f.tuned.refuse(); err != nil {
		return err
	}
	labels, err := readLabels(f.labels)
	if err != nil {
		return err
	}
	arrays, pictures, err := readInputs(f.inputs)
	if err != nil {
		return err
	}
	m, err := a.open(ctx, path, &f.model, &f.device, arrays)
	if err != nil {
		return err
	}
	defer m.close()
	defer m.Close()
	for name, files := range pictures {
		port, err := inputNamed(m.Plan().Inputs, name)
		if err != nil {
			return err
		}
		if arrays[port.Name], err = readPictures(files, &port, f.picture); err != nil {
			return err
		}
	}
	if t := arrays[""]; t != nil { // --input x.npy without a name: the only input
		port, err := inputNamed(m.Inputs(), "")
		if err != nil {
			return err
		}
		delete(arrays, "")
		arrays[port.Name] = t
	}
	start := time.Now()
	results, err := m.Run(ctx, arrays)
	if err != nil {
		return err
	}
	took := time.Since(start)
	if f.output != "" {
		files, err := writeOutputs(f.output, m.Outputs(), results)
		if err != nil {
			return err
		}
		for i, port := range m.Outputs() {
			t := results[port.Name]
			fmt.Fprintf(a.out, "%s: %s %v %v\n", files[i], port.Name, t.Shape, t.DType)
		}
	}
	if f.top > 0 || f.labels != "" {
		if err := a.printTop(results[m.Outputs()[0].Name], labels, max(f.top, 1), pictures); err != nil {
			return err
		}
	} else if f.output == "" {
		a.printSummary(m.Outputs(), results)
	}
	if f.output == "" {
		on := f.device.device
		if on == "cpu" {
			on = fmt.Sprintf("%d threads", f.device.count())
		}
		fmt.Fprintf(a.out, "%.2f ms on %s\n", ms(took), on)
	}
	if f.profile || f.chrome != "" {
		return a.profile(ctx, m.Model, arrays, f)
	}
	return nil
}

// readPictures reads what one input is given: a picture for all of it, or several, one a row of a batch along axis 0.
func readPictures(files []string, port *artifact.Port, o picture.Options) (*tensor.Tensor, error) {
	if len(files) == 1 {
		return picture.ReadFile(files[0], port.DType, port.Shape, o)
	}
	shape := port.Batched(len(files))
	if len(shape) == 0 || shape[0] != len(files) || port.Open != nil && port.Open.Axis != 0 {
		return nil, diag.Invalid("picture", port.Name, "%d pictures are given, and the input has shape %v: wanted one, or one a row of axis 0", len(files), port.Shape)
	}
	all := &tensor.Tensor{DType: port.DType, Shape: shape}
	row := shape.Clone()
	row[0] = 1
	for _, file := range files {
		t, err := picture.ReadFile(file, port.DType, row, o)
		if err != nil {
			return nil, err
		}
		all.Data = append(all.Data, t.Data...)
	}
	return all, all.Check()
}

// readInputs reads the arrays of --input, and returns the pictures by input name, several where several are given. A file without a
// name is under "".
func readInputs(given []string) (map[string]*tensor.Tensor, map[string][]string, error) {
	arrays, pictures := map[string]*tensor.Tensor{}, map[string][]string{}
	for _, s := range given {
		name, path, named := strings.Cut(s, "=")
		if !named {
			name, path = "", s
		}
		isPicture := slices.Contains([]string{".png", ".jpg", ".jpeg"}, strings.ToLower(filepath.Ext(path)))
		if _, twice := arrays[name]; twice && (name != "" || isPicture) || pictures[name] != nil && !isPicture {
			return nil, nil, usage("--input gives %q twice", name)
		}
		switch ext := strings.ToLower(filepath.Ext(path)); ext {
		case ".npz":
			if named {
				return nil, nil, usage("--input %s: an archive names its arrays itself", s)
			}
			list, err := npy.ReadArchive(path)
			if err != nil {
				return nil, nil, err
			}
			for _, x := range list {
				arrays[x.Name] = x.Tensor
			}
		case ".npy":
			t, err := npy.ReadFile(path)
			if err != nil {
				return nil, nil, err
			}
			arrays[name] = t
		case ".png", ".jpg", ".jpeg":
			if _, err := os.Stat(path); err != nil {
				return nil, nil, diag.Invalid("picture", path, "cannot read the picture").By(err)
			}
			pictures[name] = append(pictures[name], path)
		default:
			return nil, nil, usage("--input wants .npy, .npz, .png or .jpg files, found %q", path)
		}
	}
	return arrays, pictures, nil
}

func inputNamed(ports []artifact.Port, name string) (artifact.Port, error) {
	names := make([]string, len(ports))
	for i, p := range ports {
		if p.Name == name || name == "" && len(ports) == 1 {
			return p, nil
		}
		names[i] = p.Name
	}
	return artifact.Port{}, diag.Invalid("run", name, "no input has this name; the inputs are %s", strings.Join(names, ", "))
}

func readLabels(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, diag.Invalid("run", path, "is not a regular file")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, diag.Invalid("run", path, "cannot read the labels").By(err)
	}
	return strings.Split(strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n"), nil
}

// writeOutputs writes one archive, or one file an output into a folder, and returns the file of each.
func writeOutputs(path string, ports []artifact.Port, results map[string]*tensor.Tensor) (files []string, err error) {
	if strings.EqualFold(filepath.Ext(path), ".npz") {
		var all []npy.Named
		for _, p := range ports {
			all = append(all, npy.Named{Name: p.Name, Tensor: results[p.Name]})
			files = append(files, path)
		}
		return files, writeFile(path, func(w io.Writer) error { return npy.WriteArchive(w, all) })
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, diag.Invalid("write", path, "cannot be made").By(err)
	}
	for _, p := range ports {
		file := filepath.Join(path, strings.Map(func(r rune) rune {
			if r == '/' || r == filepath.Separator || r == 0 {
				return '_'
			}
			return r
		}, p.Name)+".npy")
		if err := writeFile(file, func(w io.Writer) error { return npy.Write(w, results[p.Name]) }); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// printTop prints the largest elements of each row of t, shape (rows, classes).
func (a *app) printTop(t *tensor.Tensor, labels []string, top int, pictures map[string][]string) error {
	classes := t.Elems()
	for i := len(t.Shape) - 1; i >= 0; i-- { // the last axis that is not 1: (1, 1000), (1, 1000, 1, 1)
		if t.Shape[i] != 1 {
			classes = t.Shape[i]
			break
		}
	}
	if classes == 0 {
		return diag.Invalid("run", "top", "the first output of shape %v has no elements", t.Shape)
	}
	values := asFloats(t)
	for row := 0; row*classes < len(values); row++ {
		v := values[row*classes : (row+1)*classes]
		order := make([]int, classes)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(x, y int) int {
			switch {
			case v[x] > v[y] || math.IsNaN(v[y]) && !math.IsNaN(v[x]):
				return -1
			case v[x] < v[y] || math.IsNaN(v[x]) && !math.IsNaN(v[y]):
				return 1
			}
			return 0
		})
		for _, files := range pictures {
			if row < len(files) && len(pictures) == 1 {
				fmt.Fprintf(a.out, "%s\n", files[row])
			}
		}
		for _, i := range order[:min(top, classes)] {
			label := fmt.Sprintf("class %d", i)
			if i < len(labels) {
				label = labels[i]
			}
			fmt.Fprintf(a.out, "  %7.4f  %s\n", v[i], label)
		}
	}
	return nil
}

func asFloats(t *tensor.Tensor) []float64 {
	w := tensor.Widen(t)
	if w.F != nil || len(w.I) == 0 {
		return w.F
	}
	f := make([]float64, len(w.I))
	for i, v := range w.I {
		f[i] = float64(v)
	}
	return f
}

func (a *app) printSummary(ports []artifact.Port, results map[string]*tensor.Tensor) {
	for _, p := range ports {
		t := results[p.Name]
		fmt.Fprintf(a.out, "%s %v %v", p.Name, t.Shape, t.DType)
		v := asFloats(t)
		if len(v) > 0 {
			lo, hi, sum := math.Inf(1), math.Inf(-1), 0.0
			for _, x := range v {
				lo, hi, sum = math.Min(lo, x), math.Max(hi, x), sum+x
			}
			fmt.Fprintf(a.out, "  min %.6g  max %.6g  mean %.6g", lo, hi, sum/float64(len(v)))
		}
		fmt.Fprintln(a.out)
	}
}

// profile runs twice more, and prints a table of the launches of the second run or writes its time line.
func (a *app) profile(ctx context.Context, m *texel.Model, inputs map[string]*tensor.Tensor, f *runFlags) error {
	s, err := m.Session()
	if err != nil {
		return err
	}
	defer s.Close()
	s.Profile(true)
	for range 2 {
		if _, err := s.Infer(ctx, inputs); err != nil {
			return err
		}
	}
	steps, err := m.Plan().Steps()
	if err != nil {
		return err
	}
	if f.chrome != "" {
		if err := writeTimeline(f.chrome, s.Times(), steps); err != nil {
			return err
		}
	}
	if f.profile {
		a.printProfile(s.Times(), steps)
	}
	return nil
}

func (a *app) printProfile(times []rt.Timing, steps []artifact.Step) {
	total := 0.0
	for _, t := range times {
		total += us(t.Duration)
	}
	fmt.Fprintf(a.out, "%10s %6s %9s %8s %7s  %s\n", "µs", "%", "GFLOP/s", "GB/s", "runs", "launch")
	for _, t := range times {
		l := steps[t.Pos].Launch
		flops, traffic := float64(l.Flops)*float64(t.Runs), float64(l.Traffic)*float64(t.Runs)
		fmt.Fprintf(a.out, "%10.1f %6.1f %9.1f %8.1f %7d  %s\n", us(t.Duration), 100*us(t.Duration)/total,
			flops/us(t.Duration)/1e3, traffic/us(t.Duration)/1e3, t.Runs, t.Name)
	}
	fmt.Fprintf(a.out, "%10.1f         %d launches\n", total, len(times))
}

// writeTimeline writes the launches in the trace event format.
func writeTimeline(path string, times []rt.Timing, steps []artifact.Step) error {
	type event struct {
		Name  string         `json:"name"`
		Phase string         `json:"ph"`
		Start float64        `json:"ts"` // µs
		Took  float64        `json:"dur"`
		PID   int            `json:"pid"`
		TID   int            `json:"tid"`
		Args  map[string]any `json:"args"`
	}
	events := []event{}
	for _, t := range times {
		l := steps[t.Pos].Launch
		events = append(events, event{t.Name, "X", us(t.Start), us(t.Duration), 1, 1, map[string]any{"kernel": t.Kernel, "nodes": l.Nodes, "flops": l.Flops, "bytes": l.Traffic, "runs": t.Runs}})
	}
	return writeFile(path, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(map[string]any{"traceEvents": events, "displayTimeUnit": "ms"})
	})
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
