package serve

import (
	"cmp"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
)

// Broken represents a target that cannot be watched.
type Broken struct {
	ID, Name, Declaration string
	Labels                map[string]string
	Why                   string
}

// Watch makes the targets those that are given, and names those that cannot be watched. Streams
// of events end, and clients begin them again.
func (s *Server) Watch(all []*observe.Target, broken []Broken) {
	s.fleet.Lock()
	defer s.fleet.Unlock()
	s.targets = map[string]*observe.Target{}
	s.watched = slices.Clone(all)
	slices.SortFunc(s.watched, func(a, b *observe.Target) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range all {
		s.targets[t.ID] = t
	}
	s.broken = slices.Clone(broken)
	slices.SortFunc(s.broken, func(a, b Broken) int { return cmp.Compare(a.ID, b.ID) })
	if s.others != nil {
		close(s.others)
	}
	s.others = make(chan struct{})
}

// all returns the targets that are watched, by name.
func (s *Server) all() []*observe.Target {
	s.fleet.RLock()
	defer s.fleet.RUnlock()
	return s.watched
}

// find returns a target; nil: there is none.
func (s *Server) find(id string) *observe.Target {
	s.fleet.RLock()
	defer s.fleet.RUnlock()
	return s.targets[id]
}

// fleetNow returns the targets that cannot be watched, and what is closed when there are others.
func (s *Server) fleetNow() ([]Broken, <-chan struct{}) {
	s.fleet.RLock()
	defer s.fleet.RUnlock()
	return s.broken, s.others
}

// rowOfBroken returns a target that cannot be watched in the list of targets.
func rowOfBroken(b Broken) TargetRow {
	return TargetRow{ID: b.ID, Name: b.Name, Declaration: b.Declaration, Labels: b.Labels, Kind: "server", State: "broken",
		Why: b.Why, Measured: Measured{Read: Read{Stale: true}}}
}

// Target returns a target that is watched; nil: no target has that ID.
func (s *Server) Target(id string) *observe.Target { return s.find(id) }
