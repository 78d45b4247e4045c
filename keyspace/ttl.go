package keyspace

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Policy describes what a TTL declaration demands of a live key.
type Policy uint8

// The policies.
const (
	TTLAny     Policy = iota // undecided on purpose: anything goes
	TTLNone                  // must never expire
	TTLExpires               // must expire, within Max
)

// TTL represents a resolved `ttl`. For TTLExpires, Default is written when the writer
// asks for nothing; Min and Max bound what a writer may ask for (equal to
// Default without `in`). A live key's remaining TTL may be at most LiveMax.
type TTL struct {
	Policy  Policy
	Default time.Duration
	Min     time.Duration
	Max     time.Duration
	Jitter  float64 // 0.10 for `~10%`; widens what is written on both sides
	Sliding bool    // renewed on use
	Name    string  // of `ttls`, "" if written in place
	Text    string  // canonical text without the name, "15m in 1m..24h"
	Pos     Pos
}

// MaxTTL bounds a TTL: a time.Duration holds about 292 years.
const MaxTTL = 290 * 365 * 24 * time.Hour

// LiveMax returns the longest remaining TTL a live key may have: the upper bound and
// the jitter on top of it.
func (t TTL) LiveMax() time.Duration {
	extra := time.Duration(float64(t.Max) * t.Jitter)
	if extra > math.MaxInt64-t.Max {
		return math.MaxInt64
	}
	return t.Max + extra
}

// String returns the canonical text of the declaration, or the name it came by.
func (t TTL) String() string {
	if t.Name != "" {
		return t.Name + " (" + t.Text + ")"
	}
	return t.Text
}

// TTLError represents a `ttl` or a duration that cannot be read.
type TTLError struct {
	Offset, Length int // the faulty bytes of the text
	Message        string
	Fix            string
}

func (e *TTLError) Error() string { return e.Message }

// ttlToken represents one word of a `ttl`, with its place in the text.
type ttlToken struct {
	text string
	at   int
}

func (w ttlToken) fault(fix, format string, args ...any) *TTLError {
	return &TTLError{w.at, len(w.text), fmt.Sprintf(format, args...), fix}
}

func split(text string) []ttlToken {
	var words []ttlToken
	for at := 0; at < len(text); {
		next := strings.TrimLeft(text[at:], " \t\n")
		at = len(text) - len(next)
		end := strings.IndexAny(next+" ", " \t\n")
		if end > 0 {
			words = append(words, ttlToken{next[:end], at})
		}
		at += end + 1
	}
	return words
}

// ParseTTL reads the text of a TTL: `30s`, `15m in 1m..24h`, `10m ~10%`,
// `30m sliding`, `none`, `any`. Names of `ttls` are resolved by the loader. The
// error is a *TTLError.
func ParseTTL(text string) (TTL, error) {
	words := split(text)
	switch {
	case len(words) == 0:
		return TTL{}, &TTLError{0, 0, "the ttl is empty", "write a duration like 30s, or none, or any"}
	case text == "none":
		return TTL{Policy: TTLNone, Text: "none"}, nil
	case text == "any":
		return TTL{Policy: TTLAny, Text: "any"}, nil
	}
	t := TTL{Policy: TTLExpires}
	d, fault := duration(words[0])
	t.Default, t.Min, t.Max = d, d, d
	for rest := words[1:]; fault == nil && len(rest) > 0; {
		rest, fault = t.modify(rest)
	}
	if fault != nil {
		fault.Fix = cmp.Or(meantTTL(words), fault.Fix)
		return TTL{}, fault
	}
	t.Text = t.canonical()
	return t, nil
}

// modify reads one of `in 1m..24h`, `~10%` and `sliding`, each at most once.
func (t *TTL) modify(words []ttlToken) ([]ttlToken, *TTLError) {
	w := words[0]
	twice := false
	switch {
	case w.text == "sliding":
		twice, t.Sliding = t.Sliding, true
	case w.text == "in" && len(words) == 1:
		return nil, w.fault("as in 15m in 1m..24h", "a range of durations is missing after in")
	case w.text == "in":
		twice = t.Min != t.Default || t.Max != t.Default
		if fault := t.bounds(words[1]); fault != nil {
			return nil, fault
		}
		words = words[1:]
	case w.text[0] == '~':
		twice = t.Jitter > 0
		if fault := t.jitter(w); fault != nil {
			return nil, fault
		}
	case unitSize(w.text) > 0:
		return nil, w.fault("write number and unit without a space, as in 30"+w.text, "a unit without a number")
	default:
		return nil, w.fault("after the duration come `in 1m..24h`, `~10%` or `sliding`", "%q is not expected in a ttl",
			w.text)
	}
	if twice {
		return nil, w.fault("remove one of them", "%q is there twice", w.text)
	}
	return words[1:], nil
}

func (t *TTL) bounds(w ttlToken) *TTLError {
	lo, hi, ok := strings.Cut(w.text, "..")
	if !ok || lo == "" || hi == "" {
		return w.fault("as in 15m in 1m..24h", "%q is not a range of durations", w.text)
	}
	var fault *TTLError
	if t.Min, fault = duration(ttlToken{lo, w.at}); fault != nil {
		return fault
	}
	if t.Max, fault = duration(ttlToken{hi, w.at + len(lo) + len("..")}); fault != nil {
		return fault
	}
	switch {
	case t.Min > t.Max:
		fix := fmt.Sprintf("%s..%s?", hi, lo)
		if t.Default < t.Max || t.Default > t.Min {
			fix = fmt.Sprintf("%s..%s, with a default in between?", hi, lo)
		}
		return w.fault(fix, "the range %s is empty: its start is above its end", w.text)
	case t.Default < t.Min || t.Default > t.Max:
		return w.fault("widen the range, or move the default", "the default %s is outside of %s", FormatDuration(t.Default),
			w.text)
	}
	return nil
}

func (t *TTL) jitter(w ttlToken) *TTLError {
	digits, ok := strings.CutSuffix(w.text[1:], "%")
	percent, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || strings.Trim(digits, "0123456789.") != "" || percent < leastJitter || percent > 50 {
		return w.fault("as in 10m ~10%", "%q is not a jitter of above 0%% and at most 50%%", w.text)
	}
	t.Jitter = percent / 100
	return nil
}

// leastJitter says how many percent the least jitter is that the canonical text can say.
const leastJitter = 0.0001

func (t TTL) canonical() string {
	text := FormatDuration(t.Default)
	if t.Min != t.Default || t.Max != t.Default {
		text += " in " + FormatDuration(t.Min) + ".." + FormatDuration(t.Max)
	}
	if t.Jitter > 0 {
		text += " ~" + strconv.FormatFloat(math.Round(t.Jitter*1e6)/1e4, 'f', -1, 64) + "%"
	}
	if t.Sliding {
		text += " sliding"
	}
	return text
}

// units lists the units of durations, longest first: each a whole number of the
// next.
var units = []struct {
	name string
	size time.Duration
}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second},
	{"ms", time.Millisecond}}

// strangers are units people write that are none, and what to write instead.
var strangers = map[string]string{
	"M":  "write m for minutes, 30d for a month",
	"ns": "Redis counts in milliseconds: 1ms is the least", "us": "Redis counts in milliseconds: 1ms is the least",
	"sec": "write s", "min": "write m", "hr": "write h", "day": "write d", "days": "write d", "week": "write w",
}

// ParseDuration reads a duration of whole numbers with units ms, s, m, h, d, w,
// the larger unit first: `30s`, `1h30m`, `7d`. It is positive and at most
// MaxTTL. The error is a *TTLError.
func ParseDuration(text string) (time.Duration, error) {
	d, fault := duration(ttlToken{text, 0})
	if fault != nil {
		return 0, fault
	}
	return d, nil
}

func duration(w ttlToken) (time.Duration, *TTLError) {
	var total time.Duration
	last := MaxTTL
	for rest := w.text; rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		after := strings.IndexAny(rest[digits:]+"0", "0123456789")
		unit := rest[digits : digits+after]
		size := unitSize(unit)
		switch {
		case rest[0] == '-' && digits == 0:
			return 0, w.fault("write a duration like 30s", "%q is negative", w.text)
		case digits == 0:
			return 0, w.fault("write a duration like 30s, 15m, 24h or 7d", "%q is not a duration", w.text)
		case strings.Trim(w.text, "0") == "":
			return 0, w.fault("write a duration like 30s, or none for a key that must never expire", "%q is no time at all",
				w.text)
		case unit == "":
			return 0, w.fault(withUnit(w.text), "%q has no unit", w.text)
		case unit == "." || unit == ",":
			return 0, w.fault("use a smaller unit, as in 90m for one hour and a half", "%q is not a whole number of a unit",
				w.text)
		case size == 0:
			return 0, w.fault(cmp.Or(ofDays(rest[:digits], unit), strangers[unit], "the units are ms, s, m, h, d, w"),
				"%q has no unit %q", w.text, unit)
		case size >= last:
			return 0, w.fault("write the larger unit first, each once, as in 1h30m", "%q has its units out of order", w.text)
		}
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil || n > int64((MaxTTL-total)/size) {
			return 0, w.fault("write none for a key that must never expire", "%q is longer than 290 years", w.text)
		}
		total, last, rest = total+time.Duration(n)*size, size, rest[digits+after:]
	}
	if total <= 0 {
		return 0, w.fault("write a duration like 30s, or none for a key that must never expire", "%q is no time at all",
			w.text)
	}
	return total, nil
}

// ofDays returns what to write for months and years, which are no units.
func ofDays(digits, unit string) string {
	n, err := strconv.ParseInt(digits, 10, 32)
	days := map[string]int64{"mo": 30, "month": 30, "months": 30, "y": 365, "year": 365, "years": 365}[unit] * n
	switch {
	case err != nil || days == 0:
		return ""
	case days > int64(MaxTTL/(24*time.Hour)):
		return "write none for a key that must never expire"
	case strings.HasPrefix(unit, "m"):
		return fmt.Sprintf("a month has no fixed length; write %dd", days)
	}
	return fmt.Sprintf("write %dd", days)
}

// withUnit proposes units for a number without one, as long as it is a TTL with them.
func withUnit(digits string) string {
	var out []string
	for _, u := range []string{"s for seconds?", "ms for milliseconds?"} {
		unit, _, _ := strings.Cut(u, " ")
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n <= int64(MaxTTL/unitSize(unit)) {
			out = append(out, digits+u)
		}
	}
	return cmp.Or(strings.Join(out, " "), "write none for a key that must never expire")
}

func unitSize(name string) time.Duration {
	for _, u := range units {
		if u.name == name {
			return u.size
		}
	}
	return 0
}

// FormatDuration returns the shortest text that ParseDuration reads back: "90m" for
// an hour and a half, "7d" for a week.
func FormatDuration(d time.Duration) string {
	for _, u := range units {
		if u.name != "w" && d >= u.size && d%u.size == 0 {
			return strconv.FormatInt(int64(d/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}

// longUnits are units as words.
var longUnits = map[string]string{
	"second": "s", "seconds": "s", "sec": "s", "secs": "s", "minute": "m", "minutes": "m", "min": "m", "mins": "m",
	"hour": "h", "hours": "h", "hr": "h",
	"hrs": "h", "day": "d", "days": "d", "week": "w", "weeks": "w", "milliseconds": "ms", "H": "h", "S": "s", "D": "d",
	"W": "w",
}

// meant proposes what was meant to be written.
func meant(text string) string { return fmt.Sprintf("did you mean %s?", text) }

// meantTTL proposes what a ttl was meant as that is a number and a unit in words, or a
// range alone.
func meantTTL(words []ttlToken) string {
	text := words[0].text
	if len(words) > 1 {
		unit := words[1].text
		switch long := strings.ToLower(unit); {
		case len(words) > 2 || strings.Trim(text, "0123456789") != "":
			return ""
		case longUnits[long] != "" || longUnits[unit] != "" || unitSize(unit) > 0:
			text += unit
		default:
			return cmp.Or(ofDays(text, long), strangers[unit], strangers[long])
		}
	}
	if lo, hi, ok := strings.Cut(text, ".."); ok && len(words) == 1 {
		if a, fault := duration(ttlToken{lo, 0}); fault == nil {
			if b, fault := duration(ttlToken{hi, 0}); fault == nil {
				lo, hi := min(a, b), max(a, b)
				return meant(FormatDuration(lo) + " in " + FormatDuration(lo) + ".." + FormatDuration(hi))
			}
		}
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	unit := text[digits:]
	if long := longUnits[unit]; long != "" {
		unit = long
	} else if long := longUnits[strings.ToLower(unit)]; long != "" {
		unit = long
	}
	if digits == 0 || unitSize(unit) == 0 || unit == text[digits:] && len(words) == 1 {
		return ""
	}
	if _, fault := duration(ttlToken{text[:digits] + unit, 0}); fault != nil {
		return ""
	}
	return meant(text[:digits] + unit)
}
