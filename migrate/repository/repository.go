// Package repository has the typed records that generated code gives a program in place of a
// file or of Redis: each is read and written where the phase of its part says. Package migrate
// has the phases, and what holds when a process is killed.
//
// It is for one record at a time. Records that are one thing in a document, as those of two
// moves from one path, are written in one step with their Changes and Migration.Write.
//
// API: may change until 1.0.
package repository

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/value"
)

// Place represents a record of an opened migration. Generated code makes it.
type Place struct {
	m   *migrate.Migration
	id  record.ID
	err error // why there is none
}

// At returns the record of a move with that key, or the error of making the key.
func At(m *migrate.Migration, move, key string, err error) Place {
	return Place{m, record.ID{Move: move, Key: key}, err}
}

// with returns the record of a field or member of the key.
func with[S any](p Place, sub S, c *value.Codec[S]) Place {
	text, err := c.Encode(sub)
	if p.id.Sub = text; p.err == nil && err != nil {
		p.err = p.wrong(err)
	}
	return p
}

func (p Place) wrong(err error) error {
	return &keywright.Error{Class: keywright.Invalid, Op: "migrate", Entry: p.id.Move, Err: err}
}

// Value represents a record as a Go value.
type Value[V any] struct {
	Place
	make func(v V, empty record.Record) ([]*record.Record, error)
	read func(records []*record.Record) (V, error)
}

// Read gives the record as the phase of its part says. The error is keywright.ErrNotFound where
// it is not there.
func (r Value[V]) Read(ctx context.Context) (v V, err error) {
	if r.err != nil {
		return v, r.err
	}
	records, err := r.m.Read(ctx, r.id)
	if err != nil {
		return v, err
	}
	if len(records) == 0 {
		return v, &keywright.Error{Class: keywright.Invalid, Op: "read", Entry: r.id.Move, Err: keywright.ErrNotFound}
	}
	if v, err = r.read(records); err != nil {
		err = r.wrong(err)
	}
	return v, err
}

// Write makes the record v, on the sides that the phase says.
func (r Value[V]) Write(ctx context.Context, v V) error {
	c, err := r.Change(v)
	if err != nil {
		return err
	}
	return r.m.Write(ctx, c)
}

// Delete takes the record away.
func (r Value[V]) Delete(ctx context.Context) error {
	if r.err != nil {
		return r.err
	}
	return r.m.Delete(ctx, r.id)
}

// Update makes of the record what do makes of it, as one step: no other write comes in between.
// found is false where it is not there. do may be called more than once; its error is returned,
// and nothing is written.
func (r Value[V]) Update(ctx context.Context, do func(v V, found bool) (V, error)) error {
	if r.err != nil {
		return r.err
	}
	return r.m.Update(ctx, r.id, func(old []*record.Record) ([]*record.Record, error) {
		var v V
		var err error
		if len(old) > 0 {
			if v, err = r.read(old); err != nil {
				return nil, r.wrong(err)
			}
		}
		if v, err = do(v, len(old) > 0); err != nil {
			return nil, err
		}
		return r.records(v, time.Time{})
	})
}

// Change returns a write of the record, for Migration.Write with others.
func (r Value[V]) Change(v V) (migrate.Change, error) { return r.change(v, time.Time{}) }

// Removal returns a removal of the record, for Migration.Write with others.
func (r Value[V]) Removal() (migrate.Change, error) { return migrate.Change{ID: r.id}, r.err }

func (r Value[V]) change(v V, ends time.Time) (migrate.Change, error) {
	if r.err != nil {
		return migrate.Change{}, r.err
	}
	records, err := r.records(v, ends)
	return migrate.Change{ID: r.id, Records: records}, err
}

func (r Value[V]) records(v V, ends time.Time) ([]*record.Record, error) {
	mv := r.m.Move(r.id.Move)
	if mv == nil {
		return nil, r.wrong(errors.New("it is no move of the migration that was opened"))
	}
	out, err := r.make(v, record.Record{Move: mv, Key: r.id.Key, Sub: r.id.Sub, Ends: ends})
	if err != nil {
		return nil, r.wrong(err)
	}
	return out, nil
}

// Ending returns r for a move whose records say themselves when they end.
func (r Value[V]) Ending() Ending[V] { return Ending[V]{r} }

// Ending represents a record whose TTL counts from a time in it: a write says when it ends.
type Ending[V any] struct{ v Value[V] }

// Read does what Value.Read does.
func (r Ending[V]) Read(ctx context.Context) (V, error) { return r.v.Read(ctx) }

// Delete does what Value.Delete does.
func (r Ending[V]) Delete(ctx context.Context) error { return r.v.Delete(ctx) }

// Removal does what Value.Removal does.
func (r Ending[V]) Removal() (migrate.Change, error) { return r.v.Removal() }

// Write makes the record v until a time, which must be the one that its document tells.
func (r Ending[V]) Write(ctx context.Context, v V, ends time.Time) error {
	c, err := r.Change(v, ends)
	if err != nil {
		return err
	}
	return r.v.m.Write(ctx, c)
}

// Change returns a write of the record, for Migration.Write with others.
func (r Ending[V]) Change(v V, ends time.Time) (migrate.Change, error) { return r.v.change(v, ends) }

// NewValue returns the value of a string.
func NewValue[V any](p Place, c *value.Codec[V]) Value[V] {
	return Value[V]{p, func(v V, r record.Record) ([]*record.Record, error) {
		text, err := c.Encode(v)
		r.Value = []byte(text)
		return []*record.Record{&r}, err
	}, func(records []*record.Record) (V, error) { return c.Parse(string(records[0].Value)) }}
}

// NewField returns a field of a hash.
func NewField[F, V any](p Place, field F, fields *value.Codec[F], c *value.Codec[V]) Value[V] {
	return NewValue(with(p, field, fields), c)
}

// NewFields returns a hash with fixed fields.
func NewFields[V any](p Place, f *value.Fields[V]) Value[V] {
	return Value[V]{p, func(v V, r record.Record) ([]*record.Record, error) {
		args, err := f.Append(nil, &v)
		for i := 0; i+1 < len(args); i += 2 {
			r.Fields = append(r.Fields, record.Field{Name: args[i], Value: args[i+1]})
		}
		return []*record.Record{&r}, err
	}, func(records []*record.Record) (V, error) {
		fields := map[string]string{}
		for _, x := range records[0].Fields {
			fields[x.Name] = x.Value
		}
		return f.Parse(fields)
	}}
}

// NewScore returns the score of a member of a sorted set.
func NewScore[M, S any](p Place, member M, members *value.Codec[M], c *value.Score[S]) Value[S] {
	return Value[S]{with(p, member, members), func(v S, r record.Record) ([]*record.Record, error) {
		text, err := c.Append(nil, v)
		r.Score = string(text)
		return []*record.Record{&r}, err
	}, func(records []*record.Record) (v S, err error) {
		score, err := strconv.ParseFloat(records[0].Score, 64)
		if err != nil {
			return v, fmt.Errorf("its score is no number: %w", err)
		}
		return c.From(score)
	}}
}

// NewList returns the elements of a list.
func NewList[V any](p Place, c *value.Codec[V]) Value[[]V] {
	return Value[[]V]{p, func(values []V, empty record.Record) (out []*record.Record, err error) {
		for i, v := range values {
			r := empty
			text, err := c.Encode(v)
			if err != nil {
				return nil, err
			}
			r.Value, r.Place = []byte(text), int64(i)
			out = append(out, &r)
		}
		return out, nil
	}, func(records []*record.Record) (out []V, err error) {
		for _, r := range records {
			v, err := c.Parse(string(r.Value))
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	}}
}

// Member describes whether a member is in a set.
type Member struct{ v Value[struct{}] }

// NewMember returns a member of a set.
func NewMember[M any](p Place, member M, members *value.Codec[M]) Member {
	return Member{Value[struct{}]{with(p, member, members), func(_ struct{}, r record.Record) ([]*record.Record, error) {
		return []*record.Record{&r}, nil
	}, func([]*record.Record) (struct{}, error) { return struct{}{}, nil }}}
}

// Read reports whether the member is there.
func (r Member) Read(ctx context.Context) (bool, error) {
	_, err := r.v.Read(ctx)
	if errors.Is(err, keywright.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Write adds the member.
func (r Member) Write(ctx context.Context) error { return r.v.Write(ctx, struct{}{}) }

// Delete takes the member out.
func (r Member) Delete(ctx context.Context) error { return r.v.Delete(ctx) }

// Change returns an addition of the member, for Migration.Write with others.
func (r Member) Change() (migrate.Change, error) { return r.v.Change(struct{}{}) }

// Removal returns a removal of the member, for Migration.Write with others.
func (r Member) Removal() (migrate.Change, error) { return r.v.Removal() }
