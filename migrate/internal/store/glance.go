package store

import (
	"context"
	"slices"
	"time"

	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/record"
)

// glance asks whether Redis has records as the files have them, byte for byte: strings and
// hashes of which nothing is encrypted.
type glance struct {
	groups  []sources.Group
	same    []bool
	strings []int // of groups
	hashes  []int
	ends    []int          // those whose time is compared
	ttls    []keyspace.TTL // of ends
}

func (s *Server) newGlance(groups []sources.Group) *glance {
	g := &glance{groups: groups, same: make([]bool, len(groups))}
	now := time.Now()
	for i := range groups {
		mv, records := s.moves[groups[i].ID.Move], groups[i].Records
		if len(records) != 1 || mv.Sealed != nil || !records[0].Ends.IsZero() && !records[0].Ends.After(now) {
			continue
		}
		switch {
		case mv.Kind == keyspace.StringRecord:
			g.strings = append(g.strings, i)
		case mv.Kind == keyspace.HashRecord && len(records[0].Fields) > 0:
			g.hashes = append(g.hashes, i)
		default:
			continue
		}
		if !records[0].Ends.IsZero() || mv.TTL.Policy != keyspace.TTLAny {
			g.ends = append(g.ends, i)
			g.ttls = append(g.ttls, mv.TTL)
		}
	}
	return g
}

// commands returns what is asked, in the order in which answered takes the answers.
func (g *glance) commands(b kernel.Builder, out []kernel.Command) []kernel.Command {
	if len(g.strings) > 0 {
		keys := make([]string, len(g.strings))
		for i, at := range g.strings {
			keys[i] = g.groups[at].ID.Key
		}
		out = append(out, b.Mget().Key(keys...).Build())
	}
	for _, at := range g.hashes {
		names := make([]string, len(g.groups[at].Records[0].Fields))
		for i, f := range g.groups[at].Records[0].Fields {
			names[i] = f.Name
		}
		key := g.groups[at].ID.Key
		out = append(out, b.Hlen().Key(key).Build(), b.Hmget().Key(key).Field(names...).Build())
	}
	for _, at := range g.ends {
		out = append(out, b.Pexpiretime().Key(g.groups[at].ID.Key).Build())
	}
	return out
}

// answered takes the answers. What is not known is not the same.
func (g *glance) answered(results []kernel.Reply) {
	if len(g.strings) > 0 {
		values, err := results[0].ToArray()
		for i := range values {
			at := g.strings[i]
			g.same[at] = err == nil && is(&values[i], g.groups[at].Records[0].Value)
		}
		results = results[1:]
	}
	for _, at := range g.hashes {
		fields := g.groups[at].Records[0].Fields
		n, err := results[0].AsInt64()
		values, failed := results[1].ToArray()
		same := err == nil && failed == nil && n == int64(len(fields)) && len(values) == len(fields)
		for i := 0; same && i < len(fields); i++ {
			text, err := values[i].ToString()
			same = err == nil && text == fields[i].Value
		}
		g.same[at], results = same, results[2:]
	}
	for i, at := range g.ends {
		ms, err := results[i].AsInt64()
		stored := time.Time{}
		if ms > 0 {
			stored = time.UnixMilli(ms)
		}
		g.same[at] = g.same[at] && err == nil && record.SameEnd(g.ttls[i], g.groups[at].Records[0].Ends, stored,
			sources.Slack)
	}
}

func is(m *kernel.Value, value []byte) bool {
	text, err := m.ToString()
	return err == nil && text == string(value)
}

// others returns the records that are not known to be the same. The epoch is asked for before the
// records and after them, as by TakeAll.
func (s *Server) others(ctx context.Context, part string, epoch uint64, groups []sources.Group) ([]sources.Group,
	error) {
	g := s.newGlance(groups)
	if len(g.strings)+len(g.hashes) == 0 {
		return groups, nil
	}
	seen := s.Seen.Of(part)
	results, err := s.read(ctx, "compare", func(b kernel.Builder) []kernel.Command {
		out := make([]kernel.Command, 0, 3+2*len(g.hashes)+len(g.ends))
		return append(g.commands(b, append(out, s.epochOf(b, part))), s.epochOf(b, part))
	})
	if err != nil {
		return nil, err
	}
	if err := epochIn(results, epoch, seen); err != nil {
		return nil, err
	}
	g.answered(results[1 : len(results)-1])
	out := groups[:0:0]
	for i := range groups {
		if !g.same[i] {
			out = append(out, groups[i])
		}
	}
	return out, nil
}

// Unequal represents a record that is not the same on both sides.
type Unequal struct {
	sources.Group
	Stored      []*record.Record
	Differences []record.Difference
	Fault       *record.Reject // why it cannot be read from Redis, or no file can have it
}

// Unread returns how a record differs that Redis has, and that cannot be read.
func Unread(id record.ID) []record.Difference {
	return []record.Difference{{ID: id, Kind: record.DiffType}}
}

// Compare reads records from Redis, and returns those that differ.
func (s *Server) Compare(ctx context.Context, part string, epoch uint64, groups []sources.Group) (out []Unequal,
	err error) {
	left, err := s.others(ctx, part, epoch, groups)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	stored, unread, err := s.TakeEach(ctx, part, epoch, left)
	if err != nil {
		return nil, err
	}
	for i, g := range left {
		if bad := unread[g.ID]; bad != nil {
			out = append(out, Unequal{Group: g, Differences: Unread(g.ID), Fault: bad})
		} else if diffs := sources.Different(s.moves[g.ID.Move], g.Records, stored[i]); len(diffs) > 0 {
			out = append(out, Unequal{Group: g, Stored: stored[i], Differences: diffs})
		}
	}
	return slices.Clip(out), nil
}
