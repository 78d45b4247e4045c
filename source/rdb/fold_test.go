package rdb_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"pgregory.net/rapid"
)

// folded is a declaration of which random names have every fault.
const folded = `keywright: 1
package: p
owner: o
owns: ["app:*"]
foreign: ["bull:*"]
vars: {n: int}
keys:
  album: {key: "app:album:{n}", type: string, value: int 0..99, ttl: any, was: ["app:alb:{n}"]}
  once: {key: "once:{n}", type: string, value: text max 2, ttl: 1h}
`

// TestTheFoldBesideTheReader: an audit that folds one batch while the next is read reports
// what one reports that has all keys before it begins, in another order and in batches of
// another size.
func TestTheFoldBesideTheReader(t *testing.T) {
	t.Parallel()
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(folded)}}, "k.yaml")
	if len(found) > 0 {
		t.Fatal(found)
	}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		random := rand.New(rand.NewPCG(seed, 1))
		c := snapshot("REDIS0011").db(0)
		for i := range random.IntN(3000) {
			forms := []string{"app:album:%d", "app:albun:%d", "app:alb:%d", "once:%d", "bull:%d", "page/%d/x", "\xff%d",
				"zone%[1]d:%[1]d:x"}
			c.key(0, fmt.Sprintf(forms[random.IntN(len(forms))], i)).str(fmt.Sprint(random.IntN(1000)))
		}
		p := c.end()
		options := audit.Options{Values: true, Groups: 1 + random.IntN(20), Examples: 1 + random.IntN(9)}
		beside, err := audit.New(ks, options)
		if err != nil {
			t.Fatal(err)
		}
		got, err := beside.Run(t.Context(), rdb.New(&uneven{in: bytes.NewReader(p)}, rdb.Options{OnlyDB: -1}),
			source.Request{Bytes: true})
		if err != nil {
			t.Fatal(err)
		}
		after, _ := audit.New(ks, options)
		keys, sum := collected(t, p, after)
		random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for batch := range slices.Chunk(keys, 1+random.IntN(500)) {
			after.Add(batch)
		}
		want := after.Report(sum, false)
		got.Seconds, want.Seconds = 0, 0
		if a, b := document(t, got), document(t, want); a != b {
			t.Fatalf("beside the reader:\n%s\nafter it:\n%s", a, b)
		}
	})
}

// collected returns copies of all keys of a snapshot, with the values that an audit asks for.
func collected(t *rapid.T, p []byte, a *audit.Audit) (keys []source.Key, sum source.Summary) {
	sum, err := read(p).Scan(t.Context(), source.Request{Bytes: true, Values: a.WantsValue},
		func(batch []source.Key) error {
			for _, k := range batch {
				k.Name = slices.Clone(k.Name)
				if k.Value != nil {
					v := *k.Value
					v.Str = slices.Clone(v.Str)
					k.Value = &v
				}
				if k.Facts != nil {
					f := *k.Facts
					k.Facts = &f
				}
				keys = append(keys, k)
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return keys, sum
}

func document(t *rapid.T, r *audit.Report) string {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
