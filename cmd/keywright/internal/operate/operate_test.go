package operate

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
)

// hands represents a planner whose work a test lets go on.
type hands struct {
	mu       sync.Mutex
	changes  int64
	planErr  error
	doErr    error
	held     chan struct{} // Execute waits for it; nil: it does not
	began    chan struct{}
	executed int
}

func (h *hands) Request(a Ask) (plan.Request, string, error) {
	if a.Verb != "clean" {
		return plan.Request{}, "", refusal("no-such-verb", "clean", "no plan is made of %s", a.Verb)
	}
	return plan.Request{}, "clean", nil
}

func (h *hands) Plan(context.Context, string, plan.Request) (*plan.Plan, error) {
	p := &plan.Plan{Format: plan.Format, Verb: "clean", Entries: []plan.Part{}}
	p.Total.Keys, p.Total.Change = h.changes, h.changes
	if h.planErr != nil {
		return nil, h.planErr
	}
	return p, p.Seal()
}

func (h *hands) Execute(ctx context.Context, path string, told func(int64)) (Outcome, error) {
	h.mu.Lock()
	h.executed++
	h.mu.Unlock()
	if _, err := os.Stat(path); err != nil {
		return Outcome{}, err
	}
	told(1)
	if h.held != nil {
		h.began <- struct{}{}
		select {
		case <-h.held:
		case <-ctx.Done():
			return Outcome{Total: journal.KeyCounts{Keys: 1, Changed: 1}}, ctx.Err()
		}
	}
	return Outcome{Total: journal.KeyCounts{Keys: h.changes, Changed: h.changes}, Complete: h.doErr == nil}, h.doErr
}

func newQueue(t *testing.T, dir string, h *hands) *PlanQueue {
	t.Helper()
	d, err := Open(dir,
		Options{Planners: map[string]Planner{"a": h}, Now: time.Now, Changed: func(string, []observe.Run, observe.Run) {}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var alice = By{User: "alice", From: "10.0.0.1"}

func makes(t *testing.T, d *PlanQueue) string {
	t.Helper()
	id, made, err := d.Make("a", alice, Ask{Verb: "clean"})
	if err != nil {
		t.Fatal(err)
	}
	<-made
	return id
}

func state(t *testing.T, d *PlanQueue, id string) Detail {
	t.Helper()
	out, ok := d.Get("a", id)
	if !ok {
		t.Fatal("there is no run", id)
	}
	return out
}

func refuses(t *testing.T, err error, code string) {
	t.Helper()
	if r, ok := errors.AsType[*Refusal](err); !ok || r.Code != code {
		t.Errorf("%v, want the refusal %s", err, code)
	}
}

func TestAPlanIsMadeAppliedAndLogged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := newQueue(t, dir, &hands{changes: 3})
	id := makes(t, d)
	if r := state(t, d, id); r.State != observe.Planned || r.Change != 3 || r.By != "alice" {
		t.Errorf("%+v", r)
	}
	if err := d.Apply("a", id, alice); err != nil {
		t.Fatal(err)
	}
	if r, ok := d.Wait(t.Context(), "a", id, alice); !ok || r.State != observe.Done || r.Did.Total.Changed != 3 {
		t.Errorf("%+v", r)
	}
	refuses(t, d.Apply("a", id, alice), "state")
	refuses(t, d.Apply("b", id, alice), "no-such-plan")
	refuses(t, d.Stop("a", id, alice), "state")
	if _, _, err := d.Make("a", alice, Ask{Verb: "flush"}); err == nil {
		t.Error("a verb that there is not")
	}
	_, _, err := d.Make("b", alice, Ask{Verb: "clean"})
	refuses(t, err, "no-server")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "changes.log"))
	if err != nil || strings.Count(string(text), "\n") != 2 ||
		!strings.Contains(string(text), `"user":"alice","from":"10.0.0.1","action":"apply"`) {
		t.Errorf("%v %s", err, text)
	}
	asked, err := os.ReadFile(filepath.Join(dir, "plans.log"))
	if err != nil || strings.Count(string(asked), "\n") != 1 || !strings.Contains(string(asked), `"action":"plan"`) {
		t.Errorf("%v %s", err, asked)
	}
}

// One process has the folder.
func TestAFolderIsOfOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := newQueue(t, dir, &hands{})
	defer d.Close()
	if _, err := Open(dir, Options{Now: time.Now, Changed: func(string, []observe.Run, observe.Run) {}}); err == nil {
		t.Error("a second one has it too")
	}
}

func TestWhatIsUnderWayIsStoppedAndGoesOn(t *testing.T) {
	t.Parallel()
	h := &hands{changes: 3, held: make(chan struct{}), began: make(chan struct{}, 4)}
	d := newQueue(t, t.TempDir(), h)
	id, other := makes(t, d), makes(t, d)
	if err := d.Apply("a", id, alice); err != nil {
		t.Fatal(err)
	}
	<-h.began
	refuses(t, d.Apply("a", other, alice), "busy")
	if err := d.Forget("a", id); err != nil || state(t, d, id).State != observe.Underway {
		t.Error("what is under way was forgotten", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // one that waits no more stops it
	if r, _ := d.Wait(ctx, "a", id, alice); r.State != observe.Stopped {
		t.Errorf("%+v", r)
	}
	close(h.held)
	if err := d.Apply("a", id, alice); err != nil {
		t.Fatal(err)
	}
	if r, _ := d.Wait(t.Context(), "a", id, alice); r.State != observe.Done || h.executed != 2 {
		t.Errorf("%+v, executed %d times", r, h.executed)
	}
	if err := d.Forget("a", other); err != nil {
		t.Fatal(err)
	}
	if _, there := d.Get("a", other); there {
		t.Error("it is not forgotten")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// A program that ends leaves what ran interrupted, and the next one goes on with it.
func TestAnInterruptedRunGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := &hands{changes: 3, held: make(chan struct{}), began: make(chan struct{}, 4)}
	d := newQueue(t, dir, h)
	id := makes(t, d)
	if err := d.Apply("a", id, alice); err != nil {
		t.Fatal(err)
	}
	<-h.began
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = newQueue(t, dir, &hands{changes: 3})
	defer d.Close()
	if r := state(t, d, id); r.State != observe.Interrupted || r.Hint == "" {
		t.Errorf("%+v", r)
	}
	if err := d.Apply("a", id, alice); err != nil {
		t.Fatal(err)
	}
	if r, _ := d.Wait(t.Context(), "a", id, alice); r.State != observe.Done {
		t.Errorf("%+v", r)
	}
}

// What a killed program left is woken as interrupted; files that are not ours are left alone.
func TestAKilledRunIsWoken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := newQueue(t, dir, &hands{changes: 3})
	id := makes(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, id+recordName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for was, is := range map[observe.RunState]observe.RunState{observe.Underway: observe.Interrupted,
		observe.Stopping: observe.Interrupted,
		observe.Planning: observe.Refused, observe.Planned: observe.Planned} {
		if err := os.WriteFile(path,
			[]byte(strings.Replace(string(text), `"State":"planned"`, `"State":"`+string(was)+`"`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "other"+recordName), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		d := newQueue(t, dir, &hands{changes: 3})
		if r := state(t, d, id); r.State != is {
			t.Errorf("%s is woken as %s, not %s", was, r.State, is)
		}
		if len(d.list("a")) != 1 {
			t.Errorf("%+v", d.list("a"))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What cannot be logged is not done.
func TestWhatCannotBeLoggedIsNotDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := &hands{changes: 3}
	d := newQueue(t, dir, h)
	defer d.Close()
	id := makes(t, d)
	d.log.path, d.asked.path = filepath.Join(dir, "no", "folder"), filepath.Join(dir, "no", "folder")
	refuses(t, d.Apply("a", id, alice), "not-logged")
	_, _, err := d.Make("a", alice, Ask{Verb: "clean"})
	refuses(t, err, "not-logged")
	if h.executed != 0 || state(t, d, id).State != observe.Planned {
		t.Errorf("it was executed %d times", h.executed)
	}
}

// The folder has a bound: what is over goes first, what waits for a yes goes last.
func TestTheFolderIsBounded(t *testing.T) {
	t.Parallel()
	h := &hands{changes: 1}
	d := newQueue(t, t.TempDir(), h)
	defer d.Close()
	waits := makes(t, d)
	h.planErr = errors.New("no")
	for range maxRuns + 5 {
		makes(t, d)
	}
	if n := len(d.list("a")); n != maxRuns {
		t.Errorf("%d runs are kept", n)
	}
	if r := state(t, d, waits); r.State != observe.Planned {
		t.Errorf("%+v", r)
	}
	names, err := filepath.Glob(filepath.Join(d.dir, "*"+recordName))
	if err != nil || len(names) != maxRuns {
		t.Errorf("%d files, %v", len(names), err)
	}
}

// A target that is attended to no more takes no plans, and its plans stay.
func TestATargetComesAndGoes(t *testing.T) {
	t.Parallel()
	d := newQueue(t, t.TempDir(), &hands{changes: 1})
	defer d.Close()
	id := makes(t, d)
	d.Attend("a", nil)
	_, _, err := d.Make("a", alice, Ask{Verb: "clean"})
	refuses(t, err, "no-server")
	refuses(t, d.Apply("a", id, alice), "no-server")
	d.Attend("a", &hands{changes: 1})
	if err := d.Apply("a", id, alice); err != nil {
		t.Error(err)
	}
	d.Wait(t.Context(), "a", id, alice)
}

// The log begins again before it has grown too large, and when its first line is a month old. So many files of before
// are kept, the latest.
func TestTheLogIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	l := &log{path: filepath.Join(t.TempDir(), "log"), kept: 2, now: func() time.Time { return now }}
	write := func(run string) {
		t.Helper()
		if err := l.write("apply", entry{At: now.Format(time.RFC3339Nano), Run: run}); err != nil {
			t.Fatal(err)
		}
	}
	files := func() (runs string) {
		t.Helper()
		for _, end := range []string{"", ".1", ".2", ".3"} {
			text, _ := os.ReadFile(l.path + end)
			for line := range strings.Lines(string(text)) {
				var e entry
				_ = json.Unmarshal([]byte(line), &e)
				runs += e.Run
			}
			runs += " "
		}
		return runs
	}
	write("a")
	now = now.Add(logAge - time.Second)
	write("b")
	if got := files(); got != "ab    " {
		t.Errorf("%q", got)
	}
	now = now.Add(time.Second)
	write("c")
	write("d")
	if got := files(); got != "cd ab   " {
		t.Errorf("a month later: %q", got)
	}
	if err := os.WriteFile(l.path, make([]byte, maxLog), 0o600); err != nil {
		t.Fatal(err)
	}
	write("e")
	now = now.Add(logAge)
	write("f")
	if old, err := os.Stat(l.path + ".2"); err != nil || old.Size() != maxLog || files() != "f e   " {
		t.Errorf("%q, %v", files(), err)
	}
}

// TestTheSinkHears: what is logged is reported as JSON, too, and commands no terminal.
func TestTheSinkHears(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	now := time.Now()
	l := &log{path: filepath.Join(t.TempDir(), "changes.log"), sink: slog.New(slog.NewJSONHandler(&out, nil)),
		now: func() time.Time { return now }}
	if err := l.write("apply", entry{User: "alice", Run: "r"}); err != nil {
		t.Fatal(err)
	}
	var told struct {
		Msg, Log string
		Entry    entry
	}
	if err := json.Unmarshal([]byte(out.String()), &told); err != nil || told.Msg != "apply" ||
		told.Log != "changes.log" || told.Entry.User != "alice" {
		t.Errorf("%v %s", err, out.String())
	}
}
