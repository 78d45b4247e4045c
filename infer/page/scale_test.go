package page_test

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/infer/page"
)

// A bare number counts in the unit of its title. Where that is not certain it is passed
// over, with its line.
func TestUnitsOfTitles(t *testing.T) {
	for _, c := range []struct{ title, number, want string }{
		{"TTL", "3600", "1h"}, {"TTL (s)", "3600", "1h"}, {"TTL (sec.)", "90", "90s"}, {"TTL in seconds", "120", "2m"},
		{"Default TTL", "60", "1m"},
		{"TTL (min)", "30", "30m"}, {"TTL [min]", "1.5", "90s"}, {"TTL (mins)", "5", "5m"}, {"TTL (m)", "5", "5m"},
		{"TTL in minutes", "5", "5m"},
		{"Expiry [days]", "7", "7d"}, {"Retention days", "7", "7d"}, {"Expires after (h)", "12", "12h"},
		{"TTL, hours", "2", "2h"},
		{"ttl_ms", "60000", "1m"}, {"TTL (ms)", "60,000", "1m"}, {"ttlMinutes", "15", "15m"},
		{"Lifetime (weeks)", "2", "14d"},
		{"TTL (seconds, 0 = none)", "60", "1m"}, {"TTL (min)", "60 * 24", "1d"}, {"TTL (min)", "10 s", "10s"},
		{"TTL (min)", "none", "none"},
		{"有効期限(秒)", "600", "10m"}, {"有効期限（分）", "30", "30m"}, {"有効期限（単位：時間）", "2", "2h"}, {"保持期間(日)", "7", "7d"},
		{"保持日数", "7", "7d"},
		{"过期时间（小时）", "2", "2h"}, {"过期秒数", "60", "1m"}, {"过期时间(天)", "3", "3d"}, {"过期时间", "60", "1m"}, {"만료 시간(분)", "5", "5m"},
		{"만료 시간", "60", "1m"}, {"만료(시간)", "2", "2h"}, {"유효 기간 (일)", "7", "7d"},
		{"Ablauf (Std.)", "12", "12h"}, {"Lebensdauer in Tagen", "7", "7d"}, {"Gültigkeit (Sek.)", "90", "90s"},
		{"Ablauf (Std.)", "1,5", "90m"},
		{"Expiración (horas)", "2", "2h"}, {"Caducidad en días", "3", "3d"}, {"Durée (jours)", "3", "3d"},
		{"Expiration (en minutes)", "10", "10m"},
		{"Validade em dias", "3", "3d"}, {"Срок хранения, дней", "3", "3d"}, {"Срок (мин)", "3", "3m"},
		{"Scadenza (ore)", "3", "3h"},
		// What may be something else.
		{"TTL (fortnights)", "2", ""}, {"TTL (M)", "2", ""}, {"TTL (default)", "30", ""}, {"TTL (s/ms)", "30", ""},
		{"TTL (seconds, or ms)", "30", ""},
		{"TTL min", "30", ""}, {"ttl_min", "30", ""}, {"Std TTL", "30", ""}, {"ms TTL", "30", ""},
		{"Expires at", "1700000000", ""}, {"Expiry date", "20261231", ""},
		{"Expiry day", "15", ""}, {"TTL (min)", "1,500", ""}, {"TTL (h)", "1.000", ""}, {"TTL (h)", "5-10", "10h"},
		{"有効期限日", "15", ""}, {"TTL (s)", "1,5", ""},
	} {
		want := c.want
		if strings.Contains(c.number, "-") {
			want = "" // a range is no number
		}
		forms := map[string]string{
			"table": "| key | " + c.title + " |\n|---|---|\n| `user:{id}:x` | " + c.number + " |\n| `user:{id}:y` | " +
				c.number + " |\n",
			"upright": "| Key | `user:{id}:x` |\n|---|---|\n| Type | string |\n| " + c.title + " | " + c.number + " |\n",
		}
		for name, text := range forms {
			read := page.Read([]byte("# Redis\n\n" + text))
			if len(read.Keys) == 0 || read.Keys[0].TTL != want {
				t.Errorf("%s %s | %s: %+v, want %q", name, c.title, c.number, read.Keys, want)
			}
			told := false
			for _, p := range read.Passed {
				told = told || p.Line == 5 && strings.Contains(p.Text, c.number) && strings.Contains(p.Why, "certain")
			}
			if digits := strings.Trim(c.number, "0123456789.,") == ""; name == "table" && want == "" && digits && !told {
				t.Errorf("%s | %s: nothing is passed over: %+v", c.title, c.number, read.Passed)
			}
		}
	}
	// The least beside the most is no number of minutes.
	read := page.Read([]byte("| key | TTL (min) | TTL (max) |\n|---|---|---|\n| `user:{id}:x` | 30 | 60 |\n"))
	if len(read.Keys) != 1 || read.Keys[0].TTL != "" || len(read.Passed) == 0 {
		t.Errorf("%+v", read)
	}
	for text, want := range map[string]string{
		"- `user:{id}:x`\n  - TTL (min): 30\n": "30m", "- `user:{id}:x`\n  - TTL: 30\n": "30s",
		"- `user:{id}:x`\n  - 有効期限（日）: 7\n":                             "7d",
		"- `user:{id}:x`\n  - TTL (fortnights): 30\n":                   "",
		"```python\ncache.set(f'user:{id}:x', v, ttl_minutes=5)\n```\n": "5m",
		"```python\ncache.set(f'user:{id}:x', v, ttl=5)\n```\n":         "5s",
	} {
		read := page.Read([]byte(text))
		if len(read.Keys) != 1 || read.Keys[0].TTL != want {
			t.Errorf("%s: %+v, want %q", text, read.Keys, want)
		}
	}
}
