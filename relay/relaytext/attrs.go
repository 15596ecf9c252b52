package relaytext

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/relaytext/grammar"
	"github.com/texel-ml/texel/tensor"
)

// attribute is name=value. A value is an int64, float64, bool, string, []any, nil for None, or an object.
type attribute struct {
	name  string
	value any
	pos   diag.Pos // of the name
}

// object is a value that the text only refers to.
type object struct{ text string }

// broken is a value with errors. What it is an attribute of is not made.
type broken struct{}

// isBroken reports whether a value has errors.
func isBroken(v any) bool {
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, isBroken)
	}
	return v == broken{}
}

func (b *builder) popAttrs(at int) []attribute {
	list := append([]attribute(nil), b.attrs[at:]...)
	b.attrs = b.attrs[:at]
	return list
}

// ExitName keeps the name of an attribute.
func (b *builder) ExitName(ctx *grammar.NameContext) { b.name = ctx.GetStart() }

// ExitAttribute adds an attribute to those of the innermost list.
func (b *builder) ExitAttribute(*grammar.AttributeContext) {
	last := len(b.values) - 1
	b.attrs = append(b.attrs, attribute{b.name.GetText(), b.values[last], b.r.pos(b.name)})
	b.values = b.values[:last]
}

// ExitNumberValue takes a number.
func (b *builder) ExitNumberValue(*grammar.NumberValueContext) {
	v, err := b.number.value()
	if err != nil {
		b.r.fail(diag.Invalid(step, b.number.String(), "%v", err).At(b.number.pos))
		v = broken{}
	}
	b.values = append(b.values, v)
}

// ExitTextValue takes a text in quotes.
func (b *builder) ExitTextValue(ctx *grammar.TextValueContext) {
	t := ctx.GetQuoted()
	text, err := strconv.Unquote(t.GetText())
	if err != nil {
		b.r.fail(diag.Invalid(step, shorten(t.GetText()), "the text has an escape that is none").At(b.r.pos(t)))
		b.values = append(b.values, broken{})
		return
	}
	b.values = append(b.values, text)
}

// ExitTruthValue takes True or False.
func (b *builder) ExitTruthValue(ctx *grammar.TruthValueContext) {
	b.values = append(b.values, ctx.GetTruth().GetTokenType() == grammar.RelayLexerTRUE)
}

// ExitNameValue takes None, or an element type without quotes.
func (b *builder) ExitNameValue(ctx *grammar.NameValueContext) {
	name := ctx.GetNamed().GetText()
	var v any = name
	if _, ok := elementType(name); name == "None" {
		v = nil
	} else if !ok {
		b.r.fail(diag.Invalid(step, name, "wanted a value: a number, a text in quotes, True, False, None or a list").At(b.r.pos(ctx.GetNamed())))
		v = broken{}
	}
	b.values = append(b.values, v)
}

// ExitMetaValue takes an object of the metadata section, which only some attributes may be.
func (b *builder) ExitMetaValue(*grammar.MetaValueContext) {
	b.values = append(b.values, object{"meta[" + b.meta.kind + "][" + b.meta.index + "]"})
}

// EnterValues marks where a list begins.
func (b *builder) EnterValues(*grammar.ValuesContext) { b.mark(len(b.values)) }

// ExitValues takes a list.
func (b *builder) ExitValues(*grammar.ValuesContext) {
	at := b.unmark()
	list := append([]any{}, b.values[at:]...)
	b.values = append(b.values[:at], list)
}

// valueText prints a value as the text has it.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case int64:
		return strconv.FormatInt(v, 10)
	case object:
		return v.text
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = valueText(x)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return relay.FormatAttr(v)
}

// attrText is the value of a function's attribute: a text is itself; ok is false for an object.
func attrText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case object:
		return "", false
	}
	return valueText(v), true
}

// set stores a value in a field of an attribute struct, or says what the field wants.
func set(field reflect.Value, v any) (wanted string) {
	if v == nil {
		field.SetZero()
		return ""
	}
	if field.Type() == reflect.TypeFor[tensor.DType]() {
		name, ok := v.(string)
		d, known := elementType(name)
		if !known && (name == "" || name == "void") {
			known = true
		}
		if !ok || !known {
			return "an element type"
		}
		field.Set(reflect.ValueOf(d))
		return ""
	}
	switch field.Kind() {
	case reflect.Int:
		n, ok := v.(int64)
		if !ok {
			return "a whole number"
		}
		field.SetInt(n)
	case reflect.Bool:
		switch n := v.(type) {
		case bool:
			field.SetBool(n)
		case int64:
			field.SetBool(n != 0)
		default:
			return "True or False"
		}
	case reflect.Float64:
		switch n := v.(type) {
		case float64:
			field.SetFloat(n)
		case int64:
			field.SetFloat(float64(n))
		default:
			return "a number"
		}
	case reflect.String:
		text, ok := v.(string)
		if !ok {
			return "a text in quotes"
		}
		field.SetString(text)
	case reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			list = []any{v} // one number is a list of one
		}
		to := reflect.MakeSlice(field.Type(), len(list), len(list))
		for i, x := range list {
			if x == nil || set(to.Index(i), x) != "" {
				return "a list of numbers"
			}
		}
		field.Set(to)
	default:
		return "another attribute: its kind has no text"
	}
	return ""
}
