package artifact

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"

	"github.com/texel-ml/texel/diag"
)

// Encode returns the plan as JSON for people: fields in the order of the Go types, one tensor, launch or other
// element a line. The same plan gives the same bytes.
func (p *Plan) Encode() ([]byte, error) { return encodeLines(p) }

// DecodePlan reads what Encode writes. Unknown fields are refused; Check is the caller's.
func DecodePlan(text []byte) (*Plan, error) {
	p := &Plan{}
	if err := decodeStrict(text, p); err != nil {
		return nil, diag.Invalid("plan", "", "plan does not decode").By(err)
	}
	if p.Format != PlanFormat {
		return nil, diag.Unsupported("plan", "", "plan has format %d, this version reads %d", p.Format, PlanFormat)
	}
	return p, nil
}

// decodeStrict decodes exactly one JSON value without unknown fields.
func decodeStrict(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return diag.Invalid("json", "", "more follows after the document")
	}
	return nil
}

// encodeLines prints a struct with one line a field; a list of structs takes one line an element, and lists inside
// an element that is itself only a name with a list (a region) are broken up too.
func encodeLines(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := writeObject(&b, reflect.Indirect(reflect.ValueOf(v)), ""); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func writeObject(b *bytes.Buffer, v reflect.Value, indent string) error {
	b.WriteString("{")
	first := true
	for i := range v.NumField() {
		name, opts, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		field := v.Field(i)
		if opts == "omitempty" && (field.IsZero() || (field.Kind() == reflect.Slice || field.Kind() == reflect.Map) && field.Len() == 0) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteString("\n" + indent + "  \"" + name + "\": ")
		if err := writeField(b, field, indent+"  "); err != nil {
			return err
		}
	}
	b.WriteString("\n" + indent + "}")
	return nil
}

func writeField(b *bytes.Buffer, v reflect.Value, indent string) error {
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Struct {
		if v.Kind() == reflect.Slice && v.Len() == 0 {
			b.WriteString("[]")
			return nil
		}
		return writeCompact(b, v)
	}
	if v.Len() == 0 {
		b.WriteString("[]")
		return nil
	}
	b.WriteString("[")
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + indent + "  ")
		var err error
		switch v.Index(i).Interface().(type) {
		case Region, Variant, Entry:
			err = writeObject(b, v.Index(i), indent+"  ")
		default:
			err = writeCompact(b, v.Index(i))
		}
		if err != nil {
			return err
		}
	}
	b.WriteString("\n" + indent + "]")
	return nil
}

func writeCompact(b *bytes.Buffer, v reflect.Value) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.Interface()); err != nil {
		return diag.Internal("artifact", "", "value does not encode").By(err)
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
	return nil
}
