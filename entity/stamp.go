package entity

import (
	"context"
	"errors"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/value"
)

// Stamp writes the server's time into a field, and moves what is sorted by it. It is for what is
// no change of the item, such as its last use: the item keeps its version and the stamp of its
// update, and no event is sent. The options choose a TTL, as with UpdateWith. A missing item is
// keywright.ErrNotFound. 1 round trip; one more if the field chooses an index, and now and then
// one more where its TTL begins again.
func (s *Store[I, T]) Stamp(ctx context.Context, id I, field Field[T, time.Time],
	options ...keywright.WriteOption) error {
	quiet, err := s.stamper(field)
	if err != nil {
		return &keywright.Error{Class: keywright.Invalid, Op: "stamp", Entry: s.core.Entry.Name, Err: err,
			Hint: "stamp a field of type unix_ms or unix that the server does not write itself"}
	}
	_, err = quiet.update(ctx, "stamp", id, itemkeys.Present, nil, options)
	return err
}

// stamper returns the store as it is for a stamp of one field: that field is what an update stamps, and
// there is nothing else that an update writes or sends.
func (s *Store[I, T]) stamper(field Field[T, time.Time]) (*Store[I, T], error) {
	if known, ok := s.stampers.Load(field.Name); ok {
		return known.(*Store[I, T]), nil
	}
	i, ok := s.core.Columns[field.Name]
	if !ok || s.core.Stamped[field.Name] || s.typed.Fields.Columns[i].Sealed {
		return nil, errors.New("the field " + field.Name + " cannot be stamped")
	}
	var v T
	*field.At(&v) = time.Unix(1, 0)
	text, _, err := s.typed.Fields.Columns[i].Text(&v)
	if err != nil || text != "1" && text != "1000" {
		return nil, errors.Join(value.In(field.Name, errors.New("it is no time in seconds or milliseconds")), err)
	}
	spec := *s.typed
	spec.Created, spec.Version, spec.Updated, spec.OnUpdate = "", "", field.Name, nil
	spec.Seconds = text == "1"
	quiet := New(keywright.Binding{Client: s.core.Client, Entry: s.core.Entry, Err: s.core.Err}, &spec)
	quiet.core.Hook = s.core.Hook
	first, _ := s.stampers.LoadOrStore(field.Name, quiet)
	return first.(*Store[I, T]), nil
}
