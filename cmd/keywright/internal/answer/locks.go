package answer

import (
	"context"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
)

// Locks holds the locks that are held or waited for; its JSON names are stable.
type Locks struct {
	Locks []Lock `json:"locks"`
	Gaps
}

// Lock represents one lock.
type Lock struct {
	Entry   string           `json:"entry"`
	Key     finding.JSONKey  `json:"key"`
	Holder  *finding.JSONKey `json:"holder,omitempty"` // of the lock alone
	Token   *finding.JSONKey `json:"token,omitempty"`
	Since   float64          `json:"held_seconds,omitempty"`
	Left    float64          `json:"lease_left_seconds,omitempty"`
	Fence   int64            `json:"fence,omitempty"`
	Waiting int64            `json:"waiting"` // processes
	Sharing int64            `json:"sharing"` // holders that share the lock
}

// Locks reads the locks of entries.
func (r *Reader) Locks(ctx context.Context, entries []*keyspace.Entry) (Locks, error) {
	report := Locks{Locks: []Lock{}}
	for _, e := range entries {
		if err := report.Pass(ctx, e.Name, "", r.locksOf(ctx, e, &report)); err != nil {
			return report, err
		}
	}
	return report, nil
}

func (r *Reader) locksOf(ctx context.Context, e *keyspace.Entry, report *Locks) error {
	found, err := r.instances(ctx, e, &report.Gaps)
	if err != nil {
		return err
	}
	for _, values := range found {
		if err := r.wait(ctx, LockCost); err != nil {
			return err
		}
		l := bind.Lock(r.Client, r.Keyspace, e, values)
		h, err := l.Holder(ctx)
		if err != nil {
			if err := report.Pass(ctx, e.Name, l.Name(), err); err != nil {
				return err
			}
			continue
		}
		if h.Token == "" && h.Waiting+h.Sharing == 0 { // only its fence is left, which expires
			continue
		}
		one := Lock{Entry: e.Name, Key: finding.JSONKey(l.Name()), Since: h.Since.Seconds(), Left: h.Left.Seconds(),
			Fence: h.Fence, Waiting: h.Waiting, Sharing: h.Sharing}
		if h.Token != "" {
			holder := finding.JSONKey(h.Owner)
			one.Holder, one.Token = &holder, KeyOf(h.Token)
		}
		report.Locks = append(report.Locks, one)
	}
	return nil
}
