package serve

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/deadsearch"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/queue"
)

var jobRoutes = []route{
	{method: "GET", path: "/api/v1/t/{target}/queues/{entry}/{instance}/jobs",
		what: "Jobs of a queue that wait, run or wait for their time",
		params: []param{{"state", "waiting (by default), running or delayed", "string", false},
			{"lane", "of those that wait: the lane (by default the first)", "string", false}, limitParam, cursorParam},
		answer: reflect.TypeFor[document.QueueJobs](), handle: queueJobs},
}

// live returns the queue that a path names.
func (q *request) live(ctx context.Context) (*keyspace.Entry, *queue.Queue[string], error) {
	e, _ := q.target.Declaration.Lookup(q.PathValue("entry"))
	if e == nil || e.Construct != keyspace.Queue {
		return nil, nil,
			reply.Fail(http.StatusNotFound, "no-such-queue", "the declaration has no such queue", "/queues lists them")
	}
	values, ok := instanceAt(q, e)
	if !ok {
		return nil, nil,
			reply.Fail(http.StatusNotFound, "no-such-queue", "the latest audit saw no such queue of this entry",
				"/queues lists them")
	}
	if q.target.Server == nil {
		return nil, nil, reply.Fail(http.StatusConflict, "no-server",
			observe.NoServer, "")
	}
	client, err := q.target.Client(ctx)
	if err != nil {
		return nil, nil, reply.Away(err)
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

func queuePage(q *request) (any, error) {
	found, err := q.search(answer.DeadFilter{})
	if err != nil {
		return nil, err
	}
	e, _ := q.target.Declaration.Lookup(q.PathValue("entry")) // it is there: it was searched
	out := document.QueuePage{Entry: e.Name, Instance: q.PathValue("instance"), Doc: e.Doc, Lease: e.Lease.Seconds(),
		Read: q.of(q.state.Queues.Mark).Read, Looked: found.Looked()}
	var lacks answer.Gaps
	if v := q.state.Queues.Value; v != nil {
		for _, one := range v.Queues {
			if one.Entry == e.Name && document.InstanceOf(one.Queue) == out.Instance {
				row := document.RowOfQueue(one)
				row.Lanes, row.Workers = append([]answer.Lane{}, row.Lanes...), append([]finding.JSONKey{}, row.Workers...)
				out.QueueRow = &row
			}
		}
		for _, u := range v.Unread {
			if u.Entry == e.Name && (u.Key == nil || string(*u.Key) == out.Instance) {
				lacks.Unread = append(lacks.Unread, u)
			}
		}
	}
	out.Unread, out.Partial = append([]answer.Unread{}, lacks.Unread...), observe.Reasons(lacks.Lacks())
	if out.QueueRow == nil && out.Partial == "" {
		out.Partial = observe.NotYet
	}
	out.Errors, out.Others = found.Groups()
	return out, nil
}

// search gives what is known of the dead jobs that match a filter, and begins to look at all of them.
func (q *request) search(filter answer.DeadFilter) (deadsearch.Found, error) {
	ctx, cancel, failed := q.ask()
	if failed != nil {
		return deadsearch.Found{}, failed
	}
	defer cancel()
	_, live, err := q.live(ctx)
	if err != nil {
		return deadsearch.Found{}, err
	}
	return q.server.searches.Find(ctx, deadsearch.Key{Target: q.target.ID, Entry: q.PathValue("entry"),
		Instance: q.PathValue("instance"), DeadFilter: filter}, live)
}

func deadJobs(q *request) (any, error) {
	found, err := q.search(answer.DeadFilter{Error: q.query.Get("error"), Text: q.query.Get("text")})
	if err != nil {
		return nil, err
	}
	out := document.DeadList{Looked: found.Looked()}
	if out.Items, out.Page, err = page(q, found.Rows); err == nil {
		out.Cut = out.Cut || found.Matched > int64(len(found.Rows)) || !found.Ended
		out.Total = found.Matched
	}
	return out, err
}

// mostJobs bounds a part of the list: one request to the server.
const mostJobs = 1000

func queueJobs(q *request) (any, error) {
	limit, err := q.number("limit", usualLimit, 1, mostJobs)
	if err != nil {
		return nil, err
	}
	from, err := q.number("cursor", 0, 0, 1<<40)
	if err != nil {
		return nil, err
	}
	ctx, cancel, failed := q.ask()
	if failed != nil {
		return nil, failed
	}
	defer cancel()
	_, live, err := q.live(ctx)
	if err != nil {
		return nil, err
	}
	var jobs []queue.Listed
	switch q.query.Get("state") {
	case "", "waiting":
		jobs, err = live.Waiting(ctx, q.query.Get("lane"), int64(from), int64(limit))
	case "running":
		jobs, err = live.Running(ctx, int64(from), int64(limit))
	case "delayed":
		jobs, err = live.Delayed(ctx, int64(from), int64(limit))
	default:
		return nil, reply.Fail(http.StatusBadRequest, "bad-parameter", "state takes waiting, running or delayed", "")
	}
	if err != nil {
		return nil, reply.Away(err)
	}
	out := document.QueueJobs{Items: []document.QueueJob{}, Page: reply.Page{Total: q.counted()}}
	for _, j := range jobs {
		one := document.QueueJob{ID: finding.JSONKey(j.ID), Lane: j.Lane}
		if !j.At.IsZero() {
			one.At = document.StampOf(j.At)
		}
		out.Items = append(out.Items, one)
	}
	out.Total = max(out.Total, int64(from+len(jobs))) // the latest reading may not have it
	if len(jobs) == limit {
		out.Cut, out.Next = true, strconv.Itoa(from+limit)
	}
	return out, nil
}

// counted returns how many jobs the latest reading has in the state that is asked for.
func (q *request) counted() (n int64) {
	if q.state.Queues.Value == nil {
		return 0
	}
	for _, one := range q.state.Queues.Value.Queues {
		if one.Entry != q.PathValue("entry") || document.InstanceOf(one.Queue) != q.PathValue("instance") {
			continue
		}
		switch q.query.Get("state") {
		case "running":
			return one.Running + one.Zombies
		case "delayed":
			return one.Delayed
		}
		lane := q.query.Get("lane")
		for i, l := range one.Lanes {
			if l.Lane == lane || lane == "" && i == 0 {
				return l.Jobs
			}
		}
	}
	return n
}
