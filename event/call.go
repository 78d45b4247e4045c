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
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// Exchange is requests on one channel and their answers on another. Both are
// pub/sub: a request that no server receives is not answered, and the caller's context
// decides how long it waits. It is a value.
type Exchange[Q, A any] struct {
	requests Topic[Q]
	replies  Topic[A] // without a name
	reply    func(caller string) (string, error)
}

// NewExchange makes an Exchange. It is for generated code: reply builds the name
// of the channel on which a caller receives its answers; codec is that of an answer.
func NewExchange[Q, A any](requests Topic[Q], codec *value.Codec[A],
	reply func(caller string) (string, error)) Exchange[Q, A] {
	return Exchange[Q, A]{requests,
		Topic[A]{requests.client, requests.entry, codec, requests.config, "", requests.err}, reply}
}

// Answered represents an error that the responder gave as its answer.
type Answered struct{ Text string }

func (a *Answered) Error() string { return "the responder failed: " + a.Text }

// ErrAnswerLost reports a call whose answer may have come while the connection was
// down. The request may have been served.
var ErrAnswerLost = errors.New("the connection broke while waiting, and the answer may be lost")

// Call sends a request and waits for the first answer, until ctx ends. Later
// answers of other responders are dropped. Two round trips, one while other calls
// of this client are under way. Errors: *Answered, ErrAnswerLost, the context's
// (none answered in time), a *keywright.DecodeError, or an *Error of
// the sending.
func (x Exchange[Q, A]) Call(ctx context.Context, q Q) (A, error) {
	var first A
	err := x.ask(ctx, q, 1, func(a A, err error) (bool, error) { first = a; return true, err })
	return first, err
}

// Collect sends a request and waits for n answers, at least 1, or until ctx ends, which is no
// error then if there was an answer. An error of one responder is joined to the
// result and counts as its answer.
func (x Exchange[Q, A]) Collect(ctx context.Context, q Q, n int) (answers []A, err error) {
	if n < 1 {
		return nil, x.invalid("call", fmt.Errorf("%d answers were asked for, and at least 1 must be", n))
	}
	var failed []error
	got := 0
	err = x.ask(ctx, q, n, func(a A, err error) (bool, error) {
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

// ask hands the answers to a request, of which n are wanted, to take until that
// has enough.
func (x Exchange[Q, A]) ask(ctx context.Context, q Q, n int, take func(A, error) (bool, error)) error {
	if err := x.usable(); err != nil {
		return x.invalid("call", err)
	}
	client := x.requests.client
	ctx, end := client.While(ctx)
	defer end()
	p := kernel.Part(client, newPost)
	to, err := x.reply(p.name)
	if err != nil {
		return x.invalid("call", err)
	}
	replies := x.replies
	replies.name = to
	box, err := p.join(ctx, address{to, replies.config.Sharded}, func(ctx context.Context) (*inbox, func(), error) {
		return Join(replies).listen(ctx, Options{Buffer: answersWaiting})
	})
	if err != nil {
		return err
	}
	id := rand.Text()
	in := box.await(id, n)
	defer box.done(id)
	data, err := bound(client, x.requests.entry, x.requests.codec, x.requests.name).Encode(q)
	members := fmt.Sprintf(`,"id":%s,"replyTo":%s`, quote(id), quote(to))
	if _, err := x.requests.publish(data, err, members).Do(ctx); err != nil {
		return err
	}
	for {
		next, ok := in.next(ctx)
		if !ok && client.Ended(ctx, "call", x.requests.entry) != nil { // the request may be served
			e := x.requests.entry
			return &keywright.Error{Class: keywright.UnknownOutcome, Op: "call", Entry: e.Name, Err: keywright.ErrClosed}
		}
		if !ok {
			return context.Cause(ctx)
		}
		if next.notice != nil { // a gap, a refusal, or more answers than the buffer holds
			return ErrAnswerLost
		}
		if done, err := x.answer(next, id, take); done {
			return err
		}
	}
}

// usable returns why nothing can be done with the exchange.
func (x Exchange[Q, A]) usable() error {
	if err := x.requests.usable(); err != nil {
		return err
	}
	if x.reply == nil || x.replies.codec == nil {
		return errUnmade
	}
	return nil
}

func (x Exchange[Q, A]) invalid(op string, err error) error {
	name := ""
	if x.requests.entry != nil {
		name = x.requests.entry.Name
	}
	return &keywright.Error{Class: keywright.Invalid, Op: op, Entry: name, Err: err}
}

// answer takes one message of the reply channel; those to other requests are not
// ours.
func (x Exchange[Q, A]) answer(next item, id string, take func(A, error) (bool, error)) (bool, error) {
	m, env, err := x.replies.open(next.channel, next.text)
	if env.ID != id || err == errElsewhere {
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
	Concurrency int // how many requests are served at the same time; 0: 16
	Buffer      int // how many requests may wait, more are dropped; 0: 1024
	// OnError receives missed and dropped requests (*Gap, *Refused, *Dropped), requests that do not decode, answers that
	// could not be sent, and panics. nil: they are dropped.
	OnError func(error)
}

// Serve answers requests until ctx ends, and returns when the last handler has.
// An error of handle is the answer. Every responder that listens answers each
// request. When the client closes it ends with keywright.ErrClosed.
func (x Exchange[Q, A]) Serve(ctx context.Context, o ServeOptions,
	handle func(ctx context.Context, m Message[Q]) (A, error)) error {
	err := x.usable()
	if err == nil && (handle == nil || o.Concurrency < 0) {
		err = errors.New("there is no handler, or the concurrency is negative")
	}
	if err != nil {
		return x.invalid("serve", err)
	}
	in, leave, err := Join(x.requests).listen(ctx, Options{Buffer: o.Buffer})
	if err != nil {
		return err
	}
	defer leave()
	ctx, end := x.requests.client.While(ctx)
	defer end()
	tell := func(err error) {
		if err != nil && o.OnError != nil && x.requests.client.Ended(ctx, "serve", x.requests.entry) == nil {
			_ = guarded("OnError", func() error { o.OnError(err); return nil })
		}
	}
	var wg sync.WaitGroup
	for range cmp.Or(o.Concurrency, 16) {
		wg.Go(func() {
			for {
				next, ok := in.next(ctx)
				if !ok {
					return
				}
				tell(guarded("serving", func() error { return x.serve(ctx, next, handle) }))
			}
		})
	}
	wg.Wait()
	return x.requests.client.Ended(ctx, "serve", x.requests.entry)
}

// serve answers one request. What has no id is no request.
func (x Exchange[Q, A]) serve(ctx context.Context, next item,
	handle func(context.Context, Message[Q]) (A, error)) error {
	if next.notice != nil {
		return next.notice
	}
	m, env, err := x.requests.open(next.channel, next.text)
	if err == errElsewhere {
		return nil
	}
	if env.ID == "" || env.ReplyTo == "" {
		return err
	}
	to := x.replies
	to.name = env.ReplyTo
	data, more := "null", `,"id":`+quote(env.ID)
	if err == nil {
		var a A
		err = guarded("the handler", func() (err error) { a, err = handle(ctx, m); return err })
		if err == nil {
			data, err = bound(to.client, to.entry, to.codec, to.name).Encode(a)
		}
	}
	if err != nil {
		data, more = "null", more+`,"error":`+quote(err.Error())
	}
	_, err = to.publish(data, nil, more).Do(context.WithoutCancel(ctx))
	return err
}
