package migrate

import (
	"strconv"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/record"
)

// put describes how records of one part are written in one step.
type put struct {
	part    string
	epoch   uint64
	process string // with name: of an authority's write
	name    string
	ticket  string // of a write to the side that follows
	keep    bool   // the ticket
	seen    uint64
	now     time.Time
	items   []item
}

// item represents one record of a put.
type item struct {
	mv      MoveOf
	id      record.ID
	records []*record.Record // none: the record is not there
	values  []string         // of the records, as Redis gets them
	expects bool             // the record must be as follows
	was     []string         // as Redis has it
}

// maxItems says how many records one step writes.
const maxItems = 100

// size returns how many values a record has as it is to be stored. What Redis has, and has given
// to an update, is not of it.
func (x item) size() int {
	n := 0
	for _, r := range x.records {
		switch x.mv.Kind {
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
func (x item) living(now time.Time) []*record.Record {
	if ends := endOf(x.records); !ends.IsZero() && !ends.After(now) {
		return nil
	}
	return x.records
}

// args returns what the script must know of a record.
func (x item) args(args []string) []string {
	sum := sumOf(x.id)
	mode, ms := "", "0"
	if len(x.values) > 0 {
		mode, ms = ttlOf(x.records, x.mv.TTL)
	}
	args = append(args, string(sum[:]), kindOf[x.mv.Kind], x.id.Sub, mode, ms, strconv.Itoa(len(x.values)))
	if !x.expects {
		return append(append(args, "-1"), x.values...)
	}
	return append(append(append(args, strconv.Itoa(len(x.was))), x.values...), x.was...)
}

// parts cuts a put into steps that are small enough.
func (p put) parts() (out []put) {
	for len(p.items) > 0 {
		n, values := 0, 0
		for n < len(p.items) && n < maxItems && (n == 0 || values+p.items[n].size() <= maxValues) {
			values += p.items[n].size()
			n++
		}
		next := p
		next.items, p.items = p.items[:n], p.items[n:]
		out = append(out, next)
	}
	return out
}
