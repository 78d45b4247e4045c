package answer

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/queue"
)

// Queues describes what the queues hold; its JSON names are stable.
type Queues struct {
	Queues []Queue `json:"queues"`
	Gaps
	Died map[string]int64 `json:"-"` // by title: at least so many jobs have died while serve has watched
	Past `json:"-"`
}

// Queue represents one queue. Its jobs are those of its lanes, running, zombies, delayed and
// dead.
type Queue struct {
	Entry   string            `json:"entry"`
	Queue   *finding.JSONKey  `json:"queue,omitempty"` // the placeholders that tell it from others of the entry
	Paused  bool              `json:"paused"`
	Jobs    int64             `json:"jobs"` // in all places
	Lanes   []Lane            `json:"lanes"`
	Running int64             `json:"running"`
	Zombies int64             `json:"zombies"`               // jobs whose worker is dead
	Overdue int64             `json:"overdue"`               // runs that last longer than the timeout, or an hour
	Run     float64           `json:"oldest_run_seconds"`    // since the oldest one was claimed
	Unseen  int64             `json:"unseen_runs,omitempty"` // runs beyond a thousand, not looked at
	Delayed int64             `json:"delayed"`
	Dead    int64             `json:"dead"`
	Since   time.Time         `json:"-"` // when the first of the dead ones was given up; zero: not known
	Workers []finding.JSONKey `json:"workers"`
	Gone    []finding.JSONKey `json:"dead_workers,omitempty"`
	Buried  []DeadJob         `json:"dead_jobs,omitempty"`  // with --dead, at most --limit of them
	Left    int64             `json:"not_listed,omitempty"` // with --dead: dead jobs that --limit leaves out
	Growth  *Growth           `json:"growth,omitempty"`     // absent: not known, there is one reading of it
	// Enqueued is how many jobs the queue has counted, with those that are gone.
	Enqueued int64 `json:"enqueued"`
}

// Title tells a queue from others of its entry.
func (q *Queue) Title() string {
	if q.Queue == nil {
		return q.Entry
	}
	return q.Entry + " " + finding.Key(*q.Queue)
}

// Lane describes what waits in a lane.
type Lane struct {
	Lane   string  `json:"lane,omitempty"`
	Jobs   int64   `json:"jobs"`
	Oldest float64 `json:"oldest_seconds,omitempty"` // for how long the first job has waited
}

// DeadJob represents a dead job.
type DeadJob struct {
	ID       finding.JSONKey `json:"id"`
	Reason   string          `json:"reason"`
	Attempts int64           `json:"attempts"`
	Crashes  int64           `json:"crashes"`
}

// Queues reads the queues of entries, each with at most so many dead jobs. Of a queue without jobs no more than its
// workers are asked for.
func (r *Reader) Queues(ctx context.Context, entries []*keyspace.Entry, dead int64) (Queues, error) {
	report := Queues{Queues: []Queue{}}
	found, err := r.found(ctx, entries, &report.Gaps)
	if err != nil {
		return report, err
	}
	idle, err := r.idle(ctx, found)
	if err != nil {
		return report, err
	}
	err = readInOrder(ctx, r, found, func(i instance) int {
		if idle[i.at] != nil {
			return 0
		}
		return queueCost
	}, func(i instance) (Queue, error) {
		if one := idle[i.at]; one != nil {
			return *one, nil
		}
		return readQueue(ctx, bind.Queue(r.Client, r.Keyspace, i.entry, i.values), dead)
	}, func(i instance, one Queue, err error) error {
		name := TitleOf(i.entry, i.values)
		if err != nil {
			return report.Pass(ctx, i.entry.Name, name, err)
		}
		one.Entry, one.Queue = i.entry.Name, KeyOf(name)
		report.Queues = append(report.Queues, one)
		return nil
	})
	return report, err
}

func readQueue(ctx context.Context, q queue.Queue[string], most int64) (r Queue, err error) {
	s, err := q.Stats(ctx)
	if err != nil {
		return r, err
	}
	r = Queue{Paused: s.Paused, Running: s.Leased - s.Zombies, Zombies: s.Zombies, Delayed: s.Delayed, Dead: s.Dead,
		Overdue: s.Overdue, Run: s.OldestRun.Seconds(), Unseen: s.Unseen, Enqueued: s.Enqueued, Lanes: []Lane{}, Workers: []finding.JSONKey{}}
	r.Jobs = s.Leased + s.Delayed + s.Dead
	for _, l := range s.Lanes {
		r.Lanes = append(r.Lanes, Lane{l.Name, l.Length, l.Oldest.Seconds()})
		r.Jobs += l.Length
	}
	for _, w := range s.Workers {
		if w.Dead {
			r.Gone = append(r.Gone, finding.JSONKey(w.Name))
		} else {
			r.Workers = append(r.Workers, finding.JSONKey(w.Name))
		}
	}
	if r.Dead > 0 {
		first, err := q.Dead(ctx, r.Dead-1, 1)
		if err != nil {
			return r, err
		}
		for _, d := range first {
			r.Since = d.Since
		}
	}
	if most == 0 {
		return r, nil
	}
	dead, err := q.Dead(ctx, 0, most)
	r.Left = max(0, r.Dead-int64(len(dead)))
	for _, d := range dead {
		r.Buried = append(r.Buried, DeadJob{finding.JSONKey(d.ID), d.Reason, d.Attempts, d.Crashes})
	}
	return r, err
}

// DeadFilter says which dead jobs are meant: those of a group of errors, and those with a
// text in their id or reason. The zero value means all.
type DeadFilter struct {
	Error string // as ErrorOf gives it
	Text  string // in any case
}

// Matches reports whether a dead job is meant.
func (f DeadFilter) Matches(d *queue.Dead) bool {
	return (f.Error == "" || ErrorOf(d.Reason) == f.Error) && f.In(d.ID+" "+d.Reason)
}

// In reports whether a text has the text of the filter.
func (f DeadFilter) In(text string) bool {
	return f.Text == "" || strings.Contains(strings.ToLower(text), strings.ToLower(f.Text))
}

// digits say what errors of one kind differ by: ids, times, ports.
var digits = regexp.MustCompile(`[0-9]+`)

// longError says how many runes of an error tell it from others.
const longError = 300

// noReason is the group of jobs of which no reason is known.
const noReason = "(no reason)"

// ErrorOf returns what groups dead jobs: their reason, without what is only in one of them.
func ErrorOf(reason string) string {
	line, _, _ := strings.Cut(reason, "\n")
	text := digits.ReplaceAllString(finding.Printable(line), "N")
	if r := []rune(text); len(r) > longError {
		text = string(r[:longError]) + "…"
	}
	if text == "" {
		return noReason
	}
	return text
}
