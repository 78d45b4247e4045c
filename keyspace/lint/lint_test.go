package lint

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// twins returns two entries whose keys are one word and the other.
func twins(a, b string) string {
	return fmt.Sprintf("a: {key: \"%s:{x}\", type: string, ttl: 1d}\nb: {key: \"%s:{x}\", type: string, ttl: 1d}", a, b)
}

// cases has, for each rule, entries (or whole sections) in which it finds
// something and ones in which it must not. A text without `keys:` is the inside
// of keys.
var cases = map[string]struct{ bad, good []string }{
	"KW120": {bad: []string{"a: {key: \"x:{p}\", type: string, ttl: 1d}\nb: {key: \"{q}:y\", type: string, ttl: 1d}"},
		good: []string{"a: {key: \"x:{p}\", type: string, ttl: 1d}\nb: {key: \"x:y\", type: string, ttl: 1d}",
			"a: {key: \"q:{p}\", type: string, ttl: 1d}\nb: {key: \"q:job:{i}\", type: string, ttl: 1d}"}},
	"KW121": {bad: []string{"a: {key: \"x:{p}\", type: string, ttl: 1d}\nb: {key: \"x:{q}\", type: set, ttl: 1d}"},
		good: []string{"a: {key: \"x:{p}\", type: string, ttl: 1d}\nb: {key: \"y:{p}\", type: string, ttl: 1d}"}},
	"KW123": {bad: []string{"vars: {id: int}\nkeys:\n  a: {key: x, type: string, ttl: 1d}"},
		good: []string{"vars: {id: int}\nkeys:\n  a: {key: \"x:{id}\", type: string, ttl: 1d}",
			"vars: {id: int}\nkeys:\n  a: {key: x, type: set, member: id, ttl: 1d}"}},
	"KW124": {bad: []string{
		"vars: {user_id: int}\nkeys:\n  a: {key: \"x:{userId}\", type: set, member: user_id, ttl: 1d}"},
		good: []string{"vars: {user_id: int}\nkeys:\n  a: {key: \"x:{user}\", type: set, member: user_id, ttl: 1d}"}},
	"KW125": {bad: []string{"owns: [\"a:*\", \"b:*\"]\nkeys:\n  a: {key: \"c:{x}\", type: string, ttl: 1d}",
		"owns: [\"a:*\"]\nkeys:\n  a: {key: \"{x}:a\", type: string, ttl: 1d}"},
		good: []string{"owns: [\"a:*\"]\nkeys:\n  a: {key: \"a:{x}\", type: lock, ttl: 1m}",
			"owns: [\"a:*\", \"b:*\"]\nvars: {ab: a|b}\nkeys:\n  a: {key: \"{ab}:x\", type: string, ttl: 1d}",
			"owns: [\"a:*\"]\nkeys:\n  a: {key: c, type: string, ttl: 1d, skip: [owns]}"}},
	"KW126": {bad: []string{
		"shape: \"{p}:{x}[:{y}]\"\nvars: {p: cache|lock}\nkeys:\n  a: {key: \"tmp:x\", type: string, ttl: 1d}",
		"shape: \"a:{x}\"\nkeys:\n  a: {key: \"b:x\", type: string, ttl: 1d}",
		"shape: \"{a}:{b}\"\nkeys:\n  a: {key: x, type: string, ttl: 1d}",
		"shape: \"{a}\"\nkeys:\n  a: {key: \"x:y\", type: string, ttl: 1d}"},
		good: []string{
			"shape: \"{p}:{x}[:{y}]\"\nvars: {p: cache|lock}\nkeys:\n  a: {key: \"cache:x:{z}\", type: string, ttl: 1d}\n  b: " +
				"{key: \"{p}:{z}\", type: string, ttl: 1d}",
			"shape: \"a:{x}\"\nkeys:\n  a: {key: b, type: string, ttl: 1d, skip: [shape]}"}},
	"KW127": {bad: []string{"a: {key: \"User:{x}\", type: string, ttl: 1d}\nb: {key: \"user:{x}\", type: string, ttl: 1d}",
		twins("user", "us\u0435r"), twins("olo", "\u03bflo"), twins("caf\u00e9", "cafe\u0301"),
		twins("상품", "\u1109\u1161\u11bc\u1111\u116e\u11b7"), twins("がん", "か\u3099ん"),
		twins("user", "us\u200ber"), twins("user", "us\u202eer"), twins("user", "\uff55ser"), twins("a-b", "a\u2010b"),
		twins("ТOР", "TOP")},
		good: []string{"a: {key: \"user:{x}\", type: string, ttl: 1d}\nb: {key: \"users:{x}\", type: string, ttl: 1d}",
			twins("café", "cafe"), twins("заказ", "zakaz"), twins("상품", "상점")}},
	"KW128": {bad: []string{"a: {key: \"x y\", type: string, ttl: 1d}", "a: {key: \"x\\\\x01\", type: string, ttl: 1d}",
		"a: {key: \"x\u200b\", type: string, ttl: 1d}", "a: {key: \"x\u202ey\", type: string, ttl: 1d}",
		"a: {key: \"us\u0435r\", type: string, ttl: 1d}", "a: {key: \"x\u00a0y\", type: string, ttl: 1d}"},
		good: []string{"a: {key: \"상품:{x}\", type: string, ttl: 1d}", "a: {key: \"заказ:{x}\", type: string, ttl: 1d}",
			"a: {key: \"café:{x}\", type: string, ttl: 1d}"}},
	"KW129": {bad: []string{"foreign: [\"a*\"]\nkeys:\n  a: {key: \"ab:{x}\", type: string, ttl: 1d}",
		"owns: [\"a:*\"]\nforeign: [\"*\"]\nkeys:\n  a: {key: \"a:{x}\", type: string, ttl: 1d}"},
		good: []string{"foreign: [\"bull:*\"]\nkeys:\n  a: {key: \"ab:{x}\", type: string, ttl: 1d}"}},
	"KW130": {bad: []string{"class: {key: x, type: string, ttl: 1d}",
		"a: {key: x, type: hash, ttl: 1d, fields: {__proto__: int}}"},
		good: []string{"classes: {key: x, type: string, ttl: 1d}"}},
	"KW131": {bad: []string{"a: {key: \"x:<id>\", type: string, ttl: 1d}", "a: {key: \"x:${id}\", type: string, ttl: 1d}",
		"a: {key: \"x:%s\", type: string, ttl: 1d}", "a: {key: \"x:*\", type: string, ttl: 1d}"},
		good: []string{"a: {key: \"x:{id}\", type: string, ttl: 1d}", "a: {key: \"x$y:<:{id}\", type: string, ttl: 1d}"}},
	"KW132": {bad: []string{
		"vars: {p: high|dead}\nkeys:\n  q: {key: \"{#q}:{p}\", type: queue, order: p, ttl: none}",
		"vars: {p: high|low}\nkeys:\n  q: {key: \"{#q:{tenant}}:{p}\", type: queue, order: p, ttl: none, runs: " +
			"\"{#q:{tenant}}:low\"}"},
		good: []string{"vars: {p: high|dead}\nkeys:\n  q: {key: \"{#q}:{p}\", type: queue, order: p, ttl: none, dead: " +
			"\"{#q}:given-up\"}", "vars: {p: high|dead}\nkeys:\n  q: {key: \"q:{p}\", type: queue, order: p, ttl: none}"}},
	"KW133": {bad: []string{
		"retired: {keys: {a: []}}\nkeys:\n  a: {key: x, type: string, ttl: 1d}",
		"retired: {keys: {b: \"x:{i}\"}}\nkeys:\n  a: {key: \"{j}:y\", type: string, ttl: 1d}",
		"retired: {keys: {b: x}}\nkeys:\n  a: {key: y, was: [x], type: string, ttl: 1d}",
		"retired: {channels: {c: []}}\nkeys: {}\nchannels: {c: x}",
		"retired: {channels: {b: \"x:{i}\"}}\nkeys: {}\nchannels: {c: \"x:y\"}",
		"retired: {events: [e]}\nkeys:\n  a: {key: x, type: cache, ttl: 1d}\nevents: {e: {with: [], deletes: [a]}}",
		"a: {key: x, type: hash, fields: {f: int}, retired: [f], ttl: 1d}",
		"a: {key: x, type: string, value: {f: int}, retired: [f], ttl: 1d}",
		"a: {key: x, type: queue, value: {f: int}, retired: f, ttl: none}",
		"keys: {}\nchannels: {c: {channel: x, message: {f: int}, retired: [f]}}",
		"vars: {v: {type: a|b, retired: [b]}}\nkeys:\n  a: {key: \"{v}\", type: string, ttl: 1d}"},
		good: []string{"retired: {keys: {b: \"y:{i}\"}, channels: {a: x}}\nkeys:\n  a: {key: x, type: string, ttl: 1d}",
			"a: {key: x, type: hash, fields: {f: int}, retired: [g], ttl: 1d}",
			"vars: {v: {type: a|b, retired: [c]}}\nkeys:\n  a: {key: \"{v}\", type: string, ttl: 1d}"}},
	"KW204": {bad: []string{"a: {key: x, type: cache, ttl: none}"},
		good: []string{"a: {key: x, type: cache, ttl: any}", "a: {key: x, type: string, ttl: none}"}},
	"KW205": {bad: []string{"a: {key: x, type: cache, ttl: 1h sliding}",
		"ttls: {t: 1h in 1m..1d sliding}\nkeys:\n  a: {key: x, type: cache, ttl: t}"},
		good: []string{"a: {key: x, type: cache, ttl: 1h ~5%}", "a: {key: x, type: string, ttl: 1h sliding}"}},
	"KW211": {bad: []string{"a: {key: x, type: lock, ttl: none}", "a: {key: x, type: lock, ttl: any}"},
		good: []string{"a: {key: x, type: lock, ttl: 30s}"}},
	"KW212": {bad: []string{"a: {key: x, type: lock, ttl: 2d}"}, good: []string{"a: {key: x, type: lock, ttl: 1d}"}},
	"KW213": {bad: []string{"ttls: {short: 1m}\nkeys:\n  a: {key: x, type: string, ttl: 1d}"},
		good: []string{"ttls: {short: 1m}\nkeys:\n  a: {key: x, type: string, ttl: short}"}},
	"KW214": {bad: []string{"a: {key: x, type: lock, ttl: 1m ~10%}"},
		good: []string{"a: {key: x, type: cache, ttl: 1m ~10%}"}},
	"KW215": {bad: []string{"a: {key: x, type: ratelimit, ttl: 1m, rate: 100 per 1h}"},
		good: []string{"a: {key: x, type: ratelimit, ttl: 1h, rate: 100 per 1h}"}},
	"KW216": {bad: []string{"keys: {}\nchannels: {c: {channel: c, durable: true}}",
		"a: {key: x, type: stream, ttl: none}"},
		good: []string{"a: {key: x, type: stream, ttl: none, maxlen: 10}", "a: {key: x, type: stream, ttl: 1d}"}},
	"KW321": {bad: []string{
		"cluster: true\nvars: {p: a|b}\nkeys:\n  q: {key: \"q:{p}\", type: queue, order: p, ttl: none}",
		"cluster: true\nkeys:\n  a: {key: \"x:{i}\", type: string, ttl: 1d}\n  b: {key: \"y:{i}\", type: string, ttl: " +
			"1d}\n  s: {type: script, file: s.lua, keys: [a, b]}"},
		good: []string{"cluster: true\nvars: {p: a|b}\nkeys:\n  q: {key: \"{#q}:{p}\", type: queue, order: p, ttl: none}",
			"vars: {p: a|b}\nkeys:\n  q: {key: \"q:{p}\", type: queue, order: p, ttl: none}",
			"cluster: true\nkeys:\n  l: {key: \"l:{i}\", type: lock, ttl: 1m}",
			"cluster: true\nkeys:\n  a: {key: \"x:{#{i}}\", type: string, ttl: 1d}\n  b: {key: \"y:{#{i}}:z\", type: string, " +
				"ttl: 1d}\n  s: {type: script, file: s.lua, keys: [a, b]}"}},
	"KW339": {bad: []string{"a: {key: \"q:{lane}\", type: queue, ttl: none}",
		"vars: {p: high|normal|low}\nkeys:\n  a: {key: \"q:{p}\", type: queue, ttl: none}",
		"vars: {lane: high|low, prio: a|b}\nkeys:\n  a: {key: \"q:{lane}:{prio}\", type: queue, order: lane, ttl: none}"},
		good: []string{"a: {key: \"q:{tenant}\", type: queue, ttl: none}",
			"vars: {r: eu|us}\nkeys:\n  a: {key: \"q:{r}\", type: queue, ttl: none}",
			"vars: {lane: high|low}\nkeys:\n  a: {key: \"q:{lane}\", type: queue, order: lane, ttl: none}\n" +
				"  b: {key: \"l:{lane}\", type: list, ttl: 1d}"}},
	"KW340": {bad: []string{
		"cluster: true\nkeys:\n  a: {key: \"x:{i}\", type: entity, ttl: 1d, fields: {k: slug}, index: {k: \"y:{k}\"}}"},
		good: []string{"keys:\n  a: {key: \"x:{i}\", type: entity, ttl: 1d, fields: {k: slug}, index: {k: \"y:{k}\"}}",
			"cluster: true\nkeys:\n  a: {key: \"{#x}:{i}\", type: entity, ttl: 1d, fields: {k: slug}, index: {k: " +
				"\"{#x}:k:{k}\"}}"}},
	"KW322": {bad: []string{
		"keys:\n  a: {key: \"x:{i}:{j}\", type: cache, ttl: 1d}\nevents:\n  e: {with: [i], deletes: [a]}"},
		good: []string{"keys:\n  a: {key: \"x:{i}:{j}\", type: cache, ttl: 1d}\nevents:\n  e: {with: [i, j], deletes: [a]}"}},
	"KW323": {bad: []string{"keys: {}\nevents:\n  e: {with: [i]}"},
		good: []string{"keys: {}\nchannels: {c: x}\nevents:\n  e: {with: [i], emits: [c]}"}},
	"KW324": {bad: []string{
		"keys:\n  a: {key: \"tmp:{x}\", type: string, ttl: none}\ncleanup:\n  - {match: \"tmp:*\", idle: 1d}"},
		good: []string{"keys:\n  a: {key: \"tmp:{x}\", type: string, ttl: 1d}\ncleanup:\n  - {match: \"tmp:*\", idle: 1d}"}},
	"KW336": {bad: []string{
		"keys:\n  a: {key: \"log:{x}\", type: string, ttl: 1d}\ncleanup:\n  - {match: \"log:*\", keep: 3}",
		"vars: {n: int}\nkeys:\n  a: {key: \"log:{n}\", type: string, ttl: 1d}\ncleanup:\n  - {match: \"log:*\", older: 3d}"},
		good: []string{
			"vars: {n: int}\nkeys:\n  a: {key: \"log:{n}\", type: string, ttl: none}\ncleanup:\n  - {match: \"log:*\", keep: 3}",
			"vars: {day: date}\nkeys:\n  a: {key: \"log:{day}\", type: string, ttl: 1d}\ncleanup:\n  - {match: " +
				"\"log:*\", older: 3d}"}},
	"KW325": {bad: []string{"owns: [\"a:*\"]\nkeys: {}\ncleanup:\n  - {match: \"*:tmp\", idle: 1d}"},
		good: []string{"owns: [\"a:*\"]\nkeys: {}\ncleanup:\n  - {match: \"a:tmp:*\", idle: 1d}"}},
	"KW326": {bad: []string{"keys: {}\nchannels: {a: \"e:{x}\", b: \"{y}:f\"}"},
		good: []string{"keys: {}\nchannels: {a: \"e:{x}\", b: \"f:{y}\", c: \"e:g\"}"}},
	"KW327": {bad: []string{scriptCase("beyond.lua", ""), scriptCase("literal.lua", ""), scriptCase("scans.lua", "")},
		good: []string{scriptCase("fine.lua", ""), scriptCase("all.lua", "")}},
	"KW328": {bad: []string{scriptCase("argless.lua", ""), scriptCase("fine.lua", ", args: {n: int, m: int}"),
		scriptCase("literal.lua", "")},
		good: []string{scriptCase("fine.lua", ""), scriptCase("all.lua", ", args: {n: int, m: int}")}},
	"KW329": {bad: []string{scriptCase("fine.lua", ", effect: reads")},
		good: []string{scriptCase("fine.lua", ", effect: idempotent"), scriptCase("reads.lua", ", effect: reads")}},
	"KW350": {bad: []string{
		moving("p: {moves: [{from: \"s:/{g}/{n}/[]\", to: s, with: {n: \"slug({n})\"}, member: .}]}"),
		moving("p: {moves: [{from: \"s:/{g}/{x}/[]\", to: l, member: .}]}"),
		moving("p: {moves: [{from: \"s:/{g}/[]\", to: l, member: lower(.a)}]}")},
		good: []string{
			moving("p: {moves: [{from: \"s:/{g}/{n}\", to: h, field: \"{n}\", value: .}, {from: \"s:/{g}/{n}/seen/[]\", to: " +
				"s, with: {n: \"slug({n})\"}, member: ., kept: {n: h}}]}"),
			moving("p: {moves: [{from: \"s:/{g}/{c}/[]\", to: z, with: {g: \"{c}\"}, member: .h, score: .n}, {from: " +
				"\"s:/{g}/{c}/[]\", to: v, with: {i: .h}, value: ., ttl: {from: unix_s(.n)}}, {from: \"s:/{g}/{c}/[]\", to: l, " +
				"member: .n}]}")}},
	"KW351": {bad: []string{moving("p: {moves: [{from: \"s:/{i}\", to: v, value: .}]}")},
		good: []string{moving("p: {moves: [{from: \"s:/{i}\", to: v, value: ., ttl: {until: unix_s(.n)}}]}"),
			moving("p: {moves: [{from: \"s:/{g}/{n}\", to: h, field: \"{n}\", value: .}]}")}},
	"KW352": {bad: []string{
		moving("p: {moves: [{from: \"s:/a/{g}/{n}\", to: h, field: \"{n}\", value: .}]}, q: {moves: [{from: " +
			"\"s:/b/{g}/{n}\", to: h, field: \"{n}\", value: .}]}"),
		moving("p: {moves: [{from: \"s:/{g}/[]\", to: l, member: .}]}, q: {moves: [{from: \"s:/{g}/[]\", to: z, member: " +
			"., score: .}]}"),
		moving("p: {moves: [{from: \"s:/a/{g}/{n}/[]\", to: s, with: {n: \"slug({n})\"}, member: ., kept: {n: h}}]}, q: " +
			"{moves: [{from: \"s:/b/{g}/{n}\", to: h, field: \"{n}\", value: .}]}")},
		good: []string{
			moving("p: {moves: [{from: \"s:/a/{g}/{n}\", to: h, field: \"{n}\", value: .}, {from: \"s:/b/{g}/{n}\", to: h, " +
				"field: \"{n}\", value: .}]}")}},
	"KW353": {bad: []string{moving("p: {moves: [], gates: {compared: 0}}"), moving("p: {moves: [], gates: {unequal: 1}}"),
		moving("p: {moves: [], gates: {marks: 1}}")},
		good: []string{moving("p: {moves: [], gates: {compared: 1, backup: none}}"), moving("p: {moves: []}")}},
	"KW354": {bad: []string{
		moving("p: {moves: [{from: \"s:/{g}/{n}\", to: h, field: \"{n}\", value: .}, {from: \"s:/{g}/{n}/x/[]\", to: l, " +
			"member: .}]}")},
		good: []string{
			moving("p: {moves: [{from: \"s:/{g}/{n}\", to: h, field: \"{n}\", value: .}, {from: \"s:/{g}/x/[]\", to: l, " +
				"member: .}]}"),
			moving("p: {moves: [{from: \"s:/{g}/{n}\", to: h, field: \"{n}\", value: .a}, {from: \"s:/{g}/{n}/x/[]\", to: l, " +
				"member: .}]}")}},
	"KW355": {bad: []string{moving("p: {moves: []}")},
		good: []string{moving("p: {moves: [{from: \"s:/{g}/[]\", to: l, member: .}]}")}},
	"KW356": {bad: []string{
		moving("p: {moves: [{from: \"s:/{g}/[]\", to: l, member: .}]}") + "\n    ignore: [{from: \"s:/{g}\", reason: x}]"},
		good: []string{
			moving("p: {moves: [{from: \"s:/{g}/a/[]\", to: l, member: .}]}") + "\n    ignore: [{from: \"s:/{g}/b\", reason: x}]"}},
	"KW337": {bad: []string{"keys: {}\njanitor:\n  j: {do: clean, every: 1h}",
		"keys: {}\njanitor:\n  j: {do: sweep, every: 1h}",
		"keys:\n  a: {key: \"x:{i}\", type: string, ttl: any}\njanitor:\n  j: {do: ttl, every: 1h}",
		"keys:\n  a: {key: \"x:{i}\", type: string, ttl: any}\n  b: {key: \"y:{i}\", type: string, ttl: 1h}\njanitor:\n " +
			" j: {do: ttl, entry: a, every: 1h}"},
		good: []string{
			"keys:\n  a: {key: \"x:{i}\", type: string, ttl: 1h}\ncleanup: [{match: \"x:*\", idle: 1d}]\njanitor:\n  j: {do: " +
				"clean, every: 1h}\n  k: {do: ttl, every: 1h}\n  l: {do: audit, every: 1h}\n  m: {do: backup, every: " +
				"1h, keep: 1}"}},
	"KW338": {bad: []string{"keys: {}\ncleanup: [{match: \"x:*\", idle: 1d}]\njanitor:\n  j: {do: audit, every: 1h}"},
		good: []string{"keys: {}\ncleanup: [{match: \"x:*\", idle: 1d}]",
			"keys: {}\ncleanup: [{match: \"x:*\", idle: 1d}]\njanitor:\n  j: {do: clean, every: 1h}"}},
	"KW345": {bad: []string{pressureCase("1h in 1m..1d", `{at: 90%, entry: a, where: {p: 1}, release: to 85%}`,
		`{at: 80%, entry: a, where: {p: 1}, shorten: to 5m}`),
		pressureCase("1h in 1m..1d", `{at: 95%, entry: a, where: {p: 1}, shorten: to 5m}`,
			`{at: 90%, entry: a, where: {p: 1}, release: to 85%}`)},
		good: []string{pressureCase("1h in 1m..1d", `{at: 80%, entry: a, where: {p: 1}, shorten: to 5m}`,
			`{at: 90%, entry: a, where: {p: 1}, release: to 85%}`),
			pressureCase("1h in 1m..1d", `{at: 90%, entry: a, where: {p: 2}, release: to 85%}`,
				`{at: 95%, entry: a, where: {p: 1}, shorten: to 5m}`)}},
	"KW346": {bad: []string{pressureCase("1h in 1m..1d", `{at: 80%, entry: a, where: {p: 1}, shorten: to 30s}`)},
		good: []string{pressureCase("1h in 1m..1d", `{at: 80%, entry: a, where: {p: 1}, shorten: to 5m}`),
			pressureCase("any", `{at: 80%, entry: a, where: {p: 1}, shorten: to 30s}`)}},
	"KW347": {bad: []string{pressureCase("1h in 1m..1d", `{at: 80%, entry: a, where: {p: 1}, shorten: to 1d}`)},
		good: []string{pressureCase("1h in 1m..1d", `{at: 80%, entry: a, where: {p: 1}, shorten: to 23h}`)}},
	"KW348": {bad: []string{pressureCase("none", `{at: 90%, entry: a, where: {p: 1}, release: to 85%}`),
		pressureCase("none", `{at: 80%, entry: a, where: {p: 1}, shorten: to 5m}`)},
		good: []string{pressureCase("any", `{at: 90%, entry: a, where: {p: 1}, release: to 85%}`)}},
	"KW330": {bad: []string{
		emitting("cluster: true", "create", "{channel: c, durable: {age: 1d}}"),
		emitting("cluster: true", "create", "{channel: c, sharded: true}"),
		emitting("cluster: true", "create", "{channel: \"c:{#{id}}\", durable: {age: 1d}}"),
	}, good: []string{
		emitting("cluster: true", "create", "{channel: c}"), emitting("", "create", "{channel: c, durable: {age: 1d}}"),
	}},
	"KW331": {bad: []string{
		emitting("", "create", "{channel: c, message: {x: int}}"),
		emitting("", "create", "{channel: c, message: {n: unix_ms}}"),
		emitting("", "create", "{channel: c, message: {k: int}}"), emitting("", "expire", "{channel: c, message: {n: int}}"),
		emitting("", "delete", "{channel: \"c:{x}\"}"), emitting("", "create", "{channel: c, message: {o: int}}"),
		emitting("", "update", "{channel: \"c:{o}\"}"), emitting("", "expire", "{channel: c, message: {w: text}}"),
		emitting("", "update", "{channel: c, message: {s: text}}"),
		emitting("", "update", "{channel: c, message: {s: text encrypted}}"),
		emitting("", "update", "{channel: \"c:{k}\", durable: {age: 1d}}"),
		"keys: {}\nchannels: {c: {channel: c, message: {a: int}}}\nevents:\n  e: {with: [b], emits: [c]}",
		"keys: {}\nchannels: {c: \"c:{a}\"}\nevents:\n  e: {with: [b], emits: [c]}",
	}, good: []string{
		emitting("", "create", "{channel: c, message: {n: text, at: text}}"),
		emitting("", "create", "{channel: \"c:{id}\", message: {id: text, n: int, k: text, x: int optional}}"),
		emitting("", "expire",
			"{channel: \"c:{k}\", message: {id: text, k: text, at: unix_ms optional, n: int optional, w: text optional}}"),
		emitting("", "update", "{channel: \"c:{id}\", durable: {age: 1d}}"),
		emitting("", "expire", "{channel: \"c:{k}\", durable: {age: 1d}}"),
		"keys: {}\nchannels: {c: {channel: \"c:{b}\", message: {a: int, c: int optional}}}\nevents:\n  e: {with: [a, b], " +
			"emits: [c]}",
	}},
	"KW332": {bad: []string{"keys: {}\nchannels: {c: {channel: \"c:{x}\", sharded: true}}"},
		good: []string{"keys: {}\nchannels: {c: {channel: c, sharded: true}, d: \"d:{x}\"}"}},
	"KW333": {bad: []string{"keys: {}\nchannels: {c: {channel: c, envelope: plain}}",
		"keys: {}\nchannels: {c: {channel: c, sharded: true, envelope: plain}}"},
		good: []string{"keys: {}\nchannels: {c: c}", "cluster: true\nkeys: {}\nchannels: {c: {channel: c, envelope: plain}}",
			"keys: {}\nchannels: {c: {channel: c, durable: {maxlen: 10}, envelope: plain}}"}},
	"KW335": {bad: []string{"a: {key: x, type: set, member: text encrypted, ttl: 1d}",
		"a: {key: x, type: zset, member: text encrypted, ttl: 1d}",
		"a: {key: \"x:{d}\", type: ranking, member: text encrypted, score: int, ttl: 1d}",
		"a: {key: x, type: hash, field: text encrypted, value: int, ttl: 1d}",
		"keys: {}\nchannels: {c: {channel: c, message: {t: text encrypted}}}"},
		good: []string{"a: {key: x, type: list, member: text encrypted, ttl: 1d}",
			"a: {key: x, type: hash, field: text, value: int encrypted, ttl: 1d}",
			"a: {key: x, type: stream, fields: {t: text encrypted}, ttl: 1d}",
			"a: {key: \"x:{i}\", type: entity, fields: {t: text encrypted, k: int}, index: {k: y}, ttl: 1d}",
			"a: {key: x, type: cache, value: {t: text encrypted}, ttl: 1d}",
			"a: {key: x, type: queue, value: text encrypted, ttl: none}"}},
	"KW401": {bad: []string{"keywright: 1\nkeys:\n  a: {key: x, type: string, ttl: 1d}"}, good: []string{"a: {key: x, type: string, ttl: 1d}"}},
	"KW402": {bad: []string{"a: {key: x, type: string, ttl: 1d, readers: [o]}"},
		good: []string{"a: {key: x, type: string, ttl: 1d, readers: [p]}"}},
	"KW403": {bad: []string{"a: {key: x, type: string, ttl: 1d, owner: default}",
		"a: {key: x, type: string, ttl: 1d, readers: [keywright]}", "keywright: 1\nowner: sentinel-user\nkeys:\n  a: {key: x, type: string, ttl: 1d}",
		"keys: {}\nchannels: {c: {channel: c, readers: [replica-user]}}"},
		good: []string{"a: {key: x, type: string, ttl: 1d, owner: defaults, readers: [Default]}"}},
}

// moving returns a migration with these parts.
func moving(parts string) string {
	return "vars: {g: slug, n: slug, i: slug}\nkeys:\n  h: {key: \"h:{g}\", type: hash, field: text, value: json, ttl: " +
		"none}\n  s: {key: \"s:{g}:{n}\", type: set, member: text, ttl: none}\n  l: {key: \"l:{g}\", type: list, member: " +
		"text, ttl: none}\n  z: {key: \"z:{g}\", type: zset, member: text, ttl: none}\n  v: {key: \"v:{i}\", type: string, " +
		"value: json, ttl: 1d}\n" +
		"migrations:\n  m:\n    sources: {s: {file: s.json}}\n    parts: {" + parts + "}"
}

// pressureCase returns an entity with a zset per value, and what happens under pressure.
func pressureCase(ttl string, rules ...string) string {
	return "keys:\n  a: {key: \"x:{i}\", type: entity, ttl: " + ttl +
		", fields: {p: int, at: unix_ms}, index: {p+at: \"y:{p}\"}}\npressure:\n  - " + strings.Join(rules, "\n  - ")
}

// emitting returns an entity that announces one action on a channel.
func emitting(section, action, channel string) string {
	return section +
		"\nkeys:\n  e: {key: \"e:{#{id}}\", type: entity, ttl: 1h, fields: {n: int, k: text, at: unix_ms, s: text " +
		"encrypted, o: int optional, w: text optional}, index: {k: \"e:{#x}:{k}\", w: \"e:{#x}:w:{w}\", at: " +
		"\"e:{#x}:at\"}, emits: {" + action + ": c}}\nchannels:\n  c: " + channel
}

// scripts lists the files of the cases about scripts.
var scripts = map[string]string{
	"s.lua":       "",
	"fine.lua":    "-- KEYS[9] in a comment\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])",
	"beyond.lua":  "return redis.call('GET', KEYS[2]) .. KEYS[1] .. ARGV[1]",
	"literal.lua": "return redis.call(\"GET\", \"other:key\")",
	"scans.lua":   "--[[ long\ncomment ]] redis.pcall('SCAN', '0') return KEYS[1] .. ARGV[1]",
	"argless.lua": "redis.call('SET', KEYS[1], ARGV[2]) return ARGV[1]",
	"all.lua":     "for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[i]) end",
	"reads.lua":   "redis.call('TIME') return redis.call('BITFIELD_RO', KEYS[1], 'GET', 'u8', ARGV[1])",
}

func scriptCase(file, more string) string {
	if !strings.Contains(more, "args") {
		more += ", args: {n: int}"
	}
	return "a: {key: x, type: counter, ttl: none}\ns: {type: script, file: " + file + ", keys: [a]" + more + "}"
}

// declare makes a whole file of a case.
func declare(text string) string {
	if strings.HasPrefix(text, "keywright:") {
		return text
	}
	if !strings.Contains(text, "keys:") || !strings.Contains("\n"+text, "\nkeys:") {
		text = "keys:\n  " + strings.ReplaceAll(text, "\n", "\n  ")
	}
	return "keywright: 1\nowner: o\n" + text + "\n"
}

func run(t testing.TB, text string) []finding.Finding {
	t.Helper()
	files := fstest.MapFS{"k.yaml": {Data: []byte(text)}}
	for name, lua := range scripts {
		files[name] = &fstest.MapFile{Data: []byte(lua)}
	}
	ks, found := load.File(files, "k.yaml")
	if c := finding.Count(found); c.Errors > 0 {
		t.Fatalf("%s\ndoes not load: %+v", text, found)
	}
	return Run(ks)
}

func has(findings []finding.Finding, code string) bool {
	return slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Code == code })
}

func TestEveryRule(t *testing.T) {
	for _, r := range Rules() {
		c, ok := cases[r.Code]
		if !ok || len(c.bad) == 0 || len(c.good) == 0 {
			t.Errorf("%s has no case that it finds and one that it must not", r.Code)
		}
		for _, text := range c.bad {
			found := run(t, declare(text))
			if !has(found, r.Code) {
				t.Errorf("%s does not find\n%s%+v", r.Code, declare(text), found)
			}
			for _, f := range found {
				if f.Code == r.Code &&
					(f.Severity != r.Severity || f.Message == "" || f.Pos.Line == 0 || strings.HasSuffix(f.Message, ".")) {
					t.Errorf("%s: %+v", r.Code, f)
				}
			}
		}
		for _, text := range c.good {
			if found := run(t, declare(text)); has(found, r.Code) {
				t.Errorf("%s wrongly finds %+v in\n%s", r.Code, found, declare(text))
			}
		}
	}
	for code := range cases {
		if !slices.ContainsFunc(Rules(), func(r finding.Rule) bool { return r.Code == code }) {
			t.Errorf("there is a case for %s, but no rule", code)
		}
	}
}

func TestOverlapShowsAWitness(t *testing.T) {
	for _, f := range run(t, declare(cases["KW120"].bad[0])) {
		if f.Code == "KW120" && (!strings.Contains(f.Message, "the key x:y belongs to b") || len(f.Related) != 1) {
			t.Errorf("%+v", f)
		}
	}
}

// TestExamplesAreClean: a sound page lints without errors and warnings.
func TestExamplesAreClean(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/keyspace.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v %v", files, err)
	}
	for _, path := range append(files, "../../examples/all.yaml") {
		root := os.DirFS(filepath.Dir(path))
		ks, found := load.File(root, filepath.Base(path))
		found = append(found, Run(ks)...)
		texts := map[string][]byte{}
		for _, f := range found {
			text, err := fs.ReadFile(root, f.Pos.File)
			if err != nil {
				t.Fatal(err)
			}
			texts[f.Pos.File] = text
		}
		for _, f := range finding.Ignore(found, texts, Rules(), nil, time.Now()) {
			if f.Severity > finding.Note && !strings.HasPrefix(f.Code, "KW09") { // of rules that are not lint's
				t.Errorf("%s:%d: %s %s", path, f.Pos.Line, f.Code, f.Message)
			}
		}
	}
}

func BenchmarkThousandEntries(b *testing.B) {
	var text strings.Builder
	text.WriteString("keywright: 1\nowner: o\nowns: [\"s*\"]\nvars: {id: int}\nkeys:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  e%d: {key: \"s%d:thing:{id}:part_{name}\", type: hash, ttl: 1d}\n", i, i)
	}
	ks, _ := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text.String())}}, "k.yaml")
	b.ReportAllocs()
	for b.Loop() {
		if found := Run(ks); len(found) != 0 {
			b.Fatal(found[0])
		}
	}
}

// TestConflictsAreFolded: n patterns that each overlap n others are n findings, and
// not n times n.
func TestConflictsAreFolded(t *testing.T) {
	var text strings.Builder
	const n = 60
	for i := range n {
		fmt.Fprintf(&text, "a%d: {key: \"x%d:{p}\", type: string, ttl: 1d}\nb%d: {key: \"{q}:y%d\", type: string, ttl: 1d}\n",
			i, i, i, i)
	}
	count, related := 0, 0
	for _, f := range run(t, declare(text.String())) {
		if f.Code == "KW120" {
			count++
			related = max(related, len(f.Related))
			if len(f.Message) > 300 {
				t.Errorf("%d characters", len(f.Message))
			}
		}
	}
	if count == 0 || count > 2*n || related > 5 {
		t.Errorf("%d findings, %d other places", count, related)
	}
}
