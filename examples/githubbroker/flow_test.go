package githubbroker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	broker "github.com/keywright/keywright/examples/githubbroker"
	"github.com/keywright/keywright/examples/githubbroker/brokerkeys"
	"github.com/keywright/keywright/examples/githubbroker/hub"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// bench represents a repository, a poller and two brokers, which are two processes as far as the
// brokers know.
type bench struct {
	*testing.T
	hub        *hub.Server
	poller     *broker.Poller
	b, another *broker.Broker
	keys       *brokerkeys.Keyspace
	now        time.Time
	github     string // URL
}

func newBench(t *testing.T, url string) *bench {
	t.Helper()
	h, github := repository(t)
	// after what the repository does in the test
	at := &bench{T: t, hub: h, github: github, now: time.Now().Add(time.Minute)}
	clock := func() time.Time { return at.now }
	at.poller = broker.NewPoller(open(t, url), reader(t, github), broker.PollerOptions{Now: clock})
	at.b, at.another = broker.New(open(t, url), broker.Options{Now: clock}), broker.New(open(t, url),
		broker.Options{Now: clock})
	at.keys = brokerkeys.New(open(t, url))
	return at
}

func (at *bench) sync() {
	at.Helper()
	must(at, at.poller.Sync(at.Context()))
}

// take gives an agent work that must be there.
func (at *bench) take(agent string, kind broker.Kind, number int64) *broker.Task {
	at.Helper()
	task, err := at.b.RequestTask(at.Context(), agent)
	must(at, err)
	if task == nil || task.Kind != kind || task.Number != number {
		at.Fatalf("%s has %+v, want %s %d", agent, task, kind, number)
	}
	if n, err := at.b.CurrentTask(at.Context(), agent); err != nil || n != number {
		at.Errorf("%s works on %d, %v; want %d", agent, n, err, number)
	}
	if by, left, err := at.b.Worker(at.Context(), number); err != nil || by != agent || left <= 0 {
		at.Errorf("%d is worked on by %q, %v", number, by, err)
	}
	return task
}

func (at *bench) nothing(agent string) {
	at.Helper()
	if task, err := at.b.RequestTask(at.Context(), agent); task != nil || err != nil {
		at.Errorf("%s has %+v, %v, want nothing", agent, task, err)
	}
}

// TestFlow is the page's flow, step by step: the cache, the delay of reviews, work under a
// lock in the agent's name, and what becomes of it.
func TestFlow(t *testing.T) {
	everywhere(t, func(t *testing.T, url string, _ []*keywrighttest.Server) {
		at, ctx := newBench(t, url), t.Context()
		at.hub.Open("一つ目")
		at.hub.Open("二つ目", "bug", "needs-review")
		at.hub.Open("三つ目")
		at.hub.OpenPull("a change", "hana") // is no issue
		at.nothing("agent-7")
		at.sync()

		// Issue 2 waits for its review; agents get different issues, under their names.
		first, second := at.take("agent-7", broker.Development, 1), at.take("agent-8", broker.Development, 3)
		at.nothing("agent-9")
		if second.Fence == first.Fence || first.Seconds < 500 || first.Seconds > 600 {
			t.Errorf("%+v %+v", first, second)
		}
		all, err := reader(t, at.github).Open(ctx)
		must(t, err)
		i := slices.IndexFunc(all, func(i broker.Issue) bool { return i.Number == 1 })
		if !bytes.Equal(first.Issue, all[i].Raw) {
			t.Errorf("the agent got\n%s\nGitHub sent\n%s", first.Issue, all[i].Raw)
		}

		// Five minutes later the review may begin; a second look at the label has not moved
		// its time.
		at.now = at.now.Add(3 * time.Minute)
		at.sync()
		at.now = at.now.Add(3 * time.Minute)
		review := at.take("agent-9", broker.ReviewTask, 2)

		// Work that is given back is another agent's at once.
		must(t, at.b.GiveBack(ctx, "agent-8", second.Ticket, ""))
		again := at.take("agent-10", broker.Development, 3)
		if again.Fence <= second.Fence {
			t.Errorf("fence %d after %d", again.Fence, second.Fence)
		}
		if _, err := at.b.CurrentTask(ctx, "agent-8"); !errors.Is(err, keywright.ErrNotFound) {
			t.Errorf("agent-8: %v", err)
		}

		// A broker that does not know the work keeps it, and ends it.
		left, err := at.another.Keep(ctx, "agent-7", first.Ticket)
		if must(t, err); left < 500*time.Second {
			t.Errorf("%v are left", left)
		}
		must(t, at.another.Done(ctx, "agent-7", first.Ticket))
		for what, err := range map[string]error{"done": at.b.Done(ctx, "agent-7", first.Ticket),
			"given back": at.b.GiveBack(ctx, "agent-7", first.Ticket, "")} {
			if !errors.Is(err, lock.ErrLost) {
				t.Errorf("%s after it was done: %v", what, err)
			}
		}
		if _, err := at.b.Keep(ctx, "agent-11", again.Ticket); !errors.Is(err, broker.ErrTicket) {
			t.Errorf("the ticket of another agent: %v", err)
		}
		must(t, at.b.Done(ctx, "agent-9", review.Ticket))

		// What is closed is gone with the next sync, with the time of its label; what was
		// done is not handed out again while nothing has changed.
		at.hub.Close(2)
		at.sync()
		at.nothing("agent-7")
		_, err1 := at.keys.Issue(2).Get().Do(ctx)
		_, err2 := at.keys.ReviewDetected(2).Get().Do(ctx)
		if !errors.Is(err1, keywright.ErrNotFound) || !errors.Is(err2, keywright.ErrNotFound) {
			t.Errorf("of what was closed there is: %v, %v", err1, err2)
		}
		if s, err := at.b.Status(ctx); err != nil || s.Issues != 2 || s.Reviews != 0 || s.Fixes != 0 || s.Synced == nil {
			t.Errorf("%+v %v", s, err)
		}
	})
}

// TestDoneOnce: work that is done comes back when GitHub has something new: another label,
// another kind of work, a change after it was done.
func TestDoneOnce(t *testing.T) {
	at := newBench(t, redis(t))
	n := at.hub.Open("an issue")
	at.sync()
	done := func(agent string, kind broker.Kind) {
		t.Helper()
		must(t, at.b.Done(t.Context(), agent, at.take(agent, kind, n).Ticket))
		at.nothing(agent)
		at.sync()
		at.nothing(agent)
	}
	done("agent-7", broker.Development)
	at.hub.Label(n, "needs-review") // by the agent, before it was done: that is what the mark is of
	at.sync()
	at.now = at.now.Add(5 * time.Minute)
	done("agent-8", broker.ReviewTask)
	at.hub.Label(n) // changes were asked for
	at.sync()
	done("agent-7", broker.Development)
	at.now = time.Now() // a person writes something later than that
	must(t, at.keys.TaskDone(n).Set(brokerkeys.TaskDoneValue{Kind: broker.Development, By: "agent-7",
		At: at.now.Add(-time.Minute)}).Do(t.Context()))
	at.take("agent-7", broker.Development, n)
}

// TestDoneMeanwhile: what another agent does between the look at the issues and the lock is
// not handed out.
func TestDoneMeanwhile(t *testing.T) {
	url := redis(t)
	at := newBench(t, url)
	n := at.hub.Open("an issue")
	at.sync()
	var once sync.Once
	late := broker.New(open(t, url, keywright.Hook{Start: func(ctx context.Context, call keywright.Call) context.Context {
		if call.Op == "acquire" {
			once.Do(func() { must(t, at.b.Done(t.Context(), "agent-7", at.take("agent-7", broker.Development, n).Ticket)) })
		}
		return ctx
	}}), broker.Options{})
	if task, err := late.RequestTask(t.Context(), "agent-8"); task != nil || err != nil {
		t.Errorf("%+v, %v", task, err)
	}
	if by, _, err := at.b.Worker(t.Context(), n); by != "" || err != nil {
		t.Errorf("%q has the lock, %v", by, err)
	}
}

// TestFailed: what an agent fails at is offered to others at once, and to this agent after a
// while, which grows.
func TestFailed(t *testing.T) {
	at := newBench(t, redis(t))
	n := at.hub.Open("a hard one")
	at.sync()
	for _, rest := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute} {
		must(t, at.b.GiveBack(t.Context(), "agent-7", at.take("agent-7", broker.Development, n).Ticket, "exit status 1"))
		at.nothing("agent-7")
		must(t, at.b.GiveBack(t.Context(), "agent-8", at.take("agent-8", broker.Development, n).Ticket, ""))
		at.now = at.now.Add(rest - time.Second)
		at.nothing("agent-7")
		at.now = at.now.Add(time.Second)
	}
	must(t, at.b.Done(t.Context(), "agent-7", at.take("agent-7", broker.Development, n).Ticket))
	if _, err := at.keys.TaskCandidate(n, "agent-7").Get().Do(t.Context()); !errors.Is(err, keywright.ErrNotFound) {
		t.Errorf("after it was done: %v", err)
	}
}

// TestAsksAgain: an agent that was killed asks for work, and has what it had: under a newer
// fencing token, so that what is left of it is refused.
func TestAsksAgain(t *testing.T) {
	at := newBench(t, redis(t))
	n := at.hub.Open("an issue")
	at.hub.Open("another one")
	at.sync()
	before := at.take("agent-7", broker.Development, n)
	after := at.take("agent-7", broker.Development, n)
	if after.Fence <= before.Fence {
		t.Errorf("fence %d after %d", after.Fence, before.Fence)
	}
	if _, err := at.b.Keep(t.Context(), "agent-7", before.Ticket); !errors.Is(err, lock.ErrLost) {
		t.Errorf("the ticket of before: %v", err)
	}
	if _, err := at.b.Keep(t.Context(), "agent-7", after.Ticket); err != nil {
		t.Error(err)
	}
}

// TestCurrentTaskEndsWithTheLock: what an agent works on is known for as long as its lock
// lives, for fixes too.
func TestCurrentTaskEndsWithTheLock(t *testing.T) {
	s := server(t)
	at := newBench(t, s.URL())
	at.hub.Comment(at.hub.OpenPull("a change", "agent-1"), "reviewer", "no")
	at.sync()
	short := broker.New(open(t, s.URL()), broker.Options{Lease: time.Second})
	task, err := short.RequestTask(t.Context(), "agent-7")
	must(t, err)
	if n, err := short.CurrentTask(t.Context(), "agent-7"); err == nil && n != task.Number {
		t.Errorf("agent-7 works on %d", n)
	}
	for _, key := range []string{"issue_lock_1", "agent_current_task:agent-7"} {
		if left := s.Do("PTTL", key).(int64); left > 1000 || left == -1 {
			t.Errorf("%s lives for %d ms", key, left)
		}
	}
	await(t, "both end", func() bool {
		return s.Do("EXISTS", "issue_lock_1", "agent_current_task:agent-7") == int64(0)
	})
	at.take("agent-8", broker.FixTask, task.Number)
}

// TestFixes: review comments become a task: those of others than the author, that no agent
// has seen to. One that is lost comes back, and one that is done does not.
func TestFixes(t *testing.T) {
	everywhere(t, func(t *testing.T, url string, _ []*keywrighttest.Server) {
		at, ctx := newBench(t, url), t.Context()
		n := at.hub.OpenPull("a change", "agent-1")
		closed := at.hub.OpenPull("another one", "agent-1")
		at.hub.Comment(n, "reviewer", "名前を直す")
		at.hub.Comment(n, "agent-1", "why?")
		at.hub.Comment(closed, "reviewer", "no")
		at.sync()
		fix := at.take("agent-7", broker.FixTask, n)
		if len(fix.Fix.Comments) != 1 || fix.Fix.Comments[0].Body != "名前を直す" || fix.Fix.Comments[0].Path != "README.md" ||
			fix.Fix.Comments[0].Line != 1 {
			t.Errorf("%+v", fix.Fix)
		}

		// A comment that comes while the agent works is for the next task, whatever the
		// syncs in between write.
		later := at.hub.Comment(n, "reviewer", "here, too")
		at.sync()
		must(t, at.b.Done(ctx, "agent-7", fix.Ticket))
		next := at.take("agent-8", broker.FixTask, n)
		if len(next.Fix.Comments) != 1 || next.Fix.Comments[0].ID != later {
			t.Errorf("%+v", next.Fix)
		}
		must(t, at.keys.FixOver(ctx, n)) // its day is over
		must(t, at.b.GiveBack(ctx, "agent-8", next.Ticket, ""))
		at.hub.Close(closed)
		at.take("agent-9", broker.FixTask, closed) // not known yet; its lock is free after its lease
		at.sync()
		must(t, at.b.Done(ctx, "agent-8", at.take("agent-8", broker.FixTask, n).Ticket))
		at.nothing("agent-8")
		at.sync()
		at.nothing("agent-8")
		if s, err := at.b.Status(ctx); err != nil || s.Fixes != 0 {
			t.Errorf("%+v %v", s, err)
		}
		for _, number := range []int64{n, closed} {
			if _, err := at.keys.FixTask(number).Get().Do(ctx); !errors.Is(err, keywright.ErrNotFound) {
				t.Errorf("the task of %d: %v", number, err)
			}
		}
	})
}

// TestLongOpen: a pull request that is open for longer than what was done is remembered gets no
// task again of comments that were seen to; of an issue, the mark lives while it is open.
func TestLongOpen(t *testing.T) {
	s := server(t)
	at := newBench(t, s.URL())
	n := at.hub.OpenPull("a change", "agent-1")
	issue := at.hub.Open("an issue")
	at.hub.Comment(n, "reviewer", "no")
	at.sync()
	must(t, at.b.Done(t.Context(), "agent-7", at.take("agent-7", broker.FixTask, n).Ticket))
	must(t, at.b.Done(t.Context(), "agent-7", at.take("agent-7", broker.Development, issue).Ticket))
	at.sync()
	s.Do("DEL", "task_done:1") // 90 days later
	s.Do("PEXPIRE", "task_done:2", "60000")
	s.Do("PEXPIRE", "task:fix:1:seen", "60000")
	at.sync()
	at.nothing("agent-7")
	for _, key := range []string{"task_done:2", "task:fix:1:seen"} {
		if left := s.Do("PTTL", key).(int64); left <= 60_000 {
			t.Errorf("%s lives for %d ms", key, left)
		}
	}
	later := at.hub.Comment(n, "reviewer", "here, too")
	at.sync()
	if fix := at.take("agent-8", broker.FixTask, n).Fix; len(fix.Comments) != 1 || fix.Comments[0].ID != later {
		t.Errorf("%+v", fix)
	}
}

// TestBrokerDies: a broker that ends between the lock and the answer leaves work that its agent
// has when it asks another broker, not when the lock has ended.
func TestBrokerDies(t *testing.T) {
	url := redis(t)
	at := newBench(t, url)
	n := at.hub.Open("an issue")
	at.sync()
	dead, locked := make(chan struct{}), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	var once sync.Once
	dies := broker.New(open(t, url, keywright.Hook{Done: func(_ context.Context, call keywright.Call,
		_ keywright.Outcome) {
		if call.Op == "acquire" {
			once.Do(func() { close(locked); <-dead })
		}
	}}), broker.Options{})
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = dies.RequestTask(ctx, "agent-7") }()
	<-locked
	if by, _, err := at.b.Worker(t.Context(), n); err != nil || by != "agent-7" {
		t.Errorf("the lock has %q, %v", by, err)
	}
	at.take("agent-7", broker.Development, n)
	stop()
	close(dead)
	<-ended
	if by, _, err := at.b.Worker(t.Context(), n); err != nil || by != "agent-7" {
		t.Errorf("then the lock has %q, %v", by, err)
	}
}

// TestOneCannotBeRead: a pull request whose comments cannot be read does not keep the others
// from being read.
func TestOneCannotBeRead(t *testing.T) {
	h, github := repository(t)
	for range 3 {
		h.Comment(h.OpenPull("a change", "agent-1"), "reviewer", "no")
	}
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/pulls/1/") {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		h.ServeHTTP(w, r)
	}))
	defer broken.Close()
	c := open(t, redis(t))
	p := broker.NewPoller(c, reader(t, broken.URL), broker.PollerOptions{})
	for range 2 {
		if err := p.Sync(t.Context()); err == nil {
			t.Error("comments were read that cannot be")
		}
	}
	if n, err := brokerkeys.New(c).OpenFixes().Len().Do(t.Context()); err != nil || n != 2 {
		t.Errorf("%d tasks, %v", n, err)
	}
	must(t, broker.NewPoller(c, reader(t, github), broker.PollerOptions{}).Sync(t.Context()))
}

// TestManyComments: a task has as many comments as an agent gets at once, and says how many
// are left; those are the next task.
func TestManyComments(t *testing.T) {
	at := newBench(t, redis(t))
	n := at.hub.OpenPull("a change", "agent-1")
	for range 130 {
		at.hub.Comment(n, "reviewer", "no")
	}
	long := strings.Repeat("長", 60<<10)
	for range 3 {
		at.hub.Comment(n, "reviewer", long)
	}
	for _, want := range [][2]int{{100, 33}, {31, 2}, {1, 1}, {1, 0}} {
		at.sync()
		task := at.take("agent-7", broker.FixTask, n)
		if len(task.Fix.Comments) != want[0] || task.Fix.More != int64(want[1]) {
			t.Errorf("%d comments, and %d more; want %v", len(task.Fix.Comments), task.Fix.More, want)
		}
		must(t, at.b.Done(t.Context(), "agent-7", task.Ticket))
	}
	at.sync()
	at.nothing("agent-7")
}

// TestTakesTurns: when there are more pull requests than one sync reads, the next one goes
// on where it ended.
func TestTakesTurns(t *testing.T) {
	h, github := repository(t)
	for range 5 {
		h.Comment(h.OpenPull("a change", "agent-1"), "reviewer", "no")
	}
	c := open(t, redis(t))
	p := broker.NewPoller(c, reader(t, github), broker.PollerOptions{Pulls: 2})
	for _, want := range []int64{2, 4, 5} {
		must(t, p.Sync(t.Context()))
		if n, err := brokerkeys.New(c).OpenFixes().Len().Do(t.Context()); err != nil || n != want {
			t.Errorf("%d tasks, %v, want %d", n, err, want)
		}
	}
}

// TestNoAnswer: while Redis does not answer an agent gets an error, in time to ask another broker.
func TestNoAnswer(t *testing.T) {
	s := server(t)
	b := broker.New(open(t, s.URL()), broker.Options{Wait: 100 * time.Millisecond})
	web := httptest.NewServer(b.Handler())
	defer web.Close()
	s.Stop()
	defer s.Continue()
	for _, c := range [][2]string{{"POST", "/agents/agent-7/task"}, {"GET", "/agents/agent-7/task"}, {"GET", "/issues/1"},
		{"GET", "/status"}} {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		r, err := http.NewRequestWithContext(ctx, c[0], web.URL+c[1], nil)
		must(t, err)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		_ = answer.Body.Close()
		if stop(); answer.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%v: %d", c, answer.StatusCode)
		}
	}
}

// TestHandler: what agents and people ask over HTTP, and the answers.
func TestHandler(t *testing.T) {
	at := newBench(t, redis(t))
	n := at.hub.Open("an issue", "needs-review")
	at.sync()
	web := httptest.NewServer(at.b.Handler())
	defer web.Close()
	if code := ask(t, "POST", web.URL+"/agents/agent-7/task", nil, nil); code != 204 {
		t.Errorf("no work yet: %d", code)
	}
	at.now = at.now.Add(5 * time.Minute)
	var task broker.Task
	if code := ask(t, "POST", web.URL+"/agents/agent-7/task", nil, &task); code != 200 || task.Number != n ||
		task.Kind != broker.ReviewTask {
		t.Errorf("%d %+v", code, task)
	}
	var state broker.State
	if code := ask(t, "GET", web.URL+"/issues/1", nil, &state); code != 200 || state.Worker != "agent-7" ||
		state.Kind != broker.ReviewTask || state.Since == nil || state.Seconds <= 0 || !json.Valid(state.Issue) {
		t.Errorf("%d %+v", code, state)
	}
	for _, c := range []struct {
		method, path string
		body         any
		want         int
	}{
		{"GET", "/agents/agent-7/task", nil, 200},
		{"POST", "/agents/agent-7/keep", map[string]string{"ticket": task.Ticket}, 200},
		{"POST", "/agents/agent-7/done", map[string]string{"ticket": task.Ticket}, 204},
		{"POST", "/agents/agent-7/done", map[string]string{"ticket": task.Ticket}, 409},
		{"POST", "/agents/agent-7/keep", map[string]string{"ticket": task.Ticket}, 409},
		{"POST", "/agents/agent-7/giveback", map[string]string{"ticket": task.Ticket, "reason": "x"}, 409},
		{"POST", "/agents/agent-7/done", map[string]string{"ticket": "nonsense"}, 400},
		{"POST", "/agents/agent-7/done", map[string]string{"ticket": "review:0:0:agent-7/x"}, 400},
		{"POST", "/agents/agent-8/done", map[string]string{"ticket": task.Ticket}, 400},
		{"POST", "/agents/agent-7/done", map[string]string{"tickt": task.Ticket}, 400},
		{"POST", "/agents/a:b/task", nil, 400},
		{"GET", "/agents/agent-7/task", nil, 404},
		{"GET", "/issues/1", nil, 200},
		{"GET", "/issues/2", nil, 404},
		{"GET", "/issues/0", nil, 400},
		{"GET", "/issues/one", nil, 400},
		{"GET", "/status", nil, 200},
	} {
		if code := ask(t, c.method, web.URL+c.path, c.body, nil); code != c.want {
			t.Errorf("%s %s %v: %d, want %d", c.method, c.path, c.body, code, c.want)
		}
	}
	state = broker.State{}
	if ask(t, "GET", web.URL+"/issues/1", nil, &state); state.Worker != "" || state.Kind != "" || state.Done == nil ||
		state.Done.By != "agent-7" {
		t.Errorf("%+v", state)
	}
}
