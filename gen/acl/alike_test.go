package acl

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// TestManyAlike: entries that differ by their names only are compared once, so a declaration
// of a megabyte is judged whole, with no more work than a small one.
func TestManyAlike(t *testing.T) {
	for name, c := range map[string]struct {
		form  string
		large int
	}{
		"queues": {"  q#: {key: \"app:q#:{user}\", type: queue, value: text, ttl: none}\n", 1800},
		"entities": {`  e#:
    key: "app:e#:{id}"
    type: entity
    ttl: 1h
    fields: {id: id, name: text max 100, status: a|b|c, made: unix_ms}
    index: {status+made: "app:x#:{status}", expires: "app:y#"}
`, 3500},
		"entries of several": {
			"  a#: {key: \"app:e#:{user}:{id}\", type: string, ttl: 1h, readers: [r]}\n  b#: {key: \"app:e#:{user}\", type: " +
				"hash, ttl: 1h, owner: b}\n", 2000},
	} {
		t.Run(name, func(t *testing.T) {
			judge := func(n int) (compared, told int, undecided bool) {
				var b strings.Builder
				b.WriteString("keywright: 1\nowner: o\nvars: {id: uuid}\nkeys:\n")
				for i := range n {
					b.WriteString(strings.ReplaceAll(c.form, "#", fmt.Sprint(i)))
				}
				ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(b.String())}}, "k.yaml")
				if finding.Count(found).Errors > 0 {
					t.Fatal(found[0])
				}
				users, err := Users(ks)
				if err != nil {
					t.Fatal(err)
				}
				all := Excesses(ks, users)
				for _, x := range all {
					undecided = undecided || strings.HasPrefix(x.Reaches, "any entry")
				}
				r := users[0].reach
				return len(r.keys.asked.pairs) + len(r.channels.asked.pairs), len(all), undecided
			}
			few, some, _ := judge(100)
			compared, all, undecided := judge(c.large)
			if compared != few || undecided || all != some*c.large/100 {
				t.Errorf("%d comparisons and %d warnings for %d entries, %d and %d for 100; undecided: %t", compared, all, c.large,
					few, some, undecided)
			}
		})
	}
}
