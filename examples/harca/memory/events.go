package memory

import (
	"context"
	"errors"
	"time"

	"github.com/keywright/keywright/event"
)

// Event represents something that happened to an item or a context. It is announced in the
// same step as the change; an expiry by the process that sweeps, once.
type Event struct {
	Name      string    `json:"name"` // "item created", "ctx expired", …; "missed"
	Time      time.Time `json:"timestamp"`
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	ContextID string    `json:"contextId,omitempty"` // of an item
}

// Missed is the name of an event that says: the connection broke, or the handler
// was too slow, and events of any kind may not have come.
const Missed = "missed"

type (
	ofItem    struct{ ID, Type, ContextID string }
	ofContext struct{ ID, Type string }
)

// fromItem and fromContext: the messages of the channels are declared one by one,
// and have the same fields.
func fromItem[M ~struct{ ID, Type, ContextID string }](m M) Event {
	x := ofItem(m)
	return Event{ID: x.ID, Type: x.Type, ContextID: x.ContextID}
}

func fromContext[M ~struct{ ID, Type string }](m M) Event {
	x := ofContext(m)
	return Event{ID: x.ID, Type: x.Type}
}

// Subscribe passes all events to handle, one after the other within a channel,
// until stop is called or ctx ends. Pub/sub: a program that does not listen misses them.
func (m *Memory) Subscribe(ctx context.Context, handle func(Event)) (stop func(), err error) {
	l := listener{ctx: ctx, handle: handle, failed: m.failed("event")}
	k := m.keys
	listen(&l, "item created", k.ItemCreatedTopic(), fromItem)
	listen(&l, "item updated", k.ItemUpdatedTopic(), fromItem)
	listen(&l, "item deleted", k.ItemDeletedTopic(), fromItem)
	listen(&l, "item expired", k.ItemExpiredTopic(), fromItem)
	listen(&l, "ctx created", k.CtxCreatedTopic(), fromContext)
	listen(&l, "ctx updated", k.CtxUpdatedTopic(), fromContext)
	listen(&l, "ctx deleted", k.CtxDeletedTopic(), fromContext)
	listen(&l, "ctx expired", k.CtxExpiredTopic(), fromContext)
	if l.err != nil {
		l.stop()
		return nil, l.err
	}
	return l.stop, nil
}

// listener represents some subscriptions of one handler.
type listener struct {
	ctx    context.Context
	handle func(Event)
	failed func(error)
	stops  []func()
	err    error
}

func (l *listener) stop() {
	for _, stop := range l.stops {
		stop()
	}
}

func listen[M any](l *listener, name string, topic event.Topic[M], from func(M) Event) {
	if l.err != nil {
		return
	}
	var stop func()
	stop, l.err = topic.Subscribe(l.ctx, event.Options{}, func(m event.Message[M], err error) {
		e := Event{Name: Missed, Time: time.Now()}
		if err == nil {
			e = from(m.Data)
			e.Name, e.Time = name, m.Time
		} else if !isNotice(err) {
			l.failed(err) // a message that is not as declared
			return
		}
		l.handle(e)
	})
	if l.err == nil {
		l.stops = append(l.stops, stop)
	}
}

func isNotice(err error) bool {
	if _, ok := errors.AsType[*event.Gap](err); ok {
		return true
	}
	_, ok := errors.AsType[*event.Dropped](err)
	return ok
}

// forget makes void what was computed from an item that has changed. When events
// were missed it is not known which: then everything is.
func (m *Memory) forget(e Event) {
	var err error
	switch {
	case e.Name == Missed:
		_, err = m.generation.Bump(context.Background())
	case e.ContextID != "":
		_, err = m.keys.ComputedCache().InvalidateTag(context.Background(), m.keys.ComputedFrom(e.ContextID).Key)
	}
	if err != nil {
		m.failed("invalidation")(err)
	}
}
