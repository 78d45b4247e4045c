package entity

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// asked describes what is asked by commands: a server, or one database of it.
type asked interface{ Do(words ...string) any }

// database is one of a server.
type database struct {
	*keywrighttest.Server
	number int
}

// Do sends a command in this database.
func (d database) Do(words ...string) any {
	return d.Server.Do(append([]string{"EVAL", "redis.call('SELECT', ARGV[1]) return redis.call(unpack(ARGV, 2))", "0",
		strconv.Itoa(d.number)}, words...)...)
}

// plague describes what happens to an entity while its writers and sweepers are killed.
type plague struct {
	databases int  // with the same entity and ids in each
	kills     int  // of the server, which writes every command to its disk before it answers: one of so many
	full      bool // every third process dies while the server's memory is full
	slow      bool // every reply comes late in the last database
	backlog   bool // there are many items, and half of them expire meanwhile
}

var plagues = map[string]plague{
	"the server is killed, too":                {databases: 1, kills: 5},
	"two databases, full memory, slow replies": {databases: 2, kills: 7, full: true, slow: true},
	"two databases, a backlog, full memory":    {databases: 2, full: true, backlog: true},
}

// land represents an entity of one database, with processes that write and sweep.
type land struct {
	database
	url   string
	notes *Store[string, note]
	all   []*writingProcess
	rand  *rand.Rand
}

func settleLand(t *testing.T, s *keywrighttest.Server, number int, url string, backlog int) *land {
	l := &land{database: database{s, number}, url: url, rand: gate.Rand(t)}
	l.notes = storeOf(open(t, fmt.Sprint(s.URL(), "/", number)), announcing("n"))
	var items []Item[string, note]
	for i := range backlog {
		items = append(items, Item[string, note]{ID: fmt.Sprint("b", i), Value: a("k1", 2)})
	}
	_, err := l.notes.CreateAll(t.Context(), items[:backlog/2])
	must(t, err)
	_, err = l.notes.CreateAll(t.Context(), items[backlog/2:],
		keywright.ExpiresIn(time.Duration(backlog)*time.Millisecond/4))
	must(t, err)
	for range 3 {
		l.all = append(l.all, startWriter(t, url, l.rand.Uint64()))
	}
	return l
}

// eventCount returns how many events there are.
func (l *land) eventCount() int64 { n, _ := l.Do("XLEN", "n:log").(int64); return n }

// kill kills a process in the middle of its writes, and starts another one.
func (l *land) kill(t *testing.T, meanwhile func()) {
	began := l.eventCount()
	eventually(t, "they write", func() bool { return l.eventCount() > began+20 })
	meanwhile()
	victim := l.rand.IntN(len(l.all))
	must(t, l.all[victim].cmd.Process.Kill())
	_ = l.all[victim].cmd.Wait()
	l.all[victim] = startWriter(t, l.url, l.rand.Uint64())
}

// stop ends all processes.
func (l *land) stop() {
	for _, w := range l.all {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	}
}

// End fails if anything is wrong after one sweep.
func (l *land) End(t *testing.T, forever int) {
	eventually(t, "all that were to expire have", func() bool {
		left := 0
		for _, key := range keysOf(l, "n:item:") {
			if key != "n:item:0" && key != "n:item:1" {
				left++
			}
		}
		return left == forever
	})
	done, err := l.notes.Sweep(t.Context(), SweepOptions{Rate: 1 << 30})
	for err == nil && done.Busy > 0 { // the lease of one that is dead
		<-time.After(done.Busy)
		done, err = l.notes.Sweep(t.Context(), SweepOptions{Rate: 1 << 30})
	}
	must(t, err)
	checked, err := l.notes.Check(t.Context(), CheckOptions{Rate: 1 << 30, Found: func(p Problem) { t.Errorf("%+v", p) }})
	must(t, err)
	lives, ends := history(t, l, "n:log")
	alive := 0
	for id, is := range lives {
		if got, err := l.notes.Exists(t.Context(), id); err != nil || got != is {
			t.Errorf("%s: that it is there is %v, reported was %v (%v)", id, got, is, err)
		}
		if is {
			alive++
		}
	}
	if checked.Items != alive || checked.Expired != 0 {
		t.Errorf("%+v, events of %d", checked, alive)
	}
	for _, w := range mortal(l, "n:") {
		t.Error(w)
	}
	t.Logf("database %d: %d events, %d ends, %d alive", l.number, l.eventCount(), ends, alive)
}

// Run kills processes while the plague is at work.
func (p plague) Run(t *testing.T, kills, backlog int) {
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("appendonly", "yes"),
		keywrighttest.Config("appendfsync", "always"))
	if !p.backlog {
		backlog = 0
	}
	var lands []*land
	for n := range p.databases {
		url := fmt.Sprint(s.URL(), "/", n)
		if p.slow && n == p.databases-1 {
			proxy := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{Delay: time.Millisecond})
			url = fmt.Sprint("redis://", proxy.Addr(), "/", n)
		}
		lands = append(lands, settleLand(t, s, n, url, backlog))
	}
	for i := range kills {
		lands[i%len(lands)].kill(t, func() {
			if p.full && i%3 == 0 {
				s.Do("CONFIG", "SET", "maxmemory", "100000")
			}
		})
		s.Do("CONFIG", "SET", "maxmemory", "0")
		if p.kills > 0 && i%p.kills == p.kills-1 {
			s.Kill()
			s.Restart()
		}
	}
	for _, l := range lands {
		l.stop()
	}
	s.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") // what they have sent is over
	for _, l := range lands {
		l.End(t, backlog/2)
	}
}

// TestKills: writers and sweepers are killed in the middle of it, whatever happens
// meanwhile. After one sweep no entry is stale, none is missing, and each item was reported
// of once, in each database. KEYWRIGHT_KILLS makes it longer, and
// KEYWRIGHT_SOAK the backlog: `make soak` has 200 and 100,000.
func TestKills(t *testing.T) {
	t.Parallel()
	kills, backlog := plagued(t)
	for name, p := range plagues {
		t.Run(name, func(t *testing.T) {
			if p.full {
				gate.Skip(t, "20 processes of writers and sweepers are killed")
			}
			t.Parallel()
			p.Run(t, kills, backlog)
		})
	}
}

// plagued returns how many kills there are, and how many items before them.
func plagued(t *testing.T) (kills, backlog int) {
	return gate.Count(t, "KEYWRIGHT_KILLS", 5, 10), gate.Count(t, "KEYWRIGHT_SOAK", 200, 2000)
}

// TestKillsApart: the same where the keys are in several slots: many items expire, the
// slot of the index records moves while processes are killed, and each third dies while the
// servers' memory is full.
func TestKillsApart(t *testing.T) {
	gate.Skip(t, "10 processes are killed, and slots move meanwhile")
	t.Parallel()
	kills, backlog := plagued(t)
	prefix, c := near(8192), keywrighttest.StartCluster(t, keywrighttest.Valkey, 2, 0)
	notes, at := spread(t, c.URL(), prefix), 0
	var items []Item[string, note]
	for i := range backlog {
		items = append(items, Item[string, note]{ID: fmt.Sprint("b", i), Value: a("k1", 2)})
	}
	_, err := notes.CreateAll(t.Context(), items[:backlog/2])
	must(t, err)
	_, err = notes.CreateAll(t.Context(), items[backlog/2:],
		keywright.ExpiresIn(time.Duration(backlog)*time.Millisecond/4))
	must(t, err)
	notes.core.Windows = quick
	all := []*child{startChild(t, c.URL(), prefix, "KEYWRIGHT_ENTITY_SEED=1"),
		startChild(t, c.URL(), prefix, "KEYWRIGHT_ENTITY_SEED=2")}
	memory := func(most string) {
		for _, node := range c.Nodes {
			node.Do("CONFIG", "SET", "maxmemory", most)
		}
	}
	for i := range kills {
		victim := i % len(all)
		all[victim].waitLines(20)
		if i%3 == 0 {
			memory("100000")
		} else {
			c.MoveSlotOf(notes.core.Spec.Records, at, 1-at)
			at = 1 - at
		}
		all[victim].kill()
		memory("0")
		all[victim] = startChild(t, c.URL(), prefix, fmt.Sprint("KEYWRIGHT_ENTITY_SEED=", 3+i))
	}
	for _, p := range all {
		p.kill()
	}
	atRest(t, notes)
	if n, _, err := notes.Count(t.Context(), notes.By("kind", "k1"), "", ""); err != nil || n < int64(backlog)/2 {
		t.Errorf("%d items are left of %d (%v)", n, backlog/2, err)
	}
}
