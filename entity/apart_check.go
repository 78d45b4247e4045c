package entity

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// mostLooks says how often a check looks at an item that changes while it looks.
const mostLooks = 50

// compareApart returns compare where the keys are in several slots, which is no one step:
// the ledger, the item, its entries, and the ledger again. What looks wrong is wrong
// only if no intent is open and none was closed between. With an open intent
// it counts as Expired: its owner, or a sweep, puts it right.
func (c *check) compareApart(ctx context.Context, id string) (again bool, err error) {
	for range mostLooks {
		l := &inspection{store: c.store, id: id, suspects: c.suspects[id]}
		if err = l.run(ctx); err != nil {
			return false, err
		}
		if l.it.item.there && !l.moved {
			c.checked.Items++
		}
		switch {
		case len(l.problems) == 0:
			return false, nil
		case l.waits:
			c.checked.Expired++
			c.busy = l.intents
			return false, nil
		case l.moved:
			pause(ctx, time.Millisecond)
			continue
		}
		for _, p := range l.problems {
			c.problem(p)
		}
		if c.options.Apply && formed(l.before.text) {
			return false, c.store.mend(ctx, id, l.keys())
		}
		return false, nil
	}
	c.busy = true
	return false, ctx.Err()
}

// inspection represents one look at an item and at all that is said of it.
type inspection struct {
	store    *core
	id       string
	suspects map[string]bool
	before   entryText
	it       *intent
	problems []Problem
	intents  bool // are open
	waits    bool // for a sweep, or for the owner of an intent
	moved    bool // while it was looked at
}

// entryText describes what the ledger and the zset say of an id.
type entryText struct {
	text, due string
	now       int64 // ms
}

func (l *inspection) run(ctx context.Context) (err error) {
	s := l.store
	if l.before, err = s.bookOf(ctx, l.id); err != nil {
		return err
	}
	if !formed(l.before.text) {
		l.it, l.problems = newIntent(l.id, mending), []Problem{{ID: l.id, What: "form"}}
		return nil
	}
	l.it = newIntent(l.id, mending)
	if err = s.read(ctx, []*intent{l.it}); err != nil {
		return err
	}
	if err = l.entries(ctx); err != nil {
		return err
	}
	l.books()
	if len(l.problems) == 0 {
		return nil
	}
	after, err := s.bookOf(ctx, l.id)
	l.moved = after.text != l.before.text
	return err
}

// bookOf reads what the ledger and the zset say.
func (s *core) bookOf(ctx context.Context, id string) (e entryText, err error) {
	texts, err := s.run(ctx, "check", s.scripts.book, keywright.Reads, s.bookKeys(), id, flag(s.spec.Expires != ""))
	if err != nil {
		return e, err
	}
	e.text, e.due = texts[0], texts[1]
	e.now, err = strconv.ParseInt(texts[2], 10, 64)
	return e, err
}

// keys returns all index keys that the item is in, or was seen in.
func (l *inspection) keys() []string {
	all := maps.Clone(l.suspects)
	if all == nil {
		all = map[string]bool{}
	}
	for key := range l.it.item.in {
		all[key] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// entries compares the entries of the item with its fields.
func (l *inspection) entries(ctx context.Context) error {
	keys := l.keys()
	scores, ttls := make([]string, len(keys)), make([]int64, len(keys))
	var ops []keywright.Op[bool]
	for i, key := range keys {
		read := func(build func(kernel.Builder) kernel.Command, decode func(kernel.Reply) error) {
			ops = append(ops,
				kernel.NewOp(kernel.Spec[bool]{Action: l.store.action("check", keywright.Reads, key, nil), Build: build,
					Decode: func(r kernel.Reply) (bool, error) { return true, decode(r) }}))
		}
		read(func(b kernel.Builder) kernel.Command { return b.Zscore().Key(key).Member(l.id).Build() },
			func(r kernel.Reply) (err error) {
				scores[i], err = optionalText(r)
				return err
			})
		read(func(b kernel.Builder) kernel.Command { return b.Pttl().Key(key).Build() },
			func(r kernel.Reply) (err error) {
				ttls[i], err = r.AsInt64()
				return err
			})
	}
	if len(ops) == 0 {
		return nil
	}
	if err := kernel.DoAll(ctx, ops...); err != nil {
		return err
	}
	for i, key := range keys {
		score, in := l.it.item.in[key]
		if what := l.entry(in, score, scores[i], ttls[i]); what != "" {
			l.problems = append(l.problems, Problem{ID: l.id, What: what, Key: key})
		}
	}
	return nil
}

// entry returns what is wrong with one entry, "" if nothing is.
func (l *inspection) entry(should bool, score, found string, ttl int64) string {
	a, _ := strconv.ParseFloat(score, 64)
	b, _ := strconv.ParseFloat(found, 64)
	switch {
	case should && found == "":
		return "missing"
	case !should && found != "":
		return "stale"
	case should && score != "" && a != b:
		return "score"
	case should && ttl == -1 && l.store.spec.Expires != "":
		return "ttl"
	}
	return ""
}

// books compares what the ledger and the zset say with the item.
func (l *inspection) books() {
	item, known := l.it.item, map[string]string{}
	for name, text := range pairs(strings.TrimPrefix(l.before.text, "=")) {
		known[name] = text
	}
	_, plain := known["#"]
	there := l.before.text != "" && (!plain || known["~"] == "x")
	due, _ := strconv.ParseFloat(l.before.due, 64)
	_, l.intents = known["!"]
	l.waits = l.intents || !item.there && there && l.before.due != "" && due <= float64(l.before.now)
	switch {
	case item.there != there || item.there && !l.recorded(item.record, known):
		l.problems = append(l.problems, Problem{ID: l.id, What: "ledger"})
	case item.there && item.left >= 0 && l.store.spec.Expires != "" &&
		(l.before.due == "" || due > float64(l.before.now+item.left+1000)):
		l.problems = append(l.problems, Problem{ID: l.id, What: "expiry"})
	}
}

// recorded reports whether the ledger says what a record says.
func (l *inspection) recorded(record string, known map[string]string) bool {
	for tag, text := range pairs(record) {
		is, said := known[tag]
		if _, doubted := known[doubt+tag]; doubted || !said || is != text {
			return false
		}
	}
	return true
}

// mend puts right where an item is, under an intent that names all keys that it is in
// or should be in.
func (s *core) mend(ctx context.Context, id string, keys []string) error {
	it := newIntent(id, mending)
	var members []byte
	for _, key := range keys {
		for i := range s.spec.Indexes {
			if ix := &s.spec.Indexes[i]; ix.has(key) {
				members = appendRecord(members, s.tags[i], ix.text(key))
			}
		}
	}
	more := string(members)
	for range mostRounds { // it may move until the intent names where it belongs
		if err := s.open(ctx, it, it.members+more); err != nil {
			return err
		}
		if err := s.read(ctx, []*intent{it}); err != nil {
			return err
		}
		if more = s.unnamed(it); more == "" {
			break
		}
	}
	return s.settle(ctx, it, s.swept)
}
