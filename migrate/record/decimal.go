package record

import (
	"strconv"
	"strings"
)

// decimal represents a number of any size, exactly: digits × 10^exp. Digits have no zeros
// at either end; zero has none at all.
type decimal struct {
	negative bool
	digits   string
	exp      int
}

// parseDecimal reads a number as JSON or Redis writes it.
func parseDecimal(text string) (d decimal, ok bool) {
	rest := text
	if d.negative = strings.HasPrefix(rest, "-"); d.negative {
		rest = rest[1:]
	}
	rest = strings.TrimPrefix(rest, "+")
	mantissa, exponent, scientific := rest, "", false
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		mantissa, exponent, scientific = rest[:i], rest[i+1:], true
	}
	if scientific {
		n, err := strconv.Atoi(exponent)
		if err != nil || n > 1<<20 || n < -1<<20 {
			return decimal{}, false
		}
		d.exp = n
	}
	integer, fraction, _ := strings.Cut(mantissa, ".")
	digits := integer + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return decimal{}, false
	}
	d.exp -= len(fraction)
	digits = strings.TrimLeft(digits, "0")
	d.digits = strings.TrimRight(digits, "0")
	d.exp += len(digits) - len(d.digits)
	if d.digits == "" {
		return decimal{}, true // -0 is 0
	}
	return d, true
}

// String returns the canonical spelling: whole numbers of up to 400 digits in full,
// fractions with a point, the rest with an exponent.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	if n := len(d.digits) + d.exp; n <= 400 && d.exp > -400 {
		return d.plain()
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	return sign + d.digits + "e" + strconv.Itoa(d.exp)
}

// plain returns the number without an exponent.
func (d decimal) plain() string {
	sign := ""
	if d.negative {
		sign = "-"
	}
	n := len(d.digits) + d.exp
	switch {
	case d.digits == "":
		return "0"
	case d.exp >= 0:
		return sign + d.digits + strings.Repeat("0", d.exp)
	case n > 0:
		return sign + d.digits[:n] + "." + d.digits[n:]
	}
	return sign + "0." + strings.Repeat("0", -n) + d.digits
}
