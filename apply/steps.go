package apply

import (
	"context"
	"embed"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
)

// batch changes keys of one database: in one pipeline those that go by a command, side
// by side those that go through a store. What a lost reply leaves in doubt is sent again.
func (r *changes) batch(ctx context.Context, c kernel.Raw, steps []*keyChange) error {
	var items, named, large, tags []*keyChange
	send, err := r.kept(ctx, c, steps)
	if err != nil {
		r.unknown(steps)
		return err
	}
	plain := send[:0:0]
	cluster := kernel.InCluster(c)
	for _, s := range send {
		switch {
		case s.How == plan.Item:
			items = append(items, s)
		case s.How == plan.Retag:
			tags = append(tags, s)
		case s.How == plan.Move, s.How == plan.Drop:
			named = append(named, s)
		case cluster && !s.oneSlot():
			r.leave(s.entry, plan.OtherSlot, s.key, s.db)
		case s.was != nil && s.was.sum == "":
			large = append(large, s)
		default:
			plain = append(plain, s)
		}
	}
	if err := r.kepts(ctx, c, large); err != nil {
		r.unknown(plain)
		r.unknown(named)
		r.unknown(items)
		return err
	}
	named, err = r.renames(ctx, c, named)
	if err == nil {
		err = r.retags(ctx, c, tags)
	} else {
		r.unknown(tags)
	}
	if err == nil {
		err = r.commands(ctx, c, append(plain, named...))
	} else {
		r.unknown(plain)
		r.unknown(named)
	}
	if err != nil {
		r.unknown(items)
		return err
	}
	return r.items(ctx, c, items)
}

// oneSlot reports whether all keys of a change can be in one step.
func (s *keyChange) oneSlot() bool {
	for _, names := range [][]string{s.Busy, s.With, s.Absent} {
		for _, n := range names {
			if slot.Of([]byte(n)) != slot.Of(s.key) {
				return false
			}
		}
	}
	return true
}

func (r *changes) unknown(steps []*keyChange) {
	for _, s := range steps {
		r.count(s, journal.KeyCounts{Unknown: 1})
	}
}

// commands sends changes until each has an answer. A key that was kept and has other bytes now is compared by what is
// in it: a server that was restarted has the elements of a set in another order.
func (r *changes) commands(ctx context.Context, c kernel.Raw, steps []*keyChange) error {
	var last error
	var differ []*keyChange
	for attempt := 0; len(steps) > 0; attempt++ {
		if attempt > 0 && (attempt == restore.Attempts || !restore.Pause(ctx, attempt, last)) {
			break
		}
		list := make(kernel.Commands, len(steps))
		for i, s := range steps {
			list[i] = s.command(c)
		}
		var again []*keyChange
		unanswered := len(steps)
		for i, reply := range c.DoMulti(ctx, list...) {
			err := r.judge(steps[i], reply)
			if err == errBytes {
				steps[i].was.sum = ""
				differ = append(differ, steps[i])
			} else if err != nil {
				steps[i].doubt = true
				again, last = append(again, steps[i]), err
			}
		}
		if steps = again; len(again) < unanswered {
			wait.Answered(ctx)
		}
	}
	if len(steps) > 0 {
		r.unknown(append(steps, differ...))
		return errors.Join(last, ctx.Err())
	}
	return r.kepts(ctx, c, differ)
}

// command returns what changes a key: UNLINK where nothing is to be checked, else a script.
func (s *keyChange) command(c kernel.Raw) kernel.Command {
	if s.How == plan.Move {
		return s.renaming(c)
	}
	if s.How == plan.Unlink && s.Kind == "" && s.Idle == 0 && len(s.Busy)+len(s.With) == 0 && s.was == nil {
		return c.B().Unlink().Key(string(s.key)).Build()
	}
	keys := append([]string{string(s.key)}, s.Busy...)
	keys = append(keys, s.With...)
	how, ttl, idle := "unlink", "", ""
	switch {
	case s.How == plan.Persist:
		how, ttl = "persist", strconv.FormatInt(s.Ends, 10)
	case s.Ends > 0:
		how, ttl = "expireat", strconv.FormatInt(s.Ends, 10)
	case s.How == plan.Expire:
		how, ttl = "expire", strconv.FormatInt(s.TTL.Milliseconds(), 10)
	}
	if s.Idle > 0 {
		idle = strconv.FormatInt(int64((s.Idle+time.Second-1)/time.Second), 10)
	}
	sum, ends := "", ""
	if s.was != nil {
		sum, ends = s.was.sum, strconv.FormatInt(s.was.Expires, 10)
	}
	return eval(c.B(), "change", keys, how, ttl, string(s.Kind), idle,
		strconv.Itoa(len(s.Busy)), sum, ends)
}

// absolute gives keys their ends by the server's clock, so that an undo knows them.
func (r *changes) absolute(ctx context.Context, c kernel.Raw, steps []*keyChange) error {
	if r.Undo == nil || steps[0].How != plan.Expire {
		return nil
	}
	clock, err := c.Do(ctx, c.B().Time().Build()).AsIntSlice()
	if err != nil || len(clock) != 2 {
		return errors.Join(errors.New("the server does not tell the time"), err)
	}
	for _, s := range steps {
		s.Ends = clock[0]*1000 + clock[1]/1000 + s.TTL.Milliseconds()
	}
	return nil
}

// refusals say what the script says instead of "done".
var refusals = map[string]plan.Code{"type": plan.OtherType, "ttl": plan.HasTTL, "used": plan.NotDue,
	"works": plan.QueueWorks, "lease": plan.LiveLease, "taken": plan.Taken, "changed": plan.Changed}

// errBytes reports a key whose bytes are not those that were kept: its value may be the same.
var errBytes = errors.New("other bytes")

// judge counts a key by the reply. An error means that it is not counted. It must be sent again, unless the error is
// errBytes.
func (r *changes) judge(s *keyChange, reply kernel.Reply) error {
	said, n := "", int64(0)
	message, err := reply.ToMessage()
	if err == nil {
		if n, err = message.AsInt64(); err != nil {
			said, err = message.ToString()
		}
	}
	if s.How == plan.Move && err == nil && said == "" && n == 0 {
		said = "taken"
	}
	what, reason := restore.Judge(err)
	switch {
	case what == restore.Unknown:
		return err
	case s.How == plan.Move && strings.Contains(reason, "no such key"):
		r.count(s, map[bool]journal.KeyCounts{true: {Changed: 1}, false: {Gone: 1}}[s.doubt]) // the lost attempt did it
	case err != nil:
		code := plan.Refused
		if strings.Contains(reason, "LFU") {
			code = plan.NotIdle
		}
		r.refuse(s, code)
	case n > 0, said == "done":
		r.count(s, journal.KeyCounts{Changed: 1})
	case s.doubt && (said == "" || said == "gone" || said == "ttl" || s.How == plan.Persist && said == "changed"):
		// the lost attempt did it
		r.count(s, journal.KeyCounts{Changed: 1})
	case said == "", said == "gone":
		r.count(s, journal.KeyCounts{Gone: 1})
	case said == "changed" && s.How == plan.Unlink && s.was != nil && s.was.sum != "":
		return errBytes
	default:
		r.leave(s.entry, refusals[said], s.key, s.db)
	}
	return nil
}

// refuse counts a key that the server did not permit to change.
func (r *changes) refuse(s *keyChange, why plan.Code) {
	plan.LeaveIn(r.left, why, s.key, s.db)
	r.count(s, journal.KeyCounts{Refused: 1})
}

// kept leaves alone the keys whose newer ones are not all there any more.
func (r *changes) kept(ctx context.Context, c kernel.Raw, steps []*keyChange) ([]*keyChange, error) {
	there := map[string]bool{}
	var names []string
	for _, s := range steps {
		for _, n := range s.After {
			if _, asked := there[n]; !asked {
				there[n] = false
				names = append(names, n)
			}
		}
	}
	for len(names) > 0 {
		part := names[:min(len(names), 1000)]
		names = names[len(part):]
		list := make(kernel.Commands, len(part))
		for i, n := range part {
			list[i] = c.B().Exists().Key(n).Build()
		}
		for i, reply := range c.DoMulti(ctx, list...) {
			n, err := reply.AsInt64()
			if err != nil {
				return nil, err
			}
			there[part[i]] = n > 0
		}
	}
	out := steps[:0:0]
next:
	for _, s := range steps {
		for _, n := range s.After {
			if !there[n] {
				r.leave(s.entry, plan.Changed, s.key, s.db)
				continue next
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// itemsAtOnce says how many items of entities are deleted at a time.
const itemsAtOnce = 64

// items deletes items of entities through their stores.
func (r *changes) items(ctx context.Context, c kernel.Raw, steps []*keyChange) error {
	steps, err := r.unused(ctx, c, steps)
	if err != nil || len(steps) == 0 {
		return err
	}
	type result struct {
		there bool
		err   error
	}
	results := make([]result, len(steps))
	room := make(chan struct{}, itemsAtOnce)
	var group sync.WaitGroup
	for i, s := range steps {
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			if results[i].there, results[i].err = r.Item(ctx, s.entry, Item{s.key, s.db, s.sums}); results[i].err == nil {
				wait.Answered(ctx)
			}
		})
	}
	group.Wait()
	for i, s := range steps {
		switch res := results[i]; {
		case res.err != nil && ctx.Err() != nil:
			r.count(s, journal.KeyCounts{Unknown: 1})
		case errors.Is(res.err, entity.ErrVersion):
			r.leave(s.entry, plan.Changed, s.key, s.db)
		case res.err != nil:
			r.refuse(s, plan.Refused)
		case res.there:
			r.count(s, journal.KeyCounts{Changed: 1})
		default:
			r.count(s, journal.KeyCounts{Gone: 1})
		}
	}
	return ctx.Err()
}

// unused leaves alone the items that were used too recently.
func (r *changes) unused(ctx context.Context, c kernel.Raw, steps []*keyChange) ([]*keyChange, error) {
	var list kernel.Commands
	var asked []*keyChange
	out := steps[:0:0]
	for _, s := range steps {
		if s.Idle == 0 {
			out = append(out, s)
			continue
		}
		asked = append(asked, s)
		list = append(list, c.B().ObjectIdletime().Key(string(s.key)).Build())
	}
	for i, reply := range c.DoMulti(ctx, list...) {
		s := asked[i]
		seconds, err := reply.AsInt64()
		answer, said := kernel.IsServerError(err)
		switch {
		case kernel.IsNil(err):
			r.count(s, journal.KeyCounts{Gone: 1})
		case said && strings.Contains(answer.Error(), "LFU"):
			r.refuse(s, plan.NotIdle)
		case said:
			r.refuse(s, plan.Refused)
		case err != nil:
			r.unknown(append(out, asked[i:]...))
			return nil, err
		case time.Duration(seconds)*time.Second < s.Idle:
			r.leave(s.entry, plan.NotDue, s.key, s.db)
		default:
			out = append(out, s)
		}
	}
	return out, nil
}

//go:embed *.lua
var files embed.FS

// scripts lists the scripts of this package and their parts.
var scripts = lua.New(files)

// eval returns the command that runs a script of this package.
func eval(b kernel.Builder, name string, keys []string, args ...string) kernel.Command {
	text := scripts.Script(name)
	if err := lua.TakenBy(text).Refuse(len(keys), len(args)); err != nil {
		text = "return redis.error_reply(" + strconv.Quote("ERR "+err.Error()) + ")"
	}
	return b.Eval().Script(text).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
}
