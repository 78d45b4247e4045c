package wording_test

import (
	"testing"
	"time"

	"github.com/keywright/keywright/infer/page/internal/wording"
)

// TestUnitWord: a text that is a unit and nothing else. A capital M may be months.
func TestUnitWord(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "M": 0, "x": 0, "ms": time.Millisecond, "MS": time.Millisecond, "s": time.Second, " s ": time.Second,
		"sek": time.Second, "Sek.": time.Second, "min": time.Minute, "min.": time.Minute, "m": time.Minute,
		"hours": time.Hour,
		"Std.":  time.Hour, "Stdn.": time.Hour, "h..": 0, "tg": 24 * time.Hour, "días": 24 * time.Hour,
		"wk":     7 * 24 * time.Hour,
		"months": 30 * 24 * time.Hour, "years": 365 * 24 * time.Hour, "an": 0, "minutt": 0, "5 min": 0, "s s": 0,
		"min2": 0,
		"秒":    time.Second, "分钟": time.Minute, "小时": time.Hour, "個小時": time.Hour, "週間": 7 * 24 * time.Hour,
		"분":  time.Minute,
		"秒秒": 0, "секунды": time.Second, "fortnight": 0, "\xff": 0,
	} {
		if got := wording.UnitWord(text); got != want {
			t.Errorf("%q: %v, and not %v", text, got, want)
		}
	}
}

// TestScaleOf: the unit in a title counts, seconds where there is none; a title that names two, a moment, or a unit
// that is none has no scale.
func TestScaleOf(t *testing.T) {
	for _, c := range []struct {
		title string
		want  time.Duration
	}{
		{"", time.Second}, {"TTL", time.Second}, {"ttl_ms", time.Millisecond}, {"TTL (min)", time.Minute},
		{"TTL [h]", time.Hour},
		{"TTL (in hours)", time.Hour}, {"TTL (unit: days)", 24 * time.Hour}, {"TTL (seconds, 0 = none)", time.Second},
		{"TTL (a) (min)", time.Minute}, {"TTL (min) (a)", 0}, {"TTL (s/ms)", 0}, {"TTL (seconds, or ms)", 0},
		{"TTL ()", 0},
		{"TTL (M)", 0}, {"**TTL** (`min`)", time.Minute}, {"TTL min", 0}, {"Min TTL", 0}, {"TTL hours minutes", 0},
		{"TTL hours hours", time.Hour}, {"s TTL", 0}, {"TTL s", time.Second}, {"TTL days", 24 * time.Hour},
		{"Expires at", 0}, {"expires_at", 0}, {"expiresAt", 0}, {"expiry_date", 0}, {"Expires on", 0}, {"有効期限日", 0},
		{"日時", 0},
		{"expiration", time.Second}, {"what", time.Second},
		{"有効期限（分）", time.Minute}, {"过期秒数", time.Second}, {"过期毫秒", time.Millisecond}, {"过期分钟数", time.Minute},
		{"过期小时", time.Hour},
		{"保持日数", 24 * time.Hour}, {"保持週間", 7 * 24 * time.Hour}, {"만료 시간", time.Second}, {"만료(시간)", time.Hour},
		{"过期时间", time.Second}, {"TTL (单位：秒)", time.Second},
	} {
		if got := wording.ScaleOf(c.title, nil); got != wording.Scale(c.want) {
			t.Errorf("%q: %v, and not %v", c.title, time.Duration(got), c.want)
		}
	}
	others := []string{"Key", "TTL (max)"}
	if got := wording.ScaleOf("TTL (min)", others); got != 0 {
		t.Errorf("the least beside the most: %v", time.Duration(got))
	}
	if got := wording.ScaleOf("TTL (s)", others); got != wording.Scale(time.Second) || others[1] != "TTL (max)" {
		t.Errorf("seconds beside the most: %v", time.Duration(got))
	}
	if got := wording.ScaleOf("TTL (min)", []string{"climax"}); got != wording.Scale(time.Minute) {
		t.Errorf("beside a word that only has max in it: %v", time.Duration(got))
	}
}

// TestNumbersOfScales: a bare number counts units of its scale, also a product and one with a decimal mark; what is
// no number, too long, or may be another number is none.
func TestNumbersOfScales(t *testing.T) {
	for _, c := range []struct {
		unit       time.Duration
		text, want string
	}{
		{0, "5", ""}, {time.Millisecond, "5000", "5s"}, {time.Millisecond, "500", ""}, {time.Millisecond, "1500", ""},
		{time.Second, "90", "90s"}, {time.Second, "1,000", "1000s"}, {time.Second, "1,5", ""}, {time.Second, "1.5", ""},
		{time.Minute, "5", "5m"}, {time.Minute, "0", ""}, {time.Minute, "5 * 0", ""}, {time.Minute, "60*24", "1d"},
		{time.Minute, "1.5", "90s"}, {time.Minute, "1,5", "90s"}, {time.Minute, "2.3", "138s"},
		{time.Minute, "0.5", "30s"},
		{time.Minute, "0.01", ""}, {time.Minute, "1,500", ""}, {time.Minute, "1.500", ""}, {time.Minute, "x", ""},
		{time.Minute, "-5", ""}, {time.Hour, "1.1", "66m"}, {time.Hour, "999999", ""}, {time.Hour, "1000000 * 2", ""},
		{time.Hour, "1000 * 1001", ""}, {time.Hour, "876000", "36500d"}, {time.Hour, "876001", ""},
		{time.Hour, "876000.5", ""},
		{time.Hour, "99999999999999999999", ""}, {time.Hour, "99999999999999999999.5", ""},
		{7 * 24 * time.Hour, "2", "14d"}, {7 * 24 * time.Hour, "999999", ""},
		{365 * 24 * time.Hour, "100", "36500d"}, {365 * 24 * time.Hour, "600", ""}, // as nanoseconds it runs over
		{365 * 24 * time.Hour, "999999.5", ""},
	} {
		if got := wording.TTLIn(c.text, true, wording.Scale(c.unit)); got != c.want {
			t.Errorf("%s of %v: %q, and not %q", c.text, c.unit, got, c.want)
		}
	}
}
