package memory

import (
	"context"
	"encoding/json"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/examples/harca/harcakeys"
)

// dear returns the TTL of a result by how long it took to compute: a minute for what is cheap,
// five for a second, half an hour for ten seconds or more.
func dear(spent time.Duration) time.Duration {
	switch {
	case spent >= 10*time.Second:
		return 30 * time.Minute
	case spent >= time.Second:
		return 5*time.Minute + (spent-time.Second)*25*60/9
	}
	return time.Minute + spent*4*60
}

// Compute gives a result that was computed from the items of a context, and
// computes it if no process has: once, over all of them. It is void when its TTL
// ends, when an item of the context changes, expires or goes, and with Outdate.
// While Redis is away it is computed each time.
func (m *Memory) Compute(ctx context.Context, name, contextID string,
	compute func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	generation, err := m.generation.Current(ctx)
	if err != nil {
		return compute(ctx)
	}
	return m.keys.Computed(generation, name).Tagged(m.keys.ComputedFrom(contextID).Key).GetOrLoad(ctx, compute)
}

// Outdate makes all results void at once: the code that computes them has changed,
// or the data that they came from. One round trip, whatever their number.
func (m *Memory) Outdate(ctx context.Context) (generation int64, err error) {
	return m.generation.Bump(ctx)
}

// Digest describes what a context holds.
type Digest struct {
	Items  int            `json:"items"`
	ByType map[string]int `json:"byType"`
	Newest *time.Time     `json:"newest,omitempty"`
}

// Digest sums up a context, or gives what was summed up before.
func (m *Memory) Digest(ctx context.Context, contextID string) (d Digest, err error) {
	text, err := m.Compute(ctx, "digest-"+contextID, contextID, func(ctx context.Context) (json.RawMessage, error) {
		m.figures.digests.Inc()
		d := Digest{ByType: map[string]int{}}
		store := m.keys.ItemStore()
		for i, err := range store.Each(ctx, entity.Query[harcakeys.ItemValue]{Of: store.ByContextIDCreatedAt(contextID),
			Newest: true}) {
			if err != nil {
				return nil, err
			}
			if d.Items == 0 {
				d.Newest = &i.Value.CreatedAt
			}
			d.Items++
			d.ByType[i.Value.Type]++
		}
		return json.Marshal(d)
	})
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(text, &d)
}

// SetState keeps the state of a part of the system; ttl is 5 min to 12 h, the more
// important the longer, 0: 30 min.
func (m *Memory) SetState(ctx context.Context, part string, state json.RawMessage, ttl time.Duration) error {
	var options []keywright.WriteOption
	if ttl != 0 {
		options = append(options, keywright.ExpiresIn(ttl))
	}
	return m.keys.SystemState(part).Set(state, options...).Do(ctx)
}

// State reads it.
func (m *Memory) State(ctx context.Context, part string) (json.RawMessage, error) {
	return m.keys.SystemState(part).Get().Do(ctx)
}
