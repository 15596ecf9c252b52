package llvm

import (
	"bytes"
	"debug/elf"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireFreestanding checks that a shared object needs nothing: no library, no relocation, no thread-local storage;
// that its segments fit 16 KiB pages and none is writable and executable; and that it exports exactly the names.
func requireFreestanding(t *testing.T, so []byte, names ...string) {
	f, err := elf.NewFile(bytes.NewReader(so))
	require.NoError(t, err)
	libs, err := f.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libs)
	for _, p := range f.Progs {
		require.NotEqual(t, elf.PT_TLS, p.Type)
		if p.Type == elf.PT_LOAD {
			require.Equal(t, uint64(16384), p.Align)
			require.NotEqual(t, elf.PF_W|elf.PF_X, p.Flags&(elf.PF_W|elf.PF_X))
		}
	}
	for _, s := range f.Sections {
		require.NotEqual(t, elf.SHT_REL, s.Type, s.Name)
		require.NotEqual(t, elf.SHT_RELA, s.Type, s.Name)
	}
	symbols, err := f.DynamicSymbols()
	require.NoError(t, err)
	var exported []string
	for _, s := range symbols {
		require.NotEqual(t, elf.SHN_UNDEF, s.Section, s.Name)
		exported = append(exported, s.Name)
	}
	sort.Strings(exported)
	sort.Strings(names)
	require.Equal(t, names, exported)
}
