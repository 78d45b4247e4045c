package migrate

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// sync brings the side that follows to what the side that decides has now. It may be done
// at any time, by anyone, in any order, and again. drain: by the process that changes the
// phase, with the epoch of its change.
func (m *Migration) sync(ctx context.Context, part string, is phase.State, epoch uint64, ids []record.ID, drain bool) error {
	byFile := map[string][]record.ID{}
	for _, id := range ids {
		file, err := m.docs.File(id)
		if err != nil {
			return err
		}
		byFile[file] = append(byFile[file], id)
	}
	if phase.Of(is.Phase).Authority == phase.Files {
		return m.push(ctx, part, epoch, byFile, true)
	}
	var errs []error
	for file, ids := range byFile {
		errs = append(errs, m.pull(ctx, part, epoch, file, ids, drain))
	}
	return errors.Join(errs...)
}

// push brings records of files to Redis: a ticket first, then the file is read, then Redis
// is written where no later ticket was. Whatever was committed before a later ticket is in
// what its holder has read, so the write with the last ticket has all of it.
func (m *Migration) push(ctx context.Context, part string, epoch uint64, byFile map[string][]record.ID, keep bool) error {
	ticket, err := m.ticket(ctx, part, epoch)
	if err != nil {
		return err
	}
	if err := m.disk.at("ticket"); err != nil {
		return err
	}
	for file, ids := range byFile {
		wanted := map[record.ID]bool{}
		for _, id := range ids {
			wanted[id] = true
		}
		found, err := m.files.find(file, wanted)
		if err != nil {
			return err
		}
		if err := m.disk.at("read"); err != nil {
			return err
		}
		var puts []put
		for id := range wanted {
			puts = append(puts, m.follow(part, epoch, ticket, keep, id, found[id]))
		}
		if err := m.putAll(ctx, puts); err != nil {
			return err
		}
	}
	return m.disk.at("pushed")
}

func (m *Migration) ticket(ctx context.Context, part string, epoch uint64) (string, error) {
	a, err := m.server.ticket(part, epoch, m.seen.Load()).Do(ctx)
	if err == nil {
		err = a.failed()
	}
	if err != nil {
		return "", err
	}
	m.sawTicket(number(a.more[0]))
	return a.more[0], nil
}

// follow is the write of a record to Redis where the files decide.
func (m *Migration) follow(part string, epoch uint64, ticket string, keep bool, id record.ID, records []*record.Record) put {
	mv := m.moves[id.Move]
	return put{part: part, epoch: epoch, ticket: ticket, keep: keep, kind: mv.Kind, id: id, records: records, ttl: mv.TTL}
}

// putBatch is how many records are written in one round trip.
const putBatch = 200

// putAll writes records to Redis.
func (m *Migration) putAll(ctx context.Context, puts []put) error {
	for chunk := range slices.Chunk(puts, putBatch) {
		var batch keywright.Batch
		now := time.Now()
		results := make([]*keywright.Pending[answer], len(chunk))
		for i, p := range chunk {
			results[i] = keywright.Queue(&batch, m.server.put(p, now))
		}
		err := batch.Run(ctx, m.config.Client)
		for _, r := range results {
			a, failed := r.Result()
			if failed == nil {
				failed = a.failed()
			}
			if failed != nil {
				return failed
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pull brings records of Redis to a file. They are read under the lock of the file, so
// that what is written last was read last.
func (m *Migration) pull(ctx context.Context, part string, epoch uint64, file string, ids []record.ID, drain bool) error {
	return m.files.commit(ctx, file, &change{part: part, epoch: epoch, drain: drain, edits: func(ctx context.Context) ([]record.Edit, error) {
		return m.editsFromRedis(ctx, part, epoch, ids)
	}})
}

func (m *Migration) editsFromRedis(ctx context.Context, part string, epoch uint64, ids []record.ID) (out []record.Edit, err error) {
	for chunk := range slices.Chunk(ids, putBatch) {
		var batch keywright.Batch
		results := make([]*keywright.Pending[answer], len(chunk))
		for i, id := range chunk {
			results[i] = keywright.Queue(&batch, m.server.take(part, m.moves[id.Move].Kind, id, m.seen.Load()))
		}
		if err := batch.Run(ctx, m.config.Client); err != nil {
			return nil, err
		}
		for i, r := range results {
			a, err := r.Result()
			if err != nil {
				return nil, err
			}
			mv := m.moves[chunk[i].Move]
			records, err := m.takenAt(mv, chunk[i], a, epoch)
			if err != nil {
				return nil, err
			}
			out = append(out, editsOf(mv, chunk[i], records)...)
		}
	}
	return out, m.disk.at("taken")
}

func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// saw remembers the ticket of an answer to put: a server that has an earlier one has lost
// data.
func (m *Migration) saw(a answer) {
	if len(a.more) > 1 {
		m.sawTicket(number(a.more[1]))
	}
}

func (m *Migration) sawTicket(t uint64) {
	for {
		old := m.seen.Load()
		if t <= old || m.seen.CompareAndSwap(old, t) {
			return
		}
	}
}

func (m *Migration) writingName() string { return decimal(m.name.Load()) }

// renew gives this process another name in Redis. What it has sent under the old one does
// nothing when it arrives.
func (m *Migration) renew(ctx context.Context) error {
	m.renewal.Lock()
	defer m.renewal.Unlock()
	next := m.name.Load() + 1
	m.doubt.Store(true)
	if _, err := m.server.join(m.id, decimal(next)).Do(ctx); err != nil {
		return err
	}
	m.name.Store(next)
	m.doubt.Store(false)
	return nil
}
