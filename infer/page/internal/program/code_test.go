package program

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/mention"
)

// readProgram reads a block of code as package page does. Of each mention it writes the line, the key, the type and
// the TTL, ! for a key in a command or a call, ? for one in prose; of what is passed over the reason.
func readProgram(lang, section, text string) []string {
	c := &Reader{List: &mention.List{}}
	b := markdown.Block{Line: 1, Lang: lang, Section: section, Code: strings.Split(text, "\n")}
	c.Learn(b)
	inside := Parents(b.Code)
	for i, l := range b.Code {
		if IsComment(strings.TrimSpace(l)) {
			continue
		}
		c.Line(b, i, inside[i], mention.Mention{Line: i + 1, Section: section})
	}
	return found(c)
}

// found writes the mentions of a reader.
func found(c *Reader) []string {
	var out []string
	for _, m := range c.Found {
		mark := map[mention.Place]string{mention.InProse: "?", mention.InCommand: "!"}[m.Place]
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d%s %s %s %s", m.Line, mark, m.Raw, m.Type, m.TTL)))
	}
	for _, p := range c.Passed {
		out = append(out, fmt.Sprintf("%d %s: %s", p.Line, p.Text, p.Why))
	}
	return out
}

// program is a block and what must be read of it.
type programRow struct {
	lang, text string
	want       []string
}

// holds reports the programs of which something else is read.
func holds(t *testing.T, rows []programRow) {
	t.Helper()
	for _, r := range rows {
		if got := readProgram(r.lang, "", r.text); !slices.Equal(got, r.want) {
			t.Errorf("%s:\n%s\n%q, and not %q", r.lang, r.text, got, r.want)
		}
	}
}

// TestParseCommand: a command of Redis in capitals, after a prompt, or of a client of the shell in any letters, with
// its arguments; a line of anything else is none.
func TestParseCommand(t *testing.T) {
	for line, want := range map[string][]string{
		"": nil, "GET": nil, "MULTI": nil, "FOO x": nil, "Get the user": nil, "get user:1": nil,
		"SET  a\tb ": {"SET", "a", "b"},
		"GET user:1": {"GET", "user:1"}, "redis-cli get user:1": {"GET", "user:1"},
		"$ redis-cli GET user:1":                       {"GET", "user:1"},
		"redis-cli -h x -p 6379 -n 2 GET user:1":       {"GET", "user:1"},
		"valkey-cli --raw --no-auth-warning HGETALL x": {"HGETALL", "x"},
		"sudo redis-cli DEL a b":                       {"DEL", "a", "b"},
		"docker exec -it redis redis-cli GET x":        {"GET", "x"},
		"docker compose exec redis valkey-cli GET x":   {"GET", "x"}, "redis-cli --scan --pattern x": nil,
		"127.0.0.1:6379> SET a:b 1 EX 60": {"SET", "a:b", "1", "EX", "60"}, "127.0.0.1:6379[2]> GET x": {"GET", "x"},
		"redis> TTL x": {"TTL", "x"}, "redis:6379> TTL x": {"TTL", "x"}, "> GET x": {"GET", "x"},
		"(tx) GET x":        {"GET", "x"},
		`SET "a b" 'c "d"'`: {"SET", "a b", `c "d"`}, `SET a "unclosed x`: {"SET", "a", "unclosed x"},
		"SET a # comment": {"SET", "a"},
		"SET a#b c":       {"SET", "a#b", "c"}, "GET {a b}:c": {"GET", "{a b}:c"},
		"GET <user id>:c": {"GET", "<user id>:c"},
		"GET a}b c":       {"GET", "a}b", "c"},
		"GET {a b":        {"GET", "{a b"}, `GET ""`: nil, "GET \xff": {"GET", "\xff"},
	} {
		name, args := ParseCommand(line)
		got := append([]string{name}, args...)
		if name == "" {
			got = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, and not %q", line, got, want)
		}
	}
}

// TestFindCommand: a command alone, in an arrow of a diagram, or in a step, which programs do not have.
func TestFindCommand(t *testing.T) {
	for _, c := range []struct{ line, lang, want string }{
		{"GET x:y", "", "GET [x:y]"}, {"GET x:y", "go", "GET [x:y]"}, {"App->>Redis: GET x:y", "mermaid", "GET [x:y]"},
		{"App-->>Cache: SET(a:b, 1)", "", "SET [a:b 1]"}, {"App->>+my_redis2: hgetall x", "", "HGETALL [x]"},
		{"A->>DB: GET x", "", " []"},
		{"A->>Redis: hello", "", " []"}, {"save → SET x:y 1", "", "SET [x:y 1]"}, {"save → SET x:y 1", "go", " []"},
		{"save -> set x", "", " []"},
		{"x => GET a:b", "", "GET [a:b]"}, {"", "", " []"},
	} {
		name, args := FindCommand(c.line, c.lang)
		if got := fmt.Sprintf("%s %s", name, args); got != c.want {
			t.Errorf("%q in %q: %s, and not %s", c.line, c.lang, got, c.want)
		}
	}
}

// TestCommand: what a command tells of its key: the type, the TTL of the options that it has, and that a string that
// is written once for a time is a lock. A field or a member that is called like an option is none.
func TestCommand(t *testing.T) {
	for line, want := range map[string]string{
		"GET user:42": "1! user:42 string", "SET user:42 1 EX 60": "1! user:42 string 1m",
		"SET user:42 1 px 60000": "1! user:42 string 1m",
		"SET user:42 EX 60":      "1! user:42 string 1m", "SET user:42 v EX": "1! user:42 string",
		"SET user:42 v EX n":  "1! user:42 string",
		"GETEX user:42 EX 60": "1! user:42 string 1m", "SET lock:42 1 NX PX 60000": "1! lock:42 lock 1m",
		"SET lock:42 1 NX":       "1! lock:42 string",
		"SET user:42 1 NX EX 60": "1! user:42 string 1m", "SETEX user:42 60 v": "1! user:42 string 1m",
		"SETEX user:42":          "1! user:42 string",
		"PSETEX user:42 60000 v": "1! user:42 string 1m", "EXPIRE user:42 60": "1! user:42  1m",
		"PEXPIRE user:42 60000":       "1! user:42  1m",
		"EXPIREAT user:42 1700000000": "1! user:42", "HSET user:42 ex 60": "1! user:42 hash",
		"LPUSH user:42 EX 60 PX 5": "1! user:42 list",
		"SADD lock:42 NX EX":       "1! lock:42 set", "ZADD user:42 NX 1 x": "1! user:42 zset",
		"XADD user:42 * f v": "1! user:42 stream",
		"XACK user:42 g 1-1": "1! user:42 stream", "XREAD COUNT 2 STREAMS user:42 $": "1! user:42 stream",
		"XREAD STREAMS": "", "XREAD user:42": "1! user:42",
		"PUBLISH user:42 x": "1! user:42 channel", "DEL user:*": "", "KEYS user:*": "none", "DEL user:42": "1! user:42",
		"DEL 42":        "",
		"SET key value": "", "GET EX": "",
	} {
		name, args := ParseCommand(line)
		if (name == "") != (want == "none") {
			t.Errorf("%s: %q", line, name)
		}
		if name == "" {
			continue
		}
		c := &Reader{List: &mention.List{}}
		before := slices.Clone(args)
		c.Command(name, args, mention.Mention{Line: 1})
		if got := strings.Join(found(c), "|"); got != want || !slices.Equal(args, before) {
			t.Errorf("%s: %q, and not %q", line, got, want)
		}
	}
}

// TestReply: what the server answers to TYPE and TTL is of the key just before, which knows its own better.
func TestReply(t *testing.T) {
	for _, c := range []struct{ name, answer, want string }{
		{"TYPE", "hash", "1! user:42 hash 1m"}, {"TYPE", `"zset"`, "1! user:42 zset 1m"},
		{"TYPE", "none", "1! user:42 string 1m"},
		{"TYPE", "(error) x", "1! user:42 string 1m"}, {"TTL", "(integer) -1", "1! user:42 string 1m"},
		{"GET", "hash", "1! user:42 string 1m"},
	} {
		r := &Reader{List: &mention.List{}}
		r.Reply(c.name, []string{c.answer}) // of no key
		r.Command("SETEX", []string{"user:42", "60", "v"}, mention.Mention{Line: 1})
		r.Reply(c.name, nil)
		r.Reply(c.name, []string{" " + c.answer})
		if got := strings.Join(found(r), "|"); got != c.want {
			t.Errorf("%s %s: %q, and not %q", c.name, c.answer, got, c.want)
		}
	}
	for answer, want := range map[string]string{"(integer) -1": "1! user:42 string none",
		"(integer) -10": "1! user:42 string",
		"(integer) 60":  "1! user:42 string", "(integer) -2": "1! user:42 string"} {
		for _, name := range []string{"TTL", "PTTL"} {
			r := &Reader{List: &mention.List{}}
			r.Command("GET", []string{"user:42"}, mention.Mention{Line: 1})
			r.Reply(name, []string{answer})
			if got := strings.Join(found(r), "|"); got != want {
				t.Errorf("%s %s: %q, and not %q", name, answer, got, want)
			}
		}
	}
}

// TestCalls: the calls of clients in a dozen languages tell the key, with what is joined to it or put into it, the
// type and the TTL.
func TestCalls(t *testing.T) {
	holds(t, []programRow{
		{"py", `r.set(f"user:{id}", v, ex=60)`, []string{"1! user:{id} string 1m"}},
		{"py", `r.hset("user:%s" % uid, mapping=x)`, []string{"1! user:{uid} hash"}},
		{"py", `r.set("user:{}:x".format(user.id), v)`, []string{"1! user:{id}:x string"}},
		{"py", `r.set("user:{1}:{0}:{}".format(a, b), v)`, []string{"1! user:{b}:{a}:{} string"}},
		{"py", `r.set("user:{name}:{day:%Y%m%d}".format(name=n, day=d), v)`,
			[]string{"1! user:{name}:{YYYYMMDD} string"}},
		{"py", `r.set("user:" + str(id) + ":x", v)`, []string{"1! user:{id}:x string"}},
		{"py", `key = f"day:{d:%Y-%m-%d}:{t:%H}"`, []string{"1 day:{YYYY-MM-DD}:{t}"}},
		{"py", `r.setex('user:%s:%d' % (a, b), 60, v)`, []string{"1! user:{a}:{b:d} string 1m"}},
		{"py", `r.lpush("user:%s:%s" % (a,), v)`, []string{"1! user:{a}:%s list"}},
		{"go", `rdb.Set(ctx, fmt.Sprintf("user:%d:x", id), v, time.Hour)`, []string{"1! user:{id:d}:x string 1h"}},
		{"go", `rdb.HSet(ctx, "user:"+id, m)`, []string{"1! user:{id} hash"}},
		{"go", `rdb.SetNX(ctx, "lock:"+id, 1, 5*time.Second)`, []string{"1! lock:{id} string 5s"}},
		{"go", `rdb.Get(ctx, "visits")`, []string{"1 visits: it is a word alone in a program, which may be anything"}},
		{"go", `const keyUser = "user:%s"`, []string{"1 user:%s"}},
		{"go", `return "user:" + id`, []string{"1 user:{id}"}},
		{"go", `x("user:%s:y")`, []string{"1? user:%s:y"}}, {"go", `x("user", "a:b")`, nil},
		{"js", "await redis.set(`user:${id}`, v, 'EX', 60)", []string{"1! user:${id} string 1m"}},
		{"js", "await client.zAdd(`board:${day}`, x) // top players, kept 7 days", []string{"1! board:${day} zset 7d"}},
		{"js", "redlock.acquire('lock:x:y', 5)", []string{"1? lock:x:y"}}, {"js", "lock('lock:x:y', 5)", nil},
		{"js", "lockKey('lock:x:y')", []string{"1 lock:x:y"}},
		{"js", "{ channels: ['chat:room', 'chat:all'] }", []string{"1 chat:room channel", "1 chat:all channel"}},
		{"java", `redisTemplate.opsForHash().put("user:" + id, f, v);`, []string{"1! user:{id} hash"}},
		{"java", `redisTemplate.opsForZSet().add("board:" + id, f, v);`, []string{"1! board:{id} zset"}},
		{"java", `template.opsForValue().set("user:" + id, v, Duration.ofMinutes(5));`,
			[]string{"1! user:{id} string 5m"}},
		{"ruby", `Rails.cache.fetch("user:#{id}", expires_in: 1.hour) do`, []string{"1! user:#{id} string 1h"}},
		{"ruby", `redis.setex("user:%{id}" % { id: x }, 60, v)`, []string{"1! user:%{id} string 1m"}},
		{"php", `Cache::remember("user:{$id}", 600, fn() => 1);`, []string{"1! user:{$id} string 10m"}},
		{"php", `$redis->hSet('user:' . $id, 'f', 1);`, []string{"1! user:{id} hash"}},
		{"cs", `db.StringSetAsync($"user:{id}", v, TimeSpan.FromMinutes(5));`, []string{"1! user:{id} string 5m"}},
		{"cs", `db.SortedSetAdd("board:x", 1)`, []string{"1! board:x zset"}},
		{"cs", `db.KeyExpire("board:x", 1)`, []string{"1! board:x"}},
		{"rust", `con.set_ex(format!("user:{}", id), v, 60)`, []string{"1! user:{} string 1m"}},
		{"js", `x("user:{id}:y") // list of ids, TTL 5 min`, []string{"1? user:{id}:y list 5m"}},
		{"js", `x("user:{id}:y", "user:{id}:z") // list of ids`, []string{"1? user:{id}:y", "1? user:{id}:z"}},
		{"js", `x("feed:newest") // sorted set`, []string{"1 feed:newest zset"}},
		{"js", `x("user:{id}:y") // uid of id (hSet)`,
			[]string{"1? user:{id}:y hash"}},
		{"js", `"unclosed user:{id}:x`, nil}, {"js", `'a' "b" `, nil}, {"js", "", nil}, {"js", `"\"user:{id}:x\""`, nil},
	})
}

// TestVerbs: a method of a client tells what its command does, also in the names of other clients; one that only
// begins like it tells nothing.
func TestVerbs(t *testing.T) {
	for name, want := range map[string]string{
		"SET": "string true", "HGETALL": "hash true", "HGET_ALL": "hash true", "ZADDASYNC": "zset true", "DEL": " true",
		"STRINGSET":       "string true",
		"HASHGETALLASYNC": "hash true", "SORTEDSETADD": "zset true", "SETADD": "set true", "LISTLEFTPUSH": "list true",
		"KEYEXPIRE": " true",
		"GEOADD":    "zset true", "GEORADIUS": " false", "": " false", "_": " false", "ASYNC": " false",
		"SETTINGS": " false", "LISTX": " false",
	} {
		typ, known := verbOf(name)
		if got := fmt.Sprintf("%s %v", typ, known); got != want {
			t.Errorf("%s: %s, and not %s", name, got, want)
		}
	}
	for text, want := range map[string]string{"": "", "by hSet": "hash", "a set of get": "",
		"LPUSH, then ZADD": "list", "del": "", "expire": ""} {
		if got := verbIn(text); got != want {
			t.Errorf("%q: %q, and not %q", text, got, want)
		}
	}
}

// TestWithinCall: what is left of the arguments of a call, up to its bracket or a comment.
func TestWithinCall(t *testing.T) {
	for text, want := range map[string]string{"": "", "a, b) c": "a, b", "f(x), [1] {2}) c": "f(x), [1] {2}",
		"a // b": "a ", "a # b": "a ",
		"f(a // b) c": "f(a // b) c", "a / b": "a / b", "((": "((", ")": ""} {
		if got := withinCall(text); got != want {
			t.Errorf("%q: %q, and not %q", text, got, want)
		}
	}
}
