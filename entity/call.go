package entity

import (
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/value"
)

// ttl returns the TTL of a write in the form of the script.
func (s *Store[I, T]) ttl(v *T, options []keywright.WriteOption) (string, error) {
	ms, asked, err := s.core.Entry.Choose(options)
	if err != nil {
		return "", err
	}
	if !asked && s.typed.TTL != nil {
		if rule := s.typed.TTL(v); rule > 0 {
			ms = rule.Milliseconds()
		}
	}
	if ms == 0 && s.core.Spec.Expires != "" {
		return "", nil
	}
	return strconv.FormatInt(ms, 10), nil
}

// texts returns the fields of a value as they are stored. Those that the server
// stamps come first, without their texts.
func (s *Store[I, T]) texts(key string, v *T, c *itemkeys.Call) error {
	columns := s.typed.Fields.Columns
	c.Fields = make([]string, 0, 2*len(columns))
	s.core.Stamp(c, true)
	for i := range columns {
		col := &columns[i]
		if s.core.Stamped[col.Name] {
			continue
		}
		text, there, err := s.text(key, v, i)
		switch {
		case err != nil:
			return value.In(col.Name, err)
		case there:
			c.Fields = append(c.Fields, col.Name, text)
		default:
			c.Removed = append(c.Removed, col.Name)
		}
	}
	return nil
}

// Text returns one field as it is stored: sealed if it is declared encrypted.
func (s *Store[I, T]) text(key string, v *T, column int) (string, bool, error) {
	col := &s.typed.Fields.Columns[column]
	text, there, err := col.Text(v)
	if err == nil && there && col.Sealed {
		text, err = s.core.Client.Seal(s.core.Entry, key, col.Name, text)
	}
	return text, there, err
}

// describe says in which indexes a value is: what to add, and the record.
func (s *Store[I, T]) describe(v *T, c *itemkeys.Call) (in map[string]string, err error) {
	n := len(s.core.Spec.Indexes)
	in, c.At, c.Adds = make(map[string]string, n), make([]string, n), make([]itemkeys.Entry, 0, n)
	for i := range s.core.Spec.Indexes {
		ix := &s.core.Spec.Indexes[i]
		e, there, err := s.entryOf(i, v)
		switch {
		case err != nil:
			return nil, err
		case there:
			c.Adds, c.At[i] = append(c.Adds, e), e.Key
		case e.Key != "":
			c.Drops = append(c.Drops, itemkeys.Entry{Key: e.Key})
		}
		in[ix.Name] = "" // it is known that it is in no key
		if ix.Field != "" && e.Key != "" {
			in[ix.Name] = ix.Text(e.Key)
		}
	}
	return in, nil
}

// entryOf returns where a value is in an index, if it is. One that lacks only the
// score has the key, and is not there.
func (s *Store[I, T]) entryOf(i int, v *T) (e itemkeys.Entry, there bool, err error) {
	ix := &s.core.Spec.Indexes[i]
	columns := s.typed.Fields.Columns
	e.Key = ix.Prefix
	if ix.Field != "" {
		if _, there, err = columns[s.core.Columns[ix.Field]].Text(v); err != nil || !there {
			return itemkeys.Entry{}, false, err
		}
		if e.Key, err = s.typed.Indexes[i].Key(v); err != nil {
			return itemkeys.Entry{}, false, err
		}
	}
	switch {
	case ix.Score == "":
		e.Score = itemkeys.Unscored
		return e, true, nil
	case s.core.Stamped[ix.Score]:
		e.Score = "@" + ix.Score
		return e, true, nil
	}
	e.Score, there, err = columns[s.core.Columns[ix.Score]].Text(v)
	return e, there, err
}

// Known returns the record of an item as it was read or written; "" if it is not
// known.
func (s *Store[I, T]) known(item *Item[I, T]) string {
	if item.record != "" || item.texts == nil {
		return item.record
	}
	texts := item.texts
	in := map[string]string{}
	for i := range s.core.Spec.Indexes {
		if in[s.core.Spec.Indexes[i].Name] = ""; s.core.Spec.Indexes[i].Field != "" {
			in[s.core.Spec.Indexes[i].Name] = texts[s.core.Columns[s.core.Spec.Indexes[i].Field]].Text
		}
	}
	return s.core.RecordOf(in, "", false)
}
