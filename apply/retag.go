package apply

import (
	"context"
	"strconv"
	"strings"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source"
)

// The names of cached values are in sorted sets, the tags of a cache. So that a tag reaches each
// value at any moment of a rename, also of one that is killed, the sets get all new names
// before the first value is renamed, and lose the old ones after the last: each as soon as
// neither the value nor its load is there under the old name.

// retagAtOnce is how many members one script changes, and how many ZSCAN is to look at.
const (
	retagAtOnce = 100
	membersSeen = 1000
)

// tell tells sets all new names, before any key is renamed.
func (r *changes) tell(ctx context.Context, scan Scan) (sum source.Summary, err error) {
	if t, ok := r.rule.(interface{ Tags() bool }); !ok || !t.Tags() {
		return sum, nil
	}
	r.telling = true
	defer func() { r.telling = false }()
	return r.through(ctx, scan)
}

// toldAll adds the new names to some sets. These are not counted: the set is, when it loses the old names.
func (r *changes) toldAll(ctx context.Context, steps []*keyChange) error {
	if err := r.Begin(ctx, nil, 0); err != nil {
		return err
	}
	c, err := r.clients(steps[0].db)
	if err != nil {
		return err
	}
	defer wait.Ask(ctx)()
	for _, s := range steps {
		if _, _, err := r.retag(ctx, c.Raw(), s, true); err != nil {
			return err
		}
	}
	return nil
}

// Tell tells sets that keep their names the new names beside the old ones, and changes nothing
// else: as long as values are there under both names, their tags reach both.
func Tell(ctx context.Context, clients restore.Clients, scan Scan, rule plan.Rule, o KeysOptions) error {
	r := &changes{Run: &Run{KeysOptions: o, left: map[plan.Code]*plan.Left{}}, clients: clients, rule: rule, copies: true}
	ctx, stop := wait.Bound(ctx, o.Waiting)
	defer stop(nil)
	_, err := r.tell(ctx, scan)
	return wait.Cause(ctx, err)
}

// retagFirst gives members of sets their new names, before the sets get new names, too.
func (r *changes) retagFirst(ctx context.Context, c kernel.Raw, steps []*keyChange) (out []*keyChange, err error) {
	for i, s := range steps {
		if s.To != "" && s.Retag().New != nil {
			if _, _, err := r.retag(ctx, c, s, false); err != nil {
				return append(out, steps[i:]...), err
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// retags gives members of sets that keep their names new ones. A set that had none of those is
// not counted.
func (r *changes) retags(ctx context.Context, c kernel.Raw, steps []*keyChange) error {
	for i, s := range steps {
		n, set, err := r.retag(ctx, c, s, false)
		_, said := kernel.IsServerError(err)
		switch what, _ := restore.Judge(err); {
		case said && what == restore.Refused:
			r.refuse(s, plan.Refused)
		case err != nil:
			r.unknown(steps[i:])
			return err
		case !set:
			r.leave(s.entry, plan.OtherType, s.key, s.db)
		case n > 0:
			r.count(s, journal.KeyCounts{Changed: 1})
		}
	}
	return nil
}

// retag gives the members of a set their new names: all, or beside the old ones. set: it is one.
// A member stays where its value, or its load, is there. That is asked in the step that takes it
// away; over slots it is asked before, and again after it: the names that have come meanwhile are added again.
func (r *changes) retag(ctx context.Context, c kernel.Raw, s *keyChange, beside bool) (n int64, set bool,
	err error) {
	cluster := kernel.InCluster(c)
	set, err = r.eachMember(ctx, c, s, func(found []renamedMember) (bool, error) {
		for i := range found {
			found[i].goes = !beside
		}
		if cluster && !beside {
			if err := askStill(ctx, c, found); err != nil {
				return false, err
			}
		}
		if r.asked != nil && !beside {
			r.asked(s.key)
		}
		some, err := r.retagSome(ctx, c, s.key, found, !cluster && !beside)
		n += some
		if err != nil || !cluster || beside {
			return err == nil, err
		}
		return true, r.tellAgain(ctx, c, s.key, found)
	})
	return n, set, err
}

// retagSome changes members of a set in one step. ask: in it, what keeps them.
func (r *changes) retagSome(ctx context.Context, c kernel.Raw, set []byte, members []renamedMember,
	ask bool) (n int64, err error) {
	keys, args := []string{string(set)}, make([]string, 0, 4*len(members))
	for _, m := range members {
		still := m.still
		if !ask {
			still = nil
		}
		keys = append(keys, still...)
		args = append(args, m.old, m.to, map[bool]string{true: "1"}[m.goes && !m.there], strconv.Itoa(len(still)))
	}
	err = r.surely(ctx, func() (err error) {
		script := eval(c.B(), "retag", keys, args...)
		n, err = c.Do(ctx, script).AsInt64()
		return err
	})
	return n, err
}

// tellAgain gives a set the old names of members again whose values have come since they were
// asked for.
func (r *changes) tellAgain(ctx context.Context, c kernel.Raw, set []byte, members []renamedMember) error {
	var back []renamedMember
	for _, m := range members {
		if m.goes && !m.there {
			back = append(back, renamedMember{old: m.old, to: m.to, still: m.still})
		}
	}
	if err := askStill(ctx, c, back); err != nil || len(back) == 0 {
		return err
	}
	again := back[:0]
	for _, m := range back {
		if m.there { // with the score of the new one, which it has
			again = append(again, renamedMember{old: m.to, to: m.old})
		}
	}
	if len(again) == 0 {
		return nil
	}
	_, err := r.retagSome(ctx, c, set, again, false)
	return err
}

// surely does what may be done twice, until it has an answer.
func (r *changes) surely(ctx context.Context, do func() error) (err error) {
	for attempt := range restore.Attempts {
		if attempt > 0 && !restore.Pause(ctx, attempt, err) {
			break
		}
		err = do()
		if what, _ := restore.Judge(err); what != restore.Unknown {
			wait.Answered(ctx)
			break
		}
	}
	return err
}

// renamedMember represents a member that gets a new name.
type renamedMember struct {
	old, to string
	still   []string // the value and its load, under the old name
	there   bool     // one of those was there when they were asked for
	goes    bool     // the old name is to go
}

// eachMember yields the members of a set that get new names, until each says false. set: it is
// one, or is gone.
func (r *changes) eachMember(ctx context.Context, c kernel.Raw, s *keyChange,
	each func([]renamedMember) (more bool, err error)) (set bool, err error) {
	tags := s.Retag()
	for cursor := uint64(0); ; {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		if r.StillHeld != nil {
			if err := r.StillHeld(); err != nil {
				return true, err
			}
		}
		var page kernel.ScanEntry
		err := r.surely(ctx, func() (err error) {
			scan := c.B().Zscan().Key(string(s.key)).Cursor(cursor)
			if tags.Glob != "" {
				page, err = c.Do(ctx, scan.Match(tags.Glob).Count(membersSeen).Build()).AsScanEntry()
			} else {
				page, err = c.Do(ctx, scan.Count(membersSeen).Build()).AsScanEntry()
			}
			return err
		})
		if answer, said := kernel.IsServerError(err); said && strings.HasPrefix(answer.Error(), "WRONGTYPE") {
			return false, nil
		}
		if err != nil {
			return true, err
		}
		for some := page.Elements; len(some) > 0; {
			part := some[:min(len(some), 2*retagAtOnce)]
			some = some[len(part):]
			found := members(part, tags)
			if len(found) == 0 {
				continue
			}
			if more, err := each(found); err != nil || !more {
				return true, err
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return true, nil
		}
	}
}

// members returns those of a page that get new names.
func members(page []string, tags plan.Retag) (out []renamedMember) {
	for i := 0; i+1 < len(page); i += 2 {
		if to, still, ok := tags.New([]byte(page[i])); ok {
			out = append(out, renamedMember{old: page[i], to: to, still: still})
		}
	}
	return out
}

// askStill asks which values, or their loads, are there under their old names.
func askStill(ctx context.Context, c kernel.Raw, members []renamedMember) error {
	var asked kernel.Commands
	var of []int
	for i, m := range members {
		for _, name := range m.still {
			asked, of = append(asked, c.B().Exists().Key(name).Build()), append(of, i)
		}
	}
	for i, reply := range c.DoMulti(ctx, asked...) {
		n, err := reply.AsInt64()
		if err != nil {
			return err
		}
		members[of[i]].there = members[of[i]].there || n > 0
	}
	return nil
}

// tagged leaves out of a plan the sets in which nothing gets a new name: each value of them is
// gone, or keeps its old name, and the new one is there beside it.
func (r *changes) tagged(ctx context.Context, c kernel.Raw, batch []source.Key, decisions []plan.Decision) error {
	for i := range decisions {
		d := &decisions[i]
		if _, retags := d.Step.Do.(plan.Retag); !retags || !d.Meant || d.Leave != "" {
			continue
		}
		s := &keyChange{Step: d.Step, key: batch[i].Name, db: batch[i].DB}
		d.Meant = false
		_, err := r.eachMember(ctx, c, s, func(found []renamedMember) (more bool, err error) {
			if err := askStill(ctx, c, found); err != nil {
				return false, err
			}
			for _, m := range found {
				d.Meant = d.Meant || !m.there
			}
			if !d.Meant {
				d.Meant, err = lacks(ctx, c, s.key, found)
			}
			return !d.Meant, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lacks reports whether a new name of members is not there, or not in their set.
func lacks(ctx context.Context, c kernel.Raw, set []byte, members []renamedMember) (bool, error) {
	asked := make(kernel.Commands, 0, 2*len(members))
	for _, m := range members {
		asked = append(asked, c.B().Exists().Key(m.to).Build(), c.B().Zscore().Key(string(set)).Member(m.to).Build())
	}
	out := false
	for i, reply := range c.DoMulti(ctx, asked...) {
		n := int64(1)
		err := reply.Error()
		switch {
		case kernel.IsNil(err):
			n, err = 0, nil
		case err == nil && i%2 == 0:
			n, err = reply.AsInt64()
		}
		if err != nil {
			return false, err
		}
		out = out || n == 0
	}
	return out, nil
}
