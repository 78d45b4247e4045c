package apply

import (
	"context"
	_ "embed"
	"strings"

	"github.com/keywright/keywright/plan"
	"github.com/keywright/keywright/source"
	"github.com/redis/rueidis"
)

// The names of cached values are in sorted sets, the tags of a cache. So that a tag reaches each
// value at any moment of a rename, also of one that is killed, the sets are told all new names
// before the first value is renamed, and lose the old ones after the last: each as soon as
// neither the value nor its load is there under the old name.

//go:embed retag.lua
var retagText string

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

// toldAll tells some sets. What is told is not counted: the set is, when it loses the old names.
func (r *changes) toldAll(ctx context.Context, steps []*keyChange) error {
	if err := r.Begin(ctx, nil, 0); err != nil {
		return err
	}
	c, err := r.clients(steps[0].db)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if _, _, err := r.retag(ctx, c.Raw(), s, true); err != nil {
			return err
		}
	}
	return nil
}

// Tell tells sets that keep their names the new names beside the old ones, and changes nothing
// else: as long as values are there under both names, their tags reach both.
func Tell(ctx context.Context, clients Clients, scan Scan, rule plan.Rule, o KeysOptions) error {
	r := &changes{Run: &Run{KeysOptions: o, left: map[plan.Code]*plan.Left{}}, clients: clients, rule: rule, copies: true}
	_, err := r.tell(ctx, scan)
	return err
}

// retagged gives members of sets their new names, before the sets get new names, too.
func (r *changes) retagged(ctx context.Context, c rueidis.Client, steps []*keyChange) (out []*keyChange, err error) {
	for i, s := range steps {
		if s.Members != nil {
			if _, _, err := r.retag(ctx, c, s, false); err != nil {
				r.unknown(append(out, steps[i:]...))
				return nil, err
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// retags gives members of sets that keep their names new ones. A set that had none of those is
// counted nowhere.
func (r *changes) retags(ctx context.Context, c rueidis.Client, steps []*keyChange) error {
	for i, s := range steps {
		n, set, err := r.retag(ctx, c, s, false)
		_, said := rueidis.IsRedisErr(err)
		switch what, _ := judged(err); {
		case said && what == refused:
			r.refuse(s, plan.Refused)
		case err != nil:
			r.unknown(steps[i:])
			return err
		case !set:
			r.leave(s.entry, plan.OtherType, s.key, s.db)
		case n > 0:
			r.count(s, KeyCounts{Changed: 1})
		}
	}
	return nil
}

// retag gives the members of a set their new names: all, or beside the old ones. set: it is one.
func (r *changes) retag(ctx context.Context, c rueidis.Client, s *keyChange, beside bool) (n int64, set bool,
	err error) {
	set, err = r.eachMember(ctx, c, s, func(found []renamedMember) (bool, error) {
		args := make([]string, 0, 3*len(found))
		for _, m := range found {
			args = append(args, m.old, m.to, map[bool]string{true: "1"}[!beside && !m.still])
		}
		var some int64
		err := r.surely(ctx, func() (err error) {
			some, err = c.Do(ctx, c.B().Eval().Script(retagText).Numkeys(1).Key(string(s.key)).Arg(args...).Build()).AsInt64()
			return err
		})
		n += some
		return true, err
	})
	return n, set, err
}

// surely does what may be done twice, until it has an answer.
func (r *changes) surely(ctx context.Context, do func() error) (err error) {
	for attempt := range attempts {
		if attempt > 0 && !pause(ctx, attempt, err) {
			break
		}
		err = do()
		if what, _ := judged(err); what != unknown {
			break
		}
	}
	return err
}

// renamedMember is a member that gets a new name.
type renamedMember struct {
	old, to string
	still   bool // the value, or its load, is there under the old name
}

// eachMember yields the members of a set that get new names, until each says false. set: it is
// one, or is gone.
func (r *changes) eachMember(ctx context.Context, c rueidis.Client, s *keyChange,
	each func([]renamedMember) (more bool, err error)) (set bool, err error) {
	for cursor := uint64(0); ; {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		if r.StillActs != nil {
			if err := r.StillActs(); err != nil {
				return true, err
			}
		}
		var page rueidis.ScanEntry
		err := r.surely(ctx, func() (err error) {
			scan := c.B().Zscan().Key(string(s.key)).Cursor(cursor)
			if s.Members.Glob != "" {
				page, err = c.Do(ctx, scan.Match(s.Members.Glob).Count(membersSeen).Build()).AsScanEntry()
			} else {
				page, err = c.Do(ctx, scan.Count(membersSeen).Build()).AsScanEntry()
			}
			return err
		})
		if answer, said := rueidis.IsRedisErr(err); said && strings.HasPrefix(answer.Error(), "WRONGTYPE") {
			return false, nil
		}
		if err != nil {
			return true, err
		}
		for some := page.Elements; len(some) > 0; {
			part := some[:min(len(some), 2*retagAtOnce)]
			some = some[len(part):]
			found, err := r.members(ctx, c, s, part)
			if err != nil {
				return true, err
			}
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

// members are those of a page that get new names.
func (r *changes) members(ctx context.Context, c rueidis.Client, s *keyChange, page []string) (out []renamedMember,
	err error) {
	var asked rueidis.Commands
	var of []int
	for i := 0; i+1 < len(page); i += 2 {
		to, still, ok := s.Members.New([]byte(page[i]))
		if !ok {
			continue
		}
		for _, name := range still {
			asked, of = append(asked, c.B().Exists().Key(name).Build()), append(of, len(out))
		}
		out = append(out, renamedMember{old: page[i], to: to})
	}
	for i, reply := range c.DoMulti(ctx, asked...) {
		n, err := reply.AsInt64()
		if err != nil {
			return nil, err
		}
		out[of[i]].still = out[of[i]].still || n > 0
	}
	return out, nil
}

// tagged leaves out of a plan the sets in which nothing gets a new name: each value of them is
// gone, or keeps its old name, and the new one is there beside it.
func (r *changes) tagged(ctx context.Context, c rueidis.Client, batch []source.Key, decisions []plan.Decision) error {
	for i := range decisions {
		d := &decisions[i]
		if !d.Meant || d.Leave != "" || d.Step.How != plan.Retag {
			continue
		}
		s := &keyChange{Step: d.Step, key: batch[i].Name, db: batch[i].DB}
		d.Meant = false
		_, err := r.eachMember(ctx, c, s, func(found []renamedMember) (bool, error) {
			for _, m := range found {
				if !m.still {
					d.Meant = true
					return false, nil
				}
				there, err := c.Do(ctx, c.B().Exists().Key(m.to).Build()).AsInt64()
				if err != nil {
					return false, err
				}
				told := c.Do(ctx, c.B().Zscore().Key(string(s.key)).Member(m.to).Build()).Error()
				if told != nil && !rueidis.IsRedisNil(told) {
					return false, told
				}
				if there == 0 || told != nil {
					d.Meant = true
					return false, nil
				}
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
