// Package decimal holds numbers of any size exactly, as JSON and Redis write them. It does not calculate.
package decimal

import (
	"strconv"
	"strings"
)

// Decimal represents a number of any size, exactly: digits × 10^exp. Digits have no zeros
// at either end; zero has none at all.
type Decimal struct {
	negative bool
	Digits   string
	Exp      int
}

// Parse reads a number as JSON or Redis writes it.
func Parse(text string) (d Decimal, ok bool) {
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
			return Decimal{}, false
		}
		d.Exp = n
	}
	integer, fraction, _ := strings.Cut(mantissa, ".")
	digits := integer + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return Decimal{}, false
	}
	d.Exp -= len(fraction)
	digits = strings.TrimLeft(digits, "0")
	d.Digits = strings.TrimRight(digits, "0")
	d.Exp += len(digits) - len(d.Digits)
	if d.Digits == "" {
		return Decimal{}, true // -0 is 0
	}
	return d, true
}

// String returns the canonical spelling: whole numbers of up to 400 digits in full,
// fractions with a point, the rest with an exponent.
func (d Decimal) String() string {
	if d.Digits == "" {
		return "0"
	}
	if n := len(d.Digits) + d.Exp; n <= 400 && d.Exp > -400 {
		return d.Plain()
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	return sign + d.Digits + "e" + strconv.Itoa(d.Exp)
}

// Plain returns the number without an exponent.
func (d Decimal) Plain() string {
	sign := ""
	if d.negative {
		sign = "-"
	}
	n := len(d.Digits) + d.Exp
	switch {
	case d.Digits == "":
		return "0"
	case d.Exp >= 0:
		return sign + d.Digits + strings.Repeat("0", d.Exp)
	case n > 0:
		return sign + d.Digits[:n] + "." + d.Digits[n:]
	}
	return sign + "0." + strings.Repeat("0", -n) + d.Digits
}
