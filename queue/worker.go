package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/coalesce"
	"github.com/keywright/keywright/kernel"
)

// WorkerOptions of a worker. The zero value is a good choice.
type WorkerOptions struct {
	// Concurrency sets how many jobs this process runs at the same time. 0: 10.
	Concurrency int
	// Batch sets how many jobs one call claims, at most 200. They run one after the other: a larger batch is faster for
	// short jobs, and a long job delays those after it. 0: 1.
	Batch int
	// Name identifies the worker in Stats. "": host and process id.
	Name string
	// Grace bounds how long Run takes to stop, also if the server does not answer. The contexts of the jobs end a second
	// earlier, or after half of a Grace below two seconds; the rest is for giving jobs back. A job that could not be
	// given back runs again when its lease is over. Run takes longer only if a handler does not return after the end of
	// its context. 0: 30 s.
	Grace time.Duration
	// AllowEviction accepts a server that may delete keys, and jobs with them, when its memory is full: one with a
	// maxmemory-policy other than noeviction. false: Run fails on such a server.
	AllowEviction bool
	// OnError receives failed calls, lost jobs, and panics. The worker continues. Several goroutines may call it at the
	// same time. The caller waits for it, but leases are renewed meanwhile. A panic in it is dropped. nil: the logger of
	// the client gets the error, at most once a second.
	OnError func(error)
	// OnDead receives each job that died in a call of this worker. It is called as OnError is. nil: only hooks and the
	// logger of the client get it.
	OnDead func(Dead)
}

const maxConcurrency = 10_000

// mostTaken says how many jobs one call claims, and how many it settles: as many as a
// server gets through in less than 5 ms.
const mostTaken = 200

// Handler runs one job. nil ends it, an error brings it back after a while: see
// Discard, RetryIn and Later. A panic counts as an error, and so does runtime.Goexit. It
// must return soon when ctx ends: context.Cause says why (ErrLost, ErrCancelled,
// ErrShutdown, keywright.ErrClosed).
type Handler[T any] func(ctx context.Context, job *Job[T]) error

// Worker runs jobs.
type Worker[T any] struct {
	queue  Queue[T]
	handle Handler[T]
	o      WorkerOptions
	err    error
}

// Worker makes a worker; Run starts it, and refuses one without a handler.
func (q Queue[T]) Worker(handle Handler[T], o WorkerOptions) *Worker[T] {
	w := &Worker[T]{q, handle, o, q.err}
	switch {
	case q.err != nil:
	case handle == nil:
		w.err = q.invalid(errors.New("a worker without a handler"), "")
	case o.Concurrency < 0 || o.Batch < 0 || o.Grace < 0:
		w.err = q.invalid(errors.New("an option of the worker is negative"), "")
	case o.Concurrency > maxConcurrency || o.Batch > mostTaken:
		w.err = q.invalid(fmt.Errorf("its Concurrency is above %d, or its Batch above %d", maxConcurrency, mostTaken), "")
	}
	return w
}

// Run works until ctx ends, and returns when the last job has. It gives back
// what it could not finish. An idle one sends about one command a second and is
// woken by a message. A server that cannot be reached when Run begins is an error;
// later, OnError receives it and the worker goes on. A right or a command that is
// missing, or a key of another type, ends Run with a *keywright.Error that names it.
// When the client is closed, the
// contexts of the jobs end at once, and Run fails with ErrClosed: then nothing can
// be given back.
func (w *Worker[T]) Run(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	client := w.queue.client
	ctx, end := client.While(ctx)
	defer end()
	ctx, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	c := newWorkerPool(w, ctx)
	c.halt = halt
	defer context.AfterFunc(client.Life(), func() { c.free(keywright.ErrClosed); c.cancelCalls() })()
	defer c.free(nil)
	defer c.cancelCalls()
	stop, err := func() {}, w.durable(ctx)
	if err == nil {
		stop, err = client.Subscribe(ctx, w.queue.keys.Channel, keywright.Listener{Message: c.onMessage, Gap: c.missed})
	}
	switch closed := client.Ended(ctx, "run", w.queue.entry); {
	case err != nil && closed != nil:
		return closed
	case err != nil && ctx.Err() != nil:
		c.tell(err)
		return nil
	case err != nil:
		return err
	}
	defer stop()
	var keeper sync.WaitGroup
	over := make(chan struct{})
	keeper.Go(func() { c.keep(over) })
	for range cmp.Or(w.o.Concurrency, 10) {
		c.team = append(c.team, &workerLoop[T]{workerPool: c})
		c.loops.Go(c.team[len(c.team)-1].work)
	}
	<-ctx.Done()
	defer c.shutdownTimers()()
	c.giveBack()
	c.loops.Wait()
	close(over)
	keeper.Wait()
	c.leave()
	return client.Ended(ctx, "run", w.queue.entry)
}

// durable refuses a server that may throw jobs away. Where a user may not ask,
// `keywright doctor` can.
func (w *Worker[T]) durable(ctx context.Context) error {
	if w.o.AllowEviction {
		return nil
	}
	q := w.queue
	info, err := kernel.NewOp(kernel.Spec[string]{
		Action: kernel.Action{Client: q.client, Name: "durable", Entry: q.entry, Effect: keywright.Reads,
			Key: q.keys.Leases},
		Script: standard.durable, Keys: []string{q.keys.Leases}, Decode: func(r kernel.Reply) (string,
			error) {
			return r.ToString()
		},
	}).Do(ctx)
	_, rest, _ := strings.Cut(info, "maxmemory_policy:")
	policy, _, _ := strings.Cut(rest, "\r\n")
	if err != nil || policy == "" || policy == "noeviction" || strings.Contains(info, "maxmemory:0\r\n") {
		return err
	}
	return q.invalid(fmt.Errorf("the server has maxmemory-policy %s and may throw jobs away", policy),
		"CONFIG SET maxmemory-policy noeviction, or WorkerOptions.AllowEviction")
}

// workerPool represents one Run: its worker loops and the goroutine that renews their leases.
type workerPool[T any] struct {
	w           *Worker[T]
	q           Queue[T]
	name        string
	ctx         context.Context         // ends when nothing new is to begin
	halt        context.CancelCauseFunc // ends it, for a refusal that time does not heal
	jobs        context.Context         // of the jobs
	free        context.CancelCauseFunc
	calling     context.Context // ends when no call to the server is waited for any more
	cancelCalls context.CancelFunc
	loops       sync.WaitGroup
	wake        chan struct{} // a reason to ask the server, for one runner
	flags       chan struct{} // a reason to look at the flags of the jobs that run
	paused      atomic.Bool   // as the server has said last
	early       chan struct{} // something is due before the keeper would look
	team        []*workerLoop[T]
	seats       chan int // of the calls under way
	aside       slots    // of an error that is reported beside them
	calls       *coalesce.Coalescer[claimRequest, claimResult]
	beginnings  *coalesce.Coalescer[*Job[T], error]

	mu       sync.Mutex
	seq      int64
	idle     int
	running  map[string]*Job[T] // by token and id, until they are settled
	nextTidy time.Time
	more     bool      // the last look for what is due has not seen all of it
	dueAt    time.Time // zero: unknown
	dueSeq   int64     // the number of the last call that was sent when that was noted
}

func newWorkerPool[T any](w *Worker[T], ctx context.Context) *workerPool[T] {
	c := &workerPool[T]{w: w, q: w.queue, ctx: ctx, running: map[string]*Job[T]{}}
	c.name = oneWord(cmp.Or(w.o.Name, hostAndProcess())) + "/" + rand.Text()[:8]
	c.jobs, c.free = context.WithCancelCause(context.WithoutCancel(ctx))
	c.calling, c.cancelCalls = context.WithCancel(context.WithoutCancel(ctx))
	c.wake = make(chan struct{}, cmp.Or(w.o.Concurrency, 10))
	c.flags, c.early = make(chan struct{}, 1), make(chan struct{}, 1)
	c.seats, c.aside = make(chan int, flights), make(slots, 1)
	for n := range flights {
		c.seats <- n
	}
	c.calls = coalesce.New(max(1, min(64, mostTaken/cmp.Or(w.o.Batch, 1))), c.claimBatch)
	c.beginnings = coalesce.New(mostTaken, c.beginTogether)
	return c
}

// lastSecond says what giving jobs back may take at the end of a Run, unless that is
// more than half of the Grace.
const lastSecond = time.Second

func (w *Worker[T]) grace() time.Duration { return cmp.Or(w.o.Grace, 30*time.Second) }

// shutdownTimers ends the contexts of the jobs, and later the calls to the server, when
// their time is over.
func (c *workerPool[T]) shutdownTimers() (stop func()) {
	grace := c.w.grace()
	free := time.AfterFunc(grace-min(grace/2, lastSecond), func() { c.free(ErrShutdown) })
	calls := time.AfterFunc(grace, c.cancelCalls)
	return func() { free.Stop(); calls.Stop() }
}

// call returns the context of a call to the server, which takes limit at most. When all
// calls are over there is as long as the Grace for that of a job that has ended late,
// a second at most.
func (c *workerPool[T]) call(limit time.Duration) (context.Context, context.CancelFunc) {
	if c.calling.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(c.ctx), min(limit, lastSecond, c.w.grace()))
	}
	return context.WithTimeout(c.calling, limit)
}

// oneWord returns a name as one word.
func oneWord(name string) string { return strings.Join(strings.Fields(name), "_") }

// pad makes a token longer than hash-max-listpack-value, whose default is 64: so
// the hash of what runs is a table, and no listpack that is searched from its
// front.
func pad(token string) string { return token + strings.Repeat(padding, max(1, 65-len(token))) }

const padding = "."

// claimRequest describes what one worker loop asks of the server.
type claimRequest struct {
	wanted  int
	settled []settlement
	late    bool // it was asked when all calls were over
}

type claimResult struct {
	fetched
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
	f, err := fetched{}, errHungUp
	if late || c.calling.Err() == nil {
		f, err = c.claim(wanted, settled)
	}
	out := make([]claimResult, len(wishes))
	for i, w := range wishes {
		n := min(w.wanted, len(f.jobs))
		out[i] = claimResult{fetched{jobs: f.jobs[:n:n]}, err}
		f.jobs = f.jobs[n:]
		out[i].lost, out[i].dead = f.of(w.settled)
	}
	out[0].dead, out[0].faults = append(out[0].dead, f.dead...), f.faults // no runner here has settled those
	c.beginFirst(out)
	return out
}

// ask asks the server, with what others ask.
func (c *workerPool[T]) ask(wanted int, settled []settlement) (fetched, error) {
	ctx, late := context.Background(), c.calling.Err() != nil
	if late {
		var cancel context.CancelFunc
		ctx, cancel = c.call(lastSecond)
		defer cancel()
	}
	a, err := c.calls.Lead(ctx, claimRequest{wanted, settled, late})
	if err != nil {
		return fetched{}, err
	}
	return a.fetched, a.err
}

func hostAndProcess() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
}

// onMessage is called by the reader of the subscription. A channel has the messages of
// all databases of a server, and anything that others say: each is a
// reason to ask the server, and settles nothing.
func (c *workerPool[T]) onMessage(text string) {
	word, rest, _ := strings.Cut(text, " ")
	database, token, _ := strings.Cut(rest, " ")
	if !c.q.ours(database) {
		return
	}
	switch word {
	case "due":
		c.due()
	case "cancel":
		if strings.HasPrefix(token, c.name+"/") {
			c.askForFlags()
		}
	case "pause":
		c.askForFlags()
	default:
		c.wakeOne()
	}
}

// ours reports whether a message that names a database may be about this queue.
func (q Queue[T]) ours(database string) bool {
	own := q.client.Database()
	n, err := strconv.Atoi(database)
	return err != nil || own < 0 || n < 0 || n == own
}

// askForFlags lets the keeper ask what has become of the jobs that run.
func (c *workerPool[T]) askForFlags() {
	select {
	case c.flags <- struct{}{}:
	default:
	}
}

// missed is called when messages may have been missed.
func (c *workerPool[T]) missed() {
	c.due()
	c.askForFlags()
}

// wakeOne wakes one runner, if one sleeps.
func (c *workerPool[T]) wakeOne() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// due wakes one runner and lets it bring back what is due.
func (c *workerPool[T]) due() {
	c.mu.Lock()
	c.nextTidy = time.Time{}
	c.mu.Unlock()
	c.wakeOne()
}

// end ends the contexts of some jobs.
func (c *workerPool[T]) end(which func(*Job[T]) bool, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.running {
		if which(j) {
			j.stop(cause)
		}
	}
}

// flights says how many calls of c.calls are under way at a time, see coalesce.New. The server
// knows the last answer of each.
const flights = 2

// claim returns one call to the server. It goes on when the worker is to stop: what
// it claims would otherwise wait until its lease is over. One that may have arrived is
// sent again until it is answered: the server gives the answer of the first.
func (c *workerPool[T]) claim(wanted int, settled []settlement) (fetched, error) {
	seat := <-c.seats
	defer func() { c.seats <- seat }()
	c.mu.Lock()
	c.seq++
	call := c.seq
	name := sending{token: pad(c.name + "/" + strconv.FormatInt(call, 36)), seat: c.seat(seat)}
	look := c.look(wanted)
	c.mu.Unlock()
	var f fetched
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
	c.expect(call, f.due, look != "")
	c.paused.Store(f.paused)
	return f, nil
}

// seat returns the name under which the server knows an answer.
func (c *workerPool[T]) seat(n int) string { return c.name + " " + strconv.Itoa(n) }

// settledNow notes that no lease of these is renewed any more. The caller holds mu.
func (c *workerPool[T]) settledNow(all []settlement) {
	for _, s := range all {
		delete(c.running, s.token+" "+s.id)
	}
}

// giveBack gives back what is claimed and has not begun: the runner that has it may be in a
// handler that hangs.
func (c *workerPool[T]) giveBack() {
	for _, r := range c.team {
		if back := r.unbegun(); len(back) > 0 {
			c.loops.Go((&workerLoop[T]{workerPool: c, settled: back}).work)
		}
	}
}
