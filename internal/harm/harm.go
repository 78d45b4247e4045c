// Package harm kills processes that work on a server, and harms the server meanwhile:
// one table of harms for the constructs of the library. It is for tests.
package harm

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// dimensions describes what happens while processes are killed.
type dimensions struct {
	databases int  // with the same keys and ids in each
	kills     int  // of the server, which writes every command to its disk before it answers
	full      bool // every third process dies while the server's memory is full
	slow      bool // every reply comes late in the last database
	moves     bool // the slot moves while a process dies
	backlog   bool // there is much that waits
}

// table lists the harms that each construct is tried with.
var table = map[string]dimensions{
	"two databases, full memory, slow replies": {databases: 2, kills: 2, full: true, slow: true},
	"two databases, a backlog, full memory":    {databases: 2, kills: 1, full: true, backlog: true},
	"a moving slot, full memory":               {databases: 1, full: true, moves: true},
	"a moving slot, a backlog":                 {databases: 1, moves: true, backlog: true},
}

// The entries of a backlog: small ones by default.
const (
	few   = 1_000 // in the gate
	small = 10_000
	large = 100_000
)

// Suite describes how a construct is tried.
type Suite struct {
	Process string // the test that is a process: see Work
	Key     string // one of the slot that moves

	// Full is the share of maxmemory that is used while the memory counts as full, which it is under
	// each harm. 0: only where the harm says so; maxmemory is 100,000 bytes, so no write that grows passes.
	Full float64

	Begin func(t *testing.T, s *Side, backlog int) // makes what is there before
	Wrong func(t *testing.T, s *Side) []string     // looks for what was lost, when no process works any more
}

// Side represents one database with processes that work on it.
type Side struct {
	URL    string // without delay
	Dir    string // of files that processes keep
	Places int    // of processes: one takes the place of another that was killed
	Full   bool   // its memory is full at times

	work string // URL of the processes
	log  log
	all  []*process
}

// Lines returns what its processes have said, each line without its first word, which is
// the one given.
func (s *Side) Lines(word string) []string { return s.log.of(word) }

// Say adds a line to them.
func (s *Side) Say(line string) { s.log.add(line) }

// File returns where the process of a place keeps what it has.
func (s *Side) File(place int) string { return filepath.Join(s.Dir, strconv.Itoa(place)) }

// world represents the servers.
type world struct {
	t       *testing.T
	suite   Suite
	cluster *keywrighttest.Cluster
	servers []*keywrighttest.Server
	owner   int // the node that has the slot
	sides   []*Side
}

// Run kills processes of a suite under each of the harms, and fails with what was lost.
// KEYWRIGHT_KILLS says how many processes die under each: 6, and 200 with a large backlog
// under `make soak`. In the gate it is one, under one of the harms.
func Run(t *testing.T, suite Suite) {
	t.Helper()
	kills, backlog := gate.Count(t, "KEYWRIGHT_KILLS", 1, 6), small
	if os.Getenv("KEYWRIGHT_KILLS") != "" {
		backlog = large
	} else if !gate.All() {
		backlog = few
	}
	for _, name := range gate.Pick(t, slices.Sorted(maps.Keys(table))) {
		d := table[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			most := 0
			if d.backlog {
				most = backlog
			}
			w := start(t, suite, d, most)
			for round := range kills {
				w.kill(w.sides[round%len(w.sides)], d, round)
				if !d.moves && round < d.kills*max(kills/6, 1) {
					w.servers[0].Kill()
					w.servers[0].Restart()
				}
			}
			for _, s := range w.sides {
				s.end(t)
			}
			for n, s := range w.sides {
				for _, wrong := range suite.Wrong(t, s) {
					t.Errorf("database %d: %s", n, wrong)
				}
				t.Logf("database %d: %d processes, %d times something was done", n, s.log.processes, len(s.Lines("done")))
			}
		})
	}
}

func start(t *testing.T, suite Suite, d dimensions, backlog int) *world {
	t.Helper()
	w := &world{t: t, suite: suite}
	var urls []string
	if d.moves {
		w.cluster = keywrighttest.StartCluster(t, keywrighttest.Redis, 2, 0)
		w.servers, urls = w.cluster.Nodes, []string{w.cluster.URL()}
		const slots = 16384
		w.owner = int(w.servers[0].Do("CLUSTER", "KEYSLOT", suite.Key).(int64)) * len(w.servers) / slots
	} else {
		s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("appendonly", "yes"),
			keywrighttest.Config("appendfsync", "always"))
		w.servers = []*keywrighttest.Server{s}
		for n := range d.databases {
			urls = append(urls, fmt.Sprint(s.URL(), "/", n))
		}
	}
	for n, url := range urls {
		s := &Side{URL: url, work: url, Dir: t.TempDir(), Places: 2, Full: d.full || suite.Full > 0}
		if d.slow && n == len(urls)-1 {
			p := keywrighttest.NewProxy(t, w.servers[0].Addr(), keywrighttest.Rules{Delay: time.Millisecond})
			s.work = fmt.Sprint("redis://", p.Addr(), "/", n)
		}
		suite.Begin(t, s, backlog)
		for place := range s.Places {
			s.all = append(s.all, s.start(t, suite.Process, place))
		}
		w.sides = append(w.sides, s)
	}
	return w
}

// kill kills a process in the middle of its work, and starts another in its place.
func (w *world) kill(s *Side, d dimensions, round int) {
	w.t.Helper()
	s.more(w.t, "done", 20)
	place := round / len(w.sides) % s.Places
	full := s.Full && round%3 == 0
	if full {
		w.fill()
	}
	if s.more(w.t, "", 2); full {
		s.more(w.t, "", 40)
	}
	if d.moves {
		dead := make(chan struct{})
		go func() { defer close(dead); s.all[place].kill() }()
		w.cluster.MoveSlotOf(w.suite.Key, w.owner, 1-w.owner)
		w.owner = 1 - w.owner
		<-dead
	} else {
		s.all[place].kill()
	}
	s.all[place] = s.start(w.t, w.suite.Process, place)
	if full {
		for _, server := range w.servers {
			server.Do("CONFIG", "SET", "maxmemory", "0")
		}
	}
}

// fill makes the server as full as the suite wants it: the one that has the slot, for a
// node that takes the slot over needs memory.
func (w *world) fill() {
	server, most := w.servers[w.owner], 100_000
	if w.suite.Full > 0 {
		used, err := strconv.Atoi(server.Info("used_memory"))
		if err != nil {
			w.t.Fatal(err)
		}
		most = int(float64(used) / w.suite.Full)
	}
	server.Do("CONFIG", "SET", "maxmemory", strconv.Itoa(most))
}

// more waits until its processes have said a word so many times more, "" for any.
func (s *Side) more(t *testing.T, word string, lines int) {
	t.Helper()
	from := s.log.count(word)
	defer func() {
		if t.Failed() {
			t.Logf("the processes of %s have said %q %d times; the last lines: %q", s.URL, word, s.log.count(word)-from,
				s.log.last(5))
		}
	}()
	expect.Eventually(t, "processes go on", func() bool { return s.log.count(word) >= from+lines })
}
