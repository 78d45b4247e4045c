package record_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/migrate/record"
)

// nothing returns what a test does that only reads.
func nothing(*record.Match) error { return nil }

// TestDamagedDocuments: each fault is refused with line and column, whatever the
// size of the reads.
func TestDamagedDocuments(t *testing.T) {
	t.Parallel()
	s := declared.Map(t, bot).Source("state")
	for _, c := range []struct {
		doc, at string
		is      error
	}{
		{"", "1:1: the document ends where a value should be", record.ErrSyntax},
		{"{", "1:2: the document ends where", record.ErrSyntax},
		{"{\"a\": 1,\n \"b\": 2,}", "2:9: a comma after the last value", record.ErrSyntax},
		{"[1 2]", "1:4: '2' where a comma or ']' should be", record.ErrSyntax},
		{"{\"a\" 1}", "1:6: '1' where a colon should be", record.ErrSyntax},
		{"{a: 1}", "1:2: 'a' where the name of a member", record.ErrSyntax},
		{"{} {}", "1:4: '{' where the end of the document", record.ErrSyntax},
		{"[\"é\", \"x\ny\"]", "1:9: the control character", record.ErrSyntax},
		{"[\"\\x\"]", "1:3: an escape that JSON has not", record.ErrSyntax},
		{"[\"\\ud800\"]", "1:3: half of a pair", record.ErrUTF8},
		{"[\"\\ud800\\u0041\"]", "1:3: half of a pair", record.ErrUTF8},
		{"[\"a\xffb\"]", "1:4: a byte that is no UTF-8 (0xff)", record.ErrUTF8},
		{"[\"a\xc3\"]", "1:4: a byte that is no UTF-8 (0xc3)", record.ErrUTF8},
		{"[\"é\xed\xa0\x80\"]", "1:4: a byte that is no UTF-8", record.ErrUTF8},
		{"\ufeff{}", "1:1: a byte order mark", record.ErrSyntax},
		{"[1e400]", "1:2: a number beyond 1.8e308", record.ErrNumber},
		{"[-1e400]", "1:2: a number beyond", record.ErrNumber},
		{"[1e-400]", "1:2: a number so near to 0", record.ErrNumber},
		{"[" + strings.Repeat("9", 400) + "]", "1:2: a number beyond", record.ErrNumber},
		{"[" + strings.Repeat("1", 5000) + "]", "1:2: a number of more than", record.ErrNumber},
		{"[01]", "1:2: a number that is not written", record.ErrSyntax},
		{"[1.]", "1:2: a number that is not written", record.ErrSyntax},
		{"[-]", "1:2: a number that is not written", record.ErrSyntax},
		{"[+1]", "1:2: '+' where a value", record.ErrSyntax},
		{"[NaN]", "1:2: 'N' where a value", record.ErrSyntax},
		{"[nul]", "1:2: a word that JSON has not", record.ErrSyntax},
		{"[truex]", "1:2: a word that JSON has not", record.ErrSyntax},
		{"{\"a\": 1,\n  \"b\": 2, \"\\u0061\": 3}", "2:11: a member of this name", record.ErrDuplicate},
		{strings.Repeat("[", 600) + strings.Repeat("]", 600), "1:513: nested deeper than 512", record.ErrDepth},
		{strings.Repeat("{\"a\":", 600), "1:2561: nested deeper", record.ErrDepth},
		{"{\"" + strings.Repeat("n", 70<<10) + "\": 1}", "1:2: the name of a member has more than", record.ErrTooLarge},
		{"{\"guilds\": {\"g\": {\"persona\": \"" + strings.Repeat("x", 9<<20) + "\"}}}",
			"a record has more than 8388608 bytes", record.ErrTooLarge},
	} {
		for name, in := range map[string]io.Reader{"whole": strings.NewReader(c.doc),
			"bytes": iotest.OneByteReader(strings.NewReader(c.doc))} {
			if len(c.doc) > 100000 && name == "bytes" {
				continue
			}
			_, err := s.Read(in, "state.json", record.Options{}, nothing)
			var fault *record.Error
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.at) || !errors.Is(err, c.is) {
				t.Errorf("%s %.40q: %v, want %s (%v)", name, c.doc, err, c.at, c.is)
			}
		}
	}
}

// TestExactNumbers: what is no fault is kept to the last digit.
func TestExactNumbers(t *testing.T) {
	t.Parallel()
	s := declared.Map(t, bot).Source("state")
	doc := `{"guilds": {"456": {"feeds": {"f": [9007199254740993, 1e308, 123456789012345678901234567890, 0.1000, -0, 1.7976931348623157e308]}}}}`
	got, err := read(t, s, "state.json", doc, record.Options{})
	if want := `settings.feeds f:456 f = [9007199254740993,1e308,123456789012345678901234567890,0.1000,-0,1.7976931348623157e308]`; err != nil || len(got) != 1 || got[0] != want {
		t.Error(got, err)
	}
}

// TestLines: each line is a document, a torn last line is found.
func TestLines(t *testing.T) {
	t.Parallel()
	s := declared.Map(t, bot).Source("log")
	for _, c := range []struct {
		doc, want string
		matches   int64
	}{
		{"", "", 0}, {"\n\n", "", 0}, {"{}\n[]\n1", "", 3}, {"{}\r\n{}\r\n", "", 2},
		{"{} {}", "1:4: '{' where the end of the line", 1},
		{"{}\n{\"a\":\n1}", "2:6: the line ends inside of a value", 1},
		{"{}\n{\"guild\": \"1", "2:13: the document ends", 1},
	} {
		stats, err := s.Read(strings.NewReader(c.doc), "log.jsonl", record.Options{}, nothing)
		if stats.Matches != c.matches || (err == nil) != (c.want == "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %+v %v", c.doc, stats, err)
		}
	}
}

func TestReaderErrorsAreKept(t *testing.T) {
	t.Parallel()
	s := declared.Map(t, bot).Source("state")
	_, err := s.Read(iotest.TimeoutReader(strings.NewReader(strings.Repeat(" ", 200000))), "state.json", record.Options{},
		nothing)
	if !errors.Is(err, iotest.ErrTimeout) {
		t.Error(err)
	}
	_, err = s.Read(strings.NewReader("{}"), "other.json", record.Options{}, nothing)
	if err == nil || !strings.Contains(err.Error(), "no file of the source state") {
		t.Error(err)
	}
	stop := errors.New("stop")
	_, err = s.Read(strings.NewReader(state), "state.json", record.Options{}, func(*record.Match) error { return stop })
	if err != stop {
		t.Error(err)
	}
}
