package apply_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
)

// allKinds renames everything that fill writes.
func allKinds() (maps []string) {
	maps = []string{"string:{x}=a:string:{x}"}
	for _, kind := range []string{"list", "set", "zset", "hash", "stream"} {
		maps = append(maps, kind+"=a:"+kind, kind+":{x}=a:"+kind+":{x}")
	}
	return maps
}

// renamed represents a rename of patterns.
type renamed struct {
	ks    *keyspace.Keyspace
	pairs *plan.Pairs
}

func renameOf(t testing.TB, maps ...string) *renamed {
	t.Helper()
	r := &renamed{ks: &keyspace.Keyspace{}}
	var err error
	r.pairs, err = plan.Mapped(r.ks, maps)
	must(t, err)
	return r
}

// run renames the keys of a server.
func (r *renamed) run(t testing.TB, url string, o plan.RenameOptions, k apply.KeysOptions) *apply.KeysReport {
	t.Helper()
	rule, err := plan.NewRename(r.ks, r.pairs, o)
	must(t, err)
	return renameBy(t, url, rule, scanOf(url), k)
}

func renameBy(t testing.TB, url string, rule plan.Rule, scan apply.Scan, k apply.KeysOptions) *apply.KeysReport {
	t.Helper()
	if k.Live == nil {
		k.Live = applytest.Live(t, url, 64<<10)
	}
	report, err := apply.Keys(t.Context(), applytest.Open(t, url), scan, rule, k)
	must(t, err)
	sums(t, &report)
	return &report
}

// back brings back what an undo file says.
func (r *renamed) back(t testing.TB, url, file string) *apply.KeysReport {
	t.Helper()
	u, err := apply.ReadUndo(file)
	must(t, err)
	rule, err := plan.NewUndo(r.ks, r.pairs, true)
	must(t, err)
	return renameBy(t, url, rule, u.Scan(func(old []byte, _ int64) { rule.Known(old) }), apply.KeysOptions{})
}

// undoFile opens one for a plan.
func undoFile(t testing.TB, path string) *apply.Undo {
	t.Helper()
	p := &plan.Plan{Format: plan.Format, Verb: "rename"}
	must(t, p.Seal())
	u, err := apply.OpenUndo(path, p)
	must(t, err)
	t.Cleanup(func() { _ = u.Close() })
	return u
}

// under gives the keys of a digest the names that they have after a rename.
func under(prefix string, all map[string]string) map[string]string {
	out := map[string]string{}
	for at, d := range all {
		db, key, _ := strings.Cut(at, " ")
		out[db+" "+prefix+key] = d
	}
	return out
}

// digests returns the values and expiries of all keys, by database and name.
func digests(t testing.TB, url string, clients restore.Clients) map[string]string {
	t.Helper()
	out := map[string]string{}
	_, err := scanOf(url)(t.Context(), func(batch []source.Key) error {
		for i := range batch {
			name := string(batch[i].Name)
			out[fmt.Sprintf("%d %s", batch[i].DB, name)] = fmt.Sprint(applytest.Do(t, clients, batch[i].DB, "DEBUG",
				"DIGEST-VALUE", name),
				applytest.Do(t, clients, batch[i].DB, "PEXPIRETIME", name))
		}
		return nil
	})
	must(t, err)
	return out
}

func equalMaps(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for at := range want {
		if got[at] != want[at] {
			t.Errorf("%s: %q is %s, not %s", what, at, got[at], want[at])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d keys, not %d: %q", what, len(got), len(want), slices.Sorted(maps.Keys(got)))
	}
}

// Every kind of value is renamed with its expiry, in each database and over slots; the
// second time nothing is, and an undo brings each key back.
func TestRename(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, kt.Brands()) {
		for _, cluster := range []bool{false, true} {
			if cluster && brand == kt.Redis {
				continue // TestRenameTaken has one
			}
			t.Run(fmt.Sprint(brand, map[bool]string{true: " cluster"}[cluster]), func(t *testing.T) {
				t.Parallel()
				url, dbs := "", []int{0, 3}
				if cluster {
					url, dbs = kt.StartCluster(t, brand, 2, 0).URL(), dbs[:1]
				} else {
					url = kt.Start(t, brand).URL()
				}
				clients := applytest.Open(t, url)
				for _, db := range dbs {
					applytest.Fill(t, clients, db)
					applytest.FillMore(t, clients, db)
				}
				was := digests(t, url, clients)
				r, file := renameOf(t, allKinds()...), t.TempDir()+"/undo"
				first := r.run(t, url, plan.RenameOptions{}, apply.KeysOptions{Undo: undoFile(t, file)})
				if first.Changed != int64(len(was)) || first.Keys != first.Changed {
					t.Errorf("%+v %v", first.KeyCounts, why(first))
				}
				now := under("a:", was)
				equalMaps(t, "renamed", digests(t, url, clients), now)
				if again := r.run(t, url, plan.RenameOptions{}, apply.KeysOptions{}); again.Keys != 0 {
					t.Errorf("again: %+v", again.KeyCounts)
				}
				applytest.Do(t, clients, 0, "SET", "list", "in the way")
				part := r.back(t, url, file)
				if part.Changed != int64(len(was))-1 || why(part)[plan.Taken] != 1 {
					t.Errorf("%+v %v", part.KeyCounts, why(part))
				}
				applytest.Do(t, clients, 0, "DEL", "list")
				if last := r.back(t, url, file); last.Changed != 1 {
					t.Errorf("%+v %v", last.KeyCounts, why(last))
				}
				equalMaps(t, "brought back", digests(t, url, clients), was)
			})
		}
	}
}

// TestAnUndoPassesOverWhatWasNotRenamed: a key keeps its name where another one has the new name, and the undo file says
// so. The undo leaves the other key where it is.
func TestAnUndoPassesOverWhatWasNotRenamed(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	s.Do("MSET", "u:1", "ours", "u:2", "ours", "v:1", "another's")
	r, file := renameOf(t, "u:{id}=v:{id}"), t.TempDir()+"/undo"
	there := r.run(t, s.URL(), plan.RenameOptions{}, apply.KeysOptions{Undo: undoFile(t, file)})
	if there.Changed != 1 || why(there)[plan.Taken] != 1 {
		t.Errorf("%+v %v", there.KeyCounts, why(there))
	}
	s.Do("DEL", "u:1")
	if back := r.back(t, s.URL(), file); back.Changed != 1 || back.Keys != 1 || s.Do("GET", "v:1") != "another's" ||
		s.Do("GET", "u:2") != "ours" || s.Do("DBSIZE") != int64(2) {
		t.Errorf("%+v %v, %v", back.KeyCounts, why(back), s.Do("KEYS", "*"))
	}
}

// What is in the way stays as it is, also where the new name is in another slot. A copy
// that is the same and that a killed run has noted is no obstacle.
func TestRenameTaken(t *testing.T) {
	t.Parallel()
	for _, cluster := range []bool{false, true} {
		url := ""
		if cluster {
			url = kt.StartCluster(t, kt.Redis, 2, 0).URL()
		} else {
			url = kt.Start(t, kt.Valkey).URL()
		}
		clients := applytest.Open(t, url)
		for _, args := range [][]string{{"SET", "u:1", "old"}, {"SET", "v:1", "new"},
			{"SET", "u:2", "x", "PXAT", "4102444800123"},
			{"SET", "v:2", "x", "PXAT", "4102444800123"}, {"SET", "u:3", "x"}, {"SET", "v:3", "x", "PXAT", "4102444800123"},
			{"HSET", "u:4", "a", "b"}, {"HSET", "v:4", "a", "b"}, {"SET", "u:5", "x"}, {"SET", "u:7", "x"}, {"SET", "v:7", "x"},
			{"SET", "w:6", "x"}, {"SET", "u:6", "x"}} {
			applytest.Do(t, clients, 0, args...)
		}
		same := int64(0)
		if cluster { // a killed run has made these copies
			same = 2
			for _, n := range []string{"2", "4", "3"} {
				applytest.Do(t, clients, 0, "SET", apply.MarkOf([]byte("u:"+n), "v:"+n), "copy", "PX", "60000")
			}
		}
		r := renameOf(t, "u:{id}=v:{id}", "w:{id}=v:{id}")
		rule, err := plan.NewRename(r.ks, r.pairs, plan.RenameOptions{})
		must(t, err)
		blocked := map[plan.Code]int{}
		_, err = scanOf(url)(t.Context(), func(batch []source.Key) error {
			decisions := plan.NewCollector(rule).Decide(batch)
			must(t, apply.Blocked(t.Context(), clients, applytest.Live(t, url, 0), batch, decisions))
			for _, d := range decisions {
				if d.Meant {
					blocked[d.Leave]++
				}
			}
			return nil
		})
		must(t, err)
		if want := (map[plan.Code]int{"": 1 + int(same), plan.Taken: 5 - int(same), plan.TwoSources: 2}); !maps.Equal(blocked,
			want) {
			t.Errorf("cluster %v: planned %v", cluster, blocked)
		}
		for range 2 {
			report := r.run(t, url, plan.RenameOptions{}, apply.KeysOptions{})
			if w := why(report); w[plan.Taken] != 5-same || w[plan.TwoSources] != 2 {
				t.Errorf("cluster %v: %+v %v", cluster, report.KeyCounts, w)
			}
		}
		for key, want := range map[string]string{"u:1": "old", "v:1": "new",
			"u:2": map[bool]string{true: "<nil>", false: "x"}[cluster], "v:2": "x", "u:7": "x", "u:3": "x", "u:5": "<nil>",
			"v:5": "x", "u:6": "x", "w:6": "x", "v:6": "<nil>"} {
			if got := fmt.Sprint(applytest.Do(t, clients, 0, "GET", key)); got != want {
				t.Errorf("cluster %v: %s is %s, not %s", cluster, key, got, want)
			}
		}
	}
}

// renamedMeanwhile are changes between the decision about a key, or its copy, and the last
// step, and the guard of the script that sees them.
var renamedMeanwhile = []struct {
	name        string
	moved       bool // to another slot
	entry       string
	set, then   []string
	key, to     string
	want        plan.Code // "": it is gone
	value, copy string    // of key and to in the end; "<nil>": not there
	guard       string
}{
	{"a worker begins", false, "jobs", []string{"RPUSH", "jobs:a", "1"},
		[]string{"ZADD", "{jobs:a}:workers", "99999999999999", "w"},
		"jobs:a", "work:a", plan.QueueWorks, "list", "none", "call('ZCOUNT', KEYS[i], now, '+inf') > 0"},
	{"a job is in work", false, "jobs", []string{"RPUSH", "jobs:a", "1"},
		[]string{"ZADD", "{jobs:a}:leases", "99999999999999", "j"},
		"jobs:a", "work:a", plan.QueueWorks, "list", "none", "call('ZCOUNT', KEYS[i], now, '+inf') > 0"},
	{"a lock is taken", false, "hold", []string{"SET", "{lock:a}:fence", "7"},
		[]string{"SET", "lock:a", "t", "PX", "60000"},
		"{lock:a}:fence", "{hold:a}:fence", plan.LiveLease, "string", "none", "call('EXISTS', KEYS[i]) == 1"},
	{"a lock is shared", false, "hold", []string{"SET", "{lock:a}:fence", "7"},
		[]string{"ZADD", "{lock:a}:shared", "1", "t"},
		"{lock:a}:fence", "{hold:a}:fence", plan.LiveLease, "string", "none", "call('EXISTS', KEYS[i]) == 1"},
	{"the new name comes", false, "user", []string{"SET", "user:a", "x"}, []string{"SET", "usr:a", "y"}, "user:a", "usr:a",
		plan.Taken,
		"string", "string", ""},
	{"the new name of a fence comes", false, "hold", []string{"SET", "{lock:a}:fence", "7"},
		[]string{"SET", "{hold:a}:fence", "9"},
		"{lock:a}:fence", "{hold:a}:fence", plan.Taken, "string", "string", "call('RENAMENX', KEYS[1], KEYS[2]) == 0"},
	{"it goes", false, "user", []string{"SET", "user:a", "x"}, []string{"DEL", "user:a"}, "user:a", "usr:a", "", "none",
		"none", ""},
	{"a fence goes", false, "hold", []string{"SET", "{lock:a}:fence", "7"}, []string{"DEL", "{lock:a}:fence"},
		"{lock:a}:fence",
		"{hold:a}:fence", "", "none", "none", ""},
	{"it goes once it is copied", true, "user", []string{"SET", "user:a", "x"}, []string{"DEL", "user:a"}, "user:a",
		"usr:a", "", "none",
		"none", ""},
	{"it is written once it is copied", true, "user", []string{"SET", "user:a", "x"}, []string{"APPEND", "user:a", "y"},
		"user:a", "usr:a",
		plan.Changed, "string", "none", "redis.sha1hex(string.sub(call('DUMP', KEYS[1]), 1, -11)) ~= ARGV[3]"},
	{"its TTL changes once it is copied", true, "user", []string{"SET", "user:a", "x", "PXAT", "4102444800123"},
		[]string{"PEXPIREAT", "user:a", "410244480020#"}, "user:a", "usr:a",
		plan.Changed, "string", "none", "~= ARGV[4]"},
	{"a lock is taken once it is copied", true, "hold", []string{"SET", "{lock:a}:fence", "7"},
		[]string{"SET", "lock:a", "t", "PX", "60000"},
		"{lock:a}:fence", "{hold:a}:fence", plan.LiveLease, "string", "none", "call('EXISTS', KEYS[i]) == 1"},
	{"the copy is written", true, "user", []string{"SET", "user:a", "x"}, []string{"SET", "usr:a", "y"}, "user:a", "usr:a",
		"", "none", "string", ""},
}

const renamedLater = `keywright: 1
keys:
  user: {key: "usr:{id}", was: ["user:{id}"], type: string, ttl: none}
  hold: {key: "hold:{id}", was: ["lock:{id}"], type: lock, ttl: 10s}
  jobs: {key: "work:{id}", was: ["jobs:{id}"], type: queue, ttl: none}
`

// What changes between the decision about a key and its renaming is seen by the server, in
// its slot and on the way to another one; a copy that is not of the last value is taken
// back.
func TestRenamedMeanwhile(t *testing.T) {
	single, cluster := kt.Start(t, kt.Redis).URL(), kt.StartCluster(t, kt.Valkey, 2, 0).URL()
	ks := keyspaceOf(renamedLater)
	pairs, err := plan.Former(ks)
	must(t, err)
	r := &renamed{ks, pairs}
	for _, c := range renamedMeanwhile {
		url := map[bool]string{false: single, true: cluster}[c.moved]
		clients := applytest.Open(t, url)
		run := func() *apply.KeysReport {
			for _, name := range []string{c.key, c.to, "lock:a", "{lock:a}:shared", "{jobs:a}:workers", "{jobs:a}:leases"} {
				applytest.Do(t, clients, 0, "DEL", name)
			}
			applytest.Do(t, clients, 0, c.set...)
			o, times := apply.KeysOptions{}, 0
			then := func() {
				times++
				args := slices.Clone(c.then)
				args[len(args)-1] = strings.ReplaceAll(args[len(args)-1], "#", strconv.Itoa(times))
				applytest.Do(t, clients, 0, args...)
			}
			if c.moved {
				apply.Copied(&o, then)
			} else {
				apply.Decided(&o, func(*source.Key, *plan.Decision) { then() })
			}
			rule, err := plan.NewRename(r.ks, r.pairs, plan.RenameOptions{})
			must(t, err)
			list := func(_ context.Context, each func([]source.Key) error) (source.Summary, error) {
				return source.Summary{}, each([]source.Key{{Name: []byte(c.key)}})
			}
			return renameBy(t, url, rule, list, o)
		}
		report := run()
		if report.Changed != 0 && c.want != "" || c.want == "" && report.Changed+report.Gone != 1 ||
			c.want != "" && why(report)[c.want] != 1 ||
			applytest.Do(t, clients, 0, "TYPE", c.key) != c.value || applytest.Do(t, clients, 0, "TYPE", c.to) != c.copy {
			t.Errorf("%s: %+v %v: %v and %v", c.name, report.KeyCounts, why(report), applytest.Do(t, clients, 0, "TYPE", c.key),
				applytest.Do(t, clients, 0, "TYPE", c.to))
		}
		if c.guard == "" {
			continue
		}
		restore, ok := apply.MutateRename(c.guard, map[bool]string{true: "== nil", false: "false"}[c.guard[0] == '~'])
		if !ok {
			t.Fatalf("the script has no %q", c.guard)
		}
		if again := run(); again.Changed == 0 {
			t.Errorf("%s: nothing is other without %q: %+v", c.name, c.guard, again.KeyCounts)
		}
		restore()
	}
}

// Old keys that are the same under their new names go, others stay unless they are
// superseded.
func TestUnlinkOldNames(t *testing.T) {
	t.Parallel()
	for _, cluster := range []bool{false, true} {
		url := ""
		if cluster {
			url = kt.StartCluster(t, kt.Valkey, 2, 0).URL()
		} else {
			url = kt.Start(t, kt.Redis).URL()
		}
		clients := applytest.Open(t, url)
		large := strings.Repeat("x", 100<<10)
		for _, args := range [][]string{{"SET", "u:1", "x"}, {"SET", "v:1", "x"}, {"SET", "u:2", "x"}, {"SET", "v:2", "y"},
			{"SET", "u:3", "x"},
			{"SET", "u:4", large}, {"SET", "v:4", large}, {"SET", "u:5", large}, {"SET", "v:5", large[1:]},
			{"SADD", "u:6", "a", "b"}, {"SADD", "v:6", "b", "a"},
			{"SET", "u:7", "x"}, {"SET", "v:7", "x", "PXAT", "4102444800123"}} {
			applytest.Do(t, clients, 0, args...)
		}
		r := renameOf(t, "u:{id}=v:{id}")
		for _, again := range []bool{false, true} {
			report := r.run(t, url, plan.RenameOptions{Drop: true}, apply.KeysOptions{})
			if want := map[bool]int64{false: 3}[again]; report.Changed != want || why(report)[plan.Differs] != 3 ||
				why(report)[plan.NotCopied] != 1 {
				t.Errorf("cluster %v: %+v %v", cluster, report.KeyCounts, why(report))
			}
		}
		report := r.run(t, url, plan.RenameOptions{Drop: true, Superseded: true}, apply.KeysOptions{})
		if report.Changed != 3 || why(report)[plan.NotCopied] != 1 || applytest.Do(t, clients, 0, "GET", "u:3") != "x" ||
			applytest.Do(t, clients, 0, "GET", "v:2") != "y" {
			t.Errorf("cluster %v: %+v %v", cluster, report.KeyCounts, why(report))
		}
	}
}

// What programs count under the old names while they are renamed is under the old name or
// the new one, once.
func TestRenameUnderWriters(t *testing.T) {
	t.Parallel()
	for _, cluster := range gate.Pick(t, []bool{false, true}) {
		url := ""
		if cluster {
			url = kt.StartCluster(t, kt.Valkey, 2, 0).URL()
		} else {
			url = kt.Start(t, kt.Redis).URL()
		}
		clients := applytest.Open(t, url)
		c, err := clients(0)
		must(t, err)
		const keys, rounds = 100, 3
		ctx, stop := context.WithCancel(t.Context())
		var counted atomic.Int64
		var writers sync.WaitGroup
		for w := range 2 {
			writers.Go(func() {
				for i := w; ctx.Err() == nil; i++ {
					if err := c.Raw().Do(t.Context(), c.Raw().B().Incr().Key("u:"+strconv.Itoa(i*7%keys)).Build()).
						Error(); err != nil {
						t.Error(err)
						return
					}
					counted.Add(1)
				}
			})
		}
		r := renameOf(t, "u:{id}=v:{id}")
		total := int64(0)
		for round := 0; round < rounds || total == 0; round++ {
			report := r.run(t, url, plan.RenameOptions{}, apply.KeysOptions{})
			total += report.Changed
		}
		stop()
		writers.Wait()
		sum := int64(0)
		for i := range keys {
			for _, prefix := range []string{"u:", "v:"} {
				if n, err := strconv.ParseInt(fmt.Sprint(applytest.Do(t, clients, 0, "GET", prefix+strconv.Itoa(i))), 10,
					64); err == nil {
					sum += n
				}
			}
		}
		if sum != counted.Load() {
			t.Errorf("cluster %v: %d were counted, and %d are there; %d keys were renamed", cluster, counted.Load(), sum, total)
		}
	}
}

// A key that a scan yields twice is renamed once, also where that is by a copy.
func TestRenameYieldedTwice(t *testing.T) {
	t.Parallel()
	url := kt.StartCluster(t, kt.Redis, 2, 0).URL()
	clients := applytest.Open(t, url)
	applytest.Do(t, clients, 0, "SET", "u:1", "x")
	r := renameOf(t, "u:{id}=v:{id}")
	rule, err := plan.NewRename(r.ks, r.pairs, plan.RenameOptions{})
	must(t, err)
	twice := func(_ context.Context, each func([]source.Key) error) (source.Summary, error) {
		return source.Summary{}, each([]source.Key{{Name: []byte("u:1")}, {Name: []byte("u:1")}})
	}
	if report := renameBy(t, url, rule, twice, apply.KeysOptions{}); report.Changed != 1 || report.Gone != 1 ||
		applytest.Do(t, clients, 0, "GET", "v:1") != "x" {
		t.Errorf("%+v: %v", report.KeyCounts, applytest.Do(t, clients, 0, "GET", "v:1"))
	}
	// Another run takes a copy over and removes the old key: the copy is its own now.
	applytest.Do(t, clients, 0, "SET", "u:2", "x")
	o := apply.KeysOptions{}
	apply.Copied(&o, func() {
		applytest.Do(t, clients, 0, "SET", apply.MarkOf([]byte("u:2"), "v:2"), "another run", "PX", "60000")
		applytest.Do(t, clients, 0, "DEL", "u:2")
	})
	if report := r.run(t, url, plan.RenameOptions{}, o); report.Gone != 1 || applytest.Do(t, clients, 0, "GET",
		"v:2") != "x" {
		t.Errorf("%+v: %v", report.KeyCounts, applytest.Do(t, clients, 0, "GET", "v:2"))
	}
}

// TestRivalsThatCannotBeAsked: an error of the question for another key of the new name ends it, and each key of the
// batch is counted once: those with a rival as left, the others as unknown.
func TestRivalsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	clients := applytest.Open(t, s.URL())
	for i := range 20 {
		applytest.Do(t, clients, 0, "SET", fmt.Sprint("u:", i), "x")
		applytest.Do(t, clients, 0, "SET", fmt.Sprint("w:", i), "x")
	}
	applytest.Do(t, clients, 0, "ACL", "SETUSER", "renamer", "on", ">secret", "+@all", "~u:*", "~v:*", "~w:[1-9]*")
	url := strings.Replace(s.URL(), "redis://", "redis://renamer:secret@", 1)
	rule, err := plan.NewRename(&keyspace.Keyspace{}, renameOf(t, "u:{id}=v:{id}", "w:{id}=v:{id}").pairs,
		plan.RenameOptions{})
	must(t, err)
	report, err := apply.Keys(t.Context(), applytest.Open(t, url), scanOf(s.URL()), rule,
		apply.KeysOptions{Live: applytest.Live(t, url, 0)})
	if err == nil || report.Keys != 40 {
		t.Errorf("%+v of 40 keys, %v", report.KeyCounts, err)
	}
	sums(t, &report)
}
