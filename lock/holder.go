package lock

import (
	"context"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// Holder describes who holds a lock.
type Holder struct {
	Owner string // the first part of the token, for people
	Token string // "" when none holds it alone
	Left  time.Duration
	Fence int64 // the last fencing token that was given
	// Since is how long ago, by the server's clock, the holder got it. It is
	// right as long as fences follow that clock, which they do but after a
	// failover to a server whose clock is late.
	Since   time.Duration
	Waiting int64 // processes in the queue
	Sharing int64 // who hold it together with others
}

// Holder says who holds the lock and how many wait. One round trip.
func (l Lock) Holder(ctx context.Context) (Holder, error) {
	if err := l.check(); err != nil {
		return Holder{}, err
	}
	return kernel.NewOp(kernel.Spec[Holder]{
		Action: kernel.Action{Client: l.client, Name: "holder", Entry: l.entry, Effect: keywright.Reads, Key: l.keys.Main},
		Script: script.holder, Keys: l.list(), Decode: readHolder,
	}).Do(ctx)
}

func readHolder(r kernel.Reply) (h Holder, err error) {
	all, err := r.ToArray()
	if err != nil {
		return h, err
	}
	if h.Token, err = all[0].ToString(); err != nil {
		return h, err
	}
	h.Owner = OwnerOf(h.Token)
	var n [5]int64
	for i := range n {
		if n[i], err = readInteger(all[i+1]); err != nil {
			return h, err
		}
	}
	h.Left, h.Fence, h.Waiting, h.Sharing = time.Duration(max(n[0], 0))*time.Millisecond, n[1], n[2], n[3]
	if h.Token != "" && h.Fence > 0 {
		h.Since = time.Duration(max(n[4]-h.Fence, 0)) * time.Microsecond
	}
	return h, nil
}

// Break takes the lock from the holder of a token, any holder, and hands it on; false if that token does not hold it
// any more. The holder is notified at once if it watches the key (see unwatched), else at its next renewal. It is for
// people: no program should need it. One round trip.
func (l Lock) Break(ctx context.Context, token string) (bool, error) {
	if err := l.check(); err != nil {
		return false, err
	}
	r, err := l.release(ctx, alone, token, "", "hold", "0")
	return r.held, err
}
