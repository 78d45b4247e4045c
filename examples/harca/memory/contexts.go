package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/examples/harca/harcakeys"
)

// patience says how long an item waits for its context to be prolonged, unless the options say it.
const patience = 500 * time.Millisecond

// Context describes what items belong to.
type Context struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Type      string          `json:"type"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	CreatedAt time.Time       `json:"createdAt"`
	UpdatedAt time.Time       `json:"updatedAt"`     // the last time that its name, type or metadata were changed
	UsedAt    time.Time       `json:"usedAt"`        // the last time that it, or an item of it, was used
	Version   int64           `json:"version"`       // of an update; a use has none
	TTL       int64           `json:"ttl,omitempty"` // in seconds, of one that is made: 900 to 604,800; 0: an hour
}

// CreateContext makes a context, which counts as its first use.
func (m *Memory) CreateContext(ctx context.Context, c Context) (Context, error) {
	if c.ID == "" {
		c.ID = newID()
	}
	if len(c.Metadata) == 0 {
		c.Metadata = json.RawMessage(`{}`)
	}
	var options []keywright.WriteOption
	if c.TTL != 0 {
		options = append(options, keywright.ExpiresIn(lasting(c.TTL)))
	}
	store := m.keys.ContextStore()
	// Until it is stamped it is the one that was used first: contexts are sorted by the clock of
	// their server, never by that of a caller.
	made, err := store.Create(ctx, c.ID, harcakeys.ContextValue{ID: c.ID, Name: c.Name, Type: c.Type,
		UsedAt: time.UnixMilli(0), Metadata: c.Metadata}, options...)
	if err != nil {
		return Context{}, err
	}
	out := showContext(made)
	if err = store.Stamp(ctx, c.ID, harcakeys.ContextFields.UsedAt, options...); err == nil {
		var now Context
		if now, err = m.Context(ctx, c.ID); err == nil {
			out = now
		}
	}
	if err != nil {
		m.failed("use of a new context")(err) // it is made, and its next use stamps it
	}
	return out, nil
}

// ContextChange is new values of some fields of a context; nil leaves a field as it is.
type ContextChange struct {
	Name     *string         `json:"name"`
	Type     *string         `json:"type"`
	Metadata json.RawMessage `json:"metadata"`
}

func (c ContextChange) changes() (all []entity.Change[harcakeys.ContextValue]) {
	f := harcakeys.ContextFields
	if c.Name != nil {
		all = append(all, f.Name.Set(*c.Name))
	}
	if c.Type != nil {
		all = append(all, f.Type.Set(*c.Type))
	}
	if c.Metadata != nil {
		all = append(all, f.Metadata.Set(c.Metadata))
	}
	return all
}

// ErrNoChange reports an update that changes nothing.
var ErrNoChange = errors.New("an update names at least one field that it changes")

// UpdateContext changes a context if it still has the version; 0 is any. A context that
// another caller has changed is entity.ErrVersion. A use meanwhile is no change.
func (m *Memory) UpdateContext(ctx context.Context, id string, version int64, c ContextChange) (Written, error) {
	changes := c.changes()
	if len(changes) == 0 {
		return Written{}, ErrNoChange
	}
	var err error
	if version == 0 {
		version, err = m.keys.ContextStore().Update(ctx, id, changes...)
	} else {
		version, err = m.keys.ContextStore().UpdateIf(ctx, id, version, changes...)
	}
	return Written{ID: id, Version: version}, err
}

func showContext(x entity.Item[string, harcakeys.ContextValue]) Context {
	v := x.Value
	return Context{ID: x.ID, Name: v.Name, Type: v.Type, Metadata: v.Metadata, CreatedAt: v.CreatedAt,
		UpdatedAt: v.UpdatedAt, UsedAt: v.UsedAt, Version: x.Version}
}

// Context reads a context. Looking at it is no use of it: it is not prolonged.
func (m *Memory) Context(ctx context.Context, id string) (Context, error) {
	found, err := m.keys.ContextStore().GetMany(ctx, id)
	if err != nil {
		return Context{}, err
	}
	if len(found) == 0 {
		return Context{}, keywright.ErrNotFound
	}
	return showContext(found[0]), nil
}

// DeleteContext removes a context and reports whether it was there. Its items stay
// until their own TTLs end.
func (m *Memory) DeleteContext(ctx context.Context, id string) (bool, error) {
	return m.keys.ContextStore().Delete(ctx, id)
}

// Active returns the contexts by their last use, the latest first; of one type, or of
// all with "". after is the next of the page before.
func (m *Memory) Active(ctx context.Context, kind, after string) (contexts []Context, next string, err error) {
	store := m.keys.ContextStore()
	q := entity.Query[harcakeys.ContextValue]{Of: store.ByUsedAt(), Newest: true, After: after}
	if kind != "" {
		q.And = append(q.And, store.ByType(kind))
	}
	page, err := store.List(ctx, q)
	for _, c := range page.Items {
		contexts = append(contexts, showContext(c))
	}
	return contexts, page.Next, err
}

// use notes that a context is in use: it comes first among the active ones and lives
// for another hour at least. That is no update: it has no event. Reads do so now and
// then, writes always. A context that is gone is ErrNoContext; while Redis is away that
// is not known, and the item does not wait for it.
func (m *Memory) use(ctx context.Context, id string, writes bool) error {
	if id == Global || !m.due(id, writes) || m.away(ctx) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.o.Patience, patience))
	defer cancel()
	err := m.keys.ContextStore().Stamp(ctx, id, harcakeys.ContextFields.UsedAt) // sliding: an hour, if it has less left
	if errors.Is(err, keywright.ErrNotFound) {
		return ErrNoContext
	}
	if err != nil {
		m.failed("use of a context")(err)
	}
	return nil
}

// due reports whether a use of a context is to be noted now.
func (m *Memory) due(id string, writes bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !writes && time.Since(m.noted[id]) < m.o.Note {
		return false
	}
	if len(m.noted) > 10_000 {
		clear(m.noted) // noted once too often, at worst
	}
	m.noted[id] = time.Now()
	return true
}
