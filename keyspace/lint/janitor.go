package lint

import (
	"slices"

	"github.com/keywright/keywright/keyspace"
)

// idleJobs reports jobs that have nothing to do.
func (c *context) idleJobs() {
	for _, j := range c.Janitor {
		some, what := true, ""
		switch j.Do {
		case keyspace.WorkClean:
			some, what = len(c.Cleanup) > 0, "there is no cleanup rule"
		case keyspace.WorkSweep:
			some, what = slices.ContainsFunc(c.Entries, func(e *keyspace.Entry) bool { return e.Construct == keyspace.Entity }),
				"there is no entity"
		case keyspace.WorkTTL:
			some, what = slices.ContainsFunc(c.Entries, func(e *keyspace.Entry) bool {
				return e.TTL.Policy != keyspace.TTLAny && (j.Entry == nil || j.Entry == e)
			}), "no entry says how long its keys live"
		}
		if !some {
			c.report(j.Places["do"], "", "", "the job %s (%s) does nothing: %s", j.Name, j.Do, what)
		}
	}
}

// cleanupNeverRun reports clean-up rules that no job executes.
func (c *context) cleanupNeverRun() {
	cleans := slices.ContainsFunc(c.Janitor, func(j *keyspace.Job) bool { return j.Do == keyspace.WorkClean })
	if len(c.Janitor) > 0 && len(c.Cleanup) > 0 && !cleans {
		c.report(c.Cleanup[0].Pos, "", "", "no job of the janitor executes the clean-up rules")
	}
}
