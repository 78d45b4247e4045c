package memory

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/examples/harca/harcakeys"
	"github.com/keywright/keywright/fallback"
)

// Global is the context of items that belong to none.
const Global = "global"

// ErrNoContext reports an item for a context that is not there.
var ErrNoContext = errors.New("there is no such context: it has expired, was deleted, or never was")

// Item represents one short-term memory (WorkingMemoryItem). Its content is sealed before
// it leaves this process, confidential or not.
type Item struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	ContextID string          `json:"contextId"` // "": Global
	Priority  int64           `json:"priority"`  // 1 to 10; 0: 5
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	CreatedAt time.Time       `json:"createdAt,omitzero"` // zero in a copy of an item whose time only Redis knows
	UpdatedAt *time.Time      `json:"updatedAt,omitempty"`
	Version   int64           `json:"version"`

	// TTL in seconds of an item that is made, 60 to 86,400; 0: by its priority.
	TTL int64 `json:"ttl,omitempty"`
	// FromCopy: Redis did not answer, or has not got its latest writes yet. AsOf is
	// how old the answer is then.
	FromCopy bool       `json:"fromCopy,omitempty"`
	AsOf     *time.Time `json:"asOf,omitempty"`
}

// Written says what became of a write.
type Written struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
	Pending bool   `json:"pending,omitempty"` // kept by the second store until Redis is back
}

// Create makes an item, its entries in all indexes and its event in one step, and
// prolongs its context. While Redis is away it is accepted and made later.
func (m *Memory) Create(ctx context.Context, i Item) (Written, error) {
	i = i.filled()
	if err := m.use(ctx, i.ContextID, true); err != nil {
		return Written{}, err
	}
	return m.create(ctx, i)
}

// filled returns the item with what its caller may leave out.
func (i Item) filled() Item {
	if i.ID == "" {
		i.ID = newID()
	}
	if i.ContextID == "" {
		i.ContextID = Global
	}
	if i.Priority == 0 {
		i.Priority = 5
	}
	if len(i.Metadata) == 0 {
		i.Metadata = json.RawMessage(`{}`)
	}
	return i
}

func (m *Memory) create(ctx context.Context, i Item) (Written, error) {
	v := harcakeys.ItemValue{ID: i.ID, Type: i.Type, Content: i.Content, ContextID: i.ContextID, Priority: i.Priority,
		Metadata: i.Metadata}
	r, err := m.items.Create(ctx, i.ID, v, lifetime(i.TTL)...)
	return Written{i.ID, r.Version, r.Pending}, err
}

func lifetime(seconds int64) []fallback.WriteOption {
	if seconds == 0 {
		return nil
	}
	return []fallback.WriteOption{fallback.ExpiresIn(lasting(seconds))}
}

// lasting is so many seconds, or as many as a duration holds: more than any declared bound.
func lasting(seconds int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	return time.Duration(min(max(seconds, -most), most)) * time.Second
}

// Get reads an item and prolongs its context: one round trip. While Redis is away
// the answer is the last one this process has seen, and says so.
func (m *Memory) Get(ctx context.Context, id string) (Item, error) {
	a, err := m.items.Get(ctx, id)
	if err != nil {
		return Item{}, err
	}
	i := show(a.Value)
	if a.Source == fallback.Second {
		i.FromCopy, i.AsOf = true, &a.AsOf
	} else {
		_ = m.use(ctx, i.ContextID, false) // without its context the item is there nevertheless
	}
	return i, nil
}

func show(x entity.Item[string, harcakeys.ItemValue]) Item {
	v := x.Value
	return Item{ID: x.ID, Type: v.Type, Content: v.Content, ContextID: v.ContextID, Priority: v.Priority,
		Metadata:  v.Metadata,
		CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt, Version: x.Version}
}

// Change is new values of some fields; nil leaves a field as it is.
type Change struct {
	Type      *string         `json:"type"`
	ContextID *string         `json:"contextId"`
	Priority  *int64          `json:"priority"` // begins the TTL again
	Content   json.RawMessage `json:"content"`
	Metadata  json.RawMessage `json:"metadata"`
}

func (c Change) changes() (all []entity.Change[harcakeys.ItemValue]) {
	f := harcakeys.ItemFields
	if c.Type != nil {
		all = append(all, f.Type.Set(*c.Type))
	}
	if c.ContextID != nil {
		all = append(all, f.ContextID.Set(*c.ContextID))
	}
	if c.Priority != nil {
		all = append(all, f.Priority.Set(*c.Priority))
	}
	if c.Content != nil {
		all = append(all, f.Content.Set(c.Content))
	}
	if c.Metadata != nil {
		all = append(all, f.Metadata.Set(c.Metadata))
	}
	return all
}

// Update changes an item if it still has the version; 0 is any. An item that has
// changed meanwhile is fallback.ErrConflict. A change of type, context or
// priority moves its index entries in the same step.
func (m *Memory) Update(ctx context.Context, id string, version int64, c Change) (Written, error) {
	var options []fallback.WriteOption
	if version != 0 {
		options = append(options, fallback.If(version))
	}
	left := "" // the context that the item leaves, of which its event says nothing
	if c.ContextID != nil {
		if err := m.use(ctx, *c.ContextID, true); err != nil {
			return Written{}, err
		}
		if was, err := m.items.Get(ctx, id); err == nil && was.Value.Value.ContextID != *c.ContextID {
			left = was.Value.Value.ContextID
		}
	}
	r, err := m.items.Update(ctx, id, c.changes(), options...)
	if left != "" && err == nil {
		m.forget(Event{ContextID: left})
	}
	return Written{id, r.Version, r.Pending}, err
}

// Delete removes an item, with its index entries and in one step.
func (m *Memory) Delete(ctx context.Context, id string) (Written, error) {
	r, err := m.items.Delete(ctx, id)
	return Written{ID: id, Pending: r.Pending}, err
}

// Query represents a page of items: those of all that is given.
type Query struct {
	Type, ContextID string
	Priority        int64
	Limit           int    // 0: 100, at most 1,000
	After           string // the Next of the page before
}

// ErrQuery reports a query of everything: there is no index over all items.
var ErrQuery = errors.New("a query names a type, a context or a priority")

// List gives items, the newest first: one round trip. It needs Redis.
func (m *Memory) List(ctx context.Context, q Query) (items []Item, next string, err error) {
	store := m.keys.ItemStore()
	var in []entity.Of[harcakeys.ItemValue]
	if q.ContextID != "" {
		in = append(in, store.ByContextIDCreatedAt(q.ContextID))
	}
	if q.Type != "" {
		in = append(in, store.ByTypeCreatedAt(q.Type))
	}
	if q.Priority != 0 {
		in = append(in, store.ByPriorityCreatedAt(q.Priority))
	}
	if len(in) == 0 {
		return nil, "", ErrQuery
	}
	page, err := store.List(ctx, entity.Query[harcakeys.ItemValue]{Of: in[0], And: in[1:], Newest: true, Limit: q.Limit,
		After: q.After})
	for _, i := range page.Items {
		items = append(items, show(i))
	}
	return items, page.Next, err
}

// away reports whether Redis does not answer now.
func (m *Memory) away(ctx context.Context) bool {
	s, err := m.items.Guard().State(ctx)
	return err == nil && s.Phase == fallback.Away
}

// newID returns a random UUID (version 4).
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
