package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/source"
	"github.com/spf13/cobra"
)

// The options of a plan that means all dead jobs which match: there may be more of them
// than a plan lists, so it counts them, and means those that are dead since a moment.
const (
	OptionMatching = "matching" // "true"
	OptionError    = "error"
	OptionText     = "text"
	OptionOf       = "of"    // one queue of the entry, by the placeholders that tell it from others
	optionUntil    = "until" // Unix time in milliseconds of the last death that is meant
)

// matchingJobs holds the flags that say which jobs are meant.
type matchingJobs struct {
	all   bool
	error string
	text  string
	of    string
}

func (o *matchingJobs) Flags(c *cobra.Command, what string, dead bool) {
	f := c.Flags()
	f.BoolVar(&o.all, "all", false, "all "+what)
	f.StringVar(&o.text, "text", "", "all with this text in their id or error, in any case")
	f.StringVar(&o.of, "of", "", "of one queue of the entry only, as `keywright queues` names it after the entry")
	if dead {
		f.StringVar(&o.error, "error", "", "all with this error, with N in the place of its numbers")
	}
}

// Request returns the request for some jobs of an entry.
func (o *matchingJobs) Request(verb string, args []string) (plan.Request, error) {
	if len(args) == 0 {
		return plan.Request{}, cli.Usage("name it: keywright queues "+verb+" ENTRY --all", "queues %s takes one queue",
			verb)
	}
	many := o.all || o.error != "" || o.text != ""
	if many == (len(args) > 1) || !many && o.of != "" {
		return plan.Request{}, cli.Usage("write one of them", "name jobs by their ids, or say --all, or --error or --text")
	}
	q := plan.Request{Entries: args[:1], Options: map[string]string{"jobs": change.Packed(args[1:])}}
	for option, text := range map[string]string{OptionError: o.error, OptionText: o.text, OptionOf: o.of} {
		if text != "" {
			q.Options[option] = text
		}
	}
	if verb != "cancel" && o.error+o.text != "" {
		q.Options[OptionMatching] = "true"
	}
	return q, nil
}

// filterOf returns what a request says of the jobs that it means.
func filterOf(q *plan.Request) answer.DeadFilter {
	return answer.DeadFilter{Error: q.Options[OptionError], Text: q.Options[OptionText]}
}

// openDead opens the work of `queues retry` and `queues discard`: jobs that are named are
// listed, and those that match are counted.
func openDead(ctx context.Context, r *change.Run) (change.Work, error) {
	if r.Request.Options[OptionMatching] != "" {
		return &matching{r}, nil
	}
	return change.ByList(findDead, change.JobsAtOnce)(ctx, r)
}

// matching changes the dead jobs that match a filter.
type matching struct{ *change.Run }

// maxMatching bounds the jobs of one plan.
const maxMatching = 2_000_000

// each runs for the dead jobs that match, queue by queue, without their reasons.
func (w *matching) each(ctx context.Context, found *change.Findings, until string, run func(of string,
	q queue.Queue[string],
	jobs []queue.Dead) error) error {
	last := time.UnixMilli(1 << 62 / int64(time.Millisecond))
	if ms, err := strconv.ParseInt(until, 10, 64); err == nil {
		last = time.UnixMilli(ms)
	}
	left := maxMatching
	return eachQueueOf(ctx, w.Run, found, func(of string, q queue.Queue[string]) error {
		jobs, err := w.dead(ctx, q, last, left)
		if err != nil {
			return err
		}
		if left -= len(jobs); left <= 0 {
			found.Lacks("cut", fmt.Sprintf("%s has more dead jobs that match than the %s of one plan", of,
				terminal.Count(maxMatching)))
		}
		return run(of, q, jobs)
	})
}

// dead returns the dead jobs of a queue that match, each once.
func (w *matching) dead(ctx context.Context, q queue.Queue[string], last time.Time, most int) (jobs []queue.Dead,
	err error) {
	filter := filterOf(&w.Request)
	for offset := int64(0); len(jobs) < most; offset += pageOfJobs {
		some, err := q.Dead(ctx, offset, pageOfJobs)
		if err != nil {
			return nil, err
		}
		for i := range some {
			if d := &some[i]; !d.Since.After(last) && filter.Matches(d) && len(jobs) < most {
				jobs = append(jobs, queue.Dead{ID: d.ID, Since: d.Since})
			}
		}
		if len(some) < pageOfJobs {
			break
		}
	}
	slices.SortFunc(jobs, func(a, b queue.Dead) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID),
			b.Since.Compare(a.Since))
	})
	return slices.CompactFunc(jobs, func(a, b queue.Dead) bool { return a.ID == b.ID }), nil
}

// Plan counts the jobs. The plan means those that are dead by now.
func (w *matching) Plan(ctx context.Context, p *plan.Plan, _ *terminal.Progress) error {
	t, found, until := plan.NewTally(), &change.Findings{}, int64(0)
	err := w.each(ctx, found, w.Request.Options[optionUntil], func(of string, q queue.Queue[string],
		jobs []queue.Dead) error {
		for _, d := range jobs {
			t.Change(of, 1, []byte(q.JobOf(d.ID)), w.Request.DB)
			until = max(until, d.Since.UnixMilli())
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.Into(p)
	if p.Incomplete = found.Incomplete; p.Request.Options[optionUntil] == "" {
		p.Request.Options = maps.Clone(p.Request.Options)
		p.Request.Options[optionUntil] = strconv.FormatInt(until, 10)
	}
	return nil
}

// Do changes the jobs in batches. Those that an earlier run of the plan has changed are not
// among the dead any more.
func (w *matching) Do(ctx context.Context, p *plan.Plan, o apply.KeysOptions) (apply.KeysReport, error) {
	return apply.Walk(ctx, func(ctx context.Context, run *apply.Run) (source.Summary, error) {
		found := &change.Findings{}
		err := w.each(ctx, found, p.Request.Options[optionUntil], func(of string, q queue.Queue[string],
			jobs []queue.Dead) error {
			for some := range slices.Chunk(jobs, matchingBatch) {
				if err := w.batch(ctx, run, of, q, some); err != nil {
					return err
				}
			}
			return nil
		})
		var sum source.Summary
		for _, why := range found.Incomplete {
			sum.Incomplete = sum.Incomplete.Add(source.Reason{Code: source.Ended, What: why.What,
				Database: source.NoDatabase})
		}
		return sum, err
	}, o)
}

// matchingBatch is how many jobs are in a batch, and matchingTimeout bounds one of them.
const (
	matchingBatch   = 256
	matchingTimeout = 30 * time.Second
)

// batch changes jobs, some at a time. What has begun is waited for.
func (w *matching) batch(ctx context.Context, run *apply.Run, of string, q queue.Queue[string],
	jobs []queue.Dead) error {
	if err := run.Begin(ctx, map[string]int64{of: int64(len(jobs))}, 0); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	codes, errs := make([]plan.Code, len(jobs)), make([]error, len(jobs))
	var group sync.WaitGroup
	places := make(chan struct{}, change.JobsAtOnce)
	for i, d := range jobs {
		places <- struct{}{}
		group.Go(func() {
			codes[i], errs[i] = changeDead(ctx, w.Name, q, d)
			<-places
		})
	}
	group.Wait()
	var last error
	for i, d := range jobs {
		switch {
		case errs[i] != nil:
			if class, ok := keywright.ClassOf(errs[i]); !ok || class != keywright.NotApplied {
				run.Add(of, journal.KeyCounts{Keys: 1, Unknown: 1})
			}
			last = errs[i]
		case codes[i] != "":
			run.Leave(of, codes[i], []byte(q.JobOf(d.ID)), w.Request.DB)
		default:
			run.Add(of, journal.KeyCounts{Keys: 1, Changed: 1})
		}
	}
	return last
}

// changeDead retries or discards a job that is dead since the moment that is known of it,
// and says why it was left alone.
func changeDead(ctx context.Context, verb string, q queue.Queue[string], d queue.Dead) (plan.Code, error) {
	ctx, cancel := context.WithTimeout(ctx, matchingTimeout)
	defer cancel()
	change := q.RetryDead
	if verb == "queues discard" {
		change = q.DiscardDead
	}
	ok, err := change(ctx, d)
	class, known := keywright.ClassOf(err)
	switch {
	case errors.Is(err, queue.ErrExists):
		return plan.NameTaken, nil
	case known && (class == keywright.Refused || class == keywright.Invalid):
		return plan.Refused, nil
	case err == nil && !ok:
		return plan.Changed, nil
	}
	return "", err
}

// findWaiting finds the jobs to cancel: those that wait in a lane or for their time.
func findWaiting(ctx context.Context, r *change.Run, found *change.Findings) error {
	asked := map[string]bool{}
	for _, id := range change.Unpacked(r.Request.Options["jobs"]) {
		asked[id] = false
	}
	named, filter := len(asked) > 0, filterOf(&r.Request)
	err := eachQueueOf(ctx, r, found, func(of string, q queue.Queue[string]) error {
		return q.EachWaiting(ctx, func(id string) bool {
			if _, meant := asked[id]; named && !meant || !named && !filter.In(id) {
				return true
			}
			if found.Full() {
				found.Lacks("cut", fmt.Sprintf("%s has more jobs than the %s of one plan", of,
					terminal.Count(plan.MaxChanges)))
				return false
			}
			if named {
				asked[id] = true
			}
			found.Add(plan.Change{Verb: "cancel", Entry: of, Key: finding.JSONKey(q.JobOf(id)), DB: r.Request.DB,
				Before: "waits", After: "removed"}, func(ctx context.Context, _ *plan.Change) (plan.Code, error) {
				ok, err := q.Cancel(ctx, id)
				if err == nil && !ok {
					return plan.Changed, nil
				}
				return "", err
			})
			return true
		})
	})
	for id, waits := range asked {
		if !waits && err == nil {
			found.Leave(r.Request.Entries[0], plan.NotWaiting, []byte(id), r.Request.DB)
		}
	}
	return err
}
