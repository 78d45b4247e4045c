package breaking

import (
	"slices"

	"github.com/keywright/keywright/keyspace"
)

// jobDropped: what the janitor did and does no more. When it does it may change.
func (c *context) jobDropped() {
	for _, old := range c.old.Janitor {
		if !slices.ContainsFunc(c.new.Janitor, func(j *keyspace.Job) bool { return does(j, old) && j.Keep >= old.Keep }) {
			c.report(keyspace.Pos{}, old.Pos, "", "", "the janitor does no more what the job %s did (%s)", old.Name, old)
		}
	}
}

// jobAdded: what the janitor changes and did not change before.
func (c *context) jobAdded() {
	for _, j := range c.new.Janitor {
		if j.Do == keyspace.WorkAudit || j.Do == keyspace.WorkBackup {
			continue
		}
		if !slices.ContainsFunc(c.old.Janitor, func(old *keyspace.Job) bool { return does(old, j) }) {
			c.report(j.Pos, keyspace.Pos{}, "", "", "the janitor does what the job %s says (%s), which it did not before",
				j.Name, j)
		}
	}
}

// does reports whether a job does at least what another one does.
func does(a, b *keyspace.Job) bool {
	return a.Do == b.Do && (a.Entry == nil || b.Entry != nil && a.Entry.Name == b.Entry.Name)
}
