package lint

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
)

// declarationOf returns a declaration with n entries.
func declarationOf(n int, entry func(i int) string) string {
	var b strings.Builder
	b.WriteString("keywright: 1\npackage: p\nowner: o\nkeys:\n")
	for i := range n {
		fmt.Fprintf(&b, "  e%d: %s\n", i, entry(i))
	}
	return b.String()
}

// As many entries as a declaration may have are compared, and as many patterns.
func TestManyEntriesAreCompared(t *testing.T) {
	for _, tt := range gate.Pick(t, []struct {
		entry string // # is its number
		n     int
	}{
		{`{doc: D., key: "k#:{a}", type: queue, value: text, ttl: none}`, load.MaxPatterns / 11},
		{`{doc: D., key: "k#:{a}", type: string, ttl: 1h}`, load.MaxEntries},
		{`{doc: D., key: "shop:part:item_#:{a}:{b}", type: string, ttl: 1h}`, load.MaxEntries},
	}) {
		entry := func(i int) string { return strings.ReplaceAll(tt.entry, "#", strconv.Itoa(i)) }
		if found := Run(declared.Keyspace[string](t, declarationOf(tt.n, entry))); len(found) > 0 {
			t.Errorf("%s: %d findings, %+v", tt.entry, len(found), found[0])
		}
	}
}

// faulty are declarations whose entries all have a fault, or have it with each other.
var faulty = map[string]func(i int) string{
	"no doc": func(i int) string { return fmt.Sprintf(`{key: "k%d:{a}", type: string, value: json, ttl: 90d}`, i) },
	"twins": func(i int) string {
		return fmt.Sprintf(`{key: "k%c%d:{a}", type: string, ttl: 1h}`, []rune{'o', 0x43e}[i%2], i/2)
	},
	"one pattern": func(int) string { return `{key: "k:{a}", type: string, ttl: 1h}` },
	"crossing": func(i int) string {
		return fmt.Sprintf(`{key: %q, type: string, ttl: 1h}`, fmt.Sprintf([]string{"k:{a}:x%d", "k:y%d:{a}"}[i%2], i))
	},
}

// Lint is linear: each entry is in a finding of a code once, what is printed is bounded,
// and eight times the entries take about eight times the work.
func TestFaultyEntriesAreBounded(t *testing.T) {
	many := load.MaxEntries
	if !gate.All() {
		many /= 8
	}
	few := many / 8
	for name, entry := range faulty {
		read := func(n int) *keyspace.Keyspace {
			return declared.Keyspace[string](t, strings.Replace(declarationOf(n, entry), "keys:", "owns: [\"x:*\"]\nkeys:", 1))
		}
		small, large := read(few), read(many)
		found := Run(large)
		byCode := map[string]int{}
		for _, f := range found {
			byCode[f.Code]++
		}
		for code, n := range byCode {
			if n > many {
				t.Errorf("%s: %d findings %s", name, n, code)
			}
		}
		doc := finding.NewDocument(found, Rules())
		if total := finding.Count(found); len(found) == 0 || doc.Summary != total || len(doc.Findings) > 100*len(byCode) ||
			len(found) > 100*len(byCode) && len(doc.More) == 0 {
			t.Errorf("%s: %d findings are printed as %d and %+v", name, len(found), len(doc.Findings), doc.More)
		}
		if a, b := work(func() { Run(small) }), work(func() { Run(large) }); b > 16*a {
			t.Errorf("%s: %d entries take %d allocations, %d take %d", name, few, a, many, b)
		}
	}
}

// work counts what a run allocates: that depends on no clock and on no other load.
func work(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// Conflicts are compared up to a bound, and the report says where it ended.
func TestTooManyConflictsAreSaid(t *testing.T) {
	said := func(n int) (out []finding.Finding) {
		for _, f := range Run(declared.Keyspace[string](t, declarationOf(n, faulty["one pattern"]))) {
			if strings.Contains(f.Message, "only these were compared") {
				out = append(out, f)
			}
		}
		return out
	}
	if found := said(20); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	if found := said(match.MaxConflicts + 10); len(found) != 1 || found[0].Severity != finding.Error ||
		found[0].Pos.Line == 0 || !strings.Contains(found[0].Message, "more than 1999 pairs") {
		t.Errorf("%+v", found)
	}
}

// What is too complex is said within bounds, once, at a line and with the patterns.
func TestTooComplexIsSaidWhere(t *testing.T) {
	text := declarationOf(3000, func(i int) string {
		return fmt.Sprintf(`{doc: D., key: "{a}:{b}:k%d", type: string, ttl: 1h}`+"\n"+
			`  f%d: {doc: D., key: "k%d:{a}:{b}", type: string, ttl: 1h}`, i, i, i)
	})
	found := Run(declared.Keyspace[string](t, text))
	if len(found) != 1 || found[0].Code != "KW120" || found[0].Pos.Line != 5 || found[0].Entry != "e0" ||
		!strings.Contains(found[0].Message, "{a}:{b}:k0, k0:{a}:{b}, {a}:{b}:k1 and 5997 more") {
		t.Errorf("%d findings: %+v", len(found), found[:min(len(found), 3)])
	}
	if c := finding.Count(found); c.Errors != 1 {
		t.Errorf("%+v", c)
	}
}

// Very many globs of owns are no reason to leave a key out: what is under a prefix
// needs no automaton, and where one is needed and too large, that is said once.
func TestManyGlobsOfOwns(t *testing.T) {
	const many = 3000
	var owns strings.Builder
	for i := range many {
		fmt.Fprintf(&owns, "  - \"app:e%d:*\"\n", i)
	}
	declare := func(last string) *keyspace.Keyspace {
		text := declarationOf(many, func(i int) string {
			return fmt.Sprintf(`{doc: D., key: "app:e%d:{a}:{b}", type: string, ttl: 1h}`, i)
		})
		return declared.Keyspace[string](t, strings.Replace(text, "keys:\n", "owns:\n"+owns.String()+"keys:\n"+last, 1))
	}
	if found := Run(declare("")); len(found) > 0 {
		t.Errorf("%d findings, %+v", len(found), found[0])
	}
	found := Run(
		declare("  x: {doc: D., key: \"other:{a}\", type: string, ttl: 1h}\n  y: {doc: D., key: \"more:{a}\", type: " +
			"string, ttl: 1h}\n"))
	if len(found) != 1 || !strings.Contains(found[0].Message, "not all keys can be compared with owns") {
		t.Errorf("%d findings, %+v", len(found), found)
	}
}

// Queues with lanes, and keys beside globs of other software, are distinguished by what is literal in them: no
// automaton is made for each, which took seconds and hundreds of megabytes.
func TestLanesNeedNoAutomata(t *testing.T) {
	for entry, head := range map[string]string{
		`{doc: D., key: "app:k#:{lane}", type: queue, order: lane, value: id, ttl: none}`:    "",
		`{doc: D., key: "{id}:k#:{lane}", type: queue, order: lane, value: text, ttl: none}`: "",
		`{doc: D., key: "app:{id}:{lane}:k#", type: string, value: text, ttl: 1h}`: "foreign: [\"bull:*\", " +
			"\"*:celery\"]\n",
	} {
		text := declarationOf(load.MaxPatterns/20, func(i int) string {
			return strings.ReplaceAll(entry, "#",
				strconv.Itoa(i))
		})
		ks := declared.Keyspace[string](t,
			strings.Replace(text, "keys:", head+"vars: {lane: high|normal|low, id: uuid}\nkeys:", 1))
		var found []finding.Finding
		count := work(func() { found = Run(ks) })
		if each := int(count) / len(ks.Keys); each > 150 || len(found) > 0 {
			t.Errorf("%s: %d allocations for each of %d patterns, %d findings", entry, each, len(ks.Keys), len(found))
		}
	}
}
