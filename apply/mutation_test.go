package apply_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/internal/mutation"
	kt "github.com/keywright/keywright/keywrighttest"
)

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) {
	mutation.Run(t, []mutation.Row{
		{Name: "a queue is moved by the process that may act", Guard: "for {\n\t\tif r.StillHeld != nil {",
			Instead: "for {\n\t\tif false {", Test: "TestMergeIsEndedInAQueue"},
		{Name: "jobs count whatever ends it", Guard: "r.Add(r.name(s.entry), journal.KeyCounts{Keys: 1, Changed: 1})",
			Instead: "_ = s", Test: "TestMergeIsEndedInAQueue"},
		{Name: "what stays is left", Guard: "r.merged(s, \"taken\", moved)\n",
			Instead: "r.merged(s, \"gone\", 1)\n",
			Test:    "TestMergeCounts"},
		{Name: "a key of which all went has changed", Guard: `if said == "gone" && moved > 0 {`,
			Instead: "if false {", Test: "TestMergeCounts"},
		{Name: "an undo looks for what went", Guard: "s.done = moved > 0", Instead: "_ = moved",
			Test: "TestAMergedQueueIsRenamedBack"},
		{Name: "an answer with fewer texts", Guard: "if len(reply) != 4 {", Instead: "if false {",
			Test: "TestMergeIsAnsweredWithFewTexts"},
		{Name: "both names of a member are one", Guard: "if !twice {", Instead: "if !twice || true {",
			Test: "TestTagWithBothNames"},
		{Name: "the higher score counts", Guard: "if b > a {", Instead: "if b > a && false {",
			Test: "TestTagWithBothNames"},
		{Name: "a queue in use under both names", Guard: "there == [3]int64{1, 1, 0}", Instead: "false",
			Test: "TestQueueInUseUnderBothNames"},
		{Name: "runs under both names", Guard: `lastRoles[:len(lastRoles):len(lastRoles)], "runs")`,
			Instead: `lastRoles[:len(lastRoles):len(lastRoles)])`, Test: "TestQueueInUseUnderBothNames"},
		{Name: "a copy of a killed run", Guard: "there == [3]int64{1, 1, 0}",
			Instead: "there[0]+there[1] == 2", Test: "TestQueueInUseUnderBothNames"},
	})
}

// queueRule returns the rule that renames the queue of these tests.
func queueRule(t *testing.T, merge bool) plan.Rule {
	t.Helper()
	after := keyspaceOf(queueAfter)
	pairs, err := plan.Former(after)
	must(t, err)
	rule, err := plan.NewRename(after, pairs, plan.RenameOptions{Merge: merge})
	must(t, err)
	return rule
}

// jobsOf puts so many jobs into the queue under its old name.
func jobsOf(s *kt.Server, n int) {
	s.Do("EVAL", `for i = 1, tonumber(ARGV[1]) do
		redis.call('RPUSH', 'jobs:a:low', 'j'..i)
		redis.call('SET', '{jobs:a}:job:j'..i, 'x')
	end`, "0", strconv.Itoa(n))
}

var errOther = errors.New("another one acts")

// TestMergeIsEndedInAQueue: a run that may not act any more ends in the middle of a queue, and its
// report counts the jobs that went until then.
func TestMergeIsEndedInAQueue(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	jobsOf(s, 1000)
	clients := applytest.Open(t, s.URL())
	left := 5
	o := apply.KeysOptions{Live: applytest.Live(t, s.URL(), 64<<10), StillHeld: func() error {
		if left--; left < 0 {
			return errOther
		}
		return nil
	}}
	report, err := apply.Keys(t.Context(), clients, scanOf(s.URL()), queueRule(t, true), o)
	if !errors.Is(err, errOther) {
		t.Errorf("%v", err)
	}
	old, now := s.Do("LLEN", "jobs:a:low").(int64), s.Do("LLEN", "work:a:low").(int64)
	if old == 0 || now == 0 || old+now != 1000 {
		t.Errorf("%d jobs under the old name, %d under the new one", old, now)
	}
	if report.Changed < now {
		t.Errorf("%d jobs went, and the report counts %d", now, report.Changed)
	}
	o.StillHeld = nil
	_, err = apply.Keys(t.Context(), clients, scanOf(s.URL()), queueRule(t, true), o)
	must(t, err)
	if got := s.Do("LLEN", "work:a:low"); got != int64(1000) {
		t.Errorf("%v jobs in the end", got)
	}
}

// TestMergeIsAnsweredWithFewTexts: what the script does not answer is an error.
func TestMergeIsAnsweredWithFewTexts(t *testing.T) {
	s := kt.Start(t, kt.Redis)
	jobsOf(s, 3)
	restore, ok := apply.MutateMerge("local call = redis.call", "do return { 'done' } end")
	if !ok {
		t.Fatal("the script begins in another way")
	}
	defer restore()
	defer func() {
		if what := recover(); what != nil {
			t.Errorf("it panics: %v", what)
		}
	}()
	o := apply.KeysOptions{Live: applytest.Live(t, s.URL(), 64<<10)}
	_, err := apply.Keys(t.Context(), applytest.Open(t, s.URL()), scanOf(s.URL()), queueRule(t, true), o)
	if err == nil || !strings.Contains(err.Error(), "too few texts") {
		t.Errorf("%v", err)
	}
}

// TestMergeCounts: a lane of which all jobs went has changed, and one of which a job stays is left.
func TestMergeCounts(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	jobsOf(s, 3)
	clients := applytest.Open(t, s.URL())
	o := apply.KeysOptions{Live: applytest.Live(t, s.URL(), 64<<10)}
	report, err := apply.Keys(t.Context(), clients, scanOf(s.URL()), queueRule(t, true), o)
	must(t, err)
	if report.Changed != 4 || report.KeyCounts.Left != 0 {
		t.Errorf("three jobs and a lane: %+v", report.KeyCounts)
	}
	s.Do("FLUSHALL")
	jobsOf(s, 3)
	s.Do("SET", "{work:a}:job:j2", "another")
	report, err = apply.Keys(t.Context(), clients, scanOf(s.URL()), queueRule(t, true), o)
	must(t, err)
	if report.Changed != 2 || report.KeyCounts.Left != 2 {
		t.Errorf("a job of them stays: %+v", report.KeyCounts)
	}
}

// TestTagWithBothNames: a set that got the new names before, and gets a new name itself, has
// each of them once, with the higher score, and its copy is the same.
func TestTagWithBothNames(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	after := keyspaceOf(`keywright: 1
keys:
  page: {key: "pg:{id}", was: ["page:{id}"], type: cache, ttl: 1h}
  tag: {key: "tg:{id}", was: ["tag:{id}"], type: zset, member: text, score: float, ttl: any}
`)
	pairs, err := plan.Former(after)
	must(t, err)
	r := &renamed{after, pairs}
	for score, want := range map[string]string{"4": "[part:1 7 pg:1 9]", "11": "[part:1 7 pg:1 11]"} {
		s.Do("FLUSHALL")
		s.Do("ZADD", "tag:1", "9", "page:1", "7", "part:1", score, "pg:1")
		report := r.run(t, s.URL(), plan.RenameOptions{}, apply.KeysOptions{})
		if got := fmt.Sprint(s.Do("ZRANGE", "tg:1", "0", "-1", "WITHSCORES")); got != want {
			t.Errorf("%s in place of %s: %+v", got, want, report.KeyCounts)
		}
		if got := s.Do("EXISTS", "tag:1"); got != int64(0) {
			t.Errorf("the old set is there: %+v", report.KeyCounts)
		}
	}
}

// TestQueueInUseUnderBothNames: where jobs are not moved one by one, a queue goes as a whole or not at
// all; what a killed run has copied is no other queue.
func TestQueueInUseUnderBothNames(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Valkey)
	clients := applytest.Open(t, s.URL())
	jobsOf(s, 3)
	s.Do("ZADD", "{jobs:a}:dead", "1", "dead")
	s.Do("ZADD", "{work:a}:dead", "1", "another")
	o := apply.KeysOptions{Live: applytest.Live(t, s.URL(), 64<<10)}
	report, err := apply.Keys(t.Context(), clients, scanOf(s.URL()), queueRule(t, false), o)
	must(t, err)
	if report.Changed != 0 || report.KeyCounts.Left != 5 || report.Left[0].Code != plan.QueueTwice {
		t.Errorf("a queue under both names: %+v", report)
	}
	s.Do("DEL", "{work:a}:dead")
	s.Do("HSET", "{jobs:a}:runs", "dead", "1")
	s.Do("HSET", "{work:a}:runs", "another", "1")
	report, err = apply.Keys(t.Context(), clients, scanOf(s.URL()), queueRule(t, false), o)
	must(t, err)
	if report.Changed != 0 || report.KeyCounts.Left != 6 || report.Left[0].Code != plan.QueueTwice {
		t.Errorf("what is known of jobs under both names: %+v", report)
	}
	s.Do("DEL", "{work:a}:runs", "{jobs:a}:runs")
	s.Do("ZADD", "{work:a}:dead", "1", "another")
	s.Do("SET", apply.MarkOf([]byte("{jobs:a}:dead"), "{work:a}:dead"), "a run that was killed")
	report, err = apply.Keys(t.Context(), clients, scanOf(s.URL()), queueRule(t, false), o)
	must(t, err)
	if report.Changed != 4 || report.KeyCounts.Left != 1 || report.Left[0].Code != plan.Taken {
		t.Errorf("a copy of a killed run: %+v", report)
	}
}
