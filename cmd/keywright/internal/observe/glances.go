package observe

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/doctor"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

// glances reads what the constructs hold, again and again, until ctx ends.
func (t *Target) glances(ctx context.Context) {
	for {
		began := time.Now()
		t.glance(ctx)
		if !waits(ctx, max(t.Glance-time.Since(began), 0), nil) {
			return
		}
	}
}

// glance reads all constructs once. It sends at most Pace commands a second: with many
// constructs it takes as long as that needs.
func (t *Target) glance(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := t.Client(ctx)
	p := &pace{each: time.Second / time.Duration(cmp.Or(t.Pace, defaultPace))}
	r := &answer.Reader{Client: client, Keyspace: t.Declaration.Keyspace, Instances: t.instances,
		Rankings: t.rankings(client), Pace: p.wait}
	t.glanceShards(ctx, err, client, p)
	glanceAt(ctx, t, err, keyspace.Queue, func(s *State) *Reading[answer.Queues] { return &s.Queues },
		func(e []*keyspace.Entry) (answer.Queues, error) { return r.Queues(ctx, e, 0) })
	glanceAt(ctx, t, err, keyspace.Lock, func(s *State) *Reading[answer.Locks] { return &s.Locks },
		func(e []*keyspace.Entry) (answer.Locks, error) { return r.Locks(ctx, e) })
	glanceAt(ctx, t, err, keyspace.Entity, func(s *State) *Reading[answer.Entities] { return &s.Entities },
		func(e []*keyspace.Entry) (answer.Entities, error) { return r.Entities(ctx, e) })
	glanceAt(ctx, t, err, keyspace.Ranking, func(s *State) *Reading[answer.Rankings] { return &s.Rankings },
		func(e []*keyspace.Entry) (answer.Rankings, error) { return r.ReadRankings(ctx, e) })
	t.glanceStreams(ctx, err, r)
	t.change(Glanced, func(*State) {})
}

// glanceStreams reads the streams that the latest audit has seen.
func (t *Target) glanceStreams(ctx context.Context, failed error, r *answer.Reader) {
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
	var value answer.Streams
	if failed == nil {
		value, failed = r.ReadStreams(ctx, keys, entries)
		value.Cut = cut
	}
	settle(ctx, t, func(s *State) *Reading[answer.Streams] { return &s.Streams }, value, failed)
}

// sparseStreams returns the entries of streams, where not all of their keys may be known.
func (t *Target) sparseStreams(st *State) (cut []answer.Cut) {
	for _, e := range t.Declaration.Entries {
		if st.Sparse() && (e.Construct == keyspace.Topic || string(e.Type) == source.Stream.String()) {
			cut = append(cut, answer.Cut{Entry: e.Name, Listed: len(st.Instances[e.Name].Keys)})
		}
	}
	return cut
}

// defaultPace says how many commands a second the readings send, those of scripts included.
const defaultPace = 12

// pace lets readings pass so that they send so many commands a second.
type pace struct {
	each time.Duration // of a command
	next time.Time
}

func (p *pace) wait(ctx context.Context, commands int) error {
	wait := time.Until(p.next)
	if wait > 0 && !waits(ctx, wait, nil) {
		return ctx.Err()
	}
	p.next = time.Now().Add(time.Duration(commands) * p.each)
	return nil
}

// glanceAt reads the constructs of one kind into their place in the state.
func glanceAt[T any](ctx context.Context, t *Target, failed error, of keyspace.Construct, at func(*State) *Reading[T],
	read func([]*keyspace.Entry) (T, error)) {
	var entries []*keyspace.Entry
	for _, e := range t.Declaration.Entries {
		if e.Construct == of {
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return
	}
	var value T
	if failed == nil {
		value, failed = read(entries)
	}
	settle(ctx, t, at, value, failed)
}

// settle puts what was read into its place in the state.
func settle[T any](ctx context.Context, t *Target, at func(*State) *Reading[T], value T, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r, now := at(&t.state), t.Now()
	if err != nil {
		r.Failed = failed(r.Failed, now, err)
		return
	}
	*r = Reading[T]{&value, now, nil, t.lasts(r.At, now)}
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
		x, err := server.Examine(ctx, t.Server.Config, t.Now)
		if ctx.Err() != nil {
			return
		}
		t.change(Diagnosed, func(s *State) {
			if err != nil {
				s.Server.Failed = failed(s.Server.Failed, t.Now(), err)
				return
			}
			d := doctor.Of(x)
			s.Server = Reading[doctor.Diagnosis]{&d, t.Now(), nil, t.Health}
		})
		if !waits(ctx, t.Health, nil) {
			return
		}
	}
}

// lasts returns how long it is from one reading to the next.
func (t *Target) lasts(before, now time.Time) time.Duration {
	if before.IsZero() {
		return t.Glance
	}
	return max(t.Glance, now.Sub(before))
}
