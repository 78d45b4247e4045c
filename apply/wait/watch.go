// Package wait bounds how long a run waits for a server that does not answer: all that is sent again, by anyone in the
// run, together. It sends nothing again itself.
//
// API: may change until 1.0.
package wait

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Waiting says how long a run waits for a server that does not answer. What is sent again, by whom and how often, is
// bounded each by itself; this bounds all of it together.
type Waiting struct {
	Server string // how an error names it; "": the server

	// Patience is the time without any answer after which the run ends with an *AwayError. 0: half a minute, longer than
	// a failover.
	Patience time.Duration

	// OnWait is called several times before that, on a goroutine of its own, with how long there has been no answer, and
	// what the last failure was, which may be nil. nil: nothing is.
	OnWait func(silent time.Duration, last error)
}

// AwayError is returned when a server has not answered for as long as a run waits for it. What was sent last may have
// been done.
type AwayError struct {
	Server string
	Silent time.Duration
	Last   error // the last failure; nil: there was none
}

// Error implements error.
func (e *AwayError) Error() string {
	text := fmt.Sprintf("%s has not answered for %s", cmp.Or(e.Server, "the server"), e.Silent)
	if e.Last != nil {
		text += ": " + e.Last.Error()
	}
	return text
}

// Unwrap returns the last failure.
func (e *AwayError) Unwrap() error { return e.Last }

// patience is that of a run which does not say it.
const patience = 30 * time.Second

// asides says how often a run is notified that there is no answer, the last time that it ends.
const asides = 6

// watch notes when a server answers, and ends a run whose server does not. Time counts while something is asked.
type watch struct {
	Waiting
	mu      sync.Mutex
	busy    int // of those who wait for an answer
	since   time.Time
	reports int // asides since the last answer
	timer   *time.Timer
	last    error
	gone    func(error)
}

type watchKey struct{}

// Bound returns a context that ends with an *AwayError when what is asked with it is not answered. stop ends it.
func Bound(ctx context.Context, o Waiting) (_ context.Context, stop context.CancelCauseFunc) {
	ctx, stop = context.WithCancelCause(ctx)
	w := &watch{Waiting: o, gone: stop}
	if w.Patience <= 0 {
		w.Patience = patience
	}
	return context.WithValue(ctx, watchKey{}, w), stop
}

// watchOf returns the watch of a context; nil: there is none, whose methods do nothing.
func watchOf(ctx context.Context) *watch {
	w, _ := ctx.Value(watchKey{}).(*watch)
	return w
}

// Ask begins to wait for answers, until done.
func Ask(ctx context.Context) (done func()) {
	w := watchOf(ctx)
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy++; w.busy == 1 {
		w.begin()
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.busy--; w.busy == 0 {
			w.timer.Stop()
		}
	}
}

// begin begins to count the time.
func (w *watch) begin() {
	w.since, w.reports, w.last = time.Now(), 0, nil
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timer = time.AfterFunc(w.Patience/asides, w.aside)
}

// Answered notes that a server has answered.
func Answered(ctx context.Context) {
	if w := watchOf(ctx); w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.busy > 0 {
			w.begin()
		}
	}
}

// Failed notes why there was no answer.
func Failed(ctx context.Context, err error) {
	if w := watchOf(ctx); w != nil && err != nil && ctx.Err() == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.last = err
	}
}

// aside tells that there is no answer, and the last time ends the run.
func (w *watch) aside() {
	w.mu.Lock()
	if w.busy == 0 || time.Since(w.since) < time.Duration(w.reports+1)*(w.Patience/asides) {
		w.mu.Unlock() // there was an answer meanwhile
		return
	}
	w.reports++
	silent, last, over := time.Duration(w.reports)*(w.Patience/asides), w.last, w.reports == asides
	if !over {
		w.timer = time.AfterFunc(w.Patience/asides, w.aside)
	}
	w.mu.Unlock()
	switch {
	case over:
		w.gone(&AwayError{w.Server, w.Patience, last})
	case w.OnWait != nil:
		w.OnWait(silent, last)
	}
}

// IsOver reports whether a run has ended because its server does not answer.
func IsOver(ctx context.Context) bool { return errors.As(context.Cause(ctx), new(*AwayError)) }

// Cause returns the error of a run that has ended: the cause, where the run was ended for it.
func Cause(ctx context.Context, err error) error {
	if gone := (*AwayError)(nil); errors.As(context.Cause(ctx), &gone) {
		return gone
	}
	return err
}
