package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// Answer describes what a script says first, and what comes after it.
type Answer struct {
	Word string
	More []string
}

// Failed returns why a script has done nothing.
func (a Answer) Failed() error {
	switch a.Word {
	case "ok", "some", "same", "stale":
		return nil
	case "lost":
		return phase.ErrLost
	case "ahead":
		return phase.ErrAhead
	case "epoch":
		return phase.ErrEpoch
	case "changed":
		return ErrChanged
	case "old", "process":
		return ErrAgain
	case "large":
		return ErrTooLarge
	case "type":
		return ErrType
	}
	return fmt.Errorf("an unknown answer of a script: %q", a.Word)
}

func decodeAnswer(r kernel.Reply) (a Answer, err error) {
	list, err := r.ToArray()
	if err != nil {
		return a, err
	}
	for i, m := range list {
		text, err := m.ToString()
		if n, isInt := m.AsInt64(); err != nil && isInt == nil {
			text, err = strconv.FormatInt(n, 10), nil
		}
		if err != nil {
			return a, err
		}
		if i == 0 {
			a.Word = text
		} else {
			a.More = append(a.More, text)
		}
	}
	return a, nil
}

// Decimal returns a number as scripts take it.
func Decimal(n uint64) string { return strconv.FormatUint(n, 10) }

func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

// ttlOf returns what a write does to the TTL.
func ttlOf(records []*record.Record, ttl keyspace.TTL) (mode, ms string) {
	ends := sources.EndOf(records)
	switch {
	case !ends.IsZero():
		return "at", strconv.FormatInt(max(ends.UnixMilli(), 1), 10)
	case ttl.Policy == keyspace.TTLExpires && ttl.Default > 0:
		spread := int64(float64(ttl.Default.Milliseconds()) * ttl.Jitter)
		return "in", strconv.FormatInt(max(ttl.Default.Milliseconds()+rand.N(2*spread+1)-spread, 1), 10)
	case ttl.Policy == keyspace.TTLNone:
		return "none", "0"
	}
	return "keep", "0"
}

// Stored returns the values of a record as the scripts take and give them.
func Stored(kind keyspace.RecordKind, records []*record.Record) (out []string) {
	for _, r := range records {
		switch kind {
		case keyspace.ScoredRecord:
			return []string{r.Score}
		case keyspace.MemberRecord:
			return []string{"1"}
		case keyspace.HashRecord:
			for _, f := range r.Fields {
				out = append(out, f.Name, f.Value)
			}
		case keyspace.EntryRecord:
			out = append(out, strconv.Itoa(len(r.Fields)))
			for _, f := range slices.SortedFunc(slices.Values(r.Fields), byName) {
				out = append(out, f.Name, f.Value)
			}
		default:
			out = append(out, string(r.Value))
		}
	}
	return out
}

func byName(a, b record.Field) int { return strings.Compare(a.Name, b.Name) }

func fieldsOf(values []string) (out []record.Field) {
	for i := 0; i+1 < len(values); i += 2 {
		out = append(out, record.Field{Name: values[i], Value: values[i+1]})
	}
	return out
}

// Taken returns the records of an answer to take.
func Taken(kind keyspace.RecordKind, move *record.Move, id record.ID, a Answer) (out []*record.Record) {
	if len(a.More) < 3 {
		return nil
	}
	values := a.More[2:]
	r := &record.Record{Move: move, Key: id.Key, Sub: id.Sub, Stored: true}
	if ms, err := strconv.ParseInt(a.More[1], 10, 64); err == nil && ms > 0 {
		r.Ends = time.UnixMilli(ms)
	}
	switch kind {
	case keyspace.ScoredRecord:
		r.Score = values[0]
	case keyspace.MemberRecord:
	case keyspace.HashRecord:
		r.Fields = fieldsOf(values)
	case keyspace.EntryRecord:
		for i := 0; len(values) > 0; i++ {
			n := min(1+2*int(Number(values[0])), len(values))
			entry := *r
			entry.Fields, entry.Place = fieldsOf(values[1:n]), int64(i)
			out, values = append(out, &entry), values[n:]
		}
		return out
	case keyspace.ElementRecord:
		for i, v := range values {
			element := *r
			element.Value, element.Place = []byte(v), int64(i)
			out = append(out, &element)
		}
		return out
	default:
		r.Value = []byte(values[0])
	}
	return []*record.Record{r}
}

// Number returns a number that a script gave; 0 for what is none.
func Number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// Of is nil if an answer is of the epoch given.
func (a Answer) Of(epoch uint64) error {
	if err := a.Failed(); err != nil {
		return err
	}
	switch has := Number(a.More[0]); {
	case has < epoch:
		return phase.ErrLost
	case has > epoch:
		return phase.ErrEpoch
	}
	return nil
}

// OfRecord reports whether an error is of one record, and another one may be written.
func OfRecord(err error) bool {
	return errors.Is(err, ErrTooLarge) || errors.Is(err, ErrType) || errors.As(err, new(*record.Reject)) ||
		errors.Is(err, record.ErrPlace) || errors.Is(err, sources.ErrUnreadable) ||
		errors.As(err, new(*keywright.DecodeError))
}
