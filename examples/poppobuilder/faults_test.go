package poppobuilder_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/keywright/keywright/event"
	poppo "github.com/keywright/keywright/examples/poppobuilder"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// processEnded reports whether a process has ended.
func processEnded(pid int) bool { return syscall.Kill(pid, 0) != nil }

// TestAgentsInTrouble: an agent that was frozen does not take its run back from the one
// that took it over, and what an agent has started ends with it.
func TestAgentsInTrouble(t *testing.T) {
	gate.Skip(t, "npm makes the agents; runs programs")
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := protected(t, brand, "poppo")
		at := open(t, s, "poppo")
		at.start("poppo", at.first()...)
		at.start("agenta")
		file := filepath.Join(t.TempDir(), "go")
		id := at.submit(poppo.Task{Issue: 7, Prompt: "wait " + file})
		first := held(t, file)
		at.signal("agenta", syscall.SIGSTOP)
		at.start("agentb")
		second := 0
		await(t, "another agent works on it", func() bool { second = held(t, file); return second != first })
		at.signal("agenta", syscall.SIGCONT)
		await(t, "the command of the frozen one is ended", func() bool { return processEnded(first) })
		if processEnded(second) || at.outcome(id) != nil {
			t.Errorf("the run has ended, or both commands have")
		}
		at.kill("agenta")
		at.kill("agentb")
		await(t, "the command of a killed agent is ended", func() bool { return processEnded(second) })
		letGo(t, file)
		at.start("agentc")
		await(t, "the run has an outcome", func() bool { return at.outcome(id) != nil })
		if out := at.outcome(id); !out.Ok || out.By != "issue-7-agentc" {
			t.Errorf("the outcome is %+v", out)
		}
		await(t, "all is quiet", at.quiet)
		at.figures(1, 0)
	})
}

// TestDaemonsInTrouble: a run that outlives its heartbeats stays; a daemon that was
// frozen changes nothing once another has its task; what a killed one leaves is
// repaired though no daemon takes its task; SIGTERM gives a task back; and all goes on
// when the server was killed.
func TestDaemonsInTrouble(t *testing.T) {
	gate.Skip(t, "npm makes the agents; runs programs")
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := protected(t, brand, "poppo")
		at := open(t, s, "poppo")
		var mu sync.Mutex
		var dead []string
		stop, err := at.d.Keys().ProcessDeadTopic().Subscribe(t.Context(), event.Options{},
			func(m event.Message[poppokeys.ProcessDeadMessage], err error) {
				mu.Lock()
				defer mu.Unlock()
				dead = append(dead, m.Data.Process)
			})
		must(t, err)
		defer stop()
		at.start("agenta")
		// what may not die lives for longer than a busy machine lets it wait
		at.start("one", "-heartbeat", "9s", "-lease", "9s")
		file := filepath.Join(t.TempDir(), "go")
		_, err = at.d.Submit(t.Context(), poppo.Task{Issue: 7, Prompt: "wait " + file})
		must(t, err)
		held(t, file)

		const beats = "poppo:process:heartbeat:issue-7-one"
		seen := map[any]bool{}
		await(t, "four signs of life", func() bool { seen[s.Do("GET", beats)] = true; return len(seen) > 4 })
		if ok := s.Do("SISMEMBER", "poppo:processes:active", "issue-7-one"); ok != int64(1) || seen[nil] {
			t.Errorf("a run that outlives its heartbeats: active %v, signs %v", ok, seen)
		}

		at.signal("one", syscall.SIGSTOP)
		at.start("two", "-heartbeat", "9s", "-lease", "9s")
		await(t, "another daemon has the task", func() bool {
			return s.Do("HGET", "poppo:process:info:issue-7-two", "issue") == "7"
		})
		at.signal("one", syscall.SIGCONT)
		await(t, "the frozen one gives up", func() bool {
			return s.Do("SISMEMBER", "poppo:processes:active", "issue-7-one") == int64(0) &&
				s.Do("SISMEMBER", "poppo:processes:zombies", "issue-7-one") == int64(0)
		})
		at.issue(7, "processing")
		at.kill("one")

		yes, no := true, false
		must(t, at.d.Set(t.Context(), poppo.Patch{Maintenance: &yes}))
		await(t, "maintenance", func() bool { return at.status().Paused })
		at.kill("two")
		at.start("three")
		await(t, "the issue is not in work any more", func() bool { return len(at.status().Processing) == 0 })
		at.issue(7, "interrupted")
		await(t, "its task is back", func() bool { st := at.status(); return st.Waiting["normal"] == 1 && st.Running == 0 })
		await(t, "it was said", func() bool { mu.Lock(); defer mu.Unlock(); return slices.Contains(dead, "issue-7-two") })

		must(t, at.d.Set(t.Context(), poppo.Patch{Maintenance: &no}))
		await(t, "the next one has it", func() bool { return len(at.status().Processing) == 1 })
		at.signal("three", syscall.SIGTERM)
		if err := at.running["three"].Wait(); err != nil {
			t.Errorf("SIGTERM: %v", err)
		}
		delete(at.running, "three")
		at.issue(7, "queued")
		// the agent's is active
		if st := at.status(); st.Waiting["normal"] != 1 || st.Running+int64(len(st.Processing)+len(st.Active)) > 1 {
			t.Errorf("after SIGTERM: %+v", st)
		}

		at.start("four", at.first()...)
		await(t, "the next one has it", func() bool { return len(at.status().Processing) == 1 })
		s.Kill()
		s.Restart()
		letGo(t, file)
		await(t, "the task is done", func() bool {
			i, err := at.d.Issue(t.Context(), 7)
			return err == nil &&
				i.Status == "completed"
		})
		await(t, "all is quiet", at.quiet)
		at.figures(1, 0)
		at.signal("agenta", syscall.SIGTERM)
		if err := at.running["agenta"].Wait(); err != nil {
			t.Errorf("SIGTERM for an agent: %v", err)
		}
		delete(at.running, "agenta")
	})
}

// TestPoison: a command that is slow is given up after the limit, which is read while
// the agent runs; a run that cannot be read, or that ended each agent that began it,
// is a failure and no reason to wait for ever.
func TestPoison(t *testing.T) {
	gate.Skip(t, "npm makes the agents; runs programs")
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := protected(t, brand, "poppo")
		at := open(t, s, "poppo")
		at.start("poppo", at.first()...)
		second := int64(1)
		at.ask("PUT", "/settings", poppo.Patch{ClaudeTimeout: &second}, nil)
		unread := at.submit(poppo.Task{Issue: 1, Prompt: "x"})
		begun := at.submit(poppo.Task{Issue: 2, Prompt: "x"})
		run := func(id string) string {
			var entry any
			await(t, id+" is with the agents", func() bool { entry = s.Do("GET", "poppo:task:run:"+id); return entry != nil })
			return entry.(string)
		}
		// in one step: a daemon that finds the run gone would put the task before the agents again
		s.Do("EVAL", `redis.call('XDEL', KEYS[1], ARGV[1])
			redis.call('SET', KEYS[2], redis.call('XADD', KEYS[1], '*', 'task', ARGV[2], 'issue', 'none'))`,
			"2", "poppo:task:runs", "poppo:task:run:"+unread, run(unread), unread)
		last := run(begun)
		s.Do("XREADGROUP", "GROUP", "agents", "killed", "COUNT", "9", "STREAMS", "poppo:task:runs", ">")
		s.Do("XCLAIM", "poppo:task:runs", "agents", "killed", "0", last, "RETRYCOUNT", "5", "IDLE", "60000")
		at.start("agenta")
		slow := at.submit(poppo.Task{Issue: 3, Prompt: "slow"})
		for id, want := range map[string]string{unread: "the run cannot be read", begun: "given up: 5 agents",
			slow: "ended by SIGKILL"} {
			await(t, id+" has an outcome", func() bool { return at.outcome(id) != nil })
			if out := at.outcome(id); out.Ok || !strings.HasPrefix(out.Text, want) {
				t.Errorf("%s: %+v, want %s", id, out, want)
			}
		}
	})
}
