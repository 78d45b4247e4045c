package observe

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/keywright/keywright/source/server/examine"
)

// instances says how many constructs of each kind there are in TestCostOfReadings.
const instances = 40

// watching returns a target of a server that has been audited once.
func watching(t *testing.T, s *keywrighttest.Server, text string, pace int) *Target {
	t.Helper()
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
	if finding.Count(found).Errors > 0 {
		t.Fatal(found)
	}
	config, err := connect.New(connect.Options{URL: s.URL(), Timeout: 5 * time.Second})
	expect.NoError(t, err)
	target, err := New(Options{ID: "a", Declaration: Declaration{Keyspace: ks}, Now: time.Now,
		Audit: audit.Options{MinKeys: 1}, Pace: pace, Glance: 5 * time.Second, Health: time.Minute, Every: time.Hour,
		Source: func() (source.Source, source.Request, func(), error) {
			return server.New(config, server.Options{OnlyDB: -1}), source.Request{Bytes: true}, func() {}, nil
		},
		Server: &Server{config, func(ctx context.Context) (*keywright.Client, error) {
			return keywright.Open(ctx, s.URL(), keywright.Options{NoCache: true, Connections: -1})
		}}})
	expect.NoError(t, err)
	if !target.audit(t.Context()) {
		t.Fatal("the audit is not whole")
	}
	return target
}

// processed returns how many commands a server has run, those of scripts included. PING does not count: connections
// send it when they were quiet for a second, and that a machine is slow must not matter.
func processed(s *keywrighttest.Server) int {
	info := topology.ParseInfo(s.Do("INFO", "everything").(string))
	pings, _ := strconv.Atoi(info.Fields("cmdstat_ping")["calls"])
	return int(info.Int("total_commands_processed")) - pings
}

// TestCostOfReadings: what a reading costs its server is counted, scripts' own commands included, and is no more
// than its pace takes it for, and not much less.
func TestCostOfReadings(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("EVAL",
		`for i = 1, 40 do
  redis.call('RPUSH', 'jobs:q'..i, 'j'); redis.call('ZADD', '{jobs:q'..i..'}:dead', 1, 'd')
  redis.call('SET', 'lock:'..i, 'w/1', 'EX', 3000)
  redis.call('ZADD', 'top:'..i, 1, 'm'); redis.call('XADD', 'log:'..i, '*', 'a', 1)
end`, "0")
	target := watching(t, s, `keywright: 1
package: p
owner: o
keys:
  tasks: {key: "jobs:{name}", type: queue, ttl: none}
  hold: {key: "lock:{n}", type: lock, ttl: 30s}
  best: {key: "top:{n}", type: ranking, member: text, ttl: 7d}
  log: {key: "log:{n}", type: stream, ttl: none}
`, 1<<20)
	for _, r := range target.declared() {
		target.glance(t.Context(), r) // scripts are loaded once
		before := processed(s)
		spent := target.glance(t.Context(), r)
		sent := processed(s) - before - 1 // the question
		t.Logf("%s: %d commands, taken for %d", r.told, sent, spent)
		if sent > spent || sent < spent/4 || r.told != Sharded && spent < instances {
			t.Errorf("%s: a reading costs %d commands, and is taken for %d", r.told, sent, spent)
		}
	}
	target.client.Close()
}

// crowd is a keyspace of a thousand entries.
func crowd() string {
	var b strings.Builder
	b.WriteString("keywright: 1\npackage: p\nowner: o\nkeys:\n" +
		"  tasks: {key: \"jobs:{name}\", type: queue, ttl: none}\n  log: {key: \"log:{n}\", type: stream, ttl: none}\n")
	for i := range 10 {
		fmt.Fprintf(&b, "  hold%d: {key: \"lock%d:{n}\", type: lock, ttl: 30s}\n", i, i)
	}
	for i := range 988 {
		fmt.Fprintf(&b, "  text%d: {key: \"text%d:{n}\", type: string, ttl: 1h}\n", i, i)
	}
	return b.String()
}

// TestReadingsKeepTheirPace: beside 10,000 locks that are held and a thousand entries, the server, a thousand queues
// and a thousand streams are read every five seconds, and none of it is more than its budget; how many jobs are dead
// does not matter.
func TestReadingsKeepTheirPace(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	dead := gate.Count(t, "KEYWRIGHT_SOAK", 10_000, 1_000_000)
	s.Do("EVAL", `for i = 1, 1000 do
  redis.call('RPUSH', 'jobs:q'..i, 'j'); redis.call('XADD', 'log:'..i, '*', 'a', 1)
  redis.call('SET', 'text'..(i % 988)..':1', 'x', 'EX', 3000)
  for k = 0, 9 do redis.call('SET', 'lock'..k..':'..i, 'w/1', 'EX', 3000)
    redis.call('SET', '{lock'..k..':'..i..'}:fence', 1700000000000000 + i, 'EX', 3000) end
end`, "0")
	target := watching(t, s, crowd(), 1<<20)
	e, _ := target.Declaration.Lookup("tasks")
	key, err := bind.Build(e.Key("dead").Pattern, bind.Values{"name": "q1"})
	expect.NoError(t, err)
	for from := 0; from < dead; from += 10_000 {
		s.Do("EVAL", `for i = ARGV[1], ARGV[1] + 9999 do redis.call('ZADD', KEYS[1], i, 'job-'..i) end`, "1", key,
			strconv.Itoa(from))
	}
	for _, r := range target.declared() {
		target.glance(t.Context(), r) // scripts are loaded once
		before := processed(s)
		spent := target.glance(t.Context(), r)
		if sent := processed(s) - before - 1; sent > spent {
			t.Errorf("%s: a reading costs %d commands, and is taken for %d", r.told, sent, spent)
		}
		target.Pace = 0
		target.Look()
		every := target.every(r, spent)
		target.Pace = 1 << 20
		t.Logf("%s: %d commands every %v", r.told, spent, every)
		if perSecond := float64(spent) / every.Seconds(); perSecond > float64(r.budget) {
			t.Errorf("%s: %.0f commands a second", r.told, perSecond)
		}
		if want := map[What]time.Duration{Locked: 15 * time.Second}[r.told]; every != cmp.Or(want, 5*time.Second) {
			t.Errorf("%s is read every %v", r.told, every)
		}
	}
	st := target.State()
	for _, q := range st.Queues.Value.Queues {
		if q.Queue != nil && string(*q.Queue) == "name=q1" && q.Dead != int64(dead) {
			t.Errorf("%d jobs are dead, not %d", q.Dead, dead)
		}
	}
	if q, l, n := len(st.Queues.Value.Queues), len(st.Locks.Value.Locks), len(st.Streams.Value.Streams); q != 1000 ||
		l != 10_000 || n != 1000 {
		t.Errorf("%d queues, %d locks and %d streams are read", q, l, n)
	}
	target.client.Close()
}

// TestNoReadingWaitsForAnother: while a thousand locks are read, which takes long, jobs die, and that is known.
func TestNoReadingWaitsForAnother(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("EVAL", `for i = 1, 1000 do redis.call('SET', 'lock:'..i, 'w/1', 'EX', 3000) end`, "0")
	target := watching(t, s, `keywright: 1
package: p
owner: o
keys:
  hold: {key: "lock:{n}", type: lock, ttl: 30s}
  tasks: {key: jobs, type: queue, ttl: none}
`, 10)
	target.Glance = time.Millisecond
	changes, unsubscribe := target.Subscribe()
	defer unsubscribe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); target.Run(ctx) }()
	defer func() { stop(); <-ended }()
	for next(t, changes).What != Queued {
	}
	e, _ := target.Declaration.Lookup("tasks")
	key, err := bind.Build(e.Key("dead").Pattern, nil)
	expect.NoError(t, err)
	s.Do("ZADD", key, "1", "a", "2", "b")
	expect.Eventually(t, "the dead jobs are known", func() bool { return target.State().Queues.Value.Queues[0].Dead == 2 })
	if st := target.State(); st.Locks.Value != nil {
		t.Error("the locks were read meanwhile: the test says nothing")
	}
}

// TestStale: a reading is old when it is older than twice its pace, whatever made it late, and at once where the
// latest attempt failed; what never was read is old from the start on.
func TestStale(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		mark  Mark
		stale bool
	}{
		"never": {Mark{Every: time.Minute}, false}, "never for long": {Mark{Every: 29 * time.Second}, true},
		"new":    {Mark{At: began.Add(50 * time.Second), Every: 5 * time.Second}, false},
		"old":    {Mark{At: began.Add(49 * time.Second), Every: 5 * time.Second}, true},
		"failed": {Mark{At: began.Add(59 * time.Second), Every: 5 * time.Second, Failed: &Failure{}}, true},
		"a file": {Mark{}, false},
	} {
		if got := c.mark.Stale(began, began.Add(time.Minute)); got != c.stale {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPaceIsSaid: a reading that will be made less often from now on says so when it begins, and is not called old for
// that; one that is looked at is made at once.
func TestPaceIsSaid(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	target := watching(t, s, "keywright: 1\npackage: p\nowner: o\nkeys:\n  tasks: {key: jobs, type: queue, ttl: none}\n", 0)
	now := time.Now()
	target.Now = func() time.Time { return now }
	for _, r := range target.declared() {
		if r.told != Queued {
			continue
		}
		<-target.turns[r].now // of the audit
		target.Look()
		target.glance(t.Context(), r)
		target.turns[r].spent.Store(9_000)
		now = now.Add(lookFor + time.Second)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		target.glance(ctx, r)
		if got := target.State().Queues.Every; got < 5*time.Minute {
			t.Errorf("the reading is said to be made every %v", got)
		}
		if target.Look(); len(target.turns[r].now) != 1 {
			t.Error("a look makes no reading")
		}
	}
	target.client.Close()
}

// TestALookMakesNothingOld: a reading that is made sooner because someone looks is judged by the pace that held before;
// one that was begun while someone looked is not slowed down when the look ends, which would make it old.
func TestALookMakesNothingOld(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("RPUSH", "jobs", "j")
	const declared = "keywright: 1\npackage: p\nowner: o\nkeys:\n  tasks: {key: jobs, type: queue, ttl: none}\n"
	target := watching(t, s, declared, 0)
	now := time.Now()
	target.Now = func() time.Time { return now }
	target.Rest = 1
	for _, r := range target.declared() {
		if r.told != Queued {
			continue
		}
		target.glance(t.Context(), r)
		target.glance(t.Context(), r)
		rest := target.State().Queues.Every
		if rest < 4*leastPace {
			t.Fatalf("the queue is read every %v at rest: the test says nothing", rest)
		}
		atRest := target.rate(r)
		now = now.Add(rest * 9 / 10)
		target.Look()
		ctx, stop := context.WithCancel(t.Context())
		stop()
		target.glance(ctx, r)
		if st := target.State(); st.Queues.Stale(st.Began, now) {
			t.Errorf("a reading of %v ago is old, which was made every %v", rest*9/10, rest)
		}
		looked := target.rate(r)
		fast := atRest()
		now = now.Add(lookFor + time.Second)
		if slow := atRest(); fast <= slow || looked() != fast {
			t.Errorf("%v, while it is looked at %v, after that %v", slow, fast, looked())
		}
	}
	target.client.Close()
}

// Readings keep to their pace: so many are let through in a time, however many wait.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rate := 100.0
		p := &pace{rate: func() float64 { return rate }}
		began := time.Now()
		for range 6 {
			if err := p.wait(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began).Round(time.Millisecond); took != 100*time.Millisecond {
			t.Errorf("six readings took %v, not five times 20 ms", took)
		}
		_ = p.wait(t.Context(), 100_000)
		rate = 1e9
		began = time.Now()
		if err := p.wait(t.Context(), 1); err != nil || time.Since(began) > patience {
			t.Errorf("a pace that is another one now lets a reading through after %v: %v", time.Since(began), err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		rate = 1e-3
		if err := p.wait(ctx, 1); err == nil || !strings.Contains(err.Error(), "canceled") {
			t.Error(err)
		}
	})
}

// TestCommandsAtRest: while a server is not looked at, all readings of it together cost it 20 commands a second at
// most, those of scripts included, however many queues, locks and others there are. What would cost more is read less
// often; as soon as it is looked at, it is read as often as its own budget allows.
func TestCommandsAtRest(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("EVAL", `for i = 1, 1000 do
  redis.call('ZADD', '{jobs:q'..i..'}:workers', 9e12, 'w'); redis.call('XADD', 'log:'..i, '*', 'a', 1)
  redis.call('HSET', 'text'..(i % 988)..':1', 'x', 1)
  for k = 0, 9 do redis.call('SET', 'lock'..k..':'..i, 'w/1', 'EX', 3000)
    redis.call('SET', '{lock'..k..':'..i..'}:fence', 1700000000000000 + i, 'EX', 3000) end
end
for i = 1, 20 do redis.call('RPUSH', 'jobs:q'..i, 'j') end`, "0")
	target := watching(t, s, crowd(), 0)
	began := processed(s)
	if _, err := examine.Examine(t.Context(), target.Server.Config, time.Now); err != nil {
		t.Fatal(err)
	}
	all := float64(processed(s)-began-1) / target.Health.Seconds()
	for _, r := range target.declared() {
		target.Pace = 1 << 20
		target.glance(t.Context(), r) // scripts are loaded once
		before := processed(s)
		spent := target.glance(t.Context(), r)
		sent := processed(s) - before - 1 // the question
		target.Pace = 0
		every := target.every(r, spent)
		t.Logf("%s: %d commands every %v", r.told, sent, every)
		if r.told == Queued && every < 20*time.Second {
			t.Errorf("a thousand queues are read every %v at rest: the test says nothing", every)
		}
		if sent > spent {
			t.Errorf("%s: a reading costs %d commands, and is taken for %d", r.told, sent, spent)
		}
		all += float64(sent) / every.Seconds()
	}
	if t.Logf("%.1f commands a second", all); all > 20 {
		t.Errorf("%.1f commands a second at rest", all)
	}
	target.Look()
	for _, r := range target.declared() {
		if every := target.every(r, int(target.turns[r].spent.Load())); every > 15*time.Second &&
			every > time.Duration(r.every)*target.Glance {
			t.Errorf("%s is read every %v while it is looked at", r.told, every)
		}
	}
	st := target.State()
	if q, l, n := len(st.Queues.Value.Queues), len(st.Locks.Value.Locks), len(st.Streams.Value.Streams); q != 1000 ||
		l != 10_000 || n != 1000 || st.Locks.Value.Untimed != 10_000 {
		t.Errorf("%d queues, %d locks (%d untimed) and %d streams are read", q, l, st.Locks.Value.Untimed, n)
	}
	target.client.Close()
}
