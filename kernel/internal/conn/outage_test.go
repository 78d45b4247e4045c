package conn

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/keywright/keywright/kernel/notice"
)

// TestAnIdleClientKnowsOfItsLoss: also when it asks for nothing for much longer than a
// caller waits; and not for ever.
func TestAnIdleClientKnowsOfItsLoss(t *testing.T) {
	g := NewDialGate("tcp", 5*time.Second)
	clock := time.Now()
	g.Now = func() time.Time { return clock }
	var told []notice.Kind
	g.Tell = func(n notice.Notice) { told = append(told, n.Kind) }
	for _, idle := range []time.Duration{50 * time.Minute, 2 * maxLost} {
		told = nil
		g.Lost(&Link{Gate: g, Addr: "a:1", Born: clock}, io.EOF)
		clock = clock.Add(idle)
		g.Forget()
		g.attempt("a:1")()
		near, far := net.Pipe()
		l := &Link{Conn: near, Gate: g, Addr: "a:1", Born: clock}
		g.Unrest.Add(1)
		_ = l.SetDeadline(time.Time{})
		_, _ = near.Close(), far.Close()
		if known := len(told) == 3 && told[1] == notice.Reconnecting &&
			told[2] == notice.Reconnected; known != (idle < maxLost) || !g.Calm() {
			t.Errorf("idle for %v: %v, calm %t", idle, told, g.Calm())
		}
	}
	clock = clock.Add(2 * maxLost)
	if g.Forget(); len(g.down) > 0 {
		t.Errorf("%d servers are known for ever", len(g.down))
	}
}
