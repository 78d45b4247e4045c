package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace/finding"
)

// Event describes what a stream of events tells.
type Event struct {
	Target  string               `json:"target"`
	What    []string             `json:"what"` // whose answers are others now: progress, or a page
	At      document.Stamp       `json:"at"`
	Running *document.RunningNow `json:"running,omitempty"` // with progress
}

// changedPages lists the pages whose answers a change makes others.
var changedPages = map[observe.What][]string{
	observe.Audited:    {"audit", "caches", "targets"},
	observe.Progressed: {"progress"},
	observe.Sharded:    {"server"},
	observe.Queued:     {"queues"},
	observe.Streamed:   {"streams"},
	observe.Locked:     {"locks"},
	observe.Counted:    {"entities"},
	observe.Ranked:     {"rankings"},
	observe.Diagnosed:  {"server", "targets"},
	observe.Ran:        {"runs"},
	observe.Tidied:     {"janitor"},
	observe.Moved:      {"migrations"},
	observe.Judged:     {"now"},
}

func (s *Server) eventOf(c observe.Change) Event {
	e := Event{Target: c.Target, What: changedPages[c.What], At: document.StampOf(c.At)}
	if t := s.find(c.Target); t != nil && c.What == observe.Progressed {
		st := t.State()
		e.Running = s.write.Measured(t, &st).Running
	}
	return e
}

// Bounds of streams of events: of all users, and of one.
const (
	maxStreams = 200
	maxOwn     = 50
	heartbeat  = 15 * time.Second
)

// events tells which states have changed, as server-sent events.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	user := auth.CallerOf(r).Name
	if !s.enter(user) {
		reply.Refuse(w, reply.Fail(http.StatusServiceUnavailable, "too-many-streams", "too many streams of events are open",
			"close some tabs"))
		return
	}
	defer s.leave(user)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // the request has been read; its deadline would end the stream
	_, others := s.fleetNow()
	changes, stop := s.changes()
	defer stop()
	fmt.Fprint(w, "retry: 2000\n: keywright\n\n")
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		if out.Flush() != nil {
			return
		}
		_ = out.SetWriteDeadline(time.Now().Add(2 * heartbeat)) // a client that does not read is let go
		select {
		case <-r.Context().Done():
			return
		case <-s.closed:
			return
		case <-others: // the client connects again, and receives those that there are then
			return
		case <-tick.C:
			fmt.Fprint(w, ": still here\n\n")
		case c := <-changes:
			s.send(w, c)
		}
	}
}

// send tells a change: of a run also what the run is.
func (s *Server) send(w io.Writer, c observe.Change) {
	name, answer := "state", any(s.eventOf(c))
	if c.What == observe.Ran && c.Run.ID != "" {
		name, answer = "run", document.RowOfRun(c.Target, &c.Run)
	}
	text, _ := json.Marshal(answer)
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, finding.EscapeJSON(text))
}

// enter counts a stream; false: there are too many.
func (s *Server) enter(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := 0
	for _, n := range s.streams {
		all += n
	}
	if all >= maxStreams || s.streams[user] >= maxOwn && s.auth.HasUsers() {
		return false
	}
	s.streams[user]++
	return true
}

func (s *Server) leave(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[user]--; s.streams[user] <= 0 {
		delete(s.streams, user)
	}
}

// changes returns those of all targets in one channel.
func (s *Server) changes() (<-chan observe.Change, func()) {
	all, done := make(chan observe.Change), make(chan struct{})
	var passing sync.WaitGroup
	for _, t := range s.all() {
		from, stop := t.Subscribe()
		passing.Go(func() {
			defer stop()
			for {
				select {
				case <-done:
					return
				case c := <-from:
					select {
					case all <- c:
					case <-done:
						return
					}
				}
			}
		})
	}
	return all, func() { close(done); passing.Wait() }
}
