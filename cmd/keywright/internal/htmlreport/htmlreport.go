// Package htmlreport writes the report of an audit as one page of HTML that needs
// nothing else: no script, no request, its style by its digest. Names of keys are text,
// whatever bytes they have.
package htmlreport

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/internal/layout"
	"github.com/keywright/keywright/keyspace/finding"
)

// Options describes what a page says beside the report.
type Options struct {
	Title   string // what was audited
	At      time.Time
	Program string         // that wrote it
	Rules   []finding.Rule // for general fixes
}

// A page has at most so many rows in a table and keys in a finding; it says how many more
// there are.
const (
	maxRows = 1000
	maxKeys = 50
)

//go:embed page.html.tmpl
var pageText string

//go:embed page.css
var style string

var page = layout.New("page", pageText, layout.HTML, nil)

// Write writes the page.
func Write(w io.Writer, r *audit.Report, o Options) error {
	digest := sha256.Sum256([]byte(style))
	v := &view{Options: o, Report: r, Style: layout.Raw(style), When: o.At.UTC().Format("2006-01-02 15:04:05 UTC")}
	v.Policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
	v.entries()
	v.undeclared()
	v.pictures()
	v.findings()
	v.facts()
	for _, k := range r.Largest {
		if r.NoBytes {
			break
		}
		v.Big.add([]string{finding.Key(k.Key), k.Type, terminal.Bytes(k.Bytes), k.Entry}, 1, k.Bytes)
	}
	v.Groups.total(v)
	v.Rows.total(v)
	text, err := page.Fill(v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, strings.ReplaceAll(text, "##", "#&#35;")) // ##[…] is a command of CI systems
	return err
}

// view describes what the page's template reads.
type view struct {
	Options
	*audit.Report
	When   string
	Style  layout.Raw
	Policy string
	Facts  [][2]string
	Says   string // the verdict in a sentence
	Maps   []picture
	Rows   table
	Groups table
	Big    table
	Shown  []shownFinding
	More   int // findings that are not shown
	Sum    []string

	keys, bytes []tile
}

// table represents the rows of a table, and what those that are left out have together.
type table struct {
	Rows              [][]string
	Left, keys, bytes int64
	Keys, Bytes       string // of the rows that are left out
}

func (t *table) add(row []string, keys, bytes int64) {
	if len(t.Rows) == maxRows {
		t.Left, t.keys, t.bytes = t.Left+1, t.keys+keys, t.bytes+bytes
		return
	}
	t.Rows = append(t.Rows, row)
}

// total says what the rows that are left out have.
func (t *table) total(v *view) { t.Keys, t.Bytes = terminal.Count(t.keys), v.size(t.bytes) }

// picture represents one treemap.
type picture struct {
	Title         string
	Width, Height int
	Tiles         []tile
}

// shownFinding represents one finding in words.
type shownFinding struct {
	Level, Code, Message, Place, Fix, Keys string
	Examples                               []string
	More                                   string // how many keys are not listed
}

func (v *view) findings() {
	for i, f := range v.Findings {
		if i == maxRows {
			v.More = len(v.Findings) - maxRows
			break
		}
		one := shownFinding{Level: f.Severity.String(), Code: f.Code, Message: finding.Printable(f.Message), Fix: v.fix(f)}
		if f.Pos.File != "" {
			one.Place = finding.Printable(fmt.Sprintf("%s:%d", f.Pos.File, f.Pos.Line))
		}
		if f.Count > 0 {
			one.Keys = terminal.Plural(f.Count, "key")
		}
		for _, e := range f.Examples[:min(len(f.Examples), maxKeys)] {
			name := finding.Key(e.Key)
			if e.DB != 0 {
				name += fmt.Sprintf(" (database %d)", e.DB)
			}
			one.Examples = append(one.Examples, name)
		}
		if more := f.Count - int64(len(one.Examples)); more > 0 && len(one.Examples) > 0 {
			one.More = terminal.Count(more) + " more"
		}
		v.Shown = append(v.Shown, one)
	}
}

func (v *view) fix(f finding.Finding) string {
	if f.Fix != "" {
		return finding.Printable(f.Fix)
	}
	for _, r := range v.Rules {
		if r.Code == f.Code {
			return r.Fix
		}
	}
	return ""
}
