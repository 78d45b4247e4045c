// Package alert tells people, by webhooks, what begins to be wrong with a keyspace, once,
// and when it has ended. It reads the state that package observe keeps, and asks no server.
//
// A Book knows what is wrong and who was told; it is a file, so that a restart tells
// nothing twice. A Sender posts what the Book has for it.
package alert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/gen/prometheus"
	"github.com/keywright/keywright/keyspace"
)

// Kind describes what an alert is about.
type Kind string

// The kinds.
const (
	NewViolation   Kind = "violation-new"   // an entry has keys that break a rule which none of its keys broke
	GrownViolation Kind = "violation-grown" // it has more of them
	LateQueue      Kind = "queue-late"      // the first job has waited for longer than the lease
	Away           Kind = "server-away"     // the server could not be read
	JobFailed      Kind = "janitor-failed"  // the latest run of a job of the janitor failed
)

// Condition represents something that is wrong, as long as it is there.
type Condition struct {
	ID     string `json:"id"` // the same as long as it holds, and when it comes back
	Kind   Kind   `json:"kind" enum:"violation-new,violation-grown,queue-late,server-away,janitor-failed"`
	Target string `json:"target"`
	Entry  string `json:"entry,omitempty"`
	Code   string `json:"code,omitempty"` // of the rule
	Keys   int64  `json:"keys,omitempty"` // that break the rule
	Text   string `json:"text"`           // one sentence
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
			Keys: c.keys}
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
		out = append(out, one)
	}
	return out
}

// awayFor says how long a server must be away.
const awayFor = time.Minute

// live returns the conditions of the server and its queues.
func live(t *observe.Target, st *observe.State, now time.Time) (out []Condition, says judged) {
	says = judged{}
	if t.Server == nil {
		return nil, says
	}
	if q := st.Queues; q.Value != nil && q.Failed == nil {
		says[LateQueue] = []string{}
		for _, u := range q.Value.Unread {
			says[LateQueue] = append(says[LateQueue], u.Entry)
		}
		for _, c := range q.Value.Cut {
			says[LateQueue] = append(says[LateQueue], c.Entry)
		}
		out = late(t, st)
	}
	if st.Jobs != nil {
		says[JobFailed] = nil
		out = append(out, failed(t, st)...)
	}
	if s := st.Shards; s.Value != nil || s.Failed != nil { // it is read at each glance, whatever is declared
		says[Away] = nil
		if s.Failed != nil && now.Sub(s.Failed.Since) >= awayFor { // one failure says little
			out = append(out, Condition{ID: t.ID + "/server", Kind: Away, Target: t.ID,
				Text: "the server does not answer: " + s.Failed.What})
		}
	}
	return out, says
}

// overdue says how long a job may wait until that is told.
const overdue = time.Hour

// failed returns the jobs of the janitor whose latest run failed, or that have waited for too long. A
// job that runs, or waits for another program, says nothing new: it is as it was.
func failed(t *observe.Target, st *observe.State) (out []Condition) {
	for _, j := range st.Jobs {
		c := Condition{ID: t.ID + "/janitor/" + j.Name, Kind: JobFailed, Target: t.ID}
		switch {
		case j.Failures > 0:
			c.Text = fmt.Sprintf("the job %s of the janitor failed: %s", j.Name, j.Did)
		case j.Waits != "" && t.Now().Sub(j.Next) >= overdue:
			c.Text = fmt.Sprintf("the job %s of the janitor has waited since %s: %s", j.Name,
				j.Next.UTC().Format(time.RFC3339), j.Why)
		default:
			continue
		}
		out = append(out, c)
	}
	return out
}

// late returns the queues whose first job has waited for longer than a lease.
func late(t *observe.Target, st *observe.State) (out []Condition) {
	leases := map[string]time.Duration{}
	for _, e := range t.Declaration.Keyspace.Entries {
		if e.Construct == keyspace.Queue {
			leases[e.Name] = prometheus.Lease(e)
		}
	}
	for _, q := range st.Queues.Value.Queues {
		lease, known := leases[q.Entry]
		for _, l := range q.Lanes {
			waited := time.Duration(l.Oldest * float64(time.Second))
			if !known || waited <= lease || q.Paused {
				continue
			}
			name := strings.TrimSpace(q.Title() + " " + l.Lane)
			out = append(out, Condition{ID: t.ID + "/queue/" + strings.ReplaceAll(name, " ", "/"), Kind: LateQueue,
				Target: t.ID, Entry: q.Entry, Text: fmt.Sprintf(
					"the queue %s is late: its first job has waited for longer than the lease of %s; %d wait",
					finding.Printable(name), keyspace.FormatDuration(lease), l.Jobs)})
		}
	}
	return out
}
