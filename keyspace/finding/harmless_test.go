package finding

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// commanding are texts that a terminal, a CI system or a spreadsheet would obey.
var commanding = []string{
	"::add-mask::x", "  ::error::x", "\t::stop-commands::x", "##[error]x", "a ##vso[task.setvariable]x", "##teamcity[x]",
	"###[error]x", "####vso[x]", "a\n::error::b",
	"\x1b]0;title\x07", "\x1b[2J", "\u009b31m", "\u202eabc", "a\rb", "\x7f", "\xff", "=1+1", "\uff1d1+1", "+1", "-1",
	"@SUM(A1)", "\uff201", "\tx", "\rx", " =1",
}

// obeyed says what of a text would be taken for a command; ends are lines.
func obeyed(text string) error {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			return fmt.Errorf("a command at the beginning of %q", line)
		}
		if inlineCommand.MatchString(line) {
			return fmt.Errorf("a command in %q", line)
		}
	}
	for _, r := range text {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' ||
			r == unicode.ReplacementChar && !strings.Contains(text, "\ufffd") {
			return fmt.Errorf("%U in %q", r, text)
		}
	}
	return nil
}

func TestNothingThatIsQuotedCommands(t *testing.T) {
	for _, c := range commanding {
		f := Finding{Code: "KW501", Severity: Error, Pos: Position{File: c + ".yaml", Line: 1, Column: 1}, Entry: c,
			Message: c, Fix: c,
			Count: 2, Examples: []Example{{Key: []byte(c)}}, Related: []Related{{Position{File: c, Line: 1, Column: 2}, c}}}
		o := Options{Source: func(string) []byte { return []byte(c) }}
		for name, print := range map[string]func(*bytes.Buffer) error{
			"text":  func(b *bytes.Buffer) error { return Text(b, []Finding{f}, o) },
			"json":  func(b *bytes.Buffer) error { return jsonOf(b, []Finding{f}, o) },
			"sarif": func(b *bytes.Buffer) error { return SARIF(b, []Finding{f}, o) },
			"junit": func(b *bytes.Buffer) error { return JUnit(b, []Finding{f}, o) },
		} {
			var out bytes.Buffer
			if err := print(&out); err != nil {
				t.Fatal(err)
			}
			if err := obeyed(out.String()); err != nil {
				t.Errorf("%s of %q: %v", name, c, err)
			}
			if name == "junit" {
				if err := xml.Unmarshal(out.Bytes(), &struct{}{}); err != nil {
					t.Errorf("junit of %q is no XML: %v", c, err)
				}
				continue
			}
			if name != "text" && !json.Valid(out.Bytes()) {
				t.Errorf("%s of %q is no JSON: %s", name, c, out.String())
			}
		}
		var out bytes.Buffer
		if err := GitHub(&out, []Finding{f}, o); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.Count(got, "\n") != 1 || strings.HasPrefix(got, "::error ") == false ||
			obeyed(got[2:]) != nil {
			t.Errorf("github of %q: %q, %v", c, got, obeyed(got[2:]))
		}
		if got := Cell(c); obeyed("a,"+got) != nil || strings.ContainsAny(got[:1], "=+-@\t\r ") ||
			strings.HasPrefix(got, "\uff1d") || strings.HasPrefix(got, "\uff20") {
			t.Errorf("a cell of %q: %q", c, got)
		}
		if got := Key([]byte(c)); obeyed(got) != nil {
			t.Errorf("a key %q: %q", c, got)
		} else if back, err := strconv.Unquote(got); got != c && (err != nil || back != c) {
			t.Errorf("a key %q is shown as %q, which is read as %q, %v", c, got, back, err)
		}
	}
}

// What GitHub reads between "::" and "::" is divided by commas, colons and ends of
// lines: a file name has them as text.
func TestPropertiesOfAnnotationsAreEscaped(t *testing.T) {
	var out bytes.Buffer
	f := Finding{Code: "KW501", Severity: Warning, Pos: Position{File: "a,b:c\rd\ne%f", Line: 3, Column: 4},
		Message: "100%\nof it"}
	if err := GitHub(&out, []Finding{f}, Options{}); err != nil {
		t.Fatal(err)
	}
	want := "::warning file=a%2Cb%3Ac%0Dd%0Ae%25f,line=3,col=4,title=KW501::100%25%0Aof it\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestHarmlessLeavesTextAndColours(t *testing.T) {
	for in, want := range map[string]string{
		"a :: b\n\tc":      "a :: b\n\tc",
		"\x1b[31mred\x1b[": "\x1b[31mred\ufffd[",
		"## heading":       "## heading",
		"x::y":             "x::y",
	} {
		if got := string(Harmless([]byte(in), true, false)); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := string(Harmless([]byte("::a\n::b"), false, true)); got != "::a\n\\::b" {
		t.Errorf("in a line: %q", got)
	}
}

// many returns n findings of one code in one file.
func many(n int, code string, severity Severity) (out []Finding) {
	for i := range n {
		out = append(out, Finding{Code: code, Severity: severity,
			Pos: Position{File: "k.yaml", Line: 1, Column: 5 * i, EndColumn: 5*i + 3}, Message: fmt.Sprint("fault ", i)})
	}
	return out
}

// Twenty thousand faults on one line are shown in part, and
// counted whole.
func TestFindingsAreFolded(t *testing.T) {
	all := append(many(20_000, "KW007", Error), many(3, "KW101", Warning)...)
	line := bytes.Repeat([]byte("a: 1,"), 20_000)
	asked := 0
	o := Options{Source: func(string) []byte { asked++; return line }}
	for name, print := range map[string]func(*bytes.Buffer) error{
		"text":   func(b *bytes.Buffer) error { return Text(b, all, o) },
		"json":   func(b *bytes.Buffer) error { return jsonOf(b, all, o) },
		"sarif":  func(b *bytes.Buffer) error { return SARIF(b, all, o) },
		"github": func(b *bytes.Buffer) error { return GitHub(b, all, o) },
		"junit":  func(b *bytes.Buffer) error { return JUnit(b, all, o) },
	} {
		var out bytes.Buffer
		if err := print(&out); err != nil {
			t.Fatal(err)
		}
		if out.Len() > 1<<18 {
			t.Errorf("%s: %d bytes", name, out.Len())
		}
		for _, want := range []string{"fault 99", "KW101"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
		if strings.Contains(out.String(), "fault 100") ||
			name != "json" && !strings.Contains(out.String(), "and 19,900 more KW007 in k.yaml") {
			t.Errorf("%s: %s", name, out.String()[out.Len()-300:])
		}
	}
	if asked > 1 {
		t.Errorf("the file was read %d times", asked)
	}
	var out bytes.Buffer
	var document struct {
		Summary Counts
		More    []More
	}
	if err := jsonOf(&out, all, o); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if document.Summary != (Counts{Errors: 20_000, Warnings: 3}) || len(document.More) != 1 ||
		document.More[0] != (More{"KW007", "error", "k.yaml", 19_900}) {
		t.Errorf("%+v", document)
	}
}

// The part of a long line that is quoted has the fault in it, with its caret.
func TestExcerptsAreCut(t *testing.T) {
	line := strings.Repeat("x", 5000) + "상품" + strings.Repeat("y", 5000)
	var out bytes.Buffer
	f := Finding{Code: "KW101", Pos: Position{File: "k", Line: 1, Column: 5001, EndColumn: 5003},
		Message: strings.Repeat("long ", 10_000)}
	if err := Text(&out, []Finding{f}, Options{Source: func(string) []byte { return []byte(line) }}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if out.Len() > 3000 || !strings.Contains(lines[1], "…x") || !strings.Contains(lines[1], "상품y") {
		t.Fatalf("%d bytes: %q", out.Len(), out.String())
	}
	if at := strings.Index(lines[1], "상품"); Width(lines[1][:at]) != strings.Index(lines[2], "^") ||
		strings.Count(lines[2], "^") != 4 {
		t.Errorf("%q\n%q", lines[1], lines[2])
	}
}

// Tens of thousands of ignore comments are not held against tens of thousands of
// findings: what is too much is reported.
func TestIgnoreCommentsAreBounded(t *testing.T) {
	text := []byte(strings.Repeat("# keywright:ignore KW101 because\na: b\n", 3*maxIgnores))
	found, faults := readIgnores("k.yaml", text, []Rule{{Code: "KW101"}})
	if len(found) != maxIgnores || len(faults) != 1 || faults[0].Pos.Line != 2*maxIgnores+1 {
		t.Errorf("%d comments, %+v", len(found), faults)
	}
}
