package answer

import (
	"context"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/lock"
)

// Locks holds the locks that are held or waited for; its JSON names are stable.
type Locks struct {
	Locks []Lock `json:"locks"`
	// locks that are held of which the time left was not read: there are too many
	Untimed int64 `json:"untimed,omitempty"`
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

// Locks reads the locks of entries. Those that one process holds, and none waits for, are read together.
func (r *Reader) Locks(ctx context.Context, entries []*keyspace.Entry) (Locks, error) {
	report := Locks{Locks: []Lock{}}
	found, err := r.found(ctx, entries, &report.Gaps)
	if err != nil {
		return report, err
	}
	known, untimed, err := r.held(ctx, found)
	if err != nil {
		return report, err
	}
	report.Untimed = untimed
	err = readInOrder(ctx, r, found, func(i instance) int {
		if known[i.at] != nil {
			return 0
		}
		return lockCost
	}, func(i instance) (lock.Holder, error) {
		if h := known[i.at]; h != nil {
			return *h, nil
		}
		return r.lock(i).Holder(ctx)
	}, func(i instance, h lock.Holder, err error) error {
		name := r.lock(i).Name()
		switch {
		case err != nil:
			return report.Pass(ctx, i.entry.Name, name, err)
		case h.Token == "" && h.Waiting+h.Sharing == 0: // only its fence is left, which expires
			return nil
		}
		one := Lock{Entry: i.entry.Name, Key: finding.JSONKey(name), Since: h.Since.Seconds(), Left: h.Left.Seconds(),
			Fence: h.Fence, Waiting: h.Waiting, Sharing: h.Sharing}
		if h.Token != "" {
			holder := finding.JSONKey(h.Owner)
			one.Holder, one.Token = &holder, KeyOf(h.Token)
		}
		report.Locks = append(report.Locks, one)
		return nil
	})
	return report, err
}

func (r *Reader) lock(i instance) lock.Lock {
	return bind.Lock(r.Client, r.Keyspace, i.entry, i.values)
}
