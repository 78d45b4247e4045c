package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/source"
)

// valueCheck is a key's declaration made ready for checking values.
type valueCheck struct {
	key    *keyspace.Key
	schema func([]byte) error // of a string's JSON
	fields map[string]fieldCheck
}

type fieldCheck struct {
	typ    scalar.Type
	schema func([]byte) error
}

// valueFault is one kind of fault of one entry's values.
type valueFault struct {
	code    string
	message string
	lastDB  int
	last    []byte // the key it was last seen in, to count keys and not members
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
		c := &valueCheck{key: k, fields: map[string]fieldCheck{}}
		if k.Value != nil {
			c.schema = a.schema(*k.Value)
		}
		for _, f := range append(k.Fields, k.JSON...) {
			c.fields[f.Name] = fieldCheck{f.Type, a.schema(f.Type)}
		}
		a.checks[k] = c
	}
}

// schema is the check of a type's JSON Schema, nil if it has none. One that
// cannot be used is noted: its values are checked less, not more leniently in
// silence.
func (a *Audit) schema(t scalar.Type) func([]byte) error {
	if t.Kind != scalar.JSON || t.File == "" || a.opt.Schema == nil {
		return nil
	}
	check, err := a.opt.Schema(t.File)
	if err != nil {
		a.notes = append(a.notes, fmt.Sprintf("schema %s cannot be used, its values are only checked for being JSON: %v", t.File, err))
		return nil
	}
	return check
}

// WantsValue says whether the value of a key is to be read: it is a
// source.Request's Values.
func (a *Audit) WantsValue(name []byte, kind source.Kind) bool {
	id := a.matcher.Match(name, nil)
	if id == match.None || a.targets[id].Key == nil {
		return false
	}
	k := a.targets[id].Key
	declared := k.Value != nil || k.Member != nil || k.Score != nil || k.Fields != nil || k.Field != nil || k.Item != nil || k.JSON != nil
	return declared && kinds[k.Kind] == kind && (a.filter.all || a.filter.wants(a.targets, id, name))
}

func (a *Audit) checkValue(k *keyspace.Key, s *stat, live *source.Key) {
	c := a.checks[k]
	if c == nil || kinds[k.Kind] != live.Kind {
		return
	}
	fault := func(code, format string, args ...any) {
		s.fault(code, fmt.Sprintf(format, args...), live, a.opt.Examples)
	}
	v := live.Value
	switch live.Kind {
	case source.String:
		c.text(v, fault)
	case source.Hash:
		c.hash(v, fault)
	case source.Stream:
		c.stream(v, fault)
	default:
		c.members(v, fault)
	}
}

// queueLine is the line before the payload of a job, in its first form.
var queueLine = regexp.MustCompile(`^q1 [0-9]+ \S+ [0-9]+ \S+ \S+$`)

type faultFunc func(code, format string, args ...any)

func (c *valueCheck) text(v *source.Value, fault faultFunc) {
	if c.key.Value == nil || v.Partial {
		return
	}
	text := v.Str
	if c.key.Headed {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		if text = rest; !queueLine.Match(line) {
			fault("KW508", "the value is without the line of a %s", c.key.Entry.Type)
			return
		}
	}
	if reason := c.reason(*c.key.Value, c.schema, text); reason != "" {
		fault("KW508", "the value is %s", reason)
		return
	}
	if c.key.JSON != nil {
		c.object(text, fault)
	}
}

// reason says why a value is not of a type, "" if it is. It never holds the
// value.
func (c *valueCheck) reason(t scalar.Type, schema func([]byte) error, value []byte) string {
	if t.Encrypted {
		if looksPlain(t, value) {
			return "not encrypted"
		}
		return ""
	}
	if err := t.Check(value); err != nil {
		return err.Error()
	}
	if schema != nil {
		if err := schema(value); err != nil {
			return "JSON that its schema refuses"
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
	return bytes.IndexByte(value, ' ') >= 0 && !bytes.ContainsFunc(value, func(r rune) bool { return r == '\ufffd' || r < ' ' })
}

// object checks the fields of an inline JSON object.
func (c *valueCheck) object(text []byte, fault faultFunc) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		fault("KW508", "the value is not a JSON object")
		return
	}
	var pairs [][]byte
	for name, raw := range object {
		var s string
		if json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
			raw = []byte(s)
		} else if string(raw) == "null" && c.fields[name].typ.Optional {
			continue
		}
		pairs = append(pairs, []byte(name), raw)
	}
	c.pairs(pairs, false, fault)
}

func (c *valueCheck) hash(v *source.Value, fault faultFunc) {
	if c.key.Fields != nil {
		c.pairs(v.Elements, v.Partial, fault)
		return
	}
	for i := 0; i+1 < len(v.Elements); i += 2 {
		if c.key.Field != nil {
			if reason := c.reason(*c.key.Field, nil, v.Elements[i]); reason != "" {
				fault("KW509", "a field's name is %s", reason)
			}
		}
		if c.key.Item != nil {
			if reason := c.reason(*c.key.Item, nil, v.Elements[i+1]); reason != "" {
				fault("KW508", "a field's value is %s", reason)
			}
		}
	}
}

// pairs checks fixed fields: unknown ones, missing ones, values of the wrong
// type. From a partial value nothing is known to be missing.
func (c *valueCheck) pairs(pairs [][]byte, partial bool, fault faultFunc) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name := string(pairs[i])
		f, known := c.fields[name]
		if !known {
			fault("KW509", "the field %s is not declared", fieldName(name))
			continue
		}
		seen[name] = true
		if reason := c.reason(f.typ, f.schema, pairs[i+1]); reason != "" {
			fault("KW508", "the field %s is %s", name, reason)
		}
	}
	if partial {
		return
	}
	for _, f := range append(c.key.Fields, c.key.JSON...) {
		if !f.Type.Optional && !seen[f.Name] {
			fault("KW510", "the field %s is missing", f.Name)
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

func (c *valueCheck) stream(v *source.Value, fault faultFunc) {
	if c.key.Fields != nil {
		c.pairs(v.Elements, true, fault)
	}
}

func (c *valueCheck) members(v *source.Value, fault faultFunc) {
	for i, e := range v.Elements {
		if c.key.Member != nil {
			if reason := c.reason(*c.key.Member, nil, e); reason != "" {
				fault("KW511", "a member is %s", reason)
			}
		}
		if c.key.Score != nil && i < len(v.Scores) {
			text := strconv.FormatFloat(v.Scores[i], 'f', -1, 64)
			if reason := c.reason(*c.key.Score, nil, []byte(text)); reason != "" {
				fault("KW512", "a score is %s", reason)
			}
		}
	}
}

// fault counts a fault of a value. Each code has room of its own, so that many
// warnings cannot hide an error.
func (s *stat) fault(code, message string, k *source.Key, keep int) {
	kinds := 0
	for i := range s.value {
		f := &s.value[i]
		if f.code != code {
			continue
		}
		kinds++
		if f.message == message {
			if f.lastDB != k.DB || !bytes.Equal(f.last, k.Name) {
				f.count++
				f.last, f.lastDB = append(f.last[:0], k.Name...), k.DB
			}
			f.examples = keepSmallest(f.examples, k, keep)
			return
		}
	}
	if kinds >= maxValueFaults && message != moreFaults {
		s.fault(code, moreFaults, k, keep)
		return
	}
	s.value = append(s.value, valueFault{code: code, message: message, last: bytes.Clone(k.Name), lastDB: k.DB, mark: mark{1, keepSmallest(nil, k, keep)}})
}
