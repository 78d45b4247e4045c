package serve

import (
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/explain"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace"
)

// listed returns what a reading has, as a list.
func listed[T, R any](q *request, r observe.Reading[T], rows func(*T) ([]R, answer.Gaps)) (items []R,
	unread []answer.Unread, p reply.Page, m document.Measured, err error) {
	m, unread = q.of(r.Mark), []answer.Unread{}
	if r.Value != nil {
		var g answer.Gaps
		items, g = rows(r.Value)
		unread = gaps(&m, g)
	}
	items, p, err = page(q, items)
	return items, unread, p, m, err
}

// gaps says in Measured what a reading has not, and gives what could not be read.
func gaps(m *document.Measured, g answer.Gaps) []answer.Unread {
	m.Partial = observe.Reasons(g.Lacks())
	return append([]answer.Unread{}, g.Unread...)
}

func queues(q *request) (any, error) {
	var out document.QueueList
	var err error
	out.Items, out.Unread, out.Page, out.Measured, err = listed(q, q.state.Queues,
		func(v *answer.Queues) (rows []document.QueueRow, g answer.Gaps) {
			for _, one := range v.Queues {
				rows = append(rows, document.RowOfQueue(one))
			}
			return rows, v.Gaps
		})
	return out, err
}

func locks(q *request) (any, error) {
	var out document.LockList
	var err error
	out.Items, out.Unread, out.Page, out.Measured, err = listed(q, q.state.Locks,
		func(v *answer.Locks) (rows []answer.Lock, g answer.Gaps) {
			out.Untimed = v.Untimed
			for _, l := range v.Locks {
				l.Token = nil // with it anyone could give the lock back
				rows = append(rows, l)
			}
			return rows, v.Gaps
		})
	return out, err
}

func entities(q *request) (any, error) {
	var out document.EntityList
	var err error
	out.Items, out.Unread, out.Page, out.Measured, err = listed(q, q.state.Entities,
		func(v *answer.Entities) ([]answer.Entity, answer.Gaps) { return v.Entities, v.Gaps })
	return out, err
}

func streams(q *request) (any, error) {
	var out document.StreamList
	var err error
	out.Items, out.Unread, out.Page, out.Measured, err = listed(q, q.state.Streams,
		func(v *answer.Streams) ([]answer.Stream, answer.Gaps) { return v.Streams, v.Gaps })
	return out, err
}

func rankings(q *request) (any, error) {
	var out document.RankingList
	var err error
	out.Items, out.Unread, out.Page, out.Measured, err = listed(q, q.state.Rankings,
		func(v *answer.Rankings) ([]answer.Ranking, answer.Gaps) { return v.Rankings, v.Gaps })
	return out, err
}

func caches(q *request) (any, error) {
	out := document.CacheList{Measured: q.server.write.Measured(q.target, &q.state)}
	var rows []document.CacheRow
	if a := q.state.Shown(); a != nil {
		for _, r := range a.Report.Entries {
			if e, k := q.target.Declaration.Lookup(r.Name); e != nil && e.Construct == keyspace.Cache && k == e.Keys[0] {
				about := explain.EntryOf(q.target.Declaration.Keyspace, e, "")
				rows = append(rows, document.CacheRow{Entry: r.Name, Pattern: r.Pattern, Keys: r.Keys, Bytes: r.Bytes,
					NoTTL: r.NoTTL, TTL: r.TTL, DeletedBy: append([]string{}, about.Deletes...)})
			}
		}
	}
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}
