package entity

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/crossslot"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/internal/scripts"
	"github.com/keywright/keywright/entity/internal/upkeep"
	"github.com/keywright/keywright/keywrighttest"
)

var errDied = errors.New("the process died here")

// scene represents one id with several processes at it, stopped and killed between the
// steps of the protocol.
type scene struct {
	t       *testing.T
	cluster *keywrighttest.Cluster
	prefix  string
	edit    func(string) string // of the scripts
	found   bool                // whether edit had something to do
	real    bool                // time passes by itself
}

// process returns a store of its own, whose scripts are edited.
func (s *scene) process() *Store[string, note] {
	p := spread(s.t, s.cluster.URL(), s.prefix, func(spec *Spec[string, note]) {
		spec.OnExpire = []Event{{Mode: Append, Channel: "{" + s.prefix + "}:gone", MaxLen: 100, Data: []Part{{Name: "id"}}}}
	})
	if s.real {
		p.core.Windows = itemkeys.Windows{Act: itemkeys.UsualWindows.Act, Due: quick.Due}
	} else {
		p.core.Hook = func(step, _ string) error {
			if step == "opened" && p.core.Windows != itemkeys.UsualWindows { // the first step is alone
				p.core.Windows = itemkeys.UsualWindows
			}
			return nil
		}
	}
	own := *p.core.Scripts
	own.CrossSlot = scripts.NewCrossSlot(scripts.Parts.Edit(func(_, text string) string { return s.edit(text) }))
	p.core.Scripts = &own
	return p
}

// at calls f when the process is at a step for the first time.
func at(p *Store[string, note], step string, f func() error) {
	var once sync.Once
	old := p.core.Hook
	p.core.Hook = func(at, id string) (err error) {
		if old != nil {
			err = old(at, id)
		}
		if at == step {
			once.Do(func() { err = f() })
		}
		return err
	}
}

func dies() error { return errDied }

// rest lets so much time pass that every intent is due, and those who are stopped in
// the middle may not act any more; then p sweeps once. The time is not waited for: for
// a sweep everything is due, for those who are stopped it is too late.
func (s *scene) rest(p *Store[string, note], stopped ...*Store[string, note]) error {
	own := p.core.Windows
	if s.real {
		later(s.t, p, quick.Due)
	} else {
		raw := p.core.Client.Raw()
		ids, err := raw.Do(s.t.Context(), raw.B().Zrange().Key(p.core.Spec.Expires).Min("0").Max("-1").Build()).AsStrSlice()
		_ = s.try("look", err)
		for _, id := range ids {
			if entry, err := upkeep.BookOf(s.t.Context(), p.core, id); err == nil && !strings.Contains(entry.Text, "!=") {
				continue // no process has an intent
			}
			_ = s.try("make due",
				raw.Do(s.t.Context(), raw.B().Zadd().Key(p.core.Spec.Expires).ScoreMember().ScoreMember(0, id).Build()).Error())
		}
		for _, who := range stopped {
			who.core.Windows.Act = -time.Hour
		}
		p.core.Windows = itemkeys.Windows{Act: itemkeys.UsualWindows.Act}
	}
	eventually(s.t, "no other process sweeps", func() bool {
		done, err := p.Sweep(s.t.Context(), SweepOptions{})
		if err != nil {
			s.t.Errorf("sweep: %v", err)
		}
		return done.Busy == 0
	})
	p.core.Windows = own
	return nil
}

func (s *scene) try(what string, err error) error {
	if err != nil && !errors.Is(err, errDied) {
		s.t.Errorf("%s: %v", what, err)
	}
	return nil
}

// wrong returns what a check finds at the end, and how often an expiry was announced.
func (s *scene) wrong(p *Store[string, note], events int) (out []string) {
	_ = s.rest(p)
	p.core.Hook = nil
	checked, err := p.Check(s.t.Context(), CheckOptions{Found: func(p Problem) { out = append(out, fmt.Sprint(p)) }})
	if err != nil {
		s.t.Error(err)
	}
	if checked.Expired > 0 {
		out = append(out, "something waits behind a sweep")
	}
	n, err := p.core.Client.Raw().Do(s.t.Context(),
		p.core.Client.Raw().B().Xlen().Key("{"+s.prefix+"}:gone").Build()).AsInt64()
	if err != nil || int(n) != events {
		out = append(out, fmt.Sprintf("%d events of expiry, not %d (%v)", n, events, err))
	}
	return out
}

// scenes say what may happen to one item. Each gives what was wrong at the end.
var scenes = map[string]func(s *scene) []string{
	"a newer program has written the index record": newerFormsApart,
	"a writer is stopped before it writes, until others have taken over": func(s *scene) []string {
		a_, b := s.process(), s.process()
		at(a_, "opened", func() error { return s.rest(b, a_) })
		at(a_, "written", dies)
		_, err := a_.Create(s.t.Context(), "1", a("x", 1))
		_ = s.try("create", err)
		return s.wrong(b, 0)
	},
	"a writer is stopped before the indexes, until the item is gone": func(s *scene) []string {
		a_, b := s.process(), s.process()
		at(a_, "written", func() error {
			_ = s.rest(b, a_)
			_, err := b.Delete(s.t.Context(), "1")
			return s.try("delete", err)
		})
		at(a_, "indexed", dies)
		_, err := a_.Create(s.t.Context(), "1", a("x", 1))
		_ = s.try("create", err)
		return s.wrong(b, 0)
	},
	"a writer dies before the indexes": func(s *scene) []string {
		a_, b := s.process(), s.process()
		at(a_, "written", dies)
		_, err := a_.Create(s.t.Context(), "1", a("x", 1))
		_ = s.try("create", err)
		return s.wrong(b, 0)
	},
	"a writer dies behind the indexes, and the item by hand": func(s *scene) []string {
		a_, b := s.process(), s.process()
		at(a_, "indexed", dies)
		_, err := a_.Create(s.t.Context(), "1", a("x", 1))
		_ = s.try("create", err)
		raw := b.core.Client.Raw()
		_ = s.try("unlink", raw.Do(s.t.Context(), raw.B().Unlink().Key(b.core.Key("1")).Build()).Error())
		return s.wrong(b, 0)
	},
	"another moves the item before the indexes": func(s *scene) []string {
		a_, b := s.process(), s.process()
		at(a_, "written", func() error {
			_, err := b.Update(s.t.Context(), "1", setKind.Set("y"))
			return s.try("update", err)
		})
		_, err := a_.Create(s.t.Context(), "1", a("x", 1))
		_ = s.try("create", err)
		return s.wrong(b, 0)
	},
	"another makes the item when the intent is open": func(s *scene) []string {
		a_, b := s.process(), s.process()
		at(a_, "opened", func() error {
			_, err := b.Create(s.t.Context(), "1", a("y", 1))
			return s.try("create", err)
		})
		_, err := a_.Put(s.t.Context(), "1", a("x", 1))
		_ = s.try("put", err)
		return s.wrong(b, 0)
	},
	"a sweeper is stopped before the indexes, until the item is there again": func(s *scene) []string {
		a_, b := s.process(), s.process()
		s.expire(b, "1")
		at(a_, "looked", func() error {
			_ = s.rest(b, a_)
			_, err := b.Create(s.t.Context(), "1", a("x", 1))
			return s.try("create", err)
		})
		if _, err := a_.Sweep(s.t.Context(), SweepOptions{Lease: time.Millisecond}); err != nil && !errors.Is(err,
			crossslot.ErrLate) {
			s.t.Error(err)
		}
		return s.wrong(b, 1)
	},
	"a sweeper dies, another announces": func(s *scene) []string {
		a_, b := s.process(), s.process()
		s.expire(b, "1")
		at(a_, "indexed", func() error { return s.rest(b, a_) })
		_, err := a_.Sweep(s.t.Context(), SweepOptions{Lease: time.Millisecond})
		_ = s.try("sweep", err)
		return s.wrong(b, 1)
	},
	"an item is made again before it is swept": func(s *scene) []string {
		a_, b := s.process(), s.process()
		s.expire(b, "1")
		_, err := a_.Create(s.t.Context(), "1", a("y", 1))
		_ = s.try("create", err)
		return s.wrong(b, 1)
	},
	"an item is deleted by one who dies": func(s *scene) []string {
		a_, b := s.process(), s.process()
		_, err := b.Create(s.t.Context(), "1", a("y", 1))
		_ = s.try("create", err)
		at(a_, "written", dies)
		_, err = a_.Delete(s.t.Context(), "1")
		_ = s.try("delete", err)
		return s.wrong(b, 0)
	},
	"a writer dies before the indexes, and time passes": func(s *scene) []string {
		s.real = true
		a_, b := s.process(), s.process()
		at(a_, "written", dies)
		_, err := a_.Create(s.t.Context(), "1", a("x", 1))
		_ = s.try("create", err)
		return s.wrong(b, 0)
	},
	"an item is shortened by one who dies": func(s *scene) []string {
		s.real = true
		a_, b := s.process(), s.process()
		_, err := b.Create(s.t.Context(), "1", a("y", 1))
		_ = s.try("create", err)
		at(a_, "indexed", dies)
		_, err = a_.Shorten(s.t.Context(), "1", 20*time.Millisecond)
		_ = s.try("shorten", err)
		return s.wrong(b, 1)
	},
	"an item is prolonged": func(s *scene) []string {
		b := s.process()
		_, err := b.Create(s.t.Context(), "1", a("y", 1), keywright.ExpiresIn(time.Minute))
		_ = s.try("create", err)
		_ = s.try("touch", b.Touch(s.t.Context(), "1"))
		return s.wrong(b, 0)
	},
}

// expire leaves an item that has expired and is not swept.
func (s *scene) expire(p *Store[string, note], id string) {
	_, err := p.Create(s.t.Context(), id, a("x", 1), keywright.ExpiresIn(20*time.Millisecond))
	_ = s.try("create", err)
	eventually(s.t, "it expires", func() bool { there, err := p.Exists(s.t.Context(), id); return err == nil && !there })
	later(s.t, p, 2*time.Millisecond) // the clocks of two servers differ in one millisecond
}

func apartScenes(t *testing.T, c *keywrighttest.Cluster) {
	n := 0
	for name, play := range scenes {
		n++
		prefix := fmt.Sprint("s", n)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, w := range play(&scene{t: t, cluster: c, prefix: prefix, edit: func(text string) string { return text }}) {
				t.Error(w)
			}
		})
	}
}

// apartMutations: with any guard taken out a scene shows it.
func apartMutations(t *testing.T, c *keywrighttest.Cluster) {
	n := 0
	for guard, m := range map[string]struct{ instead, scene string }{
		"if not e then return redis.error_reply(newer) end": {
			"if not e then e = {stamp = '', state = '-', record = '', ends = '', intents = {}} end",
			"a newer program has written the index record"},
		"if foreign(said) then return redis.error_reply(newer)": {"if false then return",
			"a newer program has written the index record"},
		"  if foreign(nil, text) then return nil end\n": {"", "a newer program has written the index record"},
		"if ms > tonumber(deadline) then return {'late'": {"if false then return {'late'",
			"a writer is stopped before it writes, until others have taken over"},
		"> tonumber(ARGV[1]) then return 'late' end": {"> 1e15 then return 'late' end",
			"a writer is stopped before the indexes, until the item is gone"},
		"> tonumber(ARGV[1]) then return 'late' end ": {"> 1e15 then return 'late' end",
			"a sweeper is stopped before the indexes, until the item is there again"},
		"opened(token, kind, members)\nsave(id, e)": {"opened(token, kind, members)",
			"a writer dies before the indexes"},
		"if ARGV[a + 4] ~= 'abort' and e.stamp ~= ARGV[a + 3] then": {"if false then",
			"another moves the item before the indexes"},
		"intent.m = union(intent.m, e.record)": {"",
			"another makes the item when the intent is open"},
		"members = union(members, over.m)": {"",
			"a writer dies behind the indexes, and the item by hand"},
		"if not there and listed == '1' then": {"if false then", "an item is made again before it is swept"},
		"if not mine then return {'lost'} end": {
			"if not mine then announce(a + 7, a + ARGV[a] - 1) return {'lost'} end", "a sweeper dies, another announces"},
		"not (deleting and early)": {"true",
			"an item is deleted by one who dies"},
		"elseif longer and ARGV[4] == '' then\n  code = 'shorter'": {"elseif longer and ARGV[4] == '' then",
			"an item is shortened by one who dies"},
		"e.state, e.record, e.ends = 'x', ARGV[a + 5], ARGV[a + 6]": {
			"e.state, e.record, e.ends = 'x', ARGV[a + 5], ''", "an item is prolonged"},
		"local over = i.o + grace\n    if not next or over < next then next = over": {"if not next then next = i.o + 1e12",
			"a writer dies before the indexes, and time passes"},
	} {
		n++
		prefix := fmt.Sprint("m", n)
		t.Run(guard, func(t *testing.T) {
			t.Parallel()
			s := &scene{t: t, cluster: c, prefix: prefix}
			s.edit = func(text string) string {
				guard := strings.TrimSuffix(guard, " ")
				s.found = s.found || strings.Contains(text, guard)
				return strings.ReplaceAll(text, guard, m.instead)
			}
			wrong := scenes[m.scene](s)
			if !s.found {
				t.Fatal("no script has this guard any more: the mutation tests nothing")
			}
			if len(wrong) == 0 {
				t.Errorf("%q stays green without this guard", m.scene)
			} else {
				t.Log(wrong[0])
			}
		})
	}
}
