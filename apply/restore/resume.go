package restore

import (
	"maps"
	"time"

	"github.com/keywright/keywright/apply/journal"
)

// progress describes how far a restore with a journal has come. Records are decided about by
// several writers; those before at all are, and a run that goes on begins there.
type progress struct {
	journal *journal.Journal
	skip    int64 // records that earlier runs have decided about
	given   int64 // records so far
	at      int64
	counts  map[int]journal.Counts // of the records before at, by entry
	decided map[int64]decision
	written time.Time
}

// decision describes what became of a record.
type decision struct {
	entry  int
	counts journal.Counts // of its key; zero for a part that is not the last
}

// Bounds of what is decided about and not written down, and how often it is. Above the
// first nothing more is, and a run that goes on looks at the others again.
var maxDecided = 1 << 16

const noteEvery = 100 * time.Millisecond

// resume begins where the runs before ended, and reports what they did. It writes that down,
// so that nothing is restored where the journal cannot be written.
func (r *restore) resume() error {
	j := r.Journal
	if j == nil {
		return nil
	}
	p := &progress{journal: j, skip: int64(j.Last.At), at: int64(j.Last.At), counts: map[int]journal.Counts{},
		decided: map[int64]decision{}}
	maps.Copy(p.counts, j.Last.Restored)
	for entry, c := range p.counts {
		r.add(entry, func(sum *journal.Counts) { sum.Plus(&c) })
		r.report.More += c.Refused + c.Left
		if r.Existing == Fail {
			r.report.More += c.Existing
		}
	}
	r.progress = p
	return p.note(false)
}

// next gives a record its number. done: a run before has decided about it.
func (p *progress) next() (seq int64, done bool) {
	if p == nil {
		return 0, false
	}
	p.given++
	return p.given - 1, p.given <= p.skip
}

// decide notes what became of a record; it is called with the lock of the run.
func (p *progress) decide(seq int64, d decision) error {
	if p == nil || seq < p.at {
		return nil
	}
	if len(p.decided) < maxDecided || seq == p.at {
		p.decided[seq] = d
	}
	for {
		d, ok := p.decided[p.at]
		if !ok {
			break
		}
		delete(p.decided, p.at)
		p.at++
		c := p.counts[d.entry]
		c.Plus(&d.counts)
		if c != (journal.Counts{}) {
			p.counts[d.entry] = c
		}
	}
	if time.Since(p.written) < noteEvery {
		return nil
	}
	p.written = time.Now()
	return p.note(false)
}

// note writes down how far the run has come.
func (p *progress) note(end bool) error {
	p.journal.At = int(p.at)
	return p.journal.Write(journal.Line{At: int(p.at), Restored: maps.Clone(p.counts), End: end})
}

// end returns note for the last time; whole says that everything was decided about, and all is
// what was counted then by entry.
func (p *progress) end(whole bool, all map[int]*journal.Counts) error {
	if p == nil {
		return nil
	}
	if whole {
		p.at = p.given
		for entry, c := range all {
			p.counts[entry] = *c
		}
	}
	return p.note(whole)
}
