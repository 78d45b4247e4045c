package apply_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/selection"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

var must = expect.NoError

const declared = `keywright: 1
owns: ["app:*", "backup:*"]
foreign: ["bull:*"]
vars: {n: int, prio: high|low}
keys:
  user: {key: "app:user:{id}", type: string, ttl: 1h}
  page: {key: "app:page:{id}", type: cache, ttl: 10m}
  jobs: {key: "app:jobs:{site}", type: queue, ttl: 7d}
  lanes: {key: "app:lanes:{site}:{prio}", type: queue, order: prio, ttl: 7d}
  hold: {key: "app:lock:{id}", type: lock, ttl: 10s}
  backup: {key: "backup:{n}", type: string, ttl: none}
cleanup:
  - {match: "app:page:*", idle: 1h}
  - {match: "backup:*", keep: 2}
`

func keyspaceOf(text string) *keyspace.Keyspace {
	ks, findings := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(text)}}, "keyspace.yaml")
	if len(findings) > 0 {
		panic(fmt.Sprint(findings))
	}
	return ks
}

// ruleOf makes the rule of a verb.
func ruleOf(verb string, r selection.Request) (plan.Rule, error) {
	ks := keyspaceOf(declared)
	switch verb {
	case "ttl":
		return plan.NewTTL(ks, r, plan.DefaultSpread)
	case "clean":
		return plan.NewClean(ks, r, time.Now())
	}
	return plan.NewDelete(ks, r, false)
}

// scanOf scans the primaries of a server.
func scanOf(url string) apply.Scan {
	return func(ctx context.Context, each func([]source.Key) error) (source.Summary, error) {
		config, err := connect.New(connect.Options{URL: url})
		if err != nil {
			return source.Summary{}, err
		}
		return server.New(config, server.Options{Role: server.Primary, OnlyDB: -1}).Scan(ctx,
			source.Request{Bytes: true}, each)
	}
}

// sums checks that the figures of a report add up.
func sums(t testing.TB, r *apply.KeysReport) {
	t.Helper()
	all, left := journal.KeyCounts{}, int64(0)
	for _, c := range r.Entries {
		if c.Changed+c.Gone+c.Left+c.Refused+c.Unknown != c.Keys {
			t.Errorf("%+v does not add up", c)
		}
		all.Keys, all.Changed, all.Left = all.Keys+c.Keys, all.Changed+c.Changed, all.Left+c.Left
	}
	for _, l := range r.Left {
		left += l.Keys
	}
	if all.Keys != r.Keys || all.Changed != r.Changed || left != r.KeyCounts.Left+r.Refused {
		t.Errorf("%+v are not all of %+v, and %d are explained", all, r.KeyCounts, left)
	}
}

// change runs a verb in this process.
func change(t testing.TB, url string, clients restore.Clients, verb string, r selection.Request,
	o apply.KeysOptions) *apply.KeysReport {
	t.Helper()
	rule, err := ruleOf(verb, r)
	must(t, err)
	if c, ok := rule.(*plan.Clean); ok {
		_, err := scanOf(url)(t.Context(), func(batch []source.Key) error {
			for i := range batch {
				c.Learn(&batch[i])
			}
			return nil
		})
		must(t, err)
	}
	report, err := apply.Keys(t.Context(), clients, scanOf(url), rule, o)
	must(t, err)
	sums(t, &report)
	return &report
}

// why returns why keys were left alone.
func why(r *apply.KeysReport) map[plan.Code]int64 {
	out := map[plan.Code]int64{}
	for _, l := range r.Left {
		out[l.Code] = l.Keys
	}
	return out
}

// Each verb changes what it says on every kind of server, and the second time nothing.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, kt.Brands()) {
		for _, cluster := range []bool{false, true} {
			if cluster && !slices.Contains(gate.Pick(t, kt.Brands()), brand) {
				continue
			}
			t.Run(fmt.Sprint(brand, map[bool]string{true: " cluster"}[cluster]), func(t *testing.T) {
				t.Parallel()
				const users = 300 // and as many pages: some batches
				url := ""
				if cluster {
					url = kt.StartCluster(t, brand, 2, 0).URL()
				} else {
					url = kt.Start(t, brand).URL()
				}
				clients := applytest.Open(t, url)
				for i := range users {
					n := strconv.Itoa(i)
					applytest.Do(t, clients, 0, "SET", "app:user:"+n, "x")
					applytest.Do(t, clients, 0, "SET", "app:page:"+n, "x")
					applytest.Do(t, clients, 0, "SET", "{app:page:"+n+"}:fill", "t", "PX", "600000")
				}
				for i := range 5 {
					applytest.Do(t, clients, 0, "SET", "backup:"+strconv.Itoa(i+8), "x")
				}
				applytest.Do(t, clients, 0, "SET", "app:lock:1", "h/t", "PX", "600000")
				applytest.Do(t, clients, 0, "SET", "bull:1", "x")
				applytest.Do(t, clients, 0, "RPUSH", "app:lanes:eu:high", "1")
				lanes := change(t, url, clients, "delete", selection.Request{Entries: []string{"lanes"}}, apply.KeysOptions{})
				if cluster && why(lanes)[plan.OtherSlot] != 1 || !cluster && lanes.Changed != 1 {
					t.Errorf("a lane in a slot of its own: %+v %v", lanes.KeyCounts, why(lanes))
				}
				for _, again := range []bool{false, true} {
					r := change(t, url, clients, "ttl", selection.Request{Entries: []string{"user"}}, apply.KeysOptions{})
					if want := map[bool]int64{false: users}[again]; r.Changed != want || r.Keys != users {
						t.Errorf("ttl: %+v", r.KeyCounts)
					}
					r = change(t, url, clients, "clean", selection.Request{}, apply.KeysOptions{})
					if want := map[bool]int64{false: 3}[again]; r.Changed != want ||
						why(r)[plan.NotDue] != map[bool]int64{false: users + 2, true: 2}[again] {
						t.Errorf("clean: %+v %v", r.KeyCounts, why(r))
					}
					r = change(t, url, clients, "delete", selection.Request{Entries: []string{"page", "hold"}}, apply.KeysOptions{})
					if want := map[bool]int64{false: users}[again]; r.Changed != want ||
						applytest.Do(t, clients, 0, "GET", "app:lock:1") != "h/t" {
						t.Errorf("delete: %+v", r.KeyCounts)
					}
				}
				if applytest.Do(t, clients, 0, "EXISTS", "{app:page:7}:fill") != int64(0) ||
					applytest.Do(t, clients, 0, "EXISTS", "backup:12") != int64(1) || applytest.Do(t, clients, 0, "EXISTS",
					"backup:8") != int64(0) ||
					applytest.Do(t, clients, 0, "GET", "bull:1") != "x" {
					t.Error("a load is still under way, or the wrong keys went")
				}
			})
		}
	}
}

// meanwhile are changes between the decision about a key and its own change, and the
// guard of the script that sees them; "" where a command or a question before does.
var meanwhile = []struct {
	verb, entry, key string
	set, then        []string
	want             plan.Code // "": it is gone
	guard            string
}{
	{"ttl", "user", "app:user:1", []string{"SET", "app:user:1", "x"}, []string{"PEXPIRE", "app:user:1", "5000000"},
		plan.HasTTL, "call('PTTL', KEYS[1]) ~= -1"},
	{"ttl", "user", "app:user:2", []string{"SET", "app:user:2", "x"},
		[]string{"EVAL", "redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], 'x')", "1", "app:user:2"}, plan.OtherType,
		"typed ~= '' and kind ~= typed"},
	{"ttl", "user", "app:user:3", []string{"SET", "app:user:3", "x"}, []string{"DEL", "app:user:3"}, "", ""},
	{"delete", "user", "app:user:4", []string{"SET", "app:user:4", "x"}, []string{"DEL", "app:user:4"}, "", ""},
	{"delete", "page", "app:page:5", []string{"SET", "app:page:5", "x"}, []string{"DEL", "app:page:5"}, "",
		"kind == 'none'"},
	{"delete", "jobs", "app:jobs:a", []string{"RPUSH", "app:jobs:a", "1"},
		[]string{"ZADD", "{app:jobs:a}:workers", "99999999999999", "w"}, plan.QueueWorks,
		"call('ZCOUNT', KEYS[i], now, '+inf') > 0"},
	{"delete", "jobs", "app:jobs:b", []string{"RPUSH", "app:jobs:b", "1"},
		[]string{"ZADD", "{app:jobs:b}:leases", "99999999999999", "w"}, plan.QueueWorks, "i = 2, 1 + tonumber(sets)"},
	{"clean", "page", "app:page:6", []string{"SET", "app:page:6", "x"}, []string{"GET", "app:page:6"}, plan.NotDue,
		"call('OBJECT', 'IDLETIME', KEYS[1]) < tonumber(idle)"},
	{"clean", "backup", "backup:1", []string{"MSET", "backup:1", "x", "backup:2", "x", "backup:3", "x"},
		[]string{"DEL", "backup:3"}, plan.Changed, ""},
}

// What changes between the decision about a key and its change is seen by the server,
// and by nothing else: without its guard the key is changed.
func TestChangedMeanwhile(t *testing.T) {
	s := kt.Start(t, kt.Redis)
	clients := applytest.Open(t, s.URL())
	for _, c := range meanwhile {
		run := func() *apply.KeysReport {
			s.Do("FLUSHALL")
			s.Do(c.set...)
			o := apply.KeysOptions{}
			apply.Decided(&o, func(k *source.Key, d *plan.Decision) {
				if string(k.Name) == c.key {
					if d.Leave != "" {
						t.Errorf("%s was left alone before: %s", c.key, d.Leave)
					}
					s.Do(c.then...)
				}
			})
			return change(t, s.URL(), clients, c.verb, selection.Request{Entries: []string{c.entry}}, o)
		}
		if r := run(); r.Changed != 0 || c.want != "" && why(r)[c.want] != 1 || c.want == "" && r.Gone != 1 {
			t.Errorf("%s %s: %+v %v", c.verb, c.key, r.KeyCounts, why(r))
		}
		if c.guard == "" {
			continue
		}
		instead := "false"
		if strings.HasPrefix(c.guard, "i = ") {
			instead = "i = 3, 1 + sets"
		}
		restore, ok := apply.Mutate(c.guard, instead)
		if !ok {
			t.Fatalf("the script has no %q", c.guard)
		}
		if r := run(); r.Changed != 1 {
			t.Errorf("%s %s is not changed without %q: %+v", c.verb, c.key, c.guard, r.KeyCounts)
		}
		restore()
	}
}

// A run that is stopped ends at once, also while it keeps a rate, and its report is true.
func TestStopped(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	clients := applytest.Open(t, s.URL())
	var list [][]string
	for i := range 2000 {
		list = append(list, []string{"SET", "app:user:" + strconv.Itoa(i), "x"})
	}
	s.Pipe(list...)
	rule, err := ruleOf("delete", selection.Request{Entries: []string{"user"}})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// a batch in four seconds
	r, err := apply.Keys(ctx, clients, scanOf(s.URL()), rule,
		apply.KeysOptions{Rate: 256 * 3600 / 60, Progress: func(int64) { stop() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	sums(t, &r)
	if left := s.Do("DBSIZE").(int64); r.Changed == 0 || 2000-left > r.Changed+r.Unknown || 2000-left < r.Changed {
		t.Errorf("%+v, and %d of 2000 are left", r.KeyCounts, left)
	}
	other := errors.New("another process acts")
	if r, err := apply.Keys(t.Context(), clients, scanOf(s.URL()), rule,
		apply.KeysOptions{StillHeld: func() error { return other }}); !errors.Is(err, other) || r.Changed != 0 {
		t.Errorf("%+v, %v", r.KeyCounts, err)
	}
}

// A key that is used is not idle, and looking at it does not use it.
func TestIdle(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, kt.Brands()) {
		s := kt.Start(t, brand)
		clients := applytest.Open(t, s.URL())
		for _, n := range []string{"1", "2"} {
			s.Do("SET", "app:page:"+n, "x")
			dump := s.Do("DUMP", "app:page:"+n).(string)
			s.Do("RESTORE", "app:page:"+n, "0", dump, "REPLACE", "IDLETIME", "4000")
		}
		change(t, s.URL(), clients, "clean", selection.Request{Globs: []string{"none"}}, apply.KeysOptions{})
		s.Do("GET", "app:page:1")
		batch := []source.Key{{Name: []byte("app:page:1")}, {Name: []byte("app:page:2")}, {Name: []byte("app:page:3")}}
		idle := plan.Decision{Meant: true, Step: plan.Step{Idle: time.Hour}}
		decisions := []plan.Decision{idle, idle, idle}
		must(t, apply.Due(t.Context(), clients, batch, decisions))
		used, gone := idle, idle
		used.Leave, gone.Meant = plan.NotDue, false
		if diff := cmp.Diff([]plan.Decision{used, idle, gone}, decisions); diff != "" {
			t.Errorf("%s: a key that was used, one that was not, and one that is gone: %s", brand, diff)
		}
		if r := change(t, s.URL(), clients, "clean", selection.Request{}, apply.KeysOptions{}); r.Changed != 1 ||
			s.Do("EXISTS", "app:page:1") != int64(1) {
			t.Errorf("%s: %+v", brand, r.KeyCounts)
		}
		s.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu")
		if r := change(t, s.URL(), clients, "clean", selection.Request{}, apply.KeysOptions{}); r.Changed != 0 ||
			r.Refused != 1 || why(r)[plan.NotIdle] != 1 {
			t.Errorf("%s without idle times: %+v %v", brand, r.KeyCounts, why(r))
		}
	}
}

// TestTwoDatabasesInABatch: a few keys of two databases are each deleted in their own.
func TestTwoDatabasesInABatch(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	for _, db := range []string{"0", "3"} {
		s.Do("EVAL", "redis.call('SELECT', ARGV[1]) redis.call('SET', 'app:user:' .. ARGV[1], 'x')", "0", db)
	}
	s.Do("SET", "app:other:3", "stays")
	r := change(t, s.URL(), applytest.Open(t, s.URL()), "delete", selection.Request{Entries: []string{"user"}},
		apply.KeysOptions{})
	if left := s.Info("db3"); r.Changed != 2 || r.Keys != 2 || left != "" || s.Do("DBSIZE") != int64(1) {
		t.Errorf("%+v, and database 3 has %s", r.KeyCounts, left)
	}
}

// TestIdleItems: of the items of an entity that a rule with idle matches, those that were used since are left alone.
func TestIdleItems(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	ks := keyspaceOf(`keywright: 1
keys:
  note: {key: "app:note:{id}", type: entity, ttl: 1d, fields: {kind: slug}}
cleanup:
  - {match: "app:note:*", idle: 1h}
`)
	for _, n := range []string{"app:note:1", "app:note:2"} {
		s.Do("HSET", n, "kind", "a")
		s.Do("RESTORE", n, "0", s.Do("DUMP", n).(string), "REPLACE", "IDLETIME", "4000")
	}
	s.Do("HGET", "app:note:1", "kind")
	rule, err := plan.NewClean(ks, selection.Request{}, time.Now())
	must(t, err)
	var deleted []string
	r, err := apply.Keys(t.Context(), applytest.Open(t, s.URL()), scanOf(s.URL()), rule,
		apply.KeysOptions{Item: func(_ context.Context, _ int, i apply.Item) (bool, error) {
			deleted = append(deleted, string(i.Key))
			return true, nil
		}})
	if err != nil || r.Changed != 1 || why(&r)[plan.NotDue] != 1 || !slices.Equal(deleted, []string{"app:note:2"}) {
		t.Errorf("%v: %+v %v, %q are deleted", err, r.KeyCounts, why(&r), deleted)
	}
}

// A large value is given to the thread that frees, so that no step holds the server.
func TestLargeValue(t *testing.T) {
	t.Parallel()
	fields := strconv.Itoa(gate.Count(t, "KEYWRIGHT_FIELDS", 20_000, 1_000_000))
	for _, brand := range gate.Pick(t, kt.Brands()) {
		s := kt.Start(t, brand)
		s.Do("EVAL", "for i = 1, "+fields+" do redis.call('HSET', 'app:user:large', i, i) end", "0")
		before := s.Info("lazyfreed_objects")
		if r := change(t, s.URL(), applytest.Open(t, s.URL()), "delete", selection.Request{Entries: []string{"user"}},
			apply.KeysOptions{}); r.Changed != 1 {
			t.Errorf("%+v", r.KeyCounts)
		}
		s.Await("lazyfree_pending_objects", "0")
		if after := s.Info("lazyfreed_objects"); after == before {
			t.Errorf("%s: the server itself freed the fields: %s and %s", brand, before, after)
		}
	}
}

// childKeys runs a verb with a journal, and prints its report.
func childKeys(verb string) {
	journal, _, err := journal.Open(os.Getenv("CHANGE_JOURNAL"), verb)
	if err != nil {
		panic(err)
	}
	if journal.Done() { // the killed run had come to its end, and only its report was lost
		_ = json.NewEncoder(os.Stdout).Encode(journal.Total())
		os.Exit(0)
	}
	clients := map[int]*keywright.Client{}
	entries := map[bool][]string{true: {"backup"}, false: {"user", "page", "hold"}}[verb == "clean"]
	rule, err := ruleOf(verb, selection.Request{Entries: entries})
	if err != nil {
		panic(err)
	}
	url := os.Getenv("CHANGE_URL")
	if c, ok := rule.(*plan.Clean); ok {
		_, _ = scanOf(url)(context.Background(), func(batch []source.Key) error {
			for i := range batch {
				c.Learn(&batch[i])
			}
			return nil
		})
	}
	report, err := apply.Keys(context.Background(), func(db int) (_ *keywright.Client, err error) {
		if clients[db] == nil {
			clients[db], err = keywright.Open(context.Background(), url+"/"+strconv.Itoa(db), applytest.Mortals())
		}
		return clients[db], err
	}, scanOf(url), rule, apply.KeysOptions{Journal: journal})
	if err != nil || len(report.Summary.Incomplete) > 0 {
		fmt.Fprintln(os.Stderr, err, report.Summary.Incomplete)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(report.KeyCounts)
	os.Exit(0)
}

// A run that is killed at any moment goes on with its journal: nothing is left, nothing
// else is touched, no TTL is given twice, and the report of the last run counts all of
// them.
func TestKilledChanges(t *testing.T) {
	t.Parallel()
	const users, pages, moments = 3000, 1500, 40 // moments of a run
	for _, verb := range []string{"delete", "ttl", "clean"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			r, kills := gate.Rand(t), gate.Count(t, "KEYWRIGHT_KILLS", 1, 8)
			s := kt.Start(t, kt.Redis)
			for done := 0; done < kills; {
				s.Do("FLUSHALL")
				var list [][]string
				for i := range users {
					list = append(list, []string{"SET", "app:user:" + strconv.Itoa(i), "x"})
				}
				for i := range pages {
					list = append(list, []string{"SET", "app:page:" + strconv.Itoa(i), "x"},
						[]string{"SET", "app:other:" + strconv.Itoa(i), "x"}, []string{"SET", "backup:" + strconv.Itoa(i), "x"})
				}
				s.Pipe(append(list, []string{"SET", "app:lock:1", "h/t", "PX", "6000000"})...)
				journal := t.TempDir() + "/journal"
				ends := map[string]string{} // when each key ends, as it was first given
				for died := true; died; {
					at := 0
					if done < kills {
						at = 1 + r.IntN(moments)
					}
					var report string
					if report, died = applytest.Dies(t, at, "CHANGE_VERB="+verb, "CHANGE_URL="+s.URL(),
						"CHANGE_JOURNAL="+journal); died {
						done++
					}
					sameEnds(t, s, ends)
					if !died {
						whole(t, s, verb, report, map[bool]int64{true: pages - 2, false: users + pages}[verb == "clean"])
					}
				}
			}
		})
	}
}

// sameEnds checks that a key which was given a TTL keeps it.
func sameEnds(t *testing.T, s *kt.Server, ends map[string]string) {
	for _, key := range s.Do("KEYS", "app:user:11*").([]any) {
		name := fmt.Sprint(key)
		at := fmt.Sprint(s.Do("PEXPIRETIME", name))
		if was := ends[name]; was != "" && was != at {
			t.Errorf("%s was given the end %s and then %s", name, was, at)
		}
		if at != "-1" {
			ends[name] = at
		}
	}
}

// whole checks what a verb has left, and the report of all its runs together.
func whole(t *testing.T, s *kt.Server, verb, report string, keys int64) {
	t.Helper()
	var c journal.KeyCounts
	if err := json.Unmarshal([]byte(report), &c); err != nil {
		t.Fatalf("%v: %q", err, report)
	}
	if sure, perhaps := c.Changed, c.Changed+c.Unknown+c.Gone; sure > keys || perhaps < keys ||
		c.Keys != c.Changed+c.Gone+c.Left+c.Refused+c.Unknown {
		t.Errorf("%s of %d keys: %+v", verb, keys, c)
	}
	left := map[string]int{}
	for _, key := range s.Do("KEYS", "*").([]any) {
		name := fmt.Sprint(key)
		kind := name[:strings.LastIndexByte(name, ':')]
		if ttl := s.Do("PTTL", name).(int64); verb == "ttl" && (kind == "app:user" || kind == "app:page") &&
			(ttl <= 0 || ttl > 3600_000) {
			t.Errorf("%s has the TTL %d", name, ttl)
		}
		left[kind]++
	}
	want := map[string]int{"app:other": 1500, "app:lock": 1, "backup": 1500}
	if verb != "delete" {
		want["app:user"], want["app:page"] = 3000, 1500
	}
	if verb == "clean" {
		want["backup"] = 2
		if s.Do("EXISTS", "backup:1499", "backup:1498") != int64(2) {
			t.Error("the newest are not those that stay")
		}
	}
	if !maps.Equal(left, want) {
		t.Errorf("%s left %v, want %v (%v)", verb, left, want, slices.Sorted(maps.Keys(left)))
	}
}
