package command

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/source"
)

// families are names that end in different rows of top: declared, foreign,
// recognised software, drafted, and without anything in common.
var families = []struct {
	name func(*rand.Rand) string
	kind source.Kind
}{
	{func(r *rand.Rand) string { return fmt.Sprintf("user:%d", r.IntN(1e6)) }, source.String},
	{func(r *rand.Rand) string { return fmt.Sprintf("legacy:%x", r.Uint64()) }, source.Set},
	{func(r *rand.Rand) string { return fmt.Sprintf("bull:mail:%d", r.IntN(1e6)) }, source.Hash},
	{func(r *rand.Rand) string { return "bull:mail:" + []string{"wait", "active", "meta", "id"}[r.IntN(4)] }, source.List},
	{func(r *rand.Rand) string { return "queues" }, source.Set},
	{func(r *rand.Rand) string { return fmt.Sprintf("queue:q%d", r.IntN(9)) }, source.List},
	{func(r *rand.Rand) string { return fmt.Sprintf("page:%d:views", r.IntN(1e5)) }, source.String},
	{func(r *rand.Rand) string { return fmt.Sprintf("%x", r.Uint64()) }, source.String},
	{func(r *rand.Rand) string {
		return string([]byte{byte(r.IntN(256)), byte(r.IntN(256)), byte(r.IntN(256))})
	}, source.ZSet},
	{func(r *rand.Rand) string { return "" }, source.String},
}

// TestTopAddsUp: what is listed and what is left out are together all keys and
// all bytes, whatever lies on the server and whatever the limit.
func TestTopAddsUp(t *testing.T) {
	declared, found := keyspace.Load(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\npackage: p\nowner: o\nforeign: [\"legacy:*\"]\nkeys:\n  user: {key: \"user:{id}\", type: string, ttl: none}\n")}}, "k.yaml")
	if len(found) > 1 {
		t.Fatal(found)
	}
	products := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		ks := declared
		if seed%2 == 0 {
			ks = &keyspace.Keyspace{}
		}
		fold, err := audit.New(ks, audit.Options{Top: 5, By: audit.ByBytes, Plain: true})
		if err != nil {
			t.Fatal(err)
		}
		groups, err := infer.New(infer.Options{Known: ks})
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		var keys []source.Key
		var bytes int64
		for range r.IntN(600) {
			family := families[r.IntN(1+r.IntN(len(families)))]
			name := family.name(r)
			if names[name] {
				continue
			}
			names[name] = true
			k := source.Key{Name: []byte(name), Kind: family.kind, Bytes: int64(r.IntN(5000)), TTL: []time.Duration{source.NoTTL, time.Hour}[r.IntN(2)]}
			keys, bytes = append(keys, k), bytes+k.Bytes
		}
		fold.Add(keys)
		groups.Add(keys)
		o := &topping{by: "bytes", limit: 1 + r.IntN(12)}
		report := topOf(fold.Report(source.Summary{Keys: int64(len(keys))}, false), groups.Draft(), o)
		gotKeys, gotBytes := report.OtherKeys, report.OtherBytes
		for _, g := range report.Groups {
			gotKeys, gotBytes = gotKeys+g.Keys, gotBytes+g.Bytes
			if g.Product != "" {
				products++
			}
		}
		if gotKeys != int64(len(keys)) || gotBytes != bytes || report.Keys != int64(len(keys)) || report.Bytes != bytes {
			t.Errorf("seed %d: %d keys and %d bytes are reported, the rows add up to %d and %d, there are %d and %d", seed, report.Keys, report.Bytes, gotKeys, gotBytes, len(keys), bytes)
		}
		if report.OtherKeys < 0 || report.OtherBytes < 0 || report.OtherKeys == 0 && report.OtherBytes != 0 {
			t.Errorf("seed %d: the groups are more than there is: other are %d keys with %d bytes", seed, report.OtherKeys, report.OtherBytes)
		}
	}
	if products == 0 {
		t.Error("no software was recognised: the test shows nothing of it")
	}
}
