package shape

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// parsed takes a key apart that is one.
func parsed(t *testing.T, raw string) Shape {
	t.Helper()
	s, ok := Parse(raw)
	if !ok {
		t.Fatalf("%q is no key", raw)
	}
	return s
}

// printed is a key as a pattern has it, with the types of its placeholders.
func printed(s *Shape) string {
	text, types := s.Print(nil)
	var list []string
	for name, typ := range types {
		list = append(list, " "+name+"="+typ)
	}
	slices.Sort(list)
	return text + strings.Join(list, "")
}

// TestPlaceholders: each way to write a placeholder is one, with the name that is in it and the type that its format
// tells; one without a name is called after the word before it.
func TestPlaceholders(t *testing.T) {
	for raw, want := range map[string]string{
		"user": "user", " user:{id} ": "user:{id}", "user:{id}:x": "user:{id}:x", "user:${id}": "user:{id}",
		"user:${ user.id }": "user:{id}",
		"user:#{id}":        "user:{id}", "user:%{id}": "user:{id}", "user:{{ id }}": "user:{id}",
		"user:{ id }":    "user:{id}",
		"user:<id>":      "user:{id}",
		"user:<user id>": "user:{user_id}", "user:<...>": "user:{user_id}", "user:<…>": "user:{user_id}",
		"user:[id]": "user:{id}",
		"user:%s":   "user:{user_id}", "user:%d": "user:{user_id} user_id=int",
		"user:%02d": "user:{user_id} user_id=/[0-9]{2}/",
		"user:%10d": "user:{user_id} user_id=int", "user:%010d": "user:{user_id} user_id=int", "user:%(id)s": "user:{id}",
		"user:%5.2x": "user:{user_id}", "user:$id": "user:{id}", "user:*": "user:{user_id}",
		"user:**:x": "user:{user_id}:x",
		"user:a*":   "user:a{a_id}", "user:{}": "user:{user_id}", "user:{id:int}": "user:{id} id=int",
		"user:{id:uuid}": "user:{id} id=uuid",
		"user:{n:03d}":   "user:{n} n=/[0-9]{3}/", "user:{n:d}": "user:{n} n=int", "user:{n:s}": "user:{n}",
		"user:{n:.2f}":       "user:{n}",
		"day:{d:yyyy-MM-dd}": "day:{d} d=date", "day:{d:yyyyMMddHH}": "day:{d} d=date YYYYMMDDHH",
		"day:YYYY-MM-DD": "day:{day} day=date",
		"day:yyyymm":     "day:{day} day=date YYYYMM", "day:{YYYYMMDD}": "day:{day} day=date YYYYMMDD",
		"day:{date}": "day:{date}",
		"a:p={page}": "a:p={page}", "用户:{编号}:cart": "用户:{id}:cart", "a:{1}": "a:{a_id}", "a:{a-b}": "a:{a_b}",
		"a:{a b}":           "a:{a_b}",
		"users:{}:posts:{}": "users:{user_id}:posts:{post_id}", "a:{}:{}": "a:{a_id}:{a_id_2}",
		"a:{id}:{id}":        "a:{id}:{id_2}",
		"a:{id}:{id_2}:{id}": "a:{id}:{id_2}:{id_3}", "user:info:{}": "user:info:{user_id}", "info:{}": "info:{info_id}",
		"{}:x":  "{id}:x",
		"{}/{}": "{id}/{id_2}", "a/b/{id}": "a/b/{id}", "a:b/{id}": "a:b/{id}",
		"cache:stats:v1:{}":                    "cache:stats:v1:{cache_id}",
		"a:{" + strings.Repeat("x", 100) + "}": "a:{" + strings.Repeat("x", 60) + "}",
	} {
		if s := parsed(t, raw); printed(&s) != want {
			t.Errorf("%s: %q, and not %q", raw, printed(&s), want)
		}
	}
}

// TestNamesOfExpressions: the name in an expression is the last part of what it asks, without the call around it.
func TestNamesOfExpressions(t *testing.T) {
	for expr, want := range map[string]string{
		"": "", "id": "id", "user.id": "id", "user.getId()": "id", "getId": "id", "get": "get", "getaway": "getaway",
		"toString()": "string",
		"tokens":     "tokens", "str(id)": "id", "String(user.id)": "id", "strconv.Itoa(n)": "n",
		"sha256(user.email)": "email", "str()": "str",
		"item.contextId || 'global'": "contextId", "x ?? 'y'": "x", "id:int": "id", "a-b": "a_b", "a b": "a_b", "9": "",
		"_x":   "_x",
		"date": "date", "YYYY-MM-DD": "date", "编号": "", "a.编号": "", "größe": "", "a.b.": "", " id ": "id", "\xff": "",
		"get_id": "get_id",
	} {
		if got := HoleName(expr); got != want {
			t.Errorf("%q: %q, and not %q", expr, got, want)
		}
	}
}

// TestValues: an example value is a placeholder that is written out, with the type that it has; a word is none.
func TestValues(t *testing.T) {
	for raw, want := range map[string]string{
		"user:42": "user:{user_id}", "user:7e7590d0-9e23-4763-b774-ee8514e10d0c": "user:{user_id} user_id=uuid",
		"day:2026-01-31": "day:{day} day=date",
		"day:20260131":   "day:{day} day=date YYYYMMDD", "day:20261331": "day:{day_id}",
		"day:2026-01":   "day:{day} day=date YYYY-MM",
		"week:2026-W05": "week:{week_id} week_id=/20[0-9]{2}-?W[0-9]{2}/", "ip:10.0.0.1": "ip:{ip_id}",
		"user:abc123":     "user:{user_id}",
		"user:deadbeef12": "user:{user_id}", "user:deadbee1": "user:{user_id}", "user:deadbe1": "user:deadbe1",
		"user:a1":  "user:a1",
		"user:xxx": "user:{user_id}", "user:x": "user:x", "user:…": "user:{user_id}", "user:...": "user:{user_id}",
		"user:foo1": "user:{user_id}",
		"user:food": "user:food", "user:a@b.com": "user:{user_id}", "site:example.com": "site:{site_id}",
		"user:u_1":     "user:{user_id}",
		"user:user-12": "user:{user_id}", "user:bob": "user:bob", "k:Ab3dEf9XyZ12": "k:{k_id}",
		"k:Ab3dEf9Xy1":   "k:{k_id}",
		"k:Ab3dEf9X":     "k:Ab3dEf9X",
		"k:AbcdEfghXyZ1": "k:AbcdEfghXyZ1", "k:Ab3dEf9XyZ-2": "k:Ab3dEf9XyZ-{ab3def9xyz_id}", "abc:x": "abc:x",
		"42:x":            "42:x",
		"42":              "{id}",
		"order:issue-123": "order:issue-{issue_id}", "order:issue-123-x.4": "order:issue-{issue_id}-x.{x_id}",
		"order:-123": "order:-123",
		"a:b_c":      "a:b_c", "order:2fa-x": "order:2fa-x", "user:USER_ID": "user:{user_id}",
		"USER:USER_ID": "USER:USER_ID",
		"user:A":       "user:A",
		"user:A1":      "user:{a1}", "user:ÄÖ": "user:{user_id}", "g:GAUGE_ID/state": "g:{gauge_id}/state",
		"g:12/state": "g:{g_id}/state", "g:/x": "g:/x",
		"g:a//b": "g:a//b", "{user:1}:x": "{#user:{user_id}}:x", "x:a{42": `x:a\{42`,
	} {
		if s := parsed(t, raw); printed(&s) != want {
			t.Errorf("%s: %q, and not %q", raw, printed(&s), want)
		}
	}
}

// TestBraces: the braces of a hash tag are letters of the key; only one pair of them, with something in it, is a tag.
func TestBraces(t *testing.T) {
	for raw, want := range map[string]string{
		"{jobs}:ready": "{jobs}:ready", "{user:1}:x": "{#user:{user_id}}:x", "{user:{id}}:x": "{#user:{id}}:x",
		"a:{b": `a:\{b`, "a:b}": `a:b\}`,
		"}a{": `\}a\{`, "x:{42": `x:\{{x_id}`, "x:42}": `x:{x_id}\}`, "{{": `\{\{`, "a{:}b": `a{#:}b`, "a:}{b": `a:\}\{b`,
	} {
		s := parsed(t, raw)
		if got := printed(&s); got != want {
			t.Errorf("%s: %q, and not %q", raw, got, want)
		}
		if text, types := s.Print(nil); !Loads(text, types) {
			t.Errorf("%s: %s is no pattern", raw, text)
		}
	}
}

// TestNoKeys: what has a byte that no key has, an empty segment, or is too long is no key.
func TestNoKeys(t *testing.T) {
	for _, raw := range []string{"", " ", ":", "a:", ":a", "a::b", "a b:c", "a:b c", "a:'b'", `a:"b"`,
		"a:`b`", "a:b=c", "a:bc=d", "a(b)", "a:[1]",
		"a:<1>", "a;b", "a,b", "a!", "a?b", "a&b", "a|b", "a^b", "a~b", `a\b`, "a$", "a:\x00", "a:\x01b", "a\tb",
		"a\nb", strings.Repeat("a", 301)} {
		if s, ok := Parse(raw); ok {
			t.Errorf("%q is %q", raw, printed(&s))
		}
	}
	for _, raw := range []string{strings.Repeat("a", 300), strings.Repeat("{", 300), strings.Repeat("{a}:",
		74) + "x", strings.Repeat("a:", 149) + "b",
		strings.Repeat("*", 300), strings.Repeat("日", 100), "\xff:{id}"} {
		if _, ok := Parse(raw); !ok {
			t.Errorf("%q is no key", raw)
		}
	}
}

// looks writes what a key is by its looks.
func looks(s *Shape) string {
	var out []string
	for _, q := range []struct {
		name string
		is   bool
	}{{"glob", s.Glob}, {"ends", s.Glob && s.EndsInGlob()}, {"concrete", s.Concrete()}, {"rooted",
		s.Rooted()}, {"lettered", s.Lettered() && !s.Rooted()},
		{"prefixed", s.Prefixed()}, {"word", s.HasWord() && !s.Rooted()}, {"port", s.IsPort()}, {"meta", s.Meta()},
		{"none", s.NotAKey()},
		{"lock", s.Says(LockWords)}} {
		if q.is {
			out = append(out, q.name)
		}
	}
	return fmt.Sprintf("%d %d %s", s.Colons(), s.Holes(), strings.Join(out, " "))
}

// TestLooks: how many colons and placeholders a key has, and what it is by its looks.
func TestLooks(t *testing.T) {
	for raw, want := range map[string]string{
		"ab": "0 0 rooted", "a": "0 0 lettered", "1": "0 1 concrete", "a:b": "1 0 lettered", "ab:cd": "1 0 rooted",
		"{a}:cd": "1 1 word",
		"{a}:c":  "1 1 ", "a/b": "0 0 lettered", "ab:{id}:{n}": "2 2 rooted", "ab:1": "1 1 concrete rooted",
		"ab:1:{n}": "2 2 rooted",
		"ab:*":     "1 1 glob ends rooted", "ab:x*": "1 1 glob rooted", "ab:*:cd": "2 1 glob ends rooted",
		"{prefix}:ab":     "1 1 prefixed word",
		"{app_prefix}:ab": "1 1 prefixed word", "{KEY_PREFIX}:ab": "1 1 prefixed word",
		"{ns}:ab:{id}": "2 2 prefixed word", "{prefix}": "0 1 ",
		"{prefix}:1": "1 2 meta", "{my_ns}:{type}:{kind}:ab": "3 3 prefixed word meta", "a-b:{lock}": "1 1 rooted",
		"ab:lock:x":  "2 0 rooted lock",
		"ab:my-lock": "1 0 rooted lock", "ab:blocks": "1 0 rooted", "ab:LOCK.x": "1 0 rooted lock",
		"{mutex:1}:x": "2 1 concrete rooted lock",
		"ab_redlock":  "0 0 rooted lock", "日本:x": "1 0 rooted", "@ab:c": "1 0 word none", "9ab:c": "1 0 word",
	} {
		if s := parsed(t, raw); looks(&s) != want {
			t.Errorf("%s: %q, and not %q", raw, looks(&s), want)
		}
	}
	if s := (&Shape{}); s.Root() != "" || s.Rooted() || s.Prefixed() || s.Meta() || s.Holes() != 0 || s.Concrete() {
		t.Error("an empty shape is something")
	}
}

// TestSchemes: a key whose placeholders are the words of a naming scheme is one, unless it has a placeholder or a
// word of its own beside the first segment.
func TestSchemes(t *testing.T) {
	for raw, want := range map[string]bool{
		"{purpose}:{domain}:{id}": true, "{env}": false, "app:{component}:{type}": true, "app:{type}": false,
		"app:{type}:x":           false,
		"app:{type}:{kind}:{id}": false, "app:{key_type}:{sub_type}": true, "{id}:{type}": true, "{id}:{n}": false,
		"{id}:x":      false,
		"42:{type}:x": false, "{prefix}:{type}": true, "{prefix}:{type}:{kind}": true, "{user}:{x}": false,
		"{用途}:x": false,
	} {
		if s := parsed(t, raw); s.Meta() != want {
			t.Errorf("%s: %v", raw, s.Meta())
		}
	}
	s := parsed(t, "a:{type}:{id}:{sub-type}")
	if n := s.GenericHoles(); n != 2 {
		t.Errorf("%d words of a scheme", n)
	}
}

// TestNotAKey: addresses, versions, files, images and hosts are written like keys; a word that such things begin with
// is a key's where an id or a word of its own follows.
func TestNotAKey(t *testing.T) {
	for raw, want := range map[string]bool{
		"http://x:80/y": true, "https:x": true, "http:x:{id}": true, "localhost:x:y": true, "com:x": true,
		"redis:{port}": true,
		"host:{port}":  true, "x:{port}": true, "x:{redis_port}": true, "x:{portal}": false, "x:y:{port}": false,
		"image:{tag}":    true,
		"node:{version}": true, "node:{id}": false, "image:{id}": false, "docker:{container_id}": false,
		"ws:{userId}": false, "ws:{id}": false,
		"ws:room": false, "ws:{roomName}": false, "ws:{tag}": true, "ws:ab": true, "ws:room1": true, "node:room": true,
		"ws:room:1": false,
		"org:{id}":  false, "org:{id}:members": false, "mailto:{id}": true, "data:image": false, "error:{code}": false,
		"note:text": false,
		"todo:x":    true, "Todo:x": true, "-a:b": true, "/a:b": true, ".a:b": true, "@a:b": true, "main.go:12": true,
		"b.md:{id}": true,
		"a:b.go":    false, "a.gone:b": false, "app:1.2": true, "app:v1.2.3": true, "app:v1": false, "app:12": false,
		"ip:10.0.0.1":  true,
		"redis:latest": true, "redis:stable-alpine": true, "redis:slim-1": true, "feed:latest_posts": false,
		"feed:latestposts": false,
		"redis:6379":       true, "web-1:8080": true, "a.b:80": true, "ahost:80": false, "redis:1": true,
		"server:1": false, "server:123456": false, "server:80:x": false,
		"docs/x": true, "src/app/{id}": true, "x/y.md": true, "catalog/{id}": false, "v1/{id}": true, "x/y:z": false,
		"http_{id}:x": false,
	} {
		if s := parsed(t, raw); s.NotAKey() != want {
			t.Errorf("%s: %v", raw, s.NotAKey())
		}
	}
}

// TestIsPort: the name of what listens, and a port.
func TestIsPort(t *testing.T) {
	for raw, want := range map[string]bool{
		"exporter:9121": true, "api-gateway:8080": true, "redis2:6379": true, "redis-2:6379": false, "MyDB:65535": true,
		"db:65536": false,
		"db:1000":  true, "db:999": false, "user:8080": false, "db:{port}": false, "db:8080:x": false, "db/8080": false,
		"db:80x": false,
	} {
		if s := parsed(t, raw); s.IsPort() != want {
			t.Errorf("%s: %v", raw, s.IsPort())
		}
	}
}
