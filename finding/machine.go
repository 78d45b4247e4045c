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

// jsonFinding is a finding as JSON; its names are stable.
type jsonFinding struct {
	Code        string        `json:"code"`
	Severity    string        `json:"severity"`
	Message     string        `json:"message"`
	Fix         string        `json:"fix,omitempty"`
	Order       string        `json:"order_of_deployment,omitempty"`
	Entry       string        `json:"entry,omitempty"`
	File        string        `json:"file,omitempty"`
	Line        int           `json:"line,omitempty"`
	Column      int           `json:"column,omitempty"`
	EndColumn   int           `json:"end_column,omitempty"`
	Related     []jsonRelated `json:"related,omitempty"`
	Count       int64         `json:"count,omitempty"`
	Examples    []jsonExample `json:"examples,omitempty"`
	Fingerprint string        `json:"fingerprint"`
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

// JSONKey is a key in JSON output: a string where it is UTF-8, else an object
// with the raw bytes in base64 beside an escaped text.
type JSONKey []byte

// MarshalJSON implements json.Marshaler.
func (k JSONKey) MarshalJSON() ([]byte, error) {
	if utf8.Valid(k) {
		return json.Marshal(string(k))
	}
	return json.Marshal(map[string]any{"text": quote(k), "base64": []byte(k)})
}

// MarshalJSON implements json.Marshaler with the stable names of the JSON
// output.
func (f Finding) MarshalJSON() ([]byte, error) {
	j := jsonFinding{
		Code: f.Code, Severity: f.Severity.String(), Message: f.Message, Fix: f.Fix, Order: f.Order, Entry: f.Entry, File: f.Pos.File, Line: f.Pos.Line,
		Column: f.Pos.Column, EndColumn: f.Pos.EndColumn, Count: f.Count, Fingerprint: Fingerprint(f),
	}
	for _, r := range f.Related {
		j.Related = append(j.Related, jsonRelated{r.Message, r.Pos.File, r.Pos.Line, r.Pos.Column})
	}
	for _, e := range f.Examples {
		j.Examples = append(j.Examples, jsonExample{e.DB, e.Key})
	}
	return json.Marshal(j)
}

// JSON prints one document: the findings, a summary of all, and how many of which
// code were left out ("more").
func JSON(w io.Writer, findings []Finding, _ Options) error {
	shown, more := fold(findings)
	out := map[string]any{"findings": shown, "summary": Count(findings)}
	if shown == nil {
		out["findings"] = []Finding{}
	}
	if len(more) > 0 {
		out["more"] = more
	}
	return encode(w, out)
}

// folded is findings as a form prints them that has findings only.
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
	level := map[Severity]string{Note: "notice", Warning: "warning", Error: "error"}
	for _, f := range folded(findings) {
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
		text := Harmless([]byte(clip(whole(f, o.Rules))), false, true)
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", level[f.Severity], strings.Join(props, ","), escapeData(string(text))); err != nil {
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

// formulas are what spreadsheets take a cell for a formula by, also in the width of
// East Asian text, and what they skip before it.
const formulas = "=+-@\t\r\n ＝＋－＠"

// Cell is a text as a cell of a CSV file: nothing that a spreadsheet runs, and
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
	text = bytes.ReplaceAll(text, []byte("##"), []byte(`\u0023#`)) // ##[error] is a command in the log of a CI system, and only a string has it
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
