package event

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
)

// Exchange is requests on one channel and their answers on another. Both are
// pub/sub: a request that nobody hears is not answered, and the caller's context
// decides how long it waits. It is a value.
type Exchange[Q, A any] struct {
	requests Topic[Q]
	replies  Topic[A] // without a name
	reply    func(caller string) (string, error)
}

// NewExchange makes an Exchange. It is for generated code: reply builds the name
// of the channel on which a caller hears its answers; codec is that of an answer.
func NewExchange[Q, A any](requests Topic[Q], codec *value.Codec[A], reply func(caller string) (string, error)) Exchange[Q, A] {
	return Exchange[Q, A]{requests, Topic[A]{requests.client, requests.entry, codec, requests.config, "", requests.err}, reply}
}

// Answered is an error that the responder gave as its answer.
type Answered struct{ Text string }

func (a *Answered) Error() string { return "the responder failed: " + a.Text }

// ErrAnswerLost is a call whose answer may have come while the connection was
// down. The request may have been served.
var ErrAnswerLost = errors.New("the connection broke while waiting, and the answer may be lost")

// caller is the name on whose channel a client hears all its answers.
type caller struct{ name string }

func (*caller) Close() {}

func newCaller(*keywright.Client) *caller { return &caller{rand.Text()} }

// Call sends a request and waits for the first answer, until ctx ends. Later
// answers of other responders are dropped. Two round trips, one while other calls
// of this client are under way. Errors: *Answered, ErrAnswerLost, the context's
// (nobody answered in time), a *keywright.DecodeError, or an *Error of
// the sending.
func (x Exchange[Q, A]) Call(ctx context.Context, q Q) (A, error) {
	var first A
	err := x.ask(ctx, q, func(a A, err error) (bool, error) { first = a; return true, err })
	return first, err
}

// Collect sends a request and waits for n answers, or until ctx ends, which is no
// error then if there was an answer. An error of one responder is joined to the
// result and counts as its answer.
func (x Exchange[Q, A]) Collect(ctx context.Context, q Q, n int) (answers []A, err error) {
	var failed []error
	got := 0
	err = x.ask(ctx, q, func(a A, err error) (bool, error) {
		if got++; err != nil {
			failed = append(failed, err)
		} else {
			answers = append(answers, a)
		}
		return got >= n, nil
	})
	if got > 0 && errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return answers, errors.Join(append(failed, err)...)
}

// ask hands the answers to a request to take until that is content.
func (x Exchange[Q, A]) ask(ctx context.Context, q Q, take func(A, error) (bool, error)) error {
	to, err := x.reply(keywright.Part(x.requests.client, newCaller).name)
	if err = cmp.Or(x.requests.err, err); err != nil {
		return &keywright.Error{Class: keywright.Invalid, Op: "call", Entry: x.requests.entry.Name, Err: err}
	}
	replies := x.replies
	replies.name = to
	in, leave, err := Join(replies).listen(ctx, Options{})
	if err != nil {
		return err
	}
	defer leave()
	id := rand.Text()
	data, err := bound(x.requests.client, x.requests.entry, x.requests.codec, x.requests.name).Encode(q)
	if _, err := x.requests.publish(data, err, fmt.Sprintf(`,"id":%s,"replyTo":%s`, quote(id), quote(to))).Do(ctx); err != nil {
		return err
	}
	for {
		next, ok := in.next(ctx)
		if !ok {
			return context.Cause(ctx)
		}
		if next.notice != nil { // a gap, or more answers than the buffer holds: to others, maybe
			return ErrAnswerLost
		}
		if done, err := x.answer(next, id, take); done {
			return err
		}
	}
}

// answer takes one message of the reply channel; those to other requests are not
// ours.
func (x Exchange[Q, A]) answer(next item, id string, take func(A, error) (bool, error)) (bool, error) {
	m, env, err := x.replies.open(next.channel, next.text)
	if env.ID != id {
		return false, nil
	}
	if env.Error != nil {
		err = &Answered{*env.Error}
	}
	return take(m.Data, err)
}

func quote(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

// ServeOptions of a responder. The zero value is a good choice.
type ServeOptions struct {
	Concurrency int // requests served at once; 0: 16
	Buffer      int // requests that may wait; 0: 1024; more are dropped
	// OnError hears of requests that were missed or dropped (*Gap, *Dropped) or do
	// not decode, of answers that could not be sent, and of panics; nil: nobody.
	OnError func(error)
}

// Serve answers requests until ctx ends, and returns when the last handler has.
// An error of handle is the answer. Every responder that listens answers each
// request.
func (x Exchange[Q, A]) Serve(ctx context.Context, o ServeOptions, handle func(ctx context.Context, m Message[Q]) (A, error)) error {
	t := Join(x.requests)
	in, leave, err := t.listen(ctx, Options{Buffer: o.Buffer})
	if err != nil {
		return err
	}
	defer leave()
	tell := func(err error) {
		if err != nil && o.OnError != nil {
			o.OnError(err)
		}
	}
	var wg sync.WaitGroup
	for range max(cmp.Or(o.Concurrency, 16), 1) {
		wg.Go(func() {
			for {
				next, ok := in.next(ctx)
				if !ok {
					return
				}
				tell(x.serve(ctx, next, handle))
			}
		})
	}
	wg.Wait()
	return nil
}

// serve answers one request. What has no id is no request.
func (x Exchange[Q, A]) serve(ctx context.Context, next item, handle func(context.Context, Message[Q]) (A, error)) error {
	if next.notice != nil {
		return next.notice
	}
	m, env, err := x.requests.open(next.channel, next.text)
	if env.ID == "" || env.ReplyTo == "" {
		return err
	}
	to := x.replies
	to.name = env.ReplyTo
	data, more := "null", `,"id":`+quote(env.ID)
	if err == nil {
		var a A
		if a, err = guarded(ctx, m, handle); err == nil {
			data, err = bound(to.client, to.entry, to.codec, to.name).Encode(a)
		}
	}
	if err != nil {
		data, more = "null", more+`,"error":`+quote(err.Error())
	}
	_, err = to.publish(data, nil, more).Do(context.WithoutCancel(ctx))
	return err
}

func guarded[Q, A any](ctx context.Context, m Message[Q], handle func(context.Context, Message[Q]) (A, error)) (a A, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	return handle(ctx, m)
}
