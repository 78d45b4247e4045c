package infer_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/source"
	"pgregory.net/rapid"
)

// hostile draws keyspaces as no one would make them on purpose: families with a
// bad key in them, several types and TTLs under one shape, names with spaces,
// empty segments, bytes that are no text, and members in names.
func hostile(t *rapid.T) []source.Key {
	word := rapid.OneOf(
		rapid.SampledFrom(strings.Fields("user users album albun cache lock queue dau leaderboard leaderbord high low en "+
			"ja global id conf cdn db mail feature ai beta app1_user type class")),
		rapid.StringMatching(`[a-z]{1,6}`), rapid.StringMatching(`[a-z]{2,5}_[a-z]{2,5}`),
		rapid.StringMatching(`[a-z]{1,3} [a-z]{1,3}`),
	)
	data := rapid.OneOf(
		rapid.StringMatching(`[0-9]{1,5}`), rapid.StringMatching(`[0-9]{15,25}`), rapid.StringMatching(`-?[0-9]\.[0-9]{1,3}`),
		rapid.StringMatching(`[0-9a-f]{16}`), rapid.StringMatching(`[A-F0-9]{8}`),
		rapid.SampledFrom([]string{"2026-01-01", "2026-02-29", "2026-13-45", "2026-W07", "20260101", "007", "1763700000",
			"1763700000123", "7e7590d0-9e23-4763-b774-ee8514e10d0c", "10.0.0.1", "v2", "", " ", "{7}", "{a}{b}", "a b", "a_b",
			"日本", "e\u0301", "*", "\x00", "\xff\xfe", "#", "?", "[a]", `\`, `"`, "{", "}"}),
		word,
	)
	kinds := []source.Kind{source.String, source.Hash, source.List, source.Set, source.ZSet, source.Stream}
	ttls := []time.Duration{source.NoTTL, time.Second, time.Minute, time.Hour, 31 * 24 * time.Hour, 400 * 24 * time.Hour,
		30 * 365 * 24 * time.Hour}
	var keys []source.Key
	names := map[string]bool{}
	for range rapid.IntRange(1, 6).Draw(t, "families") {
		sep := rapid.SampledFrom([]string{":", ":", ":", "/", "|", "_", "-", "."}).Draw(t, "separator")
		var parts []string
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			parts = append(parts, rapid.OneOf(word, rapid.Just("#"), rapid.Just("#"),
				rapid.StringMatching(`[a-z]{2,4}[_=-]#`)).Draw(t, "part"))
		}
		shape := strings.Join(parts, sep)
		kind, ttl := rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.SampledFrom(ttls).Draw(t, "ttl")
		same := rapid.IntRange(0, 3).Draw(t, "same") > 0
		plain := rapid.SampledFrom([]*rapid.Generator[string]{data, rapid.StringMatching(`[1-9][0-9]{0,5}`), word}).Draw(t,
			"data")
		valued, look := rapid.Bool().Draw(t, "valued"), valuesOf(t)
		for range rapid.IntRange(1, 40).Draw(t, "keys") {
			name := shape
			for strings.Contains(name, "#") && len(name) < 200 {
				name = strings.Replace(name, "#", strings.ReplaceAll(plain.Draw(t, "value"), "#", ""), 1)
			}
			k := source.Key{Name: []byte(name), Kind: kind, TTL: ttl, Bytes: int64(rapid.IntRange(0, 500).Draw(t, "bytes"))}
			if !same && rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
				k.Kind, k.TTL = rapid.SampledFrom(kinds).Draw(t, "other kind"), rapid.SampledFrom(ttls).Draw(t, "other ttl")
			}
			if names[name] {
				continue
			}
			if valued {
				k.Value = look.of(t, k.Kind)
			}
			names[name] = true
			keys = append(keys, k)
		}
	}
	if rapid.Bool().Draw(t, "software") {
		for i := range rapid.IntRange(1, 20).Draw(t, "jobs") {
			keys = append(keys, source.Key{Name: fmt.Appendf(nil, "bull:mail:%d", i), Kind: source.Hash, TTL: source.NoTTL,
				Bytes: 70})
		}
		for _, name := range []string{"meta", "id", "wait", "events"} {
			kind := map[string]source.Kind{"meta": source.Hash, "id": source.String, "wait": source.List,
				"events": source.Stream}[name]
			keys = append(keys, source.Key{Name: []byte("bull:mail:" + name), Kind: kind, TTL: source.NoTTL, Bytes: 30})
		}
	}
	return keys
}

// clean loads a declaration, lints it as the command does, and audits the keys
// with it. The only findings are keys that nothing declares.
func clean(t *rapid.T, text []byte, keys []source.Key) (*keyspace.Keyspace, *audit.Report) {
	ks := loaded(t, text)
	files := map[string][]byte{"keyspace.yaml": text}
	for _, f := range finding.Ignore(lint.Run(ks), files, lint.Rules(), lint.Rules(), time.Time{}) {
		if !says(string(text), f.Entry, nearly) {
			t.Fatalf("lint: %s %s: %s\n%s", f.Code, f.Entry, f.Message, text)
		}
	}
	fold, err := audit.New(ks, audit.Options{Values: true, Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	fold.Add(keys)
	report := fold.Report(source.Summary{Keys: int64(len(keys))}, false)
	for _, f := range report.Findings {
		mixed := slices.Contains([]string{"KW504", "KW505", "KW506", "KW507"}, f.Code) &&
			says(string(text), f.Entry, " of type ")
		if !mixed && !slices.Contains([]string{"KW502", "KW503", "KW515", "KW516"}, f.Code) { // of what a draft leaves
			t.Fatalf("audit: %s %s: %s\n%s", f.Code, f.Entry, f.Message, text)
		}
	}
	return ks, report
}

// nearly is the guess of an entry whose warnings stay.
const nearly = "guess: may be a misspelling of "

// says reports whether a draft has a guess with some words at an entry.
func says(text, entry, what string) bool {
	name, _, _ := strings.Cut(entry, ".")
	head, _, _ := strings.Cut(text, "\n  "+name+":\n")
	return strings.Contains(head[strings.LastIndex(head, "\n\n")+1:], what)
}

// sum returns the keys and bytes of all parts of a draft.
func sum(d *infer.Draft) infer.Count {
	all := d.Known
	for _, e := range d.Entries {
		all.Keys, all.Bytes = all.Keys+e.Keys, all.Bytes+e.Bytes
	}
	for _, f := range d.Foreign {
		all.Keys, all.Bytes = all.Keys+f.Keys, all.Bytes+f.Bytes
	}
	for _, l := range d.Left {
		all.Keys, all.Bytes = all.Keys+l.Keys, all.Bytes+l.Bytes
	}
	return all
}

// A draft loads, passes lint and an audit of the keys it came from, and its
// parts add up to what the audit counts.
func TestDraftsHold(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		keys := hostile(t)
		in, err := infer.New(infer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		in.Add(keys)
		d := in.Draft()
		text := d.YAML()
		if again := in.Draft().YAML(); !bytes.Equal(text, again) {
			t.Fatalf("a second draft of the same keys differs:\n%s\n%s", text, again)
		}
		_, report := clean(t, text, keys)
		if got := sum(d); got != d.All {
			t.Fatalf("the parts are %+v of %+v\n%s", got, d.All, text)
		}
		counted := map[string]int64{}
		for _, e := range report.Entries {
			name, _, _ := strings.Cut(e.Name, ".")
			counted[name] += e.Keys
		}
		for _, e := range d.Entries {
			if e.Keys != counted[e.Name] {
				t.Fatalf("%s: %d keys, the audit has %d\n%s", e.Pattern, e.Keys, counted[e.Name], text)
			}
		}
		if again := merged(t, text, keys); !bytes.Equal(text, again) {
			t.Fatalf("merged into itself it changes:\n%s\n%s", text, again)
		}
	})
}

// merged returns a declaration with what it does not declare of the keys.
func merged(t *rapid.T, text []byte, keys []source.Key) []byte {
	in, err := infer.New(infer.Options{Known: loaded(t, text)})
	if err != nil {
		t.Fatal(err)
	}
	in.Add(keys)
	d := in.Draft()
	if got := sum(d); got != d.All {
		t.Fatalf("the parts are %+v of %+v\n%s", got, d.All, text)
	}
	out, err := d.Merge(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What is added to a declaration goes with what is in it, and nothing is added
// twice.
func TestMergesHold(t *testing.T) {
	declarations := []string{
		"keywright: 1\npackage: ours\nowner: us\nkeys:\n  user: {doc: A user., key: \"user:{id}\", type: hash, ttl: " +
			"none}  # ours\n",
		"keywright: 1\npackage: ours\nowner: us\nowns: [\"user:*\", \"cache:*\"]\nvars: {user_id: int 1.., id: int}\n" +
			"keys:\n    u:\n        key: user:{user_id}:{id}\n        type: hash\n        ttl: any\n\n# the end\n" +
			"channels:\n    gone: \"user:gone\"\n",
		"# only a head\nkeywright: 1\npackage: ours\nowner: us\nforeign:\n- \"queue:*\"\nvars:\n    lock: text\n\nkeys: {}\n",
		"keywright: 1\npackage: ours\nowner: us\nvars:\n  day: date\nkeys:\n  dau:\n    key: dau:{day}\n    type: " +
			"string\n    ttl: any\n  album:\n    key: album:{album}\n    type: set\n    ttl: any\n    was: alb:{album}\n",
	}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		text := []byte(rapid.SampledFrom(declarations).Draw(t, "declaration"))
		keys := hostile(t)
		before := loaded(t, text)
		fold, err := audit.New(before, audit.Options{Values: true, Whole: true})
		if err != nil {
			t.Fatal(err)
		}
		fold.Add(keys)
		was := map[string]bool{"KW501": true, "KW502": true, "KW503": true, "KW516": true}
		for _, f := range fold.Report(source.Summary{Keys: int64(len(keys))}, false).Findings {
			was[f.Code+f.Entry] = true // wrong already
		}
		once := merged(t, text, keys)
		for _, line := range strings.SplitAfter(string(text), "\n") {
			if !strings.Contains(string(once), line) && !strings.Contains(line, "{}") && !strings.HasPrefix(line, "vars: {") {
				t.Fatalf("%q is lost in\n%s", line, once)
			}
		}
		ks := loaded(t, once)
		files := map[string][]byte{"keyspace.yaml": once}
		for _, f := range lint.Run(before) {
			was[f.Code] = true
		}
		for _, f := range finding.Ignore(lint.Run(ks), files, lint.Rules(), lint.Rules(), time.Time{}) {
			if !was[f.Code] && !says(string(once), f.Entry, nearly) {
				t.Fatalf("lint: %s %s: %s\n%s", f.Code, f.Entry, f.Message, once)
			}
		}
		after, err := audit.New(ks, audit.Options{Values: true, Whole: true})
		if err != nil {
			t.Fatal(err)
		}
		after.Add(keys)
		for _, f := range after.Report(source.Summary{Keys: int64(len(keys))}, false).Findings {
			if !was[f.Code] && !was[f.Code+f.Entry] {
				t.Fatalf("audit: %s %s: %s\n%s", f.Code, f.Entry, f.Message, once)
			}
		}
		if twice := merged(t, once, keys); !bytes.Equal(once, twice) {
			t.Fatalf("a second merge changes it:\n%s\n%s", once, twice)
		}
	})
}
