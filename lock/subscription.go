package lock

import (
	"context"
	"strings"
	"time"

	"github.com/keywright/keywright"
)

// idleTimeout says how long a subscription is kept after the last waiter: a lock
// that is contended is so again soon.
const idleTimeout = 10 * time.Second

// subscription represents one subscription to a channel, for all waiters of this process.
type subscription struct {
	open    bool // the server has confirmed
	stop    func()
	waiters map[string]*waiter // by token
	timer   *time.Timer        // closes it after the last one
}

func (e *subscription) add(w *waiter) {
	e.waiters[w.token] = w
	w.subscribed = true
	w.inbox = make(chan string, 4)
	e.timer.Stop()
}

// listen subscribes w to its channel. When it returns, no later message is
// missed.
func (all *localWaiters) listen(ctx context.Context, w *waiter) error {
	channel := w.lock.keys.Channel
	all.mu.Lock()
	e := all.subscriptions[channel]
	if e == nil {
		e = &subscription{waiters: map[string]*waiter{}}
		e.timer = time.AfterFunc(time.Hour, func() { all.shut(channel, e) })
		e.timer.Stop()
		all.subscriptions[channel] = e
	}
	e.add(w)
	open := e.open
	all.mu.Unlock()
	if open {
		return nil
	}
	stop, err := all.client.Subscribe(ctx, channel,
		keywright.Listener{Message: all.onMessage(e), Gap: func() { all.deliverAll(e, "") }})
	if err != nil {
		return err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if e.open {
		stop() // another waiter was faster
		return nil
	}
	e.open, e.stop = true, stop
	return nil
}

// unsubscribe ends the subscription of w.
func (all *localWaiters) unsubscribe(w *waiter) {
	all.mu.Lock()
	defer all.mu.Unlock()
	e := all.subscriptions[w.lock.keys.Channel]
	if e == nil || e.waiters[w.token] == nil {
		return
	}
	if delete(e.waiters, w.token); len(e.waiters) == 0 && !all.closed {
		e.timer.Reset(idleTimeout)
	}
}

// shut ends a subscription that was not used for a while.
func (all *localWaiters) shut(channel string, e *subscription) {
	all.mu.Lock()
	stop := e.stop
	unused := len(e.waiters) == 0 && all.subscriptions[channel] == e
	if unused {
		delete(all.subscriptions, channel)
	}
	all.mu.Unlock()
	if unused && stop != nil {
		stop()
	}
}

// onMessage gives a message to the waiter that it is for: "granted TOKEN …", "free TOKEN".
func (all *localWaiters) onMessage(e *subscription) func(string) {
	return func(text string) {
		_, rest, _ := strings.Cut(text, " ")
		token, _, _ := strings.Cut(rest, " ")
		all.mu.Lock()
		defer all.mu.Unlock()
		if w := e.waiters[token]; w != nil {
			w.deliver(text)
		}
	}
}

// deliverAll gives a message to all waiters.
func (all *localWaiters) deliverAll(e *subscription, text string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, w := range e.waiters {
		w.deliver(text)
	}
}

// deliver never waits: a waiter with unread messages looks at the server anyway.
func (w *waiter) deliver(text string) {
	select {
	case w.inbox <- text:
	default:
	}
}
