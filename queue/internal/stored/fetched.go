package stored

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright/kernel"
)

// Fetched describes what one call brings.
type Fetched struct {
	Jobs   []Claimed
	Lost   []string      // of the settlements
	Faults []string      // what is wrong with keys that only some jobs need
	Due    time.Duration // until something may be there, negative: unknown
	Dead   []Buried      // settled or not
	Paused bool
}

// Buried represents a job that has died with a call, as the server says.
type Buried struct {
	ID, Reason        string
	Attempts, Crashes int64

	Cause error // of its settlement; nil: its workers died
}

// Read takes the reply of the script apart.
func Read(out []kernel.Value, token string, sent time.Time) (f Fetched, err error) {
	if len(out) != 9 {
		return f, fmt.Errorf("the script answered %d values", len(out))
	}
	due, err := out[0].AsInt64()
	if err != nil {
		return f, err
	}
	paused, _ := out[5].ToString()
	f.Due, f.Lost, f.Paused, f.Dead = time.Duration(due)*time.Microsecond, Texts(out[1]), paused != "",
		readBuried(Texts(out[6]))
	f.Faults = Texts(out[7])
	ids, jobs := Texts(out[2]), Texts(out[3])
	tried, err := out[4].AsIntSlice()
	if err != nil {
		return f, err
	}
	fence, err := out[8].AsInt64()
	if err != nil {
		return f, err
	}
	if len(jobs) != len(ids) || len(tried)%5 != 0 {
		return f, fmt.Errorf("the script answered %d ids, %d jobs and %d numbers", len(ids), len(jobs), len(tried))
	}
	if len(ids) > 0 {
		f.Jobs = make([]Claimed, len(ids))
	}
	for i, id := range ids {
		f.Jobs[i] = Claimed{ID: id, Attempt: 1, Fence: fence, Token: token, Sent: sent}
		f.Jobs[i].Parse(jobs[i])
	}
	for ; len(tried) > 0; tried = tried[5:] {
		if n := tried[0]; n >= 1 && n <= int64(len(ids)) {
			j := &f.Jobs[n-1]
			j.Attempt, j.Fence, j.Crashes, j.Doubtful = tried[1], tried[2], tried[3], tried[4] >= doubts
		}
	}
	return f, nil
}

// readBuried reads four texts per job that has died.
func readBuried(all []string) (out []Buried) {
	for ; len(all) >= 4; all = all[4:] {
		d := Buried{ID: all[0], Reason: all[1]}
		d.Attempts, _ = strconv.ParseInt(all[2], 10, 64)
		d.Crashes, _ = strconv.ParseInt(all[3], 10, 64)
		out = append(out, d)
	}
	return out
}

// doubts says how many leases of a job may end before its workers say that its
// handler begins. From then on it is known which crashes are its own.
const doubts = 2

// Of takes out of what a call has brought what is about some settlements: the ids
// that were not their worker's any more, and the jobs that have died.
func (f *Fetched) Of(settled []Settlement) (lost []string, dead []Buried) {
	if len(f.Lost)+len(f.Dead) == 0 {
		return nil, nil
	}
	for _, s := range settled {
		if i := slices.Index(f.Lost, s.ID); i >= 0 {
			lost, f.Lost = append(lost, s.ID), slices.Delete(f.Lost, i, i+1)
			continue
		}
		if i := slices.IndexFunc(f.Dead, func(d Buried) bool { return d.ID == s.ID && s.Fatal != nil }); i >= 0 {
			f.Dead[i].Cause = s.Fatal
			dead, f.Dead = append(dead, f.Dead[i]), slices.Delete(f.Dead, i, i+1)
		}
	}
	return lost, dead
}

// Texts returns a list of texts; nil for what is none.
func Texts(m kernel.Value) []string {
	all, _ := m.AsStrSlice()
	return all
}
