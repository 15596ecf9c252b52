package relay

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/tensor"
)

// AttrField is one attribute of a call.
type AttrField struct {
	Name  string // Relay's name, the struct's tag
	Value any
}

// AttrFields returns the attributes in the order in which their struct declares them; nil has none.
func AttrFields(attrs any) []AttrField {
	v := reflect.ValueOf(attrs)
	if !v.IsValid() || v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	v = v.Elem()
	var fields []AttrField
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("relay"); name != "" {
			fields = append(fields, AttrField{name, v.Field(i).Interface()})
		}
	}
	return fields
}

// FormatAttr prints an attribute's value as Relay's text does: 1, 0.5f, -inff, True, "NCHW", [1, 2], and None for a list
// or an element type that is not set. A float64 that float32 does not hold has all its digits and the suffix f64.
func FormatAttr(v any) string {
	if v == tensor.Invalid {
		return none
	}
	if m, ok := v.(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil {
			return strconv.Quote(err.Error())
		}
		return strconv.Quote(string(text))
	}
	switch v := v.(type) {
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int:
		return strconv.Itoa(v)
	case string:
		return strconv.Quote(v)
	case float64:
		return formatFloat(v)
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice {
		if r.IsNil() {
			return none
		}
		var b strings.Builder
		b.WriteByte('[')
		for i := range r.Len() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(FormatAttr(r.Index(i).Interface()))
		}
		b.WriteByte(']')
		return b.String()
	}
	return fmt.Sprint(v)
}

// none is written where an attribute is not set.
const none = "None"

func formatFloat(v float64) string {
	if float64(float32(v)) == v || math.IsNaN(v) {
		return formatNumber(v, 32) + "f"
	}
	return formatNumber(v, 64) + "f64"
}

// formatNumber prints a number that a float of the given width holds: 1, 0.5, 1e-05, inf, -inf or nan.
func formatNumber(v float64, bits int) string {
	text := strconv.FormatFloat(v, 'g', -1, bits)
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return strings.TrimPrefix(strings.ToLower(text), "+")
	}
	return text
}
