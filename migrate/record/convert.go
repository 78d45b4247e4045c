package record

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/migrate/record/internal/decimal"
)

// conversion describes what a row of the table of conversions does to a value, and how
// it is undone. The reason is "" if it could; it holds no value.
type conversion struct {
	to   func(t *route.Term, in []datum) (out datum, reason string)
	from func(t *route.Term, stored datum) (out []datum, reason string)
}

// conversions lists the rows of route.Conversions.
var conversions = map[string]conversion{
	"text": {one(text, spelledText),
		back(func(_ *route.Term, d datum) (datum, string) { return datum{kind: text, text: d.text}, "" })},
	"number": {one(number, func(d datum) (datum, string) { return datum{kind: text, text: d.text}, "" }),
		back(backNumber)},
	"id":    {toID, back(func(_ *route.Term, d datum) (datum, string) { return datum{kind: text, text: d.text}, "" })},
	"place": {nil, func(*route.Term, datum) ([]datum, string) { return nil, "" }}, // eval knows the place
	"iso8601": {one(text, readISO),
		back(func(_ *route.Term, d datum) (datum, string) { return asInstant(d, time.Second, isoText) })},
	"unix_s": {one(number, readUnix(time.Second)),
		back(func(_ *route.Term, d datum) (datum, string) { return asInstant(d, time.Second, unixText(time.Second)) })},
	"unix_ms": {one(number, readUnix(time.Millisecond)), back(func(_ *route.Term, d datum) (datum, string) {
		return asInstant(d, time.Millisecond, unixText(time.Millisecond))
	})},
	"minutes": {toMinutes, fromMinutes},
	"slug":    {one(text, toSlug), nil},
	"lower": {one(text,
		func(d datum) (datum, string) { return datum{kind: text, text: strings.ToLower(d.text)}, "" }), nil},
	"base64": {one(text, toBytes), back(func(_ *route.Term, d datum) (datum, string) {
		return datum{kind: text, text: base64.StdEncoding.EncodeToString([]byte(d.text))}, ""
	})},
	"rename":  {renamed, back(renamedBack)},
	"default": {defaulted, back(func(_ *route.Term, d datum) (datum, string) { return d, "" })},
	"null":    {nulled, back(nulledBack)},
	"const": {func(t *route.Term, _ []datum) (datum, string) { return datum{kind: spelled, text: t.Args[0]}, "" },
		func(*route.Term, datum) ([]datum, string) { return nil, "" }},
}

// one returns a conversion of one value of a kind. Nothing stays nothing.
func one(k kind, f func(datum) (datum, string)) func(*route.Term, []datum) (datum, string) {
	return func(t *route.Term, in []datum) (datum, string) {
		d := in[0]
		if d.kind == spelled {
			if _, ok := numberForm([]byte(d.text)); ok || k == text {
				d.kind = k
			}
		}
		switch d.kind {
		case k:
			return f(d)
		case nothing:
			return datum{}, ""
		}
		return datum{}, fmt.Sprintf("%s takes %s, and there is %s", t.Func, kindNames[k], kindNames[in[0].kind])
	}
}

// back returns the way back of one value.
func back(f func(*route.Term, datum) (datum, string)) func(*route.Term, datum) ([]datum, string) {
	return func(t *route.Term, d datum) ([]datum, string) {
		if d.kind == nothing && t.Func != "null" {
			return []datum{d}, ""
		}
		out, reason := f(t, d)
		return []datum{out}, reason
	}
}

func spelledText(d datum) (datum, string) { return datum{kind: spelled, text: d.text}, "" }

// toID takes an id that is a text in some files and a number in others.
func toID(_ *route.Term, in []datum) (datum, string) {
	switch d := in[0]; d.kind {
	case nothing, text, spelled:
		return d, ""
	case number:
		if digits, ok := whole(d.text); ok {
			return datum{kind: text, text: digits}, ""
		}
	}
	return datum{}, "id takes a whole number or a text, and there is " + kindNames[in[0].kind]
}

func backNumber(_ *route.Term, d datum) (datum, string) {
	if _, ok := numberForm([]byte(d.text)); !ok {
		return datum{}, "is no number, and the document has one here"
	}
	return datum{kind: number, text: d.text}, ""
}

// isoForms lists the spellings of a time that iso8601 reads, beside RFC 3339: as
// Python, JavaScript, Go, Ruby and databases write it.
var isoForms = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999 Z0700", "2006-01-02T15:04Z07:00",
	"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
}

func readISO(d datum) (datum, string) {
	if len(d.text) <= 64 {
		for _, form := range isoForms {
			if t, err := time.Parse(form, d.text); err == nil {
				return datum{kind: instant, time: t}, ""
			}
		}
	}
	return datum{}, "is no time as ISO 8601 writes it"
}

func isoText(t time.Time) datum {
	return datum{kind: text, text: t.UTC().Format(time.RFC3339Nano)}
}

// readUnix reads a number of units since 1970, to the nanosecond.
func readUnix(unit time.Duration) func(datum) (datum, string) {
	return func(d datum) (datum, string) {
		if t, ok := unixTime(d.text, unit); ok {
			return datum{kind: instant, time: t}, ""
		}
		return datum{}, "is no time: the number is out of range"
	}
}

func unixTime(digits string, unit time.Duration) (time.Time, bool) {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n < math.MaxInt32*1000*1000 &&
		n > -math.MaxInt32*1000*1000 {
		if unit == time.Second {
			return time.Unix(n, 0).UTC(), inYears(time.Unix(n, 0))
		}
		return time.UnixMilli(n).UTC(), inYears(time.UnixMilli(n))
	}
	d, ok := decimal.Parse(digits)
	if !ok || len(d.Digits)+d.Exp > 15 || d.Exp < -400 {
		return time.Time{}, false
	}
	places := len(strconv.FormatInt(int64(unit), 10)) - 1
	d.Exp += places
	integer, _, _ := strings.Cut(d.Plain(), ".")
	nanos, err := strconv.ParseInt(integer, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	t := time.Unix(0, nanos).UTC()
	return t, inYears(t)
}

func inYears(t time.Time) bool { return t.Year() >= 0 && t.Year() <= 9999 }

func unixText(unit time.Duration) func(time.Time) datum {
	return func(t time.Time) datum {
		d := decimal.Decimal{}
		whole := strconv.FormatInt(t.Unix(), 10)
		if unit == time.Millisecond {
			whole = strconv.FormatInt(t.UnixMilli(), 10)
		} else if t.Nanosecond() != 0 {
			sign, seconds, nanos := "", t.Unix(), t.Nanosecond()
			if seconds < 0 { // the second before, and what is added to it
				sign, seconds, nanos = "-", -seconds-1, 1e9-nanos
			}
			d, _ = decimal.Parse(fmt.Sprintf("%s%d.%09d", sign, seconds, nanos))
			whole = d.Plain()
		}
		return datum{kind: number, text: whole}
	}
}

// asInstant reads a stored time: the number of its type, or a timestamp.
func asInstant(d datum, _ time.Duration, write func(time.Time) datum) (datum, string) {
	if d.kind != instant {
		return datum{}, "is no time"
	}
	return write(d.time), ""
}

func toMinutes(t *route.Term, in []datum) (datum, string) {
	var hour, minute string
	switch {
	case in[0].kind == nothing:
		return datum{}, ""
	case len(in) == 1 && (in[0].kind == text || in[0].kind == spelled):
		hour, minute, _ = strings.Cut(in[0].text, ":")
	case len(in) == 2 && in[0].kind == number && in[1].kind == number:
		hour, minute = in[0].text, in[1].text
	default:
		return datum{}, "minutes takes a text like \"09:30\", or two numbers"
	}
	h, err1 := strconv.Atoi(hour)
	m, err2 := strconv.Atoi(minute)
	if err1 != nil || err2 != nil || h < 0 || h > 23 || m < 0 || m > 59 {
		return datum{}, "is no hour from 0 to 23 and minute from 0 to 59"
	}
	return datum{kind: number, text: strconv.Itoa(60*h + m)}, ""
}

func fromMinutes(t *route.Term, d datum) ([]datum, string) {
	n, err := strconv.Atoi(d.text)
	if err != nil || n < 0 || n >= 24*60 {
		return nil, "is no minute of a day"
	}
	if len(t.Of) == 2 {
		return []datum{{kind: number, text: strconv.Itoa(n / 60)}, {kind: number, text: strconv.Itoa(n % 60)}}, ""
	}
	return []datum{{kind: text, text: fmt.Sprintf("%02d:%02d", n/60, n%60)}}, ""
}

// toSlug keeps letters and digits of ASCII in lower case, and makes one _ of
// everything between them.
func toSlug(d datum) (datum, string) {
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(d.text) {
		c = plainLetter(c)
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			b.WriteRune(c)
			gap = false
			continue
		}
		gap = gap || !unicode.Is(unicode.Mn, c)
	}
	if b.Len() == 0 {
		return datum{}, "has no letter or digit that a slug keeps"
	}
	return datum{kind: text, text: b.String()}, ""
}

// plainLetters lists the letters of Latin alphabets with a mark, and without it.
var plainLetters = func() map[rune]rune {
	out := map[rune]rune{}
	for plain, marked := range map[rune]string{'a': "àáâãäåāăą", 'c': "çćč", 'd': "ďđ", 'e': "èéêëēėęě", 'g': "ğģ",
		'i': "ìíîïīįı", 'l': "łľ", 'n': "ñńňņ", 'o': "òóôõöøōő", 'r': "řŕ", 's': "śšşș", 't': "ťțţ", 'u': "ùúûüūůűų",
		'y': "ýÿ", 'z': "źżž"} {
		for _, c := range marked {
			out[c] = plain
		}
	}
	return out
}()

func plainLetter(c rune) rune {
	if plain, ok := plainLetters[c]; ok {
		return plain
	}
	return c
}

func toBytes(d datum) (datum, string) {
	b, err := base64.StdEncoding.DecodeString(d.text)
	if err != nil {
		return datum{}, "is no base64"
	}
	return datum{kind: octets, text: string(b)}, ""
}

// renamed refuses a text that is one of the new words already: it could not be
// had back.
func renamed(t *route.Term, in []datum) (datum, string) {
	d := in[0]
	if d.kind == nothing {
		return d, ""
	}
	if d.kind != text && d.kind != spelled {
		return datum{}, "rename takes a text, and there is " + kindNames[d.kind]
	}
	words := t.Renames()
	if new, ok := words[d.text]; ok {
		return datum{kind: d.kind, text: new}, ""
	}
	for _, new := range words {
		if new == d.text {
			return datum{}, "is a word that another one is renamed to"
		}
	}
	return d, ""
}

func renamedBack(t *route.Term, d datum) (datum, string) {
	words := t.Renames()
	for old, new := range words {
		if new == d.text {
			return datum{kind: text, text: old}, ""
		}
	}
	if _, ok := words[d.text]; ok {
		return datum{}, "is a word that is renamed, and would be read as another one"
	}
	return d, ""
}

func defaulted(t *route.Term, in []datum) (datum, string) {
	if in[0].kind == nothing {
		return datum{kind: spelled, text: t.Args[0]}, ""
	}
	return in[0], ""
}

func nulled(_ *route.Term, in []datum) (datum, string) {
	if in[0].kind == null {
		return datum{}, ""
	}
	return in[0], ""
}

func nulledBack(_ *route.Term, d datum) (datum, string) {
	if d.kind == nothing {
		return datum{kind: null}, ""
	}
	return d, ""
}
