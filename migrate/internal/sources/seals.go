package sources

import (
	"slices"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/value"
)

// seals describes what of the records of a move is encrypted. Files have it as plain text.
type seals struct {
	entry *keywright.Entry
	kind  keyspace.RecordKind
	whole bool                  // the value, or every value
	parts map[string]sealedPart // by field, "" for the value
}

// sealedPart describes what of a field is encrypted: all of it, or members of the object that it holds.
type sealedPart struct {
	whole   bool
	members []string
}

// declaredSeals is nil where nothing of an entry is encrypted.
func declaredSeals(schema string, mv *record.Move) documents.Sealer {
	main := mv.To.Keys[0]
	s := &seals{kind: mv.Kind, parts: map[string]sealedPart{},
		entry: &keywright.Entry{Name: main.Name, Pattern: main.Pattern.String(), Type: string(main.Kind), Schema: schema}}
	for _, p := range main.Sealed() {
		s.whole = s.whole || p.Each
		of := s.parts[p.Field]
		if p.Member == "" {
			of.whole = true
		} else {
			of.members = append(of.members, p.Member)
		}
		if !p.Each {
			s.parts[p.Field] = of
		}
	}
	if !s.whole && len(s.parts) == 0 {
		return nil
	}
	return s
}

// of returns what is encrypted of a value, and the field that it is sealed for.
func (s *seals) of(id record.ID, name string) (sealedPart, string) {
	switch s.kind {
	case keyspace.FieldRecord:
		return sealedPart{whole: s.whole}, id.Sub
	case keyspace.ElementRecord:
		return sealedPart{whole: s.whole}, ""
	}
	return s.parts[name], name
}

// each does something to the stored values of a record that are encrypted, in place.
func (s *seals) each(id record.ID, values []string, do func(part sealedPart, field,
	text string) (string, error)) error {
	left := 0 // fields of the entry at hand
	for i := 0; i < len(values); i++ {
		name := ""
		switch {
		case s.kind == keyspace.EntryRecord && left == 0:
			n, _ := strconv.ParseUint(values[i], 10, 64)
			left = int(n)
			continue
		case s.kind == keyspace.HashRecord || s.kind == keyspace.EntryRecord:
			name, left = values[i], left-1
			if i++; i == len(values) {
				return nil
			}
		}
		part, field := s.of(id, name)
		if !part.whole && len(part.members) == 0 {
			continue
		}
		text, err := do(part, field, values[i])
		if err != nil {
			return err
		}
		values[i] = text
	}
	return nil
}

// Seal makes what Redis gets of the values of a record.
func (s *seals) Seal(c *keywright.Client, id record.ID, values []string) error {
	return s.each(id, values, func(part sealedPart, field, text string) (string, error) {
		if part.whole {
			return c.Seal(s.entry, id.Key, field, text)
		}
		return s.members(part, field, text, func(name string, raw []byte) ([]byte, error) {
			return value.SealMember(name, raw, func(name, text string) (string, error) {
				return c.Seal(s.entry, id.Key, name, text)
			})
		})
	})
}

// Open makes the values of a record of what Redis has.
func (s *seals) Open(c *keywright.Client, id record.ID, values []string) error {
	return s.each(id, values, func(part sealedPart, field, text string) (string, error) {
		if part.whole {
			return c.Unseal(s.entry, id.Key, field, text)
		}
		return s.members(part, field, text, func(name string, raw []byte) ([]byte, error) {
			return value.OpenMember(name, raw, func(name, text string) (string, error) {
				return c.Unseal(s.entry, id.Key, name, text)
			})
		})
	})
}

// members changes the encrypted members of an object.
func (s *seals) members(part sealedPart, field, text string, do func(name string, raw []byte) ([]byte, error)) (string,
	error) {
	out, err := record.EditMembers([]byte(text), func(name string, raw []byte) ([]byte, error) {
		if !slices.Contains(part.members, name) {
			return raw, nil
		}
		if field != "" {
			name = field + "." + name
		}
		return do(name, raw)
	})
	return string(out), err
}
