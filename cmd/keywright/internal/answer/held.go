package answer

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/lock"
)

// mostTimed bounds the locks whose time left is read again and again, one command for each.
const mostTimed = 200

// lockKeys are the keys of a lock by role.
type lockKeys struct {
	main, fence string
	shared      []string // of those that wait for it or share it
}

// held returns who has the locks that are not shared, and that none waits for, by their place in the list; nil for those
// of which more is to be asked. However many there are, they cost a few commands, and one more for each of which the
// time left is read: untimed says of how many it is not.
func (r *Reader) held(ctx context.Context, all []instance) (out []*lock.Holder, untimed int64, err error) {
	out = make([]*lock.Holder, len(all))
	keys := make([]lockKeys, len(all))
	crowd, mains := make([][]string, len(all)), make([][]string, len(all))
	for i, one := range all {
		bound, err := bind.Parts(one.entry, one.values)
		if err != nil { // its reading says why
			return out, 0, nil
		}
		keys[i] = lockKeysOf(bound)
		crowd[i], mains[i] = keys[i].shared, []string{keys[i].main}
	}
	more, err := r.present(ctx, crowd)
	if err != nil {
		return out, 0, err
	}
	there, err := r.present(ctx, mains)
	if err != nil {
		return out, 0, err
	}
	var taken []int
	for i := range all {
		switch {
		case !more[i] && !there[i]:
			out[i] = &lock.Holder{}
		case !more[i] && !r.Client.Clustered():
			taken = append(taken, i)
		}
	}
	for some := range slices.Chunk(taken, mostNamed/2) {
		if err := r.holders(ctx, keys, some, out); err != nil {
			return out, 0, err
		}
	}
	if r.Pace != nil && len(taken) > mostTimed {
		return out, int64(len(taken)), nil
	}
	return out, 0, r.times(ctx, keys, taken, out)
}

func lockKeysOf(bound []bind.Bound) (k lockKeys) {
	for _, b := range bound {
		switch b.Name {
		case "Main":
			k.main = b.Names[0]
		case "Fence":
			k.fence = b.Names[0]
		case "Waiters", "Shared":
			k.shared = append(k.shared, b.Names...)
		}
	}
	return k
}

// holders reads who holds some locks: their tokens, and since when by their fences. What is not as a lock writes it is
// left to the reading of that lock.
func (r *Reader) holders(ctx context.Context, keys []lockKeys, some []int, out []*lock.Holder) error {
	if err := r.pace(ctx, 3); err != nil {
		return err
	}
	mains, fences := make([]string, len(some)), make([]string, len(some))
	for n, i := range some {
		mains[n], fences[n] = keys[i].main, keys[i].fence
	}
	raw := r.Client.Raw()
	replies := raw.DoMulti(ctx, raw.B().Mget().Key(mains...).Build(), raw.B().Mget().Key(fences...).Build(),
		raw.B().Time().Build())
	tokens, err := replies[0].ToArray()
	numbers, failed := replies[1].ToArray()
	now, timeless := replies[2].AsStrSlice()
	if err != nil || failed != nil || timeless != nil || len(tokens) != len(some) || len(numbers) != len(some) {
		return nil
	}
	for n, i := range some {
		if token, err := tokens[n].ToString(); err == nil {
			out[i] = holderOf(token, numbers[n], microsOf(now))
		}
	}
	return nil
}

// holderOf returns the holder with a token; nil: the fence has another form.
func holderOf(token string, fence kernel.Value, now int64) *lock.Holder {
	text, _ := fence.ToString()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n >= 1<<53 {
		return nil
	}
	return &lock.Holder{Token: token, Owner: lock.OwnerOf(token), Fence: n,
		Since: time.Duration(max(now-n, 0)) * time.Microsecond}
}

// times reads how long some locks are held still.
func (r *Reader) times(ctx context.Context, keys []lockKeys, some []int, out []*lock.Holder) error {
	if err := r.pace(ctx, len(some)); err != nil || len(some) == 0 {
		return err
	}
	raw := r.Client.Raw()
	commands := make(kernel.Commands, len(some))
	for n, i := range some {
		commands[n] = raw.B().Pttl().Key(keys[i].main).Build()
	}
	for n, reply := range raw.DoMulti(ctx, commands...) {
		left, err := reply.AsInt64()
		switch h := out[some[n]]; {
		case h == nil:
		case err != nil:
			out[some[n]] = nil
		case left < 0 && left != -1: // it is held no more
			*h = lock.Holder{}
		default:
			h.Left = time.Duration(max(left, 0)) * time.Millisecond
		}
	}
	return nil
}
