package breaking

import (
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/load"
)

// TestChangesOfAUser: what a change does is said where it is written, in words that are
// true, with an order of deployment of its own.
func TestChangesOfAUser(t *testing.T) {
	const old = `keywright: 1
package: p
owner: o
owns: ["a:*", "b:*"]
vars: {lane: high|low}
keys:
  jobs: {key: "a:{lane}", type: queue, order: lane, ttl: none}
  held: {key: "a:held", type: lock, ttl: 1h}
  beat:
    key: a:beat
    type: string
    value: unix_ms
    ttl: 1h
  info:
    key: a:info
    type: hash
    fields:
      n: int
      size: int 0..9
    ttl: 1h
cleanup:
  - {match: "a:temp:*", idle: 1h}
`
	for _, test := range []struct{ from, to, code, place, message, order string }{
		{"high|low", "urgent|high|low", "KW619", "7:47",
			"jobs has new lanes, urgent, and deployed workers take nothing from them",
			"all workers, then what enqueues into the new lanes"},
		{"lock, ttl: 1h", "lock, ttl: 10m", "KW622", "8:42", "held had the TTL 1h and has 10m",
			"any: each holder takes the lock with the lease of its own version"},
		{"unix_ms", "unix_s", "KW613", "12:12", "the value of beat was unix_ms and is unix_s",
			"there is none under one name"},
		{"int 0..9", "int 0..5", "KW613", "19:7", "the field size of info was int 0..9 and is int 0..5", "first rewrite"},
		{"idle: 1h", "idle: 5m", "KW630", "22:5",
			"the clean-up of a:temp:* takes keys that were not used for 5m, and took them that were not used for 1h",
			"any; the clean-up last"},
		{`["a:*", "b:*"]`, `["a:*"]`, "KW604", "4:8", "b:* was owned", "any"},
	} {
		before, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(old)}}, "k.yaml")
		after, more := load.File(fstest.MapFS{"k.yaml": {Data: []byte(strings.Replace(old, test.from, test.to, 1))}},
			"k.yaml")
		if len(found)+len(more) > 0 {
			t.Fatal(found, more)
		}
		said := false
		for _, f := range Run(before, after) {
			if f.Code != test.code {
				continue
			}
			place := strconv.Itoa(f.Pos.Line) + ":" + strconv.Itoa(f.Pos.Column)
			if said = true; place != test.place || !strings.HasPrefix(f.Message, test.message) ||
				!strings.HasPrefix(f.Order, test.order) {
				t.Errorf("%s → %s: %s %s (%s)", test.from, test.to, place, f.Message, f.Order)
			}
		}
		if !said {
			t.Errorf("%s → %s: no %s", test.from, test.to, test.code)
		}
	}
}

// TestAnIndexThatMovesIsOneFinding: its keys have no former names, so that only the
// command that builds it says what to do.
func TestAnIndexThatMovesIsOneFinding(t *testing.T) {
	found := Run(loaded(t, file("keys:\n  "+memo)),
		loaded(t, file("keys:\n  "+strings.Replace(memo, "mi:{k}", "mj:{k}", 1))))
	if len(found) != 1 || found[0].Code != "KW615" {
		t.Error(found)
	}
}
