package entity

import (
	"context"

	_ "embed"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// agreed returns what writes say of the marks: the token that was agreed to, and the lines
// if all is complete.
func (s *core) agreed() string {
	if token, ok := s.token.Load().(string); ok {
		return token + s.lines
	}
	return strings.Repeat(" ", tokenSize) + s.lines
}

// agree agrees to what the ledger says of indexes, and says there first what a write
// of this program does to them. 1 round trip, none where nothing has to be said.
func (s *core) agree(ctx context.Context, said string) error {
	for {
		m := readMarks(said)
		if m.newer {
			return s.newer("")
		}
		if m.token != "" && !m.agreeable(s.tags) {
			s.token.Store(m.token)
			return nil
		}
		if m.token == "" {
			m.agreeable(s.tags)
		}
		next, ok, err := s.changeMarks(ctx, said, &m)
		switch {
		case err != nil:
			return err
		case ok:
			s.token.Store(next[:tokenSize])
			return nil
		case next == said:
			return nil // there is no ledger by now: the write begins it
		}
		said = next
	}
}

// changeMarks says something else of the indexes, if the ledger says still what the
// caller has read; else it gives what it says. 1 round trip.
func (s *core) changeMarks(ctx context.Context, said string, m *marks) (says string, ok bool, err error) {
	next := m.text()
	reply, err := s.run(ctx, "note indexes", s.scripts.mark, keywright.Idempotent, []string{s.spec.Ledger}, said, next)
	switch {
	case err != nil:
		return "", false, err
	case reply[0] == "ok":
		return next, true, nil
	}
	return reply[1], reply[1] == next, nil // it was sent twice
}

// saidOfIndexes reads what the ledger says of indexes: "-" for nothing, "" where there is
// no item.
func (s *core) saidOfIndexes() keywright.Op[string] {
	return kernel.NewOp(kernel.Spec[string]{Action: s.action("list", keywright.Reads, s.spec.Ledger, nil),
		Script: s.scripts.said, Keys: []string{s.spec.Ledger}, Decode: optionalText})
}

// marksText reads what the ledger says of indexes, "" for nothing. 1 round trip.
func (s *core) marksText(ctx context.Context) (string, error) {
	return ask(ctx, s, s.spec.Ledger, []string{"HGET", ""}, optionalText)
}
