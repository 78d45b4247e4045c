package serve_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value/seal"
)

const sealedKeys = `keywright: 1
package: shop
owner: shop
owns: ["v:*", "?v:jobs?*"]
vars: {id: int 0..}
keys:
  plain: {key: "v:plain:{id}", type: hash, fields: {name: text}, ttl: any}
  phone: {key: "v:phone:{id}", type: string, value: text encrypted, ttl: any, was: ["old:phone:{id}"]}
  user: {key: "v:user:{id}", type: hash, fields: {name: text, phone: text encrypted optional}, ttl: any}
  open: {key: "v:open:{id}", type: hash, value: text encrypted, ttl: any}
  notes: {key: "v:notes:{id}", type: list, member: text encrypted, ttl: any}
  doc: {key: "v:doc:{id}", type: string, value: {name: text, phone: text encrypted}, ttl: any}
  log: {key: "v:log", type: stream, fields: {name: text, phone: text encrypted optional}, maxlen: 1000, ttl: any}
  jobs: {key: "{#v:jobs}", type: queue, value: text encrypted, ttl: none}
  lock: {key: "v:lock:{id}", type: lock, ttl: 30s}
`

// showing returns a server with users, whose target is a real one.
func showing(t *testing.T, s *keywrighttest.Server, g auth.Guard) *guarded {
	t.Helper()
	ks, found := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(sealedKeys)}}, "keyspace.yaml")
	if finding.Count(found).Errors > 0 {
		t.Fatal(found)
	}
	config, err := connect.New(connect.Options{URL: s.URL(), Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	target, err := observe.New(observe.Options{ID: "main", Declaration: observe.Declaration{Keyspace: ks}, Now: time.Now,
		Server: &observe.Server{Config: config}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	desk, err := operate.Open(dir, operate.Options{Now: time.Now, Changed: func(string, []observe.Run, observe.Run) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = desk.Close() })
	return &guarded{t, serve.New(serve.Options{Targets: []*observe.Target{target}, Rules: audit.Rules(), Now: time.Now,
		Guard: g, Desk: desk}), dir}
}

const values = "/api/v1/t/main/value"

// look asks for the value of a key.
func (g *guarded) look(key string, header ...string) *httptest.ResponseRecorder {
	g.Helper()
	text, err := json.Marshal(map[string]any{"key": map[string]any{"text": "", "base64": []byte(key)}})
	if err != nil {
		g.Fatal(err)
	}
	return g.send("POST", values, string(text), append(header, asJSON...)...)
}

// seen returns the value of a key, for the local user.
func (g *guarded) seen(key string) (v serve.ValuePage, text string) {
	g.Helper()
	w := g.want(200, "", g.look(key, auth.CSRFHeader, g.me().CSRF))
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		g.Fatal(err)
	}
	return v, w.Body.String()
}

// TestValues: values of each type are shown, bytes that are no text as base64, and those of large ones in part.
func TestValues(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	g := showing(t, s, auth.Guard{ShowValues: true})
	s.Do("HSET", "v:plain:1", "name", "<script>alert(1)</script>\u202e")
	s.Do("SET", "str", "line\n\ttext 店", "PX", "600000")
	s.Do("SET", "bytes", "\x00\xff\x1b[31m")
	s.Do("RPUSH", "list", "a", "", "\xff")
	s.Do("SADD", "set", "m")
	s.Do("ZADD", "zset", "-inf", "low", "0.1", "mid")
	s.Do("XADD", "stream", "1-1", "a", "1", "b", "\xfe")
	// begins as a sealed text does, and has no id of a key
	s.Do("SET", "proto", "\x08\x01\x12\x03"+strings.Repeat("x", 40))
	s.Do("SET", "\xff\xfe", "of a name that is no text")
	for key, want := range map[string][]string{
		"v:plain:1": {`"type":"hash"`, `"entry":"plain"`, `"text":"name"`, `\u003cscript\u003ealert(1)`, `\u202e`},
		"str":       {`"type":"string"`, `"text":"line\n\ttext 店"`, `"size":14`},
		"bytes":     {`"base64":"` + base64.StdEncoding.EncodeToString([]byte("\x00\xff\x1b[31m")) + `"`},
		"list":      {`"type":"list"`, `"text":"a"`, `"text":"","length":0`, `"base64":"/w=="`, `"size":3`},
		"set":       {`"type":"set"`, `"text":"m"`},
		"zset":      {`"type":"zset"`, `"score":"-inf"`, `"text":"low"`, `"score":"0.1"`},
		"stream":    {`"type":"stream"`, `"text":"1-1"`, `"name":{"text":"a"`, `"base64":"/g=="`, `"of":2`},
		"proto":     {`\u0003xxx`, `"sealed":0`},
		"\xff\xfe":  {"of a name that is no text", `"base64":"//4="`},
		"none":      {`"exists":false`, `"elements":[]`},
	} {
		v, text := g.seen(key)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%q lacks %s: %s", key, part, text)
			}
		}
		if v.Cut != "" || v.Hidden != "" || v.Sealed != 0 {
			t.Errorf("%q is not shown whole: %s", key, text)
		}
	}
	if ttl := s.Do("PTTL", "str").(int64); ttl <= 0 {
		t.Error("the TTL is", ttl)
	}
}

// TestValuesAreBounded: of what is large a part is shown, and it is said of how much.
func TestValuesAreBounded(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	g := showing(t, s, auth.Guard{ShowValues: true})
	s.Do("SET", "str", strings.Repeat("店", 1<<20))
	s.Do("EVAL", `for i = 1, 3000 do redis.call('RPUSH', 'list', i) redis.call('HSET', 'hash', 'f'..i, i)
		redis.call('SADD', 'set', i) redis.call('ZADD', 'zset', i, i) redis.call('XADD', 'stream', i..'-1', 'a', i) end`, "0")
	for i := range 3 {
		s.Do("HSET", "heavy", "f"+strconv.Itoa(i), strings.Repeat("x", 1<<20))
	}
	s.Do("RPUSH", "giant", strings.Repeat("x", 9<<20))
	for key, want := range map[string]string{
		"str": "the first 65,536 bytes", "list": "the first 100 of 3,000 elements", "hash": "100 of 3,000 fields, at random",
		"set": "100 of 3,000 members, at random", "zset": "the 100 of 3,000 members with the lowest scores",
		"stream": "the latest 100 of 3,000 entries", "heavy": "1 of 3 fields, at random; of all texts",
		"giant": "the next element has more than 8 MiB",
	} {
		v, text := g.seen(key)
		if !strings.Contains(v.Cut, want) || len(text) > 128<<10 {
			t.Errorf("%s: %q, not %q, in %d bytes", key, v.Cut, want, len(text))
		}
	}
	if v, _ := g.seen("str"); v.Size != 3<<20 || v.Elements[0].Value.Base64 != nil || !v.Elements[0].Value.Cut {
		t.Errorf("a text that was cut in the middle of a character is no text: size %d", v.Size)
	}
}

// TestSealedValuesAreNeverShown: what is declared encrypted is not shown, also where it is plain text still,
// nor what looks sealed, nor what a lock has.
func TestSealedValuesAreNeverShown(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	g := showing(t, s, auth.Guard{ShowValues: true})
	ring, err := seal.Parse([]byte(`{"ring":1,"active":"9f3c21d0","keys":{"9f3c21d0":"` +
		base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))) + `"}}`))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := ring.Seal(keywright.Place{Schema: "shop", Key: "x"}, "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	inText := base64.StdEncoding.EncodeToString([]byte(sealed))
	const secret = "s3cret"
	s.Do("SET", "v:phone:1", secret)
	s.Do("SET", "old:phone:1", secret)
	s.Do("RPUSH", "v:phone:2", secret)
	s.Do("HSET", "v:user:1", "name", "Yamada", "phone", secret)
	s.Do("HSET", "v:open:1", "any", secret)
	s.Do("RPUSH", "v:notes:1", secret)
	s.Do("SET", "v:doc:1", `{"name":"Yamada","\u0070hone":"s3cret"}`)
	s.Do("SET", "v:doc:2", `{"name":"Yamada","phone":"s3cret"`)
	s.Do("SET", "v:doc:3", `["s3cret"]`)
	s.Do("SET", "v:doc:4", `{"phone":"s3cret","name":"`+strings.Repeat("x", 70000)+`"}`)
	s.Do("XADD", "v:log", "1-1", "name", "Yamada", "phone", secret)
	s.Do("SET", "v:lock:1", secret)
	s.Do("SET", "other:1", sealed)
	s.Do("SET", "other:2", `{"phone":"`+inText+`","note":"s3cret"}`)
	s.Do("SET", "other:3", "1 2 3 a line of a job\n"+sealed)
	s.Do("RPUSH", "other:4", "Yamada", sealed)
	s.Do("HSET", "other:5", "phone", "\x02"+sealed[1:], "name", "Yamada") // of a later version
	s.Do("ZADD", "other:6", "1", sealed)
	const job = "{v:jobs}:job:1"
	s.Do("SET", job, "head\n"+secret)
	for key, want := range map[string]string{
		"v:phone:1": `"hidden":"sealed"`, "old:phone:1": `"hidden":"sealed"`, "v:phone:2": `"hidden":"sealed"`,
		"v:user:1": "Yamada", "v:open:1": `"sealed":1`, "v:notes:1": `"hidden":"sealed"`, "v:doc:1": "Yamada",
		"v:doc:2": `"hidden":"sealed"`, "v:doc:3": `"hidden":"sealed"`, "v:doc:4": `"hidden":"sealed"`, "v:log": "Yamada",
		"v:lock:1": `"hidden":"lock"`, "other:1": `"sealed":1`, "other:2": `"sealed":1`, "other:3": `"sealed":1`,
		"other:4": "Yamada", "other:5": "Yamada", "other:6": `"sealed":1`, job: `"hidden":"sealed"`,
	} {
		_, text := g.seen(key)
		for _, not := range []string{secret, inText, base64.StdEncoding.EncodeToString([]byte(secret)), inText[:20]} {
			if strings.Contains(text, not) {
				t.Errorf("%s shows %s: %s", key, not, text)
			}
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %s: %s", key, want, text)
		}
	}
}

// tokensOf gives alice, who may look at pages, and bob, an operator, their tokens.
func tokensOf() (out []auth.Token) {
	for _, u := range []auth.User{{Name: "alice", Role: auth.Viewer}, {Name: "bob", Role: auth.Operator}} {
		out = append(out, auth.Token{User: u, Digest: sha256.Sum256([]byte(u.Name + "'s secret"))})
	}
	return out
}

// TestValuesByFlagAndRole: only operators see values, only where the flag is given, only by requests of their own, and
// each look is noted, without the value.
func TestValuesByFlagAndRole(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	s.Do("SET", "key\xff", "s3cret")
	g := showing(t, s, auth.Guard{AllowApply: true, ShowValues: true, Tokens: tokensOf()})
	alice, bob := []string{"Authorization", "Bearer alice's secret"}, []string{"Authorization", "Bearer bob's secret"}
	if g.me(alice...).ShowValues || !g.me(bob...).ShowValues {
		t.Error("the page would offer values to the wrong user")
	}
	log := filepath.Join(g.dir, "looks.log")
	g.want(401, "no-token", g.look("key\xff"))
	g.want(403, "not-operator", g.look("key\xff", alice...))
	g.want(404, "no-such-path", g.send("GET", values+"?key=x", "", bob...))
	g.want(400, "bad-json", g.send("POST", values, `{}`, append(bob, asJSON...)...))
	g.want(400, "bad-json", g.send("POST", values, `{"key":{"text":7}}`, append(bob, asJSON...)...))
	g.want(413, "too-long", g.look(strings.Repeat("x", 70000), bob...))
	if files, _ := filepath.Glob(log); files != nil {
		t.Error("a look that was refused is noted as one")
	}
	if text := g.want(200, "", g.look("key\xff", bob...)).Body.String(); !strings.Contains(text, "s3cret") {
		t.Error(text)
	}
	noted := expect.Text(t, log)
	for _, part := range []string{`"user":"bob"`, `"from":"192.0.2.1"`, `"action":"look"`, `"target":"main"`,
		`"base64":"a2V5/w=="`} {
		if !strings.Contains(noted, part) {
			t.Errorf("the log lacks %s: %s", part, noted)
		}
	}
	if strings.Contains(noted, "s3cret") || strings.Count(noted, "\n") != 1 {
		t.Error(noted)
	}
	blockFile(t, log)
	if w := g.want(507, "not-logged", g.look("key\xff", bob...)); strings.Contains(w.Body.String(), "s3cret") {
		t.Error("what was not noted is shown")
	}

	off := showing(t, s, auth.Guard{AllowApply: true})
	off.want(403, "not-allowed", off.look("key\xff", auth.CSRFHeader, off.me().CSRF))
	on := showing(t, s, auth.Guard{ShowValues: true})
	on.want(403, "no-csrf", on.look("key\xff"))
	on.want(403, "other-site", on.look("key\xff", auth.CSRFHeader, on.me().CSRF, "Origin", "http://evil.example"))
	on.want(403, "not-allowed", on.send("POST", plans, askable, append(asJSON, auth.CSRFHeader, on.me().CSRF)...))
	if _, text := on.seen("key\xff"); !strings.Contains(text, "s3cret") {
		t.Error(text)
	}
	s.Kill()
	if w := on.want(503, "server-away", on.look("key\xff", auth.CSRFHeader, on.me().CSRF)); strings.Contains(
		w.Body.String(), "s3cret") {
		t.Error(w.Body)
	}
	still := newGate(t, auth.Guard{ShowValues: true}) // a snapshot
	still.want(409, "no-server", still.look("x", auth.CSRFHeader, still.me().CSRF))
}

// TestLogOfLooks: the log of looks is bounded.
func TestLogOfLooks(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	g := showing(t, s, auth.Guard{ShowValues: true})
	log := filepath.Join(g.dir, "looks.log")
	writeFile(t, log, []byte(strings.Repeat("x\n", 3<<20)))
	g.seen(strings.Repeat("k", 40000))
	if text := expect.Text(t, log); len(text) > 8192 || !strings.Contains(text, `"action":"look"`) ||
		len(expect.Text(t, log+".1")) != 6<<20 {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}
