package program

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestConstants: a key that has a name is put where the name is used, and one that the program gives two
// values is none of both. A time that is called like a key is the TTL of the key.
func TestConstants(t *testing.T) {
	holds(t, []programRow{
		{"js", "const USER_KEY = 'user:{id}'\nconst USER_TTL = 60 * 5 // seconds", []string{"1 user:{id}  5m"}},
		{"js", "const USER_KEY = 'user:{id}'\nconst USER_TTL = 300", []string{"1 user:{id}"}}, // of what unit
		{"py", "USER_KEY = 'user:{}'\nUSER_TTL = 300\nr.get(USER_KEY.format(x))", []string{"1 user:{}  5m",
			"3! user:{x} string 5m"}},
		{"py", "USER_KEY = 'user:{}'\nUSER_TTL = 300\nUSER_TTL = 600", []string{"1 user:{}"}},
		{"go", "const userPrefix = \"app:user:\"\nconst userTTL = 5 * time.Minute", []string{"1 app:user:{}  5m",
			"1 app:user:{}  5m"}},
		{"go", "const userPrefix = \"app:user:\"\nx := userPrefix + id", []string{"1 app:user:{}", "2? app:user:{id}"}},
		{"py", "A_KEY = 'user:a:{}'\nB_KEY = 'user:b:{}'\nr.get(A_KEY)\nr.hgetall(x.B_KEY)",
			[]string{"1 user:a:{}", "2 user:b:{}", "3! user:a:{} string", "4! user:b:{} hash"}},
		{"py", "A_KEY = 'user:a:{}'\nA_KEY = 'user:b:{}'\nr.get(A_KEY)", []string{"1 user:a:{}", "2 user:b:{}"}},
		{"js", "const KEYS = {\n  USER: 'user:{id}',\n  HOT: 'web:hot',\n}\nredis.get(KEYS.HOT)",
			[]string{"2 user:{id}", "3 web:hot", "5! web:hot string"}},
		{"go", "func userTTL() {\nttl = 5 * time.Minute\n", nil},
		{"go", "userLifetime = 2 * time.Hour\nfunc user(id string) string {\n\treturn \"user:\" + id\n}",
			[]string{"3 user:{id}  2h"}},
		{"py", "ONE_DAY = 24 * 60 * 60\nUSER_TTL = 7 * ONE_DAY\nUSER_KEY = 'user:{}'", []string{"3 user:{}  7d"}},
		{"js", "const ttls = {\n  user: 60 * 5,\n}\nconst user_key = 'user:{id}'", []string{"4 user:{id}  5m"}},
	})
}

// TestBounds: a program of very many constants is read, up to a bound for each kind of them.
func TestBounds(t *testing.T) {
	var text strings.Builder
	for i := range 600 {
		fmt.Fprintf(&text, "A%d_KEY = 'user:a%d:{}'\nA%d_TTL = %d\nWORD%d = 'w%d'\n", i, i, i, i+60, i, i)
	}
	got := readProgram("py", "", text.String())
	if len(got) != 600 || !strings.HasPrefix(got[0], "1 user:a0:{}  1m") || got[599] != "1798 user:a599:{}" {
		t.Errorf("%d: %q … %q", len(got), got[0], got[len(got)-1])
	}
}

// TestTimeOf: a number that a program gives a name is a time if the name, a comment or the language tells the unit.
func TestTimeOf(t *testing.T) {
	for _, c := range []struct{ name, value, lang, above, want string }{
		{"user_ttl", "300", "", "", ""}, {"user_ttl", "300", "py", "", "5m"}, {"user_ttl", "300", "js", "", ""},
		{"user_ttl", "300;", "php", "", "5m"},
		{"user_ttl", "0", "py", "", ""}, {"user_ttl", "x", "py", "", ""}, {"user_ttl", "300 + x", "py", "", ""},
		{"user_ttl", "(300)", "py", "", "5m"},
		{"user_ttl_ms", "5000", "js", "", "5s"}, {"userTtlSeconds", "300", "js", "", "5m"},
		{"user_ttl_minutes", "5", "py", "", "5m"},
		{"ttlHours", "2", "js", "", "2h"}, {"ttl_days", "7", "js", "", "7d"}, {"ttl_days", "99999999", "js", "", ""},
		{"user_ttl", "60 * 5", "js", "", "5m"}, {"user_ttl", "60 * 1000", "js", "", ""},
		{"user_ttl", "5 * 7", "js", "", ""},
		{"user_ttl", "300 // 5 minutes", "js", "", "5m"}, {"user_ttl", "300 // seconds", "js", "", "5m"},
		{"user_ttl", "300000 // ms", "js", "", "5m"},
		{"user_ttl", "7 // days", "py", "", "7d"}, {"user_ttl", "300", "js", "in seconds", "5m"},
		{"user_ttl", "300", "js", "TTLs, unit: minutes", "5h"},
		{"user_ttl", "300 // a comment", "js", "", ""}, {"user_ttl", "300", "js", "seconds, minutes", ""},
		{"user_ttl", "5 * time.Minute", "go", "", "5m"},
		{"user_ttl", "99999999999999999999", "py", "", ""}, {"user_ttl", "1000000 * 1000000 * 1000000", "py", "", ""},
	} {
		if got := timeOf(c.name, c.value, c.lang, c.above); got != c.want {
			t.Errorf("%s = %s in %q below %q: %q, and not %q", c.name, c.value, c.lang, c.above, got, c.want)
		}
	}
}

// TestNames: the names of a key and of its time have one stem, and a name of a time may tell a unit.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "user": "user", "SeedListPrefix": "seedlist", "SEED_LIST_TTL": "seedlist", "seed_list_expire": "seedlist",
		"seedListExpiresIn": "seedlist",
		"keyUser":           "user", "KeyUser": "user", "keyboard": "keyboard", "REDIS_KEY_USER": "user",
		"user_cache_timeout_ms": "usercache", "TTL_USER": "user",
		"userLifetimeSeconds": "user", "key": "", "ttl": "", "userKeyFormat": "user", "ttl_seconds": "", "TTL_MS": "",
		"ttl_msg": "msg",
	} {
		if got := stem(name); got != want {
			t.Errorf("%q: %q, and not %q", name, got, want)
		}
	}
	for name, want := range map[string]time.Duration{"ttl": 0, "x": 0, "user_ttl_ms": time.Millisecond,
		"ttlMillis": time.Millisecond, "ttl_s": time.Second,
		"ttlMin": time.Minute, "expiresInHours": time.Hour, "timeout_days": 24 * time.Hour} {
		if got, named := unitOf(name); got != want || named != (want > 0) {
			t.Errorf("%q: %v %v, and not %v", name, got, named, want)
		}
	}
	for _, c := range []struct {
		text, name string
		want       int
	}{{"", "a", 0}, {"a", "a", 1}, {"a a a", "a", 2}, {"ab ba a_ _a a1", "a", 0}, {"x.a(a)", "a", 2}} {
		if got := uses(c.text, c.name); got != c.want {
			t.Errorf("%q in %q: %d", c.name, c.text, got)
		}
	}
	for chain, want := range map[string][2]string{"": {}, "a": {"", "a"}, "a.b.c": {"a.b", "c"},
		"a::b": {"a:", "b"}, ".a": {"", "a"}} {
		if rest, last := cutLast(chain); rest != want[0] || last != want[1] {
			t.Errorf("%q: %q %q", chain, rest, last)
		}
	}
}

// TestMakers: a function that returns a key is read as that key where it is called, whichever way a language writes it; one
// that two are called by is none.
func TestMakers(t *testing.T) {
	holds(t, []programRow{
		{"js", "const userKey = (id) => `user:${id}`\nawait redis.hset(userKey(1), x)", []string{"1 user:${id}",
			"2! user:${id} hash"}},
		{"ts", "const userKey = (id: string): string => `user:${id}`\nredis.hset(userKey(1), x)",
			[]string{"1 user:${id}", "2! user:${id} hash"}},
		{"js", "const userKey = id => `user:${id}`\nredis.hset(userKey(1), x)", []string{"1 user:${id}",
			"2! user:${id} hash"}},
		{"js", "const keys = {\n  user: (id) => `user:${id}`,\n}\nredis.hset(keys.user(1), x)",
			[]string{"2 user:${id}", "4! user:${id} hash"}},
		{"py", "def user_key(id):\n    return f\"user:{id}\"\nr.hset(user_key(5), x)", []string{"2 user:{id}",
			"3! user:{id} hash"}},
		{"py", "def user_key(id): return f\"user:{id}\"\nr.hset(user_key(5), x)", []string{"1 user:{id}",
			"2! user:{id} hash"}},
		{"py", "def user_key(id):\n    return f\"user:{id}\"\nr.hset(user_key, x)", []string{"2 user:{id}"}},
		{"py", "def user(id):\n    return f\"user:b:{id}\"\ndef user(id):\n    return f\"user:c:{id}\"\nr.hset(user(5), x)",
			[]string{"2 user:b:{id}", "4 user:c:{id}"}},
		{"go", "func userKey(id string) string {\n\treturn \"user:\" + id\n}\nrdb.HSet(ctx, userKey(id), m)",
			[]string{"2 user:{id}", "4! user:{id} hash"}},
		{"go", "offerTTL = 45 * time.Second\nrdb.Set(ctx, \"offer:\"+id, v, offerTTL)",
			[]string{"2! offer:{id} string 45s"}},
		{"sh", "USERS='users'\nredis-cli hset \"${USERS}:1:x\"", []string{"2? users:1:x"}},
		{"js", "const userKey = (id) => `user:${id}`\nprint(userKey(1), 'x:{y}:z')", []string{"1 user:${id}"}},
	})
}

// TestListings: in a part of a program that names keys a string with which keys begin is one, and so is a word in one
// that says that they are Redis's.
func TestListings(t *testing.T) {
	holds(t, []programRow{
		{"ts", "enum RedisKeys {\n  A = 'user:session:',\n  B = 'clinic_token_',\n  C = 'clinic_list',\n  D = 'word',\n}",
			[]string{"2 user:session:{}", "3 clinic_token_{}", "4 clinic_list"}},
		{"ts", "enum CacheKeys {\n  A = 'user:',\n  B = 'clinic_token_',\n}", []string{"2 user:{}"}},
		{"ts", "enum Colors {\n  A = 'user:',\n  B = 'clinic_token_',\n}", nil},
		{"ts", "class Keys\n{\n  static A = 'user:';\n}", []string{"3 user:{}"}},
		{"js", "const KEYS = [\n  ['user:a', { ttl: 60 }],\n]", []string{"2 user:a  1m"}},
	})
	if got := readProgram("ts", "redis_keys.ts", "class A {\n  b = 'clinic_token_'\n}"); !slices.Equal(got,
		[]string{"2 clinic_token_{}"}) {
		t.Errorf("below the name of a file of keys: %q", got)
	}
	for text, want := range map[string]string{"user:a:": "user:a:{} true true", "user:": " false false",
		"clinic_token_": " false false", "a b:": " false false"} {
		raw, prefix, ok := inKeys(text, false, false)
		if got := fmt.Sprintf("%s %v %v", raw, prefix, ok); got != want {
			t.Errorf("%s: %s, and not %s", text, got, want)
		}
	}
}

// TestRecords: a record tells the type and the TTL of the one key in it, in one line or in the lines around it.
func TestRecords(t *testing.T) {
	holds(t, []programRow{
		{"js", "{ pattern: 'user:{id}', ttl: 60, type: 'hash' }", []string{"1 user:{id} hash 1m"}},
		{"js", "[{ key: 'user:{id}', ttl: 60 }, { key: 'feed:{id}', ttl: 90 }]", []string{"1 user:{id}  1m",
			"1 feed:{id}  90s"}},
		{"js", "{\n  type: 'sorted set',\n  key: 'user:{id}',\n  ttl: 300,\n}", []string{"3 user:{id} zset 5m"}},
		{"js", "{\n  key: 'user:{id}',\n  ttlMs: 5000,\n\n  type: 'hash',\n}", []string{"2 user:{id}  5s"}},
		{"js", "{\n  key: 'user:{id}',\n    ttl: 300,\n}", []string{"2 user:{id}"}},
		{"js", "{\n  key: 'user:{id}',\n  ttl: null,\n}", []string{"2 user:{id}  none"}},
		{"js", "{ key: 'user:{id}', ttl: '5 min' }", []string{"1 user:{id}  5m"}},
		{"js", "{\n  key: 'user:{id}',\n  ttl: 300, // x\n}", []string{"2 user:{id}"}},
		{"js", "{\n  key: 'user:{id}',\n  ttl: 5 * HOUR,\n}", []string{"2 user:{id}"}},
		{"js", "{\n  key: 'user:{id}',\n  key: 'feed:{id}',\n  ttl: 5,\n}", []string{"2 user:{id}", "3 feed:{id}  5s"}},
		{"js", "{ key: 'user:{id}', ttl_ms: 5000 }", []string{"1 user:{id}  5s"}},
		{"js", "{ key: 'user:{id}', ttl_hours: 2 }", []string{"1 user:{id}  2h"}},
		{"js", "{ key: 'user:{id}', kind: 'a very long story' }", []string{"1 user:{id}"}},
		{"js", "{ ttl: 60, name: 'x' }", nil},
	})
}

// TestComments: what the comment above a key tells of it, the units that comments name, and what a comment is.
func TestComments(t *testing.T) {
	holds(t, []programRow{
		{"go", "// userKey is a hash, kept 5 minutes.\nuserKey = \"user:%s\"", []string{"2 user:%s  5m"}},
		{"go", "// a hash\n// TTL: 5 min\nuserKey = \"user:%s\"", []string{"3 user:%s hash 5m"}},
		{"java", "/**\n * list; 1 h\n */\nString userKey = \"user:%s\"", []string{"4 user:%s list 1h"}},
		{"go", "// a hash\n\nuserKey = \"user:%s\"", []string{"3 user:%s"}},
	})
	for text, want := range map[string]string{
		"": "", "hash": "hash", "open orders (list)": "list", "a sorted set": "zset", "list of ids": "list",
		"listing of a hash": "", "Redis hash of x": "hash",
		"ids: hash - of x": "hash", "a list that is long": "", "<summary>hash</summary>": "hash", "der Typ hash": "",
	} {
		if got := PartType(text); got != want {
			t.Errorf("%q: %q, and not %q", text, got, want)
		}
	}
	for text, want := range map[string]time.Duration{"": 0, "seconds": time.Second, "in seconds": time.Second,
		"TTL in minutes": time.Minute, "60 s": time.Second,
		"1 minute": 0, "seconds, minutes": 0, "seconds; seconds": time.Second, "s": 0, "秒": time.Second,
		"单位 秒": time.Second, "of seconds": 0, "60 minutes": time.Minute,
		"every 60 s": 0} {
		if got := unitSaid(text, 60); got != want {
			t.Errorf("%q of 60: %v, and not %v", text, got, want)
		}
	}
	for line, want := range map[string]bool{"# a": true, "#{a}": false, "// a": true, "-- a": true,
		"/* a": true, "* a": true, "*a": false, "": false, "a // b": false} {
		if IsComment(line) != want {
			t.Errorf("%q: %v", line, IsComment(line))
		}
	}
	if IsProgram("") || IsProgram("text") || !IsProgram("go") || !IsProgram("c#") || Depth(" \t x ") != 3 ||
		Depth("") != 0 {
		t.Error("languages and depths")
	}
}

// TestParents: the lines that open what a line is in, with a brace in a line of its own, and bounded however deep it
// is.
func TestParents(t *testing.T) {
	lines := []string{"class A", "{", "  b {", "    c", "", "    // x", "    d", "  }", "}", "e"}
	var got []string
	for _, in := range Parents(lines) {
		got = append(got, fmt.Sprintf("%s|%s", in.open, strings.ReplaceAll(in.all, "\n", ">")))
	}
	want := []string{"|", "|", "class A {|>class A {", "b {|>class A {>b {", "|", "|", "b {|>class A {>b {",
		"class A {|>class A {", "|", "|"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, and not %q", got, want)
	}
	var deep []string
	for i := range 300 {
		deep = append(deep, strings.Repeat(" ", i)+"abcdefghi {")
	}
	if in := Parents(deep)[299]; len(in.all) != maxParents || in.open != "abcdefghi {" {
		t.Errorf("%d bytes, %s", len(in.all), in.open)
	}
}
