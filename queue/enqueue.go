package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/coalesce"
	"github.com/keywright/keywright/queue/internal/send"
	"github.com/keywright/keywright/queue/internal/stored"
	"github.com/keywright/keywright/value"
)

// Task represents a job to be put into a queue.
type Task[T any] struct {
	// Payload is what the handler gets.
	Payload T
	// ID names the job; "" gives it a random one. With an ID, a second job of
	// that name is refused while the first one is in the queue or dead.
	ID string
	// Lane is its priority; "" is the default one, which is the first one unless the
	// declaration says otherwise.
	Lane string
	// In delays it; 0: not. One of In and At at most.
	In time.Duration
	// At delays it until a time of the server's clock; zero: not.
	At time.Time
	// Unique is a name that only one job may have: until it is done or dead, and
	// at most a week; or for UniqueFor from now, done or not (a window of
	// deduplication).
	Unique string
	// UniqueFor is how long Unique holds, done or not; 0: until the job is done or dead.
	UniqueFor time.Duration
	// Retry is the attempts of this job; 0: the queue's.
	Retry int
	// Timeout is how long this job may run in one go; 0: as long as the queue says. A worker of an older version ignores
	// it.
	Timeout time.Duration
}

// Enqueue puts a job into the queue and gives its id. ErrExists if one with its
// id or unique name is there; the id is that one's then. It may be repeated: a
// lost reply puts no second job there, unless the first one is done meanwhile. When
// ctx ends before the job was sent, the error is NotApplied and it never will be.
// One round trip.
func (q Queue[T]) Enqueue(ctx context.Context, task Task[T]) (id string, err error) {
	if q.err != nil {
		return "", q.err
	}
	form := q.form(&task)
	p := form.piece()
	if id, p.Keys, p.Args, err = q.write(form, &task, p.Keys, p.Args); err != nil {
		return "", err
	}
	put, err := q.sender(form).Lead(ctx, p)
	switch {
	case err != nil:
		return "", q.left(err)
	case put.Err != nil:
		return "", own(put.Err)
	case put.Said != "":
		return q.instead(put.Said)
	}
	return id, nil
}

// left returns the error of a caller that has left a call it shares. What was not sent
// never will be; the rest goes on without its caller.
func (q Queue[T]) left(err error) error {
	e := &keywright.Error{Class: keywright.UnknownOutcome, Op: "enqueue", Entry: q.entry.Name, Err: err, Hint: mayBeThere}
	if _, never := errors.AsType[*coalesce.NotAsked](err); never {
		e.Class, e.Hint = keywright.NotApplied, ""
	}
	return e
}

// instead returns what the script says about a job that it has not put there: "=" and
// the id of the one that is there, or what is wrong with one of its keys.
func (q Queue[T]) instead(said string) (id string, err error) {
	if other, there := strings.CutPrefix(said, "="); there {
		return other, q.exists()
	}
	return "", q.faulty("enqueue", said)
}

const mayBeThere = "it may be there: give jobs an ID, and enqueue again"

// own returns the error of all whose jobs went along as that of one of them.
func own(err error) error {
	if e, ok := errors.AsType[*keywright.Error](err); ok && e.Class == keywright.UnknownOutcome {
		told := *e
		told.Hint = mayBeThere
		return &told
	}
	return err
}

func (q Queue[T]) exists() error {
	return &keywright.Error{Class: keywright.NotApplied, Op: "enqueue", Entry: q.entry.Name, Err: ErrExists}
}

// EnqueueAll puts many jobs into the queue, a thousand in a round trip, or 100 with
// more than a payload, each of these in one step. ids are those of the jobs, also of those that were there
// before (then the error is ErrExists); one is empty if a key of that job has a
// wrong type, which the error names: the others are there. ids is shorter than
// tasks when a later round trip failed. Of each queue a client has sixteen such
// calls under way at a time; the next ones wait their turn.
func (q Queue[T]) EnqueueAll(ctx context.Context, tasks []Task[T]) (ids []string, err error) {
	for len(tasks) > 0 {
		n := min(len(tasks), maxBatch)
		if q.formOf(tasks[:n]) == full {
			n = min(n, maxFull)
		}
		some, failed := q.enqueue(ctx, tasks[:n])
		if failed != nil && (err == nil || errors.Is(err, ErrExists)) {
			err = failed
		}
		if ids, tasks = append(ids, some...), tasks[n:]; len(some) < n {
			break
		}
	}
	return ids, err
}

func (q Queue[T]) enqueue(ctx context.Context, tasks []Task[T]) ([]string, error) {
	if q.err != nil {
		return nil, q.err
	}
	form := q.formOf(tasks)
	keys, args := q.header(form, len(tasks))
	ids := make([]string, len(tasks))
	for i := range tasks {
		var err error
		if ids[i], keys, args, err = q.write(form, &tasks[i], keys, args); err != nil {
			return nil, err
		}
	}
	leave := send.Enter(ctx, q.client, q.keys.Lanes[0].Key)
	others, err := q.run(ctx, "enqueue", form.script(), keywright.Idempotent, keys, args)
	leave()
	if err != nil {
		return nil, err
	}
	for i, m := range others {
		if said, _ := m.ToString(); said != "" {
			id, failed := q.instead(said)
			if ids[i] = id; err == nil || errors.Is(err, ErrExists) {
				err = failed
			}
		}
	}
	return ids, err
}

// form describes how jobs travel: by the script that can do everything, or by a lean one.
type form int

const (
	plain form = iota // an own id, the first lane, and nothing else
	full
)

func (f form) script() *keywright.Script {
	if f == plain {
		return standard.plain
	}
	return standard.enqueue
}

func (q Queue[T]) form(t *Task[T]) form {
	if t.ID == "" && (t.Lane == "" || t.Lane == q.keys.plain().Name) && t.In == 0 && t.At.IsZero() && t.Unique == "" &&
		t.UniqueFor == 0 && t.Retry == 0 && t.Timeout == 0 {
		return plain
	}
	return full
}

// formOf returns the form in which all of these can travel.
func (q Queue[T]) formOf(tasks []Task[T]) (f form) {
	for i := range tasks {
		f = max(f, q.form(&tasks[i]))
	}
	return f
}

// header returns what the script needs before the jobs.
func (q Queue[T]) header(f form, jobs int) (keys, args []string) {
	k := q.keys
	if f == plain {
		return append(make([]string, 0, 2+jobs), k.plain().Key, k.State), parts.Args("plain", jobs, "ttl", q.ttl(),
			"channel", k.Channel, "from", strconv.Itoa(len(k.Job.Before)+1), "to", strconv.Itoa(-len(k.Job.After)-1),
			"lane_name", cmp.Or(k.plain().Name, stored.NoName), "database", q.database())
	}
	keys = make([]string, 0, 5+len(k.Lanes)+2*jobs)
	keys = append(append(keys, k.Delayed, k.Runs, k.Leases, k.Dead, k.State), q.laneKeys()...)
	return keys, parts.Args("enqueue", 7*jobs, "lanes", strconv.Itoa(len(k.Lanes)), "ttl", q.ttl(),
		"channel", k.Channel, "database", q.database(), "before", k.Job.Before, "after", k.Job.After,
		"result_before", k.Result.Before, "result_after", k.Result.After, "lane_names", q.laneNames(),
		"clustered", q.clustered())
}

// write appends what the script needs of one job.
func (q Queue[T]) write(f form, t *Task[T], keys, args []string) (id string, _, _ []string, err error) {
	id, request := t.ID, ""
	if id == "" {
		id = rand.Text()
	} else {
		request = rand.Text()
	}
	if t.Timeout > 0 {
		request = cmp.Or(request, rand.Text()) + stored.LimitOf + milliseconds(t.Timeout)
	}
	if err := q.legal(id); err != nil {
		return "", nil, nil, q.invalid(fmt.Errorf("the id: %w", err), "give the job an ID as declared")
	}
	payload, err := q.payload(id, t)
	if err != nil {
		return "", nil, nil, err
	}
	if f == plain {
		return id, append(keys, q.keys.Job.Of(id)), append(args, payload), nil
	}
	lane, when, err := q.place(t)
	if err != nil {
		return "", nil, nil, q.invalid(err, "")
	}
	name, window := q.keys.Job.Of(id), ""
	job := name
	if t.Unique != "" {
		name, window = q.keys.Unique.Of(t.Unique), strconv.FormatInt(max(t.UniqueFor, 0).Milliseconds(), 10)
	}
	return id, append(keys, job, name), append(args, id, strconv.Itoa(lane), payload, when, window,
		strconv.Itoa(t.Retry), request), nil
}

// payload returns what a job carries as it is stored.
func (q Queue[T]) payload(id string, t *Task[T]) (string, error) {
	payload, err := q.sealed(id).Encode(t.Payload)
	if err != nil {
		return "", q.invalid(err, "")
	}
	if limit := cmp.Or(q.o.MaxPayload, maxPayload); len(payload) > limit {
		return "", q.invalid(fmt.Errorf("a payload of %d bytes; the limit is %d", len(payload), limit),
			"store it elsewhere and queue its name")
	}
	return payload, nil
}

// sealed returns the codec of a job's payload; one that seals is bound to the job's
// key and its field payload.
func (q Queue[T]) sealed(id string) *value.Codec[T] {
	if !q.codec.Sealed() {
		return q.codec
	}
	key := q.keys.Job.Of(id)
	return q.codec.Bind("payload",
		func(field, text string) (string, error) { return q.client.Seal(q.entry, key, field, text) },
		func(field, text string) (string, error) { return q.client.Unseal(q.entry, key, field, text) })
}

// legal reports whether an id may be part of a key.
func (q Queue[T]) legal(id string) error {
	if strings.TrimSpace(id) == "" {
		return errors.New("must not be empty")
	}
	if q.keys.ID != nil {
		return q.keys.ID(id)
	}
	if strings.ContainsAny(id, "{}:") {
		return errors.New("must not hold braces or colons")
	}
	return nil
}

// place returns the number of the lane, from 1, and when the job is due.
func (q Queue[T]) place(t *Task[T]) (lane int, when string, err error) {
	name := cmp.Or(t.Lane, q.keys.plain().Name)
	for i, l := range q.keys.Lanes {
		if l.Name == name {
			lane = i + 1
			break
		}
	}
	switch {
	case lane == 0:
		return 0, "", fmt.Errorf("there is no lane %q", t.Lane)
	case t.In != 0 && !t.At.IsZero():
		return 0, "", errors.New("two times are given, In and At")
	case t.In < 0 || t.UniqueFor < 0 || t.Retry < 0 || t.Timeout < 0:
		return 0, "", errors.New("one of In, UniqueFor, Retry and Timeout is negative")
	case t.In > 0:
		return lane, "+" + strconv.FormatInt(max(t.In.Milliseconds(), 1), 10), nil
	case !t.At.IsZero() && t.At.Unix() < 0:
		return lane, "0", nil
	case !t.At.IsZero():
		at, err := moment.Append(nil, t.At)
		if err != nil {
			return 0, "", fmt.Errorf("the time At %w", err)
		}
		return lane, string(at), nil
	}
	return lane, "", nil
}

// moment is how the time of a job is sent.
var moment = value.UnixMS()

func (q Queue[T]) ttl() string {
	if q.entry.TTL.Policy == keywright.Expires {
		return strconv.FormatInt(q.entry.TTL.Default.Milliseconds(), 10)
	}
	return "0"
}

// byForm holds the senders that a Queue has used.
type byForm [full + 1]atomic.Pointer[send.Sender]

// piece returns one with room for a job.
func (f form) piece() send.Piece {
	keys, args := 2, 7
	if f == plain {
		keys, args = 1, 1
	}
	all := make([]string, keys+args)
	return send.Piece{Keys: all[:0:keys], Args: all[keys:keys:len(all)]}
}

// sender returns where jobs of a form get on. A Queue asks for it once.
func (q Queue[T]) sender(f form) *send.Sender {
	g := q.senders[f].Load()
	if g == nil {
		g = q.findSender(f)
		q.senders[f].Store(g)
	}
	return g
}

func (q Queue[T]) findSender(f form) *send.Sender {
	k := q.keys
	name := send.Line{Form: int(f), Entry: q.entry.Name, TTL: q.ttl(), Lanes: strings.Join(q.laneKeys(), "\n"),
		Plain: k.plain().Key, JobBefore: k.Job.Before, JobAfter: k.Job.After, Leases: k.Leases, Delayed: k.Delayed,
		Dead: k.Dead, Runs: k.Runs, State: k.State, Channel: k.Channel}
	return send.To(q.client, name, func(ctx context.Context, p []send.Piece) []send.Put { return q.putAll(ctx, f, p) })
}

// putAll returns one call for the jobs of several callers.
func (q Queue[T]) putAll(ctx context.Context, f form, pieces []send.Piece) []send.Put {
	keys, args := q.header(f, len(pieces))
	for _, p := range pieces {
		keys, args = append(keys, p.Keys...), append(args, p.Args...)
	}
	out := make([]send.Put, len(pieces))
	others, err := q.run(ctx, "enqueue", f.script(), keywright.Idempotent, keys, args)
	for i := range out {
		if err != nil || i >= len(others) {
			out[i].Err = err
		} else {
			out[i].Said, _ = others[i].ToString()
		}
	}
	return out
}
