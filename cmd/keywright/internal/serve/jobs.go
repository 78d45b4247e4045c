package serve

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/queue"
)

// QueueJobs lists jobs of a queue that are in one state. Its total is the latest that was counted.
type QueueJobs struct {
	Items []QueueJob `json:"items"`
	Page
}

// QueueJob represents a job that is not dead.
type QueueJob struct {
	ID   finding.JSONKey `json:"id"`
	Lane string          `json:"lane,omitempty"` // where it waits
	At   Stamp           `json:"at,omitempty"`   // until when its lease lasts, or when it is due
}

var jobRoutes = []route{
	{method: "GET", path: "/api/v1/t/{target}/queues/{entry}/{instance}/jobs",
		what: "Jobs of a queue that wait, run or wait for their time",
		params: []param{{"state", "waiting (by default), running or delayed", "string", false},
			{"lane", "of those that wait: the lane (by default the first)", "string", false}, limitParam, cursorParam},
		answer: reflect.TypeFor[QueueJobs](), handle: queueJobs},
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
		return nil, problem(http.StatusBadRequest, "bad-parameter", "state takes waiting, running or delayed", "")
	}
	if err != nil {
		return nil, away(err)
	}
	out := QueueJobs{Items: []QueueJob{}, Page: Page{Total: q.counted()}}
	for _, j := range jobs {
		one := QueueJob{ID: finding.JSONKey(j.ID), Lane: j.Lane}
		if !j.At.IsZero() {
			one.At = stampOf(j.At)
		}
		out.Items = append(out.Items, one)
	}
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
		if one.Entry != q.PathValue("entry") || instanceOf(one.Queue) != q.PathValue("instance") {
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
