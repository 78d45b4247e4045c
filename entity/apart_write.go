package entity

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// writeApart returns write where the keys are in several slots: 4 round trips; 3 where
// the condition does not hold; 3 more after an item that has expired and is not yet
// swept, and for each process that writes the same item at the same time.
func (s *core) writeApart(ctx context.Context, a *kernel.Action, c *call) (outcome, error) {
	if a.Err != nil {
		_, err := kernel.NewOp(kernel.Spec[int]{Action: *a}).Do(ctx)
		return outcome{}, err
	}
	it := newIntent(c.id, writing)
	if c.record == "" {
		it.kind = deleting
	}
	members := strings.TrimPrefix(strings.TrimPrefix(c.record, anyRecord), "=")
	for late := 0; ; {
		if err := s.open(ctx, it, members); err != nil {
			return outcome{}, err
		}
		out, err := s.send(ctx, a, c, it)
		if err != nil {
			return outcome{}, s.leave(ctx, it, err)
		}
		switch out.code {
		case "late":
			if late++; late == mostFailures || ctx.Err() != nil {
				err = s.leave(ctx, it, s.tooLate())
			}
		case "dead":
			if err = s.settle(ctx, it, s.swept); it.unsure {
				it = newIntent(it.id, it.kind)
			}
		case "ok", "new":
			if err = s.step("written", c.id); err == nil {
				err = s.settle(ctx, it, s.ended(c))
			}
			out.created = out.code == "new"
			return out, err
		default:
			if it.unsure { // its first sending may have deleted it
				err = s.settle(ctx, it, s.ended(c))
			}
			if _ = s.leave(ctx, it, nil); err == nil {
				return s.verdict(a, out)
			}
		}
		if err != nil {
			return outcome{}, err
		}
	}
}

// tooLate returns an operation of which every attempt came too late.
func (s *core) tooLate() error {
	return &keywright.Error{Class: keywright.NotApplied, Op: "write", Entry: s.entry.Name, Err: errLate,
		Hint: fmt.Sprintf("the clocks of the cluster's servers may differ by more than %v", s.windows.act)}
}

// leave closes an intent under which nothing was done, if that is certain. What is
// not closed a sweeper closes.
func (s *core) leave(ctx context.Context, it *intent, err error) error {
	if class, known := keywright.ClassOf(err); err == nil || known && class != keywright.UnknownOutcome {
		if !it.unsure {
			_, _ = s.close(ctx, closing{intent: it, found: abort})
		}
	}
	return err
}

// swept returns an item that the ledger knows, and that has expired.
func (s *core) swept(it *intent) (found string, events []string) {
	return gone, s.expired(it.id, "="+it.record)
}

// ended returns an item that is gone after a write: deleted by it, or it has expired, or
// another process has deleted it.
func (s *core) ended(c *call) ending {
	began, known := time.Now(), "="
	return func(it *intent) (string, []string) {
		ttl, _ := strconv.ParseInt(c.ttl, 10, 64)
		switch {
		case c.record == "":
			return deleted, nil
		case ttl > 0 && time.Since(began).Milliseconds() >= ttl:
			if known = c.record; known == anyRecord {
				known = "=" + it.record
			}
			return mine, s.expired(it.id, known)
		}
		return s.swept(it)
	}
}

// send writes the hash. A delete is sent again when its reply was lost; its intent
// then stays open, as the first one may still be on its way.
func (s *core) send(ctx context.Context, a *kernel.Action, c *call, it *intent) (outcome, error) {
	names := s.indexColumns()
	keys, args := s.encodeItem(c, it, names)
	send := *a
	send.Effect = keywright.Writes
	for failures := 0; ; {
		asked := time.Now()
		out, err := kernel.NewOp(kernel.Spec[outcome]{
			Action: send, Script: s.scripts.apart.item, Keys: keys, Args: args,
			Decode: func(r kernel.Reply) (outcome, error) {
				all, err := r.ToArray()
				if err != nil {
					return outcome{}, err
				}
				return s.itemOutcome(it, asked, names, all)
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

func (s *core) itemOutcome(it *intent, asked time.Time, names []string, all []kernel.Value) (out outcome,
	err error) {
	if len(all) < 4 {
		return out, errors.New("the script answered with too few texts")
	}
	out.code, _ = all[0].ToString()
	out.text, _ = all[1].ToString()
	now, _ := all[2].ToString()
	left, _ := all[3].ToString()
	out.version, _ = strconv.ParseInt(out.text, 10, 64)
	out.now, _ = strconv.ParseInt(now, 10, 64)
	it.item = state{}
	if len(all) > 4 || left != "-2" && (out.code == "ok" || out.code == "new") {
		ms, _ := strconv.ParseInt(left, 10, 64)
		it.item = s.stateOf(asked, ms, names, all[4:])
	}
	return out, nil
}

// encodeItem gives KEYS and ARGV.
func (s *core) encodeItem(c *call, it *intent, names []string) (keys, args []string) {
	kind := writing
	if c.record == "" {
		kind = deleting
	}
	condition := c.condition
	recorded := flag(it.state == "x" && (condition == absent || condition == whatever))
	keys = []string{s.key(c.id)}
	args = []string{c.id, strconv.FormatInt(s.until(it), 10), kind, condition, recorded, c.ttl,
		flag(c.stamps.created), c.stamps.version, flag(c.stamps.updated), c.stamps.unit,
		strconv.Itoa(len(c.fields)), strconv.Itoa(len(c.removed)), strconv.Itoa(len(names))}
	if c.stamps.unit == "" { // of a delete, which stamps nothing
		args[9] = "1"
		args[7] = s.spec.Version
	}
	args = append(append(append(args, c.fields...), c.removed...), names...)
	return appendEvents(keys, args, c.now)
}

// touchApart returns touch where the keys are in several slots: 1 round trip, 4 where the
// item would live longer. The time in the zset then stays too early, and the sweeper
// finds that the item is there; too late is what it must not be, so that what makes
// it shorter goes under an intent. read takes the texts of the fields, if there are fields.
func (s *core) touchApart(ctx context.Context, a *kernel.Action, fields []string, mode, ttl string,
	read func([]kernel.Value) error) (changed bool, err error) {
	it := newIntent(s.id(a.Key), aging)
	code, texts, err := s.touchItem(ctx, a, it, fields, mode, ttl)
	for late := 0; err == nil && (code == "shorter" || code == "late"); late++ {
		if late > mostFailures {
			err = s.leave(ctx, it, s.tooLate())
		} else if err = s.open(ctx, it, ""); err == nil {
			code, texts, err = s.touchItem(ctx, a, it, fields, mode, ttl)
		}
	}
	if it.opened > 0 && err == nil {
		err = s.settle(ctx, it, s.swept)
	}
	if errors.Is(err, keywright.ErrNotFound) && it.opened > 0 {
		_ = s.leave(ctx, it, nil)
	}
	if err == nil && fields != nil {
		err = read(texts)
	}
	if err == nil && mode != touchLess {
		err = s.outlive(ctx, "="+it.item.record, s.bookKeys()...)
	}
	return code == "changed", err
}

func (s *core) touchItem(ctx context.Context, a *kernel.Action, it *intent, fields []string,
	mode, ttl string) (code string, texts []kernel.Value, err error) {
	names, until, tolerance := fields, "", int64(0)
	if fields == nil {
		names = s.indexColumns()
	}
	if it.opened > 0 {
		until = strconv.FormatInt(s.until(it), 10)
	}
	if ms, _ := strconv.ParseInt(ttl, 10, 64); mode != touchLess {
		tolerance = int64(2 * s.entry.TTL.Jitter * float64(ms))
	}
	asked := time.Now()
	texts, err = kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: *a, Script: s.scripts.apart.touch, Keys: []string{a.Key},
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
	it.item = s.stateOf(asked, ms, names, texts[2:])
	return code, texts[2:], nil
}
