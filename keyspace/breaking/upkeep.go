package breaking

import (
	"fmt"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/pattern"
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

// pressureWidened: items that a rule takes now and none took before.
func (c *context) pressureWidened() {
	for i := range c.new.Pressure {
		r := &c.new.Pressure[i]
		for _, value := range r.Values {
			if !slices.ContainsFunc(c.old.Pressure, func(old keyspace.Pressure) bool { return covers(&old, r, value) }) {
				c.report(r.Pos, keyspace.Pos{}, r.Entry.Name, "",
					"at %d%% items of %s where %s is %s go (%s), which they did not before", r.At, r.Entry.Name, r.Index.Field, value,
					r.Action())
				break
			}
		}
	}
}

// covers reports whether the old rule does at least as much with a value.
func covers(old, new *keyspace.Pressure, value string) bool {
	same := old.Entry.Name == new.Entry.Name && old.Index.Field == new.Index.Field && slices.Contains(old.Values, value) &&
		old.At <= new.At
	if new.Shorten == 0 {
		return same && old.Shorten == 0 && old.Release <= new.Release
	}
	return same && (old.Shorten == 0 || old.Shorten <= new.Shorten)
}

// cleanupWidened: keys that a rule takes now and none of the same kind took
// before.
func (c *context) cleanupWidened() {
	for _, rule := range c.new.Cleanup {
		var before []*pattern.Pattern
		for _, old := range c.old.Cleanup {
			if (old.Idle > 0) == (rule.Idle > 0) && (old.Keep > 0) == (rule.Keep > 0) && old.Idle <= rule.Idle &&
				old.Older <= rule.Older && old.Keep <= rule.Keep {
				before = append(before, old.Match.Pattern)
			}
		}
		union, err := pattern.Join(before...)
		if err != nil {
			continue
		}
		witness, ok := union.Contains(rule.Match.Pattern)
		if len(before) == 0 {
			witness, ok = rule.Match.Pattern.Example(), false
		}
		if same := c.sameCleanup(rule); !ok && same != nil {
			c.report(rule.Pos, same.Pos, "", "", "the clean-up of %s takes keys %s, and took them %s", rule.Match.Text,
				after(rule), after(*same))
		} else if !ok {
			c.report(rule.Pos, keyspace.Pos{}, "", "", "the clean-up of %s may take %s, which it could not before",
				rule.Match.Text, finding.Key(witness))
		}
	}
}

// sameCleanup returns the old rule for the same keys.
func (c *context) sameCleanup(rule keyspace.Cleanup) *keyspace.Cleanup {
	for i, old := range c.old.Cleanup {
		if old.Match.Text == rule.Match.Text {
			return &c.old.Cleanup[i]
		}
	}
	return nil
}

// after says when a rule takes a key.
func after(rule keyspace.Cleanup) string {
	switch {
	case rule.Keep > 0:
		return fmt.Sprintf("that are not among the newest %d", rule.Keep)
	case rule.Idle > 0:
		return "that were not used for " + keyspace.FormatDuration(rule.Idle)
	case rule.Older > 0:
		return "that are older than " + keyspace.FormatDuration(rule.Older)
	}
	return "at once"
}
