package page_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/infer/page"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Pages in other styles and languages than each other, with what a reader would
// write down: PATTERN TYPE TTL, ? where the page does not say.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("testdata/*.md")
	if err != nil || len(pages) < 7 {
		t.Fatal(pages, err)
	}
	for _, path := range pages {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(path, ".md") + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, k := range page.Read(text).Keys {
				got.WriteString(k.Pattern + " " + cmp.Or(k.Type, "?") + " " + cmp.Or(k.TTL, "?") + "\n")
			}
			if d := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); d != "" {
				t.Errorf("want - got +\n%s", d)
			}
		})
	}
}

// A list item that begins with a key needs no backticks: the key is bold, or nothing marks it
// and the item tells its type or its TTL. What the item does not tell is listed.
func TestItemsWithoutCode(t *testing.T) {
	for _, c := range []struct{ text, want, passed string }{
		{"* **carrito:{usuario}** (hash) — caduca a los 7 días\n* __sesion:{id}__ (string) — TTL 30 min",
			"carrito:{usuario} hash 7d|sesion:{id} string 30m", ""},
		{"- cart:{user} (hash) expires after 7 days\n- *otp:{phone}*: string, TTL 5m",
			"cart:{user} hash 7d|otp:{phone} string 5m", ""},
		{"- `session:{id}` … 文字列、有効期限なし\n- `sms:{phone}`，String，5 分钟有效\n- `app:{id}`：Hash，无过期时间",
			"session:{id} string none|sms:{phone} string 5m|app:{id} hash none", ""},
		{"| キー | 有効期限 |\n|---|---|\n| `session:{id}` | 期限なし |\n| `otp:{id}` | 有効期限なし |",
			"session:{id} ? none|otp:{id} ? none", ""},
		{"1. cart:{user} - hash, TTL 7 days", "cart:{user} hash 7d", ""},
		{"- cart:{user} is where we keep it", "", "cart:{user}"},
		{"- Note: see {id} for a hash\n- http://host:80/{id} lists a hash\n- 10:{30} a list\n- see cart:item", "", ""},
		{"**cart:{user}** is a hash with a TTL of 7 days.", "cart:{user} hash 7d", ""},
		{"`foo:bar` is only an example.\n\n- `mail:{id}` (list), just an example", "", "foo:bar mail:{id}"},
		{"`foo:bar` es solo un ejemplo.\n\n`post:{nr}` ist nur ein Beispiel", "", "foo:bar post:{nr}"},
	} {
		p := page.Read([]byte(c.text))
		var got []string
		for _, k := range p.Keys {
			got = append(got, k.Pattern+" "+cmp.Or(k.Type, "?")+" "+cmp.Or(k.TTL, "?"))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%q: %q, not %q", c.text, got, c.want)
		}
		for _, word := range strings.Fields(c.passed) {
			if !strings.Contains(fmt.Sprint(p.Passed), word) {
				t.Errorf("%q: %s is not listed in %v", c.text, word, p.Passed)
			}
		}
	}
}

// A column of types is one in every language, by what is in it.
func TestTypesByContent(t *testing.T) {
	p := page.Read(
		[]byte("| Avain | Tyyppi | Kuvaus |\n|---|---|---|\n| `aine:{id}` | hash | yksi |\n| `jono:{id}` | Sorted Set | " +
			"kaksi |\n| `lista:{id}` | list | |\n"))
	for i, want := range []string{"hash", "zset", "list"} {
		if len(p.Keys) != 3 || p.Keys[i].Type != want {
			t.Fatalf("%+v", p.Keys)
		}
	}
}

// Every way to write a placeholder is one.
func TestPlaceholders(t *testing.T) {
	for written, want := range map[string]string{
		"user:{id}:cart": "user:{id}:cart", "user:${id}:cart": "user:{id}:cart", "user:${user.id}:cart": "user:{id}:cart",
		"user:#{id}:cart":  "user:{id}:cart",
		"user:{{id}}:cart": "user:{id}:cart", "user:<id>:cart": "user:{id}:cart",
		"user:<user id>:cart": "user:{user_id}:cart", "user:[id]:cart": "user:{id}:cart",
		"user:%s:cart": "user:{user_id}:cart", "user:%d:cart": "user:{user_id}:cart", "user:$id:cart": "user:{id}:cart",
		"user:1234:cart":    "user:{user_id}:cart",
		"user:USER_ID:cart": "user:{user_id}:cart", "user:7e7590d0-9e23-4763-b774-ee8514e10d0c:cart": "user:{user_id}:cart",
		"user:xxx:cart":      "user:{user_id}:cart",
		"user:{id:int}:cart": "user:{id}:cart", "users:{}:cart": "users:{user_id}:cart", "report:YYYY-MM-DD": "report:{day}",
		"report:2026-01-31": "report:{day}",
		"report:{YYYYMMDD}": "report:{day}", "用户:{编号}:cart": "用户:{id}:cart", "job-{id}": "job-{id}",
		"catalog/product/{id}": "catalog/product/{id}", "{jobs}:ready": "{jobs}:ready",
	} {
		keys := page.Read([]byte("| key | ttl |\n|---|---|\n| `" + written + "` | 1h |\n")).Keys
		if len(keys) != 1 || keys[0].Pattern != want || keys[0].TTL != "1h" {
			t.Errorf("%s: %+v, want %s", written, keys, want)
		}
	}
}

// Times as people of several languages write them.
func TestTTLs(t *testing.T) {
	for written, want := range map[string]string{
		"24h": "1d", "1 hour": "1h", "30分": "30m", "7日": "7d", "5분": "5m", "1일": "1d", "3 days": "3d", "3600": "1h",
		"600秒": "10m", "3초": "3s", "30天": "30d", "2小时": "2h", "10 Minuten": "10m",
		"1 semaine": "7d", "90 segundos": "90s", "2週間": "14d", "60 * 60 * 24": "1d", "86400 (1 day)": "1d", "15m": "15m",
		"none": "none", "なし": "none", "없음": "none", "永久": "none", "-": "none", "-1": "none",
		"never": "none", "keine": "none", "500 ms": "", "soon": "", "1 month": "30d", "1-24 hours": "1d", "なし（手動削除）": "none",
		"10 min (sliding)": "10m",
	} {
		keys := page.Read([]byte("| key | TTL |\n|---|---|\n| `user:{id}:x` | " + written + " |\n")).Keys
		if len(keys) != 1 || keys[0].TTL != want {
			t.Errorf("%q: %+v, want %q", written, keys, want)
		}
	}
}

// A long page of anything is read to its end: what would take more than a moment
// runs into the test's own limit.
func TestHostilePages(t *testing.T) {
	size := 1 << 14
	if gate.All() {
		size = 1 << 16
	}
	for name, piece := range map[string]string{
		"braces": "{", "backticks": "`", "bars": "|", "fences": "```\n", "headings": "#", "keys": "`a:{b}:c` ",
		"colons": "a:", "stars": "*", "rows": "| `k:{a}` | 1h |\n", "tags": "<td>", "quotes": `"a:" + b + `,
		"dashes": "-|-\n", "tables": "<table", "sentences": "`a:b` x. ", "spans": "`a:b:{c}` list. ", "struck": "~~a:b~~ ",
		"numerals": "one half an ",
		"times":    "after 5 min ", "remarks": "- `a:{b}:c` 5 min, 1h until then; ",
		"labels": "- a:{b}: hash\n  TTL: 5 min after x\n", "bare": "- a:{b}x hash, 1 h\n",
		"different": "",
	} {
		text := strings.Repeat(piece, size/max(len(piece), 1))
		if piece == "" {
			var b strings.Builder
			for i := range 40_000 {
				b.WriteString("- `app:" + strings.Repeat("x", i%50+2) + ":{id}:y" + strings.Repeat("z", i%777) + "`\n")
			}
			text = b.String()[:size]
		}
		if keys := page.Read([]byte(text)).Keys; len(keys) > 2000 {
			t.Errorf("%s: %d keys", name, len(keys))
		}
	}
}

// FuzzRead: no panic, and every pattern is one of the language.
func FuzzRead(f *testing.F) {
	pages, err := filepath.Glob("testdata/*.md")
	if err != nil || len(pages) == 0 {
		f.Fatal("no pages", err)
	}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, k := range page.Read(text).Keys {
			_, err := pattern.Parse(k.Pattern, func(name string) (scalar.Type, bool) {
				typ, err := scalar.Parse(k.Types[name], nil)
				return typ, err == nil && k.Types[name] != ""
			})
			if err != nil {
				t.Fatalf("%s: %v", k.Pattern, err)
			}
		}
	})
}

// What looks like a key and is none is reported with its line; an address is not
// written out, since a password may be in it.
func TestPassedOver(t *testing.T) {
	text := "# Keys\n\n- `feed:{user}` list\n- ~~`feed:old:{user}`~~\n- `feed:stories:{user}` (removed in 2.0)\n\nRun " +
		"`KEYS feed:*`; see `feed:tmp:*` at `redis://bob:secret@db:6379/0`, `exporter:9121`.\n\n## Proposed\n\n- " +
		"`reel:{user}`\n"
	read := page.Read([]byte(text))
	var got strings.Builder
	for _, p := range read.Passed {
		fmt.Fprintf(&got, "%d %s: %s\n", p.Line, p.Text, p.Why)
	}
	want := "4 ~~`feed:old:{user}`~~: it is struck out\n5 - `feed:stories:{user}` (removed in 2.0): the line says " +
		"removed\n7 exporter:9121: it is a host and a port\n7 feed:tmp:*: it is a glob\n7 redis://…: it is an address, a " +
		"version or a file\n9 Proposed: the section says Proposed\n"
	if d := gocmp.Diff(want, got.String()); d != "" || len(read.Keys) != 1 {
		t.Errorf("%v: want - got +\n%s", read.Keys, d)
	}
}

// TTLs that contradict each other are none, and the lines of both are reported.
func TestContradiction(t *testing.T) {
	read := page.Read([]byte("`rank:{day}:x` has a TTL of 1 hour.\n\nLater: `rank:{day}:x` has a TTL of 2 hours.\n"))
	if len(read.Keys) != 1 || read.Keys[0].TTL != "" ||
		read.Keys[0].Doubt != "the page gives several TTLs: 1h (line 1), 2h (line 3)" {
		t.Errorf("%+v", read.Keys)
	}
}

// Numbers in words are numbers where a unit of time follows.
func TestSpoken(t *testing.T) {
	for written, want := range map[string]string{
		"half an hour": "30m", "two weeks": "14d", "an hour": "1h", "a day": "1d", "thirty seconds": "30s",
		"one and a half hours": "90m", "anderthalb Stunden": "90m", "eine Woche": "7d", "eine halbe Stunde": "30m",
		"dos horas": "2h", "media hora": "30m", "una semana": "7d", "quince minutos": "15m", "deux jours": "2d", "하루": "1d",
		"한 시간": "1h", "일주일": "7d", "두 시간": "2h", "三十分钟": "30m", "半小时": "30m", "一周": "7d", "十五天": "15d",
		"两小时": "2h", "一日": "1d", "三か月": "90d", "二週間": "14d", "a moment": "", "one of the above": "", "an item a day": "1d",
	} {
		keys := page.Read([]byte("| key | TTL |\n|---|---|\n| `user:{id}:x` | " + written + " |\n")).Keys
		if len(keys) != 1 || keys[0].TTL != want {
			t.Errorf("%q: %+v, want %q", written, keys, want)
		}
	}
}

// Times of programs: products are read whole, and a number that something unknown is
// multiplied with, or added to, is no TTL.
func TestTimesOfPrograms(t *testing.T) {
	for args, want := range map[string]string{
		"1, 7*24*time.Hour)": "7d", "1, 24*7 * time.Hour)": "7d", "1, time.Hour*24)": "1d", "1, time.Minute)": "1m",
		"1, days*24*time.Hour)": "", "1, ttl*time.Second)": "", "1, time.Hour+jitter)": "",
		"1, time.Duration(n)*time.Minute)": "",
		"1, timedelta(days=3))":            "3d", "1, timedelta(hours=2*24))": "2d", "1, timedelta(days=1, hours=6))": "",
		"1, timedelta(days=2 * n))":  "",
		"v, Duration.ofDays(2 * 7))": "14d", "v, Duration.ofDays(2 * n))": "", "v, 60 * 15, TimeUnit.SECONDS)": "15m",
		"v, n * 15, TimeUnit.SECONDS)":   "",
		"v, TimeSpan.FromHours(2 * 24))": "2d", "v, ex=60 * 60)": "1h", "v, ex=60 * n)": "", "v, ex=60 + n)": "",
		"v, { EX: 3600 })":         "1h",
		"v, expires_in: 12.hours)": "12h", "v, n * 12.hours)": "", "v, Duration::from_secs(90))": "90s",
	} {
		keys := page.Read([]byte("```\nredis.set(\"user:{id}:x\", " + args + "\n```\n")).Keys
		if len(keys) != 1 || keys[0].TTL != want {
			t.Errorf("%s: %+v, want %q", args, keys, want)
		}
	}
}
