package rdb

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/source"
)

func (r *reader) summary() source.Summary {
	sum := source.Summary{
		Server: r.server(), Endpoint: r.options.Name, Shards: 1, Databases: r.dbs, Keys: r.keys, Expected: r.expected,
		Expired: r.expired, Estimated: r.req.Bytes, Notes: r.notes, Incomplete: r.incomplete,
	}
	if r.members > 0 {
		lost := source.Why(source.MembersExpire, "", nil)
		lost.Keys = r.members
		sum.Incomplete = sum.Incomplete.Add(lost)
	}
	sum.Notes = append(sum.Notes, r.beside()...)
	if r.expires && r.aux["ctime"] == "" {
		sum.Notes = append(sum.Notes,
			"the snapshot does not say when it was made: TTLs are what is left at "+
				time.UnixMilli(r.now).UTC().Format(time.RFC3339))
	}
	if r.options.Clock != nil {
		sum.Elapsed = r.options.Clock().Sub(r.started)
	}
	return sum
}

// beside tells what the snapshot holds beside keys.
func (r *reader) beside() (notes []string) {
	if r.libraries > 0 && (r.contents == nil || r.contents.Library == nil) {
		notes = append(notes, fmt.Sprintf("libraries of functions in the snapshot, which are no keys: %d", r.libraries))
	}
	if len(r.modules) > 0 {
		notes = append(notes, "the snapshot has data of modules that are in no key: "+strings.Join(r.modules, ", "))
	}
	var names []string
	for name, n := range r.unknown {
		names = append(names, fmt.Sprintf("%q (%d times)", name, n))
	}
	slices.Sort(names)
	if r.unlisted > 0 {
		names = append(names, fmt.Sprintf("and %d more", r.unlisted))
	}
	if len(names) > 0 {
		notes = append(notes, "the snapshot has fields that this keywright does not know: "+strings.Join(names, ", "))
	}
	return notes
}

// server returns who wrote the snapshot, for people.
func (r *reader) server() string {
	name := "snapshot"
	for _, program := range []struct{ name, field string }{{"dragonfly", "df-ver"}, {"valkey", "valkey-ver"},
		{"redis", "redis-ver"}} {
		if v := r.aux[program.field]; v != "" {
			name = program.name + " " + strings.TrimPrefix(v, "df-") + " snapshot"
			break
		}
	}
	if r.version > 0 {
		name += fmt.Sprintf(" (RDB %d)", r.version)
	}
	if taken := r.aux["ctime"]; taken != "" {
		name += " of " + time.UnixMilli(r.now).UTC().Format(time.RFC3339)
	}
	return name
}
