package breaking

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/pattern"
)

// many returns a declaration with n entries; # in one is its number.
func many(t *testing.T, n int, entry string) *keyspace.Keyspace {
	t.Helper()
	var b strings.Builder
	b.WriteString("keywright: 1\nkeys:\n")
	for i := range n {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(entry, "#", fmt.Sprint(i)))
	}
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(b.String())}}, "k.yaml")
	if finding.Count(found).Errors > 0 {
		t.Fatal(found[0])
	}
	return ks
}

// countFindings counts findings of a code.
func countFindings(found []finding.Finding, code, part string) (n int) {
	for _, f := range found {
		if f.Code == code && strings.Contains(f.Message, part) {
			n++
		}
	}
	return n
}

// TestManyRemoved: every key that is gone is reported, however many patterns there are now: they were too
// many for one automaton, and then nothing was reported.
func TestManyRemoved(t *testing.T) {
	const n = load.MaxPatterns / 11
	found := Run(many(t, n, `o#: {key: "old:q#:{user}", type: queue, ttl: none}`),
		many(t, n, `n#: {key: "new:q#:{user}", type: queue, ttl: none}`), Key)
	if gone := countFindings(found, "KW602", "no entry declares its keys"); gone != 10*n {
		t.Errorf("%d findings for %d keys", gone, 10*n)
	}
	// a wider entry has them all
	wide := many(t, 1, `n#: {key: "old:{a}:{b}", type: string, ttl: none}`)
	if found := Run(many(t, 1000, `o#: {key: "old:q#:{user}", type: string, ttl: none}`), wide, Key); countFindings(found, "KW602",
		"") > 0 {
		t.Errorf("%d findings for keys that another entry declares", countFindings(found, "KW602", ""))
	}
}

// TestManyFormerNames: a former name that is gone is reported beside as many patterns.
func TestManyFormerNames(t *testing.T) {
	const n = load.MaxEntries
	entry := `e#: {key: "new:q#:{user}", type: string, ttl: none}`
	old := many(t, n/2, `e#: {key: "new:q#:{user}", type: string, ttl: none, was: ["old:q#:{user}"]}`)
	if found := Run(old, many(t, n, entry), Key); countFindings(found, "KW603", "is gone; keys like") != n/2 {
		t.Errorf("%d findings for %d former names", len(found), n/2)
	}
}

// TestLacksEndsWithItsBudget: what takes more steps than there are left is not decided.
func TestLacksEndsWithItsBudget(t *testing.T) {
	var list []*pattern.Pattern
	for _, k := range many(t, 3, `n#: {key: "{user}:new#:{a}", type: string, ttl: none}`).Keys {
		list = append(list, k.Pattern)
	}
	gone := many(t, 1, `o#: {key: "{user}:old#:{a}", type: string, ttl: none}`).Keys[0].Pattern
	for budget, want := range map[int]bool{1: false, mostCompared: true} {
		d := &declared{pattern.NewIndex(list, func(p *pattern.Pattern) *pattern.Pattern { return p }), nil, budget}
		if _, found, decided := d.lacks(gone); found != want || decided != want || d.budget >= budget {
			t.Errorf("of %d steps %d are left: found %t, decided %t", budget, d.budget, found, decided)
		}
	}
}

// TestRemovedAmongPatternsThatAllMeet: where every pattern may meet every other one, what cannot be
// reported in time is said, once.
func TestRemovedAmongPatternsThatAllMeet(t *testing.T) {
	gate.Skip(t, "10 s of CPU")
	const n = 3000
	found := Run(many(t, n, `o#: {key: "{user}:old#:{a}", type: string, ttl: none}`),
		many(t, n, `n#: {key: "{user}:new#:{a}", type: string, ttl: none}`), Key)
	gone, undecided := countFindings(found, "KW602", "no entry declares its keys"), countFindings(found, "KW602", "that takes too long")
	if undecided != 1 || gone == 0 {
		t.Errorf("%d told, %d times that it takes too long", gone, undecided)
	}
}
