package wording_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/infer/page/internal/wording"
)

// row is a text and what a function must return for it.
type row struct{ text, want string }

// holds reports the rows for which a function returns something else.
func holds(t *testing.T, of func(string) string, rows []row) {
	t.Helper()
	for _, r := range rows {
		if got := of(r.text); got != r.want {
			t.Errorf("%q: %q, and not %q", r.text, got, r.want)
		}
	}
}

// inText reads a sentence, inColumn a cell below a title of which the unit is seconds.
func inText(text string) string   { return wording.TTLIn(text, false, 0) }
func inColumn(text string) string { return wording.TTLIn(text, true, wording.Scale(time.Second)) }

// TestTTLOfSentences: a sentence gives a TTL where it speaks of expiry, beside the time or before it; a time alone,
// or one before the word, is none.
func TestTTLOfSentences(t *testing.T) {
	holds(t, inText, []row{
		{"", ""}, {" ", ""}, {"5 minutes", ""}, {"takes 5 minutes", ""}, {"no time", ""},
		{"expires after 5 minutes", "5m"}, {"kept for 2 hours", "2h"}, {"TTL 90 s", "90s"}, {"lives 1 day.", "1d"},
		{"after 5 minutes", "5m"}, {"it takes 5 ms and expires in 1 h", "1h"},
		{"takes 3 days, then lives 1 hour", "1h"},      // the one after the word
		{"5 minutes, then it is gone", "5m"},           // none after the word: the one before
		{"expires after 1 h, at most 1 day", "1d"},     // of two the longest
		{"expires after 1 day, at least 1 h", "1d"},    // whichever is first
		{"<b>expires</b> after `5` **minutes**", "5m"}, // markup says nothing
		{"EXPIRES AFTER 5 MINUTES", "5m"},
		{"expires after 5 bananas", ""}, {"expires after 5", ""}, {"expires in 0 s", ""}, {"expires after 500 ms", ""},
		{"expires after 1500 ms", ""}, // no whole seconds
		{"expires after 2000 ms", "2s"},
		{"never expires", "none"}, {"has no TTL", "none"}, {"kept forever, 5 min in memory", "none"},
		{"never", ""}, {"none", ""}, // alone in a sentence it may be of anything
		{"expires\xff after 5 minutes", "5m"}, {"expires after 5 \xe5\x88 minutes", ""},
	})
}

// TestTTLOfCells: below a title for times any time is a TTL, a bare number is one by the scale of the title, and a
// word for ever needs no verb.
func TestTTLOfCells(t *testing.T) {
	holds(t, inColumn, []row{
		{"1h (was 2h until May)", "1h"}, {"1 Stunde (früher 2 Stunden)", "1h"}, {"bis zu 3 Tage", "3d"},
		{"until May, 3 days", ""}, {"24 h (after the season)", ""},
		{"", ""}, {" ", ""}, {"5 minutes", "5m"}, {"5min", "5m"}, {"5-10 minutes", "10m"}, {"1h (max 1 day)", "1d"},
		{"300", "5m"}, {"300 ", "5m"}, {"300 (of the session)", "5m"}, {"300（默认）", "5m"}, {"300; refreshed", "5m"},
		{"300 // as long as the token", "5m"}, {"300 # default", "5m"}, {"60 * 5", "5m"}, {"1_000", "1000s"},
		{"1,000", "1000s"}, {"300 x", ""}, {"x 300", ""}, {"-300", ""}, {"0", ""}, {"1,00", ""}, {"#300", "5m"},
		{"never", "none"}, {"None.", "none"}, {"-", "none"}, {"—", "none"}, {"–", "none"}, {"-1", "none"},
		{"- (none)", "none"},
		{"n/a", "none"}, {"N/A (permanent)", "none"}, {"永久", "none"}, {"no", "none"}, {"nothing", ""}, {"unknown", ""},
		{"never deleted", "none"}, {"it is kept forever", "none"}, {"none, 30 when idle", ""}, {"-10", ""}, {"- 30", ""},
		{"5 minutes after the race", ""}, {"until the race", ""}, {"every 5 minutes", ""}, {"the last 7 days", ""},
	})
}

// TestTTLOfCommands: a sentence that has the command that writes a string gives the TTL in it, of seconds and of
// milliseconds, whatever else it names; elsewhere a number after a word for a TTL counts seconds.
func TestTTLOfCommands(t *testing.T) {
	holds(t, inText, []row{
		{"SET NX PX 15000", "15s"}, {"SET k v EX 60", "1m"}, {"SET k v NX EX 60 for 5 minutes", "1m"},
		{"SETEX k EX 5", "5s"},
		{"EX 60 then SET k v NX", ""}, // not in the command
		{"SET k v NX, expires after 5 minutes", "5m"}, {"SETNX k", ""}, {"SET k v PX 500", ""},
		{"ttl 120", "2m"}, {"TTL: 120", "2m"}, {"ex=60,", "1m"}, {"expire 60)", "1m"}, {"setex 1_000", "1000s"},
		{"ttl 120 of them", ""}, {"pttl 120", ""}, {"index 60", ""}, {"ttl is 120", ""}, {"ttl -1", "none"},
	})
	holds(t, inColumn, []row{{"SET k v EX 60", ""}, {"SET k v EX 60, 5 min", "5m"}})
}

// TestTTLOfRemarks: a remark gives a TTL where it speaks of expiry, or where a part of it is a time, or a word for
// ever, and nothing else.
func TestTTLOfRemarks(t *testing.T) {
	holds(t, wording.TTLOfRemark, []row{
		{"", ""}, {"5 min", "5m"}, {"hash; 5m", "5m"}, {"user data (5 min)", "5m"}, {"list – 1h", "1h"},
		{"a - 2 days - b", "2d"},
		{"string. 10 min.", "10m"}, {"30 minutes, refreshed", "30m"}, {"about 30 min", "30m"}, {"hash 5m", ""},
		{"用户，5分钟，哈希", "5m"}, {"用户（5分钟）", "5m"}, {"用户（约5分钟）", "5m"}, {"5 min, 1 h", "1h"},
		{"refreshed, 1 h, counter", "1h"},
		{"a request takes 5 min", ""}, {"5 min each", ""}, {"each 5 min", ""}, {"5 items", ""}, {"counter, 60", ""},
		{"sessions of the last hour", ""}, {"5 min of fame", ""}, {"expires 5 min after the race", ""},
		{"never", "none"}, {"data, never", "none"}, {"permanent.", "none"}, {"hash (permanent)", "none"},
		{"data, none", ""},
		{"no", ""}, {"never mind", ""}, {"expires after 5 min", "5m"}, {"no TTL", "none"},
	})
}

// TestTTLsInLanguages: each language has its words for expiry, for ever, its units and the order of its sentences.
func TestTTLsInLanguages(t *testing.T) {
	holds(t, inText, []row{
		{"2 Stunden gültig", "2h"}, {"läuft in zwei Stunden ab", "2h"}, {"laeuft nach 3 Tagen ab", "3d"},
		{"ohne Ablauf", "none"},
		{"conservé 3 jours", "3d"}, {"conserve pendant un an", "365d"}, {"expire au bout d'une heure", "1h"},
		{"n’expire jamais", "none"}, {"caduca a los 7 días", "7d"}, {"caduca a los 7 dias", "7d"}, {"no caduca", "none"},
		{"vale por 30 minutos", "30m"}, {"expira após três dias", "3d"}, {"não expira", "none"},
		{"dura mezz'ora", "30m"}, {"dopo due giorni", "2d"}, {"non scade", "none"},
		{"verloopt na 2 uur", "2h"}, {"verloopt nooit", "none"}, {"sparas i 3 dagar", "3d"}, {"går aldrig ut", "none"},
		{"wygasa po 2 godzinach", "2h"}, {"nie wygasa", "none"}, {"platí 2 hodiny", "2h"}, {"nevyprší", "none"},
		{"хранится 7 дней", "7d"}, {"живет полтора часа", "90m"}, {"не истекает", "none"}, {"живёт полчаса", "30m"},
		{"зберігається 3 дні", "3d"}, {"безстроково", "none"}, {"2 saat sonra silinir", "2h"}, {"İki saat geçerli", "2h"},
		{"süresiz", "none"}, {"disimpan sejam", "1h"}, {"tanpa TTL", "none"}, {"hết hạn sau 5 phút", "5m"},
		{"không hết hạn", "none"}, {"5分間保持", "5m"}, {"キーは30分で失効", "30m"}, {"期限なし", "none"}, {"保留7天", "7d"},
		{"过期时间：两小时", "2h"}, {"不过期", "none"}, {"7일간 보관", "7d"}, {"두 시간 유지", "2h"}, {"만료 없음", "none"},
	})
}

// TestTimesThatAreNone: a time that says how often something is, of when something is, or that begins at an event, is
// no TTL; one that begins at the life of the key itself is.
func TestTimesThatAreNone(t *testing.T) {
	holds(t, inText, []row{
		{"expires every 5 minutes", ""}, {"lives 1 hour, renewed every 5 minutes", "1h"}, {"expires alle 5 Minuten", ""},
		{"caduca cada 5 minutos", ""}, {"5分ごとに失効", ""}, {"5분마다 만료", ""}, {"每5分钟过期", ""}, {"expires every 5分钟", "5m"},
		{"keeps the last 7 days", ""}, {"gelöscht: die letzten 7 Tage", ""}, {"过期: 最近7天", ""},
		{"keeps older than 7 days", ""},
		{"expires 2 days after the season", ""}, {"expires 2 days after", "2d"}, {"expires 2 days after creation", "2d"},
		{"expires 2 days after the season, when it was created", ""},
		{"expires 2 days after the last access", "2d"},
		{"läuft 30 Tage nach dem letzten Zugriff ab", "30d"}, {"läuft 30 Tage nach der Saison ab", ""},
		{"创建后30天过期", "30d"}, {"赛季结束后30天过期", ""}, {"赛季结束，创建后30天过期", "30d"}, {"大会の終了後30日で失効", ""},
		{"作成から30日で失効", "30d"}, {"시즌 종료 후 30일 유지", ""}, {"생성 후 30일 유지", "30d"},
		{"lives until the race, 2 days", ""}, {"lives until 5 minutes", "5m"},
		{"lives 5 minutes. Until then it is a hash", "5m"},
		{"Until then it is a hash. It lives 5 minutes", "5m"}, {"race: lives 5 minutes", "5m"},
	})
}

// TestWordsFarFromTheTime: only what is within some 240 bytes of a time tells what it is, and a long text is cut
// between letters.
func TestWordsFarFromTheTime(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "", 75: "", 76: "5m", 77: "5m", 78: "5m", 400: "5m"} {
		far := strings.Repeat("日", n)
		if got := inText("until " + far + " expires 5 minutes"); got != want {
			t.Errorf("%d letters before: %q, and not %q", n, got, want)
		}
		if got := inText("expires 5 minutes " + far + " x"); got != "5m" {
			t.Errorf("%d letters after: %q", n, got)
		}
	}
}

// TestLongest: the longest time that a text names, whatever it is of; what is said to be often, or at an event, is
// none.
func TestLongest(t *testing.T) {
	holds(t, wording.LongestIn, []row{
		{"", ""}, {"nothing", ""}, {"1 hour", "1h"}, {"5 min or 1 hour or 30 s", "1h"}, {"every 5 min", ""},
		{"until 5 races", ""},
		{"1h30m", "90m"}, {"24 hours", "1d"}, {"36 hours", "36h"},
	})
}

// TestSeconds: a number, or a product, of seconds or milliseconds; what is no number, not positive, or longer than a
// hundred years is none, and nothing runs over.
func TestSeconds(t *testing.T) {
	for _, c := range []struct{ text, seconds, millis string }{
		{"", "", ""}, {"x", "", ""}, {"0", "", ""}, {"-5", "", ""}, {"5.5", "", ""}, {"1,00", "", ""}, {"1", "1s", ""},
		{"60", "1m", ""}, {"3600", "1h", ""}, {" 86400 ", "1d", ""}, {"3600);", "1h", ""}, {"3600,", "1h", ""},
		{"1,000", "1000s", "1s"}, {"1_000", "1000s", "1s"}, {"1500", "25m", ""}, {"60000", "1000m", "1m"},
		{"60 * 60 * 24", "1d", ""}, {"60*1_000", "1000m", "1m"}, {"60 * 0", "", ""}, {"60 *", "", ""}, {"* 60", "", ""},
		{"60 * x", "", ""}, {"3153600000", "36500d", "876h"}, {"3153600001", "", ""},
		{"31536000000", "", "365d"}, {"21600000000", "", "250d"}, // as nanoseconds these run over
		{"1000000000000", "", "1000000000s"}, {"99999999999999999999", "", ""}, {"99999999999999999999 * 1", "", ""},
		{"1000000 * 1000000 * 1000000", "", ""}, {"4000000 * 1000000", "", ""},
	} {
		if s, ms := wording.Seconds(c.text, 1), wording.Seconds(c.text, 1000); s != c.seconds || ms != c.millis {
			t.Errorf("%q: %q and %q, and not %q and %q", c.text, s, ms, c.seconds, c.millis)
		}
	}
}

// TestFormatTTL: the largest unit that a time is a whole number of; what is no whole number of seconds is none.
func TestFormatTTL(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "", 0: "", time.Second - 1: "1s", 999 * time.Millisecond: "", time.Second: "1s",
		1500 * time.Millisecond: "", 59 * time.Second: "59s", time.Minute: "1m", 61 * time.Second: "61s", time.Hour: "1h",
		90 * time.Minute: "90m", 24 * time.Hour: "1d", 25 * time.Hour: "25h", 14 * 24 * time.Hour: "14d",
		138*time.Second - 1: "138s", // 2.3 minutes
		wording.MaxLifetime: "36500d",
	} {
		if got := wording.FormatTTL(d); got != want {
			t.Errorf("%v: %q, and not %q", d, got, want)
		}
	}
}

// TestUnitTime: programs of several languages give a time its unit. What the time is a part of, a sum or a product,
// is another one.
func TestUnitTime(t *testing.T) {
	holds(t, wording.UnitTime, []row{
		{"", ""}, {"60", ""}, {"ttl", ""},
		{"1, 7*24*time.Hour)", "7d"}, {"1, time.Hour)", "1h"}, {"2 * time.Minute,", "2m"},
		{"return 5 * time.Minute", "5m"},
		{"time.Hour * 24 * 30)", "30d"}, {"5_000 * time.Second) // x", "5000s"}, {"time.Hour + x)", ""},
		{"x * time.Hour)", ""},
		{"30 * time.Millisecond)", ""}, {"-1 * time.Hour)", ""}, {"100000000 * time.Hour)", ""}, {"0 * time.Hour)", ""},
		{"876000 * time.Hour)", "36500d"}, {"876001 * time.Hour)", ""},
		{"Duration.ofMinutes(5)", "5m"}, {"java.time.Duration.ofDays(2 * 7));", "14d"},
		{"v, Duration.ofHours(1).plus(x))", ""},
		{"Duration.ofHours(1).multipliedBy(2)", ""}, {"Duration.ofHours(1).toMillis()", "1h"},
		{"n * Duration.ofMinutes(5)", ""},
		{"Duration.ofMillis(500)", ""}, {"Duration.ofDays(-1)", ""},
		{"60, TimeUnit.MINUTES", "1h"}, {"2 * 7, TimeUnit.DAYS)", "14d"}, {"500, TimeUnit.MILLISECONDS", ""},
		{"timedelta(minutes=5)", "5m"}, {"int(timedelta(weeks=1).total_seconds())", "7d"},
		{"timedelta(minutes=5) * 2", ""},
		{"2 * timedelta(minutes=5)", ""}, {"2 * datetime.timedelta(minutes=5)", ""}, {"timedelta(hours=1) + jitter", ""},
		{"timedelta(days=1, hours=2)", ""}, {"ex=datetime.timedelta(days=1))", "1d"}, {"return timedelta(days=1)", "1d"},
		{"12.hours", "12h"}, {", 1.hour)", "1h"}, {"expires_in: 5.minutes.from_now", "5m"}, {"1.hour + 5.minutes", ""},
		{"1.hour * 2", ""}, {"1.hour # a comment", "1h"}, {"1.hour // a comment", "1h"}, {"1.hour / 2", ""},
		{"0.5.hours", ""},
		{"2*2.hours", ""}, {"1.hour - x", ""}, {"1.weekend", ""},
		{"TimeSpan.FromMinutes(15)", "15m"}, {"x + TimeSpan.FromMinutes(15)", ""}, {"TimeSpan.FromMinutes(1.5)", ""},
		{"Duration::from_secs(60 * 5)", "5m"}, {"std::time::Duration::from_hours(1)", "1h"},
		{"Duration::from_secs(60) * 2", ""},
		{"now()->addMinutes(10)", "10m"}, {"now()->addDay()", "1d"}, {"now()->addDays(3)->addHours(2)", ""},
		{"addDaysX(3)", ""}, {"ChronoUnit.HOURS, 6)", "6h"}, {"ChronoUnit.HOURS, 6 * n)", ""},
	})
}

// TestTTLInCalls: of the arguments after a key the one is a TTL that has a unit, a name that says so, or the place
// that the command gives it. A moment is none.
func TestTTLInCalls(t *testing.T) {
	for _, c := range []struct{ verb, rest, want string }{
		{"SET", "", ""}, {"SET", ", v)", ""}, {"SET", ", v, 60)", ""}, {"GET", ", 60)", ""},
		{"SET", ", v, 5 * time.Minute)", "5m"}, {"GET", ", 5 * time.Minute)", "5m"},
		{"SET", ", v, 'EX', 60)", "1m"}, {"SET", ", v, 'PX', 60000)", "1m"}, {"SET", ", v, { EX: 60 })", "1m"},
		{"SET", ", v, { \"px\": 60_000 })", "1m"}, {"SET", ", v, ex=60)", "1m"}, {"SET", ", v, px=500)", ""},
		{"SET", ", v, EX=0)", ""}, {"SET", ", v, 'EX', 60 * n)", ""}, {"SET", ", v, 'EX', 60L)", "1m"},
		{"SET", ", v, ttl=60)", "1m"}, {"SET", ", v, cacheTtl: 60)", "1m"}, {"SET", ", v, ttl_ms=60000)", "1m"},
		{"SET", ", v, ttlMinutes: 5)", "5m"}, {"SET", ", v, timeout=60)", "1m"}, {"SET", ", v, timeoutMs: 60000)", "1m"},
		{"SET", ", v, timeout_in_days=3)", "3d"}, {"SET", ", v, exp=5)", "5s"}, {"SET", ", v, expiration: 60)", "1m"},
		{"SET", ", v, ttl: 5 * 60)", "5m"}, {"SET", ", v, ttl: 5 * 60 * 1000)", ""}, // seconds or milliseconds
		{"SET", ", v, ttlMs: 5 * 60 * 1000)", "5m"}, {"SET", ", v, ttl: 5 * 60 + x)", ""},
		{"LRANGE", ", index=5)", ""}, {"SET", ", exact=5)", ""}, {"SET", ", next: 5)", ""}, {"SET", ", examples=5)", ""},
		{"SET", ", v, exat=1700000000)", ""}, {"SET", ", v, expiresAt: 1700000000)", ""},
		{"SET", ", expire_at=1700000000)", ""},
		{"WRITE", ", v, expires_in: 60)", "1m"}, {"WRITE", ", v, expires_in: 5.minutes)", "5m"},
		{"WRITE", ", v, expires_in: n)", ""},
		{"SETEX", ", 60, v)", "1m"}, {"SET_EX", ", 60, v)", "1m"}, {"SETEX", ", id), 60, v)", "1m"},
		{"SETEX", ", f(id)), 60, v)", ""}, {"SETEX", ", ttl, v)", ""}, {"EXPIRE", ", 60 * 60)", "1h"},
		{"EXPIRE", ", 60, 'NX')", "1m"},
		{"PSETEX", ", 60000, v)", "1m"}, {"P_EXPIRE", ", 60000)", "1m"}, {"PEXPIRE", ", ttl)", ""},
		{"PEXPIRE", ", 60)", ""},
		{"REMEMBER", ", 60, fn)", "1m"}, {"PUT", ", 5)", "5s"}, {"PUT", ", id), v, 600)", "10m"},
		{"EXPIREAT", ", 1700000000)", ""},
	} {
		if got := wording.TTLInCall(c.verb, c.rest); got != c.want {
			t.Errorf("%s(key%s: %q, and not %q", c.verb, c.rest, got, c.want)
		}
	}
}

// TestTTLsOfLongTexts: a text of very many times is read up to a bound, and one without any to its end.
func TestTTLsOfLongTexts(t *testing.T) {
	if got := inText("expires " + strings.Repeat("in 1 h ", 63) + "in 2 h " + strings.Repeat("in 3 h ",
		50)); got != "2h" {
		t.Errorf("%q", got)
	}
	for _, piece := range []string{"a", "1", "1,", "一", "half ", "\xff", "1 ", "until ", "every "} {
		if got := inText(strings.Repeat(piece, 2_000)); got != "" {
			t.Errorf("%.10q…: %q", piece, got)
		}
	}
}

// TestTTLsAreOfTheLanguage: what is read of any number of any unit is "" or a text that says the same time.
func TestTTLsAreOfTheLanguage(t *testing.T) {
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	for _, n := range []int{1, 2, 7, 59, 60, 61, 999, 3600, 86400} {
		for unit, one := range map[string]time.Duration{"seconds": time.Second, "minutes": time.Minute,
			"hours": time.Hour,
			"days":  24 * time.Hour, "weeks": 7 * 24 * time.Hour} {
			text, want := fmt.Sprintf("expires after %d %s", n, unit), time.Duration(n)*one
			got := inText(text)
			if time.Duration(n) > wording.MaxLifetime/one {
				if got != "" {
					t.Errorf("%s: %q", text, got)
				}
				continue
			}
			var count int
			var name string
			if _, err := fmt.Sscanf(got, "%d%s", &count, &name); err != nil || time.Duration(count)*units[name] != want {
				t.Errorf("%s: %q", text, got)
			}
		}
	}
	if !slices.Equal(wording.KeyTitles[:2], []string{"key", "pattern"}) {
		t.Error("reading changes the words", wording.KeyTitles[:2])
	}
}
