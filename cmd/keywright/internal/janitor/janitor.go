// Package janitor does the jobs of a declaration again and again: when each is due, what was
// done, what waits and why. A file keeps it, so that a program that was killed goes on where
// it was, and what was due while none ran is done once.
//
// It knows no Redis command but those of its turn, and changes no key itself: Options.Do does
// the work of a job, and a Turn sees that one program does it at a time.
package janitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // where the machine has none, as in a container that has one program

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
)

// Reason says why a job that is due waits.
type Reason string

// The reasons.
const (
	Away      Reason = "away"      // the server does not answer
	Memory    Reason = "memory"    // its memory is short, and the job frees none
	Load      Reason = "load"      // it answers slowly
	Elsewhere Reason = "elsewhere" // another program does the jobs of this server now
	Busy      Reason = "busy"      // a plan is made or executed for this server
)

// Wait represents an error that says why a job waits. It is tried again.
type Wait struct {
	Reason Reason
	What   string
}

func (w *Wait) Error() string { return w.What }

// ErrDone is returned by a Turn where another program has done what is due: as a *Done, if it is known when the job was
// last done well.
var ErrDone = errors.New("another program has done it")

// Done represents ErrDone with the time when any program has last done the job well.
type Done struct{ Good time.Time }

func (*Done) Error() string { return ErrDone.Error() }

// Is reports that it is ErrDone.
func (*Done) Is(target error) bool { return target == ErrDone }

// How long it is until a job that waits is tried again.
const (
	againSoon = 10 * time.Second // another program has the turn: it may have been killed
	again     = time.Minute
)

// look says how long it is at most until the clock is looked at again: it may be put forward.
const look = time.Minute

// Turn sees that one program does the jobs of a server at a time, and each once.
type Turn interface {
	// Take takes the turn for a job that is due since a time. The context that it returns ends
	// when the turn is lost. end gives it back, and notes whether the job is done, and when it was done well; the zero
	// time: it was not. A *Wait says that another program has it, ErrDone that one has done it.
	Take(ctx context.Context, job string, due, now time.Time) (held context.Context, end func(done bool, good time.Time),
		err error)
}

// Options of a keeper.
type Options struct {
	Jobs  []*keyspace.Job
	Zones map[string]*time.Location // of the jobs; "": UTC
	Now   func() time.Time
	Turn  Turn
	// Ready says with a *Wait why the server is left alone now.
	Ready func(ctx context.Context, j *keyspace.Job) error
	// Do does the work of a job, and says in a few words what was done. resume is what begun
	// was called with by a run that was killed, "" at first. A *Wait puts the job off.
	Do func(ctx context.Context, j *keyspace.Job, resume string, begun func(note string) error) (did string, err error)
	// Changed is called at each change.
	Changed func([]observe.Job)
	// Save keeps the state, on the disk before it returns.
	Save func([]byte) error
}

// Janitor does jobs. One goroutine uses it.
type Janitor struct {
	Options
	jobs map[string]*kept
	put  map[string]time.Time // when a job that waits is tried again
	why  map[string]*Wait
	at   string    // the job that runs
	from time.Time // since when
}

// kept describes what the file has of a job.
type kept struct {
	From     time.Time `json:"from"`            // when it was first seen
	Tick     time.Time `json:"tick,omitzero"`   // when it was begun last and ended
	Ended    time.Time `json:"ended,omitzero"`  // when it ended
	Good     time.Time `json:"good,omitzero"`   // when it ended well
	Failures int64     `json:"failures"`        // in a row
	Failed   int64     `json:"failed"`          // ever
	Runs     int64     `json:"runs"`            // ever
	Did      string    `json:"did,omitempty"`   // the latest run
	Began    time.Time `json:"began,omitzero"`  // a run that has not ended
	Note     string    `json:"note,omitempty"`  // of it
	Other    bool      `json:"other,omitempty"` // another program did the latest run
}

// form is the version of the file.
const form = 1

type file struct {
	Form int              `json:"keywright_janitor"`
	Jobs map[string]*kept `json:"jobs"`
}

// New prepares a keeper. text is what Save was given last, nil if there is nothing.
func New(o Options, text []byte) (*Janitor, error) {
	k := &Janitor{Options: o, jobs: map[string]*kept{}, put: map[string]time.Time{}, why: map[string]*Wait{}}
	for _, j := range o.Jobs {
		if k.Zones[j.When.Zone] == nil {
			return nil, fmt.Errorf("the job %s: the time zone %q is not known here", j.Name, j.When.Zone)
		}
	}
	if text == nil {
		return k, nil
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil || f.Form != form {
		return nil, errors.New("it is no file of a janitor, or of another version")
	}
	for _, j := range o.Jobs { // jobs that are not declared any more are forgotten
		if s := f.Jobs[j.Name]; s != nil {
			k.jobs[j.Name] = s
		}
	}
	return k, nil
}

// Note returns what a run of a job has noted that will go on; "": none will.
func (k *Janitor) Note(job string) string {
	if s := k.jobs[job]; s != nil {
		return s.Note
	}
	return ""
}

// Zones returns the time zones of jobs; an error names one that is not known on this machine.
func Zones(jobs []*keyspace.Job) (map[string]*time.Location, error) {
	out := map[string]*time.Location{"": time.UTC}
	for _, j := range jobs {
		if out[j.When.Zone] != nil {
			continue
		}
		l, err := time.LoadLocation(j.When.Zone)
		if err != nil {
			return nil, fmt.Errorf("the job %s: the time zone %q is not known", j.Name, j.When.Zone)
		}
		out[j.When.Zone] = l
	}
	return out, nil
}

// Run does what is due until ctx ends.
func (k *Janitor) Run(ctx context.Context) {
	for ctx.Err() == nil {
		next := k.Step(ctx)
		timer := time.NewTimer(min(max(next.Sub(k.Now()), 0), look))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Step does what is due now, one job after the other, and says when to look again.
func (k *Janitor) Step(ctx context.Context) time.Time {
	next := k.Now().Add(look)
	for _, j := range k.Jobs {
		s := k.jobs[j.Name]
		if s == nil {
			s = &kept{From: k.Now()}
			k.jobs[j.Name] = s
			_ = k.save()
		}
		due, ok := k.due(j)
		if !ok {
			continue
		}
		if later := k.put[j.Name]; later.After(due) {
			due = later
		}
		if due.After(k.Now()) {
			next = earlier(next, due)
			continue
		}
		if k.run(ctx, j, s); ctx.Err() != nil {
			return next
		}
		if due, ok = k.due(j); ok {
			if later := k.put[j.Name]; later.After(due) {
				due = later
			}
			next = earlier(next, due)
		}
	}
	k.tell()
	return next
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// due returns when a job is due next. One that has begun and not ended is due since then.
func (k *Janitor) due(j *keyspace.Job) (time.Time, bool) {
	s := k.jobs[j.Name]
	if s == nil {
		return j.When.Next(k.Now(), k.Zones[j.When.Zone])
	}
	if !s.Began.IsZero() {
		return s.Began, true
	}
	after := s.Tick
	if after.Before(s.From) {
		after = s.From
	}
	if now := k.Now(); after.After(now) { // the clock was put back
		after = now
	}
	return j.When.Next(after, k.Zones[j.When.Zone])
}

// run does a job that is due, or notes why it waits.
func (k *Janitor) run(ctx context.Context, j *keyspace.Job, s *kept) {
	due, _ := k.due(j)
	now := k.Now()
	k.at, k.from = j.Name, now
	k.tell()
	did, other, err := k.attempt(ctx, j, s, due, now)
	k.at = ""
	delete(k.put, j.Name)
	delete(k.why, j.Name)
	if wait, ok := errors.AsType[*Wait](err); ok {
		k.why[j.Name], k.put[j.Name] = wait, k.Now().Add(again)
		if wait.Reason == Elsewhere {
			k.put[j.Name] = k.Now().Add(againSoon)
		}
		return
	}
	if ctx.Err() != nil {
		return // the program ends: it goes on at the next start
	}
	s.Tick, s.Began, s.Note, s.Other = now, time.Time{}, "", other
	switch s.Ended = k.Now(); {
	case other:
		s.Did = "done by another program"
		if good, told := errors.AsType[*Done](err); told && good.Good.After(s.Good) {
			s.Good, s.Failures = good.Good, 0
		}
	case err != nil:
		s.Runs, s.Failed, s.Failures, s.Did = s.Runs+1, s.Failed+1, s.Failures+1, finding.Printable(err.Error())
	default:
		s.Runs, s.Failures, s.Good, s.Did = s.Runs+1, 0, s.Ended, did
	}
	if err := k.save(); err != nil {
		s.Failures, s.Did = max(s.Failures, 1), "it cannot be noted: "+finding.Printable(err.Error())
	}
}

// attempt does a job in its turn.
func (k *Janitor) attempt(ctx context.Context, j *keyspace.Job, s *kept, due, now time.Time) (did string, other bool,
	err error) {
	if err := k.Ready(ctx, j); err != nil {
		return "", false, err
	}
	held, end, err := k.Turn.Take(ctx, j.Name, due, now)
	if errors.Is(err, ErrDone) {
		return "", true, err
	}
	if err != nil {
		return "", false, err
	}
	resume := s.Note
	begun := func(note string) error { s.Note = note; return k.save() }
	if s.Began.IsZero() {
		s.Began = now
	}
	if err := k.save(); err != nil {
		end(false, time.Time{})
		return "", false, fmt.Errorf("it cannot be noted, so it is not done: %w", err)
	}
	did, err = k.Do(held, j, resume, begun)
	_, waits := errors.AsType[*Wait](err)
	if waits && s.Note == "" {
		s.Began = time.Time{}
	}
	lost := context.Cause(held) // end gives the turn back, which ends held, too
	good := k.Now()
	if err != nil {
		good = time.Time{}
	}
	end(!waits && lost == nil, good)
	if err == nil && lost != nil && ctx.Err() == nil {
		err = fmt.Errorf("the turn was lost while it ran: %w", lost)
	}
	return did, false, err
}

func (k *Janitor) save() error {
	text, err := json.Marshal(file{form, k.jobs})
	if err != nil {
		return err
	}
	return k.Save(text)
}

// tell tells what all jobs are.
func (k *Janitor) tell() {
	var out []observe.Job
	for _, j := range k.Jobs {
		o := observe.Job{Name: j.Name, Doc: j.Doc, Do: string(j.Do), When: j.String()}
		if due, ok := k.due(j); ok {
			o.Next = due
		}
		if s := k.jobs[j.Name]; s != nil {
			o.Ended, o.Good, o.Failures, o.Failed, o.Runs, o.Did, o.Other = s.Ended, s.Good, s.Failures, s.Failed, s.Runs, s.Did,
				s.Other
		}
		if w := k.why[j.Name]; w != nil {
			o.Waits, o.Why = string(w.Reason), finding.Printable(w.What)
		}
		if j.Name == k.at {
			o.Running = k.from
		}
		out = append(out, o)
	}
	k.Changed(out)
}
