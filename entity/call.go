package entity

import (
	"fmt"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
)

// call represents one write of one item, as the script takes it.
type call struct {
	id        string
	expected  string // record
	found     bool   // the server said so
	record    string
	condition string
	ttl       string
	stamps    stamps
	fields    []string // name, text, …
	removed   []string
	adds      []entry
	drops     []entry
	at        []string // of a whole item: the key of each index, "" where it is in none
	now, dead []string // events, as the script takes them
}

// stamps holds the fields that the server fills in; they come first.
type stamps struct {
	created, updated bool
	version          string
	unit             string
}

// count returns how many fields they are.
func (s stamps) count() (n int) {
	for _, on := range []bool{s.created, s.version != "", s.updated} {
		if on {
			n++
		}
	}
	return n
}

// field returns the text of a field, if the call writes it.
func (c *call) field(name string) (string, bool) {
	for i := 0; i+1 < len(c.fields); i += 2 {
		if c.fields[i] == name {
			return c.fields[i+1], true
		}
	}
	return "", false
}

// entry represents an id's entry in an index. Its score is "@field" to be read from the item,
// else a number; what is dropped needs none.
type entry struct{ key, score string }

// unscored is the score of all ids in an index that is sorted by nothing else: the
// server then has them in the order of their bytes.
const unscored = "0"

const (
	anyRecord = "*"
	absent    = "absent"
	present   = "present"
	whatever  = "any"
)

// encode gives KEYS and ARGV.
func (s *core) encode(c *call) (keys, args []string) {
	expires := s.spec.Expires
	if expires == "" {
		expires = s.spec.Ledger
	}
	keys = append(make([]string, 0, 3+len(c.adds)+len(c.drops)+2), s.key(c.id), expires, s.spec.Ledger)
	args = make([]string, 17, 17+len(c.fields)+len(c.removed)+2*(len(c.adds)+len(c.drops))+len(c.now)+len(c.dead))
	copy(args[2:], []string{c.id, c.expected, c.record, c.condition, c.ttl, s.keeps, flag(c.stamps.created),
		c.stamps.version, flag(c.stamps.updated), c.stamps.unit,
		strconv.Itoa(len(c.fields)), strconv.Itoa(len(c.removed)), strconv.Itoa(len(c.adds)), strconv.Itoa(len(c.drops)),
		s.agreed()})
	args = append(append(args, c.fields...), c.removed...)
	for _, e := range c.adds {
		keys = append(keys, e.key)
		args = append(args, strconv.Itoa(len(keys)), e.score)
	}
	for _, e := range c.drops {
		keys = append(keys, e.key)
		args = append(args, strconv.Itoa(len(keys)))
	}
	for _, events := range [][]string{c.now, c.dead} {
		keys, args = appendEvents(keys, args, events)
	}
	args[0], args[1] = strconv.Itoa(len(args)), strconv.Itoa(len(keys))
	return keys, args
}

// eventHead says how many texts are before the parts of an event.
const eventHead = 8

// size returns how many texts an event has.
func size(event []string) int {
	name, _ := strconv.Atoi(event[6])
	data, _ := strconv.Atoi(event[7])
	return eventHead + 3*(name+data)
}

// appendEvents takes events into a call: the key of a stream goes to KEYS.
func appendEvents(keys, args, events []string) (_, _ []string) {
	for len(events) > 0 {
		n := size(events)
		keys, args = appendEvent(keys, args, events[:n])
		events = events[n:]
	}
	return keys, args
}

func appendEvent(keys, args, event []string) (_, _ []string) {
	args = append(args, event...)
	if Mode(event[1]) == Append {
		keys = append(keys, event[2])
		args[len(args)-len(event)+2] = strconv.Itoa(len(keys))
	}
	return keys, args
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// When an event of a write is sent.
const (
	wasThere = "old"
	wasNot   = "new"
	hadDied  = "dead"
)

// templates returns events that the script fills in from the item.
func (s *core) templates(id, when string, events []Event) (out []string) {
	if len(events) == 0 {
		return nil
	}
	pieces := s.pieces(id)
	for i := range events {
		e := &events[i]
		channel, name := e.Channel, e.Name
		if e.fixed() { // the script need not look
			channel, name = e.channel(id, pieces), nil
		}
		out = e.head(out, when, channel, s.database, len(name), len(e.Data))
		for _, p := range name {
			if text, known := p.known(id, pieces); known {
				out = append(out, text, "", "")
			} else {
				out = append(out, "", p.Field, "r")
			}
		}
		for _, p := range e.Data {
			if text, known := p.known(id, pieces); known {
				out = append(out, member(p.Name)+p.written(text), "", "")
			} else {
				out = append(out, member(p.Name), p.Field, forms[p.Form])
			}
		}
	}
	return out
}

var forms = [...]string{value.Quoted: "q", value.Bare: "b", value.Inline: "i"}

// member returns the name of a field in a JSON object, with its colon.
func member(name string) string {
	text, _ := value.Marshal(name)
	return string(text) + ":"
}

// quotedJSON returns a text as cjson.encode writes it, so that a message is the same
// whether the script made it or not: what is no UTF-8 stays as it is.
func quotedJSON(text string) string {
	out := append(make([]byte, 0, len(text)+2), '"')
	for i := range len(text) {
		c := text[i]
		if escape, ok := escapes[c]; ok {
			out = append(out, '\\', escape)
		} else if c < ' ' || c == 0x7f {
			out = fmt.Appendf(out, `\u%04x`, c)
		} else {
			out = append(out, c)
		}
	}
	return string(append(out, '"'))
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// inDatabase returns the member of an envelope that says in which database it was
// published: a channel is shared by all of a server.
func inDatabase(c *keywright.Client) string {
	if db := c.Database(); db >= 0 {
		return `,"db":` + strconv.Itoa(db)
	}
	return ""
}

func (e *Event) head(out []string, when, channel, database string, name, data int) []string {
	length, age, envelope := "", "", "e"+database
	if e.MaxLen > 0 {
		length = strconv.FormatInt(e.MaxLen, 10)
	}
	if e.Age > 0 {
		age = strconv.FormatInt(e.Age.Milliseconds(), 10)
	}
	if e.Plain {
		envelope = "p"
	}
	return append(out, when, string(e.Mode), channel, length, age, envelope, strconv.Itoa(name), strconv.Itoa(data))
}

// expired returns the events of an item that has expired: what is known of it is its
// id and its record.
func (s *core) expired(id, record string) (out []string) {
	if len(s.spec.OnExpire) == 0 {
		return nil
	}
	in, pieces := s.told(record), s.pieces(id)
	for i := range s.spec.OnExpire {
		e := &s.spec.OnExpire[i]
		channel := e.Channel
		for _, p := range e.Name {
			text, _ := s.lastKnown(id, pieces, in, &p)
			channel += text
		}
		var parts []string
		for _, p := range e.Data {
			if text, known := s.lastKnown(id, pieces, in, &p); known {
				parts = append(parts, member(p.Name)+p.written(text), "", "")
			}
		}
		out = append(e.head(out, hadDied, channel, s.database, 0, len(parts)/3), parts...)
	}
	return out
}

// lastKnown returns what a record says of a field.
func (s *core) lastKnown(id string, pieces []string, in map[string]string, p *Part) (string, bool) {
	if text, known := p.known(id, pieces); known {
		return text, true
	}
	for i := range s.spec.Indexes {
		if ix := &s.spec.Indexes[i]; ix.Field == p.Field {
			if text, ok := in[ix.Name]; ok {
				return text, true
			}
		}
	}
	return "", false
}

// ttl returns the TTL of a write in the form of the script.
func (s *Store[I, T]) ttl(v *T, options []keywright.WriteOption) (string, error) {
	ms, asked, err := s.entry.Choose(options)
	if err != nil {
		return "", err
	}
	if !asked && s.typed.TTL != nil {
		if rule := s.typed.TTL(v); rule > 0 {
			ms = rule.Milliseconds()
		}
	}
	if ms == 0 && s.spec.Expires != "" {
		return "", nil
	}
	return strconv.FormatInt(ms, 10), nil
}

// texts returns the fields of a value as they are stored. Those that the server
// stamps come first, without their texts.
func (s *Store[I, T]) texts(key string, v *T, c *call) error {
	s.stamp(c, true)
	columns := s.typed.Fields.Columns
	for i := range columns {
		col := &columns[i]
		if s.stamped[col.Name] {
			continue
		}
		text, there, err := s.text(key, v, i)
		switch {
		case err != nil:
			return value.In(col.Name, err)
		case there:
			c.fields = append(c.fields, col.Name, text)
		default:
			c.removed = append(c.removed, col.Name)
		}
	}
	return nil
}

// text returns one field as it is stored: sealed if it is declared encrypted.
func (s *Store[I, T]) text(key string, v *T, column int) (string, bool, error) {
	col := &s.typed.Fields.Columns[column]
	text, there, err := col.Text(v)
	if err == nil && there && col.Sealed {
		text, err = s.client.Seal(s.entry, key, col.Name, text)
	}
	return text, there, err
}

func (s *core) stamp(c *call, whole bool) {
	c.stamps = stamps{created: whole && s.spec.Created != "", version: s.spec.Version, updated: s.spec.Updated != "",
		unit: "1"}
	if s.spec.Seconds {
		c.stamps.unit = "1000"
	}
	for _, name := range []string{s.spec.Created, s.spec.Version, s.spec.Updated} {
		if name != "" && (name != s.spec.Created || whole) {
			c.fields = append(c.fields, name, "")
		}
	}
}

// describe says in which indexes a value is: what to add, and the record.
func (s *Store[I, T]) describe(v *T, c *call) (in map[string]string, err error) {
	in, c.at = map[string]string{}, make([]string, len(s.spec.Indexes))
	for i := range s.spec.Indexes {
		ix := &s.spec.Indexes[i]
		e, there, err := s.entryOf(i, v)
		switch {
		case err != nil:
			return nil, err
		case there:
			c.adds, c.at[i] = append(c.adds, e), e.key
		case e.key != "":
			c.drops = append(c.drops, entry{key: e.key})
		}
		in[ix.Name] = "" // it is known that it is nowhere
		if ix.Field != "" && e.key != "" {
			in[ix.Name] = ix.text(e.key)
		}
	}
	return in, nil
}

// entryOf returns where a value is in an index, if it is. One that lacks only the
// score has the key, and is not there.
func (s *Store[I, T]) entryOf(i int, v *T) (e entry, there bool, err error) {
	ix := &s.spec.Indexes[i]
	columns := s.typed.Fields.Columns
	e.key = ix.Prefix
	if ix.Field != "" {
		if _, there, err = columns[s.columns[ix.Field]].Text(v); err != nil || !there {
			return entry{}, false, err
		}
		if e.key, err = s.typed.Indexes[i].Key(v); err != nil {
			return entry{}, false, err
		}
	}
	switch {
	case ix.Score == "":
		e.score = unscored
		return e, true, nil
	case s.stamped[ix.Score]:
		e.score = "@" + ix.Score
		return e, true, nil
	}
	e.score, there, err = columns[s.columns[ix.Score]].Text(v)
	return e, there, err
}

// moved returns the entries that an item had, or may have had, and has no longer.
func (s *core) moved(record string, in map[string]string) (drops []entry) {
	for t := range s.traces(record) {
		if t.index < 0 || t.value == "" {
			continue
		}
		if is, known := in[s.spec.Indexes[t.index].Name]; known && is != t.value {
			drops = append(drops, entry{key: t.key()})
		}
	}
	return drops
}

// all returns the entries of an item.
func (s *core) all(record string) (drops []entry) {
	for t := range s.traces(record) {
		if key := t.key(); key != "" && (t.index < 0 || s.spec.Indexes[t.index].Field != "") {
			drops = append(drops, entry{key: key})
		}
	}
	for i := range s.spec.Indexes {
		if ix := &s.spec.Indexes[i]; ix.Field == "" {
			drops = append(drops, entry{key: ix.Prefix})
		}
	}
	return drops
}

// known returns the record of an item as it was read or written; "" if it is not
// known.
func (s *Store[I, T]) known(item *Item[I, T]) string {
	if item.record != "" || item.texts == nil {
		return item.record
	}
	texts := item.texts
	in := map[string]string{}
	for i := range s.spec.Indexes {
		if in[s.spec.Indexes[i].Name] = ""; s.spec.Indexes[i].Field != "" {
			in[s.spec.Indexes[i].Name] = texts[s.columns[s.spec.Indexes[i].Field]].text
		}
	}
	return s.record(in, "", false)
}

// affected reports whether a change of these fields moves entries that the ledger
// knows, and whether it moves any.
func (ix *index) affected(touched func(string) bool) (value, score bool) {
	return ix.Field != "" && touched(ix.Field), ix.Score != "" && touched(ix.Score)
}
