package audit

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/scalar"
)

// shape describes what is declared of the fields of a hash, of an entry of a stream, or of the
// members of a JSON object.
type shape struct {
	all    []keyspace.Field
	byName map[string]fieldCheck
	pos    finding.Position // where they are declared
}

type fieldCheck struct {
	name   string
	typ    scalar.Type
	pos    finding.Position
	schema func([]byte) error
	data   *shape // of a JSON object in it: the message of a durable channel
}

func (a *Audit) shape(fields []keyspace.Field, pos finding.Position) *shape {
	if len(fields) == 0 {
		return nil
	}
	s := &shape{fields, map[string]fieldCheck{}, pos}
	for _, f := range fields {
		s.byName[f.Name] = fieldCheck{name: f.Name, typ: f.Type, pos: f.Pos, schema: a.schema(f.Type)}
	}
	return s
}

// shapes returns the shape of a key's fields, and that of the JSON object in its value.
func (a *Audit) shapes(k *keyspace.Key) (fields, object *shape) {
	at := func(property string) finding.Position { return cmp.Or(k.Entry.At[property], k.Pos) }
	fields, object = a.shape(k.Fields, at("fields")), a.shape(k.JSON, at("value"))
	if k.Headed {
		object = a.shape(k.Entry.Shape, at("value"))
	}
	if c := k.Entry.Topic; c != nil && k.Role == "" && fields != nil {
		data := fields.byName["data"]
		data.data = a.shape(c.Message, cmp.Or(c.At["message"], c.Pos))
		fields.byName["data"] = data
	}
	return fields, object
}

// pairs checks fixed fields: unknown ones, and values of the wrong type. The
// declared ones that are there go into seen.
func (s *shape) pairs(pairs [][]byte, seen map[string]bool, fault faultFunc) {
	for i := 0; i+1 < len(pairs); i += 2 {
		f, known := s.byName[string(pairs[i])]
		if !known {
			fault("KW509", s.pos, "the field %s is not declared", fieldName(string(pairs[i])))
			continue
		}
		seen[f.name] = true
		if reason := reason(f.typ, f.schema, pairs[i+1]); reason != "" {
			fault("KW508", f.pos, "the field %s is %s", f.name, reason)
		} else if f.data != nil {
			f.data.object(pairs[i+1], "the field "+f.name, f.name+".", fault)
		}
	}
}

// missing checks that the fields that must be there are.
func (s *shape) missing(seen map[string]bool, within string, fault faultFunc) {
	for _, f := range s.all {
		if !f.Type.Optional && !seen[f.Name] {
			fault("KW510", f.Pos, "the field %s is missing", within+f.Name)
		}
	}
}

// object checks a JSON object as generated code reads it: by the form of each member, and
// null is absent. within is before the names of its members.
func (s *shape) object(text []byte, what, within string, fault faultFunc) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		fault("KW508", s.pos, "%s is not a JSON object", what)
		return
	}
	seen := map[string]bool{}
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names) // of many faults the same are kept
	for _, name := range names {
		f, known := s.byName[name]
		if !known {
			fault("KW509", s.pos, "the field %s is not declared", within+fieldName(name))
			continue
		}
		raw := object[name]
		if string(raw) == "null" {
			continue
		}
		seen[name] = true
		if reason := f.member(raw); reason != "" {
			fault("KW508", f.pos, "the field %s is %s", within+name, reason)
		}
	}
	s.missing(seen, within, fault)
}

// member says why a member of a JSON object is not of its type, "" if it is.
func (f *fieldCheck) member(raw []byte) string {
	if f.typ.Encrypted { // what is sealed is base64 in a JSON string
		text, quoted := scalar.Unquoted(raw)
		sealed, err := scalar.Base64(text)
		if !quoted || err != nil {
			return notSealed
		}
		return reason(f.typ, f.schema, sealed)
	}
	if err := f.typ.CheckJSON(raw); err != nil {
		return err.Error()
	}
	if f.schema != nil && f.schema(raw) != nil {
		return refused
	}
	return ""
}
