package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/texel-ml/texel/diag"
)

// hugePage is the size of a large page; memory at least this large starts at a multiple of it, so that the system can
// use them.
const hugePage = 2 << 20

// region is memory outside Go's heap, zeroed, at a multiple of the page.
type region struct {
	mapped []byte // as the system gave it
	data   []byte // the aligned part
}

// allocate maps n bytes. Pages cost nothing before they are touched.
func allocate(what string, n int64) (*region, error) {
	if n == 0 {
		return &region{}, nil
	}
	extra := int64(0)
	if n >= hugePage {
		extra = hugePage
	}
	mapped, err := unix.Mmap(-1, 0, int(n+extra), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, diag.Missing("cpu", what, "%d bytes of memory are not to be had", n).By(err)
	}
	r := &region{mapped: mapped, data: mapped[:n:n]}
	if extra > 0 {
		at := -uintptr(unsafe.Pointer(&mapped[0])) % hugePage
		r.data = mapped[at : at+uintptr(n) : at+uintptr(n)]
		unix.Madvise(r.data, unix.MADV_HUGEPAGE) // a wish
	}
	return r, nil
}

func (r *region) free() error {
	if r == nil || r.mapped == nil {
		return nil
	}
	mapped := r.mapped
	r.mapped, r.data = nil, nil
	return unix.Munmap(mapped)
}

// address returns where data starts; memory of no bytes has an address too, which nobody reads.
func address(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// carver hands out pieces of a region, 64-byte aligned.
type carver struct {
	data []byte
	at   int
}

func (c *carver) take(n int) []byte {
	piece := c.data[c.at : c.at+n : c.at+n]
	c.at += (n + 63) &^ 63
	return piece
}

// as views a piece as values of T.
func as[T any](piece []byte) []T {
	var zero T
	if len(piece) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(piece))), len(piece)/int(unsafe.Sizeof(zero)))
}
