package crossslot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/kernel"
)

// Write returns write where the keys are in several slots: 4 round trips; 3 where
// the condition does not hold; 3 more after an item that has expired and is not yet
// swept, and for each process that writes the same item at the same time.
func Write(ctx context.Context, s *itemkeys.Keys, a *kernel.Action, c *itemkeys.Call) (itemkeys.Outcome, error) {
	if a.Err != nil {
		_, err := kernel.NewOp(kernel.Spec[int]{Action: *a}).Do(ctx)
		return itemkeys.Outcome{}, err
	}
	it := NewIntent(c.ID, Writing)
	if c.Record == "" {
		it.kind = deleting
	}
	members := strings.TrimPrefix(strings.TrimPrefix(c.Record, itemkeys.AnyRecord), "=")
	for late := 0; ; {
		if err := Open(ctx, s, it, members); err != nil {
			return itemkeys.Outcome{}, err
		}
		out, err := send(ctx, s, a, c, it)
		if err != nil {
			return itemkeys.Outcome{}, leave(ctx, s, it, err)
		}
		switch out.Code {
		case "late":
			if late++; late == mostFailures || ctx.Err() != nil {
				err = leave(ctx, s, it, tooLate(s))
			}
		case "dead":
			if err = Finish(ctx, s, it, ByExpiry(s)); it.unsure {
				it = NewIntent(it.id, it.kind)
			}
		case "ok", "new":
			if err = s.Step("written", c.ID); err == nil {
				err = Finish(ctx, s, it, ended(s, c))
			}
			out.Created = out.Code == "new"
			return out, err
		default:
			if it.unsure { // its first sending may have deleted it
				err = Finish(ctx, s, it, ended(s, c))
			}
			if _ = leave(ctx, s, it, nil); err == nil {
				return s.Verdict(a, out)
			}
		}
		if err != nil {
			return itemkeys.Outcome{}, err
		}
	}
}

// tooLate returns an operation of which every attempt came too late.
func tooLate(s *itemkeys.Keys) error {
	return &keywright.Error{Class: keywright.NotApplied, Op: "write", Entry: s.Entry.Name, Err: ErrLate,
		Hint: fmt.Sprintf("the clocks of the cluster's servers may differ by more than %v", s.Windows.Act)}
}

// leave closes an intent under which nothing was done, if that is certain. What is
// not closed a sweeper closes.
func leave(ctx context.Context, s *itemkeys.Keys, it *Intent, err error) error {
	if class, known := keywright.ClassOf(err); err == nil || known && class != keywright.UnknownOutcome {
		if !it.unsure {
			_, _ = closeIntents(ctx, s, closing{Intent: it, found: abort})
		}
	}
	return err
}

// ByExpiry returns how an item ended that has an index record, and that has expired.
func ByExpiry(s *itemkeys.Keys) Ending {
	return func(it *Intent) (found string, events []string) {
		return gone, s.ExpiredEvents(it.id, "="+it.record)
	}
}

// ended returns an item that is gone after a write: deleted by it, or it has expired, or
// another process has deleted it.
func ended(s *itemkeys.Keys, c *itemkeys.Call) Ending {
	began, known := time.Now(), "="
	return func(it *Intent) (string, []string) {
		ttl, _ := strconv.ParseInt(c.TTL, 10, 64)
		switch {
		case c.Record == "":
			return deleted, nil
		case ttl > 0 && time.Since(began).Milliseconds() >= ttl:
			if known = c.Record; known == itemkeys.AnyRecord {
				known = "=" + it.record
			}
			return mine, s.ExpiredEvents(it.id, known)
		}
		return ByExpiry(s)(it)
	}
}

// send writes the hash. A delete is sent again when its reply was lost; its intent
// then stays open, as the first one may still be on its way.
func send(ctx context.Context, s *itemkeys.Keys, a *kernel.Action, c *itemkeys.Call, it *Intent) (itemkeys.Outcome,
	error) {
	names := s.IndexColumns()
	keys, args := encodeItem(s, c, it, names)
	send := *a
	send.Effect = keywright.Writes
	for failures := 0; ; {
		asked := time.Now()
		out, err := kernel.NewOp(kernel.Spec[itemkeys.Outcome]{
			Action: send, Script: s.Scripts.CrossSlot.Item, Keys: keys, Args: args,
			Decode: func(r kernel.Reply) (itemkeys.Outcome, error) {
				all, err := r.ToArray()
				if err != nil {
					return itemkeys.Outcome{}, err
				}
				return itemOutcome(s, it, asked, names, all)
			},
		}).Do(ctx)
		class, _ := keywright.ClassOf(err)
		if failures++; err == nil || class != keywright.UnknownOutcome || a.Effect == keywright.Writes ||
			failures == mostFailures || !passing(err) {
			return out, err
		}
		it.unsure = true
	}
}

func itemOutcome(s *itemkeys.Keys, it *Intent, asked time.Time, names []string,
	all []kernel.Value) (out itemkeys.Outcome,
	err error) {
	if len(all) < 4 {
		return out, errors.New("the script answered with too few texts")
	}
	out.Code, _ = all[0].ToString()
	out.Text, _ = all[1].ToString()
	now, _ := all[2].ToString()
	left, _ := all[3].ToString()
	out.Version, _ = strconv.ParseInt(out.Text, 10, 64)
	out.Now, _ = strconv.ParseInt(now, 10, 64)
	it.Item = state{}
	if len(all) > 4 || left != "-2" && (out.Code == "ok" || out.Code == "new") {
		ms, _ := strconv.ParseInt(left, 10, 64)
		it.Item = StateOf(s, asked, ms, names, all[4:])
	}
	return out, nil
}

// encodeItem gives KEYS and ARGV.
func encodeItem(s *itemkeys.Keys, c *itemkeys.Call, it *Intent, names []string) (keys, args []string) {
	kind := Writing
	if c.Record == "" {
		kind = deleting
	}
	condition := c.Condition
	recorded := itemkeys.Flag(it.state == "x" && (condition == itemkeys.Absent || condition == itemkeys.Whatever))
	keys = []string{s.Key(c.ID)}
	args = []string{c.ID, strconv.FormatInt(actsUntil(s, it), 10), kind, condition, recorded, c.TTL,
		itemkeys.Flag(c.Stamps.Created), c.Stamps.Version, itemkeys.Flag(c.Stamps.Updated), c.Stamps.Unit,
		strconv.Itoa(len(c.Fields)), strconv.Itoa(len(c.Removed)), strconv.Itoa(len(names))}
	if c.Stamps.Unit == "" { // of a delete, which stamps nothing
		args[9] = "1"
		args[7] = s.Spec.Version
	}
	args = append(append(append(args, c.Fields...), c.Removed...), names...)
	return itemkeys.AppendEvents(keys, args, c.Now)
}

// Touch returns touch where the keys are in several slots: 1 round trip, 4 where the
// item would live longer. The time in the zset then stays too early, and the sweeper
// finds that the item is there; too late is what it must not be, so that what makes
// it shorter goes under an intent. read takes the texts of the fields, if there are fields.
func Touch(ctx context.Context, s *itemkeys.Keys, a *kernel.Action, fields []string, mode, ttl string,
	read func([]kernel.Value) error) (changed bool, err error) {
	it := NewIntent(s.ID(a.Key), aging)
	code, texts, err := touchItem(ctx, s, a, it, fields, mode, ttl)
	for late := 0; err == nil && (code == "shorter" || code == "late"); late++ {
		if late > mostFailures {
			err = leave(ctx, s, it, tooLate(s))
		} else if err = Open(ctx, s, it, ""); err == nil {
			code, texts, err = touchItem(ctx, s, a, it, fields, mode, ttl)
		}
	}
	if it.opened > 0 && err == nil {
		err = Finish(ctx, s, it, ByExpiry(s))
	}
	if errors.Is(err, keywright.ErrNotFound) && it.opened > 0 {
		_ = leave(ctx, s, it, nil)
	}
	if err == nil && fields != nil {
		err = read(texts)
	}
	if err == nil && mode != itemkeys.TouchLess {
		err = s.Outlive(ctx, "="+it.Item.Record, s.RecordKeys()...)
	}
	return code == "changed", err
}

func touchItem(ctx context.Context, s *itemkeys.Keys, a *kernel.Action, it *Intent, fields []string,
	mode, ttl string) (code string, texts []kernel.Value, err error) {
	names, until, tolerance := fields, "", int64(0)
	if fields == nil {
		names = s.IndexColumns()
	}
	if it.opened > 0 {
		until = strconv.FormatInt(actsUntil(s, it), 10)
	}
	if ms, _ := strconv.ParseInt(ttl, 10, 64); mode != itemkeys.TouchLess {
		tolerance = int64(2 * s.Entry.TTL.Jitter * float64(ms))
	}
	asked := time.Now()
	texts, err = kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: *a, Script: s.Scripts.CrossSlot.Touch, Keys: []string{a.Key},
		Args:   append([]string{ttl, mode, strconv.FormatInt(tolerance, 10), until}, names...),
		Decode: func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() },
	}).Do(ctx)
	if err == nil && len(texts) == 0 {
		err = keywright.ErrNotFound
	}
	if err != nil {
		return "", nil, err
	}
	code, _ = texts[0].ToString()
	left, _ := texts[1].ToString()
	ms, _ := strconv.ParseInt(left, 10, 64)
	it.Item = StateOf(s, asked, ms, names, texts[2:])
	return code, texts[2:], nil
}
