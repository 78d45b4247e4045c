package pressure_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/keywrighttest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

var (
	open       = servertest.Open
	eventually = expect.Eventually
)

var entry = keywright.Entry{Name: "item.pressure", Type: "string"}

// watcher has the two steps of the page: at 80 % the items of priority 1 get five
// minutes, at 90 % they are released.
func watcher(c *keywright.Client, target pressure.Target, o pressure.Options) *pressure.Watcher {
	o.Rest = cmp.Or(o.Rest, time.Nanosecond)
	o.Interval = cmp.Or(o.Interval, 5*time.Second) // for so long it waits for a server that is busy
	return pressure.New(keywright.Binding{Client: c, Entry: &entry, Key: "lease"}, []pressure.Step{
		{At: .8, Entry: "item", Target: target, Values: []string{"1"}, Shorten: 5 * time.Minute},
		{At: .9, To: .85, Entry: "item", Target: target, Values: []string{"1"}},
	}, o)
}

func brands(t *testing.T, f func(*testing.T, *keywrighttest.Server)) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		for _, policy := range []string{"noeviction", "volatile-ttl"} {
			t.Run(strings.TrimSuffix(string(brand), "-server")+"/"+policy, func(t *testing.T) {
				t.Parallel()
				f(t, keywrighttest.Start(t, brand, keywrighttest.Config("maxmemory-policy", policy)))
			})
		}
	}
}

func once(t *testing.T, w *pressure.Watcher) []pressure.Report {
	t.Helper()
	reports, err := w.Once(t.Context())
	must(t, err)
	return reports
}

// TestShorten: below the ratio nothing happens; above it the items of the lowest
// priority get the declared lifetime, the others keep theirs, and doing it again
// changes nothing.
func TestShorten(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server) {
		fill(s, 2000, 1, 2)
		c := open(t, s.URL())
		w := watcher(c, &shelf{c: c}, pressure.Options{Batch: 300, Pause: time.Nanosecond})
		press(t, s, .7)
		if r := once(t, w); len(r) != 0 || s.Do("EXISTS", "lease") != int64(0) {
			t.Errorf("at 70 %%: %+v", r)
		}
		press(t, s, .85)
		r := once(t, w)
		if len(r) != 1 || r[0].Shortened != 2000 || r[0].Seen != 2000 || r[0].Released+r[0].Skipped != 0 ||
			r[0].End != pressure.Through || r[0].Fence == 0 || r[0].Before.Ratio() < .8 {
			t.Fatalf("at 85 %%: %+v", r)
		}
		first, latest := ends(t, s, 1), time.Now().Add(5*time.Minute).UnixMilli()
		for id, at := range first {
			if at > latest {
				t.Fatalf("%s ends at %d, later than %d", id, at, latest)
			}
		}
		for id, at := range ends(t, s, 2) {
			if at < latest {
				t.Fatalf("%s is not of the lowest priority and was shortened", id)
			}
		}
		r = once(t, w)
		if len(r) != 1 || r[0].Shortened != 0 || r[0].Skipped != 2000 || len(first) != 2000 ||
			!maps.Equal(first, ends(t, s, 1)) {
			t.Errorf("again: %+v", r)
		}
		press(t, s, .7)
		if r := once(t, w); len(r) != 0 || s.Do("EXISTS", "lease") != int64(0) {
			t.Errorf("below again: %+v, and the lease is there: %v", r, s.Do("EXISTS", "lease"))
		}
	})
}

// TestRelease: the oldest of the lowest priority go, no more than is needed, and
// then the others are shortened.
func TestRelease(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server) {
		fill(s, 3000, 1, 2)
		c := open(t, s.URL())
		press(t, s, .93)
		r := once(t, watcher(c, &shelf{c: c}, pressure.Options{Batch: 50, Pause: time.Nanosecond}))
		if len(r) != 2 || r[0].End != pressure.Below || !r[0].Release || r[1].Release || r[0].After.Ratio() >= .85 {
			t.Fatalf("%+v", r)
		}
		left := count(s, 1)
		if r[0].Released != 3000-left || left == 0 || left == 3000 || count(s, 2) != 3000 {
			t.Errorf("%d and %d are left, %d released", left, count(s, 2), r[0].Released)
		}
		if r[0].After.Ratio() < .84 { // a batch of 50 is half a percent
			t.Errorf("released down to %.3f", r[0].After.Ratio())
		}
		for i := range 3000 {
			if there := s.Do("EXISTS", "item:"+name(1, i)) == int64(1); there != (i >= 3000-left) {
				t.Fatalf("item %d is there: %v, %d are left", i, there, left)
			}
		}
		if n := s.Do("ZCARD", "expiry"); n != int64(3000+left) || r[1].Shortened != left {
			t.Errorf("the expiry index has %v, %d were shortened: %d and 3000 are left", n, r[1].Shortened, left)
		}
	})
}

// full returns a server that refuses every write which needs memory: the release must
// work nevertheless. It gives what went wrong.
func full(t *testing.T, s *keywrighttest.Server) (wrong []string) {
	fill(s, 2000, 1, 2)
	c := open(t, s.URL())
	press(t, s, 1.1)
	if _, err := s.Try("SET", "a", "b"); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Fatalf("the server is not full: %v", err)
	}
	reports, err := watcher(c, &shelf{c: c}, pressure.Options{Pause: time.Nanosecond}).Once(t.Context())
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	if len(reports) != 2 || reports[0].End != pressure.Below || reports[0].After.Ratio() >= .85 || count(s, 2) != 2000 {
		wrong = append(wrong, fmt.Sprintf("%+v", reports))
	}
	if _, err := s.Try("SET", "a", "b"); err != nil {
		wrong = append(wrong, "there is no room: "+err.Error())
	}
	return wrong
}

func TestFull(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			for _, w := range full(t, keywrighttest.Start(t, brand)) {
				t.Error(w)
			}
		})
	}
}

// TestShortenWhenFull: also the step that only shortens works on a full server.
func TestShortenWhenFull(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		fill(s, 500, 1)
		c := open(t, s.URL())
		press(t, s, 1.1)
		w := pressure.New(keywright.Binding{Client: c, Entry: &entry, Key: "lease"},
			[]pressure.Step{{At: .8, Entry: "item", Target: &shelf{c: c}, Values: []string{"1"}, Shorten: time.Minute}},
			pressure.Options{})
		if r := once(t, w); len(r) != 1 || r[0].Shortened != 500 {
			t.Errorf("%s: %+v", brand, r)
		}
	}
}

// turns returns two processes under lasting pressure: only the one with the lease
// acts, until it gives it back or is dead; and one that has lost it does not give
// back that of the other.
func turns(t *testing.T, s *keywrighttest.Server) (wrong []string) {
	fill(s, 2500, 1)
	acts := func(w *pressure.Watcher, should bool, when string) {
		if should {
			press(t, s, .85) // what a server uses changes meanwhile
		}
		if r := once(t, w); len(r) > 0 != should {
			wrong = append(wrong, fmt.Sprintf("%s: %d reports", when, len(r)))
		}
	}
	make := func() *pressure.Watcher {
		c := open(t, s.URL())
		return watcher(c, &shelf{c: c}, pressure.Options{Process: "same name", Lease: time.Minute})
	}
	a, b := make(), make()
	acts(a, true, "the first one")
	acts(b, false, "the second one")
	acts(a, true, "the first one again")
	s.Do("DEL", "lease") // as if its time had ended
	acts(b, true, "the second one after the lease")
	acts(a, false, "the first one after its lease")
	press(t, s, .7)
	acts(a, false, "the first one without pressure")
	if s.Do("EXISTS", "lease") != int64(1) {
		wrong = append(wrong, "the first one gave back the lease of the second")
	}
	acts(b, false, "the second one without pressure")
	if s.Do("EXISTS", "lease") != int64(0) {
		wrong = append(wrong, "the lease was not given back")
	}
	return wrong
}

func TestTurns(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		for _, w := range turns(t, keywrighttest.Start(t, brand)) {
			t.Error(w)
		}
	}
}

// TestRest: a step that went through all its items rests before it does so again.
func TestRest(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	fill(s, 2000, 1)
	c := open(t, s.URL())
	for rest, want := range map[time.Duration]int{time.Hour: 0, time.Nanosecond: 1} {
		w := watcher(c, &shelf{c: c}, pressure.Options{Rest: rest, Pause: time.Nanosecond})
		for _, want := range []int{1, want} {
			press(t, s, .85)
			if r := once(t, w); len(r) != want {
				t.Errorf("a rest of %v: %+v", rest, r)
			}
		}
		press(t, s, .5)
		once(t, w) // gives the lease back
	}
}

// TestALeaseAtRest: a lease that ends between two looks was not lost: no work was under way. One
// that ends in the middle of a run is one notice.
func TestALeaseAtRest(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	fill(s, 2000, 1)
	lost := 0
	c := servertest.Open(t, s.URL(), keywright.Options{Hooks: []keywright.Hook{{
		Notice: func(_ context.Context, n keywright.Notice) {
			if n.Kind == notice.LeaseLost {
				lost++
			}
		}}}})
	press(t, s, .95)
	target := &shelf{c: c}
	w := watcher(c, target, pressure.Options{Batch: 10, Pause: time.Nanosecond})
	if once(t, w); lost > 0 {
		t.Error("a lease that is held was lost")
	}
	give(s, "12345 another")
	press(t, s, .95)
	if r := once(t, w); len(r) > 0 || lost > 0 {
		t.Errorf("between two looks: %d notices, %+v", lost, r)
	}
	s.Do("DEL", "lease")
	target.before = func() { give(s, "12345 another") }
	press(t, s, .95)
	if r := once(t, w); len(r) != 1 || r[0].End != pressure.Lost || lost != 1 {
		t.Errorf("in the middle: %d notices, %+v", lost, r)
	}
}

// late represents a target whose pages come when the lease of the asker is over.
type late struct {
	*shelf
	over func()
}

func (l late) Page(ctx context.Context, _, _ string, _ int) ([]string, string, error) {
	<-ctx.Done()
	l.over()
	return nil, "", ctx.Err()
}

// TestALeaseThatEndsDuringAPage is one notice, also when the server is silent until then.
func TestALeaseThatEndsDuringAPage(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	fill(s, 2000, 1)
	for what, over := range map[string]func(){"it is gone": func() { s.Do("DEL", "lease") }, "silence": s.Stop} {
		lost := 0
		c := servertest.Open(t, s.URL(), keywright.Options{Hooks: []keywright.Hook{{
			Notice: func(_ context.Context, n keywright.Notice) {
				if n.Kind == notice.LeaseLost {
					lost++
				}
			}}}})
		press(t, s, 1.05)
		w := watcher(c, late{&shelf{c: c}, over}, pressure.Options{Lease: 200 * time.Millisecond})
		if r, _ := w.Once(t.Context()); len(r) != 1 || lost != 1 {
			t.Errorf("%s: %d notices, %+v", what, lost, r)
		}
		s.Continue()
	}
}

// give writes the lease, on a full server too.
func give(s *keywrighttest.Server, lease string) {
	s.Do("EVAL", "redis.call('UNLINK', KEYS[1]) return redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000)", "1",
		"lease", lease)
}

// lost returns a lease that goes to another process in the middle of a run: the run
// ends before the next batch.
func lost(t *testing.T, s *keywrighttest.Server) (wrong []string) {
	fill(s, 2500, 1)
	c := open(t, s.URL())
	press(t, s, .95)
	target := &shelf{c: c}
	target.before = func() {
		fence, _, _ := strings.Cut(fmt.Sprint(s.Do("GET", "lease")), " ")
		give(s, fence+" somebody else")
	}
	r := once(t, watcher(c, target, pressure.Options{Batch: 10, Pause: time.Nanosecond}))
	if len(r) != 1 || r[0].End != pressure.Lost || r[0].Released != 10 {
		wrong = append(wrong, fmt.Sprintf("%+v", r))
	}
	return wrong
}

func TestLost(t *testing.T) {
	t.Parallel()
	for _, w := range lost(t, keywrighttest.Start(t, keywrighttest.Valkey)) {
		t.Error(w)
	}
}

func TestMutations(t *testing.T) {
	for _, m := range []struct {
		name, guard, instead string
		suite                func(*testing.T, *keywrighttest.Server) []string
	}{
		{"SET comes first", "redis.call('UNLINK', key)\n", "", full},
		{"nobody asks whose lease it is", "if fence and holder ~= owner then", "if false then", turns},
		{"nobody asks in the middle of a run", "if not lease_held(KEYS[1], ARGV[1]) then", "if false then", lost},
		{"anybody gives the lease back", "if fence and owner == ARGV[1] then", "if true then",
			func(t *testing.T, s *keywrighttest.Server) []string { return givesBack(t, s) }},
	} {
		t.Run(m.name, func(t *testing.T) {
			pressure.Mutate(t, m.guard, m.instead)
			if wrong := m.suite(t, keywrighttest.Start(t, keywrighttest.Redis)); len(wrong) == 0 {
				t.Error("the suite stays green without this guard")
			} else {
				t.Log(wrong[0])
			}
		})
	}
}

// givesBack returns a process that does not know yet that its lease went to another.
func givesBack(t *testing.T, s *keywrighttest.Server) (wrong []string) {
	fill(s, 2500, 1)
	c := open(t, s.URL())
	press(t, s, .85)
	w := watcher(c, &shelf{c: c}, pressure.Options{})
	once(t, w)
	give(s, "12345 somebody else")
	press(t, s, .5)
	once(t, w)
	if s.Do("EXISTS", "lease") != int64(1) {
		wrong = append(wrong, "the lease of somebody else was given back")
	}
	return wrong
}

func TestGivesBack(t *testing.T) {
	t.Parallel()
	for _, w := range givesBack(t, keywrighttest.Start(t, keywrighttest.Valkey)) {
		t.Error(w)
	}
}

// TestTwoRun: two processes watch at the same time; each item is shortened by one
// of them.
func TestTwoRun(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	fill(s, 2000, 1, 2)
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	by := map[string]int{}
	var runs sync.WaitGroup
	sum := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, k := range by {
			n += k
		}
		return n
	}
	for i := range 2 {
		c := open(t, s.URL())
		w := watcher(c, &shelf{c: c}, pressure.Options{Process: strconv.Itoa(i), Interval: time.Millisecond, Batch: 20,
			Pause: time.Nanosecond, Rest: time.Hour, Done: func(r pressure.Report) {
				mu.Lock()
				defer mu.Unlock()
				if r.Shortened > 0 { // at the very end the other one may get the lease
					by[r.Process] += r.Shortened
				}
			}})
		runs.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	press(t, s, .85)
	eventually(t, "all are shortened", func() bool { return sum() >= 2000 })
	cancel()
	runs.Wait()
	if sum() != 2000 || len(by) != 1 {
		t.Errorf("%v", by)
	}
	if s.Do("EXISTS", "lease") != int64(0) {
		t.Error("the lease was not given back at the end")
	}
}

// TestNoLimit: a server without maxmemory is reported, once, and left alone; with a
// limit of its own it is not.
func TestNoLimit(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	fill(s, 3000, 1)
	c := open(t, s.URL())
	_, err := watcher(c, &shelf{c: c}, pressure.Options{}).Once(t.Context())
	if !errors.Is(err, pressure.ErrNoLimit) {
		t.Errorf("%v", err)
	}
	told := make(chan error, 10)
	looks := make(chan pressure.Reading, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	w := watcher(c, &shelf{c: c}, pressure.Options{Interval: time.Millisecond, Failed: func(err error) { told <- err },
		Look: func(r pressure.Reading) { looks <- r }})
	end := make(chan error)
	go func() { end <- w.Run(ctx) }()
	for range 20 {
		if r := <-looks; r.Limit != 0 || r.Ratio() != 0 || r.Used == 0 || r.Policy != "noeviction" {
			t.Errorf("%+v", r)
		}
	}
	cancel()
	must(t, <-end)
	if len(told) != 1 {
		t.Errorf("told %d times", len(told))
	}
	used, _ := strconv.ParseInt(s.Info("used_memory"), 10, 64)
	if r := once(t, watcher(c, &shelf{c: c}, pressure.Options{Limit: used * 100 / 85})); len(r) != 1 ||
		r[0].Shortened != 3000 {
		t.Errorf("with a limit of its own: %+v", r)
	}
}

// TestCluster: each primary by itself. Only what is on the full one is
// released, although the index names the items of all.
func TestCluster(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			cluster := keywrighttest.StartCluster(t, brand, 3, 0)
			c := open(t, cluster.URL())
			spread(t, c, 3000)
			keys := func(n int) int64 { k, _ := cluster.Nodes[n].Do("DBSIZE").(int64); return k }
			before := []int64{keys(0), keys(1), keys(2)}
			for i, n := range cluster.Nodes {
				press(t, n, []float64{.5, .93, .94}[i])
			}
			r := once(t,
				pressure.New(keywright.Binding{Client: c, Entry: &entry, Key: "lease"},
					[]pressure.Step{{At: .9, To: .85, Entry: "item", Target: &shelf{c: c}, Values: []string{"1"}}},
					pressure.Options{Batch: 100, Pause: time.Nanosecond}))
			released := map[string]int{}
			for _, one := range r {
				released[one.Server] = one.Released
				if one.End != pressure.Below || one.Released == 0 || one.Skipped == 0 {
					t.Errorf("%+v", one)
				}
			}
			if len(r) != 2 || released[cluster.Nodes[0].Addr()] != 0 {
				t.Fatalf("%+v", r)
			}
			for n, k := range before { // the lease is one key more on one of them
				if gone := k - keys(n); gone != int64(released[cluster.Nodes[n].Addr()]) &&
					gone != int64(released[cluster.Nodes[n].Addr()])-1 {
					t.Errorf("server %d: %d of %d keys are gone, %d were released", n, gone, k, released[cluster.Nodes[n].Addr()])
				}
			}
		})
	}
}

// spread writes items of priority 1 over all slots.
func spread(t *testing.T, c *keywright.Client, n int) {
	raw, payload := c.Raw(), strings.Repeat("x", 1000)
	for i := range n {
		id := name(1, i)
		if i%1000 == 0 {
			must(t, t.Context().Err())
		}
		for _, r := range raw.DoMulti(t.Context(),
			raw.B().Hset().Key("item:"+id).FieldValue().FieldValue("content", payload).Build(),
			raw.B().Zadd().Key("priority:1").ScoreMember().ScoreMember(float64(i), id).Build(),
			raw.B().Zadd().Key("expiry").ScoreMember().ScoreMember(float64(i), id).Build()) {
			must(t, r.Error())
		}
	}
}

// TestFrozenServer: a primary that does not answer is reported, and holds up no other.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	cluster := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	c := open(t, cluster.URL())
	spread(t, c, 3000)
	owner := func(key string) int {
		for i, n := range cluster.Nodes {
			if n.Do("CLUSTER", "COUNTKEYSINSLOT", fmt.Sprint(n.Do("CLUSTER", "KEYSLOT", key))) != int64(0) {
				return i
			}
		}
		t.Fatalf("nobody has %s", key)
		return 0
	}
	full, frozen := owner("priority:1"), 0
	for frozen == full || frozen == owner("expiry") {
		frozen++
	}
	for i, n := range cluster.Nodes {
		press(t, n, map[bool]float64{true: .93, false: .5}[i == full])
	}
	cluster.Nodes[frozen].Stop()
	defer cluster.Nodes[frozen].Continue()
	steps := []pressure.Step{{At: .9, To: .85, Entry: "item", Target: &shelf{c: c}, Values: []string{"1"}}}
	w := pressure.New(keywright.Binding{Client: c, Entry: &entry, Key: "{priority:1}:lease"}, steps,
		pressure.Options{Interval: 5 * time.Second, Batch: 100, Pause: time.Nanosecond})
	if r, err := w.Once(t.Context()); err == nil || len(r) != 1 || r[0].End != pressure.Below || r[0].Released == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
