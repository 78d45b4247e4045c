package counter

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/typed"
)

// ActivesConfig describes what Actives are made of.
type ActivesConfig struct {
	// MaxID bounds the ids that are marked, at most 4,294,967,295. A bitmap has a bit for every id up to its greatest: an
	// id of 4,000,000,000 takes 500 MB. 0: 16,777,215, which takes 2 MiB.
	MaxID int64
	// Scratch names a declared key for the result of a BITOP, in the slot of the days. It exists only within a script.
	// "": the client puts the days together.
	Scratch string
}

// Actives holds bitmaps of active ids: one per day, or another period. Ids should be dense, as numbers of users are.
type Actives struct {
	ActivesConfig
	bound  keywright.Binding
	script *keywright.Script
	err    error
}

var bitsScript = keywright.NewScript("actives together", parts.Later("bits"))

// NewActives makes the handles' source. The entry of b is that of the bitmaps, one per
// day; it has no key.
func NewActives(b keywright.Binding, c ActivesConfig) *Actives {
	a := &Actives{ActivesConfig: c, bound: b, script: bitsScript}
	if a.MaxID == 0 {
		a.MaxID = 1<<24 - 1
	}
	if a.MaxID < 0 || a.MaxID > 1<<32-1 {
		a.err = fmt.Errorf("a greatest id of %d; a bitmap goes up to 4294967295", a.MaxID)
	}
	return a
}

// Day represents the bitmap of one period.
type Day struct {
	typed.Removable
	of *Actives
}

// Of returns the day of a key. An err of building the key is what every operation
// gives.
func (a *Actives) Of(key string, err error) Day {
	return Day{typed.Removable{Key: typed.NewKey(a.bound.To(key, firstOf(err, a.err)))}, a}
}

// Mark says that id was active; the first one gives the day its TTL, in the same
// step. It reports whether it was marked before, and is sent again when its
// reply was lost. An id beyond MaxID is refused (class Invalid). One round trip.
func (d Day) Mark(ctx context.Context, id int64, options ...keywright.WriteOption) (before bool, err error) {
	return d.LaterMark(id, options...).Do(ctx)
}

// LaterMark queues Mark.
func (d Day) LaterMark(id int64, options ...keywright.WriteOption) keywright.Op[bool] {
	op := typed.NewWrite(d.Key, "mark", keywright.Idempotent, kernel.Reply.AsBool, "SETBIT",
		[]string{strconv.FormatInt(id, 10), "1"}, options...)
	return op.Failing(d.check(id))
}

func (d Day) check(id int64) error {
	if id >= 0 && id <= d.of.MaxID {
		return nil
	}
	return &keywright.Error{Class: keywright.Invalid, Err: fmt.Errorf("an id of %d: 0 to %d are marked", id, d.of.MaxID),
		Hint: "raise MaxID, if ids are dense, or use a set"}
}

// Was reports whether id was active. One round trip.
func (d Day) Was(ctx context.Context, id int64) (bool, error) {
	key := d.Name()
	return kernel.NewOp(kernel.Spec[bool]{Action: d.action("was active"), Decode: kernel.Reply.AsBool,
		Build: func(b kernel.Builder) kernel.Command { return b.Getbit().Key(key).Offset(id).Build() },
	}).Failing(d.check(id)).Do(ctx)
}

// Count returns how many were active. One round trip; one more, and one per 4 MiB of the
// bitmap, if ids above 33,554,431 are marked.
func (d Day) Count(ctx context.Context) (count int64, err error) {
	key := d.Name()
	if d.of.MaxID < 8*mostBits {
		return d.number(ctx, func(b kernel.Builder) kernel.Command { return b.Bitcount().Key(key).Build() })
	}
	size, err := d.number(ctx, func(b kernel.Builder) kernel.Command { return b.Strlen().Key(key).Build() })
	for from := int64(0); from < size && err == nil; from += mostBits {
		var n int64
		n, err = d.number(ctx, func(b kernel.Builder) kernel.Command {
			return b.Bitcount().Key(key).Start(from).End(from + mostBits - 1).Build()
		})
		count += n
	}
	if err != nil {
		return 0, err
	}
	return count, nil
}

// number asks for a number of the day.
func (d Day) number(ctx context.Context, build func(kernel.Builder) kernel.Command) (int64, error) {
	return kernel.NewOp(kernel.Spec[int64]{Action: d.action("count"), Decode: kernel.Reply.AsInt64,
		Build: build}).Do(ctx)
}

func (d Day) action(name string) kernel.Action {
	return kernel.Action{Client: d.of.bound.Client, Name: name, Entry: d.Entry(), Effect: keywright.Reads, Key: d.Name(),
		Err: d.Err()}
}

// Any returns how many were active on at least one of the days.
func (a *Actives) Any(ctx context.Context, days ...Day) (int64, error) {
	return a.combineDays(ctx, "OR", days)
}

// Every returns how many ids were active on all of the days: with a day and the same day a week later, the ids that
// came back.
func (a *Actives) Every(ctx context.Context, days ...Day) (int64, error) {
	return a.combineDays(ctx, "AND", days)
}

// mostBits says how many bytes of bitmaps one script may put together: about 2 ms
// of the server.
const mostBits = 4 << 20

// combineDays returns one round trip if the server can do it: with a Scratch key, in one
// slot, and if the bitmaps are not so large that they would hold it up. Else the
// client reads the days in parts of 64 KiB, one round trip per part and
// server, and holds one part of each day; that is not of one moment.
func (a *Actives) combineDays(ctx context.Context, operation string, days []Day) (int64, error) {
	keys, err := make([]string, len(days)), a.err
	for i, d := range days {
		keys[i], err = d.Name(), firstOf(err, d.Err())
	}
	if len(days) == 0 || len(days) > MaxKeys {
		err = firstOf(err, fmt.Errorf("%d days; 1 to %d are put together", len(days), MaxKeys))
	}
	all := append([]string{a.Scratch}, keys...)
	if err == nil && (a.Scratch == "" || a.bound.Client.CrossSlot(all...)) {
		return a.countHere(ctx, operation == "AND", keys)
	}
	count, err := kernel.NewOp(kernel.Spec[int64]{
		Action: kernel.Action{Client: a.bound.Client, Name: "count together", Entry: a.bound.Entry,
			Effect: keywright.Idempotent,
			Err:    invalid(a.bound.Entry, err)},
		Script: a.script, Keys: all, Args: []string{operation, strconv.Itoa(mostBits)}, Decode: kernel.Reply.AsInt64,
	}).Do(ctx)
	if err == nil && count < 0 {
		return a.countHere(ctx, operation == "AND", keys)
	}
	return count, err
}

// part says how much of each bitmap is read at once.
const part = 64 << 10

func (a *Actives) countHere(ctx context.Context, every bool, keys []string) (count int64, err error) {
	for from, more := int64(0), true; more; from += part {
		texts, err := getAll(ctx, a.bound.Client, a.bound.Entry, keys, func(b kernel.Builder, key string) kernel.Command {
			return b.Getrange().Key(key).Start(from).End(from + part - 1).Build()
		})
		if err != nil {
			return 0, err
		}
		whole := func(t string) bool { return len(t) == part }
		more = slices.ContainsFunc(texts, whole)
		if every {
			more = !slices.ContainsFunc(texts, func(t string) bool { return !whole(t) })
		}
		count += countBits(texts, every)
	}
	return count, nil
}

// countBits counts the bits that are set in every text, or in any.
func countBits(texts []string, every bool) (count int64) {
	sum := make([]byte, part)
	copy(sum, texts[0])
	for _, t := range texts[1:] {
		for i := range sum {
			b := byte(0)
			if i < len(t) {
				b = t[i]
			}
			if every {
				sum[i] &= b
			} else {
				sum[i] |= b
			}
		}
	}
	for _, b := range sum {
		count += int64(bits.OnesCount8(b))
	}
	return count
}
