package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace"
	yaml "go.yaml.in/yaml/v4"
)

// MaxFileBytes bounds a file of a declaration.
const MaxFileBytes = 1 << 20

// ReadFile asks what the name leads to before it opens it: opening a pipe would
// wait for a writer.
func ReadFile(fsys fs.FS, name string) ([]byte, string) {
	info, err := fs.Stat(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "does not exist"
	case err != nil:
		return nil, "cannot be read: " + err.Error()
	case !info.Mode().IsRegular():
		return nil, "is not a regular file"
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, "cannot be read: " + err.Error()
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	switch {
	case err != nil:
		return nil, "cannot be read: " + err.Error()
	case len(text) > MaxFileBytes:
		return nil, fmt.Sprintf("is larger than %d KiB; divide it and use imports", MaxFileBytes>>10)
	}
	return text, ""
}

// Parse turns text into the root node, nil if it is not one YAML mapping.
func (r *Reader) Parse(text []byte) *yaml.Node {
	if at, what := notText(text); what != "" {
		line := 1 + bytes.Count(text[:at], []byte("\n"))
		column := 1 + utf8.RuneCount(text[bytes.LastIndexByte(text[:at], '\n')+1:at])
		r.Report("KW001", keyspace.Pos{File: r.File, Line: line, Column: column},
			"save the file as UTF-8 with LF or CRLF line ends and without control characters", "%s is not text", what)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := decode(decoder, &doc); {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		r.Report("KW006", keyspace.Pos{File: r.File, Line: 1, Column: 1}, "begin with keywright: 1", "the file is empty")
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	if err := decode(decoder, &second); !errors.Is(err, io.EOF) {
		pos, _ := r.place(err)
		if err == nil {
			pos = r.At(&second)
		}
		r.Report("KW007", pos, "remove the --- and what follows, or move it to a file of its own",
			"the file has a second document, which would be ignored")
	}
	return doc.Content[0]
}

// decode keeps a panic of the parser from becoming ours.
func decode(d *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML parser failed: %v", p)
		}
	}()
	return d.Decode(into)
}

// notText finds the first byte or character that is no part of a text file: what
// is not UTF-8, control characters, line ends that editors do not agree on, and
// a byte order mark that is not at the beginning, which cannot be seen.
func notText(text []byte) (at int, what string) {
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		switch {
		case c == utf8.RuneError && size == 1 || c < ' ' && c != '\n' && c != '\r' && c != '\t':
			return i, fmt.Sprintf("byte 0x%02x", text[i])
		case c == '\r' && (i+1 == len(text) || text[i+1] != '\n'):
			return i, "a carriage return without a line feed"
		case c >= 0x7f && c <= 0x9f || c == '\u2028' || c == '\u2029' || c == '\ufeff' && i > 0:
			return i, fmt.Sprintf("the character %U", c)
		}
		i += size
	}
	return 0, ""
}

// traps lists the mistakes that cause most syntax errors, each known by what the
// parser says and what the line looks like.
var traps = []struct {
	says               string         // part of the parser's message
	line               *regexp.Regexp // what the line looks like, nil for any
	code, message, fix string
}{
	{"cannot start any token", regexp.MustCompile(`^ *\t`), "KW002", "a tab cannot indent YAML", "indent with spaces"},
	{"a tab character that violates indentation", nil, "KW002", "a tab cannot indent YAML", "indent with spaces"},
	{"cannot start any token", nil, "KW002", "a value cannot begin with @, ` or %", "put quotes around it"},
	{"directive", nil, "KW002", "a line cannot begin with %", "put quotes around it"},
	{"unknown anchor", nil, "KW002", "a value that begins with * is an alias to YAML",
		`put quotes around it, as in "poppo:*"`},
	{"expected alphabetic or numeric character", nil, "KW002", "a value that begins with * or & is an alias to YAML",
		`put quotes around it, as in "poppo:*"`},
	{"", regexp.MustCompile(`[\[{].*[^\s"'{\[]:\{`), "KW009", "a pattern inside [ ] or { } is not read as text",
		`put quotes around it, as in ["x:{id}"]`},
	{"", regexp.MustCompile(`(: +|- +)\{[^}"']*\}[^\s,}\]]`), "KW009", "a value that begins with { is not read as text",
		`put quotes around it, as in "{id}:x"`},
	{"mapping values are not allowed", nil, "KW002", "a colon and a space inside a value begin a mapping",
		"put quotes around the value"},
	{"unexpected end of stream", nil, "KW002", "a quote is not closed", "close it"},
	{"expected ',' or", nil, "KW002", "a [, { or quote is not closed, or a comma is missing, in this line or in one above",
		"close it"},
	{"unknown escape", nil, "KW002", `a backslash in "…" begins an escape that does not exist`,
		"use '…' or no quotes: a backslash is itself there"},
	{"expected key", nil, "KW002", "the line does not fit the indentation of the lines above",
		"indent it like its neighbours"},
	{"exceeded max depth", nil, "KW002", "the file is nested deeper than 10000 levels", "a declaration needs six"},
}

// syntax reports what the YAML parser refused and explains the usual traps.
func (r *Reader) syntax(err error) {
	pos, message := r.place(err)
	line := unquoted(r.line(pos.Line))
	if at, name, lacks := r.lacksColon(pos.Line); lacks && strings.Contains(message, "mapping values are not allowed") {
		r.Report("KW002", at, "did you mean "+name+":?", "a name without a colon")
		return
	}
	for _, trap := range traps {
		if strings.Contains(message, trap.says) && (trap.line == nil || len(line) <= maxLine && trap.line.MatchString(line)) {
			r.Report(trap.code, pos, trap.fix, "%s", trap.message)
			return
		}
	}
	r.Report("KW002", pos, "", "%s", message)
}

// place returns where the parser stopped, and why.
func (r *Reader) place(err error) (keyspace.Pos, string) {
	var fault *yaml.LoadError
	if errors.As(err, &fault) {
		return keyspace.Pos{File: r.File, Line: max(1, fault.Mark.Line), Column: max(1, fault.Mark.Column)}, fault.Message
	}
	return keyspace.Pos{File: r.File, Line: 1, Column: 1}, fmt.Sprint(err)
}

// bare is a line that lacks its colon.
var bare = regexp.MustCompile(`^(\s*)([A-Za-z_][\w-]*)\s*$`)

// unquoted returns a line of YAML without what is in quotes and in comments.
func unquoted(line string) string { return quotedText.ReplaceAllString(line, `""`) }

var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\s#.*`)

// lacksColon returns the line before another, empty ones left out, if it is a name alone.
func (r *Reader) lacksColon(line int) (keyspace.Pos, string, bool) {
	for line--; line >= 1; line-- {
		text := unquoted(r.line(line))
		if strings.TrimSpace(text) == "" || strings.HasPrefix(strings.TrimSpace(text), "#") {
			continue
		}
		m := bare.FindStringSubmatch(text)
		if m == nil {
			return keyspace.Pos{}, "", false
		}
		return keyspace.Pos{File: r.File, Line: line, Column: len(m[1]) + 1, EndColumn: len(m[1]) + 1 + len(m[2])}, m[2], true
	}
	return keyspace.Pos{}, "", false
}

// Refuse reports YAML that the language does without: anchors, aliases and
// explicit tags make a declaration that cannot be searched by eye.
func (r *Reader) Refuse(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.Report("KW007", r.At(n), "write the value out; for a pattern that begins with *, put quotes around it",
			"aliases (*%s) are not supported", n.Value)
		return
	case n.Anchor != "":
		r.Report("KW007", r.At(n), "write the value out where it is used", "anchors (&%s) are not supported", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		r.Report("KW007", r.At(n), "remove the tag", "explicit tags (%s) are not supported", n.Tag)
	}
	for _, c := range n.Content {
		r.Refuse(c)
	}
}
