package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/target"
)

// cacheLimit is how many bytes of compiled models are kept; the ones not used for longest go first.
const cacheLimit = 4 << 30

// cache keeps compiled models, by the digests of the model, the target, the options and the compiler.
type cache struct{ dir string }

// cacheEntry is what is known of one compiled model; it lies beside it as JSON.
type cacheEntry struct {
	Model     string    `json:"model"`
	CompileMS float64   `json:"compile_ms"`
	Made      time.Time `json:"made"`
	Files     []file    `json:"files"` // external data of the model
	path      string
	hit       bool
	size      int64
	used      time.Time
}

// file is another file that a model was made from.
type file struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

// cacheDir returns the folder of the cache, "" when there is no place for one.
func (a *app) cacheDir() string {
	base := a.env("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) { // as its specification says
		home := a.env("HOME")
		if home == "" {
			return ""
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "texel")
}

// verifiedDir returns the folder that remembers which artifacts were verified.
func (a *app) verifiedDir() string {
	if dir := a.cacheDir(); dir != "" {
		return filepath.Join(dir, "verified")
	}
	return ""
}

func (a *app) openCache() (*cache, error) {
	dir := a.cacheDir()
	if dir == "" {
		return nil, errors.New("no cache folder: neither XDG_CACHE_HOME nor HOME is set")
	}
	c := &cache{filepath.Join(dir, "models")}
	return c, os.MkdirAll(c.dir, 0o755)
}

// get returns the compiled form of a model, made by build when it is not there.
func (c *cache) get(model string, opts texel.Options, build func(path string) error) (*cacheEntry, error) {
	key, err := cacheKey(model, opts)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(c.dir, key+".texel")
	if e, err := readEntry(path); err == nil && e.fresh() {
		now := time.Now()
		os.Chtimes(path, now, now) // the time of the last use; a failure costs only an earlier eviction
		e.hit = true
		return e, nil
	}
	start := time.Now()
	if err := build(path); err != nil {
		return nil, err
	}
	e := &cacheEntry{Model: model, CompileMS: ms(time.Since(start)), Made: start.UTC().Truncate(time.Second), path: path}
	others, err := texel.ExternalFiles(model)
	if err != nil {
		return nil, err
	}
	for _, f := range others {
		digest, err := fileDigest(f)
		if err != nil {
			return nil, err
		}
		e.Files = append(e.Files, file{f, digest})
	}
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	if err := writeFile(path+".json", func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return nil, notKept{err}
	}
	c.evict(path, cacheLimit)
	return e, nil
}

// fresh reports whether the files beside the model are still those that it was compiled with.
func (e *cacheEntry) fresh() bool {
	for _, f := range e.Files {
		if d, err := fileDigest(f.Path); err != nil || d != f.Digest {
			return false
		}
	}
	return true
}

func readEntry(path string) (*cacheEntry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path + ".json")
	if err != nil {
		return nil, err
	}
	e := &cacheEntry{path: path, size: info.Size(), used: info.ModTime()}
	return e, json.Unmarshal(text, e)
}

// cacheKey covers all that decides the bytes of the artifact. External data is compared when an entry is found.
func cacheKey(model string, opts texel.Options) (string, error) {
	digest, err := fileDigest(model)
	if err != nil {
		return "", diag.Invalid("import", model, "cannot read the model").By(err)
	}
	h := sha256.New()
	full, err := filepath.Abs(model)
	if err != nil {
		full = model
	}
	fmt.Fprintln(h, digest, filepath.Dir(full), version, compilerStamp())
	if strings.EqualFold(filepath.Ext(model), ".relay") { // the text does not say which files lie beside it
		for _, f := range relaytext.Files(model) {
			digest, err := fileDigest(f)
			if err != nil {
				return "", diag.Invalid("import", f, "cannot read the file").By(err)
			}
			fmt.Fprintln(h, filepath.Base(f), digest)
		}
	}
	names := opts.Targets
	if len(names) == 0 {
		names = []string{"host"}
	}
	for _, n := range names {
		t, err := target.Parse(n)
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(t)
		if err != nil {
			return "", err
		}
		h.Write(text)
	}
	for _, s := range opts.Settings() {
		fmt.Fprintln(h, s.Name, s.Value)
	}
	return hex.EncodeToString(h.Sum(nil))[:32], nil
}

// compilerStamp tells one build of this program from another, so that a new compiler compiles anew.
func compilerStamp() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

func fileDigest(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// entries lists the cache, the one used last first.
func (c *cache) entries() ([]*cacheEntry, error) {
	paths, err := filepath.Glob(filepath.Join(c.dir, "*.texel"))
	if err != nil {
		return nil, err
	}
	var all []*cacheEntry
	for _, p := range paths {
		if e, err := readEntry(p); err == nil {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *cacheEntry) int { return b.used.Compare(a.used) })
	return all, nil
}

// abandoned is how old a file is that belongs to no entry and that nobody can still be writing.
const abandoned = time.Hour

// sweep removes what killed commands left: temporary files, and halves of entries.
func (c *cache) sweep(age time.Duration) {
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range list {
		name := e.Name()
		other := name + ".json"
		if whole, ok := strings.CutSuffix(name, ".json"); ok {
			other = whole
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < age {
			continue
		}
		if _, err := os.Stat(filepath.Join(c.dir, other)); strings.HasPrefix(name, ".") || errors.Is(err, fs.ErrNotExist) {
			os.Remove(filepath.Join(c.dir, name))
		}
	}
}

// evict removes what was not used for longest until the rest fits; keep stays.
func (c *cache) evict(keep string, limit int64) {
	c.sweep(abandoned)
	all, err := c.entries()
	if err != nil {
		return
	}
	sum := int64(0)
	for _, e := range all {
		sum += e.size
		if sum > limit && e.path != keep {
			e.remove()
		}
	}
}

func (e *cacheEntry) remove() error { return errors.Join(os.Remove(e.path+".json"), os.Remove(e.path)) }

func (a *app) cacheCommand() *cobra.Command {
	c := &cobra.Command{Use: "cache", Short: "compiled models that are kept", Args: func(c *cobra.Command, args []string) error {
		return usage("texel cache wants list, clear or bake, found %q", strings.Join(args, " "))
	}, RunE: func(*cobra.Command, []string) error { return nil }}
	c.AddCommand(&cobra.Command{Use: "list", Short: "lists them, the one used last first", Args: args(), RunE: func(*cobra.Command, []string) error {
		store, err := a.openCache()
		if err != nil {
			return diag.Missing("cache", "", "%v", err)
		}
		all, err := store.entries()
		if err != nil {
			return err
		}
		sum := int64(0)
		for _, e := range all {
			sum += e.size
			fmt.Fprintf(a.out, "%8.1f MB  compiled in %6.1f s  used %s  %s\n", float64(e.size)/1e6, e.CompileMS/1000, e.used.Format(time.DateTime), e.Model)
		}
		fmt.Fprintf(a.out, "%d models, %.1f of at most %.0f MB in %s\n", len(all), float64(sum)/1e6, float64(cacheLimit)/1e6, store.dir)
		return nil
	}}, &cobra.Command{Use: "clear", Short: "removes them all", Args: args(), RunE: func(*cobra.Command, []string) error {
		store, err := a.openCache()
		if err != nil {
			return diag.Missing("cache", "", "%v", err)
		}
		all, err := store.entries()
		if err != nil {
			return err
		}
		for _, e := range all {
			err = errors.Join(err, e.remove())
		}
		store.sweep(time.Minute)
		if err != nil {
			return diag.Invalid("cache", store.dir, "cannot be cleared").By(err)
		}
		fmt.Fprintf(a.out, "%d models removed\n", len(all))
		return nil
	}}, a.notBuiltCommand("bake", "puts measured winners and binaries into an artifact"))
	return c
}
