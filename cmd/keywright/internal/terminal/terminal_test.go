package terminal

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/keyspace/finding"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestColor(t *testing.T) {
	for _, c := range []struct {
		mode string
		env  []string
		want bool
	}{
		{"auto", nil, false}, // a buffer is no terminal
		{"always", nil, true},
		{"always", []string{"NO_COLOR", "1"}, true}, // who asks for it gets it
		{"never", []string{"CLICOLOR_FORCE", "1"}, false},
		{"auto", []string{"CLICOLOR_FORCE", "1"}, true},
		{"auto", []string{"CLICOLOR_FORCE", "0"}, false},
		{"auto", []string{"CLICOLOR_FORCE", "1", "NO_COLOR", "1"}, false},
	} {
		s := NewScreen(&bytes.Buffer{}, environment(c.env...))
		s.SetColor(c.mode, environment(c.env...))
		if s.Color != c.want {
			t.Errorf("--color %s with %v: %v", c.mode, c.env, s.Color)
		}
	}
}

// failing fails from the second write on.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	if f.n++; f.n > 1 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestScreenKeepsTheFirstError(t *testing.T) {
	f := &failing{}
	s := NewScreen(f, environment())
	for range 5 {
		_, _ = s.Write([]byte("x"))
	}
	if s.Err() == nil || f.n != 2 {
		t.Errorf("error %v after %d writes", s.Err(), f.n)
	}
}

func TestFigures(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(-1234567), "-1,234,567"}, {Count(-999), "-999"},
		{Bytes(0), "0 B"}, {Bytes(999), "999 B"}, {Bytes(1000), "1.0 KiB"}, {Bytes(1023900), "999.9 KiB"},
		{Bytes(1 << 20), "1.0 MiB"}, {Bytes(5 << 40), "5.0 TiB"}, {Bytes(1 << 62), "4194304.0 TiB"},
		{Duration(0), "0ms"}, {Duration(1500 * time.Microsecond), "1ms"}, {Duration(2900 * time.Millisecond), "2.9s"},
		{Duration(3 * time.Second), "3s"},
		{Duration(75 * time.Second), "1m15s"}, {Duration(59 * time.Minute), "59m"}, {Duration(26 * time.Hour), "1d2h"},
		{Duration(400 * 24 * time.Hour), "400d"}, {Duration(24*time.Hour - 1), "23h"},
		{Percent(0), "0.0%"}, {Percent(0.0001), "<0.1%"}, {Percent(1), "100.0%"}, {Percent(0.9996), ">99.9%"},
		{Percent(0.9994), "99.9%"}, {Percent(1.5), "150.0%"},
		{State{What: "keys", Done: 999, Total: 1000}.String(), "999 of 1,000 keys (99%), 999,000/s, 0ms left"},
		{Plural(1, "key"), "1 key"}, {Plural(0, "key"), "0 keys"}, {Plural(2000, "key"), "2,000 keys"},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"short", 5, "short"}, {"cache:product:detail", 11, "cache…etail"}, {"상품상세정보", 7, "상…정보"}, {"상품상세정보", 12, "상품상세정보"},
		{"", 3, ""}, {"abcdef", 1, "…"},
	} {
		got := Shorten(c.text, c.width)
		if finding.Width(got) > c.width {
			t.Errorf("%q is wider than %d", got, c.width)
		}
		if c.want != got && c.text != "상품상세정보" {
			t.Errorf("Shorten(%q, %d) = %q, not %q", c.text, c.width, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	if got := strings.Join(Wrap("KW504×1, KW505×22, KW506×3", 10), "|"); got != "KW504×1,|KW505×22,|KW506×3" {
		t.Error(got)
	}
	if got := Wrap("  ", 10); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if got := strings.Join(Wrap("a verylongwordindeed b", 5), "|"); got != "a|verylongwordindeed|b" {
		t.Error(got)
	}
}

var columns = []Column{{Title: "entry", Least: 8}, {Title: "keys", Right: true}, {Title: "share", Right: true, Drop: 1},
	{Title: "violations", Least: 10, Wrap: true, Style: Red}}

var rows = [][]string{{"상품_상세_정보_캐시", "1,000", "12.0%", "KW504×1, KW505×22"}, {"a", "1"}}

func TestTable(t *testing.T) {
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, `
entry                 keys  share  violations
────────────────────────────────────────────────────
상품_상세_정보_캐시  1,000  12.0%  KW504×1, KW505×22
a                        1
`},
		{40, `
entry         keys  share  violations
─────────────────────────────────────
상품_…_캐시  1,000  12.0%  KW504×1,
                           KW505×22
a                1
`},
		{33, `
entry         keys  violations
──────────────────────────────
상품_…_캐시  1,000  KW504×1,
                    KW505×22
a                1
`},
	} {
		var out bytes.Buffer
		s := NewScreen(&out, environment())
		s.Width = c.width
		if err := Table(s, columns, rows); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if c.width > 0 && finding.Width(line) > c.width {
				t.Errorf("%d columns: %q has %d", c.width, line, finding.Width(line))
			}
		}
		if out.String() != c.want[1:] {
			t.Errorf("%d columns:\n%s", c.width, out.String())
		}
	}
}

// TestTableIsHarmless: a cell cannot steer the terminal, and a locale does not
// move the columns.
func TestTableIsHarmless(t *testing.T) {
	t.Setenv("LC_ALL", "ko_KR.UTF-8")
	var out bytes.Buffer
	s := NewScreen(&out, environment())
	s.Color = true
	if err := Table(s, columns, [][]string{{"\x1b[2J\u202e\nx", "…"}}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "\x1b[2J") || strings.ContainsRune(text, '\u202e') ||
		strings.Count(text, "\n") != 3 {
		t.Errorf("%q", text)
	}
}

func TestNarrowTableKeepsTheRows(t *testing.T) {
	before := rows[0][2]
	var out bytes.Buffer
	s := NewScreen(&out, environment())
	s.Width = 10
	if err := Table(s, columns, rows); err != nil || rows[0][2] != before || len(columns) != 4 {
		t.Errorf("%v: the caller's table was changed: %v", err, rows)
	}
}

func TestProgress(t *testing.T) {
	start := time.Unix(1e9, 0)
	state := State{What: "keys", Done: 420_000, Total: 1_000_000, Elapsed: time.Second}
	var out bytes.Buffer
	s := NewScreen(&out, environment())

	plain := NewProgress("auto", s, start)
	plain.Show(state, start.Add(9*time.Second))
	if out.Len() > 0 {
		t.Errorf("a line before its time: %q", out.String())
	}
	plain.Show(state, start.Add(10*time.Second))
	plain.Show(state, start.Add(11*time.Second))
	plain.Clear()
	if want := "420,000 of 1,000,000 keys (42%), 420,000/s, 1.4s left\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}

	out.Reset()
	NewProgress("none", s, start).Show(state, start.Add(time.Hour))
	if out.Len() > 0 {
		t.Errorf("none shows %q", out.String())
	}

	s.Live, s.Width = true, 100
	bar := NewProgress("auto", s, start)
	bar.Show(state, start)
	if want := "\r\x1b[K━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄  420,000 of 1,000,000 keys (42%), " +
		"420,000/s, 1.4s left"; out.String() != want {
		t.Errorf("%q", out.String())
	}
	bar.Clear()
	out.Reset()
	bar.Clear()
	if out.Len() > 0 {
		t.Errorf("it is cleared twice: %q", out.String())
	}
}

func TestProgressFits(t *testing.T) {
	for _, state := range []State{
		{What: "keys"}, {What: "keys", Done: 5, Elapsed: time.Second},
		{What: "keys", Done: 2_000_000, Total: 1_000_000, Elapsed: time.Hour},
		{What: "keys", Done: 420_000, Total: 1_000_000, Elapsed: time.Second, Note: "waiting for the server to get quicker"},
	} {
		for width := 1; width < 130; width++ {
			if line := state.within(width); finding.Width(line) >= width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
	}
}
