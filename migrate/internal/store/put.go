package store

import (
	"strconv"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/record"
)

// Put describes how records of one part are written in one step.
type Put struct {
	Part    string
	Epoch   uint64
	Process string // with name: of an authority's write
	Name    string
	Ticket  string // of a write to the side that follows
	keep    bool   // the ticket
	Seen    uint64
	Now     time.Time
	Items   []Item
}

// Item represents one record of a put.
type Item struct {
	Move    documents.MoveOf
	ID      record.ID
	Records []*record.Record // none: the record is not there
	values  []string         // of the records, as Redis gets them
	Expects bool             // the record must be as follows
	Was     []string         // as Redis has it
}

// maxItems says how many records one step writes.
const maxItems = 100

// Size returns how many values a record has as it is to be stored. What Redis has, and has given
// to an update, is not of it.
func (x Item) Size() int {
	n := 0
	for _, r := range x.Records {
		switch x.Move.Kind {
		case keyspace.HashRecord:
			n += 2 * len(r.Fields)
		case keyspace.EntryRecord:
			n += 1 + 2*len(r.Fields)
		default:
			n++
		}
	}
	return n
}

// living returns the records whose time is not over.
func (x Item) living(now time.Time) []*record.Record {
	if ends := sources.EndOf(x.Records); !ends.IsZero() && !ends.After(now) {
		return nil
	}
	return x.Records
}

// args returns what the script must know of a record.
func (x Item) args(args []string) []string {
	sum := sumOf(x.ID)
	mode, ms := "", "0"
	if len(x.values) > 0 {
		mode, ms = ttlOf(x.Records, x.Move.TTL)
	}
	args = append(args, string(sum[:]), KindOf[x.Move.Kind], x.ID.Sub, mode, ms, strconv.Itoa(len(x.values)))
	if !x.Expects {
		return append(append(args, "-1"), x.values...)
	}
	return append(append(append(args, strconv.Itoa(len(x.Was))), x.values...), x.Was...)
}

// Parts cuts a put into steps that are small enough.
func (p Put) Parts() (out []Put) {
	for len(p.Items) > 0 {
		n, values := 0, 0
		for n < len(p.Items) && n < maxItems && (n == 0 || values+p.Items[n].Size() <= MaxValues) {
			values += p.Items[n].Size()
			n++
		}
		next := p
		next.Items, p.Items = p.Items[:n], p.Items[n:]
		out = append(out, next)
	}
	return out
}
