// Package parts says what the live handle of a declared entry is made of: which of its
// keys the handle uses, by role, and which options of the declaration become which
// options of the handle. The generator writes code from it, and package bind makes
// handles from it, so that both have the same keys and the same options.
//
// It knows no client: names of parts and options are those of fields in the packages
// lock, queue, cache, entity, event, ranking and limit.
//
// API: may change until 1.0.
package parts

import (
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Form describes how many keys a part is.
type Form uint8

// The forms.
const (
	Whole  Form = iota // one key
	Each               // one key for each word of a placeholder, in the order of the words
	Family             // all keys with one beginning and one end; the handle fills in what is between
)

// Part represents a key, or several keys of one role, that a handle uses.
type Part struct {
	Name    string        // a field of the handle's keys: "Main", "Leases"
	Key     *keyspace.Key // nil: it is a channel
	Pattern *pattern.Pattern
	Form    Form
	Own     []string // placeholders that the handle fills in: a lane, the id of a job
	Words   []string // of the placeholder, for Each
}

// Channel reports whether the part is the name of a channel and not a key.
func (p Part) Channel() bool { return p.Key == nil }

// Index represents an index of an entity. Its part is a Family where there is a key for each
// value of a field.
type Index struct {
	Part
	Field, Score string
}

// Handle describes what the handle of an entry is made of.
type Handle struct {
	Parts   []Part
	Item    *Part   // of an entity: the keys of its items; nil for the others
	Indexes []Index // of an entity; the expiry times are a part
	Options []Option
}

// row represents a part of each entry of a construct.
type row struct {
	name, role string
	form       Form
	use        use
}

// use describes what a key says about the processes of this moment.
type use uint8

const (
	momentary use = 1 << iota // it names processes that wait, work or hold something
	busy                      // while it has something, a process uses the rest of the keys
)

// constructs lists the parts of each construct.
var constructs = map[keyspace.Construct][]row{
	keyspace.Lock: {{"Main", "", Whole, momentary | busy}, {"Fence", "fence", Whole, 0},
		{"Waiters", "waiters", Whole, momentary | busy}, {"Shared", "shared", Whole, momentary | busy}, notify},
	keyspace.Queue: {{"Lanes", "", Each, 0}, {"Job", "job", Family, 0}, {"Result", "result", Family, 0},
		{"Unique", "unique", Family, 0},
		{"Leases", "leases", Whole, busy}, {"Delayed", "delayed", Whole, 0}, {"Dead", "dead", Whole, 0},
		{"State", "state", Whole, 0}, {"Workers", "workers", Whole, momentary | busy}, {"Runs", "runs", Whole, 0}, notify},
	keyspace.Cache:   {{"Main", "", Whole, 0}, {"Fill", "fill", Whole, momentary}},
	keyspace.Ranking: {{"Main", "", Whole, 0}, {"Window", "window", Whole, 0}},
	keyspace.Topic:   {{"Main", "", Whole, 0}, {"Dead", "dead", Whole, 0}},
	keyspace.Entity: {{"Expires", "expiry", Whole, 0}, {"Records", "ledger", Whole, 0},
		{"Lease", "sweep", Whole, momentary}, {"Pending", "pending", Whole, 0}},
	keyspace.Plain: {main}, keyspace.Counter: {main}, keyspace.RateLimit: {main}, keyspace.Script: nil,
}

// main is the only part of most.
var main = row{name: "Main"}

// notify is the channel of a construct.
var notify = row{name: "Channel", role: "notify"}

// Momentary reports whether a key only makes sense in its moment: which processes hold or
// wait for a lock, work, load or sweep. Restored later, it would name processes that are
// gone.
func Momentary(k *keyspace.Key) bool { return k.Role == "pressure" || has(k, momentary) }

func has(k *keyspace.Key, u use) bool {
	return slices.ContainsFunc(constructs[k.Entry.Construct], func(r row) bool { return r.role == k.Role && r.use&u != 0 })
}

// Busy returns the roles of the keys that are empty, or not there, while no process uses what
// the construct keeps.
func Busy(c keyspace.Construct) (roles []string) {
	for _, r := range constructs[c] {
		if r.use&busy != 0 {
			roles = append(roles, r.role)
		}
	}
	return roles
}

// Of finds the parts and the options of an entry's handle. A script has none.
func Of(e *keyspace.Entry) (h Handle) {
	if len(e.Keys) == 0 {
		return h
	}
	for _, r := range constructs[e.Construct] {
		switch k := e.Key(r.role); {
		case r == notify:
			if e.Notify != nil {
				h.Parts = append(h.Parts, Part{Name: r.name, Pattern: e.Notify.Pattern})
			}
		case k != nil:
			h.Parts = append(h.Parts, part(e, r, k))
		case r.role == "expiry":
			if k := ends(e); k != nil {
				h.Parts = append(h.Parts, part(e, r, k))
			}
		}
	}
	if e.Construct == keyspace.Entity {
		k := e.Keys[0]
		h.Item = &Part{Name: "Item", Key: k, Pattern: k.Pattern, Form: Family, Own: idOf(e)}
	}
	for i := range e.Index {
		if ix := &e.Index[i]; !expiry(ix) {
			h.Indexes = append(h.Indexes, index(ix))
		}
	}
	h.Options = optionsOf(e)
	return h
}

// idOf returns the placeholders of an entity's key that are together the id of an item. The
// others are in each index too, and are no field: they tell one store from another.
func idOf(e *keyspace.Entry) (own []string) {
	for _, p := range e.Keys[0].Pattern.Placeholders() {
		field := slices.ContainsFunc(e.Keys[0].Fields, func(f keyspace.Field) bool { return f.Name == p.Name })
		missing := slices.ContainsFunc(e.Index, func(ix keyspace.Index) bool { return !ix.Key.Pattern.Has(p.Name) })
		if field || missing || len(e.Index) == 0 {
			own = append(own, p.Name)
		}
	}
	return own
}

func part(e *keyspace.Entry, r row, k *keyspace.Key) Part {
	p := Part{Name: r.name, Key: k, Pattern: k.Pattern, Form: r.form}
	places := k.Pattern.Placeholders()
	last := func() []string { return []string{places[len(places)-1].Name} }
	switch {
	case r.form == Family, r.name == "Window":
		p.Own = last()
	case r.form == Each:
		i := slices.IndexFunc(places, func(p pattern.Placeholder) bool { return p.Name == e.Order })
		if i < 0 {
			p.Form = Whole
			break
		}
		p.Own, p.Words = []string{e.Order}, places[i].Type.Values
	case e.Construct == keyspace.Ranking:
		if d := date(k.Pattern); d != "" {
			p.Own = []string{d}
		}
	}
	return p
}

// date returns the placeholder that is the period of a ranking, "" if there is none.
func date(p *pattern.Pattern) string {
	for _, place := range p.Placeholders() {
		if place.Type.Kind == scalar.Date {
			return place.Name
		}
	}
	return ""
}

// expiry reports whether an index is the expiry times, which the store keeps for itself.
func expiry(ix *keyspace.Index) bool { return ix.Score == "expires" && ix.Field == "" }

// ends returns the key of the expiry times where an index names it.
func ends(e *keyspace.Entry) *keyspace.Key {
	for i := range e.Index {
		if expiry(&e.Index[i]) {
			return e.Index[i].Key
		}
	}
	return nil
}

func index(ix *keyspace.Index) Index {
	p := Part{Name: ix.Name, Key: ix.Key, Pattern: ix.Key.Pattern}
	if ix.Field != "" {
		p.Form, p.Own = Family, []string{ix.Field}
	}
	return Index{p, ix.Field, ix.Score}
}

// Part finds a part by its name.
func (h Handle) Part(name string) (Part, bool) {
	i := slices.IndexFunc(h.Parts, func(p Part) bool { return p.Name == name })
	if i < 0 {
		return Part{}, false
	}
	return h.Parts[i], true
}

// All returns all parts: those of the handle, the items and the indexes of an entity.
func (h Handle) All() []Part {
	all := slices.Clone(h.Parts)
	if h.Item != nil {
		all = append(all, *h.Item)
	}
	for _, ix := range h.Indexes {
		all = append(all, ix.Part)
	}
	return all
}

// Own returns the placeholders that the handle fills in, in any of its keys: the values of
// the others tell one handle from another.
func (h Handle) Own() (names []string) {
	for _, p := range h.All() {
		names = append(names, p.Own...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Values returns the placeholders whose values tell one handle of an entry from another.
func Values(e *keyspace.Entry) (names []string) {
	own := Of(e).Own()
	for _, p := range e.Keys[0].Pattern.Placeholders() {
		if !slices.Contains(own, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// DefaultLane returns the lane of a job of a queue that names none: the default of the var by which
// its lanes are ordered. "" is the first lane.
func DefaultLane(e *keyspace.Entry) string {
	for _, p := range e.Keys[0].Pattern.Placeholders() {
		if p.Name == e.Order {
			return p.Type.Default
		}
	}
	return ""
}
