package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/value"
)

// item describes what is stored: a hash of six fields with a TTL, in two sets and two
// sorted sets. Keywright's has its version beside them.
type item struct {
	ID, Kind, Content, Context string
	Priority                   int64
	Created                    time.Time
	Version                    int64
}

const (
	kinds      = 5
	contexts   = 1000
	priorities = 10
	ttl        = 15 * time.Minute // of what is not to expire meanwhile
)

var (
	content = strings.Repeat("c", 64)
	names   = [...]string{"id", "type", "content", "contextId", "priority", "createdAt"}
)

// itemOf returns the nth item of a goroutine; another variant of it is in other
// indexes.
func itemOf(goroutine, n, variant int) item {
	return item{
		ID:   strconv.Itoa(100_000+goroutine) + "-7c1a-7d3e-8f60-" + strconv.Itoa(100_000_000+n),
		Kind: "type" + strconv.Itoa((n+variant)%kinds), Content: content,
		Context: "ctx" + strconv.Itoa((n*7+goroutine)%contexts), Priority: int64((n + variant) % priorities),
		Created: time.Now(),
	}
}

// itemWith returns itemOf by its id.
func itemWith(id string) (item, error) {
	var goroutine, n int
	if _, err := fmt.Sscanf(id, "%d-7c1a-7d3e-8f60-%d", &goroutine, &n); err != nil {
		return item{}, fmt.Errorf("the id %q: %w", id, err)
	}
	return itemOf(goroutine-100_000, n-100_000_000, 0), nil
}

// keys holds those of one way to store items. Where the ways run in one server
// each has its own.
type keys struct{ prefix string }

func (k keys) item(id string) string         { return k.prefix + "item:" + id }
func (k keys) kind(t *item) string           { return k.prefix + "idx:type:" + t.Kind }
func (k keys) context(context string) string { return k.prefix + "idx:context:" + context }
func (k keys) priority(t *item) string {
	return k.prefix + "idx:priority:" + strconv.FormatInt(t.Priority, 10)
}
func (k keys) expiry() string { return k.prefix + "idx:expiry" }

// values in the order of names.
func (t *item) values() [6]string {
	return [6]string{t.ID, t.Kind, t.Content, t.Context, strconv.FormatInt(t.Priority, 10),
		strconv.FormatInt(t.Created.UnixMilli(), 10)}
}

var errGone = errors.New("the item is gone")

// itemFrom returns what a program by hand makes of a hash.
func itemFrom(m map[string]string) (t item, err error) {
	if len(m) == 0 {
		return t, errGone
	}
	var e1, e2 error
	var ms int64
	t.ID, t.Kind, t.Content, t.Context = m["id"], m["type"], m["content"], m["contextId"]
	t.Priority, e1 = strconv.ParseInt(m["priority"], 10, 64)
	ms, e2 = strconv.ParseInt(m["createdAt"], 10, 64)
	t.Created = time.UnixMilli(ms)
	return t, errors.Join(e1, e2)
}

var fields = value.Fields[item]{Columns: []value.Column[item]{
	value.Required(names[0], value.Text(0), func(t *item) *string { return &t.ID }),
	value.Required(names[1], value.Text(0), func(t *item) *string { return &t.Kind }),
	value.Required(names[2], value.Text(0), func(t *item) *string { return &t.Content }),
	value.Required(names[3], value.Text(0), func(t *item) *string { return &t.Context }),
	value.Required(names[4], value.Int(0, 10), func(t *item) *int64 { return &t.Priority }),
	value.Required(names[5], value.UnixMS(), func(t *item) *time.Time { return &t.Created }),
	value.Required("version", value.Int(1, 1<<62), func(t *item) *int64 { return &t.Version }),
}}

var (
	setKind     = entity.Field[item, string]{Name: names[1], At: func(t *item) *string { return &t.Kind }}
	setPriority = entity.Field[item, int64]{Name: names[4], At: func(t *item) *int64 { return &t.Priority }}
)

// mortal is how long an item lives.
var mortal = keywright.TTL{Policy: keywright.Expires, Default: ttl, Min: 10 * time.Millisecond, Max: 24 * time.Hour,
	Text: "15m in 10ms..1d"}

// binding returns what a store of items with these keys is made with.
func binding(c *keywright.Client, k keys, life keywright.TTL) keywright.Binding {
	return keywright.Binding{Client: c, Entry: &keywright.Entry{Name: "item", Pattern: k.item("{id}"), Type: "hash",
		TTL: life}}
}

// spec returns what generated code would have.
func spec(k keys) *entity.Spec[string, item] {
	kind, context, priority := k.prefix+"idx:type:", k.prefix+"idx:context:", k.prefix+"idx:priority:"
	return &entity.Spec[string, item]{
		Prefix: k.item(""),
		Key:    func(id string) (string, error) { return k.item(id), nil },
		Parse:  func(key string) (string, bool) { return strings.CutPrefix(key, k.item("")) },
		Fields: &fields,
		Indexes: []entity.Index[item]{
			{Name: "type", Field: names[1], Prefix: kind, Key: func(t *item) (string, error) { return kind + t.Kind, nil }},
			{Name: "context", Field: names[3], Prefix: context,
				Key: func(t *item) (string, error) { return context + t.Context, nil }},
			{Name: "priority+createdAt", Field: names[4], Score: names[5], Prefix: priority,
				Key: func(t *item) (string, error) { return priority + strconv.FormatInt(t.Priority, 10), nil }},
		},
		Expires: k.expiry(), Records: k.prefix + "ledger", Lease: k.prefix + "sweep", IndexTTL: 48 * time.Hour,
		Created: names[5], Version: "version",
	}
}

const created = "events:item:created"

// announcing returns spec with an event of each creation.
func announcing(k keys) *entity.Spec[string, item] {
	s := spec(k)
	s.OnCreate = []entity.Event{{Mode: entity.Publish, Channel: created, Data: []entity.Part{
		{Name: "id", Form: value.Quoted}, {Name: names[1], Field: names[1], Form: value.Quoted},
		{Name: names[3], Field: names[3], Form: value.Quoted},
	}}}
	return s
}
