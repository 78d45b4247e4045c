package breaking

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/diff"
	"github.com/keywright/keywright/keyspace/breaking/internal/pairs"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/pattern"
	"pgregory.net/rapid"
)

func loaded(t interface{ Fatalf(string, ...any) }, text string) *keyspace.Keyspace {
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}, "s.lua": {Data: []byte("return 1")},
		"b.json": {}}, "k.yaml")
	if c := finding.Count(found); c.Errors > 0 {
		t.Fatalf("%s\ndoes not load: %+v", text, found)
	}
	return ks
}

// file makes a declaration of entries, or of whole sections.
func file(text string) string {
	if !strings.Contains("\n"+text, "\nkeys:") {
		text = "keys:\n  " + strings.ReplaceAll(text, "\n", "\n  ")
	}
	return "keywright: 1\nowner: o\n" + text + "\n"
}

// change represents a declaration before and after.
type change struct{ old, new string }

const (
	item    = `a: {key: "x:{i}", type: string, value: int 0..9, ttl: 1h in 1m..1d}`
	hash    = `a: {key: "x:{i}", type: hash, fields: {n: int, t: text max 9 optional}, ttl: none}`
	secret  = `a: {key: x, type: hash, fields: {s: text encrypted, at: unix_s encrypted}, ttl: none}`
	memo    = `a: {key: "m:{i}", type: entity, ttl: 1h, fields: {k: p|q|r, at: unix_ms}, index: {k: "mi:{k}"}}`
	limit   = `a: {key: "x", type: ratelimit, ttl: 1h, rate: 9 per 60s}`
	board   = `a: {key: "r:{d}", type: ranking, member: uuid, score: int, ttl: 7d}`
	queued  = `a: {key: q, type: queue, value: {n: int}, ttl: none}`
	chosen  = `a: {key: "m:{i}", type: entity, ttl: 30m in 1m..1d, ttl_by: {p: {1..9: 1h}}, fields: {p: int 1..9}}`
	stamped = `a: {key: "m:{i}", type: entity, ttl: 1h, fields: {k: text, v: int, u: unix_ms}, stamps: {version: v}}`
	anyJSON = `a: {key: x, type: string, value: json, ttl: 1d}`
	shaped  = `a: {key: x, type: string, value: {n: int optional}, ttl: 1d}`
	doc     = `a: {key: "doc:{id}", type: string, value: text, ttl: 1d}`
	call    = `a: {key: "x", type: counter, ttl: none}` + "\n" +
		`s: {type: script, file: s.lua, keys: [a], args: {n: int}, returns: int}`
)

func rated(old, new string) change {
	return replace("a: {key: x, type: ratelimit, ttl: 2d, rate: "+old+"}", old, new)
}

func replace(text, old, new string) change { return change{text, strings.Replace(text, old, new, 1)} }

var (
	seconds = "vars: {at: unix_s}\nkeys:\n  "
	millis  = "vars: {at: unix_ms}\nkeys:\n  "
	dated   = `a: {key: "k:{at}:x", type: string, ttl: 1d}`
	moved   = `a: {key: "n:{at}", type: string, ttl: 1d, was: ["k:{at}:x"]}`
	topic   = "keys: {}\nchannels: {c: \"c:{at}\"}"
)

// cases are changes that each rule must find, and ones it must not.
var cases = map[string]struct{ bad, good []change }{
	"KW601": {bad: []change{{"keys: {}\nchannels: {c: {channel: c, durable: {retry: 5, dead: c.dead}}}",
		"keys: {}\nchannels: {c: {channel: c, durable: {retry: 5, dead: c.gone}}}"},
		{"vars: {p: text rest}\nkeys:\n  a: {key: \"x:{p}\", type: string, ttl: 1d}",
			"vars: {p: text}\nkeys:\n  a: {key: \"x:{p}\", type: string, ttl: 1d}"}, replace(item, "x:{i}", "y:{i}"),
		replace(item, "x:{i}", "x:a{i}"), {"vars: {i: int}\nkeys:\n  " + item, "vars: {i: int 0..}\nkeys:\n  " + item},
		{`l: {key: "l", type: lock, ttl: 1m}`, `l: {key: "l", type: lock, ttl: 1m, fence: f}`},
		{seconds + dated, millis + dated}, {millis + dated, seconds + dated}, {seconds + dated, millis + moved},
		{seconds + dated, strings.Replace(millis+dated, "at", "time", 2)}},
		good: []change{{seconds + dated, seconds + moved},
			{seconds + dated, "vars: {at: unix_ms, old: unix_s}\nkeys:\n  " + `a: {key: "k:{old}:x", type: string, ttl: 1d}`},
			{seconds + dated, "vars: {at: int 0..}\nkeys:\n  " + dated}, replace(item, `x:{i}", `, `y:{i}", was: ["x:{i}"], `),
			{"vars: {i: int 0..}\nkeys:\n  " + item, "vars: {i: int}\nkeys:\n  " + item}, replace(item, "{i}", "{j}"),
			replace(item, "x:{i}", "{w}:{i}")}},
	"KW602": {bad: []change{{"keys:\n  a: {key: \"x:{i}\", type: string, ttl: 1d, gate: 1h}",
		"keys:\n  a: {key: \"x:{i}\", type: string, ttl: 1d}"}, {item, `b: {key: y, type: string, ttl: 1d}`},
		{seconds + dated, millis + strings.Replace(dated, "a:", "b:", 1)},
		{"q: {key: q, type: queue, ttl: none}", "q: {key: q, type: list, ttl: none}"}},
		good: []change{{item, `b: {key: "x:{j}", type: string, ttl: 1d}`},
			{item, `b: {key: y, type: string, ttl: 1d, was: ["x:{i}"]}`}, replace(memo, `, index: {k: "mi:{k}"}`, "")}},
	"KW603": {bad: []change{{`a: {key: y, type: set, ttl: 1d, was: ["x:{i}"]}`, `a: {key: y, type: set, ttl: 1d}`}},
		good: []change{{`a: {key: y, type: set, ttl: 1d, was: ["x:{i}"]}`,
			`a: {key: y, type: set, ttl: 1d}` + "\n" + `b: {key: "x:{i}", type: set, ttl: 1d}`}}},
	"KW604": {bad: []change{{"owns: [\"a:*\", \"b:*\"]\nkeys: {}", "owns: [\"a:*\"]\nkeys: {}"}},
		good: []change{{"owns: [\"a:*\", \"a:b:*\"]\nkeys: {}", "owns: [\"a:*\"]\nkeys: {}"}}},
	"KW605": {bad: []change{{"vars: {at: unix_s}\n" + topic, "vars: {at: unix_ms}\n" + topic},
		{"vars: {at: unix_ms}\n" + topic, "vars: {at: unix_s}\n" + topic},
		{"keys: {}\nchannels: {c: \"c:{i}\"}", "keys: {}\nchannels: {c: \"d:{i}\"}"},
		{"keys: {}\nchannels: {c: c}", "keys: {}"}},
		good: []change{{"keys: {}\nchannels: {c: \"c:{i}\"}", "keys: {}\nchannels: {c: \"c:{j}\"}"},
			{"l: {key: l, type: lock, ttl: 1m}", "keys: {}"}}},
	"KW606": {bad: []change{replace(item, `x:{i}", `, `y:{i}", was: ["x:{i}"], `)},
		good: []change{replace(item, `key: "x:{i}"`, `key: "x:{i}", was: ["y:{i}"]`), replace(item, "x:{i}", "{w}:{i}")}},
	"KW607": {bad: []change{{"namespace: p\nkeys:\n  a: {key: \"p:x\", type: set, ttl: 1d}\nchannels: {c: \"p:c\"}",
		"keys:\n  a: {key: \"p:x\", type: set, ttl: 1d}\nchannels: {c: \"p:c\"}"}, {"namespace: p\nkeys: {}", "keys: {}"},
		{"namespace: p\nkeys: {}", "namespace: {default: p, names: p|q}\nkeys: {}"},
		{"namespace: {default: p, names: p|q}\nkeys: {}", "namespace: {default: p, names: p|r}\nkeys: {}"}},
		good: []change{{"namespace: {default: p, names: p|q}\nkeys: {}", "namespace: {default: p, names: p|q|r}\nkeys: {}"},
			{"namespace: {default: p, names: slug}\nkeys: {}", "namespace: p\nkeys: {}"},
			{"keys: {}", "namespace: p\nkeys: {}"}}},
	"KW608": {bad: []change{{"keys:\n  a: {key: \"p:x\", type: lock, ttl: 1d}",
		"namespace: p\nkeys:\n  a: {key: \"p:x\", type: lock, ttl: 1d}"},
		{"namespace: p\nkeys:\n  a: {key: \"p:x\", type: set, ttl: 1d}",
			"namespace: q\nkeys:\n  a: {key: \"q:x\", type: set, ttl: 1d}"}},
		good: []change{{"keys:\n  a: {key: \"p:x\", type: set, ttl: 1d}",
			"namespace: p\nkeys:\n  a: {key: \"p:x\", type: set, ttl: 1d}"},
			{"namespace: p\nkeys:\n  a: {key: \"p:x\", type: lock, ttl: 1d}",
				"namespace: {default: p, names: slug}\nkeys:\n  a: {key: \"p:x\", type: lock, ttl: 1d}"}}},
	"KW609": {bad: []change{{doc + "\n" + `b: {key: "doc:top", type: zset, ttl: 1d}`, doc},
		{doc + "\n" + `b: {key: "doc:top", type: zset, ttl: 1d}`,
			doc + "\n" + `b: {key: "other", type: zset, ttl: 1d, was: [gone]}`},
		{"vars: {n: int}\nkeys:\n  " + doc + "\n  " + `b: {key: "doc:{n}", type: hash, fields: {a: int}, ttl: 1d}`,
			"vars: {n: int}\nkeys:\n  " + doc},
		{doc, "vars: {n: int}\nkeys:\n  " + doc + "\n  " + `b: {key: "doc:{n}", type: hash, fields: {a: int}, ttl: 1d}`},
		{doc, doc + "\n" + `b: {key: "doc:top", type: zset, ttl: 1d}`}, {doc, `b: {key: "doc:top", type: zset, ttl: 1d}`},
		{doc, doc + "\n" + `b: {key: "doc:1", type: string, value: int, ttl: 1d}`},
		{doc + "\n" + `b: {key: "x:top", type: zset, ttl: 1d}`,
			doc + "\n" + `b: {key: "doc:top", type: zset, ttl: 1d, was: ["x:top"]}`}},
		good: []change{{doc + "\n" + `b: {key: "doc:top", type: zset, ttl: 1d}`,
			doc + "\n" + `c: {key: "doc:top", type: zset, ttl: 1d}`},
			{doc + "\n" + `b: {key: "doc:top", type: zset, ttl: 1d}`, `b: {key: "doc:top", type: zset, ttl: 1d}`},
			{doc + "\n" + `b: {key: "doc:top", type: zset, ttl: 1d}`,
				doc + "\n" + `b: {key: "best", type: zset, ttl: 1d, was: ["doc:top"]}`},
			{doc, doc + "\n" + `b: {key: "docs:top", type: zset, ttl: 1d}`},
			{doc, doc + "\n" + `b: {key: "doc:top", type: string, ttl: 1d}`},
			{doc + "\n" + `b: {key: "doc:top", type: zset, ttl: 1d}`, doc + "\n" + `b: {key: "doc:top", type: zset, ttl: 2d}`}}},
	"KW610": {bad: []change{{doc + "\n" + `b: {key: "doc:top", type: string, value: text, ttl: 1d}`, doc},
		{doc + "\n" + `b: {key: "doc:top", type: string, value: text, ttl: 1d}`,
			doc + "\n" + `b: {key: "best", type: string, value: text, ttl: 1d}`}},
		good: []change{{doc + "\n" + `b: {key: "doc:top", type: string, value: text, ttl: 1d}`,
			`b: {key: "doc:top", type: string, value: text, ttl: 1d}`}, {doc + "\n" + `b: {key: "doc:top", type: zset, ttl: 1d}`,
			doc}, {doc + "\n" + `b: {key: "top", type: string, value: text, ttl: 1d}`, doc}}},
	"KW611": {bad: []change{replace(item, "type: string, value: int 0..9", "type: set"),
		replace(hash, "type: hash", "type: entity")}, good: []change{replace(item, "type: string", "type: cache")}},
	"KW612": {bad: []change{replace(hash, ", t: text max 9 optional", ""),
		replace(hash, "fields: {n: int, t: text max 9 optional}, ", ""),
		{"a: {key: x, type: stream, fields: {n: int}, readers: [r], ttl: none}",
			"a: {key: x, type: stream, readers: [r], ttl: none}"}}, good: []change{replace(hash, "t:", "u: int optional, t:")}},
	"KW613": {bad: []change{{anyJSON, shaped},
		{`a: {key: q, type: queue, value: json, ttl: none}`, `a: {key: q, type: queue, value: {n: int optional}, ttl: none}`},
		replace(`a: {key: x, type: string, value: {n: int, m: text}, ttl: 1d}`, "n: int", "n: int 0..9"),
		replace(`a: {key: x, type: hash, field: int, value: int, ttl: 1d}`, "value: int", "value: int 0..9"),
		replace(`a: {key: x, type: hash, field: int, value: int, ttl: 1d}`, "field: int", "field: int 0..9"),
		replace(`a: {key: x, type: zset, member: text, score: int, ttl: 1d}`, "score: int", "score: int 0..9"),
		replace(item, "0..9", "0..8"), replace(item, "int 0..9", "int 0..9 encrypted"),
		replace(secret, "text encrypted", "int encrypted"),
		replace(`a: {key: x, type: string, value: text encrypted, ttl: none}`, "value: text encrypted, ", ""),
		replace(secret, "unix_s encrypted", "unix_ms encrypted"), replace(item, "int 0..9", "a|b"),
		replace(hash, "max 9", "max 8"), replace(hash, "n: int", "n: bool"), replace(memo, "p|q|r", "p|q"),
		{`a: {key: x, type: zset, ttl: 1d}`, `a: {key: x, type: zset, score: int, ttl: 1d}`},
		{`a: {key: x, type: set, ttl: 1d}`, `a: {key: x, type: set, member: uuid, ttl: 1d}`},
		{`a: {key: x, type: string, value: json, ttl: 1d}`, `a: {key: x, type: string, value: json b.json, ttl: 1d}`}},
		good: []change{{shaped, anyJSON}, {shaped, shaped + "  # still"}, replace(item, "0..9", "-1..10"),
			replace(item, "int 0..9", "text"), replace(item, "int 0..9", "text max 1"), replace(item, "int 0..9", "float"),
			replace(item, "int 0..9", "json"),
			{`a: {key: x, type: zset, ttl: 1d}`, `a: {key: x, type: zset, score: float, ttl: 1d}`},
			{strings.Replace(board, ", score: int", "", 1),
				`a: {key: "r:{d}", type: zset, member: uuid, score: float, ttl: 7d}`}, replace(hash, "max 9 ", ""),
			replace(memo, "p|q|r", "p|q|r|s"),
			{`a: {key: x, type: set, member: uuid, ttl: 1d}`, `a: {key: x, type: set, ttl: 1d}`},
			{`a: {key: x, type: string, value: timestamp, ttl: 1d}`,
				`a: {key: x, type: string, value: text max 2000, ttl: 1d}`}}},
	"KW614": {bad: []change{replace(hash, "n: int,", "n: int, u: int,"), replace(hash, " optional", "")},
		good: []change{replace(hash, "n: int,", "n: int, u: int optional,"), replace(hash, "n: int", "n: int optional")}},
	"KW615": {bad: []change{replace(memo, "index: {", `index: {at: mat, `), replace(memo, `, index: {k: "mi:{k}"}`, ""),
		replace(memo, `k: "mi:{k}"`, `at: "mi:x"`)}, good: []change{replace(memo, "ttl: 1h", "ttl: 2h")}},
	"KW616": {bad: []change{{"keys: {}\nchannels: {c: c}", "keys: {}\nchannels: {c: {channel: c, message: {a: int}}}"},
		{"keys: {}\nchannels: {c: c}", "keys: {}\nchannels: {c: {channel: c, message: {a: int optional}}}"},
		{"keys: {}\nchannels: {c: {channel: c, message: {a: int}}}", "keys: {}\nchannels: {c: c}"},
		{"keys: {}\nchannels: {c: {channel: c, message: {a: int}}}",
			"keys: {}\nchannels: {c: {channel: c, message: {a: int}, reply: {b: int}}}"}, message("a: int", "a: text"),
		{"keys: {}\nchannels: {c: {channel: c, message: {a: int}, reply: {b: int}}}",
			"keys: {}\nchannels: {c: {channel: c, message: {a: int}, reply: {b: uuid}}}"}, message("a: int", "b: int"),
		message("a: int", "a: int, b: int"), message("a: int", "a: int optional"), message("a: int", "a: bool"),
		{"keys: {}\nchannels: {c: {channel: c}}", "keys: {}\nchannels: {c: {channel: c, envelope: plain}}"},
		{"keys: {}\nchannels: {c: {channel: c, durable: true}}", "keys: {}\nchannels: {c: {channel: c}}"},
		{"keys: {}\nchannels: {c: {channel: c}}", "keys: {}\nchannels: {c: {channel: c, sharded: true}}"}},
		good: []change{{"keys: {}\nchannels: {c: {channel: c, durable: true}}",
			"keys: {}\nchannels: {c: {channel: c, durable: {age: 7d}}}"}, message("a: int", "a: int, b: int optional"),
			message("a: text max 9", "a: text")}},
	"KW617": {bad: []change{replace(limit, "60s", "60s, algorithm: fixed"),
		{limit, strings.Replace(limit, "}", ", algorithm: sliding}", 1)}, replace(board, "ttl: 7d", "ttl: 7d, ties: first")},
		good: []change{{limit, strings.Replace(limit, "}", ", algorithm: gcra}", 1)},
			replace(board, "ttl: 7d", "ttl: 7d, ties: member")}},
	"KW619": {bad: []change{replace(hash, "n: int", "n: int optional"), replace(queued, "n: int", "n: int optional"),
		replace(`a: {key: x, type: string, value: {n: int, m: text}, ttl: 1d}`, "n: int", "n: int optional"),
		{shaped, anyJSON}, {`a: {key: q, type: queue, value: {n: int optional}, ttl: none}`,
			`a: {key: q, type: queue, value: json, ttl: none}`}, replace(item, "value: int 0..9, ", ""),
		replace(item, "int 0..9", "float"), replace(item, "int 0..9", "text"), replace(hash, "n: int", "n: text"),
		replace(queued, "n: int", "n: text"), replace(secret, "unix_s encrypted", "text encrypted")},
		good: []change{{anyJSON, shaped}, replace(item, "0..9", "0..99"),
			replace(secret, "text encrypted", "text max 9 encrypted"), replace(hash, "max 9 ", "")}},
	"KW620": {bad: []change{replace(item, "type: string", "type: cache"),
		{"a: {key: x, type: string, value: int, ttl: none}", "a: {key: x, type: counter, ttl: none}"}},
		good: []change{replace(item, "ttl:", "doc: x, ttl:")}},
	"KW621": {bad: []change{replace(hash, "ttl: none", "ttl: 1d"), replace(hash, "ttl: none", "ttl: any")},
		good: []change{replace(item, "ttl: 1h in 1m..1d", "ttl: any")}},
	"KW622": {bad: []change{{"keys: {}\nchannels: {c: {channel: c, durable: {age: 7d}}}",
		"keys: {}\nchannels: {c: {channel: c, durable: {age: 1d}}}"}, replace(chosen, "9: 1h", "9: 10m"),
		replace(chosen, "1m..1d, ttl_by: {p: {1..9: 1h}}, ", "1m..1d, "), replace(item, "..1d", "..2h"),
		replace(item, "1h in", "30m in")},
		good: []change{replace(item, "..1d", "..2d"), replace(item, "ttl: 1h in 1m..1d", "ttl: none")}},
	"KW623": {bad: []change{replace(item, "ttl: 1h in 1m..1d", "ttl: none"),
		replace(item, "ttl: 1h in 1m..1d", "ttl: any")}, good: []change{replace(item, "ttl: 1h in 1m..1d", "ttl: 2h")}},
	"KW624": {bad: []change{replace(item, "1m..1d", "2m..1d"), replace(item, "1m..1d", "1m..2h"),
		{`a: {key: x, type: set, ttl: any}`, `a: {key: x, type: set, ttl: 1d}`}},
		good: []change{replace(item, "1m..1d", "1s..2d"),
			{`a: {key: x, type: set, ttl: 1d}`, `a: {key: x, type: set, ttl: 2h}`}}},
	"KW625": {bad: []change{replace(item, "..1d", "..1d sliding")}, good: []change{replace(item, "..1d", "..1d ~5%")}},
	"KW626": {bad: []change{{"keys: {}\nchannels: {c: {channel: c, owner: p}}",
		"keys: {}\nchannels: {c: {channel: c, owner: q}}"}, replace(item, "ttl:", "owner: p, ttl:")},
		good: []change{replace(item, "ttl:", "owner: o, ttl:")}},
	"KW627": {bad: []change{{strings.Replace(item, "ttl:", "readers: [r, s], ttl:", 1),
		strings.Replace(item, "ttl:", "readers: [s], ttl:", 1)},
		{"keys: {}\nchannels: {c: {channel: c, readers: [r]}}", "keys: {}\nchannels: {c: c}"}},
		good: []change{{strings.Replace(item, "ttl:", "readers: [r], ttl:", 1),
			strings.Replace(item, "ttl:", "readers: [s, r], ttl:", 1)}}},
	"KW628": {bad: []change{rated("20 per 1d", "1 per 1d"), rated("600 per 1h", "10 per 1m"),
		rated("9 per 1m burst 20", "9 per 1m"), rated("20 per 1m", "20 per 1m burst 5"), rated("1 per 3h", "1 per 4h"),
		replace("a: {key: x, type: ratelimit, ttl: 1h, rate: 9 per 1m burst 20}", "burst 20", "burst 10"),
		{"keys: {}\nchannels: {c: {channel: c, durable: {retry: 5, maxlen: 9}}}",
			"keys: {}\nchannels: {c: {channel: c, durable: {retry: 4, maxlen: 9}}}"},
		{"keys: {}\nchannels: {c: {channel: c, durable: {maxlen: 9}}}",
			"keys: {}\nchannels: {c: {channel: c, durable: {maxlen: 8}}}"}, queue("lease: 1m", "lease: 30s"),
		queue("retry: 3", "retry: 2"), queue("retry: 3", "retry: 3, timeout: 5m"),
		{"keys: {}\nchannels: {c: {channel: c, durable: {timeout: 5m}}}",
			"keys: {}\nchannels: {c: {channel: c, durable: {timeout: 1m}}}"},
		{"a: {key: x, type: stream, ttl: none, maxlen: 9}", "a: {key: x, type: stream, ttl: none, maxlen: 8}"},
		{"a: {key: x, type: stream, ttl: none}", "a: {key: x, type: stream, ttl: none, maxlen: 8}"},
		{"a: {key: x, type: ratelimit, ttl: 1h, rate: 9 per 1m}", "a: {key: x, type: ratelimit, ttl: 1h, rate: 10 per 1h}"}},
		good: []change{rated("1 per 4h", "1 per 3h"), rated("9 per 1m", "9 per 1m burst 9"), queue("lease: 1m", "lease: 2m"),
			{queue("retry: 3", "retry: 3, timeout: 5m").new, queue("", "").old},
			{"a: {key: x, type: ratelimit, ttl: 1h, rate: 9 per 1m}",
				"a: {key: x, type: ratelimit, ttl: 1h, rate: 600 per 1h}"}}},
	"KW629": {bad: []change{
		replace("keys:\n  "+strings.Replace(memo, "ttl:", "emits: {delete: c}, ttl:", 1)+
			"\nchannels: {c: {channel: \"c:{i}\", message: {i: text}}}", "emits: {delete: c}, ", ""),
		event("deletes: [a]", "deletes: []"), event("emits: [c]", "emits: []")},
		good: []change{event("deletes: [a]", "deletes: [a], doc: x"),
			{"keys:\n  " + item + "\nevents: {e: {with: [i], deletes: [a]}}", "keys: {}\nevents: {e: {with: [i]}}"}}},
	"KW630": {bad: []change{cleanup(`match: "a:*", idle: 1d`, `match: "*", idle: 1d`),
		cleanup(`match: "a:*", idle: 1d`, `match: "a:*", idle: 1h`),
		cleanup(`match: "a:*", keep: 9`, `match: "a:*", keep: 3`),
		{"keys: {}", "keys: {}\ncleanup: [{match: \"a\", older: 1d}]"}},
		good: []change{cleanup(`match: "a:*", idle: 1d`, `match: "a:b:*", idle: 2d`)}},
	"KW631": {bad: []change{{"a: {key: x, type: stream, ttl: none, groups: [g, h]}",
		"a: {key: x, type: stream, ttl: none, groups: [g, i]}"},
		{"keys: {}\nchannels: {c: {channel: c, durable: {groups: [g]}}}",
			"keys: {}\nchannels: {c: {channel: c, durable: {groups: [h]}}}"}},
		good: []change{{"a: {key: x, type: stream, ttl: none, groups: [g]}",
			"a: {key: x, type: stream, ttl: none, groups: [h, g]}"}}},
	"KW633": {bad: []change{
		replace(`a: {key: "m:{i}", type: entity, ttl: 1h, fields: {k: text, v: unix_ms, u: unix_ms}, stamps: {created: v}}`,
			"created: v", "created: u"), replace(stamped, "version: v", "updated: u"),
		replace(stamped, ", stamps: {version: v}", "")},
		good: []change{replace(stamped, "version: v", "version: v, updated: u")}},
	"KW632": {bad: []change{janitor("do: clean, every: 1h", "do: audit, every: 1h"), janitor("keep: 7", "keep: 6"),
		janitor("do: ttl, every: 1h", "do: ttl, every: 1h, entry: a")},
		good: []change{janitor("keep: 7", "keep: 8"), janitor("do: clean, every: 1h", "do: clean, every: 2h"),
			janitor("j: ", "j2: ")}},
	"KW634": {bad: []change{janitor("do: audit, every: 1h", "do: sweep, every: 1h"),
		janitor("do: sweep, every: 2h, entry: a", "do: sweep, every: 2h")},
		good: []change{janitor("do: clean, every: 1h", "do: audit, every: 1h"), janitor("j: ", "j2: ")}},
	"KW635": {bad: []change{{"keys: {}\nretired: {keys: {a: []}}", "keys: {}"},
		{"keys: {}\nretired: {keys: {a: \"x:{i}\"}}", "keys: {}\nretired: {keys: {a: \"x:{i}:y\"}}"},
		{"keys: {}\nretired: {channels: {a: x}}", "keys: {}\nretired: {keys: {a: x}}"},
		{"keys: {}\nretired: {events: [e]}", "keys: {}\nretired: {events: []}"},
		replace("keys:\n  "+strings.Replace(hash, "ttl:", "retired: [f, g], ttl:", 1), "[f, g]", "[g]"),
		{"keys: {}\nchannels: {c: {channel: c, retired: [f]}}", "keys: {}\nchannels: {c: c}"},
		{"vars: {v: {type: a|c, retired: [b]}}\nkeys: {}", "vars: {v: a|c}\nkeys: {}"}},
		good: []change{{"keys: {}\nretired: {keys: {a: \"x:{i}\"}}", "keys: {}\nretired: {keys: {b: \"x:{any}\", a: []}}"},
			{"vars: {i: a|b}\nkeys: {}\nretired: {keys: {a: \"x:{i}\"}}",
				"vars: {i: {type: a|c, retired: [b]}}\nkeys: {}\nretired: {keys: {a: \"x:{i}\"}}"},
			{"vars: {v: {type: a|c, retired: [b]}}\nkeys: {}", "keys: {}"}}},
	"KW636": {bad: []change{pressure("entry: a, where: {p: 1}", "entry: b, where: {p: 1}"),
		pressure("where: {p: 1}", "where: {q: 1}"), pressure("at: 80%", "at: 70%"), pressure("p: 1}", "p: 1..2}"),
		pressure("to 5m", "to 4m"), pressure("shorten: to 5m", "release: to 75%")},
		good: []change{pressure("at: 80%", "at: 81%"), pressure("to 5m", "to 6m")}},
	"KW637": {bad: []change{
		migrated("s.json", "t.json"), migrated("format: json", "format: lines"), migrated("/{i}/[]", "/x/{i}/[]"),
		migrated("score: unix_s(.t)", "score: unix_ms(.t)"), migrated("member: .h", "member: .n"),
		migrated("with: {i: .h}", "with: {i: .n}"), migrated("value: ., }", "value: .b}"), migrated("to: z", "to: y"),
		migrated("from: unix_s(.t), over: skip", "from: unix_s(.t), over: reject"),
		migrated("from: unix_s(.t), over", "until: unix_s(.t), over"), migrated("field: .f", "field: .g"),
		migrated("tries: .t", "tries: .u"), migrated("fields: {k: .k}", "fields: {k: .l}"), migrated(", kept: {n: h}", ""),
		migrated("kept: {n: h}", "kept: {n: .n}"), migrated("to: l, member: .}", "to: l, except: {i: x}, member: .}"),
		migrated(", {from: \"s:/l/{i}/[]\", to: l, member: .}", ""), migrated("to: l, member: .}", "to: m, member: .}"),
		migrated("ttl: {from: unix_s(.t), over: skip}, ", ""), migrated("{from: \"s:/{i}", "{from: \"o:/{i}")},
		good: []change{migrated("{sources", "{doc: x, sources"),
			migrated("to: l, member: .}", "to: l, member: .}, {from: \"s:/m/{i}/[]\", to: m, member: .}")}},
	"KW638": {bad: []change{migrated("  mig: {", "  other: {"), migrated("p: {moves", "r: {moves"),
		migrated("q: {moves: []}", ""),
		{migrated("", "").old,
			strings.NewReplacer("parts: {p:", "parts: {q: {moves: []}, p:", ", q: {moves: []}}", "}").Replace(
				migrated("", "").old)}, {migrated("", "").old, "keys: {}"}},
		good: []change{migrated("q: {moves: []}", "q: {moves: []}, r: {moves: []}")}},
	"KW639": {bad: []change{migrated("compared: 10", "compared: 9"), migrated("unequal: 0", "unequal: 1"),
		migrated("for: 2h", "for: 1h"), migrated("marks: 0", "marks: 1"), migrated("backup: 1d", "backup: 2d"),
		migrated("backup: 1d", "backup: none"),
		migrated("as: set", "as: instant"), migrated("field: .a", "field: .b"),
		migrated("until: 2027-01-01", "until: 2027-01-02"), migrated("entry: z, field: .c", "entry: v, field: .c"),
		migrated("compare: [", "compare: [{entry: v, field: .x, as: set}, "),
		migrated("compare: [", "ignore: [{from: \"s:/x\", reason: r}], compare: [")},
		good: []change{migrated("compared: 10", "compared: 11"), migrated("for: 2h", "for: 3h"),
			migrated("backup: 1d", "backup: 1h"), migrated("until: 2027-01-01", "until: 2026-12-31"),
			migrated("owner: o", "owner: p")}},
	"KW641": {bad: []change{{item, "keys: {}"}, {item, strings.Replace(item, "a:", "b:", 1)},
		{call, `a: {key: "x", type: counter, ttl: none}`}, {"keys: {}\nchannels: {c: c}", "keys: {}"}, event("{e:", "{f:")},
		good: []change{{item, item + "\nb: {key: y, type: set, ttl: 1d}"}}},
	"KW642": {bad: []change{replace(item, "{i}", "{j}"), replace(item, "x:{i}", "x:{i}:{j}"),
		{"vars: {i: int}\nkeys:\n  " + item, "vars: {i: uuid}\nkeys:\n  " + item}, event("with: [i]", "with: [i, j]"),
		{"keys: {}\nchannels: {c: \"c:{i}\"}", "keys: {}\nchannels: {c: \"c:{j}\"}"},
		{"vars: {i: {type: a|b, default: a}}\nkeys:\n  " + item, "vars: {i: {type: a|b, default: b}}\nkeys:\n  " + item},
		{"vars: {i: {type: a|b, default: a}}\nkeys:\n  " + item, "vars: {i: a|b}\nkeys:\n  " + item}},
		good: []change{{"vars: {i: a|b}\nkeys:\n  " + item, "vars: {i: {type: a|b, default: b}}\nkeys:\n  " + item},
			replace(item, "x:{i}", "y:{i}"), {"vars: {i: slug}\nkeys:\n  " + item, "vars: {i: text}\nkeys:\n  " + item}}},
	"KW643": {bad: []change{replace(call, "n: int", "n: text"), replace(call, "returns: int", "returns: bool"),
		replace(call, ", returns: int", ""), replace(call, "keys: [a]", "keys: [a, a]")},
		good: []change{replace(call, "returns: int", "returns: int, effect: idempotent")}},
	"KW618": {bad: []change{{"package: p\nkeys:\n  a: {key: x, type: hash, fields: {t: text encrypted}, ttl: none}",
		"package: q\nkeys:\n  a: {key: x, type: hash, fields: {t: text encrypted}, ttl: none}"}},
		good: []change{{"package: p\nkeys:\n  a: {key: x, type: hash, fields: {t: text}, ttl: none}",
			"package: q\nkeys:\n  a: {key: x, type: hash, fields: {t: text}, ttl: none}"}}},
	"KW644": {bad: []change{{"package: p\nkeys: {}", "package: q\nkeys: {}"}},
		good: []change{{"keys: {}", "package: q\nkeys: {}"}}},
	"KW645": {bad: []change{{shaped, anyJSON}, {anyJSON, shaped},
		{"vars: {p: a|b, q: a|b}\nkeys:\n  a: {key: x, type: string, value: p, ttl: 1d}",
			"vars: {p: a|b, q: a|b}\nkeys:\n  a: {key: x, type: string, value: q, ttl: 1d}"}, replace(item, "int 0..9", "text"),
		replace(hash, "n: int", "n: int optional")}, good: []change{replace(item, "0..9", "0..99")}},
}

func message(old, new string) change {
	return change{"keys: {}\nchannels: {c: {channel: c, message: {" + old + "}}}",
		"keys: {}\nchannels: {c: {channel: c, message: {" + new + "}}}"}
}

// migrated returns a migration with every kind of move.
func migrated(old, new string) change {
	return replace(`vars: {i: slug, n: slug}
keys:
  z: {key: "z:{i}", type: zset, member: text, score: unix_s, ttl: none}
  y: {key: "y:{i}", type: zset, member: text, score: unix_s, ttl: none}
  v: {key: "v:{i}", type: string, value: json, ttl: 1d}
  h: {key: "h:{i}", type: hash, field: text, value: json, ttl: none}
  k: {key: "k:{i}", type: hash, fields: {k: text}, ttl: none}
  q: {key: "q:{i}", type: queue, value: json, ttl: none}
  l: {key: "l:{i}", type: list, member: text, ttl: none}
  m: {key: "m:{i}", type: list, member: text, ttl: none}
  s: {key: "s:{i}:{n}", type: set, member: text, ttl: none}
migrations:
  mig: {sources: {s: {file: s.json, format: json}, o: {file: o.json}}, parts: {p: {moves: [{from: "s:/{i}/[]", to: z, member: .h, score: unix_s(.t)}, {from: "s:/v/[]", to: v, with: {i: .h}, ttl: {from: unix_s(.t), over: skip}, value: ., }, {from: "s:/h/{i}/[]", to: h, field: .f, value: .}, {from: "s:/k/{i}", to: k, fields: {k: .k}}, {from: "s:/q/{i}/[]", to: q, value: .v, tries: .t}, {from: "s:/s/{i}/{n}/[]", to: s, member: ., kept: {n: h}}, {from: "s:/l/{i}/[]", to: l, member: .}], gates: {compared: 10, unequal: 0, for: 2h, marks: 0, backup: 1d}}, q: {moves: []}}, compare: [{entry: v, field: .a, as: set}, {entry: z, field: .c, as: ignore, owner: o, until: 2027-01-01}]}`, old, new)
}

func queue(old, new string) change {
	return replace("a: {key: q, type: queue, lease: 1m, retry: 3, ttl: none}", old, new)
}

func event(old, new string) change {
	return replace("keys:\n  "+item+"\nchannels: {c: c}\nevents: {e: {with: [i], deletes: [a], emits: [c]}}", old, new)
}

func janitor(old, new string) change {
	return replace(
		"keys:\n  a: {key: \"x:{i}\", type: entity, ttl: 1h, fields: {p: int}}\ncleanup: [{match: \"t:*\", idle: "+
			"1d}]\njanitor:\n  j: {do: clean, every: 1h}\n  k: {do: backup, every: 1h, keep: 7}\n  l: {do: ttl, every: 1h}\n "+
			" m: {do: audit, every: 1h}\n  n: {do: sweep, every: 2h, entry: a}", old, new)
}

func pressure(old, new string) change {
	return replace(
		"keys:\n  a: {key: \"x:{i}\", type: entity, ttl: 1h, fields: {p: int, q: int, at: unix_ms}, index: {p+at: "+
			"\"y:{p}\", q+at: \"z:{q}\"}}\n  b: {key: \"bx:{i}\", type: entity, ttl: 1h, fields: {p: int, at: unix_ms}, "+
			"index: {p+at: \"by:{p}\"}}\npressure: [{at: 80%, entry: a, where: {p: 1}, shorten: to 5m}]", old, new)
}

func cleanup(old, new string) change {
	return replace("keys: {}\ncleanup: [{"+old+"}]", old, new)
}

func has(found []finding.Finding, code string) bool {
	return slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Code == code })
}

func TestEveryRule(t *testing.T) {
	for _, r := range Rules() {
		c, ok := cases[r.Code]
		if !ok || len(c.bad) == 0 || len(c.good) == 0 {
			t.Errorf("%s has no change that it finds and one that it must not", r.Code)
		}
		for _, x := range c.bad {
			found := Run(loaded(t, file(x.old)), loaded(t, file(x.new)))
			if x.old == x.new || !has(found, r.Code) {
				t.Errorf("%s does not find\n%s→\n%s%+v", r.Code, file(x.old), file(x.new), found)
			}
			for _, f := range found {
				if f.Message == "" || f.Pos.Line == 0 || f.Pos.File == "" || CategoryOf(f.Code) == "" {
					t.Errorf("%+v", f)
				}
			}
			if len(diff.Of(loaded(t, file(x.old)), loaded(t, file(x.new)))) == 0 {
				t.Errorf("%s: the diff is empty:\n%s→\n%s", r.Code, file(x.old), file(x.new))
			}
		}
		for _, x := range c.good {
			if found := Run(loaded(t, file(x.old)), loaded(t, file(x.new))); has(found, r.Code) {
				t.Errorf("%s wrongly finds %+v in\n%s→\n%s", r.Code, found, file(x.old), file(x.new))
			}
		}
	}
	for code := range cases {
		if !slices.ContainsFunc(Rules(), func(r finding.Rule) bool { return r.Code == code }) {
			t.Errorf("there is a case for %s, but no rule", code)
		}
	}
}

// TestNoOrderIsPromisedThatIsNone: where readers cannot tell the old form from the new one,
// what is stored is not to be rewritten under them.
func TestNoOrderIsPromisedThatIsNone(t *testing.T) {
	at := `a: {key: "x:{i}", type: string, value: unix_s, ttl: 1h}`
	for _, c := range []struct {
		change
		order string
	}{
		{replace(at, "unix_s", "unix_ms"), wayOfTimes.order},
		{replace(`a: {key: x, type: zset, member: text, score: unix_ms, ttl: 1d}`, "unix_ms", "unix_s"), wayOfTimes.order},
		{change{"vars: {at: unix_s}\nkeys:\n  a: {key: x, type: string, value: at, ttl: 1d}",
			"vars: {at: unix_ms}\nkeys:\n  a: {key: x, type: string, value: at, ttl: 1d}"}, wayOfTimes.order},
		{replace(item, "int 0..9", "int 0..9 encrypted"), wayOfSealing.order},
		{replace(item, "int 0..9", "text encrypted"), wayOfReplaced.order},
		{replace(hash, "n: int", "n: int encrypted"), wayOfSealing.order},
		{replace(secret, "text encrypted", "text"), wayOfOpening.order},
		{replace(item, "0..9", "0..8"),
			"first rewrite what is stored, with writers that keep to the narrower type, then the declaration"},
	} {
		found := Run(loaded(t, file(c.old)), loaded(t, file(c.new)))
		i := slices.IndexFunc(found, func(f finding.Finding) bool { return f.Code == "KW613" })
		if i < 0 || found[i].Order != c.order {
			t.Errorf("%s→\n%s%+v", file(c.old), file(c.new), found)
		}
	}
}

func TestCategories(t *testing.T) {
	old, new := loaded(t, file(item)), loaded(t, file(strings.NewReplacer("x:{i}", "y:{j}", "0..9", "0..8").Replace(item)))
	for _, category := range Categories() {
		for _, f := range Run(old, new, category) {
			if CategoryOf(f.Code) != category {
				t.Errorf("%s: %s", category, f.Code)
			}
		}
	}
	if len(Run(old, new, Key)) == 0 || len(Run(old, new, Policy)) != 0 {
		t.Error("categories do not restrict")
	}
}

// TestNothingChanged: a declaration against itself breaks nothing and differs in
// nothing.
func TestNothingChanged(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/keyspace.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("%v %v", files, err)
	}
	for _, path := range files {
		read := func() *keyspace.Keyspace {
			ks, _ := load.File(os.DirFS(filepath.Dir(path)), "keyspace.yaml")
			return ks
		}
		if found := Run(read(), read()); len(found) > 0 {
			t.Errorf("%s: %+v", path, found[0])
		}
		if d := diff.Of(read(), read()); len(d) > 0 {
			t.Errorf("%s: %v", path, d[0])
		}
	}
}

// TestStrandedIsExact: for any two patterns the finding comes when, and only
// when, some key of the old one does not match the new one, and shows such a key.
func TestStrandedIsExact(t *testing.T) {
	types := []string{"int", "int 0..", "int 3..7", "text", "slug", "hex 4", "a|b", "uuid", "date", "text rest"}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		one := func(name string) string {
			return fmt.Sprintf("vars: {i: %q}\nkeys:\n  a: {key: \"%s{i}\", type: string, ttl: 1d}",
				rapid.SampledFrom(types).Draw(t, name), rapid.SampledFrom([]string{"x:", "x:a", "y"}).Draw(t, name+"prefix"))
		}
		old, new := loaded(t, file(one("old"))), loaded(t, file(one("new")))
		a, b := old.Keys[0].Pattern, new.Keys[0].Pattern
		_, contained := pattern.Contains(b, a)
		found := Run(old, new, Key)
		if has(found, "KW601") == contained {
			t.Fatalf("%s → %s: contained %t, found %+v", a.Language(), b.Language(), contained, found)
		}
		for _, f := range found {
			if f.Code != "KW601" {
				continue
			}
			witness := []byte(strings.Fields(f.Message)[2])
			if _, ok := a.Match(witness); !ok {
				t.Fatalf("%q is no key of %s", witness, a)
			}
			if _, ok := b.Match(witness); ok {
				t.Fatalf("%q is a key of %s", witness, b)
			}
		}
	})
}

func TestDiffText(t *testing.T) {
	old := file("package: p\nvars: {v: int}\nkeys:\n  " + item +
		"\n  gone: {key: g, type: set, ttl: 1d}\n  b: {key: \"b:{v}\", type: set, ttl: 1d, was: [bb]}\nchannels: {c: c}")
	new := file("package: q\nvars: {v: int}\nkeys:\n  " + strings.Replace(item, "a:", "aa:", 1) +
		"\n  b: {key: \"b:{v}\", type: set, ttl: 2d, was: [bb, bc], readers: [r]}\n  fresh: {key: f, type: lock, ttl: " +
		"1m}\nevents: {e: {with: [v]}}")
	var got []string
	for _, c := range diff.Of(loaded(t, old), loaded(t, new)) {
		got = append(got, c.String())
	}
	want := []string{
		"~ file.package: p → q", "~ entry aa: renamed from a", "+ entry b.readers: r", "+ entry b.was: bc",
		"~ entry b.ttl: 1d → 2d",
		"+ entry fresh: f, lock, 1m", "- entry gone: g, set, 1d", "- channel c: c", "+ channel fresh_released: {#f}:released",
		"+ event e: v",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// TestZeroIsAText: a text that reads "0" or "0s" is said, a number that is not given is
// not.
func TestZeroIsAText(t *testing.T) {
	old := `a: {key: "x:0", type: string, ttl: 1d, doc: "0", readers: ["0s"]}`
	var got []string
	for _, c := range diff.Of(loaded(t, file("keys: {}")), loaded(t, file("keys: {}"))) {
		got = append(got, c.String())
	}
	for _, c := range diff.Of(loaded(t, file(old)),
		loaded(t, file(replace(old, `doc: "0", readers: ["0s"]`, `doc: d`).new))) {
		got = append(got, c.String())
	}
	for _, c := range diff.Of(loaded(t, file(queue("", "").old)),
		loaded(t, file(queue("lease: 1m, retry: 3", "lease: 2m").new))) {
		got = append(got, c.String())
	}
	want := []string{"~ entry a.doc: 0 → d", "- entry a.readers: 0s", "~ entry a.lease: 1m → 2m", "- entry a.retry: 3"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestWasCoversWhatIsDerived: `was` covers the further keys that a construct derives, as
// audit and rename have it; those that the author named it does not.
func TestWasCoversWhatIsDerived(t *testing.T) {
	declared := func(entry string) *keyspace.Keyspace { return loaded(t, file("vars: {p: a|b}\nkeys:\n  "+entry)) }
	for _, c := range []struct{ old, new string }{
		{`l: {key: a, type: lock, ttl: 1m}`, `l: {key: b, type: lock, ttl: 1m, was: [a]}`},
		{`q: {key: "a:{p}", type: queue, order: p, ttl: none}`,
			`q: {key: "b:{p}", type: queue, order: p, ttl: none, was: ["a:{p}"]}`},
		{`e: {key: "a:{i}", type: entity, ttl: 1h, fields: {k: text}}`,
			`e: {key: "b:{i}", type: entity, ttl: 1h, fields: {k: text}, was: ["a:{i}"]}`},
		{`l: {key: a, type: lock, ttl: 1m}`, `n: {key: b, type: lock, ttl: 1m, was: [a]}`},
	} {
		if found := Run(declared(c.old), declared(c.new), Key); has(found, "KW601") || has(found, "KW602") {
			t.Errorf("%s → %s: %+v", c.old, c.new, found)
		}
		without := Run(declared(c.old),
			declared(strings.NewReplacer(", was: [a]", "", `, was: ["a:{p}"]`, "", `, was: ["a:{i}"]`, "", "n:", "l:").Replace(
				c.new)), Key)
		if len(without) != 1 || without[0].Code != "KW601" || !strings.HasPrefix(without[0].Fix, "add was: [") ||
			!strings.Contains(without[0].Message, "; so it is with ") ||
			!strings.Contains(without[0].Order, "Stop all") && !strings.Contains(without[0].Order, "stop the workers") {
			t.Errorf("%s: %+v", c.old, without)
		}
	}
	given := Run(declared(`l: {key: a, type: lock, ttl: 1m, fence: f}`),
		declared(`l: {key: b, type: lock, ttl: 1m, fence: g, was: [a]}`), Key)
	i := slices.IndexFunc(given, func(f finding.Finding) bool { return f.Code == "KW601" })
	if i < 0 || !strings.Contains(given[i].Fix, `fence: "f"`) || strings.Contains(given[i].Order, "was") {
		t.Errorf("%+v", given)
	}
}

// TestOrderOfNewNames: no order is promised in which a lock has two holders, a queue loses
// jobs, or what is sealed is to be renamed.
func TestOrderOfNewNames(t *testing.T) {
	for _, c := range []struct{ entry, order string }{
		{`a: {key: K, type: lock, ttl: 1m, was: [x]}`, "there is none while both run"},
		{`a: {key: K, type: queue, ttl: none, was: [x]}`, "stop the workers of the old name"},
		{`a: {key: "K:{i}", type: entity, ttl: 1h, fields: {k: text}, was: ["x:{i}"]}`, "there is none while both run"},
		{`a: {key: K, type: counter, ttl: 1d, was: [x]}`, "there is none while both run"},
		{`a: {key: K, type: ranking, ttl: 1d, was: [x]}`, "there is none while both run"},
		{`a: {key: K, type: ratelimit, rate: 9 per 1m, ttl: 1h, was: [x]}`, "any: each version counts"},
		{`a: {key: K, type: cache, ttl: 1h, was: [x]}`, "any, where values that are stale"},
		{`a: {key: K, type: hash, fields: {s: text encrypted}, ttl: 1h, was: [x]}`,
			"readers that look under both, then writers, then read and write again"},
		{`a: {key: "K:{i}", type: entity, ttl: 1h, fields: {s: text encrypted}, was: ["x:{i}"]}`,
			"there is none while both run. Stop all that use it, then read"},
		{`a: {key: K, type: hash, ttl: 1h, was: [x]}`, "ACL rules for both names, then readers that look under both, " +
			"then writers, then rename"},
		{`a: {key: "K:{i}", type: hash, ttl: 1h, was: ["x:{i}"]}`, "ACL rules for both names, then readers that look " +
			"under both, then writers, then rename"},
		{`a: {key: "K:{i}", type: hash, ttl: 1h, was: ["x:{j}"]}`, "ACL rules for both names, then readers that look " +
			"under both, then writers, then drop"},
	} {
		old, _, _ := strings.Cut(c.entry, ", was")
		found := Run(loaded(t, file(strings.Replace(old, "K", "x", 1)+"}")), loaded(t, file(c.entry)), Key)
		if len(found) != 1 || found[0].Code != "KW606" || !strings.HasPrefix(found[0].Order, c.order) {
			t.Errorf("%s: %+v", c.entry, found)
		}
	}
}

// renamed returns n entries, and the same ones with other names.
func renamed(t *testing.T, n int) (old, new *keyspace.Keyspace) {
	t.Helper()
	return many(t, n, `a#: {key: "app:e#:{user}:{id}", type: string, ttl: 1h}`),
		many(t, n, `b#: {key: "app:e#:{user}:{id}", type: string, ttl: 1h}`)
}

// TestManyRenamed: entries that were renamed are found by their patterns.
func TestManyRenamed(t *testing.T) {
	const n = 500
	if changes := diff.Of(renamed(t, n)); len(changes) != n || !changes[n-1].Renamed {
		t.Errorf("%d changes, the last one %+v", len(changes), changes[len(changes)-1])
	}
}

// TestRenamedAreFoundInOneStep: each renamed entry is found in one step, however many there are.
func TestRenamedAreFoundInOneStep(t *testing.T) {
	gate.Skip(t, "compares times")
	const few, many = 250, 2000
	var small, large [2]*keyspace.Keyspace
	small[0], small[1] = renamed(t, few)
	large[0], large[1] = renamed(t, many)
	for range 5 { // what a busy machine makes long once is not long each time
		start := time.Now()
		pairs.Match(small[0], small[1])
		middle := time.Now()
		pairs.Match(large[0], large[1])
		if time.Since(middle) < 32*middle.Sub(start) {
			return
		}
	}
	t.Errorf("%d entries take more than 32 times as long as %d", many, few)
}
