package keyspace

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

func TestParseTTL(t *testing.T) {
	for text, want := range map[string]TTL{
		"none":  {Policy: TTLNone, Text: "none"},
		"any":   {Policy: TTLAny, Text: "any"},
		"30s":   {Policy: TTLExpires, Default: 30 * time.Second, Text: "30s"},
		"250ms": {Policy: TTLExpires, Default: 250 * time.Millisecond, Text: "250ms"},
		"2w":    {Policy: TTLExpires, Default: 14 * 24 * time.Hour, Text: "14d"},
		"90m":   {Policy: TTLExpires, Default: 90 * time.Minute, Text: "90m"},
		"1h30m": {Policy: TTLExpires, Default: 90 * time.Minute, Text: "90m"},
		"60m":   {Policy: TTLExpires, Default: time.Hour, Text: "1h"},
		"15m in 1m..24h": {Policy: TTLExpires, Default: 15 * time.Minute, Min: time.Minute, Max: 24 * time.Hour,
			Text: "15m in 1m..1d"},
		"10m ~10%":     {Policy: TTLExpires, Default: 10 * time.Minute, Jitter: 0.1, Text: "10m ~10%"},
		"10m ~2.5%":    {Policy: TTLExpires, Default: 10 * time.Minute, Jitter: 0.025, Text: "10m ~2.5%"},
		"10m ~0.0001%": {Policy: TTLExpires, Default: 10 * time.Minute, Jitter: 0.000001, Text: "10m ~0.0001%"},
		"10m ~50%":     {Policy: TTLExpires, Default: 10 * time.Minute, Jitter: 0.5, Text: "10m ~50%"},
		"30m sliding":  {Policy: TTLExpires, Default: 30 * time.Minute, Sliding: true, Text: "30m sliding"},
		"30m  sliding ~5%": {Policy: TTLExpires, Default: 30 * time.Minute, Sliding: true, Jitter: 0.05,
			Text: "30m ~5% sliding"},
		"30m ~5% in 1m..1h": {Policy: TTLExpires, Default: 30 * time.Minute, Min: time.Minute, Max: time.Hour,
			Jitter: 0.05, Text: "30m in 1m..1h ~5%"},
		"30m sliding in 30m..30m": {Policy: TTLExpires, Default: 30 * time.Minute, Sliding: true, Text: "30m sliding"},
	} {
		if want.Min == 0 {
			want.Min, want.Max = want.Default, want.Default
		}
		if got, err := ParseTTL(text); err != nil || got != want {
			t.Errorf("ParseTTL(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestParseTTLRefuses(t *testing.T) {
	for text, want := range map[string]TTLError{
		"":                       {0, 0, "the ttl is empty", ""},
		"  ":                     {0, 0, "the ttl is empty", ""},
		"s":                      {0, 1, `"s" is not a duration`, ""},
		"5m 5m":                  {3, 2, `"5m" is not expected in a ttl`, ""},
		"30 s":                   {0, 2, `"30" has no unit`, ""},
		"1h1h":                   {0, 4, `"1h1h" has its units out of order`, ""},
		"1m1h":                   {0, 4, `"1m1h" has its units out of order`, ""},
		"10m ~NaN%":              {4, 5, `"~NaN%" is not a jitter of above 0% and at most 50%`, ""},
		"10m ~1e1%":              {4, 5, `"~1e1%" is not a jitter of above 0% and at most 50%`, ""},
		"10m ~0%":                {4, 3, `"~0%" is not a jitter of above 0% and at most 50%`, ""},
		"10m ~0.00009%":          {4, 9, `"~0.00009%" is not a jitter of above 0% and at most 50%`, ""},
		"10m ~50.00001%":         {4, 10, `"~50.00001%" is not a jitter of above 0% and at most 50%`, ""},
		"10m ~":                  {4, 1, `"~" is not a jitter of above 0% and at most 50%`, ""},
		"10m s":                  {4, 1, "a unit without a number", ""},
		"10m in 1m..5x":          {11, 2, `"5x" has no unit "x"`, ""},
		"10m in 0s..5h":          {7, 2, `"0s" is no time at all`, ""},
		"290y":                   {0, 4, `"290y" has no unit "y"`, ""},
		"106000d":                {0, 7, `"106000d" is longer than 290 years`, ""},
		"105850d2400000h":        {0, 15, `"105850d2400000h" is longer than 290 years`, ""},
		"1m in 1m..2m ~5":        {13, 2, `"~5" is not a jitter of above 0% and at most 50%`, ""},
		"1m in 1m..2m in":        {13, 2, "a range of durations is missing after in", ""},
		"1m ~1% ~2%":             {7, 3, `"~2%" is there twice`, ""},
		"１h":                     {0, 4, `"１h" is not a duration`, ""},
		"1m\u00a0sliding":        {0, 11, `"1m\u00a0sliding" has no unit "m\u00a0sliding"`, ""},
		"2m in 1m..3m in 1m..4m": {13, 2, `"in" is there twice`, ""},
	} {
		got, err := ParseTTL(text)
		var fault *TTLError
		if !errors.As(err, &fault) || fault.Offset != want.Offset || fault.Length != want.Length ||
			fault.Message != want.Message || fault.Fix == "" {
			t.Errorf("ParseTTL(%q) = %+v, %+v", text, got, fault)
		}
	}
}

// A duration is printed as the text that means exactly it.
func TestDurationsReadBack(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, int64(MaxTTL/time.Millisecond)).Draw(t, "ms")) * time.Millisecond
		if got, err := ParseDuration(FormatDuration(d)); err != nil || got != d {
			t.Fatalf("%d → %s → %d, %v", d, FormatDuration(d), got, err)
		}
	})
}

// The canonical text means the same as what was written.
func TestTTLsReadBack(t *testing.T) {
	duration := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(1, 1<<40).Draw(t, "ms")) * time.Millisecond
	})
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		want := TTL{Policy: TTLExpires, Default: duration.Draw(t, "default"), Sliding: rapid.Bool().Draw(t, "sliding")}
		want.Min, want.Max = min(want.Default, duration.Draw(t, "min")), max(want.Default, duration.Draw(t, "max"))
		want.Jitter = float64(rapid.IntRange(0, 500).Draw(t, "jitter")) / 1000
		want.Text = want.canonical()
		got, err := ParseTTL(want.Text)
		if err != nil || math.Abs(got.Jitter-want.Jitter) > 1e-9 {
			t.Fatalf("%q: %+v, %v", want.Text, got, err)
		}
		if got.Jitter = want.Jitter; got != want {
			t.Fatalf("%+v became %+v", want, got)
		}
	})
}

func TestLiveMax(t *testing.T) {
	long := TTL{Policy: TTLExpires, Max: MaxTTL, Jitter: 0.5}
	if got := long.LiveMax(); got < MaxTTL {
		t.Errorf("290 years and a half more are %v", got)
	}
	if got := (TTL{Max: 10 * time.Minute, Jitter: 0.1}).LiveMax(); got != 11*time.Minute {
		t.Errorf("10m ~10%% lives %v at most", got)
	}
}

func FuzzParseTTL(f *testing.F) {
	for _, seed := range []string{"30s", "15m in 1m..24h", "10m ~10%", "30m sliding", "none",
		"1h30m ~2.5% in 1s..2w sliding", "1m ~0.00001%", "1m ~33.33333%", "~%", "in", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ttl, err := ParseTTL(text)
		var fault *TTLError
		switch {
		case err == nil:
			if again, err := ParseTTL(ttl.Text); err != nil || again.Text != ttl.Text {
				t.Fatalf("%q → %q → %q, %v", text, ttl.Text, again.Text, err)
			}
		case !errors.As(err, &fault), fault.Offset+fault.Length > len(text), fault.Message == "", fault.Fix == "":
			t.Fatalf("%q: %+v", text, fault)
		}
	})
}

// TestTTLFixes: a ttl that is almost one is said as it was meant, another one what may be written there.
func TestTTLFixes(t *testing.T) {
	const units, after = "the units are ms, s, m, h, d, w", "after the duration come `in 1m..24h`, `~10%` or `sliding`"
	for text, want := range map[string]string{
		"30 s": "did you mean 30s?", "5 minutes": "did you mean 5m?", "5minutes": "did you mean 5m?",
		"5min": "did you mean 5m?", "5Min": "did you mean 5m?", "5H": "did you mean 5h?", "1DAY": "did you mean 1d?",
		"1m..5m": "did you mean 1m in 1m..5m?", "5m..1m": "did you mean 1m in 1m..5m?",
		"1m..1m": "did you mean 1m in 1m..1m?", "1m..5x": units, "1m.. 5m": units,
		"x..5m": "write a duration like 30s, 15m, 24h or 7d", "30": "30s for seconds? 30ms for milliseconds?",
		"30 s sliding": "30s for seconds? 30ms for milliseconds?", "5 5m": "5s for seconds? 5ms for milliseconds?",
		"1h 30m": after, "5m 3": after, "10m s": "write number and unit without a space, as in 30s",
		"5 Min": "did you mean 5m?", "2 Days": "did you mean 2d?",
		"1 month": "a month has no fixed length; write 30d", "2 years": "write 730d", "3y": "write 1095d",
		"2mo": "a month has no fixed length; write 60d",
		"5 D": "did you mean 5d?", "5 M": "write m for minutes, 30d for a month",
		"31536000000":          "31536000000ms for milliseconds?",
		"99999999999999999999": "write none for a key that must never expire",
		"15m in 24h..30m":      "30m..24h, with a default in between?",
		"3 blue moons":         "3s for seconds? 3ms for milliseconds?",
		"10s s":                "write number and unit without a space, as in 30s",
		"s m":                  "write a duration like 30s, 15m, 24h or 7d",
		"999999999999 weeks":   "999999999999ms for milliseconds?",
		"0 s":                  "write a duration like 30s, or none for a key that must never expire",
		"-5m":                  "write a duration like 30s", "1y": "write 365d", "3mo": "a month has no fixed length; write 90d",
		"7us": "Redis counts in milliseconds: 1ms is the least", "106000d": "write none for a key that must never expire",
		"1.5h":   "use a smaller unit, as in 90m for one hour and a half",
		"1h1h":   "write the larger unit first, each once, as in 1h30m",
		"10m in": "as in 15m in 1m..24h", "10m in 5m": "as in 15m in 1m..24h", "10m in ..5m": "as in 15m in 1m..24h",
		"10m in 5m..": "as in 15m in 1m..24h", "10m in 5m..1m": "1m..5m, with a default in between?", "3m in 5m..1m": "1m..5m?",
		"10m in 1m..2m": "widen the range, or move the default", "10m ~60%": "as in 10m ~10%",
		"10m sliding sliding": "remove one of them", "none sliding": "write a duration like 30s, 15m, 24h or 7d",
		"": "write a duration like 30s, or none, or any",
	} {
		_, err := ParseTTL(text)
		var fault *TTLError
		if !errors.As(err, &fault) || fault.Fix != want {
			t.Errorf("%q: %#v, not %q", text, fault, want)
		}
	}
	if d, err := ParseDuration("5 m"); d != 0 || err == nil || err.Error() != `"5 m" has no unit " m"` {
		t.Errorf("%v, %v", d, err)
	}
}
