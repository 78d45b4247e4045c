package event_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/harm"
)

// harmed returns how the processes consume: what one has left is soon taken by another.
func harmed() event.RunOptions[note] {
	return event.RunOptions[note]{Lease: 300 * time.Millisecond, Concurrency: 4, Batch: 20, Backoff: time.Millisecond,
		Key: func(n note) string { return fmt.Sprint(n.N % 5) }}
}

// TestHarmedProcess is no test: it is a process that publishes and consumes.
func TestHarmedProcess(t *testing.T) {
	harm.Work(t, func(ctx context.Context, w *harm.Worker) {
		var c *keywright.Client
		if !w.Until(ctx, func() (err error) { c, err = keywright.Open(ctx, w.URL, keywright.Options{}); return err }) {
			return
		}
		defer c.Close()
		j := journal(c, event.StreamConfig{Retry: 1000})
		number, err := strconv.Atoi(strings.TrimPrefix(w.Name, "p"))
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for g := range 2 {
			all.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					id := (number*2+g)*1_000_000 + n
					w.Say("try", id)
					if w.Until(ctx, func() error { _, err := j.Publish(ctx, note{N: id}); return err }) {
						w.Say("done", id)
					}
				}
			})
		}
		all.Go(func() {
			for ctx.Err() == nil {
				_ = j.Run(ctx, "g", func(_ context.Context, m event.Stored[note]) error {
					w.Say("handled", m.Data.N)
					return nil
				}, harmed())
			}
		})
		all.Wait()
	})
}

// unheard returns what was published and not handled, and what came to be a dead letter.
func unheard(t *testing.T, s *harm.Side, backlog int) (wrong []string) {
	j := journal(open(t, s.URL), event.StreamConfig{Retry: 1000})
	handled := map[int]bool{}
	hear := func(line string) {
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			handled[n] = true
		}
	}
	for _, line := range s.Lines("handled") {
		hear(line)
	}
	var got log
	stop := started(t, j, "g", harmed(), func(_ context.Context, m event.Stored[note]) error { got.add(m); return nil })
	defer stop()
	want := map[int]bool{}
	for n := range backlog {
		want[n+1] = true
	}
	for _, line := range s.Lines("done") {
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			want[n] = true
		}
	}
	missing := func() (n int) {
		for _, n := range got.numbers() {
			handled[n] = true
		}
		for id := range want {
			if !handled[id] {
				n++
			}
		}
		return n
	}
	// However long it takes: what is missing when nothing is left to deliver is lost.
	for missing() > 0 && !drained(t, j) {
		<-time.After(20 * time.Millisecond)
	}
	if n := missing(); n > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d messages are lost", n, len(want)))
	}
	tried := map[int]bool{}
	for _, line := range s.Lines("try") {
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			tried[n] = true
		}
	}
	for n := range handled {
		if !tried[n] && (n < 1 || n > backlog) {
			wrong = append(wrong, fmt.Sprintf("%d was handled and never published", n))
		}
	}
	stats, err := j.Stats(t.Context())
	if err != nil || stats.Dead > 0 {
		wrong = append(wrong, fmt.Sprintf("%d dead letters, %v", stats.Dead, err))
	}
	if len(s.Lines("done")) == len(s.Lines("try")) {
		wrong = append(wrong, "each message was acknowledged: no process was killed in the middle of one")
	}
	t.Logf("%d messages, %d times handled by processes that were killed", len(want), len(s.Lines("handled")))
	return wrong
}

// drained reports whether the server has nothing left to deliver to the groups, and waits for no acknowledgement.
func drained(t *testing.T, j event.Stream[note]) bool {
	stats, err := j.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return !slices.ContainsFunc(stats.Groups, func(g event.GroupStats) bool { return g.Pending > 0 || g.Lag != 0 })
}

// TestKills: whatever happens while the processes that publish and consume are killed, 0
// messages that were acknowledged are lost, and none is a dead letter.
func TestKills(t *testing.T) {
	gate.Skip(t, "24 kills of processes and servers in four worlds")
	t.Parallel()
	var mu sync.Mutex
	backlogs := map[*harm.Side]int{}
	harm.Run(t, harm.Suite{Process: "TestHarmedProcess", Key: "journal",
		Begin: func(t *testing.T, s *harm.Side, backlog int) {
			mu.Lock()
			backlogs[s] = backlog
			mu.Unlock()
			raw := open(t, s.URL).Raw()
			ask := func(script string, args ...string) {
				if err := raw.Do(t.Context(), raw.B().Eval().Script(script).Numkeys(1).Key("journal").Arg(args...).Build()).
					Error(); err != nil {
					t.Fatal(err)
				}
			}
			ask("return redis.call('XGROUP', 'CREATE', KEYS[1], 'g', '0', 'MKSTREAM')")
			for from := 0; from < backlog; from += 5000 { // a dead consumer has read all of it
				ask(`for i = ARGV[1] + 1, ARGV[1] + ARGV[2] do redis.call('XADD', KEYS[1], i .. '-1', 'timestamp', i, 'data', '{"n":' .. i .. '}') end
redis.call('XREADGROUP', 'GROUP', 'g', 'dead', 'COUNT', ARGV[2], 'STREAMS', KEYS[1], '>') return 1`, fmt.Sprint(from),
					fmt.Sprint(min(5000, backlog-from)))
			}
		},
		Wrong: func(t *testing.T, s *harm.Side) []string {
			mu.Lock()
			defer mu.Unlock()
			return unheard(t, s, backlogs[s])
		}})
}
