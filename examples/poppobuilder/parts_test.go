package poppobuilder_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	poppo "github.com/keywright/keywright/examples/poppobuilder"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keywrighttest"
)

// daemon runs one in this process until the test ends.
func daemon(t *testing.T, s *keywrighttest.Server, o poppo.Options) *poppo.Daemon {
	t.Helper()
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Attempts: 16})
	must(t, err)
	o.Look, o.Lease = 50*time.Millisecond, 2*time.Second
	d, err := poppo.New(c, o)
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- d.Run(t.Context()) }()
	t.Cleanup(func() {
		must(t, <-ended)
		c.Close()
	})
	return d
}

// TestSettingsTakeEffect: maintenance pauses the queue, and its end lets it go on; what
// is not set is as by default; two namespaces have settings of their own.
func TestSettingsTakeEffect(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Brands()[1])
	d, other := daemon(t, s, poppo.Options{}), daemon(t, s, poppo.Options{Namespace: "poppo-test"})
	ctx := t.Context()
	if got := d.Settings(); got.ClaudeTimeout != 5*time.Minute || got.GitHubRate != 5000 || got.Maintenance || got.Debug {
		t.Errorf("by default: %+v", got)
	}
	s.Do("SET", "poppo:flags:maintenance", "true") // by hand
	await(t, "the queue is paused", func() bool { st, err := d.Status(ctx); must(t, err); return st.Paused })
	id, err := d.Submit(ctx, poppo.Task{Issue: 7, Prompt: "x"})
	must(t, err)
	if st, err := other.Status(ctx); err != nil || st.Paused {
		t.Errorf("the other namespace: %+v, %v", st, err)
	}
	st, err := d.Status(ctx)
	must(t, err)
	if st.Waiting["normal"] != 1 || st.Running != 0 {
		t.Errorf("in maintenance: %+v; a task without a priority is normal, and waits", st)
	}
	must(t, d.Set(ctx, poppo.Settings{ClaudeTimeout: time.Minute, GitHubRate: 3}))
	await(t, "the task is with the agents", func() bool { n, err := d.Keys().TaskRuns().Len(ctx); must(t, err); return n == 1 })
	if got := d.Settings(); got.ClaudeTimeout != time.Minute || got.GitHubRate != 3 {
		t.Errorf("after the change: %+v", got)
	}
	if id != "task-1" {
		t.Errorf("the first task is %s", id)
	}
	must(t, d.Set(ctx, poppo.Settings{ClaudeTimeout: time.Minute, GitHubRate: 2})) // and one is used up
	await(t, "the new rate", func() bool { return d.Settings().GitHubRate == 2 })
	for issue := range int64(2) {
		_, err := d.Submit(ctx, poppo.Task{Issue: 10 + issue, Prompt: "x"})
		must(t, err)
	}
	hour := time.Now().UTC().Hour()
	await(t, "one task waits for the next hour", func() bool {
		st, err := d.Keys().Tasks().Stats(ctx)
		must(t, err)
		n, err := d.Keys().TaskRuns().Len(ctx)
		must(t, err)
		return st.Delayed == 1 && n == 2 || time.Now().UTC().Hour() != hour
	})
	if id, err := other.Submit(ctx, poppo.Task{Issue: 7, Prompt: "x"}); err != nil || id != "task-1" {
		t.Errorf("the first task of the other namespace is %s, %v", id, err)
	}
}

// TestWhatADayIs: what was completed today ends at midnight, the figures of the day a
// week after the last; a reader does not keep a process alive.
func TestWhatADayIs(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Brands()[0])
	d := daemon(t, s, poppo.Options{})
	ctx, keys := t.Context(), d.Keys()
	id, err := d.Submit(ctx, poppo.Task{Issue: 7, Prompt: "x"})
	must(t, err)
	must(t, keys.TaskOutcome(id).Set(ctx, poppokeys.TaskOutcomeValue{Ok: true, Text: "done", Ms: 5, By: "issue-7-test"}))
	await(t, "the issue is completed", func() bool { i, err := d.Issue(ctx, 7); must(t, err); return i.Status == "completed" })
	at := s.Do("EXPIRETIME", "poppo:issues:completed:today").(int64)
	if now := time.Now().Unix(); at%86400 != 0 || at < now-60 || at > now+86400+60 {
		t.Errorf("what was completed today ends at %s", time.Unix(at, 0).UTC())
	}
	_, err = keys.RegisterProcess(ctx, "issue-9-gone", "issue-9-gone", "x", poppokeys.RegisterProcessProgramPoppo, 9, "task-9", 1, 60_000)
	must(t, err)
	before := s.Do("PEXPIRETIME", "poppo:process:heartbeat:issue-9-gone")
	_, err = keys.ProcessHeartbeat("issue-9-gone").Get(ctx)
	must(t, err)
	if after := s.Do("PEXPIRETIME", "poppo:process:heartbeat:issue-9-gone"); after != before {
		t.Errorf("a reader has moved the end of a heartbeat from %v to %v", before, after)
	}
}

// TestStaleHolder: who has lost the lock of an issue moves it no more, and is not
// counted; the second run of a task that was counted is not either.
func TestStaleHolder(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Brands()[0])
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{})
	must(t, err)
	defer c.Close()
	keys := poppokeys.New(c)
	ctx, now := t.Context(), time.Now().UTC()
	old, err := keys.LockIssue(5).Acquire(ctx)
	must(t, err)
	must(t, old.Release(ctx))
	lease, err := keys.LockIssue(5).Acquire(ctx)
	must(t, err)
	s.Do("HSET", "poppo:stats:performance:hourly", "2020-01-01-00", "{}", now.Format("2006-01-02-15"), `{"runs":3,"failed":1,"ms":9}`)
	move := func(task string, fence int64) string {
		now := time.Now().UTC()
		said, err := keys.ChangeIssue(ctx, 5, now, task, 5, "completed", task, fence, now.Unix()/86400, now, now.Add(-time.Hour), 1, "x", 0)
		must(t, err)
		return said
	}
	for i, test := range []struct {
		task  string
		fence int64
		want  string
	}{{"task-1", old.Fence(), "stale"}, {"task-1", lease.Fence(), "ok"}, {"task-1", lease.Fence() + 1, "same"}, {"task-2", lease.Fence(), "ok"}} {
		if got := move(test.task, test.fence); got != test.want {
			t.Errorf("%d: %s by %d: %s, want %s", i, test.task, test.fence, got, test.want)
		}
	}
	if n := s.Do("HGET", "poppo:stats:issues:daily:"+now.Format(time.DateOnly), "completed"); n != "2" {
		t.Errorf("%v completed, want 2", n)
	}
	if hours := s.Do("HGETALL", "poppo:stats:performance:hourly"); len(hours.([]any)) != 2 || !strings.Contains(hours.([]any)[1].(string), `"runs":5`) {
		t.Errorf("by the hour: %v; a week is kept, and each task counts once", hours)
	}
}

// TestCleanUp: idle scratch keys go, those that are used and those of the other
// namespace stay; the rules are those of the declaration.
func TestCleanUp(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Brands()[0])
	dump := func(key string, idle string) {
		s.Do("SET", "from", "x")
		s.Do("RESTORE", key, "0", s.Do("DUMP", "from").(string), "IDLETIME", idle)
		s.Do("DEL", "from")
	}
	dump("poppo:temp:old", "7200")
	dump("poppo:temp:new", "60")
	dump("poppo:session:expired:1", "90000")
	dump("poppo-test:temp:old", "7200")
	dump("poppo:session:kept", "90000")
	daemon(t, s, poppo.Options{})
	await(t, "the idle keys are gone", func() bool {
		return s.Do("EXISTS", "poppo:temp:old", "poppo:session:expired:1") == int64(0)
	})
	if n := s.Do("EXISTS", "poppo:temp:new", "poppo-test:temp:old", "poppo:session:kept"); n != int64(3) {
		t.Errorf("%v of 3 keys are there that had to stay", n)
	}
	text, err := os.ReadFile("upkeep.go")
	must(t, err)
	ks, _ := keyspace.Load(os.DirFS("."), "keyspace.yaml")
	for _, c := range ks.Cleanup {
		if rule := `"` + strings.TrimPrefix(c.Match.Text, "poppo") + `"`; !strings.Contains(string(text), rule) {
			t.Errorf("upkeep.go does not know the rule %s", c.Match.Text)
		}
	}
}
