package kernel_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/keywrighttest"
)

// sink represents a log that may be read while it is written.
type sink struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// steps demands of the notices of one server that they come in order: lost, attempts by
// number, made again.
type steps struct {
	t        *testing.T
	mu       sync.Mutex
	lost     bool
	attempts int
}

func (s *steps) heard(n keywright.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n.Kind == notice.Disconnected && !s.lost && n.Err != nil:
		s.lost, s.attempts = true, 0
	case n.Kind == notice.Reconnecting && s.lost && n.Attempt == s.attempts+1:
		s.attempts++
	case n.Kind == notice.Reconnected && s.lost && s.attempts > 0 && n.Elapsed > 0:
		s.lost = false
	default:
		s.t.Errorf("lost: %t, %d attempts: %+v", s.lost, s.attempts, n)
	}
}

func (s *steps) disconnected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// TestALostConnectionIsHeardOf: once for all connections to a server, by hooks and
// in the log; a normal start and a normal stop by no one.
func TestALostConnectionIsHeardOf(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		var log sink
		var heard atomic.Int64
		steps := &steps{t: t}
		hook := keywright.Hook{Notice: func(_ context.Context, n keywright.Notice) {
			steps.heard(n)
			if n.Kind == notice.Reconnected {
				heard.Add(1)
			}
		}}
		c := open(t, s.URL(),
			keywright.Options{Connections: 2, Hooks: []keywright.Hook{hook}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ear := newEar()
		stop, err := c.Subscribe(t.Context(), "x", ear.listener())
		must(t, err)
		use := func() {
			for range 50 { // of each of its connections
				_, _ = note(c, "1").Exists().Do(t.Context())
			}
			_ = c.Transact(t.Context(), func(tx *keywright.Tx) error {
				keywright.Queue(tx, note(c, "1").Set("x"))
				return nil
			})
		}
		use()
		if heard.Load() != 0 || log.String() != "" {
			t.Errorf("a normal start: %d notices\n%s", heard.Load(), log.String())
		}
		for round := range 2 {
			s.Restart()
			until(t, "it is heard of", func() bool { use(); return heard.Load() > int64(round) })
			ear.await(t, "the gap", func() bool { return ear.gaps > round })
			use()
			if n := strings.Count(log.String(), "a lost connection was made again"); heard.Load() != int64(round+1) ||
				n != round+1 {
				t.Errorf("after %d losses: %d notices, %d lines", round+1, heard.Load(), n)
			}
		}
		before := heard.Load()
		stop()
		c.Close()
		if heard.Load() != before || steps.disconnected() {
			t.Errorf("a normal stop: %d notices, lost: %t", heard.Load(), steps.disconnected())
		}
	})
}
