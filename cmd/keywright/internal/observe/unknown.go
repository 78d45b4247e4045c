package observe

import (
	"fmt"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/keyspace/finding"
)

// Why nothing is known.
const (
	NoServer = "a snapshot file is shown: there is no server to ask" // of what is live
	NotYet   = "it was not read yet"
)

// Unknown represents a part of a target of which not all is known as it is now.
type Unknown struct {
	Part, Why string
	Stale     bool // it was not read in time; else something in it was left unread
}

// Unknown returns the parts of which not all is known as it is now: what the latest attempt did not read, what is old,
// and what was left unread. st is a state of the target.
func (t *Target) Unknown(st *State, now time.Time) (out []Unknown) {
	parts := st.Parts()
	if t.Server == nil {
		parts = []Part{{"audit", &st.Audits}}
		out = append(out, Unknown{"server", NoServer, false})
	}
	for _, p := range parts {
		stale, why := p.Stale(st.Began, now), st.lacks(p.Name)
		switch {
		case p.Failed != nil:
			why = append([]string{p.Failed.What}, why...)
		case p.At.IsZero() && len(why) == 0:
			why = []string{NotYet}
		case stale:
			why = append([]string{"it is old: it was read at " + p.At.UTC().Format(time.RFC3339)}, why...)
		}
		if len(why) > 0 {
			out = append(out, Unknown{p.Name, Reasons(why), stale})
		}
	}
	return out
}

// lacks says what was left unread in a part of a target.
func (s *State) lacks(part string) (why []string) {
	gaps := func(g *answer.Gaps) { why = append(why, g.Lacks()...) }
	switch {
	case part == "audit":
		if a := s.Partial; a != nil {
			return []string{"the audit was not whole: " + finding.Printable(a.Report.Incomplete.String())}
		} else if a := s.Audit; a != nil && !a.All() {
			return []string{a.Sample()}
		}
	case part == "server" && s.Server.Value != nil:
		for _, f := range s.Server.Value.NotKnown {
			why = append(why, "not known: "+finding.Printable(f.Name+": "+f.Value))
		}
	case part == "shards" && s.Shards.Value != nil:
		for _, one := range *s.Shards.Value {
			if one.Away != "" {
				why = append(why, "the primary "+one.Address+" does not answer: "+one.Away)
			}
		}
	case part == "queues" && s.Queues.Value != nil:
		gaps(&s.Queues.Value.Gaps)
	case part == "streams" && s.Streams.Value != nil:
		gaps(&s.Streams.Value.Gaps)
	case part == "locks" && s.Locks.Value != nil:
		gaps(&s.Locks.Value.Gaps)
	case part == "entities" && s.Entities.Value != nil:
		gaps(&s.Entities.Value.Gaps)
	case part == "rankings" && s.Rankings.Value != nil:
		gaps(&s.Rankings.Value.Gaps)
	case part == "migrations" && s.Moves.Value != nil:
		for _, m := range *s.Moves.Value {
			if m.Away != "" && !m.Absent { // one that has not begun lacks nothing
				why = append(why, m.Name+": "+finding.Printable(m.Away))
			}
		}
	}
	return why
}

// Sample says of how many keys the audit of a sample is.
func (a *Audit) Sample() string {
	return fmt.Sprintf("it is a sample of %d keys of %d", a.Report.Total.Keys, a.Report.Expected)
}

// mostReasons bounds how many reasons are listed.
const mostReasons = 5

// Reasons returns reasons as one text.
func Reasons(why []string) string {
	if len(why) > mostReasons {
		why = append(why[:mostReasons:mostReasons], "and more")
	}
	return strings.Join(why, "; ")
}
