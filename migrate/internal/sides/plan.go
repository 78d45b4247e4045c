package sides

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/internal/digests"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/migrate/step"
)

// Plan reads the files of a part, and adds what it finds to a report. memory is what the records need on the server.
func (m *Sides) Plan(ctx context.Context, p *step.PlanReport) (memory int64, err error) {
	all := &planning{PlanReport: p, counts: map[string]*step.MoveCount{},
		seen: digests.Set{Room: m.Disk.Room}, seed: maphash.MakeSeed()}
	defer all.seen.Close()
	for _, mv := range m.MovesOf(p.Part) {
		all.counts[mv.Name] = &step.MoveCount{Move: mv.Name}
	}
	err = m.Docs.Files(ctx, m.Disk.Root, p.Part, func(file string) error {
		p.Files++
		if fault := m.planFile(ctx, p.Part, file, all); fault != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			all.fault(fault)
		}
		return nil
	})
	if err == nil {
		err = all.twins(ctx, m)
	}
	for _, mv := range m.MovesOf(p.Part) {
		p.Moves = append(p.Moves, *all.counts[mv.Name])
	}
	return all.memory, err
}

// planning describes what is known of a part while its files are read once.
type planning struct {
	*step.PlanReport
	counts map[string]*step.MoveCount
	seen   digests.Set
	seed   maphash.Seed
	memory int64
}

func (p *planning) fault(err error) {
	if p.Faulty++; len(p.Faults) < step.MaxListed {
		p.Faults = append(p.Faults, err)
	}
}

// planFile reads a file, and makes of each record what Redis would have, and of that what the
// file has in its place. Faults of records are counted as they come.
func (m *Sides) planFile(ctx context.Context, part, file string, p *planning) error {
	in, err := m.Disk.Open(file)
	if err != nil || in == nil {
		return err
	}
	defer in.Close()
	p.Bytes += in.Was.Size()
	lists := map[string]*planList{}
	defer m.progress()
	err = m.Docs.Back(ctx, &counted{in, &m.read.bytes}, file, p.Sources, func(r *record.Record) (*record.Record, error) {
		if m.PartOf[r.Move.Name] != part {
			return nil, ctx.Err()
		}
		m.readOne()
		return p.record(m, file, r, lists)
	}, func(r *record.Record, fault error) error {
		p.fault(fault)
		return nil
	}, func(r *record.Reject) error {
		if m.PartOf[r.Move.Name] != part {
			return nil
		}
		if p.Rejected++; len(p.Rejects) < step.MaxListed {
			p.Rejects = append(p.Rejects, r)
		}
		return nil
	})
	return errors.Join(err, disk.Unchanged(in))
}

// planList represents the list, stream or queue that the last records of a move are of.
type planList struct {
	id     record.ID
	last   *record.Record
	values int
}

// record counts a record, and gives what Redis would give back for it.
func (p *planning) record(m *Sides, file string, r *record.Record, lists map[string]*planList) (*record.Record,
	error) {
	id := r.ID()
	mv := m.Moves[id.Move]
	values := store.Stored(mv.Kind, []*record.Record{r})
	count := p.counts[id.Move]
	over := len(sources.Living([]*record.Record{r})) == 0 // an import does not write it
	if over {
		count, p.Over = &step.MoveCount{}, p.Over+1
	}
	p.Records++
	first := true
	if sources.Ordered(mv.Kind) {
		open := lists[id.Move]
		if first = open == nil || open.id != id || !sources.Continues(open.last, r); first {
			open = &planList{id: id}
			lists[id.Move] = open
		}
		open.last = r
		if open.values += len(values); open.values > store.MaxValues && open.values-len(values) <= store.MaxValues {
			p.fault(fmt.Errorf("%s: %s: %w", file, id.Move, store.ErrTooLarge))
		}
	} else if len(values) > store.MaxValues {
		p.fault(fmt.Errorf("%s: %s: %w", file, id.Move, store.ErrTooLarge))
	}
	size := int64(0)
	for _, v := range values {
		size += int64(len(v))
	}
	if first && !over {
		count.Records++
		size += int64(len(id.Key) + len(id.Sub))
		content := r.Digest()
		if sources.Ordered(mv.Kind) { // it is one record, in one place
			content = sha256.Sum256([]byte(file + "\x00" + strconv.FormatInt(p.Records, 10)))
		}
		if err := p.seen.Add(digests.Pair{ID: digest(p.seed, id.Key, id.Sub),
			Content: binary.LittleEndian.Uint64(content[:])}); err != nil {
			return nil, err
		}
	}
	if !over {
		count.Bytes, p.memory = count.Bytes+size, p.memory+size+costOf[mv.Kind]
	}
	back := store.Taken(mv.Kind, mv.Move, id, store.Answer{More: append([]string{"0", "-1"}, values...)})
	if len(back) != 1 {
		p.fault(fmt.Errorf("%s: %s: a record without a value", file, id.Move))
		return nil, nil
	}
	back[0].Place = r.Place
	return back[0], nil
}

// costOf is about how much memory the server needs for a record beside the bytes of its key,
// its name and its values.
var costOf = map[keyspace.RecordKind]int64{
	keyspace.StringRecord: 80, keyspace.FieldRecord: 72, keyspace.HashRecord: 120, keyspace.MemberRecord: 64,
	keyspace.ScoredRecord: 96, keyspace.ElementRecord: 16, keyspace.EntryRecord: 32,
}
