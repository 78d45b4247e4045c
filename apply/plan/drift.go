package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The codes of what no longer holds.
const (
	OtherServer      Code = "other-server"
	OtherDatabase    Code = "other-database"
	Restarted        Code = "restarted"
	FailedOver       Code = "failed-over"
	OtherVersion     Code = "other-version"
	OtherTopology    Code = "other-topology"
	Flushed          Code = "flushed"
	OtherDeclaration Code = "other-declaration"
	OtherArchive     Code = "other-archive"
	OtherCounts      Code = "other-counts"
	OtherChange      Code = "other-change"
	OtherRing        Code = "other-ring"
)

// ActiveKey is the option of a plan that seals: the id of the key that it seals with.
const ActiveKey = "active_key"

// Tolerance describes how far counts may move until a plan no longer holds.
type Tolerance struct {
	Share float64          // of the keys that would be changed, by entry: 0.1 is a tenth
	Least int64            // and always so many keys
	Done  map[string]int64 // keys that an interrupted run has changed already, by entry
	Maybe map[string]int64 // keys that it may have changed
}

// Drift says what of a plan no longer holds: now is the plan that the same request
// gives at the moment. It is empty if the plan holds.
func (p *Plan) Drift(now *Plan, t Tolerance) []Reason {
	out := p.Server.Drift(&now.Server)
	if (p.From == nil) != (now.From == nil) {
		out = append(out,
			Reason{OtherServer, "one of the plans is a copy from a server, and the other one is not", "make a new plan"})
	} else if p.From != nil {
		out = append(out, p.From.Drift(now.From)...)
	}
	out = append(out, OtherDatabaseThan(p.Request.DB, now.Request.DB)...)
	if p.Declaration != now.Declaration {
		out = append(out, Reason{OtherDeclaration, "the declaration is another one than that of the plan", "make a new plan"})
	}
	if p.Request.Archive != now.Request.Archive {
		out = append(out, Reason{OtherArchive, "the archive is another one than that of the plan", "make a new plan"})
	}
	if was, is := p.Request.Options[ActiveKey], now.Request.Options[ActiveKey]; was != is {
		out = append(out,
			Reason{OtherRing, fmt.Sprintf("the plan seals with the key %s, and the ring's active key is %s", was,
				is), "give the ring that the plan was made with, or make a new plan"})
	}
	out = append(out, p.libraries(now)...)
	return append(append(out, p.moved(now, t)...), p.others(now, t)...)
}

// OtherDatabaseThan says that a plan of one database, or of all (-1), is not for another one.
func OtherDatabaseThan(was, is int) []Reason {
	if was == is {
		return nil
	}
	return []Reason{{OtherDatabase, "the plan is for " + database(was) + ", and this is " + database(is),
		"name the database that the plan is for, or make a new plan"}}
}

// database describes the database of a request.
func database(n int) string {
	if n < 0 {
		return "all databases"
	}
	return "database " + strconv.Itoa(n)
}

// Drift compares the servers of two plans, shard by shard.
func (s *Server) Drift(now *Server) (out []Reason) {
	if s.Cluster != now.Cluster || len(s.Shards) != len(now.Shards) {
		return []Reason{{OtherTopology, fmt.Sprintf("the plan is for %s, and this is %s", s.describe(),
			now.describe()), "name the server that the plan is for, or make a new plan"}}
	}
	for i := range s.Shards {
		was := &s.Shards[i]
		at := slices.IndexFunc(now.Shards, func(n Shard) bool { return n.RunID == was.RunID })
		if at < 0 {
			out = append(out, was.replaced(now, i))
			continue
		}
		out = append(out, was.differs(&now.Shards[at])...)
	}
	return out
}

func (s *Server) describe() string {
	if s.Cluster {
		return fmt.Sprintf("a cluster of %d shards", len(s.Shards))
	}
	return "a single server"
}

// replaced says why no server has the run ID of a shard.
func (s *Shard) replaced(now *Server, i int) Reason {
	if i := slices.IndexFunc(now.Shards, func(n Shard) bool { return n.ReplID == s.ReplID && n.ReplID != "" }); i >= 0 {
		return Reason{FailedOver, fmt.Sprintf("%s is not the primary any more: %s is", s.Address,
			now.Shards[i].Address), "make a new plan"}
	}
	for _, n := range now.Shards {
		switch {
		case n.Address == s.Address:
			return Reason{Restarted,
				s.Address + " was restarted or is another server: its run ID is not the one of the plan", "make a new plan"}
		case len(s.Slots) > 0 && slices.Equal(n.Slots, s.Slots):
			return Reason{FailedOver, fmt.Sprintf("%s is not the primary of its slots any more: %s is", s.Address,
				n.Address), "make a new plan"}
		}
	}
	return Reason{OtherServer, "the plan is for " + s.Address + ", which is not here",
		"name the server that the plan is for, or make a new plan"}
}

// differs compares a shard with itself as it is now.
func (s *Shard) differs(now *Shard) (out []Reason) {
	if s.ReplID != now.ReplID {
		out = append(out, Reason{FailedOver, s.Address + " has another replication ID: there was a failover",
			"make a new plan"})
	}
	if s.Brand != now.Brand || s.Version != now.Version {
		out = append(out, Reason{OtherVersion, fmt.Sprintf("%s was %s %s and is %s %s", s.Address, s.Brand, s.Version,
			now.Brand, now.Version), "make a new plan"})
	}
	if s.Flushes != now.Flushes {
		out = append(out, Reason{Flushed,
			s.Address + " was emptied or its databases were swapped since (FLUSHALL, FLUSHDB, SWAPDB), or its " +
				"statistics were reset", "make a new plan"})
	}
	if !slices.Equal(s.Slots, now.Slots) {
		out = append(out, Reason{OtherTopology, s.Address + " has other slots: " + strings.Join(now.Slots,
			" ") + ", not " + strings.Join(s.Slots, " "), "make a new plan"})
	}
	return out
}

// moved compares counts by entry.
func (p *Plan) moved(now *Plan, t Tolerance) (out []Reason) {
	counts := map[string][2]int64{}
	for _, e := range p.Entries {
		counts[e.Entry] = [2]int64{max(e.Change-t.Done[e.Entry], 0), 0}
	}
	for _, e := range now.Entries {
		c := counts[e.Entry]
		c[1] = e.Change
		counts[e.Entry] = c
	}
	for _, entry := range sorted(counts) {
		was, is := counts[entry][0], counts[entry][1]
		if apart := max(was-t.Maybe[entry]-is, is-was); float64(apart) <= max(float64(t.Least), float64(was)*t.Share) {
			continue
		}
		name := entry
		if name == "" {
			name = "keys that no entry declares"
		}
		out = append(out, Reason{OtherCounts,
			fmt.Sprintf("the plan would change %d keys of %s, and now it would be %d", was, name,
				is), "make a new plan, or allow more with --drift"})
	}
	return out
}

// others compares listed changes: each must be as it was. Those that are not there any
// more may be as many as counts may move, beside those that an interrupted run made. What
// came after the plan was made is not in it, so it is not changed.
func (p *Plan) others(now *Plan, t Tolerance) (out []Reason) {
	is := map[string]*Change{}
	for i := range now.Changes {
		is[now.Changes[i].ID()] = &now.Changes[i]
	}
	gone, first, done := int64(0), (*Change)(nil), int64(0)
	for _, some := range []map[string]int64{t.Done, t.Maybe} {
		for _, n := range some {
			done += n
		}
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		n, there := is[c.ID()]
		switch {
		case !there:
			if gone++; first == nil {
				first = c
			}
		case n.Before != c.Before || n.After != c.After || n.If != c.If:
			out = append(out, Reason{OtherChange, fmt.Sprintf("%s of %q: it was %s, and now it is %s", c.Verb, string(c.Key),
				cmp.Or(c.Before, "without what is now there"), cmp.Or(n.Before, "another")), "make a new plan"})
		}
		if len(out) == maxOthers {
			return out
		}
	}
	if gone -= done; float64(gone) > float64(len(p.Changes))*t.Share {
		out = append(out, Reason{OtherChange, fmt.Sprintf("%s of %q and so on: %d of %d changes are not to be made any more",
			first.Verb, string(first.Key), gone, len(p.Changes)), "make a new plan, or allow more with --drift"})
	}
	return out
}

// maxOthers bounds how many changed changes are named.
const maxOthers = 20

// ID tells a change from the others of a plan.
func (c *Change) ID() string { return fmt.Sprintf("%s %s %d %q", c.Verb, c.Entry, c.DB, c.Key) }
