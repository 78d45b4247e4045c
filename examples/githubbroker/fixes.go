package githubbroker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/keywright/keywright/examples/githubbroker/brokerkeys"
)

// Fix represents a task made from the review comments of a pull request: those that no agent has
// seen to, oldest first.
type Fix struct {
	PullRequest int64     `json:"pull_request"`
	Comments    []Comment `json:"comments"`
	More        int64     `json:"more"`   // so many are for the task after this one
	Newest      int64     `json:"newest"` // id of the last of Comments
}

// mostComments are those of one task, and mostText the bytes of all their texts: an agent
// gets them at once.
const (
	mostComments = 100
	mostText     = 256 << 10
)

// fixes makes a task of the comments of each open pull request. A task is what GitHub has
// and no agent has seen to, written again with each sync: one that is lost, or runs out
// after its day, comes back with the next sync, and one that was half written is whole.
func (p *Poller) fixes(ctx context.Context, pulls []Issue) error {
	slices.SortFunc(pulls, func(a, b Issue) int { return cmp.Compare(a.Number, b.Number) })
	open := map[int64]bool{}
	for _, pull := range pulls {
		open[pull.Number] = true
	}
	listed, err := p.keys.OpenFixes().Members().Do(ctx)
	if err != nil {
		return err
	}
	gone := slices.DeleteFunc(listed, func(n int64) bool { return open[n] })
	if err := each(gone, func(n int64) error { return p.over(ctx, n) }); err != nil {
		return err
	}
	var long error
	for _, pull := range p.part(pulls) {
		p.from = pull.Number + 1 // also after an error: one that cannot be read holds up no other one
		switch err := p.fix(ctx, pull); {
		case errors.Is(err, ErrTooMany):
			long = errors.Join(long, fmt.Errorf("comments of pull request %d: %w", pull.Number, err))
		case err != nil:
			return err
		}
	}
	return long
}

// part returns what this sync reads of the pull requests: all, or those that come next.
func (p *Poller) part(pulls []Issue) []Issue {
	begin := max(slices.IndexFunc(pulls, func(pull Issue) bool { return pull.Number >= p.from }), 0)
	return slices.Concat(pulls[begin:], pulls[:begin])[:min(len(pulls), p.o.Pulls)]
}

func (p *Poller) fix(ctx context.Context, pull Issue) error {
	comments, err := p.github.Comments(ctx, pull.Number)
	if err != nil {
		return err
	}
	seen, err := p.seen(ctx, pull.Number)
	if err != nil {
		return err
	}
	// What the author says there is an answer, often an agent's, and asks for no fix.
	left := slices.DeleteFunc(comments, func(c Comment) bool { return c.ID <= seen || c.Author == pull.Author })
	fix := fixOf(pull.Number, left)
	if len(fix.Comments) == 0 {
		return p.over(ctx, pull.Number)
	}
	text, err := json.Marshal(fix.Comments)
	if err != nil {
		return err
	}
	v := brokerkeys.FixTaskValue{PullRequest: fix.PullRequest, Newest: fix.Newest, More: fix.More, Comments: text}
	if err := p.keys.FixTask(fix.PullRequest).Set(v).Do(ctx); err != nil {
		return err
	}
	_, err = p.keys.OpenFixes().Add(fix.PullRequest).Do(ctx) // after the task: a reader of the number finds it
	return err
}

// seen returns the last comment of a pull request that an agent has seen to. The poller keeps it,
// too: a mark of what was done ends some time after the broker read it last, and a pull request
// without a task may be open for longer.
func (p *Poller) seen(ctx context.Context, number int64) (int64, error) {
	done, _, err1 := maybe(p.keys.TaskDone(number).Peek().Do(ctx))
	kept, _, err2 := maybe(p.keys.FixSeen(number).Get().Do(ctx)) // which keeps it for longer
	if err := errors.Join(err1, err2); err != nil || done.Comment <= kept {
		return kept, err
	}
	return done.Comment, p.keys.FixSeen(number).Set(done.Comment).Do(ctx)
}

// fixOf makes a task of comments, of as many as fit.
func fixOf(number int64, comments []Comment) Fix {
	slices.SortFunc(comments, func(a, b Comment) int { return cmp.Compare(a.ID, b.ID) })
	n, size := 0, 0
	for n < min(len(comments), mostComments) && (n == 0 || size+len(comments[n].Body) <= mostText) {
		size += len(comments[n].Body)
		n++
	}
	fix := Fix{PullRequest: number, Comments: comments[:n], More: int64(len(comments) - n)}
	if n > 0 {
		fix.Newest = comments[n-1].ID
	}
	return fix
}

// over deletes the task of a pull request, and its number before it.
func (p *Poller) over(ctx context.Context, number int64) error {
	if _, err := p.keys.OpenFixes().Remove(number).Do(ctx); err != nil {
		return err
	}
	return p.keys.FixOver(ctx, number)
}
