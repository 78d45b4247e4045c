package event

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel/notice"
)

// Gap says that messages of a channel may have been missed: the connection broke,
// the server restarted, or a slot moved, and the channel has been subscribed to
// again. Look at what the messages are about.
type Gap struct{ Channel string }

func (g *Gap) Error() string {
	return fmt.Sprintf("messages on %q may have been missed while the connection was down", g.Channel)
}

// Refused says that the server refuses a channel that was received before, since the
// login may not subscribe to it any more. No message comes until a Gap: the channel is asked
// for again; the Gap says that messages come again.
type Refused struct {
	Channel string
	Err     error // as the server said it
}

func (r *Refused) Error() string {
	return fmt.Sprintf("the server refuses messages on %q from now on: %v", r.Channel, r.Err)
}

// Unwrap returns what the server said.
func (r *Refused) Unwrap() error { return r.Err }

// Dropped says how many messages were thrown away since the last one, because
// the handler is slower than they come and the buffer was full.
type Dropped struct{ Messages int }

func (d *Dropped) Error() string {
	return fmt.Sprintf("%d messages were dropped: the handler is slower than they come", d.Messages)
}

// Handle receives messages, one after the other, in the order in which they were
// published to a channel. With an error there is no message but a notice: a *Gap,
// a *Refused, a *Dropped, a *keywright.DecodeError for a message that is not as declared, or
// a *keywright.Error for one that does not open (encrypted fields).
type Handle[M any] func(m Message[M], err error)

// Topics holds several channels that are listened to together, or all that a
// pattern names.
type Topics[M any] struct {
	one     Topic[M] // what they have in common
	sources []source
	err     error
}

// source represents a channel, or a glob and which of the channels it finds are meant.
type source struct {
	name   string
	glob   bool
	accept func(channel string) bool
}

// Pattern returns the channels of one declared pattern with placeholders: those that
// match the glob and that accept takes, which is the parser of the channel's
// name. It is for generated code. A sharded channel has no patterns: its
// operations fail.
func Pattern[M any](t Topic[M], glob string, accept func(channel string) bool) Topics[M] {
	err := t.usable()
	if err == nil && t.config.Sharded {
		err = errors.New("sharded channels cannot be subscribed to by a pattern; name each")
	}
	return Topics[M]{t, []source{{glob, true, accept}}, err}
}

// Join returns several channels with the same messages.
func Join[M any](topics ...Topic[M]) (all Topics[M]) {
	for _, t := range topics {
		all.one, all.err = t, errors.Join(all.err, t.usable())
		all.sources = append(all.sources, source{name: t.name})
	}
	return all
}

// Options of a subscription. The zero value is a good choice.
type Options struct {
	// Buffer bounds how many messages wait for the handler. Further messages are dropped, and a Dropped reports how
	// many. 0: 1024.
	Buffer int
}

// Subscribe passes the messages of the channel to handle until stop is called, or ctx ends. When
// it returns the server has confirmed: one round trip, none if the client listens
// to the channel already. stop returns when handle has; it must not be called by
// handle itself. When the client closes, handle receives keywright.ErrClosed, and no
// more. A panic of handle costs the message; handle is notified of it (*Panicked).
func (t Topic[M]) Subscribe(ctx context.Context, o Options, handle Handle[M]) (stop func(), err error) {
	return Join(t).Subscribe(ctx, o, handle)
}

// All returns the messages of the channel until ctx ends or the loop is left. An
// error beside a message is a notice, as for a Handle; any other error
// ends it: the subscription failed, or the client was closed.
func (t Topic[M]) All(ctx context.Context, o Options) iter.Seq2[Message[M], error] {
	return Join(t).All(ctx, o)
}

// Panicked represents a handler that panicked, or called runtime.Goexit, with a message.
type Panicked struct {
	Channel string
	Err     error
}

func (p *Panicked) Error() string { return fmt.Sprintf("a message on %q: %v", p.Channel, p.Err) }

// Unwrap returns what happened.
func (p *Panicked) Unwrap() error { return p.Err }

// Subscribe returns that of Topic, for several channels. Messages of one channel come
// in order.
func (t Topics[M]) Subscribe(ctx context.Context, o Options, handle Handle[M]) (stop func(), err error) {
	if handle == nil {
		t.err = errors.Join(t.err, errors.New("there is no handler"))
	}
	in, leave, err := t.listen(ctx, o)
	if err != nil {
		return nil, err
	}
	ctx, end := t.one.client.While(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer leave()
		t.deliver(ctx, in, func(m Message[M], err error) bool { t.dispatch(handle, m, err); return true })
		if err := t.one.client.Ended(ctx, "subscribe", t.one.entry); err != nil {
			t.dispatch(handle, Message[M]{}, err)
		}
	})
	return sync.OnceFunc(func() { end(); wg.Wait() }), nil
}

// dispatch calls handle, and tells it if it has panicked.
func (t Topics[M]) dispatch(handle Handle[M], m Message[M], err error) {
	call := func(m Message[M], err error) error {
		return guarded("the handler", func() error { handle(m, err); return nil })
	}
	failed := call(m, err)
	if failed == nil {
		return
	}
	c := t.one.client
	name := t.one.entry.Name
	c.Notice(context.Background(), keywright.Notice{Kind: notice.MessageFailed, Entry: name, Err: errFailed})
	_ = call(Message[M]{Channel: m.Channel}, &Panicked{m.Channel, failed})
}

// All returns that of Topic, for several channels.
func (t Topics[M]) All(ctx context.Context, o Options) iter.Seq2[Message[M], error] {
	return func(yield func(Message[M], error) bool) {
		in, leave, err := t.listen(ctx, o)
		if err != nil {
			yield(Message[M]{}, err)
			return
		}
		defer leave()
		ctx, end := t.one.client.While(ctx)
		defer end()
		if t.deliver(ctx, in, yield) {
			return
		}
		if err := t.one.client.Ended(ctx, "subscribe", t.one.entry); err != nil {
			yield(Message[M]{}, err)
		}
	}
}

// deliver gives messages to yield until ctx ends or yield has enough.
func (t Topics[M]) deliver(ctx context.Context, in *inbox, yield func(Message[M], error) bool) (enough bool) {
	for {
		next, ok := in.next(ctx)
		if !ok {
			return false
		}
		m, err := Message[M]{Channel: next.channel}, next.notice
		if err == nil {
			err = guarded("decoding", func() (err error) {
				m, _, err = t.one.open(next.channel, next.text)
				return err
			})
		}
		if err == errElsewhere {
			continue
		}
		if !yield(m, err) {
			return true
		}
	}
}

// listen subscribes to all sources.
func (t Topics[M]) listen(ctx context.Context, o Options) (in *inbox, leave func(), err error) {
	if t.err != nil || o.Buffer < 0 || len(t.sources) == 0 {
		return nil, nil,
			&keywright.Error{Class: keywright.Invalid, Op: "subscribe", Err: cause(t.err, "no channel, or a negative buffer")}
	}
	in = newInbox(o.Buffer)
	var stops []func()
	leave = func() {
		for _, stop := range stops {
			stop()
		}
	}
	for _, s := range t.sources {
		stop, err := t.source(ctx, in, s)
		if err != nil {
			leave()
			return nil, nil, err
		}
		stops = append(stops, stop)
	}
	return in, leave, nil
}

func cause(err error, instead string) error {
	if err != nil {
		return err
	}
	return errors.New(instead)
}

func (t Topics[M]) source(ctx context.Context, in *inbox, s source) (func(), error) {
	l := keywright.Listener{
		Gap:  func() { in.notice(item{channel: s.name, notice: &Gap{s.name}}) },
		Lost: func(err error) { in.notice(item{channel: s.name, notice: &Refused{s.name, err}}) },
	}
	l.From = func(channel, text string) {
		if s.accept == nil || s.accept(channel) {
			in.put(item{channel: channel, text: text})
		}
	}
	switch {
	case s.glob:
		return t.one.client.SubscribePattern(ctx, s.name, l)
	case t.one.config.Sharded:
		return t.one.client.SubscribeShard(ctx, s.name, l)
	}
	return t.one.client.Subscribe(ctx, s.name, l)
}

// inbox holds what was received until the handler has time. It never waits: it is
// filled by the reader of the connection.
type inbox struct {
	limit int
	more  chan struct{}

	mu      sync.Mutex
	items   []item
	waiting int // messages among items; notices are not counted
	dropped int // since the last one that was taken
}

// item represents a message or a notice.
type item struct {
	channel, text string
	notice        error
}

func newInbox(limit int) *inbox {
	if limit == 0 {
		limit = 1024
	}
	return &inbox{limit: limit, more: make(chan struct{}, 1)}
}

func (in *inbox) put(i item) {
	in.mu.Lock()
	if in.waiting >= in.limit {
		in.dropped++
	} else {
		in.tell()
		in.items = append(in.items, i)
		in.waiting++
	}
	in.mu.Unlock()
	in.wake()
}

// notice is never dropped. One of the same kind of a channel with no message in
// between makes the one before needless: a handler that receives the later looks later.
func (in *inbox) notice(i item) {
	in.mu.Lock()
	if at := in.lastSameNotice(i); at >= 0 {
		in.items = slices.Delete(in.items, at, at+1)
		in.addUp(at)
	}
	in.tell()
	in.items = append(in.items, i)
	in.mu.Unlock()
	in.wake()
}

// lastSameNotice returns the place of a notice of the same kind and channel after the last message;
// negative if there is none.
func (in *inbox) lastSameNotice(i item) int {
	_, refused := i.notice.(*Refused)
	for at, old := range slices.Backward(in.items) {
		if old.notice == nil {
			break
		}
		if _, other := old.notice.(*Refused); old.channel == i.channel && other == refused {
			return at
		}
	}
	return -1
}

// tell puts in, at their place in the order, what has been dropped.
func (in *inbox) tell() {
	if in.dropped > 0 {
		in.items = append(in.items, item{notice: &Dropped{in.dropped}})
		in.dropped = 0
		in.addUp(len(in.items) - 1)
	}
}

// addUp makes one of two notices of dropped messages, the second at a place, with nothing between them: else they
// would grow in number while channels are lost and received again, and no message is taken.
func (in *inbox) addUp(at int) {
	if at == 0 || at >= len(in.items) {
		return
	}
	before, one := in.items[at-1].notice.(*Dropped)
	after, two := in.items[at].notice.(*Dropped)
	if one && two {
		in.items[at-1].notice = &Dropped{before.Messages + after.Messages}
		in.items = slices.Delete(in.items, at, at+1)
	}
}

func (in *inbox) wake() {
	select {
	case in.more <- struct{}{}:
	default:
	}
}

// next waits for an item; not ok when ctx has ended.
func (in *inbox) next(ctx context.Context) (item, bool) {
	for {
		if ctx.Err() != nil {
			return item{}, false
		}
		if i, ok := in.take(); ok {
			return i, true
		}
		select {
		case <-ctx.Done():
		case <-in.more:
		}
	}
}

func (in *inbox) take() (item, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.items) == 0 {
		in.tell()
	}
	if len(in.items) == 0 {
		return item{}, false
	}
	i := in.items[0]
	in.items[0] = item{}
	in.items = in.items[1:]
	if i.notice == nil {
		in.waiting--
	}
	if len(in.items) > 0 {
		in.wake() // another one who waits
	}
	return i, true
}
