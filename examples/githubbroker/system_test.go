package githubbroker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	broker "github.com/keywright/keywright/examples/githubbroker"
	"github.com/keywright/keywright/examples/githubbroker/brokerkeys"
	"github.com/keywright/keywright/examples/githubbroker/hub"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// recordStore keeps what agents write: it refuses a fencing token that is older than one it has
// seen, as a resource should that two agents must not change at a time.
type recordStore struct {
	hub *hub.Server

	mu     sync.Mutex
	fences map[int64]int64
	agents map[string]string // by number and fencing token
	done   map[string]int    // by kind and number, or the id of a comment
	late   int
	two    []string // what two agents had under one fencing token
}

// ServeHTTP takes a task, does on GitHub what an agent would, and answers 409 to one that
// is late.
func (l *recordStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var task broker.Task
	fence, err := strconv.ParseInt(r.URL.Query().Get("fence"), 10, 64)
	if err != nil || json.NewDecoder(r.Body).Decode(&task) != nil || fence != task.Fence {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if fence < l.fences[task.Number] {
		l.late++
		w.WriteHeader(http.StatusConflict)
		return
	}
	l.fences[task.Number] = fence
	one := fmt.Sprint(task.Number, " ", fence)
	if before, had := l.agents[one]; had && before != task.Agent {
		l.two = append(l.two, fmt.Sprintf("%s and %s have %s", before, task.Agent, one))
	}
	l.agents[one] = task.Agent
	switch task.Kind {
	case broker.FixTask:
		for _, c := range task.Fix.Comments {
			l.done[fmt.Sprint("comment ", c.ID)]++
		}
	case broker.ReviewTask:
		l.done[fmt.Sprint("review ", task.Number)]++
		l.hub.Close(task.Number)
	default:
		l.done[fmt.Sprint("development ", task.Number)]++
		if task.Number%3 == 0 {
			l.hub.Label(task.Number, "needs-review")
		} else {
			l.hub.Close(task.Number)
		}
	}
}

// has demands that all that was wanted is done, by one agent under each fencing token.
func (l *recordStore) has(t *testing.T, want map[string]bool) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for what := range want {
		if l.done[what] == 0 {
			t.Errorf("%s was not done", what)
		}
	}
	for _, two := range l.two {
		t.Error(two)
	}
	t.Logf("%d pieces of work, %d late ones refused", len(want), l.late)
}

// count returns how many pieces of work were done, each counted once.
func (l *recordStore) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.done)
}

// TestSystem: pollers, brokers and agents as processes of their own, each under the user that
// is printed for it, the default user off for them. Whatever is killed, all that GitHub has
// is done, by one agent under each fencing token, and nothing is left of it.
func TestSystem(t *testing.T) {
	gate.Skip(t, "kills programs")
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := protected(t, brand)
		h, github := repository(t)
		l := &recordStore{hub: h, fences: map[int64]int64{}, agents: map[string]string{}, done: map[string]int{}}
		book := httptest.NewServer(l)
		t.Cleanup(book.Close)

		n := sitetest.Kills(t, 5)
		want := map[string]bool{}
		for range 12 + 3*n {
			i := h.Open("an issue")
			want[fmt.Sprint("development ", i)] = true
			if i%3 == 0 {
				want[fmt.Sprint("review ", i)] = true
			}
		}
		for range 3 + n/2 {
			pull := h.OpenPull("a change", "agent-1")
			for range 2 {
				want[fmt.Sprint("comment ", h.Comment(pull, "reviewer", "no"))] = true
			}
		}

		at := &programsOf{t: t, s: s, github: github, book: book.URL,
			http: []string{keywrighttest.Address(t), keywrighttest.Address(t)}, running: map[string]*sitetest.Process{}}
		for _, name := range []string{"poll-0", "poll-1", "serve-0", "serve-1", "agent-0", "agent-1", "agent-2"} {
			at.start(name)
		}
		random := gate.Rand(t)
		for range n { // each time when there is something to lose
			before := l.count()
			await(t, "another piece of work is done", func() bool { return l.count() > before || l.count() == len(want) })
			names := slices.Sorted(func(yield func(string) bool) {
				for name := range at.running {
					if !yield(name) {
						return
					}
				}
			})
			victim := names[random.IntN(len(names))]
			at.running[victim].Kill()
			at.start(victim)
		}
		await(t, "all is done", func() bool { return l.count() == len(want) })
		l.has(t, want)

		keys := brokerkeys.New(open(t, sitetest.URL(s, "test")))
		for _, number := range h.Numbers() {
			t.Errorf("issue %d is open", number)
		}
		await(t, "the cache is empty", func() bool {
			issues, err1 := keys.OpenIssues().Len().Do(t.Context())
			fixes, err2 := keys.OpenFixes().Len().Do(t.Context())
			must(t, err1)
			must(t, err2)
			return issues == 0 && fixes == 0
		})
		for name, p := range at.running {
			if err := p.Stop(); err != nil {
				t.Errorf("%s was asked to stop: %v", name, err)
			}
		}
		leftovers(t, s)
		sitetest.Keywright(t, sitetest.URL(s, "test"), "audit", "--values=all", "--quiet")
		sitetest.Refusals(t, s)
	})
}

// programsOf holds the programs of a system.
type programsOf struct {
	t            *testing.T
	s            *keywrighttest.Server
	github, book string
	http         []string // of the brokers
	running      map[string]*sitetest.Process
}

// start runs a program, or runs it again under its name.
func (at *programsOf) start(name string) {
	at.t.Helper()
	kind, i := name[:len(name)-2], int(name[len(name)-1]-'0')
	args := []string{kind}
	var env []string
	switch kind {
	case "poll":
		env = []string{"BROKER_REDIS=" + sitetest.URL(at.s, "sync_issues"), "GITHUB_TOKEN=" + token, "BROKER_REPO=" + repo}
		args = append(args, "-github", at.github, "-poll", "200ms", "-lease", "2s")
	case "serve":
		env = []string{"BROKER_REDIS=" + sitetest.URL(at.s, "task_service")}
		args = append(args, "-http", at.http[i], "-review-delay", "1ms", "-lease", "2s", "-rest", "100ms")
	default: // it knows neither Redis nor GitHub
		env = []string{ledgerVar + "=" + at.book}
		args = append(args, "-broker", "http://"+at.http[i%len(at.http)], "-name", name, "-idle", "50ms", "--", os.Args[0])
	}
	at.running[name] = sitetest.Start(at.t, env, sitetest.Program(at.t, "brokerd"), args...)
}

// leftovers: what is left is declared, and expires, but for when GitHub was read last.
func leftovers(t *testing.T, s *keywrighttest.Server) {
	t.Helper()
	stays, err := brokerkeys.SyncedKey()
	must(t, err)
	for _, k := range s.Do("SCAN", "0", "COUNT", "100000").([]any)[1].([]any) {
		if key := k.(string); key != stays && s.Do("PTTL", key).(int64) < 0 && s.Do("EXISTS", key) == int64(1) {
			t.Errorf("%s is left, and has no TTL", key)
		}
	}
}

// TestStop: a program that is asked to stop, at whatever moment, stops in order, and gives
// back what it has.
func TestStop(t *testing.T) {
	gate.Skip(t, "runs programs")
	s := protected(t, keywrighttest.Valkey)
	h, github := repository(t)
	h.Open("an issue")
	at := &programsOf{t: t, s: s, github: github, http: []string{keywrighttest.Address(t)},
		running: map[string]*sitetest.Process{}}
	at.start("poll-0")
	at.start("serve-0")
	url := "http://" + at.http[0]
	file := filepath.Join(t.TempDir(), "at-work")
	agent := sitetest.Start(t, nil, sitetest.Program(t, "brokerd"), "agent", "-broker", url, "-name", "agent-7", "-idle",
		"20ms", "--", "sh", "-c", `echo "$BROKER_KIND $BROKER_NUMBER" >`+file+`; exec sleep 1000`)
	await(t, "the agent is at work", func() bool {
		text, err := os.ReadFile(file)
		return err == nil &&
			string(text) == "development 1\n"
	})
	if err := agent.Stop(); err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	var task broker.Task
	if code := ask(t, "POST", url+"/agents/agent-8/task", nil, &task); code != 200 || task.Number != 1 {
		t.Errorf("the work of an agent that was stopped: %d %+v", code, task)
	}
	for name, p := range at.running {
		if err := p.Stop(); err != nil {
			t.Errorf("%s ended with %v", name, err)
		}
	}
	sitetest.Refusals(t, s)
}

// TestStopsAll: what the command of an agent has started, and does not end when it is asked to,
// is killed with it.
func TestStopsAll(t *testing.T) {
	gate.Skip(t, "runs programs")
	s := protected(t, keywrighttest.Redis)
	h, github := repository(t)
	h.Open("an issue")
	at := &programsOf{t: t, s: s, github: github, http: []string{keywrighttest.Address(t)},
		running: map[string]*sitetest.Process{}}
	at.start("poll-0")
	at.start("serve-0")
	file := filepath.Join(t.TempDir(), "at-work")
	agent := sitetest.Start(t, nil, sitetest.Program(t, "brokerd"), "agent", "-broker", "http://"+at.http[0], "-name",
		"agent-7",
		"-idle", "20ms", "--", "sh", "-c", `sh -c 'trap "" TERM; echo $$ >`+file+`.new; mv `+file+`.new `+file+
			`; exec sleep 1000'; exit 0`)
	pid := 0
	await(t, "the agent is at work", func() bool {
		text, err := os.ReadFile(file)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil
	})
	if err := agent.Stop(); err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	await(t, "what the command had started has ended", func() bool {
		return errors.Is(syscall.Kill(pid, 0),
			syscall.ESRCH)
	})
}

// TestLostWork: an agent whose work another one has taken ends its command.
func TestLostWork(t *testing.T) {
	gate.Skip(t, "runs programs")
	s := protected(t, keywrighttest.Redis)
	h, github := repository(t)
	h.Open("an issue")
	at := &programsOf{t: t, s: s, github: github, http: []string{keywrighttest.Address(t)},
		running: map[string]*sitetest.Process{}}
	at.start("poll-0")
	at.start("serve-0")
	file := filepath.Join(t.TempDir(), "at-work")
	agent := sitetest.Start(t, nil, sitetest.Program(t, "brokerd"), "agent", "-broker", "http://"+at.http[0], "-name",
		"agent-7", "-idle", "20ms", "--", "sh", "-c",
		`trap 'echo ended >>`+file+`; kill $!; exit 1' TERM; echo began >>`+file+`; sleep 1000 & wait`)
	says := func(want string) func() bool {
		return func() bool { text, err := os.ReadFile(file); return err == nil && string(text) == want }
	}
	await(t, "the agent is at work", says("began\n"))
	s.Do("SET", "issue_lock_1", "another/one", "PX", "600000") // as after a long freeze
	await(t, "the command has ended", says("began\nended\n"))
	if err := agent.Stop(); err != nil {
		t.Error(err)
	}
}

// TestSecrets: no flag has a password, and none is in what a program says.
func TestSecrets(t *testing.T) {
	gate.Skip(t, "runs programs")
	const secret = "a-secret"
	for _, args := range [][]string{
		{"poll", "-repo", repo, "-redis", "redis://u:" + secret + "@127.0.0.1:1"},
		{"serve", "-redis", "redis://:" + secret + "@127.0.0.1:1"},
		{"serve", "-redis", "redis+sentinel://127.0.0.1:1/m?sentinel_password=" + secret},
	} {
		p := sitetest.Start(t, nil, sitetest.Program(t, "brokerd"), args...)
		said := func() string { return p.Said.String() }
		if err := p.Wait(); err == nil || !strings.Contains(said(), "BROKER_REDIS") || strings.Contains(said(), secret) {
			t.Errorf("%s: %v, %s", args[0], err, said())
		}
	}
	for _, args := range [][]string{{"poll", "-repo", repo, "-help"}, {"poll", "-repo", "nonsense"},
		{"serve", "-http", "nonsense"}, {"agent"}, {"nothing"}, {}} {
		p := sitetest.Start(t, []string{"BROKER_REDIS=redis://u:" + secret + "@127.0.0.1:1", "GITHUB_TOKEN=" + secret},
			sitetest.Program(t, "brokerd"), args...)
		if err := p.Wait(); err == nil || strings.Contains(p.Said.String(), secret) {
			t.Errorf("%v: %v, %s", args, err, p.Said)
		}
	}
}
