package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"testing/iotest"

	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/migrate/record"
)

// stricter lists the faults that encoding/json does not see.
var stricter = []error{record.ErrDuplicate, record.ErrUTF8, record.ErrNumber, record.ErrDepth, record.ErrTooLarge}

// FuzzRead: what is read is JSON, what is not read is none or has a fault that is
// named; a copy without edits has the same bytes.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{state, state1, `[]`, `{"a":{"a":1,"a":2}}`, `"\ud800"`, `1e999`, `[1,]`,
		"{\"guilds\":{\"None\":{\"persona\":\"x\"}}}", "\xef\xbb\xbf{}",
		`{"history":{"1":{"2":{"stories":[{"hash":"a","at":"2026-01-01"}]}}}}`} {
		f.Add([]byte(seed))
	}
	s := declared.Map(f, bot).Source("state")
	opt := record.Options{MaxDepth: 200, MaxRecord: 1 << 16, MaxNames: 64,
		Spill: func() (record.Spill, error) { return &room{closed: new(int)}, nil }}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if len(doc) > 1<<16 {
			return
		}
		var edits []record.Edit
		_, err := s.Read(bytes.NewReader(doc), "state.json", opt, func(m *record.Match) error {
			if !json.Valid(m.Raw) {
				t.Fatalf("%q is no JSON", m.Raw)
			}
			for _, mv := range m.Moves {
				if r, err := mv.Record(m); err == nil {
					_ = r.Digest()
					edits = append(edits, record.Edit{Record: r})
				}
			}
			return nil
		})
		var fault *record.Error
		if err != nil && (!errors.As(err, &fault) || fault.At.Line < 1 || fault.At.Column < 1) {
			t.Fatalf("%v has no place", err)
		}
		if valid := json.Valid(doc); (err == nil) != valid && (err == nil || !named(err)) {
			t.Fatalf("%q: %v, and encoding/json says %v", doc, err, valid)
		}
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _, err := s.Rewrite(&out, iotest.OneByteReader(bytes.NewReader(doc)), "state.json", edits, nil, opt); err == nil &&
			out.String() != string(doc) && unique(edits) {
			t.Fatalf("%q became %q", doc, out.String())
		}
	})
}

func named(err error) bool {
	for _, is := range stricter {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// unique reports whether each record is there once: two of one ID differ from one
// another.
func unique(edits []record.Edit) bool {
	seen := map[record.ID]bool{}
	for _, e := range edits {
		if seen[e.Record.ID()] {
			return false
		}
		seen[e.Record.ID()] = true
	}
	return true
}

// FuzzLines is FuzzRead for JSON Lines.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"{}\n{}", "1\n\n2\n", "[1,\n2]", "{} {}",
		"{\"guild\":\"123\",\"at\":1,\"what\":\"\"}\n"} {
		f.Add([]byte(seed))
	}
	s := declared.Map(f, bot).Source("log")
	f.Fuzz(func(t *testing.T, doc []byte) {
		if len(doc) > 1<<16 {
			return
		}
		_, err := s.Read(bytes.NewReader(doc), "log.jsonl", record.Options{MaxDepth: 200}, nothing)
		valid := true
		for _, line := range bytes.Split(doc, []byte("\n")) {
			valid = valid && (len(bytes.Trim(line, " \t\r")) == 0 || json.Valid(line))
		}
		if (err == nil) != valid && (err == nil || !named(err)) {
			t.Fatalf("%q: %v, and encoding/json says %v", doc, err, valid)
		}
		var out bytes.Buffer
		if err == nil {
			if _, err := s.Rewrite(&out, bytes.NewReader(doc), "log.jsonl", nil, nil, record.Options{}); err != nil ||
				out.String() != string(doc) {
				t.Fatalf("%q became %q, %v", doc, out.String(), err)
			}
		}
	})
}
