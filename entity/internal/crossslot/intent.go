// Package crossslot changes items whose keys are in several slots of a cluster, by intents. It knows the index
// records, the items and the index keys, and neither values nor lists.
//
// An entity whose keys are not always in one slot of a cluster cannot be written
// in one step. An item is then changed under an intent, which its index record keeps:
//
//  1. index record: the intent is opened. It names every index key that the id may be
//     put into or taken out of under it: the keys that the record names, and those that
//     the item will be in. The zset of expiry times says when the intent is due.
//  2. item: the hash is written, with its TTL and its events, if its condition holds.
//  3. indexes: into each key that the intent names the id is put, if the item says
//     so, else it is taken out of it. What an intent does not name is not touched,
//     and the index record does not name it as a place of the item.
//  4. index record: the intent is closed, if no other of this id was closed since its
//     owner has read the record (the stamp). Else the intent takes over the places that
//     the record names now, and its owner reads the item and begins with 3.
//
// Steps 2 and 3 refuse an owner whose intent is older than windows.act by the clock of
// the item's server. A sweeper takes over an intent that is older than windows.due by
// the clock of the server with the index records, and does 3 and 4 under it. As long as two clocks of a cluster differ
// by less than due - act, no process acts under an intent that another has closed. An
// owner that does not know whether one of its commands was executed may not close its
// intent, as the command may still be on its way: it leaves it to the sweeper.
//
// Why nothing is left over when all intents are closed. Take the last change of
// whether an item is in an index, and the last command that has put the id there or
// taken it out. If that acted on the item as it was before the change, its owner has
// read the stamp, then the item, then acted, then closed, and the change came after its
// reading. The change was made under an intent, too, closed later than the change. If
// that was before the owner closed, the stamp was another one, and the owner has read
// and acted again: it was not its last command. If it was after, then the one that made
// the change found another stamp, took on the index key that the owner had recorded, and
// acted on it after the owner. Expiry is a change that no process makes: the zset of
// expiry times has the earliest time of it, and the sweeper looks then.
//
// So the stamp does what reading the item a second time would do, and an entity
// needs no version for it.
package crossslot

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/kernel"
)

// The kinds of an intent.
const (
	Writing  = "w"
	deleting = "d"
	aging    = "t"
	Mending  = "r"

	Taken         = "s" // by a sweep, of a process that was about to change the item
	takenDeleting = "x"
)

// changes reports whether the item may differ from its index record: its owner, or a
// process that died, was about to change it. An index of another version may then not be
// as the item is.
func (it *Intent) changes() bool { return it.kind != aging && it.kind != Mending }

// Intent describes what a process is about to do with an item, and what it knows of it.
type Intent struct {
	id, token, kind string
	opened          int64     // ms by the clock of the server with the index records
	received        time.Time // when the reply with opened was received, by the clock of this process

	// Parts of the index record.
	stamp, state string // state: "x" there is an item
	record, ends string
	Members      string // where the id may be put or taken out of

	Item    state
	Removes func(tag string) bool // an index that is taken off the server; nil: none is
	Closed  bool
	// unsure is whether a command was sent and it is not known if it was executed: it
	// may be still. Then the intent stays open until it is due.
	unsure bool
}

// state represents an item as it was read.
type state struct {
	There  bool
	Left   int64 // ms until it ends, -1 never
	asked  time.Time
	In     map[string]string // index key → score
	Record string            // its index record, without the "="
}

// NewIntent returns an intent that is not open yet.
func NewIntent(id, kind string) *Intent { return &Intent{id: id, kind: kind, token: rand.Text()} }

// graceMS returns when an intent may be taken over, as scripts have it.
func graceMS(s *itemkeys.Keys) string { return strconv.FormatInt(s.Windows.Due.Milliseconds(), 10) }

// Open opens an intent, or renews it. 1 round trip.
func Open(ctx context.Context, s *itemkeys.Keys, it *Intent, members string) error {
	for {
		agreed := s.AgreedText()
		if it.kind == aging || it.kind == Mending {
			agreed = "" // it changes no field
		}
		texts, err := s.Run(ctx, "note intent", s.Scripts.CrossSlot.Open, keywright.Idempotent, s.RecordKeys(), graceMS(s),
			s.Keeps, it.id, it.token, it.kind, members, agreed)
		switch {
		case err != nil:
			return s.FormError(it.id, err)
		case texts[0] == "indexes":
			if err = s.Agree(ctx, texts[1]); err != nil {
				return err
			}
			continue
		}
		it.learn(texts)
		return s.Step("opened", it.id)
	}
}

// ending returns the earliest time at which the item ends, by the clock of the server with
// the index records: the sweeper may come too early, not too late.
func (it *Intent) ending() string {
	if !it.Item.There || it.Item.Left < 0 {
		return ""
	}
	return strconv.FormatInt(it.opened+max(it.Item.asked.Sub(it.received).Milliseconds(), 0)+it.Item.Left, 10)
}

// learn takes the parts of the index record from a reply.
func (it *Intent) learn(texts []string) {
	it.opened, _ = strconv.ParseInt(texts[0], 10, 64)
	it.received = time.Now()
	it.stamp, it.state, it.record, it.ends, it.Members = texts[1], texts[2], texts[3], texts[4], texts[5]
}

// actsUntil returns when the owner must have acted, by the clock of any server.
func actsUntil(s *itemkeys.Keys, it *Intent) int64 { return it.opened + s.Windows.Act.Milliseconds() }

// How an item was found at the end.
const (
	alive   = "alive"
	gone    = "gone"
	mine    = "mine" // gone, and the owner knows that it was there
	deleted = "deleted"
	abort   = "abort"
)

// The replies to a close.
const (
	closed    = "ok"
	announced = "gone"
	again     = "again"
	lost      = "lost"
)

// closing represents an intent to be closed.
type closing struct {
	*Intent
	found  string
	events []string // if it turns out that it has expired
}

// closeIntents closes intents, and gives a verdict on each. 1 round trip.
func closeIntents(ctx context.Context, s *itemkeys.Keys, all ...closing) ([]string, error) {
	keys, args := s.RecordKeys(), []string{graceMS(s), s.Keeps, strconv.Itoa(len(all))}
	for _, c := range all {
		at := len(args)
		args = append(args, "", c.id, c.token, c.stamp, c.found, leaving(s, c.Intent), c.ending())
		keys, args = itemkeys.AppendEvents(keys, args, c.events)
		args[at] = strconv.Itoa(len(args) - at)
	}
	replies, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: s.Action("close intent", keywright.Idempotent, keys[1], nil), Script: s.Scripts.CrossSlot.Close, Keys: keys,
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
			opened, received := all[i].opened, all[i].received
			all[i].learn(texts[1:])
			all[i].opened, all[i].received = opened, received
		}
	}
	return verdicts, nil
}

// leaving returns the index record of an item that was found: where it is in the indexes
// of this program, as far as the intent has named that, as no other key was touched.
// Where it is in an index that this program does not know is in doubt, if the item was
// changed, or if the record did not have it before.
func leaving(s *itemkeys.Keys, it *Intent) string {
	if !it.Item.There {
		return ""
	}
	var record []byte
	for _, t := range placesOf(s, it, true) {
		record = indexrecord.Append(record, t.Tag, t.Value)
	}
	seen := map[string]bool{}
	note := func(t indexrecord.Trace, doubted bool) {
		if at := t.Tag + "=" + t.Value; t.Index < 0 && !seen[at] && !it.takesOut(t.Tag) {
			if seen[at] = true; doubted {
				t.Tag = indexrecord.Doubt + t.Tag
			}
			record = indexrecord.Append(record, t.Tag, t.Value)
		}
	}
	for t := range s.Traces(it.record) {
		note(t, t.Doubted || it.changes())
	}
	for t := range s.Traces(it.Members) {
		note(t, true)
	}
	return string(record)
}

// takesOut reports whether the index of a tag is being taken off the server.
func (it *Intent) takesOut(tag string) bool { return it.Removes != nil && it.Removes(tag) }

// placesOf returns the places in the indexes of this program where an item belongs by its
// fields, those that its intent names, or the others.
func placesOf(s *itemkeys.Keys, it *Intent, named bool) (places []indexrecord.Trace) {
	names := map[string]bool{}
	for t := range s.Traces(it.Members) {
		names[t.Tag+"="+t.Value] = true
	}
	for t := range s.Traces(it.Item.Record) {
		nowhere := t.Value == "" && s.Spec.Indexes[t.Index].Field != "" // there is no key to be named
		if (nowhere || names[t.Tag+"="+t.Value]) == named {
			places = append(places, t)
		}
	}
	return places
}

// Unnamed returns segments of where an item belongs which its intent does not name.
func Unnamed(s *itemkeys.Keys, it *Intent) string {
	var segments []byte
	for _, t := range placesOf(s, it, false) {
		segments = indexrecord.Append(segments, t.Tag, t.Value)
	}
	return string(segments)
}

// StateOf returns an item by the texts of some of its fields.
func StateOf(s *itemkeys.Keys, asked time.Time, left int64, names []string, all []kernel.Value) state {
	st := state{There: true, Left: left, asked: asked, In: map[string]string{}}
	texts := map[string]itemkeys.StoredText{}
	for i, name := range names {
		t, err := all[i].ToString()
		texts[name] = itemkeys.StoredText{Text: t, There: err == nil}
	}
	entries, record := s.ShouldBe(texts, true)
	for _, e := range entries {
		if e.In == "in" {
			st.In[e.Key] = e.Score
		}
	}
	st.Record = record[1:]
	return st
}

// Read reads items, one pipeline per server.
func Read(ctx context.Context, s *itemkeys.Keys, its []*Intent) error {
	names, asked := s.IndexColumns(), time.Now()
	ops := make([]keywright.Op[bool], len(its))
	for i, it := range its {
		key := s.Key(it.id)
		ops[i] = kernel.NewOp(kernel.Spec[bool]{
			Action: s.Action("look", keywright.Reads, key,
				nil), Script: s.Scripts.CrossSlot.Look, Keys: []string{key}, Args: names,
			Decode: func(r kernel.Reply) (bool, error) {
				all, err := r.ToArray()
				it.Item = state{}
				if err != nil || len(all) == 0 {
					return false, err
				}
				left, _ := all[0].ToString()
				ms, _ := strconv.ParseInt(left, 10, 64)
				it.Item = StateOf(s, asked, ms, names, all[1:])
				return true, nil
			},
		})
	}
	return kernel.DoAll(ctx, ops...)
}

// keysNamed returns the index keys that an intent names, each as something to be taken out
// of: of the indexes of this program, and of those that are being removed.
func keysNamed(s *itemkeys.Keys, it *Intent) (keys []itemkeys.Entry) {
	seen := map[string]bool{}
	for t := range s.Traces(it.Members) {
		key := t.Key()
		switch {
		case key == "" || seen[key]:
		case t.Index >= 0 || it.takesOut(t.Tag) && s.IndexOf(key) == nil: // an index of now may have that key
			seen[key] = true
			keys = append(keys, itemkeys.Entry{Key: key})
		}
	}
	return keys
}

// intents describes the open intents of an index record.
type intents struct {
	Open  bool
	First int64 // ms when the first of them was opened
	Taken bool  // a sweep has one of a process that died

	Builders []string // of each, those that were at work when it was opened
}

// Since reports whether all of them were opened after a builder began.
func (all intents) Since(builder string) bool {
	return !slices.ContainsFunc(all.Builders, func(of string) bool { return !strings.Contains(of, builder) })
}

// IntentsOf returns the open intents of an index record.
func IntentsOf(record string) (all intents) {
	for name, text := range indexrecord.Segments(strings.TrimPrefix(record, "=")) {
		if name != "!" {
			continue
		}
		builders := ""
		for name, text := range indexrecord.Segments(text) {
			switch name {
			case "b":
				builders = text
			case "o":
				if ms, err := strconv.ParseInt(text, 10, 64); err != nil || !all.Open || ms < all.First {
					all.Open, all.First = true, ms
				}
			case "k":
				all.Taken = all.Taken || text == Taken || text == takenDeleting
			}
		}
		all.Builders = append(all.Builders, builders)
	}
	return all
}
