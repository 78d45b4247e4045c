package alert

import (
	"slices"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
)

// Kind describes what an alert is about.
type Kind string

// The kinds, the one that does the most harm first.
const (
	Away           Kind = "server-away"     // the server, or a primary of it, could not be read
	ShortMemory    Kind = "memory-short"    // a server uses more of its memory than a declared level, or 90 %
	LostReplica    Kind = "replica-lost"    // a server has fewer replicas in step than it had
	LostLease      Kind = "lease-lost"      // jobs run by workers that are dead
	LateQueue      Kind = "queue-late"      // the first job has waited for longer than the lease
	DeadQueue      Kind = "queue-dead"      // jobs were given up
	LateStream     Kind = "stream-late"     // a group has four fifths of what the stream keeps before it
	LateSweep      Kind = "sweep-late"      // items that have expired are not swept
	JobFailed      Kind = "janitor-failed"  // the latest run of a job of the janitor failed
	OldReading     Kind = "reading-old"     // a part of the server is not read as often as it should be
	NewViolation   Kind = "violation-new"   // an entry has keys that break a rule which none of its keys broke
	GrownViolation Kind = "violation-grown" // it has more of them
)

// kind says how the conditions of one kind are found in a state, and what helps.
type kind struct {
	kind   Kind
	steady bool // it does not come and go: its end is reported at once
	grows  bool // that it has grown is reported, too
	next   string
	// look returns the conditions, and which entries it says nothing about; ok: the state says something about the kind.
	look func(t *observe.Target, st *observe.State, now time.Time) (found []Condition, not []string, ok bool)
}

// kinds lists all kinds by harm. Violations are found by comparing audits.
var kinds = []kind{
	{Away, false, false, "keywright doctor asks it; look at the server and the network", away},
	{ShortMemory, false, false, "the map says which keys take the memory; keywright top lists the largest", short},
	{LostReplica, false, false, "keywright doctor lists them; what is written now may be lost with the server", lost},
	{LostLease, false, false, "start workers, which take these jobs over; keywright queues lists the dead ones", zombies},
	{LateQueue, false, false, "look at its workers: there are too few, they are stuck, or none is there", late},
	{DeadQueue, false, true, "look at the errors of its dead jobs; then retry or discard them by a plan", dead},
	{LateStream, false, false, "look at the consumers of the group: it will lose entries that it has not read", lateGroups},
	{LateSweep, false, false, "start a sweeper: keywright entities says whether one runs", unswept},
	{JobFailed, false, false, "the page of the janitor has what it did last", failed},
	{OldReading, false, false, "look at what keywright serve says on standard error, and at the rights of its user", old},
	{NewViolation, true, true, "keywright explain has what the rule is for; the findings list the keys", nil},
	{GrownViolation, true, true, "keywright explain has what the rule is for; the findings list the keys", nil},
}

// Kinds returns all kinds, the one that does the most harm first.
func Kinds() (out []Kind) {
	for _, k := range kinds {
		out = append(out, k.kind)
	}
	return out
}

// Harm returns the place of a kind in the order of harm; below 0: another version of keywright has written it.
func Harm(of Kind) int { return slices.IndexFunc(kinds, func(k kind) bool { return k.kind == of }) }

// kindOf returns what is known of a kind.
func kindOf(of Kind) (k kind) {
	if i := Harm(of); i >= 0 {
		k = kinds[i]
	}
	return k
}

// live returns the conditions of a state, but for violations.
func live(t *observe.Target, st *observe.State, now time.Time) (out []Condition, says judged) {
	says = judged{}
	if t.Server == nil {
		return nil, says
	}
	for _, k := range kinds {
		if k.look == nil {
			continue
		}
		if found, not, ok := k.look(t, st, now); ok {
			says[k.kind] = not
			for _, c := range found {
				c.Kind, c.Target, c.Next = k.kind, t.ID, k.next
				out = append(out, c)
			}
		}
	}
	return out, says
}

// Judge returns what is wrong by a state alone, the worst first. Since is known where the state says it.
func Judge(t *observe.Target, st *observe.State, now time.Time) (out []Alert) {
	found, _ := live(t, st, now)
	for _, c := range found {
		out = append(out, Alert{Condition: c, Since: c.from})
	}
	return out
}

// freshValue returns what was read, where it is a figure of now.
func freshValue[T any](r observe.Reading[T], st *observe.State, now time.Time) (value *T, ok bool) {
	return r.Value, r.Value != nil && !r.Stale(st.Began, now)
}

// unreadEntries returns the entries that a reading has not, or has not all of.
func unreadEntries(g answer.Gaps) []string {
	out := []string{}
	for _, u := range g.Unread {
		out = append(out, u.Entry)
	}
	for _, c := range g.Cut {
		out = append(out, c.Entry)
	}
	return out
}
