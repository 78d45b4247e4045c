package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/migrate/record"
)

// room represents a Spill in memory, counted apart.
type room struct {
	bytes.Buffer
	closed *int
}

func (r *room) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(r.Bytes()).ReadAt(b, at)
}

func (r *room) Close() error { *r.closed++; return nil }

// members returns an object of n members, the name of one of which is there again.
func members(n, twice int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `"m%d": {"a": %d}`, i, i)
	}
	if twice >= 0 {
		fmt.Fprintf(&b, ",\n  \"m%d\": 1", twice)
	}
	b.WriteString("}")
	return b.String()
}

// TestMembersOfLargeObjects: a member that is twice in an object is found however
// many there are, with a bounded table and room elsewhere; without room the answer
// is honest.
func TestMembersOfLargeObjects(t *testing.T) {
	t.Parallel()
	s := declared.Map(t, bot).Source("state")
	for _, n := range []int{5, 11, 12, 13, 100, 5000} {
		for _, twice := range []int{-1, 0, n / 2, n - 1} {
			closed, opened := 0, 0
			opt := record.Options{MaxNames: 64,
				Spill: func() (record.Spill, error) { opened++; return &room{closed: &closed}, nil }}
			_, err := s.Read(strings.NewReader(members(n, twice)), "state.json", opt, nothing)
			var fault *record.Error
			if twice < 0 && err != nil || twice >= 0 && (!errors.As(err, &fault) || !errors.Is(err, record.ErrDuplicate)) {
				t.Fatalf("%d members, %d twice: %v", n, twice, err)
			}
			if twice >= 0 && (fault.At.Line != n+1 || fault.At.Column != 3) {
				t.Errorf("%d members, %d twice: at %d:%d", n, twice, fault.At.Line, fault.At.Column)
			}
			if opened != closed || (opened > 0) != (n > 64) {
				t.Errorf("%d members: room was opened %d times and closed %d times", n, opened, closed)
			}
		}
	}
	if _, err := s.Read(strings.NewReader(members(100, -1)), "state.json", record.Options{MaxNames: 64},
		nothing); !errors.Is(err, record.ErrNames) {
		t.Error(err)
	}
	full := errors.New("the disk is full")
	if _, err := s.Read(strings.NewReader(members(100, -1)), "state.json",
		record.Options{MaxNames: 64, Spill: func() (record.Spill, error) { return nil, full }}, nothing); !errors.Is(err,
		full) {
		t.Error(err)
	}
}

// endless gives a document of so many records without ever holding it.
type endless struct {
	records, at int
	rest        []byte
}

func (e *endless) Read(b []byte) (int, error) {
	if len(e.rest) == 0 {
		switch {
		case e.at > e.records:
			return 0, io.EOF
		case e.at == e.records:
			e.rest = []byte("}}}}")
		default:
			comma := ","
			if e.at == 0 {
				comma = `{"guilds": {"456": {"feeds": {`
			}
			e.rest = fmt.Appendf(e.rest[:0],
				`%s"feed %d": {"url": "https://example.org/%d", "title": "a title of some length, as articles have it", "id": 9007199254740993, "tags": ["a", "b", "c"], "text": "%s"}`, comma, e.at, e.at, strings.Repeat("x", 60))
		}
		e.at++
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// tempSpill returns room in a file.
func tempSpill(t *testing.T) func() (record.Spill, error) {
	return func() (record.Spill, error) { return os.Create(filepath.Join(t.TempDir(), "names")) }
}

// TestStreamIsBounded: the memory that reading takes does not grow with the
// document. KEYWRIGHT_FIELDS is how many records it has (60000).
func TestStreamIsBounded(t *testing.T) {
	s := declared.Map(t, bot).Source("state")
	records := gate.Count(t, "KEYWRIGHT_FIELDS", 20_000, 60_000)
	var most uint64
	var n int
	opt := record.Options{MaxNames: 1 << 14, Spill: tempSpill(t)}
	stats, err := s.Read(&endless{records: records}, "state.json", opt, func(m *record.Match) error {
		if n++; n%(records/8) == 0 {
			runtime.GC()
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			most = max(most, mem.HeapAlloc)
		}
		_, err := m.Moves[0].Record(m)
		return err
	})
	if err != nil || n != records {
		t.Fatal(n, err)
	}
	t.Logf("%d MB, %d records, %d MB of heap at most", stats.Bytes>>20, n, most>>20)
	if most > 24<<20 {
		t.Errorf("%d MB of heap for a document of %d MB", most>>20, stats.Bytes>>20)
	}
}
