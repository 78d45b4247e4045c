package serve

import (
	"context"
	"net/http"

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
	Doc    string      `json:"doc,omitempty"`
	Lease  float64     `json:"lease_seconds"`
	Errors []DeadGroup `json:"errors"`       // the most jobs first
	Others int64       `json:"other_errors"` // dead jobs with an error that is not among them
	Looked
	Read
}

// Looked says how far a search for dead jobs is. It looks at all of them, and goes on when the answer was given.
type Looked struct {
	LookedAt  int64 `json:"looked_at"` // dead jobs, so far
	Since     Stamp `json:"looked_since"`
	Searching bool  `json:"searching"` // not all were looked at yet: ask again
}

// DeadGroup is dead jobs with one error.
type DeadGroup struct {
	Error string `json:"error"`
	Jobs  int64  `json:"jobs"`
}

// DeadList are dead jobs of a queue. Its total are all that match, as far as they were looked at.
type DeadList struct {
	Items []DeadRow `json:"items"` // of the latest 10,000 that match
	Looked
	Page
}

// DeadRow represents a dead job.
type DeadRow struct {
	answer.DeadJob
	At Stamp `json:"at"` // when it was given up
}

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
	found, err := q.search(answer.DeadFilter{})
	if err != nil {
		return nil, err
	}
	e, _ := q.target.Declaration.Lookup(q.PathValue("entry")) // it is there: it was searched
	out := QueuePage{Doc: e.Doc, Lease: e.Lease.Seconds(), Read: q.of(q.state.Queues.Mark).Read, Looked: found.looks()}
	if v := q.state.Queues.Value; v != nil {
		for _, one := range v.Queues {
			if one.Entry == e.Name && instanceOf(one.Queue) == q.PathValue("instance") {
				out.QueueRow = rowOfQueue(one)
			}
		}
	}
	out.Entry, out.Instance = e.Name, q.PathValue("instance")
	out.Lanes, out.Workers = append([]answer.Lane{}, out.Lanes...), append([]finding.JSONKey{}, out.Workers...)
	out.Errors, out.Others = found.groups()
	return out, nil
}

// looks says how far a search is.
func (f *searched) looks() Looked { return Looked{f.looked, stampOf(f.at), !f.ended || f.again} }

// rowOfQueue returns a queue in the list of queues.
func rowOfQueue(one answer.Queue) QueueRow {
	row := QueueRow{Instance: instanceOf(one.Queue), Queue: one}
	for _, l := range one.Lanes {
		row.Waiting, row.Oldest = row.Waiting+l.Jobs, max(row.Oldest, l.Oldest)
	}
	return row
}

func deadJobs(q *request) (any, error) {
	found, err := q.search(answer.DeadFilter{Error: q.query.Get("error"), Text: q.query.Get("text")})
	if err != nil {
		return nil, err
	}
	out := DeadList{Looked: found.looks()}
	if out.Items, out.Page, err = page(q, found.rows); err == nil {
		out.Cut = out.Cut || found.matched > int64(len(found.rows)) || !found.ended
		out.Total = found.matched
	}
	return out, err
}
