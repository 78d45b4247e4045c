package breaking

import (
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/keyspace/finding"
)

// TestRetiredIsTold: what is gone and retired is a line, not an error. Each change has the codes that
// are reported, and no finding above that.
func TestRetiredIsTold(t *testing.T) {
	const (
		tier  = "keys:\n  t: {key: \"t:{p}\", type: set, ttl: none}\n  a: {key: x, type: set, ttl: none}"
		only  = "keys:\n  a: {key: x, type: set, ttl: none}"
		words = "vars: {p: free|pro|gold}\nkeys:\n  t: {key: \"t:{p}\", type: set, member: p, ttl: none}"
		less  = "vars: {p: {type: free|pro, retired: [gold]}}\nkeys:\n  t: {key: \"t:{p}\", type: set, member: p, ttl: none}"
	)
	for name, c := range map[string]struct {
		change
		told string
	}{
		"an entry": {change{tier, only + "\nretired: {keys: {t: \"t:{p}\"}}"}, "KW602 KW641"},
		"an entry, under a wider pattern": {change{tier, only + "\nretired: {keys: {t: [\"other\", \"t:{any}\"]}}"},
			"KW602 KW641"},
		"a queue with what is derived": {change{"keys:\n  q: {key: q, type: queue, ttl: none}",
			"keys: {}\nretired: {keys: {q: q}}"}, "KW602 KW641"},
		"an entity with its index": {change{"keys:\n  " + memo,
			"keys: {}\nretired: {keys: {a: [\"m:{i}\", \"mi:{k}\"]}}"}, "KW602 KW641"},
		"a name": {change{only, "retired: {keys: {a: []}}\nkeys:\n  b: {key: x, type: set, ttl: none}"}, "KW641"},
		"a script": {change{"keys:\n  " + strings.ReplaceAll(call, "\n", "\n  "),
			"keys:\n  a: {key: x, type: counter, ttl: none}\nretired: {keys: {s: []}}"}, "KW641"},
		"a former pattern": {change{`keys:` + "\n" + `  a: {key: y, type: set, ttl: 1d, was: ["x:{i}"]}`,
			"keys:\n  a: {key: y, type: set, ttl: 1d}\nretired: {keys: {old_a: \"x:{i}\"}}"}, "KW603"},
		"a channel": {change{"keys: {}\nchannels: {c: \"c:{i}\"}", "keys: {}\nretired: {channels: {c: \"c:{i}\"}}"},
			"KW605 KW641"},
		"a durable channel": {change{"keys: {}\nchannels: {c: {channel: c, durable: {age: 1d}}}",
			"keys: {}\nretired: {channels: {c: c}}"}, "KW602 KW605 KW641 KW641"},
		"an event": {change{only + "\nevents: {e: {with: [], deletes: [a]}}", only + "\nretired: {events: [e]}"}, "KW641"},
		"a field":  {replace("keys:\n  "+hash, ", t: text max 9 optional}", "}, retired: [t]"), "KW612"},
		"all fields": {change{"keys:\n  a: {key: x, type: hash, fields: {t: text optional}, ttl: none}",
			"keys:\n  a: {key: x, type: hash, retired: [t], ttl: none}"}, "KW612"},
		"a field of a payload": {change{"keys:\n  a: {key: q, type: queue, value: {n: int, m: int optional}, ttl: none}",
			"keys:\n  a: {key: q, type: queue, value: {n: int}, retired: [m], ttl: none}"}, "KW612"},
		"a field of a message": {change{"keys: {}\nchannels: {c: {channel: c, message: {n: int, m: int optional}}}",
			"keys: {}\nchannels: {c: {channel: c, message: {n: int}, retired: [m]}}"}, "KW616"},
		"a word": {change{words, less}, "KW601 KW613"},
	} {
		var told []string
		for _, f := range Run(loaded(t, file(c.old)), loaded(t, file(c.new))) {
			if f.Severity != finding.Note {
				t.Errorf("%s: %s %s", name, f.Code, f.Message)
			}
			told = append(told, f.Code)
			if f.Severity == finding.Note && !strings.Contains(f.Message, "retired") {
				t.Errorf("%s: %s does not say why it is no error: %s", name, f.Code, f.Message)
			}
		}
		slices.Sort(told)
		if got := strings.Join(told, " "); got != c.told {
			t.Errorf("%s: told %q, want %q", name, got, c.told)
		}
	}
}

// TestRetiredIsNoLicence: what is retired is what is named, and no more.
func TestRetiredIsNoLicence(t *testing.T) {
	const tier = "keys:\n  t: {key: \"t:{p}\", type: set, ttl: none}"
	for name, c := range map[string]struct {
		change
		code, fix string
	}{
		"a name without the keys": {change{tier, "keys: {}\nretired: {keys: {t: []}}"}, "KW602",
			`retired: {keys: {t: "t:{p}"}}`},
		"some of the keys":      {change{tier, "keys: {}\nretired: {keys: {t: \"t:a{p}\"}}"}, "KW602", ""},
		"keys without the name": {change{tier, "keys: {}\nretired: {keys: {u: \"t:{p}\"}}"}, "KW641", "retired"},
		"of another section":    {change{tier, "keys: {}\nretired: {channels: {t: \"t:{p}\"}}"}, "KW641", "retired"},
		"a pattern that its author wrote": {change{"keys:\n  q: {key: q, type: queue, dead: given-up, ttl: none}",
			"keys: {}\nretired: {keys: {q: q}}"}, "KW602", `retired: {keys: {q: ["q", "given-up"]}}`},
		"a field that was required": {replace("keys:\n  "+hash, "n: int, t: text max 9 optional},",
			"t: text max 9 optional}, retired: [n],"),
			"KW612", "make it optional first"},
		"another word": {change{"vars: {p: a|b|c|d}\nkeys:\n  t: {key: x, type: set, member: p, ttl: none}",
			"vars: {p: {type: a|c, retired: [b]}}\nkeys:\n  t: {key: x, type: set, member: p, ttl: none}"}, "KW613", ""},
	} {
		found := Run(loaded(t, file(c.old)), loaded(t, file(c.new)))
		i := slices.IndexFunc(found, func(f finding.Finding) bool { return f.Code == c.code && f.Severity == finding.Error })
		if i < 0 || !strings.Contains(found[i].Fix, c.fix) {
			t.Errorf("%s: no error %s with the fix %q: %+v", name, c.code, c.fix, found)
		}
	}
}

// TestWhatIsGoneCanBeIgnored: a finding of what is gone is at the first line that is no comment, so
// that a comment can be above it.
func TestWhatIsGoneCanBeIgnored(t *testing.T) {
	old := loaded(t, file("keys:\n  a: {key: x, type: set, ttl: none}"))
	for _, f := range Run(old, loaded(t, "\ufeff# a file\n\n---\nkeywright: 1\nowner: o\nkeys: {}\n")) {
		if f.Pos.Line != 4 || f.Pos.Column != 1 {
			t.Errorf("%s is at %d:%d", f.Code, f.Pos.Line, f.Pos.Column)
		}
	}
}

// TestOneReaderIsOneFinding: the channels that a construct has are read by the readers of its entry.
func TestOneReaderIsOneFinding(t *testing.T) {
	for _, x := range []change{
		replace("keys:\n  q: {key: q, type: queue, readers: [r], ttl: none}", "readers: [r], ", ""),
		replace("keys: {}\nchannels: {c: {channel: c, durable: {age: 1d}, readers: [r]}}", ", readers: [r]", ""),
		replace("keys: {}\nchannels: {c: {channel: \"c:{id}\", reply: {n: int}, message: {id: text}, readers: [r]}}",
			", readers: [r]", ""),
	} {
		if n := countFindings(Run(loaded(t, file(x.old)), loaded(t, file(x.new))), "KW627", ""); n != 1 {
			t.Errorf("%d findings of\n%s→\n%s", n, x.old, x.new)
		}
	}
}
