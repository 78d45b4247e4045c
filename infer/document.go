package infer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/path"
	"github.com/keywright/keywright/infer/page"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/lint"
)

// FromPage drafts a declaration of the keys that a page documents. What the page
// does not say is said so; nothing is looked up.
func FromPage(text []byte, options Options) *Draft {
	d := &Draft{Package: options.Package, page: true, options: options}
	read := page.Read(text)
	for _, p := range read.Passed {
		d.Passed = append(d.Passed, fmt.Sprintf("line %d: %s: %s", p.Line, p.Text, p.Why))
	}
	for _, k := range read.Keys {
		if options.Known != nil && declares(options.Known, k.Pattern) {
			d.Known.Keys++
			continue
		}
		d.Entries = append(d.Entries, documented(k))
	}
	slices.SortStableFunc(d.Entries, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a.Pattern, b.Pattern))
	})
	d.vars()
	d.names()
	d.keepWhatLoads()
	d.keepKeywordsOut()
	return d
}

// rankOf puts channels after keys.
func rankOf(e *Entry) int {
	if e.Type == channel {
		return 1
	}
	return 0
}

// declares reports whether a keyspace has the pattern already, whatever its
// placeholders are called.
func declares(ks *keyspace.Keyspace, text string) bool {
	shape := func(p string) string {
		var b strings.Builder
		for _, t := range tokensOf(p, nil) {
			b.WriteString(cmp.Or(t.Literal, "\x00"))
		}
		return b.String()
	}
	for _, k := range ks.Keys {
		if shape(k.Pattern.String()) == shape(text) {
			return true
		}
	}
	return false
}

// documented returns the entry of a key as a page tells it.
func documented(k page.Key) *Entry {
	e := &Entry{Pattern: k.Pattern, Type: k.Type, TTL: k.TTL, Doc: k.Doc, tokens: tokensOf(k.Pattern, k.Types)}
	e.Source = fmt.Sprintf("line %d", k.Line)
	if k.Section != "" {
		e.Source += ", " + k.Section
	}
	if k.Example != "" {
		e.Source += ", like " + k.Example
	}
	if e.Type == channel {
		return e
	}
	switch {
	case k.Doubt != "":
		e.TTL = "any"
		e.guess("%s: which is it?", k.Doubt)
	case e.TTL == "":
		e.TTL = "any"
		e.guess("no TTL was found on the page: decide on one")
	}
	switch {
	case e.Type == "":
		e.Type = "string"
		e.guess("the page gives no type")
	case e.Type == "lock" && !isShort(e.TTL):
		e.Type = "string"
		e.guess("a lock; `type: lock` needs a TTL of a day at most, so that a dead holder does not keep it")
	case e.Type == "stream":
		if e.prop("maxlen", maxLen(k.Doc)); len(e.Props) == 0 {
			e.prop("maxlen", "10000")
			e.guess("maxlen: a stream grows for ever without one")
		}
	}
	return e
}

var maxLenSaid = regexp.MustCompile(`(?i)\bmaxlen\s*[~=≈]?\s*([1-9]\d{0,2}(?:[,_]\d{3})+|[1-9]\d{0,11})(k|m)?\b`)

// maxLen returns the MAXLEN that the line of a page says, "" if it says none.
func maxLen(doc string) string {
	m := maxLenSaid.FindStringSubmatch(doc)
	if m == nil {
		return ""
	}
	return strings.NewReplacer(",", "", "_", "").Replace(m[1]) +
		map[string]string{"k": "000", "m": "000000"}[strings.ToLower(m[2])]
}

// isShort: a time of a day at most.
func isShort(ttl string) bool {
	d, err := keyspace.ParseDuration(ttl)
	return err == nil && d <= 24*time.Hour
}

// tokensOf takes a pattern apart again. types are those of its placeholders.
func tokensOf(pattern string, types map[string]string) []path.Token {
	var out []path.Token
	literal := func(s string) {
		if n := len(out); n > 0 && out[n-1].Class == 0 {
			out[n-1].Literal += s
		} else {
			out = append(out, path.Token{Literal: s})
		}
	}
	for p := pattern; p != ""; {
		end := strings.IndexByte(p, '}')
		switch {
		case strings.HasPrefix(p, "{#"):
			literal("{")
			p = p[2:]
		case p[0] == '\\' && len(p) > 1:
			literal(p[1:2])
			p = p[2:]
		case p[0] == '{' && end > 0:
			t := path.Token{Class: class.Text, Name: p[1:end]}
			if typ := types[t.Name]; typ != "" {
				t.Words = []string{typ}
			}
			out = append(out, t)
			p = p[end+1:]
		default:
			literal(p[:1])
			p = p[1:]
		}
	}
	return out
}

// keepWhatLoads leaves out what the language does not take, and says so.
func (d *Draft) keepWhatLoads() {
	for range len(d.Entries) + 1 {
		_, findings, lines := d.load()
		dropped := false
		for _, f := range findings {
			if e := d.at(lines, f.Pos.Line); e != nil && e.Name != "" && f.Severity.String() == "error" {
				d.drop(e, f.Message)
				dropped = true
			}
		}
		if !dropped {
			return
		}
		d.Entries = slices.DeleteFunc(d.Entries, func(e *Entry) bool { return e.Name == "" })
		d.vars()
		d.names()
	}
}

// keepKeywordsOut gives entries other names whose name is a keyword of a language that code is generated in.
func (d *Draft) keepKeywordsOut() {
	ks, _, _ := d.load()
	for _, f := range lint.Run(ks) {
		if e := d.named(f.Entry); e != nil && f.Code == "KW130" {
			e.reserved = true
		}
	}
	d.names()
}
