// Package alert tells people, by webhooks, what begins to be wrong with a keyspace, once,
// and when it has ended. It reads the state that package observe keeps, and asks no server.
//
// A Book knows what is wrong and what was reported; it is a file, so that a restart tells
// nothing twice. A Sender posts what the Book has for it.
package alert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/gen/prometheus"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
)

// Condition represents something that is wrong, as long as it is there.
type Condition struct {
	ID     string `json:"id"`   // the same as long as it holds, and when it comes back
	Kind   Kind   `json:"kind"` // Kinds has all
	Target string `json:"target"`
	Entry  string `json:"entry,omitempty"`
	Code   string `json:"code,omitempty"`  // of the rule
	Keys   int64  `json:"keys,omitempty"`  // that break the rule
	Count  int64  `json:"count,omitempty"` // keys, jobs, entries of a stream or items that are meant
	Text   string `json:"text"`            // one sentence
	Next   string `json:"next,omitempty"`  // what helps
	// the page of the dashboard that shows it, as the parts of its path
	Page []string  `json:"page,omitempty"`
	from time.Time // since when it is so, where the state says that
}

// judged holds the kinds that a state says something about, each with the entries that it says
// nothing about: what it does not say has not ended.
type judged map[Kind][]string

// says reports whether a condition that is not there has ended.
func (j judged) says(c *Condition) bool {
	not, judged := j[c.Kind]
	return judged && !slices.Contains(not, c.Entry)
}

// audited describes what the violations of an audit are, by code and entry.
type audited map[string]count

type count struct {
	entry, code, message string
	keys                 int64
}

// violations returns those of a whole audit that is not a sample, nil without one.
func violations(st *observe.State) audited {
	if st.Audit == nil || !st.Audit.All() {
		return nil
	}
	out := audited{}
	for _, f := range st.Audit.Report.Findings {
		if f.Count == 0 {
			continue
		}
		name := f.Code + "/" + f.Entry
		one := out[name]
		out[name] = count{f.Entry, f.Code, f.Message, one.keys + f.Count}
	}
	return out
}

// grown says from when on there are more than there were: a tenth, and ten keys.
func grown(known, now int64) bool { return now > known+max(known/10, 10) }

// violated returns the conditions of violations, compared with what is known.
func violated(target string, now audited, known map[string]int64) (out []Condition) {
	for name, c := range now {
		before, was := known[name]
		one := Condition{ID: target + "/violation/" + name, Target: target, Entry: c.entry, Code: c.code,
			Keys: c.keys, Count: c.keys, Page: []string{"findings"}}
		switch {
		case !was:
			one.Kind, one.Text = NewViolation, fmt.Sprintf("%s: %s (%s), which there was not before", c.code,
				c.message, terminal.Plural(c.keys, "key"))
		case grown(before, c.keys):
			one.Kind, one.Text = GrownViolation, fmt.Sprintf("%s: %s: %d keys, there were %d", c.code, c.message,
				c.keys, before)
		default:
			continue
		}
		one.Next = kindOf(one.Kind).next
		out = append(out, one)
	}
	return out
}

// awayFor says how long a server must be away.
const awayFor = time.Minute

// away tells of a server that does not answer. One failure says little.
func away(t *observe.Target, st *observe.State, now time.Time) (out []Condition, not []string, ok bool) {
	s, f := st.Shards, st.Away()
	if f != nil && now.Sub(f.Since) >= awayFor {
		out = append(out, Condition{ID: t.ID + "/server", Page: []string{"server"}, from: f.Since,
			Text: "the server does not answer: " + f.What})
	} else if s.Value != nil {
		for _, shard := range *s.Value {
			if shard.Away != "" && now.Sub(shard.Since) >= awayFor {
				out = append(out, Condition{ID: t.ID + "/server/" + shard.Address, Page: []string{"server"}, from: shard.Since,
					Text: "the primary " + shard.Address + " does not answer: " + shard.Away})
			}
		}
	}
	return out, nil, s.Value != nil || s.Failed != nil || f != nil
}

// broken returns that a target cannot be watched, which is as bad as a server that is away.
func broken(target, why string) Condition {
	return Condition{ID: target + "/target", Kind: Away, Target: target, Text: "the target is not watched: " + why,
		Next: "mend its lines in the file of --targets, or its declaration"}
}

// old tells of what is not read as often as it should be. Of a server that is away all is old, which is reported once;
// from its return on a part has as long as it has from one reading to the next.
func old(t *observe.Target, st *observe.State, now time.Time) (out []Condition, not []string, ok bool) {
	if st.Away() != nil {
		return nil, nil, false
	}
	for _, p := range st.Parts() {
		due := *p.Mark
		due.At = latest(due.At, st.Back)
		if due.Failed != nil && due.Failed.At.Before(st.Back) {
			due.Failed = nil // it was not tried since then
		}
		if !due.Stale(st.Began, now) ||
			due.Failed != nil && now.Sub(latest(due.Failed.Since, st.Back)) < awayFor {
			continue
		}
		c := Condition{ID: t.ID + "/reading/" + p.Name, Page: []string{p.Name}, from: cmp.Or(p.At, st.Began),
			Text: fmt.Sprintf("what is known of %s is old: it should be read every %s", parts[p.Name],
				keyspace.FormatDuration(p.Every.Round(time.Second)))}
		if p.At.IsZero() {
			c.Text = fmt.Sprintf("nothing is known of %s yet", parts[p.Name])
		}
		if p.Failed != nil {
			c.Text += ": " + p.Failed.What
		}
		if page, own := partPages[p.Name]; own {
			c.Page = page
		}
		out = append(out, c)
	}
	return out, nil, true
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// parts and partPages say what is read, in words, and which page shows it, where its name does not.
var (
	parts = map[string]string{"audit": "the keys", "server": "the server's settings", "shards": "memory and replicas",
		"queues": "the queues", "streams": "the streams", "locks": "the locks", "entities": "the entities",
		"rankings": "the rankings", "migrations": "the migrations"}
	partPages = map[string][]string{"audit": {}, "shards": {"server"}}
)

// short tells of servers that use much of their memory: more than the first level that is declared.
func short(t *observe.Target, st *observe.State, now time.Time) (out []Condition, not []string, ok bool) {
	shards, ok := freshValue(st.Shards, st, now)
	if !ok {
		return nil, nil, false
	}
	level := prometheus.Levels(t.Declaration.Keyspace)[0]
	for _, s := range *shards {
		if s.Memory == nil || s.MaxMemory == nil || *s.MaxMemory == 0 || *s.Memory*100 <= *s.MaxMemory*int64(level) {
			continue
		}
		out = append(out, Condition{ID: t.ID + "/memory/" + s.Address, Page: []string{"server"}, Text: fmt.Sprintf(
			"%s uses %d %% of its memory (%d of %d bytes); %d %% is much", s.Address, *s.Memory*100 / *s.MaxMemory, *s.Memory,
			*s.MaxMemory, level)})
	}
	return out, nil, true
}

// lost tells of servers that have fewer replicas in step than they had.
func lost(t *observe.Target, st *observe.State, now time.Time) (out []Condition, not []string, ok bool) {
	shards, ok := freshValue(st.Shards, st, now)
	if !ok {
		return nil, nil, false
	}
	for _, s := range *shards {
		if s.Away == "" && s.Replicas < s.Expected {
			out = append(out, Condition{ID: t.ID + "/replica/" + s.Address, Page: []string{"server"}, Text: fmt.Sprintf(
				"%s has %d of %d replicas in step", s.Address, s.Replicas, s.Expected)})
		}
	}
	return out, nil, true
}

// overdue says how long a job may wait until that is reported.
const overdue = time.Hour

// failed returns the jobs of the janitor whose latest run failed, or that have waited for too long. A
// job that runs, or waits for another program, says nothing new: it is as it was.
func failed(t *observe.Target, st *observe.State, now time.Time) (out []Condition, not []string, ok bool) {
	for _, j := range st.Jobs {
		c := Condition{ID: t.ID + "/janitor/" + j.Name, Page: []string{"janitor"}}
		switch {
		case j.Failures > 0:
			c.Text, c.from = fmt.Sprintf("the job %s of the janitor failed: %s", j.Name, j.Did), j.Ended
		case j.Waits != "" && now.Sub(j.Next) >= overdue:
			c.Text, c.from = fmt.Sprintf("the job %s of the janitor has waited since %s: %s", j.Name,
				j.Next.UTC().Format(time.RFC3339), j.Why), j.Next
		default:
			continue
		}
		out = append(out, c)
	}
	return out, nil, st.Jobs != nil
}

// queued tells of queues: of each what look finds.
func queued(t *observe.Target, st *observe.State, now time.Time, part string,
	look func(q *answer.Queue) (keys int64, from time.Time, text string)) (out []Condition, not []string, ok bool) {
	queues, ok := freshValue(st.Queues, st, now)
	if !ok {
		return nil, nil, false
	}
	for i := range queues.Queues {
		q := &queues.Queues[i]
		keys, from, text := look(q)
		if keys == 0 {
			continue
		}
		instance := "-"
		if q.Queue != nil {
			instance = string(*q.Queue)
		}
		out = append(out, Condition{ID: t.ID + "/" + part + "/" + strings.ReplaceAll(q.Title(), " ", "/"), Entry: q.Entry,
			Count: keys, Page: []string{"queues", q.Entry, instance}, from: from,
			Text: fmt.Sprintf("the queue %s %s", finding.Printable(q.Title()), text)})
	}
	return out, unreadEntries(queues.Gaps), true
}

// zombies tells of jobs whose worker is dead.
func zombies(t *observe.Target, st *observe.State, now time.Time) (out []Condition, not []string, ok bool) {
	return queued(t, st, now, "lease", func(q *answer.Queue) (int64, time.Time, string) {
		return q.Zombies, time.Time{}, fmt.Sprintf("has %s whose worker is dead", terminal.Plural(q.Zombies, "job"))
	})
}

// dead tells of jobs that were given up.
func dead(t *observe.Target, st *observe.State, now time.Time) (out []Condition, not []string, ok bool) {
	return queued(t, st, now, "dead", func(q *answer.Queue) (int64, time.Time, string) {
		return q.Dead, q.Since, fmt.Sprintf("has %s", terminal.Plural(q.Dead, "dead job"))
	})
}

// late tells of queues whose first job has waited for longer than a lease, by lane.
func late(t *observe.Target, st *observe.State, now time.Time) (out []Condition, not []string, ok bool) {
	queues, ok := freshValue(st.Queues, st, now)
	if !ok {
		return nil, nil, false
	}
	for _, q := range queues.Queues {
		e, _ := t.Declaration.Lookup(q.Entry)
		if e == nil || q.Paused {
			continue
		}
		for _, l := range q.Lanes {
			waited, lease := time.Duration(l.Oldest*float64(time.Second)), prometheus.Lease(e)
			if waited <= lease {
				continue
			}
			name, instance := strings.TrimSpace(q.Title()+" "+l.Lane), "-"
			if q.Queue != nil {
				instance = string(*q.Queue)
			}
			c := Condition{ID: t.ID + "/queue/" + strings.ReplaceAll(name, " ", "/"), Entry: q.Entry, Count: l.Jobs,
				Page: []string{"queues", q.Entry, instance}, from: st.Queues.At.Add(lease - waited), Text: fmt.Sprintf(
					"the queue %s is late: its first job has waited for longer than the lease of %s; %d wait",
					finding.Printable(name), keyspace.FormatDuration(lease), l.Jobs)}
			if len(q.Workers) == 0 {
				c.Text += ", and no worker is there"
			}
			out = append(out, c)
		}
	}
	return out, unreadEntries(queues.Gaps), true
}

// lateGroups tells of groups that will lose entries which they have not read: those of streams with a length.
func lateGroups(t *observe.Target, st *observe.State, now time.Time) (out []Condition, not []string, ok bool) {
	streams, ok := freshValue(st.Streams, st, now)
	if !ok {
		return nil, nil, false
	}
	for _, s := range streams.Streams {
		e, _ := t.Declaration.Lookup(s.Entry)
		for _, g := range s.Groups {
			if e == nil || e.MaxLen <= 0 || g.Lag == nil || *g.Lag <= prometheus.MostLag(e) {
				continue
			}
			out = append(out, Condition{ID: t.ID + "/stream/" + string(s.Key) + "/" + string(g.Name), Entry: s.Entry,
				Count: *g.Lag, Page: []string{"streams"}, Text: fmt.Sprintf(
					"the group %s of the stream %s has not read %d entries, of which about %d are kept",
					finding.Key(g.Name), finding.Key(s.Key), *g.Lag, e.MaxLen)})
		}
	}
	return out, unreadEntries(streams.Gaps), true
}

// mostLate says how long items that have expired may wait to be swept.
const mostLate = 5 * time.Minute

// unswept tells of entities whose items are not swept.
func unswept(t *observe.Target, st *observe.State, now time.Time) (out []Condition, not []string, ok bool) {
	entities, ok := freshValue(st.Entities, st, now)
	if !ok {
		return nil, nil, false
	}
	for _, e := range entities.Entities {
		waited := time.Duration(e.Late * float64(time.Second))
		if waited <= mostLate {
			continue
		}
		name := e.Entry
		if e.Of != nil {
			name += " " + finding.Key(*e.Of)
		}
		out = append(out, Condition{ID: t.ID + "/sweep/" + strings.ReplaceAll(name, " ", "/"), Entry: e.Entry,
			Count: e.Expired, Page: []string{"entities"}, from: st.Entities.At.Add(mostLate - waited),
			Text: fmt.Sprintf("%d items of %s have expired and are not swept", e.Expired, finding.Printable(name))})
	}
	return out, unreadEntries(entities.Gaps), true
}
