package queue_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/mutation"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// muted takes the signs of life away, which would bring back a lease that a claim
// has not left: what remains is what protects a job until the first one.
var muted = []string{"if #leased > 0 then redis.call('ZADD', KEYS[1], 'GT', unpack(leased)) end", ""}

// orphan kills a worker in the middle of a job, before its first sign of life,
// and lets another one work for longer than a lease. It gives what was wrong.
func orphan(t *testing.T, guards ...string) (wrong []string) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q, l, dir := processQueue(open(t, s.URL())), newLog(), t.TempDir()
	text, err := json.Marshal(slices.Concat(muted, guards))
	must(t, err)
	env := []string{"KEYWRIGHT_QUEUE_RUNNERS=1", "KEYWRIGHT_QUEUE_MUTATE=" + string(text)}
	id, err := q.Enqueue(t.Context(), queue.Task[string]{Payload: held})
	must(t, err)
	victim := startProcess(t, l, s.URL(), dir, env...)
	eventually(t, "it runs", func() bool { return l.lastRunner(id) != nil })
	victim.kill()
	letGo(t, dir, id)
	// By the server's clock this one comes later than the lease is over, and what
	// brings it back brings back what is expired, to the front of the lane.
	later, err := q.Enqueue(t.Context(), queue.Task[string]{In: 2 * processLease})
	must(t, err)
	other := startProcess(t, l, s.URL(), dir, env...)
	eventually(t, "what was put after it is done", func() bool { return l.isDone(later) })
	other.end()
	return l.wrong([]string{id, later})
}

// shared lets a second worker look for jobs while a first one runs one, before
// its first sign of life. It gives what was wrong.
func shared(t *testing.T, guards ...string) (wrong []string) {
	queue.Mutate(t, slices.Concat(muted, guards)...)
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	o := queue.Options{Lease: time.Hour}
	near, far := queue.Open(open(t, s.URL()), "mail", value.Text(0), o), queue.Open(open(t, s.URL()), "mail",
		value.Text(0), o)
	running, leave := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(leave) })
	defer release()
	stop := started(t, near.Worker(func(context.Context,
		*queue.Job[string]) error {
		close(running)
		<-leave
		return nil
	}, queue.WorkerOptions{Concurrency: 1}))
	id, err := near.Enqueue(t.Context(), queue.Task[string]{})
	must(t, err)
	<-running
	next, err := near.Enqueue(t.Context(), queue.Task[string]{})
	must(t, err)
	// A worker's first call brings back what is expired, to the front of the lane.
	done := make(chan struct{})
	started(t, far.Worker(func(_ context.Context, j *queue.Job[string]) error {
		switch j.ID {
		case id:
			wrong = append(wrong, "a job ran twice at the same time")
		case next:
			close(done)
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 1}))
	<-done
	release()
	stop()
	return wrong
}

// TestMutations: with any guard taken out its suite shows it, and with all of
// them in their place it is green. No suite depends on which worker is faster.
func TestMutations(t *testing.T) {
	zombie := func(t *testing.T, guards ...string) []string { queue.Mutate(t, guards...); return zombie(t) }
	optimist := func(t *testing.T, _ ...string) []string { queue.MutateMargin(t, -time.Hour); return zombie(t) }
	cutOff := func(t *testing.T, guards ...string) []string { return cancelled(t, "", guards...) }
	failing := func(t *testing.T, guards ...string) []string { return cancelled(t, "fails", guards...) }
	toldOnce := func(t *testing.T, guards ...string) []string {
		queue.Mutate(t, guards...)
		return cutReplies(t, 3000, 300)
	}
	const claimed = "if r and r.cancelled then"
	for name, m := range map[string]struct {
		suite  func(*testing.T, ...string) []string
		guards []string
		green  bool
		apart  bool // its guard is taken out in processes of its own
	}{
		"a worker dies":           {orphan, nil, true, true},
		"a claim leaves no lease": {orphan, []string{"  write('ZADD', leases, leased)\n", ""}, false, true},
		"what is expired stays": {orphan,
			[]string{"unleased = bring(leases, look, wanted, fronts, left)", "unleased = 0",
				"pcall('ZRANGE', leases, '-inf', stamp", "pcall('ZRANGE', leases, '-inf', '0'"}, false, true},
		"two look for jobs": {shared, nil, true, false},
		"a claim lasts no time": {shared,
			[]string{"local until_then = string.format('%.0f', now + tonumber(lease))", "local until_then = stamp"}, false,
			false},
		"the owner is not asked when a job is settled": {zombie,
			[]string{"return run and string.find(run, token, 1, true) == 1", "return run"}, false, false},
		"replies are lost": {toldOnce, nil, true, false},
		"an answer is not kept": {toldOnce, []string{"told[4]:sub(1, #token + 1) == token .. ' '", "false"}, false,
			false},
		"a clock that was put back": {rated, nil, true, false},
		"a rate outlives a clock that was put back": {rated, []string{"back = tat > micros + burst * gap",
			"back = false"}, false, false},
		"a job kills its workers": {innocents, nil, true, false},
		"a lease that ends is a crash": {innocents, []string{"if r.doubt == 3 then r.crashes",
			"if true then r.crashes"}, false, false},
		"a job begins without a word": {innocents,
			[]string{"start .. '3' .. rest", "start .. '2' .. rest"}, false, false},
		"workers trust a lease for longer than it lasts": {optimist, nil, false, false},
		"a job is put off": {putOff, nil, true, false},
		"a job that is put off uses an attempt": {putOff,
			[]string{"if verb == 'later' then r.attempt", "if false then r.attempt"}, false, false},
		"a job that died again": {deadSince, nil, true, false},
		"the moment is not compared": {deadSince, []string{"if token ~= '' and math.floor", "if false and math.floor"}, false,
			false},
		"two databases": {ofAnotherDatabase, nil, true, false},
		"a message cancels a job": {ofAnotherDatabase,
			[]string{`if run:find('^%S+ %d+ %d+ %d+ 1 %d r1\n') then`, "if true then"}, false, false},
		"a cancelled job is begun again": {cutOff, []string{claimed, "if false then",
			"elseif what == 'there' and r.cancelled then", "elseif false then"}, false, false},
		"a cancelled job is tried again": {failing, []string{claimed, "if false then",
			"elseif verb == 'done' or r.cancelled then", "elseif verb == 'done' then"}, false, false},
	} {
		if !m.green && !mutation.All() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if m.apart {
				t.Parallel()
			}
			wrong := m.suite(t, m.guards...)
			switch {
			case m.green && len(wrong) > 0:
				t.Error(wrong)
			case !m.green && len(wrong) == 0:
				t.Error("the suite stays green without this guard")
			}
			t.Log(wrong)
		})
	}
}
