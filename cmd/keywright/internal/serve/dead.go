package serve

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/queue"
)

// QueuePage represents one queue, and its dead jobs by error.
type QueuePage struct {
	QueueRow
	Doc       string      `json:"doc,omitempty"`
	Lease     float64     `json:"lease_seconds"`
	Errors    []DeadGroup `json:"errors"`     // the most jobs first
	ErrorsCut bool        `json:"errors_cut"` // not all dead jobs were looked at: looked_at says how many
	LookedAt  int64       `json:"looked_at"`
	Read
}

// DeadGroup is dead jobs with one error.
type DeadGroup struct {
	Error string `json:"error"`
	Jobs  int64  `json:"jobs"`
}

// DeadList are dead jobs of a queue.
type DeadList struct {
	Items    []DeadRow `json:"items"`
	LookedAt int64     `json:"looked_at"` // dead jobs; where that is not all of them the list is cut
	Page
}

// DeadRow represents a dead job.
type DeadRow struct {
	answer.DeadJob
	At Stamp `json:"at"` // when it was given up
}

// Bounds of what one request looks at: pages of a thousand jobs, of so many.
const (
	deadPage  = 1000
	deadPages = 20
	maxErrors = 100
)

// live returns the queue that a path names.
func (q *request) live(ctx context.Context) (*keyspace.Entry, *queue.Queue[string], error) {
	e, _ := q.target.Declaration.Lookup(q.PathValue("entry"))
	if e == nil || e.Construct != keyspace.Queue {
		return nil, nil,
			problem(http.StatusNotFound, "no-such-queue", "the declaration has no such queue", "/queues lists them")
	}
	values, ok := instanceAt(q, e)
	if !ok {
		return nil, nil,
			problem(http.StatusNotFound, "no-such-queue", "the latest audit saw no such queue of this entry",
				"/queues lists them")
	}
	if q.target.Server == nil {
		return nil, nil, problem(http.StatusConflict, "no-server", "a snapshot file is shown: there is no server to ask", "")
	}
	client, err := q.target.Client(ctx)
	if err != nil {
		return nil, nil, away(err)
	}
	live := bind.Queue(client, q.target.Declaration.Keyspace, e, values)
	return e, &live, nil
}

// instanceAt returns the values of the queue that a path names: those that the audit has seen.
func instanceAt(q *request, e *keyspace.Entry) (bind.Values, bool) {
	if len(parts.Values(e)) == 0 {
		return bind.Values{}, q.PathValue("instance") == "-"
	}
	for _, v := range q.state.Instances[e.Name].Values {
		if answer.TitleOf(e, v) == q.PathValue("instance") {
			return v, true
		}
	}
	return nil, false
}

func away(err error) *failure {
	return problem(http.StatusServiceUnavailable, "server-away", finding.Printable(err.Error()), "look at the server")
}

func queuePage(q *request) (any, error) {
	ctx, cancel, failed := q.ask()
	if failed != nil {
		return nil, failed
	}
	defer cancel()
	e, live, err := q.live(ctx)
	if err != nil {
		return nil, err
	}
	out := QueuePage{Doc: e.Doc, Lease: e.Lease.Seconds(), Errors: []DeadGroup{}, Read: of(q.server, q.state.Queues).Read}
	if v := q.state.Queues.Value; v != nil {
		for _, one := range v.Queues {
			if one.Entry == e.Name && instanceOf(one.Queue) == q.PathValue("instance") {
				out.QueueRow = rowOfQueue(one)
			}
		}
	}
	out.Entry, out.Instance = e.Name, q.PathValue("instance")
	out.Lanes, out.Workers = append([]answer.Lane{}, out.Lanes...), append([]finding.JSONKey{}, out.Workers...)
	by := map[string]int64{}
	looked, all, err := eachDead(ctx, live, func(d queue.Dead) bool {
		by[answer.ErrorOf(d.Reason)]++
		return true
	})
	if err != nil {
		return nil, away(err)
	}
	out.LookedAt, out.ErrorsCut = looked, !all
	for text, n := range by {
		out.Errors = append(out.Errors, DeadGroup{text, n})
	}
	slices.SortFunc(out.Errors,
		func(a, b DeadGroup) int { return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Error, b.Error)) })
	if len(out.Errors) > maxErrors {
		out.Errors, out.ErrorsCut = out.Errors[:maxErrors], true
	}
	return out, nil
}

// rowOfQueue returns a queue in the list of queues.
func rowOfQueue(one answer.Queue) QueueRow {
	row := QueueRow{Instance: instanceOf(one.Queue), Queue: one}
	for _, l := range one.Lanes {
		row.Waiting, row.Oldest = row.Waiting+l.Jobs, max(row.Oldest, l.Oldest)
	}
	return row
}

// eachDead looks at dead jobs, the latest first, until a bound, or one is not wanted. all
// says that there are no others.
func eachDead(ctx context.Context, q *queue.Queue[string], want func(queue.Dead) bool) (looked int64, all bool,
	err error) {
	for range deadPages {
		page, err := q.Dead(ctx, looked, deadPage)
		if err != nil {
			return looked, false, err
		}
		for _, d := range page {
			looked++
			if !want(d) {
				return looked, false, nil
			}
		}
		if len(page) < deadPage {
			return looked, true, nil
		}
	}
	return looked, false, nil
}

func deadJobs(q *request) (any, error) {
	ctx, cancel, failed := q.ask()
	if failed != nil {
		return nil, failed
	}
	defer cancel()
	_, live, err := q.live(ctx)
	if err != nil {
		return nil, err
	}
	filter := answer.DeadFilter{Error: q.query.Get("error"), Text: q.query.Get("text")}
	var found []DeadRow
	looked, all, err := eachDead(ctx, live, func(d queue.Dead) bool {
		if filter.Matches(&d) {
			found = append(found, DeadRow{answer.DeadJob{ID: finding.JSONKey(d.ID),
				Reason: finding.Printable(d.Reason), Attempts: d.Attempts,
				Crashes: d.Crashes}, stampOf(d.Since)})
		}
		return true
	})
	if err != nil {
		return nil, away(err)
	}
	out := DeadList{LookedAt: looked}
	if out.Items, out.Page, err = page(q, found); err == nil {
		out.Cut = out.Cut || !all
	}
	return out, err
}
