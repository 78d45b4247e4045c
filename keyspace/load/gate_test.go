package load_test

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
)

// TestGates: each plain type may have a gate, which is a key beside it with a TTL; what a construct
// keeps has none.
func TestGates(t *testing.T) {
	read := func(entry string) (*keyspace.Keyspace, string) {
		text := "keywright: 1\nvars: {id: int, x: slug}\nkeys:\n  e: " + entry + "\n"
		ks, findings := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
		codes := ""
		for _, f := range findings {
			codes += f.Code
		}
		return ks, codes
	}
	for _, typ := range []string{"string", "hash", "list", "set", "zset", "stream"} {
		ks, codes := read(`{key: "a:{id}", type: ` + typ + `, ttl: none, gate: 36h}`)
		if codes != "" || len(ks.Keys) != 2 {
			t.Errorf("%s: %s, %d keys", typ, codes, len(ks.Keys))
			continue
		}
		k := ks.Keys[1]
		if k.Name != "e.seen" || k.Pattern.String() != "{#a:{id}}:seen" || k.Kind != keyspace.String || !k.Derived ||
			k.TTL.Max != 36*time.Hour {
			t.Errorf("%s: %s %s %s %v", typ, k.Name, k.Pattern, k.Kind, k.TTL)
		}
	}
	for entry, want := range map[string]string{
		`{key: "a:{id}", type: lock, ttl: 5s, gate: 1d}`:             "KW302",
		`{key: "a:{id}", type: string, ttl: none, gate: soon}`:       "KW307",
		`{key: "a:{id}", type: string, ttl: none, seen: "a:{id}:s"}`: "KW003",
		`{key: "a:{id}", type: string, ttl: none}`:                   "",
		`{key: "{x}:a{#{id}}", type: string, ttl: none, gate: 1d}`:   "",
	} {
		if _, codes := read(entry); codes != want {
			t.Errorf("%s: %q, not %q", entry, codes, want)
		}
	}
}
