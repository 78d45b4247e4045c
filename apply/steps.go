package apply

import (
	"context"
	"embed"
	"errors"
	"slices"
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

// mover makes changes of one way. What it does not count, it counts as unknown.
type mover func(context.Context, kernel.Raw, []*keyChange) error

// The ways in which changes are made, in their order.
const (
	byReading = iota // of what was kept and is large
	byElement
	byComparing // with what is there under the new name
	byCopy      // to another slot, or of another value
	byMember
	byCommand // all in one pipeline
	byStore   // side by side
	ways
)

// way tells how a change is made.
func (s *keyChange) way(cluster bool) int {
	switch s.Do.(type) {
	case plan.Unlink:
		if s.was != nil && s.was.sum == "" {
			return byReading
		}
	case plan.Merge:
		return byElement
	case plan.Drop:
		return byComparing
	case plan.Move:
		if s.Content != nil || cluster && slot.Of([]byte(s.To)) != slot.Of(s.key) {
			return byCopy
		}
	case plan.Retag:
		return byMember
	case plan.Item:
		return byStore
	}
	return byCommand
}

// batch changes keys of one database, those of one way after those of another.
func (r *changes) batch(ctx context.Context, c kernel.Raw, steps []*keyChange) (err error) {
	for _, sift := range []func(context.Context, kernel.Raw, []*keyChange) ([]*keyChange, error){
		r.kept, r.skipRivals, r.undivided, r.retagFirst} {
		if steps, err = sift(ctx, c, steps); err != nil {
			r.unknown(steps)
			return err
		}
	}
	var by [ways][]*keyChange
	cluster := kernel.InCluster(c)
	for _, s := range steps {
		if w := s.way(cluster); cluster && !s.oneSlot() {
			r.leave(s.entry, plan.OtherSlot, s.key, s.db)
		} else {
			by[w] = append(by[w], s)
		}
	}
	for w, move := range [ways]mover{byReading: r.kepts, byElement: r.merge, byComparing: r.inParts(r.drop),
		byCopy: r.inParts(r.move), byMember: r.retags, byCommand: r.commands, byStore: r.items} {
		if err != nil {
			r.unknown(by[w])
		} else {
			err = move(ctx, c, by[w])
		}
	}
	return err
}

// oneSlot reports whether all keys of a change can be in one step.
func (s *keyChange) oneSlot() bool {
	for _, names := range [][]string{s.Busy, s.with(), s.Absent} {
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
	verb, at, kind, idle, sum, ends := "unlink", "", "", "", "", ""
	switch do := s.Do.(type) {
	case plan.Move:
		return s.renaming(c, do)
	case plan.Persist:
		verb, at = "persist", strconv.FormatInt(do.Ends, 10)
	case plan.Expire:
		verb, at, kind = "expire", strconv.FormatInt(do.TTL.Milliseconds(), 10), string(do.Type)
		if s.ends > 0 {
			verb, at = "expireat", strconv.FormatInt(s.ends, 10)
		}
	case plan.Unlink:
		if s.Idle == 0 && len(s.Busy)+len(do.With) == 0 && s.was == nil {
			return c.B().Unlink().Key(string(s.key)).Build()
		}
	}
	if s.Idle > 0 {
		idle = strconv.FormatInt(int64((s.Idle+time.Second-1)/time.Second), 10)
	}
	if s.was != nil {
		sum, ends = s.was.sum, strconv.FormatInt(s.was.Expires, 10)
	}
	keys := slices.Concat([]string{string(s.key)}, s.Busy, s.with())
	return eval(c.B(), "change", keys, verb, at, kind, idle, strconv.Itoa(len(s.Busy)), sum, ends)
}

// with returns the keys that go with one that is removed.
func (s *keyChange) with() []string {
	unlink, _ := s.Do.(plan.Unlink)
	return unlink.With
}

// absolute gives keys their ends by the server's clock, so that an undo knows them.
func (r *changes) absolute(ctx context.Context, c kernel.Raw, steps []*keyChange) error {
	if _, expires := steps[0].Do.(plan.Expire); r.Undo == nil || !expires {
		return nil
	}
	clock, err := c.Do(ctx, c.B().Time().Build()).AsIntSlice()
	if err != nil || len(clock) != 2 {
		return errors.Join(errors.New("the server does not tell the time"), err)
	}
	for _, s := range steps {
		if do, ok := s.Do.(plan.Expire); ok {
			s.ends = clock[0]*1000 + clock[1]/1000 + do.TTL.Milliseconds()
		}
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
	said, err := s.said(reply)
	_, persists := s.Do.(plan.Persist)
	_, unlinks := s.Do.(plan.Unlink)
	what, reason := restore.Judge(err)
	switch {
	case what == restore.Unknown:
		return err
	case err != nil:
		code := plan.Refused
		if strings.Contains(reason, "LFU") {
			code = plan.NotIdle
		}
		r.refuse(s, code)
	case said == "done", s.doubt && (said == "gone" || said == "ttl" || persists && said == "changed"):
		r.count(s, journal.KeyCounts{Changed: 1}) // in doubt, the lost attempt did it
	case said == "gone":
		r.count(s, journal.KeyCounts{Gone: 1})
	case said == "changed" && unlinks && s.was != nil && s.was.sum != "":
		return errBytes
	default:
		r.leave(s.entry, refusals[said], s.key, s.db)
	}
	return nil
}

// said returns what the script says, or would say where a command was sent.
func (s *keyChange) said(reply kernel.Reply) (string, error) {
	none := "gone"
	if _, moves := s.Do.(plan.Move); moves {
		none = "taken"
	}
	message, err := reply.ToMessage()
	if answer, is := kernel.IsServerError(err); is && none == "taken" && strings.Contains(answer.Error(), "no such key") {
		return "gone", nil
	}
	if err != nil {
		return "", err
	}
	switch n, err := message.AsInt64(); {
	case err != nil:
		return message.ToString()
	case n > 0:
		return "done", nil
	}
	return none, nil
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
				return steps, err
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
