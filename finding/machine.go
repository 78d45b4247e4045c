package finding

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
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

// JSON prints one document: the findings and a summary.
func JSON(w io.Writer, findings []Finding, _ Options) error {
	if findings == nil {
		findings = []Finding{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(map[string]any{"findings": findings, "summary": Count(findings)})
}

// GitHub prints workflow commands, which GitHub shows beside the lines they
// name (https://docs.github.com/actions/reference/workflow-commands-for-github-actions).
func GitHub(w io.Writer, findings []Finding, o Options) error {
	level := map[Severity]string{Note: "notice", Warning: "warning", Error: "error"}
	for _, f := range findings {
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
		text := whole(f, o.Rules)
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", level[f.Severity], strings.Join(props, ","), escapeData(text)); err != nil {
			return err
		}
	}
	return nil
}

var data = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

func escapeData(s string) string { return data.Replace(s) }

func escapeProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data.Replace(s))
}
