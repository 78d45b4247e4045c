package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/source"
)

// valueCheck represents a key's declaration made ready for checking values.
type valueCheck struct {
	key    *keyspace.Key
	schema func([]byte) error // of a string's JSON
	fields *shape             // nil: none is declared
	object *shape             // of the JSON object that the value is, nil: of none
}

// valueFault represents one kind of fault of one entry's values.
type valueFault struct {
	code    string
	message string
	pos     finding.Position // of what is declared
	mark
}

// maxValueFaults bounds the different faults kept per entry: field names come
// from the data. Others are counted as moreFaults, once per code.
const (
	maxValueFaults = 20
	moreFaults     = "there are more kinds of such faults than are listed"
)

func (a *Audit) prepareValues() {
	for _, k := range a.ks.Keys {
		c := &valueCheck{key: k}
		c.fields, c.object = a.shapes(k)
		if k.Value != nil {
			c.schema = a.schema(*k.Value)
		}
		a.checks[k] = c
	}
}

// schema returns the check of a type's JSON Schema, nil if it has none. One that
// cannot be used is noted: its values are checked less, not more leniently in
// silence.
func (a *Audit) schema(t scalar.Type) func([]byte) error {
	if t.Kind != scalar.JSON || t.File == "" || a.opt.Schema == nil {
		return nil
	}
	check, err := a.opt.Schema(t.File)
	if err != nil {
		a.notes = append(a.notes,
			fmt.Sprintf("schema %s cannot be used, its values are only checked for being JSON: %v", t.File, err))
		return nil
	}
	return check
}

// WantsValue says whether the value of a key is to be read: it is a
// source.Request's Values.
func (a *Audit) WantsValue(name []byte, kind source.Kind) bool {
	k := a.declared(name, kind)
	return k != nil && declaresValue(k)
}

// Expects returns the declared type of a key whose value is to be read, Unknown of others: it
// is a source.Request's Expect.
func (a *Audit) Expects(name []byte) source.Kind {
	id := a.matcher.Match(name, nil)
	if id == match.None || a.targets[id].Key == nil || !declaresValue(a.targets[id].Key) {
		return source.Unknown
	}
	if !a.filter.all && !a.filter.wants(a.targets, id, name) {
		return source.Unknown
	}
	return kinds[a.targets[id].Key.Kind]
}

// WantsSize says whether the number of a key's elements is needed: it is a
// source.Request's Sizes.
func (a *Audit) WantsSize(name []byte, kind source.Kind) bool {
	k := a.declared(name, kind)
	return k != nil && maxLength(k) > 0
}

// declared returns the declaration of a key of its declared type, nil if there is none
// or the key is not looked at.
func (a *Audit) declared(name []byte, kind source.Kind) *keyspace.Key {
	id := a.matcher.Match(name, nil)
	if id == match.None || a.targets[id].Key == nil || kinds[a.targets[id].Key.Kind] != kind {
		return nil
	}
	if !a.filter.all && !a.filter.wants(a.targets, id, name) {
		return nil
	}
	return a.targets[id].Key
}

func declaresValue(k *keyspace.Key) bool {
	return k.Value != nil || k.Member != nil || k.Score != nil || k.Fields != nil || k.Field != nil || k.Item != nil ||
		k.JSON != nil
}

// valueReading represents the value of one key as far as it has come: a value that is
// read whole may come in parts.
type valueReading struct {
	looked int64
	seen   map[string]bool // declared fields of a hash
	faults []keyFault      // each once
}

// keyFault represents one kind of fault of one key's value.
type keyFault struct {
	code, message string
	pos           finding.Position
}

// fault notes a fault of the key, once however many elements have it.
func (v *valueReading) fault(code string, pos finding.Position, format string, args ...any) {
	f := keyFault{code, fmt.Sprintf(format, args...), pos}
	kinds := 0
	for _, known := range v.faults {
		if known == f {
			return
		}
		if known.code == code {
			kinds++
		}
	}
	if kinds > maxValueFaults {
		return
	}
	if kinds == maxValueFaults {
		f.message, f.pos = moreFaults, finding.Position{}
	}
	v.faults = append(v.faults, f)
}

func (v *valueReading) reset() {
	v.looked, v.faults = 0, v.faults[:0]
	clear(v.seen)
}

// Part takes a part of a value that is read whole: it is a source.Request's Part.
// What is wrong in it counts when the key itself has come, with the last part.
func (a *Audit) Part(k *source.Key) {
	id := a.matcher.Match(k.Name, nil)
	if id == match.None || a.targets[id].Key == nil {
		return
	}
	name := openName(k)
	v := a.open[name]
	if v == nil {
		v = &valueReading{}
		a.open[name] = v
	}
	if k.Value.From == 0 {
		v.reset() // the scan began again, over another connection
	}
	a.look(a.targets[id].Key, v, k)
}

func openName(k *source.Key) string { return strconv.Itoa(k.DB) + " " + string(k.Name) }

// look checks the elements of a value that have come.
func (a *Audit) look(k *keyspace.Key, v *valueReading, live *source.Key) {
	v.looked += live.Value.Looked(live.Kind)
	c := a.checks[k]
	switch live.Kind {
	case source.String:
		c.text(live.Value, v.fault)
	case source.Hash:
		c.hash(live.Value, v)
	case source.Stream:
		c.stream(live.Value, v.fault)
	default:
		c.members(live.Value, v.fault)
	}
}

// checkValue judges the value of a key that has come whole or as a sample.
func (a *Audit) checkValue(k *keyspace.Key, s *stat, live *source.Key) {
	if !declaresValue(k) || kinds[k.Kind] != live.Kind {
		return
	}
	s.values.Keys++
	if live.Value == nil {
		s.values.Unread++
		return
	}
	v := &a.reading
	v.reset()
	if live.Value.From > 0 {
		name := openName(live)
		if open := a.open[name]; open != nil {
			v = open
			delete(a.open, name)
		}
	}
	a.look(k, v, live)
	if c := a.checks[k]; c.fields != nil && live.Kind == source.Hash && !live.Value.Partial {
		c.fields.missing(v.seen, "", v.fault)
	}
	for _, f := range v.faults {
		s.fault(f, live, a.opt.Examples)
		a.offends(f.code)
	}
	of := max(live.Value.Of, v.looked)
	if live.Kind == source.String {
		of = 1
	}
	s.values.Elements += of
	s.values.Looked += v.looked
	if v.looked == of {
		s.values.Whole++
	}
}

// Coverage describes how much of the values with a declared type was looked at.
// Elements are fields, members and entries; a string is one.
type Coverage struct {
	Keys     int64 `json:"keys"`
	Whole    int64 `json:"keys_whole"`            // all of whose elements were looked at
	Unread   int64 `json:"keys_unread,omitempty"` // not even in part: not permitted, or gone
	Elements int64 `json:"elements"`
	Looked   int64 `json:"looked_at"`
	// of the elements of values that were read; 1 where there are none, and no value is unread
	Share float64 `json:"share"`
}

func (c *Coverage) add(o Coverage) {
	c.Keys, c.Whole, c.Unread = c.Keys+o.Keys, c.Whole+o.Whole, c.Unread+o.Unread
	c.Elements, c.Looked = c.Elements+o.Elements, c.Looked+o.Looked
}

// All says whether nothing was left out.
func (c *Coverage) All() bool { return c.Looked == c.Elements && c.Unread == 0 }

// shared returns c with its share.
func (c Coverage) shared() *Coverage {
	switch {
	case c.Elements > 0:
		c.Share = float64(c.Looked) / float64(c.Elements)
	case c.Unread == 0:
		c.Share = 1
	}
	return &c
}

// queueLine is the line before the payload of a job, in its first form.
var queueLine = regexp.MustCompile(`^q1 [0-9]+ \S+ [0-9]+ \S+ \S+$`)

// faultFunc notes a fault against what is declared at pos.
type faultFunc func(code string, pos finding.Position, format string, args ...any)

// at returns where a property of a key is declared.
func (c *valueCheck) at(property string) finding.Position {
	return cmp.Or(c.key.Entry.At[property], c.key.Pos)
}

func (c *valueCheck) text(v *source.Value, fault faultFunc) {
	if c.key.Value == nil || v.Partial {
		return
	}
	text := v.Str
	if c.key.Headed {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		if text = rest; !queueLine.Match(line) {
			fault("KW508", c.key.Pos, "the value is without the line of a %s", c.key.Entry.Type)
			return
		}
	}
	if reason := reason(*c.key.Value, c.schema, text); reason != "" {
		fault("KW508", c.at("value"), "the value is %s", reason)
		return
	}
	if c.object != nil && !c.key.Value.Encrypted {
		c.object.object(text, "the value", "", fault)
	}
}

const (
	notSealed = "not encrypted"
	refused   = "JSON that its schema refuses"
)

// reason says why a value is not of a type, "" if it is. It never holds the
// value.
func reason(t scalar.Type, schema func([]byte) error, value []byte) string {
	if t.Encrypted {
		if looksPlain(t, value) {
			return notSealed
		}
		return ""
	}
	if err := t.Check(value); err != nil {
		return err.Error()
	}
	if schema != nil {
		if err := schema(value); err != nil {
			return refused
		}
	}
	return ""
}

// sealOverhead is the least an encrypted value has: the nonce and the tag of
// AES-GCM.
const sealOverhead = 12 + 16

// looksPlain: ciphertext is neither short, nor JSON, nor words.
func looksPlain(t scalar.Type, value []byte) bool {
	if len(value) < sealOverhead {
		return true
	}
	if t.Kind == scalar.JSON {
		return json.Valid(value)
	}
	return bytes.IndexByte(value, ' ') >= 0 &&
		!bytes.ContainsFunc(value, func(r rune) bool { return r == '\ufffd' || r < ' ' })
}

func (c *valueCheck) hash(v *source.Value, r *valueReading) {
	if c.fields != nil {
		if r.seen == nil {
			r.seen = map[string]bool{}
		}
		c.fields.pairs(v.Elements, r.seen, r.fault)
		return
	}
	for i := 0; i+1 < len(v.Elements); i += 2 {
		marks := c.key.Role == "ledger" && len(v.Elements[i]) == 0 // what an entity says of its indexes
		if c.key.Field != nil && !marks {
			if reason := reason(*c.key.Field, nil, v.Elements[i]); reason != "" {
				r.fault("KW509", c.at("field"), "a field's name is %s", reason)
			}
		}
		if c.key.Item != nil {
			if reason := reason(*c.key.Item, nil, v.Elements[i+1]); reason != "" {
				r.fault("KW508", c.at("value"), "a field's value is %s", reason)
			}
		}
	}
}

// fieldName shows the name of an undeclared field, shortened: it is data.
func fieldName(name string) string {
	if len(name) > 40 {
		name = name[:40] + "…"
	}
	return strconv.Quote(name)
}

// stream checks the entries: each has the declared fields.
func (c *valueCheck) stream(v *source.Value, fault faultFunc) {
	if c.fields == nil {
		return
	}
	seen, start := map[string]bool{}, 0
	for _, end := range v.Ends {
		clear(seen)
		c.fields.pairs(v.Elements[start:end], seen, fault)
		c.fields.missing(seen, "", fault)
		start = end
	}
}

func (c *valueCheck) members(v *source.Value, fault faultFunc) {
	for i, e := range v.Elements {
		if c.key.Member != nil {
			if reason := reason(*c.key.Member, nil, e); reason != "" {
				fault("KW511", c.at("member"), "a member is %s", reason)
			}
		}
		if c.key.Score != nil && i < len(v.Scores) {
			text := strconv.FormatFloat(v.Scores[i]+0, 'f', -1, 64) // -0 is 0
			if reason := reason(*c.key.Score, nil, []byte(text)); reason != "" {
				fault("KW512", c.at("score"), "a score is %s", reason)
			}
		}
	}
}

// fault counts a key whose value has a fault. Each code has room of its own, so
// that many warnings cannot hide an error.
func (s *stat) fault(one keyFault, k *source.Key, keep int) {
	for i := range s.value {
		if f := &s.value[i]; f.code == one.code && f.message == one.message {
			f.count++
			f.examples = keepSmallest(f.examples, k, keep)
			return
		}
	}
	s.faulty(one, mark{1, keepSmallest(nil, k, keep)}, keep)
}

// faulty adds keys with a fault. Of the kinds of one code those with the smallest messages
// are kept, in whatever order they come; the others are one kind together.
func (s *stat) faulty(one keyFault, m mark, keep int) {
	kinds, last := 0, -1
	for i := range s.value {
		f := &s.value[i]
		switch {
		case f.code != one.code:
			continue
		case f.message == one.message:
			f.merge(&m, keep)
			return
		case f.message == moreFaults:
			continue
		}
		if kinds++; last < 0 || f.message > s.value[last].message {
			last = i
		}
	}
	if one.message == moreFaults || kinds < maxValueFaults {
		s.value = append(s.value, valueFault{one.code, one.message, one.pos, m})
		return
	}
	if large := &s.value[last]; one.message < large.message {
		large.message, large.pos = one.message, one.pos
		large.mark, m = m, large.mark
	}
	s.faulty(keyFault{code: one.code, message: moreFaults}, m, keep)
}

// maxLength returns the declared length of a stream, 0 if it has none.
func maxLength(k *keyspace.Key) int64 {
	if k.Kind != keyspace.Stream || k.Role != "" {
		return 0
	}
	return k.Entry.MaxLen
}

// tooLong says whether a stream of n entries is longer than its maxlen and what
// trimming by whole nodes leaves: a node has 100 entries unless the server is configured
// otherwise (stream-node-max-entries).
func tooLong(n, declared int64) bool { return declared > 0 && n > declared+max(declared/10, trimSlack) }

const trimSlack = 200
