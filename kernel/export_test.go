package kernel

import (
	"testing"
	"time"

	"github.com/keywright/keywright/kernel/internal/conn"
)

// MostOwn says how many transactions run at a time.
const MostOwn = conn.MostOwn

// IdleFor changes how long idle connections are kept, for the clients that a test
// opens.
func IdleFor(t *testing.T, d time.Duration) {
	old := idleFor
	idleFor = d
	t.Cleanup(func() { idleFor = old })
}

// BlockingFor changes how many commands block at a time, for the clients that a test
// opens before it frees them. It is not for tests that run beside others.
func BlockingFor(n int) (free func()) {
	old := conn.MostBlocking
	conn.MostBlocking = n
	return func() { conn.MostBlocking = old }
}
