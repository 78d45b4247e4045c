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
	"github.com/keywright/keywright/kernel/notice"
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

// giveBack gives back what is claimed and has not begun: the runner that has it may be in a
// handler that hangs.
func (c *workerPool[T]) giveBack() {
	for _, r := range c.team {
		if back := r.unbegun(); len(back) > 0 {
			c.loops.Go((&workerLoop[T]{workerPool: c, settled: back}).work)
		}
	}
}

// lost tells that a job is not this worker's any more.
func (c *workerPool[T]) lost(id string) {
	c.notice(keywright.Notice{Kind: notice.JobLost, Err: ErrLost})
	if c.w.o.OnError != nil { // else the notice tells the logger
		c.tell(fmt.Errorf("job %s: %w", id, ErrLost))
	}
}

func (c *workerPool[T]) notice(n keywright.Notice) {
	n.Entry = c.q.entry.Name
	c.harmless(func() { c.q.client.Notice(context.WithoutCancel(c.ctx), n) })
}

func (c *workerPool[T]) tell(err error) {
	if c.w.o.OnError != nil && err != nil {
		c.harmless(func() { c.w.o.OnError(err) })
	} else {
		c.q.client.Unheard("run", c.q.entry, err)
	}
}

// tellAside is tell for what other runners wait for: OnError may take its time. While it
// does, further errors of this kind are passed over.
func (c *workerPool[T]) tellAside(err error) {
	select {
	case c.aside <- struct{}{}:
		c.loops.Go(func() { defer func() { <-c.aside }(); c.tell(err) })
	default:
	}
}

func (c *workerPool[T]) tellOfDead(d Dead) {
	if c.w.o.OnDead != nil {
		c.harmless(func() { c.w.o.OnDead(d) })
	}
}

// harmless calls what a user has given: it may panic.
func (c *workerPool[T]) harmless(f func()) {
	defer func() { _ = recover() }()
	f()
}
