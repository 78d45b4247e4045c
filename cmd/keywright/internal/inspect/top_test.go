package inspect

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
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
// all bytes, whatever is on the server and whatever the limit.
func TestTopAddsUp(t *testing.T) {
	declared, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\npackage: p\nowner: o\nforeign: [\"legacy:*\"]\nkeys:\n  user: {key: \"user:{id}\", type: string, ttl: none}\n")}}, "k.yaml")
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
		fold, err := audit.New(ks, audit.Options{Top: 5, By: audit.ByBytes})
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		var keys []source.Key
		var bytes, forever int64
		for range r.IntN(600) {
			family := families[r.IntN(1+r.IntN(len(families)))]
			name := family.name(r)
			if names[name] {
				continue
			}
			names[name] = true
			k := source.Key{Name: []byte(name), Kind: family.kind, Bytes: int64(r.IntN(5000)),
				TTL: []time.Duration{source.NoTTL, time.Hour}[r.IntN(2)]}
			keys, bytes = append(keys, k), bytes+k.Bytes
			if k.TTL == source.NoTTL {
				forever++
			}
		}
		fold.Add(keys)
		o := &topping{by: "bytes", limit: 1 + r.IntN(12)}
		report := topOf(fold.Report(source.Summary{Keys: int64(len(keys))}, false), o)
		gotKeys, gotBytes, gotForever := report.OtherKeys, report.OtherBytes, report.OtherNoTTL
		for _, g := range report.Groups {
			gotKeys, gotBytes, gotForever = gotKeys+g.Keys, gotBytes+g.Bytes, gotForever+g.NoTTL
			if g.Product != "" {
				products++
			}
		}
		if gotKeys != int64(len(keys)) || gotBytes != bytes || report.Keys != int64(len(keys)) || report.Bytes != bytes {
			t.Errorf("seed %d: %d keys and %d bytes are reported, the rows add up to %d and %d, there are %d and %d", seed,
				report.Keys, report.Bytes, gotKeys, gotBytes, len(keys), bytes)
		}
		if gotForever != forever || report.NoTTL != forever || report.OtherNoTTL < 0 {
			t.Errorf("seed %d: %d keys never expire, the rows add up to %d, the report has %d", seed, forever, gotForever,
				report.NoTTL)
		}
		if csv := sumsOfCSV(t, report); csv != [3]int64{int64(len(keys)), bytes, forever} {
			t.Errorf("seed %d: the rows of the CSV add up to %d, there are %d keys, %d bytes, %d that never expire", seed, csv,
				len(keys), bytes, forever)
		}
		if report.OtherKeys < 0 || report.OtherBytes < 0 || report.OtherKeys == 0 && report.OtherBytes != 0 {
			t.Errorf("seed %d: the groups are more than there is: other are %d keys with %d bytes", seed, report.OtherKeys,
				report.OtherBytes)
		}
	}
	if products == 0 {
		t.Error("no software was recognised: the test shows nothing of it")
	}
}

// csvOf returns the rows of a report as CSV.
func csvOf(t *testing.T, report *TopReport) [][]string {
	t.Helper()
	var out strings.Builder
	a := &cli.App{Out: terminal.NewScreen(&out, func(string) string { return "" })}
	if err := topCSV(a, report, nil); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// sumsOfCSV returns the sums of the columns keys, bytes and no_ttl.
func sumsOfCSV(t *testing.T, report *TopReport) (sums [3]int64) {
	t.Helper()
	rows := csvOf(t, report)
	for _, row := range rows[1:] {
		for i, column := range []string{"keys", "bytes", "no_ttl"} {
			n, err := strconv.ParseInt(row[slices.Index(rows[0], column)], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sums[i] += n
		}
	}
	return sums
}

// TestTopWithoutBytes: a size that was not asked for is no size of 0.
func TestTopWithoutBytes(t *testing.T) {
	rows := csvOf(t, &TopReport{NoBytes: true, Keys: 3, Groups: []topGroup{{Pattern: "a:{id}", Keys: 2}}, OtherKeys: 1})
	for _, row := range rows[1:] {
		if got := row[slices.Index(rows[0], "bytes")]; got != "" {
			t.Errorf("%v has %q bytes", row, got)
		}
	}
}
