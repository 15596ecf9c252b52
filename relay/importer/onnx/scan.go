package onnx

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// kind is a message of the format, as far as the scan must know it: where tensors may lie.
type kind uint8

const (
	leaf kind = iota // counted, copied as it is
	modelKind
	graphKind
	nodeKind
	attributeKind
	tensorKind
	sparseKind
	functionKind
	valueInfoKind
	typeKind
	tensorTypeKind
	shapeKind
)

// The fields of TensorProto that the scan writes and drops.
const (
	rawData   protowire.Number = 9
	rawOffset protowire.Number = 100001
	rawSize   protowire.Number = 100002
)

// maxDepth bounds how deep messages may nest; a graph inside a node's attribute takes four levels.
const maxDepth = 100

// children are the fields that hold messages.
var children = [...]map[protowire.Number]kind{
	modelKind:      {7: graphKind, 8: leaf, 14: leaf, 25: functionKind},
	graphKind:      {1: nodeKind, 5: tensorKind, 11: valueInfoKind, 12: valueInfoKind, 15: sparseKind},
	functionKind:   {7: nodeKind, 9: leaf, 11: attributeKind},
	nodeKind:       {5: attributeKind},
	attributeKind:  {5: tensorKind, 6: graphKind, 10: tensorKind, 11: graphKind, 22: sparseKind},
	tensorKind:     {13: leaf},
	sparseKind:     {1: tensorKind, 2: tensorKind},
	valueInfoKind:  {2: typeKind},
	typeKind:       {1: tensorTypeKind},
	tensorTypeKind: {2: shapeKind},
	shapeKind:      {1: leaf},
}

// unread are fields that may be large and that nothing reads: documentation, value types, metadata.
var unread = [...][]protowire.Number{
	modelKind:      {6, 20, 26},
	graphKind:      {10, 13, 14, 16},
	functionKind:   {8, 12, 14},
	nodeKind:       {6, 9, 10},
	attributeKind:  {13, 14, 15, 23},
	tensorKind:     {12, 16},
	sparseKind:     {},
	valueInfoKind:  {3, 4},
	typeKind:       {4, 5, 7, 8, 9},
	tensorTypeKind: {},
	shapeKind:      {},
}

// keptEmpty are fields of TypeProto whose contents nothing reads but whose presence says that a value is no tensor.
var keptEmpty = []protowire.Number{4, 5, 7, 8, 9}

type scanner struct {
	messages int // still allowed
	limit    int
}

// strip returns the model in data without the bytes of raw tensor data; each such field is replaced by its offset
// and size in data.
func strip(data []byte) ([]byte, error) { return newScanner(len(data)).message(data, 0, modelKind, 0) }

// stripTensor does the same for a lone TensorProto.
func stripTensor(data []byte) ([]byte, error) {
	return newScanner(len(data)).message(data, 0, tensorKind, 0)
}

func newScanner(size int) *scanner {
	limit := 1<<15 + size/8
	return &scanner{messages: limit, limit: limit}
}

func (s *scanner) message(src []byte, base int, k kind, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("messages nest deeper than %d at byte %d", maxDepth, base)
	}
	var dst []byte
	for at := 0; at < len(src); {
		num, typ, n := protowire.ConsumeTag(src[at:])
		if n < 0 {
			return nil, damaged(n, base+at)
		}
		m := protowire.ConsumeFieldValue(num, typ, src[at+n:])
		if m < 0 {
			return nil, damaged(m, base+at)
		}
		whole, value := src[at:at+n+m], src[at+n:at+n+m]
		start := base + at + n
		at += n + m
		if typ != protowire.BytesType {
			if k != tensorKind || num != rawOffset && num != rawSize {
				dst = append(dst, whole...)
			}
			continue
		}
		body, _ := protowire.ConsumeBytes(value)
		start += len(value) - len(body)
		child, nested := children[k][num]
		switch {
		case nested:
			if s.messages--; s.messages < 0 {
				return nil, fmt.Errorf("more than %d messages in a file of this size", s.limit)
			}
			if child != leaf {
				var err error
				if body, err = s.message(body, start, child, depth+1); err != nil {
					return nil, err
				}
			}
			dst = protowire.AppendBytes(protowire.AppendTag(dst, num, typ), body)
		case k == tensorKind && num == rawData:
			dst = protowire.AppendVarint(protowire.AppendTag(dst, rawOffset, protowire.VarintType), uint64(start))
			dst = protowire.AppendVarint(protowire.AppendTag(dst, rawSize, protowire.VarintType), uint64(len(body)))
		case k == typeKind && slices.Contains(keptEmpty, num):
			dst = protowire.AppendBytes(protowire.AppendTag(dst, num, typ), nil)
		case slices.Contains(unread[k], num):
		default:
			dst = append(dst, whole...)
		}
	}
	return dst, nil
}

func damaged(code, at int) error {
	err := protowire.ParseError(code)
	if errors.Is(err, protowire.ParseError(-1)) {
		err = errors.New("it ends in the middle of a field")
	}
	return fmt.Errorf("is damaged at byte %d: %v", at, err)
}
