package serve

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/internal/history"
)

var historyParams = []param{
	{"entry", "the name of a row of the overview; (total), the default, is all of them; (memory) is that of the servers, " +
		"as bytes; `(queue) ENTRY INSTANCE` are the jobs of a queue, by state as codes", "string", false},
	{"code", "violations of this rule only", "string", false},
	{"metric", "keys, bytes, violations, codes (violations by rule), with commas between them; all but codes by default",
		"string", false},
	{"from", "a time (RFC 3339); by default the first that is kept, 30 days ago at most", "string", false},
	{"to", "a time (RFC 3339); now by default", "string", false},
	{"step", "raw, hour or day; by default what fits the time", "string", false},
}

func series(q *request) (any, error) {
	now := q.server.Now()
	from, err := q.time("from", q.begins(now))
	if err != nil {
		return nil, err
	}
	to, err := q.time("to", now)
	if err != nil {
		return nil, err
	}
	step := history.Step(cmp.Or(q.query.Get("step"), string(history.StepFor(from, now))))
	if history.Kept[step] == 0 {
		return nil, reply.Fail(http.StatusBadRequest, "bad-parameter", "step takes raw, hour or day", "")
	}
	metrics := strings.Split(cmp.Or(q.query.Get("metric"), "keys,bytes,violations"), ",")
	for _, m := range metrics {
		if !slices.Contains([]string{"keys", "bytes", "violations", "codes"}, m) {
			return nil, reply.Fail(http.StatusBadRequest, "bad-parameter", "metric takes keys, bytes, violations and codes", "")
		}
	}
	out := document.Series{Step: string(step), From: document.StampOf(from), To: document.StampOf(to),
		Series: []document.Track{}}
	if q.server.History == nil {
		return out, nil
	}
	ask := history.Query{Target: q.target.ID, Entry: cmp.Or(q.query.Get("entry"), document.TotalRow), Step: step,
		From: from, To: to}
	points, err := q.server.History.Range(q.Context(), ask)
	for coarser := 0; errors.Is(err, history.ErrTooMany) && q.query.Get("step") == "" && coarser < 2; coarser++ {
		ask.Step = []history.Step{history.Hour, history.Day}[coarser] // audits are short after each other
		points, err = q.server.History.Range(q.Context(), ask)
	}
	out.Step = string(ask.Step)
	if errors.Is(err, history.ErrTooMany) {
		return nil, reply.Fail(http.StatusBadRequest, "too-much", err.Error(),
			"ask for a shorter time, or with step=hour or step=day")
	}
	if err != nil {
		return nil, reply.Fail(http.StatusServiceUnavailable, "history-failed", err.Error(), "")
	}
	for _, m := range metrics {
		out.Series = append(out.Series, document.Tracks(m, q.query.Get("code"), points)...)
	}
	return out, nil
}

// usualRange is how far back figures go that are asked for without a time.
const usualRange = 30 * 24 * time.Hour

// begins returns when the figures of the target begin, as far as the usual range goes back.
func (q *request) begins(now time.Time) time.Time {
	from := now.Add(-usualRange)
	if q.server.History == nil {
		return from
	}
	if first, err := q.server.History.First(q.Context(), q.target.ID); err == nil && first.After(from) {
		return first
	}
	return from
}

// time reads a parameter.
func (q *request) time(name string, otherwise time.Time) (time.Time, error) {
	text := q.query.Get(name)
	if text == "" {
		return otherwise, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, reply.Fail(http.StatusBadRequest, "bad-parameter", name+" takes a time as in 2026-01-31T12:00:00Z", "")
	}
	return t, nil
}
