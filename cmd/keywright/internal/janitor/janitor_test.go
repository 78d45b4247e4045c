package janitor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/schedule"
	"github.com/keywright/keywright/keywrighttest"
)

// world represents a keeper with a moved clock, and what it reported and was asked.
type world struct {
	t     *testing.T
	now   time.Time
	jobs  []*keyspace.Job
	text  []byte
	told  []observe.Job
	ready error
	turn  fakeTurn
	did   []string
	do    func(ctx context.Context, j *keyspace.Job, resume string, begun func(string) error) (string, error)
	saves error
}

// fakeTurn represents the turn of one server in memory, which several keepers share.
type fakeTurn struct {
	done map[string]time.Time
	good map[string]time.Time
	busy bool
	lost bool
}

func (f *fakeTurn) Take(ctx context.Context, job string, due, now time.Time) (context.Context,
	func(bool, time.Time), error) {
	if f.busy {
		return nil, nil, &Wait{Elsewhere, "another one"}
	}
	if at, there := f.done[job]; there && !at.Before(due) {
		return nil, nil, &Done{f.good[job]}
	}
	held, stop := context.WithCancelCause(ctx)
	if f.lost {
		stop(errors.New("another one has it"))
	}
	return held, func(done bool, good time.Time) {
		stop(context.Canceled) // as a lease that is given back
		if done {
			f.done[job] = now
		}
		if !good.IsZero() {
			f.good[job] = good
		}
	}, nil
}

func job(t *testing.T, name, cron, zone string) *keyspace.Job {
	t.Helper()
	s, err := schedule.Cron(cron, zone)
	if err != nil {
		t.Fatal(err)
	}
	return &keyspace.Job{Name: name, Do: keyspace.WorkClean, When: s}
}

func newWorld(t *testing.T, jobs ...*keyspace.Job) *world {
	return &world{t: t, now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), jobs: jobs,
		turn: fakeTurn{done: map[string]time.Time{}, good: map[string]time.Time{}}}
}

// newJanitor begins with what the file has, as a program that starts.
func (w *world) newJanitor() *Janitor {
	w.t.Helper()
	zones, err := Zones(w.jobs)
	if err != nil {
		w.t.Fatal(err)
	}
	k, err := New(Options{Jobs: w.jobs, Zones: zones, Now: func() time.Time { return w.now }, Turn: &w.turn,
		Ready:   func(context.Context, *keyspace.Job) error { return w.ready },
		Changed: func(all []observe.Job) { w.told = all },
		Save: func(text []byte) error {
			if w.saves == nil {
				w.text = slices.Clone(text)
			}
			return w.saves
		},
		Do: func(ctx context.Context, j *keyspace.Job, resume string, begun func(string) error) (string, error) {
			w.did = append(w.did, j.Name+" "+w.now.Format("02T15:04"))
			if w.do != nil {
				return w.do(ctx, j, resume, begun)
			}
			return "well", nil
		}}, w.text)
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

func (w *world) wants(did ...string) {
	w.t.Helper()
	if !slices.Equal(w.did, did) {
		w.t.Fatalf("did %q, want %q", w.did, did)
	}
}

// through steps as Run does, with a clock that is where each step says to look again.
func (w *world) through(k *Janitor, d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		next := k.Step(w.t.Context())
		if !next.After(w.now) {
			next = w.now.Add(time.Second)
		}
		w.now = next
	}
}

func TestAWeekOfAJanitor(t *testing.T) {
	w := newWorld(t, job(t, "night", "30 2 * * *", "Europe/Berlin"))
	w.now = time.Date(2026, 10, 23, 12, 0, 0, 0, time.UTC) // the clock is put back on 25 October
	w.through(w.newJanitor(), 4*24*time.Hour)
	w.wants("night 24T00:30", "night 25T00:30", "night 26T01:30", "night 27T01:30")
	if j := w.told[0]; j.Runs != 4 || j.Failed != 0 || j.Did != "well" ||
		!j.Next.Equal(time.Date(2026, 10, 28, 1, 30, 0, 0, time.UTC)) {
		t.Errorf("%+v", j)
	}
}

// What became due while no program ran is done once.
func TestMissedRunsAreDoneOnce(t *testing.T) {
	w := newWorld(t, job(t, "hourly", "0 * * * *", ""))
	w.newJanitor().Step(t.Context())
	w.wants()
	w.now = w.now.Add(50 * time.Hour)
	k := w.newJanitor()
	k.Step(t.Context())
	k.Step(t.Context())
	w.wants("hourly 25T14:00")
}

func TestAKilledRunGoesOn(t *testing.T) {
	w := newWorld(t, job(t, "hourly", "0 * * * *", ""))
	w.newJanitor().Step(t.Context())
	w.now = w.now.Add(time.Hour)
	resumed := "none"
	w.do = func(_ context.Context, _ *keyspace.Job, resume string, begun func(string) error) (string, error) {
		if resume != "" {
			resumed = resume
			return "went on", nil
		}
		if err := begun("plan-1"); err != nil {
			t.Fatal(err)
		}
		panic("killed") // as kill -9: nothing is written after it
	}
	func() {
		defer func() { _ = recover() }()
		w.newJanitor().Step(t.Context())
	}()
	w.now = w.now.Add(time.Minute)
	w.newJanitor().Step(t.Context())
	if resumed != "plan-1" || w.told[0].Did != "went on" || w.told[0].Runs != 1 {
		t.Errorf("resumed %s, %+v", resumed, w.told[0])
	}
	w.newJanitor().Step(t.Context())
	if len(w.did) != 2 {
		t.Errorf("did %v", w.did)
	}
}

// Two programs watch one server: each time is done once.
func TestTwoInstances(t *testing.T) {
	w := newWorld(t, job(t, "hourly", "0 * * * *", ""))
	a := w.newJanitor()
	w.text = nil
	b := w.newJanitor()
	a.Step(t.Context())
	b.Step(t.Context())
	for range 5 {
		w.now = w.now.Add(time.Hour)
		b.Step(t.Context())
		w.now = w.now.Add(time.Second)
		a.Step(t.Context())
	}
	if len(w.did) != 5 {
		t.Errorf("did %v", w.did)
	}
	if j := w.told[0]; !j.Other || j.Runs != 0 || j.Did == "" {
		t.Errorf("%+v", j)
	}
	w.turn.busy, w.now = true, w.now.Add(time.Hour)
	a.Step(t.Context())
	if j := w.told[0]; j.Waits != string(Elsewhere) || len(w.did) != 5 {
		t.Errorf("%+v", j)
	}
	w.turn.busy, w.now = false, w.now.Add(againSoon)
	a.Step(t.Context())
	if j := w.told[0]; j.Waits != "" || len(w.did) != 6 || j.Other {
		t.Errorf("%+v", j)
	}
}

func TestAJobWaits(t *testing.T) {
	for _, reason := range []Reason{Away, Memory, Load} {
		w := newWorld(t, job(t, "hourly", "0 * * * *", ""))
		k := w.newJanitor()
		k.Step(t.Context())
		w.ready, w.now = &Wait{reason, "because"}, w.now.Add(time.Hour)
		k.Step(t.Context())
		w.wants()
		if j := w.told[0]; j.Waits != string(reason) || j.Why != "because" || !j.Next.Equal(w.now) {
			t.Errorf("%+v", j)
		}
		w.ready = nil
		k.Step(t.Context()) // not at once
		w.wants()
		w.now = w.now.Add(again)
		k.Step(t.Context())
		w.wants("hourly 23T13:01")
		if j := w.told[0]; j.Waits != "" || j.Failures != 0 {
			t.Errorf("%+v", j)
		}
	}
}

func TestFailuresAreCounted(t *testing.T) {
	w := newWorld(t, job(t, "hourly", "0 * * * *", ""))
	k := w.newJanitor()
	k.Step(t.Context())
	w.do = func(context.Context, *keyspace.Job, string, func(string) error) (string, error) {
		return "", errors.New("no\x1b")
	}
	for range 2 {
		w.now = w.now.Add(time.Hour)
		k.Step(t.Context())
		k.Step(t.Context()) // it is done again when it is due next
	}
	if j := w.told[0]; j.Failures != 2 || j.Failed != 2 || j.Runs != 2 || strings.Contains(j.Did, "\x1b") ||
		!j.Good.IsZero() {
		t.Errorf("%+v", j)
	}
	w.do, w.now = nil, w.now.Add(time.Hour)
	w.newJanitor().Step(t.Context())
	if j := w.told[0]; j.Failures != 0 || j.Failed != 2 || j.Runs != 3 || !j.Good.Equal(w.now) {
		t.Errorf("%+v", j)
	}
}

// A run whose turn was lost has failed, and is not noted as done.
func TestALostTurn(t *testing.T) {
	w := newWorld(t, job(t, "hourly", "0 * * * *", ""))
	k := w.newJanitor()
	k.Step(t.Context())
	w.turn.lost, w.now = true, w.now.Add(time.Hour)
	k.Step(t.Context())
	if j := w.told[0]; j.Failures != 1 || !strings.Contains(j.Did, "lost") || len(w.turn.done) != 0 {
		t.Errorf("%+v %v", j, w.turn.done)
	}
}

// What cannot be noted is not done.
func TestNothingIsDoneUnnoted(t *testing.T) {
	w := newWorld(t, job(t, "hourly", "0 * * * *", ""))
	k := w.newJanitor()
	k.Step(t.Context())
	w.saves, w.now = errors.New("the disk is full"), w.now.Add(time.Hour)
	k.Step(t.Context())
	w.wants()
	if j := w.told[0]; j.Failures == 0 || !strings.Contains(j.Did, "disk is full") {
		t.Errorf("%+v", j)
	}
}

func TestAClockThatIsPutBack(t *testing.T) {
	w := newWorld(t, job(t, "hourly", "0 * * * *", ""))
	k := w.newJanitor()
	k.Step(t.Context())
	w.now = w.now.Add(time.Hour)
	k.Step(t.Context())
	w.now = w.now.Add(-24 * time.Hour)
	k.Step(t.Context())
	w.now = w.now.Add(time.Hour)
	k.Step(t.Context())
	if len(w.did) < 1 || w.told[0].Next.After(w.now.Add(time.Hour)) {
		t.Errorf("%v, %+v", w.did, w.told[0])
	}
}

func TestFilesOfOthersAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{"", "{}", `{"keywright_janitor":2}`, "x"} {
		if _, err := New(Options{Zones: map[string]*time.Location{"": time.UTC}}, []byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if _, err := Zones([]*keyspace.Job{job(t, "a", "0 0 * * *", "Europe/Nowhere")}); err == nil {
		t.Error("a zone that there is not")
	}
	_ = w
}

func TestRetention(t *testing.T) {
	dir, at := t.TempDir(), time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for i := range 6 {
		names = append(names, BackupName("eu", "saves", at.AddDate(0, 0, i)))
		write(names[i])
	}
	others := []string{"eu.saves.notes.txt", BackupName("eu", "other", at), BackupName("us", "saves", at),
		"eu.saves.20261101T020000Z.kwa.part"}
	for _, name := range others {
		write(name)
	}
	bad := map[string]bool{filepath.Join(dir, names[4]): true, filepath.Join(dir, names[3]): true}
	deleted, err := Retain(dir, "eu", "saves", 2, func(path string) bool { return !bad[path] })
	if err != nil || deleted != 2 {
		t.Fatalf("%d, %v", deleted, err)
	}
	left, err := Backups(dir, "eu", "saves")
	if err != nil || len(left) != 4 || filepath.Base(left[0]) != names[5] || filepath.Base(left[3]) != names[2] {
		t.Errorf("%v, %v", left, err)
	}
	for _, name := range others {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	parts, err := Parts(dir, "eu", "saves")
	if err != nil || len(parts) != 1 || filepath.Base(parts[0]) != "eu.saves.20261101T020000Z.kwa" {
		t.Errorf("%v, %v", parts, err)
	}
}

// TestGoodIsKnownByAll: what another program has done well is good here too, at the same time, and no failure any more;
// what it has not done well is not.
func TestGoodIsKnownByAll(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	client := servertest.Open(t, s.URL())
	now := time.Date(2026, 11, 27, 1, 0, 0, 0, time.UTC)
	fails, told := true, map[string]observe.Job{}
	keeper := func(name string) *Janitor {
		k, err := New(Options{Jobs: []*keyspace.Job{job(t, "tidy", "0 2 * * *", "")},
			Zones: map[string]*time.Location{"": time.UTC}, Now: func() time.Time { return now },
			Turn:  &ServerTurn{Of: "p", Client: func(context.Context) (*keywright.Client, error) { return client, nil }},
			Ready: func(context.Context, *keyspace.Job) error { return nil },
			Do: func(context.Context, *keyspace.Job, string, func(string) error) (string, error) {
				if fails {
					return "", errors.New("no")
				}
				return "it did", nil
			},
			Changed: func(all []observe.Job) { told[name] = all[0] }, Save: func([]byte) error { return nil }}, nil)
		if err != nil {
			t.Fatal(err)
		}
		k.Step(t.Context())
		return k
	}
	a, b := keeper("a"), keeper("b")
	now = now.Add(2 * time.Hour)
	a.Step(t.Context())
	b.Step(t.Context())
	if !told["b"].Good.IsZero() || told["a"].Failures != 1 {
		t.Errorf("it failed: %+v", told)
	}
	fails = false
	now = now.Add(24 * time.Hour)
	b.Step(t.Context())
	now = now.Add(time.Minute)
	a.Step(t.Context())
	if x, y := told["a"], told["b"]; x.Good.IsZero() || !x.Good.Equal(y.Good) || x.Failures != 0 || !x.Other {
		t.Errorf("it was done well: %+v", told)
	}
}
