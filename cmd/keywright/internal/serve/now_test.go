package serve_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/internal/expect"
)

// dies makes dead jobs of the rig's queue: so many of one error, and before them one of another.
func (r *rig) dies(jobs int) {
	r.Helper()
	e, _ := r.target.Declaration.Lookup("tasks")
	var keys []string
	for _, role := range []string{"dead", "runs"} {
		key, err := bind.Build(e.Key(role).Pattern, bind.Values{"team": "a"})
		expect.NoError(r, err)
		keys = append(keys, key)
	}
	r.redis.Do("ZADD", keys[0], "1", "first")
	r.redis.Do("HSET", keys[1], "first", "- 1 3 0 - - r1\n550 mailbox unavailable")
	for from := 0; from < jobs; from += 5000 {
		r.redis.Do("EVAL", `for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call('ZADD', KEYS[1], 1000 + i, 'job-'..i)
  redis.call('HSET', KEYS[2], 'job-'..i, '- 1 3 0 - - r1\nrefused '..i)
end`, "2", keys[0], keys[1], strconv.Itoa(from), strconv.Itoa(min(from+5000, jobs)-1))
	}
}

// TestDeadJobsAreSearchedToTheEnd: the one job of 25,000 that matches is found, though it died first, and the errors
// are those of all; while the search goes on the answer says how far it is.
func TestDeadJobsAreSearchedToTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const jobs = 25_000
	r.dies(jobs)
	const queue = "/api/v1/t/main/queues/tasks/team=a"
	var found document.DeadList
	expect.Eventually(t, "the search ends", func() bool {
		found = ask[document.DeadList](r, queue+"/dead?text=mailbox")
		// All can be looked at before the search ends: only the next page says that there are no more.
		if found.LookedAt == 0 || found.LookedAt > jobs+1 || !found.Searching && found.LookedAt != jobs+1 ||
			found.Searching && !found.Cut {
			t.Errorf("%+v", found.Looked)
		}
		return !found.Searching
	})
	if found.Total != 1 || len(found.Items) != 1 || string(found.Items[0].ID) != "first" || found.Cut {
		t.Errorf("%+v", found)
	}
	var page document.QueuePage
	expect.Eventually(t, "the errors are counted", func() bool {
		page = ask[document.QueuePage](r, queue)
		return !page.Searching
	})
	if want := "[{refused N 25000} {N mailbox unavailable 1}]"; fmt.Sprint(page.Errors) != want || page.Others != 0 {
		t.Errorf("%v and %d others, not %s", page.Errors, page.Others, want)
	}
	var many document.DeadList
	expect.Eventually(t, "the search ends", func() bool {
		many = ask[document.DeadList](r, queue+"/dead?text=refused&limit=10")
		return !many.Searching
	})
	if many.Total != jobs || len(many.Items) != 10 || !many.Cut || many.LookedAt != jobs+1 {
		t.Errorf("%d of %d, looked at %d, cut %v", len(many.Items), many.Total, many.LookedAt, many.Cut)
	}
}

// TestNow: what is wrong comes with since when, how much and what helps, the worst first; quiet is quiet only where all
// was read; and the metrics count it.
func TestNow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.judging(r.target)
	changes, stop := r.target.Subscribe()
	defer stop()
	r.until(changes, r.known)
	if now := ask[document.NowList](r, "/api/v1/now"); !now.Quiet || len(now.Items)+len(now.Starting) != 0 {
		t.Errorf("%+v", now)
	}
	r.dies(3)
	r.redis.Do("EVAL", `for i = 1, 99 do redis.call('XADD', 'shop:log', '*', 'a', 1) end`, "0")
	r.until(changes, func(s observe.State) bool {
		return s.Queues.Value.Queues[0].Dead == 4 && s.Streams.Value.Streams[0].Length == 100
	})
	now := ask[document.NowList](r, "/api/v1/t/main/now")
	if now.Quiet || len(now.Items) != 2 {
		t.Fatalf("%+v", now)
	}
	dead, lag := now.Items[0], now.Items[1]
	if dead.Kind != alert.DeadQueue || dead.Count != 4 || dead.Since != "1970-01-01T00:00:00.001Z" || dead.Next == "" ||
		fmt.Sprint(dead.Page) != "[queues tasks team=a]" {
		t.Errorf("%+v", dead)
	}
	if lag.Kind != alert.LateStream || lag.Count != 100 || lag.Entry != "log" {
		t.Errorf("%+v", lag)
	}
	text := r.text("/metrics")
	for _, want := range []string{`keywright_wrong{keyspace="shopkeys",target="main",kind="queue-dead"} 1`,
		`keywright_wrong{keyspace="shopkeys",target="main",kind="server-away"} 0`,
		`keywright_reading_every_seconds{keyspace="shopkeys",target="main",reading="queues"}`,
		`keywright_reading_age_seconds{keyspace="shopkeys",target="main",reading="locks"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestNothingOldIsCurrent: where a part of a server was not read for twice its pace, its answer is stale, its series are
// left out, the target is not called current, and that is an alert; the other parts are as they were.
func TestNothingOldIsCurrent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var ahead time.Duration
	now := func() time.Time { return r.began.Add(ahead) }
	book := alert.New(now)
	r.api = serve.New(serve.Options{Targets: []*observe.Target{r.target}, Now: now,
		Alerts: func(id string) ([]alert.Alert, int64) {
			expect.NoError(t, book.Look(r.target, func(string) bool { return false }))
			return book.Now(id)
		}})
	changes, stop := r.target.Subscribe()
	defer stop()
	r.until(changes, r.known)
	state := func() string { return ask[document.Targets](r, "/api/v1/targets").Items[0].State }
	if q := ask[document.QueueList](r, "/api/v1/t/main/queues"); q.Stale || q.Every == 0 || state() != "ok" {
		t.Errorf("%+v, %s", q.Measured, state())
	}
	ahead = time.Hour
	if q := ask[document.QueueList](r, "/api/v1/t/main/queues"); !q.Stale || len(q.Items) != 1 || state() != "stale" {
		t.Errorf("%+v, %s", q.Measured, state())
	}
	text := r.text("/metrics")
	if strings.Contains(text, "keywright_queue_jobs{") || !strings.Contains(text, "keywright_keys{") ||
		!strings.Contains(text, `keywright_reading_up{keyspace="shopkeys",target="main",reading="queues"} 0`) {
		t.Error("old figures are metrics")
	}
	items := ask[document.NowList](r, "/api/v1/now").Items
	for _, part := range []string{"queues", "streams", "shards", "locks"} {
		found := slices.ContainsFunc(items, func(n document.NowRow) bool {
			return n.ID == "main/reading/"+part && n.Kind == alert.OldReading && n.Next != ""
		})
		if !found {
			t.Errorf("nothing is said of the %s: %+v", part, items)
		}
	}
	ahead = 0
	if !ask[document.NowList](r, "/api/v1/now").Quiet {
		t.Error("it is not quiet again")
	}
}
