// Package fit says what a server lacks to be the only place of the records of a part. It changes nothing.
package fit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/record"
)

// Facts describes what a server says of itself, with what a part needs.
type Facts struct {
	Info    topology.Info
	Config  map[string]string // nil: CONFIG GET is refused
	Planned int64             // bytes that are not yet imported
	Expires bool              // an entry of the part has a TTL
}

// Lacks returns what the server lacks for one part. The error says why it could not be asked all; it is
// among what it lacks, too.
func Lacks(ctx context.Context, s *store.Server, p documents.PartOf, planned int64,
	wrong func(op, part string, err error) error) (out []string, unanswered error) {
	raw, err := s.Raw()
	if err != nil {
		return []string{err.Error()}, err
	}
	text, err := raw.Do(ctx, raw.B().Info().Build()).ToString()
	if err != nil {
		return []string{"INFO is not answered: " + wrong("look at the server", "", err).Error()}, store.Unrefused(err)
	}
	is := Facts{Info: topology.ParseInfo(text)}
	config, err := raw.Do(ctx, raw.B().ConfigGet().Parameter("appendfsync").Build()).AsStrMap()
	if store.Unrefused(err) != nil {
		return []string{"CONFIG GET is not answered: " + wrong("look at the server", "", err).Error()}, err
	}
	is.Config = config
	is.Planned = planned
	for _, mv := range p.Moves {
		is.Expires = is.Expires || mv.TTL.Policy == keyspace.TTLExpires
	}
	lacks, unanswered := rights(ctx, s, p, wrong)
	return append(is.Lacks(), lacks...), unanswered
}

// rights returns the entries that the login may not write by script. No part has the name that
// is tried with, so that nothing is changed.
func rights(ctx context.Context, s *store.Server, p documents.PartOf,
	wrong func(op, part string, err error) error) (out []string, unanswered error) {
	if _, err := s.TicketOp("", 0, 0).Do(ctx); err != nil {
		return []string{"the scripts of a migration do not run: " + wrong("try a script", "", err).Error()},
			store.Unrefused(err)
	}
	for _, mv := range p.Moves {
		if mv.Example == "" || store.KindOf[mv.Kind] == "" {
			continue
		}
		try := store.Put{Ticket: "1", Items: []store.Item{{Move: mv, ID: record.ID{Move: mv.Name, Key: mv.Example}}}}
		if _, err := s.Put(try).Do(ctx); err != nil {
			out = append(out, "the login may not write the keys of "+mv.Name+": "+wrong("try a script", "", err).Error())
			unanswered = errors.Join(unanswered, store.Unrefused(err))
		}
	}
	return out, unanswered
}

// Lacks returns what the server lacks, a sentence each.
func (s Facts) Lacks() (out []string) {
	for _, rule := range fitness {
		if lack := rule(s); lack != "" {
			out = append(out, lack)
		}
	}
	return out
}

// fitness has a rule for each thing that a server may lack.
var fitness = []func(s Facts) string{
	func(s Facts) string {
		policy := s.Info["maxmemory_policy"]
		if policy == "noeviction" || policy == "" || strings.HasPrefix(policy, "volatile-") && !s.Expires {
			return ""
		}
		return "maxmemory-policy " + policy + " throws records away when the memory is full: set noeviction"
	},
	func(s Facts) string {
		most, of := s.Info.Int("maxmemory"), "maxmemory"
		if most == 0 {
			most, of = s.Info.Int("total_system_memory"), "the memory of the machine"
		}
		used := s.Info.Int("used_memory")
		if most == 0 || used+s.Planned < most/10*8 {
			return ""
		}
		return fmt.Sprintf("%s are %d bytes, %d are used and the plan needs %d more: at most 80 %% may be used, since "+
			"records grow", of, most, used, s.Planned)
	},
	func(s Facts) string {
		if s.Info["role"] == "master" || s.Info["role"] == "" {
			return ""
		}
		return "it is a replica"
	},
	func(s Facts) string {
		for i := range s.Info.Int("connected_slaves") {
			if state := s.Info["slave"+strconv.FormatInt(i, 10)]; !strings.Contains(state, "state=online") {
				return "a replica is not online"
			}
		}
		return ""
	},
	func(s Facts) string {
		if s.Info["aof_last_write_status"] == "err" || s.Info["rdb_last_bgsave_status"] == "err" {
			return "its last write to the disk has failed"
		}
		return ""
	},
	func(s Facts) string {
		if s.Info["aof_enabled"] == "1" {
			return ""
		}
		return "appendonly is off: a crash loses what was written since the last snapshot; set appendonly yes"
	},
	func(s Facts) string {
		if s.Info["aof_enabled"] != "1" || s.Config["appendfsync"] != "no" {
			return ""
		}
		return "appendfsync is no: a crash of the machine loses what the kernel has not written; set everysec or always"
	},
}
