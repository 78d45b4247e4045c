package entity

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// The kinds of an intent.
const (
	writing  = "w"
	deleting = "d"
	aging    = "t"
	mending  = "r"

	taken         = "s" // by a sweep, of a process that was about to change the item
	takenDeleting = "x"
)

// changes reports whether the item may be another one than the ledger says: its owner, or a
// process that died, was about to change it. An index of another version may then not be
// as the item is.
func (it *intent) changes() bool { return it.kind != aging && it.kind != mending }

// intent describes what a process is about to do with an item, and what it knows of it.
type intent struct {
	id, token, kind string
	opened          int64     // ms by the clock of the ledger
	heard           time.Time // when that was heard

	// What the ledger says.
	stamp, state string // state: "x" there is an item
	record, ends string
	members      string // where the id may be put or taken out of

	item    state
	removes func(tag string) bool // an index that is taken off the server; nil: none is
	closed  bool
	// unsure is whether a command was sent and it is not known if it was executed: it
	// may be still. Then the intent stays open until it is due.
	unsure bool
}

// state represents an item as it was read.
type state struct {
	there  bool
	left   int64 // ms until it ends, -1 never
	asked  time.Time
	in     map[string]string // index key → score
	record string            // in the ledger, without the "="
}

func newIntent(id, kind string) *intent { return &intent{id: id, kind: kind, token: rand.Text()} }

// graceMS returns when an intent may be taken over, as scripts have it.
func (s *core) graceMS() string { return strconv.FormatInt(s.windows.due.Milliseconds(), 10) }

// open opens an intent, or renews it. 1 round trip.
func (s *core) open(ctx context.Context, it *intent, members string) error {
	for {
		agreed := s.agreed()
		if it.kind == aging || it.kind == mending {
			agreed = "" // it changes no field
		}
		texts, err := s.run(ctx, "note intent", s.scripts.apart.open, keywright.Idempotent, s.bookKeys(), s.graceMS(),
			s.keeps, it.id, it.token, it.kind, members, agreed)
		switch {
		case err != nil:
			return s.refused(it.id, err)
		case texts[0] == "indexes":
			if err = s.agree(ctx, texts[1]); err != nil {
				return err
			}
			continue
		}
		it.learn(texts)
		return s.step("opened", it.id)
	}
}

// ending returns when the item ends, by the clock of the ledger and at the earliest: the
// sweeper may come too early, not too late.
func (it *intent) ending() string {
	if !it.item.there || it.item.left < 0 {
		return ""
	}
	return strconv.FormatInt(it.opened+max(it.item.asked.Sub(it.heard).Milliseconds(), 0)+it.item.left, 10)
}

// learn takes what the ledger says.
func (it *intent) learn(texts []string) {
	it.opened, _ = strconv.ParseInt(texts[0], 10, 64)
	it.heard = time.Now()
	it.stamp, it.state, it.record, it.ends, it.members = texts[1], texts[2], texts[3], texts[4], texts[5]
}

// until returns when the owner must have acted, by the clock of any server.
func (s *core) until(it *intent) int64 { return it.opened + s.windows.act.Milliseconds() }

// How an item was found at the end.
const (
	alive   = "alive"
	gone    = "gone"
	mine    = "mine" // gone, and the owner knows that it was there
	deleted = "deleted"
	abort   = "abort"
)

// What the ledger says to a close.
const (
	closed    = "ok"
	announced = "gone"
	again     = "again"
	lost      = "lost"
)

// closing represents an intent to be closed.
type closing struct {
	*intent
	found  string
	events []string // if it turns out that it has expired
}

// close closes intents, and gives a verdict on each. 1 round trip.
func (s *core) close(ctx context.Context, all ...closing) ([]string, error) {
	keys, args := s.bookKeys(), []string{s.graceMS(), s.keeps, strconv.Itoa(len(all))}
	for _, c := range all {
		at := len(args)
		args = append(args, "", c.id, c.token, c.stamp, c.found, s.leaving(c.intent), c.ending())
		keys, args = appendEvents(keys, args, c.events)
		args[at] = strconv.Itoa(len(args) - at)
	}
	replies, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: s.action("close intent", keywright.Idempotent, keys[1], nil), Script: s.scripts.apart.close, Keys: keys,
		Args:   args,
		Decode: func(r kernel.Reply) ([]kernel.Value, error) { return r.ToArray() },
	}).Do(ctx)
	if err != nil {
		return nil, err
	}
	verdicts := make([]string, len(all))
	for i := range replies {
		texts, err := replies[i].AsStrSlice()
		if err != nil {
			return nil, err
		}
		if verdicts[i] = texts[0]; texts[0] == again {
			opened, heard := all[i].opened, all[i].heard
			all[i].learn(texts[1:])
			all[i].opened, all[i].heard = opened, heard
		}
	}
	return verdicts, nil
}

// leaving returns what the ledger is to say of an item that was found: where it is in the
// indexes of this program, as far as the intent has named that, as no other key was
// touched. Where it is in an index that this program does not know is in doubt, if the
// item was changed, or if the ledger did not say it before.
func (s *core) leaving(it *intent) string {
	if !it.item.there {
		return ""
	}
	var record []byte
	for _, t := range s.placesOf(it, true) {
		record = appendRecord(record, t.tag, t.value)
	}
	seen := map[string]bool{}
	note := func(t trace, doubted bool) {
		if at := t.tag + "=" + t.value; t.index < 0 && !seen[at] && !it.takesOut(t.tag) {
			if seen[at] = true; doubted {
				t.tag = doubt + t.tag
			}
			record = appendRecord(record, t.tag, t.value)
		}
	}
	for t := range s.traces(it.record) {
		note(t, t.doubted || it.changes())
	}
	for t := range s.traces(it.members) {
		note(t, true)
	}
	return string(record)
}

// takesOut reports whether the index of a tag is being taken off the server.
func (it *intent) takesOut(tag string) bool { return it.removes != nil && it.removes(tag) }

// placesOf returns the places in the indexes of this program where an item belongs by its
// fields, those that its intent names, or the others.
func (s *core) placesOf(it *intent, named bool) (places []trace) {
	names := map[string]bool{}
	for t := range s.traces(it.members) {
		names[t.tag+"="+t.value] = true
	}
	for t := range s.traces(it.item.record) {
		nowhere := t.value == "" && s.spec.Indexes[t.index].Field != "" // there is no key to be named
		if (nowhere || names[t.tag+"="+t.value]) == named {
			places = append(places, t)
		}
	}
	return places
}

// unnamed returns segments of where an item belongs which its intent does not name.
func (s *core) unnamed(it *intent) string {
	var segments []byte
	for _, t := range s.placesOf(it, false) {
		segments = appendRecord(segments, t.tag, t.value)
	}
	return string(segments)
}

// stateOf returns an item by the texts of some of its fields.
func (s *core) stateOf(asked time.Time, left int64, names []string, all []kernel.Value) state {
	st := state{there: true, left: left, asked: asked, in: map[string]string{}}
	texts := map[string]text{}
	for i, name := range names {
		t, err := all[i].ToString()
		texts[name] = text{t, err == nil}
	}
	entries, record := s.should(texts, true)
	for _, e := range entries {
		if e.in == "in" {
			st.in[e.key] = e.score
		}
	}
	st.record = record[1:]
	return st
}

// read reads items, one pipeline per server.
func (s *core) read(ctx context.Context, its []*intent) error {
	names, asked := s.indexColumns(), time.Now()
	ops := make([]keywright.Op[bool], len(its))
	for i, it := range its {
		key := s.key(it.id)
		ops[i] = kernel.NewOp(kernel.Spec[bool]{
			Action: s.action("look", keywright.Reads, key, nil), Script: s.scripts.apart.look, Keys: []string{key}, Args: names,
			Decode: func(r kernel.Reply) (bool, error) {
				all, err := r.ToArray()
				it.item = state{}
				if err != nil || len(all) == 0 {
					return false, err
				}
				left, _ := all[0].ToString()
				ms, _ := strconv.ParseInt(left, 10, 64)
				it.item = s.stateOf(asked, ms, names, all[1:])
				return true, nil
			},
		})
	}
	return kernel.DoAll(ctx, ops...)
}

// keysNamed returns the index keys that an intent names, each as something to be taken out
// of: of the indexes of this program, and of those that are being removed.
func (s *core) keysNamed(it *intent) (keys []entry) {
	seen := map[string]bool{}
	for t := range s.traces(it.members) {
		key := t.key()
		switch {
		case key == "" || seen[key]:
		case t.index >= 0 || it.takesOut(t.tag) && s.indexOf(key) == nil: // an index of now may have that key
			seen[key] = true
			keys = append(keys, entry{key: key})
		}
	}
	return keys
}

// intents describes what an entry of the ledger says of those that are open.
type intents struct {
	open  bool
	first int64 // ms when the first of them was opened
	taken bool  // a sweep has one of a process that died

	builders []string // of each, those that were at work when it was opened
}

// since reports whether all of them were opened after a builder began.
func (all intents) since(builder string) bool {
	return !slices.ContainsFunc(all.builders, func(of string) bool { return !strings.Contains(of, builder) })
}

func intentsOf(record string) (all intents) {
	for name, text := range pairs(strings.TrimPrefix(record, "=")) {
		if name != "!" {
			continue
		}
		builders := ""
		for name, text := range pairs(text) {
			switch name {
			case "b":
				builders = text
			case "o":
				if ms, err := strconv.ParseInt(text, 10, 64); err != nil || !all.open || ms < all.first {
					all.open, all.first = true, ms
				}
			case "k":
				all.taken = all.taken || text == taken || text == takenDeleting
			}
		}
		all.builders = append(all.builders, builders)
	}
	return all
}
