package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
)

// testCase is one folder of a conformance corpus.
type testCase struct {
	Name        string    `json:"name"`
	Dir         string    `json:"dir"`
	Model       string    `json:"model"`  // file
	Sets        []dataSet `json:"sets"`   // inputs and outputs
	Expect      string    `json:"expect"` // output, error, output-or-error
	Rtol        *float64  `json:"rtol"`
	Atol        *float64  `json:"atol"`
	SignedZero  bool      `json:"signed_zero"`
	Exact       bool      `json:"exact"` // rtol and atol are the case's own, not a corpus's default
	Scope       string    `json:"scope"`
	Inputs      []string  `json:"inputs"`  // names in the order of the files, where the corpus gives them
	Outputs     []string  `json:"outputs"` // likewise
	ValueInputs []int     `json:"value_inputs"`
	Problem     string    `json:"problem"` // the folder itself is wrong
}

// dataSet is the files of one run.
type dataSet struct {
	Inputs    map[int]string `json:"inputs"` // by number
	Outputs   map[int]string `json:"outputs"`
	Reference bool           `json:"reference"` // outputs are those of reference kernels
}

// findCases lists the cases below dir: those of an index.json at its top, or each folder with a model.
func findCases(dir string, match *regexp.Regexp, scopes []string) ([]*testCase, error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, diag.Invalid("conformance", dir, "is not a folder")
	}
	var all []*testCase
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	switch {
	case err == nil:
		if all, err = indexCases(dir, text); err != nil {
			return nil, err
		}
	case errors.Is(err, fs.ErrNotExist):
		if all, err = folderCases(dir); err != nil {
			return nil, err
		}
	default:
		return nil, diag.Invalid("conformance", dir, "cannot read index.json").By(err)
	}
	if len(all) == 0 {
		return nil, diag.Invalid("conformance", dir, "holds no case")
	}
	found := len(all)
	all = slices.DeleteFunc(all, func(c *testCase) bool {
		return match != nil && !match.MatchString(c.Name) || len(scopes) > 0 && !slices.Contains(scopes, c.Scope)
	})
	if len(all) == 0 {
		return nil, diag.Invalid("conformance", dir, "none of its %d cases passes --match and --scope", found)
	}
	for _, c := range all {
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// indexCases reads an index: an object whose tests are a list, or the list itself.
func indexCases(dir string, text []byte) ([]*testCase, error) {
	type port struct {
		Name string `json:"name"`
	}
	type entry struct {
		Name        string          `json:"name"`
		Dir         string          `json:"dir"`
		Scope       string          `json:"scope"`
		Rtol        *float64        `json:"rtol"`
		Atol        *float64        `json:"atol"`
		ValueInputs []int           `json:"value_inputs"`
		Inputs      json.RawMessage `json:"inputs"`
		Outputs     json.RawMessage `json:"outputs"`
	}
	var list []entry
	var whole struct {
		Tests []entry `json:"tests"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		if err := json.Unmarshal(text, &whole); err != nil {
			return nil, diag.Invalid("conformance", filepath.Join(dir, "index.json"), "is not an index").By(err)
		}
		list = whole.Tests
	}
	names := func(raw json.RawMessage) []string {
		var ports []port
		if json.Unmarshal(raw, &ports) != nil {
			return nil
		}
		var all []string
		for _, p := range ports {
			all = append(all, p.Name)
		}
		return all
	}
	var all []*testCase
	for _, e := range list {
		folder := e.Dir
		if folder == "" {
			folder = e.Name
		}
		if !filepath.IsLocal(folder) {
			return nil, diag.Invalid("conformance", e.Name, "its folder %q is not below the corpus", folder)
		}
		all = append(all, &testCase{Name: e.Name, Dir: filepath.Join(dir, folder), Scope: e.Scope, Rtol: e.Rtol, Atol: e.Atol,
			ValueInputs: e.ValueInputs, Inputs: names(e.Inputs), Outputs: names(e.Outputs)})
	}
	return all, nil
}

// folderCases finds folders with a model.
func folderCases(dir string) ([]*testCase, error) {
	var all []*testCase
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return diag.Invalid("conformance", path, "cannot be read").By(err)
		}
		if !d.IsDir() {
			return nil
		}
		if path != dir && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if modelIn(path) != "" {
			name, err := filepath.Rel(dir, path)
			if err != nil || name == "." {
				name = filepath.Base(path)
			}
			all = append(all, &testCase{Name: filepath.ToSlash(name), Dir: path})
		}
		return nil
	})
	return all, err
}

// modelIn returns the model file of a folder, "" when it has none.
func modelIn(dir string) string {
	for _, name := range []string{"model.onnx", "model.tflite", "model.relay"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// fill finds the case's files and reads its case.json.
func (c *testCase) fill() error {
	c.Expect = "output"
	if text, err := os.ReadFile(filepath.Join(c.Dir, "case.json")); err == nil {
		var own struct {
			Expect     string   `json:"expect"`
			Rtol       *float64 `json:"rtol"`
			Atol       *float64 `json:"atol"`
			SignedZero bool     `json:"signed_zero"`
			Inputs     []string `json:"inputs"`
			Outputs    []string `json:"outputs"`
		}
		if err := json.Unmarshal(text, &own); err != nil {
			return diag.Invalid("conformance", filepath.Join(c.Dir, "case.json"), "is not a case").By(err)
		}
		switch own.Expect {
		case "output", "error", "output-or-error":
			c.Expect = own.Expect
		case "":
		default:
			return diag.Invalid("conformance", c.Name, "expect wants output, error or output-or-error, found %q", own.Expect)
		}
		c.SignedZero, c.Inputs, c.Outputs = own.SignedZero, own.Inputs, own.Outputs
		if own.Rtol != nil || own.Atol != nil {
			c.Rtol, c.Atol, c.Exact = own.Rtol, own.Atol, true
		}
	}
	if c.Model = modelIn(c.Dir); c.Model == "" {
		c.Problem = "no model in " + c.Dir
		return nil
	}
	folders, err := filepath.Glob(filepath.Join(c.Dir, "test_data_set_*"))
	if err != nil {
		return err
	}
	slices.SortFunc(folders, func(a, b string) int { return setNumber(a) - setNumber(b) })
	if len(folders) == 0 {
		folders = []string{c.Dir}
	}
	for _, f := range folders {
		c.Sets = append(c.Sets, readSet(f))
	}
	return nil
}

func setNumber(path string) int {
	n, _ := strconv.Atoi(path[strings.LastIndexByte(path, '_')+1:])
	return n
}

var dataFile = regexp.MustCompile(`^(input|output|reference)_([0-9]+)\.(pb|npy)$`)

// readSet finds the numbered files of a folder. A reference takes the place of the output of its number.
func readSet(dir string) dataSet {
	s := dataSet{Inputs: map[int]string{}, Outputs: map[int]string{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s
	}
	for _, e := range entries { // sorted: input, output, reference
		m := dataFile.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			continue
		}
		path := filepath.Join(dir, e.Name())
		switch m[1] {
		case "input":
			s.Inputs[n] = path
		case "output":
			s.Outputs[n] = path
		case "reference":
			s.Outputs[n], s.Reference = path, true
		}
	}
	return s
}
