package sources

import (
	"errors"
	"slices"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/record"
)

// Ordered reports whether a record is all that a key has, in its order.
func Ordered(kind keyspace.RecordKind) bool {
	return kind == keyspace.ElementRecord || kind == keyspace.EntryRecord
}

// EndOf returns when records end; the zero time: they do not.
func EndOf(records []*record.Record) time.Time {
	if len(records) == 0 {
		return time.Time{}
	}
	return records[0].Ends
}

// EditsOf returns the edits of a file that make a record what is given.
func EditsOf(mv documents.MoveOf, id record.ID, records []*record.Record) []record.Edit {
	if len(records) == 0 {
		return []record.Edit{{Record: &record.Record{Move: mv.Move, Key: id.Key, Sub: id.Sub}, Delete: true}}
	}
	out := make([]record.Edit, len(records))
	for i, r := range records {
		out[i] = record.Edit{Record: r}
	}
	return out
}

// Different compares the records of one ID: those of a list one by one.
func Different(mv documents.MoveOf, file, stored []*record.Record) (out []record.Difference) {
	file = Living(file)
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

// Unreadable returns a record that one side has, and that cannot be read or written there. The move may be nil.
func Unreadable(mv *record.Move, id record.ID, err error) *record.Reject {
	if mv == nil {
		mv = &record.Move{Move: &keyspace.Move{Name: id.Move}}
	}
	return &record.Reject{Move: mv, Reason: err.Error(), Key: id.Key, Sub: id.Sub, Err: err}
}

// Continues reports whether an element is of the same array as the one before it, of the same list.
func Continues(before, r *record.Record) bool { return r.Place > before.Place }

// errTwoLists reports a second array of a file that is the same list, stream or queue in Redis.
var errTwoLists = errors.New("two arrays of the file are this one list of Redis: take one away, or change the key")

// Living returns records of a file without those that have ended.
func Living(records []*record.Record) []*record.Record {
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(records), func(r *record.Record) bool {
		return !r.Ends.IsZero() && !r.Ends.After(now)
	})
}

// Group represents the records of one ID: one, or the elements of a list.
type Group struct {
	ID      record.ID
	Records []*record.Record
}

// BatchBytes says how many bytes of records are read before they go to Redis, however few they are.
const BatchBytes = 4 << 20

// Bytes returns about how many bytes the records have.
func (g Group) Bytes() (n int) {
	for _, r := range g.Records {
		n += len(r.Key) + len(r.Sub) + len(r.Value)
		for i := range r.Fields {
			n += len(r.Fields[i].Value)
		}
	}
	return n
}
