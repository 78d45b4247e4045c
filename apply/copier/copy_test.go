package copier_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright/apply/copier"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
	"github.com/keywright/keywright/source/server"
)

var must = expect.NoError

func copyAll(t testing.TB, from, to string, o copier.Options, largest int64) copier.Report {
	t.Helper()
	side := applytest.Live(t, from, largest)
	o.Since = side.Since
	r, err := copier.Copy(t.Context(), side, applytest.Live(t, to, largest), applytest.Open(t, to), o)
	must(t, err)
	applytest.Adds(t, r.Report)
	return r
}

// equal holds both servers against each other.
func equal(t testing.TB, from, to string) {
	t.Helper()
	r, err := compare.Run(t.Context(), applytest.Live(t, from, 0), applytest.Live(t, to, 0), compare.Options{})
	must(t, err)
	if r.Differ() > 0 {
		t.Errorf("%+v", r)
	}
}

// Every kind of value is copied as it is, between both brands and to and from a
// cluster; a second run, with any Existing, writes nothing and finds nothing.
func TestCopied(t *testing.T) {
	t.Parallel()
	for _, brands := range [][2]string{{"redis-server", "valkey-server"}, {"valkey-server", "redis-server"},
		{"redis-server", "cluster"}, {"cluster", "redis-server"}} {
		for name, largest := range map[string]int64{"whole": 1 << 40, "in parts": 1} {
			way := strings.Join(brands[:], " to ") + " " + name
			if !gate.All() && !slices.Contains([]string{"redis-server to valkey-server whole",
				"valkey-server to redis-server in parts", "redis-server to cluster in parts", "cluster to redis-server whole"}, way) {
				continue
			}
			t.Run(way, func(t *testing.T) {
				t.Parallel()
				urls, dbs := [2]string{}, []int{0, 3}
				for i, b := range brands {
					if b == "cluster" {
						dbs, urls[i] = dbs[:1], kt.StartCluster(t, kt.Valkey, 2, 0).URL()
					} else {
						urls[i] = kt.Start(t, kt.Brand(b)).URL()
					}
				}
				sources := applytest.Open(t, urls[0])
				for _, db := range dbs {
					applytest.Fill(t, sources, db)
					applytest.FillMore(t, sources, db)
				}
				r := copyAll(t, urls[0], urls[1], copier.Options{}, largest)
				if !r.Settled() || r.Repaired > 0 || r.Rounds != 1 || r.Restored != r.Keys || r.Checked.Same != r.Keys ||
					r.Only.Keys > 0 {
					t.Errorf("%+v", r)
				}
				equal(t, urls[0], urls[1])
				for _, mode := range []restore.Existing{restore.Fail, restore.Skip, restore.Different, restore.Replace} {
					r := copyAll(t, urls[0], urls[1], copier.Options{Options: restore.Options{Existing: mode}}, largest)
					if !r.Settled() || r.Repaired > 0 || mode != restore.Replace && r.Restored > 0 ||
						mode != restore.Replace && r.Same != r.Keys {
						t.Errorf("%s, again: %+v", mode, r)
					}
				}
				equal(t, urls[0], urls[1])
			})
		}
	}
}

// A key that is at the target with another value is left, or replaced; what only the
// target has stays, and is named.
func TestCopyOntoKeys(t *testing.T) {
	t.Parallel()
	from, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Valkey)
	for mode, want := range map[restore.Existing]string{restore.Fail: "theirs", restore.Skip: "theirs",
		restore.Replace:   "ours",
		restore.Different: "ours"} {
		from.Do("FLUSHALL")
		to.Do("FLUSHALL")
		from.Do("SET", "a", "ours")
		from.Do("SET", "b", "ours", "PXAT", "4102444800123")
		to.Do("SET", "a", "theirs")
		to.Do("SET", "other", "theirs")
		plan := copyAll(t, from.URL(), to.URL(),
			copier.Options{Options: restore.Options{Existing: mode, Plan: true}}, 0)
		if to.Do("DBSIZE").(int64) != 2 || to.Do("GET", "a") != "theirs" {
			t.Errorf("%s: a plan changed something", mode)
		}
		r := copyAll(t, from.URL(), to.URL(), copier.Options{Options: restore.Options{Existing: mode}}, 0)
		if got := to.Do("GET", "a"); got != want || to.Do("PEXPIRETIME", "b") != int64(4102444800123) ||
			to.Do("GET", "other") != "theirs" {
			t.Errorf("%s: %v: %+v", mode, got, r)
		}
		if r.Restored != plan.Restored || r.Kept != map[bool]int64{true: 1}[want == "theirs"] || r.Only.Extra != 1 ||
			string(r.Only.Named[0].Key.Name) != "other" || !r.Settled() {
			t.Errorf("%s: planned %+v, done %+v", mode, plan, r)
		}
	}
}

// Keys go to another database, and get the expiry that is asked for.
func TestCopyElsewhere(t *testing.T) {
	t.Parallel()
	from, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Valkey)
	from.Do("SET", "a", "x")
	from.Do("SET", "b", "y", "PX", "100000")
	o := copier.Options{Back: func(k compare.Key) (compare.Key, bool) {
		return compare.Key{DB: 0, Name: k.Name}, k.DB == 5
	}}
	o.Place = func(r *archive.Record) (restore.Place, error) {
		return restore.Place{Key: r.Key, DB: 5, Expires: map[bool]int64{true: 4102444800000}[r.Expires > 0],
			SameExpiry: func(there int64) bool { return there > 0 == (r.Expires > 0) }}, nil
	}
	for range 2 {
		if r := copyAll(t, from.URL(), to.URL(), o, 0); !r.Settled() || r.Only.Keys > 0 || r.Repaired > 0 {
			t.Errorf("%+v", r)
		}
	}
	if got := applytest.Do(t, applytest.Open(t, to.URL()), 5, "PEXPIRETIME", "b"); got != int64(4102444800000) {
		t.Errorf("%v", got)
	}
}

// What is written while it is copied is at the target or is named, and no value is there
// with the expiry of another one.
func TestCopyUnderWriters(t *testing.T) {
	t.Parallel()
	from, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Valkey)
	at := applytest.Open(t, from.URL())
	const keys, writers = 400, 3
	write := func(key, value int) { // the expiry tells the value
		applytest.Do(t, at, 0, "SET", fmt.Sprint("key", key), strconv.Itoa(value), "PXAT", strconv.Itoa(4102444800000+value))
	}
	for i := range keys {
		write(i, 0)
	}
	must(t, func() error { _, err := at(0); return err }())
	var stop atomic.Bool
	var group sync.WaitGroup
	var written atomic.Int64
	for w := range writers {
		group.Go(func() {
			for n := 1; !stop.Load(); n++ {
				write((n*7+w)%keys, n*writers+w)
				written.Add(1)
			}
		})
	}
	r := copyAll(t, from.URL(), to.URL(), copier.Options{}, 0)
	stop.Store(true)
	group.Wait()
	named := map[string]bool{}
	for _, d := range r.Checked.Named {
		named[string(d.Key.Name)] = true
	}
	torn, stale := 0, 0
	target := applytest.Open(t, to.URL())
	for i := range keys {
		key := fmt.Sprint("key", i)
		value, _ := strconv.Atoi(fmt.Sprint(applytest.Do(t, target, 0, "GET", key)))
		if applytest.Do(t, target, 0, "PEXPIRETIME", key) != int64(4102444800000+value) {
			torn++
		}
	}
	last, err := compare.Run(t.Context(), applytest.Live(t, from.URL(), 0), applytest.Live(t, to.URL(), 0),
		compare.Options{Each: func(d compare.Difference) error {
			stale++
			return nil
		}})
	must(t, err)
	if torn > 0 || last.Missing+last.Extra > 0 || written.Load() == 0 {
		t.Errorf("%d torn pairs, %d writes, %+v", torn, written.Load(), last.Figures)
	}
	if again := copyAll(t, from.URL(), to.URL(),
		copier.Options{Options: restore.Options{Existing: restore.Different}}, 0); !again.Settled() {
		t.Errorf("at rest: %+v", again)
	}
	equal(t, from.URL(), to.URL())
	t.Logf("%d writes, %d rounds, %d repaired, %d named, %d stale", written.Load(), r.Rounds, r.Repaired,
		len(named), stale)
}

// Full memory at the target ends a copy; the report says what was not written.
func TestCopyIntoFullMemory(t *testing.T) {
	t.Parallel()
	from, to := kt.Start(t, kt.Redis),
		kt.Start(t, kt.Redis, kt.Config("maxmemory", "1mb"), kt.Config("maxmemory-policy", "noeviction"))
	for i := range 50 {
		from.Do("SET", fmt.Sprint("key", i), strings.Repeat("x", 1000))
	}
	r, err := copier.Copy(t.Context(), applytest.Live(t, from.URL(), 0), applytest.Live(t, to.URL(), 0),
		applytest.Open(t, to.URL()), copier.Options{})
	applytest.Adds(t, r.Report)
	if err == nil || r.Unknown == 0 {
		t.Errorf("%v %+v", err, r)
	}
}

// Connections that break on both sides cost nothing.
func TestCopyOverConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	from, to := kt.Start(t, kt.Valkey), kt.Start(t, kt.Redis)
	sources := applytest.Open(t, from.URL())
	applytest.Fill(t, sources, 0)
	for i := range 2000 {
		from.Do("SET", fmt.Sprint("key", i), strconv.Itoa(i))
	}
	reading, writing := kt.NewProxy(t, from.Addr(), kt.Rules{}), kt.NewProxy(t, to.Addr(), kt.Rules{})
	cuts := 0
	o := copier.Options{Round: func(int, string) { cuts = 0 }}
	o.Progress = func(done int64) {
		if done%500 == 250 && cuts < 3 {
			cuts++
			reading.Cut()
			writing.Cut()
		}
	}
	urls := [2]string{"redis://" + reading.Addr(), "redis://" + writing.Addr()}
	r := copyAll(t, urls[0], urls[1], o, 1<<40)
	if !r.Settled() {
		t.Errorf("%+v", r)
	}
	equal(t, from.URL(), to.URL())
}

// A context that ends, ends a copy.
func TestCopyEnds(t *testing.T) {
	t.Parallel()
	from, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Redis)
	applytest.Fill(t, applytest.Open(t, from.URL()), 0)
	ctx, cancel := context.WithCancel(t.Context())
	o := copier.Options{}
	o.Progress = func(done int64) {
		if done == 3 {
			cancel()
		}
	}
	if _, err := copier.Copy(ctx, applytest.Live(t, from.URL(), 1), applytest.Live(t, to.URL(), 1), applytest.Open(t,
		to.URL()), o); err == nil {
		t.Error("no error")
	}
}

// A first pass by snapshot, while keys are written and deleted at the source and though the
// snapshot breaks in the middle: the rounds bring the rest.
func TestCopyBySnapshot(t *testing.T) {
	t.Parallel()
	quick := kt.Config("repl-diskless-sync-delay", "0")
	for name, cut := range map[string]int64{"whole": 0, "cut": 60_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := kt.Start(t, kt.Redis, quick), kt.Start(t, kt.Valkey)
			applytest.Fill(t, applytest.Open(t, from.URL()), 0)
			for i := range 2000 {
				from.Do("SET", fmt.Sprint("key", i), strings.Repeat("x", 50)+strconv.Itoa(i), "PXAT", strconv.Itoa(4102444800000+i))
			}
			url := from.URL()
			if cut > 0 {
				url = "redis://" + kt.NewProxy(t, from.Addr(), kt.Rules{CutAfter: cut}).Addr()
			}
			config, err := connect.New(connect.Options{URL: url})
			must(t, err)
			var read source.Summary
			o := copier.Options{
				Snapshot: func(ctx context.Context, each func([]source.Content) error) (source.Summary, error) {
					read, err = server.NewSnapshot(config, server.SnapshotOptions{OnlyDB: -1}).Contents(ctx,
						server.ContentsRequest{}, each)
					return read, err
				}}
			o.Round = func(n int, what string) {
				if n == 1 && what == "verify" { // after the moment of the snapshot
					from.Do("SET", "key7", "later")
					from.Do("SET", "new", "x")
				}
			}
			r := copyAll(t, from.URL(), to.URL(), o, 0)
			if !r.Settled() || r.Repaired < 2 || (cut > 0) != (len(read.Incomplete) > 0) {
				t.Errorf("%+v, %v", r, read.Incomplete)
			}
			equal(t, from.URL(), to.URL())
		})
	}
}

// TestCopyFollowsDeletes: what the source deletes while it is copied is deleted at the target, if this run has written
// it; what was there before stays, and so does what the source has made again.
func TestCopyFollowsDeletes(t *testing.T) {
	t.Parallel()
	for _, cluster := range gate.Pick(t, []bool{false, true}) {
		from, to := kt.Start(t, kt.Redis).URL(), kt.Start(t, kt.Valkey).URL()
		if cluster {
			to = kt.StartCluster(t, kt.Valkey, 2, 0).URL()
		}
		at, there := applytest.Open(t, from), applytest.Open(t, to)
		for i := range 1000 {
			applytest.Do(t, at, 0, "SET", fmt.Sprint("session:", i), "x")
		}
		applytest.Do(t, at, 0, "SET", "both", "ours")
		applytest.Do(t, there, 0, "SET", "both", "theirs")
		applytest.Do(t, there, 0, "SET", "other", "theirs")
		o := copier.Options{Options: restore.Options{Existing: restore.Skip}}
		o.Round = func(n int, what string) {
			switch {
			case n == 1 && what == "verify":
				for i := range 500 {
					applytest.Do(t, at, 0, "UNLINK", fmt.Sprint("session:", i))
				}
				applytest.Do(t, at, 0, "UNLINK", "both")
			case strings.HasPrefix(what, "look for"):
				applytest.Do(t, at, 0, "SET", "session:7", "again")
			}
		}
		r := copyAll(t, from, to, o, 0)
		if r.Deleted != 499 || !r.Settled() || r.Only.Extra != 2 {
			t.Errorf("deleted %d, settled %v, only at the target %d", r.Deleted, r.Settled(), r.Only.Extra)
		}
		for key, want := range map[string]string{"both": "theirs", "other": "theirs", "session:7": "again", "session:8": "",
			"session:900": "x"} {
			if got, _ := applytest.Do(t, there, 0, "GET", key).(string); got != want {
				t.Errorf("%s is %q, not %q", key, got, want)
			}
		}
	}
}

// TestALossAtTheSourceIsNotCopied: what the source loses to a flush or a restart while it is copied stays at the
// target, and is reported.
func TestALossAtTheSourceIsNotCopied(t *testing.T) {
	t.Parallel()
	for want, lose := range map[source.Code]func(*kt.Server){
		source.Flushed:    func(s *kt.Server) { s.Do("FLUSHALL") },
		source.Restarted:  (*kt.Server).Restart,
		source.Unverified: (*kt.Server).Kill,
	} {
		from, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Valkey)
		for i := range 300 {
			from.Do("SET", fmt.Sprint("session:", i), "x")
		}
		side := applytest.Live(t, from.URL(), 0)
		o := copier.Options{Since: side.Since, Rounds: 1}
		o.Round = func(_ int, what string) {
			if strings.HasPrefix(what, "look for") {
				lose(from)
			}
		}
		ctx := t.Context()
		if want == source.Unverified { // a source that does not come back is not waited for
			var end context.CancelFunc
			ctx, end = context.WithTimeout(ctx, 3*time.Second)
			defer end()
		}
		r, err := copier.Copy(ctx, side, applytest.Live(t, to.URL(), 0), applytest.Open(t, to.URL()), o)
		if n := to.Do("DBSIZE"); n != int64(300) || r.Deleted > 0 {
			t.Errorf("%s: deleted %d, %v keys are left", want, r.Deleted, n)
		}
		if want != source.Unverified && (err != nil || !r.Harm.Has(want)) || want == source.Unverified && err == nil {
			t.Errorf("%s: %v, %+v", want, err, r.Harm)
		}
	}
}
