package sides

import (
	"context"
	"errors"
	"fmt"

	"github.com/keywright/keywright/migrate/internal/digests"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/record"
)

// errTwins are records of one identity that say two things: Redis can have one of them.
var errTwins = errors.New("records of the files are one and the same in Redis, and differ")

// twin represents a record that is the same as another one in Redis.
type twin struct {
	id    record.ID
	at    record.Position
	found bool
}

// twins finds records of one identity that differ, and reads the files again to say where they are. They are not
// counted as what can be moved. Beyond so many as are held in memory they are found, and no more is said.
func (p *planning) twins(ctx context.Context, m *Sides) error {
	var last digests.Pair
	begun := false
	all := map[uint64]*twin{}
	err := p.seen.Sort(func(is digests.Pair) {
		if begun && is.ID == last.ID && is.Content != last.Content && all[is.ID] == nil {
			if len(all) < digests.Held {
				all[is.ID] = &twin{}
			} else {
				p.fault(errTwins)
			}
		}
		last, begun = is, true
	})
	if err != nil || len(all) == 0 {
		return err
	}
	return m.Docs.Files(ctx, m.Disk.Root, p.Part, func(file string) error {
		in, err := m.Disk.Open(file)
		if err != nil || in == nil {
			return ctx.Err() // it is listed already
		}
		defer in.Close()
		_ = m.Groups(in, file, p.Part, nil, func(g sources.Group) error {
			if g.Records = sources.Living(g.Records); len(g.Records) > 0 {
				p.twin(all[digest(p.seed, g.ID.Key, g.ID.Sub)], m, g)
			}
			return ctx.Err()
		}, nil)
		return ctx.Err()
	})
}

// twin says where a record and one before it are that are the same in Redis.
func (p *planning) twin(t *twin, m *Sides, g sources.Group) {
	if t == nil {
		return
	}
	count, size := p.counts[g.ID.Move], len(g.ID.Key)+len(g.ID.Sub)
	for _, v := range store.Stored(m.Moves[g.ID.Move].Kind, g.Records) {
		size += len(v)
	}
	count.Records, count.Bytes = count.Records-1, count.Bytes-int64(size)
	at := g.Records[0].At
	if t.id.Move == "" {
		t.id, t.at = g.ID, at
		return
	}
	if t.found {
		return
	}
	t.found = true
	name := fmt.Sprintf("%q", g.ID.Key)
	if g.ID.Sub != "" {
		name += fmt.Sprintf(" %q", g.ID.Sub)
	}
	p.fault(&record.Error{At: at, Err: errTwins, Message: fmt.Sprintf("%s: the record %s is in Redis the same as that of "+
		"%s at %s:%d:%d, and differs from it: take one of them away, or change the key", g.ID.Move, name, t.id.Move,
		t.at.File, t.at.Line, t.at.Column)})
}
