package keyspace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxTTL bounds a TTL: a time.Duration holds about 292 years.
const MaxTTL = 290 * 365 * 24 * time.Hour

// LiveMax is the longest remaining TTL a live key may have: the upper bound and
// the jitter on top of it.
func (t TTL) LiveMax() time.Duration {
	return t.Max + time.Duration(float64(t.Max)*t.Jitter)
}

// String is the canonical text of the declaration, or the name it came by.
func (t TTL) String() string {
	if t.Name != "" {
		return t.Name + " (" + t.Text + ")"
	}
	return t.Text
}

// TTLError is a `ttl` that cannot be read.
type TTLError struct {
	Offset  int // byte offset in the text
	Message string
	Fix     string
}

func (e *TTLError) Error() string { return e.Message }

// ParseTTL reads the text of a TTL: `30s`, `15m in 1m..24h`, `10m ~10%`,
// `30m sliding`, `none`, `any`. Names of `ttls` are resolved by the loader. The
// error is a *TTLError.
func ParseTTL(text string) (TTL, error) {
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return TTL{}, &TTLError{0, "the ttl is empty", "write a duration like 30s, or none, or any"}
	case text == "none":
		return TTL{Policy: TTLNone, Text: "none"}, nil
	case text == "any":
		return TTL{Policy: TTLAny, Text: "any"}, nil
	}
	offset := func(i int) int { return strings.Index(text, words[i]) }
	t := TTL{Policy: TTLExpires}
	var err error
	if t.Default, err = ParseDuration(words[0]); err != nil {
		return TTL{}, &TTLError{offset(0), err.Error(), durationFix(words[0])}
	}
	t.Min, t.Max = t.Default, t.Default
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "sliding":
			t.Sliding = true
		case w == "in" && i+1 < len(words):
			i++
			if err := t.bounds(words[i]); err != nil {
				return TTL{}, &TTLError{offset(i), err.Error(), "as in 15m in 1m..24h"}
			}
		case strings.HasPrefix(w, "~"):
			percent, err := strconv.ParseFloat(strings.TrimSuffix(w[1:], "%"), 64)
			if err != nil || !strings.HasSuffix(w, "%") || percent <= 0 || percent > 50 {
				return TTL{}, &TTLError{offset(i), fmt.Sprintf("%q is not a jitter of above 0%% and at most 50%%", w), "as in 10m ~10%"}
			}
			t.Jitter = percent / 100
		default:
			return TTL{}, &TTLError{offset(i), fmt.Sprintf("%q is not expected in a ttl", w), "after the duration come `in 1m..24h`, `~10%` or `sliding`"}
		}
	}
	t.Text = t.canonical()
	return t, nil
}

func (t *TTL) bounds(text string) error {
	lo, hi, ok := strings.Cut(text, "..")
	if !ok {
		return fmt.Errorf("%q is not a range of durations", text)
	}
	var err error
	if t.Min, err = ParseDuration(lo); err != nil {
		return err
	}
	if t.Max, err = ParseDuration(hi); err != nil {
		return err
	}
	switch {
	case t.Min > t.Max:
		return fmt.Errorf("the range %s is empty: its start is above its end", text)
	case t.Default < t.Min || t.Default > t.Max:
		return fmt.Errorf("the default %s is outside of %s", FormatDuration(t.Default), text)
	}
	return nil
}

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

// units are the units of durations, longest first: each a whole number of the
// next.
var units = []struct {
	name string
	size time.Duration
}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

// ParseDuration reads a duration of whole numbers with units ms, s, m, h, d, w:
// `30s`, `1h30m`, `7d`. It is positive and at most MaxTTL.
func ParseDuration(text string) (time.Duration, error) {
	var total time.Duration
	rest := text
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		letters := len(rest[digits:]) - len(strings.TrimLeft(rest[digits:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		unit := unitSize(rest[digits : digits+letters])
		if err != nil || unit == 0 {
			return 0, fmt.Errorf("%q is not a duration: whole numbers with the units ms, s, m, h, d, w", text)
		}
		if n > int64(MaxTTL/unit) || total+time.Duration(n)*unit > MaxTTL {
			return 0, fmt.Errorf("%q is longer than 290 years", text)
		}
		total += time.Duration(n) * unit
		rest = rest[digits+letters:]
	}
	if total <= 0 {
		return 0, fmt.Errorf("%q is no time at all", text)
	}
	return total, nil
}

func unitSize(name string) time.Duration {
	for _, u := range units {
		if u.name == name {
			return u.size
		}
	}
	return 0
}

func durationFix(text string) string {
	if _, err := strconv.Atoi(text); err == nil && text != "0" && text[0] != '-' {
		return fmt.Sprintf("add a unit: %ss?", text)
	}
	return "write a duration like 30s, 15m, 24h or 7d, or none, or any, or a name from ttls"
}

// FormatDuration is the shortest text that ParseDuration reads back: "90m" for
// an hour and a half, "7d" for a week.
func FormatDuration(d time.Duration) string {
	for _, u := range units {
		if u.name != "w" && d >= u.size && d%u.size == 0 {
			return strconv.FormatInt(int64(d/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}
