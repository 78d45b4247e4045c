package kernel

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/keywright/keywright/kernel/internal/conn"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/redis/rueidis"
)

// held represents a rueidis client that waits before it sends, as for a connection.
type held struct {
	rueidis.Client
	entered, leave chan struct{}
	sent           chan bool
	asks           bool // whether its caller is there, before it waits
}

func (h *held) Mode() rueidis.ClientMode { return rueidis.ClientModeStandalone }

func (h *held) Do(ctx context.Context, _ rueidis.Completed) rueidis.RedisResult {
	if h.asks {
		_ = ctx.Err()
	}
	h.entered <- struct{}{}
	<-h.leave
	err := ctx.Err() // as rueidis asks before it sends
	h.sent <- err == nil
	return rueidis.NewErrorResult(errors.Join(err, io.EOF))
}

func (h *held) Dedicate() (rueidis.DedicatedClient, func()) {
	h.entered <- struct{}{}
	<-h.leave
	return lane{h}, func() { h.sent <- true }
}

// lane represents a connection of a held client.
type lane struct{ *held }

func (l lane) Close()                                                                    { l.sent <- false }
func (l lane) SetPubSubHooks(rueidis.PubSubHooks) <-chan error                           { return nil }
func (l lane) SetOnInvalidations(func([]rueidis.RedisMessage)) <-chan error              { return nil }
func (l lane) DoMulti(context.Context, ...rueidis.Completed) (out []rueidis.RedisResult) { return nil }

func newHeld(t *testing.T) (*held, *Client) {
	h := &held{entered: make(chan struct{}, 9), leave: make(chan struct{}), sent: make(chan bool, 9)}
	c := New(h, Options{})
	t.Cleanup(func() { c.end(ErrClosed) })
	c.rooms.Gate = conn.NewDialGate("tcp", time.Second)
	c.rooms.Gate.Unrest.Add(1) // someone dials
	return h, c
}

// TestNothingIsSentForACallerWhoLeft: a caller that leaves while nothing is sent is
// refused so, and it stays so.
func TestNothingIsSentForACallerWhoLeft(t *testing.T) {
	h, c := newHeld(t)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() {
		_, err := Run(ctx, &Action{Client: c, Name: "set", Effect: Writes}, func(ctx context.Context) rueidis.RedisResult {
			return c.raw.Do(ctx, rueidis.Completed{})
		}, func(r rueidis.RedisResult) (int64, error) { return r.AsInt64() })
		got <- err
	}()
	<-h.entered
	cancel()
	err := <-got
	if class, _ := ClassOf(err); class != NotApplied || !errors.Is(err, context.Canceled) {
		t.Errorf("%v: %v", err, class)
	}
	close(h.leave)
	if <-h.sent {
		t.Error("it was sent after its caller had been told that it was not")
	}
}

// TestACommandThatBlocksIsLeft: its caller leaves when its context ends, whatever the
// client library waits for then, such as the lock of its pool; and is informed truthfully
// whether the command may have been sent.
func TestACommandThatBlocksIsLeft(t *testing.T) {
	for name, asks := range map[string]bool{"before it is sent": false, "when it may have been sent": true} {
		t.Run(name, func(t *testing.T) {
			h, c := newHeld(t)
			h.asks = asks
			ctx, cancel := context.WithCancel(t.Context())
			got := make(chan error)
			go func() {
				got <- c.raw.Do(ctx, rueidis.Builder{}.Arbitrary("BLPOP", "none", "0").Blocking()).Error()
			}()
			<-h.entered
			cancel()
			select {
			case err := <-got:
				if _, ok := errors.AsType[*conn.Unsent](err); ok == asks || !errors.Is(err, context.Canceled) {
					t.Errorf("unsent: %v: %v", ok, err)
				}
			case <-time.After(10 * time.Second):
				t.Error("it is waited for")
			}
			if len(c.rooms.Blocks) != 1 {
				t.Error("it has no place any more, and is under way")
			}
			close(h.leave)
			if <-h.sent {
				t.Error("it was sent after its caller had been told that it was not")
			}
		})
	}
}

// TestWithoutAConnectionNothingIsSent: rueidis asks whether the caller is there, finds
// no connection, and the caller leaves before it gets the result.
func TestWithoutAConnectionNothingIsSent(t *testing.T) {
	for _, connected := range []bool{false, true} {
		g := conn.NewDialGate("tcp", time.Second)
		if connected {
			g.Links[&conn.Link{}] = struct{}{}
		}
		r := conn.NewCallLimiter(g, t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		_, err := conn.RunDetached(ctx, r, r.Indirect, func(ctx context.Context) error {
			err := ctx.Err()
			cancel()
			<-over
			return err
		})
		close(over)
		if class, _, _ := judge(err, true); class != map[bool]Class{false: NotApplied, true: UnknownOutcome}[connected] {
			t.Errorf("with a connection %t: %v: %v", connected, err, class)
		}
	}
}

// TestCallsOfCallersAreBounded: so many calls as half the ring of a connection holds are made on the goroutines of
// their callers, whatever stripes count them, and a place that is given back can be had again.
func TestCallsOfCallersAreBounded(t *testing.T) {
	r := conn.NewCallLimiter(nil, t.Context())
	var all []*conn.Stripe
	for s := r.Enter(t.Context()); s != nil && len(all) < 2*conn.MostDirect; s = r.Enter(t.Context()) {
		all = append(all, s)
	}
	if len(all) != conn.MostDirect {
		t.Fatalf("%d places, want %d", len(all), conn.MostDirect)
	}
	all[7].Leave()
	if s := r.Enter(t.Context()); s != all[7] || r.Enter(t.Context()) != nil {
		t.Error("one place is given back, and not one can be had")
	}
}

// TestANodeIsAskedOnce: a node that has not answered is not asked which slots it has again, or each second of its
// silence would leave one more goroutine.
func TestANodeIsAskedOnce(t *testing.T) {
	m := conn.NewNodeMap(nil)
	if !m.Ask("a") || m.Ask("a") || !m.Ask("b") {
		t.Error("a node is asked twice, or another one is not asked")
	}
	m.Answered("a")
	if !m.Ask("a") {
		t.Error("a node that has answered is not asked again")
	}
}

// TestNothingIsTakenForACallerWhoLeft: a connection that comes too late is given
// back.
func TestNothingIsTakenForACallerWhoLeft(t *testing.T) {
	h, c := newHeld(t)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() {
		got <- c.Transact(ctx, func(*Tx) error { t.Error("it runs"); return nil })
	}()
	<-h.entered
	cancel()
	err := <-got
	if class, _ := ClassOf(err); class != NotApplied || !errors.Is(err, context.Canceled) {
		t.Errorf("%v: %v", err, class)
	}
	close(h.leave)
	select {
	case <-h.sent:
	case <-time.After(20 * time.Second):
		t.Fatal("the connection is kept")
	}
}

// TestAClosedClient: nothing is sent any more, and every error says why.
func TestAClosedClient(t *testing.T) {
	h, c := newHeld(t)
	c.rooms.Gate.Unrest.Add(-1)
	close(h.leave)
	c.end(ErrClosed)
	_, err := Run(t.Context(), &Action{Client: c, Name: "get"}, func(ctx context.Context) rueidis.RedisResult {
		return c.raw.Do(ctx, rueidis.Completed{})
	}, func(r rueidis.RedisResult) (int64, error) { return r.AsInt64() })
	if class, _ := ClassOf(err); class != NotApplied || !errors.Is(err, ErrClosed) || len(h.sent) > 0 {
		t.Errorf("%v: %v, %d were sent", err, class, len(h.sent))
	}
	if err := c.Transact(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestALoginThatFails counts as never sent, also when the server takes connections.
func TestALoginThatFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	g := conn.NewDialGate("tcp", 5*time.Second)
	conn, err := g.Dial(t.Context(), listener.Addr().String(), &net.Dialer{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 10))
	if class, again, _ := judge(err, true); class != NotApplied || !again {
		t.Errorf("%v: %v", err, class)
	}
	if g.Calm() {
		t.Error("calm, although a login is under way")
	}
	_ = conn.Close()
	if wait, _ := g.Wait(listener.Addr().String()); wait <= 0 {
		t.Error("the next dial does not wait")
	}
}

// TestOneLossIsToldOnce: what breaks later, but was made before the server came
// back, belongs to the same loss; and all is calm again in the end.
func TestOneLossIsToldOnce(t *testing.T) {
	g := conn.NewDialGate("tcp", 5*time.Second)
	clock := time.Now()
	g.Now = func() time.Time { return clock }
	told := 0
	g.Tell = func(n Notice) {
		if g.Mu.TryLock() {
			g.Mu.Unlock()
			t.Errorf("%s is told out of order: another one may be told before it", n.Kind)
		}
		if n.Kind == notice.Reconnected {
			told++
		}
	}
	link := func() *conn.Link {
		clock = clock.Add(time.Second)
		near, far := net.Pipe()
		t.Cleanup(func() { _ = far.Close() })
		l := &conn.Link{Conn: near, Gate: g, Addr: "a:1", Born: clock}
		g.Unrest.Add(1)
		g.Links[l] = struct{}{}
		_ = l.SetDeadline(time.Time{})
		return l
	}
	one, two := link(), link()
	if told != 0 || !g.Calm() {
		t.Errorf("a start: told %d times, calm %t", told, g.Calm())
	}
	g.Lost(one, io.EOF)
	if g.Calm() {
		t.Error("calm after a loss")
	}
	_ = one.Close()
	three := link()
	g.Lost(two, io.EOF)
	_ = two.Close()
	link()
	if told != 1 || !g.Calm() {
		t.Errorf("one loss: told %d times, calm %t", told, g.Calm())
	}
	g.Lost(three, io.EOF)
	_ = three.Close()
	last := link()
	if told != 2 || !g.Calm() {
		t.Errorf("two losses: told %d times, calm %t", told, g.Calm())
	}
	last.AskedAt.Store(1)
	if g.Suspect(); g.Calm() || !last.Silent.Load() {
		t.Error("a connection that owes an answer is not suspected")
	}
	if g.Received(last); !g.Calm() {
		t.Error("a connection that was heard is suspected")
	}
	last.AskedAt.Store(int64(time.Since(conn.Began))) // now: what is owed for long is a loss
	g.Suspect()
	if _ = last.Close(); !g.Calm() {
		t.Error("a connection that is closed is suspected")
	}
	_, err := g.Connect(&conn.Departure{Context: t.Context()}, "127.0.0.1:1", &net.Dialer{}, nil)
	if g.Calm() || err == nil {
		t.Error("calm, although a server is down")
	}
	clock = clock.Add(time.Minute)
	if g.Forget(); !g.Calm() {
		t.Error("a server that nobody asks for any more keeps all callers from haste")
	}
}

// TestOpenIsLeft: a connection that is up when the caller of Open leaves is closed, and is no lost one, after which
// rueidis would not ask for the nodes for up to a second: Open would be late by that.
func TestOpenIsLeft(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	g := conn.NewDialGate("tcp", time.Minute)
	g.Tell = func(n Notice) { t.Errorf("%s is told", n.Kind) }
	ctx, cancel := context.WithCancel(t.Context())
	opened := g.Opening(ctx)
	l := &conn.Link{Conn: near, Gate: g, Addr: "a:1", Born: g.Now()}
	g.Unrest.Add(1)
	g.Links[l] = struct{}{}
	_ = l.SetDeadline(time.Time{})
	cancel()
	if _, err := l.Read(make([]byte, 1)); err != rueidis.ErrClosing {
		t.Errorf("it is read with %v", err)
	}
	if !opened() {
		t.Error("it counts as opened")
	}
	if ended := g.Opening(t.Context())(); ended || g.Whole().Err() != nil {
		t.Error("a context that lives has ended")
	}
}
