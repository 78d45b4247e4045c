package githubbroker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	broker "github.com/keywright/keywright/examples/githubbroker"
	"github.com/keywright/keywright/examples/githubbroker/brokerkeys"
	"github.com/keywright/keywright/guard"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open is a client behind a guard that refuses whatever is not declared.
func open(t *testing.T, url string) *keywright.Client {
	t.Helper()
	return hooked(t, url)
}

func hooked(t *testing.T, url string, hooks ...keywright.Hook) *keywright.Client {
	t.Helper()
	ks, findings := keyspace.Load(os.DirFS("."), "keyspace.yaml")
	if len(findings) > 0 {
		t.Fatal(findings[0].Message)
	}
	g, err := guard.New(ks, guard.Options{})
	must(t, err)
	c, err := keywright.Open(t.Context(), url, keywright.Options{Wrap: g.Wrap, Attempts: 20, Hooks: hooks})
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

// tracker is GitHub: issues that agents close, and what they report.
type tracker struct {
	mu     sync.Mutex
	open   map[int64]broker.Issue
	fences map[string]int64 // by kind and id: the newest that was seen
	done   map[string]int
	late   int // reports with an older fence, refused
}

func newTracker(issues ...broker.Issue) *tracker {
	t := &tracker{open: map[int64]broker.Issue{}, fences: map[string]int64{}, done: map[string]int{}}
	for _, i := range issues {
		t.open[i.Number] = i
	}
	return t
}

func (t *tracker) OpenIssues(context.Context) ([]broker.Issue, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []broker.Issue
	for _, i := range t.open {
		all = append(all, i)
	}
	return all, nil
}

func (t *tracker) report(r broker.Report) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := fmt.Sprint(r.Kind, " ", r.ID)
	if r.Fence < t.fences[id] {
		t.late++
		return errors.New("an older agent")
	}
	t.fences[id] = r.Fence
	t.done[id]++
	if r.Kind != broker.FixTask {
		delete(t.open, r.ID)
	}
	return nil
}

func (t *tracker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/issues" {
		all, _ := t.OpenIssues(r.Context())
		_ = json.NewEncoder(w).Encode(all)
		return
	}
	var report broker.Report
	if json.NewDecoder(r.Body).Decode(&report) != nil || t.report(report) != nil {
		w.WriteHeader(http.StatusConflict)
	}
}

// TestFlow is the page's flow, step by step.
func TestFlow(t *testing.T) {
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			flow(t, keywrighttest.Start(t, brand).URL())
		})
		t.Run(string(brand)+" cluster", func(t *testing.T) {
			t.Parallel()
			flow(t, keywrighttest.StartCluster(t, brand, 3, 0).URL())
		})
	}
}

func flow(t *testing.T, url string) {
	ctx, now := t.Context(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	hub := newTracker(broker.Issue{Number: 1, Title: "一つ目"}, broker.Issue{Number: 2, Labels: []string{"needs-review"}}, broker.Issue{Number: 3})
	b := broker.New(open(t, url), hub, broker.Options{Now: func() time.Time { return now }})
	must(t, b.Sync(ctx))
	issues, err := b.Issues(ctx)
	must(t, err)
	if len(issues) != 3 || issues[0].Title != "一つ目" {
		t.Errorf("%+v", issues)
	}

	// Issue 2 waits for its review; agents get different issues, under their names.
	first, err := b.RequestTask(ctx, "agent-7")
	must(t, err)
	second, err := b.RequestTask(ctx, "agent-8")
	must(t, err)
	if first.Issue.Number != 1 || second.Issue.Number != 3 || first.Kind != broker.Development {
		t.Errorf("%+v %+v", first, second)
	}
	if who, err := b.Worker(ctx, 1); err != nil || who != "agent-7" {
		t.Errorf("issue 1 is worked on by %q, %v", who, err)
	}
	if n, err := b.CurrentTask(ctx, "agent-8"); err != nil || n != 3 {
		t.Errorf("agent-8 works on %d, %v", n, err)
	}
	if none, err := b.RequestTask(ctx, "agent-9"); none != nil || err != nil {
		t.Errorf("%+v %v", none, err)
	}

	// Five minutes later the review may begin; a second look at the label has not
	// moved its time.
	now = now.Add(3 * time.Minute)
	must(t, b.Sync(ctx))
	now = now.Add(3 * time.Minute)
	review, err := b.RequestTask(ctx, "agent-9")
	must(t, err)
	if review == nil || review.Kind != broker.ReviewTask || review.Issue.Number != 2 {
		t.Fatalf("%+v", review)
	}

	// Work that failed is somebody else's at once; work that is done is gone.
	must(t, second.GiveBack(ctx))
	again, err := b.RequestTask(ctx, "agent-10")
	must(t, err)
	if again == nil || again.Issue.Number != 3 || again.Fence() <= second.Fence() {
		t.Errorf("%+v", again)
	}
	must(t, first.Done(ctx))
	if _, err := b.CurrentTask(ctx, "agent-7"); !errors.Is(err, keywright.ErrNotFound) {
		t.Errorf("agent-7: %v", err)
	}
	must(t, b.CreateFixTask(ctx, broker.Fix{PullRequest: 88, Comments: []string{"名前を直す"}}))
	fix, err := b.RequestTask(ctx, "agent-7")
	must(t, err)
	if fix == nil || fix.Kind != broker.FixTask || fix.Fix.Comments[0] != "名前を直す" {
		t.Fatalf("%+v", fix)
	}
	must(t, fix.Done(ctx))
	must(t, again.GiveBack(ctx))
	must(t, review.Done(ctx))

	// The next poll knows one issue only.
	delete(hub.open, 1)
	delete(hub.open, 2)
	must(t, b.Sync(ctx))
	if issues, err := b.Issues(ctx); err != nil || len(issues) != 1 || issues[0].Number != 3 {
		t.Errorf("%+v %v", issues, err)
	}
}

// TestNoEmptyMoment: readers look while the cache is replaced again and again;
// what stays open is always there.
func TestNoEmptyMoment(t *testing.T) {
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
	hub := newTracker()
	for n := range int64(40) {
		hub.open[n+1] = broker.Issue{Number: n + 1}
	}
	b := broker.New(c, hub, broker.Options{})
	must(t, b.Sync(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if issues, err := b.Issues(t.Context()); err != nil || len(issues) < 20 {
					t.Errorf("%d issues, %v", len(issues), err)
					return
				}
			}
		})
	}
	for round := range int64(50) {
		hub.mu.Lock()
		for n := int64(21); n <= 40; n++ { // the second half comes and goes
			if (n+round)%3 == 0 {
				delete(hub.open, n)
			} else {
				hub.open[n] = broker.Issue{Number: n}
			}
		}
		hub.mu.Unlock()
		must(t, b.Sync(t.Context()))
	}
	cancel()
	readers.Wait()
}

// TestHalfWay: a sync, or an agent that ends its work, which stops where it deletes
// an issue (here: is not allowed to) leaves what the next sync finds.
func TestHalfWay(t *testing.T) {
	ctx, s := t.Context(), keywrighttest.Start(t, keywrighttest.Redis)
	hub := newTracker(broker.Issue{Number: 1}, broker.Issue{Number: 2})
	whole := broker.New(open(t, s.URL()), hub, broker.Options{})
	must(t, whole.Sync(ctx))
	s.Do("ACL", "SETUSER", "half", "on", ">pw", "+@all", "&*", "%R~issue:*", "~issue:2", "~{issue:2}:seen", "~issues:*", "~*issue_lock_*", "~*review_*", "~agent_*", "~task_*")
	half := broker.New(open(t, strings.Replace(s.URL(), "//", "//half:pw@", 1)), hub, broker.Options{})
	stopped := func(what string, err error) {
		t.Helper()
		if class, _ := keywright.ClassOf(err); class != keywright.Refused {
			t.Errorf("%s: %v", what, err)
		}
		must(t, whole.Sync(ctx))
		if got := s.Do("EXISTS", "issue:1"); got != int64(0) {
			t.Errorf("%s: the closed issue is still there", what)
		}
		if issues, err := whole.Issues(ctx); err != nil || len(issues) != 1 {
			t.Errorf("%s: %+v %v", what, issues, err)
		}
	}
	closed := func() { hub.mu.Lock(); delete(hub.open, 1); hub.mu.Unlock() }
	closed()
	stopped("a sync", half.Sync(ctx))

	hub.mu.Lock()
	hub.open[1] = broker.Issue{Number: 1}
	hub.mu.Unlock()
	must(t, whole.Sync(ctx))
	work, err := half.RequestTask(ctx, "agent-7")
	must(t, err)
	if work == nil || work.Issue.Number != 1 {
		t.Fatalf("%+v", work)
	}
	closed()
	stopped("an agent", work.Done(ctx))
}

// TestLateSync: a sync that lost its lease on the way, while a newer one deleted
// an issue, brings nothing back: neither the issue nor the time of its label.
func TestLateSync(t *testing.T) {
	ctx, s := t.Context(), keywrighttest.Start(t, keywrighttest.Redis)
	hub := newTracker(broker.Issue{Number: 1}, broker.Issue{Number: 2, Labels: []string{"needs-review"}})
	arrived, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hook := keywright.Hook{Start: func(ctx context.Context, call keywright.Call) context.Context {
		if call.Op == "SET" { // the first write of a key
			once.Do(func() { close(arrived); <-release })
		}
		return ctx
	}}
	late, newer := broker.New(hooked(t, s.URL(), hook), hub, broker.Options{}), broker.New(open(t, s.URL()), hub, broker.Options{})
	ended := make(chan error, 1)
	go func() { ended <- late.Sync(ctx) }()
	<-arrived
	lockKey, err := brokerkeys.IssueSyncKey()
	must(t, err)
	s.Do("DEL", lockKey) // its lease is over, and it has not been told yet
	hub.mu.Lock()
	clear(hub.open)
	hub.mu.Unlock()
	must(t, newer.Sync(ctx))
	close(release)
	if err := <-ended; !errors.Is(err, lock.ErrStale) {
		t.Errorf("the late sync ended with %v, want ErrStale", err)
	}
	for _, key := range []string{"issue:1", "issue:2", "review_issue_detected_timestamp:2"} {
		if got := s.Do("EXISTS", key); got != int64(0) {
			t.Errorf("%s was brought back", key)
		}
	}
	must(t, newer.Sync(ctx))
	leftovers(t, s)
}

// TestAgentsAreKilled runs the service in three processes and kills them, again
// and again. Every issue and every fix task is done, none by two agents at a time.
func TestAgentsAreKilled(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	hub := newTracker()
	for n := range int64(60) {
		issue := broker.Issue{Number: n + 1}
		if n%4 == 0 {
			issue.Labels = []string{"needs-review"}
		}
		hub.open[n+1] = issue
	}
	web := httptest.NewServer(hub)
	defer web.Close()
	b := broker.New(open(t, s.URL()), hub, broker.Options{})
	must(t, b.Sync(t.Context()))
	for pr := range int64(10) {
		must(t, b.CreateFixTask(t.Context(), broker.Fix{PullRequest: pr + 1}))
	}
	program := filepath.Join(t.TempDir(), "brokerd")
	if out, err := exec.Command("go", "build", "-o", program, "./brokerd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	start := func(i, life int) *exec.Cmd {
		cmd := exec.Command(program, "-redis", s.URL(), "-github", web.URL, "-agents", "2", "-name", fmt.Sprintf("agent-%d-%d", i, life),
			"-work", "30ms", "-poll", "200ms", "-review-delay", "1ms", "-lease", "1s")
		must(t, cmd.Start())
		return cmd
	}
	all := []*exec.Cmd{start(0, 0), start(1, 0), start(2, 0)}
	random := rand.New(rand.NewPCG(1, 2))
	deadline := time.Now().Add(time.Minute)
	for life := 1; !hub.finished() && time.Now().Before(deadline); life++ {
		<-time.After(time.Duration(100+random.IntN(200)) * time.Millisecond)
		if life > 20 {
			continue // enough: now they may finish
		}
		victim := random.IntN(len(all))
		_ = all[victim].Process.Kill()
		_ = all[victim].Wait()
		all[victim] = start(victim, life)
	}
	for _, cmd := range all { // one that has just begun must have got as far as hearing the signal
		for name := cmd.Args[8]; !strings.Contains(fmt.Sprint(s.Do("CLIENT", "LIST")), "name="+name); {
			<-time.After(5 * time.Millisecond)
		}
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("a service that was asked to stop: %v", err)
		}
	}
	if !hub.finished() {
		t.Fatalf("%d issues are open, %d tasks were done", len(hub.open), len(hub.done))
	}
	t.Logf("%d pieces of work, %d late reports refused", len(hub.done), hub.late)
	// What was closed while it was synced is gone with the next sync, behind the lease
	// of one that was killed in it.
	for name, _ := brokerkeys.IssueSyncKey(); s.Do("EXISTS", name) != int64(0); {
		<-time.After(10 * time.Millisecond)
	}
	must(t, b.Sync(t.Context()))
	leftovers(t, s)
}

func (t *tracker) finished() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open) == 0 && len(t.done) == 70
}

// leftovers: what is left behind is declared, and expires.
func leftovers(t *testing.T, s *keywrighttest.Server) {
	t.Helper()
	ours := []func(string) bool{
		func(k string) bool { _, ok := brokerkeys.ParseIssueLockKey(k); return ok },
		func(k string) bool { _, ok := brokerkeys.ParseIssueLockFenceKey(k); return ok },
		func(k string) bool { _, ok := brokerkeys.ParseFixLockKey(k); return ok },
		func(k string) bool { _, ok := brokerkeys.ParseFixLockFenceKey(k); return ok },
		func(k string) bool { _, ok := brokerkeys.ParseAgentCurrentTaskKey(k); return ok },
		func(k string) bool { _, _, ok := brokerkeys.ParseTaskCandidateKey(k); return ok },
		func(k string) bool { _, ok := brokerkeys.ParseIssueSeenKey(k); return ok },
		func(k string) bool { _, ok := brokerkeys.ParseReviewSeenKey(k); return ok },
		func(k string) bool { name, _ := brokerkeys.IssueSyncKey(); return k == name }, // of one that was killed while it synced
		func(k string) bool { name, _ := brokerkeys.IssueSyncFenceKey(); return k == name },
	}
	for _, k := range s.Do("SCAN", "0", "COUNT", "10000").([]any)[1].([]any) {
		key := k.(string)
		if !slices.ContainsFunc(ours, func(is func(string) bool) bool { return is(key) }) || s.Do("PTTL", key).(int64) < 0 {
			t.Errorf("%s is left, with the TTL %v", key, s.Do("PTTL", key))
		}
	}
}
