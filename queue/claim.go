package queue

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/queue/internal/stored"
)

// claimRequest describes what one worker loop asks of the server.
type claimRequest struct {
	wanted  int
	settled []stored.Settlement
	late    bool // it was asked when all calls were over
}

type claimResult struct {
	stored.Fetched
	err error
}

var errHungUp = errors.New("the worker has stopped, and did not wait for the server any longer")

// claimBatch makes one call of what several runners ask while others are under
// way: the server's time goes into calls more than into jobs.
func (c *workerPool[T]) claimBatch(_ context.Context, wishes []claimRequest) []claimResult {
	wanted, settled, late := 0, wishes[0].settled, false
	for i, w := range wishes {
		wanted += w.wanted
		late = late || w.late
		if i > 0 {
			settled = append(settled[:len(settled):len(settled)], w.settled...)
		}
	}
	f, err := stored.Fetched{}, errHungUp
	if late || c.calling.Err() == nil {
		f, err = c.claim(wanted, settled)
	}
	out := make([]claimResult, len(wishes))
	for i, w := range wishes {
		n := min(w.wanted, len(f.Jobs))
		out[i] = claimResult{stored.Fetched{Jobs: f.Jobs[:n:n]}, err}
		f.Jobs = f.Jobs[n:]
		out[i].Lost, out[i].Dead = f.Of(w.settled)
	}
	out[0].Dead, out[0].Faults = append(out[0].Dead, f.Dead...), f.Faults // no runner here has settled those
	c.beginFirst(out)
	return out
}

// ask asks the server, with what others ask.
func (c *workerPool[T]) ask(wanted int, settled []stored.Settlement) (stored.Fetched, error) {
	ctx, late := context.Background(), c.calling.Err() != nil
	if late {
		var cancel context.CancelFunc
		ctx, cancel = c.call(lastSecond)
		defer cancel()
	}
	a, err := c.calls.Lead(ctx, claimRequest{wanted, settled, late})
	if err != nil {
		return stored.Fetched{}, err
	}
	return a.Fetched, a.err
}

// flights says how many calls of c.calls are under way at a time, see coalesce.New. The server
// knows the last answer of each.
const flights = 2

// claim returns one call to the server. It goes on when the worker is to stop: what
// it claims would otherwise wait until its lease is over. One that may have arrived is
// sent again until it is answered: the server gives the answer of the first.
func (c *workerPool[T]) claim(wanted int, settled []stored.Settlement) (stored.Fetched, error) {
	seat := <-c.seats
	defer func() { c.seats <- seat }()
	c.mu.Lock()
	c.seq++
	call := c.seq
	name := sending{token: stored.Pad(c.name + "/" + strconv.FormatInt(call, 36)), seat: c.seat(seat)}
	look := c.look(wanted)
	c.mu.Unlock()
	var f stored.Fetched
	var sent time.Time
	var err error
	for failures := 0; ; failures++ {
		ctx, cancel := c.call(c.q.lease())
		sent = time.Now()
		f, err = c.q.claim(ctx, name, wanted, look, settled)
		cancel()
		class, _ := keywright.ClassOf(err)
		name.again = name.again || class == keywright.UnknownOutcome
		if err == nil || !name.again || c.calling.Err() != nil || c.ctx.Err() != nil && failures >= 3 {
			break
		}
		c.tellAside(err)
		c.rest(failures + 1)
	}
	if err != nil {
		return f, err
	}
	if time.Since(sent) > c.q.lease()/8 {
		c.askForFlags() // much of the leases is over: they are renewed at once
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settledNow(settled)
	c.expect(call, f.Due, look != "")
	c.paused.Store(f.Paused)
	return f, nil
}

// seat returns the name under which the server knows an answer.
func (c *workerPool[T]) seat(n int) string { return c.name + " " + strconv.Itoa(n) }

// settledNow notes that no lease of these is renewed any more. The caller holds mu.
func (c *workerPool[T]) settledNow(all []stored.Settlement) {
	for _, s := range all {
		delete(c.running, s.Token+" "+s.ID)
	}
}

// sending describes a call that claims, as the server knows it.
type sending struct {
	token string
	seat  string // under which its answer is kept until the next one of the same seat
	again bool   // it was sent before, and may have arrived
}

// answerOf begins the names of the fields in which the state keeps answers.
const answerOf = "answer "

// claim settles jobs and claims others, in one step.
func (q Queue[T]) claim(ctx context.Context, name sending, wanted int, look string,
	settled []stored.Settlement) (stored.Fetched, error) {
	gap, burst, late := q.rate()
	groups, rest := stored.SettlementArgs(settled)
	args := parts.Args("fetch", len(rest),
		"token", name.token, "wanted", strconv.Itoa(wanted), "lease", milliseconds(q.lease()), "mode", look,
		"crashes_most", strconv.Itoa(cmp.Or(q.o.Crashes, 5)), "ttl", q.ttl(),
		"before", q.keys.Job.Before, "after", q.keys.Job.After,
		"result_before", q.keys.Result.Before, "result_after", q.keys.Result.After,
		"dead_most", strconv.Itoa(cmp.Or(q.o.MaxDead, 10_000)), "attempts_most", strconv.Itoa(cmp.Or(q.o.Retry, 25)),
		"gap", gap, "burst", burst, "late", late, "lane_order", q.order(), "lane_names", q.laneNames(),
		"channel", q.keys.Channel, "database", q.database(), "clustered", q.clustered(),
		"seat", name.seat, "groups", groups)
	sent := time.Now()
	out, err := q.run(ctx, "fetch", standard.fetch, keywright.Writes, q.fetchKeys(), append(args, rest...))
	if err != nil {
		return stored.Fetched{}, err
	}
	return stored.Read(out, name.token, sent)
}

// slack is the part of a rate that is not used, so that workers that are late by
// as much of a second do not exceed it together with what they are late by.
const slack = 0.01

// rate returns the time between two jobs in µs, how many may begin at once, and by how
// many µs a worker may be late without a loss.
func (q Queue[T]) rate() (gap, burst, late string) {
	if q.o.Rate == 0 {
		return "0", "0", "0"
	}
	micros := float64(q.o.Per) / float64(time.Microsecond)
	gap = strconv.FormatFloat(max(micros/float64(q.o.Rate)*(1+slack), 1), 'f', 3, 64)
	late = strconv.FormatFloat(min(micros, 1e6)*slack, 'f', 0, 64)
	return gap, strconv.Itoa(cmp.Or(q.o.Burst, 1)), late
}

// order returns the numbers of the lanes in the order to look: as declared, or with
// one in front that is drawn by weight.
func (q Queue[T]) order() string {
	first := q.drawn()
	order := []byte(strconv.Itoa(first + 1))
	for i := range q.keys.Lanes {
		if i != first {
			order = strconv.AppendInt(append(order, ' '), int64(i+1), 10)
		}
	}
	return string(order)
}

// drawn returns a lane that is drawn by weight, the first one if they have none.
func (q Queue[T]) drawn() int {
	total := 0
	for _, w := range q.o.Weights {
		total += w
	}
	if total <= 0 {
		return 0
	}
	draw := rand.IntN(total)
	return slices.IndexFunc(q.o.Weights, func(w int) bool { draw -= w; return draw < 0 })
}

// begins says in one call that the handlers of jobs begin, each an id and a token. It
// gives for each whether it is another worker's by now.
func (q Queue[T]) begins(ctx context.Context, jobs []string) (lost []bool, err error) {
	out, err := q.run(ctx, "begin", standard.begin, keywright.Idempotent, []string{q.keys.Runs}, jobs)
	lost = make([]bool, len(jobs)/2)
	for _, m := range out {
		if n, _ := m.AsInt64(); n >= 1 && n <= int64(len(lost)) {
			lost[n-1] = true
		}
	}
	return lost, err
}

// begins tells the server that the handler of j begins. It is for jobs of which earlier
// leases ended and it is not known whether a handler had begun: a later death counts as a
// crash only after this. Where the report fails, the handler does not begin.
// Runners that tell it at the same time share a call.
func (c *workerPool[T]) begins(j *Job[T]) bool {
	ctx, cancel := context.WithDeadline(j.ctx, j.Deadline())
	defer cancel()
	err, _, left := c.beginnings.Do(ctx, j)
	if err = cmp.Or(left, err); errors.Is(err, ErrLost) {
		j.stop(ErrLost)
	} else if err != nil {
		c.tell(err)
	}
	return err == nil
}

// beginTogether tells in one call what runners tell at the same time.
func (c *workerPool[T]) beginTogether(_ context.Context, jobs []*Job[T]) []error {
	said := make([]string, 0, 2*len(jobs))
	for _, j := range jobs {
		said = append(said, j.ID, j.token)
	}
	ctx, cancel := c.call(c.q.lease())
	defer cancel()
	lost, err := c.q.begins(ctx, said)
	out := make([]error, len(jobs))
	for i := range jobs {
		if out[i] = err; err == nil && lost[i] {
			out[i] = ErrLost
		}
	}
	return out
}

// beginFirst tells the server of what a call has claimed that the first job of each
// runner begins: else many jobs of a worker that is gone cost two calls for each runner's
// turn. A job whose report failed is still doubtful, and its runner
// tells it. So is one whose lease is over: its handler does not begin.
func (c *workerPool[T]) beginFirst(answers []claimResult) {
	var said []string
	var first []*stored.Claimed
	sent, limit := time.Now(), c.q.lease()/4 // no lease is renewed meanwhile
	for _, a := range answers {
		if len(a.Jobs) == 0 || !a.Jobs[0].Doubtful {
			continue
		}
		if left := deadlineOf(&a.Jobs[0], c.q.lease()).Sub(sent); left > 0 {
			said = append(said, a.Jobs[0].ID, a.Jobs[0].Token)
			first, limit = append(first, &a.Jobs[0]), min(limit, left)
		}
	}
	if len(first) == 0 || c.ctx.Err() != nil || c.paused.Load() {
		return
	}
	ctx, cancel := c.call(limit)
	defer cancel()
	lost, err := c.q.begins(ctx, said)
	for i, j := range first {
		j.Doubtful = err != nil || lost[i]
	}
	if time.Since(sent) > c.q.lease()/8 {
		c.askForFlags()
	}
}
