package itemkeys

import (
	"context"
	_ "embed"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/kernel"
)

// AgreedText returns what writes say of the marks: the token that was agreed to, and the lines
// if all is complete.
func (s *Keys) AgreedText() string {
	text, _ := s.agreed.Load().(string)
	return text
}

// AgreedTo notes which token was agreed to.
func (s *Keys) AgreedTo(token string) { s.agreed.Store(token + s.lines) }

// Agree agrees to the marks of the indexes, and first changes those that a write of this
// program makes wrong. 1 round trip, none where no mark changes.
func (s *Keys) Agree(ctx context.Context, said string) error {
	for {
		m := indexrecord.ReadMarks(said)
		if m.Newer {
			return s.NewerForm("")
		}
		if m.Token != "" && !m.Agreeable(s.Tags) {
			s.AgreedTo(m.Token)
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
			s.AgreedTo(next[:indexrecord.TokenSize])
			return nil
		case next == said:
			return nil // there is no index record by now: the write makes the first one
		}
		said = next
	}
}

// ChangeMarks changes the marks of the indexes, if they are still what the caller has
// read; else it gives the present ones. 1 round trip.
func (s *Keys) ChangeMarks(ctx context.Context, said string, m *indexrecord.Marks) (says string, ok bool, err error) {
	next := m.Text()
	reply, err := s.Run(ctx, "note indexes", s.Scripts.Mark, keywright.Idempotent, []string{s.Spec.Records}, said, next)
	switch {
	case err != nil:
		return "", false, err
	case reply[0] == "ok":
		return next, true, nil
	}
	return reply[1], reply[1] == next, nil // it was sent twice
}

// SaidOfIndexes reads the marks of the indexes: "-" for none, "" where there is no item.
func (s *Keys) SaidOfIndexes() keywright.Op[string] {
	return kernel.NewOp(kernel.Spec[string]{Action: s.Action("list", keywright.Reads, s.Spec.Records, nil),
		Script: s.Scripts.Marks, Keys: []string{s.Spec.Records}, Decode: OptionalText})
}

// MarksText reads the marks of the indexes, "" for none. 1 round trip.
func (s *Keys) MarksText(ctx context.Context) (string, error) {
	return Ask(ctx, s, s.Spec.Records, []string{"HGET", ""}, OptionalText)
}
