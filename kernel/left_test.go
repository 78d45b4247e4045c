package kernel

import (
	"testing"
	"time"

	"github.com/keywright/keywright/kernel/internal/conn"
	"github.com/keywright/keywright/keywrighttest"
)

// TestCloseLeavesNoConnection: a connection that is being made when the client is
// closed is closed, too, also if its server answers the login only then.
func TestCloseLeavesNoConnection(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	c, err := Open(t.Context(), "redis://"+p.Addr(), Options{Timeout: time.Minute, Connections: -1})
	if err != nil {
		t.Fatal(err)
	}
	gate := c.rooms.Gate
	links := func(phase int32) (n int) {
		gate.Mu.Lock()
		defer gate.Mu.Unlock()
		for l := range gate.Links {
			if l.Phase.Load() == phase {
				n++
			}
		}
		return n
	}
	wait := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !ok(); <-time.After(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %d log in, %d are up", what, links(conn.LoggingIn), links(conn.Up))
			}
		}
	}
	p.Freeze()
	p.Cut()
	ended := make(chan struct{})
	go func() { // the first calls may meet the old connection
		defer close(ended)
		for c.Life().Err() == nil {
			_ = c.Raw().Do(t.Context(), c.Raw().B().Ping().Build()).Error()
		}
	}()
	wait("a connection is being made", func() bool { return links(conn.LoggingIn) == 1 && links(conn.Up) == 0 })
	c.Close()
	p.Thaw()
	<-ended
	wait("no connection is left", func() bool { return links(conn.LoggingIn)+links(conn.Up) == 0 })
}
