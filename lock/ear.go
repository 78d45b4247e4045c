package lock

import (
	"context"
	"strings"
	"time"

	"github.com/keywright/keywright"
)

// linger says how long a subscription is kept after the last waiter: a lock
// that is contended is so again soon.
const linger = 10 * time.Second

// ear represents one subscription to a channel, for all waiters of this process.
type ear struct {
	open    bool // the server has confirmed
	stop    func()
	waiters map[string]*waiter // by token
	timer   *time.Timer        // closes it after the last one
}

func (e *ear) add(w *waiter) {
	e.waiters[w.token] = w
	w.heard = true
	w.mail = make(chan string, 4)
	e.timer.Stop()
}

// listen subscribes w to its channel. When it returns, no later message is
// missed.
func (all *rooms) listen(ctx context.Context, w *waiter) error {
	channel := w.lock.keys.Channel
	all.mu.Lock()
	e := all.ears[channel]
	if e == nil {
		e = &ear{waiters: map[string]*waiter{}}
		e.timer = time.AfterFunc(time.Hour, func() { all.shut(channel, e) })
		e.timer.Stop()
		all.ears[channel] = e
	}
	e.add(w)
	open := e.open
	all.mu.Unlock()
	if open {
		return nil
	}
	stop, err := all.client.Subscribe(ctx, channel,
		keywright.Listener{Message: all.hear(e), Gap: func() { all.tell(e, "") }})
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

// deaf ends the subscription of w.
func (all *rooms) deaf(w *waiter) {
	all.mu.Lock()
	defer all.mu.Unlock()
	e := all.ears[w.lock.keys.Channel]
	if e == nil || e.waiters[w.token] == nil {
		return
	}
	if delete(e.waiters, w.token); len(e.waiters) == 0 && !all.closed {
		e.timer.Reset(linger)
	}
}

// shut ends a subscription that was not used for a while.
func (all *rooms) shut(channel string, e *ear) {
	all.mu.Lock()
	stop := e.stop
	unused := len(e.waiters) == 0 && all.ears[channel] == e
	if unused {
		delete(all.ears, channel)
	}
	all.mu.Unlock()
	if unused && stop != nil {
		stop()
	}
}

// hear gives a message to the waiter that it is for: "granted TOKEN …", "free TOKEN".
func (all *rooms) hear(e *ear) func(string) {
	return func(text string) {
		_, rest, _ := strings.Cut(text, " ")
		token, _, _ := strings.Cut(rest, " ")
		all.mu.Lock()
		defer all.mu.Unlock()
		if w := e.waiters[token]; w != nil {
			w.post(text)
		}
	}
}

// tell gives a message to all waiters.
func (all *rooms) tell(e *ear, text string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, w := range e.waiters {
		w.post(text)
	}
}

// post never waits: a waiter that has mail unread looks at the server anyway.
func (w *waiter) post(text string) {
	select {
	case w.mail <- text:
	default:
	}
}
