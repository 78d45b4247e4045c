package poppobuilder_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/examples/internal/sitetest"
	poppo "github.com/keywright/keywright/examples/poppobuilder"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/keywrighttest"
)

// daemon runs one in this process until the test ends. log is what it says, with
// debug lines only where its level is nil.
func daemon(t *testing.T, s *keywrighttest.Server, o poppo.Options) (d *poppo.Daemon, log *sitetest.Output) {
	t.Helper()
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Attempts: 16})
	must(t, err)
	o.Look, o.Lease, o.Upkeep = 20*time.Millisecond, 5*time.Second, 50*time.Millisecond
	log = &sitetest.Output{}
	level := slog.Leveler(slog.LevelDebug)
	if o.Level != nil {
		level = o.Level
	}
	o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
	d, err = poppo.New(c, o)
	must(t, err)
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
		c.Close()
	})
	return d, log
}

// says answers a task in the place of an agent.
func says(t *testing.T, d *poppo.Daemon, id string, ok bool) {
	t.Helper()
	must(t, d.Keys().TaskOutcome(id).Set(poppokeys.TaskOutcomeValue{Ok: ok, Text: "done", Ms: 5,
		By: "issue-7-test"}).Do(t.Context()))
}

func submit(t *testing.T, d *poppo.Daemon, task poppo.Task) string {
	t.Helper()
	id, err := d.Submit(t.Context(), task)
	must(t, err)
	return id
}

func status(t *testing.T, d *poppo.Daemon) poppo.Status {
	t.Helper()
	s, err := d.Status(t.Context())
	must(t, err)
	return s
}

// becomes waits for the state of a task.
func becomes(t *testing.T, d *poppo.Daemon, id, want string) {
	t.Helper()
	await(t, id+" is "+want, func() bool {
		s, err := d.Task(t.Context(), id)
		must(t, err)
		return s.State == want
	})
}

func hasStatus(t *testing.T, d *poppo.Daemon, issue int64, want string) {
	t.Helper()
	await(t, fmt.Sprintf("issue %d is %s", issue, want), func() bool {
		i, err := d.Issue(t.Context(),
			issue)
		return err == nil && i.Status == want
	})
}

// handed returns how many tasks agents have been given and have not ended.
func handed(t *testing.T, d *poppo.Daemon) int64 {
	t.Helper()
	n, err := d.Keys().TaskRuns().Len().Do(t.Context())
	must(t, err)
	return n
}

// TestSettings: what is set takes effect, a patch changes what it has and nothing else,
// all of it or nothing; two namespaces have settings of their own.
func TestSettings(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		d, log := daemon(t, s, poppo.Options{Level: new(slog.LevelVar)})
		other, _ := daemon(t, s, poppo.Options{Namespace: "poppo-test"})
		ctx := t.Context()
		if got := d.Settings(); got != (poppo.Settings{ClaudeTimeout: 300, GitHubRate: 5000}) {
			t.Errorf("by default: %+v", got)
		}
		told := make(chan string, 100)
		stop, err := other.Keys().OtherEventsTopics().Subscribe(ctx, event.Options{},
			func(m event.Message[poppokeys.OtherEventsMessage], _ error) {
				told <- "of the other namespace: " + m.Channel
			})
		must(t, err)
		defer stop()
		stop2, err := d.Keys().OtherEventsTopic("maintenance").Subscribe(ctx, event.Options{},
			func(m event.Message[poppokeys.OtherEventsMessage], _ error) { told <- string(m.Data.Data) })
		must(t, err)
		defer stop2()
		s.Do("SET", "poppo:flags:maintenance", "true") // by hand
		await(t, "the queue is paused", func() bool { return status(t, d).Paused })
		if id := submit(t, d, poppo.Task{Issue: 7, Prompt: "x"}); id != "task-1" {
			t.Errorf("the first task is %s", id)
		}
		if st := status(t, d); st.Waiting["normal"] != 1 || st.Running != 0 || status(t, other).Paused {
			t.Errorf("in maintenance: %+v; a task without a priority is normal, and waits; the other namespace goes on", st)
		}
		yes, no, seven, zero := true, false, int64(7), int64(0)
		must(t, d.Set(ctx, poppo.Patch{Debug: &yes}))
		must(t, d.Set(ctx, poppo.Patch{GitHubRate: &seven}))
		if err := d.Set(ctx, poppo.Patch{Maintenance: &no, ClaudeTimeout: &zero}); err == nil {
			t.Error("a limit of 0 s is taken")
		}
		if got := d.Settings(); got != (poppo.Settings{ClaudeTimeout: 300, GitHubRate: 7, Maintenance: true, Debug: true}) {
			t.Errorf("after three patches: %+v", got)
		}
		if n := s.Do("EXISTS", "poppo:config:claude:timeout"); n != int64(0) ||
			strings.Contains(log.String(), "a task is taken") {
			t.Errorf("a default was written (%v), or a task begun:\n%s", n, log)
		}
		must(t, d.Set(ctx, poppo.Patch{Maintenance: &no}))
		await(t, "the task is with the agents", func() bool { return handed(t, d) == 1 })
		await(t, "both are announced", func() bool { return len(told) >= 2 })
		if first, then := <-told, <-told; first != "true" || then != "false" {
			t.Errorf("maintenance is announced as %s and %s", first, then)
		}
		if !strings.Contains(log.String(), "level=DEBUG msg=\"a task is taken\"") {
			t.Errorf("the daemon does not say what it does:\n%s", log)
		}
		must(t, d.Unset(ctx, "github_rate"))
		if got := d.Settings().GitHubRate; got != 5000 || d.Unset(ctx, "nothing") == nil {
			t.Errorf("the default is %d, or a setting is unset that there is not", got)
		}
		if id := submit(t, other, poppo.Task{Issue: 7, Prompt: "x"}); id != "task-1" {
			t.Errorf("the first task of the other namespace is %s", id)
		}
	})
}

// TestPriority: high before normal before low, in the order in which they came.
func TestPriority(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		d, _ := daemon(t, keywrighttest.Start(t, brand), poppo.Options{Concurrency: 1})
		on, off := true, false
		must(t, d.Set(t.Context(), poppo.Patch{Maintenance: &on}))
		for i, p := range []poppokeys.Priority{"low", "", "high", "low", "normal", "high"} {
			says(t, d, submit(t, d, poppo.Task{Issue: int64(1 + i), Prompt: "x", Priority: p}), true)
		}
		var order []int64
		stop, err := d.Keys().IssueStatusChangedTopic().Subscribe(t.Context(), event.Options{},
			func(m event.Message[poppokeys.IssueStatusChangedMessage], err error) {
				if err == nil && m.Data.Status == "completed" {
					order = append(order, m.Data.Number)
				}
			})
		must(t, err)
		must(t, d.Set(t.Context(), poppo.Patch{Maintenance: &off}))
		await(t, "all are done", func() bool { return status(t, d).Completed == 6 })
		stop()
		if !slices.Equal(order, []int64{3, 6, 2, 5, 1, 4}) {
			t.Errorf("the order was %v", order)
		}
	})
}

// TestRate: a task for which there is no call in this hour waits, without end and
// without using up attempts, and its issue does not count as in work.
func TestRate(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		d, log := daemon(t, keywrighttest.Start(t, brand), poppo.Options{Wait: time.Millisecond})
		none, one := int64(0), int64(1)
		must(t, d.Set(t.Context(), poppo.Patch{GitHubRate: &none}))
		id := submit(t, d, poppo.Task{Issue: 7, Prompt: "x"})
		await(t, "it has waited more often than it has attempts", func() bool {
			return strings.Count(log.String(),
				"no more calls") > 6
		})
		if i, err := d.Issue(t.Context(), 7); err != nil || i.Status != "queued" || handed(t, d) != 0 {
			t.Errorf("while it waits: %+v, %v", i, err)
		}
		must(t, d.Set(t.Context(), poppo.Patch{GitHubRate: &one}))
		await(t, "it is with the agents", func() bool { return handed(t, d) == 1 })
		says(t, d, id, true)
		becomes(t, d, id, "completed")
		if n, err := d.Keys().MetricsGithubCalls(time.Now().UTC()).Get().Do(t.Context()); err == nil && n != 1 {
			t.Errorf("%d calls were counted for one run", n)
		}
	})
}

// TestMirin: a task waits for Mirin as long as she is away, and costs no call; each of
// two answers belongs to its request; a refusal is an outcome that stays.
func TestMirin(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		d, log := daemon(t, s, poppo.Options{Wait: time.Millisecond, MirinWait: 30 * time.Millisecond})
		yes := submit(t, d, poppo.Task{Issue: 1, Prompt: "yes", Ask: true})
		no := submit(t, d, poppo.Task{Issue: 2, Prompt: "no", Ask: true})
		await(t, "both have waited more often than they have attempts", func() bool {
			return strings.Count(log.String(), "no answer of Mirin") > 12
		})
		if n := s.Do("EXISTS", "poppo:metrics:github:"+time.Now().UTC().Format("2006-01-02-15")); n != int64(0) {
			t.Error("to ask Mirin costs a call of GitHub")
		}
		mirin, _ := daemon(t, s, poppo.Options{Name: "mirin", MirinWait: time.Minute})
		here := make(chan string, 100)
		ctx, leave := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- mirin.ServeMirin(ctx, func(q poppokeys.MirinRequestsMessage) (poppokeys.MirinRequestsReply, error) {
				here <- q.Prompt
				return poppokeys.MirinRequestsReply{Approved: q.Prompt == "yes", Comment: "because"}, nil
			})
		}()
		becomes(t, d, no, "failed")
		await(t, "the other one is with the agents", func() bool { return handed(t, d) == 1 })
		says(t, d, yes, true)
		becomes(t, d, yes, "completed")
		leave()
		if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if st, err := d.Task(t.Context(), no); err != nil || st.Outcome == nil || st.Outcome.Text != "Mirin: because" ||
			st.Outcome.By != "issue-2-mirin" {
			t.Errorf("the refused one: %+v, %v", st, err)
		}
	})
}

// TestLostRuns: a run that is no more before the agents is put there again, and a
// daemon does not wait for agents while other tasks could be done.
func TestLostRuns(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		d, log := daemon(t, s, poppo.Options{Concurrency: 1, Patience: 100 * time.Millisecond, Wait: time.Millisecond})
		first := submit(t, d, poppo.Task{Issue: 1, Prompt: "x"})
		await(t, "it is with the agents", func() bool { return handed(t, d) == 1 })
		s.Do("DEL", "poppo:task:runs")
		await(t, "it is with them again", func() bool { return handed(t, d) == 1 })
		second := submit(t, d, poppo.Task{Issue: 2, Prompt: "x"})
		await(t, "the other one has its turn", func() bool { return handed(t, d) == 2 })
		await(t, "both wait more often than they have attempts", func() bool {
			return strings.Count(log.String(),
				"no agent has ended") > 12
		})
		for _, id := range []string{first, second} {
			says(t, d, id, true)
			becomes(t, d, id, "completed")
		}
		if n := handed(t, d); n != 2 {
			t.Errorf("%d runs were handed over, want 2: the outcomes were not an agent's", n)
		}
	})
}

// TestDeadLetters: a task that fails until it is given up leaves its issue, is in the
// figures once, and can be tried again.
func TestDeadLetters(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		d, _ := daemon(t, s, poppo.Options{Backoff: time.Millisecond})
		await(t, "the daemon has begun", func() bool { return s.Do("EXISTS", "poppo:task:runs") == int64(1) })
		s.Do("DEL", "poppo:task:runs")
		s.Do("SET", "poppo:task:runs", "no stream")
		id := submit(t, d, poppo.Task{Issue: 7, Prompt: "x"})
		hasStatus(t, d, 7, "dead")
		becomes(t, d, id, "dead")
		st := status(t, d)
		if st.Dead != 1 || len(st.Processing) != 0 || st.Today["dead"] != 1 || st.Today["failed"] != 0 {
			t.Errorf("after it was given up: %+v", st)
		}
		again := func() {
			ok, err := d.Keys().Tasks().Retry(t.Context(), id)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
		}
		again()
		await(t, "it is dead again", func() bool { return status(t, d).Dead == 1 })
		becomes(t, d, id, "dead")
		s.Do("DEL", "poppo:task:runs")
		again()
		await(t, "it is with the agents", func() bool { return handed(t, d) == 1 })
		says(t, d, id, true)
		hasStatus(t, d, 7, "completed")
		await(t, "it is over", func() bool { return status(t, d).Running == 0 })
		if st := status(t, d); st.Dead != 0 || st.Today["dead"] != 1 || st.Today["completed"] != 1 ||
			len(st.Processing) != 0 {
			t.Errorf("after it was tried again: %+v", st)
		}
		if n := s.Do("EXISTS", "poppo:task:issue:"+id); n != int64(0) {
			t.Error("a task that has ended is looked for among the dead letters")
		}
	})
}

// TestWhatADayIs: what was completed today ends at midnight, and a reader does not keep
// a process alive.
func TestWhatADayIs(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		d, _ := daemon(t, s, poppo.Options{})
		ctx, keys := t.Context(), d.Keys()
		says(t, d, submit(t, d, poppo.Task{Issue: 7, Prompt: "x"}), true)
		hasStatus(t, d, 7, "completed")
		at := s.Do("EXPIRETIME", "poppo:issues:completed:today").(int64)
		if now := time.Now().Unix(); at%86400 != 0 || at < now-60 || at > now+86400+60 {
			t.Errorf("what was completed today ends at %s", time.Unix(at, 0).UTC())
		}
		_, err := keys.RegisterProcess(9, "gone", "issue-9-gone", "x", poppokeys.RegisterProcessProgramPoppo, 9,
			"task-9", 1, 60_000).Do(ctx)
		must(t, err)
		before := s.Do("PEXPIRETIME", "poppo:process:heartbeat:issue-9-gone")
		_, err = keys.ProcessHeartbeat(9, "gone").Get().Do(ctx)
		must(t, err)
		if after := s.Do("PEXPIRETIME", "poppo:process:heartbeat:issue-9-gone"); after != before {
			t.Errorf("a reader has moved the end of a heartbeat from %v to %v", before, after)
		}
	})
}
