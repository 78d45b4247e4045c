package golang_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/gen/golang"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// loaded reads a declaration that must be sound.
func loaded(t testing.TB, dir, name string) *keyspace.Keyspace {
	t.Helper()
	ks, found := load.File(os.DirFS(dir), name)
	if c := finding.Count(found); c.Errors > 0 {
		t.Fatalf("%s: %s", dir, found[0].Message)
	}
	return ks
}

func declare(t testing.TB, text string) *keyspace.Keyspace {
	t.Helper()
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}, "s.lua": {Data: []byte("return KEYS[1]")}},
		"k.yaml")
	if c := finding.Count(found); c.Errors > 0 {
		t.Fatalf("%.300s\n%s", text, found[0].Message)
	}
	return ks
}

// compile vets packages as if they stood in this module, without writing there.
func compile(t testing.TB, packages map[string][]byte) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := map[string]string{}
	var paths []string
	for name, text := range packages {
		file := filepath.Join(dir, name+".go")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(root, "internal", "zz_generated_"+name, name+".go")] = file
		paths = append(paths, "./internal/zz_generated_"+name)
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append([]string{"build", "-gcflags=-N -l", "-overlay", file}, paths...)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the generated code does not compile: %v\n%.6000s", err, out)
	}
}

func generate(t testing.TB, ks *keyspace.Keyspace) []byte {
	t.Helper()
	files, err := golang.Generate(ks)
	if err != nil {
		t.Fatal(err)
	}
	return files[0].Text
}

// everyType has an entry per type, and every scalar type as placeholder, field,
// member and value.
func everyType() string {
	types := []string{"text", "text max 9", "int", "int 1..5", "int -3..", "int ..9", "float", "bool", "bytes", "uuid",
		"ulid", "hex", "hex 8", "slug", "date", "date YYYYMMDD-HH", "timestamp", "unix_s", "unix_ms", "red|green",
		"/(a|b|c)+x?/"}
	var b strings.Builder
	b.WriteString("keywright: 1\npackage: every\nowner: o\nvars: {color: red|green|two-words|Red, a: int, b: int 1.., word: low|high, n: int 0.., u: uuid, tail: text rest, d: date YYYYMMDD, hour: date YYYY-MM-DD-HH}\nkeys:\n")
	b.WriteString("  object: {key: \"o:{color}\", type: string, ttl: 1d, value: {")
	for i, typ := range types {
		fmt.Fprintf(&b, "f%d: \"%s\", g%d: \"%s optional\", ", i, typ, i, typ)
	}
	b.WriteString(
		"j: json, s: text encrypted, t: json optional encrypted}}\n  fixed: {key: \"h:{hour}\", type: hash, ttl: 1d " +
			"sliding, fields: {")
	for i, typ := range types {
		fmt.Fprintf(&b, "f%d: \"%s\", g%d: \"%s optional\", ", i, typ, i, typ)
	}
	b.WriteString("color: color, j: json, s: text encrypted}}\n")
	for i, typ := range types {
		fmt.Fprintf(&b, "  p%d: {key: \"p%d:{p%d}:x\", type: string, value: \"%s\", ttl: 5m in 1m..1h ~10%%}\n", i, i, i, typ)
		fmt.Fprintf(&b, "  l%d: {key: \"l%d\", type: list, member: \"%s\", ttl: any}\n", i, i, typ)
		fmt.Fprintf(&b, "  s%d: {key: \"s%d\", type: set, member: \"%s\", ttl: none}\n", i, i, typ)
		fmt.Fprintf(&b, "  m%d: {key: \"m%d\", type: hash, field: \"%s\", value: \"%s\", ttl: 90s}\n", i, i, typ, typ)
	}
	b.WriteString(`  z1: {key: z1, type: zset, member: uuid, score: int 0.., ttl: none}
  z2: {key: z2, type: zset, score: float, ttl: none}
  z3: {key: z3, type: zset, score: unix_s, ttl: none}
  z4: {key: z4, type: ranking, score: unix_ms, ttl: 7d}
  st: {key: "st:{color}", type: stream, fields: {who: text, n: int optional}, maxlen: 100, groups: [a, b c], ttl: none}
  st2: {key: st2, type: stream, ttl: 1d}
  en1: {key: "en1:{a}", type: string, value: int encrypted, ttl: 1d}
  en2: {key: "en2:{a}", type: hash, fields: {s: int encrypted, t: "color encrypted optional", u: bytes encrypted}, ttl: 1d}
  en3: {key: "en3:{a}", type: hash, field: uuid, value: unix_ms encrypted, ttl: 1d}
  en4: {key: "en4:{a}", type: list, member: json encrypted, ttl: 1d}
  en5: {key: "en5:{a}", type: stream, fields: {s: float encrypted, t: text}, ttl: 1d}
  en6: {key: "en6:{a}", type: cache, value: {s: bytes encrypted optional, t: int encrypted}, ttl: 1d}
  en7: {key: "en7:{a}", type: cache, value: text encrypted, ttl: 1d}
  en8: {key: en8, type: queue, value: json encrypted, ttl: none}
  en9: {key: en9, type: queue, value: {s: text encrypted, n: int}, ttl: none}
  c: {key: c, type: counter, ttl: 1d}
  r: {key: "r:{ip}", type: ratelimit, rate: 5 per 1m, ttl: 5m}
  k: {key: "k:{id}", type: lock, ttl: 1m}
  q: {key: "q:{color}", type: queue, order: color, ttl: none}
  k2: {key: "lock:{lock}:{keys}", type: lock, ttl: 1m, notify: "free:{keys}:{lock}", fence: "f:{lock}:{keys}", waiters: "w:{keys}:{lock}", shared: "sh:{lock}:{keys}"}
  q2: {key: "{queue}:q:{a}:{color}:{d}", type: queue, order: color, ttl: 1d, lease: 5s, retry: 3, value: json, job: "{queue}:j:{a}:{d}:{b}", result: "{d}:rs:{queue}:{a}:{job}", unique: "un:{queue}:{a}:{d}:{name}:x", notify: "rdy:{queue}:{a}:{d}"}
  q4: {key: "q4:{color}", type: queue, order: color, ttl: none, value: {to: text, at: unix_ms, n: int optional}}
  q3: {key: "one:{t}", type: queue, ttl: none, value: uuid, job: "one:{t}:{u}"}
  ca: {key: "ca:{cache}:{limit}", type: cache, value: {a: int, b: text optional}, ttl: 10m ~10%, fresh: 5m, absent: 3s}
  ca2: {key: "ca2:{a}", type: cache, value: int, ttl: any, fill: "ca2f:{a}"}
  ca3: {key: "ca3:{a}:{b}", type: cache, ttl: none, fill: "ca3f:{b}:{a}"}
  li2: {key: "li2:{ip}", type: ratelimit, rate: 100 per 90s, algorithm: sliding, ttl: 5m}
  li3: {key: "li3:{ip}", type: ratelimit, rate: 100 per 1h, algorithm: fixed, ttl: 2h}
  li4: {key: "li4:{ip}", type: ratelimit, rate: 100 per 1h burst 7, ttl: 2h}
  ra: {key: "ra:{ranking}:{d}", type: ranking, member: int, score: int 0.., ttl: 7d, cached: 5m}
  ra2: {key: "ra2:{hour}", type: ranking, member: uuid, score: int, ties: first, ttl: 7d}
  ra3: {key: "ra3:{hour}", type: ranking, ttl: 7d, cached: 1m}
  ra4: {key: "ra4:{d}:{weights}:{end}:{board}", type: ranking, ttl: 7d, score: float, cached: 1m, window: "win:{end}:{board}:{weights}:{x}"}
  e: {key: "e:{id}", type: entity, ttl: 1h, fields: {kind: color, at: unix_ms}, index: {kind: "ei:{kind}", at: ea, expires: ex}}
  first: {key: "{color}:first", type: entity, ttl: 1h, fields: {kind: word, at: unix_ms, color: color}, index: {kind: "fi:{kind}", at: fz}, emits: {create: made, delete: made}}
  first2: {key: "{color}:first2:{word}", type: entity, ttl: 1h, fields: {kind: word, at: unix_ms}, index: {kind: "{color}:fj:{kind}", at: "{color}:fx"}, emits: {update: made2, expire: made2}}
  go: {key: "go:{a}:{b}", type: entity, ttl: 1h, fields: {pressure: color, pri: int 1..9 optional, at: unix_s}, index: {pressure+at: "gp:{pressure}", pri+at: "gq:{pri}:x"}}
  run: {type: script, file: s.lua, keys: [object, fixed], args: {n: int, c: color, j: json}, returns: int}
  run2: {type: script, file: s.lua, keys: [c], effect: reads}
  run3: {type: script, file: s.lua, keys: [c], effect: idempotent, returns: bool}
channels:
  ch: "ch:{color}:{n}"
  ch2: x
  made: {channel: "{color}:made", message: {color: color}}
  made2: {channel: "{word}:made:{color}", message: {word: word, color: color}, durable: {maxlen: 9}}
  said: {channel: "said:{color}", message: {a: int, who: uuid, at: unix_ms, more: text optional, kind: color, raw: json optional}}
  plain: {channel: plain, envelope: plain, message: {a: a}}
  shard: {channel: "shard", sharded: true, message: {a: a, b: b optional}}
  kept: {channel: "kept:{color}", durable: {maxlen: 1000, age: 7d, groups: [mail, b c], retry: 3}, message: {a: a, error: text, name: text}}
  kept2: {channel: "kept2", durable: true, envelope: plain}
  ask: {channel: "ask:{color}", message: {q: text}, reply: {a: int, e: text optional}}
  ask2: {channel: "ask2:{name}", reply: {a: int}, reply_channel: "answers:{err}:{name}"}
  ask3: {channel: "ask3", reply: {a: int}, reply_channel: "answers3"}
pressure:
  - {at: 7%, entry: go, where: {pri: 1..3}, shorten: to 1500ms}
  - {at: 80%, entry: go, where: {pressure: two-words|Red}, release: to 75%}
events: {gone: {with: [color, hour], deletes: [object, fixed]}, told: {with: [color, hour, a, b, who, at, kind, error, name], deletes: [object], emits: [said, kept, shard]}, said_only: {with: [a], emits: [plain]}, raw: {with: [color, n], deletes: [object], emits: [ch, ch2, kept2]}, nothing: {with: [id], deletes: [k]}, stale: {with: [a, b, cache, limit], deletes: [ca, ca2, ca3]}}
`)
	text := b.String()
	var vars strings.Builder
	for i, typ := range types {
		fmt.Fprintf(&vars, ", p%d: \"%s\"", i, typ)
	}
	return strings.Replace(text, "hour: date YYYY-MM-DD-HH}", "hour: date YYYY-MM-DD-HH"+vars.String()+"}", 1)
}

// TestEncryptedIsSealed: nothing that is declared encrypted has a codec that
// writes plain text, and its entries know what they are bound to.
func TestEncryptedIsSealed(t *testing.T) {
	code := strings.Join(strings.Fields(string(generate(t, declare(t, everyType())))), " ") // lines are broken somewhere
	for _, want := range []string{
		`var value_En1 = value.Encrypt(value.Int(`, `value.Encrypted(value.Required("s", codec_En2Value_S,`,
		`value.Encrypted(value.Optional("t", codec_En2Value_T,`,
		`typed.NewField(h.Key, "s", &sealed_codec_En2Value_S, false)`, `var value_En3 = value.Encrypt(value.UnixMS())`,
		`var member_En4 = value.Encrypt(value.Raw())`,
		`value.Encrypted(value.Required("s", codec_En5Value_S,`, `value.EncryptedMember(value.OptionalMember("s",`,
		`var value_En6 = value.SealedObject(members_En6Value)`,
		`var value_En7 = value.Encrypt(value.Text(0))`, `var payload_En8 = value.Encrypt(value.Raw())`,
		`var payload_En9 = value.SealedObject(members_En9Value)`,
		`Type: "hash", TTL: keywright.TTL{Policy: keywright.Expires, Default: 24 * time.Hour, Min: 24 * time.Hour, Max: 24 * time.Hour, Text: "1d"}, Schema: "every"}`,
	} {
		if !strings.Contains(code, want) {
			t.Errorf("it has no %s", want)
		}
	}
	if n := strings.Count(code, `Schema: "every"`); n < 9 || strings.Contains(code, "value.Opaque()") {
		t.Errorf("%d entries know their schema", n)
	}
}

// TestNoListByExpiry: the index of the expiry times is the store's own; it refuses
// to list by it.
func TestNoListByExpiry(t *testing.T) {
	if code := string(generate(t, declare(t, everyType()))); strings.Contains(code, "ByExpires") ||
		!strings.Contains(code, "ByKind(") {
		t.Error("there is a method for the index of the expiry times, or none for that of the kind")
	}
}

// channelsOnly needs few imports; one too many does not compile (TestHostileDeclarations).
const channelsOnly = `keywright: 1
package: channels
owner: o
vars: {kind: a|b}
keys: {}
channels:
  told: {channel: "told:{kind}", message: {n: int, note: text optional}}
  secret: {channel: secret, message: {n: int, s: text encrypted}}
  ask: {channel: "ask:{kind}", message: {n: int}, reply: {m: float}}
  named: {channel: "named:{kind}", message: {n: int}, reply: {m: float}, reply_channel: "answers:{who}:{kind}"}
  kept: {channel: kept, durable: {age: 7d, groups: [mail]}, message: {n: int}}
  sealed: {channel: sealed, durable: {age: 7d}, message: {s: text encrypted}}
events: {both: {with: [kind, n], emits: [told, kept]}}
`

func TestChannels(t *testing.T) {
	text := string(generate(t, declare(t, channelsOnly)))
	for _, want := range []string{
		"func (k *Keyspace) ToldTopic(kind Kind) event.Topic[ToldMessage] {",
		"func (k *Keyspace) ToldTopics() event.Topics[ToldMessage] {",
		"func (k *Keyspace) AskExchange(kind Kind) event.Exchange[AskMessage, AskReply] {",
		"return AskReplyChannel(kind, caller)", "return NamedReplyChannel(caller, kind)",
		"var message_Secret = value.SealedObject(members_SecretMessage)",
		"var message_Sealed = value.SealedObject(members_SealedMessage)", `Text: "7d sliding"}, Schema: "channels"}`,
		`Name: "secret", Pattern: "secret", Type: "channel", Schema: "channels"}`,
		"func (k *Keyspace) Kept() event.Stream[KeptMessage] {", "event.StreamConfig{Age: 168 * time.Hour}",
		`const KeptMailGroup = "mail"`,
		"func (k *Keyspace) Both(ctx context.Context, kind Kind, n int64) error {",
		"k.ToldTopic(kind).Publish(ctx, ToldMessage{N: n})",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it has no %s", want)
		}
	}
}

// TestExpiryTimesAreNoIndex: the store keeps the expiry times for itself, so that
// there is no method that lists by them.
func TestExpiryTimesAreNoIndex(t *testing.T) {
	text := string(generate(t, loaded(t, "../../examples/harca", "keyspace.yaml")))
	if strings.Contains(text, "ByExpires(") || !strings.Contains(text, "ByUsedAt(") {
		t.Error("a method lists by the expiry times, or none by an index")
	}
}

// TestWhatCannotBeFilled: where an announcement cannot be made of what its sender has,
// no code is written, whether lint was run or not.
func TestWhatCannotBeFilled(t *testing.T) {
	const head = "keywright: 1\npackage: p\nowner: o\nkeys:\n  e: {key: \"e:{a}:{b}\", type: entity, ttl: 1h, fields: {n: int, o: int optional, s: text encrypted, raw: bytes}, index: {n: \"e:n:{n}\"}, emits: {%s: c}}\nchannels: {c: %s}\nevents: {gone: {with: [a], emits: [c]}}\n"
	for _, c := range []struct{ on, channel, fault string }{
		{"update", `"c:{x}"`, "k.yaml:5: e announces on c, but does not always have x for the name of the channel, c:{x}"},
		{"create", `{channel: "c:{a}", message: {a: text, x: int}}`, "does not always have x for the message"},
		{"delete", `{channel: "c:{a}", message: {a: text, o: int}}`, "does not always have o for the message"},
		{"expire", `{channel: "c:{o}"}`, "does not always have o for the name of the channel"},
		{"update", `{channel: "c:{a}", message: {s: text}}`, "s, which is encrypted"},
		{"update", `{channel: "c:{n}", durable: {maxlen: 5}}`, "a stream whose key depends on n"},
		{"update", `{channel: "c:{a}", message: {n: unix_ms}}`, "with n, which is int, and the message says unix_ms"},
		{"update", `{channel: "c:{a}", message: {a: int optional}}`, "with a, which is text, and the message says int"},
		{"update", `{channel: "c:{a}", message: {raw: bytes}}`, "with raw, which is bytes of any length"},
		{"update", `{channel: "c:{b}", message: {b: text}}`,
			"k.yaml:7: the event gone announces on c, but does not always have b"},
	} {
		files, err := golang.Generate(declare(t, fmt.Sprintf(head, c.on, c.channel)))
		if err == nil || !strings.Contains(err.Error(), c.fault) || files != nil {
			t.Errorf("%s on %s: %v, not %s", c.on, c.channel, err, c.fault)
		}
	}
	if _, err := golang.Generate(declare(t,
		fmt.Sprintf(head, "expire", `{channel: "c:{a}", message: {a: text, y: int optional}}`))); err != nil {
		t.Error(err)
	}
}
