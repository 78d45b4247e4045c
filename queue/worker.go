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
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gather"
)

// WorkerOptions of a worker. The zero value is a good choice.
type WorkerOptions struct {
	// Concurrency is how many jobs run at once in this process; 0: 10.
	Concurrency int
	// Batch is how many jobs are claimed in one call and run one after the other;
	// 0: 1. More is faster for short jobs; a long one holds up those behind it.
	Batch int
	// Name shows in Stats; "": host and process id.
	Name string
	// Grace is how long jobs may go on when the worker is to stop, before their
	// contexts end; 0: 30 s. What is not done then goes back to its lane.
	Grace time.Duration
	// AllowEviction works on a server that may throw keys away when its memory is
	// full (maxmemory-policy other than noeviction), and jobs with them.
	AllowEviction bool
	// OnError hears of failed calls, of jobs that were lost, and of panics; nil:
	// nobody does. The worker goes on.
	OnError func(error)
}

// Handler runs one job. nil ends it, an error brings it back after a while: see
// Discard and RetryIn. A panic counts as an error. It must return soon when ctx
// ends: context.Cause says why (ErrLost, ErrCancelled, ErrShutdown).
type Handler[T any] func(ctx context.Context, job *Job[T]) error

// Worker runs jobs.
type Worker[T any] struct {
	queue  Queue[T]
	handle Handler[T]
	o      WorkerOptions
}

// Worker makes a worker; Run starts it.
func (q Queue[T]) Worker(handle Handler[T], o WorkerOptions) *Worker[T] {
	return &Worker[T]{q, handle, o}
}

// Run works until ctx ends, and returns when the last job has. It gives back
// what it could not finish. An idle one sends about one command a second and is
// woken by a message.
func (w *Worker[T]) Run(ctx context.Context) error {
	if w.queue.err != nil {
		return w.queue.err
	}
	if w.o.Concurrency < 0 || w.o.Batch < 0 || w.o.Batch > maxBatch || w.o.Grace < 0 {
		return w.queue.invalid(errors.New("an option is negative, or Batch is above 1000"), "")
	}
	if err := w.durable(ctx); err != nil {
		return err
	}
	c := newCrew(w, ctx)
	defer c.free(nil)
	stop, err := w.queue.client.Subscribe(ctx, w.queue.keys.Channel, keywright.Listener{Message: c.hear, Gap: c.due})
	if err != nil {
		return err
	}
	defer stop()
	var keeper sync.WaitGroup
	over := make(chan struct{})
	keeper.Go(func() { c.keep(over) })
	defer keeper.Wait()
	defer close(over)
	for range cmp.Or(w.o.Concurrency, 10) {
		c.runners.Go(c.runner)
	}
	<-ctx.Done()
	grace := time.AfterFunc(cmp.Or(w.o.Grace, 30*time.Second), func() { c.free(ErrShutdown) })
	defer grace.Stop()
	c.runners.Wait()
	c.leave()
	return nil
}

// durable refuses a server that may throw jobs away.
func (w *Worker[T]) durable(ctx context.Context) error {
	if w.o.AllowEviction {
		return nil
	}
	for _, node := range w.queue.client.Raw().Nodes() {
		info, err := node.Do(ctx, node.B().Info().Section("memory").Build()).ToString()
		if err != nil {
			continue // a user that may not ask; `keywright doctor` can
		}
		_, rest, _ := strings.Cut(info, "maxmemory_policy:")
		policy, _, _ := strings.Cut(rest, "\r\n")
		if policy != "" && policy != "noeviction" && !strings.Contains(info, "maxmemory:0\r\n") {
			return w.queue.invalid(fmt.Errorf("the server has maxmemory-policy %s and may throw jobs away", policy), "CONFIG SET maxmemory-policy noeviction, or WorkerOptions.AllowEviction")
		}
	}
	return nil
}

// crew is one Run: its runners and the one who keeps them.
type crew[T any] struct {
	w       *Worker[T]
	q       Queue[T]
	name    string
	ctx     context.Context // ends when nothing new is to begin
	jobs    context.Context // of the jobs
	free    context.CancelCauseFunc
	runners sync.WaitGroup
	wake    chan struct{} // a reason to ask the server, for one runner
	calls   *gather.Gather[wish, answer]

	mu       sync.Mutex
	seq      int64
	idle     int
	running  map[string]*Job[T] // by token and id, until they are settled
	nextTidy time.Time
	dueAt    time.Time // zero: unknown
}

func newCrew[T any](w *Worker[T], ctx context.Context) *crew[T] {
	c := &crew[T]{w: w, q: w.queue, ctx: ctx, name: word(cmp.Or(w.o.Name, hostAndProcess())) + "/" + rand.Text()[:8], running: map[string]*Job[T]{}}
	c.jobs, c.free = context.WithCancelCause(context.WithoutCancel(ctx))
	c.wake = make(chan struct{}, cmp.Or(w.o.Concurrency, 10))
	c.calls = gather.New(max(1, min(64, maxBatch/cmp.Or(w.o.Batch, 1))), c.together)
	return c
}

// word is a name as one word.
func word(name string) string { return strings.Join(strings.Fields(name), "_") }

// pad makes a token longer than hash-max-listpack-value, whose default is 64: so
// the hash of what runs is a table, and no listpack that is searched from its
// front.
func pad(token string) string { return token + strings.Repeat(padding, max(1, 65-len(token))) }

const padding = "."

// wish is what one runner asks of the server.
type wish struct {
	wanted  int
	settled []settlement
}

type answer struct {
	fetched
	err error
}

// together makes one call of what several runners ask while others are under
// way: the server's time goes into calls more than into jobs.
func (c *crew[T]) together(_ context.Context, wishes []wish) []answer {
	wanted, settled := 0, wishes[0].settled
	for i, w := range wishes {
		wanted += w.wanted
		if i > 0 {
			settled = append(settled[:len(settled):len(settled)], w.settled...)
		}
	}
	f, err := c.claim(wanted, settled)
	out := make([]answer, len(wishes))
	for i, w := range wishes {
		n := min(w.wanted, len(f.jobs))
		out[i] = answer{fetched{jobs: f.jobs[:n:n]}, err}
		f.jobs = f.jobs[n:]
	}
	return out
}

// ask asks the server, with what others ask.
func (c *crew[T]) ask(wanted int, settled []settlement) (fetched, error) {
	a, _ := c.calls.Lead(context.Background(), wish{wanted, settled})
	return a.fetched, a.err
}

func hostAndProcess() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
}

// hear is called by the reader of the subscription.
func (c *crew[T]) hear(text string) {
	switch word, id, _ := strings.Cut(text, " "); word {
	case "due":
		c.due()
	case "cancel":
		c.end(func(j *Job[T]) bool { return j.ID == id }, ErrCancelled)
	default:
		c.call()
	}
}

// call wakes one runner, if one sleeps.
func (c *crew[T]) call() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// due wakes one runner and lets it bring back what is due.
func (c *crew[T]) due() {
	c.mu.Lock()
	c.nextTidy = time.Time{}
	c.mu.Unlock()
	c.call()
}

// end ends the contexts of some jobs.
func (c *crew[T]) end(which func(*Job[T]) bool, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.running {
		if which(j) {
			j.stop(cause)
		}
	}
}

// runner claims jobs and runs them, one after the other.
func (c *crew[T]) runner() {
	var settled []settlement
	failures := 0
	for {
		wanted := cmp.Or(c.w.o.Batch, 1)
		if c.ctx.Err() != nil {
			wanted = 0
		}
		if wanted == 0 && len(settled) == 0 {
			return
		}
		f, err := c.ask(wanted, settled)
		if err != nil {
			failures++
			c.tell(err)
			if wanted == 0 && failures > 3 {
				return // the leases run out, and others take the jobs
			}
			c.rest(failures)
			continue
		}
		failures, settled = 0, settled[:0]
		if len(f.jobs) == wanted && wanted > 0 {
			c.call() // there may be more
		}
		if len(f.jobs) == 0 && wanted > 0 {
			c.park()
		}
		settled = c.work(f.jobs, settled)
	}
}

// claim is one call to the server. It goes on when the worker is to stop: what
// it claims would otherwise lie until its lease is over.
func (c *crew[T]) claim(wanted int, settled []settlement) (fetched, error) {
	c.mu.Lock()
	c.seq++
	token := pad(c.name + "/" + strconv.FormatInt(c.seq, 36))
	now := time.Now()
	tidy := !now.Before(c.nextTidy) && wanted > 0
	if tidy {
		c.nextTidy = now.Add(100 * time.Millisecond)
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.q.lease())
	defer cancel()
	f, err := c.q.claim(ctx, token, wanted, tidy, settled)
	if err != nil {
		return f, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range settled {
		delete(c.running, s.token+" "+s.id)
	}
	if f.due >= 0 {
		c.dueAt = now.Add(f.due)
	}
	for _, id := range f.lost {
		defer c.tell(fmt.Errorf("job %s: %w", id, ErrLost))
	}
	return f, nil
}

// park waits for a reason to ask the server.
func (c *crew[T]) park() {
	c.mu.Lock()
	c.idle++
	c.mu.Unlock()
	select {
	case <-c.wake:
	case <-c.ctx.Done():
	}
	c.mu.Lock()
	c.idle--
	c.mu.Unlock()
}

// rest waits behind a failure, longer each time.
func (c *crew[T]) rest(failures int) {
	timer := time.NewTimer(min(50*time.Millisecond<<min(failures, 5), time.Second))
	defer timer.Stop()
	<-timer.C
}

// settleAfter is how long what is done may wait for what is not, within a batch.
const settleAfter = 50 * time.Millisecond

// work runs claimed jobs and says what has become of them.
func (c *crew[T]) work(all []claimed, settled []settlement) []settlement {
	jobs := make([]*Job[T], len(all))
	for i, one := range all {
		jobs[i] = c.begin(one)
	}
	began := time.Now()
	for i, j := range jobs {
		if c.ctx.Err() != nil && i > 0 {
			settled = append(settled, j.settle("back", "", 0))
			continue
		}
		if s := c.run(j); s.verb != "" {
			settled = append(settled, s)
		}
		if len(jobs) > 1 && time.Since(began) > settleAfter {
			if _, err := c.ask(0, settled); err == nil {
				settled = settled[:0]
			}
			began = time.Now()
		}
	}
	return settled
}

// run runs one job. What it gives has no verb if the lease was lost: the job is
// somebody else's by now, or comes back when the server ends the lease.
func (c *crew[T]) run(j *Job[T]) settlement {
	if j.alien {
		j.stop(context.Canceled)
		return j.settle("dead", "it was not written by an enqueue: its first line says nothing", 0)
	}
	payload, err := c.q.sealed(j.ID).Parse(j.raw)
	if _, closed := errors.AsType[*keywright.DecodeError](err); closed { // another process may have the key, or this one soon
		j.stop(context.Canceled)
		return j.settle("retry", "the payload does not open", c.q.backoff(j.Attempt).Milliseconds())
	}
	if err != nil {
		j.stop(context.Canceled)
		return j.settle("dead", "the payload does not decode", 0)
	}
	j.Payload = payload
	if j.ctx.Err() != nil { // it has waited for too long behind others of its batch
		return j.unbegun()
	}
	err = c.guarded(j)
	cause := context.Cause(j.ctx)
	j.stop(context.Canceled)
	var wait *retryIn
	var discard *discarded
	switch {
	case errors.Is(cause, ErrCancelled):
		return j.settle("done", "", 0)
	case err == nil:
		return j.settle("done", j.result, cmp.Or(c.q.o.ResultTTL, 24*time.Hour).Milliseconds())
	case errors.Is(cause, ErrShutdown):
		return j.settle("back", "", 0)
	case errors.As(err, &discard):
		return j.settle("dead", reason(err), 0)
	case errors.As(err, &wait):
		return j.settle("retry", reason(err), max(wait.after.Milliseconds(), 0))
	case errors.Is(cause, ErrLost): // the failure of nobody
		c.forget(j)
		return settlement{}
	}
	return j.settle("retry", reason(err), c.q.backoff(j.Attempt).Milliseconds())
}

// forget is of a job that no call to the server is to name any more.
func (c *crew[T]) forget(j *Job[T]) {
	c.mu.Lock()
	delete(c.running, j.token+" "+j.ID)
	c.mu.Unlock()
	c.tell(fmt.Errorf("job %s: %w", j.ID, ErrLost))
}

// guarded runs the handler; a panic is an error.
func (c *crew[T]) guarded(j *Job[T]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			c.tell(fmt.Errorf("job %s: %w", j.ID, err))
		}
	}()
	return c.w.handle(j.ctx, j)
}

func (c *crew[T]) tell(err error) {
	if c.w.o.OnError != nil {
		c.w.o.OnError(err)
	}
}
