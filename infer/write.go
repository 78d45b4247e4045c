package infer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/path"
	"github.com/keywright/keywright/infer/internal/splice"
	"github.com/keywright/keywright/keyspace/finding"
	keygroup "github.com/keywright/keywright/keyspace/group"
)

// YAML returns the draft as a declaration, with what was seen as comments.
func (d *Draft) YAML() []byte {
	text, _ := d.write(d.Vars)
	return text
}

// EntryYAML returns one entry of the draft as it is written under keys.
func (d *Draft) EntryYAML(e *Entry) string {
	w := &writer{}
	e.write(w, d)
	return w.String()
}

// write gives the text, and the line each entry begins at.
func (d *Draft) write(vars []Var) ([]byte, []int) {
	w := &writer{}
	d.head(w)
	if len(vars) > 0 {
		w.line("")
		w.line("vars:")
		for _, v := range vars {
			w.line("  %s: %s", v.Name, scalarText(v.Type))
		}
	}
	w.line("")
	if len(d.Entries) == 0 || d.Entries[0].Type == channel {
		w.line("keys: {}")
	} else {
		w.line("keys:")
	}
	lines := d.entries(w)
	d.leftovers(w)
	return []byte(w.String()), lines
}

func (d *Draft) head(w *writer) {
	if d.page {
		w.line("# A draft, read from a page: %s.", plural(int64(len(d.Entries)), "pattern"))
	} else {
		w.line("# A draft, drawn from %s: what is there, not what should be.", plural(d.All.Keys-d.Known.Keys, "key"))
	}
	if others := d.All.Keys - d.Known.Keys - d.Looked; d.Looked > 0 && others > 0 {
		w.line("# Types of values come from %s; %s were not read, or in part.", plural(d.Looked, "value"),
			plural(others, "other"))
	}
	w.line("# Read every line; those with a guess above all. Then keywright lint and audit.")
	w.line("keywright: 1")
	w.line("package: %s", cmp.Or(d.Package, "appkeys"))
	w.line("owner: app                           # who writes these keys")
	if prefix := d.prefix(); prefix != "" && d.ownsAll(prefix) {
		w.line("owns: [%q]", prefix+":*")
	}
	if len(d.Foreign) > 0 {
		w.line("foreign:")
		for _, f := range d.Foreign {
			w.line("  - %-30s # %s, %s (%s)", splice.Quoted(f.Glob), f.Software, d.counted(f.Keys), f.URL)
		}
	}
}

// counted returns a number of keys, said to be near the truth where it may not be it.
func (d *Draft) counted(n int64) string {
	if d.About {
		return "about " + plural(n, "key")
	}
	return plural(n, "key")
}

// ownsAll: every pattern begins with the word and the separator, and so does
// nothing that is left.
func (d *Draft) ownsAll(prefix string) bool {
	under := func(p *path.Path) bool { return p.Sep == ":" && len(p.Segments) > 0 && p.Segments[0].MayBe(prefix) }
	for _, l := range d.Left {
		if slices.ContainsFunc(l.paths, under) || l.Keys > 0 && len(l.paths) == 0 {
			return false
		}
	}
	return !slices.ContainsFunc(d.Entries, func(e *Entry) bool { return !strings.HasPrefix(e.Pattern, prefix+":") })
}

func (d *Draft) entries(w *writer) []int {
	var lines []int
	section := ""
	many := d.sections() > 1
	for i, e := range d.Entries {
		if e.Type == channel {
			if i == 0 || d.Entries[i-1].Type != channel {
				w.line("")
				w.line("channels:")
			}
			w.line("")
			lines = append(lines, w.lines+1)
			e.writeChannel(w)
			continue
		}
		if s := e.section(); many && s != section {
			w.line("")
			w.line("  # ---- %s ----", finding.Printable(s))
			section = s
		}
		w.line("")
		lines = append(lines, w.lines+1)
		e.write(w, d)
	}
	return lines
}

func (d *Draft) sections() int {
	seen := map[string]bool{}
	for _, e := range d.Entries {
		seen[e.section()] = true
	}
	return len(seen)
}

// section returns the first word of a pattern.
func (e *Entry) section() string {
	for _, t := range e.tokens {
		if words := path.WordsOf(t.Literal); len(words) > 0 {
			return words[0]
		}
	}
	return "other"
}

func (e *Entry) write(w *writer, d *Draft) {
	size := ""
	if e.Bytes > 0 {
		size = ", " + bytesText(e.Bytes)
	}
	if e.Keys > 0 {
		sure := ""
		if c := d.Confidence(e); c != keygroup.High {
			sure = ", confidence " + string(c)
		}
		w.line("  # %s%s%s", d.counted(e.Keys), size, sure)
	}
	for _, g := range e.Guesses {
		w.line("  # guess: %s", finding.Printable(g))
	}
	if e.Source != "" {
		w.line("  # %s", finding.Printable(e.Source))
	}
	if len(e.silenced) > 0 && !e.near {
		w.line("  # keywright:ignore %s the keys are called so", strings.Join(e.silenced, ", "))
	}
	w.line("  %s:", e.Name)
	if e.Doc != "" {
		w.line("    doc: %s", scalarText(e.Doc))
	}
	w.line("    key: %s", scalarText(e.Pattern))
	w.line("    type: %s", e.Type)
	for _, p := range e.Props {
		if len(p.Fields) == 0 {
			w.line("    %s: %s", p.Name, propText(p.Value))
			continue
		}
		w.line("    %s:", p.Name)
		for _, f := range p.Fields {
			w.line("      %s: %s", scalarText(f.Name), scalarText(f.Type))
		}
	}
	w.line("    ttl: %s", e.TTL)
}

// channel is the type of an entry that is no key.
const channel = "channel"

func (e *Entry) writeChannel(w *writer) {
	if e.Source != "" {
		w.line("  # %s", finding.Printable(e.Source))
	}
	w.line("  %s:", e.Name)
	if e.Doc != "" {
		w.line("    doc: %s", scalarText(e.Doc))
	}
	w.line("    channel: %s", scalarText(e.Pattern))
}

// leftovers writes what is not declared, as comments.
func (d *Draft) leftovers(w *writer) {
	var lines []string
	for _, l := range d.Left {
		lines = append(lines, l.String())
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"Not declared:", lines}, {"Passed over on the page:", d.Passed}} {
		if len(part.lines) == 0 {
			continue
		}
		w.line("")
		w.line("# %s", part.title)
		for _, l := range part.lines {
			w.line("#   %s", finding.Printable(l))
		}
	}
}

// String returns one line about what is not declared.
func (l Left) String() string {
	var parts []string
	if l.What != "" {
		parts = append(parts, l.What)
	}
	if l.Keys > 0 {
		n := plural(l.Keys, "key")
		if len(l.Example) > 0 {
			n += ", like " + maskedKey(l.Example)
		}
		parts = append(parts, n)
	}
	return strings.Join(append(parts, l.Why), ": ")
}

// maskedKey returns a key for a comment: a draft goes to a repository, where no identifier of a person belongs.
func maskedKey(key []byte) string {
	return finding.Key([]byte(keygroup.Mask(key[:min(len(key), 100)])))
}

// writer counts the lines it writes.
type writer struct {
	strings.Builder
	lines int
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format+"\n", args...)
	w.lines++
}

// scalarText returns a text as YAML has it: plain where that is safe.
func scalarText(s string) string {
	if isPlain(s) {
		return s
	}
	return splice.Quoted(s)
}

// propText returns a property's value; a number stays one.
func propText(s string) string {
	if class.AllDigits([]byte(s)) {
		return s
	}
	return scalarText(s)
}

// reserved are plain words that YAML reads as something else.
var reserved = path.Words("true false null yes no on off y n ~")

func isPlain(s string) bool {
	if s == "" || reserved[strings.ToLower(s)] || strings.HasSuffix(s, ":") || strings.HasSuffix(s, " ") ||
		strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.Contains(s, "##") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := class.Kinds[c]&(class.IsLower|class.IsUpper) != 0 || c == '_' || c == '/'
		if i == 0 && !letter || class.Kinds[c]&class.IsOdd != 0 || c == '"' || c == '\'' || c == '\\' && i == 0 {
			return false
		}
	}
	return true
}

func plural(n int64, what string) string {
	s := grouped(n) + " " + what
	if n != 1 {
		s += "s"
	}
	return s
}

func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func bytesText(n int64) string {
	unit, names := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; unit >= 1024 && i < len(names)-1; i++ {
		unit /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", unit, names[i])
}
