package sample_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/sample"
	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// agreement is the share of the hand-written patterns that the draft must have:
// the same keys, no others, and placeholders in the same segments.
const agreement = 0.9

// What is drawn from the demo data of the five examples is what their authors
// wrote by hand.
func TestInferAgreesWithThoseWhoKnow(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"poppobuilder", "githubbroker", "shop", "harca", "cunningbot"} {
		t.Run(name, func(t *testing.T) {
			written, findings := load.File(os.DirFS("../../../../examples/"+name), "keyspace.yaml")
			if finding.Count(findings).Errors > 0 {
				t.Fatal(findings)
			}
			keys := sample.Generate(written, sample.Options{Keys: 5000, Seed: 1, Now: time.Now()})
			draft := drafted(t, keys)
			ks, findings := load.File(fstest.MapFS{"keyspace.yaml": {Data: draft}}, "keyspace.yaml")
			if finding.Count(findings).Errors > 0 {
				t.Fatalf("%v\n%s", findings, draft)
			}
			if findings := lint.Run(ks); len(findings) > 0 {
				t.Errorf("the draft is not clean: %v\n%s", findings, draft)
			}
			if same, of, missed := compare(t, written, ks, keys); float64(same) < agreement*float64(of) {
				t.Errorf("%d of %d patterns agree; these do not:\n%s\n%s", same, of, strings.Join(missed, "\n"), draft)
			} else {
				t.Logf("%d of %d patterns agree; not %s", same, of, strings.Join(missed, ", "))
			}
		})
	}
}

// drafted returns what infer makes of the keys, from a snapshot of a real server.
func drafted(t *testing.T, keys []sample.Key) []byte {
	t.Helper()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var commands [][]string
	for _, k := range keys {
		for _, c := range k.Commands() {
			var args []string
			for _, a := range c {
				args = append(args, string(a))
			}
			commands = append(commands, args)
		}
	}
	s.Pipe(commands...)
	s.Do("SAVE")
	p, err := os.ReadFile(filepath.Join(s.Dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	in, err := infer.New(infer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := in.Run(context.Background(), rdb.New(bytes.NewReader(p), rdb.Options{OnlyDB: -1}),
		source.Request{Bytes: true})
	if err != nil {
		t.Fatal(err)
	}
	return d.YAML()
}

// compare counts the written patterns with keys that one drafted pattern has
// all of, and no others.
func compare(t *testing.T, written, drafted *keyspace.Keyspace, keys []sample.Key) (same, of int, missed []string) {
	t.Helper()
	a, b := counter(t, written), counter(t, drafted)
	type pair struct{ a, b int }
	both, left, right := map[pair]int{}, map[int]int{}, map[int]int{}
	for _, k := range keys {
		i, j := a.Match(k.Name, nil), b.Match(k.Name, nil)
		both[pair{i, j}]++
		left[i]++
		right[j]++
	}
	_, at := written.Items()
	_, bt := drafted.Items()
	for i, n := range left {
		if i == match.None {
			continue
		}
		of++
		found := false
		for p, m := range both {
			if p.a == i && m == n && p.b != match.None && right[p.b] == n && shape(at[i]) == shape(bt[p.b]) {
				found = true
			}
		}
		if found {
			same++
			continue
		}
		text := at[i].Key.Pattern.String()
		for p, m := range both {
			if p.a == i {
				got := "nothing"
				if p.b != match.None {
					got = bt[p.b].Key.Pattern.String()
				}
				text += fmt.Sprintf("\n      %d of %d in %s (%d)", m, n, got, right[p.b])
			}
		}
		missed = append(missed, text)
	}
	return same, of, missed
}

func counter(t *testing.T, ks *keyspace.Keyspace) *match.Matcher {
	t.Helper()
	items, _ := ks.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// shape returns a pattern with its placeholders' segments blanked.
func shape(target keyspace.Target) string {
	segments := strings.Split(target.Key.Pattern.String(), ":")
	for i, s := range segments {
		if strings.Contains(strings.TrimPrefix(s, "{#"), "{") {
			segments[i] = "{}"
		} else {
			segments[i] = strings.Trim(s, "{#}")
		}
	}
	return strings.Join(segments, ":")
}
