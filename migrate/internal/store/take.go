package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// TakeAll reads records as TakeEach does. One that cannot be read is the error, a *record.Reject.
func (s *Server) TakeAll(ctx context.Context, part string, epoch uint64, groups []sources.Group) ([][]*record.Record,
	error) {
	out, unread, err := s.TakeEach(ctx, part, epoch, groups)
	for _, g := range groups {
		if bad := unread[g.ID]; bad != nil && err == nil {
			err = bad
		}
	}
	return out, err
}

// TakeEach reads records from Redis, with their times, in one round trip. The epoch is
// asked for before them and after them: it only grows. unread says which cannot be read, and why.
func (s *Server) TakeEach(ctx context.Context, part string, epoch uint64, groups []sources.Group) (
	out [][]*record.Record, unread map[record.ID]*record.Reject, err error) {
	seen := s.Seen.Of(part)
	results, err := s.read(ctx, "read", func(b kernel.Builder) []kernel.Command {
		commands := make([]kernel.Command, 0, 2+2*len(groups))
		commands = append(commands, s.epochOf(b, part))
		for _, g := range groups {
			commands = append(commands, valueOf(b, s.moves[g.ID.Move].Kind, g.ID), b.Pexpiretime().Key(g.ID.Key).Build())
		}
		return append(commands, s.epochOf(b, part))
	})
	if err != nil {
		return nil, nil, err
	}
	out = make([][]*record.Record, len(groups))
	at := 1
	for i, g := range groups {
		mv := s.moves[g.ID.Move]
		values, err := valuesOf(mv.Kind, results[at])
		if err == nil && len(values) > MaxValues {
			err = ErrTooLarge
		}
		ms := int64(-1)
		if err == nil {
			ms, err = results[at+1].AsInt64()
		}
		at += 2
		if OtherType(err) {
			err = ErrType
		}
		if err == nil {
			out[i], err = s.Opened(mv, g.ID, Answer{More: append([]string{"", strconv.FormatInt(ms, 10)}, values...)})
		}
		switch {
		case err == nil:
		case OfRecord(err):
			if unread == nil {
				unread = map[record.ID]*record.Reject{}
			}
			unread[g.ID] = sources.Unreadable(mv.Move, g.ID, err)
		default:
			return nil, nil, fmt.Errorf("reading the record %q of %s: %w", g.ID.Key, g.ID.Move, err)
		}
	}
	return out, unread, epochIn(results, epoch, seen)
}

// OtherType reports whether the server has refused a command since a key is of another type.
func OtherType(err error) bool {
	refused, is := kernel.IsServerError(err)
	return is && strings.HasPrefix(refused.Error(), "WRONGTYPE")
}

// epochOf asks for what epochIs looks at.
func (s *Server) epochOf(b kernel.Builder, part string) kernel.Command {
	return b.Hmget().Key(s.Key).Field("epoch:"+part, "ticket:"+part).Build()
}

// epochIs is nil if a part has this epoch, and the server has lost nothing.
func epochIs(r kernel.Reply, epoch, seen uint64) error {
	has, err := r.AsStrSlice()
	if err != nil {
		return err
	}
	return epochHas(has, epoch, seen)
}

// epochIn is nil if the first and the last answer have this epoch.
func epochIn(replies []kernel.Reply, epoch, seen uint64) error {
	return cmp.Or(epochIs(replies[0], epoch, seen), epochIs(replies[len(replies)-1], epoch, seen))
}

func epochHas(has []string, epoch, seen uint64) error {
	switch {
	case Number(has[0]) < epoch || has[0] == "" || Number(has[1]) < seen:
		return phase.ErrLost
	case Number(has[0]) > epoch:
		return phase.ErrEpoch
	}
	return nil
}

// valueOf reads what a record is.
func valueOf(b kernel.Builder, kind keyspace.RecordKind, id record.ID) kernel.Command {
	switch kind {
	case keyspace.FieldRecord:
		return b.Hget().Key(id.Key).Field(id.Sub).Build()
	case keyspace.HashRecord:
		return b.Hrandfield().Key(id.Key).Count(MaxValues/2 + 1).Withvalues().Build() // all, if there are no more
	case keyspace.MemberRecord:
		return b.Sismember().Key(id.Key).Member(id.Sub).Build()
	case keyspace.ScoredRecord:
		return b.Zscore().Key(id.Key).Member(id.Sub).Build()
	case keyspace.ElementRecord:
		return b.Lrange().Key(id.Key).Start(0).Stop(MaxValues).Build()
	case keyspace.EntryRecord:
		return b.Xrange().Key(id.Key).Start("-").End("+").Count(MaxValues).Build()
	}
	return b.Get().Key(id.Key).Build()
}

// valuesOf returns the values of an answer to valueOf; none: the record is not there.
func valuesOf(kind keyspace.RecordKind, r kernel.Reply) (out []string, err error) {
	switch kind {
	case keyspace.HashRecord:
		return pairsOf(r)
	case keyspace.MemberRecord:
		is, err := r.AsBool()
		if is {
			out = []string{"1"}
		}
		return out, err
	case keyspace.ElementRecord:
		return r.AsStrSlice()
	case keyspace.EntryRecord:
		entries, err := r.AsXRange()
		for _, e := range entries {
			out = append(out, strconv.Itoa(len(e.FieldValues)))
			for _, name := range slices.Sorted(maps.Keys(e.FieldValues)) {
				out = append(out, name, e.FieldValues[name])
			}
		}
		return out, err
	case keyspace.ScoredRecord:
		var score float64
		if score, err = r.AsFloat64(); err == nil {
			out = []string{strconv.FormatFloat(score, 'g', -1, 64)}
		}
	default:
		var text string
		if text, err = r.ToString(); err == nil {
			out = []string{text}
		}
	}
	if kernel.IsNil(err) {
		err = nil
	}
	return out, err
}

// pairsOf returns the names and values of an answer to HRANDFIELD, by name.
func pairsOf(r kernel.Reply) (out []string, err error) {
	list, err := r.ToArray()
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	name := ""
	for i, m := range list {
		pair, err := []string(nil), error(nil)
		if m.IsArray() {
			pair, err = m.AsStrSlice()
		} else if text, failed := m.ToString(); i%2 == 0 {
			name, err = text, failed
		} else {
			pair, err = []string{name, text}, failed
		}
		if err != nil {
			return nil, err
		}
		if len(pair) == 2 {
			all[pair[0]] = pair[1]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name, all[name])
	}
	return out, nil
}
