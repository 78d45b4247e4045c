package observe

import (
	"context"
	"slices"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/source"
)

// Once reads what is judged of a server, without an audit: what there is of each entry is searched for on the server.
// What could not be searched for is a gap.
func (t *Target) Once(ctx context.Context) (st State, gaps answer.Gaps, err error) {
	client, err := t.Client(ctx)
	if err != nil {
		return st, gaps, err
	}
	defer client.Close()
	t.Look()
	for _, r := range t.declared() {
		if r.told == Sharded {
			t.glance(ctx, r)
		}
	}
	st = t.State()
	partly := st.Shards.Value != nil && slices.ContainsFunc(*st.Shards.Value, func(s Shard) bool { return s.Away != "" })
	for _, e := range t.Declaration.Entries {
		stream := streams(e)
		if !stream && e.Construct != keyspace.Queue && e.Construct != keyspace.Entity {
			continue
		}
		found, bounded, err := bind.Instances(ctx, client, e)
		if err != nil && partly && ctx.Err() == nil {
			gaps.Unread = append(gaps.Unread, answer.Unread{Entry: e.Name, Why: err.Error()})
			continue
		}
		if err := gaps.Pass(ctx, e.Name, "", err); err != nil {
			return st, gaps, err
		}
		if bounded {
			gaps.Cut = append(gaps.Cut, answer.Cut{Entry: e.Name, Listed: len(found)})
		}
		f := Found{Values: found, Cut: bounded}
		for _, values := range found {
			if key, err := bind.Build(e.Keys[0].Pattern, values); err == nil && stream {
				f.Keys = append(f.Keys, key)
			}
		}
		t.change(Queued, func(s *State) {
			if s.Instances == nil {
				s.Instances, s.Searched = map[string]Found{}, true
			}
			s.Instances[e.Name] = f
		})
	}
	for _, r := range t.declared() {
		if slices.Contains([]What{Queued, Streamed, Counted}, r.told) {
			t.glance(ctx, r)
		}
	}
	st = t.State()
	return st, gaps, ctx.Err()
}

// streams reports whether the keys of an entry are streams.
func streams(e *keyspace.Entry) bool {
	return e.Construct == keyspace.Topic || string(e.Type) == source.Stream.String()
}
