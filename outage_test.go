package keywright

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// TestAnIdleClientKnowsOfItsLoss: also when it asks for nothing for much longer than a
// caller waits; and not for ever.
func TestAnIdleClientKnowsOfItsLoss(t *testing.T) {
	g := newDialGate("tcp", 5*time.Second)
	clock := time.Now()
	g.now = func() time.Time { return clock }
	var told []NoticeKind
	g.tell = func(n Notice) { told = append(told, n.Kind) }
	for _, idle := range []time.Duration{50 * time.Minute, 2 * maxLost} {
		told = nil
		g.lost(&link{gate: g, addr: "a:1", born: clock}, io.EOF)
		clock = clock.Add(idle)
		g.look()
		g.attempt("a:1")()
		near, far := net.Pipe()
		l := &link{Conn: near, gate: g, addr: "a:1", born: clock}
		g.unrest.Add(1)
		_ = l.SetDeadline(time.Time{})
		_, _ = near.Close(), far.Close()
		if known := len(told) == 3 && told[1] == Reconnecting && told[2] == Reconnected; known != (idle < maxLost) || !g.calm() {
			t.Errorf("idle for %v: %v, calm %t", idle, told, g.calm())
		}
	}
	clock = clock.Add(2 * maxLost)
	if g.look(); len(g.down) > 0 {
		t.Errorf("%d servers are known for ever", len(g.down))
	}
}

// TestAHookThatHangs: what waits for it is bounded, and the log says how many were not
// told.
func TestAHookThatHangs(t *testing.T) {
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	heard := map[NoticeKind]int{}
	hook := Hook{Notice: func(_ context.Context, n Notice) {
		if heard[n.Kind]++; n.Attempt == -1 {
			entered <- struct{}{}
			<-leave
		}
	}}
	log := make(lines, 9*maxWaiting)
	c := New(&held{}, Options{Hooks: []Hook{hook}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	t.Cleanup(func() { c.end(ErrClosed) })
	x := &connections{client: c}
	x.tell(Notice{Kind: Disconnected, Attempt: -1})
	<-entered
	for range 10 * maxWaiting {
		for _, kind := range []NoticeKind{Disconnected, Reconnecting, Reconnected} {
			x.tell(Notice{Kind: kind})
		}
	}
	waiting := len(x.waiting) // nothing takes one out while the hook hangs
	close(leave)
	if waiting != 2*maxWaiting {
		t.Fatalf("%d notices wait", waiting)
	}
	said := <-log
	for !strings.Contains(said, "not told") {
		said = <-log
	}
	sides := heard[Disconnected] + heard[Reconnected]
	if sides+heard[Reconnecting] != 2*maxWaiting+1 || heard[Reconnecting] > maxWaiting {
		t.Errorf("told: %v", heard)
	}
	if want := fmt.Sprintf("notices=%d", 20*maxWaiting+1-sides); !strings.Contains(said, want) {
		t.Errorf("the log does not say %s: %s", want, said)
	}
}

// lines is a log whose lines can be waited for.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}
