package plan_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

const declaration = `keywright: 1
owns: ["app:*", "log:*", "backup:*"]
foreign: ["bull:*"]
vars: {n: int, day: date, at: timestamp, month: date YYYY-MM, prio: high|low}
keys:
  user: {key: "app:user:{id}", type: hash, ttl: 1h, fields: {n: int}, was: ["app:usr:{id}"]}
  flags: {key: "app:flags", type: hash, ttl: none}
  hold: {key: "app:lock:{id}", type: lock, ttl: 10s, was: ["app:held:{id}"]}
  page: {key: "app:page:{id}", type: cache, ttl: 10m}
  jobs: {key: "app:jobs:{site}:{prio}", type: queue, order: prio, ttl: 7d, value: {n: int}, was: ["app:work:{site}:{prio}"]}
  item: {key: "app:item:{id}", type: entity, ttl: 1h, fields: {n: int}, index: {n: "app:items:n"}}
  log: {key: "log:{name}:{day}", type: list, ttl: any}
  bill: {key: "app:bill:{month}", type: list, ttl: any}
  backup: {key: "backup:{name}:{n}", type: string, ttl: none}
cleanup:
  - {match: "app:page:*", idle: 1h}
  - {match: "log:*", older: 2d}
  - {match: "app:bill:*", older: 1d}
  - {match: "app:flags", idle: 1s}
  - {match: "backup:*", keep: 2}
  - {match: "bull:*", idle: 1s}
  - {match: "app:lock:*", idle: 1s}
`

var loaded = declared.Keyspace[string]

func key(name string, kind source.Kind, ttl time.Duration) source.Key {
	return source.Key{Name: []byte(name), Kind: kind, TTL: ttl, Bytes: 100}
}

// said returns a decision in a word: a code, a way, or "" for a key that is not meant.
func said(d plan.Decision) string {
	switch {
	case !d.Meant:
		return ""
	case d.Leave != "":
		return string(d.Leave)
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", d.Step.Do), "plan."))
}

// What is deleted, and what no selection takes.
func TestDelete(t *testing.T) {
	ks := loaded(t, declaration)
	for _, c := range []struct {
		request selection.Request
		key     string
		kind    source.Kind
		want    string
		with    []string
		busy    []string
	}{
		{selection.Request{Entries: []string{"user"}}, "app:user:1", source.Hash, "unlink", nil, nil},
		{selection.Request{Entries: []string{"user"}}, "app:flags", source.Hash, "", nil, nil},
		{selection.Request{Entries: []string{"user"}}, "app:usr:1", source.Hash, "", nil, nil},
		{selection.Request{Globs: []string{"app:*"}}, "app:usr:1", source.Hash, "old-name", nil, nil},
		{selection.Request{Globs: []string{"*"}}, "bull:1", source.Hash, "foreign", nil, nil},
		{selection.Request{Globs: []string{"*"}}, "other", source.Hash, "unlink", nil, nil},
		{selection.Request{Globs: []string{"*"}}, "keywright:restoring:{1}:ab", source.Hash, "own-key", nil, nil},
		{selection.Request{Undeclared: true}, "app:what", source.Hash, "unlink", nil, nil},
		{selection.Request{Undeclared: true}, "bull:1", source.Hash, "", nil, nil},
		{selection.Request{Undeclared: true}, "{app:held:1}:fence", source.String, "", nil, nil},
		{selection.Request{Globs: []string{"*"}}, "{app:held:1}:fence", source.String, "old-name", nil, nil},
		{selection.Request{Undeclared: true}, "{app:work:eu}:job:7", source.String, "", nil, nil},
		{selection.Request{Globs: []string{"*"}}, "{app:work:eu}:job:7", source.String, "old-name", nil, nil},
		{selection.Request{Entries: []string{"hold"}}, "app:lock:1", source.String, "live-lease", nil, nil},
		{selection.Request{Entries: []string{"hold"}}, "{app:lock:1}:waiters", source.ZSet, "live-lease", nil, nil},
		{selection.Request{Entries: []string{"hold"}}, "{app:lock:1}:fence", source.String, "fencing-token", nil, nil},
		{selection.Request{Entries: []string{"page"}}, "app:page:1", source.String, "unlink",
			[]string{"{app:page:1}:fill"}, nil},
		{selection.Request{Entries: []string{"page"}}, "{app:page:1}:fill", source.String, "live-lease", nil, nil},
		{selection.Request{Entries: []string{"item"}}, "app:item:1", source.Hash, "item", nil, nil},
		{selection.Request{Entries: []string{"item"}}, "app:item:1", source.String, "other-type", nil, nil},
		{selection.Request{Entries: []string{"item"}}, "app:items:n", source.ZSet, "with-items", nil, nil},
		{selection.Request{Entries: []string{"jobs"}}, "app:jobs:eu:high", source.List, "unlink", nil,
			[]string{"{app:jobs:eu}:leases", "{app:jobs:eu}:workers"}},
		{selection.Request{Entries: []string{"jobs"}}, "{app:jobs:eu}:job:7", source.String, "unlink", nil,
			[]string{"{app:jobs:eu}:leases", "{app:jobs:eu}:workers"}},
		{selection.Request{Entries: []string{"jobs"}}, "{app:jobs:eu}:workers", source.ZSet, "live-lease", nil, nil},
		{selection.Request{Globs: []string{"*:job:7"}}, "{app:jobs:eu}:job:7", source.String, "part-of-queue", nil, nil},
		{selection.Request{Where: []selection.Condition{{Placeholder: "job", Value: "7"}}}, "{app:jobs:eu}:job:7",
			source.String, "part-of-queue", nil, nil},
		{selection.Request{Where: []selection.Condition{{Placeholder: "site", Value: "eu"}}}, "{app:jobs:eu}:job:7",
			source.String, "unlink", nil, []string{"{app:jobs:eu}:leases", "{app:jobs:eu}:workers"}},
	} {
		r, err := plan.NewDelete(ks, c.request, false)
		if err != nil {
			t.Fatal(err)
		}
		k := key(c.key, c.kind, source.NoTTL)
		d := r.Decide(&k)
		unlink, _ := d.Step.Do.(plan.Unlink)
		if said(d) != c.want || !cmp.Equal(unlink.With, c.with) || !cmp.Equal(d.Step.Busy, c.busy) {
			t.Errorf("%v: %s: %s with %q unless %q, want %s with %q unless %q", c.request, c.key, said(d), unlink.With,
				d.Step.Busy, c.want, c.with, c.busy)
		}
	}
}

// Only keys without a TTL get one, the declared one, and their ends are spread.
func TestTTL(t *testing.T) {
	r, err := plan.NewTTL(loaded(t, declaration), selection.Request{}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key  source.Key
		want string
	}{
		{key("app:user:1", source.Hash, source.NoTTL), "expire"},
		{key("app:user:1", source.Hash, time.Minute), "has-ttl"},
		{key("app:user:1", source.String, source.NoTTL), "other-type"},
		{key("app:flags", source.Hash, source.NoTTL), "declared-lasting"},
		{key("other", source.Hash, source.NoTTL), "no-declared-ttl"},
		{key("app:lock:1", source.String, source.NoTTL), "live-lease"},
		{key("app:item:1", source.Hash, source.NoTTL), "entity-ttl"},
		{key("app:jobs:eu:high", source.List, source.NoTTL), "expire"},
	} {
		if got := said(r.Decide(&c.key)); got != c.want {
			t.Errorf("%s: %s, want %s", c.key.Name, got, c.want)
		}
	}
	least, most, tenths := time.Hour, time.Duration(0), map[int]int{}
	for i := range 10_000 {
		k := key(fmt.Sprint("app:user:", i), source.Hash, source.NoTTL)
		ttl := r.Decide(&k).Step.Do.(plan.Expire).TTL
		if again := r.Decide(&k).Step.Do.(plan.Expire).TTL; again != ttl {
			t.Fatalf("%s: %v and then %v", k.Name, ttl, again)
		}
		least, most = min(least, ttl), max(most, ttl)
		tenths[int((ttl-30*time.Minute)/(3*time.Minute))]++
	}
	if least < 30*time.Minute || most > time.Hour || len(tenths) < 10 {
		t.Errorf("from %v to %v, %v", least, most, tenths)
	}
	for i, n := range tenths {
		if i < 10 && (n < 800 || n > 1200) {
			t.Errorf("tenth %d has %d of 10,000", i, n)
		}
	}
	k := key("app:jobs:eu:high", source.List, source.NoTTL)
	if ttl := r.Decide(&k).Step.Do.(plan.Expire).TTL; ttl != 7*24*time.Hour {
		t.Errorf("keys of a queue end together, but this one in %v", ttl)
	}
}

// Each clean-up rule takes exactly what it says.
func TestClean(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	r, err := plan.NewClean(loaded(t, declaration), selection.Request{}, now)
	if err != nil {
		t.Fatal(err)
	}
	keys := []struct{ name, want string }{
		{"app:page:1", "unlink"},
		{"{app:page:1}:fill", ""},
		{"app:user:1", ""},
		{"log:a:2026-11-16", "unlink"},
		{"log:a:2026-11-17", "unlink"}, // it ended two and a half days ago
		{"log:a:2026-11-18", "not-due"},
		{"log:other:2026-11-17:x", "unlink"},
		{"log:other:2026-11-17:2026-11-18", "no-time"},
		{"log:other:12026-11-17", "no-time"},
		{"log:other", "no-time"},
		{"app:bill:2026-10", "unlink"},
		{"app:bill:2026-11", "not-due"},
		{"app:flags", "permanent"},
		{"bull:1", "foreign"},
		{"app:lock:1", "live-lease"},
		{"backup:a:9", "unlink"},
		{"backup:a:10", "not-due"},
		{"backup:a:11", "not-due"},
		{"backup:b:1", "not-due"},
		{"backup:c:x", "no-time"},
	}
	for _, order := range [][]int{{0, 1}, {len(keys) - 1, -1}} { // in whatever order they are learned
		for i := range keys {
			k := key(keys[order[0]+order[1]*i].name, source.String, source.NoTTL)
			r.Learn(&k)
			r.Learn(&k) // SCAN may meet a key twice
		}
	}
	for _, c := range keys {
		k := key(c.name, source.String, source.NoTTL)
		d := r.Decide(&k)
		if said(d) != c.want {
			t.Errorf("%s: %s, want %s", c.name, said(d), c.want)
		}
		if c.name == "backup:a:9" && !cmp.Equal(d.Step.After, []string{"backup:a:11", "backup:a:10"}) {
			t.Errorf("it goes after %q", d.Step.After)
		}
	}
	late := key("backup:a:12", source.String, source.NoTTL)
	if got := said(r.Decide(&late)); got != "not-due" {
		t.Errorf("a key that came after the newest were learned: %s", got)
	}
}

// A plan is read as it was written, and not at all if a byte of it was changed.
func TestReadWhatWasWritten(t *testing.T) {
	ks := loaded(t, declaration)
	r, err := plan.NewDelete(ks, selection.Request{Globs: []string{"*"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	c := plan.NewCollector(r)
	c.Add([]source.Key{key("app:user:1", source.Hash, 0), key("\xff\x1b[2J", source.Hash, 0),
		key("bull:1", source.Hash, 0), key("app:lock:1", source.String, 0)})
	p := &plan.Plan{Format: plan.Format, Verb: "delete", Made: time.Unix(1, 0).UTC(), Declaration: plan.Digest(ks),
		Server: plan.Server{Shards: []plan.Shard{{RunID: "a"}}}}
	c.Into(p)
	if got := fmt.Sprint(p.Total, len(p.Entries), len(p.Left)); got != "{4 2 2 200} 3 2" {
		t.Error(got)
	}
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("it can steer a terminal")
	}
	got, err := plan.Read(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, got); d != "" {
		t.Error(d)
	}
	for _, change := range [][2]string{{`"keys": 4`, `"keys": 5`}, {`"verb": "delete"`, `"verb": "clean"`},
		{`"format": 1`, `"format": 2`}, {`"verb"`, `"verv"`}, {"}\n", ""}} {
		text := strings.Replace(out.String(), change[0], change[1], 1)
		if text == out.String() {
			t.Fatalf("the plan has no %q:\n%s", change[0], text)
		}
		if _, err := plan.Read(strings.NewReader(text)); err == nil {
			t.Errorf("read with %q", change[1])
		}
	}
}

// Drift has a name.
func TestDrift(t *testing.T) {
	of := func(change func(*plan.Plan)) *plan.Plan {
		p := &plan.Plan{Declaration: "d",
			From:    &plan.Server{Shards: []plan.Shard{{Address: "c:1", RunID: "r3", Brand: "redis", Version: "7"}}},
			Entries: []plan.Part{{Entry: "user", Counts: plan.Counts{Change: 1000}}},
			Server: plan.Server{Cluster: true,
				Shards: []plan.Shard{{Address: "a:1", RunID: "r1", ReplID: "p1", Brand: "redis", Version: "7",
					Slots: []string{"0-8191"}}, {Address: "a:2", RunID: "r2", ReplID: "p2", Slots: []string{"8192-16383"}}}}}
		change(p)
		return p
	}
	was := of(func(*plan.Plan) {})
	for _, c := range []struct {
		want   string
		change func(*plan.Plan)
	}{
		{"", func(*plan.Plan) {}},
		{"", func(p *plan.Plan) { p.Server.Shards[0], p.Server.Shards[1] = p.Server.Shards[1], p.Server.Shards[0] }},
		{"", func(p *plan.Plan) { p.Entries[0].Change = 1100 }},
		{"other-counts", func(p *plan.Plan) { p.Entries[0].Change = 1101 }},
		{"other-counts", func(p *plan.Plan) { p.Entries = nil }},
		{"other-counts", func(p *plan.Plan) {
			p.Entries = append(p.Entries, plan.Part{Entry: "item", Counts: plan.Counts{Change: 11}})
		}},
		{"other-declaration", func(p *plan.Plan) { p.Declaration = "e" }},
		{"other-topology", func(p *plan.Plan) { p.Server.Shards = p.Server.Shards[:1] }},
		{"other-topology", func(p *plan.Plan) { p.Server.Cluster = false }},
		{"other-topology", func(p *plan.Plan) { p.Server.Shards[0].Slots = []string{"0-100"} }},
		{"restarted", func(p *plan.Plan) { p.Server.Shards[0].RunID, p.Server.Shards[0].ReplID = "x", "y" }},
		{"failed-over", func(p *plan.Plan) { p.Server.Shards[0].RunID, p.Server.Shards[0].Address = "x", "a:9" }},
		{"failed-over", func(p *plan.Plan) { p.Server.Shards[0].ReplID = "x" }},
		{"other-server", func(p *plan.Plan) {
			p.Server.Shards[0].RunID, p.Server.Shards[0].ReplID, p.Server.Shards[0].Address, p.Server.Shards[0].Slots = "x", "y",
				"b:1", nil
		}},
		{"other-version", func(p *plan.Plan) { p.Server.Shards[0].Version = "8" }},
		{"flushed", func(p *plan.Plan) { p.Server.Shards[0].Flushes++ }},
		{"restarted", func(p *plan.Plan) { p.From.Shards[0].RunID = "x" }},
		{"flushed", func(p *plan.Plan) { p.From.Shards[0].Flushes++ }},
		{"other-server", func(p *plan.Plan) { p.From = nil }},
		{"other-archive", func(p *plan.Plan) { p.Request.Archive = "x" }},
		{"other-database", func(p *plan.Plan) { p.Request.DB = 4 }},
		{"other-database", func(p *plan.Plan) { p.Request.DB = -1 }},
	} {
		got := ""
		for _, r := range was.Drift(of(c.change), plan.Tolerance{Share: 0.1, Least: 10}) {
			got += string(r.Code)
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if d := was.Drift(of(func(p *plan.Plan) { p.Entries[0].Change = 300 }),
		plan.Tolerance{Share: 0.1, Done: map[string]int64{"user": 700}}); len(d) > 0 {
		t.Error("what an interrupted run has done counts as drift:", d)
	}
	if d := was.Drift(of(func(p *plan.Plan) { p.Entries = nil }), plan.Tolerance{Share: 1e18}); len(d) > 0 {
		t.Error("counts that may move by any share:", d)
	}
}
