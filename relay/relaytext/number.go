package relaytext

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay/relaytext/grammar"
	"github.com/texel-ml/texel/tensor"
)

// number is a number as it is written, with its sign.
type number struct {
	negative bool
	digits   string // 12, 1.5e-3, inf or nan
	suffix   string // i64, f, …
	pos      diag.Pos
}

// suffixes are the element types of numbers; a number without one is an int32, or an int64 when it does not fit, or a
// float32 when it has a point or an exponent.
var suffixes = map[string]tensor.DType{
	"f": tensor.Float32, "f16": tensor.Float16, "f32": tensor.Float32, "f64": tensor.Float64, "bf16": tensor.BFloat16,
	"i8": tensor.Int8, "i16": tensor.Int16, "i32": tensor.Int32, "i64": tensor.Int64,
	"u8": tensor.Uint8, "u16": tensor.Uint16, "u32": tensor.Uint32, "u64": tensor.Uint64,
}

// ExitNumber keeps a number for the rule around it.
func (b *builder) ExitNumber(ctx *grammar.NumberContext) {
	text := ctx.GetDigits().GetText()
	at := len(text)
	if text[0] == 'i' || text[0] == 'n' { // inf, nan
		at = 3
	} else {
		for i := 0; i < len(text); i++ {
			c := text[i]
			if exponent := (c == 'e' || c == 'E') && i+1 < len(text) && (isDigit(text[i+1]) || text[i+1] == '+' || text[i+1] == '-'); exponent {
				i++
			} else if !isDigit(c) && c != '.' {
				at = i
				break
			}
		}
	}
	b.number = number{ctx.GetMinus() != nil, text[:at], text[at:], b.r.pos(ctx.GetStart())}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (n number) String() string {
	if n.negative {
		return "-" + n.digits + n.suffix
	}
	return n.digits + n.suffix
}

func (n number) signed() string {
	if n.negative {
		return "-" + n.digits
	}
	return n.digits
}

// dtype returns the element type that the number is written in.
func (n number) dtype() (tensor.DType, error) {
	if n.suffix == "" {
		if strings.ContainsAny(n.digits, ".eE") {
			return tensor.Float32, nil
		}
		if _, err := strconv.ParseInt(n.signed(), 10, 32); err != nil {
			return tensor.Int64, nil
		}
		return tensor.Int32, nil
	}
	d, ok := suffixes[n.suffix]
	if !ok {
		return d, fmt.Errorf("%q is no suffix of a number; f, f16, f64, i64 and their like are", n.suffix)
	}
	return d, nil
}

// float returns the value of a number of the given type.
func (n number) float(d tensor.DType) (float64, error) {
	bits := 64
	if d == tensor.Float32 {
		bits = 32
	}
	v, err := strconv.ParseFloat(n.signed(), bits)
	if err == nil && d.Bits() < 32 {
		v = tensor.Round(d, v)
	}
	if err != nil || math.IsInf(v, 0) && n.digits != "inf" {
		return 0, fmt.Errorf("is no number of %v", d)
	}
	return v, nil
}

// scalar returns the number as a tensor.
func (n number) scalar() (*tensor.Tensor, error) {
	d, err := n.dtype()
	if err != nil {
		return nil, err
	}
	w := tensor.NewWide(d, tensor.Shape{})
	switch d.Kind() {
	case tensor.Float:
		w.F[0], err = n.float(d)
	case tensor.Unsigned:
		var v uint64
		v, err = strconv.ParseUint(n.signed(), 10, d.Bits())
		w.I[0] = int64(v)
	default:
		w.I[0], err = strconv.ParseInt(n.signed(), 10, d.Bits())
	}
	if err != nil {
		return nil, fmt.Errorf("is no number of %v", d)
	}
	return w.Narrow(), nil
}

// value returns the number as the value of an attribute: an int64 or a float64.
func (n number) value() (any, error) {
	d, err := n.dtype()
	if err != nil {
		return nil, err
	}
	if d.IsFloat() {
		return n.float(d)
	}
	v, err := strconv.ParseInt(n.signed(), 10, 64)
	if err != nil {
		return nil, errors.New("is no number of int64")
	}
	return v, nil
}
