package entity

import (
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
)

// ttl returns the TTL of a write in the form of the script.
func (s *Store[I, T]) ttl(v *T, options []keywright.WriteOption) (string, error) {
	ms, asked, err := s.core.entry.Choose(options)
	if err != nil {
		return "", err
	}
	if !asked && s.typed.TTL != nil {
		if rule := s.typed.TTL(v); rule > 0 {
			ms = rule.Milliseconds()
		}
	}
	if ms == 0 && s.core.spec.Expires != "" {
		return "", nil
	}
	return strconv.FormatInt(ms, 10), nil
}

// texts returns the fields of a value as they are stored. Those that the server
// stamps come first, without their texts.
func (s *Store[I, T]) texts(key string, v *T, c *call) error {
	s.core.stamp(c, true)
	columns := s.typed.Fields.Columns
	for i := range columns {
		col := &columns[i]
		if s.core.stamped[col.Name] {
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
		text, err = s.core.client.Seal(s.core.entry, key, col.Name, text)
	}
	return text, there, err
}

// describe says in which indexes a value is: what to add, and the record.
func (s *Store[I, T]) describe(v *T, c *call) (in map[string]string, err error) {
	in, c.at = map[string]string{}, make([]string, len(s.core.spec.Indexes))
	for i := range s.core.spec.Indexes {
		ix := &s.core.spec.Indexes[i]
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
	ix := &s.core.spec.Indexes[i]
	columns := s.typed.Fields.Columns
	e.key = ix.Prefix
	if ix.Field != "" {
		if _, there, err = columns[s.core.columns[ix.Field]].Text(v); err != nil || !there {
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
	case s.core.stamped[ix.Score]:
		e.score = "@" + ix.Score
		return e, true, nil
	}
	e.score, there, err = columns[s.core.columns[ix.Score]].Text(v)
	return e, there, err
}

// known returns the record of an item as it was read or written; "" if it is not
// known.
func (s *Store[I, T]) known(item *Item[I, T]) string {
	if item.record != "" || item.texts == nil {
		return item.record
	}
	texts := item.texts
	in := map[string]string{}
	for i := range s.core.spec.Indexes {
		if in[s.core.spec.Indexes[i].Name] = ""; s.core.spec.Indexes[i].Field != "" {
			in[s.core.spec.Indexes[i].Name] = texts[s.core.columns[s.core.spec.Indexes[i].Field]].text
		}
	}
	return s.core.record(in, "", false)
}
