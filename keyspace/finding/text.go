package finding

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Options describes what printers need beside the findings.
type Options struct {
	Source func(file string) []byte // text of a file, nil if unknown
	Rules  []Rule                   // for general fixes and SARIF
	Color  bool
	// the declaration: where SARIF shows what has no place of its own, since GitHub refuses a result without one
	File   string
	Failed string // why the run that made the findings is not whole; SARIF, JUnit and GitHub say so
	// Mask takes identifiers out of the name of a key, for SARIF, JUnit and GitHub, which others read; nil: names are
	// whole.
	Mask func(key []byte) string
	Root string // the folder that SARIF names files from, with a slash at its end; "": files are named as they are

	lines map[string]*lines // of the files that are quoted
}

// masked returns findings whose examples have no identifiers in them; those that are the same then are there once.
func (o *Options) masked(findings []Finding) []Finding {
	if o.Mask == nil {
		return findings
	}
	out := slices.Clone(findings)
	for i := range out {
		examples := slices.Clone(out[i].Examples)
		for j := range examples {
			examples[j].Key = []byte(o.Mask(examples[j].Key))
		}
		out[i].Examples = slices.CompactFunc(examples, func(a, b Example) bool {
			return a.DB == b.DB && bytes.Equal(a.Key,
				b.Key)
		})
	}
	return out
}

// colours of the text output; empty without colour.
type palette struct{ red, yellow, blue, bold, reset string }

func colours(on bool) palette {
	if !on {
		return palette{}
	}
	return palette{"\x1b[31m", "\x1b[33m", "\x1b[34m", "\x1b[1m", "\x1b[0m"}
}

func (p palette) of(s Severity) string { return [...]string{p.blue, p.yellow, p.red}[min(s, Error)] }

// Text prints findings for people: place, code and sentence, the line with a
// caret, what explains it, and the way out.
func Text(w io.Writer, findings []Finding, o Options) error {
	var out bytes.Buffer
	c := colours(o.Color)
	shown, more := fold(findings)
	o.lines = map[string]*lines{}
	for i, f := range shown {
		if i > 0 {
			out.WriteByte('\n')
		}
		if f.Pos.File != "" {
			fmt.Fprintf(&out, "%s%s:%s ", c.bold, place(f.Pos), c.reset)
		}
		fmt.Fprintf(&out, "%s%s %s:%s %s\n", c.of(f.Severity), f.Severity, f.Code, c.reset, Printable(clip(sentence(f))))
		excerpt(&out, f.Pos, o, c.of(f.Severity), c)
		for _, r := range f.Related {
			fmt.Fprintf(&out, "  %s%s:%s %s\n", c.bold, place(r.Pos), c.reset, Printable(clip(r.Message)))
			excerpt(&out, r.Pos, o, c.blue, c)
		}
		if len(f.Examples) > 0 {
			fmt.Fprintf(&out, "  keys: %s\n", exampleList(f))
		}
		if fix := fixOf(f, o.Rules); fix != "" {
			fmt.Fprintf(&out, "  fix: %s\n", Printable(clip(fix)))
		}
		if f.Order != "" {
			fmt.Fprintf(&out, "  order of deployment: %s\n", Printable(f.Order))
		}
	}
	for i, m := range more {
		if i == 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "%s%s%s\n", c.of(m.level()), m, c.reset)
	}
	_, err := w.Write(Harmless(out.Bytes(), o.Color, false))
	return err
}

// sentence returns the message with the number of keys; the message itself stays the
// same from run to run, for fingerprints.
func sentence(f Finding) string {
	switch f.Count {
	case 0:
		return f.Message
	case 1:
		return f.Message + " (1 key)"
	}
	return fmt.Sprintf("%s (%s keys)", f.Message, Grouped(f.Count))
}

// Grouped returns a number in groups of three digits.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func place(p Position) string {
	s := p.File
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(max(1, p.Column))
	}
	return Printable(s)
}

func fixOf(f Finding, rules []Rule) string {
	if f.Fix != "" {
		return f.Fix
	}
	for _, r := range rules {
		if r.Code == f.Code {
			return r.Fix
		}
	}
	return ""
}

func exampleList(f Finding) string {
	shown := make([]string, len(f.Examples))
	for i, e := range f.Examples {
		shown[i] = Key(e.Key)
		if e.DB != 0 {
			shown[i] += fmt.Sprintf(" (database %d)", e.DB)
		}
	}
	list := strings.Join(shown, "  ")
	if more := f.Count - int64(len(f.Examples)); more > 0 {
		list += fmt.Sprintf("  and %s more", Grouped(more))
	}
	return list
}

// visible returns a line as it is printed: a tab is one blank wide, control
// characters are replaced one for one, so that columns stay true.
func visible(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r) && r != ' ':
			return '\ufffd'
		}
		return r
	}, line)
}

// Key returns a key as it is shown to people: as it is where it is printable UTF-8,
// else quoted with escapes. A hostile name cannot steer a terminal.
func Key(k []byte) string {
	if len(k) > shownKey {
		_, length := uncut(k)
		return quote(k[:shownKey]) + fmt.Sprintf("%s%d%s", cutMark, cmp.Or(length, len(k)), cutEnd)
	}
	if isPlain(k) {
		return string(k)
	}
	return quote(k)
}

// FullKey returns a key as it is shown to people, whole however long it is.
func FullKey(k []byte) string {
	if len(k) > shownKey && isPlain(k) {
		return string(k)
	}
	if len(k) > shownKey {
		return quote(k)
	}
	return Key(k)
}

// shownKey says how many bytes of a key are shown.
const shownKey = 200

// isPlain is a key that is shown as it is.
func isPlain(k []byte) bool {
	return len(k) > 0 && utf8.Valid(k) && Printable(string(k)) == string(k) && !bytes.ContainsAny(k, " \"\\") &&
		!bytes.HasPrefix(k, []byte("::")) && !bytes.Contains(k, []byte("##"))
}

// quote returns strconv.Quote but also escapes direction marks and bytes that are
// not UTF-8.
func quote(k []byte) string {
	var b strings.Builder
	b.WriteByte('"')
	for len(k) > 0 {
		r, size := utf8.DecodeRune(k)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, k[0])
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '#' && len(k) > 1 && k[1] == '#':
			b.WriteString(`\x23`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		k = k[size:]
	}
	b.WriteByte('"')
	return b.String()
}

// Printable replaces what could steer a terminal: control characters, direction
// marks and bytes that are not UTF-8.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\ufffd'
	}, s)
}

// Width returns how many terminal columns text takes: East Asian wide and fullwidth
// characters and emoji take two, combining marks none.
func Width(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case unicode.Is(wide, r):
			n += 2
		default:
			n++
		}
	}
	return n
}

// wide is the East Asian Width classes W and F, in the blocks that occur
// (Unicode Standard Annex 11).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x23e9, 0x23ec, 1}, {0x25fd, 0x25fe, 1}, {0x2614, 0x2615, 1},
		{0x26a1, 0x26a1, 1}, {0x2705, 0x2705, 1},
		{0x274c, 0x274c, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0x33ff, 1}, {0x3400, 0x4dbf, 1}, {0x4e00, 0x9fff, 1},
		{0xa000, 0xa4cf, 1}, {0xa960, 0xa97f, 1},
		{0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1}},
}

// Summary returns the closing line of a list of findings.
func Summary(c Counts) string {
	plural := func(n int, word string) string {
		if n != 1 {
			word += "s"
		}
		return fmt.Sprintf("%d %s", n, word)
	}
	return plural(c.Errors, "error") + ", " + plural(c.Warnings, "warning") + ", " + plural(c.Notes, "note")
}
