package event_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

const backlog = 100_000

// stored fills a server with messages of which a consumer has read some.
func fill(t *testing.T, s *keywrighttest.Server, messages, read int, owner string) {
	t.Helper()
	s.Do("EVAL",
		"for i = 1, ARGV[1] do redis.call('XADD', KEYS[1], i .. '-1', 'timestamp', i, 'data', '{\"n\":' .. i .. '}') end",
		"1", "journal", fmt.Sprint(messages))
	s.Do("XGROUP", "CREATE", "journal", "g", "0")
	for left := read; left > 0; left -= 10_000 {
		s.Do("EVAL", "redis.call('XREADGROUP', 'GROUP', 'g', ARGV[2], 'COUNT', ARGV[1], 'STREAMS', KEYS[1], '>') return 1",
			"1", "journal", fmt.Sprint(min(left, 10_000)), owner)
	}
}

// calls returns how often each command has run since CONFIG RESETSTAT.
func calls(s *keywrighttest.Server) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(s.Do("INFO", "commandstats").(string)) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cmdstat_"), ":calls=")
		if number, _, cut := strings.Cut(rest, ","); ok && cut {
			out[name], _ = strconv.ParseInt(number, 10, 64)
		}
	}
	return out
}

// A consumer with nothing to do sends few commands, whatever is pending for
// others, and however little it may have in hand.
func TestIdleMeansIdle(t *testing.T) {
	gate.Skip(t, "counts what is sent in some seconds beside 100,000 messages")
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			fill(t, s, backlog, backlog, "alive")
			j := journal(open(t, s.URL()), event.StreamConfig{})
			s.Do("CONFIG", "RESETSTAT")
			began := time.Now()
			started(t, j, "g", event.RunOptions[note]{Batch: 1, Lease: 1000 * time.Second},
				func(context.Context, event.Stored[note]) error {
					t.Error("a message of another consumer was taken")
					return nil
				})
			eventually(t, "it has looked at all that is pending, and waits for new messages", func() bool {
				return calls(s)["xpending"] > backlog/1000 && calls(s)["xreadgroup"] >= 3
			})
			seconds := int64(time.Since(began)/time.Second) + 1
			all := calls(s)
			if sent := all["xpending"] + all["xreadgroup"] + all["xclaim"] + all["eval"] + all["evalsha"] +
				all["xrange"]; sent > 20*seconds+20 {
				t.Errorf("%d commands in %d s: %v", sent, seconds, all)
			}
		})
	}
}

// What a dead consumer has left is claimed at the rate of what is new, also with
// a small batch: commands grow with what is handled.
func TestBacklogOfTheDead(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	left := 1000
	if gate.All() {
		left = 5000
	}
	fill(t, s, left, left, "dead")
	s.Do("EVAL", `for _, m in ipairs(redis.call('XPENDING', KEYS[1], 'g', '-', '+', ARGV[1])) do
  redis.call('XCLAIM', KEYS[1], 'g', 'dead', 0, m[1], 'IDLE', 3600000, 'JUSTID')
end`, "1", "journal", fmt.Sprint(left)) // it is dead for an hour
	j := journal(open(t, s.URL()), event.StreamConfig{})
	var got log
	s.Do("CONFIG", "RESETSTAT")
	started(t, j, "g", event.RunOptions[note]{Lease: time.Minute},
		func(_ context.Context, m event.Stored[note]) error { got.add(m); return nil })
	eventually(t, "all is handled", func() bool { return len(got.numbers()) >= left })
	if all := calls(s); all["xautoclaim"]+all["xreadgroup"] > int64(left) {
		t.Errorf("%v", all)
	}
}

// No script does more than a bounded number of steps, whatever is unread,
// pending, dead or to be trimmed.
func TestScriptsAreBounded(t *testing.T) {
	gate.Skip(t, "100,000 messages")
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			fill(t, s, backlog, backlog, "dead")
			s.Do("EVAL",
				"for i = 1, ARGV[1] do redis.call('XADD', KEYS[1], i .. '-1', 'form', 1, 'id', i .. '-1', 'group', 'g', "+
					"'reason', 'r', 'deliveries', 5, 'data', '{}') end",
				"1", "{journal}:dead", fmt.Sprint(backlog))
			for i := range 9 {
				s.Do("XGROUP", "CREATE", "journal", fmt.Sprint("other", i), "0")
			}
			j := journal(open(t, s.URL()), event.StreamConfig{Age: 24 * time.Hour})
			ids := make([]string, 500)
			for i := range ids {
				ids[i] = fmt.Sprintf("%d-1", i+1)
			}
			most := func(what string, limit int64, do func() error) {
				t.Helper()
				var all map[string]int64
				long := s.Long(5*time.Millisecond, func() {
					s.Do("CONFIG", "RESETSTAT")
					must(t, do())
					all = calls(s)
				})
				if len(long) > 0 {
					t.Errorf("%s: they hold the server for more than 5 ms: %q", what, long)
				}
				scripts := all["eval"] + all["evalsha"]
				var steps int64
				for _, name := range []string{"xpending", "xclaim", "xack", "xadd", "xdel", "xrange", "xtrim", "xlen",
					"xinfo|groups", "xinfo|stream", "xgroup|delconsumer"} {
					steps += all[name]
				}
				if steps > limit*max(scripts, 1) {
					t.Errorf("%s: %d commands in %d scripts: %v", what, steps, scripts, all)
				}
			}
			most("stats", 30, func() error { _, err := j.Stats(t.Context()); return err })
			most("redrive", 80, func() error { _, err := j.Redrive(t.Context(), ids...); return err })
			most("trim", 200*10+10, func() error {
				_, err := j.Trim(t.Context(), event.Policy{MaxLen: backlog - 5000, Apply: true})
				return err
			})
			c := event.ConsumerOf(j, "g", event.RunOptions[note]{Lease: time.Millisecond, Batch: 100})
			most("create", 10, func() error { return c.Create(t) })
			most("claim", 300, func() error { return c.Claim(t) })
			most("pulse", 300, func() error { c.Pulse(t); return nil })
			most("end", 300, func() error { c.End(t); return nil })
			most("publish", 10, func() error { _, err := j.Publish(t.Context(), note{}); return err })
		})
	}
}

// Names of consumers that died with nothing in hand are removed, however many.
func TestDeadNamesAreRemoved(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand, keywrighttest.MovableClock())
			j := journal(open(t, s.URL()), event.StreamConfig{})
			fill(t, s, 5, 5, "has some")
			s.Do("EVAL", "for i = 1, 20000 do redis.call('XGROUP', 'CREATECONSUMER', KEYS[1], 'g', 'dead-host-' .. i) end", "1",
				"journal")
			s.MoveClock(2 * time.Minute)
			s.Do("XGROUP", "CREATECONSUMER", "journal", "g", "young")
			c := event.ConsumerOf(j, "g", event.RunOptions[note]{Lease: time.Second})
			s.Do("CONFIG", "RESETSTAT")
			must(t, c.Clean(t))
			if all := calls(s); all["xinfo|consumers"] != 1 || all["evalsha"] < 200 {
				t.Errorf("%v", all)
			}
			if left := s.Do("XINFO", "CONSUMERS", "journal", "g").([]any); len(left) != 2 {
				t.Errorf("%d are left", len(left))
			}
		})
	}
}

// The memory of a call does not grow with the calls beside it.
func TestCallsBesideOthers(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	server, client := open(t, s.URL()), open(t, s.URL())
	var mu sync.Mutex
	waiting := sync.NewCond(&mu)
	here, want := 0, 0
	serving(t, exchange(server, event.Config{}), event.ServeOptions{Concurrency: 3000, Buffer: 10_000},
		func(_ context.Context, m event.Message[note]) (note, error) {
			mu.Lock()
			defer mu.Unlock()
			for here++; here < want; {
				waiting.Wait()
			}
			waiting.Broadcast()
			return m.Data, nil
		})
	eventually(t, "it serves", func() bool { return s.Do("PUBSUB", "NUMSUB", "notes:ask").([]any)[1].(int64) > 0 })
	x := exchange(client, event.Config{})
	together := func(n int) uint64 {
		mu.Lock()
		here, want = 0, n
		mu.Unlock()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var calls sync.WaitGroup
		for i := range n {
			calls.Go(func() {
				if a, err := x.Call(t.Context(), note{N: i}); err != nil || a.N != i {
					t.Errorf("call %d: %v, %v", i, a, err)
				}
			})
		}
		calls.Wait()
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / uint64(n)
	}
	few, many := together(100), together(2000)
	if many > 3*few {
		t.Errorf("%d bytes per call of 100, %d per call of 2,000", few, many)
	}
}
