// Package content makes values as they are under the new names of their keys: the index records of entities and the
// members of sorted sets that hold names. It changes values in memory, and none on a server.
//
// API: may change until 1.0.
package content

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
	"github.com/keywright/keywright/source/rdb/dump"
)

// Rename makes the value of a key as it is under its new name: one content, or parts. Its
// error is of this value alone, unless it is one of each.
func Rename(c *source.Content, how *plan.Content, each func(*source.Content) error) error {
	if how == nil || c.Lost != "" || !rewrites(c.Kind, how) {
		return each(c)
	}
	if c.Payload == nil {
		elements, err := rewritten(c.Elements, how)
		if err != nil {
			return err
		}
		part := *c
		part.Elements = elements
		return each(&part)
	}
	n := 0
	emit := func(elements [][]byte, more bool) error {
		part := source.Content{Name: c.Name, DB: c.DB, Expires: c.Expires, Kind: c.Kind, Elements: elements, Part: n,
			More: more,
			Torn: c.Torn}
		n++
		return each(&part)
	}
	var members [][]byte
	err := dump.Elements(c.Payload, c.RDB, 0, func(elements [][]byte, more bool) error {
		elements, err := rewritten(elements, how)
		if err == nil && how.Member == nil {
			return emit(elements, more)
		}
		for _, e := range elements {
			members = append(members, bytes.Clone(e))
		}
		return err
	})
	if err != nil || how.Member == nil {
		return err
	}
	if members, err = onceEach(members); err != nil {
		return err
	}
	for len(members) > membersOfPart {
		if err := emit(members[:membersOfPart], true); err != nil {
			return err
		}
		members = members[membersOfPart:]
	}
	return emit(members, false)
}

// membersOfPart says how many members and scores a part has at most.
const membersOfPart = 2000

// onceEach leaves out members that are there twice: a set that got the new names before has
// both, and both are one name now. The higher score counts, as it does where a set gets new names beside the old. A
// value in parts is given as it comes.
func onceEach(members [][]byte) ([][]byte, error) {
	at := make(map[string]int, len(members)/2)
	out := members[:0]
	for i := 0; i < len(members); i += 2 {
		first, twice := at[string(members[i])]
		if !twice {
			at[string(members[i])] = len(out)
			out = append(out, members[i], members[i+1])
			continue
		}
		a, errA := strconv.ParseFloat(string(out[first+1]), 64)
		b, errB := strconv.ParseFloat(string(members[i+1]), 64)
		if err := errors.Join(errA, errB); err != nil {
			return nil, err
		}
		if b > a {
			out[first+1] = members[i+1]
		}
	}
	return out, nil
}

// rewrites reports whether a value of this type has names in it.
func rewrites(kind source.Kind, how *plan.Content) bool {
	return how.Places != nil && kind == source.Hash || how.Member != nil && kind == source.ZSet
}

// rewritten returns the elements of a part: fields and values of index records, or members and scores.
func rewritten(elements [][]byte, how *plan.Content) ([][]byte, error) {
	if len(elements)%2 != 0 {
		return nil, errors.New("a part has half of an element")
	}
	out := make([][]byte, len(elements))
	copy(out, elements)
	for i := 0; i < len(out); i += 2 {
		switch {
		case how.Places != nil:
			text, err := indexrecord.Moved(string(out[i]), string(out[i+1]), placeBy(how))
			if err != nil {
				return nil, err
			}
			out[i+1] = []byte(text)
		case how.Member != nil:
			if name, ok := how.Member(out[i]); ok {
				out[i] = name
			}
		}
	}
	return out, nil
}

// placeBy returns the new place of an index.
func placeBy(how *plan.Content) func(indexrecord.Place) (indexrecord.Place, bool) {
	return func(p indexrecord.Place) (indexrecord.Place, bool) {
		to, ok := how.Places[plan.IndexPlace{Index: p.Index, Prefix: p.Prefix, Suffix: p.Suffix, All: p.All}]
		p.Index, p.Prefix, p.Suffix, p.All = to.Index, to.Prefix, to.Suffix, to.All
		return p, ok
	}
}

// RenameRecord returns a record as it is under its new name. The parts are valid until each
// returns.
func RenameRecord(rec *archive.Record, how *plan.Content, each func(*archive.Record) error) error {
	if how == nil || !rewrites(rec.Kind, how) {
		return each(rec)
	}
	c, err := compare.ContentOf(rec)
	if err != nil {
		return err
	}
	return Rename(&c, how, func(part *source.Content) error {
		out := archive.Of(part, rec.Entry)
		return each(&out)
	})
}

// Renamed returns a side of a comparison that shows values as they are under the new names of
// their keys. how says it of each key, and is asked by one goroutine at a time. What cannot
// be read so is shown as lost.
func Renamed(side compare.Side, how func(name []byte) *plan.Content) compare.Side {
	s := renamedSide{side, how}
	if live, ok := side.(compare.Live); ok {
		return &renamedLive{live, s}
	}
	return &s
}

type renamedSide struct {
	compare.Side
	how func(name []byte) *plan.Content
}

// All yields all values.
func (s *renamedSide) All(ctx context.Context, each func([]source.Content) error) (source.Summary, error) {
	return s.Side.All(ctx, s.through(each))
}

// through shows values as they are under their new names.
func (s *renamedSide) through(each func([]source.Content) error) func([]source.Content) error {
	return func(batch []source.Content) error {
		begun := 0
		for i := range batch {
			how := s.how(batch[i].Name)
			if how == nil || !rewrites(batch[i].Kind, how) {
				continue
			}
			if i > begun {
				if err := each(batch[begun:i]); err != nil {
					return err
				}
			}
			begun = i + 1
			if err := s.one(&batch[i], how, each); err != nil {
				return err
			}
		}
		if begun > 0 && begun == len(batch) {
			return nil
		}
		return each(batch[begun:])
	}
}

// one shows one value.
func (s *renamedSide) one(c *source.Content, how *plan.Content, each func([]source.Content) error) error {
	var failed error
	err := Rename(c, how, func(part *source.Content) error {
		failed = each([]source.Content{*part})
		return failed
	})
	if err == nil || failed != nil {
		return failed
	}
	return each([]source.Content{{Name: c.Name, DB: c.DB, Kind: c.Kind, Lost: err.Error()}})
}

// renamedLive represents one that can be asked.
type renamedLive struct {
	compare.Live
	side renamedSide
}

// All yields all values.
func (s *renamedLive) All(ctx context.Context, each func([]source.Content) error) (source.Summary, error) {
	return s.Live.All(ctx, s.side.through(each))
}

// Ask yields the values of keys by name.
func (s *renamedLive) Ask(ctx context.Context, db int, names [][]byte, each func([]source.Content) error) error {
	return s.Live.Ask(ctx, db, names, s.side.through(each))
}
