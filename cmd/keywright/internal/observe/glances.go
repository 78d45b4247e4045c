package observe

import (
	"context"
	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/audit/doctor"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/source/server/examine"
)

// readings lists what is read of a server beside audits, each at a pace of its own: what a person on call looks at is
// read at each glance, however many locks there are. What takes more commands is read less often: than its
// part of the budget at rest while the target is not looked at, and than its own while it is.
var readings = []reading{
	part(Sharded, "", 1, 1, 100, func(s *State) *Reading[[]Shard] { return &s.Shards }, readShards),
	part(Queued, keyspace.Queue, 1, 8, 4000, func(s *State) *Reading[answer.Queues] { return &s.Queues },
		readQueues),
	part(Streamed, "", 1, 6, 1000, func(s *State) *Reading[answer.Streams] { return &s.Streams }, readStreams),
	part(Locked, keyspace.Lock, 3, 2, 800, func(s *State) *Reading[answer.Locks] { return &s.Locks },
		func(ctx context.Context, t *Target, r *answer.Reader) (answer.Locks, error) {
			return r.Locks(ctx, t.declares(keyspace.Lock))
		}),
	part(Counted, keyspace.Entity, 3, 2, 800, func(s *State) *Reading[answer.Entities] { return &s.Entities },
		func(ctx context.Context, t *Target, r *answer.Reader) (answer.Entities, error) {
			return r.Entities(ctx, t.declares(keyspace.Entity))
		}),
	part(Ranked, keyspace.Ranking, 12, 1, 400, func(s *State) *Reading[answer.Rankings] { return &s.Rankings },
		func(ctx context.Context, t *Target, r *answer.Reader) (answer.Rankings, error) {
			return r.ReadRankings(ctx, t.declares(keyspace.Ranking))
		}),
}

// declared returns the readings that a declaration asks for.
func (t *Target) declared() (out []*reading) {
	for i := range readings {
		if r := &readings[i]; r.of == "" || len(t.declares(r.of)) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// expects says in the state what will be read, and how often: what never is read is old, too.
func (t *Target) expects() {
	if t.Server == nil {
		return
	}
	for _, r := range t.declared() {
		r.mark(&t.state).Every = t.every(r, 0)
	}
	t.state.Audits.Every, t.state.Server.Every = t.Every, t.Health
	if t.Migrations != nil {
		t.state.Moves.Every = t.Health
	}
}

// readQueues reads the queues, and counts the jobs that have died since the reading before: those that were brought
// back or discarded in the same seconds are not seen, and the count of a queue that is gone begins at zero again. It
// also counts how each queue has changed.
func readQueues(ctx context.Context, t *Target, r *answer.Reader) (answer.Queues, error) {
	at := t.Now()
	now, err := r.Queues(ctx, t.declares(keyspace.Queue), 0)
	before := t.State().Queues.Value
	now.Died = map[string]int64{}
	if before == nil {
		now.Grow(at, answer.Past{})
		return now, err
	}
	now.Grow(at, before.Past)
	dead := map[string]int64{}
	for i := range before.Queues {
		dead[before.Queues[i].Title()] = before.Queues[i].Dead
	}
	for i := range now.Queues {
		title := now.Queues[i].Title()
		if was, known := dead[title]; known {
			now.Died[title] = before.Died[title] + max(0, now.Queues[i].Dead-was)
		}
	}
	return now, err
}

// readStreams reads the streams that the latest audit has seen.
func readStreams(ctx context.Context, t *Target, r *answer.Reader) (answer.Streams, error) {
	var keys []string
	entries := map[string]string{}
	st := t.State()
	cut := t.sparseStreams(&st)
	for name, found := range st.Instances {
		if e, _ := t.Declaration.Lookup(name); e != nil && e.Construct == keyspace.Ranking {
			continue
		}
		for _, key := range found.Keys {
			keys, entries[key] = append(keys, key), name
		}
		if found.Cut && len(found.Keys) > 0 && !st.Sparse() {
			cut = append(cut, answer.Cut{Entry: name, Listed: len(found.Keys)})
		}
	}
	slices.Sort(keys)
	value, err := r.ReadStreams(ctx, keys, entries)
	value.Cut = cut
	return value, err
}

// sparseStreams returns the entries of streams, where not all of their keys may be known.
func (t *Target) sparseStreams(st *State) (cut []answer.Cut) {
	for _, e := range t.Declaration.Entries {
		if st.Sparse() && streams(e) {
			cut = append(cut, answer.Cut{Entry: e.Name, Listed: len(st.Instances[e.Name].Keys)})
		}
	}
	return cut
}

// instances returns those that the latest audit has seen.
func (t *Target) instances(_ context.Context, e *keyspace.Entry) ([]bind.Values, bool, error) {
	if len(parts.Values(e)) == 0 {
		return []bind.Values{{}}, false, nil
	}
	st := t.State()
	found := st.Instances[e.Name]
	return found.Values, found.Cut || st.Sparse(), nil
}

// rankings returns those that the latest audit has seen.
func (t *Target) rankings(c *keywright.Client) func(context.Context, *keyspace.Entry) ([]*bind.Ranking, bool, error) {
	return func(_ context.Context, e *keyspace.Entry) (out []*bind.Ranking, cut bool, err error) {
		st := t.State()
		found := st.Instances[e.Name]
		for _, key := range found.Keys {
			if target, _ := t.locator.Target([]byte(key)); target.Key != nil {
				out = append(out, bind.RankingAt(c, t.Declaration.Keyspace, target.Key, key))
			}
		}
		return out, found.Cut || st.Sparse(), nil
	}
}

// diagnoses asks the server how it is, again and again, until ctx ends.
func (t *Target) diagnoses(ctx context.Context) {
	for {
		began := t.Now()
		x, err := examine.Examine(ctx, t.Server.Config, t.Now)
		if ctx.Err() != nil {
			return
		}
		d := doctor.Diagnosis{}
		if err == nil {
			d = doctor.Of(x)
		}
		t.recordReading(Diagnosed, func(s *State) *Mark { return &s.Server.Mark }, func(s *State) { s.Server.Value = &d }, began,
			t.Health, err)
		if !waits(ctx, t.Health, nil) {
			return
		}
	}
}
