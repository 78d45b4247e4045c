package poppobuilder_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	poppo "github.com/keywright/keywright/examples/poppobuilder"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

func keysOf(t *testing.T, s *keywrighttest.Server) *poppokeys.Keyspace {
	t.Helper()
	c := servertest.Open(t, s.URL())
	return poppokeys.New(c)
}

// TestChangeIssue: each answer of change_issue, and what it leaves.
func TestChangeIssue(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		keys := keysOf(t, s)
		ctx, now := t.Context(), time.Now().UTC()
		old, err := keys.LockIssue(5).Acquire(ctx)
		must(t, err)
		must(t, old.Release(ctx))
		lease, err := keys.LockIssue(5).Acquire(ctx)
		must(t, err)
		hour := now.Format("2006-01-02-15")
		s.Do("HSET", "poppo:stats:performance:hourly", "2020-01-01-00", "{}", hour, `{"runs":3,"failed":1,"ms":9}`)
		move := func(task, status string, fence, days int64) (string, error) {
			today := now.Unix()/86400 + days
			return keys.ChangeIssue(5, now, task, 5, status, task, fence, today, now, now.Add(-time.Hour), 1, "x", 0).Do(ctx)
		}
		fence := lease.Fence()
		for i, test := range []struct {
			task, status string
			fence, days  int64
			want         string
		}{
			{"task-1", "queued", 0, 0, "ok"},
			{"task-1", "processing", old.Fence(), 0, "stale"},
			{"task-1", "processing", fence, 0, "ok"},
			{"task-1", "processing", fence, 0, "same"},
			{"task-2", "queued", 0, 0, "busy"},
			{"task-1", "completed", fence, 1, "1"}, // the server's time: that was not its day
			{"task-1", "completed", old.Fence(), 0, "stale"},
			{"task-1", "completed", fence, 0, "ok"},
			{"task-1", "failed", fence + 1, 0, "over"},
			{"task-2", "dead", fence, 0, "ok"},
			{"task-2", "processing", fence, 0, "ok"}, // it was tried again
			{"task-2", "dead", fence, 0, "ok"},       // and is in the figures already
			{"task-2", "completed", fence, 0, "ok"},
			{"task-2", "dead", fence, 0, "over"},
		} {
			got, err := move(test.task, test.status, test.fence, test.days)
			must(t, err)
			if got != test.want && (test.want != "1" || !strings.HasPrefix(got, "1") || len(got) < 10) {
				t.Errorf("%d: %s of %s by %d: %s, want %s", i, test.status, test.task, test.fence, got, test.want)
			}
		}
		figures, err := keys.StatsIssuesDaily(now).All().Do(ctx)
		must(t, err)
		if figures["completed"] != 2 || figures["dead"] != 1 || figures["failed"] != 0 {
			t.Errorf("the figures of the day: %v", figures)
		}
		hours, err := keys.StatsPerformanceHourly().All().Do(ctx)
		must(t, err)
		if len(hours) != 1 {
			t.Errorf("the figures by the hour: %v; older ones go", hours)
		}
		for _, text := range hours {
			if !strings.Contains(string(text), `"runs":6`) || !strings.Contains(string(text), `"failed":2`) {
				t.Errorf("of this hour: %s", text)
			}
		}
		s.Do("HSET", "poppo:stats:issues:daily:"+now.Format(time.DateOnly), "failed", "many")
		if _, err := move("task-3", "failed", fence, 0); err == nil {
			t.Error("a figure that is no number is counted up")
		}
		if st, _ := keys.IssueStatus(5).Get().Do(ctx); st != "completed" {
			t.Errorf("a move that was refused left %s", st)
		}
	})
}

// TestProcessScripts: a process begins, renews, is found dead once it has no heartbeat,
// and ends; one that began again elsewhere is not touched by the one before.
func TestProcessScripts(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		keys, ctx := keysOf(t, s), t.Context()
		const id = "issue-9-poppo"
		begin := func(instance string) {
			_, err := keys.RegisterProcess(9, "poppo", id, instance, poppokeys.RegisterProcessProgramPoppo, 9, "task-1", 3,
				60_000).Do(ctx)
			must(t, err)
		}
		check := func(what string, got bool, err error, want bool) {
			t.Helper()
			if err != nil || got != want {
				t.Errorf("%s: %t, %v; want %t", what, got, err, want)
			}
		}
		beat := func(instance string) (bool, error) { return keys.BeatProcess(9, "poppo", id, instance, 60_000).Do(ctx) }
		bury := func() (bool, error) { return keys.BuryProcess(9, "poppo", id).Do(ctx) }
		ok, err := bury()
		check("a process that never began is dead", ok, err, false)
		begin("one")
		s.Do("PEXPIRE", "poppo:process:heartbeat:"+id, "30000")
		ok, err = beat("one")
		check("it beats", ok, err, true)
		if left := s.Do("PTTL", "poppo:process:heartbeat:"+id).(int64); left <= 30_000 {
			t.Errorf("a beat leaves %d ms", left)
		}
		begin("two")
		ok, err = beat("one")
		check("the one before beats", ok, err, false)
		ok, err = keys.EndProcess(9, "poppo", id, "one").Do(ctx)
		check("the one before ends it", ok, err, false)
		ok, err = bury()
		check("a living one is dead", ok, err, false)
		s.Do("DEL", "poppo:process:heartbeat:"+id)
		ok, err = beat("two")
		check("a late beat counts", ok, err, false)
		ok, err = bury()
		check("it is dead", ok, err, true)
		ok, err = bury()
		check("it is dead twice", ok, err, false)
		if n := s.Do("SISMEMBER", "poppo:processes:zombies", id); n != int64(1) ||
			s.Do("SCARD", "poppo:processes:active") != int64(0) {
			t.Errorf("a dead one is among the zombies %v", n)
		}
		begin("three")
		if n := s.Do("SCARD", "poppo:processes:zombies"); n != int64(0) {
			t.Error("one that began again is a zombie")
		}
		ok, err = keys.EndProcess(9, "poppo", id, "three").Do(ctx)
		check("it ends", ok, err, true)
		if n := s.Do("DBSIZE"); n != int64(0) {
			t.Errorf("a clean end leaves %v keys", n)
		}
	})
}

// TestRunScripts: a task is handed over once and within the rate, a run stays with one
// agent, and the first outcome counts.
func TestRunScripts(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		keys, ctx, now := keysOf(t, s), t.Context(), time.Now().UTC()
		must(t, keys.TaskRunsAgentsGroup().Ensure().Do(ctx))
		hand := func(task string, limit int64, want string) {
			t.Helper()
			got, err := keys.HandOver(task, now, task, 7, "work", "prompt", 3, limit).Do(ctx)
			if err != nil || got != want {
				t.Errorf("%s: %s, %v; want %s", task, got, err, want)
			}
		}
		hand("task-1", 0, "rate")
		hand("task-1", 1, "handed")
		hand("task-1", 1, "there")
		hand("task-2", 1, "rate")
		s.Do("DEL", "poppo:task:runs")
		hand("task-1", 2, "handed")
		if n := s.Do("GET", "poppo:metrics:github:"+now.Format("2006-01-02-15")); n != "2" {
			t.Errorf("%v calls", n)
		}
		must(t, keys.TaskRunsAgentsGroup().Ensure().Do(ctx))
		take := func(who string) {
			s.Do("XREADGROUP", "GROUP", "agents", who, "COUNT", "1", "STREAMS", "poppo:task:runs", ">")
		}
		entry := s.Do("GET", "poppo:task:run:task-1").(string)
		keep := func(who string, want bool) {
			t.Helper()
			if ok, err := keys.KeepRun("agents", who, entry).Do(ctx); err != nil || ok != want {
				t.Errorf("%s keeps the run: %t, %v", who, ok, err)
			}
		}
		keep("a", false)
		take("a")
		keep("a", true)
		keep("b", false)
		s.Do("XAUTOCLAIM", "poppo:task:runs", "agents", "b", "0", "0")
		keep("a", false)
		keep("b", true)
		end := func(ok string, want bool) {
			t.Helper()
			first, err := keys.FinishRun("task-1", "agents", entry, `{"ok":`+ok+`,"text":"x","ms":1,"by":"issue-7-b"}`,
				60_000, "x", "x").Do(ctx)
			if err != nil || first != want {
				t.Errorf("the outcome is the first one: %t, %v", first, err)
			}
		}
		end("true", true)
		end("false", false)
		keep("b", false)
		if out, err := keys.TaskOutcome("task-1").Get().Do(ctx); err != nil || !out.Ok {
			t.Errorf("%+v, %v", out, err)
		}
		hand("task-1", 9, "done")
		if n, err := keys.TaskRuns().Len().Do(ctx); err != nil || n != 0 {
			t.Errorf("%d runs are left, %v", n, err)
		}
	})
}

// TestWhatMayNotBeToldIsNotWritten: a user that is not allowed the channel leaves nothing.
func TestWhatMayNotBeToldIsNotWritten(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		s.Do("ACL", "SETUSER", "mute", "on", ">x", "~*", "+@all", "resetchannels")
		c := servertest.Open(t, strings.Replace(s.URL(), "://", "://mute:x@", 1))
		keys, ctx, now := poppokeys.New(c), t.Context(), time.Now().UTC()
		if said, err := keys.ChangeIssue(5, now, "task-1", 5, "queued", "task-1", 0, now.Unix()/86400, now, now, 1, "x",
			0).Do(ctx); err == nil {
			t.Errorf("an issue is moved: %s", said)
		}
		if _, err := keys.FinishRun("task-1", "agents", "1-1", `{"ok":true}`, 60_000, "x", "x").Do(ctx); err == nil {
			t.Error("a run is finished")
		}
		if n := s.Do("DBSIZE"); n != int64(0) {
			t.Errorf("%v keys were written", n)
		}
	})
}

// TestMigrationLock: one migration runs at a time in a namespace, under the key that the page gives
// its lock, with a TTL; the lock of a process is another one. A daemon makes what its version needs
// under it.
func TestMigrationLock(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	keys, ctx := keysOf(t, s), t.Context()
	test, err := poppokeys.InNamespace("poppo-test")
	must(t, err)
	first, err := keys.LockMigration().Try(ctx)
	must(t, err)
	if ttl := s.Do("PTTL", "poppo:lock:process:migration").(int64); ttl <= 0 || ttl > 30_000 {
		t.Errorf("the lock of the page ends after %d ms", ttl)
	}
	if _, err := keysOf(t, s).LockMigration().Try(ctx); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("a second migration: %v", err)
	}
	for what, free := range map[string]lock.Lock{"a process": keys.LockProcess(7, "migration"),
		"another namespace": poppokeys.NewTuned(keys.Client(), poppokeys.Tuning{Namespace: test}).LockMigration()} {
		lease, err := free.Try(ctx)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		must(t, lease.Release(ctx))
	}
	daemon(t, s, poppo.Options{})
	await(t, "a daemon that starts waits for it", func() bool {
		return s.Do("ZCARD", "poppo:{poppo:lock:process:migration}:waiters") == int64(1)
	})
	if s.Do("EXISTS", "poppo:task:runs") != int64(0) {
		t.Error("the daemon has begun what its version needs")
	}
	must(t, first.Release(ctx))
	await(t, "the daemon makes it", func() bool { return s.Do("EXISTS", "poppo:task:runs") == int64(1) })
	second, err := keys.LockMigration().Acquire(ctx)
	must(t, err)
	if second.Fence() <= first.Fence() {
		t.Errorf("the second has token %d, the first had %d", second.Fence(), first.Fence())
	}
	must(t, second.Release(ctx))
}
