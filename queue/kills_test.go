package queue_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
)

// side represents a queue of one database, with processes that work on it.
type side struct {
	url, dir string
	env      []string
	q        queue.Queue[string]
	l        *log
	all      []*process
	ids      []string
}

func startSide(t *testing.T, url string, lanes []string) *side {
	d := &side{url: url, l: newLog(), dir: t.TempDir(), env: []string{processLanes + "=" + strings.Join(lanes, " ")}}
	d.q = processQueue(open(t, d.url), lanes...)
	for range 2 {
		d.all = append(d.all, startProcess(t, d.l, d.url, d.dir, d.env...))
	}
	return d
}

// kill kills a process in the middle of a job and starts another one.
func (d *side) kill(t *testing.T, meanwhile func()) {
	for i := range 20 {
		task := queue.Task[string]{ID: fmt.Sprint("job-", len(d.ids))}
		if i == 10 {
			task.Payload = held
		}
		id, err := d.q.Enqueue(t.Context(), task)
		must(t, err)
		d.ids = append(d.ids, id)
	}
	id := d.ids[len(d.ids)-10]
	eventually(t, "a process runs the held job", func() bool { return d.l.lastRunner(id) != nil })
	victim := slices.Index(d.all, d.l.lastRunner(id))
	meanwhile()
	d.all[victim].kill()
	letGo(t, d.dir, id)
	d.all[victim] = startProcess(t, d.l, d.url, d.dir, d.env...)
}

// end waits until all jobs are done, and gives what was wrong.
func (d *side) end(t *testing.T, kills int) (wrong []string) {
	for end := time.Now().Add(time.Minute); d.l.doneOf(d.ids) < len(d.ids) && time.Now().Before(end); {
		<-time.After(5 * time.Millisecond)
	}
	for _, p := range d.all {
		p.end()
	}
	wrong = d.l.wrong(d.ids)
	if dead, err := d.q.Dead(t.Context(), 0, 10); err != nil || len(dead) > 0 {
		wrong = append(wrong, fmt.Sprintf("dead: %v, %v", dead, err))
	}
	if again := len(d.l.spans) - len(d.ids); again < kills {
		wrong = append(wrong, fmt.Sprintf("%d jobs ran again after %d kills: they did not hit", again, kills))
	}
	nowhere, err := d.q.Reconcile(t.Context(), true)
	if err != nil || len(nowhere) > 0 {
		wrong = append(wrong, fmt.Sprintf("%d jobs are in no place: %v", len(nowhere), err))
	}
	t.Logf("%d kills: %d of %d jobs are lost, in %d runs", kills, len(d.ids)-d.l.doneOf(d.ids), len(d.ids), len(d.l.spans))
	return wrong
}

// harm describes what happens to a queue while its processes are killed.
type harm struct {
	databases int  // with the same queue and ids in each
	kills     int  // of the server, which writes every command to its disk before it answers
	full      bool // every third process dies while the server's memory is full
	slow      bool // every reply comes late in the last database
	moves     bool // the slot of the queue moves while a process dies
	backlog   int  // jobs that wait in another lane, are due, were left by a dead worker or are for later
}

var harms = map[string]harm{
	"two databases, full memory, slow replies": {databases: 2, kills: 3, full: true, slow: true},
	"a backlog, two databases, full memory":    {databases: 2, kills: 1, full: true, backlog: 100_000},
	"a moving slot, full memory":               {databases: 1, full: true, moves: true},
	"a moving slot, a backlog":                 {databases: 1, moves: true, backlog: 10_000},
}

// kills runs jobs of the same queue in each database and kills processes in the
// middle of a job. It gives what was wrong.
func (h harm) run(t *testing.T, workers int) (wrong []string) {
	var c *keywrighttest.Cluster
	var servers []*keywrighttest.Server
	var urls, lanes []string
	if h.moves {
		c = keywrighttest.StartCluster(t, keywrighttest.Redis, 2, 0)
		servers, urls = c.Nodes, []string{c.URL()}
	} else {
		s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("appendonly", "yes"),
			keywrighttest.Config("appendfsync", "always"))
		servers = []*keywrighttest.Server{s}
		for n := range h.databases {
			urls = append(urls, fmt.Sprint(s.URL(), "/", n))
		}
		if h.slow {
			p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{Delay: time.Millisecond})
			urls[h.databases-1] = fmt.Sprint("redis://", p.Addr(), "/", h.databases-1)
		}
	}
	if h.backlog > 0 {
		lanes = []string{"now", bulk}
		pile(t, c, servers[0], h.backlog)
	}
	var sides []*side
	for _, url := range urls {
		sides = append(sides, startSide(t, url, lanes))
	}
	memory := func(most string) {
		for _, s := range servers {
			s.Do("CONFIG", "SET", "maxmemory", most)
		}
	}
	killed := make([]int, len(sides))
	for round := range workers {
		on := round % len(sides)
		killed[on]++
		sides[on].kill(t, func() {
			switch {
			case h.full && round%3 == 0:
				memory("100000")
			case h.moves:
				moveSlot(t, c)
			}
		})
		memory("0")
		if round < h.kills*cmp.Or(workers/6, 1) {
			servers[0].Kill()
			servers[0].Restart()
		}
	}
	for n, d := range sides {
		for _, w := range d.end(t, killed[n]) {
			wrong = append(wrong, fmt.Sprintf("database %d: %s", n, w))
		}
	}
	return wrong
}

// pile lets n jobs wait in the lane bulk, be due, left by a dead worker or for
// later, a quarter each.
func pile(t *testing.T, c *keywrighttest.Cluster, s *keywrighttest.Server, n int) {
	t.Helper()
	if c != nil {
		s = c.Nodes[ownerOf(c)]
	}
	for from := 0; from < n; from += 5000 {
		s.Do("EVAL", `for i = ARGV[1], ARGV[2] do
  local id, place = 'bulk' .. i, i % 4
  redis.call('SET', '{mail}:job:' .. id, 'q1 1 bulk 0 - -\nbulk')
  if place == 0 then redis.call('RPUSH', '{mail}:bulk', id)
  elseif place == 1 then redis.call('ZADD', '{mail}:delayed', 1, id)
  elseif place == 2 then redis.call('ZADD', '{mail}:delayed', '100000000000000', id)
  else
    redis.call('ZADD', '{mail}:leases', 1, id)
    redis.call('HSET', '{mail}:runs', id, 'w/1 7 1 0 0 0 r1\n\n')
  end
end`, "1", "{mail}:bulk", strconv.Itoa(from), strconv.Itoa(min(from+5000, n)-1))
	}
}

func mailSlot(c *keywrighttest.Cluster) string {
	return fmt.Sprint(c.Nodes[0].Do("CLUSTER", "KEYSLOT", "{mail}"))
}

// ownerOf returns the node that has the slot of the queue.
func ownerOf(c *keywrighttest.Cluster) int {
	return slices.IndexFunc(c.Nodes, func(n *keywrighttest.Server) bool {
		_, err := n.Try("EXISTS", "{mail}:runs")
		return err == nil
	})
}

// moveSlot moves the slot of the queue to the other node, in pieces, while the
// processes work on it.
func moveSlot(t *testing.T, c *keywrighttest.Cluster) {
	t.Helper()
	slot, from := mailSlot(c), ownerOf(c)
	source, target := c.Nodes[from], c.Nodes[1-from]
	target.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", c.ID(from))
	source.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", c.ID(1-from))
	for {
		keys := source.Do("CLUSTER", "GETKEYSINSLOT", slot, "50").([]any)
		if len(keys) == 0 {
			break
		}
		command := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(target.Port), "", "0", "5000", "KEYS"}
		for _, key := range keys {
			command = append(command, key.(string))
		}
		source.Do(command...)
	}
	for _, n := range []*keywrighttest.Server{target, source} {
		n.Do("CLUSTER", "SETSLOT", slot, "NODE", c.ID(1-from))
	}
}

// TestKills: 0 jobs lost, 0 run twice at the same time, 0 in no place, whatever
// happens meanwhile. KEYWRIGHT_KILLS makes it longer: `make soak` has 200 workers.
func TestKills(t *testing.T) {
	gate.Skip(t, "24 kills of processes and servers in four worlds")
	t.Parallel()
	workers := gate.Count(t, "KEYWRIGHT_KILLS", 6, 6)
	for name, h := range harms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, w := range h.run(t, workers) {
				t.Error(w)
			}
		})
	}
}
