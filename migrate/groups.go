package migrate

import (
	"slices"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/record"
)

// ordered reports whether a record is all that a key has, in its order.
func ordered(kind keyspace.RecordKind) bool {
	return kind == keyspace.ElementRecord || kind == keyspace.EntryRecord
}

func endOf(records []*record.Record) time.Time {
	if len(records) == 0 {
		return time.Time{}
	}
	return records[0].Ends
}

// editsOf returns the edits of a file that make a record what is given.
func editsOf(mv MoveOf, id record.ID, records []*record.Record) []record.Edit {
	if len(records) == 0 {
		return []record.Edit{{Record: &record.Record{Move: mv.Move, Key: id.Key, Sub: id.Sub}, Delete: true}}
	}
	out := make([]record.Edit, len(records))
	for i, r := range records {
		out[i] = record.Edit{Record: r}
	}
	return out
}

// different compares the records of one ID: those of a list one by one.
func different(mv MoveOf, file, stored []*record.Record) (out []record.Difference) {
	file = living(file)
	for i := range max(len(file), len(stored)) {
		var a, b *record.Record
		if i < len(file) {
			a = file[i]
		}
		if i < len(stored) {
			b = stored[i]
		}
		if out = append(out, mv.Same(a, b)...); len(out) > 100 {
			break
		}
	}
	return out
}

// living returns records of a file without those that have ended.
func living(records []*record.Record) []*record.Record {
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(records), func(r *record.Record) bool {
		return !r.Ends.IsZero() && !r.Ends.After(now)
	})
}

// group represents the records of one ID: one, or the elements of a list.
type group struct {
	id      record.ID
	records []*record.Record
}

// batchBytes says how many bytes of records are read before they go to Redis, however few they are.
const batchBytes = 4 << 20

func (g group) bytes() (n int) {
	for _, r := range g.records {
		n += len(r.Key) + len(r.Sub) + len(r.Value)
		for i := range r.Fields {
			n += len(r.Fields[i].Value)
		}
	}
	return n
}
