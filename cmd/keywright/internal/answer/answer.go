// Package answer reads what the constructs of a keyspace hold, and says what a key or
// an entry is: what the commands print and what the server shows, from one mechanism.
//
// It prints nothing and decides no exit code. Where several things are read, one that
// cannot be read is a gap in the answer and not its end.
package answer

import (
	"context"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/queue"
)

// Reader reads constructs from a server.
type Reader struct {
	Client   *keywright.Client
	Keyspace *keyspace.Keyspace

	// Instances gives what there is of an entry; nil: the server is scanned for it.
	Instances func(ctx context.Context, e *keyspace.Entry) (found []bind.Values, bounded bool, err error)
	// Rankings gives the keys of a ranking; nil: the server is scanned for them.
	Rankings func(ctx context.Context, e *keyspace.Entry) (found []*bind.Ranking, bounded bool, err error)
	// Pace waits before some constructs are read at once, which costs the server so many commands,
	// those that scripts run included; nil: it does not.
	Pace func(ctx context.Context, commands int) error
}

// What reading one construct costs the server, in commands.
const (
	queueCost   = 16
	entityCost  = 6
	lockCost    = 8
	rankingCost = 8
	streamCost  = 2
)

// instances gives what there is of an entry, and notes where that is not all.
func (r *Reader) instances(ctx context.Context, e *keyspace.Entry, g *Gaps) ([]bind.Values, error) {
	find := r.Instances
	if find == nil {
		find = func(ctx context.Context, e *keyspace.Entry) ([]bind.Values, bool, error) {
			return bind.Instances(ctx, r.Client, e)
		}
	}
	found, bounded, err := find(ctx, e)
	if bounded {
		g.Cut = append(g.Cut, Cut{e.Name, len(found)})
	}
	return found, err
}

// EachQueue runs for each queue of an entry: for one whose keys share placeholders, for
// each value of them that there is. name tells it from the others.
func (r *Reader) EachQueue(ctx context.Context, e *keyspace.Entry, g *Gaps,
	run func(name string, q queue.Queue[string]) error) error {
	found, err := r.instances(ctx, e, g)
	if err != nil {
		return err
	}
	for _, values := range found {
		name := TitleOf(e, values)
		if err := g.Pass(ctx, e.Name, name, run(name, bind.Queue(r.Client, r.Keyspace, e, values))); err != nil {
			return err
		}
	}
	return nil
}

// EachEntity runs for every entity: for one whose keys share a placeholder, for each
// value of it that there is.
func (r *Reader) EachEntity(ctx context.Context, entries []*keyspace.Entry, g *Gaps,
	run func(e *keyspace.Entry, of *finding.JSONKey, s *bind.Items) error) error {
	for _, e := range entries {
		if err := g.Pass(ctx, e.Name, "", r.eachPart(ctx, e, g, run)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) eachPart(ctx context.Context, e *keyspace.Entry, g *Gaps,
	run func(e *keyspace.Entry, of *finding.JSONKey, s *bind.Items) error) error {
	found, err := r.instances(ctx, e, g)
	if err != nil {
		return err
	}
	for _, values := range found {
		title := TitleOf(e, values)
		s, err := bind.Entity(r.Client, r.Keyspace, e, values)
		if err != nil {
			return err
		}
		if err := g.Pass(ctx, e.Name, title, run(e, KeyOf(title), s)); err != nil {
			return err
		}
	}
	return nil
}

// TitleOf tells several queues, or parts of an entity, of one entry apart.
func TitleOf(e *keyspace.Entry, values bind.Values) string {
	var texts []string
	for _, name := range parts.Values(e) {
		texts = append(texts, name+"="+values[name])
	}
	return strings.Join(texts, " ")
}
