package poppobuilder_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/examples/internal/sitetest"
	poppo "github.com/keywright/keywright/examples/poppobuilder"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestSystem: two namespaces on one server, daemons in Go and agents in TypeScript in
// each, all under the users that are printed for them. Whatever is killed, each task
// has one outcome and is counted once, the dead are found, and nothing is left.
func TestSystem(t *testing.T) {
	gate.Skip(t, "kills programs")
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := protected(t, brand, "poppo", "poppo-test")
		at, other := open(t, s, "poppo"), open(t, s, "poppo-test")
		moves := at.moves()
		for _, name := range []string{"second", "agenta", "agentb"} {
			at.start(name)
		}
		at.start("poppo", at.first()...)
		other.start("poppo", other.first()...)
		other.start("agenta")

		n := sitetest.Kills(t, 4)
		tasks, elsewhere := int64(12+2*n), int64(4)
		ids := map[string]int64{}
		for i := range tasks {
			ids[at.submit(poppo.Task{Issue: 100 + i/2, Prompt: fmt.Sprintf("task %d", i),
				Priority: []poppokeys.Priority{"", "high", "low"}[i%3]})] = 100 + i/2
		}
		for i := range elsewhere {
			other.submit(poppo.Task{Issue: 100 + i, Prompt: "elsewhere"})
		}
		if int64(len(ids)) != tasks || ids["task-1"] == 0 || ids[fmt.Sprint("task-", tasks)] == 0 {
			t.Errorf("the ids are not task-1 to task-%d: %v", tasks, ids)
		}
		asked := map[string]string{
			at.submit(poppo.Task{Issue: 300, Prompt: "please", Ask: true}): "done: please",
			at.submit(poppo.Task{Issue: 301, Prompt: "now", Ask: true}):    "Mirin: it does not say please",
			at.submit(poppo.Task{Issue: 302, Prompt: "now!", Ask: true}):   "Mirin: ",
			at.submit(poppo.Task{Issue: 303, Prompt: "this will fail"}):    "failed: this will fail",
		}
		random := gate.Rand(t)
		for i := range n { // each time when there is something to lose
			before, all := at.ended(), int(tasks)+4
			await(t, "another task is over", func() bool { return at.ended() > before || at.ended() == all })
			victim := []string{"agenta", "second", "agentb", "poppo"}[(i+random.IntN(2))%4]
			at.kill(victim)
			if victim == "poppo" {
				at.start(victim, at.first()...)
			} else {
				at.start(victim)
			}
		}
		await(t, "all is done", func() bool { return at.ended() == int(tasks)+4 && at.quiet() })
		await(t, "all is done elsewhere", func() bool { return other.ended() == int(elsewhere) && other.quiet() })

		for id := range ids {
			if out := at.outcome(id); out == nil || !out.Ok || !strings.HasPrefix(out.Text, "done: task ") {
				t.Errorf("%s: %+v", id, out)
			}
		}
		for id, want := range asked {
			if out := at.outcome(id); out == nil || !strings.HasPrefix(out.Text, want) {
				t.Errorf("%s: %+v, want %q", id, out, want)
			}
		}
		at.figures(tasks+1, 3)
		other.figures(elsewhere, 0)
		at.issue(100, "completed")
		at.issue(303, "failed")
		at.announced(moves(), tasks+1, 3)
		at.sessions()
		for _, x := range []*site{at, other} {
			await(t, "a backup", func() bool { _, err := x.d.Keys().BackupLast().Get().Do(t.Context()); return err == nil })
			x.backedUp()
			await(t, "a clean-up", func() bool { _, err := x.d.Keys().CleanupLast().Get().Do(t.Context()); return err == nil })
			for name := range x.running {
				x.kill(name)
			}
			sitetest.Keywright(t, admin(s), "audit", "--namespace", x.namespace, "--values=all", "--quiet")
		}
		for _, name := range s.Do("SCAN", "0", "COUNT", "100000").([]any)[1].([]any) {
			if name := name.(string); !strings.HasPrefix(name, "poppo:") && !strings.HasPrefix(name, "poppo-test:") &&
				!strings.HasPrefix(name, "keywright:") {
				t.Errorf("%s is in no namespace", name)
			}
		}
		sitetest.Refusals(t, s)
	})
}

// moves records the events of issues; the result gives them as they are now.
func (at *site) moves() func() map[int64][]string {
	at.t.Helper()
	var mu sync.Mutex
	seen := map[int64][]string{}
	stop, err := at.d.Keys().IssueStatusChangedTopic().Subscribe(at.t.Context(), event.Options{},
		func(m event.Message[poppokeys.IssueStatusChangedMessage], err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				at.t.Error(err)
				return
			}
			seen[m.Data.Number] = append(seen[m.Data.Number], m.Data.Status)
		})
	must(at.t, err)
	at.t.Cleanup(stop)
	return func() map[int64][]string {
		mu.Lock()
		defer mu.Unlock()
		out := map[int64][]string{}
		for n, moves := range seen {
			out[n] = slices.Clone(moves)
		}
		return out
	}
}

// announced: each end of a task was announced once, no move twice in a row for one
// task, and the last event of an issue is its status.
func (at *site) announced(moves map[int64][]string, completed, failed int64) {
	at.t.Helper()
	counts := map[string]int64{}
	for number, all := range moves {
		for _, status := range all {
			counts[status]++
		}
		at.issue(number, all[len(all)-1])
	}
	if counts["completed"] != completed || counts["failed"] != failed || counts["processing"] < completed+failed-2 {
		at.t.Errorf("%s announced %v, want %d completed and %d failed", at.namespace, counts, completed, failed)
	}
}

// outcome returns what the daemon says of a task that has ended, nil of another one.
func (at *site) outcome(id string) *poppokeys.TaskOutcomeValue {
	at.t.Helper()
	var s poppo.TaskState
	at.ask("GET", "/tasks/"+id, nil, &s)
	return s.Outcome
}

// sessions are made, read by their id, live for 30 days, and end.
func (at *site) sessions() {
	at.t.Helper()
	var made struct{ ID string }
	at.ask("POST", "/sessions", map[string]string{"user": "hana"}, &made)
	var s poppokeys.SessionValue
	at.ask("GET", "/sessions/"+made.ID, nil, &s)
	key := at.namespace + ":session:" + made.ID
	if left := at.server.Do("PTTL", key).(int64); s.User != "hana" || left < 29*86_400_000 || left > 30*86_400_000 {
		at.t.Errorf("the session %+v lives %d ms", s, left)
	}
	at.ask("DELETE", "/sessions/"+made.ID, nil, nil)
	if n := at.server.Do("EXISTS", key); n != int64(0) {
		at.t.Error("a session that was ended is there")
	}
}

// figures are those of today and of this hour: each task once.
func (at *site) figures(completed, failed int64) {
	at.t.Helper()
	if c, f := at.count("completed"), at.count("failed"); c != completed || f != failed {
		at.t.Errorf("%s: %d completed and %d failed, want %d and %d", at.namespace, c, f, completed, failed)
	}
	hours, err := at.d.Keys().StatsPerformanceHourly().All().Do(at.t.Context())
	must(at.t, err)
	var runs int64
	for _, text := range hours {
		var hour struct{ Runs int64 }
		must(at.t, json.Unmarshal(text, &hour))
		runs += hour.Runs
	}
	if runs != completed+failed {
		at.t.Errorf("%s has %d runs by the hour, want %d", at.namespace, runs, completed+failed)
	}
	memory, cpu := at.namespace+":metrics:memory:history", at.namespace+":metrics:cpu:current"
	if sample := fmt.Sprint(at.server.Do("XREVRANGE", memory, "+", "-", "COUNT", "1")); !strings.Contains(sample, " by ") {
		at.t.Errorf("the last sample of memory: %s", sample)
	}
	await(at.t, "the use of the CPU", func() bool {
		use, err := at.d.Keys().MetricsCPUCurrent().Get().Do(at.t.Context())
		left := at.server.Do("PTTL", cpu).(int64)
		return err == nil && use >= 0 && use <= 100 && left > 0 && left <= 300_000
	})
}

func (at *site) issue(n int64, want string) {
	at.t.Helper()
	i, err := at.d.Issue(at.t.Context(), n)
	if err != nil || i.Status != want || i.Metadata["status"] != want || i.Metadata["task"] == "" {
		at.t.Errorf("issue %d: %+v, %v; want %s", n, i, err, want)
	}
}

// backedUp: the archive of the day holds keys of its namespace, and no others.
func (at *site) backedUp() {
	at.t.Helper()
	last, err := at.d.Keys().BackupLast().Get().Do(at.t.Context())
	must(at.t, err)
	n := 0
	for line := range strings.Lines(sitetest.Keywright(at.t, admin(at.server), "archive", "ls", "--any-namespace",
		last.File)) {
		if strings.Contains(line, ":") {
			n++
			if !strings.Contains(line, at.namespace+":") {
				at.t.Errorf("the backup of %s holds %s", at.namespace, line)
			}
		}
	}
	if n == 0 {
		at.t.Errorf("the backup of %s is empty", at.namespace)
	}
}

// held waits until an agent runs a prompt that waits for a file, and gives the pid of
// its command.
func held(t *testing.T, file string) (pid int) {
	t.Helper()
	await(t, "an agent is at work", func() bool {
		text, err := os.ReadFile(file + ".pid")
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return pid
}

// letGo ends the prompts that wait for a file.
func letGo(t *testing.T, file string) { t.Helper(); must(t, os.WriteFile(file, nil, 0o600)) }
