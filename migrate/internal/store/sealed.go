package store

import (
	"context"
	"slices"

	"time"

	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/record"
)

// prepare makes what Redis gets of the records of a put. What is encrypted and as it is
// keeps the text that it has, so that writing it again changes nothing.
func (s *Server) prepare(ctx context.Context, p *Put) error {
	var hidden []*Item
	for i := range p.Items {
		x := &p.Items[i]
		x.values = Stored(x.Move.Kind, x.living(p.Now))
		if x.Move.Sealed != nil && len(x.values) > 0 {
			hidden = append(hidden, x)
		}
	}
	if len(hidden) == 0 {
		return nil
	}
	has := make([][]string, len(hidden))
	if p.Ticket != "" {
		raw, err := s.Link.Raw()
		if err != nil {
			return err
		}
		commands := make([]kernel.Command, len(hidden))
		for i, x := range hidden {
			commands[i] = valueOf(raw.B(), x.Move.Kind, x.ID)
		}
		for i, r := range raw.DoMulti(ctx, commands...) {
			if has[i], err = valuesOf(hidden[i].Move.Kind, r); err != nil {
				has[i] = nil // as of another type: the script says it
			}
		}
	}
	for i, x := range hidden {
		if err := s.hide(x, has[i]); err != nil {
			return err
		}
	}
	return nil
}

// hide seals the values of a record, those that Redis has already as it has them.
func (s *Server) hide(x *Item, has []string) error {
	c, err := s.Link.Get()
	if err != nil {
		return err
	}
	plain := slices.Clone(x.values)
	if err := x.Move.Sealed.Seal(c, x.ID, x.values); err != nil {
		return err
	}
	opened := slices.Clone(has)
	if len(has) == 0 || x.Move.Sealed.Open(c, x.ID, opened) != nil {
		return nil
	}
	step, from := 1, 0
	if x.Move.Kind == keyspace.HashRecord {
		step, from = 2, 1
	}
	for i := from; i < len(plain); i += step {
		for j := from; j < len(opened); j += step {
			if (from == 0 && i == j || from == 1 && plain[i-1] == opened[j-1]) && plain[i] == opened[j] {
				x.values[i] = has[j]
			}
		}
	}
	return nil
}

// Opened returns the records of an answer to take.
func (s *Server) Opened(mv documents.MoveOf, id record.ID, a Answer) ([]*record.Record, error) {
	if mv.Sealed != nil && len(a.More) > 2 {
		c, err := s.Link.Get()
		if err != nil {
			return nil, err
		}
		a.More = slices.Clone(a.More)
		if err := mv.Sealed.Open(c, id, a.More[2:]); err != nil {
			return nil, err
		}
	}
	return Taken(mv.Kind, mv.Move, id, a), nil
}

// NewTicket takes a ticket for a part.
func (s *Server) NewTicket(ctx context.Context, part string, epoch uint64) (string, error) {
	a, err := s.TicketOp(part, epoch, s.Seen.Of(part)).Do(ctx)
	if err == nil {
		err = a.Failed()
	}
	if err != nil {
		return "", err
	}
	s.Seen.saw(part, Number(a.More[0]))
	return a.More[0], nil
}

// Follow returns a write to Redis where the files decide.
func (s *Server) Follow(part string, epoch uint64, ticket string, keep bool) Put {
	return Put{Part: part, Epoch: epoch, Ticket: ticket, keep: keep, Seen: s.Seen.Of(part), Now: time.Now()}
}

// Write writes records to Redis, and gives a word for each: what was done.
func (s *Server) Write(ctx context.Context, p Put) ([]string, error) {
	if err := s.prepare(ctx, &p); err != nil {
		return nil, err
	}
	a, err := s.Put(p).Do(ctx)
	if err == nil {
		err = a.Failed()
	}
	if err != nil {
		return nil, err
	}
	if len(a.More) > 1 {
		s.Seen.saw(p.Part, Number(a.More[1]))
	}
	words := a.More[2:]
	for i, w := range words {
		if err := (Answer{Word: w}).Failed(); err != nil {
			return words, sources.Unreadable(p.Items[i].Move.Move, p.Items[i].ID, err)
		}
	}
	return words, nil
}
