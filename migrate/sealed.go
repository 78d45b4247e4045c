package migrate

import (
	"context"
	"slices"

	"time"

	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/record"
)

// prepare makes what Redis gets of the records of a put. What is encrypted and as it is
// keeps the text that it has, so that writing it again changes nothing.
func (s *server) prepare(ctx context.Context, p *put) error {
	var hidden []*item
	for i := range p.items {
		x := &p.items[i]
		x.values = stored(x.mv.Kind, x.living(p.now))
		if sealsOf(x.mv) != nil && len(x.values) > 0 {
			hidden = append(hidden, x)
		}
	}
	if len(hidden) == 0 {
		return nil
	}
	has := make([][]string, len(hidden))
	if p.ticket != "" {
		raw, err := s.link.raw()
		if err != nil {
			return err
		}
		commands := make([]kernel.Command, len(hidden))
		for i, x := range hidden {
			commands[i] = valueOf(raw.B(), x.mv.Kind, x.id)
		}
		for i, r := range raw.DoMulti(ctx, commands...) {
			if has[i], err = valuesOf(hidden[i].mv.Kind, r); err != nil {
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
func (s *server) hide(x *item, has []string) error {
	c, err := s.link.get()
	if err != nil {
		return err
	}
	plain := slices.Clone(x.values)
	if err := sealsOf(x.mv).seal(c, x.id, x.values); err != nil {
		return err
	}
	opened := slices.Clone(has)
	if len(has) == 0 || sealsOf(x.mv).open(c, x.id, opened) != nil {
		return nil
	}
	step, from := 1, 0
	if x.mv.Kind == keyspace.HashRecord {
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

// opened returns the records of an answer to take.
func (s *server) opened(mv MoveOf, id record.ID, a answer) ([]*record.Record, error) {
	if sealsOf(mv) != nil && len(a.more) > 2 {
		c, err := s.link.get()
		if err != nil {
			return nil, err
		}
		a.more = slices.Clone(a.more)
		if err := sealsOf(mv).open(c, id, a.more[2:]); err != nil {
			return nil, err
		}
	}
	return taken(mv.Kind, mv.Move, id, a), nil
}

func (s *server) newTicket(ctx context.Context, part string, epoch uint64) (string, error) {
	a, err := s.ticket(part, epoch, s.seen.of(part)).Do(ctx)
	if err == nil {
		err = a.failed()
	}
	if err != nil {
		return "", err
	}
	s.seen.saw(part, number(a.more[0]))
	return a.more[0], nil
}

// follow returns a write to Redis where the files decide.
func (s *server) follow(part string, epoch uint64, ticket string, keep bool) put {
	return put{part: part, epoch: epoch, ticket: ticket, keep: keep, seen: s.seen.of(part), now: time.Now()}
}

// put writes records to Redis, and gives a word for each: what was done.
func (s *server) write(ctx context.Context, p put) ([]string, error) {
	if err := s.prepare(ctx, &p); err != nil {
		return nil, err
	}
	a, err := s.put(p).Do(ctx)
	if err == nil {
		err = a.failed()
	}
	if err != nil {
		return nil, err
	}
	if len(a.more) > 1 {
		s.seen.saw(p.part, number(a.more[1]))
	}
	words := a.more[2:]
	for _, w := range words {
		if err := (answer{word: w}).failed(); err != nil {
			return words, err
		}
	}
	return words, nil
}
