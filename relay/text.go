package relay

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// textNames are the operators whose name means something else in Relay, with the name that they have in its text.
var textNames = map[string]string{
	"mod":               "floor_mod",              // Relay's mod has the sign of x
	"fmod":              "mod",                    //
	"image.grid_sample": "image.grid_sample_onnx", // Relay's takes the coordinates along the second axis
}

// TextName returns the name of an operator in Relay's text.
func TextName(op *Op) string {
	if name, ok := textNames[op.Name]; ok {
		return name
	}
	return op.Name
}

// TextLookup returns the operator that Relay's text calls name, or nil.
func (t *Table) TextLookup(name string) *Op {
	for own, text := range textNames {
		if text == name {
			return t.Lookup(own)
		}
	}
	if op := t.Lookup(name); op != nil && TextName(op) == name {
		return op
	}
	return nil
}

// textAttr says what Relay's text does with an attribute that is not as the table has it.
type textAttr struct {
	absent any    // what a text means that leaves it out; nil: the table's default
	always bool   // Relay has no default, so it is always written
	none   bool   // a zero is written None
	pairs  bool   // the list is written as one of pairs
	digit  bool   // a bool is written 0 or 1
	zero   string // what is written behind a list that holds a 0
}

var (
	always     = textAttr{always: true}
	shapeAttrs = map[string]textAttr{"shape": always, "dtype": always}
	poolAttrs  = map[string]textAttr{"pool_size": always}
	outputSize = map[string]textAttr{"output_size": always}
	indexDType = map[string]textAttr{"dtype": always}
	resizeText = map[string]textAttr{
		"size": always, "rounding_method": {absent: "round_prefer_ceil"}, "cubic_alpha": {absent: -0.5}, "cubic_exclude": {digit: true},
	}
)

// textAttrs are the attributes that Relay's text has otherwise than the table, by operator.
var textAttrs = map[string]map[string]textAttr{
	"nn.dense":               {"units": {always: true, none: true}},
	"nn.batch_matmul":        {"transpose_b": {absent: false}},
	"nn.max_pool1d":          poolAttrs,
	"nn.max_pool2d":          poolAttrs,
	"nn.max_pool3d":          poolAttrs,
	"nn.avg_pool1d":          poolAttrs,
	"nn.avg_pool2d":          poolAttrs,
	"nn.avg_pool3d":          poolAttrs,
	"nn.adaptive_avg_pool2d": outputSize,
	"nn.adaptive_max_pool2d": outputSize,
	"nn.leaky_relu":          {"alpha": {absent: 0.25}},
	"nn.lrn":                 {"alpha": {absent: 1e-4}},
	"nn.l2_normalize":        {"eps": always, "axis": always},
	"nn.group_norm":          {"num_groups": always},
	"nn.pad":                 {"pad_width": {always: true, pairs: true}},
	"cast":                   {"dtype": always},
	"reinterpret":            {"dtype": always},
	"clip":                   {"a_min": always, "a_max": always},
	"expand_dims":            {"axis": always},
	"reshape":                {"newshape": {always: true, zero: "allowzero=True"}},
	"transpose":              {"axes": always},
	"broadcast_to":           {"shape": always},
	"tile":                   {"reps": always},
	"repeat":                 {"repeats": always, "axis": always},
	"reverse":                {"axis": always},
	"layout_transform":       {"src_layout": always, "dst_layout": always},
	"split":                  {"indices_or_sections": always},
	"strided_slice":          {"begin": always, "end": always, "strides": always, "axes": always},
	"full":                   {"shape": always},
	"zeros":                  shapeAttrs,
	"ones":                   shapeAttrs,
	"one_hot":                {"depth": always},
	"take":                   {"axis": always},
	"gather":                 {"axis": always},
	"cumsum":                 {"axis": always},
	"cumprod":                {"axis": always},
	"argsort":                indexDType,
	"topk":                   indexDType,
	"image.resize2d":         resizeText,
	"qnn.quantize":           {"out_dtype": always},
}

// TextAttrs returns the attributes that a call of op has in Relay's text when it names none, or nil: the defaults of
// the table, except where Relay's are others.
func TextAttrs(op *Op) any {
	if op.NewAttrs == nil {
		return nil
	}
	attrs := op.NewAttrs()
	v := reflect.ValueOf(attrs).Elem()
	for i := range v.NumField() {
		if t := textAttrs[op.Name][v.Type().Field(i).Tag.Get("relay")]; t.absent != nil {
			v.Field(i).Set(reflect.ValueOf(t.absent))
		}
	}
	return attrs
}

// writtenAttrs returns the attributes of a call that its text has, each with its value in that text: those that Relay
// has no default for, and those that differ from its default.
func writtenAttrs(op *Op, attrs any) []string {
	var absent []AttrField
	if op.NewAttrs != nil {
		absent = AttrFields(TextAttrs(op))
	}
	var written []string
	for i, f := range AttrFields(attrs) {
		t := textAttrs[op.Name][f.Name]
		if text := t.format(f.Value); t.always || i >= len(absent) || text != t.format(absent[i].Value) {
			written = append(written, f.Name+"="+text)
			if list, ok := f.Value.([]int); ok && t.zero != "" && slices.Contains(list, 0) {
				written = append(written, t.zero)
			}
		}
	}
	return written
}

// format prints a value as Relay's text has it.
func (t textAttr) format(v any) string {
	switch v := v.(type) {
	case int:
		if t.none && v == 0 {
			return "None"
		}
	case bool:
		if t.digit && v {
			return "1"
		}
		if t.digit {
			return "0"
		}
	case []int:
		if t.pairs && len(v)%2 == 0 {
			pairs := make([]string, 0, len(v)/2)
			for i := 0; i < len(v); i += 2 {
				pairs = append(pairs, "["+strconv.Itoa(v[i])+", "+strconv.Itoa(v[i+1])+"]")
			}
			return "[" + strings.Join(pairs, ", ") + "]"
		}
	}
	return FormatAttr(v)
}
