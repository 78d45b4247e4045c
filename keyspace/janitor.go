package keyspace

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace/schedule"
)

// JanitorKeys says what the keys begin with by which programs agree on who does a job, and know
// when it was done.
const JanitorKeys = "keywright:janitor:"

// Work describes what a job of the janitor does.
type Work string

// The works.
const (
	WorkAudit  Work = "audit"
	WorkSweep  Work = "sweep"  // of entities: entries in indexes that are left of expired items
	WorkClean  Work = "clean"  // by the rules of Cleanup
	WorkTTL    Work = "ttl"    // expiries that are not as declared
	WorkBackup Work = "backup" // of all keys, into an archive
)

// Job represents something that the janitor does again and again.
type Job struct {
	Name   string
	Doc    string
	Do     Work
	When   schedule.Schedule
	Entry  *Entry // of a sweep or of TTLs; nil: all entries
	Keep   int    // backups
	Pos    Pos
	Places map[string]Pos // of each property's value by name
}

// String returns the job in one line, as in "backup keep 7, cron 0 2 * * * (UTC)".
func (j *Job) String() string {
	words := []string{string(j.Do)}
	if j.Entry != nil {
		words = append(words, j.Entry.Name)
	}
	if j.Keep > 0 {
		words = append(words, "keep", strconv.Itoa(j.Keep))
	}
	return strings.Join(words, " ") + ", " + j.schedule()
}

func (j *Job) schedule() string {
	if j.When.Every > 0 {
		return "every " + FormatDuration(j.When.Every)
	}
	return j.When.String()
}

// Pressure represents one thing to do when the memory of a server runs short: it shortens
// the lifetime of items, or releases them.
type Pressure struct {
	At      int           // percent of maxmemory, from here on
	Entry   *Entry        // an entity
	Index   Index         // of Entry, with a zset per value
	Values  []string      // of Index.Field; those of the first one go first
	Shorten time.Duration // the lifetime that is left; 0: it releases
	Release int           // percent to come down to; 0: it shortens
	Pos     Pos
	Places  map[string]Pos // of each property's value by name
}

// String returns the rule in one line, as in "at 80% item where priority is 1: shorten
// to 5m".
func (r *Pressure) String() string {
	return fmt.Sprintf("at %d%% %s where %s is %s: %s", r.At, r.Entry.Name, r.Index.Field,
		strings.Join(r.Values, ", then "), r.Action())
}

// Action returns "shorten to 5m" or "release to 85%".
func (r *Pressure) Action() string {
	if r.Shorten > 0 {
		return "shorten to " + FormatDuration(r.Shorten)
	}
	return fmt.Sprintf("release to %d%%", r.Release)
}
