package datum

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
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
)

// conversion describes what a row of the table of conversions does to a value, and how
// it is undone. The reason is "" if it could; it holds no value.
type conversion struct {
	to   func(t *route.Term, in []Datum) (out Datum, reason string)
	from func(t *route.Term, stored Datum) (out []Datum, reason string)
}

// conversions lists the rows of route.conversions.
var conversions = map[string]conversion{
	"text": {one(Text, spelledText),
		back(func(_ *route.Term, d Datum) (Datum, string) { return Datum{Kind: Text, Text: d.Text}, "" })},
	"number": {one(Number, func(d Datum) (Datum, string) { return Datum{Kind: Text, Text: d.Text}, "" }),
		back(backNumber)},
	"id":    {toID, back(func(_ *route.Term, d Datum) (Datum, string) { return Datum{Kind: Text, Text: d.Text}, "" })},
	"place": {nil, func(*route.Term, Datum) ([]Datum, string) { return nil, "" }}, // eval knows the place
	"iso8601": {one(Text, readISO),
		back(func(_ *route.Term, d Datum) (Datum, string) { return asInstant(d, isoText) })},
	"unix_s": {one(Number, readUnix(time.Second)),
		back(func(_ *route.Term, d Datum) (Datum, string) { return asInstant(d, unixText(time.Second)) })},
	"unix_ms": {one(Number, readUnix(time.Millisecond)), back(func(_ *route.Term, d Datum) (Datum, string) {
		return asInstant(d, unixText(time.Millisecond))
	})},
	"minutes": {toMinutes, fromMinutes},
	"slug":    {one(Text, toSlug), nil},
	"lower": {one(Text,
		func(d Datum) (Datum, string) { return Datum{Kind: Text, Text: strings.ToLower(d.Text)}, "" }), nil},
	"base64": {one(Text, toBytes), back(func(_ *route.Term, d Datum) (Datum, string) {
		return Datum{Kind: Text, Text: base64.StdEncoding.EncodeToString([]byte(d.Text))}, ""
	})},
	"rename":  {renamed, back(renamedBack)},
	"default": {defaulted, back(func(_ *route.Term, d Datum) (Datum, string) { return d, "" })},
	"null":    {nulled, back(nulledBack)},
	"const": {func(t *route.Term, _ []Datum) (Datum, string) { return Datum{Kind: Spelled, Text: t.Args[0]}, "" },
		func(*route.Term, Datum) ([]Datum, string) { return nil, "" }},
}

// one returns a conversion of one value of a kind. Nothing stays nothing.
func one(k kind, f func(Datum) (Datum, string)) func(*route.Term, []Datum) (Datum, string) {
	return func(t *route.Term, in []Datum) (Datum, string) {
		d := in[0]
		if d.Kind == Spelled {
			if _, ok := jsontext.NumberForm([]byte(d.Text)); ok || k == Text {
				d.Kind = k
			}
		}
		switch d.Kind {
		case k:
			return f(d)
		case Nothing:
			return Datum{}, ""
		}
		return Datum{}, fmt.Sprintf("%s takes %s, and there is %s", t.Func, kindNames[k], kindNames[in[0].Kind])
	}
}

// back returns the way back of one value.
func back(f func(*route.Term, Datum) (Datum, string)) func(*route.Term, Datum) ([]Datum, string) {
	return func(t *route.Term, d Datum) ([]Datum, string) {
		if d.Kind == Nothing && t.Func != "null" {
			return []Datum{d}, ""
		}
		out, reason := f(t, d)
		return []Datum{out}, reason
	}
}

func spelledText(d Datum) (Datum, string) { return Datum{Kind: Spelled, Text: d.Text}, "" }

// toID takes an id that is a text in some files and a number in others.
func toID(_ *route.Term, in []Datum) (Datum, string) {
	switch d := in[0]; d.Kind {
	case Nothing, Text, Spelled:
		return d, ""
	case Number:
		if digits, ok := wholeDigits(d.Text); ok {
			return Datum{Kind: Text, Text: digits}, ""
		}
	}
	return Datum{}, "id takes a whole number or a text, and there is " + kindNames[in[0].Kind]
}

func backNumber(_ *route.Term, d Datum) (Datum, string) {
	if _, ok := jsontext.NumberForm([]byte(d.Text)); !ok {
		return Datum{}, "is no number, and the document has one here"
	}
	return Datum{Kind: Number, Text: d.Text}, ""
}

// isoForms lists the spellings of a time that iso8601 reads, beside RFC 3339: as
// Python, JavaScript, Go, Ruby and databases write it.
var isoForms = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999 Z0700", "2006-01-02T15:04Z07:00",
	"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
}

func readISO(d Datum) (Datum, string) {
	if len(d.Text) <= 64 {
		for _, form := range isoForms {
			if t, err := time.Parse(form, d.Text); err == nil {
				return Datum{Kind: Instant, Time: t}, ""
			}
		}
	}
	return Datum{}, "is no time as ISO 8601 writes it"
}

func isoText(t time.Time) Datum {
	return Datum{Kind: Text, Text: t.UTC().Format(time.RFC3339Nano)}
}

// readUnix reads a number of units since 1970, to the nanosecond.
func readUnix(unit time.Duration) func(Datum) (Datum, string) {
	return func(d Datum) (Datum, string) {
		if t, ok := unixTime(d.Text, unit); ok {
			return Datum{Kind: Instant, Time: t}, ""
		}
		return Datum{}, "is no time: the number is out of range"
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

func unixText(unit time.Duration) func(time.Time) Datum {
	return func(t time.Time) Datum {
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
		return Datum{Kind: Number, Text: whole}
	}
}

// asInstant reads a stored time: the number of its type, or a timestamp.
func asInstant(d Datum, write func(time.Time) Datum) (Datum, string) {
	if d.Kind != Instant {
		return Datum{}, "is no time"
	}
	return write(d.Time), ""
}

func toMinutes(t *route.Term, in []Datum) (Datum, string) {
	var hour, minute string
	switch {
	case in[0].Kind == Nothing:
		return Datum{}, ""
	case len(in) == 1 && (in[0].Kind == Text || in[0].Kind == Spelled):
		hour, minute, _ = strings.Cut(in[0].Text, ":")
	case len(in) == 2 && in[0].Kind == Number && in[1].Kind == Number:
		hour, minute = in[0].Text, in[1].Text
	default:
		return Datum{}, "minutes takes a text like \"09:30\", or two numbers"
	}
	h, err1 := strconv.Atoi(hour)
	m, err2 := strconv.Atoi(minute)
	if err1 != nil || err2 != nil || h < 0 || h > 23 || m < 0 || m > 59 {
		return Datum{}, "is no hour from 0 to 23 and minute from 0 to 59"
	}
	return Datum{Kind: Number, Text: strconv.Itoa(60*h + m)}, ""
}

func fromMinutes(t *route.Term, d Datum) ([]Datum, string) {
	n, err := strconv.Atoi(d.Text)
	if err != nil || n < 0 || n >= 24*60 {
		return nil, "is no minute of a day"
	}
	if len(t.Of) == 2 {
		return []Datum{{Kind: Number, Text: strconv.Itoa(n / 60)}, {Kind: Number, Text: strconv.Itoa(n % 60)}}, ""
	}
	return []Datum{{Kind: Text, Text: fmt.Sprintf("%02d:%02d", n/60, n%60)}}, ""
}

// toSlug keeps letters and digits of ASCII in lower case, and makes one _ of
// everything between them.
func toSlug(d Datum) (Datum, string) {
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(d.Text) {
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
		return Datum{}, "has no letter or digit that a slug keeps"
	}
	return Datum{Kind: Text, Text: b.String()}, ""
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

func toBytes(d Datum) (Datum, string) {
	b, err := base64.StdEncoding.DecodeString(d.Text)
	if err != nil {
		return Datum{}, "is no base64"
	}
	return Datum{Kind: octets, Text: string(b)}, ""
}

// renamed refuses a text that is one of the new words already: it could not be
// had back.
func renamed(t *route.Term, in []Datum) (Datum, string) {
	d := in[0]
	if d.Kind == Nothing {
		return d, ""
	}
	if d.Kind != Text && d.Kind != Spelled {
		return Datum{}, "rename takes a text, and there is " + kindNames[d.Kind]
	}
	words := t.Renames()
	if new, ok := words[d.Text]; ok {
		return Datum{Kind: d.Kind, Text: new}, ""
	}
	for _, new := range words {
		if new == d.Text {
			return Datum{}, "is a word that another one is renamed to"
		}
	}
	return d, ""
}

func renamedBack(t *route.Term, d Datum) (Datum, string) {
	words := t.Renames()
	for old, new := range words {
		if new == d.Text {
			return Datum{Kind: Text, Text: old}, ""
		}
	}
	if _, ok := words[d.Text]; ok {
		return Datum{}, "is a word that is renamed, and would be read as another one"
	}
	return d, ""
}

func defaulted(t *route.Term, in []Datum) (Datum, string) {
	if in[0].Kind == Nothing {
		return Datum{Kind: Spelled, Text: t.Args[0]}, ""
	}
	return in[0], ""
}

func nulled(_ *route.Term, in []Datum) (Datum, string) {
	if in[0].Kind == null {
		return Datum{}, ""
	}
	return in[0], ""
}

func nulledBack(_ *route.Term, d Datum) (Datum, string) {
	if d.Kind == Nothing {
		return Datum{Kind: null}, ""
	}
	return d, ""
}

// Referred is what the references of a term are taken from.
type Referred interface {
	Refer(t *route.Term) Datum
	Order() int64 // its place in an array
}

// Eval returns the value of a term.
func Eval(t *route.Term, from Referred) (Datum, string) {
	if t.Func == "" {
		return from.Refer(t), ""
	}
	if t.Func == "place" {
		return Datum{Kind: Number, Text: strconv.FormatInt(from.Order(), 10)}, ""
	}
	var room [2]Datum
	in := room[:0]
	for i := range t.Of {
		d, reason := Eval(&t.Of[i], from)
		if reason != "" {
			return Datum{}, reason
		}
		in = append(in, d)
	}
	return conversions[t.Func].to(t, in)
}
