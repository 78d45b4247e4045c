package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/migrate/record"
)

// documentOf returns a document of n records of about 220 bytes.
func documentOf(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"guilds": {"456": {"feeds": {`)
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b,
			`"feed %d": {"url": "https://example.org/feeds/%d", "title": "A title of some length, as articles have", "id": %d, "tags": ["news", "local"], "score": 0.5, "published_at": "2026-11-20T10:00:00Z", "seen": false}`, i, i, 9007199254740993+i)
	}
	b.WriteString(`}}}}`)
	return b.Bytes()
}

// BenchmarkRead: a document as records, beside the standard library's decoder that
// holds one value at a time, and beside one that only checks.
func BenchmarkRead(b *testing.B) {
	doc := documentOf(20000)
	s := declared.Map(b, bot).Source("state")
	b.Run("records", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			_, err := s.Read(bytes.NewReader(doc), "state.json", record.Options{}, func(m *record.Match) error {
				n++
				_, err := m.Moves[0].Record(m)
				return err
			})
			if err != nil || n != 20000 {
				b.Fatal(n, err)
			}
		}
	})
	b.Run("matches", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Read(bytes.NewReader(doc), "state.json", record.Options{}, nothing); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json-decoder", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		b.ReportAllocs()
		for b.Loop() {
			if n := decode(b, bytes.NewReader(doc)); n != 20000 {
				b.Fatal(n)
			}
		}
	})
	b.Run("encoding-json-valid", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			if !json.Valid(doc) {
				b.Fatal("no JSON")
			}
		}
	})
	b.Run("rewrite", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Rewrite(io.Discard, bytes.NewReader(doc), "state.json", nil, nil, record.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// decode returns what a loader by hand does: it goes down to the object of records by
// tokens, and decodes each of them.
func decode(b *testing.B, in io.Reader) (n int) {
	d := json.NewDecoder(in)
	token := func() json.Token {
		t, err := d.Token()
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	for range 7 { // { guilds { 456 { feeds {
		token()
	}
	for d.More() {
		name, _ := token().(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			b.Fatal(err)
		}
		if name != "" && len(value) > 0 {
			n++
		}
	}
	return n
}

// BenchmarkCompare: two spellings of one record, and its digest.
func BenchmarkCompare(b *testing.B) {
	s := declared.Map(b, bot)
	mv := s.Move("settings.feeds")
	x := &record.Record{Move: mv, Key: "f:456", Sub: "a",
		Value: []byte(`{"url":"https://example.org","id":9007199254740993,"tags":["a","b"],"score":0.5}`)}
	y := &record.Record{Move: mv, Key: "f:456", Sub: "a",
		Value: []byte(`{"score": 5e-1, "id": 9007199254740993.0, "tags": ["a", "b"], "url": "https:\/\/example.org"}`)}
	b.Run("spellings", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if d := mv.Compare(x, y, today, 0); len(d) > 0 {
				b.Fatal(d)
			}
		}
	})
	b.Run("same", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if d := mv.Compare(x, x, today, 0); len(d) > 0 {
				b.Fatal(d)
			}
		}
	})
	b.Run("digest", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = x.Digest()
		}
	})
}
