package githubbroker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/githubbroker/brokerkeys"
	"github.com/keywright/keywright/lock"
)

// Kind describes what an agent is to do.
type Kind = brokerkeys.Kind

// The kinds, in the order in which they are handed out.
const (
	FixTask     = brokerkeys.KindFix
	ReviewTask  = brokerkeys.KindReview
	Development = brokerkeys.KindDevelopment
)

// Wait says how long a request over HTTP waits for Redis. An agent that has no answer asks again, perhaps another
// broker.
const Wait = 10 * time.Second

// finish is for giving back a lock: it is done also for a caller that has gone, or has waited for too long.
func finish(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), time.Second)
}

// Options of a broker. What is left zero is as the page says, or as declared.
type Options struct {
	ReviewDelay time.Duration // between the label and the review; 0: 5 min
	Lease       time.Duration // of work, without a sign of its agent; 0: 10 min, as declared
	Wait        time.Duration // for Redis, of one request over HTTP; 0: 10 s
	Rest        time.Duration // until an agent is offered again what it gave back; doubled each time; 0: 10 min
	Now         func() time.Time
}

// Broker hands out work. It keeps nothing in memory: any broker may be asked at any time.
type Broker struct {
	keys *brokerkeys.Keyspace
	o    Options
}

// Task is work that an agent has, until it is done or given back, or until its time is over.
type Task struct {
	Kind   Kind   `json:"kind"`
	Number int64  `json:"number"` // of the issue, or of the pull request of a fix
	Agent  string `json:"agent"`
	// Ticket is what the agent shows when it keeps, ends or gives back the work.
	Ticket string `json:"ticket"`
	// Fence is greater than that of every agent that had this work before: it goes with
	// what the agent writes, and what it writes to refuses a smaller one.
	Fence   int64           `json:"fence"`
	Seconds float64         `json:"seconds"`         // the agent has it for so long from now, and longer if it keeps it
	Issue   json.RawMessage `json:"issue,omitempty"` // as GitHub sent it
	Fix     *Fix            `json:"fix,omitempty"`
}

// ErrTicket reports a ticket that no broker has given.
var ErrTicket = errors.New("this is no ticket")

// New makes a broker.
func New(c *keywright.Client, o Options) *Broker {
	o.ReviewDelay, o.Lease = cmp.Or(o.ReviewDelay, 5*time.Minute), cmp.Or(o.Lease, 10*time.Minute)
	o.Rest, o.Wait = cmp.Or(o.Rest, 10*time.Minute), cmp.Or(o.Wait, Wait)
	if o.Now == nil {
		o.Now = time.Now
	}
	// The agent renews it, through whichever broker it asks.
	locks := lock.Options{Lease: o.Lease, NoRenewal: true}
	return &Broker{brokerkeys.NewTuned(c, brokerkeys.Tuning{IssueLock: locks}), o}
}

// RequestTask gives an agent work: fixes first, then reviews whose delay is over, then
// development; of each the lowest number first. nil when there is none. The lock of the work
// is taken under the agent's name; when another agent has it the next is tried.
//
// An agent that asks has no work: what it had before, when it was killed, or never received,
// is given back first. So two agents with one name would take each other's work away.
func (b *Broker) RequestTask(ctx context.Context, agent string) (*Task, error) {
	if err := b.forget(ctx, agent); err != nil {
		return nil, err
	}
	fixes, err1 := b.keys.OpenFixes().Members().Do(ctx)
	reviews, err2 := b.keys.ReviewIssues().Members().Do(ctx)
	issues, err3 := b.keys.OpenIssues().Members().Do(ctx)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	waiting := map[int64]bool{}
	for _, n := range reviews {
		waiting[n] = true
	}
	issues = slices.DeleteFunc(issues, func(n int64) bool { return waiting[n] })
	t, err := b.of(ctx, agent, fixes, reviews, issues)
	if t == nil && err == nil {
		_, err = b.keys.AgentCurrentTask(agent).Delete().Do(ctx) // what was tried last
	}
	return t, err
}

// of gives the first of some fixes, reviews and issues that an agent can have.
func (b *Broker) of(ctx context.Context, agent string, fixes, reviews, issues []int64) (*Task, error) {
	for _, of := range []struct {
		kind    Kind
		numbers []int64
	}{{FixTask, fixes}, {ReviewTask, reviews}, {Development, issues}} {
		slices.Sort(of.numbers)
		for part := range slices.Chunk(of.numbers, 32) {
			if t, err := b.first(ctx, agent, of.kind, part); t != nil || err != nil {
				return t, err
			}
		}
	}
	return nil, nil
}

// first gives the first of some issues that the agent can have.
func (b *Broker) first(ctx context.Context, agent string, kind Kind, numbers []int64) (*Task, error) {
	candidates, err := b.candidates(ctx, agent, kind, numbers)
	if err != nil {
		return nil, err
	}
	for _, n := range candidates {
		if t, err := b.assign(ctx, agent, kind, n); t != nil || err != nil {
			return t, err
		}
	}
	return nil, nil
}

// assign takes the lock of an issue for an agent, and reads under the lock what there is to
// do: another agent may have done it a moment ago. It is noted first, so that forget finds the
// lock if this broker is killed, or the answer is lost, before the agent receives it.
func (b *Broker) assign(ctx context.Context, agent string, kind Kind, number int64) (*Task, error) {
	if err := b.keys.AgentCurrentTask(agent).Set(number, keywright.ExpiresIn(b.o.Lease)).Do(ctx); err != nil {
		return nil, err
	}
	lease, err := b.keys.IssueLock(number).As(agent).Try(ctx)
	if errors.Is(err, lock.ErrHeld) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := b.prepare(lease.Context(), agent, kind, number)
	if t == nil || err != nil {
		ctx, stop := finish(ctx)
		defer stop()
		return nil, errors.Join(err, lease.Release(ctx))
	}
	t.Fence, t.Seconds = lease.Fence(), time.Until(lease.Deadline()).Seconds()
	token, err := lease.Detach()
	t.Ticket = assignment{kind, number, newest(t), token}.String()
	return t, err
}

// prepare gives the work of an issue, nil if there is none any more.
func (b *Broker) prepare(ctx context.Context, agent string, kind Kind, number int64) (*Task, error) {
	t := &Task{Kind: kind, Number: number, Agent: agent}
	done, err := b.keys.TaskDone(number).Get().Do(ctx)
	if err != nil && !errors.Is(err, keywright.ErrNotFound) {
		return nil, err
	}
	if kind == FixTask {
		v, err := b.keys.FixTask(number).Get().Do(ctx)
		if errors.Is(err, keywright.ErrNotFound) {
			return nil, nil // its day is over, or it was closed in this moment
		}
		if err != nil {
			return nil, err
		}
		t.Fix, err = unseen(v, done.Comment)
		if t.Fix == nil {
			return nil, err
		}
		return t, nil
	}
	raw, err := b.keys.Issue(number).Get().Do(ctx)
	if errors.Is(err, keywright.ErrNotFound) {
		return nil, nil // closed in this moment
	}
	if err != nil {
		return nil, err
	}
	issue, err := parseIssue(raw)
	if err != nil || issue.Kind() != kind || doneWith(done, issue) {
		return nil, err
	}
	t.Issue = raw
	return t, nil
}

// unseen returns what is left of a fix task, nil if its comments were seen to since it was made.
func unseen(v brokerkeys.FixTaskValue, seen int64) (*Fix, error) {
	fix := Fix{PullRequest: v.PullRequest, Newest: v.Newest, More: v.More}
	if err := json.Unmarshal(v.Comments, &fix.Comments); err != nil {
		return nil, err
	}
	fix.Comments = slices.DeleteFunc(fix.Comments, func(c Comment) bool { return c.ID <= seen })
	if len(fix.Comments) == 0 {
		return nil, nil
	}
	return &fix, nil
}

// doneWith reports whether this work was done, and GitHub has nothing new since.
func doneWith(done brokerkeys.TaskDoneValue, issue Issue) bool {
	return done.Kind == issue.Kind() && !issue.Updated.After(done.At)
}

func newest(t *Task) int64 {
	if t.Fix == nil {
		return 0
	}
	return t.Fix.Newest
}

// assignment says whose work it is: the lock with its token, and what was handed out.
type assignment struct {
	kind    Kind
	number  int64
	comment int64 // the last one of a fix
	token   string
}

func (t assignment) String() string {
	return fmt.Sprintf("%s:%d:%d:%s", t.kind, t.number, t.comment, t.token)
}

func parseTicket(text string) (t assignment, err error) {
	parts := strings.SplitN(text, ":", 4)
	if len(parts) < 4 || !slices.Contains([]Kind{FixTask, ReviewTask, Development}, Kind(parts[0])) {
		return t, ErrTicket
	}
	var err1, err2 error
	t.kind, t.token = Kind(parts[0]), parts[3]
	t.number, err1 = strconv.ParseInt(parts[1], 10, 64)
	t.comment, err2 = strconv.ParseInt(parts[2], 10, 64)
	if err1 != nil || err2 != nil || t.number < 1 || t.comment < 0 || t.token == "" {
		return t, ErrTicket
	}
	return t, nil
}
