package finding

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonFinding represents a finding as JSON; its names are stable.
type jsonFinding struct {
	Code        string        `json:"code"` // of the rule: `keywright explain CODE` says more
	Severity    string        `json:"severity" enum:"error,warning,note"`
	Message     string        `json:"message"`                       // one sentence, what and why
	Fix         string        `json:"fix"`                           // what to do about it
	Order       string        `json:"order_of_deployment,omitempty"` // the order that is safe, or that there is none
	Entry       string        `json:"entry,omitempty"`               // the declared entry
	File        string        `json:"file,omitempty"`
	Line        int           `json:"line,omitempty"`       // counts from 1
	Column      int           `json:"column,omitempty"`     // counts characters from 1
	EndColumn   int           `json:"end_column,omitempty"` // exclusive
	Related     []jsonRelated `json:"related,omitempty"`    // other places that explain it
	Count       int64         `json:"count,omitempty"`      // how many live keys
	Examples    []jsonExample `json:"examples,omitempty"`   // a few of those keys
	Fingerprint string        `json:"fingerprint"`          // stays the same when lines move
}

type jsonExample struct {
	DB  int     `json:"db"`
	Key JSONKey `json:"key"`
}

type jsonRelated struct {
	Message string `json:"message"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
}

// JSONKey represents a key, or another name of any bytes, in JSON output. It is always an
// object, so that a reader meets one form.
type JSONKey []byte

// jsonKey represents a key as JSON; its names are stable.
type jsonKey struct {
	Text   string `json:"text"`             // the key itself, or where base64 is there, the key with escapes, for people
	Base64 []byte `json:"base64,omitempty"` // the bytes of a key that is not UTF-8
	Length int    `json:"length,omitempty"` // bytes of a very long key, of which this is the beginning
}

// MarshalJSON implements json.Marshaler.
func (k JSONKey) MarshalJSON() ([]byte, error) {
	begin, length := uncut(k)
	if utf8.Valid(begin) {
		return json.Marshal(jsonKey{Text: string(begin), Length: length})
	}
	return json.Marshal(jsonKey{Text: quote(begin), Base64: begin, Length: length})
}

// UnmarshalJSON implements json.Unmarshaler.
func (k *JSONKey) UnmarshalJSON(text []byte) error {
	var j jsonKey
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	if *k = JSONKey(j.Text); j.Base64 != nil {
		*k = j.Base64
	}
	if j.Length > 0 {
		*k = fmt.Appendf(*k, "%s%d%s", cutMark, j.Length, cutEnd)
	}
	return nil
}

// JSONShape returns the struct whose fields the JSON form has, for a schema.
func (JSONKey) JSONShape() any { return jsonKey{} }

// MarshalJSON implements json.Marshaler with the stable names of the JSON
// output.
func (f Finding) MarshalJSON() ([]byte, error) {
	j := jsonFinding{
		Code: f.Code, Severity: f.Severity.String(), Message: f.Message, Fix: f.Fix, Order: f.Order, Entry: f.Entry,
		File: f.Pos.File, Line: f.Pos.Line, Column: f.Pos.Column, EndColumn: f.Pos.EndColumn, Count: f.Count,
		Fingerprint: Fingerprint(f),
	}
	for _, r := range f.Related {
		j.Related = append(j.Related, jsonRelated{r.Message, r.Pos.File, r.Pos.Line, r.Pos.Column})
	}
	for _, e := range f.Examples {
		j.Examples = append(j.Examples, jsonExample{e.DB, e.Key})
	}
	return json.Marshal(j)
}

// JSONShape returns the struct whose fields the JSON form has, for a schema.
func (Finding) JSONShape() any { return jsonFinding{} }

// WithFixes returns findings that all say what to do: what has no fix of its own gets
// that of its rule.
func WithFixes(findings []Finding, rules []Rule) []Finding {
	out := slices.Clone(findings)
	for i := range out {
		out[i].Fix = fixOf(out[i], rules)
	}
	return out
}

// Document is findings as JSON; its names are stable.
type Document struct {
	Findings []Finding `json:"findings"`
	More     []More    `json:"more,omitempty"` // how many of which rule are not in findings
	Summary  Counts    `json:"summary"`        // of all, what is not in findings included
	Baseline *Balance  `json:"baseline,omitempty"`
}

// Balance describes what a baseline lets be, and what it does not; its names are stable.
type Balance struct {
	Accepted   int   `json:"accepted"`                // findings
	Violations int64 `json:"violations"`              // keys of each of them, in sum: a key may have several
	Gone       int   `json:"gone"`                    // accepted findings that are not there any more
	NotLooked  int   `json:"not_looked_at,omitempty"` // accepted findings that this run did not look for: they stay
	// of the findings of the report, those that were accepted for fewer keys
	Grown []Growth `json:"grown,omitempty"`
}

// Balance sums up what the baseline did.
func (s Settled) Balance() *Balance {
	return &Balance{Accepted: len(s.Known), Violations: s.Violations(), Gone: len(s.Gone), NotLooked: len(s.Unseen),
		Grown: s.Grown}
}

// NewDocument folds findings into a document.
func NewDocument(findings []Finding, rules []Rule) *Document {
	d := &Document{Findings: []Finding{}, Summary: Count(findings)}
	shown, more := fold(WithFixes(findings, rules))
	d.Findings, d.More = append(d.Findings, shown...), more
	return d
}

// folded returns findings as a form prints them that has findings only.
func folded(findings []Finding) []Finding {
	shown, more := fold(findings)
	for _, m := range more {
		shown = append(shown, m.finding())
	}
	return shown
}

// GitHub prints workflow commands, which GitHub shows beside the lines they
// name (https://docs.github.com/actions/reference/workflow-commands-for-github-actions).
func GitHub(w io.Writer, findings []Finding, o Options) error {
	if o.Failed != "" {
		if _, err := fmt.Fprintf(w, "::error title=incomplete::%s\n", escapeData(harmless(o.Failed))); err != nil {
			return err
		}
	}
	level := map[Severity]string{Note: "notice", Warning: "warning", Error: "error"}
	for _, f := range folded(o.masked(findings)) {
		var props []string
		add := func(name string, value any) { props = append(props, name+"="+escapeProperty(fmt.Sprint(value))) }
		if f.Pos.File != "" {
			add("file", f.Pos.File)
		}
		if f.Pos.Line > 0 {
			add("line", f.Pos.Line)
			add("col", max(1, f.Pos.Column))
		}
		if f.Pos.EndColumn > 0 {
			add("endColumn", f.Pos.EndColumn)
		}
		add("title", f.Code)
		text := Harmless([]byte(clip(fullText(f, o.Rules))), false, true)
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", level[f.Severity], strings.Join(props, ","),
			escapeData(string(text))); err != nil {
			return err
		}
	}
	return nil
}

var data = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

var properties = strings.NewReplacer(":", "%3A", ",", "%2C")

func escapeData(s string) string { return data.Replace(s) }

func escapeProperty(s string) string {
	return string(Harmless([]byte(properties.Replace(data.Replace(s))), false, true))
}

// WriteJSON prints a document as JSON, indented or in a line. Control characters
// that JSON may hold as they are, and marks that turn the direction of writing, are
// escaped: what is written to a terminal commands nothing.
func WriteJSON(w io.Writer, document any, indent string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", indent)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		return err
	}
	_, err := w.Write(EscapeJSON(text.Bytes()))
	return err
}

func encode(w io.Writer, document any) error { return WriteJSON(w, document, "  ") }

// formulas say what spreadsheets take a cell for a formula by, also in the width of
// East Asian text, and what they skip before it.
const formulas = "=+-@\t\r\n ＝＋－＠"

// Cell returns a text as a cell of a CSV file: nothing that a spreadsheet runs, and
// nothing that steers a terminal. A formula gets an apostrophe in front.
func Cell(text string) string {
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune(formulas, first) {
		text = "'" + text
	}
	return string(Harmless([]byte(Printable(text)), false, true))
}

// EscapeJSON writes what steers a terminal, in a document that is JSON already, as
// \u escapes: DEL, C1 control characters, direction marks and what else is not
// printable; and what CI systems take for commands.
func EscapeJSON(text []byte) []byte {
	for bytes.Contains(text, []byte("##")) { // ##[error] is a command in the log of a CI system, and only a string has it
		text = bytes.ReplaceAll(text, []byte("##"), []byte(`\u0023#`))
	}
	if !slices.ContainsFunc(text, func(c byte) bool { return c >= 0x7f }) {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r < ' ' || unicode.IsPrint(r) || r == utf8.RuneError && n == 1 {
			out = append(out, text[:n]...)
		} else if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}
