package itemkeys

import (
	"context"
	_ "embed"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/ledger"
	"github.com/keywright/keywright/kernel"
)

// AgreedText returns what writes say of the marks: the token that was agreed to, and the lines
// if all is complete.
func (s *Keys) AgreedText() string {
	if token, ok := s.Token.Load().(string); ok {
		return token + s.lines
	}
	return strings.Repeat(" ", ledger.TokenSize) + s.lines
}

// Agree agrees to what the ledger says of indexes, and says there first what a write
// of this program does to them. 1 round trip, none where nothing has to be said.
func (s *Keys) Agree(ctx context.Context, said string) error {
	for {
		m := ledger.ReadMarks(said)
		if m.Newer {
			return s.NewerForm("")
		}
		if m.Token != "" && !m.Agreeable(s.Tags) {
			s.Token.Store(m.Token)
			return nil
		}
		if m.Token == "" {
			m.Agreeable(s.Tags)
		}
		next, ok, err := s.ChangeMarks(ctx, said, &m)
		switch {
		case err != nil:
			return err
		case ok:
			s.Token.Store(next[:ledger.TokenSize])
			return nil
		case next == said:
			return nil // there is no ledger by now: the write begins it
		}
		said = next
	}
}

// ChangeMarks says something else of the indexes, if the ledger says still what the
// caller has read; else it gives what it says. 1 round trip.
func (s *Keys) ChangeMarks(ctx context.Context, said string, m *ledger.Marks) (says string, ok bool, err error) {
	next := m.Text()
	reply, err := s.Run(ctx, "note indexes", s.Scripts.Mark, keywright.Idempotent, []string{s.Spec.Ledger}, said, next)
	switch {
	case err != nil:
		return "", false, err
	case reply[0] == "ok":
		return next, true, nil
	}
	return reply[1], reply[1] == next, nil // it was sent twice
}

// SaidOfIndexes reads what the ledger says of indexes: "-" for nothing, "" where there is
// no item.
func (s *Keys) SaidOfIndexes() keywright.Op[string] {
	return kernel.NewOp(kernel.Spec[string]{Action: s.Action("list", keywright.Reads, s.Spec.Ledger, nil),
		Script: s.Scripts.Marks, Keys: []string{s.Spec.Ledger}, Decode: OptionalText})
}

// MarksText reads what the ledger says of indexes, "" for nothing. 1 round trip.
func (s *Keys) MarksText(ctx context.Context) (string, error) {
	return Ask(ctx, s, s.Spec.Ledger, []string{"HGET", ""}, OptionalText)
}
