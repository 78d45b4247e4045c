package upkeep

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/crossslot"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/maintenance"
	"github.com/keywright/keywright/kernel"
)

// mostLooks says how often a check looks at an item that changes while it looks.
const mostLooks = 50

// compareCrossSlot returns compare where the keys are in several slots, which is no one step:
// the index record, the item, its entries, and the index record again. What looks wrong is wrong
// only if no intent is open and none was closed between. With an open intent
// it counts as Expired: its owner, or a sweep, puts it right.
func (c *check) compareCrossSlot(ctx context.Context, id string) (again bool, err error) {
	for range mostLooks {
		l := &inspection{store: c.store, id: id, suspects: c.suspects[id]}
		if err = l.Run(ctx); err != nil {
			return false, err
		}
		if l.it.Item.There && !l.moved {
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
			itemkeys.Pause(ctx, time.Millisecond)
			continue
		}
		for _, p := range l.problems {
			c.problem(p)
		}
		if c.options.Apply && indexrecord.Formed(l.before.Text) {
			return false, mend(ctx, c.store, id, l.keys())
		}
		return false, nil
	}
	c.busy = true
	return false, ctx.Err()
}

// inspection represents one look at an item and at all that is said of it.
type inspection struct {
	store    *itemkeys.Keys
	id       string
	suspects map[string]bool
	before   entryText
	it       *crossslot.Intent
	problems []maintenance.Problem
	intents  bool // are open
	waits    bool // for a sweep, or for the owner of an intent
	moved    bool // while it was looked at
}

// entryText has the index record of an id, and when it is due by the zset of expiry times.
type entryText struct {
	Text, due string
	Now       int64 // ms
}

// Run looks once.
func (l *inspection) Run(ctx context.Context) (err error) {
	s := l.store
	if l.before, err = BookOf(ctx, s, l.id); err != nil {
		return err
	}
	if !indexrecord.Formed(l.before.Text) {
		l.it, l.problems = crossslot.NewIntent(l.id, crossslot.Mending), []maintenance.Problem{{ID: l.id, What: "form"}}
		return nil
	}
	l.it = crossslot.NewIntent(l.id, crossslot.Mending)
	if err = crossslot.Read(ctx, s, []*crossslot.Intent{l.it}); err != nil {
		return err
	}
	if err = l.Entries(ctx); err != nil {
		return err
	}
	l.books()
	if len(l.problems) == 0 {
		return nil
	}
	after, err := BookOf(ctx, s, l.id)
	l.moved = after.Text != l.before.Text
	return err
}

// BookOf reads the index record and the expiry time of an id.
func BookOf(ctx context.Context, s *itemkeys.Keys, id string) (e entryText, err error) {
	texts, err := s.Run(ctx, "check", s.Scripts.Book, keywright.Reads, s.RecordKeys(), id,
		itemkeys.Flag(s.Spec.Expires != ""))
	if err != nil {
		return e, err
	}
	e.Text, e.due = texts[0], texts[1]
	e.Now, err = strconv.ParseInt(texts[2], 10, 64)
	return e, err
}

// keys returns all index keys that the item is in, or was seen in.
func (l *inspection) keys() []string {
	all := maps.Clone(l.suspects)
	if all == nil {
		all = map[string]bool{}
	}
	for key := range l.it.Item.In {
		all[key] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// Entries compares the entries of the item with its fields.
func (l *inspection) Entries(ctx context.Context) error {
	keys := l.keys()
	scores, ttls := make([]string, len(keys)), make([]int64, len(keys))
	var ops []keywright.Op[bool]
	for i, key := range keys {
		read := func(build func(kernel.Builder) kernel.Command, decode func(kernel.Reply) error) {
			ops = append(ops,
				kernel.NewOp(kernel.Spec[bool]{Action: l.store.Action("check", keywright.Reads, key, nil), Build: build,
					Decode: func(r kernel.Reply) (bool, error) { return true, decode(r) }}))
		}
		read(func(b kernel.Builder) kernel.Command { return b.Zscore().Key(key).Member(l.id).Build() },
			func(r kernel.Reply) (err error) {
				scores[i], err = itemkeys.OptionalText(r)
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
		score, in := l.it.Item.In[key]
		if what := l.entry(in, score, scores[i], ttls[i]); what != "" {
			l.problems = append(l.problems, maintenance.Problem{ID: l.id, What: what, Key: key})
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
	case should && ttl == -1 && l.store.Spec.Expires != "":
		return "ttl"
	}
	return ""
}

// books compares the index record and the expiry time with the item.
func (l *inspection) books() {
	item, known := l.it.Item, map[string]string{}
	for name, text := range indexrecord.Segments(strings.TrimPrefix(l.before.Text, "=")) {
		known[name] = text
	}
	_, plain := known["#"]
	there := l.before.Text != "" && (!plain || known["~"] == "x")
	due, _ := strconv.ParseFloat(l.before.due, 64)
	_, l.intents = known["!"]
	l.waits = l.intents || !item.There && there && l.before.due != "" && due <= float64(l.before.Now)
	switch {
	case item.There != there || item.There && !l.recorded(item.Record, known):
		l.problems = append(l.problems, maintenance.Problem{ID: l.id, What: "ledger"})
	case item.There && item.Left >= 0 && l.store.Spec.Expires != "" &&
		(l.before.due == "" || due > float64(l.before.Now+item.Left+1000)):
		l.problems = append(l.problems, maintenance.Problem{ID: l.id, What: "expiry"})
	}
}

// recorded reports whether the index record, read as known, has all that a record says.
func (l *inspection) recorded(record string, known map[string]string) bool {
	for tag, text := range indexrecord.Segments(record) {
		is, said := known[tag]
		if _, doubted := known[indexrecord.Doubt+tag]; doubted || !said || is != text {
			return false
		}
	}
	return true
}

// mend puts right where an item is, under an intent that names all keys that it is in
// or should be in.
func mend(ctx context.Context, s *itemkeys.Keys, id string, keys []string) error {
	it := crossslot.NewIntent(id, crossslot.Mending)
	var members []byte
	for _, key := range keys {
		for i := range s.Spec.Indexes {
			if ix := &s.Spec.Indexes[i]; ix.Has(key) {
				members = indexrecord.Append(members, s.Tags[i], ix.Text(key))
			}
		}
	}
	more := string(members)
	for range crossslot.MostRounds { // it may move until the intent names where it belongs
		if err := crossslot.Open(ctx, s, it, it.Members+more); err != nil {
			return err
		}
		if err := crossslot.Read(ctx, s, []*crossslot.Intent{it}); err != nil {
			return err
		}
		if more = crossslot.Unnamed(s, it); more == "" {
			break
		}
	}
	return crossslot.Finish(ctx, s, it, crossslot.ByExpiry(s))
}
