package artifact

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// The ZIP form. Every entry is stored, its data aligned through an extra field of the local header (Android's
// alignment field 0xD935: the alignment, then zeros). All times are 1980-01-01, there are no other extra fields, and
// the archive's comment is the digest of the manifest. Headers are a function of name, size, checksum and position
// alone; the reader makes them again and compares, so that no byte of the file is free.
const (
	dataAlign = 64
	codeAlign = 16 << 10
	leafBytes = 1 << 20
	maxFile   = 1<<32 - 1<<20 // ZIP without its 64-bit form

	localSize   = 30
	centralSize = 46
	endSize     = 22
	commentSize = 64
	extraMin    = 6
	dosDate     = 1<<5 | 1 // 1980-01-01
	zipVersion  = 10
)

// record is what the headers of one entry are made of.
type record struct {
	name string
	crc  uint32
	size int64
	at   int64 // position of the local header
}

func align(n, to int64) int64 { return (n + to - 1) / to * to }

// leaves returns how many pieces of 1 MiB n bytes have.
func leaves(n int64) int64 { return (n + leafBytes - 1) / leafBytes }

// alignment returns the alignment of an entry's data.
func alignment(name string) int64 {
	if strings.HasSuffix(name, ".so") {
		return codeAlign
	}
	return dataAlign
}

// dataAt returns the position of the entry's data.
func (r record) dataAt() int64 {
	return align(r.at+localSize+int64(len(r.name))+extraMin, alignment(r.name))
}

// end returns the position behind the entry's data.
func (r record) end() int64 { return r.dataAt() + r.size }

// local returns the local header with name and extra field.
func (r record) local() []byte {
	extra := r.dataAt() - r.at - localSize - int64(len(r.name))
	b := make([]byte, 0, localSize+int64(len(r.name))+extra)
	b = binary.LittleEndian.AppendUint32(b, 0x04034b50)
	b = r.common(b)
	b = binary.LittleEndian.AppendUint16(b, uint16(extra))
	b = append(b, r.name...)
	b = binary.LittleEndian.AppendUint16(b, 0xd935)
	b = binary.LittleEndian.AppendUint16(b, uint16(extra-4))
	b = binary.LittleEndian.AppendUint16(b, uint16(alignment(r.name)))
	return append(b, make([]byte, extra-extraMin)...)
}

// central returns the header in the central directory.
func (r record) central() []byte {
	b := make([]byte, 0, centralSize+len(r.name))
	b = binary.LittleEndian.AppendUint32(b, 0x02014b50)
	b = binary.LittleEndian.AppendUint16(b, zipVersion)
	b = r.common(b)
	b = append(b, make([]byte, 2+2+2+2+4)...) // extra, comment, disk, internal and external attributes
	b = binary.LittleEndian.AppendUint32(b, uint32(r.at))
	return append(b, r.name...)
}

// common appends the fields from the version needed up to the length of the name.
func (r record) common(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, zipVersion)
	b = append(b, make([]byte, 2+2+2)...) // flags, method, time
	b = binary.LittleEndian.AppendUint16(b, dosDate)
	b = binary.LittleEndian.AppendUint32(b, r.crc)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.size))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.size))
	return binary.LittleEndian.AppendUint16(b, uint16(len(r.name)))
}

// directory returns the central directory and the end record with the comment.
func directory(records []record, comment string) []byte {
	var b []byte
	at := int64(0)
	for _, r := range records {
		b = append(b, r.central()...)
		at = r.end()
	}
	size := len(b)
	b = binary.LittleEndian.AppendUint32(b, 0x06054b50)
	b = append(b, make([]byte, 4)...) // disks
	b = binary.LittleEndian.AppendUint16(b, uint16(len(records)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(records)))
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = binary.LittleEndian.AppendUint32(b, uint32(at))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(comment)))
	return append(b, comment...)
}

// parse finds the records and the comment. It reads no more than it needs to make all headers again; whether the
// file has exactly those is for the caller to compare.
func parse(data []byte) (records []record, comment string, err error) {
	fail := func(format string, args ...any) ([]record, string, error) {
		return nil, "", damaged("", "not a .texel file: "+fmt.Sprintf(format, args...))
	}
	n := len(data) - endSize - commentSize
	if n < 0 {
		return fail("%d bytes are too few", len(data))
	}
	if int64(len(data)) > maxFile {
		return fail("%d bytes are too many", len(data))
	}
	end := data[n:]
	if binary.LittleEndian.Uint32(end) != 0x06054b50 || binary.LittleEndian.Uint16(end[20:]) != commentSize {
		return fail("it does not end in an archive's end record with a digest as comment")
	}
	count := int(binary.LittleEndian.Uint16(end[10:]))
	at := int64(binary.LittleEndian.Uint32(end[16:]))
	if at > int64(n) {
		return fail("the directory is said to start at %d of %d bytes", at, len(data))
	}
	central := data[at:n]
	for range count {
		if len(central) < centralSize || binary.LittleEndian.Uint32(central) != 0x02014b50 {
			return fail("the directory is damaged")
		}
		name := int(binary.LittleEndian.Uint16(central[28:]))
		if len(central) < centralSize+name {
			return fail("the directory is damaged")
		}
		r := record{
			name: string(central[centralSize : centralSize+name]),
			crc:  binary.LittleEndian.Uint32(central[16:]),
			size: int64(binary.LittleEndian.Uint32(central[24:])),
			at:   int64(binary.LittleEndian.Uint32(central[42:])),
		}
		if !validName(r.name) {
			return fail("entry name %q is not valid", r.name)
		}
		records = append(records, r)
		central = central[centralSize+name:]
	}
	return records, string(end[endSize:]), nil
}
